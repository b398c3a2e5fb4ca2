"""Variables as arguments of functions: shared traces, aliases, first values that need arguments."""

import gc
import weakref

import numpy as np
import pytest

import penstock as tf


def variable(value, **options):
    return tf.Variable(value, dtype=tf.float32, **options)


@tf.function
def add_one(v):
    v.assign_add(tf.ones(tf.shape(v)))
    return v * 2


def test_variables_of_one_spec_share_a_trace():
    before = add_one.experimental_get_tracing_count()
    a, b, frozen = variable(1), variable(10), variable(5, trainable=False)
    assert [float(add_one(v)) for v in (a, b, a)] == [4.0, 22.0, 6.0]
    assert (float(a), float(b)) == (3.0, 11.0)
    assert add_one.experimental_get_tracing_count() == before + 1
    add_one(frozen)
    assert add_one.experimental_get_tracing_count() == before + 2


def test_the_same_variable_twice_is_another_signature():
    @tf.function
    def multiply(v, w):
        v.assign_add(1.0)
        return v * w

    a, b = variable(1), variable(2)
    found = [float(multiply(*pair)) for pair in ((a, b), (b, a), (a, a), (b, b))]
    assert found == [4.0, 6.0, 9.0, 16.0]
    assert multiply.experimental_get_tracing_count() == 2


def test_a_variable_that_the_function_names_is_told_apart():
    a, b = variable(1), variable(10)

    @tf.function
    def add(v):
        return v + 100 * a

    assert [float(add(v)) for v in (a, b, a)] == [101.0, 110.0, 101.0]


def test_a_variable_of_unknown_shape_serves_known_ones():
    @tf.function
    def total(v):
        return tf.reduce_sum(v)

    assert float(total(variable([1, 2], shape=[None]))) == 3.0
    assert float(total(variable([1, 2, 3]))) == 6.0
    assert total.experimental_get_tracing_count() == 1


def test_sizes_relax():
    total = tf.function(lambda v: v.assign_add(v), reduce_retracing=True)
    found = [total(variable(np.ones(n))).numpy().tolist() for n in (1, 2, 3)]
    assert found == [[2.0], [2.0, 2.0], [2.0, 2.0, 2.0]]
    assert total.experimental_get_tracing_count() == 2


def test_gradients_are_of_the_variables_given():
    square = tf.function(lambda v: v * v)
    a, b = variable(3), variable(2)
    square(a)
    with tf.GradientTape() as tape:
        y = square(b)
    assert tape.watched_variables() == (b,)
    assert float(tape.gradient(y, b)) == 4.0

    @tf.function
    def slope(v):
        with tf.GradientTape() as inner:
            y = square(v)
        return inner.gradient(y, v)

    assert (float(slope(a)), float(slope(b))) == (6.0, 4.0)


def test_functions_within_functions():
    @tf.function
    def outer(v):
        for _ in tf.range(3):
            add_one(v)
        return add_one(v)

    a, b = variable(0), variable(100)
    assert (float(outer(a)), float(outer(b))) == (8.0, 208.0)
    assert (float(a), float(b)) == (4.0, 104.0)
    assert outer.experimental_get_tracing_count() == 1


def test_variables_in_nests():
    function = tf.function(lambda n, x: n["a"] * x + n["b"][0])
    for a, b in ((1, 2), (3, 4)):
        found = function({"a": variable(a), "b": [variable(b)]}, tf.constant(2.0))
        assert float(found) == 2 * a + b
    assert function.experimental_get_tracing_count() == 1


def test_a_concrete_function_takes_variables():
    concrete = tf.function(lambda v: v + 1).get_concrete_function(variable(1))
    assert concrete.captured_inputs == []
    assert concrete.variables == ()
    spec = "VariableSpec(shape=(), dtype=tf.float32, trainable=True, alias_id=0)"
    assert f"v (POSITIONAL_OR_KEYWORD): {spec}" in concrete.pretty_printed_signature()
    assert float(concrete(variable(5))) == 6.0
    assert float(concrete(v=variable(6))) == 7.0
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"must be a variable of float32\(\), got one of"
    ):
        concrete(variable([1]))
    with pytest.raises(TypeError, match=r"Can not cast 1\.0 to VariableSpec"):
        concrete(1.0)


def test_a_trace_does_not_keep_the_variable_it_was_made_with():
    function = tf.function(lambda v: v + 1)
    a = variable(1)
    function(a)
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None
    assert float(function(variable(2))) == 3.0


def test_names_of_tensors_in_nests():
    def body(n, a, y):
        return a

    spec = tf.TensorSpec([], tf.float32)
    concrete = tf.function(body).get_concrete_function(2, spec, [spec, {"k": spec}])
    (_, a, (first, mapped)), _ = concrete.structured_input_signature
    assert [t.name for t in concrete.inputs] == ["a:0", "y:0", "y_1:0"]
    assert [a.name, first.name, mapped["k"].name] == ["a", "y_0", "y_1_k"]


class Layer:
    def __init__(self):
        self.v = None

    @tf.function
    def __call__(self, x):
        if self.v is None:
            self.v = tf.Variable(x * 2)
        return self.v + x

    @tf.function
    def doubled(self, x):
        return self(x) * 2


def test_a_first_value_may_need_an_argument():
    layer = Layer()
    assert float(layer(tf.constant(3.0))) == 9.0
    assert float(layer(tf.constant(5.0))) == 11.0
    assert float(layer.v) == 6.0


def test_so_it_may_in_a_function_that_is_called_by_another():
    layer = Layer()
    assert [float(layer.doubled(tf.constant(x))) for x in (3.0, 5.0)] == [18.0, 22.0]
    assert float(layer.v) == 6.0


def test_so_it_may_in_a_concrete_function():
    layer = Layer()
    concrete = layer.__call__.get_concrete_function(tf.TensorSpec([], tf.float32))
    assert [float(concrete(tf.constant(x))) for x in (3.0, 5.0)] == [9.0, 11.0]


def test_a_method_of_an_instance_that_nobody_else_keeps():
    assert float(Layer().doubled(tf.constant(1.0))) == 6.0
    layer = Layer()
    kept = layer.doubled
    assert layer.doubled is kept
    del layer
    gc.collect()
    assert float(kept(tf.constant(1.0))) == 6.0
    gone = weakref.ref(kept._instance)
    del kept
    gc.collect()
    assert gone() is None
