"""Counts of values: `bincount`, histograms, confusion matrices."""

import math
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_arrays
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import Tensor
from penstock.graph.behavior import control_dependencies
from penstock.graph.static_values import constant_value
from penstock.ops import positions
from penstock.ops.composing import composed
from penstock.ops.debug_asserts import to_wait_for
from penstock.ops.math_arithmetic import add_v2
from penstock.ops.math_cast import cast
from penstock.ops.math_reduce import reduce_max
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType, as_dtype

Array = Any  # numpy.ndarray or a JAX tracer


def _size(c: ShapeContext, index: int) -> int | None:
    value = c.constant(index)
    if value is None:
        return None
    size = int(value)
    if size < 0:
        c.fail("size >= 0", f"size ({size}) must be non-negative")
    return size


def _check_weights(c: ShapeContext) -> None:
    weights = c.shape(2)
    count = d.num_elements(weights)
    if count and not d.compatible(c.shape(0), weights):
        c.refuse(
            "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it"
            f" acts as all weights equal to 1. Received {d.bracketed(weights)} for"
            f" {d.bracketed(c.shape(0))}"
        )


def _bincount_shape(c: ShapeContext) -> Dims:
    _check_weights(c)
    return (_size(c, 1),)


def _dense_shape(c: ShapeContext) -> Dims:
    _check_weights(c)
    dims, size = c.shape(0), _size(c, 1)
    if dims is not None and len(dims) not in (1, 2):
        rule = "at most rank 2" if dims else "at least rank 1"
        c.fail(
            "input of rank 1 or 2",
            f"shape {d.text(dims)}: Shape must be {rule} but is rank {len(dims)}",
        )
    return None if dims is None else (*dims[:-1], size)


BINCOUNT = define_op(
    "Bincount(arr: int32, size: int32, weights: T; T: {int32, int64, float, double}) -> bins: T",
    shape=_bincount_shape,
    host_inputs=("size",),
    fallible=True,
    doc="Counts each value from 0 to size - 1, or adds up its weights; larger values are left out.",
).without_gradient("TensorFlow has none: counts are whole numbers")
DENSE_BINCOUNT = define_op(
    "DenseBincount(input: Tidx, size: Tidx, weights: T; Tidx: {int32, int64}, T: {int32, int64, "
    "float, double}, binary_output: bool = False) -> output: T",
    shape=_dense_shape,
    host_inputs=("size",),
    fallible=True,
    doc="Counts values as Bincount does, in a vector or in each row of a matrix.",
).without_gradient("TensorFlow has none: counts are whole numbers")


def _counts_of_vector(ctx: KernelContext, values: Array, size: int, weights: Array) -> Array:
    """Counts of a vector on the host; the native library refuses values below 0 itself."""
    found = _counted(values, size, weights)
    if found is not None:
        return found
    _check_values(ctx, np, values)
    return _counts(np, values, size, weights, False)


def _check_values(ctx: KernelContext, xp: Any, values: Array) -> None:
    least = values.min() if values.size else xp.asarray(0)
    _refuse_value(ctx, least >= 0, least)


def _refuse_value(ctx: KernelContext, ok: Any, value: Any) -> None:
    """Fails the step unless `ok`; `value` is one below 0."""
    ctx.check(
        ok,
        errors.InvalidArgumentError,
        lambda found: f"Input arr must be non-negative! Expected values >= 0, got {found}.",
        value,
    )


def _counts(xp: Any, values: Array, size: int, weights: Array, binary: bool) -> Array:
    """Counts along the last axis, as one scatter over all rows."""
    rows = int(np.prod(values.shape[:-1], dtype=np.int64))
    inside = (values >= 0) & (values < size)
    first = xp.arange(rows, dtype=np.int64).reshape(*values.shape[:-1], 1) * size
    places = xp.where(inside, values + first, rows * size).reshape(-1)
    given = weights.reshape(-1) if weights.size else xp.ones(values.size, weights.dtype)
    flat = xp.zeros(rows * size + 1, weights.dtype)  # the last place takes what is left out
    if binary:
        given = xp.ones(values.size, weights.dtype)
    if xp is np:
        (np.maximum if binary else np.add).at(flat, places, given)
    else:
        flat = flat.at[places].max(given) if binary else flat.at[places].add(given)
    return flat[:-1].reshape(*values.shape[:-1], size)


def _counted(values: Array, size: int, weights: Array) -> Array | None:
    """Counts of a vector, in one pass of the native library where it is in use."""
    add, order = native_arrays.ADD, native_arrays.LARGE_TOO
    if weights.size:
        total = np.zeros(size, weights.dtype)
        return native_arrays.combined(add, weights.reshape(-1), values, total, order)
    sizes, nothing = np.zeros(size, np.int64), np.zeros((size, 0), np.int64)
    rows = np.zeros((values.size, 0), np.int64)
    found = native_arrays.combined(add, rows, values, nothing, order, sizes=sizes)
    return None if found is None else sizes.astype(weights.dtype)


def _compiled_counts(ctx: KernelContext, values: Array, size: int, weights: Array) -> Array:
    """Counts of a vector in compiled code."""
    given = weights.reshape(-1) if weights.size else jnp.ones(values.shape, weights.dtype)
    bins, order = jnp.zeros(size, weights.dtype), native_arrays.LARGE_TOO
    found = positions.combined(native_arrays.ADD, bins, values[:, None], given, order)
    if found is None:
        _check_values(ctx, jnp, values)
        return _counts(jnp, values, size, weights, False)
    _refuse_value(ctx, found[1], values[found[2]])
    return found[0]


@host_kernel(BINCOUNT, limit=1 << 62, available=native_arrays.LIBRARY.is_in_use)
@host_kernel(BINCOUNT)
def _bincount(ctx: KernelContext, arr: Array, size: Array, weights: Array) -> Array:
    return _counts_of_vector(ctx, arr.reshape(-1), int(size), weights)


@compiled_kernel(BINCOUNT)
def _bincount_compiled(ctx: KernelContext, arr: Array, size: Array, weights: Array) -> Array:
    return _compiled_counts(ctx, arr.reshape(-1), int(size), weights)


@host_kernel(DENSE_BINCOUNT)
def _dense_bincount(
    ctx: KernelContext, x: Array, size: Array, weights: Array, *, binary_output: bool
) -> Array:
    if x.ndim == 1 and not binary_output:
        return _counts_of_vector(ctx, x, int(size), weights)
    _check_values(ctx, np, x)
    return _counts(np, x, int(size), weights, binary_output)


@compiled_kernel(DENSE_BINCOUNT)
def _dense_bincount_compiled(
    ctx: KernelContext, x: Array, size: Array, weights: Array, *, binary_output: bool
) -> Array:
    if x.ndim == 1 and not binary_output:
        return _compiled_counts(ctx, x, int(size), weights)
    _check_values(ctx, jnp, x)
    return _counts(jnp, x, int(size), weights, binary_output)


@composed("bincount", result="DenseBincount")
def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dt.int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Any:
    """Counts how often each value occurs, or adds up its weights.

    Args:
      arr: tensor of values >= 0: int32 or int64, or no integers, whose whole parts are counted.
      weights: tensor of the shape of `arr`, or None to count.
      minlength: the least length of the result.
      maxlength: the greatest; larger values are left out.
      dtype: the dtype of counts, when `weights` is None.
      name: the name of the operation in a graph.
      axis: 0 or None to count all elements together, -1 to count in each row of a matrix.
      binary_output: whether to say only if a value occurs (1) or not (0).

    Returns:
      Tensor of `dtype` or of the dtype of `weights`, as long as the largest value plus one.

    Raises:
      ValueError: another axis, or both `weights` and `binary_output`.
      InvalidArgumentError: a negative value.
    """
    if axis not in (None, 0, -1):
        raise ValueError(
            f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported."
        )
    check_exclusive(weights, binary_output)
    values = counted_values(convert_to_tensor(arr))
    kind = values.dtype.base_dtype
    size = length(values, minlength, maxlength, kind)
    if weights is None:
        counted = convert_to_tensor(
            np.zeros(0, as_dtype(dt.int32 if dtype is None else dtype).numpy_dtype)
        )
    else:
        counted = convert_to_tensor(weights)
    if axis != -1:
        values = execute("Reshape", (values, np.array([-1], np.int32)))
        if weights is not None:
            counted = execute("Reshape", (counted, np.array([-1], np.int32)))
    return execute(DENSE_BINCOUNT, (values, size, counted), {"binary_output": binary_output}, name)


def counted_values(values: Any) -> Any:
    """Values as they are counted: whole, in int32 where they are no integers."""
    return values if values.dtype.is_integer else cast(values, dt.int32)


def check_exclusive(weights: Any, binary_output: bool) -> None:
    """Refuses weights where only whether a value occurs is wanted."""
    if weights is not None and binary_output:
        raise ValueError(
            "Arguments `binary_output` and `weights` are mutually exclusive. Expected one of them."
        )


def length(values: Any, least: Any, most: Any, kind: DType) -> Any:
    """The number of bins: the largest value plus one, within bounds that may be None."""
    zero, one = (convert_to_tensor(v, kind) for v in (0, 1))
    empty = execute("Equal", (execute("Size", (values,)), np.int32(0)))
    size = execute("SelectV2", (empty, zero, add_v2(reduce_max(values), one)))
    if least is not None:
        size = execute("Maximum", (size, convert_to_tensor(least, kind)))
    if most is not None:
        size = execute("Minimum", (size, convert_to_tensor(most, kind)))
    return execute("Maximum", (size, zero))


def bincount_v1(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dt.int32,
) -> Any:
    """`bincount` with compat.v1's arguments."""
    return bincount(arr, weights, minlength, maxlength, dtype)


# histograms


def _histogram_shape(c: ShapeContext) -> Dims:
    limits, count = c.shape(1), c.constant(2)
    if limits not in (None, (2,), (None,)):
        c.fail("value_range of shape (2,)", f"shape {d.text(limits)}")
    if count is None:
        return (None,)
    if int(count) <= 0:
        c.fail("nbins > 0", f"nbins should be a positive number, but got '{int(count)}'")
    return (int(count),)


HISTOGRAM = define_op(
    "HistogramFixedWidth(values: T, value_range: T, nbins: int32; T: {int32, int64, float, "
    "double}, dtype: {int32, int64} = int32) -> out: dtype",
    shape=_histogram_shape,
    doc="Counts values in bins of equal width; what lies outside counts in the first or last.",
).not_differentiable("TensorFlow has none: counts are whole numbers")


_IN_CACHE = 1 << 14  # numbers that pass after pass leaves in the processor's cache


@host_kernel(HISTOGRAM)
def _histogram(values: Array, value_range: Array, nbins: Array, *, dtype: DType) -> Array:
    low, high = (float(v) for v in value_range)
    if not low < high:
        raise ValueError(
            f"value_range should satisfy value_range[0] < value_range[1], but got [{low}, {high}]"
        )
    if not math.isfinite(high - low):
        raise ValueError(
            f"HistogramFixedWidth: expected a finite value_range, got [{low}, {high}]. Clip it."
        )
    flat, count = values.reshape(-1), int(nbins)
    if count == 1:  # it has all of them, NaN too
        return np.full(1, flat.size, dtype.numpy_dtype)
    counted = native_arrays.histogram(flat, low, high, count)
    if counted is not None:
        return counted.astype(dtype.numpy_dtype)
    if values.dtype.kind == "f" and np.isnan(np.add.reduce(values, None) if values.size else 0):
        _refuse_nan(values)
    found = np.zeros(count, np.int64)
    for start in range(0, flat.size, _IN_CACHE):
        places = flat[start : start + _IN_CACHE].astype(np.float64)
        places -= low
        places /= high - low
        places *= count
        np.clip(places, 0, count - 1, places)
        found += np.bincount(places.astype(np.intp), minlength=count)
    return found.astype(dtype.numpy_dtype)


def _refuse_nan(values: Array) -> None:
    """Raises where there is one; infinities of both signs have no sum either."""
    if np.isnan(values).any():
        raise ValueError("Histogram values must not contain NaN: drop or replace them first")


@composed("histogram_fixed_width")
def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dt.int32, name: str | None = None
) -> Any:
    """Counts values in bins of equal width.

    Args:
      values: tensor of int32, int64, float32 or float64.
      value_range: the lower and upper end, of the same dtype.
      nbins: the number of bins.
      dtype: int32 or int64.
      name: the name of the operation in a graph.

    Returns:
      Vector of `nbins` counts; what lies outside counts in the first or last bin.

    Raises:
      InvalidArgumentError: the range is empty, or a value is NaN.
    """
    values = convert_to_tensor(values)
    limits = convert_to_tensor(value_range, dtype_hint=values.dtype)
    return execute(HISTOGRAM, (values, limits, nbins), {"dtype": dtype}, name)


def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dt.int32, name: str | None = None
) -> Any:
    """Says in which of several bins of equal width each value lies.

    Args:
      values: tensor of numbers.
      value_range: the lower and upper end, of the same dtype.
      nbins: the number of bins.
      dtype: int32 or int64.
      name: the name of the operation in a graph.

    Returns:
      Tensor of `dtype` and the shape of `values`, from 0 to `nbins` - 1.

    Raises:
      InvalidArgumentError: `nbins` is below 1 (in a graph when it runs, if it is not known before).
    """
    values = convert_to_tensor(values)
    limits = convert_to_tensor(value_range, values.dtype)
    low, high = (execute("GatherV2", (limits, np.int32(i), np.int32(0))) for i in (0, 1))
    shares = (values - low) / (high - low)
    count = convert_to_tensor(nbins, dt.int32)
    with control_dependencies(_checks_of_bins(count)):
        places = execute("Floor", (shares * cast(count, shares.dtype),))
    first, last = convert_to_tensor(0, shares.dtype), cast(count - 1, shares.dtype)
    inside = execute("Minimum", (execute("Maximum", (places, first)), last))
    return cast(inside, dtype, name)


def _checks_of_bins(count: Tensor) -> list[Any]:
    """What tells later that there is a bin; nothing where that is known.

    Raises:
      InvalidArgumentError: there is none.
    """
    known = constant_value(count)
    if known is None:
        some = execute("All", (execute("Greater", (count, 0)), np.arange(count.shape.rank or 0)))
        return to_wait_for(some, ["histogram_fixed_width_bins: expected nbins > 0, got", count])
    if (known < 1).any():
        raise errors.InvalidArgumentError(
            None, None, f"histogram_fixed_width_bins: expected nbins > 0, got {known}."
        )
    return []
