"""One small program, run eagerly, in a session and as a function: the check of a few seconds.

The loss is mean((x w - y)^2) with its gradient in w, whose values are known by hand.
"""

import numpy as np
import pytest

import penstock as tf

X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
Y = np.array([[1.0], [2.0]], np.float32)
W = np.array([[0.5], [1.0]], np.float32)
LOSS = 7.25
GRADIENT = [[12.0], [17.0]]


def loss_of(x, y, w):
    return tf.reduce_mean(tf.square(tf.matmul(x, w) - y))


def eagerly():
    w = tf.Variable(W)
    with tf.GradientTape() as tape:
        loss = loss_of(tf.constant(X), tf.constant(Y), w)
    gradient = tape.gradient(loss, w)
    w.assign_sub(0.1 * gradient)
    return loss.numpy(), gradient.numpy(), w.numpy()


def in_a_session():
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 2])
        y = tf.compat.v1.placeholder(tf.float32, [None, 1])
        w = tf.compat.v1.get_variable("w", initializer=W)
        loss = loss_of(x, y, w)
        (gradient,) = tf.gradients(loss, [w])
        update = w.assign_sub(0.1 * gradient)
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.global_variables_initializer())
            values = session.run([loss, gradient], {x: X, y: Y})
            session.run(update, {x: X, y: Y})
            return *values, session.run(w)


def as_a_function():
    w = tf.Variable(W)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(x, y, w)
        gradient = tape.gradient(loss, w)
        w.assign_sub(0.1 * gradient)
        return loss, gradient

    loss, gradient = step(tf.constant(X), tf.constant(Y))
    return loss.numpy(), gradient.numpy(), w.numpy()


@pytest.mark.parametrize("way", [eagerly, in_a_session, as_a_function])
def test_loss_gradient_and_update(way):
    loss, gradient, w = way()
    np.testing.assert_allclose(loss, LOSS, rtol=1e-6)
    np.testing.assert_allclose(gradient, GRADIENT, rtol=1e-6)
    np.testing.assert_allclose(w, W - 0.1 * np.array(GRADIENT), rtol=1e-5)
