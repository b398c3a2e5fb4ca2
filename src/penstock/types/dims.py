"""Pure functions on dimensions, the form of shapes that shape rules work on.

``Dims`` is a tuple with one entry for each dimension, an ``int`` or ``None`` where the size is
unknown; ``None`` in place of the tuple means that the rank is unknown too. All functions take and
return values of this form, never change their arguments, and raise ``ValueError`` that names both
values when shapes contradict each other. `TensorShape` is the public face of the same thing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce as _fold
from math import prod
from typing import TypeAlias

Dim: TypeAlias = int | None
Dims: TypeAlias = tuple[Dim, ...] | None


def text(dims: Dims) -> str:
    """Writes dimensions as TensorFlow does.

    Example:
      >>> text((2, None)), text((3,)), text(()), text(None)
      ('(2, None)', '(3,)', '()', '<unknown>')
    """
    return "<unknown>" if dims is None else str(dims)


def bracketed(dims: Dims) -> str:
    """Writes dimensions as the kernels of TensorFlow do.

    Example:
      >>> bracketed((2, None)), bracketed(()), bracketed(None)
      ('[2,?]', '[]', '<unknown>')
    """
    if dims is None:
        return "<unknown>"
    return "[" + ",".join("?" if n is None else str(n) for n in dims) + "]"


def is_full(dims: Dims) -> bool:
    """True when the rank and every dimension are known.

    Example:
      >>> is_full((2, 3)), is_full((2, None)), is_full(None)
      (True, False, False)
    """
    return dims is not None and None not in dims


def num_elements(dims: Dims) -> int | None:
    """The number of elements, or None when it is not known.

    Example:
      >>> num_elements((2, 3)), num_elements(()), num_elements((None, 2))
      (6, 1, None)
    """
    if dims is None or None in dims:
        return None
    return prod(dims)  # type: ignore[arg-type]  # no None in it


def compatible(a: Dims, b: Dims) -> bool:
    """True when one tensor could have both shapes.

    Example:
      >>> compatible((2, None), (None, 3)), compatible((2,), (3,)), compatible(None, (1,))
      (True, False, True)
    """
    if a is None or b is None or a == b:
        return True
    if len(a) != len(b):
        return False
    return all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


def merge(a: Dims, b: Dims) -> Dims:
    """What is known about a tensor of which both are true.

    Raises:
      ValueError: the two contradict each other.

    Example:
      >>> merge((2, None), (None, 3))
      (2, 3)
    """
    if a is None:
        return b
    if b is None or a == b:
        return a
    if not compatible(a, b):
        raise ValueError(f"Shapes {text(a)} and {text(b)} are not compatible")
    return tuple(y if x is None else x for x, y in zip(a, b, strict=True))


def union(a: Dims, b: Dims) -> Dims:
    """The narrowest shape that holds for both: the opposite of `merge`.

    Example:
      >>> union((2, 3), (2, 4)), union((2,), (2, 2))
      ((2, None), None)
    """
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


def is_subtype(a: Dims, b: Dims) -> bool:
    """True when every tensor of shape `a` also has shape `b`.

    Example:
      >>> is_subtype((2, 3), (2, None)), is_subtype((2, None), (2, 3))
      (True, False)
    """
    if b is None:
        return True
    if a is None or len(a) != len(b):
        return False
    return all(y is None or x == y for x, y in zip(a, b, strict=True))


def _broadcast_dim(x: Dim, y: Dim, a: Dims, b: Dims) -> Dim:
    if x == y or y == 1:
        return x
    if x == 1:
        return y
    if x is None:
        return y
    if y is None:
        return x
    raise ValueError(f"Incompatible shapes for broadcasting: {text(a)} and {text(b)}")


def broadcast(a: Dims, b: Dims) -> Dims:
    """The shape of an element-wise operation on two tensors.

    An unknown dimension beside a known one other than 1 takes the known size, because anything else
    could not run.

    Raises:
      ValueError: the shapes cannot be broadcast.

    Example:
      >>> broadcast((2, 1), (3,)), broadcast((None,), (1,)), broadcast((None,), (4,))
      ((2, 3), (None,), (4,))
    """
    if a == b:
        return a
    if a is None or b is None:
        return None
    na, nb = len(a), len(b)
    if na < nb:
        return b[: nb - na] + tuple(
            _broadcast_dim(x, y, a, b) for x, y in zip(a, b[nb - na :], strict=True)
        )
    return a[: na - nb] + tuple(
        _broadcast_dim(x, y, a, b) for x, y in zip(a[na - nb :], b, strict=True)
    )


def without_leading_ones(dims: Dims, rank: int) -> Dims:
    """The shape without axes of size 1 in front, as long as it has more than `rank` axes.

    Example:
      >>> without_leading_ones((1, 1, 3), 1), without_leading_ones((2, 3), 1)
      ((3,), (2, 3))
    """
    if dims is None:
        return None
    extra = 0
    while len(dims) - extra > rank and dims[extra] == 1:
        extra += 1
    return dims[extra:]


def broadcast_all(shapes: Iterable[Dims]) -> Dims:
    """The shape of an element-wise operation on any number of tensors; () for none.

    Raises:
      ValueError: two of the shapes cannot be broadcast.

    Example:
      >>> broadcast_all([(2, 1), (3,), ()])
      (2, 3)
    """
    scalar: Dims = ()
    return _fold(broadcast, shapes, scalar)


def concat(*parts: Dims) -> Dims:
    """One shape after the other; unknown when one has an unknown rank.

    Example:
      >>> concat((1, 2), (None,)), concat((1,), None)
      ((1, 2, None), None)
    """
    out: tuple[Dim, ...] = ()
    for part in parts:
        if part is None:
            return None
        out += part
    return out


def normalize_axis(axis: int, rank: int | None) -> int:
    """The non-negative form of an axis.

    Args:
      axis: from -rank to rank - 1.
      rank: the rank of the tensor; when None, the axis comes back as it is.

    Raises:
      ValueError: the axis is outside the rank.

    Example:
      >>> normalize_axis(-1, 3)
      2
    """
    if rank is None:
        return axis
    if -rank <= axis < rank:
        return axis + rank if axis < 0 else axis
    raise ValueError(f"axis {axis} is out of range [{-rank}, {rank}) for a tensor of rank {rank}")


def reduce(dims: Dims, axes: Iterable[int] | None, keepdims: bool = False) -> Dims:
    """The shape of a reduction.

    Args:
      dims: the shape of the input.
      axes: the axes to reduce, negative ones counted from the end; None reduces all.
      keepdims: whether reduced axes stay, with size 1.

    Raises:
      ValueError: an axis is outside the rank.

    Example:
      >>> reduce((2, 3, 4), [0, -1]), reduce((2, 3), None, keepdims=True)
      ((3,), (1, 1))
    """
    if dims is None:
        return () if axes is None and not keepdims else None
    rank = len(dims)
    gone = set(range(rank)) if axes is None else {normalize_axis(a, rank) for a in axes}
    if keepdims:
        return tuple(1 if i in gone else d for i, d in enumerate(dims))
    return tuple(d for i, d in enumerate(dims) if i not in gone)
