"""Sparse tensors cut up and put together: slice, concat, split."""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_sparse
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.sparse_common import (
    SORT_FROM,
    SORT_LIMIT,
    Array,
    check_inside,
    invalid,
    order_of,
    parts,
)
from penstock.types.dims import Dims

# ---- SparseSlice


def _slice_shape(c: ShapeContext) -> list[Dims]:
    _, rank = parts(c)
    for index, name in ((3, "start"), (4, "size")):
        dims = c.rank(index, 1, name)
        assert dims is not None
        if None not in (dims[0], rank) and dims[0] != rank:
            c.refuse(f"Expected {name} to be a vector of length {rank} but got length {dims[0]}")
    return [(None, rank), (None,), (rank,)]


SLICE = define_op(
    "SparseSlice(indices: int64, values: T, shape: int64, start: int64, size: int64; T: type) -> "
    "output_indices: int64, output_values: T, output_shape: int64",
    shape=_slice_shape,
    host_inputs=("shape", "start", "size"),
    doc="The elements of a box of a sparse tensor, in a sparse tensor of its own.",
)


@host_kernel(SLICE)
def _slice(indices: Array, values: Array, shape: Array, start: Array, size: Array) -> list[Array]:
    if (size < 0).any():
        raise invalid(f"expected sizes >= 0, got size = {size.tolist()}.")
    # no sum of start and size, which may be beyond all numbers
    sizes = np.maximum(np.where(start > shape - size, shape - start, size), 0)
    found = native_sparse.in_box(indices, start, size)
    if found is not None:
        moved, places = found
        return [moved, values if len(places) == len(values) else values.take(places, 0), sizes]
    kept = np.ones(len(indices), bool)
    for axis, (first, count) in enumerate(zip(start, size, strict=True)):
        column = indices[:, axis] - first  # as unsigned numbers those before are large, too
        kept &= column.view(np.uint64) < np.uint64(count)
    places = np.flatnonzero(kept)
    if places.size == len(indices):
        return [indices - start, values, sizes]
    return [indices.take(places, 0) - start, values.take(places, 0), sizes]


SLICE_GRAD = define_op(
    "SparseSliceGrad(backprop_val_grad: T, input_indices: int64, input_start: int64, "
    "output_indices: int64; T: numbertype) -> val_grad: T",
    shape=lambda c: c.rank(1, 2, "input_indices")[:1],
    host_inputs=("input_start",),
    fallible=True,
    doc="The gradient of SparseSlice with respect to its values.",
).without_gradient("TensorFlow has none")


@host_kernel(SLICE_GRAD)
def _slice_grad(grad: Array, indices: Array, start: Array, taken: Array) -> Array:
    if grad.shape[0] != taken.shape[0]:
        raise invalid(
            f"expected a gradient for each of the {taken.shape[0]} elements of the slice, got "
            f"{grad.shape[0]}."
        )
    count, rank = indices.shape
    for name, size in (("input_start", len(start)), ("output_indices", taken.shape[1])):
        if size != rank:
            raise invalid(f"expected {name} of {rank} columns, as input_indices, got {size}.")
    if len(taken) > count:
        raise invalid(
            f"expected no more output_indices than input_indices, got {len(taken)} and {count}."
        )
    found = native_sparse.elements_in_turn(indices, taken, start, grad)
    result, used = _in_turn(grad, indices, taken + start) if found is None else found
    if used < len(taken):
        raise errors.InternalError(
            None,
            None,
            "expected output_indices that, moved by input_start, are among input_indices in the "
            f"same order, got {len(taken)} of which {used} are, up to {taken[used].tolist()}. Give "
            "SparseSlice's own.",
        )
    return result


def _in_turn(grad: Array, indices: Array, places: Array) -> tuple[Array, int]:
    """`native_sparse.elements_in_turn` without the library, of places that are moved already."""
    result, wanted, used = np.zeros(len(indices), grad.dtype), places.tolist(), 0
    for i, place in enumerate(indices.tolist()):
        if used < len(wanted) and place == wanted[used]:
            result[i] = grad[used]
            used += 1
    return result, used


@SLICE.gradient
def _slice_gradient(op: Any, unused: Any, grad: Any, *rest: Any) -> list[Any]:
    indices, start = op.inputs[0], op.inputs[3]
    return [None, execute(SLICE_GRAD, (grad, indices, start, op.outputs[0])), None, None, None]


# ---- SparseConcat


def _concat_shape(c: ShapeContext) -> list[Dims]:
    count = c.attr("N")
    total: int | None = 0
    rank: int | None = None
    for i in range(count):
        indices = c.rank(i, 2, f"indices[{i}]")
        values, shape = c.rank(count + i, 1), c.rank(2 * count + i, 1)
        assert indices is not None
        assert values is not None
        assert shape is not None
        if None not in (indices[0], values[0]) and indices[0] != values[0]:
            c.fail(f"as many values[{i}] as indices[{i}]", f"{values[0]} and {indices[0]}")
        for found in (indices[1], shape[0]):
            if None not in (found, rank) and found != rank:
                c.refuse(
                    f"Ranks of all input tensors must match: expected {rank} but got {found} at"
                    f" position {i}"
                )
            rank = found if rank is None else rank
        own = indices[0] if values[0] is None else values[0]
        total = None if total is None or own is None else total + own
    if rank is not None and not -rank <= c.attr("concat_dim") < rank:
        c.refuse(f"Concat dimension must be in range [{-rank}, {rank}), got {c.attr('concat_dim')}")
    return [(total, rank), (total,), (rank,)]


CONCAT = define_op(
    "SparseConcat(indices: N*int64, values: N*T, shapes: N*int64; concat_dim: int, N: int >= 2, "
    "T: type) -> output_indices: int64, output_values: T, output_shape: int64",
    shape=_concat_shape,
    fallible=True,
    doc="Sparse tensors one after the other along an axis.",
)


def _unlike(first: Array, other: Array, axis: int) -> str:
    """Which size of an input is not that of the first input."""
    place = next(i for i, n in enumerate(first) if i != axis and n != other[i])
    return f"expected {first[place]} for dimension {place} but got {other[place]}"


def _concat_sizes(ctx: KernelContext, xp: Any, shapes: list[Array], axis: int) -> Array:
    """The dense shape; all sizes but that of `axis` must agree."""
    first = shapes[0]
    others = np.arange(first.shape[0]) != axis
    for i, shape in enumerate(shapes[1:], 1):
        ctx.check(
            ((shape == first) | ~others).all(),
            errors.InvalidArgumentError,
            lambda a, b, i=i: (
                f"Input shapes must match: {_unlike(a, b, axis)} at position {i}: expected shapes"
                f" that agree but for dimension {axis}, got {np.asarray(a).tolist()} and"
                f" {np.asarray(b).tolist()}. Use expand_nonconcat_dims=True."
            ),
            first,
            shape,
        )
    along = sum(s[axis] for s in shapes)
    return xp.where(others, first, along)


def _joined(
    ctx: KernelContext,
    xp: Any,
    indices: list[Array],
    values: list[Array],
    shapes: list[Array],
    axis: int,
) -> list[Array]:
    rank = shapes[0].shape[0]
    axis = axis % rank
    sizes = _concat_sizes(ctx, xp, shapes, axis)
    column = np.arange(rank) == axis
    moved, before = [], 0
    for rows, shape in zip(indices, shapes, strict=True):
        moved.append(rows + xp.where(column, before, 0))
        before = before + shape[axis]
    every, all_values = xp.concatenate(moved), xp.concatenate(values)
    order = order_of(xp, every)
    return [every[order], all_values[order], sizes]


@host_kernel(CONCAT, limit=SORT_LIMIT, alone_from=SORT_FROM)
def _concat(
    ctx: KernelContext,
    indices: list[Array],
    values: list[Array],
    shapes: list[Array],
    *,
    concat_dim: int,
) -> list[Array]:
    return _joined(ctx, np, indices, values, shapes, concat_dim)


@compiled_kernel(CONCAT)
def _concat_compiled(
    ctx: KernelContext,
    indices: list[Array],
    values: list[Array],
    shapes: list[Array],
    *,
    concat_dim: int,
) -> list[Array]:
    return _joined(ctx, jnp, indices, values, shapes, concat_dim)


def _numbers(values: list[Any]) -> list[Any]:
    """The elements of several vectors, numbered through."""
    ends: Any = np.int64(0)
    result = []
    for each in values:
        start = ends
        ends = execute("AddV2", (execute("Size", (each,), {"out_type": np.int64}), start))
        result.append(execute("Range", (start, ends, np.int64(1))))
    return result


@CONCAT.gradient
def _concat_gradient(op: Any, unused: Any, grad: Any, *rest: Any) -> list[Any]:
    count = op.get_attr("N")
    lists = [list(op.inputs[i * count : (i + 1) * count]) for i in range(3)]
    numbers = _numbers(lists[1])
    attrs = {"concat_dim": op.get_attr("concat_dim")}
    _, source, _ = execute(CONCAT, (lists[0], numbers, lists[2]), attrs)
    total = execute("Size", (source,), {"out_type": np.int64})
    back = execute("UnsortedSegmentSum", (grad, source, total))
    grads = [execute("GatherV2", (back, n, np.int32(0))) for n in numbers]
    return [*(None,) * count, *grads, *(None,) * count]


# ---- SparseSplit


def _split_shape(c: ShapeContext) -> list[Dims]:
    c.rank(0, 0, "split_dim")
    _, rank = parts(c, 1)
    count, axis, sizes = c.attr("num_split"), c.constant(0), c.constant(3)
    if axis is not None and rank is not None and not -rank <= int(axis) < rank:
        c.refuse(f"Input axis should be in range [{-rank}, {rank}), got {int(axis)}")
    if axis is not None and sizes is not None and not 1 <= count <= int(sizes[int(axis)]):
        c.refuse(
            "Input num_split should be between 1 and the splitting dimension size"
            f" ({int(sizes[int(axis)])}), got {count}"
        )
    return [(None, rank)] * count + [(None,)] * count + [(rank,)] * count


SPLIT = define_op(
    "SparseSplit(split_dim: int64, indices: int64, values: T, shape: int64; num_split: int >= 1, "
    "T: type) -> output_indices: num_split*int64, output_values: num_split*T, output_shape: "
    "num_split*int64",
    shape=_split_shape,
    host_inputs=("split_dim", "shape"),
    doc="A sparse tensor cut along an axis into parts whose sizes differ by at most one.",
)


@host_kernel(SPLIT)
def _split(
    ctx: KernelContext,
    split_dim: Array,
    indices: Array,
    values: Array,
    shape: Array,
    *,
    num_split: int,
) -> list[Array]:
    check_inside(ctx, np, indices, shape)
    axis = int(split_dim) % shape.shape[0]
    each, longer = divmod(int(shape[axis]), num_split)
    sizes = [each + (i < longer) for i in range(num_split)]
    starts = np.cumsum([0, *sizes])
    column = np.arange(shape.shape[0]) == axis
    part = np.searchsorted(starts[1:], indices[:, axis], side="right")
    kept = [np.flatnonzero(part == i) for i in range(num_split)]
    rows = [indices.take(k, 0) for k in kept]
    for each, start in zip(rows, starts, strict=False):
        each[:, axis] -= start
    shapes = [np.where(column, size, shape) for size in sizes]
    return [*rows, *(values.take(k, 0) for k in kept), *shapes]


@SPLIT.gradient
def _split_gradient(op: Any, *grads: Any) -> list[Any]:
    count = op.get_attr("num_split")
    axis, indices, values, shape = op.inputs
    (numbers,) = _numbers([values])
    _, sources, _ = execute(SPLIT, (axis, indices, numbers, shape), {"num_split": count})
    given = list(grads[count : 2 * count])
    back = execute("ConcatV2", (given, np.int32(0))) if count > 1 else given[0]
    source = execute("ConcatV2", (list(sources), np.int32(0))) if count > 1 else sources[0]
    total = execute("Size", (values,), {"out_type": np.int64})
    return [None, None, execute("UnsortedSegmentSum", (back, source, total)), None]
