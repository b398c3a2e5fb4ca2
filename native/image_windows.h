// Dilations, and patches of images and volumes, for images.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

#include "image_parts.h"

namespace penstock {
namespace {

// ---- dilations

struct WindowSizes {
  int64_t batch, height, width, depth, tall, broad, down, across, gap_y, gap_x, top, left, rows, columns;

  explicit WindowSizes(const int64_t *s)
      : batch(s[0]), height(s[1]), width(s[2]), depth(s[3]), tall(s[4]), broad(s[5]), down(s[6]),
        across(s[7]), gap_y(s[8]), gap_x(s[9]), top(s[10]), left(s[11]), rows(s[12]), columns(s[13]) {}

  // visit(number of the place in the filter, the pixel there) for those in the image, in order.
  template <typename Visit>
  void each_place(int64_t row, int64_t column, Visit visit) const {
    for (int64_t i = 0; i < tall; ++i) {
      const int64_t y = row * down + i * gap_y - top;
      if (y < 0 || y >= height) continue;
      for (int64_t j = 0; j < broad; ++j) {
        const int64_t x = column * across + j * gap_x - left;
        if (x >= 0 && x < width) visit(i * broad + j, y * width + x);
      }
    }
  }
};

// An image, or a filter, plus the other: the lowest number stays.
template <typename T>
T raised(T x, T w) {
  const T sum = sum_of(x, w);
  return x == std::numeric_limits<T>::lowest() ? x : sum;
}

// What is kept of the places that are the largest.
enum Kept { kNothing, kPlace, kPixel };  // nothing; the place in the filter; the pixel

// The largest of a window for some channels, and where it is; -1 where none counts.
template <typename T, Kept kKept>
struct Largest {
  T value[kChannels];
  int32_t at[kChannels];

  void find(const WindowSizes &s, const T *image, const T *filter, int64_t row, int64_t column,
            int64_t size) {
    for (int64_t k = 0; k < kChannels; ++k) {
      value[k] = std::numeric_limits<T>::lowest();
      if (kKept != kNothing) at[k] = -1;
    }
    s.each_place(row, column, [&](int64_t place, int64_t pixel) {
      const T *x = image + pixel * s.depth, *w = filter + place * s.depth;
      const int32_t here = static_cast<int32_t>(kKept == kPlace ? place : pixel);
      const auto take = [&](int64_t k) {
        const T sum = raised(x[k], w[k]);
        const bool wins = sum > value[k];
        value[k] = wins ? sum : value[k];
        if (kKept != kNothing) at[k] = wins ? here : at[k];
      };
      // Loops of so few steps would be taken apart before they become vectors.
      if (size == kChannels) {
#pragma GCC unroll 1
        for (int64_t k = 0; k < kChannels; ++k) take(k);
      } else if (size == kChannels / 2) {
#pragma GCC unroll 1
        for (int64_t k = 0; k < kChannels / 2; ++k) take(k);
      } else {
        for (int64_t k = 0; k < size; ++k) take(k);
      }
    });
  }
};

// The first pixel of a window that is in the image, or -1.
inline int64_t first_pixel(const WindowSizes &s, int64_t row, int64_t column) {
  int64_t first = -1;
  s.each_place(row, column, [&](int64_t, int64_t pixel) { first = first < 0 ? pixel : first; });
  return first;
}

template <typename T>
void dilate(const T *images, const T *filter, const WindowSizes &s, int64_t share, T *out) {
  const int64_t image = share / s.rows, row = share % s.rows;
  const T *x = images + image * s.height * s.width * s.depth;
  T *to = out + share * s.columns * s.depth;
  Largest<T, kNothing> largest;
  for (int64_t column = 0; column < s.columns; ++column, to += s.depth)
    for (int64_t from = 0; from < s.depth; from += kChannels) {
      const int64_t size = std::min(kChannels, s.depth - from);
      largest.find(s, x + from, filter + from, row, column, size);
      for (int64_t k = 0; k < size; ++k) to[from + k] = largest.value[k];
    }
}

// Windows are taken from the last to the first: so each pixel gets its shares in the order of the
// filter's places.
template <typename T>
void dilate_to_images(const T *images, const T *filter, const T *grads, const WindowSizes &s,
                      int64_t step, int64_t share, T *out) {
  const int64_t blocks = (s.depth + step - 1) / step;
  const int64_t image = share / blocks, from = share % blocks * step;
  const int64_t size = std::min(step, s.depth - from);
  const T *x = images + image * s.height * s.width * s.depth + from;
  const T *grad = grads + image * s.rows * s.columns * s.depth + from;
  T *to = out + image * s.height * s.width * s.depth + from;
  Largest<T, kPixel> largest;
  for (int64_t row = s.rows; row-- > 0;)
    for (int64_t column = s.columns; column-- > 0;) {
      largest.find(s, x, filter + from, row, column, size);
      const T *share_of = grad + (row * s.columns + column) * s.depth;
      for (int64_t k = 0; k < size; ++k) {
        const int64_t pixel = largest.at[k] < 0 ? first_pixel(s, row, column) : largest.at[k];
        if (pixel >= 0) to[pixel * s.depth + k] = sum_of(to[pixel * s.depth + k], share_of[k]);
      }
    }
}

// Sums of gradients: in double, or whole numbers that wrap around.
template <typename T>
using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

// Adds those of some lines of windows to `total`.
template <typename T>
void dilate_to_filter(const T *images, const T *filter, const T *grads, const WindowSizes &s, Part part,
                      Sum<T> *total) {
  Largest<T, kPlace> largest;
  for (int64_t line = part.from; line < part.to; ++line)
    for (int64_t column = 0; column < s.columns; ++column)
      for (int64_t from = 0; from < s.depth; from += kChannels) {
        const int64_t size = std::min(kChannels, s.depth - from);
        const T *x = images + line / s.rows * s.height * s.width * s.depth;
        largest.find(s, x + from, filter + from, line % s.rows, column, size);
        const T *grad = grads + (line * s.columns + column) * s.depth + from;
        for (int64_t k = 0; k < size; ++k) {
          const int64_t place = std::max(largest.at[k], 0);
          total[place * s.depth + from + k] += static_cast<Sum<T>>(grad[k]);
        }
      }
}

template <typename T>
void add_shares(const Sum<T> *totals, int64_t shares, int64_t size, T *out) {
  for (int64_t k = 0; k < size; ++k) {
    Sum<T> total = 0;
    for (int64_t share = 0; share < shares; ++share) total += totals[share * size + k];
    out[k] = sum_of(out[k], static_cast<T>(total));
  }
}

EACH_SET int64_t dilate_line(int64_t kind, const void *images, const void *filter, const WindowSizes &s,
                             int64_t share, void *out) {
  return for_kind(kind, [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    dilate(static_cast<const T *>(images), static_cast<const T *>(filter), s, share,
           static_cast<T *>(out));
    return -1;
  });
}

EACH_SET int64_t dilate_to_channels(int64_t kind, const void *images, const void *filter,
                                    const void *grads, const WindowSizes &s, int64_t step,
                                    int64_t share, void *out) {
  return for_kind(kind, [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    dilate_to_images(static_cast<const T *>(images), static_cast<const T *>(filter),
                     static_cast<const T *>(grads), s, step, share, static_cast<T *>(out));
    return -1;
  });
}

EACH_SET int64_t dilate_to_totals(int64_t kind, const void *images, const void *filter,
                                  const void *grads, const WindowSizes &s, Part part, void *total) {
  return for_kind(kind, [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    dilate_to_filter(static_cast<const T *>(images), static_cast<const T *>(filter),
                     static_cast<const T *>(grads), s, part, static_cast<Sum<T> *>(total));
    return -1;
  });
}

int64_t dilations_to_images(int64_t kind, const void *images, const void *filter, const void *grads,
                            const WindowSizes &s, int64_t threads, void *out) {
  const int64_t half = std::max<int64_t>(kChannels / 2, (s.depth + 1) / 2);
  const int64_t step = threads > 1 && s.depth <= kChannels ? half : kChannels;
  return in_shares(s.batch * ((s.depth + step - 1) / step), threads, [&](int64_t share) {
    return dilate_to_channels(kind, images, filter, grads, s, step, share, out);
  });
}

int64_t dilations_to_filter(int64_t kind, const void *images, const void *filter, const void *grads,
                            const WindowSizes &s, int64_t threads, void *out) {
  constexpr int64_t kMostShares = 16;
  // The same shares, and so the same sums, for any number of threads.
  const int64_t size = s.tall * s.broad * s.depth, shares = std::min(s.batch * s.rows, kMostShares);
  // Zeros of either kind of sums.
  const std::unique_ptr<void, void (*)(void *)> held(
      std::calloc(static_cast<size_t>(std::max<int64_t>(1, shares * size)), sizeof(double)), std::free);
  if (!held) return kNoMemory;
  const int64_t found = in_shares(shares, threads, [&](int64_t share) {
    return dilate_to_totals(kind, images, filter, grads, s, Part(s.batch * s.rows, share, shares),
                            static_cast<char *>(held.get()) + share * size * sizeof(double));
  });
  if (found != -1) return found;
  return for_kind(kind, [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    add_shares<T>(static_cast<const Sum<T> *>(held.get()), shares, size, static_cast<T *>(out));
    return -1;
  });
}

// ---- patches

void patches(const char *volumes, const int64_t *sizes, int64_t threads, char *out) {
  const int64_t batch = sizes[0], bytes = sizes[1];
  const int64_t *size = sizes + 2, *window = size + 3, *stride = size + 6, *rate = size + 9;
  const int64_t *before = size + 12, *count = size + 15;
  const int64_t run = window[2] * bytes, patch = window[0] * window[1] * run;
  in_parallel(batch * count[0] * count[1], threads, [&](int64_t share) {
    const int64_t row = share % count[1], plane = share / count[1] % count[0];
    const char *volume = volumes + share / count[1] / count[0] * size[0] * size[1] * size[2] * bytes;
    char *to = out + share * count[2] * patch;
    for (int64_t column = 0; column < count[2]; ++column) {
      const int64_t left = column * stride[2] - before[2];
      for (int64_t i = 0; i < window[0]; ++i) {
        const int64_t z = plane * stride[0] + i * rate[0] - before[0];
        for (int64_t j = 0; j < window[1]; ++j, to += run) {
          const int64_t y = row * stride[1] + j * rate[1] - before[1];
          if (z < 0 || z >= size[0] || y < 0 || y >= size[1]) {
            std::memset(to, 0, static_cast<size_t>(run));
            continue;
          }
          const char *line = volume + (z * size[1] + y) * size[2] * bytes;
          if (rate[2] == 1 && left >= 0 && left + window[2] <= size[2]) {
            std::memcpy(to, line + left * bytes, static_cast<size_t>(run));
            continue;
          }
          for (int64_t k = 0; k < window[2]; ++k) {
            const int64_t x = left + k * rate[2];
            if (x < 0 || x >= size[2])
              std::memset(to + k * bytes, 0, static_cast<size_t>(bytes));
            else
              std::memcpy(to + k * bytes, line + x * bytes, static_cast<size_t>(bytes));
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace penstock
