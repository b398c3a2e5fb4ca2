"""Order: top_k, sort, argsort, searchsorted."""

import math
from collections import namedtuple
from typing import Any, NoReturn

import numpy as np

from penstock import errors
from penstock.core import attributes, native_arrays
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel
from penstock.core.lazy import jnp, lax
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.core.tensor import EagerTensor
from penstock.graph.static_values import constant_value
from penstock.ops.array_basics import reshape, shape_of
from penstock.ops.array_join import concat
from penstock.ops.array_order import transpose
from penstock.ops.composing import composed
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import as_dtype, int32

Array = Any
TopKV2 = namedtuple("TopKV2", ["values", "indices"])


# ---- top_k


def _top_k_shape(c: ShapeContext) -> list[Dims]:
    dims, k = (
        c.rank_at_least(0, 1, "input", lambda: "input must be >= 1-D, got shape []"),
        c.constant(1),
    )
    c.rank(1, 0, "k")
    size = None if k is None else int(k)
    if size is not None and size < 0:
        known = f"Dimension size, given by scalar input 1, must be non-negative but is {size}"
        c.refuse(c.says(f"Need k >= 0, got {size}", f"Need k >= 0, got {size}: {known}"))
    if dims is None:
        return [None, None]
    if size is not None and dims[-1] is not None and dims[-1] < size:
        c.refuse(
            f"input must have at least k columns. Had {dims[-1]}, needed {size}"
            if c.running
            else f"input must have last dimension >= k = {size} but is {dims[-1]}"
        )
    return [(*dims[:-1], size)] * 2


TOP_K_V2 = define_op(
    "TopKV2(input: T, k: Tk; sorted: bool = True, T: realnumbertype, Tk: {int16, int32, int64} = "
    "int32, "
    "index_type: {int16, int32, int64} = int32) -> values: T, indices: index_type",
    shape=_top_k_shape,
    host_inputs=("k",),
    doc="The k largest elements along the last axis, and where they are; of equal ones the first.",
)


@host_kernel(
    TOP_K_V2,
    types={"T": ["float", "int32"]},
    limit=1 << 62,
    available=native_arrays.LIBRARY.is_in_use,
)
@host_kernel(TOP_K_V2)
def _top_k(x: Array, k: Array, *, index_type: Any) -> tuple[Array, Array]:
    values, places = largest(x, int(k))
    return values, places.astype(index_type.numpy_dtype)


def largest(x: Array, k: int) -> tuple[Array, Array]:
    """The k largest elements of each row, and their positions."""
    found = native_arrays.top(x, k)
    if found is not None:
        return found
    places = _descending(x)[..., :k]
    return np.take_along_axis(x, places, -1), places


def _descending(x: Array) -> Array:
    """Positions from the largest element to the smallest, equal ones in order."""
    flipped = np.argsort(x[..., ::-1], axis=-1, kind="stable")
    return (x.shape[-1] - 1 - flipped)[..., ::-1]


@compiled_kernel(TOP_K_V2)
def _top_k_compiled(x: Array, k: Array, *, index_type: Any) -> tuple[Array, Array]:
    if x.dtype == bool:
        x = x.astype(jnp.int8)
    values, places = lax.top_k(x, int(k))
    return values, places.astype(index_type.numpy_dtype)


@TOP_K_V2.gradient
def _top_k_gradient(op: Any, grad: Any, _: Any) -> list[Any]:
    """The gradient of each value goes to where the value came from: a scatter in flat form."""
    x, places = op.inputs[0], execute("Cast", (op.outputs[1],), {"DstT": int32})
    sizes, taken = shape_of(x), shape_of(places)
    rows = execute("Range", (0, execute("Prod", (sizes[:-1], [0])), 1))
    starts = reshape(execute("Mul", (rows, sizes[-1])), concat([taken[:-1], [1]], 0))
    index = execute("ExpandDims", (execute("AddV2", (places, starts)), -1))
    total = reshape(execute("Prod", (sizes, [0])), [1])
    return [reshape(execute("ScatterNd", (index, grad, total)), sizes), None]


TOP_K = define_op(
    "TopK(input: T; k: int >= 0, sorted: bool = True, T: realnumbertype) -> values: T, indices: "
    "int32",
    shape=lambda c: [None if c.shape(0) is None else (*c.shape(0)[:-1], c.attr("k"))] * 2,
    doc="The k largest elements along the last axis, and where they are; the old form of TopKV2.",
).not_differentiable("it is kept for old graphs; use TopKV2")


@host_kernel(TOP_K)
def _top_k_v1(x: Array, *, k: int) -> tuple[Array, Array]:
    values, places = largest(x, k)
    return values, places.astype(np.int32)


# ---- searchsorted


def _search_shape(c: ShapeContext) -> Dims:
    rows, values = c.rank(0, 2, "sorted_inputs"), c.rank(1, 2, "values")
    assert rows is not None
    assert values is not None
    if not d.compatible(rows[:1], values[:1]):
        c.fail_at_step(
            "as many rows of values as sequences",
            f"{values[0]} and {rows[0]}: Leading dim_size of both tensors must match",
            known=(None, values[1]),
        )
    return (c.merge(rows[:1], values[:1])[0], values[1])  # type: ignore[index]


def _bisected(xp: Any, row: Array, values: Array, side: str) -> Array:
    """Where values belong in a row, by halves.

    Comparisons alone decide, so NaN, which is in no order, is where TensorFlow's search leaves it;
    NumPy and JAX take it for the largest.
    """
    low = xp.zeros(values.shape, np.int64)
    high = xp.full(values.shape, len(row), np.int64)
    for _ in range(len(row).bit_length()):
        middle = low + (high - low) // 2
        held = row[xp.minimum(middle, len(row) - 1)]
        right = held < values if side == "left" else ~(values < held)
        searched = low < high
        low = xp.where(searched & right, middle + 1, low)
        high = xp.where(searched & ~right, middle, high)
    return low


def _bound(name: str, side: str, doc: str) -> OpDef:
    op = define_op(
        f"{name}(sorted_inputs: T, values: T; T: type, out_type: {{int32, int64}} = int32) -> "
        "output: out_type",
        shape=_search_shape,
        doc=doc,
    ).not_differentiable("positions are integers")

    @host_kernel(op)
    def _host(rows: Array, values: Array, *, out_type: Any) -> Array:
        result = np.empty(values.shape, out_type.numpy_dtype)
        plain = rows.dtype.kind in "biuO" or not (rows != rows).any() | (values != values).any()
        for i, (row, wanted) in enumerate(zip(rows, values, strict=True)):
            if plain:
                result[i] = np.searchsorted(row, wanted, side)  # type: ignore[call-overload]
            else:
                result[i] = _bisected(np, row, wanted, side)
        return result

    @compiled_kernel(op)
    def _compiled(rows: Array, values: Array) -> Array:
        return jnp.vectorize(
            lambda row, wanted: _bisected(jnp, row, wanted, side), signature="(n),(m)->(m)"
        )(rows, values)

    return op


UPPER_BOUND = _bound(
    "UpperBound",
    "right",
    "For each value the position after the last element that is not larger, row by row.",
)
LOWER_BOUND = _bound(
    "LowerBound",
    "left",
    "For each value the position of the first element that is not smaller, row by row.",
)


# ---- public functions


def top_k(
    input: Any, k: Any = 1, sorted: bool = True, index_type: Any = int32, name: str | None = None
) -> Any:
    """The k largest elements along the last axis.

    Args:
      input: a real tensor of rank at least 1.
      k: integer scalar, at most the size of the last axis.
      sorted: whether the result must be in descending order; it always is.
      index_type: int16, int32 or int64.
      name: the name in a graph.

    Returns:
      A named tuple (values, indices) of shape input.shape[:-1] + [k].

    Raises:
      InvalidArgumentError, ValueError: `k` is larger than the last axis.

    Example:
      >>> top_k([3, 1, 2], 2).indices.numpy().tolist()
      [0, 2]
    """
    attrs = {"sorted": sorted, "index_type": as_dtype(index_type)}
    return TopKV2(*execute(TOP_K_V2, (input, k), attrs, name))


@composed("sort", result=None)
def sort(values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None) -> Any:
    """The elements in order along an axis.

    Args:
      values: a real tensor of rank at least 1.
      axis: integer known when the graph is built.
      direction: "ASCENDING" or "DESCENDING".
      name: the name in a graph.

    Returns:
      A tensor like `values`.

    Raises:
      ValueError: the direction is unknown, or the axis is not known.

    Example:
      >>> sort([3, 1, 2]).numpy().tolist()
      [1, 2, 3]
    """
    values = convert_to_tensor(values)
    return _ordered(values, axis, direction, 0, name)


@composed("argsort", result="TopKV2")
def argsort(
    values: Any,
    axis: Any = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Any:
    """The positions that put the elements in order along an axis; equal ones stay in order.

    Args:
      values: a real tensor of rank at least 1.
      axis: integer known when the graph is built.
      direction: "ASCENDING" or "DESCENDING".
      stable: whether equal elements must stay in order; they always do.
      name: the name in a graph.

    Returns:
      An int32 tensor of the shape of `values`.

    Raises:
      ValueError: the direction is unknown, or the axis is not known.

    Example:
      >>> argsort([3, 1, 2]).numpy().tolist()
      [1, 2, 0]
    """
    del stable
    return _ordered(convert_to_tensor(values), axis, direction, 1, name)


def _ordered(values: Any, axis: Any, direction: str, part: int, name: str | None) -> Any:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(
            "Argument `direction` should be one of ASCENDING or DESCENDING. Received: "
            f"direction={direction}"
        )
    where = constant_value(convert_to_tensor(axis, dtype_hint=int32))
    if where is None or where.ndim:
        raise ValueError(
            f"Argument `axis` must be a constant scalar. Received: axis={axis}. Pass a Python int."
        )
    order, back = _turns(values, int(where))
    moved = values if order is None else transpose(values, order)
    size = None if moved.dims is None else moved.dims[-1]
    size = shape_of(moved)[-1] if size is None else size
    key = moved if direction == "DESCENDING" else _mirrored(moved)
    found = execute(TOP_K_V2, (key, size), None, name)
    result = found[part]
    if part == 0 and key is not moved:
        result = _mirrored(result)
    return result if back is None else transpose(result, back)


def _turns(values: Any, axis: int) -> tuple[Any, Any]:
    """The orders of axes that bring an axis to the end and back; None when it is there already."""
    if values.dims is not None:
        rank = len(values.dims)
        if not -rank <= axis < rank:
            _refuse_axis(values, axis, rank)
        at = axis % rank
        if at == rank - 1:
            return None, None
        return [*range(at), *range(at + 1, rank), at], [*range(at), rank - 1, *range(at, rank - 1)]
    if axis == -1:
        return None, None
    rank = execute("Rank", (values,))
    last = execute("Sub", (rank, 1))
    at = axis if axis >= 0 else execute("Add", (rank, axis))
    before, after = execute("Range", (0, at, 1)), execute("Add", (at, 1))
    order = concat([before, execute("Range", (after, rank, 1)), [at]], 0)
    return order, concat([before, [last], execute("Range", (at, last, 1))], 0)


def _refuse_axis(values: Any, axis: int, rank: int) -> NoReturn:
    """Raises what TensorFlow's reading of the size along a missing axis does."""
    text = (
        f"sort: expected an axis in [{-rank}, {rank}) for values of shape {d.text(values.dims)},"
        f" got {axis}: slice index {axis if axis >= 0 else rank + axis} of dimension 0 out of"
        " bounds. Pass -1 for the last axis."
    )
    if isinstance(values, EagerTensor):
        raise errors.InvalidArgumentError(None, None, text)
    raise ValueError(text)


def _mirrored(x: Any) -> Any:
    """A tensor whose order is the reverse of that of `x`, and whose mirror is `x` again."""
    if x.dtype.is_unsigned:
        return execute("Sub", (convert_to_tensor(x.dtype.max, x.dtype), x), None, "sub")
    if x.dtype.is_integer:  # -1 - x has no overflow
        return execute("Sub", (convert_to_tensor(-1, x.dtype), x), None, "sub")
    return execute("Neg", (x,))


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    side: str = "left",
    out_type: Any = int32,
    name: str | None = None,
) -> Any:
    """Where values belong in sorted rows.

    Args:
      sorted_sequence: a tensor whose last axis is in ascending order.
      values: a tensor of the same dtype and leading axes.
      side: "left" (before equal elements) or "right" (after them).
      out_type: int32 or int64.
      name: the name in a graph.

    Returns:
      A tensor of the shape of `values`.

    Raises:
      ValueError: `side` is unknown.
      InvalidArgumentError: an argument is a scalar (ValueError in a graph).

    Example:
      >>> searchsorted([1, 3, 5], [3, 4]).numpy().tolist()
      [1, 2]
    """
    rows = convert_to_tensor(sorted_sequence)
    wanted = convert_to_tensor(values, None if hasattr(values, "dtype") else rows.dtype)
    if side not in ("left", "right"):
        raise ValueError(
            f"Argument `side` must be either 'right' or 'left'. Received: `side` = '{side}'."
        )
    op = LOWER_BOUND if side == "left" else UPPER_BOUND
    for t, what in ((rows, "sorted_sequence"), (wanted, "values")):
        if t.dims == ():
            problem = ValueError(
                f"searchsorted: expected `{what}` of rank at least 1, got a scalar: slice index -1 "
                "of dimension 0 out of bounds. Pass a vector, and take element 0 of the result."
            )
            raise attributes.user_error(op.name, problem, eager=state.graph is None)
    flat = [reshape(t, _flat_shape(t)) for t in (rows, wanted)]
    found = execute(op, flat, {"out_type": out_type}, name)
    return reshape(found, shape_of(wanted, found.dtype))


def _flat_shape(x: Any) -> list[Any]:
    """The shape of rows in one dimension; how many empty rows there are is in no other size."""
    dims = x.dims
    size = None if dims is None else dims[-1]
    if size:
        return [-1, size]
    if dims is not None and None not in dims:
        return [math.prod(dims[:-1]), size]
    full = shape_of(x)
    return [execute("Prod", (full[:-1], 0)), full[-1]]
