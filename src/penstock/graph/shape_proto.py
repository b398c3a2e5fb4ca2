"""Shapes as messages: `Dims` to and from TensorShapeProto.

A message that is read may come from anywhere, so every size is checked before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock import errors
from penstock.types.dims import Dims
from penstock.types.tensor_shape import TensorShape

if TYPE_CHECKING:
    from penstock.proto.tensor_shape_pb2 import TensorShapeProto

MAX_RANK = 254
_MAX_SIZE = 2**63 - 1


def dims_to_proto(dims: Dims) -> TensorShapeProto:
    """The message of a shape; None stands for an unknown size, or for an unknown rank."""
    return TensorShape.from_dims(dims).as_proto()


def dims_from_proto(message: TensorShapeProto, where: str = "TensorShapeProto") -> Dims:
    """The shape that a message says.

    Args:
      message: what was read.
      where: what the shape belongs to, for the error.

    Raises:
      InvalidArgumentError: a size below -1, more than 254 dimensions, or dimensions besides an
        unknown rank.
    """
    if message.unknown_rank:
        if message.dim:
            raise _refusal(where, "no sizes with an unknown rank", f"{len(message.dim)} of them")
        return None
    if len(message.dim) > MAX_RANK:
        raise _refusal(where, f"at most {MAX_RANK} dimensions", str(len(message.dim)))
    sizes = [dim.size for dim in message.dim]
    if min(sizes, default=0) < -1:
        raise _refusal(where, "sizes of at least -1 (unknown)", str(sizes))
    return tuple(None if size < 0 else size for size in sizes)


def full_dims_from_proto(
    message: TensorShapeProto, where: str = "TensorShapeProto"
) -> tuple[int, ...]:
    """The shape that a message says, for a value: every size must be known.

    Raises:
      InvalidArgumentError: as `dims_from_proto`, or an unknown size or rank.
    """
    dims = dims_from_proto(message, where)
    if dims is None:
        raise _refusal(where, "the shape of a value", "an unknown rank")
    known = tuple(size for size in dims if size is not None)
    if len(known) < len(dims):
        raise _refusal(where, "the shape of a value", f"unknown sizes in {list(dims)}")
    return known


def _refusal(where: str, expected: str, got: str) -> errors.InvalidArgumentError:
    text = errors.located(where, expected, got, "The message is damaged or from another program.")
    return errors.InvalidArgumentError(None, None, text)
