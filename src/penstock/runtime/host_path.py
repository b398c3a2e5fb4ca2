"""Running nodes one by one: single nodes, and a region kernel by kernel.

The host path serves sizes that are new and work smaller than a compiled call. A region of plain
ufuncs becomes one generated Python function, so that a step of few small operations costs little
more than the operations.
"""

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import effects, shapes
from penstock.core.eager import resources_of, run_prepared
from penstock.core.host_runs import plain_kernel, run_host, run_plain
from penstock.core.kernels import KernelContext, quiet
from penstock.core.locks import Locks, call, drain
from penstock.core.prepared import PreparedOp
from penstock.runtime.host_work import Budget
from penstock.runtime.program import Node, Ref
from penstock.runtime.step import Step
from penstock.types import dtypes as dt
from penstock.types.dims import Dims


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
    return type(problem)(None, node.origin, message, problem.experimental_payloads)  # type: ignore[arg-type]


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


# The plain kernel of a call, the shapes it has been allowed, and which inputs are constants.
_Plain = tuple[Callable[..., Any], set[tuple[Dims, ...]], frozenset[int]]


def _plain(prepared: PreparedOp, sources: Sequence[int], fixed: set[int]) -> _Plain | None:
    kernel = plain_kernel(prepared)
    if kernel is None:
        return None
    return kernel, set(), frozenset(i for i, slot in enumerate(sources) if slot in fixed)


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
        constants: list[tuple[int, Any]] = []
        self._calls: list[tuple[Node, PreparedOp, list[int], list[int], _Plain | None]] = []
        fixed: set[int] = set()
        for node, ready in zip(nodes, prepared, strict=True):
            targets = [slots.setdefault((id(node), i), len(slots)) for i in range(len(node.dtypes))]
            if node.type == "Const":
                constants.append((targets[0], node.attrs["value"].array))
                fixed.add(targets[0])
            else:
                sources = [slots[id(s), i] for s, i in node.inputs]
                self._calls.append((node, ready, sources, targets, _plain(ready, sources, fixed)))
        self._outputs = [slots[id(n), i] for n, i in outputs]
        self._template: list[Any] = [None] * len(slots)
        for slot, value in constants:
            self._template[slot] = value
        self._fast = None if variables else self._generate(len(inputs), dict(constants))

    def run(
        self,
        inputs: Sequence[Any],
        handles: Sequence[Any],
        step: Step,
        uncompiled: Budget | None = None,
    ) -> Sequence[Any]:
        """The outputs. `uncompiled`: nothing of bodies is compiled either, until it is used up."""
        if self._fast is not None:
            try:
                return quiet.run(self._fast, *inputs)
            except (ValueError, TypeError, IndexError):
                pass  # once more below, for the error's text
        slots = self._template.copy()
        slots[: self._given] = [*inputs, *handles]
        for node, prepared, sources, targets, plain in self._calls:
            arguments = [slots[i] for i in sources]
            try:
                results = None if plain is None else run_plain(prepared, arguments, *plain)
            except Exception:
                results = None  # once more below, for the error's text
            if results is None:
                results = run_node(node, prepared, arguments, step, uncompiled=uncompiled)
            if uncompiled is not None:
                uncompiled.spend(node.type, arguments, results)
            for target, value in zip(targets, results, strict=True):
                slots[target] = value
        return [slots[i] for i in self._outputs]

    def _generate(self, count: int, constants: dict[int, Any]) -> Callable[..., Any] | None:
        """A function of the inputs that calls the ufuncs in order.

        None when some node is no plain ufunc.
        """
        if not self._calls or not all(is_plain_ufunc(prepared) for _, prepared, *_ in self._calls):
            return None
        names: dict[str, Any] = {"ndarray": np.ndarray, "asarray": np.asarray}
        names.update({f"v{slot}": value for slot, value in constants.items()})
        lines = [f"def host_path({', '.join(f'v{i}' for i in range(count))}):"]
        for k, (_, prepared, sources, targets, _) in enumerate(self._calls):
            names[f"f{k}"], names[f"t{k}"] = prepared.host, prepared.out_numpy[0]
            result = f"v{targets[0]}"
            lines.append(f"    {result} = f{k}({', '.join(f'v{i}' for i in sources)})")
            lines.append(f"    if {result}.__class__ is not ndarray or {result}.dtype is not t{k}:")
            lines.append(f"        {result} = asarray({result}, t{k})")
        lines.append(f"    return [{', '.join(f'v{i}' for i in self._outputs)}]")
        exec("\n".join(lines), names)
        return names["host_path"]  # type: ignore[no-any-return]


def is_plain_ufunc(prepared: PreparedOp) -> bool:
    """Whether the host kernel is a NumPy ufunc whose own shape check is the operation's."""
    if not prepared.single or prepared.refs or not isinstance(prepared.host, np.ufunc):
        return False
    rule = prepared.op.shape_rule
    return rule is shapes.broadcast or (rule is shapes.same and len(prepared.in_dtypes) == 1)


def is_fresh(node: Node, prepared: PreparedOp, compiled: bool) -> bool:
    """Whether the arrays that a node gives are nobody else's: those of regions and of ufuncs."""
    if node.type == "Const" or prepared.refs:
        return False
    return compiled if prepared.host is None else is_plain_ufunc(prepared)
