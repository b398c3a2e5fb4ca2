"""Shapes, joining, taking apart and choosing elements in `tf.experimental.numpy`."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.ops import array_join, array_order, array_shape
from penstock.ops.array_basics import reshape as tensor_reshape
from penstock.ops.array_gather import gather
from penstock.ops.array_pad import pad as tensor_pad
from penstock.ops.array_select import where as tensor_where
from penstock.ops.math_arithmetic import add, subtract
from penstock.ops.math_compare import less, logical_xor
from penstock.ops.numpy_dtypes import (
    Value,
    as_tensor,
    positive_axis,
    promoted,
    rank_of,
)
from penstock.ops.numpy_elementwise import as_bool
from penstock.types import dtypes
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
      An integer; an int64 tensor when it is known only as the graph runs.

    Raises:
      NotImplementedError: an axis is given.
    """
    if axis is not None:
        raise NotImplementedError(
            f"size: expected axis=None, got axis={axis}. Take it from the shape: x.shape[axis]."
        )
    tensor = as_tensor(x)
    if tensor.shape.is_fully_defined():
        return np.prod(tensor.shape.as_list(), dtype=np.int64)
    return array_shape.size(tensor, dtypes.int64)


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
    rank = rank_of(x, "transpose")
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
    rank = rank_of(x, "swapaxes")
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
    rank = rank_of(x, "moveaxis")
    first, last = (_axes(v, rank, "moveaxis") for v in (source, destination))
    if len(first) != len(last):
        raise ValueError(
            f"moveaxis: expected as many sources as destinations, got {source} and {destination}."
            " Name a place for each axis."
        )
    order = [i for i in range(rank) if i not in first]
    for place, axis in sorted(zip(last, first, strict=True)):
        order.insert(place, axis)
    return array_order.transpose(x, order)


def _axes(axes: Any, rank: int, name: str) -> list[int]:
    listed = list(axes) if isinstance(axes, (list, tuple)) else [axes]
    found = [positive_axis(i, rank, name) for i in listed]
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
    for place in sorted(_axes(axis, rank, "expand_dims")):
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
        have = rank_of(x, f"atleast_{rank}d")
        found.append(x if have >= rank else grow(x, have))
    return found[0] if len(found) == 1 else found


def atleast_1d(*arys: Value) -> Any:
    """Scalars as vectors.

    Args:
      *arys: tensors, arrays, numbers or nested lists.

    Returns:
      A tensor, or a list of them.
    """
    return _at_least(1, arys, lambda x, have: tensor_reshape(x, [1]))


def atleast_2d(*arys: Value) -> Any:
    """Scalars and vectors as rows.

    Args:
      *arys: tensors, arrays, numbers or nested lists.

    Returns:
      A tensor, or a list of them.
    """
    return _at_least(2, arys, lambda x, have: tensor_reshape(x, [1, -1]))


def atleast_3d(*arys: Value) -> Any:
    """Axes of size 1 up to rank 3: around a vector, after a matrix.

    Args:
      *arys: tensors, arrays, numbers or nested lists.

    Returns:
      A tensor, or a list of them.
    """

    def grow(x: Any, have: int) -> Any:
        if have == 2:
            return array_shape.expand_dims(x, -1)
        return tensor_reshape(x, [1, -1, 1])

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
    return [array_shape.broadcast_to(t, common) for t in tensors]


# ---- joining and taking apart


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
    return array_join.concat(tensors, 0 if rank_of(tensors[0], "hstack") == 1 else 1)


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
        return list(array_join.split(x, int(indices_or_sections), axis=axis))
    along = positive_axis(axis, rank_of(x, "split"), "split")
    bounds = [None, *[int(i) for i in indices_or_sections], None]
    lead = (slice(None),) * along
    return [x[(*lead, slice(i, j))] for i, j in itertools.pairwise(bounds)]


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
    times = [reps] if isinstance(reps, (int, np.integer)) else [int(r) for r in reps]
    rank = max(rank_of(x, "tile"), len(times))
    x = tensor_reshape(x, [1] * (rank - len(x.shape)) + x.shape.as_list())
    return array_join.tile(x, [1] * (rank - len(times)) + times)


def repeat(a: Value, repeats: Any, axis: int | None = None) -> Any:
    """Each element several times.

    Args:
      a: a tensor, array, number or list.
      repeats: how often; one number, or one for each position.
      axis: along which; None for the flat tensor.

    Returns:
      A tensor.
    """
    return array_join.repeat(as_tensor(a), repeats, axis)


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
    return list(array_join.meshgrid(*[as_tensor(x) for x in xi], indexing=indexing))


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
        if rank_of(x, "ix_") != 1:
            raise ValueError(f"ix_: expected vectors, got shape {x.shape}. Flatten it first.")
        if x.dtype.is_bool:
            x = nonzero(x)[0]
        found.append(tensor_reshape(x, [1] * place + [-1] + [1] * (len(args) - place - 1)))
    return found


# ---- turning


def flip(m: Value, axis: Any = None) -> Any:
    """The elements in the other order.

    Args:
      m: a tensor, array or list.
      axis: along which; all by default.

    Returns:
      A tensor.
    """
    x = as_tensor(m)
    rank = rank_of(x, "flip")
    axes = list(range(rank)) if axis is None else _axes(axis, rank, "flip")
    return array_order.reverse(x, axes)


def flipud(m: Value) -> Any:
    """The rows in the other order.

    Args:
      m: a tensor, array or list.

    Returns:
      A tensor.
    """
    return flip(m, 0)


def fliplr(m: Value) -> Any:
    """The columns in the other order.

    Args:
      m: a tensor, array or list.

    Returns:
      A tensor.
    """
    return flip(m, 1)


def roll(a: Value, shift: Any, axis: Any = None) -> Any:
    """The elements moved along, those that fall out coming back at the other end.

    Args:
      a: a tensor, array or list.
      shift: how far; one number or one for each axis.
      axis: along which; None for the flat tensor.

    Returns:
      A tensor of the same shape.
    """
    x = as_tensor(a)
    if axis is None:
        return tensor_reshape(array_order.roll(ravel(x), shift, 0), x.shape)
    return array_order.roll(x, shift, axis)


def rot90(m: Value, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Turned by right angles, from the first axis to the second.

    Args:
      m: a tensor, array or list.
      k: how often.
      axes: the plane.

    Returns:
      A tensor.
    """
    x = as_tensor(m)
    first, second = _axes(axes, rank_of(x, "rot90"), "rot90")
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(flip(x, first), second)
    if turns == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second)


def pad(array: Value, pad_width: Any, mode: str, **kwargs: Any) -> Any:
    """More elements around.

    Args:
      array: a tensor, array or list.
      pad_width: how many before and after, along each axis.
      mode: 'constant', 'reflect' or 'symmetric'.
      **kwargs: `constant_values`, for 'constant'.

    Returns:
      A tensor.

    Raises:
      ValueError: another mode or argument.
    """
    value = kwargs.pop("constant_values", 0)
    if mode not in ("constant", "reflect", "symmetric") or kwargs:
        raise ValueError(
            "pad: expected mode 'constant', 'reflect' or 'symmetric', and constant_values, got"
            f" mode={mode!r} and {sorted(kwargs)}. Build other edges with concatenate."
        )
    x = as_tensor(array)
    rank = rank_of(x, "pad")
    widths = np.broadcast_to(np.asarray(pad_width, np.int32), (rank, 2))
    return tensor_pad(x, widths, mode.upper(), as_tensor(value, x.dtype))


def diff(a: Value, n: int = 1, axis: int = -1) -> Any:
    """Differences of neighbours.

    Args:
      a: a tensor, array or list.
      n: how often.
      axis: along which.

    Returns:
      A tensor with n elements less along the axis.

    Raises:
      ValueError: n is negative.
    """
    if n < 0:
        raise ValueError(f"diff: expected n >= 0, got {n}. Use cumsum for sums.")
    x = as_tensor(a)
    lead = (slice(None),) * positive_axis(axis, rank_of(x, "diff"), "diff")
    for _ in range(n):
        later, earlier = x[(*lead, slice(1, None))], x[(*lead, slice(None, -1))]
        x = (logical_xor if x.dtype.is_bool else subtract)(later, earlier)
    return x


def diagonal(a: Value, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Diagonals of the matrices in two axes.

    Args:
      a: a tensor, array or list of rank 2 or more.
      offset: which diagonal; positive ones are above the main one.
      axis1: the axis of rows.
      axis2: the axis of columns.

    Returns:
      A tensor with the diagonals in the last axis.
    """
    x = moveaxis(as_tensor(a), (axis1, axis2), (-2, -1))
    rows, columns = x.dims[-2], x.dims[-1]
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    flat = tensor_reshape(x, [*x.shape.as_list()[:-2], rows * columns])
    start = offset if offset >= 0 else -offset * columns
    index = [start + i * (columns + 1) for i in range(count)]
    return gather(flat, np.asarray(index, np.int32), axis=-1)


# ---- choosing


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
      mode: 'clip', 'wrap' or 'raise', for positions outside.

    Returns:
      A tensor.

    Raises:
      ValueError: `out` is given, or another mode.
    """
    if out is not None or mode not in ("raise", "clip", "wrap"):
        raise ValueError(
            f"take: expected out=None and mode 'raise', 'clip' or 'wrap', got out={out!r} and"
            f" mode={mode!r}. Tensors are not written to."
        )
    x, index = as_tensor(a), as_tensor(indices)
    if index.dtype.is_bool:
        raise TypeError("take: expected integers, got bools. Use compress for a condition.")
    if axis is None:
        x, axis = ravel(x), 0
    along = positive_axis(axis, rank_of(x, "take"), "take")
    return gather(x, _inside(index, as_tensor(x.dims[along], index.dtype), mode), axis=along)


def _inside(index: Any, count: Any, mode: str) -> Any:
    if mode == "wrap":
        return index % count
    if mode == "clip":
        return np_clip(index, count)
    return tensor_where(less(index, index - index), add(index, count), index)


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
    rank = rank_of(x, "take_along_axis")
    if rank != rank_of(index, "take_along_axis"):
        raise ValueError(
            f"take_along_axis: expected two tensors of one rank, got shapes {x.shape} and"
            f" {index.shape}. Put axes of size 1 into the indices."
        )
    along = positive_axis(axis, rank, "take_along_axis")
    lead = [n if i != along else 1 for i, n in enumerate(index.shape.as_list())]
    body = [n if i != along else 1 for i, n in enumerate(x.shape.as_list())]
    common = array_shape.broadcast_static_shape(TensorShape(lead), TensorShape(body)).as_list()
    wide_x, wide_i = list(common), list(common)
    wide_x[along], wide_i[along] = x.dims[along], index.dims[along]
    x = moveaxis(array_shape.broadcast_to(x, wide_x), along, -1)
    index = moveaxis(array_shape.broadcast_to(index, wide_i), along, -1)
    index = tensor_where(less(index, index - index), index + x.dims[-1], index)
    return moveaxis(gather(x, index, axis=-1, batch_dims=rank - 1), -1, along)
