"""tf.function for straight-line code: signatures, captures, caching, structures, errors."""

import gc
import threading
import weakref

import numpy as np
import pytest

import penstock as tf


def test_one_trace_for_each_signature():
    traced = []

    @tf.function
    def f(x):
        traced.append(x.shape.as_list())
        return x + 1.0

    assert float(f(tf.constant(1.0))) == 2.0
    assert float(f(tf.constant(5.0))) == 6.0
    np.testing.assert_array_equal(f(tf.constant([1.0, 2.0])).numpy(), [2.0, 3.0])
    assert traced == [[], [2]]
    assert f.experimental_get_tracing_count() == 2


def test_python_values_are_part_of_the_signature():
    count = []

    @tf.function
    def f(x, n=2):
        count.append(n)
        return x * n

    x = tf.constant(3)
    assert [int(f(x)), int(f(x, 2)), int(f(x, n=2)), int(f(x, 3))] == [6, 6, 6, 9]
    assert count == [2, 3]


def test_python_floats_retrace_and_numpy_arrays_do_not():
    count = []

    @tf.function
    def f(x):
        count.append(1)
        return x * 2

    f(1.0), f(2.0)
    assert len(count) == 2
    f(np.float32([1.0])), f(np.float32([5.0]))
    assert len(count) == 3


def test_input_signature_is_traced_once():
    count = []

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="rows")])
    def f(rows):
        count.append(rows.shape.as_list())
        return tf.reduce_sum(rows, 0)

    np.testing.assert_array_equal(f(np.ones((3, 2))).numpy(), [3.0, 3.0])
    np.testing.assert_array_equal(f(tf.ones([5, 2])).numpy(), [5.0, 5.0])
    assert count == [[None, 2]]
    with pytest.raises(TypeError):
        f(tf.ones([5, 3]))
    with pytest.raises(TypeError):
        f(tf.ones([5, 2], tf.int32))


def test_structures_in_and_out():
    @tf.function
    def f(pair, *, named):
        return {"sum": pair[0] + pair[1], "rest": (named["b"], None)}

    result = f((tf.constant(1.0), tf.constant(2.0)), named={"b": tf.constant(7.0)})
    assert float(result["sum"]) == 3.0
    assert float(result["rest"][0]) == 7.0
    assert result["rest"][1] is None


def test_constants_returned_and_inputs_returned():
    @tf.function
    def f(x):
        return x, 5, [1.0, 2.0]

    x, five, row = f(tf.constant([1, 2]))
    np.testing.assert_array_equal(x.numpy(), [1, 2])
    assert int(five) == 5
    assert [float(r) for r in row] == [1.0, 2.0]


def test_captured_values_and_variables():
    big = tf.constant(np.arange(1000, dtype=np.float32))
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        return tf.reduce_sum(big) * v + x

    assert float(f(tf.constant(0.0))) == 499500.0
    v.assign(2.0)
    assert float(f(tf.constant(0.0))) == 999000.0
    concrete = f.get_concrete_function(tf.TensorSpec([], tf.float32))
    assert [w is v for w in concrete.variables] == [True]
    assert len(concrete.captured_inputs) == 2


def test_effects_run_in_program_order():
    v = tf.Variable(0.0)

    @tf.function
    def f():
        v.assign(1.0)
        first = v.read_value()
        v.assign_add(10.0)
        second = v.read_value()
        v.assign(v * 2.0)
        return first, second, v.read_value()

    assert [float(t) for t in f()] == [1.0, 11.0, 22.0]
    assert float(v) == 22.0


def test_effects_without_results_still_run():
    v = tf.Variable(0)

    @tf.function
    def f():
        v.assign_add(1)

    for _ in range(3):
        assert f() is None
    assert int(v) == 3


def test_variable_made_at_the_first_call_only():
    class Layer:
        def __init__(self):
            self.w = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(3.0)
            return self.w * x

    layer = Layer()
    assert float(layer(tf.constant(2.0))) == 6.0
    layer.w.assign(5.0)
    assert float(layer(tf.constant(2.0))) == 10.0
    assert float(Layer()(tf.constant(1.0))) == 3.0

    @tf.function
    def bad(x):
        return tf.Variable(1.0) + x

    with pytest.raises(ValueError, match=r"singleton tf\.Variables"):
        bad(tf.constant(1.0))


def test_methods_trace_for_each_instance_and_let_go_of_it():
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @tf.function
        def call(self, x):
            return x * self.scale

    two, three = Model(2.0), Model(3.0)
    assert [float(m.call(tf.constant(1.0))) for m in (two, three)] == [2.0, 3.0]
    gone = weakref.ref(two)
    del two
    gc.collect()
    assert gone() is None


def test_graph_tensor_in_python_condition_is_refused():
    @tf.function(autograph=False)
    def f(x):
        if x > 0:
            return x
        return -x

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        f(tf.constant(1.0))


def test_leaked_tensor_names_where_it_was_made():
    leaked = []

    @tf.function
    def f(x):
        leaked.append(x * 2.0)
        return x

    f(tf.constant(1.0))
    with pytest.raises((TypeError, ValueError), match=r"test_function\.py:\d+"):
        leaked[0] + 1.0

    @tf.function
    def g(x):
        return x + leaked[0]

    with pytest.raises((TypeError, ValueError), match="out of scope"):
        g(tf.constant(1.0))


def test_wrong_return_value_is_refused():
    @tf.function
    def f(x):
        return object()

    with pytest.raises(TypeError, match="must return zero or more Tensors"):
        f(tf.constant(1.0))


def test_error_in_a_call_names_the_users_line():
    @tf.function
    def f(x, y):
        return tf.matmul(x, y)

    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)) as caught:
        f(tf.ones([2, 3]), tf.ones([4, 5]))
    assert "test_function.py" in str(caught.value)
    assert "3" in str(caught.value)
    assert "4" in str(caught.value)


def test_concrete_function_arguments():
    @tf.function
    def f(a, b):
        return a - b

    concrete = f.get_concrete_function(
        tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.float32)
    )
    np.testing.assert_array_equal(concrete(tf.constant([3.0]), tf.constant(1.0)).numpy(), [2.0])
    np.testing.assert_array_equal(concrete(a=tf.constant([3.0]), b=tf.constant(1.0)).numpy(), [2.0])
    with pytest.raises(TypeError):
        concrete(tf.constant([3.0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="float32 tensor but is a int32"):
        concrete(tf.constant([3]), tf.constant(1.0))
    assert concrete.structured_outputs.shape.as_list() == [None]


def test_reduce_retracing_relaxes_a_size():
    count = []

    @tf.function(reduce_retracing=True)
    def f(x):
        count.append(1)
        return tf.reduce_sum(x)

    for n in range(1, 10):
        assert float(f(tf.ones([n]))) == n
    assert len(count) == 2


def test_run_functions_eagerly():
    seen = []

    @tf.function
    def f(x):
        seen.append(type(x).__name__)
        return x

    tf.config.run_functions_eagerly(True)
    try:
        f(tf.constant(1.0)), f(tf.constant(1.0))
    finally:
        tf.config.run_functions_eagerly(False)
    assert seen == ["EagerTensor", "EagerTensor"]


def test_functions_called_in_graphs_and_functions():
    @tf.function
    def inner(x):
        return x * 2.0

    @tf.function
    def outer(x):
        return inner(x) + inner(x + 1.0)

    assert float(outer(tf.constant(1.0))) == 6.0
    graph = tf.Graph()
    with graph.as_default():
        y = outer(tf.constant(2.0))
        with tf.compat.v1.Session() as session:
            assert session.run(y) == 10.0


def test_many_threads_call_one_function():
    v = tf.Variable(0)

    @tf.function
    def bump(x):
        v.assign_add(1)
        return x + 1

    bump(tf.constant(0))
    results = []

    def work(i):
        results.extend(int(bump(tf.constant(i))) for _ in range(50))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted(i + 1 for i in range(8) for _ in range(50))
    assert int(v) == 401


def test_sizes_that_vary_do_not_compile_each_time():
    f = tf.function(
        lambda x: tf.matmul(x, tf.ones([4, 3])),
        input_signature=[tf.TensorSpec([None, 4], tf.float32)],
    )
    for n in range(1, 40):
        assert f(tf.ones([n, 4])).shape.as_list() == [n, 3]
    from penstock.tracing.concrete import plan_of

    assert plan_of(f.get_concrete_function().body).compiled_count == 0
