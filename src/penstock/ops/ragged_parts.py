"""Steps that the ragged operations share: checks that hold values back, lengths, row numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.graph.static_values import constant_value
from penstock.ops import array_getitem as _getitem  # noqa: F401  tensor[...]
from penstock.ops import overloads as _overloads  # noqa: F401  tensor + tensor
from penstock.ops.array_basics import identity
from penstock.ops.array_sort import searchsorted
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType


def after(checks: Sequence[Any], x: Any) -> Any:
    """`x`, available only once the checks have passed; eagerly they have passed already."""
    graph = state.graph
    waited = [c for c in checks if c is not None]
    if graph is None or not waited:
        return x
    with graph.control_dependencies(waited):
        return identity(x, name="control_dependency")


def known_int(x: Any) -> int | None:
    """The value of an integer scalar where it is known when the graph is built."""
    if x is None or isinstance(x, (int, np.integer)):
        return None if x is None else int(x)
    value = constant_value(x)
    return None if value is None else int(value)


def splits_dtype(dtype: Any, what: str = "row_splits") -> DType:
    """`dtype` as int32 or int64.

    Raises:
      ValueError: it is another.
    """
    found = dt.as_dtype(dtype)
    if found not in (dt.int32, dt.int64):
        raise ValueError(
            f"Argument `{what}` dtype must be int32 or int64. Received {found!r}. Cast it with "
            "tf.cast."
        )
    return found


def cast(x: Any, dtype: DType) -> Any:
    """`x` in another dtype; itself when it has it."""
    return x if x.dtype is dtype else execute("Cast", (x,), {"DstT": dtype})


def number(value: int, dtype: DType) -> Tensor:
    """An integer scalar."""
    return convert_to_tensor(np.asarray(value, dtype.numpy_dtype))  # type: ignore[no-any-return]


def row_count(x: Any, dtype: DType) -> Tensor:
    """The size of the first axis of a tensor."""
    if x.dims and x.dims[0] is not None:
        return number(x.dims[0], dtype)
    return execute("Shape", (x,), {"out_type": dtype})[0]  # type: ignore[no-any-return]


def inner_shape(x: Any, dtype: DType) -> Tensor:
    """The shape of a tensor without its first axis."""
    if x.dims is not None and None not in x.dims[1:]:
        sizes = np.array(x.dims[1:], dtype.numpy_dtype)
        return convert_to_tensor(sizes)  # type: ignore[no-any-return]
    return execute("Shape", (x,), {"out_type": dtype})[1:]  # type: ignore[no-any-return]


def numbers(count: Any, dtype: DType) -> Tensor:
    """0, 1, ... count - 1."""
    known = known_int(count)
    if known is not None:
        array = np.arange(known, dtype=dtype.numpy_dtype)
        return convert_to_tensor(array)  # type: ignore[no-any-return]
    parts = (number(0, dtype), cast(count, dtype), number(1, dtype))
    return execute("Range", parts)  # type: ignore[no-any-return]


def lengths_to_splits(lengths: Any) -> Any:
    """Row splits from row lengths."""
    total = execute("Cumsum", (lengths, np.int32(0)))
    zero = convert_to_tensor(np.zeros(1, lengths.dtype.numpy_dtype))
    return execute("ConcatV2", ([zero, total], np.int32(0)))


def splits_to_rowids(splits: Any, nvals: Any = None) -> Any:
    """For each value the number of its row."""
    dtype = splits.dtype
    places = numbers(splits[-1] if nvals is None else nvals, dtype)
    return searchsorted(splits[1:], places, side="right", out_type=dtype)


def rowids_to_lengths(rowids: Any, nrows: Any) -> Any:
    """The number of values of each row, from ids in any order."""
    ones = execute("OnesLike", (rowids,))
    return execute("UnsortedSegmentSum", (ones, rowids, nrows))
