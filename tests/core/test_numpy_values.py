"""Arrays of text, dates and objects as tensors: NumPy's casts, TensorFlow's classes of errors."""

from typing import Any

import numpy as np
import pytest

import penstock as tf


@pytest.mark.parametrize(
    ("array", "dtype", "wanted"),
    [
        (np.array(["1", "2"]), "int32", [1, 2]),
        (np.array([b"1.5"]), "float64", [1.5]),
        (np.array(["1+1j"]), "complex128", [1 + 1j]),
        (np.array(["a", ""]), "bool", [True, False]),
        (np.array([3, None], object), "bool", [True, False]),
        (np.array([1.5, 2], object), "int32", [1, 2]),
        (np.array([3, 4], object), "bfloat16", [3, 4]),
        (np.array(["2020-01-01"], "datetime64[D]"), "int64", [18262]),
        (np.timedelta64(3, "D"), "float32", 3.0),
    ],
)
def test_a_dtype_asked_for_is_what_numpy_casts_to(array: Any, dtype: str, wanted: Any) -> None:
    eager = tf.constant(array, dtype)
    assert eager.dtype.name == dtype
    assert eager.numpy().tolist() == wanted
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        assert session.run(tf.constant(array, dtype)).tolist() == wanted


@pytest.mark.parametrize(
    ("array", "dtype", "error"),
    [
        (np.array(["a"]), "int32", ValueError),
        (np.array(["1"]), "bfloat16", TypeError),
        (np.array([None], object), "int32", TypeError),
        (np.array([300], object), "uint8", ValueError),
        (np.zeros(2, [("a", "i4"), ("b", "f4")]), "int32", ValueError),
    ],
)
def test_what_numpy_cannot_cast_is_refused(array: Any, dtype: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"to a Tensor"):
        tf.constant(array, dtype)


@pytest.mark.parametrize(
    "value", [np.datetime64("2020-01-01"), np.array([1, "a"], object), np.array([1], object)]
)
def test_what_no_dtype_holds_is_another_error_in_a_graph(value: Any) -> None:
    with pytest.raises(ValueError, match="Failed to convert a NumPy array"):
        tf.constant(value)
    with tf.Graph().as_default(), pytest.raises(TypeError, match="Failed to convert a NumPy array"):
        tf.constant(value)


def test_numbers_in_a_graph_are_no_text() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="Unsupported object type"):
        tf.constant(np.array([1, 2]), tf.string)


@pytest.mark.parametrize("dtype", ["bfloat16", "bool", "string"])
def test_an_integer_beyond_64_bits_is_out_of_range_for_any_dtype(dtype: str) -> None:
    with pytest.raises(ValueError, match="fits int64"):
        tf.constant(10**40, dtype)
    with pytest.raises(ValueError, match="fits int64"):
        tf.convert_to_tensor(2**63, dtype)


def test_an_integer_of_64_bits_is_unsigned_in_a_graph() -> None:
    with tf.Graph().as_default():
        assert tf.constant(2**63).dtype is tf.uint64
        with pytest.raises(TypeError, match="fits int64"):
            tf.constant(2**64)
    with pytest.raises(ValueError, match="fits int64"):
        tf.constant(2**63)


def test_symbolic_tensors_are_no_constants() -> None:
    with tf.Graph().as_default():
        symbolic = tf.constant(1)
        for value in ([symbolic, 2], symbolic):
            with pytest.raises(TypeError, match="symbolic tensor"):
                tf.compat.v1.constant(value, tf.float32, [2])


def test_an_empty_constant_of_version_1_fills_with_zeros() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        assert session.run(tf.compat.v1.constant([], shape=[3])).tolist() == [0, 0, 0]
        text = tf.compat.v1.constant(np.array([], object), tf.string, [2])
        assert session.run(text).tolist() == [b"", b""]


def test_shapes_have_the_name_of_shapes_in_a_graph() -> None:
    with tf.Graph().as_default():
        assert tf.convert_to_tensor(tf.TensorShape([1, 2])).name == "shape_as_tensor:0"
        assert tf.convert_to_tensor(tf.TensorShape([1]), name="s").name == "s:0"
