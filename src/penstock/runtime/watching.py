"""What is looked at while this process runs: the steps, for a profile, and the functions' graphs.

A `Watch` collects until it is taken away. Plans and functions ask for `state.steps` and
`state.functions`, None nearly always, at each run. (`core.context` has what watches eager
operations.)
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from penstock.runtime.step import Event, Step

T = TypeVar("T")
LIMIT = 200_000  # operations that one profile holds; later steps are counted and left out


@dataclass(slots=True)
class StepWatch:
    """The operations of all steps, and others that are given to it. Thread-safe.

    Attributes:
      started: when, in seconds of `time.time`.
      events: what ran, the operations of a step when it ended.
      spans: what `tf.profiler.experimental.Trace` marked: (name, start, end, thread, arguments).
      dropped: operations that were left out because there were too many.
    """

    started: float = field(default_factory=time.time)
    events: list[Event] = field(default_factory=list)
    spans: list[tuple[str, float, float, int, dict[str, Any]]] = field(default_factory=list)
    dropped: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)  # guards: all of the above

    def add(self, step: Step) -> None:
        """Takes over the events of a step that has ended."""
        events, step.events = step.events or [], None
        self.keep(events)

    def keep(self, events: list[Event]) -> None:
        """Adds what ran, as far as there is room."""
        with self._lock:
            kept = events[: max(LIMIT - len(self.events), 0)]
            self.events.extend(kept)
            self.dropped += len(events) - len(kept)

    def mark(self, name: str, start: float, end: float, arguments: dict[str, Any]) -> None:
        """Adds a span of this thread."""
        with self._lock:
            self.spans.append((name, start, end, threading.get_ident(), arguments))


class FunctionWatch:
    """The bodies of functions that eager code called, each once, in the order of first calls."""

    def __init__(self) -> None:
        self._bodies: dict[int, Any] = {}  # bodies by their id, which they keep alive

    def add(self, body: Any) -> None:
        """Notes a body that runs. Thread-safe: `setdefault` is one step."""
        self._bodies.setdefault(id(body), body)

    @property
    def bodies(self) -> list[Any]:
        """The bodies."""
        return list(self._bodies.values())


class _State:
    """What is watched; for all threads."""

    __slots__ = ("functions", "steps")

    def __init__(self) -> None:
        self.steps: StepWatch | None = None
        self.functions: FunctionWatch | None = None


state = _State()


def watched(step: Step, run: Callable[[], T]) -> T:
    """`run()`, which runs `step`, traced for the profile; also when it fails."""
    watch = state.steps
    step.events = []
    try:
        return run()
    finally:
        if watch is not None:
            watch.add(step)
        step.events = None
