"""Non-maximum suppression: of boxes that overlap, the best is kept. Host only.

Boxes are rows of y1, x1, y2, x2, any pair of opposite corners; `image_selection` chooses among
them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core import native_arrays
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.image_selection import (
    FEW,
    best_boxes,
    select,
    select_few,
    select_weighted,
    unless_covered,
)
from penstock.ops.string_arrays import HOST
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray
NO_GRADIENT = "indices have no gradient"


# ---- shapes


def _count(c: ShapeContext) -> None:
    boxes = c.rank(0, 2, "boxes") or (None, None)
    scores = c.rank(1, 1, "scores") or (None,)
    if boxes[1] not in (None, 4):
        known = c.says("", f": Dimension must be 4 but is {boxes[1]}")
        c.fail("boxes must have 4 columns", f"{boxes[1]}{known}")
    check_same(c, boxes[0], scores[0])


def check_same(c: ShapeContext, boxes: int | None, scores: int | None) -> None:
    """Refuses other numbers of scores than of boxes."""
    if None not in (boxes, scores) and boxes != scores:
        unequal = f"Dimensions must be equal, but are {boxes} and {scores}"
        known = c.says(f"scores has incompatible shape ({unequal})", unequal)
        c.fail(f"a score for each of {boxes} boxes", f"{scores} scores: {known}")


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


def suppression(
    signature: str, shape: Callable[[ShapeContext], Any], host_inputs: tuple[str, ...] = ()
) -> OpDef:
    """The definition of an operation that keeps boxes."""
    doc = "The boxes kept, best first, of those that overlap."
    op = define_op(signature, shape=shape, host_inputs=host_inputs, doc=doc)
    return op.not_differentiable(NO_GRADIENT)


_T2 = "T: {half, float} = float, T_threshold: {half, float} = float"
V1 = suppression(
    "NonMaxSuppression(boxes: float, scores: float, max_output_size: int32; iou_threshold: float ="
    " 0.5) -> selected_indices: int32",
    _vector,
)
V2 = suppression(
    "NonMaxSuppressionV2(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold; "
    f"{_T2}) -> selected_indices: int32",
    _vector,
)
V3 = suppression(
    "NonMaxSuppressionV3(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, "
    f"score_threshold: T_threshold; {_T2}) -> selected_indices: int32",
    _vector,
)
V4 = suppression(
    "NonMaxSuppressionV4(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, "
    f"score_threshold: T_threshold; {_T2}, pad_to_max_output_size: bool = False) -> "
    "selected_indices: int32, valid_outputs: int32",
    _counted,
)
V5 = suppression(
    "NonMaxSuppressionV5(boxes: T, scores: T, max_output_size: int32, iou_threshold: T, "
    "score_threshold: T, soft_nms_sigma: T; T: {half, float} = float, pad_to_max_output_size: bool "
    "= False) -> selected_indices: int32, selected_scores: T, valid_outputs: int32",
    _scored,
).without_gradient(NO_GRADIENT)


def _filled(values: Array, most: Array, pad: bool, dtype: Any) -> Array:
    if not pad:
        return values.astype(dtype)
    result = np.zeros(max(int(most), len(values)), dtype)
    result[: len(values)] = values
    return result


@host_kernel(V1, limit=HOST)
def _v1(boxes: Array, scores: Array, max_output_size: Array, *, iou_threshold: float) -> Array:
    return best_boxes(boxes, scores, max_output_size, iou_threshold, -np.inf)[0].astype(np.int32)


@host_kernel(V2, limit=HOST)
def _v2(boxes: Array, scores: Array, max_output_size: Array, iou_threshold: Array) -> Array:
    return best_boxes(boxes, scores, max_output_size, iou_threshold, -np.inf)[0].astype(np.int32)


@host_kernel(V3, limit=HOST)
def _v3(boxes: Array, scores: Array, most: Array, limit: Array, least: Array) -> Array:
    return best_boxes(boxes, scores, most, limit, least)[0].astype(np.int32)


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
    found = best_boxes(boxes, scores, most, limit, least)[0]
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
    found, values = best_boxes(boxes, scores, most, limit, least, sigma)
    pad = pad_to_max_output_size
    return (
        _filled(found, most, pad, np.int32),
        _filled(values, most, pad, scores.dtype),
        np.int32(len(found)),
    )


def _overlaps_shape(c: ShapeContext) -> Dims:
    overlaps = c.rank(0, 2, "overlaps") or (None, None)
    scores = c.rank(1, 1, "scores") or (None,)
    check_same(c, overlaps[0], overlaps[1])
    check_same(c, overlaps[0], scores[0])
    for i in range(2, len(c)):
        c.rank(i, 0, f"input {i}")
    most = c.constant(2)
    if most is not None and int(most) < 0:
        c.fail("output size must be non-negative", f"{int(most)}")
    return (None,)


WITH_OVERLAPS = suppression(
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

    given = scores, int(most)
    if limit == limit:
        left = np.flatnonzero(scores > least)
        order = left[np.argsort(-scores[left], kind="stable")]
        taken = native_arrays.apart_by_overlaps(overlaps, order, given[1], float(limit))
        if taken is not None:
            return taken.astype(np.int32)
    if limit != limit or not np.isfinite(overlaps).all():
        weight = unless_covered(float(limit))
        found = select_weighted(overlap, *given, float(least), weight)[0]
    elif len(scores) <= FEW:
        found = select_few(overlaps > limit, *given, float(least))
    else:
        found = select(overlap, *given, float(limit), float(least))[0]
    return np.array(found, np.int32)


# ---- public functions


def suppression_inputs(boxes: Any, scores: Any, *limits: Any) -> tuple[Any, ...]:
    """Boxes and scores as tensors of one dtype, and what is behind them."""
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
    return execute(V3, suppression_inputs(boxes, scores, *limits), None, name)


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
    found = execute(V5, suppression_inputs(boxes, scores, *limits), None, name)
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
      overlap_threshold: from which overlap on the one of the lower score is dropped; it always is
        where the overlap is infinite.
      score_threshold: things of this score or less are dropped.
      name: the name in a graph.

    Returns:
      int32[kept], indices of things.

    Raises:
      InvalidArgumentError: shapes do not fit.
    """
    limits = (max_output_size, overlap_threshold, score_threshold)
    return execute(WITH_OVERLAPS, (overlaps, scores, *limits), None, name)
