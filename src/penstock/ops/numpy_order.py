"""Order among the elements of arrays, with NumPy's signatures: positions of extremes, sorting."""

from collections.abc import Callable
from typing import Any

from penstock.ops import array_sort
from penstock.ops import math_scan as scan
from penstock.ops.array_basics import reshape
from penstock.ops.array_fill import zeros_like
from penstock.ops.array_shape import expand_dims
from penstock.ops.math_cast import cast
from penstock.ops.numpy_arrays import atleast_1d
from penstock.ops.numpy_dtypes import Value, as_tensor, default_int, positive_axis
from penstock.ops.numpy_ranks import any_rank, ones
from penstock.types import dtypes


def _position(
    name: str, run: Callable[..., Any], a: Value, axis: int | None, keepdims: bool
) -> Any:
    x = as_tensor(a)
    rank = any_rank(x)
    if x.dtype.is_bool:
        x = cast(x, dtypes.uint8)
    if axis is None or x.dims == ():
        x = reshape(x, [-1])
        found = run(x, axis=0)
        return reshape(found, ones(rank)) if keepdims else found
    along = positive_axis(axis, rank, name) if isinstance(rank, int) else axis
    found = run(x, axis=along)
    return expand_dims(found, along) if keepdims else found


def argmax(a: Value, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Where the largest element is; the first of several.

    Args:
      a: a tensor, array, number or list.
      axis: the axis to look along; None for the flat tensor.
      keepdims: keeps it with size 1.

    Returns:
      An int64 tensor.
    """
    return _position("argmax", scan.argmax, a, axis, keepdims)


def argmin(a: Value, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Where the smallest element is; the first of several.

    Args:
      a: a tensor, array, number or list.
      axis: the axis to look along; None for the flat tensor.
      keepdims: keeps it with size 1.

    Returns:
      An int64 tensor.
    """
    return _position("argmin", scan.argmin, a, axis, keepdims)


def _ordered(name: str, a: Value, axis: int | None, kind: str, order: Any) -> tuple[Any, int]:
    if order is not None:
        raise ValueError(f"{name}: expected order=None, got {order!r}. Tensors have no fields.")
    if kind not in ("quicksort", "stable", "mergesort", "heapsort"):
        raise ValueError(f"{name}: expected a kind of NumPy's, got {kind!r}. Use 'stable'.")
    x = as_tensor(a)
    if axis is None:
        return reshape(x, [-1]), 0
    return x, axis


def sort(
    a: Value,
    axis: int | None = -1,
    kind: str = "quicksort",
    order: Any = None,
    *,
    descending: bool = False,
    stable: bool = True,
) -> Any:
    """The elements in ascending order.

    Args:
      a: a tensor, array, number or list.
      axis: the axis to sort along; None for the flat tensor.
      kind: 'quicksort', 'stable', ...; all are stable here.
      order: must be None.
      descending: the largest first.
      stable: has no effect: equal elements keep their order.

    Returns:
      A tensor of the same dtype.
    """
    del stable
    way = "DESCENDING" if descending else "ASCENDING"
    x, along = _ordered("sort", a, axis, kind, order)
    if x.dtype.is_bool:
        return cast(array_sort.sort(cast(x, dtypes.int32), along, way), dtypes.bool_)
    return array_sort.sort(x, along, way)


def argsort(
    a: Value,
    axis: int | None = -1,
    kind: str = "quicksort",
    order: Any = None,
    *,
    descending: bool = False,
    stable: bool = True,
) -> Any:
    """The positions that put the elements in ascending order.

    Args:
      a: a tensor, array, number or list.
      axis: the axis to sort along; None for the flat tensor.
      kind: 'quicksort', 'stable', ...; all are stable here.
      order: must be None.
      descending: the largest first.
      stable: has no effect: equal elements keep their order.

    Returns:
      An int64 tensor.
    """
    del stable
    way = "DESCENDING" if descending else "ASCENDING"
    x, along = _ordered("argsort", a, axis, kind, order)
    if x.dtype.is_bool:
        x = cast(x, dtypes.int32)
    x = atleast_1d(x) if x.dims is None else x
    if x.dims == ():
        return cast(reshape(zeros_like(x), [1]), default_int())  # as NumPy sorts a number
    return cast(array_sort.argsort(x, along, way, stable=True), default_int())
