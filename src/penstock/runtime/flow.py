"""The executor of plans with control flow of the first kind.

Units (regions, host kernels and the flow operations themselves) fire when all that they wait for
has come, once in each round of their frame. A unit that something dead came to does not run: what
it gives is dead. Each round of a loop has slots of its own, so that several rounds may be under
way, as many as `parallel_iterations` says. A loop ends when all its rounds have: exits that nothing
living came through are dead then.

One thread, the caller's, moves values and runs what computes; an item that waits gets a helper.
"""

import queue
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import effects
from penstock.runtime.frames import ROOT, STATIC, Frame, Frames, read_frames
from penstock.runtime.items import Item, TracedItem
from penstock.runtime.pool import pools
from penstock.runtime.program import Node, Program
from penstock.runtime.step import Step

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<no value>"})()
RUN, NOTHING, TRIGGER, PASS, SWITCH, MERGE, ENTER, EXIT, NEXT, FETCH = range(10)
_KINDS = {
    "NoOp": NOTHING, "ControlTrigger": TRIGGER, "LoopCond": PASS, "Switch": SWITCH, "Merge": MERGE,
    "Enter": ENTER, "Exit": EXIT, "NextIteration": NEXT,
}  # fmt: skip
ORDINARY = -1  # in place of the number of a merge's input

Cluster = tuple[str, list[Node]]
Edges = list[tuple["Unit", int]]


class FlowLayout:
    """Where values are kept: each frame has slots of its own; fetched values get slots in the root.

    Attributes:
      frames: what is known of the program.
      slots: (id of node, output) -> slot in the frame that has the output.
    """

    def __init__(self, program: Program) -> None:
        self.frames: Frames = read_frames(program)
        self.slots: dict[tuple[int, int], int] = {}
        self._sizes: dict[Frame, int] = {ROOT: 0}
        for node in program.nodes:
            frame = self.frames.gives_in[id(node)]
            for i in range(len(node.dtypes)):
                self.slots[id(node), i] = self._new_slot(frame)
        self.fetch_slots = [
            self.slots[id(n), i] if n.type in STATIC else self._new_slot(ROOT)
            for n, i in program.fetches
        ]

    def _new_slot(self, frame: Frame) -> int:
        number = self._sizes.get(frame, 0)
        self._sizes[frame] = number + 1
        return number

    def templates(self) -> dict[Frame, list[Any]]:
        """Slots without values, for each frame."""
        made: dict[Frame, list[Any]] = {f: [None] * n for f, n in self._sizes.items()}
        for frame in self.frames.gives_in.values():
            made.setdefault(frame, [])
        for slot in self.fetch_slots:
            made[ROOT][slot] = MISSING
        return made


class Unit:
    """What fires as one.

    Attributes:
      local: its number in its frame.
      pending: how many arrivals it waits for, a merge's inputs counting as one.
      ports: for each output port who is told: a switch has one for false, one for true and one for
        those that wait for it; all others have one.
      sources, target: slots that a flow operation moves values between.
      forward: a merge's inputs from outside of the round; when all are dead, so is the merge.
    """

    __slots__ = (
        "child", "constant", "forward", "frame", "item", "kind", "local", "name", "pending",
        "ports", "sources", "target",
    )  # fmt: skip

    def __init__(self, kind: int, name: str, frame: Frame, item: Item | None) -> None:
        self.kind = kind
        self.name = name
        self.frame = frame
        self.item = item
        self.local = 0
        self.pending = 0
        self.ports: list[Edges] = [[], [], []] if kind == SWITCH else [[]]
        self.sources: list[int] = []
        self.target = -1
        self.forward = 0
        self.constant = False
        self.child: Frame | None = None


class _Static:
    """A frame's part of an executor, the same for every run."""

    def __init__(self, template: list[Any]) -> None:
        self.template = template
        self.units: list[Unit] = []
        self.pending: list[int] = []
        self.exits: list[Unit] = []
        self.enters = 0


class FlowExecutor:
    """Runs units over slots. Thread-safe: it does not change after it is made."""

    def __init__(
        self,
        program: Program,
        layout: FlowLayout,
        clusters: Sequence[Cluster],
        made: Sequence[Item | None],
        templates: Mapping[Frame, list[Any]],
    ) -> None:
        self.frames = {frame: _Static(template) for frame, template in templates.items()}
        self._layout = layout
        self._back = program.back
        self._owner: dict[int, Unit] = {}
        self._at_start: list[tuple[Unit, int]] = []  # inputs of merges that are there at once
        units = [self._unit(nodes, item) for (_, nodes), item in zip(clusters, made, strict=True)]
        for (_, nodes), unit in zip(clusters, units, strict=True):
            if unit is not None:
                self._connect(unit, nodes)
        for merge, position, (source, _) in program.back:
            self._owner[id(source)].ports[0].append((self._owner[id(merge)], position))
            self._owner[id(merge)].sources[position] = layout.slots[id(source), 0]
        self._fetches = self._add_fetches(program)
        for static in self.frames.values():
            static.pending = [unit.pending for unit in static.units]
        self._first = [u for u in self.frames[ROOT].units if not u.pending and u.kind != MERGE]

    def _unit(self, nodes: Sequence[Node], item: Item | None) -> Unit | None:
        node = nodes[0]
        if item is None and node.type in STATIC:
            return None
        kind = _KINDS.get(node.type, RUN) if len(nodes) == 1 else RUN
        unit = Unit(kind, node.name, self._layout.frames.runs_in[id(node)], item)
        self._add(unit)
        self._owner.update((id(n), unit) for n in nodes)
        return unit

    def _add(self, unit: Unit) -> None:
        static = self.frames[unit.frame]
        unit.local = len(static.units)
        static.units.append(unit)

    def _connect(self, unit: Unit, nodes: Sequence[Node]) -> None:
        """Tells those that the unit waits for; a switch and a merge are single nodes."""
        slots, node = self._layout.slots, nodes[0]
        if unit.kind not in (RUN, NOTHING, TRIGGER):
            unit.sources = [slots[id(s), i] for s, i in node.inputs]
            unit.target = slots[id(node), 0]
        if unit.kind == ENTER:
            unit.child = self._layout.frames.gives_in[id(node)]
            unit.constant = node.attrs["is_constant"]
            self.frames[unit.child].enters += 1
        elif unit.kind == EXIT:
            self.frames[unit.frame].exits.append(unit)
        waits: dict[tuple[int, int], tuple[Unit, int]] = {}
        for n in nodes:
            refs = [] if unit.kind == MERGE else n.inputs
            for source, port in [*refs, *((c, 2) for c in n.control)]:
                before = self._owner.get(id(source))
                if before is not None and before is not unit:
                    port = port if before.kind == SWITCH else 0
                    waits[id(before), port] = before, port
        for before, port in waits.values():
            before.ports[port].append((unit, ORDINARY))
        unit.pending = len(waits)
        if unit.kind == MERGE:
            self._connect_merge(unit, node)

    def _connect_merge(self, unit: Unit, node: Node) -> None:
        unit.pending += 1
        unit.forward = len(node.inputs)
        back = {position for merge, position, _ in self._back if merge is node}
        places = [i for i in range(len(node.inputs) + len(back)) if i not in back]
        unit.sources = [-1] * (len(places) + len(back))
        for (source, index), place in zip(node.inputs, places, strict=True):
            unit.sources[place] = self._layout.slots[id(source), index]
            before = self._owner.get(id(source))
            if before is None:
                self._at_start.append((unit, place))
            else:
                before.ports[index if before.kind == SWITCH else 0].append((unit, place))

    def _add_fetches(self, program: Program) -> list[tuple[int, int, str]]:
        found: list[tuple[int, int, str]] = []
        slots = zip(program.fetches, self._layout.fetch_slots, strict=True)
        for number, ((node, index), slot) in enumerate(slots):
            if node.type in STATIC:
                continue
            frame = self._layout.frames.gives_in[id(node)]
            unit = Unit(FETCH, f"{node.name}:{index}", frame, None)
            self._add(unit)
            unit.sources, unit.target, unit.pending = [self._layout.slots[id(node), index]], slot, 1
            before = self._owner[id(node)]
            before.ports[index if before.kind == SWITCH else 0].append((unit, ORDINARY))
            found.append((number, slot, unit.name))
        return found

    def run(self, slots: list[Any], step: Step) -> None:
        """Runs all units; `slots` are those of the root, with the fed values.

        Raises:
          OpError: that of the unit that failed first, or InvalidArgumentError when something that
            was fetched turned out dead.
        """
        _Run(self, slots, step).run()
        for number, slot, name in self._fetches:
            if slots[slot] is MISSING:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Retval[{number}] does not have value: expected '{name}' to be computed in "
                    "this step, got a branch that was not taken, or a loop that did not come to "
                    "it. Fetch what the conditional or loop gives: its Merge or Exit.",
                )


class _Round:
    """A round of a loop under way; the root has one."""

    __slots__ = (
        "active",
        "children",
        "chosen",
        "dead",
        "deaths",
        "index",
        "loop",
        "pending",
        "slots",
    )

    def __init__(self, loop: "_Loop", index: int, slots: list[Any]) -> None:
        static = loop.static
        self.loop = loop
        self.index = index
        self.slots = slots
        self.pending = static.pending.copy()
        self.dead = bytearray(len(self.pending))
        self.active = 0  # units that are ready or run, and loops inside that have not ended
        self.children: dict[Frame, _Loop] = {}
        self.chosen: set[int] = set()  # merges that something living came to
        self.deaths: dict[int, int] = {}

    @property
    def name(self) -> str:
        """Which round of which loops it is; empty for the root."""
        outer = self.loop.outer
        return "" if outer is None else f"{outer.name}round {self.index}/"


class _Loop:
    """A loop under way, entered from one round of the frame around it."""

    __slots__ = (
        "constants", "enters_left", "exited", "frame", "oldest", "outer", "parked", "rounds",
        "static",
    )  # fmt: skip

    def __init__(self, frame: Frame, static: _Static, outer: _Round | None) -> None:
        self.frame = frame
        self.static = static
        self.outer = outer
        self.enters_left = static.enters
        self.rounds: dict[int, _Round] = {}
        self.oldest = 0
        self.constants: list[tuple[Unit, bool, Any]] = []
        self.parked: list[tuple[Unit, Any]] = []  # for the round that may not begin yet
        self.exited: set[int] = set()


class _Run:
    """One run of an executor. For one thread."""

    def __init__(self, executor: FlowExecutor, slots: list[Any], step: Step) -> None:
        self.executor = executor
        self.step = step
        self.ready: deque[tuple[_Round, Unit]] = deque()
        self.done: queue.SimpleQueue[tuple[_Round, Unit, BaseException | None]] = (
            queue.SimpleQueue()
        )
        self.flying = 0
        self.root_slots = slots
        self.root = _Loop(ROOT, executor.frames[ROOT], None)
        self.root.rounds[0] = _Round(self.root, 0, slots)

    def run(self) -> None:
        """Runs until nothing is left to run."""
        start = self.root.rounds[0]
        for unit in self.executor._first:
            self._make_ready(start, unit)
        for unit, place in self.executor._at_start:
            self._arrive(start, unit, place, False)
        try:
            while self.ready or self.flying:
                if self.flying and (not self.ready or not self.done.empty()):
                    self._land()
                else:
                    self._fire(*self.ready.popleft())
        except BaseException as problem:
            self._stop(problem)
            raise

    def _stop(self, problem: BaseException) -> None:
        if self.flying:
            ordinary = isinstance(problem, Exception)
            self.step.cancel("another operation of the step failed" if ordinary else "interrupted")
            while self.flying:
                self.done.get()
                self.flying -= 1

    def _make_ready(self, at: _Round, unit: Unit) -> None:
        at.active += 1
        self.ready.append((at, unit))

    def _fire(self, at: _Round, unit: Unit) -> None:
        if effects.switch.log is None:
            self._fire_here(at, unit)
        else:  # rounds that run at once hold operations of one name
            with effects.within(at.name):
                self._fire_here(at, unit)

    def _fire_here(self, at: _Round, unit: Unit) -> None:
        step, kind = self.step, unit.kind
        dead = bool(at.dead[unit.local])
        if kind == RUN:
            if not dead:
                self._check(unit)
                assert unit.item is not None
                if unit.item.may_wait and (self.ready or self.flying):
                    self._take_off(at, unit)
                    return
                self._item(unit).run(at.slots, step)
            self._send(at, unit.ports[0], dead)
        else:
            self._move(at, unit, dead)
        self._ended(at)

    def _check(self, unit: Unit) -> None:
        """Ends the run when the step was cancelled, or has taken too long."""
        if self.step._error is not None or self.step._deadline is not None:
            self.step.check(unit.name)

    def _item(self, unit: Unit) -> Item:
        assert unit.item is not None
        if self.step.events is None:
            return unit.item
        return TracedItem(unit.item, unit.item.nodes[-1].device)

    def _ended(self, at: _Round) -> None:
        at.active -= 1
        if not at.active:
            self._settle(at.loop)

    # ---- items that wait -------------------------------------------------------------------------

    def _take_off(self, at: _Round, unit: Unit) -> None:
        self.flying += 1
        item = self._item(unit)

        def work() -> None:
            problem: BaseException | None = None
            try:
                item.run(at.slots, self.step)
            except BaseException as caught:  # the caller's thread raises it
                problem = caught
            self.done.put((at, unit, problem))

        pools.waiters().submit(effects.carried(work))

    def _land(self) -> None:
        at, unit, problem = self.done.get()
        self.flying -= 1
        if problem is not None:
            raise problem
        self._send(at, unit.ports[0], False)
        self._ended(at)

    # ---- values ----------------------------------------------------------------------------------

    def _move(self, at: _Round, unit: Unit, dead: bool) -> None:
        """What the flow operations do with a value."""
        kind, slots = unit.kind, at.slots
        if kind in (NOTHING, TRIGGER):
            self._send(at, unit.ports[0], dead and kind != TRIGGER)
        elif kind == PASS:
            slots[unit.target] = slots[unit.sources[0]]
            self._send(at, unit.ports[0], dead)
        elif kind == SWITCH:
            self._switch(at, unit, dead)
        elif kind == MERGE:
            self._send(at, unit.ports[0], dead)
        elif kind == ENTER:
            self._enter(at, unit, dead)
        elif dead:
            return  # nothing leaves the round
        elif kind == EXIT:
            outer = at.loop.outer
            assert outer is not None
            at.loop.exited.add(unit.local)
            outer.slots[unit.target] = slots[unit.sources[0]]
            self._send(outer, unit.ports[0], False)
        elif kind == NEXT:
            self._next(at, unit)
        else:
            self.root_slots[unit.target] = slots[unit.sources[0]]

    def _switch(self, at: _Round, unit: Unit, dead: bool) -> None:
        taken = -1
        if not dead:
            data, pred = unit.sources
            taken = int(bool(at.slots[pred]))
            at.slots[unit.target + taken] = at.slots[data]
        self._send(at, unit.ports[0], taken != 0)
        self._send(at, unit.ports[1], taken != 1)
        self._send(at, unit.ports[2], dead)

    def _send(self, at: _Round, edges: Edges, dead: bool) -> None:
        pending = at.pending
        for unit, place in edges:
            if place != ORDINARY:
                self._arrive(at, unit, place, dead)
                continue
            local = unit.local
            if dead and unit.kind != MERGE:  # which waits, but lives by its inputs alone
                at.dead[local] = True
            pending[local] -= 1
            if not pending[local]:
                at.active += 1
                self.ready.append((at, unit))

    def _arrive(self, at: _Round, unit: Unit, place: int, dead: bool) -> None:
        """An input of a merge has come; the first living one counts."""
        local = unit.local
        if local in at.chosen:
            return
        if dead:
            at.deaths[local] = deaths = at.deaths.get(local, 0) + 1
            if deaths < unit.forward:
                return
            at.dead[local] = True
        at.chosen.add(local)
        at.slots[unit.target] = at.slots[unit.sources[place]]
        at.slots[unit.target + 1] = np.array(place, np.int32)
        at.pending[local] -= 1
        if not at.pending[local]:
            self._make_ready(at, unit)

    # ---- loops -----------------------------------------------------------------------------------

    def _enter(self, at: _Round, unit: Unit, dead: bool) -> None:
        assert unit.child is not None
        loop = at.children.get(unit.child)
        if loop is None:
            static = self.executor.frames[unit.child]
            loop = at.children[unit.child] = _Loop(unit.child, static, at)
            at.active += 1
            self._begin(loop, 0)
        loop.enters_left -= 1
        value = at.slots[unit.sources[0]]
        rounds = [loop.rounds[0]]
        if unit.constant:
            loop.constants.append((unit, dead, value))
            rounds = list(loop.rounds.values())
        for inner in rounds:
            inner.slots[unit.target] = value
            self._send(inner, unit.ports[0], dead)
        self._settle(loop)

    def _begin(self, loop: _Loop, index: int) -> _Round:
        made = loop.rounds[index] = _Round(loop, index, loop.static.template.copy())
        for unit, dead, value in loop.constants:
            made.slots[unit.target] = value
            self._send(made, unit.ports[0], dead)
        return made

    def _next(self, at: _Round, unit: Unit) -> None:
        loop, index = at.loop, at.index + 1
        self._check(unit)  # a loop may have nothing else that does
        value = at.slots[unit.sources[0]]
        target = loop.rounds.get(index)
        if target is None:
            if index - loop.oldest >= loop.frame.parallel:
                loop.parked.append((unit, value))
                return
            target = self._begin(loop, index)
        target.slots[unit.target] = value
        self._send(target, unit.ports[0], False)

    def _settle(self, loop: _Loop) -> None:
        """Ends rounds that nothing can come to any more, from the oldest, and then the loop."""
        while True:
            oldest = loop.rounds[loop.oldest]
            if oldest.active or (loop.oldest == 0 and loop.enters_left):
                return
            del loop.rounds[loop.oldest]
            loop.oldest += 1
            if loop.parked:
                parked, loop.parked = loop.parked, []
                begun = self._begin(loop, loop.oldest + len(loop.rounds))
                for unit, value in parked:
                    begun.slots[unit.target] = value
                    self._send(begun, unit.ports[0], False)
            if not loop.rounds:
                self._leave(loop)
                return

    def _leave(self, loop: _Loop) -> None:
        outer = loop.outer
        if outer is None:
            return
        for unit in loop.static.exits:
            if unit.local not in loop.exited:
                self._send(outer, unit.ports[0], True)
        del outer.children[loop.frame]
        self._ended(outer)


__all__ = ["FlowExecutor", "FlowLayout"]
