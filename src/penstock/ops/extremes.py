"""The largest and smallest of elements one after the other: which NaN and which zero stays.

TensorFlow compares element by element, so the order decides. There are two rules, here those of the
largest:

- `raised`, for scatters: an update takes the place of an element that it is larger than. So a NaN
  among the updates changes nothing, one in the tensor stays, and of two zeros the first stays.
- `largest_by_id`, for segments: what was found so far stays where it is larger than the next
  element. So the last NaN hides what is before it, and of two zeros the last stays.

XLA and NumPy have maxima where NaN wins and any zero does. What these have to be given for the
results of the rules is found first; most arrays need no more than that look. Integers have neither.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.lazy import lax
from penstock.types import dtypes as dt

Array = Any  # numpy.ndarray, jax.Array or a tracer
Xp = Any  # numpy or jax.numpy


def is_floating(dtype: Any) -> bool:
    """Whether there are NaN and zeros of two signs."""
    return dt.from_numpy(np.dtype(dtype)).is_floating


def least_and_greatest(x: Array) -> tuple[Array, Array]:
    """The least and the greatest of integers [N, ...] in compiled code, N at least 1.

    One reduction of two results: XLA's loop for it on CPU has vectors, that for a single one of
    integers of 32 bits has not (a million in 250 us and in 1,200).
    """
    flat, bounds = x.reshape(-1), np.iinfo(x.dtype)

    def both(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
        return lax.min(one[0], other[0]), lax.max(one[1], other[1])

    begin = x.dtype.type(bounds.max), x.dtype.type(bounds.min)
    least, greatest = lax.reduce((flat, flat), begin, both, (0,))
    return least, greatest


def _scattered(xp: Xp, largest: bool, base: Array, places: Any, values: Array) -> Array:
    """`base` with the largest or smallest by place; compiled code leaves out places outside."""
    if xp is np:
        result = base.copy()
        (np.maximum if largest else np.minimum).at(result, places, values)
        return result
    at = base.at[places]
    return (at.max if largest else at.min)(values, mode="drop", wrap_negative_indices=False)


def _taken(xp: Xp, x: Array, places: Any) -> Array:
    return x[places] if xp is np else x.at[places].get(mode="clip", wrap_negative_indices=False)


def _either(xp: Xp, wanted: Array, one: Callable[[], Array], other: Callable[[], Array]) -> Array:
    if xp is np:
        return one() if wanted else other()
    return lax.cond(wanted, one, other)


def _order(number: int, shape: tuple[int, ...]) -> Array:
    """The number of each row of `shape`, which has `number` of them."""
    order = np.arange(number, dtype=np.int32 if number < 1 << 31 else np.int64)
    return np.broadcast_to(order.reshape(-1, *(1,) * (len(shape) - 1)), shape)


def _row_values(xp: Xp, rows: Array, numbers: Array) -> Array:
    """The elements of `rows` [N, ...] in rows `numbers` [K, ...], the nearest that there are."""
    return xp.take_along_axis(rows, xp.clip(numbers, 0, rows.shape[0] - 1), axis=0)


# scatters
def _first_zeros(xp: Xp, x: Array, places: Any, updates: Array, old: Array) -> Array:
    """`updates`, where all zeros of one element of `x` have the first one's sign."""
    lead = updates.ndim - (x.ndim - _depth(places))
    rows = updates.reshape(-1, *updates.shape[lead:])
    order = _order(len(rows), rows.shape).reshape(updates.shape)
    none = len(rows)
    numbers = xp.where(updates == 0, order, none).astype(order.dtype)
    first = _scattered(xp, False, xp.full(x.shape, none, order.dtype), places, numbers)
    found = _row_values(xp, rows, _taken(xp, first, places).reshape(rows.shape))
    return xp.where((updates == 0) & (old != 0), found.reshape(updates.shape), updates)


def _depth(places: Any) -> int:
    return len(places) if isinstance(places, tuple) else 1


def prepared(xp: Xp, x: Array, places: Any, updates: Array) -> Array:
    """Updates whose maxima with `x` are what `raised` says; any largest or smallest, see above.

    Args:
      xp: numpy or jax.numpy.
      x: the tensor.
      places: an array of places in its first axis, or a tuple of arrays for its first axes.
      updates: [*(shape of the places), ...], of the dtype of `x`.
    """
    if not is_floating(x.dtype) or not updates.size or not x.size:
        return updates
    old = _taken(xp, x, places)
    kept = (updates != updates) | ((old == 0) & (updates == 0))
    updates = xp.where(kept, old, updates)
    mixed = ((updates == 0) & xp.signbit(updates) & (old != 0)).any()
    return _either(xp, mixed, lambda: _first_zeros(xp, x, places, updates, old), lambda: updates)


def raised(xp: Xp, largest: bool, x: Array, places: Any, updates: Array) -> Array:
    """`x` with updates in the place of elements that they are beyond; arguments as for `prepared`.

    Args:
      xp: numpy or jax.numpy.
      largest: whether larger ones are beyond; else smaller ones.
      x: the tensor, which is left as it is.
      places, updates: see `prepared`.
    """
    return _scattered(xp, largest, x, places, prepared(xp, x, places, updates))


def raise_at(ufunc: Any) -> Callable[[Array, Any, Array], None]:
    """What does the same with a NumPy array in place, for np.maximum and np.minimum."""

    def change(x: Array, places: Any, updates: Array) -> None:
        if places is ...:
            np.copyto(x, updates, where=updates > x if ufunc is np.maximum else updates < x)
        else:
            ufunc.at(x, places, prepared(np, x, places, updates))

    return change


# segments
def _in_order(xp: Xp, largest: bool, start: Array, ids: Array, rows: Array) -> Array:
    """`largest_by_id` of floats among which are NaN or zeros below 0."""
    far = -np.inf if largest else np.inf
    order = _order(len(rows), rows.shape)
    none = xp.full(start.shape, -1, order.dtype)
    nans = xp.where(rows != rows, order, -1).astype(order.dtype)
    nan_at = _scattered(xp, True, none, ids, nans)
    end_at = _scattered(xp, True, none, ids, order)
    after = order > _taken(xp, nan_at, ids)
    begun = xp.where(nan_at >= 0, xp.asarray(far, start.dtype), start)
    found = _scattered(xp, largest, begun, ids, xp.where(after, rows, xp.asarray(far, rows.dtype)))
    zeros = xp.where(after & (rows == 0), order, -1).astype(order.dtype)
    zero_at = _scattered(xp, True, none, ids, zeros)
    zero = _row_values(xp, rows, zero_at)
    found = xp.where((found == 0) & (zero_at >= 0), zero, found)
    return xp.where((nan_at >= 0) & (nan_at == end_at), xp.asarray(np.nan, found.dtype), found)


def largest_by_id(xp: Xp, largest: bool, start: Array, ids: Array, rows: Array) -> Array:
    """The largest or smallest of rows by id, each beginning with `start`.

    Args:
      xp: numpy or jax.numpy.
      largest: whether the largest is looked for; else the smallest.
      start: what is there before the first row: [K, ...], finite or infinite.
      ids: integers [N]: in [0, K) for NumPy; JAX leaves rows of others out.
      rows: [N, ...], of the dtype of `start`.
    """

    def plain() -> Array:
        return _scattered(xp, largest, start, ids, rows)

    if not is_floating(rows.dtype) or not rows.size or not start.size:
        return plain()
    odd = ((rows != rows) | ((rows == 0) & xp.signbit(rows))).any()
    return _either(xp, odd, lambda: _in_order(xp, largest, start, ids, rows), plain)
