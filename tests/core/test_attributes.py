"""Attributes in their one form."""

import numpy as np

import penstock as tf


def test_floats_are_those_of_a_node_def():
    """They have 32 bits there, so a kernel of doubles sees no more of them either."""
    x = tf.constant([-1.0, 2.0], tf.float64)
    slope = float(np.float32(0.3))
    assert tf.nn.leaky_relu(x, 0.3).numpy().tolist() == [-slope, 2.0]
    assert tf.function(lambda: tf.nn.leaky_relu(x, 0.3))().numpy().tolist() == [-slope, 2.0]
    with tf.Graph().as_default():
        assert tf.nn.leaky_relu([1.0], 0.3).op.get_attr("alpha") == slope


def test_boundaries_are_those_of_a_node_def():
    sevenths = np.arange(1, 7) / 7
    found = tf.raw_ops.Bucketize(input=tf.constant(sevenths), boundaries=sevenths.tolist())
    want = np.searchsorted(sevenths.astype(np.float32).astype(np.float64), sevenths, "right")
    assert found.numpy().tolist() == want.tolist()


def test_a_float_beyond_float32_is_infinite():
    assert np.isinf(tf.nn.leaky_relu(tf.constant([-1.0]), 1e40).numpy()).all()


def test_zeros_of_both_signs_are_different_attributes():
    """They are equal, and a kernel that is kept for one must not serve the other."""
    x = tf.constant([-1.0])

    def both(x):
        leaky = tf.raw_ops.LeakyRelu
        return [leaky(features=x, alpha=alpha) for alpha in (0.0, -0.0, np.float32(-0.0), 0)]

    def signs(results):
        return [bool(np.signbit(r)[0]) for r in results]

    want = [True, False, False, True]
    assert signs(both(x)) == want
    for jit in (False, True):
        function = tf.function(both, jit_compile=jit)
        assert [signs(function(x)) for _ in range(3)] == [want] * 3
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        assert signs(session.run(both(tf.constant([-1.0])))) == want
