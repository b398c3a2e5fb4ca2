"""Queues: what a handle refers to.

A queue is a `QueueState`: elements of one or more components, with a bound on their number. Puts
and takes that cannot end at once wait in two lines; whatever changes the queue runs the first of
each line as far as it gets (`_settle`). A put of many elements enters as they find room; a take of
many collects as they come, so it may ask for more than the queue holds at a time, and gives back
what it has when it fails.

Which element comes next, and how many become a batch, the kinds say (`queue_kinds`).
`queue_saving` writes and reads contents.
"""

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np

from penstock import errors
from penstock.core.effects import section
from penstock.core.kernels import KernelContext
from penstock.ops.queue_waiting import wait_until
from penstock.types import dims as d
from penstock.types.dims import Dims
from penstock.types.dtypes import DType

Array = Any  # numpy.ndarray
Row = tuple[Array, ...]  # one element: an array for each component

# NumPy lets go of the interpreter while it copies more elements than the first number. The thread
# at the other end of the queue then takes it, and this one waits for it back: more than the copy of
# fewer bytes than the second number takes.
SMALLEST_HELD = 500
LARGEST_HELD = 1 << 18


def own_copy(array: Array) -> Array:
    """A copy, made without handing the interpreter over where that costs more than the copy."""
    other = array.size < SMALLEST_HELD or array.nbytes > LARGEST_HELD
    if other or array.dtype.hasobject or not array.flags.c_contiguous:
        return array.copy()
    data = bytearray(array.reshape(-1).view(np.uint8))
    return np.ndarray(array.shape, array.dtype, data)


class _Attempt:
    """Something that waits in line. `advance` does what it can; True when something changed."""

    __slots__ = ("condition", "done", "error")

    def __init__(self) -> None:
        self.done = False
        self.error: errors.OpError | None = None
        self.condition: threading.Condition | None = None

    def advance(self, queue: "QueueState") -> bool:
        """Does what the queue allows."""
        raise NotImplementedError

    def undo(self, queue: "QueueState") -> None:
        """Called when nobody waits for the outcome any more."""

    def fail(self, error: errors.OpError) -> bool:
        """Ends with an error."""
        self.error, self.done = error, True
        return True


class _Put(_Attempt):
    __slots__ = ("batches", "count", "position")

    def __init__(self, batches: Row, count: int) -> None:
        super().__init__()
        self.batches, self.count, self.position = batches, count, 0

    def advance(self, queue: "QueueState") -> bool:
        if queue.closed and self.count:
            return self.fail(queue.refusal())
        room = self.count - self.position
        if queue.capacity >= 0:
            room = min(room, queue.capacity - queue.length)
        if room > 0:
            queue.push(self.batches, self.position, self.position + room)
            self.position += room
        self.done = self.position == self.count
        return room > 0 or self.done


class _Close(_Attempt):
    """Closes the queue once those who put before it are done."""

    __slots__ = ()

    def advance(self, queue: "QueueState") -> bool:
        if queue.closed:
            return self.fail(
                errors.CancelledError(
                    None,
                    None,
                    f"{queue} is already closed: expected an open queue. Close it once, or with "
                    "cancel_pending_enqueues=True, which a closed queue takes too.",
                )
            )
        queue.closed = self.done = True
        return True


class _Take(_Attempt):
    __slots__ = ("count", "fewer", "taken", "wanted")

    def __init__(self, wanted: int, fewer: bool) -> None:
        super().__init__()
        self.wanted, self.fewer = wanted, fewer
        self.count = 0
        self.taken: list[Any] = []

    def advance(self, queue: "QueueState") -> bool:
        count = min(queue.available(), self.wanted - self.count)
        if count > 0:
            self.taken += queue.pop(count)
            self.count += count
        if self.count == self.wanted:
            self.done = True
        elif queue.closed:
            if self.fewer and self.count:
                self.done = True
            else:
                size = self.count + queue.length
                self.undo(queue)
                return self.fail(queue.exhausted(self.wanted, size))
        return count > 0 or self.done

    def undo(self, queue: "QueueState") -> None:
        queue.put_back(self.taken)
        self.taken, self.count = [], 0


class QueueState:
    """A queue. Thread-safe; `capacity` is -1 for none.

    Attributes:
      has_sizes: whether elements have known shapes, so that they can become batches.
    """

    kind: ClassVar[str] = "Queue"

    def __init__(
        self, name: str, dtypes: Sequence[DType], shapes: Sequence[Dims], capacity: int
    ) -> None:
        self.name = name
        self.dtypes = tuple(dtypes)
        self.shapes = tuple(shapes)
        self.has_sizes = bool(shapes) and not any(d.num_elements(s) is None for s in shapes)
        self.capacity = capacity if capacity >= 0 else -1
        self.closed = False
        self.lock = threading.RLock()  # guards: closed, _puts, _takes and the elements
        self._puts: deque[_Attempt] = deque()
        self._takes: deque[_Take] = deque()

    # ---- what a kind of queue says

    @property
    def length(self) -> int:
        """The number of elements."""
        raise NotImplementedError

    def push(self, batches: Row, start: int, stop: int) -> None:
        """Adds elements start to stop of arrays that nobody else changes."""
        raise NotImplementedError

    def pop(self, count: int) -> list[Any]:
        """Removes the next elements."""
        raise NotImplementedError

    def put_back(self, taken: list[Any]) -> None:
        """Adds what `pop` gave, as the next elements."""
        raise NotImplementedError

    def discard(self) -> None:
        """Removes all elements."""
        raise NotImplementedError

    def element(self, taken: list[Any]) -> list[Array]:
        """The components of one element that `pop` gave."""
        raise NotImplementedError

    def batch(self, taken: list[Any]) -> list[Array]:
        """The components of all elements that `pop` gave, each in one array."""
        raise NotImplementedError

    def rows(self) -> list[Row]:
        """The elements, the next one first."""
        raise NotImplementedError

    def available(self) -> int:
        """How many elements may be taken now."""
        return self.length

    # ---- what operations do

    def enqueue(self, ctx: KernelContext, components: Sequence[Array]) -> None:
        """Adds one element; waits for room.

        Raises:
          InvalidArgumentError: a component does not fit.
          CancelledError: the queue is closed.
        """
        self.check_types(ctx.attrs["Tcomponents"])
        for i, (shape, value) in enumerate(zip(self.shapes, components, strict=False)):
            if not d.compatible(shape, value.shape):
                self._mismatch(i, d.text(shape), value.shape)
        self._wait(ctx, _Put(tuple([own_copy(v[None]) for v in components]), 1), self._puts)

    def enqueue_many(self, ctx: KernelContext, components: Sequence[Array]) -> None:
        """Adds elements, those along the first dimension; waits for room.

        Raises:
          InvalidArgumentError: a component does not fit.
          CancelledError: the queue is closed.
        """
        self.check_types(ctx.attrs["Tcomponents"])
        count = len(components[0]) if components[0].ndim else 0
        for i, value in enumerate(components):
            if value.ndim == 0:
                self.refuse(f"component {i} of rank at least 1", "a scalar", "Use enqueue.")
            if len(value) != count:
                self.refuse(
                    "all components with the same size in the 0th dimension",
                    f"{count} in component 0 and {len(value)} in component {i}",
                )
            if i < len(self.shapes) and not d.compatible(self.shapes[i], value.shape[1:]):
                wanted = None if self.shapes[i] is None else (count, *self.shapes[i])  # type: ignore[misc]
                self._mismatch(i, d.text(wanted), value.shape)
        self._wait(ctx, _Put(tuple([own_copy(v) for v in components]), count), self._puts)

    def dequeue(self, ctx: KernelContext) -> list[Array]:
        """Takes one element; waits for it.

        Raises:
          OutOfRangeError: the queue is closed and empty.
        """
        self.check_types(ctx.attrs["component_types"])
        take = _Take(1, False)
        self._wait(ctx, take, self._takes)
        return self.element(take.taken)

    def dequeue_many(self, ctx: KernelContext, count: int, fewer: bool = False) -> list[Array]:
        """Takes `count` elements as one batch; waits for them.

        With `fewer` what is left, if anything, when the queue is closed.

        Raises:
          InvalidArgumentError: the components' shapes are not known.
          OutOfRangeError: the queue is closed and has not enough.
        """
        self.check_types(ctx.attrs["component_types"])
        if count < 0:
            self.refuse("a number of elements >= 0", str(count))
        self.check_batches()
        take = _Take(count, fewer)
        self._wait(ctx, take, self._takes)
        return self.batch(take.taken) if take.count else self.empty_batch()

    def close_for_puts(self, ctx: KernelContext, cancel: bool) -> None:
        """Refuses puts from now on; those that wait are served first, or cancelled."""
        if cancel:
            with section(ctx, self):
                self.close()
        else:
            self._wait(ctx, _Close(), self._puts)

    def close(self) -> None:
        """Refuses puts from now on, and cancels those that wait. A second call does nothing."""
        with self.lock:
            self.closed = True
            self._settle()

    # ---- helpers

    def check_types(self, given: Sequence[DType]) -> None:
        """Raises InvalidArgumentError unless an operation's components are the queue's."""
        if tuple(given) == self.dtypes:
            return
        if len(given) != len(self.dtypes):
            self.refuse(f"{len(self.dtypes)} components", str(len(given)))
        i = next(i for i, t in enumerate(given) if t is not self.dtypes[i])
        self.refuse(f"component {i} of dtype {self.dtypes[i].name}", given[i].name, "Cast it.")

    def check_batches(self) -> None:
        """Raises InvalidArgumentError unless elements can become batches."""
        if not self.has_sizes:
            shapes = [d.text(s) for s in self.shapes]
            self.refuse(
                "components of specified shapes, as DequeueMany and DequeueUpTo require",
                f"shapes {shapes}",
                "Give the queue `shapes`, or use dequeue.",
            )

    def empty_batch(self) -> list[Array]:
        """No elements, as a batch."""
        return [
            np.zeros((0, *(n or 0 for n in shape or ())), t.numpy_dtype)
            for shape, t in zip(self.shapes, self.dtypes, strict=True)
        ]

    def refusal(self) -> errors.OpError:
        """What a put into a closed queue gets."""
        return errors.CancelledError(
            None,
            None,
            f"{self} is closed: expected an open queue to put elements into. Close it when the "
            "last one was put.",
        )

    def exhausted(self, wanted: int, size: int) -> errors.OpError:
        """What a take from a closed queue with too few elements gets."""
        return errors.OutOfRangeError(
            None,
            None,
            f"{self} is closed and has insufficient elements (requested {wanted}, current size "
            f"{size}). It is the end of its data; catch OutOfRangeError.",
        )

    def refuse(self, expected: str, got: str, fix: str = "") -> NoReturn:
        """Raises InvalidArgumentError."""
        text = f"{self}: expected {expected}, got {got}. {fix}"
        raise errors.InvalidArgumentError(None, None, text.rstrip())

    def _mismatch(self, component: int, expected: str, got: Any) -> NoReturn:
        text = f"Shape mismatch in tuple component {component} of {self}. Expected {expected}, got"
        raise errors.InvalidArgumentError(
            None, None, f"{text} {d.text(got)}. Put elements of the shapes it was made with."
        )

    def _wait(self, ctx: KernelContext, attempt: _Attempt, line: Any) -> None:
        with section(ctx, self):
            if line or not self._runs_at_once(attempt):
                line.append(attempt)
                self._settle()
                if not attempt.done:
                    self._wait_in_line(ctx, attempt, line)
        if attempt.error is not None:
            raise attempt.error

    def _runs_at_once(self, attempt: _Attempt) -> bool:
        """Runs what has nobody before it; whether it is done."""
        attempt.advance(self)
        if attempt.done and (self._puts or self._takes):
            self._settle()
        return attempt.done

    def _wait_in_line(self, ctx: KernelContext, attempt: _Attempt, line: Any) -> None:
        attempt.condition = threading.Condition(self.lock)
        try:
            wait_until(ctx, attempt.condition, lambda: attempt.done, str(self))
        except BaseException:
            if not attempt.done:
                line.remove(attempt)
            attempt.undo(self)
            self._settle()
            raise

    def _settle(self) -> None:
        """Runs those in line until nothing changes."""
        changed = True
        while changed and (self._puts or self._takes):
            changed = self._run(self._puts) | self._run(self._takes)

    def _run(self, line: Any) -> bool:
        changed = False
        while line and line[0].advance(self):
            changed = True
            if line[0].done:
                ended = line.popleft()
                if ended.condition is not None:
                    ended.condition.notify_all()
        return changed

    def contents(self) -> list[Row]:
        """The elements, the next one first, with those that takes in line hold."""
        with self.lock:
            for take in reversed(self._takes):
                take.undo(self)
            rows = self.rows()
            self._settle()
            return rows

    def replace(self, rows: list[Row], closed: bool) -> None:
        """Other contents: those of a checkpoint."""
        with self.lock:
            for take in self._takes:
                take.undo(self)
            self.discard()
            for row in rows:
                self.push(tuple([np.asarray(value)[None] for value in row]), 0, 1)
            self.closed = closed
            self._settle()

    def __str__(self) -> str:
        return f"{self.kind} '{self.name}'"
