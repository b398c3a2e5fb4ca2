// Projective transforms, for images.cc.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "image_parts.h"

namespace penstock {
namespace {

enum Mode { kConstant, kReflect, kWrap, kNearest };

// A coordinate folded back at the outer edges of the first and the last pixel.
float reflected(float at, float size) {
  const float period = 2 * size;
  if (at < 0) {
    const float low = at < period ? at + period * std::trunc(-at / period) : at;
    return low < -size ? low + period : -low - 1;
  }
  if (!(at > size - 1)) return at;
  const float high = at - period * std::trunc(at / period);
  return high >= size ? period - high - 1 : high;
}

// A coordinate of an image that repeats.
float wrapped(float at, float size) {
  const float last = size - 1;
  if (last == 0) return 0;
  if (at < 0) return at + size * (std::trunc(-at / last) + 1);
  return at > last ? at - size * std::trunc(at / last) : at;
}

// A coordinate brought into the image as the mode says; kConstant leaves it outside.
float mapped(float at, int64_t count, int64_t mode) {
  const float size = static_cast<float>(count);
  if (mode == kConstant) return at != at ? -2.0f : std::min(std::max(at, -2.0f), size + 1);
  const float moved = mode == kReflect ? reflected(at, size) : mode == kWrap ? wrapped(at, size) : at;
  return moved != moved ? 0.0f : std::min(std::max(moved, 0.0f), size - 1);
}

float rounded(float at) { return std::trunc(at + (at < 0 ? -0.5f : 0.5f)); }

struct Source {
  int64_t height, width, depth;

  // The pixel at a place, or -1 outside.
  int64_t pixel(float y, float x) const {
    const bool inside = y >= 0 && y < static_cast<float>(height) && x >= 0 &&
                        x < static_cast<float>(width);
    if (!inside) return -1;
    const int64_t row = std::min(static_cast<int64_t>(y), height - 1);
    return row * width + std::min(static_cast<int64_t>(x), width - 1);
  }
};

template <typename T>
void see(const T *image, const Source &s, float y, float x, bool smooth, T fill, T *out) {
  if (!smooth) {
    const int64_t at = s.pixel(rounded(y), rounded(x));
    for (int64_t k = 0; k < s.depth; ++k) out[k] = at < 0 ? fill : image[at * s.depth + k];
    return;
  }
  using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const float top = std::floor(y), left = std::floor(x), down = y - top, right = x - left;
  const int64_t places[] = {s.pixel(top, left), s.pixel(top, left + 1), s.pixel(top + 1, left),
                            s.pixel(top + 1, left + 1)};
  for (int64_t k = 0; k < s.depth; ++k) {
    Number corners[4];
    for (int i = 0; i < 4; ++i)
      corners[i] = static_cast<Number>(places[i] < 0 ? fill : image[places[i] * s.depth + k]);
    const Number upper = (1 - right) * corners[0] + right * corners[1];
    const Number lower = (1 - right) * corners[2] + right * corners[3];
    out[k] = static_cast<T>((1 - down) * upper + down * lower);
  }
}

template <typename T>
void transform(const T *images, const int64_t *sizes, const float *transforms, bool smooth, int64_t mode,
               T fill, int64_t share, T *out) {
  const Source s{sizes[1], sizes[2], sizes[3]};
  const int64_t rows = sizes[4], columns = sizes[5], number = sizes[6];
  const int64_t image = share / rows;
  const float *t = transforms + (number == 1 ? 0 : 8 * image), y = static_cast<float>(share % rows);
  const T *from = images + image * s.height * s.width * s.depth;
  T *to = out + share * columns * s.depth;
  for (int64_t column = 0; column < columns; ++column, to += s.depth) {
    const float x = static_cast<float>(column), depth = t[6] * x + t[7] * y + 1;
    if (depth == 0) {
      std::fill_n(to, s.depth, fill);
      continue;
    }
    const float at_x = mapped((t[0] * x + t[1] * y + t[2]) / depth, s.width, mode);
    const float at_y = mapped((t[3] * x + t[4] * y + t[5]) / depth, s.height, mode);
    see(from, s, at_y, at_x, smooth, fill, to);
  }
}

template <typename T>
int64_t transforms_of(const void *images, const int64_t *sizes, const float *transforms, bool smooth,
                      int64_t mode, const void *fill, int64_t share, void *out) {
  transform(static_cast<const T *>(images), sizes, transforms, smooth, mode,
            *static_cast<const T *>(fill), share, static_cast<T *>(out));
  return -1;
}

EACH_SET int64_t transform_row(int64_t kind, const void *images, const int64_t *sizes,
                               const float *matrices, bool smooth, int64_t mode, const void *fill,
                               int64_t share, void *out) {
  switch (kind) {
    case 0: return transforms_of<float>(images, sizes, matrices, smooth, mode, fill, share, out);
    case 1: return transforms_of<double>(images, sizes, matrices, smooth, mode, fill, share, out);
    case 4: return transforms_of<uint8_t>(images, sizes, matrices, smooth, mode, fill, share, out);
    default: return -2;
  }
}

}  // namespace
}  // namespace penstock
