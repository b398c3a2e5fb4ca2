"""tf.gradients in graphs, custom rules, and forward derivatives."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


def run(graph, fetches, feeds=None):
    with v1.Session(graph=graph) as session:
        return session.run(fetches, feeds or {})


def test_gradients_of_a_graph_and_second_order():
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None])
        y = tf.reduce_sum(x * x * x)
        (first,) = tf.gradients(y, x)
        (second,) = tf.gradients(first, x)
    values = run(graph, [first, second], {x: [1.0, 2.0]})
    np.testing.assert_allclose(values[0], [3.0, 12.0])
    np.testing.assert_allclose(values[1], [6.0, 12.0])


def test_gradients_of_several_targets_are_summed():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.constant(2.0)
        (grad,) = tf.gradients([x * 3.0, x * x], x, grad_ys=[None, tf.constant(10.0)])
    assert run(graph, grad) == 43.0


def test_grad_ys_with_more_dimensions_of_size_one():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.constant([1.0, 2.0, 3.0])
        (grad,) = tf.gradients(x * x, x, grad_ys=[tf.constant([[1.0, 10.0, 100.0]])])
        assert session.run(grad).tolist() == [2.0, 40.0, 600.0]
        with pytest.raises(ValueError, match=r"expected grad_ys of shape \(3,\).*got shape \(2,\)"):
            tf.gradients(x * x, x, grad_ys=[tf.ones([2])])
        with pytest.raises(ValueError, match=r"expected grad_ys of shape \(3, 2\).*\(2, 3\)"):
            tf.gradients(tf.exp(tf.ones([3, 2])), x, grad_ys=[tf.ones([2, 3])])


def test_stop_gradients_and_unconnected():
    graph = tf.Graph()
    with graph.as_default():
        a, b = tf.constant(0.0), tf.constant(1.0)
        double = 2.0 * a
        da, dd = tf.gradients(a + double, [a, double], stop_gradients=[a, double])
        (none,) = tf.gradients(a, b)
        (zero,) = tf.gradients(a, b, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert none is None
    assert run(graph, [da, dd, zero]) == [1.0, 1.0, 0.0]


def test_stop_gradient_operation():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.constant(3.0)
        (grad,) = tf.gradients(x * tf.stop_gradient(x), x)
    assert run(graph, grad) == 3.0


def test_gradients_are_refused_in_eager_mode():
    with pytest.raises(RuntimeError, match="GradientTape"):
        tf.gradients(tf.constant(1.0), tf.constant(1.0))


def test_no_gradient_flows_through_integers():
    with tf.Graph().as_default():
        x = tf.constant(3)
        assert tf.gradients(x * x, x) == [None]
        assert tf.gradients(x, x)[0].dtype is tf.int32


def test_hessians():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.constant([1.0, 2.0])
        (h,) = v1.hessians(tf.reduce_sum(x * x * x), [x])
    np.testing.assert_allclose(run(graph, h), [[6.0, 0.0], [0.0, 12.0]])


def test_hessians_of_what_has_no_static_shape():
    graph = tf.Graph()
    with graph.as_default():
        x, y = v1.placeholder(tf.float32, [None, 2]), v1.placeholder(tf.float32)
        (h,) = v1.hessians(tf.reduce_sum(x * x * x), x)
        (free,) = v1.hessians(tf.reduce_sum(y**3), y)
        (zero,) = v1.hessians(tf.reduce_sum(y), y)
        assert h.shape.as_list() == [None, 2, None, 2]
        assert free.shape.rank is None
    values = run(graph, [h, free, zero], {x: [[1.0, 2.0], [3.0, 4.0]], y: [1.0, 2.0]})
    np.testing.assert_allclose(values[0].reshape(4, 4), np.diag([6.0, 12.0, 18.0, 24.0]))
    np.testing.assert_allclose(values[1], [[6.0, 0.0], [0.0, 12.0]])
    np.testing.assert_allclose(values[2], np.zeros([2, 2]))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda x: tf.gradients(x, x, aggregation_method=9),
            ValueError,
            r"Invalid `aggregation_method` specified 9. Accepted values are \[0, 1, 2\]",
        ),
        (
            lambda x: tf.gradients(x, x, grad_ys=[1.0, 2.0]),
            ValueError,
            "Length mismatch. Passed 2 grad_ys for 1 ys",
        ),
        (
            lambda x: tf.gradients(x, x, unconnected_gradients="foo"),
            ValueError,
            "Unknown value for unconnected_gradients: 'foo'",
        ),
        (
            lambda x: tf.RegisterGradient("MatMul")(lambda op, grad: grad),
            KeyError,
            "Registering two gradient with name 'MatMul'",
        ),
        (
            lambda x: tf.GradientTape(persistent=True).batch_jacobian(tf.ones([2]), tf.ones([2])),
            ValueError,
            "must have rank at least 2",
        ),
    ],
)
def test_refusals_have_the_words_of_tensorflow(call, error, words):
    with tf.Graph().as_default():
        x = tf.constant([1.0])
        with pytest.raises(error, match=words):
            call(x)


def test_gated_gradients_have_the_names_of_tensorflow():
    with tf.Graph().as_default():
        x = tf.ones([2, 2])
        found = tf.gradients(tf.matmul(x, 2.0 * x), x, gate_gradients=True)[0].graph
        names = {op.name for op in found.get_operations()}
    assert "gradients/MatMul_grad/tuple/control_dependency_1" in names
    gate = found.get_operation_by_name("gradients/MatMul_grad/tuple/group_deps")
    assert [c.name.rpartition("/")[2] for c in gate.control_inputs] == ["MatMul", "MatMul_1"]
    assert gate.colocation_groups() == [f"loc:@{gate.name}".encode()]


def test_gated_gradients_do_not_cut_the_step():
    with tf.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", initializer=np.ones((2, 2)))
        loss = tf.reduce_sum(tf.matmul(v, 2.0 * v))
        update = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(v1.global_variables_initializer())
        metadata = v1.RunMetadata()
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        session.run(update, options=options, run_metadata=metadata)
    steps = [s.node_name for d in metadata.step_stats.dev_stats for s in d.node_stats]
    assert len([name for name in steps if "region" in name]) <= 1, steps


def test_custom_gradient_eager_graph_and_function():
    @tf.custom_gradient
    def clipped(x):
        def grad(upstream):
            return upstream * 100.0

        return x * x, grad

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = clipped(x)
    assert float(y) == 9.0
    assert float(tape.gradient(y, x)) == 100.0
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(clipped)(x)
    assert float(tape.gradient(y, x)) == 100.0
    graph = tf.Graph()
    with graph.as_default():
        z = tf.constant(3.0)
        (grad,) = tf.gradients(clipped(z), z)
    assert run(graph, grad) == 100.0


def test_custom_gradient_with_variables():
    v = tf.Variable(2.0)

    @tf.custom_gradient
    def scaled(x):
        y = x * v

        def grad(upstream, variables=None):
            assert variables == [v] or len(variables) == 1
            return upstream * 7.0, [upstream * 5.0]

        return y, grad

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = scaled(x)
    assert [float(g) for g in tape.gradient(y, [x, v])] == [7.0, 5.0]


def test_recompute_grad_gives_the_same_gradient():
    calls = []

    @tf.recompute_grad
    def f(x):
        calls.append(1)
        return tf.tanh(x) * x

    x = tf.constant(0.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    grad = float(tape.gradient(y, x))
    t = np.tanh(0.5)
    np.testing.assert_allclose(grad, t + 0.5 * (1 - t * t), rtol=1e-6)
    assert len(calls) == 2


def test_gradient_override_map():
    name = "test_override_of_square"
    tf.RegisterGradient(name)(lambda op, grad: grad * 42.0)
    graph = tf.Graph()
    with graph.as_default(), graph.gradient_override_map({"Square": name}):
        x = tf.constant(3.0)
        (grad,) = tf.gradients(tf.square(x), x)
    assert run(graph, grad) == 42.0
    with pytest.raises(KeyError):
        tf.RegisterGradient(name)(lambda op, grad: grad)


def test_forward_accumulator():
    x = tf.constant([[2.0, 3.0], [1.0, 4.0]])
    with tf.autodiff.ForwardAccumulator(x, tf.constant([[1.0, 0.0], [0.0, 0.0]])) as acc:
        y = tf.reduce_sum(x * x)
        z = tf.constant(1.0)
    assert float(acc.jvp(y)) == 4.0
    assert acc.jvp(z) is None


def test_forward_over_reverse_is_a_hessian_vector_product():
    v = tf.Variable([1.0, 2.0])
    with (
        tf.autodiff.ForwardAccumulator(v, tf.constant([1.0, 0.0])) as acc,
        tf.GradientTape() as tape,
    ):
        y = tf.reduce_sum(v * v * v)
        backward = tape.gradient(y, v)
    np.testing.assert_allclose(acc.jvp(backward).numpy(), [6.0, 0.0])


def test_colocated_and_gated_gradients_have_equal_values():
    graph = tf.Graph()
    with graph.as_default():
        x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
        plain = v1.gradients(x * y, [x, y])
        gated = v1.gradients(x * y, [x, y], colocate_gradients_with_ops=True, gate_gradients=True)
    for a, b in zip(run(graph, plain), run(graph, gated), strict=True):
        np.testing.assert_array_equal(a, b)


def test_gradients_of_one_device_are_added_there_first():
    with tf.Graph().as_default() as graph:
        with tf.device("/device:CPU:1"):
            x = v1.placeholder(tf.float32, [2], name="x")
        with tf.device("/device:CPU:2"):
            squares = tf.square(x, name="square") + tf.sin(x)
        with tf.device("/device:CPU:3"):
            cosine = tf.cos(x, name="cos") + tf.exp(x)
        (gradient,) = tf.gradients(squares + cosine, x)
        sums = {
            op.device: op.colocation_groups() for op in graph.get_operations() if op.type == "AddN"
        }
        assert sums == {
            "/device:CPU:1": [b"loc:@x"],
            "/device:CPU:2": [b"loc:@square"],
            "/device:CPU:3": [b"loc:@cos"],
        }
        assert gradient.op.device == "/device:CPU:1"


def test_a_sum_of_gradients_stands_beside_the_first():
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        (gradient,) = v1.gradients(tf.square(x) + tf.sin(x), x)
        assert gradient.op.type == "AddN"
        first = gradient.op.inputs[0].op.name
        assert gradient.op.colocation_groups() == [f"loc:@{first}".encode()]


@pytest.mark.parametrize("shape", [[], [1], [2], [1, 2], [3, 1], [1, 1]])
@pytest.mark.parametrize("known", [[3, 2], [None, 2], [3, None]])
def test_grad_ys_are_broadcast(shape, known):
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, known)
        (gradient,) = tf.gradients(tf.square(x), x, grad_ys=tf.fill(shape, 5.0))
        with v1.Session() as session:
            value = session.run(gradient, {x: np.ones((3, 2))})
    np.testing.assert_allclose(value, np.full((3, 2), 10.0))


def test_grad_ys_of_another_size_are_refused():
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [2])
        with pytest.raises(ValueError, match=r"expected grad_ys of shape \(2,\).* shape \(3,\)"):
            tf.gradients(tf.square(x), x, grad_ys=tf.ones([3]))


@pytest.mark.parametrize(
    "change", [lambda x: tf.cast(x, tf.float16), lambda x: tf.cast(x, tf.float64), tf.negative]
)
def test_gradients_of_rows_stay_rows(change):
    """Through casts, of tables in mixed precision say, and signs; so optimizers update rows."""

    def picked(x):
        return tf.gather(change(x), [0, 2, 0])

    x = tf.ones([3, 2])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = picked(x)
    gradient = tape.gradient(y, x)
    assert isinstance(gradient, tf.IndexedSlices)
    assert gradient.dtype == tf.float32
    wanted = change(x).numpy()[0, 0] * np.array([[2, 2], [0, 0], [1, 1]])
    np.testing.assert_array_equal(tf.convert_to_tensor(gradient), wanted)
    with tf.Graph().as_default():
        place = v1.placeholder(tf.float32, [3, 2])
        assert isinstance(tf.gradients(picked(place), place)[0], tf.IndexedSlices)
