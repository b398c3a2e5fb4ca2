"""Functions, operators and indices in the dtype conversion modes, as TensorFlow 2.21 has them."""

import importlib.util
import pickle
from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from penstock.core import dispatch
from penstock.core.weak_tensor import WeakTensor
from penstock.ops import numpy_behavior

ROOT = Path(__file__).resolve().parents[2]
tnp = tf.experimental.numpy


def _recorder():
    path = ROOT / "tools" / "record_numpy_modes.py"
    spec = importlib.util.spec_from_file_location("record_numpy_modes", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RECORDER = _recorder()


@pytest.fixture
def mode(request):
    numpy_behavior.experimental_enable_numpy_behavior(dtype_conversion_mode=request.param)
    yield request.param
    numpy_behavior.restore()


def in_mode(*modes):
    return pytest.mark.parametrize("mode", modes, indirect=True)


@in_mode("all", "safe", "legacy")
def test_results_are_those_recorded(mode):
    file = next(f for f, modes in RECORDER.FILES.items() if mode in modes)
    column = -1 if mode == RECORDER.FILES[file][-1] else 1
    differing = {
        row[0]: (row[column], ours)
        for row, ours in zip(RECORDER.rows(file), RECORDER.results(tf, file), strict=True)
        if ours != row[column]
    }
    assert differing == {}


@in_mode("safe")
def test_safe_names_both_kinds_and_a_way_out(mode):
    with pytest.raises(TypeError, match=r"weak float32 and int8.*weak float64.*tf\.cast"):
        tf.constant(1.5) + tf.constant(1, tf.int8)


@in_mode("all")
def test_an_integer_beyond_int32_is_refused(mode):
    with pytest.raises(OverflowError, match=r"2147483648 .*\[-2147483648, 2147483647\].*np\.int64"):
        tf.constant(2**31)
    assert tf.constant(2**31 - 1).numpy() == 2**31 - 1
    assert (tf.constant(np.int64(2**31)) + 1).numpy() == 2**31 + 1


@in_mode("all")
def test_a_variable_says_what_it_was_assigned(mode):
    variable = tf.Variable(1)
    with pytest.raises(TypeError, match=r"assign_add of Variable:0.*int32.*weak float32.*float64"):
        variable.assign_add(1.5)
    assert variable.numpy() == 1


@in_mode("all")
def test_a_python_float_keeps_its_digits_beside_float64(mode):
    wide = tf.cast(tf.constant(0), tf.float64)
    assert (wide + 0.1).numpy() == 0.1
    assert (wide + tf.constant(0.1)).numpy() == np.float64(np.float32(0.1))


@in_mode("all")
def test_a_weak_tensor_is_pickled(mode):
    assert repr(pickle.loads(pickle.dumps(tf.constant([1, 2])))) == repr(tf.constant([1, 2]))


@in_mode("all")
def test_loops_and_branches_keep_weakness_in_functions(mode):
    @tf.function
    def run(x):
        (x,) = tf.while_loop(lambda i: i < 5, lambda i: [i + 1], [x])
        return tf.cond(x > 2, lambda: x + 1, lambda: x)

    assert repr(run(tf.constant(1))) == repr(tf.constant(6))


@in_mode("all")
def test_converted_statements_take_weak_tensors(mode):
    @tf.function
    def run(values):
        total = 0.0
        for value in values:
            total = total + value
        while total < 10:
            total = total + 1.5
        if total > 10:
            total = total * 2
        return total

    assert repr(run(tf.constant([1.0, 2.0]))) == repr(tf.constant(21.0, tf.float32))


@in_mode("all")
def test_numbers_that_functions_return_are_weak(mode):
    found = tf.function(lambda x: [x + 1, 2.5, True])(1)
    assert list(map(repr, found)) == list(map(repr, map(tf.constant, (2, 2.5, True))))


@in_mode("all")
def test_a_session_fetches_and_feeds_weak_tensors(mode):
    with tf.Graph().as_default():
        x = tf.constant(2)
        y = x + 1.5
        with tf.compat.v1.Session() as session:
            assert session.run(y) == 3.5
            assert session.run({"y": y, "x": [x]}, {x: 7}) == {"y": 8.5, "x": [7]}


@in_mode("all")
def test_results_follow_weak_tensors_into_a_jacobian(mode):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * 3
    assert repr(tape.jacobian(y, x)) == repr(tf.constant([[3.0, 0.0], [0.0, 3.0]]))


def test_only_five_dtypes_can_be_weak():
    from penstock.core.weak_tensor import WeakTensor

    with pytest.raises(TypeError, match="int32, int64, float32, float64, complex128, got int8"):
        WeakTensor(tf.constant(1, tf.int8))


def test_restore_leaves_nothing_behind():
    before = repr(tf.constant(1) + 1)
    numpy_behavior.experimental_enable_numpy_behavior(dtype_conversion_mode="all")
    assert "weak=True" in repr(tf.constant(1) + 1)
    numpy_behavior.restore()
    assert repr(tf.constant(1) + 1) == before
    assert object not in dispatch.kinds
    assert round(tf.constant(1.5)) == 2.0
    with pytest.raises(ValueError, match="float64"):
        tf.Variable(1.0).assign(tf.constant(1.0, tf.float64))


@pytest.mark.parametrize("first", ["safe", "all", "off", "legacy"])
def test_modes_follow_each_other(first):
    try:
        numpy_behavior.experimental_enable_numpy_behavior(dtype_conversion_mode=first)
        numpy_behavior.experimental_enable_numpy_behavior(dtype_conversion_mode="legacy")
        assert repr(tf.constant(1, tf.int8) + 2.5) == repr(tf.constant(3.5, tf.float64))
        numpy_behavior.experimental_enable_numpy_behavior(dtype_conversion_mode="all")
        assert "weak=True" in repr(tf.constant(1, tf.int8) + 2.5)
    finally:
        numpy_behavior.restore()


@in_mode("all")
@pytest.mark.parametrize("later", ["off", "legacy"])
def test_weak_tensors_that_outlive_their_mode_are_the_tensors_inside(mode, later):
    x, row = tf.constant(3), tf.constant([1, 2])
    numpy_behavior.experimental_enable_numpy_behavior(dtype_conversion_mode=later)
    inside = x.to_tensor()
    assert list(map(repr, (x + 1, -x, x == 3, x[None], x.T, row[row > 1]))) == list(
        map(repr, (inside + 1, -inside, inside == 3, inside[None], inside.T, tf.constant([2])))
    )
    assert repr(2 - x) == repr(2 - inside)
    if later == "off":
        with pytest.raises(tf.errors.InvalidArgumentError, match="AddV2 as input #1"):
            x + tf.constant(1.0)


@in_mode("all")
def test_an_assignment_of_nothing_says_what_is_missing(mode):
    variable = tf.Variable(1)
    for assign in (variable.assign, variable.assign_add):
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            assign()


@in_mode("all", "safe")
def test_a_weak_tensor_times_a_sparse_one(mode):
    sparse = tf.SparseTensor([[0, 1]], [2], [2, 3])
    for weak in (tf.constant(3), tf.constant([[1, 3, 1]] * 2)):
        for product in (weak * sparse, sparse * weak):
            assert product.values.numpy().tolist() == [6]
            assert product.dtype == tf.int32


@in_mode("all", "safe")
def test_numbers_that_branches_give_are_weak(mode):
    yes, row = tf.constant([True])[0], tf.constant(np.array([1], np.float16))
    found = []

    @tf.function
    def run(choose):
        found.append(tf.cond(choose, lambda: (1.0, None), lambda: (2.0, None))[0])
        found.append(tf.case([(choose, lambda: 1.0)], default=lambda: 2.0))
        if choose:
            y = 1.0
        else:
            y = 2.0
        return [value + row for value in (*found, y, 1.0 if choose else 2.0)]

    assert [(v.dtype, v.numpy().tolist()) for v in run(yes)] == [(tf.float16, [2.0])] * 4
    assert all(isinstance(v, WeakTensor) for v in found)
    strong = tf.constant(np.float32(3))
    with pytest.raises(TypeError, match="structure"):
        tf.function(lambda: tf.cond(yes, lambda: 1.0, lambda: strong))()
