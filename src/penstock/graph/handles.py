"""What a handle, a tensor of dtype resource, says of the variable that it refers to.

A symbolic handle carries `_handle_data`: the variable's dtype and static shape. Those who make
operations note it here, and shape rules ask here. A list of tensors, a variant, carries the dtype
and shape of its elements; a table's handle says the shape of its values.
"""

from collections.abc import Sequence
from typing import Any

from penstock.core.op_def import OpDef
from penstock.core.tensor import EagerTensor, Tensor
from penstock.graph.list_shapes import RULES as LISTS
from penstock.graph.operation import Operation
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

_HAND_ON = frozenset({"Identity", "Switch", "Enter", "Exit"})  # handles, the first input's


def set_handle_data(op: Operation) -> None:
    """Notes which variable an operation's handle refers to: its dtype and shape.

    What states both of its own output, as a placeholder does, says nothing of a variable.
    """
    outputs = op._outputs
    if not outputs or outputs[0].dtype is not dt.resource:
        if op.type in LISTS and outputs[0].dtype is dt.variant:
            outputs[0]._handle_data = (_element_dtype(op), LISTS[op.type](op))
        return
    if op.type in _HAND_ON:
        for output in outputs:
            output._handle_data = getattr(op.inputs[0], "_handle_data", None)
    if "shape" not in op.attrs:
        return
    dtype = op.attrs.get("dtype")
    if dtype is not None and dtype is not dt.resource:
        outputs[0]._handle_data = (dtype, op.attrs["shape"])


_OF_GENERATORS = frozenset(  # their dtype is of the numbers, the state's is always int64
    {
        *("StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniform"),
        "PenstockStatefulStandardNormal",
        *("StatefulUniformFullInt", "StatefulUniformInt", "StatefulRandomBinomial"),
    }
)


def check_variable_dtypes(op: OpDef, tensors: Sequence[Tensor], attrs: dict[str, Any]) -> None:
    """Refuses an operation of another dtype than that of the variable or list it is on.

    Raises:
      ValueError: the dtypes differ.
    """
    if "element_dtype" in attrs:
        _check_list_dtype(op, tensors, attrs["element_dtype"])
        return
    wanted = attrs.get("dtype", attrs.get("T"))
    if wanted.__class__ is not dt.DType or wanted is dt.resource:
        return
    if op.name in _OF_GENERATORS:
        return
    for tensor in tensors:
        data = getattr(tensor, "_handle_data", None) if tensor.dtype is dt.resource else None
        if data.__class__ is tuple and data[0] not in (None, wanted):
            raise ValueError(
                f"{op.name}: expected values of the variable's dtype {data[0].name}, got "
                f"{wanted.name}. Cast them."
            )


def _element_dtype(op: Operation) -> dt.DType | None:
    """The dtype of a list's elements; operations that do not say it leave it as it was."""
    if "element_dtype" in op.attrs:
        return op.attrs["element_dtype"]  # type: ignore[no-any-return]
    data = getattr(op.inputs[0], "_handle_data", None)
    return None if data is None else data[0]


def _check_list_dtype(op: OpDef, tensors: Sequence[Tensor], wanted: Any) -> None:
    """Refuses to take a list of tensors for one of another dtype; elements may be lists, too."""
    elements = {i for i, arg in enumerate(op.inputs) if arg.type_attr == "element_dtype"}
    for number, tensor in enumerate(tensors):
        if number in elements:
            continue
        data = getattr(tensor, "_handle_data", None) if tensor.dtype is dt.variant else None
        if data.__class__ is tuple and data[0] not in (None, wanted):
            raise ValueError(
                f"{op.name}: Invalid data types; op elements {wanted.name} but list elements"
                f" {data[0].name}. Use the dtype that the list was made with."
            )


def handle_dims(tensor: Tensor) -> Dims:
    """The static shape of the variable that a resource tensor refers to, None when unknown.

    Of a table it is the shape of a value, of a list of tensors that of an element.
    """
    if isinstance(tensor, EagerTensor):
        return getattr(getattr(tensor._array, "resource", None), "dims", None)
    data = getattr(tensor, "_handle_data", None)
    if data is not None:
        return data[1]  # type: ignore[no-any-return]
    return _value_dims(tensor.op) if tensor.dtype is dt.resource else None  # type: ignore[attr-defined]


def _value_dims(op: Operation) -> Dims:
    """The shape of a value of the table that an operation makes, whose keys are scalars."""
    if "value_dtype" not in op.attrs or any(t.dims != () for t in op.inputs):
        return None
    return op.attrs.get("value_shape", ())  # type: ignore[no-any-return]
