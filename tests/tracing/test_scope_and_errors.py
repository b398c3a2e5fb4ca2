"""What a trace may hold on to, what leaks from it, and what its errors show."""

import traceback

import numpy as np
import pytest

import penstock as tf

HERE = "test_scope_and_errors.py:"


# ---- captures ------------------------------------------------------------------------------------


def test_captures_are_by_reference_for_variables_and_by_value_for_python() -> None:
    v, scale, box = tf.Variable(1.0), 2.0, [10.0]

    @tf.function
    def f(x):
        return x * scale + v + box[0]

    assert float(f(tf.constant(1.0))) == 13.0
    v.assign(5.0)
    scale, box[0] = 100.0, 100.0
    assert float(f(tf.constant(1.0))) == 17.0


@pytest.mark.parametrize("size", [3, 1000])
def test_a_captured_tensor_keeps_its_value(size) -> None:
    held = {"t": tf.fill([size], 2.0)}

    @tf.function
    def f():
        return tf.reduce_sum(held["t"])

    assert float(f()) == 2.0 * size
    held["t"] = tf.fill([size], 3.0)
    assert float(f()) == 2.0 * size


def test_side_effects_happen_while_tracing_only() -> None:
    seen = []

    @tf.function
    def f(x):
        seen.append(1)
        return x + float(len(seen))

    assert [float(f(tf.constant(0.0))) for _ in range(3)] == [1.0, 1.0, 1.0]
    assert len(seen) == 1


def test_init_scope_runs_at_once() -> None:
    made = []

    @tf.function
    def f(x):
        with tf.init_scope():
            assert tf.executing_eagerly()
            made.append(tf.constant(5.0) + 1.0)
        assert not tf.executing_eagerly()
        assert tf.inside_function()
        return x + made[-1]

    outer = tf.function(lambda x: f(x) * 2.0)
    assert float(outer(tf.constant(1.0))) == 14.0
    assert made[0].numpy() == 6.0


def test_functions_may_be_made_inside_functions() -> None:
    @tf.function
    def outer(x):
        @tf.function
        def inner(y):
            return x * y

        return inner(x + 1.0) + inner(tf.constant(2.0))

    assert float(outer(tf.constant(3.0))) == 18.0
    assert outer(tf.constant([1.0, 2.0])).numpy().tolist() == [4.0, 10.0]


# ---- variables -----------------------------------------------------------------------------------


def test_a_variable_made_later_is_refused() -> None:
    made = {}

    @tf.function
    def f(x, n):
        if n > 0:
            made["v"] = tf.Variable(2.0)
        return x

    f(1.0, 0)
    with pytest.raises(ValueError, match=r"singleton tf\.Variables created on the first") as caught:
        f(1.0, 1)
    assert HERE in str(caught.value)
    assert "if self.v is None" in str(caught.value)


# ---- recursion -----------------------------------------------------------------------------------


def test_recursion_over_tensors_is_refused() -> None:
    @tf.function
    def endless(n):
        return endless(n)

    with pytest.raises(
        RecursionError, match=r"tf.function endless, called at .*while_loop"
    ) as info:
        endless(tf.constant(1))
    assert HERE in str(info.value)
    with pytest.raises(RecursionError):  # and so once more
        endless(tf.constant(1))


def test_recursion_over_python_numbers_ends() -> None:
    @tf.function
    def total(n):
        return tf.constant(0) if n == 0 else total(n - 1) + n

    assert int(total(5)) == 15
    assert total.experimental_get_tracing_count() == 6


# ---- leaks ---------------------------------------------------------------------------------------


def _leak():
    leaked = []

    @tf.function
    def source(x):
        leaked.append(x * 2.0)
        return x

    source(tf.constant(1.0))
    return leaked[0], source


@pytest.mark.parametrize(
    "use",
    [
        lambda t, f: t + 1.0,
        lambda t, f: tf.add(1.0, t),
        lambda t, f: tf.stack([t, 1.0]),
        lambda t, f: tf.convert_to_tensor(t),
        lambda t, f: tf.Variable(1.0).assign(t),
        lambda t, f: f(t),
        lambda t, f: f.get_concrete_function(tf.constant(1.0))(t),
        lambda t, f: tf.function(lambda x: x + t)(1.0),
        lambda t, f: tf.function(lambda: t)(),
        lambda t, f: tf.function(lambda: f(t))(),
    ],
)
def test_a_leaked_tensor_names_function_line_and_fix(use) -> None:
    leaked, source = _leak()
    with pytest.raises(TypeError, match="is out of scope and cannot be used here") as caught:
        use(leaked, source)
    assert "function source" in str(caught.value)
    assert HERE in str(caught.value)
    assert "Return it from" in str(caught.value)


def test_a_spec_is_no_argument_of_a_call() -> None:
    function = tf.function(lambda x: x)
    with pytest.raises(ValueError, match=r"has no value.*get_concrete_function"):
        function(tf.TensorSpec([2]))


# ---- eager mode ----------------------------------------------------------------------------------


def test_run_functions_eagerly_calls_python() -> None:
    function = tf.function(lambda x: x, input_signature=[tf.TensorSpec([2], tf.float32)])
    assert not tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    try:
        assert tf.config.functions_run_eagerly()
        assert function(3) == 3
    finally:
        tf.config.run_functions_eagerly(False)
    assert function.experimental_get_tracing_count() == 0


# ---- tracebacks ----------------------------------------------------------------------------------


def _bad(x):
    return tf.matmul(x, x)


def _frames(call, kind=Exception):
    with pytest.raises(kind) as caught:
        call()
    return [f for f in traceback.extract_tb(caught.value.__traceback__) if "pytest" not in f[0]]


@pytest.mark.parametrize(
    "call",
    [
        tf.function(_bad),
        tf.function(lambda x: tf.cond(x[0, 0] > 0.0, lambda: _bad(x), lambda: _bad(x))),
    ],
)
def test_errors_while_tracing_show_the_users_frames_alone(call) -> None:
    frames = _frames(lambda: call(tf.ones([2, 3])), ValueError)
    assert {f.filename for f in frames} == {__file__}
    assert frames[-1].name == "_bad"


def test_errors_while_running_show_the_users_frames_alone() -> None:
    @tf.function
    def function(x):
        tf.debugging.assert_positive(x)
        return x

    function(tf.constant(1.0))
    frames = _frames(lambda: function(tf.constant(-1.0)), tf.errors.InvalidArgumentError)
    assert {f.filename for f in frames} == {__file__}
    concrete = function.get_concrete_function(tf.constant(1.0))
    assert {f.filename for f in _frames(lambda: concrete(tf.constant(-1.0)))} == {__file__}


def test_all_frames_on_request(monkeypatch) -> None:
    function = tf.function(_bad)
    assert tf.debugging.is_traceback_filtering_enabled()
    tf.debugging.disable_traceback_filtering()
    try:
        assert not tf.debugging.is_traceback_filtering_enabled()
        assert len({f.filename for f in _frames(lambda: function(tf.ones([2, 3])))}) > 2
    finally:
        tf.debugging.enable_traceback_filtering()
    assert {f.filename for f in _frames(lambda: function(tf.ones([2, 3])))} == {__file__}


def test_an_error_while_tracing_leaves_no_trace_behind() -> None:
    fail = [True]

    @tf.function
    def f(x):
        if fail[0]:
            raise KeyError("mine")
        return x

    with pytest.raises(KeyError, match="mine"):
        f(tf.constant(1.0))
    fail[0] = False
    assert float(f(tf.constant(1.0))) == 1.0
    assert tf.executing_eagerly()
    np.testing.assert_array_equal(tf.constant([1]).numpy(), [1])


def test_control_inputs_of_a_function_that_are_there_already():
    variable = tf.Variable(1)

    @tf.function
    def f(x):
        last = tf.add(x, 1)
        ragged = tf.RaggedTensor.from_row_splits(tf.stack([x, x]), [0, 2])
        with tf.control_dependencies([1, 1.5, np.ones(2), [3], object(), variable, last, ragged]):
            return tf.identity(x, name="after")

    graph = f.get_concrete_function(tf.constant(1)).graph
    after = graph.get_operation_by_name("after")
    assert {"AddV2", "Pack"} <= {op.type for op in after.control_inputs}
    with pytest.raises(TypeError, match="Can not convert a NoneType"), tf.Graph().as_default():
        tf.control_dependencies([None]).__enter__()
    with pytest.raises(TypeError, match="Can not convert a int"), tf.Graph().as_default():
        tf.control_dependencies([1]).__enter__()
