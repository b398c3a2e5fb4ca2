// Recurrent rounds in one call: products with matrices that all rounds share, and what is done to
// single numbers between them. Part of isa.cc.
//
// All arrays of a round have rows of the batch and columns in pieces of one width. A task takes some
// rows, and the same columns of every piece. Rows do not depend on each other: where there are enough
// for all threads, a task takes all columns of its rows through all rounds. Else tasks take BLOCK
// columns, and meet after each phase: a product needs whole rows, so what it multiplies is finished in
// an earlier phase.
#pragma once

#include "gemm.h"
#include "steps.h"

namespace {

using penstock::Held;
using penstock::Instruction;
using penstock::Recurrence;

const long BLOCK = 32;         // columns of a task that does not take all: a multiple of COLUMNS
const long TASK_ROWS = 2 * ROWS;
const long LEAST_ROWS = 8;     // that keep the processor as busy as more do
static_assert(BLOCK % COLUMNS == 0, "tasks take whole panels");

// How a call is split, and the memory that its tasks share.
struct Call {
  const Recurrence* r;
  const float* const* panels;  // of each matrix
  long rows, columns, row_blocks, col_blocks;
  long busy;  // the first phase with products
};

struct Strip {  // the rows and columns that instructions work on
  long row, rows, column, columns;
};

const float* part(const Held& held, long round) {
  if (round == held.edge_round) return held.edge;
  return held.start + round * held.step + (round & 1) * held.odd;
}

// Few floats, for which a call of memcpy would take longer than the copy.
inline void copy_row(float* to, const float* from, long count) {
  long j = 0;
  for (; j + LANES <= count; j += LANES) store(to + j, load(from + j));
  for (; j < count; ++j) to[j] = from[j];
}

void load_strip(float* to, const Held& held, long round, long offset, const Strip& s) {
  const long row = round == held.edge_round ? held.edge_row : held.row;
  const float* from = part(held, round) + s.row * row + (offset + s.column) * held.column;
  for (long i = 0; i < s.rows; ++i, to += s.columns, from += row) {
    if (held.column == 0)
      for (long j = 0; j < s.columns; ++j) to[j] = *from;
    else
      copy_row(to, from, s.columns);
  }
}

void store_strip(const Held& held, const float* from, long round, long offset, const Strip& s) {
  const long row = round == held.edge_round ? held.edge_row : held.row;
  float* to = const_cast<float*>(part(held, round)) + s.row * row + offset + s.column;
  for (long i = 0; i < s.rows; ++i, to += row, from += s.columns) copy_row(to, from, s.columns);
}

// Asks for what the next round reads and writes of large arrays, while products keep this one busy.
void fetch_ahead(const Call& call, long round, const Strip& block) {
  const Recurrence& r = *call.r;
  const long last = r.phases[r.phase_count - 1].last_instruction;
  for (long i = 0; i < last; ++i) {
    const Instruction& step = r.instructions[i];
    if (step.code != penstock::LOAD && step.code != penstock::STORE) continue;
    const Held& held = r.held[step.code == penstock::LOAD ? step.a : step.b];
    if (held.step == 0) continue;
    const float* at = part(held, round) + block.row * held.row + step.offset + block.column;
    for (long row = 0; row < block.rows; ++row, at += held.row)
      for (long j = 0; j < block.columns; j += 16) __builtin_prefetch(at + j, 1, 2);
  }
}

// The products of a phase, [product][rows][columns].
void multiply_block(const Call& call, long round, const penstock::Phase& phase, const Strip& block,
                    float* to) {
  const long panels = up(call.r->width, COLUMNS), first = block.column / COLUMNS;
  for (long i = phase.first_product; i < phase.last_product; ++i, to += call.rows * call.columns) {
    const penstock::RecurrentProduct& each = call.r->products[i];
    const Held& held = call.r->held[each.held];
    Product p = {};
    p.n = call.columns;
    p.k = call.r->matrices[each.matrix].depth;
    p.a_row = round == held.edge_round ? held.edge_row : held.row;
    p.a_col = 1;
    multiply(p, part(held, round) + block.row * p.a_row + each.offset,
             Panels{call.panels[each.matrix], panels}, to - block.column, 0, block.rows, first,
             up(block.column + block.columns, COLUMNS), call.r->width);
  }
}

// The instructions of a phase, on one register's worth of a block.
void calculate_strip(const Call& call, long round, const penstock::Phase& phase, const Strip& block,
                     const Strip& strip, const float* products, float* registers) {
  const Recurrence& r = *call.r;
  const long count = up(strip.rows * strip.columns, LANES) * LANES;
  for (long i = phase.first_instruction; i < phase.last_instruction; ++i) {
    const Instruction& step = r.instructions[i];
    float* to = registers + step.to * REGISTER;
    if (step.code == penstock::LOAD) {
      load_strip(to, r.held[step.a], round, step.offset, strip);
    } else if (step.code == penstock::STORE) {
      store_strip(r.held[step.b], registers + step.a * REGISTER, round, step.offset, strip);
    } else if (step.code == penstock::LOAD_PRODUCT) {
      const float* from = products + strip.column - block.column +
                          (step.a * call.rows + strip.row - block.row) * call.columns;
      for (long k = 0; k < strip.rows; ++k)
        copy_row(to + k * strip.columns, from + k * call.columns, strip.columns);
    } else {
      calculate(step, to, registers + step.a * REGISTER, registers + step.b * REGISTER, nullptr,
                count);
    }
  }
}

// A phase of a round on some rows and columns.
void run_phase(const Call& call, long round, long number, const Strip& block) {
  const Recurrence& r = *call.r;
  const penstock::Phase& phase = r.phases[number];
  const long products = phase.last_product - phase.first_product;
  float* results = penstock::scratch(3, most(1, products) * call.rows * call.columns);
  float* registers = penstock::scratch(2, r.registers * REGISTER);
  if (number == call.busy && round + 1 < r.rounds) fetch_ahead(call, round + 1, block);
  multiply_block(call, round, phase, block, results);
  for (long column = 0; column < block.columns; column += REGISTER) {
    Strip strip;
    strip.column = block.column + column;
    strip.columns = least(REGISTER, block.columns - column);
    const long height = REGISTER / strip.columns;
    for (long row = 0; row < block.rows; row += height) {
      strip.row = block.row + row;
      strip.rows = least(height, block.rows - row);
      calculate_strip(call, round, phase, block, strip, results, registers);
    }
  }
}

Strip block_of(const Call& call, long task) {
  Strip block;
  block.column = task % call.col_blocks * call.columns;
  block.columns = least(call.columns, call.r->width - block.column);
  block.row = task / call.col_blocks * call.rows;
  block.rows = least(call.rows, call.r->batch - block.row);
  return block;
}

void rows_task(const void* argument, long task) {
  const Call& call = *(const Call*)argument;
  const Strip block = block_of(call, task);
  for (long round = 0; round < call.r->rounds; ++round)
    for (long number = 0; number < call.r->phase_count; ++number)
      run_phase(call, round, number, block);
}

void phase_task(const void* argument, long turn, long task) {
  const Call& call = *(const Call*)argument;
  const long phases = call.r->phase_count;
  run_phase(call, turn / phases, turn % phases, block_of(call, task));
}

struct Packing {
  const Recurrence* r;
  float** panels;
  long count;
};

void pack_matrix_task(const void* argument, long task) {
  const Packing& packing = *(const Packing*)argument;
  const penstock::Matrix& matrix = packing.r->matrices[task / packing.count];
  Product p = {};
  p.k = matrix.depth;
  p.b_row = matrix.row;
  p.b_col = matrix.column;
  pack_panels(packing.panels[task / packing.count], p, matrix.data, packing.count, packing.r->width,
              task % packing.count);
}

void recurrence(const Recurrence& r, Workers& workers) {
  if (r.batch == 0 || r.width == 0 || r.rounds == 0) return;
  const long count = up(r.width, COLUMNS);
  float* panels[penstock::MOST_MATRICES];
  long floats = 0;
  for (long i = 0; i < r.matrix_count; ++i) floats += count * COLUMNS * r.matrices[i].depth;
  float* packed = penstock::scratch(1, most(1, floats));
  for (long i = 0; i < r.matrix_count; ++i) {
    panels[i] = packed;
    packed += count * COLUMNS * r.matrices[i].depth;
  }
  const Packing packing = {&r, panels, count};
  workers.run(count * r.matrix_count, pack_matrix_task, &packing);
  Call call;
  call.r = &r;
  call.panels = panels;
  call.busy = 0;
  while (call.busy < r.phase_count && r.phases[call.busy].last_product == 0) ++call.busy;
  const bool alone = r.batch >= LEAST_ROWS * workers.threads();  // enough rows for every thread
  call.columns = alone ? count * COLUMNS : BLOCK;
  call.col_blocks = up(r.width, call.columns);
  const long threads = alone ? workers.threads() : 1;
  call.row_blocks = up(up(r.batch, TASK_ROWS), threads) * threads;
  call.rows = up(r.batch, call.row_blocks);
  call.row_blocks = up(r.batch, call.rows);
  if (alone)
    workers.run(call.row_blocks, rows_task, &call);
  else
    workers.run_turns(r.rounds * r.phase_count, call.row_blocks * call.col_blocks, phase_task, &call);
}

}  // namespace
