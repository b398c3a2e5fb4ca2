"""Scopes that say how operations and functions are executed, kept for programs.

There is one executor, and a call has ended, with its error if it failed, when it returns.
"""

import contextlib
from collections.abc import Iterator

from penstock import errors
from penstock.config import execution
from penstock.core import deprecation

EXECUTORS = ("DEFAULT", "SINGLE_THREADED_EXECUTOR", "", None)


@contextlib.contextmanager
def async_scope() -> Iterator[None]:
    """Operations inside may end after their calls return; leaving it waits for them.

    An operation here has raised its error when its call returns, so nothing is left to wait for.

    Example:
      >>> with async_scope():
      ...     pass
    """
    before = execution.get_synchronous_execution()
    execution.set_synchronous_execution(False)
    try:
        yield
    finally:
        execution.set_synchronous_execution(before)


def async_clear_error() -> None:
    """Forgets the errors of operations that nobody waited for: there are none here."""


def enable_strict_mode() -> None:
    """Makes functions that say in the log that they are deprecated raise `RuntimeError`."""
    deprecation.set_strict(True)


@contextlib.contextmanager
def function_executor_type(executor_type: str | None) -> Iterator[None]:
    """Says what runs the functions that are called inside; one executor runs all of them here.

    Args:
      executor_type: "DEFAULT", "SINGLE_THREADED_EXECUTOR", "" or None.

    Raises:
      NotFoundError: there is no such executor.
    """
    check_executor(executor_type, "function_executor_type")
    yield


def check_executor(executor_type: str | None, where: str) -> None:
    """Refuses an executor that there is not.

    Raises:
      NotFoundError: its name is none of `EXECUTORS`.
    """
    if executor_type not in EXECUTORS:
        raise errors.NotFoundError(
            None,
            None,
            f"{where}: expected one of {', '.join(map(repr, EXECUTORS))}, got"
            f" {executor_type!r}: no executor is registered for it. Leave the default.",
        )
