"""Names in the graphs of functions: TensorFlow 2.21 gives these (asked by running it)."""

import re

import penstock as tf


def test_outputs_are_identities_in_the_order_of_the_nest():
    @tf.function
    def named(x):
        y = x + 1.0
        return {"b": [x, y], "a": y}

    concrete = named.get_concrete_function(tf.TensorSpec([2], tf.float32))
    assert [o.name for o in concrete.outputs] == ["Identity:0", "Identity_1:0", "Identity_2:0"]
    assert [i.name for i in concrete.structured_outputs["b"][0].op.inputs] == ["x:0"]
    assert [a.name for a in concrete.function_def.signature.output_arg] == [
        "identity",
        "identity_1",
        "identity_2",
    ]


def test_a_graph_has_the_name_of_the_python_function_and_the_function_a_unique_one():
    @tf.function
    def named(x):
        return x

    concrete = named.get_concrete_function(tf.TensorSpec([], tf.float32))
    other = named.get_concrete_function(tf.TensorSpec([], tf.int32))
    assert concrete.graph.name == other.graph.name == "named"
    assert re.fullmatch(r"__inference_named_\d+", concrete.name)
    assert concrete.name != other.name
    assert concrete.function_def.signature.name == concrete.name


def test_captured_tensors_have_the_names_of_the_inputs_they_serve():
    t, v = tf.constant([1.0, 2.0]), tf.Variable([1.0, 2.0])

    @tf.function
    def f(x):
        return tf.concat([x, t], 0), x * v

    concrete = f.get_concrete_function(tf.TensorSpec([2], tf.float32))
    assert [i.name for i in concrete.inputs] == [
        "x:0",
        "concat/values_1:0",
        "mul/ReadVariableOp/resource:0",
    ]
    small = tf.constant([1, 2])
    inlined = tf.function(lambda x: x + small).get_concrete_function(tf.TensorSpec([2], tf.int32))
    assert "add/y" in [op.name for op in inlined.graph.get_operations()]


def test_a_captured_tensor_whose_name_is_taken_or_none_gets_another():
    t, u = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])

    @tf.function
    def f():
        with tf.name_scope("s") as scope:
            a, b = tf.convert_to_tensor(t, name=scope), tf.convert_to_tensor(u, name=scope)
        return a + b

    @tf.function
    def g():
        return tf.convert_to_tensor(t, name="a b") + 1.0

    assert [i.name for i in f.get_concrete_function().inputs] == ["s:0", "s/Placeholder:0"]
    assert [i.name for i in g.get_concrete_function().inputs] == ["Placeholder:0"]
    assert f().numpy().tolist() == [4.0, 6.0]
    assert g().numpy().tolist() == [2.0, 3.0]
