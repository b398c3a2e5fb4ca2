"""Recording effects: each turn is written to a file in the order in which turns were taken.

A turn is noted while the locks of what it touches are held, so the order in the file is one in
which the run could have happened one turn after the other. What waits is noted when it has what it
waited for, or when it gives up, with its error. Effects are kept in memory up to `buffer_size` and
then written, so a run that is killed leaves a log that lacks at most so many.
"""

import contextlib
import errno
import functools
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

from penstock import errors
from penstock.core import determinism, effects
from penstock.core.effect_files import Effect, EffectWriter
from penstock.core.effects import EffectLog, switch
from penstock.core.files import CLASSES

LARGEST_BUFFER = 1 << 16
_MAKER = re.compile(r"(?:.*/)?(.*) \(made \d+\)")


class Recorder(EffectLog):
    """Writes the order of effects to a file; also a context manager. Thread-safe.

    Attributes:
      path: the file.
      count: effects noted so far.
    """

    def __init__(self, path: str, buffer_size: int) -> None:
        super().__init__()
        self.path = path
        self.count = 0
        self._size = buffer_size
        self._buffer: list[Effect] = []
        self._ended: dict[str, int] = {}
        self._failed: list[str] = []
        self._writer: EffectWriter | None = EffectWriter(_opened(path))

    def _note(
        self,
        who: str,
        name: str,
        resources: Sequence[Any] = (),
        error: tuple[int, str] | None = None,
        value: Any = None,
    ) -> None:
        if not who and value is None and error is None:
            return
        with self.lock:
            if self._writer is None:
                return  # it was closed while this effect was under way
            numbers = self.numbers_of(resources)
            self._buffer.append(Effect(who, name, effects.line(), numbers, error, value))
            self.count += 1
            if len(self._buffer) >= self._size:
                self._flush(self._writer)

    def _flush(self, writer: EffectWriter) -> None:
        given, self._buffer = self._buffer, []
        writer.write(given, self._names)

    @contextlib.contextmanager
    def turn(self, step: Any, name: str, resources: Sequence[Any]) -> Iterator[None]:
        """The locks of resources; notes who has them."""
        who = self.who(step)
        with self.locked(resources):
            self._note(who, effects.at(name), resources)
            yield

    @contextlib.contextmanager
    def making(self, name: str, resource: Any, made: Callable[[], bool]) -> Iterator[None]:
        """As `turn`, for those who do not find what they want."""
        name = maker(name, self.count_want())
        with self.locked((resource,)) if made() else self.turn(None, name, (resource,)):
            yield

    def wait(
        self,
        step: Any,
        name: str,
        condition: threading.Condition,
        ready: Callable[[], bool],
        plain: Callable[[], None],
    ) -> None:
        """Waits, and notes that it has, or why it gave up."""
        who, name = self.who(step), waited(name)
        try:
            plain()
        except errors.OpError as problem:
            self._note(who, name, (condition,), error_of(problem))
            raise
        self._note(who, name, (condition,))

    def check(self, step: Any, where: str, plain: Callable[[], None]) -> None:
        """Notes that a step ends here when it does."""
        name = stopped(self, step, where)
        try:
            plain()
        except errors.OpError as problem:
            self._note("", name, (), error_of(problem))
            raise

    def drawn(self, step: Any, name: str, draw: Callable[[], Any]) -> Any:
        """Notes what was drawn."""
        value = draw()
        self._note(self.who(step), drew(name), (), None, value)
        return value

    def end_step(self, who: str, failed: bool) -> None:
        """Notes the number of the actor's last step that ended, and the steps that failed."""
        super().end_step(who, failed)
        actor, _, number = who.rpartition(":")
        with self.lock:
            self._ended[actor] = max(self._ended.get(actor, -1), int(number))
            if failed:
                self._failed.append(who)

    def close(self) -> None:
        """Ends the file. Effects that are under way are not in it. A second call does nothing."""
        with self.lock:
            writer, self._writer = self._writer, None
            if writer is not None:
                if self._buffer:
                    self._flush(writer)
                writer.finish(self._ended, self._failed)
        switch_off(self)

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


def _opened(path: str) -> BinaryIO:
    try:
        return open(path, "wb")
    except OSError as problem:
        fix = "Make its folder first" if problem.errno == errno.ENOENT else "Give another path"
        raise CLASSES.get(problem.errno or 0, errors.UnknownError)(
            None,
            None,
            "tf.debugging.experimental.record_effects: expected a path where a file can be made,"
            f" got {path!r} ({problem.strerror}). {fix}.",
        ) from None


def waited(name: str) -> str:
    """What the end of an operation's wait is known by."""
    return f"{effects.at(name)} (waited)"


def stopped(log: EffectLog, step: Any, where: str) -> str:
    """What the end of a step before an operation is known by; it has no place in the order.

    In a loop that is the operation's n-th run.
    """
    who, place = log.who(step), effects.at(where)
    return f"{who} ended before {place}, {log.count_check(who, place)}"


def maker(name: str, number: int) -> str:
    """What the making of something is known by, by the one who made it as its n-th wish."""
    return f"{name} (made {number})"


def made_by(effect: str) -> str | None:
    """What was made in an effect of this name, wherever; None where nothing was."""
    found = _MAKER.fullmatch(effect)
    return None if found is None else found[1]


def drew(name: str) -> str:
    """What a value from outside is known by."""
    return f"{effects.at(name)} (drew)"


def error_of(problem: errors.OpError) -> tuple[int, str]:
    """An error as a log holds it."""
    return int(problem.error_code), problem.message


def refuse_another() -> None:
    """Raises FailedPreconditionError when a log is on."""
    log = switch.log  # another thread may close it
    if log is not None:
        raise errors.FailedPreconditionError(
            None,
            None,
            "tf.debugging.experimental: expected no log of effects to be on, got one that "
            f"{'replays' if log.replaying else 'records'}. Close it first.",
        )


class _Starts:
    """Tells the log that is on which threads are started, before they run.

    `threading.enumerate` has them in the order in which they came to run, not in that of their
    starts, and does not have those that have ended.
    """

    def __init__(self) -> None:
        self._plain: Any = None
        self._noting: Any = None

    def follow(self) -> None:
        """From now on."""
        self._plain = plain = threading.Thread.start

        @functools.wraps(plain)
        def start(thread: threading.Thread) -> None:
            log = switch.log
            if log is not None:
                log.rank((thread,))
            plain(thread)

        self._noting = start
        threading.Thread.start = start  # type: ignore[method-assign, assignment]

    def leave(self) -> None:
        """No longer. Where somebody wrapped it meanwhile it stays, and does nothing."""
        if threading.Thread.start is self._noting:
            threading.Thread.start = self._plain  # type: ignore[method-assign]


_starts = _Starts()


def switch_on(log: EffectLog) -> None:
    """Makes a log the one that is on."""
    determinism.switch.fixed = True
    log.rank(threading.enumerate())
    switch.log = log
    _starts.follow()


def switch_off(log: EffectLog) -> None:
    """Makes no log the one that is on, if it is this one."""
    if switch.log is log:
        _starts.leave()
        switch.log = None
        determinism.switch.fixed = determinism.switch.on


def record_effects(path: Any, buffer_size: int = 1024) -> Recorder:
    """Writes the order of this process's effects to a file, for `replay_effects`.

    Effects are what operations do to state, and where that comes in no fixed order when several
    threads run: reads and writes of variables, what queues and their like take and give, tables,
    random draws from a shared stream, mutexes, what a `Coordinator` answers, seeds drawn from the
    system, and waits that end with an error. Python values that threads share are not seen.

    Meanwhile whether an operation runs on the host or compiled follows from its sizes alone.

    Args:
      path: the file; it is replaced.
      buffer_size: effects kept in memory before they are written, 1 to 65536.

    Returns:
      A recorder: a context manager, which `close()` ends too.

    Raises:
      ValueError: `buffer_size` is out of range.
      NotFoundError: there is no such folder.
      PermissionDeniedError: the file may not be made there.
      FailedPreconditionError: the path is a folder; effects are being recorded or replayed already.

    Example:
      >>> import os, tempfile
      >>> path = os.path.join(tempfile.mkdtemp(), "effects")
      >>> with tf.debugging.experimental.record_effects(path) as recorder:
      ...     _ = tf.Variable(1.0).assign_add(1.0)
      >>> recorder.count > 0
      True
    """
    if not 1 <= buffer_size <= LARGEST_BUFFER:
        raise ValueError(
            f"tf.debugging.experimental.record_effects: expected 1 <= buffer_size <="
            f" {LARGEST_BUFFER}, got {buffer_size}. Leave it out."
        )
    refuse_another()
    recorder = Recorder(str(path), buffer_size)
    switch_on(recorder)
    return recorder
