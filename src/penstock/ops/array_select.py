"""Elements by condition: where, boolean_mask, unique, set difference.

Their result's shape depends on the data: host kernels.
"""

from collections import namedtuple
from typing import Any

import numpy as np

from penstock.core import native_arrays
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.graph.static_values import constant_value
from penstock.ops.array_basics import reshape, shape_of
from penstock.ops.array_gather import gather
from penstock.ops.array_join import concat
from penstock.ops.composing import composed
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import as_dtype, bool_, int32

Array = Any

WHERE = define_op(
    "Where(input: T; T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, "
    "quint8, qint32, bfloat16, qint16, quint16, "
    "uint16, complex128, half, uint32, uint64, bool} = bool) -> index: int64",
    shape=lambda c: (None, None if c.shape(0) is None else len(c.rank_at_least(0, 1, "input"))),
    doc="The positions of the elements that are true or not 0, in row-major order.",
).not_differentiable("positions are integers")


@host_kernel(WHERE)
def _where(x: Array) -> Array:
    return np.argwhere(x).astype(np.int64)


# ---- unique


def _unique_along(x: Array, axis: int) -> tuple[Array, Array, Array]:
    """Distinct slices in order of occurrence, the number of each slice's one, and counts."""
    moved = np.moveaxis(x, axis, 0) if axis else x
    found = native_arrays.unique(moved, np.dtype(np.int64))
    if found is not None:
        first, inverse, counts = found
        y = moved[first]
        return np.moveaxis(y, 0, axis) if axis else y, inverse, counts
    if moved.dtype == object:
        return _by_first([repr(r) if moved.ndim > 1 else r for r in moved.tolist()], moved, axis)
    if moved.ndim > 1 or moved.dtype.kind == "V":
        return _by_first([r.tobytes() for r in moved], moved, axis)
    _, first, inverse, counts = np.unique(
        moved, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return moved[np.sort(first)], rank[inverse.reshape(-1)], counts[order]


def _by_first(keys: list[Any], moved: Array, axis: int) -> tuple[Array, Array, Array]:
    numbers: dict[Any, int] = {}
    inverse = np.array([numbers.setdefault(k, len(numbers)) for k in keys], np.int64)
    first = np.unique(inverse, return_index=True)[1] if keys else np.zeros(0, np.int64)
    return np.moveaxis(moved[first], 0, axis), inverse, np.bincount(inverse, minlength=len(numbers))


UNIQUE = define_op(
    "Unique(x: T; T: type, out_idx: {int32, int64} = int32) -> y: T, idx: out_idx",
    shape=lambda c: [(None,), c.rank(0, 1, "x", lambda: "unique expects a 1D vector")],
    doc=(
        "The distinct elements in the order in which they first occur, and for each element the "
        "number of its distinct one."
    ),
).without_gradient("which elements are distinct does not change smoothly")


@host_kernel(UNIQUE)
def _unique(x: Array, *, out_idx: Any) -> tuple[Array, Array]:
    y, index, _ = _unique_along(x, 0)
    return y, index.astype(out_idx.numpy_dtype)


def _unique_with_counts_shape(c: ShapeContext) -> list[Dims]:
    dims = c.shape(0)
    if dims is not None and len(dims) != 1:
        c.fail_at_step("a vector", f"shape {d.text(dims)}: unique expects a 1D vector")
    return [(None,), dims, (None,)]


UNIQUE_WITH_COUNTS = define_op(
    "UniqueWithCounts(x: T; T: type, out_idx: {int32, int64} = int32) -> y: T, idx: out_idx, "
    "count: out_idx",
    shape=_unique_with_counts_shape,
    doc=(
        "The distinct elements, for each element the number of its distinct one, and how often "
        "each distinct one occurs."
    ),
).without_gradient("which elements are distinct does not change smoothly")


@host_kernel(UNIQUE_WITH_COUNTS)
def _unique_with_counts(x: Array, *, out_idx: Any) -> tuple[Array, Array, Array]:
    y, index, count = _unique_along(x, 0)
    return y, index.astype(out_idx.numpy_dtype), count.astype(out_idx.numpy_dtype)


def _unique_v2_shape(c: ShapeContext) -> list[Dims]:
    dims, axes = c.shape(0), c.constant(1)
    c.rank(1, 1, "axis")
    if dims is None or axes is None:
        return [None if dims is None else (None,) * len(dims), (None,)]
    axis = _unique_axis(c, axes, len(dims))
    return [(*dims[:axis], None, *dims[axis + 1 :]), (dims[axis],)]


def _unique_axis(c: ShapeContext, axes: Array, rank: int) -> int:
    if axes.size > 1 or (axes.size == 0 and rank != 1):
        c.fail("one axis, or none for a vector", f"{axes.tolist()}")
    return c.axis(int(axes.reshape(-1)[0]), rank) if axes.size else 0


UNIQUE_V2 = define_op(
    "UniqueV2(x: T, axis: Taxis; T: type, Taxis: {int32, int64} = int64, out_idx: {int32, int64} "
    "= int32) -> y: T, idx: out_idx",
    shape=_unique_v2_shape,
    host_inputs=("axis",),
    doc="The distinct slices along an axis, and for each slice the number of its distinct one.",
).without_gradient("which slices are distinct does not change smoothly")


@host_kernel(UNIQUE_V2)
def _unique_v2(x: Array, axis: Array, *, out_idx: Any) -> tuple[Array, Array]:
    y, index, _ = _unique_along(x, int(axis.reshape(-1)[0]) % x.ndim if axis.size else 0)
    return y, index.astype(out_idx.numpy_dtype)


UNIQUE_WITH_COUNTS_V2 = define_op(
    "UniqueWithCountsV2(x: T, axis: Taxis; T: type, Taxis: {int32, int64} = int64, out_idx: "
    "{int32, int64} = int32) -> y: T, "
    "idx: out_idx, count: out_idx",
    shape=lambda c: [*_unique_v2_shape(c), (None,)],
    host_inputs=("axis",),
    doc=(
        "The distinct slices along an axis, for each slice the number of its distinct one, and "
        "how often each occurs."
    ),
).without_gradient("which slices are distinct does not change smoothly")


@host_kernel(UNIQUE_WITH_COUNTS_V2)
def _unique_with_counts_v2(x: Array, axis: Array, *, out_idx: Any) -> tuple[Array, Array, Array]:
    y, index, count = _unique_along(x, int(axis.reshape(-1)[0]) % x.ndim if axis.size else 0)
    return y, index.astype(out_idx.numpy_dtype), count.astype(out_idx.numpy_dtype)


def _list_diff_shape(c: ShapeContext) -> list[Dims]:
    c.rank(0, 1, "x")
    c.rank(1, 1, "y")
    return [(None,), (None,)]


LIST_DIFF = define_op(
    "ListDiff(x: T, y: T; T: type, out_idx: {int32, int64} = int32) -> out: T, idx: out_idx",
    shape=_list_diff_shape,
    doc="The elements of x that are not in y, in order, and their positions.",
).without_gradient("which elements are in the other list does not change smoothly")


_FEW = 200  # elements that a set tells apart sooner than sorting


@host_kernel(LIST_DIFF)
def _list_diff(x: Array, y: Array, *, out_idx: Any) -> tuple[Array, Array]:
    if x.dtype == object or x.size + y.size <= _FEW:
        other = set(y.tolist())
        kept = np.array([v not in other for v in x.tolist()], bool)
    else:
        kept = ~np.isin(x, y)
    return x[kept], np.flatnonzero(kept).astype(out_idx.numpy_dtype)


# ---- public functions


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """The positions where a condition holds, or elements of `x` there and of `y` elsewhere.

    Args:
      condition: bool (without `x` and `y` any numeric dtype, where not 0 means true).
      x: a tensor that broadcasts with `condition` and `y`, or None.
      y: the same; both or neither are given.
      name: the name in a graph.

    Returns:
      int64[N, R], the positions in row-major order; or a tensor of the broadcast shape.

    Raises:
      ValueError: one of `x` and `y` is given without the other.

    Example:
      >>> where([True, False, True]).numpy().tolist()
      [[0], [2]]
    """
    if x is None and y is None:
        return execute(WHERE, (convert_to_tensor(condition, dtype_hint=bool_),), None, name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return execute("SelectV2", (condition, x, y), None, name)


def where_v1(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """The positions where a condition holds, or elements of `x` and `y` of one shape.

    Args:
      condition: bool; of the shape of `x`, or a vector that chooses rows, or a scalar.
      x: a tensor, or None.
      y: a tensor of the same shape; both or neither are given.
      name: the name in a graph.

    Returns:
      int64[N, R], the positions; or a tensor of the shape of `x`.

    Raises:
      ValueError: one of `x` and `y` is given without the other.
    """
    if x is None and y is None:
        return execute(WHERE, (convert_to_tensor(condition, dtype_hint=bool_),), None, name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return execute("Select", (condition, x, y), None, name)


@composed("boolean_mask", result="GatherV2")
def boolean_mask(
    tensor: Any, mask: Any, axis: Any = None, name: str | None = "boolean_mask"
) -> Any:
    """The slices of a tensor where a mask is true.

    Args:
      tensor: a tensor of rank N.
      mask: bool (or numbers: those other than 0 count) of known rank K, 1 <= K <= N; its shape is
        that of axes `axis` to `axis` + K of `tensor`.
      axis: integer, 0 by default.
      name: the name in a graph.

    Returns:
      A tensor of rank N - K + 1.

    Raises:
      ValueError: the shapes do not fit.

    Example:
      >>> boolean_mask([1, 2, 3], [True, False, True]).numpy().tolist()
      [1, 3]
    """
    tensor, mask = convert_to_tensor(tensor), convert_to_tensor(mask)
    if mask.dims is None:
        raise ValueError(
            "Number of mask dimensions must be specified, even if some dimensions are None. Use "
            "tf.ensure_shape."
        )
    count = len(mask.dims)
    if not count:
        raise ValueError("mask cannot be scalar.")
    start = _axis_value(axis, tensor)
    if tensor.dims is not None:
        part = tensor.dims[start : start + count]
        if not d.compatible(part, mask.dims):
            raise ValueError(
                f"boolean_mask: Shapes {d.text(part)} and {d.text(mask.dims)} are incompatible: "
                "expected a mask of the first."
            )
    sizes = shape_of(tensor)
    leading = execute("Prod", (sizes[start : start + count], [0]))
    flat = reshape(
        tensor, concat([sizes[:start], reshape(leading, [1]), sizes[start + count :]], 0)
    )
    rows = execute("Squeeze", (execute(WHERE, (reshape(mask, [-1]),)),), {"squeeze_dims": [1]})
    return gather(flat, rows, axis=start, name=name)


def _axis_value(axis: Any, tensor: Any) -> int:
    if axis is None:
        return 0
    if isinstance(axis, (float, str)):
        raise TypeError(f"boolean_mask: expected an integer axis, got {axis!r}. Pass its number.")
    value = constant_value(convert_to_tensor(axis, dtype_hint=int32))
    if value is None:
        raise ValueError(
            "boolean_mask: expected an axis known now, got a tensor whose value depends on the "
            "step."
        )
    return int(value) if tensor.dims is None else d.normalize_axis(int(value), len(tensor.dims))


def boolean_mask_v1(tensor: Any, mask: Any, name: str = "boolean_mask", axis: Any = None) -> Any:
    """The slices of a tensor where a mask is true; see `tf.boolean_mask`."""
    return boolean_mask(tensor, mask, axis, name)


def _unique_function(op: OpDef, fields: str, doc: str) -> Any:
    made = namedtuple(op.name, fields)  # type: ignore[misc]

    def function(x: Any, out_idx: Any = int32, name: str | None = None) -> Any:
        return made(*execute(op, (x,), {"out_idx": out_idx}, name))

    function.__name__ = function.__qualname__ = {UNIQUE.name: "unique"}.get(
        op.name, "unique_with_counts"
    )
    function.__doc__ = f"""{doc}

    Args:
      x: a vector of any dtype.
      out_idx: int32 or int64.
      name: the name in a graph.

    Returns:
      A named tuple ({fields.replace(" ", ", ")}).
    """
    return function


unique = _unique_function(UNIQUE, "y idx", UNIQUE.doc)
unique_with_counts = _unique_function(UNIQUE_WITH_COUNTS, "y idx count", UNIQUE_WITH_COUNTS.doc)
ListDiff = namedtuple("ListDiff", ["out", "idx"])


def setdiff1d(x: Any, y: Any, index_dtype: Any = int32, name: str | None = None) -> ListDiff:
    """The elements of `x` that are not in `y`, in order, and their positions.

    Args:
      x: a vector.
      y: a vector of the same dtype.
      index_dtype: int32 or int64.
      name: the name in a graph.

    Returns:
      A named tuple (out, idx).
    """
    return ListDiff(*execute(LIST_DIFF, (x, y), {"out_idx": as_dtype(index_dtype)}, name))
