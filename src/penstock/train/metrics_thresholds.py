"""`compat.v1.metrics` of scores in [0, 1] cut at thresholds: counts, precision, recall, areas."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.graph.behavior import control_dependencies
from penstock.ops.array_basics import identity, reshape
from penstock.ops.array_fill import ones_like
from penstock.ops.array_gather import gather
from penstock.ops.array_select import where
from penstock.ops.debug_asserts import assert_greater_equal_v1, assert_less_equal_v1
from penstock.ops.math_arithmetic import add, maximum, minimum, multiply, subtract
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import equal, greater, logical_and, logical_not
from penstock.ops.math_division import div_no_nan, divide
from penstock.ops.math_elementwise import log
from penstock.ops.math_reduce import reduce_min, reduce_sum
from penstock.ops.math_scan import argmax, argmin, cumsum
from penstock.ops.weights_broadcast import broadcast_weights
from penstock.train.metrics_common import (
    EPSILON,
    Collections,
    finish,
    fitted,
    metric,
    metric_variable,
    scope,
)
from penstock.types import dtypes as dt

_KINDS = {"tp": "true_positives", "fn": "false_negatives", "tn": "true_negatives"}
_KINDS["fp"] = "false_positives"
Counts = dict[str, Any]


def _counts(
    labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any, wanted: Sequence[str]
) -> tuple[Counts, Counts]:
    """For each threshold the wanted counts so far, and their updates; float32[thresholds]."""
    predictions = convert_to_tensor(predictions)
    checks = [
        c
        for c in (
            assert_greater_equal_v1(
                predictions, cast(0.0, predictions.dtype), message="predictions must be in [0, 1]"
            ),
            assert_less_equal_v1(
                predictions, cast(1.0, predictions.dtype), message="predictions must be in [0, 1]"
            ),
        )
        if c is not None
    ]
    with control_dependencies(checks):
        labels, predictions, weights = fitted(
            cast(labels, dt.bool_), cast(predictions, dt.float32), weights
        )
    predictions.shape.assert_is_compatible_with(labels.shape)
    above, true, factors = _tables(labels, predictions, thresholds, weights)
    tables = {
        "tp": lambda: logical_and(true, above),
        "fn": lambda: logical_and(true, logical_not(above)),
        "tn": lambda: logical_and(logical_not(true), logical_not(above)),
        "fp": lambda: logical_and(logical_not(true), above),
    }
    values: Counts = {}
    updates: Counts = {}
    for kind in ("tp", "fn", "tn", "fp"):
        if kind in wanted:
            values[kind] = metric_variable([len(thresholds)], dt.float32, _KINDS[kind])
            found = cast(tables[kind](), dt.float32)
            if factors is not None:
                found = multiply(found, factors)
            updates[kind] = values[kind].assign_add(reduce_sum(found, axis=1), read_value=True)
    return values, updates


def _tables(
    labels: Tensor, predictions: Tensor, thresholds: Sequence[float], weights: Any
) -> tuple[Any, Any, Any]:
    """Scores above a threshold, labels and weights: [thresholds or 1, examples]."""
    cuts = convert_to_tensor(np.array(thresholds, np.float32)[:, None])
    above = greater(reshape(predictions, [1, -1]), cuts)
    true = reshape(labels, [1, -1])
    if weights is None:
        return above, true, None
    weights = broadcast_weights(cast(weights, dt.float32), predictions)
    return above, true, reshape(weights, [1, -1])


def _even(num_thresholds: int, last: float = 1.0 + EPSILON) -> list[float]:
    """Thresholds evenly over [0, 1], the ends a little outside."""
    inner = [(i + 1) * 1.0 / (num_thresholds - 1) for i in range(num_thresholds - 2)]
    return [0.0 - EPSILON, *inner, last]


# ---- the area under a curve

_SUMMATIONS = ("trapezoidal", "careful_interpolation", "minoring", "majoring")


@metric
def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> tuple[Any, Any]:
    """The area under the ROC or the precision-recall curve, float32.

    The careful interpolation of the latter is that of Davis and Goadrich, "The Relationship Between
    Precision-Recall and ROC Curves" (2006).

    Args:
      labels: the truth, a tensor cast to bool.
      predictions: scores in [0, 1], a floating tensor of the same shape.
      num_thresholds: points of the curve, at least 2; with 1 there is no area.
      curve: "ROC" or "PR".
      summation_method: "trapezoidal", "careful_interpolation" (for PR; ROC takes the first),
        "minoring" or "majoring".
      thresholds: the points within (0, 1) instead of evenly spaced ones.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR. Expected one of them, got {curve!r}.")
    if summation_method not in _SUMMATIONS:
        raise ValueError(
            f"Invalid summation_method: {summation_method}. Expected one of {_SUMMATIONS}."
        )
    careful = summation_method == "careful_interpolation" and curve == "PR"
    with scope(name, "auc", (labels, predictions, weights)):
        cuts, points = _even(num_thresholds), num_thresholds
        if thresholds is not None:
            cuts = [0.0 - EPSILON, *sorted(thresholds), 1.0 + EPSILON]
            points = len(cuts)
        values, updates = _counts(labels, predictions, cuts, weights, ("tp", "fn", "tn", "fp"))

        def area(counts: Counts, result: str) -> Any:
            if careful:
                return _careful_area(counts["tp"], counts["fp"], counts["fn"], points)
            return _area(counts, curve, summation_method, points, result)

        return finish(
            area(values, "value"),
            area(updates, "update_op"),
            metrics_collections,
            updates_collections,
        )


def _area(counts: Counts, curve: str, method: str, points: int, name: str) -> Any:
    tp, fp, fn = counts["tp"], counts["fp"], counts["fn"]
    small = 1.0e-6
    hits = divide(add(tp, small), add(add(tp, fn), small))
    if curve == "ROC":
        x, y = divide(fp, add(add(fp, counts["tn"]), small)), hits
    else:
        x, y = hits, divide(add(tp, small), add(add(tp, fp), small))
    width = subtract(x[: points - 1], x[1:])
    first, second = y[: points - 1], y[1:]
    if method == "minoring":
        height = minimum(first, second)
    elif method == "majoring":
        height = maximum(first, second)
    else:
        height = divide(add(first, second), 2.0)
    return reduce_sum(multiply(width, height), name=name)


def _careful_area(tp: Any, fp: Any, fn: Any, points: int) -> Any:
    """Between two points of the precision-recall curve counts are interpolated, not rates."""
    tp, fp, fn = convert_to_tensor(tp), convert_to_tensor(fp), convert_to_tensor(fn)
    found = subtract(tp[: points - 1], tp[1:])
    above = add(tp, fp)
    slope = div_no_nan(found, maximum(subtract(above[: points - 1], above[1:]), 0))
    intercept = subtract(tp[1:], multiply(slope, above[1:]))
    quotient = where(
        logical_and(greater(above[: points - 1], 0), greater(above[1:], 0)),
        div_no_nan(above[: points - 1], maximum(above[1:], 0)),
        ones_like(above[1:]),
    )
    parts = multiply(slope, add(found, multiply(intercept, log(quotient))))
    return reduce_sum(div_no_nan(parts, maximum(add(tp[1:], fn[1:]), 0)), name="interpolate_pr_auc")


# ---- one point of a curve


@metric
def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The sensitivity at the threshold whose specificity is nearest to the given one, float32.

    Args:
      labels: the truth, a tensor cast to bool.
      predictions: scores in [0, 1], a floating tensor of the same shape.
      specificity: between 0 and 1.
      num_thresholds: how many thresholds are tried.
    """
    _check_share("specificity", specificity)
    with scope(name, "sensitivity_at_specificity", (predictions, labels, weights)):
        kinds = ("tp", "fn", "tn", "fp")
        values, updates = _counts(labels, predictions, _even(num_thresholds), weights, kinds)

        def at(counts: Counts, result: str) -> Any:
            tp, fn, tn, fp = (convert_to_tensor(counts[k]) for k in kinds)
            all_found = divide(tn, add(add(tn, fp), EPSILON))
            index = cast(argmin(absolute(subtract(all_found, specificity)), 0), dt.int32)
            hits, misses = gather(tp, index), gather(fn, index)
            return divide(hits, add(add(hits, misses), EPSILON), name=result)

        return finish(
            at(values, "value"), at(updates, "update_op"), metrics_collections, updates_collections
        )


@metric
def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The specificity at the threshold whose sensitivity is nearest to the given one, float32.

    Args:
      labels: the truth, a tensor cast to bool.
      predictions: scores in [0, 1], a floating tensor of the same shape.
      sensitivity: between 0 and 1.
      num_thresholds: how many thresholds are tried.
    """
    _check_share("sensitivity", sensitivity)
    with scope(name, "specificity_at_sensitivity", (predictions, labels, weights)):
        kinds = ("tp", "fn", "tn", "fp")
        # Scores of 1 count as found at every threshold here, so that each sensitivity is reached.
        thresholds = _even(num_thresholds, last=1.0 - EPSILON)
        values, updates = _counts(labels, predictions, thresholds, weights, kinds)

        def at(counts: Counts, result: str) -> Any:
            tp, fn, tn, fp = (convert_to_tensor(counts[k]) for k in kinds)
            distance = absolute(subtract(divide(tp, add(add(tp, fn), EPSILON)), sensitivity))
            nearest = cast(equal(distance, reduce_min(distance)), dt.int64)
            index = cast(argmax(cumsum(nearest), 0), dt.int32)  # the last of equally near ones
            rejected, accepted = gather(tn, index), gather(fp, index)
            return divide(rejected, add(add(rejected, accepted), EPSILON), name=result)

        return finish(
            at(values, "value"), at(updates, "update_op"), metrics_collections, updates_collections
        )


def _check_share(name: str, value: float) -> None:
    if value < 0 or value > 1:
        raise ValueError(f"`{name}` must be in the range [0, 1]. Currently, `{name}` is {value}.")


# ---- at each threshold


def _rate(
    arguments: tuple[Any, Any, Sequence[float], Any],
    name: str | None,
    kinds: tuple[str, str],
    default: str,
    collections: tuple[Collections, Collections],
) -> tuple[Any, Any]:
    labels, predictions, thresholds, weights = arguments
    with scope(name, default, (predictions, labels, weights)):
        values, updates = _counts(labels, predictions, thresholds, weights, kinds)
        part, rest = kinds
        result = default.partition("_")[0]

        def rate(counts: Counts, name: str) -> Any:
            return divide(counts[part], add(add(EPSILON, counts[part]), counts[rest]), name=name)

        value = rate(values, f"{result}_value")
        return finish(value, rate(updates, f"{result}_update_op"), *collections)


@metric
def precision_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The precision at each threshold, float32[thresholds].

    Args:
      labels: the truth, a tensor cast to bool.
      predictions: scores in [0, 1], a floating tensor of the same shape.
      thresholds: numbers in [0, 1].
    """
    arguments = (labels, predictions, thresholds, weights)
    collections = (metrics_collections, updates_collections)
    return _rate(arguments, name, ("tp", "fp"), "precision_at_thresholds", collections)


@metric
def recall_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The recall at each threshold, float32[thresholds].

    Args:
      labels: the truth, a tensor cast to bool.
      predictions: scores in [0, 1], a floating tensor of the same shape.
      thresholds: numbers in [0, 1].
    """
    arguments = (labels, predictions, thresholds, weights)
    collections = (metrics_collections, updates_collections)
    return _rate(arguments, name, ("tp", "fn"), "recall_at_thresholds", collections)


def _count_metric(kind: str, what: str) -> Any:
    def counted(
        labels: Any,
        predictions: Any,
        thresholds: Sequence[float],
        weights: Any = None,
        metrics_collections: Collections = None,
        updates_collections: Collections = None,
        name: str | None = None,
    ) -> tuple[Any, Any]:
        with scope(name, _KINDS[kind], (predictions, labels, weights)):
            values, updates = _counts(labels, predictions, thresholds, weights, (kind,))
            value = identity(values[kind])
            return finish(value, updates[kind], metrics_collections, updates_collections)

    counted.__name__ = counted.__qualname__ = f"{_KINDS[kind]}_at_thresholds"
    counted.__doc__ = (
        f"How often {what} at each threshold, float32[thresholds].\n\n"
        "    Args:\n"
        "      labels: the truth, a tensor cast to bool.\n"
        "      predictions: scores in [0, 1], a floating tensor of the same shape.\n"
        "      thresholds: numbers in [0, 1].\n"
    )
    return metric(counted)


true_positives_at_thresholds = _count_metric("tp", "label and prediction are true")
false_negatives_at_thresholds = _count_metric("fn", "the label is true and the prediction is not")
true_negatives_at_thresholds = _count_metric("tn", "neither label nor prediction is true")
false_positives_at_thresholds = _count_metric("fp", "the prediction is true and the label is not")
