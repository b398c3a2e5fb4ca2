// Pooling over cells of two sizes, for images.cc.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "image_convolutions.h"
#include "image_parts.h"

namespace penstock {
namespace {

struct Cells {
  int64_t batch, height, width, depth, rows, columns;
  const int64_t *row_edges, *column_edges;
  int64_t more;  // places that a cell shares with the next one

  Cells(const int64_t *s, const int64_t *row_edges, const int64_t *column_edges, bool overlapping)
      : batch(s[0]), height(s[1]), width(s[2]), depth(s[3]), rows(s[4]), columns(s[5]),
        row_edges(row_edges), column_edges(column_edges), more(overlapping) {}

  // Whether cells follow each other from the first place to the last one.
  bool are_right() const { return rise(row_edges, rows, height) && rise(column_edges, columns, width); }

  Part row(int64_t i) const { return cell(row_edges, i, rows); }
  Part column(int64_t i) const { return cell(column_edges, i, columns); }

 private:
  static bool rise(const int64_t *edges, int64_t count, int64_t size) {
    bool right = edges[0] == 0 && edges[count] == size;
    for (int64_t i = 0; i < count; ++i) right = right && edges[i] < edges[i + 1];
    return right;
  }

  Part cell(const int64_t *edges, int64_t i, int64_t count) const {
    Part found(0, 0, 1);
    found.from = edges[i];
    found.to = edges[i + 1] + (i + 1 < count ? more : 0);
    return found;
  }
};

// Sums of a cell's elements, in double or whole numbers that wrap around; or its largest element.
template <typename T>
using Total = std::conditional_t<std::is_integral_v<T>, int64_t, double>;

template <typename T>
T mean_of(Total<T> total, int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    const int64_t found = total / count;
    return static_cast<T>(found - (total % count < 0));  // down
  } else {
    return static_cast<T>(total / static_cast<double>(count));
  }
}

template <typename T>
void pool_means(const T *x, const Cells &s, int64_t share, T *out) {
  const Part rows = s.row(share % s.rows);
  const int64_t line = s.width * s.depth;
  const T *image = x + share / s.rows * s.height * line;
  std::vector<Total<T>> sums(static_cast<size_t>(line)), total(static_cast<size_t>(s.depth));
  for (int64_t y = rows.from; y < rows.to; ++y)
    for (int64_t k = 0; k < line; ++k) sums[k] = sum_of(sums[k], Total<T>(image[y * line + k]));
  T *to = out + share * s.columns * s.depth;
  for (int64_t j = 0; j < s.columns; ++j, to += s.depth) {
    const Part columns = s.column(j);
    std::fill(total.begin(), total.end(), Total<T>{0});
    for (int64_t at = columns.from; at < columns.to; ++at)
      for (int64_t k = 0; k < s.depth; ++k) total[k] = sum_of(total[k], sums[at * s.depth + k]);
    const int64_t count = (rows.to - rows.from) * (columns.to - columns.from);
    for (int64_t k = 0; k < s.depth; ++k) to[k] = mean_of<T>(total[k], count);
  }
}

// The largest elements of a cell, of kChannels channels, whose first one is given: as `larger` chooses.
// In vectors that every instruction set has: the compiler takes longer ones apart before it makes the
// function for each set, and then compares number by number, which took ten times as long.
template <typename T>
inline __attribute__((always_inline)) void cell_largest_lanes(const T *first, const Cells &s, Part rows,
                                                              Part columns, T *out) {
  using Lane = typename Lanes<T, 16>::type;
  constexpr int64_t kSize = sizeof(Lane) / sizeof(T), kLanes = kChannels / kSize;
  Lane best[kLanes];
  __builtin_memcpy(best, first, sizeof best);
  for (int64_t y = 0; y < rows.to - rows.from; ++y)
    for (int64_t at = 0; at < columns.to - columns.from; ++at) {
      const T *from = first + (y * s.width + at) * s.depth;
      for (int64_t k = 0; k < kLanes; ++k) {
        const Lane each = loaded<Lane>(from + k * kSize);
        best[k] = (best[k] > each) | (best[k] != best[k]) ? best[k] : each;
      }
    }
  __builtin_memcpy(out, best, sizeof best);
}

// The largest elements of a cell, of `size` channels.
template <typename T>
void cell_largest(const T *image, const Cells &s, Part rows, Part columns, int64_t size, T *out) {
  T best[kChannels];
  const T *first = image + (rows.from * s.width + columns.from) * s.depth;
  if (size == kChannels) return cell_largest_lanes(first, s, rows, columns, out);
  std::copy_n(first, size, best);
  for (int64_t y = rows.from; y < rows.to; ++y)
    for (int64_t at = columns.from; at < columns.to; ++at) {
      const T *each = image + (y * s.width + at) * s.depth;
      for (int64_t k = 0; k < size; ++k) best[k] = larger(best[k], each[k]);
    }
  std::copy_n(best, size, out);
}

template <typename T>
void pool_largest(const T *x, const Cells &s, int64_t share, T *out) {
  const Part rows = s.row(share % s.rows);
  const T *image = x + share / s.rows * s.height * s.width * s.depth;
  T *to = out + share * s.columns * s.depth;
  for (int64_t j = 0; j < s.columns; ++j, to += s.depth)
    for (int64_t from = 0; from < s.depth; from += kChannels)
      cell_largest(image + from, s, rows, s.column(j), std::min(kChannels, s.depth - from), to + from);
}

// The first pixel of a cell that holds its largest element, or a NaN.
template <typename T>
int64_t first_largest(const T *image, const Cells &s, Part rows, Part columns, int64_t channel) {
  int64_t best = rows.from * s.width + columns.from;
  for (int64_t y = rows.from; y < rows.to; ++y)
    for (int64_t at = columns.from; at < columns.to; ++at) {
      const int64_t pixel = y * s.width + at;
      const T each = image[pixel * s.depth + channel];
      if (each != each) return pixel;
      if (each > image[best * s.depth + channel]) best = pixel;
    }
  return best;
}

template <typename T>
int64_t pool_back(const T *x, const T *pooled, const T *grads, const Cells &s, int64_t threads, T *out) {
  std::atomic<int64_t> wrong{-1};
  const int64_t line = s.columns * s.depth;
  // Cells of one image share pixels where they overlap; channels do not.
  const int64_t step = 8, blocks = (s.depth + step - 1) / step;
  in_parallel(s.batch * blocks, threads, [&](int64_t share) {
    const int64_t number = share / blocks, from = share % blocks * step;
    const int64_t to = std::min(s.depth, from + step);
    const int64_t start = number * s.height * s.width * s.depth;
    for (int64_t i = 0; i < s.rows; ++i) {
      const Part rows = s.row(i);
      for (int64_t j = 0; j < s.columns; ++j) {
        const Part columns = s.column(j);
        const int64_t cell = (number * s.rows + i) * line + j * s.depth;
        for (int64_t k = from; k < to; ++k) {
          const int64_t at = start + first_largest(x + start, s, rows, columns, k) * s.depth + k;
          if (!(x[at] == pooled[cell + k])) {
            wrong = cell + k;
            return;
          }
          out[at] = sum_of(out[at], grads[cell + k]);
        }
      }
    }
  });
  return wrong;
}

// What a place takes of its cell, which begins there or before, and of the one before, with which it
// may share the place.
int64_t shared_cell(const Cells &s, int64_t cell, int64_t start, int64_t at) {
  return s.more && cell > 0 && at == start ? cell - 1 : -1;
}

template <typename T>
int64_t spread(const T *grads, const Cells &s, int64_t threads, T *out) {
  return in_parallel_with_memory(s.batch * s.rows, threads, [&](int64_t share) {
    const int64_t i = share % s.rows, line = s.columns * s.depth;
    const T *given = grads + share * line;
    std::vector<double> shares(static_cast<size_t>(line));
    for (int64_t y = s.row_edges[i]; y < s.row_edges[i + 1]; ++y) {
      const int64_t above = shared_cell(s, i, s.row_edges[i], y);
      const auto part = [&](int64_t row, int64_t j, int64_t k) {
        const Part rows = s.row(row), columns = s.column(j);
        const int64_t count = (rows.to - rows.from) * (columns.to - columns.from);
        return static_cast<double>(given[(row - i) * line + j * s.depth + k]) /
               static_cast<double>(count);
      };
      for (int64_t j = 0; j < s.columns; ++j)
        for (int64_t k = 0; k < s.depth; ++k)
          shares[j * s.depth + k] = part(i, j, k) + (above < 0 ? 0.0 : part(above, j, k));
      T *to = out + (share / s.rows * s.height + y) * s.width * s.depth;
      for (int64_t j = 0; j < s.columns; ++j)
        for (int64_t at = s.column_edges[j]; at < s.column_edges[j + 1]; ++at, to += s.depth) {
          const int64_t before = shared_cell(s, j, s.column_edges[j], at);
          const double *own = &shares[j * s.depth];
          for (int64_t k = 0; k < s.depth; ++k)
            to[k] = static_cast<T>(before < 0 ? own[k] : own[k] + shares[before * s.depth + k]);
        }
    }
  });
}

EACH_SET int64_t pool_row(int64_t kind, bool mean, const void *x, const Cells &s, int64_t share,
                          void *out) {
  return for_pooled(kind, [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    if (mean)
      pool_means(static_cast<const T *>(x), s, share, static_cast<T *>(out));
    else
      pool_largest(static_cast<const T *>(x), s, share, static_cast<T *>(out));
    return -1;
  });
}

EACH_SET int64_t pools_back(int64_t kind, const void *x, const void *pooled, const void *grads,
                            const Cells &s, int64_t threads, void *out) {
  return for_pooled(kind, [&](auto type) {
    using T = typename decltype(type)::type;
    return pool_back(static_cast<const T *>(x), static_cast<const T *>(pooled),
                     static_cast<const T *>(grads), s, threads, static_cast<T *>(out));
  });
}

EACH_SET int64_t spreads(int64_t kind, const void *grads, const Cells &s, int64_t threads, void *out) {
  return for_pooled(kind, [&](auto type) {
    using T = typename decltype(type)::type;
    return spread(static_cast<const T *>(grads), s, threads, static_cast<T *>(out));
  });
}

}  // namespace
}  // namespace penstock
