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


SMALL, LARGE = tf.constant(5.0), tf.constant(7.0)


def same_work_of_rows_and_of_results(rows):
    found = None
    for row in rows:
        found = row * 2.0 if found is None else found * 2.0
    return found


def same_work_with_other_captures(rows):
    found = None
    for row in rows:
        found = row - SMALL if found is None else row - LARGE
    return found


def same_work_of_lists(rows):
    found = None
    for row in rows:
        if found is None:
            found = tf.reduce_sum([row, SMALL])
        else:
            found = tf.reduce_sum([row, found])
    return found


def same_work_in_other_order(rows):
    found = None
    for row in rows:
        found = row - SMALL if found is None else SMALL - row
    return found


def no_work_at_all(rows):
    found = None
    for row in rows:
        found = row if found is None else found
    return found


def other_captures_alone(rows):
    found = None
    for _ in rows:
        found = SMALL if found is None else LARGE
    return found


def other_variable_is_left(rows):
    found, low, high = None, tf.constant(1.0), tf.constant(2.0)
    for row in rows:
        one, two = row * low, row * high
        if found is None:
            low, high, found = one, two, row
        else:
            low, high, found = two, one, row
    return low - 3.0 * high


def other_attributes(rows):
    found = None
    for row in rows:
        two = tf.stack([row, row + 1.0])
        if found is None:
            found = tf.cumsum(two)[0]
        else:
            found = tf.cumsum(two, reverse=True)[0]
    return found


def differs_inside_of_a_branch(rows):
    found = None
    for row in rows:
        inner = row
        if row > -2.0:
            inner = row * SMALL if found is None else row * LARGE
        found = inner
    return found


def other_loops_inside(rows):
    found = None
    for row in rows:
        inner = row
        for _ in tf.range(2):
            inner = inner - SMALL if found is None else SMALL - inner
        found = inner
    return found


ASKING = [
    first_is_kept, first_opens, first_alone_gives, constants_differ, with_jumps, counted_by_hand,
    same_work_of_rows_and_of_results, same_work_with_other_captures, same_work_of_lists,
    same_work_in_other_order, no_work_at_all, other_captures_alone, other_variable_is_left,
    other_attributes, differs_inside_of_a_branch, other_loops_inside,
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


WEIGHT = tf.Variable(2.0)


@tf.function
def weighed(x):
    return x * WEIGHT + SMALL


def only_assigns(rows):
    found = None
    for row in rows:
        found = row * 2.0
    return found


def only_assigns_what_variables_give(rows):
    found = None
    for row in rows:
        found = weighed(row) * WEIGHT
    return found


def only_assigns_in_branches(rows):
    found = None
    i = tf.constant(0)
    while i < 3:
        if rows[i] > 0.0:
            found = rows[i] * WEIGHT
        else:
            found = SMALL * WEIGHT
        i += 1
    return found


@pytest.mark.parametrize(
    ("function", "conditionals"),
    [(only_assigns, 0), (only_assigns_what_variables_give, 0), (only_assigns_in_branches, 1)],
    ids=names,
)
def test_rounds_that_do_not_ask_are_there_once(function, conditionals):
    traced = tf.function(function, input_signature=[tf.TensorSpec([None], tf.float32)])
    graph = traced.get_concrete_function().graph
    (loop,) = (op for op in graph.get_operations() if "While" in op.type)
    operations = loop.attrs["body"].graph.get_operations()
    assert sum("If" in op.type for op in operations) == conditionals
    rows = tf.constant([1.0, -2.0, 3.0])
    np.testing.assert_allclose(traced(rows), function(rows), rtol=1e-6)


def rows_that_grow(rows):
    found = None
    for row in rows:
        tf.autograph.experimental.set_loop_options(shape_invariants=[(found, [None])])
        found = row[None] if found is None else tf.concat([found, row[None]], 0)
    return found


def two_that_grow(rows):
    line, table = None, None
    for row in rows:
        tf.autograph.experimental.set_loop_options(
            shape_invariants=[(line, [None]), (table, tf.TensorShape([None, 2]))]
        )
        pair = tf.stack([row, -row])[None]
        line = row[None] if line is None else tf.concat([line, row[None]], 0)
        table = pair if table is None else tf.concat([table, pair], 0)
    return tf.concat([line[:, None], table], 1)


@pytest.mark.parametrize("function", [rows_that_grow, two_that_grow], ids=names)
def test_shape_invariants_reach_variables_that_start_as_none(function):
    traced = tf.function(function, input_signature=[tf.TensorSpec([None], tf.float32)])
    rows = tf.constant([1.0, 2.0, 3.0])
    np.testing.assert_allclose(traced(rows), function(rows))


def test_shape_invariants_that_do_not_fit_leave_variables_that_start_as_none():
    def function(rows):
        found = None
        for row in rows:
            tf.autograph.experimental.set_loop_options(shape_invariants=[(found, [None, 3])])
            found = row[None] if found is None else tf.concat([found, row[None]], 0)
        return found

    with pytest.raises(ValueError, match="'found' has shape"):
        tf.function(function)(tf.constant([1.0, 2.0]))


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
