"""The shapes of linear operators, as far as known and as tensors.

A subclass states `_shape`; `_shape_tensor` as well, if a dimension may be unknown.
"""

import abc
from typing import Any

from penstock.ops.composing import number
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.scopes import scoped
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.dimension import Dimension
from penstock.types.dims import Dims
from penstock.types.tensor_shape import TensorShape


class Shaped(abc.ABC):
    """What an operator's shape answers; the base class of `LinearOperator`."""

    _name: str

    @abc.abstractmethod
    def _shape(self) -> TensorShape:
        """The static shape [..., M, N]."""

    def _shape_tensor(self) -> Any:
        """The shape, int32; asked for when `_shape` does not know it."""
        raise NotImplementedError("_shape_tensor is not implemented.")

    @property
    def shape(self) -> TensorShape:
        """The static shape [..., M, N] of the matrices."""
        return self._shape()

    @property
    def _dims(self) -> Dims:
        return self.shape.dims_tuple

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape of the stack, without the matrices' axes."""
        return self.shape[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The rank of the stack and its matrices, None when it is unknown."""
        return self.shape.rank

    @property
    def domain_dimension(self) -> Dimension:
        """The number of columns, a Dimension."""
        return self._side(-1)

    @property
    def range_dimension(self) -> Dimension:
        """The number of rows, a Dimension."""
        return self._side(-2)

    def _side(self, axis: int) -> Dimension:
        dims = self._dims
        return Dimension(None if dims is None else dims[axis])

    @scoped
    def shape_tensor(self, name: str = "shape_tensor") -> Any:
        """The shape [..., M, N] as an int32 vector.

        Args:
          name: the name of the scope in a graph.
        """
        dims = self._dims
        return v.vector(dims) if d.is_full(dims) else self._shape_tensor()  # type: ignore[arg-type]

    @scoped
    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        """The shape of the stack as an int32 vector.

        Args:
          name: the name of the scope in a graph.
        """
        dims = self.batch_shape.dims_tuple
        return v.vector(dims) if d.is_full(dims) else self._batch_tensor()  # type: ignore[arg-type]

    def _batch_tensor(self) -> Any:
        return self._shape_tensor()[:-2]

    @scoped
    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Any:
        """The rank of the stack and its matrices as an int32 scalar.

        Args:
          name: the name of the scope in a graph.
        """
        rank = self.tensor_rank
        return v.size_of(self._shape_tensor(), 0) if rank is None else number(rank, dt.int32)

    @scoped
    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Any:
        """The number of columns as an int32 scalar.

        Args:
          name: the name of the scope in a graph.
        """
        return self._dimension(-1)

    @scoped
    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Any:
        """The number of rows as an int32 scalar.

        Args:
          name: the name of the scope in a graph.
        """
        return self._dimension(-2)

    def _dimension(self, axis: int) -> Any:
        size = self._size(axis)
        return number(size, dt.int32) if isinstance(size, int) else size

    def _size(self, axis: int) -> v.Size:
        """The number of rows (-2) or columns (-1): an int where it is known."""
        dims = self._dims
        known = None if dims is None else dims[axis]
        return self._shape_tensor()[axis] if known is None else known
