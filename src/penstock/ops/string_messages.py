"""Messages in strings: tensors as TensorProto, and Example from JSON."""

import json
import weakref
from typing import Any

import numpy as np

from penstock import errors, proto
from penstock.core import shapes
from penstock.core.bundle.coding import varint
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.resources import ResourceHandle
from penstock.graph.shape_proto import dims_to_proto
from penstock.graph.tensor_proto import array_to_proto, proto_to_array
from penstock.ops.string_arrays import HOST, array_of, each, invalid, shown
from penstock.types import dtypes
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
NO_GRADIENT = "a message has no gradient"
CONTENT_TAG = b"\x22"  # of TensorProto.tensor_content, the last field that is written
MAX_FILL_BYTES = 1 << 28  # elements that a message claims and does not carry

SERIALIZE = define_op(
    "SerializeTensor(tensor: T; T: type) -> serialized: string",
    shape=shapes.scalar,
    doc="A tensor as a serialised TensorProto.",
).not_differentiable(NO_GRADIENT)


# What messages of this process name, as long as somebody has it.
_NAMED: weakref.WeakValueDictionary[int, ResourceHandle] = weakref.WeakValueDictionary()


def _handle_message(tensor: Any) -> proto.tensor_pb2.TensorProto:
    """A resource as a message that this process can read while the resource is there."""
    handle: ResourceHandle = tensor.item() if isinstance(tensor, np.ndarray) else tensor
    _NAMED[id(handle)] = handle
    named = proto.resource_handle_pb2.ResourceHandleProto(
        device=handle.device,
        container=handle.container,
        name=handle.name,
        hash_code=id(handle),
        maybe_type_name=type(handle.resource).__name__,
    )
    content = named.SerializeToString(deterministic=True)
    kind: Any = dtypes.resource.as_datatype_enum
    return proto.tensor_pb2.TensorProto(
        dtype=kind, tensor_shape=dims_to_proto(()), tensor_content=content
    )


def _handle_of(message: proto.tensor_pb2.TensorProto) -> ResourceHandle:
    named = proto.resource_handle_pb2.ResourceHandleProto()
    try:
        named.ParseFromString(message.tensor_content)
    except proto.message.DecodeError:
        named.Clear()
    found = _NAMED.get(named.hash_code)
    if found is None or (found.container, found.name) != (named.container, named.name):
        raise errors.NotFoundError(
            None,
            None,
            f"ParseTensor: expected a resource of this process, got {named.name!r}, which is not"
            " there any more. Parse it while its variable or table lives.",
        )
    return found


@host_kernel(SERIALIZE, limit=HOST)
def _serialize(tensor: Array, *, T: DType) -> Array:
    if T is dtypes.resource:
        return array_of([_handle_message(tensor).SerializeToString(deterministic=True)], ())
    if not isinstance(tensor, np.ndarray) or tensor.dtype == object or not tensor.size:
        return array_of([array_to_proto(tensor, T).SerializeToString(deterministic=True)], ())
    # Bytes, as TensorFlow writes them, for one element too; the content is copied once.
    head = proto.tensor_pb2.TensorProto(
        dtype=T.as_datatype_enum,  # type: ignore[arg-type]
        tensor_shape=dims_to_proto(tensor.shape),
    )
    swapped = tensor.astype(tensor.dtype.newbyteorder("<"), copy=False)
    content = np.ascontiguousarray(swapped).reshape(-1).view(np.uint8)
    parts = head.SerializeToString(), CONTENT_TAG, varint(content.nbytes), content.data
    return array_of([b"".join(parts)], ())


def serialize_tensor(tensor: Any, name: str | None = None) -> Any:
    """A tensor as a serialised TensorProto.

    Args:
      tensor: any dtype but variant, any shape; a resource is known to this process alone.
      name: the name in a graph.

    Returns:
      Scalar string.

    Example:
      >>> parse_tensor(serialize_tensor([1, 2]), np.int32).numpy().tolist()
      [1, 2]
    """
    return execute(SERIALIZE, (convert_to_tensor(tensor),), None, name)


PARSE = define_op(
    "ParseTensor(serialized: string; out_type: type) -> output: out_type",
    shape=shapes.unknown,
    doc="The tensor of a serialised TensorProto.",
).not_differentiable(NO_GRADIENT)


@host_kernel(PARSE, limit=HOST)
def _parse(serialized: Array, *, out_type: DType) -> Array:
    if serialized.shape:
        raise invalid(
            "ParseTensor: Expected `serialized` to be a scalar, got shape:"
            f" {list(serialized.shape)}. Use tf.map_fn over several."
        )
    data = serialized.item()
    message = proto.tensor_pb2.TensorProto()
    try:
        message.ParseFromString(data)
    except proto.message.DecodeError:
        raise invalid(
            f"ParseTensor: Could not parse `serialized` as TensorProto: {shown(data)}. Make it with"
            " tf.io.serialize_tensor."
        ) from None
    if out_type is dtypes.resource and message.dtype == out_type.as_datatype_enum:
        return _handle_of(message)
    try:
        array, dtype = proto_to_array(message, "ParseTensor", MAX_FILL_BYTES)
    except (TypeError, ValueError) as problem:
        raise invalid(f"ParseTensor: Cannot parse tensor from proto: {problem}") from None
    if dtype is not out_type:
        raise invalid(
            f"ParseTensor: Type mismatch between parsed tensor ({dtype.name}) and dtype"
            f" ({out_type.name}). Give out_type the dtype that was serialised."
        )
    return array


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Any:
    """The tensor of a serialised TensorProto.

    Args:
      serialized: scalar string.
      out_type: the dtype that the tensor has.
      name: the name in a graph.

    Returns:
      A tensor of `out_type`.

    Raises:
      InvalidArgumentError: the string is no TensorProto, or one of another dtype.
    """
    return execute(PARSE, (serialized,), {"out_type": out_type}, name)


JSON_EXAMPLE = define_op(
    "DecodeJSONExample(json_examples: string) -> binary_examples: string",
    shape=shapes.same,
    doc="Example messages in JSON as serialised messages.",
).not_differentiable(NO_GRADIENT)


@host_kernel(JSON_EXAMPLE, limit=HOST)
def _decode_json_example(json_examples: Array) -> Array:
    return each(_json_example, json_examples)


def _json_example(text: bytes) -> bytes:
    plain = _plain_json_example(text)
    if plain is not None:
        return plain
    message = proto.example_pb2.Example()
    if not text.lstrip().startswith(b"{"):
        raise invalid(
            f"DecodeJSONExample: Error while parsing JSON: expected '{{', got {shown(text)}. Give a"
            " tf.train.Example in JSON."
        )
    try:
        _parse_json(text, message)
    except (proto.json_format.ParseError, UnicodeDecodeError, RecursionError) as problem:
        raise invalid(
            f"DecodeJSONExample: Error while parsing JSON: {problem}: expected a tf.train.Example,"
            f" got {shown(text)}."
        ) from None
    data: bytes = message.SerializeToString(deterministic=True)
    return data


def _parse_json(text: bytes, message: Any) -> None:
    try:
        proto.json_format.Parse(text, message)
    except proto.json_format.ParseError as problem:
        if "Float value too" not in str(problem):
            raise
        message.Clear()
        proto.json_format.ParseDict(json.loads(text, parse_float=_held_float), message)


def _held_float(digits: str) -> float:
    """The number; the largest float32 in place of one that is rounded to it."""
    number = float(digits)
    return float(np.float32(number)) if abs(number) < _FLOAT_END else number


_FLOAT_END = (2 - 2.0**-24) * 2.0**127  # from here on numbers are rounded to infinity


def _plain_json_example(text: bytes) -> bytes | None:
    """The message of features that are lists of numbers, written without a choice; None for others.

    Protobuf's own parser takes three times as long, and finds what is wrong.
    """
    message = proto.example_pb2.Example()
    try:
        given = json.loads(text.decode(), object_pairs_hook=_without_repetitions)
        ((_, features),) = _named(given, "features")
        ((_, feature),) = _named(features, "feature")
        if not feature:
            return None
        for key, lists in feature.items():
            ((kind, held),) = _named(lists, "floatList", "int64List")
            ((_, values),) = _named(held, "value")
            if not values or values.__class__ is not list or not _fit(values, kind):
                return None
            made = message.features.feature[key]
            if kind == "floatList":  # protobuf's own assignment refuses what float32 rounds down
                made.float_list.value.extend(np.array(values, np.float32).tolist())
            else:
                made.int64_list.value.extend(values)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    data: bytes = message.SerializeToString(deterministic=True)
    return data


def _without_repetitions(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name comes twice")
    return found


def _named(given: dict[str, Any], *names: str) -> Any:
    """The items of an object, which has no other names than these."""
    if not given.keys() <= set(names):
        raise ValueError("another name")
    return given.items()


def _fit(values: list[Any], kind: str) -> bool:
    """Whether values are numbers that the list takes as they are."""
    if kind == "int64List":
        return all(v.__class__ is int for v in values)
    return all((v.__class__ is float or v.__class__ is int) and abs(v) < _FLOAT_END for v in values)


def decode_json_example(json_examples: Any, name: str | None = None) -> Any:
    """Example messages in JSON as serialised messages.

    Args:
      json_examples: string, any shape: a `tf.train.Example` each, in protobuf's JSON form.
      name: the name in a graph.

    Returns:
      Strings of the shape of `json_examples`.

    Raises:
      InvalidArgumentError: a string is no such message.
    """
    return execute(JSON_EXAMPLE, (json_examples,), None, name)
