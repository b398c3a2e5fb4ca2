"""What a linear operator can do knowing only how to multiply: the rest through its dense matrix.

Every public method of `LinearOperator` has a method here with an underscore in front, which takes
arguments that have been checked. A subclass replaces those for which its matrices have a shorter
way.
"""

import abc
from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.ops.array_diag import diag_part
from penstock.ops.array_fill import eye
from penstock.ops.composing import number, shape_of, total
from penstock.ops.debug_asserts import assert_equal, assert_less, assert_positive
from penstock.ops.linalg_common import adjoint
from penstock.ops.linalg_decompose import eigvalsh, svd
from penstock.ops.linalg_solve import cholesky, cholesky_solve, det, slogdet, solve
from penstock.ops.linear_operators import rules
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.shaped import Shaped
from penstock.ops.math_arithmetic import add_v2, multiply
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_cast import cast, real
from penstock.ops.math_division import real_div
from penstock.ops.math_elementwise import exp, log
from penstock.ops.math_reduce import reduce_max, reduce_min

LARGEST_CONDITION = 0.01  # part of 1 / eps from which on a matrix counts as singular


class Defaults(Shaped):
    """Methods of a linear operator for want of special ones."""

    dtype: Any
    is_self_adjoint: Any
    is_positive_definite: Any

    @abc.abstractmethod
    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        """The product with matrices x: [..., N, K], or [..., K, N] with `adjoint_arg`."""

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return v.by_columns(lambda columns: self._matmul(columns, adjoint=adjoint), x)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._dense_solve(rhs, adjoint, adjoint_arg)

    def _dense_solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        """Solves with the dense matrix, by its Cholesky factor where it is known to have one."""
        rhs = v.turned(rhs, adjoint_arg)
        matrix = self._to_dense()
        if self._can_use_cholesky():
            return cholesky_solve(cholesky(matrix), rhs)
        matrix = v.with_batch(matrix, v.lead_of(rhs, 2), v.batch_dims(rhs, 2))
        rhs = v.with_batch(rhs, v.lead_of(matrix, 2), v.batch_dims(matrix, 2))
        return solve(matrix, rhs, adjoint=adjoint)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return v.by_columns(lambda columns: self._solve(columns, adjoint=adjoint), rhs)

    def _can_use_cholesky(self) -> bool:
        return bool(self.is_self_adjoint and self.is_positive_definite)

    def _to_dense(self) -> Any:
        batch = self._batch_size()
        return self._matmul(eye(self._size(-1), batch_shape=batch, dtype=self.dtype))

    def _batch_size(self) -> Any:
        """The stack's shape: integers where they are known, else an int32 vector."""
        dims = self.batch_shape.dims_tuple
        known = dims is not None and None not in dims
        return list(dims) if known else self._batch_tensor()  # type: ignore[arg-type]

    def _diag_part(self) -> Any:
        return diag_part(self._to_dense())

    def _trace(self) -> Any:
        return total(self._diag_part(), [-1])

    def _add_to_tensor(self, x: Any) -> Any:
        return add_v2(self._to_dense(), x)

    def _determinant(self) -> Any:
        if self._can_use_cholesky():
            return exp(self._log_abs_determinant())
        return det(self._to_dense())

    def _log_abs_determinant(self) -> Any:
        if not self._can_use_cholesky():
            return slogdet(self._to_dense())[1]
        diagonal = diag_part(cholesky(self._to_dense()))
        return multiply(number(2, self.dtype), total(log(diagonal), [-1]))

    def _eigvals(self) -> Any:
        return eigvalsh(self._to_dense())

    def _cond(self) -> Any:
        return ratio(self._eigvals() if self.is_self_adjoint else self._singular_values())

    def _singular_values(self) -> Any:
        return svd(self._to_dense(), compute_uv=False)

    def _assert_non_singular(self) -> Any:
        bound = LARGEST_CONDITION / np.finfo(self.dtype.real_dtype.numpy_dtype).eps
        condition = self._cond()
        return assert_less(
            condition,
            number(bound, condition.dtype),
            message="Singular matrix up to precision epsilon.",
        )

    def _assert_positive_definite(self) -> Any:
        if not self.is_self_adjoint:
            raise NotImplementedError(
                "assert_positive_definite is not implemented for an operator that is not known to "
                f"be self-adjoint: {self._name}. Pass is_self_adjoint=True if it is."
            )
        return assert_positive(
            real(diag_part(cholesky(self._to_dense()))), message="Matrix was not positive definite."
        )

    def _assert_self_adjoint(self) -> Any:
        dense = self._to_dense()
        return assert_equal(dense, adjoint(dense), message="Matrix was not equal to its adjoint.")

    def _linop_adjoint(self) -> Any:
        return rules.wrapped("adjoint", self)

    def _linop_inverse(self) -> Any:
        return rules.wrapped("inverse", self)

    def _linop_cholesky(self) -> Any:
        return rules.wrapped("cholesky", self)

    def _linop_matmul(self, left_operator: Any, right_operator: Any) -> Any:
        return rules.multiply(left_operator, right_operator)

    def _linop_solve(self, left_operator: Any, right_operator: Any) -> Any:
        return rules.solve(left_operator, right_operator)


def ratio(values: Any) -> Any:
    """The largest of the absolute values along the last axis, divided by the smallest."""
    sizes = absolute(values)
    return real_div(reduce_max(sizes, -1), reduce_min(sizes, -1))


def log_of_sizes(values: Any, dtype: Any) -> Any:
    """The sum of the logarithms of absolute values along the last axis, in `dtype`."""
    return cast(total(log(absolute(values)), [-1]), dtype)


def ones_like_batch(operator: Any, dtype: Any = None) -> Any:
    """A one for each matrix of an operator, in its dtype or another one."""
    return execute("Fill", (operator.batch_shape_tensor(), number(1, dtype or operator.dtype)))


def repeated(values: Any, count: v.Size) -> Any:
    """Numbers [...] as vectors [..., count]."""
    column = execute("ExpandDims", (values, np.int32(-1)))
    return execute("BroadcastTo", (column, v.joined(shape_of(values), v.vector([count]))))
