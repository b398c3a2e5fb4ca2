"""Averages kept beside variables."""

import numpy as np
import pytest

import penstock as tf


def run_graph(steps=3, **options):
    """Averages of a variable and of a tensor after each of some steps that add 1."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        v = tf.compat.v1.get_variable("scope/v", initializer=[1.0, 2.0])
        x = v * 3.0
        ema = tf.train.ExponentialMovingAverage(0.9, **options)
        update = ema.apply([v, x])
        session.run(tf.compat.v1.global_variables_initializer())
        seen = []
        for _ in range(steps):
            session.run(v.assign_add([1.0, 1.0]))
            session.run(update)
            seen.append(session.run([ema.average(v), ema.average(x)]))
        return seen


@pytest.mark.parametrize("updates", [None, 3])
def test_averages_follow_the_formula(updates):
    decay = 0.9 if updates is None else min(0.9, (1 + updates) / (10 + updates))
    v, of_v, of_x = np.array([1.0, 2.0]), np.array([1.0, 2.0]), np.zeros(2)
    for got_v, got_x in run_graph(num_updates=updates):
        v = v + 1
        of_v = decay * of_v + (1 - decay) * v
        of_x = decay * of_x + (1 - decay) * 3 * v
        np.testing.assert_allclose(got_v, of_v, rtol=1e-6)
        np.testing.assert_allclose(got_x, of_x, rtol=1e-6)


def test_averages_of_tensors_are_corrected_for_their_beginning():
    v, total, weight = np.array([1.0, 2.0]), np.zeros(2), 0.0
    for _, got in run_graph(zero_debias=True):
        v = v + 1
        total, weight = 0.9 * total + 0.1 * 3 * v, 0.9 * weight + 0.1
        np.testing.assert_allclose(got, total / weight, rtol=1e-5)


def test_names_and_what_to_restore():
    with tf.Graph().as_default():
        v = tf.compat.v1.get_variable("a/v", initializer=1.0)
        w = tf.compat.v1.get_variable("w", initializer=1.0, trainable=False)
        ema = tf.train.ExponentialMovingAverage(0.9, name="shadow")
        update = ema.apply()
        assert update.name == "shadow"
        assert ema.average_name(v) == "a/v/shadow"
        assert ema.average_name(w) == "w/shadow"
        assert ema.average(w) is None
        assert tf.compat.v1.moving_average_variables() == [v]
        assert ema.variables_to_restore() == {"a/v/shadow": v, "w": w}
        assert set(ema.variables_to_restore([])) == {"a/v", "a/v/shadow", "w"}


def test_eagerly_and_in_a_function():
    v = tf.Variable(1.0)
    ema = tf.train.ExponentialMovingAverage(0.5)
    assert ema.apply([v]) is None
    v.assign(3.0)
    ema.apply([v])
    assert float(ema.average(v)) == 2.0

    @tf.function
    def update():
        ema.apply([v])

    update()
    assert float(ema.average(v)) == 2.5


def test_what_has_no_average():
    ema = tf.train.ExponentialMovingAverage(0.9)
    with pytest.raises(TypeError, match="half, float, or double"):
        ema.apply([tf.Variable(1)])
    with pytest.raises(TypeError, match="non-Variable"):
        ema.apply([tf.constant(1.0)])
