"""Operations between ragged and other layouts: to a dense tensor, to a sparse tensor, ranges.

A ragged tensor comes as its flat values and one integer vector for each ragged dimension. The sizes
of the results depend on the values of these vectors, so the kernels run on the host.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_arrays, native_ragged
from penstock.core.composite import IndexedSlices
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.types import dims as d
from penstock.types import dtypes
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
_HOST = 1 << 62
_FIRST_DIM, _ROW_SPLITS, _ROW_IDS = "FIRST_DIM_SIZE", "ROW_SPLITS", "VALUE_ROWIDS"


def refuse(message: str) -> errors.InvalidArgumentError:
    """An InvalidArgumentError, to be raised."""
    return errors.InvalidArgumentError(None, None, message)


# ---- to a dense tensor


def _dense_shape(c: ShapeContext) -> Dims:
    kinds = [_name(k) for k in c.attr("row_partition_types")]
    ragged = len(kinds) - (kinds[:1] == [_FIRST_DIM])
    values = c.shape(1)
    wanted = c.shape_value(0) if c.shape(0) != () else None
    if values is None:
        return wanted
    rows = _static_rows(c, kinds)
    known: Dims = (rows, *(None,) * ragged, *values[1:])
    if wanted is None:
        return known
    assert known is not None
    if len(wanted) != len(known):
        c.fail(
            f"a shape of rank {len(known)}",
            f"rt_input.shape and shape={d.text(wanted)} are incompatible: rt_input.rank = "
            f"{len(known)} but shape.rank = {len(wanted)}",
        )
    inner = [k if w is None else w for w, k in zip(wanted, known, strict=True)]
    return tuple(inner)


def _static_rows(c: ShapeContext, kinds: Sequence[str]) -> int | None:
    dims = c.shape(3) if len(c) > 3 else None
    if kinds[:1] == [_ROW_SPLITS] and dims and dims[0] is not None:
        return int(dims[0]) - 1
    return None


def _name(kind: Any) -> str:
    return kind.decode() if isinstance(kind, bytes) else str(kind)


TO_TENSOR = define_op(
    "RaggedTensorToTensor(shape: Tshape, values: T, default_value: T, row_partition_tensors: "
    "num_row_partition_tensors*Tindex; T: type, Tindex: {int64, int32}, Tshape: {int64, int32}, "
    "num_row_partition_tensors: int >= 1, row_partition_types: list(string)) -> result: T",
    shape=_dense_shape,
    fallible=True,
    doc="The dense tensor of a ragged one; the default value where a row ends early.",
)


def _check_splits(part: Array) -> None:
    if part.ndim != 1 or not part.size or part[0] != 0 or (np.diff(part) < 0).any():
        raise refuse(
            "Invalid row split size: expected a vector that starts with 0 and does not decrease, "
            f"got {d.text(part.shape)} numbers from {part.reshape(-1)[:8].tolist()}."
        )


def _levels(parts: Sequence[Array], kinds: Sequence[str]) -> tuple[int, list[tuple[Array, Array]]]:
    """The number of rows, and for each ragged dimension the row and the offset of each value."""
    if len(parts) != len(kinds):
        raise refuse(f"expected as many row_partition_types as tensors, got {len(kinds)}.")
    rows, rest, names = 0, list(parts), list(kinds)
    if names and names[0] == _FIRST_DIM:
        rows = int(rest[0])
        rest, names = rest[1:], names[1:]
    elif names and names[0] == _ROW_SPLITS:
        rows = len(rest[0]) - 1
    levels = []
    for part, name in zip(rest, names, strict=True):
        if name == _ROW_SPLITS:
            _check_splits(part)
            lengths = np.diff(part)
            ids = np.repeat(np.arange(len(lengths)), lengths)
            offsets = np.arange(ids.size)
            offsets -= np.repeat(part[:-1] - part[0], lengths)
        elif name == _ROW_IDS:
            ids = np.asarray(part)
            first = np.searchsorted(ids, ids, side="left")
            offsets = np.arange(ids.size) - first
        else:
            raise refuse(f"Unsupported partition type: {name}. Expected {_ROW_SPLITS}.")
        levels.append((ids, offsets))
    return rows, levels


def _check_sizes(shape: Array) -> None:
    if (shape < -1).any():
        raise refuse(f"Dimension {shape.min()} must be >= -1: give -1 for what the values tell.")


def _sizes(
    shape: Array, rows: int, levels: list[tuple[Array, Array]], inner: tuple[int, ...]
) -> list[int]:
    _check_sizes(shape)
    found = [rows, *(int(o.max()) + 1 if o.size else 0 for _, o in levels), *inner]
    if shape.ndim == 0:
        if shape != -1:
            raise refuse(f"shape cannot be the scalar {shape}: expected -1 or a vector.")
        return found
    if len(shape) != len(found):
        raise refuse(
            f"rt_input.shape and shape={d.text(tuple(int(s) for s in shape))} are incompatible: "
            f"rt_input.rank = {len(found)} but shape.rank = {len(shape)}. Give one size for each "
            "dimension."
        )
    for axis in range(len(levels) + 1, len(found)):
        if shape[axis] not in (-1, found[axis]):
            raise refuse(
                f"shape[{axis}]={shape[axis]} does not match the flat values, which have "
                f"{found[axis]} there."
            )
    return [f if s < 0 else int(s) for s, f in zip(shape, found, strict=True)]


def _one_level(shape: Array, splits: Array, values: Array, default: Array) -> Array | None:
    """The dense matrix of ragged rows of scalars in one pass; None where it is not that plain."""
    if splits.ndim != 1 or not splits.size or default.ndim or shape.shape not in ((), (2,)):
        return None
    lengths = np.diff(splits)
    if splits[0] != 0 or splits[-1] != len(values) or lengths.min(initial=0) < 0:
        return None
    count, width = (-1, -1) if shape.ndim == 0 else shape.tolist()
    if (shape < -1).any() or (shape.ndim == 0 and shape != -1) or count not in (-1, len(lengths)):
        return None
    width = int(lengths.max(initial=0)) if width < 0 else width
    return native_arrays.padded(values, splits, width, default)


@host_kernel(TO_TENSOR, limit=_HOST)
def _to_tensor(
    shape: Array,
    values: Array,
    default_value: Array,
    parts: list[Array],
    *,
    row_partition_types: Sequence[Any],
) -> Array:
    values, kinds = np.asarray(values), [_name(k) for k in row_partition_types]
    if kinds == [_ROW_SPLITS] and values.ndim == 1:
        found = _one_level(np.asarray(shape), parts[0], values, np.asarray(default_value))
        if found is not None:
            return found
    rows, levels = _levels(parts, kinds)
    inner = values.shape[1:]
    sizes = _sizes(np.asarray(shape), rows, levels, inner)
    default = np.asarray(default_value)
    try:
        np.broadcast_to(default, inner)
    except ValueError:
        raise refuse(
            f"default_value.shape={d.text(default.shape)} and rt_input.flat_values.shape="
            f"{d.text(values.shape)} are incompatible: expected a default that broadcasts to "
            f"{d.text(inner)}."
        ) from None
    place = np.arange(rows)
    place = np.where(place < sizes[0], place, -1)
    for (ids, offsets), size in zip(levels, sizes[1:], strict=False):
        parent = place[ids]
        place = np.where((parent >= 0) & (offsets < size), parent * size + offsets, -1)
    cells = int(np.prod(sizes[: len(levels) + 1], dtype=np.int64))
    result = np.empty((cells, *inner), values.dtype)
    result[...] = default
    kept = place >= 0
    result[place[kept]] = values[: place.size][kept]
    return result.reshape(sizes)


@TO_TENSOR.gradient
def _to_tensor_gradient(op: Any, grad: Any) -> list[Any]:
    """Each cell's gradient goes to the value it came from, or to the default."""
    _, values, default, *parts = op.inputs
    kinds = op.get_attr("row_partition_types")
    first = _name(kinds[0]) == _FIRST_DIM
    outer = len(parts) - int(first) + 1
    shape = execute("Shape", (values,))
    count = shape[0]
    cells = execute("Shape", (grad,))[:outer]
    attrs = {"row_partition_types": list(kinds)}
    numbers = execute("Range", (np.int32(0), count, np.int32(1)))
    source = execute(TO_TENSOR, (cells, numbers, np.int32(-1), list(parts)), attrs)
    source = execute("Reshape", (source, np.array([-1], np.int32)))
    rows = execute("ConcatV2", ([execute("Shape", (source,)), shape[1:]], np.int32(0)))
    flat = execute("Reshape", (grad, rows))
    kept = execute("Where", (execute("GreaterEqual", (source, np.int32(0))),))[:, 0]
    taken, places = (execute("GatherV2", (part, kept, np.int32(0))) for part in (flat, source))
    values_grad = IndexedSlices(taken, places, shape)
    missing = execute("Cast", (execute("Less", (source, np.int32(0))),), {"DstT": np.int32})
    left = execute("UnsortedSegmentSum", (flat, missing - 1, np.int32(1)))[0]
    return [None, values_grad, _unbroadcast(left, default), *(None for _ in parts)]


def _unbroadcast(grad: Any, x: Any) -> Any:
    """The gradient of something broadcast, summed to the shape of `x`."""
    shape = execute("Shape", (x,))
    axes = execute("BroadcastGradientArgs", (execute("Shape", (grad,)), shape))[1]
    return execute("Reshape", (execute("Sum", (grad, axes)), shape))


# ---- to a sparse tensor


def _sparse_shape(c: ShapeContext) -> list[Dims]:
    ragged = c.attr("RAGGED_RANK")
    values = c.shape(ragged)
    rank = None if values is None else len(values) + ragged
    count = d.num_elements(values)
    return [(count, rank), (count,), (rank,)]


TO_SPARSE = define_op(
    "RaggedTensorToSparse(rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: T; RAGGED_RANK: "
    "int >= 1, T: type, Tsplits: {int32, int64} = int64) -> sparse_indices: int64, sparse_values: "
    "T, sparse_dense_shape: int64",
    shape=_sparse_shape,
    fallible=True,
    doc="The elements of a ragged tensor with their positions.",
)


def check_nested_splits(splits: Sequence[Array], values: Array, what: str) -> None:
    """Refuses row splits that do not fit one another or the values.

    Raises:
      InvalidArgumentError: they do not fit.
    """
    for level, each in enumerate(splits):
        after = len(splits[level + 1]) - 1 if level + 1 < len(splits) else len(values)
        if native_ragged.are_splits(each, after):
            continue
        falls = each.ndim != 1 or not each.size or each[0] != 0
        if falls or np.count_nonzero(each[1:] < each[:-1]):
            raise refuse(
                f"{what}: First value of ragged splits must be 0 and they must not decrease, got "
                f"{each.tolist()} at level {level}."
            )
        if each[-1] != after:
            raise refuse(
                f"{what}: Final value of ragged splits must match the length of the values: "
                f"expected {after}, got {each[-1]} at level {level}."
            )


@host_kernel(TO_SPARSE, limit=_HOST)
def _to_sparse(splits: list[Array], values: Array) -> list[Array]:
    if len(splits) == 1 and values.ndim == 1:
        found = native_ragged.places_of_items(splits[0], len(values))
        if found is not None:
            shape = np.array([len(splits[0]) - 1, found[1]], np.int64)
            return [found[0], values, shape]
    check_nested_splits(splits, values, "RaggedTensorToSparse")
    rows, levels = _levels(splits, [_ROW_SPLITS] * len(splits))
    columns: list[Array] = []
    for ids, offsets in levels:
        columns = [*(c[ids] for c in columns), offsets] if columns else [ids, offsets]
    inner = values.shape[1:]
    index = np.empty((len(columns[-1]), len(columns)), np.int64)
    for i, column in enumerate(columns):
        index[:, i] = column
    if inner:
        tail = np.indices(inner).reshape(len(inner), -1).T
        index = np.concatenate([np.repeat(index, len(tail), 0), np.tile(tail, (len(index), 1))], 1)
    sizes = [rows, *(int(o.max()) + 1 if o.size else 0 for _, o in levels), *inner]
    return [index, values.reshape(-1), np.array(sizes, np.int64)]


@TO_SPARSE.gradient
def _to_sparse_gradient(op: Any, *grads: Any) -> list[Any]:
    values = op.inputs[-1]
    turned = execute("Reshape", (grads[1], execute("Shape", (values,))))
    return [*(None for _ in op.inputs[:-1]), turned]


# ---- ranges


def _range_shape(c: ShapeContext) -> list[Dims]:
    rows: int | None = None
    for i, name in enumerate(("starts", "limits", "deltas")):
        dims = c.shape(i)
        if dims is None:
            continue
        if len(dims) > 1:
            c.fail("a scalar or vector", f"{name} must be a scalar or vector: {d.text(dims)}")
        if len(dims) == 1 and dims[0] is not None:
            if rows not in (None, dims[0]):
                c.fail(
                    "vectors of one length",
                    f"starts, limits, and deltas must have the same shape: {rows} and {dims[0]}",
                )
            rows = dims[0]
    if all(c.shape(i) == () for i in range(3)):
        rows = 1
    return [(None if rows is None else rows + 1,), (None,)]


RANGE = define_op(
    "RaggedRange(starts: T, limits: T, deltas: T; T: {bfloat16, float, double, int32, int64} = "
    "int32, Tsplits: {int32, int64} = int64) -> rt_nested_splits: Tsplits, rt_dense_values: T",
    shape=_range_shape,
    fallible=True,
    doc="A row of equally spaced numbers for each start, limit and delta.",
).not_differentiable("TensorFlow has none: the lengths of the rows depend on the inputs")


_MOST_NUMBERS = 1 << 62  # their sums are int64


def _whole_range(starts: Array, limits: Array, deltas: Array, Tsplits: DType) -> list[Array] | None:
    """Rows of whole numbers natively; None where the library does not serve them."""
    most = _MOST_NUMBERS if Tsplits is dtypes.int64 else (1 << 31) - 1
    splits = native_ragged.range_splits(starts, limits, deltas, most)
    if splits is None:
        return None
    rows = (len(splits) - 1,)
    begins, steps = [x if x.shape == rows else np.broadcast_to(x, rows) for x in (starts, deltas)]
    found = native_arrays.ranges(begins, steps, splits)
    return None if found is None else [splits.astype(Tsplits.numpy_dtype, copy=False), found]


def _whole_lengths(starts: Array, limits: Array, deltas: Array) -> Array:
    """How many whole numbers each row has: uint64, which holds the distance of any two of int64."""
    first, last, step = (x.astype(np.int64).view(np.uint64) for x in (starts, limits, deltas))
    rises = deltas > 0
    distance = np.where(rises, last - first, first - last)
    size = np.where(rises, step, np.uint64(0) - step)
    some = np.where(rises, limits > starts, limits < starts)
    return np.where(some, (distance - np.uint64(1)) // size + np.uint64(1), np.uint64(0))


@host_kernel(RANGE, limit=_HOST)
def _range(starts: Array, limits: Array, deltas: Array, *, Tsplits: DType) -> list[Array]:
    made = _whole_range(starts, limits, deltas, Tsplits)
    if made is not None:
        return made
    dtype = np.asarray(starts).dtype
    given = [np.atleast_1d(x) for x in (starts, limits, deltas)]
    a, b, step = np.broadcast_arrays(*given)
    if (step == 0).any():
        raise refuse("Requires delta != 0: RaggedRange got 0. Give a step up or down.")
    if dtype.kind in "iu":
        lengths = _whole_lengths(a, b, step)
        total = lengths.astype(np.float64).sum()
        if total > _MOST_NUMBERS:
            raise refuse(
                "The total range size overflowed: RaggedRange expected rows that memory holds, got"
                f" some {total:.3g} numbers. Mind limits and deltas."
            )
    else:
        wide = [x.astype(np.float64) for x in (a, b, step)]
        if any(np.isnan(x).any() for x in wide):
            raise refuse("RaggedRange expected numbers, got NaN among starts, limits or deltas.")
        lengths = np.ceil(np.abs((wide[1] - wide[0]) / wide[2]))
        lengths = np.where((wide[1] - wide[0]) * np.sign(wide[2]) > 0, lengths, 0)
    lengths = np.maximum(lengths, 0).astype(np.int64)
    splits = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    if splits[-1] > np.iinfo(Tsplits.numpy_dtype).max:
        raise refuse("Requires ((limit - start) / delta) <= the largest number of Tsplits.")
    if dtype.kind in "iu":
        found = native_arrays.ranges(a, step, splits)
        if found is not None:
            return [splits.astype(Tsplits.numpy_dtype, copy=False), found]
    offsets = np.arange(splits[-1]) - np.repeat(splits[:-1], lengths)
    every = [x if len(x) == 1 else np.repeat(x, lengths) for x in (given[0], given[2])]
    values = every[0] + (offsets.astype(dtype) * every[1]).astype(dtype)
    return [splits.astype(Tsplits.numpy_dtype), values.astype(dtype, copy=False)]
