// Rows of different lengths, which begin and end where splits say. Part of arrays.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "combine.h"
#include "places.h"

namespace penstock {
namespace {

// Whether splits begin with 0, never fall and end with `total`.
template <typename Index>
bool are_splits(const Index *splits, int64_t rows, int64_t total) {
  bool falls = false;
  for (int64_t row = 0; row < rows; ++row) falls |= splits[row + 1] < splits[row];
  return !falls && splits[0] == 0 && splits[rows] == total;
}

// The row of each item and its place there, `step` apart: the length of the longest row, or -1 where
// splits are wrong.
template <typename Index>
int64_t items_of_rows(const Index *splits, int64_t rows, int64_t total, int64_t step, int64_t *ids,
                      int64_t *offsets) {
  if (!are_splits(splits, rows, total)) return -1;
  int64_t longest = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t length = splits[row + 1] - splits[row];
    for (int64_t j = 0; j < length; ++j, ids += step) *ids = row;
    if (offsets)
      for (int64_t j = 0; j < length; ++j, offsets += step) *offsets = j;
    longest = std::max(longest, length);
  }
  return longest;
}

// What the values in [0, size) of each row weigh together, or whether they are there where `binary`:
// -1, or 0 where splits or values are wrong.
template <typename Index, typename Element>
int64_t count_rows(const int64_t *splits, int64_t rows, const Index *values, int64_t number,
                   int64_t size, const Element *weights, bool binary, Element *result) {
  if (!are_splits(splits, rows, number)) return 0;
  for (int64_t i = 0; i < number; ++i)
    if (values[i] < 0) return 0;
  for (int64_t row = 0; row < rows; ++row, result += size)
    for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
      if (values[i] >= size) continue;
      Element &to = result[values[i]];
      to = binary ? Element(1) : combined<0>(to, weights ? weights[i] : Element(1));
    }
  return -1;
}

// The same of values whose rows stand at places[i * rank], of rank 2, or is the only one: -1, or the first place
// of a value below 0 or a row that is outside.
template <typename Index, typename Element>
int64_t count_places(const int64_t *places, int64_t rank, int64_t rows, const Index *values, int64_t number,
                     int64_t size, const Element *weights, bool binary, Element *result) {
  for (int64_t i = 0; i < number; ++i) {
    const int64_t row = rank > 1 ? places[i * rank] : 0;
    if (values[i] < 0 || !is_inside(row, rows)) return i;
    if (values[i] >= size) continue;
    Element &to = result[row * size + values[i]];
    to = binary ? Element(1) : combined<0>(to, weights ? weights[i] : Element(1));
  }
  return -1;
}

// The splits of rows that are chosen: how many items they have, or -1 where one is outside.
template <typename Index, typename Id>
int64_t chosen_splits(const Index *splits, int64_t rows, const Id *ids, int64_t number, Index *ends) {
  int64_t total = 0;
  ends[0] = 0;
  for (int64_t i = 0; i < number; ++i) {
    if (!is_inside(ids[i], rows)) return -1;
    total += splits[ids[i] + 1] - splits[ids[i]];
    ends[i + 1] = static_cast<Index>(total);
  }
  return total;
}

// Where the items of these rows are.
template <typename Index, typename Id>
void chosen_items(const Index *splits, const Id *ids, int64_t number, int64_t *places) {
  for (int64_t i = 0; i < number; ++i)
    for (int64_t at = splits[ids[i]]; at < splits[ids[i] + 1]; ++at) *places++ = at;
}

// How many numbers lie between two that differ by `distance`, `delta` apart; -1 if there is no saying.
inline int64_t steps_between(int64_t start, int64_t limit, int64_t delta) {
  int64_t distance = 0;
  if (delta == 0 || delta == std::numeric_limits<int64_t>::min() ||
      __builtin_sub_overflow(limit, start, &distance) ||
      distance == std::numeric_limits<int64_t>::min())
    return -1;
  if (delta < 0) {
    delta = -delta;
    distance = -distance;
  }
  return distance <= 0 ? 0 : (distance - 1) / delta + 1;
}

// The splits of rows from starts up to limits by deltas: one for each row, or one for all where its step
// is 0. How many numbers there are, or -1 where one row, or all together, have too many.
template <typename Element>
int64_t range_splits(const Element *const *ends, const int64_t *steps, int64_t rows, int64_t most,
                     int64_t *splits) {
  int64_t total = 0;
  splits[0] = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t length =
        steps_between(ends[0][i * steps[0]], ends[1][i * steps[1]], ends[2][i * steps[2]]);
    if (length < 0 || length > most - total) return -1;
    splits[i + 1] = total += length;
  }
  return total;
}

// Rows in order, with a place in each that is empty: where each item goes (those of a row keep their
// order), the row of each place, and which rows were empty. How many places there are, or -1 where an id
// is outside.
inline int64_t fill_rows(const int64_t *ids, int64_t number, int64_t rows, int64_t *places,
                         bool *empty, int64_t *filled) {
  std::vector<int64_t> next(static_cast<size_t>(rows));
  for (int64_t i = 0; i < number; ++i) {
    if (!is_inside(ids[i], rows)) return -1;
    ++next[ids[i]];
  }
  int64_t total = 0;
  for (int64_t row = 0; row < rows; ++row) {
    empty[row] = next[row] == 0;
    const int64_t end = total + std::max<int64_t>(next[row], 1);
    next[row] = total;
    while (total < end) filled[total++] = row;
  }
  for (int64_t i = 0; i < number; ++i) places[i] = next[ids[i]]++;
  return total;
}

}  // namespace
}  // namespace penstock
