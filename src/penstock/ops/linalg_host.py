"""Triangular equations and LU decompositions on the host, of stacks of matrices.

Native code takes matrices of up to `BLOCK` rows; of larger ones most of the work is products, which
NumPy does. Without native code both go row by row in NumPy.
"""

import functools
from typing import Any

import numpy as np

from penstock.core import native_matrices
from penstock.ops.linalg_common import flat_stack, turned

Array = Any  # numpy.ndarray
ANY_SIZE = 1 << 40  # elements up to which native code is preferred to XLA's
FEW_ROWS = 48  # rows up to which native code solves equations sooner than NumPy's call of LAPACK
BLOCK = 256  # rows up to which native code takes a matrix as a whole


def solved(a: Array, b: Array) -> Array:
    """The solutions of equations of stacks that are the same; LinAlgError where a pivot is zero."""
    found = native_matrices.solved(a, b) if a.shape[-1] <= FEW_ROWS else None
    return np.linalg.solve(a, b) if found is None else found


@functools.lru_cache(256)
def identity(side: int, dtype: np.dtype[Any]) -> Array:
    """The unit matrix, which is not to be written to."""
    return np.eye(side, dtype=dtype)


def substitute(a: Array, b: Array, lower: bool, adjoint: bool = False) -> Array:
    """Solves triangular equations of stacks that broadcast, in NumPy and native code."""
    if a.shape[-1] <= BLOCK:
        found = native_matrices.substituted(a, b, lower=lower, adjoint=adjoint)
        if found is not None:
            return found
    a, lower = (turned(np, a), not lower) if adjoint else (a, lower)
    return _substitute_by_blocks(a, b, lower) if a.shape[-1] > BLOCK else _by_rows(a, b, lower)


def _substitute_by_blocks(a: Array, b: Array, lower: bool) -> Array:
    """The same where most of the work is products."""
    n = a.shape[-1]
    x = np.empty((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]), b.dtype)
    starts = range(0, n, BLOCK)
    for start in starts if lower else reversed(starts):
        here = slice(start, start + BLOCK)
        done = slice(0, start) if lower else slice(start + BLOCK, n)
        rest = b[..., here, :] - a[..., here, done] @ x[..., done, :]
        x[..., here, :] = substitute(a[..., here, here], rest, lower)
    return x


def _by_rows(a: Array, b: Array, lower: bool) -> Array:
    """The same row by row, without native code."""
    n = a.shape[-1]
    x = np.empty((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]), b.dtype)
    for i in range(n) if lower else range(n - 1, -1, -1):
        done = slice(0, i) if lower else slice(i + 1, n)
        row = b[..., i, :] - (a[..., i : i + 1, done] @ x[..., done, :])[..., 0, :]
        x[..., i, :] = row / a[..., i, i, None]
    return x


def lu_decomposed(a: Array) -> tuple[Array, Array]:
    """LU decompositions with partial pivoting of a stack of matrices, and the orders of rows."""
    if a.shape[-1] <= BLOCK:
        return native_matrices.decomposed(a) or lu_by_columns(a)
    if not native_matrices.LIBRARY.is_in_use():
        return lu_by_columns(a)
    stack = flat_stack(np.array(a))
    orders = [_lu_by_blocks(matrix) for matrix in stack]
    return stack.reshape(a.shape), np.reshape(orders, a.shape[:-1])


def _lu_by_blocks(a: Array) -> Array:
    """Decomposes one large matrix in its place, where most of the work is products."""
    n = a.shape[-1]
    order = np.arange(n)
    for start in range(0, n, BLOCK):
        stop = min(n, start + BLOCK)
        panel, moved = lu_decomposed(a[start:, start:stop])
        a[start:] = a[start:][moved]
        order[start:] = order[start:][moved]
        a[start:, start:stop] = panel
        right = native_matrices.substituted(
            panel[: stop - start], a[start:stop, stop:], lower=True, unit=True
        )
        a[start:stop, stop:] = right
        a[stop:, stop:] -= panel[stop - start :] @ right
    return order


def lu_by_columns(a: Array) -> tuple[Array, Array]:
    """The same column by column, without native code."""
    stack = flat_stack(np.array(a))
    count, n = stack.shape[:2]
    order = np.tile(np.arange(n), (count, 1))
    every = np.arange(count)
    for k in range(n):
        pivot = k + np.abs(stack[:, k:, k]).argmax(1)
        for rows in (stack, order):
            kept = rows[:, k].copy()
            rows[:, k] = rows[every, pivot]
            rows[every, pivot] = kept
        below = stack[:, k + 1 :, k] / stack[:, k, k, None]
        stack[:, k + 1 :, k] = below
        stack[:, k + 1 :, k + 1 :] -= below[:, :, None] * stack[:, None, k, k + 1 :]
    return stack.reshape(a.shape), order.reshape(a.shape[:-1])
