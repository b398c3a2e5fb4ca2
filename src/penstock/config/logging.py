"""The log: `tf.get_logger` and the functions of `tf.compat.v1.logging`.

One logger, named "penstock", with one handler that writes to standard error; both are made at first
use, so importing this module touches nothing. The handler is left out when the program has set up a
root handler of its own. The level starts at ``PENSTOCK_LOG_LEVEL``.
"""

from __future__ import annotations

import logging as _logging
import sys
import threading
from collections import Counter
from typing import Any

from penstock.config import env

DEBUG: int = _logging.DEBUG
INFO: int = _logging.INFO
WARN: int = _logging.WARNING
ERROR: int = _logging.ERROR
FATAL: int = _logging.CRITICAL

_lock = threading.Lock()  # guards: _state, _counts
_state: dict[str, _logging.Logger] = {}
_counts: Counter[tuple[str, int]] = Counter()


class _StderrHandler(_logging.StreamHandler[Any]):
    """Writes to whatever `sys.stderr` is now, so that redirecting it works."""

    def __init__(self) -> None:
        _logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:
        return sys.stderr

    @stream.setter
    def stream(self, value: Any) -> None:
        del value


def get_logger() -> _logging.Logger:
    """The logger of this package, a `logging.Logger` named "penstock". Thread-safe.

    Example:
      >>> get_logger().name
      'penstock'
    """
    found = _state.get("logger")
    return found if found is not None else _make_logger()


def _make_logger() -> _logging.Logger:
    with _lock:
        if "logger" in _state:
            return _state["logger"]
        logger = _logging.getLogger("penstock")
        if logger.level == _logging.NOTSET:
            logger.setLevel(env.get("PENSTOCK_LOG_LEVEL") or WARN)
        if not logger.handlers and not _logging.getLogger().handlers:
            handler = _StderrHandler()
            handler.setFormatter(_logging.Formatter(_logging.BASIC_FORMAT))
            logger.addHandler(handler)
        _state["logger"] = logger
        return logger


def log(level: int, msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs a message.

    Args:
      level: one of DEBUG, INFO, WARN, ERROR and FATAL.
      msg: the text, with `%` placeholders for `args`.
      *args: values for the placeholders.
      **kwargs: `exc_info`, `extra` and so on, as for `logging.Logger.log`.
    """
    get_logger().log(level, msg, *args, **_here(kwargs))


def debug(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs a message of level DEBUG; arguments as for `log`."""
    get_logger().debug(msg, *args, **_here(kwargs))


def info(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs a message of level INFO; arguments as for `log`."""
    get_logger().info(msg, *args, **_here(kwargs))


def warning(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs a message of level WARN; arguments as for `log`."""
    get_logger().warning(msg, *args, **_here(kwargs))


def warn(msg: str, *args: Any, **kwargs: Any) -> None:
    """The same as `warning`."""
    get_logger().warning(msg, *args, **_here(kwargs))


def error(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs a message of level ERROR; arguments as for `log`."""
    get_logger().error(msg, *args, **_here(kwargs))


def fatal(msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs a message of level FATAL; it does not end the program. Arguments as for `log`."""
    get_logger().critical(msg, *args, **_here(kwargs))


def vlog(level: int, msg: str, *args: Any, **kwargs: Any) -> None:
    """Logs with a number as level, as `log` does: a small number is below DEBUG.

    Args:
      level: the level.
      msg: the text, with `%` placeholders for `args`.
      *args: values for the placeholders.
      **kwargs: as for `log`.
    """
    get_logger().log(level, msg, *args, **_here(kwargs))


def _here(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Names the caller of our function as the place of the message."""
    kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1
    return kwargs


def _next_count(msg: str, level: int) -> int:
    """How often this message was asked for before."""
    with _lock:
        count = _counts[msg, level]
        _counts[msg, level] += 1
    return count


def log_every_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Logs the first call with this message and every n-th one after it. Thread-safe.

    Args:
      level: as for `log`.
      msg: the text; also what calls are counted by.
      n: how many calls are one message.
      *args: values for the placeholders.
    """
    if _next_count(msg, level) % n == 0:
        get_logger().log(level, msg, *args, stacklevel=2)


def log_first_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Logs the first n calls with this message. Thread-safe.

    Args:
      level: as for `log`.
      msg: the text; also what calls are counted by.
      n: how many calls are logged.
      *args: values for the placeholders.
    """
    if _next_count(msg, level) < n:
        get_logger().log(level, msg, *args, stacklevel=2)


def log_if(level: int, msg: str, condition: Any, *args: Any) -> None:
    """Logs a message when `condition` holds."""
    if condition:
        get_logger().log(level, msg, *args, stacklevel=2)


def TaskLevelStatusMessage(msg: str) -> None:  # TensorFlow's name
    """Logs the state of a task, at level ERROR so that it is not filtered out."""
    get_logger().error(msg, stacklevel=2)


def get_verbosity() -> int:
    """The lowest level that is logged."""
    return get_logger().getEffectiveLevel()


def set_verbosity(v: int | str) -> None:
    """Sets the lowest level that is logged.

    Args:
      v: a level such as `INFO`, or its name.

    Raises:
      ValueError: there is no level of that name.
    """
    get_logger().setLevel(v)


def flush() -> None:
    """Writes out what the handlers of the log still hold."""
    for handler in get_logger().handlers:
        handler.flush()
