// Instructions on a piece of an update whose running value stays in registers: most instructions take
// what the one before gave, which then need not go through memory. Part of isa.cc, for processors with
// registers enough.
//
// What is computed is that of `calculate` (steps.h): no two instructions become one rounding.
#pragma once

#include "steps.h"

namespace {

const long HELD = LANES < 16 ? 12 : 8;  // vectors of a piece

// How an instruction runs: whether its operands are what is held, and whether its result is wanted
// in memory.
struct HeldStep {
  Instruction step;
  bool held;  // it gives what is held; others work in memory
  bool a_here, b_here, stored;
};

// Operands that lie one after the other: 1 or 2 for instructions that hold their result, else 0.
inline int operands_held(long code) {
  switch (code) {
    case penstock::ADD:
    case penstock::SUBTRACT:
    case penstock::MULTIPLY:
    case penstock::DIVIDE:
    case penstock::MAXIMUM:
    case penstock::MINIMUM:
    case penstock::GREATER:
      return 2;
    case penstock::NEGATIVE:
    case penstock::MOVE:
    case penstock::SQUARE_ROOT:
    case penstock::ABSOLUTE:
    case penstock::SIGN:
      return 1;
  }
  return 0;
}

// Whether some step after `i` reads what it gives from memory. `arrays`: operands that are kept.
inline bool is_stored(const HeldStep* steps, long i, long count, long arrays) {
  const long to = steps[i].step.to;
  if (to < arrays) return true;
  for (long j = i + 1; j < count; ++j) {
    const HeldStep& later = steps[j];
    const int operands = later.held ? operands_held(later.step.code) : 3;
    if (later.step.a == to && !later.a_here) return true;
    if (operands > 1 && later.step.b == to && !later.b_here) return true;
    if (operands > 2 && later.step.offset == to) return true;
    if (later.step.to == to) return false;
  }
  return false;
}

void hold(HeldStep* made, const Instruction* steps, long count, long arrays) {
  for (long i = 0; i < count; ++i) {
    const int operands = operands_held(steps[i].code);
    const bool after = operands > 0 && i > 0 && made[i - 1].held;
    const long before = after ? steps[i - 1].to : -1;
    made[i] = {steps[i], operands > 0, after && steps[i].a == before,
               after && operands > 1 && steps[i].b == before, true};
  }
  for (long i = 0; i < count; ++i) made[i].stored = is_stored(made, i, count, arrays);
}

template <typename Function>
inline __attribute__((always_inline)) void on_one(const HeldStep& s, Vector (&held)[HELD],
                                                  const float* a, Function function) {
  if (!s.a_here) {
#pragma GCC unroll 12
    for (long i = 0; i < HELD; ++i) held[i] = load(a + i * LANES);
  }
#pragma GCC unroll 12
  for (long i = 0; i < HELD; ++i) held[i] = function(held[i]);
}

template <typename Function>
inline __attribute__((always_inline)) void on_two(const HeldStep& s, Vector (&held)[HELD],
                                                  const float* a, const float* b,
                                                  Function function) {
  if (s.b_here) {
    if (s.a_here) {
#pragma GCC unroll 12
      for (long i = 0; i < HELD; ++i) held[i] = function(held[i], held[i]);
      return;
    }
#pragma GCC unroll 12
    for (long i = 0; i < HELD; ++i) held[i] = function(load(a + i * LANES), held[i]);
    return;
  }
  if (!s.a_here) {
#pragma GCC unroll 12
    for (long i = 0; i < HELD; ++i) held[i] = load(a + i * LANES);
  }
#pragma GCC unroll 12
  for (long i = 0; i < HELD; ++i) held[i] = function(held[i], load(b + i * LANES));
}

// Runs steps on HELD vectors of each operand; `at`: where the operands are.
void run_held(const HeldStep* steps, long count, float* const* at) {
  Vector held[HELD] = {};
  for (const HeldStep *s = steps, *end = steps + count; s != end; ++s) {
    const Instruction& step = s->step;
    const float *a = at[step.a], *b = at[step.b];
    switch (step.code) {
      case penstock::ADD:
        on_two(*s, held, a, b, [](Vector x, Vector y) { return x + y; });
        break;
      case penstock::SUBTRACT:
        on_two(*s, held, a, b, [](Vector x, Vector y) { return x - y; });
        break;
      case penstock::MULTIPLY:
        on_two(*s, held, a, b, [](Vector x, Vector y) { return x * y; });
        break;
      case penstock::DIVIDE:
        on_two(*s, held, a, b, [](Vector x, Vector y) { return x / y; });
        break;
      case penstock::MAXIMUM:
        on_two(*s, held, a, b, [](Vector x, Vector y) { return larger(x, y); });
        break;
      case penstock::MINIMUM:
        on_two(*s, held, a, b, [](Vector x, Vector y) { return smaller(x, y); });
        break;
      case penstock::GREATER:
        on_two(*s, held, a, b, [](Vector x, Vector y) {
          return choose((Ints)(x > y), splat(1.0f), Vector{});
        });
        break;
      case penstock::NEGATIVE:
        on_one(*s, held, a, [](Vector x) { return -x; });
        break;
      case penstock::MOVE:
        on_one(*s, held, a, [](Vector x) { return x; });
        break;
      case penstock::SQUARE_ROOT:
        on_one(*s, held, a, [](Vector x) { return square_root(x); });
        break;
      case penstock::ABSOLUTE:
        on_one(*s, held, a, [](Vector x) { return magnitude(x); });
        break;
      case penstock::SIGN:
        on_one(*s, held, a, [](Vector x) { return sign(x); });
        break;
      default:
        calculate(step, at[step.to], a, b, at[step.offset], HELD * LANES);
        continue;
    }
    if (s->stored) {
      float* to = at[step.to];
#pragma GCC unroll 12
      for (long i = 0; i < HELD; ++i) store(to + i * LANES, held[i]);
    }
  }
}

}  // namespace
