// Special functions of one number, a block of numbers at a time, in double. A block is sorted by
// what formula serves its numbers, and each formula runs over its numbers in vectors.
//
// Sources: NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov: 5.5, 5.11 (gamma
// functions), 6.12 (Ei), 7.2, 7.5 (Dawson, Fresnel), 10.8, 10.17 (J, Y), 10.31, 10.40 (I, K), 25.12
// (dilogarithm); the smooth factors are the Chebyshev sums of special_tables.h.
#pragma once

#include "special_elementary.h"
#include "special_tables.h"

namespace penstock {

constexpr int BLOCK = 256;
constexpr double ROUGH = 1e-10;  // of the largest coefficient: what float does not show

// The first so many coefficients matter.
template <int N>
constexpr int terms(const double (&c)[N], bool exact) {
  if (exact) return N;
  double largest = 0;
  for (int k = 0; k < N; ++k) {
    const double size = c[k] < 0 ? -c[k] : c[k];
    if (size > largest) largest = size;
  }
  int count = N;
  while (count > 2 && c[count - 1] < ROUGH * largest && c[count - 1] > -ROUGH * largest) --count;
  return count;
}

// The sum over k of c[k] T_k(2u - 1), by Clenshaw's recurrence.
template <bool EXACT, const auto& C>
PENSTOCK_INLINE Vector chebyshev(Vector u) {
  constexpr int COUNT = terms(C, EXACT);
  const Vector twice = 4 * u - 2;
  Vector after{}, current{};
#pragma GCC unroll 64
  for (int k = COUNT - 1; k > 0; --k) {
    const Vector next = twice * current + (C[k] - after);
    after = current;
    current = next;
  }
  return 0.5 * twice * current - after + C[0];
}

// Runs formula(x) over those numbers of a block for which `which` holds, a vector at a time.
template <typename Which, typename Formula>
PENSTOCK_INLINE void where(const double* x, double* y, int count, Which which, Formula formula) {
  int places[BLOCK + LANES], found = 0;
  for (int i = 0; i < count; ++i) {
    places[found] = i;
    found += which(x[i]);
  }
  for (int i = found; i < found + LANES; ++i) places[i] = places[0];  // fills the last vector
  for (int from = 0; from < found; from += LANES) {
    Vector some;
    for (int i = 0; i < LANES; ++i) some[i] = x[places[from + i]];
    some = formula(some);
    for (int i = 0; i < LANES && from + i < found; ++i) y[places[from + i]] = some[i];
  }
}

#define WHICH [=](double x) __attribute__((always_inline))
#define FORMULA [=](Vector x) __attribute__((always_inline)) -> Vector

template <bool EXACT>
struct Special {
  template <const auto& C>
  PENSTOCK_INLINE static Vector sum(Vector u) {
    return chebyshev<EXACT, C>(u);
  }

  // ---- Bessel functions of the first and second kind

  // (x^2 - z1^2) (x^2 - z2^2) for the first zeros of J; exact to the last bits beside a zero: with
  // z = high + low, z^2 = high^2 + 2 high low.
  template <int ORDER>
  PENSTOCK_INLINE static Vector apart(Vector x) {
    const auto& z = tables::ZEROS[ORDER];
    const Vector first = (x - z[0][0]) * (x + z[0][0]) - 2 * z[0][0] * z[0][1];
    const Vector second = (x - z[1][0]) * (x + z[1][0]) - 2 * z[1][0] * z[1][1];
    return first * second;
  }

  template <int ORDER>
  PENSTOCK_INLINE static Vector near_j(Vector x) {
    const Vector u = x * x / 64;
    if (ORDER) return apart<1>(x) * sum<tables::J1>(u) * x;
    return apart<0>(x) * sum<tables::J0>(u);
  }

  // sqrt(2 / (pi x)) times (P cos - Q sin) or (P sin + Q cos), for x > 8. The cosine and sine of
  // x - (2 ORDER + 1) pi / 4 come from those of x, so that the difference is never rounded.
  template <int ORDER, bool SECOND>
  PENSTOCK_INLINE static Vector hankel(Vector x, Vector s, Vector c) {
    const Vector over = 8 / x, u = over * over;
    const Vector p = ORDER ? sum<tables::P1>(u) : sum<tables::P0>(u);
    const Vector q = (ORDER ? sum<tables::Q1>(u) : sum<tables::Q0>(u)) * over;
    const double half = 0.7071067811865476;
    const Vector plus = half * (c + s), minus = half * (s - c);
    const Vector cosine = ORDER ? minus : plus, sine = ORDER ? -plus : minus;
    return square_root(2 / PI / x) * (SECOND ? p * sine + q * cosine : p * cosine - q * sine);
  }

  template <int ORDER, bool SECOND>
  PENSTOCK_INLINE static void far_bessel(const double* x, double* y, int count) {
    where(
        x, y, count, WHICH { return std::fabs(x) > 8; },
        FORMULA {
          const Vector size = magnitude(x);
          Vector s, c;
          wave(size, s, c);
          for (int i = 0; i < LANES; ++i)
            if (size[i] > FAR_ANGLE) s[i] = std::sin(size[i]), c[i] = std::cos(size[i]);
          return hankel<ORDER, SECOND>(size, s, c);
        });
  }

  template <int ORDER>
  PENSTOCK_INLINE static void j(const double* x, double* y, int count) {
    where(
        x, y, count, WHICH { return !(std::fabs(x) > 8); },
        FORMULA { return near_j<ORDER>(magnitude(x)); });
    far_bessel<ORDER, false>(x, y, count);
    for (int i = 0; ORDER && i < count; ++i) y[i] = std::copysign(1.0, x[i]) * y[i];
  }

  template <int ORDER>
  PENSTOCK_INLINE static void y(const double* x, double* y, int count) {
    where(
        x, y, count, WHICH { return !(x > 8); },
        FORMULA {
          const Vector t = choose(x < 1e-310, 1e-310, x), u = t * t / 64;
          const Vector singular = logarithm(t) * near_j<ORDER>(t);
          if (ORDER) return sum<tables::Y1>(u) * t + 2 / PI * (singular - 1 / t);
          return sum<tables::Y0>(u) + 2 / PI * singular;
        });
    far_bessel<ORDER, true>(x, y, count);
    for (int i = 0; i < count; ++i) y[i] = x[i] <= 0 ? -INFINITE : y[i];
  }

  // ---- modified Bessel functions

  template <int ORDER, bool SCALED>
  PENSTOCK_INLINE static void i(const double* x, double* y, int count) {
    where(
        x, y, count, WHICH { return !(std::fabs(x) > 4); },
        FORMULA {
          const Vector size = magnitude(x), u = size / 4;
          const Vector value = ORDER ? sum<tables::I1_NEAR>(u) * x : sum<tables::I0_NEAR>(u);
          return SCALED ? value : value * exponential(size);
        });
    where(
        x, y, count, WHICH { return std::fabs(x) > 4; },
        FORMULA {
          const Vector size = magnitude(x), u = 4 / size;
          Vector value = ORDER ? sum<tables::I1_FAR>(u) : sum<tables::I0_FAR>(u);
          value = value / square_root(size);
          if (ORDER) value = with_sign_of(value, x);
          if (SCALED) return value;
          const Vector half = exponential(0.5 * size);  // I is finite up to 713
          return value * half * half;
        });
  }

  template <int ORDER, bool SCALED>
  PENSTOCK_INLINE static void k(const double* x, double* y, int count) {
    where(
        x, y, count, WHICH { return !(x > 2); },
        FORMULA {
          const Vector t = choose(x < 1e-310, 1e-310, x), u = t * t / 4, log = logarithm(t);
          const Vector value = ORDER ? sum<tables::K1>(u) / t + log * sum<tables::I1>(u) * t
                                     : sum<tables::K0>(u) - log * sum<tables::I0>(u);
          return choose(x <= 0.0, INFINITE, SCALED ? value * exponential(t) : value);
        });
    where(
        x, y, count, WHICH { return x > 2; },
        FORMULA {
          const Vector u = 2 / x;
          const Vector smooth = ORDER ? sum<tables::K1_TAIL>(u) : sum<tables::K0_TAIL>(u);
          const Vector value = smooth / square_root(x);
          return SCALED ? value : value * exponential(-x);
        });
  }

  // ---- integrals

  PENSTOCK_INLINE static void dawson(const double* x, double* y, int count) {
    where(
        x, y, count, WHICH { return !(std::fabs(x) > 5); },
        FORMULA { return x * sum<tables::DAWSON>(x * x / 25); });
    where(
        x, y, count, WHICH { return std::fabs(x) > 5; },
        FORMULA {
          const Vector over = 5 / x;
          return sum<tables::DAWSON_TAIL>(over * over) * (0.5 / x);
        });
  }

  // x^2 modulo 4, of the exact square: pi / 2 times it is the angle of Fresnel's integrals.
  PENSTOCK_INLINE static Vector quarter_turns(Vector x) {
    const Vector t = choose(x < 4e7, x, 4e7);  // the integrals are 1/2 to 8 digits beyond
    // Halves of 26 bits have exact products.
    const Vector high = (Vector)((Mask)t & ~int64_t{0x7ffffff}), low = t - high;
    const Vector product = t * t;
    const Vector rest = ((high * high - product) + 2 * high * low) + low * low;
    Vector shifted;
    return (product - 4 * whole(product * 0.25, shifted)) + rest;
  }

  template <bool SINE>
  PENSTOCK_INLINE static void fresnel(const double* x, double* y, int count) {
    constexpr double END = 1.6;
    where(
        x, y, count, WHICH { return !(std::fabs(x) > END); },
        FORMULA {
          const Vector t = x / END, square = t * t, u = square * square;
          return SINE ? x * x * x * sum<tables::FRESNEL_S>(u) : x * sum<tables::FRESNEL_C>(u);
        });
    where(
        x, y, count, WHICH { return std::fabs(x) > END; },
        FORMULA {
          const Vector size = magnitude(x), over = END / size;
          const Vector square = over * over, u = square * square;
          const Vector along = 1 / (PI * size);
          const Vector f = sum<tables::FRESNEL_F>(u) * along;
          const Vector g = sum<tables::FRESNEL_G>(u) * along * along / size;
          Vector s, c;
          wave(PI / 2 * quarter_turns(size), s, c);
          const Vector value = SINE ? 0.5 - f * c - g * s : 0.5 + f * s - g * c;
          return with_sign_of(value, x);
        });
  }

  // Ei on x > 0; -inf at 0, NaN below and at infinity, as TensorFlow's.
  PENSTOCK_INLINE static void exponential_integral(const double* x, double* y, int count) {
    where(
        x, y, count, WHICH { return !(x > 6); },
        FORMULA {
          const Vector t = choose(x < 1e-310, 1e-310, x);
          const Vector beyond = (t - tables::EI_ZERO[0]) - tables::EI_ZERO[1];
          // log(x / zero) beside the zero, where the quotient would be rounded.
          const Vector s = beyond / (t + tables::EI_ZERO[0]), z = s * s;
          Vector beside = z * (1.0 / 11) + 1.0 / 9;
          beside = beside * z + 1.0 / 7;
          beside = beside * z + 1.0 / 5;
          beside = beside * z + 1.0 / 3;
          beside = 2 * s * (beside * z + 1.0);
          const Vector away = logarithm(t / tables::EI_ZERO[0]);
          const Vector log = choose(magnitude(beyond) < 0.02, beside, away);
          const Vector value = log + beyond * sum<tables::EI_NEAR>(t / 6);
          return choose(x <= 0.0, choose(x == 0.0, -INFINITE, splat(NOT_A_NUMBER)), value);
        });
    tail<tables::EI_6, 6, 12>(x, y, count);
    tail<tables::EI_12, 12, 24>(x, y, count);
    tail<tables::EI_24, 24, 48>(x, y, count);
    tail<tables::EI_48, 48, 0>(x, y, count);
  }

  template <const auto& C, int LOW, int HIGH>
  PENSTOCK_INLINE static void tail(const double* x, double* y, int count) {
    constexpr double END = HIGH ? 1.0 / (HIGH ? HIGH : 1) : 0.0, WIDTH = 1.0 / LOW - END;
    where(
        x, y, count, WHICH { return x > LOW && (HIGH == 0 || x <= HIGH); },
        FORMULA {
          const Vector half = exponential(0.5 * x);  // Ei is finite up to 716
          const Vector value = sum<C>((1 / x - END) / WIDTH) * half / x * half;
          return choose(x == INFINITE, NOT_A_NUMBER, value);
        });
  }

  // The dilogarithm of 1 - x: x is brought between 1/2 and 3/2 by one or two reflections.
  PENSTOCK_INLINE static void spence(const double* x, double* y, int count) {
    where(
        x, y, count, WHICH { return x == x; },
        FORMULA {
          const Vector log = logarithm(x);
          const Mask large = x > 1.5;
          const Vector t = choose(large, 1 / x, x);  // S(x) = -S(1/x) - log(x)^2 / 2
          const Mask small = t < 0.5;
          const Vector m = choose(small, 1 - t, t);  // S(t) = pi^2/6 - log(t) log(1 - t) - S(1 - t)
          const Vector rest = choose(small, t, 1 - t);
          const Vector series = rest * sum<tables::DILOGARITHM>(m - 0.5);
          const Vector product = choose(t == 0.0, 0.0, choose(large, -log, log) * logarithm(1 - t));
          const Vector inner = choose(small, PI * PI / 6 - product - series, series);
          const Vector value = choose(large, -0.5 * log * log - inner, inner);
          // At infinity as TensorFlow's.
          return choose((x >= 0.0) & (x < INFINITE), value, NOT_A_NUMBER);
        });
    for (int i = 0; i < count; ++i) y[i] = x[i] == x[i] ? y[i] : x[i];
  }

  // ---- inverse error function, normal quantile

  // erfinv(x) / x of w = -log(1 - x^2); M. Giles, Approximating the erfinv function, 2010.
  PENSTOCK_INLINE static void inverse_erf(const double* w, double* y, int count) {
    where(
        w, y, count, WHICH { return !(x > 4); }, FORMULA { return sum<tables::ERFINV_0>(x / 4); });
    where(
        w, y, count, WHICH { return x > 4 && x <= 16; },
        FORMULA { return sum<tables::ERFINV_2>((square_root(x) - 2) / 2); });
    where(
        w, y, count, WHICH { return x > 16 && x <= 81; },
        FORMULA { return sum<tables::ERFINV_4>((square_root(x) - 4) / 5); });
    where(
        w, y, count, WHICH { return x > 81; },
        FORMULA { return sum<tables::ERFINV_9>((square_root(x) - 9) / 18); });
  }

  // -log(1 - s) for small s: the sum of s^k / k.
  PENSTOCK_INLINE static Vector below_one(Vector s) {
    return s * (1 + s * (1.0 / 2 + s * (1.0 / 3 + s * (1.0 / 4 + s * (1.0 / 5)))));
  }

  PENSTOCK_INLINE static void erfinv(const double* x, double* y, int count) {
    double w[BLOCK];
    where(
        x, w, count, WHICH { return std::fabs(x) < 1; },
        FORMULA {
          const Vector log = -logarithm((1 - x) * (1 + x));
          return choose(magnitude(x) < 0.03, below_one(x * x), log);
        });
    for (int i = 0; i < count; ++i) w[i] = std::fabs(x[i]) < 1 ? w[i] : 0.0;
    inverse_erf(w, y, count);
    for (int i = 0; i < count; ++i) {
      const double size = std::fabs(x[i]);
      y[i] = size < 1 ? x[i] * y[i] : size == 1 ? x[i] * INFINITE : NOT_A_NUMBER;
    }
  }

  // The quantile of p is sqrt(2) erfinv(2p - 1), with 1 - (2p - 1)^2 = 4 p (1 - p).
  PENSTOCK_INLINE static void ndtri(const double* p, double* y, int count) {
    double w[BLOCK];
    where(
        p, w, count, WHICH { return x > 0 && x < 1; },
        FORMULA {
          const Vector middle = 2 * x - 1, square = middle * middle;
          const Vector log = -logarithm(x) - logarithm(4 * (1 - x));
          return choose(square < 0.001, below_one(square), log);
        });
    for (int i = 0; i < count; ++i) w[i] = p[i] > 0 && p[i] < 1 ? w[i] : 0.0;
    inverse_erf(w, y, count);
    for (int i = 0; i < count; ++i) {
      const double inside = 1.4142135623730951 * (2 * p[i] - 1) * y[i];
      const double edge = p[i] == 0 ? -INFINITE : p[i] == 1 ? INFINITE : NOT_A_NUMBER;
      y[i] = p[i] > 0 && p[i] < 1 ? inside : edge;
    }
  }

  // ---- digamma

  // For x > 0: the recurrence, in one fraction, to at least 10, and the asymptotic series.
  PENSTOCK_INLINE static Vector digamma_of_positive(Vector x) {
    Vector above{}, below = splat(1);  // the sum of 1 / (x + k) over k < 10
    const Mask low = x < 10.0;
    const Vector from = choose(low, x, 1.0);
#pragma GCC unroll 10
    for (int k = 0; k < 10; ++k) {
      above = above * (from + k) + below;
      below = below * (from + k);
    }
    const Vector z = choose(low, x + 10, x), u = 1 / (z * z);
    Vector tail = u * (1.0 / 12) - 691.0 / 32760;
    tail = tail * u + 1.0 / 132;
    tail = tail * u - 1.0 / 240;
    tail = tail * u + 1.0 / 252;
    tail = tail * u - 1.0 / 120;
    tail = tail * u + 1.0 / 12;
    const Vector far = logarithm(z) - 0.5 / z - tail * u;
    return choose(low, far - above / below, far);
  }

  PENSTOCK_INLINE static void digamma(const double* x, double* y, int count) {
    where(
        x, y, count, WHICH { return !(x <= 0); }, FORMULA { return digamma_of_positive(x); });
    where(
        x, y, count, WHICH { return x <= 0; }, FORMULA { return digamma_of_positive(1 - x); });
    for (int i = 0; i < count; ++i)
      if (x[i] <= 0) {
        const double part = x[i] - std::floor(x[i]);
        y[i] = part == 0 || x[i] == -INFINITE ? NOT_A_NUMBER : y[i] - PI / std::tan(PI * part);
      }
  }
};

#undef FORMULA
#undef WHICH

}  // namespace penstock
