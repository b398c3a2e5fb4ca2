"""Operations on accumulators of gradients (`accumulator_state`).

A dense accumulator has a resource for a handle, or a string reference as in TensorFlow 1. A sparse
one has a string reference only; the planner puts it in terms of resources that are our own.
"""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.resources import ResourceHandle
from penstock.core.shapes import ShapeContext
from penstock.ops.accumulator_state import Accumulator, DenseAccumulator, SparseAccumulator
from penstock.ops.queue_waiting import make_handle
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray

_HOST = 1 << 62
_ATTRS = (
    "dtype: numbertype, shape: shape, container: string = '', shared_name: string = '', "
    "reduction_type: {'MEAN', 'SUM'} = 'MEAN'"
)
_WHY = "it adds up gradients"


def _maker(name: str, own: str, doc: str) -> OpDef:
    define_op(
        f"{name}(; {_ATTRS}) -> ref handle: string",
        shape=lambda c: (2,),
        stateful=True,
        doc=f"{doc} The handle is a reference, as in TensorFlow 1.",
    ).not_differentiable("it has no inputs")
    return define_op(
        f"{own}(; {_ATTRS}) -> handle: resource", shape=shapes.scalar, stateful=True, doc=doc
    ).not_differentiable("it has no inputs")


def _on_handle(name: str, own: str, rest: str, doc: str, shape: Any) -> OpDef:
    """An operation on a string reference, and the one on a resource in its place."""
    define_op(
        f"{name}(ref handle: string{rest}",
        shape=shape,
        doc=f"{doc} The handle is a reference, as in TensorFlow 1.",
    ).not_differentiable(_WHY)
    return define_op(
        f"{own}(handle: resource{rest}", shape=shape, stateful=True, doc=doc
    ).not_differentiable(_WHY)


DENSE = _maker(
    "ConditionalAccumulator",
    "ResourceConditionalAccumulator",
    "An accumulator of gradients, shared by name.",
)
SPARSE = _maker(
    "SparseConditionalAccumulator",
    "PenstockSparseConditionalAccumulator",
    "An accumulator of gradients that have rows for some indices, shared by name.",
)


def _make(ctx: KernelContext, kind: type[Accumulator]) -> ResourceHandle:
    dtype, shape = ctx.attrs["dtype"], ctx.attrs["shape"]
    mean = ctx.attrs["reduction_type"] == "MEAN"
    handle = make_handle(
        ctx,
        ctx.attrs["container"],
        ctx.attrs["shared_name"],
        Accumulator,
        lambda name: kind(name, dtype, shape, mean),
    )
    found = handle.resource
    for what, old, new in (
        ("kind", found.kind, kind.kind),
        ("dtype", found.dtype.name, dtype.name),
        ("shape", d.text(found.shape), d.text(shape)),
    ):
        if old != new:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Shared conditional accumulator '{handle.name}' has {what} {old} but requested "
                f"{what} was {new}. Give one of them another shared_name.",
            )
    return handle


@host_kernel(DENSE, limit=_HOST)
def _dense(ctx: KernelContext) -> ResourceHandle:
    return _make(ctx, DenseAccumulator)


@host_kernel(SPARSE, limit=_HOST)
def _sparse(ctx: KernelContext) -> ResourceHandle:
    return _make(ctx, SparseAccumulator)


def _held(handle: Any, kind: type[Any]) -> Any:
    found = getattr(handle, "resource", None)
    if not isinstance(found, kind):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"expected the handle of a {getattr(kind, 'kind', '') or 'conditional accumulator'}, "
            f"got {handle!r}. Pass its accumulator_ref.",
        )
    return found


# ---- dense


def _step_first(c: ShapeContext) -> list[Dims]:
    c.rank(1, 0, "local_step")
    return []


def _count_first(c: ShapeContext) -> Dims:
    c.rank(1, 0, "num_required")
    return None


def _set_step_shape(c: ShapeContext) -> list[Dims]:
    c.rank(1, 0, "new_global_step")
    return []


APPLY = _on_handle(
    "AccumulatorApplyGradient",
    "ResourceAccumulatorApplyGradient",
    ", local_step: int64, gradient: dtype; dtype: numbertype) -> ()",
    "Adds a gradient to an accumulator, unless it is stale.",
    _step_first,
)
TAKE = _on_handle(
    "AccumulatorTakeGradient",
    "ResourceAccumulatorTakeGradient",
    ", num_required: int32; dtype: numbertype) -> average: dtype",
    "The mean (or sum) of the gradients in an accumulator; waits until there are enough.",
    _count_first,
)
COUNT = _on_handle(
    "AccumulatorNumAccumulated",
    "ResourceAccumulatorNumAccumulated",
    ") -> num_accumulated: int32",
    "How many gradients are in an accumulator.",
    shapes.scalar,
)
SET_STEP = _on_handle(
    "AccumulatorSetGlobalStep",
    "ResourceAccumulatorSetGlobalStep",
    ", new_global_step: int64) -> ()",
    "Sets the step of an accumulator: gradients of earlier ones are stale.",
    _set_step_shape,
)


@host_kernel(APPLY, limit=_HOST)
def _apply(handle: Any, local_step: Array, gradient: Array, *, dtype: DType) -> None:
    held = _held(handle, DenseAccumulator)
    held.check_dtype(dtype)
    held.apply(int(local_step), gradient)


@host_kernel(TAKE, limit=_HOST, blocks=True)
def _take(ctx: KernelContext, handle: Any, num_required: Array) -> Array:
    return _held(handle, DenseAccumulator).take(ctx, int(num_required))


@host_kernel(COUNT, limit=_HOST)
def _count(handle: Any) -> Array:
    return np.asarray(_held(handle, Accumulator).count, np.int32)


@host_kernel(SET_STEP, limit=_HOST)
def _set_step(handle: Any, new_global_step: Array) -> None:
    _held(handle, Accumulator).set_step(int(new_global_step))


# ---- sparse


def _sparse_apply_shape(c: ShapeContext) -> list[Dims]:
    c.rank(1, 0, "local_step")
    c.rank(2, 1, "gradient_indices")
    return []


def _sparse_take_shape(c: ShapeContext) -> list[Dims]:
    c.rank(1, 0, "num_required")
    return [(None,), None, (None,)]


SPARSE_APPLY = _on_handle(
    "SparseAccumulatorApplyGradient",
    "PenstockSparseAccumulatorApplyGradient",
    ", local_step: int64, gradient_indices: int64, gradient_values: dtype, gradient_shape: int64; "
    "dtype: numbertype, has_known_shape: bool) -> ()",
    "Adds the rows of a gradient to an accumulator, unless it is stale.",
    _sparse_apply_shape,
)
SPARSE_TAKE = _on_handle(
    "SparseAccumulatorTakeGradient",
    "PenstockSparseAccumulatorTakeGradient",
    ", num_required: int32; dtype: numbertype) -> indices: int64, values: dtype, shape: int64",
    "The rows' means (or sums) of the gradients in an accumulator; waits until there are enough.",
    _sparse_take_shape,
)


@host_kernel(SPARSE_APPLY, limit=_HOST)
def _sparse_apply(
    handle: Any,
    local_step: Array,
    gradient_indices: Array,
    gradient_values: Array,
    gradient_shape: Array,
    *,
    dtype: DType,
    has_known_shape: bool,
) -> None:
    held = _held(handle, SparseAccumulator)
    held.check_dtype(dtype)
    shape = gradient_shape if has_known_shape else None
    held.apply(int(local_step), gradient_indices, gradient_values, shape)


@host_kernel(SPARSE_TAKE, limit=_HOST, blocks=True)
def _sparse_take(ctx: KernelContext, handle: Any, num_required: Array) -> tuple[Array, ...]:
    found: tuple[Array, ...] = _held(handle, SparseAccumulator).take(ctx, int(num_required))
    return found
