"""Matrix products in which a factor is sparse, or dense with many zeros."""

from typing import Any

import numpy as np

from penstock.core import native_sparse
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel, kernel
from penstock.core.lazy import jnp
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.positions import sparse_product
from penstock.ops.sparse_common import Array, add_rows, check_inside, parts, refuse_outside
from penstock.types import dims as d
from penstock.types.dims import Dims

BLOCK = 1 << 22  # products that are held at once on the host


def _inner(c: ShapeContext, a: Any, b: Any) -> None:
    if a is not None and b is not None and a != b:
        why = "" if c.running else f": Dimensions must be equal, but are {a} and {b}"
        c.refuse(
            f"Cannot multiply A and B because inner dimension does not match: {a} vs. {b}{why}. Did"
            " you forget a transpose? See adjoint_a and adjoint_b"
        )


def _product_shape(c: ShapeContext) -> Dims:
    _, rank = parts(c, 0, "a")
    if rank not in (None, 2):
        c.refuse(f"Tensor 'a_shape' must have 2 elements, of a sparse matrix, got {rank}")
    if c.running and len(c.shape(3) or ()) != 2:
        c.refuse(f"Tensor 'b' is not a matrix: expected b of rank 2, got {d.bracketed(c.shape(3))}")
    b = c.rank(3, 2, "b")
    assert b is not None
    sizes = c.shape_value(2) or (None, None)
    rows, columns = reversed(sizes) if c.attr("adjoint_a") else sizes
    inner, width = reversed(b) if c.attr("adjoint_b") else b
    _inner(c, columns, inner)
    return (rows, width)


PRODUCT = define_op(
    "SparseTensorDenseMatMul(a_indices: Tindices, a_values: T, a_shape: int64, b: T; T: type, "
    "Tindices: {int32, int64} = int64, adjoint_a: bool = False, adjoint_b: bool = False) -> "
    "product: T",
    shape=_product_shape,
    host_inputs=("a_shape",),
    fallible=True,
    doc="The product of a sparse matrix and a dense one.",
)


def _factors(
    ctx: KernelContext, xp: Any, indices: Array, values: Array, shape: Array, b: Array,
    adjoint_a: bool, adjoint_b: bool,
) -> tuple[Array, Array, Array, Array, int]:  # fmt: skip
    """Rows, columns and values of the left factor as it is used, the right one, and the height."""
    check_inside(ctx, xp, indices, np.asarray(shape))
    b = xp.conj(b.T) if adjoint_b else b
    first, second = (1, 0) if adjoint_a else (0, 1)
    used = xp.conj(values) if adjoint_a else values
    return indices[:, first], indices[:, second], used, b, int(np.asarray(shape)[first])


def _sum_dtype(dtype: Any) -> Any:
    """Halves are summed in float32."""
    return np.float32 if dtype.itemsize == 2 and dtype.kind in "fV" else dtype


@host_kernel(PRODUCT)
def _product(
    ctx: KernelContext, indices: Array, values: Array, shape: Array, b: Array, *,
    adjoint_a: bool, adjoint_b: bool,
) -> Array:  # fmt: skip
    if b.dtype.kind == "f":
        dense, height = b.T if adjoint_b else b, int(shape[int(adjoint_a)])
        try:
            result = np.zeros((height, dense.shape[1]), b.dtype)
        except (MemoryError, ValueError):  # wrong positions are told first
            check_inside(ctx, np, indices, np.asarray(shape))
            raise
        if native_sparse.added_product(indices, int(adjoint_a), values, dense, result):
            return result
    rows, columns, used, right, height = _factors(
        ctx, np, indices, values, shape, b, adjoint_a, adjoint_b
    )
    kind = _sum_dtype(b.dtype)
    result = np.zeros((height, right.shape[1]), kind)
    step = max(BLOCK // max(right.shape[1], 1), 1)
    order = np.argsort(rows, kind="stable")
    for start in range(0, order.size, step):
        some = order[start : start + step]
        products = used[some, None].astype(kind) * right[columns[some]].astype(kind)
        low = int(rows[some[0]])
        count = int(rows[some[-1]]) - low + 1
        result[low : low + count] += add_rows(products, rows[some] - low, count)
    return result.astype(b.dtype)


@compiled_kernel(PRODUCT)
def _product_compiled(
    ctx: KernelContext, indices: Array, values: Array, shape: Array, b: Array, *,
    adjoint_a: bool, adjoint_b: bool,
) -> Array:  # fmt: skip
    sizes = np.asarray(shape)
    factor = b.T if adjoint_b else b
    found = sparse_product(indices, values, factor, int(sizes[int(adjoint_a)]), adjoint_a)
    if found is not None:
        refuse_outside(ctx, jnp, indices, sizes, *found[1:])
        return found[0]
    rows, columns, used, right, height = _factors(
        ctx, jnp, indices, values, shape, b, adjoint_a, adjoint_b
    )
    kind = _sum_dtype(b.dtype)
    if not right.shape[0]:
        return jnp.zeros((height, right.shape[1]), b.dtype)
    taken = jnp.take(right, columns, 0, mode="clip")
    products = used[:, None].astype(kind) * taken.astype(kind)
    result = jnp.zeros((height, right.shape[1]), kind)
    return result.at[rows].add(products, mode="drop").astype(b.dtype)


def _rows(x: Any, places: Any) -> Any:
    return execute("GatherV2", (x, places, np.int32(0)))


def _adjoint(x: Any) -> Any:
    turned = execute("Transpose", (x, np.array([1, 0], np.int32)))
    return execute("Conj", (turned,)) if x.dtype.is_complex else turned


@PRODUCT.gradient
def _product_gradient(op: Any, grad: Any) -> list[Any]:
    indices, values, shape, b = op.inputs
    adjoint_a, adjoint_b = op.get_attr("adjoint_a"), op.get_attr("adjoint_b")
    by_b = execute(PRODUCT, (indices, values, shape, grad), {"adjoint_a": not adjoint_a})
    right = _adjoint(b) if adjoint_b else b
    first, second = (execute("GatherV2", (indices, np.int32(i), np.int32(1))) for i in (0, 1))
    left, other = (right, grad) if adjoint_a else (grad, right)
    taken = _rows(other, second)
    taken = execute("Conj", (taken,)) if taken.dtype.is_complex else taken
    products = execute("Mul", (_rows(left, first), taken))
    by_values = execute("Sum", (products, np.array([1], np.int32)))
    return [None, by_values, None, _adjoint(by_b) if adjoint_b else by_b]


# ---- dense matrices with many zeros


def _dense_shape(c: ShapeContext) -> Dims:
    a, b = c.rank(0, 2, "a"), c.rank(1, 2, "b")
    assert a is not None
    assert b is not None
    rows, inner = reversed(a) if c.attr("transpose_a") else a
    other, columns = reversed(b) if c.attr("transpose_b") else b
    _inner(c, inner, other)
    return (rows, columns)


DENSE_PRODUCT = define_op(
    "SparseMatMul(a: Ta, b: Tb; transpose_a: bool = False, transpose_b: bool = False, "
    "a_is_sparse: bool = False, b_is_sparse: bool = False, Ta: {float, bfloat16} = float, Tb: "
    "{float, bfloat16} = float) -> product: float",
    shape=_dense_shape,
    doc="The product of two dense matrices, of which one or both may hold many zeros.",
)


@kernel(DENSE_PRODUCT)
def _dense_product(xp: Any, a: Array, b: Array, *, transpose_a: bool, transpose_b: bool) -> Array:
    left, right = (x.astype(np.float32) for x in (a, b))
    return (left.T if transpose_a else left) @ (right.T if transpose_b else right)


@DENSE_PRODUCT.gradient
def _dense_product_gradient(op: Any, grad: Any) -> list[Any]:
    a, b = (execute("Cast", (x,), {"DstT": np.float32}) for x in op.inputs)
    turn_a, turn_b = op.get_attr("transpose_a"), op.get_attr("transpose_b")

    def product(x: Any, y: Any, turn_x: bool, turn_y: bool) -> Any:
        return execute("MatMul", (x, y), {"transpose_a": turn_x, "transpose_b": turn_y})

    by_a = product(b, grad, turn_b, True) if turn_a else product(grad, b, False, not turn_b)
    by_b = product(grad, a, True, turn_a) if turn_b else product(a, grad, not turn_a, False)
    return [
        execute("Cast", (g,), {"DstT": x.dtype.base_dtype})
        for g, x in zip((by_a, by_b), op.inputs, strict=True)
    ]


def sparse_matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The product of two dense matrices, of which one or both may hold many zeros.

    Args:
      a: float32 or bfloat16 [M, K]; [K, M] when `transpose_a`.
      b: float32 or bfloat16 [K, N]; [N, K] when `transpose_b`.
      transpose_a: whether to transpose `a`.
      transpose_b: whether to transpose `b`.
      a_is_sparse: says that `a` holds many zeros; makes no difference.
      b_is_sparse: likewise for `b`.
      name: the name of the operation in a graph.

    Returns:
      float32[M, N].
    """
    attrs = {
        "transpose_a": transpose_a,
        "transpose_b": transpose_b,
        "a_is_sparse": a_is_sparse,
        "b_is_sparse": b_is_sparse,
    }
    return execute(DENSE_PRODUCT, (a, b), attrs, name)
