// Work on images and on windows of arrays. What the functions promise is in images.h.

#include "images.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "image_cells.h"
#include "image_colors.h"
#include "image_convolutions.h"
#include "image_crops.h"
#include "image_parts.h"
#include "image_pools.h"
#include "image_resize.h"
#include "image_transforms.h"
#include "image_windows.h"
#include "png_rows.h"

namespace penstock {
namespace {

// ---- files

// Rows of BGR or BGRA pixels as RGB or RGBA ones, from the last one on where `turned`.
template <int64_t kBytes>
void swap(const uint8_t *rows, int64_t height, int64_t width, int64_t line, bool turned, uint8_t *out) {
  for (int64_t i = 0; i < height; ++i) {
    const uint8_t *from = rows + (turned ? height - 1 - i : i) * line;
    for (int64_t j = 0; j < width; ++j, from += kBytes, out += kBytes) {
      out[0] = from[2];
      out[1] = from[1];
      out[2] = from[0];
      if (kBytes == 4) out[3] = from[3];
    }
  }
}

EACH_SET void sound(const float *x, int64_t count, int16_t *out) {
  for (int64_t i = 0; i < count; ++i) {
    const float each = x[i] != x[i] ? 0.0f : x[i] * 32768.0f;
    const float low = each < -32768.0f ? -32768.0f : each;
    out[i] = static_cast<int16_t>(static_cast<int32_t>(std::nearbyint(low > 32767.0f ? 32767.0f : low)));
  }
}

// ---- boxes drawn

// A whole number of a float's, not so large that sums with it overflow.
int64_t whole(float x) {
  constexpr float kMost = 1099511627776.0f;  // 2 ** 40
  return static_cast<int64_t>(std::min(std::max(x, -kMost), kMost));
}

void draw(char *image, int64_t height, int64_t width, int64_t bytes, const float *box,
          const char *color) {
  for (int k = 0; k < 4; ++k)
    if (!std::isfinite(box[k])) return;
  const float tall = static_cast<float>(height - 1), broad = static_cast<float>(width - 1);
  const int64_t y[] = {whole(box[0] * tall), whole(box[2] * tall)};
  const int64_t x[] = {whole(box[1] * broad), whole(box[3] * broad)};
  if (y[0] > y[1] || x[0] > x[1]) return;
  if (y[0] >= height || y[1] < 0 || x[0] >= width || x[1] < 0) return;
  const auto put = [&](int64_t row, int64_t column) {
    std::memcpy(image + (row * width + column) * bytes, color, static_cast<size_t>(bytes));
  };
  const int64_t left = std::max<int64_t>(x[0], 0), right = std::min(x[1], width - 1);
  const int64_t top = std::max<int64_t>(y[0], 0), bottom = std::min(y[1], height - 1);
  for (const int64_t row : y)
    if (row >= 0 && row < height)
      for (int64_t column = left; column <= right; ++column) put(row, column);
  for (const int64_t column : x)
    if (column >= 0 && column < width)
      for (int64_t row = top; row <= bottom; ++row) put(row, column);
}

}  // namespace
}  // namespace penstock

using namespace penstock;

int penstock_images_version() { return 6; }

int64_t penstock_images_crop(int64_t kind, const void *images, const int64_t *sizes, const float *boxes,
                             const int32_t *numbers, int64_t count, int64_t nearest,
                             const float *outside, int64_t threads, float *out) {
  const int64_t wrong = wrong_box(boxes, numbers, count, sizes[0]);
  if (wrong >= 0) return wrong;
  const CropSizes s(sizes);
  return in_shares(count, threads, [&](int64_t i) {
    return one_crop(kind, images, s, boxes + 4 * i, numbers[i], nearest, *outside,
                    out + i * s.rows * s.columns * s.depth);
  });
}

int64_t penstock_images_crop_to_images(const float *grads, const int64_t *sizes, const float *boxes,
                                       const int32_t *numbers, int64_t count, int64_t nearest,
                                       int64_t threads, float *out) {
  const int64_t wrong = wrong_box(boxes, numbers, count, sizes[0]);
  if (wrong >= 0) return wrong;
  const CropSizes s(sizes);
  const int64_t shares = std::max<int64_t>(1, std::min(threads, s.height));
  return in_shares(shares, threads, [&](int64_t share) {
    return crops_to_rows(grads, s, boxes, numbers, count, nearest, Part(s.height, share, shares), out);
  });
}

int64_t penstock_images_crop_to_boxes(int64_t kind, const float *grads, const void *images,
                                      const int64_t *sizes, const float *boxes, const int32_t *numbers,
                                      int64_t count, int64_t threads, float *out) {
  const int64_t wrong = wrong_box(boxes, numbers, count, sizes[0]);
  if (wrong >= 0) return wrong;
  const CropSizes s(sizes);
  return in_shares(count, threads, [&](int64_t i) {
    return one_crop_to_box(kind, grads + i * s.rows * s.columns * s.depth, images, s, boxes + 4 * i,
                           numbers[i], out + 4 * i);
  });
}

int64_t penstock_images_colors(int64_t operation, int64_t kind, const void *pixels, int64_t count,
                               const float *amount, int64_t threads, void *out) {
  const float by = amount ? *amount : 0.0f;
  in_parallel(threads, threads, [&](int64_t share) {
    const Part part(count, share, threads);
    if (kind == 0)
      float_colors(operation, static_cast<const float *>(pixels), part, by, static_cast<float *>(out));
    else
      double_colors(operation, static_cast<const double *>(pixels), part, by,
                    static_cast<double *>(out));
  });
  return -1;
}

int64_t penstock_images_contrast(const float *images, int64_t number, int64_t places, int64_t depth,
                                 const float *factor, int64_t threads, float *out) {
  const Blocks blocks(number, places, depth);
  return with_memory([&] { return contrast(images, blocks, *factor, threads, out); });
}

int64_t penstock_images_dilate(int64_t kind, const void *images, const void *filter,
                               const int64_t *sizes, int64_t threads, void *out) {
  const WindowSizes s(sizes);
  return in_shares(s.batch * s.rows, threads, [&](int64_t share) {
    return dilate_line(kind, images, filter, s, share, out);
  });
}

int64_t penstock_images_dilate_back(int64_t kind, int64_t to, const void *images, const void *filter,
                                    const void *grads, const int64_t *sizes, int64_t threads,
                                    void *out) {
  return with_memory([=] {
    const auto run = to ? dilations_to_filter : dilations_to_images;
    return run(kind, images, filter, grads, WindowSizes(sizes), threads, out);
  });
}

int64_t penstock_images_pool(int64_t kind, int64_t mean, const void *images, const int64_t *sizes,
                             const int64_t *rows, const int64_t *columns, int64_t overlapping,
                             int64_t threads, void *out) {
  const Cells cells(sizes, rows, columns, overlapping);
  if (!cells.are_right()) return 0;
  return in_shares(cells.batch * cells.rows, threads, [&](int64_t share) {
    return pool_row(kind, mean, images, cells, share, out);
  });
}

int64_t penstock_images_pool_back(int64_t kind, const void *images, const void *pooled,
                                  const void *grads, const int64_t *sizes, const int64_t *rows,
                                  const int64_t *columns, int64_t overlapping, int64_t threads,
                                  void *out) {
  const Cells cells(sizes, rows, columns, overlapping);
  return cells.are_right() ? pools_back(kind, images, pooled, grads, cells, threads, out) : 0;
}

int64_t penstock_images_slide(int64_t work, int64_t kind, const void *x, const void *largest,
                              const void *grads, const int64_t *sizes, int64_t threads, void *out) {
  return slides(work, kind, x, largest, grads, Sliding(sizes), threads, out);
}

int64_t penstock_images_convolve(int64_t work, int64_t kind, const void *x, const void *y,
                                 const int64_t *sizes, void *out) {
  return with_memory([&] { return convolves(work, kind, x, y, Convolution(sizes), out); });
}

int64_t penstock_images_to_places(int64_t kind, const void *grads, const int64_t *places,
                                  int64_t images, int64_t windows, int64_t step, int64_t size,
                                  void *out) {
  return for_kind(kind, [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    add_to_places(static_cast<const T *>(grads), places, images, windows, step, size,
                  static_cast<T *>(out));
    return -1;
  });
}

int64_t penstock_images_spread(int64_t kind, const void *grads, const int64_t *sizes,
                               const int64_t *rows, const int64_t *columns, int64_t overlapping,
                               int64_t threads, void *out) {
  const Cells cells(sizes, rows, columns, overlapping);
  return cells.are_right() ? spreads(kind, grads, cells, threads, out) : 0;
}

int64_t penstock_images_patches(const void *volumes, const int64_t *sizes, int64_t threads, void *out) {
  patches(static_cast<const char *>(volumes), sizes, threads, static_cast<char *>(out));
  return -1;
}

int64_t penstock_images_draw(void *images, const float *boxes, const void *colors,
                             const int64_t *sizes) {
  const int64_t batch = sizes[0], height = sizes[1], width = sizes[2], bytes = sizes[3];
  const int64_t number = sizes[4], table = sizes[5];
  for (int64_t i = 0; i < batch; ++i)
    for (int64_t j = 0; j < number; ++j)
      draw(static_cast<char *>(images) + i * height * width * bytes, height, width, bytes,
           boxes + 4 * (i * number + j), static_cast<const char *>(colors) + j % table * bytes);
  return -1;
}

int64_t penstock_images_resample(int64_t kind, const void *images, const int64_t *sizes,
                                 const int64_t *row_places, const void *row_weights,
                                 const int64_t *column_places, const void *column_weights,
                                 int64_t threads, void *out) {
  const auto run = [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    return resampled(static_cast<const T *>(images), sizes, row_places,
                     static_cast<const T *>(row_weights), column_places,
                     static_cast<const T *>(column_weights), threads, static_cast<T *>(out));
  };
  return kind == 0 ? run(Type<float>{}) : kind == 1 ? run(Type<double>{}) : -2;
}

int64_t penstock_images_transform(int64_t kind, const void *images, const int64_t *sizes,
                                  const float *matrices, int64_t smooth, int64_t mode,
                                  const void *fill, int64_t threads, void *out) {
  return in_shares(sizes[0] * sizes[4], threads, [&](int64_t share) {
    return transform_row(kind, images, sizes, matrices, smooth, mode, fill, share, out);
  });
}

int64_t penstock_images_swap(const uint8_t *rows, int64_t height, int64_t width, int64_t bytes,
                             int64_t line, int64_t turned, uint8_t *out) {
  (bytes == 4 ? swap<4> : swap<3>)(rows, height, width, line, turned, out);
  return -1;
}

int64_t penstock_images_unfilter(const uint8_t *rows, int64_t height, int64_t line, int64_t step,
                                 uint8_t *out) {
  return unfilter(rows, height, line, step, out);
}

int64_t penstock_images_sound(const float *samples, int64_t count, int16_t *out) {
  sound(samples, count, out);
  return -1;
}
