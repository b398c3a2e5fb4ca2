"""The pass that computes products in half precision, on graphs and functions of every kind."""

import re
from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from penstock import ops
from penstock.core.op_def import lookup
from penstock.runtime.mixed_precision import ALLOWED, FOLLOWING, KEPT, in_half_precision
from penstock.runtime.program import build

v1 = tf.compat.v1
RNG = np.random.default_rng(2)
X = RNG.normal(size=(4, 8)).astype(np.float32)
W = RNG.normal(size=(8, 6)).astype(np.float32)
HALVES = {"auto_mixed_precision": "float16", "auto_mixed_precision_onednn_bfloat16": "bfloat16"}


@pytest.fixture(params=sorted(HALVES))
def half(request):
    tf.config.optimizer.set_experimental_options({request.param: True})
    yield tf.as_dtype(HALVES[request.param])
    tf.config.optimizer.set_experimental_options({request.param: False})


def rounded(array, half):
    return array.astype(half.as_numpy_dtype).astype(np.float32)


def test_the_lists_are_apart_and_of_operations_with_one_dtype():
    ops.load_all()
    assert not ALLOWED & FOLLOWING
    assert not KEPT & (ALLOWED | FOLLOWING)
    for name in ALLOWED | FOLLOWING | KEPT:
        attr = lookup(name).attrs["T"]
        assert attr.kind == "type"
    for name in ALLOWED | FOLLOWING:
        allowed = lookup(name).attrs["T"].allowed
        assert allowed is None or {tf.float16, tf.bfloat16} <= set(allowed), name


def test_the_page_names_the_lists():
    page = (Path(__file__).parents[2] / "docs" / "mixed_precision.md").read_text()
    parts = page.partition("half precision:")[2].partition("## Loss")[0].split("\n\n`")[1:]
    for part, names in zip(parts, (ALLOWED, FOLLOWING, KEPT), strict=True):
        assert set(re.findall(r"`?([A-Z]\w+)`", part.partition(".\n")[0] + "`")) == names


def network(x, w, b):
    hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), b))
    return tf.nn.softmax(hidden), hidden


def test_products_and_what_follows_are_in_half_precision_and_the_rest_is_not():
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [4, 8])
        w, b = v1.get_variable("w", initializer=W), v1.get_variable("b", initializer=W[0])
        fetches = [network(x, w, b)[0], x]
        program = in_half_precision(build(fetches, [x], []), tf.float16)
    program.verify()
    dtypes = {node.type: node.dtypes[0].name for node in program.nodes if node.type != "Cast"}
    for name in ("MatMul", "BiasAdd", "Relu"):
        assert dtypes[name] == "float16"
    for name in ("Softmax", "ReadVariableOp", "_Feed"):
        assert dtypes[name] == "float32"
    casts = [n.dtypes[0].name for n in program.nodes if n.type == "Cast"]
    assert sorted(casts) == ["float16"] * 3 + ["float32"]  # x, w and b; what softmax takes
    assert [n.dtypes[i].name for n, i in program.fetches] == ["float32", "float32"]


def test_a_value_of_full_precision_keeps_what_it_meets():
    """A sum of a product and a fed tensor stays float32; so does a program without products."""
    with tf.Graph().as_default():
        x, y = v1.placeholder(tf.float32, [4, 8]), v1.placeholder(tf.float32, [4, 6])
        total = tf.nn.relu(tf.matmul(x, W) + y)
        program = in_half_precision(build([total], [x, y], []), tf.bfloat16)
        dtypes = {n.type: n.dtypes[0].name for n in program.nodes if n.type != "Cast"}
        assert (dtypes["MatMul"], dtypes["AddV2"]) == ("bfloat16", "float32")
        alone = in_half_precision(build([tf.exp(y) + y], [y], []), tf.bfloat16)
        assert not [n for n in alone.nodes if n.type == "Cast"]
        wide = tf.matmul(tf.cast(x, tf.float64), W.astype(np.float64))
        kept = in_half_precision(build([wide], [x], []), tf.float16)
        assert not [n for n in kept.nodes if n.dtypes and n.dtypes[0] is tf.float16]


def test_sessions(half):
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 8])
        product = tf.matmul(x, W)
        with v1.Session() as session:
            got = session.run(product, {x: X})
        tf.config.optimizer.set_experimental_options(dict.fromkeys(HALVES, False))
        with v1.Session() as session:
            plain = session.run(product, {x: X})
    assert got.dtype == np.float32
    np.testing.assert_allclose(plain, X @ W, rtol=1e-5, atol=1e-5)
    assert np.abs(got - plain).max() > 1e-5  # it was computed otherwise
    wanted = rounded(rounded(X, half) @ rounded(W, half), half)
    step = 2.0 ** (-10 if half is tf.float16 else -7)
    np.testing.assert_allclose(got, wanted, rtol=2 * step, atol=2 * step)


@pytest.mark.parametrize("compiled", [None, True])
def test_functions(half, compiled):
    run = tf.function(lambda x: tf.matmul(tf.nn.tanh(tf.matmul(x, W)), W.T), jit_compile=compiled)
    got = run(X).numpy()
    wanted = np.tanh(X @ W) @ W.T
    step = 2.0 ** (-10 if half is tf.float16 else -7)
    assert got.dtype == np.float32
    assert 1e-6 < np.abs(got - wanted).max() < 40 * step


def test_convolutions_and_their_gradients(half):
    images = RNG.normal(size=(2, 6, 6, 3)).astype(np.float32)
    weights = RNG.normal(size=(3, 3, 3, 4)).astype(np.float32)
    shares = RNG.normal(size=(2, 6, 6, 4)).astype(np.float32)

    def slopes(x, w):
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            total = tf.reduce_sum(tf.nn.conv2d(x, w, 1, "SAME") * shares)
        return tape.gradient(total, [x, w])

    wanted = slopes(tf.constant(images), tf.constant(weights))  # eager calls are not rewritten
    got = tf.function(slopes)(images, weights)
    for a, b in zip(got, wanted, strict=True):
        assert a.dtype is tf.float32
        assert 1e-5 < np.abs(a - b).max() < (0.02 if half is tf.float16 else 0.2)


def test_a_session_may_ask_for_it():
    config = v1.ConfigProto()
    config.graph_options.rewrite_options.auto_mixed_precision = 1
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [4, 8])
        product = tf.matmul(x, W)
        with v1.Session(config=config) as asked, v1.Session() as plain:
            half, full = asked.run(product, {x: X}), plain.run(product, {x: X})
    np.testing.assert_array_equal(half, rounded(half, tf.float16))
    assert np.abs(half - full).max() > 1e-5


def test_a_training_step_keeps_its_variables_in_full_precision(half):
    with tf.Graph().as_default():
        w = v1.get_variable("w", initializer=W, use_resource=True)
        loss = tf.reduce_mean(tf.matmul(X, w) ** 2)
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            before = session.run(loss)
            for _ in range(5):
                session.run(train)
            after, value = session.run([loss, w])
    assert after < before / 2
    assert value.dtype == np.float32
    assert np.abs(value - rounded(value, half)).max() > 0
