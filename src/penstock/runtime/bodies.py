"""Bodies of functions as parts of other things that run.

`body_plan` gives the plan with which a kernel on the host runs a body. `trace_body` runs a body's
nodes on tracers, as a part of the region that is being compiled; `compiles_inside` says beforehand
whether that can work.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from penstock.core.kernels import KernelContext, bind, select
from penstock.core.lazy import jnp
from penstock.core.prepared import PreparedOp
from penstock.core.traced import Collected, NotStatic, TraceContext, TracedRef
from penstock.graph.body import CallBody
from penstock.graph.func_graph import bodies_of
from penstock.runtime.draws import CONDITIONALS, GIVES_STREAMS, draws
from penstock.runtime.executable import NO_KERNEL, trace_node
from penstock.runtime.fusing import fuse_chains
from penstock.runtime.host_path import HostPath
from penstock.runtime.host_work import OVERHEAD, Budget
from penstock.runtime.lapack_turns import begin_turns
from penstock.runtime.loop_nodes import copied
from penstock.runtime.program import FEED, Program, build
from penstock.runtime.simplify import PASSES, prepared_op, simplify
from penstock.runtime.step import Step
from penstock.types import dtypes as dt
from penstock.types.dims import is_full

UNFUSED = PASSES[:-1]

_make_plan: dict[str, Callable[..., Any]] = {}


def set_plan_maker(function: Callable[..., Any]) -> None:
    """Installs what makes plans: `penstock.runtime.plan.make_plan`."""
    _make_plan["make"] = function


def set_whole_plan_maker(function: Callable[..., Any]) -> None:
    """Installs what makes plans of regions alone: `penstock.runtime.whole.make_compiled_plan`."""
    _make_plan["whole"] = function


def run_body(
    ctx: KernelContext, body: CallBody, arguments: Sequence[Any], place: str = ""
) -> list[Any]:
    """Runs a body's plan on the host, inside the step that `ctx` belongs to.

    Operations that ask for no device run on `place`, where a device is given.
    """
    step = ctx.step if ctx.step is not None else Step(ctx.resources)
    budget: Budget | None = None if place or body.must_compile else ctx.uncompiled
    single = budget is not None and budget.left > 0
    key = ("uncompiled" if single else "body", id(body), place)
    kept: tuple[CallBody, Any] | None = step.state.get(key)
    if kept is None:
        plan = _uncompiled(body, ctx) if single else _plan_of(body, ctx, place)
        kept = step.state[key] = (body, plan)  # the body lives as long as its id is a key
    step.check(ctx.op_name)
    given = (arguments, step, budget) if single else (arguments, step)
    return list(kept[1].run(*given))


def _plan_of(body: CallBody, ctx: KernelContext, place: str) -> Any:
    whole = body.must_compile
    program = build(body.outputs, body.inputs, body.control_outputs, inline_all=whole)
    for node in program.nodes if place else ():
        node.device = node.device or place
    device = ctx.device or "CPU"
    if whole:
        return _make_plan["whole"](program, ctx.resources, body.name, device)
    return _make_plan["make"](program, ctx.resources, device, threads=1)


class _Uncompiled:
    """In place of a plan: a body whose nodes run one by one on the host, and those of its own."""

    def __init__(self, program: Program, device: str) -> None:
        nodes = [n for n in program.nodes if n.type not in (FEED, "NoOp")]
        prepared = [prepared_op(n, device) for n in nodes]
        feeds = [(n, 0) for n in program.feeds]
        self._path = HostPath(nodes, prepared, feeds, [], program.fetches)
        self._count = len(nodes)

    def run(self, feeds: Sequence[Any], step: Step, budget: Budget) -> Sequence[Any]:
        """The fetched arrays."""
        free, budget.free_nodes = budget.free_nodes, 0  # loops inside would be compiled whole
        try:
            return self._path.run(feeds, (), step, budget)
        finally:
            budget.free_nodes = free
            budget.left += OVERHEAD * min(free, self._count)


def _uncompiled(body: CallBody, ctx: KernelContext) -> _Uncompiled:
    device = ctx.device or "CPU"
    return _Uncompiled(traced_body(body, device).plain, device)


class TracedBody:
    """The nodes of a simplified program, a body's, with their kernels.

    Attributes:
      plain: what it computes, before chains are fused; its feeds are the inputs.
      program: the same, as it is traced.
      prepared: the kernels, one entry for each node that is no feed.
      device: the device type that runs it.
      checks: whether a node can fail while it runs.
    """

    def __init__(self, program: Program, device: str) -> None:
        self.plain = program
        program = self.program = fuse_chains(copied(program))
        self.device = device
        self.nodes = [n for n in program.nodes if n.type not in (FEED, "NoOp")]
        self.prepared = [prepared_with_texts(n, prepared_op(n, device)) for n in self.nodes]
        self.checks = any(n.op is not None and (n.op.fallible or n.op.calls) for n in self.nodes)


def traced_body(body: CallBody, device: str) -> TracedBody:
    """The nodes of a body, made once."""
    if body.traced is None or body.traced[0] != device:
        program = build(body.outputs, body.inputs, body.control_outputs, inline_all=True)
        body.traced = (device, TracedBody(simplify(program, UNFUSED), device))
    return body.traced[1]  # type: ignore[no-any-return]


def hosted(node: Any, device: str) -> bool:
    """Whether all that a node runs has host kernels: the node itself, and those of its bodies."""
    if node.type == FEED or node.type == "NoOp":
        return True
    return prepared_op(node, device).host is not None and all(
        hosted(inner, device) for inner in _inside(node, device)
    )


def runs_singly(node: Any, device: str) -> bool:
    """Whether bodies have sizes that are open, and nodes that may run one by one on the host.

    Nodes that wait for others, or run a program's own code, are left to plans, which run what else
    can run meanwhile.
    """
    inside = _inside(node, device)
    return (
        hosted(node, device)
        and not any(_waits(n, device) for n in inside)
        and not all(is_full(dims) for n in (node, *inside) for dims in n.shapes)
    )


def _waits(node: Any, device: str) -> bool:
    if node.type in (FEED, "NoOp"):
        return False
    kernel = prepared_op(node, device).host_kernel
    if kernel is not None and kernel.reentrant and not node.op.calls:
        return True
    return any(_waits(n, device) for n in _inside(node, device))


def _inside(node: Any, device: str) -> list[Any]:
    """The nodes of a node's bodies, their inputs among them."""
    return [n for body in bodies_of(node.attrs) for n in traced_body(body, device).plain.nodes]


def drawing_inside(node: Any, device: str) -> list[Any]:
    """The random operations in the bodies of a node, in the order in which they are traced."""
    return [n for body in bodies_of(node.attrs) for n in drawing_in(body, device)]


def drawing_in(body: CallBody, device: str) -> list[Any]:
    """The random operations of a body, in the order in which they are traced."""
    found: list[Any] = []
    for node in traced_body(body, device).nodes if draws(body) else ():
        if node.op is not None and node.op.step_input is not None:
            found.append(node)
        elif node.op is not None and node.op.calls:
            found += drawing_inside(node, device)
    return found


class Streams:
    """The streams of the random operations in the bodies of a traced conditional or loop.

    Attributes:
      of: for each body its operations and their streams.
      drawn: whether there are any.
    """

    def __init__(self, ctx: TraceContext, bodies: Sequence[CallBody]) -> None:
        device = ctx.device or "CPU"
        given = iter(() if ctx.step_value is None else ctx.step_value)
        self.of = [[(n, next(given)) for n in drawing_in(b, device)] for b in bodies]
        self.drawn = any(self.of)

    def in_branch(self, position: int) -> Iterator[Any]:
        """Those of the body at a position, as they were given."""
        return iter([start for _, start in self.of[position]])

    def in_round(self, position: int, number: Any) -> Iterator[Any]:
        """Those of the body at a position in a round of the loop."""
        return iter([n.op.step_input.in_round(jnp, s, number) for n, s in self.of[position]])

    def drew(self, position: int, read: Sequence[Any]) -> list[Any]:
        """For each stream whether it is read, where the body at a position ran and read `read`."""
        return [
            flag
            for i, mine in enumerate(self.of)
            for flag in (read if i == position else [False] * len(mine))
        ]


def trace_body(
    body: CallBody,
    device: str,
    arguments: Sequence[Any],
    collected: Collected,
    streams: Iterator[Any] | None = None,
) -> list[Any]:
    """The outputs of a body, run on tracers; a variable's argument is a TracedRef.

    `streams` gives the random operations inside theirs, in the order of `drawing_inside`.

    Raises:
      NotStatic: a node cannot be compiled, or needs a value that is not known.
    """
    return trace_nodes(traced_body(body, device), arguments, collected, streams)


def trace_nodes(
    traced: TracedBody,
    arguments: Sequence[Any],
    collected: Collected,
    streams: Iterator[Any] | None = None,
) -> list[Any]:
    """As `trace_body`, for a program that was made of a body."""
    values: dict[Any, Any] = {}
    refs: dict[Any, Any] = {}
    for feed, value in zip(traced.program.feeds, arguments, strict=True):
        (refs if isinstance(value, TracedRef) else values)[id(feed), 0] = value
    begin_turns(collected, traced.nodes, traced.device, arguments)
    for node, prepared in zip(traced.nodes, traced.prepared, strict=True):
        if node.type != "Const" and prepared.compiled is None:
            known = all(isinstance(values.get((id(n), i)), np.ndarray) for n, i in node.inputs)
            if not known or node.stateful:
                raise NotStatic(node, "there is no kernel for it in compiled regions")
        given = None if streams is None else _streams_for(node, traced.device, streams)
        trace_node(node, prepared, values, refs, collected, given)
        if given is not None and node.type not in CONDITIONALS:  # these tell themselves
            collected.drew += [True] * (len(given) if isinstance(given, list) else 1)
    values.update(refs)
    return [values[id(n), i] for n, i in traced.program.fetches]


def _streams_for(node: Any, device: str, streams: Iterator[Any]) -> Any:
    if node.op is None:
        return None
    if node.op.step_input is not None:
        return next(streams)
    return [next(streams) for _ in drawing_inside(node, device)] if node.op.calls else None


def compiles_inside(body: CallBody, device: str, caller: str = "", texts: bool = False) -> bool:
    """Whether a body may become part of a compiled region.

    With random operations it may where the operation that calls it, of type `caller`, has streams
    for them; with `texts`, constant texts of assertions do not stand in the way.
    """
    if draws(body) and caller not in GIVES_STREAMS:
        return False
    if body.compiles is None or body.compiles[:2] != (device, texts):
        body.compiles = (device, texts, _all_compile(body, device, texts))
    return body.compiles[2]


def _all_compile(body: CallBody, device: str, texts: bool) -> bool:
    if any(t.dtype is dt.string for t in (*body.inputs, *body.outputs)):
        return False
    return all(why_outside(n, device, texts) is None for n in nodes_of(body))


def nodes_of(body: CallBody) -> list[Any]:
    """The nodes of a body that compute."""
    program = build(body.outputs, body.inputs, body.control_outputs, inline_all=True)
    return [n for n in program.nodes if n.type not in (FEED, "NoOp")]


def kept_on_host(body: CallBody, device: str) -> set[str]:
    """The types of the operations that keep a body out of compiled regions, but constants."""
    nodes = [n for n in nodes_of(body) if n.type != "Const"]
    return {n.type for n in nodes if why_outside(n, device) is not None}


def why_outside(node: Any, device: str, texts: bool = False) -> str | None:
    """Why a node of a body keeps it out of compiled regions; None where it does not."""
    if node.type == "Const":
        return None if texts or dt.string not in node.dtypes else _no_values(dt.string)
    if why := by_itself(node, texts):
        return why
    if dt.resource in node.dtypes:
        return _no_values(dt.resource)
    if not select(node.type, "compiled", device, node.attrs):
        return NO_KERNEL
    counts = node.counts or (1,) * len(node.op.inputs)
    touched = node.op.effects_at(counts, node.attrs)
    resources = {i for i, (s, k) in enumerate(node.inputs) if s.dtypes[k] is dt.resource}
    if not resources <= set(touched):
        return "compiled regions read and write variables, and hand on none"
    for body in bodies_of(node.attrs):
        if not compiles_inside(body, device, node.type, texts):
            return why_not_inside(body, device, node.type, texts)
    return None


def by_itself(node: Any, texts: bool) -> str | None:
    """What is against a node in a compiled region, whatever kernels there are.

    With `texts` those that it takes count, but constant ones.
    """
    if node.refused:
        return str(node.refused)
    taken = [s.dtypes[i] for s, i in node.inputs if s.type != "Const"] if texts else []
    return _no_values(dt.string) if dt.string in (*node.dtypes, *taken) else None


def _no_values(dtype: Any) -> str:
    return f"compiled regions hold no values of dtype {dtype.name}"


def why_not_inside(body: CallBody, device: str, caller: str, texts: bool) -> str:
    """What keeps a body out of compiled regions: each operation, and why."""
    reasons = [(n, why_outside(n, device, texts)) for n in nodes_of(body)]
    found = [f"{n.type} {n.where()} ({why})" for n, why in reasons if why is not None]
    if draws(body) and caller not in GIVES_STREAMS:
        found.append(f"random operations, which {caller} has no numbers for")
    if any(t.dtype is dt.string for t in (*body.inputs, *body.outputs)):
        found.append("texts among its inputs and outputs")
    return f"its body {body.name} holds {', '.join(found)}"


def prepared_with_texts(node: Any, prepared: PreparedOp) -> PreparedOp:
    """The kernels of a node that takes constant texts, which ordinary regions leave to the host."""
    if prepared.compiled is not None or node.op is None or node.type == "Const":
        return prepared
    kernel = select(node.type, "compiled", prepared.device, node.attrs)
    if kernel is None:
        return prepared
    made = copy.copy(prepared)
    made.compiled = (bind(node.op, kernel, prepared.attrs), kernel.wants_context)
    return made
