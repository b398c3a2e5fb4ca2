"""Plans of functions that must be compiled as a whole: `tf.function(jit_compile=True)`.

A `WholePlan` is one region, always compiled, for every size it meets; what keeps an operation out
of it is an error at the first call and never a reason to run on the host. `unsupported` says
beforehand which operations have no place in it; others show when the region is traced.

Only operations of BETWEEN, which TensorFlow's compiler has and JAX's has not, take such a function
apart: it has an ordinary plan, in which they run on the host and so may what needs their values.
"""

from typing import Any, NoReturn

from penstock import errors
from penstock.core import rounds
from penstock.core.kernels import register_kernel, select
from penstock.core.traced import NotStatic
from penstock.graph.func_graph import bodies_of, holds_any
from penstock.runtime.bodies import (
    by_itself,
    compiles_inside,
    nodes_of,
    prepared_with_texts,
    run_body,
    set_whole_plan_maker,
    why_not_inside,
)
from penstock.runtime.clusters import BIND_ONCE
from penstock.runtime.control_flow import ON_HOST, with_handles
from penstock.runtime.executable import NO_KERNEL
from penstock.runtime.items import RegionItem
from penstock.runtime.mixed_precision import half_wanted, in_half_precision
from penstock.runtime.placer import place_program
from penstock.runtime.plan import Plan
from penstock.runtime.program import CALLS, FEED, Node, Program
from penstock.runtime.regions import Region
from penstock.runtime.simplify import prepared_op, simplify
from penstock.runtime.whole_region import WholeRegion

OUTSIDE = frozenset({FEED, "NoOp"}) | BIND_ONCE  # what no region holds
# The sizes of most results follow from values: TensorFlow's compiler bounds them.
BETWEEN = frozenset(
    """
    DynamicPartition ListDiff NonMaxSuppressionV3 NonMaxSuppressionV4 ParameterizedTruncatedNormal
    StatelessParameterizedTruncatedNormal Unique UniqueV2 VarIsInitializedOp Where
    """.split()
)


def unsupported(node: Node, device: str) -> str | None:
    """Why a node cannot be part of a compiled region; None when nothing is known against it."""
    if node.type in OUTSIDE or node.type == "Const":
        return None
    assert node.op is not None
    if why := by_itself(node, texts=True):
        return why
    for body in bodies_of(node.attrs):
        if not compiles_inside(body, device, node.type, texts=True):
            return why_not_inside(body, device, node.type, texts=True)
    if select(node.type, "compiled", device, node.attrs):
        return None
    foldable = not node.stateful and node.inputs and prepared_op(node, device).host is not None
    return None if foldable else NO_KERNEL


def _between(node: Node, device: str) -> bool:
    """Whether a node, or all that is against its bodies, only has to run between regions."""
    if by_itself(node, texts=True) or not holds_any(node.type, node.attrs, BETWEEN):
        return False
    return all(_parts(body, device) for body in bodies_of(node.attrs))


def _parts(body: Any, device: str) -> bool:
    return all(unsupported(n, device) is None or _between(n, device) for n in nodes_of(body))


class WholePlan(Plan):
    """A plan of one region. Thread-safe."""

    def __init__(
        self, program: Program, resources: Any, device: str = "CPU", name: str = ""
    ) -> None:
        self.name = name
        super().__init__(program, resources, device)

    @property
    def region(self) -> Region | None:
        """The one region; None when there is nothing to compute."""
        return next((i.region for i in self.items if isinstance(i, RegionItem)), None)

    @property
    def bound(self) -> dict[int, Any]:
        """By id of their node, the handles that are the same in every step."""
        nodes = [n for n in self.program.nodes if n.type in BIND_ONCE]
        return {id(n): self._template[self._slots[id(n), 0]] for n in nodes}

    def _clusters(self) -> list[tuple[str, list[Node]]]:
        outside: list[tuple[str, list[Node]]] = [
            ("host", [n]) for n in self.program.nodes if n.type in BIND_ONCE
        ]
        inside = [n for n in self.program.nodes if n.type not in OUTSIDE]
        return [*outside, ("region", inside)] if inside else outside

    def _region(self, nodes: list[Node], outputs: Any) -> Region:
        region = WholeRegion(nodes, outputs, self.device)
        region.prepared = list(map(prepared_with_texts, nodes, region.prepared))
        return region

    def not_static(self, signal: NotStatic) -> NoReturn:
        """Says which operation needs a value that is not there when it is compiled.

        Raises:
          InvalidArgumentError: always.
        """
        if signal.key is None:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{self.name}: jit_compile=True expected variables that differ, got one twice."
                " Pass it once, or leave jit_compile out.",
            ) from signal
        _refuse(self.name, [(signal.key, str(signal).partition(": ")[2])])


def _refuse(name: str, found: list[tuple[Node, str]]) -> NoReturn:
    listed = "; ".join(f"{node.type} {node.where()} ({why})" for node, why in found)
    raise errors.InvalidArgumentError(
        None,
        found[0][0].origin,
        f"Detected unsupported operations when trying to compile {name} with jit_compile=True:"
        f" expected operations that XLA compiles, got {listed}. Move them out of the function, or"
        " leave jit_compile out: then what can be compiled is.",
    )


def make_whole_plan(program: Program, resources: Any, name: str, device: str = "CPU") -> WholePlan:
    """The plan of a function that must be compiled as one region.

    Args:
      program: from `build` with `inline_all`; the passes change it.
      resources: the resource manager of its variables.
      name: the function's, for errors.
      device: the device type that runs it.

    Raises:
      InvalidArgumentError: an operation cannot be compiled; names each one and its line.
    """
    program = _prepared(program, resources, device)
    found = _found(program, device)
    if found:
        _refuse(name, found)
    return WholePlan(program, resources, device, name)


def make_compiled_plan(program: Program, resources: Any, name: str, device: str = "CPU") -> Plan:
    """The plan of a function with `jit_compile=True`: of one region, or of those around BETWEEN.

    Args and raises as `make_whole_plan`.
    """
    program = _prepared(program, resources, device)
    against = [(n, why) for n, why in _found(program, device) if not _between(n, device)]
    if against:
        _refuse(name, against)
    if any(holds_any(n.type, n.attrs, BETWEEN) for n in program.nodes):
        return Plan(program, resources, device)
    return WholePlan(program, resources, device, name)


def _prepared(program: Program, resources: Any, device: str) -> Program:
    place_program(program, device, True, task=resources.task)
    half = half_wanted()
    return simplify(program if half is None else in_half_precision(program, half))


def _found(program: Program, device: str) -> list[tuple[Node, str]]:
    """The nodes that have no place in a region, and why."""
    return [(n, why) for n in program.nodes if (why := unsupported(n, device)) is not None]


set_whole_plan_maker(make_compiled_plan)


def _call_on_host(ctx: Any, args: Any, *, f: Any) -> Any:
    """A call that was not inlined: of a function that must be one region."""
    with rounds.at(f"{ctx.op_name}/"):  # as where it is inlined
        return run_body(ctx, f, with_handles(args, (f,)))


for _name in CALLS:
    register_kernel(_name, _call_on_host, kind="host", limit=ON_HOST, reentrant=True)

__all__ = ["WholePlan", "make_compiled_plan", "make_whole_plan", "unsupported"]
