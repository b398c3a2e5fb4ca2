"""Functions of complex numbers at zero and infinity."""

from typing import Any

import numpy as np
import pytest

import penstock as tf

INFINITE = [complex(a, b) for a in (-np.inf, 1.0, np.inf) for b in (-np.inf, np.inf, np.nan)]
INFINITE = [z for z in INFINITE if np.isinf(z)]


@pytest.fixture(params=[False, True], ids=["eager", "compiled"])
def run(request: Any) -> Any:
    return (lambda f: tf.function(f, jit_compile=True)) if request.param else (lambda f: f)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_reciprocals_of_roots(run: Any, dtype: Any) -> None:
    assert not run(tf.math.rsqrt)(tf.constant(INFINITE, dtype)).numpy().any()
    of_zero = run(tf.math.rsqrt)(tf.constant([0j, 4 + 0j], dtype)).numpy()
    assert np.isposinf(of_zero[0].real)
    assert np.isnan(of_zero[0].imag)
    assert of_zero[1] == 0.5


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_the_logistic_function(run: Any, dtype: Any) -> None:
    x = [complex(-np.inf, b) for b in (0.0, 1.0, -np.inf, np.nan)]
    assert not run(tf.math.sigmoid)(tf.constant(x, dtype)).numpy().any()
    far = tf.constant([-1000 + 3j, -100 + 1j, 100 - 1j, 1000 + 3j, complex(np.inf, 2)], dtype)
    found = run(tf.math.sigmoid)(far).numpy()
    np.testing.assert_allclose(found, [0, 0, 1, 1, 1], atol=1e-40)
    near = np.array([-3 + 1j, 2 - 1j, 0.5j], dtype)
    np.testing.assert_allclose(run(tf.math.sigmoid)(near), 1 / (1 + np.exp(-near)), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_powers_of_zero(run: Any, dtype: Any) -> None:
    """What the real part of the exponent says; 0 to the power of 0 is 1, as of real numbers."""
    y = tf.constant([1 + 1j, 2 - 3j, 0.5 + 0j, 0j, -1 + 1j, -2 + 0j], dtype)
    found = run(tf.math.pow)(tf.zeros([6], dtype), y).numpy()
    assert found[:4].tolist() == [0, 0, 0, 1]
    assert np.isposinf(found[4:].real).all()
    assert np.isnan(found[4:].imag).all()
    infinite = tf.constant([z for z in INFINITE if z.imag == z.imag], dtype)
    assert not run(tf.math.pow)(infinite, tf.constant(-1 + 0j, dtype)).numpy().any()
    assert not run(tf.math.pow)(infinite, tf.constant(-0.5 + 2j, dtype)).numpy().any()
    mixed = run(tf.math.pow)(tf.constant([0j, 2j], dtype), tf.constant(2 + 0j, dtype)).numpy()
    np.testing.assert_allclose(mixed, [0, -4], atol=1e-6)
