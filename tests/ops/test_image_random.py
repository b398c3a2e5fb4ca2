"""Images changed at random: each change is the fixed one with a number drawn from the range."""

import numpy as np
import pytest

import penstock as tf

RNG = np.random.default_rng(0)
IMAGE = RNG.random((8, 9, 3)).astype(np.float32)
BATCH = RNG.random((6, 8, 9, 3)).astype(np.float32)
SEED = (3, 4)


@pytest.mark.parametrize(
    ("random", "fixed", "bounds", "drawn"),
    [
        ("brightness", "adjust_brightness", (0.3,), (-0.3, 0.3)),
        ("contrast", "adjust_contrast", (0.3, 0.9), (0.3, 0.9)),
        ("hue", "adjust_hue", (0.3,), (-0.3, 0.3)),
        ("saturation", "adjust_saturation", (0.3, 0.9), (0.3, 0.9)),
    ],
)
def test_colors(random, fixed, bounds, drawn):
    number = tf.random.stateless_uniform([], SEED, *drawn)
    wanted = getattr(tf.image, fixed)(IMAGE, number)
    stateless = getattr(tf.image, f"stateless_random_{random}")
    np.testing.assert_array_equal(stateless(IMAGE, *bounds, SEED), wanted)
    stateful = getattr(tf.image, f"random_{random}")
    found = []
    for _ in range(2):
        tf.random.set_seed(5)
        found.append(stateful(IMAGE, *bounds, seed=7).numpy())
    np.testing.assert_array_equal(found[0], found[1])
    tf.random.set_seed(5)
    number = tf.random.uniform([], *drawn, seed=7)
    np.testing.assert_allclose(found[0], getattr(tf.image, fixed)(IMAGE, number), atol=1e-6)


@pytest.mark.parametrize(("name", "axis"), [("left_right", 2), ("up_down", 1)])
def test_flips(name, axis):
    stateless = getattr(tf.image, f"stateless_random_flip_{name}")
    seen = set()
    for i in range(8):
        found = stateless(IMAGE, (i, 2)).numpy()
        turned = np.array_equal(found, np.flip(IMAGE, axis - 1))
        assert turned or np.array_equal(found, IMAGE)
        seen.add(turned)
    assert seen == {True, False}
    traced = tf.function(getattr(tf.image, f"random_flip_{name}"))
    each = set()
    for _ in range(4):
        found = traced(BATCH).numpy()
        flips = np.flip(BATCH, axis)
        for i in range(6):
            turned = np.array_equal(found[i], flips[i])
            assert turned or np.array_equal(found[i], BATCH[i])
            each.add(turned)
    assert each == {True, False}


def test_crops():
    found = tf.image.stateless_random_crop(IMAGE, (3, 4, 2), SEED).numpy()
    windows = np.lib.stride_tricks.sliding_window_view(IMAGE, (3, 4, 2)).reshape(-1, 3, 4, 2)
    assert any(np.array_equal(found, window) for window in windows)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.image.stateless_random_crop(IMAGE, (9, 4, 2), SEED)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_jpeg_quality(dtype):
    smooth = np.add.outer(np.arange(16), np.arange(16))[..., None] * [4, 2, 1]
    image = smooth.astype(np.uint8) if dtype == np.uint8 else (smooth / 255).astype(dtype)
    scale = 1 if dtype == np.uint8 else 255
    errors = []
    for quality in (5, 95):
        found = tf.image.adjust_jpeg_quality(image, quality)
        assert found.dtype == dtype
        assert found.shape == (16, 16, 3)
        errors.append(np.abs(found.numpy() * float(scale) - smooth).mean())
    assert errors[1] < errors[0]
    assert errors[1] < 4
    number = tf.random.stateless_uniform([], SEED, 20, 90, tf.int32)
    np.testing.assert_array_equal(
        tf.image.stateless_random_jpeg_quality(image, 20, 90, SEED),
        tf.image.adjust_jpeg_quality(image, number),
    )
    assert tf.image.random_jpeg_quality(image, 20, 90).shape == (16, 16, 3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.image.random_brightness(IMAGE, -1), "non-negative"),
        (lambda: tf.image.random_contrast(IMAGE, 0.9, 0.3), "upper must be > lower"),
        (lambda: tf.image.random_contrast(IMAGE, -0.9, 0.3), "non-negative"),
        (lambda: tf.image.random_hue(IMAGE, 0.6), "0.5"),
        (lambda: tf.image.stateless_random_hue(IMAGE, -0.6, SEED), "non-negative"),
        (lambda: tf.image.random_saturation(IMAGE, 0.6, 0.2), "upper must be > lower"),
        (lambda: tf.image.random_jpeg_quality(IMAGE, -1, 50), "between 0 and 100"),
        (lambda: tf.image.random_jpeg_quality(IMAGE, 60, 50), "must be less"),
        (lambda: tf.image.random_flip_up_down(IMAGE[0]), "dimensions"),
    ],
)
def test_what_is_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_quality_out_of_range():
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.image.adjust_jpeg_quality(IMAGE, 175)
