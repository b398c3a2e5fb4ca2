// Pooling by windows that slide over all axes of an array, for images.cc: the largest elements and the
// means, and what flows back through them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "image_parts.h"

namespace penstock {
namespace {

constexpr int64_t kAxes = 5;  // the batch, and four that windows may slide over

enum PoolWork { kLargest, kLargestBack, kOfLargest, kPlaces, kMeans, kMeansBack };

// An array [five sizes, depth], and windows over it: elements of the depth have windows of their own.
struct Sliding {
  const int64_t *size, *count, *window, *stride, *before;
  int64_t depth, each;  // each: the elements that indices count through, of one image or of all

  explicit Sliding(const int64_t *s)
      : size(s), count(s + kAxes), window(s + 2 * kAxes), stride(s + 3 * kAxes),
        before(s + 4 * kAxes), depth(s[5 * kAxes]), each(s[5 * kAxes + 1]) {}

  // Whether images and windows of one number belong together, so that images are shares of the work.
  bool by_image() const {
    return size[0] == count[0] && window[0] == 1 && stride[0] == 1 && before[0] == 0;
  }

  int64_t windows(const int64_t *sizes) const {
    int64_t product = 1;
    for (int64_t axis = 0; axis < kAxes; ++axis) product *= sizes[axis];
    return product;
  }

  // The first and the last but one place of a window that are in the array, along an axis.
  int64_t from(int64_t axis, int64_t at) const {
    return std::max<int64_t>(0, before[axis] - at * stride[axis]);
  }
  int64_t to(int64_t axis, int64_t at) const {
    return std::min(window[axis], size[axis] + before[axis] - at * stride[axis]);
  }

  // visit(place of the first of `depth` elements) for what a window has in the array, in order.
  template <typename Visit>
  void each_place(const int64_t *at, Visit visit) const {
    int64_t begin[kAxes], end[kAxes];
    for (int64_t axis = 0; axis < kAxes; ++axis) {
      const int64_t start = at[axis] * stride[axis] - before[axis];
      begin[axis] = start + from(axis, at[axis]);
      end[axis] = start + to(axis, at[axis]);
    }
    for (int64_t a = begin[0]; a < end[0]; ++a)
      for (int64_t b = begin[1]; b < end[1]; ++b)
        for (int64_t c = begin[2]; c < end[2]; ++c)
          for (int64_t d = begin[3]; d < end[3]; ++d) {
            const int64_t line = (((a * size[1] + b) * size[2] + c) * size[3] + d) * size[4];
            for (int64_t e = begin[4]; e < end[4]; ++e) visit((line + e) * depth);
          }
  }

  // visit(where a window is along each axis, its number) for those of an image, or of all: share -1.
  // Backwards: so each element gets its shares in the order of the places of windows.
  template <typename Visit>
  void each_window(int64_t share, bool backwards, Visit visit) const {
    const int64_t all = windows(count), part = share < 0 ? all : all / count[0];
    const int64_t first = share < 0 ? 0 : share * part;
    int64_t at[kAxes];
    for (int64_t k = 0; k < part; ++k) {
      const int64_t number = first + (backwards ? part - 1 - k : k);
      int64_t rest = number;
      for (int64_t axis = kAxes; axis-- > 0; rest /= count[axis]) at[axis] = rest % count[axis];
      visit(at, number);
    }
  }
};

template <typename T>
constexpr T least() {
  if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::min();
  return -std::numeric_limits<T>::infinity();
}

template <typename T>
void slide_largest(const T *x, const Sliding &s, int64_t share, T *out) {
  s.each_window(share, false, [&](const int64_t *at, int64_t number) {
    T *to = out + number * s.depth;
    std::fill_n(to, s.depth, least<T>());
    s.each_place(at, [&](int64_t place) {
      for (int64_t k = 0; k < s.depth; ++k) to[k] = larger(to[k], x[place + k]);
    });
  });
}

// visit(element of the windows, element of x or -1) for the first place that holds the largest, y.
template <typename T, typename Visit>
void each_largest(const T *x, const T *y, const Sliding &s, int64_t share, bool backwards,
                  Visit visit) {
  s.each_window(share, backwards, [&](const int64_t *at, int64_t number) {
    for (int64_t start = 0; start < s.depth; start += kChannels) {
      const int64_t size = std::min(kChannels, s.depth - start);
      const T *largest = y + number * s.depth + start;
      int64_t found[kChannels];
      std::fill_n(found, kChannels, int64_t{-1});
      s.each_place(at, [&](int64_t place) {
        for (int64_t k = 0; k < size; ++k)
          if (found[k] < 0 && x[place + start + k] == largest[k]) found[k] = place + start + k;
      });
      for (int64_t k = 0; k < size; ++k) visit(number * s.depth + start + k, found[k]);
    }
  });
}

template <typename T>
void slide_largest_back(const T *x, const T *y, const T *grads, const Sliding &s, int64_t share, T *out) {
  each_largest(x, y, s, share, true, [&](int64_t window, int64_t place) {
    if (place >= 0) out[place] = sum_of(out[place], grads[window]);
  });
}

template <typename T>
void slide_of_largest(const T *x, const T *y, const T *from, const Sliding &s, int64_t share, T *out) {
  each_largest(x, y, s, share, false, [&](int64_t window, int64_t place) {
    out[window] = place < 0 ? T{0} : from[place];
  });
}

template <typename T>
void slide_places(const T *x, const T *y, const Sliding &s, int64_t share, int64_t *out) {
  each_largest(x, y, s, share, false, [&](int64_t window, int64_t place) {
    out[window] = place < 0 ? 0 : place % s.each;
  });
}

// A number divided by how many places a window has in the array, axis by axis.
template <typename T>
struct Even {
  T factor[kAxes];
  int64_t factors = 0;

  Even(const Sliding &s, const int64_t *at) {
    for (int64_t axis = 0; axis < kAxes; ++axis) {
      if (s.window[axis] <= 1) continue;
      const int64_t places = std::max<int64_t>(1, s.to(axis, at[axis]) - s.from(axis, at[axis]));
      factor[factors++] = static_cast<T>(1.0 / static_cast<double>(places));
    }
  }

  T of(T total) const {
    for (int64_t i = 0; i < factors; ++i) total *= factor[i];
    return total;
  }
};

template <typename T>
void slide_means(const T *x, const Sliding &s, int64_t share, T *out) {
  s.each_window(share, false, [&](const int64_t *at, int64_t number) {
    T *to = out + number * s.depth;
    std::fill_n(to, s.depth, T{0});
    s.each_place(at, [&](int64_t place) {
      for (int64_t k = 0; k < s.depth; ++k) to[k] += x[place + k];
    });
    const Even<T> even(s, at);
    for (int64_t k = 0; k < s.depth; ++k) to[k] = even.of(to[k]);
  });
}

template <typename T>
void slide_means_back(const T *grads, const Sliding &s, int64_t share, T *out) {
  s.each_window(share, true, [&](const int64_t *at, int64_t number) {
    const Even<T> even(s, at);
    const T *from = grads + number * s.depth;
    for (int64_t start = 0; start < s.depth; start += kChannels) {
      const int64_t size = std::min(kChannels, s.depth - start);
      T shares[kChannels];
      for (int64_t k = 0; k < size; ++k) shares[k] = even.of(from[start + k]);
      s.each_place(at, [&](int64_t place) {
        for (int64_t k = 0; k < size; ++k) out[place + start + k] += shares[k];
      });
    }
  });
}

template <typename T>
int64_t slide_typed(int64_t work, const T *x, const T *y, const T *grads, const Sliding &s,
                    int64_t share, void *out) {
  T *to = static_cast<T *>(out);
  switch (work) {
    case kLargest: slide_largest(x, s, share, to); return -1;
    case kLargestBack: slide_largest_back(x, y, grads, s, share, to); return -1;
    case kOfLargest: slide_of_largest(x, y, grads, s, share, to); return -1;
    case kPlaces: slide_places(x, y, s, share, static_cast<int64_t *>(out)); return -1;
    default: break;
  }
  if constexpr (!std::is_integral_v<T>) {
    if (work == kMeans) slide_means(x, s, share, to);
    if (work == kMeansBack) slide_means_back(x, s, share, to);
    if (work == kMeans || work == kMeansBack) return -1;
  }
  return -2;
}

EACH_SET int64_t slide(int64_t work, int64_t kind, const void *x, const void *y, const void *grads,
                       const Sliding &s, int64_t share, void *out) {
  return for_kind(kind, [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    return slide_typed(work, static_cast<const T *>(x), static_cast<const T *>(y),
                       static_cast<const T *>(grads), s, share, out);
  });
}

int64_t slides(int64_t work, int64_t kind, const void *x, const void *y, const void *grads,
               const Sliding &s, int64_t threads, void *out) {
  if (s.windows(s.size) == 0 || s.windows(s.count) == 0 || s.depth == 0) return -1;
  const bool by_image = s.by_image();
  return in_shares(by_image ? s.count[0] : 1, threads, [&](int64_t share) {
    return slide(work, kind, x, y, grads, s, by_image ? share : -1, out);
  });
}

// Adds to the elements that are named, one image after the other; indices below 0 count from the end.
template <typename T>
void add_to_places(const T *grads, const int64_t *places, int64_t images, int64_t windows, int64_t step,
                   int64_t size, T *out) {
  for (int64_t i = 0; i < images; ++i)
    for (int64_t k = i * windows; k < (i + 1) * windows; ++k) {
      int64_t at = static_cast<int64_t>(static_cast<uint64_t>(places[k]) +
                                        static_cast<uint64_t>(i * step));
      if (at < 0) at += size;
      if (at >= 0 && at < size) out[at] = sum_of(out[at], grads[k]);
    }
}

}  // namespace
}  // namespace penstock
