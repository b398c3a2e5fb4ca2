// Linear algebra on stacks of small matrices beside plain loops: products of what was found with what
// was given, for random sizes and every mode.
//
//   check_matrices [rounds]

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "matrices.h"

namespace {

using Random = std::mt19937_64;
using Wide = std::complex<double>;

int64_t below(Random &random, int64_t count) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
}

double number(Random &random) { return std::normal_distribution<double>()(random); }

template <typename T>
struct Drawn {
  static T one(Random &random) { return static_cast<T>(number(random)); }
};
template <typename T>
struct Drawn<std::complex<T>> {
  static std::complex<T> one(Random &random) {
    return {static_cast<T>(number(random)), static_cast<T>(number(random))};
  }
};

double conjugated(double x) { return x; }
float conjugated(float x) { return x; }
template <typename T>
std::complex<T> conjugated(std::complex<T> x) {
  return std::conj(x);
}

// How far numbers of this kind may be apart, for each term of a sum.
template <typename T>
double allowed(T) {
  return 8 * std::numeric_limits<T>::epsilon();
}
template <typename T>
double allowed(std::complex<T>) {
  return allowed(T{});
}

template <typename T>
bool check_substitute(Random &random, int64_t kind) {
  const int64_t count = 1 + below(random, 3), n = below(random, 40), k = below(random, 140);
  const bool lower = random() % 2, adjoint = random() % 2, unit = random() % 2, shared = random() % 2;
  std::vector<T> a((shared ? 1 : count) * n * n), b(count * n * k), x(count * n * k);
  for (T &each : a) each = Drawn<T>::one(random) / static_cast<T>(4 + n);
  for (int64_t i = 0; i < static_cast<int64_t>(a.size()); ++i) {
    if (i % (n * n) % (n + 1) == 0) a[i] += static_cast<T>(3);
  }
  for (T &each : b) each = Drawn<T>::one(random);
  const int64_t step = shared ? 0 : n * n;
  if (penstock_matrices_substitute(kind, a.data(), step, b.data(), n * k, count, n, k, lower, adjoint,
                                   unit, 1 + below(random, 3), x.data())) {
    return false;
  }
  for (int64_t m = 0; m < count; ++m) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t c = 0; c < k; ++c) {
        Wide sum = 0;
        double size = 1;
        for (int64_t j = 0; j < n; ++j) {
          const int64_t row = adjoint ? j : i, column = adjoint ? i : j;
          if (lower ? row < column : row > column) continue;
          Wide factor = a[m * step + row * n + column];
          if (adjoint) factor = std::conj(factor);
          if (unit && i == j) factor = 1;
          const Wide term = factor * Wide(x[(m * n + j) * k + c]);
          sum += term;
          size += std::abs(term);
        }
        if (!(std::abs(sum - Wide(b[(m * n + i) * k + c])) <= allowed(T{}) * (n + 1) * size)) return false;
      }
    }
  }
  return true;
}

template <typename T>
bool check_lu(Random &random, int64_t kind) {
  const int64_t count = 1 + below(random, 3), columns = below(random, 40);
  const int64_t rows = columns + below(random, 9);
  std::vector<T> a(count * rows * columns);
  for (T &each : a) each = Drawn<T>::one(random);
  std::vector<T> lu = a;
  std::vector<int64_t> order(count * rows);
  if (penstock_matrices_lu(kind, lu.data(), count, rows, columns, 1 + below(random, 3), order.data())) {
    return false;
  }
  for (int64_t m = 0; m < count; ++m) {
    std::vector<int64_t> seen(order.begin() + m * rows, order.begin() + (m + 1) * rows);
    std::sort(seen.begin(), seen.end());
    for (int64_t i = 0; i < rows; ++i) {
      if (seen[i] != i) return false;
      for (int64_t c = 0; c < columns; ++c) {
        Wide sum = 0;
        double size = 1;
        for (int64_t j = 0; j <= std::min(i, c); ++j) {
          const Wide left = i == j ? Wide(1) : Wide(lu[(m * rows + i) * columns + j]);
          if (std::abs(left) > 1 + allowed(T{})) return false;  // a pivot was not the largest
          const Wide term = left * Wide(lu[(m * rows + j) * columns + c]);
          sum += term;
          size += std::abs(term);
        }
        const Wide given = a[(m * rows + order[m * rows + i]) * columns + c];
        if (!(std::abs(sum - given) <= allowed(T{}) * (columns + 1) * size)) return false;
      }
    }
  }
  return true;
}

template <typename T>
bool check_tridiagonal(Random &random, int64_t kind) {
  const int64_t count = 1 + below(random, 3), n = below(random, 40), k = below(random, 6);
  const bool pivoting = random() % 2, perturb = pivoting && random() % 2;
  std::vector<T> diagonals(count * 3 * n), b(count * n * k), x(count * n * k);
  for (T &each : diagonals) each = Drawn<T>::one(random);
  for (int64_t i = 0; i < static_cast<int64_t>(diagonals.size()); ++i) {
    if (n > 0 && i / n % 3 == 1 && !pivoting) diagonals[i] += static_cast<T>(9);
  }
  for (T &each : b) each = Drawn<T>::one(random);
  if (penstock_matrices_tridiagonal(kind, diagonals.data(), b.data(), count, n, k, pivoting, perturb,
                                    1 + below(random, 3), x.data())) {
    return false;
  }
  for (int64_t m = 0; m < count; ++m) {
    const T *rows = diagonals.data() + m * 3 * n, *found = x.data() + m * n * k;
    double largest = 1;  // of the solution, whose matrix may be nearly singular
    for (int64_t i = 0; i < n * k; ++i) largest = std::max(largest, static_cast<double>(std::abs(found[i])));
    for (int64_t i = 0; i < n * k; ++i) {
      const int64_t row = i / k;
      Wide sum = Wide(rows[n + row]) * Wide(found[i]);
      if (row + 1 < n) sum += Wide(rows[row]) * Wide(found[i + k]);
      if (row > 0) sum += Wide(rows[2 * n + row]) * Wide(found[i - k]);
      if (!(std::abs(sum - Wide(b[m * n * k + i])) <= 100 * allowed(T{}) * largest)) return false;
    }
  }
  return true;
}

bool check_banded(Random &random) {
  const int64_t count = random() % 3, n = random() % 7, k = random() % 40, diagonals = 1 + random() % 5;
  std::vector<double> bands(count * n * diagonals + 1), b(count * n * k + 1), x(b.size());
  for (double &each : bands) each = 1 + static_cast<double>(random() % 5);
  for (double &each : b) each = static_cast<double>(random() % 50);
  penstock_matrices_banded(1, bands.data(), b.data(), count, n, diagonals, k, x.data());
  for (int64_t i = 0; i < count * n; ++i)
    for (int64_t c = 0; c < k; ++c) {
      double side = 0;
      for (int64_t j = 0; j < diagonals && j <= i % n; ++j)
        side += bands[i * diagonals + j] * x[(i - j) * k + c];
      if (!(std::fabs(side - b[i * k + c]) <= 1e-7 * (1 + std::fabs(side)) * 1e4)) return false;
    }
  return true;
}

// Random square matrices with a heavy diagonal; `definite` makes them self-adjoint and positive.
template <typename T>
std::vector<T> squares(Random &random, int64_t count, int64_t n, bool definite) {
  std::vector<T> a(count * n * n);
  for (T &each : a) each = Drawn<T>::one(random);
  for (int64_t i = 0; i < static_cast<int64_t>(a.size()); ++i) {
    const int64_t row = i % (n * n) / n, column = i % n;
    if (row == column) a[i] = static_cast<T>(std::abs(a[i]) + 4 * n);
    else if (definite && row < column) a[i] = T(conjugated(a[i - row * n - column + column * n + row]));
  }
  return a;
}

template <typename T>
bool check_solve(Random &random, int64_t kind) {
  const int64_t count = below(random, 3), n = below(random, 40), k = below(random, 20);
  const std::vector<T> a = squares<T>(random, count, n, false);
  std::vector<T> work = a, b(count * n * k), x(b.size());
  for (T &each : b) each = Drawn<T>::one(random);
  if (penstock_matrices_solve(kind, work.data(), b.data(), count, n, k, x.data()) != 1) return false;
  for (int64_t row = 0; row < count * n; ++row)
    for (int64_t c = 0; c < k; ++c) {
      Wide sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += Wide(a[row * n + j]) * Wide(x[(row / n * n + j) * k + c]);
      if (!(std::abs(sum - Wide(b[row * k + c])) <= 10 * allowed(T{}) * (n + 1))) return false;
    }
  std::vector<T> zeros(n * n), side(n), found(n);
  return n == 0 || penstock_matrices_solve(kind, zeros.data(), side.data(), 1, n, 1, found.data()) == 0;
}

template <typename T>
bool check_cholesky(Random &random, int64_t kind) {
  const int64_t count = below(random, 3), n = below(random, 40);
  std::vector<T> a = squares<T>(random, count, n, true), l(a.size());
  for (int64_t i = 0; i < static_cast<int64_t>(a.size()); ++i)  // the other triangle is not read
    if (i % (n * n) / n < i % n) a[i] = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
  if (penstock_matrices_cholesky(kind, a.data(), count, n, l.data()) != 1) return false;
  for (int64_t row = 0; row < count * n; ++row)
    for (int64_t j = 0; j < n; ++j) {
      const int64_t i = row % n, first = (row - i) * n;
      if (j > i && l[row * n + j] != T{}) return false;
      Wide sum = 0;
      for (int64_t k = 0; k <= j && j <= i; ++k)
        sum += Wide(l[first + i * n + k]) * std::conj(Wide(l[first + j * n + k]));
      if (j <= i && !(std::abs(sum - Wide(a[row * n + j])) <= allowed(T{}) * (n + 1) * 8 * n)) return false;
    }
  std::vector<T> wrong(4, static_cast<T>(1)), none(4);  // singular
  penstock_matrices_cholesky(kind, wrong.data(), 1, 2, none.data());
  return none[0] != none[0] && none[1] != none[1] && none[3] != none[3];
}

// A small change D of the factor changes the matrix by D L^T + L D^T, and what is measured as often by both gradients.
bool check_cholesky_gradient(Random &random) {
  const int64_t n = below(random, 20);
  const std::vector<double> a = squares<double>(random, 1, n, true);
  std::vector<double> l(n * n), grad(n * n), change(n * n), out(n * n);
  penstock_matrices_cholesky(1, a.data(), 1, n, l.data());
  for (double &each : grad) each = number(random);
  for (double &each : change) each = number(random);
  if (penstock_matrices_cholesky_gradient(1, l.data(), grad.data(), 1, n, out.data()) != 1) return false;
  double by_factor = 0, by_matrix = 0, size = 1;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      if (out[i * n + j] != out[j * n + i]) return false;
      if (j <= i) by_factor += grad[i * n + j] * change[i * n + j];
      double sum = 0;
      for (int64_t k = 0; k < n; ++k) {
        if (k <= i && k <= j) sum += change[i * n + k] * l[j * n + k] + l[i * n + k] * change[j * n + k];
      }
      by_matrix += out[i * n + j] * sum;
      size += std::fabs(out[i * n + j] * sum);
    }
  return std::fabs(by_factor - by_matrix) <= 1e-10 * size;
}

template <typename T>
bool check_qr(Random &random, int64_t kind) {
  const int64_t count = below(random, 3), rows = below(random, 20), columns = below(random, 20);
  const int64_t inner = random() % 2 ? rows : std::min(rows, columns);
  std::vector<T> a(count * rows * columns), q(count * rows * inner), r(count * inner * columns);
  for (T &each : a) each = Drawn<T>::one(random);
  if (random() % 4 == 0 && !a.empty()) std::fill(a.begin(), a.begin() + columns, T{});
  std::vector<T> work = a;
  if (penstock_matrices_qr(kind, work.data(), count, rows, columns, inner, q.data(), r.data()) != 1) return false;
  const double most = 20 * allowed(T{}) * (rows + columns + 1);
  for (int64_t m = 0; m < count; ++m) {
    const T *left = q.data() + m * rows * inner, *right = r.data() + m * inner * columns;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < inner; ++k) sum += double(left[i * inner + k]) * right[k * columns + j];
        if (!(std::fabs(sum - a[(m * rows + i) * columns + j]) <= most)) return false;
        if (i < inner && j < i && right[i * columns + j] != 0) return false;
      }
    for (int64_t i = 0; i < inner; ++i)
      for (int64_t j = 0; j < inner; ++j) {
        double sum = i == j ? -1 : 0;
        for (int64_t k = 0; k < rows; ++k) sum += double(left[k * inner + i]) * left[k * inner + j];
        if (!(std::fabs(sum) <= most)) return false;
      }
  }
  return true;
}

// Numbers near the ends of the range are left to others.
template <typename T>
bool check_qr_ends(Random &) {
  for (const T scale : {std::numeric_limits<T>::max() / 4, std::numeric_limits<T>::denorm_min(),
                        std::numeric_limits<T>::min(), std::numeric_limits<T>::infinity()}) {
    T a[] = {scale, 2, 3 * scale, 1}, q[4], r[4];
    if (penstock_matrices_qr(sizeof(T) / 8, a, 1, 2, 2, 2, q, r) != 0) return false;
  }
  return true;
}

bool check_edges(Random &) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  float a[] = {1, 2, nan, 4, 5, 6, 7, 8, 10};
  int64_t order[3];
  penstock_matrices_lu(0, a, 1, 3, 3, 1, order);
  float b[] = {1, 2, nan, 4};
  int64_t rows[2];
  penstock_matrices_lu(0, b, 1, 2, 2, 1, rows);
  const float zero[] = {0}, one[] = {1};
  float x[1];
  penstock_matrices_substitute(0, zero, 0, one, 1, 1, 1, 1, 1, 0, 0, 1, x);
  // A NaN is no pivot where a number comes before it.
  return order[0] == 2 && rows[0] == 0 && std::isinf(x[0]);
}

}  // namespace

int main(int count, char **values) {
  const long rounds = count > 1 ? std::atol(values[1]) : 60;
  Random random(17);
  struct Check {
    const char *name;
    bool (*run)(Random &);
  };
  const Check checks[] = {
      {"substitute, float", [](Random &r) { return check_substitute<float>(r, 0); }},
      {"substitute, double", [](Random &r) { return check_substitute<double>(r, 1); }},
      {"substitute, complex64", [](Random &r) { return check_substitute<std::complex<float>>(r, 2); }},
      {"substitute, complex128", [](Random &r) { return check_substitute<std::complex<double>>(r, 3); }},
      {"lu, float", [](Random &r) { return check_lu<float>(r, 0); }},
      {"lu, double", [](Random &r) { return check_lu<double>(r, 1); }},
      {"lu, complex64", [](Random &r) { return check_lu<std::complex<float>>(r, 2); }},
      {"lu, complex128", [](Random &r) { return check_lu<std::complex<double>>(r, 3); }},
      {"tridiagonal, float", [](Random &r) { return check_tridiagonal<float>(r, 0); }},
      {"tridiagonal, double", [](Random &r) { return check_tridiagonal<double>(r, 1); }},
      {"tridiagonal, complex64",
       [](Random &r) { return check_tridiagonal<std::complex<float>>(r, 2); }},
      {"tridiagonal, complex128",
       [](Random &r) { return check_tridiagonal<std::complex<double>>(r, 3); }},
      {"solve, float", [](Random &r) { return check_solve<float>(r, 0); }},
      {"solve, double", [](Random &r) { return check_solve<double>(r, 1); }},
      {"solve, complex64", [](Random &r) { return check_solve<std::complex<float>>(r, 2); }},
      {"solve, complex128", [](Random &r) { return check_solve<std::complex<double>>(r, 3); }},
      {"cholesky, float", [](Random &r) { return check_cholesky<float>(r, 0); }},
      {"cholesky, double", [](Random &r) { return check_cholesky<double>(r, 1); }},
      {"cholesky, complex64", [](Random &r) { return check_cholesky<std::complex<float>>(r, 2); }},
      {"cholesky, complex128", [](Random &r) { return check_cholesky<std::complex<double>>(r, 3); }},
      {"cholesky's gradient", check_cholesky_gradient},
      {"qr, float", [](Random &r) { return check_qr<float>(r, 0); }},
      {"qr, double", [](Random &r) { return check_qr<double>(r, 1); }},
      {"qr near the ends, float", check_qr_ends<float>},
      {"qr near the ends, double", check_qr_ends<double>},
      {"banded", check_banded},
      {"edges", check_edges},
  };
  for (const Check &check : checks) {
    for (long round = 0; round < rounds; ++round) {
      if (check.run(random)) continue;
      std::printf("%s: wrong in round %ld\n", check.name, round);
      return 1;
    }
  }
  std::printf("matrices: %ld rounds of %zu checks\n", rounds, sizeof(checks) / sizeof(checks[0]));
}
