// What the functions of arrays.h on sparse tensors, and on dense arrays made of such, call. Part of arrays.cc.
#pragma once

#include <cstdint>
#include <type_traits>

#include "arrays.h"
#include "dense_parts.h"
#include "ragged.h"
#include "rows.h"
#include "sparse_places.h"
#include "threads.h"

using namespace penstock;

EXPORT int64_t penstock_arrays_to_rows(const int64_t *places, int64_t number, int64_t rank,
                                       const int64_t *dims, const void *dense, int64_t size,
                                       int32_t *columns, int32_t *ends, void *values) {
  return with_size<Wide>(size, [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    return to_rows(places, number, RowDims(rank, dims), static_cast<const Element *>(dense), columns,
                   ends, static_cast<Element *>(values));
  });
}

EXPORT int64_t penstock_arrays_from_rows(const int32_t *columns, const int32_t *ends, int64_t rank,
                                         const int64_t *dims, int64_t *places) {
  places_of_rows(columns, ends, RowDims(rank, dims), places);
  return -1;
}

EXPORT int64_t penstock_arrays_dense_rows(const int32_t *columns, const int32_t *ends, int64_t rank,
                                          const int64_t *dims, const void *values, int64_t size,
                                          void *out) {
  return with_size<Wide>(size, [=](auto *typed) -> int64_t {
    using Element = std::remove_pointer_t<decltype(typed)>;
    dense_of_rows(columns, ends, RowDims(rank, dims), static_cast<const Element *>(values),
                  static_cast<Element *>(out));
    return -1;
  });
}

EXPORT int64_t penstock_arrays_bounds(const int64_t *places, int64_t number, int64_t rank, int64_t *low,
                                      int64_t *high) {
  return with_rank(rank, [=](auto known) { return bounds_of_places(places, number, known, low, high); });
}

EXPORT int64_t penstock_arrays_unite(const int64_t *a, int64_t a_count, const int64_t *b,
                                     int64_t b_count, int64_t rank, int64_t *places, int64_t *first,
                                     int64_t *second) {
  return with_rank(rank, [=](auto known) {
    return unite_places(a, a_count, b, b_count, known, places, first, second);
  });
}

EXPORT int64_t penstock_arrays_elements_at(const int64_t *a, int64_t a_count, const int64_t *b,
                                           int64_t b_count, int64_t rank, const void *given, int64_t size,
                                           void *out) {
  return with_word(size, [=](auto *typed) {
    using Word = std::remove_pointer_t<decltype(typed)>;
    return with_rank(rank, [=](auto known) {
      return elements_at_places(a, a_count, b, b_count, known, static_cast<const Word *>(given),
                                static_cast<Word *>(out));
    });
  });
}

EXPORT int64_t penstock_arrays_in_turn(const int64_t *a, int64_t a_count, const int64_t *b, int64_t b_count,
                                       int64_t rank, const int64_t *start, const void *given,
                                       int64_t size, void *out) {
  return with_word(size, [=](auto *typed) {
    using Word = std::remove_pointer_t<decltype(typed)>;
    return with_rank(rank, [=](auto known) {
      return elements_in_turn(a, a_count, b, b_count, known, start, static_cast<const Word *>(given),
                              static_cast<Word *>(out));
    });
  });
}

EXPORT int64_t penstock_arrays_in_box(const int64_t *places, int64_t number, int64_t rank,
                                      const int64_t *start, const int64_t *size, int64_t *moved,
                                      int64_t *numbers) {
  return with_rank(rank, [=](auto known) {
    return places_in_box(places, number, known, start, size, moved, numbers);
  });
}

EXPORT int64_t penstock_arrays_product(int64_t kind, const void *places, int64_t wide, int64_t number,
                                       int64_t row_axis, const void *values, const void *dense,
                                       int64_t inner, int64_t width, void *result, int64_t height) {
  const auto run = [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    const auto *given = static_cast<const Element *>(values), *by = static_cast<const Element *>(dense);
    const auto add = [=](const auto *at) {
      return add_product(at, number, row_axis, given, by, inner, width, typed, height);
    };
    return wide != 0 ? add(static_cast<const int64_t *>(places)) : add(static_cast<const int32_t *>(places));
  };
  return kind == 0 ? run(static_cast<float *>(result)) : run(static_cast<double *>(result));
}

EXPORT int64_t penstock_arrays_mark(int64_t kind, const void *indices, int64_t outer, int64_t depth,
                                    int64_t inner, const void *on, const void *off, int64_t size,
                                    void *out) {
  return with_word(size, [=](auto *typed) {
    using Word = std::remove_pointer_t<decltype(typed)>;
    const Word marked = *static_cast<const Word *>(on), rest = *static_cast<const Word *>(off);
    const auto run = [=](const auto *given) {
      return mark(given, outer, depth, inner, marked, rest, static_cast<Word *>(out));
    };
    switch (kind) {
      case 2: return run(static_cast<const int32_t *>(indices));
      case 3: return run(static_cast<const int64_t *>(indices));
      case 4: return run(static_cast<const int8_t *>(indices));
    }
    return run(static_cast<const uint8_t *>(indices));
  });
}

EXPORT int64_t penstock_arrays_put(const void *places, int64_t wide, int64_t number, int64_t rank,
                                   const int64_t *sizes, int64_t rising, const void *values, int64_t step,
                                   int64_t size, void *out) {
  return with_word(size, [=](auto *typed) {
    using Word = std::remove_pointer_t<decltype(typed)>;
    const auto *given = static_cast<const Word *>(values);
    return with_rank(rank, [=](auto known) {
      const auto run = [=](const auto *at) {
        return put(at, number, known, sizes, rising != 0, given, step, static_cast<Word *>(out));
      };
      return wide != 0 ? run(static_cast<const int64_t *>(places))
                       : run(static_cast<const int32_t *>(places));
    });
  });
}

EXPORT int64_t penstock_arrays_fill_empty_rows(const int64_t *places, int64_t number, int64_t rank,
                                               int64_t rows, const void *values, const void *rest,
                                               int64_t size, int64_t *moved, bool *empty,
                                               int64_t *filled, void *filled_values) {
  return with_memory([=] {
    return with_word(size, [=](auto *typed) {
      using Word = std::remove_pointer_t<decltype(typed)>;
      return fill_empty_rows(places, number, rank, rows, static_cast<const Word *>(values),
                             static_cast<const Word *>(rest), moved, empty, filled,
                             static_cast<Word *>(filled_values));
    });
  });
}

EXPORT int64_t penstock_arrays_part_filled(int64_t kind, const int64_t *places, int64_t number,
                                           const void *grads, int64_t total, void *taken, void *rest) {
  const auto run = [=](auto *typed) {
    using Element = std::remove_pointer_t<decltype(typed)>;
    return with_memory([=] {
      return part_filled(places, number, static_cast<const Element *>(grads), total, typed,
                         static_cast<Element *>(rest));
    });
  };
  return kind == 0 ? run(static_cast<float *>(taken)) : run(static_cast<double *>(taken));
}

EXPORT int64_t penstock_arrays_count_places(int64_t kind, const int64_t *places, int64_t rank, int64_t rows,
                                            const void *values, int64_t wide, int64_t number,
                                            int64_t size, const void *weights, int64_t binary,
                                            void *result) {
  const auto run = [=](auto *typed) {
    const auto *w = static_cast<const std::remove_pointer_t<decltype(typed)> *>(weights);
    const auto count = [=](const auto *of) {
      return count_places(places, rank, rows, of, number, size, w, binary != 0, typed);
    };
    return wide ? count(static_cast<const int64_t *>(values)) : count(static_cast<const int32_t *>(values));
  };
  switch (kind) {
    case 0: return run(static_cast<float *>(result));
    case 1: return run(static_cast<double *>(result));
    case 2: return run(static_cast<int32_t *>(result));
  }
  return run(static_cast<int64_t *>(result));
}
