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
const long MOST_ROWS = 128;  // of pixels that a tile sums at a time
const long STRIP_FLOATS = 1 << 15;  // of copied strips: they stay in L2
const long FAR_APART = 256;  // floats from a pixel to the next, from which on strips are copied
const long FEW_PANELS = 4;   // for which copying strips costs more than it saves
const long SHARED_BYTES = 32l << 20;  // of pictures and panels made once for all tasks

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
  bool direct;  // images are read where they lie: nothing is padded
  // Made once where several tasks work on the same pixels, or none: pictures with their padding, and
  // panels of dy, [group][panel][all pixels][COLUMNS].
  float *padded, *panels;
  long size() const { return depth * c->filters; }
  long pictures() const { return c->images * c->out.z; }
  long pixels() const { return c->images * c->out.all(); }
  long panel_count() const { return up(c->outer(), COLUMNS); }
  Axes picture() const {  // with its padding
    return seen_for(Axes{1, c->out.y, c->out.x}, c->taps, c->stride, c->dilation);
  }
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
  const long strips = strips_of(f.run).count;
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

// Where a strip of a task lies: rows of the result, and floats of a picture from its corner on.
struct Place {
  long rows, result, from;
};

inline Place place_of(const FilterGrad& f, const Rows& r, const Steps& steps, long group, long strip) {
  const Conv& c = *f.c;
  const Strips strips = strips_of(f.run);
  const long each = f.runs / (c.taps.z * c.taps.y);
  const long piece = strip / strips.count, within = strips.begin(strip % strips.count);
  const long row = piece / each;
  return {strips.rows(strip % strips.count), piece * f.run + within,
          (row / c.taps.y - r.plane) * c.dilation.z * steps.z +
              (row % c.taps.y - r.top) * c.dilation.y * steps.y +
              piece % each * c.dilation.x * c.channels + group * c.inner() + within};
}

// Copies a box of a picture whose corner is so far from that of the picture with its padding.
inline void copy_box(float* to, const FilterGrad& f, long place, const Axes& corner, const Axes& box) {
  const Conv& c = *f.c;
  copy_window(to, f.x + place / c.out.z * c.size.all() * c.channels, c.size, c.channels,
              Axes{place % c.out.z * c.stride.z - c.pad.z + corner.z, corner.y - c.pad.y,
                   corner.x - c.pad.x},
              box);
}

void share_task(const void* argument, long task) {
  const FilterGrad& f = *(const FilterGrad*)argument;
  const Conv& c = *f.c;
  const long panels = c.groups * f.panel_count();
  if (task >= panels) {
    const long place = task - panels;
    const Axes box = f.picture();
    return copy_box(f.padded + place * box.all() * c.channels, f, place, Axes{0, 0, 0}, box);
  }
  const long column = task % f.panel_count() * COLUMNS;
  pack_panel(f.panels + task * f.pixels() * COLUMNS,
             f.dy + task / f.panel_count() * c.outer() + column, c.filters, 1, f.pixels(),
             least(COLUMNS, c.outer() - column));
}

// What a task reads of the images: `data` holds those of a unit's pictures that begin at `starts`, a
// row of pixels each.
struct Source {
  const float* data;
  Steps steps;
  long starts[MOST_ROWS];
};

// A band of pixels: `rows` rows from `top` on of each of some pictures.
struct Band {
  long first, pictures, top, rows;
  long all_rows() const { return pictures * rows; }
};

// Finds, or copies into `room`, what the sums of a band need.
void find_source(Source& source, float* room, const FilterGrad& f, const Rows& r, const Band& band) {
  const Conv& c = *f.c;
  const Axes corner = {r.plane * c.dilation.z, band.top * c.stride.y + r.top * c.dilation.y, 0};
  const bool copied = !f.direct && f.padded == nullptr;
  source.data = f.direct ? f.x : copied ? room : f.padded;
  source.steps = dense(f.direct ? c.size : copied ? r.box : f.picture(), c.channels);
  for (long i = 0; i < band.pictures; ++i) {
    const long place = band.first + i;
    const Steps& steps = source.steps;
    long start = i * steps.image;
    if (copied)
      copy_box(room + start, f, place, corner, r.box);
    else if (f.direct)
      start = steps.at(place / c.out.z, place % c.out.z * c.stride.z + corner.z, corner.y);
    else
      start = steps.at(place, corner.z, corner.y);
    for (long row = 0; row < band.rows; ++row)
      source.starts[i * band.rows + row] = start + row * c.stride.y * steps.y;
  }
}

// Points a tile to columns of dy, `filter` the first, for a band whose first pixel is `pixel`: in the
// panels that all tasks share, in dy itself where its rows are no longer, or in panels made in `room`.
void point_to_columns(Tile& t, float* room, const FilterGrad& f, long filter, long pixel, long count) {
  const Conv& c = *f.c;
  const float* dy = f.dy + pixel * c.filters + filter;
  t.b = room;
  t.b_row = COLUMNS;
  t.b_next = count * COLUMNS;
  if (f.panels != nullptr) {
    const long panel = filter / c.outer() * f.panel_count() + filter % c.outer() / COLUMNS;
    t.b = f.panels + (panel * f.pixels() + pixel) * COLUMNS;
    t.b_next = f.pixels() * COLUMNS;
  } else if (t.columns == c.filters && t.columns % LANES == 0) {
    t.b = dy;
    t.b_row = c.filters;
    t.b_next = COLUMNS;
  } else {
    for (long i = 0; i * COLUMNS < t.columns; ++i)
      pack_panel(room + i * t.b_next, dy + i * COLUMNS, c.filters, 1, count,
                 least(COLUMNS, t.columns - i * COLUMNS));
  }
}

// What a task works on: strips [first_strip, last_strip) of one group's rows of the result, and a band
// whose first pixel is `pixel`. The tile says where the pixels' channels lie.
struct Share {
  const FilterGrad& f;
  const Rows& rows;
  const Source& source;
  const Tile& pixels;
  float* part;
  long group, pixel, first_strip, last_strip;

  Place place(long strip) const { return place_of(f, rows, source.steps, group, strip); }

  // A tile of `t` with the columns from `column` of the group on.
  void find_columns(Tile& t, long column, float* room) const {
    const long left = f.c->outer() - column;
    t.columns = least(panels_for(f.run, left) * COLUMNS, left);
    point_to_columns(t, room, f, group * f.c->outer() + column, pixel, pixels.segments * pixels.length);
  }

  void add(Tile& t, const float* a, const Place& at, long column) const {
    t.a = a;
    t.c = part + at.result * f.c->filters + group * f.c->outer() + column;
    run_rows(at.rows, t);
  }
};

// Adds the products of the pixels where they lie.
void add_in_place(const Share& s, float* room) {
  Tile t = s.pixels;
  for (long column = 0; column < s.f.c->outer(); column += t.columns) {
    s.find_columns(t, column, room);
    for (long strip = s.first_strip; strip < s.last_strip; ++strip) {
      const Place at = s.place(strip);
      s.add(t, s.source.data + at.from, at, column);
    }
  }
}

// Copies a strip's channels of all pixels as [pixel][STRIP_ROW].
void copy_strip(float* to, const Share& s, const Place& at) {
  const long next = s.pixels.a_col, count = s.pixels.length;
  const long whole = count - up(STRIP_ROW - at.rows, next);  // pixels that whole vectors stay within
  for (long i = 0; i < s.pixels.segments; ++i) {
    const float* from = s.source.data + s.source.starts[i] + at.from;
    for (long k = 0; k < count; ++k, from += next, to += STRIP_ROW) {
      if (k < whole)
        for (long j = 0; j < STRIP_ROW; j += LANES) store(to + j, load(from + j));
      else
        copy(to, from, at.rows);
    }
  }
}

// The same with some strips at a time side by side, for all columns: pixels that lie far apart share
// few sets of the first cache, and each panel would fetch them again.
void add_copied(const Share& s, float* room) {
  Tile t = s.pixels;
  t.a_col = STRIP_ROW;
  t.starts = NO_START;
  t.segments = 1;
  t.length = s.pixels.segments * s.pixels.length;
  const long size = t.length * STRIP_ROW, together = most(1, STRIP_FLOATS / size);
  for (long first = s.first_strip; first < s.last_strip; first += together) {
    const long last = least(first + together, s.last_strip);
    for (long strip = first; strip < last; ++strip)
      copy_strip(room + (strip - first) * size, s, s.place(strip));
    for (long column = 0; column < s.f.c->outer(); column += t.columns) {
      s.find_columns(t, column, nullptr);
      for (long strip = first; strip < last; ++strip)
        s.add(t, room + (strip - first) * size, s.place(strip), column);
    }
  }
}

void filter_grad_task(const void* argument, long task) {
  const FilterGrad& f = *(const FilterGrad*)argument;
  const Conv& c = *f.c;
  const long g = task / f.blocks, first_strip = task % f.blocks * f.block;
  const long last_strip = least(first_strip + f.block, f.strip_count);
  const Rows whole = rows_of(f, first_strip, last_strip, f.band);
  const bool copied = !f.direct && f.padded == nullptr;
  float* room = penstock::scratch(0, copied ? f.together * whole.box.all() * c.channels : 0);
  const bool far = f.panels != nullptr && c.outer() > FEW_PANELS * COLUMNS &&
                   c.stride.x * c.channels >= FAR_APART;
  const long pixels = f.together * f.band * c.out.x;
  float* beside = penstock::scratch(
      2, far ? most(STRIP_FLOATS, pixels * STRIP_ROW) : pixels * PANELS * COLUMNS);
  Source source;
  const long begin = g * f.group, end = least(begin + f.group, f.units);
  for (long unit = begin; unit < end; ++unit) {
    const long place = unit / f.bands * f.together, top = unit % f.bands * f.band;
    const Band band = {place, least(f.together, f.pictures() - place), top,
                       least(f.band, c.out.y - top)};
    const Rows r = rows_of(f, first_strip, last_strip, band.rows);
    find_source(source, room, f, r, band);
    Tile t;
    t.a_row = 1;
    t.a_col = c.stride.x * c.channels;
    t.starts = source.starts;
    t.segments = band.all_rows();
    t.length = c.out.x;
    t.c_row = c.filters;
    t.add = unit > begin;
    for (long group = 0; group < c.groups; ++group) {
      const Share share = {f, r, source, t, f.parts + g * f.size(), group,
                           (place * c.out.y + top) * c.out.x, first_strip, last_strip};
      far ? add_copied(share, beside) : add_in_place(share, beside);
    }
  }
}

// What tasks share where several of them work on the same pixels.
void share(FilterGrad& f, Workers& workers) {
  const Conv& c = *f.c;
  f.padded = f.panels = nullptr;
  const long images = f.direct ? 0 : f.pictures() * f.picture().all() * c.channels;
  const long panels = c.groups * f.panel_count(), columns = panels * COLUMNS * f.pixels();
  if (f.blocks == 1 || (images + columns) * 4 > SHARED_BYTES) return;
  f.panels = penstock::scratch(3, images + columns);
  if (!f.direct) f.padded = f.panels + columns;
  workers.run(panels + (f.direct ? 0 : f.pictures()), share_task, &f);
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
  f.strip_count = f.runs * strips_of(f.run).count;
  const Axes seen = seen_for(c.out, c.taps, c.stride, c.dilation);
  f.wide = seen.x;
  f.direct = all_are(c.pad, 0) && seen.z <= c.size.z && seen.y <= c.size.y && seen.x <= c.size.x;
  const long room = 2 * BAND_FLOATS / most(1, c.taps.z * f.wide * c.channels * c.stride.y);
  f.band = most(1, least(least(MOST_ROWS, room), PIXELS / c.out.x));
  f.band = up(c.out.y, up(c.out.y, f.band));
  f.bands = up(c.out.y, f.band);
  const long pictures = c.images * c.out.z;
  f.together = f.bands > 1 ? 1 : most(1, least(MOST_ROWS, room) / c.out.y);
  f.together = least(least(f.together, pictures), most(1, PIXELS / (c.out.y * c.out.x)));
  f.units = up(pictures, f.together) * f.bands;
  const long units = f.units;
  f.group = up(units, most(1, least(GROUPS, (1l << 20) / f.size())));
  f.groups = up(units, f.group);
  f.block = f.groups >= GROUPS / 2 ? f.strip_count : up(f.strip_count, up(GROUPS, f.groups));
  f.blocks = up(f.strip_count, f.block);
  share(f, workers);
  f.parts = f.groups == 1 ? dw : penstock::scratch(1, f.groups * f.size());
  workers.run(f.groups * f.blocks, filter_grad_task, &f);
  add_parts(Parts{f.parts, dw, f.groups, f.size()}, workers);
}

}  // namespace
