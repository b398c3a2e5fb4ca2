"""Which boxes non-maximum suppression keeps: `best_boxes`, in NumPy or native code.

Boxes are rows of y1, x1, y2, x2, any pair of opposite corners. The best box left is taken unless
one taken before covers it too much, block by block; soft suppression lowers its score instead.
"""

import functools
import heapq
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core import native_arrays

Array = Any  # numpy.ndarray


# Takes places of boxes [N] and [M], gives the overlap of each pair [N, M].
Overlap = Callable[[Array, Array], Array]
FEW = 64  # boxes for which `select_few` takes less time
_BLOCK = 128  # boxes that are compared at once; more waste comparisons, fewer calls of NumPy


def _corners(boxes: Array) -> tuple[Array, Array]:
    """The lower and the upper ones; a NaN beside a number counts where it comes first alone."""
    first, second = boxes[:, :2], boxes[:, 2:]
    return np.where(second < first, second, first), np.where(first < second, second, first)


def _overlap(boxes: Array) -> Overlap:
    """How much of the union of two boxes their intersection is."""
    low, high = _corners(boxes)
    area = (high[:, 0] - low[:, 0]) * (high[:, 1] - low[:, 1])
    low, high = low.T.copy(), high.T.copy()

    def of(some: Array, others: Array) -> Array:
        sides = (
            np.minimum.outer(high[k, some], high[k, others])
            - np.maximum.outer(low[k, some], low[k, others])
            for k in range(2)
        )
        both = functools.reduce(operator.mul, (np.maximum(s, np.float32(0)) for s in sides))
        part = both / (np.add.outer(area[some], area[others]) - both)
        flat = np.logical_or.outer(area[some] <= 0, area[others] <= 0)
        return np.where(flat, np.float32(0), part)

    return of


def select(
    overlap: Overlap, scores: Array, most: int, limit: float, least: float
) -> tuple[list[int], list[float]]:
    """The boxes taken, in order, and their scores."""
    left = np.flatnonzero(scores > least)
    left = left[np.argsort(-scores[left], kind="stable")]
    taken = np.zeros(0, np.int64)
    for start in range(0, left.size, _BLOCK):
        if taken.size >= most:
            break
        block = left[start : start + _BLOCK]
        if taken.size:
            block = block[~(overlap(block, taken) > limit).any(1)]
        taken = np.concatenate([taken, block[_apart(overlap(block, block) > limit)]])
    taken = taken[: max(most, 0)]
    return taken.tolist(), scores[taken].tolist()


def select_few(covers: Array, scores: Array, most: int, least: float) -> list[int]:
    """The boxes taken, in order; `covers[i, j]`: whether box j covers box i too much."""
    values = scores.tolist()
    left = [i for i, value in enumerate(values) if value > least]
    left.sort(key=values.__getitem__, reverse=True)
    found: list[int] = []
    gone = np.zeros(len(values), bool)
    for i in left:
        if len(found) >= most:
            break
        if not gone[i]:
            found.append(i)
            gone |= covers[:, i]
    return found


def _apart(covers: Array) -> list[int]:
    """Of boxes in order, those that none taken before covers."""
    earlier = np.tril(covers, -1)
    found: list[int] = []
    gone = np.zeros(len(covers), bool)
    for i in range(len(covers)):
        if not gone[i]:
            found.append(i)
            gone |= earlier[:, i]
    return found


# Takes how much a box has in common with each taken before, gives by what its score is multiplied.
Weight = Callable[[Array], Any]


def _softened(sigma: float) -> Weight:
    """Boxes that overlap lose a part of their score."""
    return lambda parts: np.prod(np.exp(np.float32(-0.5 / sigma) * parts * parts))


def unless_covered(limit: float) -> Weight:
    """Boxes that overlap are dropped; those where NaN leaves it open lose their score.

    So are those of an infinite overlap, whatever the limit: TensorFlow's weight of it is NaN.
    """

    def weight(parts: Array) -> float:
        within = parts <= limit
        if (parts > limit).any() or (np.isinf(parts) & within).any():
            return np.nan
        return 1.0 if within.all() else 0.0

    return weight


def select_weighted(
    overlap: Overlap, scores: Array, most: int, least: float, weight: Weight
) -> tuple[list[int], list[float]]:
    """The same where boxes lose a part of their score to those taken before, and wait again."""
    left = [(-float(s), i, 0) for i, s in enumerate(scores) if s > least]
    heapq.heapify(left)
    taken: list[int] = []
    found: list[float] = []
    while left and len(taken) < most:
        before, box, seen = heapq.heappop(left)
        score = np.float32(-before)
        if seen < len(taken):
            score *= np.float32(weight(overlap(np.array([box]), np.array(taken[seen:]))[0]))
        if score == -before:
            taken.append(box)
            found.append(float(score))
        elif score > least:
            heapq.heappush(left, (-float(score), box, len(taken)))
    return taken, found


def best_boxes(
    boxes: Array, scores: Array, most: Array, limit: Any, least: Any, sigma: Any = 0.0
) -> tuple[Array, Array]:
    """The boxes taken, in order, and their scores when they were."""
    wide, values = boxes.astype(np.float32, copy=False), scores.astype(np.float32, copy=False)
    if not sigma > 0 and np.isfinite(wide).all() and not np.isnan(limit):
        return taken_plainly(wide, values, most, limit, least)
    weight = _softened(float(sigma)) if sigma > 0 else unless_covered(float(limit))
    with np.errstate(invalid="ignore", over="ignore"):
        found, left = select_weighted(_overlap(wide), values, int(most), float(least), weight)
    return np.array(found, np.int64), np.array(left, np.float32)


def taken_plainly(
    boxes: Array, scores: Array, most: Array, limit: Any, least: Any
) -> tuple[Array, Array]:
    """As `best_boxes` without soft suppression, in one pass, where NaN is no overlap."""
    given = int(most), float(limit), float(least)
    taken = native_arrays.apart(boxes, scores, *given)
    if taken is None:
        with np.errstate(invalid="ignore", over="ignore"):
            taken = np.array(select(_overlap(boxes), scores, *given)[0], np.int64)
    return taken, scores[taken]
