"""`compat.v1.metrics`: means of values and of comparisons, counts, precision and recall."""

from typing import Any

from penstock.core.composite import IndexedSlices
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.graph.behavior import control_dependencies
from penstock.ops.array_bands import tensor_diag_part
from penstock.ops.array_basics import identity, reshape
from penstock.ops.array_fill import ones_like, zeros_like
from penstock.ops.array_select import where_v1 as where
from penstock.ops.array_shape import size
from penstock.ops.math_arithmetic import add, multiply, squared_difference, subtract
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import equal, greater, less, logical_and, not_equal
from penstock.ops.math_confusion import confusion_matrix
from penstock.ops.math_division import div_no_nan, divide
from penstock.ops.math_elementwise import sqrt
from penstock.ops.math_reduce import reduce_mean, reduce_sum
from penstock.ops.weights_broadcast import broadcast_weights, remove_squeezable_dimensions
from penstock.train.metrics_common import (
    Collections,
    finish,
    fit_weights,
    fitted,
    metric,
    metric_variable,
    ratio,
    scope,
)
from penstock.types import dtypes as dt


@metric
def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The weighted mean of all values so far, float32.

    Args:
      values: tensor of any real dtype.
    """
    with scope(name, "mean", (values, weights)):
        values = cast(values, dt.float32)
        total = metric_variable([], dt.float32, "total")
        count = metric_variable([], dt.float32, "count")
        if weights is None:
            number = cast(size(values), dt.float32)
        else:
            weights = fit_weights(weights, values)
            weights = broadcast_weights(cast(weights, dt.float32), values)
            values = multiply(values, weights)
            number = reduce_sum(weights)
        new_total = total.assign_add(reduce_sum(values), read_value=True)
        with control_dependencies([values]):
            new_count = count.assign_add(number, read_value=True)
        return finish(
            ratio(total, count, "value"),
            ratio(new_total, new_count, "update_op"),
            metrics_collections,
            updates_collections,
        )


@metric
def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The weighted mean of each element over the batches, float32 of the shape of `values`.

    Args:
      values: tensor of any real dtype and of known shape.
    """
    with scope(name, "mean", (values, weights)):
        values = cast(values, dt.float32)
        total = metric_variable(values.shape, dt.float32, "total_tensor")
        count = metric_variable(values.shape, dt.float32, "count_tensor")
        number = ones_like(values)
        if weights is not None:
            weights = fit_weights(weights, values)
            weights = broadcast_weights(cast(weights, dt.float32), values)
            values = multiply(values, weights)
            number = multiply(number, weights)
        new_total = total.assign_add(values, read_value=True)
        with control_dependencies([values]):
            new_count = count.assign_add(number, read_value=True)
        return finish(
            ratio(total, count, "value"),
            ratio(new_total, new_count, "update_op"),
            metrics_collections,
            updates_collections,
        )


@metric
def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """How often predictions equal labels, float32.

    Args:
      labels: the truth, a tensor of any dtype.
      predictions: a tensor of the same shape, cast to its dtype.
    """
    predictions, labels, weights = _matched(predictions, labels, weights)
    if labels.dtype != predictions.dtype:
        predictions = cast(predictions, labels.dtype)
    correct = cast(equal(predictions, labels), dt.float32)
    return mean(correct, weights, metrics_collections, updates_collections, name or "accuracy")  # type: ignore[no-any-return]


def _matched(predictions: Any, labels: Any, weights: Any) -> tuple[Any, Any, Any]:
    labels, predictions, weights = fitted(labels, predictions, weights)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return predictions, labels, weights


def _floats(labels: Any, predictions: Any, weights: Any) -> tuple[Any, Any, Any]:
    return _matched(cast(predictions, dt.float32), cast(labels, dt.float32), weights)


@metric
def mean_absolute_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The mean absolute difference, float32.

    Args:
      labels: the truth, a tensor of any real dtype.
      predictions: a tensor of the same shape.
    """
    predictions, labels, weights = _floats(labels, predictions, weights)
    errors = absolute(subtract(predictions, labels))
    name = name or "mean_absolute_error"
    return mean(errors, weights, metrics_collections, updates_collections, name)  # type: ignore[no-any-return]


@metric
def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The mean squared difference, float32.

    Args:
      labels: the truth, a tensor of any real dtype.
      predictions: a tensor of the same shape.
    """
    predictions, labels, weights = _floats(labels, predictions, weights)
    errors = squared_difference(labels, predictions)
    name = name or "mean_squared_error"
    return mean(errors, weights, metrics_collections, updates_collections, name)  # type: ignore[no-any-return]


@metric
def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The root of the mean squared difference, float32.

    Args:
      labels: the truth, a tensor of any real dtype.
      predictions: a tensor of the same shape.
    """
    predictions, labels, weights = _floats(labels, predictions, weights)
    value, update = mean_squared_error(
        labels, predictions, weights, None, None, name or "root_mean_squared_error"
    )
    return finish(sqrt(value), sqrt(update), metrics_collections, updates_collections)


@metric
def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The mean of absolute differences over a normalizer, 0 where that is 0; float32.

    Args:
      labels: the truth, a tensor of any real dtype.
      predictions: a tensor of the same shape.
      normalizer: a tensor of the same shape.
    """
    predictions, labels, weights = _floats(labels, predictions, weights)
    predictions, normalizer = remove_squeezable_dimensions(
        predictions, cast(normalizer, dt.float32)
    )
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    errors = where(
        equal(normalizer, 0.0),
        zeros_like(labels),
        div_no_nan(absolute(subtract(labels, predictions)), normalizer),
    )
    name = name or "mean_relative_error"
    return mean(errors, weights, metrics_collections, updates_collections, name)  # type: ignore[no-any-return]


@metric
def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """One minus the mean of the products of unit vectors along `dim`, float32.

    Args:
      labels: the truth, unit vectors along `dim`.
      predictions: a tensor of the same shape.
      dim: the axis of the vectors.
    """
    predictions, labels, weights = _floats(labels, predictions, weights)
    products = reduce_sum(multiply(predictions, labels), axis=[dim], keepdims=True)
    value, update = mean(products, weights, None, None, name or "mean_cosine_distance")
    return finish(
        subtract(1.0, value), subtract(1.0, update), metrics_collections, updates_collections
    )


@metric
def percentage_below(
    values: Any,
    threshold: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The share of values below a threshold, float32.

    Args:
      values: tensor of any real dtype.
      threshold: a scalar.
    """
    below = cast(less(values, threshold), dt.float32)
    name = name or "percentage_below_threshold"
    return mean(below, weights, metrics_collections, updates_collections, name)  # type: ignore[no-any-return]


# ---- over classes


@metric
def mean_per_class_accuracy(
    labels: Any,
    predictions: Any,
    num_classes: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The mean over classes of how often an example of the class is predicted right; float32.

    The update gives the accuracy of each class, float32[num_classes].

    Args:
      labels: the truth, class numbers of any shape.
      predictions: class numbers of the same shape.
      num_classes: the number of classes.
    """
    with scope(name, "mean_accuracy", (predictions, labels, weights)):
        labels = _flat(cast(labels, dt.int64))
        predictions = _flat(cast(predictions, dt.int64))
        predictions.shape.assert_is_compatible_with(labels.shape)
        total = metric_variable([num_classes], dt.float32, "total")
        count = metric_variable([num_classes], dt.float32, "count")
        correct = cast(equal(predictions, labels), dt.float32)
        number = ones_like(correct)
        if weights is not None:
            weights = _flat(cast(weights, dt.float32))
            correct, number = multiply(correct, weights), multiply(number, weights)
        new_total = total.scatter_add(IndexedSlices(number, labels))
        new_count = count.scatter_add(IndexedSlices(correct, labels))
        return finish(
            reduce_mean(div_no_nan(count, total), name="mean_accuracy"),
            div_no_nan(new_count, new_total, name="update_op"),
            metrics_collections,
            updates_collections,
        )


def _flat(tensor: Tensor) -> Any:
    return tensor if tensor.dims is not None and len(tensor.dims) <= 1 else reshape(tensor, [-1])


@metric
def mean_iou(
    labels: Any,
    predictions: Any,
    num_classes: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The mean over the classes that occur of intersection over union; float32.

    The update gives the confusion matrix so far, float64[num_classes, num_classes].

    Args:
      labels: the truth, class numbers of any shape.
      predictions: class numbers of the same shape.
      num_classes: the number of classes.
    """
    with scope(name, "mean_iou", (predictions, labels, weights)):
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        table = metric_variable([num_classes, num_classes], dt.float64, "total_confusion_matrix")
        flat = [_flat(cast(t, dt.int64)) for t in (labels, predictions)]
        weights = None if weights is None else _flat(convert_to_tensor(weights))
        batch = confusion_matrix(flat[0], flat[1], num_classes, weights, dt.float64)
        update = table.assign_add(batch, read_value=True)
        return finish(_mean_iou(table), update, metrics_collections, updates_collections)


def _mean_iou(table: Any) -> Any:
    by_row = cast(reduce_sum(table, axis=0), dt.float32)
    by_column = cast(reduce_sum(table, axis=1), dt.float32)
    both = cast(tensor_diag_part(table), dt.float32)
    either = subtract(add(by_row, by_column), both)
    occurring = reduce_sum(cast(not_equal(either, 0), dt.float32))
    shares = divide(both, where(greater(either, 0), either, ones_like(either)))
    total = reduce_sum(shares, name="mean_iou")
    return where(greater(occurring, 0), divide(total, occurring), 0.0)


# ---- counts


def _count(values: Any, weights: Any) -> tuple[Any, Any]:
    """The weighted number of true values so far, and its update; no collections."""
    count = metric_variable([], dt.float32, "count")
    values = cast(values, dt.float32)
    if weights is not None:
        weights = broadcast_weights(cast(weights, dt.float32), values)
        values = multiply(values, weights)
    value = identity(count)
    return value, count.assign_add(reduce_sum(values), read_value=True)


def _counts(
    labels: Any,
    predictions: Any,
    weights: Any,
    name: str | None,
    default: str,
    wanted: tuple[bool, bool],
) -> tuple[Any, Any]:
    """How often the label and the prediction are what is `wanted` of them."""
    with scope(name, default, (predictions, labels, weights)):
        predictions, labels, weights = _matched(
            cast(predictions, dt.bool_), cast(labels, dt.bool_), weights
        )
        both = logical_and(equal(labels, wanted[0]), equal(predictions, wanted[1]))
        return _count(both, weights)


@metric
def true_positives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """How often both label and prediction are true, float32.

    Args:
      labels: the truth, a tensor cast to bool.
      predictions: a tensor of the same shape, cast to bool.
    """
    found = _counts(labels, predictions, weights, name, "true_positives", (True, True))
    return finish(*found, metrics_collections, updates_collections)


@metric
def false_positives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """How often the prediction is true and the label is not, float32.

    Args:
      labels: the truth, a tensor cast to bool.
      predictions: a tensor of the same shape, cast to bool.
    """
    found = _counts(labels, predictions, weights, name, "false_positives", (False, True))
    return finish(*found, metrics_collections, updates_collections)


@metric
def true_negatives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """How often neither label nor prediction is true, float32.

    Args:
      labels: the truth, a tensor cast to bool.
      predictions: a tensor of the same shape, cast to bool.
    """
    found = _counts(labels, predictions, weights, name, "true_negatives", (False, False))
    return finish(*found, metrics_collections, updates_collections)


@metric
def false_negatives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """How often the label is true and the prediction is not, float32.

    Args:
      labels: the truth, a tensor cast to bool.
      predictions: a tensor of the same shape, cast to bool.
    """
    found = _counts(labels, predictions, weights, name, "false_negatives", (True, False))
    return finish(*found, metrics_collections, updates_collections)


def _share(part: Any, rest: Any, name: str) -> Any:
    """`part / (part + rest)`, and 0 when both are."""
    return where(greater(add(part, rest), 0), divide(part, add(part, rest)), 0.0, name=name)


@metric
def precision(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The share of true predictions that are right, float32.

    Args:
      labels: the truth, a tensor cast to bool.
      predictions: a tensor of the same shape, cast to bool.
    """
    with scope(name, "precision", (predictions, labels, weights)):
        found = [
            _counts(labels, predictions, weights, None, kind, (wanted, True))
            for kind, wanted in (("true_positives", True), ("false_positives", False))
        ]
        return _two_shares(found, metrics_collections, updates_collections)


@metric
def recall(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The share of true labels that are predicted, float32.

    Args:
      labels: the truth, a tensor cast to bool.
      predictions: a tensor of the same shape, cast to bool.
    """
    with scope(name, "recall", (predictions, labels, weights)):
        found = [
            _counts(labels, predictions, weights, None, kind, (True, wanted))
            for kind, wanted in (("true_positives", True), ("false_negatives", False))
        ]
        return _two_shares(found, metrics_collections, updates_collections)


def _two_shares(found: list[tuple[Any, Any]], metrics: Any, updates: Any) -> tuple[Any, Any]:
    (part, new_part), (rest, new_rest) = found
    return finish(
        _share(part, rest, "value"), _share(new_part, new_rest, "update_op"), metrics, updates
    )
