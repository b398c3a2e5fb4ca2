"""Linear equations: Cholesky and LU decompositions, inverses, determinants, solutions.

A matrix that cannot be inverted is an InvalidArgumentError for inverses, solutions and LU
decompositions, as in TensorFlow; a triangular one gives infinities, and a matrix that is not
positive definite has a Cholesky factor of NaN.
"""

from collections import namedtuple
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import native_matrices
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel, kernel
from penstock.core.lazy import jnp, lax
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.array_bands import band_part
from penstock.ops.array_diag import diag_part, set_diag
from penstock.ops.array_fill import one_hot
from penstock.ops.composing import composed
from penstock.ops.linalg_common import (
    NUMBERS,
    adjoint,
    by_matrix,
    chain,
    square,
    turned,
    wide,
    without_matrix,
)
from penstock.ops.linalg_host import (
    ANY_SIZE,
    FEW_ROWS,
    identity,
    lu_by_columns,
    lu_decomposed,
    solved,
    substitute,
)
from penstock.ops.math_arithmetic import conjugate, sum_like
from penstock.ops.math_cast import real
from penstock.ops.math_matmul import matmul
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray or a JAX tracer
LogMatrixDeterminant = namedtuple("LogMatrixDeterminant", ["sign", "log_abs_determinant"])
Lu = namedtuple("Lu", ["lu", "p"])
SINGULAR = (
    "is not invertible: expected a matrix of full rank, got one with a zero pivot. Use "
    "tf.linalg.pinv, or tf.linalg.lstsq with a regularizer."
)
NO_PIVOT = (
    "is not invertible: expected numbers, got NaN as the first element. See where it comes from "
    "with tf.debugging.check_numerics."
)


def _halved_diagonal(x: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    lower = band_part(x, -1, 0)
    return set_diag(lower, execute("Mul", (diag_part(lower), convert_to_tensor(0.5, x.dtype))))


# ---- Cholesky

CHOLESKY = define_op(
    f"Cholesky(input: T; T: {NUMBERS}) -> output: T",
    shape=square,
    doc="Lower triangular factors of positive definite matrices, of which the lower part is read.",
)


@host_kernel(CHOLESKY)
def _cholesky(x: Array) -> Array:
    x = wide(x)
    found = native_matrices.cholesky(x) if x.shape[-1] <= FEW_ROWS else None
    return by_matrix(np.linalg.cholesky, x) if found is None else found


@compiled_kernel(CHOLESKY)
def _cholesky_compiled(x: Array) -> Array:
    return lax.linalg.cholesky(wide(x), symmetrize_input=False)


@CHOLESKY.gradient
def _cholesky_gradient(op: Any, grad: Any) -> Any:
    return _cholesky_adjoint(op.outputs[0], grad)


def _cholesky_adjoint(factor: Any, grad: Any) -> Any:
    """The symmetric gradient of the matrix, from that of its factor."""
    inner = _halved_diagonal(matmul(factor, grad, adjoint_a=True))
    left = triangular_solve(factor, inner, adjoint=True)
    both = adjoint(triangular_solve(factor, adjoint(left), adjoint=True))
    half = convert_to_tensor(0.5, both.dtype)
    return execute("Mul", (execute("AddV2", (both, adjoint(both))), half))


def cholesky(input: Any, name: str | None = None) -> Any:
    """Returns the lower triangular L with L L^H = input, for positive definite matrices.

    Args:
      input: floating or complex tensor [..., M, M]; only the lower triangle is read.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same shape and dtype; NaN where a matrix is not positive definite.

    Raises:
      InvalidArgumentError, ValueError: the matrices are not square.

    Example:
      >>> cholesky([[4.0, 0.0], [2.0, 5.0]]).numpy().tolist()
      [[2.0, 0.0], [1.0, 2.0]]
    """
    return execute(CHOLESKY, (input,), None, name)


@composed("cholesky_solve", result=None)
def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Any:
    """Solves A X = rhs, given the Cholesky factors of A.

    Args:
      chol: tensor [..., M, M] from `cholesky`.
      rhs: tensor [..., M, K] of the same dtype.
      name: the name of the last operation in a graph.

    Returns:
      Tensor [..., M, K].
    """
    lower = execute(TRIANGULAR_SOLVE, (chol, rhs), {"lower": True, "adjoint": False})
    return execute(TRIANGULAR_SOLVE, (chol, lower), {"lower": True, "adjoint": True}, name)


# ---- triangular equations


def _triangular_shape(c: ShapeContext) -> Dims:
    matrix, rhs = square(c), c.rank_at_least(1, 2, "rhs")
    if matrix is None or rhs is None:
        return None
    rows = _equal_rows(c, matrix, rhs)
    try:
        lead = d.broadcast(matrix[:-2], rhs[:-2])
    except ValueError:
        c.fail(
            "stacks of matrices and right-hand sides that broadcast",
            f"shapes {d.text(matrix)} and {d.text(rhs)}",
        )
    return None if lead is None else (*lead, rows, rhs[-1])


def _equal_rows(c: ShapeContext, matrix: Any, rhs: Any) -> int | None:
    rows, given = matrix[-1], rhs[-2]
    if rows is not None and given is not None and rows != given:
        c.fail(
            f"a right-hand side with {rows} rows",
            f"Input matrix and rhs are incompatible: {d.text(matrix)} and {d.text(rhs)}: Dimensions"
            f" must be equal, but are {rows} and {given}",
        )
    return given if rows is None else rows  # type: ignore[no-any-return]


TRIANGULAR_SOLVE = define_op(
    "MatrixTriangularSolve(matrix: T, rhs: T; lower: bool = True, adjoint: bool = False, T: "
    "{bfloat16, double, float, half, complex64, complex128}) -> output: T",
    shape=_triangular_shape,
    doc="Solutions of triangular equations; the other triangle is not read.",
)


@host_kernel(TRIANGULAR_SOLVE, limit=2048)  # row by row in Python: 180 us for 64 rows
def _triangular_by_rows(matrix: Array, rhs: Array, *, lower: bool, adjoint: bool) -> Array:
    return substitute(wide(matrix), wide(rhs), lower, adjoint)


@host_kernel(TRIANGULAR_SOLVE, limit=ANY_SIZE, available=native_matrices.LIBRARY.is_in_use)
def _triangular_host(matrix: Array, rhs: Array, *, lower: bool, adjoint: bool) -> Array:
    return substitute(wide(matrix), wide(rhs), lower, adjoint)


@compiled_kernel(TRIANGULAR_SOLVE)
def _triangular_compiled(matrix: Array, rhs: Array, *, lower: bool, adjoint: bool) -> Array:
    lead = np.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    return lax.linalg.triangular_solve(
        jnp.broadcast_to(wide(matrix), lead + matrix.shape[-2:]),
        jnp.broadcast_to(wide(rhs), lead + rhs.shape[-2:]),
        left_side=True, lower=lower, transpose_a=adjoint, conjugate_a=adjoint,
    )  # fmt: skip


@TRIANGULAR_SOLVE.gradient
def _triangular_gradient(op: Any, grad: Any) -> list[Any]:
    matrix, rhs = op.inputs
    turn, lower = op.get_attr("adjoint"), op.get_attr("lower")
    by_rhs = triangular_solve(matrix, grad, lower=lower, adjoint=not turn)
    pair = (op.outputs[0], by_rhs) if turn else (by_rhs, op.outputs[0])
    full = execute("Neg", (matmul(*pair, adjoint_b=True),))
    by_matrix_ = band_part(full, -1, 0) if lower else band_part(full, 0, -1)
    return [sum_like(by_matrix_, matrix, by_matrix_), sum_like(by_rhs, rhs, by_rhs)]


@composed("triangular_solve", result=None)
def triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Any:
    """Solves A X = rhs for triangular matrices A.

    Args:
      matrix: floating or complex tensor [..., M, M]; only one triangle is read.
      rhs: tensor [..., M, K] of the same dtype; stacks broadcast.
      lower: whether the lower triangle is read, else the upper one.
      adjoint: whether the equations are A^H X = rhs.
      name: the name of the operation in a graph.

    Returns:
      Tensor [..., M, K]; infinities or NaN where the diagonal has zeros.

    Raises:
      InvalidArgumentError, ValueError: the shapes do not fit.
    """
    return execute(TRIANGULAR_SOLVE, (matrix, rhs), {"lower": lower, "adjoint": adjoint}, name)


# ---- LU


def _lu_shape(c: ShapeContext) -> list[Dims]:
    dims = square(c)
    return [dims, None if dims is None else dims[:-1]]


LU = define_op(
    f"Lu(input: T; T: {NUMBERS}, output_idx_type: {{int32, int64}} = int32) -> lu: T, p: "
    "output_idx_type",
    shape=_lu_shape,
    fallible=True,
    doc="Lower and upper triangular factors of matrices with permuted rows.",
)


def _require_first(ctx: KernelContext, xp: Any, x: Array, what: str) -> None:
    """Refuses matrices whose first element is NaN: there is no row with a larger one."""
    if xp is np and x.size == x.shape[-1] * x.shape[-2] > 0:  # one matrix: ten times as fast
        first = x.item(0)
        if first == first:
            return
    known = ~xp.isnan(xp.abs(x[..., :1, :1])).any()
    ctx.check(known, errors.InvalidArgumentError, lambda: f"{what} {NO_PIVOT}")


def _require_pivots(ctx: KernelContext, xp: Any, lu: Array, what: str) -> None:
    pivots = lu.diagonal(axis1=-2, axis2=-1)
    if xp is np and np.count_nonzero(pivots) == pivots.size:
        return
    ctx.check((pivots != 0).all(), errors.InvalidArgumentError, lambda: f"{what} {SINGULAR}")


@host_kernel(LU, limit=1024)  # column by column: 680 us for 64 columns
def _lu_host_by_columns(ctx: KernelContext, x: Array) -> tuple[Array, Array]:
    _require_first(ctx, np, x, "Input")
    lu, order = lu_by_columns(wide(x))
    _require_pivots(ctx, np, lu, "Input")
    return lu, order


@host_kernel(LU, limit=ANY_SIZE, available=native_matrices.LIBRARY.is_in_use)
def _lu_host(ctx: KernelContext, x: Array) -> tuple[Array, Array]:
    _require_first(ctx, np, x, "Input")
    lu, order = lu_decomposed(wide(x))
    _require_pivots(ctx, np, lu, "Input")
    return lu, order


@compiled_kernel(LU)
def _lu_compiled(ctx: KernelContext, x: Array) -> tuple[Array, Array]:
    _require_first(ctx, jnp, x, "Input")
    lu, _, order = lax.linalg.lu(wide(x))
    _require_pivots(ctx, jnp, lu, "Input")
    return lu, order


@LU.gradient
def _lu_gradient(op: Any, grad: Any, _: Any) -> Any:
    lu, order = op.outputs
    strict = set_diag(band_part(lu, -1, 0), execute("OnesLike", (diag_part(lu),)))
    upper = band_part(lu, 0, -1)
    below = execute("Sub", (band_part(grad, -1, 0), band_part(grad, 0, 0)))
    by_lower = matmul(strict, below, adjoint_a=True)
    by_lower = execute("Sub", (band_part(by_lower, -1, 0), band_part(by_lower, 0, 0)))
    by_upper = band_part(matmul(band_part(grad, 0, -1), upper, adjoint_b=True), 0, -1)
    inner = triangular_solve(strict, execute("AddV2", (by_lower, by_upper)), adjoint=True)
    rows = adjoint(triangular_solve(upper, adjoint(inner), lower=False))
    size = execute("Shape", (order,))[-1]
    return matmul(one_hot(order, size, dtype=lu.dtype), rows, transpose_a=True)


def lu(input: Any, output_idx_type: Any = dt.int32, name: str | None = None) -> Any:
    """Returns L, U and the order of rows with L U = input[p], for square matrices.

    Args:
      input: floating or complex tensor [..., M, M].
      output_idx_type: int32 or int64.
      name: the name of the operation in a graph.

    Returns:
      `lu` [..., M, M]: U in the upper triangle, L below, whose diagonal of ones is left out;
      `p` [..., M]: the row of the input that stands in each row.

    Raises:
      InvalidArgumentError: a matrix is not invertible, or not square.
    """
    return Lu(*execute(LU, (input,), {"output_idx_type": dt.as_dtype(output_idx_type)}, name))


# ---- equations


def _solve_shape(c: ShapeContext) -> Dims:
    matrix, rhs = square(c), c.rank_at_least(1, 2, "rhs")
    if matrix is None:
        return rhs
    if rhs is None:
        return (*matrix[:-2], matrix[-1] if matrix[-2] is None else matrix[-2], None)
    if len(matrix) != len(rhs):
        c.fail(
            "All input tensors must have the same rank",
            f"{d.text(matrix)} and {d.text(rhs)}",
            "Repeat one of them with tf.broadcast_to.",
        )
    lead = c.merge(matrix[:-2], rhs[:-2])
    return (*lead, _equal_rows(c, matrix, rhs), rhs[-1])  # type: ignore[misc]


SOLVE = define_op(
    f"MatrixSolve(matrix: T, rhs: T; adjoint: bool = False, T: {NUMBERS}) -> output: T",
    shape=_solve_shape,
    fallible=True,
    doc="Solutions of linear equations.",
)


def _solved(ctx: KernelContext, a: Array, b: Array, what: str) -> Array:
    """The compiled solution, through an LU decomposition."""
    _require_first(ctx, jnp, a, what)
    lu, _, order = lax.linalg.lu(a)
    _require_pivots(ctx, jnp, lu, what)
    rows = jnp.take_along_axis(b, order[..., None], axis=-2)
    inner = lax.linalg.triangular_solve(lu, rows, left_side=True, lower=True, unit_diagonal=True)
    return lax.linalg.triangular_solve(lu, inner, left_side=True, lower=False)


def _refused(ctx: KernelContext, what: str) -> None:
    ctx.check(False, errors.InvalidArgumentError, lambda: f"{what} {SINGULAR}")


@host_kernel(SOLVE)
def _solve_host(ctx: KernelContext, matrix: Array, rhs: Array, *, adjoint: bool) -> Array:
    _require_first(ctx, np, matrix, "Input matrix")
    matrix = turned(np, wide(matrix)) if adjoint else wide(matrix)
    try:
        return solved(matrix, wide(rhs))
    except np.linalg.LinAlgError:
        return _refused(ctx, "Input matrix")


@compiled_kernel(SOLVE)
def _solve_compiled(ctx: KernelContext, matrix: Array, rhs: Array, *, adjoint: bool) -> Array:
    matrix = turned(jnp, wide(matrix)) if adjoint else wide(matrix)
    return _solved(ctx, matrix, wide(rhs), "Input matrix")


@SOLVE.gradient
def _solve_gradient(op: Any, grad: Any) -> list[Any]:
    turn = op.get_attr("adjoint")
    by_rhs = solve(op.inputs[0], grad, adjoint=not turn)
    pair = (op.outputs[0], by_rhs) if turn else (by_rhs, op.outputs[0])
    return [execute("Neg", (matmul(*pair, adjoint_b=True),)), by_rhs]


def solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
    """Solves A X = rhs.

    Args:
      matrix: floating or complex tensor [..., M, M], the A.
      rhs: tensor [..., M, K] of the same dtype and stack.
      adjoint: whether the equations are A^H X = rhs.
      name: the name of the operation in a graph.

    Returns:
      Tensor [..., M, K].

    Raises:
      InvalidArgumentError: a matrix is not invertible, or the shapes do not fit.
    """
    return execute(SOLVE, (matrix, rhs), {"adjoint": adjoint}, name)


# ---- inverses

INVERSE = define_op(
    f"MatrixInverse(input: T; adjoint: bool = False, T: {NUMBERS}) -> output: T",
    shape=square,
    fallible=True,
    doc="Inverses of matrices.",
)


@host_kernel(INVERSE)
def _inverse_host(ctx: KernelContext, x: Array, *, adjoint: bool) -> Array:
    _require_first(ctx, np, x, "Input")
    matrix = turned(np, wide(x)) if adjoint else wide(x)
    try:
        if x.shape[-1] > FEW_ROWS:
            return np.linalg.inv(matrix)
        one = identity(x.shape[-1], matrix.dtype)
        alone = x.size == one.size
        return solved(matrix, one.reshape(x.shape) if alone else np.broadcast_to(one, x.shape))
    except np.linalg.LinAlgError:
        return _refused(ctx, "Input")


@compiled_kernel(INVERSE)
def _inverse_compiled(ctx: KernelContext, x: Array, *, adjoint: bool) -> Array:
    x = turned(jnp, wide(x)) if adjoint else wide(x)
    return _solved(ctx, x, jnp.broadcast_to(jnp.eye(x.shape[-1], dtype=x.dtype), x.shape), "Input")


@INVERSE.gradient
def _inverse_gradient(op: Any, grad: Any) -> Any:
    inverse = op.outputs[0]
    if op.get_attr("adjoint"):
        return execute("Neg", (chain(inverse, adjoint(grad), inverse),))
    turn = adjoint(inverse)
    return execute("Neg", (chain(turn, grad, turn),))


def inv(input: Any, adjoint: bool = False, name: str | None = None) -> Any:
    """Returns the inverses of matrices.

    Args:
      input: floating or complex tensor [..., M, M].
      adjoint: whether the inverses are transposed and conjugated.
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same shape and dtype.

    Raises:
      InvalidArgumentError: a matrix is not invertible, or not square.
    """
    return execute(INVERSE, (input,), {"adjoint": adjoint}, name)


# ---- determinants

DETERMINANT = define_op(
    "MatrixDeterminant(input: T; T: {half, float, double, complex64, complex128}) -> output: T",
    shape=without_matrix,
    doc="Determinants of matrices.",
)
LOG_DETERMINANT: OpDef = define_op(
    "LogMatrixDeterminant(input: T; T: {half, float, double, complex64, complex128}) -> sign: T, "
    "log_abs_determinant: T",
    shape=lambda c: [without_matrix(c)] * 2,
    doc="Signs of determinants and logarithms of their absolute values.",
)


@kernel(DETERMINANT)
def _determinant(xp: Any, x: Array) -> Array:
    return xp.linalg.det(wide(x))


@kernel(LOG_DETERMINANT)
def _log_determinant(xp: Any, x: Array) -> tuple[Array, Array]:
    sign, logarithm = xp.linalg.slogdet(wide(x))
    if xp is np and not np.count_nonzero(np.isnan(logarithm)):
        return sign, logarithm.astype(x.dtype, copy=False)
    unknown = sign.dtype.type(complex(np.nan, np.nan) if sign.dtype.kind == "c" else np.nan)
    sign = xp.where(xp.isnan(logarithm), unknown, sign)
    return sign, logarithm.astype(x.dtype)


def _times_inverse(x: Any, factor: Any) -> Any:
    """A factor for each matrix times its inverse, transposed and conjugated."""
    column = execute("ExpandDims", (execute("ExpandDims", (factor, np.int32(-1))), np.int32(-1)))
    return execute("Mul", (column, inv(x, adjoint=True)))


@DETERMINANT.gradient
def _determinant_gradient(op: Any, grad: Any) -> Any:
    return _times_inverse(op.inputs[0], execute("Mul", (grad, conjugate(op.outputs[0]))))


@LOG_DETERMINANT.gradient
def _log_determinant_gradient(op: Any, _: Any, grad: Any) -> Any:
    return _times_inverse(op.inputs[0], grad)


def det(input: Any, name: str | None = None) -> Any:
    """Returns the determinants of matrices.

    Args:
      input: floating or complex tensor [..., M, M].
      name: the name of the operation in a graph.

    Returns:
      Tensor [...] of the same dtype. Its gradient needs invertible matrices.

    Raises:
      InvalidArgumentError, ValueError: the matrices are not square.
    """
    return execute(DETERMINANT, (input,), None, name)


def slogdet(input: Any, name: str | None = None) -> Any:
    """Returns the signs of determinants and the logarithms of their absolute values.

    Args:
      input: floating or complex tensor [..., M, M].
      name: the name of the operation in a graph.

    Returns:
      `sign` and `log_abs_determinant`, both [...] of the same dtype.

    Raises:
      InvalidArgumentError, ValueError: the matrices are not square.
    """
    return LogMatrixDeterminant(*execute(LOG_DETERMINANT, (input,), None, name))


@composed("logdet", result="mul")
def logdet(matrix: Any, name: str | None = None) -> Any:
    """Returns the logarithms of the determinants of positive definite matrices.

    Args:
      matrix: floating or complex tensor [..., M, M].
      name: the name of the last operation in a graph.

    Returns:
      Real tensor [...]; NaN where a matrix is not positive definite.
    """
    diagonal = diag_part(cholesky(matrix))
    diagonal = real(diagonal) if diagonal.dtype.is_complex else diagonal
    logarithms = execute("Log", (diagonal,))
    two = convert_to_tensor(2, logarithms.dtype)
    return execute("Mul", (two, execute("Sum", (logarithms, [-1]))), None, name)
