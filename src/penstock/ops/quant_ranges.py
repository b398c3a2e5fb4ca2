"""32-bit sums of products as 8-bit integers again: ranges that are in use, and new ranges.

Sums of quantised products use a small part of what 32 bits hold. `RequantizationRange` finds that
part, `Requantize` spreads it over 8 bits; `QuantizeDownAndShrinkRange` does both at once. The
operations that end in PerChannel have a range for each entry of the last axis.
"""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.extremes import least_and_greatest
from penstock.ops.quant_levels import (
    FLOAT,
    Array,
    half_away,
    limits,
    scalars,
    to_floats,
    to_integers,
    to_steps,
)
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_REASON = "integers have no derivatives"
_WIDE = {"Tinput": ["qint32"]}
_BYTES = ["quint8", "qint8"]


def requantized(
    xp: Any,
    x: Array,
    old: tuple[Array, Array],
    new: tuple[Array, Array],
    dtypes: tuple[DType, DType],
) -> Array:
    """Integers of one range and dtype as those of another that stand for the same numbers.

    Args:
      xp: the array namespace.
      x: integers of the first dtype.
      old, new: the ends of the ranges, float32[].
      dtypes: the two quantised dtypes.

    Returns:
      Integers of the second dtype, within its limits.
    """
    values = to_floats(xp, x, *old, dtypes[0])
    if limits(dtypes[1])[0] < 0:
        return to_integers(xp, to_steps(xp, values, *new, dtypes[1]), dtypes[1])
    least, most = limits(dtypes[1])
    low, high = (end.astype(np.float64) for end in new)
    size = xp.where(high == low, 1.0, high - low)
    steps = (values - low) * ((most - least) / size) + least
    return to_integers(xp, half_away(xp, steps), dtypes[1])


def _used(xp: Any, x: Array, low: Array, high: Array, dtype: DType) -> tuple[Array, Array]:
    """The least and greatest number there is, widened downwards to hold zero."""
    if x.size == 0:
        return xp.zeros_like(low), xp.zeros_like(high)
    if xp is np:  # Python's numbers are doubles too, and take a tenth of the time
        first, least = float(low), limits(dtype)[0]
        step = (float(high) - first) / (limits(dtype)[1] - least)
        flat = x.reshape(-1)
        used = np.minimum.reduce(flat), np.maximum.reduce(flat)
        found = [FLOAT(first + (int(end) - least) * step) for end in used]
        return np.minimum(found[0], FLOAT(0)), found[1]
    ends = least_and_greatest(x)
    least, most = (to_floats(xp, end, low, high, dtype).astype(FLOAT) for end in ends)
    return xp.minimum(least, FLOAT(0)), most


def _shrunk_shape(c: ShapeContext) -> list[Dims]:
    scalars(c, (1, 2))
    return [c.shape(0), (), ()]


SHRINK = define_op(
    "QuantizeDownAndShrinkRange(input: Tinput, input_min: float, input_max: float; Tinput: "
    "quantizedtype, out_type: quantizedtype) -> output: out_type, output_min: float, output_max: "
    "float",
    shape=_shrunk_shape,
    doc="32-bit integers as 8-bit ones of the range that is in use.",
).not_differentiable(_REASON)


@kernel(SHRINK, types={**_WIDE, "out_type": ["quint8"]})
def _shrink(
    xp: Any, input: Array, input_min: Array, input_max: Array, *, Tinput: DType, out_type: DType
) -> tuple[Array, Array, Array]:
    new = _used(xp, input, input_min, input_max, Tinput)
    return requantized(xp, input, (input_min, input_max), new, (Tinput, out_type)), *new


def _range_shape(c: ShapeContext) -> list[Dims]:
    scalars(c, (1, 2))
    return [(), ()]


RANGE = define_op(
    "RequantizationRange(input: Tinput, input_min: float, input_max: float; Tinput: quantizedtype)"
    " -> output_min: float, output_max: float",
    shape=_range_shape,
    doc="The range of 32-bit integers that is in use.",
).not_differentiable(_REASON)


@kernel(RANGE, types=_WIDE)
def _range(
    xp: Any, input: Array, input_min: Array, input_max: Array, *, Tinput: DType
) -> tuple[Array, Array]:
    return _used(xp, input, input_min, input_max, Tinput)


def _requantize_shape(c: ShapeContext) -> list[Dims]:
    scalars(c, (1, 2, 3, 4))
    return [c.shape(0), (), ()]


REQUANTIZE = define_op(
    "Requantize(input: Tinput, input_min: float, input_max: float, requested_output_min: float, "
    "requested_output_max: float; Tinput: quantizedtype, out_type: quantizedtype) -> output: "
    "out_type, output_min: float, output_max: float",
    shape=_requantize_shape,
    fallible=True,
    doc="32-bit integers as 8-bit ones of a range that is given.",
).not_differentiable(_REASON)


@kernel(REQUANTIZE, types={**_WIDE, "out_type": _BYTES})
def _requantize(
    ctx: Any,
    xp: Any,
    input: Array,
    input_min: Array,
    input_max: Array,
    requested_output_min: Array,
    requested_output_max: Array,
    *,
    Tinput: DType,
    out_type: DType,
) -> tuple[Array, Array, Array]:
    low, high = requested_output_min, requested_output_max
    ctx.check(
        (low <= 0) & (low <= high),
        errors.InvalidArgumentError,
        lambda a, b: (
            f"Requantize: expected requested_output_min <= 0 and <= requested_output_max, "
            f"got {a} and {b}. A range holds zero."
        ),
        low,
        high,
    )
    new = (low, high)
    return requantized(xp, input, (input_min, input_max), new, (Tinput, out_type)), low, high


# ---- a range for each channel


def _channels(c: ShapeContext) -> None:
    dims = c.rank(0, 4, "input")
    low, high = c.rank(1, 1, "input_min"), c.rank(2, 1, "input_max")
    c.merge(low, high)
    if dims is not None:
        c.merge(dims[-1:], low)


def _range_channels_shape(c: ShapeContext) -> list[Dims]:
    _channels(c)
    return [(), ()]


RANGE_CHANNELS = define_op(
    "RequantizationRangePerChannel(input: T, input_min: float, input_max: float; T: quantizedtype "
    "= qint32, clip_value_max: float) -> output_min: float, output_max: float",
    shape=_range_channels_shape,
    doc="The range of 32-bit integers that is in use, in any channel.",
).not_differentiable(_REASON)


@kernel(RANGE_CHANNELS, types={"T": ["qint32"]})
def _range_channels(
    xp: Any, input: Array, input_min: Array, input_max: Array, *, clip_value_max: float
) -> tuple[Array, Array]:
    if input.size == 0:
        return FLOAT(0), FLOAT(0)
    step = xp.maximum(xp.abs(input_min), xp.abs(input_max)) / FLOAT(1 << 31)
    flat = input.reshape((-1, input.shape[-1])).astype(FLOAT)
    low, high = (flat.min(axis=0) * step).min(), (flat.max(axis=0) * step).max()
    high = xp.maximum(xp.abs(low), xp.abs(high))
    high = xp.minimum(high, FLOAT(clip_value_max))
    if xp is np:
        return FLOAT(0) if low >= 0 else -high, high
    return xp.where(low >= 0, FLOAT(0), -high), high


def _requantize_channels_shape(c: ShapeContext) -> list[Dims]:
    _channels(c)
    scalars(c, (3, 4))
    return [c.shape(0), (), ()]


REQUANTIZE_CHANNELS = define_op(
    "RequantizePerChannel(input: T, input_min: float, input_max: float, requested_output_min: "
    "float, requested_output_max: float; T: quantizedtype = qint32, out_type: quantizedtype = "
    "quint8) -> output: out_type, output_min: float, output_max: float",
    shape=_requantize_channels_shape,
    fallible=True,
    doc="32-bit integers with a range for each channel as 8-bit ones of one range.",
).not_differentiable(_REASON)


@kernel(REQUANTIZE_CHANNELS, types={"T": ["qint32"], "out_type": _BYTES})
def _requantize_channels(
    ctx: Any,
    xp: Any,
    input: Array,
    input_min: Array,
    input_max: Array,
    requested_output_min: Array,
    requested_output_max: Array,
    *,
    out_type: DType,
) -> tuple[Array, Array, Array]:
    low, high = requested_output_min, requested_output_max
    least, most = limits(out_type)
    ctx.check(
        (low < 0) | (least == 0),
        errors.InvalidArgumentError,
        lambda v: (
            "RequantizePerChannel: expected requested_output_min < 0 for qint8, got "
            f"{v}. Ask for quint8."
        ),
        low,
    )
    step = xp.maximum(xp.abs(input_min), xp.abs(input_max)) / FLOAT(1 << 31)
    scale = step * FLOAT(most) / xp.maximum(xp.abs(low), xp.abs(high))
    return to_integers(xp, xp.rint(input.astype(np.float64) * scale), out_type), low, high
