"""`Coordinator`: threads that stop together, and the first error among them.

A thread asks `should_stop()` in its loop and calls `request_stop()` when it is done or has failed.
Whoever waits in `join()` is woken, gives the others time to end, and raises the first error.
"""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock import errors
from penstock.config.logging import get_logger
from penstock.core.effects import Place, switch

_CHECK_SECONDS = 1.0  # how often `join` looks whether all threads have ended by themselves


class Coordinator:
    """Stops a set of threads together. Thread-safe.

    Args:
      clean_stop_exception_types: exceptions that mean the ordinary end; OutOfRangeError by default.

    Example:
      >>> import threading
      >>> coord = tf.train.Coordinator()
      >>> def work():
      ...     while not coord.should_stop():
      ...         coord.request_stop()
      >>> thread = threading.Thread(target=work)
      >>> thread.start()
      >>> coord.join([thread])
    """

    def __init__(
        self, clean_stop_exception_types: tuple[type[BaseException], ...] | None = None
    ) -> None:
        given = clean_stop_exception_types
        self._clean = (errors.OutOfRangeError,) if given is None else tuple(given)
        self._turns = Place("Coordinator")
        self._lock = self._turns.lock  # guards: _error, _joined, _threads
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._threads: set[threading.Thread] = set()

    def request_stop(self, ex: Any = None) -> None:
        """Asks the threads to stop.

        Args:
          ex: why: an exception, or what `sys.exc_info()` gives; the first one is raised by `join`,
            unless it means the ordinary end.

        Raises:
          BaseException: `ex`, when the threads were joined already and nobody else would see it.
          TypeError: `ex` is no exception.
        """
        problem = _exception(ex)
        log = switch.log
        with self._lock if log is None else log.turn_to_end("request_stop", self._turns):
            if self._joined:
                if problem is not None:
                    raise problem
                return
            if self._stop.is_set():
                return
            if problem is not None:
                if isinstance(problem, self._clean):
                    get_logger().info("Coordinator stopped: %s", problem)
                elif self._error is None:
                    get_logger().info(
                        "Error reported to Coordinator: %s, %s", type(problem), problem
                    )
                    self._error = problem
            self._stop.set()

    def clear_stop(self) -> None:
        """Forgets the request to stop, its reason and that threads were joined."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop.clear()

    def should_stop(self) -> bool:
        """Whether the threads were asked to stop."""
        log = switch.log
        if log is None:
            return self._stop.is_set()
        with log.turn(None, "should_stop", (self._turns,)):
            return self._stop.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """A scope in which an exception asks the threads to stop, and goes no further."""
        try:
            yield
        except:  # noqa: E722  (whatever ends a thread must stop the others)
            self.request_stop(ex=sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until the threads are asked to stop.

        Args:
          timeout: at most so many seconds.

        Returns:
          False when the time ran out.
        """
        log = switch.log
        if log is None or timeout is None:
            return self._stop.wait(timeout)
        return bool(log.drawn(None, "wait_for_stop", lambda: self._stop.wait(timeout)))

    def register_thread(self, thread: threading.Thread) -> None:
        """Adds a thread to those that `join` waits for."""
        with self._lock:
            self._threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits until all threads have ended.

        It waits as long as nobody asks to stop; from then on the threads have a time of grace.

        Args:
          threads: threads to wait for, with those that are registered.
          stop_grace_period_secs: seconds that threads may go on after the request to stop.
          ignore_live_threads: whether threads that still run then are left alone.

        Raises:
          BaseException: the first error that a thread reported.
          RuntimeError: a thread still runs after the time of grace.
        """
        with self._lock:
            waited_for = self._threads.union(threads or ())
        while any(t.is_alive() for t in waited_for) and not self._stop.wait(_CHECK_SECONDS):
            pass
        end = time.monotonic() + stop_grace_period_secs
        for thread in waited_for:
            while thread.is_alive() and time.monotonic() < end:
                thread.join(min(_CHECK_SECONDS, max(0.0, end - time.monotonic())))
        alive = [t.name for t in waited_for if t.is_alive()]
        with self._lock:
            self._joined = True
            self._threads = set()
            problem = self._error
        if problem is not None:
            raise problem
        if alive:
            self._complain(alive, stop_grace_period_secs, ignore_live_threads)

    def _complain(self, alive: list[str], grace: float, ignore: bool) -> None:
        text = (
            f"Coordinator stopped with threads still running: {' '.join(sorted(alive))}. Expected"
            f" them to end within {grace} seconds of the request to stop. Look at should_stop() in"
            " their loops, or give more time with stop_grace_period_secs."
        )
        if not ignore:
            raise RuntimeError(text)
        get_logger().info(text)

    @property
    def joined(self) -> bool:
        """Whether `join` has ended."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raises the error that a thread reported; nothing when there is none."""
        with self._lock:
            problem = self._error
        if problem is not None:
            raise problem


def _exception(ex: Any) -> BaseException | None:
    if isinstance(ex, tuple):
        ex = ex[1] if len(ex) > 1 else None
    if ex is None or isinstance(ex, BaseException):
        return ex
    raise TypeError(
        f"request_stop expected an exception or the result of sys.exc_info(), got {ex!r}. Pass the"
        " exception that was caught."
    )


class LooperThread(threading.Thread):
    """A thread that calls something again and again, under a coordinator.

    Args:
      coord: stops the loop; an exception of the loop stops it.
      timer_interval_secs: seconds from call to call; None calls again at once.
      target: what to call; `run_loop` of a subclass when None.
      args: its positional arguments.
      kwargs: its keyword arguments.

    Raises:
      ValueError: `coord` is no Coordinator.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Iterable[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord!r}")
        super().__init__(daemon=True)
        self._coord = coord
        self._interval = timer_interval_secs
        self._call = (target, tuple(args or ()), dict(kwargs or {})) if target else None
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Iterable[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> "LooperThread":
        """Makes and starts one; arguments as for the class."""
        looper = LooperThread(coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        """The thread: the loop between `start_loop` and `stop_loop`."""
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._interval is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                self._run_timed(self._interval)
            self.stop_loop()

    def _run_timed(self, interval: float) -> None:
        next_time = time.monotonic()
        while not self._coord.wait_for_stop(max(0.0, next_time - time.monotonic())):
            next_time += interval
            self.run_loop()

    def start_loop(self) -> None:
        """Called before the first round; subclasses override it."""

    def stop_loop(self) -> None:
        """Called after the last round; subclasses override it."""

    def run_loop(self) -> None:
        """One round: calls the target; subclasses without a target override it."""
        if self._call is not None:
            target, args, kwargs = self._call
            target(*args, **kwargs)
