"""`tf.xla.experimental.compile` and `jit_scope`."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


def test_compile_runs_eagerly_and_refuses_what_cannot_be_compiled():
    assert float(tf.xla.experimental.compile(lambda x, y: x * y, [2.0, tf.constant(3.0)])) == 6.0
    assert float(tf.xla.experimental.compile(lambda: tf.constant(1.0))) == 1.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="jit_compile"):
        tf.xla.experimental.compile(lambda x: tf.strings.length(x), [tf.constant("a")])


def test_compile_in_a_graph_gives_a_list_or_an_operation():
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2])
        (one,) = tf.xla.experimental.compile(lambda t: t + 1, [x])
        pair = tf.xla.experimental.compile(lambda t: (t + 1, t * 2), [x])
        nothing = tf.xla.experimental.compile(lambda t: None, [x])
        got = session.run([one, pair, nothing], {x: [1.0, 2.0]})
    np.testing.assert_array_equal(got[0], [2.0, 3.0])
    np.testing.assert_array_equal(got[1], [[2.0, 3.0], [2.0, 4.0]])
    assert got[2] is None


def test_jit_scopes_mark_the_nodes_in_them():
    with tf.Graph().as_default():
        with tf.xla.experimental.jit_scope(separate_compiled_gradients=True):
            a = tf.constant(1.0) + 1.0
        with tf.xla.experimental.jit_scope(compile_ops=lambda node: node.op == "Mul"):
            b, c = a * 2.0, a - 2.0
        outside = a + b
    assert a.op.get_attr("_XlaCompile") is True
    assert a.op.get_attr("_XlaSeparateCompiledGradients") is True
    assert a.op.get_attr("_XlaScope") != b.op.get_attr("_XlaScope")
    assert (b.op.get_attr("_XlaCompile"), c.op.get_attr("_XlaCompile")) == (True, False)
    with pytest.raises(ValueError, match="_XlaCompile"):
        outside.op.get_attr("_XlaCompile")


def test_jit_scope_is_refused_in_eager_mode():
    with pytest.raises(RuntimeError, match="eager"), tf.xla.experimental.jit_scope():
        pass
