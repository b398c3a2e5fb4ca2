"""Element by element: sums, extremes and softmax of sparse tensors, products with dense ones."""

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel, kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.math_arithmetic import conjugate
from penstock.ops.sparse_common import (
    SORT_FROM,
    SORT_LIMIT,
    Array,
    check_inside,
    invalid,
    keys_of,
    order_of,
    parts,
    position,
    same_rank,
    same_shapes,
    taken_from,
    union,
)
from penstock.types import dims as d
from penstock.types.dims import Dims

PAIR = (
    "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64"
)

# ---- two sparse tensors


def _add_shape(c: ShapeContext) -> list[Dims]:
    rank = same_rank(c, parts(c, 0, "a")[1], parts(c, 3, "b")[1])
    c.rank(6, 0, "thresh")
    return [(None, rank), (None,), (rank,)]


ADD = define_op(
    f"SparseAdd({PAIR}, thresh: Treal; T: numbertype, Treal: realnumbertype) -> sum_indices: "
    "int64, sum_values: T, sum_shape: int64",
    shape=_add_shape,
    host_inputs=("a_shape", "b_shape"),
    doc="The sum of two sparse tensors; sums of two elements below a threshold are left out.",
)


def _values_at(values: Array, places: Array | None) -> Array:
    """Values by place, 0 where the place is -1; all in order for None."""
    if places is None:
        return values
    if not values.size:
        return np.zeros(places.shape, values.dtype)
    found = values.take(places)
    found[places < 0] = 0
    return found


@host_kernel(ADD)
def _add(ctx: KernelContext, *inputs: Array) -> list[Array]:
    a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh = inputs
    same_shapes(ctx, np, a_shape, b_shape)
    indices, first, second = union(a_indices, b_indices)
    values = _values_at(a_values, first) + _values_at(b_values, second)
    kept = np.abs(values) >= thresh
    for places in (first, second):
        if places is not None:
            kept |= places < 0
    if not kept.all():
        indices, values = indices[kept], values[kept]
    # of the shape a copy: it may be an array that is kept for calls to come
    return [indices, values.astype(a_values.dtype, copy=False), a_shape.copy()]


ADD_GRAD = define_op(
    "SparseAddGrad(backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64; "
    "T: numbertype) -> a_val_grad: T, b_val_grad: T",
    shape=lambda c: [c.rank(1, 2, "a_indices")[:1], c.rank(2, 2, "b_indices")[:1]],
    doc="The gradients of SparseAdd with respect to both values.",
).not_differentiable("TensorFlow has none")


@host_kernel(ADD_GRAD)
def _add_grad(grad: Array, a: Array, b: Array, total: Array) -> list[Array]:
    if grad.shape[0] != total.shape[0]:
        raise invalid(
            f"expected a gradient for each of {total.shape[0]} elements of the sum, got "
            f"{grad.shape[0]}."
        )
    return [taken_from(grad, side, total) for side in (a, b)]


@ADD.gradient
def _add_gradient(op: Any, unused: Any, grad: Any, *rest: Any) -> list[Any]:
    by_a, by_b = execute(ADD_GRAD, (grad, op.inputs[0], op.inputs[3], op.outputs[0]))
    return [None, by_a, None, None, by_b, None, None]


def _extreme_shape(c: ShapeContext) -> list[Dims]:
    rank = same_rank(c, parts(c, 0, "a")[1], parts(c, 3, "b")[1])
    return [(None, rank), (None,)]


def _define_extreme(name: str, types: str, function: Callable[..., Array], word: str) -> OpDef:
    op = define_op(
        f"SparseSparse{name}({PAIR}; T: {types}) -> output_indices: int64, output_values: T",
        shape=_extreme_shape,
        host_inputs=("a_shape", "b_shape"),
        doc=f"The {word} of two sparse tensors' elements, where at least one has an element.",
    )

    @host_kernel(op)
    def run(ctx: KernelContext, *inputs: Array) -> list[Array]:
        a_indices, a_values, a_shape, b_indices, b_values, b_shape = inputs
        same_shapes(ctx, np, a_shape, b_shape)
        for name, rows in (("a_indices", a_indices), ("b_indices", b_indices)):
            check_inside(ctx, np, rows, a_shape, name)
        indices, first, second = union(a_indices, b_indices)
        return [indices, function(_values_at(a_values, first), _values_at(b_values, second))]

    return op


def _extreme_gradient(op: Any, unused: Any, grad: Any) -> list[Any]:
    """The gradient goes to the values that were chosen, to both where they are equal."""
    a_indices, a_values, _, b_indices, b_values, _ = op.inputs
    where = (a_indices, b_indices, op.outputs[0])
    chosen = execute(ADD_GRAD, (op.outputs[1], *where))
    grads = execute(ADD_GRAD, (grad, *where))
    by_a, by_b = (
        execute("Mul", (g, execute("Cast", (execute("Equal", (v, c)),), {"DstT": g.dtype})))
        for g, v, c in zip(grads, (a_values, b_values), chosen, strict=True)
    )
    return [None, by_a, None, None, by_b, None]


MAXIMUM = _define_extreme("Maximum", "realnumbertype", np.maximum, "larger")
MINIMUM = _define_extreme("Minimum", "numbertype", np.minimum, "smaller")
MAXIMUM.gradient(_extreme_gradient)
MINIMUM.gradient(_extreme_gradient)


# ---- a sparse tensor and a dense one


def _check_dense(ctx: KernelContext, xp: Any, sizes: Array, dense: Array) -> None:
    """Fails the step unless `dense` broadcasts to the dense shape of the sparse tensor."""
    rank = sizes.shape[0]
    ctx.check(
        dense.ndim <= rank,
        errors.InvalidArgumentError,
        lambda: (
            "SparseDenseBinaryOpShared broadcasts dense to sparse only; expected a dense tensor of "
            f"rank at most {rank}, got shape {dense.shape}."
        ),
    )
    own = xp.asarray(dense.shape, np.int64)
    ctx.check(
        ((own == 1) | (own == sizes[rank - dense.ndim :])).all(),
        errors.InvalidArgumentError,
        lambda s: (
            "SparseDenseBinaryOpShared broadcasts dense to sparse only; expected a dense tensor "
            f"that broadcasts to {np.asarray(s).tolist()}, got shape {dense.shape}."
        ),
        sizes,
    )


def _taken(xp: Any, indices: Array, dense: Array) -> Array:
    """The elements of `dense`, broadcast, at the positions of a sparse tensor."""
    skipped = indices.shape[1] - dense.ndim
    if 0 in dense.shape:
        return xp.zeros(indices.shape[0], dense.dtype)
    places = tuple(
        xp.zeros_like(indices[:, 0]) if size == 1 else indices[:, skipped + axis]
        for axis, size in enumerate(dense.shape)
    )
    return xp.asarray(dense)[places] if places else xp.broadcast_to(dense, indices.shape[:1])


def _divide(xp: Any, x: Array, y: Array) -> Array:
    if x.dtype.kind not in "iu":
        return x / y
    quotient = xp.abs(x) // xp.where(y == 0, 1, xp.abs(y)) if x.dtype.kind == "i" else x // y
    return (xp.sign(x) * xp.sign(y) * quotient).astype(x.dtype) if x.dtype.kind == "i" else quotient


_CWISE: dict[str, Callable[..., Array]] = {
    "Add": lambda xp, x, y: x + y,
    "Mul": lambda xp, x, y: x * y,
    "Div": _divide,
}


def _define_cwise(name: str, doc: str) -> OpDef:
    def shape(c: ShapeContext) -> Dims:
        return (parts(c)[0],)

    op = define_op(
        f"SparseDenseCwise{name}(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T; T: "
        "numbertype) -> output: T",
        shape=shape,
        fallible=True,
        doc=doc,
    )

    @kernel(op)
    def run(
        ctx: KernelContext, xp: Any, indices: Array, values: Array, sizes: Array, dense: Array
    ) -> Array:
        _check_dense(ctx, xp, sizes, dense)
        check_inside(ctx, xp, indices, sizes)
        other = _taken(xp, indices, dense)
        if name == "Div" and values.dtype.kind in "iu":
            ctx.check(
                (other != 0).all(),
                errors.InvalidArgumentError,
                lambda: (
                    "Integer division by zero: expected a divisor other than 0 at each element."
                ),
            )
        return _CWISE[name](xp, values, other)

    return op


CWISE_ADD = _define_cwise("Add", "Adds a dense tensor to a sparse one's elements, where they are.")
CWISE_MUL = _define_cwise("Mul", "Multiplies a sparse tensor's elements with a dense tensor.")
CWISE_DIV = _define_cwise("Div", "Divides a sparse tensor's elements by a dense tensor.")


def _columns(indices: Any, dense: Any) -> Any:
    """The positions in `dense` that broadcast to those of a sparse tensor: int64[N, rank]."""
    sizes = execute("Shape", (dense,), {"out_type": np.int64})
    rank = execute("Rank", (dense,))
    width = execute(
        "StridedSlice",
        (execute("Shape", (indices,)), [1], [2], [1]),
        {"shrink_axis_mask": 1},
    )
    start = execute("Pack", ([np.int32(0), execute("Sub", (width, rank))],))
    own = execute("Slice", (indices, start, np.array([-1, -1], np.int32)))
    wide = execute("Cast", (execute("NotEqual", (sizes, np.int64(1))),), {"DstT": np.int64})
    return execute("Mul", (own, wide))


def _product_gradient(op: Any, grad: Any) -> list[Any]:
    indices, values, _, dense = op.inputs
    places = _columns(indices, dense)
    other = execute("GatherNd", (dense, places))
    if op.type.endswith("Mul"):
        by_value = execute("Mul", (grad, conjugate(other)))
        by_dense = execute("Mul", (grad, conjugate(values)))
    else:
        by_value = execute("RealDiv", (grad, conjugate(other)))
        ratio = execute("RealDiv", (execute("Neg", (values,)), execute("Square", (other,))))
        by_dense = execute("Mul", (grad, conjugate(ratio)))
    sizes = execute("Shape", (dense,), {"out_type": np.int64})
    return [None, by_value, None, execute("ScatterNd", (places, by_dense, sizes))]


def _sum_gradient(op: Any, grad: Any) -> list[Any]:
    dense = op.inputs[3]
    sizes = execute("Shape", (dense,), {"out_type": np.int64})
    places = _columns(op.inputs[0], dense)
    return [None, grad, None, execute("ScatterNd", (places, grad, sizes))]


CWISE_MUL.gradient(_product_gradient)
CWISE_DIV.gradient(_product_gradient)
CWISE_ADD.gradient(_sum_gradient)


def _dense_add_shape(c: ShapeContext) -> Dims:
    parts(c, 0, "a")
    if c.running:
        _same_sizes(c, c.shape_value(2), c.shape(3))
    return c.merge(c.shape_value(2), c.shape(3))


def _same_sizes(c: ShapeContext, a: Dims, b: Dims) -> None:
    """Refuses a sparse and a dense tensor of different shapes, as TensorFlow's kernel does."""
    if a is None or b is None:
        return
    if len(a) != len(b):
        c.refuse(
            f"Two operands have different ranks; received: {len(a)} and {len(b)}: expected equal"
            f" shapes, got {d.bracketed(a)} and {d.bracketed(b)}"
        )
    for axis, (m, n) in enumerate(zip(a, b, strict=True)):
        if m != n:
            c.refuse(
                f"Dimension {axis} does not equal (no broadcasting is supported): sparse side {m}"
                f" vs dense side {n}"
            )


DENSE_ADD = define_op(
    "SparseTensorDenseAdd(a_indices: Tindices, a_values: T, a_shape: Tindices, b: T; T: "
    "numbertype, Tindices: {int32, int64}) -> output: T",
    shape=_dense_add_shape,
    fallible=True,
    doc="The sum of a sparse and a dense tensor, dense.",
)


def _check_sum(ctx: KernelContext, xp: Any, indices: Array, sizes: Array, b: Array) -> None:
    ctx.check(
        (xp.asarray(b.shape, sizes.dtype) == sizes).all() if sizes.shape[0] == b.ndim else False,
        errors.InvalidArgumentError,
        lambda s: (
            f"expected a dense tensor of the sparse one's shape {np.asarray(s).tolist()}, got "
            f"{b.shape}."
        ),
        sizes,
    )
    check_inside(ctx, xp, indices, sizes)


@host_kernel(DENSE_ADD)
def _dense_add(ctx: KernelContext, indices: Array, values: Array, sizes: Array, b: Array) -> Array:
    _check_sum(ctx, np, indices, sizes, b)
    result = b.reshape(-1).copy()
    np.add.at(result, position(np, indices, b.shape), values)
    return result.reshape(b.shape)


@compiled_kernel(DENSE_ADD)
def _dense_add_compiled(
    ctx: KernelContext, indices: Array, values: Array, sizes: Array, b: Array
) -> Array:
    _check_sum(ctx, jnp, indices, sizes, b)
    places = position(jnp, indices, b.shape)
    return jnp.asarray(b).reshape(-1).at[places].add(values, mode="drop").reshape(b.shape)


@DENSE_ADD.gradient
def _dense_add_gradient(op: Any, grad: Any) -> list[Any]:
    return [None, execute("GatherNd", (grad, op.inputs[0])), None, grad]


# ---- softmax


def _softmax_shape(c: ShapeContext) -> Dims:
    count, rank = parts(c)
    if rank is not None and rank < 2:
        c.refuse(f"Input should have rank >= 2, but received a sparse tensor of rank {rank}")
    return (count,)


SOFTMAX = define_op(
    "SparseSoftmax(sp_indices: int64, sp_values: T, sp_shape: int64; T: {half, float, double}) -> "
    "output: T",
    shape=_softmax_shape,
    doc="Softmax over the elements of each row, along the last axis.",
)


@host_kernel(SOFTMAX, limit=SORT_LIMIT, alone_from=SORT_FROM)
def _softmax(indices: Array, values: Array, sizes: Array) -> Array:
    if not values.shape[0]:
        return values
    rows = indices[:, :-1]
    keys = rows[:, 0] if rows.shape[1] == 1 else keys_of(rows)
    if keys is None:
        keys = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    if (keys[1:] >= keys[:-1]).all():
        return _softmax_of_runs(keys, values)
    order = np.argsort(keys, kind="stable")
    result = np.empty_like(values)
    result[order] = _softmax_of_runs(keys[order], values[order])
    return result


def _softmax_of_runs(keys: Array, values: Array) -> Array:
    """Softmax over runs of equal keys, on the host; there is one at least."""
    starts = np.flatnonzero(keys[1:] != keys[:-1])
    starts += 1
    starts = np.concatenate((_FIRST, starts))
    lengths = np.empty_like(starts)
    np.subtract(starts[1:], starts[:-1], lengths[:-1])
    lengths[-1] = values.shape[0] - starts[-1]
    powers = np.exp(values - np.maximum.reduceat(values, starts).repeat(lengths))
    powers /= np.add.reduceat(powers, starts).repeat(lengths)
    return powers


_FIRST = np.zeros(1, np.int64)


@compiled_kernel(SOFTMAX)
def _softmax_compiled(indices: Array, values: Array, sizes: Array) -> Array:
    if not values.shape[0]:
        return values
    indices, values = jnp.asarray(indices), jnp.asarray(values)
    order = order_of(jnp, indices[:, :-1])
    rows = indices[order][:, :-1]
    new = jnp.concatenate([jnp.ones(1, bool), (rows[1:] != rows[:-1]).any(1)])
    group, count = jnp.cumsum(new) - 1, values.shape[0]
    mine = group[jnp.argsort(order)]
    largest = jnp.full(count, -np.inf, values.dtype).at[mine].max(values)
    powers = jnp.exp(values - largest[mine])
    total = jnp.zeros(count, values.dtype).at[mine].add(powers)
    return powers / total[mine]


@SOFTMAX.gradient
def _softmax_gradient(op: Any, grad: Any) -> list[Any]:
    indices, _, sizes = op.inputs
    result = op.outputs[0]
    product = execute("Mul", (result, grad))
    axis = np.array([-1], np.int32)
    row_sums = execute("SparseReduceSum", (indices, product, sizes, axis), {"keep_dims": True})
    minus = execute("Neg", (row_sums,))
    centred = execute(CWISE_ADD, (indices, grad, sizes, minus))
    return [None, execute("Mul", (result, centred)), None]
