"""Rows of different lengths by `native/ragged.h`, part of the library of `native_arrays`.

Row splits are int32 or int64[R + 1]. Each function returns None where the library is not in use, or
does not serve what it is given: splits that are wrong, rows that are outside, other dtypes. Then
the caller does the work in NumPy, which also says what is wrong. Thread-safe.
"""

from typing import Any

import numpy as np

from penstock.core.native_arrays import LIBRARY, checked, is_wide, kind_of

Array = Any  # numpy.ndarray


def are_splits(splits: Array, total: int) -> bool | None:
    """Whether splits begin with 0, never fall and end with `total`."""
    call, wide = LIBRARY.function("are_splits"), is_wide(splits)
    if call is None or wide is None or splits.ndim != 1 or not splits.size:
        return None
    return call(np.ascontiguousarray(splits), wide, len(splits) - 1, total) < 0


def rows_of_items(splits: Array, total: int) -> Array | None:
    """The row of each of `total` items: int64[total]."""
    call, wide = LIBRARY.function("items_of_rows"), is_wide(splits)
    if call is None or wide is None or splits.ndim != 1 or not splits.size:
        return None
    found = np.empty(total, np.int64)
    splits = np.ascontiguousarray(splits)
    return found if call(splits, wide, len(splits) - 1, total, 1, found, None) >= 0 else None


def places_of_items(splits: Array, total: int) -> tuple[Array, int] | None:
    """The row and the place there of each of `total` items, int64[total, 2]; the longest row."""
    call, wide = LIBRARY.function("items_of_rows"), is_wide(splits)
    if call is None or wide is None or splits.ndim != 1 or not splits.size:
        return None
    found = np.empty((total, 2), np.int64)
    splits, second = np.ascontiguousarray(splits), found.reshape(-1)[1:] if total else found
    longest = call(splits, wide, len(splits) - 1, total, 2, found, second)
    return None if longest < 0 else (found, longest)


def counted_places(
    places: Array, rows: int, values: Array, size: int, weights: Array, binary: bool
) -> Array | None:
    """`counted_rows` of values whose rows are told: [rows, size] of the weights' dtype.

    None also where a value is below 0, or its row outside.

    Args:
      places: int64[N, 1 or 2]: the row comes first; all values are of the only row without one.
      rows: how many there are.
      values: int32 or int64[N].
      size, weights, binary: as of `counted_rows`.
    """
    call, kind, wide = LIBRARY.function("count_places"), kind_of(weights.dtype), is_wide(values)
    if call is None or kind is None or wide is None or places.dtype != np.int64:
        return None
    if weights.size not in (0, values.size) or not 1 <= places.shape[1] <= 2:
        return None
    places, values = np.ascontiguousarray(places), np.ascontiguousarray(values)
    held = np.ascontiguousarray(weights) if weights.size else None
    result = np.zeros((rows, size), weights.dtype)
    given = places, places.shape[1], rows, values, wide, values.size, size, held, binary, result
    return result if call(kind, *given) < 0 else None


def counted_rows(
    splits: Array, values: Array, size: int, weights: Array, binary: bool
) -> Array | None:
    """What the values below `size` of each row weigh together: [R, size] of the weights' dtype.

    Args:
      splits: of int64.
      values: int32 or int64[N], at least 0.
      size: how many different values are counted.
      weights: as many as there are values, or none: each weighs 1 then.
      binary: whether there are ones in place of sums.
    """
    call, kind, wide = LIBRARY.function("count_rows"), kind_of(weights.dtype), is_wide(values)
    if call is None or kind is None or not is_wide(splits) or wide is None or not splits.size:
        return None
    if weights.size not in (0, values.size) or not values.size:
        return None
    held = [np.ascontiguousarray(x) for x in (splits, values)]
    given = np.ascontiguousarray(weights) if weights.size else None
    result, rows = np.zeros((len(splits) - 1, size), weights.dtype), len(splits) - 1
    right = call(
        kind, held[0], rows, held[1], wide, values.size, size, given, binary, result
    )  # fmt: skip
    return result if right < 0 else None


def chosen_rows(splits: Array, rows: Array) -> tuple[Array, Array] | None:
    """The splits of rows that are chosen, and where their items are: int64.

    Args:
      splits: they do not fall.
      rows: int32 or int64[N].
    """
    call, wide, by_wide = LIBRARY.function("chosen_rows"), is_wide(splits), is_wide(rows)
    if call is None or wide is None or by_wide is None or not splits.size:
        return None
    splits, rows = np.ascontiguousarray(splits), np.ascontiguousarray(rows)
    ends = np.empty(len(rows) + 1, splits.dtype)
    given = splits, wide, len(splits) - 1, rows, by_wide, len(rows), ends
    total = call(*given, None)
    if total < 0:
        return None
    places = np.empty(total, np.int64)
    call(*given, places)
    return ends, places


def range_splits(starts: Array, limits: Array, deltas: Array, most: int) -> Array | None:
    """The splits of rows of whole numbers from starts up to limits by deltas: int64[R + 1].

    None where a delta is 0, too, or there are more than `most` numbers.

    Args:
      starts: int32 or int64, a vector or a scalar, which counts for all rows.
      limits, deltas: the same.
      most: how many numbers there may be.
    """
    call, wide = LIBRARY.function("range_splits"), is_wide(starts)
    if call is None or wide is None:
        return None
    held = [np.ascontiguousarray(x) for x in (starts, limits, deltas)]
    counts = [x.size for x in held]
    rows = max(counts) if min(counts) else 0
    steps = np.array([n != 1 for n in counts], np.int64)
    found = np.empty(rows + 1, np.int64)
    return found if call(*held, wide, steps, rows, most, found) >= 0 else None


def filled_rows(ids: Array, rows: int) -> tuple[Array, Array, Array] | None:
    """Items in order of their rows, with a place in each row that has none.

    Args:
      ids: the row of each item, int64[N].
      rows: how many rows there are.

    Returns:
      Where each item goes, int64[N]; which rows are empty, bool[rows]; each place's row, int64.
    """
    call = LIBRARY.function("fill_rows")
    if call is None or not is_wide(ids):
        return None
    ids = np.ascontiguousarray(ids)
    places, empty = np.empty(len(ids), np.int64), np.empty(rows, bool)
    filled = np.empty(len(ids) + rows, np.int64)
    total = checked(call(ids, len(ids), rows, places, empty, filled))
    return None if total < 0 else (places, empty, filled[:total])
