"""Elements and slices by index: gather, gather_nd.

An index outside the tensor is an error on every device. The gradient of a gather along the first
axis is an `IndexedSlices`, so that an update touches only the rows that were read; along other axes
it is dense.
"""

import math
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_places
from penstock.core.composite import IndexedSlices
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext, low_rank
from penstock.graph.static_values import constant_value
from penstock.ops import positions
from penstock.ops.array_basics import reshape, shape_of
from penstock.ops.array_join import concat
from penstock.ops.positions import first_outside, place_text
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import int32, int64

Array = Any
GATHER_LIMIT = 1 << 20  # NumPy's take is as fast as a compiled one up to here


# ---- Gather and GatherV2


def check_rows(ctx: KernelContext, xp: Any, indices: Array, size: int) -> None:
    """Fails the step unless every index is in [0, size)."""
    if not indices.size:
        return
    if isinstance(indices, np.ndarray):
        if indices.size == 1:  # as in a loop that reads row by row
            if 0 <= indices.item() < size:
                return
        elif np.minimum.reduce(indices, None) >= 0 and np.maximum.reduce(indices, None) < size:
            return
        xp = np
    flat = indices.reshape(-1)
    _refuse_outside(ctx, indices, size, *first_outside(xp, flat[:, None], (size,)))


def _refuse_outside(ctx: KernelContext, indices: Array, size: int, ok: Any, first: Any) -> None:
    """Fails the step unless `ok`; `first` is the number of an index that is outside."""
    flat, dims = indices.reshape(-1), indices.shape

    def text(at: Any, value: Any) -> str:
        place = ",".join(str(int(i)) for i in np.unravel_index(int(at), dims)) if dims else ""
        return f"indices{f'[{place}]' if dims else ''} = {int(value)} is not in [0, {size})"

    ctx.check(ok, errors.InvalidArgumentError, text, first, flat[first])


def first_rows(ctx: KernelContext, params: Array, indices: Array) -> Array | None:
    """Rows of `params` in compiled code, in the pass that checks; None where XLA takes them."""
    if isinstance(indices, np.ndarray):  # known while this is traced
        return None
    found = positions.taken(params, indices[..., None])
    if found is None:
        return None
    rows, ok, first = found
    _refuse_outside(ctx, indices, params.shape[0], ok, first)
    return rows


def _gather_v2_shape(c: ShapeContext) -> Dims:
    params, indices, axis_value, batch = (
        c.rank_at_least(0, 1, "params"),
        c.shape(1),
        c.constant(2),
        c.attr("batch_dims"),
    )
    c.rank(2, 0, "axis")
    if indices is not None and not -len(indices) <= batch <= len(indices):
        c.fail(
            f"batch_dims in [{-len(indices)}, {len(indices)}]",
            f"{batch}: Shape must be at least rank {batch} but is rank {len(indices)}",
        )
    if params is None or indices is None:
        return None
    batch = batch + len(indices) if batch < 0 else batch
    if axis_value is None:
        unknown: Dims = (None,) * (len(params) + len(indices) - 1 - batch)
        return unknown
    given, rank = int(axis_value), len(params)
    axis = c.axis(given, rank, known=lambda: low_rank(given, rank))
    if batch > axis:
        c.fail(f"batch_dims <= axis ({axis})", f"{batch}")
    if not d.compatible(params[:batch], indices[:batch]):
        c.fail_at_step(
            "equal batches",
            f"{d.text(params)} and {d.text(indices)}: {_unlike(params, indices, batch)}",
            known=(None,) * (len(params) + len(indices) - 1 - batch),
        )
    head = c.merge(params[:batch], indices[:batch])
    return (*head, *params[batch:axis], *indices[batch:], *params[axis + 1 :])  # type: ignore[misc]


def _unlike(params: Dims, indices: Dims, batch: int) -> str:
    """What a kernel says of batches of different sizes."""
    pairs = enumerate(zip((params or ())[:batch], (indices or ())[:batch], strict=False))
    i, (m, n) = next(((i, p) for i, p in pairs if p[0] != p[1]), (0, (0, 0)))
    return f"params.shape[{i}]: {m} should be equal to indices.shape[{i}]: {n}"


GATHER_V2 = define_op(
    "GatherV2(params: Tparams, indices: Tindices, axis: Taxis; batch_dims: int = 0, Tparams: "
    "type, Tindices: {int16, int32, int64}, "
    "Taxis: {int32, int64}) -> output: Tparams",
    shape=_gather_v2_shape,
    host_inputs=("axis",),
    fallible=True,
    doc="Slices of the input along an axis, at the positions of `indices`.",
)


@kernel(GATHER_V2, limit=GATHER_LIMIT)
def _gather_v2(
    ctx: KernelContext, xp: Any, params: Array, indices: Array, axis: Array, *, batch_dims: int
) -> Array:
    where = int(axis) % params.ndim
    if xp is not np and where == 0 and batch_dims in (0, -indices.ndim):
        found = first_rows(ctx, params, indices)
        if found is not None:
            return found
    check_rows(ctx, xp, indices, params.shape[where])
    return take(
        xp, params, indices, where, batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    )


def take(xp: Any, params: Array, indices: Array, axis: int, batch: int) -> Array:
    """Slices of `params` along `axis`; the first `batch` axes of both belong together."""
    if not batch:
        if xp is not np and not params.shape[axis]:  # the check has failed, or nothing is taken
            return xp.zeros(
                (*params.shape[:axis], *indices.shape, *params.shape[axis + 1 :]), params.dtype
            )
        return (
            params.take(indices, axis) if xp is np else xp.take(params, indices, axis, mode="clip")
        )
    front = params if axis == batch else xp.moveaxis(params, axis, batch)
    sizes, rest = front.shape[:batch], front.shape[batch + 1 :]
    count, rows = math.prod(sizes), front.shape[batch]
    flat = front.reshape((count * rows, *rest))
    offsets = (np.arange(count) * rows).reshape((*sizes, *(1,) * (indices.ndim - batch)))
    places = indices + offsets
    taken = flat[places] if xp is np else xp.take(flat, places, 0, mode="clip")
    if axis == batch:
        return taken
    inner = indices.ndim - batch
    outer = axis - batch
    order = [
        *range(batch),
        *range(batch + inner, batch + inner + outer),
        *range(batch, batch + inner),
    ]
    return xp.transpose(taken, [*order, *range(len(order), taken.ndim)])


@GATHER_V2.gradient
def _gather_v2_gradient(op: Any, grad: Any) -> list[Any]:
    params, indices, axis_tensor = op.inputs
    axis, batch = constant_value(axis_tensor), op.get_attr("batch_dims")
    if axis is None or params.dims is None or indices.dims is None:
        if axis is not None and int(axis) == 0 and not batch:
            return [_rows_gradient(params, indices, grad), None, None]
        return [_any_rank_gradient(params, indices, grad, axis_tensor, batch), None, None]
    batch = batch + len(indices.dims) if batch < 0 else batch
    where = int(axis) % len(params.dims)
    if where == 0 and not batch:
        return [_rows_gradient(params, indices, grad), None, None]
    return [_dense_gradient(params, indices, grad, where, batch), None, None]


def _rows_gradient(params: Any, indices: Any, grad: Any) -> IndexedSlices:
    sizes = shape_of(params, int64)
    flat = reshape(indices, [-1])
    return IndexedSlices(
        reshape(grad, _rows_shape(params, flat)), flat, execute("Cast", (sizes,), {"DstT": int32})
    )


def _rows_shape(params: Any, flat: Any) -> Any:
    if params.dims is not None and d.is_full(params.dims[1:]) and d.is_full(flat.dims):
        return [flat.dims[0], *params.dims[1:]]
    return concat([execute("Shape", (flat,)), execute("Shape", (params,))[1:]], 0)


def _dense_gradient(params: Any, indices: Any, grad: Any, axis: int, batch: int) -> Any:
    """The slices of `grad` added up at their places.

    One segment sum over the batches and rows together.
    """
    inner, outer, rank = len(indices.dims) - batch, axis - batch, len(grad.dims)
    order = [
        *range(batch),
        *range(batch + outer, batch + outer + inner),
        *range(batch, batch + outer),
    ]
    order += range(len(order), rank)
    moved = execute("Transpose", (grad, order))
    sizes, places = shape_of(params), execute("Cast", (indices,), {"DstT": int32})
    rows, head = sizes[axis], sizes[:batch]
    tail = concat([sizes[batch:axis], sizes[axis + 1 :]], 0)
    total = rows
    if batch:
        count = execute("Prod", (head, [0]))
        starts = execute("Mul", (execute("Range", (0, count, 1)), rows))
        ones = np.ones(inner, np.int32)
        places = execute(
            "AddV2", (places, reshape(starts, concat([head, ones], 0) if inner else head))
        )
        total = execute("Mul", (count, rows))
    values = reshape(moved, concat([[-1], tail], 0))
    summed = execute("UnsortedSegmentSum", (values, reshape(places, [-1]), total))
    front = reshape(summed, concat([head, reshape(rows, [1]), tail], 0))
    back = [*range(batch), *range(batch + 1, axis + 1), batch, *range(axis + 1, len(params.dims))]
    return execute("Transpose", (front, back))


def _any_rank_gradient(params: Any, indices: Any, grad: Any, axis: Any, batch: int) -> Any:
    """As `_dense_gradient`, where ranks or the axis come with the step.

    The axes of a kind are made one: those of batches, those up to the axis, and those behind it.
    """
    sizes, counts = shape_of(params), shape_of(indices)
    axis = execute("FloorMod", (execute("Cast", (axis,), {"DstT": int32}), shape_of(sizes)[0]))
    front = batch if batch >= 0 else execute("AddV2", (shape_of(counts)[0], batch))

    def whole(part: Any) -> Any:
        return execute("Prod", (part, [0]), {"keep_dims": True})

    batches, outer = whole(sizes[:front]), whole(sizes[front:axis])
    rows, tail = reshape(sizes[axis], [1]), whole(sizes[axis + 1 :])
    places = whole(counts[front:])
    summed = _dense_gradient(
        reshape(params, concat([batches, outer, rows, tail], 0)),
        reshape(indices, concat([batches, places], 0)),
        reshape(grad, concat([batches, outer, places, tail], 0)),
        2,
        1,
    )
    return reshape(summed, sizes)


GATHER = define_op(
    "Gather(params: Tparams, indices: Tindices; validate_indices: bool = True, Tparams: type, "
    "Tindices: {int32, int64}) -> output: Tparams",
    shape=lambda c: d.concat(c.shape(1), None if c.rank_at_least(0, 1) is None else c.shape(0)[1:]),
    fallible=True,
    doc="Slices of the input along its first axis; the old form of GatherV2.",
)


@kernel(GATHER, limit=GATHER_LIMIT)
def _gather(ctx: KernelContext, xp: Any, params: Array, indices: Array) -> Array:
    found = first_rows(ctx, params, indices) if xp is not np else None
    if found is not None:
        return found
    check_rows(ctx, xp, indices, params.shape[0])
    return take(xp, params, indices, 0, 0)


@GATHER.gradient
def _gather_gradient(op: Any, grad: Any) -> list[Any]:
    return [_rows_gradient(op.inputs[0], op.inputs[1], grad), None]


# ---- GatherNd

POLICIES = ("", "DEFAULT", "ERROR", "IGNORE")


def check_policy(c: ShapeContext) -> None:
    """Refuses an unknown policy for bad indices."""
    if c.attr("bad_indices_policy") not in POLICIES:
        c.fail(f"bad_indices_policy in {POLICIES}", f"{c.attr('bad_indices_policy')!r}")


def _gather_nd_shape(c: ShapeContext) -> Dims:
    check_policy(c)
    params, indices = c.shape(0), c.rank_at_least(1, 1, "indices")
    if params is None or indices is None or indices[-1] is None:
        return None
    if indices[-1] > len(params):
        fact = (
            f"indices.shape[-1] must be <= params.rank, but saw indices shape:"
            f" {d.bracketed(indices)} and params shape: {d.bracketed(params)}"
        )
        if c.running:
            fact = (
                "index innermost dimension length must be <= params rank; saw:"
                f" {indices[-1]} vs. {len(params)}"
            )
        c.fail(
            f"indices of depth at most {len(params)}",
            f"indices of shape {d.text(indices)} for params of shape {d.text(params)}: {fact}",
        )
    return (*indices[:-1], *params[indices[-1] :])


GATHER_ND = define_op(
    "GatherNd(params: Tparams, indices: Tindices; Tparams: type, Tindices: {int16, int32, int64}, "
    "bad_indices_policy: string = '') -> "
    "output: Tparams",
    shape=_gather_nd_shape,
    fallible=True,
    doc="Elements or slices of the input at positions given by the last axis of `indices`.",
)


def places_of(
    ctx: KernelContext, xp: Any, indices: Array, sizes: tuple[int, ...], policy: str, what: str
) -> tuple[Any, Any]:
    """The index arrays of positions in the last axis of `indices`, and which are inside.

    Positions outside come back as 0; unless the policy ignores them they fail the step.
    """
    depth = indices.shape[-1]
    if isinstance(indices, np.ndarray):
        xp = np
    limits = np.array(sizes[:depth], np.int64)
    if not depth:
        return (), xp.ones(indices.shape[:-1], bool)
    ok = ((indices >= 0) & (indices < limits)).all(-1)
    if policy != "IGNORE":
        check_positions(ctx, xp, indices, sizes, what)
    safe = xp.where(ok[..., None], indices, 0)
    return tuple(safe[..., i] for i in range(depth)), ok


def check_positions(
    ctx: KernelContext, xp: Any, indices: Array, sizes: tuple[int, ...], what: str
) -> None:
    """Fails the step unless all positions in the last axis of `indices` are inside of `sizes`."""
    if indices.size:  # with positions of no numbers there is none
        flat = indices.reshape(-1, indices.shape[-1])
        xp = np if isinstance(indices, np.ndarray) else xp
        refuse_positions(ctx, indices, sizes, what, *first_outside(xp, flat, sizes))


def refuse_positions(
    ctx: KernelContext, indices: Array, sizes: tuple[int, ...], what: str, ok: Any, first: Any
) -> None:
    """Fails the step unless `ok`; `first` is the number of a position that is outside."""
    dims, rows = indices.shape[:-1], indices.reshape(-1, indices.shape[-1])

    def text(at: Any, row: Any) -> str:
        place = place_text(at, dims)
        return f"indices[{place}] = {row.tolist()} does not index into {what} shape {list(sizes)}"

    ctx.check(ok, errors.InvalidArgumentError, text, first, rows[first])


def taken(params: Array, indices: Array) -> Array | None:
    """What stands at positions that are all inside; None where one is not, or there is none."""
    if not indices.size or not params.size:
        return None
    depth, place = indices.shape[-1], native_places.flat_rows(indices, params.shape)
    if place is not None:
        rows = params if depth == 1 else params.reshape(-1, *params.shape[depth:])
        found = rows.take(place, axis=0)
        return found if indices.ndim == 2 else found.reshape(indices.shape[:-1] + rows.shape[1:])
    for size, axis in zip(params.shape, range(depth), strict=False):
        column = indices[..., axis].astype(np.intp)
        if np.minimum.reduce(column, None) < 0 or np.maximum.reduce(column, None) >= size:
            return None
        place = column if place is None else place * size + column
    return params.reshape(-1, *params.shape[depth:]).take(place, axis=0)


@kernel(GATHER_ND, limit=GATHER_LIMIT)
def _gather_nd(
    ctx: KernelContext, xp: Any, params: Array, indices: Array, *, bad_indices_policy: str
) -> Array:
    depth = indices.shape[-1]
    if not params.size and math.prod(indices.shape[:-1]):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Requested more than 0 entries, but params is empty. Params shape: "
            f"{d.text(params.shape)}: expected params with elements for indices of shape "
            f"{d.text(indices.shape)}. Give indices without rows, or params that are not empty.",
        )
    if not depth:
        return xp.broadcast_to(params, indices.shape[:-1] + params.shape)
    found = taken(params, indices) if xp is np else None
    if found is not None:
        return found
    if xp is not np and indices.size:
        rows = positions.taken(params, indices)
        if rows is not None:
            if bad_indices_policy != "IGNORE":
                refuse_positions(ctx, indices, params.shape, "param", *rows[1:])
            return rows[0]
    places, ok = places_of(ctx, xp, indices, params.shape, bad_indices_policy, "param")
    if 0 in params.shape[:depth]:
        return xp.zeros((*indices.shape[:-1], *params.shape[depth:]), params.dtype)
    result = xp.asarray(params)[places]  # in a trace they may be known, where the places are not
    if bad_indices_policy == "IGNORE":
        result = xp.where(
            ok.reshape(ok.shape + (1,) * (result.ndim - ok.ndim)),
            result,
            xp.zeros((), params.dtype),
        )
    return result


@GATHER_ND.gradient
def _gather_nd_gradient(op: Any, grad: Any) -> list[Any]:
    params, indices = op.inputs
    if indices.dims is not None and len(indices.dims) == 2 and indices.dims[-1] == 1:
        rows = execute("Squeeze", (indices,), {"squeeze_dims": [-1]})
        return [IndexedSlices(grad, rows, shape_of(params, indices.dtype)), None]
    sizes = execute("Cast", (shape_of(params),), {"DstT": indices.dtype})
    policy = op.get_attr("bad_indices_policy")
    return [execute("ScatterNd", (indices, grad, sizes), {"bad_indices_policy": policy}), None]


# ---- public functions


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Any:
    """Slices of `params` along an axis, at the positions of `indices`.

    Args:
      params: a tensor of rank P >= 1, or a variable.
      indices: int16, int32 or int64 of rank I; each in [0, params.shape[axis]).
      validate_indices: not used; indices are always checked.
      axis: integer; `batch_dims` by default.
      batch_dims: the number of leading axes that `params` and `indices` share.
      name: the name in a graph.

    Returns:
      A tensor of shape params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:].

    Raises:
      InvalidArgumentError: an index is out of range.
      ValueError: axes do not fit.

    Example:
      >>> gather([10, 20, 30], [2, 0]).numpy().tolist()
      [30, 10]
    """
    del validate_indices
    axis = batch_dims if axis is None else axis
    if (
        hasattr(params, "sparse_read")
        and not batch_dims
        and isinstance(axis, (int, np.integer))
        and axis == 0
    ):
        return params.sparse_read(indices, name=name)
    params = convert_to_tensor(params)
    if isinstance(axis, (int, np.integer)) and batch_dims < 0:
        indices = convert_to_tensor(indices, dtype_hint=int32)
        batch_dims += len(indices.dims)
    return execute(GATHER_V2, (params, indices, axis), {"batch_dims": batch_dims}, name)


def gather_v1(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Any:
    """Slices of `params` along an axis; see `tf.gather`."""
    return gather(params, indices, validate_indices, axis, batch_dims, name)


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """Slices of `params` by `indices` of the same leading axes.

    A gather along the last axis of `indices`.
    """
    indices = convert_to_tensor(indices, dtype_hint=int32)
    if indices.dims is None:
        raise ValueError(
            "batch_gather does not allow indices with unknown shape. Use tf.ensure_shape."
        )
    params, batch = convert_to_tensor(params), len(indices.dims) - 1
    if params.dims is not None and batch >= len(params.dims):
        raise ValueError(
            f"Argument `batch_dims` = {batch} must be less than rank(`params`) = "
            f"{len(params.dims)}: expected params with the batches of indices of shape"
            f" {indices.shape}, and an axis behind them."
        )
    return gather(params, indices, batch_dims=batch, name=name)


def gather_nd(
    params: Any,
    indices: Any,
    batch_dims: int = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Any:
    """Elements or slices of `params` at the positions in the last axis of `indices`.

    Args:
      params: any tensor, or a variable.
      indices: int16, int32 or int64 of shape [..., K], K at most the rank of `params` without batch
        axes.
      batch_dims: the number of leading axes that `params` and `indices` share.
      name: the name in a graph.
      bad_indices_policy: "" or "ERROR": a position outside is an error; "IGNORE": it gives zeros.

    Returns:
      A tensor of shape indices.shape[:-1] + params.shape[batch_dims + K:].

    Raises:
      InvalidArgumentError: a position is out of range.

    Example:
      >>> gather_nd([[1, 2], [3, 4]], [[1, 0]]).numpy().tolist()
      [3]
    """
    if not batch_dims and hasattr(params, "gather_nd") and not bad_indices_policy:
        return params.gather_nd(indices, name=name)
    attrs = {"bad_indices_policy": bad_indices_policy}
    if not batch_dims:
        return execute(GATHER_ND, (params, indices), attrs, name)
    indices = convert_to_tensor(indices, dtype_hint=int32)
    params = convert_to_tensor(params)
    if indices.dims is None or not 0 < batch_dims < len(indices.dims):
        raise ValueError(
            f"gather_nd: expected batch_dims in [0, {len(indices.dims or ())}), got {batch_dims}."
        )
    sizes = shape_of(indices)
    lead = sizes[: len(indices.dims) - 1]
    grid = []
    for i in range(batch_dims):
        row = execute("Range", (0, sizes[i], 1))
        steps = [1] * (len(indices.dims) - 1)
        steps[i] = -1
        wide = execute("BroadcastTo", (reshape(row, steps), lead))
        grid.append(execute("Cast", (execute("ExpandDims", (wide, -1)),), {"DstT": indices.dtype}))
    return execute(GATHER_ND, (params, concat([*grid, indices], -1)), attrs, name)


def gather_nd_v1(
    params: Any,
    indices: Any,
    name: str | None = None,
    batch_dims: int = 0,
    bad_indices_policy: str = "",
) -> Any:
    """Elements or slices of `params` at positions; see `tf.gather_nd`."""
    return gather_nd(params, indices, batch_dims, name, bad_indices_policy)
