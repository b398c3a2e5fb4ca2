"""`tf.experimental.numpy.linalg`: the linear algebra of the Array API standard.

Functions of matrices work on the last two axes, one matrix after another. They are those of
`tf.linalg` with the standard's arguments and results; integers become float64.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.ops import (
    linalg_common,
    linalg_decompose,
    linalg_functions,
    linalg_solve,
    numpy_products,
    numpy_turning,
)
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_diag import diag_part, set_diag
from penstock.ops.array_fill import ones_like, zeros_like
from penstock.ops.array_join import concat
from penstock.ops.array_shape import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    broadcast_to,
    ensure_shape,
    expand_dims,
)
from penstock.ops.math_arithmetic import multiply
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_cast import cast, real
from penstock.ops.math_compare import not_equal
from penstock.ops.math_matmul import matmul as product
from penstock.ops.math_reduce import reduce_max, reduce_min, reduce_sum
from penstock.ops.numpy_array_api import matrix_transpose, vecdot
from penstock.ops.numpy_dtypes import Value, as_tensor, promoted, rank_of, tensor_dtype, to_inexact
from penstock.types import dtypes as dt

matmul, tensordot = numpy_products.matmul, numpy_products.tensordot


class EighResult(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """The result of `qr`."""

    Q: Any
    R: Any


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

    sign: Any
    logabsdet: Any


class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: Any
    S: Any
    Vh: Any


def _matrices(x: Value, name: str) -> Any:
    """`x` as floats, of rank 2 at least.

    Raises:
      ValueError: it has fewer axes.
    """
    tensor = to_inexact(as_tensor(x))
    if rank_of(tensor, name) < 2:
        raise ValueError(
            f"linalg.{name}: expected matrices in the last two axes, got shape {tensor.shape}. Add"
            " an axis."
        )
    return tensor


# ---- decompositions


def cholesky(x: Value, /, *, upper: bool = False) -> Any:
    """The triangular factor of positive definite matrices.

    Args:
      x: [..., N, N].
      upper: whether the factor is the upper triangle U with `U^H U = x`, else L with `L L^H = x`.

    Returns:
      [..., N, N].

    Raises:
      InvalidArgumentError: a matrix is not positive definite.
    """
    matrices = _matrices(x, "cholesky")
    if upper:  # the upper triangle counts then, which is the lower one of the adjoint
        return linalg_common.adjoint(linalg_solve.cholesky(linalg_common.adjoint(matrices)))
    return linalg_solve.cholesky(matrices)


def eigh(x: Value, /) -> EighResult:
    """Eigenvalues, smallest first, and eigenvectors of self-adjoint matrices.

    Args:
      x: [..., N, N].

    Returns:
      `eigenvalues` [..., N] and `eigenvectors` [..., N, N], one in each column.
    """
    values, vectors = linalg_decompose.eigh(_matrices(x, "eigh"))
    return EighResult(real(values), vectors)


def eigvalsh(x: Value, /) -> Any:
    """The eigenvalues of self-adjoint matrices [..., N, N], smallest first: [..., N]."""
    return real(linalg_decompose.eigvalsh(_matrices(x, "eigvalsh")))


def qr(x: Value, /, *, mode: str = "reduced") -> QRResult:
    """Orthonormal columns Q and an upper triangle R with `Q R = x`.

    Args:
      x: [..., M, N].
      mode: "reduced", or "complete" for a square Q.

    Returns:
      `Q` and `R`.

    Raises:
      ValueError: another mode.
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(
            f"linalg.qr: expected mode 'reduced' or 'complete', got {mode!r}. Leave it out."
        )
    return QRResult(*linalg_decompose.qr(_matrices(x, "qr"), full_matrices=mode == "complete"))


def svd(x: Value, /, *, full_matrices: bool = True) -> SVDResult:
    """Singular values, largest first, and their vectors: `x = U diag(S) Vh`.

    Args:
      x: [..., M, N]; P is the smaller of M and N.
      full_matrices: whether U and Vh are square; else they have P columns and rows.

    Returns:
      `U`, `S` [..., P] and `Vh`.
    """
    s, u, v = linalg_decompose.svd(_matrices(x, "svd"), full_matrices=full_matrices)
    return SVDResult(u, s, linalg_common.adjoint(v))


def svdvals(x: Value, /) -> Any:
    """The singular values of matrices [..., M, N], largest first: [..., P]."""
    return linalg_decompose.svd(_matrices(x, "svdvals"), compute_uv=False)


# ---- numbers of matrices


def det(x: Value, /) -> Any:
    """The determinants of matrices [..., N, N]."""
    return linalg_solve.det(_matrices(x, "det"))


def slogdet(x: Value, /) -> SlogdetResult:
    """The signs and logarithms of the absolute values of determinants of [..., N, N]."""
    return SlogdetResult(*linalg_solve.slogdet(_matrices(x, "slogdet")))


def _bound(x: Any, rtol: Any) -> Any:
    """The part of the largest singular value up to which others count as zero."""
    if rtol is not None:
        return as_tensor(rtol)
    longest = cast(reduce_max(shape_of(x)[-2:]), dt.float64)
    return multiply(longest, float(np.finfo(x.dtype.numpy_dtype).eps))


def matrix_rank(x: Value, /, *, rtol: Any = None) -> Any:
    """The ranks of matrices: how many singular values are above a bound.

    Args:
      x: [..., M, N].
      rtol: the bound, as part of the largest one: a number, or [...]; max(M, N) eps by default.

    Returns:
      int64 [...].
    """
    matrices = _matrices(x, "matrix_rank")
    s = svdvals(matrices)
    limit = multiply(reduce_max(s, -1), cast(_bound(matrices, rtol), s.dtype))
    return reduce_sum(cast(s > expand_dims(limit, -1), tensor_dtype(np.int64)), -1)


def trace(x: Value, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums along the diagonals of matrices.

    Args:
      x: [..., M, N].
      offset: which diagonal; positive ones are above the main one.
      dtype: of the result; that of a sum by default.

    Returns:
      [...].
    """
    return numpy_products.trace(x, offset, -2, -1, dtype)


def matrix_norm(
    x: Value,
    /,
    *,
    keepdims: bool = False,
    ord: Any = "fro",  # the standard's name
) -> Any:
    """The norms of matrices.

    Args:
      x: [..., M, N].
      keepdims: whether the axes of matrices stay, with size 1.
      ord: "fro", "nuc", 1, 2, inf, or -1, -2, -inf; None for "fro".

    Returns:
      A real tensor [...].

    Raises:
      ValueError: there is no such norm.
    """
    matrices = _matrices(x, "matrix_norm")
    sizes = absolute(matrices)
    if ord in ("fro", None):
        found = reduce_sum(sizes * sizes, [-2, -1]) ** 0.5
    elif ord in ("nuc", 2, -2):
        values = svdvals(matrices)
        found = {"nuc": reduce_sum, 2: reduce_max, -2: reduce_min}[ord](values, -1)
    elif ord in (1, -1, np.inf, -np.inf):
        sums = reduce_sum(sizes, -2 if abs(ord) == 1 else -1)
        found = (reduce_max if ord > 0 else reduce_min)(sums, -1)
    else:
        raise ValueError(
            f"linalg.matrix_norm: expected ord 'fro', 'nuc', 1, 2, inf or their negatives, got"
            f" {ord!r}. Use vector_norm for norms of elements."
        )
    return found[..., None, None] if keepdims else found


def vector_norm(
    x: Value,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: float = 2,  # the standard's name
) -> Any:
    """The norms of vectors.

    Args:
      x: a tensor, array or list.
      axis: along which; several count as one, and None is all.
      keepdims: whether the axes stay, with size 1.
      ord: the power; inf and -inf are the largest and smallest, 0 how many are not zero.

    Returns:
      A real tensor.
    """
    sizes = absolute(to_inexact(as_tensor(x)))
    axes = axis if axis is None or isinstance(axis, int) else list(axis)
    if ord == np.inf:
        return reduce_max(sizes, axes, keepdims)
    if ord == -np.inf:
        return reduce_min(sizes, axes, keepdims)
    if ord == 0:
        return reduce_sum(cast(not_equal(sizes, 0), sizes.dtype), axes, keepdims)
    return reduce_sum(sizes ** float(ord), axes, keepdims) ** (1 / ord)


# ---- equations and products


def inv(x: Value, /) -> Any:
    """The inverses of matrices [..., N, N]; a singular one is an InvalidArgumentError."""
    return linalg_solve.inv(_matrices(x, "inv"))


def pinv(x: Value, /, *, rtol: Any = None) -> Any:
    """The pseudo-inverses of matrices.

    Args:
      x: [..., M, N].
      rtol: singular values up to this part of the largest count as zero: a number, or [...];
        max(M, N) eps by default.

    Returns:
      [..., N, M].
    """
    matrices = _matrices(x, "pinv")
    real = absolute(matrices[..., :1, :1]).dtype
    return linalg_functions.pinv(matrices, cast(_bound(matrices, rtol), real))


def solve(x1: Value, x2: Value, /) -> Any:
    """The solutions y of `x1 y = x2`.

    Args:
      x1: [..., N, N].
      x2: [N], or [..., N, K], whose leading axes broadcast with those of `x1`.

    Returns:
      A tensor of the shape of `x2`, broadcast.

    Raises:
      InvalidArgumentError: a matrix is singular.
    """
    left, right = (to_inexact(value) for value in promoted(x1, x2))
    left = _matrices(left, "solve")
    if rank_of(right, "solve") == 1:
        return solve(left, right[:, None])[..., 0]
    known = broadcast_static_shape(left.shape[:-2], right.shape[:-2])
    if known.is_fully_defined():
        batch: Any = np.array(known.as_list(), np.int32)
    else:
        batch = broadcast_dynamic_shape(shape_of(left)[:-2], shape_of(right)[:-2])
    left, right = (broadcast_to(x, concat([batch, shape_of(x)[-2:]], 0)) for x in (left, right))
    return linalg_solve.solve(left, right)


def matrix_power(x: Value, n: int, /) -> Any:
    """The product of a matrix with itself n times, of its inverse when n is negative.

    Args:
      x: [..., N, N].
      n: how often; 0 gives the identity.

    Returns:
      [..., N, N].

    Raises:
      InvalidArgumentError: n is negative and a matrix singular.
    """
    matrices = _matrices(x, "matrix_power")
    if n < 0:
        return matrix_power(inv(matrices), -n)
    found = set_diag(zeros_like(matrices), ones_like(diag_part(matrices)))
    square = matrices
    while n:  # by the binary digits of n
        found = product(found, square) if n & 1 else found
        n >>= 1
        square = product(square, square) if n else square
    return found


def outer(x1: Value, x2: Value, /) -> Any:
    """All products of the elements of two vectors: [M], [N] -> [M, N].

    Raises:
      ValueError: one is no vector.
    """
    left, right = promoted(x1, x2)
    if rank_of(left, "outer") != 1 or rank_of(right, "outer") != 1:
        raise ValueError(
            f"linalg.outer: expected two vectors, got shapes {left.shape} and {right.shape}. Use"
            " tf.experimental.numpy.outer, which flattens them."
        )
    return numpy_products.outer(left, right)


def cross(x1: Value, x2: Value, /, *, axis: int = -1) -> Any:
    """The cross products of vectors of three numbers.

    Args:
      x1: a tensor, array or list.
      x2: another; the two broadcast.
      axis: that of the three numbers, counted from the end.

    Returns:
      A tensor.

    Raises:
      ValueError: the axis has another size.
    """
    left, right = promoted(x1, x2)
    sizes = [tensor.shape.as_list()[axis] for tensor in (left, right)]
    if not set(sizes) <= {3, None}:
        raise ValueError(
            f"linalg.cross: expected 3 numbers along axis {axis}, got {sizes}. Name the axis of the"
            " vectors."
        )
    first, second = (_of_three(tensor, axis) for tensor in (left, right))
    return numpy_products.cross(first, second, axis=axis)


def _of_three(x: Any, axis: int) -> Any:
    sizes = x.shape.as_list()
    sizes[axis] = 3
    return ensure_shape(x, sizes)


def diagonal(x: Value, /, *, offset: int = 0) -> Any:
    """The diagonals of matrices [..., M, N]; a positive offset is above the main one."""
    return numpy_turning.diagonal(x, offset, -2, -1)


__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve",
    "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip
