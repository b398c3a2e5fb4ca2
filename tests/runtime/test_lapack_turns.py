"""Linear algebra in compiled steps on as many threads as there are calls: each call ends."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import penstock as tf
from penstock.runtime.lapack_turns import calls_lapack

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import threading
import numpy as np
import penstock as tf

draw = np.random.default_rng(0)
near = np.eye(90) + draw.normal(size=(60, 90, 90)) / 90
a, b = (tf.constant(x, tf.float32) for x in (near, draw.normal(size=(60, 90, 90))))


def solved(a, b):
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        x, y = tf.linalg.solve(a, b), tf.linalg.triangular_solve(a, b)
    return tape.gradient([x, y], [a, b])


def looped(a, b):
    return tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, sum(solved(a, x))), [0, b])[1:]


def still(a, b):
    # Calls in rounds that need nothing of a round, of three loops and outside of them.
    def grown(c):
        def add(i, x):
            return i + 1, x * 100.0 + 1e25 + 0 * tf.linalg.inv(c)

        return tf.while_loop(lambda i, x: tf.reduce_sum(x) < 1e30, add, [0, tf.abs(b) + 1.0])[1]

    return grown(a), grown(a + b), grown(a * 2.0), tf.linalg.inv(a * 3.0)


def chosen(a, b):
    # Calls in branches, by what is not known, beside others.
    p = tf.reduce_sum(a) > 0
    return (
        tf.cond(p, lambda: (a, tf.linalg.solve(a, b)), lambda: (a, b)),
        tf.cond(p, lambda: (b, tf.linalg.inv(a)), lambda: (b, a)),
        tf.vectorized_map(tf.linalg.inv, a),
        tf.linalg.solve(a, a + b),
    )


wanted = [x.numpy() for x in solved(a, b)]
steps = [tf.function(solved), tf.function(solved, jit_compile=True), tf.function(looped)]
steps += [tf.function(still), tf.function(chosen)]


def work(step):
    for _ in range(15):
        found = [x.numpy() for x in tf.nest.flatten(step(a, b))]
        if step in steps[:2]:
            for mine, other in zip(found, wanted, strict=True):
                np.testing.assert_allclose(mine, other, rtol=2e-3, atol=2e-3)


for step in steps:
    work(step)
threads = [threading.Thread(target=work, args=[step]) for step in steps]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("all ended")
"""


@pytest.mark.timeout(400)
@pytest.mark.parametrize("threads", [1, 2])
def test_calls_that_do_not_need_each_other(threads):
    """With two threads of XLA's, two calls that share out their work waited for each other."""
    variables = {**os.environ, "NPROC": str(threads), "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=variables, timeout=300
    )
    assert done.stdout == "all ended\n", done.stderr


def _nodes(function, *signature):
    concrete = tf.function(function, input_signature=signature).get_concrete_function()
    return {op.type: calls_lapack(_Node(op), "CPU") for op in concrete.graph.get_operations()}


class _Node:
    def __init__(self, op):
        self.type, self.attrs = op.type, op.attrs


def test_calls_in_bodies_are_seen():
    def inner(x):
        return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.linalg.inv(x), lambda: x)

    def outer(x):
        x = tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, inner(x)), [0, x])[1]
        return tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, x + 1.0), [0, x])[1]

    spec = tf.TensorSpec([3, 3])
    assert _nodes(inner, spec)["StatelessIf"]
    found = _nodes(outer, spec)
    assert not found["StatelessWhile"]  # the second loop, which has the last word
    assert _nodes(lambda x: tf.linalg.qr(x)[0] + x, spec)["Qr"]


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.complex64, tf.complex128])
def test_what_is_not_finite_is_handed_on_as_it_is(dtype):
    """A call waits for the first number of the one before it, whatever that is."""
    x = tf.constant([[[np.nan, 0.0], [0.0, 1.0]], [[4.0, 0.0], [0.0, 2.0]]], dtype)
    y = tf.constant([[[2.0, 0.0], [0.0, 3.0]], [[1.0, 0.0], [0.0, 5.0]]], dtype)

    def both(x, y):
        return tf.linalg.det(x), tf.linalg.det(y), tf.linalg.inv(y), tf.linalg.det(y + 1)

    for mine, other in zip(tf.function(both, jit_compile=True)(x, y), both(x, y), strict=True):
        np.testing.assert_allclose(mine, other)


def test_what_is_known_stays_known_behind_a_call():
    """A predicate that follows from a shape chooses a branch; the other one is not compiled."""

    @tf.function(input_signature=[tf.TensorSpec([None, None])], jit_compile=True)
    def f(a):
        def other():
            return tf.linalg.inv(tf.reshape(a, [5, 5]))

        x = tf.cond(tf.reduce_sum(a) > 0.0, lambda: tf.linalg.inv(a), lambda: a)
        return x, tf.cond(tf.shape(a)[0] > 2, lambda: tf.linalg.inv(x), other)

    x, z = f(tf.eye(3) * 2.0)
    np.testing.assert_array_equal(x, np.eye(3) / 2)
    np.testing.assert_array_equal(z, np.eye(3) * 2)
