"""Lists of tensors as values: making them, and changing and reading single elements.

A list is a variant tensor. On the host it holds a `TensorList`, in a compiled region a
`StackedList`; kernels for both are side by side. Operations that turn lists into tensors and back
are in `tensor_list_stacks` and `tensor_list_joins`.
"""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel
from penstock.core.lazy import jax, jnp
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor_list import StackedList, TensorList, as_list
from penstock.core.traced import NotStatic, TraceContext
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any
LARGE = 1 << 62  # eager calls stay on the host: their lists are there
NUMERIC = (
    *(dt.float32, dt.float64, dt.float16, dt.bfloat16, dt.int8, dt.int16, dt.int32, dt.int64),
    *(dt.uint8, dt.uint16, dt.uint32, dt.uint64, dt.bool_, dt.complex64, dt.complex128),
)
ELEMENTS = {"element_dtype": NUMERIC}
OPEN = "element_dtype: type, shape_type: {int32, int64}"


# ---- shapes of elements ------------------------------------------------------------------------


def dims_of(value: Any) -> Dims:
    """An `element_shape` input: a vector with -1 for what is not known, or the scalar -1."""
    if value.ndim == 0:
        return None
    return tuple(None if n < 0 else int(n) for n in value)


def element_dims(c: ShapeContext, index: int) -> Dims:
    """What is known of flat input `index`, an `element_shape`, when the graph is built."""
    dims = c.shape(index)
    if dims is not None and len(dims) > 1:
        c.fail("an element_shape of rank 0 or 1", f"shape {d.text(dims)}", "Give [-1, 3], say.")
    return None if dims is None else c.shape_value(index)  # a scalar -1 is an unknown rank


def item_dims(c: ShapeContext, index: int) -> Dims:
    """What is known of an element of list input 0: by its list, and by flat input `index`."""
    return c.merge(c.variable_shape(0), element_dims(c, index))


def shape_input(dims: Dims) -> Any:
    """Dimensions as an `element_shape` input."""
    if dims is None:
        return np.int32(-1)
    return np.array([-1 if n is None else n for n in dims], np.int32)


def scalar_input(index: int) -> Any:
    """The rule of a list or a number whose flat input `index` is a scalar."""

    def rule(c: ShapeContext) -> Dims:
        c.rank(index, 0)
        return ()

    return rule


def _made_shape(c: ShapeContext) -> Dims:
    """The rule of a new list: input 0 is an element's shape, input 1 a scalar."""
    c.rank(1, 0)
    element_dims(c, 0)
    return ()


# ---- help for host kernels ---------------------------------------------------------------------


def invalid(text: str) -> errors.InvalidArgumentError:
    """The error for inputs that do not fit."""
    return errors.InvalidArgumentError(None, None, text)


def list_of(value: Any, dtype: DType | None = None) -> TensorList:
    """The host's form of a list input, checked.

    Raises:
      InvalidArgumentError: it is no list, or one of another dtype.
    """
    if isinstance(value, np.ndarray) and not value.shape:
        value = value.item()  # one of an array of lists
    found = as_list(value)
    if not isinstance(found, TensorList):
        raise invalid(f"Input handle is not a list. Expected a TensorList, got {value!r}.")
    if dtype is not None and found.dtype is not dtype:
        raise invalid(
            f"Invalid data types; op elements {dtype.name} but list elements {found.dtype.name}. "
            "Use the dtype that the list was made with."
        )
    return found


def check_item(held: TensorList, item: Array) -> None:
    """Refuses an element of a shape that the list does not take.

    Raises:
      InvalidArgumentError: the shape does not fit.
    """
    shape = getattr(item, "shape", ())
    if not d.compatible(held.dims, shape):
        raise invalid(
            "Tried to set a tensor with incompatible shape at a list index. Item element shape: "
            f"{d.text(shape)} list shape: {d.text(held.dims)}. Reshape it, or make the list with a "
            "more general element_shape."
        )


def merged(held: TensorList, wanted: Dims) -> Dims:
    """The shape that elements have, from the list, its elements and what was asked for.

    Raises:
      InvalidArgumentError: these contradict each other.
    """
    if not d.compatible(held.dims, wanted):
        raise invalid(
            f"Incompatible shapes: expected elements of shape {d.text(wanted)}, got a list of "
            f"elements {d.text(held.dims)}."
        )
    return d.merge(held.dims, wanted)


def zeros_of(dtype: DType, dims: Any) -> Array:
    """What stands for an element that was never set."""
    if dtype is dt.string:
        return np.full(dims, b"", object)
    return np.zeros(dims, dtype.numpy_dtype)


def filling(held: TensorList, wanted: Dims, items: list[Any], doing: str) -> list[Any]:
    """`items` with zeros for those never set, whose shape that of the others says.

    Raises:
      InvalidArgumentError: no shape is known for them.
    """
    if all(item is not None for item in items):
        return items
    dims = merged(held, wanted)
    for item in held.items:
        if item is not None and d.compatible(dims, item.shape):
            dims = d.merge(dims, item.shape)
    if not d.is_full(dims):
        raise invalid(
            f"{doing} but element_shape is not fully defined: {d.text(dims)} and no list element "
            "is set. Set an element first, or give an element_shape."
        )
    return [zeros_of(held.dtype, dims) if item is None else item for item in items]


# ---- help for compiled kernels -----------------------------------------------------------------


def known_count(ctx: TraceContext, value: Any, what: str) -> int:
    """A scalar whose value must be known while a region is traced."""
    if not isinstance(value, np.ndarray):
        raise NotStatic(ctx.op_key, f"{what} of a list is needed to compile the operation")
    return int(value)


def stacked_of(ctx: TraceContext, value: Any) -> StackedList:
    """A list input of a compiled kernel."""
    if not isinstance(value, StackedList):
        raise NotStatic(ctx.op_key, "a list is on the host")
    return value


def rows_of(ctx: TraceContext, held: StackedList, wanted: Any) -> StackedList:
    """The list with rows: those it has, else zeros of a shape that is known."""
    if held.rows is not None:
        return held
    dims = dims_of(wanted) if isinstance(wanted, np.ndarray) else None
    dims = d.merge(held.dims, dims) if d.compatible(held.dims, dims) else held.dims
    if not d.is_full(dims):
        raise NotStatic(ctx.op_key, "the shape of a list's elements is needed to compile it")
    assert dims is not None
    return held.filled([n or 0 for n in dims])


def check_index(ctx: TraceContext, held: StackedList, index: Any, doing: str) -> None:
    """The check that an index is one of the list's."""
    if ctx.attrs.get("_in_range"):
        return  # the loop that asks counts to the length
    length = held.length
    if isinstance(index, np.ndarray) and isinstance(length, int):
        if not 0 <= int(index) < length:
            raise NotStatic(ctx.op_key, "the index is outside of the list")
        return
    ctx.check(
        (index >= 0) & (index < length),
        errors.InvalidArgumentError,
        lambda i, n: (
            f"Trying to {doing} element {int(i)} in a list with {int(n)} elements. "
            f"Use an index from 0 to {int(n) - 1}."
        ),
        np.asarray(index) if isinstance(index, np.ndarray) else index,
        np.int32(length) if isinstance(length, int) else length,
    )


# ---- making lists ------------------------------------------------------------------------------

EMPTY = define_op(
    f"EmptyTensorList(element_shape: shape_type, max_num_elements: int32; {OPEN}) "
    "-> handle: variant",
    shape=_made_shape,
    doc="A list without elements.",
).not_differentiable("its inputs are sizes")


@host_kernel(EMPTY, limit=LARGE)
def _empty(element_shape: Array, max_num_elements: Array, *, element_dtype: DType) -> Any:
    return TensorList(element_dtype, dims_of(element_shape), [], limit=int(max_num_elements))


@compiled_kernel(EMPTY, types=ELEMENTS)
def _empty_compiled(
    ctx: TraceContext, element_shape: Array, max_num_elements: Array, *, element_dtype: DType
) -> Any:
    if known_count(ctx, max_num_elements, "the bound") >= 0:
        raise NotStatic(ctx.op_key, "lists with a bound are checked on the host")
    dims = dims_of(element_shape) if isinstance(element_shape, np.ndarray) else None
    return StackedList(element_dtype, dims, 0, None, 0)


RESERVE = define_op(
    f"TensorListReserve(element_shape: shape_type, num_elements: int32; {OPEN}) -> handle: variant",
    shape=_made_shape,
    doc="A list of elements that are not set yet.",
).not_differentiable("its inputs are sizes")


@host_kernel(RESERVE, limit=LARGE)
def _reserve(element_shape: Array, num_elements: Array, *, element_dtype: DType) -> Any:
    count = int(num_elements)
    if count < 0:
        raise invalid(
            f"The num_elements to reserve must be a non negative number, but got {count}. Give 0 "
            "for a list that grows."
        )
    return TensorList(element_dtype, dims_of(element_shape), [None] * count)


@compiled_kernel(RESERVE, types=ELEMENTS)
def _reserve_compiled(
    ctx: TraceContext, element_shape: Array, num_elements: Array, *, element_dtype: DType
) -> Any:
    count = known_count(ctx, num_elements, "the length")
    if count < 0:
        raise NotStatic(ctx.op_key, "the length is negative")
    dims = dims_of(element_shape) if isinstance(element_shape, np.ndarray) else None
    return StackedList(element_dtype, dims, count, None, count)


# ---- the end of a list -------------------------------------------------------------------------

PUSH_BACK = define_op(
    "TensorListPushBack(input_handle: variant, tensor: element_dtype; element_dtype: type) "
    "-> output_handle: variant",
    shape=scalar_input(0),
    doc="The list with one more element at its end.",
)


@host_kernel(PUSH_BACK, limit=LARGE)
def _push_back(input_handle: Any, tensor: Array, *, element_dtype: DType) -> Any:
    held = list_of(input_handle, element_dtype)
    check_item(held, tensor)
    if held.limit >= 0 and held.length >= held.limit:
        raise invalid(
            f"Tried to push item into a full list. list size: {held.length} max_num_elements: "
            f"{held.limit}. Make the list with a larger bound."
        )
    return held.with_pushed(tensor)


@compiled_kernel(PUSH_BACK, types=ELEMENTS)
def _push_back_compiled(ctx: TraceContext, input_handle: Any, tensor: Array) -> Any:
    held = fitting(ctx, stacked_of(ctx, input_handle), tensor)
    length = held.length
    if isinstance(length, int) and length == held.capacity and not held.roomy:
        rows = jnp.concatenate([held.rows, jnp.asarray(tensor)[None]])
        return held.having(rows=rows, capacity=length + 1, length=length + 1)
    if not isinstance(length, int) and not held.roomy:
        raise NotStatic(ctx.op_key, "a list grows without a known bound")
    rows = jax.lax.dynamic_update_index_in_dim(held.rows, tensor, length, 0)
    return held.having(rows=rows, length=length + 1)


def fitting(ctx: TraceContext, held: StackedList, item: Array) -> StackedList:
    """The list with rows of the shape of `item`."""
    if not d.compatible(held.dims, item.shape):
        raise NotStatic(ctx.op_key, "an element has another shape than the list takes")
    held = held.filled(item.shape)
    if held.rows.shape[1:] != tuple(item.shape):
        raise NotStatic(ctx.op_key, "the elements of a list differ in shape")
    return held


@PUSH_BACK.gradient
def _push_back_gradient(op: Any, grad: Any) -> list[Any]:
    dims = op.inputs[1].dims
    attrs = {"element_dtype": op.get_attr("element_dtype")}
    return list(execute(POP_BACK, (grad, shape_input(dims)), attrs))


def _popped_shape(c: ShapeContext) -> list[Dims]:
    held, wanted = c.variable_shape(0), element_dims(c, 1)
    return [c.rank(0, 0), wanted if held is None else held]  # the kernel does not look at both


POP_BACK = define_op(
    "TensorListPopBack(input_handle: variant, element_shape: int32; element_dtype: type) "
    "-> (output_handle: variant, tensor: element_dtype)",
    shape=_popped_shape,
    fallible=True,
    doc="The list without its last element, and that element.",
)


@host_kernel(POP_BACK, limit=LARGE)
def _pop_back(input_handle: Any, element_shape: Array, *, element_dtype: DType) -> Any:
    held = list_of(input_handle, element_dtype)
    if held.length == 0:
        raise invalid("Trying to pop from an empty list. Push an element first.")
    wanted = dims_of(element_shape)
    (item,) = filling(held, wanted, [held[held.length - 1]], "Trying to read an uninitialized one")
    return held.without_last(), item


@compiled_kernel(POP_BACK, types=ELEMENTS)
def _pop_back_compiled(ctx: TraceContext, input_handle: Any, element_shape: Any) -> Any:
    held = rows_of(ctx, stacked_of(ctx, input_handle), element_shape)
    length = held.length
    if isinstance(length, int) and length == 0:
        raise NotStatic(ctx.op_key, "the list is empty")
    if not isinstance(length, int):
        ctx.check(
            length > 0,
            errors.InvalidArgumentError,
            lambda: "Trying to pop from an empty list. Push an element first.",
        )
    item = jax.lax.dynamic_index_in_dim(held.rows, length - 1, 0, keepdims=False)
    return held.having(length=length - 1), item


@POP_BACK.gradient
def _pop_back_gradient(op: Any, grad_list: Any, grad_item: Any) -> list[Any]:
    if grad_list is None:
        grad_list = execute("ZerosLike", (op.outputs[0],))
    if grad_item is None:
        grad_item = execute("ZerosLike", (op.outputs[1],))
    return [execute(PUSH_BACK, (grad_list, grad_item)), None]


# ---- single elements ---------------------------------------------------------------------------

SET_ITEM = define_op(
    "TensorListSetItem(input_handle: variant, index: int32, item: element_dtype; element_dtype: "
    "type, resize_if_index_out_of_bounds: bool = False) -> output_handle: variant",
    shape=scalar_input(1),
    fallible=True,
    doc="The list with another element at an index.",
)


@host_kernel(SET_ITEM, limit=LARGE)
def _set_item(
    input_handle: Any,
    index: Array,
    item: Array,
    *,
    element_dtype: DType,
    resize_if_index_out_of_bounds: bool,
) -> Any:
    held = list_of(input_handle, element_dtype)
    check_item(held, item)
    at = int(index)
    if at >= held.length and resize_if_index_out_of_bounds:
        held = held.with_pushed(None) if at == held.length else held.resized(at + 1)
    if not 0 <= at < held.length:
        raise invalid(
            f"Trying to modify element {at} in a list with {held.length} elements. Use an index "
            f"from 0 to {held.length - 1}."
        )
    return held.with_item(at, item)


@compiled_kernel(SET_ITEM, types=ELEMENTS)
def _set_item_compiled(
    ctx: TraceContext, input_handle: Any, index: Any, item: Any, *,
    resize_if_index_out_of_bounds: bool,
) -> Any:  # fmt: skip
    held = fitting(ctx, stacked_of(ctx, input_handle), item)
    if resize_if_index_out_of_bounds:
        held = _grown(ctx, held, index)
    else:
        check_index(ctx, held, index, "modify")
    if held.capacity == 0:
        return held  # in a loop without rounds, or the check fails
    at = int(index) if isinstance(index, np.ndarray) else index
    return held.having(rows=jax.lax.dynamic_update_index_in_dim(held.rows, item, at, 0))


def _grown(ctx: TraceContext, held: StackedList, index: Any) -> StackedList:
    """The list with an element at `index`, where that is known."""
    length = held.length
    if isinstance(length, int) and isinstance(index, np.ndarray) and int(index) >= 0:
        count = max(length, int(index) + 1)
        return held.with_room(max(count, held.capacity), count, held.roomy)
    raise NotStatic(ctx.op_key, "a list may grow to any length")


@SET_ITEM.gradient
def _set_item_gradient(op: Any, grad: Any) -> list[Any]:
    index, item = op.inputs[1], op.inputs[2]
    attrs = {"element_dtype": op.get_attr("element_dtype")}
    if op.attrs.get("_in_range"):  # nobody else writes the element: its gradient may stay there
        marked = {**attrs, "_in_range": True}
        return [grad, None, execute(GET_ITEM, (grad, index, shape_input(item.dims)), marked)]
    read = execute(GET_ITEM, (grad, index, shape_input(item.dims)), attrs)
    rest = execute(SET_ITEM, (grad, index, execute("ZerosLike", (item,))), attrs)
    if op.get_attr("resize_if_index_out_of_bounds"):
        rest = execute(RESIZE, (rest, execute(LENGTH, (op.inputs[0],))))
    return [rest, None, read]


GET_ITEM = define_op(
    "TensorListGetItem(input_handle: variant, index: int32, element_shape: Tshape; element_dtype: "
    "type, Tshape: {int32, int64} = int32) -> item: element_dtype",
    shape=lambda c: (c.rank(1, 0), item_dims(c, 2))[1],
    fallible=True,
    doc="The element at an index.",
)


@host_kernel(GET_ITEM, limit=LARGE)
def _get_item(
    input_handle: Any, index: Array, element_shape: Array, *, element_dtype: DType
) -> Any:
    held = list_of(input_handle, element_dtype)
    at = int(index)
    if not 0 <= at < held.length:
        raise invalid(
            f"Trying to access element {at} in a list with {held.length} elements. Use an index "
            f"from 0 to {held.length - 1}."
        )
    item = held[at]
    if item is not None:
        return item
    return filling(held, dims_of(element_shape), [item], "Trying to read an uninitialized tensor")[
        0
    ]


@compiled_kernel(GET_ITEM, types=ELEMENTS)
def _get_item_compiled(ctx: TraceContext, input_handle: Any, index: Any, element_shape: Any) -> Any:
    held = rows_of(ctx, stacked_of(ctx, input_handle), element_shape)
    check_index(ctx, held, index, "access")
    if held.capacity == 0:
        return jnp.zeros(held.rows.shape[1:], held.rows.dtype)
    at = int(index) if isinstance(index, np.ndarray) else index
    return jax.lax.dynamic_index_in_dim(held.rows, at, 0, keepdims=False)


@GET_ITEM.gradient
def _get_item_gradient(op: Any, grad: Any) -> list[Any]:
    attrs = {"element_dtype": op.get_attr("element_dtype")}
    zeros = like(op.inputs[0], attrs["element_dtype"])
    marks = {"_in_range": True} if op.attrs.get("_in_range") else {}
    return [execute(SET_ITEM, (zeros, op.inputs[1], grad), {**attrs, **marks}), None, None]


def like(handle: Any, dtype: DType) -> Any:
    """A list of the length of another one, with elements that are not set."""
    shape = execute(ELEMENT_SHAPE, (handle,), {"shape_type": dt.int32})
    return execute(RESERVE, (shape, execute(LENGTH, (handle,))), {"element_dtype": dtype})


# ---- the size of a list ------------------------------------------------------------------------

LENGTH = define_op(
    "TensorListLength(input_handle: variant) -> length: int32",
    shape=scalar_input(0),
    doc="The number of elements.",
).not_differentiable("it is an integer")


@host_kernel(LENGTH, limit=LARGE)
def _length(input_handle: Any) -> Array:
    return np.int32(list_of(input_handle).length)


@compiled_kernel(LENGTH)
def _length_compiled(ctx: TraceContext, input_handle: Any) -> Any:
    length = stacked_of(ctx, input_handle).length
    return np.asarray(length, np.int32) if isinstance(length, int) else length


RESIZE = define_op(
    "TensorListResize(input_handle: variant, size: int32) -> output_handle: variant",
    shape=scalar_input(1),
    doc="The list cut to a length, or with elements added that are not set.",
)


@host_kernel(RESIZE, limit=LARGE)
def _resize(input_handle: Any, size: Array) -> Any:
    if int(size) < 0:
        raise invalid(
            f"TensorListSlice expects size to be non-negative. Got: {int(size)}. Give 0 or more."
        )
    return list_of(input_handle).resized(int(size))


@compiled_kernel(RESIZE)
def _resize_compiled(ctx: TraceContext, input_handle: Any, size: Any) -> Any:
    held = stacked_of(ctx, input_handle)
    count = known_count(ctx, size, "the new length")
    if count < 0 or not isinstance(held.length, int) or held.roomy:
        raise NotStatic(ctx.op_key, "the length of a list is needed to change it")
    kept = None if held.rows is None else held.rows[: min(count, held.length)]
    cut = held.having(rows=kept, capacity=min(count, held.length), length=count)
    return cut.with_room(count, count, False)


@RESIZE.gradient
def _resize_gradient(op: Any, grad: Any) -> list[Any]:
    return [execute(RESIZE, (grad, execute(LENGTH, (op.inputs[0],)))), None]


def _length_of_shape(c: ShapeContext) -> Dims:
    held = c.variable_shape(0)
    return None if held is None else (len(held),)


ELEMENT_SHAPE = define_op(
    "TensorListElementShape(input_handle: variant; shape_type: {int32, int64}) "
    "-> element_shape: shape_type",
    shape=_length_of_shape,
    doc="What is known of the shape of the elements, -1 for what is not.",
).not_differentiable("it is an integer vector")


@host_kernel(ELEMENT_SHAPE, limit=LARGE)
def _element_shape(input_handle: Any, *, shape_type: DType) -> Array:
    return shape_input(list_of(input_handle).dims).astype(shape_type.numpy_dtype)


@compiled_kernel(ELEMENT_SHAPE)
def _element_shape_compiled(ctx: TraceContext, input_handle: Any, *, shape_type: DType) -> Any:
    return shape_input(stacked_of(ctx, input_handle).dims).astype(shape_type.numpy_dtype)
