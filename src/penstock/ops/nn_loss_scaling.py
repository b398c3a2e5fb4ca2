"""Losses of one replica, scaled so that their sum over all replicas is the loss of the whole batch.

How many replicas there are is known to the layer that distributes programs, which registers a
function by `count_replicas_by`; without one there is one replica.
"""

from collections.abc import Callable
from typing import Any

from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.ops.array_shape import rank
from penstock.ops.composing import cast, expand, number, squeeze, tensor
from penstock.ops.conditionals import cond
from penstock.ops.debug_asserts import assert_non_negative
from penstock.ops.debug_shapes import assert_integer, assert_scalar
from penstock.ops.math_arithmetic import multiply, subtract
from penstock.ops.math_compare import equal
from penstock.ops.math_division import divide_no_nan, truediv
from penstock.ops.math_reduce import reduce_sum
from penstock.types import dtypes


def _one() -> int:
    return 1


_count: Callable[[], int] = _one


def count_replicas_by(function: Callable[[], int]) -> None:
    """Registers the function that tells how many replicas run in step; the last one counts."""
    global _count
    _count = function


def compute_average_loss(
    per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None
) -> Any:
    """Returns the sum of a replica's losses, divided by the number of examples in all replicas.

    Args:
      per_example_loss: numbers of rank at least 1, a loss for each example of this replica.
      sample_weight: a weight for each of them; with one axis less, for each of the first axes. The
        products have the dtype of the losses: those of integers are cut off.
      global_batch_size: integer scalar: examples in all replicas; this replica's times the number
        of replicas when None.

    Returns:
      Scalar, a floating one of integers; 0 where there are no examples.

    Raises:
      ValueError: the losses are a scalar, or the batch size is none.
      TypeError: the batch size is no integer.
      InvalidArgumentError: the batch size is negative.

    Example:
      >>> compute_average_loss([1.0, 2.0, 3.0]).numpy().item()
      2.0
    """
    losses = tensor(per_example_loss)
    if losses.dims is not None and not losses.dims:
        raise ValueError(
            "Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1. "
            f"Received per_example_loss={per_example_loss} with rank 0"
        )
    kind = losses.dtype
    if sample_weight is not None:
        losses = _weighted(losses, sample_weight)
    if global_batch_size is None:
        size = multiply(execute("Shape", (losses,))[0], _count())
    else:
        size = _checked(tensor(global_batch_size))
    result = divide_no_nan(reduce_sum(losses), cast(size, losses.dtype))
    return cast(result, kind) if kind.is_floating else result


def _weighted(losses: Tensor, sample_weight: Any) -> Tensor:
    kind = losses.dtype
    if not kind.is_floating:
        losses = cast(losses, dtypes.float32)
    weights = _of_fitting_rank(cast(tensor(sample_weight), losses.dtype), losses)
    return cast(multiply(losses, weights), kind)


def _of_fitting_rank(weights: Tensor, losses: Tensor) -> Tensor:
    """Weights with an axis of size 1 at the end, or without it, if one is missing or too many."""
    if weights.dims == ():
        return weights
    if weights.dims is not None and losses.dims is not None:
        more = len(losses.dims) - len(weights.dims)
        if more == 1:
            return expand(weights, -1)
        return squeeze(weights, -1) if more == -1 else weights
    missing = subtract(rank(losses), rank(weights))
    return cond(  # type: ignore[no-any-return]
        equal(missing, 1),
        lambda: expand(weights, -1),
        lambda: cond(equal(missing, -1), lambda: squeeze(weights, -1), lambda: weights),
    )


def _checked(size: Tensor) -> Tensor:
    assert_scalar(size, message="global_batch_size must be scalar.")
    assert_integer(size, message="global_batch_size must be an integer.")
    assert_non_negative(size, message="global_batch_size must be non-negative.")
    return size


def scale_regularization_loss(regularization_loss: Any) -> Any:
    """Returns the sum of losses divided by the number of replicas, each of which adds its own.

    Args:
      regularization_loss: floating tensor of any shape.

    Returns:
      Scalar of the same dtype.
    """
    losses = tensor(regularization_loss)
    return truediv(reduce_sum(losses), number(_count(), losses.dtype))
