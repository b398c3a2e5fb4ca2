"""The operator of matrices with blocks on and below their diagonals."""

import functools
from collections.abc import Sequence
from typing import Any

from penstock.core.execute import execute
from penstock.ops.array_order import matrix_transpose
from penstock.ops.composing import number
from penstock.ops.linear_operators import hints as h
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.linear_operators.blocks import Blockwise, joined_rows, joined_vectors
from penstock.ops.linear_operators.checks import all_of
from penstock.ops.linear_operators.combined import checked_operators
from penstock.ops.linear_operators.dense import LinearOperatorFullMatrix
from penstock.ops.math_arithmetic import add_v2, multiply, negative, subtract
from penstock.ops.math_cast import cast

WHERE = "LinearOperatorBlockLowerTriangular"


class LinearOperatorBlockLowerTriangular(Blockwise):
    """The operator of lower triangular matrices of blocks; equations are solved block by block.

    Args:
      operators: rows of LinearOperators of one dtype, i + 1 of them in row i. Blocks on the
        diagonal are square; the others have the rows and columns of these.
      is_non_singular: hint; by default what the blocks on the diagonal say.
      is_self_adjoint: hint.
      is_positive_definite: hint.
      is_square: None or True.
      name: the name of its scope.

    Raises:
      ValueError: there are no operators, a row has another length, sizes do not fit, or a hint
        cannot be.
      TypeError: a row is no list, or dtypes differ.

    Example:
      >>> full = tf.linalg.LinearOperatorFullMatrix
      >>> lower = tf.linalg.LinearOperatorBlockLowerTriangular(
      ...     [[full([[2.0]])], [full([[1.0]]), full([[4.0]])]])
      >>> lower.solvevec([2.0, 5.0]).numpy().tolist()
      [1.0, 1.0]
    """

    def __init__(
        self,
        operators: Sequence[Sequence[LinearOperator]],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = WHERE,
    ) -> None:
        rows = _checked_rows(operators)
        self._operators = tuple(tuple(row) for row in rows)
        is_square = h.require(
            is_square, True, "`LinearOperatorBlockLowerTriangular` must be square."
        )
        super().__init__(
            rows[0][0].dtype, None, self._non_singular(is_non_singular), is_self_adjoint,
            is_positive_definite, is_square, name,
        )  # fmt: skip
        self._shape()  # stacks that do not broadcast are refused now

    def _non_singular(self, given: bool | None) -> bool | None:
        hints = [operator.is_non_singular for operator in self._diagonal_blocks()]
        if False in hints:
            if given:
                raise ValueError(
                    "A blockwise lower-triangular operator with a singular operator on the main "
                    "diagonal is always singular. Expected argument `is_non_singular` to be False "
                    "or None. Received: True."
                )
            return False
        return True if all(hints) and given is None else given

    @property
    def operators(self) -> list[list[LinearOperator]]:
        """The rows of blocks."""
        return [list(row) for row in self._operators]

    def _diagonal_blocks(self) -> Sequence[LinearOperator]:
        return [row[-1] for row in self._operators]

    def _all_operators(self) -> Sequence[LinearOperator]:
        return [operator for row in self._operators for operator in row]

    def _multiply_parts(self, parts: list[Any], adjoint: bool) -> list[Any]:
        results: list[Any] = []
        for i in range(len(parts)):
            places = range(i, len(parts)) if adjoint else range(i + 1)
            products = [
                self._block(i, j, adjoint).matmul(parts[j], adjoint=adjoint) for j in places
            ]
            results.append(functools.reduce(add_v2, products))
        return results

    def _block(self, i: int, j: int, adjoint: bool) -> LinearOperator:
        return self._operators[j][i] if adjoint else self._operators[i][j]

    def _solve_parts(self, parts: list[Any], adjoint: bool) -> list[Any]:
        count = len(parts)
        found: dict[int, Any] = {}
        for i in range(count - 1, -1, -1) if adjoint else range(count):
            rest = parts[i]
            for j, part in found.items():
                product = self._block(i, j, adjoint).matmul(part, adjoint=adjoint)
                rest = subtract(rest, product)
            found[i] = self._operators[i][i].solve(rest, adjoint=adjoint)
        return [found[i] for i in range(count)]

    def _to_dense(self) -> Any:
        columns, rows = self._sizes(-1), []
        for i, row in enumerate(self._operators):
            parts = [matrix_transpose(operator.to_dense()) for operator in row]
            after = columns[i + 1 :]
            if after:
                lead = v.joined(v.lead_of(parts[0], 2), v.vector([sum(after)]))
                shape = v.joined(lead, v.vector([v.size_of(parts[0], -1)]))
                parts.append(execute("Fill", (shape, number(0, self.dtype))))
            rows.append(matrix_transpose(joined_rows(parts)))
        return joined_rows(rows)

    def _diag_part(self) -> Any:
        blocks = self._diagonal_blocks()
        return joined_vectors(blocks, [operator.diag_part() for operator in blocks])

    def _trace(self) -> Any:
        return functools.reduce(add_v2, [o.trace() for o in self._diagonal_blocks()])

    def _determinant(self) -> Any:
        return functools.reduce(multiply, [o.determinant() for o in self._diagonal_blocks()])

    def _log_abs_determinant(self) -> Any:
        parts = [cast(o.log_abs_determinant(), self.dtype) for o in self._diagonal_blocks()]
        return functools.reduce(add_v2, parts)

    def _assert_non_singular(self) -> Any:
        blocks = self._diagonal_blocks()
        return all_of([o.assert_non_singular() for o in blocks], "assert_non_singular")

    def _linop_inverse(self) -> LinearOperator:
        """Column by column: below the diagonal -A_ii^-1 (A_ij X_jj + ... + A_i,i-1 X_i-1,j)."""
        diagonal = [operator.inverse() for operator in self._diagonal_blocks()]
        rows: list[list[LinearOperator]] = []
        for i, own in enumerate(self._operators):
            row: list[LinearOperator] = []
            for j in range(i):
                known = [rows[k][j].to_dense() for k in range(j, i)]
                products = [own[j + k].matmul(part) for k, part in enumerate(known)]
                total = functools.reduce(add_v2, products)
                row.append(LinearOperatorFullMatrix(negative(own[-1].solve(total))))
            rows.append([*row, diagonal[i]])
        return LinearOperatorBlockLowerTriangular(rows, **h.of(self))


def _checked_rows(operators: Any) -> list[list[LinearOperator]]:
    """The rows of blocks as lists.

    Raises:
      ValueError, TypeError: see the class.
    """
    if not operators:
        raise ValueError(
            f"Argument `operators` must be a list of >=1 operators. Received: {operators}. Pass "
            "rows of 1, 2, ... operators."
        )
    for i, row in enumerate(operators):
        if not isinstance(row, (list, tuple)):
            raise TypeError(
                f"Expected argument `operators[{i}]` to be a list of operators.  Found: "
                f"{type(row)}. Put brackets around it."
            )
        if len(row) != i + 1:
            raise ValueError(
                f"Argument `operators[{i}]` must contain `{i + 1}` blocks. Received: {len(row)} "
                "blocks."
            )
    rows = [list(row) for row in operators]
    checked_operators([operator for row in rows for operator in row], WHERE)
    for i, row in enumerate(rows):
        for j, operator in enumerate(row):
            _require_size(operator, "range", (i, j), row[-1], (i, i))
            if i == j:
                _require_square(operator, i)
            else:
                _require_size(operator, "domain", (i, j), rows[j][j], (j, j))
    return rows


def _require_square(operator: LinearOperator, i: int) -> None:
    if operator.is_square is False:
        raise ValueError(
            f"Argument `operators[{i}][{i}]` must be square, as all blocks on the diagonal. Got "
            f"shape {operator.shape}."
        )


def _require_size(
    operator: LinearOperator,
    side: str,
    place: tuple[int, int],
    other: LinearOperator,
    other_place: tuple[int, int],
) -> None:
    own = getattr(operator, f"{side}_dimension").value
    wanted = getattr(other, f"{side}_dimension").value
    if None not in (own, wanted) and own != wanted:
        raise ValueError(
            f"Argument `operators[{place[0]}][{place[1]}].{side}_dimension` ({own}) must be the "
            f"same as `operators[{other_place[0]}][{other_place[1]}].{side}_dimension` ({wanted})."
        )
