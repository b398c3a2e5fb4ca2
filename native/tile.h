// The inner kernel: a tile of the result held in registers while sums run over k.
//
// Part of isa.cc, which is compiled once for each instruction set: everything is static, and
// nothing of the standard library is used, so that no function for a wide instruction set can
// stand in for one of the same name elsewhere.
#pragma once

#include "kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define PENSTOCK_VECTOR_BYTES 64
static const int ROWS = 14;      // 28 sums, 2 vectors of b and 1 of a in 32 registers
static const int WIDE_ROWS = 6;  // 24 sums, 4 vectors of b and 1 of a: of tiles of two panels
#elif defined(__AVX2__)
#define PENSTOCK_VECTOR_BYTES 32
static const int ROWS = 6;  // 12 sums, 2 vectors of b and 1 of a in 16 registers
static const int WIDE_ROWS = 0;  // no tiles of two panels
#elif defined(__aarch64__)
#define PENSTOCK_VECTOR_BYTES 16
static const int ROWS = 12;
static const int WIDE_ROWS = 0;
#else
#define PENSTOCK_VECTOR_BYTES 16
static const int ROWS = 6;
static const int WIDE_ROWS = 0;
#endif

typedef float Vector __attribute__((vector_size(PENSTOCK_VECTOR_BYTES)));
typedef float Unaligned
    __attribute__((vector_size(PENSTOCK_VECTOR_BYTES), aligned(4), may_alias));

static const long LANES = PENSTOCK_VECTOR_BYTES / 4;
static const long COLUMNS = 2 * LANES;  // of a panel of b
static const int LINE = LANES < 16 ? 2 : 1;  // vectors of a pair that one prefetch asks for
static const int LINES = 128 / PENSTOCK_VECTOR_BYTES;  // vectors of two lines: processors bring them in pairs
static const long BESIDE = 16;  // floats of a line: columns no further apart are read one after the other
static const long WAY = 1024;  // floats: rows so far apart, or a multiple, share one set of the first cache
static const long FEW_ROWS = ROWS < 7 ? ROWS : 7;  // of those, which a set has room for
static const long PANELS = WIDE_ROWS > 0 ? 2 : 1;  // that a tile works on at most

static inline Vector load(const float* from) { return *(const Unaligned*)from; }
static inline void store(float* to, Vector value) { *(Unaligned*)to = value; }

// The first `count` floats of a vector, 0 to LANES; no others are touched.
#if defined(__AVX512F__)
static inline __mmask16 first(long count) { return (__mmask16)((1u << count) - 1); }
static inline Vector load_first(const float* from, long count) {
  return (Vector)_mm512_maskz_loadu_ps(first(count), from);
}
static inline void store_first(float* to, Vector value, long count) {
  _mm512_mask_storeu_ps(to, first(count), (__m512)value);
}
#elif defined(__AVX2__)
static inline __m256i first(long count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline Vector load_first(const float* from, long count) {
  return (Vector)_mm256_maskload_ps(from, first(count));
}
static inline void store_first(float* to, Vector value, long count) {
  _mm256_maskstore_ps(to, first(count), (__m256)value);
}
#else
static inline Vector load_first(const float* from, long count) {
  Vector value = {};
  for (long i = 0; i < count; ++i) value[i] = from[i];
  return value;
}
static inline void store_first(float* to, Vector value, long count) {
  for (long i = 0; i < count; ++i) to[i] = value[i];
}
#endif

static inline Vector load_some(const float* from, long count) {
  return count == LANES ? load(from) : load_first(from, count);
}

static inline void store_some(float* to, Vector value, long count) {
  count == LANES ? store(to, value) : store_first(to, value, count);
}

static inline Vector splat(float value) {
#if defined(__AVX512F__)
  return (Vector)_mm512_set1_ps(value);
#elif defined(__AVX2__)
  return (Vector)_mm256_set1_ps(value);
#else
  return Vector{value, value, value, value};
#endif
}

static inline long least(long a, long b) { return a < b ? a : b; }
static inline long most(long a, long b) { return a > b ? a : b; }
static inline long up(long value, long step) { return (value + step - 1) / step; }

// What follows a sum in the same pass over memory; pointers lie where the tile's columns begin.
struct Ending {
  const float* bias = nullptr;    // one number for each column
  const float* beside = nullptr;  // laid out as c
  const float* gate = nullptr;    // laid out as c
  int activation = penstock::NONE;
  bool none() const {
    return bias == nullptr && beside == nullptr && gate == nullptr && activation == penstock::NONE;
  }
};

typedef int Ints __attribute__((vector_size(PENSTOCK_VECTOR_BYTES)));

// NaN stays NaN, as in TensorFlow.
static inline Vector activated(Vector x, int activation) {
  if (activation == penstock::NONE) return x;
  x = (Vector)((Ints)x & ~(Ints)(x < Vector{}));
  if (activation == penstock::RELU) return x;
  const Vector six = splat(6);
  const Ints above = (Ints)(x > six);
  return (Vector)(((Ints)x & ~above) | ((Ints)six & above));
}

// Zero where the gate is not above zero.
static inline Vector gated(Vector x, Vector gate) {
  return (Vector)((Ints)x & (Ints)(gate > Vector{}));
}

// Element (i, k) of segment s of a is a[starts[s] + i * a_row + k * a_col]; row k of b follows on
// from segment to segment: b[(s * length + k) * b_row ...]. Where rows are spread, row i of a begins
// at a_rows[i] and of c at c_rows[i], and columns of a follow each other.
struct Tile {
  const float* a;
  long a_row, a_col;
  const long* a_rows = nullptr;
  const long* c_rows = nullptr;
  const long* starts;
  long segments, length;
  const float* b;
  long b_row;
  long b_next = 0;  // from a panel of b to the next: where there are more columns than in one
  float* c;
  long c_row;
  long columns;  // to store, at most PANELS * COLUMNS; b must have a full vector where one begins
  bool add;      // to what c holds
  Ending end;    // applied to what is stored: given with the last piece of the sums alone
  long place(long i) const { return c_rows != nullptr ? c_rows[i] : i * c_row; }
};

static const long NO_START[1] = {0};

// `rows` rows of sums, dense, into the columns of c that there are.
static __attribute__((noinline)) void store_part(const Tile& t, const float* sums, long rows,
                                                 long width) {
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < t.columns; j += LANES) {
      const long at = t.place(i) + j, count = least(LANES, t.columns - j);
      Vector sum = load(sums + i * width + j);
      if (t.add) sum += load_some(t.c + at, count);
      if (t.end.bias != nullptr) sum += load_some(t.end.bias + j, count);
      if (t.end.beside != nullptr) sum += load_some(t.end.beside + at, count);
      if (t.end.gate != nullptr) sum = gated(sum, load_some(t.end.gate + at, count));
      store_some(t.c + at, activated(sum, t.end.activation), count);
    }
}

// How rows and columns of a lie. FAR: columns more than BESIDE apart, as pixels do in the gradient by
// a filter; then the processor does not see what comes next by itself. SPREAD: rows anywhere.
enum Lie { NEAR, FAR, SPREAD };

template <int R, int V, Lie LIE>
static void tile(const Tile& t) {
  long place[R];  // of the rows of c
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) place[i] = LIE == SPREAD ? t.c_rows[i] : i * t.c_row;
  Vector sums[R][V];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) sums[i][v] = Vector{};
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i)  // so that they are there when the sums are
#pragma GCC unroll 4
    for (int v = 0; v < V; v += LINE) __builtin_prefetch(t.c + place[i] + v * LANES);
  const float* b[] = {t.b, t.b + t.b_next};  // the second of two panels
  const long ahead = (V > 2 ? 8 : 12) * t.b_row;
  const long row = t.a_row, col = LIE == SPREAD ? 1 : t.a_col, b_row = t.b_row;
  // One pointer for three rows: row and 2 * row are addressing modes of the processor.
  const int EACH = LIE == SPREAD ? 1 : 3, POINTERS = (R + EACH - 1) / EACH;
  for (long s = 0; s < t.segments; ++s) {
    const float* a[POINTERS];
#pragma GCC unroll 8
    for (int g = 0; g < POINTERS; ++g)
      a[g] = t.a + t.starts[s] + (LIE == SPREAD ? t.a_rows[g] : EACH * g * row);
    // What a step does beside its sums is a fifth of its instructions, and where two threads share a
    // core, which instructions there are is what limits it.
#pragma GCC unroll 4
    for (long k = 0; k < t.length; ++k) {
      Vector right[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) right[v] = load(b[v / 2] + v % 2 * LANES);
#pragma GCC unroll 4
      for (int v = 0; v < V; v += LINES) __builtin_prefetch(b[v / 2] + ahead + v % 2 * LANES);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) {
        const Vector left = splat(a[i / EACH][i % EACH * row]);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sums[i][v] += left * right[v];
      }
#pragma GCC unroll 8
      for (int g = 0; g < POINTERS; ++g) a[g] += col;
      if (LIE == FAR) {
        __builtin_prefetch(a[0] + 8 * col);
        __builtin_prefetch(a[(R - 1) / EACH] + (R - 1) % EACH * row + 8 * col);
      }
#pragma GCC unroll 2
      for (int p = 0; p < (V + 1) / 2; ++p) b[p] += b_row;
    }
  }
  if (t.columns < V * LANES) {
    alignas(64) float all[R * V * LANES];
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) store(all + (i * V + v) * LANES, sums[i][v]);
    store_part(t, all, R, V * LANES);
    return;
  }
  float* c = t.c;
  if (t.add) {
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sums[i][v] += load(c + place[i] + v * LANES);
  }
  if (!t.end.none()) {
    if (t.end.bias != nullptr) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const Vector bias = load(t.end.bias + v * LANES);
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) sums[i][v] += bias;
      }
    }
    if (t.end.beside != nullptr) {
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sums[i][v] += load(t.end.beside + place[i] + v * LANES);
    }
    if (t.end.gate != nullptr) {
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v)
          sums[i][v] = gated(sums[i][v], load(t.end.gate + place[i] + v * LANES));
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sums[i][v] = activated(sums[i][v], t.end.activation);
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) store(c + place[i] + v * LANES, sums[i][v]);
}

typedef void (*TileFunction)(const Tile&);

#define PENSTOCK_TILES(R) {tile<R, 1, LIE>, tile<R, 2, LIE>}
template <Lie LIE>
static inline void run_narrow_tile(long rows, const Tile& t) {
  static const TileFunction tiles[][2] = {
      PENSTOCK_TILES(1), PENSTOCK_TILES(2),  PENSTOCK_TILES(3),  PENSTOCK_TILES(4),
      PENSTOCK_TILES(5), PENSTOCK_TILES(6),
#if defined(__AVX512F__) || defined(__aarch64__)
      PENSTOCK_TILES(7), PENSTOCK_TILES(8),  PENSTOCK_TILES(9),  PENSTOCK_TILES(10),
      PENSTOCK_TILES(11), PENSTOCK_TILES(12),
#endif
#if defined(__AVX512F__)
      PENSTOCK_TILES(13), PENSTOCK_TILES(14),
#endif
  };
  tiles[rows - 1][t.columns > LANES](t);
}

#if defined(__AVX512F__)
#define PENSTOCK_WIDE_TILES(R) {tile<R, 4, NEAR>, tile<R, 4, FAR>}
static inline void run_wide_tile(long rows, const Tile& t) {
  static const TileFunction tiles[][2] = {
      PENSTOCK_WIDE_TILES(1), PENSTOCK_WIDE_TILES(2), PENSTOCK_WIDE_TILES(3),
      PENSTOCK_WIDE_TILES(4), PENSTOCK_WIDE_TILES(5), PENSTOCK_WIDE_TILES(6),
  };
  tiles[rows - 1][t.a_col > BESIDE](t);
}
#else
static inline void run_wide_tile(long, const Tile&) { __builtin_unreachable(); }
#endif

static inline void run_tile(long rows, const Tile& t) {
  t.a_col > BESIDE ? run_narrow_tile<FAR>(rows, t) : run_narrow_tile<NEAR>(rows, t);
}

static const long SPREAD_ROWS = 6;  // of a tile at most: each has a pointer
#define PENSTOCK_SPREAD_TILES(R) {tile<R, 1, SPREAD>, tile<R, 2, SPREAD>}
static inline void run_spread_tile(long rows, const Tile& t) {
  static const TileFunction tiles[][2] = {
      PENSTOCK_SPREAD_TILES(1), PENSTOCK_SPREAD_TILES(2), PENSTOCK_SPREAD_TILES(3),
      PENSTOCK_SPREAD_TILES(4), PENSTOCK_SPREAD_TILES(5), PENSTOCK_SPREAD_TILES(6),
  };
  tiles[rows - 1][t.columns > LANES](t);
}

// `total` rows in strips of nearly equal height, none above `tallest`.
struct Strips {
  long count, height, taller;  // the first `taller` strips have height + 1 rows
  explicit Strips(long total, long tallest = ROWS)
      : count(up(total, tallest)),
        height(count ? total / count : 0),
        taller(count ? total % count : 0) {}
  long begin(long strip) const { return strip * height + least(strip, taller); }
  long rows(long strip) const { return height + (strip < taller); }
};

// Whether so many rows fill tiles of two panels: with few rows each, b cannot be read fast enough.
static inline bool fill_wide(long rows) {
  return WIDE_ROWS > 0 && rows > (WIDE_ROWS - 1) * up(rows, most(WIDE_ROWS, 1));
}

// Panels that the tiles of so many rows take where so many columns are left: two where rows fill
// them and both are nearly full.
static inline long panels_for(long rows, long columns) {
  return columns > COLUMNS + LANES && fill_wide(rows) ? 2 : 1;
}

// Strips of rows for tiles of both kinds: two wide tiles, or one of the other kind.
static const long LEAST_STRIP = WIDE_ROWS > 0 ? 2 * WIDE_ROWS : ROWS;
static inline Strips strips_of(long rows) {
  return Strips(rows, fill_wide(rows) ? LEAST_STRIP : ROWS);
}

// Tiles for any number of rows; of two panels where there are columns for them.
static inline void run_rows(long rows, const Tile& t) {
  if (rows < 1) return;
  if (PANELS == 1 && FEW_ROWS == ROWS && rows <= ROWS) return run_tile(rows, t);  // the short way
  const bool wide = t.columns > COLUMNS, crowded = t.a_col == 1 && t.a_row % WAY == 0;
  const long tallest = wide ? WIDE_ROWS : crowded ? FEW_ROWS : ROWS;
  if (rows <= tallest) return wide ? run_wide_tile(rows, t) : run_tile(rows, t);
  Tile part = t;
  const Strips strips(rows, tallest);
  for (long s = 0; s < strips.count; ++s) {
    const long height = strips.rows(s);
    wide ? run_wide_tile(height, part) : run_tile(height, part);
    part.a += height * t.a_row;
    part.c += height * t.c_row;
    if (t.end.beside != nullptr) part.end.beside += height * t.c_row;
    if (t.end.gate != nullptr) part.end.gate += height * t.c_row;
  }
}
