"""Values as messages: against what TensorFlow wrote and read, and against damaged messages."""

import json
import random
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from google.protobuf import text_format
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from penstock import errors, proto, types
from penstock.graph.tensor_codecs import narrow
from penstock.graph.tensor_proto import (
    MAX_FILL_BYTES,
    array_to_proto,
    make_ndarray,
    make_tensor_proto,
    proto_to_array,
)

FACTS = json.loads((Path(__file__).resolve().parents[1] / "data/tf_tensor_protos.json").read_text())
DTYPES = [
    types.as_dtype(number)
    for number in range(1, 34)
    if types.as_dtype(number).name not in ("resource", "variant")
]
NAMES = {
    **{dtype.name: dtype for dtype in [*DTYPES, types.resource, types.variant]},
    "half": types.float16,
    "np": np,
    "ml_dtypes": ml_dtypes,
    "make": make_tensor_proto,
}
# TensorFlow fails on text beside bytes that are not UTF-8; the bytes are a fine string.
ACCEPTED_HERE = {"make(['a', b'a\\xff'])"}


def message(text: str) -> Any:
    return text_format.Parse(text, proto.tensor_pb2.TensorProto())


def elements(dtype: types.DType, shape: tuple[int, ...], seed: int = 0) -> np.ndarray[Any, Any]:
    """Random elements, every bit pattern among them, as the dtype's storage type."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    if dtype is types.string:
        found = np.empty(count, object)
        found[:] = [rng.bytes(rng.integers(0, 5)) for _ in range(count)]
        return found.reshape(shape)
    if dtype is types.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    bits = rng.integers(0, 256, count * dtype.numpy_dtype.itemsize, np.uint8)
    return narrow(bits.view(dtype.numpy_dtype)).reshape(shape)


def same(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    """Equal in type, shape and every bit."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.dtype == object:
        return left.tolist() == right.tolist()
    return left.tobytes() == right.tobytes()


@pytest.mark.parametrize("expression", FACTS["make"])
def test_writes_what_tensorflow_writes(expression: str) -> None:
    expected = FACTS["make"][expression]
    if expected.startswith("!") and expression not in ACCEPTED_HERE:
        with pytest.raises((TypeError, ValueError)) as caught:
            eval(expression, dict(NAMES))
        assert type(caught.value).__name__ == expected[1:]
        return
    made = eval(expression, dict(NAMES))
    if expression not in ACCEPTED_HERE:
        assert made == proto.tensor_pb2.TensorProto.FromString(bytes.fromhex(expected))
    make_ndarray(made) if made.tensor_shape.ByteSize() < 8 else None


@pytest.mark.parametrize("text", FACTS["read"])
def test_reads_what_tensorflow_reads(text: str) -> None:
    expected = FACTS["read"][text]
    if isinstance(expected, str):
        with pytest.raises(errors.InvalidArgumentError, match=r"expected .*, got "):
            make_ndarray(message(text))
        return
    array, dtype = proto_to_array(message(text))
    assert (dtype.name, list(array.shape)) == (expected["dtype"], expected["shape"])
    assert array.flags.writeable
    if dtype is types.string:
        assert [item.hex() for item in array.reshape(-1)] == expected["elements"]
        return
    raw = np.frombuffer(bytes.fromhex(expected["elements"]), dtype.numpy_dtype)
    assert same(array, narrow(raw).reshape(array.shape))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (0,), (2, 0, 3), (1,) * 64])
def test_arrays_come_back_as_they_went(dtype: types.DType, shape: tuple[int, ...]) -> None:
    for seed in range(5):
        array = elements(dtype, shape, seed)
        data = array_to_proto(array, dtype).SerializeToString()
        found, found_dtype = proto_to_array(proto.tensor_pb2.TensorProto.FromString(data))
        assert found_dtype is dtype
        assert same(found, array)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_any_memory_layout_is_written_in_order(dtype: types.DType) -> None:
    array = elements(dtype, (4, 6))
    for view in (array.T, array[::2, 1::2], array[::-1]):
        assert array_to_proto(view, dtype) == array_to_proto(view.copy(), dtype)


def test_big_endian_arrays_are_written_little_endian() -> None:
    # TensorFlow 2.21 writes the bytes as they lie and so other numbers
    swapped = np.array([1, 2], ">i4")
    assert make_tensor_proto(swapped) == make_tensor_proto(np.array([1, 2], np.int32))
    assert make_tensor_proto(np.array([1.5], ">f8")).double_val == [1.5]


def test_out_of_range_numbers_are_refused() -> None:
    # TensorFlow 2.21 wraps them around: 300 becomes 44
    with pytest.raises(ValueError, match="300"):
        make_tensor_proto(300, types.int8)


def test_quantised_elements_are_structures_outside_and_numbers_inside() -> None:
    made = make_tensor_proto([(1,), (2,)], types.qint8)
    assert make_ndarray(made).dtype == types.qint8.as_numpy_dtype
    assert make_ndarray(made).tolist() == [(1,), (2,)]
    assert proto_to_array(made)[0].tolist() == [1, 2]
    assert make_tensor_proto([1, 2], types.qint8) == made


def test_a_fill_is_bounded_before_it_is_made() -> None:
    limit = 4096
    text = "dtype: DT_FLOAT tensor_shape { dim { size: %d } } float_val: 7"
    at_limit = limit // 4 + 1  # one element is carried
    found, _ = proto_to_array(message(text % at_limit), max_fill_bytes=limit)
    assert found.nbytes == limit + 4
    with pytest.raises(errors.InvalidArgumentError, match=f"{limit + 4} bytes more"):
        proto_to_array(message(text % (at_limit + 1)), max_fill_bytes=limit)
    with pytest.raises(errors.InvalidArgumentError, match=f"at most {MAX_FILL_BYTES} bytes"):
        make_ndarray(message(text % 2**40))
    with pytest.raises(errors.InvalidArgumentError, match=r"2\*\*63 bytes"):
        make_ndarray(message(text % 2**62))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tensor_shape { unknown_rank: true } float_val: 7", "an unknown rank"),
        ("tensor_shape { unknown_rank: true dim { size: 1 } } float_val: 7", "1 of them"),
        ("tensor_shape { dim { size: -1 } } float_val: 7", r"unknown sizes in \[None\]"),
        ("tensor_shape { dim { size: -7 } } float_val: 7", r"at least -1 .*got \[-7\]"),
        ("tensor_shape { dim { size: 1 } } float_val: [1, 2]", "at most 1 entries.*got 2"),
        ("tensor_shape { dim { size: 0 } } float_val: 1", "at most 0 entries.*got 1"),
        ('tensor_shape { dim { size: 2 } } tensor_content: "abcd"', "8 bytes, got 4 bytes"),
        ('tensor_shape { dim { size: 0 } } tensor_content: "abcd"', "0 bytes, got 4 bytes"),
        (
            "tensor_shape { dim { size: 0 } dim { size: 4611686018427387904 } dim { size: 4 } }",
            r"2\*\*63 bytes",
        ),
    ],
)
def test_contradictions_are_refused(text: str, expected: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=expected):
        make_ndarray(message("dtype: DT_FLOAT " + text))
    with pytest.raises(errors.InvalidArgumentError, match="Const 'c': "):
        proto_to_array(message("dtype: DT_FLOAT " + text), where="Const 'c'")


def test_an_odd_number_of_complex_parts_is_refused() -> None:
    text = "dtype: DT_COMPLEX64 tensor_shape { dim { size: 2 } } scomplex_val: [1, 2, 3]"
    with pytest.raises(errors.InvalidArgumentError, match=r"3 \(an odd number\)"):
        make_ndarray(message(text))


def test_strings_as_bytes_claim_no_more_than_is_there() -> None:
    text = 'dtype: DT_STRING tensor_shape { dim { size: %d } } tensor_content: "%s"'
    assert make_ndarray(message(text % (2, "\\001\\002abc"))).tolist() == [b"a", b"bc"]
    for count, content in (
        (2**59, "\\001a"),
        (1, "\\377\\377\\377\\377\\177"),
        (3, "\\001\\001ab"),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=f"content of {count} lengths"):
            make_ndarray(message(text % (count, content)))


@pytest.mark.parametrize("number", [0, 20, 21, 34, 101, 1000, -1])
def test_other_dtypes_have_no_array(number: int) -> None:
    tensor = proto.tensor_pb2.TensorProto()
    tensor.ParseFromString(b"\x08" + varint(number))
    with pytest.raises(TypeError):
        make_ndarray(tensor)


def varint(number: int) -> bytes:
    number %= 2**64
    found = b""
    while number >= 0x80:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def check_reading(data: bytes) -> None:
    """Reading gives an array of bounded size or one of the two errors."""
    limit = 1 << 16
    try:
        tensor = proto.tensor_pb2.TensorProto.FromString(data)
        array, dtype = proto_to_array(tensor, max_fill_bytes=limit)
    except (DecodeError, TypeError, errors.InvalidArgumentError):
        return
    assert array.nbytes <= limit + 8 * len(data)
    again, _ = proto_to_array(array_to_proto(array, dtype))
    assert same(again, array)


@given(st.data())
def test_damaged_messages_do_no_harm(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(DTYPES))
    shape = tuple(data.draw(st.lists(st.integers(0, 3), max_size=3)))
    good = array_to_proto(elements(dtype, shape), dtype).SerializeToString()
    rng = random.Random(data.draw(st.integers(0, 2**32)))
    bad = bytearray(good)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(bad) + 1)
        change = rng.choice(("set", "insert", "cut"))
        if change == "insert":
            bad[at:at] = rng.randbytes(rng.randint(1, 9))
        elif at < len(bad):
            bad[at : at + 1] = bytes([rng.randrange(256)]) if change == "set" else b""
    check_reading(bytes(bad))


@given(st.integers(0, 40), st.lists(st.integers(-3, 2**63 - 1), max_size=5), st.binary(max_size=40))
def test_arbitrary_claims_do_no_harm(number: int, sizes: list[int], content: bytes) -> None:
    tensor = proto.tensor_pb2.TensorProto(tensor_content=content)
    tensor.MergeFromString(b"\x08" + varint(number))
    for size in sizes:
        tensor.tensor_shape.dim.add(size=size)
    check_reading(tensor.SerializeToString())
    tensor.ClearField("tensor_content")
    tensor.int_val.extend(content)
    tensor.float8_val = content
    check_reading(tensor.SerializeToString())


def test_messages_of_tensorflow_pass_through_and_are_read() -> None:
    tensor_pb2 = pytest.importorskip("tensorflow.core.framework.tensor_pb2")
    theirs = tensor_pb2.TensorProto.FromString(make_tensor_proto([1, 2]).SerializeToString())
    assert make_tensor_proto(theirs) is theirs
    assert make_ndarray(theirs).tolist() == [1, 2]
