"""ForwardAccumulator inside traced functions, through conditionals, loops and other functions."""

import numpy as np
import pytest

import penstock as tf

X = tf.constant([0.3, 0.6])
TANGENT = tf.constant([1.0, 2.0])


@tf.function
def branch(x):
    if tf.reduce_sum(x) > 0:
        return tf.sin(x) * x
    return x


@tf.function
def loop(x):
    y = x
    for _ in tf.range(3):
        y = tf.tanh(y * x)
    return y


def rows(x):
    return tf.scan(lambda a, b: a * b + tf.sin(b), x)


def unbounded(x):
    return tf.while_loop(lambda y: tf.reduce_sum(y) < 3.0, lambda y: [y * 1.3 + x * x], [x])[0]


def chosen(x):
    return tf.switch_case(tf.constant(1), [lambda: x, lambda: tf.sin(x * x)])


PROGRAMS = [branch, loop, rows, unbounded, chosen, tf.recompute_grad(loop)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_tangents_inside_and_outside(program):
    def tangent(x):
        with tf.autodiff.ForwardAccumulator(x, TANGENT) as accumulator:
            y = program(x)
        return accumulator.jvp(y)

    def slope(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            parts = tf.unstack(program(x))
        return tf.stack([tape.gradient(p, x) for p in parts])

    wanted = tf.linalg.matvec(tf.function(slope)(X), TANGENT)
    np.testing.assert_allclose(tf.function(tangent)(X), wanted, rtol=1e-4)
    np.testing.assert_allclose(tangent(X), wanted, rtol=1e-4)


def test_primals_of_the_surroundings():
    @tf.function
    def tangent():
        with tf.autodiff.ForwardAccumulator(X, TANGENT) as accumulator:
            y = X * X
        return accumulator.jvp(y)

    np.testing.assert_allclose(tangent(), 2 * X * TANGENT, rtol=1e-6)


def test_primals_and_tangents_are_nests_of_one_form():
    x = tf.constant([1.0])
    with tf.autodiff.ForwardAccumulator([x], [2.0 * x]) as accumulator:
        y = x * x
    assert accumulator.jvp(y).numpy().tolist() == [4.0]
    for primals, tangents, error in (
        ([x], x, ValueError),
        (x, [x], ValueError),
        ([x, x * 1.0], [[x], x], ValueError),
        ((x,), [x], TypeError),
        ({"a": x}, [x], TypeError),
    ):
        with pytest.raises(error, match="nested structure"):
            tf.autodiff.ForwardAccumulator(primals, tangents)


def test_an_integer_primal_has_no_derivatives():
    i = tf.constant([3])
    with tf.autodiff.ForwardAccumulator(i, tf.constant([1])) as accumulator:
        doubled, real = i * 2, tf.cast(i, tf.float32)
    assert accumulator.jvp(doubled) is None
    assert accumulator.jvp(real) is None
    assert accumulator.jvp(i).numpy().tolist() == [1]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.math.cumulative_logsumexp(x, axis=-1),
        lambda x: tf.math.unsorted_segment_mean(x, [2, 0, 2], 4),
        lambda x: tf.math.unsorted_segment_sqrt_n(x, [2, 0, 2], 4),
        lambda x: tf.signal.overlap_and_add(x, 1),
        lambda x: tf.signal.inverse_mdct(x),
    ],
    ids=["cumulative_logsumexp", "segment_mean", "segment_sqrt_n", "overlap_and_add", "mdct"],
)
def test_tangents_are_what_jacobians_say(function, traced):
    x = tf.constant([[0.3, -0.2], [0.9, 0.1], [-0.5, 0.7]])
    tangent = tf.constant([[1.0, -2.0], [0.5, 3.0], [-1.0, 0.25]])

    def pushed(x):
        with tf.autodiff.ForwardAccumulator(x, tangent) as accumulator:
            y = function(x)
        return accumulator.jvp(y)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    slopes = tape.jacobian(y, x)
    found = (tf.function(pushed) if traced else pushed)(x)
    assert tf.is_tensor(found)
    np.testing.assert_allclose(found, tf.tensordot(slopes, tangent, 2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "rule", [lambda g: tf.clip_by_value(g, -0.1, 0.1), lambda g: tf.clip_by_norm(g, 1.0), tf.tanh]
)
def test_rules_of_programs_need_not_be_linear(rule):
    """Tangents are taken where gradients are zero, where clipping ones have their slope."""

    @tf.custom_gradient
    def clipped(x):
        return tf.identity(x), rule

    x = tf.constant([1.0, 2.0, 3.0])
    with tf.autodiff.ForwardAccumulator(x, tf.ones([3])) as accumulator:
        y = clipped(x)
    np.testing.assert_allclose(accumulator.jvp(y), [1.0, 1.0, 1.0])


@pytest.mark.parametrize("flags", [{}, {"reverse": True}, {"exclusive": True}], ids=str)
def test_tangents_of_called_functions_with_running_logarithms(flags):
    """Gradients of zero have slopes, too, also where what comes from two results cancels."""

    def direct(x):
        logs = tf.math.cumulative_logsumexp(x, 1, **flags)
        return logs, -logs

    x = tf.constant([[1.0, 2.0, 0.5], [3.0, -1.0, 2.0]])
    tangent = tf.constant([[1.0, 0.0, 0.0], [0.0, 1.0, 2.0]])

    def tangents(function):
        with tf.autodiff.ForwardAccumulator(x, tangent) as accumulator:
            results = function(x)
        return [accumulator.jvp(r) for r in results]

    weights = np.exp(x)
    sums = {"axis": 1, **flags}
    expected = tf.cumsum(weights * tangent, **sums) / tf.cumsum(weights, **sums)
    for function in (direct, tf.function(direct)):
        first, second = tangents(function)
        np.testing.assert_allclose(first, expected, atol=1e-5)
        np.testing.assert_allclose(second, -expected, atol=1e-5)
