// Products of matrices, one or a batch of them. Part of isa.cc.
#pragma once

#include "kernels.h"
#include "shuffled.h"
#include "tile.h"

namespace {

using penstock::Product;
using penstock::Workers;

// k's that a packed panel holds, at most: 32 KB. It is asked for ahead of its use, so it may lie in
// the second cache; the fewer depths there are, the fewer times are sums loaded and stored.
const long DEPTH = COLUMNS < 32 ? 512 : 256;
const long BLOCK_ROWS = 10 * ROWS;
// A product whose panels are not shared: of few rows, or of more where there are panels for all threads
// and a piece of the left side stays in the second cache, or nearly so, while it is read for each panel.
const long LOW_ROWS = 5 * ROWS, FLAT_ROWS = 280;
const long FLAT_LEFT = 1 << 17;      // floats of one piece
const long FLAT_WORK = 1 << 18;      // multiplications that are worth a task
const long PANEL_BYTES = 8l << 20;  // of b packed at a time
const long LEFT_BYTES = 8l << 20;   // of a packed for all tasks

inline void copy(float* to, const float* from, long count) {
  __builtin_memcpy(to, from, (unsigned long)count * sizeof(float));
}

typedef float Four __attribute__((vector_size(16)));
typedef float FourUnaligned __attribute__((vector_size(16), aligned(4), may_alias));

typedef int FourInts __attribute__((vector_size(16)));

// to[j * to_row + i] = from[i * from_row + j] for 4 x 4 elements
inline void transpose4(float* to, long to_row, const float* from, long from_row) {
  const Four a = *(const FourUnaligned*)from, b = *(const FourUnaligned*)(from + from_row);
  const Four c = *(const FourUnaligned*)(from + 2 * from_row);
  const Four d = *(const FourUnaligned*)(from + 3 * from_row);
  const Four ab = PENSTOCK_SHUFFLED(FourInts, a, b, 0, 4, 1, 5);
  const Four cd = PENSTOCK_SHUFFLED(FourInts, c, d, 0, 4, 1, 5);
  const Four ab2 = PENSTOCK_SHUFFLED(FourInts, a, b, 2, 6, 3, 7);
  const Four cd2 = PENSTOCK_SHUFFLED(FourInts, c, d, 2, 6, 3, 7);
  *(FourUnaligned*)to = PENSTOCK_SHUFFLED(FourInts, ab, cd, 0, 1, 4, 5);
  *(FourUnaligned*)(to + to_row) = PENSTOCK_SHUFFLED(FourInts, ab, cd, 2, 3, 6, 7);
  *(FourUnaligned*)(to + 2 * to_row) = PENSTOCK_SHUFFLED(FourInts, ab2, cd2, 0, 1, 4, 5);
  *(FourUnaligned*)(to + 3 * to_row) = PENSTOCK_SHUFFLED(FourInts, ab2, cd2, 2, 3, 6, 7);
}

// A panel of b: `depth` rows of COLUMNS floats, with zeros right of the last column.
void pack_panel(float* to, const float* b, long b_row, long b_col, long depth, long columns) {
  if (b_col == 1) {
    for (long k = 0; k < depth; ++k, to += COLUMNS, b += b_row) {
      if (columns == COLUMNS) {
        store(to, load(b));
        store(to + LANES, load(b + LANES));
        continue;
      }
      for (long j = 0; j < columns; ++j) to[j] = b[j];
      for (long j = columns; j < COLUMNS; ++j) to[j] = 0;
    }
    return;
  }
  long j = 0;
  for (; j + 4 <= columns; j += 4) {
    long k = 0;
    for (; k + 4 <= depth; k += 4)
      transpose4(to + k * COLUMNS + j, COLUMNS, b + j * b_col + k, b_col);
    for (; k < depth; ++k)
      for (long i = j; i < j + 4; ++i) to[k * COLUMNS + i] = b[i * b_col + k];
  }
  for (; j < COLUMNS; ++j)
    for (long k = 0; k < depth; ++k) to[k * COLUMNS + j] = j < columns ? b[j * b_col + k * b_row] : 0;
}

// The sums are made in pieces of so many k's, which k alone fixes; the last one may be shorter.
inline long piece_of(long k) { return up(up(k, up(k, DEPTH)), 16) * 16; }

struct Panels {  // b, or some columns of it, in panels: [k block][panel][depth][COLUMNS]
  const float* data;
  long count;
  const float* at(long k, long depth, long panel) const {
    return data + (k * count + panel * depth) * COLUMNS;
  }
};

// A result's finish, from a column on and from an element on.
inline Ending ending(const penstock::Finish& finish, long column, long element) {
  Ending e;
  if (finish.bias != nullptr) e.bias = finish.bias + column;
  if (finish.beside != nullptr) e.beside = finish.beside + element;
  if (finish.gate != nullptr) e.gate = finish.gate + element;
  e.activation = finish.activation;
  return e;
}

// A block of a: element (i, k) of strip s lies at s * strip + i * row + k * col, or where the rows
// follow on from strip to strip, for which `strip` is 0.
struct Left {
  const float* data;
  long row, col, strip;
  const float* at(const Strips& strips, long s) const {
    return data + (strip != 0 ? s * strip : strips.begin(s) * row);
  }
};

// A tile of products with a packed panel: what all of a block's tiles share.
inline Tile tile_of(const Left& left, long depth, long c_row, bool add) {
  Tile t;
  t.a_row = left.row;
  t.a_col = left.col;
  t.starts = NO_START;
  t.segments = 1;
  t.length = depth;
  t.b_row = COLUMNS;
  t.b_next = depth * COLUMNS;
  t.c_row = c_row;
  t.add = add;
  return t;
}

// Rows of a that are a multiple of 2 KB apart share few sets of the cache, and its columns lie on a
// page each: those are copied side by side where they are read often.
inline bool is_scattered(const Product& p) { return p.a_col != 1 || p.a_row % 512 == 0; }

const long STRIP_ROW = (ROWS + LANES - 1) / LANES * LANES;
const long LEFT_STRIPS = (BLOCK_ROWS + LEAST_STRIP - 1) / LEAST_STRIP;
const long LEFT_SIZE = BLOCK_ROWS * (DEPTH + 48) + LEFT_STRIPS * STRIP_ROW * DEPTH;

const long COLUMNS_AT_ONCE = 16;  // of a, whose lines are at hand for each strip

// `count` columns of a, `col` apart, as [strip][k][STRIP_ROW], the strips `next` floats apart.
// `there`: rows that may be read.
void copy_columns(float* to, long next, const float* from, long col, const Strips& strips,
                  long there, long count) {
  for (long first = 0; first < count; first += COLUMNS_AT_ONCE)
    for (long s = 0; s < strips.count; ++s) {
      const long end = least(first + COLUMNS_AT_ONCE, count);
      const float* at = from + first * col + strips.begin(s);
      float* out = to + s * next + first * STRIP_ROW;
      const bool whole = strips.begin(s) + STRIP_ROW <= there;
      for (long k = first; k < end; ++k, at += col, out += STRIP_ROW) {
        if (whole)
          for (long i = 0; i < STRIP_ROW; i += LANES) store(out + i, load(at + i));
        else
          copy(out, at, strips.rows(s));
      }
    }
}

// From a copied row to the next: no two that follow each other share a set of the first cache.
inline long row_of(long depth) {
  const long row = up(depth, 16) * 16 + 16;
  return row % WAY == 0 ? row + 16 : row;
}

// A block of `height` rows of a side by side; columns of a as [strip][k][STRIP_ROW]. `there`: rows
// from the first one on that may be read.
Left copied_left(float* to, Left a, long height, long there, long depth) {
  if (a.col == 1) {
    const long row = row_of(depth);
    for (long i = 0; i < height; ++i) copy(to + i * row, a.data + i * a.row, depth);
    return {to, row, 1, 0};
  }
  copy_columns(to, depth * STRIP_ROW, a.data, a.col, strips_of(height), there, depth);
  return {to, 1, STRIP_ROW, depth * STRIP_ROW};
}

// Rows [first, last) of the result and the columns of panels [begin, end). `packed`: these rows of
// a, which are one block then, as columns side by side for one depth after the other; or none.
void multiply(const Product& p, const float* a, Panels b, float* c, long first, long last,
              long begin, long end, long columns, const float* packed = nullptr) {
  const bool copied = packed == nullptr && end - begin > 2 && is_scattered(p);
  for (long row = first; row < last; row += BLOCK_ROWS) {
    const long height = least(BLOCK_ROWS, last - row);
    const Strips strips = strips_of(height);
    for (long k = 0, piece = piece_of(p.k); k < p.k; k += piece) {
      const long depth = least(piece, p.k - k);
      Left left = {a + row * p.a_row + k * p.a_col, p.a_row, p.a_col, 0};
      if (copied)
        left = copied_left(penstock::scratch(0, LEFT_SIZE), left, height, p.m - row, depth);
      if (packed != nullptr)
        left = {packed + k * strips.count * STRIP_ROW, 1, STRIP_ROW, depth * STRIP_ROW};
      Tile t = tile_of(left, depth, p.n, k > 0);
      for (long panel = begin, panels; panel < end; panel += panels) {
        panels = least(panels_for(height, columns - panel * COLUMNS), end - panel);
        t.b = b.at(k, depth, panel);
        t.columns = least(panels * COLUMNS, columns - panel * COLUMNS);
        for (long s = 0; s < strips.count; ++s) {
          t.a = left.at(strips, s);
          t.c = c + (row + strips.begin(s)) * p.n + panel * COLUMNS;
          if (k + depth == p.k) t.end = ending(p.finish, panel * COLUMNS + (c - p.c), t.c - p.c);
          run_rows(strips.rows(s), t);
        }
      }
    }
  }
}

void pack_panels(float* to, const Product& p, const float* b, long count, long columns, long panel) {
  for (long k = 0, piece = piece_of(p.k); k < p.k; k += piece) {
    const long depth = least(piece, p.k - k);
    pack_panel(to + (k * count + panel * depth) * COLUMNS,
               b + k * p.b_row + panel * COLUMNS * p.b_col, p.b_row, p.b_col, depth,
               least(COLUMNS, columns - panel * COLUMNS));
  }
}

// One big product: b is packed by all threads, then blocks of the result are shared out. So is a
// where its columns follow each other and several tasks take each block of its rows.
struct Big {
  const Product* p;
  const float *a, *b;
  float* c;
  float* panels;
  float* left;      // or none
  long left_block;  // floats of a block of rows
  long count, columns;               // panels, and columns of the result in them
  long row_blocks, rows, col_blocks, width;  // width in panels
};

const long PANELS_AT_ONCE = 4, ROWS_AT_ONCE = 16;  // packed while their rows of b are at hand

void pack_task(const void* argument, long task) {
  const Big& big = *(const Big*)argument;
  const Product& p = *big.p;
  const long first = task * PANELS_AT_ONCE, last = least(first + PANELS_AT_ONCE, big.count);
  for (long k = 0, piece = piece_of(p.k); k < p.k; k += piece) {
    const long depth = least(piece, p.k - k), step = p.b_col == 1 ? ROWS_AT_ONCE : depth;
    for (long i = 0; i < depth; i += step)
      for (long panel = first; panel < last; ++panel)
        pack_panel(big.panels + (k * big.count + panel * depth + i) * COLUMNS,
                   big.b + (k + i) * p.b_row + panel * COLUMNS * p.b_col, p.b_row, p.b_col,
                   least(step, depth - i), least(COLUMNS, big.columns - panel * COLUMNS));
  }
}

// A block of rows of a.
void pack_left_task(const Big& big, long block) {
  const Product& p = *big.p;
  const long row = block * big.rows, height = least(big.rows, p.m - row);
  float* to = big.left + block * big.left_block;
  for (long k = 0, piece = piece_of(p.k); k < p.k; k += piece) {
    const long depth = least(piece, p.k - k);
    copied_left(to, {big.a + row + k * p.a_col, 1, p.a_col, 0}, height, p.m - row, depth);
    to += strips_of(height).count * STRIP_ROW * depth;
  }
}

void pack_both_task(const void* argument, long task) {
  const Big& big = *(const Big*)argument;
  const long first = up(big.count, PANELS_AT_ONCE);
  task < first ? pack_task(argument, task) : pack_left_task(big, task - first);
}

void multiply_task(const void* argument, long task) {
  const Big& big = *(const Big*)argument;
  const long block = task / big.col_blocks, row = block * big.rows;
  const long col = task % big.col_blocks * big.width;
  const float* left = big.left == nullptr ? nullptr : big.left + block * big.left_block;
  multiply(*big.p, big.a, Panels{big.panels, big.count}, big.c, row, least(row + big.rows, big.p->m),
           col, least(col + big.width, big.count), big.columns, left);
}

void divide(Big& big, Workers& workers) {
  const Product& p = *big.p;
  // Tasks of many rows: each goes through all of its columns of b.
  const long wanted = 4 * workers.threads();
  const long rows = up(p.m, up(wanted, up(big.count, 2)));  // enough tasks with two panels each
  big.row_blocks = up(p.m, least(BLOCK_ROWS, most(2 * ROWS, rows)));
  // Blocks of equal size, as many for each thread: else threads wait for those with one more.
  const long each = up(big.row_blocks, workers.threads());
  if (each > 1) big.row_blocks = each * workers.threads();
  big.rows = up(p.m, big.row_blocks);
  big.row_blocks = up(p.m, big.rows);
  big.width = most(2, up(big.count, up(wanted, big.row_blocks)));
  big.col_blocks = up(big.count, big.width);
  big.left_block = strips_of(big.rows).count * STRIP_ROW * p.k;
  const bool shared = p.a_col != 1 && big.col_blocks > 1;
  const long floats = big.row_blocks * big.left_block;
  big.left = shared && floats * 4 <= LEFT_BYTES ? penstock::scratch(2, floats) : nullptr;
}

void big_product(const Product& p, long entry, Workers& workers) {
  const long most_columns =
      most(COLUMNS, PANEL_BYTES / 4 / most(p.k, 1) / COLUMNS * COLUMNS);
  for (long col = 0; col < p.n; col += most_columns) {
    Big big;
    big.p = &p;
    big.a = p.a + p.a_start[entry];
    big.b = p.b + p.b_start[entry] + col * p.b_col;
    big.c = p.c + entry * p.m * p.n + col;
    big.columns = least(most_columns, p.n - col);
    big.count = up(big.columns, COLUMNS);
    big.panels = penstock::scratch(1, big.count * COLUMNS * p.k);
    divide(big, workers);
    const long lefts = big.left == nullptr ? 0 : big.row_blocks;
    workers.run(up(big.count, PANELS_AT_ONCE) + lefts, pack_both_task, &big);
    workers.run(big.row_blocks * big.col_blocks, multiply_task, &big);
  }
}

// Each panel of b serves one task, which packs it piece by piece into a place of its own, where it stays
// in the nearer caches, and goes through all rows.
struct Flat {
  const Product* p;
  const float *a, *b;
  float* c;
  float* left;        // all of a side by side, or none where it is read in place
  long count, width;  // panels, and how many of them a task takes
};

// Where a piece of a lies that begins with column k: rows side by side, or columns as
// [piece][strip][k][STRIP_ROW].
Left left_at(const Flat& f, long k, long depth) {
  const Product& p = *f.p;
  if (f.left == nullptr) return {f.a + k * p.a_col, p.a_row, p.a_col, 0};
  if (p.a_col == 1) return {f.left + k, row_of(p.k), 1, 0};
  return {f.left + k * strips_of(p.m).count * STRIP_ROW, 1, STRIP_ROW, depth * STRIP_ROW};
}

const long COPIED_ROWS = 16, COPIED_COLUMNS = 64;  // of a task

void copy_rows_task(const void* argument, long task) {
  const Flat& f = *(const Flat*)argument;
  const long row = row_of(f.p->k), last = least((task + 1) * COPIED_ROWS, f.p->m);
  for (long i = task * COPIED_ROWS; i < last; ++i)
    copy(f.left + i * row, f.a + i * f.p->a_row, f.p->k);
}

void copy_columns_task(const void* argument, long task) {
  const Flat& f = *(const Flat*)argument;
  const Product& p = *f.p;
  const Strips strips = strips_of(p.m);
  const long piece = piece_of(p.k), last = least((task + 1) * COPIED_COLUMNS, p.k);
  for (long k = task * COPIED_COLUMNS, count; k < last; k += count) {
    const long start = k / piece * piece, depth = least(piece, p.k - start);
    count = least(last, start + depth) - k;
    float* to = f.left + (start * strips.count + k - start) * STRIP_ROW;
    copy_columns(to, depth * STRIP_ROW, f.a + k * p.a_col, p.a_col, strips, p.m, count);
  }
}

long copied_floats(const Product& p) {
  return p.a_col == 1 ? p.m * row_of(p.k) : strips_of(p.m).count * STRIP_ROW * p.k;
}

bool can_be_copied(const Product& p) { return copied_floats(p) * 4 <= LEFT_BYTES; }

void copy_left(Flat& f, Workers& workers) {
  const Product& p = *f.p;
  f.left = penstock::scratch(2, copied_floats(p));
  if (p.a_col == 1)
    workers.run(up(p.m, COPIED_ROWS), copy_rows_task, &f);
  else
    workers.run(up(p.k, COPIED_COLUMNS), copy_columns_task, &f);
}

// One piece of the sums for a task's panels [begin, end).
void flat_piece(const Flat& f, long k, long depth, long begin, long end) {
  const Product& p = *f.p;
  const Strips strips = strips_of(p.m);
  const Left left = left_at(f, k, depth);
  float* right = penstock::scratch(0, PANELS * DEPTH * COLUMNS);
  Tile t = tile_of(left, depth, p.n, k > 0);
  t.b = right;
  for (long panel = begin, panels; panel < end; panel += panels) {
    const long columns = p.n - panel * COLUMNS;
    panels = least(panels_for(p.m, columns), end - panel);
    t.columns = least(panels * COLUMNS, columns);
    for (long i = 0; i < panels; ++i)
      pack_panel(right + i * t.b_next, f.b + k * p.b_row + (panel + i) * COLUMNS * p.b_col,
                 p.b_row, p.b_col, depth, least(COLUMNS, columns - i * COLUMNS));
    for (long s = 0; s < strips.count; ++s) {
      t.a = left.at(strips, s);
      t.c = f.c + strips.begin(s) * p.n + panel * COLUMNS;
      if (k + depth == p.k) t.end = ending(p.finish, panel * COLUMNS, t.c - p.c);
      run_rows(strips.rows(s), t);
    }
  }
}

void flat_task(const void* argument, long task) {
  const Flat& f = *(const Flat*)argument;
  const long begin = task * f.width, end = least(begin + f.width, f.count);
  for (long k = 0, piece = piece_of(f.p->k); k < f.p->k; k += piece)
    flat_piece(f, k, least(piece, f.p->k - k), begin, end);
}

void flat_product(const Product& p, long entry, Workers& workers) {
  Flat f;
  f.p = &p;
  f.a = p.a + p.a_start[entry];
  f.b = p.b + p.b_start[entry];
  f.c = p.c + entry * p.m * p.n;
  f.left = nullptr;
  f.count = up(p.n, COLUMNS);
  f.width = most(up(f.count, 4 * workers.threads()), up(FLAT_WORK, p.m * p.k * COLUMNS));
  if (f.count >= PANELS * workers.threads()) f.width = up(f.width, PANELS) * PANELS;
  if (f.count > 2 && is_scattered(p) && can_be_copied(p)) copy_left(f, workers);
  workers.run(up(f.count, f.width), flat_task, &f);
}

// One of many small products, by one thread.
void small_product_task(const void* argument, long entry) {
  const Product& p = *(const Product*)argument;
  const long count = up(p.n, COLUMNS);
  float* panels = penstock::scratch(1, count * COLUMNS * p.k);
  for (long panel = 0; panel < count; ++panel)
    pack_panels(panels, p, p.b + p.b_start[entry], count, p.n, panel);
  multiply(p, p.a + p.a_start[entry], Panels{panels, count}, p.c + entry * p.m * p.n, 0, p.m, 0,
           count, p.n);
}

bool is_flat(const Product& p, long threads) {
  if (p.m <= LOW_ROWS) return true;
  return p.m <= FLAT_ROWS && p.m * least(p.k, DEPTH) <= FLAT_LEFT &&
         p.n >= 2 * threads * PANELS * COLUMNS && (!is_scattered(p) || can_be_copied(p));
}

void product(const Product& p, Workers& workers) {
  if (p.k == 0) {
    __builtin_memset(p.c, 0, (unsigned long)(p.batch * p.m * p.n) * sizeof(float));
    return;
  }
  if (p.m == 0 || p.n == 0) return;
  const long work = p.m * p.n * p.k;
  if (p.batch >= 2 * workers.threads() && work <= 64l << 20) {
    workers.run(p.batch, small_product_task, &p);
    return;
  }
  for (long entry = 0; entry < p.batch; ++entry)
    is_flat(p, workers.threads()) ? flat_product(p, entry, workers)
                                  : big_product(p, entry, workers);
}

}  // namespace
