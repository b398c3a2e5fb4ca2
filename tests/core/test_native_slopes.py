"""1 by roots and gradients by results in one native pass: NumPy's bits, on one thread or more."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_slopes as n

pytestmark = pytest.mark.skipif(not n.LIBRARY.is_in_use(), reason="no native library here")

BACK = {
    n.SIGMOID_BACK: ("SigmoidGrad", lambda y, dy: dy * y * (1 - y)),
    n.TANH_BACK: ("TanhGrad", lambda y, dy: dy * (1 - y * y)),
    n.ROOT_BACK: ("SqrtGrad", lambda y, dy: np.where(dy == 0, 0, dy * 0.5 / y)),
    n.ROOT_BELOW_BACK: ("RsqrtGrad", lambda y, dy: np.where(dy == 0, 0, dy * -0.5 * (y * y * y))),
    n.BELOW_BACK: ("InvGrad", lambda y, dy: np.where(dy == 0, 0, -dy * (y * y))),
}
SIZES = [4096, 5001, (1 << 18) + 77]


def numbers(size, dtype):
    rng = np.random.default_rng(size)
    x = rng.standard_normal(size).astype(dtype)
    x[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 1e30, -1.0]
    return x


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", SIZES)
def test_one_by_roots(size, dtype):
    x = numbers(size, dtype)
    found = n.rsqrt(x)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, np.reciprocal(np.sqrt(x)))
    assert found.dtype == dtype
    assert n.rsqrt(x[:9]) is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", BACK)
@pytest.mark.parametrize("size", SIZES)
def test_gradients_by_results(function, size, dtype):
    y = numbers(size, dtype)
    dy = numbers(size, dtype)[::-1]
    dy[::3] = 0
    name, plain = BACK[function]
    with np.errstate(all="ignore"):
        wanted = plain(y, dy).astype(dtype)
    np.testing.assert_array_equal(n.back(function, y, dy), wanted)
    np.testing.assert_array_equal(getattr(tf.raw_ops, name)(y=y, dy=dy), wanted)


def test_gradients_of_another_shape_and_few_or_other_numbers():
    y, dy = np.full((64, 64), 2, np.float32), np.ones((128, 32), np.float32)
    found = tf.raw_ops.InvGrad(y=y, dy=dy)
    np.testing.assert_array_equal(found, np.full((64, 64), -4, np.float32))
    assert n.back(n.BELOW_BACK, y[:2], dy[:2]) is None
    assert n.back(n.BELOW_BACK, y.astype(np.complex64), dy.astype(np.complex64)) is None


def test_rsqrt_has_one_result_on_both_ways(monkeypatch):
    x = np.abs(numbers((1 << 18) + 77, "float32"))
    found = tf.math.rsqrt(tf.constant(x)).numpy()
    monkeypatch.setattr(n, "rsqrt", lambda *given: None)
    np.testing.assert_array_equal(found, tf.math.rsqrt(tf.constant(x)).numpy())
