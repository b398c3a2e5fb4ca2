"""`for` over the rows of a ragged tensor in a function; results were seen in TensorFlow 2.21."""

import numpy as np
import pytest

import penstock as tf

ROWS = [[1.0], [], [2.0, 3.0], [5.0], [1.0]]


def test_rows_with_continue_and_break():
    @tf.function
    def f(x):
        total, count = 0.0, 0
        for row in x:
            if tf.size(row) == 0:
                continue
            if row[0] > 4.0:
                break
            total += tf.reduce_sum(row)
            count += 1
        return total, count

    total, count = f(tf.ragged.constant(ROWS))
    assert (float(total), int(count)) == (6.0, 2)


@pytest.mark.parametrize("splits", [tf.int32, tf.int64])
def test_rows_of_rows_and_gradients(splits):
    x = tf.ragged.constant([[[1.0]], [[2.0, 3.0], []], []], row_splits_dtype=splits)

    @tf.function
    def f(x, w):
        total = 0.0
        for rows in x:
            for row in rows:
                for value in row:
                    total += value * w
        return total

    with tf.GradientTape() as tape:
        w = tf.Variable(2.0)
        y = f(x, w)
    assert (float(y), float(tape.gradient(y, w))) == (12.0, 6.0)


def test_one_trace_serves_any_number_of_rows():
    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])
    def f(x):
        found = tf.TensorArray(tf.float32, 0, True, infer_shape=False, element_shape=[None])
        i = 0
        for row in x:
            found = found.write(i, row + 1.0)
            i = i + 1  # enumerate would run in Python
        return found.concat()

    for rows in (ROWS, ROWS[:1], ROWS[2:]):
        np.testing.assert_array_equal(f(tf.ragged.constant(rows)), np.concatenate(rows) + 1)
    assert f.experimental_get_tracing_count() == 1
