"""Loops within loops, compiled: a round of the outer one must see its own counter inside."""

import penstock as tf


def test_an_inner_loop_up_to_the_outer_counter():
    @tf.function
    def total(n):
        def inner(i, s):
            return tf.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s + j), (0, s))[1]

        return tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, inner(i, s)), (0, n))[1]

    assert int(total(tf.constant(4))) == 4 + 0 + 1 + 3


def test_a_loop_whose_inputs_are_all_known():
    """Its bodies are not run on the host while the region around it is traced."""

    @tf.function
    def total(x):
        def body(i, s):
            return i + 1, tf.cond(tf.equal(i, 3), lambda: s, lambda: s + i)

        return x + tf.while_loop(lambda i, s: i < 5, body, (tf.constant(0), tf.constant(0)))[1]

    assert int(total(tf.constant(100))) == 100 + 0 + 1 + 2 + 4
