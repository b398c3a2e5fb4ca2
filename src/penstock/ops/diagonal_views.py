"""One diagonal of each matrix of a batch, as a view of NumPy's: to read it, or to write to it."""

from typing import Any

import numpy as np

Array = Any  # numpy.ndarray


def diagonal_view(x: Array, k: int) -> Array:
    """Diagonal k of matrices [..., M, N] that lie dense in memory: [..., length], part of `x`.

    Negative k are below the main diagonal. Those outside of the matrices are empty.
    """
    rows, cols = x.shape[-2:]
    length = max(min(rows + min(k, 0), cols - max(k, 0)), 0)
    first = k if k >= 0 else -k * cols
    flat = x.reshape(*x.shape[:-2], rows * cols)
    return flat[..., first : first + length * (cols + 1) : cols + 1][..., :length]


def with_diagonal(x: Array, diagonal: Array, k: int) -> Array:
    """A copy of the matrices with another diagonal k."""
    result = np.array(x, order="C")
    diagonal_view(result, k)[...] = diagonal
    return result


def of_diagonal(diagonal: Array, rows: int, cols: int, padding: Any, k: int) -> Array:
    """Matrices [..., rows, cols] of `padding` with this diagonal k."""
    result = np.empty((*diagonal.shape[:-1], rows, cols), diagonal.dtype)
    result[...] = padding
    diagonal_view(result, k)[...] = diagonal
    return result
