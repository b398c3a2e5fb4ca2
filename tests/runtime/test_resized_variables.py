"""Compiled steps that give variables of open shape values of other shapes."""

import numpy as np
import pytest

import penstock as tf

SIZE = 40_000  # more than runs on the host


def test_a_step_that_resizes_its_variable_warns_of_nothing_and_keeps_what_others_hold():
    variable = tf.Variable(tf.ones([SIZE]), shape=tf.TensorShape(None))

    @tf.function(jit_compile=True)
    def grow(x):
        variable.assign(tf.concat([variable, x], 0) * 2.0)
        return tf.reduce_sum(variable)

    held = []
    for i in range(4):  # JAX's warning would be an error
        held.append(tf.identity(variable))
        total = float(grow(tf.ones([3])))
        assert total == pytest.approx(float(np.sum(held[-1].numpy()) + 3) * 2)
        assert variable.numpy().shape == (SIZE + 3 * (i + 1),)
    assert [t.shape[0] for t in held] == [SIZE + 3 * i for i in range(4)]
    assert held[0].numpy().tolist() == [1.0] * SIZE


def test_shapes_that_come_and_go_in_a_session():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        ones = np.ones([200, 200], np.float32)
        variable = v1.Variable(ones, validate_shape=False, use_resource=False)
        flat = v1.assign(variable, tf.reshape(variable * 2.0, [-1]), validate_shape=False)
        for _ in range(3):
            session.run(variable.initializer)
            assert session.run(flat).shape == (SIZE,)
            assert session.run(flat).tolist() == [4.0] * SIZE
