// Work on arrays of numbers that NumPy has no single call for, for penstock/core/native_arrays.py.
//
// Arrays are dense. Integers that number things are int32, or int64 where `wide` says so. Kinds of
// elements: 0 float, 1 double, 2 int32, 3 int64. Functions that check their inputs return -1, or
// the first place that is wrong; then the caller does the work in Python, which says what is wrong.
// Those that need room of their own (unique, top, nth, edits, level, apart...) return -3 where memory runs
// out.
#pragma once

#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

// What the functions below mean; native_arrays.py states the same number.
EXPORT int penstock_arrays_version();

// The distinct items of `size` bytes in the order in which they first occur. Item i is the
// numbers[i]-th of them; first[k] is where the k-th stands, counts[k] how often it occurs. Items are
// compared by their bytes; as floating numbers of 2 (half), 4 or 8 bytes where `floating` says so:
// then zeros are equal, and a NaN equals nothing. Returns how many there are, -2 if too many.
EXPORT int64_t penstock_arrays_unique(const void *items, int64_t count, int64_t size,
                                      int64_t floating, int64_t wide, void *numbers, int64_t *first,
                                      int64_t *counts);

// Rows of `width` elements combined by id into result[ids[i]]: added (0), multiplied (1), the
// largest (2) or the smallest (3), where what is there stays if it is beyond the row's element,
// subtracted (4), divided by (5, floating numbers alone), put in their place (6); the largest (7) or
// the smallest (8), where what is there stays unless the row's element is beyond it. Row i is
// rows[from[i]], of `sources` rows; rows[i] where `from` is null. `result`, apart from them, has `count` rows and is
// begun by the caller; sizes[k], where there are any, counts k's rows, and is begun too. `order` says
// which ids are right: those in [0, count) (0); the same, never falling (1); below count, where
// negative ones are left out (2); 0 and more, where those from count on are (3); those in [0, count),
// and nothing is written where one is not (4).
EXPORT int64_t penstock_arrays_combine(int64_t operation, int64_t kind, const void *rows,
                                       int64_t width, const void *from, int64_t from_wide,
                                       int64_t sources, const void *ids, int64_t wide, int64_t number,
                                       int64_t order, int64_t count, void *result, int64_t *sizes);

// Of boxes, four floats each (any two opposite corners), those with scores above limits[1], the best
// first and of equal ones the first, unless one taken before has more than limits[0] of the union of
// both: where up to `most` of them stand. Returns how many there are.
EXPORT int64_t penstock_arrays_apart(const float *boxes, const float *scores, int64_t number,
                                     const float *limits, int64_t most, int64_t *taken);

// Of boxes in this order, up to `most` of those that none taken before covers: box i has
// overlaps[i * number + j] with box j, more than *limit where j covers it. Returns how many there are, -1
// where a NaN, or an infinity that is not above the limit, leaves open whether one is.
EXPORT int64_t penstock_arrays_apart_by_overlaps(const float *overlaps, int64_t number, const int64_t *order,
                                                 int64_t count, const float *limit, int64_t most,
                                                 int64_t *taken);

// The best of the boxes of each image that were taken apart, class by class, the best first and of
// equal ones that of the first class: their corners, in [0, 1] where `clipped`, scores and classes, in
// rows of `room`, of which the rest stays; and how many there are. sizes: images, boxes of each, kinds
// of boxes (1, or one for each class), classes, how many of a class are taken at most, room.
EXPORT int64_t penstock_arrays_apart_by_class(const float *boxes, const float *scores,
                                              const int64_t *sizes, const float *limits,
                                              int64_t clipped, int64_t threads, float *out_boxes,
                                              float *out_scores, float *out_classes,
                                              int32_t *counts);

// Rows of a ragged tensor side by side: row i has the items of `size` bytes from splits[i] up to
// splits[i + 1], at most `width` of them, and then the item at `rest` for what lacks of `width`. Splits
// never fall.
EXPORT int64_t penstock_arrays_pad(const void *rows, int64_t size, const void *splits, int64_t wide,
                                   int64_t number, int64_t width, int64_t threads, const void *rest,
                                   void *out);

// Rows of `size` bytes dealt out by id in [0, parts), those of one number together and in order: those of
// part k end at ends[k], which is begun as zeros.
EXPORT int64_t penstock_arrays_deal(const void *rows, int64_t size, const int32_t *ids, int64_t number,
                                 int64_t parts, int64_t *ends, void *out);

// out[x[i]] = i, where x is a permutation.
EXPORT int64_t penstock_arrays_invert(const void *x, int64_t wide, int64_t number, void *out);

// The k largest of each row and where they are, the largest first and of equal ones the first; NaN is
// larger than all numbers. Rows are of floats (0) or int32 (2), as `values` are.
EXPORT int64_t penstock_arrays_top(int64_t kind, const void *rows, int64_t number, int64_t width,
                                   int64_t k, int64_t threads, void *values, int64_t *places);

// Whether each row's target is among the k largest of the row's floats: fewer than k are larger. Not
// for a target that is not in [0, width) or not finite, nor beside a NaN or a larger infinity.
EXPORT int64_t penstock_arrays_among(const float *rows, int64_t number, int64_t width,
                                  const void *targets, int64_t wide, int64_t k, bool *found);

// Where the largest number of each row is (the smallest where `least` says so): of equal ones the
// first; a NaN is none. Rows have at least one number.
EXPORT int64_t penstock_arrays_extreme(int64_t kind, const void *rows, int64_t number, int64_t width,
                                       int64_t least, int64_t *places);

// The number of each row that stands at `place` in [0, width) where the row is sorted, NaN last.
EXPORT int64_t penstock_arrays_nth(int64_t kind, const void *rows, int64_t number, int64_t width,
                                   int64_t place, void *values);

// How many numbers are to be put in, taken out or replaced to make the second row of each pair of the
// first: rows of `a` and `b` end at a_splits[i + 1] and b_splits[i + 1].
EXPORT int64_t penstock_arrays_edits(const int32_t *a, const int64_t *a_splits, const int32_t *b,
                                     const int64_t *b_splits, int64_t number, int64_t threads,
                                     int64_t *edits);

// Puts the places of different keys into `slots`, which has a power of two of them, at least one more
// than there are keys, all -1.
EXPORT int64_t penstock_arrays_index(const int64_t *keys, int64_t count, int32_t *slots,
                                     int64_t slot_count);

// The place among such keys of each wanted one, or -1.
EXPORT int64_t penstock_arrays_places(const int64_t *keys, const int32_t *slots, int64_t slot_count,
                                      const int64_t *wanted, int64_t number, int64_t threads,
                                      int64_t *places);

// Puts keys into the index of `count` others, which has as many empty slots as there may be new ones and
// one more: those that are new follow the others, for which there is room. The place of each; returns
// how many keys there are then.
EXPORT int64_t penstock_arrays_enter(int64_t *keys, int64_t count, int32_t *slots, int64_t slot_count,
                                     const int64_t *wanted, int64_t number, int64_t *places);

// Takes keys out of the index; they stay where they are. Where those stand that were in it; returns
// how many these are.
EXPORT int64_t penstock_arrays_leave(const int64_t *keys, int32_t *slots, int64_t slot_count,
                                     const int64_t *wanted, int64_t number, int64_t *places);

// The nearest row that does not rise to each row, and the numbers of its level parts.
EXPORT int64_t penstock_arrays_level(const double *rows, int64_t number, int64_t width, double *out,
                                     int32_t *parts);

// CTC's loss of each row of labels and its derivative, of logits [time, batch, classes] of floats (0) or
// doubles (1). Row i has labels[splits[i]] up to splits[i + 1] of the `number` labels, which are classes,
// and lengths[i] of the frames. Whether labels that come twice in a row are one says `merge`. -1, or a row
// that is wrong, or whose logits are too far apart (row 0 for labels that are no classes).
EXPORT int64_t penstock_arrays_ctc(int64_t kind, const void *logits, int64_t time, int64_t batch,
                                   int64_t classes, const int64_t *labels, int64_t number,
                                   const int64_t *splits, const int64_t *lengths, int64_t blank,
                                   int64_t merge, int64_t threads, void *loss, void *gradient);

// The same of sparse labels, whose rows stand in the first of two indices each; classes whose
// probability underflows are impossible, as in TensorFlow's CTCLoss. `collapse` leaves out
// labels that come twice in a row; rows with more labels than frames are wrong unless `ignore` makes
// them 0.
EXPORT int64_t penstock_arrays_ctc_sparse(int64_t kind, const void *logits, int64_t time,
                                          int64_t batch, int64_t classes, const int64_t *indices,
                                          const int32_t *values, int64_t number,
                                          const int32_t *lengths, int64_t blank, int64_t collapse,
                                          int64_t merge, int64_t ignore, int64_t threads, void *loss,
                                          void *gradient);

// The labels of each row's best classes: where they stand in a sparse matrix, and what they are, for
// which there is room for all frames. counts[i] of them are row i's, whose scores are added up, and
// negative. Returns how many there are, -2 where a logit is NaN.
EXPORT int64_t penstock_arrays_ctc_best(int64_t kind, const void *logits, int64_t time, int64_t batch,
                                        int64_t classes, const int32_t *lengths, int64_t blank,
                                        int64_t merge, int64_t *indices, int64_t *labels,
                                        int64_t *counts, void *scores);

// The labels that a search over prefixes finds: `paths` for each row, the best first, of frames
// [time, batch, classes] of logarithms. Row i's k-th has counts[k * batch + i] labels, which begin at
// labels[(k * batch + i) * time]. -1, or the first row that has fewer; then scores[0] is their number.
EXPORT int64_t penstock_arrays_ctc_search(const double *frames, int64_t time, int64_t batch,
                                          int64_t classes, const int32_t *lengths, int64_t width,
                                          int64_t paths, int64_t threads, int64_t *labels,
                                          int64_t *counts, double *scores);

// Adds to `counts` how many numbers lie in each of `bins` equal parts of [limits[0], limits[1]); what is
// outside counts in the first or last. -1, or about where a NaN is. `bins` is at least 1, below 2^31. -3 where
// memory runs out.
EXPORT int64_t penstock_arrays_histogram(int64_t kind, const void *values, int64_t number,
                                         const double *limits, int64_t bins, int64_t threads,
                                         int64_t *counts);

// Rows of whole numbers that begin at starts[i] and are deltas[i] apart: row i from splits[i] up to
// splits[i + 1]. Sums wrap around.
EXPORT int64_t penstock_arrays_ranges(const void *starts, const void *deltas, int64_t wide,
                                      const int64_t *splits, int64_t rows, void *out);

// In which class's part of [0, total) each value lies, one after the other. Weights of classes stand in
// `parts` blocks of `size`, whose sums are `blocks`; no value is negative, or reaches their total.
EXPORT int64_t penstock_arrays_weighted(const int64_t *weights, const int64_t *blocks, int64_t parts,
                                        int64_t size, const int64_t *values, int64_t number,
                                        int64_t *classes);

// The whole part of e to the power of exponents[i] * *scale, less 1, modulo `size`. Exponents are not
// negative, no product is above 43.
EXPORT int64_t penstock_arrays_by_powers(const double *exponents, int64_t number, const double *scale,
                                         int64_t size, int64_t *classes);

// Where `count` of the points [number, width] are that are far from each other: each is drawn in proportion
// to its squared distance from those before, the best of 1 + tries draws; the first is the best of as many
// that are given. uniform: (count - 1) * (1 + tries) numbers in [0, 1). There are points, and count is not
// above their number.
EXPORT int64_t penstock_arrays_far_apart(const float *points, int64_t number, int64_t width,
                                         int64_t count, int64_t tries, const int64_t *first,
                                         const float *uniform, int64_t *places);

// Floats [rows, channels] rounded to the steps of ranges, one for each channel. steps[5, channels]: the
// ends, the steps from the lower one to zero, a step, and the steps of 1, by which numbers are multiplied
// unless a step divides them. NaN stays NaN; ends are no NaN.
EXPORT int64_t penstock_arrays_fake_steps(const float *x, int64_t rows, int64_t channels,
                                          const float *steps, int64_t divides, int64_t threads,
                                          float *out);

// What flows back through it: gradients, times 0 where numbers are beyond their range, and for each
// channel the sums of those below and of those above it.
EXPORT int64_t penstock_arrays_fake_steps_back(const float *grads, const float *x, int64_t rows,
                                               int64_t channels, const float *steps, int64_t threads,
                                               float *out, float *low, float *high);

// Floats as integers of `size` bytes (1 or 2), with a sign or without. levels[10], none NaN: each number is
// held between levels[0] and levels[1]; less levels[2], times levels[3], less levels[4]; rounded, with halves away
// from zero (0), to even (1) or up (2); less levels[5], plus levels[6]; held between levels[7] and levels[8],
// which the integers hold; levels[9] where it is NaN. -1; 0 for other sizes or roundings.
EXPORT int64_t penstock_arrays_quantise(const float *x, int64_t count, const float *levels,
                                        int64_t rounding, int64_t size, int64_t threads, void *out);

// Integers of `size` bytes (1 or 2), of a sign where `has_sign` says so, as floats: plus line[0], times
// line[1], plus line[2]. -1; 0 for other sizes.
EXPORT int64_t penstock_arrays_dequantise(const void *x, int64_t count, int64_t size, int64_t has_sign,
                                          const float *line, int64_t threads, float *out);

// The products of bytes, each less its zeros[0] or zeros[1]; they wrap around.
EXPORT int64_t penstock_arrays_quantised_product(const uint8_t *x, const uint8_t *y, int64_t count,
                                                 const int32_t *zeros, int64_t threads, int32_t *out);

// Points of Sobol's sequence from point `first` on: rows of `dims` floats, or doubles where `wide`, in
// [0, 1). Each dimension has 32 direction numbers, the one of the lowest bit first; first + count is below
// 2^31.
EXPORT int64_t penstock_arrays_sobol(const uint32_t *directions, int64_t dims, int64_t first,
                                     int64_t count, int64_t wide, void *out);

// Where wanted keys, `rows` rows of `width`, are among fewer than 2^30 others: the row of each hit and the
// last place of its key, for which there is room. Returns how many hits there are.
EXPORT int64_t penstock_arrays_hits(const int64_t *keys, int64_t count, const int64_t *wanted,
                                    int64_t rows, int64_t width, int32_t *hit_rows, int64_t *hit_keys);

// The number of the row at each position, `depth` numbers in the first axes of these sizes.
EXPORT int64_t penstock_arrays_flatten(const void *positions, int64_t wide, int64_t number, int64_t depth,
                                       const int64_t *sizes, int64_t *rows);

// The different ones of numbers in [0, rows), rising, and which of them each is. Returns how many there
// are, -1 where a number is outside.
EXPORT int64_t penstock_arrays_different(const void *numbers, int64_t wide, int64_t count, int64_t rows,
                                         int64_t *own, void *found);

// Rows of floats (0) or doubles (1), each times one by its size, or by the root of its size; a size below 1
// counts as 1.
EXPORT int64_t penstock_arrays_share(int64_t kind, const void *rows, int64_t number, int64_t width,
                                     const int64_t *sizes, int64_t root, void *out);

// Adds row ids[i] of `count` rows of floats (0) or doubles (1) to row indices[i] of `size`, times one by how
// often its id is there, or by the root of that.
EXPORT int64_t penstock_arrays_spread(int64_t kind, const void *rows, int64_t count, int64_t width,
                                      const void *indices, int64_t wide, const void *ids,
                                      int64_t ids_wide, int64_t number, int64_t root, int64_t size,
                                      void *result);

// Adds up how often each number in [0, rows) is there.
EXPORT int64_t penstock_arrays_often(const void *numbers, int64_t wide, int64_t count, int64_t rows,
                                     int64_t *sizes);

// -1 where the splits of ragged rows begin with 0, never fall and end with `total`, else 0.
EXPORT int64_t penstock_arrays_are_splits(const void *splits, int64_t wide, int64_t rows, int64_t total);

// The row of each of `total` items of ragged rows and, where asked for, its place in the row, `step`
// apart. Returns the length of the longest row, -1 where splits do not begin with 0, fall or do not end
// with `total`.
EXPORT int64_t penstock_arrays_items_of_rows(const void *splits, int64_t wide, int64_t rows, int64_t total,
                                             int64_t step, int64_t *ids, int64_t *offsets);

// What the values below `size` of each ragged row weigh together (1 each without weights), or 1 for those
// that are there where `binary`: rows of `size`, begun as zeros. -1, or 0 where splits are wrong or a value
// is negative.
EXPORT int64_t penstock_arrays_count_rows(int64_t kind, const int64_t *splits, int64_t rows,
                                          const void *values, int64_t wide, int64_t number,
                                          int64_t size, const void *weights, int64_t binary,
                                          void *result);

// What the values below `size` of each row weigh together, as of count_rows: row places[i * rank] has values[i].
// Rank 1: all values are of the only row. -1, or the first place of a value below 0 or a row that is outside.
EXPORT int64_t penstock_arrays_count_places(int64_t kind, const int64_t *places, int64_t rank, int64_t rows,
                                            const void *values, int64_t wide, int64_t number,
                                            int64_t size, const void *weights, int64_t binary,
                                            void *result);

// Ragged rows that are chosen, of splits that are right. Without `places`: their splits; returns how many
// items they have, -1 where one of them is outside. With it: where their items are.
EXPORT int64_t penstock_arrays_chosen_rows(const void *splits, int64_t wide, int64_t rows, const void *ids,
                                           int64_t ids_wide, int64_t number, void *ends,
                                           int64_t *places);

// The splits of rows of whole numbers from starts up to limits by deltas, one for each row or, where its
// step is 0 and not 1, one for all. Returns how many numbers there are; -1 where there are more than `most`
// or a delta is 0.
EXPORT int64_t penstock_arrays_range_splits(const void *starts, const void *limits, const void *deltas,
                                            int64_t wide, const int64_t *steps, int64_t rows, int64_t most,
                                            int64_t *splits);

// Items in order of their rows, with a place in each row that has none: where each goes (those of a row
// keep their order), which rows are empty, and the row of each place, for which there is room: number +
// rows. Returns how many places there are, -1 where a row is outside.
EXPORT int64_t penstock_arrays_fill_rows(const int64_t *ids, int64_t number, int64_t rows, int64_t *places,
                                         bool *empty, int64_t *filled);

// Where a Markov chain over numbers ends, of which there is one at least: it moves on to number i
// where that is above uniform[i] times the number it is at, or that is zero.
EXPORT int64_t penstock_arrays_chain(const float *numbers, const double *uniform, int64_t count);

// Squared distances of points [number, width] from a centre; before[i] where that is less and there are any.
EXPORT int64_t penstock_arrays_nearer(const float *points, int64_t number, int64_t width,
                                      const float *center, const double *before, double *out);

// For each of `number` points of `width` numbers the `k` nearest of `count` centres, the nearest first and of equally
// near ones the first: where they stand, and their squared distances. NaN is the farthest.
EXPORT int64_t penstock_arrays_nearest(const float *points, int64_t number, int64_t width,
                                       const float *centers, int64_t count, int64_t k, int64_t threads,
                                       int64_t *places, float *distances);

// The products of `count` tridiagonal matrices of n rows and dense ones [n, k], of floats (0) or doubles (1). Each
// diagonal has n numbers for each matrix; the last of `high` and the first of `low` are not looked at.
EXPORT int64_t penstock_arrays_tridiagonal_product(int64_t kind, const void *high, const void *main,
                                                   const void *low, const void *dense, int64_t count,
                                                   int64_t n, int64_t k, int64_t threads, void *out);

// a - b (0), b - a (1), the intersections (2) or unions (3) of sets of the same number. Element i of a is
// of set a_rows[i], which does not fall, or of set i / a_width where that is null; so of b. Where each
// element found belongs, as the number of its set and its place in there, and what it is: there is room
// for all of both. Returns how many there are, -2 where numbers of sets fall.
EXPORT int64_t penstock_arrays_sets(int64_t operation, const int64_t *a_rows, int64_t a_width,
                                    const int64_t *a_values, int64_t a_count, const int64_t *b_rows,
                                    int64_t b_width, const int64_t *b_values, int64_t b_count,
                                    int64_t *places, int64_t *values);

// The weights, or ones, of the elements of sets added up by value, of values below `most` (all where that
// is negative); ones where `binary` says so. Sets are as in penstock_arrays_sets, their elements none
// below 0. Where each sum belongs, as the number of its set and the value, and the sums, for which
// there is room for all elements. Returns how many there are, -2 for wrong ones.
EXPORT int64_t penstock_arrays_counts(int64_t kind, const int64_t *rows, int64_t width,
                                      const int64_t *values, int64_t number, const void *weights,
                                      int64_t most, int64_t binary, int64_t *places, void *totals);

// Updates rows of up to four arrays [height, width] by the rule of an optimizer, in place, one row after
// the other: row indices[i] with row i of the gradient [rows, width], or row i where `indices` is null.
// `program` and `numbers` are as rules.h has them. At most `threads` share the columns. -1, or the first
// place of an index outside of [0, height), 0 also for a program that is too long: then nothing is written.
EXPORT int64_t penstock_arrays_rule(int64_t kind, const void *program, void *slot0, void *slot1,
                                    void *slot2, void *slot3, const void *grad, const void *numbers,
                                    const void *indices, int64_t wide, int64_t height, int64_t rows,
                                    int64_t width, int64_t threads);

// A function of passes.h, of `count` elements each; y may be null where it has none. -1, or 0 where there is
// no such function.
EXPORT int64_t penstock_arrays_pass(int64_t function, int64_t kind, const void *x, const void *y,
                                    const double *number, int64_t count, void *out);

// Elements of x where the mask holds, of y elsewhere, each of `size` bytes. -1; 0 for sizes that are none of
// 1, 2, 4 and 8.
EXPORT int64_t penstock_arrays_choose(const bool *mask, const void *x, const void *y, int64_t size,
                                      int64_t count, void *out);

// A matrix in compressed sparse rows of places [number, rank] in the order of their rows: int32 columns
// [number] and ends [rows + 1]. dims[rank], which is 2 or 3; members of a batch are along the diagonal.
// `values` gets what a dense matrix has there, if one is given; `size` bytes each (4, 8 or 16). -1, the
// first place that is outside, or -2 where rows fall.
EXPORT int64_t penstock_arrays_to_rows(const int64_t *places, int64_t number, int64_t rank,
                                       const int64_t *dims, const void *dense, int64_t size,
                                       int32_t *columns, int32_t *ends, void *values);

// The places of the values of a matrix as penstock_arrays_to_rows makes it.
EXPORT int64_t penstock_arrays_from_rows(const int32_t *columns, const int32_t *ends, int64_t rank,
                                         const int64_t *dims, int64_t *places);

// Its values in a dense matrix of zeros.
EXPORT int64_t penstock_arrays_dense_rows(const int32_t *columns, const int32_t *ends, int64_t rank,
                                          const int64_t *dims, const void *values, int64_t size,
                                          void *out);

// The smallest and largest index of each axis of places [number, rank], of which there is one at least.
// 2 where each comes after the one before it in row-major order, 1 where none comes before it, else 0.
EXPORT int64_t penstock_arrays_bounds(const int64_t *places, int64_t number, int64_t rank, int64_t *low,
                                      int64_t *high);

// Adds to `result` [height, width] of floats (0) or doubles (1) the product of a sparse matrix, values at
// places [number, 2], and a dense one [inner, width], element after element. A place's row is its index
// `row_axis`. -1, or the first place that is outside, at which it ends.
EXPORT int64_t penstock_arrays_product(int64_t kind, const void *places, int64_t wide, int64_t number,
                                       int64_t row_axis, const void *values, const void *dense,
                                       int64_t inner, int64_t width, void *result, int64_t height);

// For each place of `a` the element of `size` bytes (as of `put`) that is given for the same place of `b`,
// zero where there is none. -1, or -2 where a list is not in order or has repetitions.
EXPORT int64_t penstock_arrays_elements_at(const int64_t *a, int64_t a_count, const int64_t *b,
                                           int64_t b_count, int64_t rank, const void *given, int64_t size,
                                           void *out);

// Elements of `size` bytes (as of `put`) given for the places of `b`, each where its place, moved by `start`, is
// in `a`, zero elsewhere: places of `a` are gone through once, in turn with those of `b`. Returns for how many
// of them there was a place.
EXPORT int64_t penstock_arrays_in_turn(const int64_t *a, int64_t a_count, const int64_t *b, int64_t b_count,
                                       int64_t rank, const int64_t *start, const void *given,
                                       int64_t size, void *out);

// The places [number, rank] in a box of these sizes, none below 0, as seen from `start`, and their numbers;
// both have room for one more than all. Returns how many there are.
EXPORT int64_t penstock_arrays_in_box(const int64_t *places, int64_t number, int64_t rank,
                                      const int64_t *start, const int64_t *size, int64_t *moved,
                                      int64_t *numbers);

// Two lists of places, each in order and without repetitions, as one, for which there is room: the
// places, and where each stands in `a` and in `b`, -1 where it does not. Returns how many there are,
// -1 where a list is not in order.
EXPORT int64_t penstock_arrays_unite(const int64_t *a, int64_t a_count, const int64_t *b,
                                     int64_t b_count, int64_t rank, int64_t *places, int64_t *first,
                                     int64_t *second);

// Each row of floats (0) or doubles (1), of one at least, less its largest number; NaN where there is one.
EXPORT int64_t penstock_arrays_shift(int64_t kind, const void *rows, int64_t number, int64_t width,
                                     void *shifted);

// Of rows less their largest numbers, their exponentials, the sums of these [number] and the logarithms of
// the sums: the parts of their cross entropy with labels, and its gradient in place of the exponentials.
EXPORT int64_t penstock_arrays_cross(int64_t kind, const void *shifted, const void *sums,
                                     const void *logs, const void *labels, int64_t number,
                                     int64_t width, void *exponentials, void *parts);

// The same of rows that are each of the class that their label names, and their losses. -1, or the first
// row whose label names none; then nothing is written.
EXPORT int64_t penstock_arrays_cross_classes(int64_t kind, const void *shifted, const void *sums,
                                             const void *logs, const void *labels, int64_t wide,
                                             int64_t number, int64_t width, void *exponentials,
                                             void *losses);

// An array [outer, depth, inner] of elements of `size` bytes (1, 2, 4, 8 or 16): `on` at [i, indices[i, j], j]
// where that index is in [0, depth), `off` elsewhere. Kinds of indices: those of elements, 4 int8, 5 uint8.
EXPORT int64_t penstock_arrays_mark(int64_t kind, const void *indices, int64_t outer, int64_t depth,
                                    int64_t inner, const void *on, const void *off, int64_t size,
                                    void *out);

// Puts values of `size` bytes (as above) at places [number, rank] of a dense array of these sizes: number
// i * step. -1, or the first place that is outside, or, where they must rise, no further than the one before.
EXPORT int64_t penstock_arrays_put(const void *places, int64_t wide, int64_t number, int64_t rank,
                                   const int64_t *sizes, int64_t rising, const void *values, int64_t step,
                                   int64_t size, void *out);

// A sparse tensor, values of `size` bytes (as above) at places [number, rank], rank at least 1, by row, with
// `rest` at the start of each of `rows` rows that has none: where each element went, which rows were empty,
// and the places and values, for which there is room; no values where `filled_values` is null. Returns how
// many there are, -1 where an element's row is outside.
EXPORT int64_t penstock_arrays_fill_empty_rows(const int64_t *places, int64_t number, int64_t rank,
                                               int64_t rows, const void *values, const void *rest,
                                               int64_t size, int64_t *moved, bool *empty,
                                               int64_t *filled, void *filled_values);

// What of the gradients [total], floats (0) or doubles (1), is at these places [number], and the sum of all
// others, one after the other. -1, or the first place that is outside.
EXPORT int64_t penstock_arrays_part_filled(int64_t kind, const int64_t *places, int64_t number,
                                           const void *grads, int64_t total, void *taken, void *rest);

// The sum of the squares of floats (0) or doubles (1), added in NumPy's order.
EXPORT int64_t penstock_arrays_square_sum(int64_t kind, const void *x, int64_t count, void *sum);

// ends[0] + ends[1] * i for each i below `count`, floats (0) or doubles (1).
EXPORT int64_t penstock_arrays_line(int64_t kind, const void *ends, int64_t count, void *out);
