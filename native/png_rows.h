// Rows of PNG files as they were before their filters. Part of images.cc.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "shuffled.h"

namespace penstock {
namespace {

typedef int16_t Channels __attribute__((vector_size(16)));  // of a pixel, and as many that do not matter

template <int64_t kStep>
inline __attribute__((always_inline)) Channels pixel_at(const uint8_t *from) {
  typedef uint8_t Bytes __attribute__((vector_size(16)));
  typedef uint32_t Words __attribute__((vector_size(16)));
  uint32_t bytes = 0;  // put together in a register: what is stored in parts is slow to load
  for (int64_t k = 0; k < kStep; ++k) bytes |= uint32_t{from[k]} << (8 * k);
  const Words words = {bytes, 0, 0, 0};
  const Bytes apart = PENSTOCK_SHUFFLED(Bytes, reinterpret_cast<Bytes>(words), Bytes{}, 0, 16, 1, 17, 2, 18,
                                        3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  return reinterpret_cast<Channels>(apart);
}

template <int64_t kStep>
inline __attribute__((always_inline)) void put_pixel(Channels pixel, uint8_t *to) {
  typedef uint64_t Longs __attribute__((vector_size(16)));
  const uint64_t wide = reinterpret_cast<Longs>(pixel)[0];
  for (int64_t k = 0; k < kStep; ++k) to[k] = static_cast<uint8_t>(wide >> (16 * k));
}

inline __attribute__((always_inline)) Channels size_of(Channels x) {
  const Channels other = -x;
  return x > other ? x : other;
}

// The filter that takes whichever of left, above and corner is nearest to left + above - corner.
template <int64_t kStep>
void nearest_row(const uint8_t *row, const uint8_t *above, int64_t line, uint8_t *out) {
  Channels left = {}, corner = {};
  for (int64_t j = 0; j < line; j += kStep) {
    const Channels up = pixel_at<kStep>(above + j), by_up = up - corner, by_left = left - corner;
    const Channels to_left = size_of(by_up), to_up = size_of(by_left), to_corner = size_of(by_up + by_left);
    const Channels least = to_up < to_corner ? to_up : to_corner;
    const Channels guess = to_left > least ? (to_corner < to_up ? corner : up) : left;
    left = (pixel_at<kStep>(row + j) + guess) & 255;
    corner = up;
    put_pixel<kStep>(left, out + j);
  }
}

// The others of a row with one above it, of pixels of `kStep` bytes.
template <int64_t kStep>
void plain_row(int64_t filter, const uint8_t *row, const uint8_t *above, int64_t line, uint8_t *out) {
  if (filter == 4) return nearest_row<kStep>(row, above, line, out);
  if (filter == 0 || filter == 2) {
    for (int64_t j = 0; j < line; ++j) out[j] = static_cast<uint8_t>(row[j] + (filter ? above[j] : 0));
    return;
  }
  int left[kStep] = {};
  for (int64_t j = 0; j < line; j += kStep)
    for (int64_t k = 0; k < kStep; ++k) {
      const int guess = filter == 1 ? left[k] : (left[k] + above[j + k]) / 2;
      left[k] = (row[j + k] + guess) & 255;
      out[j + k] = static_cast<uint8_t>(left[k]);
    }
}

// A row of any filter and pixels; `above` is null for the first.
inline void any_row(int64_t filter, const uint8_t *row, const uint8_t *above, int64_t line, int64_t step,
                    uint8_t *out) {
  for (int64_t j = 0; j < line; ++j) {
    const int a = j < step ? 0 : out[j - step], b = above == nullptr ? 0 : above[j];
    const int c = above == nullptr || j < step ? 0 : above[j - step];
    int guess = 0;
    if (filter == 1) guess = a;
    if (filter == 2) guess = b;
    if (filter == 3) guess = (a + b) / 2;
    if (filter == 4) {
      const int by_a = std::abs(b - c), by_b = std::abs(a - c), by_c = std::abs(a + b - 2 * c);
      guess = by_a <= by_b && by_a <= by_c ? a : by_b <= by_c ? b : c;
    }
    out[j] = static_cast<uint8_t>(row[j] + guess);
  }
}

// Rows of a PNG file, `line` bytes each behind the number of their filter, which adds to a byte what was
// `step` bytes to the left, above, or both. Returns the first row whose filter there is not.
inline int64_t unfilter(const uint8_t *rows, int64_t height, int64_t line, int64_t step, uint8_t *out) {
  for (int64_t i = 0; i < height; ++i, rows += line, out += line) {
    const int64_t filter = *rows++, known = i > 0 && line % step == 0 ? step : 0;
    const uint8_t *above = i > 0 ? out - line : nullptr;
    if (filter > 4) return i;
    switch (known) {
      case 1: plain_row<1>(filter, rows, above, line, out); break;
      case 2: plain_row<2>(filter, rows, above, line, out); break;
      case 3: plain_row<3>(filter, rows, above, line, out); break;
      case 4: plain_row<4>(filter, rows, above, line, out); break;
      default: any_row(filter, rows, above, line, step, out);
    }
  }
  return -1;
}

}  // namespace
}  // namespace penstock
