"""One run of a plan: its id, resources, deadline, cancellation and, when asked for, its trace.

A step ends early in three ways: `cancel` (a closed session, Ctrl-C, an error in another item), its
deadline, or an error of one of its operations. Kernels that wait do so through `Step.wait`, so all
three wake them.
"""

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

from penstock import errors
from penstock.core.effects import switch

_ids = itertools.count(1)
_FAR_S = 1e8
_NOTHING = object()
_callbacks_lock = threading.Lock()  # guards: the callbacks of all steps, `drawn` and `leases`


class Event:
    """One item of a traced step.

    What ran, where, when (seconds of `time.time`), and what it gave.
    """

    __slots__ = ("device", "end", "item", "outputs", "start", "thread")

    def __init__(
        self,
        item: Any,
        device: str,
        start: float,
        end: float,
        thread: int,
        outputs: tuple[Any, ...],
    ) -> None:
        self.item = item
        self.device = device
        self.start = start
        self.end = end
        self.thread = thread
        self.outputs = outputs  # (dtype, shape, bytes) of each output


class Step:
    """What the items of a plan see while it runs.

    Attributes:
      id: a number no other step of this process has.
      resources: the resource manager.
      state: what operations keep between steps: random counters.
      events: what ran, when the step is traced, else None.
      leases: kept until the step ends, so that variables' arrays that it read are not given away
        meanwhile.
      rendezvous: where the parts of a step on several devices meet, else None.
      drawn: by the id of their node, values that random operations drew and have not used.
      who: whom its effects belong to while effects are recorded or replayed, see `core.effects`;
        None otherwise, empty for a step that makes plans.
    """

    __slots__ = (
        "_callbacks",
        "_deadline",
        "_error",
        "drawn",
        "events",
        "id",
        "leases",
        "rendezvous",
        "resources",
        "state",
        "who",
    )

    def __init__(
        self,
        resources: Any,
        state: dict[Any, Any] | None = None,
        timeout_s: float | None = None,
        traced: bool = False,
        counted: bool = True,
    ) -> None:
        self.id = next(_ids)
        self.resources = resources
        self.state = {} if state is None else state
        self.events: list[Event] | None = [] if traced else None
        self.leases: list[Any] | None = None
        self.rendezvous: Any = None
        self.drawn: dict[int, Any] | None = None
        self._deadline = time.monotonic() + timeout_s if timeout_s else None
        self._error: str | None = None
        self._callbacks: list[Callable[[], None]] | None = None
        self.who: str | None = None
        log = switch.log  # another thread may close it
        if log is not None:
            self.who = log.begin_step() if counted else ""
            if log.replaying or not timeout_s:  # so that it is checked where it may end
                self._deadline = time.monotonic() + _FAR_S

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._error is not None

    def cancel(self, reason: str) -> None:
        """Makes the step end with CancelledError at its next operation.

        And wakes those that wait. Thread-safe.
        """
        with _callbacks_lock:
            if self._error is None:
                self._error = reason
            callbacks, self._callbacks = self._callbacks or [], None
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls `callback` when the step is cancelled (at once when it is already).

        Returns what takes it back.
        """
        with _callbacks_lock:
            if self._error is None:
                self._callbacks = [*(self._callbacks or ()), callback]
                return lambda: self._forget(callback)
        callback()
        return lambda: None

    def _forget(self, callback: Callable[[], None]) -> None:
        with _callbacks_lock:
            self._callbacks = [c for c in self._callbacks or () if c is not callback] or None

    def keep(self, node: Any, value: Any) -> None:
        """Leaves what a node drew to whoever runs it next in this step."""
        with _callbacks_lock:
            self.drawn = {**(self.drawn or {}), id(node): value}

    def take(self, node: Any, step_input: Callable[[Any, Any], Any]) -> Any:
        """What a node takes from the host now; what it drew before and did not use, if it did."""
        if self.drawn:
            with _callbacks_lock:
                found = self.drawn.pop(id(node), _NOTHING)
            if found is not _NOTHING:  # another round may have been faster
                return found
        return step_input(self, node)

    def hold(self, lease: Any) -> None:
        """Keeps a lease until the step ends. Thread-safe."""
        with _callbacks_lock:
            held = self.leases or []
            if lease not in held:  # a loop reads what it has read before
                self.leases = [*held, lease]

    def end(self, failed: bool = False) -> None:
        """Tells a log of effects, if there is one, that nothing of the step runs any more."""
        log = switch.log
        if self.who and log is not None:
            log.end_step(self.who, failed)

    def remaining(self) -> float | None:
        """Seconds until the deadline, None when there is none."""
        return None if self._deadline is None else self._deadline - time.monotonic()

    def check(self, where: str) -> None:
        """Raises when the step was cancelled or its time is over.

        Raises:
          CancelledError: `cancel` was called.
          DeadlineExceededError: the deadline passed.
        """
        log = switch.log
        if log is not None and self.who:
            log.check(self, where, lambda: self._check(where))
        else:
            self._check(where)

    def _check(self, where: str) -> None:
        if self._error is not None:
            raise errors.CancelledError(None, None, f"{where}: {self._error}")
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise errors.DeadlineExceededError(
                None,
                None,
                "Timed out waiting for notification: expected the step to end before "
                "its deadline, which passed at "
                f"{where}. Give it more time with RunOptions(timeout_in_ms=...), or none with 0.",
            )

    def wait(self, condition: threading.Condition, ready: Callable[[], bool], where: str) -> None:
        """Waits, holding `condition`, until `ready()`.

        Whoever changes what `ready` looks at notifies the condition.

        Raises:
          CancelledError, DeadlineExceededError: the step ended first.
        """
        if ready():
            return

        def wake() -> None:
            with condition:
                condition.notify_all()

        self._check(where)
        forget = None
        condition.release()  # `on_cancel` may call `wake`, here or from another thread
        try:
            forget = self.on_cancel(wake)
        finally:
            condition.acquire()
        try:
            while not ready():
                self._check(where)
                condition.wait(self.remaining())
                if self.cancelled:  # also when a reset has closed what is waited for
                    self._check(where)
        finally:
            forget()
