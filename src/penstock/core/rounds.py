"""Which round of which loops, which branches and critical sections run on this thread.

What random operations draw in a round follows from its number, not from how often they have run,
so a loop gives the same numbers whether it runs compiled or round by round. In a branch of a
conditional each has a stream of its own: two branches, or two calls of a function, may hold
operations of one name. A mutex that the thread holds while it runs a step is refused to the step,
which would wait for itself.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any


class _Local(threading.local):
    path: tuple[int, ...] = ()
    site: str = ""
    held: tuple[Any, ...] = ()


_local = _Local()


def path() -> tuple[int, ...]:
    """The numbers of the rounds that run, the outermost loop's first; empty outside of loops."""
    return _local.path


def key_of(name: str) -> str:
    """The name of an operation that runs now on this thread with the branches it is in."""
    return _local.site + name


@contextlib.contextmanager
def at(site: str) -> Iterator[None]:
    """What follows on this thread is in the branch or call that `site` names."""
    before = _local.site
    _local.site = before + site
    try:
        yield
    finally:
        _local.site = before


def held() -> tuple[Any, ...]:
    """The mutexes of the critical sections that run eagerly on this thread, one in another."""
    return _local.held


@contextlib.contextmanager
def holding(mutex: Any) -> Iterator[None]:
    """What follows on this thread is in the section of a mutex."""
    before = _local.held
    _local.held = (*before, mutex)
    try:
        yield
    finally:
        _local.held = before


def carried(work: Callable[[], None]) -> Callable[[], None]:
    """`work` for another thread, which there is in the rounds, branches and sections of this."""
    given = _local.path, _local.site, _local.held
    if given == ((), "", ()):
        return work

    def run_there() -> None:
        before = _local.path, _local.site, _local.held
        _local.path, _local.site, _local.held = given
        try:
            work()
        finally:
            _local.path, _local.site, _local.held = before

    return run_there


@contextlib.contextmanager
def inside(outer: tuple[int, ...]) -> Iterator["Rounds"]:
    """A loop in the rounds `outer` runs on this thread."""
    before = _local.path
    try:
        yield Rounds(outer)
    finally:
        _local.path = before


class Rounds:
    """The rounds of a loop that runs."""

    def __init__(self, outer: tuple[int, ...]) -> None:
        self._outer = outer

    def enter(self, number: int) -> None:
        """What follows on this thread belongs to this round."""
        _local.path = (*self._outer, number)
