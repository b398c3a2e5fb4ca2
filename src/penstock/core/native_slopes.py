"""1 by roots, and gradients by a function's result, in one pass of `native/arrays.cc`.

NumPy takes a pass for each step, on one thread. Results have the same bits. Each function returns
None where the library is not in use, the dtype is another, or NumPy takes no longer. Thread-safe.
"""

from typing import Any

import numpy as np

from penstock.core.native_arrays import LIBRARY
from penstock.core.native_library import processors

Array = Any  # numpy.ndarray
# The functions' numbers in `native/arrays.h`.
_ROOT_BELOW_ONE = 0
SIGMOID_BACK, TANH_BACK, ROOT_BACK, ROOT_BELOW_BACK, BELOW_BACK = range(1, 6)
_KINDS = {np.dtype(np.float32): 0, np.dtype(np.float64): 1}
_FEW = 4096  # elements below which several calls of NumPy's cost no more
_ALONE = 1 << 18  # elements up to which one thread works


def rsqrt(x: Array) -> Array | None:
    """1 by the root of each element of float32 or float64."""
    return _passed(_ROOT_BELOW_ONE, x, None) if x.size >= _FEW else None


def back(function: int, y: Array, dy: Array) -> Array | None:
    """What flows back through a function whose result is `y`.

    Args:
      function: SIGMOID_BACK .. BELOW_BACK.
      y: float32 or float64.
      dy: of the same dtype and number of elements.
    """
    return _passed(function, y, dy) if y.size >= _FEW else None


def _passed(function: int, y: Array, dy: Array | None) -> Array | None:
    kind, call = _KINDS.get(y.dtype), LIBRARY.function("slope")
    if kind is None or call is None:
        return None
    y = np.ascontiguousarray(y)
    dy = None if dy is None else np.ascontiguousarray(dy)
    result = np.empty(y.shape, y.dtype)
    threads = processors() if y.size > _ALONE else 1
    call(function, kind, y, dy, y.size, threads, result)
    return result
