"""The operator that applies several operators one after the other."""

import functools
import itertools
from collections.abc import Sequence
from typing import Any

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
from penstock.ops.math_cast import cast
from penstock.types.tensor_shape import TensorShape


class LinearOperatorComposition(LinearOperator):
    """The operator of the products of other operators' matrices, which are never multiplied.

    Args:
      operators: LinearOperators of one dtype whose sizes fit: the last one is applied first.
      is_non_singular: hint; True by default if all operators have it.
      is_self_adjoint: hint; True by default for an operator and its adjoint.
      is_positive_definite: hint; True by default for a non-singular operator and its adjoint.
      is_square: hint.
      name: the name of its scope; the operators' names with "_o_" in between by default.

    Raises:
      ValueError: there are no operators, or their sizes do not fit.
      TypeError: their dtypes differ.

    Example:
      >>> L = tf.linalg
      >>> both = L.LinearOperatorComposition([L.LinearOperatorDiag([1.0, 2.0]),
      ...                                     L.LinearOperatorFullMatrix([[1.0, 1.0], [0.0, 1.0]])])
      >>> both.to_dense().numpy().tolist()
      [[1.0, 1.0], [0.0, 2.0]]
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
        found = checked_operators(operators, "LinearOperatorComposition")
        _require_chain(found)
        self._operators = tuple(found)
        if is_non_singular is None:
            is_non_singular = h.all_true(found, "is_non_singular")
        if len(found) == 2 and h.is_adjoint_pair(*found):
            is_self_adjoint = True if is_self_adjoint is None else is_self_adjoint
            if is_positive_definite is None and is_non_singular:
                is_positive_definite = True
        super().__init__(
            found[0].dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square,
            joined_name(name, found, "o"),
        )  # fmt: skip
        self._shape()  # stacks that do not broadcast are refused now

    @property
    def operators(self) -> list[LinearOperator]:
        """The operators; the last one is applied first."""
        return list(self._operators)

    def _shape(self) -> TensorShape:
        batch = joint_batch(self._name, self._operators)
        first, last = self._operators[0]._dims, self._operators[-1]._dims
        rows = None if first is None else first[-2]
        columns = None if last is None else last[-1]
        return TensorShape.from_dims(None if batch is None else (*batch, rows, columns))

    def _shape_tensor(self) -> Any:
        first, last = self._operators[0], self._operators[-1]
        sides = v.vector([first._size(-2), last._size(-1)])
        return v.joined(joint_batch_tensor(self._operators), sides)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        order = self._operators if adjoint else self._operators[::-1]
        result = order[0].matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in order[1:]:
            result = operator.matmul(result, adjoint=adjoint)
        return result

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        if any(operator.is_square is False for operator in self._operators):
            return self._dense_solve(rhs, adjoint, adjoint_arg)
        order = self._operators[::-1] if adjoint else self._operators
        result = order[0].solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in order[1:]:
            result = operator.solve(result, adjoint=adjoint)
        return result

    def _all_square(self) -> bool:
        return all(operator.is_square for operator in self._operators)

    def _determinant(self) -> Any:
        if not self._all_square():
            return super()._determinant()
        result = self._operators[0].determinant()
        for operator in self._operators[1:]:
            result = multiply(result, operator.determinant())
        return result

    def _log_abs_determinant(self) -> Any:
        if not self._all_square():
            return super()._log_abs_determinant()
        parts = [cast(o.log_abs_determinant(), self.dtype) for o in self._operators]
        return functools.reduce(add_v2, parts)

    def _assert_non_singular(self) -> Any:
        if not self._all_square():
            return super()._assert_non_singular()
        return all_of([o.assert_non_singular() for o in self._operators], "assert_non_singular")


def _require_chain(operators: Sequence[LinearOperator]) -> None:
    for left, right in itertools.pairwise(operators):
        columns, rows = left.domain_dimension.value, right.range_dimension.value
        if None not in (columns, rows) and columns != rows:
            raise ValueError(
                f"Dimensions {columns} and {rows} are not compatible: {left.name} of shape "
                f"{left.shape} cannot be applied to what {right.name} of shape {right.shape} "
                "gives. Pass the operators in the order of a product."
            )
