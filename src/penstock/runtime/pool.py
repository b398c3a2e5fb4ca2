"""Threads of the executor: a bounded shared pool for long items, and helpers for items that wait.

Long items share as many workers as the process may use processors (PENSTOCK_THREADS,
TF_NUM_INTEROP_THREADS). An item that waits (a queue, user code) would starve them, so it gets a
thread of its own, which is kept for a while and used again. All threads are daemons and take no
work after a fork.
"""

import os
import threading
from collections import deque
from collections.abc import Callable

from penstock.config import env

IDLE_S = 10.0  # how long a helper waits for the next item before it ends


class Pool:
    """Threads that run submitted functions. Thread-safe."""

    def __init__(self, limit: int, name: str) -> None:
        self._limit = limit
        self._name = name
        self._condition = threading.Condition()  # guards: _work, _idle, _threads
        self._work: deque[Callable[[], None]] = deque()
        self._idle = 0
        self._threads = 0

    def submit(self, work: Callable[[], None]) -> None:
        """Runs `work`, which must not raise, on a thread.

        An idle one, a new one below the limit, else the next free.
        """
        with self._condition:
            self._work.append(work)
            if self._idle >= len(self._work):
                self._condition.notify()
                return
            if self._threads >= self._limit:
                return
            self._threads += 1
        threading.Thread(target=self._serve, name=self._name, daemon=True).start()

    def _serve(self) -> None:
        while True:
            with self._condition:
                self._idle += 1
                found = self._condition.wait_for(lambda: bool(self._work), IDLE_S)
                self._idle -= 1
                if not found:
                    self._threads -= 1
                    return
                work = self._work.popleft()
            work()
            del work


def worker_count() -> int:
    """How many long items run at the same time in this process."""
    return int(
        env.get("PENSTOCK_THREADS") or env.get("TF_NUM_INTEROP_THREADS") or available_processors()
    )


def available_processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Pools:
    """The process's pools, made at first use and anew after a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards: _workers, _waiters
        self._workers: Pool | None = None
        self._waiters: Pool | None = None
        self.wanted = 0  # workers that the program asked for; 0 leaves it to `worker_count`

    @property
    def started(self) -> bool:
        """Whether the number of workers is fixed."""
        return self._workers is not None

    def workers(self) -> Pool:
        """For long items."""
        with self._lock:
            if self._workers is None:
                self._workers = Pool(self.wanted or worker_count(), "penstock-worker")
            return self._workers

    def waiters(self) -> Pool:
        """For items that wait."""
        with self._lock:
            if self._waiters is None:
                self._waiters = Pool(1 << 14, "penstock-waiter")
            return self._waiters


pools = _Pools()


def _after_fork() -> None:
    wanted = pools.wanted
    pools.__init__()  # type: ignore[misc]
    pools.wanted = wanted


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
