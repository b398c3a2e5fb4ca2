// Dense arrays made of what is said about few of their elements: rows with one element marked, values at
// places, empty rows filled. Part of arrays.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "places.h"
#include "rows.h"
#include "sparse_places.h"

namespace penstock {
namespace {

// Calls work(pointer) with a null pointer to a word of `size` bytes; 0 for sizes that are none of 1, 2, 4, 8
// and 16.
template <typename Work>
int64_t with_word(int64_t size, const Work &work) {
  switch (size) {
    case 1: return work(static_cast<uint8_t *>(nullptr));
    case 2: return work(static_cast<uint16_t *>(nullptr));
    case 4: return work(static_cast<uint32_t *>(nullptr));
    case 8: return work(static_cast<uint64_t *>(nullptr));
    case 16: return work(static_cast<Wide *>(nullptr));
  }
  return 0;
}

// An array [outer, depth, inner] of `off`, with `on` at [i, indices[i, j], j] where that is inside.
template <typename Index, typename Word>
int64_t mark(const Index *indices, int64_t outer, int64_t depth, int64_t inner, Word on, Word off,
             Word *out) {
  const int64_t size = depth * inner;
  if (size == 0) return -1;
  // Rows that stay in the cache between being filled and being marked.
  const int64_t block = std::max<int64_t>(4096 / size, 1);
  for (int64_t first = 0; first < outer; first += block) {
    const int64_t rows = std::min(block, outer - first);
    std::fill_n(out, rows * size, off);
    for (int64_t i = 0; i < rows; ++i, indices += inner, out += size)
      for (int64_t j = 0; j < inner; ++j) {
        const int64_t at = static_cast<int64_t>(indices[j]);
        if (is_inside(at, depth)) out[at * inner + j] = on;
      }
  }
  return -1;
}

// Puts values [number], or one value where `step` is 0, at places [number, rank] of an array of these sizes.
// -1, or the first place that is outside, or that does not come after the one before it where it must.
template <typename Index, typename Word, typename Rank>
int64_t put(const Index *places, int64_t number, Rank rank, const int64_t *sizes, bool rising,
            const Word *values, int64_t step, Word *out) {
  int64_t last = -1;
  for (int64_t i = 0; i < number; ++i, places += rank, values += step) {
    int64_t at = 0;
    for (int64_t axis = 0; axis < rank; ++axis) {
      if (!is_inside(places[axis], sizes[axis])) return i;
      at = at * sizes[axis] + places[axis];
    }
    if (rising && at <= last) return i;
    last = at;
    out[at] = *values;
  }
  return -1;
}

// A sparse tensor of `rows` rows by row, in each the order they have, with an element of `rest` at the start
// of each row that has none. How many there are then, -1 where a row is outside.
template <typename Word>
int64_t fill_empty_rows(const int64_t *places, int64_t number, int64_t rank, int64_t rows,
                        const Word *values, const Word *rest, int64_t *moved, bool *empty,
                        int64_t *filled, Word *filled_values) {
  std::vector<int64_t> next(static_cast<size_t>(rows));
  for (int64_t i = 0; i < number; ++i) {
    if (!is_inside(places[i * rank], rows)) return -1;
    ++next[places[i * rank]];
  }
  int64_t total = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t count = next[row];
    next[row] = total;
    empty[row] = count == 0;
    total += std::max<int64_t>(count, 1);
    if (count > 0) continue;
    std::fill_n(filled + next[row] * rank, rank, int64_t{0});
    filled[next[row] * rank] = row;
    if (filled_values != nullptr) filled_values[next[row]] = *rest;
  }
  for (int64_t i = 0; i < number; ++i, places += rank) {
    const int64_t at = moved[i] = next[places[0]]++;
    std::copy_n(places, rank, filled + at * rank);
    if (filled_values != nullptr) filled_values[at] = values[i];
  }
  return total;
}

// The gradients at these places, and the sum of all others, one after the other: -1, or the first place that
// is outside.
template <typename T>
int64_t part_filled(const int64_t *places, int64_t number, const T *grads, int64_t total, T *taken, T *rest) {
  std::vector<uint8_t> seen(static_cast<size_t>(total));
  for (int64_t i = 0; i < number; ++i) {
    if (!is_inside(places[i], total)) return i;
    seen[places[i]] = 1;
    taken[i] = grads[places[i]];
  }
  T sum = 0;
  for (int64_t i = 0; i < total; ++i) sum += seen[i] != 0 ? T(0) : grads[i];
  *rest = sum;
  return -1;
}

}  // namespace
}  // namespace penstock
