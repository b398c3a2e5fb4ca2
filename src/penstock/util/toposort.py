"""Topological order of a graph of any size, without recursion.

The order depends on the order of the input only: predecessors come first, and an input that is in
topological order already comes back unchanged. A cycle is reported with the nodes that form it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


class CycleError(ValueError):
    """The graph has a cycle.

    Attributes:
      cycle: the nodes of one cycle; each is a predecessor of the one before it.
    """

    def __init__(self, cycle: list[object], name: Callable[[object], str] = str) -> None:
        self.cycle = cycle
        path = " <- ".join(name(n) for n in [*cycle, cycle[0]])
        super().__init__(
            f"expected a graph without cycles, got a cycle of {len(cycle)} node(s): {path}. "
            "Remove one of these edges."
        )


def topological_sort(
    nodes: Iterable[Node],
    predecessors: Callable[[Node], Iterable[Node]],
    name: Callable[[object], str] = str,
) -> list[Node]:
    """Orders nodes so that each comes after its predecessors.

    Args:
      nodes: where to start; predecessors that are not among them are included.
      predecessors: the nodes that must come before a node.
      name: how to write a node in an error.

    Returns:
      Every node once.

    Raises:
      CycleError: a node is, over others, its own predecessor.

    Example:
      >>> topological_sort("cba", lambda n: {"c": "b", "b": "a"}.get(n, ""))
      ['a', 'b', 'c']
    """
    order: list[Node] = []
    done: set[Node] = set()
    for start in nodes:
        if start not in done:
            _visit(start, predecessors, order, done, name)
    return order


def _visit(
    start: Node,
    predecessors: Callable[[Node], Iterable[Node]],
    order: list[Node],
    done: set[Node],
    name: Callable[[object], str],
) -> None:
    """Appends `start` after everything it depends on: a depth-first walk with its own stack."""
    path: dict[Node, Iterator[Node]] = {start: iter(predecessors(start))}
    current = start
    while path:
        for before in path[current]:
            if before in done:
                continue
            if before in path:
                nodes = list(path)
                raise CycleError(list(nodes[nodes.index(before) :]), name)
            path[before] = iter(predecessors(before))
            current = before
            break
        else:
            path.popitem()
            done.add(current)
            order.append(current)
            current = next(reversed(path), current)
