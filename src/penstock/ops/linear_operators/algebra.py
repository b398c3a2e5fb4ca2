"""Products, solutions and inverses of linear operators: those with a class of their own.

What is not listed here is a `LinearOperatorComposition`, an inverse a `LinearOperatorInversion`, an
adjoint a `LinearOperatorAdjoint`, a Cholesky factor a `LinearOperatorLowerTriangular`; or what the
class of the operator itself says.
"""

from typing import Any

from penstock.ops.composing import tensor
from penstock.ops.linalg_solve import cholesky
from penstock.ops.linear_operators import hints as h
from penstock.ops.linear_operators import rules
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.linear_operators.block_diag import LinearOperatorBlockDiag
from penstock.ops.linear_operators.circulant import (
    LinearOperatorCirculant,
    LinearOperatorCirculant2D,
    LinearOperatorCirculant3D,
)
from penstock.ops.linear_operators.composition import LinearOperatorComposition
from penstock.ops.linear_operators.dense import LinearOperatorLowerTriangular
from penstock.ops.linear_operators.derived import LinearOperatorAdjoint, LinearOperatorInversion
from penstock.ops.linear_operators.diagonal import LinearOperatorDiag
from penstock.ops.linear_operators.identity import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
)
from penstock.ops.linear_operators.zeros import LinearOperatorZeros
from penstock.ops.math_arithmetic import multiply
from penstock.ops.math_division import real_div

Identity, Scaled, Diag = LinearOperatorIdentity, LinearOperatorScaledIdentity, LinearOperatorDiag
Triangular = LinearOperatorLowerTriangular

# ---- for any operators


@rules.wrapper("adjoint")
def _adjoint(operator: LinearOperator) -> LinearOperator:
    return LinearOperatorAdjoint(operator)


@rules.wrapper("inverse")
def _inverse(operator: LinearOperator) -> LinearOperator:
    return LinearOperatorInversion(operator)


@rules.wrapper("cholesky")
def _cholesky(operator: LinearOperator) -> LinearOperator:
    return Triangular(
        cholesky(operator.to_dense()), is_non_singular=True, is_self_adjoint=False, is_square=True
    )


@rules.product(LinearOperator, LinearOperator)
def _product(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    if not (left.is_square and right.is_square):
        return LinearOperatorComposition([left, right], **h.of_product(left, right))
    return LinearOperatorComposition(
        [left, right], is_non_singular=h.non_singular_product(left, right), is_square=True
    )


@rules.solution(LinearOperator, LinearOperator)
def _solution(left: LinearOperator, right: LinearOperator) -> Any:
    return _product(LinearOperatorInversion(left), right)


# ---- identities and zeros


@rules.product(LinearOperator, Identity)
def _left(left: Any, right: Any) -> Any:
    return left


@rules.product(Identity, LinearOperator)
@rules.solution(Identity, LinearOperator)
def _right(left: Any, right: Any) -> Any:
    return right


@rules.solution(LinearOperator, Identity)
def _inverse_of_left(left: Any, right: Any) -> Any:
    return left.inverse()


def _require_squares(*operators: Any) -> None:
    if not all(operator.is_square for operator in operators):
        raise ValueError(
            "Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not "
            f"supported at this time. Got {' and '.join(str(o.shape) for o in operators)}: use "
            "to_dense() on one of them."
        )


@rules.product(LinearOperator, LinearOperatorZeros)
def _zeros_right(left: Any, right: Any) -> Any:
    _require_squares(left, right)
    return right


@rules.product(LinearOperatorZeros, LinearOperator)
def _zeros_left(left: Any, right: Any) -> Any:
    _require_squares(left, right)
    return left


# ---- diagonal operators


def _numbers(operator: Any) -> Any:
    """The numbers on the diagonal, with an axis of size 1 for a scaled identity."""
    if isinstance(operator, Scaled):
        return tensor(operator.multiplier)[..., None]
    return tensor(operator.diag)


@rules.product(Diag, Diag)
@rules.product(Diag, Scaled)
@rules.product(Scaled, Diag)
def _diagonal_product(left: Any, right: Any) -> Any:
    hints = h.of_commuting_product(left, right)
    return Diag(multiply(_numbers(left), _numbers(right)), **hints)


@rules.solution(Diag, Diag)
@rules.solution(Diag, Scaled)
@rules.solution(Scaled, Diag)
def _diagonal_solution(left: Any, right: Any) -> Any:
    hints = h.of_commuting_product(left, right)
    return Diag(real_div(_numbers(right), _numbers(left)), **hints)


@rules.product(Scaled, Scaled)
def _scaled_product(left: Any, right: Any) -> Any:
    numbers = multiply(tensor(left.multiplier), tensor(right.multiplier))
    return left._with(numbers, **h.of_commuting_product(left, right))


@rules.solution(Scaled, Scaled)
def _scaled_solution(left: Any, right: Any) -> Any:
    numbers = real_div(tensor(right.multiplier), tensor(left.multiplier))
    return left._with(numbers, **h.of_commuting_product(left, right))


def _triangular(tril: Any, left: Any, right: Any) -> Any:
    return Triangular(tril, is_non_singular=h.non_singular_product(left, right), is_square=True)


@rules.product(Diag, Triangular)
def _scaled_rows(left: Any, right: Any) -> Any:
    return _triangular(multiply(_numbers(left)[..., None], right.to_dense()), left, right)


@rules.product(Triangular, Diag)
def _scaled_columns(left: Any, right: Any) -> Any:
    return _triangular(multiply(left.to_dense(), _numbers(right)[..., None, :]), left, right)


@rules.solution(Diag, Triangular)
def _divided_rows(left: Any, right: Any) -> Any:
    return _triangular(real_div(right.to_dense(), _numbers(left)[..., None]), left, right)


# ---- circulant operators


def _circulant_product(left: Any, right: Any) -> Any:
    numbers = multiply(tensor(left.spectrum), tensor(right.spectrum))
    return left._with(numbers, **h.of_commuting_product(left, right))


def _circulant_solution(left: Any, right: Any) -> Any:
    numbers = real_div(tensor(right.spectrum), tensor(left.spectrum))
    return left._with(numbers, **h.of_commuting_product(left, right))


for _kind in (LinearOperatorCirculant, LinearOperatorCirculant2D, LinearOperatorCirculant3D):
    rules.product(_kind, _kind)(_circulant_product)
    rules.solution(_kind, _kind)(_circulant_solution)


# ---- blocks, inverses


def _same_blocks(left: Any, right: Any) -> bool:
    if len(left.operators) != len(right.operators):
        return False
    pairs = zip(left.operators, right.operators, strict=True)
    return all(a.domain_dimension.is_compatible_with(b.range_dimension) for a, b in pairs)


@rules.product(LinearOperatorBlockDiag, LinearOperatorBlockDiag)
def _block_product(left: Any, right: Any) -> Any:
    if not _same_blocks(left, right):
        return _product(left, right)
    pairs = zip(left.operators, right.operators, strict=True)
    return LinearOperatorBlockDiag(
        [a.matmul(b) for a, b in pairs],
        is_non_singular=h.non_singular_product(left, right),
        is_square=left.is_square and right.is_square,
    )


@rules.solution(LinearOperatorBlockDiag, LinearOperatorBlockDiag)
def _block_solution(left: Any, right: Any) -> Any:
    if not _same_blocks(left, right) or any(o.is_square is False for o in left.operators):
        return _solution(left, right)
    pairs = zip(left.operators, right.operators, strict=True)
    return LinearOperatorBlockDiag(
        [a.solve(b) for a, b in pairs],
        is_non_singular=h.non_singular_product(left, right),
        is_square=right.is_square,
    )


@rules.solution(LinearOperatorInversion, LinearOperator)
def _product_with_inverted(left: Any, right: Any) -> Any:
    return left.operator.matmul(right)
