"""`tensor[...]`: integers, slices, `tf.newaxis`, `...`, tensors as bounds, boolean masks.

`slice`, `strided_slice`.

`slice_parts` turns an index into the inputs and masks of a StridedSlice; variables use it too for
assignment to parts of themselves. An index of plain integers and slices on an eager tensor is
NumPy's own view.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.context import at_home, state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import EagerTensor, Tensor, attach_method, wrap
from penstock.graph.default_graph import get_default_graph
from penstock.ops.array_select import boolean_mask
from penstock.ops.array_slice import SLICE, STRIDED_SLICE
from penstock.ops.array_slice_index import MASKS
from penstock.types.dimension import Dimension
from penstock.types.dtypes import bool_, int16, int32, int64

newaxis = None
INDEX_TYPES = (int16, int32, int64)
_MAX = 0x7FFFFFFF


def plain_index(spec: Any) -> tuple[Any, ...] | None:
    """The index for a view by NumPy: of integers, slices of integers, None and `...` only."""
    items = spec if spec.__class__ is tuple else (spec,)
    dots = False
    for item in items:
        kind = item.__class__
        if kind is int or item is None:
            continue
        if kind is slice:
            for bound in (item.start, item.stop, item.step):
                if bound is not None and bound.__class__ is not int:
                    return None
        elif item is Ellipsis:
            dots = True
        else:
            return None
    return items if dots else (*items, Ellipsis)


def slice_parts(spec: Any) -> tuple[list[Any], list[Any], list[Any], dict[str, int]]:
    """Begin, end, strides and masks of the StridedSlice of an index; entries may be tensors.

    Raises:
      TypeError: an item is no integer, slice, None, `...` or scalar integer tensor.
    """
    items = list(spec) if isinstance(spec, (list, tuple)) else [spec]
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[Any] = []
    masks = dict.fromkeys(MASKS, 0)
    for i, item in enumerate(items):
        bit = 1 << i
        first, last, step = 0, 0, 1
        if isinstance(item, slice):
            first, last, step = _bounds(item, bit, masks)
        elif item is Ellipsis:
            masks["ellipsis_mask"] |= bit
        elif item is None:
            masks["new_axis_mask"] |= bit
        else:
            first = _position(item)
            last = first + 1
            masks["shrink_axis_mask"] |= bit
        begin.append(first)
        end.append(last)
        strides.append(step)
    return begin, end, strides, masks


def _bounds(item: slice, bit: int, masks: dict[str, int]) -> tuple[Any, Any, Any]:
    step = 1 if item.step is None else _position(item.step)
    if item.start is None:
        masks["begin_mask"] |= bit
    if item.stop is None:
        masks["end_mask"] |= bit
    return (
        0 if item.start is None else _position(item.start),
        0 if item.stop is None else _position(item.stop),
        step,
    )


def _position(item: Any) -> Any:
    """An item as an integer or a scalar integer tensor."""
    if isinstance(item, (int, np.integer)):
        return int(item)
    if isinstance(item, Dimension):
        return item.value
    if hasattr(item, "handle") and hasattr(item, "dtype"):
        item = convert_to_tensor(item)
    dtype = getattr(item, "dtype", None)
    if isinstance(item, (Tensor, np.ndarray)) and (
        item.dtype if isinstance(item, Tensor) else None
    ) in (*INDEX_TYPES, None):
        rank = item.ndim
        if (rank is None or rank == 0) and (isinstance(item, Tensor) or item.dtype.kind in "iu"):
            return int(item) if isinstance(item, np.ndarray) else item
    got = (
        f"{item!r}"
        if dtype is None
        else f"a value of dtype {dtype} and shape {getattr(item, 'shape', '?')}: {item!r}"
    )
    raise TypeError(
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
        "tf.int32/tf.int64 tensors are valid indices, "
        f"got {got}. Use tf.gather or tf.boolean_mask for index tensors."
    )


def index_tensors(parts: tuple[list[Any], ...]) -> list[Any]:
    """Each list of integers and scalar tensors as a vector.

    They are int32, or int64 where a value or a tensor asks for it.
    """
    tensors = [v for part in parts for v in part if isinstance(v, Tensor)]
    wide = any(t.dtype is int64 for t in tensors) or any(
        not -_MAX - 1 <= v <= _MAX for p in parts for v in p if not isinstance(v, Tensor)
    )
    narrow = bool(tensors) and all(t.dtype is int16 for t in tensors)
    dtype = int64 if wide else int16 if narrow else int32
    return [_vector(part, dtype, f"stack_{i}" if i else "stack") for i, part in enumerate(parts)]


def _vector(part: list[Any], dtype: Any, name: str) -> Any:
    if not any(isinstance(v, Tensor) for v in part):
        return convert_to_tensor(np.array(part, dtype.numpy_dtype), name=name)
    items = [v if isinstance(v, Tensor) and v.dtype is dtype else _cast(v, dtype) for v in part]
    return execute("Pack", (items,), {"axis": 0}, name)


def _cast(value: Any, dtype: Any) -> Any:
    if isinstance(value, Tensor):
        return execute("Cast", (value,), {"DstT": dtype})
    return convert_to_tensor(value, dtype)


def getitem(tensor: Any, slice_spec: Any, name: str | None = None) -> Any:
    """`tensor[slice_spec]`.

    Args:
      tensor: any tensor.
      slice_spec: an integer, slice, None, `...`, scalar integer tensor, or a tuple of these; or a
        boolean mask.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype.

    Raises:
      TypeError: the index holds something else.
      InvalidArgumentError, ValueError: a position is out of range.

    Example:
      >>> convert_to_tensor([[1, 2, 3]])[0, ::-1].numpy().tolist()
      [3, 2, 1]
    """
    if tensor.__class__ is EagerTensor and state.plain:
        array = tensor._array
        if array.__class__ is np.ndarray:
            index = plain_index(slice_spec)
            if index is not None:
                try:
                    return wrap(array[index], tensor._dtype)
                except (IndexError, ValueError):
                    pass  # the operation raises with its own words
    if is_mask(slice_spec):
        return boolean_mask(tensor, slice_spec)
    begin, end, strides, masks = slice_parts(slice_spec)
    if not begin:
        return execute(STRIDED_SLICE, (tensor, *(np.zeros(0, np.int32),) * 3), masks, name)
    return _strided(tensor, (begin, end, strides), masks, name or "strided_slice")


def _strided(tensor: Any, parts: tuple[list[Any], ...], masks: dict[str, int], name: str) -> Any:
    if state.graph is None:
        return execute(STRIDED_SLICE, (tensor, *index_tensors(parts)), masks, name)
    with at_home(tensor), get_default_graph().name_scope(name) as scope:
        return execute(STRIDED_SLICE, (tensor, *index_tensors(parts)), masks, scope)


def is_mask(spec: Any) -> bool:
    """Whether an index is a bool, or an array of them, which chooses elements."""
    if isinstance(spec, Tensor):
        return spec.dtype is bool_
    if isinstance(spec, (bool, np.bool_)):
        return True
    return isinstance(spec, np.ndarray) and spec.dtype == np.bool_


def _iterate(self: Any) -> Iterator[Any]:
    if isinstance(self, EagerTensor):
        if self.dims == ():
            raise TypeError("Cannot iterate over a scalar tensor.")
    else:
        raise errors.OperatorNotAllowedInGraphError(
            f"Iterating over a symbolic `tf.Tensor` is not allowed: the length of {self.name} is"
            " known only when the graph runs. Use tf.map_fn or tf.while_loop, let AutoGraph convert"
            " the loop, or run eagerly."
        )
    return _rows(self)


def _rows(tensor: EagerTensor) -> Iterator[Any]:
    for i in range(tensor.dims[0]):
        yield getitem(tensor, i)


attach_method("__getitem__", getitem)
attach_method("__iter__", _iterate)


# ---- public functions


def slice_(input_: Any, begin: Any, size: Any, name: str | None = None) -> Any:
    """The part of a tensor that begins at `begin` and has shape `size`.

    Args:
      input_: any tensor of rank R.
      begin: int32 or int64 vector of R entries.
      size: a vector of the same dtype; -1 takes what is left.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError, ValueError: the part is not inside the tensor.

    Example:
      >>> slice_([[1, 2, 3]], [0, 1], [1, -1]).numpy().tolist()
      [[2, 3]]
    """
    return execute(SLICE, (input_, begin, size), None, name)


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Any:
    """The elements that begin, end and strides select; `tensor[...]` is easier to read.

    Args:
      input_: any tensor.
      begin: integer vector.
      end: a vector of the same length and dtype.
      strides: the same; ones by default.
      begin_mask: bit i: `begin[i]` is ignored, the range begins at the front.
      end_mask: bit i: `end[i]` is ignored.
      ellipsis_mask: bit i: item i is an ellipsis.
      new_axis_mask: bit i: item i is a new axis of size 1.
      shrink_axis_mask: bit i: item i is the position `begin[i]`, and its axis disappears.
      var: the variable that `input_` is the value of, for assignment.
      name: the name in a graph.

    Returns:
      A tensor of the same dtype.

    Raises:
      InvalidArgumentError, ValueError: a stride is 0 or a position is out of range.
    """
    del var  # assignment to parts is a method of variables
    begin = convert_to_tensor(begin)
    strides = execute("OnesLike", (begin,)) if strides is None else strides
    masks = dict(
        zip(
            MASKS,
            (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask),
            strict=True,
        )
    )
    return execute(STRIDED_SLICE, (input_, begin, end, strides), masks, name)
