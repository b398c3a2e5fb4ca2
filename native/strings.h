// Work on arrays of strings, for penstock/core/native_strings.py. The caller holds Python's lock.
//
// `texts` are the elements of a NumPy array of bytes objects, `out` those of another one, whose old
// elements are let go. Every function returns -1, or the row of the first text that it does not
// serve; then the caller does the work in Python, which also says what is wrong. An element that is
// not of bytes leaves Python's exception set, which ctypes raises.
#pragma once

#include <cstdint>

#include "python.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

// What the functions below mean; native_strings.py states the same number.
EXPORT int penstock_strings_version();

// Hashes by function 0 (FarmHash's Fingerprint64), 1 (SipHash-2-4 with the key) or 2 (MurmurHash64A
// with seed key0); what is left of them by `limit` where that is not 0.
EXPORT int64_t penstock_strings_hash(PyObject **texts, int64_t count, int64_t function, uint64_t key0,
                                     uint64_t key1, uint64_t limit, uint64_t *hashes);

// The lengths in bytes, or in characters: bytes that do not continue one of UTF-8.
EXPORT int64_t penstock_strings_lengths(PyObject **texts, int64_t count, int64_t characters,
                                        int32_t *lengths);

// ASCII letters made lower-case (0) or upper-case (1), or white space taken from both ends (2).
EXPORT int64_t penstock_strings_change(PyObject **texts, int64_t count, int64_t change,
                                       PyObject **out);

// The bytes [pos, pos + size) of each string. A string shorter than pos is not served.
EXPORT int64_t penstock_strings_part(PyObject **texts, int64_t count, int64_t pos, int64_t size,
                                     PyObject **out);

// Row i of `columns` columns joined, with the separator between; column c's text is
// texts[c][i * steps[c]].
EXPORT int64_t penstock_strings_join(PyObject ***texts, const int64_t *steps, int64_t columns,
                                     int64_t count, const char *between, int64_t size,
                                     PyObject **out);

// The parts of each string between the separator, or between runs of white space where size is 0.
// With skip_empty parts of no bytes are left out; without `out` parts are only counted.
EXPORT int64_t penstock_strings_split(PyObject **texts, int64_t count, const char *between,
                                      int64_t size, int64_t skip_empty, int64_t *counts, PyObject **out);

// The numbers that strings show in decimal digits, rounded once. Any other text is not served.
EXPORT int64_t penstock_strings_floats(PyObject **texts, int64_t count, float *values);
EXPORT int64_t penstock_strings_doubles(PyObject **texts, int64_t count, double *values);
EXPORT int64_t penstock_strings_integers(PyObject **texts, int64_t count, int64_t *values);

// The first `size` bytes of each string, one string's after the other's. Shorter strings get zeros
// where `pad` says so, and strings of another size are not served where it does not.
EXPORT int64_t penstock_strings_bytes(PyObject **texts, int64_t count, int64_t size, int64_t pad,
                                      char *out);

// Each string in base 64, of the alphabet for addresses, with '=' at the end where `pad` says so.
EXPORT int64_t penstock_strings_encode(PyObject **texts, int64_t count, int64_t pad, PyObject **out);

// The bytes of each string in base 64, with '=' at the end or not. What is none is not served.
EXPORT int64_t penstock_strings_decode(PyObject **texts, int64_t count, PyObject **out);

// The strings of each id in [0, parts) joined in order, with the separator between; ids are right.
// Empty strings before the first other one leave no trace.
EXPORT int64_t penstock_strings_combine(PyObject **texts, int64_t count, const int64_t *ids,
                                        int64_t parts, const char *between, int64_t size,
                                        PyObject **out);

// Each row's neighbours joined, `widths` at a time in turn. Row i is texts[splits[i]] up to
// splits[i + 1], with `pads` strings more on either side, or one fewer than the width where there are
// more of these or `pads` is below 0. With `keep_short` a row that is too short for all widths
// becomes one string, with all its pads. Sets how many each row has; without `out` they are only
// counted.
EXPORT int64_t penstock_strings_ngrams(PyObject **texts, const int64_t *splits, int64_t rows,
                                       const int64_t *widths, int64_t width_count,
                                       const char *between, int64_t size, const char *left,
                                       int64_t left_size, const char *right, int64_t right_size,
                                       int64_t pads, int64_t keep_short, int64_t *counts,
                                       PyObject **out);

// Decimals with so many digits (0 to 7) after the point, rounded as printf does. Numbers of 2^40 and
// more are not served, infinities and NaN are.
EXPORT int64_t penstock_strings_fixed(const double *values, int64_t count, int64_t digits,
                                      PyObject **out);

// Whole numbers as decimals.
EXPORT int64_t penstock_strings_whole(const int64_t *values, int64_t count, PyObject **out);

// The same as penstock_arrays_index (arrays.h) for different strings; their hashes are kept too.
EXPORT int64_t penstock_strings_index(PyObject **keys, int64_t count, uint64_t *hashes,
                                      int32_t *slots, int64_t slot_count);

// The place among such strings of each wanted one, or -1.
EXPORT int64_t penstock_strings_places(PyObject **wanted, int64_t number, PyObject **keys,
                                       const uint64_t *hashes, const int32_t *slots,
                                       int64_t slot_count, int64_t *places);

// Whether each text has `core` and nothing else; or, by the flags, with anything before it (after_any) or
// behind it (before_any). 1 where it has; 2 where it has, but also a line's end or bytes that are not
// ASCII, which `anything` may not cover; else 0.
EXPORT int64_t penstock_strings_match(PyObject **texts, int64_t count, const char *core, int64_t size,
                                      int64_t after_any, int64_t before_any, int8_t *found);

// The characters of texts of UTF-8: where each text's begin and end, and, with `points`, what they are
// and at which byte of their text they start. A malformed text is not served.
EXPORT int64_t penstock_strings_points(PyObject **texts, int64_t count, int64_t *splits,
                                       int32_t *points, int64_t *starts);

// Texts of UTF-8 in UTF-8 (0), UTF-16 (1) or UTF-32 (2), high bytes first. A malformed one is not served.
EXPORT int64_t penstock_strings_transcode(PyObject **texts, int64_t count, int64_t encoding,
                                          PyObject **out);

// Rows of characters as texts, encoded so: row i is points[splits[i]] up to splits[i + 1]. Splits that do
// not lead from 0 to `number` and what is no character are not served.
EXPORT int64_t penstock_strings_characters(const int32_t *points, int64_t number,
                                           const int64_t *splits, int64_t rows, int64_t encoding,
                                           PyObject **out);

// One serialised Summary of numbers, with a tag of ASCII each.
EXPORT int64_t penstock_strings_scalars(PyObject **tags, int64_t count, const float *values,
                                        PyObject **out);

// Serialised Summaries as one. Those of numbers alone are served, as penstock_strings_scalars writes them
// and with different tags.
EXPORT int64_t penstock_strings_merge(PyObject **summaries, int64_t count, PyObject **out);
