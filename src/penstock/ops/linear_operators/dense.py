"""Operators that have their numbers at hand: any matrix, and lower triangular ones."""

from typing import Any, ClassVar

from penstock.core.execute import execute
from penstock.ops.array_bands import band_part
from penstock.ops.array_diag import diag_part
from penstock.ops.composing import shape_of, tensor
from penstock.ops.linalg_solve import triangular_solve
from penstock.ops.linear_operators import hints as h
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.linear_operators.checks import assert_no_zeros
from penstock.ops.linear_operators.defaults import log_of_sizes
from penstock.ops.math_matmul import matmul
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape


class LinearOperatorFullMatrix(LinearOperator):
    """The operator of the matrices given.

    Args:
      matrix: floating or complex tensor or variable [..., M, N].
      is_non_singular: hint, see `LinearOperator`.
      is_self_adjoint: hint.
      is_positive_definite: hint. With `is_self_adjoint`, equations are solved by Cholesky factors.
      is_square: hint.
      name: the name of its scope.

    Raises:
      TypeError: the dtype is another one.
      ValueError: the rank is below 2, or the hints contradict each other.

    Example:
      >>> operator = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
      >>> operator.matvec([1.0, 1.0]).numpy().tolist()
      [3.0, 7.0]
    """

    _experimental_parameter_ndims_to_matrix_ndims: ClassVar[Any] = {"matrix": 2}

    def __init__(
        self,
        matrix: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        self._matrix = v.parameter(matrix, "matrix")
        kind = dt.as_dtype(self._matrix.dtype).base_dtype
        if kind not in v.MATRIX_DTYPES:
            raise TypeError(
                f"Argument `matrix` must have dtype in {[t.name for t in v.MATRIX_DTYPES]}. "
                f"Received: {kind!r}. Cast it."
            )
        v.require_rank(self._matrix, 2, "Argument `matrix`")
        super().__init__(
            kind, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    @property
    def matrix(self) -> Any:
        """The matrices."""
        return self._matrix

    def _shape(self) -> TensorShape:
        return self._matrix.shape  # type: ignore[no-any-return]

    def _shape_tensor(self) -> Any:
        return shape_of(tensor(self._matrix))

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self) -> Any:
        return tensor(self._matrix)


class LinearOperatorLowerTriangular(LinearOperator):
    """The operator of lower triangular matrices; equations are solved by substitution.

    Args:
      tril: tensor or variable [..., N, N]; what is above the diagonals is not read.
      is_non_singular: hint, see `LinearOperator`.
      is_self_adjoint: hint.
      is_positive_definite: hint.
      is_square: None or True.
      name: the name of its scope.

    Raises:
      ValueError: the rank is below 2, `is_square` is false, or the hints contradict each other.

    Example:
      >>> operator = tf.linalg.LinearOperatorLowerTriangular([[2.0, 9.0], [1.0, 4.0]])
      >>> operator.solvevec([2.0, 9.0]).numpy().tolist()
      [1.0, 2.0]
    """

    _experimental_parameter_ndims_to_matrix_ndims: ClassVar[Any] = {"tril": 2}

    def __init__(
        self,
        tril: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        self._tril = v.parameter(tril, "tril")
        v.require_rank(self._tril, 2, "Argument tril")
        is_square = h.require(
            is_square, True, "Only square lower triangular operators supported at this time."
        )
        super().__init__(
            self._tril.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip

    @property
    def tril(self) -> Any:
        """The matrices as they were given."""
        return self._tril

    def _shape(self) -> TensorShape:
        return self._tril.shape  # type: ignore[no-any-return]

    def _shape_tensor(self) -> Any:
        return shape_of(tensor(self._tril))

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return matmul(self._to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = v.turned(rhs, adjoint_arg)
        return triangular_solve(tensor(self._tril), rhs, lower=True, adjoint=adjoint)

    def _to_dense(self) -> Any:
        return band_part(tensor(self._tril), -1, 0)

    def _diag_part(self) -> Any:
        return diag_part(tensor(self._tril))

    def _determinant(self) -> Any:
        return execute("Prod", (self._diag_part(), v.LAST))

    def _log_abs_determinant(self) -> Any:
        return log_of_sizes(self._diag_part(), self.dtype.real_dtype)

    def _assert_non_singular(self) -> Any:
        return assert_no_zeros(
            self._diag_part(), "Singular operator:  Diagonal contained zero values."
        )
