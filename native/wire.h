// The functions of the library that parses messages, for penstock/core/native_wire.py and check_wire.cc.
//
// Messages lie in one piece of memory; starts[i] and ends[i] say where message i is, and a start of
// -1 that there is none. Every function returns the row of the first broken message, or -1. With
// outputs of null, `repeated`, `floats` and `integers` only count. Nothing is read outside of the
// spans, whatever the bytes are. Every function may be called by several threads at once.
#pragma once

#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

// What the functions below mean; native_wire.py states the same number.
EXPORT int penstock_wire_version();

// Where the values of `count` keys of a map are, which is field 1 of the message in field `field`:
// value_starts and value_ends are [count, rows]. Entries of keys that are not there stay as they are.
EXPORT int64_t penstock_wire_map_values(const uint8_t *data, const int64_t *starts,
                                        const int64_t *ends, int64_t rows, int64_t field,
                                        const char *keys, const int64_t *lengths, int64_t count,
                                        int64_t *value_starts, int64_t *value_ends);

// Which list each Feature holds (the number of its field, 1 to 3), and where that list is.
EXPORT int64_t penstock_wire_kinds(const uint8_t *data, const int64_t *starts, const int64_t *ends,
                                   int64_t rows, int8_t *kinds, int64_t *list_starts,
                                   int64_t *list_ends);

// The strings or messages in field 1 of each message.
EXPORT int64_t penstock_wire_repeated(const uint8_t *data, const int64_t *starts,
                                      const int64_t *ends, int64_t rows, int64_t *counts,
                                      int64_t *found_starts, int64_t *found_ends);

// The numbers in field 1 of each message.
EXPORT int64_t penstock_wire_floats(const uint8_t *data, const int64_t *starts, const int64_t *ends,
                                    int64_t rows, int64_t *counts, float *values);
EXPORT int64_t penstock_wire_integers(const uint8_t *data, const int64_t *starts,
                                      const int64_t *ends, int64_t rows, int64_t *counts,
                                      int64_t *values);

// The features of `count` keys, each of them a list of `sizes` values of one of `kinds` (1 strings, 2
// floats, 3 integers) in every row: outputs are the addresses of [rows, size] floats or integers, or
// of [rows, size, 2] places of strings. The first row that is otherwise - a key that is missing or
// there twice, another kind or number of values, broken bytes - or -1.
EXPORT int64_t penstock_wire_dense(const uint8_t *data, const int64_t *starts, const int64_t *ends,
                                   int64_t rows, int64_t field, const char *keys,
                                   const int64_t *lengths, int64_t count, const int64_t *kinds,
                                   const int64_t *sizes, const int64_t *outputs);
