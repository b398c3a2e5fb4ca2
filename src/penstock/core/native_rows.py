"""Sparse matrices in compressed rows by `native/rows.h`, part of the library of `native_arrays`.

A batch of matrices is one with its members along the diagonal. Each function returns None where the
library is not in use or does not serve the sizes. Thread-safe.
"""

import math
from typing import Any

import numpy as np

from penstock.core.native_arrays import LIBRARY

Array = Any  # numpy.ndarray
Dims = tuple[int, ...]  # (rows, columns), or (batch, rows, columns)
_SIZES = (4, 8, 16)  # bytes of a value
RIGHT, FALLING = -1, -2  # what `from_places` says; else the number of a place that is outside


def _narrow(dims: Dims, number: int) -> bool:
    """Whether all numbers of rows, columns and values have 32 bits."""
    batch = dims[0] if len(dims) == 3 else 1
    return max(number, batch * dims[-2], batch * dims[-1]) < (1 << 31) - 1


def from_places(
    places: Array, dims: Dims, dense: Array | None = None
) -> tuple[int, Array, Array, Array | None] | None:
    """The rows of a matrix from places in the order of their rows, int64[N, rank].

    Args:
      places: where values are.
      dims: of the matrix.
      dense: what has the values, of shape `dims`, if they are wanted.

    Returns:
      RIGHT, FALLING or the number of the first place that is outside; the columns along the
      diagonal and the ends of rows, int32; the values at the places.
    """
    call, number = LIBRARY.function("to_rows"), len(places)
    if call is None or len(dims) not in (2, 3) or places.shape[1:] != (len(dims),):
        return None
    if not _narrow(dims, number):
        return None
    if dense is not None and (dense.dtype.itemsize not in _SIZES or dense.shape != dims):
        return None
    columns = np.empty(number, np.int32)
    ends = np.empty(math.prod(dims[:-1]) + 1, np.int32)
    values = None
    if dense is not None:
        dense, values = np.ascontiguousarray(dense), np.empty(number, dense.dtype)
    size, given = 4 if values is None else values.itemsize, np.ascontiguousarray(places)
    sizes = len(dims), np.array(dims, np.int64)
    found = call(given, number, *sizes, dense, size, columns, ends, values)
    return found, columns, ends, values


def places_of(columns: Array, ends: Array, dims: Dims) -> Array | None:
    """The places of a matrix's values: int64[N, rank]."""
    call = LIBRARY.function("from_rows")
    if call is None or columns.dtype != np.int32 or ends.dtype != np.int32:
        return None
    places = np.empty((len(columns), len(dims)), np.int64)
    given = np.ascontiguousarray(columns), np.ascontiguousarray(ends)
    call(*given, len(dims), np.array(dims, np.int64), places)
    return places


def dense_of(columns: Array, ends: Array, dims: Dims, values: Array) -> Array | None:
    """The dense form of a matrix. Of values at one place the last one counts."""
    call = LIBRARY.function("dense_rows")
    if call is None or columns.dtype != np.int32 or ends.dtype != np.int32:
        return None
    if values.dtype.itemsize not in _SIZES:
        return None
    result = np.zeros(dims, values.dtype)
    given = np.ascontiguousarray(columns), np.ascontiguousarray(ends)
    values = np.ascontiguousarray(values)
    call(*given, len(dims), np.array(dims, np.int64), values, values.dtype.itemsize, result)
    return result
