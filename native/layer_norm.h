// Layer normalisation over the last axis, and its gradients, in one pass over memory each. Part of
// isa.cc.
//
// A row stays in the nearest cache while its mean, then its variance, then its results are
// computed. The gradients by gain and bias are sums over rows: of groups of rows that the shape
// alone fixes, which are then added in order.
#pragma once

#include "elementwise.h"
#include "kernels.h"
#include "tile.h"

namespace {

using penstock::LayerNorm;
using penstock::LayerNormGrad;

const long NORM_TASK = 1 << 14;    // elements of a task
const long MOST_NORM_GROUPS = 32;  // of rows, whose sums are kept apart

// body(at, count) for LANES elements at a time, then for the rest of a row.
template <typename Body>
inline void by_vectors(long width, Body body) {
  long j = 0;
  for (; j + LANES <= width; j += LANES) body(j, LANES);
  if (j < width) body(j, width - j);
}

inline Vector kept(Vector value, long count) {
  return count == LANES ? value : choose(lanes_below(count), value, Vector{});
}

void normalise_row(const LayerNorm& n, long row) {
  const float* x = n.x + row * n.width;
  float* y = n.y + row * n.width;
  const float count = (float)n.width;
  Vector sum{};
  by_vectors(n.width, [&](long j, long some) { sum += load_some(x + j, some); });
  const float mean = total(sum) / count;
  Vector squares{};
  by_vectors(n.width, [&](long j, long some) {
    const Vector apart = kept(load_some(x + j, some) - splat(mean), some);
    squares += apart * apart;
  });
  const float inverse = 1.0f / __builtin_sqrtf(total(squares) / count + n.epsilon);
  by_vectors(n.width, [&](long j, long some) {
    Vector result = (load_some(x + j, some) - splat(mean)) * splat(inverse);
    if (n.gain != nullptr) result *= load_some(n.gain + j, some);
    if (n.bias != nullptr) result += load_some(n.bias + j, some);
    store_some(y + j, result, some);
  });
  n.mean[row] = mean;
  n.inverse[row] = inverse;
}

long rows_of_a_task(long width) { return most(1, NORM_TASK / width); }

void layer_norm_task(const void* argument, long task) {
  const LayerNorm& n = *(const LayerNorm*)argument;
  const long rows = rows_of_a_task(n.width), last = least((task + 1) * rows, n.rows);
  for (long row = task * rows; row < last; ++row) normalise_row(n, row);
}

void layer_norm(const LayerNorm& n, Workers& workers) {
  if (n.width > 0) workers.run(up(n.rows, rows_of_a_task(n.width)), layer_norm_task, &n);
}

struct NormGrads {
  const LayerNormGrad& n;
  long group;   // rows of one
  float* sums;  // [groups][by gain, by bias][width]
};

// A row's gradient by x; what it adds to those by gain and bias goes to `by_gain` and `by_bias`.
void normalise_row_grad(const LayerNormGrad& n, long row, float* by_gain, float* by_bias) {
  const float *x = n.x + row * n.width, *grad = n.grad + row * n.width;
  const Vector mean = splat(n.mean[row]), inverse = splat(n.inverse[row]);
  Vector sum{}, products{}, units{};
  by_vectors(n.width, [&](long j, long some) {
    const Vector by_y = load_some(grad + j, some);
    const Vector unit = kept((load_some(x + j, some) - mean) * inverse, some);
    const Vector by_unit = n.gain != nullptr ? by_y * load_some(n.gain + j, some) : by_y;
    sum += by_unit;
    products += by_unit * unit;
    units += unit;
    store_some(by_gain + j, load_some(by_gain + j, some) + by_y * unit, some);
    store_some(by_bias + j, load_some(by_bias + j, some) + by_y, some);
  });
  const float slope = total(products) / (float)n.width;
  // The units' sum is 0 unless the program took another mean than that of x. Plain sums of what is
  // infinite in both directions are NaN: so is this one.
  const float shared = (total(sum) - slope * total(units)) / (float)n.width;
  const Vector level = splat(shared + slope * 0.0f);
  by_vectors(n.width, [&](long j, long some) {
    const Vector by_y = load_some(grad + j, some);
    const Vector unit = (load_some(x + j, some) - mean) * inverse;
    const Vector by_unit = n.gain != nullptr ? by_y * load_some(n.gain + j, some) : by_y;
    Vector result = (by_unit - level - unit * splat(slope)) * inverse;
    if (n.beside != nullptr) result += load_some(n.beside + row * n.width + j, some);
    store_some(n.by_x + row * n.width + j, result, some);
  });
}

void layer_norm_grad_task(const void* argument, long task) {
  const NormGrads& g = *(const NormGrads*)argument;
  const long width = g.n.width, last = least((task + 1) * g.group, g.n.rows);
  float* sums = g.sums + task * 2 * width;
  __builtin_memset(sums, 0, (unsigned long)(2 * width) * sizeof(float));
  for (long row = task * g.group; row < last; ++row)
    normalise_row_grad(g.n, row, sums, sums + width);
}

void layer_norm_grad(const LayerNormGrad& n, Workers& workers) {
  if (n.width == 0) return;
  const long group = most(rows_of_a_task(n.width), up(n.rows, MOST_NORM_GROUPS));
  const long groups = up(n.rows, group);
  const NormGrads g = {n, group, penstock::scratch(1, most(1, groups) * 2 * n.width)};
  workers.run(groups, layer_norm_grad_task, &g);
  by_vectors(n.width, [&](long j, long some) {
    Vector by_gain{}, by_bias{};
    for (const float* sums = g.sums + j; sums < g.sums + groups * 2 * n.width; sums += 2 * n.width) {
      by_gain += load_some(sums, some);
      by_bias += load_some(sums + n.width, some);
    }
    store_some(n.by_gain + j, by_gain, some);
    store_some(n.by_bias + j, by_bias, some);
  });
}

}  // namespace
