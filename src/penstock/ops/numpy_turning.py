"""Turning, moving and padding elements in `tf.experimental.numpy`; differences and diagonals."""

from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.ops import array_order
from penstock.ops.array_basics import reshape as tensor_reshape
from penstock.ops.array_gather import gather
from penstock.ops.array_pad import pad as tensor_pad
from penstock.ops.array_shape import broadcast_to
from penstock.ops.math_arithmetic import maximum, minimum, subtract
from penstock.ops.math_compare import logical_xor
from penstock.ops.math_range import range as range_of
from penstock.ops.numpy_arrays import axes_of, moveaxis, ravel, swapaxes
from penstock.ops.numpy_dtypes import (
    Value,
    as_tensor,
    positive_axis,
    rank_of,
)
from penstock.ops.numpy_ranks import any_rank, numbers_to, size_along, sizes_of, together
from penstock.types import dtypes


def flip(m: Value, axis: Any = None) -> Any:
    """The elements in the other order.

    Args:
      m: a tensor, array or list.
      axis: along which; all by default.

    Returns:
      A tensor.
    """
    x = as_tensor(m)
    rank = None if x.dims is None else len(x.dims)
    axes = numbers_to(any_rank(x)) if axis is None else axes_of(axis, rank, "flip")
    return array_order.reverse(x, axes)


def flipud(m: Value) -> Any:
    """The rows in the other order.

    Args:
      m: a tensor, array or list.

    Returns:
      A tensor.
    """
    return flip(m, 0)


def fliplr(m: Value) -> Any:
    """The columns in the other order.

    Args:
      m: a tensor, array or list.

    Returns:
      A tensor.
    """
    return flip(m, 1)


def roll(a: Value, shift: Any, axis: Any = None) -> Any:
    """The elements moved along, those that fall out coming back at the other end.

    Args:
      a: a tensor, array or list.
      shift: how far; one number or one for each axis.
      axis: along which; None for the flat tensor.

    Returns:
      A tensor of the same shape.
    """
    x = as_tensor(a)
    if axis is None:
        return tensor_reshape(array_order.roll(ravel(x), shift, 0), sizes_of(x))
    return array_order.roll(x, shift, axis)


def rot90(m: Value, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Turned by right angles, from the first axis to the second.

    Args:
      m: a tensor, array or list.
      k: how often.
      axes: the plane.

    Returns:
      A tensor.
    """
    x = as_tensor(m)
    first, second = axes_of(axes, None if x.dims is None else len(x.dims), "rot90")
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(flip(x, first), second)
    if turns == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second)


def pad(array: Value, pad_width: Any, mode: str, **kwargs: Any) -> Any:
    """More elements around.

    Args:
      array: a tensor, array or list.
      pad_width: how many before and after, along each axis.
      mode: 'constant', 'reflect' or 'symmetric'.
      **kwargs: `constant_values`, for 'constant'.

    Returns:
      A tensor.

    Raises:
      ValueError: another mode or argument.
    """
    value = kwargs.pop("constant_values", 0)
    if mode not in ("constant", "reflect", "symmetric") or kwargs:
        raise ValueError(
            "pad: expected mode 'constant', 'reflect' or 'symmetric', and constant_values, got"
            f" mode={mode!r} and {sorted(kwargs)}. Build other edges with concatenate."
        )
    x = as_tensor(array)
    widths = broadcast_to(convert_to_tensor(pad_width, dtypes.int32), [any_rank(x), 2])
    return tensor_pad(x, widths, mode.upper(), as_tensor(value, x.dtype))


def diff(a: Value, n: int = 1, axis: int = -1) -> Any:
    """Differences of neighbours.

    Args:
      a: a tensor, array or list.
      n: how often.
      axis: along which.

    Returns:
      A tensor with n elements less along the axis.

    Raises:
      ValueError: n is negative.
    """
    if n < 0:
        raise ValueError(f"diff: expected n >= 0, got {n}. Use cumsum for sums.")
    x = as_tensor(a)
    lead = (slice(None),) * positive_axis(axis, rank_of(x, "diff"), "diff")
    for _ in range(n):
        later, earlier = x[(*lead, slice(1, None))], x[(*lead, slice(None, -1))]
        x = (logical_xor if x.dtype.is_bool else subtract)(later, earlier)
    return x


def diagonal(a: Value, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Diagonals of the matrices in two axes.

    Args:
      a: a tensor, array or list of rank 2 or more.
      offset: which diagonal; positive ones are above the main one.
      axis1: the axis of rows.
      axis2: the axis of columns.

    Returns:
      A tensor with the diagonals in the last axis.
    """
    x = moveaxis(as_tensor(a), (axis1, axis2), (-2, -1))
    rows, columns = size_along(x, -2), size_along(x, -1)
    if isinstance(rows, int) and isinstance(columns, int):
        last = min(rows + min(offset, 0), columns - max(offset, 0))
        places: Any = np.arange(max(0, last), dtype=np.int32)
    else:
        last = minimum(rows + min(offset, 0), columns - max(offset, 0))
        places = range_of(maximum(last, 0))
    start = offset if offset >= 0 else -offset * columns
    lead = sizes_of(x)[:-2]
    known = isinstance(lead, list) and isinstance(rows * columns, int)
    whole = [*lead, rows * columns] if known else together(lead, [rows * columns])
    flat = tensor_reshape(x, whole)
    return gather(flat, places * (columns + 1) + start, axis=-1)
