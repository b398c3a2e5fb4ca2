"""What the metrics of the first generation share: their variables, weights and results.

A metric keeps sums in local variables. It returns two tensors: the value now, and an update that
adds the batch and gives the value after it. It works in graphs only.
"""

import functools
from collections.abc import Callable
from typing import Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.graph.behavior import name_scope_v1
from penstock.graph.default_graph import get_default_graph
from penstock.ops.array_fill import zeros
from penstock.ops.array_shape import expand_dims, rank, squeeze
from penstock.ops.conditionals import cond
from penstock.ops.math_arithmetic import maximum, subtract
from penstock.ops.math_compare import equal, logical_or, not_equal
from penstock.ops.math_division import div_no_nan
from penstock.ops.variable_scope import variable_scope
from penstock.ops.variable_types import VariableAggregation, VariableSynchronization
from penstock.ops.variables_v1 import GraphKeys, VariableV1
from penstock.ops.weights_broadcast import remove_squeezable_dimensions

EPSILON = 1e-7
Collections = Any  # a list of names of collections, or None

ARGUMENTS = """
      weights: None, a scalar, or a tensor of the rank of the values with each dimension 1 or
        theirs.
      metrics_collections: names of collections that the value is added to.
      updates_collections: names of collections that the update is added to.
      name: the scope of the operations and variables.

    Returns:
      The value, and the operation that adds a batch and gives the value after it.

    Raises:
      ValueError: shapes do not fit.
      RuntimeError: eager execution is on.
"""


def metric(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of metrics: refuses eager mode, and appends what all their docstrings say."""

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if state.graph is None:
            raise RuntimeError(
                f"tf.metrics.{function.__name__} is not supported when eager execution is enabled."
                " Expected a graph: use it within tf.Graph().as_default(), or take a metric of"
                " Keras."
            )
        return function(*args, **kwargs)

    checked.__doc__ = (function.__doc__ or "").rstrip() + ARGUMENTS
    return checked


def metric_variable(shape: Any, dtype: Any, name: str) -> Any:
    """A variable of zeros in the collections of local and of metric variables."""
    return VariableV1(
        lambda: zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        validate_shape=True,
        synchronization=VariableSynchronization.ON_READ,
        aggregation=VariableAggregation.SUM,
        name=name,
    )


def scope(name: str | None, default: str, values: Any) -> Any:
    """The scope of one metric's variables and operations."""
    return variable_scope(name, default, [v for v in values if v is not None])


def finish(value: Any, update: Any, metrics: Collections, updates: Collections) -> tuple[Any, Any]:
    """The result of a metric, after it was added to the collections."""
    graph = get_default_graph()
    if metrics:
        graph.add_to_collections(metrics, value)
    if updates:
        graph.add_to_collections(updates, update)
    return value, update


def ratio(total: Any, count: Any, name: str) -> Any:
    """`total / count`, and 0 where there was nothing."""
    return div_no_nan(total, maximum(count, 0), name=name)


def default_name(name: str | None, default: str, values: Any) -> Any:
    """A name scope for operations without variables."""
    return name_scope_v1(name, default, [v for v in values if v is not None])


def fitted(labels: Any, predictions: Any, weights: Any) -> tuple[Any, Any, Any]:
    """All three of one rank, where a last dimension of 1 is what keeps them apart."""
    labels, predictions = remove_squeezable_dimensions(labels, predictions)
    return labels, predictions, None if weights is None else fit_weights(weights, predictions)


def fit_weights(weights: Any, values: Tensor) -> Any:
    """Weights of the rank of `values`, by a last dimension of 1 taken off or put on; or scalar."""
    weights = convert_to_tensor(weights)
    if weights.dims == ():
        return weights
    if weights.dims is not None and values.dims is not None:
        extra = len(weights.dims) - len(values.dims)
        if extra == 1:
            return squeeze(weights, [-1])
        return expand_dims(weights, -1) if extra == -1 else weights
    extra = subtract(rank(weights), rank(values))
    squeezed = cond(equal(extra, 1), lambda: squeeze(weights, [-1]), lambda: weights)
    scalar_or_same = logical_or(equal(rank(weights), 0), not_equal(extra, -1))
    return cond(scalar_or_same, lambda: squeezed, lambda: expand_dims(weights, -1))
