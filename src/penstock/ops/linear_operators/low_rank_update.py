"""The operator of matrices that differ from others by ones of low rank.

Source: Golub and Van Loan, Matrix Computations, 4th edition, section 2.1.4 (the formula of Sherman,
Morrison and Woodbury); Harville, Matrix Algebra From a Statistician's Perspective, section 18.1
(determinants).
"""

import functools
from typing import Any, ClassVar

from penstock.ops.array_diag import diag
from penstock.ops.composing import tensor, total
from penstock.ops.linalg_solve import cholesky, cholesky_solve, det, slogdet, solve
from penstock.ops.linear_operators import hints as h
from penstock.ops.linear_operators import values
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.linear_operators.checks import all_of
from penstock.ops.linear_operators.diagonal import LinearOperatorDiag
from penstock.ops.linear_operators.identity import LinearOperatorIdentity
from penstock.ops.math_arithmetic import add_v2, conjugate, multiply, subtract
from penstock.ops.math_cast import cast
from penstock.ops.math_elementwise import reciprocal
from penstock.ops.math_matmul import matmul
from penstock.types.tensor_shape import TensorShape

IMPLIED = "Arguments imply this is self-adjoint positive-definite operator."


class LinearOperatorLowRankUpdate(LinearOperator):
    """The operator of L + U D V^H, with D diagonal, and U and V of few columns.

    Equations and determinants take those of L and of matrices with as many rows as U has columns.

    Args:
      base_operator: LinearOperator [..., M, N], the L; floating or complex.
      u: tensor or variable [..., M, K], the U.
      diag_update: tensor or variable [..., K], the diagonal of D; ones by default.
      v: tensor or variable [..., N, K], the V; `u` by default.
      is_diag_update_positive: hint: whether `diag_update` is positive.
      is_non_singular: hint, see `LinearOperator`.
      is_self_adjoint: hint; True by default if L and D are self-adjoint and there is no `v`.
      is_positive_definite: hint; True by default if, besides, L and D are positive.
      is_square: hint.
      name: the name of its scope.

    Raises:
      ValueError: sizes do not fit, or a hint cannot be.
      TypeError: the dtypes differ.

    Example:
      >>> base = tf.linalg.LinearOperatorIdentity(2)
      >>> operator = tf.linalg.LinearOperatorLowRankUpdate(base, [[1.0], [1.0]])
      >>> operator.to_dense().numpy().tolist()
      [[2.0, 1.0], [1.0, 2.0]]
    """

    _experimental_parameter_ndims_to_matrix_ndims: ClassVar[Any] = {
        "u": 2,
        "v": 2,
        "diag_update": 1,
    }

    def __init__(
        self,
        base_operator: LinearOperator,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        self._base_operator = base_operator
        self._u = _parameter(u, "u", base_operator)
        self._v = self._u if v is None else _parameter(v, "v", base_operator)
        self._diag_update = (
            None if diag_update is None else _parameter(diag_update, "diag_update", base_operator)
        )
        self._is_diag_update_positive = self._checked_positive(is_diag_update_positive)
        self._check_sizes()
        self._diag_operator = self._made_diag_operator()
        hints = self._implied(v is None)
        for key, value in (
            ("is_non_singular", is_non_singular),
            ("is_self_adjoint", is_self_adjoint),
            ("is_positive_definite", is_positive_definite),
        ):
            if value is False and hints[key] is True and hints["is_positive_definite"]:
                raise ValueError(f"{IMPLIED} Got {key}=False: leave the hint out.")
            hints[key] = hints[key] if value is None else value
        super().__init__(base_operator.dtype, is_square=is_square, name=name, **hints)
        self._shape()  # stacks that do not broadcast are refused now

    def _checked_positive(self, hint: bool | None) -> bool | None:
        if self._diag_update is not None:
            return hint
        if hint is False:
            raise ValueError(
                "Default diagonal is the identity, which is positive.  However, user set "
                "'is_diag_update_positive' to False. Leave it out, or pass diag_update."
            )
        return True

    def _implied(self, symmetric: bool) -> h.Hints:
        """The hints that follow from the parts."""
        base = self._base_operator
        self_adjoint = symmetric and base.is_self_adjoint and self._diag_operator.is_self_adjoint
        positive = self_adjoint and base.is_positive_definite and self._is_diag_update_positive
        return {
            "is_non_singular": True if positive else None,
            "is_self_adjoint": True if self_adjoint else None,
            "is_positive_definite": True if positive else None,
        }

    def _check_sizes(self) -> None:
        dims = [values.dims_of(x) for x in (self._u, self._v)]
        base = self._base_operator._dims
        rows = None if base is None else base[-2]
        columns = None if base is None else base[-1]
        diagonal = None if self._diag_update is None else values.dims_of(self._diag_update)
        u, w = ((None, None) if d is None else d[-2:] for d in dims)
        pairs = (
            (rows, u[0], "rows of base_operator and of u"),
            (columns, w[0], "columns of base_operator and rows of v"),
            (u[1], w[1], "columns of u and of v"),
            (u[1], None if diagonal is None or not diagonal else diagonal[-1],
             "columns of u and elements of diag_update"),
        )  # fmt: skip
        for one, other, what in pairs:
            if None not in (one, other) and one != other:
                raise ValueError(
                    f"Dimensions {one} and {other} are not compatible: "
                    f"LinearOperatorLowRankUpdate expected as many {what}."
                )

    def _made_diag_operator(self) -> LinearOperator:
        if self._diag_update is not None:
            return LinearOperatorDiag(
                self._diag_update, is_positive_definite=self._is_diag_update_positive
            )
        size = values.size_of(tensor(self._u), -1)
        return LinearOperatorIdentity(size, dtype=self._base_operator.dtype)

    @property
    def base_operator(self) -> LinearOperator:
        """The L."""
        return self._base_operator

    @property
    def u(self) -> Any:
        """The U."""
        return self._u

    @property
    def v(self) -> Any:
        """The V."""
        return self._v

    @property
    def diag_update(self) -> Any:
        """The diagonal of D, None for ones."""
        return self._diag_update

    @property
    def diag_operator(self) -> LinearOperator:
        """The operator of D."""
        return self._diag_operator

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether the diagonal of D is known to be positive."""
        return self._is_diag_update_positive

    # ---- shapes

    def _shape(self) -> TensorShape:
        base = self._base_operator
        stacks = [
            base.batch_shape.dims_tuple,
            values.batch_dims(self._u, 2),
            values.batch_dims(self._v, 2),
        ]
        if self._diag_update is not None:
            stacks.append(values.batch_dims(self._diag_update, 1))
        batch = values.broadcast_batches("LinearOperatorLowRankUpdate", *stacks)
        sides = (None, None) if base._dims is None else base._dims[-2:]
        return TensorShape.from_dims(None if batch is None else (*batch, *sides))

    def _shape_tensor(self) -> Any:
        base = self._base_operator
        batch = values.broadcast_shapes(
            base.batch_shape_tensor(),
            values.lead_of(tensor(self._u), 2),
            values.lead_of(tensor(self._v), 2),
            *([] if self._diag_update is None else [values.lead_of(tensor(self._diag_update), 1)]),
        )
        return values.joined(batch, base.shape_tensor()[-2:])

    # ---- products and equations

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        product = self._base_operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = matmul(right, x, adjoint_a=True, adjoint_b=adjoint_arg)
        return add_v2(product, matmul(left, self._diag_operator.matmul(inner, adjoint=adjoint)))

    def _to_dense(self) -> Any:
        inner = self._diag_operator.matmul(tensor(self._v), adjoint_arg=True)
        return add_v2(self._base_operator.to_dense(), matmul(self._u, inner))

    def _diag_part(self) -> Any:
        if self.is_square is not True:
            return super()._diag_part()
        scaled = multiply(tensor(self._u), conjugate(tensor(self._v)))
        if self._diag_update is not None:
            scaled = multiply(scaled, tensor(self._diag_update)[..., None, :])
        return add_v2(self._base_operator.diag_part(), total(scaled, [-1]))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        """L^-1 b - L^-1 U (D^-1 + V^H L^-1 U)^-1 V^H L^-1 b."""
        if self._base_operator.is_non_singular is False:
            return self._dense_solve(rhs, adjoint, adjoint_arg)
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        base = self._base_operator
        first = base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = matmul(right, first, adjoint_a=True)
        capacitance = self._capacitance()
        if self._can_use_cholesky():
            inner = cholesky_solve(cholesky(capacitance), inner)
        else:
            capacitance = values.with_batch(
                capacitance, values.lead_of(inner, 2), values.batch_dims(inner, 2)
            )
            inner = values.with_batch(
                inner, values.lead_of(capacitance, 2), values.batch_dims(capacitance, 2)
            )
            inner = solve(capacitance, inner, adjoint=adjoint)
        return subtract(first, base.solve(matmul(left, inner), adjoint=adjoint))

    def _capacitance(self) -> Any:
        """D^-1 + V^H L^-1 U."""
        inverse = reciprocal(self._diag_operator.diag_part())
        inner = matmul(self._v, self._base_operator.solve(tensor(self._u)), adjoint_a=True)
        return add_v2(inner, diag(inverse))

    def _determinant(self) -> Any:
        if self._base_operator.is_non_singular is False:
            return super()._determinant()
        parts = multiply(det(self._capacitance()), self._diag_operator.determinant())
        return multiply(parts, self._base_operator.determinant())

    def _log_abs_determinant(self) -> Any:
        if self._base_operator.is_non_singular is False:
            return super()._log_abs_determinant()
        inner = slogdet(self._capacitance())[1]
        others = (self._diag_operator, self._base_operator)
        logarithms = [cast(o.log_abs_determinant(), self.dtype) for o in others]
        return functools.reduce(add_v2, logarithms, inner)

    def _assert_self_adjoint(self) -> Any:
        if self._v is not self._u:
            return super()._assert_self_adjoint()
        parts = (self._base_operator, self._diag_operator)
        return all_of([part.assert_self_adjoint() for part in parts], "assert_self_adjoint")


def _parameter(value: Any, name: str, base: LinearOperator) -> Any:
    found = values.parameter(value, name, dtype_hint=base.dtype)
    values.require_rank(found, 1 if name == "diag_update" else 2, f"Argument {name}")
    if found.dtype.base_dtype != base.dtype:
        raise TypeError(
            f"LinearOperatorLowRankUpdate: expected {name} of dtype {base.dtype.name}, as "
            f"base_operator, got {found.dtype.name}. Cast it."
        )
    return found
