"""Convolutions of quantised images, alone and with what networks do after them.

Images are [B, H, W, C] and filters [h, w, in, out], as in every quantised operation. Two unsigned
sides have zero points, which are subtracted; where the filter is signed, integer 0 stands for 0.0
on both sides. The names of the fused operations say what follows, in order: a bias, a summand, zero
from below ("Relu"), a new range of 8 bits ("Requantize").

The windows are laid out as rows of a matrix, whose product with the filter is exact (see
`quant_products`), where there is no native convolution of bytes: XLA has no fast one of integers.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.kernels import kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.math_int_matmul import int_matmul, product_of_whole, signed
from penstock.ops.native_dot import dot_conv, worth_a_dot
from penstock.ops.nn_conv_geometry import Window, check_attrs, sliding_shape, window_of
from penstock.ops.quant_elementwise import product_ends, zero_point
from penstock.ops.quant_host import padded
from penstock.ops.quant_levels import FLOAT, RANGES, Array, level, limits, scalars
from penstock.ops.quant_products import (
    Tail,
    as_bytes,
    as_sums,
    exact_floats,
    finished,
    largest,
    less_zeros,
    weight_level,
    window_rows,
)
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_REASON = "integers have no derivatives"
_LAYOUT = "NHWC"
_SLIDING = "strides: list(int), padding: {'SAME', 'VALID'}, dilations: list(int) = [1, 1, 1, 1]"
_PADS = ", padding_list: list(int) = []"
_RANGES = "min_input: float, max_input: float, min_filter: float, max_filter: float"
_FROZEN = "min_freezed_output: float, max_freezed_output: float"
_SIDES = "Tinput: quantizedtype, Tfilter: quantizedtype"


def _attrs(attrs: dict[str, Any]) -> dict[str, Any]:
    """The attributes under the names of the other convolutions: `padding_list` says all pads."""
    pads = attrs.get("padding_list", ())
    padding = "EXPLICIT" if pads else attrs["padding"]
    return {**attrs, "padding": padding, "explicit_paddings": pads}


def _window(image: Sequence[int], weights: Sequence[int], attrs: dict[str, Any]) -> Window:
    """The window of a kernel call, for images and filters of these shapes."""
    given = [tuple(attrs.get(n, ())) for n in ("strides", "dilations", "padding_list")]
    return _known_window(tuple(image), tuple(weights[:2]), attrs["padding"], *given)


@functools.lru_cache(RANGES)
def _known_window(
    image: tuple[int, ...],
    sizes: tuple[int, ...],
    padding: str,
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
) -> Window:
    attrs = {"strides": strides, "dilations": dilations, "padding_list": pads, "padding": padding}
    return window_of(_LAYOUT, image, sizes, _attrs(attrs))


def _image_shape(c: ShapeContext, depthwise: bool) -> Dims:
    attrs = _attrs(c.attrs)
    plain = ShapeContext(c.op_name, c.shapes, c.dtypes, attrs, c.constant, c.shape_value)
    check_attrs(plain, _LAYOUT, ("strides", "dilations"))
    image, weights = c.rank(0, 4, "input"), c.rank(1, 4, "filter")
    assert image is not None
    assert weights is not None
    if not d.compatible(image[3:], weights[2:3]):
        c.fail(
            "a filter whose third size is the input depth",
            f"filter {d.text(weights)} for input {d.text(image)}",
        )
    outer = weights[3]
    if depthwise:
        known = outer is not None and weights[2] is not None
        outer = weights[2] * outer if known else None  # type: ignore[operator]
    return sliding_shape(plain, _LAYOUT, image, weights[:2], outer)


def _shape(depthwise: bool, bias: bool, summand: int | None, per_channel: bool) -> Any:
    """The shape rule: ranges are scalars, those of the filter may be one for each channel."""

    def rule(c: ShapeContext) -> list[Dims]:
        dims = _image_shape(c, depthwise)
        first = 3 if bias else 2
        ends = c.merge(c.shape(first + 2), c.shape(first + 3))
        sliced = per_channel and ends is not None and len(ends) == 1
        skipped = [0, 1, *([2] if bias else ()), *([summand] if summand else ())]
        skipped += [first + 2, first + 3] if sliced else []
        scalars(c, [i for i in range(len(c)) if i not in skipped])
        if bias and dims is not None:
            c.merge(c.rank(2, 1, "bias"), dims[3:])
        if summand:
            dims = c.merge(dims, c.shape(summand))
        if sliced and dims is not None and d.num_elements(ends) != 1:
            c.merge(ends, dims[3:])
        result: Dims = ends if sliced and len(c) < first + 6 else ()
        return [dims, result, result]

    return rule


# ---- sums of products over windows


def _rows(xp: Any, x: Array, window: Window, fill: int = 0) -> Array:
    """What the window sees of an image padded with `fill`: [B, h, w, taps * C]."""
    if any(sum(p) for p in window.pads):
        pads = ((0, 0), *window.pads, (0, 0))
        x = padded(x, pads, fill) if xp is np else xp.pad(x, pads, constant_values=fill)
    return window_rows(xp, x, window.sizes, window.strides, window.dilations)


def _out_shape(image: Any, weights: Any, window: Window) -> tuple[int, ...]:
    rows = zip(image[1:3], window.sizes, window.strides, window.dilations, window.pads, strict=True)
    out = [(n + sum(p) - (k - 1) * d - 1) // s + 1 for n, k, s, d, p in rows]
    return (image[0], *out, weights[-1])


def _sides(weights: Any) -> tuple[int, int]:
    """A filter's shape as that of a matrix."""
    return math.prod(weights[:-1]), weights[-1]


def int_conv(xp: Any, x: Array, weights: Array, window: Window) -> Array:
    """The exact convolution of 8-bit integers, padded with 0, as int32[B, h, w, out]."""
    if xp is not np and weights.dtype == np.int8:
        shape, sides = _out_shape(x.shape, weights.shape, window), _sides(weights.shape)
        if worth_a_dot((math.prod(shape[:3]), sides[0]), sides, 1):
            before = [pads[0] for pads in window.pads]
            numbers = np.array([*window.strides, *window.dilations, *before], np.int64)
            return dot_conv(x, weights, shape, numbers, np.int32)
    bytes_, lack = (x, 0) if xp is np else signed(xp, x)
    rows = _rows(xp, bytes_, window, -lack)
    columns = weights.reshape(-1, weights.shape[-1])
    sums = int_matmul(xp, rows.reshape(-1, rows.shape[-1]), columns)
    if lack:
        sums = sums + lack * columns.sum(axis=0, dtype=np.int32)
    return sums.reshape(*rows.shape[:3], weights.shape[-1])


def int_depthwise(xp: Any, x: Array, weights: Array, window: Window) -> Array:
    """The exact depthwise convolution of 8-bit integers, as int32[B, h, w, in * multiplier]."""
    rows = _rows(xp, x, window).astype(np.int32)
    taps, channels = math.prod(weights.shape[:2]), weights.shape[2:]
    rows = rows.reshape(*rows.shape[:3], taps, x.shape[-1])
    factors = weights.reshape(taps, *channels).astype(np.int32)
    total = (rows[..., None] * factors).sum(axis=3, dtype=np.int32)
    return total.reshape(*total.shape[:3], math.prod(channels))


# ---- with zero points


def _plain_kernel(
    ctx: Any,
    xp: Any,
    input: Array,
    filter: Array,
    min_input: Array,
    max_input: Array,
    min_filter: Array,
    max_filter: Array,
) -> tuple[Array, Array, Array]:
    """Both sides less their zero points; pads stand for 0.0.

    With both sides as signed bytes x and w, and the rest of their zero points a and b, each product
    is (x + a) (w + b), and pads have no part in any sum.
    """
    window = _window(input.shape, filter.shape, ctx.attrs)
    ends = (min_input, max_input, min_filter, max_filter)
    zeros = (
        zero_point(xp, min_input, max_input, dt.quint8),
        zero_point(xp, min_filter, max_filter, dt.quint8),
    )
    known = product_ends(xp, ends, (dt.quint8, dt.quint8), dt.qint32)
    exact = exact_floats(zeros, _sides(filter.shape)[0]) if xp is np else None
    if exact is not None:
        image, weights = less_zeros((input, filter), zeros, exact)
        rows = _rows(np, image, window)
        sums = product_of_whole(
            rows.reshape(-1, rows.shape[-1]), weights.reshape(_sides(filter.shape))
        )
        return sums.reshape(*rows.shape[:3], filter.shape[-1]), *known
    (x, lack), (w, _) = signed(xp, input), signed(xp, filter)
    a, b = lack - zeros[0], lack - zeros[1]
    flat = x.sum(axis=-1, keepdims=True, dtype=np.int32)
    inside = _rows(xp, xp.ones((1, *x.shape[1:3], 1), np.int32), window)
    columns = w.reshape(-1, *w.shape[2:]).sum(axis=1, dtype=np.int32)
    by_row = _rows(xp, flat, window).sum(axis=-1, keepdims=True, dtype=np.int32)
    covered = (inside[..., None] * columns).sum(axis=-2, dtype=np.int32)
    places = x.shape[-1] * inside.sum(axis=-1, keepdims=True, dtype=np.int32)
    return int_conv(xp, x, w, window) + b * by_row + a * covered + places * a * b, *known


# ---- the family


def _define(
    name: str,
    doc: str,
    *,
    out: str,
    bias: str = "",
    summand: str = "",
    relu: bool = False,
    depthwise: bool = False,
    pads: bool = True,
    inputs: tuple[str, ...] = ("quint8", "qint8"),
    per_channel: bool = False,
) -> OpDef:
    """One operation of the family: its definition and kernels.

    Args:
      name: the operation's name.
      doc: what it does.
      out: the default dtype of the result; an 8-bit one takes a frozen range.
      bias: "", "float" or "Tbias" (floats or 32-bit integers).
      summand: "", "float" or "Tsummand" (8-bit integers with a range).
      relu: whether negative numbers become zero.
      depthwise: whether channels stay apart.
      pads: whether it has the attribute padding_list.
      inputs: the dtypes of images that signed filters take.
      per_channel: whether the filter may have a range for each channel.
    """
    frozen = out != "qint32"
    args = ["input: Tinput", "filter: Tfilter", *([f"bias: {bias}"] if bias else []), _RANGES]
    args += [_FROZEN] if frozen else []
    args += [f"summand: {summand}"] if summand else []
    args += ["min_summand: float, max_summand: float"] if summand == "Tsummand" else []
    types = _SIDES + (", Tbias: {float, qint32}" if bias == "Tbias" else "")
    types += ", Tsummand: quantizedtype" if summand == "Tsummand" else ""
    place = 7 + 2 * frozen if summand else None
    op = define_op(
        f"{name}({', '.join(args)}; {types}, out_type: quantizedtype = {out}, {_SLIDING}"
        f"{_PADS if pads else ''}) -> output: out_type, min_output: float, max_output: float",
        shape=_shape(depthwise, bool(bias), place, per_channel),
        doc=doc,
    ).not_differentiable(_REASON)

    def run(ctx: Any, xp: Any, input: Array, filter: Array, *rest: Array) -> Any:
        given = list(rest)
        added = given.pop(0) if bias else None
        low, high, *ends = given[:4]
        attrs = ctx.attrs
        window = _window(input.shape, filter.shape, attrs)
        sums = (int_depthwise if depthwise else int_conv)(xp, input, filter, window)
        step = _input_level(xp, low, high, attrs["Tinput"]) * weight_level(xp, *ends[:2])
        other = _summed(xp, given[4 + 2 * frozen :], attrs, step) if summand else None
        total = finished(
            xp, sums, Tail(relu, added, _steps_in_one(xp, low, high, ends, attrs), other)
        )
        if frozen:
            return as_bytes(xp, total, step, (given[4], given[5]), attrs["out_type"])
        wide = level(low, high, attrs["Tinput"]) * level(ends[0], ends[1], dt.qint8)
        return as_sums(xp, total, wide)

    for each in inputs:
        kernel(op, types={"Tinput": [each], "Tfilter": ["qint8"], "out_type": [out]})(run)
    return op


def _input_level(xp: Any, low: Array, high: Array, dtype: DType) -> Array:
    """The distance of neighbouring activations, of which 0 stands for 0.0."""
    return largest(xp, low, high) / FLOAT(limits(dtype)[1])


def _steps_in_one(
    xp: Any, low: Array, high: Array, ends: list[Array], attrs: dict[str, Any]
) -> Array:
    """How many steps of the sums one is; the reciprocal of a step, rounded once."""
    steps = FLOAT(limits(attrs["Tinput"])[1] * limits(dt.qint8)[1])
    return steps / (largest(xp, low, high) * largest(xp, *ends[:2]))


def _summed(xp: Any, given: list[Array], attrs: dict[str, Any], step: Array) -> Array:
    """The summand in steps of the sums."""
    if len(given) == 1:
        return given[0] / step
    values, low, high = given
    return values.astype(FLOAT) * (_input_level(xp, low, high, attrs["Tsummand"]) / step)


CONV = _define(
    "QuantizedConv2D", "Slides a quantised filter over images.", out="qint32", pads=False,
    inputs=("quint8",),
)  # fmt: skip
kernel(CONV, types={"Tinput": ["quint8"], "Tfilter": ["quint8"], "out_type": ["qint32"]})(
    _plain_kernel
)
_ONE = ("quint8",)
_TABLE: dict[str, dict[str, Any]] = {
    "AndRelu": {"relu": True, "out": "qint32", "inputs": _ONE},
    "AndReluAndRequantize": {"relu": True, "out": "quint8", "inputs": _ONE},
    "AndRequantize": {"out": "qint8", "inputs": _ONE},
    "PerChannel": {"out": "qint32", "inputs": _ONE, "pads": False, "per_channel": True},
    "WithBias": {"bias": "float", "out": "qint32"},
    "WithBiasAndRelu": {"bias": "float", "relu": True, "out": "qint32"},
    "WithBiasAndReluAndRequantize": {"bias": "Tbias", "relu": True, "out": "quint8"},
    "WithBiasAndRequantize": {"bias": "Tbias", "out": "qint8"},
    "WithBiasSumAndRelu": {
        "bias": "float", "summand": "float", "relu": True, "out": "qint32", "inputs": _ONE,
    },
    "WithBiasSumAndReluAndRequantize": {
        "bias": "Tbias", "summand": "Tsummand", "relu": True, "out": "quint8", "inputs": _ONE,
    },
    "WithBiasSignedSumAndReluAndRequantize": {
        "bias": "Tbias", "summand": "Tsummand", "relu": True, "out": "quint8", "inputs": _ONE,
    },
}  # fmt: skip
_DEPTHWISE: dict[str, dict[str, Any]] = {
    "": {"out": "qint32", "pads": False},
    "WithBias": {"bias": "float", "out": "qint32", "pads": False},
    "WithBiasAndRelu": {"bias": "float", "relu": True, "out": "qint32"},
    "WithBiasAndReluAndRequantize": {
        "bias": "Tbias", "relu": True, "out": "quint8", "per_channel": True,
    },
}  # fmt: skip
_PARTS = {
    "With": "with", "Bias": "bias,", "SignedSum": "signed summand,", "Sum": "summand,",
    "Relu": "zero from below,", "Requantize": "a new range,", "PerChannel": "a range per channel,",
}  # fmt: skip


def _doc(start: str, name: str) -> str:
    """A sentence that lists what follows the convolution."""
    parts = [text for word, text in _PARTS.items() if word in name and word != "With"]
    if "SignedSum" in name:
        parts.remove("summand,")
    return f"{start}, with {' '.join(parts).rstrip(',')}." if parts else f"{start}."


FUSED = {
    name: _define(
        f"QuantizedConv2D{name}", _doc("Slides a quantised filter over images", name), **options
    )
    for name, options in _TABLE.items()
}
DEPTHWISE = {
    name: _define(
        f"QuantizedDepthwiseConv2D{name}",
        _doc("Slides quantised filters over each channel of images", name),
        depthwise=True,
        inputs=_ONE,
        **options,
    )
    for name, options in _DEPTHWISE.items()
}
