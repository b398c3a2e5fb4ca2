"""Chains of operations that become one: where they do, where not, and that results stay."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as tf
from penstock.core.resources import ResourceManager
from penstock.graph.graph import Graph
from penstock.runtime.program import build
from penstock.runtime.reference import run_reference
from penstock.runtime.simplify import simplify

FUSED = "PenstockFinishedConv2D"
FUSED_GRAD = "PenstockFinishedConv2DBackpropInput"


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


IMAGE, FILTER, BIAS, BESIDE = (
    draw(*shape, seed=k) for k, shape in enumerate([(2, 6, 6, 3), (3, 3, 3, 4), (4,), (2, 6, 6, 4)])
)


def convolved(graph_filter=FILTER, **attrs):
    return tf.nn.conv2d(tf.constant(IMAGE), tf.constant(graph_filter), 1, "SAME", **attrs)


def planned(make):
    """The types in the program of what `make` gives, and its value by the plain executor."""
    with Graph().as_default():
        wanted = make()
        fetches = wanted if isinstance(wanted, list) else [wanted]
        program = simplify(build(fetches, [], ()))
        plain = run_reference(fetches, {}, ResourceManager())
        with tf.compat.v1.Session() as session:
            values = session.run(fetches)
    for got, right in zip(values, plain, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-5)
    return program


def fused_in(program, type=FUSED):
    return [n for n in program.nodes if n.type == type]


CHAINS = {
    "bias": (lambda y: tf.nn.bias_add(y, BIAS), (1, 0, "")),
    "added vector": (lambda y: y + BIAS, (1, 0, "")),
    "vector first": (lambda y: BIAS + y, (1, 0, "")),
    "relu": (tf.nn.relu, (0, 0, "Relu")),
    "bias, relu6": (lambda y: tf.nn.relu6(tf.nn.bias_add(y, BIAS)), (1, 0, "Relu6")),
    "beside": (lambda y: BESIDE + y, (0, 1, "")),
    "all": (lambda y: tf.nn.relu(BESIDE + tf.nn.bias_add(y, BIAS)), (1, 1, "Relu")),
    "all, other order": (lambda y: tf.nn.relu((y + BESIDE) + BIAS), (1, 1, "Relu")),
    "nothing after relu": (lambda y: tf.nn.relu(y) + BIAS, (0, 0, "Relu")),
}


@pytest.mark.parametrize("name", CHAINS)
def test_what_is_taken(name):
    make, (biases, besides, activation) = CHAINS[name]
    (node,) = fused_in(planned(lambda: make(convolved())))
    assert (node.attrs["N"], node.attrs["M"], node.attrs["activation"]) == (
        biases,
        besides,
        activation,
    )
    assert node.counts == [1, 1, biases, besides]
    assert node.name.startswith("Conv2D")


def test_what_a_chain_takes_from_another_chain_is_computed_once():
    def residual():
        first = tf.nn.relu(convolved())
        second = tf.nn.conv2d(first, draw(3, 3, 4, 4, seed=7), 1, "SAME")
        return tf.nn.relu(first + second)

    program = planned(residual)
    assert [n.type for n in program.nodes if n.inputs] == [FUSED, FUSED]


def with_control():
    y = convolved()
    with tf.control_dependencies([y]):
        other = tf.constant(1.0)
    return [tf.nn.relu(y), tf.identity(other)]


def on_another_device():
    y = convolved()
    with tf.device("/device:CPU:1"):
        return tf.nn.relu(y)


LEFT = {
    "used twice": lambda: [tf.nn.relu(y := convolved()), tf.reduce_sum(y)],
    "fetched": lambda: [y := convolved(), tf.nn.relu(y)],
    "twice the same": lambda: (lambda y: y + y)(convolved()),
    "a vector that broadcasts": lambda: convolved() + np.float32([1]),
    "other tensors": lambda: convolved() * BIAS,
    "a vector along other axes": lambda: convolved() + draw(6, 1),
    "alone": convolved,
    "waited for": with_control,
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left(name):
    assert not fused_in(planned(LEFT[name]))


def test_devices_are_kept_apart():
    with Graph().as_default():
        program = build([on_another_device()], [], ())
        assert not fused_in(simplify(program))


def test_channels_first_is_left_alone():
    with Graph().as_default():
        y = tf.nn.conv2d(tf.constant(draw(2, 3, 6, 6)), FILTER, 1, "SAME", data_format="NCHW")
        assert not fused_in(simplify(build([tf.nn.relu(y)], [], ())))


def test_a_size_that_is_not_known_takes_a_bias_and_no_tensor():
    with Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 6, 6, 3])
        y = tf.nn.conv2d(x, FILTER, 1, "SAME")
        (node,) = fused_in(
            simplify(build([tf.nn.relu(y + BIAS + (y_like := x[..., :1]))], [x], ()))
        )
    assert (node.attrs["N"], node.attrs["M"], node.attrs["activation"]) == (1, 0, "")
    assert y_like.shape[0] is None


def test_the_switch(monkeypatch):
    monkeypatch.setenv("PENSTOCK_PATTERNS_OFF", "conv_finish")
    assert not fused_in(planned(lambda: tf.nn.relu(convolved())))


def test_a_training_step_takes_it_and_its_gradients_stay():
    @tf.function
    def step(x, w, b):
        with tf.GradientTape() as tape:
            tape.watch([w, b])
            loss = tf.reduce_sum(tf.nn.relu(tf.nn.conv2d(x, w, 1, "SAME") + b) ** 2)
        return tape.gradient(loss, [w, b])

    arguments = [tf.constant(v) for v in (IMAGE, FILTER, BIAS)]
    found = step(*arguments)
    with tf.GradientTape() as tape:
        tape.watch(arguments[1:])
        loss = tf.reduce_sum(
            tf.nn.relu(tf.nn.conv2d(arguments[0], arguments[1], 1, "SAME") + arguments[2]) ** 2
        )
    for got, wanted in zip(found, tape.gradient(loss, arguments[1:]), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)
    concrete = step.get_concrete_function(*arguments)
    program = simplify(build(concrete.outputs, concrete.inputs, ()))
    assert len(fused_in(program)) == 1


def test_nan_and_infinity_pass_as_they_do_apart():
    image = IMAGE.copy()
    image[0, 0, 0, 0], image[1, 5, 5, 2] = np.nan, -np.inf

    @tf.function
    def step(x, w, b):
        return tf.nn.relu(tf.nn.conv2d(x, w, 1, "SAME") + b)

    arguments = [tf.constant(v) for v in (image, FILTER, BIAS)]
    apart = tf.nn.relu(tf.nn.conv2d(*arguments[:2], 1, "SAME") + arguments[2]).numpy()
    found = step(*arguments).numpy()
    assert (np.isnan(found) == np.isnan(apart)).all()
    np.testing.assert_allclose(found, apart, rtol=1e-5, atol=1e-5)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    size=st.tuples(st.integers(1, 3), st.integers(3, 17), st.integers(1, 20), st.integers(1, 40)),
    kernel=st.sampled_from([1, 3]),
    strides=st.integers(1, 2),
    parts=st.tuples(st.booleans(), st.booleans(), st.sampled_from(["", "Relu", "Relu6"])),
)
def test_the_native_kernel_beside_double_precision(size, kernel, strides, parts):
    images, side, channels, filters = size
    x = draw(images, side, side, channels) * 2
    w = draw(kernel, kernel, channels, filters, seed=1)
    with_bias, with_beside, activation = parts
    wide = tf.nn.conv2d(x.astype(np.float64), w.astype(np.float64), strides, "SAME").numpy()
    bias, beside = draw(filters, seed=2), draw(*wide.shape, seed=3)
    result = wide + (bias if with_bias else 0) + (beside if with_beside else 0)
    if activation:
        result = np.clip(result, 0, 6 if activation == "Relu6" else np.inf)
    from penstock.core.execute import execute

    found = execute(
        FUSED,
        (x, w, [bias] * with_bias, [beside] * with_beside),
        {"strides": [1, strides, strides, 1], "padding": "SAME", "activation": activation},
    )
    np.testing.assert_allclose(found, result, rtol=1e-4, atol=1e-4)


GRAD, GATE = draw(2, 6, 6, 4, seed=4), draw(2, 6, 6, 3, seed=5)


def input_grad(**attrs):
    given = {"strides": [1, 1, 1, 1], "padding": "SAME", **attrs}
    return tf.raw_ops.Conv2DBackpropInput(
        input_sizes=[2, 6, 6, 3], filter=FILTER, out_backprop=tf.constant(GRAD), **given
    )


def relu_grad(gradients, features):
    return tf.raw_ops.ReluGrad(gradients=gradients, features=features)


GRAD_CHAINS = {
    "relu": (lambda y: relu_grad(y, GATE), (0, 1)),
    "beside": (lambda y: IMAGE + y, (1, 0)),
    "sum of two": (lambda y: tf.add_n([y, tf.constant(IMAGE)]), (1, 0)),
    "both": (lambda y: relu_grad(tf.add_n([tf.constant(IMAGE), y]), GATE), (1, 1)),
    "nothing after the gate": (lambda y: relu_grad(y, GATE) + IMAGE, (0, 1)),
}


@pytest.mark.parametrize("name", GRAD_CHAINS)
def test_what_gradients_by_the_input_take(name):
    make, counts = GRAD_CHAINS[name]
    (node,) = fused_in(planned(lambda: make(input_grad())), FUSED_GRAD)
    assert (node.attrs["M"], node.attrs["N"]) == counts
    assert node.counts == [1, 1, 1, *counts]


GRADS_LEFT = {
    "the gate": lambda: relu_grad(GATE, input_grad()),
    "a sum of three": lambda: tf.add_n([input_grad(), tf.constant(IMAGE), tf.constant(GATE)]),
    "used twice": lambda: [relu_grad(y := input_grad(), GATE), tf.reduce_sum(y)],
    "a vector": lambda: input_grad() + np.float32([1, 2, 3]),
    "alone": input_grad,
}


@pytest.mark.parametrize("name", GRADS_LEFT)
def test_what_gradients_by_the_input_leave(name):
    assert not fused_in(planned(GRADS_LEFT[name]), FUSED_GRAD)


@pytest.mark.parametrize("type", [np.float64, np.float16])
def test_gradients_of_other_dtypes(type):
    def make():
        y = tf.raw_ops.Conv2DBackpropInput(
            input_sizes=[2, 6, 6, 3],
            filter=FILTER.astype(type),
            out_backprop=tf.constant(GRAD.astype(type)),
            strides=[1, 1, 1, 1],
            padding="SAME",
        )
        return tf.cast(relu_grad(y + IMAGE.astype(type), GATE.astype(type)), tf.float32)

    program = planned(make) if type is np.float64 else simplify_alone(make)
    assert len(fused_in(program, FUSED_GRAD)) == 1


def simplify_alone(make):
    with Graph().as_default():
        return simplify(build([make()], [], ()))


def test_a_training_step_is_the_same_bits_with_and_without(monkeypatch):
    weights = [tf.constant(draw(3, 3, *shape, seed=9)) for shape in [(4, 32), (32, 32), (32, 32)]]
    x = tf.constant(draw(2, 16, 16, 4, seed=8))

    def gradients(x, *weights):
        with tf.GradientTape() as tape:
            tape.watch([x, *weights])
            h = tf.nn.relu(tf.nn.conv2d(x, weights[0], 1, "SAME"))
            inner = tf.nn.relu(tf.nn.conv2d(h, weights[1], 1, "SAME"))
            h = tf.nn.relu(h + tf.nn.conv2d(inner, weights[2], 1, "SAME"))
            loss = tf.reduce_sum(h * h)
        return tape.gradient(loss, [x, *weights])

    step = tf.function(gradients)
    found = step(x, *weights)
    concrete = step.get_concrete_function(x, *weights)
    program = simplify(build(concrete.outputs, concrete.inputs, ()))
    assert [(n.attrs["M"], n.attrs["N"]) for n in fused_in(program, FUSED_GRAD)] == [(0, 1), (1, 1)]
    monkeypatch.setenv("PENSTOCK_PATTERNS_OFF", "conv_grad_finish")
    for got, wanted in zip(found, tf.function(gradients)(x, *weights), strict=True):
        np.testing.assert_array_equal(got, wanted)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    size=st.tuples(st.integers(1, 3), st.integers(3, 17), st.integers(1, 20), st.integers(1, 40)),
    kernel=st.sampled_from([1, 3]),
    strides=st.integers(1, 3),
    parts=st.tuples(st.booleans(), st.booleans()),
)
def test_the_native_gradient_beside_double_precision(size, kernel, strides, parts):
    images, side, channels, filters = size
    out = -(-side // strides)
    dy = draw(images, out, out, filters) * 2
    w = draw(kernel, kernel, channels, filters, seed=1)
    shape = (images, side, side, channels)
    beside, gate = draw(*shape, seed=2), draw(*shape, seed=3)
    gate[0, 0, 0, 0] = np.nan
    attrs = {"strides": [1, strides, strides, 1], "padding": "SAME"}
    wide = tf.raw_ops.Conv2DBackpropInput(
        input_sizes=shape,
        filter=w.astype(np.float64),
        out_backprop=dy.astype(np.float64),
        **attrs,
    ).numpy()
    with_beside, with_gate = parts
    result = wide + (beside if with_beside else 0)
    result = np.where(gate > 0, result, 0) if with_gate else result
    from penstock.core.execute import execute

    lists = [beside] * with_beside, [gate] * with_gate
    found = execute(FUSED_GRAD, (np.int32(shape), w, dy, *lists), attrs)
    np.testing.assert_allclose(found, result, rtol=1e-4, atol=1e-4)
