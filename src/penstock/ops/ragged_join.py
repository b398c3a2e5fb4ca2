"""Ragged tensors put together and cut: concat, stack, tile, split."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core import dispatch
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.graph.static_values import constant_value
from penstock.ops import debug_asserts as asserts
from penstock.ops.composing import scope
from penstock.ops.ragged_class import RaggedTensor, axis_of
from penstock.ops.ragged_elementwise import ragged_or_tensor, same_splits_dtype
from penstock.ops.ragged_partition import RowPartition
from penstock.ops.ragged_parts import known_int, lengths_to_splits, number, numbers
from penstock.ops.ragged_rows import is_ragged, take_rows
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType


def concat(values: Any, axis: Any, name: str | None = "concat") -> Any:
    """`tf.concat` of tensors of which some are ragged."""
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    with scope(name, "RaggedConcat"):
        parts = _parts(values)
        return _concat(parts, axis_of(_static(axis), parts[0].shape.rank))


def stack(values: Any, axis: int = 0, name: str | None = "stack") -> Any:
    """`tf.stack` of tensors of which some are ragged."""
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    with scope(name, "RaggedStack"):
        parts = _parts(values)
        rank = parts[0].shape.rank
        where = axis_of(_static(axis), None if rank is None else rank + 1)
        if rank == 0:
            return execute("Pack", (parts,), {"axis": 0})
        if rank is None and not any(map(is_ragged, parts)):
            parts = [_with_ragged_rank(p, 1, _kind(parts)) for p in parts]
        elif where == 0 and not any(map(is_ragged, parts)):
            kind = dt.int32 if rank == 1 else _kind(parts)  # vectors: their lengths are int32
            parts = [_with_ragged_rank(_expand(p, 0), rank, kind) for p in parts]
            return _concat(parts, 0)
        return _concat([_expand(p, where) for p in parts], where)


def _expand(x: Any, axis: int) -> Any:
    if is_ragged(x):
        return x[(*(slice(None),) * axis, None)]
    return execute("ExpandDims", (x, np.int32(axis)))


def _static(axis: Any) -> int:
    if isinstance(axis, Tensor):
        axis = constant_value(axis)
        if axis is None:
            raise TypeError(
                "axis must be an int, known when the graph is built, for ragged tensors; got a"
                " tensor of the graph."
            )
    if isinstance(axis, (str, bytes)):
        raise TypeError(f"axis must be an int; got {axis!r}.")
    return int(axis)


def _parts(values: Sequence[Any]) -> list[Any]:
    if not values:
        raise ValueError("rt_inputs may not be empty: expected at least one tensor, got none.")
    hints = [v.dtype for v in values if is_ragged(v) or isinstance(v, Tensor)]
    parts = [ragged_or_tensor(v, hints[0] if hints else None) for v in values]
    same_splits_dtype(parts)
    rank = next((p.shape.rank for p in parts if p.shape.rank is not None), None)
    for part in parts:
        if rank is not None:
            part.shape.assert_has_rank(rank)
    return parts


def _kind(parts: Sequence[Any]) -> DType:
    for part in parts:
        if is_ragged(part):
            return part._row_partition.dtype  # type: ignore[no-any-return]
    return convert_to_tensor(np.int64(0)).dtype  # type: ignore[no-any-return]


def _with_ragged_rank(x: Any, rank: int, kind: DType) -> Any:
    """A tensor or ragged tensor with at least `rank` ragged dimensions."""
    if rank <= 0:
        return x
    if not is_ragged(x):
        return RaggedTensor.from_tensor(x, ragged_rank=rank, row_splits_dtype=kind)
    if x.ragged_rank >= rank:
        return x
    return x.with_values(_with_ragged_rank(x.values, rank - 1, kind))


def _concat(parts: list[Any], axis: int) -> Any:
    if len(parts) == 1:
        return parts[0]
    if not any(map(is_ragged, parts)):
        return execute("ConcatV2", (parts, np.int32(axis)))
    ragged_rank = max(p.ragged_rank if is_ragged(p) else 0 for p in parts)
    kind = _kind(parts)
    parts = [_with_ragged_rank(p, ragged_rank, kind) for p in parts]
    if axis == 0:
        return _end_to_end(parts)
    if axis == 1:
        return _side_by_side(parts)
    checks = [
        asserts.assert_equal_v1(
            parts[0].row_splits, p.row_splits, message="Input tensors have incompatible shapes"
        )
        for p in parts[1:]
        if p.row_splits is not parts[0].row_splits
    ]
    values = _concat([p.values for p in parts], axis - 1)
    partition = parts[0]._row_partition._after(checks)
    return RaggedTensor._from_row_partition(values, partition, validate=False)


def _end_to_end(parts: list[Any]) -> Any:
    """The rows of one tensor after those of the other."""
    if not is_ragged(parts[0]):
        return execute("ConcatV2", (parts, np.int32(0)))
    values = _end_to_end([p.values for p in parts])
    partitions = [p._row_partition for p in parts]
    sizes = {p.static_uniform_row_length for p in partitions}
    if len(sizes) == 1 and None not in sizes:
        rows = partitions[0].nrows()
        for each in partitions[1:]:
            rows = rows + each.nrows()
        length = partitions[0].uniform_row_length()
        made = RowPartition.from_uniform_row_length(
            length, nvals=rows * length, nrows=rows, validate=False
        )
    else:
        lengths = execute("ConcatV2", ([p.row_lengths() for p in partitions], np.int32(0)))
        made = RowPartition.from_row_splits(lengths_to_splits(lengths), validate=False)
    return RaggedTensor._from_row_partition(values, made, validate=False)


def _side_by_side(parts: list[Any]) -> Any:
    """Each row of one tensor, then that row of the other."""
    rows = parts[0].nrows()
    checks = [
        asserts.assert_equal_v1(
            rows, p.nrows(), message="Input tensors have incompatible shapes: numbers of rows"
        )
        for p in parts[1:]
    ]
    count = len(parts)
    together = _end_to_end(parts)
    kind = together._row_partition.dtype
    grid = execute("Reshape", (numbers(rows * count, kind), _pair(count, rows)))
    order = execute("Reshape", (execute("Transpose", (grid, np.array([1, 0], np.int32))), [-1]))
    woven = take_rows(together, order)
    sizes = [p._row_partition.static_uniform_row_length for p in parts]
    if None not in sizes:
        length = number(sum(s for s in sizes if s is not None), kind)
        made = RowPartition.from_uniform_row_length(
            length, nvals=rows * length, nrows=rows, validate=False
        )
    else:
        splits = woven.row_splits[::count]
        known = next((n for n in (p._row_partition.static_nrows for p in parts) if n), None)
        if known is not None:
            splits.set_shape([known + 1])
        made = RowPartition.from_row_splits(splits, validate=False)
    return RaggedTensor._from_row_partition(woven.values, made._after(checks), validate=False)


def _pair(count: int, rows: Any) -> Any:
    first = number(count, rows.dtype)
    return execute("Pack", ([first, rows],), {"axis": 0})


# ---- tile


def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """`tf.tile` of a ragged tensor."""
    with scope(name, "RaggedTile"):
        kind = input._row_partition.dtype
        times = convert_to_tensor(multiples, dtype_hint=kind)
        times.shape.assert_has_rank(1)
        rank = input.shape.rank
        given = None if times.dims is None else times.dims[0]
        if None not in (given, rank) and given != rank:
            raise IndexError(
                f"multiples must have one entry for each of the {rank} axes, got {given}."
            )
        if times.dtype is not kind:
            times = execute("Cast", (times,), {"DstT": kind})
        return _tile(input, times, 0)


def _tile(x: Any, times: Any, axis: int) -> Any:
    """Axes of `x` tiled; its first one is axis `axis` of the whole."""
    if not is_ragged(x):
        return execute("Tile", (x, times[axis:]))
    own, inner = times[axis], times[axis + 1]
    ones = execute("OnesLike", (times[:1],))
    rest = execute("ConcatV2", ([ones, times[axis + 2 :]], np.int32(0)))
    if is_ragged(x.values) or (x.values.dims is None or len(x.values.dims) > 1):
        x = x.with_values(_tile(x.values, rest, 0))
    if known_int(inner) != 1:
        x = _repeat_in_rows(x, inner)
    if known_int(own) == 1:
        return x
    every = numbers(x.nrows(), x._row_partition.dtype)
    order = execute("Tile", (every, execute("Reshape", (own, [1]))))
    return take_rows(x, order)


def _repeat_in_rows(x: Any, count: Any) -> Any:
    """Each row `count` times over."""
    partition = x._row_partition
    rows = numbers(partition.nrows(), partition.dtype)
    grid = execute("Tile", (execute("ExpandDims", (rows, np.int32(1))), _row_of(count)))
    woven = take_rows(x, execute("Reshape", (grid, [-1])))
    length = partition.uniform_row_length()
    if length is not None:
        made = RowPartition.from_uniform_row_length(
            length * count,
            nvals=partition.nrows() * length * count,
            nrows=partition.nrows(),
            validate=False,
        )
    else:
        lengths = partition.row_lengths() * count
        made = RowPartition.from_row_splits(lengths_to_splits(lengths), validate=False)
    return RaggedTensor._from_row_partition(woven.values, made, validate=False)


def _row_of(count: Any) -> Any:
    return execute("Pack", ([number(1, count.dtype), count],), {"axis": 0})


# ---- split


def split(
    value: Any,
    num_or_size_splits: Any,
    axis: Any = 0,
    num: int | None = None,
    name: str | None = "split",
) -> list[Any]:
    """`tf.split` of a ragged tensor, along an axis that is not ragged."""
    with scope(name, "RaggedSplit"):
        where = axis_of(_static(axis), value.shape.rank)
        size = _size_of(value, where)
        if size is None and isinstance(num_or_size_splits, int) and num_or_size_splits == 1:
            return [value]
        if size is None:
            raise ValueError(
                f"Cannot split a ragged dimension. Got `value` with shape {value.shape} and `axis` "
                f"{where}. Split a uniform one."
            )
        given = convert_to_tensor(num_or_size_splits, dtype_hint=size.dtype)
        given = (
            given if given.dtype is size.dtype else execute("Cast", (given,), {"DstT": size.dtype})
        )
        message = (
            "Cannot exactly split the `axis` dimension of `value` with the given "
            "`num_or_size_split`"
        )
        if given.dims == ():
            count = known_int(given)
            if count is None or count <= 0:
                raise ValueError(
                    "`num_or_size_splits` must be a positive number known when the graph is built,"
                    f" got {num_or_size_splits}."
                )
            length = size // number(count, size.dtype)
            total = length * number(count, size.dtype)
            sizes = [length] * count
        else:
            count = given.dims[0] if given.dims else num
            if count is None:
                raise ValueError("`num` must be given when the number of sizes is unknown.")
            sizes = [given[i] for i in range(count)]
            total = execute("Sum", (given, np.array([0], np.int32)))
        check = asserts.assert_equal_v1(size, total, message=message)
        return _pieces(value, sizes, where, check)


def _pieces(value: Any, sizes: list[Any], axis: int, check: Any) -> list[Any]:
    lead = (slice(None),) * axis
    found, start = [], number(0, sizes[0].dtype)
    if check is not None:
        partition = value._row_partition._after([check])
        value = RaggedTensor._from_row_partition(value.values, partition, validate=False)
    for size in sizes:
        limit = start + size
        found.append(value[(*lead, slice(start, limit))])
        start = limit
    return found


def _size_of(value: Any, axis: int) -> Any:
    """The size of a uniform axis; None for a ragged one."""
    partition = value._row_partition
    if axis == 0:
        return partition.nrows()
    if axis == 1:
        return partition.uniform_row_length()
    if is_ragged(value.values):
        return _size_of(value.values, axis - 1)
    inner = value.values
    if inner.dims is not None and inner.dims[axis - 1] is not None:
        return number(inner.dims[axis - 1], partition.dtype)
    return execute("Shape", (inner,), {"out_type": partition.dtype})[axis - 1]


for _key, _function in (
    ("array_join.concat", concat),
    ("array_join.stack", stack),
    ("array_tile.tile", tile),
    ("array_split.split", split),
):
    dispatch.handler(_key, RaggedTensor)(_function)
