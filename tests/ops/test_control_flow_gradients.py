"""Gradients of conditionals and loops: eager, in functions, in graphs.

They keep values with PenstockStackWrite and PenstockStackRead where the bound of the loop is known,
else in lists, with TensorListPushBack and TensorListPopBack.
"""

import numpy as np
import pytest

import penstock as tf
from penstock.graph.trip_count import bound_of

F = np.float32


def gradient_all_ways(function, *values, order=1):
    """Derivatives in all arguments: tapes eagerly and in a function, and tf.gradients."""

    def tapes(*tensors, order=order):
        if order == 0:
            return tf.reduce_sum(function(*tensors))
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            value = tapes(*tensors, order=order - 1)
            value = value if order == 1 else tf.add_n([tf.reduce_sum(g * g) for g in value])
        return tape.gradient(value, list(tensors), unconnected_gradients="zero")

    def in_graph(*tensors):
        value = tf.reduce_sum(function(*tensors))
        for left in range(order - 1, -1, -1):
            found = tf.gradients(value, list(tensors), unconnected_gradients="zero")
            if left:
                value = tf.add_n([tf.reduce_sum(g * g) for g in found])
        return found

    eager = tapes(*map(tf.constant, values))
    traced = tf.function(tapes)(*map(tf.constant, values))
    outside = tf.function(function)

    def around(*tensors, order=order):
        if order == 0:
            return tf.reduce_sum(outside(*tensors))
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            value = around(*tensors, order=order - 1)
            value = value if order == 1 else tf.add_n([tf.reduce_sum(g * g) for g in value])
        return tape.gradient(value, list(tensors), unconnected_gradients="zero")

    from_outside = around(*map(tf.constant, values))
    with tf.Graph().as_default():
        places = [tf.compat.v1.placeholder(v.dtype, v.shape) for v in values]
        found = in_graph(*places)
        with tf.compat.v1.Session() as session:
            graph = session.run(found, dict(zip(places, values, strict=True)))
    for other in (traced, from_outside, graph):
        for a, b in zip(eager, other, strict=True):
            np.testing.assert_allclose(np.asarray(b), np.asarray(a), 1e-4, 1e-5)
    return [np.asarray(g) for g in eager]


X = np.array([0.3, -0.5, 0.7])
W = np.array([[0.5, -0.2, 0.1], [0.3, 0.4, -0.6], [-0.1, 0.2, 0.9]])


def limit(n, x, bound):
    """A number of rounds: one that the graph does not tell when there is to be no bound."""
    return n if bound is not None else n + tf.cast(tf.reduce_sum(x) * 0, tf.int32)


def recurrent(bound, told=True):
    def run(x, w):
        end = limit(4, x, bound if told else 4)
        return tf.while_loop(
            lambda i, h: i < end,
            lambda i, h: (i + 1, tf.tanh(tf.linalg.matvec(w, h)) + x),
            (tf.constant(0), x),
            maximum_iterations=bound,
        )[1]

    return run


def branching(x, w):
    return tf.cond(
        tf.reduce_sum(x) > 0,
        lambda: tf.linalg.matvec(w, tf.exp(x)) * x,
        lambda: tf.sin(x),
    )


def switching(x, w):
    return tf.switch_case(
        tf.cast(tf.reduce_sum(x) > 0, tf.int32), [lambda: x * x, lambda: tf.exp(x) * w[0] * x]
    )


def loop_of_branches(bound):
    def run(x, w):
        def body(i, h):
            h = tf.cond(i % 2 == 0, lambda: tf.sin(h) * w[0], lambda: h * h + w[1])
            return i + 1, h

        end = limit(3, x, bound)
        return tf.while_loop(lambda i, h: i < end, body, (0, x), maximum_iterations=bound)[1]

    return run


def loop_in_loop(bound):
    def run(x, w):
        def inner(i, h):
            loop = tf.while_loop(
                lambda j, g: j < limit(2, x, bound),
                lambda j, g: (j + 1, tf.sin(g) * w[i] + x),
                (0, h),
                maximum_iterations=bound,
            )
            return i + 1, loop[1]

        end = limit(3, x, bound)
        return tf.while_loop(lambda i, h: i < end, inner, (0, x), maximum_iterations=bound)[1]

    return run


CASES = {
    "recurrent, bounded": recurrent(6),
    "recurrent": recurrent(None),
    "recurrent, bounded by counting": recurrent(None, told=False),
    "cond": branching,
    "switch_case": switching,
    "branches in a loop, bounded": loop_of_branches(3),
    "branches in a loop": loop_of_branches(None),
    "loops in a loop, bounded": loop_in_loop(3),
    "loops in a loop": loop_in_loop(None),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    function = CASES[name]
    found = gradient_all_ways(function, X, W)
    rng = np.random.default_rng(0)
    direction = [rng.normal(size=v.shape) for v in (X, W)]

    def moved(step):
        at = [tf.constant(v + step * d) for v, d in zip((X, W), direction, strict=True)]
        return float(tf.reduce_sum(function(*at)))

    slope = sum((g * d).sum() for g, d in zip(found, direction, strict=True))
    np.testing.assert_allclose(slope, (moved(1e-6) - moved(-1e-6)) / 2e-6, 1e-5)


@pytest.mark.parametrize("name", [n for n in CASES if "loop" not in n and n != "recurrent"])
def test_second_derivatives(name):
    gradient_all_ways(CASES[name], X, W, order=2)


@pytest.mark.parametrize("name", [n for n in CASES if "loop" in n and "bounded" in n])
def test_second_derivatives_of_nested_loops(name):
    gradient_all_ways(CASES[name], X, W, order=2)


def test_derivatives_without_a_bound_are_those_with_one():
    def third(bound, told):
        @tf.function
        def run(x, w):
            with tf.GradientTape() as last:
                last.watch(x)
                with tf.GradientTape() as outer:
                    outer.watch(x)
                    with tf.GradientTape() as tape:
                        tape.watch(x)
                        y = recurrent(bound, told)(x, w)
                    gradient = tape.gradient(y, x)
                second = outer.gradient(gradient, x)
            return second, last.gradient(second, x)

        return run(tf.constant(X), tf.constant(W))

    for got, wanted in zip(third(None, True), third(6, False), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_how_values_are_kept():
    def kinds(bound, told=True):
        def run(x, w):
            return tf.gradients(recurrent(bound, told)(x, w), [x, w])

        graph = tf.function(run).get_concrete_function(tf.constant(X), tf.constant(W)).graph
        loops = [op for op in graph.get_operations() if op.type == "StatelessWhile"]
        assert len(loops) == 2
        inside = {o.type for loop in loops for o in loop.attrs["body"].graph.get_operations()}
        around = {op.type for op in graph.get_operations()}
        return {t for t in inside | around if t.startswith(("Penstock", "TensorList"))}

    assert kinds(6) == {"PenstockStackWrite", "PenstockStackRead"}
    assert kinds(None, told=False) == {"PenstockStackWrite", "PenstockStackRead"}
    assert kinds(None) == {"TensorListPushBack", "TensorListPopBack"}


def test_gradients_of_small_values_that_a_function_captures():
    scale = tf.constant(0.5)

    @tf.function(autograph=False)
    def run(x):
        _, x = tf.while_loop(lambda i, _: i < 3, lambda i, h: (i + 1, h * scale), (0, x))
        return x

    with tf.GradientTape() as tape:
        tape.watch(scale)
        y = run(tf.constant(2.0))
    assert float(tape.gradient(y, scale)) == 1.5


def test_gradients_of_rows_add_up_in_place():
    def run(x):
        return tf.foldl(lambda a, row: a * row, x) + tf.reduce_sum(x, 0)

    def slope(x):
        return tf.gradients(run(x), x)

    graph = tf.function(slope, autograph=False).get_concrete_function(tf.constant(X)).graph
    loop = [op for op in graph.get_operations() if op.type == "StatelessWhile"][-1]
    calls = [op for op in loop.attrs["body"].graph.get_operations() if "f" in op.attrs]
    inside = {op.type for call in calls for op in call.attrs["f"].graph.get_operations()}
    assert "PenstockStackAdd" in inside
    assert "ZerosLike" not in {t.op.type for call in calls for t in call.inputs}


@pytest.mark.parametrize("bound", [None, 6])
def test_gradients_of_variables(bound):
    x, w = tf.Variable(X), tf.Variable(W)

    def slope():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(recurrent(bound)(x, w))
        return tape.gradient(y, [x, w])

    for a, b in zip(slope(), tf.function(slope)(), strict=True):
        np.testing.assert_allclose(a, b, 1e-6)


def test_gradients_of_a_variable_that_a_branch_in_a_loop_reads():
    w = tf.Variable(W)

    def slope(x):
        def body(i, h):
            return i + 1, tf.cond(i < 2, lambda: tf.linalg.matvec(w, tf.sin(h)), lambda: h * h)

        with tf.GradientTape() as tape:
            y = tf.while_loop(lambda i, h: i < 3, body, (0, x), maximum_iterations=3)[1]
        return tape.gradient(y, w)

    np.testing.assert_allclose(slope(tf.constant(X)), tf.function(slope)(tf.constant(X)), 1e-6)


def test_functions_called_in_a_loop():
    """A call is a PartitionedCall, or a StatefulPartitionedCall where it reads a variable."""
    w = tf.Variable(W)
    layer = tf.function(lambda h: tf.linalg.matvec(w, tf.tanh(h)))
    double = tf.function(lambda h: h * 2)

    def slope(x):
        with tf.GradientTape() as tape:
            y = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, double(layer(h))), (0, x))
            y = tf.reduce_sum(y[1])
        return tape.gradient(y, w)

    traced = tf.function(slope)
    np.testing.assert_allclose(slope(tf.constant(X)), traced(tf.constant(X)), 1e-6)
    graph = traced.get_concrete_function(tf.constant(X)).graph
    loops = [op for op in graph.get_operations() if op.type == "While"]
    kinds = {op.type for op in loops[0].attrs["body"].graph.get_operations()}
    assert {"PartitionedCall", "StatefulPartitionedCall"} <= kinds


def test_gradients_past_a_variable_that_the_loop_writes():
    v = tf.Variable(2.0)

    def slope(x):
        def body(i, h):
            v.assign_add(1.0)
            return i + 1, h * v

        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.while_loop(lambda i, h: i < 3, body, (0, x))[1]
        return tape.gradient(y, x)

    for way in (slope, tf.function(slope)):
        v.assign(2.0)
        assert float(way(tf.constant(1.5))) == 3 * 4 * 5
        assert float(v) == 5


def test_sparse_gradients_in_a_loop():
    table = tf.Variable(np.ones((5, 3), F))

    def slope(ids):
        def body(i, h):
            return i + 1, h * tf.gather(table, ids[i])

        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.while_loop(lambda i, h: i < 3, body, (0, tf.ones([3])))[1])
        return tf.convert_to_tensor(tape.gradient(y, table))

    expected = np.zeros((5, 3), F)
    expected[[1, 4]] = [[2], [1]]
    for way in (slope, tf.function(slope)):
        np.testing.assert_array_equal(way(tf.constant([1, 1, 4])), expected)


def test_gradients_for_sizes_that_vary():
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.sin(h) * x), (0, x))[1]
        return tape.gradient(y, x)

    traced = tf.function(slope, input_signature=[tf.TensorSpec([None], tf.float64)])
    for n in (3, 3, 3, 2):
        x = tf.constant(X[:n])
        np.testing.assert_allclose(traced(x), slope(x), 1e-9)


def test_gradients_stop_without_back_prop():
    @tf.function
    def slope(x):
        y = tf.while_loop(lambda h: h < 9, lambda h: (h * 2,), (x,), back_prop=False)[0]
        return tf.gradients(y, x, unconnected_gradients="zero")[0]

    assert float(slope(tf.constant(1.0))) == 0


@pytest.mark.parametrize(
    ("bound", "cond", "body", "start"),
    [
        (5, lambda i: i < 5, lambda i: i + 1, 0),
        (3, lambda i: i <= 5, lambda i: i + 2, 0),
        (3, lambda i: i <= 4, lambda i: 2 + i, 0),
        (3, lambda i: i > 5, lambda i: i - 2, 10),
        (3, lambda i: i >= 5, lambda i: i - 2, 9),
        (5, lambda i: 5 > tf.identity(i), lambda i: i + 1, 0),  # noqa: SIM300
        (2, lambda i: (i < 5) & (i < 2), lambda i: i + 1, 0),
        (0, lambda i: i < 5, lambda i: i + 1, 7),
        (None, lambda i: i < 5, lambda i: i * 2, 1),
        (None, lambda i: i < 5, lambda i: i - 1, 0),
        (None, lambda i: (i < 5) | (i < 7), lambda i: i + 1, 0),
        (None, lambda i: i < i + 1, lambda i: i + 1, 0),
    ],
)
def test_bound_of_a_loop_that_counts(bound, cond, body, start):
    with tf.Graph().as_default():
        (result,) = tf.while_loop(cond, lambda i: (body(i),), (tf.constant(start),))
        assert bound_of(result.op) == bound
        if bound is not None:
            rounds = tf.while_loop(
                lambda i, n: cond(i), lambda i, n: (body(i), n + 1), (tf.constant(start), 0)
            )[1]
            with tf.compat.v1.Session() as session:
                assert session.run(rounds) == bound


def test_a_counter_that_leaves_its_range_is_no_bound():
    """It goes on from the other end, so the loop makes more rounds than steps to the limit."""

    @tf.function
    def power(x, most):
        def goes_on(i, n, y):
            return tf.logical_and(i < tf.constant(120, tf.int8), n < most)

        def multiplied(i, n, y):
            return i + tf.constant(100, tf.int8), n + 1, y * x

        with tf.GradientTape() as tape:
            tape.watch(x)
            start = (tf.constant(0, tf.int8), 0, tf.constant(1.0))
            _, rounds, y = tf.while_loop(goes_on, multiplied, start)
        return rounds, y, tape.gradient(y, x)

    rounds, y, slope = power(tf.constant(2.0), tf.constant(5))
    assert (int(rounds), float(y), float(slope)) == (5, 32.0, 80.0)


def test_graph_def_and_back():
    def build(x):
        y = loop_of_branches(3)(x, tf.constant(W))
        return tf.identity(y, name="y"), tf.identity(tf.gradients(y, x)[0], name="slope")

    first, second = tf.Graph(), tf.Graph()
    with first.as_default():
        build(tf.compat.v1.placeholder(tf.float64, [3], name="x"))
    with second.as_default():
        tf.import_graph_def(first.as_graph_def(), name="")
    results = []
    for graph in (first, second):
        with tf.compat.v1.Session(graph=graph) as session:
            results.append(session.run(["y:0", "slope:0"], {"x:0": X}))
    np.testing.assert_array_equal(results[0], results[1])
