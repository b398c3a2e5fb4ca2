"""Histograms of equal width beside NumPy's counts."""

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_a_histogram_of_many_numbers(dtype: Any) -> None:
    values = (np.random.default_rng(3).normal(size=40_000) * 30).astype(dtype)
    found = tf.histogram_fixed_width(values, np.array([-20, 50], dtype), 37)
    scaled = (values.astype(np.float64) + 20) / 70 * 37
    wanted = np.bincount(np.clip(np.floor(scaled), 0, 36).astype(np.int64), minlength=37)
    assert np.array_equal(found, wanted)
    if np.dtype(dtype).kind == "f":
        ends = tf.histogram_fixed_width(np.array([-np.inf, np.inf, 0], dtype), [-1.0, 1.0], 2)
        assert ends.numpy().tolist() == [1, 2]
        with pytest.raises(errors.InvalidArgumentError, match="must not contain NaN"):
            tf.histogram_fixed_width(np.array([0, np.nan], dtype), [-1.0, 1.0], 2)


def test_bins_are_at_least_one():
    with pytest.raises(tf.errors.InvalidArgumentError, match="nbins > 0, got 0"):
        tf.histogram_fixed_width_bins([1.0], [0.0, 5.0], 0)


@pytest.mark.parametrize("make", [np.int32, np.array, tf.constant, tf.Variable])
def test_bins_that_a_tensor_counts_are_at_least_one(make):
    def places(nbins):
        return tf.histogram_fixed_width_bins([1.0, 2.0], [0.0, 5.0], nbins)

    for run in (places, tf.function(places)):
        assert run(make(np.int32(3))).numpy().tolist() == [0, 1]
        for few in (0, -1):
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"nbins > 0, got.*{few}"):
                run(make(np.int32(few)))


def test_bins_of_empty_ranges_and_infinities() -> None:
    """What lies outside is in the first or last bin, where the bins have no width, too."""
    values = np.float32([-1, 0, 2, 3, np.inf, -np.inf])
    for limits, wanted in (([1.0, 1.0], [0, 0, 4, 4, 4, 0]), ([0.0, 5.0], [0, 0, 2, 3, 4, 0])):
        bins = tf.histogram_fixed_width_bins(values, limits, 5)
        assert bins.numpy().tolist() == wanted
        traced = tf.function(tf.histogram_fixed_width_bins)(values, tf.constant(limits), 5)
        assert traced.numpy().tolist() == wanted


def test_one_bin_takes_all() -> None:
    values = np.float32([-1, np.nan, np.inf])
    assert tf.histogram_fixed_width(values, [0.0, 5.0], 1).numpy().tolist() == [3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must not contain NaN"):
        tf.histogram_fixed_width(values, [0.0, 5.0], 2)


@pytest.mark.parametrize("dtype", [tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32])
def test_zeros_of_quantised_numbers(dtype: Any) -> None:
    x = tf.constant([1, 2, 0, 0], dtype)
    for run in (lambda f: f, tf.function):
        assert int(run(tf.math.count_nonzero)(x)) == 2
        assert float(run(tf.math.zero_fraction)(x)) == 0.5
    assert tf.math.real(x) is x
