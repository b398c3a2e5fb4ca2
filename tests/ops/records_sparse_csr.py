"""Records of sparse matrices in rows: what NumPy says of their dense forms."""

from typing import Any

import numpy as np
from tests.ops.harness import Failure, Record, case, normal

import penstock as tf

ELSEWHERE = "tests/ops/test_sparse_csr.py"
NUMBERS = ("float32", "float64", "complex64", "complex128")
PLACES = np.array([[0, 1], [1, 0], [1, 2]], np.int64)
OTHER = np.array([[0, 0], [0, 1], [1, 1]], np.int64)
SIZES = np.array([2, 3], np.int64)
BATCH = np.array([[0, 0, 1], [0, 1, 0], [2, 1, 2]], np.int64)
BATCH_SIZES = np.array([3, 2, 3], np.int64)
NONE = np.zeros((0, 2), np.int64)
ON_HOST = {"compiled": False, "grad_tolerance": 1e-4}  # variants live on the host


def dense(indices: Any, values: Any, sizes: Any) -> Any:
    """The dense form: of values at one place, the last."""
    result = np.zeros(tuple(sizes), np.asarray(values).dtype)
    result[tuple(np.asarray(indices).T)] = values
    return result


def made(indices: Any, values: Any, sizes: Any) -> Any:
    """The matrix."""
    return tf.raw_ops.SparseTensorToCSRSparseMatrix(
        indices=indices, values=values, dense_shape=sizes
    )


def shown(matrix: Any, like: Any) -> Any:
    """The dense form of a matrix whose dtype is that of `like`."""
    kind = tf.convert_to_tensor(like).dtype
    return tf.raw_ops.CSRSparseMatrixToDense(sparse_input=matrix, type=kind)


def to_dense(indices: Any, values: Any, sizes: Any) -> Any:
    return shown(made(indices, values, sizes), values)


def to_sparse(indices: Any, values: Any, sizes: Any) -> Any:
    kind = tf.convert_to_tensor(values).dtype
    matrix = made(indices, values, sizes)
    return list(tf.raw_ops.CSRSparseMatrixToSparseTensor(sparse_matrix=matrix, type=kind))


def from_dense(x: Any, indices: Any) -> Any:
    return shown(tf.raw_ops.DenseToCSRSparseMatrix(dense_input=x, indices=indices), x)


def transposed(indices: Any, values: Any, sizes: Any, conjugate: bool = False) -> Any:
    kind = tf.convert_to_tensor(values).dtype
    turned = tf.raw_ops.SparseMatrixTranspose(
        input=made(indices, values, sizes), conjugate=conjugate, type=kind
    )
    return shown(turned, values)


def transposed_reference(indices: Any, values: Any, sizes: Any, conjugate: bool = False) -> Any:
    turned = np.swapaxes(dense(indices, values, sizes), -1, -2)
    return turned.conj() if conjugate else turned


def product(indices: Any, values: Any, sizes: Any, b: Any, **attrs: Any) -> Any:
    return tf.raw_ops.SparseMatrixMatMul(a=made(indices, values, sizes), b=b, **attrs)


def sparse_product(indices: Any, values: Any, sizes: Any, places: Any, other: Any, shape: Any, **attrs: Any) -> Any:  # fmt: skip
    kind = tf.convert_to_tensor(values).dtype
    a, b = made(indices, values, sizes), made(places, other, shape)
    return shown(tf.raw_ops.SparseMatrixSparseMatMul(a=a, b=b, type=kind, **attrs), values)


def turned(x: Any, transpose: bool, adjoint: bool) -> Any:
    x = np.swapaxes(x, -1, -2) if transpose or adjoint else x
    return x.conj() if adjoint else x


def product_reference(
    indices: Any, values: Any, sizes: Any, b: Any, transpose_a: bool = False,
    transpose_b: bool = False, adjoint_a: bool = False, adjoint_b: bool = False,
    transpose_output: bool = False, conjugate_output: bool = False,
) -> Any:  # fmt: skip
    left = turned(dense(indices, values, sizes), transpose_a, adjoint_a)
    result = left @ turned(b, transpose_b, adjoint_b)
    result = turned(result, transpose_output, False)
    return result.conj() if conjugate_output else result


def sparse_product_reference(indices: Any, values: Any, sizes: Any, places: Any, other: Any, shape: Any, **attrs: Any) -> Any:  # fmt: skip
    return product_reference(indices, values, sizes, dense(places, other, shape), **attrs)


def added(indices: Any, values: Any, places: Any, other: Any, alpha: Any, beta: Any) -> Any:
    a, b = made(indices, values, SIZES), made(places, other, SIZES)
    return shown(tf.raw_ops.SparseMatrixAdd(a=a, b=b, alpha=alpha, beta=beta), values)


def added_reference(indices: Any, values: Any, places: Any, other: Any, alpha: Any, beta: Any) -> Any:  # fmt: skip
    return alpha * dense(indices, values, SIZES) + beta * dense(places, other, SIZES)


def multiplied(indices: Any, values: Any, sizes: Any, b: Any) -> Any:
    return shown(tf.raw_ops.SparseMatrixMul(a=made(indices, values, sizes), b=b), values)


def softmax(indices: Any, values: Any, sizes: Any) -> Any:
    kind = tf.convert_to_tensor(values).dtype
    matrix = made(indices, values, sizes)
    return shown(tf.raw_ops.SparseMatrixSoftmax(logits=matrix, type=kind), values)


def softmax_reference(indices: Any, values: Any, sizes: Any) -> Any:
    result = np.zeros_like(values)
    for i, row in enumerate(indices):
        mine = (indices[:, :-1] == row[:-1]).all(1)
        result[i] = np.exp(values[i]) / np.exp(values[mine]).sum()
    return dense(indices, result, sizes)


TURNS = [
    {"transpose_a": True}, {"adjoint_a": True}, {"transpose_b": True}, {"adjoint_b": True},
    {"transpose_a": True, "adjoint_b": True}, {"adjoint_a": True, "transpose_b": True},
]  # fmt: skip


def factors(attrs: dict[str, bool]) -> tuple[bool, bool]:
    """Whether the first and the second factor are turned."""
    return tuple(any(attrs.get(f"{w}_{n}") for w in ("transpose", "adjoint")) for n in "ab")  # type: ignore[return-value]


def with_dense(attrs: dict[str, bool]) -> Any:
    left, right = factors(attrs)
    b = (2, 4) if left else (3, 4)
    return case(PLACES, normal(3), SIZES, normal(*(b[::-1] if right else b)), **attrs)


def with_sparse(attrs: dict[str, bool]) -> Any:
    left, right = factors(attrs)
    shape = np.array([2, 3] if left != right else [3, 2], np.int64)
    places = OTHER if left != right else OTHER[:, ::-1][np.array([0, 1, 2])]
    return case(PLACES, normal(3), SIZES, places, normal(3), shape, **attrs)


RECORDS = [
    Record(
        "SparseTensorToCSRSparseMatrix",
        [
            case(PLACES, normal(3), SIZES), case(BATCH, normal(3), BATCH_SIZES),
            case(NONE, normal(0), SIZES), case(NONE, normal(0), np.array([0, 3])),
            case(np.zeros((0, 3), np.int64), normal(0), np.array([0, 2, 3])),
            case(np.array([[0, 2], [0, 0], [1, 1]]), normal(3), SIZES),
        ],
        dense,
        to_dense,
        NUMBERS,
        differentiable=(1,),
        errors=[
            Failure((PLACES[:, :1], normal(3), SIZES[:1]), "a SparseTensor of rank 2 or 3, got rank 1"),
            Failure((PLACES, normal(2), SIZES), "as many values as indices, got 2 and 3"),
            Failure((PLACES, normal(3), BATCH_SIZES), "a column of indices for each dimension"),
            Failure((PLACES, normal(3), np.array([2, -3])), r"dimensions >= 0, got \[2, -3\]"),
            Failure((PLACES, normal(3), np.array([2, 2])), r"indices\[2, :\] = \[1, 2\] is out of", graph=None),
            Failure((PLACES[::-1], normal(3), SIZES), "in the order of their rows", graph=None),
            Failure((NONE, normal(0), np.array([2, 1 << 31])), r"dimensions below 2\*\*31", graph=None),
        ],
        **ON_HOST,
    ),
    Record(
        "CSRSparseMatrixToSparseTensor",
        [case(PLACES, normal(3), SIZES), case(BATCH, normal(3), BATCH_SIZES), case(NONE, normal(0), SIZES)],
        lambda indices, values, sizes: [indices, values, sizes],
        to_sparse,
        NUMBERS,
        differentiable=(1,),
        result_dtype="int64",
        **ON_HOST,
    ),
    Record("CSRSparseMatrixToDense", tested_by=ELSEWHERE),
    Record(
        "DenseToCSRSparseMatrix",
        [case(normal(2, 3), PLACES), case(normal(3, 2, 3), BATCH), case(normal(2, 3), NONE)],
        lambda x, indices: dense(indices, x[tuple(indices.T)], x.shape),
        from_dense,
        NUMBERS,
        differentiable=(0,),
        errors=[
            Failure((normal(3), PLACES), "dense_input of rank 2 or 3, got rank 1"),
            Failure((normal(2, 3), BATCH), "a column of indices for each dimension"),
            Failure((normal(2, 2), PLACES), r"indices\[2\] = \[1, 2\] does not index", graph=None),
        ],
        **ON_HOST,
    ),
    Record(
        "SparseMatrixTranspose",
        [case(PLACES, normal(3), SIZES), case(BATCH, normal(3), BATCH_SIZES, conjugate=True), case(NONE, normal(0), SIZES)],
        transposed_reference,
        transposed,
        NUMBERS,
        differentiable=(1,),
        **ON_HOST,
    ),
    Record(
        "SparseMatrixMatMul",
        [
            case(PLACES, normal(3), SIZES, normal(3, 4)), *map(with_dense, TURNS),
            case(BATCH, normal(3), BATCH_SIZES, normal(3, 3, 2)),
            case(BATCH, normal(3), BATCH_SIZES, normal(3, 2, 2), adjoint_a=True, transpose_output=True, conjugate_output=True),
            case(NONE, normal(0), SIZES, normal(3, 0)), case(NONE, normal(0), np.array([0, 3]), normal(3, 2)),
        ],
        product_reference,
        product,
        NUMBERS,
        tolerance={"float32": 1e-5, "complex64": 1e-5},
        differentiable=(1, 3),
        errors=[
            Failure((PLACES, normal(3), SIZES, normal(3, 2)), "at most one of adjoint_a and transpose_a",
                    {"adjoint_a": True, "transpose_a": True}),
            Failure((PLACES, normal(3), SIZES, normal(3)), "b of rank at least 2"),
            Failure((PLACES, normal(3), SIZES, normal(1, 1, 3, 1)), "b of rank 2 or 3"),
            Failure((PLACES, normal(3), SIZES, normal(2, 2)), "Inner product dimensions of A and B", graph=None),
            Failure((PLACES, normal(3), SIZES, normal(1, 3, 2)), "Ranks of a and b must match, saw: 2 vs. 3", graph=None),
            Failure((BATCH, normal(3), BATCH_SIZES, normal(1, 3, 2)), "Batch sizes of a and b must match, saw: 3 vs. 1", graph=None),
        ],
        **ON_HOST,
    ),
    Record(
        "SparseMatrixSparseMatMul",
        [
            case(PLACES, normal(3), SIZES, OTHER[:, ::-1], normal(3), np.array([3, 2])), *map(with_sparse, TURNS),
            case(BATCH, normal(3), BATCH_SIZES, BATCH, normal(3), BATCH_SIZES, transpose_b=True),
            case(NONE, normal(0), SIZES, NONE, normal(0), np.array([3, 0])),
        ],
        sparse_product_reference,
        sparse_product,
        NUMBERS,
        tolerance={"float32": 1e-5, "complex64": 1e-5},
        differentiable=(1, 4),
        errors=[
            Failure((PLACES, normal(3), SIZES, OTHER, normal(3), SIZES), "Inner product dimensions", graph=None),
            Failure((PLACES, normal(3), SIZES, OTHER, normal(3), SIZES), "at most one of adjoint_b and transpose_b",
                    {"adjoint_b": True, "transpose_b": True}),
        ],
        **ON_HOST,
    ),
    Record(
        "SparseMatrixAdd",
        [
            case(PLACES, normal(3), OTHER, normal(3), normal(), normal()),
            case(PLACES, normal(3), PLACES, normal(3), normal(), normal()),
            case(NONE, normal(0), OTHER, normal(3), normal(), normal()),
        ],
        added_reference,
        added,
        NUMBERS,
        differentiable=(1, 3, 4, 5),
        errors=[Failure((PLACES, normal(3), OTHER, normal(3), normal(1), normal()), "alpha of rank 0")],
        **ON_HOST,
    ),
    Record(
        "SparseMatrixMul",
        [
            case(PLACES, normal(3), SIZES, normal()), case(PLACES, normal(3), SIZES, normal(2, 1)),
            case(PLACES, normal(3), SIZES, normal(3)), case(BATCH, normal(3), BATCH_SIZES, normal(3, 1, 1)),
            case(BATCH, normal(3), BATCH_SIZES, normal(2, 3)), case(NONE, normal(0), SIZES, normal(1)),
        ],
        lambda indices, values, sizes, b: dense(indices, values, sizes) * b,
        multiplied,
        NUMBERS,
        differentiable=(1, 3),
        errors=[Failure((PLACES, normal(3), SIZES, normal(4)), "b that broadcasts to a's shape", graph=None)],
        **ON_HOST,
    ),
    Record(
        "SparseMatrixSoftmax",
        [case(PLACES, normal(3), SIZES), case(BATCH, normal(3), BATCH_SIZES), case(NONE, normal(0), SIZES)],
        softmax_reference,
        softmax,
        ("float32", "float64"),
        differentiable=(1,),
        order=1,
        **ON_HOST,
    ),
    *(
        Record(op, tested_by=ELSEWHERE)
        for op in (
            "CSRSparseMatrixComponents", "SparseMatrixNNZ", "SparseMatrixZeros", "SparseMatrixSoftmaxGrad",
            "SparseMatrixOrderingAMD", "SparseMatrixSparseCholesky", "PenstockSparseMatrixAt",
        )
    ),
]  # fmt: skip
