"""Copies of arrays that compiled regions take as they are.

XLA reads an argument in place when it starts at a multiple of 64 bytes; else each call copies it.
"""

from typing import Any

import numpy as np

ALIGNMENT = 64  # bytes
LARGE = 1 << 16  # bytes from which on copying at each call costs more than aligning once


def aligned_copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy in C order; a large one starts at a multiple of 64 bytes."""
    size = array.nbytes
    if size < LARGE or array.dtype.hasobject:
        return array.copy()
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    result: np.ndarray[Any, Any] = (
        memory[start : start + size].view(array.dtype).reshape(array.shape)
    )
    result[...] = array
    return result
