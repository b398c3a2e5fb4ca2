// 1 by roots, and gradients that follow from a function's result y and that of the result, dy, in one pass
// each, for arrays.cc. They have NumPy's bits: each step is rounded by itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "each_set.h"
#include "threads.h"

namespace penstock {
namespace {

constexpr int64_t kSlopeShare = 1 << 16;  // elements that a thread takes at once

enum Slope { kRootBelowOne, kSigmoidBack, kTanhBack, kRootBack, kRootBelowBack, kBelowBack };

// What each(y, dy) gives, but 0 for a gradient of 0, whatever the slope is.
template <typename T, typename Each>
void each_bounded(const T *y, const T *dy, int64_t count, T *out, Each each) {
  for (int64_t i = 0; i < count; ++i) {
    const T found = each(y[i], dy[i]);
    out[i] = dy[i] == T{0} ? T{0} : found;
  }
}

template <typename T>
void slope_share(int64_t slope, const T *y, const T *dy, int64_t count, T *out) {
  const T one{1};
  switch (slope) {
    case kRootBelowOne:
      for (int64_t i = 0; i < count; ++i) out[i] = one / std::sqrt(y[i]);
      return;
    case kSigmoidBack:
      for (int64_t i = 0; i < count; ++i) out[i] = dy[i] * y[i] * (one - y[i]);
      return;
    case kTanhBack:
      for (int64_t i = 0; i < count; ++i) out[i] = dy[i] * (one - y[i] * y[i]);
      return;
    case kRootBack:
      return each_bounded(y, dy, count, out, [](T a, T b) { return b * T(0.5) / a; });
    case kRootBelowBack:
      return each_bounded(y, dy, count, out, [](T a, T b) { return b * T(-0.5) * (a * a * a); });
    case kBelowBack: return each_bounded(y, dy, count, out, [](T a, T b) { return -b * (a * a); });
    default: return;
  }
}

EACH_SET void slope_floats(int64_t slope, const float *y, const float *dy, int64_t count, float *out) {
  slope_share(slope, y, dy, count, out);
}

EACH_SET void slope_doubles(int64_t slope, const double *y, const double *dy, int64_t count,
                            double *out) {
  slope_share(slope, y, dy, count, out);
}

template <typename T, typename Run>
void slopes(const void *y, const void *dy, int64_t count, int64_t threads, void *out, Run run) {
  const T *first = static_cast<const T *>(y), *second = static_cast<const T *>(dy);
  T *to = static_cast<T *>(out);
  in_parallel((count + kSlopeShare - 1) / kSlopeShare, threads, [&](int64_t share) {
    const int64_t from = share * kSlopeShare;
    run(first + from, second ? second + from : nullptr, std::min(kSlopeShare, count - from), to + from);
  });
}

}  // namespace
}  // namespace penstock
