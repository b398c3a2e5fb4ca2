"""Sparse matrices in rows from sparse tensors and dense ones, and back; their parts.

See `sparse_csr` for what a variant holds.
"""

import operator
from typing import Any

import numpy as np

from penstock.core import native_rows
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.sparse_common import Array, bounds, inside, invalid
from penstock.ops.sparse_csr import (
    HOST,
    NUMBERS,
    CsrMatrix,
    HoldsMatrix,
    from_places,
    held,
    matrix_dims,
)
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

INT32 = (1 << 31) - 1


def _matrix_rank(c: ShapeContext, rank: int | None, what: str) -> None:
    if rank not in (None, 2, 3):
        c.fail(f"{what} of rank 2 or 3", f"rank {rank}")


def _from_sparse_shape(c: ShapeContext) -> Dims:
    indices, values = c.rank(0, 2, "indices"), c.rank(1, 1, "values")
    shape = c.rank(2, 1, "dense_shape")
    assert indices is not None
    assert values is not None
    assert shape is not None
    for a, b, what in (
        (indices[0], values[0], "as many values as indices"),
        (indices[1], shape[0], "a column of indices for each dimension"),
    ):
        if None not in (a, b) and a != b:
            c.fail(what, f"{b} and {a}")
    _matrix_rank(c, indices[1] if shape[0] is None else shape[0], "a SparseTensor")
    dims = c.shape_value(2)
    if dims is None and indices[1] is not None:
        dims = (None,) * indices[1]
    given = c.constant(2)
    if given is not None and np.min(given, initial=0) < 0:
        c.fail("dimensions >= 0", f"{given.tolist()}")
    return HoldsMatrix(dims)


FROM_SPARSE = define_op(
    f"SparseTensorToCSRSparseMatrix(indices: int64, values: T, dense_shape: int64; T: {NUMBERS}) ->"
    " sparse_matrix: variant",
    shape=_from_sparse_shape,
    host_inputs=("dense_shape",),
    doc="A sparse matrix, or a batch of them, from a sparse tensor of rank 2 or 3.",
)


@host_kernel(FROM_SPARSE, limit=HOST)
def _from_sparse(indices: Array, values: Array, dense_shape: Array) -> CsrMatrix:
    dims = tuple(int(n) for n in dense_shape)
    return _from_indices(indices, np.array(values), dims)


def _from_indices(indices: Array, values: Array, dims: tuple[int, ...]) -> CsrMatrix:
    """A matrix of `values`, which it keeps, at places given as in a sparse tensor."""
    _check_sizes(dims)
    rows_of = native_rows.from_places(indices, dims)
    if rows_of is not None and rows_of[0] == native_rows.RIGHT:
        return CsrMatrix(dims, values, *rows_of[1:3])
    at = _outside(indices, dims)
    if at is not None:
        raise invalid(
            f"Sparse index tuple indices[{at}, :] = {indices[at].tolist()} is out of bounds: "
            f"expected a place inside of the shape {list(dims)}."
        )
    rows, columns = indices[:, -2], indices[:, -1]
    if len(dims) == 3:
        rows, columns = rows + indices[:, 0] * dims[1], columns + indices[:, 0] * dims[2]
    if (rows[1:] < rows[:-1]).any():
        raise invalid(
            "expected indices in the order of their rows, got others. Use tf.sparse.reorder."
        )
    return from_places(dims, rows, columns, values)


def _check_sizes(dims: tuple[int, ...]) -> None:
    if max(dims) > INT32:
        raise invalid(f"expected dimensions below 2**31, got {list(dims)}.")


def _outside(indices: Array, dims: tuple[int, ...]) -> int | None:
    """The first row of indices that is no place in `dims`, or None."""
    if not indices.shape[0]:
        return None
    low, high = bounds(indices)
    if min(low) >= 0 and all(map(operator.lt, high, dims)):
        return None
    return int(np.argmin(inside(np, indices, np.array(dims, np.int64))))


@FROM_SPARSE.gradient
def _from_sparse_gradient(op: Any, grad: Any) -> list[Any]:
    _, values, _ = execute(TO_SPARSE, (grad,), {"type": op.inputs[1].dtype})
    return [None, values, None]


def _to_sparse_shape(c: ShapeContext) -> list[Dims]:
    dims = matrix_dims(c, 0, "sparse_matrix")
    rank = None if dims is None else len(dims)
    return [(None, rank), (None,), (rank,)]


TO_SPARSE = define_op(
    f"CSRSparseMatrixToSparseTensor(sparse_matrix: variant; type: {NUMBERS}) -> indices: int64, "
    "values: type, dense_shape: int64",
    shape=_to_sparse_shape,
    doc="The sparse tensor of a sparse matrix, or of a batch of them.",
)


@host_kernel(TO_SPARSE, limit=HOST)
def _to_sparse(sparse_matrix: Any, *, type: DType) -> list[Array]:
    matrix = held(sparse_matrix, type, "sparse_matrix")
    return [indices_of(matrix), matrix.values, np.array(matrix.dims, np.int64)]


def indices_of(matrix: CsrMatrix) -> Array:
    """The place of each value, as in a sparse tensor: int64[N, rank]."""
    places = native_rows.places_of(matrix.indices, matrix.indptr, matrix.dims)
    if places is not None:
        return places
    found = np.empty((matrix.indices.size, len(matrix.dims)), np.int64)
    numbers, lengths = np.arange(matrix.extent[0]), np.diff(matrix.indptr)
    found[:, -1] = matrix.indices
    if len(matrix.dims) == 3:
        _, height, width = matrix.dims
        members = numbers // max(height, 1)
        found[:, 0] = np.repeat(members, lengths)
        found[:, 2] -= np.repeat(members * width, lengths)
        numbers = numbers - members * height
    found[:, -2] = np.repeat(numbers, lengths)
    return found


@TO_SPARSE.gradient
def _to_sparse_gradient(op: Any, _: Any, grad: Any, __: Any) -> Any:
    return execute(FROM_SPARSE, (op.outputs[0], grad, op.outputs[2]))


# ---- dense matrices


def _from_dense_shape(c: ShapeContext) -> Dims:
    dims = c.shape(0)
    _matrix_rank(c, None if dims is None else len(dims), "dense_input")
    columns = (c.rank(1, 2, "indices") or (None, None))[1]
    if dims is not None and columns not in (None, len(dims)):
        c.fail(
            "a column of indices for each dimension of dense_input", f"{columns} and {len(dims)}"
        )
    return HoldsMatrix(dims)


FROM_DENSE = define_op(
    f"DenseToCSRSparseMatrix(dense_input: T, indices: int64; T: {NUMBERS}) -> sparse_output: "
    "variant",
    shape=_from_dense_shape,
    doc="A sparse matrix, or a batch of them, of a dense one's values at some places.",
)


@host_kernel(FROM_DENSE, limit=HOST)
def _from_dense(dense_input: Array, indices: Array) -> CsrMatrix:
    rows_of = native_rows.from_places(indices, dense_input.shape, dense_input)
    if rows_of is not None and rows_of[0] == native_rows.RIGHT:
        _check_sizes(dense_input.shape)
        return CsrMatrix(dense_input.shape, rows_of[3], *rows_of[1:3])
    at = _outside(indices, dense_input.shape)
    if at is not None:
        raise invalid(
            f"indices[{at}] = {indices[at].tolist()} does not index into param shape "
            f"{d.text(dense_input.shape)}. Use tf.where(dense != 0)."
        )
    values = dense_input[tuple(indices.T)]
    return _from_indices(indices, values, dense_input.shape)


@FROM_DENSE.gradient
def _from_dense_gradient(op: Any, grad: Any) -> list[Any]:
    """A place that was taken twice gets the sum of both."""
    kind = op.inputs[0].dtype
    _, values, shape = execute(TO_SPARSE, (grad,), {"type": kind})
    return [execute("ScatterNd", (op.inputs[1], values, shape)), None]


TO_DENSE = define_op(
    f"CSRSparseMatrixToDense(sparse_input: variant; type: {NUMBERS}) -> dense_output: type",
    shape=lambda c: matrix_dims(c, 0, "sparse_input"),
    doc="The dense form of a sparse matrix, or of a batch of them.",
)


@host_kernel(TO_DENSE, limit=HOST)
def _to_dense(sparse_input: Any, *, type: DType) -> Array:
    matrix = held(sparse_input, type, "sparse_input")
    dense = native_rows.dense_of(matrix.indices, matrix.indptr, matrix.dims, matrix.values)
    if dense is not None:
        return dense
    width, numbers = matrix.dims[-1], np.arange(matrix.extent[0])
    starts = (numbers - numbers // max(matrix.dims[-2], 1)) * width  # less the member's columns
    places = np.repeat(starts, np.diff(matrix.indptr))
    places += matrix.indices
    result = np.zeros(matrix.dims, type.numpy_dtype)
    result.reshape(-1)[places] = matrix.values
    return result


@TO_DENSE.gradient
def _to_dense_gradient(op: Any, grad: Any) -> Any:
    indices, _, _ = execute(TO_SPARSE, (op.inputs[0],), {"type": grad.dtype})
    return execute(FROM_DENSE, (grad, indices))


# ---- parts


def _components_shape(c: ShapeContext) -> list[Dims]:
    dims = matrix_dims(c, 0, "csr_sparse_matrix")
    c.rank(1, 0, "index")
    rows = None if dims is None else dims[-2]
    return [(None if rows is None else rows + 1,), (None,), (None,)]


COMPONENTS = define_op(
    f"CSRSparseMatrixComponents(csr_sparse_matrix: variant, index: int32; type: {NUMBERS}) -> "
    "row_ptrs: int32, col_inds: int32, values: type",
    shape=_components_shape,
    host_inputs=("index",),
    doc="A member of a batch of sparse matrices: where its rows begin, their columns and values.",
).without_gradient("TensorFlow registers none; CSRSparseMatrixToSparseTensor has one")


@host_kernel(COMPONENTS, limit=HOST)
def _components(csr_sparse_matrix: Any, index: Array, *, type: DType) -> list[Array]:
    matrix = held(csr_sparse_matrix, type, "csr_sparse_matrix")
    member = int(index)
    if not 0 <= member < matrix.batch:
        raise invalid(
            f"index ({member}) not in [0, {matrix.batch}): expected the number of a member."
        )
    height, width = matrix.dims[-2:]
    ends = matrix.indptr[member * height : (member + 1) * height + 1]
    mine = slice(int(ends[0]), int(ends[-1]))
    columns = matrix.indices[mine] if member == 0 else matrix.indices[mine] - member * width
    starts = (ends - ends[0]).astype(np.int32)
    return [starts, columns.astype(np.int32, copy=False), matrix.values[mine]]


def _count_shape(c: ShapeContext) -> Dims:
    dims = matrix_dims(c, 0, "sparse_matrix")
    return None if dims is None else dims[:-2]


COUNT = define_op(
    "SparseMatrixNNZ(sparse_matrix: variant) -> nnz: int32",
    shape=_count_shape,
    doc="The number of stored values of a sparse matrix, or of each member of a batch.",
).not_differentiable("a count has no gradient")


@host_kernel(COUNT, limit=HOST)
def _count(sparse_matrix: Any) -> Array:
    matrix = held(sparse_matrix, name="sparse_matrix")
    ends = matrix.ends()
    counts = (ends[1:] - ends[:-1]).astype(np.int32, copy=False)
    return counts.reshape(matrix.dims[:-2])


def _zeros_shape(c: ShapeContext) -> Dims:
    sizes = (c.rank(0, 1, "dense_shape") or (None,))[0]
    _matrix_rank(c, sizes, "a matrix")
    given = c.constant(0)
    if given is not None and np.min(given, initial=0) < 0:
        c.fail("dimensions >= 0", f"{given.tolist()}")
    return HoldsMatrix(c.shape_value(0))


ZEROS = define_op(
    f"SparseMatrixZeros(dense_shape: int64; type: {NUMBERS}) -> sparse_matrix: variant",
    shape=_zeros_shape,
    doc="A sparse matrix, or a batch of them, without values.",
).not_differentiable("its input is a shape")


@host_kernel(ZEROS, limit=HOST)
def _zeros(dense_shape: Array, *, type: DType) -> CsrMatrix:
    dims = tuple(int(n) for n in dense_shape)
    none = np.zeros((0, len(dims)), np.int64)
    return _from_indices(none, np.zeros(0, type.numpy_dtype), dims)


__all__ = ["indices_of"]
