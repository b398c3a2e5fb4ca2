"""The account of retraces: why a function was traced again, and what would avoid it.

A `Retrace` names the line of the call, each argument that differs from the nearest signature traced
before, its old and new value, and the way out. A function keeps its last `KEPT` retraces. The log
tells the one that is one too many, once for each function; all of them with
`set_log_retraces(True)` or PENSTOCK_LOG_RETRACES=1.
"""

import inspect
import threading
import weakref
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.config import env
from penstock.config.logging import get_logger
from penstock.tracing.signature import CallKey, Opaque, TensorKey, call_key
from penstock.tracing.variable_arguments import VariableKey
from penstock.types import dims as d
from penstock.util.frames import Frame, user_frame

KEPT = 64  # retraces that a function remembers
WARN_AFTER = 5  # retraces of one function, or functions made of one piece of code, before a warning
_log_all: list[bool | None] = [None]  # None: as the environment says


def set_log_retraces(enabled: bool | None) -> None:
    """Logs every retrace of every `tf.function`, with its cause and what would avoid it.

    Args:
      enabled: whether to; None goes back to what PENSTOCK_LOG_RETRACES says.

    Example:
      >>> set_log_retraces(True)
      >>> get_log_retraces()
      True
      >>> set_log_retraces(None)
    """
    _log_all[0] = None if enabled is None else bool(enabled)


def get_log_retraces() -> bool:
    """Whether every retrace is logged."""
    chosen = _log_all[0]
    return bool(env.get("PENSTOCK_LOG_RETRACES")) if chosen is None else chosen


@dataclass(frozen=True, slots=True)
class Change:
    """One argument that differs.

    Attributes:
      argument: its name and the place inside it.
      old: what the nearest signature has, in words.
      new: what the call has.
      advice: what would avoid the trace.
    """

    argument: str
    old: str
    new: str
    advice: str

    def __str__(self) -> str:
        return f"argument {self.argument} was {self.old} and is now {self.new}"


@dataclass(frozen=True, slots=True)
class Retrace:
    """One trace after the first.

    Attributes:
      function: the function's name.
      number: how many traces there are with this one.
      where: the line of the call.
      changes: the arguments that differ from the nearest signature; empty when the nearest one was
        dropped to make room.
    """

    function: str
    number: int
    where: Frame | None
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        place = f" at {self.where}" if self.where else ""
        if not self.changes:
            return (
                f"{self.function}: trace {self.number}{place}: its signature was traced before and"
                " dropped for others. Raise PENSTOCK_PLAN_CACHE, or use fewer signatures."
            )
        causes = "; ".join(map(str, self.changes))
        advice = " ".join(dict.fromkeys(c.advice for c in self.changes))
        return f"{self.function}: trace {self.number}{place}: {causes}. {advice}"


class RetraceLog:
    """The retraces of one function. The function's lock guards it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._kept: deque[Retrace] = deque(maxlen=KEPT)
        self._count = 0
        self._warned = False

    @property
    def retraces(self) -> tuple[Retrace, ...]:
        """The last ones, oldest first."""
        return tuple(self._kept)

    def add(self, number: int, names: Sequence[str], known: Collection[Any], key: Any) -> None:
        """Notes a trace for a signature that none of the known ones serves; none known: dropped."""
        changes = nearest(names, known, key)
        if not changes and known:
            return  # another trace of this signature is being made
        retrace = Retrace(self._name, number, user_frame(), changes)
        self._kept.append(retrace)
        self._count += 1
        if get_log_retraces():
            get_logger().warning("%s", retrace)
        elif self._count >= WARN_AFTER and not self._warned:
            self._warned = True
            get_logger().warning(
                "%s This call triggered tf.function retracing number %d. Tracing is expensive, and"
                " more are not reported for this function. experimental_get_retrace_report() lists"
                " them, PENSTOCK_LOG_RETRACES=1 logs each one.",
                retrace,
                self._count,
            )


# ---- what differs --------------------------------------------------------------------------------


def nearest(names: Sequence[str], known: Iterable[Any], key: Any) -> tuple[Change, ...]:
    """What differs between a key and the one of `known` that differs in the fewest places."""
    best: tuple[Change, ...] | None = None
    for other in known:
        found = tuple(changes(names, other, key))
        if best is None or len(found) < len(best):
            best = found
    return best or ()


def changes(names: Sequence[str], old: Any, new: Any) -> Iterator[Change]:
    """The differences between the keys of two calls of a function with these parameters."""
    was, is_now = call_key(old), call_key(new)
    if was.graph != is_now.graph:
        yield Change(
            "(none)",
            "called in another graph",
            "called in this one",
            "Call it eagerly, or inside one tf.function.",
        )
    olds, news = dict(_named(names, was)), dict(_named(names, is_now))
    for name in dict.fromkeys([*olds, *news]):
        yield from _differences(name, olds.get(name, _ABSENT), news.get(name, _ABSENT))


def _named(names: Sequence[str], key: CallKey) -> Iterator[tuple[str, Any]]:
    """The key of each argument by its name; those of *args by position."""
    for i, part in enumerate(key.args[1:]):
        yield (f"'{names[i]}'" if i < len(names) else f"number {i}"), part
    for name, part in key.kwargs[1:] if key.kwargs else ():
        yield f"'{name}'", part


class _Absent:
    def __repr__(self) -> str:
        return "not given"


_ABSENT = _Absent()


def _differences(where: str, old: Any, new: Any) -> Iterator[Change]:
    if old == new:
        return
    if _nested(old) and _nested(new) and len(old) == len(new) and old[0] is new[0]:
        for i, (a, b) in enumerate(zip(old[1:], new[1:], strict=True)):
            if _entry(a) and _entry(b):
                if a[0] != b[0]:
                    break
                yield from _differences(f"{where}[{a[0]!r}]", a[1], b[1])
            else:
                yield from _differences(f"{where}[{i}]", a, b)
        else:
            return
    yield Change(where, _words(old), _words(new), _advice(where, old, new))


def _nested(part: Any) -> bool:
    """Whether a key is that of a structure: its class, then the keys of its parts."""
    return (
        isinstance(part, tuple)
        and len(part) > 0
        and isinstance(part[0], type)
        and not (len(part) == 2 and not _is_key(part[1]))
    )


def _is_key(part: Any) -> bool:
    return isinstance(part, (TensorKey, VariableKey, Opaque, tuple))


def _entry(part: Any) -> bool:
    return isinstance(part, tuple) and len(part) == 2 and not isinstance(part[0], type)


def _words(part: Any) -> str:
    if isinstance(part, VariableKey):
        return f"Variable(shape={d.text(part.dims)}, dtype={part.dtype.name})"
    if isinstance(part, TensorKey):
        name = "" if part.name is None else f", name={part.name!r}"
        return f"Tensor(shape={d.text(part.dims)}, dtype={part.dtype.name}{name})"
    if isinstance(part, tuple) and part and isinstance(part[0], type):
        if _nested(part):
            return f"a {part[0].__name__} of {len(part) - 1}"
        return f"{part[1]!r}"
    return repr(part)


def _advice(where: str, old: Any, new: Any) -> str:
    if isinstance(old, TensorKey) and isinstance(new, TensorKey):
        if old.dtype is not new.dtype:
            return f"Cast {where} to one dtype before the call."
        if old.dims == new.dims:
            return f"Give {where} the same name each time, or none."
        return "Use reduce_retracing=True, or an input_signature with None for sizes that vary."
    if isinstance(old, Opaque) and isinstance(new, Opaque):
        return f"Pass the same object for {where} each time, or give its class __tf_tracing_type__."
    kinds = {type(p[1]) for p in (old, new) if isinstance(p, tuple) and len(p) == 2}
    if kinds & {int, float, bool, complex} and not _nested(old) and not _nested(new):
        return f"Pass a tensor for {where}, such as tf.constant(value), instead of a Python number."
    if _nested(old) or _nested(new):
        return f"Pass {where} with one structure: the same kind, length and keys."
    return f"Pass the same value for {where}, or make a tf.function for each."


# ---- functions made again and again --------------------------------------------------------------


_lock = threading.Lock()  # guards: _made
_made: "weakref.WeakKeyDictionary[Any, int]" = weakref.WeakKeyDictionary()


def note_first_trace(name: str, python_function: Any) -> None:
    """Warns when functions are made of one piece of code again and again, each traced anew."""
    code = getattr(inspect.unwrap(python_function), "__code__", None)
    if code is None:
        return
    with _lock:
        count = _made[code] = _made.get(code, 0) + 1
    if count == WARN_AFTER:
        where = user_frame()
        get_logger().warning(
            "%s (%s:%d): expected one tf.function for one piece of code, got %d of them, each of"
            " which triggered tf.function retracing%s. Make it once, outside of the loop or"
            " function that makes it.",
            name,
            code.co_filename,
            code.co_firstlineno,
            count,
            f" at {where}" if where else "",
        )
