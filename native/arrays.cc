// Work on arrays of numbers. What the functions promise is in arrays.h.

#include "arrays.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "ctc.h"
#include "draws.h"
#include "each_set.h"
#include "places.h"
#include "rows.h"
#include "rules.h"
#include "softmax.h"
#include "sparse_places.h"
#include "threads.h"

namespace penstock {
namespace {

// ---- distinct items

// A table of the distinct items so far: numbers by hash, in places that follow each other.
class Distinct {
 public:
  Distinct() : slots_(64, Slot{0, 0}) {}

  // The number of an item: that of an equal one, or the next. `equals(k)` compares with number k.
  template <typename Equals>
  uint32_t number(uint64_t hash, Equals equals) {
    const uint32_t mark = static_cast<uint32_t>(hash >> 32);
    const uint64_t mask = slots_.size() - 1;
    for (uint64_t at = mark & mask;; at = (at + 1) & mask) {
      Slot &slot = slots_[at];
      if (!slot.next) {
        slot = Slot{mark, ++size_};
        if (size_ * 2 > slots_.size()) grow();
        return size_ - 1;
      }
      if (slot.mark == mark && equals(slot.next - 1)) return slot.next - 1;
    }
  }

  // The next number, for an item that equals nothing.
  uint32_t alone() { return size_++; }

  uint32_t size() const { return size_; }

 private:
  struct Slot {
    uint32_t mark, next;  // the hash's upper half; the item's number plus one, 0 in an empty slot
  };

  void grow() {
    std::vector<Slot> old(slots_.size() * 2, Slot{0, 0});
    old.swap(slots_);
    const uint64_t mask = slots_.size() - 1;
    for (const Slot &slot : old) {
      if (!slot.next) continue;
      uint64_t at = slot.mark & mask;
      while (slots_[at].next) at = (at + 1) & mask;
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  uint32_t size_ = 0;
};

uint64_t mixed(uint64_t x) {
  x ^= x >> 32;
  x *= 0x9E3779B97F4A7C15u;
  x ^= x >> 29;
  return x * 0xBF58476D1CE4E5B9u;
}

// Items of up to 8 bytes, as whole numbers.
template <typename Bits>
struct Numbers {
  const Bits *items;
  bool floating;

  Bits key(int64_t i) const {  // of zeros the positive one
    const Bits bits = items[i];
    return floating && !static_cast<Bits>(bits << 1) ? Bits{0} : bits;
  }
  bool equals_nothing(int64_t i) const {
    constexpr uint64_t sign = uint64_t{1} << (8 * sizeof(Bits) - 1);
    constexpr uint64_t infinite = sizeof(Bits) == 2   ? 0x7C00u
                                  : sizeof(Bits) == 4 ? 0x7F800000u
                                                      : 0x7FF0000000000000u;
    return floating && (items[i] & ~sign) > infinite;
  }
  uint64_t hash(int64_t i) const { return mixed(key(i)); }
  bool equal(int64_t i, int64_t j) const { return key(i) == key(j); }
};

// Items of any size.
struct Bytes {
  const char *items;
  int64_t size;

  bool equals_nothing(int64_t) const { return false; }
  uint64_t hash(int64_t i) const {
    const char *item = items + i * size;
    uint64_t found = static_cast<uint64_t>(size), word = 0;
    int64_t at = 0;
    for (; at + 8 <= size; at += 8) {
      std::memcpy(&word, item + at, 8);
      found = mixed(found ^ word);
    }
    word = 0;
    std::memcpy(&word, item + at, static_cast<size_t>(size - at));
    return mixed(found ^ word);
  }
  bool equal(int64_t i, int64_t j) const {
    return !std::memcmp(items + i * size, items + j * size, static_cast<size_t>(size));
  }
};

template <typename Index, typename Items>
int64_t find_distinct(const Items &items, int64_t count, Index *numbers, int64_t *first,
                      int64_t *counts) {
  Distinct distinct;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t before = distinct.size();
    const uint32_t number =
        items.equals_nothing(i)
            ? distinct.alone()
            : distinct.number(items.hash(i), [&](uint32_t k) { return items.equal(first[k], i); });
    if (number == before) {
      first[number] = i;
      counts[number] = 0;
    }
    ++counts[number];
    numbers[i] = static_cast<Index>(number);
  }
  return distinct.size();
}

template <typename Index>
int64_t find_distinct(const void *items, int64_t count, int64_t size, bool floating, Index *numbers,
                      int64_t *first, int64_t *counts) {
  switch (size) {
    case 1: return find_distinct(Numbers<uint8_t>{static_cast<const uint8_t *>(items), false},
                                 count, numbers, first, counts);
    case 2: return find_distinct(Numbers<uint16_t>{static_cast<const uint16_t *>(items), floating},
                                 count, numbers, first, counts);
    case 4: return find_distinct(Numbers<uint32_t>{static_cast<const uint32_t *>(items), floating},
                                 count, numbers, first, counts);
    case 8: return find_distinct(Numbers<uint64_t>{static_cast<const uint64_t *>(items), floating},
                                 count, numbers, first, counts);
  }
  return find_distinct(Bytes{static_cast<const char *>(items), size}, count, numbers, first, counts);
}

// ---- rows by id

int64_t entry(const void *numbers, int64_t wide, int64_t i) {
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
  if (operation == 2) return a > b || a != a ? a : b;
  return a < b || a != a ? a : b;
}

}  // namespace
}  // namespace penstock

#include "ragged.h"  // which adds up as above
#include "sets.h"    // the same

namespace penstock {
namespace {

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

// All of some elements, several columns side by side where there are many: each waits for the sum
// before it, and long products would leave the range of numbers sooner.
template <int64_t operation, typename Element>
inline Element all_combined(const Element *row, int64_t count) {
  constexpr int64_t kSide = 64 / sizeof(Element);
  if (count < 2 * kSide) {
    Element found = row[0];
    for (int64_t i = 1; i < count; ++i) found = combined<operation>(found, row[i]);
    return found;
  }
  Element side[kSide];
  std::copy(row, row + kSide, side);
  int64_t i = kSide;
  for (; i + kSide <= count; i += kSide)
    for (int64_t j = 0; j < kSide; ++j) side[j] = combined<operation>(side[j], row[i + j]);
  Element found = side[0];
  for (int64_t j = 1; j < kSide; ++j) found = combined<operation>(found, side[j]);
  for (; i < count; ++i) found = combined<operation>(found, row[i]);
  return found;
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
    result[id] = combined<operation>(result[id], all_combined<operation>(row + i, end - i));
    if (given.sizes) given.sizes[id] += end - i;
    i = end;
  }
  return -1;
}

// The first id that is not in [0, count), or -1.
template <typename Index>
int64_t first_outside(const Index *ids, int64_t number, int64_t count) {
  bool outside = false;
  for (int64_t i = 0; i < number; ++i) outside |= ids[i] < 0 || ids[i] >= count;
  for (int64_t i = 0; outside && i < number; ++i)
    if (ids[i] < 0 || ids[i] >= count) return i;
  return -1;
}

// Rows in order, each with an id in [0, count).
template <int64_t operation, typename Element, typename Index>
int64_t combine_rows(const Rows &given) {
  constexpr int64_t kAhead = 16, kLine = 64, kFetched = 4 * kLine;  // rows, and bytes
  const Index *ids = static_cast<const Index *>(given.ids);
  const Element *__restrict row = static_cast<const Element *>(given.rows);
  Element *__restrict result = static_cast<Element *>(given.result);
  const int64_t width = given.width, bytes = width * static_cast<int64_t>(sizeof(Element));
  for (int64_t i = 0; i < given.number; ++i, row += width) {
    if (ids[i] < 0 || ids[i] >= given.count) return i;
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
  if ((given.order == 0 || given.order == 4) && !given.from && !given.sizes)
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

constexpr int64_t kPadded = 1 << 17;  // bytes of rows that a thread fills at once

// `count` times the `size` bytes at `item`.
void repeat(const char *item, int64_t size, int64_t count, char *to) {
  uint32_t four;
  if (size == 4) {
    std::memcpy(&four, item, 4);
    for (int64_t i = 0; i < count; ++i) std::memcpy(to + 4 * i, &four, 4);
    return;
  }
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * size, item, static_cast<size_t>(size));
}

// `size` is a constant where it is one of many small ones, so that copies take no call.
inline void deal(const char *rows, int64_t size, const int32_t *ids, int64_t number,
                 int64_t *starts, char *out) {
  for (int64_t i = 0; i < number; ++i)
    std::memcpy(out + starts[ids[i]]++ * size, rows + i * size, static_cast<size_t>(size));
}

template <typename Index>
int64_t invert(const Index *x, int64_t number, Index *out) {
  std::fill(out, out + number, Index{-1});
  for (int64_t i = 0; i < number; ++i) {
    if (x[i] < 0 || x[i] >= number || out[x[i]] >= 0) return i;
    out[x[i]] = static_cast<Index>(i);
  }
  return -1;
}

// ---- the largest

uint32_t rank_of(float x) {  // rises with the number; NaN is the largest
  if (x != x) return std::numeric_limits<uint32_t>::max();
  x += 0.0f;  // zeros are equal
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}

uint32_t rank_of(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000u; }

// Sorts as the order wants: the largest first, then the first.
template <typename Element>
uint64_t key_of(Element x, int64_t place) {
  return static_cast<uint64_t>(~rank_of(x)) << 32 | static_cast<uint64_t>(place);
}

constexpr int64_t kInserted = 16;  // of so few, each new one is put among those before it

// The k least keys of a row in order; `keys` has room for all of them, or for k that are few.
template <typename Element>
void least_keys(const Element *row, int64_t width, int64_t k, uint64_t *keys) {
  if (k > kInserted || k == width) {
    for (int64_t i = 0; i < width; ++i) keys[i] = key_of(row[i], i);
    if (k < width) std::nth_element(keys, keys + k, keys + width);
    std::sort(keys, keys + k);
    return;
  }
  for (int64_t i = 0; i < k; ++i) keys[i] = key_of(row[i], i);
  std::sort(keys, keys + k);
  for (int64_t i = k; i < width && k > 0; ++i) {
    const uint64_t key = key_of(row[i], i);
    if (key > keys[k - 1]) continue;
    int64_t at = k - 1;
    for (; at > 0 && keys[at - 1] > key; --at) keys[at] = keys[at - 1];
    keys[at] = key;
  }
}

template <typename Element>
void top(const Element *row, int64_t width, int64_t k, uint64_t *keys, Element *values,
         int64_t *places) {
  least_keys(row, width, k, keys);
  for (int64_t i = 0; i < k; ++i) {
    places[i] = static_cast<int64_t>(keys[i] & 0xFFFFFFFFu);
    values[i] = row[places[i]];
  }
}

template <typename Element>
int64_t top_of_rows(const void *rows, int64_t number, int64_t width, int64_t k, int64_t threads,
                    void *values, int64_t *places) {
  return in_parallel_with_memory(number, threads, [=](int64_t row) {
    thread_local std::vector<uint64_t> keys;
    if (static_cast<int64_t>(keys.size()) < width) keys.resize(static_cast<size_t>(width));
    top(static_cast<const Element *>(rows) + row * width, width, k, keys.data(),
        static_cast<Element *>(values) + row * k, places + row * k);
  });
}

bool is_among(const float *row, int64_t width, int64_t target, int64_t k) {
  constexpr float most = std::numeric_limits<float>::max();
  if (target < 0 || target >= width || !(row[target] >= -most && row[target] <= most)) return false;
  const float own = row[target];
  int64_t larger = 0;
  for (int64_t i = 0; i < width && larger < k; ++i) {
    if (!(row[i] >= -most && row[i] <= most)) return false;
    larger += row[i] > own;
  }
  return larger < k;
}

// The largest of several columns of numbers side by side, which the compiler makes vectors; then the
// first place that has it.
template <bool least, typename Element>
int64_t extreme(const Element *row, int64_t width) {
  using Limits = std::numeric_limits<Element>;
  const Element low = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  const Element high = Limits::has_infinity ? Limits::infinity() : Limits::max();
  const auto better = [](Element a, Element b) { return least ? a < b : a > b; };
  constexpr int64_t kSide = 64 / sizeof(Element);
  Element best[kSide];
  std::fill(best, best + kSide, least ? high : low);
  int64_t i = 0;
  for (; i + kSide <= width; i += kSide)
    for (int64_t j = 0; j < kSide; ++j) best[j] = better(row[i + j], best[j]) ? row[i + j] : best[j];
  Element found = best[0];
  for (int64_t j = 1; j < kSide; ++j) found = better(best[j], found) ? best[j] : found;
  for (; i < width; ++i) found = better(row[i], found) ? row[i] : found;
  if (found == (least ? high : low)) return 0;  // all are, or none is a number
  const Element *place = std::find(row, row + width, found);
  return place - row;
}

template <typename Element>
void extremes(const void *rows, int64_t number, int64_t width, int64_t least, int64_t *places) {
  const Element *row = static_cast<const Element *>(rows);
  for (int64_t i = 0; i < number; ++i, row += width)
    places[i] = least ? extreme<true>(row, width) : extreme<false>(row, width);
}

template <typename Element>
void nths(const void *rows, int64_t number, int64_t width, int64_t place, void *values) {
  const auto is_before = [](Element a, Element b) { return a < b || (b != b && a == a); };
  std::vector<Element> kept(static_cast<size_t>(width));
  const Element *row = static_cast<const Element *>(rows);
  for (int64_t i = 0; i < number; ++i, row += width) {
    std::copy(row, row + width, kept.begin());
    std::nth_element(kept.begin(), kept.begin() + place, kept.end(), is_before);
    static_cast<Element *>(values)[i] = kept[static_cast<size_t>(place)];
  }
}

// ---- boxes apart

// As NumPy's: a NaN wins.
inline float smaller(float a, float b) { return a < b || a != a ? a : b; }
inline float larger(float a, float b) { return a > b || a != a ? a : b; }

struct Box {
  float low[2], high[2], area;

  explicit Box(const float *corners) {
    for (int k = 0; k < 2; ++k) {
      low[k] = smaller(corners[k], corners[k + 2]);
      high[k] = larger(corners[k], corners[k + 2]);
    }
    area = (high[0] - low[0]) * (high[1] - low[1]);
  }
};

// Boxes side by side, so that the compiler compares several at once.
struct Boxes {
  static constexpr int kSide = 16;
  float low[2][kSide], high[2][kSide], area[kSide];

  Boxes() { std::memset(this, 0, sizeof *this); }  // boxes of no area, which cover nothing

  void put(int place, const Box &box) {
    for (int k = 0; k < 2; ++k) {
      low[k][place] = box.low[k];
      high[k][place] = box.high[k];
    }
    area[place] = box.area;
  }

  // Whether one of them has more than `limit` of its union with the box in common with it. Most have
  // nothing, which needs no division.
  bool covers(const Box &box, float limit) const {
    float both[kSide];
    int some = 0;
    for (int i = 0; i < kSide; ++i) {
      const float height = smaller(box.high[0], high[0][i]) - larger(box.low[0], low[0][i]);
      const float width = smaller(box.high[1], high[1][i]) - larger(box.low[1], low[1][i]);
      both[i] = larger(height, 0) * larger(width, 0);
      some |= both[i] > 0;
    }
    if (!some && limit >= 0) return false;
    int found = 0;
    for (int i = 0; i < kSide; ++i) {
      const float part = both[i] / (box.area + area[i] - both[i]);
      found |= (box.area <= 0 || area[i] <= 0 ? 0.0f : part) > limit;
    }
    return found;
  }
};

// Boxes and scores stand some numbers apart.
struct Scored {
  const float *boxes, *scores;
  int64_t number, box_step, score_step;

  float score(int64_t i) const { return scores[i * score_step]; }
};

int64_t apart(const Scored &given, float limit, float least, int64_t most, int64_t *taken) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < given.number; ++i)
    if (given.score(i) > least) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return given.score(a) > given.score(b); });
  std::vector<Boxes> kept;
  int64_t found = 0;
  for (const int64_t place : order) {
    if (found >= most) break;
    const Box box(given.boxes + place * given.box_step);
    const auto covers = [&](const Boxes &others) { return others.covers(box, limit); };
    if (std::any_of(kept.begin(), kept.end(), covers)) continue;
    if (found % Boxes::kSide == 0) kept.emplace_back();
    kept.back().put(static_cast<int>(found % Boxes::kSide), box);
    taken[found++] = place;
  }
  return found;
}

struct ClassSizes {
  int64_t batch, number, kinds, classes, most, room;

  explicit ClassSizes(const int64_t *s)
      : batch(s[0]), number(s[1]), kinds(s[2]), classes(s[3]), most(s[4]), room(s[5]) {}
};

struct Taken {
  float score;
  int64_t kind, place;
};

// The best boxes of all classes of one image, each class's taken apart, into rows of `room`.
int64_t apart_by_class(const float *boxes, const float *scores, const ClassSizes &s, float limit,
                       float least, bool clipped, float *out_boxes, float *out_scores,
                       float *out_classes) {
  std::vector<Taken> all;
  std::vector<int64_t> taken(static_cast<size_t>(std::max<int64_t>(0, std::min(s.number, s.most))));
  for (int64_t kind = 0; kind < s.classes; ++kind) {
    const Scored given{boxes + 4 * (kind % s.kinds), scores + kind, s.number, 4 * s.kinds, s.classes};
    const int64_t found = apart(given, limit, least, s.most, taken.data());
    for (int64_t i = 0; i < found; ++i) all.push_back(Taken{given.score(taken[i]), kind, taken[i]});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Taken &a, const Taken &b) { return a.score > b.score; });
  const int64_t count = std::min(s.room, static_cast<int64_t>(all.size()));
  for (int64_t i = 0; i < count; ++i) {
    const Taken &each = all[i];
    const float *box = boxes + 4 * (each.place * s.kinds + each.kind % s.kinds);
    for (int k = 0; k < 4; ++k) {
      const float low = box[k] < 0 ? 0.0f : box[k];
      out_boxes[4 * i + k] = clipped ? (low > 1 ? 1.0f : low) : box[k];
    }
    out_scores[i] = each.score;
    out_classes[i] = static_cast<float>(each.kind);
  }
  return count;
}

EACH_SET int64_t apart_by_classes(const float *boxes, const float *scores, const ClassSizes &s,
                                  float limit, float least, bool clipped, int64_t threads,
                                  float *out_boxes, float *out_scores, float *out_classes,
                                  int32_t *counts) {
  return in_parallel_with_memory(s.batch, threads, [&](int64_t i) {
    counts[i] = static_cast<int32_t>(apart_by_class(
        boxes + i * s.number * s.kinds * 4, scores + i * s.number * s.classes, s, limit, least, clipped,
        out_boxes + 4 * i * s.room, out_scores + i * s.room, out_classes + i * s.room));
  });
}

// ---- edits

// Row by row of the table of all beginnings of both; `row` holds the last one.
int64_t edits(const int32_t *a, int64_t a_size, const int32_t *b, int64_t b_size,
              std::vector<int64_t> &row) {
  row.resize(static_cast<size_t>(b_size) + 1);
  for (int64_t j = 0; j <= b_size; ++j) row[j] = j;
  for (int64_t i = 0; i < a_size; ++i) {
    int64_t corner = i, left = i + 1;
    for (int64_t j = 0; j < b_size; ++j) {
      const int64_t above = row[j + 1];
      row[j] = left;
      left = a[i] == b[j] ? corner : 1 + std::min(corner, std::min(above, left));
      corner = above;
    }
    row[b_size] = left;
  }
  return row[b_size];
}

// ---- places of keys

// Where the search for a key begins: far apart for keys that follow each other, and for those that
// differ in their upper bits alone.
inline int64_t first_slot(int64_t key, int64_t slot_count) {
  return static_cast<int64_t>(mixed(static_cast<uint64_t>(key)) &
                              static_cast<uint64_t>(slot_count - 1));
}



// The slot of a key, or the empty one where it would stand.
inline int64_t slot_of(const int64_t *keys, const int32_t *slots, int64_t slot_count, int64_t key) {
  int64_t slot = first_slot(key, slot_count);
  while (slots[slot] >= 0 && keys[slots[slot]] != key) slot = (slot + 1) & (slot_count - 1);
  return slot;
}

// Slots and keys that are asked for soon are on their way from memory.
inline void fetch(const int64_t *keys, const int32_t *slots, int64_t slot_count,
                  const int64_t *wanted, int64_t number, int64_t i) {
  constexpr int64_t kSlots = 16, kKeys = 8;
  if (i + kSlots < number) __builtin_prefetch(slots + first_slot(wanted[i + kSlots], slot_count));
  if (i + kKeys >= number) return;
  const int32_t place = slots[first_slot(wanted[i + kKeys], slot_count)];
  if (place >= 0) __builtin_prefetch(keys + place);
}

void find_places(const int64_t *keys, const int32_t *slots, int64_t slot_count,
                 const int64_t *wanted, int64_t number, int64_t *places) {
  for (int64_t i = 0; i < number; ++i) {
    fetch(keys, slots, slot_count, wanted, number, i);
    places[i] = slots[slot_of(keys, slots, slot_count, wanted[i])];
  }
}

// Where wanted keys, rows of them, are among the others: the row and the last place of each hit. Returns
// how many hits there are.
int64_t hits(const int64_t *keys, int64_t count, const int64_t *wanted, int64_t rows, int64_t width,
             int32_t *hit_rows, int64_t *hit_keys) {
  int64_t size = 4;
  while (size < 2 * count) size *= 2;
  std::vector<int32_t> slots(static_cast<size_t>(size), -1);
  for (int64_t i = 0; i < count; ++i)
    slots[slot_of(keys, slots.data(), size, keys[i])] = static_cast<int32_t>(i);
  int64_t found = 0;
  for (int64_t i = 0; i < rows * width; ++i) {
    const int32_t place = slots[slot_of(keys, slots.data(), size, wanted[i])];
    if (place < 0) continue;
    hit_rows[found] = static_cast<int32_t>(i / width);
    hit_keys[found++] = place;
  }
  return found;
}

// Empties a slot, and moves those that follow it nearer to where their search begins.
void vacate(const int64_t *keys, int32_t *slots, int64_t slot_count, int64_t slot) {
  const int64_t mask = slot_count - 1;
  for (int64_t next = (slot + 1) & mask; slots[next] >= 0; next = (next + 1) & mask) {
    const int64_t first = first_slot(keys[slots[next]], slot_count);
    if (((next - first) & mask) < ((next - slot) & mask)) continue;  // it begins after the empty one
    slots[slot] = slots[next];
    slot = next;
  }
  slots[slot] = -1;
}

// ---- level rows

// Adjacent parts are pooled as long as one is below the next.
void level(const double *row, int64_t width, std::vector<double> &totals,
           std::vector<int64_t> &sizes, double *out, int32_t *parts) {
  int64_t last = -1;
  for (int64_t i = 0; i < width; ++i) {
    double total = row[i];
    int64_t size = 1;
    while (last >= 0 && totals[last] * static_cast<double>(size) <
                            total * static_cast<double>(sizes[last])) {
      total += totals[last];
      size += sizes[last--];
    }
    totals[++last] = total;
    sizes[last] = size;
  }
  for (int64_t part = 0, at = 0; part <= last; ++part) {
    const double mean = totals[part] / static_cast<double>(sizes[part]);
    for (const int64_t end = at + sizes[part]; at < end; ++at) {
      out[at] = mean;
      parts[at] = static_cast<int32_t>(part);
    }
  }
}

// ---- CTC

// `sparse` is TensorFlow's CTCLoss, for which what underflows is impossible. Returns a row whose
// lengths or logits are not served, or 0 where a label is no class.
template <typename Element>
int64_t ctc(const Frames<Element> &frames, const int64_t *labels, int64_t number,
            const int64_t *starts, const int64_t *ends, const int64_t *lengths, int64_t blank,
            bool merge, bool ignore, bool sparse, int64_t threads, Element *loss,
            Element *gradient) {
  for (int64_t i = 0; i < frames.batch; ++i)
    if (lengths[i] < 0 || lengths[i] > frames.time || starts[i] < 0 || ends[i] < starts[i] ||
        ends[i] > number)
      return i;
  if (blank < 0 || blank >= frames.classes) return 0;
  for (int64_t i = 0; i < number; ++i)
    if (labels[i] < 0 || labels[i] >= frames.classes) return 0;
  std::atomic<int64_t> far{-1};
  constexpr int64_t kShare = 16;
  const int64_t shares = (frames.batch + kShare - 1) / kShare;
  const int64_t ran = in_parallel_with_memory(shares, threads, [=, &far](int64_t share) {
    Alignments<Element> alignments(frames, blank, merge, sparse, gradient);
    const int64_t last = std::min(frames.batch, (share + 1) * kShare);
    for (int64_t i = share * kShare; i < last; ++i) {
      const int64_t count = ends[i] - starts[i];
      if (ignore && count > lengths[i]) {
        alignments.clear(i, 0);
        loss[i] = 0;
        continue;
      }
      loss[i] = static_cast<Element>(
          alignments.of(i, labels + starts[i], count, lengths[i]));
      if (alignments.far()) {
        far = i;
        return;
      }
    }
  });
  return ran == -1 ? far.load() : ran;
}

template <typename Element>
int64_t ctc_sparse(const Frames<Element> &frames, const int64_t *indices, const int32_t *values,
                   int64_t number, const int32_t *lengths, int64_t blank, bool collapse, bool merge,
                   bool ignore, int64_t threads, Element *loss, Element *gradient) {
  std::vector<int64_t> labels, ends;
  if (!labels_by_row(indices, values, number, frames.batch, frames.classes, blank, collapse, labels,
                     ends))
    return 0;
  const std::vector<int64_t> wide(lengths, lengths + frames.batch);
  for (int64_t i = 0; i < frames.batch; ++i)
    if (!ignore && ends[frames.batch + i] - ends[i] > lengths[i]) return i;
  return ctc(frames, labels.data(), number, ends.data(), ends.data() + frames.batch, wide.data(),
             blank, merge, ignore, true, threads, loss, gradient);
}

template <typename Element>
int64_t ctc_best(const Frames<Element> &frames, const int32_t *lengths, int64_t blank, bool merge,
                 int64_t *indices, int64_t *labels, int64_t *counts, Element *scores) {
  int64_t found = 0;
  for (int64_t row = 0; row < frames.batch; ++row) {
    Element score = 0;
    int64_t last = -1, place = 0;
    for (int64_t t = 0; t < std::min<int64_t>(lengths[row], frames.time); ++t) {
      const Element *logits = frames.at(t, row);
      Element most = logits[0];
      int64_t best = 0;
      bool numbers = most == most;
      for (int64_t c = 1; c < frames.classes; ++c) {
        numbers &= logits[c] == logits[c];
        best = logits[c] > most ? c : best;
        most = logits[c] > most ? logits[c] : most;
      }
      if (!numbers) return -2;
      score += most;
      if (best != blank && !(merge && best == last)) {
        indices[2 * found] = row;
        indices[2 * found + 1] = place++;
        labels[found++] = best;
      }
      last = best;
    }
    counts[row] = place;
    scores[row] = -score;
  }
  return found;
}

}  // namespace
}  // namespace penstock

using namespace penstock;

EXPORT int penstock_arrays_version() { return 16; }

EXPORT int64_t penstock_arrays_unique(const void *items, int64_t count, int64_t size,
                                      int64_t floating, int64_t wide, void *numbers, int64_t *first,
                                      int64_t *counts) {
  if (count >= std::numeric_limits<int32_t>::max()) return -2;
  return with_memory([=] {
    return wide ? find_distinct(items, count, size, floating, static_cast<int64_t *>(numbers), first,
                                counts)
                : find_distinct(items, count, size, floating, static_cast<int32_t *>(numbers), first,
                                counts);
  });
}

EXPORT int64_t penstock_arrays_combine(int64_t operation, int64_t kind, const void *rows,
                                       int64_t width, const void *from, int64_t from_wide,
                                       int64_t sources, const void *ids, int64_t wide, int64_t number,
                                       int64_t order, int64_t count, void *result, int64_t *sizes) {
  const Rows given{rows, width, from, from_wide, sources, ids, wide, number, order, count, result, sizes};
  switch (operation) {
    case 0: return combine<0>(kind, given);
    case 1: return combine<1>(kind, given);
    case 2: return combine<2>(kind, given);
    case 3: return combine<3>(kind, given);
    case 4: return combine<4>(kind, given);
    case 5: return divide(kind, given);
  }
  return combine<6>(kind, given);
}

EXPORT int64_t penstock_arrays_apart(const float *boxes, const float *scores, int64_t number,
                                     const float *limits, int64_t most, int64_t *taken) {
  return with_memory(
      [=] { return apart(Scored{boxes, scores, number, 4, 1}, limits[0], limits[1], most, taken); });
}

EXPORT int64_t penstock_arrays_apart_by_class(const float *boxes, const float *scores,
                                              const int64_t *sizes, const float *limits,
                                              int64_t clipped, int64_t threads, float *out_boxes,
                                              float *out_scores, float *out_classes,
                                              int32_t *counts) {
  return apart_by_classes(boxes, scores, ClassSizes(sizes), limits[0], limits[1], clipped, threads,
                          out_boxes, out_scores, out_classes, counts);
}

EXPORT int64_t penstock_arrays_pad(const void *rows, int64_t size, const void *splits, int64_t wide,
                                   int64_t number, int64_t width, int64_t threads, const void *rest,
                                   void *out) {
  const char *from = static_cast<const char *>(rows), *fill = static_cast<const char *>(rest);
  char *to = static_cast<char *>(out);
  const int64_t share = std::max(int64_t{1}, kPadded / std::max(int64_t{1}, width * size));
  in_parallel((number + share - 1) / share, threads, [=](int64_t part) {
    const int64_t last = std::min(number, (part + 1) * share);
    for (int64_t i = part * share; i < last; ++i) {
      const int64_t begin = entry(splits, wide, i);
      const int64_t given = std::min(entry(splits, wide, i + 1) - begin, width);
      char *row = to + i * width * size;
      std::memcpy(row, from + begin * size, static_cast<size_t>(given * size));
      repeat(fill, size, width - given, row + given * size);
    }
  });
  return -1;
}

EXPORT int64_t penstock_arrays_deal(const void *rows, int64_t size, const int32_t *ids, int64_t number,
                                 int64_t parts, int64_t *ends, void *out) {
  const int64_t wrong = often(ids, number, parts, ends);
  if (wrong >= 0) return wrong;
  int64_t *starts = ends;  // which dealing moves on
  for (int64_t part = 0, start = 0; part < parts; ++part) start += std::exchange(starts[part], start);
  const char *from = static_cast<const char *>(rows);
  char *to = static_cast<char *>(out);
  switch (size) {
    case 1: deal(from, 1, ids, number, starts, to); break;
    case 2: deal(from, 2, ids, number, starts, to); break;
    case 4: deal(from, 4, ids, number, starts, to); break;
    case 8: deal(from, 8, ids, number, starts, to); break;
    default: deal(from, size, ids, number, starts, to);
  }
  return -1;
}

EXPORT int64_t penstock_arrays_invert(const void *x, int64_t wide, int64_t number, void *out) {
  if (wide) return invert(static_cast<const int64_t *>(x), number, static_cast<int64_t *>(out));
  return invert(static_cast<const int32_t *>(x), number, static_cast<int32_t *>(out));
}

EXPORT int64_t penstock_arrays_top(int64_t kind, const void *rows, int64_t number, int64_t width,
                                   int64_t k, int64_t threads, void *values, int64_t *places) {
  const auto find = kind == 0 ? top_of_rows<float> : top_of_rows<int32_t>;
  return find(rows, number, width, k, threads, values, places);
}

EXPORT int64_t penstock_arrays_among(const float *rows, int64_t number, int64_t width,
                                  const void *targets, int64_t wide, int64_t k, bool *found) {
  for (int64_t i = 0; i < number; ++i)
    found[i] = is_among(rows + i * width, width, entry(targets, wide, i), k);
  return -1;
}

EXPORT int64_t penstock_arrays_extreme(int64_t kind, const void *rows, int64_t number, int64_t width,
                                       int64_t least, int64_t *places) {
  const auto find = kind == 0   ? extremes<float>
                    : kind == 1 ? extremes<double>
                    : kind == 2 ? extremes<int32_t>
                                : extremes<int64_t>;
  find(rows, number, width, least, places);
  return -1;
}

EXPORT int64_t penstock_arrays_nth(int64_t kind, const void *rows, int64_t number, int64_t width,
                                   int64_t place, void *values) {
  const auto find = kind == 0   ? nths<float>
                    : kind == 1 ? nths<double>
                    : kind == 2 ? nths<int32_t>
                                : nths<int64_t>;
  return with_memory([=]() -> int64_t {
    find(rows, number, width, place, values);
    return -1;
  });
}

EXPORT int64_t penstock_arrays_edits(const int32_t *a, const int64_t *a_splits, const int32_t *b,
                                     const int64_t *b_splits, int64_t number, int64_t threads,
                                     int64_t *found) {
  return in_parallel_with_memory(number, threads, [=](int64_t i) {
    thread_local std::vector<int64_t> row;
    const int64_t *of_a = a_splits + i, *of_b = b_splits + i;
    found[i] = edits(a + of_a[0], of_a[1] - of_a[0], b + of_b[0], of_b[1] - of_b[0], row);
  });
}

EXPORT int64_t penstock_arrays_index(const int64_t *keys, int64_t count, int32_t *slots,
                                     int64_t slot_count) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t slot = first_slot(keys[i], slot_count);
    while (slots[slot] >= 0) slot = (slot + 1) & (slot_count - 1);
    slots[slot] = static_cast<int32_t>(i);
  }
  return -1;
}

EXPORT int64_t penstock_arrays_places(const int64_t *keys, const int32_t *slots, int64_t slot_count,
                                      const int64_t *wanted, int64_t number, int64_t threads,
                                      int64_t *places) {
  constexpr int64_t kShare = 8192;
  in_parallel((number + kShare - 1) / kShare, threads, [=](int64_t share) {
    const int64_t from = share * kShare, count = std::min(kShare, number - from);
    find_places(keys, slots, slot_count, wanted + from, count, places + from);
  });
  return -1;
}

EXPORT int64_t penstock_arrays_enter(int64_t *keys, int64_t count, int32_t *slots, int64_t slot_count,
                                     const int64_t *wanted, int64_t number, int64_t *places) {
  for (int64_t i = 0; i < number; ++i) {
    fetch(keys, slots, slot_count, wanted, number, i);
    const int64_t slot = slot_of(keys, slots, slot_count, wanted[i]);
    if (slots[slot] < 0) {
      slots[slot] = static_cast<int32_t>(count);
      keys[count++] = wanted[i];
    }
    places[i] = slots[slot];
  }
  return count;
}

EXPORT int64_t penstock_arrays_leave(const int64_t *keys, int32_t *slots, int64_t slot_count,
                                     const int64_t *wanted, int64_t number, int64_t *places) {
  int64_t left = 0;
  for (int64_t i = 0; i < number; ++i) {
    fetch(keys, slots, slot_count, wanted, number, i);
    const int64_t slot = slot_of(keys, slots, slot_count, wanted[i]);
    if (slots[slot] < 0) continue;
    places[left++] = slots[slot];
    vacate(keys, slots, slot_count, slot);
  }
  return left;
}

EXPORT int64_t penstock_arrays_level(const double *rows, int64_t number, int64_t width, double *out,
                                     int32_t *parts) {
  return with_memory([=]() -> int64_t {
    std::vector<double> totals(static_cast<size_t>(width));
    std::vector<int64_t> sizes(static_cast<size_t>(width));
    for (int64_t i = 0; i < number; ++i)
      level(rows + i * width, width, totals, sizes, out + i * width, parts + i * width);
    return -1;
  });
}

EXPORT int64_t penstock_arrays_ctc(int64_t kind, const void *logits, int64_t time, int64_t batch,
                                   int64_t classes, const int64_t *labels, int64_t number,
                                   const int64_t *splits, const int64_t *lengths, int64_t blank,
                                   int64_t merge, int64_t threads, void *loss, void *gradient) {
  const auto run = [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    const Frames<Element> frames{static_cast<const Element *>(logits), time, batch, classes};
    return ctc(frames, labels, number, splits, splits + 1, lengths, blank, merge, false, false,
               threads, typed, static_cast<Element *>(gradient));
  };
  return kind ? run(static_cast<double *>(loss)) : run(static_cast<float *>(loss));
}

EXPORT int64_t penstock_arrays_ctc_sparse(int64_t kind, const void *logits, int64_t time,
                                          int64_t batch, int64_t classes, const int64_t *indices,
                                          const int32_t *values, int64_t number,
                                          const int32_t *lengths, int64_t blank, int64_t collapse,
                                          int64_t merge, int64_t ignore, int64_t threads, void *loss,
                                          void *gradient) {
  const auto run = [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    const Frames<Element> frames{static_cast<const Element *>(logits), time, batch, classes};
    return with_memory([=] {
      return ctc_sparse(frames, indices, values, number, lengths, blank, collapse, merge, ignore,
                        threads, typed, static_cast<Element *>(gradient));
    });
  };
  return kind ? run(static_cast<double *>(loss)) : run(static_cast<float *>(loss));
}

EXPORT int64_t penstock_arrays_ctc_best(int64_t kind, const void *logits, int64_t time, int64_t batch,
                                        int64_t classes, const int32_t *lengths, int64_t blank,
                                        int64_t merge, int64_t *indices, int64_t *labels,
                                        int64_t *counts, void *scores) {
  const auto run = [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    const Frames<Element> frames{static_cast<const Element *>(logits), time, batch, classes};
    return ctc_best(frames, lengths, blank, merge, indices, labels, counts, typed);
  };
  return kind ? run(static_cast<double *>(scores)) : run(static_cast<float *>(scores));
}

EXPORT int64_t penstock_arrays_ctc_search(const double *frames, int64_t time, int64_t batch,
                                          int64_t classes, const int32_t *lengths, int64_t width,
                                          int64_t paths, int64_t threads, int64_t *labels,
                                          int64_t *counts, double *scores) {
  std::atomic<int64_t> lacking{batch};
  std::vector<int64_t> found;
  const int64_t ran = with_memory([&] {
    found.resize(static_cast<size_t>(batch));
    return in_parallel_with_memory(batch, threads, [&](int64_t row) {
      Search search(classes, width);
      const int64_t count = std::max<int64_t>(0, std::min<int64_t>(lengths[row], time));
      search.run(frames + row * classes, count, batch * classes);
      found[row] = search.found();
      for (int64_t k = 0; k < std::min(paths, found[row]); ++k) {
        counts[k * batch + row] = search.text(k, labels + (k * batch + row) * time);
        scores[row * paths + k] = search.score(k);
      }
      int64_t first = lacking;
      while (found[row] < paths && row < first && !lacking.compare_exchange_weak(first, row)) {
      }
    });
  });
  if (ran != -1 || lacking == batch) return ran;
  scores[0] = static_cast<double>(found[lacking]);
  return lacking;
}

EXPORT int64_t penstock_arrays_histogram(int64_t kind, const void *values, int64_t number,
                                         const double *limits, int64_t bins, int64_t *counts) {
  const auto run = [=](auto *typed) {
    return histogram(typed, number, limits[0], limits[1], bins, counts);
  };
  switch (kind) {
    case 0: return run(static_cast<const float *>(values));
    case 1: return run(static_cast<const double *>(values));
    case 2: return run(static_cast<const int32_t *>(values));
  }
  return run(static_cast<const int64_t *>(values));
}

EXPORT int64_t penstock_arrays_ranges(const void *starts, const void *deltas, int64_t wide,
                                      const int64_t *splits, int64_t rows, void *out) {
  if (wide)
    ranges(static_cast<const uint64_t *>(starts), static_cast<const uint64_t *>(deltas), splits, rows,
           static_cast<uint64_t *>(out));
  else
    ranges(static_cast<const uint32_t *>(starts), static_cast<const uint32_t *>(deltas), splits, rows,
           static_cast<uint32_t *>(out));
  return -1;
}

EXPORT int64_t penstock_arrays_flatten(const void *positions, int64_t wide, int64_t number, int64_t depth,
                                       const int64_t *sizes, int64_t *rows) {
  return wide ? flatten(static_cast<const int64_t *>(positions), number, depth, sizes, rows)
              : flatten(static_cast<const int32_t *>(positions), number, depth, sizes, rows);
}

EXPORT int64_t penstock_arrays_different(const void *numbers, int64_t wide, int64_t count, int64_t rows,
                                         int64_t *own, void *found) {
  return with_memory([=] {
    return wide ? different(static_cast<const int64_t *>(numbers), count, rows, own,
                            static_cast<int64_t *>(found))
                : different(static_cast<const int32_t *>(numbers), count, rows, own,
                            static_cast<int32_t *>(found));
  });
}

EXPORT int64_t penstock_arrays_share(int64_t kind, const void *rows, int64_t number, int64_t width,
                                     const int64_t *sizes, int64_t root, void *out) {
  if (kind == 0)
    share(static_cast<const float *>(rows), number, width, sizes, root, static_cast<float *>(out));
  else
    share(static_cast<const double *>(rows), number, width, sizes, root, static_cast<double *>(out));
  return -1;
}

EXPORT int64_t penstock_arrays_often(const void *numbers, int64_t wide, int64_t count, int64_t rows,
                                     int64_t *sizes) {
  return wide ? often(static_cast<const int64_t *>(numbers), count, rows, sizes)
              : often(static_cast<const int32_t *>(numbers), count, rows, sizes);
}

EXPORT int64_t penstock_arrays_are_splits(const void *splits, int64_t wide, int64_t rows, int64_t total) {
  return (wide ? are_splits(static_cast<const int64_t *>(splits), rows, total)
               : are_splits(static_cast<const int32_t *>(splits), rows, total))
             ? -1
             : 0;
}

EXPORT int64_t penstock_arrays_spread(int64_t kind, const void *rows, int64_t count, int64_t width,
                                      const void *indices, int64_t wide, const void *ids,
                                      int64_t ids_wide, int64_t number, int64_t root, int64_t size,
                                      void *result) {
  const auto run = [=](auto *to, const auto *at) {
    const auto *from = static_cast<const std::remove_pointer_t<decltype(to)> *>(rows);
    return with_memory([=] {
      return ids_wide ? spread(from, count, width, at, static_cast<const int64_t *>(ids), number, root,
                               size, to)
                      : spread(from, count, width, at, static_cast<const int32_t *>(ids), number, root,
                               size, to);
    });
  };
  const auto of = [=](auto *to) {
    return wide ? run(to, static_cast<const int64_t *>(indices))
                : run(to, static_cast<const int32_t *>(indices));
  };
  return kind == 0 ? of(static_cast<float *>(result)) : of(static_cast<double *>(result));
}

EXPORT int64_t penstock_arrays_items_of_rows(const void *splits, int64_t wide, int64_t rows, int64_t total,
                                             int64_t step, int64_t *ids, int64_t *offsets) {
  return wide ? items_of_rows(static_cast<const int64_t *>(splits), rows, total, step, ids, offsets)
              : items_of_rows(static_cast<const int32_t *>(splits), rows, total, step, ids, offsets);
}

EXPORT int64_t penstock_arrays_count_rows(int64_t kind, const int64_t *splits, int64_t rows,
                                          const void *values, int64_t wide, int64_t number,
                                          int64_t size, const void *weights, int64_t binary,
                                          void *result) {
  const auto run = [=](auto *typed) {
    const auto *w = static_cast<const std::remove_pointer_t<decltype(typed)> *>(weights);
    return wide ? count_rows(splits, rows, static_cast<const int64_t *>(values), number, size, w, binary,
                             typed)
                : count_rows(splits, rows, static_cast<const int32_t *>(values), number, size, w, binary,
                             typed);
  };
  switch (kind) {
    case 0: return run(static_cast<float *>(result));
    case 1: return run(static_cast<double *>(result));
    case 2: return run(static_cast<int32_t *>(result));
  }
  return run(static_cast<int64_t *>(result));
}

EXPORT int64_t penstock_arrays_chosen_rows(const void *splits, int64_t wide, int64_t rows, const void *ids,
                                           int64_t ids_wide, int64_t number, void *ends,
                                           int64_t *places) {
  const auto run = [=](const auto *each, auto *to) {
    const auto chosen = [=](const auto *of) -> int64_t {
      if (places == nullptr) return chosen_splits(each, rows, of, number, to);
      chosen_items(each, of, number, places);
      return -1;
    };
    return ids_wide ? chosen(static_cast<const int64_t *>(ids)) : chosen(static_cast<const int32_t *>(ids));
  };
  return wide ? run(static_cast<const int64_t *>(splits), static_cast<int64_t *>(ends))
              : run(static_cast<const int32_t *>(splits), static_cast<int32_t *>(ends));
}

EXPORT int64_t penstock_arrays_range_splits(const void *starts, const void *limits, const void *deltas,
                                            int64_t wide, const int64_t *steps, int64_t rows, int64_t most,
                                            int64_t *splits) {
  const auto run = [=](auto one) {
    using Element = decltype(one);
    const Element *const ends[] = {static_cast<const Element *>(starts),
                                   static_cast<const Element *>(limits),
                                   static_cast<const Element *>(deltas)};
    return range_splits(ends, steps, rows, most, splits);
  };
  return wide ? run(int64_t{0}) : run(int32_t{0});
}

EXPORT int64_t penstock_arrays_fill_rows(const int64_t *ids, int64_t number, int64_t rows, int64_t *places,
                                         bool *empty, int64_t *filled) {
  return with_memory([=] { return fill_rows(ids, number, rows, places, empty, filled); });
}

EXPORT int64_t penstock_arrays_weighted(const int64_t *weights, const int64_t *blocks, int64_t size,
                                        const int64_t *values, int64_t number, int64_t *classes) {
  weighted(weights, blocks, size, values, number, classes);
  return -1;
}

EXPORT int64_t penstock_arrays_sobol(const uint32_t *directions, int64_t dims, int64_t first,
                                     int64_t count, int64_t wide, void *out) {
  if (wide)
    sobol(directions, dims, static_cast<uint64_t>(first), count, static_cast<double *>(out));
  else
    sobol(directions, dims, static_cast<uint64_t>(first), count, static_cast<float *>(out));
  return -1;
}

EXPORT int64_t penstock_arrays_hits(const int64_t *keys, int64_t count, const int64_t *wanted,
                                    int64_t rows, int64_t width, int32_t *hit_rows, int64_t *hit_keys) {
  return with_memory([=] { return hits(keys, count, wanted, rows, width, hit_rows, hit_keys); });
}

EXPORT int64_t penstock_arrays_chain(const float *numbers, const double *uniform, int64_t count) {
  return chain_end(numbers, uniform, count);
}

EXPORT int64_t penstock_arrays_nearer(const float *points, int64_t number, int64_t width,
                                      const float *center, const double *before, double *out) {
  nearer(points, number, width, center, before, out);
  return -1;
}

EXPORT int64_t penstock_arrays_sets(int64_t operation, const int64_t *a_rows, int64_t a_width,
                                    const int64_t *a_values, int64_t a_count, const int64_t *b_rows,
                                    int64_t b_width, const int64_t *b_values, int64_t b_count,
                                    int64_t *places, int64_t *values) {
  return with_memory([=] {
    return set_operation(operation, Sets(a_rows, a_width, a_values, a_count),
                         Sets(b_rows, b_width, b_values, b_count), places, values);
  });
}

EXPORT int64_t penstock_arrays_counts(int64_t kind, const int64_t *rows, int64_t width,
                                      const int64_t *values, int64_t number, const void *weights,
                                      int64_t most, int64_t binary, int64_t *places, void *totals) {
  const auto run = [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    return with_memory([=] {
      return counts_of(rows, width, values, number, static_cast<const Element *>(weights), most,
                       binary, places, typed);
    });
  };
  switch (kind) {
    case 0: return run(static_cast<float *>(totals));
    case 1: return run(static_cast<double *>(totals));
    case 2: return run(static_cast<int32_t *>(totals));
  }
  return run(static_cast<int64_t *>(totals));
}

EXPORT int64_t penstock_arrays_rule(int64_t kind, const void *program, void *slot0, void *slot1,
                                    void *slot2, void *slot3, const void *grad, const void *numbers,
                                    const void *indices, int64_t wide, int64_t rows, int64_t width) {
  const RuleProgram &p = *static_cast<const RuleProgram *>(program);
  if (p.slots > kMostSlots || p.slots + 1 + p.numbers + p.steps > kMostValues) return 0;
  const auto run = [&](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    Element *const slots[] = {typed, static_cast<Element *>(slot1), static_cast<Element *>(slot2),
                              static_cast<Element *>(slot3)};
    const auto *g = static_cast<const Element *>(grad), *n = static_cast<const Element *>(numbers);
    return with_memory([&]() -> int64_t {
      apply_rule<Element>(p, {slots, g, n, indices, wide, rows, width});
      return -1;
    });
  };
  return kind == 0 ? run(static_cast<float *>(slot0)) : run(static_cast<double *>(slot0));
}

EXPORT int64_t penstock_arrays_to_rows(const int64_t *places, int64_t number, int64_t rank,
                                       const int64_t *dims, const void *dense, int64_t size,
                                       int32_t *columns, int32_t *ends, void *values) {
  return with_size<Wide>(size, [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    return to_rows(places, number, RowDims(rank, dims), static_cast<const Element *>(dense), columns,
                   ends, static_cast<Element *>(values));
  });
}

EXPORT int64_t penstock_arrays_from_rows(const int32_t *columns, const int32_t *ends, int64_t rank,
                                         const int64_t *dims, int64_t *places) {
  places_of_rows(columns, ends, RowDims(rank, dims), places);
  return -1;
}

EXPORT int64_t penstock_arrays_dense_rows(const int32_t *columns, const int32_t *ends, int64_t rank,
                                          const int64_t *dims, const void *values, int64_t size,
                                          void *out) {
  return with_size<Wide>(size, [=](auto *typed) -> int64_t {
    using Element = std::remove_pointer_t<decltype(typed)>;
    dense_of_rows(columns, ends, RowDims(rank, dims), static_cast<const Element *>(values),
                  static_cast<Element *>(out));
    return -1;
  });
}

EXPORT int64_t penstock_arrays_bounds(const int64_t *places, int64_t number, int64_t rank, int64_t *low,
                                      int64_t *high) {
  return with_rank(rank, [=](auto known) { return bounds_of_places(places, number, known, low, high); });
}

EXPORT int64_t penstock_arrays_unite(const int64_t *a, int64_t a_count, const int64_t *b,
                                     int64_t b_count, int64_t rank, int64_t *places, int64_t *first,
                                     int64_t *second) {
  return with_rank(rank, [=](auto known) {
    return unite_places(a, a_count, b, b_count, known, places, first, second);
  });
}

EXPORT int64_t penstock_arrays_product(int64_t kind, const void *places, int64_t wide, int64_t number,
                                       int64_t row_axis, const void *values, const void *dense,
                                       int64_t width, void *result) {
  const auto run = [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    const auto *given = static_cast<const Element *>(values), *by = static_cast<const Element *>(dense);
    if (wide != 0)
      return add_product(static_cast<const int64_t *>(places), number, row_axis, given, by, width, typed);
    return add_product(static_cast<const int32_t *>(places), number, row_axis, given, by, width, typed);
  };
  return kind == 0 ? run(static_cast<float *>(result)) : run(static_cast<double *>(result));
}

EXPORT int64_t penstock_arrays_shift(int64_t kind, const void *rows, int64_t number, int64_t width,
                                     void *shifted) {
  const auto run = [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    return shift_rows(static_cast<const Element *>(rows), number, width, typed);
  };
  return kind == 0 ? run(static_cast<float *>(shifted)) : run(static_cast<double *>(shifted));
}

EXPORT int64_t penstock_arrays_cross(int64_t kind, const void *shifted, const void *sums,
                                     const void *logs, const void *labels, int64_t number,
                                     int64_t width, void *exponentials, void *parts) {
  const auto run = [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    const auto *s = static_cast<const Element *>(shifted), *l = static_cast<const Element *>(labels);
    return cross_rows(s, static_cast<const Element *>(sums), static_cast<const Element *>(logs), l, number,
                      width, typed, static_cast<Element *>(parts));
  };
  return kind == 0 ? run(static_cast<float *>(exponentials)) : run(static_cast<double *>(exponentials));
}

EXPORT int64_t penstock_arrays_cross_classes(int64_t kind, const void *shifted, const void *sums,
                                             const void *logs, const void *labels, int64_t wide,
                                             int64_t number, int64_t width, void *exponentials,
                                             void *losses) {
  const auto run = [=](auto *typed, auto *classes) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    return cross_classes(static_cast<const Element *>(shifted), static_cast<const Element *>(sums),
                         static_cast<const Element *>(logs), classes, number, width, typed,
                         static_cast<Element *>(losses));
  };
  const auto of_labels = [=](auto *typed) {
    return wide != 0 ? run(typed, static_cast<const int64_t *>(labels))
                     : run(typed, static_cast<const int32_t *>(labels));
  };
  return kind == 0 ? of_labels(static_cast<float *>(exponentials))
                   : of_labels(static_cast<double *>(exponentials));
}
