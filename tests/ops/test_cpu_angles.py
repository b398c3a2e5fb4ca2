"""Sines, arc sines and inverse roots in compiled code: exact, rounded, for large arrays on CPU."""

import numpy as np
import pytest

import penstock as tf
from penstock.ops.kernels import cpu_angles

COUNT = cpu_angles.LEAST_ELEMENTS
RNG = np.random.default_rng(1)
NEAR = np.concatenate(
    [
        [0.0, -0.0],
        np.arange(-3000, 3000) * np.pi / 2,  # beside zeros and poles
        RNG.uniform(-9e4, 9e4, COUNT),
        10.0 ** RNG.uniform(-30, 4.9, COUNT) * RNG.choice([-1, 1], COUNT),
    ]
).astype(np.float32)
# Numbers too small for the full precision are left out: XLA takes them for 0.
EDGES = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2, -2, 1e-30, 3e30], np.float32)


def compiled(call, *arrays):
    """The result of a function that is compiled."""
    return tf.function(call, jit_compile=True)(*map(tf.constant, arrays)).numpy()


def filled(x):
    """The numbers over and over, as many as the kernels want."""
    return np.resize(x, max(len(x), COUNT))


def assert_rounded(found, wanted, ulps=1.0):
    """Within some units of the last place of the exact results, with their signs of zero."""
    rounded = wanted.astype(found.dtype)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(rounded))
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(found[~finite], rounded[~finite])
    step = np.spacing(np.abs(rounded[finite])).astype(wanted.dtype)
    assert (np.abs(found[finite].astype(wanted.dtype) - wanted[finite]) <= ulps * step).all()
    np.testing.assert_array_equal(np.signbit(found[finite]), np.signbit(rounded[finite]))


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles(name):
    wanted = getattr(np, name)(NEAR.astype(np.longdouble)).astype(np.float64)
    assert_rounded(compiled(getattr(tf.math, name), NEAR), wanted)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize("other", [2e5, 3e30, np.inf, np.nan])
def test_arrays_with_an_angle_that_is_far_or_none(name, other):
    x = np.append(NEAR, np.float32(other))
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(x.astype(np.longdouble)).astype(np.float64)
    assert_rounded(compiled(getattr(tf.math, name), x), wanted, ulps=4)  # XLA's


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [3, 100, 20_000])
def test_arc_tangents_in_registers_of_full_width(dtype, count):
    x = np.concatenate([10.0 ** RNG.uniform(-9, 9, count), RNG.uniform(-1.2, 1.2, count), EDGES])
    x = x.astype(dtype)
    found = tf.function(lambda x: tf.math.atan(x) * 1)(x)
    wanted = np.arctan(x.astype(np.longdouble))
    assert_rounded(found.numpy(), wanted, ulps=3.0)  # NumPy's are within 2.2


@pytest.mark.parametrize("name", ["asin", "acos"])
def test_arcs(name):
    x = filled(np.concatenate([RNG.uniform(-1, 1, COUNT).astype(np.float32), EDGES]))
    with np.errstate(all="ignore"):
        wanted = getattr(np, f"arc{name[1:]}")(x.astype(np.float64))
    assert_rounded(compiled(getattr(tf.math, name), x), wanted)


def test_angles_of_points():
    y, x = (a.reshape(-1) for a in np.meshgrid(EDGES, EDGES))
    y = filled(np.concatenate([y, RNG.standard_normal(COUNT).astype(np.float32)]))
    x = filled(np.concatenate([x, RNG.standard_normal(COUNT).astype(np.float32)]))
    assert_rounded(compiled(tf.math.atan2, y, x), np.arctan2(y.astype(np.float64), x))
    rows = RNG.standard_normal((COUNT // 4, 4)).astype(np.float32)
    wanted = np.arctan2(rows.astype(np.float64), rows[0])
    assert_rounded(compiled(tf.math.atan2, rows, rows[0]), wanted)


def test_inverse_roots():
    x = filled(np.concatenate([10.0 ** RNG.uniform(-37, 38, COUNT), [np.inf, 1, 2**-64]]))
    x = x.astype(np.float32)
    assert_rounded(compiled(tf.math.rsqrt, x), 1 / np.sqrt(x.astype(np.float64)), ulps=1.5)
    edges = compiled(tf.math.rsqrt, filled(np.array([0.0, -0.0, -1, np.nan, -np.inf], np.float32)))
    np.testing.assert_array_equal(edges[:5], [np.inf, -np.inf, np.nan, np.nan, np.nan])


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
@pytest.mark.parametrize("name", ["sin", "cos", "tan", "asin", "acos", "atan", "rsqrt"])
def test_short_floats(name, dtype):
    x = filled(RNG.uniform(0.01, 0.99, COUNT)).astype(dtype.as_numpy_dtype)
    large, small = (compiled(getattr(tf.math, name), a) for a in (x, x[:100]))
    assert large.dtype == x.dtype
    step = 2.0**-7 if dtype is tf.bfloat16 else 2.0**-10
    np.testing.assert_allclose(
        large[:100].astype(np.float64), small.astype(np.float64), rtol=step, atol=1e-6
    )
