"""Full types of operations, which TensorFlow notes in the nodes that it writes.

A full type says what a handle or a shape holds. Penstock does not use them; they are written so
that a GraphDef is the one that TensorFlow writes. Operations that are not in the table have none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import proto
from penstock.types.dtypes import DType

if TYPE_CHECKING:
    from penstock.proto.full_type_pb2 import FullTypeDef

_NAMES = {"float32": "FLOAT", "float64": "DOUBLE", "float16": "HALF"}
_LISTS = (
    "EmptyTensorList TensorListConcatLists TensorListFromTensor TensorListPushBack "
    "TensorListPushBackBatch TensorListReserve TensorListScatter "
    "TensorListScatterIntoExistingList TensorListScatterV2 TensorListSetItem TensorListSplit"
).split()


def full_type_of(kind: str, attrs: dict[str, Any]) -> FullTypeDef | None:
    """The full type of an operation's outputs, or None.

    Args:
      kind: the name of the kind of operation.
      attrs: its attributes.
    """
    rule = _RULES.get(kind)
    return None if rule is None else _type("PRODUCT", rule(attrs))


def _type(name: str, *args: FullTypeDef) -> FullTypeDef:
    number = proto.full_type_pb2.FullTypeId.Value(f"TFT_{name}")
    return proto.full_type_pb2.FullTypeDef(type_id=number, args=args)


def _dtype(dtype: DType) -> FullTypeDef:
    return _type(_NAMES.get(dtype.name, dtype.name.upper()))


def _shape(attrs: dict[str, Any]) -> FullTypeDef:
    return _type("SHAPE_TENSOR", _dtype(attrs["out_type"]))


def _list(attrs: dict[str, Any]) -> FullTypeDef:
    return _type("ARRAY", _type("TENSOR", _dtype(attrs["element_dtype"])))


_RULES: dict[str, Callable[[dict[str, Any]], FullTypeDef]] = {
    "Shape": _shape,
    **dict.fromkeys(_LISTS, _list),
}
