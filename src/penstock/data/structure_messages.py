"""Python values, specs and nests of them as StructuredValue messages, and back.

A message that is read may come from anywhere: what it says is checked, and refused with a
ValueError that names the place.
"""

from collections import namedtuple
from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock import errors, proto
from penstock.core.extension_type import ExtensionTypeSpec
from penstock.core.tensor import EagerTensor, host_array, wrap
from penstock.graph.shape_proto import dims_from_proto, dims_to_proto
from penstock.graph.tensor_proto import array_to_proto, proto_to_array
from penstock.ops import ragged_class as _ragged_class  # noqa: F401  # the values of specs
from penstock.ops import ragged_partition as _ragged_partition  # noqa: F401
from penstock.ops import tensor_array as _tensor_array  # noqa: F401
from penstock.ops.ragged_shape import DynamicRaggedShapeSpec
from penstock.types import type_spec
from penstock.types.dtypes import DType, as_dtype
from penstock.types.tensor_shape import TensorShape
from penstock.types.tensor_spec import BoundedTensorSpec, TensorSpec
from penstock.types.type_spec import TypeSpec

_BUILT_IN = {  # registered name -> number of TypeSpecProto's class
    "tf.SparseTensorSpec": 1,
    "tf.IndexedSlicesSpec": 2,
    "tf.RaggedTensorSpec": 3,
    "tf.TensorArraySpec": 4,
    "tf.data.DatasetSpec": 5,
    "tf.IteratorSpec": 6,
    "tf.OptionalSpec": 7,
    "tf.VariableSpec": 9,
    "tf.RowPartitionSpec": 10,
}
_BY_NUMBER = {number: name for name, number in _BUILT_IN.items()}
_REGISTERED, _EXTENSION = 12, 13
_INT64 = range(-(2**63), 2**63)
_PLAIN = (  # a bool is an int, so it comes first
    (bool, "bool_value"),
    (int, "int64_value"),
    (float, "float64_value"),
    (str, "string_value"),
)


class NotEncodable(ValueError):
    """A value that no message holds."""


def encode(value: Any) -> Any:
    """A value as a StructuredValue.

    Args:
      value: None, a number, text, shape, dtype, spec, array or tensor, or a list, tuple, named
        tuple or dictionary (with strings as keys) of these.

    Raises:
      NotEncodable: it is something else.
    """
    message = proto.struct_pb2.StructuredValue()
    _write(message, value)
    return message


def is_encodable(value: Any) -> bool:
    """Whether `encode` takes a value."""
    try:
        encode(value)
    except NotEncodable:
        return False
    return True


def _write(message: Any, value: Any) -> None:
    for kind, field in _PLAIN:
        if isinstance(value, kind) and (kind is not int or value in _INT64):
            setattr(message, field, value)
            return
    if value is None:
        message.none_value.SetInParent()
    elif isinstance(value, TensorShape):
        message.tensor_shape_value.CopyFrom(dims_to_proto(value.dims_tuple))
    elif isinstance(value, DType):
        message.tensor_dtype_value = value.as_datatype_enum
    elif isinstance(value, TypeSpec):
        _write_spec(message, value)
    elif isinstance(value, EagerTensor):
        message.tensor_value.CopyFrom(array_to_proto(host_array(value), value.dtype))
    elif isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        message.numpy_value.CopyFrom(array_to_proto(array, as_dtype(array.dtype)))
    else:
        _write_nest(message, value)


def _write_nest(message: Any, value: Any) -> None:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        message.named_tuple_value.name = type(value).__name__
        for key, item in zip(value._fields, value, strict=True):
            _write(message.named_tuple_value.values.add(key=key).value, item)
    elif isinstance(value, list | tuple):
        target = message.list_value if isinstance(value, list) else message.tuple_value
        target.SetInParent()
        for item in value:
            _write(target.values.add(), item)
    elif isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        message.dict_value.SetInParent()
        for key, item in value.items():
            _write(message.dict_value.fields[key], item)
    else:
        raise NotEncodable(
            f"expected a value that a SavedModel holds, got {value!r} of type "
            f"{type(value).__name__}. Use numbers, text, specs, tensors, and nests of them."
        )


def _write_spec(message: Any, spec: Any) -> None:
    if isinstance(spec, BoundedTensorSpec):
        target = message.bounded_tensor_spec_value
        for name in ("minimum", "maximum"):
            bound = np.asarray(getattr(spec, name))
            getattr(target, name).CopyFrom(array_to_proto(bound, as_dtype(bound.dtype)))
    elif isinstance(spec, TensorSpec):
        target = message.tensor_spec_value
    else:
        _write_type_spec(message.type_spec_value, spec)
        return
    target.name = spec.name or ""
    target.shape.CopyFrom(dims_to_proto(spec.shape.dims_tuple))
    target.dtype = spec.dtype.as_datatype_enum


def _write_type_spec(target: Any, spec: Any) -> None:
    try:
        name = type_spec.registered_name(type(spec))
    except ValueError:
        way = f"Register its class: @tf.type_spec.register('package.{type(spec).__name__}')."
        if isinstance(spec, ExtensionTypeSpec):
            way = "Give the extension type a name: __name__ = 'package.Name' in its body."
        raise NotEncodable(f"expected a registered type, got {spec!r}. {way}") from None
    number = _BUILT_IN.get(name)
    extension = isinstance(spec, ExtensionTypeSpec | DynamicRaggedShapeSpec)
    unlisted = _EXTENSION if extension else _REGISTERED
    target.type_spec_class = unlisted if number is None else number
    target.type_spec_class_name = name if number is None else type(spec).__name__
    _write(target.type_state, spec._serialize())
    target.num_flat_components = len(spec.flatten())


# ---- reading -------------------------------------------------------------------------------------


def decode(message: Any, where: str) -> Any:
    """The value of a StructuredValue.

    Args:
      message: what was read.
      where: what it belongs to, for errors.

    Raises:
      ValueError: the message contradicts itself, or says a type that is not known.
    """
    kind = message.WhichOneof("kind")
    if kind not in _READERS:
        raise _refusal(where, "a value", f"{kind or 'none'}")
    try:
        return _READERS[kind](getattr(message, kind), where)
    except (errors.OpError, TypeError) as problem:
        raise _refusal(where, "a value", str(problem)) from None


def _dict(message: Any, where: str) -> dict[str, Any]:
    return {key: decode(value, where) for key, value in message.fields.items()}


def _named_tuple(message: Any, where: str) -> Any:
    values = {pair.key: decode(pair.value, where) for pair in message.values}
    if message.name == "FullArgSpec":  # whose class is fixed by who reads it
        return values
    try:
        return namedtuple(message.name, list(values))(**values)
    except ValueError as problem:
        raise _refusal(where, "a named tuple", str(problem)) from None


def _shape(message: Any, where: str) -> TensorShape:
    return TensorShape.from_dims(dims_from_proto(message, where))


def _tensor_spec(message: Any, where: str) -> TensorSpec:
    return TensorSpec(_shape(message.shape, where), as_dtype(message.dtype), message.name or None)


def _bounded_spec(message: Any, where: str) -> BoundedTensorSpec:
    low, high = (_array(m, where)[0] for m in (message.minimum, message.maximum))
    shape, dtype = _shape(message.shape, where), as_dtype(message.dtype)
    try:
        return BoundedTensorSpec(shape, dtype, low, high, message.name or None)
    except ValueError as problem:
        raise _refusal(where, "a bounded spec", str(problem)) from None


def _array(message: Any, where: str) -> Any:
    return proto_to_array(message, where, max_fill_bytes=_MOST_FILLED)


def _type_spec(message: Any, where: str) -> Any:
    name = _BY_NUMBER.get(message.type_spec_class, message.type_spec_class_name)
    try:
        found = type_spec.lookup(name)
    except ValueError:
        raise _refusal(
            where, "a registered type", f"'{message.type_spec_class_name}'",
            "Import the module that registers it before loading.",
        ) from None  # fmt: skip
    state = decode(message.type_state, where)
    try:
        return found._deserialize(state)
    except (TypeError, ValueError, AttributeError, KeyError) as problem:
        raise _refusal(where, f"the parts of a {name}", f"{state!r} ({problem})") from None


_MOST_FILLED = 1 << 20  # bytes of a value that a message does not carry
_READERS: dict[str, Any] = {
    "none_value": lambda message, where: None,
    "bool_value": lambda value, where: value,
    "int64_value": lambda value, where: value,
    "float64_value": lambda value, where: value,
    "string_value": lambda value, where: value,
    "tensor_shape_value": _shape,
    "tensor_dtype_value": lambda value, where: as_dtype(value),
    "tensor_spec_value": _tensor_spec,
    "bounded_tensor_spec_value": _bounded_spec,
    "type_spec_value": _type_spec,
    "list_value": lambda m, where: [decode(v, where) for v in m.values],
    "tuple_value": lambda m, where: tuple([decode(v, where) for v in m.values]),
    "dict_value": _dict,
    "named_tuple_value": _named_tuple,
    "tensor_value": lambda m, where: wrap(*_array(m, where)),
    "numpy_value": lambda m, where: _array(m, where)[0],
}


def _refusal(
    where: str,
    expected: str,
    got: str,
    fix: str = "The message is damaged, or from another program.",
) -> ValueError:
    return ValueError(errors.located(where, expected, got, fix))
