"""What changes a variable: assignments, scatters, and assignments to slices.

Each returns the variable as it is after the update (`UnreadVariable` of
`penstock.ops.variables`), so that in a graph reading the result runs the update first; with
`read_value=False` it returns the operation, in eager mode None.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.composite import IndexedSlices
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.effects import switch
from penstock.core.execute import execute
from penstock.core.lazy import jnp, wide_types
from penstock.core.resources import VariableCell
from penstock.core.tensor import EagerTensor
from penstock.ops import array_getitem
from penstock.ops.state_scatter import SCATTER, SCATTER_ND
from penstock.ops.state_slices import STRIDED_SLICE_ASSIGN
from penstock.ops.state_variables import ASSIGN, ASSIGN_ADD, ASSIGN_SUB, COUNT_UP_TO
from penstock.types import dims as d


class Updates:
    """The updating methods of `Variable`."""

    _cell: VariableCell | None
    _dims: d.Dims
    _dtype: Any
    _handle: Any
    _validate_shape: bool

    @property
    def name(self) -> str:
        """The name with an output index."""
        raise NotImplementedError

    def _after(self, op: Any) -> Any:
        """This variable as it is after the operation `op`."""
        raise NotImplementedError

    def _result(self, op: Any, read_value: bool) -> Any:
        return self._after(op) if read_value else op

    def _check_shape(self, tensor: Any) -> None:
        if not d.compatible(self._dims, tensor.dims):
            raise ValueError(
                f"Cannot assign value to variable ' {self.name}': Shape mismatch."
                f"The variable shape {d.text(self._dims)}, and the assigned value shape "
                f"{d.text(tensor.dims)} are incompatible."
            )

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Replaces the value.

        Args:
          value: the variable's dtype and a compatible shape.
          use_locking: accepted for compatibility: updates of one variable always exclude each
            other.
          name: the name of the operation in a graph.
          read_value: whether to return the variable after the update; else the operation (in a
            graph) or None.

        Raises:
          ValueError: dtype or shape do not fit.
        """
        tensor = convert_to_tensor(value, self._dtype)
        self._check_shape(tensor)
        cell = self._cell
        if cell is not None and state.plain and tensor.__class__ is EagerTensor:
            log = switch.log
            if log is None:
                store(cell, tensor)
            else:
                with log.turn(None, "AssignVariableOp", (cell,)):
                    store(cell, tensor)
            return self._result(None, read_value)
        validate = self._validate_shape and d.is_full(self._dims)
        op = execute(ASSIGN, (self._handle, tensor), {"validate_shape": validate}, name)
        return self._result(op, read_value)

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds `delta`, of the variable's dtype and shape; otherwise as `assign`."""
        tensor = convert_to_tensor(delta, self._dtype)
        return self._result(execute(ASSIGN_ADD, (self._handle, tensor), None, name), read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtracts `delta`, of the variable's dtype and shape; otherwise as `assign`."""
        tensor = convert_to_tensor(delta, self._dtype)
        return self._result(execute(ASSIGN_SUB, (self._handle, tensor), None, name), read_value)

    def _scatter(self, kind: str, sparse_delta: Any, name: str | None) -> Any:
        _check_slices(sparse_delta)
        values = convert_to_tensor(sparse_delta.values, self._dtype)
        return self._after(
            execute(SCATTER[kind], (self._handle, sparse_delta.indices, values), None, name)
        )

    def scatter_add(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Adds the rows of an IndexedSlices; a row named twice is added twice.

        Args:
          sparse_delta: IndexedSlices of the variable's dtype; its values may be a scalar.
          use_locking: accepted for compatibility.
          name: the name of the operation in a graph.

        Returns:
          The variable after the update.

        Raises:
          TypeError: `sparse_delta` is no IndexedSlices.
          InvalidArgumentError: an index is out of range; nothing is updated then.
        """
        return self._scatter("Add", sparse_delta, name)

    def scatter_sub(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Subtracts the rows of an IndexedSlices; otherwise as `scatter_add`."""
        return self._scatter("Sub", sparse_delta, name)

    def scatter_mul(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Multiplies by the rows of an IndexedSlices; otherwise as `scatter_add`."""
        return self._scatter("Mul", sparse_delta, name)

    def scatter_div(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Divides by the rows of an IndexedSlices; otherwise as `scatter_add`."""
        return self._scatter("Div", sparse_delta, name)

    def scatter_max(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Takes the maximum with the rows of an IndexedSlices; otherwise as `scatter_add`."""
        return self._scatter("Max", sparse_delta, name)

    def scatter_min(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Takes the minimum with the rows of an IndexedSlices; otherwise as `scatter_add`."""
        return self._scatter("Min", sparse_delta, name)

    def scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Replaces rows by those of an IndexedSlices; otherwise as `scatter_add`."""
        return self._scatter("Update", sparse_delta, name)

    def batch_scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Replaces rows within each batch: `var[i, ..., indices[i, ..., j]] = values[i, ..., j]`.

        Args:
          sparse_delta: IndexedSlices whose indices have the variable's leading dimensions but for
            the last axis.
          use_locking: accepted for compatibility.
          name: the name of the operation in a graph.
        """
        _check_slices(sparse_delta)
        indices = convert_to_tensor(sparse_delta.indices)
        return self._scatter_nd("Update", batch_positions(indices), sparse_delta.values, name)

    def _scatter_nd(self, kind: str, indices: Any, updates: Any, name: str | None) -> Any:
        values = convert_to_tensor(updates, self._dtype)
        return self._after(execute(SCATTER_ND[kind], (self._handle, indices, values), None, name))

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Adds slices at positions.

        Args:
          indices: int32 or int64 [..., K], positions in the first K axes.
          updates: [..., rest of the variable's shape], the variable's dtype.
          name: the name of the operation in a graph.

        Returns:
          The variable after the update.

        Raises:
          InvalidArgumentError: a position is out of range; nothing is updated then.
        """
        return self._scatter_nd("Add", indices, updates, name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Subtracts slices at positions; otherwise as `scatter_nd_add`."""
        return self._scatter_nd("Sub", indices, updates, name)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Replaces slices at positions; otherwise as `scatter_nd_add`."""
        return self._scatter_nd("Update", indices, updates, name)

    def scatter_nd_max(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Takes the maximum with slices at positions; otherwise as `scatter_nd_add`."""
        return self._scatter_nd("Max", indices, updates, name)

    def scatter_nd_min(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Takes the minimum with slices at positions; otherwise as `scatter_nd_add`."""
        return self._scatter_nd("Min", indices, updates, name)

    def count_up_to(self, limit: int) -> Any:
        """The value, which then grows by one.

        Args:
          limit: where counting stops.

        Raises:
          OutOfRangeError: the value has reached `limit`.
        """
        return execute(COUNT_UP_TO, (self._handle,), {"limit": limit, "T": self._dtype})


def _check_slices(sparse_delta: Any) -> None:
    if not isinstance(sparse_delta, IndexedSlices):
        raise TypeError(
            f"Argument `sparse_delta` must be a `tf.IndexedSlices`. Received arg: {sparse_delta}"
        )


def store(cell: VariableCell, tensor: EagerTensor) -> None:
    """Makes the tensor's value the variable's; copies what is another variable's buffer."""
    array = tensor._array
    if getattr(tensor, "_lease", None) is not None:
        with wide_types():
            array = jnp.copy(array)
        cell.write(array, fresh=True)
        return
    cell.write(np.asarray(array) if isinstance(array, np.generic) else array)


def batch_positions(indices: Any) -> Any:
    """Positions [..., n, k] that name the rows `indices` [..., n] of each batch."""
    shape = execute("Shape", (indices,), {"out_type": indices.dtype})
    rank = len(indices.dims)
    columns = []
    for axis in range(rank - 1):
        size = execute("StridedSlice", (shape, [axis], [axis + 1], [1]), {"shrink_axis_mask": 1})
        zero, one = (convert_to_tensor(n, indices.dtype) for n in (0, 1))
        count = execute("Range", (zero, size, one))
        count = execute("Reshape", (count, [-1 if i == axis else 1 for i in range(rank)]))
        columns.append(execute("BroadcastTo", (count, shape)))
    return execute("Pack", ([*columns, indices],), {"axis": rank})


class VariableSlice:
    """Where a tensor was sliced out of a variable; gives the tensor its `assign`."""

    __slots__ = ("spec", "variable")

    def __init__(self, variable: Any, spec: Any) -> None:
        self.variable = variable
        self.spec = spec

    def assign(self, value: Any, name: str | None = None) -> Any:
        """Assigns to the slice; the value is broadcast to its shape.

        Args:
          value: the variable's dtype, a shape that broadcasts to the slice's.
          name: the name of the operation in a graph.

        Returns:
          The variable after the update.
        """
        variable = self.variable
        *bounds, masks = array_getitem.slice_parts(self.spec)
        tensor = convert_to_tensor(value, variable._dtype)
        parts = array_getitem.index_tensors(tuple(bounds)) if bounds[0] else _empty_bounds(bounds)
        op = execute(STRIDED_SLICE_ASSIGN, (variable._handle, *parts, tensor), masks, name)
        return variable._after(op)


def _empty_bounds(bounds: Sequence[Any]) -> list[Any]:
    return [convert_to_tensor(np.zeros(0, np.int32)) for _ in bounds]
