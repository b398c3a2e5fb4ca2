"""Lists that grow and shrink in loops whose sizes are known only when they are compiled.

`jit_compile=True` refuses what cannot be compiled: so these tell that no loop is left to the host.
"""

import numpy as np
import pytest

import penstock as tf
from penstock import errors

ROWS = np.arange(15, dtype=np.float32).reshape(5, 3) / 7 - 0.8


def states_in_order(x):
    h, t = tf.zeros([3]), 0
    states = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    while t < tf.shape(x)[0]:
        h = tf.tanh(x[t] + h)
        states = states.write(t, h)
        t += 1
    return states.stack()


def every_second(x):
    states = tf.TensorArray(tf.float32, 1, dynamic_size=True, element_shape=[3])
    for t in tf.range(tf.shape(x)[0]):
        states = states.write(2 * t + 1, x[t] * x[t])
    return states.stack()


def from_the_end(x):
    n = tf.shape(x)[0]
    states = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    for t in tf.range(n):
        states = states.write(n - 1 - t, x[t] * 2.0)
    return states.stack()


def reading_what_is_there(x):
    states = tf.TensorArray(tf.float32, 0, dynamic_size=True, clear_after_read=False)
    states = states.write(0, x[0])
    for t in tf.range(1, tf.shape(x)[0]):
        states = states.write(t, tf.sin(states.read(t - 1)) + x[t])
    return states.stack()


def asking_for_the_size(x):
    states = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[3])
    for row in x:
        size = tf.cast(states.size(), tf.float32)
        states = states.write(states.size(), row * size)
    return states.stack()


def two_that_grow(x):
    a = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    b = tf.TensorArray(tf.float32, 2, dynamic_size=True, element_shape=[])
    for t in tf.range(tf.shape(x)[0]):
        a = a.write(t, x[t])
        b = b.write(t + 2, tf.reduce_sum(x[t]))
    return tf.reduce_sum(a.stack(), 1) * b.stack()[2:]


def a_loop_within_a_loop(x):
    rows = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    for t in tf.range(tf.shape(x)[0]):
        inner = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        for k in tf.range(tf.shape(x)[1]):
            inner = inner.write(k, x[t, k] ** 2)
        rows = rows.write(t, inner.stack())
    return rows.stack()


PROGRAMS = [
    states_in_order,
    every_second,
    from_the_end,
    reading_what_is_there,
    asking_for_the_size,
    two_that_grow,
]


def gradient(function, x):
    """The result of a function and its gradient."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = function(x)
        total = tf.reduce_sum(tf.sin(result))
    return result, tape.gradient(total, x)


def curvature(function, x):
    """As `gradient`, and that of the gradient."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        result, found = gradient(function, x)
        total = tf.reduce_sum(tf.cos(found))
    return result, found, tape.gradient(total, x)


def check(derivative, program, count, compiled):
    def run(x):
        return derivative(program, x)

    signature = [tf.TensorSpec([None, None])]
    traced = tf.function(run, input_signature=signature, jit_compile=compiled)
    x = tf.constant(ROWS[:count])
    tf.config.run_functions_eagerly(True)
    try:
        expected = run(x)
    finally:
        tf.config.run_functions_eagerly(False)
    for found, wanted in zip(traced(x), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("count", [5, 1])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_they_are_compiled(program, count):
    check(gradient, program, count, compiled=True)


@pytest.mark.parametrize("program", [*PROGRAMS, a_loop_within_a_loop], ids=lambda p: p.__name__)
def test_second_derivatives(program):
    check(curvature, program, 4, compiled=None)


def test_a_loop_without_rounds_leaves_its_lists_empty():
    @tf.function(input_signature=[tf.TensorSpec([None, 3])], jit_compile=True)
    def run(x):
        states = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[3])
        for t in tf.range(tf.shape(x)[0]):
            states = states.write(t, x[t])
        return states.stack(), states.size()

    stack, size = run(tf.zeros([0, 3]))
    assert stack.shape == (0, 3)
    assert int(size) == 0


def test_an_element_that_is_not_there_yet_is_refused():
    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def run(x):
        states = tf.TensorArray(tf.float32, 1, dynamic_size=True, clear_after_read=False)
        states = states.write(0, x[0])
        total = tf.zeros([3])
        for t in tf.range(tf.shape(x)[0]):
            total += states.read(t)  # written in the round after
            states = states.write(t, x[t])
        return total

    for _ in range(3):
        with pytest.raises(errors.OpError, match="element 1 in a list with 1 element"):
            run(tf.constant(ROWS))


def test_what_the_reverse_asks_of_a_list_is_asked_in_the_round():
    """So that the reverse keeps a number for each round, and not the list."""

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(states_in_order(x) ** 2)
        return tape.gradient(y, x)

    graph = run.get_concrete_function().graph
    loop = next(op for op in graph.get_operations() if op.type == "StatelessWhile")
    pushed = [
        op.inputs[1].dtype
        for op in loop.attrs["body"].graph.get_operations()
        if op.type == "TensorListPushBack"
    ]
    assert pushed
    assert tf.variant not in pushed


@pytest.mark.parametrize("rounds", [1, 3, 4])
def test_elements_of_different_shapes_beside_a_conditional(rounds):
    """The round is compiled in parts: no part may hold the list to the shape that it saw first."""

    @tf.function
    def run(x, n):
        parts = tf.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape=False)
        for i in tf.range(n):
            x = tf.cond(x > 10.0, lambda x=x: x / 2.0, lambda x=x: x * 3.0)
            parts = parts.write(i, tf.fill([i + 1], x))
        return parts.concat()

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = run(x, tf.constant(rounds))
    wanted = [6.0, *[18.0] * 2, *[9.0] * 3, *[27.0] * 4][: len(found)]
    np.testing.assert_allclose(found, wanted)
    np.testing.assert_allclose(tape.gradient(found, x), sum(wanted) / 2.0)
