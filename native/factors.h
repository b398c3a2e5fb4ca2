// Factors of one matrix: Cholesky's, Gauss's and Householder's, and what is solved and derived with them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "each_set.h"
#include "scalars.h"

namespace penstock {

template <typename T>
EACH_SET void decompose(T *a, int64_t rows, int64_t columns, int64_t *order) {
  std::iota(order, order + rows, int64_t{0});
  for (int64_t k = 0; k < columns; ++k) {
    T *const top = a + k * columns;
    int64_t pivot = k;
    auto best = size_of(top[k]);
    for (int64_t i = k + 1; i < rows; ++i) {
      const auto size = size_of(a[i * columns + k]);
      if (size > best) pivot = i, best = size;  // a NaN below is passed over, as in LAPACK
    }
    if (pivot != k) {
      std::swap_ranges(top, top + columns, a + pivot * columns);
      std::swap(order[k], order[pivot]);
    }
    for (int64_t i = k + 1; i < rows; ++i) {
      T *__restrict row = a + i * columns;
      const T *__restrict above = top;
      const T factor = row[k] = quotient(row[k], above[k]);
      for (int64_t j = k + 1; j < columns; ++j) row[j] = less_product(row[j], factor, above[j]);
    }
  }
}

// The solutions of n equations for k right-hand sides, which stand in x; a is worked on in its place. False
// where a pivot is zero.
template <typename T>
EACH_SET bool solve_by_rows(T *a, int64_t n, int64_t k, const T *b, T *x) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  decompose(a, n, n, order.data());
  for (int64_t i = 0; i < n; ++i)
    if (is_zero(a[i * n + i])) return false;
  for (int64_t i = 0; i < n; ++i) {
    T *__restrict row = x + i * k;
    std::copy(b + order[i] * k, b + (order[i] + 1) * k, row);
    for (int64_t j = 0; j < i; ++j) {
      const T factor = a[i * n + j];
      const T *known = x + j * k;
      for (int64_t c = 0; c < k; ++c) row[c] = less_product(row[c], factor, known[c]);
    }
  }
  for (int64_t i = n - 1; i >= 0; --i) {
    T *__restrict row = x + i * k;
    for (int64_t j = i + 1; j < n; ++j) {
      const T factor = a[i * n + j];
      const T *known = x + j * k;
      for (int64_t c = 0; c < k; ++c) row[c] = less_product(row[c], factor, known[c]);
    }
    for (int64_t c = 0; c < k; ++c) row[c] = quotient(row[c], a[i * n + i]);
  }
  return true;
}

// The lower factor of a matrix of which the lower triangle is read; all NaN where a pivot is not positive.
// It is found as rows of the upper one, in `upper`, n by n.
template <typename T>
EACH_SET void cholesky(const T *a, int64_t n, T *upper, T *lower) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i; j < n; ++j) upper[i * n + j] = conjugate(a[j * n + i]);
  for (int64_t k = 0; k < n; ++k) {
    T *above = upper + k * n;
    const auto square = Numbers<T>::real(above[k]);
    if (square <= 0) {  // a NaN is passed on, as in LAPACK
      std::fill(lower, lower + n * n, not_a_number(T{}));
      return;
    }
    const auto pivot = std::sqrt(square);
    above[k] = Numbers<T>::of(pivot);
    for (int64_t j = k + 1; j < n; ++j) above[j] = shared(above[j], pivot);
    for (int64_t i = k + 1; i < n; ++i) {
      T *__restrict row = upper + i * n;
      const T factor = conjugate(above[i]);
      for (int64_t j = i; j < n; ++j) row[j] = less_product(row[j], factor, above[j]);
    }
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      lower[i * n + j] = j < i ? conjugate(upper[j * n + i]) : j == i ? upper[i * n + i] : T{};
}

// The length of a column of `count` numbers that stand `step` apart, in double precision.
template <typename T>
double length_of(const T *x, int64_t count, int64_t step) {
  double sum = 0, largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double each = x[i * step];
    sum += each * each;
    largest = std::max(largest, std::abs(each));
  }
  if (!(sum < 1e-280 || sum > 1e280) || largest == 0) return std::sqrt(sum);  // not where squares leave the range
  sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double part = x[i * step] / largest;
    sum += part * part;
  }
  return largest * std::sqrt(sum);
}

// Takes the reflection of column k of `reflections`, rows by `width`, from the columns of x from `from` on: x less
// tau v (v^T x), with v 1 in row k, the numbers below it, and 0 above. `sums` has room for a row of x.
template <typename T>
void reflect(const T *reflections, int64_t width, T tau, int64_t k, int64_t rows, int64_t from, int64_t columns,
             T *__restrict sums, T *x) {
  if (tau == 0) return;
  std::copy(x + k * columns + from, x + (k + 1) * columns, sums + from);
  for (int64_t i = k + 1; i < rows; ++i) {
    const T factor = reflections[i * width + k];
    const T *row = x + i * columns;
    for (int64_t j = from; j < columns; ++j) sums[j] += factor * row[j];
  }
  for (int64_t i = k; i < rows; ++i) {
    const T factor = tau * (i == k ? T{1} : reflections[i * width + k]);
    T *row = x + i * columns;
    for (int64_t j = from; j < columns; ++j) row[j] -= factor * sums[j];
  }
}

// Whether reflections of these numbers stay far from both ends of their range: LAPACK scales others.
template <typename T>
EACH_SET bool is_moderate(const T *x, int64_t count) {
  const T least = sizeof(T) == 4 ? T(1e-25) : T(1e-250), most = sizeof(T) == 4 ? T(1e15) : T(1e150);
  bool all = true;
  for (int64_t i = 0; i < count; ++i) {
    const T size = std::fabs(x[i]);
    all &= !(size > most) && (size == 0 || !(size < least));
  }
  return all;
}

// A real matrix as the product of one with orthonormal columns, q of rows by `inner`, and an upper triangular one, r
// of `inner` by columns, by reflections with LAPACK's signs. a is worked on in its place.
template <typename T>
EACH_SET void qr(T *a, int64_t rows, int64_t columns, int64_t inner, T *q, T *r) {
  const int64_t count = std::min(rows, columns);
  std::vector<T> taus(static_cast<size_t>(count)), sums(static_cast<size_t>(std::max(columns, inner)));
  for (int64_t k = 0; k < count; ++k) {
    T *first = a + k * columns + k;
    const double below = length_of(first + columns, rows - k - 1, columns);
    if (below == 0) continue;  // nothing to reflect
    const T beta = static_cast<T>(-std::copysign(std::hypot(static_cast<double>(*first), below), *first));
    const T rest = *first - beta;
    taus[k] = -rest / beta;
    for (int64_t i = 1; i < rows - k; ++i) first[i * columns] /= rest;
    *first = beta;
    reflect(a, columns, taus[k], k, rows, k + 1, columns, sums.data(), a);
  }
  for (int64_t i = 0; i < inner; ++i)
    for (int64_t j = 0; j < columns; ++j) r[i * columns + j] = j < i ? T{} : a[i * columns + j];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < inner; ++j) q[i * inner + j] = i == j ? T{1} : T{};
  for (int64_t k = count; k-- > 0;) reflect(a, columns, taus[k], k, rows, k, inner, sums.data(), q);
}

// x = L^-T x for rows of n numbers, L being lower triangular.
template <typename T>
EACH_SET void substitute_back(const T *lower, int64_t n, T *x) {
  for (int64_t i = n - 1; i >= 0; --i) {
    T *__restrict row = x + i * n;
    for (int64_t j = i + 1; j < n; ++j) {
      const T factor = lower[j * n + i];
      const T *known = x + j * n;
      for (int64_t c = 0; c < n; ++c) row[c] -= factor * known[c];
    }
    for (int64_t c = 0; c < n; ++c) row[c] /= lower[i * n + i];
  }
}

// The gradient by a real matrix, from its Cholesky factor and the gradient by that: the symmetric part of
// L^-T P L^-1, P being the lower half of L^T G with its diagonal halved. `work` is n by n.
template <typename T>
EACH_SET void cholesky_gradient(const T *lower, const T *grad, int64_t n, T *work, T *out) {
  std::fill(work, work + n * n, T{});
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t i = 0; i <= k; ++i) {
      T *__restrict row = work + i * n;
      const T factor = lower[k * n + i];
      for (int64_t j = 0; j <= i; ++j) row[j] += factor * grad[k * n + j];
    }
  }
  for (int64_t i = 0; i < n; ++i) work[i * n + i] /= 2;
  substitute_back(lower, n, work);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) out[i * n + j] = work[j * n + i];
  substitute_back(lower, n, out);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) out[i * n + j] = out[j * n + i] = (out[i * n + j] + out[j * n + i]) / 2;
}

}  // namespace penstock
