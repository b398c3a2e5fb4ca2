"""Observers of a thread's operations: several of them take turns in the place that is for one.

Each sees an operation with the outputs that the one before it gives. A class has at most one
observer in a thread.
"""

from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

from penstock.core import context
from penstock.core.context import Observer, state
from penstock.core.op_def import OpDef

Kind = TypeVar("Kind")


class Observers:
    """Several observers, in the order in which they were added."""

    def __init__(self, members: tuple[Observer, ...]) -> None:
        self.members = members

    @property
    def key(self) -> Hashable:
        """What tells traces with these observers from others."""
        return tuple(each.key for each in self.members)

    def observe(
        self, op: OpDef, inputs: Sequence[Any], outputs: Sequence[Any], node: Any
    ) -> Sequence[Any]:
        """The outputs that the last observer gives."""
        for each in self.members:
            outputs = each.observe(op, inputs, outputs, node)
        return outputs

    def look_at(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any], graph: Any) -> None:
        """Shows all of them what a function gave."""
        for each in self.members:
            each.look_at(name, inputs, outputs, graph)


def _members() -> tuple[Observer, ...]:
    observer = state.observer
    if observer is None:
        return ()
    return observer.members if isinstance(observer, Observers) else (observer,)


def find(kind: type[Kind]) -> Kind | None:
    """This thread's observer of a class, None when there is none."""
    return next((each for each in _members() if isinstance(each, kind)), None)


def add(observer: Observer) -> None:
    """Adds an observer to this thread's, or puts it in the place of the one of its class."""
    kept = tuple(each for each in _members() if type(each) is not type(observer))
    context.set_observer(Observers((*kept, observer)) if kept else observer)


def remove(kind: type[Any]) -> None:
    """Takes this thread's observer of a class away, if there is one."""
    kept = tuple(each for each in _members() if not isinstance(each, kind))
    context.set_observer(Observers(kept) if len(kept) > 1 else kept[0] if kept else None)
