"""`vectorized_map`: at once and in functions, gradients, what is shared, what cannot be done."""

import numpy as np
import pytest

import penstock as tf

X = np.float32([[0.5, -1.0], [1.5, 0.25], [-0.75, 2.0]])
W = np.float32([[1.0, 0.5], [-0.5, 2.0]])


def squares(x, w):
    return tf.vectorized_map(lambda r: tf.sin(r) * r[0], x)


def products(x, w):
    a, b = tf.vectorized_map(
        lambda p: (tf.linalg.matvec(w, p[0]) * p[1], tf.reduce_sum(p[0] * p[1])), (x, x * x)
    )
    return a * b[:, None]


def outer_and_inner(x, w):
    def one(row):
        with tf.GradientTape() as tape:
            tape.watch(row)
            y = tf.reduce_sum(tf.tanh(tf.linalg.matvec(w, row)))
        return tape.gradient(y, row)

    return tf.vectorized_map(one, x)


def gathered(x, w):
    return tf.vectorized_map(lambda r: tf.gather(r, [1, 0, 1])[:2] * w[0], x)


PROGRAMS = (squares, products, outer_and_inner, gathered)


def by_rows(program):
    """The same with `map_fn` in place of `vectorized_map`."""

    def run(x, w):
        signature = (tf.float32, tf.float32) if program is products else tf.float32
        saved = tf.vectorized_map
        try:
            tf.vectorized_map = lambda f, e: tf.map_fn(f, e, fn_output_signature=signature)
            return program(x, w)
        finally:
            tf.vectorized_map = saved

    return run


def derivatives(program, x, w):
    with tf.GradientTape() as outer:
        outer.watch([x, w])
        with tf.GradientTape() as inner:
            inner.watch([x, w])
            y = program(x, w)
            total = tf.reduce_sum(y * y)
        grads = inner.gradient(total, [x, w], unconnected_gradients="zero")
        weighted = tf.reduce_sum(grads[0] * [1.0, -2.0]) + tf.reduce_sum(tf.sin(grads[1]))
    return y, *grads, *outer.gradient(weighted, [x, w], unconnected_gradients="zero")


@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives_are_those_of_map_fn(program):
    x, w = tf.constant(X), tf.constant(W)
    wanted = derivatives(by_rows(program), x, w)
    traced = tf.function(lambda x, w: derivatives(program, x, w), autograph=False)
    for got in (derivatives(program, x, w), traced(x, w), traced(x, w)):
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def test_single_rows_are_shared_and_sizes_may_vary():
    @tf.function(input_signature=[tf.TensorSpec([None, 2]), tf.TensorSpec([1, 2])])
    def run(x, w):
        return tf.vectorized_map(lambda p: p[0] * p[1], (x, w))

    for count in (3, 1, 2, 3):
        x = np.ones((count, 2), np.float32)
        np.testing.assert_allclose(run(x, W[:1]), x * W[:1])
    np.testing.assert_allclose(tf.vectorized_map(lambda p: p[0] + p[1], (X, W[:1])), X + W[:1])


def test_checks_name_the_row_that_fails():
    @tf.function(autograph=False)
    def run(x):
        def one(r):
            tf.debugging.assert_positive(r, message="too small")
            return tf.sqrt(r)

        return tf.vectorized_map(one, x)

    np.testing.assert_allclose(run(tf.constant([1.0, 4.0])), [1, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="too small"):
        run(tf.constant([1.0, -4.0]))


def test_variables_are_read_and_get_gradients():
    v = tf.Variable(W)

    def run(x):
        with tf.GradientTape() as tape:
            y = tf.vectorized_map(lambda r: tf.linalg.matvec(v, r), x, fallback_to_while_loop=False)
            total = tf.reduce_sum(y * y)
        return tape.gradient(total, v)

    wanted = 2 * sum(np.outer(W @ r, r) for r in X)
    for call in (run, tf.function(run, autograph=False)):
        np.testing.assert_allclose(call(tf.constant(X)), wanted, rtol=1e-5)


def test_what_cannot_be_vectorised_goes_row_by_row():
    def draw(x):
        return tf.vectorized_map(lambda r: r + tf.random.uniform([2]), x, warn=False)

    for got in (draw(tf.zeros([4, 2])), tf.function(draw)(tf.zeros([4, 2]))):
        assert len(np.unique(got)) == 8
    with pytest.raises(ValueError, match="RandomUniform"):
        tf.vectorized_map(lambda r: r + tf.random.uniform([2]), X, fallback_to_while_loop=False)


def test_refusals():
    with pytest.raises(TypeError, match="callable"):
        tf.vectorized_map(1, X)
    with pytest.raises(ValueError, match="scalar"):
        tf.vectorized_map(lambda r: r, 1.0)
    with pytest.raises(ValueError, match="at least one tensor"):
        tf.vectorized_map(lambda r: r, [])


def test_none_stays_where_it_was():
    for rows in (X, tf.ragged.constant([[1.0], [2.0, 3.0]])):
        assert tf.vectorized_map(lambda r: None, rows) is None
        found = tf.vectorized_map(
            lambda r: {"a": tf.reduce_sum(r) * 2.0, "b": (None, None)}, rows, warn=False
        )
        assert found["b"] == (None, None)
        assert float(tf.reduce_sum(found["a"])) == 2.0 * float(tf.reduce_sum(rows))
    values, nothing = tf.vectorized_map(lambda r: (tf.unique(r)[0], None), X, warn=False)
    assert (values.shape, nothing) == (X.shape, None)


def test_lengths_that_differ_have_tensorflows_class():
    def call():
        return tf.vectorized_map(lambda r: r[0] + r[1], (X, X[:2]))

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"same number of rows, got \[2, 3\]"):
        call()
    with pytest.raises(ValueError, match=r"same number of rows, got \[2, 3\]"):
        tf.function(call)()


def _strict(function, rows):
    return tf.vectorized_map(function, rows, fallback_to_while_loop=False)


def _checked(row):
    with tf.control_dependencies([tf.debugging.assert_positive(row)]):
        return row * 2.0


ON_HOST = {
    "assertion": (_checked, X + 10.0),
    "print": (lambda r: (tf.print(r), r + 1.0)[1], X),
    "sum": (lambda r: tf.sparse.segment_sum(r, [1, 0], [0, 0]), X),
    "mean": (lambda r: tf.sparse.segment_mean(r, [1, 0], [0, 0]), X),
    "root": (lambda r: tf.sparse.segment_sqrt_n(r, [1, 0], [0, 0]), X),
    "number": (lambda r: tf.sparse.segment_sum(r, [1, 0], [0, 0], num_segments=3), X),
    "equal": (lambda s: s == "a", tf.constant(["a", "b"])),
    "differ": (lambda s: tf.not_equal(s, ["a", "b"]), tf.constant(["a", "b"])),
    "texts": (lambda s: tf.stack([s, s]), tf.constant(["a", "b"])),
    "poisson": (
        lambda r: tf.random.stateless_poisson([2], [1, 2], r, tf.int32),
        tf.constant([1.0, 9.0]),
    ),
    "binomial": (
        lambda r: tf.random.stateless_binomial([2], [1, 2], 5.0, r),
        tf.constant([0.1, 0.5]),
    ),
}


@pytest.mark.parametrize("name", list(ON_HOST))
def test_what_xla_has_no_code_for_is_run_row_by_row(name):
    function, rows = ON_HOST[name]
    expected = tf.stack([function(row) for row in tf.unstack(rows)])
    for way in (_strict, tf.function(_strict)):
        found = way(function, rows)
        assert found.dtype is expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_boxes_of_each_row():
    boxes = tf.constant(
        [
            [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.1, 1.0], [2.0, 2.0, 3.0, 3.0]],
            [[0.0, 0.0, 1.0, 1.0], [0.0, 3.0, 1.0, 4.0], [2.0, 2.0, 3.0, 3.0]],
        ]
    )
    scores = tf.constant([[0.9, 0.8, 0.7], [0.1, 0.5, 0.9]])

    def choose(row):
        return tf.image.non_max_suppression_padded(*row, 3, pad_to_max_output_size=True)

    chosen, count = _strict(choose, (boxes, scores))
    assert chosen.numpy().tolist() == [[0, 2, 0], [2, 1, 0]]
    assert count.numpy().tolist() == [2, 3]


def test_a_row_that_fails_an_assertion():
    for way in (_strict, tf.function(_strict)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="x > 0 did not hold"):
            way(_checked, tf.constant([[1.0], [-1.0]]))


def test_functions_that_must_compile_check_each_row():
    compiled = tf.function(_strict, jit_compile=True)
    assert compiled(_checked, tf.constant([[1.0], [2.0]])).shape == (2, 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="x > 0 did not hold"):
        compiled(_checked, tf.constant([[1.0], [-1.0]]))


def test_text_and_prints_are_those_of_a_row(capfd):
    rows = tf.constant([[1, 2], [3, 4]])
    texts = _strict(lambda r: tf.strings.format("<{}>", r), rows)
    assert texts.numpy().tolist() == [b"<[1 2]>", b"<[3 4]>"]

    def shown(row):
        tf.print("row", row)
        return row

    _strict(shown, rows)
    assert capfd.readouterr().err.splitlines() == ["row [1 2]", "row [3 4]"]


def test_gradients_of_rows_on_the_host():
    with tf.GradientTape() as tape:
        x = tf.constant(X)
        tape.watch(x)
        y = _strict(lambda r: tf.sparse.segment_sum(r * r, [1, 0], [0, 0]), x)
    np.testing.assert_array_equal(tape.gradient(y, x), 2.0 * X)


@pytest.mark.parametrize("function", [tf.strings.length, lambda s: tf.strings.join([s, "x"])])
def test_work_on_texts_is_refused(function):
    with pytest.raises(ValueError, match="expected operations that can be vectorised"):
        _strict(function, tf.constant(["a", "b"]))
