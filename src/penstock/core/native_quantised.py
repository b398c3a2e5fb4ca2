"""Floats as quantised integers, and those as floats, each in one pass of `native/quantise.h`.

Thread-safe: nothing is kept.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.native_arrays import LIBRARY
from penstock.core.native_library import processors

Array = Any  # numpy.ndarray
HALF_AWAY, HALF_TO_EVEN, HALF_UP = range(3)  # how halves are rounded
MOST = 1 << 22  # numbers up to which one native pass is ahead of compiled code
_ALONE = 1 << 18  # numbers up to which one thread works
_WIDEST = 2  # bytes of an integer


def is_served(dtype: np.dtype[Any]) -> bool:
    """Whether the library is in use and makes integers of this dtype."""
    return dtype.itemsize <= _WIDEST and LIBRARY.is_in_use()


def quantised(x: Array, levels: Sequence[Any], rounding: int, dtype: np.dtype[Any]) -> Array | None:
    """Floats held, scaled and rounded to integers, each step rounded to float32.

    None where the library is not in use or does not serve the dtypes or the rounding, or a level
    is NaN.

    Args:
      x: float32[...].
      levels: ten numbers that float32 holds. Each number is held between the first two; less the
        third, times the fourth, less the fifth; rounded; less the sixth, plus the seventh; held
        between the eighth and the ninth, and the last where it is NaN.
      rounding: HALF_AWAY (from zero), HALF_TO_EVEN or HALF_UP.
      dtype: of the integers, of 8 or 16 bits.
    """
    call = LIBRARY.function("quantise")
    if call is None or x.dtype != np.float32 or dtype.itemsize > _WIDEST:
        return None
    given = np.array(levels, np.float32)
    if np.isnan(given).any():
        return None
    result, threads = np.empty(x.shape, dtype), processors() if x.size > _ALONE else 1
    x = np.ascontiguousarray(x)
    done = call(x, x.size, given, rounding, dtype.itemsize, threads, result)
    return result if done == -1 else None


def floats_of(x: Array, more: Any, scale: Any, low: Any) -> Array | None:
    """`(x + more) * scale + low` of integers, each step rounded to float32.

    None where the library is not in use, or does not serve the dtype.

    Args:
      x: integers of 8 or 16 bits.
      more, scale, low: numbers that float32 holds; a `low` of -0.0 changes nothing.
    """
    call, dtype = LIBRARY.function("dequantise"), x.dtype
    if call is None or dtype.itemsize > _WIDEST or dtype.kind not in "iu":
        return None
    result, threads = np.empty(x.shape, np.float32), processors() if x.size > _ALONE else 1
    x, line = np.ascontiguousarray(x), np.array([more, scale, low], np.float32)
    done = call(x, x.size, dtype.itemsize, dtype.kind == "i", line, threads, result)
    return result if done == -1 else None


def products(x: Array, y: Array, x_zero: Any, y_zero: Any) -> Array | None:
    """The products of bytes, each less the integer that stands for its zero: int32, which wrap.

    None where the library is not in use, or does not serve the dtypes, or shapes differ.

    Args:
      x: uint8[...].
      y: of the same shape and dtype.
      x_zero, y_zero: int32[].
    """
    call = LIBRARY.function("quantised_product")
    if call is None or x.shape != y.shape or not x.dtype == y.dtype == np.uint8:
        return None
    result, threads = np.empty(x.shape, np.int32), processors() if x.size > _ALONE else 1
    zeros = np.array([x_zero, y_zero], np.int32)
    call(np.ascontiguousarray(x), np.ascontiguousarray(y), x.size, zeros, threads, result)
    return result


__all__ = [
    "HALF_AWAY",
    "HALF_TO_EVEN",
    "HALF_UP",
    "MOST",
    "floats_of",
    "is_served",
    "products",
    "quantised",
]
