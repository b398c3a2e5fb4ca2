"""Gradients of inputs whose ranks, or whose axes, are known only when a step runs."""

import numpy as np
import pytest

import penstock as tf
from penstock.compat import v1

rng = np.random.default_rng(7)


def normal(*dims):
    return rng.normal(size=dims).astype(np.float32)


def late(value):
    """A number that is known when the step runs."""
    return v1.placeholder_with_default(value, [])


def gathered(indices, axis, batch_dims=0):
    return lambda x: tf.raw_ops.GatherV2(
        params=x, indices=indices, axis=axis, batch_dims=batch_dims
    )


def named(equation):
    return lambda *inputs: tf.einsum(equation, *inputs)


CASES = {
    "gather, last axis": (lambda x: tf.gather(x, [1, 1], axis=-1), normal(3, 2)),
    "gather, an axis inside": (gathered([1, 0, 1], 1), normal(3, 2, 4)),
    "gather, one position": (gathered(2, 1), normal(3, 5, 4)),
    "gather, batches": (gathered([[1, 1], [0, 1], [0, 0]], 1, 1), normal(3, 2)),
    "gather, batches counted from the end": (gathered([[1, 0], [0, 1]], 2, -1), normal(2, 2, 4)),
    "gather, batches and outer axes": (
        gathered([[[1, 1], [0, 1]], [[0, 0], [2, 2]]], 2, 1),
        normal(2, 2, 3, 2),
    ),
    "einsum, an axis twice": (named("ii->i"), normal(3, 3)),
    "einsum, an axis summed alone": (named("ij->j"), normal(2, 3)),
    "einsum, ellipsis": (named("...ij,jk->...ki"), normal(3, 2, 2), normal(2, 4)),
    "einsum, no axes in an ellipsis": (named("...ij,jk->...ki"), normal(2, 2), normal(2, 4)),
    "einsum, labels first": (named("i...j,...jk->...ki"), normal(2, 1, 3), normal(4, 3, 2)),
    "einsum, ellipses that broadcast": (named("...j,...->...j"), normal(2, 3), normal(5, 1)),
    "einsum, ellipsis and an axis summed": (named("...i->..."), normal(2, 3)),
    "einsum, ellipsis and an axis twice": (named("...ii->...i"), normal(2, 3, 3)),
    "lstsq, tall": (lambda a, b: tf.linalg.lstsq(a, b, 0.1), normal(3, 2), normal(3, 1)),
    "lstsq, wide": (lambda a, b: tf.linalg.lstsq(a, b, 0.1), normal(2, 3), normal(2, 1)),
    "lu_reconstruct": (lambda x: tf.linalg.lu_reconstruct(*tf.linalg.lu(x)), normal(3, 2, 2)),
    "lu_solve": (
        lambda x, b: tf.linalg.lu_solve(*tf.linalg.lu(x), b),
        normal(3, 2, 2),
        normal(2, 1),
    ),
    "lu_matrix_inverse": (
        lambda x: tf.linalg.lu_matrix_inverse(*tf.linalg.lu(x)),
        normal(3, 2, 2),
    ),
    "adjust_contrast": (lambda x: tf.image.adjust_contrast(x, 2.0), normal(2, 2, 3)),
    "approx_max_k": (lambda x: tf.math.approx_max_k(x, 2)[0], normal(2, 4)),
}  # fmt: skip


def values_and_gradients(function, arrays, known):
    with tf.Graph().as_default():
        inputs = [v1.placeholder(a.dtype, a.shape if known else None) for a in arrays]
        y = function(*inputs)
        weights = tf.reshape(tf.cos(tf.range(tf.cast(tf.size(y), tf.float32))), tf.shape(y))
        with v1.Session() as session:
            wanted = [y, *tf.gradients(y * weights, inputs)]
            return session.run(wanted, dict(zip(inputs, arrays, strict=True)))


@pytest.mark.parametrize("name", CASES)
def test_as_with_known_ranks(name):
    function, *arrays = CASES[name]
    found = values_and_gradients(function, arrays, False)
    wanted = values_and_gradients(function, arrays, True)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5)


def test_an_axis_that_comes_with_the_step():
    x = normal(3, 2, 4)

    def slopes(axis):
        return values_and_gradients(lambda y: gathered([1, 0, 1], axis())(y), [x], True)

    for a, b in zip(slopes(lambda: late(-2)), slopes(lambda: 1), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.signal.frame(x, 4, 2),
        lambda x: tf.math.real(tf.signal.stft(x, 4, 2)),
        lambda x: tf.signal.mdct(x, 4),
    ],
    ids=["frame", "stft", "mdct"],
)
def test_the_gradient_of_a_signal_is_a_tensor(function):
    x = tf.constant(normal(8))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    slope = tape.gradient(y, x)
    assert tf.is_tensor(slope)
    theory, numeric = tf.test.compute_gradient(function, [x])
    np.testing.assert_allclose(theory[0], numeric[0], rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("jit", [None, True])
@pytest.mark.parametrize("dims", [(0,), (0, 3), (3, 0), (2, 0, 4)])
def test_params_without_elements_have_no_position(dims, jit):
    picked = tf.function(tf.gather_nd, jit_compile=jit)
    for function in (tf.gather_nd, picked):
        with pytest.raises(tf.errors.InvalidArgumentError, match="params is empty"):
            function(tf.zeros(dims), tf.constant([[0]]))
        none = function(tf.zeros(dims), tf.zeros((0, 1), tf.int32))
        assert none.shape == (0, *dims[1:])
