// New values of many arrays in one pass over memory, in place: what optimizers do. Part of isa.cc.
//
// Arrays of one shape that are updated together are a group; its program (penstock/core/updates.py
// writes it) is worked through for PIECE elements at a time, which stay in the nearest cache.
// Threads share all groups' elements, in tasks that the lengths alone fix; no element depends on
// another one.
#pragma once

#include "held_steps.h"

namespace {

using penstock::UpdateGroup;
using penstock::UpdateProgram;
using penstock::Updates;

#if defined(__AVX512F__)
const bool HOLDS = true;  // whether there are registers enough for run_held
#else
const bool HOLDS = false;
#endif
const long PIECE = HOLDS ? HELD * LANES : REGISTER / 2;
const long UPDATE_TASK = 64 * PIECE;  // elements of a task
const long UPDATE_AHEAD = 2 * PIECE;  // arrays are fetched: processors follow few of them alone

// One program's registers for the elements of a group: numbers first, then what changes.
struct UpdatePart {
  const UpdateProgram& p;
  const UpdateGroup& g;
  const HeldStep* held;
  float* registers;  // [numbers and registers][PIECE], then copies of arrays [arrays][PIECE]
  float* at[penstock::MOST_OPERANDS];

  UpdatePart(const UpdateProgram& p, const UpdateGroup& g, const HeldStep* held, long count)
      : p(p), g(g), held(held), registers(penstock::scratch(2, penstock::MOST_OPERANDS * 2 * PIECE)) {
    for (long i = 0; i < p.numbers + p.registers; ++i) at[p.arrays + i] = registers + i * PIECE;
    const long used = up(least(count, PIECE), LANES) * LANES;
    for (long i = 0; i < p.numbers; ++i) {
      const Vector value = splat(*g.numbers[i]);
      each_vector(at[p.arrays + i], used, [&](long) { return value; });
    }
    for (long i = 0; i < p.fills; ++i) run(p.steps[i], used);
  }

  void run(const Instruction& s, long count) {
    calculate(s, at[s.to], at[s.a], at[s.b], at[s.offset], count);
  }

  void run_all(long count) {
    for (long i = p.fills; i < p.count; ++i) run(p.steps[i], count);
  }

  void whole(long first) {
    for (long i = 0; i < p.arrays; ++i) {
      at[i] = g.arrays[i] + first;
      for (long j = 0; j < PIECE; j += 16) __builtin_prefetch(at[i] + UPDATE_AHEAD + j);
    }
    if (HOLDS)
      run_held(held, p.count - p.fills, at);
    else
      run_all(PIECE);
  }

  // Fewer elements, perhaps no whole vectors: on copies.
  void rest(long first, long count) {
    float* copies = registers + (p.numbers + p.registers) * PIECE;
    for (long i = 0; i < p.arrays; ++i) {
      at[i] = copies + i * PIECE;
      __builtin_memcpy(at[i], g.arrays[i] + first, (unsigned long)count * sizeof(float));
      for (long j = count; j % LANES != 0; ++j) at[i][j] = 0;
    }
    run_all(up(count, LANES) * LANES);
    for (long i = 0; i < p.written; ++i)
      __builtin_memcpy(g.arrays[i] + first, at[i], (unsigned long)count * sizeof(float));
  }
};

// Updates with the steps of each program but its fills, made ready.
struct UpdateRun {
  const Updates& u;
  HeldStep* steps;
  long most;  // of a program

  const HeldStep* of(const UpdateGroup& g) const { return steps + g.program * most; }
};

// Elements [first, last) of a group.
void update_part(const UpdateRun& run, const UpdateGroup& g, long first, long last) {
  UpdatePart part(run.u.programs[g.program], g, run.of(g), last - first);
  for (; first + PIECE <= last; first += PIECE) part.whole(first);
  if (first < last) part.rest(first, last - first);
}

void update_task(const void* argument, long task) {
  const UpdateRun& run = *(const UpdateRun*)argument;
  const Updates& u = run.u;
  const long begin = task * UPDATE_TASK, end = begin + UPDATE_TASK;
  long low = 0, high = u.count - 1;  // the last group that begins at `begin` or before
  while (low < high) {
    const long middle = (low + high + 1) / 2;
    u.groups[middle].begin <= begin ? low = middle : high = middle - 1;
  }
  for (long i = low; i < u.count && u.groups[i].begin < end; ++i) {
    const UpdateGroup& g = u.groups[i];
    const long first = most(begin - g.begin, 0), last = least(end - g.begin, g.length);
    if (first < last) update_part(run, g, first, last);
  }
}

UpdateRun update_run(const Updates& u) {
  long programs = 0, steps = 0;
  for (long i = 0; i < u.count; ++i) {
    programs = most(programs, u.groups[i].program + 1);
    steps = most(steps, u.programs[u.groups[i].program].count);
  }
  const long floats = (long)sizeof(HeldStep) / 4 * programs * steps;
  const UpdateRun run = {u, (HeldStep*)penstock::scratch(3, floats), steps};
  for (long i = 0; i < programs; ++i) {
    const UpdateProgram& p = u.programs[i];
    hold(run.steps + i * steps, p.steps + p.fills, p.count - p.fills, p.arrays);
  }
  return run;
}

void update(const Updates& u, Workers& workers) {
  if (u.count == 0) return;
  const UpdateRun run = update_run(u);
  workers.run(up(u.elements, UPDATE_TASK), update_task, &run);
}

}  // namespace
