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

constexpr int64_t kSpace = 3;  // axes that windows slide over; images have one of size 1 more

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

  // A copy of an image [batch, given, depth] whose elements are `apart` steps from each other, the first
  // at `from`; what is outside of the field is left out.
  void copy(const T *image, int64_t batch, const int64_t *given, int64_t depth, const int64_t *from,
            const int64_t *apart) {
    held.assign(static_cast<std::size_t>(batch * size[0] * size[1] * size[2] * depth), T{0});
    at = held.data();
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t a = 0; a < given[0]; ++a)
        for (int64_t b = 0; b < given[1]; ++b) {
          const int64_t i = from[0] + a * apart[0], j = from[1] + b * apart[1];
          if (i < 0 || i >= size[0] || j < 0 || j >= size[1]) continue;
          const T *source = image + ((n * given[0] + a) * given[1] + b) * given[2] * depth;
          T *target = held.data() + ((n * size[0] + i) * size[1] + j) * size[2] * depth;
          for (int64_t c = 0; c < given[2]; ++c) {
            const int64_t k = from[2] + c * apart[2];
            if (k >= 0 && k < size[2]) std::copy_n(source + c * depth, depth, target + k * depth);
          }
        }
  }
};

// What the windows of a convolution see of an image.
template <typename T>
void surround(Field<T> &field, const T *image, const Convolution &s) {
  const int64_t ones[kSpace] = {1, 1, 1};
  bool inside = true;
  for (int64_t axis = 0; axis < kSpace; ++axis) {
    field.size[axis] = (s.count[axis] - 1) * s.stride[axis] + s.reach(axis);
    inside = inside && s.before[axis] == 0 && field.size[axis] <= s.size[axis];
  }
  if (inside) {
    std::copy_n(s.size, kSpace, field.size);
    field.at = image;
  } else {
    field.copy(image, s.batch, s.size, s.depth, s.before, ones);
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
void convolve(const Windows<T> &w, int64_t batch, const int64_t *count, int64_t groups,
              const T *filter, int64_t outs, T *out) {
  const int64_t inner = w.depth / groups, columns = outs / groups;
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t a = 0; a < count[0]; ++a)
      for (int64_t b = 0; b < count[1]; ++b, out += count[2] * outs) {
        const T *x = w.first(n, a, b);
        if (inner == 1 && groups > 1) {
          sum_channels(w, x, count[2], filter, columns, out);
          continue;
        }
        for (int64_t g = 0; g < groups; ++g)
          sum_columns(w, x + g * inner, count[2], inner, filter + g * columns, columns, outs,
                      out + g * columns);
      }
}

// A filter [window, in / groups, outs] from its last place to its first, as [window, outs / groups, in].
template <typename T>
std::vector<T> turned(const T *filter, const Convolution &s) {
  const int64_t inner = s.depth / s.groups, columns = s.outs / s.groups, places = s.places();
  std::vector<T> made(static_cast<std::size_t>(places * inner * s.outs));
  for (int64_t at = 0; at < places; ++at)
    for (int64_t g = 0; g < s.groups; ++g)
      for (int64_t c = 0; c < inner; ++c)
        for (int64_t k = 0; k < columns; ++k) {
          const T each = filter[((places - 1 - at) * inner + c) * s.outs + g * columns + k];
          made[static_cast<std::size_t>((at * columns + k) * s.depth + g * inner + c)] = each;
        }
  return made;
}

// Gradients as far apart as windows were, with zeros around them and between.
template <typename T>
void spread_out(Field<T> &field, const T *grads, const Convolution &s) {
  int64_t from[kSpace];
  for (int64_t axis = 0; axis < kSpace; ++axis) {
    field.size[axis] = s.size[axis] + s.reach(axis) - 1;
    from[axis] = s.reach(axis) - 1 - s.before[axis];
  }
  field.copy(grads, s.batch, s.count, s.outs, from, s.stride);
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

// What flows back to an image is a convolution too: of the gradients, with the filter turned around.
template <typename T>
int64_t convolved(int64_t work, const T *x, const T *y, const Convolution &s, T *out) {
  const int64_t ones[kSpace] = {1, 1, 1};
  const bool back = work == kToImage;
  if (work < kConvolution || work > kToFilter) return -2;
  Field<T> field;
  std::vector<T> around;
  if (back) {
    spread_out(field, y, s);
    around = turned(x, s);
  } else {
    surround(field, x, s);
  }
  if (work == kToFilter) {
    to_filter(field, y, s, out);
  } else {
    const Windows<T> w{field, s.window, s.rate, back ? ones : s.stride, back ? s.outs : s.depth};
    convolve(w, s.batch, back ? s.size : s.count, s.groups, back ? around.data() : y,
             back ? s.depth : s.outs, out);
  }
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
