"""The operator of Toeplitz matrices, multiplied through Fourier transforms.

Source: Golub and Van Loan, Matrix Computations, 4th edition, section 4.8.4: a Toeplitz matrix is a
corner of a circulant one of twice the size.
"""

from typing import Any, ClassVar

import numpy as np

from penstock.core.execute import execute
from penstock.ops.array_gather import gather
from penstock.ops.array_order import matrix_transpose, reverse
from penstock.ops.composing import concat, number, tensor
from penstock.ops.debug_asserts import assert_equal
from penstock.ops.linear_operators import hints as h
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.linear_operators.defaults import repeated
from penstock.ops.math_arithmetic import conjugate, multiply
from penstock.ops.math_cast import cast
from penstock.ops.signal_fft import fft, ifft
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape


class LinearOperatorToeplitz(LinearOperator):
    """The operator of matrices that are constant along each diagonal.

    Args:
      col: floating or complex tensor or variable [..., N], the first columns.
      row: tensor or variable [..., N] of the same dtype, the first rows; their first elements are
        those of `col`, which are used.
      is_non_singular: hint, see `LinearOperator`.
      is_self_adjoint: hint.
      is_positive_definite: hint.
      is_square: None or True.
      name: the name of its scope.

    Raises:
      ValueError: the rank is 0, the sizes differ, or `is_square` is false.
      TypeError: the dtypes differ.

    Example:
      >>> operator = tf.linalg.LinearOperatorToeplitz([1.0, 2.0], [1.0, 3.0])
      >>> operator.to_dense().numpy().tolist()
      [[1.0, 3.0], [2.0, 1.0]]
    """

    _experimental_parameter_ndims_to_matrix_ndims: ClassVar[Any] = {"col": 1, "row": 1}

    def __init__(
        self,
        col: Any,
        row: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        self._col, self._row = v.parameter(col, "col"), v.parameter(row, "row")
        for value, what in ((self._row, "row"), (self._col, "col")):
            v.require_rank(value, 1, f"Argument {what}")
        self._check_pair()
        is_square = h.require(
            is_square, True, "Only square Toeplitz operators currently supported."
        )
        super().__init__(
            self._row.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip
        self._shape()  # stacks that do not broadcast are refused now

    def _check_pair(self) -> None:
        if self._col.dtype.base_dtype != self._row.dtype.base_dtype:
            raise TypeError(
                f"LinearOperatorToeplitz: expected col and row of one dtype, got "
                f"{self._col.dtype.name} and {self._row.dtype.name}. Cast one of them."
            )
        sizes = [None if d is None else d[-1] for d in map(v.dims_of, (self._col, self._row))]
        if None not in sizes and sizes[0] != sizes[1]:
            raise ValueError(
                "Expected square matrix, got row and col with mismatched dimensions. Got sizes "
                f"{sizes[1]} and {sizes[0]}."
            )

    @property
    def col(self) -> Any:
        """The first columns."""
        return self._col

    @property
    def row(self) -> Any:
        """The first rows."""
        return self._row

    def _shape(self) -> TensorShape:
        batch = v.broadcast_batches(
            "LinearOperatorToeplitz", v.batch_dims(self._col, 1), v.batch_dims(self._row, 1)
        )
        if batch is None:
            return TensorShape(None)
        sizes = [v.dims_of(x)[-1] for x in (self._col, self._row)]  # type: ignore[index]
        side = sizes[1] if sizes[0] is None else sizes[0]
        return TensorShape.from_dims((*batch, side, side))

    def _shape_tensor(self) -> Any:
        col, row = tensor(self._col), tensor(self._row)
        batch = v.broadcast_shapes(v.lead_of(col, 1), v.lead_of(row, 1))
        side = v.size_of(row, -1)
        return v.joined(batch, v.vector([side, side]))

    def _pair(self, adjoint: bool = False) -> tuple[Any, Any]:
        """First column and first row, of one stack."""
        col, row = tensor(self._col), tensor(self._row)
        row = concat([execute("Mul", (col[..., :1], _ones(row[..., :1]))), _tail(row, col)], -1)
        col = execute("Mul", (col, _ones(row[..., :1])))
        return (conjugate(row), conjugate(col)) if adjoint else (col, row)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        v.broadcast_batches(self._name, self.batch_shape.dims_tuple, v.batch_dims(x, 2))
        col, row = self._pair(adjoint)
        wide = self.dtype in (dt.float64, dt.complex128)
        kind = dt.complex128 if wide else dt.complex64
        columns = cast(matrix_transpose(v.turned(x, adjoint_arg)), kind)
        around = concat([col, _zeros(col[..., :1]), reverse(row[..., 1:], [-1])], -1)
        spectrum = fft(cast(around, kind))
        waves = fft(concat([columns, _zeros(columns)], -1))
        product = ifft(multiply(waves, spectrum[..., None, :]))
        size = v.size_of(col, -1)
        return v.narrowed(matrix_transpose(product[..., :size]), self.dtype)

    def _to_dense(self) -> Any:
        col, row = self._pair()
        size = v.size_of(col, -1)
        values = concat([reverse(row[..., 1:], [-1]), col], -1)
        places = _range(size)
        index = places[:, None] - places[None, :] + (size - 1)
        return gather(values, index, axis=-1)

    def _first(self) -> Any:
        return execute("Sum", (self._pair()[0][..., :1], v.LAST))

    def _trace(self) -> Any:
        size = self._size(-1)
        count = number(size, self.dtype) if isinstance(size, int) else cast(size, self.dtype)
        return multiply(count, self._first())

    def _diag_part(self) -> Any:
        return repeated(self._first(), self._size(-1))

    def _assert_self_adjoint(self) -> Any:
        col, row = self._pair()
        return assert_equal(
            conjugate(row), col,
            message="row and col are not the same, and so this operator is not self-adjoint.",
        )  # fmt: skip


def _range(size: v.Size) -> Any:
    return (
        np.arange(size, dtype=np.int32)
        if isinstance(size, int)
        else execute("Range", (np.int32(0), size, np.int32(1)))
    )


def _ones(x: Any) -> Any:
    return execute("OnesLike", (x,))


def _zeros(x: Any) -> Any:
    return execute("ZerosLike", (x,))


def _tail(row: Any, col: Any) -> Any:
    """What follows the first element of a row, for the stack of the column too."""
    return execute("Mul", (row[..., 1:], _ones(col[..., :1])))
