"""Regions: connected operations of one partition, compiled into one executable.

A region takes values and variables and gives outputs and new values of the variables it wrote. It keeps one executable for
each combination of sizes that vary. A size it has not seen runs kernel by kernel on the host; sizes that come back are
compiled. Small work always runs on the host.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.eager import PreparedOp
from penstock.core.lazy import jnp, wide_types
from penstock.core.traced import NotStatic, raise_failed
from penstock.runtime.executable import Executable, VariesByShapeError
from penstock.runtime.host_path import HostPath, located, run_node
from penstock.runtime.program import Node, Ref
from penstock.runtime.simplify import prepared_op
from penstock.runtime.step import Step

TINY_NODES = 6  # regions up to this size ...
TINY_ELEMENTS = 4096  # ... on values up to this size run on the host: a compiled call costs more
VARIANTS = 64  # executables kept per region
COMPILE_AT = 2  # a size that varies is compiled when it is met for this time
SIZES_MET = 4096  # sizes remembered per region


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

    def __init__(self, nodes: Sequence[Node], outputs: Sequence[Ref], device: str = "CPU") -> None:
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
        self._dynamic = [
            i for i, (n, k) in enumerate(self.inputs) if n.shapes[k] is None or None in n.shapes[k]
        ]  # type: ignore[operator]
        self.step_nodes = [
            i for i, n in enumerate(self.nodes) if n.op is not None and n.op.step_input is not None
        ]
        self._path = HostPath(self.nodes, self.prepared, self.inputs, self.variables, self.outputs)
        self._on_host = all(p.host is not None for p in self.prepared)
        self._small: dict[Any, bool] = {}
        self._always_small = self._static_smallness()
        self._lock = threading.Lock()  # guards: _variants, _met
        self._variants: OrderedDict[Any, Executable] = OrderedDict()
        self._met: dict[Any, int] = {}
        self._bound: tuple[Any, Any, Any] = (None, (), ())
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
                    self.reads.append(_effect(node, position) != "w")
                    self.writes.append(False)
                    self._readers.append(node)
                if position in prepared.writes:
                    self.writes[positions[key]] = True

    def _static_smallness(self) -> bool | None:
        """Whether all sizes are small; None when that depends on the values."""
        if len(self.nodes) > TINY_NODES or not self._on_host:
            return False
        known = [s for n in self.nodes for s in n.shapes] + [n.shapes[i] for n, i in self.inputs]
        if any(dims is None or None in dims for dims in known):
            return None
        return sum(int(np.prod(dims)) for dims in known) <= TINY_ELEMENTS  # type: ignore[arg-type]

    # ---- running ------------------------------------------------------------------------------------------------

    def run(self, inputs: list[Any], handles: list[Any], step: Step) -> Sequence[Any]:
        """Computes the outputs; variables are updated in place where nobody else holds their buffers.

        Raises:
          NotStatic: a node needs a value while it is traced; nothing has run.
          OpError: a variable has no value, or a check of a node failed; no variable has changed.
        """
        if self._always_small:
            return self._path.run(inputs, handles, step)
        key: Any = None
        if self._dynamic:
            key = tuple([inputs[i].shape for i in self._dynamic])
            if key in self._small or self._prefers_host(key, inputs):
                return self._path.run(inputs, handles, step)
        return self._run_compiled(key, inputs, handles, step)

    def run_singly(self, inputs: list[Any], handles: list[Any], step: Step) -> Sequence[Any]:
        """Computes the outputs node by node."""
        return self._path.run(inputs, handles, step)

    def _prefers_host(self, key: Any, inputs: list[Any]) -> bool:
        """Whether sizes `key` run on the host: small ones always, others until they come back."""
        if not self._on_host or key in self._variants:
            return False
        if (
            self._always_small is None
            and sum(getattr(v, "size", 1) for v in inputs) <= TINY_ELEMENTS
        ):
            if len(self._small) > SIZES_MET:
                self._small.clear()
            self._small[key] = True
            return True
        with self._lock:
            if len(self._met) > SIZES_MET:
                self._met.clear()
            count = self._met[key] = self._met.get(key, 0) + 1
        return count < COMPILE_AT

    def _run_compiled(
        self, key: Any, inputs: list[Any], handles: list[Any], step: Step
    ) -> Sequence[Any]:
        try:
            if not handles:
                return self._call(key, inputs, (), step)
            if True not in self.writes:
                return self._run_reading(key, inputs, self._cells(handles), step)
            return self._run_writing(key, inputs, self._cells(handles), step)
        except VariesByShapeError:
            with self._lock:
                self._dynamic = list(range(len(self.inputs)))
                self._variants.clear()
            return self.run(inputs, handles, step)

    def _cells(self, handles: list[Any]) -> tuple[Any, ...]:
        """The variables' cells; what follows from them is kept while the handles stay the same."""
        if self._bound[0] != handles:
            cells = tuple([h.resource for h in handles])
            if len({id(c) for c in cells}) != len(cells) and any(self.writes):
                raise NotStatic(None, "two resource inputs are the same variable")
            self._bound = (list(handles), cells, tuple([c.lock for c in sorted(cells, key=id)]))
        return self._bound[1]  # type: ignore[no-any-return]

    def _run_reading(
        self, key: Any, inputs: list[Any], cells: tuple[Any, ...], step: Step
    ) -> Sequence[Any]:
        """Variables that are read alone are pinned while the region runs, not locked: readers run side by side."""
        pinned = []
        try:
            for cell in cells:
                with cell.lock:
                    cell.pins += 1
                pinned.append(cell)
            return self._call(key, inputs, cells, step)
        finally:
            for cell in pinned:
                with cell.lock:
                    cell.pins -= 1

    def _run_writing(
        self, key: Any, inputs: list[Any], cells: tuple[Any, ...], step: Step
    ) -> Sequence[Any]:
        locks = (
            self._bound[2] if self._bound[1] is cells else [c.lock for c in sorted(cells, key=id)]
        )
        held = 0
        try:
            for lock in locks:
                lock.acquire()
                held += 1
            return self._call(key, inputs, cells, step)
        finally:
            for lock in locks[:held]:
                lock.release()

    def _call(
        self, key: Any, inputs: list[Any], cells: tuple[Any, ...], step: Step
    ) -> Sequence[Any]:
        taken: list[Any] = []
        kept: list[Any] = []
        shapes: list[Any] = []
        for i, cell in enumerate(cells):
            value = cell.value
            if value is None and self.reads[i]:
                self._uninitialized(i, cell)
            if self.writes[i]:
                taken.append(value if value is None or cell.donatable else _copy(value))
            else:
                kept.append(value)
            if cell.dims is None or None in cell.dims or value is None:
                shapes.append((i, None if value is None else value.shape))
        variant = self._variants.get((key, *shapes)) or self._new_variant((key, *shapes))
        steps = [self.nodes[i].op.step_input(step, self.nodes[i]) for i in self.step_nodes]  # type: ignore[union-attr, misc]
        with wide_types():
            outputs, written, conditions, held = variant.call(steps, inputs, kept, taken)
        for i, value in zip(self._written, written, strict=True):
            if value is not None:
                cells[i].write(value, True)
        if conditions:
            raise_failed(variant.checks, conditions, held, lambda node: f"{node.where()}: ")
        return outputs  # type: ignore[no-any-return]

    def _uninitialized(self, index: int, cell: Any) -> None:
        try:
            cell.read()
        except errors.OpError as problem:
            raise located(problem, self._readers[index]) from None

    def _new_variant(self, key: Any) -> Executable:
        with self._lock:
            found = self._variants.get(key)
            if found is None:
                found = self._variants[key] = Executable(self)
                self.compiled_count += 1
                if len(self._variants) > VARIANTS:
                    self._variants.popitem(last=False)
            return found


def _copy(value: Any) -> Any:
    """An array that may be donated, in place of one that somebody else holds."""
    with wide_types():
        return jnp.array(value, copy=True)


def _effect(node: Node, position: int) -> str:
    """What the node does to the resource at a flat input: "r", "w" or "rw"."""
    assert node.op is not None
    offset = 0
    counts = node.counts or (1,) * len(node.op.inputs)
    for arg, count in zip(node.op.inputs, counts, strict=True):
        if offset <= position < offset + count:
            return node.op.effects.get(arg.name, "rw")
        offset += count
    return "rw"


__all__ = ["NotStatic", "PreparedOp", "Region", "run_node"]
