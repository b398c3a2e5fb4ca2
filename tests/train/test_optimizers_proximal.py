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


GRADS = np.array([[0.5, -0.25], [1.0, 0.1], [0.0, 2.0]], np.float32)
START = np.array([[1.0, 2.0], [3.0, -4.0], [0.5, 0.25]], np.float32)
AFTER_THREE_STEPS = {  # recorded from TensorFlow 2.21; all rows, and rows 2 and 0
    (0.0, 0.0, 0.1): (
        [[-0.8134892, 0.6993786], [-0.8519428, -0.4160252], [-0.0, -0.8624394]],
        [[-0.8519428, -0.4160252], [3.0, -4.0], [-0.8134892, 0.6993786]],
    ),
    (0.3, 0.2, 0.5): (
        [[-0.2115605, 0.0], [-0.4836862, 0.0], [0.0, -0.6648358]],
        [[-0.4836862, 0.0], [3.0, -4.0], [-0.2115605, 0.0]],
    ),
}


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("setting", AFTER_THREE_STEPS)
def test_dual_averaging_is_tensorflows(setting, sparse, resource):
    l1, l2, first = setting
    with tf.Graph().as_default(), v1.Session() as session:
        var = v1.get_variable("v", initializer=tf.constant(START), use_resource=resource)
        step = v1.train.get_or_create_global_step()
        optimizer = v1.train.AdagradDAOptimizer(0.5, step, first, l1, l2)
        grad = tf.constant(GRADS)
        if sparse:
            grad = tf.IndexedSlices(grad[:2], tf.constant([2, 0]), tf.constant([3, 2]))
        train = optimizer.apply_gradients([(grad, var)], global_step=step)
        session.run(v1.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        np.testing.assert_allclose(
            session.run(var), AFTER_THREE_STEPS[setting][sparse], rtol=2e-6, atol=1e-7
        )
        assert optimizer.get_slot_names() == [
            "gradient_accumulator",
            "gradient_squared_accumulator",
        ]
        assert [v.name for v in optimizer.variables()] == ["v/AdagradDA:0", "v/AdagradDA_1:0"]
        assert session.run(step) == 3


def test_dual_averaging_runs_eagerly_with_a_step_of_32_bits():
    var, step = tf.Variable(START), tf.Variable(0)
    optimizer = v1.train.AdagradDAOptimizer(lambda: 0.5, step, 0.5, 0.3, 0.2)
    for _ in range(3):
        optimizer.apply_gradients([(tf.constant(GRADS), var)], global_step=step)
    np.testing.assert_allclose(var, AFTER_THREE_STEPS[0.3, 0.2, 0.5][0], rtol=2e-6, atol=1e-7)


def test_dual_averaging_refuses_a_function_of_text_before_the_step():
    with tf.Graph().as_default():
        variable, step = v1.get_variable("v", [2]), v1.train.get_or_create_global_step()
        optimizer = v1.train.AdagradDAOptimizer(lambda: "a", step)
        with pytest.raises(TypeError, match="a real number as learning_rate, got"):
            optimizer.minimize(tf.reduce_sum(variable * variable))


def test_dual_averaging_refuses_what_has_no_meaning():
    with pytest.raises(ValueError, match=r"initial_gradient_squared\w+ must be positive: 0"):
        v1.train.AdagradDAOptimizer(0.1, 0, initial_gradient_squared_accumulator_value=0.0)
    with pytest.raises(ValueError, match="None"):
        v1.train.AdagradDAOptimizer(0.1, None).apply_gradients(
            [(tf.constant(GRADS), tf.Variable(START))]
        )


@pytest.mark.parametrize("rate", ["0.1", b"x", 1j, lambda: "a"])
@pytest.mark.parametrize("name", ["Ftrl", "ProximalGradientDescent", "ProximalAdagrad"])
def test_a_rate_that_is_no_real_number_is_refused_before_the_step(name, rate):
    optimizer = getattr(tf.compat.v1.train, f"{name}Optimizer")(rate)
    with tf.Graph().as_default():
        variable = tf.compat.v1.get_variable("v", [2])
        with pytest.raises(TypeError, match="a real number as learning_rate, got"):
            optimizer.minimize(tf.reduce_sum(variable * variable))
