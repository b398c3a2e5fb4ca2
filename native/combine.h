// Rows combined by id, and what combines two elements. Part of arrays.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "each_set.h"

namespace penstock {
namespace {

inline int64_t entry(const void *numbers, int64_t wide, int64_t i) {
  return wide ? static_cast<const int64_t *>(numbers)[i] : static_cast<const int32_t *>(numbers)[i];
}

// Sums and products of whole numbers wrap around.
template <typename Element> struct Wrapping { using Type = Element; };
template <> struct Wrapping<int32_t> { using Type = uint32_t; };
template <> struct Wrapping<int64_t> { using Type = uint64_t; };

template <int64_t operation, typename Element>
inline Element combined(Element a, Element b) {
  using Whole = typename Wrapping<Element>::Type;
  if (operation == 0) return static_cast<Element>(static_cast<Whole>(a) + static_cast<Whole>(b));
  if (operation == 1) return static_cast<Element>(static_cast<Whole>(a) * static_cast<Whole>(b));
  if (operation == 4) return static_cast<Element>(static_cast<Whole>(a) - static_cast<Whole>(b));
  if (operation == 5) return a / b;
  if (operation == 6) return b;
  if (operation == 2) return a > b ? a : b;
  if (operation == 3) return a < b ? a : b;
  if (operation == 7) return b > a ? b : a;
  return b < a ? b : a;
}

struct Rows {
  const void *rows;
  int64_t width;
  const void *from;
  int64_t from_wide, sources;
  const void *ids;
  int64_t wide, number, order, count;
  void *result;
  int64_t *sizes;
};

template <int64_t operation, typename Element>
inline Element combined_in_order(Element found, const Element *row, int64_t count) {
  for (int64_t i = 0; i < count; ++i) found = combined<operation>(found, row[i]);
  return found;
}

// Some elements combined with what there is, several columns side by side where there are many: each waits
// for the sum before it, and long products would leave the range of numbers sooner. Which zero, or what
// behind a NaN, is the largest hangs on the order, so that these are gone through one by one.
template <int64_t operation, typename Element>
inline Element all_combined(Element before, const Element *row, int64_t count) {
  constexpr int64_t kSide = 64 / sizeof(Element);
  constexpr bool kExtreme = operation == 2 || operation == 3 || operation > 6;
  if (count < 2 * kSide) return combined_in_order<operation>(before, row, count);
  if (kExtreme) {
    int64_t missing = 0;
    for (int64_t i = 0; i < count; ++i) missing += row[i] != row[i];
    if (missing || before != before) return combined_in_order<operation>(before, row, count);
  }
  Element side[kSide];
  std::copy(row, row + kSide, side);
  int64_t i = kSide;
  for (; i + kSide <= count; i += kSide)
    for (int64_t j = 0; j < kSide; ++j) side[j] = combined<operation>(side[j], row[i + j]);
  Element found = side[0];
  for (int64_t j = 1; j < kSide; ++j) found = combined<operation>(found, side[j]);
  for (; i < count; ++i) found = combined<operation>(found, row[i]);
  if (kExtreme && found == 0) return combined_in_order<operation>(before, row, count);
  return combined<operation>(before, found);
}

// Single elements whose ids never fall: those of one id are side by side.
template <int64_t operation, typename Element, typename Index>
int64_t combine_runs(const Rows &given) {
  const Index *ids = static_cast<const Index *>(given.ids);
  const Element *row = static_cast<const Element *>(given.rows);
  Element *result = static_cast<Element *>(given.result);
  int64_t last = 0;
  for (int64_t i = 0; i < given.number;) {
    const Index id = ids[i];
    if (id < last || id >= given.count) return i;
    last = id;
    int64_t end = i + 1;
    while (end < given.number && ids[end] == id) ++end;
    result[id] = all_combined<operation>(result[id], row + i, end - i);
    if (given.sizes) given.sizes[id] += end - i;
    i = end;
  }
  return -1;
}

// The first id that is not in [0, count), or -1.
template <typename Index>
int64_t first_outside(const Index *ids, int64_t number, int64_t count) {
  using Bits = std::make_unsigned_t<Index>;
  Bits largest = 0;  // of numbers without a sign, as which negative ones are the largest
  for (int64_t i = 0; i < number; ++i) largest = std::max(largest, static_cast<Bits>(ids[i]));
  // Above these no number of the type is inside: a negative one would be, of fewer bits than the count's.
  const uint64_t limit = std::min(static_cast<uint64_t>(count),
                                  static_cast<uint64_t>(std::numeric_limits<Index>::max()) + 1);
  const bool outside = number > 0 && largest >= limit;
  for (int64_t i = 0; outside && i < number; ++i)
    if (ids[i] < 0 || ids[i] >= count) return i;
  return -1;
}

// As combine_rows, for rows of one element. `fetched`: the result is so large that its elements would be
// waited for one by one.
template <int64_t operation, bool fetched, typename Element, typename Index>
int64_t combine_elements(const Rows &given) {
  constexpr int64_t kAhead = 16;
  const Index *ids = static_cast<const Index *>(given.ids);
  const Element *__restrict row = static_cast<const Element *>(given.rows);
  Element *__restrict result = static_cast<Element *>(given.result);
  const int64_t number = given.number;
  const uint64_t count = static_cast<uint64_t>(given.count);
  for (int64_t i = 0; i < number; ++i) {
    const Index id = ids[i];
    if (fetched && i + kAhead < number)  // a hint, of whatever place
      __builtin_prefetch(reinterpret_cast<const void *>(reinterpret_cast<uintptr_t>(result) +
                                                        static_cast<uint64_t>(ids[i + kAhead]) * sizeof(Element)),
                         1);
    if (static_cast<uint64_t>(static_cast<int64_t>(id)) < count)
      result[id] = combined<operation>(result[id], row[i]);
    else if (given.order != (id < 0 ? 2 : 3))
      return i;
  }
  return -1;
}

// Rows in order, each with an id in [0, count); others are left out where the order says so.
template <int64_t operation, typename Element, typename Index>
int64_t combine_rows(const Rows &given) {
  constexpr int64_t kAhead = 16, kLine = 64, kFetched = 4 * kLine;  // rows, and bytes
  constexpr int64_t kNear = (1 << 17) / sizeof(Element);  // elements that the second cache holds with others
  if (given.width == 1 && given.count <= kNear) return combine_elements<operation, false, Element, Index>(given);
  if (given.width == 1) return combine_elements<operation, true, Element, Index>(given);
  const Index *ids = static_cast<const Index *>(given.ids);
  const Element *__restrict row = static_cast<const Element *>(given.rows);
  Element *__restrict result = static_cast<Element *>(given.result);
  const int64_t width = given.width, bytes = width * static_cast<int64_t>(sizeof(Element));
  for (int64_t i = 0; i < given.number; ++i, row += width) {
    if (ids[i] < 0 || ids[i] >= given.count) {
      if (given.order == (ids[i] < 0 ? 2 : 3)) continue;
      return i;
    }
    const int64_t next = i + kAhead < given.number ? ids[i + kAhead] : -1;
    if (next >= 0 && next < given.count)  // rows far apart would wait for memory one by one
      for (int64_t at = 0; at < std::min(bytes, kFetched); at += kLine)
        __builtin_prefetch(reinterpret_cast<const char *>(result) + next * bytes + at, 1);
    Element *__restrict to = result + ids[i] * width;
    for (int64_t j = 0; j < width; ++j) to[j] = combined<operation>(to[j], row[j]);
  }
  return -1;
}

template <int64_t operation, typename Element>
int64_t combine(const Rows &given) {
  if (given.order == 4) {
    const int64_t outside =
        given.wide ? first_outside(static_cast<const int64_t *>(given.ids), given.number, given.count)
                   : first_outside(static_cast<const int32_t *>(given.ids), given.number, given.count);
    if (outside >= 0) return outside;
  }
  if (given.order == 1 && given.width == 1 && !given.from)
    return given.wide ? combine_runs<operation, Element, int64_t>(given)
                      : combine_runs<operation, Element, int32_t>(given);
  if (given.order != 1 && !given.from && !given.sizes)
    return given.wide ? combine_rows<operation, Element, int64_t>(given)
                      : combine_rows<operation, Element, int32_t>(given);
  const Element *rows = static_cast<const Element *>(given.rows);
  Element *result = static_cast<Element *>(given.result);
  int64_t last = 0;
  for (int64_t i = 0; i < given.number; ++i) {
    const int64_t id = entry(given.ids, given.wide, i);
    const int64_t source = given.from ? entry(given.from, given.from_wide, i) : i;
    if (given.from && (source < 0 || source >= given.sources)) return i;
    if (id < 0 || id >= given.count) {
      if (given.order == (id < 0 ? 2 : 3)) continue;
      return i;
    }
    if (given.order == 1) {
      if (id < last) return i;
      last = id;
    }
    Element *to = result + id * given.width;
    const Element *row = rows + source * given.width;
    for (int64_t j = 0; j < given.width; ++j) to[j] = combined<operation>(to[j], row[j]);
    if (given.sizes) ++given.sizes[id];
  }
  return -1;
}

template <int64_t operation>
EACH_SET int64_t combine(int64_t kind, const Rows &given) {
  switch (kind) {
    case 0: return combine<operation, float>(given);
    case 1: return combine<operation, double>(given);
    case 2: return combine<operation, int32_t>(given);
  }
  return combine<operation, int64_t>(given);
}

// Whole numbers are not divided here: some cannot be.
EACH_SET int64_t divide(int64_t kind, const Rows &given) {
  if (kind > 1) return 0;
  return kind == 1 ? combine<5, double>(given) : combine<5, float>(given);
}

}  // namespace
}  // namespace penstock
