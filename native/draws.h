// Loops over numbers one after the other, for arrays.cc: counts in bins, ranges, chains of draws, the
// distances of points.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "each_set.h"
#include "threads.h"

namespace penstock {

// How many numbers lie in each of `bins` equal parts of [low, high); what is outside counts in the first
// or last. -1, or the place of a NaN. The same divisions as NumPy's passes, number by number.
template <typename Element>
int64_t histogram(const Element *values, int64_t number, double low, double high, int64_t bins,
                  int64_t *counts) {
  constexpr int64_t kBlock = 256;
  const double width = high - low, count = static_cast<double>(bins), last = count - 1;
  double places[kBlock];
  int32_t found[kBlock];
  for (int64_t start = 0; start < number; start += kBlock) {
    const int64_t size = std::min(kBlock, number - start);
    const Element *from = values + start;
    bool numbers = true;
    for (int64_t i = 0; i < size; ++i) numbers &= from[i] == from[i];
    if (!numbers) return start;
    for (int64_t i = 0; i < size; ++i)
      places[i] = (static_cast<double>(from[i]) - low) / width * count;
    for (int64_t i = 0; i < size; ++i) {
      const double below = places[i] < last ? places[i] : last;
      found[i] = static_cast<int32_t>(below > 0 ? below : 0.0);
    }
    for (int64_t i = 0; i < size; ++i) ++counts[found[i]];
  }
  return -1;
}

// The same on some threads, each with counts of its own. -1, or about where a NaN is.
template <typename Element>
int64_t histograms(const Element *values, int64_t number, double low, double high, int64_t bins,
                   int64_t threads, int64_t *counts) {
  constexpr int64_t kMostBins = 1 << 12;  // above, counts of each thread take longer than the numbers
  const int64_t shares = bins > kMostBins ? 1 : std::max<int64_t>(threads, 1);
  if (shares == 1) return histogram(values, number, low, high, bins, counts);
  return with_memory([&]() -> int64_t {
    std::vector<int64_t> each(static_cast<std::size_t>(shares * bins));
    std::atomic<int64_t> wrong{-1};
    in_parallel(shares, shares, [&](int64_t share) {
      const int64_t from = number * share / shares, to = number * (share + 1) / shares;
      const int64_t found =
          histogram(values + from, to - from, low, high, bins, each.data() + share * bins);
      if (found >= 0) wrong = from + found;
    });
    for (int64_t i = 0; i < shares * bins; ++i) counts[i % bins] += each[static_cast<std::size_t>(i)];
    return wrong;
  });
}

// The whole part of e to the power of exponents[i] * scale, less 1, modulo `size`: the mathematical
// library's, number by number, for its last digits decide.
inline void by_powers(const double *exponents, int64_t number, double scale, int64_t size,
                      int64_t *classes) {
  for (int64_t i = 0; i < number; ++i)
    classes[i] = (static_cast<int64_t>(std::exp(exponents[i] * scale)) - 1) % size;
}

// starts[i], starts[i] + deltas[i] and so on from splits[i] up to splits[i + 1]; sums wrap around.
template <typename Whole>
void ranges(const Whole *starts, const Whole *deltas, const int64_t *splits, int64_t rows, Whole *out) {
  for (int64_t i = 0; i < rows; ++i) {
    const Whole start = starts[i], delta = deltas[i];
    const int64_t count = splits[i + 1] - splits[i];
    Whole *to = out + splits[i];
    for (int64_t j = 0; j < count; ++j) to[j] = start + static_cast<Whole>(j) * delta;
  }
}

// In which class's part of [0, total) each value lies. The weights of classes stand in `parts` blocks of
// `size`, whose sums are `blocks`; values are below the sum of all.
inline void weighted(const int64_t *weights, const int64_t *blocks, int64_t parts, int64_t size,
                     const int64_t *values, int64_t number, int64_t *classes) {
  constexpr int64_t kFew = 64;  // blocks that are looked through, value by value
  std::vector<int64_t> ends;
  if (parts > kFew && number > 1) {
    ends.resize(static_cast<std::size_t>(parts));
    std::partial_sum(blocks, blocks + parts, ends.begin());
  }
  for (int64_t i = 0; i < number; ++i) {
    int64_t rest = values[i], block = 0, within = 0;
    if (!ends.empty()) {
      block = std::upper_bound(ends.begin(), ends.end(), rest) - ends.begin();
      if (block) rest -= ends[static_cast<std::size_t>(block - 1)];
    }
    while (rest >= blocks[block]) rest -= blocks[block++];
    const int64_t *each = weights + block * size;
    while (rest >= each[within]) rest -= each[within++];
    classes[i] = block * size + within;
  }
}

// Points of Sobol's sequence, rows of `dims` numbers in [0, 1), from point `first` on. Each dimension has
// 32 direction numbers, the one of the lowest bit first.
template <typename Real>
void sobol(const uint32_t *directions, int64_t dims, uint64_t first, int64_t count, Real *out) {
  for (int64_t axis = 0; axis < dims; ++axis, directions += 32) {
    uint32_t point = 0;
    for (uint64_t gray = first ^ first >> 1, bit = 0; gray; gray >>= 1, ++bit)
      if (gray & 1) point ^= directions[bit];
    for (int64_t i = 0; i < count; ++i) {
      out[i * dims + axis] = static_cast<Real>(point * 0x1p-32);
      uint64_t carried = first + static_cast<uint64_t>(i), bit = 0;  // the lowest bit that is 0 changes
      while (carried & 1) carried >>= 1, ++bit;
      point ^= directions[bit];
    }
  }
}

// Where a Markov chain ends: it moves on to number i when numbers[i] is above uniform[i] times the number
// here, or that is zero.
inline int64_t chain_end(const float *numbers, const double *uniform, int64_t count) {
  int64_t current = 0;
  double here = static_cast<double>(numbers[0]);
  for (int64_t i = 1; i < count; ++i) {
    const double there = static_cast<double>(numbers[i]);
    if (here == 0 || there > uniform[i] * here) {
      current = i;
      here = there;
    }
  }
  return current;
}

// The squared distance of each point from `center`, or from the nearest of those before; without a guess at each
// which of them it is. A width that is known makes one run of what follows.
template <typename Width>
inline void nearer_of(const float *points, int64_t number, Width width, const float *center, const double *before,
                      double *__restrict out) {
  const auto away = [=](int64_t i) {
    double sum = 0;
    for (int64_t j = 0; j < width; ++j) {
      const double apart = static_cast<double>(points[i * width + j]) - static_cast<double>(center[j]);
      sum += apart * apart;
    }
    return sum;
  };
  if (before == nullptr) {
    for (int64_t i = 0; i < number; ++i) out[i] = away(i);
    return;
  }
  for (int64_t i = 0; i < number; ++i) {
    const double sum = away(i), held = before[i];
    out[i] = (sum < held) | (sum != sum) ? sum : held;
  }
}

EACH_SET void nearer(const float *points, int64_t number, int64_t width, const float *center, const double *before,
                     double *out) {
  switch (width) {
    case 2: return nearer_of(points, number, std::integral_constant<int64_t, 2>(), center, before, out);
    case 3: return nearer_of(points, number, std::integral_constant<int64_t, 3>(), center, before, out);
    case 4: return nearer_of(points, number, std::integral_constant<int64_t, 4>(), center, before, out);
  }
  nearer_of(points, number, width, center, before, out);
}

// Where one of `number` weights is drawn: evenly where their sum is not above 0.
inline int64_t drawn_place(const std::vector<double> &ends, double uniform) {
  const int64_t number = static_cast<int64_t>(ends.size());
  const double total = ends.back();
  const int64_t place =
      total > 0 ? std::upper_bound(ends.begin(), ends.end(), uniform * total) - ends.begin()
                : static_cast<int64_t>(uniform * static_cast<double>(number));
  return std::min(place, number - 1);
}

// The first centres of k-means++: see penstock_arrays_far_apart.
inline void far_apart(const float *points, int64_t number, int64_t width, int64_t count, int64_t tries,
                      const int64_t *first, const float *uniform, int64_t *places) {
  const std::size_t size = static_cast<std::size_t>(number);
  std::vector<double> nearest(size), option(size), best(tries ? size : 0), ends(size);
  for (int64_t k = 0; k < count; ++k) {
    if (k) std::partial_sum(nearest.begin(), nearest.end(), ends.begin());
    double least = 0;
    for (int64_t t = 0; t <= tries; ++t) {
      const int64_t place = k ? drawn_place(ends, static_cast<double>(*uniform++)) : first[t];
      if (!tries && k + 1 == count) {  // nobody asks for distances any more
        places[k] = place;
        return;
      }
      const double *before = k ? nearest.data() : nullptr;
      nearer(points, number, width, points + place * width, before, option.data());
      const double sum = tries ? std::accumulate(option.begin(), option.end(), 0.0) : 0.0;
      if (t == 0 || sum < least) {
        least = sum;
        places[k] = place;
        (tries ? best : nearest).swap(option);
      }
    }
    if (tries) nearest.swap(best);
  }
}

}  // namespace penstock
