"""What variables of `compat.v1` have beyond those of the second generation."""

import subprocess
import sys

import pytest

import penstock as tf

v1 = tf.compat.v1


def test_the_initialized_value_is_the_value_once_there_is_one():
    with tf.Graph().as_default(), v1.Session() as session:
        first = v1.Variable(2.0)
        second = v1.Variable(first.initialized_value() * 3.0)
        session.run(second.initializer)
        assert session.run(second) == 6.0
        assert session.run(first.initialized_value()) == 2.0
        session.run(first.initializer)
        session.run(first.assign(5.0))
        assert session.run(first.initialized_value()) == 5.0


def test_eagerly_there_is_no_initialized_value():
    for variable in (v1.Variable(2.0), tf.Variable(2.0)):
        with pytest.raises(NotImplementedError, match="initial_value or read_value"):
            variable.initialized_value()


def test_a_caching_device_reads_once_on_the_variables_device_and_keeps_the_value_there():
    with tf.Graph().as_default() as graph, graph.device("/cpu:1"):
        variable = v1.Variable(2.0, name="v", caching_device="/cpu:0")
        doubled = variable + variable
    read, kept = doubled.op.inputs[0].op.inputs[0].op, doubled.op.inputs[0].op
    assert (read.name, read.device) == ("v/Read/ReadVariableOp", "/device:CPU:1")
    assert (kept.name, kept.device) == ("v/Read/Identity", "/device:CPU:0")
    assert doubled.op.inputs[1] is doubled.op.inputs[0]


@pytest.mark.parametrize(
    ("device", "error"),
    [("nonsense", ValueError), (5, ValueError), (b"/cpu:0", ValueError), (str, RuntimeError)],
)
def test_an_eager_variable_refuses_a_caching_device_that_is_none(device, error):
    for make in (tf.Variable, v1.Variable):
        with pytest.raises(error):
            make(1.0, caching_device=device)
    assert tf.Variable(1.0, caching_device="/cpu:0").numpy() == 1.0


PROGRAM = """
import penstock.compat.v1 as tf
assert tf.resource_variables_enabled()
tf.disable_v2_behavior()
assert not tf.resource_variables_enabled()
tf.enable_resource_variables()
assert tf.resource_variables_enabled()
tf.enable_v2_behavior()
assert tf.resource_variables_enabled() and tf.executing_eagerly()
"""


def test_the_first_generation_asks_for_no_resource_variables():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


@pytest.mark.parametrize("size", [3, 40_000])
def test_a_handle_that_waits_makes_its_users_wait(size):
    with tf.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", [size], initializer=v1.zeros_initializer(), use_resource=True)
        session.run(v.initializer)
        with tf.control_dependencies([v.assign_add(tf.ones([size]), read_value=False)]):
            handle = tf.identity(v.handle)
        first = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
        with tf.control_dependencies([first]):
            again = tf.identity(handle)
        grown = tf.raw_ops.AssignAddVariableOp(resource=again, value=tf.fill([size], 10.0))
        with tf.control_dependencies([grown]):
            last = tf.identity(again)
        second = tf.raw_ops.ReadVariableOp(resource=tf.identity(last), dtype=tf.float32)
        for start in (0, 11, 22):
            a, b = session.run([first, second])
            assert (a[0], b[-1]) == (start + 1, start + 11)
        session.run(last)
        assert session.run(v)[0] == 44.0


def test_functions_order_what_uses_a_handle_past_identities():
    v = tf.Variable([1.0, 2.0])

    def add_through(handle):
        tf.raw_ops.AssignAddVariableOp(resource=tf.identity(handle), value=[1.0, 1.0])

    @tf.function
    def step():
        handle = tf.identity(v.handle)
        before = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
        v.assign_add([10.0, 10.0])
        tf.function(add_through)(v.handle)
        return before, tf.raw_ops.ReadVariableOp(resource=tf.identity(handle), dtype=tf.float32)

    assert [t.numpy().tolist() for t in step()] == [[1.0, 2.0], [12.0, 13.0]]
    assert [t.numpy().tolist() for t in step()] == [[12.0, 13.0], [23.0, 24.0]]


@pytest.mark.parametrize("shape", [None, [None]])
def test_a_reference_variable_needs_a_value_of_known_shape(shape):
    with tf.Graph().as_default():
        value = v1.placeholder_with_default([1.0, 2.0], shape)
        for options in ({}, {"shape": [2]}):
            with pytest.raises(ValueError, match="pass validate_shape=False"):
                v1.Variable(value, use_resource=False, **options)
        assert not v1.Variable(value, use_resource=True).shape.is_fully_defined()
        assert v1.Variable(value, use_resource=False, validate_shape=False).shape.rank is None


def test_only_a_reference_variable_counts_as_true_in_a_graph():
    with tf.Graph().as_default():
        assert v1.Variable(0.0, use_resource=False)
        with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
            bool(v1.Variable(1.0, use_resource=True))


def test_only_a_reference_variable_takes_a_value_of_any_shape():
    with tf.Graph().as_default(), v1.Session() as session:
        reference, resource = (v1.Variable([1.0, 2.0], use_resource=u) for u in (False, True))
        taken = v1.assign(reference, [1.0, 2.0, 3.0], validate_shape=False)
        assert session.run(taken).tolist() == [1, 2, 3]
        with pytest.raises(ValueError, match="Shape mismatch"):
            v1.assign(resource, [1.0, 2.0, 3.0], validate_shape=False)


def test_the_check_of_a_single_variable_is_a_scalar():
    with tf.Graph().as_default(), v1.Session() as session:
        v = v1.Variable([1.0])
        session.run(v.initializer)
        assert session.run(v1.assert_variables_initialized([v])) == 1
        assert session.run(v1.assert_variables_initialized([v, v])).tolist() == [1, 1]


def test_a_counter_does_not_count_past_its_dtype():
    counter = tf.Variable(0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Count in an int64 variable"):
        counter.count_up_to(2**40)
    with pytest.raises(tf.errors.InvalidArgumentError, match="as int64"):
        tf.raw_ops.ResourceCountUpTo(resource=counter.handle, limit=2, T=tf.int64)
    assert counter.count_up_to(2**31 - 1).numpy() == 0
    assert counter.numpy() == 1


def test_variables_whose_name_is_empty_share_their_state():
    with tf.Graph().as_default() as graph, v1.Session() as session:
        first, second = v1.Variable(1.0, name=""), tf.Variable(2.0, name="")
        assert [v.name for v in (first, second)] == [":0", ":0"]
        assert [v.initializer.name for v in (first, second)] == ["Assign", "Assign_1"]
        session.run(second.initializer)
        assert session.run([first, second]) == [2.0, 2.0]
        graph.as_graph_def()
