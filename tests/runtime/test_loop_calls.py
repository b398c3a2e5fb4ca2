"""Loops that are one native call compute what XLA's and the reference executor's loops do."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import native
from penstock.core.recurrence import Recurrence
from penstock.runtime import loop_calls, traced_loops

ROUNDS, BATCH, INPUTS, UNITS = 5, 3, 16, 8


@pytest.fixture
def calls(monkeypatch):
    """What became of the loops that are compiled: a call each, or None."""
    if not native.state().library:
        pytest.skip("the native library is not built")
    found = []

    def noting(*arguments):
        found.append(loop_calls.loop_call(*arguments))
        return found[-1]

    monkeypatch.setattr(traced_loops, "loop_call", noting)
    monkeypatch.setattr(loop_calls, "LEAST_WORK", 0)
    return found


def draw(*shape, seed=0, scale=1.0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32) * np.float32(scale)


def lstm(x, h, c, w, u, b):
    z = tf.matmul(x, w) + tf.matmul(h, u) + b
    i, f, g, o = tf.split(z, 4, axis=1)
    c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(c), c


def lstm_with_peepholes(x, h, c, w, u, b):
    """As `lstm`, with a state that the gates see and a bound of the state."""
    z = tf.nn.bias_add(tf.matmul(x, w) + tf.matmul(h, u), b)
    o, g, f, i = tf.split(z, 4, axis=-1)
    c = tf.sigmoid(f + c * b[:UNITS]) * c + tf.sigmoid(i) * tf.nn.relu(g)
    c = tf.maximum(tf.minimum(c, 0.9), -0.9)
    return tf.sigmoid(o + c * b[UNITS : 2 * UNITS]) * tf.tanh(c), c


def weights():
    return (
        draw(INPUTS, 4 * UNITS, seed=1, scale=0.3),
        draw(UNITS, 4 * UNITS, seed=2, scale=0.3),
        draw(4 * UNITS, seed=3, scale=0.5),
    )


def training(cell, batch=BATCH):
    """The last state, all states and the gradients of a net of this cell."""

    @tf.function
    def step(x, w, u, b):
        with tf.GradientTape() as tape:
            tape.watch([x, w, u, b])

            rows = tf.TensorArray(tf.float32, ROUNDS).unstack(x)

            def round_(t, h, c, outputs):
                h, c = cell(rows.read(t), h, c, w, u, b)
                return t + 1, h, c, outputs.write(t, h)

            zeros = tf.zeros([batch, UNITS])
            outputs = tf.TensorArray(tf.float32, ROUNDS, element_shape=[batch, UNITS])
            start = [tf.constant(0), zeros, zeros, outputs]
            _, h, c, outputs = tf.while_loop(
                lambda t, *rest: t < ROUNDS, round_, start, maximum_iterations=ROUNDS
            )
            states = outputs.stack()
            loss = tf.reduce_sum(h * h) + tf.reduce_sum(c) + tf.reduce_sum(states[1:] ** 3)
        return [h, c, states, *tape.gradient(loss, [x, w, u, b])]

    return step


@pytest.mark.parametrize(
    ("cell", "batch", "backward"),
    [(lstm, 1, True), (lstm, BATCH, True), (lstm, 12, True), (lstm_with_peepholes, BATCH, False)],
)
def test_a_cell_and_its_gradients(monkeypatch, calls, cell, batch, backward):
    """The gradient of a bound selects, that of a peephole sums in each round: they stay loops."""
    given = [tf.constant(v) for v in (draw(ROUNDS, batch, INPUTS), *weights())]
    found = training(cell, batch)(*given)
    assert [call is not None for call in calls] == [True, backward]
    monkeypatch.setenv("PENSTOCK_PATTERNS_OFF", "loop_native")
    for got, wanted in zip(found, training(cell, batch)(*given), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-6)
    assert calls[2:] == [None, None]


def test_the_program_does_not_depend_on_addresses(monkeypatch, calls):
    """Else no process would find in the compilation cache what another one compiled."""
    programs = []
    call = Recurrence.call

    def noting(self, program, arguments):
        programs.append(program.tolist())
        return call(self, program, arguments)

    monkeypatch.setattr(Recurrence, "call", noting)
    given = [tf.constant(v) for v in (draw(ROUNDS, BATCH, INPUTS), *weights())]
    steps = [training(lstm) for _ in range(4)]  # alive together, so at different addresses
    for step in steps:
        step(*given)
    assert programs[2:] == programs[:2] * 3


@pytest.mark.parametrize("name", ["BasicLSTMCell", "GRUCell"])
def test_cells_of_the_first_generation(monkeypatch, calls, name):
    """Their weights are for the input and the state side by side, and so are the gradients."""
    v1 = tf.compat.v1

    def run():
        with tf.Graph().as_default(), v1.Session() as session:
            cell = getattr(v1.nn.rnn_cell, name)(UNITS)
            with v1.variable_scope("net", initializer=v1.constant_initializer(0.05)):
                outputs, _ = v1.nn.dynamic_rnn(cell, draw(BATCH, ROUNDS, 8), dtype=tf.float32)
            weights = v1.trainable_variables()
            found = tf.gradients(tf.reduce_sum(outputs * outputs), weights)
            session.run(v1.global_variables_initializer())
            return session.run([outputs, *found])

    found = run()
    assert len(calls) == 2
    assert None not in calls
    monkeypatch.setenv("PENSTOCK_PATTERNS_OFF", "loop_native")
    for got, wanted in zip(found, run(), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-6)


def test_products_of_what_a_round_computed(monkeypatch, calls):
    """A GRU's second product needs the first one's gates: two phases."""
    w, u, b = weights()
    x = tf.constant(draw(ROUNDS, BATCH, INPUTS))
    u_gates, u_new = tf.constant(u[:, : 2 * UNITS]), tf.constant(u[:, 2 * UNITS : 3 * UNITS])

    def run():
        @tf.function
        def step(x):
            def round_(t, h):
                xr, xu, xc, _ = tf.split(tf.matmul(x[t], w) + b, 4, axis=1)
                r, update = tf.split(
                    tf.sigmoid(tf.concat([xr, xu], 1) + tf.matmul(h, u_gates)), 2, 1
                )
                new = tf.tanh(xc + tf.matmul(r * h, u_new))
                return t + 1, update * h + (1.0 - update) * new

            start = [tf.constant(0), tf.zeros([BATCH, UNITS])]
            return tf.while_loop(lambda t, h: t < ROUNDS, round_, start)[1]

        return step(x)

    found = run()
    assert calls[0] is not None
    assert calls[0].recurrence.rounds == ROUNDS
    monkeypatch.setenv("PENSTOCK_PATTERNS_OFF", "loop_native")
    np.testing.assert_allclose(found, run(), rtol=1e-5, atol=1e-6)


def simple(round_, state, rounds=ROUNDS):
    """The last state of a loop."""
    return tf.function(
        lambda state: tf.while_loop(
            lambda t, h: t < rounds, lambda t, h: (t + 1, round_(t, h)), [tf.constant(0), state]
        )[1]
    )(state)


@pytest.mark.parametrize(
    ("name", "round_"),
    [
        ("a sum over columns", lambda t, h: h * 0.5 + tf.reduce_sum(h, 1, keepdims=True)),
        ("a shape that broadcasts rows", lambda t, h: h + h[:1]),
        ("a counter among the numbers", lambda t, h: h + tf.cast(t, tf.float32)),
        ("a transposed product", lambda t, h: tf.matmul(h, h, transpose_a=True)[:BATCH]),
        ("a product of states", lambda t, h: tf.matmul(h[:, :BATCH], h)),
        ("rows in the other order", lambda t, h: h * 0.5 + h[::-1, :]),
        ("a split of rows", lambda t, h: tf.concat(tf.split(h, 3, 0), 0)),
    ],
)
def test_other_rounds_stay_loops(calls, name, round_):
    state = draw(BATCH, UNITS)
    wanted = tf.constant(state)
    for t in range(ROUNDS):
        wanted = round_(tf.constant(t), wanted)
    np.testing.assert_allclose(simple(round_, tf.constant(state)), wanted, rtol=2e-5)
    assert calls == [None], name


def grown(matrix, row, state):
    """A sum to which each round adds a product of two rows that are none of the batch's."""
    sums = tf.zeros([UNITS, UNITS])
    return tf.while_loop(
        lambda t, *_: t < ROUNDS,
        lambda t, h, sums: (
            t + 1,
            tf.tanh(tf.matmul(h, matrix) + row),
            sums + tf.matmul(row, tf.tanh(row), transpose_a=True),
        ),
        (0, state, sums),
    )[1:]


def narrowed(matrix, row, state):
    """A state whose rounds give one row, whatever it had."""
    return tf.while_loop(
        lambda t, h: t < ROUNDS,
        lambda t, h: (t + 1, tf.tanh(tf.matmul(row, matrix) + row)),
        (0, state),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, UNITS])),
    )[1:]


def one_number(shape):
    """Rounds with a constant of one element; with more than two axes they have more, too."""

    def run(matrix, row, state):
        return tf.while_loop(
            lambda t, h: t < ROUNDS,
            lambda t, h: (
                t + 1,
                tf.reshape(tf.tanh(tf.matmul(h, matrix) + tf.ones(shape)), h.shape),
            ),
            (0, state),
        )[1:]

    return run


@pytest.mark.parametrize(
    "run",
    [grown, narrowed, *(one_number([1] * rank) for rank in range(4))],
    ids=["grown", "narrowed", *(f"one_number_{rank}" for rank in range(4))],
)
def test_rows_that_stand_for_all_of_the_batch_are_no_rows_of_results(calls, run):
    given = [tf.constant(draw(n, UNITS, seed=n, scale=0.3)) for n in (UNITS, 1, BATCH)]
    wanted = run(*given)
    for got, right in zip(tf.function(run)(*given), wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=2e-5, atol=1e-6, strict=True)
    assert calls


@pytest.mark.parametrize("dtype", [tf.float64, tf.float16, tf.bfloat16])
def test_other_dtypes_stay_loops(calls, dtype):
    state = tf.constant(draw(BATCH, UNITS), dtype)
    assert simple(lambda t, h: tf.tanh(h), state).dtype == dtype
    assert calls == [None]


@pytest.mark.parametrize("shape", [(0, UNITS), (BATCH, 0), (BATCH, 1), (UNITS,), (2, 3, UNITS)])
def test_other_shapes_stay_loops(calls, shape):
    state = draw(*shape)
    found = simple(lambda t, h: h * 0.5, tf.constant(state))
    np.testing.assert_array_equal(found, state * np.float32(0.5**ROUNDS))
    assert calls == [None]


def test_small_rounds_stay_loops(monkeypatch, calls):
    monkeypatch.setattr(loop_calls, "LEAST_WORK", 10**6)
    simple(lambda t, h: tf.tanh(h), tf.constant(draw(BATCH, UNITS)))
    assert calls == [None]


def test_special_numbers(calls):
    """NaN and infinities go through the functions as they do elsewhere."""
    state = draw(BATCH, UNITS)
    state.flat[:7] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 100.0, -100.0]

    def round_(t, h):
        bounded = tf.minimum(tf.maximum(h, -3.0), tf.nn.relu6(h))
        return tf.sigmoid(h) * tf.tanh(h) + tf.exp(bounded) - tf.nn.relu(-h) / 2.0

    found = simple(round_, tf.constant(state), 1).numpy()
    assert calls[0] is not None
    with np.errstate(all="ignore"):
        wanted = round_(None, tf.constant(state, tf.float64)).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=2e-7)  # what is left of sums near 1


def test_rows_that_are_not_all_set_and_rows_that_are_added_to(calls):
    """A stack larger than the rounds keeps its other rows."""
    x = draw(ROUNDS + 2, BATCH, UNITS)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)

            given = tf.TensorArray(tf.float32, ROUNDS + 2).unstack(x)

            def round_(t, h, rows):
                h = tf.tanh(given.read(t) + h)
                return t + 1, h, rows.write(t + 1, h)

            rows = tf.TensorArray(tf.float32, ROUNDS + 2, element_shape=[BATCH, UNITS])
            start = [tf.constant(1), tf.zeros([BATCH, UNITS]), rows]
            _, h, rows = tf.while_loop(lambda t, *rest: t <= ROUNDS, round_, start)
            loss = tf.reduce_sum(h * h)
        return rows.stack(), tape.gradient(loss, x)

    rows, dx = step(tf.constant(x))
    states, h = [np.zeros((BATCH, UNITS))], np.zeros((BATCH, UNITS))
    for t in range(1, ROUNDS + 1):
        h = np.tanh(x[t].astype(np.float64) + h)
        states.append(h)
    wanted = np.zeros((ROUNDS + 2, BATCH, UNITS))
    wanted[2:] = states[1:]
    np.testing.assert_allclose(rows, wanted, rtol=1e-5, atol=1e-6)
    dh, dx_wanted = 2 * h, np.zeros_like(wanted)
    for t in range(ROUNDS, 0, -1):
        dh = dh * (1 - states[t] ** 2)
        dx_wanted[t] = dh
    np.testing.assert_allclose(dx, dx_wanted, rtol=1e-5, atol=1e-6)
    assert None not in calls


def test_rows_collected_in_order_are_the_array(calls):
    """What a loop keeps of its inputs for gradients is not copied."""
    given = [tf.constant(v) for v in (draw(ROUNDS, BATCH, INPUTS), *weights())]
    training(lstm)(*given)
    assert all(shape[-1] != INPUTS for shape in calls[0].recurrence.results)
