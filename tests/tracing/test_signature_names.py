"""Names of TensorSpecs: which trace serves them, and where they are seen."""

import pytest

import penstock as tf

SPEC = tf.TensorSpec


def names(concrete):
    return [tensor.name for tensor in concrete.inputs]


def test_a_spec_of_another_name_has_a_trace_with_that_name():
    @tf.function
    def add(a, b):
        return a + b

    first = add.get_concrete_function(SPEC([None], name="u"), SPEC([None]))
    second = add.get_concrete_function(SPEC([None], name="w"), SPEC([None]))
    assert names(first) == ["u:0", "b:0"]
    assert names(second) == ["w:0", "b:0"]
    assert second.structured_input_signature[0][0].name == "w"
    assert add.get_concrete_function(SPEC([None]), SPEC([None])) is first
    assert add.get_concrete_function(SPEC([None], name="w"), SPEC([None])) is second
    assert add(tf.constant([1.0]), tf.constant([2.0])).numpy() == 3
    assert add.experimental_get_tracing_count() == 2
    (retrace,) = add.experimental_get_retrace_report()
    assert retrace.changes[0].new == "Tensor(shape=(None,), dtype=float32, name='w')"
    assert "same name" in retrace.changes[0].advice


def test_a_spec_with_a_name_is_not_served_by_the_trace_of_a_call():
    double = tf.function(lambda a: 2.0 * a)
    double(tf.constant([1.0]))
    assert names(double.get_concrete_function(SPEC([1], name="w"))) == ["w:0"]
    assert double.experimental_get_tracing_count() == 2


def test_relaxed_sizes_keep_the_name_that_both_have():
    double = tf.function(lambda a: 2.0 * a, reduce_retracing=True)
    double.get_concrete_function(SPEC([1], name="w"))
    relaxed = double.get_concrete_function(SPEC([2], name="w"))
    assert relaxed.structured_input_signature[0] == (SPEC([None], name="w"),)
    assert double.get_concrete_function(SPEC([3], name="v")).inputs[0].shape.as_list() == [None]


def test_a_signature_shows_the_names_that_were_given():
    def rows(a, *rest, last):
        return a

    concrete = tf.function(rows).get_concrete_function(
        SPEC([2], name="u"), {"x": [SPEC([3], name="v")]}, last=SPEC([], name="w")
    )
    assert concrete.pretty_printed_signature() == (
        "Input Parameters:\n"
        "  a (POSITIONAL_ONLY): TensorSpec(shape=(2,), dtype=tf.float32, name='u')\n"
        "  rest_0 (POSITIONAL_ONLY): Dict[['x', List[TensorSpec(shape=(3,), dtype=tf.float32,"
        " name='v')]]]\n"
        "  last (KEYWORD_ONLY): TensorSpec(shape=(), dtype=tf.float32, name='w')\n"
        "Output Type:\n"
        "  TensorSpec(shape=(2,), dtype=tf.float32, name=None)\n"
        "Captures:\n"
        "  None"
    )
    unnamed = tf.function(lambda a: a).get_concrete_function(SPEC([2]))
    assert "name='" not in unnamed.pretty_printed_signature()
    signed = tf.function(lambda a: a, input_signature=[SPEC([2], name="q")])
    assert "name='q'" in str(signed.get_concrete_function())
    assert "name='q'" in str(signed.function_type)


SCALAR = tf.TensorSpec([], tf.float32)


def test_flat_tensors_are_named_as_the_inputs_are():
    """Those of one argument by numbers, and never two of one name."""

    @tf.function
    def nested(x, x_1):
        return x["a"] - x["b"][0] * x_1

    concrete = nested.get_concrete_function({"a": SCALAR, "b": [SCALAR]}, SCALAR)
    assert [t.name for t in concrete.inputs] == ["x:0", "x_1:0", "x_1_1:0"]
    given = {name: tf.constant(v) for name, v in [("x", 1.0), ("x_1", 2.0), ("x_1_1", 3.0)]}
    assert float(concrete(**given)) == -5.0
    with pytest.raises(TypeError, match="missing required arguments: x_1_1"):
        concrete(x=given["x"], x_1=given["x_1"])


def test_flat_tensors_of_composites_and_of_equal_names():
    @tf.function
    def values(t):
        return t.values

    concrete = values.get_concrete_function(tf.RaggedTensorSpec([None, None], tf.float32))
    found = concrete(t=tf.constant([1.0]), t_1=tf.constant([0, 1], tf.int64))
    assert found.numpy().tolist() == [1.0]

    @tf.function
    def difference(x):
        return x["a"] - x["b"]

    named = tf.TensorSpec([], tf.float32, name="foo")
    concrete = difference.get_concrete_function({"a": named, "b": named})
    assert float(concrete(foo=tf.constant(1.0), foo_1=tf.constant(3.0))) == -2.0
