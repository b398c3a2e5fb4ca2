"""Kernels of `If`, `Case` and `While`.

On the host they run the bodies' plans. In a compiled region a body's nodes are traced as XLA's own
conditional and loop; values that a loop hands through unchanged stay outside of its state, so what
is known about them stays known. Variables that a body may write are part of the state, and the
conditions that its operations check come out with it.
"""

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import rounds
from penstock.core.kernels import KernelContext, register_kernel
from penstock.core.lazy import jax, jnp
from penstock.core.resources import ResourceHandle
from penstock.core.tensor_list import StackedList, joined
from penstock.core.traced import Collected, NotStatic, TraceContext
from penstock.graph.body import CallBody
from penstock.runtime.bodies import Streams, run_body, trace_body, traced_body
from penstock.runtime.draws import branch_site, draws, rounds_before
from penstock.runtime.needed_values import needs_of_caller
from penstock.runtime.traced_flow import (
    Staged,
    as_state,
    building,
    checked,
    forked,
    hand_on,
    refuse_empty,
    written_by,
    zeros_like,
)
from penstock.runtime.traced_loops import while_compiled
from penstock.types import dims as d
from penstock.types import dtypes as dt

ON_HOST = 1 << 62  # eager calls run the bodies' own plans

# ---- on the host -----------------------------------------------------------------------------


def with_handles(values: Sequence[Any], bodies: Sequence[CallBody]) -> list[Any]:
    """The inputs as bodies take them: kernels get the resources of those that bodies touch."""
    touched = {i for body in bodies for i in body.effects}
    return [ResourceHandle("", "", v) if i in touched else v for i, v in enumerate(values)]


def _if_on_host(
    ctx: KernelContext, cond: Any, input: Any, *, then_branch: Any, else_branch: Any
) -> Any:
    return _run_branch(ctx, (then_branch, else_branch), 0 if _truth(cond) else 1, input)


def _run_branch(ctx: KernelContext, branches: Sequence[CallBody], number: int, input: Any) -> Any:
    body, values = branches[number], with_handles(input, branches)
    if not draws(body):
        return run_body(ctx, body, values)
    with rounds.at(branch_site(ctx.op_name, number)):
        return run_body(ctx, body, values)


def _truth(value: Any) -> bool:
    """What a condition of any type says: a scalar is true unless zero, others unless empty."""
    value = np.asarray(value)
    return bool(value.item()) if value.ndim == 0 else value.size > 0


def _case_on_host(ctx: KernelContext, branch_index: Any, input: Any, *, branches: Any) -> Any:
    _check_scalar(branch_index)
    return _run_branch(ctx, branches, _chosen(branch_index, len(branches)), input)


def _check_scalar(branch_index: Any) -> None:
    """Refuses a branch's number that is no scalar: a graph may hold it."""
    shape = np.shape(branch_index)
    if shape:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"branch_index must be a scalar, but it has shape {d.bracketed(shape)}: expected the"
            " number of one branch. Take one element.",
        )


def _chosen(branch_index: Any, count: int) -> int:
    """The number of the branch: the last one, where there is none of that number."""
    index = int(branch_index)
    return index if 0 <= index < count else count - 1


def _while_on_host(ctx: KernelContext, input: Any, *, cond: Any, body: Any) -> Any:
    values = with_handles(input, (cond, body))
    if not (draws(cond) or draws(body)):
        return _rounds_on_host(ctx, values, cond, body, lambda number: None)
    first = 0 if ctx.step is None else rounds_before(ctx.step, ctx.op_name)
    with rounds.inside(rounds.path()) as here:
        return _rounds_on_host(ctx, values, cond, body, lambda number: here.enter(first + number))


def _rounds_on_host(
    ctx: KernelContext, values: list[Any], cond: Any, body: Any, enter: Callable[[int], None]
) -> Any:
    for number in itertools.count():
        enter(number)
        if not _truth(run_body(ctx, cond, values)[0]):
            break
        results = run_body(ctx, body, values)
        values = [
            old if t.dtype is dt.resource else new
            for old, new, t in zip(values, results, body.outputs, strict=True)
        ]
    return values


def _for_on_host(
    ctx: KernelContext, start: Any, limit: Any, delta: Any, input: Any, *, body: Any
) -> Any:
    first, last, step = int(start), int(limit), int(delta)
    if (last - first) * step <= 0 and first != last:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{ctx.op_name}: expected a delta that leads from {first} to {last}, got {step}. Give "
            "a positive one where start is below limit, else a negative one.",
        )
    touched = {i - 1 for i in body.effects}
    values = [ResourceHandle("", "", v) if i in touched else v for i, v in enumerate(input)]
    with rounds.inside(rounds.path()) as here:
        for number, index in enumerate(range(first, last, step) if step else ()):
            here.enter(number)
            results = run_body(ctx, body, [np.int32(index), *values])
            values = [
                old if t.dtype is dt.resource else new
                for old, new, t in zip(values, results, body.outputs, strict=True)
            ]
    return values


register_kernel("For", _for_on_host, kind="host", limit=ON_HOST, reentrant=True)

# ---- in a compiled region --------------------------------------------------------------------


def _switch(
    ctx: TraceContext, index: Any, branches: Sequence[CallBody], values: Sequence[Any]
) -> Any:
    refuse_empty(ctx, values)
    written = written_by(values, branches)
    device = ctx.device or "CPU"

    streams = Streams(ctx, branches)

    def branch(collected: Collected, position: int) -> Any:
        body = branches[position]
        mine = forked(values, written, [values[i].value for i in written])
        results = trace_body(body, device, mine, collected, streams.in_branch(position))
        outputs = [as_state(r, t) for r, t in zip(results, body.outputs, strict=True)]
        return outputs, [mine[i].value for i in written]

    def build() -> Any:
        lists = any(t.dtype is dt.variant for t in branches[0].outputs)
        staged = [
            Staged(partial(branch, position=p))
            if lists or traced_body(body, device).checks
            else None
            for p, body in enumerate(branches)
        ]
        forms = _forms_of_branches([s.shapes.results[0] for s in staged if s] if lists else [])

        def run(position: int) -> Any:
            mine = staged[position] or checked(partial(branch, position=position), [])
            (outputs, state), now, values, flags = mine()
            outputs = [o.in_form(forms[i]) if i in forms else o for i, o in enumerate(outputs)]
            oks: list[Any] = []
            held: list[Any] = []
            for i, other in enumerate(staged):
                if i == position:
                    oks, held = oks + now, held + values
                elif other is not None:
                    oks += [jnp.ones((), bool) for _ in other.shapes.oks]
                    held += zeros_like(other.shapes.held)
            drew = [jnp.asarray(flag) for flag in streams.drew(position, flags)]
            return outputs, state, oks, held, drew

        runs = [lambda p=p: run(p) for p in range(len(branches))]
        checks = [c for each in staged if each for c in each.checks]
        return checks, jax.lax.switch(index, runs)

    needs = partial(_needs, branches, device)
    checks, (outputs, state, oks, held, drew) = building(ctx, build, needs)
    for i, value in zip(written, state, strict=True):
        values[i].write(value)
    hand_on(ctx, checks, oks, held)
    ctx.collected.drew += drew
    return outputs


def _needs(branches: Sequence[CallBody], device: str, signal: NotStatic) -> set[int] | None:
    """The inputs that must be known for what a node of a branch lacks."""
    feeds = [traced_body(body, device).program.feeds for body in branches]
    return needs_of_caller(signal, feeds, 1)


def _forms_of_branches(outputs: Sequence[Sequence[Any]]) -> dict[int, Any]:
    """For each output that is a list the form that the lists of all branches can take."""
    forms: dict[int, Any] = {}
    for mine in outputs:
        for i, value in enumerate(mine):
            if isinstance(value, StackedList):
                forms[i] = joined(forms[i], value.form) if i in forms else value.form
    return forms


def _if_compiled(
    ctx: TraceContext, cond: Any, input: Any, *, then_branch: Any, else_branch: Any
) -> Any:
    if isinstance(cond, np.ndarray):
        return _run_one(ctx, (then_branch, else_branch), 0 if _truth(cond) else 1, input)
    if cond.ndim:
        return _run_one(ctx, (then_branch, else_branch), 0 if cond.size else 1, input)
    index = jnp.where(cond.astype(bool), 0, 1)
    return _switch(ctx, index, (then_branch, else_branch), input)


def _run_one(
    ctx: TraceContext, branches: Sequence[CallBody], position: int, values: Sequence[Any]
) -> Any:
    """The branch that is known to be taken, as part of the region around it."""
    refuse_empty(ctx, values)
    device, streams, body = ctx.device or "CPU", Streams(ctx, branches), branches[position]
    given, drawn = streams.in_branch(position), len(ctx.collected.drew)
    needs = partial(_needs, [body], device)

    def build() -> Any:
        return trace_body(body, device, values, ctx.collected, given)

    results = building(ctx, build, needs, runs=True)
    ctx.collected.drew[drawn:] = streams.drew(position, ctx.collected.drew[drawn:])
    return [
        np.zeros((), bool) if t.dtype is dt.resource else r
        for r, t in zip(results, body.outputs, strict=True)
    ]


def _case_compiled(ctx: TraceContext, branch_index: Any, input: Any, *, branches: Any) -> Any:
    _check_scalar(branch_index)
    count = len(branches)
    if isinstance(branch_index, np.ndarray):
        return _run_one(ctx, branches, _chosen(branch_index, count), input)
    inside = (branch_index >= 0) & (branch_index < count)
    return _switch(ctx, jnp.where(inside, branch_index, count - 1), branches, input)


for _prefix in ("", "Stateless"):
    for _name, _host, _compiled in (
        ("If", _if_on_host, _if_compiled),
        ("Case", _case_on_host, _case_compiled),
        ("While", _while_on_host, while_compiled),
    ):
        register_kernel(_prefix + _name, _host, kind="host", limit=ON_HOST, reentrant=True)
        register_kernel(_prefix + _name, _compiled, kind="compiled")
