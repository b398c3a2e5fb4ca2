// Work on images and on windows of arrays. What the functions promise is in images.h.

#include "images.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "threads.h"

// Compiled once for each instruction set, with all that it calls, as in special.cc: but not what other
// threads call, so each function does one share of the work.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_THREAD__)
#define EACH_SET __attribute__((flatten, target_clones("arch=x86-64-v3", "default")))
#else
#define EACH_SET
#endif

namespace penstock {
namespace {

template <typename T>
struct Type {
  using type = T;
};

// run(Type<T>) for the type of a kind; -2 for one that there is not.
template <typename Run>
int64_t for_kind(int64_t kind, Run run) {
  switch (kind) {
    case 0: return run(Type<float>{});
    case 1: return run(Type<double>{});
    case 2: return run(Type<int32_t>{});
    case 3: return run(Type<int64_t>{});
    case 4: return run(Type<uint8_t>{});
    case 5: return run(Type<int8_t>{});
    case 6: return run(Type<uint16_t>{});
    case 7: return run(Type<int16_t>{});
    case 8: return run(Type<uint32_t>{});
    case 9: return run(Type<uint64_t>{});
    default: return -2;
  }
}

// The four kinds that pooling takes.
template <typename Run>
int64_t for_pooled(int64_t kind, Run run) {
  switch (kind) {
    case 0: return run(Type<float>{});
    case 1: return run(Type<double>{});
    case 2: return run(Type<int32_t>{});
    case 3: return run(Type<int64_t>{});
    default: return -2;
  }
}

// The sum of two numbers; integers wrap around.
template <typename T>
T sum_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Bits = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<uint64_t>(static_cast<Bits>(a)) + static_cast<Bits>(b));
  } else {
    return a + b;
  }
}

// Runs take(share) for each share on some threads; -1, or what one of them returned else.
template <typename Take>
int64_t in_shares(int64_t shares, int64_t threads, Take take) {
  std::atomic<int64_t> found{-1};
  in_parallel(shares, threads, [&](int64_t share) {
    const int64_t one = with_memory([&] { return take(share); });
    if (one != -1) found = one;
  });
  return found;
}

// What is `share` of `shares` even parts of [0, count).
struct Part {
  int64_t from, to;

  Part(int64_t count, int64_t share, int64_t shares)
      : from(count * share / shares), to(count * (share + 1) / shares) {}
};

// ---- crops

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

// ---- colors

constexpr int64_t kPixels = 128;  // that are worked on at once, channel by channel

// As NumPy's: a NaN wins.
template <typename T>
T larger(T a, T b) {
  return (a > b) | (a != a) ? a : b;
}
template <typename T>
T smaller(T a, T b) {
  return (a < b) | (a != a) ? a : b;
}
template <typename T>
T in_unit(T x) {
  const T low = x < 0 ? T{0} : x;
  return low > 1 ? T{1} : low;
}

template <typename T>
struct Pixels {
  T a[kPixels], b[kPixels], c[kPixels];

  void to_hsv() {
    for (int64_t i = 0; i < kPixels; ++i) {
      const T red = a[i], green = b[i], blue = c[i];
      const T value = larger(larger(red, green), blue);
      const T spread = value - smaller(smaller(red, green), blue);
      const T safe = spread == 0 ? T{1} : spread;
      const T of_red = (green - blue) / safe, of_green = (blue - red) / safe + 2;
      const T of_blue = (red - green) / safe + 4;
      const T sector = value == red ? of_red : value == green ? of_green : of_blue;
      const T hue = spread == 0 ? T{0} : sector / 6;
      const T part = spread / (value > 0 ? value : T{1});
      a[i] = hue < 0 ? hue + 1 : hue;
      b[i] = value > 0 ? part : T{0};
      c[i] = value;
    }
  }

  void to_rgb() {
    for (int64_t i = 0; i < kPixels; ++i) {
      const T sector = a[i] * 6, saturation = b[i], value = c[i], rest = 1 - saturation;
      a[i] = (rest + saturation * in_unit(std::fabs(sector - 3) - 1)) * value;
      b[i] = (rest + saturation * in_unit(2 - std::fabs(sector - 2))) * value;
      c[i] = (rest + saturation * in_unit(2 - std::fabs(sector - 4))) * value;
    }
  }

  void turn(T amount) {
    for (int64_t i = 0; i < kPixels; ++i) {
      const T sum = a[i] + amount, part = sum - std::trunc(sum);
      a[i] = part < 0 ? part + 1 : part;
    }
  }

  void saturate(T amount) {
    for (int64_t i = 0; i < kPixels; ++i) b[i] = in_unit(b[i] * amount);
  }
};

template <typename T>
void colors_of(int64_t operation, const T *x, int64_t count, T amount, T *out) {
  Pixels<T> held;
  std::memset(&held, 0, sizeof held);
  for (int64_t from = 0; from < count; from += kPixels) {
    const int64_t size = std::min(kPixels, count - from);
    const T *in = x + 3 * from;
    T *to = out + 3 * from;
    for (int64_t i = 0; i < size; ++i) {
      held.a[i] = in[3 * i];
      held.b[i] = in[3 * i + 1];
      held.c[i] = in[3 * i + 2];
    }
    if (operation != 1) held.to_hsv();
    if (operation == 2) held.turn(amount);
    if (operation == 3) held.saturate(amount);
    if (operation != 0) held.to_rgb();
    for (int64_t i = 0; i < size; ++i) {
      to[3 * i] = held.a[i];
      to[3 * i + 1] = held.b[i];
      to[3 * i + 2] = held.c[i];
    }
  }
}

EACH_SET void float_colors(int64_t operation, const float *x, Part part, float amount, float *out) {
  colors_of(operation, x + 3 * part.from, part.to - part.from, amount, out + 3 * part.from);
}
EACH_SET void double_colors(int64_t operation, const double *x, Part part, double amount, double *out) {
  colors_of(operation, x + 3 * part.from, part.to - part.from, amount, out + 3 * part.from);
}

// Adds the sums of channels to `totals`. Several pixels are summed side by side in floats, not so many
// that much is lost.
void add_channels(const float *x, int64_t places, int64_t depth, double *totals) {
  constexpr int64_t kSide = 64, kTurns = 16;
  const int64_t width = kSide * depth;
  std::vector<float> held(places < kSide ? 0 : static_cast<size_t>(width));
  float *sums = held.data();
  int64_t left = places;
  while (left >= kSide) {
    std::fill_n(sums, width, 0.0f);
    for (int64_t turn = 0; turn < kTurns && left >= kSide; ++turn, left -= kSide, x += width)
      for (int64_t k = 0; k < width; ++k) sums[k] += x[k];
    for (int64_t i = 0; i < kSide; ++i)
      for (int64_t k = 0; k < depth; ++k) totals[k] += sums[i * depth + k];
  }
  for (; left > 0; --left, x += depth)
    for (int64_t k = 0; k < depth; ++k) totals[k] += x[k];
}

EACH_SET int64_t contrast(const float *x, int64_t number, int64_t places, int64_t depth, float factor,
                          int64_t threads, float *out) {
  std::vector<double> totals(static_cast<size_t>(threads * depth));
  std::vector<float> means(static_cast<size_t>(depth * kPixels));
  int64_t found = -1;
  for (int64_t i = 0; i < number && found == -1; ++i, x += places * depth, out += places * depth) {
    std::fill(totals.begin(), totals.end(), 0.0);
    found = in_parallel_with_memory(threads, threads, [&](int64_t share) {
      const Part part(places, share, threads);
      add_channels(x + part.from * depth, part.to - part.from, depth, &totals[share * depth]);
    });
    for (int64_t k = 0; k < depth; ++k) {
      double total = 0;
      for (int64_t share = 0; share < threads; ++share) total += totals[share * depth + k];
      for (int64_t j = 0; j < kPixels; ++j)
        means[j * depth + k] = static_cast<float>(total / static_cast<double>(places));
    }
    in_parallel(threads, threads, [&](int64_t share) {
      const Part part(places, share, threads);
      for (int64_t at = part.from; at < part.to; at += kPixels) {
        const int64_t size = std::min(kPixels, part.to - at) * depth;
        const float *in = x + at * depth;
        float *to = out + at * depth;
        for (int64_t k = 0; k < size; ++k) to[k] = (in[k] - means[k]) * factor + means[k];
      }
    });
  }
  return found;
}

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

constexpr int64_t kChannels = 16;  // that are worked on at once

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
      if (size == kChannels) {
        for (int64_t k = 0; k < kChannels; ++k) take(k);
      } else if (size == kChannels / 2) {
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
  const int64_t size = s.tall * s.broad * s.depth;
  // Zeros of either kind of sums.
  const std::unique_ptr<void, void (*)(void *)> held(
      std::calloc(static_cast<size_t>(std::max<int64_t>(1, threads * size)), sizeof(double)), std::free);
  if (!held) return kNoMemory;
  const int64_t found = in_shares(threads, threads, [&](int64_t share) {
    return dilate_to_totals(kind, images, filter, grads, s, Part(s.batch * s.rows, share, threads),
                            static_cast<char *>(held.get()) + share * size * sizeof(double));
  });
  if (found != -1) return found;
  return for_kind(kind, [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    add_shares<T>(static_cast<const Sum<T> *>(held.get()), threads, size, static_cast<T *>(out));
    return -1;
  });
}

// ---- cells of two sizes

struct Cells {
  int64_t batch, height, width, depth, rows, columns;
  const int64_t *row_edges, *column_edges;
  int64_t more;  // places that a cell shares with the next one

  Cells(const int64_t *s, const int64_t *row_edges, const int64_t *column_edges, bool overlapping)
      : batch(s[0]), height(s[1]), width(s[2]), depth(s[3]), rows(s[4]), columns(s[5]),
        row_edges(row_edges), column_edges(column_edges), more(overlapping) {}

  // Whether cells follow each other from the first place to the last one.
  bool are_right() const { return rise(row_edges, rows, height) && rise(column_edges, columns, width); }

  Part row(int64_t i) const { return cell(row_edges, i, rows); }
  Part column(int64_t i) const { return cell(column_edges, i, columns); }

 private:
  static bool rise(const int64_t *edges, int64_t count, int64_t size) {
    bool right = edges[0] == 0 && edges[count] == size;
    for (int64_t i = 0; i < count; ++i) right = right && edges[i] < edges[i + 1];
    return right;
  }

  Part cell(const int64_t *edges, int64_t i, int64_t count) const {
    Part found(0, 0, 1);
    found.from = edges[i];
    found.to = edges[i + 1] + (i + 1 < count ? more : 0);
    return found;
  }
};

// Sums of a cell's elements, in double or whole numbers that wrap around; or its largest element.
template <typename T>
using Total = std::conditional_t<std::is_integral_v<T>, int64_t, double>;

template <typename T>
T mean_of(Total<T> total, int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    const int64_t found = total / count;
    return static_cast<T>(found - (total % count < 0));  // down
  } else {
    return static_cast<T>(total / static_cast<double>(count));
  }
}

template <typename T>
void pool_means(const T *x, const Cells &s, int64_t share, T *out) {
  const Part rows = s.row(share % s.rows);
  const int64_t line = s.width * s.depth;
  const T *image = x + share / s.rows * s.height * line;
  std::vector<Total<T>> sums(static_cast<size_t>(line)), total(static_cast<size_t>(s.depth));
  for (int64_t y = rows.from; y < rows.to; ++y)
    for (int64_t k = 0; k < line; ++k) sums[k] = sum_of(sums[k], Total<T>(image[y * line + k]));
  T *to = out + share * s.columns * s.depth;
  for (int64_t j = 0; j < s.columns; ++j, to += s.depth) {
    const Part columns = s.column(j);
    std::fill(total.begin(), total.end(), Total<T>{0});
    for (int64_t at = columns.from; at < columns.to; ++at)
      for (int64_t k = 0; k < s.depth; ++k) total[k] = sum_of(total[k], sums[at * s.depth + k]);
    const int64_t count = (rows.to - rows.from) * (columns.to - columns.from);
    for (int64_t k = 0; k < s.depth; ++k) to[k] = mean_of<T>(total[k], count);
  }
}

// The largest elements of a cell, of `size` channels.
template <typename T>
void cell_largest(const T *image, const Cells &s, Part rows, Part columns, int64_t size, T *out) {
  T best[kChannels];
  std::copy_n(image + (rows.from * s.width + columns.from) * s.depth, size, best);
  for (int64_t y = rows.from; y < rows.to; ++y)
    for (int64_t at = columns.from; at < columns.to; ++at) {
      const T *each = image + (y * s.width + at) * s.depth;
      if (size == kChannels) {
        for (int64_t k = 0; k < kChannels; ++k) best[k] = larger(best[k], each[k]);
      } else {
        for (int64_t k = 0; k < size; ++k) best[k] = larger(best[k], each[k]);
      }
    }
  std::copy_n(best, size, out);
}

template <typename T>
void pool_largest(const T *x, const Cells &s, int64_t share, T *out) {
  const Part rows = s.row(share % s.rows);
  const T *image = x + share / s.rows * s.height * s.width * s.depth;
  T *to = out + share * s.columns * s.depth;
  for (int64_t j = 0; j < s.columns; ++j, to += s.depth)
    for (int64_t from = 0; from < s.depth; from += kChannels)
      cell_largest(image + from, s, rows, s.column(j), std::min(kChannels, s.depth - from), to + from);
}

// The first pixel of a cell that holds its largest element, or a NaN.
template <typename T>
int64_t first_largest(const T *image, const Cells &s, Part rows, Part columns, int64_t channel) {
  int64_t best = rows.from * s.width + columns.from;
  for (int64_t y = rows.from; y < rows.to; ++y)
    for (int64_t at = columns.from; at < columns.to; ++at) {
      const int64_t pixel = y * s.width + at;
      const T each = image[pixel * s.depth + channel];
      if (each != each) return pixel;
      if (each > image[best * s.depth + channel]) best = pixel;
    }
  return best;
}

template <typename T>
int64_t pool_back(const T *x, const T *pooled, const T *grads, const Cells &s, int64_t threads, T *out) {
  std::atomic<int64_t> wrong{-1};
  const int64_t line = s.columns * s.depth;
  // Cells of one image share pixels where they overlap; channels do not.
  const int64_t step = 8, blocks = (s.depth + step - 1) / step;
  in_parallel(s.batch * blocks, threads, [&](int64_t share) {
    const int64_t number = share / blocks, from = share % blocks * step;
    const int64_t to = std::min(s.depth, from + step);
    const int64_t start = number * s.height * s.width * s.depth;
    for (int64_t i = 0; i < s.rows; ++i) {
      const Part rows = s.row(i);
      for (int64_t j = 0; j < s.columns; ++j) {
        const Part columns = s.column(j);
        const int64_t cell = (number * s.rows + i) * line + j * s.depth;
        for (int64_t k = from; k < to; ++k) {
          const int64_t at = start + first_largest(x + start, s, rows, columns, k) * s.depth + k;
          if (!(x[at] == pooled[cell + k])) {
            wrong = cell + k;
            return;
          }
          out[at] = sum_of(out[at], grads[cell + k]);
        }
      }
    }
  });
  return wrong;
}

// What a place takes of its cell, which begins there or before, and of the one before, with which it
// may share the place.
int64_t shared_cell(const Cells &s, int64_t cell, int64_t start, int64_t at) {
  return s.more && cell > 0 && at == start ? cell - 1 : -1;
}

template <typename T>
int64_t spread(const T *grads, const Cells &s, int64_t threads, T *out) {
  return in_parallel_with_memory(s.batch * s.rows, threads, [&](int64_t share) {
    const int64_t i = share % s.rows, line = s.columns * s.depth;
    const T *given = grads + share * line;
    std::vector<double> shares(static_cast<size_t>(line));
    for (int64_t y = s.row_edges[i]; y < s.row_edges[i + 1]; ++y) {
      const int64_t above = shared_cell(s, i, s.row_edges[i], y);
      const auto part = [&](int64_t row, int64_t j, int64_t k) {
        const Part rows = s.row(row), columns = s.column(j);
        const int64_t count = (rows.to - rows.from) * (columns.to - columns.from);
        return static_cast<double>(given[(row - i) * line + j * s.depth + k]) /
               static_cast<double>(count);
      };
      for (int64_t j = 0; j < s.columns; ++j)
        for (int64_t k = 0; k < s.depth; ++k)
          shares[j * s.depth + k] = part(i, j, k) + (above < 0 ? 0.0 : part(above, j, k));
      T *to = out + (share / s.rows * s.height + y) * s.width * s.depth;
      for (int64_t j = 0; j < s.columns; ++j)
        for (int64_t at = s.column_edges[j]; at < s.column_edges[j + 1]; ++at, to += s.depth) {
          const int64_t before = shared_cell(s, j, s.column_edges[j], at);
          const double *own = &shares[j * s.depth];
          for (int64_t k = 0; k < s.depth; ++k)
            to[k] = static_cast<T>(before < 0 ? own[k] : own[k] + shares[before * s.depth + k]);
        }
    }
  });
}

EACH_SET int64_t pool_row(int64_t kind, bool mean, const void *x, const Cells &s, int64_t share,
                          void *out) {
  return for_pooled(kind, [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    if (mean)
      pool_means(static_cast<const T *>(x), s, share, static_cast<T *>(out));
    else
      pool_largest(static_cast<const T *>(x), s, share, static_cast<T *>(out));
    return -1;
  });
}

EACH_SET int64_t pools_back(int64_t kind, const void *x, const void *pooled, const void *grads,
                            const Cells &s, int64_t threads, void *out) {
  return for_pooled(kind, [&](auto type) {
    using T = typename decltype(type)::type;
    return pool_back(static_cast<const T *>(x), static_cast<const T *>(pooled),
                     static_cast<const T *>(grads), s, threads, static_cast<T *>(out));
  });
}

EACH_SET int64_t spreads(int64_t kind, const void *grads, const Cells &s, int64_t threads, void *out) {
  return for_pooled(kind, [&](auto type) {
    using T = typename decltype(type)::type;
    return spread(static_cast<const T *>(grads), s, threads, static_cast<T *>(out));
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

// ---- projective transforms

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

int penstock_images_version() { return 2; }

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
  return with_memory([=] { return contrast(images, number, places, depth, *factor, threads, out); });
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

int64_t penstock_images_sound(const float *samples, int64_t count, int16_t *out) {
  sound(samples, count, out);
  return -1;
}
