"""Strings joined along axes and by segment."""

import math
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_strings
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.array_shape import rank as rank_of
from penstock.ops.composing import composed
from penstock.ops.math_range import range as range_of
from penstock.ops.string_arrays import HOST, array_of, as_bytes, invalid
from penstock.ops.string_to_hash import either
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray
NO_GRADIENT = "strings have no gradient"

# ---- along axes ---------------------------------------------------------------------------------


def _reduce_shape(c: ShapeContext) -> Dims:
    dims, axes, keep = c.shape(0), c.constant(1), c.attr("keep_dims")
    if dims is None or axes is None:
        return (None,) * len(dims) if keep and dims is not None else None
    wanted = [int(a) for a in axes.reshape(-1)]
    if not c.running:
        wanted = [c.axis(a, len(dims)) for a in wanted]
    elif any(not -len(dims) <= a < len(dims) for a in wanted):
        return None  # the kernel refuses it, with the class of error that it has there
    gone = {a % len(dims) for a in wanted}
    if len(gone) != len(wanted):
        c.fail("different axes", f"Duplicate reduction dimension in {wanted}")
    if keep:
        return tuple(1 if i in gone else n for i, n in enumerate(dims))
    return tuple(n for i, n in enumerate(dims) if i not in gone)


REDUCE_JOIN = define_op(
    "ReduceJoin(inputs: string, reduction_indices: int32; keep_dims: bool = False, separator: "
    "string = '') -> output: string",
    shape=_reduce_shape,
    host_inputs=("reduction_indices",),
    doc="Strings joined along axes.",
).not_differentiable(NO_GRADIENT)


@host_kernel(REDUCE_JOIN, limit=HOST)
def _reduce_join(
    inputs: Array, reduction_indices: Array, *, keep_dims: bool, separator: Any
) -> Array:
    axes = []
    for axis in reduction_indices.reshape(-1).tolist():
        if not -inputs.ndim <= axis < inputs.ndim:
            raise errors.OutOfRangeError(
                None,
                None,
                f"ReduceJoin: Invalid reduction dimension {axis} for input with {inputs.ndim}"
                f" dimension(s): expected one from {-inputs.ndim} to {inputs.ndim - 1}.",
            )
        axes.append(axis % inputs.ndim)
    kept = [i for i in range(inputs.ndim) if i not in axes]
    shape = tuple(inputs.shape[i] for i in kept)
    between = as_bytes(separator)
    rows = np.transpose(inputs, kept + axes[::-1])
    count = int(np.prod([inputs.shape[i] for i in axes], dtype=np.int64))
    texts = [between.join(row) for row in rows.reshape(int(np.prod(shape)), count).tolist()]
    if keep_dims:
        shape = tuple(1 if i in axes else n for i, n in enumerate(inputs.shape))
    return array_of(texts, shape)


@composed("ReduceJoin", result=None)
def reduce_join(
    inputs: Any,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Any:
    """Joins strings along axes.

    Args:
      inputs: string, any shape.
      axis: an axis, or several in the order in which they are joined; all by default.
      keepdims: whether the axes stay, with size 1.
      separator: what stands between the strings.
      name: the name in a graph.

    Returns:
      Strings of the shape of `inputs` without the axes.

    Raises:
      OutOfRangeError: there is no such axis (ValueError when a graph is built).

    Example:
      >>> reduce_join([["abc", "123"], ["def", "456"]], axis=-1).numpy().tolist()
      [b'abc123', b'def456']
    """
    text = convert_to_tensor(inputs)
    if axis is None:
        dims = text.dims
        if dims is None:
            last = rank_of(text) - 1
            axis = range_of(last, -1, -1)
        else:
            axis = np.arange(len(dims) - 1, -1, -1, dtype=np.int32)
    elif isinstance(axis, (list, tuple)) and not axis:
        axis = np.zeros(0, np.int32)
    attrs = {"keep_dims": keepdims, "separator": separator}
    return execute(REDUCE_JOIN, (text, axis), attrs, name)


def reduce_join_v1(
    inputs: Any,
    axis: Any = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: bool | None = None,
) -> Any:
    """Joins strings along axes; see `tf.strings.reduce_join`.

    Args:
      inputs: string, any shape.
      axis: an axis, or several in the order in which they are joined; all by default.
      keep_dims: the same as `keepdims`.
      separator: what stands between the strings.
      name: the name in a graph.
      reduction_indices: the same as `axis`.
      keepdims: whether the axes stay, with size 1.

    Returns:
      Strings of the shape of `inputs` without the axes.

    Raises:
      ValueError: both names of an argument are given.
    """
    keep = either(keepdims, keep_dims, "keepdims", "keep_dims")
    axes = either(axis, reduction_indices, "axis", "reduction_indices")
    return reduce_join(inputs, axes, bool(keep), separator, name)


# ---- by segment ---------------------------------------------------------------------------------


def _segment_shape(c: ShapeContext) -> Dims:
    data, ids = c.shape(0), c.shape(1)
    if c.shape(2):
        c.fail("a scalar num_segments", f"Number of segments must be a scalar, got {c.shape(2)}")
    known = c.constant(2)
    if known is not None and int(known) < 0:
        c.fail(
            "num_segments of at least 0", f"Number of segments must be non-negative but got {known}"
        )
    if ids == ():
        c.fail("segment_ids of rank 1 or more", "Segment_id cannot have rank 0")
    if data is None or ids is None:
        return None
    if len(ids) > len(data):
        if state.graph is None:
            return None  # the kernel refuses it
        c.fail("segment_ids of at most the input's rank", f"rank {len(ids)} for {d.text(data)}")
    if not d.compatible(ids, data[: len(ids)]):
        c.fail(
            "segment_ids of the leading dimensions of the inputs",
            f"Segment dimension {d.text(ids)} while input dimension is {d.text(data)}",
        )
    return (None if known is None else int(known), *data[len(ids) :])


SEGMENT_JOIN = define_op(
    "UnsortedSegmentJoin(inputs: string, segment_ids: Tindices, num_segments: Tnumsegments; "
    "separator: string = '', Tindices: {int32, int64}, Tnumsegments: {int32, int64} = int32) -> "
    "output: string",
    shape=_segment_shape,
    host_inputs=("num_segments",),
    doc="Strings joined by segment.",
).not_differentiable(NO_GRADIENT)


@host_kernel(SEGMENT_JOIN, limit=HOST)
def _segment_join(
    inputs: Array, segment_ids: Array, num_segments: Array, *, separator: Any
) -> Array:
    count, between = int(num_segments), as_bytes(separator)
    if segment_ids.ndim > inputs.ndim:
        raise errors.OutOfRangeError(
            None,
            None,
            f"UnsortedSegmentJoin: Invalid segment_id rank {segment_ids.ndim} for input with"
            f" {inputs.ndim} dimension(s): expected at most as many.",
        )
    inner = inputs.shape[segment_ids.ndim :]
    width, ids = math.prod(inner), segment_ids.reshape(-1)
    # ids below 0 are large ones without a sign
    if ids.size and np.maximum.reduce(ids.view(f"u{ids.itemsize}")) >= count:
        raise invalid(
            "UnsortedSegmentJoin: segment_ids are not allowed to exceed num_segments or to have"
            f" negative values: expected 0 to {count - 1}, got {segment_ids.min()} to"
            f" {segment_ids.max()}."
        )
    places = ids
    if inner:
        places = (ids[:, None].astype(np.int64) * width + np.arange(width)).reshape(-1)
    found = native_strings.combined(inputs, places, count * width, between)
    if found is None:
        cells: list[list[bytes]] = [[] for _ in range(count * width)]
        for place, text in zip(places.tolist(), inputs.reshape(-1), strict=True):
            if text or cells[place]:  # as TensorFlow: none goes between nothing and the first text
                cells[place].append(text)
        found = array_of([between.join(cell) for cell in cells], (count * width,))
    return found.reshape(count, *inner)


def unsorted_segment_join(
    inputs: Any, segment_ids: Any, num_segments: Any, separator: str = "", name: str | None = None
) -> Any:
    """Joins strings by segment.

    Args:
      inputs: string[N, ...].
      segment_ids: int32 or int64, of the shape of the leading dimensions of `inputs`: where each
        goes.
      num_segments: how many segments there are.
      separator: what stands between the strings of a segment.
      name: the name in a graph.

    Returns:
      string[num_segments, ...]; an empty segment is an empty string.

    Raises:
      InvalidArgumentError: an id is negative or too large, or shapes do not fit.

    Example:
      >>> unsorted_segment_join(["a", "b", "c"], [1, 0, 1], 2, ":").numpy().tolist()
      [b'b', b'a:c']
    """
    attrs = {"separator": separator}
    return execute(SEGMENT_JOIN, (inputs, segment_ids, num_segments), attrs, name)
