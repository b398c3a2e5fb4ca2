// Images whose rows and columns are weighted sums of others, for images.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "image_parts.h"

namespace penstock {
namespace {

// Lines that are each a sum of some of `old` lines: from `places` on, two numbers each: the first and how
// many; `wide` weights each.
template <typename T>
struct Blend {
  int64_t lines, wide;
  const int64_t *places;
  const T *weights;

  // Whether what is read is there.
  bool fits(int64_t old) const {
    for (int64_t i = 0; i < lines; ++i) {
      const int64_t first = places[2 * i], count = places[2 * i + 1];
      if (first < 0 || count < 0 || count > wide || first > old - count) return false;
    }
    return true;
  }

  // The sums of lines of `size` numbers; in the order of the old lines, each product rounded.
  void run(const T *from, int64_t size, T *to) const {
    for (int64_t i = 0; i < lines; ++i, to += size) {
      const int64_t count = places[2 * i + 1];
      const T *line = from + places[2 * i] * size, *weight = weights + i * wide;
      if (count == 0) std::fill_n(to, size, T{0});
      for (int64_t k = 0; k < count; ++k, line += size) {
        const T w = weight[k];
        if (k == 0)
          for (int64_t at = 0; at < size; ++at) to[at] = line[at] * w;
        else
          for (int64_t at = 0; at < size; ++at) to[at] += line[at] * w;
      }
    }
  }
};

template <typename T>
void resample(const T *image, int64_t height, int64_t width, int64_t depth, const Blend<T> &rows,
              const Blend<T> &columns, bool rows_first, T *between, T *out) {
  if (rows_first) {
    rows.run(image, width * depth, between);
    for (int64_t i = 0; i < rows.lines; ++i)
      columns.run(between + i * width * depth, depth, out + i * columns.lines * depth);
  } else {
    for (int64_t i = 0; i < height; ++i)
      columns.run(image + i * width * depth, depth, between + i * columns.lines * depth);
    rows.run(between, columns.lines * depth, out);
  }
}

template <typename T>
EACH_SET void resample_each(const T *images, const int64_t *s, const Blend<T> &rows,
                            const Blend<T> &columns, T *between, T *out) {
  const int64_t size = s[1] * s[2] * s[3];
  for (int64_t i = 0; i < s[0]; ++i, images += size, out += s[4] * s[5] * s[3])
    resample(images, s[1], s[2], s[3], rows, columns, s[8] != 0, between, out);
}

template <typename T>
int64_t resampled(const T *images, const int64_t *s, const int64_t *row_places, const T *row_weights,
                  const int64_t *column_places, const T *column_weights, T *out) {
  const Blend<T> rows{s[4], s[6], row_places, row_weights};
  const Blend<T> columns{s[5], s[7], column_places, column_weights};
  if (!rows.fits(s[1]) || !columns.fits(s[2])) return 0;
  return with_memory([&]() -> int64_t {
    std::vector<T> between(static_cast<size_t>((s[8] != 0 ? s[4] * s[2] : s[1] * s[5]) * s[3]));
    resample_each(images, s, rows, columns, between.data(), out);
    return -1;
  });
}

}  // namespace
}  // namespace penstock
