"""Kernels of `If`, `Case` and `While`.

On the host they run the bodies' plans. In a compiled region a body's nodes are traced as XLA's own
conditional and loop; values that a loop hands through unchanged stay outside of its state, so what
is known about them stays known. Variables that a body may write are part of the state, and the
conditions that its operations check come out with it.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import rounds
from penstock.core.kernels import KernelContext, register_kernel
from penstock.core.lazy import jax, jnp
from penstock.core.resources import ResourceHandle
from penstock.core.tensor_list import StackedList, joined
from penstock.core.traced import Collected, NotStatic, TraceContext, TracedRef
from penstock.graph.body import CallBody
from penstock.graph.func_graph import bodies_of
from penstock.graph.trip_count import rounds as trip_count
from penstock.runtime.bodies import Streams, run_body, trace_body, traced_body
from penstock.runtime.draws import draws, rounds_before
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
    chosen = then_branch if _truth(cond) else else_branch
    return run_body(ctx, chosen, with_handles(input, (then_branch, else_branch)))


def _truth(value: Any) -> bool:
    """What a condition of any type says: a scalar is true unless zero, others unless empty."""
    value = np.asarray(value)
    return bool(value.item()) if value.ndim == 0 else value.size > 0


def _case_on_host(ctx: KernelContext, branch_index: Any, input: Any, *, branches: Any) -> Any:
    index = int(branch_index)
    chosen = branches[index if 0 <= index < len(branches) else -1]
    return run_body(ctx, chosen, with_handles(input, branches))


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


# ---- in a compiled region --------------------------------------------------------------------


def _refuse_empty(ctx: TraceContext, values: Sequence[Any]) -> None:
    if any(isinstance(v, TracedRef) and v.value is None for v in values):
        raise NotStatic(ctx.op_key, "a variable has no value")


def _array(value: Any, tensor: Any) -> Any:
    if tensor.dtype is dt.resource:
        return jnp.zeros((), bool)  # the plan takes the handle from the input
    if tensor.dtype is dt.variant:
        if not isinstance(value, StackedList):
            raise NotStatic(None, "a variant is no list")
        return value
    return jnp.asarray(value, tensor.dtype.numpy_dtype)


def _written(values: Sequence[Any], bodies: Sequence[CallBody]) -> list[int]:
    touched = {i for body in bodies for i, effect in body.effects.items() if "w" in effect}
    return sorted(i for i in touched if isinstance(values[i], TracedRef))


def _fork(values: Sequence[Any], written: Sequence[int], state: Sequence[Any]) -> list[Any]:
    """The arguments with variables of their own for what is written."""
    result = list(values)
    for i, value in zip(written, state, strict=True):
        result[i] = TracedRef(values[i].name, value)
    return result


def _control(ctx: TraceContext, build: Callable[[], Any]) -> Any:
    """Builds a conditional or loop; where XLA cannot have it, the host runs it."""
    try:
        return build()
    except NotStatic as signal:
        raise NotStatic(ctx.op_key, str(signal)) from signal
    except errors.OpError:
        raise
    except (TypeError, ValueError) as problem:  # branches or rounds of other shapes
        raise NotStatic(ctx.op_key, str(problem)) from problem


def _probe(function: Callable[..., Any], *arguments: Any) -> tuple[list[Any], Any, Any]:
    """The checks that a traced function makes, and shapes of their conditions and values."""
    seen: list[Any] = []

    def run(*given: Any) -> Any:
        collected = Collected()
        function(collected, *given)
        seen[:] = collected.checks
        return collected.conditions, collected.values

    conditions, values = jax.eval_shape(run, *arguments)
    return seen, conditions, values


def _switch(
    ctx: TraceContext, index: Any, branches: Sequence[CallBody], values: Sequence[Any]
) -> Any:
    _refuse_empty(ctx, values)
    written = _written(values, branches)
    device = ctx.device or "CPU"

    streams = Streams(ctx, branches)

    def branch(collected: Collected, body: CallBody) -> Any:
        mine = _fork(values, written, [values[i].value for i in written])
        results = trace_body(body, device, mine, collected, streams.in_branch(body))
        outputs = [_array(r, t) for r, t in zip(results, body.outputs, strict=True)]
        return outputs, [mine[i].value for i in written]

    def build() -> Any:
        probes = [
            _probe(lambda collected, b=body: branch(collected, b))
            if traced_body(body, device).checks
            else ([], [], [])
            for body in branches
        ]

        forms = _forms_of_branches(branches, lambda body: branch(Collected(), body)[0])

        def run(position: int) -> Any:
            collected = Collected()
            outputs, state = branch(collected, branches[position])
            outputs = [o.in_form(forms[i]) if i in forms else o for i, o in enumerate(outputs)]
            oks: list[Any] = []
            held: list[Any] = []
            for i, (_, conditions, shapes) in enumerate(probes):
                mine = i == position
                oks += collected.conditions if mine else [True] * len(conditions)
                held += collected.values if mine else _zeros(shapes)
            return outputs, state, [jnp.asarray(ok).reshape(()) for ok in oks], _arrays(held)

        runs = [lambda p=p: run(p) for p in range(len(branches))]
        return [c for checks, _, _ in probes for c in checks], jax.lax.switch(index, runs)

    checks, (outputs, state, oks, held) = _control(ctx, build)
    for i, value in zip(written, state, strict=True):
        values[i].write(value)
    _hand_on(ctx, checks, oks, held)
    return outputs


def _forms_of_branches(branches: Sequence[CallBody], run: Callable[..., Any]) -> dict[int, Any]:
    """For each output that is a list the form that the lists of all branches can take."""
    lists = [i for i, t in enumerate(branches[0].outputs) if t.dtype is dt.variant]
    forms: dict[int, Any] = {}
    if lists:
        for body in branches:
            outputs = jax.eval_shape(lambda b=body: run(b))
            for i in lists:
                form = outputs[i].form
                forms[i] = joined(forms[i], form) if i in forms else form
    return forms


def _zeros(shapes: Any) -> Any:
    return jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)


def _arrays(tree: Any) -> Any:
    return jax.tree.map(jnp.asarray, [tuple(item) for item in tree])


def _hand_on(ctx: TraceContext, checks: Sequence[Any], oks: Any, held: Any) -> None:
    ctx.collected.checks.extend(checks)
    ctx.collected.conditions.extend(oks)
    ctx.collected.values.extend(held)


def _if_compiled(
    ctx: TraceContext, cond: Any, input: Any, *, then_branch: Any, else_branch: Any
) -> Any:
    if isinstance(cond, np.ndarray):
        return _run_one(ctx, then_branch if _truth(cond) else else_branch, input)
    if cond.ndim:
        return _run_one(ctx, then_branch if cond.size else else_branch, input)
    index = jnp.where(cond.astype(bool), 0, 1)
    return _switch(ctx, index, (then_branch, else_branch), input)


def _run_one(ctx: TraceContext, body: CallBody, values: Sequence[Any]) -> Any:
    """The branch that is known to be taken, as part of the region around it."""
    _refuse_empty(ctx, values)
    device, streams = ctx.device or "CPU", Streams(ctx, bodies_of(ctx.attrs)).in_branch(body)
    results = _control(ctx, lambda: trace_body(body, device, values, ctx.collected, streams))
    return [
        np.zeros((), bool) if t.dtype is dt.resource else r
        for r, t in zip(results, body.outputs, strict=True)
    ]


def _case_compiled(ctx: TraceContext, branch_index: Any, input: Any, *, branches: Any) -> Any:
    count = len(branches)
    if isinstance(branch_index, np.ndarray):
        index = int(branch_index)
        return _run_one(ctx, branches[index if 0 <= index < count else -1], input)
    inside = (branch_index >= 0) & (branch_index < count)
    return _switch(ctx, jnp.where(inside, branch_index, count - 1), branches, input)


def handed_through(body: CallBody) -> list[bool]:
    """For each loop variable whether a round gives it back as it was."""
    return [_root(o) is i for o, i in zip(body.outputs, body.inputs, strict=True)]


def _root(tensor: Any) -> Any:
    while tensor.op.type == "Identity" and not tensor.op._control_inputs:
        tensor = tensor.op.inputs[0]
    return tensor


def _while_compiled(ctx: TraceContext, input: Any, *, cond: Any, body: Any) -> Any:
    _refuse_empty(ctx, input)
    loop = _Loop(ctx, input, cond, body)
    checks, (carried, state, oks, held) = _control(ctx, loop.build)
    for i, value in zip(loop.written, state, strict=True):
        input[i].write(value)
    _hand_on(ctx, checks, oks, held)
    results = [np.zeros((), bool) if isinstance(v, TracedRef) else v for v in input]
    for i, value in zip(loop.carried, carried, strict=True):
        results[i] = value
    return results


class _Loop:
    """A `While` that is being traced: what is carried from round to round, and the rest."""

    def __init__(self, ctx: TraceContext, values: Any, cond: CallBody, body: CallBody) -> None:
        self._device = ctx.device or "CPU"
        self._values = values
        self._cond = cond
        self._body = body
        self._forms: dict[int, Any] = {}  # of the lists among what is carried
        self._streams = Streams(ctx, (cond, body))
        self._attrs = getattr(ctx.op_key, "attrs", ctx.attrs)
        fixed = handed_through(body)
        self.carried = [
            i for i, v in enumerate(values) if not fixed[i] and not isinstance(v, TracedRef)
        ]
        self.written = _written(values, (cond, body))

    def _arguments(self, carried: Sequence[Any], state: Sequence[Any]) -> list[Any]:
        arguments = _fork(self._values, self.written, state)
        for i, value in zip(self.carried, carried, strict=True):
            arguments[i] = value
        return arguments

    def _round(
        self, collected: Collected, carried: Any, state: Any, number: Any
    ) -> tuple[Any, Any]:
        arguments = self._arguments(carried, state)
        streams = self._streams.in_round(self._body, number)
        results = trace_body(self._body, self._device, arguments, collected, streams)
        outputs = [_array(results[i], self._body.outputs[i]) for i in self.carried]
        for k, form in self._forms.items():
            outputs[k] = outputs[k].in_form(form)
        return outputs, [arguments[i].value for i in self.written]

    def _settle(self, carried: list[Any], state: list[Any]) -> list[Any]:
        """What is carried, with lists in the form that they have in every round.

        Raises:
          NotStatic: a list grows without a known bound, or changes form again and again.
        """
        lists = [k for k, v in enumerate(carried) if isinstance(v, StackedList)]
        for _ in range(5):
            if not lists:
                return carried
            after, _ = jax.eval_shape(
                lambda c, s, n: self._round(Collected(), c, s, n), carried, state, self._first()
            )
            forms = {k: self._form(carried[k].form, after[k].form) for k in lists}
            if all(forms[k] == carried[k].form == after[k].form for k in lists):
                self._forms = forms
                return carried
            carried = [v.in_form(forms[k]) if k in forms else v for k, v in enumerate(carried)]
        raise NotStatic(None, "the form of a list changes with each round")

    def _form(self, before: Any, after: Any) -> Any:
        """The form of a list that goes into a round as `before` and comes out as `after`."""
        form = joined(before, after)
        more = after[2] - before[2]
        if more <= 0:
            return form
        most = self._bound()
        if most is None:
            raise NotStatic(None, "a list grows in a loop without a known bound")
        return (*form[:2], before[2] + more * most, None, True)

    def _bound(self) -> int | None:
        """The most rounds that there can be."""
        given = self._attrs.get("_maximum_iterations")
        if given is not None:
            return max(int(given), 0)
        values = self._values
        return trip_count(
            self._cond,
            self._body,
            lambda i: values[i] if isinstance(values[i], np.ndarray) else None,
        )

    def _first(self) -> Any:
        """The number of the first round; None when no round has to know."""
        return jnp.zeros((), jnp.uint64) if self._streams.drawn else None

    def _goes_on(self, carried: Any, state: Any, number: Any, oks: Any) -> Any:
        collected = Collected()
        arguments = self._arguments(carried, state)
        streams = self._streams.in_round(self._cond, number)
        (result,) = trace_body(self._cond, self._device, arguments, collected, streams)
        if collected.checks:
            raise NotStatic(None, "the condition of a loop checks values")
        truth = jnp.asarray(result).astype(bool).reshape(())
        for ok in oks:
            truth = truth & ok
        return truth

    def build(self) -> Any:
        """The checks of a round, and (carried values, variables, conditions, their values)."""
        inputs = self._body.inputs
        carried = [_array(self._values[i], inputs[i]) for i in self.carried]
        state = [jnp.asarray(self._values[i].value) for i in self.written]
        carried = self._settle(carried, state)
        checks, oks, held = (
            _probe(self._round, carried, state, self._first())
            if traced_body(self._body, self._device).checks
            else ([], [], [])
        )
        start = (carried, state, self._first(), [jnp.ones((), bool) for _ in oks], _zeros(held))
        end = jax.lax.while_loop(lambda s: self._goes_on(*s[:4]), self._step, start)
        return checks, (*end[:2], *end[3:])

    def _step(self, loop_state: Any) -> Any:
        carried, state, number, _, held = loop_state
        collected = Collected()
        carried, state = self._round(collected, carried, state, number)
        number = None if number is None else number + jnp.uint64(1)
        now = [jnp.asarray(ok).reshape(()) for ok in collected.conditions]
        return carried, state, number, now, _arrays(collected.values) if now else held


for _prefix in ("", "Stateless"):
    for _name, _host, _compiled in (
        ("If", _if_on_host, _if_compiled),
        ("Case", _case_on_host, _case_compiled),
        ("While", _while_on_host, _while_compiled),
    ):
        register_kernel(_prefix + _name, _host, kind="host", limit=ON_HOST, reentrant=True)
        register_kernel(_prefix + _name, _compiled, kind="compiled")

__all__ = ["handed_through"]
