"""Native convolutions and pooling beside XLA's own in float64, and where they are not used."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as tf
from penstock.core import native
from penstock.core.kernels import KernelContext
from penstock.core.lazy import jax
from penstock.ops.kernels import cpu

pytestmark = pytest.mark.skipif(not native.available(), reason="no native kernels here")


@pytest.fixture(autouse=True)
def every_size(monkeypatch):
    """Sizes so small that they would not be worth a call are checked too."""
    monkeypatch.setattr("penstock.ops.kernels.cpu.LEAST_WORK", 1)
    monkeypatch.setattr("penstock.ops.kernels.cpu.LEAST_POOLED", 1)


@pytest.fixture
def calls(monkeypatch):
    made, call = [], native.call
    monkeypatch.setattr(
        native, "call", lambda name, *rest, **attrs: made.append(name) or call(name, *rest, **attrs)
    )
    return made


def under_each(run):
    """What `run` gives with every instruction set that this processor has."""
    library = native.state().library
    before = library.penstock_isa()
    try:
        for name in (b"avx512", b"avx2", b"plain"):
            if library.penstock_use_isa(name):
                yield run()
    finally:
        library.penstock_use_isa(before)


def floats(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def gradients(function, *arguments, dtype):
    """A call for the value of a function of arrays in `dtype` and its gradients."""

    def run(*inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            value = function(*inputs)
            direction = tf.reshape(tf.range(tf.size(value)) % 7 - 3, tf.shape(value))
            total = tf.reduce_sum(value * tf.cast(direction, value.dtype))
        return [value, *tape.gradient(total, inputs)]

    arrays = [tf.constant(a.astype(dtype)) for a in arguments]
    compiled = tf.function(run)
    return lambda: [r.numpy() for r in compiled(*arrays)]


def compare(function, *arguments):
    wanted = gradients(function, *arguments, dtype=np.float64)()
    for found in under_each(gradients(function, *arguments, dtype=np.float32)):
        for f, w in zip(found, wanted, strict=True):
            assert f.dtype == np.float32
            np.testing.assert_allclose(f, w, rtol=1e-4, atol=2e-5 * max(1.0, np.abs(w).max()))


CONVS = [  # image, filter, strides, padding, dilations
    ((2, 9, 11, 5), (3, 3, 5, 33), 1, "SAME", 1),
    ((3, 28, 28, 1), (5, 5, 1, 8), 1, "VALID", 1),
    ((2, 15, 16, 20), (3, 3, 20, 40), 2, "SAME", 1),
    ((2, 14, 14, 16), (1, 1, 16, 64), 1, "VALID", 1),
    ((2, 14, 14, 16), (1, 1, 16, 12), 2, "VALID", 1),
    ((1, 12, 13, 4), (3, 2, 4, 7), 1, "SAME", (2, 3)),
    ((2, 10, 40, 3), (7, 7, 3, 16), (2, 3), [[0, 0], [3, 2], [1, 4], [0, 0]], 1),
    ((1, 4, 4, 300), (3, 3, 300, 34), 1, "SAME", 1),
    ((1, 4, 4, 40), (3, 3, 40, 260), 1, "SAME", 1),  # a filter larger than the images
]


@pytest.mark.parametrize("case", CONVS)
def test_convolutions_and_their_gradients(calls, case):
    image, filters, strides, padding, dilations = case
    compare(
        lambda x, w: tf.nn.conv2d(x, w, strides, padding, dilations=dilations),
        floats(*image),
        floats(*filters, seed=1),
    )
    assert calls == ["conv", "conv_input_grad", "conv_filter_grad"]


@settings(max_examples=6, deadline=None)
@given(
    st.tuples(st.integers(1, 3), st.integers(5, 12), st.integers(5, 18), st.integers(1, 20)),
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 40)),
    st.sampled_from([1, 2, (2, 1), 3]),
    st.sampled_from(["SAME", "VALID"]),
)
def test_random_convolutions(image, filters, strides, padding):
    high, wide, outputs = filters
    compare(
        lambda x, w: tf.nn.conv2d(x, w, strides, padding),
        floats(*image),
        floats(high, wide, image[-1], outputs, seed=1),
    )


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
    x = floats(1, 4, 4, 3).astype(np.float32)
    x[0, 1, 1, 0] = np.nan
    x[0, 2, 2, 1] = -np.inf
    function = tf.function(lambda v: tf.nn.max_pool2d(v, 2, 2, "VALID"))
    for found in under_each(lambda: function(tf.constant(x)).numpy()):
        assert calls == ["max_pool"]
        assert np.isnan(found[0, 0, 0, 0])
        assert np.isnan(found).sum() == 1


def test_not_a_number_spreads_as_far_as_the_filter():
    x = floats(1, 9, 9, 4).astype(np.float32)
    x[0, 4, 4, 2] = np.nan
    w = floats(3, 3, 4, 40, seed=1).astype(np.float32)
    function = tf.function(lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"))
    for found in under_each(lambda: function(tf.constant(x), tf.constant(w)).numpy()):
        assert np.isnan(found[0, 3:6, 3:6]).all()
        assert np.isnan(found).sum() == 9 * 40


@pytest.mark.parametrize(
    ("image", "filters", "options"),
    [
        ((2, 8, 8, 6), (3, 3, 3, 4), {}),  # groups
        ((0, 8, 8, 3), (3, 3, 3, 4), {}),
        ((2, 8, 8, 3), (3, 3, 3, 0), {}),
        ((2, 3, 8, 8), (3, 3, 3, 4), {"data_format": "NCHW"}),
    ],
)
def test_other_convolutions_stay_with_xla(calls, image, filters, options):
    function = tf.function(lambda x, w: tf.nn.conv2d(x, w, 1, "SAME", **options))
    function(tf.constant(floats(*image), tf.float32), tf.constant(floats(*filters), tf.float32))
    assert calls == []


def test_second_order_gradients(calls):
    x, w = (floats(*s, seed=3).astype(np.float32) for s in ((2, 6, 6, 4), (3, 3, 4, 5)))

    def second(x, w):
        with tf.GradientTape() as outer:
            outer.watch(w)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(tf.nn.conv2d(x, w, 1, "SAME") ** 2)
            first = tf.reduce_sum(inner.gradient(y, x) ** 2)
        return outer.gradient(first, w)

    found = tf.function(second)(tf.constant(x), tf.constant(w)).numpy()
    assert "conv_filter_grad" in calls
    wide = tf.function(second)(tf.constant(x, tf.float64), tf.constant(w, tf.float64)).numpy()
    np.testing.assert_allclose(found, wide, rtol=1e-3, atol=1e-3 * np.abs(wide).max())


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
        (lambda x, y: cpu.conv(ctx, x, w), (x, y)),
        (lambda x, y: cpu.max_pool(ctx, x), (x, y)),
        (lambda x, y: cpu.max_pool_grad(ctx, x, cpu.max_pool(ctx, x), y), (x, y)),
        (lambda x, y: cpu.avg_pool_grad(ctx, shape, y), (x, y)),
    ):
        mapped = jax.jit(jax.vmap(function))(*arguments)
        each = [jax.jit(function)(*one) for one in zip(*arguments, strict=True)]
        np.testing.assert_allclose(mapped, np.stack(each), rtol=1e-5, atol=1e-5)
