"""Items: what a plan runs. A region of compiled nodes, or one host kernel.

An item reads its input slots and fills its output slots; slots belong to one run of the plan.
"""

import threading
import time
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from penstock.core import determinism
from penstock.core.effects import replaying
from penstock.core.prepared import PreparedOp
from penstock.core.traced import NotStatic
from penstock.runtime.bodies import runs_singly
from penstock.runtime.first_runs import compilation
from penstock.runtime.host_work import CALL_NODES, Budget
from penstock.runtime.program import Node
from penstock.runtime.regions import Region, run_node
from penstock.runtime.step import Event, Step

Slots = dict[tuple[int, int], int]  # (id of node, output) -> slot


def picker(slots: Sequence[int]) -> Callable[[list[Any]], Sequence[Any]]:
    """What gives the values of these slots, in one step."""
    first = slots[0] if slots else 0
    if list(slots) == list(range(first, first + len(slots))):
        return itemgetter(slice(first, first + len(slots)))
    return itemgetter(*slots)


class Item:
    """One thing that a plan runs.

    Attributes:
      nodes: what it computes, in order.
      name: for errors and traces.
      outputs: the slots it fills.
      waits: it may wait or run user code, so it must not hold up others.
      stateful: it has effects.
    """

    kind = ""

    def __init__(
        self,
        nodes: Sequence[Node],
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        waits: bool,
    ) -> None:
        self.nodes = nodes
        self.name = name
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.waits = waits
        self.stateful = any(n.stateful for n in nodes)

    @property
    def may_wait(self) -> bool:
        """Whether it may wait now: in a replay what has effects does, for its turn."""
        return self.waits or (self.stateful and replaying())

    def run(self, slots: list[Any], step: Step) -> None:
        """Reads its input slots and fills its output slots."""
        raise NotImplementedError


class RegionItem(Item):
    """A compiled region. `not_static` is told which node needs a value while it is traced."""

    kind = "region"

    def __init__(
        self, region: Region, slots: Slots, not_static: Callable[[NotStatic], None]
    ) -> None:
        last = region.nodes[-1].name
        super().__init__(
            region.nodes,
            f"region of {len(region.nodes)} ({last})",
            [slots[id(n), i] for n, i in region.inputs],
            [slots[id(n), i] for n, i in region.outputs],
            False,
        )
        self.region = region
        self._take_inputs = picker(self.inputs)
        self._take_handles = picker([slots[id(n), i] for n, i in region.variables])
        self._not_static = not_static

    def run(self, slots: list[Any], step: Step) -> None:
        """Reads its input slots and fills its output slots."""
        inputs, handles = self._take_inputs(slots), self._take_handles(slots)
        try:
            results = self.region.run(inputs, handles, step)
        except NotStatic as signal:  # raised while tracing: nothing of the region has run
            results = self.region.run_singly(inputs, handles, step)
            self._not_static(signal)  # a step that fails says nothing of those with right sizes
        for slot, value in zip(self.outputs, results, strict=True):
            slots[slot] = value


class HostItem(Item):
    """One node, on its host kernel."""

    kind = "host"

    def __init__(self, node: Node, prepared: PreparedOp, slots: Slots) -> None:
        kernel = prepared.host_kernel
        super().__init__(
            [node],
            node.name,
            [slots[id(n), i] for n, i in node.inputs],
            [slots[id(node), i] for i in range(len(node.dtypes))],
            kernel is not None and kernel.reentrant,
        )
        self.node = node
        self.prepared = prepared

    def run(self, slots: list[Any], step: Step) -> None:
        """Reads its input slots and fills its output slots."""
        results = run_node(self.node, self.prepared, [slots[i] for i in self.inputs], step)
        for slot, value in zip(self.outputs, results, strict=True):
            slots[slot] = value


class LoopItem(HostItem):
    """A conditional or loop on the host with sizes that are open.

    Its bodies are not compiled before it has done as much work on the host as that would cost:
    sizes that differ from round to round would be compiled one after the other. What one compiled
    call in each round would cost does not count, so small bodies never are.
    """

    def __init__(self, node: Node, prepared: PreparedOp, slots: Slots) -> None:
        super().__init__(node, prepared, slots)
        self._left: int | None = None  # work before bodies are compiled; known at the first run
        self._lock = threading.Lock()  # guards: _left

    def run(self, slots: list[Any], step: Step) -> None:
        """Reads its input slots and fills its output slots."""
        budget = self._budget()
        arguments = [slots[i] for i in self.inputs]
        results = run_node(self.node, self.prepared, arguments, step, uncompiled=budget)
        if budget is not None and self._left is not None:
            with self._lock:
                self._left -= budget.spent
        for slot, value in zip(self.outputs, results, strict=True):
            slots[slot] = value

    def _budget(self) -> Budget | None:
        if determinism.switch.fixed:
            return None
        with self._lock:
            if self._left is None:
                fit = runs_singly(self.node, self.prepared.device)
                self._left = compilation([self.node], self.prepared.device) if fit else 0
        return Budget(CALL_NODES) if self._left > 0 else None


class TracedItem(Item):
    """Another item, with a note of when and where it ran in the step's events."""

    kind = "traced"

    def __init__(self, item: Item, device: str) -> None:
        super().__init__(item.nodes, item.name, item.inputs, item.outputs, item.waits)
        self.item = item
        self.device = device

    def run(self, slots: list[Any], step: Step) -> None:
        """Reads its input slots and fills its output slots."""
        start = time.time()
        self.item.run(slots, step)
        described = tuple(describe(slots[i]) for i in self.outputs)
        assert step.events is not None
        step.events.append(
            Event(self.item, self.device, start, time.time(), threading.get_ident(), described)
        )


def describe(value: Any) -> tuple[Any, tuple[int, ...], int]:
    """(NumPy dtype, shape, bytes) of a slot's value, once it is there.

    (None, (), 0) for what is no array.
    """
    wait = getattr(value, "block_until_ready", None)
    if wait is not None:
        wait()
    return getattr(value, "dtype", None), getattr(value, "shape", ()), getattr(value, "nbytes", 0)
