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

namespace penstock {

// How many arguments a function has; 0 where there is no such function.
std::size_t special_arguments(int64_t function);

}  // namespace penstock
