"""`Program`: what a plan is made from.

Nodes in topological order, pruned to what the fetches and targets need. Fed tensors become Feed
nodes; calls of functions are replaced by the body. Passes take a program and return one; `verify`
holds between them.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from penstock import errors
from penstock.core.op_def import find
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.implementations import implementation
from penstock.graph.operation import Operation
from penstock.runtime.node import FEED, Node, Ref
from penstock.runtime.reference_reads import Held, References
from penstock.runtime.references import has_references, lowered, reference_positions
from penstock.types import dtypes as dt
from penstock.types.dims import text

CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
LOOPS = frozenset({"While", "StatelessWhile"})
FLOW = frozenset({"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"})
BACK = {"NextIteration": "Merge", "RefNextIteration": "RefMerge"}  # edges to the next round


class Program:
    """Nodes in topological order, the feeds, and what is wanted.

    Attributes:
      flow: whether it has control flow of the first kind, see `penstock.runtime.frames`.
      back: the ways back of its loops, which are no inputs: (merge, number of the input, value).
    """

    def __init__(
        self, nodes: list[Node], feeds: list[Node], fetches: list[Ref], targets: list[Node]
    ) -> None:
        self.nodes = nodes
        self.feeds = feeds
        self.fetches = fetches
        self.targets = targets
        self.flow = False
        self.back: list[tuple[Node, int, Ref]] = []

    def __str__(self) -> str:
        wanted = ", ".join(f"{n.name}:{i}" for n, i in self.fetches)
        return "\n".join(
            [*map(repr, self.nodes), f"fetch {wanted}", *(f"target {n.name}" for n in self.targets)]
        )

    def verify(self) -> None:
        """Checks that every edge comes from an earlier node and names an output it has.

        Raises:
          InternalError: it does not hold; names the node and its neighbours.
        """
        seen: set[int] = set()
        for node in self.nodes:
            for source, index in node.inputs:
                if id(source) not in seen or not 0 <= index < len(source.dtypes):
                    raise errors.InternalError(
                        None,
                        None,
                        f"{node!r}: input {source.name}:{index} is not an earlier output",
                    )
            for source in node.control:
                if id(source) not in seen:
                    raise errors.InternalError(
                        None, None, f"{node!r}: waits for {source.name}, which is not earlier"
                    )
            seen.add(id(node))
        for source in [n for n, _ in self.fetches] + self.targets:
            if id(source) not in seen:
                raise errors.InternalError(
                    None, None, f"{source!r} is wanted but not in the program"
                )


def build(
    fetches: Sequence[SymbolicTensor],
    feeds: Sequence[SymbolicTensor],
    targets: Sequence[Operation],
    inline_all: bool = False,
    feeds_complete: bool = True,
) -> Program:
    """The program that computes `fetches` and runs `targets` when `feeds` are given.

    A placeholder that is not fed is refused, or, unless `feeds_complete`, a feed that is not in the
    program's list.

    Calls of functions that must be one compiled region stay calls, unless `inline_all`: the program
    is itself part of a region then.
    """
    builder = _Builder(inline_all=inline_all)
    builder.feeds_complete = feeds_complete
    feed_nodes = [builder.feed(t) for t in feeds]
    builder.visit([t.op for t in fetches if id(t) not in builder.fed] + list(targets))
    wanted = [builder.ref(t) for t in fetches]
    ends = [builder.end(op) for op in targets]
    turns = [source for _, _, (source, _) in builder.back]
    program = sort(feed_nodes, wanted, list(dict.fromkeys([*ends, *builder.effects, *turns])))
    program.flow, program.back = builder.flow, builder.back
    return program


class _Builder:
    """Copies operations into nodes, once each, in dependency order.

    Without recursion over the graph.
    """

    def __init__(
        self, prefix: str = "", gate: Node | None = None, inline_all: bool = False
    ) -> None:
        self.prefix = prefix
        self.inline_all = inline_all
        self.feeds_complete = True
        self.gate = gate  # inside a call: what operations without inputs wait for
        self.fed: dict[int, Node | Ref] = {}
        self.values: dict[int, list[Ref]] = {}  # id(operation) -> its outputs
        self.references = References(prefix)
        self.ends: dict[int, Node] = {}  # id(operation) -> the node to wait for
        self.effects: list[Node] = []  # what calls must run, whichever outputs are wanted
        self.flow = False  # whether an operation of `FLOW` was met
        self.back: list[tuple[Node, int, Ref]] = []
        self._open_back: list[tuple[Node, int, SymbolicTensor]] = []
        self.keep: list[Any] = []

    def feed(self, tensor: SymbolicTensor) -> Node:
        node = Node(
            FEED,
            None,
            f"{self.prefix}{tensor.name}",
            {},
            [],
            [],
            [tensor.dtype.base_dtype],
            [tensor.dims],
            location=tensor.op.location,
        )
        self.fed[id(tensor)] = node
        return node

    def bind(self, tensor: SymbolicTensor, ref: Ref) -> None:
        """Inside a call: an input of the body is a value outside."""
        self.fed[id(tensor)] = ref

    def ref(self, tensor: SymbolicTensor) -> Ref:
        fed = self.fed.get(id(tensor))
        if fed is not None:
            return fed if isinstance(fed, tuple) else (fed, 0)
        held = self.references.held_by(tensor)
        if held is not None:
            return self.references.read(tensor, held, [])
        return self.values[id(tensor.op)][tensor.value_index]

    def _value(self, op: Operation, tensor: SymbolicTensor) -> Ref:
        """What an input of an operation is when it runs: a variable is read then, if it changes."""
        references = self.references
        held = None if id(tensor) in self.fed else references.seen_by(op, tensor)
        if held is None:
            return self.ref(tensor)
        control = [self.ends[id(c)] for c in op._control_inputs]
        others = [t for t in op.inputs if t is not tensor and references.follows(t, held)]
        return references.read(tensor, held, [*control, *(self.ref(t)[0] for t in others)])

    def end(self, op: Operation) -> Node:
        return self.ends[id(op)]

    def visit(self, roots: Iterable[Operation]) -> None:
        self._visit(roots)
        while self._open_back:
            merge, position, tensor = self._open_back.pop()
            self._visit([tensor.op])
            held = self.references.held_by(tensor)
            self.back.append((merge, position, self.ref(tensor) if held is None else held.handle))

    def _visit(self, roots: Iterable[Operation]) -> None:
        stack = [(op, False) for op in roots]
        open_ops: set[int] = set()
        while stack:
            op, ready = stack.pop()
            if id(op) in self.ends:
                continue
            if op._outputs and all(id(t) in self.fed for t in op._outputs):
                self.ends[id(op)] = self.ref(op._outputs[0])[0]  # fed: it does not run
                continue
            if ready:
                open_ops.discard(id(op))
                self._copy(op)
                continue
            if id(op) in open_ops:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"the graph has a cycle through operation '{op.name}' (defined at "
                    f"{op.location})",
                )
            open_ops.add(id(op))
            stack.append((op, True))
            for tensor in op.inputs:
                known = id(tensor) in self.fed or id(tensor.op) in self.ends
                if not known and BACK.get(tensor.op.type) != op.type:
                    stack.append((tensor.op, False))
            stack.extend((c, False) for c in op._control_inputs if id(c) not in self.ends)

    def _is_back(self, op: Operation, tensor: SymbolicTensor) -> bool:
        return BACK.get(tensor.op.type) == op.type and id(tensor) not in self.fed

    def _copy(self, op: Operation) -> None:
        if has_references(op):
            self._copy_with_references(op)
            return
        inputs = [self._value(op, t) for t in op.inputs if not self._is_back(op, t)]
        control = list(dict.fromkeys(self.ends[id(c)] for c in op._control_inputs))
        if self.gate is not None and (not inputs or op.op_def.stateful):
            control.append(self.gate)
        if op.type in CALLS and (self.inline_all or not op.attrs["f"].must_compile):
            self._inline(op, inputs, control)
            self.references.follow(op, self.ends[id(op)])
            return
        if op.type == "Placeholder":
            if self.feeds_complete:
                raise _unfed(op)
            self.ends[id(op)] = self.feed(op._outputs[0])
            return
        node = Node(
            op.type,
            op.op_def,
            self.prefix + op.name,
            op.attrs,
            inputs,
            control,
            [t.dtype for t in op._outputs],
            [t.dims for t in op._outputs],
            op.input_counts,
            op._device,
            op.location,
            op,
        )
        self.values[id(op)] = [(node, i) for i in range(len(op._outputs))]
        if op.type in FLOW:
            self._note_flow(op, node)
        self.references.follow(op, node)
        if op.type in LOOPS:  # a handle stays what it was
            for i, (source, index) in enumerate(inputs):
                if source.dtypes[index] is dt.resource:
                    self.values[id(op)][i] = (source, index)
        self.ends[id(op)] = node

    def _copy_with_references(self, op: Operation) -> None:
        control = list(dict.fromkeys(self.ends[id(c)] for c in op._control_inputs))
        made, kept = lowered(op), reference_positions(op)
        inputs: list[Ref] = []
        waits = list(control)
        taken: list[Held] = []
        for i, tensor in enumerate(op.inputs):
            if self._is_back(op, tensor):
                continue
            if i in kept:
                held = self._handle(op, tensor)
                taken.append(held)
                inputs.append(held.handle)
                waits += held.waits
            else:
                inputs.append(self._value(op, tensor))
        outputs = [(t.dtype, t.dims) for t in op._outputs] if made is None else made.outputs
        node = Node(
            op.type if made is None else made.type,
            op.op_def if made is None else find(made.type),
            self.prefix + op.name,
            op.attrs if made is None else made.attrs,
            inputs,
            list(dict.fromkeys(waits)),
            [dtype for dtype, _ in outputs],
            [dims for _, dims in outputs],
            op.input_counts,
            op._device,
            op.location,
            op,
        )
        self.ends[id(op)] = node
        self.values[id(op)] = [(node, i) for i in range(len(op._outputs))]
        self.references.follow(op, node)
        if made is not None:
            self.references.hold(op, node, made, taken)
        if node.type in FLOW:
            self._note_flow(op, node)

    def _handle(self, op: Operation, tensor: SymbolicTensor) -> Held:
        held = self.references.held_by(tensor)
        if held is None or id(tensor) in self.fed:
            raise errors.InvalidArgumentError(
                None,
                op,
                f"'{op.name}' (defined at {op.location}) expected a variable, got the value "
                f"'{tensor.name}'. Feed what reads the variable, not the variable.",
            )
        return held

    def _arrived(self, name: str, ref: Ref) -> Ref:
        """An input of a call as the output of a node that runs only where the input is alive."""
        source, index = ref
        if source.type not in FLOW:
            return ref
        made = source.copy([ref], [])
        made.type, made.op, made.attrs = "Identity", find("Identity"), {"T": source.dtypes[index]}
        made.name, made.counts = f"{name}/input", None
        made.dtypes, made.shapes = [source.dtypes[index]], [source.shapes[index]]
        return made, 0

    def _note_flow(self, op: Operation, node: Node) -> None:
        self.flow = True
        if node.type == "Enter" and self.prefix:  # a loop of each call of a function
            node.attrs = {**node.attrs, "frame_name": f"{self.prefix}{op.attrs['frame_name']}"}
        for i, tensor in enumerate(op.inputs):
            if self._is_back(op, tensor):
                self._open_back.append((node, i, tensor))

    def _inline(self, op: Operation, inputs: list[Ref], control: list[Node]) -> None:
        body = implementation(op)
        name = self.prefix + op.name
        if self.flow:  # all of a call is alive, or nothing, and in one round
            inputs = [self._arrived(name, ref) for ref in inputs]
            control = list(dict.fromkeys([*control, *(source for source, _ in inputs)]))
        enter = Node(
            "NoOp", find("NoOp"), f"{name}/enter", {}, [], control, [], [], location=op.location
        )
        inner = _Builder(f"{name}/", enter, self.inline_all)
        inner.flow = self.flow
        for tensor, ref in zip(body.inputs, inputs, strict=True):
            inner.bind(tensor, ref)
        inner.visit(
            [t.op for t in body.outputs if id(t) not in inner.fed] + list(body.control_outputs)
        )
        ends = [inner.end(c) for c in body.control_outputs]
        leave = Node(
            "NoOp",
            find("NoOp"),
            f"{name}/leave",
            {},
            [],
            [enter, *ends],
            [],
            [],
            location=op.location,
        )
        self.values[id(op)] = [inner.ref(t) for t in body.outputs]
        self.ends[id(op)] = leave
        self.effects += [*ends, *inner.effects]
        self.flow = self.flow or inner.flow
        self.back += inner.back
        self.keep.append(inner)


def _unfed(op: Operation) -> Exception:
    output = op.outputs[0]
    return errors.InvalidArgumentError(
        None,
        op,
        f"You must feed a value for placeholder tensor '{op.name}' with dtype "
        f"{output.dtype.name} and shape {text(output.dims)} "
        f"(defined at {op.location}). Pass it in feed_dict.",
    )


def sort(feeds: list[Node], fetches: list[Ref], targets: list[Node]) -> Program:
    """The program of what `fetches` and `targets` need, in topological order.

    This is also dead code elimination.
    """
    order: list[Node] = []
    done: set[int] = set()
    for feed in feeds:
        order.append(feed)
        done.add(id(feed))
    stack: list[tuple[Node, bool]] = [
        (n, False) for n in reversed([n for n, _ in fetches] + targets)
    ]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if ready:
            done.add(id(node))
            order.append(node)
            continue
        stack.append((node, True))
        stack.extend((c, False) for c in reversed(node.control) if id(c) not in done)
        stack.extend((s, False) for s, _ in reversed(node.inputs) if id(s) not in done)
    for i, node in enumerate(order):
        node.id = i
    return Program(order, feeds, fetches, targets)


__all__ = ["BACK", "CALLS", "FEED", "FLOW", "LOOPS", "Node", "Program", "Ref", "build", "sort"]
