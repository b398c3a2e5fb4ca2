"""`tf.ragged.*`: ranges, masks, functions of flat values, stacks, segment ids."""

from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.graph.static_values import constant_value
from penstock.ops import debug_asserts as asserts
from penstock.ops.array_select import boolean_mask as dense_boolean_mask
from penstock.ops.array_sort import argsort
from penstock.ops.composing import scope
from penstock.ops.ragged_dense_ops import RANGE
from penstock.ops.ragged_elementwise import ragged_or_tensor
from penstock.ops.ragged_join import stack as stack_ragged
from penstock.ops.ragged_partition import as_splits
from penstock.ops.ragged_parts import (
    after,
    cast,
    lengths_to_splits,
    rowids_to_lengths,
    splits_dtype,
    splits_to_rowids,
)
from penstock.ops.ragged_rows import is_ragged, take_rows
from penstock.ops.ragged_tensor import RaggedTensor
from penstock.types import dtypes as dt


def range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dt.int64,
) -> Any:
    """A row of equally spaced numbers for each start and limit.

    Args:
      starts: scalar or [nrows], the first numbers; the limits when `limits` is None.
      limits: scalar or [nrows], where rows end; they are left out.
      deltas: scalar or [nrows], the steps.
      dtype: the type of the numbers; inferred when None.
      name: the name of the operation in a graph.
      row_splits_dtype: int32 or int64.

    Returns:
      A RaggedTensor, [nrows, (length)].

    Raises:
      InvalidArgumentError: a step is 0, or the lengths differ.

    Example:
      >>> range([3, 1])
      <tf.RaggedTensor [[0, 1, 2], [0]]>
    """
    kind = splits_dtype(row_splits_dtype, "row_splits_dtype")
    if limits is None:
        starts, limits = 0, starts
    with scope(name, "RaggedRange"):
        first = convert_to_tensor(starts, dtype, name="starts")
        last = convert_to_tensor(limits, dtype, name="limits")
        step = convert_to_tensor(deltas, dtype, name="deltas")
        if dtype is None:
            order = [dt.int32, dt.int64, dt.float32, dt.float64]
            kinds = [first.dtype, last.dtype, step.dtype]
            if any(k not in order for k in kinds):
                raise AssertionError(
                    f"tf.ragged.range takes int32, int64, float32 and float64, got {kinds}. Cast "
                    "them, or give dtype."
                )
            wanted = max(kinds, key=order.index)
            first, last, step = (cast(v, wanted) for v in (first, last, step))
        splits, values = execute(RANGE, (first, last, step), {"Tsplits": kind})
        return RaggedTensor.from_row_splits(values, splits, validate=False)


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """The elements, or rows, where a mask is True; rows keep apart.

    Args:
      data: a tensor or ragged tensor.
      mask: bool, of the shape of the outer dimensions of `data`.
      name: a scope in a graph.

    Returns:
      A RaggedTensor; a Tensor where `mask` is a vector and `data` dense.

    Raises:
      ValueError: the mask is a scalar.
      InvalidArgumentError: the mask does not fit.

    Example:
      >>> boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]])
      <tf.RaggedTensor [[1], [3, 4]]>
    """
    with scope(name, "RaggedMask"):
        data = ragged_or_tensor(data)
        mask = mask if is_ragged(mask) else convert_to_tensor(mask, dt.bool_, name="mask")
        if mask.shape.rank == 0:
            raise ValueError("mask cannot be scalar. boolean_mask needs one entry for each row.")
        if mask.shape.rank is None:
            raise ValueError("mask.shape.ndims must be known statically.")
        return _masked(data, mask)


def _masked(data: Any, mask: Any) -> Any:
    rank = mask.shape.rank
    if rank == 1:
        if not is_ragged(data):
            return dense_boolean_mask(data, mask)
        data.shape[:1].assert_is_compatible_with(mask.shape)
        rows = execute("Reshape", (execute("Where", (mask,)), [-1]))
        return take_rows(data, cast(rows, data._row_partition.dtype))
    kind = data if is_ragged(data) else mask
    splits_kind = kind._row_partition.dtype if is_ragged(kind) else dt.int64
    if not is_ragged(mask):
        mask = RaggedTensor.from_tensor(mask, row_splits_dtype=splits_kind)
    if not is_ragged(data):
        data = RaggedTensor.from_tensor(data, row_splits_dtype=splits_kind)
    if data._row_partition.dtype is not mask._row_partition.dtype:
        data, mask = (v.with_row_splits_dtype(dt.int64) for v in (data, mask))
    check = asserts.assert_equal_v1(
        data.row_splits, mask.row_splits, message="Inputs must have identical ragged splits"
    )
    partition = mask._row_partition._after([check])
    if rank > 2:
        inner = _masked(data.values, mask.values)
        return RaggedTensor._from_row_partition(inner, partition, validate=False)
    kept = cast(mask.flat_values, partition.dtype)
    lengths = execute("UnsortedSegmentSum", (kept, partition.value_rowids(), partition.nrows()))
    values = _masked(data.values, mask.values)
    return RaggedTensor.from_row_splits(values, lengths_to_splits(lengths), validate=False)


def stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    """Stacks tensors of one rank, whose sizes may differ, along a new axis.

    Args:
      values: a list of tensors and ragged tensors of one dtype.
      axis: where the new axis goes.
      name: a scope in a graph.

    Returns:
      A RaggedTensor; a Tensor for dense values and another axis than 0.

    Raises:
      ValueError: there are no values, their ranks differ, or the axis is out of bounds.
    """
    if isinstance(values, (Tensor, np.ndarray)):
        values = [values]
    return stack_ragged(values, axis, name)


def stack_dynamic_partitions(
    data: Any, partitions: Any, num_partitions: Any, name: str | None = None
) -> Any:
    """The elements of each partition as a row.

    Args:
      data: a tensor or ragged tensor.
      partitions: int32 or int64, of the shape of the outer dimensions of `data`.
      num_partitions: the number of rows, an integer scalar.
      name: a scope in a graph.

    Returns:
      A RaggedTensor, [num_partitions, ...].

    Raises:
      InvalidArgumentError: a partition is negative or too large.

    Example:
      >>> stack_dynamic_partitions([10, 20, 30], [1, 0, 1], 2)
      <tf.RaggedTensor [[20], [10, 30]]>
    """
    with scope(name, "SegmentStack"):
        data, partitions = ragged_or_tensor(data), ragged_or_tensor(partitions)
        while is_ragged(partitions) or partitions.shape.rank != 1:
            data, partitions = _one_level_less(data, partitions)
        data.shape[:1].assert_is_compatible_with(partitions.shape)
        count = cast(convert_to_tensor(num_partitions, name="num_partitions"), partitions.dtype)
        checks = [
            asserts.assert_less_v1(
                partitions, count, message="partitions must be less than num_partitions"
            ),
            asserts.assert_non_negative_v1(partitions, message="partitions must be non-negative."),
        ]
        partitions = after(checks, partitions)
        order = argsort(partitions, stable=True)
        values = take_rows(data, cast(order, dt.int64))
        lengths = rowids_to_lengths(cast(partitions, dt.int64), cast(count, dt.int64))
        kind = values._row_partition.dtype if is_ragged(values) else partitions.dtype
        lengths = cast(lengths, kind)
        return RaggedTensor.from_row_lengths(values, lengths, validate=False)


def _one_level_less(data: Any, partitions: Any) -> tuple[Any, Any]:
    rank = partitions.shape.rank
    if rank is None:
        raise ValueError("The rank of partitions must be known.")
    if rank == 0:
        if is_ragged(data):
            return data[None], execute("Reshape", (partitions, [1]))
        lifted = execute("ExpandDims", (data, np.int32(0)))
        return lifted, execute("Reshape", (partitions, [1]))
    data = data if is_ragged(data) else RaggedTensor.from_tensor(data)
    if not is_ragged(partitions):
        partitions = RaggedTensor.from_tensor(
            partitions, row_splits_dtype=data._row_partition.dtype
        )
    message = "data and partitions have incompatible row_splits"
    check = asserts.assert_equal_v1(data.row_splits, partitions.row_splits, message=message)
    inner = partitions.values
    inner = (
        inner.with_values(after([check], inner.values))
        if is_ragged(inner)
        else after([check], inner)
    )
    return data.values, inner


def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Any:
    """The row of each value, from the positions between rows.

    Args:
      splits: int32 or int64[nrows + 1], from 0, not decreasing.
      name: a scope in a graph.
      out_type: int32 or int64; the dtype of `splits` when None.

    Returns:
      An integer vector, [nvals].

    Raises:
      ValueError: the splits are empty, of another rank or of another dtype.

    Example:
      >>> row_splits_to_segment_ids([0, 2, 2, 3]).numpy().tolist()
      [0, 0, 2]
    """
    if isinstance(splits, (list, tuple)) and not splits:
        raise ValueError("Invalid row_splits: []. Use [0] for no rows.")
    with scope(name, "RaggedSplitsToSegmentIds"):
        if isinstance(splits, np.ndarray) and splits.dtype == np.int32:
            splits = splits.astype(np.int64)
        found = as_splits(splits, "splits")
        found.shape.assert_has_rank(1)
        if found.dims == (0,):
            raise ValueError("Invalid row_splits: []. Use [0] for no rows.")
        kind = found.dtype if out_type is None else splits_dtype(out_type, "out_type")
        return cast(splits_to_rowids(found), kind)


def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None
) -> Any:
    """The positions between rows, from the row of each value.

    Args:
      segment_ids: int32 or int64[nvals].
      num_segments: the number of rows; one more than the largest id when None.
      out_type: int32 or int64; the dtype of `segment_ids` when None.
      name: a scope in a graph.

    Returns:
      An integer vector, [nrows + 1].

    Raises:
      TypeError: the ids are no integers.

    Example:
      >>> segment_ids_to_row_splits([0, 0, 2]).numpy().tolist()
      [0, 2, 2, 3]
    """
    with scope(name, "SegmentIdsToRaggedSplits"):
        empty = isinstance(segment_ids, (list, tuple)) and not segment_ids
        hint = None if hasattr(segment_ids, "dtype") else dt.int64
        ids = convert_to_tensor(segment_ids, dt.int64 if empty else None, dtype_hint=hint)
        if not ids.dtype.is_integer:
            raise TypeError(
                "Argument `tensor` (name: segment_ids) must be of type integer. Received dtype: "
                f"{ids.dtype!r}. Cast it."
            )
        ids.shape.assert_has_rank(1)
        kind = ids.dtype if out_type is None else splits_dtype(out_type, "out_type")
        ids = cast(ids, dt.int64)
        if num_segments is None:
            padded = execute("ConcatV2", ([ids, np.array([-1])], np.int32(0)))
            count = execute("Max", (padded, np.array([0], np.int32))) + 1
        else:
            count = convert_to_tensor(num_segments)
            if not count.dtype.is_integer:
                raise TypeError(
                    "Argument `tensor` (name: num_segments) must be of type integer. Received"
                    f" dtype: {count.dtype!r}. Cast it."
                )
            count = cast(count, dt.int64)
            # Negative ids count nowhere, so those behind the last row do not, either.
            ids = execute("SelectV2", (execute("Less", (ids, count)), ids, np.int64(-1)))
        found = cast(lengths_to_splits(rowids_to_lengths(ids, count)), kind)
        known = constant_value(count)
        if known is not None and found.dims == (None,):
            found.set_shape([int(known) + 1])
        return found
