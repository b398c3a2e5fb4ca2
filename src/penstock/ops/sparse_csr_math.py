"""Sparse matrices in rows: products, sums, turns and softmax.

See `sparse_csr` for what a variant holds. Where a result is 0 it is stored all the same: the places
of a result follow from the places of its inputs alone.
"""

from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.math_arithmetic import conjugate
from penstock.ops.sparse_common import Array, invalid
from penstock.ops.sparse_csr import (
    HOST,
    NUMBERS,
    CsrMatrix,
    HoldsMatrix,
    at_places_of,
    held,
    matrix_dims,
    one_turn,
    turned_dims,
)
from penstock.ops.sparse_csr_forms import FROM_SPARSE, TO_SPARSE, indices_of
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

TURNS = "transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False, adjoint_b: "
NO_SECOND = "it is a gradient itself, and TensorFlow has none of it"


# ---- turned


TRANSPOSE = define_op(
    f"SparseMatrixTranspose(input: variant; conjugate: bool = False, type: {NUMBERS}) -> output: "
    "variant",
    shape=lambda c: HoldsMatrix(turned_dims(matrix_dims(c, 0, "input"), True)),
    doc="A sparse matrix with rows and columns exchanged, conjugated or not.",
)


@host_kernel(TRANSPOSE, limit=HOST)
def _transpose(input: Any, *, conjugate: bool, type: DType) -> CsrMatrix:
    return _turned(held(input, type, "input"), conjugate)


def _turned(matrix: CsrMatrix, conj: bool) -> CsrMatrix:
    (*batch, height, width) = matrix.dims
    if matrix.values.size <= _FEW:
        return _turned_few(matrix, conj)
    turned = matrix.diagonal.T.tocsr()
    if conj:
        turned = turned.conjugate(copy=False)
    return CsrMatrix.of((*batch, width, height), turned)


_FEW = 1 << 12  # values that NumPy sorts sooner than SciPy makes matrices of them


def _turned_few(matrix: CsrMatrix, conj: bool) -> CsrMatrix:
    (*batch, height, width) = matrix.dims
    rows, columns = matrix.extent
    starts, places = matrix.indptr, matrix.indices
    order = places.argsort(kind="stable")
    found = np.arange(rows, dtype=places.dtype).repeat(starts[1:] - starts[:-1]).take(order)
    ends = np.zeros(columns + 1, starts.dtype)
    np.add.accumulate(np.bincount(places, minlength=columns), out=ends[1:])
    values = matrix.values.take(order)
    values = values.conj() if conj else values
    return CsrMatrix((*batch, width, height), values, found, ends)


def _factor(matrix: CsrMatrix, transpose: bool, adjoint: bool) -> CsrMatrix:
    return _turned(matrix, adjoint) if transpose or adjoint else matrix


@TRANSPOSE.gradient
def _transpose_gradient(op: Any, grad: Any) -> Any:
    attrs = {"conjugate": op.get_attr("conjugate"), "type": op.get_attr("type")}
    return at_places_of(execute(TRANSPOSE, (grad,), attrs), op.inputs[0], attrs["type"])


# ---- products


def _inner(c: ShapeContext, a: Dims, b: Dims) -> Dims:
    """The shape of the product of two factors; of one may nothing be known."""
    if a is None:
        return None if b is None else (*b[:-2], None, b[-1])
    if b is None:
        return (*a[:-1], None)
    if len(a) != len(b):
        c.fail("factors of one rank", f"{len(a)} and {len(b)}")
    for one, other, what in ((a[-1], b[-2], "inner dimensions"), (*_batches(a, b),)):
        if None not in (one, other) and one != other:
            c.fail(f"{what} that agree", f"shapes {d.text(a)} and {d.text(b)}")
    return (*d.merge(a[:-2], b[:-2]), a[-2], b[-1])  # type: ignore[misc]


def _batches(a: Dims, b: Dims) -> tuple[Any, Any, str]:
    assert a is not None
    assert b is not None
    return (a[0], b[0], "batch sizes") if len(a) == 3 else (None, None, "")


def _dense_product_shape(c: ShapeContext) -> Dims:
    a = turned_dims(matrix_dims(c, 0, "a"), one_turn(c, "a"))
    b = turned_dims(c.rank_at_least(1, 2, "b"), one_turn(c, "b"))
    if b is not None and len(b) > 3:
        c.fail("b of rank 2 or 3", f"shape {d.text(b)}")
    return turned_dims(_inner(c, a, b), c.attr("transpose_output"))


DENSE_PRODUCT = define_op(
    f"SparseMatrixMatMul(a: variant, b: T; T: type, {TURNS}bool = False, transpose_output: bool = "
    "False, conjugate_output: bool = False) -> output: T",
    shape=_dense_product_shape,
    doc="The product of a sparse matrix and a dense one, or of the members of two batches.",
)


@host_kernel(DENSE_PRODUCT, limit=HOST)
def _dense_product(
    a: Any, b: Array, *, T: DType, transpose_a: bool, transpose_b: bool, adjoint_a: bool,
    adjoint_b: bool, transpose_output: bool, conjugate_output: bool,
) -> Array:  # fmt: skip
    left = _factor(held(a, T, "a"), transpose_a, adjoint_a)
    right = np.swapaxes(b, -1, -2) if transpose_b or adjoint_b else b
    right = right.conj() if adjoint_b else right
    _check_factors(left.dims, right.shape)
    height, width = left.dims[-2], right.shape[-1]
    flat = np.ascontiguousarray(right).reshape(left.diagonal.shape[1], width)
    result = (left.diagonal @ flat).reshape((*left.dims[:-2], height, width))
    result = np.swapaxes(result, -1, -2) if transpose_output else result
    return result.conj() if conjugate_output else result


def _check_factors(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    if len(a) != len(b):
        raise invalid(f"Ranks of a and b must match, saw: {len(a)} vs. {len(b)}.")
    if a[:-2] != b[:-2]:
        raise invalid(f"Batch sizes of a and b must match, saw: {a[0]} vs. {b[0]}.")
    if a[-1] != b[-2]:
        raise invalid(
            f"Inner product dimensions of A and B do not agree. Shapes are: {d.text(a)} vs. "
            f"{d.text(b)}. Use transpose_a or transpose_b for what is stored the other way round."
        )


def _swap(x: Any) -> Any:
    last = (1, 0) if len(x.shape) == 2 else (0, 2, 1)
    return execute("Transpose", (x, np.array(last, np.int32)))


@DENSE_PRODUCT.gradient
def _dense_product_gradient(op: Any, grad: Any) -> list[Any]:
    """With A and B as they are multiplied: dA = dY Bh, dB = Ah dY; then each as it was given."""
    a, b = op.inputs
    turn_a, conj_a = _turns(op, "a")
    turn_b, conj_b = _turns(op, "b")
    grad = _swap(grad) if op.get_attr("transpose_output") else grad
    grad = conjugate(grad) if op.get_attr("conjugate_output") else grad
    right = _swap(b) if turn_b else b
    right = conjugate(right) if conj_b else right
    if turn_a and not conj_a:  # conj(A) dY, as conj(A conj(dY))
        by_b = execute(
            DENSE_PRODUCT, (a, conjugate(grad)), {"conjugate_output": grad.dtype.is_complex}
        )
    else:
        by_b = execute(DENSE_PRODUCT, (a, grad), {"adjoint_a": not turn_a})
    by_b = conjugate(by_b) if conj_b else by_b
    return [_product_at(a, grad, right, turn_a, conj_a), _swap(by_b) if turn_b else by_b]


def _turns(op: Any, name: str) -> tuple[bool, bool]:
    """Whether a factor is turned, and whether it is conjugated."""
    adjoint = op.get_attr(f"adjoint_{name}")
    return adjoint or op.get_attr(f"transpose_{name}"), adjoint


def _product_at(a: Any, grad: Any, right: Any, turn: bool, conj: bool) -> Any:
    """The product of `grad` and the adjoint of `right`, at the places of `a` alone."""
    indices, _, shape = execute(TO_SPARSE, (a,), {"type": grad.dtype})
    rank = len(grad.shape)
    row, column = (1, 0) if turn else (0, 1)
    taken = []
    for x, which in ((grad, row), (conjugate(right), column)):
        chosen = np.array([*range(rank - 2), rank - 2 + which], np.int32)
        at = execute("GatherV2", (indices, chosen, np.int32(1)))
        taken.append(execute("GatherNd", (x, at)))
    values = execute("Sum", (execute("Mul", tuple(taken)), np.array([1], np.int32)))
    return execute(FROM_SPARSE, (indices, conjugate(values) if conj else values, shape))


def _product_shape(c: ShapeContext) -> Dims:
    a = turned_dims(matrix_dims(c, 0, "a"), one_turn(c, "a"))
    b = turned_dims(matrix_dims(c, 1, "b"), one_turn(c, "b"))
    return HoldsMatrix(_inner(c, a, b))


PRODUCT = define_op(
    f"SparseMatrixSparseMatMul(a: variant, b: variant; type: {NUMBERS}, {TURNS}bool = False) -> c: "
    "variant",
    shape=_product_shape,
    doc="The product of two sparse matrices, or of the members of two batches.",
)


@host_kernel(PRODUCT, limit=HOST)
def _product(
    a: Any, b: Any, *, type: DType, transpose_a: bool, transpose_b: bool, adjoint_a: bool,
    adjoint_b: bool,
) -> CsrMatrix:  # fmt: skip
    left = _factor(held(a, type, "a"), transpose_a, adjoint_a)
    right = _factor(held(b, type, "b"), transpose_b, adjoint_b)
    _check_factors(left.dims, right.dims)
    found = left.diagonal @ right.diagonal
    dims = (*left.dims[:-1], right.dims[-1])
    ones = (_ones(left), _ones(right))
    places = ones[0] @ ones[1]  # sums of ones are not 0, which SciPy leaves out
    places.sort_indices()
    found.sort_indices()
    if found.nnz == places.nnz:
        return CsrMatrix.of(dims, found)
    every = CsrMatrix.of(dims, places.astype(type.numpy_dtype)).zeros()
    return every.plus(CsrMatrix.of(dims, found))


def _ones(matrix: CsrMatrix) -> Any:
    return matrix.having(np.ones(matrix.values.size, np.float32)).diagonal


@PRODUCT.gradient
def _product_gradient(op: Any, grad: Any) -> list[Any]:
    attrs = {"type": op.get_attr("type")}
    turns = [_turns(op, name) for name in ("a", "b")]
    a, b = (
        execute(TRANSPOSE, (x,), {"conjugate": conj, **attrs}) if turn else x
        for x, (turn, conj) in zip(op.inputs, turns, strict=True)
    )
    found = [
        execute(PRODUCT, (grad, b), {"adjoint_b": True, **attrs}),
        execute(PRODUCT, (a, grad), {"adjoint_a": True, **attrs}),
    ]
    for i, (turn, conj) in enumerate(turns):
        if turn:
            found[i] = execute(TRANSPOSE, (found[i],), {"conjugate": conj, **attrs})
    return [at_places_of(g, x, attrs["type"]) for g, x in zip(found, op.inputs, strict=True)]


# ---- sums and multiples


def _sum_shape(c: ShapeContext) -> Dims:
    for i, name in ((2, "alpha"), (3, "beta")):
        c.rank(i, 0, name)
    return HoldsMatrix(c.merge(matrix_dims(c, 0, "a"), matrix_dims(c, 1, "b")))


SUM = define_op(
    f"SparseMatrixAdd(a: variant, b: variant, alpha: T, beta: T; T: {NUMBERS}) -> c: variant",
    shape=_sum_shape,
    doc="alpha a + beta b, for sparse matrices of one shape; alpha and beta are numbers.",
)


@host_kernel(SUM, limit=HOST)
def _sum(a: Any, b: Any, alpha: Array, beta: Array, *, T: DType) -> CsrMatrix:
    left, right = held(a, T, "a"), held(b, T, "b")
    return left.having(left.values * alpha).plus(right.having(right.values * beta))


@SUM.gradient
def _sum_gradient(op: Any, grad: Any) -> list[Any]:
    by_matrix, by_number = [], []
    for matrix, factor in zip(op.inputs[:2], op.inputs[2:], strict=True):
        mine = at_places_of(grad, matrix, op.get_attr("T"))
        by_matrix.append(execute(MULTIPLE, (mine, conjugate(factor))))
        by_number.append(_dot(matrix, mine, factor.dtype))
    return [*by_matrix, *by_number]


def _dot(a: Any, b: Any, dtype: DType) -> Any:
    """The sum of conj(a) b over all places, for matrices of the same places."""
    values = [execute(TO_SPARSE, (x,), {"type": dtype})[1] for x in (a, b)]
    products = execute("Mul", (conjugate(values[0]), values[1]))
    return execute("Sum", (products, np.array([0], np.int32)))


def _multiple_shape(c: ShapeContext) -> Dims:
    dims, b = matrix_dims(c, 0, "a"), c.shape(1)
    if dims is not None and b is not None:
        _check_spreads(b, dims, c)
    return HoldsMatrix(dims)


def _check_spreads(b: Any, dims: Any, c: ShapeContext) -> None:
    sizes = zip(reversed(b), reversed(dims), strict=False)
    if len(b) > len(dims) or any(x != 1 and None not in (x, n) and x != n for x, n in sizes):
        c.fail(f"b that broadcasts to a's shape {d.text(dims)}", f"shape {d.text(b)}")


MULTIPLE = define_op(
    "SparseMatrixMul(a: variant, b: T; T: type) -> output: variant",
    shape=_multiple_shape,
    doc="The values of a sparse matrix times those of a dense tensor that broadcasts to its shape.",
)


@host_kernel(MULTIPLE, limit=HOST)
def _multiple(a: Any, b: Array, *, T: DType) -> CsrMatrix:
    matrix = held(a, T, "a")
    if not b.ndim:
        return matrix.having(matrix.values * b)
    try:
        spread = np.broadcast_to(b, matrix.dims)
    except ValueError:
        raise invalid(
            f"expected b that broadcasts to a's shape {d.text(matrix.dims)}, got shape "
            f"{d.text(b.shape)}."
        ) from None
    return matrix.having(matrix.values * spread[tuple(indices_of(matrix).T)])


@MULTIPLE.gradient
def _multiple_gradient(op: Any, grad: Any) -> list[Any]:
    a, b = op.inputs
    by_a = execute(MULTIPLE, (grad, conjugate(b)))
    attrs = {"type": b.dtype}
    indices, values, shape = execute(TO_SPARSE, (a,), attrs)
    _, flowing, _ = execute(TO_SPARSE, (grad,), attrs)
    products = execute("Mul", (conjugate(values), flowing))
    sizes = execute("Shape", (b,), {"out_type": np.int64})
    first = execute("Sub", (execute("Size", (shape,)), execute("Size", (sizes,))))
    axes = execute("Range", (first, execute("Size", (shape,)), np.int32(1)))
    places = execute("GatherV2", (indices, axes, np.int32(1)))
    last = execute("Sub", (sizes, np.int64(1)))  # where b has size 1 its place is 0
    places = execute("Minimum", (places, last))
    return [by_a, execute("ScatterNd", (places, products, sizes))]


# ---- softmax


SOFTMAX = define_op(
    "SparseMatrixSoftmax(logits: variant; type: {float, double}) -> softmax: variant",
    shape=lambda c: HoldsMatrix(matrix_dims(c, 0, "logits")),
    doc="The softmax of each row's stored values.",
)
SOFTMAX_GRADIENT = define_op(
    "SparseMatrixSoftmaxGrad(softmax: variant, grad_softmax: variant; type: {float, double}) -> "
    "gradient: variant",
    shape=lambda c: HoldsMatrix(
        c.merge(matrix_dims(c, 0, "softmax"), matrix_dims(c, 1, "grad_softmax"))
    ),
    doc="The gradient of SparseMatrixSoftmax.",
).without_gradient(NO_SECOND)


def _by_row(matrix: CsrMatrix, values: Array, function: Any) -> Array:
    """For each value what `function.reduceat` makes of its row."""
    rows, _ = matrix.places()
    if not values.size:
        return values
    starts = np.flatnonzero(np.concatenate([[True], rows[1:] != rows[:-1]]))
    counts = np.diff(np.append(starts, rows.size))
    return np.repeat(function.reduceat(values, starts), counts)


@host_kernel(SOFTMAX, limit=HOST)
def _softmax(logits: Any, *, type: DType) -> CsrMatrix:
    matrix = held(logits, type, "logits")
    values = np.exp(matrix.values - _by_row(matrix, matrix.values, np.maximum))
    return matrix.having(values / _by_row(matrix, values, np.add))


@host_kernel(SOFTMAX_GRADIENT, limit=HOST)
def _softmax_gradient(softmax: Any, grad_softmax: Any, *, type: DType) -> CsrMatrix:
    result, grad = held(softmax, type, "softmax"), held(grad_softmax, type, "grad_softmax")
    if result.dims != grad.dims:
        raise invalid(
            f"expected softmax and its gradient of one shape, got {d.text(result.dims)} and "
            f"{d.text(grad.dims)}."
        )
    flowing = grad.at(result).values * result.values
    total = _by_row(result, flowing, np.add)
    return result.having(flowing - result.values * total)


@SOFTMAX.gradient
def _gradient_of_softmax(op: Any, grad: Any) -> Any:
    return execute(SOFTMAX_GRADIENT, (op.outputs[0], grad), {"type": op.get_attr("type")})


__all__ = ["DENSE_PRODUCT", "PRODUCT"]
