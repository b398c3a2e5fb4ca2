"""Losses of the first generation against their formulas in NumPy."""

import numpy as np
import pytest

import penstock as tf

losses = tf.compat.v1.losses
REDUCTIONS = losses.Reduction
RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 3)).astype(np.float32)
B = RNG.normal(size=(4, 3)).astype(np.float32)
Y = (A > 0).astype(np.float32)
P = 1 / (1 + np.exp(-B))


def _softmax_entropy(labels, logits):
    logits = logits.astype(np.float64)
    return -(labels * (logits - np.log(np.exp(logits).sum(1, keepdims=True)))).sum(1)


ELEMENTS = {
    "absolute_difference": (A, B, np.abs(A - B)),
    "mean_squared_error": (A, B, (A - B) ** 2),
    "huber_loss": (A, B, np.where(np.abs(A - B) < 1, 0.5 * (A - B) ** 2, np.abs(A - B) - 0.5)),
    "hinge_loss": (Y, B, np.maximum(0, 1 - (2 * Y - 1) * B)),
    "log_loss": (Y, P, -Y * np.log(P + 1e-7) - (1 - Y) * np.log(1 - P + 1e-7)),
    "sigmoid_cross_entropy": (Y, B, np.log1p(np.exp(B)) - Y * B),
    "softmax_cross_entropy": (Y, B, _softmax_entropy(Y, B)),
}


def _reduced(elements, weights, reduction):
    weights = np.broadcast_to(weights, elements.shape)
    total = (elements * weights).sum()
    if reduction == REDUCTIONS.NONE:
        return elements * weights
    if reduction == REDUCTIONS.SUM:
        return total
    if reduction == REDUCTIONS.SUM_OVER_BATCH_SIZE:
        return total / elements.size
    count = weights.sum() if reduction == REDUCTIONS.MEAN else (weights != 0).sum()
    return total / count if count else 0.0


@pytest.mark.parametrize("reduction", sorted(set(REDUCTIONS.all())))
@pytest.mark.parametrize("name", sorted(ELEMENTS))
def test_weights_and_reductions(name, reduction):
    labels, predictions, elements = ELEMENTS[name]
    rows = np.array([1.0, 0.0, 2.0, 3.0], np.float32)
    by_row = rows if elements.ndim == 1 else rows[:, None]
    for weights in (1.0, 2.0, 0.0, by_row):
        got = getattr(losses, name)(labels, predictions, weights=weights, reduction=reduction)
        np.testing.assert_allclose(got, _reduced(elements, weights, reduction), rtol=2e-5)


def test_sparse_labels_take_a_last_dimension_of_one():
    expected = _softmax_entropy(np.eye(3)[[1, 0, 2, 1]], B).mean()
    for labels in ([1, 0, 2, 1], [[1], [0], [2], [1]]):
        got = losses.sparse_softmax_cross_entropy(labels, B, weights=[[1.0]] * 4)
        np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_label_smoothing():
    smooth = Y * 0.9 + 0.05
    expected = (np.log1p(np.exp(B)) - smooth * B).mean()
    np.testing.assert_allclose(
        losses.sigmoid_cross_entropy(Y, B, label_smoothing=0.1), expected, rtol=1e-5
    )
    expected = _softmax_entropy(Y * 0.8 + 0.2 / 3, B).mean()
    np.testing.assert_allclose(
        losses.softmax_cross_entropy(Y, B, label_smoothing=0.2), expected, rtol=1e-5
    )


def test_cosine_distance_names_its_axis():
    unit_a, unit_b = (m / np.linalg.norm(m, axis=1, keepdims=True) for m in (A, B))
    expected = (1 - (unit_a * unit_b).sum(1)).mean()
    for axis in ({"axis": 1}, {"dim": 1}):
        np.testing.assert_allclose(
            losses.cosine_distance(unit_a, unit_b, **axis), expected, rtol=1e-5
        )
    with pytest.raises(ValueError, match="axis"):
        losses.cosine_distance(A, B)


@pytest.mark.parametrize("weights", [1.0, 2.0, [[1.0], [0.0], [2.0], [3.0]]])
def test_pairs_within_a_row(weights):
    delta = (B - A).astype(np.float64)
    by_row = np.broadcast_to(np.asarray(weights, np.float64), (4, 1))
    expected = 0.0
    for row, weight in zip(delta, by_row[:, 0], strict=True):
        pairs = [(row[i] - row[j]) ** 2 for i in range(3) for j in range(3) if i != j]
        expected += weight * np.mean(pairs) if weight else 0.0
    np.testing.assert_allclose(
        losses.mean_pairwise_squared_error(A, B, weights), expected, rtol=1e-5
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: losses.mean_squared_error(None, B), "labels"),
        (lambda: losses.log_loss(Y, None), "predictions"),
        (lambda: losses.mean_squared_error(A, B[:2]), "incompatible|not compatible"),
        (lambda: losses.mean_squared_error(A, B, weights=[1.0, 2.0]), "broadcast"),
        (lambda: losses.mean_squared_error(A, B, weights=None), "None"),
        (lambda: losses.mean_squared_error(A, B, reduction="mean"), "Invalid Reduction Key"),
    ],
)
def test_wrong_arguments(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_losses_gather_in_a_collection():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        first = losses.mean_squared_error(A, B)
        second = losses.log_loss(Y, P, scope="heads/log")
        losses.absolute_difference(A, B, loss_collection=None)
        penalty = tf.constant(3.0)
        tf.compat.v1.add_to_collection("regularization_losses", penalty)
        assert losses.get_losses() == [first, second]
        assert losses.get_losses("heads") == [second]
        assert first.name == "mean_squared_error/value:0"
        total, plain, parts = session.run(
            [losses.get_total_loss(), losses.get_total_loss(False), [first, second]]
        )
        np.testing.assert_allclose(plain, sum(parts), rtol=1e-6)
        np.testing.assert_allclose(total, sum(parts) + 3, rtol=1e-6)


def test_unknown_shapes_are_checked_when_they_run():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32)
        weights = tf.compat.v1.placeholder(tf.float32)
        loss = losses.absolute_difference(x, A, weights)
        (gradient,) = tf.compat.v1.gradients(loss, x)
        rows = [[1.0], [0.0], [2.0], [3.0]]
        got, slope = session.run([loss, gradient], {x: B, weights: rows})
        np.testing.assert_allclose(got, (np.abs(A - B) * rows).sum() / 9, rtol=1e-5)
        np.testing.assert_allclose(slope, np.sign(B - A) * rows / 9, rtol=1e-5)
        with pytest.raises(tf.errors.InvalidArgumentError, match="broadcast"):
            session.run(loss, {x: B, weights: [[1.0], [2.0]]})


@pytest.mark.parametrize("reduction", ["weighted_mean", "weighted_sum_over_batch_size"])
def test_means_are_named_value(reduction):
    with tf.Graph().as_default():
        loss = tf.compat.v1.losses.absolute_difference([1.0], [2.0], reduction=reduction)
    assert loss.name == "absolute_difference/value:0"


def test_the_loss_of_pairs_is_named_as_in_tensorflow():
    with tf.Graph().as_default():
        loss = tf.compat.v1.losses.mean_pairwise_squared_error([[1.0, 2.0]], [[0.0, 1.0]])
    assert loss.name == "mean_pairwise_squared_error/value_2:0"
