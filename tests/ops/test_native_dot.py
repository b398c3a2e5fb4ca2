"""Native products of bfloat16 and bytes beside float64 and exact sums, under all instructions."""

import ml_dtypes
import numpy as np
import pytest
from tests.ops.native_checks import floats, recorded

import penstock as tf
from penstock.core import native
from penstock.core.lazy import jax, jnp
from penstock.ops import native_dot
from penstock.ops.math_int_matmul import int_matmul

pytestmark = pytest.mark.skipif(
    not native.dot_available(), reason="no products of bfloat16 and bytes here"
)


@pytest.fixture
def calls(monkeypatch):
    return recorded(monkeypatch)


@pytest.fixture(autouse=True)
def every_size(monkeypatch):
    """Sizes so small that they would not be worth a call are checked too."""
    monkeypatch.setattr(native_dot, "LEAST_WORK", 1)
    monkeypatch.setattr(native_dot, "LEAST_SIDE", 1)
    monkeypatch.setattr("penstock.ops.kernels.cpu_conv.LEAST_WORK", 1)


def under_each(run):
    """What `run` gives with every kind of instructions that this processor has."""
    library = native.state().library
    before = library.penstock_dot_isa()
    try:
        for name in (b"amx", b"vnni"):
            if library.penstock_use_dot_isa(name):
                yield run()
    finally:
        library.penstock_use_dot_isa(before)


def halves(*shape, seed=0):
    return floats(*shape, seed=seed).astype(ml_dtypes.bfloat16)


def assert_rounded_once(found, wanted, size):
    """Sums of floats are off by less than 2**-20 of the sum of sizes; then half a step is lost."""
    assert found.dtype == ml_dtypes.bfloat16
    error = np.abs(found.astype(np.float64) - wanted)
    assert (error <= np.abs(wanted) * 2.0**-8 + size * 2.0**-20).all()


@pytest.mark.parametrize(
    ("a", "b", "adj_a", "adj_b"),
    [
        ((70, 33), (33, 130), False, False), ((33, 97), (65, 33), True, True),
        ((3, 20, 40), (3, 40, 17), False, False), ((2, 3, 9, 64), (3, 31, 64), False, True),
        ((300, 8, 64), (64, 16), False, False), ((12, 20, 40), (12, 40, 17), False, False),
    ],
)  # fmt: skip
def test_products_of_bfloat16(calls, a, b, adj_a, adj_b):
    x, y = halves(*a), halves(*b, seed=1)
    function = tf.function(lambda x, y: tf.matmul(x, y, adj_a, adj_b))
    wide = [v.astype(np.float64) for v in (x, y)]
    wide[0] = wide[0].swapaxes(-1, -2) if adj_a else wide[0]
    wide[1] = wide[1].swapaxes(-1, -2) if adj_b else wide[1]
    size = np.matmul(*map(np.abs, wide))
    for found in under_each(lambda: function(tf.constant(x), tf.constant(y)).numpy()):
        assert_rounded_once(found, np.matmul(*wide), size)
    assert calls == ["dot_product"]


@pytest.mark.parametrize(
    ("image", "filters", "strides", "padding", "dilations"),
    [
        ((2, 9, 11, 40), (3, 3, 40, 33), 1, "SAME", 1),
        ((1, 9, 8, 3), (5, 2, 3, 16), 2, "VALID", 1),
        ((1, 7, 7, 64), (1, 1, 64, 20), 1, "SAME", 1),
        ((1, 9, 9, 5), (3, 3, 5, 8), 1, "SAME", 2),
    ],
)
def test_convolutions_of_bfloat16(calls, image, filters, strides, padding, dilations):
    x, w = halves(*image), halves(*filters, seed=1)
    function = tf.function(lambda x, w: tf.nn.conv2d(x, w, strides, padding, dilations=dilations))
    wanted = function(*(tf.constant(v.astype(np.float64)) for v in (x, w))).numpy()
    size = function(*(tf.constant(np.abs(v.astype(np.float64))) for v in (x, w))).numpy()
    for found in under_each(lambda: function(tf.constant(x), tf.constant(w)).numpy()):
        assert_rounded_once(found, wanted, size)
    assert calls == ["dot_conv"]


def test_gradients_of_bfloat16_are_products_too(calls):
    def gradients(x, y):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = tf.matmul(x, y)
        return tape.gradient(z, [x, y])

    x, y = halves(16, 32), halves(32, 8, seed=1)
    found = tf.function(gradients, jit_compile=True)(tf.constant(x), tf.constant(y))
    ones = np.ones((16, 8))
    np.testing.assert_allclose(found[0].numpy().astype(float), ones @ y.T.astype(float), rtol=1e-2)
    np.testing.assert_allclose(
        found[1].numpy().astype(float), x.T.astype(float) @ ones, rtol=2e-2, atol=1e-2
    )
    assert set(calls) == {"dot_product"}


def test_special_numbers_of_bfloat16():
    x = np.ones((16, 40), ml_dtypes.bfloat16)
    y = np.ones((40, 16), ml_dtypes.bfloat16)
    x[3, 2], x[5, 1], y[39, 7] = np.nan, np.inf, -np.inf
    x[8, :] = 3e38
    wanted = np.ones((16, 16)) * 40
    wanted[:, 7] = -np.inf
    wanted[8, :] = np.inf
    wanted[5, :] = np.inf
    wanted[[5, 8], 7] = np.nan, -np.inf
    wanted[3, :] = np.nan
    function = tf.function(lambda x, y: tf.matmul(x, y))
    for found in under_each(lambda: function(tf.constant(x), tf.constant(y)).numpy()):
        kept = np.arange(16) != 8  # there the order of sums says whether -inf meets inf
        np.testing.assert_array_equal(found.astype(np.float64)[kept], wanted[kept])
        assert np.isposinf(found.astype(np.float64)[8, :7]).all()


@pytest.mark.parametrize("left", [np.int8, np.uint8])
@pytest.mark.parametrize("right", [np.int8, np.uint8])
def test_products_of_bytes_are_exact(calls, left, right):
    rng = np.random.default_rng(0)
    a, b = (
        rng.integers(np.iinfo(t).min, np.iinfo(t).max, shape, t, endpoint=True)
        for t, shape in ((left, (70, 133)), (right, (133, 45)))
    )
    wanted = a.astype(np.int64) @ b.astype(np.int64)
    function = jax.jit(lambda a, b: int_matmul(jnp, a, b))
    for found in under_each(lambda: np.asarray(function(a, b))):
        np.testing.assert_array_equal(found, wanted)
    assert calls == ["dot_product"]


@pytest.mark.parametrize("kind", [tf.quint8, tf.qint8])
def test_quantised_convolutions_are_those_of_numpy(calls, kind):
    """Eagerly and small they are NumPy's, compiled the library's: exact sums either way."""
    rng = np.random.default_rng(1)
    low = 0 if kind == tf.quint8 else -127
    x = rng.integers(low, 128, (4, 9, 9, 5)).astype(kind.as_numpy_dtype)
    w = rng.integers(-127, 128, (3, 3, 5, 8)).astype(tf.qint8.as_numpy_dtype)
    ranges = {"min_input": 0.0, "max_input": 1.0, "min_filter": -1.0, "max_filter": 1.0}

    def run(x, w):
        return tf.raw_ops.QuantizedConv2DWithBias(
            input=x, filter=w, bias=tf.zeros([8]), strides=[1, 2, 2, 1], padding="SAME", **ranges
        )

    wanted = run(tf.constant(x), tf.constant(w))
    assert calls == []
    function = tf.function(run, jit_compile=True)
    for found in under_each(lambda: function(tf.constant(x), tf.constant(w))):
        for f, wanted_one in zip(found, wanted, strict=True):
            assert (f.numpy() == wanted_one.numpy()).all()
    assert calls == ["dot_conv"]


def test_small_products_and_those_of_few_rows_stay_with_xla(calls, monkeypatch):
    monkeypatch.setattr(native_dot, "LEAST_SIDE", 16)
    for shape in ((4, 64), (64, 8)):
        x, y = halves(*shape), halves(shape[1], 64, seed=1)
        tf.function(lambda x, y: tf.matmul(x, y))(tf.constant(x), tf.constant(y))
    assert calls == []
    assert not native_dot.worth_a_dot((32, 64), (64, 64), 1)
    assert not native_dot.worth_a_dot((4, 64, 64), (4, 64, 64), 1)
    assert native_dot.worth_a_dot((64, 64), (64, 64), 1)


def test_without_the_instructions_they_stay_with_xla(calls):
    library = native.state().library
    before = library.penstock_dot_isa()
    try:
        assert library.penstock_use_dot_isa(b"none")
        x, y = halves(64, 64), halves(64, 64, seed=1)
        found = tf.function(lambda x, y: tf.matmul(x, y))(tf.constant(x), tf.constant(y)).numpy()
    finally:
        library.penstock_use_dot_isa(before)
    wide = [v.astype(np.float64) for v in (x, y)]
    np.testing.assert_allclose(found.astype(np.float64), np.matmul(*wide), rtol=2e-2, atol=0.2)
    assert calls == []
