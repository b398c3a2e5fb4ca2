"""`ragged[...]`: integers, slices, `tf.newaxis` and `...`.

`getitem` takes an index for the rows and hands the rest of the key to `_inside`, which applies it
to every row. A row is a tensor, or a ragged tensor with one dimension fewer.
"""

from typing import Any

import numpy as np

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import EagerTensor, Tensor
from penstock.ops import debug_asserts as asserts
from penstock.ops.ragged_dense_ops import refuse
from penstock.ops.ragged_partition import RowPartition
from penstock.ops.ragged_parts import after, cast, known_int, number
from penstock.ops.ragged_rows import is_ragged, ranges, row_range, take_rows
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape


def getitem(source: Any, key: Any) -> Any:
    """`source[key]` of a ragged tensor."""
    keys = list(key) if isinstance(key, (tuple, list)) else [key]
    for each in keys:
        _check(each)
    return _rows(source, _without_dots(keys, source.shape.rank))


def _check(key: Any) -> None:
    if key is None or key is Ellipsis:
        return
    if isinstance(key, slice):
        for bound in (key.start, key.stop, key.step):
            if bound is not None:
                _check_integer(bound)
        return
    _check_integer(key)


def _check_integer(key: Any) -> None:
    if isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_)):
        return
    tensor = convert_to_tensor(key) if hasattr(key, "handle") else key
    if isinstance(tensor, Tensor) and tensor.dtype in (dt.int32, dt.int64):
        if tensor.dims in ((), None):
            return
    elif isinstance(key, np.ndarray) and key.ndim == 0 and key.dtype.kind in "iu":
        return
    raise TypeError(
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
        f"tf.int32/tf.int64 tensors are valid indices, got {key!r}. Use tf.gather or "
        "tf.ragged.boolean_mask for index tensors."
    )


def _without_dots(keys: list[Any], rank: int | None) -> list[Any]:
    """The key with `...` as the slices that it stands for."""
    places = [i for i, k in enumerate(keys) if k is Ellipsis]
    if not places:
        return keys
    if len(places) > 1:
        raise ValueError(f"expected at most one ellipsis in an index, got {keys}.")
    (at,) = places
    if at == len(keys) - 1:
        return keys[:at]
    if rank is None:
        raise ValueError(
            "Ellipsis not supported for unknown shape RaggedTensors. Give a slice for each axis."
        )
    used = sum(k is not None for k in keys) - 1
    return [*keys[:at], *[slice(None)] * max(rank - used, 0), *keys[at + 1 :]]


# ---- the first axis


def _rows(source: Any, keys: list[Any]) -> Any:
    """The key applied to a tensor or ragged tensor."""
    if not keys:
        return source
    if not is_ragged(source):
        return source[tuple(keys)]
    first, rest = keys[0], keys[1:]
    if first is None:
        return _one_row(source, rest)
    if isinstance(first, slice):
        return _inside(_slice_rows(source, first), rest)
    partition = source._row_partition
    index = _index(first, partition.dtype)
    count = partition.static_nrows
    given = known_int(index)
    if given is not None and state.graph is None and count is not None and given >= count:
        raise IndexError(f"Row key {given} out of bounds: the ragged tensor has {count} rows.")
    index = _from_front(index, partition.nrows())
    if given is not None and count is not None and given < -count:
        raise refuse(f"slice index {given + count} of dimension 0 out of bounds: {count} rows.")
    splits = partition.row_splits()
    start, limit = splits[:-1][index], splits[1:][index]
    row = row_range(source.values, start, limit)
    length = partition.static_uniform_row_length
    if length is not None and isinstance(row, Tensor) and not isinstance(row, EagerTensor):
        row.set_shape(TensorShape([length]).concatenate(row.shape[1:]))
    return _rows(row, rest)


def _one_row(source: Any, rest: list[Any]) -> Any:
    inner = _rows(source, rest)
    if not is_ragged(inner):
        return execute("ExpandDims", (inner, np.int32(0)))
    count = inner.nrows()
    partition = RowPartition.from_uniform_row_length(
        count, nvals=count, nrows=number(1, count.dtype), validate=False
    )
    return type(source)._from_row_partition(inner, partition, validate=False)


def _index(key: Any, dtype: Any) -> Any:
    tensor = convert_to_tensor(key)
    return cast(tensor, dtype)


def _from_front(index: Any, count: Any) -> Any:
    known = known_int(index)
    if known is not None:
        return index if known >= 0 else count + known
    negative = execute("Less", (index, number(0, index.dtype)))
    return execute("SelectV2", (negative, index + count, index))


def _slice_rows(source: Any, key: slice) -> Any:
    if key.start is None and key.stop is None and key.step is None:
        return source
    partition = source._row_partition
    count = partition.nrows()
    step = 1 if key.step is None else key.step
    if not isinstance(step, int) or step != 1:
        every = execute("Range", (number(0, count.dtype), count, number(1, count.dtype)))
        return take_rows(source, every[key])
    start = _clipped(key.start, count, 0)
    limit = execute("Maximum", (_clipped(key.stop, count, None), start))
    return row_range(source, start, limit)


def _clipped(bound: Any, count: Any, default: int | None) -> Any:
    """A bound of a slice as a position in [0, count]."""
    if bound is None:
        return count if default is None else number(default, count.dtype)
    index = _from_front(_index(bound, count.dtype), count)
    zero = number(0, count.dtype)
    return execute("Minimum", (execute("Maximum", (index, zero)), count))


# ---- the axes of every row


def _inside(source: Any, keys: list[Any]) -> Any:
    """The key applied to each row of a tensor or ragged tensor."""
    if not keys:
        return source
    if not is_ragged(source):
        return source[(slice(None), *keys)]
    first, rest = keys[0], keys[1:]
    if first is None:
        inner = _inside(source, rest)
        count = source._row_partition.nrows()
        partition = RowPartition.from_uniform_row_length(
            number(1, count.dtype), nvals=count, nrows=count, validate=False
        )
        return type(source)._from_row_partition(inner, partition, validate=False)
    if isinstance(first, slice):
        cut = _slice_each(source, first)
        return cut.with_values(_inside(cut.values, rest))
    return _inside(_one_of_each(source, first), rest)


def _one_of_each(source: Any, key: Any) -> Any:
    """One element of each row, where rows have one length."""
    partition = source._row_partition
    length = partition.uniform_row_length()
    if length is None:
        raise ValueError(
            "Cannot index into an inner ragged dimension: rows may be too short. Use a slice, or "
            "to_tensor() first."
        )
    index = _from_front(_index(key, length.dtype), length)
    message = "Index out of bounds when indexing into a ragged tensor"
    checks = [
        asserts.assert_less_v1(index, length, message=message),
        asserts.assert_greater_equal_v1(index, number(0, length.dtype), message=message),
    ]
    return take_rows(source.values, partition.row_starts() + after(checks, index))


def _slice_each(source: Any, key: slice) -> Any:
    """A slice of each row."""
    if key.start is None and key.stop is None and key.step is None:
        return source
    partition = source._row_partition
    dtype = partition.dtype
    step = number(1, dtype) if key.step is None else _index(key.step, dtype)
    lengths = partition.row_lengths()
    starts = partition.row_starts()
    first, last = _bounds(key, lengths, step)
    splits, places = ranges(starts + first, starts + last, step)
    values = take_rows(source.values, places)
    length = partition.uniform_row_length()
    if length is None:
        made = RowPartition.from_row_splits(splits, validate=False)
    else:
        low, high = _bounds(key, length, step)
        size = execute("Maximum", ((high - low + step - _sign(step)) // step, number(0, dtype)))
        count = partition.nrows()
        made = RowPartition.from_uniform_row_length(
            size, nvals=count * size, nrows=count, validate=False
        )
    return type(source)._from_row_partition(values, made, validate=False)


def _sign(step: Any) -> Any:
    return execute("Sign", (step,))


def _bounds(key: slice, lengths: Any, step: Any) -> tuple[Any, Any]:
    """The first and the last position (which is left out) of a slice of rows of these lengths."""
    dtype = lengths.dtype
    zero, one = number(0, dtype), number(1, dtype)
    up = execute("Greater", (step, zero))
    low = execute("SelectV2", (up, zero, zero - one))
    high = execute("SelectV2", (up, lengths, lengths - one))

    def bound(value: Any, default: Any) -> Any:
        if value is None:
            return default + execute("ZerosLike", (lengths,))
        index = _index(value, dtype)
        negative = execute("Less", (index, zero))
        index = execute("SelectV2", (negative, index + lengths, index + zero * lengths))
        return execute("Minimum", (execute("Maximum", (index, low)), high))

    first = bound(key.start, execute("SelectV2", (up, zero, high)))
    return first, bound(key.stop, execute("SelectV2", (up, high, low)))
