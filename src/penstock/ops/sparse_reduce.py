"""Sums and largest elements of a sparse tensor along axes, dense or sparse.

Elements that are not there do not count: the largest of none is 0.
"""

from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.extremes import largest_by_id
from penstock.ops.sparse_common import (
    Array,
    add_rows,
    check_inside,
    from_position,
    parts,
    position,
)
from penstock.types.dims import Dims

INPUTS = "input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32"


def _axes(c: ShapeContext, rank: int | None) -> list[int] | None:
    """The axes that are summed over, in order; None while they are not known."""
    dims, value = c.shape(3), c.constant(3)
    if dims is not None and len(dims) > 1:
        c.fail("reduction_axes of rank 0 or 1", f"rank {len(dims)}")
    if value is None or rank is None:
        return None
    given = [int(a) for a in np.asarray(value).reshape(-1)]
    for axis in given:
        if not -rank <= axis < rank:
            c.refuse(
                f"Invalid reduction dimension {axis}, for input with {rank} dimensions: expected"
                f" one in [{-rank}, {rank})"
            )
    return sorted({axis % rank for axis in given})


def _dense_shape(c: ShapeContext) -> Dims:
    _, rank = parts(c)
    axes, keep = _axes(c, rank), c.attr("keep_dims")
    if rank is None or axes is None:
        return (None,) * rank if rank is not None and keep else None
    sizes = c.shape_value(2) or (None,) * rank
    return tuple(1 if i in axes else n for i, n in enumerate(sizes) if keep or i not in axes)


def _sparse_shape(c: ShapeContext) -> list[Dims]:
    _, rank = parts(c)
    axes = _axes(c, rank)
    left = rank
    if rank is not None and not c.attr("keep_dims"):
        left = None if axes is None else rank - len(axes)
    return [(None, left), (None,), (left,)]


def _kept(shape: Array, axes: Array) -> tuple[list[int], list[int]]:
    """The axes that stay, and the sizes of all with 1 for those that do not."""
    sizes = [int(n) for n in np.asarray(shape)]
    gone = {int(a) % len(sizes) for a in np.asarray(axes).reshape(-1)} if sizes else set()
    stay = [i for i in range(len(sizes)) if i not in gone]
    return stay, [1 if i in gone else n for i, n in enumerate(sizes)]


def _grouped(
    ctx: KernelContext, xp: Any, indices: Array, shape: Array, axes: Array
) -> tuple[Array, list[int], list[int]]:
    """The place of each element's group, the sizes of what stays, and those with 1 for the rest."""
    check_inside(ctx, xp, indices, np.asarray(shape))
    stay, ones = _kept(shape, axes)
    left = [ones[i] for i in stay]
    return position(xp, indices[:, np.array(stay, np.int64)], left), left, ones


def _largest(values: Array, places: Array, count: int) -> Array:
    """The largest by place, 0 for a place without elements; on the host."""
    present = np.zeros(count, bool)
    present[places] = True
    result = np.zeros(count, values.dtype)
    first = np.full(count, -1, np.int64)
    first[places[::-1]] = np.arange(values.size)[::-1]
    result[present] = values[first[present]]
    return largest_by_id(np, True, result, places, values)


def _define(kind: str, types: str, word: str) -> tuple[OpDef, OpDef]:
    dense = define_op(
        f"SparseReduce{kind}({INPUTS}; keep_dims: bool = False, T: {types}) -> output: T",
        shape=_dense_shape,
        host_inputs=("input_shape", "reduction_axes"),
        fallible=True,
        doc=f"{word} of a sparse tensor's elements along axes, as a dense tensor.",
    )
    combine = add_rows if kind == "Sum" else _largest

    @host_kernel(dense)
    def run_host(
        ctx: KernelContext, indices: Array, values: Array, shape: Array, axes: Array, *,
        keep_dims: bool,
    ) -> Array:  # fmt: skip
        places, left, ones = _grouped(ctx, np, indices, shape, axes)
        result = combine(values, places, int(np.prod(left, dtype=np.int64)))
        return result.reshape(ones if keep_dims else left)

    @compiled_kernel(dense)
    def run_compiled(
        ctx: KernelContext, indices: Array, values: Array, shape: Array, axes: Array, *,
        keep_dims: bool,
    ) -> Array:  # fmt: skip
        places, left, ones = _grouped(ctx, jnp, indices, shape, axes)
        count = int(np.prod(left, dtype=np.int64))
        dims = ones if keep_dims else left
        if kind == "Sum":
            return jnp.zeros(count, values.dtype).at[places].add(values, mode="drop").reshape(dims)
        low = -jnp.inf if values.dtype.kind not in "iu" else jnp.iinfo(values.dtype).min
        found = largest_by_id(jnp, True, jnp.full(count, low, values.dtype), places, values)
        present = jnp.zeros(count, bool).at[places].set(True, mode="drop")
        return jnp.where(present, found, jnp.zeros((), values.dtype)).reshape(dims)

    still_sparse = define_op(
        f"SparseReduce{kind}Sparse({INPUTS}; keep_dims: bool = False, T: {types}) -> "
        "output_indices: int64, output_values: T, output_shape: int64",
        shape=_sparse_shape,
        host_inputs=("input_shape", "reduction_axes"),
        doc=f"{word} of a sparse tensor's elements along axes, as a sparse tensor.",
    ).without_gradient("TensorFlow has none")

    @host_kernel(still_sparse)
    def run_sparse(
        ctx: KernelContext, indices: Array, values: Array, shape: Array, axes: Array, *,
        keep_dims: bool,
    ) -> list[Array]:  # fmt: skip
        places, left, ones = _grouped(ctx, np, indices, shape, axes)
        groups, own = np.unique(places, return_inverse=True)
        sizes = ones if keep_dims else left
        combined = combine(values, own.reshape(-1), groups.size)
        return [from_position(np, groups, sizes), combined, np.array(sizes, np.int64)]

    return dense, still_sparse


SUM, SUM_SPARSE = _define("Sum", "numbertype", "The sum")
MAX, MAX_SPARSE = _define("Max", "realnumbertype", "The largest")


def _of_groups(op: Any, result: Any) -> Any:
    """For each element, what the result has for its group."""
    indices, _, shape, axes = op.inputs
    rank = execute("Size", (shape,))
    chosen = execute("Reshape", (axes, np.array([-1], np.int32)))
    hot = execute(
        "Sum",
        (
            execute(
                "OneHot", (execute("FloorMod", (chosen, rank)), rank, np.int64(1), np.int64(0))
            ),
            np.int32(0),
        ),
    )
    gone = execute("Greater", (hot, np.int64(0)))
    ones = execute("SelectV2", (gone, execute("OnesLike", (shape,)), shape))
    places = execute("SelectV2", (gone, execute("ZerosLike", (indices,)), indices))
    return execute("GatherNd", (execute("Reshape", (result, ones)), places))


@SUM.gradient
def _sum_gradient(op: Any, grad: Any) -> list[Any]:
    return [None, _of_groups(op, grad), None, None]


@MAX.gradient
def _max_gradient(op: Any, grad: Any) -> list[Any]:
    """The largest elements of each group share its gradient."""
    indices, values, shape, axes = op.inputs
    chosen = execute("Equal", (values, _of_groups(op, op.outputs[0])))
    chosen = execute("Cast", (chosen,), {"DstT": grad.dtype})
    attrs = {"keep_dims": op.get_attr("keep_dims")}
    count = execute(SUM, (indices, chosen, shape, axes), attrs)
    share = execute("DivNoNan", (grad, count))
    return [None, execute("Mul", (chosen, _of_groups(op, share))), None, None]
