"""What is taken out of a loop's rounds, and that the loop still computes the same."""

import numpy as np
import pytest

import penstock as tf
from penstock.runtime import traced_loops
from penstock.runtime.bodies import traced_body
from penstock.runtime.loop_form import loop_form
from penstock.runtime.loop_nodes import Counter
from penstock.runtime.loop_parts import LoopFacts, Rows

ROUNDS, BATCH, INPUTS, UNITS = 7, 3, 5, 8


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def recurrent(x, w, u, b, rows=lambda x, t: x[t], steps=ROUNDS, start=0, add=1, batch=BATCH):
    """The last state of a plain recurrent net."""

    def round_(t, h):
        return t + add, tf.tanh(tf.matmul(rows(x, t), w) + tf.matmul(h, u) + b)

    def goes_on(t, h):
        return t < start + add * steps if add > 0 else t > start + add * steps

    zeros = tf.zeros([batch, UNITS])
    return tf.while_loop(goes_on, round_, [tf.constant(start), zeros], maximum_iterations=steps)[1]


def expected(x, w, u, b, order=range(ROUNDS)):
    """The same in double precision, with the gradients of the sum of its squares."""
    x, w, u, b = (np.asarray(v, np.float64) for v in (x, w, u, b))
    states = [np.zeros((BATCH, UNITS))]
    for t in order:
        states.append(np.tanh(x[t] @ w + states[-1] @ u + b))
    dh, dw, du, db = 2 * states[-1], np.zeros_like(w), np.zeros_like(u), np.zeros_like(b)
    dx = np.zeros_like(x)
    for k, t in reversed(list(enumerate(order))):
        dz = dh * (1 - states[k + 1] ** 2)
        dw, du, db = dw + x[t].T @ dz, du + states[k].T @ dz, db + dz.sum(0)
        dx[t] += dz @ w.T
        dh = dz @ u.T
    return states[-1], dx, dw, du, db


def weights():
    return draw(INPUTS, UNITS, seed=1), draw(UNITS, UNITS, seed=2), draw(UNITS, seed=3)


@pytest.fixture
def forms(monkeypatch):
    """The forms of the loops that are compiled."""
    monkeypatch.setattr("penstock.runtime.regions.compilation", lambda nodes, device: 0)
    found = []

    def noting(*arguments):
        found.append(loop_form(*arguments))
        return found[-1]

    monkeypatch.setattr(traced_loops, "loop_form", noting)
    return found


def gradients(**how):
    @tf.function
    def step(x, w, u, b):
        with tf.GradientTape() as tape:
            tape.watch([x, w, u, b])
            h = recurrent(x, w, u, b, **how)
            loss = tf.reduce_sum(h * h)
        return [h, *tape.gradient(loss, [x, w, u, b])]

    return step


def test_a_recurrent_net_multiplies_its_inputs_and_its_weights_gradients_once(forms):
    x, (w, u, b) = draw(ROUNDS, BATCH, INPUTS), weights()
    found = gradients()(*map(tf.constant, (x, w, u, b)))
    for got, wanted in zip(found, expected(x, w, u, b), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    assert not any(node.type == "MatMul" for node in forms[0].program.nodes if "x" in node.name)


@pytest.mark.parametrize(
    ("how", "order", "axis"),
    [
        ({"rows": lambda x, t: x[:, t]}, range(ROUNDS), 1),
        ({"rows": lambda x, t: tf.gather(x, t)}, range(ROUNDS), 0),
        ({"rows": lambda x, t: tf.gather(x, t, axis=1)}, range(ROUNDS), 1),
        ({"start": ROUNDS - 1, "add": -1}, range(ROUNDS - 1, -1, -1), 0),
        ({"rows": lambda x, t: x[ROUNDS - 1 - t]}, range(ROUNDS - 1, -1, -1), 0),
        ({"steps": 4, "start": 2}, range(2, 6), 0),
    ],
)
def test_rows_are_found_however_they_are_asked_for(forms, how, order, axis):
    x, (w, u, b) = draw(ROUNDS, BATCH, INPUTS), weights()
    given = x if axis == 0 else np.ascontiguousarray(x.swapaxes(0, 1))
    found = gradients(**how)(*map(tf.constant, (given, w, u, b)))
    wanted = list(expected(x, w, u, b, order))
    wanted[1] = wanted[1] if axis == 0 else wanted[1].swapaxes(0, 1)
    for got, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5)
    assert any("before the loop" in line for form in forms for line in form.describe())


@pytest.mark.parametrize(
    ("off", "before", "after"),
    [("", 1, 3), ("loop_sums", 1, 0), ("loop_row_products, other", 0, 3), ("all", 0, 0)],
)
def test_switches(monkeypatch, forms, off, before, after):
    monkeypatch.setenv("PENSTOCK_PATTERNS_OFF", off)
    x, (w, u, b) = draw(ROUNDS, BATCH, INPUTS), weights()
    found = gradients()(*map(tf.constant, (x, w, u, b)))
    np.testing.assert_allclose(found[3], expected(x, w, u, b)[3], rtol=1e-4, atol=1e-5)
    lines = [line for form in forms for line in form.describe()]
    assert sum("before the loop" in line for line in lines) == before
    assert sum("after the loop" in line for line in lines) == after


def test_rows_of_a_tensor_array(forms):
    x, (w, u, b) = draw(ROUNDS, BATCH, INPUTS), weights()

    def step(x, w, u, b):
        rows = tf.TensorArray(tf.float32, ROUNDS).unstack(x)
        return recurrent(rows, w, u, b, rows=lambda x, t: x.read(t))

    found = tf.function(step)(*map(tf.constant, (x, w, u, b)))
    np.testing.assert_allclose(found, expected(x, w, u, b)[0], rtol=1e-4, atol=1e-5)
    assert forms[0].before[0] == Rows(forms[0].before[0].feed, 0, listed=True)


@pytest.mark.parametrize("first", ["row", "state"])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_row_beside_the_state(forms, first, transposed):
    """As cells of compat.v1 multiply: one weight for both."""
    x, (w, u, b) = draw(ROUNDS, BATCH, INPUTS), weights()
    whole = np.concatenate([w, u] if first == "row" else [u, w])
    given = whole.T.copy() if transposed else whole

    @tf.function
    def step(x, weight, b):
        def round_(t, h):
            parts = [x[t], h] if first == "row" else [h, x[t]]
            z = tf.matmul(tf.concat(parts, 1), weight, transpose_b=transposed)
            return t + 1, tf.tanh(z + b)

        with tf.GradientTape() as tape:
            tape.watch([x, weight, b])
            zeros = tf.zeros([BATCH, UNITS])
            h = tf.while_loop(lambda t, h: t < ROUNDS, round_, [tf.constant(0), zeros])[1]
            loss = tf.reduce_sum(h * h)
        return [h, *tape.gradient(loss, [x, weight, b])]

    h, dx, dweight, db = step(*map(tf.constant, (x, given, b)))
    wanted = expected(x, w, u, b)
    parts = [wanted[2], wanted[3]] if first == "row" else [wanted[3], wanted[2]]
    whole = np.concatenate(parts)
    for got, right in (
        (h, wanted[0]),
        (dx, wanted[1]),
        (dweight, whole.T if transposed else whole),
        (db, wanted[4]),
    ):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5)
    assert sum("before the loop" in line for line in forms[0].describe()) == 1


def outputs_of(x, u, size=ROUNDS, place=lambda t: t):
    """The states of all rounds, through a TensorArray."""

    def round_(t, h, states):
        h = tf.tanh(x[t] + tf.matmul(h, u))
        return t + 1, h, states.write(place(t), h)

    states = tf.TensorArray(tf.float32, size, element_shape=[BATCH, UNITS])
    start = [tf.constant(0), tf.zeros([BATCH, UNITS]), states]
    return tf.while_loop(lambda t, *rest: t < ROUNDS, round_, start)[2].stack()


def states_and_gradients(x, u, weight, order=range(ROUNDS)):
    """All states, and the gradients of sum(weight * states), in double precision."""
    x, u = x.astype(np.float64), u.astype(np.float64)
    states = [np.zeros((BATCH, UNITS))]
    for t in range(ROUNDS):
        states.append(np.tanh(x[t] + states[-1] @ u))
    dh, dx, du = np.zeros((BATCH, UNITS)), np.zeros_like(x), np.zeros_like(u)
    for t in reversed(range(ROUNDS)):
        dx[t] = (dh + weight[order[t]]) * (1 - states[t + 1] ** 2)
        du, dh = du + states[t].T @ dx[t], dx[t] @ u.T
    return states[1:], dx, du


@pytest.mark.parametrize(
    ("size", "place", "zeroed"),
    [
        (ROUNDS, lambda t: t, 1),
        (ROUNDS, lambda t: ROUNDS - 1 - t, 1),
        (ROUNDS + 2, lambda t: t, 0),  # some elements are not read
        (2 * ROUNDS, lambda t: 2 * t, 0),
        (ROUNDS, lambda t: (3 * t) % ROUNDS, 0),  # no counter
    ],
)
def test_the_gradients_of_a_list_that_each_round_sets(forms, size, place, zeroed):
    x, u = draw(ROUNDS, BATCH, UNITS), weights()[1]
    weight = draw(size, BATCH, UNITS, seed=8)

    @tf.function
    def step(x, u):
        with tf.GradientTape() as tape:
            tape.watch([x, u])
            states = outputs_of(x, u, size, place)
            loss = tf.reduce_sum(states * weight)
        return [states, *tape.gradient(loss, [x, u])]

    states, dx, du = step(tf.constant(x), tf.constant(u))
    order = [int(place(t)) for t in range(ROUNDS)]
    wanted, *gradients = states_and_gradients(x, u, weight, order)
    np.testing.assert_allclose(states.numpy()[order], wanted, rtol=1e-4, atol=1e-5)
    for got, right in zip((dx, du), gradients, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5)
    assert sum(len(form.zeroed) for form in forms) == zeroed


def test_what_a_list_holds_after_it_was_read_and_zeroed(forms):
    @tf.function
    def run(x):
        def round_(t, total, held):
            row = held.read(t)
            return t + 1, total + row, held.write(t, tf.zeros_like(row))

        held = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(x)
        _, total, held = tf.while_loop(lambda t, *rest: t < 3, round_, [0, tf.zeros([2]), held])
        return total, held.stack()

    total, left = run(tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    assert total.numpy().tolist() == [9.0, 12.0]
    assert left.numpy().tolist() == [[0.0, 0.0]] * 3
    assert len(forms[0].zeroed) == 1


def test_a_list_that_is_read_after_it_was_zeroed(forms):
    @tf.function
    def run(x):
        def round_(t, total, held):
            held = held.write(t, tf.zeros_like(total))
            return t + 1, total + held.read(t), held

        held = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(x)
        return tf.while_loop(lambda t, *rest: t < 3, round_, [0, tf.zeros([2]), held])[1]

    assert run(tf.ones([3, 2])).numpy().tolist() == [0.0, 0.0]


def test_a_session_takes_the_same_way(forms):
    x, (w, u, b) = draw(ROUNDS, BATCH, INPUTS), weights()
    with tf.Graph().as_default():
        place = tf.compat.v1.placeholder(tf.float32, [None, None, INPUTS])
        u_ = tf.constant(u)
        h = recurrent(place, tf.constant(w), u_, tf.constant(b), batch=tf.shape(place)[1])
        (du,) = tf.gradients(tf.reduce_sum(h * h), [u_])
        with tf.compat.v1.Session() as session:
            for _ in range(3):  # a size is compiled once it comes back
                got = session.run([h, du], {place: x})
    for value, wanted in zip(got, (expected(x, w, u, b)[i] for i in (0, 3)), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-5)
    assert [len(form.sums) for form in forms] == [0, 1]


def test_a_row_that_is_not_there_is_still_an_error(forms):
    x, (w, u, b) = draw(ROUNDS - 1, BATCH, INPUTS), weights()
    with pytest.raises(tf.errors.InvalidArgumentError, match=str(ROUNDS - 1)):
        gradients(rows=lambda x, t: tf.gather(x, t))(*map(tf.constant, (x, w, u, b)))


def test_loops_that_may_end_early_are_left_alone(forms):
    @tf.function
    def halved(x):
        return tf.while_loop(
            lambda i, v: tf.logical_and(i < 100, tf.reduce_max(v) > 1.0),
            lambda i, v: (i + 1, v / 2.0),
            (tf.constant(0), x),
        )

    count, value = halved(tf.constant([64.0, 3.0]))
    assert (int(count), value.numpy().tolist()) == (6, [1.0, 3.0 / 64])
    assert forms == []


def test_what_a_condition_checks_is_checked(forms):
    @tf.function
    def count(most):
        def goes_on(i):
            with tf.control_dependencies([tf.debugging.assert_less(i, most)]):
                return i < 5

        return tf.while_loop(goes_on, lambda i: (i + 1,), [tf.constant(0)])[0]

    assert int(count(tf.constant(9))) == 5
    with pytest.raises(tf.errors.InvalidArgumentError):
        count(tf.constant(3))
    assert forms == []


def test_a_sum_that_the_round_also_uses_stays_in_the_loop(forms):
    x = draw(4, 6, 6)

    @tf.function
    def total(x):
        def round_(i, s, seen):
            s = s + tf.matmul(x[i], x[i], transpose_a=True)
            return i + 1, s, seen + tf.reduce_max(s)

        zeros = tf.zeros([6, 6])
        return tf.while_loop(lambda i, s, m: i < 4, round_, (tf.constant(0), zeros, 0.0))

    _, s, seen = total(tf.constant(x))
    sums = np.cumsum([v.T @ v for v in x.astype(np.float64)], 0)
    np.testing.assert_allclose(s, sums[-1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(seen, sums.max((1, 2)).sum(), rtol=1e-4)
    assert not forms[0].sums


def test_a_sum_starts_where_it_was(forms):
    x, start = draw(4, 3, 20), draw(20, 20, seed=1)

    @tf.function
    def total(x, start):
        def round_(i, s):
            return i + 1, s + tf.matmul(x[i], x[i], transpose_a=True)

        return tf.while_loop(lambda i, s: i < 4, round_, (tf.constant(0), start))

    count, s = total(tf.constant(x), tf.constant(start))
    wanted = start + sum(v.T @ v for v in x.astype(np.float64))
    np.testing.assert_allclose(s, wanted, rtol=1e-4, atol=1e-5)
    assert int(count) == 4
    assert list(forms[0].sums)
    assert not forms[0].stacks  # the rows of x are there already


def test_a_loop_without_rounds_and_one_of_a_single_round():
    @tf.function
    def run(x, n):
        return tf.while_loop(
            lambda i, s: i < tf.shape(n)[0],
            lambda i, s: (i + 1, s + tf.matmul(x[i], x[i], transpose_a=True)),
            (tf.constant(0), tf.ones([20, 20])),
        )

    x = draw(1, 3, 20)
    assert run(tf.constant(x), tf.zeros([0]))[1].numpy().tolist() == np.ones((20, 20)).tolist()
    found = run(tf.constant(x), tf.zeros([1]))[1]
    np.testing.assert_allclose(found, 1 + x[0].T @ x[0], rtol=1e-5, atol=1e-5)


def test_counters_that_would_overflow_are_carried(forms):
    @tf.function
    def run():
        top = np.int32(2**31 - 3)
        return tf.while_loop(
            lambda i, k: i < 5, lambda i, k: (i + 1, k + 1), (tf.constant(0), tf.constant(top))
        )

    assert [int(v) for v in run()] == [5, -(2**31) + 2]
    assert list(forms[0].counters) == [min(forms[0].counters)]


def test_second_order():
    """The gradient of a gradient goes through the loops that the first one made."""
    x, (w, u, b) = draw(3, BATCH, INPUTS), weights()

    def penalty(u):
        with tf.GradientTape() as inner:
            inner.watch(u)
            h = recurrent(tf.constant(x), tf.constant(w), u, tf.constant(b), steps=3)
            loss = tf.reduce_sum(h * h)
        return tf.reduce_sum(inner.gradient(loss, u) ** 2)

    @tf.function
    def second(u):
        with tf.GradientTape() as outer:
            outer.watch(u)
            value = penalty(u)
        return value, outer.gradient(value, u)

    _, gradient = second(tf.constant(u))
    direction, step = draw(UNITS, UNITS, seed=9).astype(np.float64), 1e-5

    def plain(u):
        return (expected(x, w, u, b, range(3))[3] ** 2).sum()

    slope = (plain(u + step * direction) - plain(u - step * direction)) / (2 * step)
    np.testing.assert_allclose((gradient.numpy() * direction).sum(), slope, rtol=2e-3)


def test_what_counters_say():
    assert all(Counter(*c).covers(4, 4) for c in ((0, 1), (3, -1)))
    assert not any(Counter(*c).covers(4, n) for *c, n in ((0, 1, 5), (0, 2, 7), (1, 1, 4)))
    assert [Counter(0, 3).within(2, n) for n in (3, 4)] == [False, True]


def test_the_program_that_is_given_stays_as_it_was(forms):
    @tf.function
    def run(x):
        return tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + x[i]), (0, x[0]))

    run(tf.constant(draw(4, 2)))
    (loop,) = [
        o
        for o in run.get_concrete_function(tf.TensorSpec([4, 2])).graph.get_operations()
        if o.type in ("While", "StatelessWhile")
    ]
    program = traced_body(loop.attrs["body"], "CPU").program
    before = str(program)
    counter = next(i for i, f in enumerate(program.feeds) if f.dtypes[0] is tf.int32)
    fixed = frozenset(i for i, (n, _) in enumerate(program.fetches) if n is program.feeds[i])
    dims = dict.fromkeys(fixed, (4, 2))
    form = loop_form(program, LoopFacts(4, {counter: 0}, fixed, dims), lambda *_: [])
    assert str(program) == before
    assert any(n.type == "PenstockStackRead" for n in form.program.nodes)
    assert not any(n.type == "StridedSlice" for n in form.program.nodes)
