"""What the operations of linear algebra share: shape rules, precision, failing matrices.

The matrices are the last two axes; the axes before them are stacks. 16-bit floating matrices are
computed in float32.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core import lapack
from penstock.core.shapes import ShapeContext
from penstock.ops.array_order import matrix_transpose
from penstock.ops.composing import composed
from penstock.ops.math_matmul import matmul
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray or a JAX tracer
NUMBERS = "{double, float, half, complex64, complex128}"


def matrices(c: ShapeContext) -> Dims:
    """The shape of the first input, which holds matrices."""
    return c.rank_at_least(
        0,
        2,
        "input",
        lambda: f"Input tensor 0 must have rank >= 2, got {len(c.shape(0) or ())}",
    )


def square(c: ShapeContext) -> Dims:
    """The first input, which holds square matrices; the output has its shape."""
    dims = matrices(c)
    if dims is None:
        return None
    rows, columns = dims[-2:]
    if rows is not None and columns is not None and rows != columns:
        c.fail(
            f"an input with as many rows as columns ({rows} != {columns})",
            f"shape {d.text(dims)}: "
            + (
                "Input matrix must be square"
                if c.running
                else f"Dimensions must be equal, but are {dims[-2]} and {dims[-1]}"
            ),
        )
    side = columns if rows is None else rows
    return (*dims[:-2], side, side)


def without_matrix(c: ShapeContext) -> Dims:
    """The stack's axes of the first input, which holds square matrices."""
    dims = square(c)
    return None if dims is None else dims[:-2]


def wide(x: Array) -> Array:
    """Floating arrays of 16 bits in float32, others as they are: what LAPACK is given."""
    if x.__class__ is not np.ndarray:
        lapack.note(x)
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def turned(xp: Any, x: Array) -> Array:
    """The conjugate transposes."""
    if xp is np and x.dtype.kind == "f":
        return x.swapaxes(-1, -2)
    return xp.conj(xp.swapaxes(x, -1, -2))


def by_matrix(function: Callable[[Array], Any], x: Array) -> Any:
    """`function(x)`; where NumPy gives up on a matrix, NaN stands for what belongs to it."""
    try:
        return function(x)
    except np.linalg.LinAlgError:
        pass
    like = function(np.eye(*x.shape[-2:], dtype=x.dtype))
    several = isinstance(like, tuple)
    found = [_or_nan(function, m, like) for m in flat_stack(x)]
    parts = zip(*(f if several else (f,) for f in found), strict=True)
    whole = tuple(np.stack(p).reshape(x.shape[:-2] + p[0].shape) for p in parts)
    return whole if several else whole[0]


def _or_nan(function: Callable[[Array], Any], matrix: Array, like: Any) -> Any:
    try:
        return function(matrix)
    except np.linalg.LinAlgError:
        if isinstance(like, tuple):
            return tuple(np.full_like(part, np.nan) for part in like)
        return np.full_like(like, np.nan)


def flat_stack(x: Array) -> Array:
    """A stack of matrices along one axis."""
    return x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


@composed("adjoint", result=None)
def adjoint(matrix: Any, name: str | None = None) -> Any:
    """Transposes matrices and conjugates their elements.

    Args:
      matrix: tensor [..., M, N].
      name: the name of the operation in a graph.

    Returns:
      Tensor [..., N, M] of the same dtype.

    Example:
      >>> adjoint([[1.0, 2.0]]).numpy().tolist()
      [[1.0], [2.0]]
    """
    del name
    return matrix_transpose(matrix, conjugate=True)


def chain(*factors: Any) -> Any:
    """The product of matrices, from the left."""
    result = factors[0]
    for factor in factors[1:]:
        result = matmul(result, factor)
    return result
