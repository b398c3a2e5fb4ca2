"""Specs as messages: `experimental_as_proto` and its like, with TensorFlow 2.21's answers."""

from collections.abc import Mapping

import pytest

import penstock as tf
from penstock.types import BoundedTensorSpec, TensorSpec

SPECS = {
    "tensor": TensorSpec([None, 2], tf.float32, "n"),
    "unknown rank": TensorSpec(None, tf.int32),
    "bounded": BoundedTensorSpec([2], tf.int32, 0, 5),
    "ragged": tf.RaggedTensorSpec([None, None, 3], tf.float32, 2, tf.int32),
    "sparse": tf.SparseTensorSpec([None, 4], tf.int64),
    "slices": tf.IndexedSlicesSpec([2], tf.float32),
    "list": tf.TensorArraySpec([2], tf.float32),
    "optional": tf.OptionalSpec({"a": (tf.RaggedTensorSpec([None, None]), None)}),
    "dataset": tf.data.DatasetSpec(TensorSpec([], tf.int32)),
    "linear": tf.linalg.LinearOperatorIdentity(2)._type_spec,
}


@pytest.mark.parametrize("name", SPECS)
def test_specs_come_back_from_their_messages(name):
    spec = SPECS[name]
    message = spec.experimental_as_proto()
    assert isinstance(message, type(spec).experimental_type_proto())
    assert type(spec).experimental_from_proto(message) == spec


def test_messages_are_those_of_tensorflow():
    message = SPECS["tensor"].experimental_as_proto()
    assert (message.name, [d.size for d in message.shape.dim], message.dtype) == ("n", [-1, 2], 1)
    assert type(SPECS["bounded"].experimental_as_proto()).__name__ == "BoundedTensorSpecProto"
    classes = {"sparse": 1, "slices": 2, "ragged": 3, "list": 4, "dataset": 5, "optional": 7}
    for name, number in classes.items():
        message = SPECS[name].experimental_as_proto()
        assert message.type_spec_class == number
        assert message.type_spec_class_name == type(SPECS[name]).__name__
    iterator = iter(tf.data.Dataset.range(3))._type_spec.experimental_as_proto()
    assert (iterator.type_spec_class, iterator.num_flat_components) == (6, 1)


def test_a_message_may_say_a_spec_of_another_class():
    message = SPECS["sparse"].experimental_as_proto()
    assert tf.RaggedTensorSpec.experimental_from_proto(message) == SPECS["sparse"]


@pytest.mark.parametrize("wrong", ["a", None, SPECS["sparse"].experimental_as_proto()])
def test_what_is_no_message_of_the_class_is_refused(wrong):
    refusal = "experimental_from_proto: expected a TensorSpecProto"
    with pytest.raises(AttributeError, match=refusal):
        TensorSpec.experimental_from_proto(wrong)
    if wrong is None or isinstance(wrong, str):
        with pytest.raises(TypeError, match="experimental_from_proto: expected a TypeSpecProto"):
            tf.RaggedTensorSpec.experimental_from_proto(wrong)


def test_extension_types_with_a_name_are_messages():
    class Inner(tf.experimental.ExtensionType):
        __name__ = "messages.Inner"
        values: tf.Tensor
        scale: float = 2.5
        shape: tf.TensorShape = tf.TensorShape([None, 2])
        sizes: tuple[int, ...] = (1, 2)

    class Outer(tf.experimental.BatchableExtensionType):
        __name__ = "messages.Outer"
        parts: Mapping[str, tf.Tensor]
        rows: tf.RaggedTensor
        inner: Inner

    spec = Outer({"q": [1]}, tf.ragged.constant([[1]]), Inner(1.0))._type_spec
    message = spec.experimental_as_proto()
    assert (message.type_spec_class, message.type_spec_class_name) == (13, "messages.Outer.Spec")
    assert message.num_flat_components == 4
    fields = [f.tuple_value.values for f in message.type_state.tuple_value.values]
    assert [f[0].string_value for f in fields] == ["parts", "rows", "inner"]
    assert fields[2][1].type_spec_value.type_spec_class_name == "messages.Inner.Spec"
    assert Outer.Spec.experimental_from_proto(message) == spec
    del message.type_state.tuple_value.values[0]
    with pytest.raises(ValueError, match=r"expected the parts of a messages.Outer.Spec"):
        Outer.Spec.experimental_from_proto(message)
    with pytest.raises(ValueError, match="expected a new name"):
        type("Other", (tf.experimental.ExtensionType,), {"__name__": "messages.Inner"})
    with pytest.raises(TypeError, match="expected text as __name__, got 3"):
        type("Other", (tf.experimental.ExtensionType,), {"__name__": 3})
    nameless = type("Nameless", (tf.experimental.ExtensionType,), {})
    with pytest.raises(ValueError, match=r"__name__ = 'package.Name'"):
        nameless()._type_spec.experimental_as_proto()


def test_ragged_shapes_and_structured_tensors_are_extension_types():
    shape = tf.experimental.DynamicRaggedShape.from_lengths([2, (1, 2)])._type_spec
    message = shape.experimental_as_proto()
    assert (message.type_spec_class, message.num_flat_components) == (13, 2)
    assert message.type_spec_class_name == "tf.DynamicRaggedShape.Spec"
    fields = [f.tuple_value.values for f in message.type_state.tuple_value.values]
    names = ["_row_partitions", "_inner_shape", "_static_inner_shape"]
    assert [f[0].string_value for f in fields] == names
    assert fields[1][1].tensor_spec_value.dtype == tf.int64.as_datatype_enum
    assert type(shape).experimental_from_proto(message) == shape
    del message.type_state.tuple_value.values[0]
    with pytest.raises(ValueError, match=r"expected the parts of a tf.DynamicRaggedShape.Spec"):
        type(shape).experimental_from_proto(message)
    rows = tf.experimental.StructuredTensor.from_fields({"a": [1, 2]}, shape=[2])._type_spec
    message = rows.experimental_as_proto()
    assert (message.type_spec_class, message.num_flat_components) == (13, 2)
    assert message.type_spec_class_name == "tf.StructuredTensor.Spec"
    assert type(rows).experimental_from_proto(message) == rows
