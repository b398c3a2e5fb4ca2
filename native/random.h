// Random numbers of Philox4x32-10 streams, for penstock/core/native_random.py.
//
// A stream is a key and the two halves of the counter of its first block; block i has counter plus i.
// `places` are the places of outputs among all of a draw: output i has the kReserved blocks from
// places[i] * kReserved on for itself, so it does not depend on how often others are rejected
// (binomial numbers of small means have kReservedSmall, from places[i] * kReservedSmall on). The
// numbers are those of ops/random_rejection.py, which has the sources, up to the last digits of
// logarithms and the like. Every function returns -1.
#pragma once

#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

// What the functions below mean; native_random.py states the same number.
EXPORT int penstock_random_version();

// The first `count` words of a stream.
EXPORT int64_t penstock_random_words(uint64_t key, uint64_t low, uint64_t high, int64_t count,
                                     uint32_t *words);

// Numbers in [0, 1): of one word each, floats, or of two, doubles, where `wide` says so.
EXPORT int64_t penstock_random_units(uint64_t key, uint64_t low, uint64_t high, int64_t count,
                                     int64_t wide, void *out);

// Pairs of floats in [0, 1) of two words each; of the first ones a logarithm can be taken.
EXPORT int64_t penstock_random_unit_pairs(uint64_t key, uint64_t low, uint64_t high, int64_t count,
                                          float *first, float *second);

// Whole numbers from `start` on, `size` of them (not 0): words modulo the size, of 32 bits, or of 64 and
// two words each where `wide`. Sums wrap around.
EXPORT int64_t penstock_random_whole(uint64_t key, uint64_t low, uint64_t high, uint64_t start,
                                     uint64_t size, int64_t count, int64_t wide, void *out);

// Numbers in [0, limit), one word each, or two where `wide`; words that are not fair are left out.
EXPORT int64_t penstock_random_below(uint64_t key, uint64_t low, uint64_t high, uint64_t limit,
                                     int64_t count, int64_t wide, int64_t *out);

// The logarithms of classes' weights: floats, or doubles where `wide`, less the largest of their row. What
// is not finite is minus infinity.
EXPORT int64_t penstock_random_shifted(const void *logits, int64_t wide, int64_t rows, int64_t classes,
                                       double *out);

// Classes drawn by their weights (at least one class; `weights` is written to): int32, or int64 where
// `wide`.
EXPORT int64_t penstock_random_categories(uint64_t key, uint64_t low, uint64_t high, double *weights,
                                          int64_t rows, int64_t classes, int64_t samples, int64_t wide,
                                          void *out);

// The four words of each of the blocks at `places`.
EXPORT int64_t penstock_random_blocks(uint64_t key, uint64_t low, uint64_t high,
                                      const uint64_t *places, int64_t count, uint32_t *words);

// The numbers 0 to count - 1 in random order: place i is exchanged with the one that word i says,
// of those from i on.
EXPORT int64_t penstock_random_order(uint64_t key, uint64_t low, uint64_t high, int64_t count,
                                     int64_t *order);

// Gamma numbers of these shapes and scale 1; NaN for what is no shape.
EXPORT int64_t penstock_random_gamma(uint64_t key, uint64_t low, uint64_t high,
                                     const uint64_t *places, int64_t count, int64_t threads,
                                     const double *shapes, double *out);

// Poisson numbers of these rates, up to `most`; NaN for what is no rate.
EXPORT int64_t penstock_random_poisson(uint64_t key, uint64_t low, uint64_t high,
                                       const uint64_t *places, int64_t count, int64_t threads,
                                       const double *rates, double most, double *out);

// Binomial numbers of these trials and probabilities; NaN for what is none.
EXPORT int64_t penstock_random_binomial(uint64_t key, uint64_t low, uint64_t high,
                                        const uint64_t *places, int64_t count, int64_t threads,
                                        const double *trials, const double *probabilities,
                                        double *out);

// Normal numbers between bounds: `rows` times `samples` floats, or doubles where `wide` says so. A
// row has four parameters: mean, deviation, and the bounds, least below most and not both infinite.
// Rows follow each other in the stream; where one starts depends on those before it. The result is
// the row for which no number was found (bounds that differ by nothing after rounding, or overflow),
// or -1.
EXPORT int64_t penstock_random_between(uint64_t key, uint64_t low, uint64_t high, int64_t rows,
                                       int64_t samples, int64_t wide, const double *parameters,
                                       void *out);

// Normal numbers less than 2 away from 0, in groups that have `reserved` blocks each and keep their
// first numbers that fit: groups of four floats, or of two doubles where `wide` says so.
EXPORT int64_t penstock_random_truncated(uint64_t key, uint64_t low, uint64_t high, int64_t groups,
                                         int64_t reserved, int64_t wide, int64_t threads, void *out);
