"""Sums of lists of tensors: what gradients of single elements add to the gradient of their list.

They do so without a list for each of them.
"""

from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel
from penstock.core.lazy import jax
from penstock.core.op_def import define_op
from penstock.core.traced import TraceContext
from penstock.graph.standard_forms import standard_form
from penstock.ops.tensor_lists import (
    ELEMENTS,
    GET_ITEM,
    LARGE,
    SET_ITEM,
    fitting,
    list_of,
    scalar_input,
    shape_input,
    stacked_of,
)
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray, jax.Array or a tracer

ADD_ITEM = define_op(
    "PenstockTensorListAddItem(input_handle: variant, index: int32, item: element_dtype; "
    "element_dtype: type) -> output_handle: variant",
    shape=scalar_input(1),
    doc="The list with something added to the element at an index.",
)


@host_kernel(ADD_ITEM, limit=LARGE)
def _add_item(input_handle: Any, index: Array, item: Array, *, element_dtype: DType) -> Any:
    held = list_of(input_handle, element_dtype)
    old = held[int(index)]
    return held.with_item(int(index), item if old is None else old + item)


@compiled_kernel(ADD_ITEM, types=ELEMENTS)
def _add_item_compiled(ctx: TraceContext, input_handle: Any, index: Any, item: Any) -> Any:
    held = fitting(ctx, stacked_of(ctx, input_handle), item)
    if held.capacity == 0:
        return held
    at = int(index) if isinstance(index, np.ndarray) else index
    old = jax.lax.dynamic_index_in_dim(held.rows, at, 0, keepdims=False)
    return held.having(rows=jax.lax.dynamic_update_index_in_dim(held.rows, old + item, at, 0))


@standard_form(ADD_ITEM)
def _add_item_in_files(handle: Any, index: Any, item: Any, *, element_dtype: DType) -> Any:
    attrs = {"element_dtype": element_dtype}
    old = execute(GET_ITEM, (handle, index, execute("Shape", (item,))), attrs)  # 0 if not set
    return execute(SET_ITEM, (handle, index, execute("AddV2", (old, item))))


@ADD_ITEM.gradient
def _add_item_gradient(op: Any, grad: Any) -> list[Any]:
    attrs = {"element_dtype": op.get_attr("element_dtype")}
    dims = shape_input(op.inputs[2].dims)
    return [grad, None, execute(GET_ITEM, (grad, op.inputs[1], dims), attrs)]
