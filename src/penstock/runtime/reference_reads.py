"""When the values of variables of the first kind are read, while a program is built.

The value of such a variable is its memory: what an Identity, a Switch or an Enter makes of it
changes with the variable. So an operation that takes such a value, and runs after the variable was
changed, reads it anew. Whether it runs after a change follows from what it takes and waits for:
what is ordered by neither may read before or after.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.core.op_def import find
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.operation import Operation
from penstock.runtime.node import Node, Ref
from penstock.runtime.references import Lowered
from penstock.types import dtypes as dt

PASSING = frozenset({"Identity", "Switch", "Enter"})  # what hands the memory of its input on


@dataclass(frozen=True, slots=True)
class Held:
    """A reference, or a value that is a variable's memory.

    Attributes:
      handle: the handle of the variable.
      waits: what a read waits for.
      variables: a bit for each variable that it may be.
    """

    handle: Ref
    waits: list[Node]
    variables: int


class References:
    """The references of a program, and the values that change with their variables."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._held: dict[tuple[int, int], Held] = {}  # by operation and output
        self._views: dict[tuple[int, int], Held] = {}
        self._changed: dict[int, int] = {}  # id(operation) -> variables that changed once it ran
        self._count = 0

    def held_by(self, tensor: SymbolicTensor) -> Held | None:
        """What a reference refers to; None for a value."""
        return self._held.get((id(tensor.op), tensor.value_index))

    def seen_by(self, op: Operation, tensor: SymbolicTensor) -> Held | None:
        """The variable that an operation reads where it takes a value; None where it need not."""
        if not self._held:
            return None
        key = id(tensor.op), tensor.value_index
        if tensor.dtype.is_ref:
            return self._held.get(key)
        view = self._views.get(key)
        return view if view is not None and view.variables & self._before(op) else None

    def follows(self, tensor: SymbolicTensor, held: Held) -> bool:
        """Whether a value is there only once a variable was changed."""
        return bool(self._changed.get(id(tensor.op), 0) & held.variables)

    def read(self, tensor: SymbolicTensor, held: Held, control: Sequence[Node]) -> Ref:
        """The value of a variable, read after `control`."""
        dtype = tensor.dtype.base_dtype
        node = Node(
            "ReadVariableOp",
            find("ReadVariableOp"),
            f"{self._prefix}{tensor.op.name}/read",
            {"dtype": dtype},
            [held.handle],
            list(dict.fromkeys([*held.waits, *control])),
            [dtype],
            [tensor.dims],
            location=tensor.op.location,
            origin=tensor.op,
        )
        return node, 0

    def hold(self, op: Operation, node: Node, made: Lowered, taken: list[Held]) -> None:
        """Notes the references that an operation gives, and the variables that it changes."""
        variables = 0
        for held in taken:
            variables |= held.variables
        moves = any(place is not None for place in made.references.values())
        if moves and not taken:
            variables = 1 << self._count
            self._count += 1
        elif not moves:
            self._changed[id(op)] = self._changed.get(id(op), 0) | variables
        for i, place in made.references.items():
            own = Held(taken[0].handle, [node], variables) if place is None else None
            self._held[id(op), i] = own or Held((node, place or 0), [], variables)

    def follow(self, op: Operation, node: Node) -> None:
        """Notes what changed before an operation, and which of its outputs are a variable's memory.

        Its node may be one of a call, which takes no references.
        """
        if not self._held:
            return
        before = self._before(op)
        if before:
            self._changed[id(op)] = before
        if op.type not in PASSING:
            return
        tensor = op._inputs[0]
        key = id(tensor.op), tensor.value_index
        held = self._held.get(key) or self._views.get(key)
        if held is None or op._outputs[0].dtype.is_ref:
            return
        if op.type == "Identity":
            self._views[id(op), 0] = Held(held.handle, [*held.waits, node], held.variables)
            return
        moved = node.copy([held.handle, *node.inputs[1:]], [*node.control, *held.waits])
        moved.name, moved.attrs = f"{node.name}/handle", {**node.attrs, "T": dt.resource}
        moved.dtypes, moved.shapes = [dt.resource for _ in node.dtypes], [() for _ in node.dtypes]
        for i in range(len(node.dtypes)):
            self._views[id(op), i] = Held((moved, i), [], held.variables)

    def _before(self, op: Operation) -> int:
        changed: Any = self._changed
        found = 0
        for source in (*(t.op for t in op._inputs), *op._control_inputs):
            found |= changed.get(id(source), 0)
        return found
