"""tf.gradients in bodies of what was computed outside of them."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


def rows_of_jacobian(values, xs):
    def body(i, rows):
        return i + 1, rows.write(i, tf.gradients(values[i], xs)[0])

    rows = tf.TensorArray(tf.float32, 3)
    return tf.while_loop(lambda i, _: i < 3, body, [0, rows])[1].stack()


def in_branch(take):
    return tf.cond(v1.placeholder_with_default(True, []), take, lambda: tf.zeros([3]))


BUILDS = {
    "loop": lambda w, x, y: rows_of_jacobian(y, [w]),
    "loop to a placeholder": lambda w, x, y: rows_of_jacobian(y, [x]),
    "loop to a tensor": lambda w, x, y: rows_of_jacobian(y * 3.0, [y]),
    "loop through a conditional": lambda w, x, y: rows_of_jacobian(in_branch(lambda: y * y), [w]),
    "loop of second order": lambda w, x, y: rows_of_jacobian(tf.gradients(y, w)[0], [w]),
    "map_fn": lambda w, x, y: tf.map_fn(
        lambda i: tf.gradients(y[i], w)[0], tf.range(3), fn_output_signature=tf.float32
    ),
    "branch": lambda w, x, y: in_branch(lambda: tf.gradients(y, w)[0]),
    "branch in a branch": lambda w, x, y: in_branch(
        lambda: in_branch(lambda: tf.gradients(y * w, w)[0])
    ),
    "function": lambda w, x, y: tf.function(lambda: tf.gradients(y, w)[0])(),
    "stopped": lambda w, x, y: in_branch(lambda: tf.gradients(y * w, w, stop_gradients=[y])[0]),
}
W, X = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])
WANTED = {
    "loop": np.diag(2 * W * X),
    "loop to a placeholder": np.diag(W * W),
    "loop to a tensor": 3 * np.eye(3),
    "loop through a conditional": np.diag(4 * W**3 * X**2),
    "loop of second order": np.diag(2 * X),
    "map_fn": np.diag(2 * W * X),
    "branch": 2 * W * X,
    "branch in a branch": 3 * W * W * X,
    "function": 2 * W * X,
    "stopped": W * W * X,
}


@pytest.mark.parametrize("case", BUILDS)
def test_gradients_go_on_outside_of_the_body(case):
    with tf.Graph().as_default(), v1.Session() as session:
        w = v1.get_variable("w", initializer=tf.constant(W, tf.float32))
        x = v1.placeholder(tf.float32, [3])
        result = BUILDS[case](w, x, w * w * x)
        session.run(v1.global_variables_initializer())
        np.testing.assert_allclose(session.run(result, {x: X}), WANTED[case], rtol=1e-6)


def test_rows_of_a_table_outside_and_sources_that_are_not_reached():
    with tf.Graph().as_default(), v1.Session() as session:
        table = v1.get_variable("table", initializer=tf.ones([4, 3]))
        x = v1.placeholder(tf.float32, [3])
        value = tf.reduce_sum(tf.gather(table, [1, 1]) * x)
        found = []

        def branch():
            found.append(tf.gradients(x * 2.0, table)[0])
            return tf.convert_to_tensor(tf.gradients(value, table)[0])

        result = tf.cond(v1.placeholder_with_default(True, []), branch, lambda: tf.zeros([4, 3]))
        session.run(v1.global_variables_initializer())
        assert found == [None]
        wanted = np.zeros((4, 3))
        wanted[1] = 2 * X
        np.testing.assert_allclose(session.run(result, {x: X}), wanted)
