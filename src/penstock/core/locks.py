"""Several locks, held so that Ctrl-C leaves none behind.

Python raises KeyboardInterrupt between two bytecodes: after a call of C, or where a function of
Python begins. So what takes locks and what gives them back are single calls of C, and the one that
gives back is made ready before the first lock is taken:

    locks = Locks(variables)
    held: list[Any] = []
    back = map(call, iter(held))
    try:
        held.extend(compress(locks.releases, map(call, locks.acquires)))
        ...
    finally:
        drain(back)

`held` has what releases the locks that were taken, however far that came; the iterator sees what is
added to it. `holding` is this for what is a function already. Locks are taken in one order
everywhere: by the identity of the variables that they belong to.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import compress
from operator import attrgetter, call
from typing import Any

drain: Callable[[Iterator[object]], object] = partial(deque, maxlen=0)  # consumes an iterator
_acquire, _release = attrgetter("lock.acquire"), attrgetter("lock.release")


class Locks:
    """The locks of some variables, ready to be taken, again and again. Immutable.

    Attributes:
      acquires: what takes each lock, in the one order.
      releases: what gives each back, in the same order.
    """

    __slots__ = ("acquires", "releases")

    def __init__(self, owners: Iterable[Any]) -> None:
        """`owners`: have a `lock`. One that is given twice is locked twice."""
        ordered = sorted(owners, key=id)
        self.acquires = list(map(_acquire, ordered))
        self.releases = list(map(_release, ordered))


def holding(locks: Locks, run: Callable[[], Any]) -> Any:
    """`run()` while the locks are held."""
    held: list[Any] = []
    back = map(call, iter(held))
    try:
        held.extend(compress(locks.releases, map(call, locks.acquires)))
        return run()
    finally:
        drain(back)


__all__ = ["Locks", "call", "drain", "holding"]
