// Convolutions over images [n, y, x, channels] as sums of products of a tile. Part of isa.cc.
//
// The tile's rows are neighbouring pixels of one row of the output, its sums run over the taps and
// channels of the filter, straight from the image: a copy of the rows in question with their padding,
// or the image itself where nothing is padded. Nothing is unfolded in memory.
#pragma once

#include "gemm.h"

namespace {

using penstock::Conv;

const long BAND_FLOATS = 48 * 1024;  // of padded image that a task works on: stays in L2
const long MOST_RUNS = 32;           // segments of a tile
const long PIXELS = 1024;            // that a tile of the filter's gradient sums at a time
const long GROUPS = 32;              // of sums for the filter's gradient, at most

struct View;

// One sliding of a filter over images; the output may have gaps between its pixels.
struct Slide {
  const float* x;
  long images, height, width, channels;
  long rows, cols, filters;
  long out_height, out_width;
  long stride_y, stride_x, dilation_y, dilation_x;
  long pad_top, pad_left;  // may be negative: the outermost pixels are not seen
  const float* panels;     // [panel][tap, channel][COLUMNS]
  float* y;
  long y_image, y_row, y_pixel;  // steps of the output in floats
  penstock::Finish finish;
  // derived
  long depth, run, runs;  // sums: `runs` pieces of `run` numbers side by side in the image
  long panel_count, band, bands, group;

  long seen_height(long out_rows) const {
    return (out_rows - 1) * stride_y + (rows - 1) * dilation_y + 1;
  }
  long seen_width() const { return (out_width - 1) * stride_x + (cols - 1) * dilation_x + 1; }
  View direct() const;
  bool padded() const {
    return pad_top != 0 || pad_left != 0 || seen_width() > width ||
           seen_height(out_height) > height;
  }
};

// Rows [top, top + count) of an image and columns [left, left + wide), zeros outside of it.
void copy_window(float* to, const float* image, long height, long width, long channels, long top,
                 long left, long count, long wide) {
  const long first = least(most(-left, 0), wide), last = most(least(width - left, wide), first);
  for (long y = top; y < top + count; ++y, to += wide * channels) {
    if (y < 0 || y >= height) {
      __builtin_memset(to, 0, (unsigned long)(wide * channels) * sizeof(float));
      continue;
    }
    __builtin_memset(to, 0, (unsigned long)(first * channels) * sizeof(float));
    copy(to + first * channels, image + (y * width + left + first) * channels,
         (last - first) * channels);
    __builtin_memset(to + last * channels, 0,
                     (unsigned long)((wide - last) * channels) * sizeof(float));
  }
}

// What tiles read: images, or padded parts of them, at equal distances.
struct View {
  const float* data;
  long image, row;  // floats from image to image and from row to row
};

inline View Slide::direct() const { return View{x, height * width * channels, width * channels}; }

// A piece of the sums: `segments` runs, or a part of one, in the order of the filter.
struct Chunk {
  long first, from, segments, length;
  long begin(const Slide& s) const { return first * s.run + from; }
};

template <typename Body>
void each_chunk(const Slide& s, Body body) {
  const long whole = most(1, least(MOST_RUNS, DEPTH / most(s.run, 1)));  // runs at a time
  const long piece = up(s.run, up(s.run, DEPTH));
  for (long first = 0; first < s.runs; first += whole)
    for (long from = 0; from < s.run; from += piece)
      body(Chunk{first, from, least(whole, s.runs - first), least(piece, s.run - from)});
}

// Adds one chunk to some rows and COLUMNS columns of the output of some images.
void slide_chunk(const Slide& s, const Chunk& chunk, const float* right, const View& view,
                 long images, float* y, long out_rows, long panel) {
  const Strips strips(s.out_width);
  const long each = s.runs / s.rows;  // runs in a row of the filter: 1 or its columns
  long starts[MOST_RUNS];
  for (long i = 0; i < chunk.segments; ++i) {
    const long r = (chunk.first + i) / each, c = (chunk.first + i) % each;
    starts[i] = r * s.dilation_y * view.row + c * s.dilation_x * s.channels + chunk.from;
  }
  Tile t;
  t.a_row = s.stride_x * s.channels;
  t.a_col = 1;
  t.starts = starts;
  t.segments = chunk.segments;
  t.length = chunk.length;
  t.b = right;
  t.b_row = COLUMNS;
  t.c_row = s.y_pixel;
  t.columns = least(COLUMNS, s.filters - panel * COLUMNS);
  t.add = chunk.first > 0 || chunk.from > 0;
  const bool last =
      chunk.first + chunk.segments == s.runs && chunk.from + chunk.length == s.run;
  for (long image = 0; image < images; ++image)
    for (long row = 0; row < out_rows; ++row)
      for (long strip = 0; strip < strips.count; ++strip) {
        t.a = view.data + image * view.image + row * s.stride_y * view.row +
              strips.begin(strip) * s.stride_x * s.channels;
        t.c = y + image * s.y_image + row * s.y_row + strips.begin(strip) * s.y_pixel +
              panel * COLUMNS;
        if (last) t.end = ending(s.finish, panel * COLUMNS, t.c - s.y);
        run_tile(strips.rows(strip), t);
      }
}

// A band of rows of one image, or several small images.
void slide_task(const void* argument, long task) {
  const Slide& s = *(const Slide*)argument;
  const long first = task / s.bands * s.group, top = task % s.bands * s.band;
  const long images = least(s.group, s.images - first);
  const long out_rows = least(s.band, s.out_height - top);
  View view = s.direct();
  view.data += first * view.image + top * s.stride_y * view.row;
  if (s.padded()) {
    const long wide = s.seen_width(), high = s.seen_height(out_rows), size = high * wide * s.channels;
    float* room = penstock::scratch(0, s.group * size);
    for (long i = 0; i < images; ++i)
      copy_window(room + i * size, s.x + (first + i) * s.height * s.width * s.channels, s.height,
                  s.width, s.channels, top * s.stride_y - s.pad_top, -s.pad_left, high, wide);
    view = View{room, size, wide * s.channels};
  }
  float* y = s.y + first * s.y_image + top * s.y_row;
  each_chunk(s, [&](const Chunk& chunk) {
    for (long panel = 0; panel < s.panel_count; ++panel)
      slide_chunk(s, chunk, s.panels + (panel * s.depth + chunk.begin(s)) * COLUMNS, view, images, y,
                  out_rows, panel);
  });
}

// Outputs do not depend on how they are shared out, so that may depend on the threads.
void plan(Slide& s, Workers& workers) {
  const long tasks = 8 * workers.threads();
  const bool joined = s.dilation_x == 1;  // taps of a row lie side by side in the image
  s.run = joined ? s.cols * s.channels : s.channels;
  s.runs = joined ? s.rows : s.rows * s.cols;
  s.depth = s.rows * s.cols * s.channels;
  s.panel_count = up(s.filters, COLUMNS);
  const long row = s.seen_width() * s.channels;
  const long room = most(1, BAND_FLOATS / most(1, row * s.stride_y));
  const long shared = up(s.out_height, up(tasks, s.images));
  s.band = most(1, least(least(room, s.out_height), most(shared, up(64, s.out_width))));
  s.band = up(s.out_height, up(s.out_height, s.band));  // of nearly equal height
  s.bands = up(s.out_height, s.band);
  s.group = 1;
  if (s.bands == 1)
    s.group = most(1, least(least(16, up(s.images, tasks)),
                            BAND_FLOATS / most(1, s.seen_height(s.out_height) * row)));
}

Slide slide_of(const Conv& c, const float* x, float* y) {
  Slide s;
  s.x = x;
  s.images = c.images;
  s.height = c.height;
  s.width = c.width;
  s.channels = c.channels;
  s.rows = c.rows;
  s.cols = c.cols;
  s.filters = c.filters;
  s.out_height = c.out_height;
  s.out_width = c.out_width;
  s.stride_y = c.stride_y;
  s.stride_x = c.stride_x;
  s.dilation_y = c.dilation_y;
  s.dilation_x = c.dilation_x;
  s.pad_top = c.pad_top;
  s.pad_left = c.pad_left;
  s.panels = nullptr;
  s.y = y;
  s.y_pixel = c.filters;
  s.y_row = c.out_width * c.filters;
  s.y_image = c.out_height * s.y_row;
  return s;
}

// The filter that a sliding uses, as the memory has it or turned round.
struct Filter {
  const float* w;
  bool turned;  // taps tap_y - i * step_y, tap_x - j * step_x; filters and channels exchanged
  long tap_y, step_y, tap_x, step_x, cols;
};

// Rows [first, first + count) of one panel of the filter as a matrix [tap and channel][filter].
void pack_filter(float* to, const Slide& s, const Filter& f, long panel, long first, long count) {
  const long columns = least(COLUMNS, s.filters - panel * COLUMNS);
  if (!f.turned)
    return pack_panel(to, f.w + first * s.filters + panel * COLUMNS, s.filters, 1, count, columns);
  while (count > 0) {
    const long place = first / s.channels, channel = first % s.channels;
    const long part = least(count, s.channels - channel);
    const long tap = (f.tap_y - place / s.cols * f.step_y) * f.cols + f.tap_x -
                     place % s.cols * f.step_x;
    pack_panel(to, f.w + (tap * s.filters + panel * COLUMNS) * s.channels + channel, 1, s.channels,
               part, columns);
    to += part * COLUMNS;
    first += part;
    count -= part;
  }
}

struct Sliding {
  const Slide* s;
  const Filter* filter;
  float* panels;  // to be filled with the packed filter
  float* padded;  // to be filled with padded images
};

void pack_filter_task(const void* argument, long panel) {
  const Sliding& j = *(const Sliding*)argument;
  pack_filter(j.panels + panel * j.s->depth * COLUMNS, *j.s, *j.filter, panel, 0, j.s->depth);
}

void pad_image_task(const void* argument, long image) {
  const Sliding& j = *(const Sliding*)argument;
  const Slide& s = *j.s;
  const long high = s.seen_height(s.out_height), wide = s.seen_width();
  copy_window(j.padded + image * high * wide * s.channels,
              s.x + image * s.height * s.width * s.channels, s.height, s.width, s.channels,
              -s.pad_top, -s.pad_left, high, wide);
}

// One panel of the filter over all images; packed piece by piece where it is used.
void slide_panel_task(const void* argument, long panel) {
  const Sliding& j = *(const Sliding*)argument;
  const Slide& s = *j.s;
  View view = s.direct();
  if (j.padded != nullptr) {
    const long wide = s.seen_width() * s.channels;
    view = View{j.padded, s.seen_height(s.out_height) * wide, wide};
  }
  float* right = penstock::scratch(0, DEPTH * COLUMNS);
  each_chunk(s, [&](const Chunk& chunk) {
    pack_filter(right, s, *j.filter, panel, chunk.begin(s), chunk.segments * chunk.length);
    slide_chunk(s, chunk, right, view, s.images, s.y, s.out_height, panel);
  });
}

void slide(Slide& s, const Filter& filter, Workers& workers) {
  plan(s, workers);
  Sliding j = {&s, &filter, nullptr, nullptr};
  const long image = s.seen_height(s.out_height) * s.seen_width() * s.channels;
  // A filter much larger than the images is read once, and the images by every task.
  if (s.depth * s.filters > 2 * s.images * image && s.panel_count >= 4 * workers.threads()) {
    if (s.padded()) {
      j.padded = penstock::scratch(1, s.images * image);
      workers.run(s.images, pad_image_task, &j);
    }
    workers.run(s.panel_count, slide_panel_task, &j);
    return;
  }
  j.panels = penstock::scratch(1, s.panel_count * s.depth * COLUMNS);
  s.panels = j.panels;
  workers.run(s.panel_count, pack_filter_task, &j);
  workers.run(up(s.images, s.group) * s.bands, slide_task, &s);
}

// Whether every output pixel is a product of one input pixel with the filter as a matrix.
bool is_pointwise(const Conv& c) {
  return c.rows == 1 && c.cols == 1 && c.stride_y == 1 && c.stride_x == 1 && c.pad_top == 0 &&
         c.pad_left == 0 && c.out_height == c.height && c.out_width == c.width;
}

void multiply_pixels(const Conv& c, const float* a, const float* w, float* to, bool turned,
                     const penstock::Finish& finish, Workers& workers) {
  const long start = 0, inner = turned ? c.filters : c.channels;
  Product p;
  p.a = a;
  p.b = w;
  p.c = to;
  p.m = c.images * c.height * c.width;
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

void conv(const Conv& c, const float* x, const float* w, float* y, const penstock::Finish& finish,
          Workers& workers) {
  if (is_pointwise(c)) return multiply_pixels(c, x, w, y, false, finish, workers);
  Slide s = slide_of(c, x, y);
  s.finish = finish;
  const Filter filter = {w, false, 0, 0, 0, 0, 0};
  if (c.rows * c.cols * c.channels > 0) slide(s, filter, workers);
}

// One axis of the gradient by the input: its pixels first, first + stride, ... see every stride-th
// tap of the filter, and the gradient by the output without gaps.
struct Phase {
  long first, count;  // pixels of the input
  long taps, last_tap;
  long pad;
};

Phase phase_of(long which, long size, long taps, long stride, long dilation, long pad) {
  Phase p;
  if (stride == 1) return Phase{0, size, taps, taps - 1, (taps - 1) * dilation - pad};
  p.first = ((which - pad) % stride + stride) % stride;
  p.count = p.first < size ? up(size - p.first, stride) : 0;
  p.taps = which < taps ? up(taps - which, stride) : 0;
  p.last_tap = which + (p.taps - 1) * stride;
  p.pad = p.taps - 1 - (p.first + pad - which) / stride;
  return p;
}

void conv_input_grad(const Conv& c, const float* w, const float* dy, float* dx, Workers& workers) {
  if (is_pointwise(c)) return multiply_pixels(c, dy, w, dx, true, {}, workers);
  if (c.rows < c.stride_y || c.cols < c.stride_x || c.filters == 0)  // pixels that no tap meets
    __builtin_memset(dx, 0, (unsigned long)(c.images * c.height * c.width * c.channels) *
                                sizeof(float));
  if (c.filters == 0) return;
  for (long i = 0; i < c.stride_y; ++i)
    for (long j = 0; j < c.stride_x; ++j) {
      const Phase v = phase_of(i, c.height, c.rows, c.stride_y, c.dilation_y, c.pad_top);
      const Phase h = phase_of(j, c.width, c.cols, c.stride_x, c.dilation_x, c.pad_left);
      if (v.count <= 0 || h.count <= 0 || v.taps == 0 || h.taps == 0) continue;
      Slide s = slide_of(c, dy, dx + (v.first * c.width + h.first) * c.channels);
      s.height = c.out_height;
      s.width = c.out_width;
      s.channels = c.filters;
      s.filters = c.channels;
      s.rows = v.taps;
      s.cols = h.taps;
      s.out_height = v.count;
      s.out_width = h.count;
      s.stride_y = s.stride_x = 1;
      s.pad_top = v.pad;
      s.pad_left = h.pad;
      s.y_pixel = c.stride_x * c.channels;
      s.y_row = c.stride_y * c.width * c.channels;
      s.y_image = c.height * c.width * c.channels;
      const Filter filter = {w, true, v.last_tap, c.stride_y, h.last_tap, c.stride_x, c.cols};
      slide(s, filter, workers);
    }
}

// The gradient by the filter: sums run over pixels, the tile's rows are taps and channels. Bands of
// rows of all images are summed in groups that the shapes fix, and the groups' sums added in order.
struct FilterGrad {
  const Conv* c;
  const float *x, *dy;
  float* parts;   // [group][depth][filters]
  float* dw;
  long band, bands;                   // rows of the output, and bands in an image
  long group, groups, block, blocks;  // bands in a group; strips in a block
  long run, runs, depth, strip_count, wide;
  long size() const { return depth * c->filters; }
};

void filter_grad_task(const void* argument, long task) {
  const FilterGrad& f = *(const FilterGrad*)argument;
  const Conv& c = *f.c;
  const long g = task / f.blocks, first_strip = task % f.blocks * f.block;
  const long last_strip = least(first_strip + f.block, f.strip_count);
  const Strips strips(f.run);
  const long each = f.runs / c.rows;  // runs in a row of the filter
  // The rows of the filter that this task is about: it needs no others of the image.
  const long first_row = first_strip / strips.count / each;
  const long last_row = (last_strip - 1) / strips.count / each;
  const long reach = (last_row - first_row) * c.dilation_y + 1;
  const long row = f.wide * c.channels;
  float* room = penstock::scratch(0, ((f.band - 1) * c.stride_y + reach) * row);
  float* right = penstock::scratch(2, f.band * c.out_width * COLUMNS);
  float* part = f.parts + g * f.size();
  long starts[MOST_RUNS];
  const long begin = g * f.group, end = least(begin + f.group, c.images * f.bands);
  for (long unit = begin; unit < end; ++unit) {
    const long image = unit / f.bands, top = unit % f.bands * f.band;
    const long out_rows = least(f.band, c.out_height - top);
    copy_window(room, f.x + image * c.height * c.width * c.channels, c.height, c.width, c.channels,
                top * c.stride_y - c.pad_top + first_row * c.dilation_y, -c.pad_left,
                (out_rows - 1) * c.stride_y + reach, f.wide);
    for (long i = 0; i < out_rows; ++i) starts[i] = i * c.stride_y * row;
    const float* dy = f.dy + (image * c.out_height + top) * c.out_width * c.filters;
    for (long column = 0; column < c.filters; column += COLUMNS) {
      Tile t;
      t.columns = least(COLUMNS, c.filters - column);
      pack_panel(right, dy + column, c.filters, 1, out_rows * c.out_width, t.columns);
      t.a_row = 1;
      t.a_col = c.stride_x * c.channels;
      t.starts = starts;
      t.segments = out_rows;
      t.length = c.out_width;
      t.b = right;
      t.b_row = COLUMNS;
      t.c_row = c.filters;
      t.add = unit > begin;
      for (long strip = first_strip; strip < last_strip; ++strip) {
        const long piece = strip / strips.count, within = strips.begin(strip % strips.count);
        t.a = room + (piece / each - first_row) * c.dilation_y * row +
              piece % each * c.dilation_x * c.channels + within;
        t.c = part + (piece * f.run + within) * c.filters + column;
        run_tile(strips.rows(strip % strips.count), t);
      }
    }
  }
}

const long ADDED = 1 << 14;  // numbers that one task adds

void add_parts_task(const void* argument, long task) {
  const FilterGrad& f = *(const FilterGrad*)argument;
  const long size = f.size(), last = least((task + 1) * ADDED, size);
  long i = task * ADDED;
  for (; i + LANES <= last; i += LANES) {
    Vector sum = load(f.parts + i);
    for (long g = 1; g < f.groups; ++g) sum += load(f.parts + g * size + i);
    store(f.dw + i, sum);
  }
  for (; i < last; ++i) {
    float sum = f.parts[i];
    for (long g = 1; g < f.groups; ++g) sum += f.parts[g * size + i];
    f.dw[i] = sum;
  }
}

void conv_filter_grad(const Conv& c, const float* x, const float* dy, float* dw,
                      Workers& workers) {
  FilterGrad f;
  f.c = &c;
  f.x = x;
  f.dy = dy;
  f.dw = dw;
  const bool joined = c.dilation_x == 1;
  f.run = joined ? c.cols * c.channels : c.channels;
  f.runs = joined ? c.rows : c.rows * c.cols;
  f.depth = c.rows * c.cols * c.channels;
  if (f.depth == 0 || c.filters == 0) return;
  f.strip_count = f.runs * Strips(f.run).count;
  f.wide = (c.out_width - 1) * c.stride_x + (c.cols - 1) * c.dilation_x + 1;
  const long room = 2 * BAND_FLOATS / most(1, f.wide * c.channels * c.stride_y);
  f.band = most(1, least(least(MOST_RUNS, room), PIXELS / c.out_width));
  f.band = up(c.out_height, up(c.out_height, f.band));
  f.bands = up(c.out_height, f.band);
  const long units = c.images * f.bands;
  f.group = up(units, most(1, least(GROUPS, (1l << 20) / f.size())));
  f.groups = up(units, f.group);
  f.block = f.groups >= GROUPS / 2 ? f.strip_count : up(f.strip_count, up(GROUPS, f.groups));
  f.blocks = up(f.strip_count, f.block);
  f.parts = f.groups == 1 ? dw : penstock::scratch(1, f.groups * f.size());
  workers.run(f.groups * f.blocks, filter_grad_task, &f);
  if (f.groups > 1) workers.run(up(f.size(), ADDED), add_parts_task, &f);
}

}  // namespace
