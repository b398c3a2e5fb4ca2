"""Non-maximum suppression: of boxes that overlap, the best is kept. Host only.

Boxes are rows of y1, x1, y2, x2, any pair of opposite corners. `_select` is what all
operations share: the best box left is taken unless one taken before covers it too much, block by
block; soft suppression lowers its score instead.
"""

import functools
import heapq
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core import native_arrays
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.composing import named
from penstock.ops.string_arrays import HOST
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray
NO_GRADIENT = "indices have no gradient"


# Takes places of boxes [N] and [M], gives the overlap of each pair [N, M].
Overlap = Callable[[Array, Array], Array]
_COORDINATES, _BOXES_RANK = 4, 2  # of one image's boxes
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


def _select(
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


def _unless_covered(limit: float) -> Weight:
    """Boxes that overlap are dropped; those where NaN leaves it open lose their score."""

    def weight(parts: Array) -> float:
        if (parts > limit).any():
            return np.nan
        return 1.0 if (parts <= limit).all() else 0.0

    return weight


def _select_weighted(
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


# ---- shapes


def _count(c: ShapeContext) -> None:
    boxes = c.rank(0, 2, "boxes") or (None, None)
    scores = c.rank(1, 1, "scores") or (None,)
    if boxes[1] not in (None, 4):
        c.fail("boxes must have 4 columns", f"{boxes[1]}")
    _same(c, boxes[0], scores[0])


def _same(c: ShapeContext, boxes: int | None, scores: int | None) -> None:
    if None not in (boxes, scores) and boxes != scores:
        c.fail(f"a score for each of {boxes} boxes", f"{scores} scores")


def _limits(c: ShapeContext) -> None:
    """The largest number of boxes, and the part of overlap that is allowed."""
    for i in range(2, len(c)):
        c.rank(i, 0, f"input {i}")
    most = c.constant(2)
    if most is not None and int(most) < 0:
        c.fail("output size must be non-negative", f"{int(most)}")
    limit = c.attr("iou_threshold") if len(c) == 3 else c.constant(3)
    if limit is not None and not 0 <= float(limit) <= 1:
        c.fail("iou_threshold must be in [0, 1]", f"{float(limit)}")
    sigma = c.constant(5) if len(c) > 5 else None
    if sigma is not None and not float(sigma) >= 0:
        c.fail("soft_nms_sigma >= 0", f"{float(sigma)}")


def _vector(c: ShapeContext) -> Dims:
    _count(c)
    _limits(c)
    return (None,)


def _padded(c: ShapeContext) -> Dims:
    most = c.constant(2)
    return (int(most),) if c.attr("pad_to_max_output_size") and most is not None else (None,)


def _counted(c: ShapeContext) -> list[Dims]:
    _vector(c)
    return [_padded(c), ()]


def _scored(c: ShapeContext) -> list[Dims]:
    _vector(c)
    return [_padded(c), _padded(c), ()]


# ---- operations


def _define(signature: str, shape: Callable[[ShapeContext], Any]) -> OpDef:
    doc = "The boxes kept, best first, of those that overlap."
    return define_op(signature, shape=shape, doc=doc).not_differentiable(NO_GRADIENT)


_T2 = "T: {half, float} = float, T_threshold: {half, float} = float"
V1 = _define(
    "NonMaxSuppression(boxes: float, scores: float, max_output_size: int32; iou_threshold: float ="
    " 0.5) -> selected_indices: int32",
    _vector,
)
V2 = _define(
    "NonMaxSuppressionV2(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold; "
    f"{_T2}) -> selected_indices: int32",
    _vector,
)
V3 = _define(
    "NonMaxSuppressionV3(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, "
    f"score_threshold: T_threshold; {_T2}) -> selected_indices: int32",
    _vector,
)
V4 = _define(
    "NonMaxSuppressionV4(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, "
    f"score_threshold: T_threshold; {_T2}, pad_to_max_output_size: bool = False) -> "
    "selected_indices: int32, valid_outputs: int32",
    _counted,
)
V5 = _define(
    "NonMaxSuppressionV5(boxes: T, scores: T, max_output_size: int32, iou_threshold: T, "
    "score_threshold: T, soft_nms_sigma: T; T: {half, float} = float, pad_to_max_output_size: bool "
    "= False) -> selected_indices: int32, selected_scores: T, valid_outputs: int32",
    _scored,
).without_gradient(NO_GRADIENT)


def _taken(
    boxes: Array, scores: Array, most: Array, limit: Any, least: Any, sigma: Any = 0.0
) -> tuple[Array, Array]:
    """The boxes taken, in order, and their scores when they were."""
    wide, values = boxes.astype(np.float32, copy=False), scores.astype(np.float32, copy=False)
    if not sigma > 0 and np.isfinite(wide).all() and not np.isnan(limit):
        return _taken_plainly(wide, values, most, limit, least)
    weight = _softened(float(sigma)) if sigma > 0 else _unless_covered(float(limit))
    with np.errstate(invalid="ignore", over="ignore"):
        found, left = _select_weighted(_overlap(wide), values, int(most), float(least), weight)
    return np.array(found, np.int64), np.array(left, np.float32)


def _taken_plainly(
    boxes: Array, scores: Array, most: Array, limit: Any, least: Any
) -> tuple[Array, Array]:
    """The same in one pass, where NaN is no overlap."""
    given = int(most), float(limit), float(least)
    taken = native_arrays.apart(boxes, scores, *given)
    if taken is None:
        with np.errstate(invalid="ignore", over="ignore"):
            taken = np.array(_select(_overlap(boxes), scores, *given)[0], np.int64)
    return taken, scores[taken]


def _filled(values: Array, most: Array, pad: bool, dtype: Any) -> Array:
    if not pad:
        return values.astype(dtype)
    result = np.zeros(max(int(most), len(values)), dtype)
    result[: len(values)] = values
    return result


@host_kernel(V1, limit=HOST)
def _v1(boxes: Array, scores: Array, max_output_size: Array, *, iou_threshold: float) -> Array:
    return _taken(boxes, scores, max_output_size, iou_threshold, -np.inf)[0].astype(np.int32)


@host_kernel(V2, limit=HOST)
def _v2(boxes: Array, scores: Array, max_output_size: Array, iou_threshold: Array) -> Array:
    return _taken(boxes, scores, max_output_size, iou_threshold, -np.inf)[0].astype(np.int32)


@host_kernel(V3, limit=HOST)
def _v3(boxes: Array, scores: Array, most: Array, limit: Array, least: Array) -> Array:
    return _taken(boxes, scores, most, limit, least)[0].astype(np.int32)


@host_kernel(V4, limit=HOST)
def _v4(
    boxes: Array,
    scores: Array,
    most: Array,
    limit: Array,
    least: Array,
    *,
    pad_to_max_output_size: bool,
) -> tuple[Array, Array]:
    found = _taken(boxes, scores, most, limit, least)[0]
    return _filled(found, most, pad_to_max_output_size, np.int32), np.int32(len(found))


@host_kernel(V5, limit=HOST)
def _v5(
    boxes: Array,
    scores: Array,
    most: Array,
    limit: Array,
    least: Array,
    sigma: Array,
    *,
    pad_to_max_output_size: bool,
) -> tuple[Array, Array, Array]:
    found, values = _taken(boxes, scores, most, limit, least, sigma)
    pad = pad_to_max_output_size
    return (
        _filled(found, most, pad, np.int32),
        _filled(values, most, pad, scores.dtype),
        np.int32(len(found)),
    )


def _overlaps_shape(c: ShapeContext) -> Dims:
    overlaps = c.rank(0, 2, "overlaps") or (None, None)
    scores = c.rank(1, 1, "scores") or (None,)
    _same(c, overlaps[0], overlaps[1])
    _same(c, overlaps[0], scores[0])
    most = c.constant(2)
    if most is not None and int(most) < 0:
        c.fail("output size must be non-negative", f"{int(most)}")
    return (None,)


WITH_OVERLAPS = _define(
    "NonMaxSuppressionWithOverlaps(overlaps: float, scores: float, max_output_size: int32, "
    "overlap_threshold: float, score_threshold: float) -> selected_indices: int32",
    _overlaps_shape,
)


@host_kernel(WITH_OVERLAPS, limit=HOST)
def _with_overlaps(
    overlaps: Array, scores: Array, most: Array, limit: Array, least: Array
) -> Array:
    def overlap(some: Array, others: Array) -> Array:
        return overlaps[np.ix_(some, others)]

    if np.isnan(limit) or np.isnan(overlaps).any():
        weight = _unless_covered(float(limit))
        found = _select_weighted(overlap, scores, int(most), float(least), weight)[0]
    else:
        found = _select(overlap, scores, int(most), float(limit), float(least))[0]
    return np.array(found, np.int32)


def _batches_shape(c: ShapeContext) -> list[Dims]:
    boxes, scores = c.rank(0, 3, "boxes") or (None,) * 3, c.rank(1, 2, "scores")
    if boxes[2] not in (None, 4):
        c.fail("boxes must have 4 columns", f"{boxes[2]}")
    _same(c, boxes[1], scores[1] if scores else None)
    most = c.constant(2)
    return [(boxes[0], None if most is None else int(most)), (boxes[0],)]


BATCHES = _define(
    "PenstockNonMaxSuppressionOfBatches(boxes: float, scores: float, max_output_size: int32, "
    "iou_threshold: float, score_threshold: float) -> selected_indices: int32, valid_outputs: "
    "int32",
    _batches_shape,
)


@host_kernel(BATCHES, limit=HOST)
def _of_batches(
    boxes: Array, scores: Array, most: Array, limit: Array, least: Array
) -> tuple[Array, Array]:
    indices = np.zeros((len(boxes), int(most)), np.int32)
    counts = np.zeros(len(boxes), np.int32)
    if limit > 0:  # boxes that have just as much in common overlap, too
        limit = np.nextafter(limit, np.float32(-1))
    for i in range(len(boxes)):
        there = np.flatnonzero((boxes[i] > 0).any(-1))  # the others are padding
        found = there[_taken_plainly(boxes[i, there], scores[i, there], most, limit, least)[0]]
        indices[i, : len(found)], counts[i] = found, len(found)
    return indices, counts


def _combined_shape(c: ShapeContext) -> list[Dims]:
    boxes, scores = c.rank(0, 4, "boxes"), c.rank(1, 3, "scores")
    boxes, scores = boxes or (None,) * 4, scores or (None,) * 3
    if boxes[3] not in (None, 4):
        c.fail("boxes must have 4 columns", f"{boxes[3]}")
    _same(c, boxes[0], scores[0])
    _same(c, boxes[1], scores[1])
    if None not in (boxes[2], scores[2]) and boxes[2] not in (1, scores[2]):
        c.fail(f"boxes of 1 or {scores[2]} classes", f"{boxes[2]}")
    per_class, total = c.constant(2), c.constant(3)
    for name, value in (("max_size_per_class", per_class), ("max_total_size", total)):
        if value is not None and int(value) <= 0:
            c.fail(f"{name} must be positive", f"{int(value)}")
    room = None if total is None else int(total)
    if c.attr("pad_per_class"):
        known = None not in (room, per_class, scores[2])
        room = min(room, int(per_class) * scores[2]) if known else None  # type: ignore[arg-type, type-var, operator]
    return [(boxes[0], room, 4), (boxes[0], room), (boxes[0], room), (boxes[0],)]


COMBINED = _define(
    "CombinedNonMaxSuppression(boxes: float, scores: float, max_output_size_per_class: int32, "
    "max_total_size: int32, iou_threshold: float, score_threshold: float; pad_per_class: bool = "
    "False, clip_boxes: bool = True) -> nmsed_boxes: float, nmsed_scores: float, nmsed_classes: "
    "float, valid_detections: int32",
    _combined_shape,
).without_gradient(NO_GRADIENT)


@host_kernel(COMBINED, limit=HOST)
def _combined(
    boxes: Array,
    scores: Array,
    per_class: Array,
    total: Array,
    limit: Array,
    least: Array,
    *,
    pad_per_class: bool,
    clip_boxes: bool,
) -> tuple[Array, Array, Array, Array]:
    batch, _, classes = scores.shape
    room = min(int(total), int(per_class) * classes) if pad_per_class else int(total)
    limits = float(limit), float(least)
    made = native_arrays.apart_by_class(boxes, scores, int(per_class), room, limits, clip_boxes)
    if made is not None:
        return made
    out_boxes = np.zeros((batch, room, 4), np.float32)
    out_scores, out_classes = (np.zeros((batch, room), np.float32) for _ in range(2))
    counts = np.zeros(batch, np.int32)
    for i in range(batch):
        found = [
            _taken_plainly(
                boxes[i, :, k % boxes.shape[2]], scores[i, :, k], per_class, limit, least
            )
            for k in range(classes)
        ]
        kinds = np.repeat(np.arange(classes), [len(taken) for taken, _ in found])
        places, values = (np.concatenate([f[j] for f in found] or [[]]) for j in range(2))
        best = np.argsort(-values, kind="stable")[:room]
        counts[i], kinds, places = best.size, kinds[best], places[best].astype(np.int64)
        out_boxes[i, : best.size] = boxes[i, places, kinds % boxes.shape[2]]
        out_scores[i, : best.size], out_classes[i, : best.size] = values[best], kinds
    return np.clip(out_boxes, 0, 1) if clip_boxes else out_boxes, out_scores, out_classes, counts


# ---- public functions


def _inputs(boxes: Any, scores: Any, *limits: Any) -> tuple[Any, ...]:
    boxes = convert_to_tensor(boxes, preferred_dtype=dt.float32, name="boxes")
    return boxes, convert_to_tensor(scores, boxes.dtype), *limits


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Any:
    """The boxes kept, best first, of those that overlap.

    Args:
      boxes: float[boxes, 4], rows of y1, x1, y2, x2, any pair of opposite corners.
      scores: float[boxes].
      max_output_size: int32 scalar, how many are kept at most.
      iou_threshold: from which part of intersection in the union on boxes overlap.
      score_threshold: boxes of this score or less are dropped.
      name: the name in a graph.

    Returns:
      int32[kept], indices of boxes.

    Raises:
      InvalidArgumentError: shapes do not fit, or a limit is out of range.
    """
    limits = (max_output_size, iou_threshold, score_threshold)
    return execute(V3, _inputs(boxes, scores, *limits), None, name)


def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> Any:
    """The boxes kept, best first, of those that overlap, and their scores.

    Args:
      boxes: float[boxes, 4], rows of y1, x1, y2, x2, any pair of opposite corners.
      scores: float[boxes].
      max_output_size: int32 scalar, how many are kept at most.
      iou_threshold: from which part of intersection in the union on boxes overlap.
      score_threshold: boxes of this score or less are dropped.
      soft_nms_sigma: above 0, lowers the scores of boxes that overlap in place of dropping them.
      name: the name in a graph.

    Returns:
      int32[kept], indices of boxes; float[kept], their scores.

    Raises:
      InvalidArgumentError: shapes do not fit, or a limit is out of range.
    """
    limits = (max_output_size, iou_threshold, score_threshold, soft_nms_sigma)
    found = execute(V5, _inputs(boxes, scores, *limits), None, name)
    return found[0], found[1]


def non_max_suppression_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Any:
    """The things kept, best first, of those that overlap.

    Args:
      overlaps: float32[things, things], how much each overlaps each.
      scores: float32[things].
      max_output_size: int32 scalar, how many are kept at most.
      overlap_threshold: from which overlap on the one of the lower score is dropped.
      score_threshold: things of this score or less are dropped.
      name: the name in a graph.

    Returns:
      int32[kept], indices of things.

    Raises:
      InvalidArgumentError: shapes do not fit.
    """
    limits = (max_output_size, overlap_threshold, score_threshold)
    return execute(WITH_OVERLAPS, (overlaps, scores, *limits), None, name)


def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> Any:
    """As `non_max_suppression`, with a result of a known size; boxes may come in batches.

    Args:
      boxes: float32[..., boxes, 4].
      scores: float32[..., boxes].
      max_output_size: int32 scalar.
      iou_threshold: as of `non_max_suppression`.
      score_threshold: as of `non_max_suppression`.
      pad_to_max_output_size: whether indices are padded with 0; batches must be.
      name: the name in a graph.
      sorted_input: accepted; results do not depend on it.
      canonicalized_coordinates: accepted; results do not depend on it.
      tile_size: accepted; results do not depend on it.

    Returns:
      int32[..., max_output_size], indices of boxes; int32[...], how many are kept.

    Raises:
      ValueError: batches are not to be padded.
    """
    boxes = convert_to_tensor(boxes, preferred_dtype=dt.float32, name="boxes")
    if boxes.dtype.is_integer:
        boxes = execute("Cast", (boxes,), {"DstT": dt.float32})
    boxes, scores = _inputs(boxes, scores)
    rank = None if boxes.dims is None else len(boxes.dims)
    if not pad_to_max_output_size and rank not in (None, 2):
        raise ValueError(
            "non_max_suppression_padded: expected pad_to_max_output_size=True with batches of"
            f" boxes, got boxes {d.text(boxes.dims)}. Set it."
        )
    _check_rows(boxes, scores)
    shape = execute("Shape", (scores,))
    outer, batch = shape[:-1], execute("Prod", (shape[:-1], np.int32(0)), {"keep_dims": True})
    flat = execute("Reshape", (boxes, _joined(batch, execute("Shape", (boxes,))[-2:])))
    rows = execute("Reshape", (scores, _joined(batch, shape[-1:])))
    limits = (max_output_size, iou_threshold, score_threshold)
    found, counts = execute(BATCHES, (flat, rows, *limits), None, name)
    if not pad_to_max_output_size:
        count = execute("Reshape", (counts, np.zeros(0, np.int32)))
        return found[0, :count], count
    found = execute("Reshape", (found, _joined(outer, execute("Shape", (found,))[1:])))
    return found, execute("Reshape", (counts, outer))


def _check_rows(boxes: Any, scores: Any) -> None:
    """Refuses what cannot be a box for each score; eagerly with the class that graphs have, too."""
    if boxes.dims is None or scores.dims is None:
        return
    coordinates = boxes.dims[-1] if boxes.dims else None
    given = boxes.dims[-2] if len(boxes.dims) > 1 else None
    wanted = scores.dims[-1] if scores.dims else None
    unlike = None not in (given, wanted) and given != wanted
    flat = len(boxes.dims) < _BOXES_RANK or not scores.dims
    if flat or coordinates not in (None, _COORDINATES) or unlike:
        raise ValueError(
            "non_max_suppression_padded: expected boxes [..., n, 4] and scores [..., n], got boxes"
            f" {d.text(boxes.dims)} and scores {d.text(scores.dims)}. Give a score for each box."
        )


def _joined(a: Any, b: Any) -> Any:
    return execute("ConcatV2", ([a, b], np.int32(0)))


def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> Any:
    """Non-maximum suppression for each class by itself, and the best of all classes.

    Args:
      boxes: float32[batch, boxes, classes or 1, 4].
      scores: float32[batch, boxes, classes].
      max_output_size_per_class: int32 scalar.
      max_total_size: int32 scalar.
      iou_threshold: as of `non_max_suppression`.
      score_threshold: as of `non_max_suppression`.
      pad_per_class: whether the result has room for no more than all classes can fill.
      clip_boxes: whether boxes are cut off at 0 and 1.
      name: the name in a graph.

    Returns:
      boxes, float32[batch, room, 4]; scores and classes, float32[batch, room]; how many are valid,
      int32[batch].

    Raises:
      InvalidArgumentError: shapes do not fit, or a limit is out of range.
    """
    limits = (max_output_size_per_class, max_total_size, iou_threshold, score_threshold)
    attrs = {"pad_per_class": pad_per_class, "clip_boxes": clip_boxes}
    return named(COMBINED, (boxes, scores, *limits), attrs, name)
