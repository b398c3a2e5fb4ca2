// Attention: a weighted mean of values, the weights a softmax of scaled and masked scores; and its
// gradients. Part of isa.cc.
//
// A block of rows of scores lives in the cache and is never written to memory. Panels of columns
// that a mask leaves out are not computed, and panels whose weights are all zero do not enter the
// sums: with numbers that are all finite neither changes a result. The gradients compute the
// weights again from each row's largest score and the inverse of its sum.
#pragma once

#include "elementwise.h"
#include "gemm.h"
#include "kernels.h"
#include "tile.h"

namespace {

const long WEIGHED = 256;  // keys at most that a tile sums at a time

using penstock::Attention;
using penstock::AttentionGrad;

const long QUERY_ROWS = (28 + ROWS - 1) / ROWS * ROWS;  // few, so that masks leave panels out

inline float largest(Vector x) {
  alignas(64) float all[LANES];
  store(all, x);
  for (long n = LANES / 2; n > 0; n /= 2)
    for (long i = 0; i < n; ++i) all[i] = all[i + n] > all[i] ? all[i + n] : all[i];
  return all[0];
}

// e to the power of x, for x that are 0 or less.
inline Vector decay(Vector x) {
  const Vector found = bounded_exponential(within(x, LEAST_POWER, 0.0f));
  const Vector result = choose((Ints)(x < splat(LEAST_POWER)), Vector{}, found);
  return choose((Ints)(x != x), x, result);
}

bool all_finite(const float* data, long rows, long row, long columns) {
  Vector sums[2] = {};
  float rest = 0;
  for (long i = 0; i < rows; ++i, data += row) {
    long j = 0;
    for (; j + COLUMNS <= columns; j += COLUMNS) {
      sums[0] += load(data + j) * Vector{};
      sums[1] += load(data + j + LANES) * Vector{};
    }
    for (; j < columns; ++j) rest += data[j] * 0.0f;
  }
  return total(sums[0] + sums[1]) + rest == 0;  // 0 * infinity and 0 * NaN are NaN
}

// One matrix of queries with its keys, values and mask, packed: what all its rows share.
struct Head {
  const Attention& a;
  const float *q, *k, *v;
  const char* mask;    // of bytes or floats
  long panels, width;  // of scores: panels, and columns in them
  bool finite;         // values, and what else a caller knows: zeros among the weights may be skipped
  float* key_panels;   // [panel][depth][COLUMNS]

  Head(const Attention& from, long entry)
      : a(from),
        q(from.q + from.query_place.start(entry)),
        k(from.k + from.key_place.start(entry)),
        v(from.v + from.value_place.start(entry)),
        mask((const char*)from.mask + from.mask_start[entry] *
                 (from.masking == penstock::MASK_CHOOSES ? 1 : (long)sizeof(float))),
        panels(up(from.keys, COLUMNS)),
        width(panels * COLUMNS),
        finite(false),
        key_panels(nullptr) {}

  long panel_columns(long panel) const { return least(COLUMNS, a.keys - panel * COLUMNS); }
};

// Rows of keys or values as the right side of a product with their transpose: [panel][depth][COLUMNS].
void pack_transposed(float* to, const float* from, long row, long rows, long depth) {
  for (long at = 0; at < rows; at += COLUMNS, to += depth * COLUMNS)
    pack_panel(to, from + at * row, 1, row, depth, least(COLUMNS, rows - at));
}

// Rows as the right side of a product: [panel of columns][rows, up to `padded`][COLUMNS].
void pack_rows(float* to, const float* from, long row, long rows, long padded, long columns) {
  for (long at = 0; at < columns; at += COLUMNS) {
    pack_panel(to, from + at, row, 1, rows, least(COLUMNS, columns - at));
    __builtin_memset(to + rows * COLUMNS, 0,
                     (unsigned long)((padded - rows) * COLUMNS) * sizeof(float));
    to += padded * COLUMNS;
  }
}

// What a block of rows is about: which rows, and which panels count.
struct RowBlock {
  long first, rows;
  bool* kept;    // by panel: the mask keeps a column of it in some row
  bool* weighs;  // by panel: a weight of it is not zero
  float* bits;   // [panel][LANES]: those that its weights have

  RowBlock(long first, long rows, float* memory, long panels)
      : first(first), rows(rows), kept((bool*)(memory + panels * LANES)), weighs(kept + panels),
        bits(memory) {}
  static long size(long panels) { return panels * LANES + up(2 * panels, (long)sizeof(float)); }
};

// Which of LANES columns a mask of bytes keeps; `left` of them are there.
inline Ints kept_lanes(const char* mask, long left) {
  alignas(16) char part[16] = {};
  if (left < LANES) {
    for (long i = 0; i < left; ++i) part[i] = mask[i];
    mask = part;
  }
#if defined(__AVX512F__)
  return (Ints)_mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128((const __m128i*)mask)) != (Ints)Vector{};
#elif defined(__AVX2__)
  return (Ints)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)mask)) != (Ints)Vector{};
#else
  return Ints{mask[0], mask[1], mask[2], mask[3]} != (Ints)Vector{};
#endif
}

// Whether the mask keeps a column of a panel in some row.
bool mask_keeps(const Head& h, const RowBlock& block, long panel) {
  if (h.a.masking != penstock::MASK_CHOOSES) return true;
  const long columns = h.panel_columns(panel);
  const char* row = h.mask + block.first * h.a.mask_row + panel * COLUMNS;
  Ints any = {};
  for (long i = 0; i < block.rows; ++i, row += h.a.mask_row) {
    any |= kept_lanes(row, columns);
    if (columns > LANES) any |= kept_lanes(row + LANES, columns - LANES);
    if (h.a.mask_row == 0) break;
  }
  return total(choose(any, splat(1.0f), Vector{})) != 0;
}

// left (rows of `depth` floats) times the transpose of what is packed, for the panels that are in.
void row_products(const Head& h, const RowBlock& block, const bool* in, const float* left, long row,
                  const float* packed, long depth, float* to) {
  const Strips strips(block.rows);
  for (long panel = 0; panel < h.panels; ++panel) {
    if (!in[panel]) continue;
    for (long s = 0; s < strips.count; ++s) {
      Tile t;
      t.a = left + strips.begin(s) * row;
      t.a_row = row;
      t.a_col = 1;
      t.starts = NO_START;
      t.segments = 1;
      t.length = depth;
      t.b = packed + panel * depth * COLUMNS;
      t.b_row = COLUMNS;
      t.c = to + strips.begin(s) * h.width + panel * COLUMNS;
      t.c_row = h.width;
      t.columns = COLUMNS;
      t.add = false;
      run_tile(strips.rows(s), t);
    }
  }
}

// LANES scores from `column` on, scaled and masked; minus infinity beyond the last.
template <int MASKING>
inline Vector masked_scores(const Head& h, const float* scores, const char* mask, long column) {
  const long left = h.a.keys - column;
  Vector x = load(scores + column) * splat(h.a.scale);
  if (MASKING == penstock::MASK_CHOOSES)
    x = choose(kept_lanes(mask + column, left), x, splat(h.a.low));
  if (MASKING == penstock::MASK_ADDS) {
    const float* from = (const float*)mask + column;
    Vector added = {};
    if (left >= LANES)
      added = load(from);
    else
      for (long i = 0; i < left; ++i) added[i] = from[i];
    x += added;
  }
  return left >= LANES ? x : choose(lanes_below(left), x, splat(-__builtin_inff()));
}

inline const char* mask_of(const Head& h, long row) {
  const long size = h.a.masking == penstock::MASK_CHOOSES ? 1 : (long)sizeof(float);
  return h.mask + row * h.a.mask_row * size;
}

// Scores of a row, scaled and masked, in their place; returns the largest.
template <int MASKING>
float mask_row(const Head& h, const RowBlock& block, const char* mask, float* scores) {
  Vector highest = splat(-__builtin_inff());
  for (long panel = 0; panel < h.panels; ++panel) {
    if (!block.kept[panel]) {
      highest = choose((Ints)(splat(h.a.low) > highest), splat(h.a.low), highest);
      continue;
    }
    for (long j = panel * COLUMNS; j < (panel + 1) * COLUMNS; j += LANES) {
      const Vector x = masked_scores<MASKING>(h, scores, mask, j);
      store(scores + j, x);
      highest = choose((Ints)(x > highest), x, highest);
    }
  }
  return largest(highest);
}

// Scores to exp(score - top), in their place; returns the sum. What a mask leaves out has the
// score `low`.
Vector weigh_row(const Head& h, const RowBlock& block, float top, float* scores) {
  const Vector left_out = decay(splat(h.a.low) - splat(top));
  Vector sum = {};
  for (long panel = 0; panel < h.panels; ++panel) {
    Ints any = {};
    for (long j = panel * COLUMNS; j < (panel + 1) * COLUMNS; j += LANES) {
      Vector weight = left_out;
      if (block.kept[panel])
        weight = decay(load(scores + j) - splat(top));
      else if (h.a.keys - j < LANES)
        weight = choose(lanes_below(h.a.keys - j), left_out, Vector{});
      store(scores + j, weight);
      sum += weight;
      any |= (Ints)weight;
    }
    float* bits = block.bits + panel * LANES;
    store(bits, (Vector)((Ints)load(bits) | any));
  }
  return sum;
}

// As `mask_row` and `weigh_row` with known statistics, in one pass.
template <int MASKING>
void weigh_again(const Head& h, const RowBlock& block, const char* mask, const float* statistics,
                 float* scores) {
  const Vector top = splat(statistics[0]), inverse = splat(statistics[1]);
  const Vector left_out = decay(splat(h.a.low) - top) * inverse;
  for (long panel = 0; panel < h.panels; ++panel) {
    Ints any = {};
    for (long j = panel * COLUMNS; j < (panel + 1) * COLUMNS; j += LANES) {
      Vector weight = left_out;
      if (block.kept[panel])
        weight = decay(masked_scores<MASKING>(h, scores, mask, j) - top) * inverse;
      else if (h.a.keys - j < LANES)
        weight = choose(lanes_below(h.a.keys - j), left_out, Vector{});
      store(scores + j, weight);
      any |= (Ints)weight;
    }
    float* bits = block.bits + panel * LANES;
    store(bits, (Vector)((Ints)load(bits) | any));
  }
}

// Weights of a block of rows; the first time without the division by their sum, and statistics.
template <int MASKING>
void weigh_rows(const Head& h, const RowBlock& block, float* scores, float* statistics,
                bool again) {
  for (long i = 0; i < block.rows; ++i, scores += h.width, statistics += 2) {
    const char* mask = mask_of(h, block.first + i);
    if (again) {
      weigh_again<MASKING>(h, block, mask, statistics, scores);
      continue;
    }
    statistics[0] = mask_row<MASKING>(h, block, mask, scores);
    statistics[1] = 1.0f / total(weigh_row(h, block, statistics[0], scores));
  }
}

void weigh(const Head& h, const RowBlock& block, float* scores, float* statistics, bool again) {
  for (long panel = 0; panel < h.panels; ++panel) block.kept[panel] = mask_keeps(h, block, panel);
  row_products(h, block, block.kept, h.q + block.first * h.a.query_place.row,
               h.a.query_place.row, h.key_panels, h.a.depth, scores);
  __builtin_memset(block.bits, 0, (unsigned long)(h.panels * LANES) * sizeof(float));
  statistics += 2 * block.first;
  if (h.a.masking == penstock::MASK_CHOOSES)
    weigh_rows<penstock::MASK_CHOOSES>(h, block, scores, statistics, again);
  else if (h.a.masking == penstock::MASK_ADDS)
    weigh_rows<penstock::MASK_ADDS>(h, block, scores, statistics, again);
  else
    weigh_rows<penstock::MASK_NONE>(h, block, scores, statistics, again);
  for (long panel = 0; panel < h.panels; ++panel) {
    bool weighs = !h.finite;
    for (long i = 0; i < LANES; ++i) weighs |= block.bits[panel * LANES + i] != 0;
    block.weighs[panel] = weighs;
  }
}

// Weights times rows (packed by pack_rows) over the panels that weigh something.
void mix_rows(const Head& h, const RowBlock& block, const float* weights, const float* packed,
              long columns, float* to, long to_row) {
  const Strips strips(block.rows);
  for (long j = 0; j < columns; j += COLUMNS, packed += h.width * COLUMNS)
    for (long s = 0; s < strips.count; ++s) {
      Tile t;
      t.a_row = h.width;
      t.a_col = 1;
      t.starts = NO_START;
      t.segments = 1;
      t.b_row = COLUMNS;
      t.c = to + strips.begin(s) * to_row + j;
      t.c_row = to_row;
      t.columns = least(COLUMNS, columns - j);
      t.add = false;
      for (long panel = 0; panel < h.panels; ++panel) {
        if (!block.weighs[panel]) continue;
        long end = panel + 1;
        while (end < h.panels && block.weighs[end] && (end - panel) * COLUMNS < WEIGHED) ++end;
        t.a = weights + strips.begin(s) * h.width + panel * COLUMNS;
        t.b = packed + panel * COLUMNS * COLUMNS;
        t.length = (end - panel) * COLUMNS;
        run_tile(strips.rows(s), t);
        t.add = true;
        panel = end - 1;
      }
      if (t.add) continue;
      for (long i = 0; i < strips.rows(s); ++i)  // every weight is zero
        __builtin_memset(t.c + i * to_row, 0, (unsigned long)t.columns * sizeof(float));
    }
}

void scale_row(float* row, long columns, float factor) {
  long j = 0;
  for (; j + LANES <= columns; j += LANES) store(row + j, load(row + j) * splat(factor));
  for (; j < columns; ++j) row[j] *= factor;
}

struct AttentionCall {
  const Attention* a;
  const AttentionGrad* grad;
  long chunks, chunk_rows;  // of the queries of an entry
};

void attention_task(const void* argument, long task) {
  const AttentionCall& call = *(const AttentionCall*)argument;
  const Attention& a = *call.a;
  const long entry = task / call.chunks, first = task % call.chunks * call.chunk_rows;
  Head h(a, entry);
  const long value_panels = up(a.width, COLUMNS);
  float* memory = penstock::scratch(
      0, h.width * (a.depth + value_panels * COLUMNS + QUERY_ROWS) + RowBlock::size(h.panels));
  h.key_panels = memory;
  float* values = h.key_panels + h.width * a.depth;
  float* scores = values + h.width * value_panels * COLUMNS;
  float* flags = scores + h.width * QUERY_ROWS;
  h.finite = all_finite(h.v, a.keys, a.value_place.row, a.width);
  pack_transposed(h.key_panels, h.k, a.key_place.row, a.keys, a.depth);
  pack_rows(values, h.v, a.value_place.row, a.keys, h.width, a.width);
  float* out = a.out + a.out_place.start(entry);
  float* statistics = a.statistics + entry * a.queries * 2;
  const long last = least(first + call.chunk_rows, a.queries);
  for (long row = first; row < last; row += QUERY_ROWS) {
    const RowBlock block(row, least(QUERY_ROWS, last - row), flags, h.panels);
    weigh(h, block, scores, statistics, false);
    float* to = out + row * a.out_place.row;
    mix_rows(h, block, scores, values, a.width, to, a.out_place.row);
    for (long i = 0; i < block.rows; ++i, to += a.out_place.row)
      scale_row(to, a.width, statistics[2 * (row + i) + 1]);
  }
}

void attention(const Attention& a, Workers& workers) {
  AttentionCall call = {&a, nullptr, 1, a.queries};
  const long wanted = 4 * workers.threads();
  if (a.entries < wanted)  // each chunk packs the keys and values again
    call.chunks = least(up(wanted, most(a.entries, 1)), up(a.queries, 4 * QUERY_ROWS));
  call.chunk_rows = up(up(a.queries, call.chunks), QUERY_ROWS) * QUERY_ROWS;
  call.chunks = up(a.queries, call.chunk_rows);
  workers.run(a.entries * call.chunks, attention_task, &call);
}

// The gradient by the scores as they were before scale and mask, in the place of that by the weights.
void score_gradients(const Head& h, const RowBlock& block, const float* weights, float* changes) {
  for (long i = 0; i < block.rows; ++i, weights += h.width, changes += h.width) {
    Vector sums = {};
    for (long j = 0; j < h.width; j += LANES)
      if (block.weighs[j / COLUMNS]) sums += load(changes + j) * load(weights + j);
    const Vector sum = splat(total(sums)), scale = splat(h.a.scale);
    const char* mask = mask_of(h, block.first + i);
    for (long j = 0; j < h.width; j += LANES) {
      if (!block.weighs[j / COLUMNS]) continue;
      Vector x = (load(changes + j) - sum) * load(weights + j) * scale;
      const long left = h.a.keys - j;
      if (h.a.masking == penstock::MASK_CHOOSES && left > 0)
        x = choose(kept_lanes(mask + j, left), x, Vector{});
      if (left < LANES) x = choose(lanes_below(left), x, Vector{});
      store(changes + j, x);
    }
  }
}

// Adds the transpose of left[rows, keys] times rows (packed by pack_rows) to `to`.
void add_transposed(const Head& h, const RowBlock& block, const float* left, const float* packed,
                    long columns, float* to, long to_row) {
  for (long panel = 0; panel < h.panels; ++panel) {
    if (!block.weighs[panel]) continue;
    long end = panel + 1;
    while (end < h.panels && block.weighs[end]) ++end;
    const long first = panel * COLUMNS, count = least(end * COLUMNS, h.a.keys) - first;
    const Strips strips(count);
    for (long j = 0; j < columns; j += COLUMNS)
      for (long s = 0; s < strips.count; ++s) {
        const long row = first + strips.begin(s);
        Tile t;
        t.a = left + row;
        t.a_row = 1;
        t.a_col = h.width;
        t.starts = NO_START;
        t.segments = 1;
        t.length = block.rows;
        t.b = packed + j * block.rows;
        t.b_row = COLUMNS;
        t.c = to + row * to_row + j;
        t.c_row = to_row;
        t.columns = least(COLUMNS, columns - j);
        t.add = true;
        run_tile(strips.rows(s), t);
      }
    panel = end - 1;
  }
}

void clear_rows(float* to, long row, long rows, long columns) {
  for (long i = 0; i < rows; ++i)
    __builtin_memset(to + i * row, 0, (unsigned long)columns * sizeof(float));
}

void attention_grad_task(const void* argument, long entry) {
  const AttentionCall& call = *(const AttentionCall*)argument;
  const Attention& a = *call.a;
  const AttentionGrad& g = *call.grad;
  Head h(a, entry);
  const long depth = up(a.depth, COLUMNS) * COLUMNS, value_depth = up(a.width, COLUMNS) * COLUMNS;
  float* memory = penstock::scratch(
      0, h.width * (a.depth + a.width + depth + 2 * QUERY_ROWS) +
             QUERY_ROWS * (depth + value_depth) + RowBlock::size(h.panels));
  h.key_panels = memory;
  float* value_panels = h.key_panels + h.width * a.depth;
  float* keys = value_panels + h.width * a.width;
  float* weights = keys + h.width * depth;
  float* changes = weights + h.width * QUERY_ROWS;
  float* queries = changes + h.width * QUERY_ROWS;
  float* outs = queries + QUERY_ROWS * depth;
  float* flags = outs + QUERY_ROWS * value_depth;
  const float* d_out = g.d_out + a.out_place.start(entry);
  float* d_q = g.d_q + a.query_place.start(entry);
  float* d_k = g.d_k + a.key_place.start(entry);
  float* d_v = g.d_v + a.value_place.start(entry);
  h.finite = all_finite(h.v, a.keys, a.value_place.row, a.width) &&
             all_finite(h.k, a.keys, a.key_place.row, a.depth) &&
             all_finite(h.q, a.queries, a.query_place.row, a.depth) &&
             all_finite(d_out, a.queries, a.out_place.row, a.width);
  pack_transposed(h.key_panels, h.k, a.key_place.row, a.keys, a.depth);
  pack_transposed(value_panels, h.v, a.value_place.row, a.keys, a.width);
  pack_rows(keys, h.k, a.key_place.row, a.keys, h.width, a.depth);
  clear_rows(d_k, a.key_place.row, a.keys, a.depth);
  clear_rows(d_v, a.value_place.row, a.keys, a.width);
  float* statistics = a.statistics + entry * a.queries * 2;
  for (long row = 0; row < a.queries; row += QUERY_ROWS) {
    const RowBlock block(row, least(QUERY_ROWS, a.queries - row), flags, h.panels);
    const float* d_row = d_out + row * a.out_place.row;
    weigh(h, block, weights, statistics, true);
    row_products(h, block, block.weighs, d_row, a.out_place.row, value_panels, a.width, changes);
    pack_rows(outs, d_row, a.out_place.row, block.rows, block.rows, a.width);
    add_transposed(h, block, weights, outs, a.width, d_v, a.value_place.row);
    score_gradients(h, block, weights, changes);
    mix_rows(h, block, changes, keys, a.depth, d_q + row * a.query_place.row, a.query_place.row);
    pack_rows(queries, h.q + row * a.query_place.row, a.query_place.row, block.rows, block.rows,
              a.depth);
    add_transposed(h, block, changes, queries, a.depth, d_k, a.key_place.row);
  }
}

void attention_grad(const Attention& a, const AttentionGrad& grad, Workers& workers) {
  const AttentionCall call = {&a, &grad, 1, a.queries};
  workers.run(a.entries, attention_grad_task, &call);
}

}  // namespace
