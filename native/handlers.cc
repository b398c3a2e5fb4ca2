// The handlers that XLA calls. They check nothing that Python's predicates have checked; sizes come
// from the buffers themselves.
#include <cstdint>
#include <new>
#include <vector>

#include "kernels.h"
#include "workers.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

using penstock::PoolWorkers;
using Floats = ffi::Buffer<ffi::F32>;
using Dims = ffi::Span<const int64_t>;

template <typename Body>
ffi::Error guarded(Body body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    return ffi::Error(ffi::ErrorCode::kResourceExhausted, "no memory for packed panels");
  }
  return ffi::Error::Success();
}

// Where each matrix of a batch begins, for an operand whose leading axes are repeated to fit.
std::vector<long> starts(Dims operand, Dims result) {
  const std::size_t axes = result.size() - 2, own = operand.size() - 2;
  long count = 1;
  for (std::size_t i = 0; i < axes; ++i) count *= result[i];
  std::vector<long> steps(axes, 0);
  long step = operand[own] * operand[own + 1];
  for (std::size_t i = 0; i < own; ++i) {
    const long size = operand[own - 1 - i];
    steps[axes - 1 - i] = size == 1 ? 0 : step;
    step *= size;
  }
  std::vector<long> found(count, 0);
  for (long entry = 0; entry < count; ++entry) {
    long rest = entry, at = 0;
    for (std::size_t i = axes; i-- > 0;) {
      at += rest % result[i] * steps[i];
      rest /= result[i];
    }
    found[entry] = at;
  }
  return found;
}

ffi::Error product(ffi::ThreadPool pool, Floats a, Floats b, bool adj_a, bool adj_b,
                   ffi::Result<Floats> c) {
  return guarded([&] {
    const Dims left = a.dimensions(), right = b.dimensions(), dims = c->dimensions();
    const long rows = left[left.size() - 2], cols = left[left.size() - 1];
    const auto a_start = starts(left, dims), b_start = starts(right, dims);
    penstock::Product p;
    p.a = a.typed_data();
    p.b = b.typed_data();
    p.c = c->typed_data();
    p.m = dims[dims.size() - 2];
    p.n = dims[dims.size() - 1];
    p.k = adj_a ? rows : cols;
    p.a_row = adj_a ? 1 : cols;
    p.a_col = adj_a ? cols : 1;
    const long width = right[right.size() - 1];
    p.b_row = adj_b ? 1 : width;
    p.b_col = adj_b ? width : 1;
    p.batch = static_cast<long>(a_start.size());
    p.a_start = a_start.data();
    p.b_start = b_start.data();
    PoolWorkers workers(pool);
    penstock::best_kernels().product(p, workers);
  });
}

}  // namespace

#define PENSTOCK_HANDLER(name, function, binding)                                        \
  extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* name(XLA_FFI_CallFrame*); \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(name, function, binding)

PENSTOCK_HANDLER(penstock_product, product,
                 ffi::Ffi::Bind()
                     .Ctx<ffi::ThreadPool>()
                     .Arg<Floats>()
                     .Arg<Floats>()
                     .Attr<bool>("adj_a")
                     .Attr<bool>("adj_b")
                     .Ret<Floats>());

// The version of XLA's interface that the handlers were compiled for: 1000 * major + minor.
extern "C" __attribute__((visibility("default"))) int penstock_interface() { return 1000 * XLA_FFI_API_MAJOR + XLA_FFI_API_MINOR; }
