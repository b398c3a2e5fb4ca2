"""What functions make of tensors of a graph that is not the default one goes to that graph."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
FLAT = tf.nest.flatten


@pytest.fixture
def home():
    """A graph that is not the default one while the test runs."""
    graph = tf.Graph()
    with graph.as_default():
        v1.placeholder(tf.float32, [3, 4], name="a")
        v1.placeholder(tf.float32, [None, 4], name="u")
        v1.placeholder(tf.int32, [3], name="i")
        v1.placeholder(tf.int64, [3], name="l")
        v1.placeholder(tf.int32, [], name="n")
        v1.placeholder(tf.bool, [], name="b")
    with tf.Graph().as_default() as current:
        yield graph
        assert current.get_operations() == []


def get(graph, name):
    return graph.get_tensor_by_name(f"{name}:0")


UNARY = {
    "shape": tf.shape,
    "size": tf.size,
    "rank": tf.rank,
    "shape_n": lambda a: v1.shape_n([a]),
    "zeros_like": tf.zeros_like,
    "ones_like": tf.ones_like,
    "clip_by_value": lambda a: tf.clip_by_value(a, 0.0, 1.0),
    "clip_by_norm": lambda a: tf.clip_by_norm(a, 1.0),
    "clip_by_global_norm": lambda a: tf.clip_by_global_norm([a, {"a": a}["a"]], 1.0),
    "reduce_sum": tf.reduce_sum,
    "reduce_logsumexp": tf.reduce_logsumexp,
    "divide_no_nan": lambda a: tf.math.divide_no_nan(a, 0.0),
    "boolean_mask": lambda a: tf.boolean_mask(a, [True, False, True]),
    "dropout": lambda a: tf.nn.dropout(a, 0.5),
    "gelu": tf.nn.gelu,
    "bias_add": lambda a: tf.nn.bias_add(a, [1.0, 2.0, 3.0, 4.0]),
    "map_fn": lambda a: tf.map_fn(lambda x: x * 2.0, a),
    "scan": lambda a: tf.scan(lambda x, y: x + y, a),
    "vectorized_map": lambda a: tf.vectorized_map(lambda x: x * 2.0, a),
    "tuple": lambda a: tf.tuple([a, None]),
    "repeat": lambda a: tf.repeat(a, 2),
    "from_tensor": tf.RaggedTensor.from_tensor,
    "from_dense": tf.sparse.from_dense,
    "frame": lambda a: tf.signal.frame(a, 2, 1),
    "custom_gradient": tf.custom_gradient(lambda x: (x * tf.constant(2.0), lambda d: d)),
    "operators": lambda a: (1.0 - a)[0, 1:] > 0.5,
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_a_tensor(home, name):
    for result in FLAT(UNARY[name](get(home, "a")), expand_composites=True):
        assert result is None or result.graph is home


@pytest.mark.parametrize(
    "function",
    [
        lambda g: tf.one_hot(get(g, "i"), 5),
        lambda g: tf.one_hot(get(g, "i"), get(g, "n")),
        lambda g: tf.range(0, get(g, "n"), 2),
        lambda g: tf.zeros([2, get(g, "n")]),
        lambda g: tf.sequence_mask(get(g, "i"), 4),
        lambda g: tf.cond(get(g, "b"), lambda: 1.0, lambda: 2.0),
        lambda g: tf.case([(get(g, "b"), lambda: 1.0)], default=lambda: 2.0),
        lambda g: tf.switch_case(get(g, "n"), [lambda: 1.0, lambda: 2.0]),
        lambda g: tf.while_loop(lambda x: x < 3, lambda x: x + 1, [get(g, "n")]),
        lambda g: tf.RaggedTensor.from_row_lengths([1.0, 2.0, 3.0], get(g, "l")),
        lambda g: tf.SparseTensor(tf.reshape(get(g, "l"), [3, 1]), [1.0, 2.0, 3.0], [7]),
        lambda g: tf.debugging.assert_rank(get(g, "u"), 2),
        lambda g: tf.group(get(g, "a").op),
        lambda g: tf.group(get(g, "a"), {"b": get(g, "b").op}),
    ],
)
def test_functions_of_several_values(home, function):
    for result in FLAT(function(home), expand_composites=True):
        assert result.graph is home


def test_a_composite_and_a_variable_take_functions_to_their_graph(home):
    with home.as_default():
        sparse = tf.sparse.from_dense(get(home, "a"))
        variable = v1.get_variable("v", [3, 4])
    assert tf.sparse.reduce_sum(sparse).graph is home
    assert v1.variables_initializer([variable]).graph is home


def test_results_have_the_values_they_have_at_home(home):
    a, i = get(home, "a"), get(home, "i")
    fetches = tf.shape(a), tf.one_hot(i, 2), tf.clip_by_value(a, 0.0, 1.0)
    with v1.Session(graph=home) as session:
        shape, hot, clipped = session.run(fetches, {a: [[2.0] * 4] * 3, i: [0, 1, 2]})
    assert shape.tolist() == [3, 4]
    assert hot.tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    assert clipped.tolist() == [[1.0] * 4] * 3


def test_tensors_of_two_graphs_are_refused(home):
    with tf.Graph().as_default():
        other = v1.placeholder(tf.float32, [3, 4])
    for function in (tf.add, tf.maximum, tf.matmul):
        with pytest.raises(ValueError, match="must be from the same graph"):
            function(get(home, "a"), other)


def test_a_call_of_a_function_goes_there(home):
    double = tf.function(lambda x, y: {"sum": x * 2.0 + y})
    a = get(home, "a")
    concrete = double.get_concrete_function(tf.TensorSpec([3, 4]), tf.TensorSpec([]))
    for call in (double, concrete):
        total = call(a, 1.0)["sum"]
        assert total.graph is home
        with v1.Session(graph=home) as session:
            assert session.run(total, {a: [[1.0] * 4] * 3}).tolist() == [[3.0] * 4] * 3


def test_arrays_beside_tensors_of_another_graph_become_its_constants(home):
    add = tf.function(lambda x, y, z=0.0: x + y + z)
    a, rows = get(home, "a"), np.ones([3, 4], np.float32)
    for call in (lambda: add(a, rows), lambda: add(rows, a), lambda: add(rows, z=rows, y=a)):
        total = call()
        assert total.graph is home
        with v1.Session(graph=home) as session:
            assert session.run(total, {a: rows}).sum() in (24.0, 36.0)
