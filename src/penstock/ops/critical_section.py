"""`tf.CriticalSection`: a part of a program that runs in one place at a time.

`execute` takes a mutex, runs a function under it and gives the mutex back when all operations that
the function made have run. In a graph the section notes its operations, so that one that would wait
for itself, or a resource that two sections claim, is refused when the graph is made.
"""

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from penstock.core import rounds
from penstock.core.context import state
from penstock.core.execute import execute
from penstock.core.resources import eager_resources
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import EagerTensor
from penstock.graph.behavior import control_dependencies
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation
from penstock.ops import mutex_ops
from penstock.ops.array_basics import identity
from penstock.types import dtypes as dt
from penstock.util import nest

SECTIONS = "critical_sections"  # the collection of a graph's sections
EXECUTIONS = "critical_section_executions"  # the collection of a graph's executions


class _Execution:
    """One `execute` in a graph: its section, whether it claims its resources, and these."""

    __slots__ = ("exclusive", "handle", "lock", "resources")

    def __init__(self, handle: Any, lock: Operation, resources: set[Any], exclusive: bool) -> None:
        self.handle = handle
        self.lock = lock
        self.resources = resources
        self.exclusive = exclusive


class CriticalSection:
    """A part of a program that runs in one place at a time.

    Args:
      name: the name in a graph.
      shared_name: the name under which sessions share it; its own when None.
      critical_section_def: must be None.
      import_scope: must be None.

    Raises:
      ValueError: a definition and a name are both given.
      NotImplementedError: a definition is given.

    Example:
      >>> section, total = tf.CriticalSection(), tf.Variable(0)
      >>> int(section.execute(lambda: total.assign_add(2)))
      2
    """

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if critical_section_def is not None and name is not None:
            raise ValueError(
                f"Arguments critical_section_def={critical_section_def} and shared_name="
                f"{shared_name} are mutually exclusive. Please only specify one of them."
            )
        if critical_section_def is not None:
            raise NotImplementedError(
                "Argument `critical_section_def` is not supported: expected None. Make the section "
                "by name."
            )
        if state.graph is not None:
            with state.graph.name_scope(name or "CriticalSection") as scope:
                shared = scope if shared_name is None else shared_name
                self._handle = execute(mutex_ops.MUTEX, (), {"shared_name": shared}, name=scope)
            state.graph.add_to_collection(SECTIONS, self)
        else:
            self._handle = execute(mutex_ops.MUTEX, (), {"shared_name": shared_name})
            shared = self._handle._array.name
            if shared_name is None:
                weakref.finalize(self, eager_resources.delete, "", shared)
        self._name = shared

    @property
    def name(self) -> str:
        """The name of the section's mutex."""
        if isinstance(self._handle, SymbolicTensor):
            return str(self._handle.op.name)
        return self._name

    def execute(
        self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None
    ) -> Any:
        """Runs a function while nobody else runs one in this section.

        Args:
          fn: takes nothing; returns tensors, operations, a structure of them, or None.
          exclusive_resource_access: whether no other section may use the same resources.
          name: the name in a graph.

        Returns:
          What `fn` returns, there when the section has ended.

        Raises:
          ValueError: the section would wait for itself, or another one claims a resource that it
            uses (in a graph).
        """
        graph = state.graph
        if graph is None:
            return self._execute_now(fn)
        with graph.name_scope(name or "critical_section_execute"):
            return self._execute_in(graph, fn, exclusive_resource_access)

    def _execute_now(self, fn: Callable[[], Any]) -> Any:
        if self._runs_around():
            raise self._waits_for_itself()
        token = execute(mutex_ops.LOCK, (self._handle,))
        try:
            with rounds.holding(self._handle._array.resource):
                return nest.map_structure(
                    lambda x: None if x is None else identity(x), fn(), expand_composites=True
                )
        finally:
            execute(mutex_ops.CONSUME, (token,))

    def _runs_around(self) -> bool:
        """Whether this thread runs the section eagerly."""
        eager = isinstance(self._handle, EagerTensor)
        return eager and self._handle._array.resource in rounds.held()

    def _waits_for_itself(self) -> ValueError:
        return ValueError(
            f"Attempting to lock critical section '{self.name}' while inside of it: it would wait "
            "for itself. Call the function directly there."
        )

    def _execute_in(self, graph: Graph, fn: Callable[[], Any], exclusive: bool) -> Any:
        outer = getattr(graph, "_critical_sections", ())
        if self._runs_around() or any(handle is self._handle for handle in outer):
            raise self._waits_for_itself()
        token = execute(mutex_ops.LOCK, (self._handle,))
        before = len(graph.get_operations())
        with control_dependencies([token]), _inside(graph, self._handle):
            result = fn()
        made = graph.get_operations()[before:]
        self._check(graph, token.op, made, exclusive)
        flat = nest.flatten(result)
        with control_dependencies([*_alive(made), *(x for x in flat if x is not None)]):
            ended = execute(mutex_ops.CONSUME, (token,))
        with control_dependencies([ended]):
            kept = [_after(ended, x) for x in flat]
        return nest.pack_sequence_as(result, kept) if nest.is_nested(result) else kept[0]

    def _check(self, graph: Graph, lock: Operation, made: Any, exclusive: bool) -> None:
        """Raises ValueError when another section uses the same resources, and one claims them."""
        used = {
            id(tensor): tensor
            for op in made
            for tensor in op.inputs
            if tensor.dtype is dt.resource and tensor is not self._handle
        }
        for other in graph.get_collection(EXECUTIONS):
            if other.handle is self._handle or not (exclusive or other.exclusive):
                continue
            common = [t for key, t in used.items() if key in other.resources]
            if common:
                raise ValueError(
                    f"This execution of critical section '{self.name}' uses resource "
                    f"'{common[0].name}', which the execution '{other.lock.name}' of another "
                    "section uses: expected exclusive access. Use one section for both, or pass "
                    "exclusive_resource_access=False to both."
                )
        graph.add_to_collection(EXECUTIONS, _Execution(self._handle, lock, set(used), exclusive))

    def __repr__(self) -> str:
        return f"<CriticalSection {self.name!r}>"


def _after(ended: Operation, value: Any) -> Any:
    """A value that is there when the section has ended; an operation becomes its end."""
    if value is None:
        return None
    return ended if isinstance(value, Operation) else identity(value)


def _alive(made: Any) -> list[Operation]:
    """Operations that the section must wait for: those with effects, and the last of each chain."""
    inner = {id(t.op) for op in made for t in op.inputs}
    return [op for op in made if op.op_def.stateful or id(op) not in inner]


@contextlib.contextmanager
def _inside(graph: Any, handle: Any) -> Iterator[None]:
    before = getattr(graph, "_critical_sections", ())
    graph._critical_sections = (*before, handle)
    try:
        yield
    finally:
        graph._critical_sections = before
