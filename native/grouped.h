// Convolutions whose groups are narrower than a vector, depthwise ones among them. Part of isa.cc.
//
// A vector holds neighbouring filters of several groups. The channels that they see lie in one
// vector too, so each product is one permutation of it, or none where every group has one channel
// and one filter. A task copies the channels that it needs, with their padding, so that pixels lie a
// vector apart: sums run over dense memory, whatever the number of channels. Lanes right of the
// last filter hold zeros.
#pragma once

#include "depthwise_filter.h"
#include "pool.h"

namespace {

const int ACROSS = 8;         // pixels whose sums are in registers at a time
const int TAPS = 12;          // sums of the filter's gradient in registers at a time
const long SIDE = 8;          // blocks that a task works on, so that it reads memory in order

// Lane l of the result is lane which[l] of the vector.
inline Vector permuted(Vector from, Ints which) {
#if defined(__AVX512F__)
  return (Vector)_mm512_maskz_permutexvar_ps(0xffff, (__m512i)which, (__m512)from);
#elif defined(__AVX2__)
  return (Vector)_mm256_permutevar8x32_ps((__m256)from, (__m256i)which);
#else
  Vector to;
  for (long i = 0; i < LANES; ++i) to[i] = from[which[i]];
  return to;
#endif
}

inline bool is_narrow(const Conv& c) {
  return c.groups > 1 && 2 * most(c.inner(), c.outer()) <= LANES && c.size.z == 1 &&
         c.taps.z == 1 && c.out.z == 1;
}

// A convolution with narrow groups, cut into blocks of groups that fill a vector; tasks are bands of
// rows of several blocks.
struct Narrow {
  Conv c;
  const float *x, *dy;
  float* y;        // the output of a sliding, or the parts of the filter's gradient
  Steps to;        // of the output
  float* filter;   // [block][tap][inner][LANES]
  long block, blocks;  // groups in a vector
  long side, sides;    // blocks of a task
  long band, bands;
  long parts, units;  // of the filter's gradient
  Axes seen(long rows) const { return seen_for(Axes{1, rows, c.out.x}, c.taps, c.stride, c.dilation); }
  long first_group(long which) const { return which * block; }
  long some_groups(long which) const { return least(block, c.groups - which * block); }
  long some_blocks(long which) const { return least(side, blocks - which * side); }
  long taps() const { return c.taps.all() * c.inner(); }
  bool permutes() const { return c.inner() != 1 || c.outer() != 1; }
};

// The lanes of a block's channels that its filters see first.
inline Ints lanes_of(const Conv& c) {
  Ints which = {};
  const long block = LANES / most(c.inner(), c.outer());
  for (long i = 0; i < block * c.outer(); ++i) which[i] = (int)(i / c.outer() * c.inner());
  return which;
}

inline Narrow narrow_of(const Conv& c, const float* x) {
  Narrow n;
  n.c = c;
  n.x = x;
  n.block = LANES / most(c.inner(), c.outer());
  n.blocks = up(c.groups, n.block);
  n.sides = up(n.blocks, SIDE);
  n.side = up(n.blocks, n.sides);
  n.sides = up(n.blocks, n.side);
  const long row = n.seen(1).x * LANES * n.side;
  n.band = most(1, least((ROOM / row - n.seen(1).y) / c.stride.y + 1, c.out.y));
  n.band = up(c.out.y, up(c.out.y, n.band));
  n.bands = up(c.out.y, n.band);
  return n;
}

// What a band of a side needs of an image.
inline void spread_band(float* room, const Narrow& n, long image, long side, long top, long rows) {
  const Conv& c = n.c;
  const Axes box = n.seen(rows);
  const long first = side * n.side, count = n.some_blocks(side);
  const Lanes lanes = {c.channels, count, n.block * c.inner(),
                       n.some_groups(first + count - 1) * c.inner()};
  spread(room, n.x + image * c.size.all() * c.channels + n.first_group(first) * c.inner(), c.size,
         lanes, top * c.stride.y - c.pad.y, -c.pad.x, box.y, box.x);
}

// Sums of P neighbouring pixels of the output: `x` is the first tap of the first of them.
template <int P, bool PERMUTED>
static void narrow_pixels(const Narrow& n, const float* x, long row, const float* w, Ints first,
                          Vector* to) {
  const Axes taps = n.c.taps;
  const long step = n.c.stride.x * LANES, inner = PERMUTED ? n.c.inner() : 1;
  const long right = n.c.dilation.x * LANES, down = n.c.dilation.y * row;
  Vector sums[P];
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) sums[p] = Vector{};
  for (long i = 0; i < taps.y; ++i, x += down)
    for (long j = 0; j < taps.x; ++j) {
      const float* at[(P + 2) / 3];  // as in `tile`
#pragma GCC unroll 8
      for (int g = 0; g < (P + 2) / 3; ++g) at[g] = x + j * right + 3 * g * step;
      Ints which = first;
      for (long k = 0; k < inner; ++k, w += LANES, which += 1) {
        const Vector factor = load(w);
#pragma GCC unroll 8
        for (int p = 0; p < P; ++p) {
          const Vector seen = load(at[p / 3] + p % 3 * step);
          sums[p] += (PERMUTED ? permuted(seen, which) : seen) * factor;
        }
      }
    }
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) to[p] = sums[p];
}

typedef void (*PixelsFunction)(const Narrow&, const float*, long, const float*, Ints, Vector*);
#define PENSTOCK_PIXELS(P) {narrow_pixels<P, false>, narrow_pixels<P, true>}
static const PixelsFunction PIXEL_SUMS[ACROSS][2] = {
    PENSTOCK_PIXELS(1), PENSTOCK_PIXELS(2), PENSTOCK_PIXELS(3), PENSTOCK_PIXELS(4),
    PENSTOCK_PIXELS(5), PENSTOCK_PIXELS(6), PENSTOCK_PIXELS(7), PENSTOCK_PIXELS(8),
};

struct NarrowSliding {
  Narrow n;
  penstock::Finish finish;
};

// Neighbouring pixels of one row of the output, for the lanes of a block.
inline void narrow_piece(const NarrowSliding& s, const float* x, long row, long which, float* y,
                         long count, Ints lanes_first) {
  const Narrow& n = s.n;
  const long column = n.first_group(which) * n.c.outer();
  const long lanes = n.some_groups(which) * n.c.outer();
  Vector sums[ACROSS];
  PIXEL_SUMS[count - 1][n.permutes()](n, x, row, n.filter + which * n.taps() * LANES, lanes_first,
                                      sums);
  const Ending end = ending(s.finish, column, y + column - n.y);
  for (long i = 0; i < count; ++i) {
    if (end.bias != nullptr) sums[i] += load_some(end.bias, lanes);
    if (end.beside != nullptr) sums[i] += load_some(end.beside + i * n.to.x, lanes);
    if (end.gate != nullptr) sums[i] = gated(sums[i], load_some(end.gate + i * n.to.x, lanes));
    store_some(y + column + i * n.to.x, activated(sums[i], end.activation), lanes);
  }
}

// A band of some blocks of one image.
void narrow_task(const void* argument, long task) {
  const NarrowSliding& s = *(const NarrowSliding*)argument;
  const Narrow& n = s.n;
  const long image = task / (n.sides * n.bands), side = task / n.bands % n.sides;
  const long top = task % n.bands * n.band, rows = least(n.band, n.c.out.y - top);
  const Axes box = n.seen(rows);
  float* room = penstock::scratch(0, n.seen(n.band).all() * LANES * n.side);
  spread_band(room, n, image, side, top, rows);
  const Ints lanes_first = lanes_of(n.c);
  const long pieces = up(n.c.out.x, ACROSS), row = box.x * LANES;
  for (long i = 0; i < rows; ++i)
    for (long piece = 0; piece < pieces; ++piece) {  // of nearly equal width
      const long begin = piece * n.c.out.x / pieces;
      const long count = (piece + 1) * n.c.out.x / pieces - begin;
      const float* x = room + i * n.c.stride.y * row + begin * n.c.stride.x * LANES;
      float* y = n.y + n.to.at(image, 0, top + i) + begin * n.to.x;
      for (long b = 0; b < n.some_blocks(side); ++b)
        narrow_piece(s, x + b * box.y * row, row, side * n.side + b, y, count, lanes_first);
    }
}

struct NarrowPacking {
  const Narrow* n;
  const Filter* filter;
};

// The filter of one block, a vector for each tap and channel; turned as `pack_filter` does.
void pack_narrow_task(const void* argument, long which) {
  const NarrowPacking& p = *(const NarrowPacking*)argument;
  const Narrow& n = *p.n;
  const Filter& f = *p.filter;
  const Conv& c = n.c;
  const long first = n.first_group(which), count = n.some_groups(which) * c.outer();
  float* to = n.filter + which * n.taps() * LANES;
  for (long tap = 0; tap < c.taps.all(); ++tap)
    for (long k = 0; k < c.inner(); ++k, to += LANES) {
      if (!f.turned) {
        const float* from = f.w + (tap * c.inner() + k) * c.filters + first * c.outer();
        store(to, load_some(from, count));
        continue;
      }
      const long y = f.last.y - tap / c.taps.x * f.step.y;
      const long x = f.last.x - tap % c.taps.x * f.step.x;
      const float* from = f.w + (y * f.taps.x + x) * c.outer() * c.channels + first * c.inner() + k;
      store(to, Vector{});
      for (long i = 0; i < count; ++i)
        to[i] = from[i % c.outer() * c.channels + i / c.outer() * c.inner()];
    }
}

void narrow_slide(const Conv& c, const float* x, const Filter& filter, float* y, const Steps& to,
                  const penstock::Finish& finish, Workers& workers) {
  NarrowSliding s = {narrow_of(c, x), finish};
  Narrow& n = s.n;
  n.y = y;
  n.to = to;
  n.filter = penstock::scratch(1, n.blocks * n.taps() * LANES);
  const NarrowPacking packing = {&n, &filter};
  workers.run(n.blocks, pack_narrow_task, &packing);
  workers.run(c.images * n.sides * n.bands, narrow_task, &s);
}

// Adds to T neighbouring rows (tap and channel) of the filter's gradient what one band gives.
template <int T, bool PERMUTED>
static void narrow_sums(const Narrow& n, const float* x, const float* dy, long rows, long first,
                        Ints lanes, Vector* sums) {
  const Conv& c = n.c;
  const long row = n.seen(1).x * LANES;
  Vector all[T];
  Ints which[T];
  long from[T];
#pragma GCC unroll 12
  for (int t = 0; t < T; ++t) {
    const long tap = (first + t) / c.inner();
    all[t] = sums[t];
    which[t] = lanes + (int)((first + t) % c.inner());
    from[t] = tap / c.taps.x * c.dilation.y * row + tap % c.taps.x * c.dilation.x * LANES;
  }
  const long step = c.stride.x * LANES;
  for (long i = 0; i < rows; ++i, x += c.stride.y * row) {
    const float* at = x;
    for (long p = 0; p < c.out.x; ++p, at += step, dy += LANES) {
      const Vector grad = load(dy);
#pragma GCC unroll 12
      for (int t = 0; t < T; ++t) {
        const Vector seen = load(at + from[t]);
        all[t] += (PERMUTED ? permuted(seen, which[t]) : seen) * grad;
      }
    }
  }
#pragma GCC unroll 12
  for (int t = 0; t < T; ++t) sums[t] = all[t];
}

typedef void (*SumsFunction)(const Narrow&, const float*, const float*, long, long, Ints, Vector*);
#define PENSTOCK_SUMS(T) {narrow_sums<T, false>, narrow_sums<T, true>}
static const SumsFunction SUMS[TAPS][2] = {
    PENSTOCK_SUMS(1), PENSTOCK_SUMS(2), PENSTOCK_SUMS(3),  PENSTOCK_SUMS(4),
    PENSTOCK_SUMS(5), PENSTOCK_SUMS(6), PENSTOCK_SUMS(7),  PENSTOCK_SUMS(8),
    PENSTOCK_SUMS(9), PENSTOCK_SUMS(10), PENSTOCK_SUMS(11), PENSTOCK_SUMS(12),
};

// The gradient of some blocks, summed over the bands of one part.
void narrow_filter_task(const void* argument, long task) {
  const Narrow& n = *(const Narrow*)argument;
  const Conv& c = n.c;
  const long side = task / n.parts, part = task % n.parts;
  const long first = side * n.side, count = n.some_blocks(side), size = n.taps();
  const long column = n.first_group(first) * c.outer();
  const Lanes grads = {c.filters, count, n.block * c.outer(),
                       n.some_groups(first + count - 1) * c.outer()};
  const Ints lanes_first = lanes_of(c);
  const long step = up(size, up(size, TAPS));
  float* room = penstock::scratch(0, n.seen(n.band).all() * LANES * n.side);
  float* right = penstock::scratch(2, n.band * c.out.x * LANES * n.side);
  Vector* sums = (Vector*)penstock::scratch(3, n.side * size * LANES);
  for (long t = 0; t < count * size; ++t) sums[t] = Vector{};
  const long all = c.images * n.bands, end = least((part + 1) * n.units, all);
  for (long unit = part * n.units; unit < end; ++unit) {
    const long image = unit / n.bands, top = unit % n.bands * n.band;
    const long rows = least(n.band, c.out.y - top);
    const Axes box = n.seen(rows);
    spread_band(room, n, image, side, top, rows);
    spread(right, n.dy + image * c.out.all() * c.filters + column, c.out, grads, top, 0, rows,
           c.out.x);
    for (long b = 0; b < count; ++b)
      for (long t = 0; t < size; t += step)
        SUMS[least(step, size - t) - 1][n.permutes()](
            n, room + b * box.all() * LANES, right + b * rows * c.out.x * LANES, rows, t,
            lanes_first, sums + b * size + t);
  }
  for (long b = 0; b < count; ++b)
    for (long t = 0; t < size; ++t)
      store_some(n.y + (part * size + t) * c.filters + column + b * grads.width,
                 sums[b * size + t], b + 1 < count ? grads.width : grads.last);
}

void narrow_filter_grad(const Conv& c, const float* x, const float* dy, float* dw,
                        Workers& workers) {
  Narrow n = narrow_of(c, x);
  n.dy = dy;
  const long all = c.images * n.bands, size = n.taps() * c.filters;
  n.units = up(all, most(1, up(GROUPS, n.sides)));
  n.parts = up(all, n.units);
  n.y = n.parts == 1 ? dw : penstock::scratch(1, n.parts * size);
  workers.run(n.sides * n.parts, narrow_filter_task, &n);
  add_parts(Parts{n.y, dw, n.parts, size}, workers);
}

// Every convolution: by vectors of groups where those are narrow, by tiles otherwise.

void conv(const Conv& c, const float* x, const float* w, float* y, const penstock::Finish& finish,
          Workers& workers) {
  if (is_depthwise(c)) return depthwise_conv(c, x, w, y, finish, workers);
  if (!is_narrow(c)) return tiled_conv(c, x, w, y, finish, workers);
  narrow_slide(c, x, Filter{w, false, {}, {}, {}}, y, dense(c.out, c.filters), finish, workers);
}

void conv_input_grad(const Conv& c, const float* w, const float* dy, float* dx,
                     const penstock::Finish& finish, Workers& workers) {
  if (is_depthwise(c) && c.stride.all() <= MOST_PHASES)
    return depthwise_input_grad(c, w, dy, dx, finish, workers);
  if (!is_narrow(c)) return tiled_input_grad(c, w, dy, dx, finish, workers);
  clear_unmet(c, dx);
  const Steps steps = dense(c.size, c.channels);
  each_phase(c, w, [&](const Conv& turned, const Axes& first, const Filter& filter) {
    const long from = steps.at(0, first.z, first.y) + first.x * steps.x;
    narrow_slide(turned, dy, filter, dx + from, phase_steps(c), finish_from(finish, from), workers);
  });
}

void conv_filter_grad(const Conv& c, const float* x, const float* dy, float* dw,
                      Workers& workers) {
  if (has_sweep(c)) return depthwise_filter_grad(c, x, dy, dw, workers);
  (is_narrow(c) ? narrow_filter_grad : tiled_filter_grad)(c, x, dy, dw, workers);
}

}  // namespace
