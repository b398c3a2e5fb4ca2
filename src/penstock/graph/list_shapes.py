"""What is known of the elements of a list of tensors, a variant, while a graph is built.

A list's elements have the shape that it was made with, and no more is sure of them: another one may
be set in place of any. What takes a list and gives another one hands the shape on. Operations that
read elements know their shape by this, also where they are not told.
"""

from collections.abc import Callable
from typing import Any

from penstock.graph.static_values import shape_value
from penstock.types.dims import Dims


def _told(index: int) -> Callable[[Any], Dims]:
    """The shape that input `index` of an operation says; the scalar -1 is an unknown rank."""

    def rule(op: Any) -> Dims:
        given = op.inputs[index]
        return None if given.dims is None or len(given.dims) != 1 else shape_value(given)

    return rule


def _as_given(op: Any) -> Dims:
    data = getattr(op.inputs[0], "_handle_data", None)
    return data[1] if data is not None else None


RULES: dict[str, Callable[[Any], Dims]] = {
    "EmptyTensorList": _told(0),
    "TensorListReserve": _told(0),
    "TensorListFromTensor": _told(1),
    "TensorListScatter": _told(2),
    "TensorListScatterV2": _told(2),
    "TensorListSplit": _told(1),
    "TensorListPushBack": _as_given,
    "TensorListPopBack": _as_given,
    "TensorListSetItem": _as_given,
    "TensorListResize": _as_given,
    "TensorListScatterIntoExistingList": _as_given,
    "TensorListConcatLists": _as_given,
    "Identity": _as_given,
}
