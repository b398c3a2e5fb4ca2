"""The adjoint and the inverse of an operator, for want of a special class."""

from typing import Any

from penstock.ops.linalg_common import adjoint as adjoint_of
from penstock.ops.linear_operators import hints as h
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.math_arithmetic import conjugate, negative
from penstock.ops.math_elementwise import reciprocal
from penstock.types.tensor_shape import TensorShape


def _inherited(operator: Any, given: h.Hints, what: str) -> h.Hints:
    """The hints given, or else those of the operator, which must agree.

    Raises:
      ValueError: a hint contradicts the operator's.
    """
    found = {}
    for name, value in given.items():
        own = getattr(operator, name)
        if name != "is_square" and None not in (own, value) and own is not value:
            text = name.removeprefix("is_").replace("_", "-")
            raise ValueError(
                f"An operator is {text} if and only if its {what} is {text}. Got {name}={value}, "
                f"and {own} of {operator.name}: leave the hint out."
            )
        found[name] = own if value is None else value
    return found


def _agreeing(operator: Any, is_square: bool | None) -> bool | None:
    """The hint for an adjoint, which is square if its operator is.

    Raises:
      ValueError: it contradicts what is known of the operator.
    """
    own = operator.is_square
    if None not in (own, is_square) and own is not is_square:
        raise ValueError(
            "An operator is square if and only if its adjoint is square. Got "
            f"is_square={is_square}, and {own} of {operator.name}: leave the hint out."
        )
    return is_square


class _OfAnother(LinearOperator):
    """An operator that has what another one has: its condition, and its properties."""

    _operator: LinearOperator

    def _cond(self) -> Any:
        return self._operator.cond()

    def _assert_non_singular(self) -> Any:
        return self._operator.assert_non_singular()

    def _assert_self_adjoint(self) -> Any:
        return self._operator.assert_self_adjoint()

    def _assert_positive_definite(self) -> Any:
        return self._operator.assert_positive_definite()


class LinearOperatorAdjoint(_OfAnother):
    """The operator of the conjugate transposes of another one's matrices.

    Args:
      operator: a LinearOperator [..., M, N].
      is_non_singular: hint; that of `operator` by default, like the others.
      is_self_adjoint: hint.
      is_positive_definite: hint.
      is_square: hint.
      name: the name of its scope; that of `operator` with "_adjoint" by default.

    Raises:
      ValueError: a hint contradicts that of `operator`.

    Example:
      >>> full = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
      >>> tf.linalg.LinearOperatorAdjoint(full).to_dense().numpy().tolist()
      [[1.0, 3.0], [2.0, 4.0]]
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operator = operator
        is_square = _agreeing(operator, is_square)
        given = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        found = _inherited(operator, dict(zip(h.NAMES, given, strict=True)), "adjoint")
        super().__init__(operator.dtype, name=name or f"{operator.name}_adjoint", **found)

    @property
    def operator(self) -> LinearOperator:
        """The operator that this one is the adjoint of."""
        return self._operator

    @property
    def _adjoint_of(self) -> LinearOperator:
        return self._operator

    def _shape(self) -> TensorShape:
        dims = self._operator._dims
        return TensorShape.from_dims(None if dims is None else (*dims[:-2], dims[-1], dims[-2]))

    def _shape_tensor(self) -> Any:
        shape = self._operator.shape_tensor()
        return v.joined(shape[:-2], shape[-1:], shape[-2:-1])

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return self._operator.matvec(x, adjoint=not adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return self._operator.solvevec(rhs, adjoint=not adjoint)

    def _to_dense(self) -> Any:
        return adjoint_of(self._operator.to_dense())

    def _diag_part(self) -> Any:
        return conjugate(self._operator.diag_part())

    def _trace(self) -> Any:
        return conjugate(self._operator.trace())

    def _determinant(self) -> Any:
        return conjugate(self._operator.determinant())

    def _log_abs_determinant(self) -> Any:
        return self._operator.log_abs_determinant()

    def _eigvals(self) -> Any:
        return self._operator.eigvals() if self._operator.is_self_adjoint else super()._eigvals()

    def _singular_values(self) -> Any:
        return self._operator._singular_values()

    def _linop_adjoint(self) -> Any:
        return self._operator


class LinearOperatorInversion(_OfAnother):
    """The operator of the inverses of another one's matrices: its products are solutions.

    Args:
      operator: a LinearOperator [..., N, N] that is not known to be singular.
      is_non_singular: hint; that of `operator` by default, like the others.
      is_self_adjoint: hint.
      is_positive_definite: hint.
      is_square: hint.
      name: the name of its scope; that of `operator` with "_inv" by default.

    Raises:
      ValueError: `operator` is known to be singular or not square, or a hint contradicts its own.

    Example:
      >>> full = tf.linalg.LinearOperatorFullMatrix([[2.0, 0.0], [0.0, 4.0]])
      >>> tf.linalg.LinearOperatorInversion(full).matvec([2.0, 2.0]).numpy().tolist()
      [1.0, 0.5]
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operator = operator
        for hint, value in (("is_square", is_square), ("is_non_singular", is_non_singular)):
            own = getattr(operator, hint)
            if own is False or value is False:
                raise ValueError(
                    f"Argument `{hint}` or argument `operator` must have supplied hint `{hint}` "
                    f"equal to `True` or `None`. Found `operator.{hint}`: {own}, `{hint}`: {value}."
                )
        given = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        found = _inherited(operator, dict(zip(h.NAMES, given, strict=True)), "inverse")
        super().__init__(operator.dtype, name=name or f"{operator.name}_inv", **found)

    @property
    def operator(self) -> LinearOperator:
        """The operator that this one is the inverse of."""
        return self._operator

    def _shape(self) -> TensorShape:
        return self._operator.shape

    def _shape_tensor(self) -> Any:
        return self._operator.shape_tensor()

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return self._operator.solvevec(x, adjoint=adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return self._operator.matvec(rhs, adjoint=adjoint)

    def _determinant(self) -> Any:
        return reciprocal(self._operator.determinant())

    def _log_abs_determinant(self) -> Any:
        return negative(self._operator.log_abs_determinant())

    def _eigvals(self) -> Any:
        if not self._operator.is_self_adjoint:
            return super()._eigvals()
        return reciprocal(self._operator.eigvals())

    def _linop_inverse(self) -> Any:
        return self._operator
