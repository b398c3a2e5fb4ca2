"""`compute_gradient`: both Jacobians are right, and a wrong gradient is seen."""

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.core.context import graph_scope
from penstock.graph.graph import Graph
from penstock.testing.gradient_check import max_error

v1 = tf.compat.v1


def test_two_arguments() -> None:
    x = np.array([1.0, 2.0])
    w = np.array([[1.0, -1.0, 2.0], [0.5, 3.0, 1.0]])
    theoretical, numerical = tf.test.compute_gradient(
        lambda a, b: tf.linalg.matmul(a[None], b), [tf.constant(x), tf.constant(w)]
    )
    np.testing.assert_allclose(theoretical[0], w.T)
    np.testing.assert_allclose(theoretical[1], np.kron(x, np.eye(3)))
    assert max_error(theoretical, numerical) < 1e-6


def test_complex_numbers_count_twice() -> None:
    theoretical, numerical = tf.test.compute_gradient(lambda x: x * x, [tf.constant([1 + 2j])])
    assert theoretical[0].shape == (2, 2)
    assert max_error(theoretical, numerical) < 1e-6


def test_a_wrong_gradient_is_seen() -> None:
    @tf.custom_gradient
    def wrong(x: Any) -> Any:
        return x * x, lambda dy: 3.0 * x * dy

    found = tf.test.compute_gradient(wrong, [tf.constant([1.0, 2.0])])
    assert max_error(*found) == pytest.approx(2.0, abs=1e-2)


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
def test_steps_fit_the_dtype(dtype: Any) -> None:
    found = tf.test.compute_gradient(tf.sin, [tf.constant([0.5, 1.0], dtype)])
    assert found[0][0].dtype == dtype.as_numpy_dtype
    assert max_error(*found) < {2: 2e-2, 4: 1e-3, 8: 1e-8}[dtype.size]


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="list or tuple"):
        tf.test.compute_gradient(tf.sin, tf.constant(1.0))
    with pytest.raises(ValueError, match="int32"):
        tf.test.compute_gradient(tf.identity, [1])
    with pytest.raises(ValueError, match="shapes"):
        max_error([np.ones([1])], [np.ones([2])])


def test_no_gradient_is_zero() -> None:
    theoretical, numerical = tf.test.compute_gradient(tf.stop_gradient, [tf.constant([2.0])])
    assert theoretical[0].tolist() == [[0.0]]
    assert numerical[0][0, 0] == pytest.approx(1.0, 1e-3)


def test_graphs() -> None:
    with graph_scope(Graph()) as graph, v1.Session(graph=graph):
        x = tf.constant([1.0, 2.0, 3.0])
        scale = v1.placeholder(tf.float32, [])
        y = (x * x * scale)[:2]
        pair = v1.test.compute_gradient(
            x, [3], y, [2], np.float32([1, 2, 3]), extra_feed_dict={scale: 2.0}
        )
        np.testing.assert_allclose(pair[0], [[4, 0], [0, 8], [0, 0]])
        np.testing.assert_allclose(pair[1], pair[0], atol=2e-2)
        pairs = v1.test.compute_gradient([x], [[3]], y, [2], extra_feed_dict={scale: 1.0})
        assert len(pairs) == 1
        assert pairs[0][0].shape == (3, 2)
        error = v1.test.compute_gradient_error(x, [3], y, [2], extra_feed_dict={scale: 1.0})
        assert error < 1e-2


def test_graphs_need_a_session() -> None:
    with graph_scope(Graph()):
        x = tf.constant([1.0])
        with pytest.raises(ValueError, match="default session"):
            v1.test.compute_gradient(x, [1], x, [1])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_dtypes_have_a_step_of_their_own(dtype: str) -> None:
    found = tf.test.compute_gradient(lambda x: x * x, [tf.constant([1.0, 2.0], dtype)])
    assert found[0][0].dtype == found[1][0].dtype == tf.as_dtype(dtype).as_numpy_dtype
    assert found[0][0].tolist() == found[1][0].tolist() == [[2.0, 0.0], [0.0, 4.0]]
