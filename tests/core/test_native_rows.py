"""Matrices in compressed rows by the native library beside NumPy's loops."""

import numpy as np
import pytest

from penstock.core import native_arrays, native_rows

pytestmark = pytest.mark.skipif(
    not native_arrays.LIBRARY.is_in_use(), reason="the native library was not built"
)


@pytest.mark.parametrize("dims", [(4, 5), (3, 4, 5), (1, 1), (0, 3), (2, 0, 3), (2, 3, 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_there_and_back(dims: tuple[int, ...], dtype: type) -> None:
    draw = np.random.default_rng(1)
    dense = (draw.standard_normal(dims) * draw.integers(0, 2, dims)).astype(dtype)
    places = np.argwhere(dense)
    found, columns, ends, values = native_rows.from_places(places, dims, dense)
    assert found == native_rows.RIGHT
    np.testing.assert_array_equal(values, dense[tuple(places.T)])
    batch = dims[0] if len(dims) == 3 else 1
    counts = (dense != 0).reshape(batch * dims[-2], dims[-1]).sum(1)
    np.testing.assert_array_equal(ends, np.concatenate([[0], np.cumsum(counts)]))
    members = places[:, 0] if len(dims) == 3 else 0
    np.testing.assert_array_equal(columns, places[:, -1] + members * dims[-1])
    np.testing.assert_array_equal(native_rows.places_of(columns, ends, dims), places)
    np.testing.assert_array_equal(native_rows.dense_of(columns, ends, dims, values), dense)


@pytest.mark.parametrize(
    ("places", "wanted"),
    [
        ([[0, 0], [1, 2], [0, 1]], native_rows.FALLING),
        ([[0, 2], [0, 1], [0, 2]], native_rows.RIGHT),
        ([[0, 0], [0, 3]], 1),
        ([[0, 0], [2, 0]], 1),
        ([[-1, 0]], 0),
        ([[0, -1]], 0),
    ],
)
def test_wrong_places(places: list[list[int]], wanted: int) -> None:
    assert native_rows.from_places(np.array(places, np.int64), (2, 3))[0] == wanted


def test_members_that_are_not_there() -> None:
    for member in (-1, 2):
        places = np.array([[member, 0, 0]], np.int64)
        assert native_rows.from_places(places, (2, 3, 3))[0] == 0


def test_what_is_left_to_numpy() -> None:
    places = np.zeros((1, 2), np.int64)
    assert native_rows.from_places(places, (1 << 31, 2)) is None
    assert native_rows.from_places(places, (2, 2, 2)) is None
    assert native_rows.places_of(np.zeros(1, np.int64), np.zeros(2, np.int64), (1, 1)) is None
