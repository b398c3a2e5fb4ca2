// What handlers of the host's libraries share: rows of arrays of any dtype, and parts of them.
#pragma once

#include <algorithm>

#include "handling.h"

namespace {

using Any = ffi::AnyBuffer;

constexpr long kNumbersAtOnce = 1 << 13;  // of a task

inline long total(Dims dims) {
  long count = 1;
  for (const int64_t size : dims) count *= size;
  return count;
}

inline long width_of(Dims dims) {
  need(dims.size() > 0, "rows");
  return back(dims, 1);
}

inline long rows_of(Dims dims) { return width_of(dims) > 0 ? total(dims) / width_of(dims) : 0; }

// Numbers for each row of `of`, as many as `each`.
inline void need_of_rows(Dims of, Dims numbers, long each) {
  need(total(numbers) == rows_of(of) * each, "a result for each row");
}

inline const char* at(const Any& buffer, long element) {
  return static_cast<const char*>(buffer.untyped_data()) +
         element * static_cast<long>(ffi::ByteWidth(buffer.element_type()));
}

inline char* at(ffi::Result<Any>& buffer, long element) { return const_cast<char*>(at(*buffer, element)); }

inline bool is_wide(const Any& buffer) { return ffi::ByteWidth(buffer.element_type()) == 8; }

// The kinds of arrays.h.
inline int64_t kind_of(const Any& buffer) {
  switch (buffer.element_type()) {
    case ffi::F32: return 0;
    case ffi::F64: return 1;
    case ffi::S32: return 2;
    case ffi::S64: return 3;
    default: throw Unfit{"floats, doubles or integers of 32 or 64 bits"};
  }
}

// Runs body(from, to) for parts of `count` things of `size` numbers each.
template <typename Body>
void in_parts(ffi::ThreadPool pool, long count, long size, const Body& body) {
  struct Parts {
    const Body& body;
    long count, each;
  };
  const long each = std::max(1L, kNumbersAtOnce / std::max(1L, size));
  const Parts parts{body, count, each};
  PoolWorkers workers(pool);
  workers.run((count + each - 1) / each,
              [](const void* given, long task) {
                const Parts& all = *static_cast<const Parts*>(given);
                all.body(task * all.each, std::min(all.count, (task + 1) * all.each));
              },
              &parts);
}

}  // namespace
