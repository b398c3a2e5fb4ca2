"""Rows of ragged tensors by number and by range: what indexing and gathering are made of."""

from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.ops.ragged_dense_ops import RANGE
from penstock.ops.ragged_factories import RaggedFactories
from penstock.ops.ragged_partition import RowPartition
from penstock.ops.ragged_parts import cast, lengths_to_splits


def is_ragged(value: Any) -> bool:
    """Whether a value is a RaggedTensor."""
    return isinstance(value, RaggedFactories)


def ranges(starts: Any, limits: Any, steps: Any = None) -> tuple[Any, Any]:
    """Row splits and values of the numbers from each start to its limit."""
    one = np.asarray(1, starts.dtype.numpy_dtype)
    steps = one if steps is None else steps
    splits, values = execute(RANGE, (starts, limits, steps), {"Tsplits": starts.dtype})
    return splits, values


def take_rows(values: Any, rows: Any) -> Any:
    """Rows of a tensor or ragged tensor, in the order of an integer vector.

    Args:
      values: a Tensor or RaggedTensor.
      rows: int32 or int64[n], each within the number of rows.
    """
    if not is_ragged(values):
        return execute("GatherV2", (values, rows, np.int32(0)))
    partition = values._row_partition
    zero = np.int32(0)
    starts = execute("GatherV2", (partition.row_starts(), rows, zero))
    limits = execute("GatherV2", (partition.row_limits(), rows, zero))
    inner = take_rows(values.values, ranges(starts, limits)[1])
    length = partition.uniform_row_length()
    if length is None:
        made = RowPartition.from_row_splits(lengths_to_splits(limits - starts), validate=False)
    else:
        count = cast(execute("Size", (rows,)), length.dtype)
        made = RowPartition.from_uniform_row_length(
            length, nvals=count * length, nrows=count, validate=False
        )
    return type(values)._from_row_partition(inner, made, validate=False)


def row_range(values: Any, start: Any, limit: Any) -> Any:
    """Rows `start` to `limit` of a tensor or ragged tensor; integer scalars within bounds."""
    if not is_ragged(values):
        return values[start:limit]
    partition = values._row_partition
    splits = partition.row_splits()[start : limit + 1]
    inner = row_range(values.values, splits[0], splits[-1])
    length = partition.uniform_row_length()
    if length is None:
        made = RowPartition.from_row_splits(splits - splits[0], validate=False)
    else:
        made = RowPartition.from_uniform_row_length(
            length, nvals=splits[-1] - splits[0], nrows=limit - start, validate=False
        )
    return type(values)._from_row_partition(inner, made, validate=False)
