// The largest of rows: k of them, whether a number is among them, where the first one is, and the n-th in
// order. Part of arrays.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "threads.h"

namespace penstock {
namespace {

inline uint32_t rank_of(float x) {  // rises with the number; NaN is the largest
  if (x != x) return std::numeric_limits<uint32_t>::max();
  x += 0.0f;  // zeros are equal
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}

inline uint32_t rank_of(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000u; }

// Sorts as the order wants: the largest first, then the first.
template <typename Element>
uint64_t key_of(Element x, int64_t place) {
  return static_cast<uint64_t>(~rank_of(x)) << 32 | static_cast<uint64_t>(place);
}

constexpr int64_t kInserted = 16;  // of so few, each new one is put among those before it

// The k least keys of a row in order; `keys` has room for all of them, or for k that are few.
template <typename Element>
void least_keys(const Element *row, int64_t width, int64_t k, uint64_t *keys) {
  if (k > kInserted || k == width) {
    for (int64_t i = 0; i < width; ++i) keys[i] = key_of(row[i], i);
    if (k < width) std::nth_element(keys, keys + k, keys + width);
    std::sort(keys, keys + k);
    return;
  }
  for (int64_t i = 0; i < k; ++i) keys[i] = key_of(row[i], i);
  std::sort(keys, keys + k);
  for (int64_t i = k; i < width && k > 0; ++i) {
    const uint64_t key = key_of(row[i], i);
    if (key > keys[k - 1]) continue;
    int64_t at = k - 1;
    for (; at > 0 && keys[at - 1] > key; --at) keys[at] = keys[at - 1];
    keys[at] = key;
  }
}

template <typename Element>
void top(const Element *row, int64_t width, int64_t k, uint64_t *keys, Element *values,
         int64_t *places) {
  least_keys(row, width, k, keys);
  for (int64_t i = 0; i < k; ++i) {
    places[i] = static_cast<int64_t>(keys[i] & 0xFFFFFFFFu);
    values[i] = row[places[i]];
  }
}

template <typename Element>
int64_t top_of_rows(const void *rows, int64_t number, int64_t width, int64_t k, int64_t threads,
                    void *values, int64_t *places) {
  return in_parallel_with_memory(number, threads, [=](int64_t row) {
    thread_local std::vector<uint64_t> keys;
    if (static_cast<int64_t>(keys.size()) < width) keys.resize(static_cast<size_t>(width));
    top(static_cast<const Element *>(rows) + row * width, width, k, keys.data(),
        static_cast<Element *>(values) + row * k, places + row * k);
  });
}

inline bool is_among(const float *row, int64_t width, int64_t target, int64_t k) {
  constexpr float most = std::numeric_limits<float>::max();
  if (target < 0 || target >= width || !(row[target] >= -most && row[target] <= most)) return false;
  const float own = row[target];
  int64_t larger = 0;
  for (int64_t i = 0; i < width && larger < k; ++i) {
    if (!(row[i] >= -most && row[i] <= most)) return false;
    larger += row[i] > own;
  }
  return larger < k;
}

// The largest of several columns of numbers side by side, which the compiler makes vectors; then the
// first place that has it.
template <bool least, typename Element>
int64_t extreme(const Element *row, int64_t width) {
  using Limits = std::numeric_limits<Element>;
  const Element low = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  const Element high = Limits::has_infinity ? Limits::infinity() : Limits::max();
  const auto better = [](Element a, Element b) { return least ? a < b : a > b; };
  constexpr int64_t kSide = 64 / sizeof(Element);
  Element best[kSide];
  std::fill(best, best + kSide, least ? high : low);
  int64_t i = 0;
  for (; i + kSide <= width; i += kSide)
    for (int64_t j = 0; j < kSide; ++j) best[j] = better(row[i + j], best[j]) ? row[i + j] : best[j];
  Element found = best[0];
  for (int64_t j = 1; j < kSide; ++j) found = better(best[j], found) ? best[j] : found;
  for (; i < width; ++i) found = better(row[i], found) ? row[i] : found;
  if (found == (least ? high : low)) return 0;  // all are, or none is a number
  const Element *place = std::find(row, row + width, found);
  return place - row;
}

template <typename Element>
void extremes(const void *rows, int64_t number, int64_t width, int64_t least, int64_t *places) {
  const Element *row = static_cast<const Element *>(rows);
  for (int64_t i = 0; i < number; ++i, row += width)
    places[i] = least ? extreme<true>(row, width) : extreme<false>(row, width);
}

template <typename Element>
void nths(const void *rows, int64_t number, int64_t width, int64_t place, void *values) {
  const auto is_before = [](Element a, Element b) { return a < b || (b != b && a == a); };
  std::vector<Element> kept(static_cast<size_t>(width));
  const Element *row = static_cast<const Element *>(rows);
  for (int64_t i = 0; i < number; ++i, row += width) {
    std::copy(row, row + width, kept.begin());
    std::nth_element(kept.begin(), kept.begin() + place, kept.end(), is_before);
    static_cast<Element *>(values)[i] = kept[static_cast<size_t>(place)];
  }
}

}  // namespace
}  // namespace penstock
