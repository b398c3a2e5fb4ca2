"""Handles of variables that pass through identities on their way to who reads them."""

import numpy as np

import penstock as tf


def _with_captured(variable):
    @tf.custom_gradient
    def scaled(x):
        def rule(upstream, variables=()):
            return upstream * 7.0, [upstream * 8.0 for _ in variables]

        return x * variable, rule

    return scaled


def test_a_custom_gradient_on_a_captured_variable_inside_a_function() -> None:
    variable = tf.Variable(3.0)
    scaled = _with_captured(variable)

    @tf.function
    def inner(x):
        return scaled(x)

    def slopes(call):
        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = call(x)
            return [y, *tape.gradient(y, [x, variable])]

        return [float(t) for t in step(tf.constant(3.0))]

    assert slopes(scaled) == [9.0, 7.0, 8.0]
    assert slopes(inner) == [9.0, 7.0, 8.0]


def test_a_custom_gradient_on_a_large_variable_in_a_session() -> None:
    with tf.Graph().as_default():
        variable = tf.compat.v1.Variable(tf.ones([100, 100]), use_resource=True)
        x = tf.compat.v1.placeholder(tf.float32, [100, 100])
        y = _with_captured(variable)(x)
        by_x, by_variable = tf.gradients(y, [x, variable])
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.global_variables_initializer())
            feed = {x: 0.0 * _ones()}
            assert session.run(y, feed).sum() == 0.0
            assert session.run(by_x, feed).max() == 7.0
            assert session.run(by_variable, feed).max() == 8.0


def _ones():
    return np.ones([100, 100], np.float32)


def test_identities_of_handles() -> None:
    variable = tf.Variable(tf.ones([100, 100]))

    @tf.function
    def read():
        one = tf.identity(variable.handle)
        several = tf.identity_n([variable.handle, tf.constant(2.0)])
        values = [
            tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
            for handle in (one, several[0])
        ]
        return tf.reduce_sum(values[0] + values[1]) * several[1]

    assert float(read()) == 40000.0


def test_values_that_are_fed_keep_their_identity() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [3])
        first, second = tf.identity_n([x, x + 1.0])
        with tf.control_dependencies([first.op]):
            last = tf.constant(5.0) + second[0]
        given = _ones()[0, :3]
        got = session.run([first, second, last], {x: given})
        assert got[0] is not given
        assert [list(got[0]), list(got[1]), float(got[2])] == [[1.0] * 3, [2.0] * 3, 7.0]
