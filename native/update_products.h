// Gradients that a product gives, computed where an update wants them: a task has a block of the
// result in its nearer caches, and updates the elements that it is for. Part of isa.cc.
//
// A gradient's bits are those of `product` (gemm.h).
#pragma once

#include "gemm.h"

namespace {

using penstock::UpdateGroup;

const long GRADIENT_ELEMENTS = 1 << 14;  // of a block, about
const long LEAST_BLOCKS = 8;             // where blocks still have the rows of a tile
const long GRADIENT_WORK = 1 << 22;      // multiplications of a block, about

struct Gradient {
  const UpdateGroup* group;
  Big right;  // whose panels are packed
  long first_pack, packs;
  long first_task, tasks, rows;  // rows of a block, but the last one
};

// Panels and tasks begin where those of `before` end.
inline Gradient gradient_of(const UpdateGroup& group, float* panels, const Gradient* before) {
  const Product& p = *group.product;
  Gradient g;
  g.group = &group;
  g.right = {};
  g.right.p = &p;
  g.right.b = p.b;
  g.right.panels = panels;
  g.right.columns = p.n;
  g.right.count = up(p.n, COLUMNS);
  g.packs = up(g.right.count, PANELS_AT_ONCE);
  const long work = most(1, p.k * g.right.count * COLUMNS);
  const long most_rows = least(GRADIENT_ELEMENTS / p.n, GRADIENT_WORK / work);
  const long strip = fill_wide(most_rows) ? LEAST_STRIP : ROWS;  // of whole tiles
  const long rows = most_rows / strip * strip;
  const long shared = up(p.m, LEAST_BLOCKS);  // so that threads end together
  g.tasks = up(p.m, most(least(least(rows, shared), BLOCK_ROWS), ROWS));
  g.rows = up(p.m, g.tasks);
  g.tasks = up(p.m, g.rows);
  g.first_pack = before == nullptr ? 0 : before->first_pack + before->packs;
  g.first_task = before == nullptr ? 0 : before->first_task + before->tasks;
  return g;
}

inline long gradient_floats(const Product& p) { return up(p.n, COLUMNS) * COLUMNS * p.k; }

// Rows [first, last) of the gradient, one after the other.
void compute_rows(const Gradient& g, long first, long last, float* to) {
  Product p = *g.group->product;
  if (p.k == 0) {
    __builtin_memset(to, 0, (unsigned long)((last - first) * p.n) * sizeof(float));
    return;
  }
  p.c = to;
  p.m -= first;
  multiply(p, p.a + first * p.a_row, Panels{g.right.panels, g.right.count}, to, 0, last - first, 0,
           g.right.count, p.n);
}

}  // namespace
