"""Floats to quantised integers and back: `quantize`, `dequantize`.

A mode says what the integers mean. MIN_COMBINED spreads them evenly from end to end of the range;
MIN_FIRST rounds the lower end first, so that 0 stays 0 however often a tensor goes to and fro;
SCALED multiplies alone, with the largest factor that keeps the range within the integers.
"""

import functools
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.kernels import HOST_LIMIT, TooMuchWork, host_kernel, kernel
from penstock.core.native_quantised import (
    HALF_AWAY,
    HALF_TO_EVEN,
    MOST,
    floats_of,
    is_served,
    quantised,
)
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.quant_host import TABLES, Key, ends_of, every_byte, is_byte, key, looked_up
from penstock.ops.quant_levels import (
    FLOAT,
    LARGEST,
    Array,
    along,
    check_order,
    half_away,
    known_scaling,
    limits,
    one_each,
    to_floats_by_steps,
    to_integers,
    to_steps,
)
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

_FEW = 4096  # bytes that a table makes floats sooner than arithmetic does
_MODES = "mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'"


def _offset(dtype: DType) -> float:
    """What MIN_COMBINED subtracts so that signed integers lie around zero: half of them."""
    low, high = limits(dtype)
    return (high - low + 1) / 2 if low < 0 else 0.0


def _check_mode(ctx: Any, axis: int, mode: str) -> None:
    if mode == "MIN_FIRST" and axis != -1:
        raise errors.UnimplementedError(
            None,
            None,
            f"{ctx.op_name}: expected axis=-1 with mode MIN_FIRST, got axis={axis}. Use mode "
            "SCALED or MIN_COMBINED for a range of each slice.",
        )


# ---- to integers


def _quantize_shape(c: ShapeContext) -> list[Dims]:
    if c.attr("mode") != "SCALED" and c.attr("round_mode") != "HALF_AWAY_FROM_ZERO":
        c.fail(
            "round_mode HALF_AWAY_FROM_ZERO with every mode but SCALED",
            f"{c.attr('round_mode')} with {c.attr('mode')}",
        )
    ends = one_each(c, (1, 2), c.shape(0), c.attr("axis"))
    ends = () if c.attr("axis") == -1 else ends
    return [c.shape(0), ends, ends]


QUANTIZE = define_op(
    f"QuantizeV2(input: float, min_range: float, max_range: float; T: quantizedtype, {_MODES}, "
    "round_mode: {'HALF_AWAY_FROM_ZERO', 'HALF_TO_EVEN'} = 'HALF_AWAY_FROM_ZERO', narrow_range: "
    "bool = False, axis: int = -1, ensure_minimum_range: float = 0.01) -> output: T, output_min: "
    "float, output_max: float",
    shape=_quantize_shape,
    fallible=True,
    doc="Floats as quantised integers, with the range that they stand for.",
)


def _with_zero(xp: Any, low: Array, high: Array, least: float) -> tuple[Array, Array]:
    """The range widened to hold zero, and to a least size in proportion to its ends."""
    zero, one = FLOAT(0), FLOAT(1)
    low = xp.minimum(zero, low)
    size = xp.maximum(one, xp.maximum(xp.abs(low), xp.abs(high))) * FLOAT(least)
    return low, xp.maximum(zero, xp.maximum(high, low + size))


def _min_combined(xp: Any, x: Array, low: Array, high: Array, dtype: DType) -> Array:
    least, most = limits(dtype)
    scale = FLOAT(most - least) / (high - low)
    inside = xp.maximum(xp.minimum(x, high), low)
    return half_away(xp, (inside - low) * scale - FLOAT(_offset(dtype)))


def _factor(
    xp: Any, low: Array, high: Array, dtype: DType, narrow: bool
) -> tuple[Array, Array, Array]:
    """The largest factor that keeps a range within the integers, and the range of them all."""
    least, most = limits(dtype)
    least += int(narrow)
    from_low = xp.where(least * low > 0, FLOAT(least) / low, FLOAT(LARGEST))
    from_high = xp.where(most * high > 0, FLOAT(most) / high, FLOAT(LARGEST))
    scale = xp.minimum(from_low, from_high)
    return scale, FLOAT(least) / scale, FLOAT(most) / scale


def _scaled(
    xp: Any, x: Array, low: Array, high: Array, dtype: DType, narrow: bool, even: bool
) -> tuple[Array, Array, Array]:
    scale, low, high = _factor(xp, low, high, dtype, narrow)
    steps = xp.maximum(xp.minimum(x, high), low) * scale
    return (xp.rint(steps) if even else half_away(xp, steps)), low, high


def _in_one_pass(
    x: Array, low: Array, high: Array, dtype: DType, mode: str, narrow: bool, even: bool
) -> tuple[Array, Array, Array] | None:
    """The same numbers by the native library, for one range; None where it does not serve it."""
    if not is_served(dtype.numpy_dtype):
        return None
    (least, most), rounding = limits(dtype), HALF_AWAY
    levels: tuple[Any, ...]  # scalars of NumPy's, and numbers
    if mode == "SCALED":
        scale, low, high = _factor(np, low, high, dtype, narrow)
        levels = (low, high, 0, scale, 0, 0, 0, least + int(narrow), most, 0)
        rounding = HALF_TO_EVEN if even else HALF_AWAY
    elif mode == "MIN_COMBINED":
        scale = FLOAT(most - least) / (high - low)
        levels = (low, high, low, scale, _offset(dtype), 0, 0, least, most, 0)
    else:
        per_unit, first = known_scaling(low, high, FLOAT, dtype)
        levels = (-np.inf, np.inf, 0, per_unit, 0, first, least, least, most, 0)
    found = quantised(x, levels, rounding, dtype.numpy_dtype)
    return None if found is None else (found, low, high)


@kernel(QUANTIZE)
def _quantize(
    ctx: Any,
    xp: Any,
    input: Array,
    min_range: Array,
    max_range: Array,
    *,
    T: DType,
    mode: str,
    round_mode: str,
    narrow_range: bool,
    axis: int,
    ensure_minimum_range: float,
) -> tuple[Array, Array, Array]:
    _check_mode(ctx, axis, mode)
    check_order(ctx, xp, min_range, max_range, ("min_range", "max_range"))
    shape = (-1,) if axis != -1 else ()
    low, high = _with_zero(
        xp, min_range.reshape(shape), max_range.reshape(shape), ensure_minimum_range
    )
    even = round_mode == "HALF_TO_EVEN"
    if xp is np and axis == -1:
        found = _in_one_pass(input, low, high, T, mode, narrow_range, even)
        if found is not None:
            return found
    first, last = (along(xp, end, axis, input.ndim) for end in (low, high))
    if mode == "SCALED":
        steps, first, last = _scaled(xp, input, first, last, T, narrow_range, even)
        low, high = first.reshape(shape), last.reshape(shape)
        return to_integers(xp, steps, T, limits(T)[0] + int(narrow_range)), low, high
    steps = (_min_combined if mode == "MIN_COMBINED" else to_steps)(xp, input, first, last, T)
    return to_integers(xp, steps, T), low, high


@host_kernel(QUANTIZE, limit=MOST, singly=True)
def _quantize_singly(
    ctx: Any,
    input: Array,
    min_range: Array,
    max_range: Array,
    *,
    T: DType,
    mode: str,
    round_mode: str,
    narrow_range: bool,
    axis: int,
    ensure_minimum_range: float,
) -> tuple[Array, Array, Array]:
    if input.size > HOST_LIMIT and (axis != -1 or not is_served(T.numpy_dtype)):
        raise TooMuchWork
    found: tuple[Array, Array, Array] = _quantize(
        ctx, np, input, min_range, max_range, T=T, mode=mode, round_mode=round_mode,
        narrow_range=narrow_range, axis=axis, ensure_minimum_range=ensure_minimum_range,
    )  # fmt: skip
    return found


QUANTIZE.not_differentiable("integers have no derivatives")


# ---- and back


def _dequantize_shape(c: ShapeContext) -> Dims:
    if c.attr("dtype") is dt.bfloat16 and c.attr("mode") != "MIN_COMBINED":
        c.fail("mode MIN_COMBINED for bfloat16", c.attr("mode"), "Ask for float32 and cast.")
    one_each(c, (1, 2), c.shape(0), max(c.attr("axis"), -1))
    return c.shape(0)


DEQUANTIZE = define_op(
    f"Dequantize(input: T, min_range: float, max_range: float; T: quantizedtype, {_MODES}, "
    "narrow_range: bool = False, axis: int = -1, dtype: {bfloat16, float} = float) -> "
    "output: dtype",
    shape=_dequantize_shape,
    doc="Quantised integers as the floats that they stand for.",
).not_differentiable("integers have no derivatives")


@kernel(DEQUANTIZE)
def _dequantize(
    ctx: Any,
    xp: Any,
    input: Array,
    min_range: Array,
    max_range: Array,
    *,
    T: DType,
    mode: str,
    narrow_range: bool,
    axis: int,
    dtype: DType,
) -> Array:
    axis = max(axis, -1)
    _check_mode(ctx, axis, mode)
    if xp is np and axis == -1 and is_byte(T) and input.size <= _FEW:
        known = key(min_range, max_range)
        return looked_up(_float_table(known, T, mode, narrow_range, dtype), input)
    if xp is np and axis == -1 and dtype is dt.float32 and mode != "MIN_FIRST":
        found = _floats_in_one_pass(
            input, min_range.reshape(()), max_range.reshape(()), T, mode, narrow_range
        )
        if found is not None:
            return found
    low, high = (along(xp, end, axis, input.ndim) for end in (min_range, max_range))
    return _as_floats(xp, input, low, high, T, mode, narrow_range, dtype)


@functools.lru_cache(TABLES)
def _float_table(known: Key, T: DType, mode: str, narrow: bool, dtype: DType) -> Array:
    """What every byte stands for, of `dtype`."""
    low, high = ends_of(known)
    return _as_floats(np, every_byte(T), low, high, T, mode, narrow, dtype)


def _as_floats(
    xp: Any, input: Array, low: Array, high: Array, T: DType, mode: str, narrow: bool, dtype: DType
) -> Array:
    """Integers as floats; the ends in shapes that broadcast."""
    if mode == "MIN_FIRST":
        result = to_floats_by_steps(xp, input, low, high, T)
    else:
        scale = _step(xp, low, high, T, mode, narrow)
        result = input.astype(FLOAT)
        if mode == "MIN_COMBINED":
            result = (result + FLOAT(_offset(T))) * scale + low
        else:
            result = result * scale
    return result.astype(dtype.numpy_dtype)


def _step(xp: Any, low: Array, high: Array, T: DType, mode: str, narrow: bool) -> Array:
    """What neighbouring integers are apart; not for MIN_FIRST."""
    least, most = limits(T)
    if mode == "MIN_COMBINED":
        return (high - low) / FLOAT(most - least)
    scale = high / FLOAT(most)
    if least < 0:
        scale = xp.maximum(low / FLOAT(least + int(narrow)), scale)
    return scale


def _floats_in_one_pass(
    x: Array, low: Array, high: Array, T: DType, mode: str, narrow: bool
) -> Array | None:
    """The same numbers by the native library, for one range; None where it does not serve it."""
    scale = _step(np, low, high, T, mode, narrow)
    return floats_of(x, *((_offset(T), scale, low) if mode == "MIN_COMBINED" else (0, scale, -0.0)))


@host_kernel(DEQUANTIZE, limit=MOST, singly=True)
def _dequantize_singly(
    ctx: Any,
    input: Array,
    min_range: Array,
    max_range: Array,
    *,
    T: DType,
    mode: str,
    narrow_range: bool,
    axis: int,
    dtype: DType,
) -> Array:
    served = axis < 0 and mode != "MIN_FIRST" and dtype is dt.float32 and is_served(T.numpy_dtype)
    if input.size > HOST_LIMIT and not served:
        raise TooMuchWork
    attrs = {"T": T, "mode": mode, "narrow_range": narrow_range, "axis": axis, "dtype": dtype}
    return _dequantize(ctx, np, input, min_range, max_range, **attrs)
