"""Metrics of the first generation against their definitions in NumPy, batch by batch."""

import numpy as np
import pytest

import penstock as tf

metrics = tf.compat.v1.metrics
LABELS = np.array([[1, 0, 1, 1, 0, 0], [0, 0, 1, 0, 1, 1]])
GUESSES = np.array([[1, 1, 0, 1, 0, 1], [0, 1, 1, 0, 0, 1]])
SCORES = np.array([[0.9, 0.6, 0.3, 0.8, 0.1, 0.55], [0.2, 0.7, 0.65, 0.35, 0.45, 0.95]], np.float32)
WEIGHTS = np.array([1.0, 0.0, 2.0, 1.5, 0.5, 3.0], np.float32)


def run(build, *batches):
    """The value after each batch, and whether the update gave the same."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        holders = [tf.compat.v1.placeholder(tf.as_dtype(b[0].dtype), b[0].shape) for b in batches]
        value, update = build(*holders)
        session.run(tf.compat.v1.local_variables_initializer())
        seen = []
        for rows in zip(*batches, strict=True):
            updated = session.run(update, dict(zip(holders, rows, strict=True)))
            seen.append(session.run(value))
            if np.shape(updated) == np.shape(seen[-1]):
                np.testing.assert_allclose(updated, seen[-1], rtol=1e-6)
        return seen


def _mean(values, weights=None):
    return np.average(values, weights=weights)


MEANS = {
    "accuracy": lambda y, p: (y == p).astype(float),
    "mean_absolute_error": lambda y, p: np.abs(y - p),
    "mean_squared_error": lambda y, p: (y - p) ** 2.0,
}


@pytest.mark.parametrize("weights", [None, WEIGHTS, WEIGHTS[:, None]])
@pytest.mark.parametrize("name", sorted(MEANS))
def test_means_of_comparisons(name, weights):
    seen = run(lambda y, p: getattr(metrics, name)(y, p, weights), LABELS, GUESSES)
    per_element = MEANS[name](LABELS, GUESSES)
    factors = None if weights is None else np.stack([WEIGHTS, WEIGHTS])
    assert seen[0] == pytest.approx(_mean(per_element[0], None if factors is None else factors[0]))
    assert seen[1] == pytest.approx(_mean(per_element, factors))


def test_other_means():
    rmse = run(metrics.root_mean_squared_error, SCORES, LABELS)
    assert rmse[1] == pytest.approx(np.sqrt(((SCORES - LABELS) ** 2).mean()))
    below = run(lambda v: metrics.percentage_below(v, 0.5), SCORES)
    assert below[1] == pytest.approx((SCORES < 0.5).mean())
    each = run(lambda v: metrics.mean_tensor(v), SCORES)
    np.testing.assert_allclose(each[1], SCORES.mean(0), rtol=1e-6)
    normalizer = [1.0, 0.0, 2.0, 4.0, 1.0, 1.0]
    relative = run(lambda y, p: metrics.mean_relative_error(y, p, normalizer), LABELS, GUESSES)
    safe = np.array([1.0, np.inf, 2.0, 4.0, 1.0, 1.0])
    assert relative[0] == pytest.approx((np.abs(LABELS[0] - GUESSES[0]) / safe).mean())
    cosine = run(
        lambda a, b: metrics.mean_cosine_distance(a, b, 1), SCORES[:, :, None], SCORES[:, :, None]
    )
    assert cosine[1] == pytest.approx(1 - (SCORES**2).mean(), rel=1e-5)


def _table(y, p):
    return {
        "true_positives": (y & p).sum(),
        "false_positives": (~y & p).sum(),
        "true_negatives": (~y & ~p).sum(),
        "false_negatives": (y & ~p).sum(),
    }


@pytest.mark.parametrize("name", sorted(_table(LABELS > 0, LABELS > 0)))
def test_counts(name):
    seen = run(getattr(metrics, name), LABELS, GUESSES)
    assert seen[1] == _table(LABELS > 0, GUESSES > 0)[name]
    at = run(
        lambda y, s: getattr(metrics, f"{name}_at_thresholds")(y, s, [0.25, 0.5]), LABELS, SCORES
    )
    for i, threshold in enumerate((0.25, 0.5)):
        assert at[1][i] == _table(LABELS > 0, threshold < SCORES)[name]


def test_precision_and_recall():
    t = _table(LABELS > 0, GUESSES > 0)
    hits = t["true_positives"]
    precision = run(metrics.precision, LABELS, GUESSES)
    assert precision[1] == pytest.approx(hits / (hits + t["false_positives"]))
    recall = run(metrics.recall, LABELS, GUESSES)
    assert recall[1] == pytest.approx(hits / (hits + t["false_negatives"]))
    nothing = run(metrics.precision, np.zeros((1, 3), int), np.zeros((1, 3), int))
    assert nothing == [0.0]


def _roc_area(y, s):
    """The probability that a positive example has the higher score, ties half."""
    positive, negative = s[y == 1], s[y == 0]
    above = (positive[:, None] > negative).sum() + 0.5 * (positive[:, None] == negative).sum()
    return above / (len(positive) * len(negative))


@pytest.mark.parametrize("method", ["trapezoidal", "minoring", "majoring"])
@pytest.mark.parametrize("curve", ["ROC", "PR"])
def test_one_threshold_has_no_area(curve, method):
    seen = run(
        lambda y, s: metrics.auc(y, s, num_thresholds=1, curve=curve, summation_method=method),
        LABELS,
        SCORES,
    )
    assert np.all(np.asarray(seen) == 0)


def test_area_under_the_roc_curve():
    seen = run(lambda y, s: metrics.auc(y, s, num_thresholds=400), LABELS, SCORES)
    assert seen[0] == pytest.approx(_roc_area(LABELS[0], SCORES[0]), abs=1e-4)
    assert seen[1] == pytest.approx(_roc_area(LABELS.ravel(), SCORES.ravel()), abs=1e-4)


def test_area_bounds_enclose_the_trapezoids():
    areas = {
        method: run(
            lambda y, s, m=method: metrics.auc(y, s, curve="PR", summation_method=m), LABELS, SCORES
        )[1]
        for method in ("minoring", "trapezoidal", "careful_interpolation", "majoring")
    }
    assert areas["minoring"] <= areas["trapezoidal"] <= areas["majoring"]
    assert areas["minoring"] <= areas["careful_interpolation"] <= areas["majoring"]


def test_points_of_the_curve():
    thresholds = np.array([-1e-7, *[(i + 1) / 199 for i in range(198)], 1 + 1e-7])
    tables = [_table(LABELS.ravel() > 0, SCORES.ravel() > t) for t in thresholds]
    sensitivity = [t["true_positives"] / 6 for t in tables]
    specificity = [t["true_negatives"] / 6 for t in tables]
    seen = run(lambda y, s: metrics.sensitivity_at_specificity(y, s, 0.5), LABELS, SCORES)
    nearest = int(np.argmin(np.abs(np.array(specificity) - 0.5)))
    assert seen[1] == pytest.approx(sensitivity[nearest], rel=1e-5)
    seen = run(lambda y, s: metrics.specificity_at_sensitivity(y, s, 0.5), LABELS, SCORES)
    distance = np.abs(np.array(sensitivity) - 0.5)
    nearest = int(np.flatnonzero(distance == distance.min())[-1])
    assert seen[1] == pytest.approx(specificity[nearest], rel=1e-5)


CLASS_SCORES = np.array(
    [[[0.1, 0.6, 0.3], [0.5, 0.2, 0.3]], [[0.2, 0.3, 0.5], [0.7, 0.1, 0.2]]], np.float32
)
CLASSES = np.array([[[1, 2], [2, 2]], [[0, 1], [0, 2]]])


@pytest.mark.parametrize("class_id", [None, 2])
@pytest.mark.parametrize("name", ["recall_at_k", "precision_at_k"])
def test_the_k_best_classes(name, class_id):
    seen = run(lambda y, s: getattr(metrics, name)(y, s, 2, class_id), CLASSES, CLASS_SCORES)
    hits = others = 0
    for labels, scores in zip(CLASSES.reshape(-1, 2), CLASS_SCORES.reshape(-1, 3), strict=True):
        best, wanted = set(np.argsort(-scores)[:2].tolist()), set(labels.tolist())
        keep = {class_id} if class_id is not None else {0, 1, 2}
        hits += len(best & wanted & keep)
        others += len(((wanted - best) if name == "recall_at_k" else (best - wanted)) & keep)
    assert seen[1] == pytest.approx(hits / (hits + others))


def test_sparse_labels_are_sets_too():
    def build(scores):
        labels = tf.SparseTensor(
            tf.constant([[0, 0], [0, 1], [1, 0]], tf.int64),
            tf.constant([1, 2, 0], tf.int64),
            tf.constant([2, 2], tf.int64),
        )
        return metrics.recall_at_k(labels, scores, 1)

    assert run(build, CLASS_SCORES[:1])[0] == pytest.approx(2 / 3)


def test_average_precision():
    seen = run(
        lambda y, s: metrics.average_precision_at_k(y, s, 2), CLASSES[:1, :1], CLASS_SCORES[:1, :1]
    )
    assert seen[0] == pytest.approx(1.0)  # the best two are the labels
    one_label = np.array([[[2]]])
    seen = run(
        lambda y, s: metrics.average_precision_at_k(y, s, 2), one_label, CLASS_SCORES[:1, :1]
    )
    assert seen[0] == pytest.approx(0.5)  # found at the second rank


@pytest.mark.parametrize(
    ("labels", "k", "expected"),
    [
        ([3, 9], 2, 1.0),  # there is no class 9: it is no label that could have been found
        ([-1, 2], 3, 1 / 3),
        ([1, 1], 2, 0.25),  # as often as it occurs
        ([9, -1], 2, np.nan),
    ],
)
def test_average_precision_counts_labels_that_are_classes(labels, k, expected):
    scores = np.array([[[0.1, 0.3, 0.2, 0.4]]], np.float32)
    seen = run(
        lambda y, s: metrics.average_precision_at_k(y, s, k), np.array([[labels]], np.int64), scores
    )
    assert seen[0] == pytest.approx(expected, nan_ok=True)


def test_a_score_of_1_is_found_at_every_threshold_of_specificity_at_sensitivity():
    labels, scores = np.array([[1, 0]]), np.array([[1.0, 1.0]], np.float32)
    for metric, last in (("specificity_at_sensitivity", 1.0), ("sensitivity_at_specificity", 0.0)):
        build = getattr(metrics, metric)
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            update = build(tf.constant(labels[0]), tf.constant(scores[0]), 0.5, num_thresholds=3)[1]
            session.run(tf.compat.v1.local_variables_initializer())
            session.run(update)
            hits = session.run(tf.compat.v1.local_variables()[0])
        assert hits.tolist() == [1.0, 1.0, last]


def test_predictions_of_accuracy_by_class_are_cut_to_integers():
    labels, guesses = np.array([[1, 0, 1]]), np.array([[1.5, 0.9, 0.2]], np.float32)
    seen = run(lambda y, p: metrics.mean_per_class_accuracy(y, p, 2), labels, guesses)
    assert seen[0] == pytest.approx((1 + 0.5) / 2)


def test_intersection_over_union_and_accuracy_by_class():
    labels, guesses = np.array([[0, 1, 1, 2]]), np.array([[0, 1, 2, 2]])
    seen = run(lambda y, p: metrics.mean_iou(y, p, 4), labels, guesses)
    assert seen[0] == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)  # class 3 does not occur
    seen = run(lambda y, p: metrics.mean_per_class_accuracy(y, p, 4), labels, guesses)
    assert seen[0] == pytest.approx((1 + 0.5 + 1 + 0) / 4)


def test_variables_names_and_collections():
    with tf.Graph().as_default() as graph:
        value, update = metrics.accuracy(
            tf.constant([1]), tf.constant([1]), None, ["values"], ["updates"], "acc"
        )
        assert (value.name, update.name) == ("acc/value:0", "acc/update_op:0")
        assert graph.get_collection("values") == [value]
        assert graph.get_collection("updates") == [update]
        names = [v.name for v in tf.compat.v1.get_collection("metric_variables")]
        assert names == ["acc/total:0", "acc/count:0"]
        assert [v.name for v in tf.compat.v1.local_variables()] == names
        assert not tf.compat.v1.global_variables()


def test_wrong_use():
    with pytest.raises(RuntimeError, match="eager"):
        metrics.mean([1.0])
    with tf.Graph().as_default():
        one, two = tf.constant([0.5]), tf.constant([0.5, 0.5])
        for call in (
            lambda: metrics.mean_squared_error(one, two),
            lambda: metrics.auc(one, one, curve="ROC2"),
            lambda: metrics.auc(one, one, summation_method="boxes"),
            lambda: metrics.sensitivity_at_specificity(one, one, 1.5),
            lambda: metrics.mean(two, [1.0, 2.0, 3.0]),
        ):
            with pytest.raises(ValueError):
                call()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[0, 1\]"):
        run(metrics.auc, LABELS, SCORES * 9)


def test_confusion_matrix():
    table = tf.math.confusion_matrix([1, 2, 2], [1, 2, 1], weights=[1, 2, 3], dtype=tf.float32)
    assert table.numpy().tolist() == [[0, 0, 0], [0, 1, 0], [0, 3, 2]]
    assert tf.math.confusion_matrix([[1], [0]], [1, 0], 3).shape == (3, 3)
    for labels, guesses, count in (([-1], [0], None), ([0], [-1], None), ([3], [0], 3)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.math.confusion_matrix(labels, guesses, count)
