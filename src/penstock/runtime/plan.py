"""Plans: a program cut into items that run one after the other or side by side.

`make_plan` simplifies a program, places it, decides for each node whether it is compiled with its
neighbours or runs alone on the host, and forms regions (`penstock.runtime.clusters`). An executor
runs the items over slots, one for each output.

A node whose compiled kernel turns out to need a value that is known only at run time makes the plan
form its regions again, with that node on the host, before the next run; the region that noticed
runs node by node this once.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, cast

from penstock import errors
from penstock.config import env
from penstock.core import determinism
from penstock.core.effects import switch
from penstock.core.traced import NotStatic
from penstock.runtime import batch_nodes as _batch_nodes  # noqa: F401  registers the kernel
from penstock.runtime import batching as _batches  # noqa: F401  registers the kernel
from penstock.runtime import control_flow as _kernels  # noqa: F401  registers kernels
from penstock.runtime import map_rows as _map_rows  # noqa: F401  registers the kernel
from penstock.runtime import remote_calls as _remote_calls  # noqa: F401  registers the kernel
from penstock.runtime import vectorized as _more_kernels  # noqa: F401  registers kernels
from penstock.runtime.bodies import set_plan_maker
from penstock.runtime.clusters import (
    BIND_ONCE,
    cluster,
    compiles,
    constants_of,
    joined,
    used_outside,
)
from penstock.runtime.devices import cpu_count
from penstock.runtime.executor import Executor
from penstock.runtime.flow import FlowExecutor, FlowLayout
from penstock.runtime.frames import ROOT, Frame
from penstock.runtime.host_path import is_fresh, run_node
from penstock.runtime.items import HostItem, Item, LoopItem, RegionItem, TracedItem, picker
from penstock.runtime.mixed_precision import half_wanted, in_half_precision
from penstock.runtime.partition import devices_of
from penstock.runtime.placer import place_program
from penstock.runtime.program import FEED, FLOW, Node, Program, Ref
from penstock.runtime.races import find_races, put_reads_first, report_races
from penstock.runtime.reference import ReferencePlan
from penstock.runtime.regions import Region
from penstock.runtime.simplify import prepared_op, simplify
from penstock.runtime.step import Step
from penstock.runtime.watching import state as watching
from penstock.runtime.watching import watched
from penstock.types import dtypes as dt
from penstock.types.dims import is_full
from penstock.types.dtypes import DType


class Plan:
    """Items in dependency order over numbered slots. Thread-safe: each run has slots of its own.

    Attributes:
      program: what it computes.
      keeps_feeds: an operation with effects runs, which may keep a fed array or still read it when
        `run` returns.
      fresh_fetches: for each fetch, whether nobody but the caller holds the array that `run` gives.
    """

    def __init__(
        self, program: Program, resources: Any, device: str = "CPU", threads: int = 0
    ) -> None:
        self.program = program
        self.resources = resources
        self.device = device
        self.state: dict[Any, Any] = {}
        self.keeps_feeds = bool(program.feeds) and any(map(_takes_values, program.nodes))
        self.fresh_fetches = self._fresh()
        self._threads = threads
        self._on_host: set[int] = (
            set()
        )  # ids of nodes that need run-time values while they are traced
        self._stale = False  # a node was added to _on_host since the items were formed
        self._lock = (
            threading.Lock()
        )  # guards: _on_host, _stale, and the items while they are formed again
        self._retired = 0  # executables of regions that are no more
        self.items: list[Item] = []
        self._flow = FlowLayout(program) if program.flow else None
        self._form()

    def _fresh(self) -> list[bool]:
        """For each fetch, whether the step leaves its array to the caller alone."""
        if any(_takes_values(n) for n in self.program.nodes):
            return [False] * len(self.program.fetches)  # a variable may keep the array
        seen: set[tuple[int, int]] = set()
        fresh = []
        for node, index in self.program.fetches:
            first = (id(node), index) not in seen
            seen.add((id(node), index))
            fresh.append(first and node.type != FEED and self._makes_fresh(node))
        return fresh

    def _makes_fresh(self, node: Node) -> bool:
        return is_fresh(node, prepared_op(node, self.device), compiles(node, self.device))

    def _form(self) -> None:
        """Cuts the program into items."""
        program = self.program
        flow = self._flow
        if flow is None:
            numbers = {(id(n), i): (n, i) for n in program.nodes for i in range(len(n.dtypes))}
            slots = {key: number for number, key in enumerate(numbers)}
            templates: dict[Frame, list[Any]] = {ROOT: [None] * len(slots)}
        else:
            slots, templates = flow.slots, flow.templates()
        clusters = self._clusters()
        wanted = used_outside(program, clusters)
        made: list[Item | None] = []
        for kind, nodes in clusters:
            if kind == "region":
                outputs = [
                    (n, i) for n in nodes for i in range(len(n.dtypes)) if (id(n), i) in wanted
                ]
                region = self._region([*constants_of(nodes), *nodes], outputs)
                made.append(RegionItem(region, slots, self.not_static))
            else:
                frame = ROOT if flow is None else flow.frames.gives_in[id(nodes[0])]
                made.append(self._host_item(nodes[0], slots, templates[frame]))
        self._retired = self.compiled_count
        self.items = [item for item in made if item is not None]
        self._template, self._slots = templates[ROOT], slots
        self._executor: Executor | FlowExecutor
        if flow is None:
            self._executor = Executor(self.items, _waits(program, clusters, made), self._threads)
            fetch_slots = [slots[id(n), i] for n, i in program.fetches]
        else:
            self._executor = FlowExecutor(program, flow, clusters, made, templates)
            fetch_slots = flow.fetch_slots
        self._take_fetches = picker(fetch_slots)
        fed = list(range(len(program.feeds)))
        assert [slots[id(n), 0] for n in program.feeds] == fed  # feeds are the first nodes
        self._generation = getattr(self.resources, "generation", 0)
        self._whole = self._whole_region(fed, fetch_slots)
        self._stale = False

    def _clusters(self) -> list[tuple[str, list[Node]]]:
        """The parts of the program: ("region", nodes) and ("host", [node]), in order of running."""
        zones = None if self._flow is None else self._flow.frames.zones
        return cluster(self.program, self._on_host, self.device, zones)

    def _region(self, nodes: list[Node], outputs: list[Ref]) -> Region:
        return Region(nodes, outputs, self.device)

    def _whole_region(self, feed_slots: list[int], fetch_slots: list[int]) -> Region | None:
        """The region that is the whole plan, taking the feeds and giving the fetches as they are.

        None otherwise.
        """
        if len(self.items) != 1 or not isinstance(self.items[0], RegionItem) or self._flow:
            return None
        item = self.items[0]
        same = item.inputs == feed_slots and item.outputs == fetch_slots
        return item.region if same and not item.region.variables else None

    def _host_item(
        self, node: Node, slots: dict[tuple[int, int], int], template: list[Any]
    ) -> Item | None:
        """The item of a node that runs on the host.

        None for one whose value is known now, or that does nothing.
        """
        if node.type == "NoOp" or node.type in FLOW:
            return None
        if node.type == "Const":
            template[slots[id(node), 0]] = node.attrs["value"].array
            return None
        prepared = prepared_op(node, self.device)
        if node.type in BIND_ONCE:
            (value,) = run_node(node, prepared, [], Step(self.resources, self.state, counted=False))
            template[slots[id(node), 0]] = value
            return None
        if self._may_start_singly(node):
            return LoopItem(node, prepared, slots)
        return HostItem(node, prepared, slots)

    def _may_start_singly(self, node: Node) -> bool:
        """Whether a node is a conditional or loop that may run node by node at first, on a CPU.

        What changes variables gives the same bits from its first run on, since it may be resumed;
        gradients of frames loop over lists that dead rounds left, which host kernels refuse. Both
        keep their plans, but for those whose sizes kept them out of a region.
        """
        if node.op is None or not node.op.calls or self.device != "CPU":
            return False
        if node.stateful or self._flow is not None:
            return id(node) in self._on_host and not all(map(is_full, node.shapes))
        return True

    def run(self, feeds: Sequence[Any], step: Step) -> Sequence[Any]:
        """Runs all items; `feeds` in the order of the program's feeds. Returns the fetched arrays.

        Raises:
          OpError: that of the operation that failed first.
        """
        if watching.steps is not None and step.events is None:
            return watched(step, lambda: self.run(feeds, step))
        if (self._stale or self.resources.generation != self._generation) and self._must_form():
            with self._lock:
                if self._must_form():
                    self._form()
        if self._whole is not None and step.events is None:
            try:
                return self._whole.run(feeds, (), step)
            except NotStatic:
                pass  # its item runs the nodes one by one
        slots = self._template.copy()
        slots[: len(feeds)] = feeds
        if step.events is None or self._flow is not None:
            self._executor.run(slots, step)
        else:
            self._traced_executor().run(slots, step)
        return self._take_fetches(slots)

    def _must_form(self) -> bool:
        """Whether the items are to be formed again.

        Not because a node was found out to need the host while effects are recorded or replayed:
        which step is the first with other items would follow from time.
        """
        if self.resources.generation != self._generation:
            return True
        return self._stale and switch.log is None

    def _traced_executor(self) -> Executor:
        executor = self._executor
        assert isinstance(executor, Executor)  # the other one traces its items itself
        traced = [TracedItem(item, item.nodes[-1].device) for item in executor.items]
        return Executor(traced, executor._waits, self._threads)

    def not_static(self, signal: NotStatic) -> None:
        """Notes that an operation cannot be compiled with its neighbours."""
        with self._lock:
            if (
                signal.key is None
            ):  # two resource inputs are one variable: nothing on variables compiles here
                self._on_host.update(
                    id(n)
                    for n in self.program.nodes
                    if any(s.dtypes[i] is dt.resource for s, i in n.inputs)
                )
            else:
                self._on_host.add(id(signal.key))
            self._stale = True

    @property
    def compiled_count(self) -> int:
        """Executables made so far."""
        return self._retired + sum(
            i.region.compiled_count for i in self.items if isinstance(i, RegionItem)
        )

    def __str__(self) -> str:
        """One line for each item: what it holds, in the order of running."""
        return "\n".join(
            f"{item.kind} {', '.join(n.name for n in item.nodes)}" for item in self.items
        )


def _takes_values(node: Node) -> bool:
    """Whether a node has effects and takes values, which it may keep."""
    return node.stateful and any(s.dtypes[i] is not dt.resource for s, i in node.inputs)


def _waits(
    program: Program, clusters: Sequence[tuple[str, list[Node]]], made: Sequence[Item | None]
) -> list[set[int]]:
    """For each item the indices of the items it waits for.

    Also through clusters that are no item.
    """
    owner = {id(n): k for k, (_, nodes) in enumerate(clusters) for n in nodes}
    numbers: dict[int, int] = {}
    for k, item in enumerate(made):
        if item is not None:
            numbers[k] = len(numbers)
    through = joined(program, owner)
    reached: list[
        set[int]
    ] = []  # for each cluster: itself if it is an item, else what it waits for
    result: list[set[int]] = []
    for k, (_, nodes) in enumerate(clusters):
        before: set[int] = set()
        for node in nodes:
            for source in [s for s, _ in node.inputs] + node.control:
                # feeds, and what is left out, are no item
                for other in through.get(id(source)) or {owner.get(id(source), k)}:
                    before |= reached[other] if other != k else set()
        if k in numbers:
            result.append(before)
            reached.append({numbers[k]})
        else:
            reached.append(before)
    return result


_placed: dict[str, Callable[..., Plan]] = {}


def set_placed_plan_maker(function: Callable[..., Plan]) -> None:
    """Installs what makes plans on several devices: `penstock.runtime.placed.make_placed_plan`."""
    _placed["make"] = function


def _refuse_races(races: Sequence[Any]) -> None:
    """Raises when operations must be deterministic and there are races."""
    if races:
        found = "; ".join(str(race) for race in races[:3])
        raise errors.InvalidArgumentError(
            None,
            None,
            f"while determinism is enabled: expected effects in a fixed order, got {len(races)}"
            f" races: {found}",
        )


def make_plan(
    program: Program,
    resources: Any,
    device: str = "CPU",
    optimize: bool = True,
    threads: int = 0,
    soft_placement: bool = True,
    half: DType | None = None,
    cpus: int | None = None,
) -> Plan:
    """The plan for a program.

    Args:
      program: from `build`; the passes change it.
      resources: the resource manager of its variables.
      device: the device type that runs it.
      optimize: whether it is simplified first.
      threads: bound on items that run at the same time; 1 runs one after the other, 0 leaves it to
        the shared pool.
      soft_placement: whether an operation may run on another device than it asks for.
      half: the dtype of products, when it is not what `tf.config.optimizer` asks for.
      cpus: how many CPUs operations may ask for, when it is not as many as the process has.

    Raises:
      InvalidArgumentError: an operation asks for a device that is not there, or has no kernel for
        its types.
    """
    program = put_reads_first(program)
    place_program(program, device, soft_placement, cpus, resources.task)
    if determinism.required():
        _refuse_races(find_races(program))
    else:
        report_races(program)
    if env.get("PENSTOCK_EXECUTOR") == "reference":
        return cast(Plan, ReferencePlan(program))  # it has what runs a plan, and nothing more
    half = half or half_wanted()
    if half is not None and not program.flow:
        program = in_half_precision(program, half)
    if optimize and not program.flow:
        program = simplify(program)
    if (cpus or cpu_count()) > 1 and not all(d.endswith(":0") for d in devices_of(program)):
        return _placed["make"](program, resources, device, threads)
    return Plan(program, resources, device, threads)


set_plan_maker(make_plan)

__all__ = ["Plan", "make_plan"]
