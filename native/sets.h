// Operations on sets of whole numbers, row by row, for arrays.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "combine.h"

namespace penstock {

// The elements of numbered sets: element i is of set rows[i], of set i / width where there are no rows.
class Sets {
 public:
  Sets(const int64_t *rows, int64_t width, const int64_t *values, int64_t count)
      : rows_(rows), width_(width), values_(values), count_(count) {}

  bool done() const { return at_ == count_; }
  int64_t row() const { return rows_ ? rows_[at_] : at_ / width_; }

  // Moves on past a set: its elements in order, each once. False where numbers of sets fall.
  bool take(int64_t row, std::vector<int64_t> &set) {
    set.clear();
    if (done() || this->row() != row) return true;
    const int64_t begin = at_;
    while (!done() && this->row() == row) ++at_;
    if (!done() && this->row() < row) return false;
    set.assign(values_ + begin, values_ + at_);
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    return true;
  }

 private:
  const int64_t *const rows_;
  const int64_t width_;
  const int64_t *const values_;
  const int64_t count_;
  int64_t at_ = 0;
};

// a - b (0), b - a (1), intersections (2) and unions (3) of sets of one number: pairs of that number and
// a place in the set, and the elements. How many there are; -2 where numbers of sets fall.
inline int64_t set_operation(int64_t operation, Sets a, Sets b, int64_t *places, int64_t *values) {
  std::vector<int64_t> first, second, found;
  int64_t number = 0;
  while (!a.done() || !b.done()) {
    const int64_t row = a.done() ? b.row() : b.done() ? a.row() : std::min(a.row(), b.row());
    if (!a.take(row, first) || !b.take(row, second)) return -2;
    if (operation == 1) first.swap(second);
    found.clear();
    const auto to = std::back_inserter(found);
    if (operation < 2)
      std::set_difference(first.begin(), first.end(), second.begin(), second.end(), to);
    else if (operation == 2)
      std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), to);
    else
      std::set_union(first.begin(), first.end(), second.begin(), second.end(), to);
    for (int64_t i = 0; i < static_cast<int64_t>(found.size()); ++i, ++number) {
      places[2 * number] = row;
      places[2 * number + 1] = i;
      values[number] = found[i];
    }
  }
  return number;
}

// ---- counts

// The weights of each set's elements added up by value, in the order in which they stand.
template <typename Element>
class Counts {
 public:
  Counts(const int64_t *values, const Element *weights, int64_t most, bool binary)
      : values_(values), weights_(weights), most_(most), binary_(binary) {}

  // Counts elements begin to end of set `row`; adds what it finds to the `number` before. False for a
  // value below 0.
  bool add(int64_t row, int64_t begin, int64_t end, int64_t *places, Element *totals, int64_t &number) {
    int64_t largest = -1;
    for (int64_t i = begin; i < end; ++i) {
      if (values_[i] < 0) return false;
      if (counts(i)) largest = std::max(largest, values_[i]);
    }
    const int64_t first = number;
    if (largest < kCrowded * (end - begin))
      tabulate(begin, end, largest + 1, places, totals, number);
    else
      sort(begin, end, places, totals, number);
    for (int64_t i = first; i < number; ++i) {
      places[2 * i] = row;
      if (binary_) totals[i] = 1;
    }
    return true;
  }

 private:
  static constexpr int64_t kCrowded = 8;  // table entries for each element, up to which there is one

  bool counts(int64_t i) const { return most_ < 0 || values_[i] < most_; }
  Element weight(int64_t i) const { return weights_ ? weights_[i] : Element{1}; }

  void tabulate(int64_t begin, int64_t end, int64_t span, int64_t *places, Element *totals,
                int64_t &number) {
    table_.assign(static_cast<size_t>(span), Element{0});
    there_.assign(static_cast<size_t>(span), 0);
    for (int64_t i = begin; i < end; ++i) {
      if (!counts(i)) continue;
      table_[values_[i]] = combined<0>(table_[values_[i]], weight(i));
      there_[values_[i]] = 1;
    }
    for (int64_t value = 0; value < span; ++value) {
      if (!there_[value]) continue;
      places[2 * number + 1] = value;
      totals[number++] = table_[value];
    }
  }

  void sort(int64_t begin, int64_t end, int64_t *places, Element *totals, int64_t &number) {
    order_.clear();
    for (int64_t i = begin; i < end; ++i)
      if (counts(i)) order_.push_back(i);
    std::sort(order_.begin(), order_.end(), [this](int64_t a, int64_t b) {
      return values_[a] < values_[b] || (values_[a] == values_[b] && a < b);
    });
    for (size_t i = 0; i < order_.size(); ++i) {
      const int64_t value = values_[order_[i]];
      if (!i || value != values_[order_[i - 1]]) {
        places[2 * number + 1] = value;
        totals[number++] = Element{0};
      }
      totals[number - 1] = combined<0>(totals[number - 1], weight(order_[i]));
    }
  }

  const int64_t *const values_;
  const Element *const weights_;
  const int64_t most_;
  const bool binary_;
  std::vector<Element> table_;
  std::vector<char> there_;
  std::vector<int64_t> order_;
};

// Counts of each set's values below `most` (all where that is negative). How many there are; -2 where
// numbers of sets fall, or a value is below 0.
template <typename Element>
int64_t counts_of(const int64_t *rows, int64_t width, const int64_t *values, int64_t number,
                  const Element *weights, int64_t most, bool binary, int64_t *places,
                  Element *totals) {
  Counts<Element> counts(values, weights, most, binary);
  int64_t found = 0;
  for (int64_t begin = 0, end; begin < number; begin = end) {
    const int64_t row = rows ? rows[begin] : begin / width;
    end = rows ? begin + 1 : begin + width;
    while (rows && end < number && rows[end] == row) ++end;
    if (rows && end < number && rows[end] < row) return -2;
    if (!counts.add(row, begin, end, places, totals, found)) return -2;
  }
  return found;
}

}  // namespace penstock
