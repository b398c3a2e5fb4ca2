"""Quantised tensors end to end, and in another shape."""

from typing import Any

from penstock.core.kernels import kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.array_basics import reshape_shape
from penstock.ops.array_join import joined_shape
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
    ends = [(a.reshape(()), b.reshape(())) for a, b in zip(input_mins, input_maxes, strict=True)]
    low, high = xp.zeros_like(ends[0][0]), ends[0][1]
    for first, last in ends:
        low, high = xp.minimum(low, first), xp.maximum(high, last)
    if limits(T)[0] < 0:
        high = xp.maximum(xp.abs(low), xp.abs(high))
        low = -high
    parts = []
    for each, (first, last) in zip(values, ends, strict=True):
        floats = to_floats_by_steps(xp, each, first, last, T)
        moved = to_integers(xp, to_steps(xp, floats, low, high, T), T)
        parts.append(xp.where((first == low) & (last == high), each, moved))
    return xp.concatenate(parts, int(concat_dim.reshape(()))), low, high


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
