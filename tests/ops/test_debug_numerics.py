"""enable_check_numerics: the first operation that gives NaN or infinity is named with its line."""

import inspect
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf

Failed = tf.errors.InvalidArgumentError


@pytest.fixture(autouse=True)
def _checked() -> Iterator[None]:
    tf.debugging.enable_check_numerics()
    yield
    tf.debugging.disable_check_numerics()


def _error(call: Any) -> str:
    with pytest.raises(Failed) as caught:
        call()
    return str(caught.value)


def _line_of(function: Any, text: str) -> str:
    """`file:line` of a line of a function that holds a text, as errors show it."""
    lines, first = inspect.getsourcelines(function)
    (number,) = [first + i for i, line in enumerate(lines) if text in line]
    return f"test_debug_numerics.py:{number}"


def test_eager_operation_input_and_line_are_named() -> None:
    def run() -> Any:
        return tf.math.log(tf.constant([-1.0, 2.0]))

    message = _error(run)
    assert 'output 0 of eagerly-executing op "Log"' in message
    assert "# of NaN elements: 1" in message
    assert "[-1.  2.]" in message
    assert _line_of(run, "tf.math.log") in message


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: tf.constant([1.0]) / tf.constant([0.0]), "+Inf"),
        (lambda: tf.constant([-1.0]) / tf.constant([0.0]), "-Inf"),
        (lambda: tf.constant([60000.0], tf.float16) * 2, "+Inf"),
        (lambda: tf.constant([3e38], tf.bfloat16) * 2, "+Inf"),
        (lambda: tf.cast(tf.constant(1e300, tf.float64), tf.float32), "+Inf"),
        (lambda: tf.constant(float("nan")) + 1, "NaN"),
        (lambda: tf.matmul(tf.constant([[3e38]]), tf.constant([[3e38]])), "+Inf"),
    ],
)
def test_every_kind_and_dtype(make: Any, kind: str) -> None:
    assert f"Tensor had {kind} values" in _error(make)


def test_what_only_moves_values_passes() -> None:
    nan = tf.constant(float("nan"))
    for value in (tf.identity(nan), tf.reshape(nan, [1]), tf.fill([2], nan), tf.stack([nan, nan])):
        assert np.isnan(value).all()
    assert int(tf.constant(1) + 1) == 2


def test_a_function_names_the_first_operation_and_its_line() -> None:
    @tf.function
    def f(x: Any) -> Any:
        y = tf.math.log(x)  # the bad one
        return tf.exp(y) * y

    message = _error(lambda: f(tf.constant(-1.0)))
    assert 'graph op "Log"' in message
    assert _line_of(f.python_function, "# the bad one") in message
    assert float(f(tf.constant(1.0))) == 0.0


@pytest.mark.parametrize("size", [4, 100_000])
def test_compiled_regions_carry_the_checks(size: int) -> None:
    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        return tf.sqrt(tf.exp(x) - 2.0) + tf.math.log(x - 5.0)

    good = tf.fill([size], 6.0)
    for _ in range(3):  # on the host first, compiled when the size comes back
        assert np.isfinite(f(good)).all()
    for _ in range(2):
        assert 'graph op "Log"' in _error(lambda: f(tf.fill([size], 4.0)))


def test_gradients_are_looked_at() -> None:
    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sqrt(x)
        return tape.gradient(y, x)  # here

    zero = tf.constant(0.0)
    eager, traced = _error(lambda: slope(zero)), _error(lambda: tf.function(slope)(zero))
    assert '"SqrtGrad"' in eager
    assert '"SqrtGrad"' in traced
    assert _line_of(slope, "# here") in eager
    assert _line_of(slope, "# here") in traced
    assert float(slope(tf.constant(4.0))) == 0.25
    assert float(tf.function(slope)(tf.constant(4.0))) == 0.25


def test_loops_and_branches() -> None:
    @tf.function
    def f(x: Any) -> Any:
        for _ in tf.range(3):
            x = tf.math.log(x)
        return x

    @tf.function
    def g(x: Any) -> Any:
        if x > 0.0:
            return 1.0 / (x - x)
        return x

    assert 'graph op "Log"' in _error(lambda: f(tf.constant(1.0)))
    assert 'graph op "RealDiv"' in _error(lambda: g(tf.constant(1.0)))
    assert float(g(tf.constant(-1.0))) == -1.0


def test_gradients_of_loops() -> None:
    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.scan(lambda a, b: a * 0.5 + tf.sqrt(b), x))
        return tape.gradient(y, x)

    expected = slope(tf.ones([4]))
    traced = tf.function(slope)
    np.testing.assert_allclose(traced(tf.ones([4])), expected, rtol=1e-6)
    assert '"SqrtGrad"' in _error(lambda: traced(tf.constant([1.0, 0.0, 1.0, 1.0])))


def test_graphs_and_symbolic_gradients() -> None:
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [])
        y = tf.sqrt(x) * 3.0
        (slope,) = tf.gradients(y, x)
        with tf.compat.v1.Session() as session:
            assert session.run([y, slope], {x: 4.0}) == [6.0, 0.75]
            assert 'graph op "Sqrt"' in _error(lambda: session.run(y, {x: -1.0}))
            assert 'graph op "SqrtGrad"' in _error(lambda: session.run(slope, {x: 0.0}))


def test_training_with_checks_gives_the_same_numbers() -> None:
    def train() -> Any:
        w = tf.Variable([[0.5], [-0.25]])
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])

        @tf.function
        def step() -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.softplus(tf.matmul(x, w)))
            w.assign_sub(0.1 * tape.gradient(loss, w))
            return loss

        return [float(step()) for _ in range(3)], w.numpy()

    losses, weights = train()
    tf.debugging.disable_check_numerics()
    plain_losses, plain_weights = train()
    np.testing.assert_array_equal(losses, plain_losses)
    np.testing.assert_array_equal(weights, plain_weights)


def test_functions_are_traced_again_when_it_is_switched() -> None:
    tf.debugging.disable_check_numerics()
    traces = []

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def signed(x: Any) -> Any:
        traces.append("signed")
        return tf.math.log(x)

    @tf.function
    def free(x: Any) -> Any:
        traces.append("free")
        return tf.math.log(x)

    bad = tf.constant(-1.0)
    for f in (signed, free):
        assert np.isnan(f(bad))
        tf.debugging.enable_check_numerics()
        assert 'graph op "Log"' in _error(lambda f=f: f(bad))
        tf.debugging.disable_check_numerics()
        assert np.isnan(f(bad))
        assert np.isnan(f(tf.constant(-2.0)))
    assert traces == ["signed", "signed", "free", "free"]
    free(tf.ones([2]))  # a retrace beside checked ones


def test_a_concrete_function_of_before_is_named_by_its_result() -> None:
    tf.debugging.disable_check_numerics()
    concrete = tf.function(lambda x: tf.math.log(x)).get_concrete_function(
        tf.TensorSpec([], tf.float32)
    )
    tf.debugging.enable_check_numerics()
    assert f'eagerly-executing op "{concrete.name}"' in _error(lambda: concrete(tf.constant(-1.0)))


def test_it_holds_for_the_thread_that_asked_alone() -> None:
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.append(tf.math.log(tf.constant(-1.0)).numpy()))
    thread.start()
    thread.join()
    assert np.isnan(seen[0])


def test_limits_of_what_is_shown() -> None:
    tf.debugging.disable_check_numerics()
    tf.debugging.disable_check_numerics()  # off already
    tf.debugging.enable_check_numerics(stack_height_limit=1, path_length_limit=10)
    message = _error(lambda: tf.math.log(tf.constant(-1.0)))
    (line,) = [s for s in message.splitlines() if " in " in s and ".py:" in s]
    assert line.strip().startswith("...umerics.py:")


@pytest.mark.parametrize("arguments", [("x",), (2.5,), (30, "y"), (True,)])
def test_limits_are_integers(arguments: Any) -> None:
    with pytest.raises(TypeError, match="expected an integer"):
        tf.debugging.enable_check_numerics(*arguments)
    with pytest.raises(ValueError, match=">= 0"):
        tf.debugging.enable_check_numerics(-1)
