"""`tf.math.bincount` counts the whole parts of what is no integer, in each of its forms."""

import numpy as np
import pytest

import penstock as tf

NUMBERS = [1, 2, 2, 0, 1]


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int32", "int64"])
def test_values_of_other_dtypes(dtype, wrap):
    x = tf.cast(NUMBERS, dtype)

    def each(**arguments):
        return wrap(lambda: tf.math.bincount(x, **arguments))()

    np.testing.assert_array_equal(each(), [1, 2, 2])
    np.testing.assert_array_equal(each(axis=-1, minlength=4, maxlength=4), [1, 2, 2, 0])
    np.testing.assert_array_equal(each(weights=tf.fill([5], 0.5)), [0.5, 1, 1])
    np.testing.assert_array_equal(each(axis=0, binary_output=True), [1, 1, 1])
    rows = wrap(lambda: tf.math.bincount(tf.reshape(x, [1, -1]), axis=-1))()
    np.testing.assert_array_equal(rows, [[1, 2, 2]])


def test_whole_parts_and_truth_values():
    np.testing.assert_array_equal(tf.math.bincount(tf.constant([1.7, 2.0]), axis=-1), [0, 1, 1])
    truths = tf.constant([[True, False, True]])
    np.testing.assert_array_equal(tf.math.bincount(truths, axis=-1), [[1, 2]])
    weighted = tf.math.bincount([[1.0, 2.0]], weights=[[0.5, 0.25]], axis=-1)
    np.testing.assert_array_equal(weighted, [[0, 0.5, 0.25]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-negative"):
        tf.math.bincount(tf.constant([-1.0]), minlength=2, maxlength=2, axis=-1)


def test_ragged_and_sparse_values():
    ragged = tf.ragged.constant([[1.0, 2.0], [1.0]])
    np.testing.assert_array_equal(tf.math.bincount(ragged, axis=-1), [[0, 1, 1], [0, 1, 0]])
    np.testing.assert_array_equal(tf.math.bincount(ragged), [0, 2, 1])
    sparse = tf.sparse.from_dense([[1.0, 2.0], [1.0, 0.0]])
    np.testing.assert_array_equal(tf.math.bincount(sparse, axis=-1), [[0, 1, 1], [0, 1, 0]])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32"])
def test_other_integers_are_refused(dtype):
    with pytest.raises(tf.errors.InvalidArgumentError, match=dtype):
        tf.math.bincount(tf.cast(NUMBERS, dtype))


@pytest.mark.parametrize("dtype", [tf.uint8, tf.int8, tf.uint16, tf.uint32, tf.uint64])
def test_ragged_rows_of_types_that_are_not_counted(dtype):
    rows = tf.ragged.constant([[1], [2, 1]], dtype=dtype)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Tidx"):
        tf.math.bincount(rows, axis=-1)
