"""Falling learning rates against their formulas."""

import math

import pytest

import penstock as tf

train = tf.compat.v1.train


def _cosine(share):
    return 0.5 * (1 + math.cos(math.pi * share))


CASES = {
    "exponential": (
        lambda s: train.exponential_decay(0.1, s, 3, 0.5),
        lambda s: 0.1 * 0.5 ** (s / 3),
    ),
    "staircase": (
        lambda s: train.exponential_decay(0.1, s, 3, 0.5, staircase=True),
        lambda s: 0.1 * 0.5 ** (s // 3),
    ),
    "natural": (
        lambda s: train.natural_exp_decay(0.1, s, 3, 0.5),
        lambda s: 0.1 * math.exp(-0.5 * s / 3),
    ),
    "inverse time": (
        lambda s: train.inverse_time_decay(0.1, s, 3, 0.5),
        lambda s: 0.1 / (1 + 0.5 * s / 3),
    ),
    "polynomial": (
        lambda s: train.polynomial_decay(0.1, s, 3, 0.01, power=2.0),
        lambda s: 0.09 * (1 - min(s, 3) / 3) ** 2 + 0.01,
    ),
    "polynomial, cycling": (
        lambda s: train.polynomial_decay(0.1, s, 3, 0.01, cycle=True),
        lambda s: 0.09 * (1 - s / (3 * max(1, math.ceil(s / 3)))) + 0.01,
    ),
    "cosine": (
        lambda s: train.cosine_decay(0.1, s, 3, alpha=0.2),
        lambda s: 0.1 * (0.8 * _cosine(min(s, 3) / 3) + 0.2),
    ),
    "restarts of one length": (
        lambda s: train.cosine_decay_restarts(0.1, s, 3, t_mul=1.0, m_mul=0.5),
        lambda s: 0.1 * 0.5 ** (s // 3) * _cosine(s % 3 / 3),
    ),
    "restarts twice as long": (
        lambda s: train.cosine_decay_restarts(0.1, s, 3),
        lambda s: 0.1 * _cosine(s / 3 if s < 3 else (s - 3) / 6 if s < 9 else (s - 9) / 12),
    ),
    "linear cosine": (
        lambda s: train.linear_cosine_decay(0.1, s, 3, num_periods=2.0, alpha=0.1, beta=0.2),
        lambda s: (
            0.1
            * ((0.1 + 1 - min(s, 3) / 3) * 0.5 * (1 + math.cos(4 * math.pi * min(s, 3) / 3)) + 0.2)
        ),
    ),
    "piecewise": (
        lambda s: train.piecewise_constant(s, [1, 4], [1.0, 2.0, 3.0]),
        lambda s: 1.0 if s <= 1 else 2.0 if s <= 4 else 3.0,
    ),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_rates_by_step(name):
    build, expected = CASES[name]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        step = tf.compat.v1.placeholder(tf.int64, [])
        rate = build(step)
        for s in (0, 1, 2, 3, 4, 7, 10):
            assert session.run(rate, {step: s}) == pytest.approx(expected(s), rel=2e-5, abs=1e-8)
    assert float(build(tf.constant(2, tf.int64))()) == pytest.approx(expected(2), rel=2e-5)


def test_noise_is_drawn_at_each_step():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        rate = train.noisy_linear_cosine_decay(0.1, tf.constant(1), 3)
        assert session.run(rate) != session.run(rate)


def test_an_eager_rate_follows_its_variable():
    step = tf.Variable(0, dtype=tf.int64)
    rate = train.exponential_decay(1.0, step, 1, 0.5)
    assert float(rate()) == 1.0
    step.assign_add(2)
    assert float(rate()) == 0.25


def test_an_optimizer_takes_a_rate():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        step = train.get_or_create_global_step()
        x = tf.compat.v1.get_variable("x", initializer=1.0)
        rate = train.piecewise_constant(step, [0], [1.0, 0.0])
        update = train.GradientDescentOptimizer(rate).minimize(x, global_step=step)
        session.run(tf.compat.v1.global_variables_initializer())
        for expected in (0.0, 0.0):
            session.run(update)
            assert session.run(x) == expected


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: train.exponential_decay(0.1, None, 3, 0.5), "global_step"),
        (lambda: train.piecewise_constant(3, [1, 2], [1.0, 2.0]), "length of boundaries"),
        (lambda: train.piecewise_constant(3, [1.5, 2], [1.0, 2.0, 3.0]), "same dtype as x"),
        (lambda: train.piecewise_constant(3, [1, 2], [1.0, 2, 3.0]), "all with the same dtype"),
    ],
)
def test_wrong_arguments(call, words):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(
    ("boundaries", "values"), [([1, 2], [1.0, 2.0]), ([1.5, 2], [1.0, 2.0, 3.0])]
)
def test_wrong_pieces_are_refused_eagerly_before_the_first_call(boundaries, values):
    with pytest.raises(ValueError, match=r"boundaries|Boundaries"):
        train.piecewise_constant(tf.constant(3), boundaries, values)
