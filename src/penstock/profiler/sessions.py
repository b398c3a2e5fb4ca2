"""`tf.profiler.experimental`: profiles of this process, for TensorBoard and chrome://tracing."""

import contextlib
import os
import time
from types import TracebackType
from typing import Any, NamedTuple

from penstock import errors
from penstock.core.lazy import jax
from penstock.profiler import capture
from penstock.runtime.watching import state as watching


class ProfilerOptions(NamedTuple):
    """How much a profile looks at.

    Attributes:
      host_tracer_level: of XLA's work on the host: 0 none, 1 what programs mark, 2 what is costly,
        3 everything.
      python_tracer_level: 1 to trace every Python call, 0 for none.
      device_tracer_level: 1 to trace accelerators, 0 for none.
      delay_ms: milliseconds from the start during which steps are left out; None for none.
    """

    host_tracer_level: int = 2
    python_tracer_level: int = 0
    device_tracer_level: int = 1
    delay_ms: int | None = None


_logdir: list[str] = []  # of the profile under way


def start(logdir: Any, options: ProfilerOptions | None = None) -> None:
    """Starts a profile of this process: its steps and functions, and what XLA does for them.

    Args:
      logdir: the folder for it; the files go to `plugins/profile/<time>` in it.
      options: how much it looks at.

    Raises:
      AlreadyExistsError: a profile is under way.
      TypeError: `logdir` is no path, or `options` no ProfilerOptions.

    Example:
      >>> import penstock as tf, tempfile
      >>> tf.profiler.experimental.start(tempfile.mkdtemp())
      >>> tf.profiler.experimental.stop()
    """
    if options is not None and not isinstance(options, ProfilerOptions):
        raise TypeError(
            "tf.profiler.experimental.start: expected options of class ProfilerOptions, got "
            f"{type(options).__name__}. Pass tf.profiler.experimental.ProfilerOptions(...)."
        )
    folder = os.fsdecode(logdir)
    capture.start(ProfilerOptions() if options is None else options)
    _logdir[:] = [folder]


def stop(save: bool = True) -> None:
    """Ends the profile that `start` began.

    Args:
      save: whether its files are written.

    Raises:
      UnavailableError: none is under way.
    """
    capture.stop(_logdir[0] if save and _logdir else None)


class Profile:
    """A scope that is profiled; see `start`.

    Args:
      logdir: the folder for it.
      options: how much it looks at.
    """

    def __init__(self, logdir: Any, options: ProfilerOptions | None = None) -> None:
        self._logdir = logdir
        self._options = options

    def __enter__(self) -> None:
        start(self._logdir, self._options)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stop()


class Trace:
    """A scope that a profile shows as a bar, with a name and what is known of it.

    Costs nothing to speak of while no profile is under way.

    Args:
      name: of the bar.
      **kwargs: shown with it. `step_num=...` with `_r=1` marks a step of training.

    Example:
      >>> import penstock as tf
      >>> with tf.profiler.experimental.Trace("train", step_num=3, _r=1):
      ...     loss = tf.constant(1.0) + 1.0
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        self._name = name
        self._arguments = kwargs
        self._inner: Any = contextlib.nullcontext()
        self._start: float | None = None

    def __enter__(self) -> "Trace":
        if watching.steps is not None:
            self._inner = jax.profiler.TraceAnnotation(self._name, **self._arguments)
            self._inner.__enter__()
            self._start = time.time()
        return self

    def set_metadata(self, **kwargs: Any) -> None:
        """Adds to what is shown with the bar, from inside of the scope."""
        if watching.steps is not None:
            self._arguments.update(kwargs)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._start is None:
            return
        self._inner.__exit__(kind, problem, trace)
        watch, start_time, self._start = watching.steps, self._start, None
        if watch is not None:
            watch.mark(self._name, start_time, time.time(), self._arguments)


# ---- other processes

_servers: list[Any] = []


def server_start(port: int) -> None:
    """Serves profiles of this process to tools that ask over gRPC (XLA's profiler service).

    Args:
      port: where it listens. One server for each process.

    Raises:
      TypeError: `port` is no integer.
      AlreadyExistsError: there is a server.
    """
    if isinstance(port, bool) or not isinstance(port, int):
        raise TypeError(
            f"tf.profiler.experimental.server.start: expected an integer port, got {port!r}. "
            "Pass a free port such as 6009."
        )
    if _servers:
        raise errors.AlreadyExistsError(
            None,
            None,
            "tf.profiler.experimental.server.start: expected no server, got a second one. A "
            "process has one; ask the first.",
        )
    _servers.append(jax.profiler.start_server(port))


def client_trace(
    service_addr: str,
    logdir: Any,
    duration_ms: int,
    worker_list: str = "",
    num_tracing_attempts: int = 3,
    options: ProfilerOptions | None = None,
) -> None:
    """Not supported: asking other processes for a profile.

    Args:
      service_addr: of the servers.
      logdir: where the profile would go.
      duration_ms: how long it would be.
      worker_list: of workers of a TPU.
      num_tracing_attempts: how often it would be tried.
      options: how much it would look at.

    Raises:
      UnimplementedError: always.
    """
    raise _no_client("trace", service_addr)


def client_monitor(service_addr: str, duration_ms: int, level: int = 1) -> str:
    """Not supported: a look at another process.

    Args:
      service_addr: of the server.
      duration_ms: how long to look.
      level: how much to tell.

    Raises:
      UnimplementedError: always.
    """
    raise _no_client("monitor", service_addr)


def _no_client(name: str, address: str) -> Exception:
    return errors.UnimplementedError(
        None,
        None,
        f"tf.profiler.experimental.client.{name}: expected a profile of this process, got the "
        f"address {address!r} of another. Use tf.profiler.experimental.start there, or XProf's "
        "capture tool with the port of server.start.",
    )
