"""Circulant operators: convolutions with wrap-around, products of spectra with Fourier transforms.

A circulant matrix is F^-1 diag(spectrum) F, with F the discrete Fourier transform in one, two or
three dimensions; its first column is the convolution kernel, the inverse transform of the spectrum.

Source: Golub and Van Loan, Matrix Computations, 4th edition, section 4.8.
"""

import functools
from typing import Any, ClassVar

import numpy as np

from penstock.core.execute import execute
from penstock.ops.array_order import matrix_transpose
from penstock.ops.composing import number, reshape, shape_of, tensor
from penstock.ops.debug_asserts import assert_less_equal
from penstock.ops.linear_operators import hints as h
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.linear_operators.checks import assert_no_zeros, assert_positive_real, assert_real
from penstock.ops.linear_operators.defaults import log_of_sizes, ratio, repeated
from penstock.ops.linear_operators.scopes import scoped
from penstock.ops.math_arithmetic import conjugate, multiply
from penstock.ops.math_cast import abs as absolute
from penstock.ops.math_cast import cast, imag
from penstock.ops.math_division import real_div
from penstock.ops.math_elementwise import reciprocal
from penstock.ops.signal_fft import fft, fft2d, fft3d, ifft, ifft2d, ifft3d
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape

FORWARD = {1: fft, 2: fft2d, 3: fft3d}
BACK = {1: ifft, 2: ifft2d, 3: ifft3d}


class Circulant(LinearOperator):
    """The operator of circulant matrices in as many dimensions as a subclass says."""

    _depth: ClassVar[int]

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dt.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        self._spectrum = v.parameter(spectrum, "spectrum")
        v.require_rank(self._spectrum, self._depth, "Argument `spectrum`")
        is_square = h.require(
            is_square, True, "A [[nested] block] circulant operator is always square."
        )
        if not self._spectrum.dtype.is_complex:
            is_self_adjoint = h.require(
                is_self_adjoint, True,
                "A real spectrum always corresponds to a self-adjoint operator.",
            )  # fmt: skip
        super().__init__(
            input_output_dtype, None, is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip

    @property
    def spectrum(self) -> Any:
        """The spectrum as it was given."""
        return self._spectrum

    @property
    def block_depth(self) -> int:
        """The number of dimensions: 1, 2 or 3."""
        return self._depth

    @property
    def block_shape(self) -> TensorShape:
        """The sizes of the dimensions."""
        shape: TensorShape = self._spectrum.shape
        return shape[-self._depth :]

    def block_shape_tensor(self) -> Any:
        """The sizes of the dimensions as an int32 vector."""
        return shape_of(tensor(self._spectrum))[-self._depth :]

    @property
    def _complex(self) -> Any:
        wide = self.dtype in (dt.float64, dt.complex128)
        return dt.complex128 if wide else dt.complex64

    def _spectrum_now(self) -> Any:
        return cast(tensor(self._spectrum), self._complex)

    def _flat(self) -> Any:
        """The spectrum as vectors [..., N], in the dtype it was given in."""
        spectrum = tensor(self._spectrum)
        if self._depth == 1:
            return spectrum
        return v.reshaped(spectrum, v.lead_of(spectrum, self._depth), self._size(-1))

    def _shape(self) -> TensorShape:
        dims = v.dims_of(self._spectrum)
        if dims is None:
            return TensorShape(None)
        inner = dims[-self._depth :]
        side = None if None in inner else int(np.prod(inner))  # type: ignore[arg-type]
        return TensorShape.from_dims((*dims[: -self._depth], side, side))

    def _shape_tensor(self) -> Any:
        shape = shape_of(tensor(self._spectrum))
        side = functools.reduce(lambda a, b: a * b, [shape[-i - 1] for i in range(self._depth)])
        return v.joined(shape[: -self._depth], v.vector([side, side]))

    # ---- through the transform

    def _filtered(self, x: Any, spectrum: Any) -> Any:
        """F^-1 diag(spectrum) F x, for matrices x [..., N, K]."""
        v.broadcast_batches(self._name, self.batch_shape.dims_tuple, v.batch_dims(x, 2))
        columns = matrix_transpose(cast(x, self._complex))
        if self._depth == 1:
            product = multiply(fft(columns), spectrum[..., None, :])
            return v.narrowed(matrix_transpose(ifft(product)), self.dtype)
        rows = v.lead_of(columns, 1)
        waves = FORWARD[self._depth](reshape(columns, v.joined(rows, self.block_shape_tensor())))
        inner = (slice(None),) * self._depth
        found = BACK[self._depth](multiply(waves, spectrum[(..., None, *inner)]))
        flat = v.reshaped(found, v.lead_of(found, self._depth), self._size(-1))
        return v.narrowed(matrix_transpose(flat), self.dtype)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        spectrum = self._spectrum_now()
        return self._filtered(
            v.turned(x, adjoint_arg), conjugate(spectrum) if adjoint else spectrum
        )

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        spectrum = self._spectrum_now()
        return self._filtered(
            v.turned(rhs, adjoint_arg), reciprocal(conjugate(spectrum) if adjoint else spectrum)
        )

    @scoped
    def convolution_kernel(self, name: str = "convolution_kernel") -> Any:
        """The first columns of the matrices in the shape of the spectrum, in the operator's dtype.

        Args:
          name: the name of the scope in a graph.
        """
        return v.narrowed(BACK[self._depth](self._spectrum_now()), self.dtype)

    # ---- numbers

    def _trace(self) -> Any:
        return v.narrowed(execute("Sum", (self._flat(), v.LAST)), self.dtype)

    def _diag_part(self) -> Any:
        size = self._size(-1)
        count = number(size, self.dtype) if isinstance(size, int) else cast(size, self.dtype)
        return repeated(real_div(self._trace(), count), size)

    def _determinant(self) -> Any:
        return v.narrowed(execute("Prod", (self._flat(), v.LAST)), self.dtype)

    def _log_abs_determinant(self) -> Any:
        return log_of_sizes(self._flat(), self.dtype)

    def _eigvals(self) -> Any:
        return tensor(self._flat())

    def _cond(self) -> Any:
        return ratio(self._flat())

    # ---- checks

    @scoped
    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Any:
        """Fails unless the convolution kernel is real: the spectrum at -k is the conjugate at k.

        Args:
          name: the name of the scope in a graph.

        Returns:
          None; in a graph the Operation that checks.

        Raises:
          InvalidArgumentError: it is not.
        """
        kernel = BACK[self._depth](self._spectrum_now())
        size = execute("Max", (absolute(self._spectrum_now()), _every(kernel)))
        bound = multiply(size, number(ROUNDING * _precision(kernel.dtype), size.dtype))
        return assert_less_equal(
            absolute(imag(kernel)), bound, message="Spectrum was not Hermitian"
        )

    def _assert_non_singular(self) -> Any:
        return assert_no_zeros(
            tensor(self._spectrum), "Singular operator:  Spectrum contained zero values."
        )

    def _assert_positive_definite(self) -> Any:
        return assert_positive_real(
            tensor(self._spectrum),
            "Not positive definite:  Real part of spectrum was not all positive.",
        )

    def _assert_self_adjoint(self) -> Any:
        return assert_real(
            tensor(self._spectrum),
            "Not self-adjoint:  The spectrum contained non-zero imaginary part.",
        )

    # ---- other operators

    def _with(self, spectrum: Any, **hints: Any) -> LinearOperator:
        return type(self)(spectrum, self.dtype, **hints)

    def _linop_adjoint(self) -> LinearOperator:
        return self._with(conjugate(tensor(self._spectrum)), **h.of(self))

    def _linop_inverse(self) -> LinearOperator:
        return self._with(reciprocal(tensor(self._spectrum)), **h.of(self))


ROUNDING = 100  # imaginary parts of a real kernel, in units of the precision, that are rounding


def _precision(dtype: Any) -> float:
    return float(np.finfo(dtype.real_dtype.numpy_dtype).eps)


def _every(x: Any) -> Any:
    return np.arange(len(x.dims), dtype=np.int32)


class LinearOperatorCirculant(Circulant):
    """The operator of circulant matrices; products take Fourier transforms.

    Args:
      spectrum: tensor or variable [..., N], the eigenvalues: the transform of the convolution
        kernel. One that is real makes the operator self-adjoint; one with conjugate elements at k
        and -k makes its matrices real.
      input_output_dtype: the operator's dtype; imaginary parts are dropped for a real one.
      is_non_singular: hint, see `LinearOperator`.
      is_self_adjoint: hint; always true for a real spectrum.
      is_positive_definite: hint.
      is_square: None or True.
      name: the name of its scope.

    Raises:
      ValueError: the rank is below 1, or a hint cannot be.

    Example:
      >>> operator = tf.linalg.LinearOperatorCirculant([3.0, 1.0], input_output_dtype=tf.float32)
      >>> operator.to_dense().numpy().tolist()
      [[2.0, 1.0], [1.0, 2.0]]
    """

    _depth = 1
    _experimental_parameter_ndims_to_matrix_ndims: ClassVar[Any] = {"spectrum": 1}

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dt.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        super().__init__(
            spectrum, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip


class LinearOperatorCirculant2D(Circulant):
    """The operator of block circulant matrices; see `LinearOperatorCirculant`.

    Args:
      spectrum: tensor or variable [..., N0, N1], the eigenvalues: the transform of the convolution
        kernel. One that is real makes the operator self-adjoint; one with conjugate elements at k
        and -k makes its matrices real.
      input_output_dtype: the operator's dtype; imaginary parts are dropped for a real one.
      is_non_singular: hint, see `LinearOperator`.
      is_self_adjoint: hint; always true for a real spectrum.
      is_positive_definite: hint.
      is_square: None or True.
      name: the name of its scope.

    Raises:
      ValueError: the rank is below 2, or a hint cannot be.
    """

    _depth = 2
    _experimental_parameter_ndims_to_matrix_ndims: ClassVar[Any] = {"spectrum": 2}

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dt.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant2D",
    ) -> None:
        super().__init__(
            spectrum, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip


class LinearOperatorCirculant3D(Circulant):
    """The operator of nested block circulant matrices; see `LinearOperatorCirculant`.

    Args:
      spectrum: tensor or variable [..., N0, N1, N2], the eigenvalues: the transform of the
        convolution kernel. One that is real makes the operator self-adjoint; one with conjugate
        elements at k and -k makes its matrices real.
      input_output_dtype: the operator's dtype; imaginary parts are dropped for a real one.
      is_non_singular: hint, see `LinearOperator`.
      is_self_adjoint: hint; always true for a real spectrum.
      is_positive_definite: hint.
      is_square: None or True.
      name: the name of its scope.

    Raises:
      ValueError: the rank is below 3, or a hint cannot be.
    """

    _depth = 3
    _experimental_parameter_ndims_to_matrix_ndims: ClassVar[Any] = {"spectrum": 3}

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dt.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant3D",
    ) -> None:
        super().__init__(
            spectrum, input_output_dtype, is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip
