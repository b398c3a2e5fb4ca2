"""Cells of recurrent networks and the loops over them; numbers recorded from tf-keras 2.21."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
cells = v1.nn.rnn_cell

MAKERS = {
    "gru": lambda: cells.GRUCell(4),
    "lstm": lambda: cells.LSTMCell(4, use_peepholes=True, cell_clip=0.5, num_proj=2, proj_clip=0.3),
    "basic_lstm": lambda: cells.BasicLSTMCell(4),
    "basic_rnn": lambda: cells.BasicRNNCell(4),
    "multi": lambda: cells.MultiRNNCell(
        [cells.LSTMCell(4), cells.ResidualWrapper(cells.GRUCell(4))]
    ),
}
# The loss, the sums of its gradients and of the last states: without and with lengths [2, 4].
RECORDED = {
    "gru": (
        [6.67743, -9.4546, -4.38466, 7.33729, 5.57468, 1.72683],
        [3.29845, -2.66799, -2.12855, 4.43737, 3.34355, 2.27139],
    ),
    "lstm": (
        [0.9864, 0.90301, 0.50798, -0.00315, 0.01947, -0.01378, -0.09418, 0.5087, -0.34026],
        [0.49753, 0.49695, 0.24839, -0.00479, 0.01402, -0.00684, -0.27026, 1.49517, -0.23742],
    ),
    "basic_lstm": (
        [2.8206, 5.30391, 7.16242, 1.02823, 0.01466],
        [1.80565, 1.43932, 5.29164, 2.61837, 1.88058],
    ),
    "basic_rnn": (
        [12.22115, -30.39021, -4.66907, -1.19786],
        [6.76223, -27.97275, -1.60485, -1.40672],
    ),
    "multi": (
        [5.96962, 3.00863, 5.53332, -0.03657, -1.5054, 1.29659, -3.01029, 1.02823, 0.01466,
         -1.61899],
        [3.02755, 1.59032, 5.70909, -0.09101, -1.22289, 0.1405, -0.11382, 2.61837, 1.88058,
         -2.14556],
    ),
}  # fmt: skip


def trained(make, lengths, static=False):
    with tf.Graph().as_default():
        numbers = np.random.RandomState(0)
        x = tf.constant(numbers.randn(2, 5, 3).astype("f"))
        if static:
            steps = tf.unstack(x, axis=1)
            outputs, state = v1.nn.static_rnn(
                make(), steps, dtype=tf.float32, sequence_length=lengths
            )
            outputs = tf.stack(outputs, 1)
        else:
            outputs, state = v1.nn.dynamic_rnn(make(), x, dtype=tf.float32, sequence_length=lengths)
        loss = tf.reduce_sum(outputs * outputs)
        variables = v1.trainable_variables()
        wanted = [loss, *tf.gradients(loss, variables), *tf.nest.flatten(state)]
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for v in variables:
                v.load((numbers.randn(*v.shape.as_list()) * 0.5).astype("f"), session)
            return [np.sum(a, dtype=np.float64) for a in session.run(wanted)]


@pytest.mark.parametrize("static", [False, True], ids=["dynamic", "static"])
@pytest.mark.parametrize("name", MAKERS)
def test_losses_gradients_and_states_are_those_of_tf_keras(name, static):
    whole, cut = RECORDED[name]
    np.testing.assert_allclose(trained(MAKERS[name], None, static), whole, atol=3e-5)
    np.testing.assert_allclose(trained(MAKERS[name], [2, 4], static), cut, atol=3e-5)


def test_variables_are_named_after_the_scopes():
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [2, 5, 3])
        stack = cells.MultiRNNCell([cells.LSTMCell(4), cells.GRUCell(3)])
        v1.nn.dynamic_rnn(stack, x, dtype=tf.float32)
        v1.nn.bidirectional_dynamic_rnn(
            cells.GRUCell(4), cells.BasicRNNCell(2), x, [2, 3], dtype=tf.float32
        )
        names = [v.op.name for v in v1.global_variables()]
        assert names[:3] == [
            "rnn/multi_rnn_cell/cell_0/lstm_cell/kernel",
            "rnn/multi_rnn_cell/cell_0/lstm_cell/bias",
            "rnn/multi_rnn_cell/cell_1/gru_cell/gates/kernel",
        ]
        assert names[-2:] == [
            "bidirectional_rnn/bw/basic_rnn_cell/kernel",
            "bidirectional_rnn/bw/basic_rnn_cell/bias",
        ]
        assert [v.op.name for v in stack.trainable_variables] == names[:6]


class Mine(cells.RNNCell):
    state_size = output_size = 4

    def call(self, inputs, state):
        w = v1.get_variable("w", [3, 4], initializer=tf.ones_initializer())
        return tf.matmul(inputs, w) + state, state + 1.0


def test_a_cell_of_ones_own_shares_its_variables():
    with tf.Graph().as_default():
        cell = Mine()
        state = cell.zero_state(2, tf.float32)
        for _ in range(2):
            output, state = cell(tf.ones([2, 3]), state)
        assert [v.op.name for v in cell.trainable_variables] == ["mine/w"]
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            np.testing.assert_array_equal(session.run(output), np.full([2, 4], 4.0))


def test_cells_run_eagerly():
    cell = cells.LSTMCell(4)
    outputs, state = v1.nn.dynamic_rnn(cell, tf.ones([2, 3, 5]), [1, 3], dtype=tf.float32)
    assert outputs.shape == [2, 3, 4]
    assert not np.any(outputs[0, 1:])
    np.testing.assert_array_equal(state.h[0], outputs[0, 0])
    np.testing.assert_array_equal(state.h[1], outputs[1, 2])
    assert len(cell.trainable_variables) == 2


@pytest.mark.parametrize("bounded", [False, True])
def test_outputs_have_the_static_shape_of_the_inputs(bounded):
    with tf.Graph().as_default():
        lengths = v1.placeholder(tf.int32, [None]) if bounded else None
        for shape in ([2, 3, 5], [None, 3, 5], [2, None, 5], [None, None, 5]):
            x = v1.placeholder(tf.float32, shape)
            cell = v1.nn.rnn_cell.LSTMCell(4)
            with v1.variable_scope(None, "rnn"):
                outputs, _ = v1.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
            assert outputs.shape.as_list() == [*shape[:2], 4]


def test_raw_rnn_does_what_dynamic_rnn_does():
    with tf.Graph().as_default():
        x = tf.constant(np.random.RandomState(1).randn(5, 2, 3).astype("f"))
        lengths = tf.constant([2, 5])
        cell = cells.GRUCell(4)
        ta = tf.TensorArray(tf.float32, 5).unstack(x)

        def loop_fn(time, output, state, loop):
            following = cell.zero_state(2, tf.float32) if output is None else state
            ended = time >= lengths
            read = tf.cond(
                tf.reduce_all(ended), lambda: tf.zeros([2, 3]), lambda: ta.read(tf.minimum(time, 4))
            )
            return ended, read, following, output, None

        emitted, last, _ = v1.nn.raw_rnn(cell, loop_fn, scope="rnn")
        with v1.variable_scope("", reuse=True):
            expected = v1.nn.dynamic_rnn(
                cell, x, lengths, dtype=tf.float32, time_major=True, scope="rnn"
            )
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            got, wanted = session.run([(emitted.stack(), last), expected])
        np.testing.assert_allclose(got[0], wanted[0], rtol=1e-4)
        np.testing.assert_allclose(got[1], wanted[1], rtol=1e-4)


def test_dropout_keeps_the_memory_and_varies_with_the_step():
    with tf.Graph().as_default():
        cell = cells.DropoutWrapper(
            cells.LSTMCell(64), output_keep_prob=0.5, state_keep_prob=0.5, seed=1
        )
        fixed = cells.DropoutWrapper(
            cells.LSTMCell(64), output_keep_prob=0.5, variational_recurrent=True, dtype=tf.float32
        )
        x = tf.ones([1, 3, 8])
        free, state = v1.nn.dynamic_rnn(cell, x, dtype=tf.float32, scope="a")
        same, _ = v1.nn.dynamic_rnn(fixed, x, dtype=tf.float32, scope="b")
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            free, same, state = session.run([free, same, state])
    dropped = same[0] == 0
    assert 10 < dropped[0].sum() < 54
    assert (dropped == dropped[0]).all()
    assert not ((free[0] == 0) == (free[0, 0] == 0)).all()
    assert (state.c != 0).all()
    assert (state.h == 0).any()


def test_seeds_of_dropout_are_those_of_the_program():
    """The mask is the one of TensorFlow with the legacy Keras: a seed for each place."""
    with tf.Graph().as_default() as graph:
        cell = cells.DropoutWrapper(cells.GRUCell(2), 0.5, 0.5, 0.5, seed=3)
        cell(tf.ones([1, 2]), tf.ones([1, 2]))
        drawn = [op for op in graph.get_operations() if op.type == "RandomUniform"]
    drawn = [op for op in drawn if op.name.startswith("dropout")]  # not the initial values
    assert [op.get_attr("seed2") for op in drawn] == [371649270, 522019109, 787469663]


BAD = {
    "no cell": (TypeError, "is not an RNNCell", lambda x: v1.nn.dynamic_rnn(3, x)),
    "no dtype": (ValueError, "`dtype` must be", lambda x: v1.nn.dynamic_rnn(cells.GRUCell(4), x)),
    "lengths": (
        ValueError,
        "must be a vector",
        lambda x: v1.nn.dynamic_rnn(cells.GRUCell(4), x, [[1, 2]], dtype=tf.float32),
    ),
    "no list": (
        TypeError,
        "must be a sequence",
        lambda x: v1.nn.static_rnn(cells.GRUCell(4), x, dtype=tf.float32),
    ),
    "no steps": (ValueError, "must not be empty", lambda x: v1.nn.static_rnn(Mine(), [])),
    "no cells": (ValueError, "at least one cell", lambda x: cells.MultiRNNCell([])),
    "probability": (
        ValueError,
        "between 0 and 1. Received 1.5",
        lambda x: cells.DropoutWrapper(cells.GRUCell(4), 1.5),
    ),
    "residual": (
        ValueError,
        "incompatible",
        lambda x: cells.ResidualWrapper(cells.GRUCell(4))(x[:, 0], tf.zeros([2, 4])),
    ),
    "integers": (
        ValueError,
        "expected floating inputs, got int32",
        lambda x: v1.nn.dynamic_rnn(cells.GRUCell(4), tf.cast(x, tf.int32), dtype=tf.float32),
    ),
    "no batch": (ValueError, "got None", lambda x: cells.GRUCell(4).zero_state(None, tf.float32)),
    "half a row": (TypeError, "got 2.5", lambda x: cells.GRUCell(4).zero_state(2.5, tf.float32)),
    "a text": (TypeError, "got 'a'", lambda x: cells.GRUCell(4).zero_state("a", tf.float32)),
    "state": (
        TypeError,
        "expected a state of two",
        lambda x: cells.LSTMCell(4)(x[:, 0], tf.zeros([2, 8])),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_refused(case):
    kind, text, call = BAD[case]
    with tf.Graph().as_default(), pytest.raises(kind, match=text):
        call(v1.placeholder(tf.float32, [2, 5, 3]))


def test_a_state_saver_gives_and_takes_the_state():
    saved = {}

    class Saver:
        def state(self, name):
            return tf.ones([2, 4])

        def save_state(self, name, value):
            saved[name] = value
            return tf.identity(value).op

    with tf.Graph().as_default():
        _, state = v1.nn.static_state_saving_rnn(Mine(), [tf.ones([2, 3])] * 2, Saver(), "kept")
        with v1.Session() as session:
            np.testing.assert_array_equal(session.run(state), np.full([2, 4], 3.0))
        assert saved["kept"] is state


@pytest.mark.parametrize(
    ("cell", "state", "wanted"),
    [
        ("GRUCell", lambda: tf.ones([2, 3]), "gru_cell/add:0"),
        ("BasicLSTMCell", lambda: (tf.ones([2, 3]), tf.ones([2, 3])), "basic_lstm_cell/Mul_2:0"),
        ("LSTMCell", lambda: (tf.ones([2, 3]), tf.ones([2, 3])), "lstm_cell/mul_2:0"),
    ],
)
def test_outputs_have_the_names_of_old_graphs(cell, state, wanted):
    with tf.Graph().as_default():
        made = getattr(tf.compat.v1.nn.rnn_cell, cell)(3)
        output, _ = made(tf.ones([2, 2]), state())
    assert output.name == wanted


@pytest.mark.parametrize("kind", [tuple, list, cells.LSTMStateTuple._make])
def test_the_last_state_is_of_the_class_of_the_first(kind):
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [2, 4, 3])
        first = kind([tf.zeros([2, 3]), tf.zeros([2, 3])])
        _, last = v1.nn.dynamic_rnn(cells.LSTMCell(3), x, initial_state=first)
    assert type(last) is type(first)
    assert [part.shape.as_list() for part in last] == [[2, 3], [2, 3]]


def test_a_cell_made_outside_of_a_function_runs_in_it():
    tf.random.set_seed(1)  # weights that leave no output near 0
    cell = cells.BasicRNNCell(3)
    inputs = tf.ones([2, 4, 2])
    run = tf.function(lambda x: v1.nn.dynamic_rnn(cell, x, dtype=tf.float32))
    outputs, state = run(inputs)
    again, _ = v1.nn.dynamic_rnn(cell, inputs, dtype=tf.float32)
    np.testing.assert_allclose(outputs, again, rtol=1e-5)
    np.testing.assert_allclose(outputs[:, -1], state, rtol=1e-6)


def test_the_configuration_of_a_dropout_wrapper():
    config = cells.DropoutWrapper(cells.GRUCell(4), 0.5).get_config()
    assert (config["input_keep_prob"], config["variational_recurrent"]) == (0.5, False)


class _Weighted(cells.RNNCell):
    """A cell with one weight."""

    state_size = output_size = 3

    def build(self, input_shape):
        self.w = self.add_weight("w", [input_shape[-1], 3])
        self.built = True

    def call(self, inputs, state):
        state = tf.tanh(tf.matmul(inputs, self.w) + state)
        return state, state


def test_variables_of_cells_in_keras_style_are_below_the_loop():
    with tf.Graph().as_default(), v1.layers.experimental.keras_style_scope():
        v1.nn.dynamic_rnn(_Weighted(name="a"), tf.ones([2, 5, 4]), dtype=tf.float32)
        v1.nn.dynamic_rnn(_Weighted(name="b"), tf.ones([2, 5, 4]), dtype=tf.float32, scope="foo")
        names = [variable.name for variable in v1.global_variables()]
    assert names == ["rnn/a/w:0", "foo/b/w:0"]


def test_states_that_are_no_pair():
    cell, x, half = cells.LSTMCell(3), tf.ones([2, 4]), tf.ones([2, 3])
    wrong = [((half,), ValueError), ((half,) * 3, ValueError), (tf.ones([3, 3]), ValueError)]
    for state, error in [*wrong, (half, tf.errors.InvalidArgumentError), (1.0, TypeError)]:
        with pytest.raises(error, match="two tensors"):
            cell(x, state)
    with tf.Graph().as_default(), pytest.raises(TypeError, match="two tensors"):
        cells.LSTMCell(3)(tf.ones([2, 4]), tf.ones([2, 3]))


def test_a_projection_to_nothing_has_no_columns():
    cell = cells.LSTMCell(3, num_proj=0)
    assert (cell.output_size, cell.state_size) == (3, (3, 3))
    with pytest.raises(tf.errors.InvalidArgumentError):
        cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32))
    output, _ = cell(tf.ones([2, 4]), (tf.ones([2, 3]), tf.ones([2, 0])))
    assert output.shape == [2, 0]
