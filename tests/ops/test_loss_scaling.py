"""Averages of losses over replicas, and `smart_cond`."""

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.ops import nn_loss_scaling

smart_cond = tf.__internal__.smart_cond.smart_cond


@pytest.fixture
def four_replicas() -> Any:
    before = nn_loss_scaling._count
    nn_loss_scaling.count_replicas_by(lambda: 4)
    yield
    nn_loss_scaling.count_replicas_by(before)


# What TensorFlow 2.21 gives for the same arguments.
@pytest.mark.parametrize(
    ("arguments", "wanted", "dtype"),
    [
        (([1.0, 2.0, 3.0],), 2.0, tf.float32),
        (([1.0, 2.0, 3.0], [1.0, 0.0, 2.0], 6), 7 / 6, tf.float32),
        (([[1.0, 2.0], [3.0, 4.0]],), 5.0, tf.float32),
        (([[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0]), 8.5, tf.float32),
        (([1, 2],), 1.5, tf.float64),
        (([1, 2], [1.0, 2.0]), 2.5, tf.float64),
        (([1, 2], [0.1, 1.7]), 1.5, tf.float64),  # 0 and 3 of 2
        (([1.0, 2.0], [[1.0], [2.0]]), 2.5, tf.float32),
    ],
)
def test_average_loss(arguments: Any, wanted: float, dtype: Any) -> None:
    got = tf.nn.compute_average_loss(*arguments)
    assert got.dtype is dtype
    assert got.numpy() == pytest.approx(wanted)
    in_graph = tf.function(lambda x: tf.nn.compute_average_loss(x, *arguments[1:]))
    signature = tf.TensorSpec(None, tf.constant(arguments[0]).dtype)
    assert in_graph(tf.constant(arguments[0])).numpy() == pytest.approx(wanted)
    if len(arguments) == 1:
        unknown = tf.function(tf.nn.compute_average_loss, input_signature=[signature])
        assert unknown(tf.constant(arguments[0])).numpy() == pytest.approx(wanted)


def test_average_loss_of_unknown_ranks() -> None:
    """Weights get or lose an axis when it runs."""
    average = tf.function(tf.nn.compute_average_loss, input_signature=[tf.TensorSpec(None)] * 2)
    losses = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert average(losses, tf.constant([1.0, 2.0])).numpy() == 8.5
    assert average(losses, tf.constant(2.0)).numpy() == 10.0
    assert average(losses[0], tf.constant([[1.0], [2.0]])).numpy() == 2.5
    with pytest.raises(tf.errors.InvalidArgumentError, match="dimension of 1"):
        average(losses[0], tf.constant([[1.0, 2.0]]))


def test_average_loss_refuses_bools() -> None:
    for weights in (None, [1.0, 2.0]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="bool"):
            tf.nn.compute_average_loss([True, False], weights)
        with tf.Graph().as_default(), pytest.raises(TypeError, match="bool"):
            tf.nn.compute_average_loss([True, False], weights)


def test_replicas_share_the_loss(four_replicas: Any) -> None:
    assert tf.nn.compute_average_loss([1.0, 2.0, 3.0]).numpy() == 0.5
    assert tf.nn.compute_average_loss([1.0, 2.0, 3.0], global_batch_size=6).numpy() == 1.0
    assert tf.nn.scale_regularization_loss([1.0, 3.0]).numpy() == 1.0


def test_regularization_loss() -> None:
    assert tf.nn.scale_regularization_loss([1.0, 2.0]).numpy() == 3.0
    assert tf.nn.scale_regularization_loss(np.float64(3)).dtype is tf.float64


@pytest.mark.parametrize(
    ("losses", "size", "kind", "text"),
    [
        (1.0, None, ValueError, "Expected a tensor with at least rank 1"),
        ([1.0], -1, tf.errors.InvalidArgumentError, "global_batch_size must be non-negative"),
        ([1.0], 1.5, TypeError, "global_batch_size must be an integer"),
        ([1.0], [1], ValueError, "global_batch_size must be scalar"),
    ],
)
def test_refusals(losses: Any, size: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        tf.nn.compute_average_loss(losses, global_batch_size=size)


def test_smart_cond_calls_one_function_where_the_answer_is_known() -> None:
    def never() -> int:
        raise AssertionError("the other branch ran")

    assert smart_cond(True, lambda: 1, never) == 1
    assert smart_cond(0, never, lambda: 2) == 2
    assert smart_cond(np.bool_(False), never, lambda: 2) == 2
    assert smart_cond(tf.constant(True), lambda: 1, never) == 1
    assert smart_cond(tf.Variable(False), never, lambda: 2) == 2


def test_smart_cond_builds_a_conditional_where_it_is_not() -> None:
    @tf.function
    def choose(pred: Any) -> Any:
        known = smart_cond(tf.constant(True), lambda: tf.constant(10), lambda: tf.constant(20))
        return known + smart_cond(pred, lambda: tf.constant(1), lambda: tf.constant(2))

    assert choose(tf.constant(True)).numpy() == 11
    assert choose(tf.constant(False)).numpy() == 12
    graph = choose.get_concrete_function(tf.TensorSpec([], tf.bool)).graph
    assert [op.type for op in graph.get_operations()].count("StatelessIf") == 1


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((True, 1, 2), "`true_fn` must be callable. Received 1"),
        ((True, lambda: 1), "`false_fn` must be callable. Received None"),
        ((2, lambda: 1, lambda: 2), "Received: pred=2 of type int"),
        (("a", lambda: 1, lambda: 2), "Received: pred=a of type str"),
    ],
)
def test_smart_cond_refusals(arguments: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        smart_cond(*arguments)
