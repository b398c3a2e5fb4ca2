"""The traces a function keeps, and the account it gives of each new one."""

import gc
import logging
import weakref

import numpy as np
import pytest

import penstock as tf
from penstock.tracing.function import Function


@pytest.fixture
def log(caplog):
    with caplog.at_level(logging.WARNING):
        yield caplog


def _of(function, *calls):
    for args, kwargs in calls:
        function(*args, **kwargs)
    return function.experimental_get_retrace_report()


def _line_of_last_change(function, *calls):
    report = _of(function, *calls)
    assert report[-1].where.file == __file__
    return report[-1].changes


@pytest.mark.parametrize(
    ("old", "new", "argument", "was", "now", "advice"),
    [
        (tf.ones([2]), tf.ones([3]), "'x'", "shape=(2,)", "shape=(3,)", "reduce_retracing=True"),
        (tf.ones([2]), tf.ones([2], tf.int32), "'x'", "float32", "int32", "Cast 'x'"),
        (1, 2, "'x'", "1", "2", "tf.constant(value)"),
        ("a", "b", "'x'", "'a'", "'b'", "tf.function for each"),
        ([1, 2], [1, 3], "'x'[1]", "2", "3", "tf.constant(value)"),
        ([1, 2], [1], "'x'", "a list of 2", "a list of 1", "one structure"),
        ({"k": 1.0}, {"k": 2.0}, "'x'['k']", "1.0", "2.0", "tf.constant(value)"),
        ({"k": 1}, {"m": 1}, "'x'", "a dict of 1", "a dict of 1", "one structure"),
        (object(), object(), "'x'", "object at", "object at", "same object"),
        (None, tf.ones([]), "'x'", "None", "shape=()", "same value"),
    ],
)
def test_the_argument_and_its_values_are_named(old, new, argument, was, now, advice) -> None:
    function = tf.function(lambda x: tf.constant(0))
    (change,) = _line_of_last_change(function, ((old,), {}), ((new,), {}))
    assert change.argument == argument
    assert was in change.old
    assert now in change.new
    assert advice in change.advice


def test_the_nearest_signature_is_compared() -> None:
    function = tf.function(lambda x, y, *rest, z=0: x)
    one, two = tf.ones([1]), tf.ones([2])
    calls = [((one, 1), {}), ((two, 5), {"z": 3}), ((one, 2), {})]
    (change,) = _line_of_last_change(function, *calls)
    assert (change.argument, change.old, change.new) == ("'y'", "1", "2")
    (change,) = _line_of_last_change(function, ((one, 2), {"z": 9}))
    assert (change.argument, change.old, change.new) == ("'z'", "0", "9")
    changes = _line_of_last_change(function, ((one, 2, 7), {"z": 9}))
    assert [c.old for c in changes] == ["not given"]


def test_a_report_in_words() -> None:
    function = tf.function(lambda x: x)
    assert function.experimental_get_retrace_report() == ()
    (first,) = _of(function, ((tf.ones([2]),), {}), ((tf.ones([3]),), {}))
    assert str(first).startswith("lambda: trace 2 at ")
    assert "test_retraces.py:" in str(first)
    assert "argument 'x' was Tensor(shape=(2,), dtype=float32) and is now" in str(first)


def test_one_warning_after_the_fifth_retrace(log) -> None:
    function = tf.function(lambda x: x)
    for i in range(5):
        function(i)
    assert not log.records
    function(5)
    (record,) = log.records
    assert "triggered tf.function retracing number 5" in record.getMessage()
    assert "argument 'x' was" in record.getMessage()
    for i in range(6, 20):
        function(i)
    assert len(log.records) == 1


def test_all_retraces_are_logged_on_request(log, monkeypatch) -> None:
    function = tf.function(lambda x: x)
    tf.config.experimental.set_log_retraces(True)
    try:
        function(1), function(2)
    finally:
        tf.config.experimental.set_log_retraces(None)
    assert len(log.records) == 1
    monkeypatch.setenv("PENSTOCK_LOG_RETRACES", "1")
    assert tf.config.experimental.get_log_retraces()
    function(3)
    assert len(log.records) == 2


def test_functions_made_in_a_loop_are_reported_once(log) -> None:
    for _ in range(8):
        tf.function(lambda x: x)(1)
    (record,) = log.records
    assert "Make it once" in record.getMessage()
    assert "test_retraces.py" in record.getMessage()


# ---- the cache -----------------------------------------------------------------------------------


def _seen(**options):
    sizes = []

    @tf.function(**options)
    def function(x):
        sizes.append(x.shape.as_list() if x.shape.rank is not None else None)
        return x

    return function, sizes


def test_the_most_specific_trace_serves() -> None:
    function, _ = _seen()
    specs = [tf.TensorSpec([None, 2]), tf.TensorSpec([None, None]), tf.TensorSpec(None)]
    narrow, middle, wide = map(function.get_concrete_function, specs)
    assert function.experimental_get_tracing_count() == 3
    assert function.get_concrete_function(tf.ones([5, 2])) is narrow
    assert function.get_concrete_function(tf.ones([5, 3])) is middle
    assert function.get_concrete_function(tf.ones([5])) is wide
    assert function.experimental_get_tracing_count() == 3


def test_sizes_are_relaxed_one_by_one() -> None:
    function, sizes = _seen(reduce_retracing=True)
    for shape in ([2, 3], [4, 3], [5, 3], [5, 6], [9, 9], [1, 2, 3], [7]):
        assert function(tf.ones(shape)).shape == shape
    assert sizes == [[2, 3], [None, 3], [None, None], None]


def test_what_is_no_size_is_not_relaxed() -> None:
    function = tf.function(lambda x, n: x * n, reduce_retracing=True)
    results = [float(function(tf.constant(1.0), float(n))) for n in range(3)]
    assert results == [0.0, 1.0, 2.0]
    assert function.experimental_get_tracing_count() == 3


def test_the_traces_kept_are_bounded_and_those_in_use_stay(monkeypatch) -> None:
    monkeypatch.setenv("PENSTOCK_PLAN_CACHE", "4")
    traced = []

    @tf.function
    def function(n):
        traced.append(n)
        return tf.constant(n)

    for n in range(1, 12):
        assert int(function(n)) == n
        assert int(function(0)) == 0
    assert traced.count(0) == 1
    assert len(function._traces) == 4
    assert int(function(1)) == 1
    assert traced.count(1) == 2


def test_a_trace_dropped_frees_its_graph(monkeypatch) -> None:
    monkeypatch.setenv("PENSTOCK_PLAN_CACHE", "1")
    function = tf.function(lambda n: tf.ones([3]) * n)
    function(1.0)
    graph = weakref.ref(function.get_concrete_function(1.0).graph)
    function(2.0)
    gc.collect()
    assert graph() is None


def test_a_function_dropped_frees_graph_and_executables() -> None:
    big = tf.ones([64, 64])
    function = tf.function(lambda x: tf.matmul(x, big) + 1.0, jit_compile=True)
    with tf.GradientTape() as tape:
        tape.watch(big)
        result = function(big)
    tape.gradient(result, big)
    concrete = function.get_concrete_function(big)
    watched = [weakref.ref(o) for o in (function, concrete, concrete.graph, concrete.body.plan)]
    watched += [weakref.ref(concrete.body), weakref.ref(concrete.body.plan or concrete)]
    del function, concrete, tape, result
    gc.collect()
    assert [w() for w in watched] == [None] * len(watched)


def test_arguments_are_not_kept_alive() -> None:
    class Thing:
        pass

    function = tf.function(lambda x, thing: x)
    thing, x = Thing(), tf.ones([200])
    function(x, thing)
    gone = [weakref.ref(thing), weakref.ref(x)]
    del thing, x
    gc.collect()
    assert [w() for w in gone] == [None, None]
    function(tf.ones([200]), Thing())
    assert function.experimental_get_tracing_count() == 2


def test_eager_calls_and_calls_in_functions_share_a_trace() -> None:
    inner = tf.function(lambda x: x * 2.0)
    outer = tf.function(lambda x: inner(x) + inner(x))
    x = tf.constant(1.0)
    assert float(inner(x)) == 2.0
    assert float(outer(x)) == 4.0
    assert inner.experimental_get_tracing_count() == 1


def test_a_trace_that_captures_from_a_function_serves_it_alone() -> None:
    kept = {}

    def inner_body(y):
        return kept["x"] + y

    inner = tf.function(inner_body)

    @tf.function
    def outer(x):
        kept["x"] = x * 2.0
        return inner(x) + inner(x)

    assert float(outer(tf.constant(1.0))) == 6.0
    assert [float(t) for t in outer(tf.constant([1.0, 2.0]))] == [6.0, 12.0]
    kept["x"] = tf.constant(5.0)
    assert float(inner(tf.constant(1.0))) == 6.0


def test_a_trace_that_captures_from_a_session_graph_serves_it_again() -> None:
    traced = []
    with tf.Graph().as_default():
        t = tf.constant([1.0, 2.0])

        @tf.function
        def f(x):
            traced.append(x.shape.as_list())
            return x * t

        results = [f(t), f(t), f(tf.ones([3, 1]))]
        for shape in ([2], [3, 1]):
            f.get_concrete_function(tf.TensorSpec(shape))
        assert traced == [[2], [3, 1]]
        with tf.compat.v1.Session() as session:
            assert [r.tolist() for r in session.run(results)] == [
                [1.0, 4.0],
                [1.0, 4.0],
                [[1.0, 2.0]] * 3,
            ]


def test_a_concrete_function_of_a_trace_that_captures_from_a_function_is_that_trace() -> None:
    traced = []

    @tf.function
    def outer(x):
        w = x * 2.0

        @tf.function
        def inner(z):
            traced.append(z.shape.as_list())
            return z + w

        concrete = inner.get_concrete_function(tf.TensorSpec([2]))
        assert inner.get_concrete_function(tf.TensorSpec([2])) is concrete
        return inner(x) + inner(x)

    assert outer(tf.constant([1.0, 2.0])).numpy().tolist() == [6.0, 12.0]
    assert traced == [[2]]


def test_sizes_are_relaxed_where_a_trace_captures_from_a_function_too() -> None:
    shapes = []

    @tf.function
    def outer(x):
        w = x * 2.0

        @tf.function(reduce_retracing=True)
        def inner(z):
            shapes.append(z.shape.as_list())
            return tf.reduce_sum(z) * w

        return [inner(tf.ones([size])) for size in (1, 2, 3, 4)]

    assert [float(r) for r in outer(tf.constant(1.0))] == [2.0, 4.0, 6.0, 8.0]
    assert shapes == [[1], [None]]


def test_values_equal_to_nothing_do_not_trace_each_time() -> None:
    function = tf.function(lambda x: tf.constant(0))
    function(float("nan")), function(float("nan"))
    assert function.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("value", [{1}, [1, {2}], bytearray(b"a")])
def test_what_cannot_be_hashed_is_refused(value) -> None:
    with pytest.raises(TypeError, match=r"Could not generate a generic TraceType for.*hashed"):
        tf.function(lambda x: tf.constant(0))(value)


def test_a_thousand_retraces_keep_memory_flat(monkeypatch) -> None:
    monkeypatch.setenv("PENSTOCK_PLAN_CACHE", "8")
    function = tf.function(lambda n: n, autograph=False)

    def graphs():
        gc.collect()
        return sum(type(o).__name__ == "FuncGraph" for o in gc.get_objects())

    for n in range(50):
        function(n)
    before = graphs()
    for n in range(50, 300):
        function(n)
    assert graphs() == before
    assert len(function._traces.known) <= 8 * 16 + 1
    assert isinstance(function, Function)


def test_relaxed_traces_have_sparse_tensors_of_open_shape() -> None:
    shapes = []

    @tf.function(reduce_retracing=True)
    def total(value, scale):
        shapes.append(value.shape.as_list())
        dense = tf.sparse.to_dense(value)
        return tf.reduce_sum(dense) * scale, tf.shape(dense)

    def sparse(rows, columns):
        return tf.SparseTensor([[0, 0], [rows - 1, columns - 1]], [1.0, 2.0], [rows, columns])

    for rows, columns in [(3, 4), (3, 5), (3, 6), (4, 7), (5, 8)]:
        found, sizes = total(sparse(rows, columns), tf.constant(2.0))
        assert (float(found), sizes.numpy().tolist()) == (6.0, [rows, columns])
    assert shapes == [[3, 4], [3, None], [None, None]]


def test_relaxed_traces_tell_several_sparse_tensors_apart() -> None:
    shapes = []

    @tf.function(reduce_retracing=True)
    def product(pair, *, last):
        shapes.append([v.shape.as_list() for v in (*pair, last)])
        return [tf.shape(tf.sparse.to_dense(v)) for v in (*pair, last)]

    def sparse(*sizes):
        return tf.SparseTensor(np.zeros((1, len(sizes)), np.int64), [1.0], sizes)

    for size in (2, 3, 4):
        found = product([sparse(7), sparse(size, 5)], last=sparse(6, size))
        assert [f.numpy().tolist() for f in found] == [[7], [size, 5], [6, size]]
    assert shapes == [[[7], [2, 5], [6, 2]], [[7], [None, 5], [6, None]]]
