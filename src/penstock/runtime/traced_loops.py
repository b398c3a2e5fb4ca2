"""The kernel of `While` in a compiled region: XLA's own loop.

Values that a loop hands through unchanged stay outside of its state, so what is known about them
stays known. Variables that a body may write are part of the state, and the conditions that its
operations check come out with it. Where the number of rounds is known, what needs no round to wait
for another is taken out of them (`penstock.runtime.loop_form`).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.core.lazy import jax, jnp
from penstock.core.tensor_list import StackedList, joined
from penstock.core.traced import Collected, NotStatic, TraceContext, TracedRef
from penstock.graph.body import CallBody
from penstock.graph.static_values import value_source
from penstock.graph.trip_count import exact_rounds
from penstock.graph.trip_count import rounds as trip_count
from penstock.runtime.bodies import Streams, TracedBody, trace_body, trace_nodes, traced_body
from penstock.runtime.executable import trace_node_alone
from penstock.runtime.loop_calls import LoopCall, loop_call
from penstock.runtime.loop_form import loop_form
from penstock.runtime.loop_parts import (
    Before,
    LoopFacts,
    LoopForm,
    Operand,
    Part,
    Rows,
    Term,
)
from penstock.runtime.needed_values import needs_of_caller
from penstock.runtime.program import Program, Ref, sort
from penstock.runtime.simplify import prepared_op
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


def handed_through(body: CallBody) -> list[bool]:
    """For each loop variable whether a round gives it back as it was."""
    return [value_source(o) is i for o, i in zip(body.outputs, body.inputs, strict=True)]


def while_compiled(ctx: TraceContext, input: Any, *, cond: Any, body: Any) -> Any:
    """The compiled kernel of `While`."""
    refuse_empty(ctx, input)
    loop = _Loop(ctx, input, cond, body)
    checks, (carried, stacks, state, oks, held) = building(ctx, loop.build, loop.needs)
    for i, value in zip(loop.written, state, strict=True):
        input[i].write(value)
    hand_on(ctx, checks, oks, held)
    results = [np.zeros((), bool) if isinstance(v, TracedRef) else v for v in input]
    for i, value in [*zip(loop.carried, carried, strict=True), *loop.known_after(stacks)]:
        results[i] = loop.cut(i, value)
    return results


def _of_length(held: StackedList, length: int) -> StackedList:
    """A list cut, or with elements added that are not set."""
    room = max(length, held.capacity)
    return held.with_room(room, length, held.roomy)


def _flat(rows: Any) -> Any:
    """Matrices over one another, as one."""
    return rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])


class _Loop:
    """A `While` that is being traced: what is carried from round to round, and the rest."""

    def __init__(self, ctx: TraceContext, values: Any, cond: CallBody, body: CallBody) -> None:
        self._device = ctx.device or "CPU"
        self._values = list(values)
        self._cond = cond
        self._body = body
        self._forms: dict[int, Any] = {}  # of the lists among what is carried
        self._traced: Any = checked(self._round, [])  # a round, as the loop has it
        self._streams = Streams(ctx, (cond, body))  # in this order
        self._attrs = getattr(ctx.op_key, "attrs", ctx.attrs)
        fixed = self._fixed = handed_through(body)
        self.carried = [
            i for i, v in enumerate(values) if not fixed[i] and not isinstance(v, TracedRef)
        ]
        self.written = written_by(values, (cond, body))
        self._round_body = traced_body(body, self._device)
        self._call: LoopCall | None = None
        self._form: LoopForm | None = None
        self._feeds: list[Any] = []
        rounds = exact_rounds(cond, body, self._known, self._asked)
        counts = not (self.written or self._streams.drawn or self._checks(cond))  # and no more
        self._idle = rounds == 0 and counts
        if rounds and counts:
            self._take_apart(self._facts(rounds, fixed))

    def _checks(self, cond: CallBody) -> bool:
        """Whether the condition may fail, for what is not known before the loop."""
        if not traced_body(cond, self._device).checks:
            return False
        collected = Collected()
        arguments = [
            v if same or isinstance(v, TracedRef) else as_state(v, tensor)
            for v, same, tensor in zip(self._values, self._fixed, cond.inputs, strict=True)
        ]
        try:
            trace_body(cond, self._device, arguments, collected)
        except NotStatic:
            return True
        return bool(collected.checks)

    def _take_apart(self, facts: LoopFacts) -> None:
        """Takes out of the rounds what need not wait; a native call does the rest, or XLA."""
        form = self._form = loop_form(self._round_body.plain, facts, self._measure)
        for i, (length, _) in form.lengths.items():
            self._values[i] = _of_length(self._values[i], length)
        self._feeds = [*self._values, *(self._made(each) for each in form.before)]
        self._call = loop_call(form, self._feeds)
        self.carried = form.carried
        self._round_body = TracedBody(form.program, self._device)

    def _known(self, number: int) -> Any:
        value = self._values[number]
        return value if isinstance(value, np.ndarray) else None

    def _asked(self, tensor: Any) -> Any:
        """The value of a number of the condition that follows from the shapes of fixed inputs."""
        numbers = {id(t): i for i, t in enumerate(self._cond.inputs)}
        stack, seen = [tensor], set()
        while stack:
            each = stack.pop()
            if id(each) in seen:
                continue
            seen.add(id(each))
            number = numbers.get(id(each))
            if number is not None:
                if not self._fixed[number]:
                    return None
                continue
            op = each.op
            if op.op_def.stateful or op.op_def.calls or not each.dtype.is_integer:
                return None
            stack.extend(op.inputs)
        view = CallBody(self._cond.name, self._cond.graph, [tensor])
        try:
            (value,) = trace_body(view, self._device, self._values, Collected())
        except NotStatic:
            return None
        return value if isinstance(value, np.ndarray) else None

    def _facts(self, rounds: int, fixed: Sequence[bool]) -> LoopFacts:
        starts, dims, listed, lengths, vectors = {}, {}, set(), {}, {}
        for i, value in enumerate(self._values):
            if isinstance(value, StackedList):
                if isinstance(value.length, int):
                    lengths[i] = value.length
                if value.rows is not None and isinstance(value.length, int):
                    dims[i] = (value.length, *value.rows.shape[1:])
                    listed.add(i)
                    rows = value.rows[: value.length]
                    if isinstance(rows, np.ndarray) and rows.ndim == 1 and rows.dtype.kind == "i":
                        vectors[i] = rows.tolist()
            elif not isinstance(value, TracedRef):
                dims[i] = tuple(value.shape)
                if isinstance(value, np.ndarray) and value.dtype.kind == "i":
                    if not value.ndim:
                        starts[i] = int(value)
                    elif value.ndim == 1 and fixed[i]:
                        vectors[i] = value.tolist()
        still = frozenset(i for i, same in enumerate(fixed) if same)
        return LoopFacts(rounds, starts, still, dims, frozenset(listed), lengths, vectors)

    def _measure(self, program: Program, refs: Sequence[Ref]) -> list[tuple[int, ...]]:
        """The shapes of values of a round."""
        traced = TracedBody(sort(program.feeds, list(refs), []), self._device)
        before = program.feeds[len(self._values) :]

        def run() -> Any:
            made = [jnp.zeros(f.shapes[0], f.dtypes[0].numpy_dtype) for f in before]
            return trace_nodes(traced, [*self._values, *made], Collected())

        return [tuple(each.shape) for each in jax.eval_shape(run)]

    def _rows(self, what: Rows) -> Any:
        value = self._values[what.feed]
        return value.rows[: value.length] if what.listed else jnp.moveaxis(value, what.axis, 0)

    def _part(self, what: Part) -> Any:
        along = slice(what.begin, what.end)
        value = self._values[what.feed]
        return value[:, along] if what.across else value[along]

    def _made(self, what: Before) -> Any:
        """What is made before the loop."""
        if isinstance(what, Rows):
            return self._rows(what)
        if isinstance(what, Part):
            return self._part(what)
        rows = self._rows(what.rows)
        by = what.weight
        weight = self._part(by) if isinstance(by, Part) else self._values[by]
        product = self._run(what.node, _flat(rows), weight)
        return product.reshape(*rows.shape[:-1], product.shape[-1])

    def _run(self, node: Any, *arguments: Any) -> Any:
        return trace_node_alone(node, prepared_op(node, self._device), arguments, Collected())

    def known_after(self, stacks: Sequence[Any]) -> list[tuple[int, Any]]:
        """Numbers and values of the loop variables that were not carried."""
        form = self._form
        if form is None:
            return []
        found: list[tuple[int, Any]] = []
        for i, counter in form.counters.items():
            last = counter.first + counter.step * form.rounds
            found.append((i, np.asarray(last, self._values[i].dtype)))
        found += form.vectors.items()
        found += [(i, self._rows(what)) for i, what in form.copies.items()]
        for i in form.zeroed:
            held = self._values[i]
            found.append((i, held.having(rows=jnp.zeros_like(held.rows))))
        for i, rows in form.numbers.items():
            dtype = self._values[i].dtype
            found.append((i, StackedList(dtype, (), len(rows), rows, len(rows))))
        kept = {*form.carried, *form.zeroed}
        found += [(i, self._values[i]) for i in form.lengths if i not in kept]
        for i, terms in form.sums.items():
            total = self._values[i]
            for term in terms:
                total = total + self._total(term, stacks)
            found.append((i, total))
        return found

    def cut(self, number: int, value: Any) -> Any:
        """What a loop variable is after the loop: a list of its own length again."""
        lengths = {} if self._form is None else self._form.lengths
        return _of_length(value, lengths[number][1]) if number in lengths else value

    def _total(self, term: Term, stacks: Sequence[Any]) -> Any:
        """What all rounds add."""

        def flat(operand: Operand) -> Any:
            rows = (self._values if operand.held == "input" else stacks)[operand.number]
            return _flat(rows)

        rest = term.node.inputs[len(term.operands) :]
        constants = [source.attrs["value"].array for source, _ in rest]
        return self._run(term.node, *map(flat, term.operands), *constants)

    def _arguments(self, carried: Sequence[Any], state: Sequence[Any], number: Any) -> list[Any]:
        arguments = forked(self._values, self.written, state)
        for i, value in zip(self.carried, carried, strict=True):
            arguments[i] = value
        if self._form is not None:
            for i, counter in self._form.counters.items():
                dtype = self._values[i].dtype
                step, first = (np.asarray(n).astype(dtype) for n in (counter.step, counter.first))
                arguments[i] = number.astype(dtype) * step + first
        return arguments

    def _round(
        self, collected: Collected, carried: Any, state: Any, number: Any
    ) -> tuple[Any, Any, Any]:
        """The carried values after a round, the rows for the stacks, and the variables."""
        arguments = self._arguments(carried, state, number)
        streams = self._streams.in_round(1, number)
        results = trace_nodes(
            self._round_body, [*arguments, *self._feeds[len(arguments) :]], collected, streams
        )
        if self._form is None:  # a form gives these, and then the rows for the stacks
            results = [results[i] for i in self.carried]
        tensors = [self._body.outputs[i] for i in self.carried]
        outputs = [as_state(results[k], tensor) for k, tensor in enumerate(tensors)]
        rows = [jnp.asarray(row) for row in results[len(tensors) :]]
        return outputs, rows, [arguments[i].value for i in self.written]

    def _settle(self, carried: list[Any], state: list[Any]) -> list[Any]:
        """What is carried, with lists in the form that they have in every round.

        Raises:
          NotStatic: a list grows without a known bound, or changes form again and again.
        """
        lists = [k for k, v in enumerate(carried) if isinstance(v, StackedList)]
        for _ in range(5):
            if not lists:
                return carried
            staged = self._stage(carried, state)
            after, _, _ = staged.shapes.results
            forms = {k: self._form_of(carried[k].form, after[k].form) for k in lists}
            same = all(forms[k] == carried[k].form == after[k].form for k in lists)
            carried = [v.in_form(forms[k]) if k in forms else v for k, v in enumerate(carried)]
            if same:
                self._forms, self._traced = forms, staged
                return carried
        raise NotStatic(None, "the form of a list changes with each round")

    def _stage(self, carried: list[Any], state: list[Any]) -> Staged:
        return Staged(self._round, carried, state, self._first())

    def _form_of(self, before: Any, after: Any) -> Any:
        """The form of a list that goes into a round as `before` and comes out as `after`."""
        form = joined(before, after)
        more = after[2] - before[2]
        if more <= 0:
            return form
        most = self._bound()
        if most is None:
            raise NotStatic(None, "a list grows in a loop without a known bound")
        return (*form[:2], before[2] + more * most, None, True, form[5])

    def _bound(self) -> int | None:
        """The most rounds that there can be."""
        given = self._attrs.get("_maximum_iterations")
        if given is not None:
            return max(int(given), 0)
        return trip_count(self._cond, self._body, self._known)

    def _first(self) -> Any:
        """The number of the first round; None when no round has to know."""
        if self._form is not None:
            return jnp.zeros((), jnp.int32)
        return jnp.zeros((), jnp.uint64) if self._streams.drawn else None

    def _goes_on(self, carried: Any, state: Any, number: Any, oks: Any) -> Any:
        if self._form is not None:
            truth = number < self._form.rounds
        else:
            collected = Collected()
            arguments = self._arguments(carried, state, number)
            streams = self._streams.in_round(0, number)
            (result,) = trace_body(self._cond, self._device, arguments, collected, streams)
            if collected.checks:
                raise NotStatic(None, "the condition of a loop checks values")
            truth = jnp.asarray(result).astype(bool).reshape(())
        for ok in oks:
            truth = truth & ok
        return truth

    def build(self) -> Any:
        """The checks of a round, and (carried, stacks, variables, conditions, their values)."""
        if self._idle:
            state = [jnp.asarray(self._values[i].value) for i in self.written]
            return [], ([self._values[i] for i in self.carried], [], state, [], [])
        if self._call is not None:
            return [], (*self._call.run(self._feeds), [], [], [])
        inputs = self._body.inputs
        carried = [as_state(self._values[i], inputs[i]) for i in self.carried]
        state = [jnp.asarray(self._values[i].value) for i in self.written]
        carried = self._settle(carried, state)
        checks, oks, held, stacks = self._known_of_round(carried, state)
        start = (
            carried,
            stacks,
            state,
            self._first(),
            [jnp.ones((), bool) for _ in oks],
            zeros_like(held),
        )
        carried, stacks, state, _, oks, held = jax.lax.while_loop(
            lambda s: self._goes_on(s[0], s[2], s[3], s[4]), self._step, start
        )
        return checks, (carried, stacks, state, oks, held)

    def needs(self, signal: NotStatic) -> set[int] | None:
        """The inputs that must be known for what a node in a round lacks."""
        feeds = [
            traced_body(self._cond, self._device).program.feeds,
            self._round_body.program.feeds[: len(self._values)],
        ]
        found = needs_of_caller(signal, feeds, 0)
        if found is None or not all(self._fixed[i] for i in found):
            return None  # it changes from round to round
        return found

    def _known_of_round(
        self, carried: list[Any], state: list[Any]
    ) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
        """The checks of a round, shapes of their conditions and values, and empty stacks."""
        form = self._form
        if not self._round_body.checks and (form is None or not form.stacks):
            return [], [], [], []
        if not isinstance(self._traced, Staged):
            self._traced = self._stage(carried, state)
        (_, rows, _), oks, held, _ = self._traced.shapes
        stacks = [jnp.zeros((form.rounds, *r.shape), r.dtype) for r in rows] if form else []
        return self._traced.checks, oks, held, stacks

    def _step(self, loop_state: Any) -> Any:
        carried, stacks, state, number, _, held = loop_state
        (carried, rows, state), now, values, _ = self._traced(carried, state, number)
        for k, shape in self._forms.items():
            carried[k] = carried[k].in_form(shape)
        if self._form is not None:
            stacks = [
                jax.lax.dynamic_update_index_in_dim(
                    stack, row, number * place.step + place.first, 0
                )
                for stack, row, place in zip(stacks, rows, self._form.stacks, strict=True)
            ]
        number = None if number is None else number + number.dtype.type(1)
        return carried, stacks, state, number, now, values if now else held
