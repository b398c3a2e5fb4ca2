"""Conditionals and loops: eager, in functions, in graphs; effects, errors.

Error classes were seen in TensorFlow 2.21.
"""

import functools

import numpy as np
import pytest

import penstock as tf


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


@pytest.mark.parametrize("default", [None, lambda: tf.constant(3)])
def test_a_case_that_is_exclusive_allows_one_true_predicate(default):
    def choose(x):
        pairs = [(x > 0, lambda: tf.constant(1)), (x > 5, lambda: tf.constant(2))]
        return tf.case(pairs, default=default, exclusive=True)

    for way in (choose, tf.function(choose)):
        assert int(way(tf.constant(4))) == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match="more than one condition is true"):
            way(tf.constant(9))


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
        (ValueError, "at least one", lambda: tf.switch_case(tf.constant(1), None)),
        (
            tf.errors.InvalidArgumentError,
            "must be a scalar, but it has shape",
            lambda: tf.switch_case(tf.constant([0, 1]), [int, int]),
        ),
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
    for same in (False, True):
        run = functools.partial(loop, lambda i: i < 3, lambda i: [i + 1], [tf.constant(0)])
        eager = run(return_same_structure=same)
        assert [int(i) for i in eager] == [3]  # as given, unlike a graph's
        traced = tf.function(functools.partial(run, return_same_structure=same))()
        assert int(traced[0] if same else traced) == 3


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


def test_effects_in_bodies_of_a_plain_graph_happen_where_outputs_wait_for_them():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        positive = v1.placeholder(tf.bool, [])
        variable = v1.get_variable("v", initializer=0.0)

        @tf.function
        def all_effects():
            if positive:
                variable.assign_add(10.0)
            return tf.constant(1)

        def loose(i):
            v1.assign_add(variable, 1.0)
            tf.debugging.Assert(i > 100, [i])
            return i + 1

        def waiting(i):
            with tf.control_dependencies([v1.assign_add(variable, 1.0)]):
                return i + 1

        def loose_before_waiting(i):
            v1.assign_add(variable, 10.0)
            return waiting(i)

        def loose_before_read(i):
            v1.assign_add(variable, 10.0)
            return i + 1 + 0 * tf.cast(variable.read_value(), tf.int32)

        def loop(body):
            return tf.while_loop(lambda i: i < 3, body, [0])

        programs = [
            (loop(loose), 0.0),
            (tf.cond(positive, lambda: loose(0), lambda: 0), 0.0),
            (tf.switch_case(tf.cast(positive, tf.int32), [lambda: 0, lambda: loose(0)]), 0.0),
            (tf.cond(positive, lambda: loop(loose)[0], lambda: 0), 0.0),
            (loop(waiting), 3.0),
            (loop(loose_before_waiting), 3.0),
            (loop(loose_before_read), 0.0),
            (tf.cond(positive, lambda: loose_before_read(0), lambda: 0), 0.0),
            (tf.cond(positive, lambda: v1.assign_add(variable, 1.0).op, tf.no_op), 1.0),
            (all_effects(), 10.0),
            (tf.cond(positive, lambda: [all_effects(), 1][1], lambda: 0), 0.0),
        ]
        for program, wanted in programs:
            session.run(variable.initializer)
            session.run(program, {positive: True})
            assert session.run(variable) == wanted


def test_a_shape_invariant_may_say_more_than_what_the_loop_starts_with():
    @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec([None])])
    def grow(x, y):
        shapes = [tf.TensorShape([]), tf.TensorShape([2]), tf.TensorShape([3])]
        result = tf.while_loop(
            lambda i, *_: i < 2, lambda i, x, y: (i + 1, x + 1.0, y * 2.0),
            [tf.constant(0), x, y], shapes,
        )  # fmt: skip
        assert [t.shape for t in result] == shapes
        return result[1:]

    x, y = grow([1.0, 2.0], [1.0, 2.0, 3.0])
    assert (x.numpy().tolist(), y.numpy().tolist()) == ([3, 4], [4, 8, 12])
    with pytest.raises(tf.errors.InvalidArgumentError, match="EnsureShape"):
        grow([1.0], [1.0, 2.0, 3.0])
    with tf.Graph().as_default():
        start = tf.compat.v1.placeholder(tf.float32, [4])
        with pytest.raises(ValueError, match="must hold when the loop starts"):
            tf.while_loop(lambda _: True, lambda x: x, [start], [tf.TensorShape([3])])


@pytest.mark.parametrize(
    "pred", [[], [[]], (True, False), {}, {"a": 1}, {1}, object(), np.zeros(0), np.ones(2)]
)
def test_an_eager_condition_is_one_value(pred):
    with pytest.raises(ValueError, match="pred"):
        tf.cond(pred, lambda: 1, lambda: 2)
    if isinstance(pred, np.ndarray):
        with pytest.raises(ValueError, match=r"got shape \(\d,\). Use tf.reduce_any"):
            tf.cond(tf.constant(pred), lambda: 1, lambda: 2)


@pytest.mark.parametrize(
    ("pred", "expected"),
    [([0], 2), ([[3]], 1), ((True,), 1), ("", 2), (2.0, 1), (tf.constant([[False]]), 2)],
)
def test_an_eager_condition_is_its_elements_truth(pred, expected):
    assert tf.cond(pred, lambda: 1, lambda: 2) == expected
    assert tf.compat.v1.cond(pred, lambda: 1, lambda: 2) == expected


def test_a_list_is_no_condition_without_a_bound():
    for given in ([True, False], [False]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="one boolean"):
            tf.while_loop(lambda i, given=given: given, lambda i: i, [0])
    for given in ([], ()):
        assert tf.while_loop(lambda i, given=given: given, lambda i: i + 1, [0]) == [0]


def test_with_a_bound_a_condition_becomes_a_tensor():
    def rounds(cond):
        return int(tf.while_loop(cond, lambda i: [i + 1], [0], maximum_iterations=4)[0])

    for cond, wanted in (
        (lambda i: [i < 3], 3),
        (lambda i: (i < 3,), 3),
        (lambda i: [[i < 3]], 3),
        (lambda i: [True], 4),
        (lambda i: [False], 0),
        (lambda i: [], 0),
    ):
        assert rounds(cond) == wanted
    with pytest.raises(ValueError, match="ambiguous"):
        rounds(lambda i: [i < 3, i < 3])
    for number in (1, [1], ["a"], 2.5):
        with pytest.raises(TypeError, match="bool"):
            rounds(lambda i, number=number: number)


@pytest.mark.parametrize(
    ("body", "kind"), [(lambda i: i + 1, tf.Tensor), (lambda i: [i + 1], list)]
)
def test_a_single_variable_of_v1_comes_back_as_the_body_gave_it(body, kind):
    loop = tf.compat.v1.while_loop
    found = loop(lambda i: i < 3, body, [0])
    assert isinstance(found, kind)
    assert int(tf.nest.flatten(found)[0]) == 3
    whole = loop(lambda i: i < 3, body, [0], return_same_structure=True)
    assert isinstance(whole, list)


def test_second_derivatives_in_a_graph_need_no_switch():
    v1 = tf.compat.v1
    v1.experimental.output_all_intermediates(False)
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [])
        _, y = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * x), (0, 1.0))
        (slope,) = tf.gradients(y, x)
        assert session.run(tf.gradients(slope, x), {x: 2.0}) == [12.0]
    v1.experimental.output_all_intermediates(None)


INDICES = [[1], [[1]], [1, 0], []]


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("shape", [None, "own"])
@pytest.mark.parametrize("compiled", [False, True])
def test_the_number_of_a_branch_is_a_scalar(index, shape, compiled):
    given = tf.constant(index, tf.int32)
    branches = [lambda: tf.constant(1), lambda: tf.constant(2)]
    spec = tf.TensorSpec(given.shape if shape else None, tf.int32)
    chosen = tf.function(
        lambda i: tf.switch_case(i, branches), input_signature=[spec], jit_compile=compiled
    )
    for call in (chosen, lambda i: tf.switch_case(i, branches)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be a scalar, but it has"):
            call(given)


def test_a_branch_that_is_not_taken_may_choose_by_a_vector():
    branches = [lambda: tf.constant(1), lambda: tf.constant(2)]

    @tf.function
    def function(i, wrong):
        return tf.cond(wrong, lambda: tf.switch_case(i, branches), lambda: 0)

    vector = tf.constant([1, 0])
    assert int(function(vector, tf.constant(False))) == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be a scalar, but it has"):
        function(vector, tf.constant(True))
