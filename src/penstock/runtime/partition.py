"""Partition: a placed program, cut where devices meet. A pure decision over values.

Each device gets a program of its own nodes. An edge from one device to another becomes a `_Send`
there and a `_Recv` here, one pair for all users of a value on a device; a control edge sends an
empty constant. Fed values and constants are given to every device that uses them.

A node's level is the number of device borders on the longest way to it. Nodes of different levels
must not be compiled together: else two devices could each wait for what the other computes in the
same region as what it waits with.
"""

from dataclasses import dataclass, field

import numpy as np

from penstock.core.arrays import HashableArray
from penstock.core.op_def import lookup
from penstock.runtime.program import FEED, Node, Program, Ref, sort
from penstock.types import dtypes as dt
from penstock.types.dtypes import DType


@dataclass(slots=True)
class Part:
    """What one device runs.

    Attributes:
      device: its full name.
      program: its nodes.
      feeds, fetches: which of the whole's feeds and fetches it takes and gives, in its order.
      levels: of its nodes, by id.
    """

    device: str
    program: Program
    feeds: list[int]
    fetches: list[int]
    levels: dict[int, int]


@dataclass(slots=True)
class _Draft:
    feeds: dict[int, Node] = field(default_factory=dict)  # number of the feed -> node
    fetches: dict[int, Ref] = field(default_factory=dict)  # number of the fetch -> value
    targets: list[Node] = field(default_factory=list)


def devices_of(program: Program) -> list[str]:
    """The devices that nodes are placed on, in order of their first node."""
    return list(dict.fromkeys(n.device for n in program.nodes if n.type != FEED))


def levels_of(program: Program) -> dict[int, int]:
    """For each node, by id, the number of device borders on the longest way to it."""
    levels: dict[int, int] = {}
    for node in program.nodes:
        level = 0
        for source in [s for s, _ in node.inputs] + node.control:
            if source.type != FEED and (source.type != "Const" or source.control):
                level = max(level, levels[id(source)] + (source.device != node.device))
        levels[id(node)] = level
    return levels


def partition(program: Program) -> list[Part]:
    """The parts of a placed program, in order of their first node."""
    return _Partition(program).run()


class _Partition:
    """One partition under way."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.drafts = {device: _Draft() for device in devices_of(program)}
        self.made: dict[int, Node] = {}  # id of a node -> its copy, on its device
        self.received: dict[tuple[int, int, str], Ref] = {}
        self.feed_numbers = {id(n): i for i, n in enumerate(program.feeds)}
        self.count = 0
        self.levels: dict[int, int] = {}  # by id, of the copies

    def run(self) -> list[Part]:
        levels = levels_of(self.program)
        for node in self.program.nodes:
            if node.type == FEED:
                continue
            inputs = [self._ref(ref, node.device) for ref in node.inputs]
            control = [self._control(c, node.device) for c in node.control if c.type != FEED]
            self.made[id(node)] = node.copy(inputs, control)
            self.levels[id(self.made[id(node)])] = levels[id(node)]
        for target in self.program.targets:
            if target.type != FEED:
                self.drafts[target.device].targets.append(self.made[id(target)])
        first = next(iter(self.drafts))
        for number, (node, index) in enumerate(self.program.fetches):
            device = first if node.type == FEED else node.device
            self.drafts[device].fetches[number] = self._ref((node, index), device)
        return [self._part(device, draft) for device, draft in self.drafts.items()]

    def _part(self, device: str, draft: _Draft) -> Part:
        feeds, fetches = list(draft.feeds.values()), list(draft.fetches.values())
        program = sort(feeds, fetches, list(dict.fromkeys(draft.targets)))
        return Part(device, program, list(draft.feeds), list(draft.fetches), self.levels)

    def _ref(self, ref: Ref, device: str) -> Ref:
        """A value as `device` has it."""
        node, index = ref
        if node.type == FEED:
            return self._feed(node, device), 0
        if node.device == device:
            return self.made[id(node)], index
        key = (id(node), index, device)
        if key not in self.received:
            if node.type == "Const" and not node.control:
                copy = node.copy([], [])
                copy.device = device
                self.received[key] = copy, 0
            else:
                sent = self.made[id(node)], index
                self.received[key] = self._pair(node, sent, node.dtypes[index], device), 0
        return self.received[key]

    def _feed(self, node: Node, device: str) -> Node:
        number = self.feed_numbers[id(node)]
        feeds = self.drafts[device].feeds
        if number not in feeds:
            feeds[number] = node.copy([], [])
            feeds[number].device = device
        return feeds[number]

    def _control(self, node: Node, device: str) -> Node:
        if node.device == device:
            return self.made[id(node)]
        key = (id(node), -1, device)
        if key not in self.received:
            value = {"value": HashableArray(np.zeros(0, np.bool_), dt.bool_), "dtype": dt.bool_}
            name = f"{node.name}/done"
            token = Node(
                "Const",
                lookup("Const"),
                name,
                value,
                [],
                [],
                [dt.bool_],
                [(0,)],
                device=node.device,
            )
            self.received[key] = self._pair(node, (token, 0), dt.bool_, device), 0
        return self.received[key][0]

    def _pair(self, source: Node, sent: Ref, dtype: DType, device: str) -> Node:
        """A `_Send` on the device of `source`, and the `_Recv` here."""
        edge = f"edge_{self.count}_{source.name}"
        self.count += 1
        names = {
            "tensor_name": edge,
            "send_device": source.device,
            "send_device_incarnation": 1,
            "recv_device": device,
            "client_terminated": False,
        }
        waits = [] if sent[0] is self.made[id(source)] else [self.made[id(source)]]
        send = Node(
            "_Send", lookup("_Send"), f"{edge}/send", {"T": dtype, **names}, [sent], waits, [], [],
            device=source.device, location=source.location, origin=source.origin,
        )  # fmt: skip
        self.drafts[source.device].targets.append(send)
        shape = sent[0].shapes[sent[1]]
        return Node(
            "_Recv", lookup("_Recv"), f"{edge}/recv", {"tensor_type": dtype, **names}, [], [],
            [dtype], [shape], device=device, location=source.location, origin=source.origin,
        )  # fmt: skip


__all__ = ["Part", "devices_of", "levels_of", "partition"]
