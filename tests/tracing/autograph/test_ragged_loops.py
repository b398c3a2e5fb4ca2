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


@pytest.mark.parametrize("jit", [None, True])
def test_a_loop_over_no_rows_has_no_round(jit):
    """It was an InvalidArgumentError: JAX refuses a position on an empty axis while it compiles."""

    @tf.function(
        jit_compile=jit,
        input_signature=[tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.int32)],
    )
    def total(x, count):
        with tf.GradientTape() as tape:
            tape.watch(x)
            _, result = tf.while_loop(
                lambda i, s: i < count,
                lambda i, s: (i + 1, s + x[i]),
                [0, 0.0],
                maximum_iterations=3,
            )
        return result, tape.gradient(result, x)

    value, gradient = total(tf.zeros([0]), 0)
    assert (float(value), gradient.shape) == (0.0, [0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="slice index 0 of dimension 0"):
        total(tf.zeros([0]), 1)


def test_a_loop_over_a_ragged_tensor_without_rows_has_no_round():
    @tf.function
    def total(rows):
        result = 0
        for row in rows:
            result += tf.reduce_sum(row)
        return result

    assert int(total(tf.ragged.constant([], ragged_rank=1, dtype=tf.int32))) == 0
