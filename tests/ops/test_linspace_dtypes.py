"""`tf.linspace` of integers and of complex numbers, and the names of what isotonic fits give."""

import numpy as np
import pytest

import penstock as tf


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("int8", "float32"), ("uint8", "float32"), ("int16", "float32"), ("uint16", "float32"),
     ("int32", "float64"), ("uint32", "float64"), ("int64", "float64"), ("uint64", "float64")],
)  # fmt: skip
def test_integers_become_numbers_that_hold_them(dtype, expected):
    made = tf.linspace(tf.constant(0, dtype), tf.constant(5, dtype), 3)
    assert made.dtype == expected
    np.testing.assert_array_equal(made, [0.0, 2.5, 5.0])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_are_evenly_spaced_too(dtype):
    made = tf.linspace(tf.constant(0j, dtype), tf.constant(5 + 1j, dtype), 3)
    assert made.dtype == dtype
    np.testing.assert_array_equal(made, [0, 2.5 + 0.5j, 5 + 1j])


def test_isotonic_fits_have_names():
    found = tf.nn.isotonic_regression([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(found.output, [3.0, 1.5, 1.5])
    np.testing.assert_array_equal(found.segments, [0, 1, 1])
