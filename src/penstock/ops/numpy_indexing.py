"""`tensor[...]` with NumPy's advanced indices: lists and tensors of integers and bools.

First the plain items (integers, slices, None, `...`) are taken as usual; then one gather reads the
axes of the others, which broadcast against each other.
"""

import functools
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.context import state
from penstock.core.tensor import Tensor
from penstock.ops import array_getitem, numpy_choosing, numpy_dtypes
from penstock.ops.array_basics import shape_of
from penstock.ops.array_gather import gather, gather_nd
from penstock.ops.array_join import stack
from penstock.ops.array_order import transpose as reorder
from penstock.ops.array_select import where
from penstock.ops.array_shape import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    broadcast_to,
)
from penstock.types import dtypes


def _is_advanced(item: Any) -> bool:
    if isinstance(item, (list, bool, np.bool_)):
        return True
    if isinstance(item, (Tensor, np.ndarray)):
        return item.ndim != 0 or item.dtype in (dtypes.bool_, np.bool_)
    return False


def getitem(tensor: Any, slice_spec: Any, name: str | None = None) -> Any:
    """`tensor[slice_spec]` with NumPy's advanced indices.

    Args:
      tensor: any tensor of known rank, where an index is a list or tensor.
      slice_spec: integers, slices, None, `...`, and lists or tensors of integers or bools.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype.

    Raises:
      IndexError: an index is none of these.
      InvalidArgumentError, ValueError: a position is out of range, or lists and tensors of indices
        do not broadcast.
    """
    items = list(slice_spec) if isinstance(slice_spec, tuple) else [slice_spec]
    advanced = any(_is_advanced(item) for item in items)
    if advanced and not (
        len(items) == 1 and isinstance(items[0], (Tensor, np.ndarray)) and _is_mask(items[0])
    ):
        return _advanced(tensor, items)
    try:
        return array_getitem.getitem(tensor, items[0] if advanced else slice_spec, name)
    except TypeError as problem:
        raise _no_index(slice_spec, problem) from None


def _no_index(item: Any, problem: object = "") -> IndexError:
    return IndexError(
        "getitem: expected only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`)"
        f" and integer or boolean arrays as indices, got {item!r}. Cast floats to integers."
        + (f" ({problem})" if problem else "")
    )


def _is_mask(item: Any) -> bool:
    return bool(item.dtype in (dtypes.bool_, np.bool_))


def _index(item: Any) -> Any:
    """A list or array as a tensor of positions, or a mask; an empty list has no positions.

    Raises:
      IndexError: it holds neither integers nor bools.
    """
    if isinstance(item, list) and not item:
        return numpy_dtypes.as_tensor(item, np.int64)
    index = numpy_dtypes.as_tensor(item)
    if not (index.dtype.is_integer or index.dtype.is_bool):
        raise _no_index(item)
    return index


def _expanded(tensor: Any, items: list[Any]) -> list[Any]:
    """The items with masks as positions and `...` as slices."""
    found: list[Any] = []
    for item in items:
        if _is_advanced(item):
            index = _index(item)
            found += numpy_choosing.nonzero(index) if index.dtype.is_bool else [index]
        else:
            found.append(item)
    used = sum(1 for item in found if item is not None and item is not Ellipsis)
    missing = numpy_dtypes.rank_of(tensor, "getitem") - used
    place = next((i for i, item in enumerate(found) if item is Ellipsis), len(found))
    return found[:place] + [slice(None)] * missing + found[place + 1 :]


def _common_shape(indices: list[Any]) -> Any:
    shape = indices[0].shape
    for index in indices[1:]:
        try:
            shape = broadcast_static_shape(shape, index.shape)
        except ValueError:
            text = (
                "getitem: expected lists and tensors of indices of one broadcast shape, got"
                f" {' and '.join(str(i.shape) for i in indices)}. Give them the same length."
            )
            if state.graph is None:
                raise errors.InvalidArgumentError(None, None, text) from None
            raise ValueError(text) from None
    return shape


def _broadcast(indices: list[Any]) -> list[Any]:
    shape = _common_shape(indices)
    if not shape.is_fully_defined():
        sizes = [shape_of(index, dtypes.int64) for index in indices]
        shape = functools.reduce(broadcast_dynamic_shape, sizes)
    elif all(index.shape == shape for index in indices):
        return indices
    return [broadcast_to(index, shape) for index in indices]


def _from_start(tensor: Any, axis: int, index: Any) -> Any:
    """Positions of an axis with the negative ones, which count from its end, from its start."""
    size = tensor.dims[axis]
    if size is None:
        size = shape_of(tensor, dtypes.int64)[axis]
    return where(index < 0, index + numpy_dtypes.as_tensor(size, np.int64), index)


def _is_array(item: Any) -> bool:
    return isinstance(item, Tensor) and item.ndim != 0


def _advanced(tensor: Any, items: list[Any]) -> Any:
    """First the plain items, then one gather over the axes of the others."""
    expanded = _expanded(tensor, items)
    plain = tuple(slice(None) if _is_array(item) else item for item in expanded)
    rest = array_getitem.getitem(tensor, plain)
    left = [i for i in expanded if i is None or isinstance(i, slice) or _is_array(i)]
    axes = [i for i, item in enumerate(left) if _is_array(item)]
    indices = [numpy_dtypes.as_tensor(left[i], np.int64) for i in axes]
    indices = [_from_start(rest, *at) for at in zip(axes, indices, strict=True)]
    if len(axes) == 1:
        return gather(rest, indices[0], axis=axes[0])
    parts = _broadcast(indices)
    others = [i for i in range(len(rest.dims)) if i not in axes]
    found = gather_nd(reorder(rest, axes + others), stack(parts, axis=-1))
    together = axes == list(range(axes[0], axes[0] + len(axes)))
    if not together or axes[0] == 0:
        return found
    count, lead = len(parts[0].dims), axes[0]
    order = [*range(count, count + lead), *range(count), *range(count + lead, len(found.dims))]
    return reorder(found, order)
