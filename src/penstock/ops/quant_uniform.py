"""Uniformly quantised tensors: `scale * (integer - zero_point)`, for a tensor or for each slice.

Scales and zero points are scalars, or vectors with one entry for each slice along a quantisation
axis. Halves round up. The attributes `..._quantization_min_val` and `..._max_val` bound the
integers, where fewer than the dtype has are used.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import HOST_LIMIT, TooMuchWork, host_kernel, kernel
from penstock.core.native_quantised import HALF_UP, MOST, floats_of, is_served
from penstock.core.native_quantised import quantised as quantised_natively
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext, broadcast
from penstock.ops.quant_levels import FLOAT, Array, along, half_up
from penstock.ops.quant_levels import limits as limits_of
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_PASSES = 3 << 16  # the same of a few of NumPy's
_MOST_ZERO = 1 << 22  # up to which a sum of whole floats is exact, or beyond all limits
REASON = "integers have no derivatives"


def bounds(prefix: str = "") -> str:
    """The attributes that a quantised tensor brings with it, in an operation's text."""
    return (
        f"{prefix}quantization_axis: int = -1, {prefix}quantization_min_val: int, "
        f"{prefix}quantization_max_val: int"
    )


def check_scales(c: ShapeContext, positions: Sequence[int], dims: Dims, axis: int) -> None:
    """Refuses scales and zero points of another shape than the axis asks for."""
    if axis < -1 or (dims is not None and axis >= len(dims)):
        rank = "" if dims is None else f" and below the rank {len(dims)}"
        c.fail(f"a quantization axis of at least -1{rank}", f"{axis}")
    wanted: Dims = () if axis == -1 else (None if dims is None else dims[axis],)
    for i in positions:
        if not d.compatible(c.shape(i), wanted):
            c.fail(
                f"scales and zero points of shape {d.text(wanted)}",
                d.text(c.shape(i)),
                "Without an axis they are scalars, with one they have an entry for each slice.",
            )


def check_positive(ctx: Any, xp: Any, *scales: Array) -> None:
    """Fails the step unless every scale is above 0."""
    for scale in scales:
        if xp is np and scale.ndim == 0 and float(scale) > 0:  # in a tenth of the time
            continue
        ctx.check(
            xp.all(scale > 0),
            errors.InvalidArgumentError,
            lambda s: f"{ctx.op_name}: expected scales that are all positive, got {s}.",
            scale,
        )


def to_bounded(
    xp: Any, values: Array, low: int, high: int, dtype: DType, round_up: bool = True
) -> Array:
    """Numbers rounded to integers of `dtype` between `low` and `high`; NaN becomes `low`."""
    wide = values.astype(np.float64, copy=False)
    whole = half_up(xp, wide) if round_up else wide
    if xp is np:
        return np.minimum(np.fmax(whole, float(low)), float(high)).astype(dtype.numpy_dtype)
    held = xp.clip(whole, float(low), float(high))
    return xp.where(xp.isnan(wide), float(low), held).astype(dtype.numpy_dtype)


def quantized(
    xp: Any, x: Array, scale: Array, zero: Array, limits: tuple[int, int], dtype: DType
) -> Array:
    """Floats as integers; scale and zero point in shapes that broadcast."""
    steps = half_up(xp, x * (FLOAT(1) / scale)).astype(np.float64) + zero
    return to_bounded(xp, steps, *limits, dtype, round_up=False)


# ---- to integers, back, and to others


def _quantize_shape(c: ShapeContext) -> Dims:
    check_scales(c, (1, 2), c.shape(0), c.attr("quantization_axis"))
    return c.shape(0)


QUANTIZE = define_op(
    "UniformQuantize(input: Tin, scales: float, zero_points: int32; Tin: {float}, Tout: {qint8, "
    f"quint8, qint32}}, {bounds()}) -> output: Tout",
    shape=_quantize_shape,
    fallible=True,
    doc="Floats as uniformly quantised integers.",
).not_differentiable(REASON)


@kernel(QUANTIZE)
def _quantize(
    ctx: Any,
    xp: Any,
    input: Array,
    scales: Array,
    zero_points: Array,
    *,
    Tout: DType,
    quantization_axis: int,
    quantization_min_val: int,
    quantization_max_val: int,
) -> Array:
    check_positive(ctx, xp, scales)
    scale, zero = (along(xp, v, quantization_axis, input.ndim) for v in (scales, zero_points))
    limits = (quantization_min_val, quantization_max_val)
    if xp is np:
        found = _in_one_pass(input, scale, zero, limits, Tout)
        if found is not None:
            return found
    return quantized(xp, input, scale, zero, limits, Tout)


def _in_one_pass(
    x: Array, scale: Array, zero: Array, limits: tuple[int, int], dtype: DType
) -> Array | None:
    """`quantized` by the native library, for one scale; None where it does not serve it."""
    if scale.ndim or not is_served(dtype.numpy_dtype) or abs(int(zero)) > _MOST_ZERO:
        return None
    (least, most), (low, high) = limits_of(dtype), limits
    if not least <= low <= high <= most:
        return None
    levels = (-np.inf, np.inf, 0, FLOAT(1) / scale, 0, 0, zero, low, high, low)
    return quantised_natively(x, levels, HALF_UP, dtype.numpy_dtype)


@host_kernel(QUANTIZE, limit=MOST, singly=True)
def _quantize_singly(
    ctx: Any,
    input: Array,
    scales: Array,
    zero_points: Array,
    *,
    Tout: DType,
    quantization_axis: int,
    quantization_min_val: int,
    quantization_max_val: int,
) -> Array:
    if input.size > HOST_LIMIT and (quantization_axis != -1 or not is_served(Tout.numpy_dtype)):
        raise TooMuchWork
    return _quantize(
        ctx, np, input, scales, zero_points, Tout=Tout, quantization_axis=quantization_axis,
        quantization_min_val=quantization_min_val, quantization_max_val=quantization_max_val,
    )  # fmt: skip


DEQUANTIZE = define_op(
    "UniformDequantize(input: Tin, scales: float, zero_points: int32; Tin: {qint8, quint8, qint32}"
    f", Tout: {{float}}, {bounds()}) -> output: Tout",
    shape=_quantize_shape,
    fallible=True,
    doc="Uniformly quantised integers as floats.",
).not_differentiable(REASON)


@kernel(DEQUANTIZE)
def _dequantize(
    ctx: Any,
    xp: Any,
    input: Array,
    scales: Array,
    zero_points: Array,
    *,
    quantization_axis: int,
) -> Array:
    check_positive(ctx, xp, scales)
    scale, zero = (along(xp, v, quantization_axis, input.ndim) for v in (scales, zero_points))
    if xp is np and scale.ndim == 0 and abs(int(zero)) <= _MOST_ZERO:
        found = floats_of(input, -int(zero), scale, -0.0)
        if found is not None:
            return found
    return (input.astype(np.int32) - zero).astype(FLOAT) * scale


@host_kernel(DEQUANTIZE, limit=MOST, singly=True)
def _dequantize_singly(
    ctx: Any,
    input: Array,
    scales: Array,
    zero_points: Array,
    *,
    Tin: DType,
    quantization_axis: int,
) -> Array:
    if input.size > _PASSES and (quantization_axis != -1 or not is_served(Tin.numpy_dtype)):
        raise TooMuchWork
    return _dequantize(ctx, np, input, scales, zero_points, quantization_axis=quantization_axis)


def _requantize_shape(c: ShapeContext) -> Dims:
    first, second = c.attr("input_quantization_axis"), c.attr("output_quantization_axis")
    if first >= 0 and second >= 0 and first != second:
        c.fail("one quantization axis for input and output", f"{first} and {second}")
    check_scales(c, (1, 2), c.shape(0), first)
    check_scales(c, (3, 4), c.shape(0), second)
    return c.shape(0)


REQUANTIZE = define_op(
    "UniformRequantize(input: Tin, input_scales: float, input_zero_points: int32, output_scales: "
    "float, output_zero_points: int32; Tin: {qint8, qint32}, Tout: {qint8, qint32}, "
    f"{bounds('input_')}, {bounds('output_')}) -> output: Tout",
    shape=_requantize_shape,
    fallible=True,
    doc="Uniformly quantised integers with another scale and zero point.",
).not_differentiable(REASON)


@kernel(REQUANTIZE, types={"Tout": ["qint8"]})
def _requantize(
    ctx: Any,
    xp: Any,
    input: Array,
    input_scales: Array,
    input_zero_points: Array,
    output_scales: Array,
    output_zero_points: Array,
    *,
    Tout: DType,
    input_quantization_axis: int,
    output_quantization_axis: int,
    output_quantization_min_val: int,
    output_quantization_max_val: int,
) -> Array:
    check_positive(ctx, xp, input_scales, output_scales)
    rank = input.ndim
    scale, zero = (
        along(xp, v, input_quantization_axis, rank) for v in (input_scales, input_zero_points)
    )
    to, middle = (
        along(xp, v, output_quantization_axis, rank) for v in (output_scales, output_zero_points)
    )
    limits = (output_quantization_min_val, output_quantization_max_val)
    return rescaled(xp, input.astype(np.float64) - zero, scale, to, middle, limits, Tout)


def rescaled(
    xp: Any,
    steps: Array,
    scale: Array,
    to: Array,
    zero: Array,
    limits: tuple[int, int],
    dtype: DType,
) -> Array:
    """Whole steps of one scale as integers of another.

    Args:
      xp: the array namespace.
      steps: integers less their zero point, or whole floats.
      scale: what a step is.
      to: the other scale, with the zero point `zero`.
      zero: the zero point of the result.
      limits: the least and greatest integer.
      dtype: the dtype of the result.
    """
    ratio = scale.astype(np.float64) / to.astype(np.float64)
    return to_bounded(xp, half_up(xp, steps * ratio) + zero, *limits, dtype, round_up=False)


# ---- element by element


def _add_shape(c: ShapeContext) -> Dims:
    dims = broadcast(
        ShapeContext(c.op_name, c.shapes[:2], c.dtypes[:2], c.attrs, c.constant, c.shape_value)
    )
    for positions, shape, side in (
        ((2, 3), c.shape(0), "lhs"),
        ((4, 5), c.shape(1), "rhs"),
        ((6, 7), dims, "output"),
    ):
        check_scales(c, positions, shape, c.attr(f"{side}_quantization_axis"))
    out = c.attr("output_quantization_axis")
    for i, side in enumerate(("lhs", "rhs")):
        axis, shape = c.attr(f"{side}_quantization_axis"), c.shape(i)
        known = axis >= 0 and shape is not None and dims is not None
        if known and 0 <= out != len(dims) - len(shape) + axis:  # type: ignore[arg-type]
            c.fail(f"the output quantised along the axis of {side}", f"axes {axis} and {out}")
    return dims


ADD = define_op(
    "UniformQuantizedAdd(lhs: T, rhs: T, lhs_scales: float, lhs_zero_points: int32, rhs_scales: "
    "float, rhs_zero_points: int32, output_scales: float, output_zero_points: int32; "
    f"{bounds('lhs_')}, {bounds('rhs_')}, {bounds('output_')}, T: {{qint32}}) -> output: T",
    shape=_add_shape,
    fallible=True,
    doc="Sums of uniformly quantised numbers.",
).not_differentiable(REASON)


@kernel(ADD)
def _add(
    ctx: Any,
    xp: Any,
    lhs: Array,
    rhs: Array,
    lhs_scales: Array,
    lhs_zero_points: Array,
    rhs_scales: Array,
    rhs_zero_points: Array,
    output_scales: Array,
    output_zero_points: Array,
) -> Array:
    check_positive(ctx, xp, lhs_scales, rhs_scales, output_scales)
    attrs, rank = ctx.attrs, max(lhs.ndim, rhs.ndim)
    to = along(xp, output_scales, attrs["output_quantization_axis"], rank)
    zero = along(xp, output_zero_points, attrs["output_quantization_axis"], rank)
    total: Any = zero.astype(np.float64)
    for values, scales, zeros, side in (
        (lhs, lhs_scales, lhs_zero_points, "lhs"),
        (rhs, rhs_scales, rhs_zero_points, "rhs"),
    ):
        axis = attrs[f"{side}_quantization_axis"]
        if xp is np and axis == -1 and to.ndim == 0:  # Python's numbers are doubles too
            offset, ratio = float(zeros), float(scales) / float(to)
        else:
            scale, offset = (along(xp, v, axis, values.ndim) for v in (scales, zeros))
            ratio = scale.astype(np.float64) / to.astype(np.float64)
        total = total + half_up(xp, (values.astype(np.float64) - offset) * ratio)
    limits = attrs["output_quantization_min_val"], attrs["output_quantization_max_val"]
    return to_bounded(xp, total, *limits, attrs["T"], round_up=False)


def _clip_shape(c: ShapeContext) -> Dims:
    check_scales(c, (1, 2, 3, 4), c.shape(0), c.attr("quantization_axis"))
    return c.shape(0)


CLIP = define_op(
    "UniformQuantizedClipByValue(operand: T, min: T, max: T, scales: float, zero_points: int32; T:"
    f" {{qint32}}, {bounds()}) -> output: T",
    shape=_clip_shape,
    fallible=True,
    doc="Uniformly quantised numbers held between two others.",
).not_differentiable(REASON)


@kernel(CLIP)
def _clip(
    ctx: Any,
    xp: Any,
    operand: Array,
    min: Array,
    max: Array,
    scales: Array,
    zero_points: Array,
    *,
    quantization_axis: int,
) -> Array:
    check_positive(ctx, xp, scales)
    low, high = (along(xp, v, quantization_axis, operand.ndim) for v in (min, max))
    if xp is np:
        return operand.clip(low, high)  # in a fifth of the time of both functions
    return xp.minimum(xp.maximum(operand, low), high)
