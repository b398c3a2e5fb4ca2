"""Bytes, records and messages in strings: what TensorFlow reads, and how bad ones are refused."""

import contextlib
import gc
import gzip
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as tf
from penstock.ops import string_decode, string_messages

BAD = tf.errors.InvalidArgumentError


def value(tensor):
    return tensor.numpy().tolist() if tensor.shape.rank else tensor.numpy()


# ---- raw numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "little", "wanted"),
    [
        (tf.int16, True, [[12592, 13106], [256, 256]]),
        (tf.int16, False, [[12337, 12851], [1, 1]]),
        (tf.uint8, False, [[48, 49, 50, 51], [0, 1, 0, 1]]),
        (tf.int32, False, [[808530483], [65537]]),
        (tf.bool, True, [[True] * 4, [False, True, False, True]]),
        (tf.float16, True, [[0.162109375, 0.224853515625], [1.52587890625e-05] * 2]),
    ],
)
def test_decode_raw(dtype, little, wanted):
    got = tf.io.decode_raw([b"0123", b"\x00\x01\x00\x01"], dtype, little)
    assert got.dtype == dtype
    assert value(got) == wanted


def test_decode_raw_of_complex_numbers_swaps_each_part():
    data = np.array([1 + 2j], ">c8").tobytes()
    assert value(tf.io.decode_raw(data, tf.complex64, little_endian=False)) == [1 + 2j]


def test_decode_raw_shapes():
    assert tf.io.decode_raw([b"", b""], tf.int16).shape == (2, 0)
    assert tf.io.decode_raw(tf.zeros([0], tf.string), tf.int16).shape == (0, 0)
    assert value(tf.compat.v1.decode_raw(bytes=b"ab", out_type=tf.uint8)) == [97, 98]


def test_fixed_length():
    got = tf.io.decode_raw([b"abcdef", b"ab"], tf.int16, fixed_length=4)
    assert value(got) == [[25185, 25699], [25185, 0]]
    assert tf.io.decode_raw(tf.zeros([0], tf.string), tf.int16, fixed_length=4).shape == (0, 2)
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.string, [None])
        assert tf.io.decode_raw(x, tf.int16, fixed_length=4).shape.as_list() == [None, 2]
        with pytest.raises(ValueError, match=r"\(3\) must be a multiple"):
            tf.io.decode_raw(x, tf.int16, fixed_length=3)


@pytest.mark.parametrize(
    ("data", "options", "text"),
    [
        ([b"ab", b"abc"], {}, "element 1 has size 3 != 2"),
        ([b"abc"], {}, "length 3 that is not a multiple of 2"),
        ([b"ab"], {"fixed_length": 3}, "multiple"),
        ([b"ab"], {"fixed_length": 0}, "greater than zero"),
        ([b"ab"], {"fixed_length": [4]}, "scalar"),
    ],
)
def test_decode_raw_refuses(data, options, text):
    with pytest.raises(BAD, match=text):
        tf.io.decode_raw(data, tf.int16, **options)


# ---- base 64 ------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.lists(st.binary(max_size=20), max_size=4), st.booleans())
def test_base64_round_trip(texts, pad):
    data = tf.constant(np.array(texts, object), tf.string)
    encoded = tf.io.encode_base64(data, pad=pad)
    assert value(tf.io.decode_base64(encoded)) == texts


def test_base64_values():
    assert value(tf.io.encode_base64([b"\xfb\xef", b"a"], pad=True)) == [b"--8=", b"YQ=="]
    assert value(tf.io.encode_base64(b"\xfb\xef")) == b"--8"
    assert value(tf.io.decode_base64("YR==")) == b"a"


@pytest.mark.parametrize(
    "text", [b"YQ=", b"//79", b"Y", b"YQ===", b"Y Q", b"Y=Q=", b"=", b"YWJ\n", b"====", b"\xff" * 4]
)
def test_bad_base64(text):
    with pytest.raises(BAD, match="DecodeBase64"):
        tf.io.decode_base64(text)


# ---- compressed data ----------------------------------------------------------------------------

DATA = b"hello" * 10


def test_decode_compressed():
    packed, zipped = zlib.compress(DATA), gzip.compress(DATA)
    assert value(tf.io.decode_compressed([packed + b"xyz"], "ZLIB")) == [DATA]
    assert value(tf.io.decode_compressed([zipped * 2, b""], "GZIP")) == [DATA * 2, b""]
    assert value(tf.io.decode_compressed([DATA])) == [DATA]
    assert value(tf.io.decode_compressed([packed[:-6]], "ZLIB")) == [b"helloh"]


def test_bad_compressed_data():
    with pytest.raises(tf.errors.DataLossError, match="incorrect header"):
        tf.io.decode_compressed([DATA], "ZLIB")
    with pytest.raises(tf.errors.DataLossError, match="incorrect data check"):
        tf.io.decode_compressed([zlib.compress(DATA)[:-1] + b"\0"], "ZLIB")
    with pytest.raises(BAD, match="Only ZLIB, GZIP or NONE"):
        tf.io.decode_compressed([DATA], "zlib")


def test_decompressed_data_is_bounded():
    with pytest.raises(tf.errors.ResourceExhaustedError, match="at most 1000 bytes"):
        string_decode.inflated(zlib.compress(bytes(2000)), "ZLIB", most=1000)


# ---- records ------------------------------------------------------------------------------------

ABC = [["a"], ["b"], ["c"]]


@pytest.mark.parametrize(
    ("record", "defaults", "options", "wanted"),
    [
        ("1,2,3", [[1], [2.0], ["x"]], {}, [1, 2.0, b"3"]),
        (",,", ABC, {}, [b"a", b"b", b"c"]),
        ('1,"2",3', ABC, {}, [b"1", b"2", b"3"]),
        ('1,"2",3', ABC, {"use_quote_delim": False}, [b"1", b'"2"', b"3"]),
        ('"a""b","c,\n",', ABC, {}, [b'a"b', b"c,\n", b"c"]),
        ("NA,2,3", [[5], ["b"], ["c"]], {"na_value": "NA"}, [5, b"2", b"3"]),
        ("1,2,3,4", [["a"], ["b"]], {"select_cols": [0, 2]}, [b"1", b"3"]),
        ('1,2,"3', [["a"]], {"select_cols": [1]}, [b"2"]),
        ("1\t2", [0, 0], {"field_delim": "\t"}, [1, 2]),
        ("9999999999", [np.zeros(1, np.int64)], {}, [9999999999]),
    ],
)
def test_decode_csv(record, defaults, options, wanted):
    assert [value(t) for t in tf.io.decode_csv(record, defaults, **options)] == wanted


REQUIRED = np.zeros(0, np.int32)


@pytest.mark.parametrize(
    ("records", "defaults", "options", "text"),
    [
        (["1,2,3", "1,2"], ABC, {}, "Expect 3 fields but have 2 in record 1"),
        ([""], [["a"]], {}, "Expect 1 fields but have 0"),
        (["1.5"], [[1]], {}, "Field 0 in record 0 is not a valid int32"),
        (["99999999999"], [[1]], {}, "not a valid int32"),
        (["1,"], [[1], REQUIRED], {}, "Field 1 is required but missing in record 0"),
        (['1,2,"3'], ABC, {}, "has to end with quote"),
        (["1,2,3\n"], ABC, {}, "cannot have quotes/CRLFs"),
        (["1,2,3\n"], ABC, {"use_quote_delim": False}, "cannot have quotes/CRLFs"),
        (['"a"x,b,c'], ABC, {}, "has to be escaped"),
        (["1,2"], [[0], [0]], {"field_delim": "ab"}, "only 1 char"),
        (["1,2"], [[0, 1], [0]], {}, "only be 1 default per field but field 0 has 2"),
    ],
)
def test_bad_records(records, defaults, options, text):
    with pytest.raises(BAD, match=text):
        tf.io.decode_csv(records, defaults, **options)


@pytest.mark.parametrize("columns", [[1, 0], [0, 0], [-1, 0], [0, 1, 2]])
def test_bad_columns(columns):
    with pytest.raises(ValueError, match="select_cols"):
        tf.io.decode_csv(["1,2"], [[0], [0]], select_cols=columns)


def test_decode_csv_keeps_shapes():
    first, second = tf.compat.v1.decode_csv([["1,2"], ["3,4"]], [[0], [0]], ",", True, "parse")
    assert value(first) == [[1], [3]]
    assert value(second) == [[2], [4]]


# ---- messages -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "array",
    [
        np.int32(1),
        np.array([1.5, 2], np.float32),
        np.array([["a", "b"]], object),
        np.zeros((0, 3), np.int8),
        np.array([True]),
        np.array(1 + 2j),
    ],
)
def test_tensors_round_trip(array):
    tensor = tf.constant(array)
    back = tf.io.parse_tensor(tf.io.serialize_tensor(tensor), tensor.dtype)
    assert back.dtype == tensor.dtype
    np.testing.assert_array_equal(back.numpy(), tensor.numpy())


def test_serialize_tensor_writes_what_tensorflow_writes():
    assert value(tf.io.serialize_tensor(1)) == b'\x08\x03\x12\x00"\x04\x01\x00\x00\x00'
    assert (
        value(tf.io.serialize_tensor(["a", "b"])) == b"\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x01b"
    )


HUGE = b"\x08\x03\x12\x0c\x12\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f"


@pytest.mark.parametrize("data", [b"garbage", b"", HUGE, [b"a"]])
def test_parse_tensor_refuses(data):
    with pytest.raises(BAD, match="ParseTensor"):
        tf.io.parse_tensor(data, tf.int32)


def test_parse_tensor_refuses_another_dtype():
    with pytest.raises(BAD, match=r"Type mismatch between parsed tensor \(int32\) and dtype"):
        tf.io.parse_tensor(tf.io.serialize_tensor(1), tf.float32)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_parse_tensor_survives_anything(data):
    with contextlib.suppress(BAD):
        tf.io.parse_tensor(data, tf.int32)


def test_decode_json_example():
    text = '{"features":{"feature":{"a":{"int64List":{"value":[1]}}}}}'
    message = tf.train.Example.FromString(value(tf.io.decode_json_example(text)))
    assert list(message.features.feature["a"].int64_list.value) == [1]
    for bad in ("{", "", "[]", '{"x": 1}', b"\xff"):
        with pytest.raises(BAD, match="DecodeJSONExample"):
            tf.io.decode_json_example([bad])


def test_resources_travel_as_messages_while_they_live():
    variable = tf.Variable(3.0)

    def read(handle):
        handle = tf.io.parse_tensor(tf.io.serialize_tensor(handle), tf.resource)
        return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)

    assert read(variable.handle) == 3.0
    assert tf.function(read)(variable.handle) == 3.0
    text = tf.io.serialize_tensor(variable.handle)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.parse_tensor(text, tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.parse_tensor(tf.io.serialize_tensor([1.0]), tf.resource)
    del variable
    gc.collect()
    with pytest.raises(tf.errors.NotFoundError, match="Parse it while its variable"):
        tf.io.parse_tensor(text, tf.resource)


JSON_VALUES = [
    '"floatList": {"value": [1, 2.5, -0.0, 1e-50]}',
    '"floatList": {"value": []}',
    '"floatList": {"value": [true]}',
    '"floatList": {"value": [NaN]}',
    '"floatList": {"value": [1e40]}',
    '"floatList": {"value": [1%s]}' % ("0" * 45),
    '"floatList": {"value": 1}',
    '"float_list": {"value": [1]}',
    '"int64List": {"value": [1, -9223372036854775808]}',
    '"int64List": {"value": [9223372036854775808]}',
    '"int64List": {"value": ["5", 3]}',
    '"bytesList": {"value": ["aGk="]}',
    '"floatList": {"value": [1]}, "int64List": {"value": [2]}',
    '"floatList": {"value": [1]}}, "x": {"floatList": {"value": [2]}',
]


@pytest.mark.parametrize(
    "text",
    [
        *('{"features": {"feature": {"x": {' + each + "}}}}" for each in JSON_VALUES),
        '{"features": {"feature": {"x": {"floatList": {"value": [1]}}, "\u00e9": null}}}',
        *('{"features": {"feature": {}}}', '{"features": {}}', '{"features": null}', "{}"),
    ],
)
def test_examples_in_json_are_those_of_protobuf_s_parser(text, monkeypatch):
    def outcome():
        try:
            return value(tf.io.decode_json_example(text))
        except BAD as problem:
            return str(problem).splitlines()[0]

    found = outcome()
    monkeypatch.setattr(string_messages, "_plain_json_example", lambda text: None)
    assert outcome() == found


@pytest.mark.parametrize("others", ["", ', "b": {"bytesList": {"value": ["YQ=="]}}'])
@pytest.mark.parametrize("sign", ["", "-"])
def test_numbers_that_are_rounded_to_the_largest_float(sign, others):
    """Those of plain features, and those that protobuf's parser reads."""

    def read(digits):
        features = f'{{"a": {{"floatList": {{"value": [{digits}]}}}}{others}}}'
        text = f'{{"features": {{"feature": {features}}}}}'
        message = tf.raw_ops.DecodeJSONExample(json_examples=text).numpy()
        return list(tf.train.Example.FromString(message).features.feature["a"].float_list.value)

    largest = float(np.finfo(np.float32).max)
    assert read(f"{sign}3.4028235e38") == [float(f"{sign}{largest}")]
    with pytest.raises(BAD, match="Float value too"):
        read(f"{sign}3.4028235677973366e38")
