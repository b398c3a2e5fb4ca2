"""The gradient of a Cholesky factor as an operation, for graphs that hold it.

With P the lower half of L^T G, its diagonal halved, it is the symmetric part of L^-T P L^-1.

Source: I. Murray, "Differentiation of the Cholesky decomposition", 2016,
https://arxiv.org/abs/1602.07527.
"""

from typing import Any

import numpy as np

from penstock.core import native_matrices
from penstock.core.kernels import host_kernel, kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.linalg_host import ANY_SIZE, FEW_ROWS, substitute
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray or a JAX tracer


def _shape(c: ShapeContext) -> Dims:
    result = c.merge(c.rank_at_least(0, 2, "l"), c.rank_at_least(1, 2, "grad"))
    if result is not None and None not in result[-2:] and result[-1] != result[-2]:
        c.fail("square matrices", f"shape {d.text(result)}")
    return result


CHOLESKY_GRAD = define_op(
    "CholeskyGrad(l: T, grad: T; T: {half, float, double}) -> output: T",
    shape=_shape,
    doc="The gradient by a matrix, from its Cholesky factor and the gradient by that.",
).without_gradient("TensorFlow has none either; tf.linalg.cholesky has derivatives of any order")


def _has_zeros(factor: Array) -> bool:
    return not np.diagonal(factor, axis1=-2, axis2=-1).all()


def _by_elements(factor: Array, grad: Array) -> Array:
    """The same of stacks with zeros on diagonals, backwards through each step of the factorization.

    Its divisions by zero give infinities where those of the formula above give NaN.
    """
    lower, found = np.tril(factor), np.tril(grad)
    with np.errstate(all="ignore"):
        for k in range(factor.shape[-1] - 1, -1, -1):
            pivot, row, below = lower[..., k, k], lower[..., k, :k], slice(k + 1, None)
            inner = (lower[..., below, k] * found[..., below, k]).sum(-1)
            found[..., k, k] -= inner / pivot
            found[..., k:, k] /= pivot[..., None]
            flow = found[..., k:, k]
            found[..., k, :k] -= (flow[..., None] * lower[..., k:, :k]).sum(-2)
            found[..., below, :k] -= found[..., below, k, None] * row[..., None, :]
            found[..., k, k] /= 2
        return (found + np.swapaxes(found, -1, -2)) / 2


@host_kernel(CHOLESKY_GRAD, limit=ANY_SIZE, available=native_matrices.LIBRARY.is_in_use)
def _cholesky_grad_host(l: Array, grad: Array) -> Array:  # noqa: E741  TensorFlow's name
    wide = np.float32 if l.dtype == np.float16 else l.dtype
    if _has_zeros(l):
        return _by_elements(l.astype(wide), grad.astype(wide)).astype(l.dtype)
    if l.shape[-1] <= FEW_ROWS:
        found = native_matrices.cholesky_gradient(
            l.astype(wide, copy=False), grad.astype(wide, copy=False)
        )
        if found is not None:
            return found.astype(l.dtype, copy=False)
    lower = np.tril(l.astype(wide))
    half = np.tril(np.swapaxes(lower, -1, -2) @ grad.astype(wide))
    half *= 1 - 0.5 * np.eye(l.shape[-1], dtype=wide)
    left = np.swapaxes(substitute(lower, half, lower=True, adjoint=True), -1, -2)
    made = substitute(lower, left, lower=True, adjoint=True)
    return ((made + np.swapaxes(made, -1, -2)) / 2).astype(l.dtype)


@kernel(CHOLESKY_GRAD)
def _cholesky_grad(xp: Any, l: Array, grad: Array) -> Array:  # noqa: E741  TensorFlow's name
    wide = np.float32 if l.dtype == np.float16 else l.dtype
    lower, flow = xp.tril(l.astype(wide)), grad.astype(wide)
    if xp is np and _has_zeros(l):
        return _by_elements(lower, flow).astype(l.dtype)
    half = xp.tril(xp.swapaxes(lower, -1, -2) @ flow)
    half = half * (1 - 0.5 * xp.eye(l.shape[-1], dtype=wide))
    inverse = xp.linalg.inv(lower)
    made = xp.swapaxes(inverse, -1, -2) @ half @ inverse
    return ((made + xp.swapaxes(made, -1, -2)) / 2).astype(l.dtype)
