"""Choosing elements in `tf.experimental.numpy`: by conditions and by positions."""

from collections.abc import Sequence
from typing import Any

from penstock.core.convert import convert_to_tensor
from penstock.ops import array_join, array_shape
from penstock.ops.array_basics import reshape as tensor_reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_gather import gather
from penstock.ops.array_select import where as tensor_where
from penstock.ops.math_cast import cast
from penstock.ops.math_compare import less
from penstock.ops.math_reduce import reduce_prod
from penstock.ops.numpy_arrays import atleast_1d, moveaxis, ravel
from penstock.ops.numpy_dtypes import (
    Value,
    as_tensor,
    positive_axis,
    promoted,
)
from penstock.ops.numpy_elementwise import as_bool
from penstock.ops.numpy_ranks import size_along, together
from penstock.types.dims import broadcast, is_full


def where(condition: Value, x: Value = None, y: Value = None) -> Any:
    """`x` where a condition holds and `y` elsewhere; or where it holds.

    Args:
      condition: a tensor, array or list; nonzero counts as true.
      x: values.
      y: values.

    Returns:
      A tensor of the common dtype; the result of `nonzero` without x and y.

    Raises:
      ValueError: only one of x and y is given.
    """
    if (x is None) != (y is None):
        raise ValueError("where: expected both x and y, or neither, got one. Pass the other too.")
    if x is None:
        return nonzero(condition)
    return tensor_where(as_bool(as_tensor(condition)), *promoted(x, y))


def nonzero(a: Value) -> list[Any]:
    """The positions of elements other than zero.

    Args:
      a: a tensor, array or list.

    Returns:
      A list with one int64 vector for each axis.
    """
    x = atleast_1d(as_tensor(a))
    return list(array_join.unstack(tensor_where(as_bool(x)), len(x.shape), axis=1))


def select(condlist: Sequence[Value], choicelist: Sequence[Value], default: Value = 0) -> Any:
    """For each position the value beside the first condition that holds.

    Args:
      condlist: bools.
      choicelist: as many values.
      default: where none holds.

    Returns:
      A tensor of the common dtype.

    Raises:
      ValueError: the lists differ in length, or are empty.
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(
            f"select: expected as many conditions as choices, and one at least, got {len(condlist)}"
            f" and {len(choicelist)}. Put what is left over into default."
        )
    *choices, found = promoted(*choicelist, default)
    for condition, choice in zip(list(condlist)[::-1], choices[::-1], strict=True):
        found = tensor_where(as_bool(as_tensor(condition)), choice, found)
    return found


def compress(condition: Value, a: Value, axis: int | None = None) -> Any:
    """The positions along an axis where a condition holds.

    Args:
      condition: a bool vector; positions after its end count as false.
      a: a tensor, array or list.
      axis: which; None for the flat tensor.

    Returns:
      A tensor.
    """
    x = as_tensor(a)
    if axis is None:
        x, axis = ravel(x), 0
    chosen = tensor_where(as_bool(as_tensor(condition)))
    return gather(x, tensor_reshape(chosen, [-1]), axis=axis)


def take(
    a: Value, indices: Value, axis: int | None = None, out: Any = None, mode: str = "clip"
) -> Any:
    """Positions along an axis.

    Args:
      a: a tensor, array or list.
      indices: integers.
      axis: which; None for the flat tensor.
      out: must be None.
      mode: 'clip' or 'wrap', for positions outside.

    Returns:
      A tensor.

    Raises:
      ValueError: `out` is given, or another mode.
    """
    if out is not None or mode not in ("clip", "wrap"):
        raise ValueError(
            f"take: expected out=None and mode 'clip' or 'wrap', got out={out!r} and mode={mode!r}."
            " Tensors are not written to; use tf.gather for an error at positions outside."
        )
    x, index = as_tensor(a), as_tensor(indices)
    if index.dtype.is_bool:
        raise TypeError("take: expected integers, got bools. Use compress for a condition.")
    if axis is None:
        x, axis = ravel(x), 0
    along = axis if x.dims is None else positive_axis(axis, len(x.dims), "take")
    count = cast(convert_to_tensor(size_along(x, along)), index.dtype)
    return gather(x, _inside(index, count, mode), axis=along)


def _inside(index: Any, count: Any, mode: str) -> Any:
    return index % count if mode == "wrap" else np_clip(index, count)


def np_clip(index: Any, count: Any) -> Any:
    """Positions moved into the range; negative ones become 0."""
    zero = index - index
    low = tensor_where(less(index, zero), zero, index)
    return tensor_where(less(low, count), low, zero + count - 1)


def take_along_axis(arr: Value, indices: Value, axis: int | None) -> Any:
    """For each position of `indices`, the element of the same row at that position.

    Args:
      arr: a tensor, array or list.
      indices: integers of the same rank.
      axis: along which; None for the flat tensor.

    Returns:
      A tensor of the broadcast shape of `indices`.

    Raises:
      ValueError: the ranks differ.
    """
    x, index = as_tensor(arr), as_tensor(indices)
    if axis is None:
        x, axis = ravel(x), 0
    if None not in (x.dims, index.dims) and len(x.dims) != len(index.dims):
        raise ValueError(
            f"take_along_axis: expected two tensors of one rank, got shapes {x.shape} and"
            f" {index.shape}. Put axes of size 1 into the indices."
        )
    along = axis if x.dims is None else positive_axis(axis, len(x.dims), "take_along_axis")
    if is_full(x.dims) and is_full(index.dims):
        return _take_along_known(x, index, along)
    x, index = moveaxis(x, along, -1), moveaxis(index, along, -1)
    count, wanted = (convert_to_tensor(size_along(t, -1)) for t in (x, index))
    common = array_shape.broadcast_dynamic_shape(shape_of(x)[:-1], shape_of(index)[:-1])
    total = reduce_prod(common)
    rows = array_shape.broadcast_to(x, together(common, [count]))
    rows = tensor_reshape(rows, [total, count])
    index = array_shape.broadcast_to(index, together(common, [wanted]))
    places = tensor_reshape(index, [total, wanted])
    places = tensor_where(less(places, places - places), places + cast(count, places.dtype), places)
    found = tensor_reshape(gather(rows, places, axis=1, batch_dims=1), shape_of(index))
    found.set_shape(index.shape)
    return moveaxis(found, -1, along)


def _take_along_known(x: Any, index: Any, along: int) -> Any:
    """`take_along_axis` of known shapes, in few operations."""
    last = along == len(x.dims) - 1
    if not last:
        x, index = moveaxis(x, along, -1), moveaxis(index, along, -1)
    lead = broadcast(x.dims[:-1], index.dims[:-1])
    x, index = (
        t if t.dims[:-1] == lead else array_shape.broadcast_to(t, (*lead, t.dims[-1]))  # type: ignore[misc]
        for t in (x, index)
    )
    index = tensor_where(less(index, 0), index + x.dims[-1], index)
    found = gather(x, index, axis=-1, batch_dims=len(x.dims) - 1)
    return found if last else moveaxis(found, -1, along)
