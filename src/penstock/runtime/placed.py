"""Plans on several devices of one process.

`PlacedPlan` runs regions on the JAX device that their nodes are placed on; it takes the values that
come from elsewhere there. `PartitionedPlan` has one such plan for each device, cut by the partition
pass, which run side by side and meet at the step's rendezvous. A program with control flow of the
first kind, and one that may use one thread alone, stays one plan.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from penstock import errors
from penstock.core.effects import carried
from penstock.core.kernels import KernelContext, register_kernel
from penstock.core.lazy import jax
from penstock.runtime.clusters import cluster
from penstock.runtime.devices import local_device
from penstock.runtime.partition import devices_of, levels_of, partition
from penstock.runtime.plan import Plan, set_placed_plan_maker
from penstock.runtime.pool import pools
from penstock.runtime.program import Node, Program, Ref
from penstock.runtime.regions import Region
from penstock.runtime.rendezvous import Rendezvous, rendezvous_key
from penstock.runtime.step import Step
from penstock.runtime.watching import state as watching
from penstock.runtime.watching import watched


class PlacedRegion(Region):
    """A region that runs on the device of its nodes."""

    def _call(
        self,
        key: Any,
        inputs: Sequence[Any],
        kept: list[Any],
        taken: list[Any],
        bound: Any,
        step: Step,
    ) -> Sequence[Any]:
        device = local_device(self.nodes[-1].device)  # constants come first
        given, held, owned = (
            [_moved(v, device) for v in values] for values in (inputs, kept, taken)
        )
        with jax.default_device(device):
            return super()._call(key, given, held, owned, bound, step)


def _moved(value: Any, device: Any) -> Any:
    if not hasattr(type(value), "addressable_shards") or value.devices() == {device}:
        return value
    return jax.device_put(value, device)


class PlacedPlan(Plan):
    """A plan whose regions run on the devices that their nodes are placed on."""

    def __init__(
        self,
        program: Program,
        resources: Any,
        device: str = "CPU",
        threads: int = 0,
        levels: Mapping[int, int] | None = None,
    ) -> None:
        self._levels = levels  # of a part: see `penstock.runtime.partition`
        super().__init__(program, resources, device, threads)

    def _clusters(self) -> list[tuple[str, list[Node]]]:
        levels = levels_of(self.program) if self._levels is None else self._levels
        inner = {} if self._flow is None else self._flow.frames.zones
        zones = {id(n): (inner.get(id(n)), levels.get(id(n), 0)) for n in self.program.nodes}
        return cluster(self.program, self._on_host, self.device, zones)

    def _region(self, nodes: list[Node], outputs: list[Ref]) -> Region:
        return PlacedRegion(nodes, outputs, self.device)


class PartitionedPlan(PlacedPlan):
    """One plan for each device of a program; in place of one for all. Thread-safe."""

    def _form(self) -> None:
        self.parts = partition(self.program)
        self.plans = [
            PlacedPlan(p.program, self.resources, self.device, 0, p.levels) for p in self.parts
        ]
        self.items = [item for plan in self.plans for item in plan.items]
        self.fresh_fetches = [False] * len(self.program.fetches)  # another part may hold the value

    def run(self, feeds: Sequence[Any], step: Step) -> Sequence[Any]:
        """Runs all parts; `feeds` in the order of the program's feeds. Returns the fetched arrays.

        Raises:
          OpError: that of the operation that failed first, on whichever device.
        """
        if watching.steps is not None and step.events is None:
            return watched(step, lambda: self.run(feeds, step))
        return _Meeting(self, feeds, step).run()

    @property
    def compiled_count(self) -> int:
        """Executables made so far."""
        return sum(plan.compiled_count for plan in self.plans)

    def __str__(self) -> str:
        pairs = zip(self.parts, self.plans, strict=True)
        return "\n".join(f"{part.device}\n{plan}" for part, plan in pairs)


class _Meeting:
    """One run of a partitioned plan."""

    def __init__(self, plan: PartitionedPlan, feeds: Sequence[Any], step: Step) -> None:
        self.plan = plan
        self.feeds = feeds
        self.step = step
        self.results: list[Any] = [None] * len(plan.program.fetches)
        self.ended = threading.Condition()  # guards: running, error
        self.running = len(plan.parts)
        self.error: BaseException | None = None

    def run(self) -> list[Any]:
        before, self.step.rendezvous = self.step.rendezvous, Rendezvous()
        try:
            for index in range(1, len(self.plan.parts)):
                pools.waiters().submit(carried(lambda i=index: self._run_part(i)))  # type: ignore[misc]
            self._run_part(0)
            with self.ended:
                while self.running:
                    self.ended.wait()
        except BaseException as problem:  # Ctrl-C: the other parts end first
            self._fail(problem)
            with self.ended:
                while self.running:
                    self.ended.wait()
        finally:
            self.step.rendezvous = before
        if self.error is not None:
            raise self.error
        return self.results

    def _run_part(self, index: int) -> None:
        part, plan = self.plan.parts[index], self.plan.plans[index]
        try:
            found = plan.run([self.feeds[i] for i in part.feeds], self.step)
            for number, value in zip(part.fetches, found, strict=True):
                self.results[number] = value
        except BaseException as problem:  # the caller's thread raises it
            self._fail(problem)
        finally:
            with self.ended:
                self.running -= 1
                self.ended.notify_all()

    def _fail(self, problem: BaseException) -> None:
        with self.ended:
            first = self.error is None
            if first or isinstance(problem, KeyboardInterrupt):
                self.error = problem
        if first:
            if isinstance(problem, errors.OpError):
                self.step.rendezvous.abort(problem)
            self.step.cancel("another device's part of the step failed")


def _key(attrs: dict[str, Any]) -> str:
    return rendezvous_key(attrs["send_device"], attrs["recv_device"], attrs["tensor_name"])


def _meeting_of(ctx: KernelContext) -> Rendezvous:
    found = getattr(ctx.step, "rendezvous", None)
    if found is None:
        raise errors.FailedPreconditionError(
            None,
            None,
            f"{ctx.op_name} expected a step on several devices, got none. The partition pass adds "
            "these operations where they are needed.",
        )
    return found  # type: ignore[no-any-return]


def _send(ctx: KernelContext, tensor: Any) -> None:
    _meeting_of(ctx).send(_key(ctx.attrs), tensor)


def _recv(ctx: KernelContext) -> Any:
    return _meeting_of(ctx).recv(_key(ctx.attrs), ctx.step)


def make_placed_plan(program: Program, resources: Any, device: str, threads: int) -> Plan:
    """The plan of a placed program that uses another device than the first, or several."""
    if program.flow or threads == 1 or len(devices_of(program)) < 2:
        return PlacedPlan(program, resources, device, threads)
    return PartitionedPlan(program, resources, device, threads)


register_kernel("_Send", _send, kind="host", limit=1 << 62)
register_kernel("_Recv", _recv, kind="host", limit=1 << 62, reentrant=True)
set_placed_plan_maker(make_placed_plan)

__all__ = ["PartitionedPlan", "PlacedPlan", "make_placed_plan"]
