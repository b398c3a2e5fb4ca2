"""Random operations in conditionals: TensorFlow's numbers, wherever the conditional runs."""

import numpy as np
import pytest

import penstock as tf

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


@pytest.fixture(params=["planner", "operations", "reference"])
def options(request, monkeypatch):
    """How a function runs: as it likes, operation by operation, plainly."""
    if request.param == "reference":
        monkeypatch.setenv("PENSTOCK_EXECUTOR", "reference")
    return {"operations": {"jit_compile": False}}.get(request.param, {})


@pytest.mark.parametrize(("program", "calls"), [(_nested, NESTED), (_called, CALLED)])
def test_the_numbers_are_those_of_tensorflow(program, calls, options):
    tf.random.set_seed(7)
    function = tf.function(program, **options)
    for given, wanted in calls:
        found = function(*map(tf.constant, np.atleast_1d(given)))
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-6)
