"""The executor: runs the items of a plan, side by side where that pays.

Items whose order is fixed by their dependencies, and small items, run one after the other on the
calling thread. When two long items (measured) or an item that waits and any other may run at the
same time, each further one is handed to a thread; every thread goes on with what its item made
ready. The first error wins: the others are cancelled, and the caller gets that error once nothing
of the step runs any more.

No run depends on a free worker: the caller runs what was handed over and no worker has begun, and
no worker takes an item that waits. So steps whose items wait for each other's, and steps inside of
items, end however few workers there are.
"""

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from penstock.core.effects import carried, replaying, switch
from penstock.runtime.items import Item
from penstock.runtime.pool import pools
from penstock.runtime.step import Step

LONG_S = 300e-6  # an item that takes longer is worth a hand-over to a thread
_FAILED = "another operation of the step failed"
TIMED_RUNS = 8  # runs whose items are timed at first ...
TIMED_EVERY = 64  # ... and how often later


class Executor:
    """Runs items over slots. Thread-safe: what changes between runs are measurements alone."""

    def __init__(self, items: Sequence[Item], waits: Sequence[set[int]], threads: int = 0) -> None:
        """`waits`: for each item the indices of items that must end before it.

        Items are in topological order.
        """
        self.items = list(items)
        self._waits = [set(w) for w in waits]
        self._next: list[list[int]] = [[] for _ in items]
        for i, before in enumerate(waits):
            for j in before:
                self._next[j].append(i)
        self._threads = threads
        single = threads == 1 and not any(item.waits for item in items)
        self._chain = all(i == 0 or (i - 1) in w for i, w in enumerate(waits)) or single
        self._seconds = [0.0] * len(items)
        self._runs = 0
        self._independent: list[int] | None = None  # found when it is first needed
        self._parallel = not self._chain and self._has_parallel_work()

    def run(self, slots: list[Any], step: Step) -> None:
        """Runs all items.

        Raises:
          OpError: that of the item that failed first.
        """
        if self._parallel or (switch.log is not None and not self._chain):
            _ParallelRun(self, slots, step).run()
        elif self._chain:
            for item in self.items:
                if step._error is not None or step._deadline is not None:
                    step.check(item.name)
                item.run(slots, step)
        else:
            self._run_timed(slots, step)

    def _run_timed(self, slots: list[Any], step: Step) -> None:
        self._runs += 1
        timed = self._runs <= TIMED_RUNS or self._runs % TIMED_EVERY == 0
        for i, item in enumerate(self.items):
            if step._error is not None or step._deadline is not None:
                step.check(item.name)
            if timed:
                start = time.perf_counter()
                item.run(slots, step)
                self.note(i, time.perf_counter() - start)
            else:
                item.run(slots, step)
        if timed and self._runs > 1:
            self._parallel = self._has_parallel_work()

    def note(self, index: int, seconds: float) -> None:
        """Takes a measurement of an item: the smallest counts, so that a compilation does not."""
        known = self._seconds[index]
        self._seconds[index] = seconds if known == 0.0 else min(known * 1.1, seconds)

    def is_long(self, index: int) -> bool:
        """Whether an item is worth a thread of its own."""
        if self.items[index].may_wait:
            return True
        return self._threads != 1 and self._seconds[index] > LONG_S

    def _has_parallel_work(self) -> bool:
        """Whether two long items, or one that waits and any other, may run at the same time."""
        waiting = [i for i, item in enumerate(self.items) if item.waits]
        long = [i for i, s in enumerate(self._seconds) if s > LONG_S] if self._runs > 1 else []
        if not waiting and len(long) < 2:
            return False
        if self._independent is None:
            self._independent = _independent(self._waits)
        if any(self._independent[i] for i in waiting):
            return True
        bits = sum(1 << i for i in long)
        return any(self._independent[i] & bits for i in long)


def _independent(waits: Sequence[set[int]]) -> list[int]:
    """For each item a bit set of those that neither come before nor after it."""
    before: list[int] = []
    for direct in waits:
        bits = 0
        for j in direct:
            bits |= before[j] | 1 << j
        before.append(bits)
    after = [0] * len(before)
    for i in reversed(range(len(waits))):
        for j in waits[i]:
            after[j] |= after[i] | 1 << i
    every = (1 << len(before)) - 1
    return [every & ~(b | a | 1 << i) for i, (b, a) in enumerate(zip(before, after, strict=True))]


class _ParallelRun:
    """One run of an executor on several threads.

    An item that is handed over lies in a queue of the run until a thread begins it. Ctrl-C in the
    caller's thread may come between any two lines of it, so that thread counts nothing there.
    """

    def __init__(self, executor: Executor, slots: list[Any], step: Step) -> None:
        self.executor = executor
        self.slots = slots
        self.step = step
        self.condition = threading.Condition()  # guards: all that follows but problems
        self.missing = [len(w) for w in executor._waits]
        self.handed: deque[int] = deque()  # for a worker, or the caller if it is free before
        self.waiting: deque[int] = deque()  # for threads of their own
        self.threads = 0  # others that work for this run
        self.error: BaseException | None = None
        self.problems: list[Exception] = []  # in a replay: errors that have not stopped the others

    def run(self) -> None:
        """Runs everything; returns or raises when no thread works for this run any more."""
        ready = [i for i, n in enumerate(self.missing) if n == 0]
        try:
            self._drain(ready, may_wait=True)
            self._stop()
            self._join()
        except BaseException as problem:  # Ctrl-C in this thread: stop the others first
            self._fail(problem)
            self._join()
        if self.error is not None or self.problems:
            raise self.error or self.problems[0]

    def _join(self) -> None:
        """Waits for those who work for this run; does what no worker has begun."""
        while True:
            with self.condition:
                while not self.handed and (self.threads or self.waiting):
                    self.condition.wait()
                if not self.handed:
                    return
                index = self.handed.popleft()
            if self.error is None:
                self._drain(self._run_item(index), may_wait=False)
            self._stop()

    def _drain(self, ready: list[int], may_wait: bool) -> None:
        """Runs items on this thread until there are none left for it; hands long ones over.

        Args:
          ready: the items that may run.
          may_wait: whether this thread takes items that wait.
        """
        local: list[int] = []
        while True:
            self._share(ready, local, may_wait)
            if not local or self.error is not None:
                return
            index = local.pop()
            ready = self._run_item(index)

    def _share(self, ready: list[int], local: list[int], may_wait: bool) -> None:
        """Short items to `local`.

        Long ones to threads, but for one when this thread has nothing else.
        """
        is_long, items = self.executor.is_long, self.executor.items
        long: list[int] = []
        short: list[int] = []
        for i in ready:  # asked once: other runs' measurements may change the answer
            (long if is_long(i) else short).append(i)
        local.extend(reversed(short))
        long.sort(key=lambda i: items[i].may_wait)
        if long and not local and (may_wait or not items[long[0]].may_wait):
            local.append(long.pop(0))
        for index in long:
            self._hand_over(index)

    def _hand_over(self, index: int) -> None:
        waits = self.executor.items[index].may_wait
        given, pool = (self.waiting, pools.waiters()) if waits else (self.handed, pools.workers())
        with self.condition:
            given.append(index)
            self.condition.notify_all()  # the caller may be free before a worker is
        pool.submit(carried(lambda: self._work(given, waits)))

    def _work(self, given: deque[int], may_wait: bool) -> None:
        """What a thread of a pool does: an item of `given` that nobody has begun, if there is one.

        And what that makes ready.
        """
        with self.condition:
            if not given:
                return
            index = given.popleft()
            self.threads += 1
        try:
            if self.error is None:
                self._drain(self._run_item(index), may_wait)
            self._stop()
        except BaseException as problem:  # the caller raises it
            self._fail(problem)
        finally:
            with self.condition:
                self.threads -= 1
                self.condition.notify_all()

    def _run_item(self, index: int) -> list[int]:
        """Runs one item; returns those that it made ready."""
        item, step = self.executor.items[index], self.step
        try:
            step.check(item.name)
            start = time.perf_counter()
            item.run(self.slots, step)
            self.executor.note(index, time.perf_counter() - start)
        except Exception as problem:
            if replaying():
                self.problems.append(problem)
            else:
                self._fail(problem)
            return []
        ready = []
        with self.condition:
            for after in self.executor._next[index]:
                self.missing[after] -= 1
                if not self.missing[after]:
                    ready.append(after)
        return ready

    def _stop(self) -> None:
        """In a replay, stops the others when an item has failed: once those ran that did then.

        One that ended because another failed stops none: the thread of that other one does.
        """
        own = [p for p in self.problems if _FAILED not in str(p)]
        if own and self.error is None:
            log = switch.log
            if log is not None:
                log.failing(self.step)
            self._fail(own[0])

    def _fail(self, problem: BaseException) -> None:
        with self.condition:
            first = self.error is None
            if first or isinstance(problem, KeyboardInterrupt):
                self.error = problem
            self.handed.clear()
            self.waiting.clear()
        if first:
            self.step.cancel(_FAILED if isinstance(problem, Exception) else "interrupted")
