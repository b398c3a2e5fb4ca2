"""Running nodes one by one: single nodes, and a region kernel by kernel.

The host path serves sizes that are new and work smaller than a compiled call. Operations without
effects that follow each other are one generated Python function (`penstock.runtime.straight_code`),
so that a step of few small operations costs little more than the operations.
"""

from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import effects
from penstock.core.eager import resources_of, run_prepared
from penstock.core.host_runs import plain_kernel, run_host
from penstock.core.kernels import KernelContext
from penstock.core.locks import Locks, call, drain
from penstock.core.prepared import PreparedOp
from penstock.runtime.host_work import Budget
from penstock.runtime.program import Node, Ref
from penstock.runtime.step import Step
from penstock.runtime.straight_code import Call, Straight, is_plain_ufunc, parts_of
from penstock.types import dtypes as dt


def run_node(
    node: Node,
    prepared: PreparedOp,
    arguments: list[Any],
    step: Step,
    in_turn: bool = False,
    uncompiled: Budget | None = None,
) -> Sequence[Any]:
    """Runs one node with the kernel that suits.

    Args:
      node: the node.
      prepared: its kernels.
      arguments: its inputs.
      step: the step that it is part of.
      in_turn: its effects need no turn, or have it.
      uncompiled: nothing of its bodies is compiled either, as long as this is not used up.

    Raises:
      OpError: the node failed; the error names the node and the user's line.
    """
    if effects.switch.log is not None and node.stateful and not in_turn and step.who != "":
        return _run_in_turn(node, prepared, arguments, step)
    graph = None if node.origin is None else node.origin.graph
    context = KernelContext(node.name, prepared.attrs, step.resources, prepared.device, step, graph)
    context.uncompiled = uncompiled
    if node.op is not None and node.op.step_input is not None:
        context.step_value = step.take(node, node.op.step_input)  # type: ignore[attr-defined]
    try:
        if prepared.host is None:
            return run_prepared(prepared, arguments)
        if prepared.refs and not (
            prepared.host_kernel is not None and prepared.host_kernel.reentrant
        ):
            return _run_on_variables(prepared, arguments, context, step)
        return run_host(prepared, arguments, context)
    except errors.OpError as problem:
        raise located(problem, node) from problem.__cause__


def _run_in_turn(
    node: Node, prepared: PreparedOp, arguments: list[Any], step: Step
) -> Sequence[Any]:
    """Runs a node with effects while they are recorded or replayed."""

    def run() -> Sequence[Any]:
        return run_node(node, prepared, arguments, step, in_turn=True)

    if not arguments and node.dtypes and all(t is dt.resource for t in node.dtypes):
        with effects.making(node.name):
            return run()
    kernel = prepared.host_kernel
    if kernel is None or not kernel.reentrant:
        touched = resources_of(arguments)
        return effects.run(step, node.name, node.where(), touched, run)  # type: ignore[no-any-return]
    if kernel.blocks:
        return effects.run(step, node.name, node.where(), None, run)  # type: ignore[no-any-return]
    with effects.inside(step, node.name):
        return effects.run(step, node.name, node.where(), None, run)  # type: ignore[no-any-return]


def located(problem: errors.OpError, node: Node) -> errors.OpError:
    """The error with the node's name, operation and user line, unless it has them."""
    if "{{node" in problem.message:
        return problem
    message = f"{node.where()}: {problem.message.partition(' [Op:')[0]}"
    return type(problem)(None, node.origin, message, problem.experimental_payloads)


def _run_on_variables(
    prepared: PreparedOp, arguments: list[Any], context: KernelContext, step: Step
) -> Sequence[Any]:
    """A result that is a variable's own array is held by the step.

    So that nobody gives the array away meanwhile.
    """
    cells = [arguments[i].resource for i in prepared.refs]
    locks = Locks(c for c in cells if hasattr(c, "lock"))
    taken: list[Any] = []
    back = map(call, iter(taken))
    try:
        taken.extend(compress(locks.releases, map(call, locks.acquires)))
        results = run_host(prepared, arguments, context)
        for result in results:
            if result is None or result.__class__ is np.ndarray:
                continue
            for cell in cells:
                if getattr(cell, "value", None) is result:
                    step.hold(cell.lease())
        return results
    finally:
        drain(back)


class HostPath:
    """Nodes that run one after the other over their own slots."""

    def __init__(
        self,
        nodes: Sequence[Node],
        prepared: Sequence[PreparedOp],
        inputs: Sequence[Ref],
        variables: Sequence[Ref],
        outputs: Sequence[Ref],
    ) -> None:
        slots: dict[tuple[int, int], int] = {}
        for source, index in [*inputs, *variables]:
            slots.setdefault((id(source), index), len(slots))
        self._given = len(slots)
        known: dict[int, Any] = {}
        calls: list[Call] = []
        for node, ready in zip(nodes, prepared, strict=True):
            targets = [slots.setdefault((id(node), i), len(slots)) for i in range(len(node.dtypes))]
            if node.type == "Const":
                known[targets[0]] = node.attrs["value"].array
            else:
                sources = [slots[id(s), i] for s, i in node.inputs]
                calls.append(Call(node, ready, sources, targets, plain_kernel(ready)))
        self._outputs = [slots[id(n), i] for n, i in outputs]
        self._template: list[Any] = [None] * len(slots)
        for slot, value in known.items():
            self._template[slot] = value
        self._whole: Straight | None = None
        self._parts: Sequence[Straight | Call] = calls  # where the whole fails, one by one
        if not variables and calls and all(call.plain for call in calls):
            self._whole = Straight(calls, range(self._given), self._outputs, known)
        else:
            self._parts = parts_of(calls, self._outputs, known)

    def run(
        self,
        inputs: Sequence[Any],
        handles: Sequence[Any],
        step: Step,
        uncompiled: Budget | None = None,
    ) -> Sequence[Any]:
        """The outputs. `uncompiled`: nothing of bodies is compiled either, until it is used up."""
        if self._whole is not None:
            try:
                if uncompiled is None:
                    return self._whole.run(inputs)
                values, work = self._whole.run_counted(inputs)
                uncompiled.left -= work
                return values
            except Exception:
                pass  # once more below, for the error's text
        slots = self._template.copy()
        slots[: self._given] = [*inputs, *handles]
        for part in self._parts:
            if isinstance(part, Call):
                _run_call(part, slots, step, uncompiled)
            else:
                _run_straight(part, slots, step, uncompiled)
        return [slots[i] for i in self._outputs]


def _run_straight(part: Straight, slots: list[Any], step: Step, uncompiled: Budget | None) -> None:
    try:
        if uncompiled is None:
            values = part.run(part.take(slots))
        else:
            values, work = part.run_counted(part.take(slots))
            uncompiled.left -= work
    except Exception:  # once more, for the error's text
        for call in part.calls:
            _run_call(call, slots, step, uncompiled)
        return
    for target, value in zip(part.gives, values, strict=True):
        slots[target] = value


def _run_call(call: Call, slots: list[Any], step: Step, uncompiled: Budget | None) -> None:
    arguments = [slots[i] for i in call.sources]
    results = run_node(call.node, call.prepared, arguments, step, uncompiled=uncompiled)
    if uncompiled is not None:
        uncompiled.spend(call.node.type, arguments, results)
    for target, value in zip(call.targets, results, strict=True):
        slots[target] = value


def is_fresh(node: Node, prepared: PreparedOp, compiled: bool) -> bool:
    """Whether the arrays that a node gives are nobody else's: those of regions and of ufuncs."""
    if node.type == "Const" or prepared.refs:
        return False
    return compiled if prepared.host is None else is_plain_ufunc(prepared)
