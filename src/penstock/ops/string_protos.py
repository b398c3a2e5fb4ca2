"""Fields of serialised messages as tensors, and tensors as messages: any type with a description.

A description comes from a file with a FileDescriptorSet, from such bytes themselves
("bytes://..."), or from the messages of this package ("local://"), which have TensorFlow's names.
Messages are parsed by protobuf and written here, since a tensor may give a field more values than
a message can hold.

Source: "Encoding", https://protobuf.dev/programming-guides/encoding.
"""

import functools
import pathlib
import struct
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import errors, proto
from penstock.core.bundle.coding import varint
from penstock.core.execute import execute
from penstock.core.files import local_path
from penstock.core.kernels import host_kernel
from penstock.core.lazy_module import LazyModule
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.string_arrays import HOST, array_of, as_bytes, as_text, invalid, shown
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType, as_dtype

descriptor_pb2: Any = LazyModule("google.protobuf.descriptor_pb2")
descriptor_pool: Any = LazyModule("google.protobuf.descriptor_pool")
message_factory: Any = LazyModule("google.protobuf.message_factory")
DecodeProtoV2 = namedtuple("DecodeProtoV2", ["sizes", "values"])
Array = Any  # numpy.ndarray
Field = Any  # google.protobuf.descriptor.FieldDescriptor
NO_GRADIENT = "a message has no gradient"
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_LOCAL = ("", "local://")
_TWO64 = 1 << 64
# By the number of a field's type: its name, the dtypes it is read as, and its wire type.
_TYPES: dict[int, tuple[str, tuple[str, ...], int]] = {
    1: ("double", ("float64",), FIXED64),
    2: ("float", ("float32", "float64"), FIXED32),
    3: ("int64", ("int64",), VARINT),
    4: ("uint64", ("uint64",), VARINT),
    5: ("int32", ("int32", "int64"), VARINT),
    6: ("fixed64", ("uint64",), FIXED64),
    7: ("fixed32", ("uint32",), FIXED32),
    8: ("bool", ("bool",), VARINT),
    9: ("string", ("string",), BYTES),
    11: ("message", ("string",), BYTES),
    12: ("bytes", ("string",), BYTES),
    13: ("uint32", ("uint32",), VARINT),
    14: ("enum", ("int32", "int64"), VARINT),
    15: ("sfixed32", ("int32", "int64"), FIXED32),
    16: ("sfixed64", ("int64",), FIXED64),
    17: ("sint32", ("int32", "int64"), VARINT),
    18: ("sint64", ("int64",), VARINT),
}
_FORMATS = {1: "<d", 2: "<f", 6: "<Q", 7: "<I", 15: "<i", 16: "<q"}
_MESSAGE, _STRING, _ZIGZAG = 11, 9, (17, 18)


@functools.lru_cache(maxsize=64)
def _message_class(source: bytes, name: str) -> Any:
    """The class of a message type.

    Raises:
      InvalidArgumentError: the description is none, or has no such type.
    """
    if source.decode("utf-8", "replace") in _LOCAL:
        return _local_class(name)
    content = source.removeprefix(b"bytes://")
    pool = descriptor_pool.DescriptorPool()
    try:
        if content is source:
            content = pathlib.Path(local_path(source.decode())).read_bytes()
        files = descriptor_pb2.FileDescriptorSet.FromString(content)
        for file in files.file:
            pool.AddSerializedFile(file.SerializeToString())
    except (proto.message.DecodeError, TypeError, ValueError, OSError) as problem:
        raise invalid(
            f"Source {shown(source)} does not represent serialized file descriptor set proto "
            f"({problem}). Give a file that protoc --descriptor_set_out --include_imports wrote, "
            "or bytes:// and its content."
        ) from None
    try:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    except KeyError:
        raise invalid(f"No descriptor found for message type {name} in {shown(source)}.") from None


def _local_class(name: str) -> Any:
    package, _, short = name.rpartition(".")
    if package == "tensorflow":
        for module in (getattr(proto, each) for each in proto.__all__):
            if short in module.DESCRIPTOR.message_types_by_name:
                return getattr(module, short)
    try:
        found = descriptor_pool.Default().FindMessageTypeByName(name)
    except KeyError:
        raise invalid(
            f"No descriptor found for message type {name} among those loaded. Give a file with its "
            "FileDescriptorSet as descriptor_source."
        ) from None
    return message_factory.GetMessageClass(found)


def _fields(kind: Any, names: Sequence[Any]) -> list[Field]:
    known = kind.DESCRIPTOR.fields_by_name
    for name in map(as_text, names):
        if name not in known:
            raise invalid(
                f"Unknown field: {name} in message type {kind.DESCRIPTOR.full_name}. Expected one "
                f"of {sorted(known)}."
            )
        if known[as_text(name)].type not in _TYPES:
            raise invalid(f"Field {name} is a group, which is not supported. Use a message.")
    return [known[as_text(name)] for name in names]


def _repeated(field: Field) -> bool:
    found = getattr(field, "is_repeated", None)  # older releases of protobuf have a label
    return bool(field.label == 3 if found is None else found)


# ---- messages to tensors


def _decode_shape(c: ShapeContext) -> list[Dims]:
    dims, names, types = c.shape(0), c.attr("field_names"), c.attr("output_types")
    if len(names) != len(types):
        c.fail("as many output_types as field_names", f"{len(types)} and {len(names)}")
    if dims is None:
        return [None] * (1 + len(types))
    return [(*dims, len(names)), *[(*dims, None)] * len(types)]


DECODE = define_op(
    "DecodeProtoV2(bytes: string; message_type: string, field_names: list(string), output_types: "
    "list(type) >= 0, descriptor_source: string = 'local://', message_format: string = 'binary', "
    "sanitize: bool = False) -> sizes: int32, values: [output_types]",
    shape=_decode_shape,
    doc="Fields of serialised messages, padded with their defaults, and how many values each has.",
).not_differentiable(NO_GRADIENT)


def _parsed(kind: Any, data: bytes, text: bool) -> Any:
    message = kind()
    try:
        if text:
            proto.text_format.Parse(data, message)
        else:
            message.MergeFromString(data)
    except (proto.message.DecodeError, proto.text_format.ParseError, UnicodeDecodeError) as problem:
        form = "text" if text else "binary"
        raise errors.DataLossError(
            None,
            None,
            f"DecodeProtoV2: Unable to parse {form} protobuf {shown(data)} as "
            f"{kind.DESCRIPTOR.full_name}: {problem}.",
        ) from None
    return message


def _values(message: Any, field: Field) -> list[Any]:
    """The values that a message has in a field."""
    value = getattr(message, field.name)
    if _repeated(field):
        return list(value)
    present = message.HasField(field.name) if field.has_presence else value != field.default_value
    return [value] if present else []


def _plain(field: Field, value: Any) -> Any:
    if field.type == _MESSAGE:
        return value.SerializeToString(deterministic=True)
    return as_bytes(value) if field.type == _STRING else value


@host_kernel(DECODE, limit=HOST)
def _decode(
    data: Array, *, message_type: Any, field_names: Sequence[Any], output_types: Sequence[DType],
    descriptor_source: Any, message_format: Any,
) -> list[Array]:  # fmt: skip
    form = as_text(message_format)
    if form not in ("binary", "text"):
        raise invalid(f"DecodeProtoV2: format must be one of binary or text, got {form!r}.")
    kind = _message_class(as_bytes(descriptor_source), as_text(message_type))
    fields = _fields(kind, field_names)
    for field, dtype in zip(fields, output_types, strict=True):
        name, allowed, _ = _TYPES[field.type]
        if dtype.name not in allowed:
            raise invalid(
                f"DecodeProtoV2: Unexpected output type for {field.full_name}: {name} to "
                f"{dtype.name}. Expected {' or '.join(allowed)}."
            )
    messages = [_parsed(kind, each, form == "text") for each in data.reshape(-1).tolist()]
    sizes = np.zeros((len(messages), len(fields)), np.int32)
    results = []
    for i, (field, dtype) in enumerate(zip(fields, output_types, strict=True)):
        found = [_values(message, field) for message in messages]
        sizes[:, i] = [len(each) for each in found]
        width = max(int(sizes[:, i].max(initial=0)), 0 if _repeated(field) else 1)
        made = np.full((len(messages), width), _default(field, dtype), dtype.numpy_dtype)
        for row, each in enumerate(found):
            for column, value in enumerate(each):
                made[row, column] = _plain(field, value)
        results.append(made.reshape(*data.shape, width))
    return [sizes.reshape(*data.shape, len(fields)), *results]


def _default(field: Field, dtype: DType) -> Any:
    """What stands where a message has no value."""
    if _repeated(field) or field.type == _MESSAGE:
        return b"" if dtype.name == "string" else 0
    return _plain(field, field.default_value)


# ---- tensors to messages


def _encode_shape(c: ShapeContext) -> Dims:
    sizes = c.rank_at_least(0, 1, "sizes")
    names = c.attr("field_names")
    if len(names) != len(c) - 1:
        c.fail("a tensor of values for each of field_names", f"{len(c) - 1} and {len(names)}")
    batch: Dims = None if sizes is None else sizes[:-1]
    for i, name in enumerate(names):
        dims = c.shape(i + 1)
        if dims is not None and len(dims) < 2:
            c.fail(
                "values that are at least a matrix",
                f"Invalid shape for field {as_text(name)}: {d.text(dims)}",
            )
        batch = c.merge(batch, None if dims is None else dims[:-1])
    if sizes is not None and sizes[-1] not in (None, len(names)):
        c.fail(
            "sizes of shape batch_size + [len(field_names)]",
            f"{d.text(sizes)} for {len(names)} fields",
        )
    return batch


ENCODE = define_op(
    "EncodeProto(sizes: int32, values: [Tinput_types]; field_names: list(string), message_type: "
    "string, descriptor_source: string = 'local://', Tinput_types: list(type) >= 1) -> bytes: "
    "string",
    shape=_encode_shape,
    doc="Serialised messages with values of fields.",
).not_differentiable(NO_GRADIENT)


def _writer(field: Field) -> Callable[[Any], bytes]:
    """What writes one value, without its tag."""
    if field.type in _FORMATS:
        return struct.Struct(_FORMATS[field.type]).pack
    if _TYPES[field.type][2] == BYTES:
        return lambda value: varint(len(value)) + value
    if field.type in _ZIGZAG:
        return lambda value: varint((int(value) << 1 ^ int(value) >> 63) % _TWO64)
    return lambda value: varint(int(value) % _TWO64)


def _written(field: Field, values: list[Any]) -> bytes:
    write, wire = _writer(field), _TYPES[field.type][2]
    if field.is_packed and values:
        content = b"".join(map(write, values))
        return varint(field.number << 3 | BYTES) + varint(len(content)) + content
    tag = varint(field.number << 3 | wire)
    return b"".join(tag + write(value) for value in values)


@host_kernel(ENCODE, limit=HOST)
def _encode(
    sizes: Array, values: list[Array], *, field_names: Sequence[Any], message_type: Any,
    descriptor_source: Any, Tinput_types: Sequence[DType],
) -> Array:  # fmt: skip
    kind = _message_class(as_bytes(descriptor_source), as_text(message_type))
    fields = _fields(kind, field_names)
    for field, dtype in zip(fields, Tinput_types, strict=True):
        name, allowed, _ = _TYPES[field.type]
        if dtype.name not in allowed:
            raise invalid(
                f"EncodeProto: Incompatible type for field {field.name}. Saw dtype: {dtype.name} "
                f"but field type is: {name}. Cast it to {' or '.join(allowed)}."
            )
    batch = sizes.shape[:-1]
    counts = sizes.reshape(-1, len(fields))
    rows = [v.reshape(len(counts), v.shape[-1]) for v in values]
    for i, row in enumerate(rows):
        if (counts[:, i] > row.shape[1]).any():
            at = int((counts[:, i] > row.shape[1]).argmax())
            raise invalid(
                "EncodeProto: Size to write must not be larger than value tensor; but saw: "
                f"{counts[at, i]} > {row.shape[1]} at message {at} field {i}."
            )
    order = sorted(range(len(fields)), key=lambda i: fields[i].number)
    made = [
        b"".join(
            _written(fields[i], rows[i][row, : max(count[i], 0)].tolist()) for i in order
        )
        for row, count in enumerate(counts.tolist())
    ]  # fmt: skip
    return array_of(made, batch)


# ---- public functions


def decode_proto(
    bytes: Any, message_type: str, field_names: Any, output_types: Any,
    descriptor_source: str = "local://", message_format: str = "binary", sanitize: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Fields of serialised messages as tensors.

    Args:
      bytes: string[...], a message each.
      message_type: the full name of the messages' type.
      field_names: names of its fields.
      output_types: a dtype for each field: that of the field, or a wider one; string for messages.
      descriptor_source: a file with a FileDescriptorSet, "bytes://" and its content, or "local://"
        for the messages of this package.
      message_format: "binary" or "text".
      sanitize: accepted; messages are always parsed whole.
      name: the name of the operation in a graph.

    Returns:
      A tuple: sizes int32[..., fields], the number of values of each; and a list with a tensor
      [..., longest] for each field, padded with the field's default.

    Raises:
      InvalidArgumentError: the type, a field or a dtype does not fit.
      DataLossError: a string is no such message.
    """
    attrs = {
        "message_type": message_type, "field_names": list(field_names),
        "output_types": [as_dtype(t) for t in output_types],
        "descriptor_source": descriptor_source, "message_format": message_format,
        "sanitize": sanitize,
    }  # fmt: skip
    outputs = execute(DECODE, (bytes,), attrs, name)
    sizes, *rest = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return DecodeProtoV2(sizes, list(rest[0]) if rest else [])


def encode_proto(
    sizes: Any, values: Any, field_names: Any, message_type: str,
    descriptor_source: str = "local://", name: str | None = None,
) -> Any:  # fmt: skip
    """Serialised messages with values of fields.

    Args:
      sizes: int32[..., fields]: how many values of each field a message has.
      values: a list with a tensor [..., longest] for each field.
      field_names: names of fields.
      message_type: the full name of the messages' type.
      descriptor_source: as for `decode_proto`.
      name: the name of the operation in a graph.

    Returns:
      string[...].

    Raises:
      InvalidArgumentError: the type, a field, a dtype or a size does not fit.
    """
    attrs = {
        "field_names": list(field_names), "message_type": message_type,
        "descriptor_source": descriptor_source,
    }  # fmt: skip
    return execute(ENCODE, (sizes, list(values)), attrs, name)
