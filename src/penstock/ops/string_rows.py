"""Functions of a vector of strings that give rows, over strings of any rank."""

from collections.abc import Callable
from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.ops.array_shape import expand_dims
from penstock.ops.ragged_tensor import RaggedTensor
from penstock.types import dtypes as dt


def as_rows(value: Any) -> Any:
    """A tensor, or a ragged one as it is; the operation says what it thinks of another dtype."""
    if isinstance(value, RaggedTensor):
        return value
    return convert_to_tensor(value, preferred_dtype=dt.string)


def as_strings(value: Any) -> Any:
    """The same; lists and arrays of anything but strings are refused when they are converted."""
    if isinstance(value, (RaggedTensor, Tensor, int, float, complex)):
        return as_rows(value)
    return convert_to_tensor(value, dt.string)


def over_rows(value: Any, function: Callable[[Tensor], list[RaggedTensor]]) -> list[Any]:
    """`function`, which takes a vector of strings to ragged tensors, over strings of any rank.

    Args:
      value: string or ragged string.
      function: gives ragged tensors with a row for each string.

    Returns:
      Ragged tensors of one more dimension than `value`; vectors for a scalar.

    Raises:
      ValueError: the rank is unknown.
    """
    text = as_rows(value)
    if isinstance(text, RaggedTensor):
        inner = over_rows(text.flat_values, function)
        return [text.with_flat_values(rows) for rows in inner]
    if text.dims is None:
        raise ValueError(
            "Rank of input must be statically known: expected strings of known rank, got a tensor"
            " of unknown rank. Use set_shape, or tf.ensure_shape."
        )
    rank = len(text.dims)
    if rank == 0:
        return [rows.values for rows in function(expand_dims(text, 0))]
    if rank == 1:
        return function(text)
    return over_rows(RaggedTensor.from_tensor(text, ragged_rank=rank - 1), function)
