"""`tf.linalg`'s functions for linear operators: `tf.linalg.matmul(operator, x)` and the like."""

from collections.abc import Callable
from typing import Any

from penstock.core import dispatch
from penstock.ops import array_diag, linalg_common, linalg_solve, math_matmul
from penstock.ops.linear_operators.base import LinearOperator


def _handled(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return dispatch.handler(dispatch.key_of(function), LinearOperator)


@_handled(linalg_common.adjoint)
def _adjoint(matrix: Any, name: str | None = None) -> Any:
    return matrix.adjoint(name or "adjoint")


@_handled(linalg_solve.cholesky)
def _cholesky(input: Any, name: str | None = None) -> Any:
    return input.cholesky(name or "cholesky")


@_handled(linalg_solve.det)
def _det(input: Any, name: str | None = None) -> Any:
    return input.determinant(name or "det")


@_handled(linalg_solve.logdet)
def _logdet(matrix: Any, name: str | None = None) -> Any:
    if not (matrix.is_positive_definite and matrix.is_self_adjoint):
        raise ValueError(
            "Expected matrix to be self-adjoint and positive definite. Got the hints "
            f"{matrix.is_self_adjoint} and {matrix.is_positive_definite} of {matrix.name}: pass "
            "them if it is, or use log_abs_determinant()."
        )
    return matrix.log_abs_determinant(name or "log_abs_det")


@_handled(linalg_solve.inv)
def _inv(input: Any, adjoint: bool = False, name: str | None = None) -> Any:
    inverse = input.inverse(name or "inverse")
    return inverse.adjoint() if adjoint else inverse


@_handled(array_diag.trace)
def _trace(x: Any, name: str | None = None) -> Any:
    return x.trace(name or "trace")


@_handled(array_diag.diag_part)
def _diag_part(
    input: Any,
    name: str | None = "diag_part",
    k: Any = 0,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    if not (isinstance(k, int) and k == 0):
        raise ValueError(
            f"tf.linalg.diag_part of a LinearOperator: expected k=0, the main diagonal, got {k!r}. "
            "Use operator.to_dense() for others."
        )
    return input.diag_part(name or "diag_part")


@_handled(math_matmul.matmul)
def _matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Any:
    if transpose_a or transpose_b:
        raise ValueError(
            "Transposing not supported at this time. tf.matmul of a LinearOperator: pass adjoint_a "
            "or adjoint_b."
        )
    if a_is_sparse or b_is_sparse:
        raise ValueError(
            "Sparse methods not supported at this time. tf.matmul of a LinearOperator: leave "
            "a_is_sparse and b_is_sparse out."
        )
    if isinstance(a, LinearOperator):
        return a.matmul(b, adjoint_a, adjoint_b, name or "matmul")
    turned = b.matmul(a, not adjoint_b, not adjoint_a, name or "matmul")
    return linalg_common.adjoint(turned)


@_handled(math_matmul.matvec)
def _matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    if transpose_a:
        raise ValueError(
            "Transposing not supported at this time. tf.linalg.matvec of a LinearOperator: pass "
            "adjoint_a."
        )
    return a.matvec(b, adjoint_a, name or "matvec")


@_handled(linalg_solve.solve)
def _solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
    if not isinstance(matrix, LinearOperator):
        raise ValueError(
            "Passing in `matrix` as a Tensor and `rhs` as a LinearOperator is not supported. Wrap "
            "the matrix in tf.linalg.LinearOperatorFullMatrix."
        )
    return matrix.solve(rhs, adjoint, name=name or "solve")
