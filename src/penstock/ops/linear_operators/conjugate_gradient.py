"""The method of conjugate gradients, for operators that can only multiply.

Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, algorithm 9.1.
"""

from collections import namedtuple
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.ops.composing import composed, number
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.loops import while_loop
from penstock.ops.math_arithmetic import add_v2, conjugate, multiply, subtract
from penstock.ops.math_cast import cast
from penstock.ops.math_cast import real as real_part
from penstock.ops.math_division import real_div
from penstock.ops.math_elementwise import sqrt
from penstock.types import dtypes as dt

CGState = namedtuple("CGState", ["i", "x", "r", "p", "gamma"])


def _dot(a: Any, b: Any) -> Any:
    """The products of vectors, conj(a) b, [...]."""
    return execute("Sum", (multiply(conjugate(a), b), np.array([-1], np.int32)))


@composed("conjugate_gradient")
def conjugate_gradient(
    operator: LinearOperator,
    rhs: Any,
    preconditioner: LinearOperator | None = None,
    x: Any = None,
    tol: Any = 1e-5,
    max_iter: Any = 20,
    name: str | None = "conjugate_gradient",
) -> Any:
    """Solves A x = rhs by steps that each take one product with A.

    Args:
      operator: LinearOperator [..., N, N] with the hints is_self_adjoint and is_positive_definite.
      rhs: tensor [..., N] of its dtype.
      preconditioner: a LinearOperator near the inverse of `operator`; None for the identity.
      x: tensor [..., N], where to start; zeros by default.
      tol: the steps end when the residual of every vector is this part of its `rhs`.
      max_iter: the largest number of steps.
      name: the name of the scope in a graph.

    Returns:
      A namedtuple: `i`, the number of steps, int32; `x`, the solution [..., N]; `r`, the residual
      rhs - A x; `p`, the last direction; `gamma`, r^H M r, with the preconditioner M, [...].

    Raises:
      ValueError: the operator lacks the hints.
      TypeError: `rhs` has another dtype.

    Example:
      >>> operator = tf.linalg.LinearOperatorFullMatrix(
      ...     [[4.0, 1.0], [1.0, 3.0]], is_self_adjoint=True, is_positive_definite=True)
      >>> conjugate_gradient(operator, [5.0, 4.0]).x.numpy().round(3).tolist()
      [1.0, 1.0]
    """
    del name
    if not (operator.is_self_adjoint and operator.is_positive_definite):
        raise ValueError(
            "Expected a self-adjoint, positive definite operator. Got the hints "
            f"{operator.is_self_adjoint} and {operator.is_positive_definite} of {operator.name}: "
            "pass is_self_adjoint=True and is_positive_definite=True if it is."
        )
    rhs = operator._argument(rhs, "rhs", 1)
    real_dtype = operator.dtype.real_dtype
    bound = multiply(convert_to_tensor(tol, real_dtype), _length(rhs))
    limit = convert_to_tensor(max_iter, dt.int32)

    def far(state: Any) -> Any:
        largest = execute("Greater", (_length(state.r), bound))
        axes = execute("Range", (np.int32(0), execute("Rank", (largest,)), np.int32(1)))
        more = execute("Less", (state.i, limit))
        return execute("LogicalAnd", (more, execute("Any", (largest, axes))))

    def step(state: Any) -> tuple[Any]:
        return (_step(operator, preconditioner, state),)

    return while_loop(far, step, (_start(operator, preconditioner, rhs, x),))[0]


def _length(x: Any) -> Any:
    """The norms of vectors, real [...]."""
    return sqrt(real_part(_dot(x, x)))


def _conditioned(preconditioner: Any, r: Any) -> Any:
    return r if preconditioner is None else preconditioner.matvec(r)


def _start(operator: Any, preconditioner: Any, rhs: Any, x: Any) -> Any:
    if x is None:
        x = execute("ZerosLike", (rhs,))
        r = rhs
    else:
        x = convert_to_tensor(x, operator.dtype)
        r = subtract(rhs, operator.matvec(x))
    z = _conditioned(preconditioner, r)
    return CGState(number(0, dt.int32), x, r, z, _dot(r, z))


def _step(operator: Any, preconditioner: Any, state: Any) -> Any:
    z = operator.matvec(state.p)
    alpha = real_div(state.gamma, _dot(state.p, z))[..., None]
    x = add_v2(state.x, multiply(alpha, state.p))
    r = subtract(state.r, multiply(alpha, z))
    q = _conditioned(preconditioner, r)
    gamma = _dot(r, q)
    beta = real_div(gamma, state.gamma)[..., None]
    p = add_v2(q, multiply(beta, state.p))
    return CGState(add_v2(state.i, number(1, dt.int32)), x, r, p, cast(gamma, state.gamma.dtype))
