// Special functions of arrays. A library of its own, with neither Python nor XLA in it; called from
// penstock/core/native_special.py, which has the same numbers for the functions.
#pragma once

#include <cstddef>
#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

// The version of what the next function promises.
EXPORT int penstock_special_version();

// Computes one function for each place of `result`.
//
//   function: a number of the list in special.cc.
//   wide: 1 where all arrays are of double, 0 where they are of float.
//   threads: how many may work.
//   count: how many results.
//   inputs: for each argument its first number.
//   steps: for each argument 1, or 0 where one number stands for all.
//
// Returns -1, or a number above it where there is no such function. Results do not depend on
// `threads`.
EXPORT int64_t penstock_special_run(int64_t function, int64_t wide, int64_t threads, int64_t count,
                                    const void* const* inputs, const int64_t* steps,
                                    void* result);

// An LSTM cell over a sequence. sizes: steps, batch, units, steps before the end, which of the four parts
// of z's columns the input, forget and output gates and the new input are, and whether gates see the
// state by wci, wcf and wco. options: what is added to the forget gate, and the bound of states, none
// unless positive. z[steps, batch, 4 * units]: products of what is given, biases included; `again`, null
// where there is one step whose z is whole, [units, 4 * units], multiplies outputs. cs and h: the states
// before, [batch, units]. out: i, cs, f, o, ci, co, h, [steps, batch, units] each, zeros before.
EXPORT int64_t penstock_special_lstm(const int64_t* sizes, const float* options, const float* z,
                                     const float* again, const float* cs, const float* h,
                                     const float* wci, const float* wcf, const float* wco, float* out);

// What flows back through it: to z, `dz`, and to the states before, `states`, cs then h, all zeros before.
// `again` is transposed; more_cs and more_h are the gradients of the outputs.
EXPORT int64_t penstock_special_lstm_back(const int64_t* sizes, const float* again, const float* cs_prev,
                                          const float* wci, const float* wcf, const float* wco,
                                          const float* i, const float* cs, const float* f,
                                          const float* o, const float* ci, const float* co,
                                          const float* more_cs, const float* more_h, float* dz,
                                          float* states);

namespace penstock {

// How many arguments a function has; 0 where there is no such function.
std::size_t special_arguments(int64_t function);

}  // namespace penstock
