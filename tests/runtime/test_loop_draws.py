"""Random operations in loops: a stream for each round, the same compiled and on the host."""

import numpy as np
import pytest

import penstock as tf


def _draw_in_loops(seed=True):
    """Draws in the body, in a branch of it, in a loop inside, and orders rows."""
    seeds = iter([3, 5, 9, 2] if seed else [None] * 4)
    uniform, normal, inner, order = seeds

    def draw(x, rounds):
        history = tf.TensorArray(tf.float32, size=rounds)
        for i in tf.range(rounds):
            u = tf.random.uniform([4], seed=uniform)
            if i % 2 == 0:
                u = u + tf.random.normal([4], seed=normal)
            for _ in tf.range(2):
                u = u * tf.random.uniform([4], 1, 10, seed=inner)
                u += tf.cast(tf.random.shuffle(tf.range(4), seed=order), tf.float32)
            history = history.write(i, u * x)
        return history.stack()

    return draw


def _runs(options=None, seed=True, count=3):
    tf.random.set_seed(7)
    function = tf.function(_draw_in_loops(seed), **(options or {}))
    return [function(tf.ones([4]), 5).numpy() for _ in range(count)]


@pytest.fixture(scope="module")
def compiled():
    return _runs({"jit_compile": True})


def test_each_round_and_each_run_draws_other_numbers(compiled):
    rows = np.concatenate(compiled)
    assert len(np.unique(rows, axis=0)) == len(rows) == 15


def test_the_planner_compiles_the_same(compiled):
    np.testing.assert_allclose(_runs(), compiled, rtol=1e-5)


def test_operation_by_operation_is_the_same(compiled):
    np.testing.assert_allclose(_runs({"jit_compile": False}), compiled, rtol=1e-5)


def test_the_reference_executor_is_the_same(compiled, monkeypatch):
    monkeypatch.setenv("PENSTOCK_EXECUTOR", "reference")
    np.testing.assert_allclose(_runs(), compiled, rtol=1e-5)


def test_without_seeds_no_two_rounds_agree():
    tf.random.set_seed(7)
    rows = np.concatenate(_runs(seed=False, count=2))
    assert len(np.unique(rows, axis=0)) == len(rows)


def test_a_session_runs_on_in_the_stream():
    def session():
        with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
            tf.compat.v1.set_random_seed(1)
            total = tf.while_loop(
                lambda i, s: i < 4,
                lambda i, s: (i + 1, s + tf.random.normal([300, 70], seed=5)),
                [0, tf.zeros([300, 70])],
            )[1]
            return [sess.run(total) for _ in range(2)]

    first, second = session()
    assert not np.allclose(first, second)
    assert abs(first.std() - 2.0) < 0.02  # the sum of four independent normal numbers
    np.testing.assert_array_equal(session(), [first, second])


def test_draws_of_unknown_size_compile_in_a_loop():
    @tf.function
    def noise(x):
        for _ in tf.range(3):
            x = x + tf.random.uniform(tf.shape(x), seed=1)
        return x

    tf.random.set_seed(3)
    first = noise(tf.zeros([2000]))
    second = noise(tf.zeros([2000]))
    assert abs(float(tf.reduce_mean(first)) - 1.5) < 0.05
    assert np.abs(np.corrcoef(first.numpy(), second.numpy())[0, 1]) < 0.1


def test_the_gradient_uses_the_numbers_that_were_drawn():
    @tf.function
    def product(x):
        kept = tf.TensorArray(tf.float32, size=4)
        y = x
        for i in tf.range(4):
            u = tf.random.uniform([], 1.0, 2.0, seed=4)
            kept = kept.write(i, u)
            y = y * u
        return y, kept.stack()

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, kept = product(x)
    np.testing.assert_allclose(tape.gradient(y, x), np.prod(kept), rtol=1e-5)


def test_a_region_that_does_not_compile_draws_once():
    """Its random operations run one by one with what they have drawn already.

    It does not compile because a shape is fed. What is compiled may round otherwise.
    """

    def draws(with_gradient):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            queue = tf.queue.FIFOQueue(9, [tf.float32], [[8]])
            x = queue.dequeue_many(4)
            noise = tf.random.normal([4, 1], seed=3)
            weights = tf.compat.v1.get_variable("w", [8, 1])
            shape = tf.compat.v1.placeholder(tf.int32, [2])
            loss = tf.reduce_mean(tf.square(tf.reshape(x @ weights - noise, shape)))
            fetches = [noise, tf.gradients(loss, weights)] if with_gradient else [noise]
            session.run([weights.initializer, queue.enqueue_many([tf.ones([8, 8])])])
            return [session.run(fetches, {shape: [2, 2]})[0] for _ in range(2)]

    np.testing.assert_allclose(draws(with_gradient=True), draws(with_gradient=False), rtol=1e-5)
