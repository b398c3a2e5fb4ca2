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
