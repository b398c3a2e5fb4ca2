"""Mutexes: at most one holder at a time, across steps.

`MutexLock` gives a token once nobody else holds the mutex; `ConsumeMutexLock` gives it back. A
token that is dropped, because its step failed, is given back too. `CriticalSection` is made of
these.
"""

import threading
from typing import Any

from penstock import errors
from penstock.core import rounds, shapes
from penstock.core.kernels import KernelContext, host_kernel
from penstock.core.op_def import define_op
from penstock.core.resources import ResourceHandle
from penstock.ops.queue_waiting import Line, make_handle

_HOST = 1 << 62


class Mutex:
    """Held by one token at a time; those who want it wait in line. Thread-safe."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.condition = threading.Condition()  # guards: holder
        self.held = False
        self._line = Line()

    def acquire(self, ctx: KernelContext) -> "MutexToken":
        """Waits until nobody holds the mutex."""
        with self.condition:
            self._line.wait(ctx, self.condition, lambda: not self.held, f"mutex '{self.name}'")
            self.held = True
        return MutexToken(self)

    def release(self) -> None:
        """Lets the next in line have it."""
        with self.condition:
            self.held = False
            self.condition.notify_all()


class MutexToken:
    """What holds a mutex. Given back once, at the latest when nothing refers to it any more."""

    __slots__ = ("_mutex",)

    def __init__(self, mutex: Mutex) -> None:
        self._mutex: Mutex | None = mutex

    def release(self) -> None:
        """Gives the mutex back; a second call does nothing."""
        mutex, self._mutex = self._mutex, None
        if mutex is not None:
            mutex.release()

    def __del__(self) -> None:
        self.release()

    def __repr__(self) -> str:
        return "<mutex token>"


MUTEX = define_op(
    "MutexV2(; container: string = '', shared_name: string = '') -> resource: resource",
    shape=shapes.scalar,
    stateful=True,
    doc="A mutex, shared by name.",
).not_differentiable("it has no inputs")


@host_kernel(MUTEX, limit=_HOST)
def _mutex(ctx: KernelContext) -> ResourceHandle:
    return make_handle(ctx, ctx.attrs["container"], ctx.attrs["shared_name"], Mutex, Mutex)


LOCK = define_op(
    "MutexLock(mutex: resource) -> mutex_lock: variant",
    shape=shapes.scalar,
    stateful=True,
    doc="A token that holds a mutex; waits until nobody else does.",
).without_gradient("a token is no number")


@host_kernel(LOCK, limit=_HOST, blocks=True)
def _lock(ctx: KernelContext, mutex: Any) -> MutexToken:
    held = getattr(mutex, "resource", None)
    if not isinstance(held, Mutex):
        raise errors.InvalidArgumentError(
            None, None, f"expected the handle of a mutex, got {mutex!r}."
        )
    if held in rounds.held():
        raise errors.FailedPreconditionError(
            None,
            None,
            f"expected a mutex that the caller does not hold, got '{held.name}', whose critical "
            "section the program runs around this step: it would wait for itself. Call the "
            "function outside of the section, or give it one of its own.",
        )
    return held.acquire(ctx)


CONSUME = define_op(
    "ConsumeMutexLock(mutex_lock: variant) -> ()",
    shape=shapes.no_output,
    stateful=True,
    doc="Gives a mutex back.",
).not_differentiable("it has no outputs")


@host_kernel(CONSUME, limit=_HOST)
def _consume(mutex_lock: Any) -> None:
    if not isinstance(mutex_lock, MutexToken):
        raise errors.InvalidArgumentError(
            None, None, f"expected the output of MutexLock, got {mutex_lock!r}."
        )
    mutex_lock.release()
