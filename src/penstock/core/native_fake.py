"""Fake quantisation in one pass of `native/arrays.cc`: rounding to steps, and what flows back.

Each function returns None where the library is not in use. Thread-safe: nothing is kept.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.native_arrays import LIBRARY
from penstock.core.native_library import processors

Array = Any  # numpy.ndarray
_ALONE = 1 << 17  # numbers up to which one thread works


def packed(steps: Sequence[Array]) -> Array | None:
    """Ranges as the functions below take them: float32[5, C]; None where an end is no number.

    Args:
      steps: the lower and the upper end, the steps from the lower one to zero, a step, and the
        steps of 1: float32[] or float32[C] each.
    """
    together = np.array([each.reshape(-1) for each in steps], np.float32)
    return together if together.size and np.isfinite(together).all() else None


def rounded(x: Array, ranges: Array, divides: bool) -> Array | None:
    """Numbers rounded to the steps of ranges, each channel to those of its own.

    Args:
      x: float32[..., C], or of any shape for one range.
      ranges: of `packed`.
      divides: whether a step divides, else the steps of 1 multiply.
    """
    call = LIBRARY.function("fake_steps")
    if call is None:
        return None
    result, channels = np.empty(x.shape, np.float32), ranges.shape[1]
    x = np.ascontiguousarray(x)  # which has an axis where there was none
    call(x, x.size // channels, channels, ranges, divides, _threads(x), result)
    return result


def back(gradients: Array, x: Array, ranges: Array) -> tuple[Array, Array, Array] | None:
    """What flows back to the numbers within their range, and to its ends: float32[C] each."""
    call = LIBRARY.function("fake_steps_back")
    if call is None:
        return None
    channels = ranges.shape[1]
    result, (low, high) = np.empty(x.shape, np.float32), np.empty((2, channels), np.float32)
    sizes = x.size // channels, channels, ranges, _threads(x)
    given = np.ascontiguousarray(gradients), np.ascontiguousarray(x), *sizes, result, low, high
    if call(*given) != -1:
        raise MemoryError("fake quantisation: there is no memory left for the sums of gradients")
    return result, low, high


def _threads(x: Array) -> int:
    return processors() if x.size > _ALONE else 1
