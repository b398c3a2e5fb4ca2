"""`compat.v1.metrics` of the k best classes: recall, precision and average precision at k.

Labels are sets of classes, one in each row: dense with as many labels in every row, or a
SparseTensor. A class that occurs twice in a row counts once. Sets are compared as tables of which
label equals which prediction.
"""

from typing import Any

from penstock.core.composite import SparseTensor
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.ops.array_basics import shape
from penstock.ops.array_fill import fill, ones_like
from penstock.ops.array_scatter import scatter_nd, tensor_scatter_nd_update
from penstock.ops.array_shape import expand_dims
from penstock.ops.array_sort import top_k
from penstock.ops.math_arithmetic import add, maximum, minimum, multiply
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import equal, greater, greater_equal, less, logical_and, logical_not
from penstock.ops.math_division import div_no_nan, divide
from penstock.ops.math_range import range as range_op
from penstock.ops.math_reduce import reduce_any, reduce_sum
from penstock.ops.math_scan import cumsum
from penstock.ops.weights_broadcast import broadcast_weights
from penstock.train.metrics_common import Collections, default_name, finish, metric, metric_variable
from penstock.types import dtypes as dt

Labels = tuple[Any, Any]  # class numbers, and which of them count


def _label_sets(labels: Any, predictions: Tensor) -> Labels:
    """Labels as a dense table of int64, with a mask of the ones that are labels."""
    if isinstance(labels, SparseTensor):
        sizes = cast(labels.dense_shape, dt.int64)
        indices = cast(labels.indices, dt.int64)
        values = cast(labels.values, dt.int64)
        dense = tensor_scatter_nd_update(fill(sizes, cast(-1, dt.int64)), indices, values)
        given = greater(scatter_nd(indices, ones_like(values), sizes), 0)
        return dense, logical_and(given, _first_of_each(dense, given))
    labels = cast(labels, dt.int64)
    ranks = (labels.dims, predictions.dims)
    if None not in ranks and len(ranks[0]) == len(ranks[1]) - 1:  # type: ignore[arg-type]
        labels = expand_dims(labels, -1)
    return labels, _first_of_each(labels, ones_like(labels, dt.bool_))


def _first_of_each(values: Any, given: Any) -> Any:
    """True where no earlier entry of the row that is given has the same value."""
    same = equal(expand_dims(values, -1), expand_dims(values, -2))
    position = range_op(shape(values)[-1])
    earlier = greater(expand_dims(position, -1), expand_dims(position, 0))
    before = logical_and(logical_and(same, earlier), expand_dims(given, -2))
    return logical_not(reduce_any(before, axis=-1))


def _only_class(labels: Labels, class_id: Any) -> Labels:
    if class_id is None:
        return labels
    values, counts = labels
    return values, logical_and(counts, equal(values, cast(class_id, dt.int64)))


def _found(labels: Labels, predictions: Tensor, among_labels: bool) -> Any:
    """Which labels are predicted, or which predictions are labels."""
    values, counts = labels
    same = equal(expand_dims(values, -1), expand_dims(predictions, -2))
    if among_labels:
        return logical_and(counts, reduce_any(same, axis=-1))
    matches = logical_and(same, expand_dims(counts, -1))
    return reduce_any(matches, axis=-2)


def _number(table: Any) -> Any:
    return reduce_sum(cast(table, dt.float64), axis=-1)


def _hits(labels: Labels, predictions: Tensor, class_id: Any) -> Any:
    return _number(_found(_only_class(labels, class_id), predictions, True))


def _misses(labels: Labels, predictions: Tensor, class_id: Any) -> Any:
    wanted = _only_class(labels, class_id)
    return _number(logical_and(wanted[1], logical_not(_found(wanted, predictions, True))))


def _false_alarms(labels: Labels, predictions: Tensor, class_id: Any) -> Any:
    given = ones_like(predictions, dt.bool_)
    given = logical_and(given, _first_of_each(predictions, given))
    if class_id is not None:
        given = logical_and(given, equal(predictions, cast(class_id, dt.int64)))
    return _number(logical_and(given, logical_not(_found(labels, predictions, False))))


def _sum_so_far(rows: Any, weights: Any, name: str) -> tuple[Any, Any]:
    if weights is not None:
        rows = multiply(rows, broadcast_weights(cast(weights, dt.float64), rows))
    total = metric_variable([], dt.float64, name)
    return total, total.assign_add(reduce_sum(rows), read_value=True)


def _at(name: str, k: int | None, class_id: Any) -> str:
    text = f"{name}_at_{'k' if k is None else k}"
    return text if class_id is None else f"{text}_class{class_id}"


def _best(predictions: Any, k: int) -> Any:
    return cast(top_k(predictions, k)[1], dt.int64)


def _rate_at(
    labels: Any,
    predictions: Any,
    k: int | None,
    class_id: Any,
    weights: Any,
    scope: str,
    other: Any,
    other_name: str,
) -> tuple[Any, Any]:
    """Hits over hits and others, both summed over all rows so far."""
    predictions = cast(predictions, dt.int64)
    sets = _label_sets(labels, predictions)
    part, new_part = _sum_so_far(
        _hits(sets, predictions, class_id), weights, _at("true_positive", k, class_id)
    )
    rest, new_rest = _sum_so_far(
        other(sets, predictions, class_id), weights, _at(other_name, k, class_id)
    )
    return (
        divide(part, add(part, rest), name=scope),
        divide(new_part, add(new_part, new_rest), name="update"),
    )


@metric
def recall_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: Any = None,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The share of labels that are among the given predictions, float64.

    Args:
      labels: int64 tensor or SparseTensor [..., labels], or [...] with one label in a row.
      predictions_idx: integers [..., k], the classes predicted in each row.
      k: their number, for names.
      class_id: the only class that counts; None for all.
    """
    default = _at("recall", k, class_id)
    with default_name(name, default, (predictions_idx, labels, weights)) as scope:
        found = _rate_at(
            labels,
            predictions_idx,
            k,
            class_id,
            weights,
            scope,
            _misses,
            "false_negative",
        )
        return finish(*found, metrics_collections, updates_collections)


@metric
def recall_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: Any = None,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The share of labels that are among the k classes of highest scores, float64.

    Args:
      labels: int64 tensor or SparseTensor [..., labels], or [...] with one label in a row.
      predictions: scores, a floating tensor [..., classes].
      k: how many classes are predicted.
      class_id: the only class that counts; None for all.
    """
    default = _at("recall", k, class_id)
    with default_name(name, default, (predictions, labels, weights)) as scope:
        best = _best(predictions, k)
        found = _rate_at(labels, best, k, class_id, weights, scope, _misses, "false_negative")
        return finish(*found, metrics_collections, updates_collections)


@metric
def precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: Any = None,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The share of the given predictions that are labels, float64.

    Args:
      labels: int64 tensor or SparseTensor [..., labels], or [...] with one label in a row.
      predictions_idx: integers [..., k], the classes predicted in each row.
      k: their number, for names.
      class_id: the only class that counts; None for all.
    """
    default = _at("precision", k, class_id)
    with default_name(name, default, (predictions_idx, labels, weights)) as scope:
        found = _rate_at(
            labels,
            predictions_idx,
            k,
            class_id,
            weights,
            scope,
            _false_alarms,
            "false_positive",
        )
        return finish(*found, metrics_collections, updates_collections)


@metric
def precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: Any = None,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The share of the k classes of highest scores that are labels, float64.

    Args:
      labels: int64 tensor or SparseTensor [..., labels], or [...] with one label in a row.
      predictions: scores, a floating tensor [..., classes].
      k: how many classes are predicted.
      class_id: the only class that counts; None for all.
    """
    default = _at("precision", k, class_id)
    with default_name(name, default, (predictions, labels, weights)) as scope:
        best = _best(predictions, k)
        found = _rate_at(labels, best, k, class_id, weights, scope, _false_alarms, "false_positive")
        return finish(*found, metrics_collections, updates_collections)


sparse_precision_at_k = precision_at_k  # the older name


@metric
def average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The mean over rows of the average precision of the k best classes, float64.

    Args:
      labels: int64 tensor or SparseTensor [..., labels], or [...] with one label in a row.
      predictions: scores, a floating tensor [..., classes].
      k: how many classes are ranked.
    """
    default = _at("average_precision", k, None)
    with default_name(name, default, (predictions, labels, weights)) as scope:
        predictions = convert_to_tensor(predictions)
        classes = shape(predictions, out_type=dt.int64)[-1]
        average = _average_precision(labels, _best(predictions, k), k, classes)
        number = reduce_sum(ones_like(average))
        if weights is not None:
            weights = broadcast_weights(cast(weights, dt.float64), average)
            average = multiply(average, weights)
            number = reduce_sum(weights)
        most, new_most = _total("max_1", number)
        total, new_total = _total("total", reduce_sum(average))
        return finish(
            div_no_nan(total, maximum(most, 0), name="mean"),
            div_no_nan(new_total, maximum(new_most, 0), name=scope),
            metrics_collections,
            updates_collections,
        )


sparse_average_precision_at_k = average_precision_at_k  # the older name


def _total(name: str, amount: Any) -> tuple[Any, Any]:
    total = metric_variable([], dt.float64, name)
    return total, total.assign_add(amount, read_value=True)


def _average_precision(labels: Any, best: Tensor, k: int, classes: Any) -> Any:
    """For each row: precision at the rank of each hit, over min(k, labels); NaN without labels."""
    sets = _label_sets(labels, best)
    hits = cast(_found(sets, best, False), dt.float64)
    ranks = cast(range_op(1, k + 1), dt.float64)
    precision = divide(cumsum(hits, axis=-1), ranks)
    gathered = reduce_sum(multiply(precision, hits), axis=-1)
    # Labels given as a dense tensor count as often as they occur, those of no class not at all.
    counted = sets[1]
    if not isinstance(labels, SparseTensor):
        counted = logical_and(greater_equal(sets[0], 0), less(sets[0], classes))
    return divide(gathered, minimum(_number(counted), cast(k, dt.float64)))
