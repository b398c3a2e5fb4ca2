"""Handlers of public operations for classes that are no tensors."""

import inspect
import pickle
import typing

import pytest

import penstock as tf
from penstock.core import dispatch


class Masked:
    """A value with a mask: the smallest class that is no tensor."""

    def __init__(self, values, mask):
        self.values = tf.convert_to_tensor(values)
        self.mask = tf.convert_to_tensor(mask)


@pytest.fixture
def masked():
    yield Masked([1.0, -2.0], [True, False])
    dispatch.kinds.discard(Masked)
    dispatch.add_kinds(())


@pytest.fixture
def registered():
    """A list; the handlers put into it are taken away afterwards."""
    handlers = []
    yield handlers
    for function in handlers:
        tf.experimental.unregister_dispatch_for(function)


def test_an_annotated_function_stands_in_for_an_operation(masked, registered):
    @tf.experimental.dispatch_for_api(tf.reduce_sum)
    def masked_sum(input_tensor: Masked, axis=None, keepdims=False, name=None):
        kept = tf.where(input_tensor.mask, input_tensor.values, 0.0)
        return tf.reduce_sum(kept, axis, keepdims, name)

    registered.append(masked_sum)
    assert float(tf.reduce_sum(masked)) == 1.0
    assert float(tf.math.reduce_sum(input_tensor=masked, keepdims=True)[0]) == 1.0
    assert float(tf.reduce_sum([1.0, 2.0])) == 3.0


def test_a_function_may_leave_out_the_name(masked, registered):
    @tf.experimental.dispatch_for_api(tf.shape)
    def masked_shape(input: Masked, out_type=tf.int32):
        return tf.shape(input.values, out_type, name="inner")

    registered.append(masked_shape)
    assert tf.shape(masked, name="given").numpy().tolist() == [2]
    assert tf.shape(masked, tf.int64).dtype == tf.int64
    with tf.Graph().as_default():
        there = Masked([1.0], [True])
        assert tf.shape(there, name="given").op.name == "given/inner"
        assert tf.shape(there).op.name == "inner"
    with pytest.raises(ValueError, match="`name` may be left out"):

        @tf.experimental.dispatch_for_api(tf.reduce_sum)
        def shorter(input_tensor: Masked, axis=None):
            raise NotImplementedError


def test_elements_of_a_list_are_looked_at(masked, registered):
    @tf.experimental.dispatch_for_api(tf.concat, {"values": typing.List[Masked]})  # noqa: UP006
    def masked_concat(values, axis, name=None):
        return Masked(
            tf.concat([v.values for v in values], axis), tf.concat([v.mask for v in values], axis)
        )

    registered.append(masked_concat)
    joined = tf.concat([masked, masked], axis=0)
    assert joined.values.numpy().tolist() == [1.0, -2.0, 1.0, -2.0]
    with pytest.raises((TypeError, ValueError)):
        tf.concat([masked, tf.constant([1.0])], axis=0)


def test_one_handler_serves_every_unary_function(masked, registered):
    @tf.experimental.dispatch_for_unary_elementwise_apis(Masked)
    def unary(api, x):
        return Masked(api(x.values), x.mask)

    registered.append(unary)
    assert tf.abs(masked).values.numpy().tolist() == [1.0, 2.0]
    assert tf.math.negative(masked).values.numpy().tolist() == [-1.0, 2.0]
    assert tf.cast(masked, tf.int32).values.dtype == tf.int32
    assert tf.clip_by_value(masked, 0.0, 0.5).values.numpy().tolist() == [0.5, 0.0]


def test_one_handler_serves_every_binary_function(masked, registered):
    @tf.experimental.dispatch_for_binary_elementwise_apis(Masked, typing.Union[Masked, float])  # noqa: UP007
    def binary(api, x, y):
        other = y.values if isinstance(y, Masked) else y
        return Masked(api(x.values, other), x.mask)

    registered.append(binary)
    assert tf.add(masked, masked).values.numpy().tolist() == [2.0, -4.0]
    assert tf.multiply(x=masked, y=3.0).values.numpy().tolist() == [3.0, -6.0]
    assert tf.math.pow(masked, 2.0).values.numpy().tolist() == [1.0, 4.0]


def test_a_subclass_made_later_is_dispatched_too(masked, registered):
    @tf.experimental.dispatch_for_unary_elementwise_apis(Masked)
    def unary(api, x):
        return Masked(api(x.values), x.mask)

    registered.append(unary)
    later = type("Later", (Masked,), {})
    assert tf.abs(later([-1.0], [True])).values.numpy().tolist() == [1.0]


def test_assertions_have_handlers_of_their_own(masked, registered):
    seen = []

    @tf.experimental.dispatch_for_binary_elementwise_assert_apis(Masked, Masked)
    def compare(api, x, y):
        seen.append(api.__name__)
        return api(x.values, y.values)

    registered.append(compare)
    tf.debugging.assert_equal(masked, masked)
    assert seen == ["assert_equal"]


def test_without_a_handler_the_operation_refuses_the_value(masked):
    with pytest.raises((TypeError, ValueError), match="Masked"):
        tf.reduce_sum(masked)


def test_a_handler_taken_away_is_gone(masked):
    @tf.experimental.dispatch_for_api(tf.rank)
    def masked_rank(input: Masked, name=None):
        return tf.constant(7)

    assert int(tf.rank(masked)) == 7
    tf.experimental.unregister_dispatch_for(masked_rank)
    with pytest.raises((TypeError, ValueError)):
        tf.rank(masked)
    with pytest.raises(ValueError, match="was not registered"):
        tf.experimental.unregister_dispatch_for(masked_rank)


def test_wrong_registrations_are_refused(registered):
    with pytest.raises(ValueError, match="does not match API's signature"):

        @tf.experimental.dispatch_for_api(tf.add)
        def other_names(x: Masked, z: Masked, name=None):
            return None

    with pytest.raises(ValueError, match="no types"):

        @tf.experimental.dispatch_for_api(tf.add)
        def no_types(x, y, name=None):
            return None

    with pytest.raises(ValueError, match="does not support dispatch"):
        tf.experimental.dispatch_for_api(len)

    @tf.experimental.dispatch_for_unary_elementwise_apis(Masked)
    def first(api, x):
        return x

    registered.append(first)
    with pytest.raises(ValueError, match="Take that one away"):
        tf.experimental.dispatch_for_unary_elementwise_apis(Masked)(lambda api, x: x)


def test_a_public_function_is_one_object_and_pickles():
    assert tf.reduce_sum is tf.math.reduce_sum
    assert tf.compat.v1.matmul is tf.matmul
    for function in (tf.reduce_sum, tf.add, tf.exp):
        assert pickle.loads(pickle.dumps(function)) is function


def test_public_functions_say_their_parameters():
    assert inspect.getfullargspec(tf.rank).args == ["input", "name"]
    assert inspect.getfullargspec(tf.matmul).args[:3] == ["a", "b", "transpose_a"]
