"""Matrices applied to the rows and the columns of images.

Where a new pixel takes few of many old ones, these are picked and added up in place of a product.
On the host one native pass does both directions, with the weights that are not zero alone.
"""

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core import native_images

Array = Any  # numpy.ndarray, jax.Array or a tracer
Matrix = Any  # numpy.ndarray of float32, [new size, old size]
_FLOAT, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_FEW = 16  # old pixels of a new one up to which they are added up one by one
_BAND = 8  # of so many old pixels a new one may take one for sums to be cheaper than a product


def _band(matrix: Matrix) -> tuple[Array, Array] | None:
    """The old pixels that each new one takes, and their weights; None where those are many."""
    old = matrix.shape[1]
    if old < 2 * _BAND:
        return None
    there = matrix != 0
    first = there.argmax(1)
    end = np.where(there.any(1), old - there[:, ::-1].argmax(1), first)
    width = max(int((end - first).max()), 1)
    if width * _BAND > old:
        return None
    places = first[:, None] + np.arange(width)
    weights = np.take_along_axis(matrix, np.minimum(places, old - 1), 1)
    return np.minimum(places, old - 1), np.where(places < old, weights, 0)


class Weights:
    """A matrix over rows or columns, and what applies it in fewer steps.

    Attributes:
      matrix: [new size, old size].
      band: see `_band`.
      places: of each new pixel the first old one that counts, and how many follow: int64[new, 2].
      narrow: their weights, [new, the most that follow], by dtype: float32 and float64.
      nbytes: what all of it takes in memory, about.
    """

    __slots__ = ("band", "matrix", "narrow", "nbytes", "places")

    def __init__(self, matrix: Matrix, there: Array | None = None) -> None:
        """What is known of a matrix.

        Args:
          matrix: float32[new size, old size].
          there: of the same shape, which pixels count; those with a weight when None.
        """
        self.matrix = matrix
        self.band = _band(matrix)
        there = matrix != 0 if there is None else there
        first = there.argmax(1) if there.size else np.zeros(len(matrix), np.int64)
        count = np.where(there.any(1), matrix.shape[1] - there[:, ::-1].argmax(1) - first, 0)
        self.places = np.stack([first, count], 1)
        at = first[:, None] + np.arange(int(count.max(initial=0)))
        narrow = np.take_along_axis(matrix, np.minimum(at, max(matrix.shape[1] - 1, 0)), 1)
        self.narrow = {
            np.dtype(t): np.array(narrow, t, order="C") for t in (np.float32, np.float64)
        }
        self.nbytes = 2 * matrix.nbytes + sum(each.nbytes for each in self.narrow.values())


_KEPT = 64 << 20  # bytes of weights that are kept, of one at most a quarter
_kept: OrderedDict[Any, Weights] = OrderedDict()
_kept_lock = threading.Lock()  # guards: _kept


def weights(
    make: Callable[..., Matrix], reach: Callable[..., Array] | None, back: bool, *arguments: Any
) -> Weights:
    """What applies a matrix that sizes determine, which come back.

    Args:
      make: `make(*arguments)` is the matrix.
      reach: so which pixels count, those of weight 0 among them; None for those with a weight.
      back: whether the transpose is wanted.
      *arguments: sizes and the like.
    """
    key = make, reach, back, arguments
    with _kept_lock:
        found = _kept.get(key)
        if found is not None:
            _kept.move_to_end(key)
            return found
    matrix = make(*arguments)
    there = None if reach is None else reach(*arguments)
    if back:
        matrix, there = matrix.T, None if there is None else there.T
    made = Weights(matrix, there)
    if made.nbytes <= _KEPT // 4:
        with _kept_lock:
            _kept[key] = made
            while sum(each.nbytes for each in _kept.values()) > _KEPT:
                _kept.popitem(last=False)
    return made


def _along(xp: Any, x: Array, given: Weights, axis: int) -> Array:
    """A matrix times the rows (axis 1) or columns (axis 2) of images.

    On the host infinities and NaN reach those new pixels that they count for. To look for them in
    compiled code takes several times as long as the product.
    """
    if xp is np and x.dtype.kind == "f" and not np.isfinite(x).all():
        return _with_infinities(x, given, axis)
    return _summed(xp, x, given, axis)


def _with_infinities(x: Array, given: Weights, axis: int) -> Array:
    """What sums of the pixels that count are, where some are not finite.

    A product with a whole matrix would take those that do not count times 0, which is NaN.
    """
    width = given.narrow[_FLOAT].shape[1]
    if width <= _FEW:
        return _one_by_one(x, given, axis, width)
    matrix, (first, count) = given.matrix, given.places.T[:, :, None]
    pixels = np.arange(matrix.shape[1])
    counts = (pixels >= first) & (pixels < first + count)

    def found(weights: Array, where: Array) -> Array:
        return _times(np, (counts & weights).astype(np.float32), where.astype(x.dtype), axis) > 0

    up, down = x == np.inf, x == -np.inf
    rises = found(matrix > 0, up) | found(matrix < 0, down)
    falls = found(matrix > 0, down) | found(matrix < 0, up)
    lost = found(counts, x != x) | found(matrix == 0, up | down) | (rises & falls)
    finite = _summed(np, np.where(np.isfinite(x), x, np.zeros_like(x)), given, axis)
    limit, none = (np.asarray(value, x.dtype) for value in (np.inf, np.nan))
    return np.where(lost, none, np.where(rises, limit, np.where(falls, -limit, finite)))


def _one_by_one(x: Array, given: Weights, axis: int, width: int) -> Array:
    (first, count), sides = given.places.T, (-1, 1, 1) if axis == 1 else (-1, 1)
    shape = [len(first) if i == axis else n for i, n in enumerate(x.shape)]
    found = np.zeros(shape, x.dtype)
    with np.errstate(invalid="ignore"):
        for i in range(width):
            pixels = np.take(x, np.minimum(first + i, x.shape[axis] - 1), axis=axis)
            part = pixels * given.narrow[x.dtype][:, i].reshape(sides)
            found = found + np.where((i < count).reshape(sides), part, np.zeros_like(part))
    return found


def _summed(xp: Any, x: Array, given: Weights, axis: int) -> Array:
    matrix, band = given.matrix, given.band
    if band is not None:
        places, weights = band
        sides = (-1, 1, 1) if axis == 1 else (-1, 1)
        parts = (
            xp.take(x, places[:, i], axis=axis) * weights[:, i].astype(x.dtype).reshape(sides)
            for i in range(places.shape[1])
        )
        return functools.reduce(lambda a, b: a + b, parts)
    return _times(xp, matrix, x, axis)


def _times(xp: Any, matrix: Matrix, x: Array, axis: int) -> Array:
    matrix = xp.asarray(matrix.astype(x.dtype))
    if axis == 2:
        return xp.matmul(matrix, x)
    batch, height, width, channels = x.shape
    flat = xp.matmul(matrix, x.reshape(batch, height, width * channels))
    return flat.reshape(batch, matrix.shape[0], width, channels)


def resampled(xp: Any, images: Array, rows: Weights, columns: Weights, kind: Any) -> Array:
    """The images [batch, height, width, channels] times both matrices, in float32 or wider."""
    wide = _DOUBLE if images.dtype == _DOUBLE else _FLOAT
    x = images if images.dtype == wide else images.astype(wide)
    # The direction that shrinks more goes first.
    rows_first = len(rows.places) * x.shape[2] <= x.shape[1] * len(columns.places)
    if xp is np and x.size:
        given = rows.places, rows.narrow[wide], columns.places, columns.narrow[wide]
        found = native_images.resample(x, *given, rows_first)
        if found is not None:
            return found if found.dtype == kind else found.astype(kind)
    ways = ((rows, 1), (columns, 2))
    for matrix, axis in ways if rows_first else reversed(ways):
        x = _along(xp, x, matrix, axis)
    return x.astype(kind)
