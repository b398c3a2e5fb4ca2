// Functions of single numbers, a vector at a time. Part of isa.cc.
//
// Largest errors, in units of the last place of float, that native/check.cc allows: exponential 2,
// sigmoid 3, hyperbolic_tangent 2. Results below the least normal number may be zero; NaN stays
// NaN. Polynomials were fitted to the functions in double precision, for the least relative error.
#pragma once

#include "tile.h"

namespace {

typedef unsigned Words __attribute__((vector_size(PENSTOCK_VECTOR_BYTES)));  // may wrap around

const float LEAST_POWER = -87.3365f;  // e to the power of less is below the least normal number

inline Vector choose(Ints mask, Vector yes, Vector no) {
  return (Vector)((mask & (Ints)yes) | (~mask & (Ints)no));
}

inline Vector magnitude(Vector x) { return (Vector)((Ints)x & ~(Ints)splat(-0.0f)); }

// 0, 1, 2 ... compared with how many columns there are.
inline Ints lanes_below(long count) {
  alignas(64) static const int numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return *(const Ints*)numbers < ((Ints)Vector{} + (int)least(count, LANES));
}

inline float total(Vector x) {
  alignas(64) float all[LANES];
  store(all, x);
  for (long n = LANES / 2; n > 0; n /= 2)
    for (long i = 0; i < n; ++i) all[i] += all[i + n];
  return all[0];
}

// A number is kept between bounds; NaN is not.
inline Vector within(Vector x, float low, float high) {
  x = choose((Ints)(x < splat(low)), splat(low), x);
  return choose((Ints)(x > splat(high)), splat(high), x);
}

// e to the power of x, for x from LEAST_POWER to 88: 2 to the power of the nearest whole number, which goes
// into the exponent, times a polynomial in the rest.
inline Vector bounded_exponential(Vector x) {
  const Vector turn = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to whole numbers
  const Vector shifted = x * splat(1.44269504f) + turn;
  const Vector whole = shifted - turn;
  const Vector rest = x - whole * splat(0.693359375f) - whole * splat(-2.12194440e-4f);
  Vector sum = splat(0.001381446684960591f);
  sum = sum * rest + splat(0.00836878041832437f);
  sum = sum * rest + splat(0.041668394215114896f);
  sum = sum * rest + splat(0.16666520107742366f);
  sum = sum * rest + splat(0.49999993412481203f);
  sum = sum * rest * rest + rest + splat(1.0f);
  return (Vector)((Words)sum + ((Words)shifted << 23));
}

inline Vector exponential(Vector x) {
  const Vector found = bounded_exponential(within(x, LEAST_POWER, 88.0f));
  const Vector rest = bounded_exponential(within(x - splat(88.0f), -1.0f, 1.0f));
  Vector result = choose((Ints)(x > splat(88.0f)), found * rest, found);
  result = choose((Ints)(x > splat(88.7228391f)), splat(__builtin_inff()), result);
  result = choose((Ints)(x < splat(LEAST_POWER)), Vector{}, result);
  return choose((Ints)(x != x), x, result);
}

inline Vector sigmoid(Vector x) {
  const Vector one = splat(1.0f);
  const Vector power = bounded_exponential(within(-x, -87.0f, 88.0f));
  const Vector result = choose((Ints)(x < splat(LEAST_POWER)), Vector{}, one / (one + power));
  return choose((Ints)(x != x), x, result);
}

inline Vector hyperbolic_tangent(Vector x) {
  const Vector one = splat(1.0f), square = x * x, size = magnitude(x);
  Vector sum = splat(-0.005704986770943672f);
  sum = sum * square + splat(0.020639087004560713f);
  sum = sum * square + splat(-0.05373971499570617f);
  sum = sum * square + splat(0.1333144219682308f);
  sum = sum * square + splat(-0.33333281941946924f);
  const Vector near = sum * square * x + x;
  const Vector power = bounded_exponential(within(size + size, 0.0f, 40.0f));
  const Vector far = one - splat(2.0f) / (power + one);
  const Vector result = choose((Ints)(size < splat(0.625f)), near, far);
  const Ints sign = (Ints)x & (Ints)splat(-0.0f);
  const Vector signed_result = (Vector)((Ints)magnitude(result) | sign);
  return choose((Ints)(x != x), x, signed_result);
}

}  // namespace
