"""Records of linear algebra: NumPy's answers, stacks of matrices, empty ones, refusals, gradients.

Gradients of factors and vectors are taken of functions whose matrices are made symmetric, or whose
results do not depend on the vectors' signs.
"""

import numpy as np
from tests.ops.harness import COMPLEX, FLOATS, Failure, Record, Sample, case, normal

from penstock import errors
from penstock.core.execute import execute
from penstock.ops import linalg_common as common
from penstock.ops import linalg_decompose as p
from penstock.ops import linalg_functions as f
from penstock.ops import linalg_solve as s
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_cast import cast, real
from penstock.ops.math_matmul import matmul

ALL = (*FLOATS, *COMPLEX)
NEAR = {"float32": 2e-4, "float64": 1e-10, "complex64": 4e-4, "complex128": 1e-10, "float16": 3e-2}
INVALID = errors.InvalidArgumentError
SQUARES = [(3, 3), (1, 1), (0, 0), (2, 3, 3), (0, 2, 2), (2, 1, 2, 2)]
OBLONGS = [(3, 3), (4, 2), (2, 4), (2, 3, 2), (1, 1), (0, 2, 2)]


def clear(*shape: int) -> Sample:
    """Square matrices far from singular ones."""

    def draw(rng, dtype, dims):
        value = rng.uniform(-0.4, 0.4, dims)
        value = value + 0.4j * rng.uniform(-1, 1, dims) if dtype.kind == "c" else value
        return value + np.diag(np.arange(1.0, dims[-1] + 1) + 0.7)

    return Sample(shape, draw)


def positive(*shape: int) -> Sample:
    """Positive definite matrices, with something else in the upper triangle that is not read."""

    def draw(rng, dtype, dims):
        value = rng.uniform(-1, 1, dims)
        value = value + 1j * rng.uniform(-1, 1, dims) if dtype.kind == "c" else value
        full = value @ adjoint(value) + np.diag(np.arange(1.0, dims[-1] + 1))
        return np.tril(full) + np.triu(rng.uniform(5, 6, dims), 1)

    return Sample(shape, draw)


def spread(*shape: int) -> Sample:
    """Matrices with singular values apart from each other."""

    def draw(rng, dtype, dims):
        value = rng.uniform(-0.3, 0.3, dims)
        value = value + 0.3j * rng.uniform(-1, 1, dims) if dtype.kind == "c" else value
        return value + np.eye(*dims[-2:]) * (1.5 + np.arange(dims[-1]))

    return Sample(shape, draw)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def lower_only(x):
    """The self-adjoint matrix whose lower triangle is given."""
    strict = np.tril(x, -1)
    return strict + adjoint(strict) + np.real(np.tril(np.triu(x)))


def pairs(matrix, **attrs):
    shapes = [((3, 3), (3, 2)), ((1, 1), (1, 1)), ((2, 3, 3), (2, 3, 1)), ((0, 0), (0, 2))]
    return [case(matrix(*a), normal(*b), **attrs) for a, b in shapes]


def lu_reference(x):
    """LU decomposition with partial pivoting, matrix by matrix."""
    whole, orders = np.array(x), np.zeros(x.shape[:-1], np.int32)
    for at in np.ndindex(x.shape[:-2]):
        a, order = whole[at], np.arange(x.shape[-1])
        for k in range(len(a)):
            best = k + np.argmax(np.abs(a[k:, k]))
            a[[k, best]], order[[k, best]] = a[[best, k]], order[[best, k]]
            a[k + 1 :, k] /= a[k, k]
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
        orders[at] = order
    return whole, orders


def triangular_reference(a, b, lower=True, adjoint=False):
    part = np.tril(a) if lower else np.triu(a)
    return np.linalg.solve(np.conj(np.swapaxes(part, -1, -2)) if adjoint else part, b)


def solved(a, b, adjoint=False):
    return np.linalg.solve(np.conj(np.swapaxes(a, -1, -2)) if adjoint else a, b)


def self_adjoint(x):
    return matmul(x, x, adjoint_b=True)


def least(a, b, l2_regularizer=0.0, fast=True):
    m, n = a.shape[-2:]
    if not fast:
        return np.linalg.pinv(a) @ b
    if m >= n:
        return np.linalg.solve(adjoint(a) @ a + l2_regularizer * np.eye(n), adjoint(a) @ b)
    return adjoint(a) @ np.linalg.solve(a @ adjoint(a) + l2_regularizer * np.eye(m), b)


def raw_least(a, b, l2, fast=True):
    return execute("MatrixSolveLs", (a, b, l2), {"fast": fast})


def absolute_parts(x, full):
    u, values, vh = np.linalg.svd(x, full_matrices=full)
    return [values, np.abs(u), np.abs(adjoint(vh))]


def by_phase(u, values, vh):
    """What does not change when a column of U and one of V turn together."""
    return (u * values**2) @ vh


def phases(x):
    values, u, v = p.svd(x)
    return matmul(u * cast(values * values, u.dtype), v, adjoint_b=True)


def exponential(x):
    terms, total = np.broadcast_to(np.eye(x.shape[-1]), x.shape), np.zeros(x.shape, x.dtype)
    small = x / 1024
    for k in range(1, 20):
        total, terms = total + terms, terms @ small / k
    for _ in range(10):
        total = total @ total
    return total


def not_square(op, **attrs):
    return Failure((np.ones((2, 3), np.float32),), "as many rows as columns", attrs, INVALID)


def not_matrix(op, **attrs):
    return Failure((np.ones(3, np.float32),), "rank at least 2", attrs, INVALID)


ZERO = np.zeros((2, 2), np.float32)
ONES = np.ones((2, 2), np.float32)
SINGULAR_TEXT = "not invertible: expected a matrix of full rank"

RECORDS = [
    Record(
        "Cholesky",
        [case(positive(*shape)) for shape in SQUARES],
        lambda x: np.linalg.cholesky(lower_only(x)),
        function=s.cholesky, dtypes=(*ALL, "float16"), tolerance=NEAR,
        errors=[not_square("Cholesky"), not_matrix("Cholesky")],
    ),
    Record(
        "Cholesky", [case(clear(3, 3)), case(clear(2, 2, 2))],
        lambda x: np.linalg.cholesky(x @ adjoint(x)),
        function=lambda x: s.cholesky(self_adjoint(x)), tolerance=NEAR, differentiable=(0,),
    ),
    Record(
        ".cholesky_solve", pairs(clear),
        lambda a, b: np.linalg.solve(a @ adjoint(a), b),
        function=lambda a, b: s.cholesky_solve(s.cholesky(self_adjoint(a)), b),
        dtypes=ALL, tolerance=NEAR, differentiable=(0, 1),
    ),
    Record(
        "MatrixTriangularSolve",
        [
            *pairs(clear),
            case(clear(3, 3), normal(2, 3, 1), lower=False),
            case(clear(2, 1, 3, 3), normal(4, 3, 2), adjoint=True),
            case(clear(1, 3, 3), normal(3, 3), lower=False, adjoint=True),
        ],
        triangular_reference,
        function=s.triangular_solve, dtypes=(*ALL, "float16", "bfloat16"),
        tolerance={**NEAR, "bfloat16": 0.2}, differentiable=(0, 1),
        errors=[
            Failure((ONES, np.ones((3, 1), np.float32)), "with 2 rows", {}, INVALID),
            Failure((np.ones((2, 2, 2), np.float32), np.ones((3, 2, 1), np.float32)), "broadcast",
                    {}, INVALID),
        ],
    ),
    *(
        Record(
            "MatrixTriangularSolve",
            [case(clear(2, 1, 3, 3), normal(2, 3, 2), lower=lower, adjoint=turn)],
            triangular_reference, function=s.triangular_solve, dtypes=("complex128",),
            differentiable=(0, 1),
        )
        for lower in (True, False)
        for turn in (True, False)
    ),
    Record(
        "Lu", [case(normal(*shape)) for shape in SQUARES], lu_reference, function=s.lu,
        dtypes=(*ALL, "float16"), tolerance=NEAR, differentiable=(0,),
        errors=[
            Failure((ONES,), SINGULAR_TEXT, {}, INVALID, None),
            Failure((ZERO,), SINGULAR_TEXT, {}, INVALID, None),
            not_square("Lu"),
        ],
    ),
    Record(
        "MatrixSolve", [*pairs(clear), *pairs(clear, adjoint=True)], solved, function=s.solve,
        dtypes=(*ALL, "float16"), tolerance=NEAR, differentiable=(0, 1),
        errors=[
            Failure((ONES, ONES), SINGULAR_TEXT, {}, INVALID, None),
            Failure((ONES, np.ones(2, np.float32)), "rank at least 2", {}, INVALID),
            Failure((ONES, np.ones((1, 2, 2), np.float32)), "same rank", {}, INVALID),
            Failure((ONES, np.ones((3, 2), np.float32)), "with 2 rows", {}, INVALID),
        ],
    ),
    Record(
        "MatrixSolve", [case(clear(3, 3), normal(3, 2), adjoint=True)], solved, function=s.solve,
        dtypes=("complex128",), differentiable=(0, 1), tolerance=NEAR,
    ),
    Record(
        "MatrixInverse", [case(clear(*shape)) for shape in SQUARES], np.linalg.inv,
        function=s.inv, dtypes=(*ALL, "float16"), tolerance=NEAR, differentiable=(0,),
        errors=[
            Failure((ONES,), SINGULAR_TEXT, {}, INVALID, None),
            not_square("MatrixInverse"),
        ],
    ),
    Record(
        "MatrixInverse", [case(clear(2, 3, 3), adjoint=True)],
        lambda x, adjoint: np.linalg.inv(np.conj(np.swapaxes(x, -1, -2))),
        function=s.inv, dtypes=("complex128",), tolerance=NEAR, differentiable=(0,),
    ),
    Record(
        "MatrixDeterminant", [case(clear(*shape)) for shape in SQUARES], np.linalg.det,
        function=s.det, dtypes=(*ALL, "float16"), tolerance=NEAR, differentiable=(0,),
        errors=[not_square("MatrixDeterminant")],
    ),
    Record(
        "LogMatrixDeterminant", [case(clear(*shape)) for shape in SQUARES], np.linalg.slogdet,
        function=s.slogdet, dtypes=(*ALL, "float16"), tolerance=NEAR,
    ),
    Record(
        "LogMatrixDeterminant", [case(clear(2, 3, 3))], lambda x: np.linalg.slogdet(x)[1],
        function=lambda x: s.slogdet(x)[1], tolerance=NEAR, differentiable=(0,),
    ),
    Record(
        ".logdet", [case(clear(*shape)) for shape in SQUARES],
        lambda x: np.linalg.slogdet(x @ adjoint(x))[1],
        function=lambda x: s.logdet(self_adjoint(x)), tolerance=NEAR, differentiable=(0,),
    ),
    Record(
        "Qr",
        [case(spread(*shape), full_matrices=full) for shape in OBLONGS for full in (False, True)],
        lambda x, full_matrices: tuple(
            np.linalg.qr(x, mode="complete" if full_matrices else "reduced")
        ),
        function=p.qr, dtypes=ALL, tolerance=NEAR,
        errors=[not_matrix("Qr")],
    ),
    *(
        Record(
            "Qr", [case(spread(*shape))], lambda x: tuple(np.linalg.qr(x)), function=p.qr,
            differentiable=(0,), tolerance=NEAR, known=("full",),
        )
        for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2))
    ),
    Record(
        "Svd", [case(spread(*shape)) for shape in OBLONGS],
        lambda x: np.linalg.svd(x, compute_uv=False),
        function=lambda x: p.svd(x, compute_uv=False), tolerance=NEAR, differentiable=(0,),
        errors=[not_matrix("Svd")],
    ),
    *(
        Record(
            "Svd", [case(spread(*shape)) for shape in OBLONGS],
            lambda x, full=full: absolute_parts(x, full),
            function=lambda x, full=full: [absolute(t) for t in p.svd(x, full)],
            dtypes=FLOATS, tolerance=NEAR,
        )
        for full in (False, True)
    ),
    *(
        Record(
            "Svd", [case(spread(*shape))], lambda x: absolute_parts(x, False),
            function=lambda x: [absolute(t) for t in p.svd(x)],
            tolerance=NEAR, differentiable=(0,), order=1,
        )
        for shape in ((3, 3), (4, 2), (2, 4))
    ),
    Record(
        "Svd", [case(spread(3, 2))], lambda x: by_phase(*np.linalg.svd(x, full_matrices=False)),
        function=phases, dtypes=("complex128",), tolerance=NEAR, differentiable=(0,), order=1,
        grad_dtype="complex128",
    ),
    Record(
        "SelfAdjointEigV2", [case(positive(*shape)) for shape in SQUARES],
        lambda x: np.linalg.eigvalsh(lower_only(x)),
        function=p.eigvalsh, dtypes=ALL, tolerance=NEAR, differentiable=(0,),
        errors=[not_square("SelfAdjointEigV2")],
    ),
    Record(
        "SelfAdjointEigV2", [case(positive(3, 3)), case(positive(2, 2, 2))],
        lambda x: [np.linalg.eigvalsh(lower_only(x)), np.abs(np.linalg.eigh(lower_only(x))[1])],
        function=lambda x: [p.eigh(x)[0], absolute(p.eigh(x)[1])],
        dtypes=FLOATS, tolerance=NEAR, differentiable=(0,),
    ),
    Record(
        "Eig", [case(spread(*shape)) for shape in SQUARES if 0 not in shape],
        lambda x: np.linalg.eigvals(x).astype(np.complex128),
        function=p.eigvals, dtypes=("float32",), result_dtype="complex64", tolerance=NEAR,
        compiled=False,  # XLA has it for CPUs only
        errors=[not_square("Eig")],
    ),
    Record(
        "Eig", [case(spread(3, 3)), case(spread(2, 2, 2))],
        lambda x: [np.linalg.eigvals(x).real, np.abs(np.linalg.eig(x)[1])],
        function=lambda x: [real(p.eig(x)[0]), absolute(p.eig(x)[1])], dtypes=FLOATS,
        tolerance=NEAR, differentiable=(0,), compiled=False,  # as above
    ),
    Record(
        "MatrixExponential", [case(normal(*shape)) for shape in SQUARES], exponential,
        function=f.expm, dtypes=(*ALL, "float16"), tolerance={**NEAR, "float16": 0.2},
        differentiable=(0,),
        errors=[not_square("MatrixExponential")],
    ),
    Record(
        "MatrixSquareRoot", [case(clear(*shape)) for shape in SQUARES],
        lambda x: x, function=lambda x: matmul(f.sqrtm(x), f.sqrtm(x)),
        dtypes=(*ALL, "float16"), tolerance=NEAR, compiled=False,  # iterations until it is exact
    ),
    Record(
        "MatrixSquareRoot", [case(clear(3, 3)), case(clear(2, 2, 2))], None, function=f.sqrtm,
        differentiable=(0,), compiled=False,  # as above
    ),
    Record(
        "MatrixLogarithm", [case(clear(*shape)) for shape in SQUARES],
        lambda x: x, function=lambda x: f.expm(f.logm(x)), dtypes=COMPLEX, tolerance=NEAR,
        compiled=False,  # as above
    ),
    Record(
        "MatrixSolveLs",
        [
            case(spread(4, 2), normal(4, 3), np.float64(0.5)),
            case(spread(2, 4), normal(2, 3), np.float64(0.0)),
            case(spread(2, 3, 2), normal(2, 3, 1), np.float64(0.5)),
            case(spread(4, 2), normal(4, 3), np.float64(0), fast=False),
            case(spread(2, 4), normal(2, 1), np.float64(0), fast=False),
        ],
        least, function=raw_least, dtypes=(*ALL, "float16"), tolerance=NEAR,
        differentiable=(0, 1), known=("full",),
        errors=[
            Failure((ONES, np.ones((3, 1), np.float32), np.float64(0)), "with 2 rows", {}, INVALID),
            Failure((ZERO, ONES, np.float64(0)), "rank deficient", {}, INVALID, None),
        ],
    ),
    Record(
        "MatrixSolveLs", [case(spread(2, 4), normal(2, 3), np.float64(0.5))], least,
        function=raw_least, dtypes=("complex128",), differentiable=(0, 1), tolerance=NEAR,
        known=("full",),
    ),
    Record(
        ".lstsq",
        [
            case(spread(4, 2), normal(4, 3)),
            case(spread(4, 2), normal(4, 3), l2_regularizer=0.5),
            case(spread(2, 4), normal(2, 3), l2_regularizer=0.5),
            case(spread(2, 3, 2), normal(2, 3, 1), fast=False),
        ],
        least, function=f.lstsq, dtypes=ALL, tolerance=NEAR, differentiable=(0, 1),
    ),
    Record(
        ".pinv", [case(spread(*shape)) for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2))],
        np.linalg.pinv, function=f.pinv, dtypes=ALL, tolerance=NEAR, differentiable=(0,),
        order=1, known=("full", "dims"),
        errors=[Failure((np.ones(2, np.float32),), "at least 2 dim", {}, ValueError)],
    ),
    Record(
        ".matrix_rank", [case(spread(*shape)) for shape in OBLONGS[:-1]], np.linalg.matrix_rank,
        function=f.matrix_rank, dtypes=ALL, result_dtype="int32",
        errors=[Failure((np.ones((2, 2), np.int32),), "float", {}, TypeError, TypeError)],
    ),
    Record(
        ".lu_solve", pairs(clear), np.linalg.solve,
        function=lambda a, b: f.lu_solve(*s.lu(a), b), dtypes=ALL, tolerance=NEAR,
        differentiable=(0, 1), known=("full",),
    ),
    Record(
        ".lu_matrix_inverse", [case(normal(*shape)) for shape in ((3, 3), (2, 2, 2))],
        np.linalg.inv, function=lambda a: f.lu_matrix_inverse(*s.lu(a)), dtypes=ALL,
        tolerance=NEAR, known=("full",),
    ),
    Record(
        ".lu_reconstruct", [case(normal(*shape)) for shape in ((3, 3), (2, 2, 2))],
        lambda x: x, function=lambda a: f.lu_reconstruct(*s.lu(a)), dtypes=ALL, tolerance=NEAR,
        known=("full", "dims"),
    ),
    Record(
        ".adjoint", [case(normal(*shape)) for shape in OBLONGS], adjoint,
        function=common.adjoint, dtypes=ALL, differentiable=(0,), known=("full", "dims"),
    ),
]  # fmt: skip
