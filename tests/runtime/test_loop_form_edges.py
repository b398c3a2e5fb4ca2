"""Loops whose rounds are known: where taking things out of the rounds must not change a result."""

import numpy as np
import pytest

import penstock as tf

ROUNDS = 6
X = np.arange(1.0, 7.0, dtype=np.float32)
W = np.linspace(-1, 1, 20, dtype=np.float32).reshape(4, 5)


def loop(body, start, limit=ROUNDS):
    return tf.while_loop(lambda i, *_: i < limit, body, start)


def read_after_the_zero(x):
    def body(i, a, s):
        a = a.write(i, tf.zeros_like(x[0]))
        return i + 1, a, s + a.read(ROUNDS - 1 - i)

    rows = tf.TensorArray(tf.float32, ROUNDS, clear_after_read=False).unstack(x)
    return loop(body, (0, rows, tf.constant(0.0)))[2]


def stacked_after_the_zero(x):
    def body(i, a, s):
        r = a.read(i)
        b = a.write(i, tf.zeros_like(r))
        return i + 1, b, s + r + tf.reduce_sum(b.stack())

    rows = tf.TensorArray(tf.float32, ROUNDS, clear_after_read=False).unstack(x)
    return loop(body, (0, rows, tf.constant(0.0)))[2]


def read_in_a_branch(x):
    def body(i, a, s):
        b = a.write(i, tf.zeros_like(a.read(i)))
        return i + 1, b, s + tf.cond(i > 2, lambda: b.read(0) + 1.0, lambda: 0.0)

    rows = tf.TensorArray(tf.float32, ROUNDS, clear_after_read=False).unstack(x)
    return loop(body, (0, rows, tf.constant(0.0)))[2]


def long_index(x):
    return loop(lambda i, s: (i + 1, s + x[i]), (tf.constant(0, tf.int64), tf.constant(0.0)))[1]


def long_gather(x):
    body = lambda i, s: (i + 1, s + tf.gather(x, i))  # noqa: E731
    return loop(body, (tf.constant(0, tf.int64), tf.constant(0.0)))[1]


def constant_products(x):
    with tf.GradientTape() as tape:
        w = tf.reshape(x, [2, 3])
        tape.watch(w)
        constant = tf.constant(W[:, :2])
        body = lambda t, h: (t + 1, tf.tanh(h + tf.matmul(constant, w)))  # noqa: E731
        y = tf.reduce_sum(loop(body, (0, tf.zeros([4, 3])))[1] ** 2)
    return tape.gradient(y, w)


def empty_batch(x):
    rows = tf.reshape(x[:0], [ROUNDS, 0, 4])
    body = lambda t, h: (t + 1, h + tf.matmul(rows[t], tf.constant(W)))  # noqa: E731
    return loop(body, (0, tf.zeros([0, 5])))[1]


def empty_depth(x):
    rows, weight = tf.reshape(x[:0], [ROUNDS, 3, 0]), tf.zeros([0, 5])
    return loop(lambda t, h: (t + 1, h + tf.matmul(rows[t], weight)), (0, tf.zeros([3, 5])))[1]


def smallest_step(x):
    def body(i, j):
        return i + 1, j - tf.constant(-128, tf.int8)

    return tf.cast(loop(body, (0, tf.constant(-1, tf.int8)), 1)[1], tf.float32) + x[0]


def counter_that_wraps(x):
    def body(t, c):
        return t + tf.constant(50, tf.int8), c + 1

    start = (tf.constant(0, tf.int8), tf.constant(0))
    rounds = tf.while_loop(lambda t, c: t < tf.constant(120, tf.int8), body, start)[1]
    return tf.cast(rounds, tf.float32) + 0.0 * x[0]


def added_up_beside_a_weight(x):
    """What a sum adds is no operation of the rounds: it comes from outside."""
    weight, rows = tf.constant(W[:, :4]), tf.reshape(x[:4], [1, 4])

    def body(i, h, weights, sums):
        product = tf.matmul(h, tf.tanh(h), transpose_a=True)
        return i + 1, tf.tanh(tf.matmul(h, weight)), weights + product, sums + rows

    start = (0, tf.ones([3, 4]), tf.zeros([4, 4]), tf.zeros([1, 4]))
    _, h, weights, sums = loop(body, start)
    return tf.concat([h, weights, sums], 0)


PROGRAMS = [
    added_up_beside_a_weight,
    read_after_the_zero,
    stacked_after_the_zero,
    read_in_a_branch,
    long_index,
    long_gather,
    constant_products,
    empty_batch,
    empty_depth,
    smallest_step,
    counter_that_wraps,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled_is_eager(program):
    x = tf.constant(X)
    eager = program(x)
    np.testing.assert_allclose(tf.function(program)(x), eager, rtol=1e-5, atol=1e-6)


def test_a_counter_that_wraps_runs_as_often_as_eagerly():
    """The counter's own last value is left out: XLA's simplifier of loops gets it wrong."""
    assert float(tf.function(counter_that_wraps)(tf.constant(X))) == 23.0
