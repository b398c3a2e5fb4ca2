// The distinct items of an array, in the order in which they first occur. Part of arrays.cc.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "mixing.h"

namespace penstock {
namespace {

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

}  // namespace
}  // namespace penstock
