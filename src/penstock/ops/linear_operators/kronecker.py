"""The Kronecker product of operators.

Source: Van Loan, The ubiquitous Kronecker product, Journal of Computational and Applied Mathematics
123 (2000).
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from penstock.core.execute import execute
from penstock.ops.array_order import matrix_transpose
from penstock.ops.composing import number
from penstock.ops.linear_operators import hints as h
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.linear_operators.checks import all_of
from penstock.ops.linear_operators.combined import (
    checked_operators,
    joined_name,
    joint_batch,
    joint_batch_tensor,
)
from penstock.ops.math_arithmetic import add_v2, multiply
from penstock.ops.math_cast import cast, real
from penstock.types.tensor_shape import TensorShape


def _times(a: v.Size, b: v.Size) -> v.Size:
    return a * b


class LinearOperatorKronecker(LinearOperator):
    """The operator of the Kronecker products of other operators' matrices.

    Args:
      operators: LinearOperators of one dtype. The product of A [M, N] and B [P, Q] is
        [M P, N Q]: A with each element times B in its place.
      is_non_singular: hint; True by default if all operators have it, like the next two.
      is_self_adjoint: hint.
      is_positive_definite: hint.
      is_square: hint.
      name: the name of its scope; the operators' names with "_x_" in between by default.

    Raises:
      ValueError: there are no operators.
      TypeError: their dtypes differ.

    Example:
      >>> L = tf.linalg
      >>> product = L.LinearOperatorKronecker([L.LinearOperatorDiag([1.0, 2.0]),
      ...                                      L.LinearOperatorDiag([1.0, 3.0])])
      >>> product.diag_part().numpy().tolist()
      [1.0, 3.0, 2.0, 6.0]
    """

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        found = checked_operators(operators, "LinearOperatorKronecker")
        self._operators = tuple(found)
        given: h.Hints = dict(
            zip(
                h.NAMES,
                (is_non_singular, is_self_adjoint, is_positive_definite, is_square),
                strict=True,
            )
        )
        for hint in h.NAMES[:3]:
            if given[hint] is None:
                given[hint] = h.all_true(found, hint)
        super().__init__(found[0].dtype, name=joined_name(name, found, "x"), **given)
        self._shape()  # stacks that do not broadcast are refused now

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors."""
        return list(self._operators)

    def _shape(self) -> TensorShape:
        batch = joint_batch(self._name, self._operators)
        sides = []
        for axis in (-2, -1):
            own = [None if o._dims is None else o._dims[axis] for o in self._operators]
            sides.append(None if None in own else functools.reduce(_times, own))
        return TensorShape.from_dims(None if batch is None else (*batch, *sides))

    def _sides(self, axis: int) -> list[v.Size]:
        return [operator._size(axis) for operator in self._operators]

    def _shape_tensor(self) -> Any:
        sides = [functools.reduce(_times, self._sides(axis)) for axis in (-2, -1)]
        return v.joined(joint_batch_tensor(self._operators), v.vector(sides))

    def _by_factors(self, x: Any, axis: int, apply: Callable[[Any, Any], Any]) -> Any:
        """Applies each factor along its part of the rows of `x`, whose sizes are those of `axis`.

        What a factor gives goes behind the columns, so that the next one is in front; in the end
        the columns have come to the front.
        """
        sizes = [*self._sides(axis), v.size_of(x, -1)]
        for operator in self._operators:
            front, *behind = sizes
            x = v.reshaped(x, v.lead_of(x, 2), front, functools.reduce(_times, behind))
            x = matrix_transpose(apply(operator, x))
            sizes = [*behind, v.size_of(x, -1)]
        columns, *rows = sizes
        x = v.reshaped(x, v.lead_of(x, 2), columns, functools.reduce(_times, rows))
        return matrix_transpose(x)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = v.turned(x, adjoint_arg)
        return self._by_factors(
            x, -2 if adjoint else -1, lambda operator, part: operator.matmul(part, adjoint=adjoint)
        )

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        if any(operator.is_square is False for operator in self._operators):
            return self._dense_solve(rhs, adjoint, adjoint_arg)
        return self._by_factors(
            v.turned(rhs, adjoint_arg),
            -1 if adjoint else -2,
            lambda operator, part: operator.solve(part, adjoint=adjoint),
        )

    def _outer(self, vectors: list[Any]) -> Any:
        """The Kronecker product of vectors [..., K]."""
        result = vectors[0]
        for vector in vectors[1:]:
            both = multiply(result[..., :, None], vector[..., None, :])
            size = _times(v.size_of(both, -2), v.size_of(both, -1))
            result = v.reshaped(both, v.lead_of(both, 2), size)
        return result

    def _to_dense(self) -> Any:
        result = self._operators[0].to_dense()
        for operator in self._operators[1:]:
            part = operator.to_dense()
            both = multiply(result[..., :, None, :, None], part[..., None, :, None, :])
            sides = [_times(v.size_of(both, -4 + i), v.size_of(both, -3 + i)) for i in (0, 2)]
            result = v.reshaped(both, v.lead_of(both, 4), *sides)
        return result

    def _all_square(self) -> bool:
        return all(operator.is_square for operator in self._operators)

    def _diag_part(self) -> Any:
        if not self._all_square():
            return super()._diag_part()
        return self._outer([operator.diag_part() for operator in self._operators])

    def _trace(self) -> Any:
        if not self._all_square():
            return super()._trace()
        return functools.reduce(multiply, [o.trace() for o in self._operators])

    def _power(self, operator: LinearOperator) -> Any:
        """How often a factor's determinant counts: the size of the others, in the dtype."""
        size = functools.reduce(_times, self._sides(-1)) // operator._size(-1)
        return number(size, self.dtype) if isinstance(size, int) else cast(size, self.dtype)

    def _has_rows(self) -> bool:
        """Whether no factor is known to be empty, so that sizes can be divided by each other."""
        return self._all_square() and 0 not in [s for s in self._sides(-1) if isinstance(s, int)]

    def _determinant(self) -> Any:
        if not self._has_rows():
            return super()._determinant()
        parts = [execute("Pow", (o.determinant(), self._power(o))) for o in self._operators]
        return functools.reduce(multiply, parts)

    def _log_abs_determinant(self) -> Any:
        if not self._has_rows():
            return super()._log_abs_determinant()
        logarithms = [cast(o.log_abs_determinant(), self.dtype) for o in self._operators]
        parts = [
            multiply(x, self._power(o)) for x, o in zip(logarithms, self._operators, strict=True)
        ]
        return functools.reduce(add_v2, parts)

    def _cond(self) -> Any:
        if not self._all_square():
            return super()._cond()
        parts = [o.cond() for o in self._operators]
        if len({p.dtype for p in parts}) > 1:
            parts = [real(p) for p in parts]
        return functools.reduce(multiply, parts)

    def _eigvals(self) -> Any:
        if not all(operator.is_self_adjoint for operator in self._operators):
            return super()._eigvals()
        return self._outer([operator.eigvals() for operator in self._operators])

    def _assert_non_singular(self) -> Any:
        if not self._all_square():
            return super()._assert_non_singular()
        return all_of([o.assert_non_singular() for o in self._operators], "assert_non_singular")

    def _with(self, operators: list[LinearOperator], **hints: Any) -> LinearOperator:
        return LinearOperatorKronecker(operators, **hints)

    def _linop_adjoint(self) -> LinearOperator:
        return self._with([operator.adjoint() for operator in self._operators], **h.of(self))

    def _linop_inverse(self) -> LinearOperator:
        if any(operator.is_square is False for operator in self._operators):
            return super()._linop_inverse()  # type: ignore[no-any-return]
        hints = h.of(self) | {"is_square": True}
        return self._with([operator.inverse() for operator in self._operators], **hints)

    def _linop_cholesky(self) -> LinearOperator:
        if not all(operator._can_use_cholesky() for operator in self._operators):
            return super()._linop_cholesky()  # type: ignore[no-any-return]
        factors = [operator.cholesky() for operator in self._operators]
        return self._with(factors, is_non_singular=True, is_square=True)
