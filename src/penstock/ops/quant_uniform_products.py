"""Products and convolutions of uniformly quantised tensors.

Zero points are taken off after the product of the bare integers: the sum over k of (a - u) (b - v)
is that of a b, less v times the sum of a, less u times the sum of b, plus k u v. The hybrid forms
quantise their left side themselves, each row or image with the range it has (asymmetric, over all
the integers), and give floats.
"""

from typing import Any

import numpy as np

from penstock.core.kernels import kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.quant_levels import FLOAT, Array, half_up
from penstock.ops.quant_products import product_less_zeros
from penstock.ops.quant_uniform import (
    REASON,
    bounds,
    check_positive,
    check_scales,
    quantized,
    rescaled,
)
from penstock.ops.quant_uniform_windows import (
    Layout,
    conv_shape,
    convolved,
    in_groups,
    layout_of,
)
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

_BYTE = (-128, 127)


# ---- products of matrices


def _dot_shape(c: ShapeContext) -> Dims:
    lhs, rhs = c.rank(0, 2, "lhs"), c.rank(1, 2, "rhs")
    assert lhs is not None
    assert rhs is not None
    if lhs[1] is not None and rhs[0] is not None and lhs[1] != rhs[0]:
        c.fail(
            f"inner sizes that are equal ({lhs[1]} != {rhs[0]})",
            f"lhs {d.text(lhs)} and rhs {d.text(rhs)}",
        )
    return (lhs[0], rhs[1])


def _check_axes(c: ShapeContext, rhs_axis: int, out_axis: int) -> None:
    """The axes that a product of two quantised sides may have."""
    if c.attr("lhs_quantization_axis") != -1:
        c.fail("lhs_quantization_axis=-1", f"{c.attr('lhs_quantization_axis')}")
    for name, allowed in (("rhs", rhs_axis), ("output", out_axis)):
        axis = c.attr(f"{name}_quantization_axis")
        if axis not in (-1, allowed):
            c.fail(f"{name}_quantization_axis of -1 or {allowed}", f"{axis}")
    if c.attr("rhs_quantization_axis") == -1 != c.attr("output_quantization_axis"):
        c.fail(
            "one scale for the output where the right side has one",
            f"output_quantization_axis={c.attr('output_quantization_axis')}",
        )


def _quantized_dot_shape(c: ShapeContext) -> Dims:
    dims = _dot_shape(c)
    _check_axes(c, 1, 1)
    check_scales(c, (2, 3), c.shape(0), -1)
    check_scales(c, (4, 5), c.shape(1), c.attr("rhs_quantization_axis"))
    check_scales(c, (6, 7), dims, c.attr("output_quantization_axis"))
    return dims


_SIDES = f"{bounds('lhs_')}, {bounds('rhs_')}, {bounds('output_')}"
_SCALES = (
    "lhs_scales: float, lhs_zero_points: int32, rhs_scales: float, rhs_zero_points: int32, "
    "output_scales: float, output_zero_points: int32"
)
DOT = define_op(
    f"UniformQuantizedDot(lhs: Tin, rhs: Tin, {_SCALES}; Tin: {{qint8}}, Tout: {{qint32}}, "
    f"{_SIDES}) -> output: Tout",
    shape=_quantized_dot_shape,
    fallible=True,
    doc="The product of two uniformly quantised matrices.",
).not_differentiable(REASON)


def _output_limits(attrs: dict[str, Any]) -> tuple[int, int]:
    return attrs["output_quantization_min_val"], attrs["output_quantization_max_val"]


@kernel(DOT)
def _dot(
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
    sums = product_less_zeros(xp, lhs, rhs, (lhs_zero_points, rhs_zero_points))
    scale = lhs_scales.astype(np.float64) * rhs_scales.astype(np.float64)
    limits = _output_limits(ctx.attrs)
    return rescaled(xp, sums, scale, output_scales, output_zero_points, limits, dt.qint32)


def _hybrid_dot_shape(c: ShapeContext) -> Dims:
    dims = _dot_shape(c)
    axis = c.attr("rhs_quantization_axis")
    if axis not in (-1, 1):
        c.fail("rhs_quantization_axis of -1 or 1", f"{axis}")
    check_scales(c, (2, 3), c.shape(1), axis)
    return dims


DOT_HYBRID = define_op(
    "UniformQuantizedDotHybrid(lhs: Tlhs, rhs: Trhs, rhs_scales: float, rhs_zero_points: int32; "
    f"Tlhs: {{float}}, Trhs: {{qint8}}, Tout: {{float}}, {bounds('rhs_')}) -> output: Tout",
    shape=_hybrid_dot_shape,
    fallible=True,
    doc="The product of a matrix of floats, quantised row by row, and a quantised one.",
).not_differentiable(REASON)


def dynamic(xp: Any, x: Array) -> tuple[Array, Array, Array]:
    """Floats as 8-bit integers, each slice along the first axis with the range it has.

    Args:
      xp: the array namespace.
      x: float32[B, ...].

    Returns:
      The integers, scales float32[B, 1, ...] and zero points int32[B, 1, ...].
    """
    axes = tuple(range(1, x.ndim))
    low = xp.minimum(x.min(axis=axes, keepdims=True), FLOAT(0))
    high = xp.maximum(x.max(axis=axes, keepdims=True), FLOAT(0))
    size = high.astype(np.float64) - low
    scale = xp.where(size == 0, 1.0, size / (_BYTE[1] - _BYTE[0]))
    zero = xp.clip(half_up(xp, _BYTE[0] - low / scale), *map(float, _BYTE)).astype(np.int32)
    scale = scale.astype(FLOAT)
    return quantized(xp, x, scale, zero, _BYTE, dt.qint8), scale, zero


@kernel(DOT_HYBRID)
def _dot_hybrid(
    ctx: Any, xp: Any, lhs: Array, rhs: Array, rhs_scales: Array, rhs_zero_points: Array
) -> Array:
    check_positive(ctx, xp, rhs_scales)
    if lhs.size == 0:
        return xp.zeros((lhs.shape[0], rhs.shape[1]), FLOAT)
    whole, scale, zero = dynamic(xp, lhs)
    sums = product_less_zeros(xp, whole, rhs, (zero, rhs_zero_points))
    return sums.astype(FLOAT) * (scale * rhs_scales)


# ---- convolutions

_WINDOWS = (
    "window_strides: list(int) = [], padding: string, explicit_padding: list(int) = [], "
    "lhs_dilation: list(int) = [], rhs_dilation: list(int) = [], batch_group_count: int = 1, "
    "feature_group_count: int = 1, dimension_numbers: string = ''"
)


def _quantized_conv_shape(c: ShapeContext) -> Dims:
    dims, layout = conv_shape(c)
    axes = layout.kernel_output, layout.output_feature
    _check_axes(c, *axes)
    check_scales(c, (2, 3), c.shape(0), -1)
    check_scales(c, (4, 5), c.shape(1), c.attr("rhs_quantization_axis"))
    check_scales(c, (6, 7), dims, c.attr("output_quantization_axis"))
    return dims


CONV = define_op(
    f"UniformQuantizedConvolution(lhs: Tin, rhs: Tin, {_SCALES}; Tin: {{qint8}}, Tout: {{qint32}},"
    f" {_WINDOWS}, {_SIDES}) -> output: Tout",
    shape=_quantized_conv_shape,
    fallible=True,
    doc="Slides a uniformly quantised filter over uniformly quantised images.",
).not_differentiable(REASON)


@kernel(CONV)
def _conv(
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
    layout = layout_of(ctx.attrs["dimension_numbers"], lhs.ndim)
    zeros = (lhs_zero_points, rhs_zero_points)
    images, weights = layout.channels_last(xp, lhs), layout.filter_last(xp, rhs)
    sums = convolved(xp, images, weights, zeros, ctx.attrs)
    scale = lhs_scales.astype(np.float64) * rhs_scales.astype(np.float64)
    limits = _output_limits(ctx.attrs)
    result = rescaled(xp, sums, scale, output_scales, output_zero_points, limits, dt.qint32)
    return layout.as_output(xp, result)


def _hybrid_conv_shape(c: ShapeContext) -> Dims:
    dims, layout = conv_shape(c)
    axis = c.attr("rhs_quantization_axis")
    if axis not in (-1, layout.kernel_output):
        c.fail(f"rhs_quantization_axis of -1 or {layout.kernel_output}", f"{axis}")
    check_scales(c, (2, 3), c.shape(1), axis)
    return dims


CONV_HYBRID = define_op(
    "UniformQuantizedConvolutionHybrid(lhs: Tlhs, rhs: Trhs, rhs_scales: float, rhs_zero_points: "
    f"int32; Tlhs: {{float}}, Trhs: {{qint8}}, Tout: {{float}}, {_WINDOWS}, {bounds('rhs_')}) -> "
    "output: Tout",
    shape=_hybrid_conv_shape,
    fallible=True,
    doc="Slides a uniformly quantised filter over images of floats, each quantised with its range.",
).not_differentiable(REASON)


@kernel(CONV_HYBRID)
def _conv_hybrid(
    ctx: Any, xp: Any, lhs: Array, rhs: Array, rhs_scales: Array, rhs_zero_points: Array
) -> Array:
    check_positive(ctx, xp, rhs_scales)
    layout: Layout = layout_of(ctx.attrs["dimension_numbers"], lhs.ndim)
    images = layout.channels_last(xp, lhs)
    whole, scale, zero = dynamic(xp, images)
    sums = convolved(xp, whole, layout.filter_last(xp, rhs), (zero, rhs_zero_points), ctx.attrs)
    scales = in_groups(xp, scale, sums.shape, ctx.attrs)
    result = sums.astype(FLOAT) * (scales * rhs_scales)
    return layout.as_output(xp, result)
