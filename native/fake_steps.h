// Numbers rounded to the steps of a range, and what flows back through that, in one pass each, for
// arrays.cc. `channels` numbers follow each other, each with a range of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "each_set.h"
#include "threads.h"

namespace penstock {
namespace {

constexpr int64_t kFakeShare = 1 << 15;  // numbers that a thread takes at once, or a row of channels

// Ends, the steps to zero, a step and how many there are in 1, each of `channels` floats.
struct Steps {
  const float *least, *most, *zero, *scale, *rate;
  int64_t channels;

  Steps(const float *s, int64_t channels)
      : least(s), most(s + channels), zero(s + 2 * channels), scale(s + 3 * channels),
        rate(s + 4 * channels), channels(channels) {}
};

// Whole rows of channels that are a share of the work; with one channel any numbers are.
inline int64_t rows_of_share(int64_t channels) {
  return std::max<int64_t>(1, kFakeShare / channels);
}

inline float stepped(float x, float least, float most, float zero, float scale, float by, bool divides) {
  float found = x > most ? most : x;
  found = (found < least ? least : found) - least;
  found = (divides ? found / by : found * by) - zero + 0.5f;
  return std::floor(found) * scale;
}

template <bool kDivides>
inline __attribute__((always_inline)) void step_rows(const float *x, int64_t rows, const Steps &s,
                                                     float *out) {
  const float *by = kDivides ? s.scale : s.rate;
  if (s.channels == 1) {
    const float least = *s.least, most = *s.most, zero = *s.zero, scale = *s.scale, each = *by;
    for (int64_t i = 0; i < rows; ++i) out[i] = stepped(x[i], least, most, zero, scale, each, kDivides);
    return;
  }
  for (int64_t i = 0; i < rows; ++i, x += s.channels, out += s.channels)
    for (int64_t c = 0; c < s.channels; ++c)
      out[c] = stepped(x[c], s.least[c], s.most[c], s.zero[c], s.scale[c], by[c], kDivides);
}

EACH_SET void step_share(const float *x, int64_t rows, const Steps &s, bool divides, float *out) {
  if (divides)
    step_rows<true>(x, rows, s, out);
  else
    step_rows<false>(x, rows, s, out);
}

inline void fake_steps(const float *x, int64_t rows, const Steps &s, bool divides, int64_t threads,
                       float *out) {
  const int64_t each = rows_of_share(s.channels), shares = (rows + each - 1) / each;
  in_parallel(shares, threads, [&](int64_t share) {
    const int64_t from = share * each, place = from * s.channels;
    step_share(x + place, std::min(each, rows - from), s, divides, out + place);
  });
}

// Gradients times whether numbers are within the range; low and high get the sums of those beyond.
EACH_SET void step_back_share(const float *grads, const float *x, int64_t rows, const Steps &s,
                              float *out, double *low, double *high) {
  constexpr int64_t kLanes = 8;  // sums side by side, of one channel
  if (s.channels == 1) {
    const float least = *s.least, most = *s.most;
    double below[kLanes] = {}, above[kLanes] = {};
    for (int64_t i = 0; i < rows; i += kLanes) {
      const int64_t here = std::min(kLanes, rows - i);
      for (int64_t k = 0; k < here; ++k) {
        const float each = x[i + k], grad = grads[i + k];
        out[i + k] = grad * static_cast<float>((each >= least) & (each <= most));
        below[k] += static_cast<double>(grad * static_cast<float>(each < least));
        above[k] += static_cast<double>(grad * static_cast<float>(each > most));
      }
    }
    for (int64_t k = 0; k < kLanes; ++k) {
      *low += below[k];
      *high += above[k];
    }
    return;
  }
  for (int64_t i = 0; i < rows; ++i, grads += s.channels, x += s.channels, out += s.channels)
    for (int64_t c = 0; c < s.channels; ++c) {
      out[c] = grads[c] * static_cast<float>((x[c] >= s.least[c]) & (x[c] <= s.most[c]));
      low[c] += static_cast<double>(grads[c] * static_cast<float>(x[c] < s.least[c]));
      high[c] += static_cast<double>(grads[c] * static_cast<float>(x[c] > s.most[c]));
    }
}

// Sums are of shares, in order: they do not depend on the number of threads.
inline int64_t fake_steps_back(const float *grads, const float *x, int64_t rows, const Steps &s,
                               int64_t threads, float *out, float *low, float *high) {
  const int64_t each = rows_of_share(s.channels), shares = (rows + each - 1) / each;
  std::vector<double> sums(static_cast<std::size_t>((shares + 1) * 2 * s.channels));
  double *const total = sums.data() + shares * 2 * s.channels;
  in_parallel(shares, threads, [&](int64_t share) {
    const int64_t from = share * each, place = from * s.channels;
    double *of = sums.data() + share * 2 * s.channels;
    step_back_share(grads + place, x + place, std::min(each, rows - from), s, out + place, of,
                    of + s.channels);
  });
  for (int64_t share = 0; share < shares; ++share)
    for (int64_t k = 0; k < 2 * s.channels; ++k)
      total[k] += sums[static_cast<std::size_t>(share * 2 * s.channels + k)];
  for (int64_t c = 0; c < s.channels; ++c) {
    low[c] = static_cast<float>(total[c]);
    high[c] = static_cast<float>(total[s.channels + c]);
  }
  return -1;
}

}  // namespace
}  // namespace penstock
