"""What draws of classes and points take, by `native/draws.h`, part of the library of arrays.

Each function returns None where the library is not in use, or does not serve the sizes.
Thread-safe.
"""

from typing import Any

import numpy as np

from penstock.core.native_arrays import LIBRARY, checked
from penstock.core.native_library import processors

Array = Any  # numpy.ndarray
BITS = 32  # of a number of Sobol's sequence
_ALONE = 1 << 15  # distances up to which one thread computes them


def weighted(weights: Array, blocks: Array, values: Array) -> Array | None:
    """In which class's part of [0, total) each value lies: int64[M].

    Args:
      weights: of classes, int64[B, size], in blocks.
      blocks: their sums, int64[B].
      values: int64[M], at least 0 and below the sum of all.
    """
    call = LIBRARY.function("weighted")
    if call is None:
        return None
    found = np.empty(len(values), np.int64)
    given = np.ascontiguousarray(values), len(values), found
    if call(weights, blocks, *weights.shape, *given) != -1:
        raise MemoryError("native draws: there is no memory left for sums of weights")
    return found


def by_powers(exponents: Array, scale: float, size: int) -> Array | None:
    """The whole part of e to the power of scaled numbers, less 1, modulo `size`: int64[M].

    Args:
      exponents: float64[M], at least 0.
      scale: what they are multiplied by; no product is above 43.
      size: at least 1.
    """
    call = LIBRARY.function("by_powers")
    if call is None:
        return None
    found = np.empty(len(exponents), np.int64)
    given = np.ascontiguousarray(exponents), len(exponents), np.array([scale])
    call(*given, size, found)
    return found


def far_apart(points: Array, count: int, tries: int, first: Array, uniform: Array) -> Array | None:
    """Where some points are that are far from each other: int64[count].

    Each is drawn in proportion to its squared distance from those before, the best of some draws.

    Args:
      points: float32[N, D], N at least 1.
      count: at least 1 and at most N.
      tries: draws of each beyond one.
      first: int64[1 + tries], places of points: the first is the best of them.
      uniform: float32[(count - 1) * (1 + tries)], in [0, 1): what the others are drawn by.
    """
    call = LIBRARY.function("far_apart")
    if call is None:
        return None
    found = np.empty(count, np.int64)
    given = np.ascontiguousarray(points), *points.shape, count, tries, first, uniform, found
    if call(*given) != -1:
        raise MemoryError("native draws: there is no memory left for distances")
    return found


def nearest(points: Array, centers: Array, k: int) -> tuple[Array, Array] | None:
    """Where the k nearest centres of points stand, and how far they are, squared: [N, k] each.

    Of int64 and float32. The nearest is the first, and of equal ones the first; NaN is the last.

    Args:
      points: float32[N, D].
      centers: float32[C, D].
      k: at least 0 and at most C.
    """
    call = LIBRARY.function("nearest")
    if call is None:
        return None
    points, centers = np.ascontiguousarray(points), np.ascontiguousarray(centers)
    places, away = np.empty((len(points), k), np.int64), np.empty((len(points), k), np.float32)
    threads = processors() if len(points) * len(centers) > _ALONE else 1
    checked(call(points, *points.shape, centers, len(centers), k, threads, places, away))
    return places, away


def sobol(directions: Array, first: int, count: int, dtype: np.dtype[Any]) -> Array | None:
    """Points of Sobol's sequence: float32 or float64[count, D], in [0, 1).

    Args:
      directions: uint32[D, BITS], that of the lowest bit first.
      first: the number of the first point; the origin has 0.
      count: how many; first + count is below 2^31.
      dtype: of the points.
    """
    call = LIBRARY.function("sobol")
    if call is None:
        return None
    found = np.empty((count, len(directions)), dtype)
    call(directions, len(directions), first, count, dtype.itemsize == 8, found)
    return found


def hits(keys: Array, wanted: Array) -> tuple[Array, Array] | None:
    """Where wanted keys, int64[R, W], are among others, int64[N]: int32 rows, int64 last places."""
    call, size = LIBRARY.function("hits"), wanted.size
    if call is None or len(keys) >= 1 << 30 or not size:
        return None
    rows, places = np.empty(size, np.int32), np.empty(size, np.int64)
    held = np.ascontiguousarray(keys), np.ascontiguousarray(wanted)
    found = checked(call(held[0], len(keys), held[1], *wanted.shape, rows, places))
    return rows[:found], places[:found]
