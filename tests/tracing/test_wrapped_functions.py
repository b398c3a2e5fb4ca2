"""`tf.compat.v1.wrap_function` and what can be pruned from it."""

import gc

import pytest

import penstock as tf
from penstock.tracing.wrapped import function_from_graph_def

v1 = tf.compat.v1
ROWS = tf.TensorSpec([None], tf.float32, "x")


def scale(x):
    v = v1.get_variable("v", [], initializer=v1.ones_initializer())
    step = v1.get_variable("step", [], tf.int32, v1.zeros_initializer(), trainable=False)
    with tf.control_dependencies([v1.assign_add(step, 1)]):
        tf.no_op(name="count")
        tf.identity(step, name="step_now")
    return {"o": tf.multiply(x, v, name="scaled"), "p": (x + 1,)}


@pytest.fixture
def wrapped():
    return v1.wrap_function(scale, [ROWS], name="scale")


def _scale_of(wrapped):
    return next(v for v in wrapped.variables if v.name == "v:0")


def test_it_is_called_like_a_function(wrapped):
    result = wrapped(tf.constant([1.0, 2.0]))
    assert result["o"].numpy().tolist() == [1.0, 2.0]
    assert result["p"][0].numpy().tolist() == [2.0, 3.0]
    assert wrapped.graph.name == "wrapped_function_scale"


def test_variables_are_kept_by_it_and_have_gradients(wrapped):
    gc.collect()
    v = _scale_of(wrapped)
    v.assign(5.0)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(wrapped(tf.constant([1.0, 2.0]))["o"])
    assert float(y) == 15.0
    assert float(tape.gradient(y, v)) == 3.0


def test_an_effect_happens_when_it_is_fetched(wrapped):
    wrapped(tf.constant([1.0]))
    count = wrapped.prune([], ["count", "step_now:0"])
    assert [int(count()[1]) for _ in range(2)] == [1, 2]


def test_an_effect_in_a_branch_happens_when_its_output_waits_for_it():
    variable = tf.Variable(0.0)

    def code(positive):
        def branch():
            tf.compat.v1.assign_add(variable, 10.0)
            with tf.control_dependencies([tf.compat.v1.assign_add(variable, 1.0)]):
                return tf.constant(1)

        return tf.cond(positive, branch, lambda: 0)

    function = tf.compat.v1.wrap_function(code, [tf.TensorSpec([], tf.bool)])
    assert function(tf.constant(True)) == 1
    assert variable == 1.0


def test_other_inputs_and_outputs(wrapped):
    _scale_of(wrapped).assign(3.0)
    pruned = wrapped.prune("x:0", {"a": "scaled:0"})
    assert type(pruned) is type(wrapped)
    assert pruned(tf.constant([2.0]))["a"].numpy().tolist() == [6.0]
    inner = wrapped.prune("scaled:0", wrapped.graph.get_tensor_by_name("scaled:0"))
    assert inner(tf.constant([2.0])).numpy().tolist() == [2.0]
    assert wrapped.prune([], "scaled/ReadVariableOp:0")().numpy() == 3.0
    assert [v.name for v in pruned.variables] == ["v:0"]


def test_wrong_inputs(wrapped):
    with pytest.raises(KeyError, match="nothing"):
        wrapped.prune("nothing:0", "scaled:0")
    with pytest.raises(ValueError, match="needs 'x'"):
        wrapped.prune([], "scaled:0")
    with pytest.raises(ValueError, match="Feeds must be tensors"):
        wrapped.prune("count", "scaled:0")
    with pytest.raises(NotImplementedError, match="Keyword arguments are not supported"):
        wrapped(x=tf.constant([1.0]))


def test_conditionals_and_loops_are_copied():
    def run(x):
        y = tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: -x)
        return tf.while_loop(lambda i, _: i < 3, lambda i, z: (i + 1, z + y), [0, x])[1]

    wrapped = v1.wrap_function(run, [ROWS])
    pruned = wrapped.prune("x:0", wrapped.outputs[0])
    assert pruned(tf.constant([-1.0])).numpy().tolist() == [2.0]
    assert pruned(tf.constant([1.0])).numpy().tolist() == [7.0]


def test_a_graph_def_as_a_function():
    with tf.Graph().as_default() as graph:
        a = v1.placeholder(tf.float32, [None], name="a")
        tf.multiply(a, v1.placeholder(tf.float32, [], name="by"), name="b")
    definition = graph.as_graph_def()
    function = function_from_graph_def(definition, ["a:0"], "b:0", {"by:0": tf.constant(4.0)})
    assert function(tf.constant([1.0])).numpy().tolist() == [4.0]
