"""Writing elements and slices by index into a new tensor.

These are `scatter_nd` and the `tensor_scatter_nd` family.

A position outside the tensor is an error on every device unless `bad_indices_policy` is "IGNORE".
Positions that occur several times add up, or the smallest or largest value stays; for an update any
one of them stays.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core import native_arrays, native_places
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import LeftToTheStepError, ShapeContext
from penstock.ops import positions
from penstock.ops.array_basics import shape_of
from penstock.ops.array_gather import (
    check_policy,
    check_positions,
    places_of,
    refuse_positions,
)
from penstock.ops.extremes import raise_at, raised
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any
POLICY = "bad_indices_policy: string = ''"


def _check_updates(c: ShapeContext, target: Dims, indices: Dims, updates: Dims) -> None:
    check_policy(c)
    if indices is None:
        return
    if not indices:
        c.fail("indices of rank at least 1", "a scalar")
    depth = indices[-1]
    if target is None or depth is None:
        return
    if depth > len(target):
        c.fail(
            f"indices of depth at most {len(target)}",
            f"indices of shape {d.text(indices)} for a tensor of shape {d.text(target)}:"
            f" Dimensions [{depth},{len(target)}) of input[shape={d.bracketed(target)}] must match"
            f" dimensions [{len(indices) - 1},{len(updates or ())}) of"
            f" updates[shape={d.bracketed(updates)}]",
        )
    wanted = (*indices[:-1], *target[depth:])
    if not d.compatible(wanted, updates):
        c.fail(
            f"updates of shape {d.text(wanted)}",
            f"shape {d.text(updates)}: {_mismatch(c, target, indices, updates)}",
            "It is indices.shape[:-1] + shape[indices.shape[-1]:].",
        )


def _mismatch(c: ShapeContext, target: Any, indices: Any, updates: Any) -> str:
    """Which dimensions of the updates are wrong, as TensorFlow says it."""
    outer, depth = len(indices) - 1, indices[-1]
    name, whole, start, stop, begin = "indices", indices, 0, outer, 0
    if d.compatible(indices[:-1], updates[:outer]):
        name, whole, start, stop, begin = "input", target, depth, len(target), outer
    elif c.running and c.op_name.startswith("Tensor"):
        return (
            "Outer dimensions of indices and update must match. Indices shape:"
            f" {d.bracketed(indices)}, updates shape:{d.bracketed(updates)}"
        )
    end = outer if name == "indices" else len(updates)
    values = [f" = {d.bracketed(part)}" for part in (whole[start:stop], updates[begin:end])]
    first, second = ["", ""] if c.running else values
    return (
        f"Dimensions [{start},{stop}) of {name}[shape={d.bracketed(whole)}]{first} must match"
        f" dimensions [{begin},{end}) of updates[shape={d.bracketed(updates)}]{second}"
    )


def _scatter_nd_shape(c: ShapeContext) -> Dims:
    try:
        wanted, late = c.sizes(2), None
    except LeftToTheStepError as problem:
        wanted, late = problem.known, problem
    _check_updates(c, wanted, c.shape(0), c.shape(1))
    if late is not None:
        raise late
    return wanted


SCATTER_ND = define_op(
    f"ScatterNd(indices: Tindices, updates: T, shape: Tindices; T: type, Tindices: {{int16, "
    f"int32, int64}}, {POLICY}) -> output: T",
    shape=_scatter_nd_shape,
    host_inputs=("shape",),
    fallible=True,
    doc="Zeros of a shape with the updates added at their positions.",
)


@host_kernel(SCATTER_ND)
def _scatter_nd(
    ctx: KernelContext, indices: Array, updates: Array, shape: Array, *, bad_indices_policy: str
) -> Array:
    sizes = tuple(shape.tolist())
    result = (
        np.full(sizes, b"", object) if updates.dtype == object else np.zeros(sizes, updates.dtype)
    )
    _host_scatter(ctx, result, indices, updates, bad_indices_policy, _HOST["Add"])
    return result


@compiled_kernel(SCATTER_ND)
def _scatter_nd_compiled(
    ctx: KernelContext, indices: Array, updates: Array, shape: Array, *, bad_indices_policy: str
) -> Array:
    return _compiled_scatter(
        ctx,
        jnp.zeros(tuple(shape.tolist()), updates.dtype),
        indices,
        updates,
        bad_indices_policy,
        "add",
    )


_NATIVE = {  # what the library calls what NumPy does
    np.add: native_arrays.ADD,
    np.subtract: native_arrays.SUBTRACT,
    np.minimum: native_arrays.LOWER,
    np.maximum: native_arrays.RAISE,
    None: native_arrays.REPLACE,
}
_HOST: dict[str, Any] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Min": np.minimum,
    "Max": np.maximum,
    "Update": None,
}
_METHODS = {  # the same of compiled code
    "add": native_arrays.ADD,
    "subtract": native_arrays.SUBTRACT,
    "min": native_arrays.LOWER,
    "max": native_arrays.RAISE,
    "set": native_arrays.REPLACE,
}
_EXTREMES = {ufunc: raise_at(ufunc) for ufunc in (np.minimum, np.maximum)}


def _host_scatter(
    ctx: KernelContext, result: Array, indices: Array, updates: Array, policy: str, ufunc: Any
) -> None:
    """Writes `updates` into `result`, which is ours."""
    fits = policy != "IGNORE" and updates.size and updates.dtype == result.dtype
    if fits and native_places.scattered(_NATIVE[ufunc], result, indices, updates):
        return
    places, ok = places_of(ctx, np, indices, result.shape, policy, "tensor")
    if policy == "IGNORE":
        places, updates = tuple(p[ok] for p in places), updates[ok]
    depth = indices.shape[-1]
    if updates.size == 0:
        return
    if not depth:
        for item in (
            updates.reshape(-1, *result.shape)
            if ufunc is not None
            else updates.reshape(-1, *result.shape)[-1:]
        ):
            if ufunc in _EXTREMES:
                _EXTREMES[ufunc](result, ..., item)
            else:
                result[...] = item if ufunc is None else ufunc(result, item)
    elif ufunc is None:
        result[places] = updates
    elif ufunc in _EXTREMES:
        _EXTREMES[ufunc](result, places, updates)
    elif result.dtype == np.bool_:
        np.logical_or.at(result, places, updates)
    else:
        ufunc.at(result, places, updates)


def _compiled_scatter(
    ctx: KernelContext, x: Array, indices: Array, updates: Array, policy: str, method: str
) -> Array:
    depth = indices.shape[-1]
    if policy != "IGNORE":
        found = positions.combined(_METHODS[method], x, indices, updates)
        if found is not None:
            refuse_positions(ctx, indices, x.shape, "tensor", *found[1:])
            return found[0]
        check_positions(ctx, jnp, indices, x.shape, "tensor")
    if method == "subtract":
        method, updates = "add", -updates
    if not updates.size:
        return x
    if not depth:  # all are for the whole tensor, the only row of one with a further axis
        flat = updates.reshape(-1, *x.shape)
        if method in ("min", "max"):
            rows = np.zeros(flat.shape[0], np.int32)
            return raised(jnp, method == "max", jnp.asarray(x)[None], rows, flat)[0]
        return jnp.add(x, flat.sum(0)) if method == "add" else flat[-1]
    places = tuple(indices[..., i] for i in range(depth))
    where = jnp.asarray(x, jnp.int32 if x.dtype == bool else x.dtype)  # x may be a known constant
    updates = updates.astype(where.dtype)
    if method in ("min", "max"):
        result = raised(jnp, method == "max", where, places, updates)
    else:
        change = getattr(where.at[places], method)
        result = change(updates, mode="drop", wrap_negative_indices=False)
    return result != 0 if x.dtype == bool else result


@SCATTER_ND.gradient
def _scatter_nd_gradient(op: Any, grad: Any) -> list[Any]:
    return [None, _gathered(grad, op.inputs[0], op), None]


def _gathered(params: Any, indices: Any, op: Any) -> Any:
    """`gather_nd`, which refuses params without elements, of rows without elements too."""
    dims, places = params.dims, indices.dims
    known = dims is not None and places is not None and None not in (*dims, *places)
    if known and 0 in dims[places[-1] :]:
        rows = (*places[:-1], *dims[places[-1] :])
        return execute("Reshape", (params, np.array(rows, np.int64)))
    return execute("GatherNd", (params, indices), _policy(op))


# ---- into a tensor


def _tensor_scatter_shape(c: ShapeContext) -> Dims:
    _check_updates(c, c.shape(0), c.shape(1), c.shape(2))
    return c.shape(0)


def _tensor_scatter(kind: str, method: str, doc: str, index_types: str = "int32, int64") -> OpDef:
    op = define_op(
        f"TensorScatter{kind}(tensor: T, indices: Tindices, updates: T; T: type, Tindices: "
        f"{{{index_types}}}, {POLICY}) -> output: T",
        shape=_tensor_scatter_shape,
        fallible=True,
        doc=doc,
    )
    ufunc = _HOST[kind]

    @host_kernel(op)
    def _host(
        ctx: KernelContext,
        tensor: Array,
        indices: Array,
        updates: Array,
        *,
        bad_indices_policy: str,
    ) -> Array:
        result = tensor.copy()
        _host_scatter(ctx, result, indices, updates, bad_indices_policy, ufunc)
        return result

    @compiled_kernel(op)
    def _compiled(
        ctx: KernelContext,
        tensor: Array,
        indices: Array,
        updates: Array,
        *,
        bad_indices_policy: str,
    ) -> Array:
        return _compiled_scatter(ctx, tensor, indices, updates, bad_indices_policy, method)

    return op


TENSOR_SCATTER_UPDATE = _tensor_scatter(
    "Update", "set", "The tensor with updates at their positions.", "int16, int32, int64, uint16"
)
TENSOR_SCATTER_ADD = _tensor_scatter(
    "Add", "add", "The tensor with updates added at their positions."
)
TENSOR_SCATTER_SUB = _tensor_scatter(
    "Sub", "subtract", "The tensor with updates subtracted at their positions."
)
TENSOR_SCATTER_MIN = _tensor_scatter(
    "Min", "min", "The tensor with the smaller of element and update at the positions."
)
TENSOR_SCATTER_MAX = _tensor_scatter(
    "Max", "max", "The tensor with the larger of element and update at the positions."
)


def _policy(op: Any) -> dict[str, Any]:
    return {"bad_indices_policy": op.get_attr("bad_indices_policy")}


@TENSOR_SCATTER_UPDATE.gradient
def _update_gradient(op: Any, grad: Any) -> list[Any]:
    _, indices, updates = op.inputs
    kept = execute(
        TENSOR_SCATTER_UPDATE, (grad, indices, execute("ZerosLike", (updates,))), _policy(op)
    )
    return [kept, None, _gathered(grad, indices, op)]


@TENSOR_SCATTER_ADD.gradient
def _add_gradient(op: Any, grad: Any) -> list[Any]:
    return [grad, None, _gathered(grad, op.inputs[1], op)]


@TENSOR_SCATTER_SUB.gradient
def _sub_gradient(op: Any, grad: Any) -> list[Any]:
    return [grad, None, execute("Neg", (_gathered(grad, op.inputs[1], op),))]


@TENSOR_SCATTER_MIN.gradient
@TENSOR_SCATTER_MAX.gradient
def _extreme_gradient(op: Any, grad: Any) -> list[Any]:
    """The gradient is shared evenly among the elements and updates that are the extreme."""
    tensor, indices, updates = op.inputs
    result, policy = op.outputs[0], _policy(op)
    kind = {"DstT": grad.dtype}
    own = execute("Cast", (execute("Equal", (tensor, result)),), kind)
    theirs = execute("Cast", (execute("Equal", (updates, _gathered(result, indices, op))),), kind)
    sizes = execute("Cast", (shape_of(tensor),), {"DstT": indices.dtype})
    count = execute("AddV2", (own, execute(SCATTER_ND, (indices, theirs, sizes), policy)))
    share = execute("RealDiv", (grad, count))
    shared = _gathered(share, indices, op)
    return [execute("Mul", (share, own)), None, execute("Mul", (shared, theirs))]


SCATTER_ND_NON_ALIASING_ADD = define_op(
    "ScatterNdNonAliasingAdd(input: T, indices: Tindices, updates: T; T: {float, double, int32, "
    "uint8, int16, int8, complex64, int64, "
    "qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, "
    "bool}, Tindices: {int32, int64}, "
    f"{POLICY}) -> output: T",
    shape=_tensor_scatter_shape,
    fallible=True,
    doc="The tensor with updates added at their positions; the old name of TensorScatterAdd.",
)


@host_kernel(SCATTER_ND_NON_ALIASING_ADD)
def _non_aliasing(
    ctx: KernelContext, tensor: Array, indices: Array, updates: Array, *, bad_indices_policy: str
) -> Array:
    result = tensor.copy()
    _host_scatter(ctx, result, indices, updates, bad_indices_policy, np.add)
    return result


@compiled_kernel(SCATTER_ND_NON_ALIASING_ADD)
def _non_aliasing_compiled(
    ctx: KernelContext, tensor: Array, indices: Array, updates: Array, *, bad_indices_policy: str
) -> Array:
    return _compiled_scatter(ctx, tensor, indices, updates, bad_indices_policy, "add")


SCATTER_ND_NON_ALIASING_ADD.gradient(_add_gradient)


# ---- public functions


def scatter_nd(
    indices: Any, updates: Any, shape: Any, bad_indices_policy: str = "", name: str | None = None
) -> Any:
    """Zeros of a shape with the updates added at their positions.

    Args:
      indices: int16, int32 or int64 of shape [..., K].
      updates: a tensor of shape indices.shape[:-1] + shape[K:].
      shape: a vector of the dtype of `indices`.
      bad_indices_policy: "" or "ERROR": a position outside is an error; "IGNORE": it is left out.
      name: the name in a graph.

    Returns:
      A tensor of `shape`.

    Raises:
      InvalidArgumentError: a position is out of range.

    Example:
      >>> scatter_nd([[1], [1]], [5, 6], [3]).numpy().tolist()
      [0, 11, 0]
    """
    return execute(
        SCATTER_ND, (indices, updates, shape), {"bad_indices_policy": bad_indices_policy}, name
    )


def tensor_scatter_nd_update(
    tensor: Any, indices: Any, updates: Any, name: str | None = None
) -> Any:
    """The tensor with `updates` at their positions.

    Args:
      tensor: any tensor.
      indices: int16, int32 or int64 of shape [..., K].
      updates: a tensor of shape indices.shape[:-1] + tensor.shape[K:].
      name: the name in a graph.

    Returns:
      A tensor like `tensor`.

    Raises:
      InvalidArgumentError: a position is out of range.

    Example:
      >>> tensor_scatter_nd_update([1, 2, 3], [[0]], [9]).numpy().tolist()
      [9, 2, 3]
    """
    return execute(TENSOR_SCATTER_UPDATE, (tensor, indices, updates), None, name)


def _function(op: OpDef, name: str) -> Callable[..., Any]:
    def function(
        tensor: Any,
        indices: Any,
        updates: Any,
        bad_indices_policy: str = "",
        name: str | None = None,
    ) -> Any:
        return execute(
            op,
            (convert_to_tensor(tensor), indices, updates),
            {"bad_indices_policy": bad_indices_policy},
            name,
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{op.doc}

    Args:
      tensor: any tensor.
      indices: int32 or int64 of shape [..., K].
      updates: a tensor of shape indices.shape[:-1] + tensor.shape[K:].
      bad_indices_policy: "" or "ERROR": a position outside is an error; "IGNORE": it is left out.
      name: the name in a graph.

    Returns:
      A tensor like `tensor`.

    Raises:
      InvalidArgumentError: a position is out of range.
    """
    return function


tensor_scatter_nd_add = _function(TENSOR_SCATTER_ADD, "tensor_scatter_nd_add")
tensor_scatter_nd_sub = _function(TENSOR_SCATTER_SUB, "tensor_scatter_nd_sub")
tensor_scatter_nd_min = _function(TENSOR_SCATTER_MIN, "tensor_scatter_nd_min")
tensor_scatter_nd_max = _function(TENSOR_SCATTER_MAX, "tensor_scatter_nd_max")
