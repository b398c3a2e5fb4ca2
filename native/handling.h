// What the files of handlers share: how buffers' dimensions become the kernels' descriptions.
#pragma once

#include <cstdint>
#include <new>
#include <vector>

#include "kernels.h"
#include "workers.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

using penstock::PoolWorkers;
using Dims = ffi::Span<const int64_t>;

template <typename Body>
ffi::Error guarded(Body body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    return ffi::Error(ffi::ErrorCode::kResourceExhausted, "no memory for intermediate values");
  }
  return ffi::Error::Success();
}

// Where each matrix of a batch begins, for an operand whose leading axes are repeated to fit.
inline std::vector<long> starts(Dims operand, Dims result) {
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

// Matrices of a[..., rows, columns] and b, each perhaps transposed; `batch` and where its entries begin
// are left to the caller, and so is the result, of dimensions `dims`.
inline penstock::Product product_of(ffi::Buffer<ffi::F32> a, ffi::Buffer<ffi::F32> b, Dims dims,
                                    bool adj_a, bool adj_b) {
  const Dims left = a.dimensions(), right = b.dimensions();
  const long rows = left[left.size() - 2], cols = left[left.size() - 1];
  const long width = right[right.size() - 1];
  penstock::Product p;
  p.a = a.typed_data();
  p.b = b.typed_data();
  p.m = dims[dims.size() - 2];
  p.n = dims[dims.size() - 1];
  p.k = adj_a ? rows : cols;
  p.a_row = adj_a ? 1 : cols;
  p.a_col = adj_a ? cols : 1;
  p.b_row = adj_b ? 1 : width;
  p.b_col = adj_b ? width : 1;
  return p;
}

// Sizes along the axes that a filter slides over: two or three of `all`, from one on.
inline penstock::Axes axes(Dims all, std::size_t from, std::size_t count) {
  return {count == 3 ? all[from] : 1, all[from + count - 2], all[from + count - 1]};
}

// window: strides, dilations and the pads before, each along the axes that the filter slides over.
inline penstock::Conv conv_of(Dims x, Dims w, Dims y, Dims window) {
  const std::size_t count = x.size() - 2;
  penstock::Conv c;
  c.images = x[0];
  c.channels = x[count + 1];
  c.filters = w[count + 1];
  c.groups = w[count] > 0 ? c.channels / w[count] : 1;
  c.size = axes(x, 1, count);
  c.taps = axes(w, 0, count);
  c.out = axes(y, 1, count);
  c.stride = axes(window, 0, count);
  c.dilation = axes(window, count, count);
  c.pad = axes(window, 2 * count, count);
  if (count == 2) c.pad.z = 0;
  return c;
}

}  // namespace

#define PENSTOCK_HANDLER(name, function, binding)                                        \
  extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* name(XLA_FFI_CallFrame*); \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(name, function, binding)
