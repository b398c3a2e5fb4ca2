"""The operator of diagonal matrices."""

from typing import Any, ClassVar

from penstock.core.execute import execute
from penstock.ops.array_diag import diag, diag_part, set_diag
from penstock.ops.composing import expand, shape_of, tensor
from penstock.ops.linear_operators import hints as h
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.linear_operators.checks import assert_no_zeros, assert_positive_real, assert_real
from penstock.ops.linear_operators.defaults import log_of_sizes, ratio
from penstock.ops.math_arithmetic import add_v2, conjugate, multiply
from penstock.ops.math_division import real_div
from penstock.ops.math_elementwise import reciprocal, sqrt
from penstock.types.tensor_shape import TensorShape


class LinearOperatorDiag(LinearOperator):
    """The operator of diagonal matrices, of which only the diagonals are kept.

    Args:
      diag: tensor or variable [..., N].
      is_non_singular: hint, see `LinearOperator`.
      is_self_adjoint: hint; always true for a real diagonal.
      is_positive_definite: hint.
      is_square: None or True.
      name: the name of its scope.

    Raises:
      ValueError: the rank is 0, or a hint cannot be.

    Example:
      >>> operator = tf.linalg.LinearOperatorDiag([2.0, 4.0])
      >>> operator.solvevec([2.0, 2.0]).numpy().tolist()
      [1.0, 0.5]
    """

    _experimental_parameter_ndims_to_matrix_ndims: ClassVar[Any] = {"diag": 1}

    def __init__(
        self,
        diag: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        self._diag = v.parameter(diag, "diag")
        v.require_rank(self._diag, 1, "Argument diag")
        if not self._diag.dtype.is_complex:
            is_self_adjoint = h.require(
                is_self_adjoint, True, "A real diagonal operator is always self adjoint."
            )
        is_square = h.require(
            is_square, True, "Only square diagonal operators currently supported."
        )
        super().__init__(
            self._diag.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip

    @property
    def diag(self) -> Any:
        """The diagonals."""
        return self._diag

    def _now(self, adjoint: bool = False) -> Any:
        diag = tensor(self._diag)
        return conjugate(diag) if adjoint else diag

    def _shape(self) -> TensorShape:
        return v.square_shape(v.dims_of(self._diag))

    def _shape_tensor(self) -> Any:
        shape = shape_of(self._now())
        return v.joined(shape, shape[-1:])

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return multiply(expand(self._now(adjoint), -1), v.turned(x, adjoint_arg))

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return multiply(self._now(adjoint), x)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return real_div(v.turned(rhs, adjoint_arg), expand(self._now(adjoint), -1))

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return real_div(rhs, self._now(adjoint))

    def _to_dense(self) -> Any:
        return diag(self._now())

    def _diag_part(self) -> Any:
        return self._now()

    def _add_to_tensor(self, x: Any) -> Any:
        found = v.with_batch(x, v.lead_of(self._now(), 1), v.batch_dims(self._diag, 1))
        return set_diag(found, add_v2(diag_part(found), self._now()))

    def _determinant(self) -> Any:
        return execute("Prod", (self._now(), v.LAST))

    def _log_abs_determinant(self) -> Any:
        return log_of_sizes(self._now(), self.dtype)

    def _eigvals(self) -> Any:
        return self._now()

    def _cond(self) -> Any:
        return ratio(self._now())

    def _assert_non_singular(self) -> Any:
        return assert_no_zeros(self._now(), "Singular operator:  Diagonal contained zero values.")

    def _assert_positive_definite(self) -> Any:
        kind = (
            "Diagonal operator had diagonal entries with non-positive real part"
            if self.dtype.is_complex
            else "Real diagonal operator had non-positive diagonal entries"
        )
        return assert_positive_real(self._now(), f"{kind}, thus was not positive definite.")

    def _assert_self_adjoint(self) -> Any:
        return assert_real(
            self._now(),
            "This diagonal operator contained non-zero imaginary values.  Thus it was not "
            "self-adjoint.",
        )

    def _linop_adjoint(self) -> Any:
        return LinearOperatorDiag(self._now(adjoint=True), **h.of(self))

    def _linop_inverse(self) -> Any:
        return LinearOperatorDiag(reciprocal(self._now()), **h.of(self))

    def _linop_cholesky(self) -> Any:
        return LinearOperatorDiag(
            sqrt(self._now()),
            is_non_singular=True,
            is_self_adjoint=True,
            is_positive_definite=True,
            is_square=True,
        )
