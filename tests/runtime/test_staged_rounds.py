"""What loops and conditionals hold is traced once for all that is to be known of it."""

import numpy as np
import pytest

import penstock as tf
from penstock.ops import random_philox
from penstock.runtime import bodies, traced_loops


@pytest.fixture
def rounds_traced(monkeypatch):
    """The number of rounds that were traced so far, as the only element of a list."""
    count = [0]
    original = traced_loops._Loop._round

    def counted(self, *arguments):
        count[0] += 1
        return original(self, *arguments)

    monkeypatch.setattr(traced_loops._Loop, "_round", counted)
    return count


def test_a_round_that_checks_is_traced_once(rounds_traced):
    table = tf.constant([3, 1, 4, 1, 5])

    @tf.function
    def last(n):
        # The index is checked in each round.
        body = lambda i, s: (i + 1, s + tf.gather(table, tf.minimum(i + s, 4)))  # noqa: E731
        return tf.while_loop(lambda i, s: i < n, body, (0, tf.constant(0)))[1]

    assert int(last.get_concrete_function(tf.constant(0))(tf.constant(3))) == 3 + 5 + 5
    assert rounds_traced == [1]


def test_a_check_of_a_round_says_what_failed():
    table = tf.constant([3, 1, 4, 1, 5])

    @tf.function
    def total(n):
        body = lambda i, s: (i + 1, s + tf.gather(table, i))  # noqa: E731
        return tf.while_loop(lambda i, s: i < n, body, (0, tf.constant(0)))[1]

    run = total.get_concrete_function(tf.constant(0))
    assert int(run(tf.constant(5))) == 14
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"5 is not in \[0, 5\)"):
        run(tf.constant(6))
    assert int(run(tf.constant(4))) == 9


def test_loops_within_loops_with_lists_are_traced_twice_each(rounds_traced):
    """Once to learn the form of their lists, once in that form; it was four times each time."""

    @tf.function(jit_compile=True)
    def table(x):
        def row(i):
            values = tf.TensorArray(tf.float32, 3, element_shape=[])
            body = lambda j, a: (j + 1, a.write(j, x * tf.cast(i * j, tf.float32)))  # noqa: E731
            return tf.while_loop(lambda j, a: j < 3, body, (0, values))[1].stack()

        rows = tf.TensorArray(tf.float32, 4, element_shape=[3])
        body = lambda i, a: (i + 1, a.write(i, row(i)))  # noqa: E731
        return tf.while_loop(lambda i, a: i < 4, body, (0, rows))[1].stack()

    wanted = 2.0 * np.arange(4)[:, None] * np.arange(3)
    np.testing.assert_array_equal(table(tf.constant(2.0)), wanted.astype(np.float32))
    assert rounds_traced[0] <= 2 + 2 * 2


def test_a_branch_that_checks_is_traced_once(monkeypatch):
    traced = []
    original = bodies.trace_nodes

    def noted(body, *arguments):
        traced.append(body)
        return original(body, *arguments)

    monkeypatch.setattr(bodies, "trace_nodes", noted)

    @tf.function(jit_compile=True)
    def chosen(x, i):
        return tf.cond(x > 0, lambda: tf.gather([1.0, 2.0], i), lambda: tf.gather([3.0, 4.0], i))

    assert float(chosen(tf.constant(1.0), tf.constant(1))) == 2.0
    assert float(chosen(tf.constant(-1.0), tf.constant(0))) == 3.0
    assert len(traced) == len(set(map(id, traced))) == 2


def test_branches_with_lists_of_other_forms():
    @tf.function(jit_compile=True)
    def grown(x):
        short = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[])
        short = short.write(0, x)
        array = tf.cond(x > 0, lambda: short.write(1, 2 * x), lambda: short.write(1, 3 * x))
        return array.stack()

    np.testing.assert_array_equal(grown(tf.constant(1.0)), [1, 2])
    np.testing.assert_array_equal(grown(tf.constant(-1.0)), [-1, -3])


def test_draws_of_one_shape_are_traced_once(monkeypatch):
    calls = []
    original = random_philox._blocks

    def noted(xp, stream, index):
        calls.append(index.shape)
        return original(xp, stream, index)

    monkeypatch.setattr(random_philox, "_blocks", noted)

    @tf.function(jit_compile=True)
    def draws(seed):
        return [tf.random.stateless_uniform([37], tf.add(seed, [0, i])) for i in range(4)]

    seed = tf.constant([5, 6])
    found = draws(seed)
    assert calls.count((37,)) == 1
    for i, values in enumerate(found):
        wanted = tf.random.stateless_uniform([37], tf.add(seed, [0, i]))
        np.testing.assert_array_equal(values, wanted)
