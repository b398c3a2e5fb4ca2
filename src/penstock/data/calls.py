"""Stages that call a function for several elements at once, on threads.

A call is a task of the pool. A function that neither waits nor has effects is called by whoever
asks, as long as a call takes less than a thread costs.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from penstock import errors
from penstock.data import restoring
from penstock.data.pool import Task
from penstock.data.run import Run, UnwantedError
from penstock.data.stages import (
    Description,
    Element,
    Stage,
    State,
    UnaryStage,
    left_behind,
)

CHEAP_S = 5e-4  # a call that takes less is not worth a thread
TRIES = 3  # calls whose quickest says what one takes
TRIED_AGAIN = 256  # calls on threads before others are tried here again


class ParallelStage(UnaryStage):
    """Calls a function for several elements at once.

    A function that neither waits nor has effects is called here, for one element after the other,
    as long as a call takes less than a thread costs.

    Args:
      input: the elements.
      function: what is called with each.
      run: its threads are used.
      count: how many calls are under way.
      ordered: whether results come in the order of the elements, or as they are made.
      pure: whether the function neither waits nor has effects.
      of: whose elements the results are; None where they are of no dataset.
    """

    def __init__(
        self, input: Stage, function: Callable[[Element], Any], run: Run, count: int,
        ordered: bool, pure: bool = False, of: Description | None = None,
    ) -> None:  # fmt: skip
        super().__init__(input)
        self._of = of
        self._function = function
        self._run = run
        self._count = count
        self._ordered = ordered
        self._pure = pure
        self._here = pure  # whether elements are worked on by whoever asks for them
        self._costs: list[float] = []  # seconds of the last calls here
        self._calls = 0  # since calls were last made here
        self._tasks: deque[Task] = deque()
        self._ended = False

    def _fill(self) -> None:
        while not self._ended and len(self._tasks) < self._count:
            try:
                found = self.input.next()
            except UnwantedError:
                raise
            except Exception as error:
                self._tasks.append(failed(error))
                continue
            if found is None:
                self._ended = True
                return
            self._tasks.append(self._run.pool.submit(_Call(self._function, found)))

    def next(self) -> Element | None:
        """The next result."""
        if not self._here:
            self._fill()
            self._calls += 1
            self._here = self._pure and self._calls > TRIED_AGAIN
        if not self._tasks:
            return self._call() if self._here and not self._ended else None
        if not self._ordered:
            done = next((i for i, task in enumerate(self._tasks) if task.done), 0)
            self._tasks.rotate(-done)
        return tuple(self._tasks.popleft().get())

    def _call(self) -> Element | None:
        """Calls the function for the next element."""
        found = self.input.next()
        if found is None:
            self._ended = True
            return None
        start = time.perf_counter()
        try:
            return tuple(self._function(found))
        finally:
            self._costs.append(time.perf_counter() - start)
            if len(self._costs) == TRIES:
                self._here = min(self._costs) < CHEAP_S
                self._costs.clear()
                self._calls = 0

    def save(self) -> State:
        """Where the input is, and the results that were made ahead."""
        for task in self._tasks:
            task.wait()
        return {
            **super().save(),
            "ended": self._ended,
            "made": [outcome(task) for task in self._tasks],
        }

    def restore(self, state: State) -> None:
        """Puts the input there, and has those results again."""
        super().restore(state)
        self._ended = restoring.flag(state["ended"], "Several calls at once")
        made = restoring.several(state["made"], "Several calls at once")
        self._tasks = deque(from_outcome(each, self._of) for each in made)

    def after_fork(self) -> None:
        """Keeps the calls that are done, and those that nobody has begun."""
        if any(task.begun and not task.done for task in self._tasks):
            raise left_behind("Several calls at once")
        super().after_fork()

    def close(self) -> None:
        """Takes no more elements, and begins no call for those that were taken."""
        self._ended = True
        for task in tuple(self._tasks):
            if task.cancel():
                task.error = errors.CancelledError(None, None, "The iterator was closed.")
        super().close()


class _Call:
    """A function with its element."""

    __slots__ = ("_element", "_function")

    def __init__(self, function: Callable[[Element], Any], element: Element) -> None:
        self._function = function
        self._element = element

    def __call__(self) -> Any:
        return self._function(self._element)


def failed(error: BaseException) -> Task:
    """A task that has failed."""
    task = Task(lambda: None)
    task.run()
    task.error = error
    return task


def outcome(task: Task) -> State:
    """What a task that is done gave, to be saved."""
    if task.error is not None:
        return {"error": task.error}
    return {"value": list(task.result)}


def from_outcome(state: State, of: Description | None) -> Task:
    """A task that gives what was saved.

    Raises:
      InvalidArgumentError: it is no element of the dataset.
    """
    if "error" in state:
        return failed(restoring.error(state["error"], "The result of a call"))
    value = restoring.several(state["value"], "The result of a call")
    found = tuple(value) if of is None else restoring.element(value, of, of.kind)
    task = Task(lambda: found)
    task.run()
    return task
