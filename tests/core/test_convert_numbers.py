"""Numbers of Python that simply fit take a short way to eager tensors, with the same results."""

import math

import numpy as np
import pytest

import penstock as tf
from penstock.core import convert, execute
from penstock.core.op_def import lookup


@pytest.mark.parametrize("value", [0, 3, -7, 2**31 - 1, 0.5, -0.0, 1e-50, 3e38, math.inf, math.nan])
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.float16, tf.int32, tf.int64])
def test_numbers_are_those_of_the_general_way(monkeypatch, value, dtype):
    def made():
        try:
            tensor = convert.convert_to_tensor(value, dtype)
        except (TypeError, ValueError) as problem:
            return type(problem), str(problem)
        assert isinstance(tensor, tf.Tensor)
        return tensor.dtype, tensor.numpy().tobytes()

    short = made()
    monkeypatch.setattr(convert, "_plain", {})
    assert made() == short


@pytest.mark.parametrize("value", [0, 2**31, -1.5, 1e300, True])
@pytest.mark.parametrize("hint", [None, tf.float64, tf.int32, tf.int64, tf.uint8, "float32"])
def test_hints_are_followed_as_in_the_general_way(monkeypatch, value, hint):
    def made():
        try:
            tensor = convert.convert_to_tensor(value, dtype_hint=hint)
        except (TypeError, ValueError) as problem:
            return type(problem), str(problem)
        return tensor.dtype, tensor.numpy().tobytes()

    short = made()
    monkeypatch.setattr(convert, "_plain", {})
    assert made() == short


def test_a_conversion_of_numbers_is_used_once_there_is_one(monkeypatch):
    monkeypatch.setattr(convert, "_plain", dict(convert._plain))
    monkeypatch.setattr(convert, "_converters", list(convert._converters))

    def doubled(value, dtype=None, name=None, as_ref=False):
        return tf.constant(np.float32(2 * value)) if value == 21.0 else NotImplemented

    assert convert.convert_to_tensor(21.0, tf.float32).numpy() == 21
    convert.register_tensor_conversion_function(float, doubled)
    assert convert.convert_to_tensor(21.0, tf.float32).numpy() == 42


@pytest.mark.parametrize("dtype", ["float16", "float64", "complex128"])
@pytest.mark.parametrize("value", [10**400, -(10**400), [10**400], [[1.5, 2 * 10**308]]])
def test_integers_beyond_floats_are_value_errors(value, dtype):
    with pytest.raises(ValueError, match="bits to a Tensor"):
        tf.constant(value, dtype)
    with tf.Graph().as_default(), pytest.raises(OverflowError):
        tf.constant(value, dtype)


def test_complex64_is_made_of_integers_of_64_bits():
    assert tf.constant(2**63 - 1, tf.complex64).numpy() == 2**63
    for value in (2**63, -(2**63) - 1, [1, 2**63]):
        with pytest.raises(ValueError, match="Python integer"):
            tf.constant(value, tf.complex64)


@pytest.mark.parametrize(
    "value", [[[1, 2], [3, 4]], ((1, 2),), [(0, 0), [-1, 7]], [[5]], [[1 << 40, 1]], [[True, 2]]]
)
def test_short_lists_of_lists_are_as_general_ones(value):
    wanted = np.array(value, np.int64)
    found = convert.short_integers(value, tf.int64)
    if found is not None:
        assert found.numpy().dtype == np.int64
        np.testing.assert_array_equal(found.numpy(), wanted)
    assert (found is None) == (wanted.max() > 2**31 or value[0][0] is True)


@pytest.mark.parametrize("value", [[[1], [2, 3]], [[]], [[], []], [1, [2]], [[1, 2.5]], [["a"]]])
def test_other_lists_go_the_general_way(value):
    assert convert.short_integers(value, tf.int32) is None


@pytest.mark.parametrize("limits", [(0.5, 0.1), (0.5, 0), (1, 0.25)])
def test_fractions_take_the_default_of_their_attribute_at_once(limits):
    """What no tensor says is the attribute's default, for fractions as for whole numbers."""
    inputs = (tf.zeros([2, 4]), tf.zeros([2]), 3, *limits)
    found = execute._with_numbers(lookup("NonMaxSuppressionV3"), inputs, {})
    assert found is not None
    assert [t.dtype for t in found[2:]] == [tf.int32, tf.float32, tf.float32]
    np.testing.assert_array_equal([t.numpy() for t in found[3:]], np.float32(limits))
    longer, _ = execute.convert_inputs(
        lookup("NonMaxSuppressionV3"), list(inputs), {"T": tf.float32}
    )
    assert [t.dtype for t in longer] == [t.dtype for t in found]


def test_fractions_for_an_attribute_of_whole_numbers_go_the_general_way():
    assert execute._with_numbers(lookup("Range"), (0.5, 3, 1), {}) is None
