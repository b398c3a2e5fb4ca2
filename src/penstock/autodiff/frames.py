"""Loops of the first kind as gradients see them: each as one operation, like a `While`.

The program between `Enter` and `Exit` goes round, so a walk from results to sources cannot follow
it operation by operation. `FrameLoop` reads a loop off its operations: it has inputs, outputs and a
body as a `While` has, so both have one rule (`penstock.autodiff.frame_loops`). All variables of a
loop switch on one `LoopCond`, which tells loops apart.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from penstock import errors
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.body import CallBody
from penstock.graph.operation import Operation

EXITS = frozenset({"Exit", "RefExit"})
ENTERS = frozenset({"Enter", "RefEnter"})
MERGES = frozenset({"Merge", "RefMerge"})
SWITCHES = frozenset({"Switch", "RefSwitch"})


class FrameBody(CallBody):
    """One round of a loop: the part of the graph between its `Switch`es and `NextIteration`s."""

    def __init__(self, loop: "FrameLoop") -> None:
        self.name = loop.name.replace("/", "_")
        self.graph = loop.graph  # type: ignore[assignment]  # a round is a part of any graph
        shared = [op._outputs[0] for op in loop.constants]
        self.inputs = (*shared, *[switch._outputs[1] for switch in loop.switches])
        self.outputs = (*shared, *[op.inputs[0] for op in loop.nexts])
        self.control_outputs = ()
        self.backward = loop.graph.notes.setdefault(("loop", loop.condition), {})
        self.must_compile = False


class FrameLoop:
    """A loop, with the names that an Operation of type `While` has.

    Attributes:
      condition: its LoopCond.
      constants: the `Enter`s of values that all rounds share; they come before the variables
        among inputs and outputs.
      enters, merges, switches, nexts: the operations of each variable.
      inputs: what enters the loop.
      attrs: the body.
    """

    def __init__(self, leaving: Operation) -> None:
        self.condition = _condition_of(leaving)
        self.graph = leaving.graph
        self.name = leaving.name.rpartition("/")[0] or leaving.name
        self.switches = [
            op
            for op in self.graph.consumers(self.condition._outputs[0])
            if op.type in SWITCHES and op.inputs[1] is self.condition._outputs[0]
        ]
        self.merges = [op.inputs[0].op for op in self.switches]
        ways = [self._ways(merge) for merge in self.merges]
        self.enters, self.nexts = [w[0] for w in ways], [w[1] for w in ways]
        self.frame_name: str = self.enters[0].attrs["frame_name"]
        self.constants = self._constants()
        self.inputs = tuple(op.inputs[0] for op in [*self.constants, *self.enters])
        self.attrs = {"body": FrameBody(self)}

    def _ways(self, merge: Operation) -> tuple[Operation, Operation]:
        """What enters the loop and what goes round it, of a variable."""
        if merge.type in MERGES and len(merge.inputs) == 2:
            enter, back = (t.op for t in merge.inputs)
            if enter.type in ENTERS and back.type in ("NextIteration", "RefNextIteration"):
                return enter, back
        raise refused(merge, "one Enter and one NextIteration for each variable")

    def _constants(self) -> list[Operation]:
        """The `Enter`s of what all rounds share that a round uses."""
        stops = {id(op) for op in self.switches}
        seen: set[int] = set()
        found: list[Operation] = []
        stack = [t.op for op in self.nexts for t in op.inputs]
        while stack:
            op = stack.pop()
            if id(op) in seen or id(op) in stops:
                continue
            seen.add(id(op))
            if op.type in ENTERS and op.attrs["frame_name"] == self.frame_name:
                if not op.attrs["is_constant"]:
                    raise refused(op, "a round that takes its values from Switch")
                found.append(op)
            else:
                stack.extend(t.op for t in op.inputs)
        return sorted(found, key=lambda op: op._id)

    @property
    def exits(self) -> list[list[Operation]]:
        """For each input the operations that its value leaves the loop by."""
        leaving = [
            [c for c in self.graph.consumers(s._outputs[0]) if c.type in EXITS]
            for s in self.switches
        ]
        return [[] for _ in self.constants] + leaving

    def leaving(self, number: int) -> SymbolicTensor:
        """The value of an input after the loop."""
        if number < len(self.constants):
            return self.inputs[number]
        found = self.exits[number]
        if found:
            return found[0]._outputs[0]
        switch = self.switches[number - len(self.constants)]
        return execute("Exit", (switch._outputs[0],))  # type: ignore[no-any-return]


def _condition_of(leaving: Operation) -> Operation:
    switch = leaving.inputs[0].op
    if switch.type not in SWITCHES or switch.inputs[1].op.type != "LoopCond":
        raise refused(leaving, "the value of a Switch on the loop's LoopCond")
    condition: Operation = switch.inputs[1].op
    return condition


def refused(
    op: Operation,
    expected: str,
    got: str | None = None,
    way_out: str = "Build the loop with tf.while_loop, or stop the gradient before it",
) -> errors.UnimplementedError:
    """The error for control flow that has no gradient here."""
    inputs = ", ".join(f"{t.op.type} '{t.op.name}'" for t in op.inputs)
    return errors.UnimplementedError(
        None,
        op,
        f"gradient of {op.type} '{op.name}' (defined at {op.location}): expected {expected}, got"
        f" {got or inputs or 'no input'}. {way_out}.",
    )


def topological(
    ys: Sequence[SymbolicTensor], graph: Any, stops: Sequence[Any] = ()
) -> Iterator[Operation | FrameLoop]:
    """The operations of `graph` that `ys` depend on, inputs before users; loops as one each.

    `stops`: tensors that nothing before is looked at for.
    """
    known = {id(t) for t in stops}
    loops: dict[int, FrameLoop] = {}  # by the id of its LoopCond
    entered: set[int] = set()

    def unit(op: Operation) -> Operation | FrameLoop:
        if op.type not in EXITS:
            return op
        condition = _condition_of(op)
        if id(condition) not in loops:
            loops[id(condition)] = FrameLoop(op)
        return loops[id(condition)]

    stack = [(unit(y.op), False) for y in ys if y.graph is graph and id(y) not in known]
    while stack:
        op, ready = stack.pop()
        if ready:
            yield op
        elif id(op) not in entered:
            entered.add(id(op))
            stack.append((op, True))
            for tensor in op.inputs:
                if id(tensor) not in known:
                    source = unit(tensor.op)
                    if id(source) not in entered:
                        stack.append((source, False))


__all__ = [
    "ENTERS",
    "EXITS",
    "MERGES",
    "SWITCHES",
    "FrameBody",
    "FrameLoop",
    "refused",
    "topological",
]
