"""Non-maximum suppression in batches of images and of classes.

Batches of images, padded, are compiled with `jit_compile=True`; all else runs on the host alone.
"""

from typing import Any

import numpy as np

from penstock.core import native_arrays
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel
from penstock.core.lazy import jnp, lax
from penstock.core.shapes import ShapeContext
from penstock.graph.standard_forms import standard_form
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_select import where
from penstock.ops.composing import named
from penstock.ops.image_selection import taken_plainly
from penstock.ops.image_suppression import (
    NO_GRADIENT,
    Array,
    check_same,
    suppression,
    suppression_inputs,
)
from penstock.ops.math_range import range as range_of
from penstock.ops.standard_loops import loop_of_rows
from penstock.ops.string_arrays import HOST
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

_COORDINATES, _BOXES_RANK = 4, 2  # of one image's boxes


def _batches_shape(c: ShapeContext) -> list[Dims]:
    boxes, scores = c.rank(0, 3, "boxes") or (None,) * 3, c.rank(1, 2, "scores")
    if boxes[2] not in (None, 4):
        c.fail("boxes must have 4 columns", f"{boxes[2]}")
    check_same(c, boxes[1], scores[1] if scores else None)
    most = c.constant(2)
    return [(boxes[0], None if most is None else int(most)), (boxes[0],)]


BATCHES = suppression(
    "PenstockNonMaxSuppressionOfBatches(boxes: float, scores: float, max_output_size: int32, "
    "iou_threshold: float, score_threshold: float) -> selected_indices: int32, valid_outputs: "
    "int32",
    _batches_shape,
    host_inputs=("max_output_size",),
)


@host_kernel(BATCHES, limit=HOST, alone_from=1)
def _of_batches(
    boxes: Array, scores: Array, most: Array, limit: Array, least: Array
) -> tuple[Array, Array]:
    indices = np.zeros((len(boxes), int(most)), np.int32)
    counts = np.zeros(len(boxes), np.int32)
    if limit > 0:  # boxes that have just as much in common overlap, too
        limit = np.nextafter(limit, np.float32(-1))
    for i in range(len(boxes)):
        there = np.flatnonzero((boxes[i] > 0).any(-1))  # the others are padding
        found = there[taken_plainly(boxes[i, there], scores[i, there], most, limit, least)[0]]
        indices[i, : len(found)], counts[i] = found, len(found)
    return indices, counts


@compiled_kernel(BATCHES)
def _of_batches_compiled(
    boxes: Array, scores: Array, most: Array, limit: Array, least: Array
) -> tuple[Array, Array]:
    batch, count = scores.shape
    room = int(most)
    if count == 0:
        return jnp.zeros((batch, room), np.int32), jnp.zeros(batch, np.int32)
    low = jnp.minimum(boxes[..., :2], boxes[..., 2:])
    high = jnp.maximum(boxes[..., :2], boxes[..., 2:])
    area = (high - low).prod(-1)
    rows = jnp.arange(batch)

    def best(values: Any) -> tuple[Any, Any, Any]:
        """The best box left of each image, whether there is one, and what is left then."""
        place = values.argmax(-1)
        there = jnp.take_along_axis(values, place[:, None], 1)[:, 0] > -np.inf
        sides = jnp.minimum(high, high[rows, place][:, None]) - jnp.maximum(
            low, low[rows, place][:, None]
        )
        both = jnp.maximum(sides, 0).prod(-1)
        own = area[rows, place][:, None]
        part = jnp.where((own <= 0) | (area <= 0), 0, both / (own + area - both))
        covered = jnp.where(limit > 0, part >= limit, part > limit)
        covered = covered | (jnp.arange(count) == place[:, None])
        return place, there, jnp.where(covered & there[:, None], -np.inf, values)

    def one(index: Any, held: Any) -> Any:
        values, indices, counts = held
        place, there, values = best(values)
        indices = indices.at[:, index].set(jnp.where(there, place, 0).astype(np.int32))
        return values, indices, counts + there

    real = (boxes > 0).any(-1) & (scores > least)  # the others are padding
    start = jnp.where(real, scores, -np.inf), jnp.zeros((batch, room), np.int32)
    _, indices, counts = lax.fori_loop(0, room, one, (*start, jnp.zeros(batch, np.int32)))
    return indices, counts


@standard_form(BATCHES)
def _of_batches_in_files(boxes: Any, scores: Any, most: Any, limit: Any, least: Any) -> Any:
    there = execute("Any", (execute("Greater", (boxes, np.float32(0))), np.array([2], np.int32)))
    scores = where(there, scores, np.float32(-np.inf))  # the others are padding: less than any
    below = execute("NextAfter", (limit, np.float32(-1)))
    allowed = where(execute("Greater", (limit, np.float32(0))), below, np.float32(0))
    allowed = execute("Minimum", (allowed, np.float32(1)))

    def step(number: Any) -> Any:
        given = boxes[number], scores[number], most, allowed, least
        found = execute("NonMaxSuppressionV4", given, {"pad_to_max_output_size": True})
        return number, [], found

    kinds = [(dt.int32, execute("Reshape", (most, [1]))), (dt.int32, np.zeros(0, np.int32))]
    places, counts = loop_of_rows(shape_of(boxes)[0], step, [], kinds)[1]
    # All boxes overlap where less than nothing in common is enough.
    one = execute("Minimum", (counts, np.int32(1)))
    counts = where(execute("Less", (limit, np.float32(0))), one, counts)
    return where(range_of(most)[None] < counts[:, None], places, np.int32(0)), counts


def _combined_shape(c: ShapeContext) -> list[Dims]:
    boxes, scores = c.rank(0, 4, "boxes"), c.rank(1, 3, "scores")
    boxes, scores = boxes or (None,) * 4, scores or (None,) * 3
    if boxes[3] not in (None, 4):
        c.fail("boxes must have 4 columns", f"{boxes[3]}")
    check_same(c, boxes[0], scores[0])
    check_same(c, boxes[1], scores[1])
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


COMBINED = suppression(
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
            taken_plainly(boxes[i, :, k % boxes.shape[2]], scores[i, :, k], per_class, limit, least)
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
    boxes, scores = suppression_inputs(boxes, scores)
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
