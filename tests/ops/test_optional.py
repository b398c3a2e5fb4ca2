"""Values that may be missing."""

import pytest

import penstock as tf

Optional = tf.experimental.Optional


def test_a_value_comes_back_in_its_structure():
    held = Optional.from_value({"a": tf.constant(1), "b": (tf.constant([1.0, 2.0]), "x")})
    assert bool(held.has_value())
    value = held.get_value()
    assert int(value["a"]) == 1
    assert value["b"][0].numpy().tolist() == [1.0, 2.0]
    assert value["b"][1].numpy() == b"x"
    assert held.element_spec["b"][0] == tf.TensorSpec([2])


def test_values_made_of_tensors():
    sparse = tf.SparseTensor([[0]], [1], [2])
    assert isinstance(Optional.from_value(sparse).get_value(), tf.SparseTensor)
    assert int(Optional.from_value(Optional.from_value(3)).get_value().get_value()) == 3


def test_an_empty_one_has_no_value():
    empty = Optional.empty(tf.TensorSpec([None], tf.int32))
    assert not bool(empty.has_value())
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
        empty.get_value()


def test_functions_and_conditionals_carry_them():
    @tf.function
    def double(x):
        return Optional.from_value(x * 2)

    assert int(double(tf.constant(3)).get_value()) == 6

    @tf.function
    def value_or(held):
        return tf.cond(held.has_value(), held.get_value, lambda: tf.constant(-1))

    assert int(value_or(Optional.from_value(tf.constant(5)))) == 5
    assert int(value_or(Optional.empty(tf.TensorSpec([], tf.int32)))) == -1


def test_in_a_graph():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        held = Optional.from_value(tf.constant([1, 2]))
        assert session.run([held.has_value(), held.get_value()])[1].tolist() == [1, 2]


def test_gradients_pass_through():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = Optional.from_value(x * x).get_value() * 3.0
    assert float(tape.gradient(y, x)) == 12.0


def test_specs():
    held = Optional.from_value(1)
    spec = tf.OptionalSpec(tf.TensorSpec([], tf.int32))
    assert tf.type_spec_from_value(held) == spec
    assert tf.OptionalSpec.from_value(held) == spec
    assert tf.OptionalSpec(tf.TensorSpec([None])).is_compatible_with(Optional.from_value([1.0]))


def test_wrong_values():
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least one tensor"):
        Optional.from_value(None)
    raw = tf.raw_ops
    one = raw.OptionalFromValue(components=[1.0])
    for types, shapes in (([tf.int32], [[]]), ([tf.float32], [[3]])):
        with pytest.raises(tf.errors.InvalidArgumentError, match="The optional holds"):
            raw.OptionalGetValue(optional=one, output_types=types, output_shapes=shapes)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not an optional"):
        raw.OptionalHasValue(
            optional=raw.EmptyTensorList(
                element_shape=-1, max_num_elements=1, element_dtype=tf.float32
            )
        )


def _variants(*values):
    return [tf.raw_ops.OptionalFromValue(components=[v]) for v in values]


def test_sums_and_zeros_go_into_the_values():
    def value(variant):
        found = tf.raw_ops.OptionalGetValue(
            optional=variant, output_types=[tf.float32], output_shapes=[[2]]
        )
        return found[0].numpy().tolist()

    a, b = _variants(tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]))
    assert value(tf.raw_ops.AddN(inputs=[a, b, a])) == [5.0, 8.0]
    assert value(tf.raw_ops.ZerosLike(x=a)) == [0.0, 0.0]
    nothing = tf.raw_ops.OptionalNone()
    for made in (tf.raw_ops.ZerosLike(x=nothing), tf.raw_ops.AddN(inputs=[nothing, nothing])):
        assert not bool(tf.raw_ops.OptionalHasValue(optional=made))


def test_what_cannot_be_added():
    a, b = _variants(tf.constant(1.0), tf.constant(1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="one has a value and the other"):
        tf.raw_ops.AddN(inputs=[a, tf.raw_ops.OptionalNone()])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\['float32'\] and \['int32'\]"):
        tf.raw_ops.AddN(inputs=[a, b])
