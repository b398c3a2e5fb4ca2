// What softmax and cross entropies take besides exponentials, logarithms and sums: those are NumPy's.
// Part of arrays.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "each_set.h"

namespace penstock {
namespace {

// The largest number of a row, NaN where there is one.
template <typename Element>
Element largest_or_nan(const Element *row, int64_t width) {
  constexpr int64_t kLanes = 8;
  typedef Element Lanes __attribute__((vector_size(kLanes * sizeof(Element))));
  Lanes largest = Lanes{} - std::numeric_limits<Element>::infinity(), each;
  auto missing = largest != largest;
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    std::memcpy(&each, row + i, sizeof each);
    largest = each > largest ? each : largest;
    missing |= each != each;
  }
  Element most[kLanes];
  std::memcpy(most, &largest, sizeof most);
  bool has_nan = false;
  for (int64_t lane = 0; lane < kLanes; ++lane) has_nan |= missing[lane] != 0;
  for (; i < width; ++i) {
    most[0] = row[i] > most[0] ? row[i] : most[0];
    has_nan |= row[i] != row[i];
  }
  return has_nan ? std::numeric_limits<Element>::quiet_NaN() : *std::max_element(most, most + kLanes);
}

// Each row less its largest number.
template <typename Element>
EACH_SET int64_t shift_rows(const Element *rows, int64_t number, int64_t width, Element *shifted) {
  for (; number > 0; --number, rows += width, shifted += width) {
    const Element most = largest_or_nan(rows, width);
    for (int64_t i = 0; i < width; ++i) shifted[i] = rows[i] - most;
  }
  return -1;
}

// Of each row the gradient, exponentials / sum - labels, in place of the exponentials, and the parts of the
// loss, labels * (logarithm of the sum - shifted).
template <typename Element>
EACH_SET int64_t cross_rows(const Element *shifted, const Element *sums, const Element *logs,
                   const Element *labels, int64_t number, int64_t width, Element *exponentials,
                   Element *parts) {
  for (int64_t row = 0; row < number; ++row, shifted += width, labels += width) {
    const Element sum = sums[row], log = logs[row];
    for (int64_t i = 0; i < width; ++i) {
      parts[i] = labels[i] * (log - shifted[i]);
      exponentials[i] = exponentials[i] / sum - labels[i];
    }
    exponentials += width;
    parts += width;
  }
  return -1;
}

// The same for rows that are surely of one class, and their losses. -1, or the first row whose label is no
// class: then nothing is written.
template <typename Element, typename Label>
EACH_SET int64_t cross_classes(const Element *shifted, const Element *sums, const Element *logs,
                      const Label *labels, int64_t number, int64_t width, Element *exponentials,
                      Element *losses) {
  for (int64_t row = 0; row < number; ++row)
    if (labels[row] < 0 || labels[row] >= width) return row;
  for (int64_t row = 0; row < number; ++row, shifted += width, exponentials += width) {
    const Element sum = sums[row];
    for (int64_t i = 0; i < width; ++i) exponentials[i] /= sum;
    exponentials[labels[row]] -= 1;
    losses[row] = logs[row] - shifted[labels[row]];
  }
  return -1;
}

}  // namespace
}  // namespace penstock
