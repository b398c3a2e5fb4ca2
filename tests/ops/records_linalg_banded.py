"""Records of tridiagonal and banded triangular equations, against NumPy's dense ones."""

import numpy as np
from tests.ops.harness import COMPLEX, FLOATS, Failure, Record, Sample, case, normal

from penstock import errors
from penstock.core.execute import execute
from penstock.ops import linalg_banded as b
from penstock.ops import linalg_tridiagonal as t
from penstock.ops import math_norms

ALL = (*FLOATS, *COMPLEX)
NEAR = {"float32": 2e-4, "float64": 1e-10, "complex64": 4e-4, "complex128": 1e-10, "float16": 3e-2}
INVALID = errors.InvalidArgumentError
ONES = np.ones((3, 3), np.float32)


def dominant(*shape: int, main: int = 1) -> Sample:
    """Diagonals of which the one in row `main` is large."""

    def draw(rng, dtype, dims):
        value = rng.uniform(-1, 1, dims)
        value = value + 1j * rng.uniform(-1, 1, dims) if dtype.kind == "c" else value
        value[..., main, :] += 3 + rng.uniform(0, 1, (*dims[:-2], dims[-1]))
        return value

    return Sample(shape, draw)


def turned(x):
    return np.conj(np.swapaxes(x, -1, -2))


def dense(diagonals):
    """The matrices that have the diagonals above, on and below the main one."""
    high, main, low = (diagonals[..., i, :] for i in range(3))
    size = main.shape[-1]
    result = np.zeros((*main.shape, size), main.dtype)
    for i in range(size):
        result[..., i, i] = main[..., i]
        if i + 1 < size:
            result[..., i, i + 1] = high[..., i]
            result[..., i + 1, i] = low[..., i + 1]
    return result


def banded(bands, lower):
    """The triangular matrices that have these bands."""
    count, size = bands.shape[-2:]
    result = np.zeros((*bands.shape[:-2], size, size), bands.dtype)
    for k in range(min(count, size)):
        for i in range(k if lower else 0, size if lower else size - k):
            if lower:
                result[..., i, i - k] = bands[..., k, i]
            else:
                result[..., i, i + k] = bands[..., count - 1 - k, i]
    return result


def tridiagonal_solved(diagonals, rhs, **_):
    return np.linalg.solve(dense(diagonals), rhs)


def banded_solved(bands, rhs, lower=True, adjoint=False):
    matrix = banded(bands, lower)
    return np.linalg.solve(turned(matrix) if adjoint else matrix, rhs)


def raw_solve(diagonals, rhs, **attrs):
    full = {"partial_pivoting": True, "perturb_singular": False, **attrs}
    return execute(b.TRIDIAGONAL_SOLVE, (diagonals, rhs), full)


def raw_product(high, main, low, rhs):
    return execute(b.TRIDIAGONAL_PRODUCT, (high, main, low, rhs))


def multiplied(high, main, low, rhs):
    return dense(np.concatenate([high, main, low], -2)) @ rhs


def product_case(*lead, size, columns):
    rows = [normal(*lead, 1, size) for _ in range(3)]
    return case(*rows, normal(*lead, size, columns))


def bands_cases():
    found = []
    for lower in (True, False):
        for turn in (False, True):
            for lead, rhs in (((), (5, 2)), ((2,), (2, 5, 1)), ((2, 1), (3, 5, 2))):
                main = 0 if lower else 2
                found.append(
                    case(dominant(*lead, 3, 5, main=main), normal(*rhs), lower=lower, adjoint=turn)
                )
    return found


SIZES = [((3, 4), (4, 2)), ((3, 1), (1, 1)), ((2, 3, 5), (2, 5, 3)), ((3, 2), (2, 0))]

RECORDS = [
    Record(
        "TridiagonalSolve",
        [case(dominant(*a), normal(*x)) for a, x in SIZES]
        + [case(dominant(*a), normal(*x), partial_pivoting=False) for a, x in SIZES[:2]]
        + [case(normal(*a), normal(*x)) for a, x in SIZES[:1]],
        tridiagonal_solved, function=raw_solve, dtypes=ALL, tolerance=NEAR,
        differentiable=(0, 1),
        errors=[
            Failure((ONES, ONES[0]), "rank at least 2", {}, INVALID),
            Failure((ONES, ONES[None]), "same rank", {}, INVALID),
            Failure((ONES[:2], ONES), "three rows", {}, INVALID),
            Failure((ONES, ONES[:2]), "equal shapes", {}, INVALID),
        ],
    ),
    Record(
        "TridiagonalSolve", [case(dominant(3, 4), normal(4, 2))], tridiagonal_solved,
        function=raw_solve, dtypes=("complex128",), differentiable=(0, 1), tolerance=NEAR,
        grad_dtype="complex128",
    ),
    Record(
        "TridiagonalMatMul",
        [product_case(size=4, columns=2), product_case(2, size=3, columns=1),
         product_case(size=1, columns=3)],
        multiplied, function=raw_product, dtypes=ALL, tolerance=NEAR,
        differentiable=(0, 1, 2, 3),
        errors=[
            Failure((ONES[:1], ONES[:1], ONES[:1], ONES[:2]), "Invalid superdiag", {}, INVALID),
            Failure((ONES[:1], ONES[:1], ONES[:1], ONES[None]), "same rank", {}, INVALID),
        ],
    ),
    Record(
        "TridiagonalMatMul", [product_case(size=4, columns=2)], multiplied, function=raw_product,
        dtypes=("complex128",), differentiable=(0, 1, 2, 3), tolerance=NEAR,
        grad_dtype="complex128",
    ),
    Record(
        "BandedTriangularSolve", bands_cases(), banded_solved, function=b.banded_triangular_solve,
        dtypes=(*ALL, "float16"), tolerance=NEAR, differentiable=(0, 1), known=("full", "dims"),
        errors=[
            Failure((ONES[:0], ONES), "at least one band", {}, INVALID),
            Failure((ONES, ONES[:2]), "equal shapes", {}, INVALID),
            Failure((0 * ONES, ONES), "not invertible", {}, INVALID, None),
        ],
    ),
    Record(
        "BandedTriangularSolve",
        [case(dominant(2, 4, main=0), normal(4, 2)), case(dominant(5, 3, main=0), normal(3, 1)),
         case(dominant(3, 4, main=2), normal(4, 1), lower=False, adjoint=True)],
        banded_solved, function=b.banded_triangular_solve, dtypes=("complex128",),
        differentiable=(0, 1), tolerance=NEAR, grad_dtype="complex128", known=("full", "dims"),
    ),
    Record(
        ".tridiagonal_solve",
        [case(dominant(3, 4), normal(4, 2)), case(dominant(2, 3, 4), normal(2, 4, 1))],
        tridiagonal_solved, function=t.tridiagonal_solve, dtypes=ALL, tolerance=NEAR,
        differentiable=(0, 1), known=("full", "dims"),
    ),
    Record(
        ".tridiagonal_matmul",
        [case(dominant(3, 4), normal(4, 2)), case(dominant(2, 3, 4), normal(2, 4, 1))],
        lambda a, x: dense(a) @ x, function=t.tridiagonal_matmul, dtypes=ALL, tolerance=NEAR,
        differentiable=(0, 1),
    ),
    Record(
        ".eigh_tridiagonal", [case(normal(4), normal(3)), case(normal(2), normal(1))],
        lambda a, x: np.linalg.eigvalsh(np.diag(a.real) + np.diag(np.conj(x), -1)),
        function=t.eigh_tridiagonal, dtypes=FLOATS, tolerance=NEAR, differentiable=(0, 1),
    ),
    Record(
        ".normalize", [case(normal(3)), case(normal(2, 3), axis=-1), case(normal(2, 3), ord=1)],
        lambda x, ord=2, axis=None: x / np.linalg.norm(
            x.ravel() if axis is None else x, ord, axis, keepdims=axis is not None
        ),
        function=lambda x, **k: math_norms.normalize(x, **k)[0], dtypes=ALL, tolerance=NEAR,
        differentiable=(0,),
    ),
]  # fmt: skip
