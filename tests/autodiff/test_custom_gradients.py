"""Gradients that a user gives, in derivatives of second order and with variables."""

import gc

import numpy as np
import pytest

import penstock as tf


@tf.custom_gradient
def _softplus(x):
    """log(1 + exp(x)), whose rule uses a value of the forward pass."""
    e = tf.exp(x)
    return tf.math.log(1.0 + e), lambda upstream: upstream * (1.0 - 1.0 / (1.0 + e))


def _both_orders(function, x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        first = inner.gradient(y, x)
    return first, outer.gradient(first, x)


@pytest.mark.parametrize("mode", ["eager", "function", "around a function", "compiled"])
def test_a_rule_that_uses_values_of_the_forward_pass_has_a_derivative(mode) -> None:
    def both(x):
        return _both_orders(_softplus, x)

    around = tf.function(_softplus)
    run = {
        "eager": both,
        "function": tf.function(both),
        "around a function": lambda x: _both_orders(around, x),
        "compiled": tf.function(both, jit_compile=True),
    }[mode]
    x = np.array([1.0, 0.0, -3.0])
    first, second = run(tf.constant(x))
    sigmoid = 1.0 / (1.0 + np.exp(-x))
    np.testing.assert_allclose(first, sigmoid, rtol=1e-12)
    np.testing.assert_allclose(second, sigmoid * (1.0 - sigmoid), rtol=1e-12)


def test_an_argument_that_is_a_result_follows_the_rule_alone() -> None:
    @tf.custom_gradient
    def exchanged(x, y):
        return (y, x), lambda a, b: (b * 2.0, a * 3.0)

    x, y = tf.constant(2.0), tf.constant(5.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        first, second = exchanged(x, y)
        total = first * 10.0 + second
    assert [float(g) for g in tape.gradient(total, [x, y])] == [2.0, 30.0]


# ---- recompute_grad ------------------------------------------------------------------------------

W = np.array([[0.5, 0.2], [0.1, 0.9]])


def _chain(x, w, times):
    """What `times` blocks give, and the gradients of its sum for `x` and `w`."""
    kept = [x]
    for _ in range(times):
        kept.append(np.tanh(kept[-1] @ w))
    back, for_w = np.ones_like(x), np.zeros_like(w)
    for before, after in zip(reversed(kept[:-1]), reversed(kept[1:]), strict=True):
        inner = back * (1.0 - after * after)
        for_w += before.T @ inner
        back = inner @ w.T
    return kept[-1], back, for_w


def _unrolled(block, x):
    return block(block(block(x)))


def _looped(block, x):
    return tf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, block(v)), [0, x])[1]


def _branched(block, x):
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: _unrolled(block, x), lambda: x)


@pytest.mark.parametrize("program", [_unrolled, _looped, _branched])
@pytest.mark.parametrize("traced", [False, True])
def test_variables_of_what_is_run_again_have_gradients(program, traced) -> None:
    w, x = tf.Variable(W), np.array([[1.0, -0.5]])
    ran = []

    @tf.recompute_grad
    def block(v):
        ran.append(None)
        return tf.tanh(v @ w)

    def run(v):
        return program(block, v)

    run = tf.function(run) if traced else run
    given = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(given)
        y = run(given)
    ran.clear()
    found = tape.gradient(y, [given, w])
    for got, wanted in zip([y, *found], _chain(x, W, 3), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
    assert ran or traced  # eagerly, the gradient runs it again


def test_only_variables_and_no_watched_argument() -> None:
    w = tf.Variable(W)
    block = tf.recompute_grad(lambda v: tf.tanh(v @ w))

    @tf.function
    def gradient(v):
        with tf.GradientTape() as tape:
            y = block(block(v))
        return tape.gradient(y, w)

    x = np.array([[1.0, -0.5]])
    np.testing.assert_allclose(gradient(tf.constant(x)), _chain(x, W, 2)[2], rtol=1e-12)


def test_a_rule_goes_with_its_graph_and_the_error_says_so():
    def graph_of_a_rule():
        with tf.Graph().as_default() as graph:
            tf.identity(_square(tf.compat.v1.placeholder(tf.float32, [], name="x")), name="y")
        return graph

    def gradient():
        with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
            tf.graph_util.import_graph_def(graph_def, name="")
            x, y = (graph.get_tensor_by_name(f"{name}:0") for name in "xy")
            return float(session.run(tf.gradients(y, x)[0], {x: 3.0}))

    made = graph_of_a_rule()
    graph_def = made.as_graph_def()
    assert gradient() == 100.0
    del made
    gc.collect()
    with pytest.raises(LookupError, match="whose graph is alive"):
        gradient()


@tf.custom_gradient
def _square(x):
    return x * x, lambda dy: dy * 100.0


@pytest.mark.parametrize("jit_compile", [True, None])
def test_a_recomputed_block_with_a_variable_compiles_within_a_loop(jit_compile):
    v = tf.Variable(2.0)
    block = tf.recompute_grad(lambda x: tf.sin(x) * v)

    @tf.function(jit_compile=jit_compile)
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in tf.range(3):
                y = block(y)
        return tape.gradient(y, [x, v])

    with tf.GradientTape() as tape:
        x = y = tf.constant(1.0)
        tape.watch(x)
        for _ in range(3):
            y = tf.sin(y) * v
    np.testing.assert_allclose(f(x), tape.gradient(y, [x, v]), rtol=1e-5)


@pytest.mark.parametrize("mode", ["eager", "function", "graph"])
@pytest.mark.parametrize("used", [0, 1])
def test_a_rule_gets_zeros_for_results_that_nothing_uses(mode, used) -> None:
    shapes = []

    @tf.custom_gradient
    def powers(x):
        def rule(one, two):
            shapes.append((one.dtype, two.dtype))
            return 2.0 * x * one + 3.0 * x**2 * tf.cast(two, tf.float32)

        return (x**2, tf.cast(x**3, tf.float64)), rule

    def derivative(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = powers(x)[used]
        return tape.gradient(y, x)

    x = tf.constant([1.0, 2.0])
    if mode == "graph":
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            x = tf.constant([1.0, 2.0])
            found = session.run(tf.gradients(powers(x)[used], x)[0])
    else:
        found = (derivative if mode == "eager" else tf.function(derivative))(x)
    np.testing.assert_array_equal(found, [[2.0, 4.0], [3.0, 12.0]][used])
    assert shapes == [(tf.float32, tf.float64)]


@pytest.mark.parametrize("traced", [False, True])
def test_an_overridden_gradient_gets_zeros_for_results_that_nothing_uses(traced) -> None:
    name = f"SumOfBoth{traced}"

    @tf.RegisterGradient(name)
    def both(op, one, two):
        return one + 10.0, two + 20.0

    def derivative(x, y):
        with tf.compat.v1.get_default_graph().gradient_override_map({"IdentityN": name}):
            z, _ = tf.identity_n([x, y])
        return tf.gradients(z, [x, y])

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        run = tf.function(derivative) if traced else derivative
        found = session.run(run(tf.constant(1.0), tf.constant(2.0)))
    assert found == [11.0, 20.0]


@pytest.mark.parametrize("way", [lambda f: f, lambda f: tf.function(f, autograph=False)])
def test_second_derivatives_of_a_py_function(way):
    def run(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.py_function(lambda z: z * z * z, [x], tf.float32)
            slope = inner.gradient(y, x)
        return slope, outer.gradient(slope, x)

    first, second = way(run)(tf.constant([1.0, 2.0]))
    assert (first.numpy().tolist(), second.numpy().tolist()) == ([3.0, 12.0], [6.0, 12.0])
