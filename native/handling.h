// What the files of handlers share: how buffers' dimensions become the kernels' descriptions.
//
// Python's predicates let no call through that a kernel does not serve. A handler looks all the same,
// as its arrays lie in memory of others: `need` says what has to hold.
#pragma once

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "handing.h"
#include "kernels.h"
#include "workers.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

using penstock::PoolWorkers;
using Dims = ffi::Span<const int64_t>;

struct Unfit {
  const char* wanted;
};

inline void need(bool holds, const char* wanted) {
  if (!holds) throw Unfit{wanted};
}

template <typename Body>
ffi::Error guarded(Body body) {
  const penstock::Taken taken;
  try {
    body();
  } catch (const Unfit& unfit) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument,
                      std::string("a call of a native kernel lacks: ") + unfit.wanted);
  } catch (const std::bad_alloc&) {
    return ffi::Error(ffi::ErrorCode::kResourceExhausted, "no memory for intermediate values");
  } catch (const std::length_error&) {
    return ffi::Error(ffi::ErrorCode::kResourceExhausted, "no memory for intermediate values");
  }
  return ffi::Error::Success();
}

inline bool alike(Dims one, Dims other) {
  if (one.size() != other.size()) return false;
  for (std::size_t i = 0; i < one.size(); ++i)
    if (one[i] != other[i]) return false;
  return true;
}

inline bool has_none(Dims dims) {
  for (const int64_t size : dims)
    if (size == 0) return true;
  return false;
}

inline int64_t back(Dims dims, std::size_t from_end) { return dims[dims.size() - from_end]; }

// Where each matrix of a batch begins, for an operand whose leading axes are repeated to fit. The
// result has elements.
inline std::vector<long> starts(Dims operand, Dims result) {
  need(operand.size() >= 2 && operand.size() <= result.size(), "matrices of the result's rank or less");
  const std::size_t axes = result.size() - 2, own = operand.size() - 2;
  for (std::size_t i = 0; i < own; ++i)
    need(operand[i] == 1 || operand[i] == result[i + axes - own], "leading axes that repeat to fit");
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
  need(left.size() >= 2 && right.size() >= 2 && dims.size() >= 2, "matrices");
  const long rows = back(left, 2), cols = back(left, 1), width = back(right, 1);
  need(back(dims, 2) == (adj_a ? cols : rows) && back(right, adj_b ? 1 : 2) == (adj_a ? rows : cols) &&
           back(dims, 1) == back(right, adj_b ? 2 : 1),
       "a product's rows, columns and sums that fit");
  penstock::Product p;
  p.a = a.typed_data();
  p.b = b.typed_data();
  p.m = back(dims, 2);
  p.n = back(dims, 1);
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

const int64_t MOST_STEP = 1 << 30;         // of strides, dilations, pads and windows
const int64_t MOST_SEEN = int64_t{1} << 44;  // floats of an image with its padding

// Floats that a filter sees of an image with its padding: what a task copies is less.
inline __int128 seen_of(const penstock::Conv& c) {
  const long out[] = {c.out.z, c.out.y, c.out.x}, taps[] = {c.taps.z, c.taps.y, c.taps.x};
  const long stride[] = {c.stride.z, c.stride.y, c.stride.x};
  const long dilation[] = {c.dilation.z, c.dilation.y, c.dilation.x};
  __int128 all = c.channels + c.filters;
  for (int i = 0; i < 3 && all < MOST_SEEN; ++i)
    all *= static_cast<__int128>(out[i] - 1) * stride[i] +
           static_cast<__int128>(taps[i] - 1) * dilation[i] + 1;
  return all;
}

// window: strides, dilations and the pads before, each along the axes that the filter slides over.
inline penstock::Conv conv_of(Dims x, Dims w, Dims y, Dims window) {
  need(x.size() == 4 || x.size() == 5, "images over two or three axes");
  need(w.size() == x.size() && y.size() == x.size(), "images and a filter of one rank");
  need(!has_none(x) && !has_none(w) && !has_none(y), "images and a filter that are not empty");
  const std::size_t count = x.size() - 2;
  need(window.size() == 3 * count, "strides, dilations and pads for each axis");
  for (std::size_t i = 0; i < window.size(); ++i)
    need(window[i] >= (i < 2 * count) && window[i] <= MOST_STEP, "steps above, pads from zero on");
  need(x[0] == y[0] && w[count + 1] == y[count + 1], "a result for each image and filter");
  need(x[count + 1] % w[count] == 0 && w[count + 1] % (x[count + 1] / w[count]) == 0,
       "channels and filters in whole groups");
  penstock::Conv c;
  c.images = x[0];
  c.channels = x[count + 1];
  c.filters = w[count + 1];
  c.groups = c.channels / w[count];
  c.size = axes(x, 1, count);
  c.taps = axes(w, 0, count);
  c.out = axes(y, 1, count);
  c.stride = axes(window, 0, count);
  c.dilation = axes(window, count, count);
  c.pad = axes(window, 2 * count, count);
  if (count == 2) c.pad.z = 0;
  need(seen_of(c) < MOST_SEEN, "pads that memory has a place for");
  return c;
}

}  // namespace

#define PENSTOCK_HANDLER(name, function, binding)                                        \
  extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* name(XLA_FFI_CallFrame*); \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(name, function, binding)
