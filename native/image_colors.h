// Colour spaces, hue, saturation and contrast, for images.cc.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "image_parts.h"

namespace penstock {
namespace {

constexpr int64_t kPixels = 128;  // that are worked on at once, channel by channel

template <typename T>
T in_unit(T x) {
  const T low = x < 0 ? T{0} : x;
  return low > 1 ? T{1} : low;
}

template <typename T>
struct Pixels {
  T a[kPixels], b[kPixels], c[kPixels];

  void to_hsv() {
    for (int64_t i = 0; i < kPixels; ++i) {
      const T red = a[i], green = b[i], blue = c[i];
      const T value = larger(larger(red, green), blue);
      const T spread = value - smaller(smaller(red, green), blue);
      const T safe = spread == 0 ? T{1} : spread;
      const T of_red = (green - blue) / safe, of_green = (blue - red) / safe + 2;
      const T of_blue = (red - green) / safe + 4;
      const T sector = value == red ? of_red : value == green ? of_green : of_blue;
      const T hue = spread == 0 ? T{0} : sector / 6;
      const T part = spread / (value > 0 ? value : T{1});
      a[i] = hue < 0 ? hue + 1 : hue;
      b[i] = value > 0 ? part : T{0};
      c[i] = value;
    }
  }

  void to_rgb() {
    for (int64_t i = 0; i < kPixels; ++i) {
      const T sector = a[i] * 6, saturation = b[i], value = c[i], rest = 1 - saturation;
      a[i] = (rest + saturation * in_unit(std::fabs(sector - 3) - 1)) * value;
      b[i] = (rest + saturation * in_unit(2 - std::fabs(sector - 2))) * value;
      c[i] = (rest + saturation * in_unit(2 - std::fabs(sector - 4))) * value;
    }
  }

  void turn(T amount) {
    for (int64_t i = 0; i < kPixels; ++i) {
      const T sum = a[i] + amount, part = sum - std::trunc(sum);
      a[i] = part < 0 ? part + 1 : part;
    }
  }

  void saturate(T amount) {
    for (int64_t i = 0; i < kPixels; ++i) b[i] = in_unit(b[i] * amount);
  }
};

template <typename T>
void colors_of(int64_t operation, const T *x, int64_t count, T amount, T *out) {
  Pixels<T> held;
  std::memset(&held, 0, sizeof held);
  for (int64_t from = 0; from < count; from += kPixels) {
    const int64_t size = std::min(kPixels, count - from);
    const T *in = x + 3 * from;
    T *to = out + 3 * from;
    for (int64_t i = 0; i < size; ++i) {
      held.a[i] = in[3 * i];
      held.b[i] = in[3 * i + 1];
      held.c[i] = in[3 * i + 2];
    }
    if (operation != 1) held.to_hsv();
    if (operation == 2) held.turn(amount);
    if (operation == 3) held.saturate(amount);
    if (operation != 0) held.to_rgb();
    for (int64_t i = 0; i < size; ++i) {
      to[3 * i] = held.a[i];
      to[3 * i + 1] = held.b[i];
      to[3 * i + 2] = held.c[i];
    }
  }
}

EACH_SET void float_colors(int64_t operation, const float *x, Part part, float amount, float *out) {
  colors_of(operation, x + 3 * part.from, part.to - part.from, amount, out + 3 * part.from);
}
EACH_SET void double_colors(int64_t operation, const double *x, Part part, double amount, double *out) {
  colors_of(operation, x + 3 * part.from, part.to - part.from, amount, out + 3 * part.from);
}

// Images [number, places, depth] in blocks of places. Blocks follow from the shape alone, so that sums
// are the same for any number of threads.
struct Blocks {
  int64_t number, places, depth, of_image;

  Blocks(int64_t number, int64_t places, int64_t depth)
      : number(number), places(places), depth(depth),
        of_image(std::min<int64_t>(64, (places + 4095) / 4096)) {}

  int64_t count() const { return number * of_image; }
  // Where a block begins, by its number of all blocks, and its size in places.
  int64_t start(int64_t block) const { return (block / of_image * places + part(block).from) * depth; }
  int64_t size(int64_t block) const { return part(block).to - part(block).from; }

 private:
  Part part(int64_t block) const { return Part(places, block % of_image, of_image); }
};

// Pixels that are worked on side by side: few where there are many channels.
int64_t side_by_side(int64_t places, int64_t depth) {
  return std::max<int64_t>(1, std::min({int64_t{64}, places, 8192 / depth}));
}

// Adds the sums of channels to `totals`. Several pixels are summed side by side in floats, not so many
// that much is lost.
void add_channels(const float *x, int64_t places, int64_t depth, std::vector<float> &held,
                  double *totals) {
  constexpr int64_t kTurns = 16;
  const int64_t side = side_by_side(places, depth), width = side * depth;
  held.resize(static_cast<size_t>(width));
  float *sums = held.data();
  int64_t left = places;
  while (left >= side) {
    std::fill_n(sums, width, 0.0f);
    for (int64_t turn = 0; turn < kTurns && left >= side; ++turn, left -= side, x += width)
      for (int64_t k = 0; k < width; ++k) sums[k] += x[k];
    for (int64_t i = 0; i < side; ++i)
      for (int64_t k = 0; k < depth; ++k) totals[k] += sums[i * depth + k];
  }
  for (; left > 0; --left, x += depth)
    for (int64_t k = 0; k < depth; ++k) totals[k] += x[k];
}

// The sums of channels of some blocks: [blocks, depth], zeros before.
EACH_SET int64_t sum_blocks(const float *x, const Blocks &blocks, Part some, double *totals) {
  std::vector<float> held;
  for (int64_t i = some.from; i < some.to; ++i)
    add_channels(x + blocks.start(i), blocks.size(i), blocks.depth, held, totals + i * blocks.depth);
  return -1;
}

// Some blocks with the distance from their image's means multiplied.
EACH_SET int64_t spread_blocks(const float *x, const Blocks &blocks, Part some, const double *totals,
                               float factor, float *out) {
  const int64_t depth = blocks.depth, side = side_by_side(blocks.places, depth);
  std::vector<float> held(static_cast<size_t>(side * depth));
  float *means = held.data();
  int64_t image = -1;
  for (int64_t i = some.from; i < some.to; ++i) {
    if (i / blocks.of_image != image) {
      image = i / blocks.of_image;
      for (int64_t k = 0; k < depth; ++k) {
        double total = 0;
        for (int64_t j = 0; j < blocks.of_image; ++j)
          total += totals[(image * blocks.of_image + j) * depth + k];
        for (int64_t j = 0; j < side; ++j)
          means[j * depth + k] = static_cast<float>(total / static_cast<double>(blocks.places));
      }
    }
    const float *in = x + blocks.start(i);
    float *to = out + blocks.start(i);
    for (int64_t left = blocks.size(i) * depth; left > 0; left -= side * depth) {
      const int64_t size = std::min(left, side * depth);
      for (int64_t k = 0; k < size; ++k) to[k] = (in[k] - means[k]) * factor + means[k];
      in += size;
      to += size;
    }
  }
  return -1;
}

int64_t contrast(const float *x, const Blocks &blocks, float factor, int64_t threads, float *out) {
  constexpr int64_t kSharesOfThread = 4;
  std::vector<double> held(static_cast<size_t>(blocks.count() * blocks.depth));
  double *totals = held.data();
  const int64_t shares = std::min(blocks.count(), kSharesOfThread * threads);
  const int64_t found = in_shares(shares, threads, [&](int64_t share) {
    return sum_blocks(x, blocks, Part(blocks.count(), share, shares), totals);
  });
  if (found != -1) return found;
  return in_shares(shares, threads, [&](int64_t share) {
    return spread_blocks(x, blocks, Part(blocks.count(), share, shares), totals, factor, out);
  });
}

}  // namespace
}  // namespace penstock
