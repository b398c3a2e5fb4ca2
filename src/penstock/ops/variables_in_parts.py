"""`create_partitioned_variables` of the first generation: a variable's parts, as a list."""

from collections.abc import Callable, Sequence
from typing import Any

from penstock.ops.variable_scope import get_variable, variable_scope
from penstock.types.dtypes import float32


def create_partitioned_variables(
    shape: Sequence[int],
    slicing: Sequence[int],
    initializer: Any,
    dtype: Any = float32,
    trainable: bool = True,
    collections: Any = None,
    name: str | None = None,
    reuse: bool | None = None,
) -> list[Any]:
    """Makes a variable in parts along one axis.

    Args:
      shape: the shape of the whole.
      slicing: for each axis, into how many parts it is cut; all but one are 1.
      initializer: a function of shape and dtype, or a tensor of the whole's value.
      dtype: of the elements.
      trainable: whether optimizers change the parts.
      collections: graph collections the parts are added to; GLOBAL_VARIABLES when None.
      name: of the variable scope around the parts; "PartitionedVariable" when None.
      reuse: whether to take the parts of an earlier call; then `name` must be given.

    Returns:
      The parts, in order.

    Raises:
      ValueError: `slicing` does not fit `shape`, cuts more than one axis or has a part of no rows.

    Example:
      >>> from penstock.ops.initializers import Zeros
      >>> [v.shape for v in create_partitioned_variables([4, 2], [2, 1], Zeros())]
      [TensorShape([2, 2]), TensorShape([2, 2])]
    """
    if len(shape) != len(slicing):
        raise ValueError(
            "The 'shape' and 'slicing' of a partitioned Variable must have the length: shape:"
            f" {list(shape)}, slicing: {list(slicing)}. Give one number of parts for each axis."
        )
    if any(size < 1 for size in slicing):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {list(slicing)}")
    if sum(size > 1 for size in slicing) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {tuple(shape)}, partitioning:"
            f" {list(slicing)}. Let all numbers but one be 1."
        )

    def partitioner(**_: Any) -> list[int]:
        return list(slicing)

    def in_scope(getter: Callable[..., Any], name: str, **options: Any) -> Any:
        return getter(name.removesuffix("/whole"), **options)  # parts are named by the scope alone

    with variable_scope(name, "PartitionedVariable", reuse=reuse):
        whole = get_variable(
            "whole",
            shape=list(shape) if callable(initializer) else None,
            dtype=dtype,
            initializer=initializer,
            trainable=trainable,
            partitioner=partitioner,
            collections=collections,
            custom_getter=in_scope,
        )
    return list(whole)
