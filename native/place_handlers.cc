// The handlers of positions (places.h): whether all are inside, the rows that stand at them, values that are put there,
// rows that are combined with these and products of matrices with values at some (arrays.h).
#include <atomic>

#include "arrays.h"
#include "host_handling.h"
#include "places.h"

namespace {

using Whole = ffi::BufferR0<ffi::S64>;

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

// The first place of those that tasks found.
class First {
 public:
  void found(int64_t place) {
    int64_t before = first_.load(std::memory_order_relaxed);
    while (place < before && !first_.compare_exchange_weak(before, place)) {
    }
  }
  int64_t place() const { return first_ == kNone ? -1 : first_.load(); }

 private:
  std::atomic<int64_t> first_{kNone};
};

void need_integers(const Any& positions) {
  need(positions.element_type() == ffi::S32 || positions.element_type() == ffi::S64,
       "positions of 32 or 64 bits");
}

// The last axis of the positions has a number for each size.
ffi::Error outside(ffi::ThreadPool pool, Any positions, Dims sizes, bool below,
                   ffi::Result<Whole> first) {
  return guarded([&] {
    const long depth = width_of(positions.dimensions());
    need_integers(positions);
    need(depth > 0 && sizes.size() == static_cast<std::size_t>(depth), "a size for each number");
    First where;
    in_parts(pool, rows_of(positions.dimensions()), depth, [&](long from, long to) {
      const char* begin = at(positions, from * depth);
      const int64_t place =
          is_wide(positions)
              ? penstock::first_outside(reinterpret_cast<const int64_t*>(begin), to - from, depth,
                                        sizes.begin(), below)
              : penstock::first_outside(reinterpret_cast<const int32_t*>(begin), to - from, depth,
                                        sizes.begin(), below);
      if (place >= 0) where.found(from + place);
    });
    *first->typed_data() = where.place();
  });
}

template <typename Element>
int64_t take(const Any& from, const Any& positions, long begin, long end, long depth,
             const int64_t* sizes, long width, char* out) {
  const auto* rows = static_cast<const Element*>(from.untyped_data());
  const char* places = at(positions, begin * depth);
  auto* written = reinterpret_cast<Element*>(out);
  return is_wide(positions)
             ? penstock::take_rows(rows, reinterpret_cast<const int64_t*>(places), end - begin, depth,
                                   sizes, width, written)
             : penstock::take_rows(rows, reinterpret_cast<const int32_t*>(places), end - begin, depth,
                                   sizes, width, written);
}

// Positions are in the first axes of `from`, as many as their last axis has numbers.
ffi::Error taken(ffi::ThreadPool pool, Any from, Any positions, ffi::Result<Any> out,
                 ffi::Result<Whole> first) {
  return guarded([&] {
    const Dims dims = from.dimensions();
    const long depth = width_of(positions.dimensions()), count = rows_of(positions.dimensions());
    need_integers(positions);
    need(depth > 0 && static_cast<std::size_t>(depth) <= dims.size(), "an axis for each number");
    need(out->element_type() == from.element_type(), "a result of the array's dtype");
    long width = 1;
    for (std::size_t axis = depth; axis < dims.size(); ++axis) width *= dims[axis];
    need(total(out->dimensions()) == count * width, "a row for each position");
    const long bytes = static_cast<long>(ffi::ByteWidth(from.element_type()));
    need(bytes > 0, "elements of whole bytes");
    First where;
    in_parts(pool, count, std::max(width, depth), [&](long begin, long end) {
      char* to = at(out, begin * width);
      int64_t place = -1;
      switch (bytes) {
        case 4: place = take<uint32_t>(from, positions, begin, end, depth, dims.begin(), width, to); break;
        case 8: place = take<uint64_t>(from, positions, begin, end, depth, dims.begin(), width, to); break;
        case 2: place = take<uint16_t>(from, positions, begin, end, depth, dims.begin(), width, to); break;
        default:
          place = take<uint8_t>(from, positions, begin, end, depth, dims.begin(), width * bytes, to);
      }
      if (place >= 0) where.found(begin + place);
    });
    *first->typed_data() = where.place();
  });
}

constexpr int64_t kLargest = 8, kDivided = 5;  // operations of penstock_arrays_combine

// What combines updates with the rows of `out` at positions in its first `depth` axes.
struct Combination {
  int64_t operation, kind, order;
  std::vector<int64_t> sizes;
  long count, width;
  char* out;
  Any positions, updates;

  int64_t combine(const void* ids, bool wide, long from, long number, int64_t of) const {
    return penstock_arrays_combine(operation, kind, at(updates, from * width), width, nullptr, 0, number,
                                   ids, wide, number, of, count, out, nullptr);
  }

  // The first position that is outside, -1 without one; some at a time are brought to numbers of rows.
  int64_t run(long number) const {
    const long depth = static_cast<long>(sizes.size());
    if (depth == 1) return combine(positions.untyped_data(), is_wide(positions), 0, number, order);
    constexpr long kAtOnce = 1024;
    int64_t rows[kAtOnce];
    for (long from = 0; from < number; from += kAtOnce) {
      const long some = std::min(kAtOnce, number - from);
      const int64_t place = penstock_arrays_flatten(at(positions, from * depth), is_wide(positions), some,
                                                    depth, sizes.data(), rows);
      if (place >= 0) return from + place;
      combine(rows, true, from, some, 0);
    }
    return -1;
  }
};

// `order` is that of penstock_arrays_combine: 0, or 2 or 3 for positions of one number. Where a position is
// outside, the result holds anything.
ffi::Error combined(Any base, Any positions, Any updates, std::int64_t operation, std::int64_t order,
                    ffi::Result<Any> out, ffi::Result<Whole> first) {
  return guarded([&] {
    const Dims dims = out->dimensions();
    const long depth = width_of(positions.dimensions()), number = rows_of(positions.dimensions());
    need_integers(positions);
    need(depth > 0 && static_cast<std::size_t>(depth) <= dims.size(), "an axis for each number");
    need(operation >= 0 && operation <= kLargest && operation != kDivided, "an operation on rows");
    need(order == 0 || (depth == 1 && (order == 2 || order == 3)), "an order of single numbers");
    need(alike(base.dimensions(), dims) && base.element_type() == out->element_type() &&
             updates.element_type() == out->element_type(),
         "arrays of the result's dtype, one of its shape");
    long count = 1, width = 1;
    for (long axis = 0; axis < depth; ++axis) count *= dims[axis];
    for (std::size_t axis = depth; axis < dims.size(); ++axis) width *= dims[axis];
    need(total(updates.dimensions()) == number * width, "a row for each position");
    if (base.untyped_data() != out->untyped_data())
      std::memcpy(out->untyped_data(), base.untyped_data(), base.size_bytes());
    const Combination work{operation, kind_of(base), order, {dims.begin(), dims.begin() + depth},
                           count,     width,         at(out, 0), positions, updates};
    *first->typed_data() = work.run(number);
  });
}

// What is put at positions, by the dtypes of both.
struct Put {
  Any positions, values;
  Dims sizes;
  bool rising;
  char* out;

  template <typename Index, typename Word, typename Rank>
  penstock::Misplaced run(long from, long to, Rank rank) const {
    const int64_t step = total(values.dimensions()) == 1 ? 0 : 1;
    return penstock::put_at(static_cast<const Index*>(positions.untyped_data()), from, to, rank, sizes.begin(), rising,
                            static_cast<const Word*>(values.untyped_data()), step, reinterpret_cast<Word*>(out));
  }

  template <typename Index, typename Word>
  penstock::Misplaced run(long from, long to) const {
    if (sizes.size() == 2) return run<Index, Word>(from, to, std::integral_constant<int64_t, 2>());
    return run<Index, Word>(from, to, static_cast<int64_t>(sizes.size()));
  }

  template <typename Word>
  penstock::Misplaced run(long from, long to) const {
    return is_wide(positions) ? run<int64_t, Word>(from, to) : run<int32_t, Word>(from, to);
  }
};

// Values, or one for all, at positions in all axes of an array that holds `rest` elsewhere; positions that must rise
// are shared out. Where they need not, the last of equal ones stays. The first that is outside, and without one the
// first that does not rise.
ffi::Error put(ffi::ThreadPool pool, Any positions, Any values, Any rest, bool rising, ffi::Result<Any> out,
               ffi::Result<Whole> outside, ffi::Result<Whole> unsorted) {
  return guarded([&] {
    const Dims dims = out->dimensions();
    const long depth = width_of(positions.dimensions()), number = rows_of(positions.dimensions());
    need_integers(positions);
    need(depth > 0 && static_cast<std::size_t>(depth) == dims.size(), "a number for each axis");
    need(values.element_type() == out->element_type() && rest.element_type() == out->element_type(),
         "values of the result's dtype");
    need(total(rest.dimensions()) == 1, "one number for all other places");
    need(total(values.dimensions()) == number || total(values.dimensions()) == 1, "a value for each position");
    First beyond, falling;
    const Put work{positions, values, dims, rising, at(out, 0)};
    const auto run = [&](auto word) {
      using Word = decltype(word);
      const Word filler = *static_cast<const Word*>(rest.untyped_data());
      in_parts(pool, total(dims), 1, [&](long from, long to) {
        std::fill(reinterpret_cast<Word*>(at(out, from)), reinterpret_cast<Word*>(at(out, to)), filler);
      });
      const auto part = [&](long from, long to) {
        const penstock::Misplaced wrong = work.run<Word>(from, to);
        if (wrong.outside >= 0) beyond.found(wrong.outside);
        if (wrong.unsorted >= 0) falling.found(wrong.unsorted);
      };
      rising ? in_parts(pool, number, depth, part) : part(0, number);
    };
    switch (ffi::ByteWidth(out->element_type())) {
      case 1: run(uint8_t{}); break;
      case 2: run(uint16_t{}); break;
      case 4: run(uint32_t{}); break;
      case 8: run(uint64_t{}); break;
      default: throw Unfit{"elements of 1, 2, 4 or 8 bytes"};
    }
    *outside->typed_data() = beyond.place();
    *unsorted->typed_data() = beyond.place() >= 0 ? -1 : falling.place();
  });
}

// A sparse matrix, [height, inner] or with `turned` [inner, height], times a dense one.
struct SparseProduct {
  Any places, values, dense;
  bool turned;
  long number, height, inner, width;
  char* out;

  int64_t row(long i) const {
    const long entry = 2 * i + turned;
    return is_wide(places) ? *reinterpret_cast<const int64_t*>(at(places, entry))
                           : *reinterpret_cast<const int32_t*>(at(places, entry));
  }

  // The first place from `from` on that begins a row, where rows never fall.
  long begin(long from) const {
    if (from <= 0 || from >= number) return from;
    const int64_t before = row(from - 1);
    long to = number;
    while (from < to) {
      const long middle = from + (to - from) / 2;
      if (row(middle) > before)
        to = middle;
      else
        from = middle + 1;
    }
    return from;
  }

  void add(long from, long to) const {
    if (to > from)
      penstock_arrays_product(is_wide(values), at(places, 2 * from), is_wide(places), to - from, turned,
                              at(values, from), dense.untyped_data(), inner, width, out, height);
  }

  // Whether rows never fall from the one before `from` on; notes a place that is outside.
  bool look(long from, long to, First& where) const {
    const int64_t sizes[] = {turned ? inner : height, turned ? height : inner};
    const char* begin = at(places, 2 * from);
    const int64_t place = is_wide(places)
                              ? penstock::first_outside(reinterpret_cast<const int64_t*>(begin), to - from,
                                                        2, sizes, false)
                              : penstock::first_outside(reinterpret_cast<const int32_t*>(begin), to - from,
                                                        2, sizes, false);
    if (place >= 0) where.found(from + place);
    bool rising = true;
    for (long i = std::max(from, 1L); i < to; ++i) rising &= row(i) >= row(i - 1);
    return rising;
  }
};

// Rows that never fall are shared out; each is summed in the order of its places in any case.
ffi::Error sparse_product(ffi::ThreadPool pool, Any places, Any values, Any dense, bool turned,
                          ffi::Result<Any> out, ffi::Result<Whole> first) {
  return guarded([&] {
    const Dims dims = out->dimensions(), right = dense.dimensions();
    const long number = total(values.dimensions());
    need_integers(places);
    need(width_of(places.dimensions()) == 2 && rows_of(places.dimensions()) == number, "a place for each value");
    need(dims.size() == 2 && right.size() == 2 && dims[1] == right[1], "matrices of the same width");
    need((out->element_type() == ffi::F32 || out->element_type() == ffi::F64) &&
             values.element_type() == out->element_type() && dense.element_type() == out->element_type(),
         "floats or doubles");
    const SparseProduct work{places, values, dense, turned, number, dims[0], right[0], dims[1], at(out, 0)};
    std::memset(out->untyped_data(), 0, out->size_bytes());
    First where;
    std::atomic<bool> rising{true};
    in_parts(pool, number, 2, [&](long from, long to) {
      if (!work.look(from, to, where)) rising.store(false, std::memory_order_relaxed);
    });
    *first->typed_data() = where.place();
    if (where.place() >= 0) return;
    if (!rising) return work.add(0, number);
    in_parts(pool, number, work.width, [&](long from, long to) { work.add(work.begin(from), work.begin(to)); });
  });
}

}  // namespace

PENSTOCK_HANDLER(penstock_outside, outside,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<Any>()
                     .Attr<Dims>("sizes")
                     .Attr<bool>("below")
                     .Ret<Whole>());
PENSTOCK_HANDLER(penstock_taken, taken,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<Any>()
                     .Arg<Any>()
                     .Ret<Any>()
                     .Ret<Whole>());
PENSTOCK_HANDLER(penstock_combined, combined,
                 ffi::Ffi::Bind()
                     .Arg<Any>()
                     .Arg<Any>()
                     .Arg<Any>()
                     .Attr<std::int64_t>("operation")
                     .Attr<std::int64_t>("order")
                     .Ret<Any>()
                     .Ret<Whole>());
PENSTOCK_HANDLER(penstock_sparse_product, sparse_product,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<Any>()
                     .Arg<Any>()
                     .Arg<Any>()
                     .Attr<bool>("turned")
                     .Ret<Any>()
                     .Ret<Whole>());
PENSTOCK_HANDLER(penstock_put, put,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<Any>()
                     .Arg<Any>()
                     .Arg<Any>()
                     .Attr<bool>("rising")
                     .Ret<Any>()
                     .Ret<Whole>()
                     .Ret<Whole>());
