"""Native convolutions beside XLA's own in float64, and where they are not used."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ops.native_checks import compare, floats, gradients, recorded, under_each

import penstock as tf
from penstock.core import native

pytestmark = pytest.mark.skipif(not native.available(), reason="no native kernels here")


@pytest.fixture
def calls(monkeypatch):
    return recorded(monkeypatch)


@pytest.fixture(autouse=True)
def every_size(monkeypatch):
    """Sizes so small that they would not be worth a call are checked too."""
    monkeypatch.setattr("penstock.ops.kernels.cpu_conv.LEAST_WORK", 1)


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
    ((2, 6, 18, 20), (3, 3, 20, 90), 1, "SAME", 1),  # tiles of two panels, and one of what is left
    ((3, 7, 18, 70), (3, 3, 70, 130), 1, "SAME", 1),  # gradients by the filter share their panels
    ((3, 9, 12, 300), (1, 1, 300, 256), 2, "VALID", 1),  # the same, of pictures read where they lie
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


# Filters are [sizes..., in / groups, out].
GROUPED = [  # narrow groups go by vectors, the others by tiles
    ((2, 9, 11, 8), (3, 3, 2, 12), 1, "SAME", 1),
    ((2, 12, 17, 40), (3, 2, 4, 30), 2, "VALID", 1),
    ((1, 7, 19, 70), (3, 3, 1, 70), 1, "SAME", 2),
    ((2, 9, 9, 48), (3, 3, 24, 80), (2, 1), "SAME", 1),
    ((1, 8, 8, 36), (1, 1, 12, 6), 1, "SAME", 1),
    ((1, 4, 4, 80), (3, 3, 40, 520), 1, "SAME", 1),  # a filter larger than the images
]


@pytest.mark.parametrize("case", GROUPED)
def test_grouped_convolutions_and_their_gradients(calls, case):
    image, filters, strides, padding, dilations = case
    compare(
        lambda x, w: tf.nn.conv2d(x, w, strides, padding, dilations=dilations),
        floats(*image),
        floats(*filters, seed=1),
    )
    assert calls == ["conv", "conv_input_grad", "conv_filter_grad"]


DEPTHWISE = [
    ((2, 9, 20, 5), (3, 3, 5, 1), 1, "SAME", 1),
    ((2, 16, 9, 140), (3, 3, 140, 1), 2, "SAME", 1),
    ((1, 9, 31, 20), (5, 4, 20, 2), 1, "VALID", 1),
    ((1, 9, 9, 6), (3, 3, 6, 17), 1, "SAME", 1),
    ((1, 12, 12, 33), (3, 3, 33, 1), 1, "SAME", 2),
]


@pytest.mark.parametrize("case", DEPTHWISE)
def test_depthwise_convolutions_and_their_gradients(calls, case):
    image, filters, strides, padding, dilations = case
    strides = [1, strides, strides, 1]
    compare(
        lambda x, w: tf.nn.depthwise_conv2d(x, w, strides, padding, dilations=[dilations] * 2),
        floats(*image),
        floats(*filters, seed=1),
    )
    assert calls == ["conv", "conv_input_grad", "conv_filter_grad"]


THREE_AXES = [
    ((2, 4, 6, 7, 3), (3, 3, 3, 3, 20), 1, "SAME", 1),
    ((1, 5, 9, 8, 16), (2, 3, 1, 16, 33), (2, 1, 3), "SAME", 1),
    ((1, 6, 7, 15, 4), (2, 2, 3, 4, 5), 1, "VALID", (2, 1, 3)),
    ((2, 3, 5, 6, 8), (1, 1, 1, 8, 8), 1, "SAME", 1),
]


@pytest.mark.parametrize("case", THREE_AXES)
def test_convolutions_over_three_axes(calls, case):
    image, filters, strides, padding, dilations = case
    steps, spread = ([1, *((n,) * 3 if isinstance(n, int) else n), 1] for n in (strides, dilations))
    compare(
        lambda x, w: tf.nn.conv3d(x, w, steps, padding, dilations=spread),
        floats(*image),
        floats(*filters, seed=1),
    )
    assert calls == ["conv", "conv_input_grad", "conv_filter_grad"]


@pytest.mark.parametrize("function", [tf.nn.conv2d, tf.nn.depthwise_conv2d])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_widened_and_rounded_once(calls, dtype, function):
    arrays = [a.astype(dtype) for a in (floats(2, 9, 11, 24), floats(3, 3, 24, 2, seed=1))]
    steps = [1, 1, 1, 1]
    run = gradients(lambda x, w: function(x, w, steps, "SAME"), *arrays, dtype=dtype)
    wanted = gradients(
        lambda x, w: function(x, w, steps, "SAME"), *(a.astype(float) for a in arrays), dtype=float
    )()
    for found, exact in zip(run(), wanted, strict=True):
        assert found.dtype == dtype
        rounded = np.abs(exact) * float(ml_dtypes.finfo(dtype).eps) / 2
        assert (np.abs(found.astype(float) - exact) <= rounded * 1.01 + 1e-4).all()
    own = dtype is ml_dtypes.bfloat16 and function is tf.nn.conv2d and native.dot_available()
    assert calls == ["dot_conv" if own else "conv", "conv_input_grad", "conv_filter_grad"]


@pytest.mark.timeout(60)
def test_strides_far_larger_than_the_filter(calls):
    """One result either way, and no work for the pixels that no tap meets."""
    arrays = floats(2, 12, 12, 8), floats(3, 3, 8, 20, seed=1)
    found = [
        gradients(lambda x, w, n=n: tf.nn.conv2d(x, w, n, "VALID"), *arrays, dtype=np.float32)()
        for n in (12, 2**20)
    ]
    assert calls == ["conv", "conv_input_grad", "conv_filter_grad"] * 2
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", [tf.nn.conv2d, tf.nn.depthwise_conv2d])
def test_channels_first_are_moved(calls, function):
    steps = [1, 1, 2, 2]
    compare(
        lambda x, w: function(x, w, steps, "SAME", data_format="NCHW"),
        floats(2, 6, 9, 8),
        floats(3, 3, 6, 4, seed=1),
    )
    assert calls == ["conv", "conv_input_grad", "conv_filter_grad"]


def test_infinity_stays_in_its_group():
    """A product with zero would make it NaN elsewhere."""
    x = floats(1, 6, 6, 24).astype(np.float32)
    x[0, 3, 3, 5] = np.inf
    w = np.abs(floats(3, 3, 2, 24, seed=1)).astype(np.float32)
    function = tf.function(lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"))
    for found in under_each(lambda: function(tf.constant(x), tf.constant(w)).numpy()):
        assert np.isposinf(found[0, 2:5, 2:5, 4:6]).all()
        assert np.isinf(found).sum() == 9 * 2
        assert not np.isnan(found).any()


def test_not_a_number_spreads_as_far_as_the_filter():
    x = floats(1, 9, 9, 4).astype(np.float32)
    x[0, 4, 4, 2] = np.nan
    w = floats(3, 3, 4, 40, seed=1).astype(np.float32)
    function = tf.function(lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"))
    for found in under_each(lambda: function(tf.constant(x), tf.constant(w)).numpy()):
        assert np.isnan(found[0, 3:6, 3:6]).all()
        assert np.isnan(found).sum() == 9 * 40


@pytest.mark.parametrize(
    ("image", "filters"), [((0, 8, 8, 3), (3, 3, 3, 4)), ((2, 8, 8, 3), (3, 3, 3, 0))]
)
def test_empty_convolutions_stay_with_xla(calls, image, filters):
    function = tf.function(lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"))
    function(tf.constant(floats(*image), tf.float32), tf.constant(floats(*filters), tf.float32))
    assert calls == []


def test_only_input_gradients_of_strides_with_dilations_stay_with_xla(calls):
    attrs = {"strides": [1, 2, 2, 1], "dilations": [1, 2, 2, 1], "padding": "SAME"}
    compare(
        lambda x, w: tf.raw_ops.Conv2D(input=x, filter=w, **attrs),
        floats(2, 9, 9, 4),
        floats(3, 3, 4, 5, seed=1),
    )
    assert calls == ["conv", "conv_filter_grad"]


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
