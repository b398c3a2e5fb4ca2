"""`compat.v1.losses`: losses with weights, and the collection that gathers them.

Each loss computes a value for every element, multiplies it with the weights and reduces it; the
result goes into a collection of the graph, from which `get_total_loss` adds up what to minimise.
"""

from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.graph.behavior import control_dependencies, name_scope_v1
from penstock.ops.array_basics import shape
from penstock.ops.array_fill import ones_like, zeros_like
from penstock.ops.array_identity import stop_gradient
from penstock.ops.array_select import where
from penstock.ops.array_shape import rank, squeeze
from penstock.ops.conditionals import cond
from penstock.ops.debug_asserts import waits
from penstock.ops.math_arithmetic import (
    add,
    maximum,
    minimum,
    multiply,
    negative,
    squared_difference,
    subtract,
)
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import equal, greater
from penstock.ops.math_division import div_no_nan
from penstock.ops.math_elementwise import log, square
from penstock.ops.math_reduce import one_of, reduce_sum
from penstock.ops.nn_activations import relu
from penstock.ops.nn_losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from penstock.ops.variables_v1 import GraphKeys
from penstock.ops.weights_broadcast import assert_broadcastable, remove_squeezable_dimensions
from penstock.train.loss_collections import add_loss
from penstock.train.loss_reduction import Reduction, compute_weighted_loss, inner_axes, num_present
from penstock.types import dtypes as dt


def _pair(
    name: str, labels: Any, predictions: Any, labels_name: str, predictions_name: str
) -> tuple[Any, Any]:
    """Both as float32 tensors of one shape."""
    for given, label in ((labels, labels_name), (predictions, predictions_name)):
        if given is None:
            raise ValueError(
                f"{name}: argument `{label}` must not be None. Expected a tensor, got None; pass"
                f" both {labels_name} and {predictions_name}."
            )
    predictions = cast(predictions, dt.float32)
    labels = cast(labels, dt.float32)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions


def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """The absolute differences, weighted and reduced; arguments as for `mean_squared_error`."""
    with name_scope_v1(scope, "absolute_difference", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(
            "absolute_difference", labels, predictions, "labels", "predictions"
        )
        losses = absolute(subtract(predictions, labels))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """The squared differences, weighted and reduced.

    Args:
      labels: the truth, a tensor of any real dtype.
      predictions: a tensor of the same shape.
      weights: a scalar, or a tensor of the rank of `labels` whose dimensions are 1 or those of
        `labels`.
      scope: the name of the operations in a graph.
      loss_collection: the collection that the loss is added to; None for none.
      reduction: a constant of `Reduction`.

    Returns:
      float32 scalar; of the shape of `labels` for `Reduction.NONE`.

    Raises:
      ValueError: labels or predictions are None, or the shapes do not fit.

    Example:
      >>> float(tf.compat.v1.losses.mean_squared_error([1.0, 2.0], [2.0, 4.0]))
      2.5
    """
    with name_scope_v1(scope, "mean_squared_error", (predictions, labels, weights)) as scope:
        labels, predictions = _pair(
            "mean_squared_error", labels, predictions, "labels", "predictions"
        )
        losses = squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    dim: int | None = None,
) -> Any:
    """One minus the products of unit vectors along `axis`, weighted and reduced.

    Args:
      labels: the truth, vectors of length 1 along `axis`.
      predictions: a tensor of the same shape.
      axis: the axis of the vectors; `dim` is its older name.
      weights: a scalar, or a tensor that fits the shape with `axis` of size 1.
      scope: the name of the operations in a graph.
      loss_collection: the collection that the loss is added to; None for none.
      reduction: a constant of `Reduction`.
      dim: the older name of `axis`.

    Returns:
      float32 scalar; with `axis` of size 1 for `Reduction.NONE`.

    Raises:
      ValueError: no axis is given, labels or predictions are None, or the shapes do not fit.
    """
    axis = one_of("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("You must specify argument `axis`. Give the axis of the unit vectors.")
    with name_scope_v1(scope, "cosine_distance_loss", (predictions, labels, weights)) as scope:
        labels, predictions = _pair("cosine_distance", labels, predictions, "labels", "predictions")
        products = multiply(predictions, labels)
        losses = subtract(1.0, reduce_sum(products, axis=(axis,), keepdims=True))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """The hinge loss of labels 0 and 1; other arguments as for `mean_squared_error`."""
    with name_scope_v1(scope, "hinge_loss", (logits, labels, weights)) as scope:
        labels, logits = _pair("hinge_loss", labels, logits, "labels", "logits")
        ones = ones_like(labels)
        signs = subtract(multiply(2.0, labels), ones)
        losses = relu(subtract(ones, multiply(signs, logits)))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """Half the squared difference up to `delta` and linear beyond it (Huber, 1964).

    Args:
      labels: the truth, a tensor of any real dtype.
      predictions: a tensor of the same shape.
      weights: a scalar, or a tensor that fits the shape.
      delta: where the loss becomes linear.
      scope: the name of the operations in a graph.
      loss_collection: the collection that the loss is added to; None for none.
      reduction: a constant of `Reduction`.

    Returns:
      float32 scalar; of the shape of `labels` for `Reduction.NONE`.

    Raises:
      ValueError: labels or predictions are None, or the shapes do not fit.
    """
    with name_scope_v1(scope, "huber_loss", (predictions, labels, weights)) as scope:
        labels, predictions = _pair("huber_loss", labels, predictions, "labels", "predictions")
        error = absolute(subtract(predictions, labels))
        quadratic = minimum(error, delta)
        linear = subtract(error, quadratic)
        losses = add(
            multiply(convert_to_tensor(0.5, quadratic.dtype), multiply(quadratic, quadratic)),
            multiply(delta, linear),
        )
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """The cross entropy of probabilities; `epsilon` is added within the logarithms.

    Other arguments, result and errors are those of `mean_squared_error`.
    """
    with name_scope_v1(scope, "log_loss", (predictions, labels, weights)) as scope:
        labels, predictions = _pair("log_loss", labels, predictions, "labels", "predictions")
        losses = subtract(
            negative(multiply(labels, log(add(predictions, epsilon)))),
            multiply(subtract(1.0, labels), log(add(subtract(1.0, predictions), epsilon))),
        )
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Any:
    """The squared differences of the differences between pairs of elements of a row.

    Args:
      labels: the truth, [batch, ...] of any real dtype.
      predictions: a tensor of the same shape.
      weights: a scalar, or [batch] factors, or a tensor that fits the shape.
      scope: the name of the operations in a graph.
      loss_collection: the collection that the loss is added to; None for none.

    Returns:
      float32 scalar: the sum over the rows of the weighted means over their pairs.

    Raises:
      ValueError: labels or predictions are None, or the shapes do not fit.
    """
    with name_scope_v1(
        scope, "mean_pairwise_squared_error", (predictions, labels, weights)
    ) as scope:
        labels, predictions = _pair(
            "mean_pairwise_squared_error", labels, predictions, "labels", "predictions"
        )
        weights = cast(weights, dt.float32)
        with control_dependencies(waits(assert_broadcastable(weights, labels))):
            differences = subtract(predictions, labels)
            axes = inner_axes(differences)
            count = num_present(differences, weights, per_batch=True)
            squares = reduce_sum(square(differences), axis=axes, keepdims=True)
            one_term = multiply(
                2.0, div_no_nan(squares, maximum(subtract(count, 1), 0), name="value")
            )
            sums = square(reduce_sum(differences, axis=axes, keepdims=True))
            pairs = maximum(multiply(count, subtract(count, 1)), 0)
            other_term = multiply(2.0, div_no_nan(sums, pairs, name="value"))
            weighted = multiply(subtract(one_term, other_term), weights)
            total = reduce_sum(weighted)
            any_present = greater(reduce_sum(count), 0)
            loss = where(any_present, total, zeros_like(total), name="value")
            add_loss(loss, loss_collection)
            return loss


def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: Any = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """The cross entropy of independent classes.

    Args:
      multi_class_labels: 0 and 1, [batch, classes].
      logits: a floating tensor of the same shape.
      weights: a scalar, or a tensor that fits the shape.
      label_smoothing: labels move this far towards 0.5.
      scope: the name of the operations in a graph.
      loss_collection: the collection that the loss is added to; None for none.
      reduction: a constant of `Reduction`.

    Returns:
      Scalar of the dtype of `logits`; of its shape for `Reduction.NONE`.

    Raises:
      ValueError: labels or logits are None, or the shapes do not fit.
    """
    _require("sigmoid_cross_entropy", multi_class_labels, "multi_class_labels", logits)
    with name_scope_v1(
        scope, "sigmoid_cross_entropy_loss", (logits, multi_class_labels, weights)
    ) as scope:
        logits = convert_to_tensor(logits)
        labels = cast(multi_class_labels, logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            labels = add(multiply(labels, 1 - label_smoothing), 0.5 * label_smoothing)
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def _require(name: str, labels: Any, labels_name: str, logits: Any) -> None:
    for given, label in ((labels, labels_name), (logits, "logits")):
        if given is None:
            raise ValueError(f"{name}: argument `{label}` must not be None. Pass a tensor.")


def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: Any = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """The cross entropy of exclusive classes.

    Args:
      onehot_labels: probabilities, [batch, classes]; no gradient flows into them.
      logits: a floating tensor of the same shape.
      weights: a scalar, or [batch], or [batch, 1].
      label_smoothing: labels move this far towards 1 / classes.
      scope: the name of the operations in a graph.
      loss_collection: the collection that the loss is added to; None for none.
      reduction: a constant of `Reduction`.

    Returns:
      Scalar of the dtype of `logits`; [batch] for `Reduction.NONE`.

    Raises:
      ValueError: labels or logits are None, or the shapes do not fit.
    """
    _require("softmax_cross_entropy", onehot_labels, "onehot_labels", logits)
    with name_scope_v1(
        scope, "softmax_cross_entropy_loss", (logits, onehot_labels, weights)
    ) as scope:
        logits = convert_to_tensor(logits)
        labels = cast(onehot_labels, logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            classes = cast(shape(labels)[-1], logits.dtype)
            spread = label_smoothing / classes
            labels = add(multiply(labels, 1.0 - label_smoothing), spread)
        losses = softmax_cross_entropy_with_logits(stop_gradient(labels), logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """The cross entropy of exclusive classes given by number.

    Args:
      labels: int32 or int64, [batch] or [batch, 1].
      logits: a floating tensor, [batch, classes].
      weights: a scalar, or [batch], or [batch, 1].
      scope: the name of the operations in a graph.
      loss_collection: the collection that the loss is added to; None for none.
      reduction: a constant of `Reduction`.

    Returns:
      Scalar of the dtype of `logits`; [batch] for `Reduction.NONE`.

    Raises:
      ValueError: labels or logits are None, or the shapes do not fit.
      InvalidArgumentError: a label is out of range when the operation runs.
    """
    _require("sparse_softmax_cross_entropy", labels, "labels", logits)
    with name_scope_v1(
        scope, "sparse_softmax_cross_entropy_loss", (logits, labels, weights)
    ) as scope:
        labels, logits, weights = _fitted(labels, logits, weights, expected_rank_diff=1)
        losses = sparse_softmax_cross_entropy_with_logits(labels, logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def _fitted(
    labels: Any, predictions: Any, weights: Any, expected_rank_diff: int = 0
) -> tuple[Any, Any, Any]:
    """All three, with a last dimension of 1 that is one too many taken off."""
    labels, predictions = remove_squeezable_dimensions(labels, predictions, expected_rank_diff)
    if weights is None:
        return labels, predictions, None
    weights = convert_to_tensor(weights)
    if weights.dims == ():
        return labels, predictions, weights
    if weights.dims is not None and labels.dims is not None:
        if len(weights.dims) - len(labels.dims) == 1:
            weights = squeeze(weights, [-1])
        return labels, predictions, weights
    weights = cond(
        equal(rank(weights), add(rank(labels), 1)),
        lambda w=weights: squeeze(w, [-1]),  # type: ignore[misc]
        lambda w=weights: w,  # type: ignore[misc]
    )
    return labels, predictions, weights
