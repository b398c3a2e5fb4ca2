"""Effects: the order in which what a program does touches its resources, and its turns.

An asynchronous program gives other numbers in each run because its threads come to queues,
variables and the like in another order each time. While `switch.log` is set, whatever touches a
resource takes a turn first: a recorder notes the order of the turns, a replay grants them in the
order that was noted. Without a log a turn is the resource's lock, or nothing.

A turn is known by who takes it and for what, not by when: `who` is an actor and the number of a
step of it ("MainThread:12"), or an actor alone ("MainThread:") in eager code. An actor is a thread,
known by its name and by its rank among those of the same name in the order of their starts, unless
`acting_as` names it. What a step runs on other threads belongs to the step.

`EffectLog` is what a recorder (`effect_recorder`) and a replay (`effect_replay`) share.
"""

import contextlib
import re
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from penstock.core import rounds
from penstock.util.frames import user_frame

_NUMBERED = re.compile(r"^Thread-\d+")  # how Python names threads: by the order of their making


class _Switch:
    """What hot paths look at: the log that is on, None nearly always."""

    __slots__ = ("log",)

    def __init__(self) -> None:
        self.log: EffectLog | None = None


class _Local(threading.local):
    """What this thread does: for whom, inside which operations of its step, and at which line."""

    actor: str | None = None
    path: str = ""
    where: str = ""
    step: Any = None


class _Nobody:
    """In place of a step whose effects have no place in the order."""

    who = ""


switch = _Switch()
_NOBODY = _Nobody()
_local = _Local()


class Place:
    """Something without a lock of its own that turns are taken at."""

    __slots__ = ("__weakref__", "lock", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = threading.RLock()


class EffectLog:
    """What recorders and replays share: who acts, and which resource has which number.

    Thread-safe.

    Attributes:
      replaying: whether turns are granted in a given order.
    """

    replaying = False

    def __init__(self) -> None:
        self.lock = threading.Lock()  # guards: all that follows; innermost of all locks
        self._actors: weakref.WeakKeyDictionary[threading.Thread, str] = weakref.WeakKeyDictionary()
        self._ranks: dict[str, int] = {}
        self._steps: dict[str, int] = {}
        self._checks: dict[str, dict[str, int]] = {}  # of steps that run
        self._wants: dict[str, int] = {}  # by actor: how often it wanted what somebody makes
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._names: list[str] = []
        self._places: dict[str, Place] = {}
        self._others = threading.RLock()  # the lock of resources that have none

    # ---- who

    def actor(self) -> str:
        """Who acts on this thread."""
        chosen = _local.actor
        if chosen is not None:
            return chosen
        with self.lock:
            return self._actor_of(threading.current_thread())

    def _actor_of(self, thread: threading.Thread) -> str:
        found = self._actors.get(thread)
        if found is None:
            name = _NUMBERED.sub("Thread", thread.name)
            rank = self._ranks[name] = self._ranks.get(name, 0) + 1
            found = self._actors[thread] = name if rank == 1 else f"{name}#{rank}"
        return found

    def rank(self, threads: Iterable[threading.Thread]) -> None:
        """Gives threads their actors, in this order, unless they have them."""
        with self.lock:
            for thread in threads:
                self._actor_of(thread)

    def begin_step(self) -> str:
        """Who the next step of this thread's actor is."""
        actor = self.actor()
        with self.lock:
            number = self._steps[actor] = self._steps.get(actor, -1) + 1
        return f"{actor}:{number}"

    def count_want(self) -> int:
        """How often this thread's actor has wanted what somebody makes, with this time."""
        actor = self.actor()
        with self.lock:
            found = self._wants[actor] = self._wants.get(actor, 0) + 1
        return found

    def count_check(self, who: str, where: str) -> int:
        """How often a step was to go on or end at a place, with this time."""
        with self.lock:
            counts = self._checks.setdefault(who, {})
            found = counts[where] = counts.get(where, 0) + 1
        return found

    def who(self, step: Any) -> str:
        """Who acts in a step, or eagerly without one. Empty: nobody whose order matters."""
        if step is not None and step.who is not None:
            return str(step.who)
        return f"{self.actor()}:"

    # ---- resources

    def place(self, name: str) -> Place:
        """What stands for the state of an operation that names no resource."""
        with self.lock:
            return self._places.setdefault(name, Place(name))

    def numbers_of(self, resources: Sequence[Any]) -> tuple[int, ...]:
        """The numbers of resources: by the order in which they were first touched.

        The caller holds `lock`.
        """
        known, names = self._numbers, self._names
        found = []
        for resource in resources:
            number = known.get(resource)
            if number is None:
                number = known[resource] = len(names)
                names.append(_describe(resource))
            found.append(number)
        return tuple(found)

    def locked(self, resources: Sequence[Any]) -> AbstractContextManager[Any]:
        """The locks of resources, in the order in which whoever runs without a log takes them."""
        locks = [self._lock_of(resource) for resource in sorted(resources, key=id)]
        held = contextlib.ExitStack()
        try:
            for lock in sorted(locks, key=lambda each: each is self._others):  # that one last
                held.enter_context(lock)
        except BaseException:
            held.close()
            raise
        return held

    def _lock_of(self, resource: Any) -> Any:
        found = getattr(resource, "lock", None)
        found = getattr(resource, "condition", None) if found is None else found
        return self._others if found is None else found

    # ---- what a recorder and a replay do

    def turn(self, step: Any, name: str, resources: Sequence[Any]) -> AbstractContextManager[Any]:
        """The locks of resources, held in the turn of whoever touches them.

        Args:
          step: the step, None in eager code.
          name: of the operation, unique in its step but for the rounds of loops.
          resources: each with a lock (`lock` or `condition`) that may be taken again.

        Raises:
          FailedPreconditionError: a replay diverged.
        """
        raise NotImplementedError

    def making(
        self, name: str, resource: Any, made: Callable[[], bool]
    ) -> AbstractContextManager[Any]:
        """A resource's lock, held in the turn of whoever makes what others then only find.

        Args:
          name: what is made: the same name wherever it is.
          resource: as for `turn`.
          made: whether it is there. Who finds it there takes no turn.

        Raises:
          FailedPreconditionError: a replay diverged.
        """
        raise NotImplementedError

    def follow(self, condition: threading.Condition, ready: Callable[[], bool]) -> None:
        """Waits, holding `condition`, for what somebody brings whose turn has been.

        Raises:
          FailedPreconditionError: a replay diverged.
        """
        while not ready():
            condition.wait()

    def turn_to_end(self, name: str, place: "Place") -> AbstractContextManager[Any]:
        """As `turn`, for what ends threads: it goes on where a replay has diverged."""
        return self.turn(None, name, (place,))

    def wait(
        self,
        step: Any,
        name: str,
        condition: threading.Condition,
        ready: Callable[[], bool],
        plain: Callable[[], None],
    ) -> None:
        """Waits, holding `condition`, until `ready()`; `plain` is how it waits without a log.

        Raises:
          OpError: the step ended first; in a replay it does where it did when it was recorded.
        """
        raise NotImplementedError

    def check(self, step: Any, where: str, plain: Callable[[], None]) -> None:
        """Runs `plain`, which raises when a step is to end.

        Raises:
          OpError: as `wait`.
        """
        raise NotImplementedError

    def drawn(self, step: Any, name: str, draw: Callable[[], Any]) -> Any:
        """What `draw` took from outside (a random seed, the clock): something that JSON holds."""
        raise NotImplementedError

    def failing(self, step: Any) -> None:
        """Called before a step that failed stops the operations that still run."""

    def end_step(self, who: str, failed: bool) -> None:
        """A step has ended; one that failed may have left out some of its effects."""
        with self.lock:
            self._checks.pop(who, None)

    def close(self) -> None:
        """Switches it off. A second call does nothing."""
        raise NotImplementedError


def _describe(resource: Any) -> str:
    name = getattr(resource, "name", None)
    kind = type(resource).__name__
    return f"{kind} '{name}'" if isinstance(name, str) else kind


# ---- for what runs operations


def replaying() -> bool:
    """Whether operations wait for the turns that a log gives them."""
    log = switch.log  # another thread may close it
    return log is not None and log.replaying


def at(name: str) -> str:
    """The name of an operation together with the operations around it on this thread."""
    return _local.path + name


def line() -> str:
    """The user's line of the operation that runs on this thread; empty when it is not known."""
    if _local.where:
        return _local.where
    frame = user_frame()
    return "" if frame is None or frame.file == threading.__file__ else str(frame)


def run(
    step: Any,
    name: str,
    where: str,
    resources: Sequence[Any] | None,
    function: Callable[[], Any],
) -> Any:
    """Runs an operation with effects while there is a log.

    Args:
      step: its step, None in eager code.
      name: its name in the step.
      where: the user's line.
      resources: what it touches, in one turn; None when it takes turns of its own.
      function: runs it.
    """
    before = _local.where, _local.step
    _local.where, _local.step = where, step
    try:
        log = switch.log
        if resources is None or log is None:
            return function()
        with log.turn(step, name, resources or (log.place(at(name)),)):
            return function()
    finally:
        _local.where, _local.step = before


def drawn(name: str, draw: Callable[[], Any]) -> Any:
    """What the operation that runs on this thread takes from outside: something that JSON holds.

    A random seed, say. In a replay it is what was drawn when it was recorded.
    """
    log = switch.log
    return draw() if log is None else log.drawn(_local.step, name, draw)


@contextlib.contextmanager
def inside(step: Any, name: str) -> Iterator[None]:
    """A scope in which this thread runs what an operation of a step calls: a body, user code."""
    log = switch.log
    before = _local.actor, _local.path
    path = f"{_local.path}{name}/"
    if log is not None and step is not None:
        _local.actor = f"{log.who(step)}/{path}"
    _local.path = path
    try:
        yield
    finally:
        _local.actor, _local.path = before


@contextlib.contextmanager
def within(part: str) -> Iterator[None]:
    """A scope in which operations of one name are told apart by the part of the step they are in.

    The round of a loop, say, of which several may be under way.
    """
    before = _local.path
    _local.path = before + part
    try:
        yield
    finally:
        _local.path = before


@contextlib.contextmanager
def making(name: str) -> Iterator[None]:
    """A scope in which an operation of this name makes a resource, whichever step is the first."""
    before = _local.path, _local.step
    _local.path, _local.step = f"{_local.path}{name}/", _NOBODY
    try:
        yield
    finally:
        _local.path, _local.step = before


def carried(work: Callable[[], None]) -> Callable[[], None]:
    """`work` for another thread, which there belongs to what runs on this one."""
    work = rounds.carried(work)
    if switch.log is None:
        return work
    given = _local.actor, _local.path

    def run_there() -> None:
        before = _local.actor, _local.path
        _local.actor, _local.path = given
        try:
            work()
        finally:
            _local.actor, _local.path = before

    return run_there


def section(ctx: Any, resource: Any) -> AbstractContextManager[Any]:
    """A resource's lock, taken in its turn while there is a log.

    Args:
      ctx: the context of the kernel that touches it.
      resource: has a `lock` that may be taken again by the thread that holds it.
    """
    log = switch.log
    if log is None:
        return resource.lock  # type: ignore[no-any-return]
    return log.turn(ctx.step, ctx.op_name, (resource,))


@contextlib.contextmanager
def acting_as(name: str) -> Iterator[None]:
    """A scope in which what this thread does belongs to an actor of this name.

    Recorded effects are known by the thread that caused them: by its name, and its rank among those
    of one name in the order in which they were started. Where a pool's threads take work as it
    comes, neither is the same in the next run; then name the work.

    Args:
      name: no other thread acts under it at the same time.

    Raises:
      TypeError: `name` is no text.

    Example:
      >>> with acting_as("part 3"):
      ...     pass
    """
    if not isinstance(name, str):
        raise TypeError(
            "tf.debugging.experimental.acting_as: expected a name, got "
            f"{name!r} of type {type(name).__name__}. Name the work that is done."
        )
    before, _local.actor = _local.actor, name
    try:
        yield
    finally:
        _local.actor = before
