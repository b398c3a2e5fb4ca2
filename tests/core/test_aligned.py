"""Large constants start where compiled regions can read them in place."""

import numpy as np
import pytest

import penstock as tf


def _off_by_four(count, dtype):
    size = count * np.dtype(dtype).itemsize
    memory = np.empty(size + 128, np.uint8)
    start = -memory.ctypes.data % 64 + 8
    array = memory[start : start + size].view(dtype)
    array[...] = np.arange(count) % 100
    return array


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
@pytest.mark.parametrize("make", [tf.constant, tf.convert_to_tensor])
def test_a_copy_is_aligned_and_a_copy(make, dtype):
    given = _off_by_four(1 << 17, dtype)
    tensor = make(given)
    assert tensor._array.ctypes.data % 64 == 0
    before = given.copy()
    given[...] = 0
    np.testing.assert_array_equal(tensor, before)


def test_the_order_of_rows_and_columns_stays():
    given = np.asfortranarray(np.arange(1 << 16, dtype=np.float32).reshape(256, 256))
    np.testing.assert_array_equal(tf.constant(given), given)
    np.testing.assert_array_equal(tf.constant(given[::2, ::-1]), given[::2, ::-1])


@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("dtype", [tf.float32, tf.bfloat16, tf.int8, tf.bool, tf.complex128])
def test_zeros_and_ones_are_aligned(value, dtype):
    """NumPy's own arrays of this size start 16 bytes after a page: each use copied them."""
    given = tf.constant(np.empty([300, 500], dtype.as_numpy_dtype))
    make, like = [(tf.zeros, tf.zeros_like), (tf.ones, tf.ones_like)][value]
    for tensor in (make([300, 500], dtype), like(given)):
        assert tensor._array.ctypes.data % 64 == 0
        assert tensor.dtype is dtype
        np.testing.assert_array_equal(tensor, np.full([300, 500], value, dtype.as_numpy_dtype))
