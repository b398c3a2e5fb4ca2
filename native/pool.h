// Pooling over images [n, y, x, channels], a vector of channels at a time. Part of isa.cc.
#pragma once

#include "gemm.h"

namespace {

using penstock::Pool;

struct Pooling {
  const Pool* p;
  const float *x, *y, *dy;
  float* to;
};

// The taps of a window that lie in the image.
struct Taps {
  long top, bottom, left, right;
};

inline Taps taps_of(const Pool& p, long oy, long ox) {
  const long y = oy * p.stride_y - p.pad_top, x = ox * p.stride_x - p.pad_left;
  return Taps{most(y, 0), least(y + p.rows, p.height), most(x, 0), least(x + p.cols, p.width)};
}

// Tasks are rows of the output.
void max_pool_task(const void* argument, long task) {
  const Pooling& o = *(const Pooling*)argument;
  const Pool& p = *o.p;
  const long image = task / p.out_height, oy = task % p.out_height;
  const float* x = o.x + image * p.height * p.width * p.channels;
  float* to = o.to + task * p.out_width * p.channels;
  for (long ox = 0; ox < p.out_width; ++ox, to += p.channels) {
    const Taps taps = taps_of(p, oy, ox);
    for (long c = 0; c < p.channels; c += LANES) {
      const long count = least(LANES, p.channels - c);
      Vector best = splat(-__builtin_inff());
      for (long y = taps.top; y < taps.bottom; ++y)
        for (long i = taps.left; i < taps.right; ++i) {
          const Vector value = load_some(x + (y * p.width + i) * p.channels + c, count);
          best = (value > best) | (value != value) ? value : best;  // NaN wins, and stays
        }
      store_some(to + c, best, count);
    }
  }
}

void avg_pool_task(const void* argument, long task) {
  const Pooling& o = *(const Pooling*)argument;
  const Pool& p = *o.p;
  const long image = task / p.out_height, oy = task % p.out_height;
  const float* x = o.x + image * p.height * p.width * p.channels;
  float* to = o.to + task * p.out_width * p.channels;
  for (long ox = 0; ox < p.out_width; ++ox, to += p.channels) {
    const Taps taps = taps_of(p, oy, ox);
    const long seen = (taps.bottom - taps.top) * (taps.right - taps.left);
    const Vector number = splat((float)most(seen, 1));
    for (long c = 0; c < p.channels; c += LANES) {
      const long count = least(LANES, p.channels - c);
      Vector sum = {};
      for (long y = taps.top; y < taps.bottom; ++y)
        for (long i = taps.left; i < taps.right; ++i)
          sum += load_some(x + (y * p.width + i) * p.channels + c, count);
      store_some(to + c, sum / number, count);
    }
  }
}

// Tasks are images and, in each, vectors of channels: windows that overlap add up in one order.
struct Slice {
  long image, channel, count;
};

inline Slice slice_of(const Pool& p, long task) {
  const long vectors = up(p.channels, 4 * LANES);
  const long channel = task % vectors * 4 * LANES;
  return Slice{task / vectors, channel, least(4 * LANES, p.channels - channel)};
}

inline void clear(const Pool& p, float* dx, const Slice& s) {
  for (long i = 0; i < p.height * p.width; ++i)
    __builtin_memset(dx + i * p.channels + s.channel, 0, (unsigned long)s.count * sizeof(float));
}

void max_pool_grad_task(const void* argument, long task) {
  const Pooling& o = *(const Pooling*)argument;
  const Pool& p = *o.p;
  const Slice s = slice_of(p, task);
  const long size = p.height * p.width * p.channels;
  const float* x = o.x + s.image * size;
  float* dx = o.to + s.image * size;
  clear(p, dx, s);
  for (long oy = 0; oy < p.out_height; ++oy)
    for (long ox = 0; ox < p.out_width; ++ox) {
      const Taps taps = taps_of(p, oy, ox);
      const long out = ((s.image * p.out_height + oy) * p.out_width + ox) * p.channels;
      for (long c = s.channel; c < s.channel + s.count; c += LANES) {
        const long count = least(LANES, s.channel + s.count - c);
        const Vector best = load_some(o.y + out + c, count);
        Vector left = load_some(o.dy + out + c, count);  // what no tap has taken yet
        for (long y = taps.top; y < taps.bottom; ++y)
          for (long i = taps.left; i < taps.right; ++i) {
            const long at = (y * p.width + i) * p.channels + c;
            const auto mine = load_some(x + at, count) == best;
            store_some(dx + at, load_some(dx + at, count) + (mine ? left : Vector{}), count);
            left = mine ? Vector{} : left;
          }
      }
    }
}

void avg_pool_grad_task(const void* argument, long task) {
  const Pooling& o = *(const Pooling*)argument;
  const Pool& p = *o.p;
  const Slice s = slice_of(p, task);
  float* dx = o.to + s.image * p.height * p.width * p.channels;
  clear(p, dx, s);
  for (long oy = 0; oy < p.out_height; ++oy)
    for (long ox = 0; ox < p.out_width; ++ox) {
      const Taps taps = taps_of(p, oy, ox);
      const long seen = (taps.bottom - taps.top) * (taps.right - taps.left);
      const Vector number = splat((float)most(seen, 1));
      const long out = ((s.image * p.out_height + oy) * p.out_width + ox) * p.channels;
      for (long c = s.channel; c < s.channel + s.count; c += LANES) {
        const long count = least(LANES, s.channel + s.count - c);
        const Vector part = load_some(o.dy + out + c, count) / number;
        for (long y = taps.top; y < taps.bottom; ++y)
          for (long i = taps.left; i < taps.right; ++i) {
            const long at = (y * p.width + i) * p.channels + c;
            store_some(dx + at, load_some(dx + at, count) + part, count);
          }
      }
    }
}

void max_pool(const Pool& p, const float* x, float* y, Workers& workers) {
  const Pooling o = {&p, x, nullptr, nullptr, y};
  workers.run(p.images * p.out_height, max_pool_task, &o);
}

void avg_pool(const Pool& p, const float* x, float* y, Workers& workers) {
  const Pooling o = {&p, x, nullptr, nullptr, y};
  workers.run(p.images * p.out_height, avg_pool_task, &o);
}

void max_pool_grad(const Pool& p, const float* x, const float* y, const float* dy, float* dx,
                   Workers& workers) {
  const Pooling o = {&p, x, y, dy, dx};
  workers.run(p.images * up(p.channels, 4 * LANES), max_pool_grad_task, &o);
}

void avg_pool_grad(const Pool& p, const float* dy, float* dx, Workers& workers) {
  const Pooling o = {&p, nullptr, nullptr, dy, dx};
  workers.run(p.images * up(p.channels, 4 * LANES), avg_pool_grad_task, &o);
}

}  // namespace
