"""Tensors of another graph: their operations go to it, as in TensorFlow; two graphs do not mix."""

import copy
import pickle

import pytest

import penstock as tf
from penstock.core import context

v1 = tf.compat.v1


@pytest.fixture
def graphs():
    first, second = tf.Graph(), tf.Graph()
    with first.as_default():
        a = tf.constant([1.0, 2.0], name="a")
        v = v1.get_variable("v", initializer=3.0)
    with second.as_default():
        b = v1.placeholder(tf.float32, [2], name="b")
        yield a, v, b


def test_an_operation_goes_to_the_graph_of_its_tensors(graphs):
    a, v, b = graphs
    made = [
        tf.identity(a), a + 1.0, 1.0 - a, tf.reduce_sum(a[:1], 0), tf.where(a > 1.0, a, 0.0),
        v + 1.0, tf.stack([a, [3.0, 4.0]]), tf.convert_to_tensor(a), tf.reshape(a, [2, 1]),
    ]  # fmt: skip
    assert all(t.graph is a.graph for t in made)
    assert [op.name for op in b.graph.get_operations()] == ["b"]
    with v1.Session(graph=a.graph) as session:
        session.run(v.initializer)
        assert session.run(made[5]) == 4.0
        assert session.run(made[1]).tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda a, v, b: a + b,
        lambda a, v, b: b + a,
        lambda a, v, b: v * b,
        lambda a, v, b: tf.stack([a, b]),
        lambda a, v, b: tf.gradients(b * 2.0, a),
        lambda a, v, b: tf.gradients(a, b),
        lambda a, v, b: tf.gradients(b * 2.0, b, grad_ys=a),
        lambda a, v, b: tf.gradients(b * 2.0, b, stop_gradients=[a]),
        lambda a, v, b: tf.while_loop(lambda x: True, lambda x: [x + a], [b]),
        lambda a, v, b: v1.name_scope("s", values=[a, b]).__enter__(),
        lambda a, v, b: tf.control_dependencies([a]).__enter__(),
        lambda a, v, b: tf.cond(tf.constant(True), lambda: a, lambda: b),
    ],
)
def test_two_graphs_do_not_mix(graphs, call):
    before = len(graphs[0].graph.get_operations())
    with pytest.raises(ValueError, match=r"same graph|not an element of this graph"):
        call(*graphs)
    assert len(graphs[0].graph.get_operations()) <= before + 1  # a read of v


def test_gradients_are_made_in_the_graph_of_their_tensors(graphs):
    a, _, b = graphs
    y = b * b
    with a.graph.as_default():
        (found,) = tf.gradients(y, b)
    assert found.graph is b.graph
    with v1.Session(graph=b.graph) as session:
        assert session.run(found, {b: [3.0, 4.0]}).tolist() == [6.0, 8.0]


@pytest.mark.parametrize(
    "join", [lambda x, y: x + y, lambda x, y: tf.stack([x, y]), lambda x, y: tf.matmul(x, y)]
)
def test_another_graph_is_told_before_another_dtype(graphs, join):
    a, _, _ = graphs
    with tf.Graph().as_default(), pytest.raises(ValueError, match="must be from the same graph"):
        join(tf.constant([1]), a)


def test_values_of_scopes_count_neither_eagerly_nor_in_functions(graphs):
    a, _, b = graphs
    with context.graph_scope(None):
        with v1.name_scope("s", values=[a, b]):
            pass

    @tf.function
    def f(x):
        with v1.name_scope("s", values=[a]):
            return x + 1.0

    with context.graph_scope(None):
        assert f(1.0) == 2.0


def test_symbolic_tensors_operations_and_graphs_are_no_values(graphs):
    a, _, _ = graphs
    assert copy.copy(a).name == "a:0"
    for thing in (a, a.op, a.graph):
        for function in (copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot"):
                function(thing)
    for thing in (a.op, a.graph):
        with pytest.raises(TypeError, match="cannot"):
            copy.copy(thing)
    with pytest.raises(TypeError, match="cannot pickle 'SymbolicTensor'"):
        copy.deepcopy({"x": [tf.IndexedSlices(a, tf.constant([0, 1]))]})
