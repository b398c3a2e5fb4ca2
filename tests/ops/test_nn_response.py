"""Local response normalisation beside plain loops, single calls and functions, of all radii."""

from typing import Any

import numpy as np
import pytest

import penstock as tf


def plain(x: Any, radius: int, bias: float, alpha: float, beta: float) -> Any:
    squares = x.astype(np.float64) ** 2
    sums = np.zeros_like(squares)
    for i in range(x.shape[-1]):
        sums[..., i] = squares[..., max(i - radius, 0) : i + radius + 1].sum(-1)
    return x * (bias + alpha * sums) ** -beta


@pytest.mark.parametrize("beta", [0.5, 0.75, 1.0])
@pytest.mark.parametrize("radius", [0, 1, 5, 20])
@pytest.mark.parametrize("depth", [1, 7, 40])
def test_neighbours_in_depth(depth: int, radius: int, beta: float) -> None:
    x = np.random.default_rng(depth).normal(size=(2, 3, 2, depth)).astype(np.float32)
    wanted = plain(x, radius, 1.5, 0.3, beta)
    call = lambda v: tf.nn.lrn(v, radius, 1.5, 0.3, beta)  # noqa: E731
    for run in (call, tf.function(call), tf.function(call, jit_compile=True)):
        np.testing.assert_allclose(run(tf.constant(x)), wanted, 2e-5, 2e-6)


@pytest.mark.parametrize("jit", [None, True])
@pytest.mark.parametrize("radius", [2, 20])
def test_gradient_by_differences(radius: int, jit: bool | None) -> None:
    rng = np.random.default_rng(radius)
    x, towards = rng.normal(size=(2, 1, 1, 2, 9)).astype(np.float32)
    weights = rng.normal(size=x.shape)

    @tf.function(jit_compile=jit)
    def gradient(v: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(v)
            y = tf.reduce_sum(tf.nn.lrn(v, radius, 1.0, 0.5, 0.5) * weights.astype(np.float32))
        return tape.gradient(y, v)

    step = 1e-4
    values = [
        (plain(x + s * step * towards, radius, 1.0, 0.5, 0.5) * weights).sum() for s in (1, -1)
    ]
    found = (gradient(tf.constant(x)).numpy() * towards).sum()
    assert abs(found - (values[0] - values[1]) / (2 * step)) < 1e-2 * max(1, abs(found))
