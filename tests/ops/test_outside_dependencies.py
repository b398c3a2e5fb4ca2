"""Bodies of conditionals, loops and functions that wait for operations outside of them."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


def conditional(pred, update, value):
    def branch():
        with tf.control_dependencies([update]):
            return tf.identity(value)

    return tf.cond(pred, branch, lambda: tf.constant(-1.0))


def nested(pred, update, value):
    return tf.cond(pred, lambda: conditional(pred, update, value), lambda: tf.constant(-1.0))


def loop(pred, update, value):
    del pred

    def body(i, total):
        with tf.control_dependencies([update]):
            return i + 1, total + value

    return tf.while_loop(lambda i, _: i < 3, body, [tf.constant(0), tf.constant(0.0)])[1]


def function(pred, update, value):
    @tf.function
    def inner():
        with tf.control_dependencies([update]):
            return tf.identity(value)

    del pred
    return inner()


@pytest.mark.parametrize(
    ("build", "on", "off"),
    [(conditional, 1.0, -1.0), (nested, 1.0, -1.0), (loop, 3.0, 6.0), (function, 1.0, 2.0)],
)
def test_the_body_waits(build, on, off):
    with tf.Graph().as_default(), v1.Session() as session:
        variable = v1.get_variable("v", [], initializer=v1.zeros_initializer())
        pred = v1.placeholder(tf.bool, [])
        update = v1.assign_add(variable, 1.0).op
        result = build(pred, update, variable)
        session.run(v1.global_variables_initializer())
        assert session.run(result, {pred: True}) == on
        assert session.run(result, {pred: False}) == off
        assert session.run(variable) == 2.0  # it runs whatever the condition is


def test_a_branch_may_be_an_operation_outside_or_wait_for_a_tensor():
    with tf.Graph().as_default(), v1.Session() as session:
        variable = v1.get_variable("v", [2], initializer=v1.zeros_initializer())
        pred = v1.placeholder(tf.bool, [])
        update = tf.group(v1.assign_add(variable, [1.0, 2.0]))
        chosen = tf.cond(pred, lambda: update, tf.no_op)
        fed = v1.placeholder(tf.float32, [])

        def branch():
            with tf.control_dependencies([fed]):
                return tf.constant(1.0)

        waits = tf.cond(pred, branch, lambda: tf.constant(2.0))
        session.run(v1.global_variables_initializer())
        session.run(chosen, {pred: True})
        np.testing.assert_array_equal(session.run(variable), [1.0, 2.0])
        assert session.run(waits, {pred: True, fed: 0.0}) == 1.0


def test_an_operation_of_another_graph_is_refused():
    with tf.Graph().as_default():
        stranger = tf.no_op()
    with tf.Graph().as_default():

        def branch():
            with tf.control_dependencies([stranger]):
                return tf.constant(1)

        with pytest.raises(ValueError, match="is not an element of this graph"):
            tf.cond(tf.constant(True), branch, lambda: tf.constant(2))
