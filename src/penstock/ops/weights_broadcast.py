"""Weights of losses and metrics: one number, or a factor for each element or along some axes.

Weights fit values when they are a scalar, or have the rank of the values and in each dimension size
1 or the values' size. Known shapes are checked when the operations are built, others when they run.
"""

from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.graph.behavior import control_dependencies, name_scope_v1
from penstock.ops.array_basics import shape
from penstock.ops.array_fill import ones_like
from penstock.ops.array_identity import no_op
from penstock.ops.array_shape import rank, squeeze
from penstock.ops.conditionals import cond
from penstock.ops.debug_asserts import assert_that, waits
from penstock.ops.math_arithmetic import multiply, subtract
from penstock.ops.math_compare import equal, logical_or
from penstock.ops.math_reduce import reduce_all
from penstock.types import dims as d

_RULE = (
    "weights can not be broadcast to values. Expected a scalar, or the rank of values with each"
    " dimension 1 or equal to that of values"
)


def assert_broadcastable(weights: Any, values: Any) -> Any:
    """Checks that weights fit values.

    Args:
      weights: tensor of any numeric dtype.
      values: tensor of any dtype.

    Returns:
      An Operation that checks in a graph; None where it could be checked at once.

    Raises:
      ValueError: the shapes are known and do not fit.
      InvalidArgumentError: they do not fit when the operation runs.
    """
    with name_scope_v1("assert_broadcastable"):
        weights, values = convert_to_tensor(weights), convert_to_tensor(values)
        known = _known_to_fit(weights, values)
        if known:
            return no_op(known)
        fits = cond(
            equal(rank(weights), 0),
            lambda: convert_to_tensor(True),
            lambda: cond(
                equal(rank(weights), rank(values)),
                lambda: _fits(weights, values),
                lambda: convert_to_tensor(False),
            ),
        )
        data = [_RULE, "weights.shape=", shape(weights), "values.shape=", shape(values)]
        return assert_that(fits, data, name="AssertGuard")


def _fits(weights: Tensor, values: Tensor) -> Any:
    sizes = shape(weights)
    return reduce_all(logical_or(equal(sizes, 1), equal(sizes, shape(values))))


def _known_to_fit(weights: Tensor, values: Tensor) -> str:
    """A name for the fact that the shapes fit; empty when it must be seen at run time."""
    w, v = weights.dims, values.dims
    if w is None:
        return ""
    if len(w) == 0:
        return "static_scalar_check_success"
    if v is None:
        return ""
    problem = f"{_RULE}; got weights of shape {d.text(w)} and values of shape {d.text(v)}."
    if len(w) != len(v):
        raise ValueError(f"{problem} Reshape the weights to rank {len(v)}.")
    pairs = list(zip(w, v, strict=True))
    if any(a not in (None, 1, b) and b is not None for a, b in pairs):
        raise ValueError(f"{problem} Reshape or tile the weights.")
    if any(a is None or (b is None and a != 1) for a, b in pairs):
        return ""
    return "static_dims_check_success"


def broadcast_weights(weights: Any, values: Any) -> Any:
    """Weights of the shape of `values`.

    Args:
      weights: tensor of any numeric dtype, a scalar or of the rank of `values`.
      values: tensor of any dtype.

    Returns:
      Tensor of the dtype of `weights` and the shape of `values`.

    Raises:
      ValueError: the shapes are known and do not fit.
      InvalidArgumentError: they do not fit when the operation runs.
    """
    with name_scope_v1(None, "broadcast_weights") as scope:
        weights, values = convert_to_tensor(weights), convert_to_tensor(values)
        if weights.dims is not None and weights.dims == values.dims and None not in weights.dims:
            return weights
        with control_dependencies(waits(assert_broadcastable(weights, values))):
            return multiply(weights, ones_like(values, dtype=weights.dtype), name=scope)


def remove_squeezable_dimensions(
    labels: Any, predictions: Any, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Any, Any]:
    """Removes the last dimension of the one that has a dimension too many, if it is 1.

    Args:
      labels: tensor of any dtype.
      predictions: tensor of any dtype.
      expected_rank_diff: the rank of `predictions` less that of `labels`, as it should be.
      name: the name of the operations in a graph.

    Returns:
      Labels and predictions.
    """
    with name_scope_v1(name, "remove_squeezable_dimensions", [labels, predictions]):
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        if labels.dims is not None and predictions.dims is not None:
            extra = len(predictions.dims) - len(labels.dims) - expected_rank_diff
            if extra == 1 and predictions.dims[-1] in (1, None):
                predictions = squeeze(predictions, [-1])
            elif extra == -1 and labels.dims[-1] in (1, None):
                labels = squeeze(labels, [-1])
            return labels, predictions
        return _squeezed_when_run(labels, predictions, expected_rank_diff)


def _squeezed_when_run(labels: Tensor, predictions: Tensor, expected: int) -> tuple[Any, Any]:
    difference = subtract(rank(predictions), rank(labels))
    if _may_squeeze(predictions):
        predictions = cond(
            equal(difference, expected + 1),
            lambda p=predictions: squeeze(p, [-1]),  # type: ignore[misc]
            lambda p=predictions: p,  # type: ignore[misc]
        )
    if _may_squeeze(labels):
        labels = cond(
            equal(difference, expected - 1),
            lambda: squeeze(labels, [-1]),
            lambda: labels,
        )
    return labels, predictions


def _may_squeeze(tensor: Tensor) -> bool:
    return tensor.dims is None or (len(tensor.dims) > 0 and tensor.dims[-1] in (1, None))
