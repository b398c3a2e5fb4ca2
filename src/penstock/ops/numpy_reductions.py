"""Reductions, scans and statistics of `tf.experimental.numpy`."""

from collections.abc import Callable
from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.ops import math_arithmetic, math_cast, math_compare, math_division
from penstock.ops import math_reduce as reduce
from penstock.ops import math_scan as scan
from penstock.ops.array_basics import reshape
from penstock.ops.array_fill import ones_like
from penstock.ops.array_select import where
from penstock.ops.array_shape import broadcast_to, rank
from penstock.ops.conditionals import cond
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import equal
from penstock.ops.math_elementwise import sqrt
from penstock.ops.numpy_dtypes import (
    Value,
    as_tensor,
    default_int,
    positive_axis,
    promoted,
    tensor_dtype,
    to_inexact,
)
from penstock.ops.numpy_elementwise import as_bool, isclose
from penstock.ops.numpy_elementwise import isnan as _isnan
from penstock.ops.numpy_ranks import any_rank, numbers_to, sizes_of
from penstock.types import dtypes
from penstock.types.dtypes import as_dtype

Axis = Any  # any: an integer, a tuple of integers, or None for all axes
Function = Callable[..., Any]


def _no_out(name: str, out: Any) -> None:
    if out is not None:
        raise ValueError(
            f"{name}: expected out=None, got {out!r}. Tensors are not written to; take the result."
        )


def _summed(x: Any, dtype: Any) -> Any:
    """As sums and products begin: integers are as wide as `default_int`, or a dtype is given."""
    if dtype is not None:
        return cast(x, tensor_dtype(dtype))
    wide = default_int()
    if not (x.dtype.is_bool or x.dtype.is_integer) or x.dtype.size > wide.size:
        return x
    return cast(x, as_dtype(f"u{wide.name}") if x.dtype.is_unsigned else wide)


def _on_bools(bools: Function, others: Function) -> Function:
    def function(x: Any, axis: Axis, keepdims: Any) -> Any:
        return (bools if x.dtype.is_bool else others)(x, axis=axis, keepdims=bool(keepdims))

    return function


_largest = _on_bools(reduce.reduce_any, reduce.reduce_max)
_smallest = _on_bools(reduce.reduce_all, reduce.reduce_min)


def all(a: Value, axis: Axis = None, keepdims: bool | None = None) -> Any:
    """Whether all elements are nonzero.

    Args:
      a: a tensor, array, number or list.
      axis: the axes to reduce.
      keepdims: keeps them with size 1.

    Returns:
      A bool tensor.
    """
    return reduce.reduce_all(as_bool(as_tensor(a)), axis=axis, keepdims=bool(keepdims))


def any(a: Value, axis: Axis = None, keepdims: bool | None = None) -> Any:
    """Whether an element is nonzero.

    Args:
      a: a tensor, array, number or list.
      axis: the axes to reduce.
      keepdims: keeps them with size 1.

    Returns:
      A bool tensor.
    """
    return reduce.reduce_any(as_bool(as_tensor(a)), axis=axis, keepdims=bool(keepdims))


def allclose(
    a: Value, b: Value, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Any:
    """Whether all elements are close; see `isclose`.

    Args:
      a: a tensor, array, number or list.
      b: another.
      rtol: relative tolerance.
      atol: absolute tolerance.
      equal_nan: whether two NaNs are close.

    Returns:
      bool[].
    """
    return reduce.reduce_all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Value, a2: Value) -> Any:
    """Whether shapes and elements are equal.

    Args:
      a1: a tensor, array, number or list.
      a2: another.

    Returns:
      bool[].
    """
    x, y = promoted(a1, a2)
    if x.dims is not None and y.dims is not None and not x.shape.is_compatible_with(y.shape):
        return convert_to_tensor(False)
    return reduce.reduce_all(math_compare.equal(x, y))


def max(a: Value, axis: Axis = None, keepdims: bool | None = None) -> Any:
    """The largest element.

    Args:
      a: a tensor, array, number or list.
      axis: the axes to reduce.
      keepdims: keeps them with size 1.

    Returns:
      A tensor of the same dtype.
    """
    return _largest(as_tensor(a), axis, keepdims)


def min(a: Value, axis: Axis = None, keepdims: bool | None = None) -> Any:
    """The smallest element.

    Args:
      a: a tensor, array, number or list.
      axis: the axes to reduce.
      keepdims: keeps them with size 1.

    Returns:
      A tensor of the same dtype.
    """
    return _smallest(as_tensor(a), axis, keepdims)


def amax(a: Value, axis: Axis = None, out: Any = None, keepdims: bool | None = None) -> Any:
    """The largest element.

    Args:
      a: a tensor, array, number or list.
      axis: the axes to reduce.
      out: must be None.
      keepdims: keeps them with size 1.

    Returns:
      A tensor of the same dtype.
    """
    _no_out("amax", out)
    return max(a, axis, keepdims)


def amin(a: Value, axis: Axis = None, out: Any = None, keepdims: bool | None = None) -> Any:
    """The smallest element.

    Args:
      a: a tensor, array, number or list.
      axis: the axes to reduce.
      out: must be None.
      keepdims: keeps them with size 1.

    Returns:
      A tensor of the same dtype.
    """
    _no_out("amin", out)
    return min(a, axis, keepdims)


def ptp(a: Value, axis: Axis = None, keepdims: bool | None = None) -> Any:
    """The largest element less the smallest.

    Args:
      a: a tensor, array, number or list.
      axis: the axes to reduce.
      keepdims: keeps them with size 1.

    Returns:
      A tensor of the same dtype.
    """
    return math_arithmetic.subtract(max(a, axis, keepdims), min(a, axis, keepdims))


def sum(a: Value, axis: Axis = None, dtype: Any = None, keepdims: bool | None = None) -> Any:
    """The sum.

    Args:
      a: a tensor, array, number or list.
      axis: the axes to reduce.
      dtype: what to add in; by default integers and bools are added in 64 bits.
      keepdims: keeps them with size 1.

    Returns:
      A tensor.

    Example:
      >>> sum([True, True]).numpy().item()
      2
    """
    return reduce.reduce_sum(_summed(as_tensor(a), dtype), axis=axis, keepdims=bool(keepdims))


def prod(a: Value, axis: Axis = None, dtype: Any = None, keepdims: bool | None = None) -> Any:
    """The product.

    Args:
      a: a tensor, array, number or list.
      axis: the axes to reduce.
      dtype: what to multiply in; by default integers and bools are multiplied in 64 bits.
      keepdims: keeps them with size 1.

    Returns:
      A tensor.
    """
    return reduce.reduce_prod(_summed(as_tensor(a), dtype), axis=axis, keepdims=bool(keepdims))


def mean(
    a: Value, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: bool | None = None
) -> Any:
    """The mean.

    Args:
      a: a tensor, array, number or list.
      axis: the axes to reduce.
      dtype: of the result; float64 for integers by default.
      out: must be None.
      keepdims: keeps them with size 1.

    Returns:
      A tensor.
    """
    _no_out("mean", out)
    tensor = as_tensor(a)
    x = to_inexact(tensor) if dtype is None else cast(tensor, tensor_dtype(dtype))
    return reduce.reduce_mean(x, axis=axis, keepdims=bool(keepdims))


def var(
    a: Value,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool | None = None,
    *,
    correction: float | None = None,
) -> Any:
    """The variance.

    Args:
      a: a tensor, array, number or list.
      axis: the axes to reduce.
      dtype: of the result, and what to compute in where it can hold the elements; float64 for
        integers by default.
      out: must be None.
      ddof: taken from the number of elements before dividing by it.
      keepdims: keeps them with size 1.
      correction: the standard's name for `ddof`.

    Returns:
      A real tensor, or one of `dtype`.

    Raises:
      TypeError: `a` and `dtype` are both of integers.
    """
    _no_out("var", out)
    x, wanted = _spread_dtypes(as_tensor(a), dtype)
    deviation = math_arithmetic.subtract(x, reduce.reduce_mean(x, axis=axis, keepdims=True))
    size = math_cast.abs(deviation)
    squares = math_arithmetic.multiply(size, size)
    total = reduce.reduce_sum(squares, axis=axis, keepdims=bool(keepdims))
    ones = reduce.reduce_sum(ones_like(squares), axis=axis, keepdims=bool(keepdims))
    count = math_arithmetic.subtract(
        ones, as_tensor(ddof if correction is None else correction, ones.dtype)
    )
    found = math_division.divide(total, count)
    return found if wanted is None else cast(found, wanted)


def _spread_dtypes(x: Any, dtype: Any) -> tuple[Any, Any]:
    """The elements in the dtype that a variance is computed in, and the dtype that is asked for."""
    if dtype is None:
        return to_inexact(x), None
    wanted = tensor_dtype(dtype)
    if wanted.is_complex or (wanted.is_floating and not x.dtype.is_complex):
        return cast(x, wanted), wanted
    if x.dtype.is_floating or x.dtype.is_complex:
        return x, wanted
    raise TypeError(
        f"var: expected a float or complex dtype for elements of {x.dtype.name}, got {wanted.name}."
        " Leave dtype out, or cast the result."
    )


def std(a: Value, axis: Axis = None, keepdims: bool | None = None, *, correction: float = 0) -> Any:
    """The standard deviation.

    Args:
      a: a tensor, array, number or list.
      axis: the axes to reduce.
      keepdims: keeps them with size 1.
      correction: taken from the number of elements before dividing by it.

    Returns:
      A real tensor.
    """
    return sqrt(var(a, axis=axis, keepdims=keepdims, correction=correction))


def average(
    a: Value, axis: int | None = None, weights: Value = None, returned: bool = False
) -> Any:
    """The mean with weights.

    Args:
      a: a tensor, array, number or list.
      axis: the axis to reduce; None for all.
      weights: of the shape of `a`, or of its axis; equal by default.
      returned: gives the sum of the weights too.

    Returns:
      A tensor, or a pair with the sum of weights.

    Raises:
      ValueError: axis is no integer, or the weights do not fit.
    """
    if axis is not None and not isinstance(axis, int):
        raise ValueError(f"average: expected an integer axis or None, got {axis!r}. Pass one axis.")
    x = to_inexact(as_tensor(a))
    if weights is None:
        found = reduce.reduce_mean(x, axis=axis)
        if not returned:
            return found
        count = reduce.reduce_sum(ones_like(x), axis=axis)
        return found, broadcast_to(count, sizes_of(found))
    x, w = promoted(x, weights)
    w = _weights(x, w, axis)
    total = reduce.reduce_sum(w, axis=axis)
    found = math_division.divide(
        reduce.reduce_sum(math_arithmetic.multiply(x, w), axis=axis), total
    )
    return (found, total) if returned else found


def _weights(x: Any, w: Any, axis: int | None) -> Any:
    if None in (x.dims, w.dims) and axis is not None:
        size = any_rank(x)
        along = equal(numbers_to(size), axis if axis >= 0 else size + axis)
        spread = lambda: reshape(w, where(along, -1, 1))  # noqa: E731
        w = cond(equal(any_rank(w), size), lambda: w, spread)
        return broadcast_to(w, sizes_of(x))
    if w.shape.is_compatible_with(x.shape) and len(w.dims or ()) == len(x.dims or ()):
        return w
    if axis is None or len(w.dims or ()) != 1:
        raise ValueError(
            f"average: expected weights of shape {x.shape}, or with an axis of its size, got"
            f" {w.shape}. Pass axis= with weights of one axis."
        )
    shape = [1] * len(x.dims)
    shape[positive_axis(axis, len(x.dims), "average")] = -1
    return broadcast_to(reshape(w, shape), sizes_of(x))


def count_nonzero(a: Value, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The number of elements other than zero.

    Args:
      a: a tensor, array, number or list.
      axis: the axes to reduce.
      keepdims: keeps them with size 1.

    Returns:
      An int64 tensor.
    """
    return reduce.reduce_sum(
        cast(as_bool(as_tensor(a)), dtypes.int64), axis=axis, keepdims=keepdims
    )


def _without_nan(a: Value, value: float) -> tuple[Any, Any]:
    x = as_tensor(a)
    nan = _isnan(x)
    return where(nan, as_tensor(value, x.dtype), x), nan


def nansum(a: Value, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum, with 0 for NaN.

    Args:
      a: a tensor, array, number or list.
      axis: the axes to reduce.
      dtype: what to add in.
      keepdims: keeps them with size 1.

    Returns:
      A tensor.
    """
    return sum(_without_nan(a, 0)[0], axis, dtype, keepdims)


def nanprod(a: Value, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product, with 1 for NaN.

    Args:
      a: a tensor, array, number or list.
      axis: the axes to reduce.
      dtype: what to multiply in.
      keepdims: keeps them with size 1.

    Returns:
      A tensor.
    """
    return prod(_without_nan(a, 1)[0], axis, dtype, keepdims)


def nanmean(a: Value, axis: Axis = None, dtype: Any = None, keepdims: bool | None = None) -> Any:
    """The mean of what is not NaN.

    Args:
      a: a tensor, array, number or list.
      axis: the axes to reduce.
      dtype: of the result; float64 for integers by default.
      keepdims: keeps them with size 1.

    Returns:
      A tensor.
    """
    clean, nan = _without_nan(a, 0)
    x = to_inexact(clean) if dtype is None else cast(clean, tensor_dtype(dtype))
    there = cast(math_compare.logical_not(nan), x.dtype)
    total = reduce.reduce_sum(x, axis=axis, keepdims=bool(keepdims))
    return math_division.divide(total, reduce.reduce_sum(there, axis=axis, keepdims=bool(keepdims)))


def _scanned(name: str, run: Function, a: Value, axis: int | None, dtype: Any) -> Any:
    x = _summed(as_tensor(a), dtype)
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    return run(x, axis=axis if x.dims is None else positive_axis(axis, len(x.dims), name))


def cumsum(a: Value, axis: int | None = None, dtype: Any = None) -> Any:
    """Sums of all elements up to each.

    Args:
      a: a tensor, array, number or list.
      axis: the axis to go along; None for the flat tensor.
      dtype: what to add in; integers are added in 64 bits.

    Returns:
      A tensor.
    """
    return _scanned("cumsum", scan.cumsum, a, axis, dtype)


def cumprod(a: Value, axis: int | None = None, dtype: Any = None) -> Any:
    """Products of all elements up to each.

    Args:
      a: a tensor, array, number or list.
      axis: the axis to go along; None for the flat tensor.
      dtype: what to multiply in; integers are multiplied in 64 bits.

    Returns:
      A tensor.
    """
    return _scanned("cumprod", scan.cumprod, a, axis, dtype)


def ndim(a: Value) -> Any:
    """The number of axes.

    Args:
      a: a tensor, array, number or list.

    Returns:
      An integer; an int32 tensor when it is known only as the graph runs.
    """
    x = as_tensor(a)
    return rank(x) if x.dims is None else len(x.dims)
