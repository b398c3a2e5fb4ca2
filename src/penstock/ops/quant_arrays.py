"""Quantised tensors end to end, and in another shape."""

import functools
from typing import Any

import numpy as np

from penstock.core.kernels import HOST_LIMIT, TooMuchWork, host_kernel, kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.array_basics import reshape_shape
from penstock.ops.array_join import joined_shape
from penstock.ops.quant_host import (
    TABLES,
    Key,
    ends_of,
    every_byte,
    is_byte,
    key,
    looked_up,
)
from penstock.ops.quant_levels import (
    Array,
    limits,
    one_each,
    to_floats_by_steps,
    to_integers,
    to_steps,
)
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_REASON = "integers have no derivatives"
_TYPES = {"T": ["quint8", "qint32"]}
_MOST = 1 << 22  # bytes up to which copying them is ahead of compiled code


def _concat_shape(c: ShapeContext) -> list[Dims]:
    c.rank(0, 0, "concat_dim")
    count = (len(c) - 1) // 3
    scalars_of = range(1 + count, len(c))
    one_each(c, tuple(scalars_of), None, -1)
    axis = c.constant(0)
    if axis is not None and axis < 0:
        c.fail("a concat_dim of at least 0", f"{int(axis)}", "Count it from the front.")
    return [joined_shape(c, axis, c.shapes[1 : 1 + count]), (), ()]


CONCAT = define_op(
    "QuantizedConcat(concat_dim: int32, values: N*T, input_mins: N*float, input_maxes: N*float; N: "
    "int >= 2, T: type) -> output: T, output_min: float, output_max: float",
    shape=_concat_shape,
    host_inputs=("concat_dim",),
    doc="Quantised tensors end to end along an axis, in a range that holds them all.",
).not_differentiable(_REASON)


@kernel(CONCAT, types=_TYPES)
def _concat(
    xp: Any,
    concat_dim: Array,
    values: list[Array],
    input_mins: list[Array],
    input_maxes: list[Array],
    *,
    T: DType,
) -> tuple[Array, Array, Array]:
    axis = int(concat_dim.reshape(()))
    if xp is np and is_byte(T):
        tables, low, high = _shared_tables(key(*input_mins), key(*input_maxes), T)
        parts = [
            each if table is None else looked_up(table, each)
            for table, each in zip(tables, values, strict=True)
        ]
        return np.concatenate(parts, axis), low, high
    ends = [(a.reshape(()), b.reshape(())) for a, b in zip(input_mins, input_maxes, strict=True)]
    new = _shared_range(xp, ends, T)
    parts = [_moved(xp, each, old, new, T) for each, old in zip(values, ends, strict=True)]
    return xp.concatenate(parts, axis), *new


@host_kernel(CONCAT, types={"T": ["quint8"]}, limit=_MOST, singly=True)
def _concat_singly(
    concat_dim: Array,
    values: list[Array],
    input_mins: list[Array],
    input_maxes: list[Array],
    *,
    T: DType,
) -> tuple[Array, Array, Array]:
    if sum(each.size for each in values) > HOST_LIMIT:
        tables = _shared_tables(key(*input_mins), key(*input_maxes), T)[0]
        if any(table is not None for table in tables):  # more than a copy
            raise TooMuchWork
    found: tuple[Array, Array, Array] = _concat(
        np, concat_dim, values, input_mins, input_maxes, T=T
    )
    return found


def _shared_range(xp: Any, ends: list[tuple[Array, Array]], dtype: DType) -> tuple[Array, Array]:
    """A range that holds zero and all of these but NaN, symmetric for signed integers."""
    low, high = xp.zeros_like(ends[0][0]), ends[0][1]
    for first, last in ends:
        low, high = xp.fmin(low, first), xp.fmax(high, last)
    if limits(dtype)[0] < 0:
        high = xp.maximum(xp.abs(low), xp.abs(high))
        low = -high
    return low, high


def _moved(
    xp: Any, x: Array, old: tuple[Array, Array], new: tuple[Array, Array], dtype: DType
) -> Array:
    """Integers of one range as those of another, which may be the same."""
    floats = to_floats_by_steps(xp, x, *old, dtype)
    there = to_integers(xp, to_steps(xp, floats, *new, dtype), dtype)
    return xp.where((old[0] == new[0]) & (old[1] == new[1]), x, there)


@functools.lru_cache(TABLES)
def _shared_tables(mins: Key, maxes: Key, dtype: DType) -> tuple[list[Array | None], Array, Array]:
    """All bytes of several ranges as those of one that holds them all, and its ends.

    None in place of a table that leaves every byte as it is.
    """
    ends = list(zip(ends_of(mins), ends_of(maxes), strict=True))
    new, every = _shared_range(np, ends, dtype), every_byte(dtype)
    tables = [_moved(np, every, old, new, dtype) for old in ends]
    return [None if np.array_equal(table, every) else table for table in tables], *new


def _reshaped(c: ShapeContext) -> list[Dims]:
    for i in (2, 3):
        if d.num_elements(c.shape(i)) not in (None, 1):
            c.fail("one number for the range", f"shape {d.text(c.shape(i))}")
    return [reshape_shape(c), (), ()]


RESHAPE = define_op(
    "QuantizedReshape(tensor: T, shape: Tshape, input_min: float, input_max: float; T: type, "
    "Tshape: {int32, int64} = int32) -> output: T, output_min: float, output_max: float",
    shape=_reshaped,
    host_inputs=("shape",),
    doc="A quantised tensor in another shape.",
).not_differentiable(_REASON)


@kernel(RESHAPE, types=_TYPES)
def _reshape(
    xp: Any, tensor: Array, shape: Array, input_min: Array, input_max: Array
) -> tuple[Array, Array, Array]:
    return tensor.reshape([int(n) for n in shape]), input_min.reshape(()), input_max.reshape(())
