"""One run of a plan: its id, resources, deadline, cancellation and, when asked for, its trace."""

import itertools
import threading
import time
from typing import Any

from penstock import errors

_ids = itertools.count(1)


class Step:
    """What the items of a plan see while it runs."""

    __slots__ = ("_cancelled", "_deadline", "_reason", "events", "id", "resources", "state")

    def __init__(self, resources: Any, state: dict[Any, Any] | None = None, timeout_s: float | None = None, traced: bool = False) -> None:
        self.id = next(_ids)
        self.resources = resources
        self.state = state if state is not None else {}  # what operations keep between steps: random counters
        self.events: list[tuple[str, str, float, float, int]] | None = [] if traced else None
        self._deadline = None if not timeout_s else time.monotonic() + timeout_s
        self._cancelled = threading.Event()
        self._reason = ""

    def cancel(self, reason: str) -> None:
        """Makes the step end with CancelledError at its next operation. Thread-safe."""
        self._reason = reason
        self._cancelled.set()

    def remaining(self) -> float | None:
        """Seconds until the deadline, None when there is none."""
        return None if self._deadline is None else self._deadline - time.monotonic()

    def check(self, where: str) -> None:
        """Raises when the step was cancelled or its time is over."""
        if self._cancelled.is_set():
            raise errors.CancelledError(None, None, f"{where}: {self._reason}")
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise errors.DeadlineExceededError(None, None, f"Timed out waiting for operation: the step's deadline passed at {where}.")
