"""Draws of classes and points by the native library beside NumPy and SciPy."""

import math

import numpy as np
import pytest
from scipy.stats import qmc

import penstock as tf
from penstock.core import native_arrays, native_draws
from penstock.ops import math_sobol

pytestmark = pytest.mark.skipif(
    not native_arrays.LIBRARY.is_in_use(), reason="the native library was not built"
)
draw = np.random.default_rng(7)


@pytest.mark.parametrize("dims", [1, 3, 40])
@pytest.mark.parametrize("skip", [0, 1, 6, 1000])
def test_points_of_sobols_sequence(dims: int, skip: int, monkeypatch) -> None:
    assert math_sobol._directions(dims) is not None
    sequence = qmc.Sobol(dims, scramble=False, bits=32)
    sequence.fast_forward(skip + 1)
    wanted = sequence.random(9)
    for dtype in (np.float32, np.float64):
        found = tf.raw_ops.SobolSample(dim=dims, num_results=9, skip=skip, dtype=dtype)
        np.testing.assert_array_equal(found.numpy(), wanted.astype(dtype))
        monkeypatch.setattr(math_sobol, "_directions", lambda size: None)  # SciPy's own way
        again = tf.raw_ops.SobolSample(dim=dims, num_results=9, skip=skip, dtype=dtype)
        np.testing.assert_array_equal(found.numpy(), again.numpy())
        monkeypatch.undo()


def test_direction_numbers_that_give_other_points_are_not_taken(monkeypatch) -> None:
    class Other(qmc.Sobol):
        def random(self, n: int = 1, **kwargs):
            return super().random(n, **kwargs)[::-1]

    monkeypatch.setattr(math_sobol, "qmc", type("Q", (), {"Sobol": Other}))
    assert math_sobol._directions.__wrapped__(3) is None


def test_classes_by_weight() -> None:
    weights = draw.integers(0, 4, (5, 8))
    weights[4, 7] = 1
    ends = np.cumsum(weights)
    values = np.concatenate([draw.integers(0, ends[-1], 50), [0, ends[-1] - 1]])
    found = native_draws.weighted(weights, weights.sum(1), values)
    np.testing.assert_array_equal(found, np.searchsorted(ends, values, "right"))


@pytest.mark.parametrize("width", [1, 3])
def test_hits(width: int, monkeypatch) -> None:
    keys = draw.integers(-5, 5, 12)
    wanted = draw.integers(-8, 8, (6, width))
    rows, places = native_draws.hits(keys, wanted)
    expected = [
        (row, int(np.flatnonzero(keys == key)[-1]))
        for row, each in enumerate(wanted)
        for key in each
        if key in keys
    ]
    assert list(zip(rows.tolist(), places.tolist(), strict=True)) == expected
    assert native_draws.hits(keys[:0], wanted)[0].size == 0
    found = tf.raw_ops.ComputeAccidentalHits(
        true_classes=wanted, sampled_candidates=keys, num_true=width
    )
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    again = tf.raw_ops.ComputeAccidentalHits(
        true_classes=wanted, sampled_candidates=keys, num_true=width
    )
    for one, other in zip(found, again, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
        assert one.dtype == other.dtype


@pytest.mark.parametrize("size", [1, 2, 1000, 1 << 61])
def test_classes_by_powers(size: int) -> None:
    drawn = np.concatenate([draw.random(500), [0.0, 1 - 2.0**-52]])
    scale = math.log1p(size)
    wanted = [(int(math.exp(x * scale)) - 1) % size for x in drawn.tolist()]
    assert native_draws.by_powers(drawn, scale, size).tolist() == wanted


def test_classes_beyond_all_powers_are_drawn_in_python() -> None:
    given = {"true_classes": [[5]], "num_true": 1, "num_sampled": 9, "unique": False, "seed": 3}
    found = tf.raw_ops.LogUniformCandidateSampler(range_max=(1 << 63) - 1, **given)[0].numpy()
    assert (found >= 0).all()


def test_classes_of_many_blocks() -> None:
    """Many values find their blocks by search, few by looking through: the same classes."""
    weights = draw.integers(0, 3, (500, 4))
    weights[7, 1] = 9
    blocks, ends = weights.sum(1), np.cumsum(weights)
    values = draw.integers(0, ends[-1], 300)
    wanted = np.searchsorted(ends, values, "right")
    np.testing.assert_array_equal(native_draws.weighted(weights, blocks, values), wanted)
    for value, place in zip(values[:20], wanted[:20], strict=True):
        assert native_draws.weighted(weights, blocks, np.array([value]))[0] == place


def test_points_far_apart() -> None:
    """Two heaps far from each other have a centre each, whatever is drawn; so has each point."""
    heaps = np.concatenate([draw.random((50, 3)), 1e6 + draw.random((50, 3))]).astype(np.float32)
    for tries in (0, 2):
        first = draw.integers(0, 9, 1 + tries)
        uniform = draw.random(8 * (1 + tries), np.float32)
        found = native_draws.far_apart(heaps, 2, tries, first, uniform)
        assert sorted(found // 50) == [0, 1]
        assert sorted(native_draws.far_apart(heaps[:9], 9, tries, first, uniform)) == [*range(9)]
    same = np.ones((4, 2), np.float32)
    high = np.full(4, 0.99, np.float32)
    assert native_draws.far_apart(same, 3, 1, np.array([1, 2]), high).tolist() == [1, 3, 3]
