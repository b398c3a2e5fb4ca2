"""Lists of tensors made of the rows of tensors, and tensors made of lists.

Stack and FromTensor see all elements as rows, Gather and Scatter some.
"""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor_list import StackedList, TensorList
from penstock.core.traced import NotStatic, TraceContext
from penstock.ops.tensor_lists import (
    ELEMENTS,
    LARGE,
    LENGTH,
    OPEN,
    check_item,
    dims_of,
    element_dims,
    filling,
    invalid,
    item_dims,
    known_count,
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


def element_attrs(op: Any) -> dict[str, Any]:
    """The attributes that the operations of a gradient take from `op`."""
    return {"element_dtype": op.get_attr("element_dtype")}


def _row_shape(grad: Any) -> Any:
    return shape_input(None if grad.dims is None else grad.dims[1:])


def _from_rows(c: ShapeContext, rows: int, element: int) -> Dims:
    """The check of an input whose rows are elements of a given shape; the output is a list."""
    dims = c.rank_at_least(rows, 1, "tensor")
    wanted = element_dims(c, element)
    if dims is not None and not d.compatible(dims[1:], wanted):
        c.fail(
            f"rows of shape {d.text(wanted)}",
            f"a list with shape {d.text(wanted)} from a tensor with shape {d.text(dims[1:])}",
            "Give that as element_shape.",
        )
    return ()


# ---- all elements as rows ----------------------------------------------------------------------


def _stack_shape(c: ShapeContext) -> Dims:
    dims = item_dims(c, 1)
    count = c.attr("num_elements")
    return None if dims is None else (None if count < 0 else count, *dims)


STACK = define_op(
    "TensorListStack(input_handle: variant, element_shape: int32; element_dtype: type, "
    "num_elements: int = -1) -> tensor: element_dtype",
    shape=_stack_shape,
    doc="The elements as rows of a tensor.",
)


def _check_count(wanted: int, count: int) -> None:
    if wanted not in (-1, count):
        raise invalid(
            f"Operation expected a list with {wanted} elements but got a list with {count} "
            "elements. Set as many elements as the list was made for."
        )


def _rows(held: TensorList, wanted: Dims, items: list[Any], doing: str) -> Array:
    """Elements stacked."""
    if not items:
        dims = merged(held, wanted)
        if not d.is_full(dims):
            raise invalid(
                f"{doing} of an empty list with non-fully-defined element_shape: {d.text(dims)}. "
                "Give an element_shape."
            )
        assert dims is not None
        return zeros_of(held.dtype, (0, *dims))
    items = filling(held, wanted, items, f"{doing} that are uninitialized")
    shapes = {item.shape for item in items}
    if len(shapes) == 1 and d.compatible(wanted, items[0].shape):
        return joined_rows(items)
    for item in items:
        if not d.compatible(wanted, item.shape) or item.shape != items[0].shape:
            raise invalid(
                f"{doing}: expected elements of one shape {d.text(wanted)}, got "
                f"{d.text(items[0].shape)} and {d.text(item.shape)}. Use concat for pieces of "
                "different lengths."
            )
    return np.stack(items)


def joined_rows(items: list[Array]) -> Array:
    """Elements of one shape, at least one, as rows."""
    if not items[0].ndim:
        return np.stack(items)
    return np.concatenate(items).reshape(len(items), *items[0].shape)


@host_kernel(STACK, limit=LARGE)
def _stack(
    input_handle: Any, element_shape: Array, *, element_dtype: DType, num_elements: int
) -> Array:
    held = list_of(input_handle, element_dtype)
    _check_count(num_elements, held.length)
    return _rows(held, dims_of(element_shape), held.items, "Tried to stack elements")


@compiled_kernel(STACK, types=ELEMENTS)
def _stack_compiled(
    ctx: TraceContext, input_handle: Any, element_shape: Any, *, num_elements: int
) -> Any:
    held = rows_of(ctx, stacked_of(ctx, input_handle), element_shape)
    if not isinstance(held.length, int):
        raise NotStatic(ctx.op_key, "the length of a list is needed to stack it")
    if num_elements not in (-1, held.length):
        raise NotStatic(ctx.op_key, "the list has another length")
    return held.rows[: held.length]


@STACK.gradient
def _stack_gradient(op: Any, grad: Any) -> list[Any]:
    return [execute(FROM_TENSOR, (grad, _row_shape(grad))), None]


FROM_TENSOR = define_op(
    f"TensorListFromTensor(tensor: element_dtype, element_shape: shape_type; {OPEN}) "
    "-> output_handle: variant",
    shape=lambda c: _from_rows(c, 0, 1),
    doc="The rows of a tensor as a list.",
)


@host_kernel(FROM_TENSOR, limit=LARGE)
def _from_tensor(tensor: Array, element_shape: Array, *, element_dtype: DType) -> Any:
    _from_rows_now(tensor, dims_of(element_shape))
    dims = tensor.shape[1:]
    return TensorList(element_dtype, dims, rows_as_items(tensor))


def rows_as_items(tensor: Array) -> list[Array]:
    """The rows of a tensor, as elements."""
    return list(tensor) if tensor.ndim > 1 else [one_row(tensor, i) for i in range(len(tensor))]


def one_row(tensor: Array, index: int) -> Array:
    """A row of a tensor, as an element."""
    return np.asarray(tensor[index], tensor.dtype)


def _from_rows_now(tensor: Array, wanted: Dims) -> None:
    if not d.compatible(wanted, tensor.shape[1:]):
        raise invalid(
            f"Specified a list with shape {d.text(wanted)} from a tensor with shape "
            f"{d.text(tensor.shape[1:])}. Give that as element_shape."
        )


@compiled_kernel(FROM_TENSOR, types=ELEMENTS)
def _from_tensor_compiled(tensor: Any, element_shape: Any, *, element_dtype: DType) -> Any:
    count = tensor.shape[0]
    return StackedList(element_dtype, tuple(tensor.shape[1:]), count, jnp.asarray(tensor), count)


@FROM_TENSOR.gradient
def _from_tensor_gradient(op: Any, grad: Any) -> list[Any]:
    shape = _row_shape(op.inputs[0])
    found = execute(STACK, (grad, shape), element_attrs(op))
    found.set_shape(op.inputs[0].shape)
    return [found, None]


# ---- some elements as rows ---------------------------------------------------------------------


def _gather_shape(c: ShapeContext) -> Dims:
    dims, rows = item_dims(c, 2), c.rank(1, 1)
    assert rows is not None
    return None if dims is None else (*rows, *dims)


GATHER = define_op(
    "TensorListGather(input_handle: variant, indices: int32, element_shape: int32; element_dtype: "
    "type) -> values: element_dtype",
    shape=_gather_shape,
    fallible=True,
    doc="Some elements as rows of a tensor.",
)


@host_kernel(GATHER, limit=LARGE)
def _gather(
    input_handle: Any, indices: Array, element_shape: Array, *, element_dtype: DType
) -> Array:
    held = list_of(input_handle, element_dtype)
    places = indices.tolist()
    for index in places:
        if not 0 <= index < held.length:
            raise invalid(
                f"Index {index} out of range; list only has {held.length} elements. Use indices "
                f"from 0 to {held.length - 1}."
            )
    items = held.items
    chosen = [items[i] for i in places]
    return _rows(held, dims_of(element_shape), chosen, "Tried to gather elements")


@compiled_kernel(GATHER, types=ELEMENTS)
def _gather_compiled(ctx: TraceContext, input_handle: Any, indices: Any, element_shape: Any) -> Any:
    held = rows_of(ctx, stacked_of(ctx, input_handle), element_shape)
    length = held.length
    if indices.shape[0] and held.capacity == 0:
        raise NotStatic(ctx.op_key, "the list is empty")
    outside = (indices < 0) | (indices >= length)
    if indices.shape[0]:
        worst = jnp.asarray(indices)[jnp.argmax(outside)]
        ctx.check(
            ~jnp.asarray(outside).any(),
            errors.InvalidArgumentError,
            lambda i, n: (
                f"Index {int(i)} out of range; list only has {int(n)} elements. Use "
                f"indices from 0 to {int(n) - 1}."
            ),
            worst,
            jnp.asarray(length, jnp.int32),
        )
    return jnp.take(held.rows, jnp.asarray(indices), axis=0, mode="clip")


@GATHER.gradient
def _gather_gradient(op: Any, grad: Any) -> list[Any]:
    count = execute(LENGTH, (op.inputs[0],))
    rows = execute("UnsortedSegmentSum", (grad, op.inputs[1], count))
    return [execute(FROM_TENSOR, (rows, _row_shape(grad))), None, None]


SCATTER = define_op(
    "TensorListScatter(tensor: element_dtype, indices: int32, element_shape: shape_type; "
    f"{OPEN}) -> output_handle: variant",
    shape=lambda c: _from_rows(c, 0, 2),
    doc="A list with rows of a tensor at indices.",
)
SCATTER_V2 = define_op(
    "TensorListScatterV2(tensor: element_dtype, indices: int32, element_shape: shape_type, "
    f"num_elements: int32; {OPEN}) -> output_handle: variant",
    shape=lambda c: _from_rows(c, 0, 2),
    doc="A list of a length (-1: as long as needed) with rows of a tensor at indices.",
)
SCATTER_INTO = define_op(
    "TensorListScatterIntoExistingList(input_handle: variant, tensor: element_dtype, indices: "
    "int32; element_dtype: type) -> output_handle: variant",
    shape=lambda c: (c.rank_at_least(1, 1, "tensor"), ())[1],
    doc="The list with rows of a tensor at indices.",
)


def _scattered(held: TensorList, tensor: Array, indices: Array, grows: bool) -> TensorList:
    """The list with rows at indices."""
    if len(indices) != len(tensor):
        raise invalid(
            f"Invalid number of rows in input tensor. Expected: {len(indices)} Actual: "
            f"{len(tensor)}. Give one index for each row."
        )
    if len(indices) and indices.min() < 0:
        raise invalid(
            "Indices in TensorListScatter must all be non-negative, got "
            f"{int(indices.min())}. Count from 0."
        )
    most = int(indices.max()) + 1 if len(indices) else 0
    if most > held.length:
        if not grows:
            raise invalid(
                f"TensorListScatter: Trying to scatter at index {most - 1} in list with size "
                f"{held.length}. Give a larger num_elements."
            )
        held = held.resized(most)
    items = held.items
    rows = rows_as_items(tensor)
    if rows:
        check_item(held, rows[0])
    for index, row in zip(indices.tolist(), rows, strict=True):
        items[index] = row
    return TensorList(held.dtype, held.dims, items, None, held.limit)


@host_kernel(SCATTER, limit=LARGE)
def _scatter(
    tensor: Array, indices: Array, element_shape: Array, *, element_dtype: DType
) -> TensorList:
    return _scattered(TensorList(element_dtype, dims_of(element_shape), []), tensor, indices, True)


@host_kernel(SCATTER_V2, limit=LARGE)
def _scatter_v2(
    tensor: Array,
    indices: Array,
    element_shape: Array,
    num_elements: Array,
    *,
    element_dtype: DType,
) -> TensorList:
    count = int(num_elements)
    held = TensorList(element_dtype, dims_of(element_shape), [None] * max(count, 0))
    return _scattered(held, tensor, indices, count < 0)


@host_kernel(SCATTER_INTO, limit=LARGE)
def _scatter_into(
    input_handle: Any, tensor: Array, indices: Array, *, element_dtype: DType
) -> TensorList:
    return _scattered(list_of(input_handle, element_dtype), tensor, indices, True)


def _known(ctx: TraceContext, indices: Any) -> np.ndarray[Any, Any]:
    if not isinstance(indices, np.ndarray):
        raise NotStatic(ctx.op_key, "the indices of a scatter say how long the list is")
    if len(indices) and indices.min() < 0:
        raise NotStatic(ctx.op_key, "an index is negative")
    return indices


def _write_rows(ctx: TraceContext, held: StackedList, tensor: Any, indices: Any) -> StackedList:
    length = held.length
    if not isinstance(length, int) or held.roomy or len(indices) != tensor.shape[0]:
        raise NotStatic(ctx.op_key, "the length of a list is needed to scatter into it")
    held = held.filled(tensor.shape[1:])
    if held.rows.shape[1:] != tuple(tensor.shape[1:]):
        raise NotStatic(ctx.op_key, "the elements of a list differ in shape")
    count = max(length, int(indices.max()) + 1 if len(indices) else 0)
    held = held.with_room(count, count, False)
    rows = jnp.asarray(held.rows)
    last = {int(index): position for position, index in enumerate(indices)}
    if last:
        at, rows_of_tensor = np.array(list(last)), np.array(list(last.values()))
        rows = rows.at[at].set(jnp.asarray(tensor)[rows_of_tensor])
    return held.having(rows=rows)


@compiled_kernel(SCATTER_V2, types=ELEMENTS)
def _scatter_v2_compiled(
    ctx: TraceContext, tensor: Any, indices: Any, element_shape: Any, num_elements: Any,
    *, element_dtype: DType,
) -> Any:  # fmt: skip
    indices, count = _known(ctx, indices), known_count(ctx, num_elements, "the length")
    if count >= 0 and len(indices) and indices.max() >= count:
        raise NotStatic(ctx.op_key, "an index is outside of the list")
    start = StackedList(element_dtype, None, max(count, 0), None, max(count, 0))
    return _write_rows(ctx, start, tensor, indices)


@compiled_kernel(SCATTER, types=ELEMENTS)
def _scatter_compiled(
    ctx: TraceContext, tensor: Any, indices: Any, element_shape: Any, *, element_dtype: DType
) -> Any:
    start = StackedList(element_dtype, None, 0, None, 0)
    return _write_rows(ctx, start, tensor, _known(ctx, indices))


@compiled_kernel(SCATTER_INTO, types=ELEMENTS)
def _scatter_into_compiled(ctx: TraceContext, input_handle: Any, tensor: Any, indices: Any) -> Any:
    return _write_rows(ctx, stacked_of(ctx, input_handle), tensor, _known(ctx, indices))


def _rows_at(op: Any, grad: Any, tensor: Any, indices: Any) -> Any:
    return execute(GATHER, (grad, indices, _row_shape(tensor)), element_attrs(op))


@SCATTER.gradient
def _scatter_gradient(op: Any, grad: Any) -> list[Any]:
    return [_rows_at(op, grad, op.inputs[0], op.inputs[1]), None, None]


@SCATTER_V2.gradient
def _scatter_v2_gradient(op: Any, grad: Any) -> list[Any]:
    return [_rows_at(op, grad, op.inputs[0], op.inputs[1]), None, None, None]


@SCATTER_INTO.gradient
def _scatter_into_gradient(op: Any, grad: Any) -> list[Any]:
    _, tensor, indices = op.inputs
    zeros = execute("ZerosLike", (tensor,))
    rest = execute(SCATTER_INTO, (grad, zeros, indices))
    rest = execute("TensorListResize", (rest, execute(LENGTH, (op.inputs[0],))))
    return [rest, _rows_at(op, grad, tensor, indices), None]


__all__ = ["element_attrs", "one_row"]
