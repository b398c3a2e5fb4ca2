"""Datasets that are read ahead: prefetch.

A pump takes elements of the input on another thread as long as there is room for them. Whoever
wants an element that is not there yet, and finds that no thread has begun to pump, takes one of
the input itself.
"""

import threading
import time
from typing import Any

from penstock import errors
from penstock.core.kernels import host_kernel
from penstock.data import restoring
from penstock.data.blocks import BLOCK
from penstock.data.counting import Counted
from penstock.data.mapping import AUTOTUNE
from penstock.data.operations import HOST, TYPES, dataset_op, held, number
from penstock.data.pool import Task, shared_watch
from penstock.data.read_ahead import ReadAhead
from penstock.data.run import Run, UnwantedError
from penstock.data.stages import Array, Description, Element, Stage, State, UnaryStage, left_behind
from penstock.types import dims as d

_FIRST_ROOM = 2  # elements that are read ahead at first, where it is left to us
_MOST_ROOM = 512
_SMALL_BYTES = 1 << 14
_SHRINK_AFTER = 256  # elements for which nobody waited
_AWAY_S = 1e-3  # a consumer that is back sooner has no time for others
_TIMES_AWAY = 2
_FIRST_SPAN, _LONGEST_SPAN = 16, 256  # elements before it is looked again how long it is away


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
        if self.count == 0:
            return inner
        return PrefetchStage(inner, self, self.count, run, _block_of(self))


def _block_of(description: Description) -> int:
    """How many elements may be taken at once whatever the room: many where they are small."""
    size = 0
    for dtype, dims in zip(description.types, description.shapes, strict=True):
        count = None if dims is None else d.num_elements(dims)
        if count is None or dtype.numpy_dtype.kind == "O":
            return 1
        size += count * dtype.numpy_dtype.itemsize
    return max(1, min(BLOCK, _SMALL_BYTES // max(size, 1)))


class PrefetchStage(UnaryStage):
    """Reads ahead.

    A thread that reads ahead beside a consumer who is back at once takes the interpreter from it
    and gives nothing: such a consumer makes its elements itself. Others find them made: after
    elements that were asked for a while after those before them the pump starts at once, else as
    soon as nobody has asked for a millisecond.

    Args:
      input: what is read.
      of: the dataset whose elements those are.
      room: how many elements are kept at most; AUTOTUNE has it grow while some are missing, up to
        a number of bytes, and shrink while all are there.
      run: its threads are used.
      block: how many elements of a stacked input are taken at once where there is room for fewer.
    """

    def __init__(self, input: Stage, of: Description, room: int, run: Run, block: int = 1) -> None:
        super().__init__(input)
        self._of = of
        self.stacked = input.stacked
        self._grows = room == AUTOTUNE
        self._room = _FIRST_ROOM if self._grows else room
        self._block = block
        self._run = run
        self._changed = threading.Condition()  # guards: all that follow
        self._ready = ReadAhead()
        self._pump: Task | None = None
        self._pumping = False  # somebody takes elements of the input
        self._watched = False
        self._paused = self._closed = self._ended = False
        self._left_at = 0.0  # when the consumer had its last element
        self._slow = 0  # how often in a row it came back late
        self._eager = 0  # elements after which the pump starts at once
        self._span = _FIRST_SPAN
        self._full = 0  # elements in a row for which nobody waited

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
        return self._next(None)

    def columns(self, count: int) -> Element | None:
        """The next elements, as many as are ready."""
        return self._next(count)

    def _next(self, count: int | None) -> Element | None:
        mine = False  # whether this call takes elements of the input
        try:
            with self._changed:
                self._back()
                while not self._ready:
                    if self._ended:
                        return None
                    if not self._pumping or self._cancel():
                        mine = self._pumping = True
                        break
                    self._missed()
                    self._changed.wait()
                else:
                    return self._ready.pop() if count is None else self._ready.pop_columns(count)
            found = self.input.next() if count is None else self.input.columns(count)
            self._ended = found is None
            return found
        finally:
            if mine:
                self._stop_pumping()
            with self._changed:
                self._left()

    def _back(self) -> None:
        """Notes how long the consumer was away; `_changed` is held."""
        if self._eager:
            self._eager -= 1
            return
        self._slow = self._slow + 1 if time.perf_counter() - self._left_at > _AWAY_S else 0
        if self._slow >= _TIMES_AWAY:
            self._slow, self._eager = 0, self._span
            self._span = min(2 * self._span, _LONGEST_SPAN)
        elif not self._slow:
            self._span = _FIRST_SPAN

    def _missed(self) -> None:
        """Notes that an element was waited for."""
        self._full = 0
        if self._grows and self._room < _MOST_ROOM and self._ready.fits(2):
            self._room *= 2

    def _left(self) -> None:
        """Sees to what comes next, when the consumer leaves; `_changed` is held."""
        if self._grows:
            self._full += 1
            if self._full > _SHRINK_AFTER and self._room > _FIRST_ROOM:
                self._full, self._room = 0, self._room // 2
        self._left_at = time.perf_counter()
        if self._wants_pump():
            if self._eager:
                self._start_pump()
            elif not self._watched:
                self._watched = True
                shared_watch().add(self)

    def _wants_pump(self) -> bool:
        idle = not (self._pumping or self._ended or self._paused or self._closed)
        return idle and len(self._ready) <= self._room // 2 and self._ready.fits(1)

    def _start_pump(self) -> None:
        self._pumping = True
        self._pump = self._run.pool.submit(self._run_ahead)

    def look(self) -> bool:
        """Starts the pump when the consumer has been away for a while; called by the watch."""
        with self._changed:
            if self._wants_pump():
                if time.perf_counter() - self._left_at < _AWAY_S:
                    return True
                self._start_pump()
            self._watched = False
            return False

    def _cancel(self) -> bool:
        """Takes the pump back from the threads, where none has begun; `_changed` is held."""
        pump, self._pump = self._pump, None
        return pump is not None and pump.cancel()

    def _run_ahead(self) -> None:
        """Takes elements as long as there is room; on a thread of the pool."""
        try:
            while not (self._closed or self._paused or self._ended):
                if not self._take():
                    break
                with self._changed:
                    if len(self._ready) >= self._room or not self._ready.fits(1):
                        break
        finally:
            self._stop_pumping()

    def _stop_pumping(self) -> None:
        with self._changed:
            self._pumping = False
            self._changed.notify_all()
        if self._closed:
            super().close()

    def _take(self) -> bool:
        """Takes an element of the input, or some of a stacked one, or its error.

        Returns:
          Whether somebody wants it. If not, whoever waits takes the next one itself: so it ends.
        """
        found: Element | None = None
        problem: Exception | None = None
        stacked = self.stacked
        try:
            if stacked:
                found = self.input.columns(max(self._room - len(self._ready), self._block))
            else:
                found = self.input.next()
        except UnwantedError:
            return False
        except Exception as error:
            problem = error
        with self._changed:
            if found is None and problem is None:
                self._ended = True
            else:
                self._ready.push(found, problem, stacked)
            self._changed.notify_all()
        return True

    def _pause(self) -> None:
        """Returns when nobody takes elements of the input; nobody will, until `_paused` ends."""
        with self._changed:
            self._paused = True
            if self._pumping and self._cancel():
                self._pumping = False
            while self._pumping:
                self._changed.wait()

    def save(self) -> State:
        """Where the input is, and what was read ahead of it."""
        try:
            self._pause()
            return {**super().save(), "ready": self._ready.save(), "ended": self._ended}
        finally:
            self._paused = False

    def restore(self, state: State) -> None:
        """Puts the input there, and has again what was read ahead."""
        try:
            self._pause()
            super().restore(state)
            self._ended = restoring.flag(state["ended"], "PrefetchDataset")
            self._ready = ReadAhead(state["ready"], self._of)
        finally:
            self._paused = False

    def after_fork(self) -> None:
        """Reads ahead with threads of the new process, unless one had an element under way."""
        if self._pumping and not self._cancel():
            raise left_behind("PrefetchDataset")
        self._changed = threading.Condition()
        self._pumping = self._watched = False
        super().after_fork()

    def close(self) -> None:
        """Stops reading ahead. Who takes an element of the input now closes it when it is there."""
        with self._changed:
            self._closed = True
            if self._pumping and self._cancel():
                self._pumping = False
            busy = self._pumping
        if not busy:
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
