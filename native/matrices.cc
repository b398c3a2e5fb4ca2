// Linear algebra on stacks of small matrices. What the functions promise is in matrices.h.

#include "matrices.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <type_traits>
#include <vector>

#include "each_set.h"
#include "factors.h"
#include "scalars.h"
#include "threads.h"

namespace penstock {
namespace {

constexpr int64_t kVector = 32;          // bytes
constexpr int64_t kAlone = int64_t{1} << 16;  // multiplications up to which one thread works

// ---- triangular equations

// The right-hand sides that one pass solves: `Width` columns, filled up with zeros.
template <typename T, int64_t Width>
void solve_columns(const T *a, int64_t n, bool lower, bool unit, T *__restrict columns) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = lower ? step : n - 1 - step;
    const int64_t from = lower ? 0 : i + 1, to = lower ? i : n;
    T row[Width];
    for (int64_t c = 0; c < Width; ++c) row[c] = columns[i * Width + c];
    for (int64_t j = from; j < to; ++j) {
      const T factor = a[i * n + j];
      for (int64_t c = 0; c < Width; ++c) row[c] = less_product(row[c], factor, columns[j * Width + c]);
    }
    for (int64_t c = 0; c < Width; ++c) {
      columns[i * Width + c] = unit ? row[c] : quotient(row[c], a[i * n + i]);
    }
  }
}

// The same with the row in vectors, which stay in registers.
template <typename T, int64_t Vectors>
void solve_vectors(const T *a, int64_t n, bool lower, bool unit, T *__restrict columns) {
  typedef T Vector __attribute__((vector_size(kVector), aligned(alignof(T)), may_alias));
  constexpr int64_t lanes = kVector / sizeof(T), width = Vectors * lanes;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = lower ? step : n - 1 - step;
    const int64_t from = lower ? 0 : i + 1, to = lower ? i : n;
    Vector *here = reinterpret_cast<Vector *>(columns + i * width);
    Vector row[Vectors];
#pragma GCC unroll 8
    for (int64_t v = 0; v < Vectors; ++v) row[v] = here[v];
    for (int64_t j = from; j < to; ++j) {
      const T factor = a[i * n + j];
      const Vector *there = reinterpret_cast<const Vector *>(columns + j * width);
#pragma GCC unroll 8
      for (int64_t v = 0; v < Vectors; ++v) row[v] -= factor * there[v];
    }
    const T divisor = a[i * n + i];
#pragma GCC unroll 8
    for (int64_t v = 0; v < Vectors; ++v) here[v] = unit ? row[v] : row[v] / divisor;
  }
}

template <typename T>
struct Widths {
  static constexpr int64_t most = 8;
  static int64_t of(int64_t k) { return k > 4 ? 8 : k > 1 ? 4 : 1; }
  static void solve(int64_t width, const T *a, int64_t n, bool lower, bool unit, T *columns) {
    if (width == 1) solve_columns<T, 1>(a, n, lower, unit, columns);
    else if (width == 4) solve_columns<T, 4>(a, n, lower, unit, columns);
    else solve_columns<T, 8>(a, n, lower, unit, columns);
  }
};

template <typename T>
struct VectorWidths {
  static constexpr int64_t lanes = kVector / sizeof(T), most = 8 * lanes;
  static int64_t of(int64_t k) {
    return k <= 1 ? 1 : k <= lanes ? lanes : k <= 2 * lanes ? 2 * lanes : k <= 4 * lanes ? 4 * lanes : most;
  }
  static void solve(int64_t width, const T *a, int64_t n, bool lower, bool unit, T *columns) {
    switch (width / lanes) {
      case 0: return solve_columns<T, 1>(a, n, lower, unit, columns);
      case 1: return solve_vectors<T, 1>(a, n, lower, unit, columns);
      case 2: return solve_vectors<T, 2>(a, n, lower, unit, columns);
      case 4: return solve_vectors<T, 4>(a, n, lower, unit, columns);
      default: return solve_vectors<T, 8>(a, n, lower, unit, columns);
    }
  }
};

template <>
struct Widths<float> : VectorWidths<float> {};
template <>
struct Widths<double> : VectorWidths<double> {};

struct Equations {
  const void *a, *b;
  void *x;
  int64_t a_step, b_step, n, k;
  bool lower, adjoint, unit;
};

template <typename T>
void turn(const T *a, int64_t n, T *turned) {
  constexpr int64_t side = 16;  // so that rows read and rows written stay in the nearest cache
  for (int64_t i0 = 0; i0 < n; i0 += side) {
    for (int64_t j0 = 0; j0 < n; j0 += side) {
      for (int64_t i = i0; i < std::min(n, i0 + side); ++i) {
        for (int64_t j = j0; j < std::min(n, j0 + side); ++j) turned[i * n + j] = conjugate(a[j * n + i]);
      }
    }
  }
}

// Solves some columns of one matrix's equations.
template <typename T>
EACH_SET void solve_share(const Equations &of, int64_t matrix, int64_t from, int64_t to) {
  const int64_t n = of.n, k = of.k, width = Widths<T>::of(to - from);
  const T *a = static_cast<const T *>(of.a) + matrix * of.a_step;
  const T *b = static_cast<const T *>(of.b) + matrix * of.b_step;
  T *x = static_cast<T *>(of.x) + matrix * n * k;
  std::vector<T> turned(of.adjoint ? static_cast<size_t>(n * n) : 0);
  std::vector<T> columns(static_cast<size_t>(n * width));
  if (of.adjoint) turn(a, n, turned.data());
  for (int64_t i = 0; i < n; ++i) std::copy(b + i * k + from, b + i * k + to, &columns[i * width]);
  Widths<T>::solve(width, of.adjoint ? turned.data() : a, n, of.lower != of.adjoint, of.unit,
                   columns.data());
  for (int64_t i = 0; i < n; ++i) {
    std::copy(&columns[i * width], &columns[i * width] + (to - from), x + i * k + from);
  }
}

// in_parallel_with_memory, of this library: 0 where all is done.
template <typename Take>
int64_t shared_out(int64_t shares, int64_t threads, Take take) {
  return in_parallel_with_memory(shares, threads, take) == kNoMemory ? kNoMemory : 0;
}

template <typename T>
int64_t substitute(const Equations &of, int64_t count, int64_t threads) {
  if (count * of.n * of.k == 0) return 0;
  const int64_t most = Widths<T>::most, blocks = (of.k + most - 1) / most;
  const int64_t used = count * of.n * of.n * of.k > kAlone ? threads : 1;
  return shared_out(count * blocks, used, [&](int64_t share) {
    const int64_t from = share % blocks * most;
    solve_share<T>(of, share / blocks, from, std::min(of.k, from + most));
  });
}

// ---- LU

template <typename T>
int64_t decompose_all(void *a, int64_t count, int64_t rows, int64_t columns, int64_t threads,
                      int64_t *order) {
  const int64_t used = count * rows * columns * columns > 2 * kAlone ? threads : 1;
  return shared_out(count, used, [&](int64_t matrix) {
    decompose(static_cast<T *>(a) + matrix * rows * columns, rows, columns, order + matrix * rows);
  });
}

// ---- tridiagonal equations

// A row that the elimination has reached: its pivot and the two elements to its right.
template <typename T>
struct Reached {
  T pivot, right, second;
};

// How large the elements of a row are, and which share of that a pivot has.
template <typename T>
typename Numbers<T>::Real scale_of(const Reached<T> &row) {
  return size_of(row.pivot) + size_of(row.right) + size_of(row.second);
}
template <typename T>
typename Numbers<T>::Real share(T pivot, typename Numbers<T>::Real scale) {
  return is_zero(pivot) ? 0 : size_of(pivot) / scale;
}

struct Tridiagonal {
  const void *diagonals, *b;
  void *x;
  int64_t n, k;
  bool pivoting, perturb;
};

// The first step by which a pivot is raised: the precision of the largest element (a NaN is the largest),
// or the least normal number. As in TensorFlow, that is the largest of the first row as given and of the
// triangular matrix without its last row but one.
template <typename T>
typename Numbers<T>::Real raising(T main, T high, const std::vector<Reached<T>> &rows) {
  using Real = typename Numbers<T>::Real;
  Real largest = 0;
  const auto see = [&](T element) {
    const Real size = size_of(element);
    if (size > largest || size != size) largest = size;
  };
  see(main);
  see(high);
  see(rows.back().pivot);
  for (size_t i = 0; i + 2 < rows.size(); ++i) {
    for (const T element : {rows[i].pivot, rows[i].right, rows[i].second}) see(element);
  }
  const Real step = std::numeric_limits<Real>::epsilon() * largest, least = std::numeric_limits<Real>::min();
  return step < least ? least : step;
}

// The pivot, raised away from zero until quotients of `k` values by it are finite, in steps that double.
template <typename T>
T raised(T pivot, typename Numbers<T>::Real step, const T *values, int64_t k) {
  using Real = typename Numbers<T>::Real;
  constexpr Real least = std::numeric_limits<Real>::min();
  step = std::copysign(step, Numbers<T>::real(pivot));
  for (int64_t c = 0; c < k;) {
    const Real size = size_of(pivot);
    if (size < least || (size < 1 && size_of(values[c]) > size / least)) {
      pivot = Numbers<T>::plus(pivot, step);
      step *= 2;
    } else {
      ++c;
    }
  }
  return pivot;
}

template <typename T>
void solve_tridiagonal(const Tridiagonal &of, int64_t matrix) {
  const int64_t n = of.n, k = of.k;
  const T *high = static_cast<const T *>(of.diagonals) + matrix * 3 * n, *main = high + n, *low = main + n;
  const T *b = static_cast<const T *>(of.b) + matrix * n * k;
  T *x = static_cast<T *>(of.x) + matrix * n * k;
  std::copy(b, b + n * k, x);
  const T zero{};
  std::vector<Reached<T>> rows(static_cast<size_t>(n));
  Reached<T> top = {main[0], n > 1 ? high[0] : zero, zero};
  auto scale = scale_of(top);  // of the equation that the elimination has reached
  for (int64_t i = 0; i + 1 < n; ++i) {
    T *above = x + i * k, *below = above + k;
    Reached<T> rest = {low[i + 1], main[i + 1], i + 2 < n ? high[i + 1] : zero};
    // With perturbation, pivots count in relation to their rows, as in LAPACK.
    const auto next = scale_of(rest);
    const bool larger = of.perturb ? share(rest.pivot, next) > share(top.pivot, scale)
                                   : size_of(rest.pivot) > size_of(top.pivot);
    if (of.pivoting && larger) {
      std::swap(top, rest);
      std::swap_ranges(above, below, below);
    } else {
      scale = next;
    }
    const bool done = is_zero(top.pivot) || (of.perturb && is_zero(rest.pivot));
    const T factor = done ? zero : quotient(rest.pivot, top.pivot);
    rows[i] = top;
    top = {less_product(rest.right, factor, top.right), less_product(rest.second, factor, top.second), zero};
    for (int64_t c = 0; c < k; ++c) below[c] = less_product(below[c], factor, above[c]);
  }
  rows[n - 1] = top;
  const bool singular = std::any_of(rows.begin(), rows.end(), [](const Reached<T> &r) { return is_zero(r.pivot); });
  if (singular && !of.perturb) {
    std::fill(x, x + n * k, not_a_number(zero));
    return;
  }
  const auto step = of.perturb ? raising(main[0], n > 1 ? high[0] : zero, rows) : 0;
  for (int64_t i = n - 1; i >= 0; --i) {
    for (int64_t c = 0; c < k; ++c) {
      T value = x[i * k + c];
      if (i + 1 < n) value = less_product(value, rows[i].right, x[(i + 1) * k + c]);
      if (i + 2 < n) value = less_product(value, rows[i].second, x[(i + 2) * k + c]);
      x[i * k + c] = value;
    }
    const T pivot = of.perturb ? raised(rows[i].pivot, step, x + i * k, k) : rows[i].pivot;
    for (int64_t c = 0; c < k; ++c) x[i * k + c] = quotient(x[i * k + c], pivot);
  }
}

template <typename T>
int64_t solve_all(const Tridiagonal &of, int64_t count, int64_t threads) {
  if (count * of.n * of.k == 0) return 0;
  const int64_t used = count * of.n * of.k > kAlone ? threads : 1;
  return shared_out(count, used, [&](int64_t matrix) { solve_tridiagonal<T>(of, matrix); });
}

// ---- equations of which some diagonals are given

// `bands`: [n][diagonals], the main one and those to its left. One row after the other.
template <typename T>
EACH_SET void solve_bands(const T *bands, const T *b, int64_t n, int64_t diagonals, int64_t k, T *x) {
  for (int64_t i = 0; i < n; ++i, bands += diagonals, b += k) {
    T *__restrict row = x + i * k;
    std::memcpy(row, b, static_cast<size_t>(k) * sizeof(T));
    for (int64_t j = 1; j < diagonals && j <= i; ++j) {
      const T *known = row - j * k;
      for (int64_t c = 0; c < k; ++c) row[c] -= bands[j] * known[c];
    }
    for (int64_t c = 0; c < k; ++c) row[c] /= bands[0];
  }
}

// 1 or 0 as `run` says, or -3 where memory runs out.
template <typename Run>
int64_t guarded(Run run) {
  try {
    return run() ? 1 : 0;
  } catch (const std::bad_alloc &) {
    return kNoMemory;
  }
}

// The same for `run(element)`, with an element of this kind.
template <typename Run>
int64_t of_kind(int64_t kind, Run run) {
  switch (kind) {
    case 0: return guarded([&] { return run(float{}); });
    case 1: return guarded([&] { return run(double{}); });
    case 2: return guarded([&] { return run(Complex<float>{}); });
    default: return guarded([&] { return run(Complex<double>{}); });
  }
}

}  // namespace
}  // namespace penstock

int penstock_matrices_version() { return 5; }

int64_t penstock_matrices_substitute(int64_t kind, const void *a, int64_t a_step, const void *b,
                                     int64_t b_step, int64_t count, int64_t n, int64_t k, int64_t lower,
                                     int64_t adjoint, int64_t unit, int64_t threads, void *x) {
  using namespace penstock;
  const Equations of{a, b, x, a_step, b_step, n, k, lower != 0, adjoint != 0, unit != 0};
  switch (kind) {
    case 0: return substitute<float>(of, count, threads);
    case 1: return substitute<double>(of, count, threads);
    case 2: return substitute<Complex<float>>(of, count, threads);
    default: return substitute<Complex<double>>(of, count, threads);
  }
}

int64_t penstock_matrices_lu(int64_t kind, void *a, int64_t count, int64_t rows, int64_t columns,
                             int64_t threads, int64_t *order) {
  using namespace penstock;
  switch (kind) {
    case 0: return decompose_all<float>(a, count, rows, columns, threads, order);
    case 1: return decompose_all<double>(a, count, rows, columns, threads, order);
    case 2: return decompose_all<Complex<float>>(a, count, rows, columns, threads, order);
    default: return decompose_all<Complex<double>>(a, count, rows, columns, threads, order);
  }
}

int64_t penstock_matrices_tridiagonal(int64_t kind, const void *diagonals, const void *b, int64_t count,
                                      int64_t n, int64_t k, int64_t pivoting, int64_t perturb,
                                      int64_t threads, void *x) {
  using namespace penstock;
  const Tridiagonal of{diagonals, b, x, n, k, pivoting != 0, perturb != 0};
  switch (kind) {
    case 0: return solve_all<float>(of, count, threads);
    case 1: return solve_all<double>(of, count, threads);
    case 2: return solve_all<Complex<float>>(of, count, threads);
    default: return solve_all<Complex<double>>(of, count, threads);
  }
}

EXPORT int64_t penstock_matrices_banded(int64_t kind, const void *bands, const void *b, int64_t count,
                                        int64_t n, int64_t diagonals, int64_t k, void *out) {
  const auto run = [=](auto *x) -> int64_t {
    using Element = std::remove_pointer_t<decltype(x)>;
    const auto *of = static_cast<const Element *>(bands), *sides = static_cast<const Element *>(b);
    for (int64_t i = 0; i < count; ++i)
      penstock::solve_bands(of + i * n * diagonals, sides + i * n * k, n, diagonals, k, x + i * n * k);
    return 0;
  };
  return kind == 0 ? run(static_cast<float *>(out)) : run(static_cast<double *>(out));
}

int64_t penstock_matrices_solve(int64_t kind, void *a, const void *b, int64_t count, int64_t n, int64_t k,
                                void *x) {
  return penstock::of_kind(kind, [=](auto element) {
    using T = decltype(element);
    T *matrices = static_cast<T *>(a), *found = static_cast<T *>(x);
    const T *sides = static_cast<const T *>(b);
    for (int64_t i = 0; i < count; ++i)
      if (!penstock::solve_by_rows(matrices + i * n * n, n, k, sides + i * n * k, found + i * n * k)) return false;
    return true;
  });
}

int64_t penstock_matrices_cholesky(int64_t kind, const void *a, int64_t count, int64_t n, void *out) {
  return penstock::of_kind(kind, [=](auto element) {
    using T = decltype(element);
    std::vector<T> upper(static_cast<size_t>(n * n));
    const T *matrices = static_cast<const T *>(a);
    for (int64_t i = 0; i < count; ++i)
      penstock::cholesky(matrices + i * n * n, n, upper.data(), static_cast<T *>(out) + i * n * n);
    return true;
  });
}

int64_t penstock_matrices_cholesky_gradient(int64_t kind, const void *l, const void *grad, int64_t count,
                                            int64_t n, void *out) {
  const auto run = [=](auto *found) {
    using T = std::remove_pointer_t<decltype(found)>;
    std::vector<T> work(static_cast<size_t>(n * n));
    const T *lower = static_cast<const T *>(l), *grads = static_cast<const T *>(grad);
    for (int64_t i = 0; i < count; ++i)
      penstock::cholesky_gradient(lower + i * n * n, grads + i * n * n, n, work.data(), found + i * n * n);
    return true;
  };
  return penstock::guarded([=] { return kind == 0 ? run(static_cast<float *>(out)) : run(static_cast<double *>(out)); });
}

int64_t penstock_matrices_qr(int64_t kind, void *a, int64_t count, int64_t rows, int64_t columns,
                             int64_t inner, void *q, void *r) {
  const auto run = [=](auto *matrices) {
    using T = std::remove_pointer_t<decltype(matrices)>;
    if (!penstock::is_moderate(matrices, count * rows * columns)) return false;
    for (int64_t i = 0; i < count; ++i)
      penstock::qr(matrices + i * rows * columns, rows, columns, inner, static_cast<T *>(q) + i * rows * inner,
                   static_cast<T *>(r) + i * inner * columns);
    return true;
  };
  return penstock::guarded([=] { return kind == 0 ? run(static_cast<float *>(a)) : run(static_cast<double *>(a)); });
}
