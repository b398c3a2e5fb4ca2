"""The operator of tridiagonal matrices."""

from typing import Any

import numpy as np

from penstock.core.execute import execute
from penstock.ops.array_bands import band_part
from penstock.ops.array_diag import diag, diag_part
from penstock.ops.array_shape import broadcast_to
from penstock.ops.composing import shape_of, tensor, total
from penstock.ops.debug_asserts import assert_equal
from penstock.ops.linalg_banded import below
from penstock.ops.linalg_tridiagonal import compact, tridiagonal_matmul, tridiagonal_solve
from penstock.ops.linear_operators import hints as h
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.math_arithmetic import add_v2, conjugate
from penstock.types.tensor_shape import TensorShape

FORMATS = ("compact", "matrix", "sequence")


class LinearOperatorTridiag(LinearOperator):
    """The operator of tridiagonal matrices, which are multiplied and solved in linear time.

    Args:
      diagonals: as `diagonals_format` says: one tensor or variable [..., 3, N] with the diagonals
        above, on and below the main one; a list of three [..., N]; or matrices [..., N, N]. The
        last element above and the first below the diagonal are not read.
      diagonals_format: "compact", "sequence" or "matrix".
      is_non_singular: hint, see `LinearOperator`.
      is_self_adjoint: hint.
      is_positive_definite: hint.
      is_square: None or True.
      name: the name of its scope.

    Raises:
      ValueError: the format is unknown, the diagonals are not as it says, or `is_square` is false.

    Example:
      >>> operator = tf.linalg.LinearOperatorTridiag([[1.0, 0.0], [2.0, 2.0], [0.0, 1.0]])
      >>> operator.to_dense().numpy().tolist()
      [[2.0, 1.0], [1.0, 2.0]]
    """

    def __init__(
        self,
        diagonals: Any,
        diagonals_format: str = "compact",
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorTridiag",
    ) -> None:
        if diagonals_format not in FORMATS:
            raise ValueError(
                "Argument `diagonals_format` must be one of compact, matrix, or sequence. Received "
                f": {diagonals_format}."
            )
        self._diagonals_format = diagonals_format
        self._diagonals: Any
        if diagonals_format == "sequence":
            self._diagonals = _three(diagonals)
        else:
            self._diagonals = v.parameter(diagonals, "diagonals")
            v.require_rank(self._diagonals, 2, "Argument diagonals")
        is_square = h.require(is_square, True, "Only square Tridiag operators supported.")
        super().__init__(
            self._main.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip
        self._check_rows()

    def _check_rows(self) -> None:
        dims = None if self._is_sequence else v.dims_of(self._diagonals)
        if dims is None or dims[-2] is None:
            return
        if self._diagonals_format == "compact" and dims[-2] != 3:
            raise ValueError(
                f"{self._name}: expected 3 diagonals in the compact format, got {dims[-2]}: shape "
                f"{self._diagonals.shape}. Pass [..., 3, N]."
            )

    @property
    def diagonals(self) -> Any:
        """The diagonals as they were given."""
        return list(self._diagonals) if self._is_sequence else self._diagonals

    @property
    def diagonals_format(self) -> str:
        """The format of `diagonals`."""
        return self._diagonals_format

    @property
    def _is_sequence(self) -> bool:
        return self._diagonals_format == "sequence"

    @property
    def _main(self) -> Any:
        return self._diagonals[1] if self._is_sequence else self._diagonals

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"diagonals": [1, 1, 1] if self._is_sequence else 2}

    def _now(self) -> Any:
        """The diagonals [..., 3, N]."""
        if not self._is_sequence:
            return compact(tensor(self._diagonals), self._diagonals_format)
        parts = [tensor(part) for part in self._diagonals]
        batches = [v.batch_dims(part, 1) for part in parts]
        if len(set(batches)) > 1:
            batch = v.broadcast_shapes(*[v.lead_of(part, 1) for part in parts])
            parts = [broadcast_to(p, v.joined(batch, shape_of(p)[-1:])) for p in parts]
        return compact(parts, "sequence")

    def _turned(self, adjoint: bool) -> Any:
        """The diagonals of the matrices, or of their conjugate transposes."""
        diagonals = self._now()
        if not adjoint:
            return diagonals
        high, main, low = (conjugate(diagonals[..., i, :]) for i in range(3))
        return compact([below(low, -1, -1), main, below(high, 1, -1)], "sequence")

    def _shape(self) -> TensorShape:
        if self._diagonals_format == "matrix":
            return self._diagonals.shape  # type: ignore[no-any-return]
        if self._diagonals_format == "compact":
            dims = v.dims_of(self._diagonals)
            return v.square_shape(None if dims is None else (*dims[:-2], dims[-1]))
        batch = v.broadcast_batches(
            "LinearOperatorTridiag", *[v.batch_dims(part, 1) for part in self._diagonals]
        )
        main = v.dims_of(self._main)
        unknown = batch is None or main is None
        return v.square_shape(None if unknown else (*batch, main[-1]))  # type: ignore[index, misc]

    def _shape_tensor(self) -> Any:
        shape = shape_of(self._now())
        return v.joined(shape[:-2], shape[-1:], shape[-1:])

    def _pair(self, x: Any, adjoint: bool) -> tuple[Any, Any]:
        """Diagonals and matrices of one stack."""
        diagonals = self._turned(adjoint)
        x = v.with_batch(x, v.lead_of(diagonals, 2), v.batch_dims(diagonals, 2))
        return v.with_batch(diagonals, v.lead_of(x, 2), v.batch_dims(x, 2)), x

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return tridiagonal_matmul(*self._pair(v.turned(x, adjoint_arg), adjoint))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return tridiagonal_solve(*self._pair(v.turned(rhs, adjoint_arg), adjoint))

    def _to_dense(self) -> Any:
        if self._diagonals_format == "matrix":
            return band_part(tensor(self._diagonals), 1, 1)
        diagonals = self._now()
        parts = (diagonals[..., 0, :-1], diagonals[..., 1, :], diagonals[..., 2, 1:])
        high, main, low = (diag(part, k=k) for part, k in zip(parts, (1, 0, -1), strict=True))
        return add_v2(add_v2(high, main), low)

    def _diag_part(self) -> Any:
        if self._diagonals_format == "matrix":
            return diag_part(tensor(self._diagonals))
        return self._now()[..., 1, :]

    def _trace(self) -> Any:
        return total(self._diag_part(), [-1])

    def _assert_self_adjoint(self) -> Any:
        return assert_equal(
            _read(self._now()), _read(self._turned(adjoint=True)),
            message="This tridiagonal operator has non-conjugate subdiagonal and superdiagonal.",
        )  # fmt: skip


def _read(diagonals: Any) -> Any:
    """The elements of the diagonals that are read, one after the other."""
    high, main, low = (diagonals[..., i, :] for i in range(3))
    return execute("ConcatV2", ([high[..., :-1], main, low[..., 1:]], np.int32(-1)))


def _three(diagonals: Any) -> tuple[Any, Any, Any]:
    if not isinstance(diagonals, (list, tuple)) or len(diagonals) != 3:
        raise ValueError(
            "LinearOperatorTridiag: expected a list of three diagonals in the sequence format, got "
            f"{diagonals!r}. Pass diagonals_format='compact' for one tensor."
        )
    above, main, under = (v.parameter(part, "diagonal") for part in diagonals)
    for part in (above, main, under):
        v.require_rank(part, 1, "Argument diagonals")
    return above, main, under
