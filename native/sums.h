// Numbers that are evenly spaced, and sums of squares as NumPy adds them up. Each step is rounded as NumPy's
// is. Part of arrays.cc.
#pragma once

#include <cstdint>

#include "each_set.h"

namespace penstock {
namespace {

// The sum of squares in NumPy's order: halves of more than 128 numbers apart, in each eight sums that take
// turns.
template <typename T>
EACH_SET T square_sum(const T *x, int64_t count) {
  if (count > 128) {
    const int64_t half = count / 2 - count / 2 % 8;
    return square_sum(x, half) + square_sum(x + half, count - half);
  }
  T total = 0;
  int64_t i = 0;
  if (count >= 8) {
    T sums[8];
    for (int64_t k = 0; k < 8; ++k) sums[k] = x[k] * x[k];
    for (i = 8; i < count - count % 8; i += 8)
      for (int64_t k = 0; k < 8; ++k) sums[k] += x[i + k] * x[i + k];
    total = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  }
  for (; i < count; ++i) total += x[i] * x[i];
  return total;
}

constexpr int64_t kLinePiece = 1 << 14;  // whose numbers have 32 bits

// first + step * i for each i below `count`.
template <typename T>
EACH_SET int64_t line(T first, T step, int64_t count, T *__restrict out) {
  for (int64_t start = 0; start < count; start += kLinePiece) {
    const int32_t number = static_cast<int32_t>(count - start < kLinePiece ? count - start : kLinePiece);
    const T from = static_cast<T>(start);
    for (int32_t i = 0; i < number; ++i) out[start + i] = (static_cast<T>(i) + from) * step + first;
  }
  return -1;
}

}  // namespace
}  // namespace penstock
