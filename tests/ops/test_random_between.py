"""Normal numbers between bounds; the wanted ones are TensorFlow 2.21's on one thread."""

import math

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_random

INF = math.inf
# bounds, and numbers 0, 1, 2 and 39 of 40 with the seed (1, 2), mean 0, deviation 1, float64
DRAWN = {
    (-2, 2): [-0.14231181, 0.740607246, -1.46904767, 0.199656992],  # normal numbers
    (-INF, 0): [-0.740607246, -1.14774745, -0.600359279, -0.23675527],
    (0, 1.31): [0.740607246, 1.14774745, 0.600359279, 0.623427117],
    (-1.29, 1): [0.433187796, -0.111080814, 0.101736164, 0.422603837],  # even ones
    (0.3, 1.5): [1.2029805, 1.02929406, 1.28538024, 0.7927773],
    (-1.5, -1): [-1.37624188, -1.30387252, -1.4105751, -1.36919714],
    (0.3, 2): [0.871788611, 0.463468246, 0.576814356, 1.18081258],  # exponential ones
    (2, INF): [2.71978414, 2.27501865, 2.07862489, 2.46802557],
    (-5, -4): [-4.06713204, -4.41021831, -4.15673822, -4.39448257],
}
# the same with mean 0.5 and deviation 2, bounds in deviations
NARROW = {
    ("float32", -2, 2): [1.58822, 0.9147606, 0.6471286, 0.6033078],
    ("float32", -1, 0.5): [1.032181, -0.923864, 1.48867, -1.181618],
    ("float32", 0.5, 6): [1.764732, 1.505909, 3.533125, 3.455121],
    ("float16", -1, 0.5): [0.1289062, -0.7939453, -1.318359, 0.2753906],
    ("float16", 0.5, 6): [2.453125, 4.53125, 4.296875, 1.605469],
}


@pytest.fixture(params=["native", "NumPy"], autouse=True)
def library(request, monkeypatch):
    if request.param == "NumPy":
        monkeypatch.setattr(native_random.LIBRARY, "function", lambda name: None)


def draw(shape, mean, deviation, low, high, dtype):
    given = [tf.constant(value, dtype) for value in (mean, deviation, low, high)]
    return tf.random.stateless_parameterized_truncated_normal(shape, [1, 2], *given).numpy()


@pytest.mark.parametrize("bounds", DRAWN)
def test_numbers_are_tensorflows(bounds):
    found = draw([40], 0.0, 1.0, *map(float, bounds), tf.float64)
    np.testing.assert_allclose(found[[0, 1, 2, 39]], DRAWN[bounds], rtol=1e-8)


@pytest.mark.parametrize("case", NARROW)
def test_numbers_of_other_dtypes_are_tensorflows(case):
    name, low, high = case
    found = draw([40], 0.5, 2.0, 0.5 + 2 * low, 0.5 + 2 * high, getattr(tf, name))
    np.testing.assert_allclose(found[[0, 1, 2, 39]], NARROW[case], rtol=1e-6)


def test_the_same_parameters_for_each_row_go_on_in_the_stream():
    one = draw([4], 0.0, 1.0, -2.0, 2.0, tf.float64)
    rows = draw([4, 2], [0.0, 0.0], 1.0, -2.0, 2.0, tf.float64)
    np.testing.assert_array_equal(rows[:, 0], one)
    assert not np.isin(rows[:, 1], one).any()


def stateful(shape, parameters, low, high, dtype):
    given = [tf.fill(parameters, tf.constant(v, dtype)) for v in (0.0, 1.0, low, high)]
    tf.random.set_seed(0)
    return tf.raw_ops.ParameterizedTruncatedNormal(
        shape=shape, means=given[0], stdevs=given[1], minvals=given[2], maxvals=given[3],
        seed=3, seed2=4,
    ).numpy()  # fmt: skip


def test_numbers_of_the_stateful_operation_are_tensorflows():
    found = stateful([3, 50], [3], 0.3, 1.0, tf.float64).reshape(-1)[[0, 1, 149]]
    np.testing.assert_allclose(found, [0.5729258, 0.3526005, 0.4457572], rtol=1e-6)
    found = stateful([4, 3], [4], -2.0, 2.0, tf.float32).reshape(-1)[[0, 1, 11]]
    np.testing.assert_allclose(found, [0.2896221, -0.2734511, 0.09592136], rtol=1e-6)


def test_scalar_parameters_of_the_stateful_operation_are_rows_of_a_hundred():
    found = stateful([300, 5], [], 0.3, 1.0, tf.float32).reshape(-1)[[0, 99, 100, 299]]
    np.testing.assert_allclose(found, [0.9466157, 0.6696818, 0.7091988, 0.9575049], rtol=1e-6)


LATER = {  # the shape, those of the parameters -> the first number of the second and third draws
    ((4, 3), ((), (), (), ())): (0.3552457, 0.0091026),
    ((101,), ((), (), (), ())): (0.0091026, -0.0916490),
    ((1, 20), ((1,), (1,), (), ())): (0.3552457, 0.0091026),
    ((1, 20), ((), (), (), (1,))): (0.2309138, 0.0806253),
    ((4, 5), ((4,), (), (), ())): (0.2174045, -0.2985910),
    ((2, 2, 3), ((2,), (2,), (2,), (2,))): (0.6108454, 0.3199896),
}


@pytest.mark.parametrize("case", LATER)
@pytest.mark.parametrize("traced", [False, True])
def test_later_draws_of_the_stateful_operation_are_tensorflows(case, traced):
    shape, parameters = case
    given = [np.full(p, v) for p, v in zip(parameters, (0.0, 1.0, -0.5, 1.0), strict=True)]

    def draw():
        return tf.raw_ops.ParameterizedTruncatedNormal(
            shape=shape, means=given[0], stdevs=given[1], minvals=given[2], maxvals=given[3],
            seed=3, seed2=4,
        )  # fmt: skip

    tf.random.set_seed(0)
    call = tf.function(draw) if traced else draw
    found = [call().numpy().reshape(-1)[0] for _ in range(3)]
    np.testing.assert_allclose(found, (0.0848411, *LATER[case]), atol=1e-6)


@pytest.mark.parametrize("call", [lambda f: f, tf.function])
def test_vectors_of_parameters_have_rows(call):
    @call
    def draw():
        return tf.raw_ops.ParameterizedTruncatedNormal(
            shape=np.zeros(0, np.int32),
            means=[0.0, 0.0],
            stdevs=[1.0],
            minvals=[0.0],
            maxvals=[1.0],
        )

    with pytest.raises(tf.errors.InvalidArgumentError, match="scalars or vectors of 0 rows"):
        draw()


def test_no_numbers():
    assert draw([0], 0.0, 1.0, -1.0, 1.0, tf.float32).shape == (0,)
    assert stateful([0, 3], [], -1.0, 1.0, tf.float32).shape == (0, 3)
    assert stateful([2, 0], [2], -1.0, 1.0, tf.float32).shape == (2, 0)


@pytest.mark.parametrize(
    ("deviation", "low", "high"),
    [(-1.0, 1.0, 2.0), (0.0, 1.0, 2.0), (1.0, 2.0, 2.0), (1.0, -INF, INF), (1.0, math.nan, 2.0)],
)
def test_parameters_that_make_no_sense(deviation, low, high):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid parameters"):
        draw([3], 0.0, deviation, low, high, tf.float32)


@pytest.mark.parametrize(("mean", "low", "high"), [(math.nan, -1.0, 1.0), (0.0, 1e30, 2e30)])
def test_bounds_between_which_no_number_fits(mean, low, high):
    with pytest.raises(tf.errors.InternalError, match="failed to accept a sample"):
        draw([3], mean, 1.0, low, high, tf.float32)


def test_even_bounds_that_differ_by_one_step():
    found = draw([5], 0.0, 1.0, 3.0, 3.0000002, tf.float32)
    assert set(found) == {np.float32(3), np.float32(3.0000002)}
