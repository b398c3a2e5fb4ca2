"""Which of several kernels serves a shape, where only measuring tells: once, and kept on disk.

A kernel's predicate asks `chosen` for shapes that lie between those where one is sure to win. The
candidates are timed in turns on a thread of their own, outside of whatever is being traced. A
choice holds for this kind of machine, version of JAX and of the native library. Each is a small
file of its own, put there whole: of processes that measure a shape at once the first one's choice
holds for all, a file that cannot be read is measured again, and the oldest go where there are too
many.

A choice has other last bits than another one, so it must not change from a process to one that
resumes its work. What could not be measured is kept too: the default, for good. Where nothing can
be kept nothing is measured. Nor is it, and nothing is read, with ``PENSTOCK_AUTOTUNE=0`` and where
the program asked for determinism or records its effects: then the default serves. `penstock inspect
--choices` shows what was measured.
"""

import functools
import hashlib
import json
import os
import pathlib
import platform
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from time import monotonic, perf_counter
from typing import Any

from penstock.config import env
from penstock.core import determinism, native
from penstock.core.compiling import cpu_flags, default_cache
from penstock.core.lazy import jax

Call = Callable[[], object]  # one call of a candidate, which waits for its result
Candidates = Mapping[str, Callable[[], Call]]  # what prepares each: inputs, compilation
BUDGET_S = 2.0  # of measuring in one process; further shapes get the default
ROUNDS, ROUND_S = 4, 0.003
LONGEST_S = 0.2  # of calls for one shape: where they take longer, the first ones have to do
MOST_FILES = 1000


@dataclass(frozen=True, slots=True)
class Choice:
    """What was measured for one shape.

    Attributes:
      what: the work, in words that name its shapes and dtypes.
      winner: the name of the candidate that serves.
      times: least microseconds of a call of each; none where nothing was measured.
    """

    what: str
    winner: str
    times: dict[str, float]


_lock = threading.Lock()  # guards: _known, _spent; held while measuring: one shape at a time
_known: dict[tuple[pathlib.Path, str], Choice] = {}
_spent = 0.0


def enabled() -> bool:
    """Whether choices are measured and read."""
    return bool(env.get("PENSTOCK_AUTOTUNE")) and not determinism.switch.fixed


def chosen(what: str, candidates: Candidates, default: str) -> str:
    """The candidate that serves. Thread-safe.

    Args:
      what: the work, in words that name its shapes and dtypes: the key.
      candidates: for each name a function that prepares it and returns a call.
      default: the name where nothing is measured.

    Returns:
      A key of `candidates`.
    """
    if not enabled():
        return default
    with _lock:
        key = (folder(), what)
        found = _known.get(key) or _read(_path(what), what)
        if found is None or found.winner not in candidates:
            found = _settle(what, candidates, default)
        _known[key] = found
    return found.winner


def folder() -> pathlib.Path:
    """Where the choices for this kind of machine are kept."""
    base = env.get("PENSTOCK_CACHE_DIR")
    return pathlib.Path(base if base is not None else default_cache()) / "choices" / _machine()


@functools.cache
def _machine() -> str:
    """A name for this kind of machine, the library in use and the version of JAX."""
    facts = [platform.machine(), str(os.cpu_count()), jax.version.__version__, str(native.REVISION)]
    machine = " ".join([*facts, native.state().instructions, *sorted(cpu_flags())])
    return hashlib.sha256(machine.encode()).hexdigest()[:16]


def choices() -> list[Choice]:
    """What is on disk for this kind of machine, in the order of `what`."""
    found = [_read(path, None) for path in folder().glob("*.json")]
    return sorted((each for each in found if each is not None), key=lambda each: each.what)


def forget() -> None:
    """Forgets what this process knows, not what is on disk; its budget begins anew. For tests."""
    global _spent
    with _lock:
        _known.clear()
        _spent = 0.0


# ---- measuring


def _measure(what: str, candidates: Candidates) -> Choice | None:
    """Times the candidates; None where the budget is spent or one of them cannot run."""
    global _spent
    if _spent >= BUDGET_S:
        return None
    begin, found = monotonic(), dict[str, float]()
    thread = threading.Thread(target=_time_all, args=(candidates, found), daemon=True)
    thread.start()  # a thread has no trace of its own: what runs there is not part of one
    thread.join()
    _spent += monotonic() - begin
    if len(found) != len(candidates):
        return None
    return Choice(what, min(found, key=lambda name: found[name]), found)


def _time_all(candidates: Candidates, found: dict[str, float]) -> None:
    try:
        calls = {name: prepare() for name, prepare in candidates.items()}
        end = perf_counter() + LONGEST_S
        least = {name: _least(call, 0.0) for name, call in calls.items()}  # the first, to warm up
        for _ in range(ROUNDS):
            if perf_counter() > end:
                break
            for name, call in calls.items():
                least[name] = min(least[name], _least(call, ROUND_S))
    except Exception:  # whatever it is, the default serves, and says it when it is compiled
        return
    found.update({name: round(seconds * 1e6, 3) for name, seconds in least.items()})


def _least(call: Call, seconds: float) -> float:
    """Seconds of the fastest call, in `seconds` of calls and at least one."""
    least, end = float("inf"), perf_counter() + seconds
    while True:
        begin = perf_counter()
        call()
        now = perf_counter()
        least = min(least, now - begin)
        if now >= end:
            return least


# ---- files


def _path(what: str) -> pathlib.Path:
    return folder() / f"{hashlib.sha256(what.encode()).hexdigest()[:24]}.json"


def _read(path: pathlib.Path, what: str | None) -> Choice | None:
    """The choice in a file; None where there is none, or none that can be understood."""
    try:
        entry: Any = json.loads(path.read_text())  # any JSON
        times = {str(name): float(figure) for name, figure in entry["times"].items()}
        found = Choice(str(entry["what"]), str(entry["winner"]), times)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    if what not in (None, found.what) or (times and found.winner not in times):
        return None
    return found


def _settle(what: str, candidates: Candidates, default: str) -> Choice:
    """Measures a shape and keeps the choice; the default where one or the other cannot be done."""
    path, unknown = _path(what), Choice(what, default, {})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _bound(path.parent)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".new")
    except OSError:
        return unknown
    choice = _measure(what, candidates) or unknown
    try:
        with os.fdopen(handle, "w") as file:
            json.dump(asdict(choice), file)
        return _keep(name, path, choice, candidates)
    except OSError:
        return unknown
    finally:
        pathlib.Path(name).unlink(missing_ok=True)


def _keep(name: str, path: pathlib.Path, choice: Choice, candidates: Candidates) -> Choice:
    """Gives a file its place; the choice of another process that was there first holds."""
    try:
        os.link(name, path)
    except FileExistsError:
        other = _read(path, choice.what)
        if other is not None and other.winner in candidates:
            return other
        os.replace(name, path)
    except OSError:  # a file system without links: then the last one's choice holds
        os.replace(name, path)
    return choice


def _bound(kept: pathlib.Path) -> None:
    """Removes the oldest files, and those half written, where there are too many."""
    files = list(kept.iterdir())
    if len(files) < MOST_FILES:
        return
    aged = sorted((file.stat().st_mtime, file) for file in files)
    for _, file in aged[: len(files) - MOST_FILES + MOST_FILES // 10]:
        file.unlink(missing_ok=True)


__all__ = ["Choice", "choices", "chosen", "enabled", "folder", "forget"]
