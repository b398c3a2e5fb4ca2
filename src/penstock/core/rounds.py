"""Which round of which loops runs on this thread, for what depends on the round.

Random operations do: what they draw in a round follows from its number, not from how often they
have run, so a loop gives the same numbers whether it runs compiled or round by round.
"""

import contextlib
import threading
from collections.abc import Iterator


class _Local(threading.local):
    path: tuple[int, ...] = ()


_local = _Local()


def path() -> tuple[int, ...]:
    """The numbers of the rounds that run, the outermost loop's first; empty outside of loops."""
    return _local.path


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
