// Products of tridiagonal matrices and dense ones. Part of arrays.cc.
#pragma once

#include <algorithm>
#include <cstdint>

#include "arrays.h"
#include "each_set.h"
#include "threads.h"

namespace penstock {
namespace {

constexpr int64_t kTridiagonalShare = 1 << 14;  // elements that a thread takes at once

// The three diagonals of a stack of matrices, each `n` numbers for each of them, and the dense factors [n, k].
template <typename T>
struct Tridiagonal {
  const T *high, *main, *low, *dense;
  int64_t n, k;
};

// Rows [from, to) of the products, of rows of all matrices one after the other: the main diagonal's share, then
// that of the one above, then that of the one below; zero where there is none.
template <typename T>
EACH_SET void tridiagonal_rows(const Tridiagonal<T> &s, int64_t from, int64_t to, T *__restrict out) {
  const int64_t n = s.n, k = s.k;
  for (int64_t row = from; row < to; ++row) {
    const int64_t within = row % n;
    const T high = s.high[row], main = s.main[row], low = s.low[row];
    const T *here = s.dense + row * k;
    T *to_row = out + row * k;
    if (within == 0 || within == n - 1) {
      for (int64_t j = 0; j < k; ++j)
        to_row[j] = main * here[j] + (within < n - 1 ? high * here[k + j] : T(0)) +
                    (within > 0 ? low * here[j - k] : T(0));
    } else {
      for (int64_t j = 0; j < k; ++j) to_row[j] = main * here[j] + high * here[k + j] + low * here[j - k];
    }
  }
}

template <typename T>
int64_t tridiagonal_product(const void *high, const void *main, const void *low, const void *dense,
                            int64_t count, int64_t n, int64_t k, int64_t threads, void *out) {
  const auto typed = [](const void *given) { return static_cast<const T *>(given); };
  const Tridiagonal<T> given{typed(high), typed(main), typed(low), typed(dense), n, k};
  const int64_t rows = count * n, each = std::max<int64_t>(kTridiagonalShare / std::max<int64_t>(k, 1), 1);
  in_parallel((rows + each - 1) / each, threads, [&](int64_t share) {
    tridiagonal_rows(given, share * each, std::min(rows, (share + 1) * each), static_cast<T *>(out));
  });
  return -1;
}

}  // namespace
}  // namespace penstock

EXPORT int64_t penstock_arrays_tridiagonal_product(int64_t kind, const void *high, const void *main,
                                                   const void *low, const void *dense, int64_t count,
                                                   int64_t n, int64_t k, int64_t threads, void *out) {
  const auto work = kind == 0 ? penstock::tridiagonal_product<float> : penstock::tridiagonal_product<double>;
  return work(high, main, low, dense, count, n, k, threads, out);
}
