// LSTM cells over few steps, for special.cc: what is done to single numbers, and the products of small
// states with weights, which a call of a library for products would take longer to begin than to do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "special_elementary.h"

namespace penstock {
namespace {

constexpr double LEAST_GATE = -88.7228391;  // below, a logistic function in single precision is 0

// Types, not functions: a pointer to a function would pass vectors as the least instruction set does.
struct Logistic {
  PENSTOCK_INLINE Vector operator()(Vector x) const {
    const Vector found = 1.0 / (1.0 + exponential_between(-x));
    return choose(x < LEAST_GATE, 0.0, found);
  }
};

// The hyperbolic tangent: by its series near 0, where a difference from 1 has too few digits.
struct Tangent {
  PENSTOCK_INLINE Vector operator()(Vector x) const {
    const Vector a = magnitude(x), square = a * a;
    Vector series = square * (-17.0 / 315) + 2.0 / 15;
    series = a + a * square * (series * square - 1.0 / 3);
    const Vector power = exponential_between(2.0 * choose(a > 20.0, 20.0, a));
    return with_sign_of(choose(a < 0.05, series, 1.0 - 2.0 / (power + 1.0)), x);
  }
};

enum Gate { kInput, kForget, kOutput, kCell, kGates };

// sizes: steps, batch, units, those before the end, the columns of the gates in parts of four, whether
// gates see the state.
struct Lstm {
  int64_t steps, batch, units, length, column[kGates];
  bool sees;

  explicit Lstm(const int64_t *s)
      : steps(s[0]), batch(s[1]), units(s[2]), length(s[3]), sees(s[8] != 0) {
    for (int k = 0; k < kGates; ++k) column[k] = s[4 + k] * units;
  }
};

template <typename Function>
PENSTOCK_INLINE void each_number(float *x, int64_t count, Function function) {
  typedef float Single __attribute__((vector_size(sizeof(float) * LANES)));
  int64_t at = 0;
  for (; at + LANES <= count; at += LANES) {
    Single some;
    std::memcpy(&some, x + at, sizeof some);
    some = __builtin_convertvector(function(__builtin_convertvector(some, Vector)), Single);
    std::memcpy(x + at, &some, sizeof some);
  }
  if (at < count) {
    Vector some = {};
    const int64_t here = count - at;
    for (int64_t k = 0; k < here; ++k) some[k] = x[at + k];
    some = function(some);
    for (int64_t k = 0; k < here; ++k) x[at + k] = static_cast<float>(some[k]);
  }
}

// The product of a row of `rows` numbers with a matrix, [rows, columns], added to `to`.
PENSTOCK_INLINE void add_product(const float *row, int64_t rows, const float *matrix, int64_t columns,
                                 float *__restrict to) {
  const float *a = matrix;
  int64_t k = 0;
  for (; k + 4 <= rows; k += 4, a += 4 * columns) {  // `to` is read and written once for four rows
    const float *b = a + columns, *c = b + columns, *d = c + columns;
    const float w = row[k], x = row[k + 1], y = row[k + 2], z = row[k + 3];
    for (int64_t j = 0; j < columns; ++j) to[j] += (w * a[j] + x * b[j]) + (y * c[j] + z * d[j]);
  }
  for (; k < rows; ++k, a += columns)
    for (int64_t j = 0; j < columns; ++j) to[j] += row[k] * a[j];
}

struct Peepholes {
  const float *in, *forget, *out;
};

// One row of a step: i, cs, f, o, ci, co and h of it, `apart` floats from one another.
PENSTOCK_INLINE void lstm_row(const Lstm &s, float *z, const float *before, const Peepholes &w,
                              float bias, float clip, float *out, int64_t apart) {
  const int64_t n = s.units;
  float *i = out, *cs = out + apart, *f = cs + apart, *o = f + apart, *ci = o + apart;
  float *co = ci + apart, *h = co + apart;
  const float *zi = z + s.column[kInput], *zf = z + s.column[kForget], *zo = z + s.column[kOutput];
  for (int64_t k = 0; k < n; ++k) {
    i[k] = s.sees ? zi[k] + before[k] * w.in[k] : zi[k];
    f[k] = s.sees ? (zf[k] + bias) + before[k] * w.forget[k] : zf[k] + bias;
    ci[k] = z[s.column[kCell] + k];
  }
  each_number(i, n, Logistic());
  each_number(f, n, Logistic());
  each_number(ci, n, Tangent());
  for (int64_t k = 0; k < n; ++k) {
    float state = ci[k] * i[k] + before[k] * f[k];
    if (clip > 0) state = state < -clip ? -clip : state > clip ? clip : state;
    cs[k] = co[k] = state;
    o[k] = s.sees ? zo[k] + state * w.out[k] : zo[k];
  }
  each_number(o, n, Logistic());
  each_number(co, n, Tangent());
  for (int64_t k = 0; k < n; ++k) h[k] = co[k] * o[k];
}

EACH_SET void lstm_run(const Lstm &s, const float *options, const float *z, const float *again,
                       const float *cs, const float *h, const Peepholes &w, float *row, float *out) {
  const int64_t n = s.units, one = s.batch * n, apart = s.steps * one;
  for (int64_t step = 0; step < s.length; ++step)
    for (int64_t b = 0; b < s.batch; ++b) {
      float *to = out + step * one + b * n;
      const float *given = z + (step * s.batch + b) * 4 * n;
      const float *state = step > 0 ? to - one + apart : cs + b * n;
      std::fill_n(row, 4 * n, 0.0f);
      if (again != nullptr)
        add_product(step > 0 ? to - one + 6 * apart : h + b * n, n, again, 4 * n, row);
      for (int64_t k = 0; k < 4 * n; ++k) row[k] += given[k];
      lstm_row(s, row, state, w, options[0], options[1], to, apart);
    }
}

struct Saved {
  const float *i, *cs, *f, *o, *ci, *co, *more_cs, *more_h;
};

// The reverse of a row: the gradient of z, and in `dcs`, which has that of cs, that of the state before.
PENSTOCK_INLINE void lstm_row_back(const Lstm &s, const Saved &at, int64_t from, const float *before,
                                   const Peepholes &w, const float *dh, float *__restrict dcs,
                                   float *dz) {
  const float *i = at.i + from, *f = at.f + from, *o = at.o + from, *ci = at.ci + from;
  const float *co = at.co + from;
  // Apart from all others: the compiler does not look at so many for whether they share memory.
  float *__restrict zi = dz + s.column[kInput], *__restrict zf = dz + s.column[kForget];
  float *__restrict zo = dz + s.column[kOutput], *__restrict zc = dz + s.column[kCell];
  for (int64_t k = 0; k < s.units; ++k) {
    const float by_o = dh[k] * co[k] * o[k] * (1.0f - o[k]);
    float state = dcs[k] + dh[k] * o[k] * (1.0f - co[k] * co[k]);
    if (s.sees) state += by_o * w.out[k];
    const float by_i = state * ci[k] * i[k] * (1.0f - i[k]);
    const float by_f = state * before[k] * f[k] * (1.0f - f[k]);
    zi[k] = by_i, zf[k] = by_f, zo[k] = by_o;
    zc[k] = state * i[k] * (1.0f - ci[k] * ci[k]);
    dcs[k] = state * f[k];
    if (s.sees) dcs[k] = dcs[k] + by_i * w.in[k] + by_f * w.forget[k];
  }
}

EACH_SET void lstm_run_back(const Lstm &s, const float *again, const float *cs, const Peepholes &w,
                            const Saved &at, float *dz, float *dcs, float *dh) {
  const int64_t n = s.units, one = s.batch * n;
  for (int64_t step = s.length; step-- > 0;)
    for (int64_t b = 0; b < s.batch; ++b) {
      const int64_t from = step * one + b * n;
      float *row = dz + 4 * from, *state = dcs + b * n, *output = dh + b * n;
      for (int64_t k = 0; k < n; ++k) {
        state[k] += at.more_cs[from + k];
        output[k] += at.more_h[from + k];
      }
      lstm_row_back(s, at, from, step > 0 ? at.cs + from - one : cs + b * n, w, output, state, row);
      std::fill_n(output, n, 0.0f);
      if (again != nullptr) add_product(row, 4 * n, again, n, output);
    }
}

}  // namespace
}  // namespace penstock
