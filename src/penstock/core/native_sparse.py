"""Places of sparse tensors' elements, by `native/sparse_places.h`.

Part of the library of `native_arrays`. Each function returns None, or False, where the library is
not in use. Thread-safe.
"""

from typing import Any

import numpy as np

from penstock.core.native_arrays import LIBRARY, floating_kind

Array = Any  # numpy.ndarray
FALLING, LEVEL, RISING = range(3)  # the order of places: LEVEL where equal ones follow each other


def bounds(places: Array) -> tuple[list[int], list[int], int] | None:
    """The smallest and largest index of each column of int64[N, R], and in what order places are.

    None also for no places, or no columns.
    """
    call = LIBRARY.function("bounds")
    if call is None or not places.size or places.dtype != np.int64:
        return None
    number, rank = places.shape
    found = np.empty((2, rank), np.int64)
    order = call(np.ascontiguousarray(places), number, rank, found[0], found[1])
    low, high = found.tolist()
    return low, high, order


def united(a: Array, b: Array) -> tuple[Array, Array, Array] | None:
    """The places of two sparse tensors, int64[N, R] and int64[M, R], together.

    Returns:
      The places in row-major order, int64[K, R], and for each its row in `a` and in `b`, -1 where
      it is not there. None also where places of one do not rise.
    """
    call = LIBRARY.function("unite")
    if call is None or a.dtype != np.int64 or b.dtype != np.int64 or not a.shape[1]:
        return None
    (a_count, rank), b_count = a.shape, len(b)
    a, b, most = np.ascontiguousarray(a), np.ascontiguousarray(b), a_count + b_count
    places, first, second = (np.empty(size, np.int64) for size in ((most, rank), most, most))
    found = call(a, a_count, b, b_count, rank, places, first, second)
    return None if found < 0 else (places[:found], first[:found], second[:found])


def added_product(places: Array, row_axis: int, values: Array, dense: Array, result: Array) -> bool:
    """Adds the product of a sparse matrix and a dense one [M, K] to `result`, [N, K].

    Args:
      places: int32 or int64[P, 2], inside of the matrix.
      row_axis: which index is the row.
      values: [P]; float32 or float64, as `dense` and `result`, are served.
      dense: the other factor.
      result: written to, element after element; dense in memory.

    Returns:
      Whether it was done.
    """
    call, kind = LIBRARY.function("product"), floating_kind(result.dtype)
    if call is None or kind is None or values.dtype != result.dtype or dense.dtype != result.dtype:
        return False
    places, values, dense = map(np.ascontiguousarray, (places, values, dense))
    wide, width = places.dtype.itemsize == 8, dense.shape[1]
    call(kind, places, wide, len(places), row_axis, values, dense, width, result)
    return True
