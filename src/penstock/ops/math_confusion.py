"""Tables that count which class was predicted for which label."""

from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.graph.behavior import control_dependencies, name_scope_v1
from penstock.ops.array_basics import identity
from penstock.ops.array_fill import ones_like
from penstock.ops.array_join import stack
from penstock.ops.array_scatter import scatter_nd
from penstock.ops.debug_asserts import assert_less_v1, assert_non_negative_v1
from penstock.ops.math_arithmetic import add, maximum
from penstock.ops.math_cast import cast
from penstock.ops.math_reduce import reduce_max
from penstock.ops.weights_broadcast import remove_squeezable_dimensions
from penstock.types import dtypes as dt


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    weights: Any = None,
    dtype: Any = dt.int32,
    name: str | None = None,
) -> Any:
    """How often each class was predicted for each label.

    Args:
      labels: the truth, integers [n] or [n, 1].
      predictions: integers of the same number.
      num_classes: the number of classes; one more than the largest number by default.
      weights: a factor for each example, [n]; 1 by default.
      dtype: the dtype of the counts.
      name: the name of the operations in a graph.

    Returns:
      Tensor of `dtype`, [num_classes, num_classes]: rows are labels, columns predictions.

    Raises:
      ValueError: shapes differ, or `weights` do not fit.
      InvalidArgumentError: a number is negative or not below `num_classes`.

    Example:
      >>> confusion_matrix([1, 2, 2], [1, 2, 1]).numpy().tolist()
      [[0, 0, 0], [0, 1, 0], [0, 1, 1]]
    """
    with name_scope_v1(name, "confusion_matrix", (predictions, labels, num_classes, weights)):
        labels, predictions = remove_squeezable_dimensions(
            convert_to_tensor(labels, name="labels"),
            convert_to_tensor(predictions, name="predictions"),
        )
        labels, predictions = cast(labels, dt.int64), cast(predictions, dt.int64)
        labels = _checked(assert_non_negative_v1, labels, "`labels` contains negative values")
        predictions = _checked(
            assert_non_negative_v1, predictions, "`predictions` contains negative values"
        )
        if num_classes is None:
            num_classes = add(maximum(reduce_max(predictions), reduce_max(labels)), 1)
        else:
            num_classes = cast(num_classes, dt.int64)
            labels = _below(labels, num_classes, "`labels` out of bound")
            predictions = _below(predictions, num_classes, "`predictions` out of bound")
        if weights is not None:
            weights = convert_to_tensor(weights, name="weights")
            predictions.shape.assert_is_compatible_with(weights.shape)
            weights = cast(weights, dtype)
        values = ones_like(predictions, dtype) if weights is None else weights
        shape = stack([num_classes, num_classes])
        return scatter_nd(stack([labels, predictions], axis=1), values, cast(shape, dt.int64))


def _checked(check: Any, tensor: Any, message: str) -> Any:
    return _after(check(tensor, message=message), tensor)


def _below(tensor: Any, limit: Any, message: str) -> Any:
    return _after(assert_less_v1(tensor, limit, message=message), tensor)


def _after(check: Any, tensor: Any) -> Any:
    if check is None:
        return tensor
    with control_dependencies([check]):
        return identity(tensor)


def confusion_matrix_v1(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = dt.int32,
    name: str | None = None,
    weights: Any = None,
) -> Any:
    """`confusion_matrix` with the older order of arguments."""
    return confusion_matrix(labels, predictions, num_classes, weights, dtype, name)
