"""Values known while a graph is built: found through many operations, in bounded time."""

import time
import warnings

import numpy as np
import pytest

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


@pytest.mark.parametrize("around", ["while_loop", "cond", "function", "function in a loop"])
def test_a_shape_of_the_graph_around_is_known_inside(around) -> None:
    seen = []

    @tf.function(autograph=False)
    def program(sizes, x):
        shape = tf.concat([sizes, tf.shape(x)], 0)

        def fill(i=0):
            made = (tf.zeros(shape), tf.random.stateless_uniform(shape, [1, 2]))
            seen.append([m.shape.as_list() for m in made])
            return i + 1

        inner = tf.function(fill, autograph=False)
        run = {
            "while_loop": lambda: tf.while_loop(lambda i: i < 2, fill, [0]),
            "cond": lambda: tf.cond(sizes[0] > 1, fill, lambda: 0),
            "function": inner,
            "function in a loop": lambda: tf.while_loop(lambda i: i < 2, lambda i: inner(), [0]),
        }[around]
        run()
        return tf.shape(tf.zeros(shape))

    assert program(tf.constant([4]), tf.zeros([1, 6])).numpy().tolist() == [4, 1, 6]
    assert seen
    assert all(shape == [None, 1, 6] for shapes in seen for shape in shapes)


def test_a_loop_keeps_the_shape_that_broadcasting_gives_by_a_shape_from_outside() -> None:
    @tf.function(autograph=False)
    def program(sizes, x):
        shape = tf.concat([sizes, tf.shape(x)], 0)
        total = tf.while_loop(
            lambda t: tf.reduce_max(t) < 3.0, lambda t: (t + tf.ones(shape) * x,), [tf.zeros(shape)]
        )[0]
        assert total.shape.as_list() == [None, 1, 2]
        return total

    total = program(tf.constant([3]), tf.ones([1, 2]))
    np.testing.assert_array_equal(total, np.full([3, 1, 2], 3.0, np.float32))


def test_an_infinity_as_an_integer_warns_of_nothing():
    with warnings.catch_warnings(), tf.Graph().as_default():
        warnings.simplefilter("error")
        found = constant_value(tf.cast(tf.constant([float("inf"), float("nan")]), tf.int32))
    assert found.shape == (2,)


def test_the_static_value_of_a_scalar_in_a_graph_is_an_array():
    with tf.Graph().as_default():
        for value in (2, b"a", 1.5, True):
            known = tf.get_static_value(tf.constant(value))
            assert isinstance(known, np.ndarray)
            assert known.shape == ()
            assert known.item() == value
