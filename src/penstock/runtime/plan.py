"""Plans: a program cut into items that run one after the other or side by side.

`make_plan` simplifies a program, decides for each node whether it is compiled with its neighbours or runs alone on the
host, and forms regions. Regions never wait for something that waits for them: a node's depth grows by one on each
edge between kinds, and nodes of one depth and device that compile form one region.

A node whose compiled kernel turns out to need a value that is known only at run time makes the plan form its regions again
with that node on the host.
"""

import threading
import time
from collections.abc import Sequence
from typing import Any

from penstock import errors
from penstock.core.eager import PreparedOp
from penstock.core.kernels import select
from penstock.core.traced import NotStatic
from penstock.runtime.program import FEED, Node, Program, Ref
from penstock.runtime.regions import Region, run_node
from penstock.runtime.simplify import prepared_op, simplify
from penstock.runtime.step import Step
from penstock.types import dtypes as dt

BIND_ONCE = frozenset({"VarHandleOp"})  # their value is the same in every step of a session


class Plan:
    """Items in dependency order over numbered slots. Thread-safe: each run has slots of its own."""

    def __init__(self, program: Program, resources: Any, device: str = "CPU") -> None:
        self.program = program
        self.resources = resources
        self.device = device
        self.on_host: set[int] = set()  # ids of nodes that need run-time values while they are traced
        self._lock = threading.Lock()  # guards: items and what goes with them, while they are formed again
        self.state: dict[Any, Any] = {}
        self._form()

    def _form(self) -> None:
        """Cuts the program into items."""
        program = self.program
        slots: dict[tuple[int, int], int] = {}
        for node in program.nodes:
            for i in range(len(node.dtypes)):
                slots[id(node), i] = len(slots)
        template: list[Any] = [None] * len(slots)
        clusters = _cluster(program, self.on_host, self.device)
        wanted = _used_outside(program, clusters)
        items: list[_Item] = []
        for kind, nodes in clusters:
            if kind == "region":
                outputs = [(n, i) for n in nodes for i in range(len(n.dtypes)) if (id(n), i) in wanted]
                items.append(_RegionItem(Region(nodes, outputs, self.device), slots))
            elif nodes[0].type in BIND_ONCE:
                (value,) = run_node(nodes[0], prepared_op(nodes[0], self.device), [], Step(self.resources, self.state))
                template[slots[id(nodes[0]), 0]] = value
            elif nodes[0].type == "Const":
                template[slots[id(nodes[0]), 0]] = nodes[0].attrs["value"].array
            elif nodes[0].type != "NoOp":
                items.append(_HostItem(nodes[0], prepared_op(nodes[0], self.device), slots))
        self.items = items
        self.template = template
        self.feed_slots = [slots[id(n), 0] for n in program.feeds]
        self.fetch_slots = [slots[id(n), i] for n, i in program.fetches]
        self._generation = getattr(self.resources, "generation", 0)

    def run(self, feeds: Sequence[Any], step: Step) -> list[Any]:
        """Runs all items; `feeds` in the order of the program's feeds. Returns the fetched arrays."""
        if getattr(self.resources, "generation", 0) != self._generation:
            with self._lock:
                self._form()
        while True:
            try:
                return self._run_once(feeds, step)
            except NotStatic as signal:
                self._move_to_host(signal)

    def _run_once(self, feeds: Sequence[Any], step: Step) -> list[Any]:
        slots = self.template.copy()
        for slot, value in zip(self.feed_slots, feeds, strict=True):
            slots[slot] = value
        if step.events is not None:
            self._run_traced(slots, step)
        else:
            for item in self.items:
                item.run(slots, step)
        return [slots[i] for i in self.fetch_slots]

    def _run_traced(self, slots: list[Any], step: Step) -> None:
        assert step.events is not None
        for item in self.items:
            start = time.perf_counter()
            item.run(slots, step)
            _block(slots, item.outputs)
            step.events.append((item.name, item.kind, start, time.perf_counter(), threading.get_ident()))

    def _move_to_host(self, signal: NotStatic) -> None:
        """Takes an operation that cannot be compiled out of its region; nothing has run of that region."""
        with self._lock:
            if signal.key is None:
                self.on_host.update(id(n) for item in self.items if isinstance(item, _RegionItem) for n in item.region.nodes
                                    if any(t is dt.resource for s, i in n.inputs for t in [s.dtypes[i]]))  # fmt: skip
            elif id(signal.key) in self.on_host:
                raise errors.InternalError(None, None, f"{signal.key.where()}: {signal}") from signal
            else:
                self.on_host.add(id(signal.key))
            self._form()

    @property
    def compiled_count(self) -> int:
        """Executables made so far."""
        return sum(item.region.compiled_count for item in self.items if isinstance(item, _RegionItem))


def _block(slots: list[Any], outputs: Sequence[int]) -> None:
    for index in outputs:
        wait = getattr(slots[index], "block_until_ready", None)
        if wait is not None:
            wait()


def make_plan(program: Program, resources: Any, device: str = "CPU", optimize: bool = True) -> Plan:
    """The plan for a program."""
    return Plan(simplify(program) if optimize else program, resources, device)


# ---- forming regions -----------------------------------------------------------------------------------------------


def compiles(node: Node, device: str) -> bool:
    """Whether a node has a compiled kernel and needs nothing but arrays."""
    if node.type == "Const":
        return node.dtypes[0] is not dt.string
    if node.op is None or not select(node.type, "compiled", device, node.attrs):
        return False
    return all(t is not dt.string and t is not dt.variant for t in node.dtypes)


def _cluster(program: Program, on_host: set[int], device: str) -> list[tuple[str, list[Node]]]:
    """Nodes grouped into ("region", nodes) and ("host", [node]), in an order in which they can run."""
    depth: dict[int, int] = {}
    kinds: dict[int, bool] = {}
    for node in program.nodes:
        inside = kinds[id(node)] = id(node) not in on_host and node.type != FEED and compiles(node, device)
        level = 0
        for source in [s for s, _ in node.inputs] + node.control:
            crossing = not (inside and kinds[id(source)])
            if source.type == FEED or source.type in BIND_ONCE:
                crossing = False
            level = max(level, depth[id(source)] + crossing)
        depth[id(node)] = level
    _place_constants(program, depth, kinds)
    groups: dict[tuple[int, bool, Any], list[Node]] = {}
    for node in program.nodes:
        if node.type != FEED:
            inside = kinds[id(node)]
            groups.setdefault((depth[id(node)], inside, node.device if inside else node.id), []).append(node)
    ordered = sorted(groups.items(), key=lambda g: (g[0][0], g[1][0].id))
    return _settle([("region" if key[1] else "host", nodes) for key, nodes in ordered], program)




def _place_constants(program: Program, depth: dict[int, int], kinds: dict[int, bool]) -> None:
    """A constant that only one region uses belongs to that region; others are values given from outside."""
    users: dict[int, set[Any]] = {}
    for node in program.nodes:
        for source, _ in node.inputs:
            if source.type == "Const":
                users.setdefault(id(source), set()).add((depth[id(node)], node.device) if kinds[id(node)] else None)
    fetched = {id(n) for n, _ in program.fetches}
    for node in program.nodes:
        if node.type != "Const" or not kinds[id(node)]:
            continue
        places = users.get(id(node), set())
        if len(places) == 1 and None not in places and id(node) not in fetched:
            ((level, device),) = places
            depth[id(node)] = level
            node.device = device
        else:
            kinds[id(node)] = False


def _settle(clusters: list[tuple[str, list[Node]]], program: Program) -> list[tuple[str, list[Node]]]:
    """Orders clusters so that each comes after those it depends on."""
    owner = {id(n): i for i, (_, nodes) in enumerate(clusters) for n in nodes}
    waits: list[set[int]] = [set() for _ in clusters]
    for i, (_, nodes) in enumerate(clusters):
        for node in nodes:
            for source in [s for s, _ in node.inputs] + node.control:
                j = owner.get(id(source), i)
                if j != i:
                    waits[i].add(j)
    order: list[int] = []
    done: set[int] = set()
    pending = list(range(len(clusters)))
    while pending:
        ready = [i for i in pending if waits[i] <= done]
        if not ready:
            raise errors.InternalError(None, None, "regions wait for each other: " + ", ".join(clusters[i][1][0].name for i in pending))
        order.extend(ready)
        done.update(ready)
        pending = [i for i in pending if i not in done]
    return [clusters[i] for i in order]


def _used_outside(program: Program, clusters: list[tuple[str, list[Node]]]) -> set[tuple[int, int]]:
    owner = {id(n): i for i, (_, nodes) in enumerate(clusters) for n in nodes}
    used = {(id(n), i) for n, i in program.fetches}
    for node in program.nodes:
        for source, index in node.inputs:
            if owner.get(id(source)) != owner.get(id(node)):
                used.add((id(source), index))
    return used


# ---- items -----------------------------------------------------------------------------------------------------------


class _Item:
    """One thing a plan runs."""

    kind = ""
    name = ""
    outputs: Sequence[int] = ()

    def run(self, slots: list[Any], step: Step) -> None:
        """Reads its input slots and fills its output slots."""
        raise NotImplementedError


class _RegionItem(_Item):
    kind = "region"

    def __init__(self, region: Region, slots: dict[tuple[int, int], int]) -> None:
        self.region = region
        self.name = f"region of {len(region.nodes)} ({region.nodes[-1].name})"
        self._inputs = [slots[id(n), i] for n, i in region.inputs]
        self._handles = [slots[id(n), i] for n, i in region.variables]
        self.outputs = [slots[id(n), i] for n, i in region.outputs]

    def run(self, slots: list[Any], step: Step) -> None:
        results = self.region.run([slots[i] for i in self._inputs], [slots[i] for i in self._handles], step)
        for slot, value in zip(self.outputs, results, strict=True):
            slots[slot] = value


class _HostItem(_Item):
    kind = "host"

    def __init__(self, node: Node, prepared: PreparedOp, slots: dict[tuple[int, int], int]) -> None:
        self.node = node
        self.prepared = prepared
        self.name = node.name
        self._inputs = [slots[id(n), i] for n, i in node.inputs]
        self.outputs = [slots[id(node), i] for i in range(len(node.dtypes))]

    def run(self, slots: list[Any], step: Step) -> None:
        step.check(self.node.where())
        results = run_node(self.node, self.prepared, [slots[i] for i in self._inputs], step)
        for slot, value in zip(self.outputs, results, strict=True):
            slots[slot] = value


__all__ = ["Plan", "Ref", "compiles", "make_plan"]
