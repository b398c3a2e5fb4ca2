// Operations on sets of whole numbers, row by row, for arrays.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

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

}  // namespace penstock
