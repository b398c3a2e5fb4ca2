"""Lists of tensors joined and split: elements as pieces of different lengths, and whole lists."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor_list import StackedList, TensorList
from penstock.core.traced import NotStatic, TraceContext
from penstock.ops.tensor_list_stacks import element_attrs, one_row
from penstock.ops.tensor_lists import (
    ELEMENTS,
    LARGE,
    OPEN,
    check_item,
    dims_of,
    filling,
    invalid,
    item_dims,
    list_of,
    merged,
    rows_of,
    shape_input,
    stacked_of,
    zeros_of,
)
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any


def _concat_shape(c: ShapeContext) -> list[Dims]:
    dims = item_dims(c, 1)
    return [None if dims is None else (None, *dims[1:]), (None,)]


def _old_concat_shape(c: ShapeContext) -> list[Dims]:
    dims = c.merge(c.variable_shape(0), c.attr("element_shape"))
    return [None if dims is None else (None, *dims[1:]), (None,)]


CONCAT = define_op(
    "TensorListConcat(input_handle: variant; element_dtype: type, element_shape: shape = ?) "
    "-> (tensor: element_dtype, lengths: int64)",
    shape=_old_concat_shape,
    doc="The elements one after the other, and their lengths.",
)
CONCAT_V2 = define_op(
    "TensorListConcatV2(input_handle: variant, element_shape: shape_type, leading_dims: int64; "
    f"{OPEN}) -> (tensor: element_dtype, lengths: int64)",
    shape=_concat_shape,
    doc="The elements one after the other, and their lengths; `leading_dims` for those not set.",
)


def _joined(held: TensorList, wanted: Dims, leading: Sequence[int]) -> tuple[Array, Array]:
    """The elements one after the other, and how long each is."""
    dims = merged(held, wanted)
    if not held.length:
        if dims is None or not d.is_full(dims[1:]):
            raise invalid(
                "All except the first dimension must be fully defined when concating an empty "
                f"tensor list. element_shape: {d.text(dims)}. Give an element_shape."
            )
        return zeros_of(held.dtype, (0, *dims[1:])), np.zeros(0, np.int64)
    items = held.items
    shapes = {None if item is None else item.shape for item in items}
    shape = shapes.pop() if len(shapes) == 1 else None
    if shape and d.compatible(dims, shape):  # the usual case
        return np.concatenate(items), np.array([shape[0]] * len(items), np.int64)
    pieces = [_piece(held, dims, i, item, leading) for i, item in enumerate(items)]
    for i, piece in enumerate(pieces):
        if piece.shape[1:] != pieces[0].shape[1:] or not d.compatible(dims, piece.shape):
            raise invalid(
                f"Incompatible shapes: expected elements of shape {d.text(dims)} that differ in "
                f"the first dimension only, got {d.text(pieces[0].shape)} and "
                f"{d.text(piece.shape)} at index {i}."
            )
    return np.concatenate(pieces), np.array([len(p) for p in pieces], np.int64)


def _piece(held: TensorList, dims: Dims, index: int, item: Any, leading: Sequence[int]) -> Array:
    if item is None:
        if dims is not None and dims[:1] == (None,):
            if index >= len(leading):
                raise invalid(
                    f"List contains uninitialized tensor at index {index} but leading_dims has "
                    f"only {len(leading)} elements. Set the element first."
                )
            dims = (int(leading[index]), *dims[1:])
        (item,) = filling(held, dims, [None], "Trying to concat an uninitialized tensor")
    if not item.ndim:
        raise invalid(
            f"Concat saw a scalar shape at index {index} but requires at least vectors. Use stack."
        )
    return item


@host_kernel(CONCAT, limit=LARGE)
def _concat(input_handle: Any, *, element_dtype: DType, element_shape: Dims) -> Any:
    return _joined(list_of(input_handle, element_dtype), element_shape, ())


@host_kernel(CONCAT_V2, limit=LARGE)
def _concat_v2(
    input_handle: Any, element_shape: Array, leading_dims: Array, *, element_dtype: DType
) -> Any:
    return _joined(list_of(input_handle, element_dtype), dims_of(element_shape), leading_dims)


def _concat_stacked(ctx: TraceContext, held: StackedList, wanted: Any) -> Any:
    held = rows_of(ctx, held, wanted)
    shape = held.rows.shape
    if not isinstance(held.length, int) or len(shape) < 2:
        raise NotStatic(ctx.op_key, "the length of a list is needed to join its elements")
    flat = held.rows[: held.length].reshape((held.length * shape[1], *shape[2:]))
    return flat, np.full(held.length, shape[1], np.int64)


@compiled_kernel(CONCAT, types=ELEMENTS)
def _concat_compiled(ctx: TraceContext, input_handle: Any, *, element_shape: Dims) -> Any:
    return _concat_stacked(ctx, stacked_of(ctx, input_handle), shape_input(element_shape))


@compiled_kernel(CONCAT_V2, types=ELEMENTS)
def _concat_v2_compiled(
    ctx: TraceContext, input_handle: Any, element_shape: Any, leading_dims: Any
) -> Any:
    return _concat_stacked(ctx, stacked_of(ctx, input_handle), element_shape)


def _open_rows(grad: Any) -> Any:
    return shape_input(None if grad.dims is None else (None, *grad.dims[1:]))


def _concat_gradient(op: Any, grad: Any, _: Any) -> list[Any]:
    pieces = execute(SPLIT, (grad, _open_rows(grad), op.outputs[1]))
    return [pieces, *[None] * (len(op.inputs) - 1)]


CONCAT.gradient(_concat_gradient)
CONCAT_V2.gradient(_concat_gradient)
SPLIT = define_op(
    "TensorListSplit(tensor: element_dtype, element_shape: shape_type, lengths: int64; "
    f"{OPEN}) -> output_handle: variant",
    shape=lambda c: (c.rank_at_least(0, 1, "tensor"), c.rank(2, 1, "lengths"), ())[2],
    doc="A tensor cut along its first axis, as a list.",
)


def _check_lengths(lengths: Any, rows: int) -> None:
    """Refuses lengths that do not cut `rows` rows."""
    start = 0
    for length in lengths:
        if length < 0 or start + length > rows:
            raise invalid(
                f"Attempting to slice [{start}, {start + length}] from tensor with length {rows}. "
                "Give lengths that add up to it."
            )
        start += length
    if start != rows:
        raise invalid(
            f"Unused values in tensor. Length of tensor: {rows} Values used: {start}. Give lengths "
            "that add up to it."
        )


@host_kernel(SPLIT, limit=LARGE)
def _split(tensor: Array, element_shape: Array, lengths: Array, *, element_dtype: DType) -> Any:
    _check_lengths(lengths.tolist(), len(tensor))
    held = TensorList(element_dtype, dims_of(element_shape), [])
    ends = np.cumsum(lengths)
    pieces = [tensor[end - n : end] for n, end in zip(lengths, ends, strict=True)]
    for piece in pieces:
        check_item(held, piece)
    return TensorList(element_dtype, held.dims, pieces)


@compiled_kernel(SPLIT, types=ELEMENTS)
def _split_compiled(
    ctx: TraceContext, tensor: Any, element_shape: Any, lengths: Any, *, element_dtype: DType
) -> Any:
    if not isinstance(lengths, np.ndarray) or len(set(lengths.tolist())) != 1:
        raise NotStatic(ctx.op_key, "the pieces differ in length")
    _check_lengths(lengths.tolist(), tensor.shape[0])
    count = len(lengths)
    rows = jnp.asarray(tensor).reshape((count, int(lengths[0]), *tensor.shape[1:]))
    return StackedList(element_dtype, tuple(rows.shape[1:]), count, rows, count)


@SPLIT.gradient
def _split_gradient(op: Any, grad: Any) -> list[Any]:
    shape = _open_rows(op.inputs[0])
    found, _ = execute(CONCAT_V2, (grad, shape, op.inputs[2]), element_attrs(op))
    found.set_shape(op.inputs[0].shape)
    return [found, None, None]


CONCAT_LISTS = define_op(
    "TensorListConcatLists(input_a: variant, input_b: variant; element_dtype: type) "
    "-> output: variant",
    shape=lambda c: c.merge(c.shape(0), c.shape(1)),
    doc="The elements of one list, then those of another.",
).not_differentiable("TensorFlow's has none; concatenate the stacked tensors instead")


def each(function: Any, *values: Any) -> Any:
    """A function of single values over arrays of handles, or over single handles."""
    if not isinstance(values[0], np.ndarray):
        return function(*values)
    result = np.empty(values[0].shape, object)
    for place in np.ndindex(*values[0].shape):
        result[place] = function(*[v[place] for v in values])
    return result


@host_kernel(CONCAT_LISTS, limit=LARGE)
def _concat_lists(input_a: Any, input_b: Any, *, element_dtype: DType) -> Any:
    def both(a: Any, b: Any) -> TensorList:
        first, second = list_of(a, element_dtype), list_of(b, element_dtype)
        dims = merged(first, second.dims)
        return TensorList(element_dtype, dims, first.items + second.items, None, first.limit)

    return each(both, input_a, input_b)


def _batch_shape(c: ShapeContext) -> Dims:
    handles, rows = c.shape(0), c.rank_at_least(1, 1, "tensor")
    if handles is not None and rows is not None and not d.compatible(handles[:1], rows[:1]):
        c.fail(f"a row for each of {handles[0]} lists", f"{rows[0]} rows")
    return handles


PUSH_BACK_BATCH = define_op(
    "TensorListPushBackBatch(input_handles: variant, tensor: element_dtype; element_dtype: type) "
    "-> output_handles: variant",
    shape=_batch_shape,
    doc="Lists with a row of a tensor added to each.",
).not_differentiable("TensorFlow's has none; push to each list instead")


@host_kernel(PUSH_BACK_BATCH, limit=LARGE)
def _push_back_batch(input_handles: Any, tensor: Array, *, element_dtype: DType) -> Any:
    result = np.empty(len(tensor), object)
    for i, handle in enumerate(input_handles):
        held, row = list_of(handle, element_dtype), one_row(tensor, i)
        check_item(held, row)
        result[i] = held.with_pushed(row)
    return result


__all__ = ["each"]
