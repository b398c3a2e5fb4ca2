"""`GradientTape.jacobian` and `batch_jacobian`: eagerly row by row, in graphs all rows at once."""

import subprocess
import sys

import numpy as np
import pytest

import penstock as tf
from penstock.autodiff import jacobians

RNG = np.random.default_rng(4)
W = RNG.normal(size=(3, 2)).astype(np.float32)
X = RNG.normal(size=(4, 3)).astype(np.float32)


def jacobian(x, pfor=True):
    with tf.GradientTape(persistent=not pfor) as tape:
        tape.watch(x)
        y = tf.tanh(tf.matmul(x, W)) * tf.reduce_sum(x)
    return tape.jacobian(y, x, experimental_use_pfor=pfor)


def batch_jacobian(x, pfor=True):
    with tf.GradientTape(persistent=not pfor) as tape:
        tape.watch(x)
        y = tf.tanh(tf.matmul(x, W))
    return tape.batch_jacobian(y, x, experimental_use_pfor=pfor)


def expected(kind):
    inner = 1 - np.tanh(X @ W) ** 2
    if kind is batch_jacobian:
        return inner[:, :, None] * W.T
    own = np.einsum("bo,io,bc->boci", inner, W, np.eye(4)) * X.sum()
    return own + np.tanh(X @ W)[:, :, None, None]


@pytest.mark.parametrize("pfor", [True, False])
@pytest.mark.parametrize("kind", [jacobian, batch_jacobian])
@pytest.mark.parametrize("shape", ["eager", "known", "batch unknown", "all unknown"])
def test_jacobians(kind, pfor, shape):
    specs = {"known": [4, 3], "batch unknown": [None, 3], "all unknown": [None, None]}
    run = lambda x: kind(x, pfor)  # noqa: E731
    if shape != "eager":
        run = tf.function(run, input_signature=[tf.TensorSpec(specs[shape])])
    for _ in range(2):
        np.testing.assert_allclose(run(tf.constant(X)), expected(kind), rtol=1e-5, atol=1e-6)


def test_many_rows_run_at_once_eagerly_too(monkeypatch):
    x = tf.constant(X)
    monkeypatch.setattr(jacobians, "EAGER_ROWS", 2)
    monkeypatch.setattr(jacobians, "_one_by_one", None)
    for kind in (jacobian, batch_jacobian):
        np.testing.assert_allclose(kind(x), expected(kind), rtol=1e-5, atol=1e-6)


def test_a_graph_does_not_grow_with_the_target():
    counts = []
    for n in (5, 50):
        function = tf.function(lambda x: jacobian(x))
        counts.append(len(function.get_concrete_function(tf.zeros([n, 3])).graph.get_operations()))
    assert counts[0] == counts[1] < 60


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
def test_nested_sources_variables_and_sources_that_are_not_connected(run):
    v, lone = tf.Variable([[1.0], [2.0]]), tf.constant(1.0)
    table = tf.Variable(np.arange(6.0, dtype=np.float32).reshape(3, 2))

    @run
    def compute(x):
        with tf.GradientTape() as tape:
            tape.watch([x, lone])
            y = tf.matmul(x, v) + tf.gather(table, [2, 0])[:, :1]
        return tape.jacobian(y, {"x": x, "v": v, "table": table, "lone": lone})

    found = compute(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    assert found["lone"] is None
    np.testing.assert_allclose(found["v"][:, 0, :, 0], [[1, 2], [3, 4]])
    np.testing.assert_allclose(found["x"][0, 0], [[1, 2], [0, 0]])
    assert found["table"].shape == [2, 1, 3, 2]
    np.testing.assert_allclose(found["table"][0, 0], [[0, 0], [0, 0], [1, 0]])


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
def test_a_hessian(run):
    @run
    def hessian(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(x**3) * x[0]
            slope = inner.gradient(y, x)
        return outer.jacobian(slope, x)

    @run
    def third(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = x**4
            slopes = inner.jacobian(y, x)
        return tape.gradient(slopes, x)

    a, b = 2.0, 3.0
    np.testing.assert_allclose(
        hessian(tf.constant([a, b])), [[12 * a**2, 3 * b**2], [3 * b**2, 6 * b * a]]
    )
    np.testing.assert_allclose(third(tf.constant([a, b])), [12 * a**2, 12 * b**2])


def test_what_cannot_be_vectorised_runs_row_by_row():
    @tf.custom_gradient
    def odd(x):
        return x * 2.0, lambda g: tf.numpy_function(lambda v: v * 5, [g], tf.float32)

    @tf.function
    def compute(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = odd(x)
        return tape.jacobian(y, x)

    np.testing.assert_allclose(compute(tf.constant([1.0, 2.0])), np.eye(2) * 5)


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
def test_a_target_without_elements(run):
    @run
    def compute(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x[:, :0] * 2.0
        return tape.jacobian(y, x), tape.batch_jacobian(y, x)

    shapes = [found.shape for found in compute(tf.constant(X))]
    assert shapes == [[4, 0, 4, 3], [4, 0, 3]]


def test_a_tape_is_used_once_by_a_jacobian():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.jacobian(y, x)
    with pytest.raises(RuntimeError, match="one set of gradients"):
        tape.gradient(y, x)


def test_batch_jacobians_need_examples():
    x = tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.reduce_sum(x)
        z = x[:2]
    for target in (y, z):
        with pytest.raises(ValueError, match="Need first dimension of target shape"):
            tape.batch_jacobian(target, x)


PROGRAM = """
import penstock as tf
assert tf.vectorized_map(lambda r: r * 2.0, tf.ones([3, 2])).numpy().tolist() == [[2.0] * 2] * 3
big = tf.vectorized_map(lambda r: tf.matmul(r, r), tf.ones([3, 128, 128]))
assert (big.numpy() == 128.0).all()
"""


def test_a_new_process_may_begin_with_a_vectorised_map():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


def test_a_tape_that_is_not_persistent_gives_one_jacobian():
    x = tf.constant([[1.0, 2.0]])
    for first in ("jacobian", "batch_jacobian", "gradient"):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        getattr(tape, first)(y, x)
        for method in (tape.jacobian, tape.batch_jacobian, tape.gradient):
            with pytest.raises(RuntimeError, match="one set of gradients"):
                method(y, x)


@pytest.mark.parametrize("method", ["jacobian", "batch_jacobian"])
@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"experimental_use_pfor": False}, RuntimeError),
        ({"parallel_iterations": 0}, ValueError),
        ({"parallel_iterations": "2"}, TypeError),
    ],
)
def test_options_that_are_refused(method, options, error):
    def call(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return getattr(tape, method)(y, x, **options)

    with pytest.raises(error, match=r"persistent=True|parallel_iterations"):
        call(tf.constant([[1.0, 2.0]]))
    if error is RuntimeError:  # one loop in a graph takes one set of gradients
        assert tf.function(call)(tf.constant([[1.0, 2.0]])).shape.num_elements() == 4


@pytest.mark.parametrize("pfor", [True, False])
@pytest.mark.parametrize("function", [lambda f: f, tf.function])
def test_what_does_not_depend_on_a_source(function, pfor):
    def run(x, z):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, z])
            y = 2.0 * z
        first = tape.jacobian(y, x, experimental_use_pfor=pfor)
        assert first is None
        both = tape.jacobian(y, [x, z], experimental_use_pfor=pfor)
        assert both[0] is None
        return both[1], tape.batch_jacobian(y, x, experimental_use_pfor=pfor)

    x = tf.ones([2, 3])
    found, examples = function(run)(x, tf.ones([2, 2]))
    assert found.numpy().reshape(4, 4).tolist() == (2 * np.eye(4)).tolist()
    assert examples.numpy().tolist() == np.zeros((2, 2, 3)).tolist()
