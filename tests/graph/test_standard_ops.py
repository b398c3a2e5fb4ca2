"""Gradients of loops in GraphDefs: written with operations that TensorFlow has, and read back."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
FEED = {"x:0": [0.3, 0.6, 0.9], "n:0": 3}


def _loops():
    """First and second derivatives of a loop of known and one of unknown length."""
    x = v1.placeholder(tf.float32, [3], name="x")
    n = v1.placeholder(tf.int32, [], name="n")

    def body(i, y):
        bent = tf.cond(tf.reduce_sum(y) > 2.0, lambda: tf.sin(y) * x, lambda: y * x + 1.0)
        return i + 1, bent

    _, y = tf.while_loop(lambda i, _: i < 4, body, [0, x])
    _, z = tf.while_loop(lambda i, _: i < n, lambda i, z: (i + 1, tf.tanh(z * x)), [0, x])
    (first,) = tf.gradients([y, z], x)
    (second,) = tf.gradients(first * first, x)
    tf.identity(first, name="first")
    tf.identity(second, name="second")


def _run():
    with v1.Session() as session:
        return session.run(["first:0", "second:0"], FEED)


@pytest.fixture(scope="module")
def written():
    with tf.Graph().as_default() as graph:
        _loops()
        return graph.as_graph_def(), _run()


def test_no_operation_is_ours_alone(written):
    message, _ = written
    nodes = [*message.node, *(n for f in message.library.function for n in f.node_def)]
    assert {"TensorScatterUpdate", "TensorScatterAdd", "GatherV2"} <= {n.op for n in nodes}
    assert not [n.op for n in nodes if n.op.startswith("Penstock")]


def test_what_is_read_gives_the_same(written):
    """TensorFlow 2.21 loads the message, too, and gives these numbers."""
    message, wanted = written
    with tf.Graph().as_default():
        tf.import_graph_def(message, name="")
        np.testing.assert_allclose(_run(), wanted, rtol=1e-5)
    np.testing.assert_allclose(wanted[0], [1.0679916, 1.8966836, 1.9314551], rtol=1e-5)
    np.testing.assert_allclose(wanted[1], [3.8727486, 10.940678, -10.408916], rtol=1e-5)
