// Gradients that a product gives, computed where an update wants them: a task has a block of the
// result in its nearer caches, and updates the elements that it is for. Part of isa.cc.
//
// A gradient's bits are those of `product` (gemm.h).
#pragma once

#include "gemm.h"

namespace {

using penstock::UpdateGroup;

const long GRADIENT_COLUMNS = 64 * COLUMNS;  // of a block
const long GRADIENT_ELEMENTS = 1 << 13;      // of a block, about
const long GRADIENT_WORK = 1 << 20;          // multiplications of a block, about

struct Gradient {
  const UpdateGroup* group;
  Big right;  // whose panels are packed
  long first_pack, packs;
  long first_task, row_blocks, col_blocks, rows;  // rows of a block, but the last one

  long tasks() const { return row_blocks * col_blocks; }
};

inline long gradient_width(const Product& p) { return least(p.n, GRADIENT_COLUMNS); }

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
  g.col_blocks = up(p.n, GRADIENT_COLUMNS);
  const long width = gradient_width(p);
  const long rows = least(GRADIENT_ELEMENTS / width,
                          GRADIENT_WORK / most(1, p.k * up(width, COLUMNS) * COLUMNS));
  const long strips = least(most(rows / ROWS, 1), BLOCK_ROWS / ROWS);
  g.row_blocks = up(p.m, strips * ROWS);
  g.rows = up(p.m, g.row_blocks);
  g.row_blocks = up(p.m, g.rows);
  g.first_pack = before == nullptr ? 0 : before->first_pack + before->packs;
  g.first_task = before == nullptr ? 0 : before->first_task + before->tasks();
  return g;
}

inline long gradient_floats(const Product& p) { return up(p.n, COLUMNS) * COLUMNS * p.k; }

struct GradientBlock {
  long row, rows, column, columns;
};

inline GradientBlock gradient_block(const Gradient& g, long task) {
  const Product& p = *g.group->product;
  const long row = task / g.col_blocks * g.rows;
  const long column = task % g.col_blocks * GRADIENT_COLUMNS;
  return {row, least(g.rows, p.m - row), column, least(GRADIENT_COLUMNS, p.n - column)};
}

// A block of the product, its rows one after the other.
void compute_block(const Gradient& g, const GradientBlock& block, float* to) {
  const Product& p = *g.group->product;
  const Strips strips(block.rows);
  const Panels panels = {g.right.panels, g.right.count};
  const long begin = block.column / COLUMNS, end = begin + up(block.columns, COLUMNS);
  const bool copied = end - begin > 2 && (p.a_col != 1 || p.a_row % 512 == 0);
  if (p.k == 0) __builtin_memset(to, 0, (unsigned long)(block.rows * block.columns) * sizeof(float));
  for (long k = 0; k < p.k; k += DEPTH) {
    const long depth = least(DEPTH, p.k - k);
    Left left = {p.a + block.row * p.a_row + k * p.a_col, p.a_row, p.a_col, 0};
    if (copied)
      left = copied_left(penstock::scratch(0, LEFT_SIZE), left, block.rows, p.m - block.row, depth);
    for (long panel = begin; panel < end; ++panel)
      for (long s = 0; s < strips.count; ++s) {
        Tile t;
        t.a = left.data + (left.strip != 0 ? s * left.strip : strips.begin(s) * left.row);
        t.a_row = left.row;
        t.a_col = left.col;
        t.starts = NO_START;
        t.segments = 1;
        t.length = depth;
        t.b = panels.at(k, depth, panel);
        t.b_row = COLUMNS;
        t.c = to + strips.begin(s) * block.columns + (panel - begin) * COLUMNS;
        t.c_row = block.columns;
        t.columns = least(COLUMNS, p.n - panel * COLUMNS);
        t.add = k > 0;
        run_tile(strips.rows(s), t);
      }
  }
}

}  // namespace
