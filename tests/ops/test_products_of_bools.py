"""`x * y` with a bool among the tensors: whether both, cut to integers, have a product but 0."""

import numpy as np
import pytest

import penstock as tf

TRUTHS = [True, False]
CASES = {
    "bools": (lambda t: t * t, TRUTHS),
    "a bool": (lambda t: t * True, TRUTHS),
    "a bool before": (lambda t: True * t, TRUTHS),
    "a number": (lambda t: t * 2, TRUTHS),
    "a number below 1": (lambda t: t * 0.5, [False, False]),
    "0": (lambda t: t * 0, [False, False]),
    "a list": (lambda t: t * [0, 1], [False, False]),
    "an array": (lambda t: t * np.array([3, 3]), TRUTHS),
    "an array before": (lambda t: np.array([True, True]) * t, TRUTHS),
    "integers": (lambda t: t * tf.constant([2, 0]), TRUTHS),
    "integers before": (lambda t: tf.constant([2, 0]) * t, TRUTHS),
    "floats": (lambda t: t * tf.constant([0.5, 3.0]), [False, False]),
    "broadcast": (lambda t: t * tf.constant([[True], [False]]), [TRUTHS, [False, False]]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_product_with_a_bool_is_one_of_truths(case):
    function, expected = CASES[case]
    eager = function(tf.constant(TRUTHS))
    assert eager.dtype is tf.bool
    assert eager.numpy().tolist() == expected
    with tf.Graph().as_default():
        made = function(tf.constant(TRUTHS))
        assert made.op.name.startswith("mul/Cast")
        with tf.compat.v1.Session() as session:
            assert session.run(made).tolist() == expected


def test_a_variable_of_bools_too():
    variable = tf.Variable(TRUTHS)
    numbers = tf.Variable([1, 0])
    truths = tf.constant(TRUTHS)
    of_bools = (variable * True, True * variable, variable * numbers)
    for product in (*of_bools, truths * numbers, numbers * truths):
        assert product.dtype is tf.bool
        assert product.numpy().tolist() == TRUTHS


def test_what_has_no_such_product_is_refused():
    truths = tf.constant(TRUTHS)
    with pytest.raises(TypeError, match="Cannot convert 1 to EagerTensor of dtype bool"):
        _ = 1 * truths
    with pytest.raises(tf.errors.InvalidArgumentError, match="bool is not in the list"):
        tf.multiply(truths, truths)
    with pytest.raises(tf.errors.InvalidArgumentError, match="int32"):
        _ = tf.constant([1, 2]) * tf.constant([1.0, 2.0])
