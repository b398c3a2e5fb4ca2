"""The tasks of this process that sessions reach by a target.

A `Task` owns resources that all sessions with its target share. A server adds one when it starts;
it stays as long as the process, as the variables in it outlive the sessions that made them. A
session without a target is of no such task: its resources are its own.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock import errors
from penstock.core.resources import ResourceManager

GRPC = "grpc://"

_lock = threading.Lock()  # guards: _tasks
_tasks: "dict[str, Task]" = {}


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What sessions share that have one target.

    Attributes:
      target: what names it: `grpc://host:port`.
      resources: variables, queues and tables, by name; its own name is in them.
      device_count: how many devices of a type there are; of CPUs one, where it does not say.
      holds: what stays as long as the task: its port.
    """

    target: str
    resources: ResourceManager
    device_count: Mapping[str, int] = field(default_factory=dict)
    holds: Any = None  # any: whatever keeps the target from others


def add_task(task: Task) -> None:
    """Lets sessions reach a task. Thread-safe."""
    with _lock:
        _tasks[task.target] = task


def task_at(target: str | bytes | None) -> Task | None:
    """The task with this target; None for the process itself. Thread-safe.

    Raises:
      TypeError: the target is no text.
      UnimplementedError: it is the address of another process.
      NotFoundError: nothing has such a target.
    """
    text = target.decode() if isinstance(target, bytes) else target
    if text is None or text == "":
        return None
    if not isinstance(text, str):
        raise TypeError(f'Argument `target` must be a string, but got "{type(target).__name__}"')
    with _lock:
        found = _tasks.get(text)
        known = sorted(_tasks)
    if found is not None:
        return found
    there = f"Servers of this process: {', '.join(known)}." if known else "There is none."
    if text.startswith(GRPC):
        raise errors.UnimplementedError(
            None,
            None,
            f"Session: expected '' or the target of a server that runs in this process, got"
            f" {text!r}. {there} Servers of other processes cannot be reached yet; start one here"
            " with tf.distribute.Server.create_local_server().",
        )
    raise errors.NotFoundError(
        None,
        None,
        f"No session factory registered for the given session options: {{target: {text!r}}}."
        f" Expected '' (this process) or the target of a server. {there} Start one with"
        " tf.distribute.Server.create_local_server().",
    )
