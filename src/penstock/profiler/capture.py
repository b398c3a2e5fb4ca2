"""One profile under way, and the files that it leaves.

Three files for each host go to `logdir/plugins/profile/<time>/`, where TensorBoard looks: XLA's own
trace (`HOST.xplane.pb`, and with it `HOST.trace.json.gz`), the steps of this system as a Chrome
trace with a row for each device and thread (`HOST.steps.json`), and a table of operations
(`HOST.operations.txt`).
"""

import json
import os
import pathlib
import shutil
import socket
import tempfile
import threading
import time
from collections import Counter
from typing import Any

from penstock import errors, proto
from penstock.core.context import set_watcher
from penstock.core.lazy import jax
from penstock.profiler.cost import cost_of
from penstock.profiler.eager_operations import EagerWatch
from penstock.profiler.records import Member, Work, table
from penstock.runtime.step import Event
from penstock.runtime.timeline import Timeline
from penstock.runtime.trace import add_step_stats
from penstock.runtime.watching import StepWatch
from penstock.runtime.watching import state as watching

MICROS = 1_000_000
_lock = threading.Lock()  # guards: _running
_running: "list[Capture]" = []  # the one under way, or none


class Capture:
    """A profile from its start to its end.

    Args:
      options: a ProfilerOptions.
    """

    def __init__(self, options: Any) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="profile-")
        self.delay = (options.delay_ms or 0) / 1000
        wanted = jax.profiler.ProfileOptions()
        wanted.host_tracer_level = options.host_tracer_level
        wanted.python_tracer_level = options.python_tracer_level
        if hasattr(wanted, "device_tracer_level"):
            wanted.device_tracer_level = options.device_tracer_level
        try:
            jax.profiler.start_trace(self._folder.name, profiler_options=wanted)
        except RuntimeError as problem:
            self._folder.cleanup()
            raise _another(str(problem)) from None
        self.watch = StepWatch()
        watching.steps = self.watch
        set_watcher(EagerWatch(self.watch))

    def end(self, logdir: str | None) -> pathlib.Path | None:
        """Ends it; writes the files below `logdir` unless that is None, and returns their folder.

        Raises:
          OSError: they cannot be written.
        """
        set_watcher(None)
        watching.steps = None
        try:
            jax.profiler.stop_trace()
            return None if logdir is None else self._write(pathlib.Path(logdir))
        finally:
            self._folder.cleanup()

    def _write(self, logdir: pathlib.Path) -> pathlib.Path:
        parent = logdir / "plugins" / "profile"
        parent.mkdir(parents=True, exist_ok=True)
        folder = _new_folder(parent, time.strftime("%Y_%m_%d_%H_%M_%S"))
        for path in pathlib.Path(self._folder.name).rglob("*"):
            if path.is_file():
                shutil.copyfile(path, folder / path.name)
        host = socket.gethostname()
        first = self.watch.started + self.delay
        events = [e for e in self.watch.events if e.start >= first]
        stats = proto.step_stats_pb2.StepStats()
        add_step_stats(stats, events)
        (folder / f"{host}.steps.json").write_text(self._chrome(stats, first))
        (folder / f"{host}.operations.txt").write_text(
            table(stats, self.watch.dropped, _works(events))
        )
        return folder

    def _chrome(self, stats: Any, first: float) -> str:
        """The Chrome trace: devices as processes, and the marked spans as one more."""
        trace = json.loads(Timeline(stats).generate_chrome_trace_format(show_memory=True))
        spans = [s for s in self.watch.spans if s[1] >= first]
        if spans:
            trace["traceEvents"].extend(_span_events(len(stats.dev_stats), spans))
        return json.dumps(trace)


def _works(events: list[Event]) -> dict[str, Work]:
    """What each operation or region computes: the operations in it, with their costs.

    Of several items of one name (an eager line with several sizes) the account has the sum.
    """
    items = {id(e.item): e.item for e in events}
    runs = Counter(id(e.item) for e in events)
    found: dict[str, Work] = {}
    for key, item in items.items():
        members = [
            Member(node.name, node.type, None if node.origin is None else cost_of(node.origin))
            for node in item.nodes
        ]
        name = members[0].name if len(members) == 1 else item.name
        work = Work.of(members, runs[key])
        found[name] = found[name].joined(work) if name in found else work
    return found


def _span_events(pid: int, spans: list[Any]) -> list[dict[str, Any]]:
    threads = {t: i for i, t in enumerate(dict.fromkeys(s[3] for s in spans))}
    found = [_named("process_name", pid, 0, "Python")]
    found += [_named("thread_name", pid, i, f"thread {i}") for i in threads.values()]
    for name, start, end, thread, arguments in spans:
        bar = {"name": name, "cat": "Trace", "ph": "X", "pid": pid, "tid": threads[thread]}
        times = {"ts": int(start * MICROS), "dur": max(int((end - start) * MICROS), 1)}
        found.append({**bar, **times, "args": {k: str(v) for k, v in arguments.items()}})
    return found


def _named(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


def _new_folder(parent: pathlib.Path, name: str) -> pathlib.Path:
    """A folder nobody else has, for profiles that end within one second."""
    for number in range(1000):
        folder = parent / (name if number == 0 else f"{name}_{number}")
        try:
            os.mkdir(folder)
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(f"{parent / name}: expected a name for a profile, got 1000 taken ones.")


def _another(why: str) -> Exception:
    return errors.AlreadyExistsError(
        None,
        None,
        f"Another profiler is running. tf.profiler.experimental.start: expected none, got one under"
        f" way ({why}). Call tf.profiler.experimental.stop() first.",
    )


def start(options: Any) -> None:
    """Starts the process's profile.

    Raises:
      AlreadyExistsError: there is one.
    """
    with _lock:
        if _running:
            raise _another("of this process")
        _running.append(Capture(options))


def stop(logdir: str | None) -> pathlib.Path | None:
    """Ends the process's profile; see Capture.end.

    Raises:
      UnavailableError: there is none.
    """
    with _lock:
        if not _running:
            raise errors.UnavailableError(
                None,
                None,
                "Cannot export profiling results. No profiler is running. "
                "tf.profiler.experimental.stop: expected one that was started, got none. Call "
                "tf.profiler.experimental.start(logdir) first.",
            )
        return _running.pop().end(logdir)
