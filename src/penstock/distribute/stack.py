"""Which strategy and which replica the program is in, as stacks of entries.

Each thread has one stack for what it executes eagerly and one for each `tf.Graph` that it builds. A
function's body goes on with that of where it is traced, and so does `tf.init_scope` in it. An empty
stack stands for the default strategy's replica.
"""

import contextlib
import threading
import weakref
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

from penstock.core import context
from penstock.core.context import state
from penstock.graph.func_graph import FuncGraph

# Any: strategies and replica contexts, whose modules are made on this one.


class Entry(NamedTuple):
    """A place that the program is in: across replicas where `replica` is None.

    The scope that it belongs to is kept, so that one which nobody else holds is not left early.
    """

    strategy: Any
    replica: Any
    scope: Any = None


class _Thread(threading.local):
    def __init__(self) -> None:
        self.eager: list[Entry] = []
        self.graphs: weakref.WeakKeyDictionary[Any, list[Entry]] = weakref.WeakKeyDictionary()
        self.depth = 0  # of all stacks together


_thread = _Thread()


def _entries() -> list[Entry]:
    """The stack that counts here."""
    graph = state.graph
    while isinstance(graph, FuncGraph):
        graph = graph.outer_graph
    return _thread.eager if graph is None else _thread.graphs.setdefault(graph, [])


def current() -> Entry | None:
    """The innermost entry; None where the program is in no strategy's scope."""
    entries = _entries()
    return entries[-1] if entries else None


def _place() -> Hashable:
    """What tells traces of functions apart: the default strategy's replicas are one place."""
    here = current()
    if here is None or (here.replica is not None and here.strategy._is_default):
        return None
    return weakref.ref(here.strategy), here.replica is None


context.set_place_of(_place)


def push(entry: Entry) -> None:
    """Enters a place, until `pop`."""
    _entries().append(entry)
    _thread.depth += 1
    context.note_place(True)


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
    _thread.depth -= 1
    context.note_place(_thread.depth > 0)


@contextlib.contextmanager
def inside(strategy: Any, replica: Any) -> Iterator[None]:
    """Runs what is inside in a replica, or across replicas where `replica` is None."""
    entry = Entry(strategy, replica)
    push(entry)
    try:
        yield
    finally:
        pop(entry)
