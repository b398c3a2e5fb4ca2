"""Functions of single numbers in one native pass: the bits that NumPy's passes give."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_arrays, native_passes
from penstock.core.choosing import where

pytestmark = pytest.mark.skipif(
    not native_arrays.LIBRARY.is_in_use(), reason="the native library was not built"
)
SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -1e-45, 6.0, 1.0, -1.0, 3e38]
CALLS = {
    "sign": ("Sign", ["x"], {}),
    "inverse_root": ("Rsqrt", ["x"], {}),
    "squared_difference": ("SquaredDifference", ["x", "y"], {}),
    "product_or_zero": ("MulNoNan", ["x", "y"], {}),
    "sigmoid_grad": ("SigmoidGrad", ["y", "dy"], {}),
    "tanh_grad": ("TanhGrad", ["y", "dy"], {}),
    "root_grad": ("SqrtGrad", ["y", "dy"], {}),
    "inverse_root_grad": ("RsqrtGrad", ["y", "dy"], {}),
    "inverse_grad": ("InvGrad", ["y", "dy"], {}),
    "relu": ("Relu", ["features"], {}),
    "relu_grad": ("ReluGrad", ["gradients", "features"], {}),
    "relu6_grad": ("Relu6Grad", ["gradients", "features"], {}),
    "leaky_relu": ("LeakyRelu", ["features"], {"alpha": 0.3}),
    "leaky_relu_grad": ("LeakyReluGrad", ["gradients", "features"], {"alpha": 0.3}),
    "elu_grad": ("EluGrad", ["gradients", "outputs"], {}),
    "quotient_or_zero": ("DivNoNan", ["x", "y"], {}),
    "quotient_of_nonzero": ("Xdivy", ["x", "y"], {}),
    "selu_grad": ("SeluGrad", ["gradients", "outputs"], {}),
}


def numbers(dtype, seed):
    drawn = np.random.default_rng(seed).normal(size=1500)
    return np.concatenate([drawn, np.repeat(SPECIAL, len(SPECIAL)), np.tile(SPECIAL, 11)]).astype(
        dtype
    )


def test_every_function_has_an_operation():
    assert set(CALLS) == set(native_passes.FUNCTIONS)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", CALLS)
def test_the_same_bits_as_numpy(function, dtype, monkeypatch):
    operation, names, attrs = CALLS[function]
    arrays = [tf.constant(numbers(dtype, i)) for i in range(len(names))]
    given = {**dict(zip(names, arrays, strict=True)), **attrs}
    made = []
    original = native_passes.LIBRARY.function
    monkeypatch.setattr(
        native_passes.LIBRARY, "function", lambda name: made.append(name) or original(name)
    )
    found = getattr(tf.raw_ops, operation)(**given).numpy()
    assert made == ["pass"]
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    wanted = getattr(tf.raw_ops, operation)(**given).numpy()
    missing = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), missing)
    np.testing.assert_array_equal(found[~missing].tobytes(), wanted[~missing].tobytes())


def test_what_is_left_to_numpy():
    x = numbers(np.float32, 0)
    assert native_passes.one_pass("sign", x) is not None
    assert native_passes.one_pass("sign", x[:100]) is None
    assert native_passes.one_pass("sign", x[::2]) is None
    assert native_passes.one_pass("sign", np.ones(600, np.int32)) is None
    assert native_passes.one_pass("product_or_zero", x, x[:, None]) is None
    assert native_passes.one_pass("product_or_zero", x, x.astype(np.float64)) is None


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "uint32", "float32", "int64"])
def test_choices(dtype):
    draw = np.random.default_rng(3)
    x, y = (draw.integers(0, 2, (70, 100)).astype(dtype) for _ in range(2))
    mask = draw.random((70, 100)) < 0.5
    found = native_passes.chosen(mask, x, y)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, np.where(mask, x, y))
    np.testing.assert_array_equal(where(np, mask, x, y), np.where(mask, x, y))
    for other in (mask[:1], mask.T[:70, :70]):
        assert native_passes.chosen(other, x, y) is None
    assert native_passes.chosen(mask, x, y[:1]) is None
    assert native_passes.chosen(mask, x, y.astype(np.complex64)) is None


def test_choices_of_numbers_without_code():
    wide = np.ones((2, 3), np.complex128)
    assert native_passes.chosen(np.ones((2, 3), bool), wide, wide) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(513,), (1000,), (7, 129, 3), (66_000,), (512, 129)])
def test_sums_of_squares_have_the_bits_of_numpy(shape, dtype):
    x = np.random.default_rng(5).normal(size=shape).astype(dtype)
    found = native_passes.square_sum(x)
    assert found.dtype == dtype
    assert found == np.add.reduce(np.square(x), None)
    loss = tf.raw_ops.L2Loss(t=x)
    assert loss.numpy() == found * np.asarray(0.5, dtype)


def test_sums_of_squares_that_numpy_makes():
    assert native_passes.square_sum(np.ones(3, np.float32)) is None
    assert native_passes.square_sum(np.ones(1000, np.float16)) is None
    assert native_passes.square_sum(np.ones((40, 40))[:, ::2]) is None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("count", [16_385, 100_001])
def test_lines_with_and_without_the_library(count, dtype, monkeypatch):
    ends = [tf.cast(x, dtype) for x in (-1.7, 3.3)]
    found = tf.raw_ops.LinSpace(start=ends[0], stop=ends[1], num=count).numpy()
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    wanted = tf.raw_ops.LinSpace(start=ends[0], stop=ends[1], num=count).numpy()
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(found[[0, -1]], [each.numpy() for each in ends])
