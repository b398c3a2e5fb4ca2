"""Bands of matrices, and tensors with elements on a diagonal alone.

A band holds the main diagonal of a matrix and some beside it; elements outside are 0. The diagonal
of a tensor of even rank is where both halves of the position agree. Diagonals of matrices are in
`array_diag`.
"""

import functools
import math
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.execute import execute
from penstock.core.kernels import compiled_kernel, host_kernel, kernel
from penstock.core.op_def import define_op
from penstock.core.prepared import UNBOUNDED
from penstock.core.shapes import ShapeContext
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any

# ---- bands


BAND = (
    "(input: T, num_lower: Tindex, num_upper: Tindex; T: type, Tindex: {int32, int64} = int64) "
    "-> band: T"
)


def _band_shape(c: ShapeContext) -> Dims:
    c.rank(1, 0, "num_lower")
    c.rank(2, 0, "num_upper")
    dims = c.shape(0)
    if dims is not None and len(dims) < 2:
        fact = f"input must be at least 2-dim, received shape: {d.bracketed(dims)}"
        c.fail_at_step("matrices", f"shape {d.text(dims)}: {fact}", known=dims)
    return dims


MATRIX_BAND_PART = define_op(
    f"MatrixBandPart{BAND}",
    shape=lambda c: _band_shape(c),
    doc=(
        "Matrices with 0 outside of a band around the main diagonal; a negative width keeps that "
        "whole side."
    ),
    fallible=True,
)


@functools.lru_cache(64)
def _band(rows: int, cols: int, lower: int, upper: int) -> Array:
    """Which elements of a matrix lie in a band; of few elements, and nothing writes it."""
    distance = np.arange(rows)[:, None] - np.arange(cols)[None, :]
    return ((lower < 0) | (distance <= lower)) & ((upper < 0) | (-distance <= upper))


_KEPT = 1 << 12  # elements of bands that are kept for calls to come


@host_kernel(MATRIX_BAND_PART)
def _band_part_host(ctx: Any, x: Array, lower: Array, upper: Array) -> Array:
    rows, cols = x.shape[-2:]
    below, above = lower.item(), upper.item()
    if below > rows or above > cols or rows * cols > _KEPT:
        return _band_part(ctx, np, x, lower, upper)
    return np.where(_band(rows, cols, below, above), x, np.zeros((), x.dtype))


@compiled_kernel(MATRIX_BAND_PART)
def _band_part(ctx: Any, xp: Any, x: Array, lower: Array, upper: Array) -> Array:
    for name, width, side, size in zip(
        ("num_lower", "num_upper"), (lower, upper), ("rows", "columns"), x.shape[-2:], strict=True
    ):
        _check_width(ctx, name, width, side, size)
    distance = np.arange(x.shape[-2])[:, None] - np.arange(x.shape[-1])[None, :]
    inside = ((lower < 0) | (distance <= lower)) & ((upper < 0) | (-distance <= upper))
    return xp.where(inside, x, xp.zeros((), x.dtype))


def _check_width(ctx: Any, name: str, width: Array, side: str, size: int) -> None:
    def text(got: Any) -> str:
        return (
            f"{name} must be negative or less or equal to number of {side} ({size}) got:"
            f" {int(got)}. A negative number stands for all {side}."
        )

    ctx.check(width <= size, errors.InvalidArgumentError, text, width)


@MATRIX_BAND_PART.gradient
def _band_part_gradient(op: Any, grad: Any) -> list[Any]:
    return [execute(MATRIX_BAND_PART, (grad, *op.inputs[1:])), None, None]


def band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Any:
    """Matrices with 0 outside of a band around the main diagonal.

    Args:
      input: a tensor of shape [..., M, N].
      num_lower: int32 or int64 scalar: diagonals kept below; negative keeps all.
      num_upper: the same above.
      name: the name in a graph.

    Returns:
      A tensor like `input`.

    Example:
      >>> band_part([[1, 2], [3, 4]], 0, -1).numpy().tolist()
      [[1, 2], [0, 4]]
    """
    return execute(MATRIX_BAND_PART, (input, num_lower, num_upper), None, name)


# ---- tensors


NUMBERS = "{bfloat16, half, float, double, int32, int64, complex64, complex128}"
DIAG = define_op(
    f"Diag(diagonal: T; T: {NUMBERS}) -> output: T",
    shape=lambda c: d.concat(c.rank_at_least(0, 1, "diagonal"), c.shape(0)),
    doc=(
        "A tensor of twice the rank with the input's elements where both halves of the position "
        "agree."
    ),
)


@kernel(DIAG)
def _diag(xp: Any, x: Array) -> Array:
    return xp.diag(x.reshape(-1)).reshape(x.shape * 2)


@DIAG.gradient
def _diag_gradient(op: Any, grad: Any) -> Any:
    return execute(DIAG_PART, (grad,))


def _tensor_part_shape(c: ShapeContext) -> Dims:
    dims = c.shape(0)
    if dims is None:
        return None
    if len(dims) % 2 or not dims:
        c.fail("an input of even rank, at least 2", f"shape {d.text(dims)}")
    half = len(dims) // 2
    return c.merge(dims[:half], dims[half:])


DIAG_PART = define_op(
    f"DiagPart(input: T; T: {NUMBERS}) -> diagonal: T",
    shape=_tensor_part_shape,
    doc="The elements where both halves of the position agree.",
)


@kernel(DIAG_PART, limit=UNBOUNDED)  # it reads the diagonal alone
def _tensor_part(xp: Any, x: Array) -> Array:
    head = x.shape[: x.ndim // 2]
    count = math.prod(head)
    return x.reshape(count, count).diagonal().reshape(head)


@DIAG_PART.gradient
def _tensor_part_gradient(op: Any, grad: Any) -> Any:
    return execute(DIAG, (grad,))


def tensor_diag(diagonal: Any, name: str | None = None) -> Any:
    """A tensor of twice the rank: `diagonal` where both halves of the position agree, else 0."""
    return execute(DIAG, (diagonal,), None, name)


def tensor_diag_part(input: Any, name: str | None = None) -> Any:
    """The elements of a tensor of even rank where both halves of the position agree."""
    return execute(DIAG_PART, (input,), None, name)
