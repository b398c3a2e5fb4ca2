// Real and complex numbers under the same names, for linear algebra.
#pragma once

#include <cmath>
#include <limits>

namespace penstock {

// A complex number without the standard's care for infinities, which costs a call each time.
template <typename Real>
struct Complex {
  Real re, im;
};

template <typename T>
T conjugate(T x) {
  return x;
}
template <typename Real>
Complex<Real> conjugate(Complex<Real> x) {
  return {x.re, -x.im};
}

template <typename T>
T less_product(T x, T a, T b) {
  return x - a * b;
}
template <typename Real>
Complex<Real> less_product(Complex<Real> x, Complex<Real> a, Complex<Real> b) {
  return {x.re - (a.re * b.re - a.im * b.im), x.im - (a.re * b.im + a.im * b.re)};
}

template <typename T>
T quotient(T a, T b) {
  return a / b;
}
// By the larger part of the divisor, so that squares do not overflow.
template <typename Real>
Complex<Real> quotient(Complex<Real> a, Complex<Real> b) {
  if (a.re == b.re && a.im == b.im && b.re - b.re == 0 && b.im - b.im == 0 && (b.re != 0 || b.im != 0))
    return {1, 0};  // exactly, so that pivots of equal rows are zero
  if (std::abs(b.re) >= std::abs(b.im)) {
    const Real ratio = b.im / b.re, whole = b.re + b.im * ratio;
    return {(a.re + a.im * ratio) / whole, (a.im - a.re * ratio) / whole};
  }
  const Real ratio = b.re / b.im, whole = b.im + b.re * ratio;
  return {(a.re * ratio + a.im) / whole, (a.im * ratio - a.re) / whole};
}

template <typename T>
T shared(T a, T b) {
  return a / b;
}
template <typename Real>
Complex<Real> shared(Complex<Real> a, Real b) {
  return {a.re / b, a.im / b};
}

template <typename T>
T size_of(T x) {
  return std::abs(x);
}
template <typename Real>
Real size_of(Complex<Real> x) {
  return std::hypot(x.re, x.im);
}

template <typename T>
struct Numbers {
  using Real = T;
  static Real real(T x) { return x; }
  static T of(Real x) { return x; }
  static T plus(T x, Real y) { return x + y; }
};
template <typename R>
struct Numbers<Complex<R>> {
  using Real = R;
  static Real real(Complex<R> x) { return x.re; }
  static Complex<R> of(R x) { return {x, 0}; }
  static Complex<R> plus(Complex<R> x, R y) { return {x.re + y, x.im}; }
};

template <typename T>
bool is_zero(T x) {
  return x == T{0};
}
template <typename Real>
bool is_zero(Complex<Real> x) {
  return x.re == 0 && x.im == 0;
}

template <typename T>
T not_a_number(T) {
  return std::numeric_limits<T>::quiet_NaN();
}
template <typename Real>
Complex<Real> not_a_number(Complex<Real>) {
  return {not_a_number(Real{}), not_a_number(Real{})};
}

}  // namespace penstock
