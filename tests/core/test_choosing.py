"""Elements chosen by a mask, bit for bit as `numpy.where` has them."""

import numpy as np
import pytest

from penstock.core.choosing import between, maximum, minimum, where

SIZES = (0, 1, 4095, 4096, 5000)


def _values(rng, size, dtype):
    made = rng.integers(0, 255, (size, np.dtype(dtype).itemsize), np.uint8).view(dtype).reshape(-1)
    return made[:size] if made.size else np.empty(size, dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u8", "f2", "i1", "c8", "?"])
@pytest.mark.parametrize("size", SIZES)
def test_like_numpy(dtype, size):
    rng = np.random.default_rng(size)
    mask = rng.random(size) < 0.5
    x = (rng.random(size) < 0.5) if dtype == "?" else _values(rng, size, dtype)
    y = x[::-1]
    one = x[:1].reshape(()) if size else np.zeros((), dtype)
    for first, second in ((x, y), (x, one), (one, x), (x, np.zeros((), dtype)[()]), (one, one)):
        found, wanted = where(np, mask, first, second), np.where(mask, first, second)
        assert found.dtype == wanted.dtype
        assert found.tobytes() == wanted.tobytes()


def test_shapes_that_broadcast():
    mask = np.arange(8192).reshape(2, -1) % 3 == 0
    x, y = np.ones((2, 1), np.float32), np.zeros(4096, np.float32)
    np.testing.assert_array_equal(where(np, mask, x, y), mask.astype(np.float32))
    np.testing.assert_array_equal(where(np, mask[:1], x, y), np.where(mask[:1], x, y))


def test_views_that_are_not_contiguous():
    square = np.arange(10000, dtype=np.float32).reshape(100, 100)
    mask = (square % 7 == 0).T
    np.testing.assert_array_equal(
        where(np, mask, square.T, -square.T), np.where(mask, square.T, -square.T)
    )
    np.testing.assert_array_equal(square, np.arange(10000).reshape(100, 100))


def test_parts_of_all_shapes_broadcast():
    rng = np.random.default_rng(3)
    full, row, column = rng.random((70, 90)), rng.random(90), rng.random((70, 1))
    for mask in (full < 0.5, row < 0.5, column < 0.5, np.array(True)):
        for x, y in ((full, row), (column, full), (row, column), (full, full), (row, row)):
            np.testing.assert_array_equal(where(np, mask, x, y), np.where(mask, x, y))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "f2"])
def test_bounds(dtype):
    x = np.array([-2, 0, 1, 5, 100], dtype)
    if dtype != "i4":
        x = np.concatenate([x, np.array([np.nan, np.inf, -np.inf], dtype)])
    for low, high in ((0, 6), (6, 0), (1, 1)):
        low, high = np.array(low, dtype), np.array(high, dtype)
        wanted = np.maximum(np.minimum(x, high), low)
        np.testing.assert_array_equal(between(np, x, low, high), wanted)
    np.testing.assert_array_equal(between(np, x, x, x + x), np.maximum(np.minimum(x, x + x), x))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "f2"])
@pytest.mark.parametrize("size", [3, 5000])
def test_one_bound(dtype, size):
    x = np.resize(np.array([-2, 0, 1, 5], dtype), size)
    if dtype != "i8":
        x[:3] = [np.nan, -np.inf, np.inf]
    for bound in np.array([0, 3, -1], dtype):
        for y in (bound, np.array(bound)):
            for pair in ((x, y), (y, x)):
                np.testing.assert_array_equal(maximum(*pair), np.maximum(*pair))
                np.testing.assert_array_equal(minimum(*pair), np.minimum(*pair))
    if dtype != "i8":
        nothing = np.array(np.nan, dtype)
        assert np.isnan(maximum(x, nothing)).all()
        assert np.isnan(minimum(nothing, x)).all()
        assert (
            dtype == "f2"
            or not np.signbit(maximum(np.full(size, -0.0, dtype), np.zeros((), dtype))).any()
        )
