"""The proximal optimizers, against their formulas written in NumPy."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


def shrunk(value, rate, l1, l2):
    return np.sign(value) * np.maximum(np.abs(value) - rate * l1, 0) / (1 + l2 * rate)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("adagrad", [False, True])
def test_steps_follow_the_formula(adagrad, sparse):
    kind = "ProximalAdagradOptimizer" if adagrad else "ProximalGradientDescentOptimizer"
    optimizer = getattr(v1.train, kind)(
        0.5, l1_regularization_strength=0.2, l2_regularization_strength=0.3
    )
    var = tf.Variable([1.0, -0.05, 2.0])
    grad, rows = np.array([0.1, 0.2, -0.4]), [0, 1, 2]
    given = tf.IndexedSlices(tf.constant(grad, tf.float32), tf.constant(rows), tf.constant([3]))
    value, accum = np.array([1.0, -0.05, 2.0]), np.full(3, 0.1)
    for _ in range(3):
        optimizer.apply_gradients([(given if sparse else tf.constant(grad, tf.float32), var)])
        accum = accum + grad**2
        rate = 0.5 / np.sqrt(accum) if adagrad else 0.5
        value = shrunk(value - rate * grad, rate, 0.2, 0.3)
    np.testing.assert_allclose(var.numpy(), value, rtol=1e-5, atol=1e-6)


def test_an_accumulator_that_begins_at_zero_is_refused():
    with pytest.raises(ValueError, match="must be positive: 0"):
        v1.train.ProximalAdagradOptimizer(0.1, initial_accumulator_value=0.0)
