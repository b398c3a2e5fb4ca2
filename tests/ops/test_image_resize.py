"""Resizing against explicit sums over pixels, and what every method keeps."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_images
from penstock.ops import image_resampling

RNG = np.random.default_rng(0)
SIZES = [(1, 3), (3, 1), (2, 5), (5, 2), (4, 7), (7, 4), (4, 4)]
V2_METHODS = sorted(
    v for k, v in vars(tf.image.ResizeMethod).items() if isinstance(v, str) and k.isupper()
)


def line(size):
    """An image of one column: what happens to rows is all there is to see."""
    return RNG.uniform(0, 9, (1, size, 1, 1)).astype(np.float32)


def rows_of(image, method, new, **options):
    return tf.image.resize(image, [new, 1], method, **options).numpy().reshape(-1)


@pytest.mark.parametrize(("old", "new"), SIZES)
def test_two_nearest_pixels(old, new):
    image = line(old)
    centers = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    wanted = np.interp(centers, np.arange(old), image.reshape(-1))
    np.testing.assert_allclose(rows_of(image, "bilinear", new), wanted, rtol=1e-5)
    corners = tf.compat.v1.image.resize(image, [new, 1], 0, align_corners=True)
    places = np.arange(new) * (old - 1) / (new - 1) if new > 1 else np.zeros(1)
    wanted = np.interp(places, np.arange(old), image.reshape(-1))
    np.testing.assert_allclose(corners.numpy().reshape(-1), wanted, rtol=1e-4)


@pytest.mark.parametrize(("old", "new"), SIZES)
def test_nearest_pixel(old, new):
    image = line(old)
    wanted = image.reshape(-1)[np.floor((np.arange(new) + 0.5) * old / new).astype(int)]
    np.testing.assert_array_equal(rows_of(image, "nearest", new), wanted)
    legacy = tf.compat.v1.image.resize(image, [new, 1], 1).numpy().reshape(-1)
    wanted = image.reshape(-1)[np.floor(np.arange(new) * np.float32(old / new)).astype(int)]
    np.testing.assert_array_equal(legacy, wanted)


@pytest.mark.parametrize(("old", "new"), SIZES)
def test_mean_of_the_area(old, new):
    image = line(old)
    fine = np.repeat(image.reshape(-1), new)  # each old pixel as `new` parts, each new one as `old`
    np.testing.assert_allclose(
        rows_of(image, "area", new), fine.reshape(new, old).mean(1), rtol=1e-5
    )


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("method", V2_METHODS)
def test_what_every_method_keeps(method, antialias):
    flat = np.full((1, 5, 6, 2), 3.0, np.float32)
    for size in ([3, 9], [8, 2]):
        found = tf.image.resize(flat, size, method, antialias=antialias)
        np.testing.assert_allclose(found, np.full((1, *size, 2), 3.0), rtol=1e-5)
    image = RNG.uniform(size=(2, 5, 6, 3)).astype(np.float32)
    mirrored = tf.image.resize(image[:, ::-1], [4, 4], method, antialias=antialias)[:, ::-1]
    straight = tf.image.resize(image, [4, 4], method, antialias=antialias)
    if method != "nearest":  # which of two equally near pixels is taken depends on the side
        np.testing.assert_allclose(mirrored, straight, atol=1e-5)


def test_a_gaussian_weighs_by_distance():
    image = line(6)
    centers = (np.arange(4) + 0.5) * 1.5
    gauss = np.exp(-2 * (centers[:, None] - np.arange(6) - 0.5) ** 2)
    gauss[np.abs(centers[:, None] - np.arange(6) - 0.5) >= 1.5] = 0
    wanted = (gauss / gauss.sum(1, keepdims=True)) @ image.reshape(-1)
    np.testing.assert_allclose(rows_of(image, "gaussian", 4), wanted, rtol=1e-5)


@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic", "lanczos3"])
@pytest.mark.parametrize("size", [[3, 5], [6, 2]])
def test_derivatives(method, size):
    image = tf.constant(RNG.uniform(size=(1, 4, 4, 2)), tf.float32)
    weights = RNG.uniform(size=(1, *size, 2)).astype(np.float32)

    def scaled(x):
        return tf.reduce_sum(tf.image.resize(x, size, method) * weights)

    with tf.GradientTape() as tape:
        tape.watch(image)
        total = scaled(image)
    slope = tape.gradient(total, image).numpy()
    step = RNG.uniform(size=image.shape).astype(np.float32)
    assert float(scaled(image + step)) - float(total) == pytest.approx(
        (slope * step).sum(), rel=1e-3
    )
    if method != "lanczos3":
        with tf.GradientTape() as outer, tf.GradientTape() as inner:
            outer.watch(image)
            inner.watch(image)
            loss = tf.reduce_sum(tf.image.resize(image, size, method) ** 3)
            first = inner.gradient(loss, image)
        assert np.isfinite(outer.gradient(first, image)).all()


@pytest.mark.parametrize("method", ["bilinear", "nearest", "area", "bicubic", "lanczos5"])
def test_functions_and_graphs_agree(method):
    image = RNG.integers(0, 255, (2, 4, 6, 3)).astype(np.uint8)
    eager = tf.image.resize(image, [3, 5], method)
    traced = tf.function(lambda x, s: tf.image.resize(x, s, method))
    np.testing.assert_allclose(traced(image, [3, 5]), eager, rtol=1e-5)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.uint8, [None, None, None, 3])
        size = tf.compat.v1.placeholder(tf.int32, [2])
        found = tf.image.resize(x, size, method)
        got = session.run(found, {x: image, size: [3, 5]})
    np.testing.assert_allclose(got, eager, rtol=1e-5)


def test_dtypes_ranks_and_ratios():
    image = RNG.integers(0, 255, (4, 8, 3)).astype(np.uint8)
    assert tf.image.resize(image, [2, 2]).dtype == tf.float32
    assert tf.image.resize(image, [2, 2], "nearest").dtype == tf.uint8
    assert tf.image.resize(image, [4, 8]).dtype == tf.float32
    assert tf.image.resize(image, [2, 8], preserve_aspect_ratio=True).shape == (2, 4, 3)
    traced = tf.function(lambda x: tf.image.resize(x, [2, 8], preserve_aspect_ratio=True))
    unknown = traced.get_concrete_function(tf.TensorSpec([None, None, 3], tf.uint8))
    assert unknown(tf.constant(image)).shape == (2, 4, 3)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: tf.image.resize(x, [3, 3], "cubic"), ValueError),
        (lambda x: tf.image.resize(x[0, 0], [3, 3]), ValueError),
        (lambda x: tf.image.resize(x, [3]), ValueError),
        (lambda x: tf.image.resize(x, [3, -2]), ValueError),
        (lambda x: tf.image.resize(x, [0, 3]), (ValueError, tf.errors.InvalidArgumentError)),
        (
            lambda x: tf.raw_ops.ResizeBilinear(
                images=x, size=[2, 2], align_corners=True, half_pixel_centers=True
            ),
            tf.errors.InvalidArgumentError,
        ),
        (
            lambda x: tf.raw_ops.ScaleAndTranslate(
                images=x, size=[2, 2], scale=[1.0, 1.0], translation=[0.0, 0.0], kernel_type="x"
            ),
            tf.errors.InvalidArgumentError,
        ),
    ],
)
def test_wrong_arguments(call, error):
    with pytest.raises(error):
        call(np.zeros((1, 2, 2, 1), np.float32))


def test_older_functions():
    image = RNG.uniform(size=(1, 4, 4, 1)).astype(np.float32)
    v1 = tf.compat.v1.image
    for name, method in (
        ("resize_bilinear", 0),
        ("resize_nearest_neighbor", 1),
        ("resize_bicubic", 2),
        ("resize_area", 3),
    ):
        np.testing.assert_array_equal(
            getattr(v1, name)(image, [3, 5]), v1.resize_images(image, [3, 5], method)
        )


def test_weights_that_are_kept_have_a_bound():
    image = tf.ones((1, 600, 600, 1))
    for shift in range(40):
        tf.raw_ops.ScaleAndTranslate(
            images=image, size=[600, 600], scale=[1.0, 1.0], translation=[float(shift), 0.0]
        )
    assert sum(each.nbytes for each in image_resampling._kept.values()) <= image_resampling._KEPT


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [("triangle", [np.inf, np.nan, 1, 1]), ("gaussian", [np.inf, np.inf, 1, 1])],
)
def test_an_infinite_pixel_reaches_as_far_as_the_kernel(kernel, wanted):
    image = np.ones((1, 1, 4, 1), np.float32)
    image[0, 0, 0] = np.inf
    found = tf.raw_ops.ScaleAndTranslate(
        images=image, size=[1, 4], scale=[1.0, 1.0], translation=[0.0, 0.0], kernel_type=kernel
    )
    np.testing.assert_allclose(found.numpy().reshape(-1), np.float32(wanted), rtol=1e-6)


@pytest.mark.parametrize("half_pixel_centers", [False, True])
@pytest.mark.parametrize("pixel", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("op_name", ["ResizeBilinear", "ResizeBicubic", "ResizeArea"])
def test_a_pixel_that_is_not_finite_reaches_as_far_without_native_code(
    op_name, pixel, half_pixel_centers, monkeypatch
):
    if not native_images.LIBRARY.is_in_use():
        pytest.skip("the native libraries are not built")
    image = np.ones((1, 60, 5, 1), np.float32)
    image[0, 2, 2, 0] = pixel
    flags = {} if op_name == "ResizeArea" else {"half_pixel_centers": half_pixel_centers}

    def resized():
        op = getattr(tf.raw_ops, op_name)
        sizes = ([8, 8], [2, 3], [60, 5], [70, 4])
        return [op(images=image, size=size, **flags).numpy() for size in sizes]

    want = resized()
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    for found, wanted in zip(resized(), want, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
        assert np.isfinite(wanted[0, -1]).all()  # far from the pixel
