"""Conditionals and loops: eager, in functions, in graphs; gradients, effects, errors.

The gradients keep values with PenstockStackWrite and PenstockStackRead where the bound of the loop
is known, else in lists, with TensorListPushBack and TensorListPopBack. Error classes were seen in
TensorFlow 2.21.
"""

import numpy as np
import pytest

import penstock as tf
from penstock.graph.trip_count import bound_of


def run_all_ways(function, *values):
    """The results of a function of arrays: eager, traced, and in a graph with a session."""
    eager = function(*[tf.constant(v) for v in values])
    traced = tf.function(function)(*[tf.constant(v) for v in values])
    with tf.Graph().as_default():
        places = [tf.compat.v1.placeholder(np.asarray(v).dtype, np.shape(v)) for v in values]
        result = function(*places)
        with tf.compat.v1.Session() as session:
            graph = session.run(result, dict(zip(places, values, strict=True)))
    flat = [tf.nest.flatten(r) for r in (eager, traced, graph)]
    for other in flat[1:]:
        for a, b in zip(flat[0], other, strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), 1e-5, 1e-6)
    return [np.asarray(v) for v in flat[0]]


F = np.float32
BIG = (np.arange(6000) / 6000).astype(F)  # beyond what runs on the host anyway


def types_of(function, *values):
    """The kinds of operations that a function traces to."""
    graph = tf.function(function).get_concrete_function(*map(tf.constant, values)).graph
    return {op.type for op in graph.get_operations()}


@pytest.mark.parametrize("x", [F(3.0), BIG])
def test_cond(x):
    def choose(p, x):
        return tf.cond(p, lambda: (x * 2, x[..., None]), lambda: (tf.sin(x), x[..., None] + 1))

    yes = run_all_ways(choose, True, x)
    no = run_all_ways(choose, False, x)
    np.testing.assert_allclose(yes[0], x * 2)
    np.testing.assert_allclose(no[0], np.sin(x), 1e-6)
    np.testing.assert_allclose(no[1], x[..., None] + 1)
    assert "StatelessIf" in types_of(choose, True, x)


def test_branches_of_other_shapes():
    def choose(p, x):
        return tf.cond(p, lambda: tf.concat([x, x], 0), lambda: x)

    assert run_all_ways(choose, True, BIG)[0].shape == (12000,)
    assert run_all_ways(choose, False, BIG)[0].shape == (6000,)


@pytest.mark.parametrize("choice", [True, False])
def test_an_operation_that_a_branch_returns_counts_as_the_choice(choice):
    @tf.function
    def run(pred, index):
        ran = tf.Variable(0.0) if not made else made[0]
        made.append(ran)
        branches = [lambda: [ran.assign_add(10.0).op, None], lambda: [ran.assign_add(1.0).op, None]]
        chosen = tf.cond(pred, branches[1], branches[0])
        number = tf.switch_case(index, branches)
        return chosen, number, tf.case([(pred, lambda: tf.no_op())], default=lambda: tf.no_op())

    made = []
    chosen, number, case = run(tf.constant(choice), tf.constant(int(choice)))
    assert (chosen[0].numpy(), chosen[1]) == (choice, None)
    assert (number[0].numpy(), number[0].dtype, number[1]) == (int(choice), tf.int32, None)
    assert case.numpy() == choice
    assert made[0].numpy() == (2 if choice else 20)


def test_cond_on_a_comparison_that_is_known():
    assert run_all_ways(lambda x: tf.cond(tf.constant(True), lambda: x, lambda: -x), F(2))[0] == 2


@pytest.mark.parametrize("x", [F(5.0), BIG])
@pytest.mark.parametrize(("index", "result"), [(0, 0), (1, 1), (2, 2), (9, 2), (-1, 2)])
def test_switch_case(index, result, x):
    def choose(i, x):
        return tf.switch_case(i, [lambda: x, lambda: x * 2, lambda: x - 1])

    got = run_all_ways(choose, np.int32(index), x)[0]
    np.testing.assert_allclose(got, [x, x * 2, x - 1][result])
    assert "StatelessCase" in types_of(choose, np.int32(0), x)


def test_switch_case_takes_tensors():
    for way in (lambda f: f, tf.function):
        with pytest.raises(
            TypeError, match=r"must be a Tensor, got <class 'int'>.*tf.constant\(1\)"
        ):
            way(lambda: tf.switch_case(1, [lambda: 1, lambda: 2]))()


def test_a_branch_that_returns_none_beside_a_tensor():
    @tf.function
    def choose(p):
        return tf.cond(p, lambda: (1, None), lambda: (1, 2))

    with pytest.raises(ValueError, match="one returns None where the other returns a tensor"):
        choose(tf.constant(True))


def test_switch_case_default_and_numbers():
    def choose(i):
        return tf.switch_case(i, [(1, lambda: 10), (0, lambda: 20)], default=lambda: 30)

    assert [int(run_all_ways(choose, np.int32(i))[0]) for i in (0, 1, 5)] == [20, 10, 30]


def test_case():
    def choose(x):
        return tf.case([(x < 0, lambda: -x), (x < 10, lambda: x * 2)], default=lambda: x)

    assert [float(run_all_ways(choose, F(v))[0]) for v in (-3, 4, 50)] == [3, 8, 50]


def test_a_default_that_is_no_function_is_refused_before_it_is_needed():
    with pytest.raises(TypeError, match="`default` must be callable, got 3"):
        tf.case([(tf.constant(True), lambda: 1)], default=3)


def test_case_without_a_true_predicate():
    def choose(x):
        return tf.case([(x < 0, lambda: -x), (x < 10, lambda: x * 2)])

    assert float(run_all_ways(choose, F(4))[0]) == 8
    for way in (choose, tf.function(choose)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="None of conditions"):
            way(tf.constant(F(50)))


@pytest.mark.parametrize("bound", [None, 3, 100])
@pytest.mark.parametrize("x", [F(1.5), BIG])
def test_while_loop(x, bound):
    def power(n, x):
        return tf.while_loop(
            lambda i, s: i < n,
            lambda i, s: (i + 1, {"a": s["a"] * x, "b": (s["b"][0] + 1,)}),
            (tf.constant(0), {"a": x, "b": (tf.constant(0),)}),
            maximum_iterations=bound,
        )

    rounds = 5 if bound != 3 else 3
    i, a, b = run_all_ways(power, np.int32(5), x)
    assert (i, b) == (rounds, rounds)
    np.testing.assert_allclose(a, x ** (rounds + 1), 1e-5)
    assert "StatelessWhile" in types_of(power, np.int32(5), x)


def test_no_rounds():
    def loop(x):
        return tf.while_loop(lambda x: tf.reduce_sum(x) > 1e9, lambda x: (x * 2,), (x,))

    np.testing.assert_allclose(run_all_ways(loop, BIG)[0], BIG)


def test_shapes_that_change():
    def grow(n):
        return tf.while_loop(
            lambda i, a: i < n,
            lambda i, a: (i + 1, tf.concat([a, [i]], 0)),
            (tf.constant(0), tf.zeros([0], tf.int32)),
            shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
        )[1]

    assert run_all_ways(grow, np.int32(4))[0].tolist() == [0, 1, 2, 3]


def test_nested():
    def collatz(n):
        def step(n, count):
            n = tf.cond(n % 2 == 0, lambda: n // 2, lambda: 3 * n + 1)
            return n, count + 1

        outer = tf.while_loop(
            lambda i, s: i <= n,
            lambda i, s: (i + 1, s + tf.while_loop(lambda m, c: m > 1, step, (i, 0))[1]),
            (tf.constant(1), tf.constant(0)),
        )
        return outer[1]

    assert int(run_all_ways(collatz, np.int32(9))[0]) == 61


def test_strings_run_on_the_host():
    def loop(n):
        return tf.while_loop(
            lambda i, s: i < n, lambda i, s: (i + 1, tf.identity(s)), (0, tf.constant("ab"))
        )[1]

    assert tf.function(loop)(tf.constant(3)).numpy() == b"ab"


# ---- variables and effects --------------------------------------------------------------------


def test_variables_in_branches():
    for way in (lambda f: f, tf.function):
        v = tf.Variable(BIG)

        def update(p, v=v):
            tf.cond(p, lambda: v.assign(v * 2), lambda: v.assign_add(v + 1))
            return v.read_value()

        update = way(update)
        np.testing.assert_allclose(update(tf.constant(True)), BIG * 2)
        np.testing.assert_allclose(update(tf.constant(False)), BIG * 4 + 1, 1e-6)
        np.testing.assert_allclose(v, BIG * 4 + 1, 1e-6)


def test_variables_in_loops():
    for way in (lambda f: f, tf.function):
        v, w = tf.Variable(BIG), tf.Variable(BIG)

        def update(n, v=v, w=w):
            def body(i):
                v.assign_add(w)
                return (i + 1,)

            before = v.read_value()
            tf.while_loop(lambda i: i < n, body, (tf.constant(0),))
            return before, v.read_value()

        before, after = way(update)(tf.constant(3))
        np.testing.assert_allclose(before, BIG)
        np.testing.assert_allclose(after, BIG * 4, 1e-6)
        np.testing.assert_allclose(v, BIG * 4, 1e-6)


def test_a_loop_sees_what_it_writes():
    v = tf.Variable(1.0)

    @tf.function
    def double(n):
        def body(i):
            v.assign(v * 2)
            return (i + 1,)

        tf.while_loop(lambda i: (i < n) & (v < 50), body, (tf.constant(0),))
        return v.read_value()

    assert float(double(tf.constant(3))) == 8
    assert float(double(tf.constant(30))) == 64


def test_a_branch_that_reads_a_variable_without_value():
    with tf.Graph().as_default():
        v = tf.compat.v1.get_variable("v", initializer=tf.constant(4.0))
        ready = tf.compat.v1.is_variable_initialized(v)
        value = tf.cond(ready, lambda: v.read_value(), lambda: tf.constant(-1.0))
        with tf.compat.v1.Session() as session:
            assert session.run(value) == -1
            session.run(v.initializer)
            assert session.run(value) == 4


def test_python_functions_run_in_order():
    seen = []

    @tf.function
    def loop(n):
        def body(i):
            tf.py_function(lambda k: seen.append(("a", int(k))), [i], [])
            tf.cond(
                i % 2 == 0,
                lambda: tf.py_function(lambda k: seen.append(("even", int(k))), [i], []),
                lambda: tf.no_op(),
            )
            tf.py_function(lambda k: seen.append(("b", int(k))), [i], [])
            return (i + 1,)

        tf.while_loop(lambda i: i < n, body, (tf.constant(0),))
        tf.py_function(lambda: seen.append("end"), [], [])

    loop(tf.constant(2))
    assert seen == [("a", 0), ("even", 0), ("b", 0), ("a", 1), ("b", 1), "end"]


def test_checks_in_bodies():
    @tf.function
    def loop(x, n):
        return tf.while_loop(
            lambda i, s: i < n, lambda i, s: (i + 1, s + x[i]), (0, tf.zeros([3000]))
        )[1]

    np.testing.assert_allclose(loop(tf.ones([4, 3000]), tf.constant(4)), np.full(3000, 4))
    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError, match="slice index 4"):
            loop(tf.ones([4, 3000]), tf.constant(6))


def test_random_numbers_differ_between_rounds():
    @tf.function
    def loop():
        return tf.while_loop(
            lambda i, s: i < 2,
            lambda i, s: (i + 1, tf.concat([s[1:], tf.random.uniform([1])], 0)),
            (0, tf.zeros([2])),
        )[1]

    a, b = loop().numpy()
    assert a != b


# ---- gradients --------------------------------------------------------------------------------


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


# ---- errors -----------------------------------------------------------------------------------


def in_function(function):
    return tf.function(function)()


ONE, YES = np.float32(1), np.True_


@pytest.mark.parametrize(
    ("error", "text", "function"),
    [
        (TypeError, "'true_fn' must be callable", lambda: tf.cond(tf.constant(YES), 1, 2)),
        (TypeError, "Python bool", lambda: tf.cond(True, lambda: 1, lambda: 2)),
        (
            tf.errors.InvalidArgumentError,
            "one boolean, got int32",
            lambda: tf.cond(tf.constant(3), lambda: 1, lambda: 2),
        ),
        (TypeError, "int32 and float32", lambda: tf.cond(tf.constant(YES), lambda: 1, lambda: 2.0)),
        (TypeError, "structure", lambda: tf.cond(tf.constant(YES), lambda: (1, 2), lambda: 2)),
        (ValueError, "None", lambda: tf.cond(tf.constant(YES), lambda: None, lambda: 2)),
        (ValueError, "at least one", lambda: tf.switch_case(tf.constant(1), [])),
        (ValueError, "contiguous", lambda: tf.switch_case(tf.constant(1), {0: int, 2: int})),
        (TypeError, "integer", lambda: tf.switch_case(tf.constant(1.0), [int])),
        (TypeError, "int64", lambda: tf.switch_case(tf.constant(1, tf.int64), [int])),
        (TypeError, "2-tuple", lambda: tf.case([3])),
        (TypeError, "list, tuple, or dict", lambda: tf.case(3)),
        (TypeError, "must be a Tensor", lambda: tf.case([(True, int)])),
        (TypeError, "'cond' must", lambda: tf.while_loop(3, lambda i: i, [0])),
        (TypeError, "'body' must", lambda: tf.while_loop(lambda i: i < 3, 3, [0])),
        (ValueError, "loop_vars", lambda: tf.while_loop(lambda: True, lambda: (), [])),
        (
            TypeError,
            "positive",
            lambda: tf.while_loop(lambda i: i < 3, lambda i: i, [0], parallel_iterations=0),
        ),
        (
            TypeError,
            "expected loop variable 0 to keep its dtype int32, got float32",
            lambda: tf.while_loop(lambda i: i < 3, lambda i: tf.cast(i, tf.float32), [0]),
        ),
        (
            ValueError,
            r"shape \(1,\) that it enters the loop with, got \(2,\)",
            lambda: tf.while_loop(
                lambda i: i[0] < 3, lambda i: tf.concat([i, i], 0), [tf.constant([0])]
            ),
        ),
        (
            ValueError,
            r"expected \(2,\), got \(1,\)",
            lambda: tf.while_loop(
                lambda i: i[0] < 3, lambda i: i, [tf.constant([0])], [tf.TensorShape([2])]
            ),
        ),
        (
            ValueError,
            "structure",
            lambda: tf.while_loop(lambda i, j: i < 3, lambda i, j: (i, j, j), [0, 1]),
        ),
        (
            tf.errors.InvalidArgumentError,
            r"one boolean, got bool\(2,\)",
            lambda: tf.while_loop(lambda i: i < 3, lambda i: i, [tf.constant([0, 1])]),
        ),
        (
            ValueError,
            "scalar",
            lambda: tf.while_loop(lambda i: i < 3, lambda i: i, [0], maximum_iterations=[2]),
        ),
    ],
)
def test_errors(error, text, function):
    with pytest.raises(error, match=text):
        in_function(function)


def test_eager_gradient_of_a_bare_operation_is_refused():
    body = tf.function(lambda x: x * 2.0).get_concrete_function(tf.constant(1.0)).body
    with tf.GradientTape() as tape:
        x = tf.constant(1.0)
        tape.watch(x)
        (y,) = tf.raw_ops.StatelessIf(
            cond=True, input=[x], Tout=[tf.float32], then_branch=body, else_branch=body
        )
    assert float(y) == 2
    with pytest.raises(tf.errors.UnimplementedError, match=r"Call tf\.cond"):
        tape.gradient(y, x)


def test_older_names():
    with pytest.raises(TypeError, match="Cannot specify both"):
        tf.compat.v1.cond(tf.constant(True), int, int, fn1=int)
    assert int(tf.compat.v1.cond(tf.constant(True), lambda: [tf.constant(4)], lambda: [0])) == 4
    loop = tf.compat.v1.while_loop
    assert int(loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])) == 3
    same = loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)], return_same_structure=True)
    assert int(same[0]) == 3


def test_a_variable_that_stays_before_others_that_change():
    def run(stays, n, x):
        def body(stays, n, x):
            return stays, n - 1, x * 2.0 + stays

        return tf.while_loop(lambda stays, n, x: n > 0, body, (stays, n, x))

    for way in (run, tf.function(run), tf.function(run, jit_compile=True)):
        stays, n, x = way(tf.constant(1.0), tf.constant(3), tf.constant(0.5))
        assert (float(stays), int(n), float(x)) == (1.0, 0, 11.0)


@pytest.mark.parametrize("shape", [[1], [1, 1], [None], None])
def test_a_tensor_of_one_boolean_decides_whatever_its_shape(shape):
    spec = tf.TensorSpec(shape, tf.bool)
    value = np.zeros([1] * len(shape or [1]), bool)

    @tf.function(input_signature=[spec])
    def chosen(x):
        rounds = tf.while_loop(lambda i, go: go, lambda i, go: (i + 1, ~go), [0, ~x])[0]
        return tf.cond(x, lambda: 1, lambda: 2), rounds

    assert [int(v) for v in chosen(value)] == [2, 1]
    assert [int(v) for v in chosen(~value)] == [1, 0]


@pytest.mark.parametrize("value", [[True, False], []])
@pytest.mark.parametrize(
    "ask",
    [
        lambda x: tf.cond(x, lambda: 1, lambda: 2),
        lambda x: tf.while_loop(lambda i, go: go, lambda i, go: (i + 1, ~go), [0, x]),
        lambda x: 1 if x else 2,
    ],
)
def test_none_or_several_booleans_of_unknown_number_are_refused_when_it_runs(ask, value):
    asked = tf.function(ask, input_signature=[tf.TensorSpec(None, tf.bool)])
    with pytest.raises(tf.errors.InvalidArgumentError):
        asked(tf.constant(value, tf.bool))


def test_cond_of_none_is_refused_eagerly_too():
    with pytest.raises(ValueError, match="expected 'pred' to be a boolean, got None"):
        tf.cond(None, lambda: 1, lambda: 2)


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize(
    ("shape", "value"), [([], [1.0]), ([2], [1.0] * 3), ([None, 2], [1.0] * 2)]
)
def test_an_element_shape_holds_without_inference_too(shape, value, staged):
    def write():
        array = tf.TensorArray(tf.float32, 2, element_shape=shape, infer_shape=False)
        return array.write(0, value).read(0)

    with pytest.raises(ValueError, match="Incompatible shape for value"):
        (tf.function(write) if staged else write)()
