"""Regions whose sizes, list lengths or values only a run tells: what is compiled, and when."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import determinism
from penstock.runtime import first_runs, host_work, items, regions
from penstock.runtime.executable import Executable
from penstock.runtime.needed_values import MOST_VALUES


@pytest.fixture
def compiled(monkeypatch):
    """The types of the nodes of each region that was compiled meanwhile."""
    monkeypatch.setattr(regions, "compilation", lambda nodes, device: 0)  # costs nothing
    found = []
    original = Executable.__init__

    def noted(self, region, **options):
        found.append([n.type for n in region.nodes])
        original(self, region, **options)

    monkeypatch.setattr(Executable, "__init__", noted)
    return found


def draw(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def recurrent(x, w):
    """The sum of what a recurrent net gives, computed by NumPy."""
    h = np.zeros((x.shape[0], w.shape[1]), np.float32)
    for t in range(x.shape[1]):
        h = np.tanh(x[:, t] @ w + h)
    return h


def net(w):
    @tf.function(input_signature=[tf.TensorSpec([None, None, 3])])
    def run(x):
        def body(t, h):
            return t + 1, tf.tanh(tf.matmul(x[:, t], w) + h)

        h = tf.zeros([tf.shape(x)[0], 5])
        return tf.while_loop(lambda t, _: t < tf.shape(x)[1], body, [0, h])[1]

    return run


# sizes


def test_a_new_size_runs_uncompiled_loops_too_and_is_compiled_when_it_comes_back(compiled):
    w, x = draw(3, 5), draw(4, 6, 3)
    run = net(w)
    for executables in (0, 1, 1):
        np.testing.assert_allclose(run(x), recurrent(x, w), rtol=1e-5)
        assert len(compiled) == executables
    assert [t for t in compiled[0] if "While" in t]  # the loop is part of the one region


def test_loops_run_on_the_host_until_that_cost_as_much_as_to_compile_them(compiled, monkeypatch):
    costs = []

    def compilation(nodes, device):
        costs.append(first_runs.compilation(nodes, device))
        return 500 * host_work.OVERHEAD

    monkeypatch.setattr(regions, "compilation", compilation)
    w, x = draw(3, 5), draw(4, 12, 3)
    run = net(w)
    counts = []
    for _ in range(12):
        np.testing.assert_allclose(run(x), recurrent(x, w), rtol=1e-5)
        counts.append(len(compiled))
    assert counts == sorted(counts)
    assert (counts[1], counts[-1]) == (0, 1)
    (cost,) = costs  # asked for once
    assert cost > host_work.COMPILATION + 8 * host_work.EACH_NODE  # the nodes of bodies count


def test_what_products_cost_follows_from_their_sizes():
    a, b, out = np.ones((20, 30)), np.ones((30, 50)), np.ones((20, 50))
    spent = {}
    for kind in ("AddV2", "MatMul"):
        budget = host_work.Budget()
        budget.spend(kind, [a, b], [out])
        spent[kind] = budget.spent
    assert spent["AddV2"] == host_work.OVERHEAD + a.size + b.size
    assert spent["MatMul"] - spent["AddV2"] == 20 * 30 * 50 // host_work.PRODUCTS


def test_many_sizes_are_not_compiled(compiled):
    w = draw(3, 5)
    run = net(w)
    for rows in range(1, 12):
        x = draw(rows, 3, 3)
        np.testing.assert_allclose(run(x), recurrent(x, w), rtol=1e-5)
    assert compiled == []


def test_long_loops_are_compiled_in_the_middle(compiled, monkeypatch):
    monkeypatch.setattr(host_work, "LONGEST", 60 * host_work.OVERHEAD)
    monkeypatch.setattr(regions, "TINY_NODES", 0)
    w, x = draw(3, 5), draw(4, 40, 3)
    np.testing.assert_allclose(net(w)(x), recurrent(x, w), rtol=1e-5)
    assert compiled  # what a round computes
    assert not [t for types in compiled for t in types if "While" in t]


def test_deterministic_steps_are_compiled_at_once(compiled, monkeypatch):
    monkeypatch.setattr(determinism.switch, "fixed", True)
    w, x = draw(3, 5), draw(4, 6, 3)
    first = net(w)(x)
    assert len(compiled) == 1
    np.testing.assert_allclose(first, recurrent(x, w), rtol=1e-5)


def test_bodies_without_host_kernels_are_compiled_at_once(compiled):
    kernel = tf.ones([1, 1, 1, 1])

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def run(x):
        image = x[None, :, :, None]
        add = lambda t, y: (t + 1, y + tf.nn.conv2d(image, kernel, 1, "SAME"))  # noqa: E731
        return tf.while_loop(lambda t, _: t < 3, add, [0, tf.zeros_like(image)])[1]

    np.testing.assert_array_equal(np.squeeze(run(draw(2, 3))), 3 * draw(2, 3))
    assert len(compiled) == 1


# constants that several regions take


def test_an_axis_that_several_places_use_cuts_no_region(compiled):
    """Equal constants are one node, which also an operation on the host takes here."""

    @tf.function(input_signature=[tf.TensorSpec([None, 300]), tf.TensorSpec([None], tf.string)])
    def run(x, names):
        joined = tf.strings.reduce_join(names[:, None], axis=1)
        h = x
        for _ in range(8):
            h = tf.nn.softmax(tf.concat([h, x], axis=1)[:, :300])
        return tf.reduce_sum(h, axis=1), tf.strings.length(joined)

    for _ in range(2):
        sums, lengths = run(draw(30, 300), tf.constant(["a"] * 30))
    np.testing.assert_allclose(sums, np.ones(30), rtol=1e-5)
    np.testing.assert_array_equal(lengths, np.ones(30))
    assert len([types for types in compiled if "ConcatV2" in types]) == 1


# values


def powers(n):
    """The first powers of 1.5 in a list whose length is a value."""
    rows = tf.TensorArray(tf.float32, n, element_shape=[])
    body = lambda t, v, rows: (t + 1, v * 1.5, rows.write(t, v))  # noqa: E731
    return tf.while_loop(lambda t, *_: t < n, body, [0, tf.constant(1.0), rows])[2].stack()


def test_a_length_that_is_a_value_is_a_constant_beside_a_loop(compiled):
    run = tf.function(powers, input_signature=[tf.TensorSpec([], tf.int32)])
    for n in (5, 5, 7, 5):
        np.testing.assert_allclose(run(n), 1.5 ** np.arange(n), rtol=1e-6)
    wholes = [types for types in compiled if "StatelessWhile" in types]
    assert len(wholes) == 3  # the trace that lacked the length, and one for each
    assert all("TensorListReserve" in types for types in wholes)


def test_lengths_that_are_always_new_are_no_constants(compiled):
    run = tf.function(powers, input_signature=[tf.TensorSpec([], tf.int32)])
    for n in range(1, 30):
        np.testing.assert_allclose(run(n), 1.5 ** np.arange(n), rtol=1e-6)
    wholes = [types for types in compiled if "TensorListReserve" in types]
    assert len(wholes) <= MOST_VALUES + 1
    # lists of ever new lengths come in then: their loop is compiled for a few of them alone
    assert len(compiled) <= MOST_VALUES + 1 + regions.FORMS


def test_values_inside_of_loops_and_conditionals_are_found_outside(compiled):
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.int32)])
    def run(n, seed):
        def body(t, total):
            more = tf.cond(total > 5.0, lambda: tf.ones([n]), lambda: tf.zeros([n]) + 2.0)
            return t + 1, total + tf.reduce_sum(more) + tf.cast(seed, tf.float32)

        return tf.while_loop(lambda t, _: t < 3, body, [0, 0.0])[1]

    for seed in range(20):  # which is no part of the key
        totals = [0.0]
        for _ in range(3):
            totals.append(totals[-1] + (4 if totals[-1] > 5 else 8) + seed)
        np.testing.assert_allclose(run(4, seed), totals[-1])
    assert len(compiled) == 2


def test_what_changes_from_round_to_round_is_no_constant(compiled):
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def run(n):
        body = lambda k, total: (k - 1, total + tf.reduce_sum(tf.ones([k])))  # noqa: E731
        return tf.while_loop(lambda k, _: k > 0, body, [n, 0.0])[1]

    for n in range(1, 6):
        np.testing.assert_allclose(run(n), n * (n + 1) / 2)
    assert len([types for types in compiled if "StatelessWhile" in types]) <= 1


def test_sizes_that_another_region_computes_are_known(compiled):
    @tf.function(input_signature=[tf.TensorSpec([None, 40]), tf.TensorSpec([], tf.string)])
    def run(x, name):
        size = tf.shape(x)[0]
        number = tf.cast(tf.strings.to_number(name), tf.float32)  # on the host
        h = x * number
        for _ in range(6):
            h = tf.tanh(tf.reshape(h, [size, 20, 2]))
        return tf.reshape(h, [size * 40])

    wanted = draw(100, 40) * 2
    for _ in range(6):
        wanted = np.tanh(wanted)
    for _ in range(3):
        np.testing.assert_allclose(run(draw(100, 40), "2"), wanted.reshape(-1), rtol=1e-5)
    assert len(compiled) == 2  # the trace that lacked the size, and the executable


def test_sizes_that_a_branch_or_round_refuses_are_no_error_where_it_does_not_run(compiled):
    def half(x):
        return tf.reshape(x, [2, 2])

    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([]), tf.TensorSpec([])])
    def run(x, limit, rounds):
        for _ in range(8):
            x = tf.abs(x)
        total = tf.cond(limit > 0.0, lambda: half(x), lambda: tf.zeros([2, 2]))
        add = lambda t, y: (t + 1.0, y + half(x))  # noqa: E731
        return tf.while_loop(lambda t, _: t < rounds, add, [0.0, total])[1]

    for _ in range(3):
        np.testing.assert_array_equal(run(np.ones(4), 0.0, 0.0), np.zeros((2, 2)))
        np.testing.assert_array_equal(run(np.ones(3), 0.0, 0.0), np.zeros((2, 2)))
        np.testing.assert_array_equal(run(np.ones(4), 1.0, 2.0), np.full((2, 2), 3))
    assert compiled
    for limit, rounds in ((1.0, 0.0), (0.0, 1.0)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="3 values, but the"):
            run(np.ones(3), limit, rounds)


def test_gradients_of_a_branch_that_is_not_taken_need_no_sizes_of_it(compiled):
    """They take sizes that the branch would have given, which are zeros then."""

    @tf.function(input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([], tf.bool)])
    def run(x, taken):
        with tf.GradientTape() as tape:
            tape.watch(x)
            tiled = lambda: x + tf.tile(x[:1], [tf.shape(x)[0], 1])  # noqa: E731
            h = tf.cond(taken, tiled, lambda: x * 3.0)
            rows = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[None])
            write = lambda t, rows: (t + 1, rows.write(t, h[:, t]))  # noqa: E731
            rows = tf.while_loop(lambda t, _: t < tf.shape(h)[1], write, [0, rows])[1]
            loss = tf.reduce_sum(rows.stack())
        return tape.gradient(loss, x)

    for _ in range(6):
        np.testing.assert_array_equal(run(np.ones((2, 2)), True), [[3, 3], [1, 1]])
        np.testing.assert_array_equal(run(np.ones((2, 2)), False), np.full((2, 2), 3))


# lists


def test_rounds_on_the_host_are_not_compiled_for_each_length_of_a_list(compiled):
    @tf.function(input_signature=[tf.TensorSpec([None, 8])])
    def run(x):
        rows, t = tf.TensorArray(tf.float32, 0, dynamic_size=True), 0
        while tf.reduce_sum(x) < 1e4:  # nobody knows how often
            for _ in range(4):
                x = x + tf.tanh(x)
            rows = rows.write(t, x)
            t += 1
        return rows.stack()

    x, wanted = np.ones((2, 8), np.float32) * 50, []
    while x.sum() < 1e4:
        for _ in range(4):
            x = x + np.tanh(x)
        wanted.append(x)
    for _ in range(3):
        np.testing.assert_allclose(run(np.ones((2, 8), np.float32) * 50), wanted, rtol=1e-5)
    assert len(wanted) > 3 * regions.FORMS
    assert len(compiled) <= 3 * regions.FORMS


def test_loops_whose_sizes_grow_stay_uncompiled_until_that_costs_as_much(compiled, monkeypatch):
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def run(x):
        def body(x):
            for _ in range(4):
                x = tf.tanh(x) + x
            return tf.concat([x, x[:1]], 0)

        shapes = [tf.TensorShape([None])]
        return tf.while_loop(lambda x: tf.size(x) < 7, body, [x], shape_invariants=shapes)[0]

    def wanted(x):
        while x.size < 7:
            for _ in range(4):
                x = np.tanh(x) + x
            x = np.append(x, x[:1])
        return x

    monkeypatch.setattr(regions, "TINY_ELEMENTS", 0)
    monkeypatch.setattr(items, "compilation", lambda nodes, device: 150 * host_work.OVERHEAD)
    monkeypatch.setattr(items, "CALL_NODES", 0)  # the rounds are small
    x = draw(3)
    counts = []
    for _ in range(7):
        np.testing.assert_allclose(run(x), wanted(x), rtol=1e-5)
        counts.append(len(compiled))
    assert counts[2] == 1  # the trace that could not have the loop
    assert counts[-1] > 1  # the rounds


def test_each_further_size_must_come_back_more_often(compiled):
    run = tf.function(
        lambda x: tf.reduce_sum(tf.tanh(x) * 2.0 + tf.sin(x) * tf.exp(-x), axis=1) + x[:, 0],
        input_signature=[tf.TensorSpec([None, 3000])],
    )
    counts = []
    for _ in range(4):
        for rows in range(2, 10):
            run(draw(rows, 3000))
        counts.append(len(compiled))
    assert counts == [0, regions.MORE_SIZES, regions.MORE_SIZES, 2 * regions.MORE_SIZES]


def test_an_operation_without_host_kernel_does_not_compile_each_size_of_those_beside_it(compiled):
    image, filters = draw(1, 6, 6, 2), draw(3, 3, 2, 1)

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def run(x):
        chosen = tf.exp(tf.sort(x)) / tf.reduce_sum(tf.exp(x)) + tf.cumsum(x * 0.0)
        smooth = tf.nn.depthwise_conv2d(image * tf.reduce_sum(chosen), filters, [1] * 4, "SAME")
        return tf.tanh(chosen), tf.tanh(smooth)

    expected = np.tanh(tf.nn.depthwise_conv2d(image, filters, [1] * 4, "SAME"))
    for count in range(30, 40):
        x = draw(count)
        chosen, smooth = run(x)
        np.testing.assert_allclose(chosen, np.tanh(np.exp(np.sort(x)) / np.exp(x).sum()), rtol=1e-5)
        np.testing.assert_allclose(smooth, expected, rtol=1e-4, atol=1e-6)
    assert len(compiled) == regions.SIZES_COMPILED
    run(draw(39))  # comes back
    assert len(compiled) == regions.SIZES_COMPILED + 1
