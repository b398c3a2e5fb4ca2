"""What reads a variable: its value, rows of it, its truth.

Reads are shown to the tapes and functions that are active (`_watch`). Whatever reads a variable
through `value` shares its array under a lease, so an update never changes a value that was read
before; `numpy` copies.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.core.context import state
from penstock.core.effects import switch
from penstock.core.execute import execute, record
from penstock.core.resources import VariableCell
from penstock.core.tensor import on_host, wrap
from penstock.graph.behavior import name_scope_v1
from penstock.ops.array_getitem import getitem, is_mask
from penstock.ops.state_scatter import GATHER, GATHER_ND
from penstock.ops.state_variables import READ, VAR_IS_INITIALIZED
from penstock.ops.variable_updates import VariableSlice


class Reads:
    """The reading methods of `Variable`."""

    _cell: VariableCell | None = None
    _reference: Any = None  # what refers to an imported variable of the first kind
    _cached_value: Any = None
    _is_like_reference = False  # whether it behaves as a reference variable where these differ
    _dtype: Any
    _handle: Any
    _trainable: bool

    def _watch(self) -> None:
        """Tells functions being traced and tapes that the variable is read."""
        graph = state.graph
        if graph is not None and graph.building_function:
            graph.watch_variable(self)
        if self._trainable:
            for recorder in state.recorders:
                watch = getattr(recorder, "watch_variable", None)
                if watch is not None:
                    watch(self)

    def value(self) -> Any:
        """The value as a tensor; the cached one where `caching_device` made one."""
        if self._cached_value is not None and self._cached_value.graph is state.graph:
            return self._cached_value
        graph = state.graph
        if graph is None or graph.building_function:
            return self._read()
        with graph.colocate_with(None, ignore_existing=True):  # it is read where the variable is
            return self._read()

    def _read(self) -> Any:
        cell = self._cell
        if self._reference is not None:
            return execute("Identity", (self._reference,))
        if cell is None or state.graph is not None:
            self._watch()
            return execute(READ, (self._handle,), {"dtype": self._dtype})
        log = switch.log
        with cell.lock if log is None else log.turn(None, "ReadVariableOp", (cell,)):
            array = cell.read()
            tensor = wrap(array, self._dtype)
            if array.__class__ is not np.ndarray:
                tensor._lease = cell.lease()
        if state.recorders:
            self._watch()
            record(READ, (self._handle,), {"dtype": self._dtype}, (tensor,))
        return tensor

    def read_value(self) -> Any:
        """The value as a tensor; in a graph read after the control inputs in force now."""
        if state.graph is None:
            return self._read()
        with name_scope_v1("Read"):
            value = self._read()
        return execute("Identity", (value,))

    def read_value_no_copy(self) -> Any:
        """The same as `read_value`: reads never copy here."""
        return self.read_value()

    def numpy(self) -> Any:
        """A copy of the value as a NumPy array (a NumPy scalar for rank 0).

        Raises:
          NotImplementedError: in a graph.
          RuntimeError: XLA computed the value, and the process was forked since.
          ResourceExhaustedError: there was no memory to compute it.
        """
        if state.graph is not None or self._cell is None:
            raise NotImplementedError("numpy() is only available when eager execution is enabled.")
        log, cell = switch.log, self._cell
        with cell.lock if log is None else log.turn(None, "ReadVariableOp", (cell,)):
            value = cell.read()
        array = np.array(value if value.__class__ is np.ndarray else on_host(value), copy=True)
        return array.item() if array.dtype == object and not array.ndim else array[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = np.asarray(self.numpy())
        return array if dtype is None else array.astype(dtype)

    def sparse_read(self, indices: Any, name: str | None = None) -> Any:
        """The rows that `indices` name; reads only these.

        Args:
          indices: int32 or int64, any shape.
          name: the name in a graph.

        Returns:
          A tensor of shape indices.shape + shape[1:].

        Raises:
          InvalidArgumentError: an index is out of range.
        """
        self._watch()
        if self._reference is not None:
            return execute("GatherV2", (self._reference, indices, np.int32(0)), None, name)
        return execute(GATHER, (self._handle, indices), {"dtype": self._dtype}, name or "Gather")

    def gather_nd(self, indices: Any, name: str | None = None) -> Any:
        """The slices at positions `indices`; reads only these.

        Args:
          indices: int32 or int64 [..., K], positions in the first K axes.
          name: the name in a graph.

        Returns:
          A tensor of shape indices.shape[:-1] + shape[K:].

        Raises:
          InvalidArgumentError: a position is out of range.
        """
        if self._reference is not None:
            return execute("GatherNd", (self._reference, indices), None, name)
        self._watch()
        value = execute(
            GATHER_ND, (self._handle, indices), {"dtype": self._dtype}, name or "GatherNd"
        )
        return value if state.graph is None else execute("Identity", (value,))

    def is_initialized(self, name: str | None = None) -> Any:
        """Whether the variable has a value, as a bool tensor."""
        return execute(VAR_IS_INITIALIZED, (self._handle,), None, name)

    def __getitem__(self, slice_spec: Any) -> Any:
        tensor = getitem(self.value(), slice_spec)
        if not is_mask(slice_spec):
            tensor._handle_data = VariableSlice(self, slice_spec)
        return tensor

    def __iter__(self) -> Iterator[Any]:
        return iter(self.read_value())

    def __bool__(self) -> bool:
        if state.graph is not None and self._is_like_reference:
            return True  # programs of the first generation ask whether there is a variable
        return bool(self.read_value())

    __nonzero__ = __bool__

    def __int__(self) -> int:
        return int(self._known("int"))

    def __float__(self) -> float:
        return float(self._known("float"))

    def __complex__(self) -> complex:
        return complex(self._known("complex"))

    def _known(self, wanted: str) -> Any:
        """The value as a Python number needs it."""
        value = self.value()
        if state.graph is not None:
            raise AttributeError(
                f"{wanted}(variable): expected a value that is there, got '{value.name}', which is"
                " known only when the graph runs. Compute with the variable itself, or take its"
                " value from `Session.run` or outside of the function."
            )
        return value
