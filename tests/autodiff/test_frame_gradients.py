"""Gradients through control flow of the first kind: Switch, Merge, Enter, Exit, NextIteration.

Random programs are compared with a tape over the same program in Python; what TensorFlow 2.21 gives
for loops of its own was compared by hand (TensorArrays, reference variables, growing shapes).
"""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from tests.runtime.flow_programs import WIDTH, Builder, statements

import penstock as tf

START = np.array([0.3, -0.8, 1.1])


class Floats(Builder):
    """The same programs over numbers that have derivatives."""

    def _add(self, values, target, source, constant):
        total = values[target] * values[source] + self.constant(np.float64(constant))
        values[target] = tf.sin(total)

    def is_taken(self, value):
        return value > self.constant(np.float64(0.0))

    def bound(self, value, turns):
        return tf.cast(value > self.constant(np.float64(0.0)), tf.int32) + self.constant(turns)


def run_eagerly(program, values):
    for kind, *rest in program:
        if kind == "add":
            target, source, constant = rest
            values[target] = tf.sin(values[target] * values[source] + float(constant))
        elif kind == "if":
            index, first, second = rest
            run_eagerly(first if values[index] > 0.0 else second, values)
        else:
            index, turns, body = rest
            for _ in range(turns + int(values[index] > 0.0)):
                run_eagerly(body, values)
    return values


def expected(program):
    start = [tf.constant(v, tf.float64) for v in START]
    with tf.GradientTape() as tape:
        tape.watch(start)
        total = tf.add_n([v * (i + 1.0) for i, v in enumerate(run_eagerly(program, [*start]))])
    return [float(g) for g in tape.gradient(total, start, unconnected_gradients="zero")]


def check(program):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        start = [tf.compat.v1.placeholder(tf.float64, []) for _ in range(WIDTH)]
        ends = Floats().run(program, [*start])
        total = tf.add_n([v * (i + 1.0) for i, v in enumerate(ends)])
        found = tf.gradients(total, start, unconnected_gradients="zero")
        got = session.run(found, dict(zip(start, START, strict=True)))
    np.testing.assert_allclose(got, expected(program), rtol=1e-9, atol=1e-12)


@given(statements(2))
@settings(max_examples=5, deadline=None)
def test_random_programs_have_the_gradients_of_a_tape(program):
    check(program)


def test_a_loop_in_a_branch_of_a_loop():
    """What the inner loop keeps is a list, which the outer one keeps in rounds that have it."""
    inner = ("while", 2, 2, [("add", 0, 2, 1)])
    check([("while", 0, 2, [("if", 1, [inner], [("add", 0, 0, 1), inner]), ("add", 1, 0, 2)])])


def loop(x, rounds, step, shared=()):
    """`step(v, *shared)` some times over, with the operations of the first kind."""
    entered = [tf.raw_ops.Enter(data=s, frame_name="f", is_constant=True) for s in shared]
    limit = tf.raw_ops.Enter(data=tf.constant(rounds), frame_name="f", is_constant=True)
    starts = [tf.raw_ops.Enter(data=v, frame_name="f") for v in (tf.constant(0), x)]
    merges = [tf.raw_ops.Merge(inputs=[s, s]).output for s in starts]
    going = tf.raw_ops.LoopCond(input=merges[0] < limit)
    routed = [tf.raw_ops.Switch(data=m, pred=going) for m in merges]
    number, value = (tf.identity(r.output_true) for r in routed)
    with tf.control_dependencies([number]):
        nexts = [number + 1, step(value, *entered)]
    for merge, after in zip(merges, nexts, strict=True):
        merge.op._update_input(1, tf.raw_ops.NextIteration(data=after))
    return tf.raw_ops.Exit(data=routed[1].output_false)


def branch(taken, x, on_false, on_true):
    routed = tf.raw_ops.Switch(data=x, pred=taken)
    ends = [on_false(routed.output_false), on_true(routed.output_true)]
    return tf.raw_ops.Merge(inputs=ends).output


@pytest.mark.parametrize("start", [0.5, -0.5])
def test_derivatives_of_any_order(start):
    def powers(x):
        both = branch(x > 0.0, x, lambda v: v**3, lambda v: loop(v, 3, lambda a, w: a * w, [v]))
        return loop(both, 2, lambda v: v * v)

    orders = []
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = y = tf.compat.v1.placeholder(tf.float64, [])
        y = powers(x)
        for _ in range(3):
            (y,) = tf.gradients(y, x)
            orders.append(y)
        got = session.run(orders, {x: start})
    power = 16.0 if start > 0.0 else 12.0
    want = [power * start ** (power - 1)]
    want.append(want[0] * (power - 1) / start)
    want.append(want[1] * (power - 2) / start)
    np.testing.assert_allclose(got, want, rtol=1e-9)


def test_variables_inside_get_sums_over_rounds():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        v = tf.Variable(3.0, dtype=tf.float64)

        def step(value, handle):
            taken = value < 20.0
            inner = tf.raw_ops.Switch(data=handle, pred=taken)
            read = tf.raw_ops.ReadVariableOp(resource=inner.output_true, dtype=tf.float64)
            return branch(taken, value, lambda a: a + 1.0, lambda a: a * read)

        y = loop(tf.constant(1.0, tf.float64), 4, step, [v.handle])
        (grad,) = tf.gradients(y, [v.handle])
        session.run(v.initializer)
        assert session.run([y, grad]) == [28.0, 27.0]  # 3**3 + 1


def test_no_rounds_and_values_that_pass_by():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [2])
        y = loop(x * 3.0, 0, lambda v: v * v)
        assert session.run(tf.gradients(y, x), {x: [1.0, 2.0]})[0].tolist() == [3.0, 3.0]


def test_the_loop_still_gives_what_it_gave_and_two_gradients_share_what_it_keeps():
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [])
        y = loop(x, 3, lambda v, w: v * w, [x])
        before = session.run(y, {x: 2.0})
        (first,) = tf.gradients(y, x)
        count = sum(op.type == "Enter" for op in graph.get_operations())
        (second,) = tf.gradients(y * 2.0, x)
        assert sum(op.type == "Enter" for op in graph.get_operations()) == count
        assert session.run([y, first, second], {x: 2.0}) == [before, 32.0, 64.0]


def test_a_value_that_leaves_a_loop_twice():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [])
        first = loop(x, 2, lambda v: v * v)
        second = tf.raw_ops.Exit(data=first.op.inputs[0])
        found = [tf.gradients(y, x)[0] for y in (first, second, first + 2.0 * second)]
        found.append(tf.gradients(found[1], x)[0])
        assert session.run(found, {x: 2.0}) == [32.0, 32.0, 96.0, 48.0]


def test_a_graph_def_with_a_gradient_goes_there_and_back():
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [], name="x")
        y = loop(branch(x > 0.0, x, tf.negative, tf.exp), 2, lambda v: v * v)
        tf.identity(tf.gradients(y, x)[0], name="grad")
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.graph_util.import_graph_def(graph.as_graph_def(), name="")
        assert session.run("grad:0", {"x:0": -2.0}) == -32.0


def test_what_is_known_of_loops_goes_with_their_graph():
    def graph_with_gradients():
        with tf.Graph().as_default() as graph:
            x = tf.constant(2.0)
            tf.gradients(branch(x > 0.0, x, tf.negative, lambda v: loop(v, 2, tf.sin)), x)
        return weakref.ref(graph)

    graph = graph_with_gradients()
    gc.collect()
    assert graph() is None


def test_what_has_no_gradient_says_so():
    def step(value):
        return branch(value > 0.5, value, lambda a: a + 1.0, lambda a: a * a)

    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [])
        (first,) = tf.gradients(loop(x, 3, step), x)
        with pytest.raises(tf.errors.UnimplementedError, match=r"tf\.while_loop and tf\.cond"):
            tf.gradients(first, x)
