// Elementary functions of several doubles at once, without branches, calls or tables. Each is
// within 2 units of the last place of the true value.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#define PENSTOCK_INLINE inline __attribute__((always_inline))

namespace penstock {

constexpr int LANES = 4;  // numbers of a vector
typedef double Vector __attribute__((vector_size(8 * LANES)));
typedef int64_t Mask __attribute__((vector_size(8 * LANES)));  // of comparisons: -1 or 0
typedef uint64_t Bits __attribute__((vector_size(8 * LANES)));  // AVX2 shifts no others right

constexpr double PI = 3.141592653589793;
constexpr double INFINITE = std::numeric_limits<double>::infinity();
constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to whole numbers
// Logarithm of 2 and half of pi in parts of which multiples up to 2^20 are exact.
constexpr double LN2_HIGH = 0x1.62e42feep-1, LN2_LOW = 0x1.a39ef35793c76p-33;
constexpr double HALF_PI[3] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};
constexpr double FAR_ANGLE = 1e5;  // `wave` is exact up to here

PENSTOCK_INLINE Vector splat(double x) { return x - Vector{}; }

PENSTOCK_INLINE Vector choose(Mask mask, Vector yes, Vector no) {
  return (Vector)((mask & (Mask)yes) | (~mask & (Mask)no));
}
PENSTOCK_INLINE Vector choose(Mask mask, double yes, Vector no) {
  return choose(mask, splat(yes), no);
}
PENSTOCK_INLINE Vector choose(Mask mask, Vector yes, double no) {
  return choose(mask, yes, splat(no));
}

PENSTOCK_INLINE Vector magnitude(Vector x) { return (Vector)((Mask)x & INT64_MAX); }

PENSTOCK_INLINE Vector with_sign_of(Vector size, Vector sign) {
  return (Vector)(((Mask)size & INT64_MAX) | ((Mask)sign & INT64_MIN));
}

PENSTOCK_INLINE Vector square_root(Vector x) {
  Vector root;
  for (int i = 0; i < LANES; ++i) root[i] = std::sqrt(x[i]);
  return root;
}

// The nearest whole numbers, of sizes below 2^51; `shifted` has them in its lowest bits.
PENSTOCK_INLINE Vector whole(Vector x, Vector& shifted) {
  shifted = x + ROUNDER;
  return shifted - ROUNDER;
}

// e to the power of x: 2 to the power of the nearest whole number times Taylor's sum of the rest.
PENSTOCK_INLINE Vector exponential_of_rest(Vector r) {
  Vector sum = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0;
  sum = sum * r + 1.0 / 39916800.0;
  sum = sum * r + 1.0 / 3628800.0;
  sum = sum * r + 1.0 / 362880.0;
  sum = sum * r + 1.0 / 40320.0;
  sum = sum * r + 1.0 / 5040.0;
  sum = sum * r + 1.0 / 720.0;
  sum = sum * r + 1.0 / 120.0;
  sum = sum * r + 1.0 / 24.0;
  sum = sum * r + 1.0 / 6.0;
  sum = sum * r + 0.5;
  return 1.0 + (r + sum * r * r);
}

PENSTOCK_INLINE Vector exponential(Vector x) {
  Vector bounded = choose(x < -746.0, -746.0, x), shifted;
  bounded = choose(bounded > 710.0, 710.0, bounded);
  const Vector count = whole(bounded * 1.4426950408889634, shifted);
  const Vector sum = exponential_of_rest((bounded - count * LN2_HIGH) - count * LN2_LOW);
  // By two powers of two: one alone may be beyond the least or largest number.
  Vector halved;
  const Vector half = whole(count * 0.5, halved);
  Vector rest;
  whole(count - half, rest);
  const Vector first = (Vector)(((Bits)halved + 1023) << 52);
  const Vector second = (Vector)(((Bits)rest + 1023) << 52);
  return choose(x == x, sum * first * second, x);
}

// The same between -BETWEEN and BETWEEN, the nearer of which stands for what is beyond: by one power of two.
constexpr double BETWEEN = 700.0;
PENSTOCK_INLINE Vector exponential_between(Vector x) {
  Vector bounded = choose(x < -BETWEEN, -BETWEEN, x), shifted;
  bounded = choose(bounded > BETWEEN, BETWEEN, bounded);
  const Vector count = whole(bounded * 1.4426950408889634, shifted);
  const Vector sum = exponential_of_rest((bounded - count * LN2_HIGH) - count * LN2_LOW);
  return choose(x == x, sum * (Vector)(((Bits)shifted + 1023) << 52), x);
}

// The natural logarithm: of the power of two, and 2 artanh((m - 1) / (m + 1)) of the rest m.
PENSTOCK_INLINE Vector logarithm(Vector x) {
  const Mask small = x < 2.2250738585072014e-308;
  const Bits bits = (Bits)choose(small, x * 0x1p54, x);
  // The exponent as a double, without a conversion of 64-bit integers, which AVX2 lacks.
  const Bits raised = (bits >> 52) | 0x4330000000000000;  // of x > 0
  Vector exponent = (Vector)raised - (4503599627370496.0 + 1023.0);
  Vector m = (Vector)((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
  const Mask upper = m > 1.4142135623730951;
  m = choose(upper, 0.5 * m, m);
  exponent = choose(upper, exponent + 1.0, exponent);
  exponent = choose(small, exponent - 54.0, exponent);
  const Vector f = m - 1.0, s = f / (2.0 + f), z = s * s;
  Vector sum = z * (2.0 / 23) + 2.0 / 21;
  sum = sum * z + 2.0 / 19;
  sum = sum * z + 2.0 / 17;
  sum = sum * z + 2.0 / 15;
  sum = sum * z + 2.0 / 13;
  sum = sum * z + 2.0 / 11;
  sum = sum * z + 2.0 / 9;
  sum = sum * z + 2.0 / 7;
  sum = sum * z + 2.0 / 5;
  sum = sum * z + 2.0 / 3;
  // 2 s + s^3 sum = f - s (f - z sum), without the rounding of 2 s.
  const Vector rest = f - (s * (f - z * sum) - exponent * LN2_LOW);
  Vector result = exponent * LN2_HIGH + rest;
  result = choose(x == INFINITE, x, result);
  result = choose(x == 0.0, -INFINITE, result);
  return choose(x >= 0.0, result, NOT_A_NUMBER);
}

// The sine and cosine of x, |x| <= FAR_ANGLE, by Taylor's sums within a quarter of pi.
PENSTOCK_INLINE void wave(Vector x, Vector& sine, Vector& cosine) {
  Vector shifted;
  const Vector turns = whole(x * (2 / PI), shifted);
  const Vector r = ((x - turns * HALF_PI[0]) - turns * HALF_PI[1]) - turns * HALF_PI[2];
  const Vector z = r * r;
  Vector s = z * (1.0 / 355687428096000.0) - 1.0 / 1307674368000.0;
  s = s * z + 1.0 / 6227020800.0;
  s = s * z - 1.0 / 39916800.0;
  s = s * z + 1.0 / 362880.0;
  s = s * z - 1.0 / 5040.0;
  s = s * z + 1.0 / 120.0;
  s = s * z - 1.0 / 6.0;
  s = r + r * z * s;
  Vector c = z * (-1.0 / 6402373705728000.0) + 1.0 / 20922789888000.0;
  c = c * z - 1.0 / 87178291200.0;
  c = c * z + 1.0 / 479001600.0;
  c = c * z - 1.0 / 3628800.0;
  c = c * z + 1.0 / 40320.0;
  c = c * z - 1.0 / 720.0;
  c = c * z + 1.0 / 24.0;
  c = 1.0 + (z * z * c - 0.5 * z);
  const Bits quadrant = (Bits)shifted;
  const Mask swapped = (Mask)(0 - (quadrant & 1));
  const Vector first = choose(swapped, c, s), second = choose(swapped, s, c);
  sine = (Vector)((Bits)first ^ ((quadrant & 2) << 62));
  cosine = (Vector)((Bits)second ^ (((quadrant + 1) & 2) << 62));
}

}  // namespace penstock
