"""`BatchFunction`: calls of several steps and threads joined into one call of a function.

A `Batcher` belongs to a function. A call adds its rows to the batch that is open; a batch closes
when it is full or its time is up, and whichever of its callers wakes first runs it for all of them.
There are no threads of its own: a batch whose callers have all given up is never run.

A batch is run in a step of its own, which ends when the steps of all who called have ended: what
ends one of them is no matter of the others.

Who is in time for a batch follows from the clock. So a log of effects has for each call whether it
came to the batch that was open, and whether it ran its batch; a replay has no clock.
"""

import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.effects import inside, replaying, section, switch
from penstock.core.kernels import KernelContext, register_kernel
from penstock.graph.body import CallBody
from penstock.runtime.bodies import run_body
from penstock.runtime.control_flow import ON_HOST, with_handles
from penstock.runtime.step import Step

Array = Any
Run = Callable[[list[Array], Step], list[Array]]


@dataclass(frozen=True, slots=True)
class Limits:
    """How calls are joined.

    Attributes:
      max_batch_size: the most rows of a batch.
      timeout: seconds that a batch waits for more rows.
      allowed: the sizes that batches are padded to, increasing; any size when empty.
      max_enqueued: how many batches may wait.
      threads: how many may run at once.
      splits: whether a call of more rows is cut; otherwise it is a batch by itself.
    """

    max_batch_size: int
    timeout: float
    allowed: tuple[int, ...]
    max_enqueued: int
    threads: int
    splits: bool

    def check(self) -> None:
        """Refuses sizes that cannot be.

        Raises:
          InvalidArgumentError: see the text.
        """
        if min(self.max_batch_size, self.threads, self.max_enqueued) < 1 or self.timeout < 0:
            raise _invalid(
                "expected positive numbers of threads, rows and waiting batches, and a timeout of 0"
                f" or more, got {self}. Give larger ones."
            )
        if any(a >= b for a, b in pairwise(self.allowed)):
            raise _invalid(
                "allowed_batch_sizes entries must be monotonically increasing, got"
                f" {list(self.allowed)}. Sort them, and name each once."
            )
        if self.allowed and (
            self.allowed[-1] > self.max_batch_size
            if self.splits
            else self.allowed[-1] != self.max_batch_size
        ):
            raise _invalid(
                f"expected the last of allowed_batch_sizes to be max_batch_size,"
                f" {self.max_batch_size}, got {list(self.allowed)}. Make them agree."
            )

    @property
    def largest(self) -> int:
        """The most rows that are run at once."""
        return self.allowed[-1] if self.allowed else self.max_batch_size

    def padded(self, size: int) -> int:
        """The size that a batch of `size` rows is padded to."""
        return next((n for n in self.allowed if n >= size), size)

    def pieces(self, size: int) -> list[int]:
        """The sizes of the pieces that a call of `size` rows is cut into."""
        if not self.splits or size <= self.largest:
            return [size]
        whole, rest = divmod(size, self.largest)
        return [self.largest] * whole + [rest] * (rest > 0)


@dataclass(frozen=True, slots=True)
class Part:
    """What a call got: where its rows are in a batch.

    Attributes:
      outputs: what came of the whole batch, padding included.
      start: its first row.
      stop: the row after its last.
      size: how many rows of the batch are calls'.
      keeps: whether this call is the last that was there when the batch was run.
    """

    outputs: list[Array]
    start: int
    stop: int
    size: int
    keeps: bool


class _Batch:
    """Rows of several calls, and then what came of them."""

    __slots__ = (
        "callers", "closed", "done", "error", "keeper", "outputs", "size", "started", "step",
        "tasks", "timer",
    )  # fmt: skip

    def __init__(self) -> None:
        self.tasks: list[Sequence[Array]] = []
        self.size = 0
        self.callers: dict[int, Step | None] = {}  # who has not given up, by where its rows start
        self.step: Step | None = None  # in which it is run
        self.keeper = -1  # the last of them when it was started
        self.timer: threading.Timer | None = None
        self.closed = self.started = self.done = False
        self.outputs: list[Array] = []
        self.error: BaseException | None = None


class Batcher:
    """Joins calls of one function. Thread-safe."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.lock = threading.RLock()  # guards: _open, _waiting, _running, and the batches
        self._changed = threading.Condition(self.lock)
        self._open: _Batch | None = None
        self._waiting = 0
        self._running = 0

    def call(self, ctx: KernelContext, tensors: Sequence[Array], run: Run) -> Part:
        """What `run` gives for the rows of `tensors`, which it may get among others.

        Raises:
          UnavailableError: too many batches wait.
          CancelledError, DeadlineExceededError: the step ended first.
        """
        size = len(tensors[0])
        with section(ctx, self):
            batch = self._joined(ctx, size)
            start = batch.size
            batch.tasks.append(tensors)
            batch.size += size
            batch.callers[start] = ctx.step
            if batch.size >= self._limits.largest or not self._waits():
                self._close(batch)
            try:
                runs = self._await(ctx, batch)
                step = _step_for(ctx, list(batch.callers.values())) if runs else None
            except BaseException:
                self._leave(batch, start)
                raise
            if runs:
                batch.started = True
                self._close(batch)
                batch.keeper = max(batch.callers)
                batch.step = step
                self._waiting -= 1
                self._running += 1
        if runs:
            self._run(ctx, batch, start, run)
        if ctx.step is not None and (runs or batch.error is not None):
            ctx.step.check(f"{ctx.op_name} at its batch")  # its own reason comes first
        if batch.error is not None:
            raise batch.error
        return Part(batch.outputs, start, start + size, batch.size, batch.keeper == start)

    def _await(self, ctx: KernelContext, batch: _Batch) -> bool:
        """Waits until a batch may run or has; whether this call is the one that runs it."""

        def ready() -> bool:
            return replaying() or batch.done or self._may_start(batch)

        _wait(ctx, self._changed, ready)
        runs = _drawn(ctx, "runs its batch", lambda: not batch.done and not batch.started)
        log = switch.log
        if not runs and log is not None:
            log.follow(self._changed, lambda: batch.done)
        return runs

    def _waits(self) -> bool:
        """Whether a batch waits for more rows."""
        return self._limits.timeout > 0

    def _fits(self, size: int) -> bool:
        """Whether the batch that is open has room for so many rows."""
        batch = self._open
        return batch is not None and self._waits() and batch.size + size <= self._limits.largest

    def _joined(self, ctx: KernelContext, size: int) -> _Batch:
        """The open batch, if the rows have room there, or a new one."""
        fits = _drawn(ctx, "joins a batch", lambda: self._fits(size))
        batch = self._open
        if fits and batch is not None:
            return batch
        if batch is not None:
            self._close(batch)
        if self._waiting >= self._limits.max_enqueued:
            raise errors.UnavailableError(
                None,
                None,
                f"The batch scheduling queue is full: {self._waiting} batches wait, and"
                f" max_enqueued_batches is {self._limits.max_enqueued}. Try again later, or allow"
                " more.",
            )
        batch = self._open = _Batch()
        self._waiting += 1
        if self._waits() and not replaying():
            seconds = min(self._limits.timeout, threading.TIMEOUT_MAX)
            batch.timer = timer = threading.Timer(seconds, self._time_is_up, (batch,))
            timer.daemon = True
            timer.name = "batch timeout"  # effects know threads by rank among those of one name
            timer.start()
        return batch

    def _time_is_up(self, batch: _Batch) -> None:
        with self._changed:
            self._close(batch)

    def _close(self, batch: _Batch) -> None:
        batch.closed = True
        if self._open is batch:
            self._open = None
        if batch.timer is not None:
            batch.timer.cancel()  # its thread would stay until the time is up
        self._changed.notify_all()

    def _may_start(self, batch: _Batch) -> bool:
        return batch.closed and not batch.started and self._running < self._limits.threads

    def _leave(self, batch: _Batch, start: int) -> None:
        """A caller gives up; its rows stay for the others."""
        batch.callers.pop(start, None)
        if batch.callers:
            return
        if not batch.started:
            batch.started = True
            self._waiting -= 1
            self._close(batch)
        elif batch.step is not None and not batch.done:
            batch.step.cancel("all who called have ended")

    def _run(self, ctx: KernelContext, batch: _Batch, start: int, run: Run) -> None:
        """Runs a batch; the step of the call that does it may end meanwhile."""
        step = batch.step
        assert step is not None

        def leave() -> None:
            with self.lock:
                self._leave(batch, start)

        forget = None if ctx.step is None else ctx.step.on_cancel(leave)
        try:
            batch.outputs = self._outputs(batch, lambda columns: run(columns, step))
            if step.leases:  # the steps of others hold none on what is a variable's
                batch.outputs = [np.array(output) for output in batch.outputs]
        except Exception as problem:
            batch.error = problem
        except BaseException:  # Ctrl-C is for this thread alone
            batch.error = errors.CancelledError(
                None, None, "The call that ran this batch was interrupted. Call again."
            )
            raise
        finally:
            if forget is not None:
                forget()
            with self._changed:
                self._running -= 1
                batch.done = True
                self._changed.notify_all()
        _keep_events(ctx.step, step)

    def _outputs(self, batch: _Batch, run: Callable[[list[Array]], list[Array]]) -> list[Array]:
        padded = self._limits.padded(batch.size)
        missing = padded - batch.size
        columns = []
        for parts in zip(*batch.tasks, strict=True):
            rows = [np.asarray(p) for p in parts]
            if len({r.shape[1:] for r in rows}) > 1:
                raise _invalid(
                    "Ranks and dimensions but the first of all calls' tensors should match, got"
                    f" shapes {[list(r.shape) for r in rows]}. Give each call rows of one shape."
                )
            if missing:
                rows.append(np.repeat(next(r for r in rows if len(r))[:1], missing, 0))
            columns.append(rows[0] if len(rows) == 1 else np.concatenate(rows))
        outputs = [np.asarray(output) for output in run(columns)]
        for output in outputs:
            if output.ndim == 0:
                raise _not_by_rows("Batched output tensor has 0 dimensions", padded)
            if len(output) != padded:
                raise _not_by_rows(
                    "Batched output tensor's 0th dimension does not equal the sum of the 0th"
                    f" dimension sizes of the input tensors: it is {len(output)}",
                    padded,
                )
        return outputs


def _step_for(ctx: KernelContext, callers: Sequence[Step | None]) -> Step:
    """A step for a batch: it has as much time as one of its callers has."""
    mine = ctx.step
    if mine is None:
        return Step(ctx.resources)
    left = [None if step is None else step.remaining() for step in callers]
    times = [seconds for seconds in left if seconds is not None]
    step = Step(
        mine.resources,
        mine.state,
        max(max(times), 1e-9) if len(times) == len(left) else None,
        traced=mine.events is not None,
        counted=False,
    )
    step.who = mine.who
    return step


def _keep_events(mine: Step | None, step: Step) -> None:
    """Notes what a batch ran among what the step that ran it did, if that is traced."""
    if mine is not None and mine.events is not None:
        mine.events += step.events or ()


def _not_by_rows(text: str, size: int) -> errors.FailedPreconditionError:
    return errors.FailedPreconditionError(
        None,
        None,
        f"{text}, expected {size} rows. The function must give a row for each row it gets.",
    )


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _drawn(ctx: KernelContext, what: str, draw: Callable[[], bool]) -> bool:
    """What the clock decides for a call, or has decided when it was recorded."""
    log = switch.log
    return draw() if log is None else bool(log.drawn(ctx.step, f"{ctx.op_name} {what}", draw))


def _wait(ctx: KernelContext, condition: threading.Condition, ready: Callable[[], bool]) -> None:
    """Waits until `ready()`, or until the step ends; the caller holds `condition`."""

    def plain() -> None:
        if ctx.step is not None:
            ctx.step.wait(condition, ready, f"{ctx.op_name} at its batch")
            return
        while not ready():
            condition.wait()

    log = switch.log
    if log is None:
        plain()
    else:
        log.wait(ctx.step, ctx.op_name, condition, ready, plain)


# ---- the kernel --------------------------------------------------------------------------------

_lock = threading.Lock()  # guards: _batchers
_batchers: "weakref.WeakKeyDictionary[CallBody, dict[Limits, Batcher]]" = (
    weakref.WeakKeyDictionary()
)


def _batcher(body: CallBody, limits: Limits) -> Batcher:
    with _lock:
        made = _batchers.setdefault(body, {})
        if limits not in made:
            limits.check()
            made[limits] = Batcher(limits)
        return made[limits]


def rows_of(tensors: Sequence[Array]) -> int:
    """The number of rows that all tensors have."""
    shapes = [np.shape(t) for t in tensors]
    if any(not shape for shape in shapes):
        raise _invalid(
            "Batching input tensors must have at least one dimension, got shapes"
            f" {[list(s) for s in shapes]}. Add one with tf.expand_dims."
        )
    if len({shape[0] for shape in shapes}) != 1:
        raise _invalid(
            "Batching input tensors supplied in a given op invocation must have equal 0th-dimension"
            f" size, got shapes {[list(s) for s in shapes]}. Give each the same number of rows."
        )
    return int(shapes[0][0])


def _batch_function(
    ctx: KernelContext, in_tensors: Any, captured_tensors: Any, *, f: Any, num_batch_threads: int,
    max_batch_size: int, batch_timeout_micros: int, max_enqueued_batches: int,
    allowed_batch_sizes: Any, enable_large_batch_splitting: bool,
) -> list[Array]:  # fmt: skip
    limits = Limits(
        max_batch_size,
        batch_timeout_micros / 1e6,
        tuple(allowed_batch_sizes),
        max_enqueued_batches,
        num_batch_threads,
        enable_large_batch_splitting,
    )
    batcher = _batcher(f, limits)
    size = rows_of(in_tensors)

    def run(columns: list[Array], step: Step | None) -> list[Array]:
        inner = KernelContext(ctx.op_name, ctx.attrs, ctx.resources, ctx.device, step, ctx.graph)
        with inside(step, ctx.op_name):
            return run_body(inner, f, with_handles([*columns, *captured_tensors], (f,)))

    if not size:
        return run(list(in_tensors), ctx.step)
    found = []
    start = 0
    for count in limits.pieces(size):
        part = batcher.call(ctx, [t[start : start + count] for t in in_tensors], run)
        found.append([output[part.start : part.stop] for output in part.outputs])
        start += count
    if len(found) == 1:
        return found[0]
    return [np.concatenate(parts) for parts in zip(*found, strict=True)]


register_kernel("BatchFunction", _batch_function, kind="host", limit=ON_HOST, blocks=True)

__all__ = ["Batcher", "Limits", "Part", "rows_of"]
