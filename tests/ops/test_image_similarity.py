"""Signal to noise and structural similarity, against their definitions in NumPy."""

import numpy as np
import pytest

import penstock as tf

RNG = np.random.default_rng(0)
A = RNG.random((2, 24, 21, 3)).astype(np.float32)
B = np.clip(A + RNG.normal(0, 0.1, A.shape), 0, 1).astype(np.float32)


def maps(a, b, size, sigma, k1=0.01, k2=0.03):
    at = np.arange(size) - (size - 1) / 2
    row = np.exp(-(at**2) / (2 * sigma**2))
    weights = np.outer(row, row) / row.sum() ** 2

    def mean(x):
        windows = np.lib.stride_tricks.sliding_window_view(x, (size, size), (1, 2))
        return (windows * weights).sum((-1, -2))

    u, v = mean(a), mean(b)
    cross = mean(a * b) - u * v
    power = mean(a * a) - u * u + mean(b * b) - v * v
    structure = (2 * cross + k2**2) / (power + k2**2)
    return (2 * u * v + k1**2) / (u * u + v * v + k1**2) * structure, structure


def test_one_scale():
    wanted, _ = maps(A.astype(float), B.astype(float), 7, 1.2)
    found = tf.image.ssim(A, B, 1.0, filter_size=7, filter_sigma=1.2)
    np.testing.assert_allclose(found, wanted.mean((1, 2, 3)), atol=1e-5)
    each = tf.image.ssim(A[None], B[None], 1.0, 7, 1.2, return_index_map=True)
    np.testing.assert_allclose(each[0], wanted.mean(-1), atol=1e-4)
    np.testing.assert_allclose(tf.image.ssim(A, A, 1.0), [1, 1], atol=1e-6)
    scaled = tf.image.ssim((A * 255).astype(np.uint8), (B * 255).astype(np.uint8), 255)
    np.testing.assert_allclose(scaled, tf.image.ssim(A, B, 1.0), atol=1e-3)


def test_scales():
    a, b = A.astype(float), B.astype(float)
    product = 1.0
    for level, power in enumerate((0.3, 0.7)):
        whole, structure = maps(a, b, 5, 1.5)
        product *= np.maximum((whole if level else structure).mean((1, 2)), 0) ** power
        a, b = (np.pad(x, [(0, 0), (0, 0), (0, 1), (0, 0)], "symmetric") for x in (a, b))
        a, b = (x.reshape(2, 12, 2, 11, 2, 3).mean((2, 4)) for x in (a, b)) if not level else (a, b)
    run = tf.function(
        lambda x, y: tf.image.ssim_multiscale(x, y, 1.0, (0.3, 0.7), filter_size=5),
        input_signature=[tf.TensorSpec([None, None, None, 3])] * 2,
    )
    np.testing.assert_allclose(run(A, B), product.mean(-1), atol=1e-5)


def test_it_can_be_learned_from():
    a = tf.constant(A)
    with tf.GradientTape() as tape:
        tape.watch(a)
        value = tf.reduce_sum(tf.image.ssim(a, B, 1.0))
    grad = tape.gradient(value, a)
    better = tf.image.ssim(a + 0.05 * grad / tf.norm(grad), B, 1.0)
    assert tf.reduce_sum(better).numpy() > value.numpy()


def test_what_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.image.ssim(A[:, :10], B[:, :10], 1.0)
    assert tf.image.ssim(A[:, :11], B[:, :11], 1.0).shape == (2,)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.image.ssim_multiscale(A, B, 1.0)
    with pytest.raises(ValueError, match="incompatible"):
        tf.image.ssim(A, B[:, :12], 1.0)


def test_signal_to_noise():
    other = A[::-1]
    wanted = -10 * np.log10(((A - other) ** 2).mean((1, 2, 3)))
    np.testing.assert_allclose(tf.image.psnr(A, other, 1.0), wanted, rtol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
        tf.image.psnr(A, A[:, :2], 1.0)
    with pytest.raises(ValueError, match="Incompatible shapes"):
        tf.function(tf.image.psnr)(A, A[:, :2], 1.0)
    ratio = tf.function(
        lambda a, b: tf.image.psnr(a, b, 1.0), input_signature=[tf.TensorSpec([None] * 4)] * 2
    )
    assert ratio(A, A / 2).shape == A.shape[:1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="one size"):
        ratio(A, A[..., :1])  # would broadcast
