// The nearest centres of points. Part of arrays.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "arrays.h"
#include "each_set.h"
#include "threads.h"

namespace penstock {
namespace {

constexpr int64_t kNearestShare = 1 << 10;  // points that a thread takes at once
constexpr int64_t kFewNearest = 16;         // up to which each new one is brought to its place

// Centres [number, width], by column and in double precision.
struct Centers {
  int64_t number, width;
  std::vector<double> columns;

  Centers(const float *centers, int64_t number, int64_t width)
      : number(number), width(width), columns(static_cast<std::size_t>(number * width)) {
    for (int64_t i = 0; i < number; ++i)
      for (int64_t j = 0; j < width; ++j)
        columns[static_cast<std::size_t>(j * number + i)] = static_cast<double>(centers[i * width + j]);
  }
};

// The squared distances of a point from all centres.
inline void distances_of(const float *point, const Centers &centers, double *found) {
  const int64_t number = centers.number;
  std::fill_n(found, number, 0.0);
  for (int64_t j = 0; j < centers.width; ++j) {
    const double at = static_cast<double>(point[j]);
    const double *column = centers.columns.data() + j * number;
    for (int64_t i = 0; i < number; ++i) found[i] += (at - column[i]) * (at - column[i]);
  }
}

// Whether a distance comes before another one: NaN is the last.
inline bool is_nearer(double a, double b) { return a < b || (b != b && a == a); }

// The places of the `k` smallest distances, the smallest first, and of equal ones the first. `order` has room for
// all, `kept` for `k`.
inline void smallest(const double *found, int64_t number, int64_t k, int64_t *order, double *kept) {
  if (k == 0) return;
  if (k > kFewNearest) {
    std::iota(order, order + number, int64_t{0});
    std::partial_sort(order, order + k, order + number, [found](int64_t a, int64_t b) {
      return is_nearer(found[a], found[b]) || (!is_nearer(found[b], found[a]) && a < b);
    });
    return;
  }
  int64_t count = 0;
  for (int64_t i = 0; i < number; ++i) {
    const double each = found[i];
    if (count == k && !is_nearer(each, kept[k - 1])) continue;
    int64_t at = count < k ? count++ : k - 1;
    for (; at > 0 && is_nearer(each, kept[at - 1]); --at) {
      kept[at] = kept[at - 1];
      order[at] = order[at - 1];
    }
    kept[at] = each;
    order[at] = i;
  }
}

EACH_SET void nearest_of(const float *points, int64_t number, const Centers &centers, int64_t k,
                         int64_t *places, float *distances) {
  const std::size_t all = static_cast<std::size_t>(centers.number);
  std::vector<double> found(all), kept(static_cast<std::size_t>(std::min(k, kFewNearest)));
  std::vector<int64_t> order(all);
  for (int64_t i = 0; i < number; ++i) {
    distances_of(points + i * centers.width, centers, found.data());
    smallest(found.data(), centers.number, k, order.data(), kept.data());
    for (int64_t j = 0; j < k; ++j) {
      const int64_t place = places[i * k + j] = order[static_cast<std::size_t>(j)];
      distances[i * k + j] = static_cast<float>(found[static_cast<std::size_t>(place)]);
    }
  }
}

}  // namespace
}  // namespace penstock

EXPORT int64_t penstock_arrays_nearest(const float *points, int64_t number, int64_t width,
                                       const float *centers, int64_t count, int64_t k, int64_t threads,
                                       int64_t *places, float *distances) {
  using namespace penstock;
  return with_memory([=]() -> int64_t {
    const Centers held(centers, count, width);
    const int64_t shares = (number + kNearestShare - 1) / kNearestShare;
    return in_parallel_with_memory(shares, threads, [&](int64_t share) {
      const int64_t from = share * kNearestShare;
      nearest_of(points + from * width, std::min(kNearestShare, number - from), held, k, places + from * k,
                 distances + from * k);
    });
  });
}
