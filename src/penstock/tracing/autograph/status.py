"""Whether the code that runs now is converted code, by thread.

`ENABLED` inside a converted function, `DISABLED` inside one that must not be converted,
`UNSPECIFIED` outside of both. An artifact is a function that conversion leaves alone: it was made
by conversion, or the user asked for that.
"""

import contextlib
import enum
import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any

_MARK = "autograph_info__"  # the name that the generated code's library knows


class Status(enum.Enum):
    """What the innermost function asked for."""

    UNSPECIFIED = 0
    ENABLED = 1
    DISABLED = 2


class _Local(threading.local):
    status = Status.UNSPECIFIED


_local = _Local()


def current() -> Status:
    """The status of this thread."""
    return _local.status


def set_current(status: Status) -> None:
    """Sets the status of this thread."""
    _local.status = status


@contextlib.contextmanager
def scope(status: Status) -> Iterator[None]:
    """Code inside has this status."""
    before = _local.status
    _local.status = status
    try:
        yield
    finally:
        _local.status = before


def artifact(function: Any, extras: Any = True) -> Any:
    """Marks a function as one that conversion leaves alone, and returns it."""
    setattr(getattr(function, "__func__", function), _MARK, extras)
    return function


def is_artifact(function: Any) -> bool:
    """Whether conversion leaves `function` alone."""
    return hasattr(function, _MARK)


def do_not_convert(func: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Leaves a function, and what it calls, as it is written.

    Args:
      func: the function; without it, a decorator is returned.

    Returns:
      A function that does what `func` does and is not converted.

    Example:
      >>> import penstock as tf
      >>> @tf.autograph.experimental.do_not_convert
      ... def shape_as_list(x):
      ...     return [int(d) for d in x.shape]
      >>> tf.function(lambda x: tf.zeros(shape_as_list(x)))(tf.ones([2])).shape
      TensorShape([2])
    """
    if func is None:
        return do_not_convert
    return artifact(_with_status(func, Status.DISABLED))  # type: ignore[no-any-return]


def unspecified(func: Callable[..., Any]) -> Callable[..., Any]:
    """`func`, run as if no conversion had been asked for or refused."""
    return artifact(_with_status(func, Status.UNSPECIFIED))  # type: ignore[no-any-return]


def _with_status(func: Callable[..., Any], status: Status) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with scope(status):
            return func(*args, **kwargs)

    if inspect.isfunction(func) or inspect.ismethod(func):
        functools.update_wrapper(wrapper, func)
    return wrapper
