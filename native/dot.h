// Products and convolutions of 16- and 8-bit numbers, for processors that sum products of several of
// them at once: AVX-512 with BF16 and VNNI, and AMX. Part of dot_isa.cc, compiled once for each.
//
// A product is a convolution with one tap. The left side is laid out in strips of 32 rows, each row
// the numbers that a pixel of the output sums over, in the filter's order and up to whole 64 bytes.
// The right side is laid out in panels of 32 columns, four bytes of a column side by side: two
// bfloat16 or four bytes along the sum. Both instruction sets take these layouts.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 warns of its own <immintrin.h>
#endif
#include <immintrin.h>

#include "dot_kernels.h"

namespace {

using penstock::DotJob;
using penstock::Workers;

const long LINE = 64;           // bytes that both sides are cut into along the sum
const long STRIP = 32;          // rows of a strip, columns of a panel
const long PANEL_LINE = STRIP * LINE;  // bytes of a panel for one line of the left side

inline long up(long value, long step) { return (value + step - 1) / step; }
inline long least(long a, long b) { return a < b ? a : b; }
inline long most(long a, long b) { return a > b ? a : b; }

// A job with what follows from it.
struct Work {
  const DotJob* job;
  const char *left, *right;  // of this entry of the batch
  char* to;
  char* panels;     // [panel][line][16 * 2 vectors]
  int* lacks;       // for bytes with sign: what each column's sums lack
  long size;        // bytes of a number
  long depth;       // numbers in a sum
  long lines;       // of 64 bytes, in a sum
  long rows, columns, strips, panel_count;
  long band, bands, width, sides;  // strips and panels of a task
};

// ---- the right side

// Sixteen columns of `count` rows of the right side (2 of bfloat16, 4 of bytes) as one vector.
inline __m512i across(const Work& w, long row, long count, long column, long columns) {
  const DotJob& j = *w.job;
  const __mmask16 seen = (__mmask16)((1u << columns) - 1);
  const char* from = w.right + (row * j.right_row + column * j.right_column) * w.size;
  __m512i all = _mm512_setzero_si512();
  if (j.right_column == 1) {
    for (long i = 0; i < count; ++i, from += j.right_row * w.size) {
      if (w.size == 2)
        all = _mm512_or_si512(
            all, _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(seen, from)),
                                   (unsigned)(16 * i)));
      else
        all = _mm512_or_si512(
            all, _mm512_slli_epi32(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(seen, from)),
                                   (unsigned)(8 * i)));
    }
    return all;
  }
  alignas(64) int words[16] = {};
  for (long c = 0; c < columns; ++c)
    __builtin_memcpy(&words[c], from + c * j.right_column * w.size, (unsigned long)(count * w.size));
  return _mm512_load_si512(words);
}

void pack_panel_task(const void* argument, long panel) {
  const Work& w = *(const Work*)argument;
  const long each = 4 / w.size, first = panel * STRIP;
  char* to = w.panels + panel * w.lines * PANEL_LINE;
  __m512i sums[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (long row = 0; row < w.lines * LINE / w.size; row += each)
    for (long v = 0; v < 2; ++v) {
      const long column = first + 16 * v;
      const long columns = most(0, least(16, w.columns - column));
      const long count = most(0, least(each, w.depth - row));
      const __m512i some = across(w, row, count, column, columns);
      // [line][vector][16 words of four bytes]
      const long line = row * w.size / LINE, within = row / each % 16;
      _mm512_storeu_si512(to + line * PANEL_LINE + v * 1024 + within * 64, some);
      if (w.lacks != nullptr)
        sums[v] = _mm512_dpbusd_epi32(sums[v], _mm512_set1_epi8((char)0x80), some);
    }
  if (w.lacks != nullptr)
    for (long v = 0; v < 2; ++v) _mm512_storeu_si512(w.lacks + first + 16 * v, sums[v]);
}

// ---- the left side

// Bytes with sign become bytes without, 128 higher.
inline void put(char* to, const char* from, long bytes, bool raised) {
  if (!raised) {
    __builtin_memcpy(to, from, (unsigned long)bytes);
    return;
  }
  const __m512i high = _mm512_set1_epi8((char)0x80);
  long i = 0;
  for (; i + 64 <= bytes; i += 64)
    _mm512_storeu_si512(to + i, _mm512_xor_si512(_mm512_loadu_si512(from + i), high));
  for (; i < bytes; ++i) to[i] = (char)(from[i] ^ 0x80);
}

inline void put_zeros(char* to, long bytes, bool raised) {
  __builtin_memset(to, raised ? 0x80 : 0, (unsigned long)bytes);
}

// The numbers that one pixel of the output sums over.
inline void gather_row(char* to, const Work& w, long pixel) {
  const DotJob& j = *w.job;
  const penstock::Conv& c = j.conv;
  const bool raised = j.kind == penstock::SIGNED;
  const long image = pixel / c.out.all(), place = pixel % c.out.all();
  const long oy = place / c.out.x, ox = place % c.out.x, run = c.channels * w.size;
  const char* from = w.left + image * c.size.all() * run;
  const long left = ox * c.stride.x - c.pad.x, step = c.dilation.x;
  for (long r = 0; r < c.taps.y; ++r) {
    const long y = oy * c.stride.y + r * c.dilation.y - c.pad.y;
    const bool inside = y >= 0 && y < c.size.y;
    if (inside && step == 1 && left >= 0 && left + c.taps.x <= c.size.x) {
      put(to, from + (y * c.size.x + left) * run, c.taps.x * run, raised);
      to += c.taps.x * run;
      continue;
    }
    for (long s = 0; s < c.taps.x; ++s, to += run) {
      const long x = left + s * step;
      if (inside && x >= 0 && x < c.size.x)
        put(to, from + (y * c.size.x + x) * run, run, raised);
      else
        put_zeros(to, run, raised);
    }
  }
}

// Rows of a strip lie this far apart: not a power of two, so that they are not of one set of a cache.
inline long row_bytes(const Work& w) { return (w.lines | 1) * LINE; }

inline void gather_strip(char* to, const Work& w, long strip) {
  const long row = row_bytes(w), used = w.depth * w.size;
  for (long i = 0; i < STRIP; ++i, to += row) {
    const long pixel = strip * STRIP + i;
    if (pixel < w.rows) gather_row(to, w, pixel);
    const long from = pixel < w.rows ? used : 0;
    __builtin_memset(to + from, 0, (unsigned long)(w.lines * LINE - from));
  }
}

// ---- sums: sums[row][column] of a strip and a panel, 32 x 32 words

#if defined(__AMX_TILE__)

struct alignas(64) TileShape {
  unsigned char palette = 1, start = 0, reserved[14] = {};
  unsigned short bytes[16] = {};
  unsigned char rows[16] = {};
};

inline void begin_tiles() {
  TileShape shape;
  for (int i = 0; i < 8; ++i) {
    shape.bytes[i] = 64;
    shape.rows[i] = 16;
  }
  _tile_loadconfig(&shape);
}

inline void end_tiles() { _tile_release(); }

template <bool HALVES>
static void sum_lines(const char* left, long row, const char* panel, long lines, int* sums) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (long i = 0; i < lines; ++i, left += LINE, panel += PANEL_LINE) {
    _tile_loadd(4, left, row);
    _tile_loadd(5, left + 16 * row, row);
    _tile_loadd(6, panel, 64);
    _tile_loadd(7, panel + 1024, 64);
    if (HALVES) {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    } else {
      _tile_dpbusd(0, 4, 6);
      _tile_dpbusd(1, 4, 7);
      _tile_dpbusd(2, 5, 6);
      _tile_dpbusd(3, 5, 7);
    }
  }
  _tile_stored(0, sums, 4 * STRIP);
  _tile_stored(1, sums + 16, 4 * STRIP);
  _tile_stored(2, sums + 16 * STRIP, 4 * STRIP);
  _tile_stored(3, sums + 16 * STRIP + 16, 4 * STRIP);
}

#else

inline void begin_tiles() {}
inline void end_tiles() {}

inline __m512i multiplied(__m512i sum, __m512i left, __m512i right, bool halves) {
  return halves ? (__m512i)_mm512_dpbf16_ps((__m512)sum, (__m512bh)left, (__m512bh)right)
                : _mm512_dpbusd_epi32(sum, left, right);
}

const int TOGETHER = 8;  // rows whose sums are in registers: 16 sums, 2 vectors of the right side

template <bool HALVES>
static void sum_lines(const char* left, long row, const char* panel, long lines, int* sums) {
  for (long first = 0; first < STRIP; first += TOGETHER) {
    __m512i all[TOGETHER][2];
#pragma GCC unroll 8
    for (int i = 0; i < TOGETHER; ++i) all[i][0] = all[i][1] = _mm512_setzero_si512();
    for (long line = 0; line < lines; ++line)
      for (long k = 0; k < 16; ++k) {
        const char* right = panel + line * PANEL_LINE + k * 64;
        const __m512i one = _mm512_loadu_si512(right), two = _mm512_loadu_si512(right + 1024);
#pragma GCC unroll 8
        for (int i = 0; i < TOGETHER; ++i) {
          int four;
          __builtin_memcpy(&four, left + (first + i) * row + line * LINE + 4 * k, 4);
          const __m512i repeated = _mm512_set1_epi32(four);
          all[i][0] = multiplied(all[i][0], repeated, one, HALVES);
          all[i][1] = multiplied(all[i][1], repeated, two, HALVES);
        }
      }
#pragma GCC unroll 8
    for (int i = 0; i < TOGETHER; ++i) {
      _mm512_storeu_si512(sums + (first + i) * STRIP, all[i][0]);
      _mm512_storeu_si512(sums + (first + i) * STRIP + 16, all[i][1]);
    }
  }
}

#endif

// ---- results

// The nearest bfloat16, ties to even; NaN stays NaN.
inline __m256i to_halves(__m512 value) {
  const __m512i bits = (__m512i)value, one = _mm512_set1_epi32(1);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), one);
  const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __mmask16 none = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
  const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
  return _mm512_maskz_cvtepi32_epi16(
      0xffff, _mm512_srli_epi32(_mm512_mask_mov_epi32(up, none, quiet), 16));
}

inline void store_sums(const Work& w, const int* sums, long strip, long panel) {
  const long rows = least(STRIP, w.rows - strip * STRIP);
  for (long v = 0; v < 2; ++v) {
    const long column = panel * STRIP + 16 * v, columns = least(16, w.columns - column);
    if (columns <= 0) return;
    const __mmask16 some = (__mmask16)((1u << columns) - 1);
    const __m512i lack = w.lacks == nullptr ? _mm512_setzero_si512()
                                            : _mm512_loadu_si512(w.lacks + column);
    for (long i = 0; i < rows; ++i) {
      const long place = (strip * STRIP + i) * w.columns + column;
      const __m512i sum = _mm512_loadu_si512(sums + i * STRIP + 16 * v);
      if (w.job->kind == penstock::HALVES)
        _mm256_mask_storeu_epi16(w.to + 2 * place, some, to_halves((__m512)sum));
      else
        _mm512_mask_storeu_epi32(w.to + 4 * place, some, _mm512_sub_epi32(sum, lack));
    }
  }
}

// The sums of some strips with some panels.
inline void dot_part(const Work& w, long first, long last, long begin, long end) {
  char* room = penstock::scratch_bytes(0, STRIP * row_bytes(w));
  alignas(64) int sums[STRIP * STRIP];
  const auto sum = w.job->kind == penstock::HALVES ? sum_lines<true> : sum_lines<false>;
  begin_tiles();
  for (long strip = first; strip < last; ++strip) {
    gather_strip(room, w, strip);
    for (long panel = begin; panel < end; ++panel) {
      sum(room, row_bytes(w), w.panels + panel * w.lines * PANEL_LINE, w.lines, sums);
      store_sums(w, sums, strip, panel);
    }
  }
  end_tiles();
}

void dot_task(const void* argument, long task) {
  const Work& w = *(const Work*)argument;
  const long first = task / w.sides * w.band, begin = task % w.sides * w.width;
  dot_part(w, first, least(first + w.band, w.strips), begin,
           least(begin + w.width, w.panel_count));
}

// Memory for the right side; of the calling thread.
inline void hold_panels(Work& w, int slot) {
  const long bytes = w.panel_count * w.lines * PANEL_LINE;
  w.panels = penstock::scratch_bytes(slot, bytes + w.panel_count * STRIP * 4);
  w.lacks = w.job->kind == penstock::SIGNED ? (int*)(w.panels + bytes) : nullptr;
}

inline void choose_entry(Work& w, long entry) {
  const DotJob& job = *w.job;
  w.left = (const char*)job.left + job.left_start[entry] * w.size;
  w.right = (const char*)job.right + job.right_start[entry] * w.size;
  w.to = (char*)job.to + entry * w.rows * w.columns * (job.kind == penstock::HALVES ? 2 : 4);
}

// One of many small products, by one thread.
void entry_task(const void* argument, long entry) {
  Work w = *(const Work*)argument;
  choose_entry(w, entry);
  hold_panels(w, 2);
  for (long panel = 0; panel < w.panel_count; ++panel) pack_panel_task(&w, panel);
  dot_part(w, 0, w.strips, 0, w.panel_count);
}

void dot(const DotJob& job, Workers& workers) {
  const penstock::Conv& c = job.conv;
  Work w;
  w.job = &job;
  w.size = job.kind == penstock::HALVES ? 2 : 1;
  w.depth = c.taps.all() * c.channels;
  w.lines = up(w.depth * w.size, LINE);
  w.rows = c.images * c.out.all();
  w.columns = c.filters;
  w.strips = up(w.rows, STRIP);
  w.panel_count = up(w.columns, STRIP);
  const long wanted = 4 * workers.threads();
  w.band = most(1, least(8, w.strips / wanted));
  w.bands = up(w.strips, w.band);
  w.width = most(1, up(w.panel_count, up(wanted, w.bands)));
  w.sides = up(w.panel_count, w.width);
  if (job.batch >= 2 * workers.threads() && w.rows * w.columns * w.depth <= 64l << 20) {
    workers.run(job.batch, entry_task, &w);
    return;
  }
  hold_panels(w, 1);
  for (long entry = 0; entry < job.batch; ++entry) {
    choose_entry(w, entry);
    if (entry == 0 || job.right_start[entry] != job.right_start[entry - 1])
      workers.run(w.panel_count, pack_panel_task, &w);
    workers.run(w.bands * w.sides, dot_task, &w);
  }
}

}  // namespace
