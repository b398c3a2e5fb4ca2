"""Threads that run ahead of those who wait.

A `Task` is run once: by a thread of the pool, or by whoever waits for it and finds that no thread
has begun it. So a wait is only ever for something that runs, and stages may wait for each other
however few threads there are.
"""

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

_MOST_LEFT = 256


class Task:
    """A function that is run once, here or on another thread. Thread-safe.

    Attributes:
      begun: whether somebody runs it, or has cancelled it.
      done: whether it has ended.
      result: what it gave.
      error: what it raised.
    """

    __slots__ = ("_changed", "_function", "begun", "done", "error", "result")

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function: Callable[[], Any] | None = function
        self._changed = threading.Condition()  # guards: all others
        self.begun = False
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> bool:
        """Runs the function unless somebody has begun to; whether this call did."""
        with self._changed:
            if self.begun:
                return False
            self.begun = True
        function, self._function = self._function, None
        assert function is not None
        try:
            self.result = function()
        except BaseException as error:
            self.error = error
            if not isinstance(error, Exception):
                self._finish()
                raise
        self._finish()
        return True

    def cancel(self) -> bool:
        """Makes it a task that nobody runs; False where somebody has begun to."""
        with self._changed:
            if self.begun:
                return False
            self.begun = True
        self._function = None
        self._finish()
        return True

    def _finish(self) -> None:
        with self._changed:
            self.done = True
            self._changed.notify_all()

    def wait(self) -> None:
        """Returns when it is done; runs it where nobody has begun to."""
        if self.done or self.run():
            return
        with self._changed:
            while not self.done:
                self._changed.wait()

    def get(self) -> Any:
        """Its result, once it is done; raises what it raised."""
        self.wait()
        if self.error is not None:
            raise self.error
        return self.result


class Pool:
    """Threads that run tasks. Thread-safe; its threads end with the process.

    Args:
      size: how many there are at most.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._lock = threading.Lock()  # guards: _threads, _idle, _left, _most
        self._threads = 0
        self._idle = 0
        self._left = 0  # tasks that no thread has taken
        self._most = _MOST_LEFT  # of them, before those are dropped that somebody has begun

    def submit(self, function: Callable[[], Any]) -> Task:
        """Has a function run by a thread when there is one."""
        task = Task(function)
        with self._lock:
            self._left += 1
            if self._left > self._idle and self._threads < self.size:
                threading.Thread(target=self._work, daemon=True, name="penstock-data").start()
                self._threads += 1
            self._tasks.put(task)
            if self._left > self._most:
                self._drop_begun()
        return task

    def _drop_begun(self) -> None:
        """Drops the tasks that others have begun, or cancelled; `_lock` is held.

        While all threads are busy, whoever waits runs its tasks itself, for as long as that lasts.
        """
        kept: list[Task] = []
        with contextlib.suppress(queue.Empty):
            while True:
                task = self._tasks.get_nowait()
                self._left -= 1
                if not task.begun:
                    kept.append(task)
        for task in kept:
            self._tasks.put(task)
        self._left += len(kept)
        self._most = max(_MOST_LEFT, 2 * self._left)

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            task = self._tasks.get()
            with self._lock:
                self._idle -= 1
                self._left -= 1
            with contextlib.suppress(BaseException):  # the task has it for whoever waits
                task.run()
            del task  # what it gave is kept by nobody while the thread is idle


class Watched(Protocol):
    """What a `Watch` looks at."""

    def look(self) -> bool:
        """Called again and again until it gives False. It returns soon."""


class Watch:
    """A thread that looks at things every millisecond, as long as there are any. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # guards: _all, _started
        self._all: list[Watched] = []
        self._started = False

    def add(self, item: Watched) -> None:
        """Has something looked at."""
        with self._changed:
            self._all.append(item)
            if not self._started:
                self._started = True
                threading.Thread(target=self._work, daemon=True, name="penstock-data-watch").start()
            elif len(self._all) == 1:
                self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._all:
                    self._changed.wait()
                taken, self._all = self._all, []
            time.sleep(LOOK_S)
            kept = [item for item in taken if item.look()]
            with self._changed:
                self._all += kept
            del taken, kept


LOOK_S = 1e-3
_pools: dict[int, Pool] = {}
_watches: list[Watch] = []
_pools_lock = threading.Lock()  # guards: _pools, _watches
_SPARE = 2  # threads beside one for each processor: for those that wait for files


def shared_pool(threads: int = 0) -> Pool:
    """The pool of a number of threads; of as many as there are processors, and two, by default."""
    size = threads or processors() + _SPARE
    with _pools_lock:
        if size not in _pools:
            _pools[size] = Pool(size)
        return _pools[size]


def shared_watch() -> Watch:
    """The watch of the process."""
    with _pools_lock:
        if not _watches:
            _watches.append(Watch())
        return _watches[0]


def processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Process:
    """Which process this is.

    Attributes:
      number: how often the program was forked on the way to it.
    """

    number = 0


def _forget_pools() -> None:
    global _pools_lock  # another thread may have held it
    Process.number += 1
    _pools_lock = threading.Lock()
    _pools.clear()  # a forked child has none of the threads
    _watches.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)
