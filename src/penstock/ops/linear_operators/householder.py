"""The operator of reflections.

Source: Golub and Van Loan, Matrix Computations, 4th edition, section 5.1.
"""

from typing import Any, ClassVar

import numpy as np

from penstock import errors
from penstock.core.execute import execute
from penstock.ops.array_diag import diag_part as diagonal
from penstock.ops.array_diag import set_diag
from penstock.ops.composing import number, shape_of, tensor
from penstock.ops.linear_operators import hints as h
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.linear_operators.checks import nothing
from penstock.ops.linear_operators.defaults import ones_like_batch, repeated
from penstock.ops.math_arithmetic import add_v2, conjugate, multiply, negative, subtract
from penstock.ops.math_cast import cast
from penstock.ops.math_cast import real as real_part
from penstock.ops.math_division import real_div
from penstock.ops.math_elementwise import sqrt
from penstock.types.tensor_shape import TensorShape

SMALLEST = 1e-12  # squared length below which an axis counts as zero, and nothing is reflected


class LinearOperatorHouseholder(LinearOperator):
    """The operator of reflections at the hyperplanes orthogonal to some vectors.

    The matrix for the vector v is I - 2 v v^H / |v|^2.

    Args:
      reflection_axis: floating or complex tensor or variable [..., N], the vectors; their lengths
        make no difference.
      is_non_singular: hint, see `LinearOperator`.
      is_self_adjoint: None or True.
      is_positive_definite: None or False.
      is_square: None or True.
      name: the name of its scope.

    Raises:
      ValueError: the rank is 0, or a hint cannot be.

    Example:
      >>> operator = tf.linalg.LinearOperatorHouseholder([0.0, 2.0])
      >>> operator.matvec([3.0, 4.0]).numpy().tolist()
      [3.0, -4.0]
    """

    _experimental_parameter_ndims_to_matrix_ndims: ClassVar[Any] = {"reflection_axis": 1}

    def __init__(
        self,
        reflection_axis: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        self._reflection_axis = v.parameter(reflection_axis, "reflection_axis")
        v.require_rank(self._reflection_axis, 1, "Argument reflection_axis")
        always = "A Householder operator is always"
        super().__init__(
            self._reflection_axis.dtype,
            None,
            is_non_singular,
            h.require(is_self_adjoint, True, f"{always} self adjoint."),
            h.require(is_positive_definite, False, f"{always} non-positive definite."),
            h.require(is_square, True, f"{always} square."),
            name,
        )

    @property
    def reflection_axis(self) -> Any:
        """The vectors."""
        return self._reflection_axis

    def _shape(self) -> TensorShape:
        return v.square_shape(v.dims_of(self._reflection_axis))

    def _shape_tensor(self) -> Any:
        shape = shape_of(tensor(self._reflection_axis))
        return v.joined(shape, shape[-1:])

    def _unit(self) -> Any:
        """The vectors with length one."""
        axis = tensor(self._reflection_axis)
        squares = real_part(multiply(axis, conjugate(axis)))
        total = execute("Sum", (squares, v.LAST), {"keep_dims": True})
        length = sqrt(execute("Maximum", (total, number(SMALLEST, total.dtype))))
        return real_div(axis, cast(length, self.dtype))

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        del adjoint
        x = v.turned(x, adjoint_arg)
        unit = self._unit()[..., None]
        along = execute(
            "Sum", (multiply(conjugate(unit), x), np.array([-2], np.int32)), {"keep_dims": True}
        )
        return subtract(x, multiply(multiply(number(2, self.dtype), unit), along))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _to_dense(self) -> Any:
        unit = self._unit()
        both = multiply(unit[..., :, None], conjugate(unit)[..., None, :])
        matrix = multiply(number(-2, self.dtype), both)
        main = diagonal(matrix)
        return set_diag(matrix, add_v2(main, number(1, self.dtype)))

    def _diag_part(self) -> Any:
        unit = self._unit()
        both = multiply(unit, conjugate(unit))
        return subtract(number(1, self.dtype), multiply(number(2, self.dtype), both))

    def _trace(self) -> Any:
        size = self._size(-1)
        count = number(size, self.dtype) if isinstance(size, int) else cast(size, self.dtype)
        return multiply(subtract(count, number(2, self.dtype)), ones_like_batch(self))

    def _determinant(self) -> Any:
        return negative(ones_like_batch(self))

    def _log_abs_determinant(self) -> Any:
        return execute("ZerosLike", (ones_like_batch(self),))

    def _eigvals(self) -> Any:
        size = self._size(-1)
        ones = repeated(ones_like_batch(self), size)
        first = execute("ZerosLike", (ones[..., 1:],))
        minus = negative(ones[..., :1])
        return execute("ConcatV2", ([minus, add_v2(first, number(1, self.dtype))], np.int32(-1)))

    def _cond(self) -> Any:
        return ones_like_batch(self)

    def _assert_non_singular(self) -> Any:
        return nothing("assert_non_singular")

    def _assert_positive_definite(self) -> Any:
        raise errors.InvalidArgumentError(
            None,
            None,
            "Householder operators are always non-positive definite: they turn one vector round.",
        )

    def _assert_self_adjoint(self) -> Any:
        return nothing("assert_self_adjoint")

    def _linop_adjoint(self) -> LinearOperator:
        return self

    def _linop_inverse(self) -> LinearOperator:
        return self
