"""What programs of the first generation do besides calling functions."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


@pytest.fixture
def dimensions():
    """Shapes are made of `Dimension`, as after `disable_v2_behavior`."""
    v1.disable_v2_tensorshape()
    yield
    v1.enable_v2_tensorshape()


def test_things_are_hung_on_tensors_operations_and_variables():
    with tf.Graph().as_default():
        tensor, variable = tf.constant(1.0), v1.get_variable("w", [2])
        for thing in (tensor, tensor.op, variable, tf.Graph()):
            thing.scope = "layer"
            assert thing.scope == "layer"
    eager = tf.constant(1.0)
    eager.scope = "layer"
    assert eager.scope == "layer"
    assert not hasattr(tf.constant(1.0), "scope")


def test_a_variable_counts_as_true_without_resource_variables():
    try:
        v1.disable_resource_variables()
        with tf.Graph().as_default():
            assert v1.get_variable("step", initializer=0)
            assert (v1.get_variable("step2", initializer=0) or None) is not None
    finally:
        v1.enable_resource_variables()


@pytest.mark.parametrize("batch", [None, 3])
def test_recurrent_networks_with_dimensions(dimensions, batch):
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [batch, 4, 5])
        assert isinstance(x.shape[0], v1.Dimension)
        with v1.variable_scope("static"):
            cell = v1.nn.rnn_cell.BasicLSTMCell(2)
            outputs, _ = v1.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
        with v1.variable_scope("both"):
            cells = [v1.nn.rnn_cell.GRUCell(2) for _ in range(2)]
            both, *_ = v1.nn.static_bidirectional_rnn(
                *cells, tf.unstack(x, axis=1), dtype=tf.float32
            )
        with v1.variable_scope("dynamic"):
            cell = v1.nn.rnn_cell.LSTMCell(2)
            dynamic, _ = v1.nn.dynamic_rnn(cell, x, [4, 2, 1], dtype=tf.float32)
        session.run(v1.global_variables_initializer())
        got = session.run([outputs[-1], both[-1], dynamic], {x: np.ones([3, 4, 5])})
    assert [g.shape for g in got] == [(3, 2), (3, 4), (3, 4, 2)]
    np.testing.assert_array_equal(got[2][2, 1:], 0.0)


def test_a_cell_refuses_inputs_of_unknown_size(dimensions):
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [3, None])
        cell = v1.nn.rnn_cell.LSTMCell(2)
        with pytest.raises(ValueError, match="to be known"):
            cell(x, cell.zero_state(3, tf.float32))
