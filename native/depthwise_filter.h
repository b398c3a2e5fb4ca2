// The gradient of a depthwise convolution by its filter, straight from the image. Part of isa.cc.
//
// The sums of several taps for a vector of channels are in registers while pixels go by. Taps beside
// the image are left out. Bands of rows are summed in parts that the shapes fix, and the parts added
// in order. Where pixels lie so far apart that they share a few sets of the first cache, a task copies
// those of its channels first, a vector apart.
#pragma once

#include "depthwise.h"

namespace {

const long CROWDED = 512;                 // channels, and their multiples, that share sets
const long STEADY_PIXELS = 28;            // that sums stay in registers for, at least
const int MOST_SUMS = TWO_ROWS ? 15 : 9;  // in registers
const int TALLEST = 3;                    // rows of taps whose sums are in registers
const int MANY = TWO_ROWS ? 8 : 4;        // pixels whose gradients are in registers
const int FEWER = TWO_ROWS ? 7 : 4;       // where they fit the width of the image better

constexpr int rows_at_once(int taps) {  // of taps, where each row has so many
  return MOST_SUMS / taps < TALLEST ? MOST_SUMS / taps : TALLEST;
}

struct DepthwiseGrad {
  Conv c;
  const float *x, *dy;
  float* y;  // [part][tap][channel]
  Blocks blocks;
  long band, bands, units, parts;
  bool far, copied;
  long seen_rows(long rows) const {
    return (rows - 1) * c.stride.y + (c.taps.y - 1) * c.dilation.y + 1;
  }
};

// The channels of one block: `x` begins with row `x_top` of an image, `dy` with row `dy_top`.
struct Columns {
  const float *x, *dy;
  long x_top, dy_top;
};

// Some rows of the output, and what the first of some rows of taps sees for their first pixel.
struct Sweep {
  const float* x;
  long down, row, column;  // floats from one row of the output, row of taps and tap to the next
  const float* dy;
  long dy_row, dy_column;
  long rows, pixels, together;  // `together`: pixels whose gradients are in registers at a time
  long pad, width;
  long below;  // floats from what a pixel sees to the next row to be read; 0 where none is fetched
};

// Adds what P pixels from `first` on of R rows see, all of them at once.
template <int TX, int S, int TY, int P, int R>
static inline __attribute__((always_inline)) void add_pixels(const Sweep& s, const float* x,
                                                             const float* dy, long first,
                                                             Vector (&sums)[TY][TX]) {
  Vector grads[R][P];
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) grads[r][p] = load(dy + r * s.dy_row + p * s.dy_column);
  if (s.below != 0) {
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p)
        __builtin_prefetch(dy + (r + s.rows) * s.dy_row + p * s.dy_column);
#pragma GCC unroll 16
      for (int j = 0; j < P * S; ++j) {
        __builtin_prefetch(x + s.below + r * s.row + j * s.column);
        if (S > 1) __builtin_prefetch(x + s.below - s.row + j * s.column);
      }
    }
  }
  const long begin = s.pad - first * S;  // of the image, from x on
#pragma GCC unroll 32
  for (int j = 0; j < (P - 1) * S + TX; ++j, x += s.column) {
    if ((unsigned long)(j - begin) >= (unsigned long)s.width) continue;
#pragma GCC unroll 4
    for (int i = 0; i < TY + R - 1; ++i) {
      Vector seen = load(x + i * s.row);
      hold(seen);
#pragma GCC unroll 2
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int t = 0; t < TX; ++t)
          if (i >= r && i - r < TY && j >= t && (j - t) % S == 0 && (j - t) / S < P)
            sums[i - r][t] += seen * grads[r][(j - t) / S];
    }
  }
}

template <int TX, int S, int TY, int P, int R>
static inline __attribute__((always_inline)) void add_rows(const Sweep& s, long row,
                                                           Vector (&sums)[TY][TX]) {
  const float* dy = s.dy + row * s.dy_row;
  const float* x = s.x + row * s.down;
  long p = 0;
  for (; p + P <= s.pixels; p += P, dy += P * s.dy_column, x += P * S * s.column)
    add_pixels<TX, S, TY, P, R>(s, x, dy, p, sums);
  for (; p < s.pixels; ++p, dy += s.dy_column, x += S * s.column)
    add_pixels<TX, S, TY, 1, R>(s, x, dy, p, sums);
}

template <int TX, int S, int TY, int P>
static void depthwise_sums(const Sweep& s, Vector* to) {
  const int R = TWO_ROWS && S == 1 && TX == 3 && TY == 3 ? 2 : 1;  // there are registers for them
  Vector sums[TY][TX];
#pragma GCC unroll 3
  for (int i = 0; i < TY; ++i)
#pragma GCC unroll 8
    for (int t = 0; t < TX; ++t) sums[i][t] = to[i * TX + t];
  long row = 0;
  if (R > 1 && s.row == s.down)
    for (; row + R <= s.rows; row += R) add_rows<TX, S, TY, P, R>(s, row, sums);
  for (; row < s.rows; ++row) add_rows<TX, S, TY, P, 1>(s, row, sums);
#pragma GCC unroll 3
  for (int i = 0; i < TY; ++i)
#pragma GCC unroll 8
    for (int t = 0; t < TX; ++t) to[i * TX + t] = sums[i][t];
}

typedef void (*SweepFunction)(const Sweep&, Vector*);
#define PENSTOCK_SWEEP_ROWS(TX, S, P) \
  {depthwise_sums<TX, S, rows_at_once(TX), P>, depthwise_sums<TX, S, 1, P>}
#define PENSTOCK_SWEEP_STRIDES(TX, P) {PENSTOCK_SWEEP_ROWS(TX, 1, P), PENSTOCK_SWEEP_ROWS(TX, 2, P)}
#define PENSTOCK_SWEEPS(TX) {PENSTOCK_SWEEP_STRIDES(TX, MANY), PENSTOCK_SWEEP_STRIDES(TX, FEWER)}
// By taps of a row (3, 5 and 7), pixels, stride, and whether one row of taps is alone.
static const SweepFunction SWEEPS[][2][FARTHEST][2] = {
    PENSTOCK_SWEEPS(3), PENSTOCK_SWEEPS(5), PENSTOCK_SWEEPS(7),
};

inline bool has_sweep(const Conv& c) {
  return is_depthwise(c) && (c.taps.x == 3 || c.taps.x == 5 || c.taps.x == 7);
}

// Rows of a band of the output.
struct Range {
  long first, last;
};

// Those for which a row of taps lies inside of the image.
inline Range seeing(const Conv& c, long tap, const Range& band) {
  const long shift = c.pad.y - tap * c.dilation.y;  // of the image above what the first row sees
  const long first = shift > 0 ? up(shift, c.stride.y) : 0;
  const long last = up(most(c.size.y + shift, 0), c.stride.y);
  return Range{most(first, band.first), least(last, band.last)};
}

// Adds what some rows of taps see for some rows of the output.
inline void sweep(const DepthwiseGrad& d, Sweep s, const Columns& at, long tap, long taps,
                  const Range& rows, Vector* sums) {
  const Conv& c = d.c;
  if (rows.first >= rows.last) return;
  const long y = rows.first * c.stride.y + tap * c.dilation.y - c.pad.y;
  s.x = at.x + ((y - at.x_top) * c.size.x - c.pad.x) * s.column;
  s.dy = at.dy + (rows.first - at.dy_top) * s.dy_row;
  s.rows = rows.last - rows.first;
  s.below = d.far && tap == 0 ? (c.taps.y - 1) * s.row + s.rows * s.down : 0;
  SWEEPS[c.taps.x / 2 - 1][s.together != MANY][c.stride.x - 1][taps == 1](s, sums + tap * c.taps.x);
}

// Adds to the sums of one block what a band of an image gives.
inline void sweep_band(const DepthwiseGrad& d, const Sweep& s, const Columns& at, const Range& band,
                       Vector* sums) {
  const Conv& c = d.c;
  const long together = rows_at_once((int)c.taps.x);
  for (long tap = 0; tap < c.taps.y;) {
    const long taps = c.taps.y - tap >= together ? together : 1;
    const Range above = seeing(c, tap, band), below = seeing(c, tap + taps - 1, band);
    const Range all = {above.first, most(below.last, above.first)};
    sweep(d, s, at, tap, taps, all, sums);
    for (long t = tap; t < tap + taps && taps > 1; ++t) {  // rows that not all of them see
      const Range one = seeing(c, t, band);
      sweep(d, s, at, t, 1, Range{one.first, least(one.last, all.first)}, sums);
      sweep(d, s, at, t, 1, Range{most(one.first, all.last), one.last}, sums);
    }
    tap += taps;
  }
}

inline Sweep sweep_of(const DepthwiseGrad& d) {
  const Conv& c = d.c;
  Sweep s = {};
  s.column = s.dy_column = d.copied ? LANES : c.channels;
  s.row = c.dilation.y * c.size.x * s.column;
  s.down = c.stride.y * c.size.x * s.column;
  s.dy_row = c.out.x * s.column;
  s.pixels = c.out.x;
  s.pad = c.pad.x;
  s.width = c.size.x;
  const int64_t after_many = c.out.x % MANY, after_fewer = c.out.x % FEWER;
  s.together = after_many <= after_fewer ? MANY : FEWER;
  return s;
}

// Adds what a band of an image gives to the sums of the blocks [first, last).
void sweep_blocks(const DepthwiseGrad& d, const Sweep& s, long image, const Range& band, long first,
                  long last, Vector* sums) {
  const Conv& c = d.c;
  const float* x = d.x + image * c.size.all() * c.channels;
  const float* dy = d.dy + image * c.out.all() * c.channels;
  const long top = least(most(band.first * c.stride.y - c.pad.y, 0), c.size.y);
  const long seen = most(0, least(d.seen_rows(band.last - band.first), c.size.y - top));
  const long x_block = seen * c.size.x * LANES;
  const long dy_block = (band.last - band.first) * c.out.x * LANES;
  float *room = nullptr, *right = nullptr;
  if (d.copied) {
    const Lanes lanes = {c.channels, last - first, LANES, LANES};
    room = penstock::scratch(0, x_block * lanes.blocks);
    right = penstock::scratch(2, dy_block * lanes.blocks);
    spread(room, x + first * LANES, c.size, lanes, top, 0, seen, c.size.x);
    spread(right, dy + first * LANES, c.out, lanes, band.first, 0, band.last - band.first, c.out.x);
  }
  for (long b = first; b < last; ++b) {
    const long channel = d.blocks.channel(b);
    Columns at = {x + channel, dy + channel, 0, 0};
    if (d.copied)
      at = Columns{room + (b - first) * x_block, right + (b - first) * dy_block, top, band.first};
    sweep_band(d, s, at, band, sums + (b - first) * c.taps.all());
  }
}

// The gradient of some blocks, summed over the bands of one part.
void depthwise_filter_task(const void* argument, long task) {
  const DepthwiseGrad& d = *(const DepthwiseGrad*)argument;
  const long side = task / d.parts, part = task % d.parts, taps = d.c.taps.all();
  const long first = side * d.blocks.side, last = d.blocks.end(side);
  Vector* sums = (Vector*)penstock::scratch(3, (last - first) * taps * LANES);
  for (long i = 0; i < (last - first) * taps; ++i) sums[i] = Vector{};
  const Sweep s = sweep_of(d);
  const long end = least((part + 1) * d.units, d.c.images * d.bands);
  for (long unit = part * d.units; unit < end; ++unit) {
    const long top = unit % d.bands * d.band;
    sweep_blocks(d, s, unit / d.bands, Range{top, least(top + d.band, d.c.out.y)}, first, last, sums);
  }
  for (long b = first; b < last; ++b)
    for (long t = 0; t < taps; ++t)
      store(d.y + (part * taps + t) * d.c.channels + d.blocks.channel(b),
            sums[(b - first) * taps + t]);
}

// Rows of a band: few, so that all is in the first cache when it is needed again, or as many as are
// copied at a time.
inline long grad_band(const DepthwiseGrad& d) {
  const Conv& c = d.c;
  if (!d.copied) return least(c.out.y, most(2, up(STEADY_PIXELS, most(c.out.x, 1))));
  const long rows = ROOM / most(1, c.size.x * d.blocks.side * LANES);
  const long band = most(1, least((rows - d.seen_rows(1)) / c.stride.y + 1, c.out.y));
  return up(c.out.y, up(c.out.y, band));
}

// Where `has_sweep`.
void depthwise_filter_grad(const Conv& c, const float* x, const float* dy, float* dw,
                           Workers& workers) {
  DepthwiseGrad d = {c, x, dy, dw, Blocks(c.channels), 0, 0, 0, 0, false, false};
  const long size = c.taps.all() * c.channels;
  d.far = c.images * (c.size.all() + c.out.all()) * c.channels > FAR_FLOATS;
  d.copied = c.channels % CROWDED == 0 && !d.far;
  d.band = grad_band(d);
  d.bands = up(c.out.y, d.band);
  const long all = c.images * d.bands;
  d.units = most(1, up(all, most(1, up(GROUPS, d.blocks.sides))));
  d.parts = most(1, up(all, d.units));  // one of zeros where there is no image
  if (d.parts > 1) d.y = penstock::scratch(1, d.parts * size);
  workers.run(d.blocks.sides * d.parts, depthwise_filter_task, &d);
  add_parts(Parts{d.y, dw, d.parts, size}, workers);
}

}  // namespace
