"""GradientTape: values by hand, and the rules of watching, persistence and nesting."""

import numpy as np
import pytest

import penstock as tf


def test_gradient_of_a_product():
    x, y = tf.constant(3.0), tf.constant(4.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = x * x * y
    dx, dy = tape.gradient(z, [x, y])
    assert (float(dx), float(dy)) == (24.0, 9.0)


def test_structure_of_sources_is_kept():
    x, y = tf.constant(2.0), tf.constant(5.0)
    with tf.GradientTape() as tape:
        tape.watch((x, y))
        z = x * y
    grads = tape.gradient(z, {"a": x, "b": [y, None][:1]})
    assert float(grads["a"]) == 5.0
    assert float(grads["b"][0]) == 2.0


def test_unwatched_constant_has_no_gradient():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x) is None


def test_unconnected_zero_gives_zeros_of_the_sources_shape():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.constant(1.0) * 2.0
    zeros = tape.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    np.testing.assert_array_equal(zeros.numpy(), [0.0, 0.0])


def test_second_use_of_a_tape_is_refused():
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="non-persistent GradientTape"):
        tape.gradient(y, x)


def test_persistent_tape_serves_several_targets():
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert float(tape.gradient(z, x)) == 32.0
    assert float(tape.gradient(y, x)) == 4.0
    assert float(tape.gradient(z, y)) == 8.0


def test_nested_tapes_give_higher_orders():
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x * x
        first = inner.gradient(y, x)
    assert float(first) == 27.0
    assert float(outer.gradient(first, x)) == 18.0


def test_output_gradients_scale_the_result():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * 3.0
    grad = tape.gradient(y, x, output_gradients=tf.constant([10.0, 100.0]))
    np.testing.assert_array_equal(grad.numpy(), [30.0, 300.0])


def test_broadcast_inputs_get_summed_gradients():
    a, b = tf.ones([2, 3]), tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        c = a * b
    da, db = tape.gradient(c, [a, b])
    np.testing.assert_array_equal(da.numpy(), [[1, 2, 3], [1, 2, 3]])
    np.testing.assert_array_equal(db.numpy(), [2, 2, 2])


def test_stop_recording_and_reset():
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        with tape.stop_recording():
            y = x * x
        z = x * 3.0
    assert tape.gradient(y, x) is None
    assert float(tape.gradient(z, x)) == 3.0
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        tape.reset()
    assert tape.gradient(y, x) is None
    for method in (tape.reset, lambda: tape.stop_recording().__enter__()):
        with pytest.raises(ValueError, match="not recording"):
            method()


def test_variables_are_watched_when_read():
    v, frozen = tf.Variable(2.0), tf.Variable(3.0, trainable=False)
    with tf.GradientTape() as tape:
        y = v * v * frozen
    assert [id(w) for w in tape.watched_variables()] == [id(v)]
    dv, df = tape.gradient(y, [v, frozen])
    assert float(dv) == 12.0
    assert df is None


def test_variables_are_not_watched_when_turned_off():
    v, w = tf.Variable(2.0), tf.Variable(5.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(v)
        y = v * w
    assert [None if g is None else float(g) for g in tape.gradient(y, [v, w])] == [5.0, None]


def test_gather_gives_indexed_slices():
    table = tf.Variable(np.zeros((5, 2), np.float32))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(table, [1, 1, 3]) * 2.0)
    grad = tape.gradient(y, table)
    assert isinstance(grad, tf.IndexedSlices)
    dense = tf.convert_to_tensor(grad).numpy()
    np.testing.assert_array_equal(dense[:, 0], [0, 4, 0, 2, 0])


def test_jacobian_and_batch_jacobian():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    np.testing.assert_allclose(tape.jacobian(y, x).numpy(), np.diag([2.0, 4.0, 6.0]))
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    found = tape.batch_jacobian(y, x).numpy()
    np.testing.assert_allclose(found, [np.diag([2.0, 4.0]), np.diag([6.0, 8.0])])


def test_integers_are_not_differentiated(caplog):
    x = tf.constant(3)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x) is None


def test_a_step_without_rule_stops_the_gradient():
    x = tf.constant([3.0, 1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(tf.argmax(x), tf.float32) * x[0]
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [0.0, 0.0])


@pytest.mark.parametrize(
    "function", [lambda x: tf.unique(x)[0], lambda x: tf.bitcast(x, tf.float32)]
)
def test_a_step_that_refuses_a_gradient_is_an_error(function):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    with pytest.raises(LookupError, match=r"gradient registry has no entry.*RegisterGradient"):
        tape.gradient(y, x)
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [2])
        with pytest.raises(LookupError, match="gradient registry has no entry"):
            tf.gradients(function(x), x)


def test_likes_stop_the_gradient():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        zeros, ones = tf.zeros_like(x), tf.ones_like(x)
        next_up = tf.math.nextafter(x, [[3.0, 4.0]])
    assert tape.gradient(zeros, x) is None
    assert tape.gradient(ones, x) is None
    np.testing.assert_array_equal(tape.gradient(next_up, x), [1.0, 1.0])


def test_watch_refuses_what_is_no_tensor():
    with tf.GradientTape() as tape, pytest.raises(ValueError, match=r"not tf\.Tensor"):
        tape.watch("text")


def test_tape_inside_of_a_function():
    v = tf.Variable(3.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            y = v * v * x
        return tape.gradient(y, v)

    assert float(step(tf.constant(2.0))) == 12.0


def test_tape_around_a_function_to_second_order():
    @tf.function
    def f(x):
        return tf.tanh(x) * x

    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        first = inner.gradient(y, x)
    second = outer.gradient(first, x)
    t = np.tanh(3.0)
    np.testing.assert_allclose(float(first), t + 3 * (1 - t * t), rtol=1e-5)
    np.testing.assert_allclose(float(second), 2 * (1 - t * t) - 2 * 3 * t * (1 - t * t), rtol=1e-4)


def test_function_of_a_function_and_variables():
    w = tf.Variable([2.0, 3.0])

    @tf.function
    def inner(x):
        return tf.reduce_sum(w * x)

    @tf.function
    def outer(x):
        return inner(x) * inner(x)

    x = tf.constant([1.0, 1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = outer(x)
    dx, dw = tape.gradient(y, [x, w])
    np.testing.assert_allclose(dx.numpy(), [20.0, 30.0])
    np.testing.assert_allclose(dw.numpy(), [10.0, 10.0])


def test_watching_a_captured_tensor_inside_of_a_function():
    x, big = tf.constant(3.0), tf.constant(np.arange(1000, dtype=np.float32))

    @tf.function
    def f():
        with tf.GradientTape() as tape:
            tape.watch([x, big])
            y = x * x * tf.reduce_sum(big * 2.0)
        return tape.gradient(y, [x, big])

    dx, dbig = f()
    assert float(dx) == 2 * 3.0 * 999000.0
    np.testing.assert_array_equal(dbig.numpy(), np.full(1000, 18.0))


@pytest.mark.parametrize("value", [2.0, 3, True, None, "a", object(), np.ones(2, np.float32)])
@pytest.mark.parametrize("error", [TypeError, AttributeError])
def test_what_is_no_tensor_has_no_gradient(value, error):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(error, match=r"expected a tensor or variable as source, got .*type"):
        tape.gradient(y, [x, value])
    if value is not None:  # TypeError alone, as before
        with pytest.raises(error, match=r"expected a tensor or variable as target, got .*type"):
            tape.gradient(value, x)
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        y = x * x
    with pytest.raises(error, match=r"expected a tensor or variable as primal, got .*type"):
        accumulator.jvp([y, value])
