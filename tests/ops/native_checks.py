"""What the tests of native kernels share: results of every instruction set, beside float64's."""

import numpy as np

import penstock as tf
from penstock.core import native


def recorded(monkeypatch):
    """A list that will hold the names of the native functions that are called."""
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
        for name in (b"avx512", b"avx2", b"neon", b"plain"):
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
