"""Clusters: which nodes of a program are compiled together and which run alone on the host.

Regions never wait for something that waits for them: a node's depth grows by one on each edge
between kinds, and nodes of one depth and device that compile form one region. A kernel may wait for
another part of its step in ways that no edge shows (a queue, a mutex); so a region holds only nodes
that come after the same kernels of this sort. A NoOp is of no cluster: it joins what it waits for.
"""

from collections.abc import Mapping
from typing import Any

from penstock import errors
from penstock.core.kernels import kernels_of, select
from penstock.graph.func_graph import bodies_of
from penstock.runtime.bodies import compiles_inside
from penstock.runtime.executable import LARGE_CONSTANT
from penstock.runtime.host_choice import runs_alone
from penstock.runtime.program import FEED, Node, Program
from penstock.types import dtypes as dt

BIND_ONCE = frozenset({"VarHandleOp"})  # their value is the same in every step of a session


def compiles(node: Node, device: str) -> bool:
    """Whether a node has a compiled kernel and needs nothing but arrays."""
    if node.type == "Const":
        return node.dtypes[0] is not dt.string
    if node.refused:
        return False  # a kernel on the host says so, if it is reached
    if node.op is None or not select(node.type, "compiled", device, node.attrs):
        return False
    if node.op.calls and not _bodies_compile(node, device):
        return False
    taken = [source.dtypes[index] for source, index in node.inputs]
    return all(t is not dt.string for t in [*node.dtypes, *taken])


def _in_region(node: Node, device: str) -> bool:
    """Whether a node is compiled with its neighbours where a plan is free to choose."""
    return compiles(node, device) and not runs_alone(node, device)


def _bodies_compile(node: Node, device: str) -> bool:
    """Whether the bodies of a conditional or loop do, and touch each resource they are given."""
    assert node.op is not None
    touched = node.op.effects_at(node.counts or (1,) * len(node.op.inputs), node.attrs)
    for position, (source, index) in enumerate(node.inputs):
        if source.dtypes[index] is dt.resource and position not in touched:
            return False
    return all(compiles_inside(body, device, node.type) for body in bodies_of(node.attrs))


def cluster(
    program: Program, on_host: set[int], device: str, zones: Mapping[int, Any] | None = None
) -> list[tuple[str, list[Node]]]:
    """Nodes grouped into ("region", nodes) and ("host", [node]).

    In an order in which they can run. Nodes of one region are of one zone, see
    `penstock.runtime.frames`; without `zones` all are.
    """
    zone: dict[int, Any] = dict(zones) if zones is not None else {}
    kinds = {
        id(n): id(n) not in on_host and n.type != FEED and _in_region(n, device)
        for n in program.nodes
    }
    depth = _depths(program, kinds)
    _split_zones(program, zone)
    _place_constants(program, depth, kinds, zone)
    groups: dict[tuple[int, bool, Any, Any], list[Node]] = {}
    for node in program.nodes:
        if node.type != FEED and not joins(node, program):
            inside = kinds[id(node)]
            place = (node.device, zone.get(id(node))) if inside else (id(node), None)
            groups.setdefault((depth[id(node)], inside, *place), []).append(node)
    ordered = sorted(groups.items(), key=lambda g: (g[0][0], g[1][0].id))
    return _settle([("region" if key[1] else "host", nodes) for key, nodes in ordered], program)


def joins(node: Node, program: Program) -> bool:
    """Whether a node only hands on what it waits for, so that it is of no cluster.

    What waits for it may then be compiled together with what it waits for. Its inputs are not given
    to its users instead: that would be an edge for each pair. Where parts of a program may be dead
    such a node is part of it like others.
    """
    return node.type == "NoOp" and not program.flow


def _depths(program: Program, kinds: dict[int, bool]) -> dict[int, int]:
    """For each node the number of edges between kinds on the longest way to it."""
    depth: dict[int, int] = {}
    behind: dict[int, tuple[int, int]] = {}  # of joins: what a host kernel, a region begins with

    def after(source: Node, inside: bool) -> int:
        if id(source) in behind:
            return behind[id(source)][inside]
        if source.type == FEED or source.type in BIND_ONCE:
            return depth[id(source)]
        return depth[id(source)] + (not (inside and kinds[id(source)]))

    for node in program.nodes:
        sources = [*(s for s, _ in node.inputs), *node.control]
        host, region = (max((after(s, i) for s in sources), default=0) for i in (False, True))
        depth[id(node)] = region if kinds[id(node)] else host
        if joins(node, program):
            behind[id(node)] = (host, region)
    return depth


def joined(program: Program, owner: Mapping[int, int]) -> dict[int, set[int]]:
    """For each node that joins: the clusters it waits for, of those that `owner` has by node."""
    found: dict[int, set[int]] = {}
    for node in program.nodes:
        if joins(node, program):
            before = found[id(node)] = set()
            for source in node.control:
                before |= found.get(id(source), set())
                before |= {owner[id(source)]} if id(source) in owner else set()
    return found


def _split_zones(program: Program, zone: dict[int, Any]) -> None:
    """Makes the nodes that may block, of those before a node, a part of its zone."""
    blocking = {id(n) for n in program.nodes if _may_block(n.type, n.attrs)}
    if not blocking:
        return
    before: dict[int, frozenset[int]] = {}
    for node in program.nodes:
        found: set[int] = set()
        for source in [s for s, _ in node.inputs] + node.control:
            found |= before.get(id(source), frozenset())
            if id(source) in blocking:
                found.add(id(source))
        before[id(node)] = frozenset(found)
        zone[id(node)] = (zone.get(id(node)), before[id(node)])


def _may_block(kind: str, attrs: dict[str, Any]) -> bool:
    """Whether a kernel of an operation may wait for another part of its step, or one in a body."""
    return any(kernel.blocks for kernel in kernels_of(kind)) or any(
        _may_block(op.type, op.attrs)
        for body in bodies_of(attrs)
        for op in body.graph.get_operations()
    )


def _place_constants(
    program: Program, depth: dict[int, int], kinds: dict[int, bool], zone: dict[int, Any]
) -> None:
    """A constant that only one region uses belongs to that region.

    Others are values given from outside, and `constants_of` a region that uses them; but one that
    waits for other nodes stays where it is: on the host, it would wait for the region that waits
    for it.
    """
    users: dict[int, set[Any]] = {}
    for node in program.nodes:
        for source in [s for s, _ in node.inputs] + node.control:
            if source.type == "Const":
                users.setdefault(id(source), set()).add(
                    (depth[id(node)], node.device, zone.get(id(node))) if kinds[id(node)] else None
                )
    fetched = {id(n) for n, _ in program.fetches}
    for node in program.nodes:
        if node.type != "Const" or not kinds[id(node)]:
            continue
        places = users.get(id(node), set())
        if len(places) == 1 and None not in places and id(node) not in fetched:
            ((level, device, where),) = places
            depth[id(node)] = level
            node.device = device
            zone[id(node)] = where
        elif not node.control:
            kinds[id(node)] = False


def constants_of(nodes: list[Node]) -> list[Node]:
    """The constants that a region shares with others and is to have a copy of.

    What takes an axis or a shape compiles with its value alone. Large ones are given from outside.
    The region still waits for what a constant waits for: that follows from the program's edges.
    """
    inside = {id(n) for n in nodes}
    found = {
        id(source): source
        for node in nodes
        for source, _ in node.inputs
        if id(source) not in inside and _is_small_constant(source)
    }
    return list(found.values())


def _is_small_constant(node: Node) -> bool:
    return (
        node.type == "Const"
        and node.dtypes[0] is not dt.string
        and node.attrs["value"].array.size <= LARGE_CONSTANT
    )


def _settle(
    clusters: list[tuple[str, list[Node]]], program: Program
) -> list[tuple[str, list[Node]]]:
    """Orders clusters so that each comes after those it depends on."""
    owner = {id(n): i for i, (_, nodes) in enumerate(clusters) for n in nodes}
    through = joined(program, owner)
    waits: list[set[int]] = [set() for _ in clusters]
    for i, (_, nodes) in enumerate(clusters):
        for node in nodes:
            for source in [s for s, _ in node.inputs] + node.control:
                waits[i] |= through.get(id(source)) or {owner.get(id(source), i)}
        waits[i].discard(i)
    order: list[int] = []
    done: set[int] = set()
    pending = list(range(len(clusters)))
    while pending:
        ready = [i for i in pending if waits[i] <= done]
        if not ready:
            raise errors.InternalError(
                None,
                None,
                "regions wait for each other: "
                + ", ".join(clusters[i][1][0].name for i in pending),
            )
        order.extend(ready)
        done.update(ready)
        pending = [i for i in pending if i not in done]
    return [clusters[i] for i in order]


def used_outside(program: Program, clusters: list[tuple[str, list[Node]]]) -> set[tuple[int, int]]:
    """The (id of node, output) that other clusters or the fetches need."""
    owner = {id(n): i for i, (_, nodes) in enumerate(clusters) for n in nodes}
    used = {(id(n), i) for n, i in program.fetches}
    for node in program.nodes:
        for source, index in node.inputs:
            if owner.get(id(source)) != owner.get(id(node)):
                used.add((id(source), index))
    return used
