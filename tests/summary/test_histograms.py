"""Histograms: counts and ends of buckets."""

import numpy as np
import pytest

from penstock.summary.plots import bucketed


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (np.arange(10.0), [[0, 3, 3], [3, 6, 3], [6, 9, 4]]),
        (np.ones(4), [[1, 1, 0], [1, 1, 0], [1, 1, 4]]),
        (np.zeros(0), [[0, 0, 0], [0, 0, 0], [0, 0, 0]]),
        (np.array([[-3], [6]], np.int32), [[-3, 0, 1], [0, 3, 0], [3, 6, 1]]),
    ],
)
def test_buckets(values, wanted):
    np.testing.assert_allclose(bucketed(values, 3).numpy(), wanted)


def test_no_buckets():
    assert bucketed(np.ones(3), 0).shape == (0, 3)


def test_every_value_is_counted_once():
    values = np.random.default_rng(0).normal(size=1000)
    result = bucketed(values, 30).numpy()
    np.testing.assert_array_equal(result[:, 2], np.histogram(values, 30)[0])
    np.testing.assert_allclose(result[1:, 0], result[:-1, 1])
