"""Identity operators, plain and scaled."""

from typing import Any, ClassVar

from penstock.core.execute import execute
from penstock.ops.array_diag import diag_part, set_diag
from penstock.ops.array_fill import eye
from penstock.ops.composing import number, shape_of, tensor
from penstock.ops.linear_operators import hints as h
from penstock.ops.linear_operators import sizes
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.linear_operators.checks import assert_positive_real, assert_real, nothing
from penstock.ops.linear_operators.defaults import ones_like_batch, repeated
from penstock.ops.math_arithmetic import add_v2, conjugate, multiply
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_cast import cast
from penstock.ops.math_division import real_div
from penstock.ops.math_elementwise import log, reciprocal, sqrt
from penstock.types import dtypes as dt
from penstock.types.dims import Dims


def _as_number(size: v.Size, dtype: Any) -> Any:
    """A number of rows in the dtype of the matrices."""
    return number(size, dtype) if isinstance(size, int) else cast(size, dtype)


class LinearOperatorIdentity(sizes.Sized):
    """The operator of identity matrices.

    Args:
      num_rows: integer scalar N >= 0.
      batch_shape: integers or an integer vector, the shape of the stack; none by default.
      dtype: the dtype; float32 by default.
      is_non_singular: None or True, as the other hints.
      is_self_adjoint: hint.
      is_positive_definite: hint.
      is_square: hint.
      assert_proper_shapes: whether sizes that are not known now are checked when they are.
      name: the name of its scope.

    Raises:
      TypeError: a size is no integer.
      ValueError: a size is negative or of another rank, or a hint is false.

    Example:
      >>> tf.linalg.LinearOperatorIdentity(2).matvec([1.0, 2.0]).numpy().tolist()
      [1.0, 2.0]
    """

    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        hints = {
            "is_self_adjoint": (is_self_adjoint, "self adjoint"),
            "is_square": (is_square, "square"),
            "is_non_singular": (is_non_singular, "non-singular"),
            "is_positive_definite": (is_positive_definite, "positive-definite"),
        }
        found: h.Hints = {
            key: h.require(value, True, f"An identity operator is always {what}.")
            for key, (value, what) in hints.items()
        }
        self._num_rows = sizes.size(num_rows, "num_rows", assert_proper_shapes)
        self._batch = sizes.stack(batch_shape, assert_proper_shapes)
        super().__init__(dt.float32 if dtype is None else dtype, name=name, **found)

    def _broadcast(self, x: Any) -> Any:
        if self._static_batch() == ():
            return x
        return v.with_batch(x, self._batch_vector(), self._static_batch())

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        del adjoint
        return self._broadcast(v.turned(x, adjoint_arg))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _to_dense(self) -> Any:
        return eye(self._num_rows, batch_shape=self._batch_size(), dtype=self.dtype)

    def _diag_part(self) -> Any:
        return repeated(ones_like_batch(self), self._num_rows)

    def _trace(self) -> Any:
        return multiply(_as_number(self._num_rows, self.dtype), ones_like_batch(self))

    def _determinant(self) -> Any:
        return ones_like_batch(self)

    def _log_abs_determinant(self) -> Any:
        return execute("ZerosLike", (ones_like_batch(self),))

    def _eigvals(self) -> Any:
        return self._diag_part()

    def _cond(self) -> Any:
        return ones_like_batch(self)

    def _add_to_tensor(self, x: Any) -> Any:
        x = self._broadcast(x)
        diagonal = diag_part(x)
        return set_diag(x, add_v2(diagonal, execute("OnesLike", (diagonal,))))

    def _assert_non_singular(self) -> Any:
        return nothing("assert_non_singular")

    def _assert_positive_definite(self) -> Any:
        return nothing("assert_positive_definite")

    def _assert_self_adjoint(self) -> Any:
        return nothing("assert_self_adjoint")

    def _linop_adjoint(self) -> LinearOperator:
        return self

    def _linop_inverse(self) -> LinearOperator:
        return self

    def _linop_cholesky(self) -> LinearOperator:
        return LinearOperatorIdentity(
            self._num_rows, self._as_parameter(self._batch), self.dtype, **h.of(self)
        )


class LinearOperatorScaledIdentity(sizes.Sized):
    """The operator of identity matrices, each times a number.

    Args:
      num_rows: integer scalar N >= 0.
      multiplier: tensor or variable [...], the numbers.
      is_non_singular: hint, see `LinearOperator`.
      is_self_adjoint: hint; always true for real numbers.
      is_positive_definite: hint.
      is_square: None or True.
      assert_proper_shapes: whether a number of rows that is not known now is checked when it is.
      name: the name of its scope.

    Raises:
      TypeError: the number of rows is no integer.
      ValueError: it is negative, or a hint cannot be.

    Example:
      >>> operator = tf.linalg.LinearOperatorScaledIdentity(2, multiplier=3.0)
      >>> operator.matvec([1.0, 2.0]).numpy().tolist()
      [3.0, 6.0]
    """

    _experimental_parameter_ndims_to_matrix_ndims: ClassVar[Any] = {"multiplier": 0, "num_rows": 0}

    def __init__(
        self,
        num_rows: Any,
        multiplier: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        self._multiplier = v.parameter(multiplier, "multiplier")
        if not self._multiplier.dtype.is_complex:
            is_self_adjoint = h.require(
                is_self_adjoint, True, "A real multiplier is always self adjoint."
            )
        is_square = h.require(is_square, True, "A ScaledIdentity operator is always square.")
        self._num_rows = sizes.size(num_rows, "num_rows", assert_proper_shapes)
        super().__init__(
            self._multiplier.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip

    @property
    def multiplier(self) -> Any:
        """The number of each matrix."""
        return self._multiplier

    def _now(self, adjoint: bool = False, axes: int = 0) -> Any:
        """The numbers, with axes of size 1 behind."""
        found = tensor(self._multiplier)
        found = conjugate(found) if adjoint else found
        return found[(..., *[None] * axes)] if axes else found

    def _static_batch(self) -> Dims:
        return v.dims_of(self._multiplier)

    def _batch_vector(self) -> Any:
        return shape_of(self._now())

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return multiply(v.turned(x, adjoint_arg), self._now(adjoint, 2))

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return multiply(x, self._now(adjoint, 1))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return real_div(v.turned(rhs, adjoint_arg), self._now(adjoint, 2))

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return real_div(rhs, self._now(adjoint, 1))

    def _to_dense(self) -> Any:
        return multiply(eye(self._num_rows, dtype=self.dtype), self._now(axes=2))

    def _diag_part(self) -> Any:
        return repeated(self._now(), self._num_rows)

    def _trace(self) -> Any:
        return multiply(_as_number(self._num_rows, self.dtype), self._now())

    def _determinant(self) -> Any:
        return execute("Pow", (self._now(), _as_number(self._num_rows, self.dtype)))

    def _log_abs_determinant(self) -> Any:
        logarithm = log(absolute(self._now()))
        return multiply(_as_number(self._num_rows, logarithm.dtype), logarithm)

    def _eigvals(self) -> Any:
        return self._diag_part()

    def _cond(self) -> Any:
        size = absolute(self._now())
        return cast(real_div(size, size), self.dtype)

    def _add_to_tensor(self, x: Any) -> Any:
        x = v.with_batch(x, self._batch_vector(), self._static_batch())
        return set_diag(x, add_v2(diag_part(x), self._now(axes=1)))

    def _assert_non_singular(self) -> Any:
        return assert_positive_real(absolute(self._now()), "LinearOperator was singular.")

    def _assert_positive_definite(self) -> Any:
        return assert_positive_real(self._now(), "LinearOperator was not positive definite.")

    def _assert_self_adjoint(self) -> Any:
        return assert_real(self._now(), "LinearOperator was not self-adjoint")

    def _with(self, multiplier: Any, **hints: Any) -> LinearOperator:
        return LinearOperatorScaledIdentity(self._num_rows, multiplier, **hints)

    def _linop_adjoint(self) -> LinearOperator:
        return self._with(self._now(adjoint=True), **h.of(self))

    def _linop_inverse(self) -> LinearOperator:
        return self._with(reciprocal(self._now()), **h.of(self))

    def _linop_cholesky(self) -> LinearOperator:
        return self._with(sqrt(self._now()), **dict.fromkeys(h.NAMES, True))
