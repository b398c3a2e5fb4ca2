"""The operator with other operators' matrices along its diagonal, and zeros elsewhere."""

import functools
from collections.abc import Sequence
from typing import Any

from penstock.core.execute import execute
from penstock.ops.composing import number
from penstock.ops.linear_operators import hints as h
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.linear_operators.blocks import Blockwise, joined_rows, joined_vectors
from penstock.ops.linear_operators.checks import all_of
from penstock.ops.linear_operators.combined import checked_operators, joined_name
from penstock.ops.math_arithmetic import add_v2, multiply
from penstock.ops.math_cast import cast


class LinearOperatorBlockDiag(Blockwise):
    """The operator of block diagonal matrices.

    Args:
      operators: LinearOperators [..., M_i, N_i] of one dtype, the blocks.
      is_non_singular: hint; True by default if all blocks have it, like the next two.
      is_self_adjoint: hint.
      is_positive_definite: hint.
      is_square: hint, True by default; it is the blocks that are meant.
      name: the name of its scope; the blocks' names with "_ds_" in between by default.

    Raises:
      ValueError: there are no operators, or their stacks do not broadcast.
      TypeError: their dtypes differ.

    Example:
      >>> L = tf.linalg
      >>> both = L.LinearOperatorBlockDiag([L.LinearOperatorIdentity(1),
      ...                                   L.LinearOperatorFullMatrix([[1.0, 2.0], [0.0, 1.0]])])
      >>> both.matvec([5.0, 1.0, 1.0]).numpy().tolist()
      [5.0, 3.0, 1.0]
      >>> [part.numpy().tolist() for part in both.matvec([tf.constant([5.0]), tf.ones(2)])]
      [[5.0], [3.0, 1.0]]
    """

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        found = checked_operators(operators, "LinearOperatorBlockDiag")
        self._operators = tuple(found)
        given = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
        }
        hints: h.Hints = {k: h.all_true(found, k) if x is None else x for k, x in given.items()}
        super().__init__(
            found[0].dtype, is_square=is_square, name=joined_name(name, found, "ds"), **hints
        )
        self._shape()  # stacks that do not broadcast are refused now

    @property
    def operators(self) -> list[LinearOperator]:
        """The blocks."""
        return list(self._operators)

    def _diagonal_blocks(self) -> Sequence[LinearOperator]:
        return self._operators

    def _multiply_parts(self, parts: list[Any], adjoint: bool) -> list[Any]:
        pairs = zip(self._operators, parts, strict=True)
        return [operator.matmul(part, adjoint=adjoint) for operator, part in pairs]

    def _solve_parts(self, parts: list[Any], adjoint: bool) -> list[Any]:
        pairs = zip(self._operators, parts, strict=True)
        return [operator.solve(part, adjoint=adjoint) for operator, part in pairs]

    def _to_dense(self) -> Any:
        columns = self._sizes(-1)
        rows = []
        for i, operator in enumerate(self._operators):
            dense = operator.to_dense()
            lead = v.lead_of(dense, 1)
            sides = [sum(columns[:i]), sum(columns[i + 1 :])]
            before, after = (
                execute("Fill", (v.joined(lead, v.vector([s])), number(0, self.dtype)))
                for s in sides
            )
            rows.append(execute("ConcatV2", ([before, dense, after], v.LAST[0])))
        return joined_rows(rows)

    def _require_square_blocks(self, what: str) -> None:
        if any(operator.is_square is False for operator in self._operators):
            raise NotImplementedError(
                f"`{what}` not implemented for an operator whose blocks are not square. Got "
                f"{self._name}; use to_dense()."
            )

    def _diag_part(self) -> Any:
        self._require_square_blocks("diag_part")
        return joined_vectors(self._operators, [o.diag_part() for o in self._operators])

    def _trace(self) -> Any:
        self._require_square_blocks("trace")
        return functools.reduce(add_v2, [operator.trace() for operator in self._operators])

    def _all_square(self) -> bool:
        return all(operator.is_square for operator in self._operators)

    def _determinant(self) -> Any:
        if not self._all_square():
            return super()._determinant()
        return functools.reduce(multiply, [o.determinant() for o in self._operators])

    def _log_abs_determinant(self) -> Any:
        if not self._all_square():
            return super()._log_abs_determinant()
        parts = [cast(o.log_abs_determinant(), self.dtype) for o in self._operators]
        return functools.reduce(add_v2, parts)

    def _eigvals(self) -> Any:
        if not all(operator.is_self_adjoint for operator in self._operators):
            return super()._eigvals()
        return joined_vectors(self._operators, [o.eigvals() for o in self._operators])

    def _assert_non_singular(self) -> Any:
        return all_of([o.assert_non_singular() for o in self._operators], "assert_non_singular")

    def _assert_self_adjoint(self) -> Any:
        return all_of([o.assert_self_adjoint() for o in self._operators], "assert_self_adjoint")

    def _assert_positive_definite(self) -> Any:
        return all_of(
            [o.assert_positive_definite() for o in self._operators], "assert_positive_definite"
        )

    def _linop_adjoint(self) -> LinearOperator:
        return LinearOperatorBlockDiag([o.adjoint() for o in self._operators], **h.of(self))

    def _linop_inverse(self) -> LinearOperator:
        return LinearOperatorBlockDiag([o.inverse() for o in self._operators], **h.of(self))

    def _linop_cholesky(self) -> LinearOperator:
        if not all(operator._can_use_cholesky() for operator in self._operators):
            return super()._linop_cholesky()  # type: ignore[no-any-return]
        factors = [operator.cholesky() for operator in self._operators]
        return LinearOperatorBlockDiag(factors, is_non_singular=True, is_square=True)
