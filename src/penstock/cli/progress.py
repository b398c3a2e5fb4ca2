"""A progress display for scripts: a bar on a terminal, a line now and then anywhere else.

    with progress("training", total=len(batches)) as bar:
        for batch in batches:
            bar.advance(loss=train(batch))

It writes to standard error, so standard output stays the program's. Showing is bounded to a few
times a second, so `advance` may be called every step: it costs less than a microsecond when nothing
is shown.
"""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress

BAR_SECONDS = 0.1  # between two drawings of a bar
LINE_SECONDS = 5.0  # between two lines of a log


class _Display(Protocol):
    """Where the state of a Progress is shown."""

    seconds: float  # between two calls of show

    def show(self, done: int, metrics: str) -> None: ...

    def close(self, done: int, metrics: str) -> None: ...


class _Bar:
    """A moving bar on a terminal."""

    seconds = BAR_SECONDS

    def __init__(self, label: str, total: int | None, stream: TextIO) -> None:
        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[metrics]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(file=stream),
        )
        self._task = self._bar.add_task(label, total=total, metrics="")
        self._bar.start()

    def show(self, done: int, metrics: str) -> None:
        self._bar.update(self._task, completed=done, metrics=metrics)

    def close(self, done: int, metrics: str) -> None:
        self.show(done, metrics)
        self._bar.stop()


class _Lines:
    """Lines of text, for files and pipes."""

    seconds = LINE_SECONDS

    def __init__(self, label: str, total: int | None, stream: TextIO) -> None:
        self._label, self._total, self._stream = label, total, stream
        self._shown: tuple[int, str] | None = None

    def show(self, done: int, metrics: str) -> None:
        count = f"{done}" if self._total is None else f"{done}/{self._total}"
        parts = (self._label, count, metrics)
        print("  ".join(part for part in parts if part), file=self._stream, flush=True)
        self._shown = (done, metrics)

    def close(self, done: int, metrics: str) -> None:
        if self._shown != (done, metrics):
            self.show(done, metrics)


class Progress:
    """How far a piece of work is, shown while it runs; for a `with` statement. Not thread-safe.

    Args:
      label: what is being done, in a word or two.
      total: how many steps there are; None when that is not known.
      stream: where to show it; standard error when None.
      clock: seconds, never going back.
    """

    def __init__(
        self,
        label: str,
        total: int | None = None,
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        stream = sys.stderr if stream is None else stream
        kind = _Bar if stream.isatty() else _Lines
        self._display: _Display = kind(label, total, stream)
        self._clock = clock
        self._next = clock() + self._display.seconds
        self._metrics: dict[str, object] = {}
        self.done = 0

    def advance(self, steps: int = 1, **metrics: object) -> None:
        """Counts `steps` more, and keeps the newest value of each metric.

        Metrics are numbers or scalars that convert to one (an eager tensor, say); they are
        converted only when shown.
        """
        self.done += steps
        self._metrics.update(metrics)
        now = self._clock()
        if now >= self._next:
            self._next = now + self._display.seconds
            self._display.show(self.done, self._metrics_text())

    def close(self) -> None:
        """Shows the last state and frees the terminal; may be called twice."""
        self._display.close(self.done, self._metrics_text())

    def _metrics_text(self) -> str:
        return "  ".join(f"{name} {_number(value)}" for name, value in self._metrics.items())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        stack: TracebackType | None,
    ) -> None:
        self.close()


def progress(label: str, total: int | None = None) -> Progress:
    """A Progress on standard error, for a `with` statement.

    Args:
      label: what is being done, in a word or two.
      total: how many steps there are; None when that is not known.
    """
    return Progress(label, total)


def _number(value: object) -> str:
    if isinstance(value, int | str):
        return str(value)
    return f"{float(value):.4g}"  # type: ignore[arg-type]  # scalars of many libraries convert
