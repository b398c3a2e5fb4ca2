// Depthwise convolutions with one filter for each channel, straight from the image. Part of isa.cc.
//
// A vector holds neighbouring channels, a piece is BESIDE neighbouring pixels of one or two rows of
// the output. Their sums are in registers, and so is a row of the filter; each pixel of a row of
// the image is loaded once for all of them. Taps beside the image are left out, so nothing is
// padded and nothing copied. What is left after the last full vector of channels is done by a
// vector that overlaps it, in the same task.
#pragma once

#include "conv_filter.h"

namespace {

const int BESIDE = 8;       // pixels of a row whose sums are in registers at a time
const long WIDEST = 7;      // taps of a row of the filter
const long FARTHEST = 2;    // stride along a row
const long MOST_PHASES = 9;
const long NEIGHBOURS = 8;  // blocks of channels that a task works on: memory is read in order
const long BAND_SUMS = 1 << 17;  // vectors of products of a task, about
const long ROOM = 64 * 1024;     // floats of copied image that a task works on, about
const long FAR_FLOATS = 2 << 20;  // of arrays that are read from memory rather than from a cache
#if defined(__AVX512F__) || defined(__aarch64__)
const bool TWO_ROWS = true;  // of the output at a time: there are 32 registers
#else
const bool TWO_ROWS = false;
#endif

inline bool is_depthwise(const Conv& c) {
  return c.groups > 1 && c.inner() == 1 && c.outer() == 1 && c.channels >= LANES &&
         c.size.z == 1 && c.taps.z == 1 && c.out.z == 1 && c.taps.x <= WIDEST &&
         c.stride.x <= FARTHEST && c.dilation.x == 1;
}

// Blocks of channels and how tasks share them: the last side has what is left over too.
struct Blocks {
  long channels, count, side, sides;
  explicit Blocks(long channels_) : channels(channels_), count(up(channels, LANES)) {
    const long whole = channels / LANES;
    sides = up(whole, NEIGHBOURS);
    side = up(whole, sides);
    sides = up(whole, side);
  }
  long channel(long block) const { return least(block * LANES, channels - LANES); }
  long end(long which) const { return which + 1 < sides ? (which + 1) * side : count; }
};

// Where the channels of some blocks lie in an image: `width` in a block, `last` in the last block.
struct Lanes {
  long channels, blocks, width, last;
};

// A box of an image, block by block and a vector apart: [block][row][pixel][LANES]; zeros beside
// the channels and outside of the image.
inline void spread(float* to, const float* image, const Axes& size, const Lanes& lanes, long top,
                   long left, long high, long wide) {
  const long first = least(most(-left, 0), wide), last = most(least(size.x - left, wide), first);
  const long block = high * wide * LANES;
  for (long y = 0; y < high; ++y, to += wide * LANES) {
    const bool inside = top + y >= 0 && top + y < size.y;
    const long from = inside ? first : wide, end = inside ? last : wide;
    for (long b = 0; b < lanes.blocks; ++b) {
      for (long x = 0; x < from; ++x) store(to + b * block + x * LANES, Vector{});
      for (long x = end; x < wide; ++x) store(to + b * block + x * LANES, Vector{});
    }
    const float* row = image + ((top + y) * size.x + left) * lanes.channels;
    for (long x = from; x < end; ++x) {
      const float* pixel = row + x * lanes.channels;
      for (long b = 0; b < lanes.blocks; ++b)
        store(to + b * block + x * LANES,
              load_some(pixel + b * lanes.width, b + 1 < lanes.blocks ? lanes.width : lanes.last));
    }
  }
}

// Keeps a number in a register: compilers would read it from memory once for each use.
inline void hold(Vector& value) {
#if defined(__AVX512F__)
  asm("" : "+v"(value));
#elif defined(__x86_64__)
  asm("" : "+x"(value));
#elif defined(__aarch64__)
  asm("" : "+w"(value));
#endif
}

// One piece: `x` is what the first tap of its first pixel sees, inside of the image or not.
struct Piece {
  const float* x;
  long row, column;    // floats from one tap to the next
  long top, bottom;    // rows of taps inside of the image, from those of its first row on
  long left, wide;     // pixels of the image inside of it, counted from x
  const float* filter;  // [taps.y][taps.x][LANES]
  long taps;            // rows of the filter
  bool far;             // x is to be asked for ahead
  float* y;
  long y_row, y_column, count;
  Ending end;
};

// Adds one row of the image to the rows FROM to TO of the output; `filter` is the row of the filter
// that output row 0 sees there.
template <int TX, int S, int FROM, int TO, int R>
static inline __attribute__((always_inline)) void add_row(const Piece& p, const float* x,
                                                          const float* filter,
                                                          Vector (&sums)[R][BESIDE]) {
  Vector w[R][TX];
#pragma GCC unroll 2
  for (int r = FROM; r < TO; ++r)
#pragma GCC unroll 8
    for (int t = 0; t < TX; ++t) w[r][t] = load(filter + (t - r * TX) * LANES);
#pragma GCC unroll 32
  for (int j = 0; j < (BESIDE - 1) * S + TX; ++j, x += p.column) {
    if ((unsigned long)(j - p.left) >= (unsigned long)p.wide) continue;
    Vector seen = load(x);
    hold(seen);
#pragma GCC unroll 2
    for (int r = FROM; r < TO; ++r)
#pragma GCC unroll 8
      for (int t = TX - 1; t >= 0; --t)
        if (j >= t && (j - t) % S == 0 && (j - t) / S < BESIDE)
          sums[r][(j - t) / S] += seen * w[r][t];
  }
}

// Asks for the rows that the piece below is the first to see.
template <int S, int R>
static inline __attribute__((always_inline)) void fetch_below(const Piece& p) {
  const float* x = p.x + (p.taps + R - 1) * p.row;
#pragma GCC unroll 16
  for (int j = 0; j < BESIDE * S; ++j, x += p.column) {
    __builtin_prefetch(x);
    if (R > 1 || S > 1) __builtin_prefetch(x + p.row);
  }
}

template <int R>
static inline __attribute__((always_inline)) void finish_piece(const Piece& p,
                                                               Vector (&sums)[R][BESIDE]) {
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int i = 0; i < BESIDE; ++i) {
      if (i >= p.count) break;
      const long at = r * p.y_row + i * p.y_column;
      if (p.end.bias != nullptr) sums[r][i] += load(p.end.bias);
      if (p.end.beside != nullptr) sums[r][i] += load(p.end.beside + at);
      if (p.end.gate != nullptr) sums[r][i] = gated(sums[r][i], load(p.end.gate + at));
      sums[r][i] = activated(sums[r][i], p.end.activation);
    }
}

template <int TX, int S, int R>
static void depthwise_piece(const Piece& p) {
  Vector sums[R][BESIDE];
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int i = 0; i < BESIDE; ++i) sums[r][i] = Vector{};
  if (p.far) fetch_below<S, R>(p);
  const float* x = p.x + p.top * p.row;
  const float* filter = p.filter + p.top * TX * LANES;
  for (long i = p.top; i < p.bottom; ++i, x += p.row, filter += TX * LANES) {
    if (R == 1 || i < 1)
      add_row<TX, S, 0, 1>(p, x, filter, sums);
    else if (i < p.taps)
      add_row<TX, S, 0, R>(p, x, filter, sums);
    else
      add_row<TX, S, R - 1, R>(p, x, filter, sums);
  }
  if (!p.end.none()) finish_piece(p, sums);
#pragma GCC unroll 2
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int i = 0; i < BESIDE; ++i) {
      if (i >= p.count) break;
      store(p.y + r * p.y_row + i * p.y_column, sums[r][i]);
    }
}

typedef void (*PieceFunction)(const Piece&);
// By taps, then one row, stride 1 and 2, then two rows.
#define PENSTOCK_PIECE(TX) \
  {depthwise_piece<TX, 1, 1>, depthwise_piece<TX, 2, 1>, depthwise_piece<TX, 1, TWO_ROWS ? 2 : 1>}
static const PieceFunction PIECES[WIDEST][3] = {
    PENSTOCK_PIECE(1), PENSTOCK_PIECE(2), PENSTOCK_PIECE(3), PENSTOCK_PIECE(4),
    PENSTOCK_PIECE(5), PENSTOCK_PIECE(6), PENSTOCK_PIECE(7),
};

// One sliding of the filter; the gradient by the input has one for each phase of the strides.
struct DepthwisePhase {
  Conv c;
  Filter filter;
  float* y;
  Steps to;
  penstock::Finish finish;
  float* packed;  // [block][tap][LANES]
};

struct Depthwise {
  const float* x;
  Blocks blocks;
  long images, band, bands;
  bool far;
  long count;
  DepthwisePhase phases[MOST_PHASES];
};

// The filter of one block in the order of the taps of a phase.
inline void pack_depthwise(const DepthwisePhase& p, const Blocks& blocks, long block) {
  const Axes taps = p.c.taps;
  const float* from = p.filter.w + blocks.channel(block);
  float* to = p.packed + block * taps.all() * LANES;
  for (long i = 0; i < taps.y; ++i)
    for (long j = 0; j < taps.x; ++j, to += LANES) {
      const long y = p.filter.turned ? p.filter.last.y - i * p.filter.step.y : i;
      const long x = p.filter.turned ? p.filter.last.x - j * p.filter.step.x : j;
      store(to, load(from + (y * p.filter.taps.x + x) * blocks.channels));
    }
}

void pack_depthwise_task(const void* argument, long which) {
  const Depthwise& d = *(const Depthwise*)argument;
  for (long i = 0; i < d.count; ++i)
    for (long b = which * d.blocks.side; b < d.blocks.end(which); ++b)
      pack_depthwise(d.phases[i], d.blocks, b);
}

// Some rows of the output of an image, one or two of them.
inline void depthwise_rows(const Depthwise& d, const DepthwisePhase& p, long image, long side,
                           long row, long rows) {
  const Conv& c = p.c;
  const Steps steps = dense(c.size, c.channels);
  const long y = row * c.stride.y - c.pad.y, pieces = up(c.out.x, BESIDE);
  Piece piece;
  piece.row = c.dilation.y * steps.y;
  piece.column = steps.x;
  piece.top = y < 0 ? up(-y, c.dilation.y) : 0;
  piece.bottom = least(c.taps.y + rows - 1, up(most(c.size.y - y, 0), c.dilation.y));
  piece.taps = c.taps.y;
  piece.far = d.far;
  piece.y_row = p.to.y;
  piece.y_column = p.to.x;
  const PieceFunction sum = PIECES[c.taps.x - 1][rows == 2 ? 2 : c.stride.x - 1];
  for (long i = 0; i < pieces; ++i) {  // of nearly equal width
    const long begin = i * c.out.x / pieces, x = begin * c.stride.x - c.pad.x;
    piece.count = (i + 1) * c.out.x / pieces - begin;
    const long seen = (piece.count - 1) * c.stride.x + c.taps.x;
    piece.left = most(-x, 0);
    piece.wide = most(least(seen, c.size.x - x) - piece.left, 0);
    const float* from = d.x + steps.at(image, 0, y) + x * steps.x;
    float* to = p.y + p.to.at(image, 0, row) + begin * p.to.x;
    for (long b = side * d.blocks.side; b < d.blocks.end(side); ++b) {
      const long channel = d.blocks.channel(b);
      piece.x = from + channel;
      piece.y = to + channel;
      piece.filter = p.packed + b * c.taps.all() * LANES;
      piece.end = ending(p.finish, channel, piece.y - p.y);
      sum(piece);
    }
  }
}

// A band of some blocks of one image.
void depthwise_task(const void* argument, long task) {
  const Depthwise& d = *(const Depthwise*)argument;
  const long sides = d.blocks.sides, image = task / (sides * d.bands);
  const long side = task / d.bands % sides, top = task % d.bands * d.band;
  for (long i = 0; i < d.count; ++i) {
    const DepthwisePhase& p = d.phases[i];
    const bool pairs = TWO_ROWS && p.c.stride.y == 1 && p.c.stride.x == 1 && p.c.dilation.y == 1;
    const long end = least(top + d.band, p.c.out.y);
    for (long row = top, rows; row < end; row += rows) {
      rows = pairs && row + 1 < end ? 2 : 1;
      depthwise_rows(d, p, image, side, row, rows);
    }
  }
}

// Outputs do not depend on how they are shared out, so that may depend on the threads.
void depthwise_slide(Depthwise& d, Workers& workers) {
  long rows = 0, work = 0, taps = 0, pixels = 0;
  for (long i = 0; i < d.count; ++i) {
    const Conv& c = d.phases[i].c;
    rows = most(rows, c.out.y);
    work += c.out.x * c.taps.all() * d.blocks.side;  // of a row
    taps += c.taps.all();
    pixels += c.out.all() + (i == 0 ? c.size.all() : 0);
  }
  d.far = d.images * pixels * d.blocks.channels > FAR_FLOATS;
  if (rows == 0) return;
  d.band = least(rows, up(most(1, BAND_SUMS / most(work, 1)), 2) * 2);
  d.bands = up(rows, d.band);
  float* packed = penstock::scratch(1, d.blocks.count * taps * LANES);
  for (long i = 0; i < d.count; ++i) {
    d.phases[i].packed = packed;
    packed += d.blocks.count * d.phases[i].c.taps.all() * LANES;
  }
  for (long i = 0; i < d.blocks.sides; ++i) pack_depthwise_task(&d, i);
  workers.run(d.images * d.blocks.sides * d.bands, depthwise_task, &d);
}

void depthwise_conv(const Conv& c, const float* x, const float* w, float* y,
                    const penstock::Finish& finish, Workers& workers) {
  Depthwise d = {x, Blocks(c.channels), c.images, 0, 0, false, 1, {}};
  d.phases[0] = DepthwisePhase{c, Filter{w, false, {}, {}, c.taps}, y, dense(c.out, c.filters),
                               finish, nullptr};
  depthwise_slide(d, workers);
}

// Where `is_depthwise`, and there are at most MOST_PHASES.
void depthwise_input_grad(const Conv& c, const float* w, const float* dy, float* dx,
                          const penstock::Finish& finish, Workers& workers) {
  clear_unmet(c, dx);
  const Steps steps = dense(c.size, c.channels);
  Depthwise d = {dy, Blocks(c.channels), c.images, 0, 0, false, 0, {}};
  each_phase(c, w, [&](const Conv& turned, const Axes& first, const Filter& filter) {
    const long from = steps.at(0, first.z, first.y) + first.x * steps.x;
    d.phases[d.count++] = DepthwisePhase{turned, filter, dx + from, phase_steps(c),
                                         finish_from(finish, from), nullptr};
  });
  depthwise_slide(d, workers);
}

}  // namespace
