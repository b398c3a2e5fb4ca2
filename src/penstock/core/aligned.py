"""Arrays that compiled regions take as they are.

XLA reads an argument in place when it starts at a multiple of 64 bytes; else each call copies it.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.util.frames import at_user_line

ALIGNMENT = 64  # bytes
LARGE = 1 << 16  # bytes from which on copying at each call costs more than aligning once


def aligned_copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy in C order; a large one starts at a multiple of 64 bytes."""
    if array.nbytes < LARGE or array.dtype.hasobject:
        return array.copy()
    result = _aligned(np.empty, array.shape, array.dtype)
    result[...] = array
    return result


def aligned_full(shape: Sequence[int], value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array of one value; a large one starts at a multiple of 64 bytes."""
    if math.prod(shape) * dtype.itemsize < LARGE or dtype.hasobject:
        return np.zeros(shape, dtype) if value == 0 else np.full(shape, value, dtype)
    if value == 0:
        return _aligned(np.zeros, shape, dtype)  # pages that nobody writes to take no memory
    result = _aligned(np.empty, shape, dtype)
    result.fill(value)
    return result


def _aligned(
    make: Callable[..., Any], shape: Sequence[int], dtype: np.dtype[Any]
) -> np.ndarray[Any, Any]:
    size = math.prod(shape) * dtype.itemsize
    try:
        memory = make(size + ALIGNMENT, np.uint8)
    except MemoryError as problem:
        raise errors.ResourceExhaustedError(
            None,
            None,
            f"OOM when allocating an array of shape {list(shape)}: expected {size:,} bytes of"
            f" memory, got none. Take smaller sizes.{at_user_line()}",
        ) from problem
    start = -memory.ctypes.data % ALIGNMENT
    result: np.ndarray[Any, Any] = memory[start : start + size].view(dtype).reshape(shape)
    return result
