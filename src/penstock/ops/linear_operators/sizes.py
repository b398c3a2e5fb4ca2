"""Operators that are made from sizes: checks of numbers of rows and of shapes of stacks.

A size is kept as a Python integer where it is known, so that such an operator has a static shape
and is described by its spec alone; else as a tensor.
"""

from typing import Any

import numpy as np

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.ops.debug_asserts import assert_non_negative, known
from penstock.ops.linear_operators import values as v
from penstock.ops.linear_operators.base import LinearOperator
from penstock.ops.linear_operators.scopes import scoped
from penstock.ops.linear_operators.slicing import fitting
from penstock.types.dims import Dims
from penstock.types.tensor_shape import TensorShape


def _checked(value: Any, name: str, rank: int, what: str, at_run_time: bool) -> Any:
    """A size, or a vector of sizes, as known integers or as a tensor.

    Raises:
      TypeError: it is not made of integers.
      ValueError: it has another rank, or a negative size.
    """
    if isinstance(value, TensorShape):
        value = value.as_list()
    given = convert_to_tensor(
        np.zeros(0, np.int32) if isinstance(value, list) and not value else value, name=name
    )
    if not given.dtype.is_integer:
        raise TypeError(f"Argument {name} must be integer type.  Found: {given}. Cast it.")
    if given.dims is not None and len(given.dims) != rank:
        raise ValueError(f"Argument {name} must be a {rank}-D Tensor.  Found: {value}. {what}")
    if at_run_time:
        given = _asserted(given, f"Argument {name} must be non-negative.")
    static = known(given)
    if static is None:
        return given
    if (static < 0).any():
        raise ValueError(
            f"Argument {name} must be non-negative.  Found: {static.tolist()}. Pass sizes from 0."
        )
    return int(static) if rank == 0 else tuple(static.tolist())


def _asserted(value: Any, message: str) -> Any:
    check = assert_non_negative(value, message=message)
    if state.graph is None or check is None:
        return value
    with state.graph.control_dependencies([check]):
        return execute("Identity", (value,))


def size(value: Any, name: str, at_run_time: bool) -> v.Size:
    """A number of rows or columns: an integer where it is known, else a scalar tensor."""
    return _checked(value, name, 0, "Pass one integer.", at_run_time)


def stack(value: Any, at_run_time: bool) -> Any:
    """The shape of a stack: a tuple where it is known, else a vector; () for None."""
    if value is None:
        return ()
    if isinstance(value, tuple):
        value = list(value)
    return _checked(value, "batch_shape", 1, "Pass a list of integers.", at_run_time)


class Sized(LinearOperator):
    """An operator that is made from sizes and, perhaps, the shape of its stack."""

    _num_rows: v.Size
    _batch: Any = ()

    @scoped
    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> Any:
        """The matrices added to `mat`: [..., M, N] of the operator's dtype.

        Args:
          mat: the tensor; other operators call it `x`.
          name: the name of the scope in a graph.
        """
        return self._add_to_tensor(self._argument(mat, "mat", 2))

    def _columns(self) -> v.Size:
        return self._num_rows

    def _static_batch(self) -> Dims:
        if isinstance(self._batch, tuple):
            return self._batch
        count = v.dims_of(self._batch)
        return None if count is None or count[0] is None else (None,) * count[0]

    def _shape(self) -> TensorShape:
        batch = self._static_batch()
        sides = [s if isinstance(s, int) else None for s in (self._num_rows, self._columns())]
        return TensorShape.from_dims(None if batch is None else (*batch, *sides))

    def _batch_vector(self) -> Any:
        """The shape of the stack as an int32 vector."""
        return v.vector(self._batch) if isinstance(self._batch, tuple) else self._batch

    def _shape_tensor(self) -> Any:
        return v.joined(self._batch_vector(), v.vector([self._num_rows, self._columns()]))

    def _batch_tensor(self) -> Any:
        return self._batch_vector()

    def _spec_parameters(self) -> dict[str, Any]:
        found = super()._spec_parameters()
        sizes = self._size_parameters()
        return found | {name: sizes[name] for name in self._size_names}

    def _size_parameters(self) -> dict[str, Any]:
        return {
            "num_rows": self._num_rows,
            "num_columns": self._columns(),
            "batch_shape": self._as_parameter(self._batch),
        }

    @property
    def _size_names(self) -> tuple[str, ...]:  # type: ignore[override]
        given = self.__dict__["_self_parameters"]
        return tuple(name for name in self._size_parameters() if name in given)

    @staticmethod
    def _as_parameter(batch: Any) -> Any:
        return TensorShape(batch) if isinstance(batch, tuple) else batch

    def _sliced(self, entries: list[Any], dims: Dims) -> LinearOperator:
        if "batch_shape" not in self._spec_parameters():
            return super()._sliced(entries, dims)
        one = execute("Fill", (self._batch_vector(), np.int32(0)))
        part = one[tuple(fitting(entries, self._static_batch(), dims))] if entries else one
        batch = v.dims_of(part)
        known_now = batch is not None and None not in batch
        parameters = {
            **self._spec_parameters(),
            "batch_shape": list(batch) if known_now else execute("Shape", (part,)),  # type: ignore[arg-type]
            "name": self._name,
        }
        return type(self)(**parameters)
