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

// Adds the sums of channels to `totals`. Several pixels are summed side by side in floats, not so many
// that much is lost.
void add_channels(const float *x, int64_t places, int64_t depth, double *totals) {
  constexpr int64_t kSide = 64, kTurns = 16;
  const int64_t width = kSide * depth;
  std::vector<float> held(places < kSide ? 0 : static_cast<size_t>(width));
  float *sums = held.data();
  int64_t left = places;
  while (left >= kSide) {
    std::fill_n(sums, width, 0.0f);
    for (int64_t turn = 0; turn < kTurns && left >= kSide; ++turn, left -= kSide, x += width)
      for (int64_t k = 0; k < width; ++k) sums[k] += x[k];
    for (int64_t i = 0; i < kSide; ++i)
      for (int64_t k = 0; k < depth; ++k) totals[k] += sums[i * depth + k];
  }
  for (; left > 0; --left, x += depth)
    for (int64_t k = 0; k < depth; ++k) totals[k] += x[k];
}

EACH_SET int64_t contrast(const float *x, int64_t number, int64_t places, int64_t depth, float factor,
                          int64_t threads, float *out) {
  std::vector<double> totals(static_cast<size_t>(threads * depth));
  std::vector<float> means(static_cast<size_t>(depth * kPixels));
  int64_t found = -1;
  for (int64_t i = 0; i < number && found == -1; ++i, x += places * depth, out += places * depth) {
    std::fill(totals.begin(), totals.end(), 0.0);
    found = in_parallel_with_memory(threads, threads, [&](int64_t share) {
      const Part part(places, share, threads);
      add_channels(x + part.from * depth, part.to - part.from, depth, &totals[share * depth]);
    });
    for (int64_t k = 0; k < depth; ++k) {
      double total = 0;
      for (int64_t share = 0; share < threads; ++share) total += totals[share * depth + k];
      for (int64_t j = 0; j < kPixels; ++j)
        means[j * depth + k] = static_cast<float>(total / static_cast<double>(places));
    }
    in_parallel(threads, threads, [&](int64_t share) {
      const Part part(places, share, threads);
      for (int64_t at = part.from; at < part.to; at += kPixels) {
        const int64_t size = std::min(kPixels, part.to - at) * depth;
        const float *in = x + at * depth;
        float *to = out + at * depth;
        for (int64_t k = 0; k < size; ++k) to[k] = (in[k] - means[k]) * factor + means[k];
      }
    });
  }
  return found;
}

}  // namespace
}  // namespace penstock
