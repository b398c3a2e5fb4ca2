"""Shapes that are known only when the graph runs, for the functions of `tf.experimental.numpy`.

Shapes, ranks and axes are numbers where they are known, else int32 tensors: vectors for shapes,
scalars for ranks. What is made of them has the shape that NumPy would give it; statically its rank
is unknown where that of an argument is.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.ops.array_basics import reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.types import dtypes
from penstock.types.dims import is_full

Number = int | Tensor


def any_rank(x: Tensor) -> Number:
    """The rank of `x`."""
    return execute("Rank", (x,)) if x.dims is None else len(x.dims)


def sizes_of(x: Tensor) -> list[int] | Tensor:
    """The shape of `x`."""
    return list(x.dims) if is_full(x.dims) else shape_of(x)  # type: ignore[arg-type]


def size_along(x: Tensor, axis: int) -> Number:
    """The size of one axis of `x`."""
    known = None if x.dims is None else x.dims[axis]
    return shape_of(x)[axis] if known is None else known


def together(*parts: Any) -> Tensor:
    """Vectors of sizes, one after the other: lists of numbers, and tensors."""
    vectors = [convert_to_tensor(part, dtypes.int32) for part in parts if not _nothing(part)]
    joined: Tensor = execute("ConcatV2", (vectors, np.int32(0))) if len(vectors) > 1 else vectors[0]
    return joined


def _nothing(part: Any) -> bool:
    return isinstance(part, (list, tuple)) and not part


def ones(count: Number) -> list[int] | Tensor:
    """As many sizes of 1."""
    if isinstance(count, int):
        return [1] * count
    return execute("Fill", (reshape(count, [1]), np.int32(1)))  # type: ignore[no-any-return]


def numbers_to(count: Number) -> Tensor:
    """The numbers from 0 to below `count`."""
    if isinstance(count, int):
        return convert_to_tensor(np.arange(count, dtype=np.int32))  # type: ignore[no-any-return]
    return execute("Range", (np.int32(0), count, np.int32(1)))  # type: ignore[no-any-return]


def at_least_zero(count: Number) -> Number:
    """`count`, or 0 where that is less."""
    if isinstance(count, int):
        return max(count, 0)
    return execute("Maximum", (count, np.int32(0)))  # type: ignore[no-any-return]


def one_if(condition: Any) -> Number:
    """1 where a comparison of ranks holds, else 0."""
    if isinstance(condition, Tensor):
        return execute("Cast", (condition,), {"DstT": dtypes.int32})  # type: ignore[no-any-return]
    return int(condition)


def grown(x: Tensor, before: Number, after: Number = 0) -> Tensor:
    """`x` with axes of size 1 in front and at the end."""
    if isinstance(before, int) and isinstance(after, int) and x.dims is not None:
        if not before and not after:
            return x
        if is_full(x.dims):
            return reshape(x, [1] * before + list(x.dims) + [1] * after)  # type: ignore[no-any-return]
        for place in [0] * before + [-1] * after:
            x = execute("ExpandDims", (x, np.int32(place)))
        return x
    return reshape(x, together(ones(before), sizes_of(x), ones(after)))  # type: ignore[no-any-return]


def order_of(x: Tensor, source: Sequence[int], destination: Sequence[int]) -> Tensor:
    """The order of axes of `x`, of unknown rank, in which those of `source` stand elsewhere."""
    rank = any_rank(x)
    first, last = (_from_the_front(axes, rank) for axes in (source, destination))
    every = numbers_to(rank)
    kept, _ = execute("ListDiff", (every, first))
    places, _ = execute("ListDiff", (every, last))
    at = execute("ExpandDims", (together(last, places), np.int32(1)))
    return execute("ScatterNd", (at, together(first, kept), reshape(rank, [1])))  # type: ignore[no-any-return]


def _from_the_front(axes: Sequence[int], rank: Number) -> Tensor:
    given = convert_to_tensor(np.array(axes, np.int32))
    return execute("SelectV2", (given < 0, given + rank, given))  # type: ignore[no-any-return]
