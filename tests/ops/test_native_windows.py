"""Native pooling beside XLA's own in float64, and where they are not used."""

import numpy as np
import pytest
from tests.ops.native_checks import compare, floats, gradients, recorded, under_each

import penstock as tf
from penstock.core import native
from penstock.core.kernels import KernelContext
from penstock.core.lazy import jax
from penstock.ops.kernels import cpu, cpu_conv

pytestmark = pytest.mark.skipif(not native.available(), reason="no native kernels here")


@pytest.fixture
def calls(monkeypatch):
    return recorded(monkeypatch)


@pytest.fixture(autouse=True)
def every_size(monkeypatch):
    """Sizes so small that they would not be worth a call are checked too."""
    monkeypatch.setattr("penstock.ops.kernels.cpu.LEAST_POOLED", 1)


@pytest.mark.parametrize("pool", [tf.nn.max_pool2d, tf.nn.avg_pool2d])
@pytest.mark.parametrize(
    ("image", "size", "strides", "padding"),
    [
        ((2, 8, 8, 32), 2, 2, "SAME"), ((2, 9, 7, 70), 3, 2, "SAME"), ((3, 9, 7, 5), 3, 1, "VALID"),
        ((1, 6, 6, 130), (1, 3), (2, 1), "SAME"),
    ],
)  # fmt: skip
def test_pooling_and_its_gradient(calls, pool, image, size, strides, padding):
    compare(lambda x: pool(x, size, strides, padding), floats(*image))
    kind = "max_pool" if pool is tf.nn.max_pool2d else "avg_pool"
    assert calls == [kind, f"{kind}_grad"]


def test_ties_give_the_gradient_to_the_first():
    x = np.zeros((1, 4, 4, 3))
    run = gradients(lambda v: tf.nn.max_pool2d(v, 2, 2, "VALID"), x, dtype=np.float32)
    for _, grad in under_each(run):
        assert np.count_nonzero(grad[:, 1::2]) == 0
        assert np.count_nonzero(grad[:, :, 1::2]) == 0


def test_not_a_number_wins_a_window(calls):
    x = floats(2, 64, 64, 3).astype(np.float32)
    x[0, 1, 1, 0] = np.nan
    x[0, 2, 2, 1] = -np.inf
    function = tf.function(lambda v: tf.nn.max_pool2d(v, 2, 2, "VALID"))
    for found in under_each(lambda: function(tf.constant(x)).numpy()):
        assert calls == ["max_pool"]
        assert np.isnan(found[0, 0, 0, 0])
        assert np.isnan(found).sum() == 1


def test_mapped_windows():
    """Under `jax.vmap` each kernel gives what it gives for one after the other."""
    attrs = {
        "strides": (1, 2, 2, 1), "dilations": (1, 1, 1, 1), "padding": "SAME",
        "data_format": "NHWC", "ksize": (1, 3, 3, 1),
    }  # fmt: skip
    ctx = KernelContext("test", attrs, None)
    x, y = floats(3, 2, 9, 9, 4).astype(np.float32), floats(3, 2, 5, 5, 4).astype(np.float32)
    w = floats(3, 3, 4, 6).astype(np.float32)
    shape = np.array([2, 9, 9, 4])
    for function, arguments in (
        (lambda x, y: cpu_conv.conv(ctx, x, w), (x, y)),
        (lambda x, y: cpu.max_pool(ctx, x), (x, y)),
        (lambda x, y: cpu.max_pool_grad(ctx, x, cpu.max_pool(ctx, x), y), (x, y)),
        (lambda x, y: cpu.avg_pool_grad(ctx, shape, y), (x, y)),
    ):
        mapped = jax.jit(jax.vmap(function))(*arguments)
        each = [jax.jit(function)(*one) for one in zip(*arguments, strict=True)]
        np.testing.assert_allclose(mapped, np.stack(each), rtol=1e-5, atol=1e-5)
