// The rules by which optimizers update variables: programs of steps on single elements, worked through
// row by row, a piece of a row at a time. Each step is rounded as NumPy's function of that name is.
// Part of arrays.cc; penstock/ops/optimizer_programs.py writes the programs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "each_set.h"
#include "threads.h"

namespace penstock {
namespace {

constexpr int64_t kRulePiece = 256;  // elements that are worked through together
// Steps of elements that are worth another thread. What is read and written costs as much as some steps.
constexpr int64_t kRuleShare = 1 << 20, kLeastSteps = 4;
constexpr int64_t kMostSlots = 4, kMostValues = 96;

enum RuleCode : int32_t {
  kRuleAdd, kRuleSubtract, kRuleMultiply, kRuleDivide, kRuleNegative, kRuleRoot, kRuleAbsolute,
  kRuleSign, kRuleMaximum, kRuleGreater, kRuleSelect,
};

struct RuleStep {
  int32_t code, a, b, c;  // what it computes, and the values that it computes it of
};

// Values are the arrays (slots, then the gradient), the numbers, and what each step makes.
struct RuleProgram {
  int32_t slots, numbers, alike, steps;  // the first `alike` steps are of numbers alone
  int32_t results[kMostSlots];           // the value that each slot gets
  RuleStep step[1];                      // [steps]
};

// `out` is apart from each operand, or is one.
template <typename T>
inline void rule_step(int32_t code, const T *a, const T *b, const T *c, T *out, int64_t count) {
  const auto each = [=](auto function) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) out[i] = function(i);
  };
  switch (code) {
    case kRuleAdd: return each([=](int64_t i) { return a[i] + b[i]; });
    case kRuleSubtract: return each([=](int64_t i) { return a[i] - b[i]; });
    case kRuleMultiply: return each([=](int64_t i) { return a[i] * b[i]; });
    case kRuleDivide: return each([=](int64_t i) { return a[i] / b[i]; });
    case kRuleNegative: return each([=](int64_t i) { return -a[i]; });
    case kRuleRoot: return each([=](int64_t i) { return std::sqrt(a[i]); });
    case kRuleAbsolute: return each([=](int64_t i) { return std::fabs(a[i]); });
    case kRuleSign:
      return each([=](int64_t i) {
        return a[i] > 0 ? T(1) : a[i] < 0 ? T(-1) : a[i] == 0 ? T(0) : a[i];
      });
    case kRuleMaximum:
      return each([=](int64_t i) { return a[i] > b[i] || a[i] != a[i] ? a[i] : b[i]; });
    case kRuleGreater: return each([=](int64_t i) { return a[i] > b[i] ? T(1) : T(0); });
    case kRuleSelect: return each([=](int64_t i) { return a[i] != 0 ? b[i] : c[i]; });
  }
}

// Rows of the slots, which are all of them in order where `indices` is null. Of each row, `width` elements
// from the first one on; the next row begins `stride` elements further.
template <typename T>
struct RuleRows {
  T *slots[kMostSlots];
  const T *grad, *numbers;
  const void *indices;
  int64_t wide, rows, width, stride;

  int64_t row(int64_t i) const {
    if (indices == nullptr) return i;
    return wide ? static_cast<const int64_t *>(indices)[i] : static_cast<const int32_t *>(indices)[i];
  }
};

// Which slot a step can write to at once, -1 for none: what the slot gets it makes, for no other one, and no
// step after it wants what the slot had.
inline int64_t slot_of_step(const RuleProgram &p, int64_t step) {
  const int64_t value = p.slots + 1 + p.numbers + step;
  int64_t found = -1;
  for (int64_t k = 0; k < p.slots; ++k) {
    if (p.results[k] != value) continue;
    if (found >= 0) return -1;
    found = k;
  }
  for (int64_t i = step + 1; found >= 0 && i < p.steps; ++i)
    if (p.step[i].a == found || p.step[i].b == found || p.step[i].c == found) return -1;
  for (int64_t k = 0; k < p.slots; ++k)
    if (k != found && p.results[k] == found) return -1;
  return step < p.alike ? -1 : found;
}

// How many elements `apply_rule` needs room for.
inline int64_t rule_room(const RuleProgram &p, int64_t width) {
  return (p.numbers + p.steps) * std::min(width, kRulePiece);
}

template <typename T>
EACH_SET void apply_rule(const RuleProgram &p, const RuleRows<T> &of, T *room) {
  const int64_t arrays = p.slots + 1, made = arrays + p.numbers;
  const int64_t piece = of.width < kRulePiece ? of.width : kRulePiece;
  T *at[kMostValues];
  for (int64_t i = 0; i < p.numbers + p.steps; ++i) at[arrays + i] = room + i * piece;
  for (int64_t i = 0; i < p.numbers; ++i)
    for (int64_t j = 0; j < piece; ++j) at[arrays + i][j] = of.numbers[i];
  const auto run = [&](int64_t from, int64_t to, int64_t count) {
    for (int64_t i = from; i < to; ++i) {
      const RuleStep &s = p.step[i];
      rule_step<T>(s.code, at[s.a], at[s.b], at[s.c], at[made + i], count);
    }
  };
  at[0] = nullptr;
  run(0, p.alike, piece);
  int64_t slot_of[kMostValues];
  for (int64_t i = p.alike; i < p.steps; ++i) slot_of[i] = slot_of_step(p, i);
  for (int64_t i = 0; i < of.rows; ++i)
    for (int64_t first = 0; first < of.width; first += piece) {
      const int64_t count = of.width - first < piece ? of.width - first : piece;
      for (int64_t k = 0; k < p.slots; ++k) at[k] = of.slots[k] + of.row(i) * of.stride + first;
      at[p.slots] = const_cast<T *>(of.grad) + i * of.stride + first;
      for (int64_t k = p.alike; k < p.steps; ++k)
        if (slot_of[k] >= 0) at[made + k] = at[slot_of[k]];
      run(p.alike, p.steps, count);
      for (int64_t k = 0; k < p.slots; ++k)
        if (at[p.results[k]] != at[k])
          std::memcpy(at[k], at[p.results[k]], static_cast<size_t>(count) * sizeof(T));
    }
}

// The first of some indices that is outside of [0, height); -1 where there is none.
template <typename Index>
int64_t first_beyond(const void *indices, int64_t count, int64_t height) {
  const Index *at = static_cast<const Index *>(indices);
  for (int64_t i = 0; i < count; ++i)
    if (static_cast<uint64_t>(at[i]) >= static_cast<uint64_t>(height)) return i;
  return -1;
}

// The same with several threads where there is much to do: each takes some columns of all rows, so rows
// that come twice are updated in turn. -1; kNoMemory, with nothing written.
template <typename T>
int64_t apply_rule_in_parallel(const RuleProgram &p, const RuleRows<T> &of, int64_t threads) {
  const int64_t work = of.rows * of.width * std::max(kLeastSteps, int64_t{p.steps});
  const int64_t parts = of.width / kRulePiece;
  const int64_t most = std::min(parts, (of.rows > 1 ? 1 : 4) * threads);
  int64_t shares = std::max<int64_t>(1, std::min(most, work / kRuleShare));
  if (shares > threads) shares -= shares % threads;
  const int64_t room = rule_room(p, of.width);
  return with_memory([&]() -> int64_t {
    const std::unique_ptr<T[]> rooms(new T[static_cast<size_t>(shares * room)]);
    in_parallel(shares, threads, [&](int64_t share) {
      const int64_t first = parts * share / shares * kRulePiece;
      const int64_t end = share + 1 < shares ? parts * (share + 1) / shares * kRulePiece : of.width;
      RuleRows<T> mine = of;
      for (int64_t k = 0; k < p.slots; ++k) mine.slots[k] += first;
      mine.grad += first;
      mine.width = end - first;
      apply_rule(p, mine, rooms.get() + share * room);
    });
    return -1;
  });
}

}  // namespace
}  // namespace penstock
