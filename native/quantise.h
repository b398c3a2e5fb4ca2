// Floats as quantised integers of 8 or 16 bits, and those as floats, in one pass each. Part of arrays.cc.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "arrays.h"
#include "each_set.h"
#include "threads.h"

namespace penstock {
namespace {

constexpr int64_t kQuantiseShare = 1 << 15;  // numbers that a thread takes at once

enum Rounding { kHalfAway, kHalfToEven, kHalfUp };

// What is done to each number: held between `low` and `high`, moved, scaled, moved again, rounded, moved as
// whole steps, held between the integers; NaN becomes `none`.
struct Levels {
  float low, high, start, scale, offset, first, base, least, most, none;

  explicit Levels(const float *s)
      : low(s[0]), high(s[1]), start(s[2]), scale(s[3]), offset(s[4]), first(s[5]), base(s[6]),
        least(s[7]), most(s[8]), none(s[9]) {}
};

// The same steps as NumPy's and XLA's (ops/quant_levels.py); away from zero, what is below a half makes no 1.
template <Rounding kRounding>
inline float rounded_as(float x) {
  if constexpr (kRounding == kHalfToEven) return std::rint(x);
  if constexpr (kRounding == kHalfAway) return std::trunc(x + std::copysign(0.49999997f, x)) + 0.0f;
  return std::floor(x + 0.5f);
}

template <Rounding kRounding, typename Whole>
inline void quantise_numbers(const float *x, int64_t count, const Levels &s, Whole *out) {
  constexpr int64_t kBlock = 256;
  // In registers: a number that is only read where a condition holds would keep the loop from vectors.
  const float low = s.low, high = s.high, start = s.start, scale = s.scale, offset = s.offset;
  const float first = s.first, base = s.base, least = s.least, most = s.most, none = s.none;
  int32_t whole[kBlock];
  for (int64_t from = 0; from < count; from += kBlock) {
    const int64_t here = std::min(kBlock, count - from);
    for (int64_t i = 0; i < here; ++i) {
      float each = x[from + i];
      each = each > high ? high : each;
      each = each < low ? low : each;
      each = rounded_as<kRounding>((each - start) * scale - offset) - first + base;
      float held = each < least ? least : each;
      held = held > most ? most : held;
      held = each != each ? none : held;
      whole[i] = static_cast<int32_t>(held);
    }
    for (int64_t i = 0; i < here; ++i) out[from + i] = static_cast<Whole>(whole[i]);
  }
}

template <Rounding kRounding>
inline void quantise_as(const float *x, int64_t count, const Levels &s, int64_t size, void *out) {
  // Bits are the same whether integers have a sign.
  if (size == 1) return quantise_numbers<kRounding>(x, count, s, static_cast<uint8_t *>(out));
  quantise_numbers<kRounding>(x, count, s, static_cast<uint16_t *>(out));
}

EACH_SET void quantise_share(const float *x, int64_t count, const Levels &s, int64_t rounding, int64_t size,
                             void *out) {
  switch (rounding) {
    case kHalfAway: return quantise_as<kHalfAway>(x, count, s, size, out);
    case kHalfToEven: return quantise_as<kHalfToEven>(x, count, s, size, out);
  }
  quantise_as<kHalfUp>(x, count, s, size, out);
}

template <typename Whole>
EACH_SET void floats_of_share(const Whole *x, int64_t count, float more, float scale, float low, float *out) {
  for (int64_t i = 0; i < count; ++i) out[i] = (static_cast<float>(x[i]) + more) * scale + low;
}

template <typename Whole>
int64_t floats_of(const void *x, int64_t count, const float *line, int64_t threads, float *out) {
  in_parallel((count + kQuantiseShare - 1) / kQuantiseShare, threads, [=](int64_t share) {
    const int64_t from = share * kQuantiseShare, here = std::min(kQuantiseShare, count - from);
    floats_of_share(static_cast<const Whole *>(x) + from, here, line[0], line[1], line[2], out + from);
  });
  return -1;
}

// Sums and products wrap around.
EACH_SET void products_of_share(const uint8_t *x, const uint8_t *y, int64_t count, uint32_t x_zero, uint32_t y_zero,
                                uint32_t *out) {
  for (int64_t i = 0; i < count; ++i) out[i] = (uint32_t{x[i]} - x_zero) * (uint32_t{y[i]} - y_zero);
}

}  // namespace
}  // namespace penstock

EXPORT int64_t penstock_arrays_quantise(const float *x, int64_t count, const float *levels,
                                        int64_t rounding, int64_t size, int64_t threads, void *out) {
  using namespace penstock;
  if (rounding < kHalfAway || rounding > kHalfUp || size < 1 || size > 2) return 0;
  const int64_t shares = (count + kQuantiseShare - 1) / kQuantiseShare;
  in_parallel(shares, threads, [=](int64_t share) {
    const int64_t from = share * kQuantiseShare;
    quantise_share(x + from, std::min(kQuantiseShare, count - from), Levels(levels), rounding, size,
                   static_cast<char *>(out) + from * size);
  });
  return -1;
}

EXPORT int64_t penstock_arrays_dequantise(const void *x, int64_t count, int64_t size, int64_t has_sign,
                                          const float *line, int64_t threads, float *out) {
  using namespace penstock;
  if (size < 1 || size > 2) return 0;
  if (size == 1)
    return has_sign ? floats_of<int8_t>(x, count, line, threads, out)
                    : floats_of<uint8_t>(x, count, line, threads, out);
  return has_sign ? floats_of<int16_t>(x, count, line, threads, out)
                  : floats_of<uint16_t>(x, count, line, threads, out);
}

EXPORT int64_t penstock_arrays_quantised_product(const uint8_t *x, const uint8_t *y, int64_t count,
                                                 const int32_t *zeros, int64_t threads, int32_t *out) {
  using namespace penstock;
  const uint32_t x_zero = static_cast<uint32_t>(zeros[0]), y_zero = static_cast<uint32_t>(zeros[1]);
  in_parallel((count + kQuantiseShare - 1) / kQuantiseShare, threads, [=](int64_t share) {
    const int64_t from = share * kQuantiseShare, here = std::min(kQuantiseShare, count - from);
    products_of_share(x + from, y + from, here, x_zero, y_zero, reinterpret_cast<uint32_t *>(out) + from);
  });
  return -1;
}
