"""What stands beside a tensor: text, dates, sparse tensors, variables, and their errors."""

from typing import Any

import numpy as np
import pytest

import penstock as tf


def test_dates_are_their_numbers() -> None:
    day = np.datetime64("1970-01-03")
    assert (tf.constant([1, 2]) + day).numpy().tolist() == [3, 4]
    assert (np.timedelta64(2, "D") * tf.constant([1.5])).numpy().tolist() == [3.0]
    assert (tf.constant([2, 3]) == day).numpy().tolist() == [True, False]


def test_text_that_is_a_number_is_one() -> None:
    assert (tf.constant([1, 2]) - np.array(["1", "3"])).numpy().tolist() == [0, -1]
    assert (tf.constant([True]) & np.array(["a"])).numpy().tolist() == [True]


def test_text_that_is_none_names_both_dtypes() -> None:
    text = np.array(["a", "b"])
    with pytest.raises(ValueError, match="NumPy can cast"):
        tf.constant([1, 2]) - text
    with pytest.raises(TypeError, match=r"tf\.int32 != tf\.string"):
        tf.constant([1, 2]) / text
    with pytest.raises(tf.errors.InvalidArgumentError, match="int32 tensor but is a string"):
        tf.constant([[1, 2]]) @ text
    with tf.Graph().as_default(), pytest.raises(TypeError, match="string"):
        _ = tf.constant([1, 2]) < text


@pytest.mark.parametrize("swapped", [False, True])
def test_sparse_tensors_have_few_operators(swapped: bool) -> None:
    dense, sparse = tf.constant([1.0, 2.0]), tf.sparse.from_dense([[3.0, 0.0]])
    x, y = (sparse, dense) if swapped else (dense, sparse)
    assert tf.sparse.to_dense(x * y).numpy().tolist() == [[3.0, 0.0]]
    for operator in ("__add__", "__lt__", "__eq__", "__ne__", "__matmul__"):
        with pytest.raises(ValueError, match="SparseTensor"):
            getattr(tf.Tensor, operator)(dense, sparse)
    with pytest.raises(ValueError, match="SparseTensor"):
        _ = x == y


def test_a_product_with_a_sparse_tensor_of_another_dtype() -> None:
    sparse = tf.sparse.from_dense([[3.0, 0.0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="SparseDenseCwiseMul"):
        tf.constant([1, 2]) * sparse
    with tf.Graph().as_default():
        named = tf.constant([1.0, 2.0]) * tf.sparse.from_dense([[3.0, 0.0]])
        assert named.values.op.name == "mul"


@pytest.mark.parametrize(
    ("function", "wanted"),
    [(tf.subtract, 1.0), (tf.maximum, 2.0), (tf.less, False), (tf.divide, 2.0), (tf.pow, 2.0)],
)
def test_a_number_before_a_variable_takes_its_dtype(function: Any, wanted: Any) -> None:
    assert function(2, tf.Variable(1.0)).numpy() == wanted


def test_a_truth_that_is_none_is_refused_before_the_tensor_beside_it() -> None:
    with pytest.raises(TypeError, match="Cannot convert 2 to EagerTensor of dtype bool"):
        tf.logical_and(tf.constant([1.0]), 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="LogicalOr"):
        tf.logical_or(tf.constant([1.0]), True)


def test_a_quotient_has_its_name() -> None:
    with tf.Graph().as_default():
        quotient = tf.divide(tf.constant(1), 2, name="q")
        assert (quotient.op.type, quotient.op.name) == ("RealDiv", "q")


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64])
@pytest.mark.parametrize("shape", [[], [1], [1, 1]])
def test_a_power_of_a_half_is_no_square_root(dtype, shape):
    x, half = (
        tf.constant([-np.inf, -0.0, 0.0, 4.0, -1.0], dtype),
        tf.fill(shape, tf.cast(0.5, dtype)),
    )
    wanted = [np.inf, 0.0, 0.0, 2.0, np.nan]
    for power in (tf.pow, tf.function(tf.pow), tf.function(tf.pow, jit_compile=True)):
        found = tf.cast(power(x, half), tf.float64).numpy().reshape(-1)
        np.testing.assert_array_equal(found, wanted)
        assert not np.signbit(found[1])
