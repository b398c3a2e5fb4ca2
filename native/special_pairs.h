// Special functions of two and three numbers, one result at a time, in double: incomplete gamma and
// beta functions, derivatives of the first by its order, Hurwitz's zeta function, polygamma.
//
// Sources: NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov: 8.7, 8.9, 8.12
// (incomplete gamma), 8.17 (beta), 25.11 (zeta by Euler and Maclaurin's sum), 5.15 (polygamma);
// derivatives by carrying them through the sums: M. Figurnov, S. Mohamed, A. Mnih, Implicit
// Reparameterization Gradients, 2018.
#pragma once

#include <math.h>

#include <type_traits>

#include "special_unary.h"

namespace penstock {

// A number and its derivative by one variable.
struct Dual {
  double v, d;
  Dual(double value = 0, double slope = 0) : v(value), d(slope) {}
};
PENSTOCK_INLINE Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
PENSTOCK_INLINE Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.d - b.d}; }
PENSTOCK_INLINE Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
PENSTOCK_INLINE Dual operator/(Dual a, Dual b) {
  const double q = a.v / b.v;
  return {q, (a.d - q * b.d) / b.v};
}
PENSTOCK_INLINE double value_of(double a) { return a; }
PENSTOCK_INLINE double value_of(Dual a) { return a.v; }
PENSTOCK_INLINE double slope_of(double) { return 0; }
PENSTOCK_INLINE double slope_of(Dual a) { return a.d; }

PENSTOCK_INLINE double log_gamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

// log(gamma(a)) - (a - 1/2) log(a) + a - log(2 pi) / 2, for a >= 8: Stirling's series.
PENSTOCK_INLINE double stirling_rest(double a) {
  const double u = 1 / (a * a);
  double sum = -691.0 / 360360;
  sum = sum * u + 1.0 / 1188;
  sum = sum * u - 1.0 / 1680;
  sum = sum * u + 1.0 / 1260;
  sum = sum * u - 1.0 / 360;
  sum = sum * u + 1.0 / 12;
  return sum / a;
}

// m - log(1 + m), without cancellation near 0; `above` is 1 + m.
PENSTOCK_INLINE double above_logarithm(double m, double above) {
  if (m < -0.5 || m > 1) return m - std::log(above);
  const double s = m / (2 + m), z = s * s;  // log(1 + m) = 2 artanh(s)
  double sum = 0, power = s * z;
  for (int k = 3; k < 41; k += 2) {
    sum += power / k;
    power *= z;
    if (power < 1e-18 * (s < 0 ? -s : s) * z && power > -1e-18 * (s < 0 ? -s : s) * z) break;
  }
  return m * s - 2 * sum;
}

// ---- incomplete gamma functions

// P or Q is density * factor, where density = x^a exp(-x) / gamma(a + 1) and `slope` is the
// derivative of its logarithm by a. `upper` says which of the two the factor belongs to.
struct Incomplete {
  double density, slope;
  Dual factor;
  bool upper;
  bool whole = false;  // the factor is P or Q itself; density is not used
};

struct GammaArguments {
  double a, x;
  bool slopes;       // whether derivatives are wanted
  double precision;  // of the sums, relative
};

// sum over n of x^n / ((a + 1) ... (a + n)), as one fraction, whose parts need no division a term.
template <typename T>
PENSTOCK_INLINE T lower_sum(T a, double x, double precision) {
  T above(1), below(1), step = a;
  double power = 1;
  for (int round = 0; round < 40000; ++round) {
    for (int k = 0; k < 4; ++k) {
      step = step + T(1);
      power *= x;
      above = above * step + T(power);
      below = below * step;
    }
    const double bound = precision * value_of(above);
    const double slopes = std::fabs(slope_of(above)) * precision;
    // A power's own derivative is 0: what it adds to the quotient's is power * below' / below^2.
    const double rest = power * std::fabs(slope_of(below));
    if (value_of(step) > 2 * x && power <= bound &&
        rest <= value_of(below) * (slopes + bound))
      break;
    if (value_of(step) <= 2 * x && power * x <= bound * (value_of(step) + 1 - x) &&
        rest * x <= value_of(below) * (slopes + bound) * (value_of(step) + 1 - x))
      break;
    if (value_of(below) > 1e100) {
      const double scale = 1e-100;
      above = above * T(scale);
      below = below * T(scale);
      power *= scale;
    }
  }
  return above / below;
}

// gamma(a, x) exp(x) x^-a by Legendre's continued fraction, DLMF 8.9.2, for x > a: numerators and
// denominators of successive convergents, whose errors go together.
PENSTOCK_INLINE double upper_fraction(double a, double x, double precision) {
  double b = x + 1 - a;
  double above0 = 0, below0 = 1, above1 = 1, below1 = b, last = above1 / below1;
  for (int n = 1; n < 40000; ++n) {
    const double share = n * (a - n);
    b += 2;
    const double above = b * above1 + share * above0, below = b * below1 + share * below0;
    above0 = above1, below0 = below1, above1 = above, below1 = below;
    if (std::fabs(below) > 1e100) {
      above0 *= 1e-100, below0 *= 1e-100, above1 *= 1e-100, below1 *= 1e-100;
    }
    if (n % 4 != 0) continue;
    const double now = above1 / below1;
    const bool done = std::fabs(now - last) <= precision * std::fabs(now);
    last = now;
    if (done) break;
  }
  return last;
}

// The same with its derivative by a, which the convergents would lose: by the ratios of
// neighbouring ones (W. J. Lentz, 1976).
PENSTOCK_INLINE Dual upper_fraction(Dual a, double x, double precision) {
  Dual b = Dual(x + 1) - a, found = Dual(1) / b;
  Dual below = found, above;
  for (int n = 1; n < 40000; ++n) {
    const Dual share = Dual(n) * (a - Dual(n));
    b = b + Dual(2);
    below = Dual(1) / (b + share * below);
    above = n == 1 ? b : b + share / above;  // the first numerator is 1, the one before 0
    const Dual step = above * below;
    found = found * step;
    if (std::fabs(step.v - 1) <= precision && std::fabs(step.d) <= precision) break;
  }
  return found;
}

// P for a beyond 10^6: Temme's uniform expansion, DLMF 8.12.3, with the terms that matter there.
PENSTOCK_INLINE Incomplete uniform_gamma(double a, double x) {
  const double m = (x - a) / a;
  const double half = above_logarithm(m, x / a);  // eta^2 / 2
  const double eta = std::copysign(std::sqrt(2 * half), m);
  const double c0 = -1.0 / 3 + eta * (1.0 / 12 + eta * (-2.0 / 135 + eta * (1.0 / 864)));
  const double c1 = -1.0 / 540 - eta / 288;
  const double bell = std::exp(-a * half) / std::sqrt(2 * PI * a);
  const bool upper = eta > 0;
  const double tail = 0.5 * std::erfc((upper ? eta : -eta) * std::sqrt(0.5 * a));
  const double rest = bell * (c0 + c1 / a);
  Incomplete found{};
  found.whole = true;
  found.upper = upper;
  found.factor.v = upper ? tail + rest : tail - rest;
  // dP/da = -density of z times dz/da, z = eta sqrt(a), and the derivative of the rest.
  const double eta_by_a = std::fabs(m) < 1e-12 ? -1 / a : -(x / a / a) * (m / (1 + m)) / eta;
  const double z_by_a = eta_by_a * std::sqrt(a) + 0.5 * eta / std::sqrt(a);
  const double z = eta * std::sqrt(a);
  const double first = std::exp(-0.5 * z * z) / std::sqrt(2 * PI) * z_by_a;
  const double bell_by_a = bell * (-z * z_by_a - 0.5 / a);
  const double c0_by_a = eta_by_a * (1.0 / 12 + eta * (-4.0 / 135 + eta * (1.0 / 288)));
  const double p_by_a = first - (bell_by_a * c0 + bell * c0_by_a);
  found.factor.d = upper ? -p_by_a : p_by_a;
  found.density = std::exp(-0.5 * z * z) / std::sqrt(2 * PI * a);  // x^a exp(-x) / gamma(a + 1)
  return found;
}

PENSTOCK_INLINE void set_density(Incomplete& found, const GammaArguments& given) {
  const double a = given.a, x = given.x;
  if (a >= 10) {
    const double m = (x - a) / a;
    const double exponent = -a * above_logarithm(m, x / a) - stirling_rest(a);
    found.density = std::exp(exponent) / std::sqrt(2 * PI * a);
    if (!given.slopes) return;
    const double u = 1 / (a * a);  // psi is digamma(a + 1) - log(a)
    double psi = u * (1.0 / 12) - 691.0 / 32760;
    psi = psi * u + 1.0 / 132;
    psi = psi * u - 1.0 / 240;
    psi = psi * u + 1.0 / 252;
    psi = psi * u - 1.0 / 120;
    psi = psi * u + 1.0 / 12;
    psi = 0.5 / a - psi * u;
    found.slope = (m < -0.5 ? std::log(x / a) : std::log1p(m)) - psi;
  } else {
    const double log = std::log(x);
    found.density = std::exp(a * log - x - log_gamma(a + 1));
    if (given.slopes) found.slope = log - Special<true>::digamma_of_positive(splat(a + 1))[0];
  }
}

// log(gamma(1 + a)), exact for small a too.
PENSTOCK_INLINE double log_gamma_above_one(double a) {
  return a < 1e-5 ? a * (-0.5772156649015329 + a * 0.8224670334241132) : log_gamma(1 + a);
}

// Q for x below 1.5 and a below 1, where 1 - P would cancel.
PENSTOCK_INLINE double small_upper(double a, double x, double precision) {
  const double exponent = a * std::log(x) - log_gamma_above_one(a);
  double sum = 0, term = 1;
  for (int n = 1; n < 60; ++n) {
    term *= -x / n;
    sum += term / (a + n);
    if (std::fabs(term) < precision * std::fabs(sum)) break;
  }
  return -std::expm1(exponent) - std::exp(exponent) * a * sum;
}

// For 0 < a and 0 < x, both finite.
template <typename T>
PENSTOCK_INLINE Incomplete incomplete_gamma(const GammaArguments& given) {
  const double a = given.a, x = given.x;
  if (a > 1e6 && std::fabs(x - a) < 0.01 * a) return uniform_gamma(a, x);
  Incomplete found{};
  set_density(found, given);
  // The factor is finite, and no term of it matters. Beyond 10^150 its fraction would overflow.
  if (found.density == 0 && (a > 1e20 || !given.slopes)) {
    found.factor = 1;
    found.upper = x > a;
    return found;
  }
  T order(a);
  if constexpr (std::is_same_v<T, Dual>) order.d = 1;
  // The sum is as good beyond a while P stays away from 1, and needs no more terms.
  const bool lower = x <= a || x < 1.5;
  const T sum = lower ? lower_sum(order, x, given.precision)
                      : order * upper_fraction(order, x, given.precision);
  found.upper = !lower;
  found.factor = Dual(value_of(sum), slope_of(sum));
  return found;
}

// P, or 1 - P = Q.
PENSTOCK_INLINE double gamma_part(double a, double x, bool upper, double precision) {
  const bool ordered = a > 0 && x >= 0;
  if (x == 0 && !upper) return 0;  // whatever a is, as TensorFlow's
  if (!ordered) return NOT_A_NUMBER;
  if (x == 0) return 1;
  if (a == INFINITE) return x == INFINITE ? NOT_A_NUMBER : upper ? 1 : 0;
  if (x == INFINITE) return upper ? 0 : 1;
  if (upper && a < 1 && x < 1.5 && x > a) return small_upper(a, x, precision);
  const Incomplete found = incomplete_gamma<double>({a, x, false, precision});
  const double part = found.whole ? found.factor.v : found.density * found.factor.v;
  return found.upper == upper ? part : 1 - part;
}

// The derivative of P by a.
PENSTOCK_INLINE double gamma_by_order(double a, double x, double precision) {
  if (!(a > 0 && x >= 0)) return NOT_A_NUMBER;
  if (x == 0) return 0;
  if (a == INFINITE || x == INFINITE) return x == a ? NOT_A_NUMBER : 0;
  const Incomplete found = incomplete_gamma<Dual>({a, x, true, precision});
  const double inner = found.factor.d + found.factor.v * found.slope;
  const double slope = found.whole ? found.factor.d : found.density * inner;
  return found.upper ? -slope : slope;
}

// The derivative of a draw x of the gamma distribution by its parameter a: that of P by a over
// that by x, which is density * a / x. What both have as a factor is never multiplied in.
PENSTOCK_INLINE double draw_by_order(double a, double x, double precision) {
  if (!(a > 0 && x >= 0)) return NOT_A_NUMBER;
  if (x == 0) return 0;
  if (a == INFINITE || x == INFINITE) return NOT_A_NUMBER;
  const Incomplete found = incomplete_gamma<Dual>({a, x, true, precision});
  double inner = found.factor.d + found.factor.v * found.slope;
  if (found.whole) inner = found.factor.d / found.density;
  return (found.upper ? inner : -inner) * (x / a);
}

// ---- incomplete beta function

// x^a (1 - x)^b / (a B(a, b)).
PENSTOCK_INLINE double beta_density(double a, double b, double x) {
  if (a < 10 || b < 10) {
    const double rest = log_gamma(a + b) - log_gamma(a) - log_gamma(b);
    return std::exp(a * std::log(x) + b * std::log1p(-x) + rest) / a;
  }
  const double total = a + b, off = a < b ? a - total * x : total * (1 - x) - b;
  const double exponent = a * above_logarithm(-off / a, x * total / a) +
                          b * above_logarithm(off / b, (1 - x) * total / b);
  const double rest = stirling_rest(a) + stirling_rest(b) - stirling_rest(total);
  return std::exp(-exponent - rest) * std::sqrt(b / (2 * PI * total)) * std::sqrt(1 / a);
}

// The continued fraction DLMF 8.17.22, by successive convergents.
PENSTOCK_INLINE double beta_fraction(double a, double b, double x, double precision) {
  double above0 = 1, below0 = 0, above1 = 1, below1 = 1, last = 1;
  for (int m = 0; m < 40000; ++m) {
    const double at = a + 2 * m;
    const double odd = -(a + m) * (a + b + m) * x / (at * (at + 1));
    above0 = above1 + odd * above0, below0 = below1 + odd * below0;
    const double even = (m + 1) * (b - m - 1) * x / ((at + 1) * (at + 2));
    above1 = above0 + even * above1, below1 = below0 + even * below1;
    if (m % 2 == 0) continue;
    const double now = above1 / below1;
    const bool done = std::fabs(now - last) <= precision * std::fabs(now);
    last = now;
    if (done) break;
    if (std::fabs(below1) > 1e100 || std::fabs(below1) < 1e-100) {
      const double scale = 1 / below1;
      above0 *= scale, below0 *= scale, above1 *= scale, below1 = 1;
    }
  }
  return last;
}

PENSTOCK_INLINE double beta_part(double a, double b, double x, double precision) {
  if (!(a > 0 && b > 0 && x >= 0 && x <= 1)) return NOT_A_NUMBER;
  if (a == INFINITE || b == INFINITE) return NOT_A_NUMBER;
  if (x == 0 || x == 1) return x;
  if (x < (a + 1) / (a + b + 2)) return beta_density(a, b, x) / beta_fraction(a, b, x, precision);
  return 1 - beta_density(b, a, 1 - x) / beta_fraction(b, a, 1 - x, precision);
}

// ---- zeta and polygamma

// (q + k)^-x for k < 8 and x > 1. For double by the C library, whose powers are exact.
template <bool EXACT>
PENSTOCK_INLINE void powers_from(double x, double q, double* powers) {
  if (EXACT) {
    for (int k = 0; k < 8; ++k) powers[k] = std::pow(q + k, -x);
    return;
  }
  const Vector few = {0, 1, 2, 3};
  const Vector low = exponential(-x * logarithm(q + few));
  const Vector high = exponential(-x * logarithm(q + few + 4));
  for (int k = 0; k < LANES; ++k) powers[k] = low[k], powers[k + LANES] = high[k];
}

// The sum of (q + k)^-x over k from 0, by Euler and Maclaurin; NaN for x < 1 or where a negative
// number would be raised to a power that is not whole. At poles it is infinite where it has the
// same sign on both sides, for even x, else NaN.
template <bool EXACT>
PENSTOCK_INLINE double zeta(double x, double q) {
  constexpr double SHARES[] = {  // Bernoulli's numbers over factorials
      1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160,
      -691.0 / 1307674368000, 1.0 / 74724249600, -3617.0 / 10670622842880000,
      43867.0 / 5109094217170944000, -174611.0 / 802857662698291200000.0};
  if (x == 1) return INFINITE;
  if (!(x > 1)) return NOT_A_NUMBER;
  if (q <= 0 && q == std::floor(q))
    return std::fmod(x, 2) == 0 || x == INFINITE ? INFINITE : NOT_A_NUMBER;
  if (!(q > 0) && !(x == std::floor(x) && q > -1000)) return NOT_A_NUMBER;
  double total = 0;
  for (; q <= 0; ++q) total += std::pow(q, -x);
  double powers[8];
  powers_from<EXACT>(x, q, powers);
  for (int k = 0; k < 7; ++k) total += powers[k];
  if (EXACT) {  // three more
    for (int k = 7; k < 10; ++k) total += std::pow(q + k, -x);
    powers[7] = std::pow(q + 10, -x);
  }
  const double edge = q + (EXACT ? 10 : 7), last = powers[7];
  if (last == 0) return total;
  total += last * (edge / (x - 1) + 0.5);
  double factor = x, power = last / edge;
  const double step = 1 / (edge * edge);
  for (int i = 0; i < 10; ++i) {
    const double term = SHARES[i] * factor * power;
    total += term;
    if (std::fabs(term) < 1e-18 * total) break;
    factor *= (x + 2 * i + 1) * (x + 2 * i + 2);
    power *= step;
  }
  return total;
}

// The derivative of order n of digamma.
template <bool EXACT>
PENSTOCK_INLINE double polygamma(double n, double x) {
  if (n == 0) {
    double found;
    Special<EXACT>::digamma(&x, &found, 1);
    return found;
  }
  if (!(n > 0) || n != std::floor(n)) return NOT_A_NUMBER;
  const double factorial = n < 21 ? std::nearbyint(std::tgamma(n + 1)) : std::tgamma(n + 1);
  const double size = factorial * zeta<EXACT>(n + 1, x);
  return std::fmod(n, 2) == 0 ? -size : size;
}

}  // namespace penstock
