"""Raw operations on ragged tensors: gathered rows, counts, rows filled that are empty."""

from typing import Any

import numpy as np

from penstock.core import native_ragged
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.ragged_dense_ops import check_nested_splits, refuse
from penstock.ops.sparse_common import places_of_rows
from penstock.ops.sparse_counts import counted
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
_HOST = 1 << 62


# ---- RaggedGather


def _gather_shape(c: ShapeContext) -> list[Dims]:
    ragged, out = c.attr("PARAMS_RAGGED_RANK"), c.attr("OUTPUT_RAGGED_RANK")
    values, indices = c.shape(ragged), c.shape(ragged + 1)
    if indices is not None and out != ragged + len(indices) - 1:
        c.fail(
            f"OUTPUT_RAGGED_RANK == PARAMS_RAGGED_RANK + indices.rank - 1 = "
            f"{ragged + len(indices) - 1}",
            f"{out}",
        )
    flat = None if values is None else (None, *values[1:])
    return [*((None,),) * out, flat]


GATHER = define_op(
    "RaggedGather(params_nested_splits: PARAMS_RAGGED_RANK*Tsplits, params_dense_values: Tvalues, "
    "indices: Tindices; Tvalues: type, Tindices: {int32, int64}, Tsplits: {int32, int64} = int64, "
    "PARAMS_RAGGED_RANK: int >= 1, OUTPUT_RAGGED_RANK: int >= 0) -> output_nested_splits: "
    "OUTPUT_RAGGED_RANK*Tsplits, output_dense_values: Tvalues",
    shape=_gather_shape,
    fallible=True,
    doc="Rows of a ragged tensor, at the positions of `indices`.",
)


def _row_pieces(splits: list[Array], rows: Array) -> tuple[list[Array], Array]:
    """Row splits of the chosen rows, and the positions of their values."""
    made, places = [], rows
    for each in splits:
        found = native_ragged.chosen_rows(each, places)
        if found is not None:
            made.append(found[0])
            places = found[1]
            continue
        starts, limits = each[places], each[places + 1]
        lengths = limits - starts
        ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        offsets = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
        places = np.repeat(starts, lengths) + offsets
        made.append(ends.astype(each.dtype))
    return made, places


def _gathered(splits: list[Array], values: Array, indices: Array) -> tuple[list[Array], Array]:
    count = len(splits[0]) - 1
    flat = indices.reshape(-1)
    first = native_ragged.chosen_rows(splits[0], flat)  # which looks at the indices, too
    if first is not None and len(splits) == 1:
        return [first[0]], first[1]
    wrong = np.flatnonzero((flat < 0) | (flat >= count))
    if wrong.size:
        place = ",".join(str(int(i)) for i in np.unravel_index(wrong[0], indices.shape))
        raise refuse(
            f"indices[{place}] = {flat[wrong[0]]} is not in [0, {count}): expected row numbers."
        )
    if any(len(s) == 0 for s in splits):
        raise refuse("Ragged splits may not be empty.")
    return _row_pieces(splits, flat)


@host_kernel(GATHER, limit=_HOST)
def _gather(
    splits: list[Array], values: Array, indices: Array, *, OUTPUT_RAGGED_RANK: int
) -> list[Array]:
    values = np.asarray(values)
    check_nested_splits(splits, values, "RaggedGather")
    made, places = _gathered(splits, values, np.asarray(indices))
    outer, rows = [], 1
    for axis, size in enumerate(indices.shape):
        if axis:
            outer.append(np.arange(rows + 1, dtype=splits[0].dtype) * size)
        rows *= size
    found = [*outer, *made]
    if not indices.ndim:  # one row: its own row splits are the outermost
        found = made[1:]
    return [*found[:OUTPUT_RAGGED_RANK], values.take(places, axis=0)]


@GATHER.gradient
def _gather_gradient(op: Any, *grads: Any) -> list[Any]:
    """Each value's gradient is added up where the value came from."""
    count = int(op.get_attr("PARAMS_RAGGED_RANK"))
    splits, values, indices = list(op.inputs[:count]), op.inputs[count], op.inputs[count + 1]
    size = execute("Shape", (values,))[0]
    numbers = execute("Range", (np.int32(0), size, np.int32(1)))
    attrs = {"OUTPUT_RAGGED_RANK": op.get_attr("OUTPUT_RAGGED_RANK")}
    places = execute(GATHER, (splits, numbers, indices), attrs)[-1]
    return [*(None for _ in splits), execute("UnsortedSegmentSum", (grads[-1], places, size)), None]


# ---- counts


def _check_splits(splits: Array, count: int) -> None:
    if not splits.size or splits[0] != 0:
        raise refuse(f"Splits must start with 0, not with {splits[0] if splits.size else '[]'}")
    if splits[-1] != count:
        raise refuse(
            f"Splits must end with the number of values, got {splits[-1]} instead of {count}"
        )
    if (np.diff(splits) < 0).any():
        raise refuse("Splits must be non-decreasing.")


def _rows_of(splits: Array, count: int) -> Array:
    """The row of each of `count` values; refuses splits that are wrong."""
    found = native_ragged.rows_of_items(splits, count)
    if found is not None:
        return found
    _check_splits(splits, count)
    return np.repeat(np.arange(len(splits) - 1), np.diff(splits))


def _bincount_shape(c: ShapeContext) -> Dims:
    splits, size = c.rank(0, 1, "splits"), c.constant(2)
    rows = None if splits is None or splits[0] is None else splits[0] - 1
    if size is not None and int(size) < 0:
        c.fail("size >= 0", f"size ({int(size)}) must be non-negative")
    return (rows, None if size is None else int(size))


BINCOUNT = define_op(
    "RaggedBincount(splits: int64, values: Tidx, size: Tidx, weights: T; Tidx: {int32, int64}, T: "
    "{int32, int64, float, double}, binary_output: bool = False) -> output: T",
    shape=_bincount_shape,
    fallible=True,
    doc="Counts the values of each row, or adds up their weights; larger values are left out.",
).without_gradient("TensorFlow has none: counts are whole numbers")


@host_kernel(BINCOUNT, limit=_HOST)
def _bincount(
    splits: Array, values: Array, size: Array, weights: Array, *, binary_output: bool
) -> Array:
    found = native_ragged.counted_rows(splits, values, int(size), weights, binary_output)
    if found is not None:
        return found
    rows, count = _rows_of(splits, values.size), int(size)
    if values.size and values.min() < 0:
        raise refuse("Input must be non-negative: RaggedBincount got a negative value.")
    if weights.size not in (0, values.size):
        raise refuse(
            f"RaggedBincount expected no weights or one for each of {values.size} values, got"
            f" {weights.size}. Give the weights the shape of the values."
        )
    result = np.zeros((len(splits) - 1, count), weights.dtype)
    flat, inside = values.reshape(-1), values.reshape(-1) < count
    if binary_output:
        result[rows[inside], flat[inside]] = 1
        return result
    given = weights.reshape(-1) if weights.size else np.ones(flat.size, weights.dtype)
    np.add.at(result, (rows[inside], flat[inside]), given[inside])
    return result


COUNT_SPARSE = define_op(
    "RaggedCountSparseOutput(splits: int64, values: T, weights: output_type; T: {int32, int64}, "
    "minlength: int >= -1 = -1, maxlength: int >= -1 = -1, binary_output: bool, output_type: "
    "{int32, int64, float, double}) -> output_indices: int64, output_values: output_type, "
    "output_dense_shape: int64",
    shape=lambda c: [(None, 2), (None,), (2,)],
    fallible=True,
    doc="Counts the values of each row, as a sparse matrix.",
).without_gradient("TensorFlow has none: counts are whole numbers")


@host_kernel(COUNT_SPARSE, limit=_HOST)
def _count_sparse(
    splits: Array,
    values: Array,
    weights: Array,
    *,
    minlength: int,
    maxlength: int,
    binary_output: bool,
    output_type: DType,
) -> list[Array]:
    flat = values.reshape(-1)
    if weights.size and weights.shape != values.shape:
        raise refuse(
            f"Weights and values must have the same shape. Weight shape: {d.text(weights.shape)}; "
            f"values shape: {d.text(values.shape)}."
        )
    if splits.size < 2:
        raise refuse("Must provide at least 2 elements for the splits argument")
    rows, height = _rows_of(splits, flat.size), len(splits) - 1
    return counted(rows, flat, weights, height, minlength, maxlength, binary_output)


# ---- empty rows


def _fill_shape(c: ShapeContext) -> list[Dims]:
    ids, rows = c.rank(0, 1, "value_rowids"), c.constant(2)
    c.rank(3, 0, "default_value")
    count = None if rows is None else int(rows)
    values = c.rank_at_least(1, 1, "values")
    if ids is not None and values is not None and not d.compatible(ids[:1], values[:1]):
        c.fail(f"a value for each of {ids[0]} value_rowids", f"values of shape {d.text(values)}")
    tail: tuple[int | None, ...] = () if values is None else tuple(values[1:])
    given = d.merge(None if ids is None else ids[:1], None if values is None else values[:1])
    return [(None,), (None, *tail), (count,), given]


FILL_EMPTY_ROWS = define_op(
    "RaggedFillEmptyRows(value_rowids: int64, values: T, nrows: int64, default_value: T; T: type) "
    "-> output_value_rowids: int64, output_values: T, empty_row_indicator: bool, "
    "reverse_index_map: int64",
    shape=_fill_shape,
    fallible=True,
    doc="Puts the default value into each empty row.",
)


@host_kernel(FILL_EMPTY_ROWS, limit=_HOST)
def _fill_empty_rows(ids: Array, values: Array, nrows: Array, default: Array) -> list[Array]:
    count = int(nrows)
    found = native_ragged.filled_rows(ids, count) if count >= 0 else None
    if found is not None:
        place, empty, rows = found
        result = np.empty((len(rows), *values.shape[1:]), values.dtype)
        result.fill(default[()])
        result[place] = values
        return [rows, result, empty, place]
    if ids.size and (ids.min() < 0 or ids.max() >= count):
        bad = int(np.flatnonzero((ids < 0) | (ids >= count))[0])
        raise refuse(f"indices({bad}, 0) is invalid: {ids[bad]} >= {count}")
    sizes = np.bincount(ids, minlength=count) if count else np.zeros(0, np.int64)
    empty = sizes == 0
    place = places_of_rows(ids, sizes, empty)
    missing = np.flatnonzero(empty)
    total = ids.size + missing.size
    result = np.full((total, *values.shape[1:]), default, values.dtype)
    result[place] = values
    room = np.where(empty, 1, sizes)
    return [np.repeat(np.arange(count, dtype=np.int64), room), result, empty, place]


@FILL_EMPTY_ROWS.gradient
def _fill_gradient(op: Any, *grads: Any) -> list[Any]:
    found, default = execute(FILL_EMPTY_ROWS_GRAD, (op.outputs[3], grads[1]))
    return [None, found, None, default]


FILL_EMPTY_ROWS_GRAD = define_op(
    "RaggedFillEmptyRowsGrad(reverse_index_map: int64, grad_values: T; T: type) -> d_values: T, "
    "d_default_value: T",
    shape=lambda c: [c.rank(0, 1, "reverse_index_map"), ()],
    fallible=True,
    doc="The gradient of RaggedFillEmptyRows.",
).without_gradient("it is a gradient itself, and TensorFlow has none of it")


@host_kernel(FILL_EMPTY_ROWS_GRAD, limit=_HOST)
def _fill_empty_rows_grad(places: Array, grads: Array) -> list[Array]:
    if places.size and np.maximum.reduce(places.view(np.uint64)) >= len(grads):
        raise refuse(
            f"Elements in reverse index must be in [0, {len(grads)}) but got {places.max()}"
        )
    left = np.ones(len(grads), bool)
    left[places] = False
    return [grads.take(places, axis=0), np.asarray(grads[left].sum(), grads.dtype)]
