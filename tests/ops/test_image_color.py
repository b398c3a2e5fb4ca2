"""Colours of images against the standard library's conversions and NumPy."""

import colorsys

import numpy as np
import pytest

import penstock as tf

RNG = np.random.default_rng(0)
IMAGE = RNG.uniform(size=(2, 3, 4, 3)).astype(np.float32)
IMAGE[0, 0, 0] = 0.5  # grey
IMAGE[0, 0, 1] = 0.0  # black
IMAGE[0, 1, 0] = [0.7, 0.2, 0.7]  # two largest channels
BYTES = (IMAGE * 255).astype(np.uint8)


def by_pixel(function, images):
    return np.apply_along_axis(lambda p: function(*p), -1, images.astype(np.float64))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_hue_saturation_value(dtype):
    images = tf.cast(IMAGE, dtype)
    tolerance = {"float32": 1e-5, "float64": 1e-6, "float16": 4e-3, "bfloat16": 3e-2}[dtype]
    wide = tf.cast(images, tf.float64).numpy()
    hsv = tf.image.rgb_to_hsv(images)
    assert hsv.dtype == images.dtype
    if dtype in ("float32", "float64"):
        np.testing.assert_allclose(hsv, by_pixel(colorsys.rgb_to_hsv, wide), atol=tolerance)
    back = tf.cast(tf.image.hsv_to_rgb(hsv), tf.float64)
    np.testing.assert_allclose(back, wide, atol=tolerance)


def test_derivatives_of_hue():
    image = tf.constant(RNG.uniform(size=(2, 2, 3)))
    theory, numeric = tf.test.compute_gradient(tf.image.rgb_to_hsv, [image], delta=1e-6)
    np.testing.assert_allclose(theory[0], numeric[0], atol=1e-5)


def changed(images, function):
    hsv = by_pixel(colorsys.rgb_to_hsv, images)
    return by_pixel(colorsys.hsv_to_rgb, function(hsv))


@pytest.mark.parametrize("delta", [-0.3, 0.0, 0.4, 1.0])
def test_hue(delta):
    wanted = changed(IMAGE, lambda x: np.stack([(x[..., 0] + delta) % 1, x[..., 1], x[..., 2]], -1))
    np.testing.assert_allclose(tf.image.adjust_hue(IMAGE, delta), wanted, atol=1e-5)
    whole = tf.image.adjust_hue(BYTES, delta)
    assert whole.dtype == tf.uint8
    with pytest.raises(ValueError, match=r"\[-1, 1\]"):
        tf.image.adjust_hue(IMAGE, 1.5)


@pytest.mark.parametrize("factor", [0.0, 0.5, 3.0])
def test_saturation(factor):
    wanted = changed(
        IMAGE, lambda x: np.stack([x[..., 0], np.clip(x[..., 1] * factor, 0, 1), x[..., 2]], -1)
    )
    np.testing.assert_allclose(tf.image.adjust_saturation(IMAGE, factor), wanted, atol=1e-5)


def test_brightness_contrast_gamma():
    np.testing.assert_allclose(tf.image.adjust_brightness(IMAGE, 0.25), IMAGE + 0.25, rtol=1e-6)
    wanted = np.clip(np.floor((BYTES / 255 + 0.3) * 255.5), 0, 255)
    np.testing.assert_allclose(tf.image.adjust_brightness(BYTES, 0.3), wanted, atol=1)
    mean = IMAGE.mean((1, 2), keepdims=True)
    got = tf.image.adjust_contrast(IMAGE, 1.5)
    np.testing.assert_allclose(got, (IMAGE - mean) * 1.5 + mean, atol=1e-6)
    theory, numeric = tf.test.compute_gradient(
        lambda x: tf.image.adjust_contrast(x, 1.5), [tf.constant(IMAGE[0])], delta=0.1
    )
    np.testing.assert_allclose(theory[0], numeric[0], atol=1e-4)
    np.testing.assert_allclose(tf.image.adjust_gamma(IMAGE, 2.0, 3.0), 3 * IMAGE**2, rtol=1e-5)
    with pytest.raises(ValueError, match="non-negative"):
        tf.image.adjust_gamma(IMAGE, -1.0)


def test_dtypes():
    convert = tf.image.convert_image_dtype
    np.testing.assert_allclose(convert(BYTES, tf.float32), BYTES / 255, rtol=1e-6)
    np.testing.assert_array_equal(convert(convert(BYTES, tf.float32), tf.uint8), BYTES)
    assert convert(np.uint8([255]), tf.uint16).numpy().tolist() == [255 * 256]
    assert convert(np.uint16([65535]), tf.uint8).numpy().tolist() == [255]
    bright = np.float32([-1.0, 0.5, 2.0])
    assert convert(bright, tf.uint8, saturate=True).numpy().tolist() == [0, 127, 255]
    huge = convert(np.float16([2.0]), tf.int32, saturate=True)
    assert huge.numpy().tolist() == [65504]  # the largest float16 number, not minus 2 ** 31
    with pytest.raises(AttributeError, match="floating point or integer"):
        convert(BYTES, tf.bool)


def test_linear_spaces():
    np.testing.assert_allclose(
        tf.image.rgb_to_yiq(IMAGE), by_pixel(colorsys.rgb_to_yiq, IMAGE), atol=0.02
    )
    for there, back in (("rgb_to_yiq", "yiq_to_rgb"), ("rgb_to_yuv", "yuv_to_rgb")):
        found = getattr(tf.image, back)(getattr(tf.image, there)(IMAGE))
        np.testing.assert_allclose(found, IMAGE, atol=2e-4)  # TensorFlow's rounded tables
    grey = tf.image.rgb_to_grayscale(IMAGE)
    np.testing.assert_allclose(grey[..., 0], IMAGE @ [0.2989, 0.587, 0.114], rtol=1e-5)
    assert tf.image.rgb_to_grayscale(BYTES).dtype == tf.uint8
    np.testing.assert_array_equal(
        tf.image.grayscale_to_rgb(IMAGE[..., :1]), np.repeat(IMAGE[..., :1], 3, -1)
    )
    with pytest.raises(ValueError, match="size 1"):
        tf.image.grayscale_to_rgb(IMAGE)


def test_statistics():
    found = tf.image.per_image_standardization(BYTES).numpy()
    np.testing.assert_allclose(found.mean((1, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(found.std((1, 2, 3)), 1, rtol=1e-5)
    assert not np.any(tf.image.per_image_standardization(np.ones((2, 2, 1), np.float32)))


def test_three_channels_are_needed():
    for name in ("rgb_to_hsv", "hsv_to_rgb"):
        with pytest.raises(tf.errors.FailedPreconditionError, match="size 3"):
            getattr(tf.image, name)(IMAGE[..., :2])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.image.adjust_contrast(IMAGE[0, 0], 2.0)


def test_what_is_known_late_is_refused_when_it_runs():
    unknown = tf.TensorSpec(None)
    gray = tf.function(tf.image.grayscale_to_rgb, input_signature=[unknown])
    np.testing.assert_array_equal(gray(IMAGE[..., :1])[..., 2], IMAGE[..., 0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="size 1"):
        gray(IMAGE)


@pytest.mark.parametrize("function", [tf.image.adjust_hue, tf.image.adjust_saturation])
def test_rows_of_numbers_are_no_image_in_a_graph(function):
    with tf.Graph().as_default(), pytest.raises(ValueError, match="3 dimensions"):
        function(tf.compat.v1.placeholder(tf.float32, [None, None]), 0.5)


def test_gamma_is_one_number_of_the_dtype_of_the_image():
    """As TensorFlow 2.21 has it; images other than float16 are computed in float32."""
    image = tf.constant([[[0.5, 0.25]]])
    gamma = tf.image.adjust_gamma
    np.testing.assert_allclose(gamma(image, tf.constant(2.0)), [[[0.25, 0.0625]]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-negative"):
        gamma(image, tf.constant(-1.0))
    with pytest.raises(ValueError, match="scalar condition"):
        gamma(image, tf.constant([2.0, 1.0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="float tensor but is a double"):
        gamma(image, tf.constant(2.0, tf.float64))
    with pytest.raises(tf.errors.InvalidArgumentError, match="float tensor but is a half"):
        gamma(tf.cast(image, tf.float16), 1, tf.constant(2.0))
    with tf.Graph().as_default(), pytest.raises(TypeError, match="does not match type float16"):
        gamma(tf.zeros([1, 1, 2], tf.float16), tf.constant(2.0))
