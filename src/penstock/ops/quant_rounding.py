"""Numbers rounded to what quantised integers can hold, as floats: `quantize_and_dequantize`.

The quantisation only scales, so that 0 stays 0: the largest factor is taken that keeps the range
within the integers of so many bits, from the side that needs the smaller one; the other side of
the range is moved to what the integers then hold. Derivatives pass unchanged, or in version 4
where the number lies within the range.
"""

import functools
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.execute import execute
from penstock.core.kernels import kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.quant_levels import RANGES, Array, along, check_order, half_up, one_each
from penstock.types.dims import Dims

_TYPES = "T: {bfloat16, half, float, double}"
_ROUND = "round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'"
_SLICES = "narrow_range: bool = False, axis: int = -1"
_MOST_BITS = 62  # more do not fit the integers that are counted with


def _check_bits(c: ShapeContext, bits: int) -> None:
    most = _MOST_BITS + (not c.attr("signed_input"))
    if not 1 <= bits <= most:
        c.fail(f"num_bits between 1 and {most}", f"{bits}", "Give the bits of the real one.")


def _shape(c: ShapeContext) -> Dims:
    if "num_bits" in c.attrs:
        _check_bits(c, c.attr("num_bits"))
    axis = c.attrs.get("axis", -1)
    if axis != -1 or c.attr("range_given"):
        _check_ends(c, (1, 2), c.shape(0), axis)
    return c.shape(0)


def _check_ends(c: ShapeContext, positions: tuple[int, int], dims: Dims, axis: int) -> Dims:
    if axis == -1:
        for i in positions:
            c.rank(i, 0)
    return one_each(c, positions, dims, axis)


def _shape_v3(c: ShapeContext) -> Dims:
    c.rank(3, 0)
    bits = c.constant(3)
    if bits is not None:
        _check_bits(c, int(bits))
    return _shape(c)


def _ends(
    ctx: Any, xp: Any, x: Array, low: Array, high: Array, given: bool, axis: int
) -> tuple[Array, Array]:
    """The range as given, or from the least to the greatest element of each slice."""
    if given:
        check_order(ctx, xp, low, high, ("input_min", "input_max"))
        if axis == -1:
            return low, high
        return along(xp, low, axis, x.ndim), along(xp, high, axis, x.ndim)
    if x.size == 0:
        return x.sum(), x.sum()
    others = tuple(i for i in range(x.ndim) if i != axis) if axis != -1 else None
    keep = axis != -1
    return x.min(axis=others, keepdims=keep), x.max(axis=others, keepdims=keep)


def _scaling(
    xp: Any, low: Array, high: Array, least: Array, most: Array
) -> tuple[Array, Array, Array, Array]:
    """How a range becomes the integers from `least` to `most`.

    Args:
      xp: the array namespace.
      low, high: the range.
      least, most: the integers at the ends, as floats.

    Returns:
      How many steps one is, the size of a step, and the ends of the range as it is moved to what
      the integers hold. Without any range at all the first two are 0: everything is 0.
    """
    largest = np.finfo(low.dtype).max
    from_low = xp.where(least * low > 0, least / low, largest)
    from_high = xp.where(most * high > 0, most / high, largest)
    by_low = from_low < from_high
    scale = xp.where(by_low, from_low, from_high)
    empty, zero = scale == largest, xp.zeros_like(scale)
    step = xp.where(empty, zero, xp.where(by_low, low / least, high / most))
    first, last = xp.where(by_low, low, least * step), xp.where(by_low, most * step, high)
    return xp.where(empty, zero, scale), step, first, last


def _integers(xp: Any, dtype: Any, bits: Array, signed: bool, narrow: bool) -> tuple[Array, Array]:
    """The least and greatest integer of so many bits, as floats."""
    two = xp.asarray(2, dtype)
    most = two ** (bits - int(signed)) - 1
    return -most - int(not narrow) if signed else two * 0, most


@functools.lru_cache(RANGES)
def _known_scaling(
    low: bytes, high: bytes, floats: np.dtype[Any], bits: int, signed: bool, narrow: bool
) -> list[Array]:
    """`_scaling` of two numbers, by their bits: they take NumPy longer than a small tensor."""
    first, last = [np.frombuffer(end, floats)[0] for end in (low, high)]
    found = _scaling(np, first, last, *_integers(np, floats, bits, signed, narrow))
    return [np.asarray(each) for each in found]


def _run(
    ctx: Any,
    xp: Any,
    x: Array,
    ends: tuple[Array, Array],
    bits: Array,
    signed_input: bool,
    range_given: bool,
    narrow_range: bool,
    axis: int,
    even: bool,
) -> Array:
    """`x` rounded to the numbers that the integers of so many bits stand for.

    Numbers outside of a given range go to its ends; `even` takes halves to the even neighbour,
    rather than up.
    """
    wide = x if x.dtype in (np.float32, np.float64) else x.astype(np.float32)
    dtype = wide.dtype
    low, high = [end if end.dtype == dtype else end.astype(dtype) for end in ends]
    low, high = _ends(ctx, xp, wide, low, high, range_given, axis)
    if xp is np and low.ndim == 0:
        given = low.tobytes(), high.tobytes(), dtype
        scale, step, first, last = _known_scaling(*given, int(bits), signed_input, narrow_range)
    else:
        least, most = _integers(xp, dtype, bits, signed_input, narrow_range)
        scale, step, first, last = _scaling(xp, low, high, least, most)
    if range_given:
        wide = xp.maximum(xp.minimum(wide, last), first)
    steps = wide * scale
    result = (xp.rint(steps) if even else half_up(xp, steps)) * step
    return result if result.dtype == x.dtype else result.astype(x.dtype)


def _define(name: str, doc: str) -> OpDef:
    op = define_op(
        f"{name}(input: T, input_min: T, input_max: T; signed_input: bool = True, num_bits: int = "
        f"8, range_given: bool = False, {_TYPES}, {_ROUND}, {_SLICES}) -> output: T",
        shape=_shape,
        fallible=True,
        doc=doc,
    )

    @kernel(op)
    def run(
        ctx: Any,
        xp: Any,
        input: Array,
        input_min: Array,
        input_max: Array,
        *,
        signed_input: bool,
        num_bits: int,
        range_given: bool,
        round_mode: str,
        narrow_range: bool,
        axis: int,
    ) -> Array:
        even, ends = round_mode == "HALF_TO_EVEN", (input_min, input_max)
        return _run(
            ctx, xp, input, ends, num_bits, signed_input, range_given, narrow_range, axis, even
        )

    return op


V2 = _define(
    "QuantizeAndDequantizeV2", "Floats rounded to what a few bits hold; derivatives pass unchanged."
)
V4 = _define(
    "QuantizeAndDequantizeV4",
    "Floats rounded to what a few bits hold; derivatives pass within the range.",
)


@V2.gradient
def _pass_v2(op: Any, grad: Any) -> Any:
    return [grad, None, None]


def _shape_v1(c: ShapeContext) -> Dims:
    _check_bits(c, c.attr("num_bits"))
    return c.shape(0)


V1 = define_op(
    "QuantizeAndDequantize(input: T; signed_input: bool = True, num_bits: int = 8, range_given: "
    f"bool = False, input_min: float = 0.0, input_max: float = 0.0, {_TYPES}) -> output: T",
    shape=_shape_v1,
    fallible=True,
    doc="Floats rounded to what a few bits hold, with the range as attributes.",
)


@kernel(V1)
def _run_v1(
    ctx: Any,
    xp: Any,
    input: Array,
    *,
    signed_input: bool,
    num_bits: int,
    range_given: bool,
    input_min: float,
    input_max: float,
) -> Array:
    ends = (xp.asarray(input_min, input.dtype), xp.asarray(input_max, input.dtype))
    return _run(ctx, xp, input, ends, num_bits, signed_input, range_given, False, -1, True)


@V1.gradient
def _pass_v1(op: Any, grad: Any) -> Any:
    return grad


V3 = define_op(
    "QuantizeAndDequantizeV3(input: T, input_min: T, input_max: T, num_bits: int32; signed_input: "
    f"bool = True, range_given: bool = True, {_TYPES}, {_SLICES}) -> output: T",
    shape=_shape_v3,
    fallible=True,
    doc="Floats rounded to what a few bits hold, as many as a tensor says.",
)


@kernel(V3)
def _run_v3(
    ctx: Any,
    xp: Any,
    input: Array,
    input_min: Array,
    input_max: Array,
    num_bits: Array,
    *,
    signed_input: bool,
    range_given: bool,
    narrow_range: bool,
    axis: int,
) -> Array:
    most = _MOST_BITS + (not signed_input)
    bits = int(num_bits) if xp is np else num_bits
    ctx.check(
        1 <= bits <= most if xp is np else (bits >= 1) & (bits <= most),
        errors.InvalidArgumentError,
        lambda v: f"{ctx.op_name}: expected num_bits between 1 and {most}, got {v}.",
        num_bits,
    )
    ends = (input_min, input_max)
    return _run(ctx, xp, input, ends, bits, signed_input, range_given, narrow_range, axis, True)


@V3.gradient
def _pass_v3(op: Any, grad: Any) -> Any:
    return [grad, None, None, None]


def _grad_shape(c: ShapeContext) -> list[Dims]:
    axis = c.attr("axis")
    dims = c.merge(c.shape(0), c.shape(1))
    ends = _check_ends(c, (2, 3), dims, axis)
    if axis == -1:
        ends = ()
    return [dims, ends, ends]


V4_GRAD = define_op(
    f"QuantizeAndDequantizeV4Grad(gradients: T, input: T, input_min: T, input_max: T; {_TYPES}, "
    "axis: int = -1) -> input_backprop: T, input_min_backprop: T, input_max_backprop: T",
    shape=_grad_shape,
    doc="What flows back through QuantizeAndDequantizeV4: all within the range, none to its ends.",
).not_differentiable("whether a number lies within a range is no number")


@kernel(V4_GRAD)
def _run_v4_grad(
    xp: Any, gradients: Array, input: Array, input_min: Array, input_max: Array, *, axis: int
) -> tuple[Array, Array, Array]:
    low, high = (along(xp, end, axis, input.ndim) for end in (input_min, input_max))
    inside = (input >= low) & (input <= high)
    back = xp.where(inside, gradients, gradients.dtype.type(0))
    none = [xp.zeros(end.shape, end.dtype) for end in (input_min, input_max)]
    return back, none[0], none[1]


@V4.gradient
def _differentiate_v4(op: Any, grad: Any) -> Any:
    return list(execute(V4_GRAD, (grad, *op.inputs), {"axis": op.get_attr("axis")}))
