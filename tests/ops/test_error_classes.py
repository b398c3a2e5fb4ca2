"""The classes of errors that wrong arguments raise, as TensorFlow 2.21 raises them.

`tests/golden` compares a thousand calls with TensorFlow; the lines here are those whose
class hangs on a decision in one of the central places: conversion, attributes, Python functions,
scopes, tapes, concrete functions.
"""

import numpy as np
import pytest

import penstock as tf

INVALID = tf.errors.InvalidArgumentError
UNKNOWN = tf.errors.UnknownError
ROW = [0.0, 1.0, 2.0]


def _fail(problem: BaseException):
    def function(*_: object) -> float:
        raise problem

    return function


# call, class when it runs at once, class in a graph (when it is built, or when it runs)
CALLS = {
    "object": (lambda: tf.identity(object()), ValueError, TypeError),
    "number, text": (lambda: tf.constant([1, "a"]), ValueError, TypeError),
    "text, number": (lambda: tf.constant(["a", 1]), ValueError, TypeError),
    "dict": (lambda: tf.constant({"a": 1}), ValueError, TypeError),
    "big": (lambda: tf.constant(2**70), ValueError, TypeError),
    "None": (lambda: tf.constant(None), ValueError, ValueError),
    "None in list": (lambda: tf.reshape(ROW, [3, None]), ValueError, TypeError),
    "ragged": (lambda: tf.constant([[1, 2], [3]]), ValueError, ValueError),
    "float axis": (lambda: tf.reduce_sum(ROW, axis=1.5), TypeError, TypeError),
    "text axis": (lambda: tf.reduce_sum(ROW, axis="a"), INVALID, TypeError),
    "float shape": (lambda: tf.reshape(ROW, 1.5), INVALID, TypeError),
    "float shape of a tensor": (lambda: tf.reshape(tf.constant(ROW), 1.5), TypeError, TypeError),
    "float shapes": (lambda: tf.tile([ROW], [1.0, 1.0]), INVALID, TypeError),
    "float index": (lambda: tf.one_hot(1.0, 3), TypeError, TypeError),
    "number as condition": (lambda: tf.where(1, 1, 2), TypeError, TypeError),
    "sqrt of int": (lambda: tf.sqrt(2), INVALID, TypeError),
    "attribute's kind": (
        lambda: tf.raw_ops.Cumsum(x=ROW, axis=0, exclusive=1),
        TypeError,
        TypeError,
    ),
    "attribute's type": (lambda: tf.raw_ops.Cast(x=ROW, DstT="no"), TypeError, TypeError),
    "integer noise": (lambda: tf.random.normal([2], dtype=tf.int32), TypeError, TypeError),
    "text as squeeze": (lambda: tf.squeeze([ROW], "a"), TypeError, TypeError),
    "eye of text": (lambda: tf.eye("a"), TypeError, TypeError),
    "eye of float": (lambda: tf.eye(2.5), TypeError, TypeError),
    "eye below 0": (lambda: tf.eye(-1), INVALID, ValueError),
    "normalize ints": (lambda: tf.nn.l2_normalize([1, 2]), TypeError, TypeError),
    "vector condition": (
        lambda: tf.debugging.Assert(tf.constant([True, False]), ["x"]),
        ValueError,
        INVALID,
    ),
    "true vector": (
        lambda: tf.debugging.Assert(tf.constant([True, True]), ["x"]),
        ValueError,
        INVALID,
    ),
    "other dtypes": (
        lambda: tf.debugging.assert_equal(tf.constant(ROW), tf.constant([1])),
        INVALID,
        TypeError,
    ),
    "no list": (lambda: tf.control_dependencies(3), TypeError, TypeError),
    "py ZeroDivision": (lambda: tf.py_function(lambda: 1 / 0, [], tf.float32), UNKNOWN, UNKNOWN),
    "py ValueError": (lambda: tf.py_function(lambda: int("a"), [], tf.float32), INVALID, INVALID),
    "py OpError": (
        lambda: tf.py_function(_fail(tf.errors.DataLossError(None, None, "")), [], "int32"),
        UNKNOWN,
        UNKNOWN,
    ),
    "py other dtype": (lambda: tf.py_function(lambda x: x, [ROW], tf.int32), INVALID, INVALID),
    "np ZeroDivision": (
        lambda: tf.numpy_function(lambda: 1 / 0, [], tf.float32),
        ZeroDivisionError,
        UNKNOWN,
    ),
    "np KeyError": (lambda: tf.numpy_function(lambda: {}["a"], [], tf.float32), KeyError, UNKNOWN),
    "np TypeError": (
        lambda: tf.numpy_function(lambda: 1 + "a", [], tf.float32),
        TypeError,
        INVALID,
    ),
    "np end": (
        lambda: tf.numpy_function(_fail(StopIteration()), [], tf.float32),
        StopIteration,
        tf.errors.OutOfRangeError,
    ),
    "np memory": (
        lambda: tf.numpy_function(_fail(MemoryError()), [], tf.float32),
        MemoryError,
        tf.errors.ResourceExhaustedError,
    ),
    "np not there": (
        lambda: tf.numpy_function(_fail(NotImplementedError()), [], tf.float32),
        NotImplementedError,
        tf.errors.UnimplementedError,
    ),
    "unused tape": (
        lambda: tf.GradientTape().gradient(tf.constant(1.0), []),
        RuntimeError,
        RuntimeError,
    ),
    "tangent's dtype": (
        lambda: tf.autodiff.ForwardAccumulator(tf.constant(1.0), tf.constant(1)),
        ValueError,
        ValueError,
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_eagerly(case):
    call, expected, _ = CALLS[case]
    with pytest.raises(expected) as caught:
        call()
    assert caught.type is expected


@pytest.mark.parametrize("case", CALLS)
def test_in_a_graph(case):
    call, _, expected = CALLS[case]
    with (
        pytest.raises(expected) as caught,
        tf.Graph().as_default(),
        tf.compat.v1.Session() as session,
    ):
        session.run(call())
    assert caught.type is expected


def test_the_cause_of_a_python_functions_error_is_what_it_raised():
    with pytest.raises(UNKNOWN, match="division by zero") as caught:
        tf.function(lambda: tf.numpy_function(lambda: 1 / 0, [], tf.float32))()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_tensor_of_another_dtype_beside_a_list():
    """TensorFlow 2.21 converts inputs one by one where some is no tensor, array or number."""
    ones = tf.ones([2, 2])
    for axis in ([0], (0,), np.int32(0)):
        with pytest.raises(ValueError, match="requested dtype bool for Tensor with dtype float32"):
            tf.reduce_any(ones, axis)
    for axis in (None, 0, tf.constant(0), np.array([0])):
        with pytest.raises(INVALID, match="expected to be a bool tensor but is a float"):
            tf.reduce_any(ones, axis)
    with pytest.raises(ValueError, match="requested dtype bool"):
        tf.logical_and(ones, [True, False])
    with pytest.raises(INVALID, match="expected to be a bool tensor"):
        tf.logical_and(ones, True)
    with pytest.raises(TypeError):
        tf.logical_and(ones, 1.0)
    with pytest.raises(ValueError, match="requested dtype float32"):
        tf.nn.in_top_k([1, 0], tf.cast(ones, tf.float64), 1)


def test_eagerly_a_number_stands_for_a_vector_of_one_size():
    np.testing.assert_array_equal(tf.fill(2, 1), [1, 1])
    np.testing.assert_array_equal(tf.fill(tf.constant(2), 1), [1, 1])
    with tf.Graph().as_default(), pytest.raises(ValueError, match="rank 1"):
        tf.fill(2, 1)


def test_iterating_over_symbolic_tensors_is_refused_whatever_their_rank():
    for value in (1.0, ROW):
        with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
            tf.function(lambda x: list(x), autograph=False)(tf.constant(value))


def test_a_concrete_function_names_the_argument_of_another_dtype():
    concrete = tf.function(lambda y: y).get_concrete_function(tf.TensorSpec([3], tf.int32))
    with pytest.raises(INVALID, match="'y' was expected to be a int32 tensor but is a float32"):
        concrete(tf.constant(ROW))


def test_callables_without_a_value_for_each_feed():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, name="x")
        call = session.make_callable(x + 1.0, [x])
        assert call(1.0) == 2.0
        with pytest.raises(INVALID, match=r"expected 1 arguments .* got 0. .* 'x:0'"):
            call()


def test_a_step_names_a_pool_that_the_session_has():
    config = tf.compat.v1.ConfigProto()
    for _ in range(2):
        config.session_inter_op_thread_pool.add()
    with tf.Graph().as_default(), tf.compat.v1.Session(config=config) as session:
        one = tf.constant(1)
        for pool in (-1, 0, 1):
            options = tf.compat.v1.RunOptions(
                inter_op_thread_pool=pool, report_tensor_allocations_upon_oom=True
            )
            assert session.run(one, options=options) == 1
        for pool in (-2, 2):
            options = tf.compat.v1.RunOptions(inter_op_thread_pool=pool)
            with pytest.raises(INVALID, match=f"from -1 to 1, got {pool}"):
                session.run(one, options=options)


def test_a_refused_control_input_is_named_before_the_block_is_entered():
    with tf.Graph().as_default() as graph:
        with pytest.raises(KeyError, match="'a'"):
            graph.control_dependencies(["a"])
        with pytest.raises(ValueError, match="PlaceholderWithDefault"):
            tf.compat.v1.placeholder_with_default(ROW, [4])
