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
