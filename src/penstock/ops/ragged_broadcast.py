"""Broadcasting of ragged tensors: which rows of each operand meet.

A dimension of size 1 broadcasts where it is uniform; ragged rows that meet must have one length.
`broadcast` walks from the outermost dimension inwards and keeps, for each operand, the number of
its row that every row of the result comes from (None while they are the same).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.core.execute import execute
from penstock.ops import debug_asserts as asserts
from penstock.ops.ragged_conversions import merge_dense
from penstock.ops.ragged_partition import RowPartition
from penstock.ops.ragged_parts import after, known_int, number, numbers, row_count
from penstock.ops.ragged_rows import is_ragged
from penstock.types.dtypes import DType


class Layout(NamedTuple):
    """An operand: the number of its rows, partitions of the axes from 1 on, and flat values."""

    rows: Any
    partitions: list[RowPartition]
    flat: Any


class Met(NamedTuple):
    """The partitions of the result, and the flat values of each operand in its order."""

    partitions: list[RowPartition]
    left: Any
    right: Any


def layout(value: Any, rank: int, depth: int, dtype: DType) -> Layout:
    """A tensor or ragged tensor with leading axes of size 1 up to `rank`, cut into `depth` axes."""
    own = value.shape.rank
    flat = value.flat_values if is_ragged(value) else value
    partitions = list(value._nested_row_partitions) if is_ragged(value) else []
    if is_ragged(value):
        rows = partitions[0].nrows()
    else:
        if own < rank:
            flat = _with_leading_axes(value, rank - own)
        own = rank
        rows = row_count(flat, dtype)
    lead: list[RowPartition] = []
    if own < rank:
        one = number(1, dtype)
        lead = [_even(one, one) for _ in range(rank - own - 1)]
        lead.append(_even(rows, one))
        rows = one
    partitions = [*lead, *partitions]
    if len(partitions) < depth:
        flat = _cut_further(flat, partitions, depth, rows, dtype)
    return Layout(rows, partitions, flat)


def _with_leading_axes(x: Any, count: int) -> Any:
    ones = np.ones(count, np.int32)
    shape = execute("ConcatV2", ([ones, execute("Shape", (x,))], np.int32(0)))
    return execute("Reshape", (x, shape))


def _even(length: Any, rows: Any) -> RowPartition:
    return RowPartition.from_uniform_row_length(
        length, nvals=length * rows, nrows=rows, validate=False
    )


def _cut_further(
    flat: Any, partitions: list[RowPartition], depth: int, rows: Any, dtype: DType
) -> Any:
    """Adds partitions for the inner axes of dense values, up to `depth`."""
    count = depth - len(partitions)
    shape = execute("Shape", (flat,), {"out_type": dtype})
    above = partitions[-1].nvals() if partitions else rows
    for axis in range(1, count + 1):
        known = None if flat.dims is None else flat.dims[axis]
        size = shape[axis] if known is None else number(known, dtype)
        partitions.append(_even(size, above))
        above = above * size
    return merge_dense(flat, 0, count)


def broadcast(left: Layout, right: Layout) -> Met:
    """Two operands of one rank and depth, in the layout of the result."""
    rows_of_left, rows_of_right, checks = _first_axis(left.rows, right.rows)
    made: list[RowPartition] = []
    for a, b in zip(left.partitions, right.partitions, strict=True):
        out, rows_of_left, rows_of_right = _axis(a, b, rows_of_left, rows_of_right, checks)
        made.append(out)
    return Met(made, _taken(left.flat, rows_of_left), _taken(right.flat, rows_of_right))


def _taken(flat: Any, rows: Any) -> Any:
    return flat if rows is None else execute("GatherV2", (flat, rows, np.int32(0)))


def _first_axis(a: Any, b: Any) -> tuple[Any, Any, list[Any]]:
    """For both operands the row that each row of the result comes from; checks that they fit."""
    m, n = known_int(a), known_int(b)
    if a is b or (m is not None and m == n):
        return None, None, []
    kind = a.dtype
    if m == 1:
        return execute("Fill", (_vector(b), number(0, kind))), None, []
    if n == 1:
        return None, execute("Fill", (_vector(a), number(0, kind))), []
    one = number(1, kind)
    fits = execute("LogicalOr", (execute("Equal", (a, b)), execute("LogicalOr", (
        execute("Equal", (a, one)), execute("Equal", (b, one))))))  # fmt: skip
    check = asserts.assert_that(fits, ["Unable to broadcast: numbers of rows differ:", a, b])
    if m is not None and n is not None:
        return None, None, [check]
    count = execute("SelectV2", (execute("Equal", (a, one)), b, a))
    every = numbers(after([check], count), kind)
    first = every * _step(a)
    return first, every * _step(b), [check]


def _vector(x: Any) -> Any:
    return execute("Reshape", (x, np.array([1], np.int32)))


def _step(size: Any) -> Any:
    """0 for an axis of size 1, else 1."""
    differs = execute("NotEqual", (size, number(1, size.dtype)))
    return execute("Cast", (differs,), {"DstT": size.dtype})


def _axis(
    a: RowPartition, b: RowPartition, rows_a: Any, rows_b: Any, checks: Sequence[Any]
) -> tuple[RowPartition, Any, Any]:
    """One axis: the partition of the result, and the rows of the next axis."""
    plain = rows_a is None and rows_b is None
    size_a, size_b = a.static_uniform_row_length, b.static_uniform_row_length
    same = a is b or a.row_splits() is b.row_splits()
    if plain and (same or (size_a is not None and size_a == size_b)):
        return a._after(checks), None, None
    unsure = (a.is_uniform() and size_a is None) or (b.is_uniform() and size_b is None)
    if plain and not unsure and 1 not in (size_a, size_b):
        check = asserts.assert_equal_v1(
            a.row_splits(), b.row_splits(), message="Unable to broadcast: row lengths differ"
        )
        return (b if a.is_uniform() else a)._after([*checks, check]), None, None
    if rows_a is None and size_b == 1:
        return _one_side(a, b, rows_b, checks)
    if rows_b is None and size_a == 1:
        out, next_b, next_a = _one_side(b, a, rows_a, checks)
        return out, next_a, next_b
    return _both_sides(a, b, rows_a, rows_b, checks)


def _one_side(
    whole: RowPartition, single: RowPartition, rows: Any, checks: Sequence[Any]
) -> tuple[RowPartition, Any, Any]:
    """The rows of `single` have one element each, which meets all of a row of `whole`."""
    out = whole._after(checks)
    ids = out.value_rowids()
    start = _taken(single.row_starts(), rows)
    return out, None, execute("GatherV2", (start, ids, np.int32(0)))


def _both_sides(
    a: RowPartition, b: RowPartition, rows_a: Any, rows_b: Any, checks: Sequence[Any]
) -> tuple[RowPartition, Any, Any]:
    lengths_a = _taken(a.row_lengths(), rows_a)
    lengths_b = _taken(b.row_lengths(), rows_b)
    step_a, step_b = _row_step(a), _row_step(b)
    one = number(1, a.dtype)
    if step_a is None and step_b is None:
        wanted_a, wanted_b = lengths_a, lengths_b
    else:
        wide_a = lengths_a if step_a is None else lengths_a * step_a + (one - step_a) * lengths_b
        wide_b = lengths_b if step_b is None else lengths_b * step_b + (one - step_b) * lengths_a
        wanted_a, wanted_b = wide_a, wide_b
    check = asserts.assert_equal_v1(
        wanted_a, wanted_b, message="Unable to broadcast: row lengths differ"
    )
    lengths = after([*checks, check], wanted_a)
    if a.is_uniform() and b.is_uniform():
        size = execute("Maximum", (a.uniform_row_length(), b.uniform_row_length()))
        both_full = execute("Minimum", (a.uniform_row_length(), b.uniform_row_length()))
        size = execute(
            "SelectV2", (execute("Equal", (both_full, number(0, a.dtype))), both_full, size)
        )
        out = _even(size, row_count(lengths, a.dtype))
    else:
        out = RowPartition.from_row_lengths(lengths, validate=False)
    ids, offsets = out.value_rowids(), out.offsets_in_rows()
    return out, _next(a, rows_a, ids, offsets, step_a), _next(b, rows_b, ids, offsets, step_b)


def _row_step(p: RowPartition) -> Any:
    """How far an element's position moves along a row: 0 where a row of 1 broadcasts."""
    if not p.is_uniform():
        return None
    known = p.static_uniform_row_length
    if known is not None:
        return number(0, p.dtype) if known == 1 else None
    return _step(p.uniform_row_length())


def _next(p: RowPartition, rows: Any, ids: Any, offsets: Any, step: Any) -> Any:
    starts = execute("GatherV2", (_taken(p.row_starts(), rows), ids, np.int32(0)))
    return starts + (offsets if step is None else offsets * step)
