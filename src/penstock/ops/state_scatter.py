"""Operations on some rows of a variable: gathers and scatters.

A scatter touches only the rows it names: on the host where the array is the variable's alone, else
a copy is made of it. Its indices are checked in the kernel; where a check
fails in a compiled region, the rows are masked instead of selecting between two whole variables
(`write_rows`), so that a table of any size is updated in place at the cost of the rows.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.composite import IndexedSlices
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel, kernel
from penstock.core.lazy import jnp, lax
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops import positions
from penstock.ops.array_gather import taken
from penstock.ops.extremes import raised
from penstock.ops.positions import first_outside, place_text
from penstock.ops.state_host_rows import (
    HOST_UPDATES,
    change_places,
    change_rows,
    positions_fit,
)
from penstock.ops.state_variables import NUMERIC, variable_shape
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray, jax.Array or a tracer
_UNSIGNED = {4: np.uint32, 8: np.uint64}
HOST_ROWS_LIMIT = 16_384  # the host copies the whole variable, so only small ones go there


def _refuse_outside(ctx: Any, indices: Array, size: int, ok: Any, first: Any) -> None:
    """Fails the step unless `ok`; `first` is the number of an index that is outside."""
    flat, dims = indices.reshape(-1), indices.shape

    def text(at: Any, value: Any) -> str:
        place = place_text(at, dims, "0")
        return (
            f"indices[{place}] = {int(value)} is not in [0, {size}): expected the index of a row. "
            "Check the ids, or give the variable more rows."
        )

    ctx.check(ok, errors.InvalidArgumentError, text, first, flat[first])


def check_rows(ctx: Any, indices: Array, size: int) -> None:
    """Fails the step unless all `indices` are in [0, size)."""
    if not indices.size:
        return
    if indices.__class__ is np.ndarray:  # one pass: what is negative is beyond all sizes
        unsigned = indices.view(_UNSIGNED[indices.dtype.itemsize])
        if np.maximum.reduce(unsigned, None) < size:
            return
    xp = np if indices.__class__ is np.ndarray else jnp
    found = first_outside(xp, indices.reshape(-1, 1), (size,))
    _refuse_outside(ctx, indices, size, *found)


def write_rows(ctx: Any, resource: Any, update: Callable[[Array, Any], Array]) -> None:
    """Writes `update(old, ok)` to a variable in a compiled region.

    `update` gives the new value when the boolean scalar `ok` holds, else the old one, touching
    only the rows it updates.
    """
    before, again = resource.value, getattr(resource, "regate", None)
    gated = not resource.written or again is not None
    resource.write(
        update(resource.read(), ctx.all_ok),
        gated_at=ctx.checks_so_far if gated else -1,
        regate=(lambda ok: update(again(ok) if again is not None else before, ok))
        if gated
        else None,
    )


def masked(indices: Array, ok: Any, size: int) -> Array:
    """`indices`, or rows beyond the end, which mode "drop" leaves out, unless `ok` holds."""
    return indices if ok is True else jnp.where(ok, indices, size)


# gathers
def _gather_shape(c: ShapeContext) -> Dims:
    params, indices, batch = c.variable_shape(0), c.shape(1), c.attr("batch_dims")
    if indices is None or params is None:
        return None
    if len(params) < 1:
        c.fail("a variable of rank at least 1", f"shape {d.text(params)}")
    if batch < 0:
        batch += len(indices)
    if not 0 <= batch <= len(indices) or batch >= len(params):
        c.fail(
            f"batch_dims in [0, {min(len(indices), len(params) - 1)}]", f"{c.attr('batch_dims')}"
        )
    front = c.merge(params[:batch], indices[:batch])
    assert front is not None
    return (*front, *indices[batch:], *params[batch + 1 :])


GATHER = define_op(
    "ResourceGather(resource: resource, indices: Tindices; batch_dims: int = 0, validate_indices: "
    "bool = True, dtype: type, "
    "Tindices: {int32, int64}) -> output: dtype",
    shape=_gather_shape,
    stateful=True,
    effects={"resource": "r"},
    fallible=True,
    doc="The rows of a variable that `indices` name; reads only these.",
)


@kernel(GATHER, limit=1 << 20, by_rows=True)
def _gather(ctx: Any, xp: Any, resource: Any, indices: Array, *, batch_dims: int) -> Array:
    params = xp.asarray(resource.read())
    if params.ndim == 0:
        raise errors.InvalidArgumentError(
            None, None, "params must be at least 1 dimensional, got a scalar variable."
        )
    batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    if batch == 0 and xp is not np and indices.__class__ is not np.ndarray:
        found = positions.taken(params, indices[..., None])
        if found is not None:
            _refuse_outside(ctx, indices, params.shape[0], *found[1:])
            return found[0]
    check_rows(ctx, indices, params.shape[batch])
    options = {} if xp is np else {"mode": "clip"}
    if batch == 0:
        return xp.take(params, indices, axis=0, **options)
    shape = indices.shape + params.shape[batch + 1 :]
    lead = int(np.prod(params.shape[:batch]))
    rows = params.reshape((lead * params.shape[batch], *params.shape[batch + 1 :]))
    offset = np.arange(lead, dtype=indices.dtype).reshape(
        indices.shape[:batch] + (1,) * (indices.ndim - batch)
    )
    return xp.take(rows, indices + offset * params.shape[batch], axis=0, **options).reshape(shape)


@GATHER.gradient
def _gather_gradient(op: Any, grad: Any) -> list[Any]:
    handle, indices = op.inputs
    if op.get_attr("batch_dims"):
        return [_dense_gather_gradient(op, grad), None]
    shape = variable_shape(handle, indices.dtype)
    size = execute("Reshape", (execute("Size", (indices,), {"out_type": indices.dtype}), [1]))
    tail = execute("StridedSlice", (shape, [1], [0], [1]), {"end_mask": 1})
    values = execute("Reshape", (grad, execute("ConcatV2", ([size, tail], 0))))
    return [IndexedSlices(values, execute("Reshape", (indices, size)), shape), None]


def _dense_gather_gradient(op: Any, grad: Any) -> Any:
    """With batch dimensions: the gradient is dense, summed row by row of the flattened variable."""
    handle, indices = op.inputs
    batch = op.get_attr("batch_dims")
    batch = batch + len(indices.dims) if batch < 0 else batch
    kind = indices.dtype
    shape = variable_shape(handle, kind)
    front = execute("StridedSlice", (shape, [0], [batch + 1], [1]), {"begin_mask": 1})
    tail = execute("StridedSlice", (shape, [batch + 1], [0], [1]), {"end_mask": 1})
    rows = execute("Prod", (front, [0]))
    width = execute("StridedSlice", (shape, [batch], [batch + 1], [1]), {"shrink_axis_mask": 1})
    zero, one = (execute("Cast", (n,), {"DstT": kind}) for n in (0, 1))
    starts = execute("Range", (zero, rows, width))
    count = execute("Reshape", (execute("Sub", (execute("Rank", (indices,)), batch)), [1]))
    ones = execute("Fill", (count, one))
    lead = execute("StridedSlice", (shape, [0], [batch], [1]), {"begin_mask": 1})
    offsets = execute("Reshape", (starts, execute("ConcatV2", ([lead, ones], 0))))
    flat = execute("Reshape", (execute("AddV2", (indices, offsets)), [-1]))
    minus = execute("Reshape", (execute("Neg", (one,)), [1]))
    values = execute("Reshape", (grad, execute("ConcatV2", ([minus, tail], 0))))
    return execute("Reshape", (execute("UnsortedSegmentSum", (values, flat, rows)), shape))


def _gather_nd_shape(c: ShapeContext) -> Dims:
    params, indices = c.variable_shape(0), c.shape(1)
    if params is None or indices is None or not indices or indices[-1] is None:
        return None
    if indices[-1] > len(params):
        c.fail(f"indices.shape[-1] <= {len(params)}, the variable's rank", f"{indices[-1]}")
    return (*indices[:-1], *params[indices[-1] :])


GATHER_ND = define_op(
    "ResourceGatherNd(resource: resource, indices: Tindices; dtype: type, Tindices: {int32, "
    "int64}) -> output: dtype",
    shape=_gather_nd_shape,
    stateful=True,
    effects={"resource": "r"},
    fallible=True,
    doc="The slices of a variable that the rows of `indices` (positions in its first axes) name.",
)


def _refuse_positions(
    ctx: Any, indices: Array, shape: tuple[int, ...], ok: Any, first: Any
) -> None:
    """Fails the step unless `ok`; `first` is the number of a position that is outside."""
    dims, rows = indices.shape[:-1], indices.reshape(-1, indices.shape[-1])

    def text(at: Any, row: Any) -> str:
        place = place_text(at, dims, "0")
        position = ", ".join(str(int(i)) for i in row)
        return (
            f"indices[{place}] = [{position}] does not index into shape {d.text(shape)}. "
            "Check the positions."
        )

    ctx.check(ok, errors.InvalidArgumentError, text, first, rows[first])


def _inside(indices: Array, shape: tuple[int, ...]) -> Array:
    """For each position whether it lies in the first axes of `shape`."""
    return ((indices >= 0) & (indices < np.asarray(shape[: indices.shape[-1]], indices.dtype))).all(
        -1
    )


def check_positions(ctx: Any, indices: Array, shape: tuple[int, ...]) -> None:
    """Fails the step unless all positions (the last axis of `indices`) lie in `shape`."""
    if not indices.ndim or indices.shape[-1] > len(shape):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"index innermost dimension length must be <= params rank; saw: {indices.shape[-1:]} "
            f"vs. {len(shape)}",
        )
    if not indices.size:  # positions of no numbers are inside
        return
    xp = np if indices.__class__ is np.ndarray else jnp
    found = first_outside(xp, indices.reshape(-1, indices.shape[-1]), shape)
    _refuse_positions(ctx, indices, shape, *found)


@kernel(GATHER_ND, limit=1 << 20)
def _gather_nd(ctx: Any, xp: Any, resource: Any, indices: Array) -> Array:
    params = xp.asarray(resource.read())
    found = None
    if xp is np and indices.ndim and 0 < indices.shape[-1] <= params.ndim:
        found = taken(params, indices)
    if found is not None:
        return found
    check_positions(ctx, indices, params.shape)
    position = tuple(indices[..., i] for i in range(indices.shape[-1]))
    if not position:
        return xp.broadcast_to(params, indices.shape[:-1] + params.shape)
    return params[position] if xp is np else params.at[position].get(mode="clip")


@GATHER_ND.gradient
def _gather_nd_gradient(op: Any, grad: Any) -> list[Any]:
    handle, indices = op.inputs
    shape = variable_shape(handle, indices.dtype)
    if indices.dims is not None and len(indices.dims) == 2 and indices.dims[-1] == 1:
        return [
            IndexedSlices(grad, execute("Squeeze", (indices,), {"squeeze_dims": [-1]}), shape),
            None,
        ]
    return [execute("ScatterNd", (indices, grad, shape)), None]


# scatters by row
def updates_problem(params: Dims, indices: Dims, updates: Dims) -> str | None:
    """Why `updates` cannot go to rows `indices` of `params`; None when they may."""
    if params is None or indices is None or updates is None or updates == ():
        return None
    if not params or not d.compatible(updates, (*indices, *params[1:])):
        return (
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], "
            f"got updates.shape {d.text(updates)}, "
            f"indices.shape {d.text(indices)}, params.shape {d.text(params)}"
        )
    return None


def _scatter_shape(c: ShapeContext) -> list[Dims]:
    problem = updates_problem(c.variable_shape(0), c.shape(1), c.shape(2))
    if problem is not None:
        raise ValueError(f"{c.op_name}: {problem}")
    return []


def _prepare_rows(
    ctx: Any, xp: Any, resource: Any, indices: Array, updates: Array
) -> tuple[Array, Array]:
    """The old value, and the updates in full shape; refuses shapes and indices that do not fit."""
    params = resource.read()
    problem = updates_problem(params.shape, indices.shape, updates.shape)
    if params.dtype != updates.dtype:
        problem = f"expected updates of dtype {params.dtype}, as the variable, got {updates.dtype}"
    if problem is not None or params.ndim == 0:
        raise errors.InvalidArgumentError(
            None, None, problem or "a scalar variable has no rows to scatter into"
        )
    check_rows(ctx, indices, params.shape[0])
    shape = indices.shape + params.shape[1:]
    return params, updates if updates.shape == shape else xp.broadcast_to(updates, shape)


def _divide_rows(old: Array, indices: Array, updates: Array, ok: Any) -> Array:
    """One row after the other, since a row may be named twice."""
    if indices.size == 0:
        return jnp.copy(old)
    flat, rows = indices.reshape(-1), updates.reshape((-1, *old.shape[1:]))
    integer = np.issubdtype(old.dtype, np.integer)

    def step(i: Any, value: Array) -> Array:
        row = lax.dynamic_index_in_dim(value, flat[i], 0, keepdims=False)
        new = lax.div(row, rows[i]) if integer else row / rows[i]
        return lax.dynamic_update_index_in_dim(value, new, flat[i], 0)

    count = jnp.asarray(flat.shape[0], jnp.int32)
    return lax.fori_loop(jnp.int32(0), count if ok is True else jnp.where(ok, count, 0), step, old)


def _check_divisors(ctx: Any, xp: Any, updates: Array) -> None:
    """Integers are not divided by zero."""
    if np.issubdtype(updates.dtype, np.integer):
        ctx.check(
            (updates != 0).all(),
            errors.InvalidArgumentError,
            lambda: "Integer division by zero. Take the zeros out of the updates.",
        )


AT_METHODS = {
    "Add": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "Update": "set",
}


def _written(kind: str, old: Array, places: Any, updates: Array) -> Array:
    """A variable's value after updates, without those at places beyond the end."""
    if kind in ("Min", "Max"):
        return raised(jnp, kind == "Max", old, places, updates)
    return getattr(old.at[places], AT_METHODS[kind])(updates, mode="drop")


def _define_scatter(kind: str, doc: str) -> OpDef:
    dtype = "type" if kind == "Update" else "numbertype"
    op = define_op(
        f"ResourceScatter{kind}(resource: resource, indices: Tindices, updates: dtype; dtype: "
        f"{dtype}, "
        "Tindices: {int32, int64}) -> ",
        shape=_scatter_shape,
        stateful=True,
        effects={"resource": "rw"},
        fallible=True,
        doc=doc,
    ).not_differentiable("it has no outputs")

    @host_kernel(op, limit=HOST_ROWS_LIMIT, by_rows=kind != "Div")
    def _on_host(ctx: KernelContext, resource: Any, indices: Array, updates: Array) -> None:
        if change_rows(kind, resource, indices, updates):
            return
        full = _prepare_rows(ctx, np, resource, indices, updates)[1]
        if kind == "Div":  # row after row, which may be stopped half-way
            _check_divisors(ctx, np, full)
        elif resource.holds_alone():
            HOST_UPDATES[kind](resource.value, indices, full)
            return
        new = np.array(resource.value)
        HOST_UPDATES[kind](new, indices, full)
        resource.write(new)

    @compiled_kernel(op)
    def _compiled(ctx: Any, resource: Any, indices: Array, updates: Array) -> None:
        params, full = _prepare_rows(ctx, jnp, resource, indices, updates)
        if kind == "Div":
            _check_divisors(ctx, jnp, full)

        def update(old: Array, ok: Any) -> Array:
            if kind == "Div":
                return _divide_rows(old, indices, full, ok)
            return _written(kind, old, masked(indices, ok, params.shape[0]), full)

        write_rows(ctx, resource, update)

    @op.checked_on_host
    def _checks(ctx: KernelContext, params: Array, indices: Array, updates: Array) -> None:
        if params.ndim == 0:
            return  # the kernel refuses it
        check_rows(ctx, indices, params.shape[0])
        if kind == "Div" and indices.size:
            _check_divisors(ctx, np, updates)

    return op


SCATTER = {
    kind: _define_scatter(kind, doc)
    for kind, doc in {
        "Add": "Adds rows to the rows of a variable.",
        "Sub": "Subtracts rows from the rows of a variable.",
        "Mul": "Multiplies rows of a variable.",
        "Div": "Divides rows of a variable.",
        "Min": "Takes the minimum of rows of a variable and others.",
        "Max": "Takes the maximum of rows of a variable and others.",
        "Update": "Replaces rows of a variable.",
    }.items()
}


# scatters by position
def _scatter_nd_problem(params: Dims, indices: Dims, updates: Dims) -> str | None:
    if params is None or indices is None or updates is None or indices == () or indices[-1] is None:
        return None
    depth, lead = indices[-1], len(indices) - 1
    if depth > len(params):
        return (
            f"indices.shape[-1] <= {len(params)}, the variable's rank, expected; got indices of "
            f"shape {d.text(indices)}"
        )
    if not d.compatible(updates[:lead], indices[:-1]):
        return (
            f"Dimensions [0,{lead}) of indices[shape={d.text(indices)}] must match dimensions "
            f"[0,{lead}) of "
            f"updates[shape={d.text(updates)}]"
        )
    if not d.compatible(updates[lead:], params[depth:]):
        return (
            f"Dimensions [{depth},{len(params)}) of input[shape={d.text(params)}] must match "
            f"dimensions [{lead},{len(updates)}) of "
            f"updates[shape={d.text(updates)}]"
        )
    return None


def _scatter_nd_shape(c: ShapeContext) -> list[Dims]:
    problem = _scatter_nd_problem(c.variable_shape(0), c.shape(1), c.shape(2))
    if problem is not None:
        raise ValueError(f"{c.op_name}: {problem}")
    return []


def _prepare_positions(
    ctx: Any, params: Array, indices: Array, updates: Array, policy: str
) -> None:
    problem = _scatter_nd_problem(params.shape, indices.shape, updates.shape)
    if problem is not None or indices.ndim == 0:
        raise errors.InvalidArgumentError(
            None, None, problem or "indices must be at least a vector, got a scalar"
        )
    if policy not in ("", "DEFAULT", "ERROR", "IGNORE"):
        raise errors.InvalidArgumentError(
            None,
            None,
            "bad_indices_policy must be one of '', 'DEFAULT', 'ERROR' and 'IGNORE', got "
            f"{policy!r}",
        )
    if policy != "IGNORE":
        check_positions(ctx, indices, params.shape)


def _define_scatter_nd(kind: str, doc: str) -> OpDef:
    op = define_op(
        f"ResourceScatterNd{kind}(ref: resource, indices: Tindices, updates: T; T: type, Tindices: "
        f"{{int32, int64}}, "
        "use_locking: bool = True, bad_indices_policy: string = '') -> ",
        shape=_scatter_nd_shape,
        stateful=True,
        effects={"ref": "rw"},
        fallible=True,
        doc=doc,
    ).not_differentiable("it has no outputs")

    @host_kernel(op, limit=HOST_ROWS_LIMIT)
    def _on_host(
        ctx: KernelContext, ref: Any, indices: Array, updates: Array, *, bad_indices_policy: str
    ) -> None:
        strict = bad_indices_policy in ("", "DEFAULT", "ERROR")
        fits = strict and positions_fit(ref.value, indices, updates)
        if fits and change_places(kind, ref, indices, updates):
            return
        params = ref.read()
        _prepare_positions(ctx, params, indices, updates, bad_indices_policy)
        if bad_indices_policy == "IGNORE":
            good = _inside(indices, params.shape)
            indices, updates = indices[good], updates[good]
        new = np.array(params)
        position = tuple(indices[..., i] for i in range(indices.shape[-1]))
        if position:
            HOST_UPDATES[kind](new, position, updates)
        for row in [] if position else updates.reshape((-1, *params.shape)):
            HOST_UPDATES[kind](new, ..., row)
        ref.write(new)

    @compiled_kernel(op)
    def _compiled(
        ctx: Any, ref: Any, indices: Array, updates: Array, *, bad_indices_policy: str
    ) -> None:
        params = ref.read()
        _prepare_positions(ctx, params, indices, updates, bad_indices_policy)

        def update(old: Array, ok: Any) -> Array:
            return _scattered_nd(kind, old, indices, updates, ok)

        write_rows(ctx, ref, update)

    return op


def _scattered_nd(kind: str, old: Array, indices: Array, updates: Array, ok: Any) -> Array:
    """A variable's value after updates at positions; those outside, or not ok, change nothing."""
    inside = _inside(indices, old.shape)
    keep = inside if ok is True else ok & inside
    position = [indices[..., i] for i in range(indices.shape[-1])]
    if not position:  # the whole variable, as often as there are rows
        shown = keep.reshape(keep.shape + (1,) * old.ndim)
        full = jnp.where(shown, updates, _neutral(kind, old, updates))
        return _fold(kind, old, full.reshape((-1, *old.shape)))
    position[0] = jnp.where(keep, position[0], old.shape[0])
    return _written(kind, old, tuple(position), updates)


def _neutral(kind: str, old: Array, updates: Array) -> Array:
    """What leaves the variable as it is when it is scattered."""
    return (
        jnp.zeros_like(updates) if kind in ("Add", "Sub") else jnp.broadcast_to(old, updates.shape)
    )


def _fold(kind: str, old: Array, rows: Array) -> Array:
    combine = {
        "Add": jnp.add,
        "Sub": jnp.subtract,
        "Min": lambda a, b: jnp.where(b < a, b, a),
        "Max": lambda a, b: jnp.where(b > a, b, a),
        "Update": lambda a, b: b,
    }[kind]
    for i in range(rows.shape[0]):
        old = combine(old, rows[i])
    return old


SCATTER_ND = {
    kind: _define_scatter_nd(kind, doc)
    for kind, doc in {
        "Add": "Adds slices to the slices of a variable at given positions.",
        "Sub": "Subtracts slices from the slices of a variable at given positions.",
        "Min": "Takes the minimum of slices of a variable at given positions and others.",
        "Max": "Takes the maximum of slices of a variable at given positions and others.",
        "Update": "Replaces slices of a variable at given positions.",
    }.items()
}

__all__ = [
    "GATHER",
    "GATHER_ND",
    "NUMERIC",
    "SCATTER",
    "SCATTER_ND",
    "check_rows",
    "masked",
    "write_rows",
]
