"""Rules of operations that move, join and choose values, and of exact reductions."""

from collections.abc import Sequence

from penstock.data.row_graph import NoRule, RowGraph, Value, rule, shifted, shifted_axes
from penstock.graph.operation import Operation
from penstock.types import dtypes as dt

# sizes: those of all elements that came in one block are the same


@rule("Shape", "ShapeN")
def _shape(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    return [Value(rows.sizes(v, op.attrs["out_type"]), False) for v in values]


@rule("Rank")
def _rank(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    return [Value(rows.constant(values[0].rank, dt.int32), False)]


@rule("Size")
def _size(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    dtype = op.attrs["out_type"]
    found = rows.add("Prod", (rows.sizes(values[0], dtype), rows.constant([0], dt.int32)))
    return [Value(found[0], False)]


@rule("EnsureShape")
def _ensure(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    wanted = op.attrs["shape"]
    return rows.again(op, values, shape=None if wanted is None else (None, *wanted))


# layout


def _constant_axis(rows: RowGraph, axis: Value) -> Value:
    """An axis, or axes, of elements as those of rows."""
    return Value(rows.constant(shifted_axes(axis.constant()), axis.tensor.dtype), False)


def _all_shared(values: Sequence[Value]) -> None:
    if any(v.rows for v in values):
        raise NoRule


@rule("ExpandDims", "ReverseV2")
def _at_axis(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    return rows.again(op, [values[0], _constant_axis(rows, values[1])])


@rule("Squeeze")
def _squeeze(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    axes = [shifted(a) for a in op.attrs["squeeze_dims"]]
    if not axes:
        dims = values[0].dims
        if dims is None or None in dims:
            raise NoRule
        axes = [i + 1 for i, n in enumerate(dims) if n == 1]
        if not axes:
            return [values[0]]
    return rows.again(op, values, squeeze_dims=tuple(axes))


@rule("Reshape")
def _reshape(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    value, shape = values
    _all_shared([shape])
    first = rows.count(shape.tensor.dtype)
    return rows.again(op, [value, Value(rows.before(first, shape.tensor), False)])


@rule("BroadcastTo")
def _broadcast_to(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    value, shape = values
    _all_shared([shape])
    size = shape.tensor.dims
    if size is None or len(size) != 1 or size[0] is None:
        raise NoRule
    dims = rows.before(rows.count(shape.tensor.dtype), shape.tensor)
    return rows.again(op, [rows.widened(value, size[0]), Value(dims, False)])


@rule("Transpose", "ConjugateTranspose")
def _transpose(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    order = values[1].constant() % values[0].rank if values[0].rank else values[1].constant()
    made = rows.constant([0, *(int(p) + 1 for p in order)], values[1].tensor.dtype)
    return rows.again(op, [values[0], Value(made, False)])


@rule("ConcatV2")
def _concat(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    parts = [rows.spread(v) for v in values[:-1]]
    return rows.again(op, [*parts, _constant_axis(rows, values[-1])])


@rule("Pack")
def _pack(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    parts = [rows.spread(v) for v in values]
    return rows.again(op, parts, axis=shifted(op.attrs["axis"]))


@rule("Unpack")
def _unpack(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    return rows.again(op, values, axis=shifted(op.attrs["axis"]))


@rule("Split")
def _split(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    return rows.again(op, [_constant_axis(rows, values[0]), values[1]])


@rule("SplitV")
def _split_v(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    _all_shared([values[1]])
    return rows.again(op, [values[0], values[1], _constant_axis(rows, values[2])])


@rule("StridedSlice")
def _strided_slice(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    value, *bounds = values
    _all_shared(bounds)
    made = [
        Value(rows.before(rows.constant([n], b.tensor.dtype), b.tensor), False)
        for n, b in zip((0, 0, 1), bounds, strict=True)
    ]
    masks = {k: v << 1 for k, v in op.attrs.items() if k.endswith("_mask")}
    masks["begin_mask"] |= 1
    masks["end_mask"] |= 1
    return rows.again(op, [value, *made], **masks)


@rule("Slice")
def _slice(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    value, *bounds = values
    _all_shared(bounds)
    made = [
        Value(rows.before(rows.constant([n], b.tensor.dtype), b.tensor), False)
        for n, b in zip((0, -1), bounds, strict=True)
    ]
    return rows.again(op, [value, *made])


@rule("Tile")
def _tile(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    _all_shared(values[1:])
    once = rows.constant([1], values[1].tensor.dtype)
    return rows.again(op, [values[0], Value(rows.before(once, values[1].tensor), False)])


@rule("Pad", "PadV2", "MirrorPad")
def _pad(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    _all_shared(values[1:])
    none = rows.constant([[0, 0]], values[1].tensor.dtype)
    paddings = Value(rows.before(none, values[1].tensor), False)
    return rows.again(op, [values[0], paddings, *values[2:]])


# choosing


@rule("GatherV2")
def _gather(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    params, indices, at = values
    axis, batch = int(at.constant()), op.attrs["batch_dims"]
    if not params.rows:
        if axis or batch:
            raise NoRule
        return rows.again(op, values)
    if not indices.rows and batch:
        raise NoRule
    if axis < 0:
        axis += params.rank
    if batch < 0:
        raise NoRule
    made = Value(rows.constant(axis + 1, at.tensor.dtype), False)
    return rows.again(op, [params, indices, made], batch_dims=batch + 1 if indices.rows else 0)


@rule("Gather", "GatherNd")
def _gather_shared(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    _all_shared(values[:1])
    return rows.again(op, values)


@rule("OneHot")
def _one_hot(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    _all_shared(values[1:])
    return rows.again(op, values, axis=shifted(op.attrs["axis"]))


@rule("TopKV2")
def _top_k(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    _all_shared(values[1:])
    return rows.again(op, values)


# reductions whose results do not depend on the order


@rule("Max", "Min", "All", "Any", "ArgMax", "ArgMin")
def _reduce(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    return rows.again(op, [values[0], _constant_axis(rows, values[1])])


@rule("Sum", "Prod", "Cumsum", "Cumprod")
def _reduce_integers(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    if not values[0].tensor.dtype.is_integer:
        raise NoRule  # NumPy adds numbers of a matrix in another order than those of a vector
    return _reduce(rows, op, values)
