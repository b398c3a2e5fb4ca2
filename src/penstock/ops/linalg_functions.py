"""Functions of matrices: exponential, square root, logarithm, least squares, pseudo-inverse, rank.

Also what is done with LU decompositions. `expm` is one operation, for the number of squarings
depends on values, and a composition could not run without a loop.
"""

import math
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import KernelContext, compiled_kernel, host_kernel, kernel
from penstock.core.lazy import jnp, lax
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.array_bands import band_part
from penstock.ops.array_basics import shape_of
from penstock.ops.array_diag import diag_part, set_diag
from penstock.ops.array_fill import eye
from penstock.ops.array_join import concat
from penstock.ops.array_sort import argsort
from penstock.ops.composing import composed
from penstock.ops.conditionals import cond
from penstock.ops.linalg_common import NUMBERS, adjoint, flat_stack, square, turned, wide
from penstock.ops.linalg_decompose import svd
from penstock.ops.linalg_host import identity, solved
from penstock.ops.linalg_solve import cholesky, cholesky_solve, solve, triangular_solve
from penstock.ops.math_arithmetic import conjugate
from penstock.ops.math_cast import cast
from penstock.ops.math_matmul import matmul
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray or a JAX tracer

# ---- exponential

EXPONENTIAL = define_op(
    f"MatrixExponential(input: T; T: {NUMBERS}) -> output: T",
    shape=square,
    doc="Exponentials of matrices, by scaling, a rational approximation and squaring.",
)
# numerator of the rational approximation of order 13, and the norm up to which it is exact enough
PADE = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
    10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip
LARGEST_NORM = 5.371920351148152


def _halvings(xp: Any, x: Array) -> Array:
    """How often each matrix is halved before the approximation is good."""
    norm = xp.max(xp.sum(xp.abs(x), axis=-2), axis=-1, initial=0)
    times = xp.ceil(xp.log2(xp.maximum(norm, LARGEST_NORM) / LARGEST_NORM))
    return xp.where(xp.isfinite(times), times, 0).astype(np.int32)


def _rational(xp: Any, x: Array) -> Array:
    b = [c / PADE[0] for c in PADE]
    one = xp.eye(x.shape[-1], dtype=x.dtype)
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    odd = x6 @ (x6 * b[13] + x4 * b[11] + x2 * b[9]) + x6 * b[7] + x4 * b[5] + x2 * b[3]
    even = x6 @ (x6 * b[12] + x4 * b[10] + x2 * b[8]) + x6 * b[6] + x4 * b[4] + x2 * b[2]
    odd, even = x @ (odd + one * b[1]), even + one
    return xp.linalg.solve(even - odd, even + odd)


def _scaled(xp: Any, x: Array, times: Array) -> Array:
    factor = xp.exp2(-times.astype(x.real.dtype)).astype(x.dtype)
    return _rational(xp, x * factor[..., None, None])


@host_kernel(EXPONENTIAL)
def _expm_host(x: Array) -> Array:
    x = wide(x)
    times = _halvings(np, x)
    result = _scaled(np, x, times)
    for i in range(times.max(initial=0)):
        result = np.where((i < times)[..., None, None], result @ result, result)
    return result


@compiled_kernel(EXPONENTIAL)
def _expm_compiled(x: Array) -> Array:
    x = wide(x)
    times = _halvings(jnp, x)

    def again(i: Array, result: Array) -> Array:
        return jnp.where((i < times)[..., None, None], result @ result, result)

    return lax.fori_loop(0, times.max(initial=0), again, _scaled(jnp, x, times))


@EXPONENTIAL.gradient
def _expm_gradient(op: Any, grad: Any) -> Any:
    turn = adjoint(op.inputs[0])
    top = concat([turn, grad], -1)
    bottom = concat([execute("ZerosLike", (turn,)), turn], -1)
    whole = execute(EXPONENTIAL, (concat([top, bottom], -2),))
    size = turn.dims[-1] if turn.dims is not None else None
    n = execute("Shape", (turn,))[-1] if size is None else size
    return whole[..., :n, n:]


def expm(input: Any, name: str | None = None) -> Any:
    """Returns the exponentials of matrices, I + A + A A / 2 + ...

    Args:
      input: floating or complex tensor [..., M, M].
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same shape and dtype.

    Raises:
      ValueError: the dtype is neither floating nor complex.
      InvalidArgumentError, ValueError: the matrices are not square.
    """
    input = convert_to_tensor(input)
    if input.dtype not in (dt.float16, dt.float32, dt.float64, dt.complex64, dt.complex128):
        raise ValueError(
            f"tf.linalg.expm does not support matrices of type {input.dtype}. Cast it to a "
            "floating or complex dtype."
        )
    return execute(EXPONENTIAL, (input,), None, name)


# ---- square root and logarithm, host only

SQUARE_ROOT = define_op(
    f"MatrixSquareRoot(input: T; T: {NUMBERS}) -> output: T",
    shape=square,
    doc="The principal square roots of matrices; NaN where a real matrix has none. Host only.",
)
LOGARITHM = define_op(
    "MatrixLogarithm(input: T; T: {complex64, complex128}) -> output: T",
    shape=square,
    doc="The principal logarithms of matrices. Host only.",
).without_gradient("TensorFlow has none; take the eigenvalues' logarithms instead")
_ROUNDING = 1e-13  # of the largest eigenvalue: smaller ones may be zeros
FAR = 1e6  # condition of the eigenvectors from which they are not relied upon


def _root_by_steps(a: Array) -> Array:
    """The square root by Denman and Beavers' iteration, for matrices without enough vectors."""
    y, z = a, np.eye(len(a), dtype=a.dtype)
    for _ in range(50):
        y, z, before = (y + np.linalg.inv(z)) / 2, (z + np.linalg.inv(y)) / 2, y
        if np.abs(y - before).max() <= 1e-15 * np.abs(y).max():
            break
    return y


def _log_by_steps(a: Array) -> Array:
    """The logarithm through repeated square roots and an integral."""
    one = np.eye(len(a), dtype=a.dtype)
    halvings = 0
    while np.abs(a - one).sum(0).max() > 0.25 and halvings < 60:
        a, halvings = _root_by_steps(a), halvings + 1
    x = a - one
    points, weights = np.polynomial.legendre.leggauss(16)
    parts = [
        w / 2 * np.linalg.solve(one + (p + 1) / 2 * x, x)
        for p, w in zip(points, weights, strict=True)
    ]
    return np.ldexp(1.0, halvings) * sum(parts)


def _of_hermitian(stack: Array, scalar: Any) -> Array | None:
    """The function of self-adjoint matrices, whose vectors are orthogonal and need no inverse.

    None where one is not, and for those that are nearly singular: what is not 0 for rounding alone
    decides on the logarithm.
    """
    if not stack.size or np.count_nonzero(stack != stack.conj().swapaxes(-1, -2)):
        return None
    try:
        values, vectors = np.linalg.eigh(stack if np.count_nonzero(stack.imag) else stack.real)
    except np.linalg.LinAlgError:
        return None
    sizes = np.abs(values)
    known = np.minimum.reduce(sizes, -1) > _ROUNDING * np.maximum.reduce(sizes, -1)
    if np.count_nonzero(known) < len(stack):
        return None
    scaled = vectors * scalar(values.astype(np.complex128))[:, None]
    return scaled @ vectors.conj().swapaxes(-1, -2)


def _each(x: Array, scalar: Any, by_steps: Any) -> Array:
    """A function of each matrix through its eigenvalues where the vectors are good enough."""
    stack = flat_stack(x).astype(np.complex128)
    whole = _of_hermitian(stack, scalar)
    if whole is not None:
        return whole.reshape(x.shape)
    result = np.empty_like(stack)
    for i, matrix in enumerate(stack):
        try:
            found = _of_hermitian(matrix[None], scalar)
            if found is not None:
                result[i] = found[0]
                continue
            values, vectors = np.linalg.eig(matrix)
            if not matrix.size or np.linalg.cond(vectors) < FAR:
                result[i] = (vectors * scalar(values)) @ np.linalg.inv(vectors)
            else:
                result[i] = by_steps(matrix)
        except np.linalg.LinAlgError:
            result[i] = np.nan
    return result.reshape(x.shape)


@host_kernel(SQUARE_ROOT)
def _square_root(x: Array) -> Array:
    result = _each(x, np.sqrt, _root_by_steps)
    if x.dtype.kind == "c":
        return result.astype(x.dtype)
    if not np.count_nonzero(result.imag):
        return result.real.astype(x.dtype)
    largest = np.abs(result).max((-1, -2), initial=0)
    imaginary = np.abs(result.imag).max((-1, -2), initial=0) > 1e-6 * largest
    return np.where(imaginary[..., None, None], np.nan, result.real).astype(x.dtype)


@SQUARE_ROOT.gradient
def _square_root_gradient(op: Any, grad: Any) -> Any:
    root = op.outputs[0]
    shape = execute("Shape", (root,))
    n = shape[-1:]
    one = eye(shape[-1], dtype=root.dtype)
    left = execute("Mul", (adjoint(root)[..., :, None, :, None], one[:, None, :]))
    right = execute("Mul", (conjugate(root)[..., None, :, None, :], one[:, None, :, None]))
    sides = concat([shape[:-2], n * n, n * n], 0)
    whole = execute("Reshape", (execute("AddV2", (left, right)), sides))
    column = execute("Reshape", (grad, concat([shape[:-2], n * n, np.array([1], np.int32)], 0)))
    return execute("Reshape", (solve(whole, column), shape))


@host_kernel(LOGARITHM)
def _logarithm(x: Array) -> Array:
    return _each(x, np.log, _log_by_steps)


def sqrtm(input: Any, name: str | None = None) -> Any:
    """Returns the principal square roots of matrices: those whose eigenvalues lie to the right.

    Args:
      input: floating or complex tensor [..., M, M].
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same shape and dtype; NaN where a real matrix has no real root.
    """
    return execute(SQUARE_ROOT, (input,), None, name)


def logm(input: Any, name: str | None = None) -> Any:
    """Returns the principal logarithms of matrices.

    Args:
      input: complex tensor [..., M, M].
      name: the name of the operation in a graph.

    Returns:
      Tensor of the same shape and dtype, whose exponential is the input.
    """
    return execute(LOGARITHM, (input,), None, name)


# ---- least squares


def _least_squares_shape(c: ShapeContext) -> Dims:
    matrix, rhs = c.rank_at_least(0, 2, "matrix"), c.rank_at_least(1, 2, "rhs")
    c.rank(2, 0, "l2_regularizer")
    if matrix is None:
        return None if rhs is None else (*rhs[:-2], None, rhs[-1])
    if rhs is None:
        return (*matrix[:-2], matrix[-1], None)
    rows, given = matrix[-2], rhs[-2]
    if rows is not None and given is not None and rows != given:
        c.fail(f"a right-hand side with {rows} rows", f"{d.text(matrix)} and {d.text(rhs)}")
    lead = c.merge(matrix[:-2], rhs[:-2])
    return (*lead, matrix[-1], rhs[-1])  # type: ignore[misc]


LEAST_SQUARES = define_op(
    "MatrixSolveLs(matrix: T, rhs: T, l2_regularizer: double; T: "
    f"{NUMBERS}, fast: bool = True) -> output: T",
    shape=_least_squares_shape,
    fallible=True,
    doc="Least-squares solutions of equations; the shortest ones where there are several.",
)


@kernel(LEAST_SQUARES)
def _least_squares(
    ctx: KernelContext, xp: Any, matrix: Array, rhs: Array, l2: Array, *, fast: bool
) -> Array:
    a, b = wide(matrix), wide(rhs)
    if not fast:
        u, s, vh = xp.linalg.svd(a, full_matrices=False)
        limit = s.max(-1, keepdims=True, initial=0) * max(a.shape[-2:]) * np.finfo(s.dtype).eps
        inverse = xp.where(s > limit, 1 / xp.where(s > limit, s, 1), 0)
        return turned(xp, vh) @ (inverse[..., None].astype(a.dtype) * (turned(xp, u) @ b))
    tall = a.shape[-2] >= a.shape[-1]
    gram = turned(xp, a) @ a if tall else a @ turned(xp, a)
    one = identity(gram.shape[-1], np.dtype(np.float64)) if xp is np else xp.eye(gram.shape[-1])
    gram = gram + (one * l2).astype(a.dtype)
    right = turned(xp, a) @ b if tall else b
    if xp is np:
        found = _solved(gram, right)
        if found is not None:
            return found if tall else turned(np, a) @ found
    ctx.check(
        (xp.abs(xp.linalg.slogdet(gram)[0]) > 0).all(),  # a determinant may underflow
        errors.InvalidArgumentError,
        lambda: (
            "Input matrix was rank deficient or ill-conditioned: expected one of full rank. Pass "
            "fast=False, or a larger l2_regularizer."
        ),
    )
    found = xp.linalg.solve(gram, right)
    return found if tall else turned(xp, a) @ found


def _solved(gram: Array, right: Array) -> Array | None:
    """The solution on the host; None where there may be none."""
    try:
        found = solved(gram, right)
    except np.linalg.LinAlgError:
        return None
    return None if np.count_nonzero(np.isnan(found)) else found


def _gram(a: Any, tall: bool, l2: Any) -> Any:
    gram = matmul(a, a, adjoint_a=True) if tall else matmul(a, a, adjoint_b=True)
    return set_diag(gram, execute("AddV2", (diag_part(gram), cast(l2, gram.dtype))))


def _is_tall(a: Any) -> bool | None:
    """Whether matrices have at least as many rows as columns, None when that is not known."""
    dims = a.dims
    return None if dims is None or None in dims[-2:] else bool(dims[-2] >= dims[-1])


@LEAST_SQUARES.gradient
def _least_squares_gradient(op: Any, grad: Any) -> list[Any]:
    a, l2, tall = op.inputs[0], op.inputs[2], _is_tall(op.inputs[0])
    if tall is not None:
        return _least_squares_slopes(op, grad, _gram(a, tall, l2), tall)
    sizes = execute("Shape", (a,))[-2:]

    def slopes(tall: bool) -> list[Any]:
        return _least_squares_slopes(op, grad, _gram(a, tall, l2), tall)[:2]

    is_tall = execute("GreaterEqual", (sizes[0], sizes[1]))
    return [*cond(is_tall, lambda: slopes(True), lambda: slopes(False)), None]


def _least_squares_slopes(op: Any, grad: Any, gram: Any, tall: bool) -> list[Any]:
    a, b, _ = op.inputs
    x = op.outputs[0]
    factor = cholesky(gram)  # which lets NaN through
    if tall:
        z = cholesky_solve(factor, grad)
        error = execute("Sub", (b, matmul(a, x)))
        by_a = execute(
            "Sub", (matmul(error, z, adjoint_b=True), matmul(matmul(a, z), x, adjoint_b=True))
        )
        return [by_a, matmul(a, z), None]
    w, u = cholesky_solve(factor, b), cholesky_solve(factor, matmul(a, grad))
    rest = execute("Sub", (grad, matmul(a, u, adjoint_a=True)))
    by_a = execute("Sub", (matmul(w, rest, adjoint_b=True), matmul(u, x, adjoint_b=True)))
    return [by_a, u, None]


@composed("matrix_solve_ls", result=None)
def lstsq(
    matrix: Any, rhs: Any, l2_regularizer: Any = 0.0, fast: bool = True, name: str | None = None
) -> Any:
    """Solves equations as well as they can be, by the sum of squares.

    Args:
      matrix: floating or complex tensor [..., M, N].
      rhs: tensor [..., M, K] of the same dtype.
      l2_regularizer: float64 scalar: what the squares of the solution weigh. Not used when `fast`
        is false.
      fast: whether the normal equations are solved, by Cholesky decomposition: fast, but only for
        matrices of full rank that are well conditioned.
      name: the name of the operation in a graph.

    Returns:
      Tensor [..., N, K]; the shortest of several solutions.
    """
    matrix = convert_to_tensor(matrix)
    tall = _is_tall(matrix)
    if not fast or tall is None:
        l2 = convert_to_tensor(l2_regularizer, dt.float64)
        return execute(LEAST_SQUARES, (matrix, rhs, l2), {"fast": fast}, name)
    factor = cholesky(_gram(matrix, tall, l2_regularizer))
    if tall:
        return cholesky_solve(factor, matmul(matrix, rhs, adjoint_a=True), name)
    return matmul(matrix, cholesky_solve(factor, rhs), adjoint_a=True, name=name)


# ---- through singular values


def _limit(a: Any, s: Any, factor: Any) -> Any:
    """A bound on singular values: `factor` times the largest of each matrix."""
    largest = execute("Max", (s, np.array([-1], np.int32)), {"keep_dims": True})
    return execute("Mul", (largest, factor))


def _smallest_part(a: Any, times: float) -> Any:
    """`times`, the larger side and the precision of the dtype, multiplied."""
    scale = times * np.finfo(a.dtype.real_dtype.numpy_dtype).eps
    if a.dims is not None and None not in a.dims[-2:]:
        return convert_to_tensor(max(a.dims[-2:]) * scale, a.dtype.real_dtype)
    sides = execute("Max", (execute("Shape", (a,))[-2:], np.array([0], np.int32)))
    return execute(
        "Mul", (cast(sides, a.dtype.real_dtype), convert_to_tensor(scale, a.dtype.real_dtype))
    )


def _floating(a: Any) -> Any:
    a = convert_to_tensor(a)
    if not (a.dtype.is_floating or a.dtype.is_complex):
        raise TypeError(
            f"Input `a` must have `float`-like `dtype` (saw {a.dtype.name}). Cast it to a floating "
            "dtype."
        )
    if a.dims is not None and len(a.dims) < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {len(a.dims)}).")
    return a


@composed("pinv", result="MatMul")
def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Any:
    """Returns the pseudo-inverses of matrices.

    Args:
      a: floating or complex tensor [..., M, N].
      rcond: singular values up to this part of the largest count as zero; 10 max(M, N) eps when
        None.
      validate_args: makes no difference: shapes are always checked.
      name: the name of the last operation in a graph.

    Returns:
      Tensor [..., N, M].

    Raises:
      TypeError: the dtype is neither floating nor complex.
      ValueError: the rank is below 2.
    """
    a = _floating(a)
    kind = a.dtype.real_dtype
    part = _smallest_part(a, 10.0) if rcond is None else convert_to_tensor(rcond, kind)
    if part.dims is None or part.dims:
        part = execute("ExpandDims", (part, np.int32(-1)))
    s, u, v = svd(a)
    endless = execute("Mul", (execute("OnesLike", (s,)), convert_to_tensor(math.inf, kind)))
    s = execute("SelectV2", (execute("Greater", (s, _limit(a, s, part))), s, endless))
    scaled = execute("RealDiv", (v, cast(execute("ExpandDims", (s, np.int32(-2))), a.dtype)))
    return matmul(scaled, u, adjoint_b=True, name=name)


def matrix_rank(
    a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Any:
    """Returns the ranks of matrices: how many singular values are above a bound.

    Args:
      a: floating or complex tensor [..., M, N].
      tol: the bound; the largest singular value times max(M, N) eps when None.
      validate_args: makes no difference: shapes are always checked.
      name: the name of the last operation in a graph.

    Returns:
      int32 [...].

    Raises:
      TypeError: the dtype is neither floating nor complex.
      ValueError: the rank of `a` is below 2.
    """
    a = _floating(a)
    s = svd(a, compute_uv=False)
    bound = _limit(a, s, _smallest_part(a, 1.0)) if tol is None else convert_to_tensor(tol, s.dtype)
    above = cast(execute("Greater", (s, bound)), dt.int32)
    return execute("Sum", (above, np.array([-1], np.int32)), None, name)


# ---- from LU decompositions


def _parts(lower_upper: Any, perm: Any, validate_args: bool) -> tuple[Any, Any]:
    """L and U."""
    if validate_args and None not in (lower_upper.dims, perm.dims):
        if len(lower_upper.dims) < 2:
            raise ValueError("Input `lower_upper` must have at least 2 dimensions.")
        if len(perm.dims) != len(lower_upper.dims) - 1:
            raise ValueError("Input `perm` must have one dimension less than `lower_upper`.")
    lower = set_diag(band_part(lower_upper, -1, 0), execute("OnesLike", (diag_part(lower_upper),)))
    return lower, band_part(lower_upper, 0, -1)


def _in_order(x: Any, order: Any) -> Any:
    return execute("GatherV2", (x, order, np.int32(-2)), {"batch_dims": -1})


def lu_solve(
    lower_upper: Any, perm: Any, rhs: Any, validate_args: bool = False, name: str | None = None
) -> Any:
    """Solves A X = rhs, given the LU decompositions of A.

    Args:
      lower_upper: tensor [..., M, M], `lu` of `tf.linalg.lu`.
      perm: integers [..., M], `p` of `tf.linalg.lu`.
      rhs: tensor [..., M, K] of the same dtype.
      validate_args: whether ranks are checked first.
      name: the name of the last operation in a graph.

    Returns:
      Tensor [..., M, K].

    Raises:
      ValueError: a rank does not fit, and `validate_args`.
    """
    lower_upper, perm, rhs = (convert_to_tensor(t) for t in (lower_upper, perm, rhs))
    lower, upper = _parts(lower_upper, perm, validate_args)
    if validate_args and rhs.dims is not None and len(rhs.dims) < 2:
        raise ValueError("Input `rhs` must have at least 2 dimensions.")
    if perm.dims is None or len(perm.dims) > 1:
        sizes, rows = shape_of(rhs), shape_of(perm)
        lead = execute("BroadcastArgs", (sizes[:-2], rows[:-1]))
        rhs = execute("BroadcastTo", (rhs, concat([lead, sizes[-2:]], 0)))
        perm = execute("BroadcastTo", (perm, concat([lead, rows[-1:]], 0)))
    inner = triangular_solve(lower, _in_order(rhs, perm))
    return triangular_solve(upper, inner, lower=False, name=name)


def lu_matrix_inverse(
    lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None
) -> Any:
    """Returns the inverses of matrices, given their LU decompositions.

    Args:
      lower_upper: [..., N, N], both factors as `tf.linalg.lu` packs them.
      perm: integers [..., N], the permutations of rows.
      validate_args: whether shapes and permutations are checked as the step runs.
      name: the name in a graph.

    Returns:
      A tensor of the dtype and shape of `lower_upper`.
    """
    lower_upper = convert_to_tensor(lower_upper)
    sizes = shape_of(lower_upper)
    one = eye(sizes[-1], batch_shape=sizes[:-2], dtype=lower_upper.dtype)
    return lu_solve(lower_upper, perm, one, validate_args, name)


def lu_reconstruct(
    lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None
) -> Any:
    """Returns the matrices that have these LU decompositions.

    Args:
      lower_upper: [..., N, N], both factors as `tf.linalg.lu` packs them.
      perm: integers [..., N], the permutations of rows.
      validate_args: whether shapes and permutations are checked as the step runs.
      name: the name in a graph.

    Returns:
      A tensor of the dtype and shape of `lower_upper`.
    """
    lower_upper, perm = convert_to_tensor(lower_upper), convert_to_tensor(perm)
    lower, upper = _parts(lower_upper, perm, validate_args)
    found = _in_order(matmul(lower, upper), argsort(perm))
    return execute("Identity", (found,), None, name)
