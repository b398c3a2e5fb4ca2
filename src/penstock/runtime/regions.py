"""Regions: connected operations of one partition, compiled into one executable.

A region takes values and variables and gives outputs and new values of the variables it wrote. It
keeps one executable for each combination of sizes that vary. A size it has not seen runs kernel by
kernel on the host; sizes that come back are compiled. Loops and conditionals take XLA seconds: they
run on the host, too, until that has cost as much as it would to compile them. Where no size varies
the first run compiles, or is on the host if that is cheap and PENSTOCK_EXECUTOR is `lazy`
(`penstock.runtime.first_runs`). Small work always runs on the host.
"""

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import compress, starmap
from types import NoneType
from typing import Any

import numpy as np

from penstock import errors
from penstock.config import env
from penstock.core import determinism, effects
from penstock.core.lazy import jax, wide_types
from penstock.core.locks import call, drain
from penstock.core.prepared import PreparedOp
from penstock.core.tensor_list import form_of, stacked
from penstock.core.traced import NotStatic, raise_failed
from penstock.runtime.bindings import Binding, leased, on_device, put_back
from penstock.runtime.bodies import hosted
from penstock.runtime.executable import (
    Executable,
    LargeStepError,
    ResizesVariableError,
    VariesByShapeError,
)
from penstock.runtime.first_runs import at_once, compilation, pays
from penstock.runtime.host_choice import is_best_on_host
from penstock.runtime.host_path import HostPath, located, run_node
from penstock.runtime.host_work import Budget
from penstock.runtime.needed_values import (
    MOST_VALUES,
    KnownValues,
    WithValues,
    is_size,
    values_in,
)
from penstock.runtime.program import Node, Ref
from penstock.runtime.simplify import prepared_op
from penstock.runtime.step import Step
from penstock.runtime.step_inputs import Reserved, input_of, reserves, settle_all
from penstock.types import dtypes as dt
from penstock.types.dims import is_full, num_elements

TINY_NODES = 6  # regions up to this size ...
TINY_ELEMENTS = 4096  # ... on values up to this size run on the host: a compiled call costs more
VARIANTS = 64  # executables kept per region
COMPILE_AT = 2  # a size that varies is compiled when it is met for this time, ...
MORE_SIZES = 4  # ... twice as often for each group of so many others that were compiled
SIZES_MET = 4096  # sizes remembered per region
SIZES_COMPILED = 2  # by regions with operations that have no host kernel, before others wait
FORMS = 3  # forms of lists after which ever new ones are expected


class Region:
    """A set of nodes that run as one. Thread-safe.

    Attributes:
      nodes: in topological order.
      inputs: values from outside; the executor gives them in this order.
      variables: resource values from outside, whose cells the nodes read or write.
      reads: for each variable whether its old value is needed.
      writes: for each variable whether a node may write it.
      outputs: values of the nodes that others need.
      step_nodes: positions of nodes that take a value from the host once a step.
      compiled_count: executables made so far.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        outputs: Sequence[Ref],
        device: str = "CPU",
        must_compile: bool = False,
    ) -> None:
        self.nodes = list(nodes)
        self.outputs = list(outputs)
        self.device = device
        self.prepared = [prepared_op(n, device) for n in nodes]
        self.inputs: list[Ref] = []
        self.variables: list[Ref] = []
        self.reads: list[bool] = []
        self.writes: list[bool] = []
        self._readers: list[Node] = []  # per variable: the first node that touches it
        self._collect_inputs({id(n) for n in nodes})
        self._written = [i for i, w in enumerate(self.writes) if w]
        self._lists = [i for i, (n, k) in enumerate(self.inputs) if n.dtypes[k] is dt.variant]
        open_ = [i for i, (n, k) in enumerate(self.inputs) if not is_full(n.shapes[k])]
        self._dynamic = [i for i in open_ if i not in self._lists]  # a list tells its own form
        given = [input_of(n, device) for n in self.nodes]
        self.step_nodes = [i for i, g in enumerate(given) if g is not None]
        self._step_inputs = [(g, n) for g, n in zip(given, self.nodes, strict=True) if g]
        self._reserving = [i for i, (_, n) in enumerate(self._step_inputs) if reserves(n)]
        self._on_host = not must_compile and all(p.host is not None for p in self.prepared)
        self._singly = not must_compile and all(map(_runs_singly, self.nodes, self.prepared))
        self._calls = [n for n in nodes if n.op is not None and n.op.calls]
        self._small: dict[Any, bool] = {}
        self._always_small = self._static_smallness()
        self._untried = self._on_host and not self._dynamic and device == "CPU"
        self._lock = threading.Lock()  # guards: _variants, _met, _worked, _untried
        self._variants: OrderedDict[Any, Executable] = OrderedDict()
        self._met: dict[Any, int] = {}
        self._worked: dict[Any, int] = {}  # by sizes: the work that loops did on the host
        self._bound: Binding | None = None
        self._known = KnownValues(self.inputs, None if must_compile else MOST_VALUES)
        self._never: NotStatic | None = None  # found while effects are recorded or replayed
        self.compiled_count = 0

    def _collect_inputs(self, inside: set[int]) -> None:
        values: set[tuple[int, int]] = set()
        positions: dict[tuple[int, int], int] = {}
        for node, prepared in zip(self.nodes, self.prepared, strict=True):
            for position, (source, index) in enumerate(node.inputs):
                key = (id(source), index)
                if position not in prepared.refs:
                    if id(source) not in inside and key not in values:
                        values.add(key)
                        self.inputs.append((source, index))
                    continue
                if key not in positions:
                    positions[key] = len(self.variables)
                    self.variables.append((source, index))
                    self.reads.append(_effect(node, position) in ("r", "rw"))
                    self.writes.append(False)
                    self._readers.append(node)
                if position in prepared.writes:
                    self.writes[positions[key]] = True

    def _static_smallness(self) -> bool | None:
        """Whether the region always runs on the host.

        It does when its sizes are small, or when it computes sizes alone, or when it only gives
        variables their first values, or when it has nothing but what the host does best: an
        executable would copy what such operations only hand on, and call what they call.

        None when that depends on the sizes that come.
        """
        if self._on_host and self.variables and not self.inputs and True not in self.reads:
            return True  # an initializer runs once: compiling it costs more than running it
        if self._on_host and all(map(is_size, self.nodes)):
            return True
        best = map(is_best_on_host, self.nodes, self.prepared)
        if self._on_host and not self.variables and all(best):
            return True
        if len(self.nodes) > TINY_NODES or self._calls or not self._on_host:
            return False
        known = [s for n in self.nodes for s in n.shapes] + [n.shapes[i] for n, i in self.inputs]
        sizes = [num_elements(dims) for dims in known]
        return None if None in sizes else sum(filter(None, sizes)) <= TINY_ELEMENTS

    # ---- running --------------------------------------------------------------------------------

    def run(self, inputs: Sequence[Any], handles: Sequence[Any], step: Step) -> Sequence[Any]:
        """Computes the outputs; updates variables in place where nobody else holds their buffers.

        Raises:
          NotStatic: a node needs a value while it is traced; nothing has run.
          OpError: a variable has no value, or a check of a node failed; no variable has changed.
        """
        if self._always_small:
            return self._path.run(inputs, handles, step)
        if self._untried and self._tries_host(handles):
            run = partial(self._path.run, inputs, handles, step, Budget())
            cells = [h.resource for h in handles]
            return at_once(cells, self.writes, run)  # type: ignore[no-any-return]
        key: Any = None
        if self._dynamic or self._lists or self._known.chosen:
            key = self._key(inputs)
            if key in self._small or self._prefers_host(key, inputs):
                return self._run_on_host(key, inputs, handles, step)
        return self._run_compiled(key, inputs, handles, step)

    def _key(self, inputs: Sequence[Any]) -> Any:
        """What an executable depends on: sizes, forms of lists, and values that it must know.

        Raises:
          NotStatic: it took too many different values.
        """
        key: Any = None
        if self._dynamic:
            key = tuple([inputs[i].shape for i in self._dynamic])
        if self._lists:
            key = (key, *[form_of(inputs[i]) for i in self._lists])
        return (key, self._known.of(inputs)) if self._known.chosen else key

    def run_singly(
        self, inputs: Sequence[Any], handles: Sequence[Any], step: Step
    ) -> Sequence[Any]:
        """Computes the outputs node by node."""
        return self._path.run(inputs, handles, step)

    def _prefers_host(self, key: Any, inputs: Sequence[Any]) -> bool:
        """Whether sizes `key` run on the host: small ones always, others until they come back.

        Operations that have no host kernel, convolutions say, are compiled one by one there, which
        pays once several sizes have come.

        Lists whose lengths differ again and again are those of a loop on the host: its rounds are
        not compiled for each length.
        """
        if key in self._variants or not self._bodies_on_host:
            return False
        if not self._on_host and not (
            self._singly and self._dynamic and len(self._variants) >= SIZES_COMPILED
        ):
            return False
        if (
            self._always_small is None
            and sum(getattr(v, "size", 1) for v in inputs) <= TINY_ELEMENTS
        ):
            if len(self._small) > SIZES_MET:
                self._small.clear()
            self._small[key] = True
            return True
        if determinism.switch.fixed:
            return False
        with self._lock:
            if len(self._met) > SIZES_MET:
                self._met.clear()
            count = self._met[key] = self._met.get(key, 0) + 1
        enough = COMPILE_AT << (len(self._variants) // MORE_SIZES)
        new = count < enough or self._worked.get(key, math.inf) < self._compilation
        if self._lists and len(self._met) > FORMS:
            return new or not self._calls
        return bool(self._dynamic) and new

    def _run_on_host(
        self, key: Any, inputs: Sequence[Any], handles: Sequence[Any], step: Step
    ) -> Sequence[Any]:
        """Runs kernel by kernel, and notes what that cost where there are loops or conditionals."""
        if not self._calls:
            return self._path.run(inputs, handles, step)
        budget = Budget()
        results = self._path.run(inputs, handles, step, budget)
        with self._lock:
            if len(self._worked) > SIZES_MET:
                self._worked.clear()
            self._worked[key] = self._worked.get(key, 0) + budget.spent
        return results

    @cached_property
    def _path(self) -> HostPath:
        """For runs on the host: a region of 3,000 operations that has none saves 0.1 s."""
        return HostPath(self.nodes, self.prepared, self.inputs, self.variables, self.outputs)

    @cached_property
    def _compilation(self) -> int:
        """The work on the host that costs as much as to compile the region."""
        return compilation(self.nodes, self.device)

    @cached_property
    def _bodies_on_host(self) -> bool:
        """Whether what its loops and conditionals hold has host kernels, too."""
        return all(hosted(n, self.device) for n in self._calls)

    def _tries_host(self, handles: Sequence[Any]) -> bool:
        """Whether this is the first run and belongs on the host."""
        with self._lock:
            first, self._untried = self._untried, False
        lazy = env.get("PENSTOCK_EXECUTOR") == "lazy"
        if not first or not lazy or determinism.switch.fixed:
            return False
        written = [handles[i].resource for i in self._written]
        return pays(self.nodes, written, self.device)

    def _run_compiled(
        self, key: Any, inputs: Sequence[Any], handles: Sequence[Any], step: Step
    ) -> Sequence[Any]:
        try:
            if not handles:
                return self._call(key, inputs, [], [], None, step)
            if self._written:
                return self._run_writing(key, inputs, handles, step)
            return self._run_reading(key, inputs, handles, step)
        except VariesByShapeError:
            with self._lock:
                self._dynamic = [i for i in range(len(self.inputs)) if i not in self._lists]
                self._variants.clear()
            return self.run(inputs, handles, step)
        except NotStatic as signal:
            if effects.switch.log is not None:
                self._never = signal
            elif self._learn(key, signal, inputs):
                return self.run(inputs, handles, step)
            raise

    def _learn(self, key: Any, signal: NotStatic, inputs: Sequence[Any]) -> bool:
        """Makes the values that a trace lacked part of the key; False where they cannot be."""
        needed = self.needed_for(signal, inputs)
        if not self._known.learn(needed, signal):
            return bool(needed) and key != self._key(inputs)  # another thread was first
        new = self._key(inputs)
        with self._lock:
            self._variants.clear()
            if self._dynamic:
                self._met[new] = COMPILE_AT  # their sizes came back already
        return True

    def needed_for(self, signal: NotStatic, inputs: Sequence[Any]) -> set[int]:
        """The inputs whose values are to be constants for what a trace lacked."""
        return self._known.fitting(signal, inputs, calls=bool(self._calls))

    def _bind(self, handles: Sequence[Any]) -> Binding:
        """The variables' cells and what follows from them, kept while the handles stay the same."""
        bound = self._bound
        if bound is None or bound.handles != handles:
            bound = self._bound = Binding(handles, self.writes)
        return bound

    def _run_reading(
        self, key: Any, inputs: Sequence[Any], handles: Sequence[Any], step: Step
    ) -> Sequence[Any]:
        """Variables that are read alone are leased while the region runs, not locked.

        Readers run side by side. While no variable changes they share one look at them all.
        """
        bound = self._bind(handles)
        if effects.switch.log is None:
            values, leases = bound.snapshot.held or leased(bound)
        else:
            values, leases = self._in_turn(bound, step, lambda: leased(bound))
        results = self._call(key, inputs, values, [], bound, step)
        del leases
        return results

    def _run_writing(
        self, key: Any, inputs: Sequence[Any], handles: Sequence[Any], step: Step
    ) -> Sequence[Any]:
        """The locks are held from taking the variables' arrays until the new ones are back.

        See `penstock.core.locks` for how they are held.
        """
        bound = self._bind(handles)
        if effects.switch.log is None:
            return self._write(key, inputs, bound, step)
        return self._in_turn(bound, step, lambda: self._write(key, inputs, bound, step))  # type: ignore[no-any-return]

    def _in_turn(self, bound: Binding, step: Step, run: Callable[[], Any]) -> Any:
        """Runs what touches the variables while effects are recorded or replayed."""
        last = self.nodes[-1]
        return effects.run(step, last.name, last.where(), bound.cells, run)

    def _write(self, key: Any, inputs: Sequence[Any], bound: Binding, step: Step) -> Sequence[Any]:
        locks = bound.locks
        held: list[Any] = []
        back = map(call, iter(held))
        try:
            held.extend(compress(locks.releases, map(call, locks.acquires)))
            kept = on_device(bound.kept)
            taken = [c.value if c.free else c.take() for c in bound.written]
            return self._call(key, inputs, kept, taken, bound, step)
        finally:
            drain(back)

    def _call(
        self,
        key: Any,
        inputs: Sequence[Any],
        kept: list[Any],
        taken: list[Any],
        bound: Binding | None,
        step: Step,
    ) -> Sequence[Any]:
        """Runs the executable on the values of the variables and puts the new ones back."""
        if bound is not None:
            if NoneType in map(type, taken) or NoneType in map(type, kept):
                self._check_initialized(bound)
                key = (key, tuple([v is None for v in taken]))
            if bound.loose:
                key = (key, *[None if c.value is None else c.value.shape for c in bound.loose])
        variant = self._variants.get(key) or self._new_variant(key)
        steps, reserved = self.step_values(step)
        try:
            if self._never is not None:
                raise self._never.with_traceback(None)
            given = (variant, steps, reserved, inputs, kept, taken, bound)
            limit = variant.lapack
            run = self._execute if limit is None else partial(limit.run, self._execute)
            while True:  # each of these comes once; nothing has run yet
                try:
                    return run(*given)
                except ResizesVariableError:
                    variant.keep_buffers()
                except LargeStepError:
                    pass  # it is weighed now
                except jax.errors.JaxRuntimeError as problem:
                    if not variant.compile_plainly(problem):
                        raise
        except (NotStatic, VariesByShapeError):
            self._hand_on(steps, reserved, step)
            raise

    def _execute(
        self,
        variant: Executable,
        steps: list[Any],
        reserved: Sequence[Reserved],
        inputs: Sequence[Any],
        kept: list[Any],
        taken: list[Any],
        bound: Binding | None,
    ) -> Sequence[Any]:
        given = self._stacked(inputs) if self._lists else list(inputs)
        arguments = (variant.constants, steps, given, kept, taken)
        results: list[Any] = []
        with wide_types():
            if variant.to_weigh:
                variant.weigh(arguments)
            if not taken:
                results = [variant.function(*arguments)]
            else:
                assert bound is not None
                try:
                    results.extend(starmap(variant.function, (arguments,)))
                    put_back(bound.written, results[0][1])
                except BaseException:  # Ctrl-C after the call: the old arrays are gone
                    if results:
                        put_back(bound.written, results[0][1])
                    raise
        outputs, _, conditions, held, drew = results[0]
        if reserved:
            settle_all(reserved, np.asarray(drew).tolist())
        if conditions:
            raise_failed(variant.checks, conditions, held, lambda node: f"{node.where()}: ")
        return outputs  # type: ignore[no-any-return]

    def step_values(self, step: Step) -> tuple[list[Any], Sequence[Reserved]]:
        """What nodes take from the host in this step, in the order of `step_nodes`.

        And what is to be settled of it when the region has run.
        """
        values = [step.take(node, step_input) for step_input, node in self._step_inputs]
        if not self._reserving:
            return values, ()
        reserved = [values[i] for i in self._reserving]
        for i in self._reserving:
            values[i] = values[i].starts
        return values, reserved

    def _hand_on(self, steps: list[Any], reserved: Sequence[Reserved], step: Step) -> None:
        """Leaves what random operations drew to those that run in the region's place."""
        for each in reserved:
            each.settle([False] * len(each.starts))
        for (_, node), value in zip(self._step_inputs, steps, strict=True):
            if node.op is not None and node.op.step_input is not None:
                step.keep(node, value)

    def _stacked(self, inputs: Sequence[Any]) -> list[Any]:
        """The inputs, lists among them as rows of an array.

        Raises:
          NotStatic: a list has elements of several shapes, or a variant is something else.
        """
        result = list(inputs)
        for i in self._lists:
            result[i] = stacked(result[i])
            if result[i] is None:
                user = next(n for n in self.nodes if self.inputs[i] in n.inputs)
                raise NotStatic(user, "a list cannot be one array")
        return result

    def _check_initialized(self, bound: Binding) -> None:
        """Raises for the first variable that is read and has no value; nothing has run yet."""
        for cell, reads, node in zip(bound.cells, self.reads, self._readers, strict=True):
            if reads and cell.value is None:
                try:
                    cell.read()
                except errors.OpError as problem:
                    raise located(problem, node) from None

    def _executable(self, key: Any) -> Executable:
        values = values_in(key)
        if values is None:
            return Executable(self, runs_here=True)
        return WithValues(self, values, runs_here=True)

    def _new_variant(self, key: Any) -> Executable:
        with self._lock:
            found = self._variants.get(key)
            if found is None:
                found = self._variants[key] = self._executable(key)
                self.compiled_count += 1
                if len(self._variants) > VARIANTS:
                    self._variants.popitem(last=False)
            return found


def _runs_singly(node: Node, prepared: PreparedOp) -> bool:
    """Whether a node can run by itself: on the host, or compiled where that takes arrays alone."""
    if prepared.host is not None or node.op is None:
        return True
    return not (prepared.refs or node.op.calls or node.op.stateful or node.op.step_input)


def _effect(node: Node, position: int) -> str:
    """What the node does to the resource at a flat input, see `OpDef.effects_at`."""
    assert node.op is not None
    counts = node.counts or (1,) * len(node.op.inputs)
    return node.op.effects_at(counts, node.attrs).get(position, "rw")


__all__ = ["NotStatic", "PreparedOp", "Region", "run_node"]
