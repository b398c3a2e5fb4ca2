"""Regions: connected operations of one partition, compiled into one executable.

A region reads values and variables, runs its nodes in topological order while it is traced, and gives back outputs, new
values of the variables it wrote, and the conditions its operations checked. What is known on the host while it is traced
is computed there and then, so shapes computed in the graph stay static.

A region with unknown dimensions does not compile a size it has not seen: it runs that kernel by kernel, and
compiles sizes that come back.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.eager import PreparedOp, conform, run_host, run_prepared
from penstock.core.kernels import KernelContext, quiet
from penstock.core.lazy import jax, jnp, wide_types
from penstock.core.traced import Check, Collected, NotStatic, TraceContext, TracedRef, gate, raise_failed
from penstock.runtime.program import Node, Ref
from penstock.runtime.simplify import prepared_op
from penstock.runtime.step import Step
from penstock.types import dtypes as dt

LARGE_CONSTANT = 4096  # elements above which a constant is an argument of the executable instead of part of it
TINY_NODES = 6  # regions up to this size ...
TINY_ELEMENTS = 4096  # ... on values up to this size run on the host: a compiled call costs more
VARIANTS = 64  # executables kept per region
COMPILE_AT = 2  # a size that varies is compiled when it is met for this time


class Region:
    """A set of nodes that run as one. Thread-safe.

    Attributes:
      nodes: in topological order.
      inputs: values from outside; the executor gives them in this order.
      variables: resource values from outside, whose cells the nodes read or write.
      outputs: values of the nodes that others need.
    """

    def __init__(self, nodes: Sequence[Node], outputs: Sequence[Ref], device: str = "CPU") -> None:
        self.nodes = list(nodes)
        self.outputs = list(outputs)
        self.device = device
        inside = {id(n) for n in nodes}
        self.prepared = [prepared_op(n, device) for n in nodes]
        self.inputs: list[Ref] = []
        self.variables: list[Ref] = []
        self.reads: list[bool] = []  # per variable: whether its old value is needed
        self.writes: list[bool] = []
        self._collect_inputs(inside)
        self.dynamic = [i for i, (n, k) in enumerate(self.inputs) if n.shapes[k] is None or None in n.shapes[k]]  # type: ignore[operator]
        self.host_only = False
        self.has_host_path = all(p.host is not None and not _needs_step(n) for n, p in zip(self.nodes, self.prepared, strict=True))
        self._lock = threading.Lock()  # guards: _variants, _met
        self._variants: OrderedDict[Any, _Executable] = OrderedDict()
        self._met: dict[Any, int] = {}
        self._steps = [i for i, n in enumerate(self.nodes) if _needs_step(n)]
        self._host_run = _HostRun(self) if self.has_host_path else None
        self._tiny = self._always_tiny()
        self.compiled_count = 0

    def _collect_inputs(self, inside: set[int]) -> None:
        values: dict[tuple[int, int], None] = {}
        first_effect: dict[tuple[int, int], int] = {}
        for node, prepared in zip(self.nodes, self.prepared, strict=True):
            for position, (source, index) in enumerate(node.inputs):
                key = (id(source), index)
                if position in prepared.refs:
                    if key not in first_effect:
                        first_effect[key] = len(self.variables)
                        self.variables.append((source, index))
                        self.reads.append(_effect(node, prepared, position) != "w")
                        self.writes.append(False)
                    if position in prepared.writes:
                        self.writes[first_effect[key]] = True
                elif id(source) not in inside and key not in values:
                    values[key] = None
                    self.inputs.append((source, index))

    def _always_tiny(self) -> bool | None:
        """True: every size is small; False: some size is large; None: it depends on the feeds."""
        if len(self.nodes) > TINY_NODES or not self.has_host_path:
            return False
        known = [s for n in self.nodes for s in n.shapes] + [n.shapes[i] for n, i in self.inputs]
        total = 0
        for dims in known:
            if dims is None or None in dims:
                return None
            total += int(np.prod(dims))
        return total <= TINY_ELEMENTS

    # ---- running ------------------------------------------------------------------------------------------------

    def run(self, inputs: list[Any], handles: list[Any], step: Step) -> Sequence[Any]:
        """Computes the outputs; variables are updated in place where nobody else holds their buffers."""
        if self._tiny:
            return self._host_run.run(inputs, handles, step)  # type: ignore[union-attr]
        key: Any = None
        if self.dynamic:
            key = tuple([inputs[i].shape for i in self.dynamic])
            if self._prefers_host(key, inputs):
                return self._host_run.run(inputs, handles, step)  # type: ignore[union-attr]
        return self._run_compiled(key, inputs, handles, step)

    def _prefers_host(self, key: Any, inputs: list[Any]) -> bool:
        if self._host_run is None:
            return False
        if key in self._variants:
            return False
        with self._lock:
            count = self._met[key] = self._met.get(key, 0) + 1
            if len(self._met) > 64 * VARIANTS:
                self._met.clear()
        if self._tiny is None and len(self.nodes) <= TINY_NODES:
            small = sum(getattr(v, "size", 1) for v in inputs) <= TINY_ELEMENTS
            if small:
                return True
        return count < COMPILE_AT

    def _run_compiled(self, key: Any, inputs: list[Any], handles: list[Any], step: Step) -> Sequence[Any]:
        cells = [h.resource for h in handles]
        if not cells:
            return self._call(key, inputs, cells, False, step)
        locked = sorted(cells, key=id) if len(cells) > 1 else cells
        for cell in locked:
            cell.lock.acquire()
        try:
            donate = all([not w or c.donatable for c, w in zip(cells, self.writes, strict=True)])
            if len({id(c) for c in cells}) != len(cells):
                raise NotStatic(None, "two resource inputs are the same variable")
            return self._call(key, inputs, cells, donate, step)
        finally:
            for cell in locked:
                cell.lock.release()

    def _call(self, key: Any, inputs: list[Any], cells: list[Any], donate: bool, step: Step) -> Sequence[Any]:
        taken, kept = [], []
        for cell, reads, writes in zip(cells, self.reads, self.writes, strict=True):
            value = cell.read() if reads else None
            (taken if writes else kept).append(value)
        variant = self._variant((key, donate, self._shapes_of(cells)), donate, inputs)
        steps = [self.nodes[i].op.step_input(step, self.nodes[i]) for i in self._steps]  # type: ignore[union-attr, misc]
        with wide_types():
            outputs, written, conditions, held = variant.call(steps, inputs, kept, taken)
        for i, value in zip(variant.written, written, strict=True):
            cells[i].write(value, fresh=True)
        if variant.checks:
            raise_failed(variant.checks, conditions, held, lambda node: f"{node.where()}: ")
        return outputs  # type: ignore[no-any-return]

    def _shapes_of(self, cells: list[Any]) -> Any:
        """Shapes of variables whose static shape is not fully known; part of the executable's key."""
        return tuple([c.value.shape for c in cells if c.value is not None and (c.dims is None or None in c.dims)])

    def _variant(self, key: Any, donate: bool, inputs: list[Any]) -> "_Executable":
        found = self._variants.get(key)
        if found is not None:
            return found
        with self._lock:
            found = self._variants.get(key)
            if found is None:
                found = self._variants[key] = _Executable(self, donate)
                self.compiled_count += 1
                if len(self._variants) > VARIANTS:
                    self._variants.popitem(last=False)
        return found


def _needs_step(node: Node) -> bool:
    return node.op is not None and node.op.step_input is not None


def _effect(node: Node, prepared: PreparedOp, position: int) -> str:
    assert node.op is not None
    offset = 0
    counts = node.counts or (1,) * len(node.op.inputs)
    for arg, count in zip(node.op.inputs, counts, strict=True):
        if offset <= position < offset + count:
            return node.op.effects.get(arg.name, "rw")
        offset += count
    return "rw"


class _Executable:
    """A region's function, jitted; what it wrote and checked is known once it is traced."""

    def __init__(self, region: Region, donate: bool) -> None:
        self.region = region
        self.written: list[int] = []
        self.checks: list[Check] = []
        self.large = [
            (id(n), jnp.asarray(n.attrs["value"].array))
            for n in region.nodes
            if n.type == "Const" and n.attrs["value"].array.size > LARGE_CONSTANT and n.dtypes[0] is not dt.string
        ]
        constants = [value for _, value in self.large]
        self._function = jax.jit(self._trace, donate_argnums=(4,) if donate else ())
        function = self._function
        self.call = lambda steps, inputs, kept, taken: function(constants, steps, inputs, kept, taken)
        if not constants:
            empty: list[Any] = []
            self.call = lambda steps, inputs, kept, taken: function(empty, steps, inputs, kept, taken)

    def _trace(self, constants: list[Any], steps: list[Any], inputs: list[Any], kept: list[Any], taken: list[Any]) -> Any:
        region = self.region
        collected = Collected()
        values: dict[tuple[int, int], Any] = {(id(n), i): v for (n, i), v in zip(region.inputs, inputs, strict=True)}
        values.update({(key, 0): value for (key, _), value in zip(self.large, constants, strict=True)})
        given = (iter(kept), iter(taken))
        refs = {
            (id(n), i): TracedRef(n.name, next(given[1] if w else given[0]))
            for (n, i), w in zip(region.variables, region.writes, strict=True)
        }
        old = [r.value for r in refs.values()]
        step_values = dict(zip(region._steps, steps, strict=True))
        for position, (node, prepared) in enumerate(zip(region.nodes, region.prepared, strict=True)):
            if (id(node), 0) not in values:
                _trace_node(node, prepared, values, refs, collected, step_values.get(position))
        self.checks[:] = collected.checks
        self.written[:] = [i for i, r in enumerate(refs.values()) if r.written]
        outer = {id(v) for v in [*inputs, *kept, *taken]}
        written = []
        for i, ref in enumerate(refs.values()):
            if ref.written:
                written.append(_own(gate(collected, ref, old[i]), outer))
        outputs = [_own(values[id(n), i], outer, n.dtypes[i]) for n, i in region.outputs]
        return outputs, written, collected.conditions, collected.values


def _own(value: Any, outer: set[int], dtype: Any = None) -> Any:
    """A result with a buffer of its own: JAX would give an argument, or one result twice, as the same array."""
    if id(value) in outer:
        return jnp.copy(value)
    outer.add(id(value))
    return jnp.asarray(value) if not isinstance(value, jax.Array) else value


def _trace_node(node: Node, prepared: PreparedOp, values: dict[Any, Any], refs: dict[Any, Any], collected: Collected, step_value: Any) -> None:
    if node.type == "Const":
        values[id(node), 0] = node.attrs["value"].array
        return
    arguments = []
    known = not node.stateful and prepared.host is not None
    for position, (source, index) in enumerate(node.inputs):
        if position in prepared.refs:
            arguments.append(refs[id(source), index])
            continue
        value = values[id(source), index]
        known = known and isinstance(value, np.ndarray)
        arguments.append(value)
    if known and node.inputs:
        results = [np.asarray(r) for r in run_host(prepared, arguments)]
    else:
        results = _trace_compiled(node, prepared, arguments, collected, step_value)
    for i, result in enumerate(results):
        values[id(node), i] = result


def _trace_compiled(node: Node, prepared: PreparedOp, arguments: list[Any], collected: Collected, step_value: Any) -> list[Any]:
    function, wants_context = prepared.compiled  # type: ignore[misc]
    _require_static(node, prepared, arguments)
    head = (TraceContext(node.name, prepared.attrs, node, collected, step_value),) if wants_context else ()
    try:
        results = function(*head, *arguments)
    except (NotStatic, errors.OpError):
        raise
    except (TypeError, ValueError, IndexError) as problem:
        if "Tracer" in type(problem).__name__ or "Concretization" in type(problem).__name__:
            raise NotStatic(node, str(problem)) from problem
        raise errors.InvalidArgumentError(None, None, f"{node.where()}: {problem}") from problem
    if prepared.single:
        results = (results,)
    out = []
    for result, wanted in zip(results or (), prepared.out_numpy, strict=True):
        if isinstance(result, (np.ndarray, np.generic)):
            out.append(np.asarray(result, wanted))
        elif not hasattr(result, "dtype"):
            out.append(np.asarray(result, wanted))
        else:
            out.append(result if result.dtype == wanted else result.astype(wanted))
    return out


def _require_static(node: Node, prepared: PreparedOp, arguments: list[Any]) -> None:
    assert node.op is not None
    if not node.op.host_inputs:
        return
    position = 0
    counts = node.counts or (1,) * len(node.op.inputs)
    for arg, count in zip(node.op.inputs, counts, strict=True):
        for value in arguments[position : position + count]:
            if arg.name in node.op.host_inputs and not isinstance(value, np.ndarray):
                raise NotStatic(node, f"the value of input '{arg.name}' is needed to compile the operation")
        position += count


class _HostRun:
    """A region kernel by kernel: for sizes that are new, and for work smaller than a compiled call."""

    def __init__(self, region: Region) -> None:
        self.region = region
        slots: dict[tuple[int, int], int] = {}
        for source, index in [*region.inputs, *region.variables]:
            slots.setdefault((id(source), index), len(slots))
        self.constants: list[tuple[int, Any]] = []
        self.calls: list[tuple[PreparedOp, list[int], list[int], Node, Any]] = []
        for node, prepared in zip(region.nodes, region.prepared, strict=True):
            outputs = [slots.setdefault((id(node), i), len(slots)) for i in range(len(node.dtypes))]
            if node.type == "Const":
                self.constants.append((outputs[0], node.attrs["value"].array))
                continue
            inputs = [slots[id(s), i] for s, i in node.inputs]
            self.calls.append((prepared, inputs, outputs, node, _direct(prepared)))
        self.count = len(slots)
        self.outputs = [slots[id(n), i] for n, i in region.outputs]
        self.template: list[Any] = [None] * self.count
        for slot, value in self.constants:
            self.template[slot] = value

    def run(self, inputs: list[Any], handles: list[Any], step: Step) -> list[Any]:
        """The outputs, computed one operation after the other."""
        slots = self.template.copy()
        slots[: len(inputs)] = inputs
        if handles:
            slots[len(inputs) : len(inputs) + len(handles)] = handles
        for prepared, sources, targets, node, direct in self.calls:
            if direct is not None:
                try:
                    result = quiet.run(direct, *[slots[i] for i in sources])
                    if result.__class__ is np.ndarray and result.dtype is prepared.out_numpy[0]:
                        slots[targets[0]] = result
                        continue
                except (ValueError, TypeError, IndexError):
                    pass  # run again below, for the error's text
            arguments = [slots[i] for i in sources]
            results = run_node(node, prepared, arguments, step)
            for target, value in zip(targets, results, strict=True):
                slots[target] = value
        return [slots[i] for i in self.outputs]


def _direct(prepared: PreparedOp) -> Any:
    """The bare function of a kernel that needs no attention: a NumPy ufunc, which refuses bad shapes itself."""
    if prepared.single and not prepared.refs and isinstance(prepared.host, np.ufunc):
        return prepared.host
    return None


def run_node(node: Node, prepared: PreparedOp, arguments: list[Any], step: Step) -> Sequence[Any]:
    """Runs one node with the kernel that suits; errors name the node and the user's line."""
    context = KernelContext(node.name, prepared.attrs, step.resources, prepared.device, step)
    try:
        if prepared.host is None:
            return run_prepared(prepared, arguments)
        return run_host(prepared, arguments, context)
    except errors.OpError as problem:
        if "{{node" in problem.message:
            raise
        raise type(problem)(None, None, f"{node.where()}: {problem.message.partition(' [Op:')[0]}") from problem.__cause__


__all__ = ["Region", "conform", "run_node"]
