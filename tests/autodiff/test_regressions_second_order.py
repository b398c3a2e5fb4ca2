"""Second derivatives taken inside a function, through a function that it calls."""

import numpy as np
import pytest

import penstock as tf


def _setup(form):
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def square(x):
        return w * w * x

    @tf.function
    def cube(x):
        return square(x) * w

    forms = {"plain": lambda x: w * w * x * w, "one": lambda x: square(x) * w, "two": cube}
    return w, forms[form]


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("form", ["plain", "one", "two"])
@pytest.mark.parametrize("traced", [False, True])
def test_tapes_around_tapes(form, persistent, traced) -> None:
    w, cubes = _setup(form)

    def derivatives(x):
        with tf.GradientTape() as outermost:
            with tf.GradientTape(persistent=persistent) as outer:
                with tf.GradientTape() as inner:
                    y = tf.reduce_sum(cubes(x))
                first = inner.gradient(y, w)
            second = outer.gradient(first, w)
        return first, second, outermost.gradient(second, w)

    call = tf.function(derivatives) if traced else derivatives
    first, second, third = (t.numpy() for t in call(tf.constant(2.0)))
    np.testing.assert_allclose(first, [6.0, 24.0])
    np.testing.assert_allclose(second, [12.0, 24.0])
    np.testing.assert_allclose(third, [12.0, 12.0])


@pytest.mark.parametrize("form", ["plain", "one", "two"])
def test_a_jacobian_of_a_gradient_inside_a_function(form) -> None:
    w, cubes = _setup(form)

    @tf.function
    def hessian(x):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(cubes(x))
            first = inner.gradient(y, w)
        return outer.jacobian(first, w)

    np.testing.assert_allclose(hessian(tf.constant(2.0)).numpy(), [[12.0, 0.0], [0.0, 24.0]])
