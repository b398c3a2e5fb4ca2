"""Operators made of blocks: arguments that come as one tensor, or as a list with one part a block.

A list of the length of the blocks is a list of parts unless it is one of Python numbers, or a nest
of them whose sizes say otherwise; the result then is a list too.
"""

import abc
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.linear_operators.combined import joint_batch_tensor
from penstock.ops.linear_operators.scopes import scoped
from penstock.types.tensor_shape import TensorShape


class Blockwise(LinearOperator):
    """An operator of matrices with blocks; subclasses multiply and solve list by list."""

    @abc.abstractmethod
    def _diagonal_blocks(self) -> Sequence[LinearOperator]:
        """The operators on the diagonal, whose sizes are those of the parts."""

    @abc.abstractmethod
    def _multiply_parts(self, parts: list[Any], adjoint: bool) -> list[Any]:
        """The parts [..., M_i, K] of the product with parts [..., N_i, K]."""

    @abc.abstractmethod
    def _solve_parts(self, parts: list[Any], adjoint: bool) -> list[Any]:
        """The parts [..., N_i, K] of the solution for parts [..., M_i, K]."""

    def _all_operators(self) -> Sequence[LinearOperator]:
        return self._diagonal_blocks()

    def _shape(self) -> TensorShape:
        batch = v.broadcast_batches(
            self._name, *[o.batch_shape.dims_tuple for o in self._all_operators()]
        )
        sides = []
        for axis in (-2, -1):
            own = [None if o._dims is None else o._dims[axis] for o in self._diagonal_blocks()]
            sides.append(None if None in own else sum(own))  # type: ignore[arg-type]
        return TensorShape.from_dims(None if batch is None else (*batch, *sides))

    def _shape_tensor(self) -> Any:
        sides = [sum(self._sizes(axis)[1:], self._sizes(axis)[0]) for axis in (-2, -1)]
        return v.joined(joint_batch_tensor(self._all_operators()), v.vector(sides))

    def _sizes(self, axis: int) -> list[v.Size]:
        """The numbers of rows (-2) or columns (-1) of the blocks."""
        return [operator._size(axis) for operator in self._diagonal_blocks()]

    # ---- one tensor

    def _by_parts(
        self, function: Callable[[list[Any], bool], list[Any]], x: Any, adjoint: bool, axis: int
    ) -> Any:
        """`function` of a tensor, taken apart by the sizes of the blocks along `axis`."""
        parts = execute(
            "SplitV", (x, v.vector(self._sizes(axis)), np.int32(-2)),
            {"num_split": len(self._diagonal_blocks())},
        )  # fmt: skip
        return joined_rows(function(list(parts), adjoint))

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        axis = -2 if adjoint else -1
        return self._by_parts(self._multiply_parts, v.turned(x, adjoint_arg), adjoint, axis)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        if any(operator.is_square is False for operator in self._diagonal_blocks()):
            return self._dense_solve(rhs, adjoint, adjoint_arg)
        axis = -1 if adjoint else -2
        return self._by_parts(self._solve_parts, v.turned(rhs, adjoint_arg), adjoint, axis)

    # ---- lists

    def _is_list(self, x: Any, axis: int, own: int) -> bool:
        """Whether an argument comes in parts, which are split along its axis `axis`."""
        if not isinstance(x, (list, tuple)) or len(x) != len(self._diagonal_blocks()):
            return False
        if not all(isinstance(part, (list, tuple)) for part in x):
            return not any(isinstance(part, numbers.Number) for part in x)
        shapes = [np.shape(part) for part in x]
        sizes = [shape[axis] if len(shape) >= -axis else None for shape in shapes]
        return sizes == self._sizes(own)

    def _parts(self, x: Any, name: str, axis: int, own: int, least: int) -> list[Any]:
        parts = [
            part if _is_operator(part, least) else self._argument(part, f"{name}[{i}]", least)
            for i, part in enumerate(x)
        ]
        for part, operator in zip(parts, self._diagonal_blocks(), strict=True):
            if not isinstance(part, LinearOperator):  # else the product of the operators checks
                operator._check_size(part, axis, own, name)
        return parts

    @scoped
    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """Multiplies matrices, or another operator, by this operator from the left.

        Args:
          x: tensor [..., N, K], a list of tensors [..., N_i, K] or operators for the columns of the
            blocks, or a LinearOperator.
          adjoint: as for any operator.
          adjoint_arg: as for any operator.
          name: the name of the scope in a graph.

        Returns:
          Tensor [..., M, K]; for a list a list of tensors [..., M_i, K].
        """
        axis, own = -1 if adjoint_arg else -2, -2 if adjoint else -1
        if not self._is_list(x, axis, own):
            return super().matmul(x, adjoint, adjoint_arg)
        parts = self._parts(x, "x", axis, own, 2)
        return self._multiply_parts([_turned(p, adjoint_arg) for p in parts], adjoint)

    @scoped
    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """Multiplies vectors [..., N], or a list of [..., N_i]; see `matmul`."""
        own = -2 if adjoint else -1
        if not self._is_list(x, -1, own):
            return super().matvec(x, adjoint)
        return _of_columns(
            lambda parts: self._multiply_parts(parts, adjoint), self._parts(x, "x", -1, own, 1)
        )

    @scoped
    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """Solves A X = rhs.

        Args:
          rhs: tensor [..., M, K], a list of tensors [..., M_i, K] for the rows of the blocks, or a
            LinearOperator.
          adjoint: as for any operator.
          adjoint_arg: as for any operator.
          name: the name of the scope in a graph.

        Returns:
          Tensor [..., N, K]; for a list a list of tensors [..., N_i, K].

        Raises:
          NotImplementedError: the operator is known to be singular, or a block is not square.
        """
        axis, own = -1 if adjoint_arg else -2, -1 if adjoint else -2
        if not self._is_list(rhs, axis, own):
            return super().solve(rhs, adjoint, adjoint_arg)
        self._require_solvable()
        parts = self._parts(rhs, "rhs", axis, own, 2)
        return self._solve_parts([_turned(p, adjoint_arg) for p in parts], adjoint)

    @scoped
    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """Solves A x = rhs for vectors [..., M], or a list of [..., M_i]; see `solve`."""
        own = -1 if adjoint else -2
        if not self._is_list(rhs, -1, own):
            return super().solvevec(rhs, adjoint)
        self._require_solvable()
        return _of_columns(
            lambda parts: self._solve_parts(parts, adjoint), self._parts(rhs, "rhs", -1, own, 1)
        )


def _is_operator(part: Any, least: int) -> bool:
    return isinstance(part, LinearOperator) and least == 2


def _turned(part: Any, wanted: bool) -> Any:
    if isinstance(part, LinearOperator):
        return part.adjoint() if wanted else part
    return v.turned(part, wanted)


def _of_columns(function: Callable[[list[Any]], list[Any]], parts: list[Any]) -> list[Any]:
    """A function of lists of matrices [..., N_i, 1], for vectors [..., N_i]."""
    columns = [execute("ExpandDims", (part, np.int32(-1))) for part in parts]
    return [execute("Squeeze", (p,), {"squeeze_dims": [-1]}) for p in function(columns)]


def joined_rows(parts: list[Any]) -> Any:
    """Matrices one below the other, repeated for a joint stack."""
    if len(parts) == 1:
        return parts[0]
    statics = [v.batch_dims(part, 2) for part in parts]
    if len(set(statics)) > 1 or None in statics or any(None in s for s in statics):  # type: ignore[operator]
        batch = v.broadcast_shapes(*[v.lead_of(part, 2) for part in parts])
        static = v.broadcast_batches("A list of parts", *statics)
        parts = [v.with_batch(part, batch, static) for part in parts]
    return execute("ConcatV2", (parts, np.int32(-2)))


def joined_vectors(operators: Sequence[LinearOperator], numbers: list[Any]) -> Any:
    """Vectors [..., K_i], one for each operator, one behind the other for their joint stack."""
    columns = [execute("ExpandDims", (convert_to_tensor(x), np.int32(-1))) for x in numbers]
    return execute("Squeeze", (joined_rows(columns),), {"squeeze_dims": [-1]})
