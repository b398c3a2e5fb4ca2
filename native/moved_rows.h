// Rows that go elsewhere as they are: padded, or dealt out by id; permutations inverted. Part of
// arrays.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "combine.h"
#include "threads.h"

namespace penstock {
namespace {

constexpr int64_t kPadded = 1 << 17;  // bytes of rows that a thread fills at once

// `count` times the `size` bytes at `item`.
inline void repeat(const char *item, int64_t size, int64_t count, char *to) {
  uint32_t four;
  if (size == 4) {
    std::memcpy(&four, item, 4);
    for (int64_t i = 0; i < count; ++i) std::memcpy(to + 4 * i, &four, 4);
    return;
  }
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * size, item, static_cast<size_t>(size));
}

// Rows of `size` bytes from splits[i] up to splits[i + 1], at most `width` items of them, and what lacks
// of `width` from `fill`.
inline void pad(const char *from, int64_t size, const void *splits, int64_t wide, int64_t number,
                int64_t width, int64_t threads, const char *fill, char *to) {
  const int64_t share = std::max(int64_t{1}, kPadded / std::max(int64_t{1}, width * size));
  in_parallel((number + share - 1) / share, threads, [=](int64_t part) {
    const int64_t last = std::min(number, (part + 1) * share);
    for (int64_t i = part * share; i < last; ++i) {
      const int64_t begin = entry(splits, wide, i);
      const int64_t given = std::min(entry(splits, wide, i + 1) - begin, width);
      char *row = to + i * width * size;
      std::memcpy(row, from + begin * size, static_cast<size_t>(given * size));
      repeat(fill, size, width - given, row + given * size);
    }
  });
}

// `size` is a constant where it is one of many small ones, so that copies take no call.
inline void deal(const char *rows, int64_t size, const int32_t *ids, int64_t number,
                 int64_t *starts, char *out) {
  for (int64_t i = 0; i < number; ++i)
    std::memcpy(out + starts[ids[i]]++ * size, rows + i * size, static_cast<size_t>(size));
}

template <typename Index>
int64_t invert(const Index *x, int64_t number, Index *out) {
  std::fill(out, out + number, Index{-1});
  for (int64_t i = 0; i < number; ++i) {
    if (x[i] < 0 || x[i] >= number || out[x[i]] >= 0) return i;
    out[x[i]] = static_cast<Index>(i);
  }
  return -1;
}

}  // namespace
}  // namespace penstock
