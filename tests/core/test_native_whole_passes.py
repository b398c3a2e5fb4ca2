"""Operations that are one native pass beside their compositions in NumPy and XLA: the same bits."""

import numpy as np
import pytest
from tests.core.test_native_arrays import both, needs_the_library  # noqa: F401

import penstock as tf
from penstock.ops import math_matmul

RNG = np.random.default_rng(11)
raw = tf.raw_ops


def assert_same_bits(call):
    found, wanted = both(call)
    assert [(a.dtype, a.shape, a.tobytes()) for a in found] == [
        (b.dtype, b.shape, b.tobytes()) for b in wanted
    ]
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("shape", [(3, 7, 5), (1, 3), (2, 2, 1), (2, 0, 3), (0, 4), (60, 50, 9)])
def test_tridiagonal_products(dtype, shape):
    rows = (*shape[:-2], 1, shape[-2])
    diagonals = [RNG.standard_normal(rows).astype(dtype) for _ in range(3)]
    rhs = RNG.standard_normal(shape).astype(dtype)
    names = ("superdiag", "maindiag", "subdiag", "rhs")
    given = dict(zip(names, [*diagonals, rhs], strict=True))
    found = assert_same_bits(lambda: raw.TridiagonalMatMul(**given))[0]
    compiled = tf.function(lambda: raw.TridiagonalMatMul(**given), jit_compile=True)
    np.testing.assert_allclose(compiled().numpy(), found, rtol=1e-5, atol=1e-5)


def test_tridiagonal_products_in_compiled_steps():
    """Large ones are calls of the native library, of stacks that are mapped too."""
    diagonals = [tf.constant(RNG.standard_normal((5, 80, 1, 9)), tf.float32) for _ in range(3)]
    rhs = tf.constant(RNG.standard_normal((5, 80, 9, 60)), tf.float32)
    eager = raw.TridiagonalMatMul(
        superdiag=diagonals[0], maindiag=diagonals[1], subdiag=diagonals[2], rhs=rhs
    )

    @tf.function(jit_compile=True)
    def mapped(high, main, low, x):
        one = lambda a: raw.TridiagonalMatMul(  # noqa: E731
            superdiag=a[0], maindiag=a[1], subdiag=a[2], rhs=a[3]
        )
        return tf.vectorized_map(one, (high, main, low, x))

    np.testing.assert_array_equal(mapped(*diagonals, rhs).numpy(), eager.numpy())


@pytest.mark.parametrize(("width", "k"), [(4, 3), (1, 40), (5, 20), (3, 0), (2, 1)])
def test_nearest_centres(width, k):
    """Ties go to the first centre; a point that is no number is far from all."""
    points = RNG.integers(-3, 4, (300, width)).astype(np.float32)
    points[3, 0] = np.nan
    centers = RNG.integers(-3, 4, (40, width)).astype(np.float32)
    assert_same_bits(lambda: list(raw.NearestNeighbors(points=points, centers=centers, k=k)))
    none = np.zeros((0, width), np.float32)
    assert_same_bits(lambda: list(raw.NearestNeighbors(points=points, centers=none, k=k)))


@pytest.mark.parametrize("weights", [np.float32, np.float64, np.int32, np.int64, None])
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("rank", [1, 2])
def test_counts_of_sparse_tensors(weights, binary, rank):
    values = RNG.integers(0, 12, 200).astype(np.int32)
    rows = RNG.integers(0, 5, 200)
    places = np.stack([rows, np.arange(200)], 1)[:, 2 - rank :].astype(np.int64)
    given = {"dense_shape": np.array([5, 200][2 - rank :]), "size": np.int32(9)}
    given["weights"] = (
        np.zeros(0, np.float32) if weights is None else RNG.integers(-9, 9, 200).astype(weights)
    )

    def count(places, values):
        return raw.SparseBincount(indices=places, values=values, binary_output=binary, **given)

    found = assert_same_bits(lambda: count(places, values))[0]
    step = tf.function(count)
    for _ in range(2):
        np.testing.assert_array_equal(step(places, values).numpy(), found)
    values[7] = -1
    assert "non-negative" in str(assert_same_errors(lambda: count(places, values)))


def assert_same_errors(call):
    found, wanted = both(call)
    assert found == wanted
    return found


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-1.0, 3.0), (5.0, 6.0)])
@pytest.mark.parametrize("count", [0, 9, 40_000])
def test_quantised_products(ends, count):
    x, y = (tf.constant(RNG.integers(0, 256, count).astype(np.uint8)) for _ in range(2))
    given = {"min_x": ends[0], "max_x": ends[1], "min_y": -2.0, "max_y": 1.0}

    def product():
        a, b = (raw.Bitcast(input=each, type="quint8") for each in (x, y))
        found = raw.QuantizedMul(x=a, y=b, **given)
        return [raw.Bitcast(input=found[0], type="int32"), *found[1:]]

    assert_same_bits(product)


@pytest.mark.parametrize(("low", "high"), [(-5, 7), (3, 3), (4, -4)])
def test_clipped_quantised_numbers(low, high):
    x = RNG.integers(-9, 9, 50).astype(np.int32)
    of = {"min": np.int32(low), "max": np.int32(high), "operand": x}
    given = {k: raw.Bitcast(input=v, type="qint32") for k, v in of.items()}
    found = raw.UniformQuantizedClipByValue(
        **given, scales=0.1, zero_points=0, quantization_min_val=-100, quantization_max_val=100
    )
    wanted = np.minimum(np.maximum(x, low), high)
    np.testing.assert_array_equal(raw.Bitcast(input=found, type="int32").numpy(), wanted)


@pytest.mark.parametrize("shape", [(3,), (4, 3), (0, 3), (2, 5, 3)])
def test_cross_products_of_both_kinds(shape):
    a, b = (RNG.standard_normal(shape).astype(np.float32) for _ in range(2))
    compiled = tf.function(lambda x, y: raw.Cross(a=x, b=y), jit_compile=True)(a, b).numpy()
    np.testing.assert_allclose(compiled, np.cross(a, b), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(math_matmul.cross(a, b).numpy(), np.cross(a, b), rtol=1e-5)
