"""What becomes of the losses of a batch: weights, sums and means."""

from typing import Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.graph.behavior import control_dependencies, name_scope_v1
from penstock.ops.array_fill import ones_like, zeros_like
from penstock.ops.array_select import where
from penstock.ops.array_shape import rank, size
from penstock.ops.debug_asserts import waits
from penstock.ops.math_arithmetic import multiply
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import equal
from penstock.ops.math_division import div_no_nan
from penstock.ops.math_range import range as range_op
from penstock.ops.math_reduce import reduce_sum
from penstock.ops.variables_v1 import GraphKeys
from penstock.ops.weights_broadcast import assert_broadcastable, broadcast_weights
from penstock.train.loss_collections import add_loss
from penstock.types import dtypes as dt


class Reduction:
    """How the weighted losses of the elements become the loss."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Every reduction."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError unless `key` is a reduction."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}. Expected one of {cls.all()}.")


def num_present(losses: Tensor, weights: Tensor, per_batch: bool = False) -> Any:
    """The number of elements whose weight is not 0, in all or for each row, as float32."""
    dims = weights.dims
    if dims == () and _is_one(weights) and not per_batch:
        return cast(size(losses, name="num_present"), losses.dtype)
    with name_scope_v1(None, "num_present", (losses, weights)) as scope:
        present = where(equal(weights, 0.0), zeros_like(weights), ones_like(weights))
        present = broadcast_weights(present, losses)
        if per_batch:
            return reduce_sum(present, axis=inner_axes(present), keepdims=True, name=scope)
        return reduce_sum(present, name=scope)


def _is_one(weights: Tensor) -> bool:
    return state.graph is None and float(weights) == 1.0  # type: ignore[arg-type]


def inner_axes(tensor: Tensor) -> Any:
    """All axes but the first."""
    if tensor.dims is not None:
        return list(range(1, len(tensor.dims)))
    return range_op(1, rank(tensor))


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Any:
    """The weighted loss over all elements.

    Args:
      losses: tensor of any real dtype.
      weights: a scalar, or a tensor of the rank of `losses` whose dimensions are 1 or those of
        `losses`.
      scope: the name of the operations in a graph.
      loss_collection: the collection that the loss is added to; None for none.
      reduction: a constant of `Reduction`.

    Returns:
      Scalar of the dtype of `losses`; of its shape for `Reduction.NONE`.

    Raises:
      ValueError: the weights do not fit, or there is no such reduction.
    """
    Reduction.validate(reduction)
    with name_scope_v1(scope, "weighted_loss", (losses, weights)):
        losses, weights = convert_to_tensor(losses), convert_to_tensor(weights)
        with control_dependencies(waits(assert_broadcastable(weights, losses))):
            given = losses.dtype
            losses = cast(losses, dt.float32)
            weights = cast(weights, dt.float32)
            weighted = multiply(losses, weights, name="Mul")
            loss = cast(_reduced(weighted, losses, weights, reduction), given)
        add_loss(loss, loss_collection)
        return loss


def _reduced(weighted: Any, losses: Any, weights: Any, reduction: str) -> Any:
    if reduction == Reduction.NONE:
        return weighted
    total = reduce_sum(weighted)
    if reduction == Reduction.MEAN:
        count = reduce_sum(multiply(ones_like(losses), weights))
        return div_no_nan(total, count, name="value")
    if reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
        return _mean(total, num_present(losses, weights))
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        return _mean(total, cast(size(losses, name="num_elements"), losses.dtype))
    return total


def _mean(total: Any, count: Any) -> Any:
    return div_no_nan(reduce_sum(total), count, name="value")


def _check_weights(weights: Any) -> None:
    if weights is None:
        raise ValueError(
            "Argument `weights` must not be None. Expected a number or a tensor; leave it out for"
            " a weight of 1."
        )
