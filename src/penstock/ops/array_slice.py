"""Slices: `Slice` by begin and size, `StridedSlice` by begin, end and stride with masks.

`array_slice_index` says what the items and masks of a StridedSlice mean.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel
from penstock.core.lazy import jnp, lax
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.traced import NotStatic
from penstock.ops.array_basics import shape_of
from penstock.ops.array_slice_index import MASKS, UNKNOWN, dense_index, index_shape, mask_attrs
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any
MASK_TEXT = ", ".join(f"{m}: int = 0" for m in MASKS)


# ---- Slice


def _slice_shape(c: ShapeContext) -> Dims:
    dims, begin, size = c.shape(0), c.constant(1), c.constant(2)
    given = [
        s[0]
        for s in (c.rank(1, 1, "begin"), c.rank(2, 1, "size"))
        if s is not None and s[0] is not None
    ]
    rank = len(dims) if dims is not None else (given[0] if given else None)
    if any(n != rank for n in given):
        c.fail(
            f"begin and size with {rank} entries"
            + ("" if dims is None else f" for shape {d.text(dims)}"),
            f"{given}: {_slice_fact(c, rank)}",
        )
    if rank is None:
        return None
    if size is None:
        partial = c.shape_value(2)
        return partial if partial is not None and len(partial) == rank else (None,) * rank
    starts = [None] * size.size if begin is None else begin.tolist()
    limits = (None,) * size.size if dims is None else dims
    parts = list(zip(starts, size.tolist(), limits, strict=True))
    result = tuple([_slice_length(c, axis, *part) for axis, part in enumerate(parts)])
    for axis, part in enumerate(parts):
        _check_part(c, axis, *part, result)
    return result


def _slice_fact(c: ShapeContext, rank: int | None) -> str:
    """What is wrong with the number of begins and sizes, as TensorFlow says it."""
    begin, size = c.shape(1), c.shape(2)
    if c.running:
        return (
            f"Expected begin and size arguments to be 1-D tensors of size {rank}, but got shapes"
            f" {d.bracketed(begin)} and {d.bracketed(size)} instead"
        )
    c.merge(begin, size)
    return f"Shape must be rank {begin[0] if begin else None} but is rank {rank}"


def _slice_length(
    c: ShapeContext, axis: int, start: int | None, size: int, limit: int | None
) -> int | None:
    """The size along an axis; what is too small for it is refused while a graph is built."""
    if size < -1:
        fact = f": Invalid value in tensor used for shape: {size}"
        fact = c.says(_outside(axis, start or 0, size, limit), fact)
        c.fail("size >= -1", f"{size} for axis {axis}{fact}")
    if size >= 0:
        return size
    if limit is None or start is None or start < 0:
        return None
    if start > limit:
        fact = f": Negative dimension size caused by subtracting {start} from {limit}"
        fact = c.says(_outside(axis, start, size, limit), fact)
        c.fail(f"begin <= {limit}, the size of axis {axis}", f"{start}{fact}")
    return limit - start


def _check_part(
    c: ShapeContext, axis: int, start: int | None, size: int, limit: int | None, known: Dims
) -> None:
    """Leaves what is outside of the input to the step."""
    if start is not None and start < 0:
        expected = "begin >= 0"
    elif limit is not None and (start or 0) + max(size, 0) > limit:
        expected = f"begin + size <= {limit}, the size of the axis"
    else:
        return
    fact = _outside(axis, start or 0, size, limit)
    c.fail_at_step(expected, f"begin {start} and size {size} for axis {axis}{fact}", known=known)


def _outside(axis: int, start: int, size: int, limit: int | None) -> str:
    """Which of begin and size is out of bounds, as TensorFlow says it."""
    if limit is None:
        return ""
    if not 0 <= start <= limit:
        return f": Expected begin[{axis}] in [0, {limit}], but got {start}"
    return f": Expected size[{axis}] in [0, {limit - start}], but got {size}"


def _misplaced(dims: Sequence[int], begin: Array, size: Array) -> str:
    """What is wrong with slices of known sizes, one of which does not fit where it begins."""
    room = np.asarray(dims) - size
    axis = int(((begin < 0) | (begin > room)).argmax())
    fact = _outside(axis, int(begin[axis]), int(size[axis]), dims[axis])
    expected = f"Slice: expected begin in [0, {room.tolist()}] for size {size.tolist()}"
    return f"{expected}, got {begin.tolist()}{fact}"


SLICE = define_op(
    "Slice(input: T, begin: Index, size: Index; T: type, Index: {int32, int64}) -> output: T",
    shape=_slice_shape,
    host_inputs=("size",),
    fallible=True,
    doc="The part of the input that begins at `begin` and has shape `size`; -1 takes what is left.",
)


@host_kernel(SLICE, limit=1 << 62)
def _slice(x: Array, begin: Array, size: Array) -> Array:
    return x[
        tuple(
            slice(b, None if n < 0 else b + n)
            for b, n in zip(begin.tolist(), size.tolist(), strict=True)
        )
    ]


@compiled_kernel(SLICE)
def _slice_compiled(ctx: KernelContext, x: Array, begin: Array, size: Array) -> Array:
    if isinstance(begin, np.ndarray):
        return _slice(x, begin, size)
    if (size < 0).any():  # the result's shape would depend on `begin`
        raise NotStatic(getattr(ctx, "op_key", None), "begin must be known when size holds -1")
    room = jnp.asarray(x.shape) - size
    ctx.check(
        ((begin >= 0) & (begin <= room)).all(),
        errors.InvalidArgumentError,
        lambda at: _misplaced(x.shape, at, size),
        begin,
    )
    return lax.dynamic_slice(x, list(begin), size.tolist())


@SLICE.gradient
def _slice_gradient(op: Any, grad: Any) -> list[Any]:
    x, begin, _ = op.inputs
    sizes = execute("Cast", (shape_of(x),), {"DstT": begin.dtype})
    taken = execute("Cast", (shape_of(grad),), {"DstT": begin.dtype})
    after = execute("Sub", (execute("Sub", (sizes, taken)), begin))
    return [execute("Pad", (grad, execute("Pack", ([begin, after],), {"axis": 1}))), None, None]


# ---- StridedSlice


def _strided_shape(c: ShapeContext) -> Dims:
    return index_shape(c, c.shape(0), 1)


INDICES = 1024  # that are remembered, by their bounds

STRIDED_SLICE = define_op(
    f"StridedSlice(input: T, begin: Index, end: Index, strides: Index; T: type, Index: {{int16, "
    f"int32, int64}}, {MASK_TEXT}) -> output: T",
    shape=_strided_shape,
    host_inputs=("strides",),
    fallible=True,
    doc="The elements of the input that begin, end, strides and five masks select.",
)


@host_kernel(STRIDED_SLICE, limit=1 << 62)
def _strided_slice(
    x: Array,
    begin: Array,
    end: Array,
    strides: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Array:
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    bounds = (tuple(begin.tolist()), tuple(end.tolist()), tuple(strides.tolist()))
    return x[_index(x.ndim, *bounds, masks)]


@functools.lru_cache(INDICES)
def _index(rank: int, begin: Any, end: Any, strides: Any, masks: tuple[int, ...]) -> Any:
    """The NumPy index for certain bounds: programs slice with the same ones again and again."""
    return (*dense_index(rank, begin, end, strides, masks), Ellipsis)


@compiled_kernel(STRIDED_SLICE)
def _strided_slice_compiled(
    ctx: KernelContext,
    x: Array,
    begin: Array,
    end: Array,
    strides: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Array:
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    if isinstance(begin, np.ndarray) and isinstance(end, np.ndarray):
        return _static_slice(
            x, dense_index(x.ndim, begin.tolist(), end.tolist(), strides.tolist(), masks)
        )
    index = _moving_index(ctx, x, begin, end, strides, masks)
    return jnp.asarray(_with_places(x, index))[index]  # NumPy's would ask for the tracer's value


def _with_places(x: Array, index: tuple[Any, ...]) -> Array:
    """`x`, with a place along empty axes where a position is known only when it runs.

    JAX refuses the index while it compiles, also in the body of a loop that has no round; when it
    runs the check of the position fails.
    """
    items = [item for item in index[:-1] if item is not None]
    moving = [not isinstance(item, slice | int) for item in items]
    moving += [False] * (x.ndim - len(moving))
    empty = [n == 0 and m for n, m in zip(x.shape, moving, strict=True)]
    return jnp.pad(x, [(0, int(e)) for e in empty]) if any(empty) else x


def _static_slice(x: Array, index: list[Any]) -> Array:
    """A slice with known bounds as `lax.slice`.

    It differentiates and fuses better than a gather.
    """
    starts, stops, steps, flips, removed, shape = ([] for _ in range(6))
    axis = 0
    for item in index:
        if item is None:
            continue
        n = x.shape[axis]
        places = range(n)[item] if isinstance(item, slice) else range(item % n, item % n + 1)
        if len(places) and places.step < 0:
            places = places[::-1]
            flips.append(axis)
        first, last = (places[0], places[-1] + 1) if len(places) else (0, 0)
        starts.append(first)
        stops.append(last)
        steps.append(max(places.step, 1) if len(places) else 1)
        removed.append(not isinstance(item, slice))
        axis += 1
    result = lax.slice(x, starts, stops, steps)
    if flips:
        result = lax.rev(result, tuple(flips))
    sizes = iter(zip(result.shape, removed, strict=True))
    for item in index:
        if item is None:
            shape.append(1)
            continue
        size, gone = next(sizes)
        if not gone:
            shape.append(size)
    return result.reshape(tuple(shape))


def _checked(ctx: KernelContext, position: Array, n: int, axis: int) -> Array:
    ctx.check(
        (position >= -n) & (position < n),
        errors.InvalidArgumentError,
        lambda at: (
            f"slice index {int(at)} of dimension {axis} out of bounds: expected one in [{-n}, {n})"
        ),
        position,
    )
    return jnp.where(position < 0, position + n, position)


@STRIDED_SLICE.gradient
def _strided_slice_gradient(op: Any, grad: Any) -> list[Any]:
    x, begin, end, strides = op.inputs
    sizes = execute("Cast", (shape_of(x),), {"DstT": begin.dtype})
    return [
        execute(STRIDED_SLICE_GRAD, (sizes, begin, end, strides, grad), mask_attrs(op)),
        None,
        None,
        None,
    ]


def _grad_shape(c: ShapeContext) -> Dims:
    return c.shape_value(0)


STRIDED_SLICE_GRAD = define_op(
    "StridedSliceGrad(shape: Index, begin: Index, end: Index, strides: Index, dy: T; T: type, "
    f"Index: {{int32, int64}}, {MASK_TEXT}) "
    "-> output: T",
    shape=_grad_shape,
    host_inputs=("shape", "strides"),
    fallible=True,
    doc="Zeros of a shape with `dy` at the elements that a StridedSlice selects.",
)


@host_kernel(STRIDED_SLICE_GRAD)
def _strided_slice_grad(
    shape: Array,
    begin: Array,
    end: Array,
    strides: Array,
    dy: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Array:
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    result = np.zeros(tuple(shape.tolist()), dy.dtype)
    index = dense_index(len(shape), begin.tolist(), end.tolist(), strides.tolist(), masks)
    taken = result[(*index, Ellipsis)]
    if taken.shape != dy.shape:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"StridedSliceGrad: expected dy of shape {list(taken.shape)}, as the slice, got"
            f" {list(dy.shape)}.",
        )
    taken[...] = dy
    return result


@compiled_kernel(STRIDED_SLICE_GRAD)
def _strided_slice_grad_compiled(
    ctx: KernelContext,
    shape: Array,
    begin: Array,
    end: Array,
    strides: Array,
    dy: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Array:
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    zeros = jnp.zeros(tuple(shape.tolist()), dy.dtype)
    index = _moving_index(ctx, zeros, begin, end, strides, masks)
    return zeros.at[index].set(dy) if zeros.size else zeros


def _moving_index(
    ctx: KernelContext, x: Array, begin: Array, end: Array, strides: Array, masks: tuple[int, ...]
) -> tuple[Any, ...]:
    """The index where bounds may be known only when it runs.

    Single positions, whose result has a fixed shape.
    """
    lists = [
        v.tolist() if isinstance(v, np.ndarray) else [UNKNOWN] * len(strides) for v in (begin, end)
    ]
    index = dense_index(x.ndim, lists[0], lists[1], strides.tolist(), masks)
    moving = iter(
        [begin[i] for i in range(len(strides)) if masks[4] & ~masks[3] & ~masks[2] & 1 << i]
    )
    whole: list[Any] = []
    axis = 0
    for item in index:
        if item is None:
            whole.append(None)
            continue
        if isinstance(item, slice):
            if item.start is UNKNOWN or item.stop is UNKNOWN:
                raise NotStatic(
                    getattr(ctx, "op_key", None), "the bounds of a slice are needed to compile it"
                )
            whole.append(item)
        else:
            position = next(moving)
            whole.append(_checked(ctx, position, x.shape[axis], axis) if item is UNKNOWN else item)
        axis += 1
    return (*whole, Ellipsis)


@STRIDED_SLICE_GRAD.gradient
def _strided_slice_grad_gradient(op: Any, grad: Any) -> list[Any]:
    _, begin, end, strides, _ = op.inputs
    return [
        None,
        None,
        None,
        None,
        execute(STRIDED_SLICE, (grad, begin, end, strides), mask_attrs(op)),
    ]


def _update_shape(c: ShapeContext) -> Dims:
    part, value = index_shape(c, c.shape(0), 1), c.shape(4)
    if part is not None:
        value = d.without_leading_ones(value, len(part))
    if part is not None and value is not None and d.is_full(value) and len(value) > len(part):
        c.fail(f"a value that broadcasts to {d.text(part)}", f"shape {d.text(value)}")
    if d.is_full(part) and d.is_full(value) and d.broadcast(part, value) != part:
        c.fail(f"a value that broadcasts to {d.text(part)}", f"shape {d.text(value)}")
    return c.shape(0)


TENSOR_STRIDED_SLICE_UPDATE = define_op(
    "TensorStridedSliceUpdate(input: T, begin: Index, end: Index, strides: Index, value: T; T: "
    "type, Index: {int32, int64}, "
    f"{MASK_TEXT}) -> output: T",
    shape=_update_shape,
    host_inputs=("strides",),
    fallible=True,
    doc="The input with other values at the elements that a StridedSlice selects.",
)


@host_kernel(TENSOR_STRIDED_SLICE_UPDATE)
def _strided_update(
    x: Array,
    begin: Array,
    end: Array,
    strides: Array,
    value: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Array:
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    result = x.copy()
    index = dense_index(x.ndim, begin.tolist(), end.tolist(), strides.tolist(), masks)
    part = result[(*index, Ellipsis)]
    part[...] = value.reshape(d.without_leading_ones(value.shape, part.ndim))
    return result


@compiled_kernel(TENSOR_STRIDED_SLICE_UPDATE)
def _strided_update_compiled(
    ctx: KernelContext,
    x: Array,
    begin: Array,
    end: Array,
    strides: Array,
    value: Array,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Array:
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    moving = _moving_index(ctx, x, begin, end, strides, masks)
    added = sum(item is None for item in moving)
    dropped = len(moving) - 1 - added - sum(isinstance(item, slice) for item in moving)
    value = value.reshape(d.without_leading_ones(value.shape, x.ndim + added - dropped))
    return jnp.asarray(x).at[moving].set(value)


@TENSOR_STRIDED_SLICE_UPDATE.gradient
def _strided_update_gradient(op: Any, grad: Any) -> list[Any]:
    _, begin, end, strides, value = op.inputs
    masks = mask_attrs(op)
    taken = execute(STRIDED_SLICE, (grad, begin, end, strides), masks)
    rest = execute(
        TENSOR_STRIDED_SLICE_UPDATE,
        (grad, begin, end, strides, execute("ZerosLike", (taken,))),
        masks,
    )
    return [rest, None, None, None, sum_to(taken, value)]


def sum_to(grad: Any, like: Any) -> Any:
    """`grad` summed over the axes along which a tensor like `like` was repeated to its shape."""
    axes, _ = execute("BroadcastGradientArgs", (shape_of(like), shape_of(grad)))
    return execute("Reshape", (execute("Sum", (grad, axes)), shape_of(like)))
