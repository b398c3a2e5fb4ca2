"""Gradients through converted conditionals and loops, to the second order."""

import numpy as np
import pytest

import penstock as tf


def piecewise(x):
    if x > 1.0:
        y = x * x * x
    elif x > 0.0:
        y = 2.0 * x
    else:
        y = tf.sin(x)
    return y


def summed_rows(x):
    s = tf.constant(0.0)
    for row in x * tf.constant([1.0, 2.0, 3.0]):
        if row < 5.0:
            s += row * row
        else:
            continue
    return s


def counted_powers(x):
    y = tf.ones_like(x)
    for i in tf.range(3):
        y = y * x + tf.cast(i, tf.float32)
    return y


def until_large(x):
    y = x
    while y < 100.0:
        y = y * (x + 1.0)
        if y > 50.0:
            break
    return y


def nested(x):
    total = x
    for i in tf.range(3):
        j = i
        while j > 0:
            total = total * x if total < 10.0 else total + x
            j -= 1
    return total


def early(x):
    for i in tf.range(5):
        if tf.cast(i, tf.float32) * x > 4.0:
            return x * x * tf.cast(i, tf.float32)
    return x


FUNCTIONS = [piecewise, summed_rows, counted_powers, until_large, nested, early]


BOUNDED = [piecewise, summed_rows, counted_powers, early]  # the number of rounds is known


def first(function, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


def second(function, x):
    """Zero where no gradient is there: a branch that is a line has none, eagerly."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        gradient = first(function, x)
    return tape.gradient(gradient, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_first_order(function):
    traced = tf.function(function)
    for value in (0.5, 1.5, 2.5):
        x = tf.constant(value)
        np.testing.assert_allclose(first(traced, x), first(function, x), rtol=1e-5)


@pytest.mark.parametrize("function", BOUNDED)
def test_second_order(function):
    traced = tf.function(function)
    for value in (0.5, 2.5):
        x = tf.constant(value)
        np.testing.assert_allclose(second(traced, x), second(function, x), rtol=1e-5)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients_inside_the_function(function):
    @tf.function
    def both(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    x = tf.constant(1.5)
    np.testing.assert_allclose(both(x), first(function, x), rtol=1e-5)


def test_gradients_of_variables_in_a_loop():
    weight = tf.Variable(2.0)

    @tf.function
    def loss(n):
        y = tf.constant(1.0)
        for _ in tf.range(n):
            if y < 10.0:
                y = y * weight
        return y

    with tf.GradientTape() as tape:
        y = loss(tf.constant(3))
    assert float(y) == 8.0
    assert float(tape.gradient(y, weight)) == 12.0
