"""Messages of described types as tensors, and back, beside protobuf's own classes."""

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import penstock as tf

F = descriptor_pb2.FieldDescriptorProto
KINDS = {  # name -> type of the field, dtype, two values
    "double": (F.TYPE_DOUBLE, tf.float64, [1.5, -2.0]),
    "float": (F.TYPE_FLOAT, tf.float32, [2.5, np.float32(0.1)]),
    "int64": (F.TYPE_INT64, tf.int64, [-3, 2**62]),
    "uint64": (F.TYPE_UINT64, tf.uint64, [2**63 + 1, 0]),
    "int32": (F.TYPE_INT32, tf.int32, [-4, 7]),
    "fixed64": (F.TYPE_FIXED64, tf.uint64, [5, 2**64 - 1]),
    "fixed32": (F.TYPE_FIXED32, tf.uint32, [6, 2**32 - 1]),
    "bool": (F.TYPE_BOOL, tf.bool, [True, False]),
    "string": (F.TYPE_STRING, tf.string, ["hé", ""]),
    "bytes": (F.TYPE_BYTES, tf.string, [b"\xff", b"x" * 300]),
    "uint32": (F.TYPE_UINT32, tf.uint32, [2**31 + 1, 1]),
    "sfixed32": (F.TYPE_SFIXED32, tf.int32, [-1, 3]),
    "sfixed64": (F.TYPE_SFIXED64, tf.int64, [-2, 4]),
    "sint32": (F.TYPE_SINT32, tf.int32, [-(2**31), 5]),
    "sint64": (F.TYPE_SINT64, tf.int64, [-(2**63), 2**63 - 1]),
}


@functools.cache
def description() -> Any:
    """A file that describes kinds.Message: each kind once and repeated, an enum, messages."""
    file = descriptor_pb2.FileDescriptorProto(name="kinds.proto", package="kinds", syntax="proto2")
    message = file.message_type.add(name="Message")

    def add(name: str, kind: Any, label: Any = F.LABEL_OPTIONAL, **more: Any) -> None:
        number = len(message.field) + 1
        message.field.add(name=name, number=number, type=kind, label=label, **more)

    for name, (kind, _, _) in KINDS.items():
        add(name, kind)
        add(f"{name}s", kind, F.LABEL_REPEATED)
    enum = file.enum_type.add(name="Enum")
    enum.value.add(name="A", number=0)
    enum.value.add(name="B", number=5)
    add("enum", F.TYPE_ENUM, type_name=".kinds.Enum")
    add("child", F.TYPE_MESSAGE, type_name=".kinds.Message")
    add("children", F.TYPE_MESSAGE, F.LABEL_REPEATED, type_name=".kinds.Message")
    add("seven", F.TYPE_INT32, default_value="7")
    packed = descriptor_pb2.FieldOptions(packed=True)
    add("packed", F.TYPE_INT32, F.LABEL_REPEATED, options=packed)
    return file


@functools.cache
def message_class() -> Any:
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(description().SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("kinds.Message"))


def source() -> bytes:
    files = descriptor_pb2.FileDescriptorSet(file=[description()])
    return b"bytes://" + files.SerializeToString()


def serialized(**fields: Any) -> bytes:
    data: bytes = message_class()(**fields).SerializeToString()
    return data


def decode(data: Any, names: list[str], types: list[Any], **more: Any) -> Any:
    given = {"descriptor_source": source(), **more}
    return tf.io.decode_proto(data, "kinds.Message", names, types, **given)


def encode(sizes: Any, values: list[Any], names: list[str], **more: Any) -> Any:
    given = {"descriptor_source": source(), **more}
    return tf.io.encode_proto(sizes, values, names, "kinds.Message", **given)


def as_stored(values: list[Any]) -> list[Any]:
    return [v.encode() if isinstance(v, str) else v for v in values]


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_both_ways(name: str) -> None:
    _, dtype, values = KINDS[name]
    data = [serialized(**{name: values[0], f"{name}s": values}), b""]
    sizes, (one, many) = decode(data, [name, f"{name}s"], [dtype, dtype])
    assert sizes.numpy().tolist() == [[1, 2], [0, 0]]
    stored = as_stored(values)
    empty = dtype.as_numpy_dtype() if dtype != tf.string else b""
    assert one.numpy().tolist() == [[stored[0]], [empty]]
    assert many.numpy().tolist() == [stored, [empty] * 2]
    assert one.dtype == many.dtype == dtype
    made = encode(sizes, [one, many], [name, f"{name}s"])
    assert made.numpy().tolist() == data


def test_wider_dtypes_enums_and_defaults() -> None:
    data = serialized(float=2.5, int32=-4, sfixed32=-1, enum=5)
    names, types = (
        ["float", "int32", "sfixed32", "enum"],
        [tf.float64, tf.int64, tf.int64, tf.int32],
    )
    sizes, values = decode(data, names, types)
    assert sizes.numpy().tolist() == [1, 1, 1, 1]
    assert [v.numpy().tolist() for v in values] == [[2.5], [-4], [-1], [5]]
    sizes, (seven,) = decode([data], ["seven"], [tf.int32])
    assert (sizes.numpy().tolist(), seven.numpy().tolist()) == ([[0]], [[7]])


def test_messages_in_messages_and_packed_numbers() -> None:
    inner = message_class()(int32=9)
    data = serialized(child=inner, children=[inner, message_class()()], packed=[1, 300])
    names = ["child", "children", "packed"]
    sizes, values = decode([data], names, [tf.string, tf.string, tf.int32])
    assert sizes.numpy().tolist() == [[1, 2, 2]]
    text = inner.SerializeToString()
    assert values[0].numpy().tolist() == [[text]]
    assert values[1].numpy().tolist() == [[text, b""]]
    assert values[2].numpy().tolist() == [[1, 300]]
    assert encode(sizes, list(values), names).numpy().tolist() == [data]


def test_fields_are_written_in_the_order_of_their_numbers() -> None:
    made = encode([[1, 1]], [[["z"]], [[5]]], ["string", "int32"]).numpy()[0]
    assert made == serialized(int32=5, string="z")
    assert encode([[2]], [[[5, 6]]], ["int32"]).numpy()[0].count(bytes([made[0]])) == 2
    assert encode([[-1], [0]], [[[5], [6]]], ["int32"]).numpy().tolist() == [b"", b""]


def test_shapes_in_graphs_and_functions() -> None:
    data = np.array([[serialized(int32s=[1, 2, 3]), serialized(int32s=[4])]], object)

    def both(strings: Any) -> Any:
        sizes, (values,) = decode(strings, ["int32s"], [tf.int32])
        return sizes, values, encode(sizes, [values], ["int32s"])

    for result in (both(data), tf.function(both)(tf.constant(data))):
        sizes, values, again = result
        assert sizes.numpy().tolist() == [[[3], [1]]]
        assert values.numpy().tolist() == [[[1, 2, 3], [4, 0, 0]]]
        assert again.numpy().tolist() == data.tolist()
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        fed = tf.compat.v1.placeholder(tf.string, [None, 2])
        sizes, values, again = both(fed)
        assert sizes.shape.as_list() == [None, 2, 1]
        assert values.shape.as_list() == [None, 2, None]
        assert again.shape.as_list() == [None, 2]
        assert session.run(again, {fed: data}).tolist() == data.tolist()
    assert decode(data[0], [], []).sizes.shape == (2, 0)


def test_sources(tmp_path: Path) -> None:
    path = tmp_path / "kinds.pb"
    path.write_bytes(source().removeprefix(b"bytes://"))
    data = serialized(int32=3)
    found = decode([data], ["int32"], [tf.int32], descriptor_source=str(path))
    assert found.values[0].numpy().tolist() == [[3]]
    ints = tf.train.Int64List(value=[1, 2]).SerializeToString()
    found = tf.io.decode_proto([ints], "tensorflow.Int64List", ["value"], [tf.int64])
    assert found.values[0].numpy().tolist() == [[1, 2]]


def test_text_format() -> None:
    text = ["int32: 5 int32s: 1 int32s: 2"]
    found = decode(text, ["int32", "int32s"], [tf.int32] * 2, message_format="text")
    assert found.values[1].numpy().tolist() == [[1, 2]]
    with pytest.raises(tf.errors.DataLossError, match="text"):
        decode(["int32: x"], ["int32"], [tf.int32], message_format="text")


def test_what_is_refused() -> None:
    data = [serialized(int32=1)]
    invalid = tf.errors.InvalidArgumentError
    cases = [
        (lambda: decode(data, ["nothing"], [tf.int32]), "Unknown field: nothing"),
        (lambda: decode(data, ["uint64"], [tf.int64]), "uint64 to int64"),
        (lambda: decode(data, ["int64"], [tf.int32]), "int64 to int32"),
        (lambda: decode(data, ["int32"], [tf.int32] * 2), "as many output_types"),
        (lambda: decode(data, ["int32"], [tf.int32], message_format="xml"), "binary or text"),
        (lambda: decode(data, ["int32"], [tf.int32], descriptor_source="bytes://no"), "descriptor"),
        (lambda: decode(data, ["int32"], [tf.int32], descriptor_source="/nowhere"), "descriptor"),
        (lambda: tf.io.decode_proto(data, "no.Type", ["a"], [tf.int32]), "No descriptor"),
        (lambda: encode([[1]], [[["x"]]], ["int32"]), "dtype: string but field type is: int32"),
        (lambda: encode([[3]], [[[5]]], ["int32"]), "3 > 1 at message 0 field 0"),
        (lambda: encode([1], [[5]], ["int32"]), "at least a matrix"),
        (lambda: encode([[1], [1]], [[[5]]], ["int32"]), "equal shapes|sizes"),
        (lambda: encode([[1, 1]], [[[5]]], ["int32"]), "field_names"),
    ]
    for call, words in cases:
        with pytest.raises(invalid, match=words):
            call()
    with pytest.raises(tf.errors.DataLossError, match="binary"):
        decode([b"\x08"], ["int32"], [tf.int32])


def test_damaged_messages_are_refused_or_read() -> None:
    """Random bytes and flipped ones never do anything else."""
    rng = np.random.default_rng(5)
    sound = serialized(int32s=[1, 2, 300], string="text", child=message_class()(double=1.5))
    refused = 0
    for _ in range(300):
        data = bytearray(sound)
        for _ in range(rng.integers(1, 4)):
            data[rng.integers(len(data))] = rng.integers(256)
        try:
            decode([bytes(data)], ["int32s", "string"], [tf.int32, tf.string])
        except tf.errors.DataLossError:
            refused += 1
    assert 0 < refused < 300
