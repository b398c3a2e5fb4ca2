"""In which branches values are alive: the conditions that hold where `Switch`es let them through.

`guards(tensor)` counts from the loop around it on. A value that leaves an inner loop is alive where
those are that enter it; the result of a conditional where what both branches got is.
"""

from typing import Any

from penstock.autodiff.frames import ENTERS, EXITS, MERGES, SWITCHES, FrameLoop, refused
from penstock.graph.operation import Operation
from penstock.graph.static_values import value_source

Key = tuple[int, int, int]  # (id of the operation of the condition, its output, the side taken)
Guard = tuple[Any, int]  # (condition, side)


def guards(tensor: Any) -> list[Guard]:
    """The conditions that must hold for a tensor to be alive; outer ones first.

    Raises:
      UnimplementedError: it comes of branches that no `cond` writes.
    """
    here = _of(tensor.op)
    found = here.tensor(tensor)
    depth = {key: len(here.tensor(condition)) for key, (condition, _) in found.items()}
    return [found[key] for key in sorted(found, key=lambda key: depth[key])]


def sides(merge: Operation) -> list[Guard] | None:
    """For each input of a `Merge` where it is taken; None unless one condition decides that."""
    here = _of(merge)
    return here.sides(merge)


def _of(op: Operation) -> "_Guards":
    found: _Guards = op.graph.notes.setdefault("guards", _Guards())
    return found


class _Guards:
    """The guards of operations of one graph, which live as long as it."""

    def __init__(self) -> None:
        self._known: dict[int, dict[Key, Guard]] = {}

    def tensor(self, tensor: Any) -> dict[Key, Guard]:
        """The guards of a tensor."""
        found = self._operation(tensor.op)
        if tensor.op.type not in SWITCHES or _of_loop(tensor.op):
            return found
        condition, side = value_source(tensor.op.inputs[1]), tensor.value_index
        return {**found, (id(condition.op), condition.value_index, side): (condition, side)}

    def sides(self, merge: Operation) -> list[Guard] | None:
        """See `sides`."""
        if len(merge.inputs) != 2:
            return None
        first, second = map(self.tensor, merge.inputs)
        left, right = first.keys() - second.keys(), second.keys() - first.keys()
        if len(left) != 1 or len(right) != 1:
            return None
        (one,), (other,) = left, right
        return [first[one], second[other]] if one[:2] == other[:2] else None

    def _operation(self, op: Operation) -> dict[Key, Guard]:
        stack = [op]
        while stack:
            top = stack[-1]
            waiting = [s for s in _sources(top) if id(s) not in self._known]
            if waiting and id(top) not in self._known:
                stack.extend(waiting)
                continue
            if id(top) not in self._known:
                self._known[id(top)] = self._compute(top)
            stack.pop()
        return self._known[id(op)]

    def _compute(self, op: Operation) -> dict[Key, Guard]:
        if op.type in MERGES and not _of_loop(op):
            if self.sides(op) is None:
                raise refused(op, "a Merge of the two branches of one condition")
            first, second = map(self.tensor, op.inputs)
            return {key: first[key] for key in first.keys() & second.keys()}
        found: dict[Key, Guard] = {}
        for tensor in _taken(op):
            found.update(self.tensor(tensor))
        for control in _waited(op):
            found.update(self._known[id(control)])
        return found


def _of_loop(op: Operation) -> bool:
    """Whether a `Switch` or `Merge` is that of a loop's variable."""
    if op.type in SWITCHES:
        return bool(op.inputs[1].op.type == "LoopCond")
    return any(t.op.type.endswith("NextIteration") for t in op.inputs)


def _taken(op: Operation) -> tuple[Any, ...]:
    """The values that an operation waits for; none from before the loop that it is in."""
    if op.type in EXITS:
        return FrameLoop(op).inputs
    if op.type in ENTERS or (op.type in SWITCHES | MERGES and _of_loop(op)):
        return ()
    return op.inputs


def _sources(op: Operation) -> list[Operation]:
    return [*(t.op for t in _taken(op)), *_waited(op)]


def _waited(op: Operation) -> tuple[Operation, ...]:
    return () if op.type in EXITS | ENTERS else op._control_inputs


__all__ = ["guards", "sides"]
