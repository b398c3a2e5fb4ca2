// Places of a sparse tensor's elements: rows of `rank` indices, in row-major order or not. Part of
// arrays.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "each_set.h"
#include "places.h"

namespace penstock {
namespace {

// Calls work(rank) with a rank that the compiler knows where it is a usual one.
template <typename Work>
int64_t with_rank(int64_t rank, const Work &work) {
  switch (rank) {
    case 1: return work(std::integral_constant<int64_t, 1>());
    case 2: return work(std::integral_constant<int64_t, 2>());
    case 3: return work(std::integral_constant<int64_t, 3>());
  }
  return work(rank);
}

// -1, 0 or 1: the first place comes before the second, is the same, or comes after it.
template <typename Rank>
int64_t compare_places(const int64_t *a, const int64_t *b, Rank rank) {
  for (int64_t axis = 0; axis < rank; ++axis)
    if (a[axis] != b[axis]) return a[axis] < b[axis] ? -1 : 1;
  return 0;
}

// The smallest and largest index of each axis. 2 where each place comes after the one before it, 1 where
// none comes before it, else 0. There is one place at least.
template <typename Rank>
int64_t bounds_of_places(const int64_t *places, int64_t number, Rank rank, int64_t *low,
                         int64_t *high) {
  std::copy(places, places + rank, low);
  std::copy(places, places + rank, high);
  int64_t order = 2;
  for (int64_t i = 1; i < number; ++i) {
    const int64_t *before = places;
    places += rank;
    for (int64_t axis = 0; axis < rank; ++axis) {
      low[axis] = std::min(low[axis], places[axis]);
      high[axis] = std::max(high[axis], places[axis]);
    }
    order = std::min(order, 1 - compare_places(before, places, rank));
  }
  return order;
}

// Two lists of places, each in order and without repetitions, as one: the places, and where each stands
// in the first list and in the second, -1 where it does not. How many there are, or -1 where a list is
// not in order.
template <typename Rank>
int64_t unite_places(const int64_t *a, int64_t a_count, const int64_t *b, int64_t b_count, Rank rank,
                     int64_t *places, int64_t *first, int64_t *second) {
  int64_t i = 0, j = 0, count = 0;
  for (; i < a_count || j < b_count; ++count, places += rank) {
    const int64_t *left = a + i * rank, *right = b + j * rank;
    const int64_t found = i == a_count ? 1 : j == b_count ? -1 : compare_places(left, right, rank);
    const int64_t *taken = found > 0 ? right : left;
    if (count > 0 && compare_places(places - rank, taken, rank) >= 0) return -1;
    std::copy(taken, taken + rank, places);
    first[count] = found > 0 ? -1 : i++;
    second[count] = found < 0 ? -1 : j++;
  }
  return count;
}

// For each of some places the element of those others that is there, zero where none is: `out` [a_count]. Both
// lists are in order without repetitions; -1, or -2 where one is not.
template <typename Rank, typename Word>
int64_t elements_at_places(const int64_t *a, int64_t a_count, const int64_t *b, int64_t b_count, Rank rank,
                           const Word *given, Word *out) {
  int64_t j = 0;
  for (int64_t i = 0; i < a_count; ++i, a += rank) {
    if (i > 0 && compare_places(a - rank, a, rank) >= 0) return -2;
    int64_t found = 1;
    for (; j < b_count; ++j) {
      if (j > 0 && compare_places(b + (j - 1) * rank, b + j * rank, rank) >= 0) return -2;
      found = compare_places(b + j * rank, a, rank);
      if (found >= 0) break;
    }
    out[i] = found == 0 && j < b_count ? given[j] : Word{};
  }
  for (j = std::max<int64_t>(j, 1); j < b_count; ++j)
    if (compare_places(b + (j - 1) * rank, b + j * rank, rank) >= 0) return -2;
  return -1;
}

// Elements `given` for `b_count` places, which are among some others in the same order when moved by `start`:
// each where its place is, zero where none is, `out` [a_count]. How many of them there was a place for.
template <typename Rank, typename Word>
int64_t elements_in_turn(const int64_t *a, int64_t a_count, const int64_t *b, int64_t b_count, Rank rank,
                         const int64_t *start, const Word *given, Word *out) {
  int64_t used = 0;
  for (int64_t i = 0; i < a_count; ++i, a += rank) {
    bool same = used < b_count;
    for (int64_t axis = 0; same && axis < rank; ++axis)  // as unsigned numbers, whose sums wrap around
      same = static_cast<uint64_t>(a[axis]) ==
             static_cast<uint64_t>(b[axis]) + static_cast<uint64_t>(start[axis]);
    out[i] = same ? given[used] : Word{};
    if (!same) continue;
    ++used;
    b += rank;
  }
  return used;
}

// The places that are in a box from `start` on, as seen from there, and their numbers. Returns how many.
template <typename Rank>
int64_t places_in_box(const int64_t *places, int64_t number, Rank rank, const int64_t *start,
                      const int64_t *size, int64_t *moved, int64_t *numbers) {
  int64_t count = 0;
  for (int64_t i = 0; i < number; ++i, places += rank) {
    bool inside = true;
    for (int64_t axis = 0; axis < rank; ++axis) {  // as unsigned numbers those before are large, too
      const uint64_t at = static_cast<uint64_t>(places[axis]) - static_cast<uint64_t>(start[axis]);
      inside &= at < static_cast<uint64_t>(size[axis]);
      moved[count * rank + axis] = static_cast<int64_t>(at);
    }
    numbers[count] = i;
    count += inside;
  }
  return count;
}

// As add_product, for as many columns from `from` on: the sums of neighbouring places in one row are in
// registers, in the same order.
template <int64_t kColumns, typename Element, typename Index>
inline void add_columns(const Index *places, int64_t number, int64_t row_axis, const Element *values,
                        const Element *dense, int64_t width, int64_t from, Element *result) {
  for (int64_t i = 0; i < number;) {
    const Index row = places[2 * i + row_axis];
    Element *to = result + row * width + from, sums[kColumns];
    for (int64_t j = 0; j < kColumns; ++j) sums[j] = to[j];
    for (; i < number && places[2 * i + row_axis] == row; ++i) {
      const Element *factors = dense + places[2 * i + 1 - row_axis] * width + from, value = values[i];
      for (int64_t j = 0; j < kColumns; ++j) sums[j] += value * factors[j];
    }
    for (int64_t j = 0; j < kColumns; ++j) to[j] = sums[j];
  }
}

// Adds to `result` [height, width] the product of a sparse matrix, which has values at places [number, 2], and
// a dense one [inner, width]: element after element, up to the first place that is outside, whose number is
// returned, or -1. The row of a place is its index `row_axis`.
template <typename Element, typename Index>
EACH_SET int64_t add_product(const Index *places, int64_t number, int64_t row_axis, const Element *values,
                             const Element *dense, int64_t inner, int64_t width, Element *result,
                             int64_t height) {
  int64_t inside = 0;
  while (inside < number && is_inside(places[2 * inside + row_axis], height) &&
         is_inside(places[2 * inside + 1 - row_axis], inner)) {
    ++inside;
  }
  for (int64_t from = 0; from < width;) {
    const int64_t left = width - from, columns = left >= 32 ? 32 : left >= 16 ? 16 : left >= 4 ? 4 : 1;
    if (columns == 32) add_columns<32>(places, inside, row_axis, values, dense, width, from, result);
    if (columns == 16) add_columns<16>(places, inside, row_axis, values, dense, width, from, result);
    if (columns == 4) add_columns<4>(places, inside, row_axis, values, dense, width, from, result);
    if (columns == 1) add_columns<1>(places, inside, row_axis, values, dense, width, from, result);
    from += columns;
  }
  return inside < number ? inside : -1;
}

}  // namespace
}  // namespace penstock
