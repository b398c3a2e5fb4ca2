"""Gathering from ragged tensors and with ragged indices; `where` with ragged operands."""

from typing import Any

import numpy as np

from penstock.core import dispatch
from penstock.core.execute import execute
from penstock.ops import debug_asserts as asserts
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_gather import gather as dense_gather
from penstock.ops.array_gather import gather_nd as dense_gather_nd
from penstock.ops.array_select import boolean_mask as dense_boolean_mask
from penstock.ops.composing import scope
from penstock.ops.ragged_class import RaggedTensor, axis_of
from penstock.ops.ragged_elementwise import (
    map_flat_values,
    meet,
    ragged_or_tensor,
    same_splits_dtype,
)
from penstock.ops.ragged_join import concat
from penstock.ops.ragged_partition import RowPartition
from penstock.ops.ragged_parts import after
from penstock.ops.ragged_rows import is_ragged, take_rows
from penstock.types import dtypes as dt


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: Any = 0,
    name: str | None = None,
) -> Any:
    """`tf.gather` where the tensor or the indices are ragged."""
    del validate_indices
    with scope(name, "RaggedGather"):
        params = ragged_or_tensor(params)
        indices = ragged_or_tensor(indices)
        same_splits_dtype([params, indices])
        rank = indices.shape.rank
        if rank is None and (batch_dims or axis):
            raise ValueError(
                "The rank of the indices must be known to gather from a ragged tensor along "
                f"axis={axis} with batch_dims={batch_dims}. Use tf.ensure_shape."
            )
        batch = batch_dims + rank if batch_dims < 0 else batch_dims
        if axis is None:
            axis = batch
        axis = axis_of(axis, params.shape.rank)
        if not 0 <= batch <= axis:
            raise ValueError(
                f"batch_dims={batch_dims} must be at most axis={axis}, and at most the rank of the "
                f"indices, {rank}."
            )
        return _gather(params, indices, axis, batch)


def _gather(params: Any, indices: Any, axis: int, batch: int) -> Any:
    if not is_ragged(params) and not is_ragged(indices):
        return dense_gather(params, indices, axis=axis, batch_dims=batch)
    if batch > 0:
        return _batches(params, indices, axis, batch)
    if axis == 0:
        return _first_axis(params, indices)
    params = _ragged(params, indices if is_ragged(indices) else None)
    if axis == 1:
        return _in_every_row(params, indices)
    return params.with_values(_gather(params.values, indices, axis - 1, 0))


def _ragged(x: Any, like: Any = None) -> Any:
    """A tensor of rank 2 or more as a ragged tensor."""
    if is_ragged(x):
        return x
    kind = dt.int64 if like is None else like._row_partition.dtype
    return RaggedTensor.from_tensor(x, row_splits_dtype=kind)


def _first_axis(params: Any, indices: Any) -> Any:
    if is_ragged(indices):
        return indices.with_flat_values(_first_axis(params, indices.flat_values))
    if not is_ragged(params):
        return dense_gather(params, indices)
    dims = indices.dims
    if dims is None:
        raise ValueError("The rank of the indices must be known to gather from a ragged tensor.")
    if indices.dtype not in (dt.int32, dt.int64):
        return dense_gather(params.row_starts(), indices)  # an error of the operation
    if not dims:
        one = take_rows(params, execute("Reshape", (indices, [1])))
        return one.values
    if len(dims) == 1:
        return take_rows(params, indices)
    rows = take_rows(params, execute("Reshape", (indices, [-1])))
    grid = RaggedTensor.from_tensor(
        indices, ragged_rank=len(dims) - 1, row_splits_dtype=params._row_partition.dtype
    )
    return grid.with_flat_values(rows)


def _in_every_row(params: Any, indices: Any) -> Any:
    """The same positions of every row."""
    starts = params.row_starts()
    if is_ragged(indices):
        return _ragged_in_every_row(params, indices, starts)
    if indices.dtype is not starts.dtype:
        indices = execute("Cast", (indices,), {"DstT": starts.dtype})
    rank = len(indices.dims)
    for _ in range(rank):
        starts = execute("ExpandDims", (starts, np.int32(-1)))
    return _first_axis(params.values, starts + indices)


def _ragged_in_every_row(params: Any, indices: Any, starts: Any) -> Any:
    """The same rows of positions for every row, one copy of them after the other."""
    count, height = params.nrows(), indices.nrows()
    rows = RowPartition.from_uniform_row_length(height, nvals=count * height, nrows=count)
    copies = take_rows(indices, rows.offsets_in_rows())
    places = _shifted(copies, execute("GatherV2", (starts, rows.value_rowids(), np.int32(0))))
    return RaggedTensor._from_row_partition(
        _first_axis(params.values, places), rows, validate=False
    )


def _batches(params: Any, indices: Any, axis: int, batch: int) -> Any:
    """Rows of `params` with rows of `indices`."""
    params = _ragged(params, indices if is_ragged(indices) else None)
    single = not is_ragged(indices) and len(indices.dims) == 1
    if single:  # one index for each row
        starts = params.row_starts()
        places = starts + execute("Cast", (indices,), {"DstT": starts.dtype})
        if axis > 1 or batch > 1:
            raise ValueError("axis must be 1 where there is one index for each row.")
        return _first_axis(params.values, places)
    if not params.shape[:1].is_compatible_with(indices.shape[:1]):
        raise ValueError(
            f"batch shape from indices {indices.shape[:1]} does not match params shape"
            f" {params.shape}. Give a row of indices for each row of params."
        )
    message = "params and indices must have equal batch dimensions"
    if not is_ragged(indices) and axis == batch == 1:  # as many of each row: no new ragged rows
        count = execute("GatherV2", (shape_of(indices), np.int32(0), np.int32(0)))
        count = execute("Cast", (count,), {"DstT": params._row_partition.dtype})
        check = asserts.assert_equal_v1(params.nrows(), count, message=message)
        return _first_axis(params.values, after([check], _shifted(indices, params.row_starts())))
    indices = _ragged(indices, params)
    check = asserts.assert_equal_v1(params.nrows(), indices.nrows(), message=message)
    partition = indices._row_partition._after([check])
    if batch > 1:
        same = asserts.assert_equal_v1(params.row_splits, indices.row_splits, message=message)
        inner = _gather(params.values, indices.values, axis - 1, batch - 1)
        return RaggedTensor._from_row_partition(inner, partition._after([same]), validate=False)
    if axis > 1:  # the positions of a row, for each part of it
        outer = params._row_partition._after([check])
        of_parts = take_rows(indices, outer.value_rowids())
        inner = _batches(params.values, of_parts, axis - 1, 1)
        return RaggedTensor._from_row_partition(inner, outer, validate=False)
    ids = partition.value_rowids()
    starts = execute("GatherV2", (params.row_starts(), ids, np.int32(0)))
    places = _shifted(indices.values, starts)
    return RaggedTensor._from_row_partition(
        _first_axis(params.values, places), partition, validate=False
    )


def _shifted(indices: Any, starts: Any) -> Any:
    """Indices with the start of their row added to each."""
    if is_ragged(indices):
        ids = indices.value_rowids()
        inner = execute("GatherV2", (starts, ids, np.int32(0)))
        return indices.with_values(_shifted(indices.values, inner))
    if indices.dtype is not starts.dtype:
        indices = execute("Cast", (indices,), {"DstT": starts.dtype})
    for _ in range(len(indices.dims) - 1):
        starts = execute("ExpandDims", (starts, np.int32(-1)))
    return indices + starts


def gather_v1(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: Any = 0,
) -> Any:
    """`tf.compat.v1.gather` where the tensor or the indices are ragged."""
    return gather(params, indices, validate_indices, axis, batch_dims, name)


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """`tf.compat.v1.batch_gather` where the tensor or the indices are ragged."""
    return gather(params, indices, batch_dims=-1, name=name)


# ---- gather_nd


def gather_nd(
    params: Any,
    indices: Any,
    batch_dims: Any = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Any:
    """`tf.gather_nd` where the tensor or the indices are ragged."""
    del bad_indices_policy
    if not isinstance(batch_dims, int) or batch_dims != 0:
        raise ValueError("batch_dims != 0 is not supported for ragged gather yet.")
    with scope(name, "RaggedGatherNd"):
        params, indices = ragged_or_tensor(params), ragged_or_tensor(indices)
        if is_ragged(indices):
            flat = indices.flat_values
            if flat.dims is None or len(flat.dims) < 2:
                raise ValueError(
                    "The innermost dimension of indices may not be ragged: expected one uniform "
                    "dimension of positions."
                )
            return indices.with_flat_values(gather_nd(params, flat))
        if not is_ragged(params):
            return dense_gather_nd(params, indices)
        depth = indices.dims[-1] if indices.dims else None
        if depth is None:
            raise ValueError("The innermost dimension of indices must be known.")
        return _gather_nd(params, indices, depth)


def _gather_nd(params: Any, indices: Any, depth: int) -> Any:
    kind = params._row_partition.dtype
    if indices.dtype is not kind:
        indices = execute("Cast", (indices,), {"DstT": kind})
    if depth == 0:
        raise ValueError("gather_nd with an innermost dimension of size 0 takes no ragged tensor.")
    places, level = indices[..., 0], 1
    values = params
    while level < depth and is_ragged(values):
        starts = execute("GatherV2", (values.row_starts(), places, np.int32(0)))
        places = starts + indices[..., level]
        values = values.values
        level += 1
    if level == depth:
        return _first_axis(values, places)
    last = execute("ConcatV2", ([places[..., None], indices[..., level:]], np.int32(-1)))
    return dense_gather_nd(values, last)


def gather_nd_v1(
    params: Any,
    indices: Any,
    name: str | None = None,
    batch_dims: Any = 0,
    bad_indices_policy: str = "",
) -> Any:
    """`tf.compat.v1.gather_nd` where the tensor or the indices are ragged."""
    return gather_nd(params, indices, batch_dims, name, bad_indices_policy)


# ---- where


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """`tf.where` with ragged operands that broadcast."""
    if (x is None) != (y is None):
        raise ValueError("x and y must be either both None or both non-None")
    with scope(name, "RaggedWhere"):
        condition = ragged_or_tensor(condition, dt.bool_)
        if x is None:
            return _true_positions(condition)
        x = ragged_or_tensor(x, y.dtype if is_ragged(y) else None)
        y = ragged_or_tensor(y, x.dtype)
        same_splits_dtype([condition, x, y])
        a, b = _alike(condition, x)
        a, c = _alike(a, y)
        a, b = _alike(a, b)
        b, c = _alike(b, c)
        kept = next(v for v in (a, b, c) if is_ragged(v))
        flat = [v.flat_values if is_ragged(v) else v for v in (a, b, c)]
        return kept.with_flat_values(execute("SelectV2", tuple(flat)))


def _true_positions(condition: Any) -> Any:
    sparse = condition.to_sparse()
    return dense_boolean_mask(sparse.indices, sparse.values)


def _alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands broadcast to one ragged shape; scalars and pairs of tensors as they are."""
    ragged = is_ragged(x) or is_ragged(y)
    scalar = any(not is_ragged(v) and v.dims == () for v in (x, y))
    if not ragged or scalar:
        return x, y
    left, right, build = meet(x, y)
    return build(left), build(right)


def where_v1(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """`tf.compat.v1.where`: operands of one shape, or a vector that chooses rows."""
    if (x is None) != (y is None):
        raise ValueError("x and y must be either both None or both non-None")
    with scope(name, "RaggedWhere"):
        condition = ragged_or_tensor(condition, dt.bool_)
        if x is None:
            return _true_positions(condition)
        x, y = ragged_or_tensor(x), ragged_or_tensor(y)
        if is_ragged(condition):
            if not (is_ragged(x) and is_ragged(y)):
                raise ValueError(
                    "Input shapes do not match: expected x and y to be ragged as the condition is, "
                    f"got {x!r} and {y!r}. tf.where broadcasts them."
                )
            return map_flat_values(lambda *flat: execute("Select", flat), condition, x, y)
        condition.shape.assert_has_rank(1)
        return _chosen_rows(condition, x, y)


def _chosen_rows(condition: Any, x: Any, y: Any) -> Any:
    x, y = _ragged(x), _ragged(y)
    kind = x._row_partition.dtype
    rows = x.nrows()
    message = "condition, x and y must have as many rows"
    checks = [asserts.assert_equal_v1(rows, y.nrows(), message=message)]
    every = execute(
        "Range", (np.asarray(0, kind.numpy_dtype), rows, np.asarray(1, kind.numpy_dtype))
    )
    order = execute("Select", (after(checks, condition), every, every + rows))
    return take_rows(concat([x, y], 0), order)


for _key, _function in (
    ("array_gather.gather", gather),
    ("array_gather.gather_v1", gather_v1),
    ("array_gather.batch_gather", batch_gather),
    ("array_gather.gather_nd", gather_nd),
    ("array_gather.gather_nd_v1", gather_nd_v1),
    ("array_select.where", where),
    ("array_select.where_v1", where_v1),
):
    dispatch.handler(_key, RaggedTensor)(_function)
