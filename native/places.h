// Numbers of rows: made of positions, told apart, and the shares of those that have the same one. Part of
// arrays.cc.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace penstock {
namespace {

inline bool is_inside(int64_t number, int64_t count) {
  return static_cast<uint64_t>(number) < static_cast<uint64_t>(count);
}

// The number of the row at each position in the first `depth` axes of these sizes: -1, or the first
// position that is outside.
template <typename Index>
int64_t flatten(const Index *positions, int64_t number, int64_t depth, const int64_t *sizes,
                int64_t *rows) {
  if (depth == 2) {  // without a question at each
    bool all = true;
    for (int64_t i = 0; i < number; ++i) {
      const int64_t row = positions[2 * i], column = positions[2 * i + 1];
      all &= is_inside(row, sizes[0]) & is_inside(column, sizes[1]);
      rows[i] = static_cast<int64_t>(static_cast<uint64_t>(row) * static_cast<uint64_t>(sizes[1]) +
                                     static_cast<uint64_t>(column));
    }
    if (all) return -1;
  }
  for (int64_t i = 0; i < number; ++i, positions += depth) {
    int64_t row = 0;
    for (int64_t axis = 0; axis < depth; ++axis) {
      if (!is_inside(positions[axis], sizes[axis])) return i;
      row = row * sizes[axis] + positions[axis];
    }
    rows[i] = row;
  }
  return -1;
}

// The first of `number` positions that is not inside of these sizes, -1 without one. `below`: what is below
// zero is left alone. A position whose distance to 0 or to the last place is below zero is outside.
template <typename Index>
int64_t first_outside(const Index *positions, int64_t number, int64_t depth, const int64_t *sizes,
                      bool below) {
  using Bits = std::make_unsigned_t<Index>;
  constexpr int64_t kMost = std::numeric_limits<Index>::max();
  const Bits kept = below ? ~Bits(0) : 0;
  Bits signs = 0;
  for (int64_t axis = 0; axis < depth; ++axis) {
    const Bits last = static_cast<Bits>(std::min(sizes[axis] - 1, kMost));
    const Index *of = positions + axis;
    if (depth == 1) {  // apart, for vectors
      for (int64_t i = 0; i < number; ++i) {
        const Bits place = static_cast<Bits>(of[i]);
        signs |= (place & ~kept) | ((last - place) & ~(place & kept));
      }
    } else {
      for (int64_t i = 0; i < number; ++i) {
        const Bits place = static_cast<Bits>(of[i * depth]);
        signs |= (place & ~kept) | ((last - place) & ~(place & kept));
      }
    }
  }
  if (static_cast<Index>(signs) >= 0) return -1;
  for (int64_t i = 0; i < number; ++i, positions += depth)
    for (int64_t axis = 0; axis < depth; ++axis)
      if (positions[axis] < 0 ? !below : positions[axis] >= sizes[axis]) return i;
  return -1;
}

// What is wrong with some positions: the first that is outside, at which it ends, and the first that does not stand
// behind the one before it in row-major order; -1 without one.
struct Misplaced {
  int64_t outside = -1, unsorted = -1;
};

// Puts values, or one for all where `step` is 0, at those of positions [.., rank] from `from` on that are before
// `to`, in an array of these sizes. `rising`: they must stand behind each other.
template <typename Index, typename Word, typename Rank>
Misplaced put_at(const Index *positions, int64_t from, int64_t to, Rank rank, const int64_t *sizes, bool rising,
                 const Word *values, int64_t step, Word *out) {
  Misplaced wrong;
  const auto place_of = [=](int64_t i) -> int64_t {
    uint64_t place = 0;  // which may wrap around outside
    bool inside = true;
    for (int64_t axis = 0; axis < rank; ++axis) {
      const int64_t each = positions[i * rank + axis];
      inside &= is_inside(each, sizes[axis]);
      place = place * static_cast<uint64_t>(sizes[axis]) + static_cast<uint64_t>(each);
    }
    return inside ? static_cast<int64_t>(place) : -1;
  };
  int64_t last = rising && from > 0 ? place_of(from - 1) : -1;
  for (int64_t i = from; i < to; ++i) {
    const int64_t place = place_of(i);
    if (place < 0) {
      wrong.outside = i;
      return wrong;
    }
    if (rising && place <= last && wrong.unsorted < 0) wrong.unsorted = i;
    last = place;
    out[place] = values[i * step];
  }
  return wrong;
}

// Rows of `width` elements at positions in the first `depth` axes of these sizes, zeros for those outside:
// -1, or the first of these. Looked at ahead, positions are followed without a question at each.
template <typename Index, typename Element>
int64_t take_rows(const Element *from, const Index *positions, int64_t number, int64_t depth,
                  const int64_t *sizes, int64_t width, Element *out) {
  if (width == 1 && depth == 2 && sizes[0] > 0 && sizes[1] > 0) {
    bool all = true;
    for (int64_t i = 0; i < number; ++i) {
      const int64_t row = positions[2 * i], column = positions[2 * i + 1];
      const bool inside = is_inside(row, sizes[0]) & is_inside(column, sizes[1]);
      out[i] = from[inside ? row * sizes[1] + column : 0];
      all &= inside;
    }
    if (all) return -1;
  }
  if (width == 1 && depth == 1 && first_outside(positions, number, depth, sizes, false) < 0) {
    for (int64_t i = 0; i < number; ++i) out[i] = from[positions[i]];
    return -1;
  }
  int64_t first = -1;
  for (int64_t i = 0; i < number; ++i, positions += depth, out += width) {
    uint64_t row = 0;  // which may wrap around outside
    bool inside = true;
    for (int64_t axis = 0; axis < depth; ++axis) {
      inside &= is_inside(positions[axis], sizes[axis]);
      row = row * static_cast<uint64_t>(sizes[axis]) + static_cast<uint64_t>(positions[axis]);
    }
    if (inside) {
      std::memcpy(out, from + row * static_cast<uint64_t>(width),
                  static_cast<size_t>(width) * sizeof(Element));
    } else {
      if (first < 0) first = i;
      std::fill_n(out, width, Element());
    }
  }
  return first;
}

// The different ones of numbers in [0, rows), rising, and which of them each is: how many there are, -1
// where a number is outside.
template <typename Index>
int64_t different(const Index *numbers, int64_t count, int64_t rows, int64_t *own, Index *found) {
  std::vector<int64_t> seen(static_cast<size_t>(rows));
  for (int64_t i = 0; i < count; ++i) {
    if (!is_inside(numbers[i], rows)) return -1;
    seen[numbers[i]] = 1;
  }
  int64_t size = 0;
  for (int64_t row = 0; row < rows; ++row) {
    if (!seen[row]) continue;
    found[size] = static_cast<Index>(row);
    seen[row] = size++;
  }
  for (int64_t i = 0; i < count; ++i) own[i] = seen[numbers[i]];
  return size;
}

// How often each number in [0, rows) is there: -1, or the first number that is outside.
template <typename Index>
int64_t often(const Index *numbers, int64_t count, int64_t rows, int64_t *sizes) {
  for (int64_t i = 0; i < count; ++i) {
    if (!is_inside(numbers[i], rows)) return i;
    ++sizes[numbers[i]];
  }
  return -1;
}

// Each row times one by its size, or by the root of it; a size below 1 counts as 1.
template <typename Element>
void share(const Element *rows, int64_t number, int64_t width, const int64_t *sizes, bool root,
           Element *out) {
  for (int64_t i = 0; i < number; ++i, rows += width, out += width) {
    const Element size = std::max(static_cast<Element>(sizes[i]), Element(1));
    const Element part = 1 / (root ? std::sqrt(size) : size);
    for (int64_t j = 0; j < width; ++j) out[j] = rows[j] * part;
  }
}

// Adds to result[indices[i]] the share that each of its items has in row ids[i], which is divided by how
// many items it has, or by the root of that: -1, or the first place that is outside.
template <typename Element, typename Index, typename Id>
int64_t spread(const Element *rows, int64_t count, int64_t width, const Index *indices, const Id *ids,
               int64_t number, bool root, int64_t size, Element *result) {
  std::vector<int64_t> sizes(static_cast<size_t>(count));
  for (int64_t i = 0; i < number; ++i) {
    if (!is_inside(ids[i], count) || !is_inside(indices[i], size)) return i;
    ++sizes[ids[i]];
  }
  std::vector<Element> shares(static_cast<size_t>(count * width));
  share(rows, count, width, sizes.data(), root, shares.data());
  for (int64_t i = 0; i < number; ++i) {
    const Element *from = shares.data() + ids[i] * width;
    Element *to = result + indices[i] * width;
    for (int64_t j = 0; j < width; ++j) to[j] += from[j];
  }
  return -1;
}

}  // namespace
}  // namespace penstock
