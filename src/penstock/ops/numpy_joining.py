"""Joining, taking apart and repeating in `tf.experimental.numpy`."""

import itertools
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.ops import array_join, array_split, array_tile
from penstock.ops.array_basics import reshape as tensor_reshape
from penstock.ops.math_cast import cast
from penstock.ops.numpy_arrays import atleast_1d, atleast_2d, atleast_3d, moveaxis, ravel
from penstock.ops.numpy_choosing import nonzero
from penstock.ops.numpy_dtypes import (
    Value,
    as_tensor,
    positive_axis,
    promoted,
    rank_of,
)
from penstock.ops.numpy_ranks import (
    any_rank,
    at_least_zero,
    grown,
    one_if,
    ones,
    size_along,
    together,
)
from penstock.types import dtypes


def _joined(arys: Any) -> list[Any]:
    if not isinstance(arys, (list, tuple)):
        arys = array_join.unstack(as_tensor(arys))
    return promoted(*arys)


def concatenate(arys: Any, axis: int | None = 0) -> Any:
    """Values one after the other along an axis.

    Args:
      arys: tensors, arrays or lists.
      axis: which; None joins the flat tensors.

    Returns:
      A tensor of their common dtype.

    Raises:
      ValueError: there is none.
    """
    tensors = _joined(arys)
    if not tensors:
        raise ValueError("concatenate: expected at least one array, got none.")
    if axis is None:
        return array_join.concat([ravel(t) for t in tensors], 0)
    return array_join.concat(tensors, axis)


def append(arr: Value, values: Value, axis: int | None = None) -> Any:
    """Values after the end of a tensor.

    Args:
      arr: a tensor, array or list.
      values: what follows.
      axis: which; None joins the flat tensors.

    Returns:
      A tensor.
    """
    return concatenate((arr, values), axis)


def stack(arrays: Any, axis: int = 0) -> Any:
    """Values along a new axis.

    Args:
      arrays: tensors, arrays, numbers or lists of one shape.
      axis: where it goes.

    Returns:
      A tensor of their common dtype.
    """
    if isinstance(arrays, Tensor):  # its rows are the values
        return arrays if axis == 0 else moveaxis(arrays, 0, axis)
    return array_join.stack(_joined(arrays), axis=axis)


def _listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def vstack(tup: Any) -> Any:
    """Values below each other.

    Args:
      tup: tensors, arrays or lists; a vector is a row.

    Returns:
      A tensor.
    """
    return array_join.concat(_listed(atleast_2d(*_joined(tup))), 0)


def hstack(tup: Any) -> Any:
    """Values beside each other: along the second axis, or the first of vectors.

    Args:
      tup: tensors, arrays or lists.

    Returns:
      A tensor.
    """
    tensors = _listed(atleast_1d(*_joined(tup)))
    return array_join.concat(tensors, one_if(any_rank(tensors[0]) > 1))


def dstack(tup: Any) -> Any:
    """Values behind each other, along the third axis.

    Args:
      tup: tensors, arrays or lists.

    Returns:
      A tensor.
    """
    return array_join.concat(_listed(atleast_3d(*_joined(tup))), 2)


def split(ary: Value, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Parts along an axis.

    Args:
      ary: a tensor, array or list.
      indices_or_sections: how many equal parts, or where the parts begin.
      axis: which.

    Returns:
      A list of tensors.
    """
    x = as_tensor(ary)
    if isinstance(indices_or_sections, (int, np.integer)):
        return list(array_split.split(x, int(indices_or_sections), axis=axis))
    bounds = [None, *[int(i) for i in indices_or_sections], None]
    parts = [slice(i, j) for i, j in itertools.pairwise(bounds)]
    if x.dims is None and axis < 0:
        return [x[(..., part, *(slice(None),) * (-axis - 1))] for part in parts]
    lead = (slice(None),) * (axis if x.dims is None else positive_axis(axis, len(x.dims), "split"))
    return [x[(*lead, part)] for part in parts]


def vsplit(ary: Value, indices_or_sections: Any) -> list[Any]:
    """Parts along the first axis; see `split`.

    Args:
      ary: a tensor, array or list of rank 2 or more.
      indices_or_sections: how many equal parts, or where the parts begin.

    Returns:
      A list of tensors.
    """
    return split(ary, indices_or_sections, 0)


def hsplit(ary: Value, indices_or_sections: Any) -> list[Any]:
    """Parts along the second axis, or the only one; see `split`.

    Args:
      ary: a tensor, array or list.
      indices_or_sections: how many equal parts, or where the parts begin.

    Returns:
      A list of tensors.
    """
    x = as_tensor(ary)
    if x.dims is None and isinstance(indices_or_sections, (int, np.integer)):
        along = one_if(any_rank(x) > 1)
        return list(array_split.split(x, int(indices_or_sections), axis=along))
    return split(x, indices_or_sections, 0 if rank_of(x, "hsplit") == 1 else 1)


def dsplit(ary: Value, indices_or_sections: Any) -> list[Any]:
    """Parts along the third axis; see `split`.

    Args:
      ary: a tensor, array or list of rank 3 or more.
      indices_or_sections: how many equal parts, or where the parts begin.

    Returns:
      A list of tensors.
    """
    return split(ary, indices_or_sections, 2)


def tile(a: Value, reps: Any) -> Any:
    """A value repeated as a whole.

    Args:
      a: a tensor, array, number or list.
      reps: how often along each axis; the last ones, when there are fewer.

    Returns:
      A tensor.
    """
    x = as_tensor(a)
    times = tensor_reshape(convert_to_tensor(reps, dtype_hint=dtypes.int32), [-1])
    times = cast(times, dtypes.int32)
    missing = size_along(times, 0) - any_rank(x)
    x = grown(x, at_least_zero(missing))
    return array_tile.tile(x, together(ones(at_least_zero(-missing)), times))


def repeat(a: Value, repeats: Any, axis: int | None = None) -> Any:
    """Each element several times.

    Args:
      a: a tensor, array, number or list.
      repeats: how often; one number, or one for each position.
      axis: along which; None for the flat tensor.

    Returns:
      A tensor.
    """
    return array_tile.repeat(as_tensor(a), repeats, axis)


def meshgrid(*xi: Value, **kwargs: Any) -> list[Any]:
    """Coordinates of a grid.

    Args:
      *xi: vectors.
      **kwargs: `indexing` ('xy' or 'ij'), `sparse` (must be False), `copy` (must be True).

    Returns:
      A list of tensors.

    Raises:
      ValueError: sparse, no copy, or an argument that is not known.
    """
    sparse, copied = kwargs.pop("sparse", False), kwargs.pop("copy", True)
    indexing = kwargs.pop("indexing", "xy")
    if sparse or not copied or kwargs:
        raise ValueError(
            f"meshgrid: expected indexing only, got sparse={sparse}, copy={copied} and"
            f" {sorted(kwargs)}. Use ix_ for open grids."
        )
    return list(array_tile.meshgrid(*[as_tensor(x) for x in xi], indexing=indexing))


def ix_(*args: Value) -> list[Any]:
    """Vectors as the axes of an open grid.

    Args:
      *args: vectors; one of bools counts as the positions that are true.

    Returns:
      A list of tensors, each with all but one axis of size 1.

    Raises:
      ValueError: one is no vector.
    """
    found = []
    for place, value in enumerate(args):
        x = as_tensor(value)
        if x.dims is not None and len(x.dims) != 1:
            raise ValueError(f"ix_: expected vectors, got shape {x.shape}. Flatten it first.")
        if x.dtype.is_bool:
            x = nonzero(x)[0]
        found.append(tensor_reshape(x, [1] * place + [-1] + [1] * (len(args) - place - 1)))
    return found
