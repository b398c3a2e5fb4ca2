"""Losses in the collections of a graph: adding them, and their sum."""

from typing import Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.graph.default_graph import get_default_graph
from penstock.ops.math_arithmetic import add_n
from penstock.ops.variables_v1 import GraphKeys


def add_loss(loss: Any, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds a loss to a collection of the current graph; eager tensors are in none.

    Args:
      loss: a tensor.
      loss_collection: the collection; None for none.
    """
    if loss_collection and state.graph is not None:
        get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """The losses of the current graph.

    Args:
      scope: only those whose names begin with a match of this pattern.
      loss_collection: the collection.
    """
    return list(get_default_graph().get_collection(loss_collection, scope))


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """The regularization losses of the current graph, of a scope when one is given."""
    return list(get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope))


def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> Any:
    """The sum of the regularization losses of the current graph.

    Args:
      scope: only those whose names begin with a match of this pattern.
      name: the name of the result.

    Returns:
      Scalar; 0.0 when there are none.
    """
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else convert_to_tensor(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Any:
    """The sum of the losses of the current graph.

    Args:
      add_regularization_losses: whether regularization losses are part of it.
      name: the name of the result.
      scope: only losses whose names begin with a match of this pattern.

    Returns:
      Scalar.

    Raises:
      ValueError: there are no losses.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope)
    return add_n(losses, name=name)
