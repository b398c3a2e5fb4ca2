"""The operator of permutations."""

from typing import Any, ClassVar

import numpy as np

from penstock.core.execute import execute
from penstock.graph.behavior import control_dependencies
from penstock.ops.array_fill import one_hot
from penstock.ops.array_gather import gather
from penstock.ops.array_shape import ensure_shape
from penstock.ops.array_sort import argsort
from penstock.ops.composing import shape_of, tensor
from penstock.ops.debug_asserts import assert_equal, known
from penstock.ops.linear_operators import hints as h
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.linear_operators.checks import nothing
from penstock.ops.linear_operators.defaults import ones_like_batch
from penstock.ops.math_cast import cast
from penstock.ops.math_matmul import matmul
from penstock.ops.variables import Variable
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape


class LinearOperatorPermutation(LinearOperator):
    """The operator of matrices that bring the rows of what they multiply into another order.

    Args:
      perm: integer tensor or variable [..., N]: row i of the product is row `perm[i]`.
      dtype: the operator's dtype.
      is_non_singular: None or True.
      is_self_adjoint: hint, see `LinearOperator`.
      is_positive_definite: hint.
      is_square: None or True.
      name: the name of its scope.

    Raises:
      TypeError: `perm` is not made of integers.
      ValueError: its rank is 0, it is known not to have each of 0 ... N - 1 once, or a hint cannot
        be.

    Example:
      >>> operator = tf.linalg.LinearOperatorPermutation([2, 0, 1])
      >>> operator.matvec([1.0, 2.0, 3.0]).numpy().tolist()
      [3.0, 1.0, 2.0]
    """

    _experimental_parameter_ndims_to_matrix_ndims: ClassVar[Any] = {"perm": 1}

    def __init__(
        self,
        perm: Any,
        dtype: Any = dt.float32,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorPermutation",
    ) -> None:
        self._perm = v.parameter(perm, "perm")
        self._check_perm()
        always = "A Permutation operator is always"
        is_square = h.require(
            is_square, True, f"{always} square. Expected argument `is_square` to be True."
        )
        if is_non_singular is False:
            h.require(
                False, True,
                f"{always} non-singular. Expected argument `is_non_singular` to be True.",
            )  # fmt: skip
        super().__init__(
            dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    def _check_perm(self) -> None:
        perm = self._perm
        if not perm.dtype.is_integer:
            raise TypeError(
                f"Argument `perm` must be integer dtype. Received: {perm}. Cast it to int32."
            )
        v.require_rank(perm, 1, "Argument `perm`")
        value = None if isinstance(perm, Variable) else known(perm)
        if value is None:
            return
        size = value.shape[-1]
        if (np.sort(value, axis=-1) != np.arange(size)).any():
            raise ValueError(
                "Argument `perm` must be a vector of unique integers from "
                f"0 to {size - 1}. Received: {value.tolist()}."
            )

    @property
    def perm(self) -> Any:
        """For each row of the product the row that it is."""
        return self._perm

    def _shape(self) -> TensorShape:
        return v.square_shape(v.dims_of(self._perm))

    def _shape_tensor(self) -> Any:
        shape = shape_of(tensor(self._perm))
        return v.joined(shape, shape[-1:])

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x, perm = v.turned(x, adjoint_arg), tensor(self._perm)
        if perm.dims is None or x.dims is None:
            return matmul(self._to_dense(), x, adjoint_a=adjoint)
        perm, x = _of_one_size(perm, x)
        perm = argsort(perm) if adjoint else perm
        if len(v.dims_of(perm) or ()) == 1:
            return gather(x, perm, axis=-2)
        batch = v.broadcast_shapes(v.lead_of(x, 2), v.lead_of(perm, 1))
        static = v.broadcast_batches(self._name, v.batch_dims(x, 2), v.batch_dims(perm, 1))
        x = v.with_batch(x, batch, static)
        columns = v.with_batch(perm[..., None], batch, static)
        return gather(x, columns[..., 0], axis=-2, batch_dims=len(static or ()))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, not adjoint, adjoint_arg)

    def _to_dense(self) -> Any:
        perm = tensor(self._perm)
        return one_hot(perm, v.size_of(perm, -1), dtype=self.dtype)

    def _fixed(self) -> Any:
        """Whether rows stay where they are, [..., N]."""
        perm = tensor(self._perm)
        places = execute(
            "Range", tuple(execute("Cast", (n,), {"DstT": perm.dtype}) for n in (
                np.int32(0), v.size_of(perm, -1), np.int32(1)
            )),
        )  # fmt: skip
        return execute("Equal", (perm, places))

    def _diag_part(self) -> Any:
        return cast(self._fixed(), self.dtype)

    def _determinant(self) -> Any:
        """1 for an even number of pairs in the wrong order, -1 for an odd one."""
        perm = tensor(self._perm)
        wrong = execute("Greater", (perm[..., :, None], perm[..., None, :]))
        wrong = execute("MatrixBandPart", (wrong, np.int32(0), np.int32(-1)))
        count = execute("Sum", (cast(wrong, dt.int32), np.array([-2, -1], np.int32)))
        odd = execute("FloorMod", (count, np.int32(2)))
        return cast(execute("Sub", (np.int32(1), execute("Mul", (odd, np.int32(2))))), self.dtype)

    def _log_abs_determinant(self) -> Any:
        return execute("ZerosLike", (ones_like_batch(self),))

    def _cond(self) -> Any:
        return ones_like_batch(self)

    def _assert_non_singular(self) -> Any:
        return nothing("assert_non_singular")


def _of_one_size(perm: Any, x: Any) -> tuple[Any, Any]:
    """Both, checked when they run to have as many rows as the other where it is not known yet."""
    size, rows = perm.dims[-1], x.dims[-2]
    if rows is not None and size is None:
        return ensure_shape(perm, [*perm.dims[:-1], rows]), x
    if rows is None and size is not None:
        return perm, ensure_shape(x, [*x.dims[:-2], size, x.dims[-1]])
    if rows is not None:
        return perm, x
    check = assert_equal(v.size_of(perm, -1), v.size_of(x, -2), message="Rows that do not fit.")
    with control_dependencies([check]):
        return perm, execute("Identity", (x,))
