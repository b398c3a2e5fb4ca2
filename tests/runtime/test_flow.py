"""Frames, rounds and dead values: what the operations of the first kind of control flow do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.flow_programs import WIDTH, Builder, run_python, statements

import penstock as tf
from penstock.core.resources import ResourceManager
from penstock.runtime import regions
from penstock.runtime.plan import make_plan
from penstock.runtime.program import build
from penstock.runtime.reference import run_reference

v1 = tf.compat.v1
raw = tf.raw_ops


def run(make, feeds=None):
    with tf.Graph().as_default(), v1.Session() as session:
        return session.run(make(), feeds)


def loop(start, condition, body, frame="loop", parallel=10, invariants=()):
    """A loop over one value; `invariants` are handed to condition and body."""
    enter = raw.Enter(data=start, frame_name=frame, parallel_iterations=parallel)
    held = [raw.Enter(data=i, frame_name=frame, is_constant=True) for i in invariants]
    merge = raw.Merge(inputs=[enter, enter])
    go_on = raw.LoopCond(input=condition(merge.output, *held))
    route = raw.Switch(data=merge.output, pred=go_on)
    inside = tf.identity(route.output_true)
    merge.output.op._update_input(1, raw.NextIteration(data=body(inside, *held)))
    return raw.Exit(data=route.output_false), inside


def within(inside, value):
    """A constant of the round that `inside` belongs to."""
    with tf.control_dependencies([inside]):
        return tf.constant(value)


@given(statements(2), st.lists(st.integers(0, 20), min_size=WIDTH, max_size=WIDTH))
@settings(max_examples=40, deadline=None)
def test_random_programs_agree_with_python_and_with_the_reference(program, start):
    with tf.Graph().as_default(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(regions, "TINY_NODES", 1000)  # regions, but on the host: nothing is compiled
        feeds = [v1.placeholder(tf.int32, []) for _ in start]
        fetches = Builder().run(program, list(feeds))
        expected = run_python(program, list(start))
        given_values = [np.int32(v) for v in start]
        slow = run_reference(
            fetches, dict(zip(feeds, given_values, strict=True)), ResourceManager()
        )
        with v1.Session() as session:
            fast = session.run(fetches, dict(zip(feeds, start, strict=True)))
    assert list(map(int, slow)) == expected
    assert fast == expected


def test_what_dies_together_is_compiled_together():
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [200, 200])

        def body(value):
            return tf.tanh(value @ value) * within(value, 0.5) + value

        def condition(value):
            axes, bound = within(value, [0, 1]), within(value, 0.0)
            return raw.Less(x=raw.Sum(input=value, axis=axes), y=bound)

        out, _ = loop(x, condition, body)
        after = tf.exp(out) + 1.0
        plan = make_plan(build([after], [x], []), ResourceManager())
    assert str(plan).splitlines() == [
        "region Const, Sum, Const_1, Less",
        "region Identity, matmul, Tanh, Const_2, mul, add",
        "region Exp, add_1/y, add_1",
    ]


def test_an_untaken_output_cannot_be_fetched():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Retval\[0\] does not have value"):
        run(lambda: raw.Switch(data=1.0, pred=True).output_false)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Retval\[1\] does not have value"):
        run(lambda: [raw.Switch(data=1.0, pred=False)[i] for i in (0, 1)])


def test_an_untaken_operation_may_be_run():
    assert run(lambda: tf.identity(raw.Switch(data=1.0, pred=True).output_false).op) is None


def test_death_spreads_over_control_edges_but_not_through_triggers_and_merges():
    def make(kind):
        switch = raw.Switch(data=1.0, pred=True)
        dead = tf.identity(switch.output_false)
        with tf.control_dependencies([dead]):
            if kind == "merge":
                return raw.Merge(inputs=[switch.output_true, switch.output_false]).output
            if kind == "plain":
                return tf.identity(switch.output_true)
            trigger = raw.ControlTrigger()
        with tf.control_dependencies([trigger]):
            return tf.constant(5.0) + 1.0

    assert run(lambda: make("merge")) == 1.0
    assert run(lambda: make("trigger")) == 6.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not have value"):
        run(lambda: make("plain"))


def test_merge_says_which_input_came_and_takes_one_of_two():
    assert tuple(run(lambda: raw.Merge(inputs=[raw.Switch(data=3.0, pred=True)[0], 4.0]))) == (4, 1)
    assert run(lambda: raw.Merge(inputs=[1.0, 2.0]).output) in (1.0, 2.0)


def test_a_loop_without_rounds_with_many_and_with_one_at_a_time():
    for turns in (0, 1, 57):
        for parallel in (1, 2, 10):
            out = run(
                lambda n=turns, p=parallel: loop(
                    tf.constant(0), lambda v, n: v < n, lambda v, n: v + within(v, 1), "f", p, [n]
                )[0]
            )
            assert out == turns


def test_effects_of_rounds_come_in_order():
    seen = []

    def note(value):
        seen.append(int(value))
        return value

    def body(value):
        return tf.numpy_function(note, [value], tf.int32) + within(value, 1)

    assert run(lambda: loop(tf.constant(0), lambda v: v < within(v, 6), body, parallel=1)[0]) == 6
    assert seen == list(range(6))


def test_a_dead_loop_ends_dead():
    def make():
        taken = raw.Switch(data=3, pred=v1.placeholder(tf.bool, [], name="p"))
        out, _ = loop(taken.output_true, lambda v: v < within(v, 10), lambda v: v + within(v, 1))
        return raw.Merge(inputs=[taken.output_false, out])

    assert tuple(run(make, {"p:0": True})) == (10, 1)
    assert tuple(run(make, {"p:0": False})) == (3, 0)


def test_values_of_different_frames_do_not_meet():
    def mixed():
        return raw.Enter(data=1.0, frame_name="f") + 1.0

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"inputs from different frames.*'f'"):
        run(mixed)

    def two():
        a, b = (raw.Enter(data=1.0, frame_name=f) for f in "fg")
        return raw.Exit(data=a + b)

    with pytest.raises(tf.errors.InvalidArgumentError, match="inputs from different frames"):
        run(two)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid Exit op"):
        run(lambda: raw.Exit(data=1.0))


def test_an_error_in_a_loop_names_the_operation():
    def body(value):
        wrong = raw.CheckNumerics(tensor=tf.math.log(-value), message="bad", name="inner_check")
        return wrong + tf.cast(within(value, 1), tf.float32)

    with pytest.raises(tf.errors.InvalidArgumentError, match="inner_check"):
        run(lambda: loop(tf.constant(1.0), lambda v: v < within(v, 9.0), body)[0])


def test_in_a_function_and_in_a_loop_of_functions():
    @tf.function(autograph=False)
    def choose(x, p):
        route = raw.Switch(data=x, pred=p)
        return raw.Merge(inputs=[route.output_false * 2, route.output_true * 3]).output

    assert float(choose(tf.constant(2.0), tf.constant(True))) == 6.0
    assert float(choose(tf.constant(2.0), tf.constant(False))) == 4.0

    @tf.function(autograph=False)
    def outer(x):
        def step(i, x):
            return i + 1, choose(x, tf.equal(i % 2, 0))

        return tf.while_loop(lambda i, x: i < 4, step, (0, x))[1]

    assert float(outer(tf.constant(1.0))) == 36.0


def test_a_call_runs_only_where_it_is_alive():
    seen = []

    @tf.function(autograph=False)
    def noisy(x):
        tf.py_function(lambda: seen.append(1), [], [])
        return x + 1.0

    def make(p):
        route = raw.Switch(data=1.0, pred=p)
        return raw.Merge(inputs=[noisy(route.output_true), route.output_false]).output

    assert run(lambda: make(False)) == 1.0
    assert seen == []
    assert run(lambda: make(True)) == 2.0
    assert seen == [1]


def test_eager_operations_hand_on_what_they_get():
    switch = raw.Switch(data=1.5, pred=True)
    assert float(switch.output_true) == 1.5
    assert switch.output_false.shape == (0,)
    assert float(raw.Merge(inputs=[2.0, 3.0]).output) == 2.0
    for op in (raw.Enter, raw.Exit, raw.NextIteration):
        extra = {"frame_name": "f"} if op is raw.Enter else {}
        assert float(op(data=4.0, **extra)) == 4.0
    assert bool(raw.LoopCond(input=True))
    raw.ControlTrigger()
    raw.Abort(exit_without_error=True)
    with pytest.raises(tf.errors.AbortedError, match="stop here"):
        raw.Abort(error_msg="stop here")


def test_shapes():
    with tf.Graph().as_default():
        x = tf.zeros([2, 3])
        assert raw.Enter(data=x, frame_name="f").shape.rank is None
        assert raw.Enter(data=x, frame_name="f", is_constant=True).shape == [2, 3]
        assert raw.Merge(inputs=[x, tf.zeros([2, 4])]).output.shape.as_list() == [2, None]
        assert raw.Merge(inputs=[x, tf.zeros([2])]).output.shape.rank is None
        with pytest.raises(ValueError, match="pred of rank 0"):
            raw.Switch(data=x, pred=[True])
        with pytest.raises(ValueError, match="of rank 0"):
            raw.LoopCond(input=[True])


def test_gradients_within_a_loop_are_refused():
    with tf.Graph().as_default():
        inside = raw.Enter(data=tf.constant(1.0), frame_name="f")
        with pytest.raises(tf.errors.UnimplementedError, match=r"Enter 'Enter'.*leaves the loop"):
            tf.gradients(inside * 2.0, inside.op.inputs[0])


def test_partial_runs_are_refused():
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [])
        out = raw.Merge(inputs=list(raw.Switch(data=x, pred=True))).output
        with pytest.raises(tf.errors.UnimplementedError, match="partial_run"):
            session.partial_run_setup([out], [x])


def test_the_names_of_the_switch_between_kinds():
    assert v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    try:
        assert not v1.control_flow_v2_enabled()
    finally:
        v1.enable_control_flow_v2()
    assert v1.control_flow_v2_enabled()


def test_rewired_inputs_are_consumers():
    with tf.Graph().as_default() as graph:
        loop(tf.constant(0), lambda v: v < within(v, 3), lambda v: v + within(v, 1))
        (merge,) = [op for op in graph.get_operations() if op.type == "Merge"]
        assert merge in merge.inputs[1].consumers()
        assert merge.inputs[0].consumers() == [merge]
        graph.verify()


def test_stacks():
    handle = raw.StackV2(max_size=1, elem_type=tf.float32)
    assert float(raw.StackPushV2(handle=handle, elem=1.0)) == 1.0
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"overflowed its max_size \(1\)"):
        raw.StackPushV2(handle=handle, elem=2.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Type mismatch"):
        raw.StackPopV2(handle=handle, elem_type=tf.int32)
    assert float(raw.StackPopV2(handle=handle, elem_type=tf.float32)) == 1.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="is empty when calling Pop"):
        raw.StackPopV2(handle=handle, elem_type=tf.float32)
    raw.StackCloseV2(handle=handle)
    with pytest.raises(tf.errors.InvalidArgumentError, match="closed"):
        raw.StackPushV2(handle=handle, elem=2.0)


def test_stacks_of_the_first_kind():
    """A reference names the stack (a PenstockStack in the plan); it lives for a step."""
    with tf.Graph().as_default(), v1.Session() as session:
        handle = raw.Stack(elem_type=tf.float32, stack_name="s")
        assert (handle.dtype.name, handle.shape) == ("string_ref", [2])
        inside = raw.RefEnter(data=handle, frame_name="up", is_constant=True)

        def push(v):
            return raw.StackPush(handle=inside, elem=v) + within(v, 1.0)

        end, _ = loop(tf.constant(0.0), lambda v: v < within(v, 3.0), push, frame="up")
        with tf.control_dependencies([end]):
            last = raw.StackPop(handle=handle, elem_type=tf.float32)
        with tf.control_dependencies([last]):
            closed = raw.StackClose(handle=handle)
        with tf.control_dependencies([closed]):
            late = raw.StackPush(handle=handle, elem=1.0)
        for _ in range(2):
            assert session.run([end, last, closed]) == [3.0, 2.0, None]
        with pytest.raises(tf.errors.InvalidArgumentError, match="has already been closed"):
            session.run(late)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Stack\[s\] is empty"):
            session.run(raw.StackPop(handle=handle, elem_type=tf.float32))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Type mismatch: actual int32"):
            session.run(raw.StackPush(handle=handle, elem=1))


def test_a_traced_step_and_one_that_waits_for_a_thread():
    def slow(value):
        return np.int32(value + 1)

    def make():
        first = tf.numpy_function(slow, [1], tf.int32)
        second = tf.numpy_function(slow, [2], tf.int32)
        first.set_shape([]), second.set_shape([])
        return loop(first, lambda v, n: v < n, lambda v, n: v + n, "f", 10, [second * 5])[0]

    with tf.Graph().as_default(), v1.Session() as session:
        fetch = make()
        metadata = v1.RunMetadata()
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        assert session.run(fetch, options=options, run_metadata=metadata) == 17
        names = [s.node_name for d in metadata.step_stats.dev_stats for s in d.node_stats]
    assert any("func" in name.lower() for name in names), names


def test_a_loop_of_nothing_but_rounds_ends_with_its_step():
    with tf.Graph().as_default(), v1.Session() as session:
        start, goes_on = v1.placeholder(tf.int32, []), v1.placeholder(tf.bool, [])
        on = raw.Enter(data=goes_on, frame_name="loop", is_constant=True)
        merge = raw.Merge(inputs=[raw.Enter(data=start, frame_name="loop")] * 2)
        route = raw.Switch(data=merge.output, pred=raw.LoopCond(input=on))
        merge.output.op._update_input(1, raw.NextIteration(data=route.output_true))
        end = raw.Exit(data=route.output_false)
        assert session.run(end, {start: 1, goes_on: False}) == 1
        options = v1.RunOptions(timeout_in_ms=50)
        with pytest.raises(tf.errors.DeadlineExceededError, match="NextIteration"):
            session.run(end, {start: 1, goes_on: True}, options=options)
        assert session.run(end, {start: 2, goes_on: False}) == 2


@pytest.fixture
def first_kind():
    v1.disable_control_flow_v2()
    yield
    v1.enable_control_flow_v2()


def test_predicates_of_the_first_kind_are_scalars(first_kind):
    """A vector of one element is taken by the other kind alone."""

    def chosen(pred):
        return v1.cond(pred, lambda: tf.constant(1.0), lambda: tf.constant(2.0))

    with tf.Graph().as_default(), v1.Session() as session:
        assert session.run(chosen(tf.constant(True))) == 1.0
        with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1"):
            chosen(tf.constant([True]))
        with pytest.raises(TypeError, match="type int32 that does not match"):
            chosen(tf.constant(1))
        pred = v1.placeholder(tf.bool)
        late = chosen(pred)
        assert session.run(late, {pred: False}) == 2.0
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(late, {pred: [True]})
    assert tf.function(lambda: chosen(tf.constant([True])))().numpy() == 1.0
