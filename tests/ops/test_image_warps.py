"""Images moved by projective transforms, boxes cut out and resized; against NumPy."""

import numpy as np
import pytest

import penstock as tf

RNG = np.random.default_rng(0)
IMAGES = (RNG.random((2, 6, 7, 3)) * 255).astype(np.float32)
BOXES = np.array(
    [[0, 0, 1, 1], [0.1, 0.2, 0.6, 0.9], [-0.3, 0.2, 1.4, 0.5], [0.8, 0.9, 0.2, 0.1]], np.float32
)
INDEX = np.array([0, 1, 1, 0], np.int32)


def moved(images, transform, size=(6, 7), interpolation="NEAREST", **more):
    return tf.raw_ops.ImageProjectiveTransformV3(
        images=images,
        transforms=np.atleast_2d(np.array(transform, np.float32)),
        output_shape=size,
        interpolation=interpolation,
        **{"fill_value": 0.0, **more},
    )


def shift(dy, dx):
    return [1, 0, dx, 0, 1, dy, 0, 0]


@pytest.mark.parametrize(
    ("mode", "padding"), [("REFLECT", "symmetric"), ("WRAP", "wrap"), ("NEAREST", "edge")]
)
@pytest.mark.parametrize("interpolation", ["NEAREST", "BILINEAR"])
@pytest.mark.parametrize("offset", [(2, 3), (-2, 1), (-4, 5), (0, 0)])
def test_shifts_by_whole_pixels(mode, padding, interpolation, offset):
    widths = [(0, 0), (9, 9), (9, 9), (0, 0)]
    if mode == "WRAP" and interpolation == "BILINEAR":
        interpolation = "NEAREST"
    wide = np.pad(IMAGES, widths, mode=padding)
    dy, dx = offset
    wanted = wide[:, 9 + dy : 15 + dy, 9 + dx : 16 + dx]
    found = moved(IMAGES, shift(dy, dx), interpolation=interpolation, fill_mode=mode)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float16, np.float64])
def test_outside_is_the_fill_value(dtype):
    images = IMAGES.astype(dtype)
    wanted = np.full((2, 4, 9, 3), 7, dtype)
    wanted[:, :4, :5] = images[:, 1:5, 2:]
    np.testing.assert_array_equal(moved(images, shift(1, 2), (4, 9), fill_value=7.0), wanted)
    zeros = tf.raw_ops.ImageProjectiveTransformV2(
        images=images,
        transforms=np.array([shift(1, 2)] * 2, np.float32),
        output_shape=[4, 9],
        interpolation="BILINEAR",
    )
    np.testing.assert_array_equal(zeros, np.where(wanted == 7, images[0, 0, 0, 0] * 0, zeros))


def test_halves_mix_neighbours():
    found = moved(IMAGES, shift(0, 0.5), interpolation="BILINEAR")
    np.testing.assert_allclose(found[:, :, :6], (IMAGES[:, :, 1:] + IMAGES[:, :, :-1]) / 2, 1e-5)
    assert moved(IMAGES, [1, 0, 0, 0, 1, 0, -1, 0])[0, 0, 1].numpy().tolist() == [0, 0, 0]


def cropped(image, box, size, method, fill):
    """One box by the definition."""
    height, width = image.shape[:2]
    y1, x1, y2, x2 = box
    ys = np.linspace(y1, y2, size[0]) if size[0] > 1 else [(y1 + y2) / 2]
    xs = np.linspace(x1, x2, size[1]) if size[1] > 1 else [(x1 + x2) / 2]
    out = np.full((*size, image.shape[2]), fill, np.float64)
    for i, y in enumerate(np.array(ys) * (height - 1)):
        for j, x in enumerate(np.array(xs) * (width - 1)):
            if not (-1e-6 <= y <= height - 1 + 1e-6 and -1e-6 <= x <= width - 1 + 1e-6):
                continue
            if method == "nearest":
                out[i, j] = image[int(y + 0.5), int(x + 0.5)]
                continue
            y0, x0 = min(int(y), height - 2), min(int(x), width - 2)
            v, u = y - y0, x - x0
            top = image[y0, x0] * (1 - u) + image[y0, x0 + 1] * u
            bottom = image[y0 + 1, x0] * (1 - u) + image[y0 + 1, x0 + 1] * u
            out[i, j] = top * (1 - v) + bottom * v
    return out


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(3, 4), (1, 1), (7, 1)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_crop_and_resize(method, size, dtype):
    images = IMAGES.astype(dtype)
    wanted = [cropped(images[i], b, size, method, -2) for b, i in zip(BOXES, INDEX, strict=True)]
    found = tf.image.crop_and_resize(images, BOXES, INDEX, size, method, -2.0)
    assert found.dtype == tf.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3)
    old = tf.compat.v1.image.crop_and_resize(images, BOXES, INDEX, size, method, -2.0)
    np.testing.assert_array_equal(old, found)
    traced = tf.function(lambda x, b: tf.image.crop_and_resize(x, b, INDEX, size, method, -2.0))
    for _ in range(3):
        np.testing.assert_allclose(traced(images, BOXES), found, rtol=1e-5, atol=1e-3)


def test_no_boxes():
    found = tf.image.crop_and_resize(IMAGES, np.zeros((0, 4), np.float32), [], [2, 3])
    assert found.shape == (0, 2, 3, 3)


@pytest.mark.parametrize("size", [(3, 4), (1, 5)])
def test_derivatives(size):
    weights = RNG.normal(size=(4, *size, 3)).astype(np.float32)
    images, boxes = tf.constant(IMAGES / 255), tf.constant(BOXES + 0.013)

    def total(images, boxes):
        return tf.reduce_sum(tf.image.crop_and_resize(images, boxes, INDEX, size) * weights)

    with tf.GradientTape() as tape:
        tape.watch([images, boxes])
        value = total(images, boxes)
    grads = tape.gradient(value, [images, boxes])
    for which in (0, 1):
        inputs = [images, boxes]
        step = RNG.normal(size=inputs[which].shape).astype(np.float32) * 1e-3
        ends = []
        for sign in (1, -1):
            inputs[which] = [images, boxes][which] + sign * step
            ends.append(total(*inputs).numpy())
        wanted = (grads[which] * step).numpy().sum()
        np.testing.assert_allclose((ends[0] - ends[1]) / 2, wanted, rtol=0.05, atol=2e-4)


def test_derivative_of_a_transform():
    images = tf.constant(IMAGES)
    with tf.GradientTape() as tape:
        tape.watch(images)
        total = tf.reduce_sum(moved(images, shift(1, 2)))
    wanted = np.zeros_like(IMAGES)
    wanted[:, 1:, 2:] = 1
    np.testing.assert_array_equal(tape.gradient(total, images), wanted)


@pytest.mark.parametrize(
    "call",
    [
        lambda: moved(IMAGES, np.zeros((3, 8))),
        lambda: moved(IMAGES, shift(0, 0), (0, 5)),
        lambda: moved(IMAGES, shift(0, 0), interpolation="CUBIC"),
        lambda: moved(IMAGES, shift(0, 0), fill_mode="MIRROR"),
        lambda: tf.image.crop_and_resize(IMAGES, BOXES, INDEX[:2], [3, 3]),
        lambda: tf.image.crop_and_resize(IMAGES, BOXES, INDEX, [0, 3]),
        lambda: tf.image.crop_and_resize(IMAGES, BOXES * np.nan, INDEX, [3, 3]),
    ],
)
def test_what_is_refused(call):
    with pytest.raises(tf.errors.InvalidArgumentError):
        call()


def test_a_box_of_no_image():
    with pytest.raises(tf.errors.OutOfRangeError, match="box_index"):
        tf.image.crop_and_resize(IMAGES, BOXES, INDEX + 1, [3, 3])
