// An index of keys: slots that hold where each key stands in an array of them. Part of arrays.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mixing.h"

namespace penstock {
namespace {

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

// Puts the places of different keys into slots.
inline void index_keys(const int64_t *keys, int64_t count, int32_t *slots, int64_t slot_count) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t slot = first_slot(keys[i], slot_count);
    while (slots[slot] >= 0) slot = (slot + 1) & (slot_count - 1);
    slots[slot] = static_cast<int32_t>(i);
  }
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

inline void find_places(const int64_t *keys, const int32_t *slots, int64_t slot_count,
                        const int64_t *wanted, int64_t number, int64_t *places) {
  for (int64_t i = 0; i < number; ++i) {
    fetch(keys, slots, slot_count, wanted, number, i);
    places[i] = slots[slot_of(keys, slots, slot_count, wanted[i])];
  }
}

// Where wanted keys, rows of them, are among the others: the row and the last place of each hit. Returns
// how many hits there are.
inline int64_t hits(const int64_t *keys, int64_t count, const int64_t *wanted, int64_t rows,
                    int64_t width, int32_t *hit_rows, int64_t *hit_keys) {
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

// Puts in what is new, after `count` others. The place of each; returns how many keys there are then.
inline int64_t enter(int64_t *keys, int64_t count, int32_t *slots, int64_t slot_count,
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

// Empties a slot, and moves those that follow it nearer to where their search begins.
inline void vacate(const int64_t *keys, int32_t *slots, int64_t slot_count, int64_t slot) {
  const int64_t mask = slot_count - 1;
  for (int64_t next = (slot + 1) & mask; slots[next] >= 0; next = (next + 1) & mask) {
    const int64_t first = first_slot(keys[slots[next]], slot_count);
    if (((next - first) & mask) < ((next - slot) & mask)) continue;  // it begins after the empty one
    slots[slot] = slots[next];
    slot = next;
  }
  slots[slot] = -1;
}

// Takes keys out. Where those stand that were in the index; returns how many these are.
inline int64_t leave(const int64_t *keys, int32_t *slots, int64_t slot_count, const int64_t *wanted,
                     int64_t number, int64_t *places) {
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

}  // namespace
}  // namespace penstock
