// Images whose rows and columns are weighted sums of others, for images.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "image_parts.h"

namespace penstock {
namespace {

constexpr int64_t kResizeShare = 1 << 14;  // numbers that a thread makes at once

// Lines that are each a sum of some of `old` lines: from `places` on, two numbers each: the first and how
// many; `wide` weights each. Sums are in the order of the old lines, each product rounded.
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

  // One line of `size` numbers. Old lines are taken in pairs, so that sums are read and written half as often.
  void line(const T *from, int64_t size, int64_t i, T *__restrict to) const {
    const int64_t count = places[2 * i + 1];
    const T *a = from + places[2 * i] * size, *w = weights + i * wide;
    if (count == 0) {
      std::fill_n(to, size, T{0});
    } else if (count == 1) {
      for (int64_t at = 0; at < size; ++at) to[at] = a[at] * w[0];
    } else {
      for (int64_t at = 0; at < size; ++at) to[at] = a[at] * w[0] + a[size + at] * w[1];
    }
    int64_t k = 2;
    for (; k + 2 <= count; k += 2) {
      const T *b = a + k * size, *c = b + size;
      for (int64_t at = 0; at < size; ++at) to[at] = (to[at] + b[at] * w[k]) + c[at] * w[k + 1];
    }
    if (k < count)
      for (int64_t at = 0; at < size; ++at) to[at] += a[k * size + at] * w[k];
  }

  // All lines of few numbers each, the pixels of a row. A pixel that is not the last of `old` ones may be read,
  // and one of the result written, with a number of the next one: three numbers are then a vector of four.
  template <typename Depth>
  void pixels(const T *from, int64_t old, Depth depth, T *__restrict to) const {
    for (int64_t i = 0; i < lines; ++i) {
      const int64_t first = places[2 * i], count = places[2 * i + 1];
      const T *w = weights + i * wide;
      if (depth == 3 && i + 1 < lines && count > 0 && first + count < old) {
        typedef T Four __attribute__((vector_size(4 * sizeof(T))));
        const auto four = [=](int64_t pixel) {
          Four found;
          std::memcpy(&found, from + pixel * 3, sizeof found);
          return found;
        };
        Four sum = four(first) * w[0];
        for (int64_t k = 1; k < count; ++k) sum = sum + four(first + k) * w[k];
        std::memcpy(to + i * 3, &sum, sizeof sum);
        continue;
      }
      for (int64_t d = 0; d < depth; ++d) {
        T sum = count > 0 ? from[first * depth + d] * w[0] : T{0};
        for (int64_t k = 1; k < count; ++k) sum += from[(first + k) * depth + d] * w[k];
        to[i * depth + d] = sum;
      }
    }
  }

  // All lines of `depth` numbers each, of a row of `old` ones.
  void row(const T *from, int64_t old, int64_t depth, T *to) const {
    switch (depth) {
      case 1: return pixels(from, old, std::integral_constant<int64_t, 1>(), to);
      case 2: return pixels(from, old, std::integral_constant<int64_t, 2>(), to);
      case 3: return pixels(from, old, std::integral_constant<int64_t, 3>(), to);
      case 4: return pixels(from, old, std::integral_constant<int64_t, 4>(), to);
    }
    for (int64_t i = 0; i < lines; ++i) line(from, depth, i, to + i * depth);
  }
};

// The height, width and depth of images, and what makes their new rows and columns.
template <typename T>
struct Resized {
  int64_t height, width, depth;
  Blend<T> rows, columns;

  int64_t old_size() const { return height * width * depth; }
  int64_t new_line() const { return columns.lines * depth; }
};

// New rows [part.from, part.to) of an image, of each first its rows and then its columns summed.
template <typename T>
EACH_SET void resize_rows_first(const Resized<T> &s, const T *image, Part part, T *line, T *out) {
  for (int64_t i = part.from; i < part.to; ++i) {
    s.rows.line(image, s.width * s.depth, i, line);
    s.columns.row(line, s.width, s.depth, out + i * s.new_line());
  }
}

template <typename T>
EACH_SET void resize_columns(const Resized<T> &s, const T *image, Part part, T *out) {
  for (int64_t i = part.from; i < part.to; ++i)
    s.columns.row(image + i * s.width * s.depth, s.width, s.depth, out + i * s.new_line());
}

template <typename T>
EACH_SET void resize_rows(const Resized<T> &s, const T *between, Part part, T *out) {
  for (int64_t i = part.from; i < part.to; ++i) s.rows.line(between, s.new_line(), i, out + i * s.new_line());
}

// Runs work(part) for the parts of `lines` lines of `size` numbers.
template <typename Work>
int64_t in_lines(int64_t lines, int64_t size, int64_t threads, Work work) {
  const int64_t shares = std::max<int64_t>(1, std::min(lines, lines * size / kResizeShare));
  return in_shares(shares, threads, [&](int64_t share) { return work(Part(lines, share, shares)); });
}

template <typename T>
int64_t resize(const Resized<T> &s, bool rows_first, const T *image, int64_t threads, T *out) {
  if (rows_first)
    return in_lines(s.rows.lines, s.new_line(), threads, [&](Part part) -> int64_t {
      std::vector<T> line(static_cast<size_t>(s.width * s.depth));
      resize_rows_first(s, image, part, line.data(), out);
      return -1;
    });
  return with_memory([&]() -> int64_t {
    std::vector<T> between(static_cast<size_t>(s.height * s.new_line()));
    const int64_t found = in_lines(s.height, s.new_line(), threads, [&](Part part) -> int64_t {
      resize_columns(s, image, part, between.data());
      return -1;
    });
    if (found != -1) return found;
    return in_lines(s.rows.lines, s.new_line(), threads, [&](Part part) -> int64_t {
      resize_rows(s, between.data(), part, out);
      return -1;
    });
  });
}

template <typename T>
int64_t resampled(const T *images, const int64_t *s, const int64_t *row_places, const T *row_weights,
                  const int64_t *column_places, const T *column_weights, int64_t threads, T *out) {
  const Resized<T> sizes{s[1], s[2], s[3], {s[4], s[6], row_places, row_weights},
                         {s[5], s[7], column_places, column_weights}};
  if (!sizes.rows.fits(s[1]) || !sizes.columns.fits(s[2])) return 0;
  for (int64_t i = 0; i < s[0]; ++i) {
    const int64_t found = resize(sizes, s[8] != 0, images + i * sizes.old_size(), threads,
                                 out + i * s[4] * sizes.new_line());
    if (found != -1) return found;
  }
  return -1;
}

}  // namespace
}  // namespace penstock
