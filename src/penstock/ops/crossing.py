"""Every combination of the values of several columns, row by row: what features are crossed by.

A `Column` has its rows' values one after the other. `combinations` says which value of each column
a combination takes; the values of the last column change fastest. `hashed` and `joined` make one
number or text of each.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock import errors
from penstock.core import native_strings
from penstock.ops.string_arrays import array_of
from penstock.ops.string_hashes import fingerprints

Array = Any  # numpy.ndarray
MULTIPLIER = 0xC6A4A7935BD1E995
MASK = (1 << 64) - 1
LARGEST = (1 << 63) - 1
BETWEEN = b"_X_"


class Column(NamedTuple):
    """The values of rows.

    Attributes:
      values: int64 or strings, a row's after those of the row before.
      counts: how many each row has, int64[rows].
    """

    values: Array
    counts: Array


def by_row(rows: Array, values: Array, height: int) -> Column:
    """The column of values whose rows are given, in [0, height)."""
    if (rows[1:] < rows[:-1]).any():
        order = np.argsort(rows, kind="stable")
        rows, values = rows[order], values[order]
    return Column(values, np.bincount(rows, minlength=height))


def dense(x: Array) -> Column:
    """The column of a matrix."""
    return Column(x.reshape(-1), np.full(x.shape[0], x.shape[1]))


def combinations(columns: Sequence[Column]) -> tuple[list[Array], Array]:
    """Places of values.

    Args:
      columns: of as many rows each.

    Returns:
      For each column the place of every combination's value, and how many combinations each row
      has.

    Raises:
      ResourceExhaustedError: there are 2**63 combinations or more.
    """
    if not columns:
        return [], np.zeros(0, np.int64)
    if all((c.counts == 1).all() for c in columns):  # the usual case
        return [np.arange(len(columns[0].counts)) for _ in columns], columns[0].counts
    sizes = functools.reduce(np.multiply, (c.counts for c in columns))
    _check_number(columns)
    rest = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    places: list[Array] = []
    for column in reversed(columns):
        counts = column.counts
        rest, within = np.divmod(rest, counts[rows])
        places.append(within + (np.cumsum(counts) - counts)[rows])
    return places[::-1], sizes


def _check_number(columns: Sequence[Column]) -> None:
    """Refuses more combinations than int64 counts: products of their numbers would wrap around."""
    number = functools.reduce(np.multiply, (c.counts.astype(np.float64) for c in columns)).sum()
    if number >= LARGEST:
        raise errors.ResourceExhaustedError(
            None,
            None,
            f"expected fewer than 2**63 combinations of {len(columns)} columns, got some"
            f" {number:.3g}. Cross fewer columns, or fewer values in a row.",
        )


def combined(first: Any, second: Any) -> Any:
    """A fingerprint of two fingerprints: of Python's integers or arrays of uint64."""
    mixed = second * MULTIPLIER & MASK
    result = (first ^ MULTIPLIER) ^ ((mixed ^ (mixed >> 47)) * MULTIPLIER & MASK)
    result = result * MULTIPLIER & MASK
    result = (result ^ (result >> 47)) * MULTIPLIER & MASK
    return result ^ (result >> 47)


def numbers(values: Array) -> Array:
    """Strings by their fingerprints; integers are their own."""
    return fingerprints(values) if values.dtype == object else values.astype(np.uint64)


def hashed(
    hashes: Sequence[Array], places: Sequence[Array], limit: int, start: int | None
) -> Array:
    """A hash below `limit` for each combination, int64.

    Args:
      hashes: the numbers of each column's values, uint64.
      places: of each column's value in each combination.
      limit: what hashes are below; 0 for all of int64.
      start: what they start from; the first column's numbers when None.
    """
    taken = [h[p] for h, p in zip(hashes, places, strict=True)]
    if start is not None:
        size = len(taken[0]) if taken else 0
        taken.insert(0, np.full(size, start & MASK, np.uint64))
    if not taken:
        return np.zeros(0, np.int64)
    result = functools.reduce(combined, taken)
    return (result % np.uint64(limit or LARGEST)).astype(np.int64)


def joined(columns: Sequence[Column], places: Sequence[Array], between: bytes = BETWEEN) -> Array:
    """The texts of each combination with `between` between them."""
    texts = [_texts(c.values)[p] for c, p in zip(columns, places, strict=True)]
    if not texts:
        return np.zeros(0, object)
    found = native_strings.joined(texts, texts[0].shape, between)
    if found is None:
        rows = map(between.join, zip(*(t.tolist() for t in texts), strict=True))
        found = array_of(list(rows), texts[0].shape)
    return found


def _texts(values: Array) -> Array:
    if values.dtype == object:
        return values
    found = native_strings.whole(values)
    return array_of([b"%d" % v for v in values.tolist()], values.shape) if found is None else found
