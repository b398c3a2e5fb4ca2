"""The functions of `native/matrices.cc`: linear algebra on stacks of small matrices.

LAPACK solves for one matrix a call, and NumPy has no triangular or tridiagonal equations and no LU
decomposition.
A shared library of its own, loaded at first use: it has neither Python nor XLA in it, and leaves
Python's lock while it works. Each function here returns None where the library is not in use or
has no code for a dtype. Thread-safe: nothing is kept between calls.
"""

import math
from typing import Any

import numpy as np

from penstock.core.native_library import HostLibrary, processors

LIBRARY = HostLibrary(
    "matrices",
    what="native linear algebra",
    without="triangular equations and LU decompositions of single calls take five times as long",
    version=5,
    functions={
        "substitute": "npnpnnnnnnnnp",
        "lu": "npnnnnp",
        "tridiagonal": "nppnnnnnnp",
        "banded": "nppnnnnp",
        "solve": "nppnnnp",
        "cholesky": "npnnp",
        "cholesky_gradient": "nppnnp",
        "qr": "npnnnnpp",
    },
)
_BY_CHAR = {"f": 0, "d": 1, "F": 2, "D": 3}
_ALONE = 1 << 12  # elements up to which one thread works
Array = Any  # numpy.ndarray


def _kind(dtype: np.dtype[Any]) -> int | None:
    return _BY_CHAR.get(dtype.char)


def _done(found: int) -> bool:
    """Whether the library did it; what it has no memory for is raised."""
    if found < 0:
        raise MemoryError("native linear algebra: there is no memory left for intermediate values")
    return found != 0


def banded(bands: Array, b: Array) -> Array | None:
    """The solutions of equations by lower triangles of which some diagonals are not zero.

    Args:
      bands: [..., N, D], float32 or float64: row by row the elements on the main diagonal, the one
        left of it and so on; those outside of the matrix are not read.
      b: right-hand sides [..., N, K] of the same dtype; stacks broadcast.

    Returns:
      [..., N, K]
    """
    call = LIBRARY.function("banded")
    if call is None:
        return None
    n, k = b.shape[-2:]
    stack = bands.shape[:-2]
    if stack != b.shape[:-2]:
        stack = np.broadcast_shapes(stack, b.shape[:-2])
        bands = np.broadcast_to(bands, (*stack, *bands.shape[-2:]))
        b = np.broadcast_to(b, (*stack, n, k))
    bands, b = np.ascontiguousarray(bands), np.ascontiguousarray(b)
    result = np.empty(b.shape, b.dtype)
    sizes = math.prod(stack), n, bands.shape[-1], k
    call(_BY_CHAR[b.dtype.char], bands, b, *sizes, result)
    return result


def substituted(
    a: Array, b: Array, *, lower: bool, adjoint: bool = False, unit: bool = False
) -> Array | None:
    """The solutions of triangular equations.

    Args:
      a: matrices [..., N, N], of which one triangle is read.
      b: right-hand sides [..., N, K] of the same dtype; stacks broadcast.
      lower: whether the lower triangle is read, else the upper one.
      adjoint: whether the equations are those of the conjugate transposes.
      unit: whether the diagonal counts as ones.

    Returns:
      [..., N, K]; infinities and NaN where the diagonal has zeros.
    """
    kind, call = _kind(a.dtype), LIBRARY.function("substitute")
    if kind is None or a.dtype != b.dtype or call is None:
        return None
    n, k = b.shape[-2:]
    stack, steps = a.shape[:-2], (n * n, n * k)
    if stack != b.shape[:-2]:
        stack = np.broadcast_shapes(stack, b.shape[:-2])
        a, b, steps = _broadcast(a, b, stack)
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    result = np.empty((*stack, n, k), b.dtype)
    threads = processors() if result.size > _ALONE else 1
    given = math.prod(stack), n, k, lower, adjoint, unit, threads, result
    _done(call(kind, a, steps[0], b, steps[1], *given))
    return result


def _broadcast(a: Array, b: Array, stack: tuple[int, ...]) -> tuple[Array, Array, tuple[int, int]]:
    """Matrices as stacks of this shape, and how far apart they stand: 0 for one that all share."""
    found, steps = [], []
    for each in (a, b):
        shared = math.prod(each.shape[:-2]) == 1
        if not shared and each.shape[:-2] != stack:
            each = np.broadcast_to(each, stack + each.shape[-2:])
        found.append(each)
        steps.append(0 if shared else math.prod(each.shape[-2:]))
    return found[0], found[1], (steps[0], steps[1])


def decomposed(a: Array) -> tuple[Array, Array] | None:
    """The LU decompositions of matrices, with partial pivoting.

    Args:
      a: matrices [..., N, M], N at least M; it is not changed.

    Returns:
      Both factors in one matrix [..., N, M], as LAPACK has them, and the rows of the input in their
      new order, int64[..., N].
    """
    kind, call = _kind(a.dtype), LIBRARY.function("lu")
    if kind is None or call is None:
        return None
    rows, columns = a.shape[-2:]
    result, order = np.array(a, order="C"), np.empty(a.shape[:-1], np.int64)
    threads = processors() if result.size > _ALONE else 1
    _done(call(kind, result, math.prod(a.shape[:-2]), rows, columns, threads, order))
    return result, order


def tridiagonal(diagonals: Array, b: Array, *, pivoting: bool, perturb: bool) -> Array | None:
    """The solutions of tridiagonal equations.

    Args:
      diagonals: [..., 3, N]: above the main one (its last element is not read), the main one, and
        below it (its first is not read).
      b: right-hand sides [..., N, K] of the same dtype and stack.
      pivoting: whether rows change places for larger pivots.
      perturb: whether pivots are raised to the precision of the largest element.

    Returns:
      [..., N, K]; NaN where a pivot is zero.
    """
    kind, call = _kind(b.dtype), LIBRARY.function("tridiagonal")
    if kind is None or call is None:
        return None
    n, k = b.shape[-2:]
    given = np.ascontiguousarray(diagonals), np.ascontiguousarray(b), math.prod(b.shape[:-2]), n, k
    result = np.empty(b.shape, b.dtype)
    threads = processors() if result.size > _ALONE else 1
    _done(call(kind, *given, pivoting, perturb, threads, result))
    return result


def solved(a: Array, b: Array) -> Array | None:
    """The solutions of equations of small matrices, through LU decompositions.

    Args:
      a: matrices [..., N, N].
      b: right-hand sides [..., N, K] of the same dtype and stack.

    Returns:
      [..., N, K].

    Raises:
      LinAlgError: a pivot is zero.
    """
    kind, call = _kind(a.dtype), LIBRARY.function("solve")
    if kind is None or call is None or a.dtype != b.dtype:
        return None
    work, b = np.array(a, order="C"), np.ascontiguousarray(b)
    result = np.empty(b.shape, b.dtype)
    found = call(kind, work, b, math.prod(a.shape[:-2]), *b.shape[-2:], result)
    if not _done(found):
        raise np.linalg.LinAlgError("Singular matrix")
    return result


def cholesky(a: Array) -> Array | None:
    """The lower Cholesky factors of small matrices.

    Args:
      a: matrices [..., N, N], of which the lower triangle is read.

    Returns:
      [..., N, N]; NaN where a matrix is not positive definite.
    """
    kind, call = _kind(a.dtype), LIBRARY.function("cholesky")
    if kind is None or call is None:
        return None
    a = np.ascontiguousarray(a)
    result = np.empty(a.shape, a.dtype)
    _done(call(kind, a, math.prod(a.shape[:-2]), a.shape[-1], result))
    return result


def cholesky_gradient(factor: Array, grad: Array) -> Array | None:
    """The gradients by small matrices, from their Cholesky factors and the gradients by those.

    Args:
      factor: [..., N, N], float32 or float64, of which the lower triangle is read.
      grad: of the same shape and dtype; its lower triangle is read.

    Returns:
      [..., N, N]
    """
    call = LIBRARY.function("cholesky_gradient")
    if call is None:
        return None
    factor, grad = np.ascontiguousarray(factor), np.ascontiguousarray(grad)
    result = np.empty(factor.shape, factor.dtype)
    sizes = math.prod(factor.shape[:-2]), factor.shape[-1]
    _done(call(_BY_CHAR[factor.dtype.char], factor, grad, *sizes, result))
    return result


def qr(a: Array, full: bool) -> tuple[Array, Array] | None:
    """Small matrices as products of orthonormal columns and upper triangles.

    Args:
      a: float32 or float64 [..., M, N].
      full: whether there are M columns, else as many as the smaller of M and N.

    Returns:
      Both factors, with LAPACK's signs; None where numbers are near the ends of their range too.
    """
    kind, call = _kind(a.dtype), LIBRARY.function("qr")
    if kind not in (0, 1) or call is None:
        return None
    (rows, columns), stack = a.shape[-2:], a.shape[:-2]
    inner = rows if full else min(rows, columns)
    q, r = np.empty((*stack, rows, inner), a.dtype), np.empty((*stack, inner, columns), a.dtype)
    done = _done(call(kind, np.array(a, order="C"), math.prod(stack), rows, columns, inner, q, r))
    return (q, r) if done else None
