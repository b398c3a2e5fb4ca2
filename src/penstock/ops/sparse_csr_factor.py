"""Sparse matrices in rows: an order of few fill-ins, and the Cholesky factor.

See `sparse_csr` for what a variant holds. A matrix A and an order p of its rows give the factor L
of A[p][:, p], of which the lower half is read.
"""

from typing import Any

import numpy as np

from penstock.core.kernels import host_kernel
from penstock.core.lazy_module import LazyModule
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.sparse_common import Array, invalid
from penstock.ops.sparse_csr import (
    HOST,
    NUMBERS,
    CsrMatrix,
    HoldsMatrix,
    from_places,
    held,
    matrix_dims,
    sparse,
)
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

solving: Any = LazyModule("scipy.sparse.linalg")
PAIRS = 1 << 20  # products that are held at once


def _square(dims: Any) -> None:
    if dims[-1] != dims[-2]:
        raise invalid(f"sparse matrix must be square; got: {dims[-2]} != {dims[-1]}.")


def _square_dims(c: ShapeContext) -> Dims:
    dims = matrix_dims(c, 0, "input")
    if dims is not None and None not in dims[-2:] and dims[-1] != dims[-2]:
        c.fail("a square matrix", f"shape {d.text(dims)}")
    return dims


def _order_shape(c: ShapeContext) -> Dims:
    dims = _square_dims(c)
    return None if dims is None else dims[:-1]


ORDER = define_op(
    "SparseMatrixOrderingAMD(input: variant) -> output: int32",
    shape=_order_shape,
    doc="An order of a symmetric sparse matrix's rows by minimum degree: its factor fills in "
    "little.",
).not_differentiable("an order is no number")


@host_kernel(ORDER, limit=HOST)
def _order(input: Any) -> Array:
    matrix = held(input, name="input")
    _square(matrix.dims)
    size, whole = matrix.dims[-1], matrix.diagonal
    found = [
        _minimum_degree(whole[i * size : (i + 1) * size, i * size : (i + 1) * size])
        for i in range(matrix.batch)
    ]
    return np.array(found, np.int32).reshape(matrix.dims[:-1])


def _minimum_degree(block: Any) -> Array:
    """The order; SciPy tells it with a factorization, here of a matrix that needs no pivots."""
    size = block.shape[0]
    if not size:
        return np.zeros(0, np.int32)
    places = block.tocoo()
    near = (np.ones(places.nnz), (places.row, places.col))
    near = sparse.coo_array(near, block.shape).tocsr()
    near = near + near.T
    degree = near.sum(axis=1).max() if near.nnz else 0.0
    matrix = sparse.eye_array(size) * (degree + 1) - near
    options = {"SymmetricMode": True}
    found = solving.splu(
        matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options
    )
    return np.argsort(found.perm_c)


def _cholesky_shape(c: ShapeContext) -> Dims:
    dims = _square_dims(c)
    order = c.rank_at_least(1, 1, "permutation")
    if order is not None and len(order) > 2:
        c.fail("permutation of rank 1 or 2", f"shape {d.text(order)}")
    if dims is not None and order is not None:
        sizes = zip(order, dims[:-1], strict=False)
        if len(dims) != len(order) + 1 or any(None not in (a, b) and a != b for a, b in sizes):
            c.fail("a permutation for each matrix", f"shapes {d.text(dims)} and {d.text(order)}")
    return HoldsMatrix(dims)


CHOLESKY = define_op(
    f"SparseMatrixSparseCholesky(input: variant, permutation: int32; type: {NUMBERS}) -> output: "
    "variant",
    shape=_cholesky_shape,
    doc="The Cholesky factor of a sparse matrix with its rows and columns in another order.",
).without_gradient("TensorFlow registers none; tf.linalg.cholesky has one")


@host_kernel(CHOLESKY, limit=HOST)
def _cholesky(input: Any, permutation: Array, *, type: DType) -> CsrMatrix:
    matrix = held(input, type, "input")
    _square(matrix.dims)
    _check_order(matrix.dims, permutation)
    size = matrix.dims[-1]
    orders = permutation.reshape(matrix.batch, size)
    offsets = np.arange(matrix.batch)[:, None] * size
    order = (np.sort(orders, 1) == np.arange(size)).all(1)
    if not order.all():
        raise _failed(int(np.argmin(order)), "the permutation has a number twice, or one too large")
    rows, columns, values = _lower(matrix, (orders + offsets).reshape(-1))
    starts, below = _filled(rows, columns, matrix.diagonal.shape[0])
    found = _factorized(rows, columns, values, starts, below, size)
    at = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    by_row = np.argsort(below, kind="stable")
    return from_places(matrix.dims, below[by_row], at[by_row], found[by_row])


def _check_order(dims: tuple[int, ...], order: Array) -> None:
    if len(dims) != order.ndim + 1:
        raise invalid(
            "sparse matrix must have the same rank as permutation; got: "
            f"{len(dims)} != {order.ndim} + 1."
        )
    if order.shape[-1] != dims[-1]:
        raise invalid(
            "permutation must have the same number of elements in each batch as the number of rows "
            f"in sparse matrix; got: {order.shape[-1]} != {dims[-1]}."
        )
    if order.shape[:-1] != dims[:-2]:
        raise invalid(
            f"expected {dims[0]} permutations, one for each matrix, got {order.shape[0]}."
        )


def _failed(member: int, why: str) -> Exception:
    return invalid(
        f"Sparse Cholesky factorization failed for batch index {member}. The input might not be "
        f"valid: {why}."
    )


def _lower(matrix: CsrMatrix, order: Array) -> tuple[Array, Array, Array]:
    """Places and values of the lower half, in the new order, by columns; the diagonal first."""
    rows, columns = matrix.places()
    kept = rows >= columns
    new = np.empty(order.size, np.int64)
    new[order] = np.arange(order.size)
    rows, columns, values = new[rows[kept]], new[columns[kept]], matrix.values[kept]
    above = rows < columns
    values = np.where(above, values.conj(), values)
    rows, columns = np.where(above, columns, rows), np.where(above, rows, columns)
    by_column = np.lexsort((rows, columns))
    return rows[by_column], columns[by_column], values[by_column]


def _filled(rows: Array, columns: Array, size: int) -> tuple[Array, Array]:
    """The places of the factor: where each column starts, and its rows, the diagonal first.

    A column has the rows of the matrix's own and, below it, those of the columns of which it is
    the first row below the diagonal.
    """
    ends = np.searchsorted(columns, np.arange(size + 1))
    below: list[Array] = []
    children: list[list[int]] = [[] for _ in range(size)]
    for j in range(size):
        own = rows[ends[j] : ends[j + 1]]
        merged = np.concatenate([[j], own, *(below[k] for k in children[j])])
        found = np.unique(merged)[1:] if merged.size > 1 else np.zeros(0, np.int64)
        below.append(found)
        if found.size:
            children[found[0]].append(j)
    starts = np.zeros(size + 1, np.int64)
    np.cumsum([b.size + 1 for b in below], out=starts[1:])
    every = [np.concatenate([[j], b]) for j, b in enumerate(below)]
    return starts, np.concatenate([np.zeros(0, np.int64), *every]).astype(np.int64)


def _factorized(
    rows: Array, columns: Array, values: Array, starts: Array, below: Array, size: int
) -> Array:
    """The factor's values, column by column: each is taken from what those after it hold."""
    height = len(starts) - 1
    keys = np.repeat(np.arange(height), np.diff(starts)) * height + below
    found = np.zeros(below.size, values.dtype)
    np.add.at(found, np.searchsorted(keys, columns * height + rows), values)
    for j in range(height):
        first, last = int(starts[j]), int(starts[j + 1])
        pivot = found[first].real
        if pivot <= 0:
            raise _failed(j // max(size, 1), "it is not positive definite")
        root = np.sqrt(pivot)
        found[first] = root
        found[first + 1 : last] /= root
        _take_from_later(found, keys, below[first + 1 : last], found[first + 1 : last], height)
    return found


def _take_from_later(found: Array, keys: Array, rows: Array, column: Array, height: int) -> None:
    """Subtracts a column's products with itself, some of its rows at a time."""
    step = max(PAIRS // max(rows.size, 1), 1)
    for start in range(0, rows.size, step):
        some = slice(start, start + step)
        left, right = np.nonzero(rows[None, :] >= rows[some, None])
        left += start
        at = np.searchsorted(keys, rows[left] * height + rows[right])
        found[at] -= column[right] * column[left].conj()


__all__ = ["CHOLESKY", "ORDER"]
