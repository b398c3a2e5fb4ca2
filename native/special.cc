// Special functions of arrays. What the functions promise is in special.h.

#include "special.h"

#include <algorithm>

#include "special_pairs.h"
#include "threads.h"

// Compiled once for each instruction set, of which the loader picks one; where the compiler cannot
// do that, for the one that it is told, and so under ThreadSanitizer, which is not ready yet when the
// loader picks.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_THREAD__)
#define EACH_SET __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define EACH_SET
#endif

#include "lstm.h"

namespace penstock {
namespace {

constexpr double EXACT_SUM = 1e-17, ROUGH_SUM = 1e-10;
constexpr int64_t FUNCTIONS = 30;
constexpr int64_t SHARE = 4096;  // results that a thread takes at once

struct Work {
  int64_t function, count;
  const void* const* inputs;
  const int64_t* steps;
  void* result;
};

template <typename Real>
struct Blocks {
  static constexpr bool EXACT = sizeof(Real) == 8;
  using Functions = Special<EXACT>;

  // Three arguments of a block, in double.
  struct Arguments {
    double of[3][BLOCK];
  };

  PENSTOCK_INLINE static void read(const Work& work, int argument, int64_t from, int count,
                                   double* to) {
    const Real* numbers = static_cast<const Real*>(work.inputs[argument]);
    if (work.steps[argument]) {
      for (int i = 0; i < count; ++i) to[i] = numbers[from + i];
    } else {
      for (int i = 0; i < count; ++i) to[i] = numbers[0];
    }
  }

  // The functions' numbers are their places in FUNCTIONS of native_special.py.
  PENSTOCK_INLINE static void compute(int64_t function, const Arguments& given, double* y,
                                      int count) {
    const double *a = given.of[0], *b = given.of[1], *c = given.of[2];
    const double precision = EXACT ? EXACT_SUM : ROUGH_SUM;
#define EACH(value) \
  for (int i = 0; i < count; ++i) y[i] = value
    switch (function) {
      case 0: Functions::template j<0>(a, y, count); break;
      case 1: Functions::template j<1>(a, y, count); break;
      case 2: Functions::template y<0>(a, y, count); break;
      case 3: Functions::template y<1>(a, y, count); break;
      case 4: Functions::template i<0, false>(a, y, count); break;
      case 5: Functions::template i<1, false>(a, y, count); break;
      case 6: Functions::template i<0, true>(a, y, count); break;
      case 7: Functions::template i<1, true>(a, y, count); break;
      case 8: Functions::template k<0, false>(a, y, count); break;
      case 9: Functions::template k<1, false>(a, y, count); break;
      case 10: Functions::template k<0, true>(a, y, count); break;
      case 11: Functions::template k<1, true>(a, y, count); break;
      case 12: Functions::dawson(a, y, count); break;
      case 13: Functions::template fresnel<false>(a, y, count); break;
      case 14: Functions::template fresnel<true>(a, y, count); break;
      case 15: Functions::exponential_integral(a, y, count); break;
      case 16: Functions::spence(a, y, count); break;
      case 17: Functions::erfinv(a, y, count); break;
      case 18: Functions::ndtri(a, y, count); break;
      case 19: Functions::digamma(a, y, count); break;
      case 20: EACH(log_gamma(a[i])); break;
      case 21: EACH(std::erf(a[i])); break;
      case 22: EACH(std::erfc(a[i])); break;
      case 23: EACH(zeta<EXACT>(a[i], b[i])); break;
      case 24: EACH(polygamma<EXACT>(a[i], b[i])); break;
      case 25: EACH(gamma_part(a[i], b[i], false, precision)); break;
      case 26: EACH(gamma_part(a[i], b[i], true, precision)); break;
      case 27: EACH(gamma_by_order(a[i], b[i], precision)); break;
      case 28: EACH(draw_by_order(a[i], b[i], precision)); break;
      case 29: EACH(beta_part(a[i], b[i], c[i], precision)); break;
    }
#undef EACH
  }

  PENSTOCK_INLINE static void run(const Work& work, int arguments, int64_t from, int64_t to) {
    Arguments given;
    double found[BLOCK];
    for (; from < to; from += BLOCK) {
      const int count = static_cast<int>(std::min<int64_t>(BLOCK, to - from));
      for (int k = 0; k < arguments; ++k) read(work, k, from, count, given.of[k]);
      compute(work.function, given, found, count);
      Real* result = static_cast<Real*>(work.result) + from;
      for (int i = 0; i < count; ++i) result[i] = static_cast<Real>(found[i]);
    }
  }
};

EACH_SET void run_floats(const Work& work, int arguments, int64_t from, int64_t to) {
  Blocks<float>::run(work, arguments, from, to);
}

EACH_SET void run_doubles(const Work& work, int arguments, int64_t from, int64_t to) {
  Blocks<double>::run(work, arguments, from, to);
}

}  // namespace

std::size_t special_arguments(int64_t function) {
  if (function < 0 || function >= FUNCTIONS) return 0;
  return function == 29 ? 3 : function >= 23 ? 2 : 1;
}

}  // namespace penstock

EXPORT int penstock_special_version() { return 2; }

EXPORT int64_t penstock_special_run(int64_t function, int64_t wide, int64_t threads, int64_t count,
                                    const void* const* inputs, const int64_t* steps,
                                    void* result) {
  using namespace penstock;
  if (function < 0 || function >= FUNCTIONS) return function < 0 ? FUNCTIONS : function;
  const Work work{function, count, inputs, steps, result};
  const int arguments = static_cast<int>(special_arguments(function));
  const auto run = wide ? run_doubles : run_floats;
  if (count <= 2 * SHARE || threads < 2) {
    run(work, arguments, 0, count);
    return -1;
  }
  in_parallel((count + SHARE - 1) / SHARE, threads, [&](int64_t share) {
    run(work, arguments, share * SHARE, std::min(count, (share + 1) * SHARE));
  });
  return -1;
}

EXPORT int64_t penstock_special_lstm(const int64_t* sizes, const float* options, const float* z,
                                     const float* again, const float* cs, const float* h,
                                     const float* wci, const float* wcf, const float* wco, float* out) {
  using namespace penstock;
  return with_memory([&]() -> int64_t {
    const Lstm lstm(sizes);
    std::vector<float> row(static_cast<std::size_t>(4 * lstm.units));
    lstm_run(lstm, options, z, again, cs, h, Peepholes{wci, wcf, wco}, row.data(), out);
    return -1;
  });
}

EXPORT int64_t penstock_special_lstm_back(const int64_t* sizes, const float* again, const float* cs_prev,
                                          const float* wci, const float* wcf, const float* wco,
                                          const float* i, const float* cs, const float* f,
                                          const float* o, const float* ci, const float* co,
                                          const float* more_cs, const float* more_h, float* dz,
                                          float* states) {
  using namespace penstock;
  const Lstm lstm(sizes);
  lstm_run_back(lstm, again, cs_prev, Peepholes{wci, wcf, wco},
                Saved{i, cs, f, o, ci, co, more_cs, more_h}, dz, states,
                states + lstm.batch * lstm.units);
  return -1;
}
