"""Functions of `tf.experimental.numpy` that make tensors."""

import math
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.ops import array_fill, math_arithmetic, math_compare, math_range
from penstock.ops.array_basics import identity, reshape
from penstock.ops.array_diag import diag as matrix_diag
from penstock.ops.array_shape import broadcast_to, ensure_shape, expand_dims
from penstock.ops.conditionals import cond
from penstock.ops.math_cast import cast
from penstock.ops.numpy_arrays import moveaxis
from penstock.ops.numpy_devices import moved, placed
from penstock.ops.numpy_dtypes import (
    Value,
    as_tensor,
    promoted,
    rank_of,
    result_type,
    tensor_dtype,
    to_inexact,
)
from penstock.ops.numpy_elementwise import power
from penstock.ops.numpy_ranks import any_rank, at_least_zero, grown, size_along, together
from penstock.ops.numpy_ranks import ones as one_sizes
from penstock.ops.numpy_turning import diagonal
from penstock.types import dtypes

Shape = Any  # any: an integer, a tuple, or an integer tensor


def array(val: Value, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Any:
    """A tensor of a value; Python numbers are int64 and float64.

    Args:
      val: a tensor, array, number or nested list.
      dtype: of the result.
      copy: makes a tensor of its own.
      ndmin: axes of size 1 are put in front up to this rank.

    Returns:
      A tensor.

    Example:
      >>> array([1, 2.5]).dtype.name
      'float64'
    """
    found = as_tensor(val, dtype)
    if copy:
        found = identity(found)
    return grown(found, at_least_zero(ndmin - any_rank(found))) if ndmin else found


def asarray(a: Value, dtype: Any = None, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor of a value; a tensor of that dtype is returned itself.

    Args:
      a: a tensor, array, number or nested list.
      dtype: of the result.
      device: where the result is, a name as in `x.device`; None leaves a tensor where it is.
      copy: True makes a tensor of its own, None where it must, False never.

    Returns:
      A tensor.

    Raises:
      ValueError: `copy` is False, and `a` is no tensor of that dtype on that device.
    """
    found = moved(as_tensor(a, dtype), device)
    if copy is False and found is not a:
        raise ValueError(
            "asarray: expected a tensor of the dtype and on the device that are wanted with"
            f" copy=False, got {type(a).__name__}. Leave copy out: other values are copied."
        )
    return identity(found) if copy and found is a else found


def asanyarray(a: Value, dtype: Any = None) -> Any:
    """The same as `asarray`.

    Args:
      a: a tensor, array, number or nested list.
      dtype: of the result.

    Returns:
      A tensor.
    """
    return as_tensor(a, dtype)


def ascontiguousarray(a: Value, dtype: Any = None) -> Any:
    """A tensor of a value, of rank 1 at least.

    Args:
      a: a tensor, array, number or nested list.
      dtype: of the result.

    Returns:
      A tensor.
    """
    return array(a, dtype, ndmin=1)


def copy(a: Value) -> Any:
    """A tensor of the same elements.

    Args:
      a: a tensor, array, number or nested list.

    Returns:
      A tensor.
    """
    return array(a, copy=True)


def _dims(shape: Shape) -> Any:
    return [shape] if isinstance(shape, (int, np.integer)) else shape


@placed
def zeros(shape: Shape, dtype: Any = float) -> Any:
    """Zeros.

    Args:
      shape: an integer or integers.
      dtype: float64 by default.

    Returns:
      A tensor.
    """
    return array_fill.zeros(_dims(shape), tensor_dtype(float if dtype is None else dtype))


@placed
def ones(shape: Shape, dtype: Any = float) -> Any:
    """Ones.

    Args:
      shape: an integer or integers.
      dtype: float64 by default.

    Returns:
      A tensor.
    """
    return array_fill.ones(_dims(shape), tensor_dtype(float if dtype is None else dtype))


@placed
def empty(shape: Shape, dtype: Any = float) -> Any:
    """Zeros: tensors have no unset elements.

    Args:
      shape: an integer or integers.
      dtype: float64 by default.

    Returns:
      A tensor.
    """
    return zeros(shape, dtype)


@placed
def zeros_like(a: Value, dtype: Any = None) -> Any:
    """Zeros of the shape of `a`.

    Args:
      a: a tensor, array, number or nested list.
      dtype: that of `a` by default.

    Returns:
      A tensor.
    """
    like = as_tensor(a)
    return array_fill.zeros_like(like, like.dtype if dtype is None else tensor_dtype(dtype))


@placed
def ones_like(a: Value, dtype: Any = None) -> Any:
    """Ones of the shape of `a`.

    Args:
      a: a tensor, array, number or nested list.
      dtype: that of `a` by default.

    Returns:
      A tensor.
    """
    like = as_tensor(a)
    return array_fill.ones_like(like, like.dtype if dtype is None else tensor_dtype(dtype))


@placed
def empty_like(a: Value, dtype: Any = None) -> Any:
    """Zeros of the shape of `a`.

    Args:
      a: a tensor, array, number or nested list.
      dtype: that of `a` by default.

    Returns:
      A tensor.
    """
    return zeros_like(a, dtype)


@placed
def full(shape: Shape, fill_value: Value, dtype: Any = None) -> Any:
    """One value everywhere.

    Args:
      shape: an integer or integers.
      fill_value: a number, or a tensor that broadcasts to the shape.
      dtype: that of the value by default.

    Returns:
      A tensor.
    """
    return broadcast_to(as_tensor(fill_value, dtype), _dims(shape))


@placed
def full_like(
    a: Value,
    fill_value: Value,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Shape = None,
) -> Any:
    """One value everywhere, in the shape of `a`.

    Args:
      a: a tensor, array, number or nested list.
      fill_value: a number, or a tensor that broadcasts to the shape.
      dtype: that of `a` by default.
      order: must be 'K'.
      subok: must be True.
      shape: must be None.

    Returns:
      A tensor.

    Raises:
      ValueError: order, subok or shape is given.
    """
    if order != "K" or not subok or shape is not None:
        raise ValueError(
            f"full_like: expected order='K', subok=True and shape=None, got order={order!r},"
            f" subok={subok} and shape={shape}. Use full for another shape."
        )
    like = as_tensor(a)
    dims = like.shape if like.shape.is_fully_defined() else array_shape(like)
    return broadcast_to(as_tensor(fill_value, like.dtype if dtype is None else dtype), dims)


def array_shape(x: Any) -> Any:
    """The shape as a tensor."""
    return execute("Shape", (x,), {})


@placed
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Any:
    """Ones on a diagonal.

    Args:
      N: rows.
      M: columns; N by default.
      k: which diagonal; positive ones are above the main one.
      dtype: float64 by default.

    Returns:
      [N, M].
    """
    rows, columns = int(N), int(N if M is None else M)
    wanted = tensor_dtype(float if dtype is None else dtype)
    below = math_range.range(rows, dtype=dtypes.int32)
    right = math_range.range(columns, dtype=dtypes.int32)
    offsets = math_arithmetic.subtract(expand_dims(right, 0), expand_dims(below, 1))
    return cast(math_compare.equal(offsets, int(k)), wanted)


def identity_matrix(n: int, dtype: Any = float) -> Any:
    """The identity matrix.

    Args:
      n: rows and columns.
      dtype: float64 by default.

    Returns:
      [n, n].
    """
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Ones on and below a diagonal.

    Args:
      N: rows.
      M: columns; N by default.
      k: which diagonal.
      dtype: float64 by default.

    Returns:
      [N, M].
    """
    rows, columns = int(N), int(N if M is None else M)
    below = math_range.range(rows, dtype=dtypes.int32)
    right = math_range.range(columns, dtype=dtypes.int32)
    offsets = math_arithmetic.subtract(expand_dims(right, 0), expand_dims(below, 1))
    found = math_compare.less_equal(offsets, int(k))
    return cast(found, tensor_dtype(float if dtype is None else dtype))


def _masked(m: Value, k: int, lower: bool) -> Any:
    x = as_tensor(m)
    if rank_of(x, "tril" if lower else "triu") < 2:
        raise ValueError(
            f"{'tril' if lower else 'triu'}: expected rank 2 or more, got shape {x.shape}."
            " Use diag for a vector."
        )
    rows, columns = x.dims[-2], x.dims[-1]
    keep = tri(rows, columns, k if lower else k - 1, dtypes.bool_)
    if not lower:
        keep = math_compare.logical_not(keep)
    return _select(keep, x, array_fill.zeros_like(x))


def _select(condition: Any, x: Any, y: Any) -> Any:
    return execute("SelectV2", (condition, x, y), {})


def tril(m: Value, k: int = 0) -> Any:
    """Matrices with zeros above a diagonal.

    Args:
      m: [..., M, N].
      k: which diagonal.

    Returns:
      A tensor of the same shape and dtype.
    """
    return _masked(m, k, True)


def triu(m: Value, k: int = 0) -> Any:
    """Matrices with zeros below a diagonal.

    Args:
      m: [..., M, N].
      k: which diagonal.

    Returns:
      A tensor of the same shape and dtype.
    """
    return _masked(m, k, False)


@placed
def arange(start: Value, stop: Value = None, step: Value = 1, dtype: Any = None) -> Any:
    """Numbers from `start` up to `stop`, which is left out.

    Args:
      start: the first; the end, when there is no `stop`.
      stop: the end.
      step: between two.
      dtype: what the arguments share by default.

    Returns:
      A vector.

    Raises:
      ValueError: step is 0.
    """
    if not hasattr(step, "op") and not step:
        raise ValueError("arange: expected a step other than 0, got 0. Use full for a constant.")
    first, last = (0, start) if stop is None else (start, stop)
    wanted = result_type(start, step) if stop is None else result_type(start, stop, step)
    if dtype is not None:
        wanted = tensor_dtype(dtype)
    work = wanted if wanted in _RANGE_TYPES else dtypes.int64
    if not any(hasattr(v, "op") for v in (first, last, step)) and (last - first) * step < 0:
        return array_fill.zeros([0], wanted)
    parts = [as_tensor(v, work) for v in (first, last, step)]
    if wanted.is_integer and any(isinstance(v, float) for v in (first, last, step)):
        count = max(0, math.ceil((last - first) / step))
        parts = [as_tensor(first, work), as_tensor(first, work), as_tensor(step, work)]
        index = cast(math_range.range(count, dtype=dtypes.int32), work)
        found = math_arithmetic.add(parts[0], math_arithmetic.multiply(index, parts[2]))
        return cast(found, wanted)
    return cast(math_range.range(*parts), wanted)


_RANGE_TYPES = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.bfloat16)


@placed
def linspace(
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = float,
    axis: int = 0,
) -> Any:
    """Numbers at equal distances.

    Args:
      start: the first.
      stop: the last, or the one after it without `endpoint`.
      num: how many.
      endpoint: whether `stop` is one of them.
      retstep: returns the distance too.
      dtype: of the result; the arguments' by default.
      axis: where the new axis goes.

    Returns:
      A tensor, or a pair of it and the distance.

    Raises:
      ValueError: num is negative.
    """
    if num < 0:
        raise ValueError(f"linspace: expected num >= 0, got {num}. Pass how many numbers you want.")
    first, last = map(to_inexact, promoted(start, stop))
    wanted = result_type(start, stop, 0.0) if dtype in (None, float) else tensor_dtype(dtype)
    if first.dtype is not wanted and (wanted.is_floating or wanted.is_complex):
        first, last = cast(first, wanted), cast(last, wanted)
    parts = num - 1 if endpoint else num
    gap = math_arithmetic.subtract(last, first)
    distance = execute("RealDiv", (gap, as_tensor(max(parts, 1), gap.dtype)), {})
    found = _spaced(first, last, num, endpoint, distance)
    found = cast(found if axis == 0 else moveaxis(found, 0, axis), wanted)
    if not retstep:
        return found
    return found, distance if parts > 0 else as_tensor(math.nan, gap.dtype)


def _spaced(first: Any, last: Any, num: int, endpoint: bool, distance: Any) -> Any:
    """[num, ...]: the last one is `last` itself."""
    shape = together([num], one_sizes(any_rank(distance)))
    index = reshape(cast(math_range.range(num, dtype=dtypes.int32), distance.dtype), shape)
    found = math_arithmetic.add(first, math_arithmetic.multiply(index, distance))
    if not endpoint or num < 2:
        return found
    at_end = reshape(math_compare.equal(math_range.range(num), num - 1), shape)
    return _select(at_end, last, found)


def logspace(
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Numbers whose logarithms are at equal distances.

    Args:
      start: the logarithm of the first.
      stop: the logarithm of the last.
      num: how many.
      endpoint: whether the last is one of them.
      base: of the logarithm.
      dtype: of the result.
      axis: where the new axis goes.

    Returns:
      A tensor.
    """
    wanted = None if dtype is None else tensor_dtype(dtype)
    work = wanted if wanted is not None and wanted.is_floating else None
    exponents = linspace(start, stop, num, endpoint, dtype=work, axis=axis)
    found = power(as_tensor(base, exponents.dtype), exponents)
    return found if wanted is None else cast(found, wanted)


def geomspace(
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Numbers with equal ratios.

    Args:
      start: the first.
      stop: the last.
      num: how many.
      endpoint: whether the last is one of them.
      dtype: of the result; the arguments' by default.
      axis: where the new axis goes.

    Returns:
      A tensor.
    """
    wanted = tensor_dtype(dtype) if dtype is not None else result_type(start, stop, num, 0.0)
    work = wanted if wanted.is_floating or wanted.is_complex else dtypes.float64
    first, last = as_tensor(start, work), as_tensor(stop, work)
    sign = execute("Sign", (first,), {})
    ends = [execute("Log", (math_arithmetic.multiply(v, sign),), {}) for v in (first, last)]
    exponents = linspace(ends[0], ends[1], num, endpoint, dtype=work)
    found = execute("Exp", (exponents,), {})
    found = math_arithmetic.multiply(cast(found, work), expand_dims(sign, 0))
    return cast(found if axis == 0 else moveaxis(found, 0, axis), wanted)


def diag(v: Value, k: int | Tensor = 0) -> Any:
    """A matrix with a vector on a diagonal, or a matrix's diagonal.

    Args:
      v: a vector or a matrix.
      k: which diagonal.

    Returns:
      A matrix or a vector.

    Raises:
      ValueError: v is neither.
    """
    x = as_tensor(v)
    if x.dims is None:
        is_vector = math_compare.equal(any_rank(x), 1)
        return cond(
            is_vector,
            lambda: diag(ensure_shape(x, [None]), k),
            lambda: diag(ensure_shape(x, [None, None]), k),
        )
    if len(x.dims) == 1:
        return matrix_diag(x, k=k)
    if len(x.dims) != 2:
        raise ValueError(f"diag: expected a vector or a matrix, got shape {x.shape}. Use diagflat.")
    if isinstance(k, Tensor):
        zero = array_fill.zeros([], x.dtype)
        rows, columns = (convert_to_tensor(size_along(x, axis)) for axis in (0, 1))
        inside = math_compare.logical_and(
            math_compare.greater(k, -rows), math_compare.less(k, columns)
        )
        return cond(
            inside,
            lambda: execute("MatrixDiagPartV3", (x, k, zero), {"align": "RIGHT_LEFT"}),
            lambda: array_fill.zeros([0], x.dtype),
        )
    return diagonal(x, k)


def diagflat(v: Value, k: int = 0) -> Any:
    """A matrix with all elements on a diagonal.

    Args:
      v: a tensor, array, number or list.
      k: which diagonal.

    Returns:
      A matrix.
    """
    return diag(reshape(as_tensor(v), [-1]), k)


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The indices of a main diagonal.

    Args:
      n: the size of each axis.
      ndim: how many axes.

    Returns:
      `ndim` vectors.

    Raises:
      ValueError: n or ndim is negative.
    """
    if n < 0 or ndim < 0:
        raise ValueError(f"diag_indices: expected n >= 0 and ndim >= 0, got {n} and {ndim}.")
    return (math_range.range(n),) * ndim
