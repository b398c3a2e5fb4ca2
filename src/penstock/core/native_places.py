"""Numbers of rows by `native/places.h`, part of the library of `native_arrays`.

Each function returns None where the library is not in use, or does not serve what it is given:
numbers that are outside, dtypes that it has no code for. Thread-safe.
"""

import math
from typing import Any

import numpy as np

from penstock.core.native_arrays import (
    ALL_INSIDE,
    LIBRARY,
    checked,
    combined,
    is_wide,
    kind_of,
    word_size,
)

Array = Any  # numpy.ndarray
_INDICES = {np.dtype(t): i for i, t in enumerate((np.int32, np.int64, np.int8, np.uint8), 2)}
_MARKED = 16  # times as many rows as numbers, up to which each row is marked


def flat_rows(positions: Array, dims: tuple[int, ...]) -> Array | None:
    """The number of the row at each position in the first axes of `dims`: int64[N].

    None where a position is outside, too.

    Args:
      positions: int32 or int64[..., depth], depth at most len(dims).
      dims: the shape.
    """
    call, wide = LIBRARY.function("flatten"), is_wide(positions)
    if call is None or wide is None:
        return None
    depth = positions.shape[-1]
    positions, sizes = np.ascontiguousarray(positions), np.array(dims[:depth], np.int64)
    found = np.empty(math.prod(positions.shape[:-1]), np.int64)
    return found if call(positions, wide, len(found), depth, sizes, found) < 0 else None


def marked(indices: Array, axis: int, depth: int, on: Array, off: Array) -> Array | None:
    """`on` at the place along a new axis that each index names, `off` elsewhere.

    None where the library is not in use or has no code for a dtype.

    Args:
      indices: uint8, int8, int32 or int64, any shape; those outside of the axis mark nothing.
      axis: where the new one is.
      depth: its size.
      on: scalar.
      off: scalar of the same dtype.
    """
    call, kind, size = LIBRARY.function("mark"), _INDICES.get(indices.dtype), word_size(on.dtype)
    if call is None or kind is None or size is None:
        return None
    dims = indices.shape
    out = np.empty((*dims[:axis], depth, *dims[axis:]), on.dtype)
    outer, inner = math.prod(dims[:axis]), math.prod(dims[axis:])
    call(kind, np.ascontiguousarray(indices), outer, depth, inner, on, off, size, out)
    return out


def scattered(operation: int, result: Array, positions: Array, updates: Array) -> bool:
    """Whether updates were combined into `result` at positions; if not, nothing was written.

    Not so where a position is outside or a dtype has no code, say.

    Args:
      operation: one of `native_arrays`.
      result: the tensor, which is written to.
      positions: int32 or int64[..., depth], in its first axes, at least one.
      updates: [..., the other axes of `result`], of its dtype.
    """
    depth = positions.shape[-1]
    if not depth or not result.flags.c_contiguous or not result.size:
        return False
    if depth == 1:  # the combination looks at them
        rows, ids = result, positions.reshape(-1)
    else:
        found = flat_rows(positions, result.shape)
        if found is None:
            return False
        rows, ids = result.reshape(-1, *result.shape[depth:]), found
    given = updates if depth == 1 == positions.ndim - 1 else updates.reshape(-1, *rows.shape[1:])
    return combined(operation, given, ids, rows, ALL_INSIDE) is not None


def different(numbers: Array, rows: int) -> tuple[Array, Array] | None:
    """The different ones of numbers in [0, rows), rising, and which of them each is: int64[N].

    Args:
      numbers: int32 or int64[N].
      rows: None is the answer, too, where there are far more rows than numbers.
    """
    call, wide = LIBRARY.function("different"), is_wide(numbers)
    if call is None or wide is None or not 0 <= rows <= _MARKED * (len(numbers) + 1):
        return None
    numbers = np.ascontiguousarray(numbers)
    own, found = np.empty(len(numbers), np.int64), np.empty_like(numbers)
    size = checked(call(numbers, wide, len(numbers), rows, own, found))
    return None if size < 0 else (found[:size], own)


def shared(rows: Array, sizes: Array, root: bool) -> Array | None:
    """Rows times one by their sizes, int64[N], or by the roots of them; below 1 they count as 1.

    Args:
      rows: float32 or float64[N, ...].
      sizes: how many there are of each.
      root: whether roots of sizes are taken.
    """
    call, kind = LIBRARY.function("share"), kind_of(rows.dtype)
    if call is None or kind not in (0, 1) or sizes.dtype != np.int64 or len(sizes) != len(rows):
        return None
    rows, sizes = np.ascontiguousarray(rows), np.ascontiguousarray(sizes)
    found = np.empty(rows.shape, rows.dtype)
    call(kind, rows, len(rows), math.prod(rows.shape[1:]), sizes, root, found)
    return found


def spread(rows: Array, indices: Array, ids: Array, root: bool, size: int) -> Array | None:
    """Rows [N, ...] of float32 or float64 by id, added up by index: [size, ...].

    None where an index or an id is outside, too.

    Args:
      rows: each is divided by how often its id is there.
      indices: int32 or int64[M], in [0, size).
      ids: int32 or int64[M], in [0, N).
      root: whether rows are divided by the root of that.
      size: the number of rows of the result.
    """
    call, kind = LIBRARY.function("spread"), kind_of(rows.dtype)
    wide, by_wide = is_wide(indices), is_wide(ids)
    if call is None or kind not in (0, 1) or wide is None or by_wide is None:
        return None
    if len(indices) != len(ids):
        return None
    held = [np.ascontiguousarray(x) for x in (rows, indices, ids)]
    result = np.zeros((size, *rows.shape[1:]), rows.dtype)
    width, sizes = math.prod(rows.shape[1:]), (len(ids), root, size)
    given = kind, held[0], len(rows), width, held[1], wide, held[2], by_wide, *sizes, result
    return result if checked(call(*given)) < 0 else None


def often(numbers: Array, rows: int) -> Array | None:
    """How often each number in [0, rows) is among int32 or int64[N]: int64[rows]."""
    sizes = np.zeros(rows, np.int64)
    return sizes if _count(numbers, sizes) else None


def add_often(numbers: Array, sizes: Array) -> None:
    """Adds to int64[rows] how often each number in [0, rows) is there."""
    if not _count(numbers, sizes):
        np.add.at(sizes, numbers, 1)


def _count(numbers: Array, sizes: Array) -> bool:
    call, wide = LIBRARY.function("often"), is_wide(numbers)
    if call is None or wide is None:
        return False
    numbers = np.ascontiguousarray(numbers)
    return call(numbers, wide, len(numbers), len(sizes), sizes) < 0
