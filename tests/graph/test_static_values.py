"""Values known while a graph is built: found through many operations, in bounded time."""

import time

import numpy as np

import penstock as tf
from penstock.graph.static_values import MAX_DEPTH, constant_value, shape_value


def test_a_sum_of_constants():
    with tf.Graph().as_default():
        x = tf.raw_ops.AddV2(x=[1, 2], y=[3, 4])
    assert constant_value(x).tolist() == [4, 6]


def test_each_value_is_computed_once():
    with tf.Graph().as_default():
        x = tf.constant([1, 1])
        for _ in range(MAX_DEPTH - 2):
            x = tf.raw_ops.AddV2(x=x, y=x)
        start = time.monotonic()
        value = constant_value(x)
    assert time.monotonic() - start < 1
    assert value.dtype == np.int32


def test_far_constants_count_as_unknown():
    with tf.Graph().as_default():
        x = tf.constant([2, 3])
        for _ in range(3000):
            x = tf.raw_ops.Identity(input=x)
        assert constant_value(x) is None
        assert shape_value(x) == (None, None)
        y = tf.raw_ops.Reshape(tensor=[1.0] * 6, shape=x)
    assert y.shape.rank == 2


def test_a_long_vector_is_no_shape():
    with tf.Graph().as_default():
        x = tf.raw_ops.Fill(dims=[1000], value=1)
        assert shape_value(x) is None


def test_values_of_pieces_and_of_what_is_no_tensor():
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [2, None])
        pieces = tf.split([[1, 2], [3, 4]], 2, axis=1)
        assert [constant_value(piece).tolist() for piece in pieces] == [[[1], [3]], [[2], [4]]]
        rows = tf.unstack([[1, 2], [3, 4]], axis=1)
        assert [constant_value(row).tolist() for row in rows] == [[1, 3], [2, 4]]
        assert tf.strided_slice(x, [0, 0], [1, 2]).shape.as_list() == [1, None]
        handles = tf.raw_ops.TensorListReserve(
            element_shape=-1, num_elements=2, element_dtype=tf.float32
        )
        assert constant_value(tf.raw_ops.ZerosLike(x=handles)) is None
        for value in (3, [1, 2], "a", None):
            assert tf.get_static_value(value) is value
        assert tf.get_static_value(tf.compat.v1.Variable(1)) is None
