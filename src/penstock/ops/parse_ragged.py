"""Ragged tensors from the values and partitions that features of messages hold.

A partition splits the values of each message into rows on its own. Here the values of all messages
stand one after another, with row splits that say which belong to which message; `nested` turns each
partition, from the innermost outwards, into one of all values, and keeps those row splits right.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.ops.array_basics import reshape
from penstock.ops.array_select import boolean_mask
from penstock.ops.composing import concat
from penstock.ops.parse_features import (
    RowLengths,
    RowLimits,
    RowSplits,
    RowStarts,
    UniformRowLength,
    ValueRowIds,
)
from penstock.ops.ragged_parts import (
    cast,
    lengths_to_splits,
    number,
    row_count,
    rowids_to_lengths,
    splits_to_rowids,
)
from penstock.ops.ragged_tensor import RaggedTensor
from penstock.types import dtypes
from penstock.types.dtypes import DType

Pair = tuple[Any, Any]  # values, and row splits by message


def nested(
    values: Any,
    splits: Any,
    partitions: Sequence[Any],
    read: Callable[[Any], Pair],
    dtype: DType,
    validate: bool,
) -> Pair:
    """The values, split into rows by every partition.

    Args:
      values: T[V], of all messages.
      splits: row splits [N + 1] of dtype `dtype`: which values belong to which message.
      partitions: from the outermost to the innermost.
      read: gives the values and row splits of the feature of a key.
      dtype: of row splits, int32 or int64.
      validate: whether partitions are checked against the values.

    Returns:
      The outermost rows of all messages, and row splits that say which belong to which message.
    """
    for partition in reversed(partitions):
        if isinstance(partition, UniformRowLength):
            values, splits = _uniform(values, splits, partition.length, validate)
            continue
        numbers, by_message = read(partition.key)
        numbers = cast(numbers, dtype)
        lengths, splits = _LENGTHS[type(partition)](numbers, by_message, splits)
        values = RaggedTensor.from_row_lengths(values, lengths, validate=validate)
    return values, splits


def _uniform(values: Any, splits: Any, length: int, validate: bool) -> Pair:
    if isinstance(values, Tensor):
        inner = values.dims[1:] if values.dims else ()
        rows: Any = reshape(values, [-1, length, *inner])
    else:
        rows = RaggedTensor.from_uniform_row_length(values, length, validate=validate)
    return rows, execute("FloorDiv", (splits, number(length, splits.dtype)))


def _differences(x: Any) -> Any:
    return x[1:] - x[:-1]


def _messages(numbers: Any, by_message: Any) -> tuple[Any, Any]:
    """The message of each number [R]; and 1 where the next is of the same message, [R - 1]."""
    message = splits_to_rowids(by_message, row_count(numbers, by_message.dtype))
    return message, cast(execute("Equal", (message[1:], message[:-1])), numbers.dtype)


def _by_lengths(lengths: Any, by_message: Any, splits: Any) -> Pair:
    return lengths, by_message


def _by_splits(row_splits: Any, by_message: Any, splits: Any) -> Pair:
    """Each message has one split more than rows, or no splits at all."""
    _, same = _messages(row_splits, by_message)
    lengths = boolean_mask(_differences(row_splits), cast(same, dtypes.bool_))
    one, none = number(1, by_message.dtype), number(0, by_message.dtype)
    rows = execute("Maximum", (_differences(by_message) - one, none))
    return lengths, lengths_to_splits(rows)


def _by_limits(limits: Any, by_message: Any, splits: Any) -> Pair:
    """A row starts where the one before it in its message ends."""
    _, same = _messages(limits, by_message)
    first = execute("ZerosLike", (limits[:1],))
    return limits - concat([first, limits[:-1] * same], 0), by_message


def _by_starts(starts: Any, by_message: Any, splits: Any) -> Pair:
    """A row ends where the next one of its message starts, the last one with the message."""
    message, same = _messages(starts, by_message)
    last = execute("ZerosLike", (starts[:1],))
    followed = concat([same, last], 0)
    following = concat([starts[1:], last], 0)
    sizes = execute("GatherV2", (_differences(splits), message, np.int32(0)))
    limits = following * followed + sizes * (number(1, starts.dtype) - followed)
    return limits - starts, by_message


def _by_row_ids(rowids: Any, by_message: Any, splits: Any) -> Pair:
    """Each message has as many rows as its largest id says."""
    message, _ = _messages(rowids, by_message)
    one = number(1, rowids.dtype)
    count = row_count(by_message, by_message.dtype) - one
    largest = execute("UnsortedSegmentMax", (rowids + one, message, count))
    row_splits = lengths_to_splits(execute("Maximum", (largest, number(0, rowids.dtype))))
    offsets = execute("GatherV2", (row_splits, message, np.int32(0)))
    return rowids_to_lengths(rowids + offsets, row_splits[-1]), row_splits


_LENGTHS: dict[type, Callable[[Any, Any, Any], Pair]] = {
    RowSplits: _by_splits,
    RowLengths: _by_lengths,
    RowStarts: _by_starts,
    RowLimits: _by_limits,
    ValueRowIds: _by_row_ids,
}
