"""Random operations in conditionals: TensorFlow's numbers, wherever the conditional runs."""

import numpy as np
import pytest

import penstock as tf
from penstock.ops.random_state import _Position

# TensorFlow 2.21's, after set_seed(7); `_nested` and `_called` are run with the arguments beside.
NESTED = [
    ((True, True), [1.268019, 0.3790065]),
    ((False, False), [-0.09692286, 0.75954175]),
    ((True, False), [0.34264028, 0.3479159]),
    ((True, True), [1.5492646, 1.2636724]),
    ((False, True), [1.4696318, -0.28422397]),
]
CALLED = [
    (True, [0.8669311, 0.0, 0.8669311]),
    (False, [0.0, 0.8669311, 0.9858714]),
    (False, [0.0, 0.9858714, 0.1684258]),
    (True, [0.9858714, 0.0, 0.7857314]),
]


def _nested(p, q):
    def both():
        more = tf.cond(q, lambda: tf.random.uniform([2], seed=5), lambda: tf.zeros([2]))
        return tf.random.uniform([2], seed=3) + more

    return tf.cond(p, both, lambda: -tf.random.normal([2], seed=6))


@tf.function
def _draw():
    return tf.random.uniform([2], seed=5)


def _called(p):
    """One function in both branches, and outside of them."""
    here = tf.cond(p, lambda: _draw(), lambda: tf.zeros([2]))
    there = tf.cond(p, lambda: tf.zeros([2]), lambda: _draw())
    return tf.stack([here[0], there[0], _draw()[0]])


_KINDS = {"compiled": {"jit_compile": True}, "operations": {"jit_compile": False}}


@pytest.fixture(params=["planner", "compiled", "operations", "reference"])
def options(request, monkeypatch):
    """How a function runs: as it likes, as one region, operation by operation, plainly."""
    if request.param == "reference":
        monkeypatch.setenv("PENSTOCK_EXECUTOR", "reference")
    return _KINDS.get(request.param, {})


@pytest.mark.parametrize(("program", "calls"), [(_nested, NESTED), (_called, CALLED)])
def test_the_numbers_are_those_of_tensorflow(program, calls, options):
    tf.random.set_seed(7)
    function = tf.function(program, **options)
    for given, wanted in calls:
        found = function(*map(tf.constant, np.atleast_1d(given)))
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-6)


def _mixed(x, which):
    """A loop in a branch, a conditional in that loop, a branch that draws nothing."""

    def rounds():
        y = x
        for i in tf.range(3):
            y = y + tf.random.uniform([80, 80], seed=2)
            if i % 2 == 0:
                y = y * tf.random.uniform([80, 80], seed=4)
        return y + tf.random.uniform([80, 80], seed=6)

    branches = [rounds, lambda: x, lambda: x + tf.random.uniform([80, 80], seed=8)]
    return tf.switch_case(which, branches) + tf.random.uniform([80, 80], seed=9)


def _mixed_sums(**options):
    tf.random.set_seed(7)
    function = tf.function(_mixed, **options)
    x = tf.ones([80, 80])
    return [function(x, tf.constant(i)).numpy().sum(1) for i in (0, 1, 2, 1, 0, 2, 0, 5)]


@pytest.fixture(scope="module")
def sums():
    return _mixed_sums(jit_compile=False)


def test_what_was_not_drawn_is_drawn_later(options, sums):
    np.testing.assert_allclose(_mixed_sums(**options), sums, rtol=1e-5)


def test_the_gradient_uses_the_numbers_that_were_drawn(options):
    @tf.function(**options)
    def step(x, p):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cond(p, lambda: x * tf.random.uniform([70, 70], seed=3), lambda: x)
        return y, tape.gradient(y, x)

    for p in (True, False, True):
        y, slope = step(tf.ones([70, 70]), tf.constant(p))
        np.testing.assert_allclose(slope, y, rtol=1e-6)


def test_a_region_that_fails_leaves_the_streams_in_step():
    """The check fails after the branch was chosen: what it drew stays drawn, the rest does not."""

    def program(x, p):
        tf.debugging.assert_less(x, 2.0)
        return tf.cond(p, lambda: tf.random.uniform([4], seed=1), lambda: tf.zeros([4])) + x

    def run(jit):
        tf.random.set_seed(7)
        function = tf.function(program, jit_compile=jit)
        with pytest.raises(tf.errors.InvalidArgumentError):
            function(tf.constant(3.0), tf.constant(False))
        return function(tf.constant(0.0), tf.constant(True))

    np.testing.assert_array_equal(run(True), run(False))


def test_numbers_that_another_step_may_follow_are_not_given_back():
    position = _Position({"seed": 7, "seed2": 3})
    first, second = position.take(4), position.take(4)
    position.give_back(first, 4)
    assert position.take(4)[1] == 8
    position.give_back(second, 4)
    position.give_back(np.array([7, 8, 3], np.uint64), 4)
    assert position.take(4)[1] == 8
