"""Effects in program order and nothing more; gradients through functions, to any order."""

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.tracing.concrete import plan_of

# ---- automatic control dependencies --------------------------------------------------------------


def _waits(concrete):
    """By type and number of an operation with effects, those that it waits for."""
    ops = [
        op for op in concrete.graph.get_operations() if "Variable" in op.type or "Print" in op.type
    ]
    names = {op: f"{op.type}{i}" for i, op in enumerate(ops)}
    return {names[op]: sorted(names[c] for c in op.control_inputs if c in names) for op in ops}


def test_writes_wait_for_earlier_reads_and_writes_of_their_variable() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def f():
        first = v.read_value()
        second = v.read_value()
        v.assign(5.0, read_value=False)
        v.assign_add(1.0, read_value=False)
        return first + second + v.read_value()

    waits = _waits(f.get_concrete_function())
    assert waits == {
        "ReadVariableOp0": [],
        "ReadVariableOp1": [],
        "AssignVariableOp2": ["ReadVariableOp0", "ReadVariableOp1"],
        "AssignAddVariableOp3": ["AssignVariableOp2"],
        "ReadVariableOp4": ["AssignAddVariableOp3"],
    }
    assert float(f()) == 8.0


def test_other_variables_are_not_waited_for() -> None:
    a, b = tf.Variable(1.0), tf.Variable(2.0)

    @tf.function
    def f():
        a.assign(2.0, read_value=False)
        b.assign(3.0, read_value=False)
        return a.read_value() * b.read_value()

    waits = _waits(f.get_concrete_function())
    assert waits["AssignVariableOp1"] == []
    assert waits["ReadVariableOp2"] == ["AssignVariableOp0"]
    assert waits["ReadVariableOp3"] == ["AssignVariableOp1"]
    assert float(f()) == 6.0


def test_what_has_no_effect_is_pruned_and_nothing_is_ordered_by_it() -> None:
    v = tf.Variable(tf.ones([64, 64]))

    @tf.function
    def f(x):
        tf.matmul(x, x)
        v.assign(x, read_value=False)
        return x + 1.0

    concrete = f.get_concrete_function(tf.TensorSpec([64, 64], tf.float32))
    plan = str(plan_of(concrete.body))
    assert "MatMul" not in plan
    assert "Assign" in plan
    assert all(not op.control_inputs for op in concrete.graph.get_operations())


def test_calls_and_branches_are_ordered_by_what_they_touch() -> None:
    a, b = tf.Variable(0.0), tf.Variable(0.0)

    @tf.function
    def bump(v):
        v.assign(v * 2.0 + 1.0)

    @tf.function
    def f(flag):
        a.assign(1.0)
        tf.cond(flag, lambda: a.assign_add(1.0), lambda: a.assign_sub(1.0))
        bump(a)
        bump(b)
        tf.while_loop(lambda i: i < 3, lambda i: (i + int(b.assign_add(1.0) is not None),), [0])
        return a.read_value(), b.read_value()

    assert [float(t) for t in f(tf.constant(True))] == [5.0, 4.0]
    assert [float(t) for t in f(tf.constant(False))] == [1.0, 12.0]


def test_prints_keep_their_order(capfd) -> None:
    @tf.function
    def f(n):
        tf.print("one")
        inner(n)
        tf.print("three")

    @tf.function
    def inner(n):
        tf.print("two", n)

    f(tf.constant(7))
    assert capfd.readouterr().err.split("\n")[:3] == ["one", "two 7", "three"]


# ---- gradients -----------------------------------------------------------------------------------


def _body(x):
    return tf.sin(x) * x**3.0


@tf.custom_gradient
def _clipped(x):
    def gradient(upstream):
        return tf.clip_by_value(upstream, -2.0, 2.0) * tf.cos(x)

    return tf.sin(x), gradient


@tf.function
def _pair(x):
    return {"a": _body(x), "b": (tf.exp(x), 3)}


PROGRAMS = {
    "plain": _body,
    "call": lambda x: tf.function(_body)(x) + x,
    "calls": lambda x: tf.function(lambda y: tf.function(_body)(y) * y)(x),
    "branch": lambda x: tf.cond(x > 0.0, lambda: _body(x), lambda: -x),
    "loop": lambda x: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), (0, x))[1],
    "custom": lambda x: _clipped(x) * x,
    "recomputed": lambda x: tf.recompute_grad(_body)(x) * x,
    "structure": lambda x: _pair(x)["a"] * _pair(x)["b"][0],
    "stopped": lambda x: tf.stop_gradient(_body(x)) * x,
}


def _derivatives(function, at, order):
    x = tf.constant(at)
    if order == 0:
        return function(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = _derivatives_of(function, x, order - 1)
    return tape.gradient(y, x)


def _derivatives_of(function, x, order):
    if order == 0:
        return function(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = _derivatives_of(function, x, order - 1)
    return tape.gradient(y, x)


def _coupled(x):
    """Two variables of one loop, as values of operations after it."""
    _, a, b = tf.while_loop(
        lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * x * b, b * a), (0, x, x)
    )
    return a * 1.0, b * 1.0


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_gradient_of_one_of_several_values_of_a_loop(which, order) -> None:
    staged = tf.function(_coupled)
    expected = _derivatives(lambda x: _coupled(x)[which], 0.9, order)
    got = _derivatives(lambda x: staged(x)[which], 0.9, order)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_tapes_outside_and_inside_agree_with_eager(name) -> None:
    program = PROGRAMS[name]
    staged = tf.function(program)
    for order in (0, 1, 2):
        eager = _derivatives(program, 1.3, order)
        outside = _derivatives(staged, 1.3, order)
        within = tf.function(lambda: _derivatives(program, 1.3, order))()  # noqa: B023
        for got in (outside, within):
            np.testing.assert_allclose(_zero(got), _zero(eager), rtol=1e-5, err_msg=str(order))


def _zero(value) -> Any:
    """No gradient at all, which one mode may see where another computes zero, counts as zero."""
    return 0.0 if value is None else value.numpy()


def test_a_function_whose_gradient_is_recomputed_keeps_no_intermediate_values() -> None:
    def deep(x):
        for _ in range(5):
            x = tf.tanh(x) * x
        return x

    plain, recomputed = tf.function(deep), tf.function(tf.recompute_grad(deep))
    x = tf.constant([0.5, 0.7])
    kept = []
    for function in (plain, recomputed):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        kept.append((tape.gradient(y, x).numpy(), _saved(function.get_concrete_function(x))))
    np.testing.assert_allclose(kept[0][0], kept[1][0], rtol=1e-6)
    assert kept[1][1] == 0 < kept[0][1]


def _saved(concrete):
    """How many values the forward call gives beside its own outputs."""
    body = concrete.body
    view = body.backward["forward", False]
    return len(view.outputs) - len(body.outputs)


def test_the_reverse_is_one_executable() -> None:
    function = tf.function(lambda x: tf.reduce_sum(tf.tanh(tf.matmul(x, x)) * x))
    x = tf.ones([64, 64])
    for _ in range(3):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        tape.gradient(y, x)
    body = function.get_concrete_function(x).body
    view = body.backward["forward", False]
    reverses = [kept.body for kept in view.backward.values() if hasattr(kept, "body")]
    ran = [b for b in [view, *reverses] if b.plan is not None]
    assert [len(b.plan.items) for b in ran] == [1, 1]
    assert [b.plan.compiled_count for b in ran] == [1, 1]


def test_gradients_of_variables_through_functions() -> None:
    v, w = tf.Variable(2.0), tf.Variable(3.0, trainable=False)

    @tf.function
    def f(x):
        return v * w * x

    with tf.GradientTape() as tape:
        y = f(tf.constant(5.0))
    assert float(tape.gradient(y, v)) == 15.0
    concrete = f.get_concrete_function(tf.constant(5.0))
    assert {id(u) for u in concrete.variables} == {id(v), id(w)}
    assert [u is v for u in concrete.trainable_variables] == [True]


def test_functions_in_a_session_and_through_a_message() -> None:
    inner = tf.function(_body)

    @tf.function
    def outer(x):
        y = tf.cond(x > 0.0, lambda: inner(x), lambda: -x)
        return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + inner(x)), (0, y))[1]

    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [], name="x")
        y = tf.identity(outer(x), name="y")
        slope = tf.identity(tf.gradients(y, x)[0], name="slope")
        wanted = session.run([y, slope], {x: 1.3})
    message = graph.as_graph_def()
    assert len(message.library.function) >= 4
    np.testing.assert_allclose(wanted[0], float(outer(tf.constant(1.3))), rtol=1e-6)
    np.testing.assert_allclose(wanted[1], float(_derivatives(outer, 1.3, 1)), rtol=1e-5)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        read = tf.import_graph_def(message, name="", return_elements=["y:0", "slope:0"])
        np.testing.assert_allclose(session.run(read, {"x:0": 1.3}), wanted, rtol=1e-6)


def test_control_inputs_that_are_no_tensors_are_passed_over():
    v = tf.Variable(1.0)

    @tf.function
    def f():
        with tf.control_dependencies(["x"]), tf.control_dependencies({"a": v.assign_add(1.0)}):
            return v.read_value()

    assert f().numpy() == 2.0
