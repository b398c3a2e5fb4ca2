// The handlers of work that host code calls too: special functions (special.h), rows (arrays.h) and
// random numbers (random.h), with the same results. The rows of a call are all but the last axis.
#include <atomic>
#include <new>

#include "arrays.h"
#include "host_handling.h"
#include "random.h"
#include "special.h"

namespace {

// Arguments and result have one shape and dtype.
ffi::Error special(ffi::ThreadPool pool, ffi::RemainingArgs given, std::int32_t number,
                   ffi::Result<Any> y) {
  return guarded([&] {
    need(y->element_type() == ffi::F32 || y->element_type() == ffi::F64, "floats or doubles");
    need(!given.empty() && given.size() == penstock::special_arguments(number),
         "a function, and as many arguments as it has");
    std::vector<Any> inputs;
    for (std::size_t i = 0; i < given.size(); ++i) {
      inputs.push_back(*given.get<Any>(i));
      need(alike(inputs[i].dimensions(), y->dimensions()) &&
               inputs[i].element_type() == y->element_type(),
           "arguments as the result");
    }
    in_parts(pool, total(y->dimensions()), 1, [&](long from, long to) {
      const void* numbers[3];
      const int64_t steps[] = {1, 1, 1};
      for (std::size_t i = 0; i < inputs.size() && i < 3; ++i) numbers[i] = at(inputs[i], from);
      penstock_special_run(number, is_wide(*y), 1, to - from, numbers, steps, at(y, from));
    });
  });
}

// As in_parts, for work that returns -3 where memory runs out, as in arrays.h.
template <typename Work>
void in_parts_with_memory(ffi::ThreadPool pool, long rows, long width, Work work) {
  std::atomic<bool> lacking{false};
  in_parts(pool, rows, width, [&](long from, long to) {
    if (work(from, to) == -3) lacking = true;
  });
  if (lacking) throw std::bad_alloc();
}

ffi::Error top(ffi::ThreadPool pool, Any x, ffi::Result<Any> values,
               ffi::Result<ffi::Buffer<ffi::S64>> places) {
  return guarded([&] {
    const long width = width_of(x.dimensions()), k = width_of(values->dimensions());
    need((x.element_type() == ffi::F32 || x.element_type() == ffi::S32) &&
             values->element_type() == x.element_type(),
         "floats or integers of 32 bits");
    need(k >= 0 && k <= width, "no more than there are in a row");
    need_of_rows(x.dimensions(), values->dimensions(), k);
    need_of_rows(x.dimensions(), places->dimensions(), k);
    in_parts_with_memory(pool, rows_of(x.dimensions()), width, [&](long from, long to) {
      return penstock_arrays_top(kind_of(x), at(x, from * width), to - from, width, k, 1,
                                 at(values, from * k), places->typed_data() + from * k);
    });
  });
}

ffi::Error among(ffi::ThreadPool pool, ffi::Buffer<ffi::F32> x, Any targets,
                 ffi::BufferR0<ffi::S64> k,
                 ffi::Result<ffi::Buffer<ffi::PRED>> found) {
  return guarded([&] {
    const long width = width_of(x.dimensions());
    need(targets.element_type() == ffi::S32 || targets.element_type() == ffi::S64,
         "targets of 32 or 64 bits");
    need_of_rows(x.dimensions(), targets.dimensions(), 1);
    need_of_rows(x.dimensions(), found->dimensions(), 1);
    in_parts(pool, rows_of(x.dimensions()), width, [&](long from, long to) {
      penstock_arrays_among(x.typed_data() + from * width, to - from, width, at(targets, from),
                            is_wide(targets), *k.typed_data(), found->typed_data() + from);
    });
  });
}

ffi::Error extreme(ffi::ThreadPool pool, Any x, bool least,
                   ffi::Result<ffi::Buffer<ffi::S64>> places) {
  return guarded([&] {
    const long width = width_of(x.dimensions());
    const int64_t kind = kind_of(x);
    need_of_rows(x.dimensions(), places->dimensions(), 1);
    in_parts(pool, rows_of(x.dimensions()), width, [&](long from, long to) {
      penstock_arrays_extreme(kind, at(x, from * width), to - from, width, least,
                              places->typed_data() + from);
    });
  });
}

ffi::Error nth(ffi::ThreadPool pool, Any x, std::int64_t place, ffi::Result<Any> values) {
  return guarded([&] {
    const long width = width_of(x.dimensions());
    const int64_t kind = kind_of(x);
    need(values->element_type() == x.element_type(), "a result of the array's dtype");
    need_of_rows(x.dimensions(), values->dimensions(), 1);
    need(total(x.dimensions()) == 0 || (place >= 0 && place < width), "a place in a row");
    in_parts_with_memory(pool, rows_of(x.dimensions()), width, [&](long from, long to) {
      return penstock_arrays_nth(kind, at(x, from * width), to - from, width, place,
                                 at(values, from));
    });
  });
}

// The stream is a key and the halves of its first counter; the rows of the result are groups.
ffi::Error truncated(ffi::ThreadPool pool, ffi::Buffer<ffi::U64> stream, std::int64_t reserved,
                     ffi::Result<Any> y) {
  return guarded([&] {
    const uint64_t *of = stream.typed_data();
    const long width = width_of(y->dimensions());
    need(stream.element_count() == 3, "a key and a counter");
    need((y->element_type() == ffi::F32 && width == 4) || (y->element_type() == ffi::F64 && width == 2),
         "groups of four floats or two doubles");
    need(reserved > 0 && reserved <= 1 << 30, "blocks for each group");
    in_parts(pool, rows_of(y->dimensions()), width, [&](long from, long to) {
      const uint64_t before = static_cast<uint64_t>(from) * static_cast<uint64_t>(reserved);
      const uint64_t low = of[1] + before, high = of[2] + (low < before);
      penstock_random_truncated(of[0], low, high, to - from, reserved, is_wide(*y), 1,
                                at(y, from * width));
    });
  });
}

// As `truncated` is given its stream: the numbers of the result's places in random order.
ffi::Error order(ffi::Buffer<ffi::U64> stream, ffi::Result<ffi::BufferR1<ffi::S64>> y) {
  return guarded([&] {
    const uint64_t *of = stream.typed_data();
    const int64_t count = y->dimensions()[0];
    need(stream.element_count() == 3, "a key and a counter");
    need(count >> 32 == 0, "places that a word can name");
    penstock_random_order(of[0], of[1], of[2], count, y->typed_data());
  });
}

// Diagonals [..., n] and dense matrices [..., n, k]; matrices are shared out.
ffi::Error tridiagonal_product(ffi::ThreadPool pool, Any high, Any main, Any low, Any dense, ffi::Result<Any> out) {
  return guarded([&] {
    const Dims dims = dense.dimensions();
    need(dims.size() >= 2 && (out->element_type() == ffi::F32 || out->element_type() == ffi::F64),
         "matrices of floats or doubles");
    const long k = back(dims, 1), n = back(dims, 2), size = n * k, count = size > 0 ? total(dims) / size : 0;
    need(dense.element_type() == out->element_type() && alike(dims, out->dimensions()), "a result as the factor");
    for (const Any* each : {&high, &main, &low})
      need(each->element_type() == out->element_type() && total(each->dimensions()) * k == total(dims),
           "a number of each diagonal for each row");
    in_parts(pool, count, size, [&](long from, long to) {
      penstock_arrays_tridiagonal_product(kind_of(dense), at(high, from * n), at(main, from * n), at(low, from * n),
                                          at(dense, from * size), to - from, n, k, 1, at(out, from * size));
    });
  });
}

}  // namespace

PENSTOCK_HANDLER(penstock_special, special,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .RemainingArgs()
                     .Attr<std::int32_t>("number")
                     .Ret<Any>());
PENSTOCK_HANDLER(penstock_top, top,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<Any>()
                     .Ret<Any>()
                     .Ret<ffi::Buffer<ffi::S64>>());
PENSTOCK_HANDLER(penstock_among, among,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<ffi::Buffer<ffi::F32>>()
                     .Arg<Any>()
                     .Arg<ffi::BufferR0<ffi::S64>>()
                     .Ret<ffi::Buffer<ffi::PRED>>());
PENSTOCK_HANDLER(penstock_extreme, extreme,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<Any>()
                     .Attr<bool>("least")
                     .Ret<ffi::Buffer<ffi::S64>>());
PENSTOCK_HANDLER(penstock_nth, nth,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<Any>()
                     .Attr<std::int64_t>("place")
                     .Ret<Any>());
PENSTOCK_HANDLER(penstock_truncated, truncated,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<ffi::Buffer<ffi::U64>>()
                     .Attr<std::int64_t>("reserved")
                     .Ret<Any>());
PENSTOCK_HANDLER(penstock_order, order,
                 ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::U64>>().Ret<ffi::BufferR1<ffi::S64>>());
PENSTOCK_HANDLER(penstock_tridiagonal_product, tridiagonal_product,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<Any>()
                     .Arg<Any>()
                     .Arg<Any>()
                     .Arg<Any>()
                     .Ret<Any>());
