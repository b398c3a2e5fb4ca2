"""Attributes as messages: the one form of `penstock.core.attributes` to and from AttrValue.

What a definition says about an attribute decides how its value is written and what is accepted when
one is read. An attribute that no definition knows (`_class`, or one of a newer program) is kept as
its value says: such shapes are TensorShape, since a tuple of ints is a list.

Entry points: `attr_to_proto` and `attr_from_proto`. Functions are written by name; reading gives
the name, which `penstock.graph.function_import` resolves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import errors, proto
from penstock.core.arrays import HashableArray
from penstock.graph.shape_proto import dims_from_proto, dims_to_proto, full_dims_from_proto
from penstock.graph.tensor_codecs import codec_of
from penstock.graph.tensor_proto import array_to_proto, proto_to_array
from penstock.types.dtypes import DType, as_dtype
from penstock.types.tensor_shape import TensorShape

if TYPE_CHECKING:
    from penstock.proto.attr_value_pb2 import AttrValue, NameAttrList
    from penstock.proto.tensor_pb2 import TensorProto

# Most memory that one value may ask for beyond what its message carries. A single element that
# stands for a whole tensor asks for none: it is kept as a view without copies.
MAX_FILL_BYTES = 2**24

_FIELDS = {
    "string": "s",
    "int": "i",
    "float": "f",
    "bool": "b",
    "type": "type",
    "shape": "shape",
    "tensor": "tensor",
    "func": "func",
}
_KINDS = {field: kind for kind, field in _FIELDS.items()}


class FunctionName(str):
    """The name of a function as the value of an attribute, where a plain text would be a string."""

    __slots__ = ()


# ---- writing --------------------------------------------------------------------------------


def attr_to_proto(kind: str, value: Any, where: str = "attribute") -> AttrValue:
    """The message of an attribute.

    Args:
      kind: what the definition says ("int", "list(shape)", ...), or "any".
      value: the value in its one form.
      where: what the attribute belongs to, for errors.

    Raises:
      ValueError: the value does not fit the message, such as an integer of more than 64 bits.
    """
    message = proto.attr_value_pb2.AttrValue()
    is_list = kind.startswith("list(") or (kind == "any" and isinstance(value, tuple | list))
    try:
        if not is_list:
            _put(message, kind if kind != "any" else kind_of(value), value)
            return message
        message.list.SetInParent()
        for item in value:
            _append(message.list, kind[5:-1] if kind != "any" else kind_of(item), item)
    except (ValueError, TypeError) as problem:
        raise ValueError(
            f"{where}: expected a value of kind {kind} that a message can hold, got {value!r} "
            f"({problem}). Set another value."
        ) from None
    return message


def kind_of(value: Any) -> str:
    """The kind of a value that no definition describes."""
    for types, kind in _PYTHON_KINDS:
        if isinstance(value, types):
            return kind
    return "func"


_PYTHON_KINDS: tuple[tuple[Any, str], ...] = (
    (FunctionName, "func"),
    ((str, bytes), "string"),
    ((bool, np.bool_), "bool"),
    ((int, np.integer), "int"),
    ((float, np.floating), "float"),
    (DType, "type"),
    (TensorShape, "shape"),
    (HashableArray, "tensor"),
)


def _put(message: AttrValue, kind: str, value: Any) -> None:
    if kind in _WRITERS:
        getattr(message, _FIELDS[kind]).CopyFrom(_WRITERS[kind](value))
    else:
        setattr(message, _FIELDS[kind], _PLAIN[kind](value))


def _append(message: AttrValue.ListValue, kind: str, value: Any) -> None:
    write = _WRITERS.get(kind) or _PLAIN[kind]
    getattr(message, _FIELDS[kind]).append(write(value))


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _shape_message(value: Any) -> Any:
    return dims_to_proto(value.dims_tuple if isinstance(value, TensorShape) else value)


def _function_message(value: Any) -> NameAttrList:
    name = value if isinstance(value, str) else getattr(value, "name", "")
    return proto.attr_value_pb2.NameAttrList(name=name)


def tensor_message(value: HashableArray) -> TensorProto:
    """The message of a constant: one element when the array repeats one."""
    array = value.array
    if value.repeats:
        return array_to_proto(array.reshape(-1)[:1].copy(), value.dtype, array.shape)
    return array_to_proto(array, value.dtype)


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "string": _bytes,
    "int": int,
    "float": float,
    "bool": bool,
    "type": lambda value: as_dtype(value).as_datatype_enum,
}
_WRITERS: dict[str, Callable[[Any], Any]] = {
    "shape": _shape_message,
    "tensor": tensor_message,
    "func": _function_message,
}


def public_value(kind: str, value: Any) -> Any:
    """An attribute's value as `Operation.get_attr` gives it, with messages for shapes and such."""
    if kind.startswith("list(") or (kind == "any" and isinstance(value, tuple)):
        item_kind = kind if kind == "any" else kind[5:-1]
        return [public_value(item_kind, item) for item in value]
    found = kind_of(value) if kind == "any" else kind
    if found == "string":
        return _bytes(value)
    return _WRITERS[found](value) if found in _WRITERS else value


# ---- reading --------------------------------------------------------------------------------


def attr_from_proto(kind: str, message: AttrValue, where: str = "attribute") -> Any:
    """The value of a message in its one form.

    Args:
      kind: what the definition says, or "any" for what the message says.
      message: what was read; it may come from anywhere.
      where: what the attribute belongs to, for errors.

    Raises:
      ValueError: the message holds no value or one of another kind, or a value that contradicts
        itself.
    """
    held = message.WhichOneof("value")
    if held is None:
        raise _wrong_kind(where, kind, "no value")
    if held == "placeholder":
        raise _wrong_kind(where, kind, f"the placeholder {message.placeholder!r}")
    wanted = "list" if kind.startswith("list(") else _FIELDS.get(kind)
    if kind != "any" and held != wanted:
        raise _wrong_kind(where, kind, f"a value of kind {_KINDS.get(held, held)}")
    try:
        if held == "list":
            return _read_list(kind, message.list, where)
        return _read(_KINDS[held], getattr(message, held), where, loose=kind == "any")
    except errors.InvalidArgumentError as problem:
        raise ValueError(problem.message) from None


def _read_list(kind: str, message: AttrValue.ListValue, where: str) -> tuple[Any, ...]:
    filled = [field.name for field, _ in message.ListFields()]
    if len(filled) > 1:
        raise _wrong_kind(where, kind, f"a list of several kinds: {', '.join(filled)}")
    if not filled:
        return ()
    found = _KINDS[filled[0]]
    if kind not in ("any", f"list({found})"):
        raise _wrong_kind(where, kind, f"a list of kind {found}")
    loose = kind == "any"
    return tuple(_read(found, item, where, loose) for item in getattr(message, filled[0]))


def _read(kind: str, item: Any, where: str, loose: bool) -> Any:
    if kind == "shape":
        dims = dims_from_proto(item, where)
        return TensorShape(dims) if loose else dims
    reader = _READERS.get(kind)
    return item if reader is None else reader(item, where)


def _text(item: bytes, where: str) -> str | bytes:
    try:
        return item.decode()
    except UnicodeDecodeError:
        return item


def _dtype(item: int, where: str) -> DType:
    try:
        return as_dtype(item)
    except TypeError:
        raise ValueError(
            f"{where}: AttrValue has invalid DataType {item}. "
            "The message is damaged or from a newer program."
        ) from None


def _function_name(item: NameAttrList, where: str) -> FunctionName:
    return FunctionName(item.name)


def tensor_from_proto(message: TensorProto, where: str) -> HashableArray:
    """The constant of a message.

    Raises:
      InvalidArgumentError: it contradicts itself, or few bytes claim much memory.
    """
    try:
        dtype = as_dtype(message.dtype)
        codec = codec_of(dtype)
    except TypeError as problem:
        raise errors.InvalidArgumentError(None, None, f"{where}: {problem}") from None
    if not message.tensor_content and len(getattr(message, codec.field)) == codec.width:
        return HashableArray(_repeated(message, where), dtype)
    array, _ = proto_to_array(message, where, MAX_FILL_BYTES)
    return HashableArray(array, dtype)


def _repeated(message: TensorProto, where: str) -> Any:
    """One element in the shape of the message, as a view."""
    dims = full_dims_from_proto(message.tensor_shape, where)
    single = proto.tensor_pb2.TensorProto()
    single.CopyFrom(message)
    single.tensor_shape.Clear()
    element, _ = proto_to_array(single, where)
    try:
        return np.broadcast_to(element, dims) if dims else element
    except ValueError:
        text = errors.located(
            where, "a shape that an array has", f"shape {list(dims)}", "The message is damaged."
        )
        raise errors.InvalidArgumentError(None, None, text) from None


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "string": _text,
    "type": _dtype,
    "tensor": tensor_from_proto,
    "func": _function_name,
}


def _wrong_kind(where: str, kind: str, got: str) -> ValueError:
    return ValueError(
        errors.located(
            where, f"an AttrValue of kind {kind}", got, "The node is damaged or of another version."
        )
    )
