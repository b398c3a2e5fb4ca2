"""`map_fn`, `scan`, `foldl`, `foldr`: at once, in functions, in graphs; gradients; errors."""

import numpy as np
import pytest

import penstock as tf

X = np.float32([[0.5, -1.0], [1.5, 0.25], [-0.75, 2.0]])


def map_squares(x):
    return tf.map_fn(lambda r: tf.sin(r) * r[0], x)


def map_pairs(x):
    a, b = tf.map_fn(
        lambda p: (p[0] * p[1], tf.reduce_sum(p[1] * p[1])),
        (x, x * 2.0),
        fn_output_signature=(tf.float32, tf.float32),
    )
    return a * b[:, None]


def scan_rows(x):
    return tf.scan(lambda a, r: tf.sin(a) * r + 0.1 * a * a, x)


def scan_back(x):
    return tf.scan(lambda a, r: a * 0.5 + r * r, x, initializer=x[0] * 2.0, reverse=True)


def scan_nest(x):
    s, p = tf.scan(
        lambda a, r: (a[0] + r[0], a[1] * r[1]), (x, x * x + 0.5), initializer=(x[0], x[1])
    )
    return s * p


def fold_left(x):
    return tf.foldl(lambda a, r: a * r + tf.cos(a), x)


def fold_right(x):
    return tf.foldr(lambda a, r: a * r - r, x, initializer=tf.reduce_sum(x, 0))


def nested(x):
    return tf.map_fn(lambda r: tf.foldl(lambda a, v: tf.sin(a) * v + v, r * r), x)


PROGRAMS = (
    map_squares, map_pairs, scan_rows, scan_back, scan_nest, fold_left, fold_right, nested,
)  # fmt: skip


def derivatives(program, x):
    """Value, gradient, and gradient of a sum of the gradient."""
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = program(x)
            total = tf.reduce_sum(y * y)
        grad = inner.gradient(total, x)
        weighted = tf.reduce_sum(grad * [1.0, -2.0])
    return y, grad, outer.gradient(weighted, x)


@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives_agree_in_all_modes(program):
    wanted = [np.asarray(t) for t in derivatives(program, tf.constant(X))]
    for spec in ([3, 2], [None, 2]):
        traced = tf.function(
            lambda x: derivatives(program, x),
            input_signature=[tf.TensorSpec(spec)],
            autograph=False,
        )
        for _ in range(2):
            for got, value in zip(traced(X), wanted, strict=True):
                np.testing.assert_allclose(got, value, rtol=2e-5, atol=2e-5)
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 2])  # met once: it runs on the host
        y = program(x)
        (grad,) = tf.gradients(y * y, x)
        (then,) = tf.gradients(tf.reduce_sum(grad * [1.0, -2.0]), x)
        with tf.compat.v1.Session(graph=graph) as session:
            for got, value in zip(session.run([y, grad, then], {x: X}), wanted, strict=True):
                np.testing.assert_allclose(got, value, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("program", [map_pairs, scan_nest, nested])
def test_derivatives_of_the_reference_executor(program, monkeypatch):
    wanted = [np.asarray(t) for t in derivatives(program, tf.constant(X))]
    monkeypatch.setenv("PENSTOCK_EXECUTOR", "reference")
    traced = tf.function(lambda x: derivatives(program, x), autograph=False)
    for got, value in zip(traced(tf.constant(X)), wanted, strict=True):
        np.testing.assert_allclose(got, value, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_against_differences(program):
    direction = np.random.default_rng(1).normal(size=X.shape)

    def value(step):
        y = np.asarray(program(tf.constant(X + step * direction, tf.float32)), np.float64)
        return (y * y).sum()

    _, grad, _ = derivatives(program, tf.constant(X))
    slope = (value(5e-3) - value(-5e-3)) / 1e-2
    np.testing.assert_allclose((grad.numpy() * direction).sum(), slope, rtol=2e-2, atol=2e-2)


def both(call):
    return call(), tf.function(call, autograph=False)()


def test_results_of_other_dtypes_and_shapes():
    names = tf.constant(["zero", "one", "two"])
    for got in both(
        lambda: tf.map_fn(
            lambda n: (n + 1, names[n]),
            tf.constant([1, 2]),
            fn_output_signature=(tf.int32, tf.string),
        )
    ):
        assert [t.numpy().tolist() for t in got] == [[2, 3], [b"one", b"two"]]
    for got in both(
        lambda: tf.map_fn(lambda r: r[:2], tf.ones([0, 3]), fn_output_signature=tf.TensorSpec([2]))
    ):
        assert got.shape == (0, 2)


def test_no_rows():
    start = tf.constant(5.0)
    for got in both(lambda: tf.foldl(lambda a, r: a + r, tf.zeros([0]), initializer=start)):
        assert float(got) == 5.0
    with pytest.raises(tf.errors.OutOfRangeError, match="at least one row"):
        tf.foldl(lambda a, r: a + r, tf.zeros([0]))


def test_back_prop_stops_gradients():
    x = tf.constant(X)
    for run in (tf.map_fn, lambda f, e, **o: tf.scan(lambda a, r: f(r), e, **o)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = run(lambda r: r * r, x, back_prop=False)
        assert tape.gradient(y, x) is None


WRONG_DTYPE = (tf.errors.InvalidArgumentError, TypeError)  # when it runs; when it is built
NO_ROWS = (tf.errors.OutOfRangeError, ValueError)

REFUSED = (
    (TypeError, "not callable", lambda: tf.map_fn(1, X)),
    (ValueError, "not scalars", lambda: tf.map_fn(lambda r: r, 1.0)),
    (ValueError, r"rows, got \[2, 3\]", lambda: tf.map_fn(lambda r: r[0], (X, X[:2]))),
    (ValueError, "at least one tensor", lambda: tf.scan(lambda a, r: a, [])),
    (WRONG_DTYPE, "float32, got int32", lambda: tf.map_fn(lambda r: tf.constant(1), X)),
    (NO_ROWS, "at least one row", lambda: tf.scan(lambda a, r: a + r, X[:0])),
    (NO_ROWS, "at least one row", lambda: tf.foldr(lambda a, r: a + r, X[:0])),
    (TypeError, "float32, as the value", lambda: tf.foldl(lambda a, r: tf.constant(1), X)),
    ((TypeError, ValueError), "structure", lambda: tf.scan(lambda a, r: (a, r), X)),
)


@pytest.mark.parametrize(("error", "text", "call"), REFUSED)
def test_refusals(error, text, call):
    now, built = error if error in (WRONG_DTYPE, NO_ROWS) else (error, error)
    with pytest.raises(now, match=text):
        call()
    with pytest.raises(built, match=text):
        tf.function(call, autograph=False)()


@pytest.mark.parametrize(
    ("way", "error"), [(lambda f: f, tf.errors.InvalidArgumentError), (tf.function, ValueError)]
)
def test_a_result_that_is_no_row_names_the_signature(way, error):
    rows = tf.ragged.constant([[1, 2], [3]])
    with pytest.raises(error, match=r"shape \(None,\).*Give fn_output_signature"):
        way(lambda: tf.map_fn(tf.reduce_sum, rows))()
    sums = way(lambda: tf.map_fn(tf.reduce_sum, rows, fn_output_signature=tf.int32))()
    assert sums.numpy().tolist() == [3, 3]
    same = way(lambda: tf.map_fn(lambda row: row * 2, rows))()
    assert same.to_list() == [[2, 4], [6]]


def test_a_map_in_a_function_is_one_region():
    @tf.function(autograph=False)
    def run(x):
        return tf.map_fn(lambda r: tf.sin(r), x)

    body = run.get_concrete_function(tf.TensorSpec([8, 4]))
    kinds = {op.type for op in body.graph.get_operations()}
    assert {"StatelessWhile", "TensorListReserve", "TensorListStack"} <= kinds
    x = np.ones((8, 4), np.float32)
    np.testing.assert_allclose(run(tf.constant(x)), np.sin(x), rtol=1e-6)


@pytest.mark.parametrize("kind", [np.float64, np.dtype("float64"), "float64", float])
def test_rows_may_have_a_dtype_that_is_said_in_numpys_words(kind):
    wanted = tf.as_dtype(kind)

    def halves(x):
        return tf.map_fn(lambda row: tf.cast(row, wanted) / 2, x, fn_output_signature=kind)

    for call in (halves, tf.function(halves)):
        found = call(tf.constant([1, 3]))
        assert (found.dtype, found.numpy().tolist()) == (wanted, [0.5, 1.5])
    nested = tf.map_fn(
        lambda row: {"a": (row, row > 1)}, np.ones(2), dtype={"a": (np.float64, bool)}
    )
    assert [t.dtype for t in nested["a"]] == [tf.float64, tf.bool]
    sums = tf.map_fn(tf.reduce_sum, tf.ragged.constant([[1.0, 2.0], []]), dtype=np.float32)
    assert sums.numpy().tolist() == [3.0, 0.0]
