// Boxes cut out of images and resized, and what flows back, for images.cc.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "image_parts.h"

namespace penstock {
namespace {

struct CropSizes {
  int64_t batch, height, width, depth, rows, columns;

  explicit CropSizes(const int64_t *s)
      : batch(s[0]), height(s[1]), width(s[2]), depth(s[3]), rows(s[4]), columns(s[5]) {}
};

// The pixels around a pixel of a crop along one axis, and the weight of the second one.
struct Tap {
  int64_t low, high;
  float part;
  bool inside;
};

// Those of all pixels of a crop along one axis.
void taps_of(float low, float high, int64_t count, int64_t size, bool nearest, Tap *taps) {
  const float last = static_cast<float>(size - 1);
  const float step = count > 1 ? (high - low) * last / static_cast<float>(count - 1) : 0.0f;
  for (int64_t i = 0; i < count; ++i) {
    const float at = count == 1 ? 0.5f * (low + high) * last
                                : low * last + static_cast<float>(i) * step;
    const float kept = at > 0 ? (at < last ? at : last) : 0.0f;  // 0 for NaN, of an overflow
    const float first = std::floor(nearest ? kept + 0.5f : kept);
    Tap &tap = taps[i];
    tap.inside = at >= 0 && at <= last;
    tap.low = std::min(static_cast<int64_t>(first), size - 1);
    tap.high = nearest ? tap.low : std::min(static_cast<int64_t>(std::ceil(kept)), size - 1);
    tap.part = nearest ? 0.0f : kept - first;
  }
}

// Those of a box along both axes.
struct Taps {
  std::vector<Tap> rows, columns;

  Taps(const CropSizes &s, const float *box, bool nearest) : rows(s.rows), columns(s.columns) {
    taps_of(box[0], box[2], s.rows, s.height, nearest, rows.data());
    taps_of(box[1], box[3], s.columns, s.width, nearest, columns.data());
  }
};

int64_t wrong_box(const float *boxes, const int32_t *numbers, int64_t count, int64_t batch) {
  for (int64_t i = 0; i < count; ++i) {
    if (numbers[i] < 0 || numbers[i] >= batch) return i;
    for (int k = 0; k < 4; ++k)
      if (!std::isfinite(boxes[4 * i + k])) return i;
  }
  return -1;
}

template <typename T>
void crop(const T *image, const CropSizes &s, const float *box, bool nearest, float outside,
          float *out) {
  const Taps taps(s, box, nearest);
  for (const Tap &row : taps.rows) {
    const T *upper = image + row.low * s.width * s.depth, *lower = image + row.high * s.width * s.depth;
    for (const Tap &column : taps.columns) {
      const int64_t left = column.low * s.depth, right = column.high * s.depth;
      for (int64_t k = 0; k < s.depth; ++k) {
        const float a = static_cast<float>(upper[left + k]), b = static_cast<float>(upper[right + k]);
        const float c = static_cast<float>(lower[left + k]), d = static_cast<float>(lower[right + k]);
        const float top = a + (b - a) * column.part, bottom = c + (d - c) * column.part;
        out[k] = row.inside && column.inside ? top + (bottom - top) * row.part : outside;
      }
      out += s.depth;
    }
  }
}

// Adds what flows back from one crop to the rows of its image that are in a part.
void crop_back(const float *grads, const CropSizes &s, const float *box, bool nearest, Part part,
               float *image) {
  const Taps taps(s, box, nearest);
  for (const Tap &row : taps.rows) {
    for (int lower = 0; lower < (nearest ? 1 : 2); ++lower) {
      const int64_t y = lower ? row.high : row.low;
      if (!row.inside || y < part.from || y >= part.to) continue;
      const float down = lower ? row.part : 1 - row.part;
      float *to = image + y * s.width * s.depth;
      const float *from = grads;
      for (const Tap &column : taps.columns) {
        if (column.inside) {
          float *left = to + column.low * s.depth, *right = to + column.high * s.depth;
          for (int64_t k = 0; k < s.depth; ++k) {
            left[k] += from[k] * down * (1 - column.part);
            if (!nearest) right[k] += from[k] * down * column.part;
          }
        }
        from += s.depth;
      }
    }
    grads += s.columns * s.depth;
  }
}

// How much each pixel of a crop moves with the first and with the last edge of its box.
void ends_of(int64_t at, int64_t count, int64_t size, double *first, double *second) {
  const double last = static_cast<double>(size - 1);
  *second = count == 1 ? last / 2 : static_cast<double>(at) * (last / static_cast<double>(count - 1));
  *first = last - *second;
}

template <typename T>
void crop_to_box(const float *grads, const T *image, const CropSizes &s, const float *box, float *out) {
  const Taps taps(s, box, false);
  double total[4] = {0, 0, 0, 0};
  for (int64_t i = 0; i < s.rows; ++i) {
    const Tap &row = taps.rows[i];
    if (!row.inside) continue;
    const T *upper = image + row.low * s.width * s.depth, *lower = image + row.high * s.width * s.depth;
    double along = 0, first, second;
    for (int64_t j = 0; j < s.columns; ++j) {
      const Tap &column = taps.columns[j];
      if (!column.inside) continue;
      const float *grad = grads + (i * s.columns + j) * s.depth;
      const int64_t left = column.low * s.depth, right = column.high * s.depth;
      float by_y = 0, by_x = 0;
      for (int64_t k = 0; k < s.depth; ++k) {
        const float a = static_cast<float>(upper[left + k]), b = static_cast<float>(upper[right + k]);
        const float c = static_cast<float>(lower[left + k]), d = static_cast<float>(lower[right + k]);
        by_y += grad[k] * ((c - a) * (1 - column.part) + (d - b) * column.part);
        by_x += grad[k] * ((b - a) * (1 - row.part) + (d - c) * row.part);
      }
      along += by_y;
      ends_of(j, s.columns, s.width, &first, &second);
      total[1] += by_x * first;
      total[3] += by_x * second;
    }
    ends_of(i, s.rows, s.height, &first, &second);
    total[0] += along * first;
    total[2] += along * second;
  }
  for (int k = 0; k < 4; ++k) out[k] = static_cast<float>(total[k]);
}

EACH_SET int64_t one_crop(int64_t kind, const void *images, const CropSizes &s, const float *box,
                          int64_t number, bool nearest, float outside, float *out) {
  return for_kind(kind, [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    const T *image = static_cast<const T *>(images) + number * s.height * s.width * s.depth;
    crop(image, s, box, nearest, outside, out);
    return -1;
  });
}

EACH_SET int64_t crops_to_rows(const float *grads, const CropSizes &s, const float *boxes,
                               const int32_t *numbers, int64_t count, bool nearest, Part part,
                               float *out) {
  for (int64_t i = 0; i < count; ++i)
    crop_back(grads + i * s.rows * s.columns * s.depth, s, boxes + 4 * i, nearest, part,
              out + numbers[i] * s.height * s.width * s.depth);
  return -1;
}

EACH_SET int64_t one_crop_to_box(int64_t kind, const float *grads, const void *images,
                                 const CropSizes &s, const float *box, int64_t number, float *out) {
  return for_kind(kind, [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    const T *image = static_cast<const T *>(images) + number * s.height * s.width * s.depth;
    crop_to_box(grads, image, s, box, out);
    return -1;
  });
}

}  // namespace
}  // namespace penstock
