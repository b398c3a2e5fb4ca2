"""Each converted construct: run eagerly == traced == on the reference executor."""

import numpy as np
import pytest
from tests.tracing.autograph.programs import CASES

import penstock as tf


def run(function, arguments):
    result = function(*(tf.constant(a) for a in arguments))
    return [np.asarray(v) for v in tf.nest.flatten(result)]


def names(value):
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize(("function", "arguments"), CASES, ids=names)
def test_eager_is_traced_is_reference(function, arguments, monkeypatch):
    traced = run(tf.function(function), arguments)
    monkeypatch.setenv("PENSTOCK_EXECUTOR", "reference")
    reference = run(tf.function(function), arguments)
    tf.config.run_functions_eagerly(True)
    try:
        eager = run(tf.function(function), arguments)
    finally:
        tf.config.run_functions_eagerly(False)
    assert len(traced) == len(reference) == len(eager)
    for a, b, c in zip(traced, reference, eager, strict=True):
        np.testing.assert_allclose(a, c, rtol=1e-6)
        np.testing.assert_allclose(b, c, rtol=1e-6)


@pytest.mark.parametrize(("function", "arguments"), CASES[:1] + CASES[-3:], ids=names)
def test_the_graph_decides_when_it_runs(function, arguments):
    """One trace serves all values."""
    traced = tf.function(function)
    run(traced, arguments)
    run(traced, [a + 1 for a in arguments])
    assert traced.experimental_get_tracing_count() == 1


def test_a_named_exception_is_converted():
    """The library alone reads the name as a node, and gave up on such functions."""

    def function(x):
        try:
            if x > 0:
                x = -x
        except ValueError as problem:
            raise RuntimeError from problem
        return x

    source = tf.autograph.to_code(function)
    assert "except ValueError as problem:" in source
    assert float(tf.function(function)(tf.constant(3.0))) == -3.0


def first_is_kept(rows):
    found = None
    for row in rows:
        if found is None or row > found:
            found = row
    return found


def first_opens(rows):
    state = None
    for row in rows:
        state = tf.ones([2]) if state is None else state * row
    return state


def first_alone_gives(rows):
    found = None
    for row in rows:
        if found is None:
            found = row + 1.0
    return found


def constants_differ(rows):
    found = None
    for _ in rows:
        found = tf.constant(3.0) if found is None else tf.constant(5.0)
    return found


def with_jumps(rows):
    total = None
    for row in rows:
        if total is None:
            total = row
            continue
        if row > 5.0:
            break
        total = total + row
    return total


def counted_by_hand(rows):
    total = None
    i = tf.constant(0)
    while i < tf.shape(rows)[0]:
        total = rows[i] if total is None else total * rows[i]
        i += 1
    return total


ASKING = [
    first_is_kept, first_opens, first_alone_gives, constants_differ, with_jumps, counted_by_hand,
]  # fmt: skip


@pytest.mark.parametrize("function", ASKING, ids=names)
@pytest.mark.parametrize("rows", [[-3.0], [-3.0, -1.0, -2.0], [1.0, 2.0, 7.0, 3.0]], ids=str)
@pytest.mark.parametrize("jit", [None, True], ids=["", "jit"])
def test_the_first_round_may_find_none(function, rows, jit):
    """Such a round is the first alone, as in Python."""
    signature = [tf.TensorSpec([None], tf.float32)]
    traced = tf.function(function, input_signature=signature, jit_compile=jit)
    expected = np.asarray(function(tf.constant(rows)))
    np.testing.assert_allclose(np.asarray(traced(tf.constant(rows))), expected, rtol=1e-6)


def test_a_loop_whose_first_round_finds_none_has_to_run():
    traced = tf.function(first_is_kept, input_signature=[tf.TensorSpec([None], tf.float32)])
    with pytest.raises(tf.errors.InvalidArgumentError, match="to initialize found"):
        traced(tf.zeros([0]))


def test_a_loop_over_a_dataset_may_find_none_first():
    traced = tf.function(first_is_kept)
    assert int(traced(tf.data.Dataset.from_tensor_slices([-3, -1, -2]))) == -1


def test_gradients_flow_through_the_round_that_finds_none():
    def chain(rows):
        with tf.GradientTape() as tape:
            tape.watch(rows)
            state = None
            for row in rows:
                state = tf.tanh(row) if state is None else tf.tanh(row + 2.0 * state)
        return tape.gradient(state, rows)

    rows = tf.constant([0.1, 0.2, 0.3])
    np.testing.assert_allclose(tf.function(chain)(rows), chain(rows), rtol=1e-6)
