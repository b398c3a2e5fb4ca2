"""Small differences from TensorFlow that programs met, one test each."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize(
    ("dtype", "values", "mean"),
    [
        ("int8", [127, 127, 127], 127),
        ("uint8", [255, 0, 3], 86),
        ("int16", [32767] * 3, 32767),
        ("int32", [2**31 - 1] * 3, 2**31 - 1),
        ("uint32", [2**32 - 1] * 3, 2**32 - 1),
        ("int8", [-7, 0], -3),
    ],
)
def test_means_of_integers_do_not_overflow(wrap, dtype, values, mean) -> None:
    got = wrap(tf.reduce_mean)(tf.constant(values, dtype))
    assert got.dtype.name == dtype
    assert got.numpy() == mean
    rows = tf.constant([values] * 3000, dtype)
    assert list(np.unique(wrap(lambda x: tf.reduce_mean(x, 1))(rows))) == [mean]


def test_mean_of_no_integers_is_zero() -> None:
    got = tf.reduce_mean(tf.zeros([0, 2], tf.int16), 0)
    assert (got.dtype.name, list(got.numpy())) == ("int16", [0, 0])


def _slope(function, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


def test_sign_has_a_gradient_of_zeros() -> None:
    assert list(_slope(tf.sign, tf.constant([-2.0, 0.0, 3.0])).numpy()) == [0.0, 0.0, 0.0]


def test_the_gradient_of_running_products_is_finite_at_zero() -> None:
    assert list(_slope(tf.math.cumprod, tf.constant([0.0, 2.0])).numpy()) == [0.0, 0.0]
    assert list(_slope(tf.math.cumprod, tf.constant([3.0, 2.0])).numpy()) == [3.0, 3.0]


def test_gradients_of_integers_are_unconnected() -> None:
    with tf.Graph().as_default():
        x = tf.constant(2.0)
        assert tf.gradients(3, x) == [None]
        assert tf.gradients(tf.cast(x, tf.int32) * 2, x) == [None]
        assert tf.gradients(x > 1.0, x) == [None]
        with pytest.raises(TypeError, match="need grad_ys, got Const"):
            tf.gradients(tf.constant(1j), x)


def test_iterating_over_a_symbolic_scalar() -> None:
    with tf.Graph().as_default():
        for value in (1.0, [1.0]):
            with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
                iter(tf.constant(value))
    with pytest.raises(TypeError, match="Cannot iterate over a scalar tensor"):
        iter(tf.constant(1.0))


def test_import_graph_def_is_a_main_name() -> None:
    assert tf.import_graph_def is tf.graph_util.import_graph_def
