"""What operators made of several operators share: one dtype, names, joint stacks."""

from collections.abc import Sequence
from typing import Any

from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.base import LinearOperator
from penstock.types.dims import Dims


def checked_operators(operators: Sequence[Any], where: str) -> list[LinearOperator]:
    """The operators as a list.

    Raises:
      ValueError: there are none.
      TypeError: one is no operator, or they differ in dtype.
    """
    found = list(operators)
    if not found:
        raise ValueError(
            f"Argument `operators` must be a list of >=1 operators. Expected a non-empty list of "
            f"operators. Found: {found}. {where} needs at least one."
        )
    for operator in found:
        if not isinstance(operator, LinearOperator):
            raise TypeError(
                f"{where}: expected linear operators, got {operator!r}. Wrap a tensor in "
                "tf.linalg.LinearOperatorFullMatrix."
            )
    if len({operator.dtype for operator in found}) > 1:
        described = ", ".join(f"({o.name!r}, {o.dtype!r})" for o in found)
        raise TypeError(
            "Expected all operators to have the same dtype.  Found "
            f"{described}. Make them with tensors of one dtype."
        )
    return found


def joined_name(name: str | None, operators: Sequence[LinearOperator], sign: str) -> str:
    """The name given, or the operators' names with a sign in between."""
    return name or f"_{sign}_".join(operator.name for operator in operators)


def joint_batch(where: str, operators: Sequence[LinearOperator]) -> Dims:
    """The static shape that the operators' stacks broadcast to."""
    return v.broadcast_batches(where, *[o.batch_shape.dims_tuple for o in operators])


def joint_batch_tensor(operators: Sequence[LinearOperator]) -> Any:
    """The shape that the operators' stacks broadcast to, int32."""
    return v.broadcast_shapes(*[operator.batch_shape_tensor() for operator in operators])
