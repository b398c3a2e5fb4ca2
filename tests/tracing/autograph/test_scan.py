"""Which functions run without conversion, and that the library is loaded only for the others."""

import functools
import os
import pathlib
import subprocess
import sys

import pytest

import penstock as tf
from penstock.tracing.autograph import calls

SOURCE = pathlib.Path(__file__).resolve().parents[3] / "src"
weights = tf.Variable([[1.0]])


def product(x):
    return tf.matmul(x, weights)


def through_another(x):
    return product(x) + tf.reduce_sum(weights.read_value())


def with_a_scope(x):
    with tf.name_scope("a"):
        y = x * 2.0
    return (y, {"k": x}), [x]


def of_a_parameter(x):
    return x.get_shape()


def with_if(x):
    if x > 0:
        return x
    return -x


def through_if(x):
    return with_if(x)


def with_not(x):
    return not x


def with_and(x):
    return x and x


def with_chain(x):
    return 1 < x < 2


def with_length(x):
    return len(x)


def with_unknown(x):
    return x.method()


def with_a_local_function(x):
    def inner():
        return x

    return inner()


def with_a_comprehension(x):
    return [x for _ in range(2)]


def recursive(x):
    return recursive(x)


partly = functools.partial(with_if, 1)


def through_a_partial(x):
    return partly()


def caller_of_an_argument(x):
    return x(1)


@pytest.mark.parametrize("function", [product, through_another, with_a_scope])
def test_plain(function):
    assert calls._scanner.is_plain(function)


def test_methods_of_tensors_are_plain():
    assert calls._scanner.is_plain(of_a_parameter, ["x"])
    assert not calls._scanner.is_plain(of_a_parameter)


@pytest.mark.parametrize(
    "function",
    [
        *(with_if, through_if, with_not, with_and, with_chain, with_length, with_unknown),
        *(with_a_local_function, with_a_comprehension, recursive, through_a_partial),
        caller_of_an_argument,
    ],
)
def test_not_plain(function):
    assert not calls._scanner.is_plain(function)


PROGRAM = """
import sys
import penstock as tf
v = tf.Variable(2.0)
@tf.function
def f(x):
    y = tf.nn.relu(x) * v
    return tf.reduce_sum(y)
assert float(f(tf.constant([1.0, -1.0]))) == 2.0
assert "malt" not in sys.modules
@tf.function
def g(x):
    return x if x > 0 else -x
assert float(g(tf.constant(-1.0))) == 1.0
assert "malt" in sys.modules
"""


def test_the_library_is_loaded_for_control_flow_only(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    subprocess.run([sys.executable, script], check=True, env=environment, timeout=100)
