"""Regions that XLA gives up on are compiled in another way, once, and say so."""

import jax
import pytest

import penstock as tf
from penstock.core import compiling
from penstock.runtime import executable


@pytest.fixture
def warnings(monkeypatch):
    given = []
    monkeypatch.setattr(
        executable.get_logger(), "warning", lambda text, *values: given.append(text % values)
    )
    return given


def refusing(monkeypatch, text, even_plainly=False):
    """XLA gives up on whatever regions compile, at the first call."""
    compiled = []

    def compile_function(function, *, plain_loops, **options):
        made = compiling.compile_function(function, plain_loops=plain_loops, **options)

        def call(*arguments):
            compiled.append(plain_loops)
            if not plain_loops or even_plainly:
                raise jax.errors.JaxRuntimeError(text)
            return made(*arguments)

        return call

    monkeypatch.setattr(executable, "compile_function", compile_function)
    return compiled


def test_a_refused_region_is_compiled_plainly_and_runs_once(monkeypatch, warnings):
    compiled = refusing(monkeypatch, "UNKNOWN: Unknown MLIR failure")
    total = tf.Variable([0] * 5000)

    @tf.function
    def step(x):
        return total.assign_add(x * 3 - 1)

    for k in range(1, 3):
        assert step(tf.ones([5000], tf.int32))[0].numpy() == 2 * k
    assert compiled == [False, True, True]
    (text,) = warnings
    assert "test_plain_loops.py" in text
    assert "Unknown MLIR failure" in text


def test_other_errors_and_a_second_refusal_are_raised(monkeypatch, warnings):
    x = tf.ones([5000], tf.int32)
    for text, plainly in [("INTERNAL: other", False), ("UNKNOWN: Unknown MLIR failure", True)]:
        compiled = refusing(monkeypatch, text, even_plainly=True)
        total = tf.Variable(x)

        @tf.function
        def step(x, total=total):
            return total.assign_add(x * 3 - 1)

        with pytest.raises(jax.errors.JaxRuntimeError, match=text):
            step(x)
        assert compiled == [False, True][: 1 + plainly]
        assert total[0].numpy() == 1
