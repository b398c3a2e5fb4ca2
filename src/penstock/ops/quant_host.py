"""What kernels on the host make once for a range: tables of all bytes, zero points, other ranges.

NumPy takes as long for one number as for some hundred, and a range is two numbers with which a
kernel computes a dozen others before it looks at its tensor. Ranges of weights and activations come
back from call to call, so what follows from a range alone is kept here, for the ranges of late. A
tensor of bytes holds at most 256 different numbers: what a kernel does to each of them for itself
is a table, made by the same functions that compiled kernels are made of (`quant_levels`), so its
numbers are theirs bit for bit.

Ranges are given as `key` makes them, by their bits: 0.0, -0.0 and NaN are ranges of their own.
Results are scalars, and tables that are read alone. Thread-safe.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.ops.quant_levels import (
    FLOAT,
    RANGES,
    level,
    product_range,
    to_floats,
    to_integers,
    to_steps,
)
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
Key = tuple[bytes, ...]
TABLES = 256  # of 256 numbers, for each function


def key(*ends: Array) -> Key:
    """What ranges are known by: float32[] each."""
    return tuple([end.tobytes() for end in ends])


def ends_of(known: Key) -> list[Any]:
    """The ends of ranges as scalars again, float32 each."""
    return [np.frombuffer(each, FLOAT)[0] for each in known]


def is_byte(dtype: DType) -> bool:
    """Whether a quantised dtype has 8 bits."""
    return dtype.numpy_dtype.itemsize == 1


def looked_up(table: Array, x: Array) -> Array:
    """The table's entry for each byte of `x`."""
    return table.take(x if x.dtype.kind == "u" else x.view(np.uint8))


def padded(x: Array, pads: Sequence[tuple[int, int]], fill: Any) -> Array:
    """`x`, by rows, with so many of a number before and behind it along each axis.

    `np.pad` takes ten times as long.
    """
    if not any(map(any, pads)):
        return x if x.flags.c_contiguous else np.ascontiguousarray(x)
    result = np.empty([n + sum(p) for n, p in zip(x.shape, pads, strict=True)], x.dtype)
    result.fill(fill)
    result[tuple([slice(p, p + n) for n, (p, _) in zip(x.shape, pads, strict=True)])] = x
    return result


def window_view(
    x: Array,
    out: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> Array:
    """A view of what a window sees at each of its places: [*out, *sizes].

    Args:
      x: by rows, padded already.
      out: how many places the window has along each axis.
      sizes, strides, dilations: of the window along each axis.
    """
    steps = [n * s for n, s in zip(x.strides, strides, strict=True)]
    inner = [n * s for n, s in zip(x.strides, dilations, strict=True)]
    return np.ndarray((*out, *sizes), x.dtype, x, 0, (*steps, *inner))


@functools.cache
def every_byte(dtype: DType) -> Array:
    """All numbers of an 8-bit dtype, in the order of their bits."""
    return np.arange(256, dtype=np.uint8).view(dtype.numpy_dtype)


@functools.lru_cache(RANGES)
def known_zero_point(known: Key, dtype: DType) -> Any:
    """The integer that stands for 0.0: int32, beyond the limits where the range lacks zero."""
    low, high = ends_of(known)
    return np.int32(to_steps(np, np.zeros_like(low), low, high, dtype).astype(np.int32))


@functools.lru_cache(RANGES)
def known_level(known: Key, value: float, dtype: DType) -> Any:
    """The integer of `dtype`, held within its limits, that stands for a number."""
    low, high = ends_of(known)
    steps = to_steps(np, np.zeros_like(low) + FLOAT(value), low, high, dtype)
    return to_integers(np, steps, dtype)


@functools.lru_cache(RANGES)
def known_product_range(known: Key, dtypes: tuple[DType, DType], out: DType) -> tuple[Any, Any]:
    """The ends of the range of a product: float32 each."""
    first, last, other_first, other_last = ends_of(known)
    step = level(first, last, dtypes[0]) * level(other_first, other_last, dtypes[1])
    return product_range(step, out)


def floats_of_bytes(xp: Any, x: Array, low: Array, high: Array, dtype: DType) -> Array:
    """`to_floats` of numbers of 8 bits: float64[...]."""
    if xp is np:
        return looked_up(_byte_floats(key(low, high), dtype), x)
    return to_floats(xp, x, low, high, dtype)


@functools.lru_cache(TABLES)
def _byte_floats(known: Key, dtype: DType) -> Array:
    low, high = ends_of(known)
    return to_floats(np, every_byte(dtype), low, high, dtype)
