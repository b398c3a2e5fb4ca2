"""Shapes and axes in `tf.experimental.numpy`."""

from typing import Any

import numpy as np

from penstock.ops import array_order, array_shape
from penstock.ops.array_basics import reshape as tensor_reshape
from penstock.ops.numpy_dtypes import (
    Value,
    as_tensor,
    positive_axis,
    rank_of,
)
from penstock.ops.numpy_ranks import any_rank, at_least_zero, grown, one_if, order_of, sizes_of
from penstock.types.tensor_shape import TensorShape


def shape(a: Value) -> Any:
    """The shape.

    Args:
      a: a tensor, array, number or nested list.

    Returns:
      A TensorShape.
    """
    return as_tensor(a).shape


def size(x: Value, axis: Any = None) -> Any:
    """The number of elements.

    Args:
      x: a tensor, array, number or nested list.
      axis: must be None.

    Returns:
      An integer; an int32 tensor when it is known only as the graph runs.

    Raises:
      NotImplementedError: an axis is given.
    """
    if axis is not None:
        raise NotImplementedError(
            f"size: expected axis=None, got axis={axis}. Take it from the shape: x.shape[axis]."
        )
    if isinstance(x, (int, float, complex)):
        return 1
    tensor = as_tensor(x)
    if tensor.shape.is_fully_defined():
        return np.prod(tensor.shape.as_list(), dtype=np.int64)
    return array_shape.size(tensor)


def reshape(a: Value, newshape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    """The elements in another shape.

    Args:
      a: a tensor, array, number or nested list.
      newshape: an integer or integers; -1 for what is left.
      order: 'C' (last axis first) or 'F' (first axis first).
      copy: has no effect, since tensors are not written to.

    Returns:
      A tensor.

    Raises:
      ValueError: another order.
    """
    del copy
    _check_order("reshape", order)
    x = as_tensor(a)
    dims = [newshape] if isinstance(newshape, (int, np.integer)) else newshape
    if order == "C":
        return tensor_reshape(x, dims)
    turned = list(dims)[::-1]
    return array_order.transpose(tensor_reshape(array_order.transpose(x), turned))


def _check_order(name: str, order: str) -> None:
    if order not in ("C", "F"):
        raise ValueError(f"{name}: expected order 'C' or 'F', got {order!r}. Leave it out for 'C'.")


def ravel(a: Value) -> Any:
    """The elements in a vector.

    Args:
      a: a tensor, array, number or nested list.

    Returns:
      A vector.
    """
    return tensor_reshape(as_tensor(a), [-1])


def flatten(a: Value, order: str = "C") -> Any:
    """The elements in a vector.

    Args:
      a: a tensor, array, number or nested list.
      order: 'C' (last axis first) or 'F' (first axis first).

    Returns:
      A vector.
    """
    return reshape(a, [-1], order)


def transpose(a: Value, axes: Any = None) -> Any:
    """The axes in another order.

    Args:
      a: a tensor, array, number or nested list.
      axes: the new order; turned round by default.

    Returns:
      A tensor.
    """
    x = as_tensor(a)
    if axes is None:
        return array_order.transpose(x)
    rank = len(axes) if x.dims is None else len(x.dims)
    return array_order.transpose(x, [positive_axis(i, rank, "transpose") for i in axes])


def swapaxes(a: Value, axis1: int, axis2: int) -> Any:
    """Two axes exchanged.

    Args:
      a: a tensor, array or nested list.
      axis1: one axis.
      axis2: the other.

    Returns:
      A tensor.
    """
    x = as_tensor(a)
    if x.dims is None:
        return x if axis1 == axis2 else moveaxis(x, (axis1, axis2), (axis2, axis1))
    rank = len(x.dims)
    order = list(range(rank))
    i, j = (positive_axis(v, rank, "swapaxes") for v in (axis1, axis2))
    order[i], order[j] = j, i
    return array_order.transpose(x, order)


def moveaxis(a: Value, source: Any, destination: Any) -> Any:
    """Axes at other places.

    Args:
      a: a tensor, array or nested list.
      source: an axis or axes.
      destination: where they go.

    Returns:
      A tensor.

    Raises:
      ValueError: the two differ in length, or an axis is named twice.
    """
    x = as_tensor(a)
    rank = None if x.dims is None else len(x.dims)
    first, last = (axes_of(v, rank, "moveaxis") for v in (source, destination))
    if len(first) != len(last):
        raise ValueError(
            f"moveaxis: expected as many sources as destinations, got {source} and {destination}."
            " Name a place for each axis."
        )
    if rank is None:
        return array_order.transpose(x, order_of(x, first, last))
    order = [i for i in range(rank) if i not in first]
    for place, axis in sorted(zip(last, first, strict=True)):
        order.insert(place, axis)
    return array_order.transpose(x, order)


def axes_of(axes: Any, rank: int | None, name: str) -> list[int]:
    """Axes that a caller gave, from 0 on; an error when one of them does not exist.

    They are as they were given where the rank is unknown.
    """
    listed = list(axes) if isinstance(axes, (list, tuple)) else [axes]
    found = [int(i) if rank is None else positive_axis(i, rank, name) for i in listed]
    if len(set(found)) < len(found):
        raise ValueError(f"{name}: expected different axes, got {axes}. Name each axis once.")
    return found


def expand_dims(a: Value, axis: Any) -> Any:
    """A new axis of size 1.

    Args:
      a: a tensor, array, number or nested list.
      axis: where; several places in a tuple.

    Returns:
      A tensor.
    """
    x = as_tensor(a)
    if not isinstance(axis, (list, tuple)):
        return array_shape.expand_dims(x, axis)
    rank = rank_of(x, "expand_dims") + len(axis)
    for place in sorted(axes_of(axis, rank, "expand_dims")):
        x = array_shape.expand_dims(x, place)
    return x


def squeeze(a: Value, axis: Any = None) -> Any:
    """Without axes of size 1.

    Args:
      a: a tensor, array, number or nested list.
      axis: which; all by default.

    Returns:
      A tensor.
    """
    return array_shape.squeeze(as_tensor(a), axis=list(axis) if isinstance(axis, tuple) else axis)


def _at_least(rank: int, arys: tuple[Value, ...], grow: Any) -> Any:
    found = []
    for value in arys:
        x = as_tensor(value)
        have = any_rank(x)
        found.append(x if isinstance(have, int) and have >= rank else grow(x, have))
    return found[0] if len(found) == 1 else found


def atleast_1d(*arys: Value) -> Any:
    """Scalars as vectors.

    Args:
      *arys: tensors, arrays, numbers or nested lists.

    Returns:
      A tensor, or a list of them.
    """
    return _at_least(1, arys, lambda x, have: grown(x, at_least_zero(1 - have)))


def atleast_2d(*arys: Value) -> Any:
    """Scalars and vectors as rows.

    Args:
      *arys: tensors, arrays, numbers or nested lists.

    Returns:
      A tensor, or a list of them.
    """
    return _at_least(2, arys, lambda x, have: grown(x, at_least_zero(2 - have)))


def atleast_3d(*arys: Value) -> Any:
    """Axes of size 1 up to rank 3: around a vector, after a matrix.

    Args:
      *arys: tensors, arrays, numbers or nested lists.

    Returns:
      A tensor, or a list of them.
    """

    def grow(x: Any, have: Any) -> Any:
        before = one_if(have < 2)
        return grown(x, before, at_least_zero(3 - have - before))

    return _at_least(3, arys, grow)


def broadcast_to(array: Value, shape: Any) -> Any:
    """A value repeated to a shape.

    Args:
      array: a tensor, array, number or nested list.
      shape: integers.

    Returns:
      A tensor.
    """
    dims = [shape] if isinstance(shape, (int, np.integer)) else shape
    return array_shape.broadcast_to(as_tensor(array), dims)


def broadcast_arrays(*args: Value, **kwargs: Any) -> list[Any]:
    """Values repeated to the shape that they share.

    Args:
      *args: tensors, arrays, numbers or nested lists.
      **kwargs: `subok`, which must be False.

    Returns:
      A list of tensors.

    Raises:
      ValueError: another keyword.
    """
    if kwargs.pop("subok", False) or kwargs:
        raise ValueError(
            f"broadcast_arrays: expected only values, got {sorted(kwargs) or 'subok=True'}."
            " Tensors have no subclasses to keep."
        )
    tensors = [as_tensor(v) for v in args]
    common: Any = TensorShape([])
    for tensor in tensors:
        common = array_shape.broadcast_static_shape(common, tensor.shape)
    if common.is_fully_defined():
        return [array_shape.broadcast_to(t, common) for t in tensors]
    sizes: Any = sizes_of(tensors[0])
    for tensor in tensors[1:]:
        sizes = array_shape.broadcast_dynamic_shape(sizes, sizes_of(tensor))
    found = [array_shape.broadcast_to(t, sizes) for t in tensors]
    for each in found:
        each.set_shape(common)
    return found
