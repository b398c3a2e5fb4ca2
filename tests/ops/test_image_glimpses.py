"""Windows cut out of images."""

import numpy as np
import pytest

import penstock as tf

RNG = np.random.default_rng(3)
IMAGES = RNG.normal(size=(2, 5, 6, 3)).astype(np.float32)


def window(image, top, left, height, width):
    """The window that starts there, zeros outside of the image, pixel by pixel."""
    result = np.zeros((height, width, image.shape[2]), np.float32)
    for i in range(height):
        for j in range(width):
            if 0 <= top + i < image.shape[0] and 0 <= left + j < image.shape[1]:
                result[i, j] = image[top + i, left + j]
    return result


def start(offset, size, glimpse, centered, normalized, first):
    """Where a window starts along one axis; figures of TensorFlow 2.21 agree, see below."""
    middle = first or (centered and normalized)
    pixels = offset * size if normalized else offset
    if centered:
        pixels = (pixels + size) / 2 if middle else pixels + size / 2
    return int(pixels - glimpse / 2 if middle else pixels)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("size", [(3, 3), (2, 4), (9, 1)])
@pytest.mark.parametrize("offsets", [(0, 0), (0.5, -0.5), (1, 1), (-1, 0.3), (2, 1.6), (-40, 9)])
def test_windows(first, normalized, centered, size, offsets):
    op = tf.raw_ops.ExtractGlimpse if first else tf.raw_ops.ExtractGlimpseV2
    found = op(
        input=IMAGES,
        size=size,
        offsets=[offsets, (0.25, 0.25)],
        centered=centered,
        normalized=normalized,
        uniform_noise=False,
        noise="zero",
    )
    for image, at, glimpse in zip(IMAGES, [offsets, (0.25, 0.25)], found, strict=True):
        corner = [
            start(a, n, g, centered, normalized, first)
            for a, n, g in zip(at, image.shape[:2], size, strict=True)
        ]
        np.testing.assert_array_equal(glimpse, window(image, *corner, *size))


@pytest.mark.parametrize(
    ("first", "centered", "normalized", "offset", "corner"),
    [  # the first pixel of a window of 3 x 3 of a picture of 5 x 6, as TensorFlow 2.21 has it
        (True, True, True, (-1, 0.3), (-1, 2)),
        (True, True, False, (3, 2), (2, 2)),
        (True, False, True, (0.34, 0.9), (0, 3)),
        (True, False, False, (-1, 0.3), (-2, -1)),
        (False, True, True, (0.34, 0.9), (1, 4)),
        (False, True, False, (1.4, -1.5), (3, 1)),
        (False, False, True, (0.34, 0.9), (1, 5)),
        (False, False, False, (1.4, -1.5), (1, -1)),
    ],
)
def test_recorded_corners(first, centered, normalized, offset, corner):
    op = tf.raw_ops.ExtractGlimpse if first else tf.raw_ops.ExtractGlimpseV2
    image = IMAGES[:1]
    options = {"centered": centered, "normalized": normalized, "uniform_noise": False}
    found = op(input=image, size=[3, 3], offsets=[offset], noise="zero", **options)
    np.testing.assert_array_equal(found[0], window(image[0], *corner, 3, 3))


def test_noise():
    images = IMAGES + np.float32([0, 100, 200])
    far = [[9.0, 9.0], [9.0, 9.0]]
    even = tf.image.extract_glimpse(images, [40, 40], far).numpy()
    for image, found in zip(images, even, strict=True):
        assert image.min() <= found.min() < found.max() <= image.max()
        np.testing.assert_allclose(found.mean(), (image.min() + image.max()) / 2, rtol=0.05)
    normal = tf.image.extract_glimpse(images, [80, 80], far, noise="gaussian").numpy()
    low, high = images.min((1, 2)), images.max((1, 2))
    assert (normal.min((1, 2)) >= low).all()
    assert (normal.max((1, 2)) <= high).all()
    np.testing.assert_allclose(np.median(normal, (1, 2)), images.mean((1, 2)), atol=0.1)
    again = tf.compat.v1.image.extract_glimpse(images, [40, 40], far, uniform_noise=False)
    assert not np.array_equal(again, even)
    nowhere = tf.image.extract_glimpse(images, [2, 2], [[np.nan, 0], [0, np.nan]], noise="zero")
    assert not nowhere.numpy().any()


def test_in_graphs():
    with tf.Graph().as_default():
        images = tf.compat.v1.placeholder(tf.float32, [None, None, None, 3])
        offsets = tf.compat.v1.placeholder(tf.float32, [7, 2])
        size = tf.compat.v1.placeholder(tf.int32, [2])
        assert tf.image.extract_glimpse(images, [4, 5], offsets).shape.as_list() == [7, 4, 5, 3]
        found = tf.image.extract_glimpse(images, size, offsets)
        assert found.shape.as_list() == [7, None, None, 3]
        with pytest.raises(LookupError):
            tf.gradients(found, images)
    traced = tf.function(lambda x: tf.image.extract_glimpse(x, [2, 2], [[0.0, 0.0]] * 2))
    np.testing.assert_array_equal(traced(IMAGES), IMAGES[:, 1:3, 2:4])
    empty = tf.image.extract_glimpse(IMAGES[:0], [2, 0], np.zeros((0, 2), np.float32))
    assert empty.shape == (0, 2, 0, 3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.image.extract_glimpse(IMAGES[0], [2, 2], [[0.0, 0.0]]), "rank 4"),
        (lambda: tf.image.extract_glimpse(IMAGES, [2, 2, 2], [[0.0, 0.0]] * 2), "two numbers"),
        (lambda: tf.image.extract_glimpse(IMAGES, [-1, 2], [[0.0, 0.0]] * 2), "negative"),
        (lambda: tf.image.extract_glimpse(IMAGES, [2, 2], [[0.0, 0.0]]), "each of 2"),
        (lambda: tf.image.extract_glimpse(IMAGES, [2, 2], [[0.0] * 3] * 2), "two columns"),
        (lambda: tf.image.extract_glimpse(IMAGES, [2, 2], [[0.0] * 2] * 2, noise="a"), "'a'"),
        (
            lambda: tf.raw_ops.ExtractGlimpse(
                input=IMAGES, size=[2, 2], offsets=[[0.0] * 2] * 2, noise="zero"
            ),
            "uniform_noise",
        ),
    ],
)
def test_what_is_refused(call, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        call()
