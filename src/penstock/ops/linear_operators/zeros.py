"""The operator of matrices of zeros."""

from typing import Any

import numpy as np

from penstock import errors
from penstock.core.execute import execute
from penstock.ops.composing import number, shape_of
from penstock.ops.linear_operators import hints as h
from penstock.ops.linear_operators import sizes
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.linear_operators.checks import nothing
from penstock.types import dtypes as dt


class LinearOperatorZeros(sizes.Sized):
    """The operator of matrices of zeros.

    Args:
      num_rows: integer scalar M >= 0.
      num_columns: integer scalar N >= 0; `num_rows` by default.
      batch_shape: integers or an integer vector, the shape of the stack; none by default.
      dtype: the dtype; float32 by default.
      is_non_singular: None or False.
      is_self_adjoint: hint; None or True for a square operator.
      is_positive_definite: None or False.
      is_square: whether `num_columns` is `num_rows`.
      assert_proper_shapes: whether sizes that are not known now are checked when they are.
      name: the name of its scope.

    Raises:
      TypeError: a size is no integer.
      ValueError: a size is negative or of another rank, or a hint cannot be.

    Example:
      >>> tf.linalg.LinearOperatorZeros(2).matvec([1.0, 2.0]).numpy().tolist()
      [0.0, 0.0]
    """

    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        self._num_rows = sizes.size(num_rows, "num_rows", assert_proper_shapes)
        self._num_columns = (
            self._num_rows
            if num_columns is None
            else sizes.size(num_columns, "num_columns", assert_proper_shapes)
        )
        self._batch = sizes.stack(batch_shape, assert_proper_shapes)
        if is_self_adjoint is False and is_square is True:
            h.require(False, True, "A zero operator is always self adjoint.")
        h.require(is_non_singular, False, "A zero operator is always singular.")
        h.require(is_positive_definite, False, "A zero operator is always not positive-definite.")
        self._check_square(is_square)
        super().__init__(
            dt.float32 if dtype is None else dtype, None, False, is_self_adjoint, False, is_square,
            name,
        )  # fmt: skip

    def _check_square(self, is_square: bool | None) -> None:
        rows, columns = self._num_rows, self._num_columns
        if is_square and isinstance(rows, int) and isinstance(columns, int) and rows != columns:
            raise ValueError(
                f"LinearOperatorZeros initialized as is_square=True, but got num_rows({rows}) != "
                f"num_columns({columns}). Pass is_square=False and is_self_adjoint=False."
            )

    def _columns(self) -> v.Size:
        return self._num_columns

    def _zeros(self, *sizes_: v.Size, stack: Any = None) -> Any:
        lead = self._batch_vector() if stack is None else stack
        return execute("Fill", (v.joined(lead, v.vector(sizes_)), number(0, self.dtype)))

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rows = self._num_columns if adjoint else self._num_rows
        columns = v.size_of(x, -2 if adjoint_arg else -1)
        static = v.broadcast_batches(self._name, self._static_batch(), v.batch_dims(x, 2))
        stack = v.broadcast_shapes(self._batch_vector(), v.lead_of(x, 2))
        given = v.dims_of(x)
        same = None if given is None or not self.is_square else given[-1 if adjoint_arg else -2]
        return v.known_to_be(self._zeros(rows, columns, stack=stack), static, (same, None))

    def _to_dense(self) -> Any:
        return self._zeros(self._num_rows, self._num_columns)

    def _diagonal_size(self) -> v.Size:
        rows, columns = self._num_rows, self._num_columns
        if isinstance(rows, int) and isinstance(columns, int):
            return min(rows, columns)
        return execute("Minimum", (rows, columns))

    def _diag_part(self) -> Any:
        return self._zeros(self._diagonal_size())

    def _trace(self) -> Any:
        return self._zeros()

    def _determinant(self) -> Any:
        return self._zeros()

    def _log_abs_determinant(self) -> Any:
        return execute("Fill", (self._batch_vector(), number(-np.inf, self.dtype)))

    def _eigvals(self) -> Any:
        return self._diag_part()

    def _cond(self) -> Any:
        return execute("Fill", (self._batch_vector(), number(np.nan, self.dtype.real_dtype)))

    def _add_to_tensor(self, x: Any) -> Any:
        stack = v.broadcast_shapes(self._batch_vector(), v.lead_of(x, 2))
        whole = v.joined(stack, v.vector([self._num_rows, self._num_columns]))
        return execute("BroadcastTo", (x, v.broadcast_shapes(shape_of(x), whole)))

    def _assert_non_singular(self) -> Any:
        return _fail("non-invertible")

    def _assert_positive_definite(self) -> Any:
        return _fail("non-positive definite")

    def _assert_self_adjoint(self) -> Any:
        return nothing("assert_self_adjoint")

    def _linop_adjoint(self) -> LinearOperator:
        if self.is_square:
            return self
        return LinearOperatorZeros(
            self._num_columns, self._num_rows, self._as_parameter(self._batch), self.dtype,
            **h.of(self),
        )  # fmt: skip


def _fail(what: str) -> Any:
    raise errors.InvalidArgumentError(
        None,
        None,
        f"Zero operators are always {what}. Add something to the diagonal to make it otherwise.",
    )
