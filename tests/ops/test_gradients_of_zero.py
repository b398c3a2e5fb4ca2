"""Where no gradient comes back, none goes on: not to a root of a negative number, either."""

import numpy as np
import pytest

import penstock as tf

ROOTS = {
    "sqrt": (tf.sqrt, [-1.0, 0.0, np.nan]),
    "rsqrt": (tf.math.rsqrt, [-1.0, 0.0, np.nan]),
    "reciprocal": (tf.math.reciprocal, [0.0, -0.0, np.nan]),
}
GRADS = ("SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad")


def masked(function):
    """Takes the function where a mask is set, by itself and compiled."""

    def gradient(x, mask):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.where(mask, function(x), 0.0)
        return tape.gradient(y, x)

    return gradient, tf.function(gradient, jit_compile=True)


@pytest.mark.parametrize("name", ROOTS)
def test_what_was_not_chosen_has_no_part_in_a_gradient(name):
    function, values = ROOTS[name]
    x = tf.constant([*values, 4.0], tf.float32)
    for run in masked(function):
        found = run(x, tf.constant([False, False, False, True])).numpy()
        assert found[:3].tolist() == [0, 0, 0]
        assert np.isfinite(found[3])
        assert found[3] != 0


@pytest.mark.parametrize("name", GRADS)
@pytest.mark.parametrize("dtype", [tf.bfloat16, tf.float32, tf.float64, tf.complex64])
def test_gradient_operations_of_zero(name, dtype):
    y = tf.cast(tf.constant([np.nan, np.inf, -np.inf, 0.0, 2.0]), dtype)
    operation = getattr(tf.raw_ops, name)
    compiled = tf.function(lambda y, dy: operation(y=y, dy=dy), jit_compile=True)
    for run in (operation, compiled):
        assert run(y=y, dy=tf.zeros_like(y)).numpy().tolist() == [0] * 5
        assert np.isnan(run(y=y, dy=y * np.nan).numpy()).all()


@pytest.mark.parametrize("function", [tf.math.log, lambda x: tf.math.log1p(x - 1)])
def test_second_derivatives_of_logarithms_that_were_not_chosen(function):
    x = tf.constant([0.0, 4.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.where(x > 0, function(x), 0.0)
        slope = inner.gradient(y, x)
    np.testing.assert_allclose(outer.gradient(slope, x), [0, -1 / 16], rtol=1e-6)


def test_deviations_and_norms_of_what_does_not_vary():
    x = tf.zeros([3, 2])
    for function in (tf.math.reduce_std, tf.norm):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.where([True, False, False], 0.0, function(x, axis=1))
        found = tape.gradient(y, x).numpy()
        assert found[0].tolist() == [0, 0]
        assert np.isnan(found[1:]).all()


def test_outputs_of_identity_n_that_nothing_uses_have_gradients_of_zero():
    x, y, n = tf.constant([1.0, 2.0]), tf.constant([3.0]), tf.constant([1])

    def gradients():
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            first, _, _ = tf.identity_n([x, y, n])
        return tape.gradient(first, [x, y])

    for way in (gradients, tf.function(gradients)):
        assert [g.numpy().tolist() for g in way()] == [[1.0, 1.0], [0.0]]
    with tf.Graph().as_default():
        a, b = tf.constant(1.0), tf.constant(2.0)
        given = tf.gradients(tf.identity_n([a, b])[0], [a, b])
        with tf.compat.v1.Session() as session:
            assert session.run(given) == [1.0, 0.0]
