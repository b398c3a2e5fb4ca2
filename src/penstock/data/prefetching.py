"""Datasets that are read ahead: prefetch.

A pump takes elements of the input on another thread as long as there is room for them. Whoever
wants an element that is not there yet, and finds that no thread has begun to pump, takes one of
the input itself.
"""

import threading
from collections import deque
from typing import Any

from penstock import errors
from penstock.core.kernels import host_kernel
from penstock.data.counting import Counted
from penstock.data.mapping import AUTOTUNE
from penstock.data.operations import HOST, TYPES, dataset_op, held, number
from penstock.data.pool import Task
from penstock.data.run import Run
from penstock.data.stages import Array, Description, Element, Stage, State, UnaryStage

_FIRST_ROOM = 2  # elements that are read ahead at first, where it is left to us
_MOST_ROOM = 512


class Prefetch(Counted):
    """The elements of a dataset, taken before they are asked for."""

    kind = "PrefetchDataset"
    __slots__ = ()

    def cardinality(self) -> int:
        """That of the input."""
        return self.inputs[0].cardinality()

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        inner = self.inputs[0].start(run)
        return inner if self.count == 0 else PrefetchStage(inner, self.count, run)


class PrefetchStage(UnaryStage):
    """Reads ahead.

    Args:
      input: what is read.
      room: how many elements are kept at most; AUTOTUNE has it grow while some are missing.
      run: its threads are used.
    """

    def __init__(self, input: Stage, room: int, run: Run) -> None:
        super().__init__(input)
        self._grows = room == AUTOTUNE
        self._room = _FIRST_ROOM if self._grows else room
        self._run = run
        self._changed = threading.Condition()  # guards: all that follow
        self._ready: deque[tuple[Element | None, Exception | None]] = deque()
        self._pump: Task | None = None
        self._pumping = False  # somebody takes elements of the input
        self._paused = self._closed = self._ended = False

    @property
    def ready(self) -> bool:
        """Whether the next element is there, or that there is none."""
        return bool(self._ready) or self._ended

    def begin(self) -> None:
        """Begins to read ahead before the first element is asked for."""
        with self._changed:
            if not (self._pumping or self._ended or self._closed):
                self._pumping = True
                self._pump = self._run.pool.submit(self._run_ahead)

    def next(self) -> Element | None:
        """The next element, waited for where it is being made."""
        with self._changed:
            while not self._ready:
                if self._ended:
                    return None
                if not self._pumping or self._cancel():
                    self._pumping = True
                    break
                if self._grows and self._room < _MOST_ROOM:
                    self._room *= 2
                self._changed.wait()
            else:
                return self._taken()
        try:
            self._take_one()
        finally:
            with self._changed:
                self._pumping = False
                self._changed.notify_all()
        with self._changed:
            return self._taken()

    def _taken(self) -> Element | None:
        """What is there first, once somebody sees to what comes next; `_changed` is held."""
        element, error = self._ready.popleft() if self._ready else (None, None)
        idle = not (self._pumping or self._ended or self._paused or self._closed)
        if idle and len(self._ready) <= self._room // 2:
            self._pumping = True
            self._pump = self._run.pool.submit(self._run_ahead)
        if error is not None:
            raise error
        return element

    def _cancel(self) -> bool:
        """Takes the pump back from the threads, where none has begun; `_changed` is held."""
        pump, self._pump = self._pump, None
        return pump is not None and pump.cancel()

    def _run_ahead(self) -> None:
        """Takes elements as long as there is room; on a thread of the pool."""
        try:
            while not (self._closed or self._paused or self._ended):
                self._take_one()
                with self._changed:
                    if len(self._ready) >= self._room:
                        break
        finally:
            with self._changed:
                self._pumping = False
                self._changed.notify_all()

    def _take_one(self) -> None:
        """Takes one element of the input, or its error."""
        found: Element | None = None
        problem: Exception | None = None
        try:
            found = self.input.next()
        except Exception as error:
            problem = error
        with self._changed:
            if found is None and problem is None:
                self._ended = True
            else:
                self._ready.append((found, problem))
            self._changed.notify_all()

    def _pause(self) -> None:
        """Returns when nobody takes elements of the input; nobody will, until `_go_on`."""
        with self._changed:
            self._paused = True
            if self._pumping and self._cancel():
                self._pumping = False
            while self._pumping:
                self._changed.wait()

    def save(self) -> State:
        """Where the input is, and what was read ahead of it."""
        self._pause()
        try:
            ready = [
                {"error": error} if error is not None else {"value": list(element or ())}
                for element, error in self._ready
            ]
            return {**super().save(), "ready": ready, "ended": self._ended}
        finally:
            self._paused = False

    def restore(self, state: State) -> None:
        """Puts the input there, and has again what was read ahead."""
        self._pause()
        try:
            super().restore(state)
            self._ended = bool(state["ended"])
            self._ready = deque(
                (None, each["error"]) if "error" in each else (tuple(each["value"]), None)
                for each in state["ready"]
            )
        finally:
            self._paused = False

    def close(self) -> None:
        """Stops reading ahead."""
        self._closed = True
        super().close()


PREFETCH = dataset_op(
    f"PrefetchDataset(input_dataset: variant, buffer_size: int64; {TYPES}, slack_period: int = 0,"
    " legacy_autotune: bool = True, buffer_size_min: int = 0, metadata: string = '') -> handle:"
    " variant",
    "The elements of a dataset, taken before they are asked for.",
)


@host_kernel(PREFETCH, limit=HOST)
def _prefetch(
    input_dataset: Array, buffer_size: Array, *, output_types: Any, output_shapes: Any
) -> Description:
    room = number(buffer_size)
    if room < AUTOTUNE:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"buffer_size must be >= 0 or set buffer_size to be {AUTOTUNE} for auto-tuning, got"
            f" {room}.",
        )
    return Prefetch(held(input_dataset), room, output_types, output_shapes)
