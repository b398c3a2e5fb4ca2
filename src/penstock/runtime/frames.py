"""Frames: what is known before a run about control flow of the first kind. Pure decisions.

`Enter` takes a value into a frame, which is a loop; `NextIteration` to the loop's next round;
`Exit` out of it. `Switch` gives its value to one of two outputs and leaves the other dead; what
depends on something dead is dead and does not run, but for `Merge`, which takes what is alive.
`read_frames` says in which frame each node runs, and groups nodes into zones: those of one zone run
in the same rounds and are dead together, so they can be compiled together.

A zone is a frame and a set of causes of death. A cause is an outcome of a condition, or a loop that
a value goes round: values that enter a loop together and go round it together die together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock import errors
from penstock.core.op_def import lookup
from penstock.runtime.program import BACK, FEED, FLOW, Node, Program, Ref

STATIC = frozenset({FEED, "Const", "VarHandleOp"})  # their values are there before a step runs
Causes = frozenset[Any]  # any: hashable keys
NOTHING: Causes = frozenset()
_ALIAS = frozenset({"Identity", "LoopCond"})


@dataclass(frozen=True, slots=True)
class Frame:
    """A loop: its name, the frame around it, and how many rounds may be under way."""

    name: str
    parent: "Frame | None"
    parallel: int = 1

    def __str__(self) -> str:
        outer = f"{self.parent}/" if self.parent is not None and self.parent.name else ""
        return f"{outer}{self.name}"


ROOT = Frame("", None)


@dataclass(slots=True)
class Frames:
    """For each node, by id: the frame it runs in, the one its outputs are in, and its zone."""

    runs_in: dict[int, Frame]
    gives_in: dict[int, Frame]
    zones: dict[int, Any]  # any: (frame, causes)


def read_frames(program: Program) -> Frames:
    """The frames and zones of a program; the waits of its constants move to their users.

    Raises:
      InvalidArgumentError: a node takes values of different frames, or leaves a loop that it is not
        in.
    """
    runs_in, gives_in = _assign_frames(program)
    _free_constants(program, runs_in, gives_in)
    broken: set[Frame] = set()
    while True:
        causes = _Causes(program, runs_in, gives_in, broken)
        if not causes.run():
            break
    zones = {id(n): (runs_in[id(n)], causes.of[id(n)]) for n in program.nodes}
    return Frames(runs_in, gives_in, zones)


# ---- which frame ---------------------------------------------------------------------------------


def _assign_frames(program: Program) -> tuple[dict[int, Frame], dict[int, Frame]]:
    runs_in: dict[int, Frame] = {}
    gives_in: dict[int, Frame] = {}
    known: dict[tuple[Frame, str], Frame] = {}
    for node in program.nodes:
        frame = _common_frame(node, gives_in)
        runs_in[id(node)] = gives_in[id(node)] = frame
        if node.type == "Enter":
            name = node.attrs["frame_name"]
            made = Frame(name, frame, max(1, node.attrs["parallel_iterations"]))
            gives_in[id(node)] = known.setdefault((frame, name), made)
        elif node.type == "Exit":
            if frame.parent is None:
                raise errors.InvalidArgumentError(
                    None,
                    node.origin,
                    f"{node.where()}: Invalid Exit op: Cannot find a corresponding Enter op. "
                    "Expected a value of a loop, got one from outside.",
                )
            gives_in[id(node)] = frame.parent
    for merge, _, (source, _) in program.back:
        if gives_in[id(source)] != runs_in[id(merge)]:
            _refuse(merge, (source, gives_in[id(source)]), runs_in[id(merge)])
    return runs_in, gives_in


def _common_frame(node: Node, gives_in: Mapping[int, Frame]) -> Frame:
    first: tuple[Node, Frame] | None = None
    for source in [s for s, _ in node.inputs] + node.control:
        frame = gives_in[id(source)]
        if first is None:
            first = source, frame
        elif frame != first[1]:
            _refuse(node, first, frame, source)
    return ROOT if first is None else first[1]


def _refuse(node: Node, first: tuple[Node, Frame], frame: Frame, other: Node | None = None) -> None:
    name = "the loop" if other is None else f"The input '{other.name}'"
    raise errors.InvalidArgumentError(
        None,
        node.origin,
        f"{node.where()} has inputs from different frames. The input '{first[0].name}' is in frame "
        f"'{first[1]}'. {name} is in frame '{frame}'. Take the value into the loop with Enter, or "
        "out of it with Exit.",
    )


# ---- constants -----------------------------------------------------------------------------------


def _free_constants(
    program: Program, runs_in: dict[int, Frame], gives_in: dict[int, Frame]
) -> None:
    """Users of a constant wait for what it waits for.

    So constants are values that are there, and no part of the running.
    """
    waits: dict[int, list[Node]] = {}
    nodes: list[Node] = []
    alive: dict[int, Node] = {}
    for node in program.nodes:
        nodes.append(node)
        node.control = _resolved(node.control, waits)
        if node.type in STATIC:
            waits[id(node)], node.control = node.control, []
            if waits[id(node)]:
                alive[id(node)] = _stand_in(node, waits[id(node)])
                nodes.append(alive[id(node)])
            continue
        held = [s for s, _ in node.inputs if id(s) in alive]
        if node.type == "Merge":
            node.inputs = [(alive.get(id(s), s), i) for s, i in node.inputs]
        elif held:
            more = [c for s in held for c in waits[id(s)]]
            node.control = list(dict.fromkeys([*node.control, *more]))
    program.fetches = [(alive.get(id(n), n), i) for n, i in program.fetches]
    program.targets = _resolved(program.targets, waits)
    used = {id(s) for n in nodes for s, _ in n.inputs} | {id(n) for n, _ in program.fetches}
    for key, node in alive.items():
        runs_in[id(node)] = gives_in[id(node)] = runs_in[key]
    spare = {id(n) for n in alive.values()} - used
    program.nodes = [n for n in nodes if id(n) not in spare]


def _stand_in(node: Node, control: list[Node]) -> Node:
    """An identity of a constant, which waits: for those who ask whether it is alive."""
    made = node.copy([(node, 0)], control)
    made.type, made.op, made.attrs = "Identity", lookup("Identity"), {"T": node.dtypes[0]}
    made.name, made.counts = f"{node.name}/alive", None
    return made


def _resolved(control: Iterable[Node], waits: Mapping[int, list[Node]]) -> list[Node]:
    found = [w for c in control for w in waits.get(id(c), (c,))]
    return [c for c in dict.fromkeys(found) if c.type != FEED]


# ---- causes of death -----------------------------------------------------------------------------


class _Causes:
    """For each node the causes that let it die; for a loop, whether its values go together."""

    def __init__(
        self,
        program: Program,
        runs_in: Mapping[int, Frame],
        gives_in: Mapping[int, Frame],
        broken: set[Frame],
    ) -> None:
        self.program = program
        self.runs_in = runs_in
        self.gives_in = gives_in
        self.broken = broken  # loops whose values do not go together
        self.of: dict[int, Causes] = {}
        self._entered: dict[Frame, Causes] = {}  # how a loop's values die before they enter it
        self._back: dict[int, list[Ref]] = {}
        for merge, _, ref in program.back:
            self._back.setdefault(id(merge), []).append(ref)

    def run(self) -> bool:
        """Finds all causes; True when another loop turned out to be broken, so all changes."""
        before = len(self.broken)
        for node in self.program.nodes:
            self.of[id(node)] = self._node(node)
        rounds: dict[Frame, Causes] = {}
        for merge, _, (source, _) in self.program.back:
            frame = self.runs_in[id(merge)]
            if rounds.setdefault(frame, self.of[id(source)]) != self.of[id(source)]:
                self.broken.add(frame)
        return len(self.broken) > before

    def _node(self, node: Node) -> Causes:
        if node.type in STATIC:
            return NOTHING
        if node.type == "Merge":
            return self._merge(node)
        found: set[Any] = set()
        for ref in node.inputs:
            found |= self._output(ref)
        for source in node.control:
            found |= self._control(source)
        frame = self.runs_in[id(node)]
        if ("loop", frame) in found:  # which says what let its values die before
            found -= {("enter", frame, self._entered[frame])}
        return frozenset(found)

    def _output(self, ref: Ref) -> Causes:
        node, index = ref
        if node.type == "Switch":
            return self.of[id(node)] | {("is", _origin(node.inputs[1]), index)}
        return self._control(node)

    def _control(self, node: Node) -> Causes:
        """The causes of what a node gives: how it dies, or that it moves to another round."""
        if node.type == "Enter":
            if not node.attrs["is_constant"]:
                return frozenset({("entry", id(node))})
            causes = self.of[id(node)]
            return frozenset({("enter", self.gives_in[id(node)], causes)}) if causes else NOTHING
        if node.type == "Exit":
            return self._exit(node)
        if node.type in ("NextIteration", "ControlTrigger"):
            return frozenset({("node", id(node))})
        return self.of[id(node)]

    def _exit(self, node: Node) -> Causes:
        frame = self.runs_in[id(node)]
        source, index = node.inputs[0]
        leaves = source.type == "Switch" and index == 0 and source.inputs[1][0].type == "LoopCond"
        if leaves and not node.control and self.of[id(source)] == {("loop", frame)}:
            return self._entered[frame]  # it lives once, in the last round
        return frozenset({("node", id(node))})

    def _merge(self, node: Node) -> Causes:
        own = frozenset({("node", id(node))})
        if id(node) in self._back:
            return self._loop(node) or own
        pair = self._is_pair(node)
        return own if pair is None else pair

    def _loop(self, node: Node) -> Causes | None:
        """One cause for all values that go round a loop, where they enter it together."""
        frame = self.runs_in[id(node)]
        if frame in self.broken:
            return None
        sources = [s for s, _ in node.inputs]
        if node.control or len(sources) != 1 or sources[0].type != "Enter":
            self.broken.add(frame)
            return None
        entered = self.of[id(sources[0])]
        if self._entered.setdefault(frame, entered) != entered:
            self.broken.add(frame)
            return None
        return frozenset({("loop", frame)})

    def _is_pair(self, node: Node) -> Causes | None:
        """What both inputs die of, when they die of opposite outcomes of one condition else."""
        if node.control or len(node.inputs) != 2:
            return None
        first, second = (self._output(ref) for ref in node.inputs)
        left, right = first - second, second - first
        if len(left) != 1 or len(right) != 1:
            return None
        (a,), (b,) = left, right
        opposite = a[0] == b[0] == "is" and a[1] == b[1] and a[2] != b[2]
        return first & second if opposite else None


def _origin(ref: Ref) -> tuple[int, int]:
    node, index = ref
    while node.type in _ALIAS and not node.control:
        node, index = node.inputs[0]
    return id(node), index


__all__ = ["BACK", "FLOW", "ROOT", "STATIC", "Frame", "Frames", "read_frames"]
