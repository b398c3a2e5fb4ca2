// New values of many arrays in one pass over memory, in place: what optimizers do. Part of isa.cc.
//
// Arrays of one shape that are updated together are a group; its program (penstock/core/updates.py
// writes it) is worked through for PIECE elements at a time, which stay in the nearest cache.
// Threads share all groups' elements, in tasks that the shapes alone fix; no element depends on
// another one. A gradient that a product gives is computed block by block (update_products.h).
#pragma once

#include "held_steps.h"
#include "update_products.h"

namespace {

using penstock::UpdateProgram;
using penstock::Updates;

#if defined(__AVX2__)
const bool HOLDS = true;  // whether there are registers enough for run_held
#else
const bool HOLDS = false;
#endif
const long PIECE = HOLDS ? HELD * LANES : REGISTER / 2;
const long UPDATE_TASK = 64 * PIECE;  // elements of a task
const long UPDATE_REGISTERS = penstock::MOST_OPERANDS * 2 * PIECE;
const long UPDATE_AHEAD = 2 * PIECE;  // arrays are fetched: processors follow few of them alone

// One program's registers for some elements: numbers first, then what changes.
struct UpdatePart {
  const UpdateProgram& p;
  const HeldStep* held;
  float* registers;  // [numbers and registers][PIECE], then copies of arrays [arrays][PIECE]
  float* at[penstock::MOST_OPERANDS];

  // `count`: elements, at most.
  UpdatePart(const UpdateProgram& p, const UpdateGroup& g, const HeldStep* held, long count)
      : p(p), held(held), registers(penstock::scratch(2, UPDATE_REGISTERS)) {
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

  void whole(float* const* arrays, long first) {
    for (long i = 0; i < p.arrays; ++i) {
      at[i] = arrays[i] + first;
      for (long j = 0; j < PIECE; j += 16) __builtin_prefetch(at[i] + UPDATE_AHEAD + j);
    }
    if (HOLDS)
      run_held(held, p.count - p.fills, at);
    else
      run_all(PIECE);
  }

  // Fewer elements, perhaps no whole vectors: on copies.
  void rest(float* const* arrays, long first, long count) {
    float* copies = registers + (p.numbers + p.registers) * PIECE;
    for (long i = 0; i < p.arrays; ++i) {
      at[i] = copies + i * PIECE;
      __builtin_memcpy(at[i], arrays[i] + first, (unsigned long)count * sizeof(float));
      for (long j = count; j % LANES != 0; ++j) at[i][j] = 0;
    }
    run_all(up(count, LANES) * LANES);
    for (long i = 0; i < p.written; ++i)
      __builtin_memcpy(arrays[i] + first, at[i], (unsigned long)count * sizeof(float));
  }

  // Elements [first, last) of these arrays.
  void all(float* const* arrays, long first, long last) {
    for (; first + PIECE <= last; first += PIECE) whole(arrays, first);
    if (first < last) rest(arrays, first, last - first);
  }
};

// Updates with the steps of each program but its fills, made ready, and with the gradients that are
// to be computed.
struct UpdateRun {
  const Updates& u;
  HeldStep* steps;
  long most;  // of a program
  Gradient* gradients;
  long gradient_count;

  UpdatePart part(const UpdateGroup& g, long count) const {
    return {u.programs[g.program], g, steps + g.program * most, count};
  }
  long packs() const {
    const Gradient* last = gradients + gradient_count - 1;
    return gradient_count == 0 ? 0 : last->first_pack + last->packs;
  }
  long gradient_tasks() const {
    const Gradient* last = gradients + gradient_count - 1;
    return gradient_count == 0 ? 0 : last->first_task + last->tasks;
  }
};

void update_pack_task(const void* argument, long task) {
  const Gradient* g = ((const UpdateRun*)argument)->gradients;
  while (task >= g->first_pack + g->packs) ++g;
  pack_task(&g->right, task - g->first_pack);
}

void gradient_task(const UpdateRun& run, long task) {
  const Gradient* g = run.gradients;
  while (task >= g->first_task + g->tasks) ++g;
  const UpdateGroup& group = *g->group;
  const Product& p = *group.product;
  const long first = (task - g->first_task) * g->rows, last = least(first + g->rows, p.m);
  const long arrays = run.u.programs[group.program].arrays, elements = (last - first) * p.n;
  float* computed = penstock::scratch(2, UPDATE_REGISTERS + elements) + UPDATE_REGISTERS;
  compute_rows(*g, first, last, computed);
  float* at[penstock::MOST_OPERANDS];
  for (long i = 0; i < arrays; ++i)
    at[i] = i == group.computed ? computed : group.arrays[i] + first * p.n;
  run.part(group, elements).all(at, 0, elements);
}

void update_task(const void* argument, long task) {
  const UpdateRun& run = *(const UpdateRun*)argument;
  const Updates& u = run.u;
  if (task < run.gradient_tasks()) return gradient_task(run, task);
  const long begin = (task - run.gradient_tasks()) * UPDATE_TASK, end = begin + UPDATE_TASK;
  long low = 0, high = u.count - 1;  // the last group that begins at `begin` or before
  while (low < high) {
    const long middle = (low + high + 1) / 2;
    u.groups[middle].begin <= begin ? low = middle : high = middle - 1;
  }
  for (long i = low; i < u.count && u.groups[i].begin < end; ++i) {
    const UpdateGroup& g = u.groups[i];
    const long first = most(begin - g.begin, 0), last = least(end - g.begin, g.length);
    if (g.product == nullptr && first < last) run.part(g, last - first).all(g.arrays, first, last);
  }
}

UpdateRun update_run(const Updates& u) {
  long programs = 0, steps = 0, gradients = 0, panels = 0;
  for (long i = 0; i < u.count; ++i) {
    const UpdateGroup& g = u.groups[i];
    programs = most(programs, g.program + 1);
    steps = most(steps, u.programs[g.program].count);
    gradients += g.product != nullptr;
    panels += g.product != nullptr ? gradient_floats(*g.product) : 0;
  }
  const long held = programs * steps * (long)sizeof(HeldStep);
  float* room = penstock::scratch(3, (held + gradients * (long)sizeof(Gradient)) / 4);
  UpdateRun run = {u, (HeldStep*)room, steps, (Gradient*)(room + held / 4), 0};
  for (long i = 0; i < programs; ++i) {
    const UpdateProgram& p = u.programs[i];
    hold(run.steps + i * steps, p.steps + p.fills, p.count - p.fills, p.arrays);
  }
  float* right = penstock::scratch(1, panels);
  for (long i = 0; i < u.count; ++i) {
    if (u.groups[i].product == nullptr) continue;
    Gradient* made = run.gradients + run.gradient_count;
    *made = gradient_of(u.groups[i], right, run.gradient_count == 0 ? nullptr : made - 1);
    right += gradient_floats(*u.groups[i].product);
    ++run.gradient_count;
  }
  return run;
}

void update(const Updates& u, Workers& workers) {
  if (u.count == 0) return;
  const UpdateRun run = update_run(u);
  if (run.packs() > 0) workers.run(run.packs(), update_pack_task, &run);
  workers.run(run.gradient_tasks() + up(u.elements, UPDATE_TASK), update_task, &run);
}

}  // namespace
