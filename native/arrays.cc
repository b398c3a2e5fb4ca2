// Work on arrays of numbers. What the functions promise is in arrays.h.

#include "arrays.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "boxes_apart.h"
#include "combine.h"
#include "ctc.h"
#include "ctc_batches.h"
#include "distinct.h"
#include "draws.h"
#include "edits.h"
#include "fake_steps.h"
#include "key_index.h"
#include "largest.h"
#include "level.h"
#include "moved_rows.h"
#include "nearest.h"
#include "passes.h"
#include "places.h"
#include "quantise.h"
#include "ragged.h"
#include "rules.h"
#include "sets.h"
#include "softmax.h"
#include "sparse_calls.h"
#include "sums.h"
#include "threads.h"
#include "tridiagonal.h"

using namespace penstock;

EXPORT int penstock_arrays_version() { return 25; }

EXPORT int64_t penstock_arrays_unique(const void *items, int64_t count, int64_t size,
                                      int64_t floating, int64_t wide, void *numbers, int64_t *first,
                                      int64_t *counts) {
  if (count >= std::numeric_limits<int32_t>::max()) return -2;
  return with_memory([=] {
    return wide ? find_distinct(items, count, size, floating, static_cast<int64_t *>(numbers), first,
                                counts)
                : find_distinct(items, count, size, floating, static_cast<int32_t *>(numbers), first,
                                counts);
  });
}

EXPORT int64_t penstock_arrays_combine(int64_t operation, int64_t kind, const void *rows,
                                       int64_t width, const void *from, int64_t from_wide,
                                       int64_t sources, const void *ids, int64_t wide, int64_t number,
                                       int64_t order, int64_t count, void *result, int64_t *sizes) {
  const Rows given{rows, width, from, from_wide, sources, ids, wide, number, order, count, result, sizes};
  switch (operation) {
    case 0: return combine<0>(kind, given);
    case 1: return combine<1>(kind, given);
    case 2: return combine<2>(kind, given);
    case 3: return combine<3>(kind, given);
    case 4: return combine<4>(kind, given);
    case 5: return divide(kind, given);
    case 7: return combine<7>(kind, given);
    case 8: return combine<8>(kind, given);
  }
  return combine<6>(kind, given);
}

EXPORT int64_t penstock_arrays_apart(const float *boxes, const float *scores, int64_t number,
                                     const float *limits, int64_t most, int64_t *taken) {
  return with_memory(
      [=] { return apart(Scored{boxes, scores, number, 4, 1}, limits[0], limits[1], most, taken); });
}

EXPORT int64_t penstock_arrays_apart_by_overlaps(const float *overlaps, int64_t number, const int64_t *order,
                                                 int64_t count, const float *limit, int64_t most,
                                                 int64_t *taken) {
  return apart_by_overlaps(overlaps, number, order, count, *limit, most, taken);
}

EXPORT int64_t penstock_arrays_apart_by_class(const float *boxes, const float *scores,
                                              const int64_t *sizes, const float *limits,
                                              int64_t clipped, int64_t threads, float *out_boxes,
                                              float *out_scores, float *out_classes,
                                              int32_t *counts) {
  return apart_by_classes(boxes, scores, ClassSizes(sizes), limits[0], limits[1], clipped, threads,
                          out_boxes, out_scores, out_classes, counts);
}

EXPORT int64_t penstock_arrays_pad(const void *rows, int64_t size, const void *splits, int64_t wide,
                                   int64_t number, int64_t width, int64_t threads, const void *rest,
                                   void *out) {
  pad(static_cast<const char *>(rows), size, splits, wide, number, width, threads,
      static_cast<const char *>(rest), static_cast<char *>(out));
  return -1;
}

EXPORT int64_t penstock_arrays_deal(const void *rows, int64_t size, const int32_t *ids, int64_t number,
                                 int64_t parts, int64_t *ends, void *out) {
  const int64_t wrong = often(ids, number, parts, ends);
  if (wrong >= 0) return wrong;
  int64_t *starts = ends;  // which dealing moves on
  for (int64_t part = 0, start = 0; part < parts; ++part) start += std::exchange(starts[part], start);
  const char *from = static_cast<const char *>(rows);
  char *to = static_cast<char *>(out);
  switch (size) {
    case 1: deal(from, 1, ids, number, starts, to); break;
    case 2: deal(from, 2, ids, number, starts, to); break;
    case 4: deal(from, 4, ids, number, starts, to); break;
    case 8: deal(from, 8, ids, number, starts, to); break;
    default: deal(from, size, ids, number, starts, to);
  }
  return -1;
}

EXPORT int64_t penstock_arrays_invert(const void *x, int64_t wide, int64_t number, void *out) {
  if (wide) return invert(static_cast<const int64_t *>(x), number, static_cast<int64_t *>(out));
  return invert(static_cast<const int32_t *>(x), number, static_cast<int32_t *>(out));
}

EXPORT int64_t penstock_arrays_top(int64_t kind, const void *rows, int64_t number, int64_t width,
                                   int64_t k, int64_t threads, void *values, int64_t *places) {
  const auto find = kind == 0 ? top_of_rows<float> : top_of_rows<int32_t>;
  return find(rows, number, width, k, threads, values, places);
}

EXPORT int64_t penstock_arrays_among(const float *rows, int64_t number, int64_t width,
                                  const void *targets, int64_t wide, int64_t k, bool *found) {
  for (int64_t i = 0; i < number; ++i)
    found[i] = is_among(rows + i * width, width, entry(targets, wide, i), k);
  return -1;
}

EXPORT int64_t penstock_arrays_extreme(int64_t kind, const void *rows, int64_t number, int64_t width,
                                       int64_t least, int64_t *places) {
  const auto find = kind == 0   ? extremes<float>
                    : kind == 1 ? extremes<double>
                    : kind == 2 ? extremes<int32_t>
                                : extremes<int64_t>;
  find(rows, number, width, least, places);
  return -1;
}

EXPORT int64_t penstock_arrays_nth(int64_t kind, const void *rows, int64_t number, int64_t width,
                                   int64_t place, void *values) {
  const auto find = kind == 0   ? nths<float>
                    : kind == 1 ? nths<double>
                    : kind == 2 ? nths<int32_t>
                                : nths<int64_t>;
  return with_memory([=]() -> int64_t {
    find(rows, number, width, place, values);
    return -1;
  });
}

EXPORT int64_t penstock_arrays_edits(const int32_t *a, const int64_t *a_splits, const int32_t *b,
                                     const int64_t *b_splits, int64_t number, int64_t threads,
                                     int64_t *found) {
  return in_parallel_with_memory(number, threads, [=](int64_t i) {
    thread_local std::vector<int64_t> row;
    const int64_t *of_a = a_splits + i, *of_b = b_splits + i;
    found[i] = edits(a + of_a[0], of_a[1] - of_a[0], b + of_b[0], of_b[1] - of_b[0], row);
  });
}

EXPORT int64_t penstock_arrays_index(const int64_t *keys, int64_t count, int32_t *slots,
                                     int64_t slot_count) {
  index_keys(keys, count, slots, slot_count);
  return -1;
}

EXPORT int64_t penstock_arrays_places(const int64_t *keys, const int32_t *slots, int64_t slot_count,
                                      const int64_t *wanted, int64_t number, int64_t threads,
                                      int64_t *places) {
  constexpr int64_t kShare = 8192;
  in_parallel((number + kShare - 1) / kShare, threads, [=](int64_t share) {
    const int64_t from = share * kShare, count = std::min(kShare, number - from);
    find_places(keys, slots, slot_count, wanted + from, count, places + from);
  });
  return -1;
}

EXPORT int64_t penstock_arrays_enter(int64_t *keys, int64_t count, int32_t *slots, int64_t slot_count,
                                     const int64_t *wanted, int64_t number, int64_t *places) {
  return enter(keys, count, slots, slot_count, wanted, number, places);
}

EXPORT int64_t penstock_arrays_leave(const int64_t *keys, int32_t *slots, int64_t slot_count,
                                     const int64_t *wanted, int64_t number, int64_t *places) {
  return leave(keys, slots, slot_count, wanted, number, places);
}

EXPORT int64_t penstock_arrays_level(const double *rows, int64_t number, int64_t width, double *out,
                                     int32_t *parts) {
  return with_memory([=]() -> int64_t {
    std::vector<double> totals(static_cast<size_t>(width));
    std::vector<int64_t> sizes(static_cast<size_t>(width));
    for (int64_t i = 0; i < number; ++i)
      level(rows + i * width, width, totals, sizes, out + i * width, parts + i * width);
    return -1;
  });
}

EXPORT int64_t penstock_arrays_ctc(int64_t kind, const void *logits, int64_t time, int64_t batch,
                                   int64_t classes, const int64_t *labels, int64_t number,
                                   const int64_t *splits, const int64_t *lengths, int64_t blank,
                                   int64_t merge, int64_t threads, void *loss, void *gradient) {
  const auto run = [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    const Frames<Element> frames{static_cast<const Element *>(logits), time, batch, classes};
    return ctc(frames, labels, number, splits, splits + 1, lengths, blank, merge, false, false,
               threads, typed, static_cast<Element *>(gradient));
  };
  return kind ? run(static_cast<double *>(loss)) : run(static_cast<float *>(loss));
}

EXPORT int64_t penstock_arrays_ctc_sparse(int64_t kind, const void *logits, int64_t time,
                                          int64_t batch, int64_t classes, const int64_t *indices,
                                          const int32_t *values, int64_t number,
                                          const int32_t *lengths, int64_t blank, int64_t collapse,
                                          int64_t merge, int64_t ignore, int64_t threads, void *loss,
                                          void *gradient) {
  const auto run = [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    const Frames<Element> frames{static_cast<const Element *>(logits), time, batch, classes};
    return with_memory([=] {
      return ctc_sparse(frames, indices, values, number, lengths, blank, collapse, merge, ignore,
                        threads, typed, static_cast<Element *>(gradient));
    });
  };
  return kind ? run(static_cast<double *>(loss)) : run(static_cast<float *>(loss));
}

EXPORT int64_t penstock_arrays_ctc_best(int64_t kind, const void *logits, int64_t time, int64_t batch,
                                        int64_t classes, const int32_t *lengths, int64_t blank,
                                        int64_t merge, int64_t *indices, int64_t *labels,
                                        int64_t *counts, void *scores) {
  const auto run = [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    const Frames<Element> frames{static_cast<const Element *>(logits), time, batch, classes};
    return ctc_best(frames, lengths, blank, merge, indices, labels, counts, typed);
  };
  return kind ? run(static_cast<double *>(scores)) : run(static_cast<float *>(scores));
}

EXPORT int64_t penstock_arrays_ctc_search(const double *frames, int64_t time, int64_t batch,
                                          int64_t classes, const int32_t *lengths, int64_t width,
                                          int64_t paths, int64_t threads, int64_t *labels,
                                          int64_t *counts, double *scores) {
  return ctc_search(frames, time, batch, classes, lengths, width, paths, threads, labels, counts,
                    scores);
}

EXPORT int64_t penstock_arrays_histogram(int64_t kind, const void *values, int64_t number,
                                         const double *limits, int64_t bins, int64_t threads,
                                         int64_t *counts) {
  const auto run = [=](auto *typed) {
    return histograms(typed, number, limits[0], limits[1], bins, threads, counts);
  };
  switch (kind) {
    case 0: return run(static_cast<const float *>(values));
    case 1: return run(static_cast<const double *>(values));
    case 2: return run(static_cast<const int32_t *>(values));
  }
  return run(static_cast<const int64_t *>(values));
}

EXPORT int64_t penstock_arrays_ranges(const void *starts, const void *deltas, int64_t wide,
                                      const int64_t *splits, int64_t rows, void *out) {
  if (wide)
    ranges(static_cast<const uint64_t *>(starts), static_cast<const uint64_t *>(deltas), splits, rows,
           static_cast<uint64_t *>(out));
  else
    ranges(static_cast<const uint32_t *>(starts), static_cast<const uint32_t *>(deltas), splits, rows,
           static_cast<uint32_t *>(out));
  return -1;
}

EXPORT int64_t penstock_arrays_flatten(const void *positions, int64_t wide, int64_t number, int64_t depth,
                                       const int64_t *sizes, int64_t *rows) {
  return wide ? flatten(static_cast<const int64_t *>(positions), number, depth, sizes, rows)
              : flatten(static_cast<const int32_t *>(positions), number, depth, sizes, rows);
}

EXPORT int64_t penstock_arrays_different(const void *numbers, int64_t wide, int64_t count, int64_t rows,
                                         int64_t *own, void *found) {
  return with_memory([=] {
    return wide ? different(static_cast<const int64_t *>(numbers), count, rows, own,
                            static_cast<int64_t *>(found))
                : different(static_cast<const int32_t *>(numbers), count, rows, own,
                            static_cast<int32_t *>(found));
  });
}

EXPORT int64_t penstock_arrays_share(int64_t kind, const void *rows, int64_t number, int64_t width,
                                     const int64_t *sizes, int64_t root, void *out) {
  if (kind == 0)
    share(static_cast<const float *>(rows), number, width, sizes, root, static_cast<float *>(out));
  else
    share(static_cast<const double *>(rows), number, width, sizes, root, static_cast<double *>(out));
  return -1;
}

EXPORT int64_t penstock_arrays_often(const void *numbers, int64_t wide, int64_t count, int64_t rows,
                                     int64_t *sizes) {
  return wide ? often(static_cast<const int64_t *>(numbers), count, rows, sizes)
              : often(static_cast<const int32_t *>(numbers), count, rows, sizes);
}

EXPORT int64_t penstock_arrays_are_splits(const void *splits, int64_t wide, int64_t rows, int64_t total) {
  return (wide ? are_splits(static_cast<const int64_t *>(splits), rows, total)
               : are_splits(static_cast<const int32_t *>(splits), rows, total))
             ? -1
             : 0;
}

EXPORT int64_t penstock_arrays_spread(int64_t kind, const void *rows, int64_t count, int64_t width,
                                      const void *indices, int64_t wide, const void *ids,
                                      int64_t ids_wide, int64_t number, int64_t root, int64_t size,
                                      void *result) {
  const auto run = [=](auto *to, const auto *at) {
    const auto *from = static_cast<const std::remove_pointer_t<decltype(to)> *>(rows);
    return with_memory([=] {
      return ids_wide ? spread(from, count, width, at, static_cast<const int64_t *>(ids), number, root,
                               size, to)
                      : spread(from, count, width, at, static_cast<const int32_t *>(ids), number, root,
                               size, to);
    });
  };
  const auto of = [=](auto *to) {
    return wide ? run(to, static_cast<const int64_t *>(indices))
                : run(to, static_cast<const int32_t *>(indices));
  };
  return kind == 0 ? of(static_cast<float *>(result)) : of(static_cast<double *>(result));
}

EXPORT int64_t penstock_arrays_items_of_rows(const void *splits, int64_t wide, int64_t rows, int64_t total,
                                             int64_t step, int64_t *ids, int64_t *offsets) {
  return wide ? items_of_rows(static_cast<const int64_t *>(splits), rows, total, step, ids, offsets)
              : items_of_rows(static_cast<const int32_t *>(splits), rows, total, step, ids, offsets);
}

EXPORT int64_t penstock_arrays_count_rows(int64_t kind, const int64_t *splits, int64_t rows,
                                          const void *values, int64_t wide, int64_t number,
                                          int64_t size, const void *weights, int64_t binary,
                                          void *result) {
  const auto run = [=](auto *typed) {
    const auto *w = static_cast<const std::remove_pointer_t<decltype(typed)> *>(weights);
    return wide ? count_rows(splits, rows, static_cast<const int64_t *>(values), number, size, w, binary,
                             typed)
                : count_rows(splits, rows, static_cast<const int32_t *>(values), number, size, w, binary,
                             typed);
  };
  switch (kind) {
    case 0: return run(static_cast<float *>(result));
    case 1: return run(static_cast<double *>(result));
    case 2: return run(static_cast<int32_t *>(result));
  }
  return run(static_cast<int64_t *>(result));
}

EXPORT int64_t penstock_arrays_chosen_rows(const void *splits, int64_t wide, int64_t rows, const void *ids,
                                           int64_t ids_wide, int64_t number, void *ends,
                                           int64_t *places) {
  const auto run = [=](const auto *each, auto *to) {
    const auto chosen = [=](const auto *of) -> int64_t {
      if (places == nullptr) return chosen_splits(each, rows, of, number, to);
      chosen_items(each, of, number, places);
      return -1;
    };
    return ids_wide ? chosen(static_cast<const int64_t *>(ids)) : chosen(static_cast<const int32_t *>(ids));
  };
  return wide ? run(static_cast<const int64_t *>(splits), static_cast<int64_t *>(ends))
              : run(static_cast<const int32_t *>(splits), static_cast<int32_t *>(ends));
}

EXPORT int64_t penstock_arrays_range_splits(const void *starts, const void *limits, const void *deltas,
                                            int64_t wide, const int64_t *steps, int64_t rows, int64_t most,
                                            int64_t *splits) {
  const auto run = [=](auto one) {
    using Element = decltype(one);
    const Element *const ends[] = {static_cast<const Element *>(starts),
                                   static_cast<const Element *>(limits),
                                   static_cast<const Element *>(deltas)};
    return range_splits(ends, steps, rows, most, splits);
  };
  return wide ? run(int64_t{0}) : run(int32_t{0});
}

EXPORT int64_t penstock_arrays_fill_rows(const int64_t *ids, int64_t number, int64_t rows, int64_t *places,
                                         bool *empty, int64_t *filled) {
  return with_memory([=] { return fill_rows(ids, number, rows, places, empty, filled); });
}

EXPORT int64_t penstock_arrays_weighted(const int64_t *weights, const int64_t *blocks, int64_t parts,
                                        int64_t size, const int64_t *values, int64_t number,
                                        int64_t *classes) {
  return with_memory([=]() -> int64_t {
    weighted(weights, blocks, parts, size, values, number, classes);
    return -1;
  });
}

EXPORT int64_t penstock_arrays_by_powers(const double *exponents, int64_t number, const double *scale,
                                         int64_t size, int64_t *classes) {
  by_powers(exponents, number, *scale, size, classes);
  return -1;
}

EXPORT int64_t penstock_arrays_far_apart(const float *points, int64_t number, int64_t width,
                                         int64_t count, int64_t tries, const int64_t *first,
                                         const float *uniform, int64_t *places) {
  return with_memory([=]() -> int64_t {
    far_apart(points, number, width, count, tries, first, uniform, places);
    return -1;
  });
}

EXPORT int64_t penstock_arrays_fake_steps(const float *x, int64_t rows, int64_t channels,
                                          const float *steps, int64_t divides, int64_t threads,
                                          float *out) {
  fake_steps(x, rows, Steps(steps, channels), divides != 0, threads, out);
  return -1;
}

EXPORT int64_t penstock_arrays_fake_steps_back(const float *grads, const float *x, int64_t rows,
                                               int64_t channels, const float *steps, int64_t threads,
                                               float *out, float *low, float *high) {
  return with_memory([=] {
    return fake_steps_back(grads, x, rows, Steps(steps, channels), threads, out, low, high);
  });
}

EXPORT int64_t penstock_arrays_sobol(const uint32_t *directions, int64_t dims, int64_t first,
                                     int64_t count, int64_t wide, void *out) {
  if (wide)
    sobol(directions, dims, static_cast<uint64_t>(first), count, static_cast<double *>(out));
  else
    sobol(directions, dims, static_cast<uint64_t>(first), count, static_cast<float *>(out));
  return -1;
}

EXPORT int64_t penstock_arrays_hits(const int64_t *keys, int64_t count, const int64_t *wanted,
                                    int64_t rows, int64_t width, int32_t *hit_rows, int64_t *hit_keys) {
  return with_memory([=] { return hits(keys, count, wanted, rows, width, hit_rows, hit_keys); });
}

EXPORT int64_t penstock_arrays_chain(const float *numbers, const double *uniform, int64_t count) {
  return chain_end(numbers, uniform, count);
}

EXPORT int64_t penstock_arrays_nearer(const float *points, int64_t number, int64_t width,
                                      const float *center, const double *before, double *out) {
  nearer(points, number, width, center, before, out);
  return -1;
}

EXPORT int64_t penstock_arrays_sets(int64_t operation, const int64_t *a_rows, int64_t a_width,
                                    const int64_t *a_values, int64_t a_count, const int64_t *b_rows,
                                    int64_t b_width, const int64_t *b_values, int64_t b_count,
                                    int64_t *places, int64_t *values) {
  return with_memory([=] {
    return set_operation(operation, Sets(a_rows, a_width, a_values, a_count),
                         Sets(b_rows, b_width, b_values, b_count), places, values);
  });
}

EXPORT int64_t penstock_arrays_counts(int64_t kind, const int64_t *rows, int64_t width,
                                      const int64_t *values, int64_t number, const void *weights,
                                      int64_t most, int64_t binary, int64_t *places, void *totals) {
  const auto run = [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    return with_memory([=] {
      return counts_of(rows, width, values, number, static_cast<const Element *>(weights), most,
                       binary, places, typed);
    });
  };
  switch (kind) {
    case 0: return run(static_cast<float *>(totals));
    case 1: return run(static_cast<double *>(totals));
    case 2: return run(static_cast<int32_t *>(totals));
  }
  return run(static_cast<int64_t *>(totals));
}

EXPORT int64_t penstock_arrays_rule(int64_t kind, const void *program, void *slot0, void *slot1,
                                    void *slot2, void *slot3, const void *grad, const void *numbers,
                                    const void *indices, int64_t wide, int64_t height, int64_t rows,
                                    int64_t width, int64_t threads) {
  const RuleProgram &p = *static_cast<const RuleProgram *>(program);
  if (p.slots > kMostSlots || p.slots + 1 + p.numbers + p.steps > kMostValues) return 0;
  if (indices != nullptr) {
    const auto look = wide ? first_beyond<int64_t> : first_beyond<int32_t>;
    const int64_t wrong = look(indices, rows, height);
    if (wrong >= 0) return wrong;
  }
  const auto run = [&](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    const RuleRows<Element> of{{typed, static_cast<Element *>(slot1), static_cast<Element *>(slot2),
                                static_cast<Element *>(slot3)},
                               static_cast<const Element *>(grad), static_cast<const Element *>(numbers),
                               indices, wide, rows, width, width};
    return apply_rule_in_parallel(p, of, threads);
  };
  return kind == 0 ? run(static_cast<float *>(slot0)) : run(static_cast<double *>(slot0));
}

EXPORT int64_t penstock_arrays_pass(int64_t function, int64_t kind, const void *x, const void *y,
                                    const double *number, int64_t count, void *out) {
  const auto run = [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    return pass<Element>(function, static_cast<const Element *>(x), static_cast<const Element *>(y),
                         static_cast<Element>(*number), count, typed);
  };
  return kind == 0 ? run(static_cast<float *>(out)) : run(static_cast<double *>(out));
}

EXPORT int64_t penstock_arrays_choose(const bool *mask, const void *x, const void *y, int64_t size,
                                      int64_t count, void *out) {
  const auto run = [=](auto *typed) {
    using Word = std::remove_pointer_t<decltype(typed)>;
    return choose(mask, static_cast<const Word *>(x), static_cast<const Word *>(y), count, typed);
  };
  switch (size) {
    case 1: return run(static_cast<uint8_t *>(out));
    case 2: return run(static_cast<uint16_t *>(out));
    case 4: return run(static_cast<uint32_t *>(out));
    case 8: return run(static_cast<uint64_t *>(out));
  }
  return 0;
}

EXPORT int64_t penstock_arrays_shift(int64_t kind, const void *rows, int64_t number, int64_t width,
                                     void *shifted) {
  const auto run = [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    return shift_rows(static_cast<const Element *>(rows), number, width, typed);
  };
  return kind == 0 ? run(static_cast<float *>(shifted)) : run(static_cast<double *>(shifted));
}

EXPORT int64_t penstock_arrays_cross(int64_t kind, const void *shifted, const void *sums,
                                     const void *logs, const void *labels, int64_t number,
                                     int64_t width, void *exponentials, void *parts) {
  const auto run = [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    const auto *s = static_cast<const Element *>(shifted), *l = static_cast<const Element *>(labels);
    return cross_rows(s, static_cast<const Element *>(sums), static_cast<const Element *>(logs), l, number,
                      width, typed, static_cast<Element *>(parts));
  };
  return kind == 0 ? run(static_cast<float *>(exponentials)) : run(static_cast<double *>(exponentials));
}

EXPORT int64_t penstock_arrays_cross_classes(int64_t kind, const void *shifted, const void *sums,
                                             const void *logs, const void *labels, int64_t wide,
                                             int64_t number, int64_t width, void *exponentials,
                                             void *losses) {
  const auto run = [=](auto *typed, auto *classes) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    return cross_classes(static_cast<const Element *>(shifted), static_cast<const Element *>(sums),
                         static_cast<const Element *>(logs), classes, number, width, typed,
                         static_cast<Element *>(losses));
  };
  const auto of_labels = [=](auto *typed) {
    return wide != 0 ? run(typed, static_cast<const int64_t *>(labels))
                     : run(typed, static_cast<const int32_t *>(labels));
  };
  return kind == 0 ? of_labels(static_cast<float *>(exponentials))
                   : of_labels(static_cast<double *>(exponentials));
}

EXPORT int64_t penstock_arrays_square_sum(int64_t kind, const void *x, int64_t count, void *sum) {
  if (kind == 0)
    *static_cast<float *>(sum) = square_sum(static_cast<const float *>(x), count);
  else
    *static_cast<double *>(sum) = square_sum(static_cast<const double *>(x), count);
  return -1;
}

EXPORT int64_t penstock_arrays_line(int64_t kind, const void *ends, int64_t count, void *out) {
  const auto run = [=](auto *typed) {
    const auto *given = static_cast<const std::remove_pointer_t<decltype(typed)> *>(ends);
    return line(given[0], given[1], count, typed);
  };
  return kind == 0 ? run(static_cast<float *>(out)) : run(static_cast<double *>(out));
}
