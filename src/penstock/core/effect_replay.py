"""Replaying effects: turns are granted in the order of a log.

Each turn that somebody wants is looked up by who wants it and for what, and waits until all turns
before it were taken. A run that wants what the log does not have, or does not come for what it has,
has diverged: everybody who wants a turn from then on gets the error, which names both effects and
their lines. Nobody waits for longer than `timeout` seconds in which no turn was taken.

Errors that ended waits and steps come from the log too: in a replay a step is cancelled, or out of
time, where it was then, and nowhere else. After the last effect the run goes on as it comes.
"""

import contextlib
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, cast

from penstock import errors
from penstock.config import logging
from penstock.core import effects
from penstock.core.effect_files import Effect, Recorded, read_effects
from penstock.core.effect_recorder import (
    drew,
    made_by,
    maker,
    refuse_another,
    stopped,
    switch_off,
    switch_on,
    waited,
)
from penstock.core.effects import EffectLog
from penstock.core.kernels import ErrorClass

_LOOK_SECONDS = 0.25  # how often those who wait look whether the one they wait for is still there

Key = tuple[str, str]  # who, name


class Replay(EffectLog):
    """Grants turns in the order of a log; also a context manager. Thread-safe.

    Attributes:
      path: the log's file.
      count: how many effects it has.
    """

    replaying = True

    def __init__(self, path: str, recorded: Recorded, timeout: float) -> None:
        super().__init__()
        self.path = path
        self._timeout = timeout
        self._effects = [e for e in recorded.effects if e.ordered]
        self.count = len(self._effects)
        self._resources = recorded.resources
        self._ended = recorded.ended
        self._failed = recorded.failed
        self._turns = threading.Condition()  # guards: all that follows
        self._next = 0  # how many turns were taken
        self._failure: str | None = None
        self._wanting: dict[int, tuple[str, str, str]] = {}  # by thread: who, name, line
        self._positions: dict[Key, deque[int]] = {}
        self._in_order: dict[str, deque[int]] = {}  # of actors outside of steps
        self._left: Counter[str] = Counter()  # turns that are not asked for yet, by who
        self._loose: dict[str, deque[Effect]] = {}
        self._makers: dict[str, Counter[str]] = {}  # by what is made: turns that have not ended
        self._told = False
        for position, effect in enumerate(self._effects):
            self._positions.setdefault((effect.who, effect.name), deque()).append(position)
            self._left[effect.who] += 1
            if effect.who.endswith(":"):
                self._in_order.setdefault(effect.who, deque()).append(position)
            made = made_by(effect.name)
            if made is not None:
                self._makers.setdefault(made, Counter())[effect.who] += 1
        for effect in recorded.effects:
            if not effect.ordered:
                self._loose.setdefault(effect.name, deque()).append(effect)

    @property
    def position(self) -> int:
        """How many effects of the log were replayed."""
        return self._next

    # ---- turns

    @contextlib.contextmanager
    def turn(self, step: Any, name: str, resources: Sequence[Any]) -> Iterator[None]:
        """The locks of resources, once it is the turn of who wants them."""
        who, name = self.who(step), effects.at(name)
        position = self._claim(step, who, name) if who else None
        if position is not None:
            self._await(position)
        with self.locked(resources):
            if position is not None:
                self._take(position, resources)
            yield

    @contextlib.contextmanager
    def making(self, name: str, resource: Any, made: Callable[[], bool]) -> Iterator[None]:
        """As `turn`, for those who made it; the others wait until it is there."""
        who, wish = self.who(None), maker(name, self.count_want())
        makers = self._makers.get(name, Counter())
        with self._turns:
            mine = bool(self._positions.get((who, effects.at(wish))))
            if not mine:
                self._wait_for(
                    lambda: made() or not any(n for other, n in makers.items() if other != who),
                    Effect(who, wish, effects.line()),
                )
        if not mine:
            with self.locked((resource,)):
                yield
            return
        try:
            with self.turn(None, wish, (resource,)):
                yield
        finally:
            with self._turns:
                makers[who] -= 1
                self._turns.notify_all()

    def follow(self, condition: threading.Condition, ready: Callable[[], bool]) -> None:
        """Waits for what comes of a turn that has been taken."""
        self._until(ready, condition, max(self._next - 1, 0))

    @contextlib.contextmanager
    def turn_to_end(self, name: str, place: effects.Place) -> Iterator[None]:
        """As `turn`, without an error: those who wait for the end of threads must see it."""
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(self.turn(None, name, (place,)))
            except errors.FailedPreconditionError:
                held.enter_context(place.lock)
            yield

    def wait(
        self,
        step: Any,
        name: str,
        condition: threading.Condition,
        ready: Callable[[], bool],
        plain: Callable[[], None],
    ) -> None:
        """Waits until the log says that the wait ended, and then for what it waits for."""
        who, name = self.who(step), waited(name)
        condition.release()
        try:
            position = self._claim(step, who, name) if who else None
            if position is not None:
                self._await(position)
        finally:
            condition.acquire()
        if position is None:
            plain()
            return
        if self._effects[position].error is None:
            self._until(ready, condition, position)
        self._take(position, (condition,))
        _raise_recorded(self._effects[position])

    def check(self, step: Any, where: str, plain: Callable[[], None]) -> None:
        """Ends a step where it ended when it was recorded."""
        name = stopped(self, step, where)
        with self._turns:
            found = self._loose.get(name)
            effect = found.popleft() if found else None
            over = self._failure is not None or self._next == self.count
        if effect is not None:
            _raise_recorded(effect)
        elif over:
            plain()

    def drawn(self, step: Any, name: str, draw: Callable[[], Any]) -> Any:
        """What was drawn when it was recorded."""
        who, name = self.who(step), drew(name)
        if not who:
            with self._turns:
                loose = self._loose.get(name)
                found = loose.popleft() if loose else None
            return draw() if found is None else found.value
        position = self._claim(step, who, name)
        if position is None:
            return draw()
        self._await(position)
        self._take(position, ())
        return self._effects[position].value

    def failing(self, step: Any) -> None:
        """Waits until the operations have run that did before the failure stopped them."""
        who = self.who(step)
        with self._turns:
            if not self._left[who] or self._failure is not None:
                return
            missing = next(e for e in self._effects[self._next :] if e.who == who)
            with contextlib.suppress(errors.FailedPreconditionError):  # the step has its own error
                self._wait_for(lambda: not self._left[who], missing)

    def end_step(self, who: str, failed: bool) -> None:
        """Diverges when the log has more of a step that has ended."""
        super().end_step(who, failed)
        if not self._left[who] or self._failure is not None:
            return
        with self._turns:
            missing = next(e for e in self._effects[self._next :] if e.who == who)
            end = "with an error" if failed else "without it"
            self._fail(missing, f"the end of step {_step_text(who)} {end}")

    # ---- the order

    def _claim(self, step: Any, who: str, name: str) -> int | None:
        """The position of an effect in the log; None for one that came after the log's end.

        One that a step which failed left out ends here once the step fails.
        """
        key = who, name
        with self._turns:
            self._check_failure()
            known = self._positions.get(key)
            in_order = self._in_order.get(who)
            if not known or (in_order is not None and in_order[0] != known[0]):
                if who in self._failed:
                    self._await_failure(step, who, name)
                if in_order or self._has_ended(who):
                    expected = in_order[0] if in_order else min(self._next, self.count - 1)
                    self._fail(self._effects[expected], _text(who, name, effects.line()))
                self._await_end(who, name)
                return None
            position = known.popleft()
            if in_order is not None:
                in_order.popleft()
            self._left[who] -= 1
            return position

    def _has_ended(self, who: str) -> bool:
        """Whether a step ended when it was recorded, so that the log has all of its effects."""
        actor, _, number = who.rpartition(":")
        return number != "" and int(number) <= self._ended.get(actor, -1)

    def _await(self, position: int) -> None:
        with self._turns:
            self._wait_for(lambda: self._next == position, self._effects[position])

    def _await_failure(self, step: Any, who: str, name: str) -> NoReturn:
        """Waits, under the condition, until another operation of the step has failed."""
        self._wait_for(lambda: step.cancelled, Effect(who, name, effects.line()))
        raise errors.CancelledError(None, None, f"{name}: another operation of the step failed")

    def _await_end(self, who: str, name: str) -> None:
        """Waits, under the condition, until the log has ended."""
        self._wait_for(lambda: self._next >= self.count, Effect(who, name, effects.line()))
        if not self._told:
            self._told = True
            logging.warning("%s: the log of effects has ended; the run goes on as it comes", self)

    def _wait_for(self, ready: Callable[[], bool], wanted: Effect) -> None:
        """Waits under the condition, as long as turns are taken."""
        me = threading.get_ident()
        self._wanting[me] = wanted.who, wanted.name, effects.line()
        try:
            seen, since = self._next, time.monotonic()
            while not ready():
                self._check_failure()
                if self._next != seen:
                    seen, since = self._next, time.monotonic()
                self._check_progress(time.monotonic() - since)
                self._turns.wait(min(_LOOK_SECONDS, self._timeout))
            self._check_failure()
        finally:
            del self._wanting[me]

    def _check_progress(self, seconds: float) -> None:
        """Diverges when the effect that is next cannot come, or did not for too long."""
        if self._next >= self.count:
            return
        expected = self._effects[self._next]
        others = "; ".join(_text(*w) for w in self._wanting.values())
        if seconds > self._timeout:
            self._fail(expected, f"nothing in {self._timeout} seconds; those that wait: {others}")
        if seconds > _LOOK_SECONDS and self._has_gone(expected.who):
            self._fail(expected, f"the end of its thread; those that wait: {others}")

    def _has_gone(self, who: str) -> bool:
        """Whether the thread of an actor has ended."""
        actor = who.partition("/")[0].rpartition(":")[0]
        with self.lock:
            found = [t for t, name in self._actors.items() if name == actor]
        # One that has an actor but no identity is about to be started.
        ran = bool(found) and all(t.ident is not None for t in found)
        return ran and not any(t in threading.enumerate() for t in found)

    def _take(self, position: int, resources: Sequence[Any]) -> None:
        """Takes a turn, whose locks are held."""
        effect = self._effects[position]
        with self._turns:
            self._check_failure()
            with self.lock:
                numbers = self.numbers_of(resources)
            if numbers != effect.resources:
                self._fail(
                    effect,
                    f"{_text(effect.who, effect.name, effects.line())} on "
                    f"{self._listed(numbers, self._names)}",
                )
            self._next += 1
            self._turns.notify_all()

    def _until(
        self, ready: Callable[[], bool], condition: threading.Condition, position: int
    ) -> None:
        """Waits for what a wait was for; those who took their turns before may still work on it."""
        end = time.monotonic() + self._timeout
        while not ready():
            with self._turns:
                self._check_failure()
                if time.monotonic() > end:
                    self._fail(self._effects[position], "something that is not ready for it")
            condition.wait(min(_LOOK_SECONDS, self._timeout))

    # ---- divergence

    def _check_failure(self) -> None:
        if self._failure is not None:
            raise errors.FailedPreconditionError(None, None, self._failure)

    def _fail(self, expected: Effect, got: str) -> None:
        """Diverges: raises now, and for everybody who wants a turn from now on."""
        wanted = _text(expected.who, expected.name, expected.where)
        if expected.resources:
            wanted += f" on {self._listed(expected.resources, self._resources)}"
        place = next((i for i, e in enumerate(self._effects) if e is expected), self._next)
        self._failure = (
            f"{self} diverged at effect {self._next} of {self.count}: expected {wanted} (effect "
            f"{place}), got {got}. Run the same program from the same state, with threads of the "
            "same names, or under tf.debugging.experimental.acting_as; what threads share beside "
            "TensorFlow's state must not decide what they do. Else record again."
        )
        self._turns.notify_all()
        self._check_failure()

    @staticmethod
    def _listed(numbers: Sequence[int], names: list[str]) -> str:
        shown = [f"{names[n]} ({n})" for n in numbers[:4]]
        return ", ".join(shown) + (", ..." if len(numbers) > 4 else "") if shown else "nothing"

    def __str__(self) -> str:
        return f"replay of {self.path}"

    # ---- its end

    def close(self) -> None:
        """Ends the replay; a second call does nothing.

        Raises:
          FailedPreconditionError: the run has diverged, or ended before the log does.
        """
        if effects.switch.log is not self:
            return
        switch_off(self)
        with self._turns:
            self._check_failure()
            if self._next < self.count:
                self._fail(self._effects[self._next], "the end of the replay")

    def __enter__(self) -> "Replay":
        return self

    def __exit__(self, kind: type[BaseException] | None, *problem: object) -> None:
        if kind is None:
            self.close()
        else:
            switch_off(self)


def _step_text(who: str) -> str:
    actor, _, number = who.rpartition(":")
    return f"{number} of {actor}" if number else actor


def _raise_recorded(effect: Effect) -> None:
    if effect.error is not None:
        code, message = effect.error
        kind = cast("ErrorClass", errors.exception_type_from_error_code(code))
        raise kind(None, None, message)


def _text(who: str, name: str, where: str) -> str:
    """An effect for messages."""
    actor, _, number = who.rpartition(":")
    by = f"step {number} of {actor}" if number else actor
    return f"'{name}' of {by}" + (f" at {where.rpartition(' ')[2]}" if where else "")


def replay_effects(path: Any, timeout: float = 120.0, partial: bool = False) -> Replay:
    """Repeats a run whose effects `record_effects` wrote: bit for bit, however it is threaded.

    The same program must run from the same state: what happens before is not replayed. Threads are
    known by their names, and by their order among those of one name; see `acting_as`.

    Args:
      path: the log.
      timeout: seconds without any effect after which the replay has diverged.
      partial: whether a log that was cut, because its run was killed, is replayed as far as it
        goes. Afterwards the run goes on as it comes.

    Returns:
      A replay: a context manager, which `close()` ends too. Ending it raises
      FailedPreconditionError when the run has diverged, or ended before the log does.

    Raises:
      ValueError: `timeout` is not positive.
      NotFoundError: there is no such file.
      DataLossError: the file is no log, was cut or was changed.
      FailedPreconditionError: effects are being recorded or replayed already.

    Example:
      >>> import os, tempfile
      >>> path = os.path.join(tempfile.mkdtemp(), "effects")
      >>> def run():
      ...     return float(tf.random.uniform([]))  # without a seed
      >>> with tf.debugging.experimental.record_effects(path):
      ...     first = run()
      >>> with tf.debugging.experimental.replay_effects(path):
      ...     second = run()
      >>> first == second
      True
    """
    if not timeout > 0:
        raise ValueError(
            "tf.debugging.experimental.replay_effects: expected a positive timeout, got"
            f" {timeout!r}. Leave it out."
        )
    refuse_another()
    replay = Replay(str(path), read_effects(str(path), partial), float(timeout))
    switch_on(replay)
    return replay


__all__ = ["Replay", "replay_effects"]
