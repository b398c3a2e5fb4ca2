// The handlers of products and convolutions of bfloat16 and bytes. Python asks first whether there is
// a kernel for this processor (`penstock_dot_isa`).
#include "dot_kernels.h"
#include "handling.h"

namespace {

using ffi::AnyBuffer;

penstock::DotKind kind_of(AnyBuffer left) {
  if (left.element_type() == ffi::BF16) return penstock::HALVES;
  return left.element_type() == ffi::U8 ? penstock::UNSIGNED : penstock::SIGNED;
}

void need_types(AnyBuffer left, AnyBuffer right, AnyBuffer to) {
  const auto kind = left.element_type();
  const bool halves = kind == ffi::BF16;
  need(halves || kind == ffi::U8 || kind == ffi::S8, "bfloat16 or bytes");
  need(right.element_type() == (halves ? ffi::BF16 : ffi::S8) &&
           to.element_type() == (halves ? ffi::BF16 : ffi::S32),
       "bfloat16 alone, or signed bytes on the right and 32 bits in the result");
}

ffi::Error run(ffi::ThreadPool pool, penstock::DotJob& job, AnyBuffer left, AnyBuffer right,
               AnyBuffer to) {
  const penstock::DotKernels* kernels = penstock::dot_kernels();
  if (kernels == nullptr)
    return ffi::Error(ffi::ErrorCode::kFailedPrecondition, "no kernel for this processor");
  job.kind = kind_of(left);
  job.left = left.untyped_data();
  job.right = right.untyped_data();
  job.to = to.untyped_data();
  PoolWorkers workers(pool);
  kernels->dot(job, workers);
  return ffi::Error::Success();
}

// a[..., m, k] times b[..., k, n], or b[..., n, k] with adj_b; leading axes are repeated to fit.
ffi::Error dot_product(ffi::ThreadPool pool, AnyBuffer a, AnyBuffer b, bool adj_b,
                       ffi::Result<AnyBuffer> c) {
  ffi::Error problem = ffi::Error::Success();
  const ffi::Error memory = guarded([&] {
    const Dims left = a.dimensions(), right = b.dimensions(), dims = c->dimensions();
    need_types(a, b, *c);
    if (has_none(dims)) return;
    need(!has_none(left), "sums of something");
    auto left_start = starts(left, dims), right_start = starts(right, dims);
    const long m = back(dims, 2), n = back(dims, 1), k = back(left, 1);
    need(back(left, 2) == m && back(right, adj_b ? 1 : 2) == k && back(right, adj_b ? 2 : 1) == n,
         "a product's rows, columns and sums that fit");
    long rows = m, batch = static_cast<long>(left_start.size());
    bool one_right = true;  // then the rows of all left sides follow each other: one product
    for (long i = 0; i < batch; ++i)
      one_right = one_right && right_start[i] == 0 && left_start[i] == i * m * k;
    if (one_right) {
      rows *= batch;
      batch = 1;
    }
    penstock::DotJob job;
    job.conv = {1, k, n, 1, {1, 1, rows}, {1, 1, 1}, {1, 1, rows}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}};
    job.right_row = adj_b ? 1 : n;
    job.right_column = adj_b ? k : 1;
    job.batch = batch;
    job.left_start = left_start.data();
    job.right_start = right_start.data();
    problem = run(pool, job, a, b, *c);
  });
  return memory.failure() ? memory : problem;
}

ffi::Error dot_conv(ffi::ThreadPool pool, AnyBuffer x, AnyBuffer w, Dims window,
                    ffi::Result<AnyBuffer> y) {
  ffi::Error problem = ffi::Error::Success();
  const ffi::Error memory = guarded([&] {
    const long start = 0;
    penstock::DotJob job;
    need_types(x, w, *y);
    job.conv = conv_of(x.dimensions(), w.dimensions(), y->dimensions(), window);
    need(x.dimensions().size() == 4 && job.conv.groups == 1, "one group over two axes");
    job.right_row = job.conv.filters;
    job.right_column = 1;
    job.batch = 1;
    job.left_start = job.right_start = &start;
    problem = run(pool, job, x, w, *y);
  });
  return memory.failure() ? memory : problem;
}

auto two_sides() {
  return ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<AnyBuffer>().Arg<AnyBuffer>();
}

}  // namespace

PENSTOCK_HANDLER(penstock_dot_product, dot_product, two_sides().Attr<bool>("adj_b").Ret<AnyBuffer>());
PENSTOCK_HANDLER(penstock_dot_conv, dot_conv, two_sides().Attr<Dims>("window").Ret<AnyBuffer>());
