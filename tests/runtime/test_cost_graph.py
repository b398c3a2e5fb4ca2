"""`RunMetadata.cost_graph`: in which steps it is there, and what it tells."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
FULL = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)


def config(every, after=0):
    options = v1.GraphOptions(build_cost_model=every, build_cost_model_after=after)
    return v1.ConfigProto(graph_options=options)


def program():
    x = v1.placeholder(tf.float32, [5, 4], name="x")
    weights = v1.get_variable("w", [4, 3], use_resource=True)
    product = tf.matmul(x, weights, name="product")
    return x, tf.reduce_sum(tf.nn.relu(product, name="relu"), name="sum")


def steps(every, after, count):
    """In which of a number of steps there is a cost graph."""
    with tf.Graph().as_default():
        x, total = program()
        found = []
        with v1.Session(config=config(every, after)) as session:
            session.run(v1.global_variables_initializer())
            for _ in range(count):
                data = v1.RunMetadata()
                session.run(total, {x: np.ones((5, 4))}, run_metadata=data)
                assert bool(data.cost_graph.node) == bool(data.step_stats.dev_stats)
                found.append(bool(data.cost_graph.node))
    return found


@pytest.mark.parametrize(
    ("every", "after", "expected"),
    [
        (0, 0, "......"),
        (1, 0, "xxxxxx"),
        (2, 0, ".x.x.x"),
        (2, 2, "...x.x"),
        (1, 4, "....xx"),
    ],
)
def test_in_which_steps_costs_are_told(every, after, expected):
    assert "".join(".x"[found] for found in steps(every, after, 6)) == expected


def test_steps_without_metadata_count_too():
    with tf.Graph().as_default():
        x, total = program()
        with v1.Session(config=config(2)) as session:
            session.run(v1.global_variables_initializer())
            session.run(total, {x: np.ones((5, 4))})
            data = v1.RunMetadata()
            session.run(total, {x: np.ones((5, 4))}, run_metadata=data)
            assert data.cost_graph.node
            session.make_callable(total, [x])(np.ones((5, 4)))
            session.run(total, {x: np.ones((5, 4))}, FULL, data)
            assert data.cost_graph.node


@pytest.mark.parametrize("optimize", [True, False])
def test_nodes_have_their_edges_sizes_and_costs(optimize):
    with tf.Graph().as_default():
        x, total = program()
        chosen = config(1)
        if not optimize:
            chosen.graph_options.optimizer_options.opt_level = -1
        data = v1.RunMetadata()
        with v1.Session(config=chosen) as session:
            session.run(v1.global_variables_initializer())
            session.run(total, {x: np.ones((5, 4))}, run_metadata=data)
    graph = data.cost_graph
    by_name = {node.name: node for node in graph.node}
    by_id = {node.id: node for node in graph.node}
    assert [node.id for node in graph.node] == list(range(len(graph.node)))
    product, relu = by_name["product"], by_name["relu"]
    assert by_id[product.input_info[0].preceding_node].name == "_arg_x_0_0"
    assert by_id[relu.input_info[0].preceding_node] is product
    assert product.output_info[0].size == 5 * 3 * 4
    assert [dim.size for dim in product.output_info[0].shape.dim] == [5, 3]
    assert product.output_info[0].dtype == tf.float32.as_datatype_enum
    assert by_name["_arg_x_0_0"].control_input == [0]
    assert by_id[by_name["_SINK"].control_input[-1]].name == "sum"
    assert product.device.endswith("CPU:0")
    measured = sum(node.compute_cost for node in graph.node)
    stats = [node for each in data.step_stats.dev_stats for node in each.node_stats]
    assert 0 < measured <= sum(node.all_end_rel_micros for node in stats) + len(graph.node)


def test_sizes_that_a_step_has_seen_are_told():
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None])
        text = tf.strings.as_string(x, name="text")
        data = v1.RunMetadata()
        with v1.Session(config=config(1)) as session:
            session.run(text, {x: [1.0, 2.0]}, run_metadata=data)
    (node,) = [node for node in data.cost_graph.node if node.name == "text"]
    assert [dim.size for dim in node.output_info[0].shape.dim] == [2]
    assert not node.inaccurate
