// Convolutions over images [n, z, y, x, channels] as sums of products of a tile. Part of isa.cc.
//
// The tile's rows are neighbouring pixels of one row of the output, its sums run over the taps and
// channels of the filter, straight from the image: a copy of the rows in question with their padding,
// or the image itself where nothing is padded. Nothing is unfolded in memory. The gradient by the
// input is the same sliding; that by the filter is in conv_filter.h.
#pragma once

#include "gemm.h"

namespace {

using penstock::Axes;
using penstock::Conv;

const long BAND_FLOATS = 48 * 1024;  // of padded image that a task works on: stays in L2
const long MOST_RUNS = 32;           // segments of a tile
const long LONGEST = 1024;           // sums of a tile: the filter comes from L2 ahead of its use
const long PIXELS_FOR_ONE = 2048;    // for each thread: one thread packs the filter

// Where pixels lie in memory: floats from one to the next along each axis, and between images.
struct Steps {
  long image, z, y, x;
  long at(long i, long plane, long row) const { return i * image + plane * z + row * y; }
};

inline Steps dense(const Axes& size, long channels) {
  const long row = size.x * channels;
  return Steps{size.z * size.y * row, size.y * row, row, channels};
}

// Pixels along each axis that the filter sees for `out` pixels of the output.
inline Axes seen_for(const Axes& out, const Axes& taps, const Axes& stride, const Axes& dilation) {
  return Axes{(out.z - 1) * stride.z + (taps.z - 1) * dilation.z + 1,
              (out.y - 1) * stride.y + (taps.y - 1) * dilation.y + 1,
              (out.x - 1) * stride.x + (taps.x - 1) * dilation.x + 1};
}

// Pixels [top, top + count) of one row after the other, and in them [left, left + wide); zeros
// outside of the image.
inline void copy_rows(float* to, const float* image, const Axes& size, long channels, long top,
                      long left, long count, long wide) {
  const long first = least(most(-left, 0), wide), last = most(least(size.x - left, wide), first);
  for (long y = top; y < top + count; ++y, to += wide * channels) {
    if (y < 0 || y >= size.y) {
      __builtin_memset(to, 0, (unsigned long)(wide * channels) * sizeof(float));
      continue;
    }
    __builtin_memset(to, 0, (unsigned long)(first * channels) * sizeof(float));
    copy(to + first * channels, image + (y * size.x + left + first) * channels,
         (last - first) * channels);
    __builtin_memset(to + last * channels, 0,
                     (unsigned long)((wide - last) * channels) * sizeof(float));
  }
}

// A box of an image, `from` its corner, `box` its sizes; zeros outside of the image.
inline void copy_window(float* to, const float* image, const Axes& size, long channels,
                        const Axes& from, const Axes& box) {
  const long plane = size.y * size.x * channels, wanted = box.y * box.x * channels;
  for (long z = from.z; z < from.z + box.z; ++z, to += wanted) {
    if (z < 0 || z >= size.z)
      __builtin_memset(to, 0, (unsigned long)wanted * sizeof(float));
    else
      copy_rows(to, image + z * plane, size, channels, from.y, from.x, box.y, box.x);
  }
}

// One sliding of a filter over images; the output may have gaps between its pixels. A picture is a
// plane of the output of one image.
struct Slide {
  const float* x;
  long images, groups, channels, filters;  // channels and filters of a group
  Axes size, taps, out, stride, dilation, pad;  // pads may be negative: pixels that are not seen
  const float* panels;  // [group][panel][tap, channel][COLUMNS]
  float* y;
  Steps to;  // of the output
  penstock::Finish finish;
  // derived
  long depth, run, runs;  // sums: `runs` pieces of `run` numbers side by side in the image
  long panel_count, band, bands, group;

  long all_channels() const { return groups * channels; }
  long pictures() const { return images * out.z; }
  long panels_at(long panel) const { return panels_for(out.x, filters - panel * COLUMNS); }
  Axes seen(long out_rows) const {
    return seen_for(Axes{1, out_rows, out.x}, taps, stride, dilation);
  }
  bool padded() const {
    const Axes whole = seen_for(out, taps, stride, dilation);
    return pad.z != 0 || pad.y != 0 || pad.x != 0 || whole.z > size.z || whole.y > size.y ||
           whole.x > size.x;
  }
};

// Pictures as a task sees them, from the first row that it needs: parts of images, or padded copies.
struct View {
  const float* data;
  Steps steps;     // of pixels; from image to image in copies: from picture to picture
  bool copied;
};

inline const float* picture(const Slide& s, const View& view, long first, long which) {
  if (view.copied) return view.data + which * view.steps.image;
  const long place = first + which;
  return view.data + view.steps.at(place / s.out.z, place % s.out.z * s.stride.z, 0);
}

// A piece of the sums: `segments` runs, or a part of one, in the order of the filter.
struct Chunk {
  long first, from, segments, length;
  long begin(const Slide& s) const { return first * s.run + from; }
};

template <typename Body>
void each_chunk(const Slide& s, Body body) {
  const long whole = most(1, least(MOST_RUNS, LONGEST / most(s.run, 1)));  // runs at a time
  const long piece = up(s.run, up(s.run, LONGEST));
  for (long first = 0; first < s.runs; first += whole)
    for (long from = 0; from < s.run; from += piece)
      body(Chunk{first, from, least(whole, s.runs - first), least(piece, s.run - from)});
}

// The floats from a pixel to what each run of a chunk begins with.
inline void run_starts(long* starts, const Slide& s, const Chunk& chunk, const Steps& steps) {
  const long each = s.runs / (s.taps.z * s.taps.y);  // runs in a row of the filter: 1 or its taps
  for (long i = 0; i < chunk.segments; ++i) {
    const long row = (chunk.first + i) / each, tap = (chunk.first + i) % each;
    starts[i] = steps.at(0, row / s.taps.y * s.dilation.z, row % s.taps.y * s.dilation.y) +
                tap * s.dilation.x * steps.x + chunk.from;
  }
}

// Which part of a sliding a tile works on: pictures from one on, rows of them, one group.
struct Part {
  long first, pictures, top, rows, group;
  long pixels(const Slide& s) const { return pictures * rows * s.out.x; }
  // Whether its tiles take pixels of several rows: tiles of a row alone would be too low to hide how
  // long a multiply-add takes.
  bool is_spread(const Slide& s) const {
    return rows * pictures > 1 && s.out.x < (SPREAD_ROWS - 1) * up(s.out.x, ROWS);
  }
};

// The tiles of all pixels of a part, in strips that go on from row to row and picture to picture.
void slide_spread(const Slide& s, Tile t, const View& view, const Part& part, long column) {
  const Strips strips(part.pixels(s), SPREAD_ROWS);
  long a_rows[SPREAD_ROWS], c_rows[SPREAD_ROWS];
  t.a = view.data + part.group * s.channels;
  t.a_rows = a_rows;
  t.c = s.y + column;
  t.c_rows = c_rows;
  long which = 0, row = 0, x = 0;
  for (long strip = 0; strip < strips.count; ++strip) {
    for (long i = 0; i < strips.rows(strip); ++i) {
      const long place = part.first + which;
      a_rows[i] = picture(s, view, part.first, which) - view.data +
                  row * s.stride.y * view.steps.y + x * t.a_row;
      c_rows[i] = s.to.at(place / s.out.z, place % s.out.z, part.top + row) + x * s.to.x;
      if (++x < s.out.x) continue;
      x = 0;
      if (++row < part.rows) continue;
      row = 0;
      ++which;
    }
    run_spread_tile(strips.rows(strip), t);
  }
}

// Adds one chunk to some rows and the columns of one panel, or of two that lie `next` apart, of the
// output of some pictures.
void slide_chunk(const Slide& s, const Chunk& chunk, const float* right, long next,
                 const View& view, const Part& part, long panel) {
  long starts[MOST_RUNS];
  run_starts(starts, s, chunk, view.steps);
  const long pixel = s.stride.x * view.steps.x, column = part.group * s.filters + panel * COLUMNS;
  Tile t;
  t.a_row = pixel;
  t.a_col = 1;
  t.starts = starts;
  t.segments = chunk.segments;
  t.length = chunk.length;
  t.b = right;
  t.b_row = COLUMNS;
  t.b_next = next;
  t.c_row = s.to.x;
  t.columns = least(s.panels_at(panel) * COLUMNS, s.filters - panel * COLUMNS);
  t.add = chunk.first > 0 || chunk.from > 0;
  const bool last =
      chunk.first + chunk.segments == s.runs && chunk.from + chunk.length == s.run;
  if (part.is_spread(s)) {
    if (last) t.end = ending(s.finish, column, column);
    return slide_spread(s, t, view, part, column);
  }
  for (long i = 0; i < part.pictures; ++i) {
    const float* from = picture(s, view, part.first, i) + part.group * s.channels;
    const long place = part.first + i;
    float* y = s.y + s.to.at(place / s.out.z, place % s.out.z, part.top) + column;
    for (long row = 0; row < part.rows; ++row) {
      t.a = from + row * s.stride.y * view.steps.y;
      t.c = y + row * s.to.y;
      if (last) t.end = ending(s.finish, column, t.c - s.y);
      run_rows(s.out.x, t);
    }
  }
}

// The images themselves, from a row of the output on.
inline View direct(const Slide& s, long top) {
  const Steps steps = dense(s.size, s.all_channels());
  return View{s.x + top * s.stride.y * steps.y, steps, false};
}

// Padded copies of what some rows of some pictures need.
inline void copy_pictures(float* room, const Slide& s, const Part& part) {
  const Axes box = s.seen(part.rows);
  const long image = s.size.all() * s.all_channels(), copied = box.all() * s.all_channels();
  for (long i = 0; i < part.pictures; ++i) {
    const long place = part.first + i;
    copy_window(room + i * copied, s.x + place / s.out.z * image, s.size, s.all_channels(),
                Axes{place % s.out.z * s.stride.z - s.pad.z, part.top * s.stride.y - s.pad.y,
                     -s.pad.x},
                box);
  }
}

inline View view_of(const float* room, const Slide& s, long rows) {
  return View{room, dense(s.seen(rows), s.all_channels()), true};
}

// A band of rows of one picture, or several small pictures.
void slide_task(const void* argument, long task) {
  const Slide& s = *(const Slide*)argument;
  const long first = task / s.bands * s.group, top = task % s.bands * s.band;
  Part part = {first, least(s.group, s.pictures() - first), top, least(s.band, s.out.y - top), 0};
  View view = direct(s, top);
  if (s.padded()) {
    const long size = s.seen(part.rows).all() * s.all_channels();
    float* room = penstock::scratch(0, s.group * size);
    copy_pictures(room, s, part);
    view = view_of(room, s, part.rows);
  }
  for (part.group = 0; part.group < s.groups; ++part.group)
    each_chunk(s, [&](const Chunk& chunk) {
      for (long panel = 0; panel < s.panel_count; panel += s.panels_at(panel)) {
        const long which = part.group * s.panel_count + panel;
        slide_chunk(s, chunk, s.panels + (which * s.depth + chunk.begin(s)) * COLUMNS,
                    s.depth * COLUMNS, view, part, panel);
      }
    });
}

// Outputs do not depend on how they are shared out, so that may depend on the threads.
void plan(Slide& s, Workers& workers) {
  const long tasks = 8 * workers.threads();
  const bool joined = s.dilation.x == 1 && s.groups == 1;  // taps of a row lie side by side
  s.run = joined ? s.taps.x * s.channels : s.channels;
  s.runs = joined ? s.taps.z * s.taps.y : s.taps.all();
  s.depth = s.taps.all() * s.channels;
  s.panel_count = up(s.filters, COLUMNS);
  const long row = s.taps.z * s.seen(1).x * s.all_channels();  // in all planes that are seen
  const long room = most(1, BAND_FLOATS / most(1, row * s.stride.y));
  const long shared = up(s.out.y, up(tasks, s.pictures()));
  s.band = most(1, least(least(room, s.out.y), most(shared, up(64, s.out.x))));
  s.band = up(s.out.y, up(s.out.y, s.band));  // of nearly equal height
  s.bands = up(s.out.y, s.band);
  s.group = 1;
  if (s.bands == 1)
    s.group = most(1, least(least(16, up(s.pictures(), tasks)),
                            BAND_FLOATS / most(1, s.seen(s.out.y).y * row)));
}

Slide slide_of(const Conv& c, const float* x, float* y) {
  Slide s;
  s.x = x;
  s.images = c.images;
  s.groups = c.groups;
  s.channels = c.inner();
  s.filters = c.outer();
  s.size = c.size;
  s.taps = c.taps;
  s.out = c.out;
  s.stride = c.stride;
  s.dilation = c.dilation;
  s.pad = c.pad;
  s.panels = nullptr;
  s.y = y;
  s.to = dense(c.out, c.filters);
  return s;
}

// The filter that a sliding uses, as the memory has it or turned round: then its taps are
// last - step * i along each axis, and filters and channels are exchanged.
struct Filter {
  const float* w;
  bool turned;
  Axes last, step, taps;  // taps: of the filter in memory
};

// Rows [first, first + count) of one panel of the filter as a matrix [tap and channel][filter].
void pack_filter(float* to, const Slide& s, const Filter& f, long group, long panel, long first,
                 long count) {
  const long columns = least(COLUMNS, s.filters - panel * COLUMNS);
  if (!f.turned) {
    const long row = s.groups * s.filters;
    return pack_panel(to, f.w + first * row + group * s.filters + panel * COLUMNS, row, 1, count,
                      columns);
  }
  const long row = s.groups * s.channels;  // in memory, where this sliding's channels are filters
  while (count > 0) {
    const long place = first / s.channels, channel = first % s.channels;
    const long part = least(count, s.channels - channel);
    const long z = f.last.z - place / (s.taps.y * s.taps.x) * f.step.z;
    const long y = f.last.y - place / s.taps.x % s.taps.y * f.step.y;
    const long tap = (z * f.taps.y + y) * f.taps.x + f.last.x - place % s.taps.x * f.step.x;
    const float* from = f.w + (tap * s.filters + panel * COLUMNS) * row + group * s.channels;
    pack_panel(to, from + channel, 1, row, part, columns);
    to += part * COLUMNS;
    first += part;
    count -= part;
  }
}

struct Sliding {
  const Slide* s;
  const Filter* filter;
  float* panels;  // to be filled with the packed filter
  float* padded;  // to be filled with padded pictures
};

void pack_filter_task(const void* argument, long task) {
  const Sliding& j = *(const Sliding*)argument;
  const long group = task / j.s->panel_count, panel = task % j.s->panel_count;
  pack_filter(j.panels + task * j.s->depth * COLUMNS, *j.s, *j.filter, group, panel, 0,
              j.s->depth);
}

void pad_picture_task(const void* argument, long which) {
  const Sliding& j = *(const Sliding*)argument;
  const Slide& s = *j.s;
  copy_pictures(j.padded + which * s.seen(s.out.y).all() * s.all_channels(), s,
                Part{which, 1, 0, s.out.y, 0});
}

// As many panels of the filter as a tile takes over all images; packed piece by piece where they are
// used.
void slide_panel_task(const void* argument, long task) {
  const Sliding& j = *(const Sliding*)argument;
  const Slide& s = *j.s;
  const long each = up(s.panel_count, PANELS);
  const long group = task / each, first = task % each * PANELS;
  const View view = j.padded == nullptr ? direct(s, 0) : view_of(j.padded, s, s.out.y);
  const Part part = {0, s.pictures(), 0, s.out.y, group};
  const long last = least(first + PANELS, s.panel_count);
  float* right = penstock::scratch(0, PANELS * LONGEST * COLUMNS);
  each_chunk(s, [&](const Chunk& chunk) {
    const long length = chunk.segments * chunk.length, next = length * COLUMNS;
    for (long panel = first; panel < last; ++panel)
      pack_filter(right + (panel - first) * next, s, *j.filter, group, panel, chunk.begin(s), length);
    for (long panel = first; panel < last; panel += s.panels_at(panel))
      slide_chunk(s, chunk, right + (panel - first) * next, next, view, part, panel);
  });
}

void slide(Slide& s, const Filter& filter, Workers& workers) {
  plan(s, workers);
  Sliding j = {&s, &filter, nullptr, nullptr};
  const long picture_size = s.seen(s.out.y).all() * s.all_channels();
  const long panels = s.groups * s.panel_count, shares = s.groups * up(s.panel_count, PANELS);
  // A filter much larger than the images is read once, and the images by every task.
  if (s.groups * s.depth * s.filters > 2 * s.pictures() * picture_size &&
      shares >= 4 * workers.threads()) {
    if (s.padded()) {
      j.padded = penstock::scratch(1, s.pictures() * picture_size);
      workers.run(s.pictures(), pad_picture_task, &j);
    }
    workers.run(shares, slide_panel_task, &j);
    return;
  }
  j.panels = penstock::scratch(1, panels * s.depth * COLUMNS);
  s.panels = j.panels;
  // Where that is a small part of the work this thread does it, and waits for no other.
  if (s.pictures() * s.out.y * s.out.x >= PIXELS_FOR_ONE * workers.threads())
    for (long task = 0; task < panels; ++task) pack_filter_task(&j, task);
  else
    workers.run(panels, pack_filter_task, &j);
  workers.run(up(s.pictures(), s.group) * s.bands, slide_task, &s);
}

inline bool all_are(const Axes& a, long value) {
  return a.z == value && a.y == value && a.x == value;
}

// Whether every output pixel is a product of one input pixel with the filter as a matrix.
bool is_pointwise(const Conv& c) {
  return c.groups == 1 && all_are(c.taps, 1) && all_are(c.stride, 1) && all_are(c.pad, 0) &&
         c.out.all() == c.size.all();
}

void multiply_pixels(const Conv& c, const float* a, const float* w, float* to, bool turned,
                     const penstock::Finish& finish, Workers& workers) {
  const long start = 0, inner = turned ? c.filters : c.channels;
  Product p;
  p.a = a;
  p.b = w;
  p.c = to;
  p.m = c.images * c.size.all();
  p.n = turned ? c.channels : c.filters;
  p.k = inner;
  p.a_row = inner;
  p.a_col = 1;
  p.b_row = turned ? 1 : c.filters;
  p.b_col = turned ? c.filters : 1;
  p.batch = 1;
  p.a_start = p.b_start = &start;
  p.finish = finish;
  product(p, workers);
}

void tiled_conv(const Conv& c, const float* x, const float* w, float* y,
                const penstock::Finish& finish, Workers& workers) {
  if (is_pointwise(c)) return multiply_pixels(c, x, w, y, false, finish, workers);
  Slide s = slide_of(c, x, y);
  s.finish = finish;
  const Filter filter = {w, false, {}, {}, {}};
  if (c.taps.all() * c.channels > 0) slide(s, filter, workers);
}

// One axis of the gradient by the input: its pixels first, first + stride, ... see every stride-th
// tap of the filter, and the gradient by the output without gaps.
struct Phase {
  long first, count;  // pixels of the input
  long taps, last_tap;
  long pad;
};

inline Phase phase_of(long which, long size, long taps, long stride, long dilation, long pad) {
  Phase p;
  if (stride == 1) return Phase{0, size, taps, taps - 1, (taps - 1) * dilation - pad};
  p.first = ((which - pad) % stride + stride) % stride;
  p.count = p.first < size ? up(size - p.first, stride) : 0;
  p.taps = which < taps ? up(taps - which, stride) : 0;
  p.last_tap = which + (p.taps - 1) * stride;
  p.pad = p.taps - 1 - (p.first + pad - which) / stride;
  return p;
}

// The gradient by the input as slidings over dy, one for each phase of the strides.
// body(conv, first, filter): a convolution of dy, the first pixel of dx that it gives (they are a
// stride apart), and its filter.
template <typename Body>
void each_phase(const Conv& c, const float* w, Body body) {
  const Axes phases = {least(c.stride.z, c.taps.z), least(c.stride.y, c.taps.y),
                       least(c.stride.x, c.taps.x)};  // those that a tap meets
  for (long i = 0; i < phases.all(); ++i) {
    const Axes which = {i / (phases.y * phases.x), i / phases.x % phases.y, i % phases.x};
    const Phase d = phase_of(which.z, c.size.z, c.taps.z, c.stride.z, c.dilation.z, c.pad.z);
    const Phase v = phase_of(which.y, c.size.y, c.taps.y, c.stride.y, c.dilation.y, c.pad.y);
    const Phase h = phase_of(which.x, c.size.x, c.taps.x, c.stride.x, c.dilation.x, c.pad.x);
    const Axes count = {d.count, v.count, h.count}, taps = {d.taps, v.taps, h.taps};
    if (count.z <= 0 || count.y <= 0 || count.x <= 0 || taps.all() == 0) continue;
    const Conv turned = {c.images, c.filters, c.channels, c.groups, c.out, taps, count,
                         {1, 1, 1}, c.dilation, {d.pad, v.pad, h.pad}};
    body(turned, Axes{d.first, v.first, h.first},
         Filter{w, true, {d.last_tap, v.last_tap, h.last_tap}, c.stride, c.taps});
  }
}

// Where the pixels of a phase lie in dx.
inline Steps phase_steps(const Conv& c) {
  const Steps steps = dense(c.size, c.channels);
  return Steps{steps.image, c.stride.z * steps.z, c.stride.y * steps.y, c.stride.x * steps.x};
}

// A finish of what begins `from` elements further.
inline penstock::Finish finish_from(penstock::Finish finish, long from) {
  if (finish.beside != nullptr) finish.beside += from;
  if (finish.gate != nullptr) finish.gate += from;
  return finish;
}

// Zeros where some pixels of the input are met by no tap, and no phase writes them.
inline void clear_unmet(const Conv& c, float* dx) {
  if (!penstock::all_are_met(c) || c.filters == 0)
    __builtin_memset(dx, 0, (unsigned long)(c.images * c.size.all() * c.channels) * sizeof(float));
}

void tiled_input_grad(const Conv& c, const float* w, const float* dy, float* dx,
                      const penstock::Finish& finish, Workers& workers) {
  if (is_pointwise(c)) return multiply_pixels(c, dy, w, dx, true, finish, workers);
  clear_unmet(c, dx);
  if (c.filters == 0) return;
  const Steps steps = dense(c.size, c.channels);
  each_phase(c, w, [&](const Conv& turned, const Axes& first, const Filter& filter) {
    const long from = steps.at(0, first.z, first.y) + first.x * steps.x;
    Slide s = slide_of(turned, dy, dx + from);
    s.to = phase_steps(c);
    s.finish = finish_from(finish, from);
    slide(s, filter, workers);
  });
}

}  // namespace
