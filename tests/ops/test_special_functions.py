"""Special functions beside figures of arbitrary precision, within units in the last place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

RECORDED = json.loads(
    (Path(__file__).parents[1] / "data" / "special_functions.json").read_text("utf-8")
)
# Units in the last place of float64 and of float32, in eager calls and compiled. The Bessel
# functions of the first and second kind lose relative accuracy beside their zeros beyond x = 8, and
# just below, where the sum behind J0 is small beside its terms.
ULPS = {
    "bessel_j0": (10, 1), "bessel_j1": (8, 1), "bessel_y0": (100, 1), "bessel_y1": (8, 1),
    "bessel_k0": (8, 1), "bessel_k1": (6, 1), "bessel_k0e": (6, 1), "bessel_k1e": (8, 1),
    "bessel_i0": (4, 8), "bessel_i1": (8, 12), "bessel_i0e": (6, 6), "bessel_i1e": (6, 6),
    "dawsn": (10, 1), "expint": (6, 8), "fresnel_cos": (6, 1), "fresnel_sin": (6, 1),
    "spence": (6, 4), "erfcinv": (6, 4), "ndtri": (6, 4), "erfinv": (4, 4), "digamma": (20, 16),
    "lgamma": (160, 120), "zeta": (6, 6), "polygamma": (16, 30), "igamma": (80, 80),
    "igammac": (80, 100), "igamma_grad_a": (100, 120), "betainc": (400, 100),
}  # fmt: skip


def function_of(name: str) -> Callable[..., Any]:
    if name == "igamma_grad_a":
        return lambda a, x: tf.raw_ops.IgammaGradA(a=a, x=x)
    found = getattr(tf.math, name, None) or getattr(tf.math.special, name)
    return lambda *arguments: found(*arguments)


@pytest.mark.parametrize("name", sorted(RECORDED))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_recorded_figures(name: str, dtype: Any, compiled: bool) -> None:
    entry = RECORDED[name]
    arguments = [tf.constant(np.array(a, dtype)) for a in entry["arguments"]]
    function = tf.function(function_of(name), jit_compile=True) if compiled else function_of(name)
    wanted = np.array(entry["values"])
    spacing = np.spacing(np.abs(wanted).astype(dtype)).astype(np.float64)
    ulps = np.abs(function(*arguments).numpy().astype(np.float64) - wanted) / spacing
    allowed = ULPS[name][dtype is np.float32]
    worst = int(ulps.argmax())
    at = [a[worst] for a in entry["arguments"]]
    assert ulps[worst] <= allowed, f"{name}{tuple(at)}: {ulps[worst]:.1f} ulps"


@pytest.mark.parametrize(
    ("zero", "rest", "slope"),
    [
        (2.404825557695773, -1.176691651530894e-16, -0.5191474972894669),
        (5.520078110286311, 8.088597146146722e-17, 0.3402648065583682),
    ],
)
def test_j_is_exact_beside_its_first_zeros(zero: float, rest: float, slope: float) -> None:
    """At the number next to a zero the value is the slope times the rest, to all digits."""
    for run in (tf.math.special.bessel_j0, tf.function(tf.math.special.bessel_j0)):
        value = run(tf.constant(zero, tf.float64)).numpy()
        assert value == pytest.approx(-slope * rest, rel=1e-6)


def test_fresnel_keeps_its_phase_far_out() -> None:
    """At even x the angle is a whole number of turns, however large x is."""
    x = np.array([1000.0, 100000.0, 2.0**26 + 2])
    sine = tf.math.special.fresnel_sin(tf.constant(x)).numpy()
    cosine = tf.math.special.fresnel_cos(tf.constant(x)).numpy()
    np.testing.assert_allclose(sine, 0.5 - 1 / (np.pi * x), rtol=0, atol=1e-15)
    np.testing.assert_allclose(cosine, 0.5 - 1 / (np.pi**2 * x**3), rtol=0, atol=1e-15)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_incomplete_gamma_functions_at_their_edges(compiled: bool) -> None:
    """Where limits depend on the way: TensorFlow's values."""
    a = tf.constant([[0.0], [-1.5], [np.nan], [np.inf], [2.0]])
    x = tf.constant([0.0, 1.0, -1.0, np.nan])
    for name, expected in (
        ("igamma", [[0, *[np.nan] * 3]] * 3 + [[0, 0, np.nan, np.nan]]),
        ("igammac", [[np.nan] * 4] * 3 + [[1, 1, np.nan, np.nan]]),
    ):
        function = function_of(name)
        values = tf.function(function, jit_compile=True)(a, x) if compiled else function(a, x)
        np.testing.assert_array_equal(values[:4], expected)
        np.testing.assert_array_equal(np.isnan(values[4]), [False, False, True, True])
    order = tf.constant([0.5, 1.5, -0.5, -1.0, np.nan])
    polygamma = tf.function(tf.math.polygamma, jit_compile=True) if compiled else tf.math.polygamma
    assert np.isnan(polygamma(order, 1.3)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", [tf.math.igamma, tf.math.igammac])
def test_incomplete_gamma_functions_of_large_orders_end_when_compiled(
    function: Any, dtype: Any
) -> None:
    """XLA's series would take as many steps as the root of the order, or never end."""
    orders, steps = np.array([[1.2e8], [1e10], [1e30]]), np.array([0, 0.1, -0.1, 3, -3, 40, -40])
    a, x = (orders + 0 * steps).astype(dtype), (orders + steps * np.sqrt(orders)).astype(dtype)
    compiled = tf.function(function, jit_compile=True)(a, x)
    np.testing.assert_allclose(compiled, function(a, x), rtol=1e-5 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize(("dtype", "near"), [(np.float32, 3e-6), (np.float64, 3e-10)])
def test_incomplete_gamma_functions_of_orders_of_many_steps_are_right_when_compiled(
    dtype: Any, near: float
) -> None:
    """XLA's series lose a digit or more: of float32 they are off by up to 0.02."""
    orders = np.array([[1.1e4, 3e4, 9e4]] if dtype == np.float32 else [[1.1e5, 9e5]]).T
    x = (orders + np.linspace(-8, 8, 9) * np.sqrt(orders)).astype(dtype)
    a = (orders + 0 * x).astype(dtype)
    compiled = tf.function(tf.math.igamma, jit_compile=True)(a, x)
    wide = tf.math.igamma(a.astype(np.float64), x.astype(np.float64))
    np.testing.assert_allclose(compiled, wide, rtol=0, atol=near)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_zeta_and_polygamma_at_poles(compiled: bool) -> None:
    """Infinite where the sign is the same on both sides, at even powers, else NaN."""
    x, q = tf.constant([[2.0], [3.0], [4.0], [2.5]]), tf.constant([0.0, -1.0, -30.0])
    zeta, polygamma = tf.math.zeta, tf.math.polygamma
    if compiled:
        zeta, polygamma = (tf.function(f, jit_compile=True) for f in (zeta, polygamma))
    wanted = np.repeat([[np.inf], [np.nan], [np.inf], [np.nan]], 3, axis=1)
    np.testing.assert_array_equal(zeta(x, q), wanted)
    np.testing.assert_array_equal(polygamma(x - 1, q), wanted)
