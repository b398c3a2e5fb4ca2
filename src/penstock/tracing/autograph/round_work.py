"""What a round of a loop does, in a form that tells whether two traces of it do the same.

A round is traced again with other values of its variables (one that was None is a tensor then).
Both traces are the same work when they hold the same operations, in order, with the same attributes
and of the same inputs, and leave the same in the variables. Tensors get names for that: a variable
by its place, the result of an operation by the operation's number, what comes from outside by the
outer tensor. Where this cannot be told, the works differ: the loop then holds both rounds.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.body import CallBody
from penstock.graph.func_graph import effects_of
from penstock.ops.bodies import BodyGraph

Name = tuple[Any, ...]  # what a tensor is, equal in two traces where it is the same one


@dataclasses.dataclass(frozen=True, slots=True)
class RoundWork:
    """What a traced round does.

    Attributes:
      operations: of each operation its type, attributes, inputs and what it waits for.
      left: the names of the tensors that the round left in its variables.
      kept: what is named by identity; while it is there, nothing else has the same one.
    """

    operations: tuple[Any, ...]
    left: tuple[Name, ...]
    kept: Any = dataclasses.field(compare=False, repr=False)


def round_work(
    graph: BodyGraph, start: int, variables: Mapping[int, Name], left: Iterable[Any]
) -> RoundWork:
    """The work of the round that was just traced in `graph`.

    Args:
      graph: that of the round.
      start: how many operations it had before.
      variables: by the identity of a variable's tensor in the graph, its name.
      left: what the round left in its variables.
    """
    left = list(left)
    names = _Names(_names_of_inputs(graph, variables))
    added = graph.get_operations()[start:]
    writes = any(written for op in added for _, written in effects_of(op) or ())
    work = names.of_operations(added, () if writes else graph.captures)
    return RoundWork(work, tuple(names.of(t) for t in left), (graph, left))


def _names_of_inputs(graph: BodyGraph, variables: Mapping[int, Name]) -> dict[int, Name]:
    """Names of variables, of what is captured and, counted from the last, of other inputs."""
    names = dict(variables)
    read = {id(value): id(handle) for _, handle, _, value in graph.reads.values()}
    for outer, inner in graph.captures:
        handle = read.get(id(outer))
        names[id(inner)] = ("outside", id(outer)) if handle is None else ("read", handle)
    others = [t for t in graph.inputs if id(t) not in names]
    names.update({id(t): ("input", i) for i, t in enumerate(reversed(others))})
    return names


class _Names:
    """The names of the tensors of one graph."""

    def __init__(self, names: dict[int, Name]) -> None:
        self._names = names
        self._numbers: dict[Any, Name] = {}  # of operations, for those that wait for them

    def of(self, tensor: Any) -> Name:
        """The name of a tensor; of one from nowhere known, a name that no other has."""
        if not isinstance(tensor, SymbolicTensor):
            return ("outside", id(tensor))
        return self._names.get(id(tensor), ("unknown", object()))

    def of_operations(
        self, operations: Sequence[Any], captures: Sequence[tuple[Any, Any]] = ()
    ) -> tuple[Any, ...]:
        """Names what operations return, and says what they do.

        Args:
          operations: in the order of the graph.
          captures: those of handles whose reads may happen outside as well, as no write is near.
        """
        handles = {id(inner): id(outer) for outer, inner in captures}
        work: list[Any] = []
        for op in operations:
            if op.type == "Placeholder" and id(op.outputs[0]) in self._names:
                continue
            if op.type == "Const" and not op.control_inputs:
                self._names[id(op.outputs[0])] = ("constant", op.attrs["value"])
                continue
            if op.type == "ReadVariableOp" and id(op.inputs[0]) in handles:
                self._names[id(op.outputs[0])] = ("read", handles[id(op.inputs[0])])
                continue
            self._numbers[op] = ("operation", len(work))
            for i, tensor in enumerate(op.outputs):
                self._names[id(tensor)] = ("result", len(work), i)
            work.append(self._of_operation(op))
        return tuple(work)

    def _of_operation(self, op: Any) -> tuple[Any, ...]:
        attrs = {key: _of_attribute(value) for key, value in op.attrs.items()}
        waits = frozenset(self._of_controller(before) for before in op.control_inputs)
        return op.type, attrs, op.device, tuple(self.of(t) for t in op.inputs), waits

    def _of_controller(self, op: Any) -> Name:
        if op in self._numbers:
            return self._numbers[op]
        return self.of(op.outputs[0]) if op.outputs else ("unknown", object())


def _of_attribute(value: Any) -> Any:
    if isinstance(value, CallBody):
        names = _Names({id(t): ("input", i) for i, t in enumerate(value.inputs)})
        work = names.of_operations(value.graph.get_operations())
        return work, tuple(names.of(t) for t in value.outputs)
    return tuple(map(_of_attribute, value)) if isinstance(value, tuple) else value
