"""Functions that have a better one in their place: the first call of each says so, in the log.

In strict mode (`tf.experimental.enable_strict_mode`) a call is an error.
"""

import functools
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from penstock.config.logging import get_logger
from penstock.util.frames import user_frame

_P = ParamSpec("_P")
_R = TypeVar("_R")
_lock = threading.Lock()  # guards: _said
_said: set[str] = set()
_strict: list[bool] = []


def set_strict(strict: bool) -> None:
    """Says whether calls of deprecated functions are errors."""
    _strict[:] = [True] if strict else []


def deprecated(instead: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Decorator: the function is deprecated.

    Args:
      instead: what to do: a sentence that begins with "Use".

    Example:
      >>> @deprecated("Use `sum`.")
      ... def total(x):
      ...     return sum(x)
      >>> total([1, 2])
      3
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        name = f"{function.__qualname__} (from {function.__module__})"

        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            say(name, instead)
            return function(*args, **kwargs)

        return call

    return decorate


def say(name: str, instead: str) -> None:
    """Says once that a function is deprecated.

    Raises:
      RuntimeError: in strict mode.
    """
    if not _strict:
        with _lock:
            if name in _said:
                return
            _said.add(name)
    where = user_frame()
    text = f"From {where or 'an unknown place'}: {name} is deprecated. {instead}"
    if _strict:
        raise RuntimeError(text)
    get_logger().warning(text)
