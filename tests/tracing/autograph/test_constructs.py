"""Each converted construct: run eagerly == traced == on the reference executor."""

import numpy as np
import pytest
from tests.tracing.autograph.programs import CASES

import penstock as tf


def run(function, arguments):
    result = function(*(tf.constant(a) for a in arguments))
    return [np.asarray(v) for v in tf.nest.flatten(result)]


def names(value):
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize(("function", "arguments"), CASES, ids=names)
def test_eager_is_traced_is_reference(function, arguments, monkeypatch):
    traced = run(tf.function(function), arguments)
    monkeypatch.setenv("PENSTOCK_EXECUTOR", "reference")
    reference = run(tf.function(function), arguments)
    tf.config.run_functions_eagerly(True)
    try:
        eager = run(tf.function(function), arguments)
    finally:
        tf.config.run_functions_eagerly(False)
    assert len(traced) == len(reference) == len(eager)
    for a, b, c in zip(traced, reference, eager, strict=True):
        np.testing.assert_allclose(a, c, rtol=1e-6)
        np.testing.assert_allclose(b, c, rtol=1e-6)


@pytest.mark.parametrize(("function", "arguments"), CASES[:1] + CASES[-3:], ids=names)
def test_the_graph_decides_when_it_runs(function, arguments):
    """One trace serves all values."""
    traced = tf.function(function)
    run(traced, arguments)
    run(traced, [a + 1 for a in arguments])
    assert traced.experimental_get_tracing_count() == 1


def test_a_named_exception_is_converted():
    """The library alone reads the name as a node, and gave up on such functions."""

    def function(x):
        try:
            if x > 0:
                x = -x
        except ValueError as problem:
            raise RuntimeError from problem
        return x

    source = tf.autograph.to_code(function)
    assert "except ValueError as problem:" in source
    assert float(tf.function(function)(tf.constant(3.0))) == -3.0
