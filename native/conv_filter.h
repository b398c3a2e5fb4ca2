// The gradient of a convolution by its filter, on the same tile. Part of isa.cc.
//
// Sums run over pixels, the tile's rows are taps and channels. Bands of rows of all images are
// summed in groups that the shapes fix, and the groups' sums added in order.
#pragma once

#include "conv.h"

namespace {

const long PIXELS = 1024;  // that a tile of the filter's gradient sums at a time
const long GROUPS = 32;    // of sums, at most
const long ADDED = 1 << 14;  // numbers that one task adds

// Sums of parts of the work, [count][size], and where they are added in order.
struct Parts {
  const float* parts;
  float* to;
  long count, size;
};

void add_parts_task(const void* argument, long task) {
  const Parts& p = *(const Parts*)argument;
  const long last = least((task + 1) * ADDED, p.size);
  long i = task * ADDED;
  for (; i + LANES <= last; i += LANES) {
    Vector sum = load(p.parts + i);
    for (long g = 1; g < p.count; ++g) sum += load(p.parts + g * p.size + i);
    store(p.to + i, sum);
  }
  for (; i < last; ++i) {
    float sum = p.parts[i];
    for (long g = 1; g < p.count; ++g) sum += p.parts[g * p.size + i];
    p.to[i] = sum;
  }
}

inline void add_parts(const Parts& p, Workers& workers) {
  if (p.count > 1) workers.run(up(p.size, ADDED), add_parts_task, &p);
}

struct FilterGrad {
  const Conv* c;
  const float *x, *dy;
  float* parts;   // [group of bands][depth][filters]
  long band, bands, units;            // rows of the output, and bands in a picture
  long together;                      // pictures whose bands are summed in one go: whole ones
  long group, groups, block, blocks;  // units of such bands in a group; strips in a block
  long run, runs, depth, strip_count, wide;
  long size() const { return depth * c->filters; }
};

// The rows of the filter that a task is about, and with them the part of a picture that it needs.
struct Rows {
  long first, last;  // rows of the filter, counted through its planes
  long plane, top;   // the first plane, and the first row in it
  Axes box;          // of the image, for a band of some rows of the output
};

inline Rows rows_of(const FilterGrad& f, long first_strip, long last_strip, long out_rows) {
  const Conv& c = *f.c;
  const long each = f.runs / (c.taps.z * c.taps.y);  // runs in a row of the filter
  const long strips = Strips(f.run).count;
  Rows r;
  r.first = first_strip / strips / each;
  r.last = (last_strip - 1) / strips / each;
  r.plane = r.first / c.taps.y;
  const long planes = r.last / c.taps.y - r.plane + 1;
  r.top = planes == 1 ? r.first % c.taps.y : 0;
  const long rows = planes == 1 ? r.last - r.first + 1 : c.taps.y;
  r.box = Axes{(planes - 1) * c.dilation.z + 1,
               (out_rows - 1) * c.stride.y + (rows - 1) * c.dilation.y + 1, f.wide};
  return r;
}

// Adds the products of one band of pixels with COLUMNS columns of dy, for the strips of a task.
void filter_grad_band(const FilterGrad& f, const Rows& r, const float* room, Tile t, float* part,
                      long group, long first_strip, long last_strip) {
  const Conv& c = *f.c;
  const Strips strips(f.run);
  const long each = f.runs / (c.taps.z * c.taps.y);
  const Steps steps = dense(r.box, c.channels);
  for (long strip = first_strip; strip < last_strip; ++strip) {
    const long piece = strip / strips.count, within = strips.begin(strip % strips.count);
    const long row = piece / each;
    t.a = room + (row / c.taps.y - r.plane) * c.dilation.z * steps.z +
          (row % c.taps.y - r.top) * c.dilation.y * steps.y +
          piece % each * c.dilation.x * c.channels + group * c.inner() + within;
    t.c = part + (piece * f.run + within) * c.filters;
    run_tile(strips.rows(strip % strips.count), t);
  }
}

// What the sums of one band need of a picture, `which` pictures after the first of a unit.
inline void copy_band(float* room, const FilterGrad& f, const Rows& r, long first, long which,
                      long top) {
  const Conv& c = *f.c;
  const long place = first + which;
  copy_window(room + which * r.box.all() * c.channels,
              f.x + place / c.out.z * c.size.all() * c.channels, c.size, c.channels,
              Axes{place % c.out.z * c.stride.z - c.pad.z + r.plane * c.dilation.z,
                   top * c.stride.y - c.pad.y + r.top * c.dilation.y, -c.pad.x},
              r.box);
}

void filter_grad_task(const void* argument, long task) {
  const FilterGrad& f = *(const FilterGrad*)argument;
  const Conv& c = *f.c;
  const long g = task / f.blocks, first_strip = task % f.blocks * f.block;
  const long last_strip = least(first_strip + f.block, f.strip_count);
  const Rows whole = rows_of(f, first_strip, last_strip, f.band);
  float* room = penstock::scratch(0, f.together * whole.box.all() * c.channels);
  float* right = penstock::scratch(2, f.together * f.band * c.out.x * COLUMNS);
  long starts[MOST_RUNS];
  const long begin = g * f.group, end = least(begin + f.group, f.units);
  for (long unit = begin; unit < end; ++unit) {
    const long place = unit / f.bands * f.together, top = unit % f.bands * f.band;
    const long pictures = least(f.together, c.images * c.out.z - place);
    const long out_rows = least(f.band, c.out.y - top), rows = pictures * out_rows;
    const Rows r = rows_of(f, first_strip, last_strip, out_rows);
    for (long i = 0; i < pictures; ++i) copy_band(room, f, r, place, i, top);
    for (long i = 0; i < rows; ++i)
      starts[i] = (i / out_rows * r.box.all() + i % out_rows * c.stride.y * f.wide) * c.channels;
    const float* dy = f.dy + (place * c.out.y + top) * c.out.x * c.filters;
    for (long group = 0; group < c.groups; ++group)
      for (long column = 0; column < c.outer(); column += COLUMNS) {
        const long filter = group * c.outer() + column;
        Tile t;
        t.columns = least(COLUMNS, c.outer() - column);
        pack_panel(right, dy + filter, c.filters, 1, rows * c.out.x, t.columns);
        t.a_row = 1;
        t.a_col = c.stride.x * c.channels;
        t.starts = starts;
        t.segments = rows;
        t.length = c.out.x;
        t.b = right;
        t.b_row = COLUMNS;
        t.c_row = c.filters;
        t.add = unit > begin;
        filter_grad_band(f, r, room, t, f.parts + g * f.size() + filter, group, first_strip,
                         last_strip);
      }
  }
}

void tiled_filter_grad(const Conv& c, const float* x, const float* dy, float* dw,
                       Workers& workers) {
  FilterGrad f;
  f.c = &c;
  f.x = x;
  f.dy = dy;
  const bool joined = c.dilation.x == 1 && c.groups == 1;
  f.run = joined ? c.taps.x * c.channels : c.inner();
  f.runs = joined ? c.taps.z * c.taps.y : c.taps.all();
  f.depth = c.taps.all() * c.inner();
  if (f.depth == 0 || c.filters == 0) return;
  f.strip_count = f.runs * Strips(f.run).count;
  f.wide = seen_for(c.out, c.taps, c.stride, c.dilation).x;
  const long room = 2 * BAND_FLOATS / most(1, c.taps.z * f.wide * c.channels * c.stride.y);
  f.band = most(1, least(least(MOST_RUNS, room), PIXELS / c.out.x));
  f.band = up(c.out.y, up(c.out.y, f.band));
  f.bands = up(c.out.y, f.band);
  const long pictures = c.images * c.out.z;
  f.together = f.bands > 1 ? 1 : most(1, least(MOST_RUNS, room) / c.out.y);
  f.together = least(least(f.together, pictures), most(1, PIXELS / (c.out.y * c.out.x)));
  f.units = up(pictures, f.together) * f.bands;
  const long units = f.units;
  f.group = up(units, most(1, least(GROUPS, (1l << 20) / f.size())));
  f.groups = up(units, f.group);
  f.block = f.groups >= GROUPS / 2 ? f.strip_count : up(f.strip_count, up(GROUPS, f.groups));
  f.blocks = up(f.strip_count, f.block);
  f.parts = f.groups == 1 ? dw : penstock::scratch(1, f.groups * f.size());
  workers.run(f.groups * f.blocks, filter_grad_task, &f);
  add_parts(Parts{f.parts, dw, f.groups, f.size()}, workers);
}

}  // namespace
