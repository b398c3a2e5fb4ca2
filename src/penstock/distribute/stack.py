"""Which strategy and which replica the program is in, as a stack of entries.

A graph has a stack of its own; a function's body goes on with that of where it is traced; a thread
that executes eagerly has one. An empty stack stands for the default strategy's replica.
"""

import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

from penstock.core.context import state
from penstock.graph.func_graph import FuncGraph

# Any: strategies and replica contexts, whose modules are made on this one.


class Entry(NamedTuple):
    """A place that the program is in: across replicas where `replica` is None."""

    strategy: Any
    replica: Any


class _Eager(threading.local):
    def __init__(self) -> None:
        self.entries: list[Entry] = []


_eager = _Eager()
_graphs: weakref.WeakKeyDictionary[Any, list[Entry]] = weakref.WeakKeyDictionary()


def _entries() -> list[Entry]:
    """The stack that is looked at here, which belongs to this place or to one around it."""
    graph = state.graph
    while isinstance(graph, FuncGraph):
        if graph in _graphs:
            return _graphs[graph]
        graph = graph.outer_graph
    return _eager.entries if graph is None else _graphs.setdefault(graph, [])


def current() -> Entry | None:
    """The innermost entry; None where the program is in no strategy's scope."""
    entries = _entries()
    return entries[-1] if entries else None


def push(entry: Entry) -> None:
    """Enters a place, until `pop`."""
    graph = state.graph
    if isinstance(graph, FuncGraph) and graph not in _graphs:
        _graphs[graph] = list(_entries())
    _entries().append(entry)


def pop(entry: Entry) -> None:
    """Leaves a place.

    Raises:
      RuntimeError: it is not the one that was entered last.
    """
    entries = _entries()
    if not entries or entries[-1] is not entry:
        raise RuntimeError(
            "tf.distribute: expected scopes to be left in the order opposite to that in which they"
            f" were entered, got {'another scope' if entries else 'none'} inside. Use `with`, and"
            " call tf.distribute.experimental_set_strategy() outside of scopes."
        )
    entries.pop()


@contextlib.contextmanager
def inside(strategy: Any, replica: Any) -> Iterator[None]:
    """Runs what is inside in a replica, or across replicas where `replica` is None."""
    entry = Entry(strategy, replica)
    push(entry)
    try:
        yield
    finally:
        pop(entry)
