"""The traces of one function: which serves a call, and which make room for others.

A trace has the key that it was made for. A call asks with a key of its own, which is served by the
trace of that key or by one of a more general; what was found is remembered in `known`.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, ValuesView
from typing import Any

from penstock.core.context import current_place, state
from penstock.tracing.concrete import ConcreteFunction
from penstock.tracing.signature import accepts, call_graph, relax

ALIASES = 16  # keys of calls remembered for each trace that may be kept

_OBSERVED = "observed"  # first of a key of a trace for an observer or a place


def of_graph(key: Any, graph: Any) -> Any:
    """The key of a trace that belongs to a graph: made once, whoever asks; none eagerly."""
    return key if graph is None or call_graph(key) is not None else (key, id(graph))


def observed(key: Any) -> Any:
    """The key of a call: one of its own while an observer looks on, or where a package says so."""
    observer, place = state.observer, current_place()
    if observer is None and place is None:
        return key
    return (_OBSERVED, (None if observer is None else observer.key, place), key)


def is_observed(key: Any) -> bool:
    """Whether the key is of a trace for an observer or a place, which says nothing of arguments."""
    if call_graph(key) is not None:
        key = key[0]
    return key.__class__ is tuple and len(key) == 3 and key[0] is _OBSERVED


class Traces:
    """The traces of one function. Not thread-safe: the function's lock guards them.

    Args:
      limit: how many are kept.
      name: the function's.

    Attributes:
      lock: the function's lock.
    """

    def __init__(self, limit: int, name: str) -> None:
        self.name = name
        self.lock = threading.RLock()
        self.known: dict[Any, ConcreteFunction] = {}  # keys of calls -> what serves them
        self._limit = limit
        self._by_key: OrderedDict[Any, ConcreteFunction] = OrderedDict()  # last used last
        self._dropped: set[int] = set()  # hashes of keys of traces that made room for others

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._by_key)

    def values(self) -> ValuesView[ConcreteFunction]:
        """The traces, the one that was not used for longest first."""
        return self._by_key.values()

    def find(self, key: Any) -> ConcreteFunction | None:
        """The most specific trace that serves a call, None when there is none; it is young then."""
        best = key if key in self._by_key else None
        if best is None:
            for known in self._by_key:
                if accepts(known, key) and (best is None or accepts(best, known)):
                    best = known
        if best is None:
            return None
        self._by_key.move_to_end(best)
        return self._by_key[best]

    def keep(self, key: Any, trace: ConcreteFunction) -> None:
        """Adds a trace."""
        self._by_key[key] = trace
        self._make_room()

    def relaxed(self, key: Any, graph: Any) -> Any:
        """The key that serves this call and those of all traces that differ in sizes alone."""
        for known in self._by_key:
            key = relax(known, key) or key
        own = of_graph(key, graph)
        if own is key:
            return key
        for known in self._by_key:  # those that capture from this graph have its id in their keys
            own = relax(known, own) or own
        return own[0]

    def _make_room(self) -> None:
        """Drops the traces that were not used for longest.

        Calls do not note which trace they use: now and then all keys are forgotten, and those still
        in use are found again, which makes their traces young.
        """
        while len(self._by_key) > self._limit:
            dropped, _ = self._by_key.popitem(last=False)
            if len(self._dropped) > ALIASES * self._limit:
                self._dropped.clear()
            self._dropped.add(hash(dropped))
            self.known.clear()
        if len(self.known) > ALIASES * self._limit:
            self.known.clear()

    def was_dropped(self, key: Any) -> bool:
        """Whether there was a trace for the key, which made room for others."""
        return hash(key) in self._dropped
