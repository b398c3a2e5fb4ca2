"""Places of sparse tensors' elements, by `native/sparse_places.h` and `native/dense_parts.h`.

Part of the library of `native_arrays`. Each function returns None, or False, where the library is
not in use. Thread-safe.
"""

from typing import Any

import numpy as np

from penstock.core.native_arrays import LIBRARY, checked, floating_kind, is_wide, word_size

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


def elements_at(a: Array, b: Array, given: Array) -> Array | None:
    """For each place of `a` what is given for the same place of `b`, 0 where there is none.

    None also where places of one do not rise.

    Args:
      a: int64[N, R].
      b: int64[M, R].
      given: [M].
    """
    call, size = LIBRARY.function("elements_at"), word_size(given.dtype)
    if call is None or size is None or a.dtype != np.int64 or b.dtype != np.int64:
        return None
    if not a.shape[1] or a.shape[1] != b.shape[1]:
        return None
    found = np.empty(len(a), given.dtype)
    places = np.ascontiguousarray(a), len(a), np.ascontiguousarray(b), len(b), a.shape[1]
    done = call(*places, np.ascontiguousarray(given), size, found)
    return found if done == -1 else None


def elements_in_turn(a: Array, b: Array, start: Array, given: Array) -> tuple[Array, int] | None:
    """What is given for places that are among others in the same order, there; 0 elsewhere.

    Args:
      a: int64[N, R].
      b: int64[M, R], places as seen from `start`.
      start: int64[R].
      given: [M].

    Returns:
      [N], and for how many of the M there was a place, one after the other.
    """
    call, size = LIBRARY.function("in_turn"), word_size(given.dtype)
    if call is None or size is None or not a.dtype == b.dtype == start.dtype == np.int64:
        return None
    if not a.shape[1] == b.shape[1] == len(start):
        return None
    found = np.empty(len(a), given.dtype)
    places = np.ascontiguousarray(a), len(a), np.ascontiguousarray(b), len(b), a.shape[1]
    used = call(*places, np.ascontiguousarray(start), np.ascontiguousarray(given), size, found)
    return found, used


def in_box(places: Array, start: Array, size: Array) -> tuple[Array, Array] | None:
    """The places in a box, as seen from its start, and their numbers: int64[K, R] and int64[K].

    Args:
      places: int64[N, R].
      start: int64[R].
      size: int64[R], none below 0.
    """
    call = LIBRARY.function("in_box")
    if call is None or places.dtype != np.int64 or start.dtype != np.int64:
        return None
    count, rank = places.shape
    if size.dtype != np.int64 or not (len(start) == len(size) == rank):
        return None
    moved, numbers = np.empty((count + 1, rank), np.int64), np.empty(count + 1, np.int64)
    given = np.ascontiguousarray(places), count, rank, np.ascontiguousarray(start)
    found = call(*given, np.ascontiguousarray(size), moved, numbers)
    if found < count // 2:  # few that would keep the room for all
        return moved[:found].copy(), numbers[:found]
    return moved[:found], numbers[:found]


def added_product(places: Array, row_axis: int, values: Array, dense: Array, result: Array) -> bool:
    """Adds the product of a sparse matrix and a dense one [M, K] to `result`, [N, K].

    Args:
      places: int32 or int64[P, 2].
      row_axis: which index is the row.
      values: [P]; float32 or float64, as `dense` and `result`, are served.
      dense: the other factor.
      result: written to, element after element; dense in memory.

    Returns:
      Whether it was done; if not, some may have been: a place is outside, say.
    """
    call, kind = LIBRARY.function("product"), floating_kind(result.dtype)
    if call is None or kind is None or values.dtype != result.dtype or dense.dtype != result.dtype:
        return False
    if is_wide(places) is None:
        return False
    places, values, dense = map(np.ascontiguousarray, (places, values, dense))
    given = kind, places, is_wide(places), len(places), row_axis, values, dense
    return bool(call(*given, *dense.shape, result, len(result)) < 0)


def put(result: Array, places: Array, values: Array, rising: bool) -> bool:
    """Whether values are now in an array at these places; if not, some of them may be.

    Not so where a place is outside, or the library does not serve what it is given.

    Args:
      result: dense in memory; written to.
      places: int32 or int64[N, rank of `result`].
      values: of its dtype: [N], or one for all places.
      rising: whether each place must come after the one before it.
    """
    call, wide, size = LIBRARY.function("put"), is_wide(places), word_size(result.dtype)
    rank = places.shape[1]
    if call is None or wide is None or size is None or not rank or values.dtype != result.dtype:
        return False
    places, values = np.ascontiguousarray(places), np.ascontiguousarray(values)
    sizes, step = np.array(result.shape, np.int64), int(values.size == len(places))
    found = call(places, wide, len(places), rank, sizes, rising, values, step, size, result)
    return bool(found < 0)


def with_empty_rows_filled(
    places: Array, values: Array, rows: int, rest: Array
) -> tuple[Array, Array, Array, Array] | None:
    """A sparse tensor by row, with an element at the start of each row that has none.

    None also where an element is in no row.

    Args:
      places: int64[N, R], R at least 1.
      values: [N].
      rows: how many there are.
      rest: scalar, the elements of empty rows.

    Returns:
      The places, the values, which rows were empty, where each element went: int64[N].
    """
    call, size = LIBRARY.function("fill_empty_rows"), word_size(values.dtype)
    if call is None or size is None or places.dtype != np.int64:
        return None
    places, values = np.ascontiguousarray(places), np.ascontiguousarray(values)
    number, rank = places.shape
    moved, empty = np.empty(number, np.int64), np.empty(rows, bool)
    filled = np.empty((number + rows, rank), np.int64)
    found = np.empty(number + rows, values.dtype)
    given = places, number, rank, rows, values, rest, size
    total = checked(call(*given, moved, empty, filled, found))
    return None if total < 0 else (filled[:total], found[:total], empty, moved)


def parted(places: Array, grads: Array) -> tuple[Array, Array] | None:
    """What of the gradients is at these places, [N], and the sum of all others, in their order.

    None also where a place is outside.

    Args:
      places: int64[N].
      grads: float32 or float64[M].
    """
    call, kind = LIBRARY.function("part_filled"), floating_kind(grads.dtype)
    if call is None or kind is None or places.dtype != np.int64:
        return None
    places, grads = np.ascontiguousarray(places), np.ascontiguousarray(grads)
    taken, rest = np.empty(len(places), grads.dtype), np.empty((), grads.dtype)
    found = checked(call(kind, places, len(places), grads, len(grads), taken, rest))
    return (taken, rest) if found < 0 else None
