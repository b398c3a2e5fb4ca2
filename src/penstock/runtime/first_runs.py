"""What a region of a lazy executor does at its first run: small work runs on the host, uncompiled.

To compile costs a third of a second at the least (JAX's import, tracing, XLA), and about two
milliseconds more for each operation; what runs once is not worth it. `pays` compares this with what
the operations cost on the host, by their sizes alone and not by a clock, so a program gives the
same in every process. It is not the default: the first run differs from later ones by the last
bits, so a run that is resumed would not compute those of one that was never killed. `at_once` runs
nodes one by one as a compiled region runs: nobody sees variables half-way, and all keep their
values where a node fails.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Any

from penstock.core.compiling import HEAVY
from penstock.core.locks import Locks, holding
from penstock.core.resources import VariableCell, lease_all
from penstock.graph.func_graph import bodies_of
from penstock.graph.trip_count import rounds
from penstock.runtime.bodies import hosted, traced_body
from penstock.runtime.host_work import (
    COMPILATION,
    EACH_NODE,
    MATMULS,
    OVERHEAD,
    PRODUCTS,
    XLA_LOOPS,
)
from penstock.runtime.program import FEED, LOOPS, Node
from penstock.types import dtypes as dt
from penstock.types.dims import num_elements


def pays(nodes: Sequence[Node], written: Sequence[VariableCell], device: str) -> bool:
    """Whether one run of these nodes on the host costs clearly less than to compile them.

    `written`: the variables that they may write, which are copied.
    """
    count = _Count(device)
    work = count.of(nodes) + sum(getattr(c.value, "size", 0) for c in written)
    return work <= COMPILATION + count.nodes * EACH_NODE


def compilation(nodes: Iterable[Node], device: str) -> int:
    """The work on the host that costs about as much as to compile these nodes with their bodies.

    Measured: 2.6 s for a seq2seq's step of 555 nodes, 1.6 for a slice sampler's 120.
    """
    return XLA_LOOPS * (COMPILATION + EACH_NODE * _number(nodes, device))


def _number(nodes: Iterable[Node], device: str) -> int:
    """How many nodes there are, those in bodies among them."""
    count = 0
    for node in nodes:
        count += node.type != FEED
        for body in bodies_of(node.attrs):
            count += _number(traced_body(body, device).plain.nodes, device)
    return count


class _Count:
    """The work of nodes in units; `nodes` is how many there are, those in bodies among them."""

    def __init__(self, device: str) -> None:
        self.nodes = 0
        self._device = device

    def of(self, nodes: Iterable[Node]) -> float:
        """The work of all; infinite where a size or a number of rounds is not known."""
        work = 0.0
        for node in nodes:
            if node.type != FEED:
                self.nodes += 1
                work += OVERHEAD + self._node(node)
        return work

    def _node(self, node: Node) -> float:
        if node.op is not None and node.op.calls:
            return self._bodies(node)
        given = sum(map(_size, node.shapes, node.dtypes))
        if node.type in MATMULS:
            return given * (1 + _depth(node) / PRODUCTS)
        if any(part in node.type for part in HEAVY):
            return math.inf
        return max(given, sum(_size(s.shapes[i], s.dtypes[i]) for s, i in node.inputs))

    def _bodies(self, node: Node) -> float:
        work = [self._body(body) for body in bodies_of(node.attrs)]
        if node.type in LOOPS:
            limit = _limit(node)
            return math.inf if limit is None else limit * sum(work)
        return max(work)

    def _body(self, body: Any) -> float:
        nodes = traced_body(body, self._device).plain.nodes
        return self.of(nodes) if all(hosted(n, self._device) for n in nodes) else math.inf


def _size(dims: Any, dtype: Any) -> float:
    if dtype is dt.resource or dtype is dt.variant:
        return 0
    count = num_elements(dims)
    return math.inf if count is None else count


def _depth(node: Node) -> float:
    """How many products each element of a matrix product adds up."""
    source, index = node.inputs[0]
    factor, result = source.shapes[index], node.shapes[0]
    if factor is None or result is None or None in (*factor[-2:], result[-2]):
        return math.inf
    return factor[-2] * factor[-1] / max(result[-2] or 0, 1)  # type: ignore[operator]


def _limit(node: Node) -> int | None:
    """A bound on the rounds of a loop, as far as constants tell."""
    given = node.attrs.get("_maximum_iterations")
    if given is not None:
        return max(int(given), 0)

    def known(number: int) -> Any:
        source, _ = node.inputs[number]
        return source.attrs["value"].array if source.type == "Const" else None

    return rounds(node.attrs["cond"], node.attrs["body"], known)


def at_once(cells: Sequence[VariableCell], written: Sequence[bool], run: Callable[[], Any]) -> Any:
    """`run()`, during which nobody else sees or writes the variables.

    Args:
      cells: all variables that it touches: a lock taken within could be held by somebody who waits
        for one that is held here.
      written: which of them it may write. They have their old values again where it fails.
      run: what runs.
    """
    changed = list(compress(cells, written))
    return holding(Locks(cells), lambda: _undone_if_it_fails(changed, run))


def _undone_if_it_fails(cells: Sequence[VariableCell], run: Callable[[], Any]) -> Any:
    leases, old = lease_all(cells), [c.value for c in cells]
    try:
        return run()
    except BaseException:
        for cell, value in zip(cells, old, strict=True):
            if cell.value is not value:
                cell.write(value)
        raise
    finally:
        del leases


__all__ = ["at_once", "compilation", "pays"]
