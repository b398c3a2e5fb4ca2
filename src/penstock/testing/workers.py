"""Threads that report their failures, and streams whose text is kept."""

import threading
from collections.abc import Callable
from typing import Any


class CheckedThread:
    """A thread whose exception is raised by `join`."""

    def __init__(
        self, target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._target: Callable[[], Any] = lambda: target(*args, **kwargs)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._problem: BaseException | None = None
        self._joined = False
        self._started = False

    def _run(self) -> None:
        try:
            self._target()
        except BaseException as problem:  # kept for join, whatever it is
            self._problem = problem

    def start(self) -> None:
        """Starts the thread."""
        self._started = True
        self._thread.start()

    def join(self) -> None:
        """Waits for the end and raises what the thread raised."""
        self._joined = True
        self._thread.join()
        if self._problem is not None:
            raise AssertionError(f"Error in checkedThread: {self._problem}") from self._problem

    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def check_termination(self) -> None:
        """Fails when a started thread was not joined."""
        if self._started and not self._joined:
            if self._thread.is_alive():
                raise AssertionError(
                    "A checkedThread was not joined and is still running when the test ends."
                )
            raise AssertionError("A checkedThread was not joined.")


class CapturedWrites:
    """Text written to a stream."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._text = ""

    def finish(self) -> None:
        """Reads what was written."""
        self._file.seek(0)
        self._text = self._file.read().decode(errors="replace")

    def contents(self) -> str:
        """The text."""
        return self._text
