"""User-defined values made of tensors."""

import functools
import typing
from collections.abc import Mapping

import pytest

import penstock as tf


class Masked(tf.experimental.ExtensionType):
    """Values with a mask, and fields of every plain kind."""

    values: tf.Tensor
    mask: tf.Tensor | None = None
    scale: int = 1
    name: str = "m"
    sizes: tuple[int, ...] = ()
    parts: Mapping[str, tf.Tensor] = {}
    dtype: tf.DType = tf.float32


class Pair(tf.experimental.BatchableExtensionType):
    """Two tensors that can be stacked."""

    left: tf.Tensor
    right: tf.Tensor


def test_fields_are_converted_and_printed():
    value = Masked([1.0, 2.0], [True, False], sizes=[1, 2], parts={"a": 3}, dtype="int32")
    assert value.values.dtype == tf.float32
    assert value.sizes == (1, 2)
    assert value.parts["a"].dtype == tf.int32
    assert value.dtype is tf.int32
    assert repr(Masked(1, name="x")).startswith("Masked(values=<tf.Tensor: shape=(), dtype=int32")
    assert tf.experimental.extension_type.as_dict(value)["scale"] == 1


@pytest.mark.parametrize(
    ("arguments", "keywords", "words"),
    [
        ((), {}, "missing a required argument: 'values'"),
        ((1,), {"other": 2}, "unexpected keyword argument 'other'"),
        ((1,), {"scale": 2.5}, "scale: expected 'int', got 'float'"),
        ((1,), {"scale": True}, "scale: expected 'int', got 'bool'"),
        ((1,), {"parts": 3}, "parts: expected mapping, got 'int'"),
        ((1,), {"parts": {1: 1}}, "expected 'str', got 'int'"),
        ((1,), {"sizes": (1, "a")}, r"sizes\[1\]: expected 'int'"),
        ((object(),), {}, "values: expected a Tensor"),
        ((1,), {"dtype": 3.5}, "dtype: expected 'DType'"),
    ],
)
def test_wrong_values_are_refused(arguments, keywords, words):
    with pytest.raises(TypeError, match=words):
        Masked(*arguments, **keywords)


@pytest.mark.parametrize("annotation", [list, dict[str, int], typing.Any, "nowhere", 3])
def test_annotations_that_say_nothing_of_tensors_are_refused(annotation):
    with pytest.raises((TypeError, NameError)):
        type("Bad", (tf.experimental.ExtensionType,), {"__annotations__": {"x": annotation}})


def test_they_are_no_tensors_but_ragged_and_sparse_ones_are():
    ragged, sparse = tf.ragged.constant([[1], []]), tf.SparseTensor([[0]], [1], [1])
    rows = tf.IndexedSlices(tf.ones([1]), tf.constant([0]))
    array = tf.TensorArray(tf.float32, 1)
    values = [Pair(1, 2), array, ragged, sparse, rows]
    assert [tf.is_tensor(v) for v in values] == [False, False, True, True, True]


def test_values_cannot_be_changed():
    value = Masked(1)
    with pytest.raises(AttributeError, match="Cannot mutate attribute `scale`"):
        value.scale = 3
    with pytest.raises(AttributeError, match="Cannot mutate"):
        del value.scale


def test_equality_compares_types_then_tensors():
    assert bool(Masked([1, 2]) == Masked([1, 2]))
    assert not bool(Masked([1, 2]) == Masked([1, 3]))
    assert bool(Masked([1, 2]) != Masked([1, 3]))
    assert (Masked([1, 2]) == Masked([1, 2, 3])) is False
    assert (Masked([1]) == Masked([1], scale=2)) is False
    assert (Masked([1]) == 3) is False
    with pytest.raises(TypeError, match="unhashable"):
        hash(Masked([1]))


def test_a_constructor_of_ones_own_and_a_check():
    class Ball(tf.experimental.ExtensionType):
        center: tf.Tensor
        radius: tf.Tensor

        def __init__(self, center, diameter):
            self.center = center
            self.radius = tf.convert_to_tensor(diameter) / 2.0

        def __validate__(self):
            self.center.shape.assert_has_rank(1)

    assert float(Ball([0.0], 3.0).radius) == 1.5
    with pytest.raises(ValueError, match="rank"):
        Ball(0.0, 3.0)

    class Forgets(tf.experimental.ExtensionType):
        x: int

        def __init__(self):
            pass

    with pytest.raises(ValueError, match="Missing required fields"):
        Forgets()


def test_subclasses_add_fields():
    class Named(Masked):
        label: tf.Tensor

    value = Named([1.0], label="x")
    assert value.label.dtype == tf.string
    assert isinstance(value, Masked)
    assert [f.name for f in Named._tf_extension_type_fields()][-1] == "label"


def test_the_spec_describes_a_value_and_rebuilds_it():
    value = Masked([1.0, 2.0], scale=4)
    spec = tf.type_spec_from_value(value)
    assert spec.values == tf.TensorSpec([2], tf.float32)
    assert spec.scale == 4
    assert spec.is_compatible_with(value)
    wider = Masked.Spec(tf.TensorSpec([None]), None, 4, "m", (), {}, tf.float32)
    assert spec.is_subtype_of(wider)
    rebuilt = spec._from_components(spec._to_components(value))
    assert bool(rebuilt == value)
    assert hash(spec) == hash(tf.type_spec_from_value(Masked([3.0, 4.0], scale=4)))
    with pytest.raises(TypeError, match="expected a TypeSpec"):
        Masked.Spec(3, None, 4, "m", (), {}, tf.float32)


def test_functions_take_and_return_them():
    traces = []

    @tf.function
    def double(value):
        traces.append(1)
        return Masked(value.values * 2, scale=value.scale + 1)

    assert double(Masked([1.0])).values.numpy().tolist() == [2.0]
    assert double(Masked([5.0])).scale == 2
    assert len(traces) == 1
    assert double(Masked([5.0], scale=7)).scale == 8
    assert len(traces) == 2


def test_nest_takes_them_apart():
    value = Pair([1], [2])
    assert len(tf.nest.flatten(value)) == 1
    assert len(tf.nest.flatten(value, expand_composites=True)) == 2
    doubled = tf.nest.map_structure(lambda t: t * 2, value, expand_composites=True)
    assert doubled.right.numpy().tolist() == [4]


def test_gradients_flow_through_them():
    with tf.GradientTape() as tape:
        x = tf.constant([1.0, 2.0])
        tape.watch(x)
        loss = tf.reduce_sum(Masked(x * x).values)
    assert tape.gradient(loss, x).numpy().tolist() == [2.0, 4.0]


def test_batchable_types_have_batched_specs():
    spec = tf.type_spec_from_value(Pair([[1, 2]], [3.0]))
    assert spec._batch(4).left == tf.TensorSpec([4, 1, 2], tf.int32)
    assert spec._unbatch().right == tf.TensorSpec([], tf.float32)


def test_operations_dispatch_on_them():
    @tf.experimental.dispatch_for_unary_elementwise_apis(Pair)
    def unary(api, x):
        return Pair(api(x.left), api(x.right))

    try:
        assert tf.abs(Pair([-1], [-2])).left.numpy().tolist() == [1]
    finally:
        tf.experimental.unregister_dispatch_for(unary)


def test_the_base_class_has_no_values_and_names_are_reserved():
    with pytest.raises(AssertionError, match="abstract base"):
        tf.experimental.ExtensionType()
    with pytest.raises(ValueError, match="reserved"):
        type("Bad", (tf.experimental.ExtensionType,), {"__annotations__": {"Spec": int}})


class Outer(tf.experimental.ExtensionType):
    """A value within another one."""

    inner: Masked


def test_functions_are_traced_again_for_other_settings_of_a_value_within_a_value():
    @tf.function
    def scaled(outer):
        return outer.inner.values * outer.inner.scale

    assert [scaled(Outer(Masked(2, scale=k))).numpy() for k in (1, 5)] == [2, 10]


class _FirstFieldAlone(tf.experimental.ExtensionTypeBatchEncoder):
    """Stacks one field; the other follows from it."""

    def encode(self, spec, value, minimum_rank=0):
        return value.x

    def decode(self, spec, encoded_value):
        return Doubled(encoded_value, encoded_value * 2)

    def encoding_specs(self, spec):
        return spec.x


class Doubled(tf.experimental.BatchableExtensionType):
    """x, and twice x."""

    x: tf.Tensor
    twice: tf.Tensor
    __batch_encoder__ = _FirstFieldAlone()


def test_functions_take_the_parts_of_a_value_not_what_is_stacked():
    value = Doubled([1, 2], [2, 4])
    spec = Doubled.Spec(tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.int32))
    run = tf.function(lambda v: v.x + v.twice, input_signature=[spec])
    assert run(value).numpy().tolist() == [3, 6]
    assert [s.dtype for s in spec.flatten()] == [tf.int32, tf.int32]
    whole = spec.from_tensors(iter(spec.to_tensors(value)))
    assert whole.twice.numpy().tolist() == [2, 4]
    stacked = tf.map_fn(lambda v: v, value)
    assert stacked.twice.numpy().tolist() == [2, 4]


@pytest.mark.parametrize("value", [3, None, "text", functools.cached_property(len)])
def test_a_value_without_annotation_is_a_forgotten_field(value):
    with pytest.raises(ValueError, match="Field b is missing a type annotation"):
        type(tf.experimental.ExtensionType)(
            "Forgot", (tf.experimental.ExtensionType,), {"__annotations__": {"a": int}, "b": value}
        )


def test_methods_and_nested_classes_need_no_annotation():
    class Whole(tf.experimental.ExtensionType):
        a: int
        limit: typing.ClassVar[int] = 7
        kind = dict
        size = property(lambda self: self.a)
        make = classmethod(lambda cls: cls(1))

    assert (Whole(2).size, Whole.make().a, Whole.limit) == (2, 1, 7)
