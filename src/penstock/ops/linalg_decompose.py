"""Decompositions of matrices: QR, singular values, eigenvalues.

Signs of vectors are those that LAPACK, or the accelerator's library, happens to give. Gradients
through vectors are those of functions that do not depend on these signs; they are wrong, as
everywhere, where singular values or eigenvalues coincide.
"""

from collections import namedtuple
from typing import Any

import numpy as np

from penstock.core import native_matrices
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel, kernel
from penstock.core.lazy import jnp, lax
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.array_bands import band_part
from penstock.ops.array_diag import diag, diag_part, set_diag
from penstock.ops.linalg_common import (
    NUMBERS,
    adjoint,
    by_matrix,
    chain,
    matrices,
    square,
    turned,
    wide,
)
from penstock.ops.linalg_host import FEW_ROWS
from penstock.ops.linalg_solve import inv, triangular_solve
from penstock.ops.math_cast import cast, real
from penstock.ops.math_division import div_no_nan
from penstock.ops.math_matmul import matmul
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray or a JAX tracer
Qr = namedtuple("Qr", ["q", "r"])
NO_FULL = (
    "expected full_matrices=False, or square matrices, for the gradient, got full_matrices=True "
    "for shape {}: what completes the vectors is not determined. Pass full_matrices=False."
)


def _sides(c: ShapeContext) -> tuple[Any, int | None, int | None, int | None]:
    """Stack, rows, columns, and the smaller of these two."""
    dims = matrices(c)
    if dims is None:
        return None, None, None, None
    rows, columns = dims[-2:]
    known = rows is not None and columns is not None
    return dims[:-2], rows, columns, min(rows, columns) if known else None  # type: ignore[type-var]


def _added(*parts: Any) -> Any:
    result = parts[0]
    for part in parts[1:]:
        result = execute("AddV2", (result, part))
    return result


def _columns(values: Any) -> Any:
    """A vector for each matrix, to scale its columns by."""
    return execute("ExpandDims", (values, np.int32(-2)))


def _rows(values: Any) -> Any:
    """A vector for each matrix, to scale its rows by."""
    return execute("ExpandDims", (values, np.int32(-1)))


def _times(a: Any, b: Any) -> Any:
    return execute("Mul", (a, b))


def _minus(a: Any, b: Any) -> Any:
    return execute("Sub", (a, b))


def _inverse_gaps(values: Any) -> Any:
    """1 / (values[j] - values[i]) at [i, j]; 0 where they are equal."""
    gaps = _minus(_columns(values), _rows(values))
    return div_no_nan(execute("OnesLike", (gaps,)), gaps)


def _refuse_full(op: Any) -> None:
    dims = op.inputs[0].dims
    if op.get_attr("full_matrices") and (dims is None or dims[-1] != dims[-2]):
        raise NotImplementedError(f"{op.type}: " + NO_FULL.format(op.inputs[0].shape))


# ---- QR


def _qr_shape(c: ShapeContext) -> list[Dims]:
    stack, rows, columns, small = _sides(c)
    if stack is None:
        return [None, None]
    inner = rows if c.attr("full_matrices") else small
    return [(*stack, rows, inner), (*stack, inner, columns)]


QR = define_op(
    f"Qr(input: T; full_matrices: bool = False, T: {NUMBERS}) -> q: T, r: T",
    shape=_qr_shape,
    doc="Matrices as products of one with orthonormal columns and an upper triangular one.",
)


@kernel(QR)
def _qr(xp: Any, input: Array, *, full_matrices: bool) -> tuple[Array, Array]:
    input = wide(input)
    if xp is np and max(input.shape[-2:]) <= FEW_ROWS:
        found = native_matrices.qr(input, full_matrices)
        if found is not None:
            return found
    q, r = xp.linalg.qr(input, mode="complete" if full_matrices else "reduced")
    return q, r


def _qr_square(q: Any, r: Any, by_q: Any, by_r: Any) -> Any:
    """The gradient for matrices with at least as many rows as columns."""
    inner = _minus(matmul(r, by_r, adjoint_b=True), matmul(by_q, q, adjoint_a=True))
    lower = band_part(inner, -1, 0)
    both = _added(lower, adjoint(lower))
    half = convert_to_tensor(0.5, both.dtype)
    both = set_diag(both, _times(diag_part(both), half))
    total = _added(by_q, matmul(q, both))
    return adjoint(triangular_solve(r, adjoint(total), lower=False))


@QR.gradient
def _qr_gradient(op: Any, by_q: Any, by_r: Any) -> Any:
    x, (q, r) = op.inputs[0], op.outputs
    dims = x.dims
    if dims is None or None in dims[-2:]:
        raise NotImplementedError(
            f"Qr: expected known sizes of the matrices for the gradient, got shape {x.shape}. Set "
            "them with tf.ensure_shape."
        )
    rows, columns = dims[-2:]
    if rows > columns:
        _refuse_full(op)
    if rows >= columns:
        return _qr_square(q, r, by_q, by_r)
    right = x[..., rows:]
    by_left, by_right = by_r[..., :rows], by_r[..., rows:]
    whole = _added(by_q, matmul(right, by_right, adjoint_b=True))
    parts = [_qr_square(q, r[..., :rows], whole, by_left), matmul(q, by_right)]
    return execute("ConcatV2", (parts, np.int32(-1)))


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Any:
    """Returns Q with orthonormal columns and upper triangular R with Q R = input.

    Args:
      input: floating or complex tensor [..., M, N]; P is the smaller of M and N.
      full_matrices: whether Q is square.
      name: the name of the operation in a graph.

    Returns:
      `q` [..., M, P] and `r` [..., P, N]; with `full_matrices`, P is M.
    """
    return Qr(*execute(QR, (input,), {"full_matrices": full_matrices}, name))


# ---- singular values


def _svd_shape(c: ShapeContext) -> list[Dims]:
    stack, rows, columns, small = _sides(c)
    if not c.attr("compute_uv"):
        return [None if stack is None else (*stack, small), (0,), (0,)]
    if stack is None:
        return [None, None, None]
    full = c.attr("full_matrices")
    u, v = (rows, columns) if full else (small, small)
    return [(*stack, small), (*stack, rows, u), (*stack, columns, v)]


SVD = define_op(
    "Svd(input: T; compute_uv: bool = True, full_matrices: bool = False, T: "
    f"{NUMBERS}) -> s: T, u: T, v: T",
    shape=_svd_shape,
    doc="Singular values of matrices, largest first, with their vectors as columns.",
)


def _svd_parts(xp: Any, x: Array, compute_uv: bool, full: bool) -> tuple[Array, ...]:
    if not compute_uv:
        nothing = xp.zeros((0,), x.dtype)
        return xp.linalg.svd(x, compute_uv=False).astype(x.dtype), nothing, nothing
    u, s, vh = xp.linalg.svd(x, full_matrices=full)
    return s.astype(x.dtype, copy=False), u, turned(xp, vh)


@host_kernel(SVD)
def _svd_host(x: Array, *, compute_uv: bool, full_matrices: bool) -> tuple[Array, ...]:
    found = by_matrix(lambda m: _svd_parts(np, m, compute_uv, full_matrices), wide(x))
    return found if compute_uv else (found[0], *[np.zeros((0,), found[0].dtype)] * 2)


@compiled_kernel(SVD)
def _svd_compiled(x: Array, *, compute_uv: bool, full_matrices: bool) -> tuple[Array, ...]:
    return _svd_parts(jnp, wide(x), compute_uv, full_matrices)


@SVD.gradient
def _svd_gradient(op: Any, by_s: Any, by_u: Any, by_v: Any) -> Any:
    x = op.inputs[0]
    if not op.get_attr("compute_uv"):
        _, u, v = execute(SVD, (x,), {"compute_uv": True, "full_matrices": False})
        return matmul(_times(u, _columns(by_s)), v, adjoint_b=True)
    _refuse_full(op)
    s, u, v = op.outputs
    inverse = _inverse_gaps(_times(s, s))
    left, right = matmul(u, by_u, adjoint_a=True), matmul(v, by_v, adjoint_a=True)
    left, right = _minus(left, adjoint(left)), _minus(right, adjoint(right))
    inner = _added(
        _times(_times(left, inverse), _columns(s)),
        _times(_rows(s), _times(right, inverse)),
        diag(by_s),
    )
    reciprocal = div_no_nan(execute("OnesLike", (s,)), s)
    if x.dtype.is_complex:  # how the phases of u and v turn together
        half = convert_to_tensor(0.5, x.dtype)
        inner = _added(inner, diag(_times(_times(diag_part(left), reciprocal), half)))
    result = matmul(matmul(u, inner), v, adjoint_b=True)
    if x.dims is None or None in x.dims[-2:] or x.dims[-1] != x.dims[-2]:
        result = _added(
            result,
            matmul(_outside(u, _times(by_u, _columns(reciprocal))), v, adjoint_b=True),
            matmul(u, _outside(v, _times(by_v, _columns(reciprocal))), adjoint_b=True),
        )
    return result


def _outside(basis: Any, x: Any) -> Any:
    """The part of the columns of `x` that is orthogonal to the columns of `basis`."""
    return _minus(x, matmul(basis, matmul(basis, x, adjoint_a=True)))


def svd(
    tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Any:
    """Returns the singular values of matrices, and their vectors.

    Args:
      tensor: floating or complex tensor [..., M, N]; P is the smaller of M and N.
      full_matrices: whether U and V are square.
      compute_uv: whether the vectors are wanted.
      name: the name of the operation in a graph.

    Returns:
      `s` [..., P], real, largest first; with `compute_uv` the tuple of `s`, `u` [..., M, P] and
      `v` [..., N, P], so that tensor = U diag(s) V^H.
    """
    attrs = {"compute_uv": compute_uv, "full_matrices": full_matrices}
    s, u, v = execute(SVD, (tensor,), attrs, name)
    s = real(s) if s.dtype.is_complex else s
    return (s, u, v) if compute_uv else s


# ---- eigenvalues of self-adjoint matrices


def _eigen_shape(c: ShapeContext) -> list[Dims]:
    dims = square(c)
    values = None if dims is None else dims[:-1]
    return [values, dims if c.attr("compute_v") else (0,)]


EIGH = define_op(
    f"SelfAdjointEigV2(input: T; compute_v: bool = True, T: {NUMBERS}) -> e: T, v: T",
    shape=_eigen_shape,
    doc="Eigenvalues of self-adjoint matrices, smallest first; the lower triangle is read.",
)


def _finite_only(xp: Any, x: Array, *results: Array) -> list[Array]:
    """Results, as NaN where a matrix is not finite: LAPACK would give any numbers."""
    if xp is np and np.count_nonzero(np.isfinite(x)) == x.size:
        return list(results)
    fine = xp.isfinite(xp.tril(x)).all(axis=(-1, -2))
    return [
        xp.where(fine.reshape(fine.shape + (1,) * (r.ndim - fine.ndim)), r, np.nan) for r in results
    ]


@host_kernel(EIGH)
def eigh_on_host(x: Array, *, compute_v: bool) -> tuple[Array, Array]:
    """Eigenvalues and, if asked for, vectors of self-adjoint matrices, by LAPACK."""
    x = wide(x)
    if not compute_v:
        values = _finite_only(np, x, by_matrix(np.linalg.eigvalsh, x))[0]
        return values.astype(x.dtype), np.zeros((0,), x.dtype)
    values, vectors = _finite_only(np, x, *by_matrix(lambda m: tuple(np.linalg.eigh(m)), x))
    return values.astype(x.dtype, copy=False), vectors


@compiled_kernel(EIGH)
def _eigh_compiled(x: Array, *, compute_v: bool) -> tuple[Array, Array]:
    x = wide(x)
    vectors, values = lax.linalg.eigh(x, lower=True, symmetrize_input=False)
    values, vectors = _finite_only(jnp, x, values, vectors)
    return values.astype(x.dtype), vectors if compute_v else jnp.zeros((0,), x.dtype)


@EIGH.gradient
def _eigh_gradient(op: Any, by_e: Any, by_v: Any) -> Any:
    if op.get_attr("compute_v"):
        e, v = op.outputs
        inner = _times(_inverse_gaps(e), matmul(v, by_v, adjoint_a=True))
        inner = set_diag(inner, by_e)
    else:
        e, v = execute(EIGH, (op.inputs[0],), {"compute_v": True})
        inner = diag(by_e)
    full = matmul(chain(v, inner), v, adjoint_b=True)
    lower = band_part(_added(full, adjoint(full)), -1, 0)
    half = convert_to_tensor(0.5, full.dtype)
    return set_diag(lower, _times(diag_part(lower), half))


def eigh(tensor: Any, name: str | None = None) -> Any:
    """Returns eigenvalues and eigenvectors of self-adjoint matrices.

    Args:
      tensor: floating or complex tensor [..., N, N]; only the lower triangle is read.
      name: the name of the operation in a graph.

    Returns:
      `e` [..., N], smallest first, and `v` [..., N, N], whose columns are the vectors.

    Raises:
      InvalidArgumentError, ValueError: the matrices are not square.
    """
    e, v = execute(EIGH, (tensor,), {"compute_v": True}, name)
    return e, v


def eigvalsh(tensor: Any, name: str | None = None) -> Any:
    """Returns the eigenvalues of self-adjoint matrices, smallest first; see `eigh`."""
    return execute(EIGH, (tensor,), {"compute_v": False}, name)[0]


# ---- eigenvalues of any matrices

EIG = define_op(
    "Eig(input: T; compute_v: bool = True, T: {float, double, complex64, complex128}, Tout: "
    "{complex64, complex128}) -> e: Tout, v: Tout",
    shape=_eigen_shape,
    doc="Eigenvalues of matrices, with vectors of length one as columns. Host only.",
)


@host_kernel(EIG)
def _eig_host(x: Array, *, compute_v: bool, Tout: DType) -> tuple[Array, Array]:
    kind = Tout.numpy_dtype
    if np.count_nonzero(np.isfinite(x)) != x.size:
        nan = np.full(x.shape, np.nan, kind)
        return nan[..., 0], nan if compute_v else np.zeros((0,), kind)
    if not compute_v:
        return np.linalg.eigvals(x).astype(kind), np.zeros((0,), kind)
    values, vectors = np.linalg.eig(x)
    return values.astype(kind), vectors.astype(kind)


@EIG.gradient
def _eig_gradient(op: Any, by_e: Any, by_v: Any) -> Any:
    x, kind = op.inputs[0], op.get_attr("Tout")
    if op.get_attr("compute_v"):
        e, v = op.outputs
        turned_v = adjoint(v)
        along = matmul(turned_v, by_v)
        lengths = cast(real(diag_part(along)), kind)
        inner = _minus(along, _times(matmul(turned_v, v), _columns(lengths)))
        inner = _times(inner, execute("Conj", (_inverse_gaps(e),)))
        inner = set_diag(inner, by_e)
    else:
        e, v = execute(EIG, (x,), {"compute_v": True, "Tout": kind})
        turned_v, inner = adjoint(v), diag(by_e)
    full = chain(inv(v, adjoint=True), inner, turned_v)
    return full if x.dtype.is_complex else cast(real(full), x.dtype)


def _complex_of(x: Any) -> DType:
    return dt.complex64 if x.dtype in (dt.float32, dt.complex64) else dt.complex128


def eig(tensor: Any, name: str | None = None) -> Any:
    """Returns eigenvalues and eigenvectors of matrices.

    Args:
      tensor: float32, float64 or complex tensor [..., N, N].
      name: the name of the operation in a graph.

    Returns:
      `e` [..., N] and `v` [..., N, N], whose columns are the vectors; both complex.

    Raises:
      InvalidArgumentError, ValueError: the matrices are not square.
    """
    tensor = convert_to_tensor(tensor)
    attrs = {"compute_v": True, "Tout": _complex_of(tensor)}
    e, v = execute(EIG, (tensor,), attrs, name)
    return e, v


def eigvals(tensor: Any, name: str | None = None) -> Any:
    """Returns the eigenvalues of matrices, complex; see `eig`."""
    tensor = convert_to_tensor(tensor)
    return execute(EIG, (tensor,), {"compute_v": False, "Tout": _complex_of(tensor)}, name)[0]
