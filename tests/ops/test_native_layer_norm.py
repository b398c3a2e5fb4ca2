"""Layer normalisation by the native kernels: beside float64, the plain kernels, and in programs."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ops.native_checks import under_each
from tests.runtime.rewritten import fed, planned_types

import penstock as tf
from penstock.core import native
from penstock.core.execute import execute
from penstock.core.lazy import jax, jnp
from penstock.ops.kernels import cpu_norm as cpu

pytestmark = pytest.mark.skipif(not native.available(), reason="no native kernels here")
FORWARD, BACKWARD = "PenstockLayerNorm", "PenstockLayerNormGrad"
SHAPE = (128, 160)


def draw(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


# the kernels


class Context:
    """What the kernels ask of a trace."""

    def __init__(self, epsilon):
        self.attrs = {"epsilon": epsilon}


def both(x, gain, bias, grad, beside, epsilon=1e-3):
    """What the native kernels give: y, and the gradients by x, gain and bias."""

    def run(x, gain, bias, grad, beside):
        y, mean, inverse = cpu.layer_norm(Context(epsilon), x, gain, bias)
        return (y, *cpu.layer_norm_grad(None, x, mean, inverse, gain, grad, beside))

    arrays = jax.tree.map(jnp.asarray, (x, gain, bias, grad, beside))
    return [np.asarray(a) for a in jax.jit(run)(*arrays)]


def reference(x, gain, bias, grad, beside, epsilon=1e-3):
    """The same in float64, by hand."""
    x, grad = x.astype(np.float64), grad.astype(np.float64)
    inverse = 1 / np.sqrt(x.var(-1, keepdims=True) + epsilon)
    unit = (x - x.mean(-1, keepdims=True)) * inverse
    y, by_unit = unit, grad
    for each in gain:
        y, by_unit = y * each, by_unit * each
    for each in bias:
        y = y + each
    slope = (by_unit * unit).mean(-1, keepdims=True)
    by_x = (by_unit - by_unit.mean(-1, keepdims=True) - unit * slope) * inverse + sum(beside)
    rows = tuple(range(x.ndim - 1))
    return y, by_x, (grad * unit).sum(rows), grad.sum(rows)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=2), st.integers(16, 400), st.integers(0, 7))
def test_random_shapes(lead, width, present):
    shape = (*lead, width)
    lists = [[draw(width, seed=1)], [draw(width, seed=2)], [draw(*shape, seed=3)]]
    gain, bias, beside = (each if present >> i & 1 else [] for i, each in enumerate(lists))
    operands = (3 * draw(*shape) + 2, gain, bias, draw(*shape, seed=4), beside)
    wanted = reference(*operands)
    for found in under_each(lambda: both(*operands)):
        for got, right in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-5)


def test_results_are_within_some_units_of_the_last_place():
    operands = (draw(64, 512), [draw(512, seed=1)], [], draw(64, 512, seed=4), [])
    units = np.spacing(np.float32(4))  # most numbers are below 4
    y, by_x, *_ = reference(*operands)
    for found in under_each(lambda: both(*operands)):
        assert np.abs(found[0] - y).max() <= 4 * units
        assert np.abs(found[1] - by_x).max() <= 4 * units


def test_large_means_do_not_hide_the_variance():
    operands = (draw(8, 256) + 1000, [], [], draw(8, 256, seed=4), [])
    for found in under_each(lambda: both(*operands)):
        np.testing.assert_allclose(found[0], reference(*operands)[0], atol=2e-4)


@pytest.mark.parametrize("place", ["x", "grad"])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_not_a_number_and_infinity_go_where_the_plain_kernels_put_them(place, number):
    x, grad, gain = draw(100, 180), draw(100, 180, seed=1), [draw(180, seed=2)]
    (x if place == "x" else grad)[40, 3] = number
    y, mean, inverse = execute(FORWARD, (x, gain, []), {"epsilon": 1e-3})
    wanted = [y, *execute(BACKWARD, (x, mean, inverse, gain, grad, []))]
    for found in under_each(lambda: both(x, gain, [], grad, [])):
        for got, right in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(np.isnan(got), np.isnan(right.numpy()))
            usual = np.isfinite(right.numpy())
            np.testing.assert_allclose(got[usual], right.numpy()[usual], rtol=1e-4, atol=1e-5)


def test_rows_that_are_all_alike():
    operands = (np.full((4, 32), 7, np.float32), [], [draw(32)], draw(4, 32), [])
    for found in under_each(lambda: both(*operands)):
        np.testing.assert_array_equal(found[0], np.broadcast_to(draw(32), (4, 32)))
        np.testing.assert_allclose(found[1], reference(*operands)[1], rtol=1e-5, atol=1e-4)


def test_mapped_calls():
    x, gains = draw(5, 30, 40), draw(5, 40, seed=1)
    mapped = jax.vmap(lambda x, gain: cpu.layer_norm(Context(1e-3), x, [gain], [])[0])
    wanted = reference(x, [gains[:, None]], [], x, [])[0]
    np.testing.assert_allclose(jax.jit(mapped)(x, gains), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(100, 15), (0, 400), (400, 0), (20, 20)])
def test_what_stays_with_the_plain_kernels(shape):
    assert not cpu._is_worth_a_call({}, jax.ShapeDtypeStruct(shape, np.float32))


# programs


def planned(make):
    """How often the program has the two operations; values are compared with the plain ones."""
    types = planned_types(make, 2e-5)
    return types.count(FORWARD), types.count(BACKWARD)


def by_moments(x, gain, bias, epsilon=1e-5):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return scaled((x - mean) * tf.math.rsqrt(variance + epsilon), gain, bias)


def by_squares(x, gain, bias):
    mean = tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(x - mean), axis=len(x.shape) - 1, keepdims=True)
    return scaled((x - mean) * tf.math.rsqrt(1e-5 + variance), gain, bias)


def by_squares_of_what_is_normalised(x, gain, bias):
    centred = x - tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
    return scaled(centred * tf.math.rsqrt(variance + 1e-5), gain, bias)


def scaled(result, gain, bias):
    result = result if gain is None else gain * result
    return result if bias is None else bias + result


def by_batch_normalization(x, gain, bias):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, bias, gain, 1e-5)


SPELLINGS = {
    "moments": by_moments,
    "squares": by_squares,
    "squares of what is normalised": by_squares_of_what_is_normalised,
}
SHAPES = {"matrix": SHAPE, "batch": (4, 32, 160)}


def normalised(spelling, shape=SHAPE, parameters=2, beside="", gradients=True):
    """A program: a function of x is normalised, and x used beside that too."""

    def make():
        x, direction = fed(draw(*shape)), draw(*shape, seed=9)
        vectors = [fed(draw(shape[-1], seed=i)) for i in range(1, 1 + parameters)]
        inner = tf.sin(x)
        before = tf.cos(inner) if beside == "before" else 0.0
        result = spelling(inner, *vectors, *[None] * (2 - parameters))
        after = tf.exp(inner) if beside == "after" else 0.0
        total = result * direction + before + after
        if not gradients:
            return total
        return [total, *tf.gradients(total, [x, *vectors])]

    return make


@pytest.mark.parametrize("parameters", [0, 1, 2])
@pytest.mark.parametrize("name", SPELLINGS)
def test_every_form(name, parameters):
    program = normalised(SPELLINGS[name], parameters=parameters, gradients=False)
    assert planned(program) == (1, 0)


PARTS = zip(itertools.product(SPELLINGS, (0, 1, 2)), itertools.cycle(("before", "after", "", "")))


@pytest.mark.parametrize(("name", "parameters", "beside"), [(*form, b) for form, b in PARTS])
def test_every_form_with_gradients(name, parameters, beside):
    program = normalised(SPELLINGS[name], SHAPES["batch"], parameters, beside)
    assert planned(program) == (1, 1)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("gradients", [False, True])
def test_batch_normalization_with_the_moments_of_the_last_axis(shape, gradients):
    program = normalised(by_batch_normalization, shape, gradients=gradients)
    assert planned(program) == (1, int(gradients))


def test_two_layers():
    def twice(x, gain, bias):
        return by_moments(x + tf.tanh(by_moments(x, gain, bias)), gain, bias)

    assert planned(normalised(twice)) == (2, 2)


def test_what_is_fetched_beside_the_result_is_there():
    def make():
        x = fed(draw(*SHAPE))
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        inverse = tf.math.rsqrt(variance + 1e-5)
        return [(x - mean) * inverse * draw(160), mean, inverse, x - mean]

    assert planned(make) == (1, 0)


def variance_used():
    x = fed(draw(*SHAPE))
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return [(x - mean) * tf.math.rsqrt(variance + 1e-5), variance]


def of_another_axis():
    x = fed(draw(*SHAPE))
    mean, variance = tf.nn.moments(x, [0], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5)


def epsilon_fed():
    return by_moments(fed(draw(*SHAPE)), None, None, fed(np.float32(1e-5)))


LEFT = {
    "the variance is used": variance_used,
    "means of columns": of_another_axis,
    "an epsilon that is computed": epsilon_fed,
    "double": lambda: by_moments(fed(draw(*SHAPE, dtype=np.float64)), None, None),
    "little work": normalised(by_moments, (8, 32)),
    "narrow rows": normalised(by_moments, (4000, 8)),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left(name):
    assert planned(LEFT[name]) == (0, 0)


def test_gradients_where_the_mean_is_not_that_of_what_is_normalised():
    """A constant is added to the mean: its gradient goes where it goes without the constant."""

    def shifted(square):
        x = fed(draw(*SHAPE))
        mean = tf.reduce_mean(x, axis=-1, keepdims=True) + 3.0
        variance = tf.reduce_mean(square(x, mean), axis=-1, keepdims=True)
        y = (x - mean) * tf.math.rsqrt(variance + 1e-5)
        return y, tf.gradients(tf.reduce_sum(y * draw(*SHAPE, seed=1)), x)

    assert planned(lambda: shifted(tf.math.squared_difference)) == (0, 1)
    assert planned(lambda: shifted(lambda x, mean: tf.square(x - mean))) == (0, 1)


def test_a_bias_for_channels_that_are_not_last_is_added_apart():
    def channels_first():
        x, gain, bias = fed(draw(8, 32, 16, 32)), fed(draw(32, seed=1)), fed(draw(32, seed=2))
        return tf.nn.bias_add(by_squares(x, gain, None), bias, data_format="NCHW")

    assert planned(channels_first) == (1, 0)


def test_a_gain_for_each_element_is_multiplied_apart():
    def make():
        x, gain = fed(draw(*SHAPE)), fed(draw(*SHAPE, seed=1))
        return tf.gradients(by_moments(tf.sin(x), gain, None), [x, gain])

    assert planned(make) == (1, 1)


def test_the_switches(monkeypatch):
    monkeypatch.setenv("PENSTOCK_PATTERNS_OFF", "layer_norm")
    assert planned(normalised(by_moments)) == (0, 1)
    monkeypatch.setenv("PENSTOCK_PATTERNS_OFF", "layer_norm, layer_norm_grad")
    assert planned(normalised(by_moments)) == (0, 0)


def test_without_the_library_nothing_is_rewritten(monkeypatch):
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    assert planned(normalised(by_moments)) == (0, 0)


def test_a_function_of_any_batch_takes_it():
    @tf.function(input_signature=[tf.TensorSpec([None, 160])])
    def step(x):
        return by_moments(x, draw(160), None)

    for rows in (200, 0, 3, 200):
        x = draw(rows, 160)
        np.testing.assert_allclose(
            step(x), reference(x, [draw(160)], [], x, [], 1e-5)[0], atol=1e-5
        )
