"""What native kernels give for fixed numbers, as a line with a digest for each kind of work.

    NPROC=3 python -m tests.ops.native_bits

`NPROC` says how many threads XLA has. Every line must be the same for any number of them, and is
made twice in the process: `test_native_threads.py` compares.
"""

import hashlib

import ml_dtypes
import numpy as np

import penstock as tf
from penstock.core import native


def floats(*shape, seed=0):
    return tf.constant(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def halves(*shape, seed=0):
    return tf.cast(floats(*shape, seed=seed), tf.bfloat16)


def doubles(*shape):
    return tf.cast(floats(*shape), tf.float64)


def with_gradients(function, *arrays):
    """A call for a function's value and its gradients by all arrays."""

    @tf.function(jit_compile=True)
    def run(*given):
        with tf.GradientTape() as tape:
            tape.watch(given)
            value = function(*given)
            weights = tf.cast(
                tf.reshape(tf.range(tf.size(value)) % 7 - 3, tf.shape(value)), value.dtype
            )
            total = tf.reduce_sum(value * weights)
        return [value, *tape.gradient(total, given)]

    return lambda: run(*arrays)


def alone(function, *arrays):
    run = tf.function(function, jit_compile=True)
    return lambda: tf.nest.flatten(run(*arrays))


def conv(image, filters, strides=1, function=tf.nn.conv2d, dtype=tf.float32, **more):
    arrays = [tf.cast(x, dtype) for x in (floats(*image), floats(*filters, seed=1))]
    return with_gradients(lambda x, w: function(x, w, strides, "SAME", **more), *arrays)


def attended(q, k, v):
    scores = tf.matmul(q, k, transpose_b=True) / 8.0
    return tf.matmul(tf.nn.softmax(scores), v)


def normalised(x, gain, bias):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-3) * gain + bias


def rounds(x, w):
    """A simple recurrent net."""
    h = tf.zeros([x.shape[1], w.shape[1]])
    for t in tf.range(x.shape[0]):
        h = tf.tanh(tf.matmul(tf.concat([x[t], h], 1), w))
    return h


def block_lstm(x, w):
    zeros, units = tf.zeros([x.shape[1], w.shape[1] // 4]), tf.zeros([w.shape[1] // 4])
    return tf.raw_ops.BlockLSTM(
        seq_len_max=tf.constant(x.shape[0], tf.int64), x=x, cs_prev=zeros, h_prev=zeros, w=w,
        wci=units, wcf=units, wco=units, b=tf.zeros([w.shape[1]]),
    )  # fmt: skip


def trained():
    """Some steps of Adam on a net of two layers."""
    weights = [tf.Variable(floats(300, 257)), tf.Variable(floats(257, 130, seed=1))]
    moments = [[tf.Variable(tf.zeros(w.shape)) for w in weights] for _ in "mv"]
    x = floats(64, 300, seed=2)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.matmul(tf.nn.relu(tf.matmul(x, weights[0])), weights[1]) ** 2)
        grads = tape.gradient(loss, weights)
        for w, m, v, g in zip(weights, *moments, grads, strict=True):
            m.assign(0.9 * m + 0.1 * g)
            v.assign(0.999 * v + 0.001 * g * g)
            w.assign_sub(1e-3 * m / (tf.sqrt(v) + 1e-8))
        return loss

    for _ in range(3):
        step()
    return weights


def bytes_of(a, b):
    return tf.matmul(a, b, output_type=tf.int32)


def drawn():
    tf.random.set_seed(5)
    return tf.function(lambda: [tf.random.truncated_normal([9000], seed=1)], jit_compile=True)()


def kinds():
    """Calls by their names, and what they are given, drawn only now."""
    images = floats(4, 19, 20, 70)
    rng = np.random.default_rng(0)
    sides = [tf.constant(rng.integers(-9, 9, (256, 256)).astype(np.int8)) for _ in "ab"]
    return {
        "product": with_gradients(tf.matmul, floats(150, 600), floats(600, 130, seed=1)),
        "flat product": with_gradients(tf.matmul, floats(9, 700), floats(700, 900, seed=1)),
        "few products": with_gradients(tf.matmul, floats(3, 90, 200), floats(3, 200, 70, seed=1)),
        "many products": with_gradients(
            tf.matmul, floats(12, 90, 200), floats(12, 200, 70, seed=1)
        ),
        "finished product": with_gradients(
            lambda x, w, b: tf.nn.relu(tf.matmul(x, w) + b),
            floats(130, 300),
            floats(300, 90),
            floats(90),
        ),
        "convolution": conv((5, 20, 21, 20), (3, 3, 20, 40)),
        "convolution with strides": conv((3, 31, 30, 20), (5, 5, 20, 40), 2),
        "convolution, large filter": conv((2, 4, 4, 150), (3, 3, 150, 260)),
        "convolution, pointwise": conv((4, 14, 14, 96), (1, 1, 96, 130)),
        "convolution in groups": conv((3, 14, 15, 48), (3, 3, 24, 80)),
        "convolution in narrow groups": conv((3, 14, 15, 64), (3, 3, 4, 64)),
        "small convolution": conv((1, 10, 51, 100), (1, 3, 100, 1)),
        "depthwise convolution": conv(
            (4, 20, 20, 70), (3, 3, 70, 1), [1, 1, 1, 1], tf.nn.depthwise_conv2d
        ),
        "convolution over three axes": conv(
            (2, 5, 9, 9, 16), (3, 3, 3, 16, 33), [1] * 5, tf.nn.conv3d
        ),
        "max pooling": with_gradients(lambda x: tf.nn.max_pool2d(x, 3, 2, "SAME"), images),
        "mean pooling": with_gradients(lambda x: tf.nn.avg_pool2d(x, 3, 1, "SAME"), images),
        "attention": with_gradients(attended, *(floats(6, 140, 64, seed=i) for i in range(3))),
        "layer normalisation": with_gradients(
            normalised, floats(700, 130), floats(130), floats(130)
        ),
        "rounds, few rows": with_gradients(rounds, floats(9, 4, 40), floats(104, 64, seed=1)),
        "rounds, many rows": with_gradients(rounds, floats(9, 70, 40), floats(104, 64, seed=1)),
        "rows of cells": alone(block_lstm, floats(7, 33, 40), floats(72, 128, seed=1)),
        "training": trained,
        "product of bfloat16": alone(tf.matmul, halves(150, 600), halves(600, 130)),
        "product of doubles, turned": alone(
            lambda a, b: tf.matmul(a, b, transpose_a=True), doubles(54352, 8), doubles(54352, 3)
        ),
        "convolution of bfloat16": alone(
            lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"), halves(3, 17, 18, 40), halves(3, 3, 40, 64)
        ),
        "convolution of bfloat16, backward": conv(
            (3, 17, 18, 40), (3, 3, 40, 64), dtype=tf.bfloat16
        ),
        "convolution of float16": conv((8, 20, 20, 40), (5, 5, 40, 64), dtype=tf.float16),
        "product of bytes": alone(bytes_of, *sides),
        "special function": alone(
            tf.math.igamma, tf.abs(floats(30000)), tf.abs(floats(30000, seed=1))
        ),
        "largest of rows": alone(lambda x: tf.math.top_k(x, 9), floats(70, 500)),
        "where the largest is": alone(lambda x: tf.argmax(x, -1), floats(70, 500)),
        "drawn numbers": drawn,
    }


def digest(results):
    found = hashlib.sha256()
    for each in results:
        array = each.numpy()
        array = array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array
        found.update(repr((array.shape, array.dtype)).encode() + array.tobytes())
    return found.hexdigest()[:16]


def main():
    """Prints the kinds, their digests, and at last which functions of the library were called."""
    tf.config.experimental.enable_op_determinism()
    called, call = set(), native.call
    native.call = lambda name, *rest, **attrs: called.add(name) or call(name, *rest, **attrs)
    for kind, run in kinds().items():
        first, second = digest(run()), digest(run())
        print(f"{kind}: {first if first == second else 'not the same twice'}")
    print("called:", *sorted(called))


if __name__ == "__main__":
    main()
