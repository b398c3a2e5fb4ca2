// Small convolutions over two or three axes, in groups or not, and what flows back through them, for
// images.cc. Everything is a sum of products over the places of a window that slides over an image with
// zeros around it, on one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "image_parts.h"

namespace penstock {
namespace {

constexpr int64_t kSpace = 3;  // axes that windows slide over

enum ConvolutionWork { kConvolution, kToImage, kToFilter };

// An image [batch, size, depth], a filter [window, depth / groups, outs] and a result [batch, count, outs].
struct Convolution {
  int64_t batch, groups, depth, outs;
  const int64_t *size, *count, *window, *stride, *rate, *before;

  explicit Convolution(const int64_t *s)
      : batch(s[0]), groups(s[1]), depth(s[2]), outs(s[3]), size(s + 4), count(size + kSpace),
        window(count + kSpace), stride(window + kSpace), rate(stride + kSpace),
        before(rate + kSpace) {}

  int64_t reach(int64_t axis) const { return (window[axis] - 1) * rate[axis] + 1; }
  int64_t places() const { return window[0] * window[1] * window[2]; }
};

// An image that windows slide over without leaving it: the one given, or a copy with zeros around it.
template <typename T>
struct Field {
  int64_t size[kSpace];
  const T *at;
  std::vector<T> held;

  // A copy of an image with zeros around it; what is outside of the field is left out.
  void copy(const T *image, const Convolution &s) {
    held.assign(static_cast<std::size_t>(s.batch * size[0] * size[1] * size[2] * s.depth), T{0});
    at = held.data();
    const int64_t row = std::min(s.size[2], size[2] - s.before[2]) * s.depth;
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t a = 0; a < std::min(s.size[0], size[0] - s.before[0]); ++a)
        for (int64_t b = 0; b < std::min(s.size[1], size[1] - s.before[1]); ++b) {
          const T *source = image + ((n * s.size[0] + a) * s.size[1] + b) * s.size[2] * s.depth;
          const int64_t i = a + s.before[0], j = b + s.before[1];
          T *target = held.data() +
                      (((n * size[0] + i) * size[1] + j) * size[2] + s.before[2]) * s.depth;
          if (row > 0) std::copy_n(source, row, target);
        }
  }
};

// What the windows of a convolution see of an image.
template <typename T>
void surround(Field<T> &field, const T *image, const Convolution &s) {
  bool inside = true;
  for (int64_t axis = 0; axis < kSpace; ++axis) {
    field.size[axis] = (s.count[axis] - 1) * s.stride[axis] + s.reach(axis);
    inside = inside && s.before[axis] == 0 && field.size[axis] <= s.size[axis];
  }
  if (inside) {
    std::copy_n(s.size, kSpace, field.size);
    field.at = image;
  } else {
    field.copy(image, s);
  }
}

// Windows [window] `rate` apart within, over a field: their places, and their steps in elements.
template <typename T>
struct Windows {
  const Field<T> &field;
  const int64_t *window, *rate, *stride;
  int64_t depth;

  const T *first(int64_t n, int64_t a, int64_t b) const {
    const int64_t row = (n * field.size[0] + a * stride[0]) * field.size[1] + b * stride[1];
    return field.at + row * field.size[2] * depth;
  }
  int64_t place(int64_t i, int64_t j, int64_t l) const {
    return ((i * rate[0] * field.size[1] + j * rate[1]) * field.size[2] + l * rate[2]) * depth;
  }
  int64_t next() const { return stride[2] * depth; }
};

// As many numbers as `kBytes` hold, which are worked on at once.
template <typename T, int64_t kBytes>
struct Lanes {
  typedef T type __attribute__((vector_size(kBytes)));
};

template <typename Lane, typename T>
inline __attribute__((always_inline)) Lane loaded(const T *from) {
  Lane made;
  __builtin_memcpy(&made, from, sizeof made);
  return made;
}

// Sums for `kPixels` windows and `kLanes` lanes of a filter's columns: of `inner` products at each place.
template <int64_t kPixels, int64_t kLanes, typename Lane, typename T>
inline __attribute__((always_inline)) void sum_block(const Windows<T> &w, const T *x, int64_t inner,
                                                     const T *filter, int64_t outs, T *out) {
  constexpr int64_t kSize = sizeof(Lane) / sizeof(T);
  Lane sums[kPixels][kLanes] = {};
  const int64_t next = w.next();
  for (int64_t i = 0; i < w.window[0]; ++i)
    for (int64_t j = 0; j < w.window[1]; ++j)
      for (int64_t l = 0; l < w.window[2]; ++l) {
        const T *from = x + w.place(i, j, l);
        for (int64_t c = 0; c < inner; ++c, filter += outs) {
          Lane factors[kLanes];
          for (int64_t k = 0; k < kLanes; ++k) factors[k] = loaded<Lane>(filter + k * kSize);
          for (int64_t p = 0; p < kPixels; ++p)
            for (int64_t k = 0; k < kLanes; ++k) sums[p][k] += from[p * next + c] * factors[k];
        }
      }
  for (int64_t p = 0; p < kPixels; ++p) __builtin_memcpy(out + p * outs, sums[p], sizeof sums[p]);
}

template <int64_t kLanes, typename Lane, typename T>
inline __attribute__((always_inline)) void sum_line(const Windows<T> &w, const T *x, int64_t count,
                                                    int64_t inner, const T *filter, int64_t outs,
                                                    T *out) {
  int64_t c = 0;
  for (; c + 4 <= count; c += 4)
    sum_block<4, kLanes, Lane>(w, x + c * w.next(), inner, filter, outs, out + c * outs);
  for (; c < count; ++c)
    sum_block<1, kLanes, Lane>(w, x + c * w.next(), inner, filter, outs, out + c * outs);
}

// visit(how many lanes, what a lane is, the first column) for blocks of all `columns`.
template <typename T, typename Visit>
inline __attribute__((always_inline)) void each_block(int64_t columns, Visit visit) {
  typedef typename Lanes<T, 32>::type Wide;
  typedef typename Lanes<T, 16>::type Short;
  constexpr int64_t kWide = sizeof(Wide) / sizeof(T), kShort = sizeof(Short) / sizeof(T);
  int64_t k = 0;
  for (; k + 2 * kWide <= columns; k += 2 * kWide)
    visit(std::integral_constant<int64_t, 2>{}, Type<Wide>{}, k);
  for (; k + kWide <= columns; k += kWide)
    visit(std::integral_constant<int64_t, 1>{}, Type<Wide>{}, k);
  for (; k + kShort <= columns; k += kShort)
    visit(std::integral_constant<int64_t, 1>{}, Type<Short>{}, k);
  for (; k < columns; ++k) visit(std::integral_constant<int64_t, 1>{}, Type<T>{}, k);
}

// A line of windows, of which each of `columns` of the result is a sum.
template <typename T>
inline __attribute__((always_inline)) void sum_columns(const Windows<T> &w, const T *x, int64_t count,
                                                       int64_t inner, const T *filter,
                                                       int64_t columns, int64_t outs, T *out) {
  each_block<T>(columns, [&](auto lanes, auto lane, int64_t k) {
    sum_line<decltype(lanes)::value, typename decltype(lane)::type>(w, x, count, inner, filter + k,
                                                                    outs, out + k);
  });
}

// The same where each channel has columns of its own: `each` of them.
template <typename T>
void sum_channels(const Windows<T> &w, const T *x, int64_t count, const T *filter, int64_t each,
                  T *out) {
  const int64_t outs = w.depth * each;
  for (int64_t at = 0; at < count; ++at, x += w.next(), out += outs) {
    std::fill_n(out, outs, T{0});
    const T *factors = filter;
    for (int64_t i = 0; i < w.window[0]; ++i)
      for (int64_t j = 0; j < w.window[1]; ++j)
        for (int64_t l = 0; l < w.window[2]; ++l, factors += outs) {
          const T *from = x + w.place(i, j, l);
          if (each == 1) {
            for (int64_t c = 0; c < outs; ++c) out[c] += from[c] * factors[c];
          } else {
            for (int64_t c = 0; c < w.depth; ++c)
              for (int64_t k = 0; k < each; ++k) out[c * each + k] += from[c] * factors[c * each + k];
          }
        }
  }
}

// The convolution of a field with a filter [window, inner, outs] in groups.
template <typename T>
void convolve(const Windows<T> &w, const Convolution &s, const T *filter, T *out) {
  const int64_t inner = s.depth / s.groups, columns = s.outs / s.groups, count = s.count[2];
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t a = 0; a < s.count[0]; ++a)
      for (int64_t b = 0; b < s.count[1]; ++b, out += count * s.outs) {
        const T *x = w.first(n, a, b);
        if (inner == 1 && s.groups > 1) {
          sum_channels(w, x, count, filter, columns, out);
          continue;
        }
        for (int64_t g = 0; g < s.groups; ++g)
          sum_columns(w, x + g * inner, count, inner, filter + g * columns, columns, s.outs,
                      out + g * columns);
      }
}

// A filter [window, in / groups, outs] as [window, outs / groups, in].
template <typename T>
std::vector<T> turned(const T *filter, const Convolution &s) {
  const int64_t inner = s.depth / s.groups, columns = s.outs / s.groups, places = s.places();
  std::vector<T> made(static_cast<std::size_t>(places * inner * s.outs));
  for (int64_t at = 0; at < places; ++at)
    for (int64_t g = 0; g < s.groups; ++g)
      for (int64_t c = 0; c < inner; ++c)
        for (int64_t k = 0; k < columns; ++k) {
          const T each = filter[(at * inner + c) * s.outs + g * columns + k];
          made[static_cast<std::size_t>((at * columns + k) * s.depth + g * inner + c)] = each;
        }
  return made;
}

// Adds to `kPixels` pixels, `apart` from each other, what flows back to one place of a filter.
template <int64_t kPixels, int64_t kLanes, typename Lane, typename T>
inline __attribute__((always_inline)) void give_block(const T *grads, const T *filter, int64_t columns,
                                                      const Convolution &s, int64_t apart, T *out) {
  constexpr int64_t kSize = sizeof(Lane) / sizeof(T);
  Lane sums[kPixels][kLanes];
  for (int64_t p = 0; p < kPixels; ++p) __builtin_memcpy(sums[p], out + p * apart, sizeof sums[p]);
  for (int64_t o = 0; o < columns; ++o, filter += s.depth) {
    Lane factors[kLanes];
    for (int64_t k = 0; k < kLanes; ++k) factors[k] = loaded<Lane>(filter + k * kSize);
    for (int64_t p = 0; p < kPixels; ++p)
      for (int64_t k = 0; k < kLanes; ++k) sums[p][k] += grads[p * s.outs + o] * factors[k];
  }
  for (int64_t p = 0; p < kPixels; ++p) __builtin_memcpy(out + p * apart, sums[p], sizeof sums[p]);
}

// The same for `count` pixels and all channels.
template <typename T>
inline __attribute__((always_inline)) void give_line(const T *grads, const T *filter, int64_t count,
                                                     const Convolution &s, T *out) {
  const int64_t inner = s.depth / s.groups, columns = s.outs / s.groups;
  const int64_t apart = s.stride[2] * s.depth;
  if (inner == 1 && columns == 1) {
    for (int64_t c = 0; c < count; ++c, grads += s.outs, out += apart)
      for (int64_t k = 0; k < s.outs; ++k) out[k] += grads[k] * filter[k];
    return;
  }
  for (int64_t g = 0; g < s.groups; ++g)
    each_block<T>(inner, [&](auto lanes, auto lane, int64_t k) {
      using Lane = typename decltype(lane)::type;
      constexpr int64_t kLanes = decltype(lanes)::value;
      const T *factors = filter + g * inner + k, *from = grads + g * columns;
      T *to = out + g * inner + k;
      int64_t c = 0;
      for (; c + 4 <= count; c += 4)
        give_block<4, kLanes, Lane>(from + c * s.outs, factors, columns, s, apart, to + c * apart);
      for (; c < count; ++c)
        give_block<1, kLanes, Lane>(from + c * s.outs, factors, columns, s, apart, to + c * apart);
    });
}

// Windows see zeros outside of the image, and nothing flows there.
template <typename T>
void to_image(const T *filter, const T *grads, const Convolution &s, T *out) {
  const std::vector<T> around = turned(filter, s);
  std::fill_n(out, s.batch * s.size[0] * s.size[1] * s.size[2] * s.depth, T{0});
  const int64_t step = s.stride[2], last = s.size[2] - 1;
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t a = 0; a < s.count[0]; ++a)
      for (int64_t b = 0; b < s.count[1]; ++b, grads += s.count[2] * s.outs) {
        const T *factors = around.data();
        for (int64_t i = 0; i < s.window[0]; ++i)
          for (int64_t j = 0; j < s.window[1]; ++j)
            for (int64_t l = 0; l < s.window[2]; ++l, factors += s.depth * s.outs / s.groups) {
              const int64_t p = a * s.stride[0] + i * s.rate[0] - s.before[0];
              const int64_t q = b * s.stride[1] + j * s.rate[1] - s.before[1];
              const int64_t r = l * s.rate[2] - s.before[2];
              if (p < 0 || p >= s.size[0] || q < 0 || q >= s.size[1] || r > last) continue;
              const int64_t from = r < 0 ? (step - 1 - r) / step : 0;
              const int64_t to = std::min(s.count[2], (last - r) / step + 1);
              if (from >= to) continue;
              const int64_t pixel = ((n * s.size[0] + p) * s.size[1] + q) * s.size[2] + r + from * step;
              give_line(grads + from * s.outs, factors, to - from, s, out + pixel * s.depth);
            }
      }
}

// visit(where a window sees a place of the filter, its gradients) for all windows.
template <typename T, typename Visit>
inline __attribute__((always_inline)) void each_meeting(const Windows<T> &w, const Convolution &s,
                                                        int64_t place, const T *grads, Visit visit) {
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t a = 0; a < s.count[0]; ++a)
      for (int64_t b = 0; b < s.count[1]; ++b) {
        const T *x = w.first(n, a, b) + place;
        for (int64_t c = 0; c < s.count[2]; ++c, x += w.next(), grads += s.outs) visit(x, grads);
      }
}

template <int64_t kInner, int64_t kLanes, typename Lane, typename T>
inline __attribute__((always_inline)) void meet_block(const Windows<T> &w, const Convolution &s,
                                                      int64_t place, const T *grads, T *out) {
  constexpr int64_t kSize = sizeof(Lane) / sizeof(T);
  Lane sums[kInner][kLanes] = {};
  each_meeting(w, s, place, grads, [&](const T *x, const T *dy) {
    Lane factors[kLanes];
    for (int64_t k = 0; k < kLanes; ++k) factors[k] = loaded<Lane>(dy + k * kSize);
    for (int64_t p = 0; p < kInner; ++p)
      for (int64_t k = 0; k < kLanes; ++k) sums[p][k] += x[p] * factors[k];
  });
  for (int64_t p = 0; p < kInner; ++p) __builtin_memcpy(out + p * s.outs, sums[p], sizeof sums[p]);
}

template <int64_t kLanes, typename Lane, typename T>
inline __attribute__((always_inline)) void meet_rows(const Windows<T> &w, const Convolution &s,
                                                     int64_t place, const T *grads, T *out) {
  const int64_t inner = s.depth / s.groups;
  int64_t c = 0;
  for (; c + 4 <= inner; c += 4)
    meet_block<4, kLanes, Lane>(w, s, place + c, grads, out + c * s.outs);
  for (; c < inner; ++c) meet_block<1, kLanes, Lane>(w, s, place + c, grads, out + c * s.outs);
}

template <typename T>
void to_filter(const Field<T> &field, const T *grads, const Convolution &s, T *out) {
  const Windows<T> w{field, s.window, s.rate, s.stride, s.depth};
  const int64_t inner = s.depth / s.groups, columns = s.outs / s.groups;
  for (int64_t i = 0; i < s.window[0]; ++i)
    for (int64_t j = 0; j < s.window[1]; ++j)
      for (int64_t l = 0; l < s.window[2]; ++l, out += inner * s.outs) {
        const int64_t place = w.place(i, j, l);
        if (inner == 1 && columns == 1) {
          std::fill_n(out, s.outs, T{0});
          each_meeting(w, s, place, grads, [&](const T *x, const T *dy) {
            for (int64_t k = 0; k < s.outs; ++k) out[k] += x[k] * dy[k];
          });
          continue;
        }
        for (int64_t g = 0; g < s.groups; ++g) {
          const int64_t first = g * columns, there = place + g * inner;
          each_block<T>(columns, [&](auto lanes, auto lane, int64_t k) {
            meet_rows<decltype(lanes)::value, typename decltype(lane)::type>(
                w, s, there, grads + first + k, out + first + k);
          });
        }
      }
}

template <typename T>
int64_t convolved(int64_t work, const T *x, const T *y, const Convolution &s, T *out) {
  if (work == kToImage) {
    to_image(x, y, s, out);
    return -1;
  }
  Field<T> field;
  surround(field, x, s);
  if (work == kConvolution)
    convolve(Windows<T>{field, s.window, s.rate, s.stride, s.depth}, s, y, out);
  else
    to_filter(field, y, s, out);
  return -1;
}

template <typename T>
int64_t convolved_of(int64_t work, const void *x, const void *y, const Convolution &s, void *out) {
  return convolved(work, static_cast<const T *>(x), static_cast<const T *>(y), s,
                   static_cast<T *>(out));
}

// Integers as unsigned ones, whose products and sums wrap around.
EACH_SET int64_t convolves(int64_t work, int64_t kind, const void *x, const void *y,
                           const Convolution &s, void *out) {
  switch (kind) {
    case 0: return convolved_of<float>(work, x, y, s, out);
    case 1: return convolved_of<double>(work, x, y, s, out);
    case 2: return convolved_of<uint32_t>(work, x, y, s, out);
    default: return -2;
  }
}

}  // namespace
}  // namespace penstock
