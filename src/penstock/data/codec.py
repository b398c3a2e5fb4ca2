"""States of iterators as bytes: nests of numbers, text, bytes, lists, dictionaries and arrays.

The bytes are a StructuredValue message; arrays are TensorProtos in it, and an error is its class
and message. What is nested deeper than messages are read is a message of its own, as bytes. They
come from files, so nothing in them is run: only what is named here is made.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors, proto
from penstock.graph.tensor_proto import array_to_proto, proto_to_array
from penstock.ops.ragged_variants import RaggedVariant
from penstock.ops.sparse_messages import HeldTensor
from penstock.types import dtypes as dt

_KIND = "kind"
_DEEPEST = 24  # levels of one message: each is up to three of the hundred that protobuf reads


def encode(state: Any) -> bytes:
    """The bytes of a state.

    Raises:
      UnimplementedError: it holds what cannot be written: a dataset, say.
    """
    message = proto.struct_pb2.StructuredValue()
    _write(state, message)
    return bytes(message.SerializeToString(deterministic=True))


def decode(data: bytes) -> Any:
    """The state whose bytes `encode` made.

    Raises:
      DataLossError: they are no such bytes.
    """
    try:
        return _read(proto.struct_pb2.StructuredValue.FromString(data))
    except errors.DataLossError:
        raise
    except Exception as problem:
        raise errors.DataLossError(
            None,
            None,
            f"The state of an iterator is damaged: expected what SerializeIterator gave, got"
            f" {len(data)} bytes that are not ({type(problem).__name__}: {problem}).",
        ) from None


def _write(value: Any, message: Any, depth: int = 0) -> None:
    if value is None:
        message.none_value.SetInParent()
    elif isinstance(value, bool):
        message.bool_value = value
    elif isinstance(value, int):
        message.int64_value = value
    elif isinstance(value, float):
        message.float64_value = value
    elif isinstance(value, str):
        message.string_value = value
    elif depth >= _DEEPEST and isinstance(value, (list, tuple, dict)):
        _write({_KIND: "packed", "bytes": encode(value)}, message)
    elif isinstance(value, (list, tuple)):
        message.list_value.SetInParent()
        for each in value:
            _write(each, message.list_value.values.add(), depth + 1)
    elif isinstance(value, dict):
        message.dict_value.SetInParent()
        for key, each in value.items():
            _write(each, message.dict_value.fields[key], depth + 1)
    else:
        _write_object(value, message, depth)


def _write_object(value: Any, message: Any, depth: int) -> None:
    if isinstance(value, bytes):
        value = np.array(value, object)
    if isinstance(value, BaseException):
        _write(
            {_KIND: "error", "class": type(value).__name__, "message": str(value)}, message, depth
        )
    elif isinstance(value, RaggedVariant):
        _write(
            {_KIND: "ragged", "splits": list(value.splits), "values": value.values}, message, depth
        )
    elif type(value) in _registered:
        name, fields_of = _registered[type(value)]
        _write({_KIND: name, **fields_of(value)}, message, depth)
    elif isinstance(value, HeldTensor):
        _write({_KIND: "held", "array": value.array}, message, depth)
    elif isinstance(value, np.ndarray) and value.dtype == object and not _is_text(value):
        kept: dict[str, Any] = {
            _KIND: "objects",
            "shape": list(value.shape),
            "values": list(value.reshape(-1)),
        }
        _write(kept, message, depth)
    elif isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__"):
        array = np.asarray(value)
        dtype = dt.string if array.dtype == object else dt.from_numpy(array.dtype)
        message.tensor_value.CopyFrom(array_to_proto(array, dtype))
    else:
        raise errors.UnimplementedError(
            None,
            None,
            f"The state of the iterator holds {value!r} of type {type(value).__name__}, which"
            " cannot be written: expected numbers, strings, ragged or sparse tensors. Save before"
            " windows, or without a buffer of them.",
        )


def _is_text(value: np.ndarray[Any, Any]) -> bool:
    return all(isinstance(v, (bytes, str)) for v in value.reshape(-1))


def _read(message: Any) -> Any:
    which = message.WhichOneof("kind")
    if which in ("bool_value", "int64_value", "float64_value", "string_value"):
        return getattr(message, which)
    if which == "none_value":
        return None
    if which == "list_value":
        return [_read(each) for each in message.list_value.values]
    if which == "tensor_value":
        return proto_to_array(message.tensor_value, max_fill_bytes=0)[0]  # `_write` fills nothing
    if which != "dict_value":
        raise ValueError(f"a value of kind {which}")
    found = {key: _read(each) for key, each in message.dict_value.fields.items()}
    return _OBJECTS[found[_KIND]](found) if _KIND in found else found


def _error(found: dict[str, Any]) -> Exception:
    kind = getattr(errors, found["class"], None)
    if isinstance(kind, type) and issubclass(kind, errors.OpError) and kind is not errors.OpError:
        return kind(None, None, found["message"])  # type: ignore[call-arg]
    return errors.UnknownError(None, None, f"{found['class']}: {found['message']}")


def _objects(found: dict[str, Any]) -> Any:
    made = np.empty(len(found["values"]), object)
    for i, each in enumerate(found["values"]):
        made[i] = each
    return made.reshape([int(n) for n in found["shape"]])


def _held(found: dict[str, Any]) -> HeldTensor:
    array = found["array"]
    return HeldTensor(array, dt.string if array.dtype == object else dt.from_numpy(array.dtype))


_OBJECTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "error": _error,
    "ragged": lambda found: RaggedVariant(found["splits"], found["values"]),
    "held": _held,
    "objects": _objects,
    "packed": lambda found: decode(found["bytes"][()]),
}
_registered: dict[type, tuple[str, Callable[[Any], dict[str, Any]]]] = {}


def register(
    kind: type,
    name: str,
    fields_of: Callable[[Any], dict[str, Any]],
    made_of: Callable[[dict[str, Any]], Any],
) -> None:
    """Says how values of a class are written, and made of what was.

    Args:
      kind: the class, as it is.
      name: what stands for it.
      fields_of: gives what is written: values that `encode` takes.
      made_of: makes one of these again; raises KeyError, TypeError or ValueError where it cannot.
    """
    _registered[kind] = name, fields_of
    _OBJECTS[name] = made_of
