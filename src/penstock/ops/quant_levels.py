"""The arithmetic that quantised operations share: limits, levels, rounding, ranges of results.

A quantised tensor comes with two scalars, the numbers that its lowest and its highest integer stand
for. `limits` says what those integers are; `level` is the distance of two neighbours, which counts
signed integers as symmetric (-127 to 127), so that 0 stands for 0; `product_range` is the range
of a product of two. Kernels are written against `xp`, as everywhere.

Source: Jacob et al., "Quantization and Training of Neural Networks for Efficient
Integer-Arithmetic-Only Inference", arXiv:1712.05877.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.shapes import ShapeContext
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray, jax.Array or a tracer
FLOAT = np.float32
LARGEST = float(np.finfo(FLOAT).max)
RANGES = 1024  # whose numbers are kept, for each function
_BELOW_HALF = {  # the float below 0.5: with a half it makes 1 when rounded, with less it does not
    np.dtype(kind).char: np.nextafter(kind(0.5), kind(0)) for kind in (np.float32, np.float64)
}


@functools.cache
def limits(dtype: DType) -> tuple[int, int]:
    """The lowest and highest integer of a quantised dtype."""
    info = np.iinfo(dtype.numpy_dtype)
    return int(info.min), int(info.max)


def levels_between(dtype: DType) -> int:
    """How many levels lie between the ends of a range: 255 for quint8, 254 for qint8."""
    low, high = limits(dtype)
    return high - max(low, -high)


def level(low: Array, high: Array, dtype: DType) -> Array:
    """The distance of two neighbouring integers: float32[...] as the ends of the range are."""
    return (high - low) / FLOAT(levels_between(dtype))


def product_range(step: Array, dtype: DType) -> tuple[Array, Array]:
    """The ends of a range whose integers of `dtype` lie `step` apart."""
    low, high = limits(dtype)
    return step * FLOAT(low), step * FLOAT(high)


def to_integers(xp: Any, values: Array, dtype: DType, low: int | None = None) -> Array:
    """Whole floats as integers of `dtype`; beyond its ends they are the ends, NaN is 0.

    Args:
      xp: the array namespace.
      values: float[...], rounded already.
      dtype: a quantised dtype.
      low: the lowest integer, when it is not that of the dtype.
    """
    least, most = limits(dtype)
    wide = values if _narrow(dtype) else values.astype(np.float64)
    least = least if low is None else low
    if xp is np:
        held = np.minimum(np.fmax(wide, wide.dtype.type(least)), wide.dtype.type(most))
        if least:  # else NaN is 0 already
            held = np.where(np.isnan(wide), wide.dtype.type(0), held)
        return held.astype(dtype.numpy_dtype)
    held = xp.clip(wide, wide.dtype.type(least), wide.dtype.type(most))
    return xp.where(xp.isnan(wide), wide.dtype.type(0), held).astype(dtype.numpy_dtype)


def _narrow(dtype: DType) -> bool:
    """Whether float32 holds all the integers."""
    return limits(dtype)[1] < 1 << 16


def to_steps(xp: Any, x: Array, low: Array, high: Array, dtype: DType) -> Array:
    """Floats as whole numbers of steps, not yet held within the integers (mode MIN_FIRST).

    The lower end is rounded to a whole number of steps first, so that 0.0 is one exactly.

    Args:
      xp: the array namespace.
      x: float[...].
      low, high: the range, in shapes that broadcast.
      dtype: the quantised dtype.

    Returns:
      float64[...], or float32[...] of float32 and integers that float32 holds; 0 everywhere when
      the range is empty.
    """
    kind = x.dtype.type if _narrow(dtype) else np.float64
    if xp is np and low.ndim == 0:
        per_unit, first = known_scaling(low, high, kind, dtype)
    else:
        per_unit, first = _scaling(xp, low, high, kind, dtype)
    return half_away(xp, x.astype(kind) * per_unit) - first + kind(limits(dtype)[0])


def _scaling(xp: Any, low: Array, high: Array, kind: Any, dtype: DType) -> tuple[Array, Array]:
    """How many steps one is, and the lower end in whole steps, as floats of `kind`."""
    least, most = limits(dtype)
    size = (high - low).astype(kind)
    empty = size == 0
    per_unit = xp.where(empty, kind(0), kind(most - least) / xp.where(empty, kind(1), size))
    return per_unit, half_away(xp, low.astype(kind) * per_unit)


def known_scaling(low: Array, high: Array, kind: Any, dtype: DType) -> tuple[Array, Array]:
    """How many steps one is, and the lower end in whole steps, on the host.

    Args:
      low, high: the range, scalars of one dtype.
      kind: of the results, np.float32 or np.float64.
      dtype: the quantised dtype.
    """
    return _known_scaling(low.tobytes(), high.tobytes(), low.dtype, kind, dtype)


@functools.lru_cache(RANGES)
def _known_scaling(
    low: bytes, high: bytes, floats: np.dtype[Any], kind: Any, dtype: DType
) -> tuple[Array, Array]:
    """The same of two numbers, by their bits: they take NumPy longer than a small tensor."""
    first, last = [np.frombuffer(end, floats)[0] for end in (low, high)]
    return _scaling(np, first, last, kind, dtype)


def to_floats(xp: Any, x: Array, low: Array, high: Array, dtype: DType) -> Array:
    """Integers as the numbers that they stand for, evenly from end to end.

    Args:
      xp: the array namespace.
      x: integers of the quantised dtype.
      low, high: the range, in shapes that broadcast.
      dtype: the quantised dtype.

    Returns:
      float64[...].
    """
    least, most = limits(dtype)
    low = low.astype(np.float64)
    step = (high.astype(np.float64) - low) / (most - least)
    return low + (x.astype(np.float64) - least) * step


def to_floats_by_steps(xp: Any, x: Array, low: Array, high: Array, dtype: DType) -> Array:
    """As `to_floats`, with the lower end moved to a whole number of steps, so that one is 0.0.

    Args:
      xp: the array namespace.
      x: integers of the quantised dtype.
      low, high: the range, float32, in shapes that broadcast.
      dtype: the quantised dtype.

    Returns:
      float64[...].
    """
    least, most = limits(dtype)
    step = (high - low) / FLOAT(most - least)
    empty = step == 0
    first = half_away(xp, low / xp.where(empty, FLOAT(1), step)).astype(np.float64)
    return xp.where(empty, low, first * step) + (x.astype(np.float64) - least) * step


def half_away(xp: Any, values: Array) -> Array:
    """Rounded to whole numbers, halves away from zero."""
    if xp is np:
        more = np.copysign(_BELOW_HALF[values.dtype.char], values)
        return np.trunc(values + more) + values.dtype.type(0)
    whole = xp.trunc(values)
    return whole + xp.where(xp.abs(values - whole) >= 0.5, xp.sign(values), values.dtype.type(0))


def half_up(xp: Any, values: Array) -> Array:
    """Rounded to whole numbers, halves towards positive infinity; the sum is in the same dtype."""
    return xp.floor(values + values.dtype.type(0.5))


def along(xp: Any, values: Array, axis: int, rank: int) -> Array:
    """A value for each slice along `axis`, in a shape that broadcasts; scalars when it is -1."""
    if axis == -1:
        return values.reshape(())
    return values.reshape([-1 if i == axis else 1 for i in range(rank)])


def scalars(c: ShapeContext, positions: Sequence[int]) -> None:
    """Checks in a shape rule that these inputs are scalars."""
    for i in positions:
        c.rank(i, 0)


def one_each(c: ShapeContext, positions: Sequence[int], dims: Dims, axis: int) -> Dims:
    """Checks the inputs that hold a range: single numbers, or one for each slice along an axis.

    Args:
      c: the context of the shape rule.
      positions: the inputs that hold ends of ranges.
      dims: the shape of the values.
      axis: -1 for one range.

    Returns:
      What is known of the shape of the ends.
    """
    if axis < -1:
        c.fail("an axis of -1 or at least 0", f"{axis}", "Count it from the front.")
    if axis == -1:
        for i in positions:
            size = d.num_elements(c.shape(i))
            if size not in (None, 1):
                c.fail("one number for the range", f"shape {d.text(c.shape(i))}", "Say an axis.")
        return c.shape(positions[0])
    if dims is not None and axis >= len(dims):
        c.fail(f"an axis below the rank {len(dims)}", f"{axis}")
    known: Dims = (dims[axis],) if dims is not None else (None,)
    for i in positions:
        known = c.merge(known, c.rank(i, 1))
    return known


def check_order(ctx: Any, xp: Any, low: Array, high: Array, names: tuple[str, str]) -> None:
    """Fails the step unless `low <= high`, everywhere.

    Args:
      ctx: the kernel's context.
      xp: the array namespace.
      low, high: the ends of ranges.
      names: what the operation calls them.
    """
    if xp is np and low.ndim == high.ndim == 0 and float(low) <= float(high):
        return  # in a tenth of the time
    op = ctx.op_name
    ctx.check(
        xp.all(low <= high),
        errors.InvalidArgumentError,
        lambda a, b: f"{op}: expected {names[0]} <= {names[1]}, got {a} and {b}. Exchange them.",
        low,
        high,
    )
