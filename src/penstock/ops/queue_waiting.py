"""How operations on queues and their like wait.

A kernel that waits holds no worker of the executor (it `blocks`), and wakes when what it
waits for happens, when its step is cancelled or its session closed, at the step's deadline, and on
Ctrl-C. `wait_until` is the one way to wait; `Line` keeps those who wait in the order in which they
came.
"""

import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.core.effects import replaying, switch
from penstock.core.kernels import KernelContext
from penstock.core.resources import OWN, ResourceHandle

_numbers = itertools.count()
_graph_numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


def wait_until(
    ctx: KernelContext, condition: threading.Condition, ready: Callable[[], bool], what: str
) -> None:
    """Waits until `ready()`; the caller holds `condition`, whose notification it waits for.

    Args:
      ctx: the kernel's context.
      condition: notified by whoever changes what `ready` looks at.
      ready: whether there is nothing to wait for.
      what: the resource, for the error of a step that ends first.

    Raises:
      CancelledError, DeadlineExceededError: the step ended first.
    """
    log = switch.log
    if log is None:
        _wait(ctx, condition, ready, what)
    else:
        log.wait(
            ctx.step, ctx.op_name, condition, ready, lambda: _wait(ctx, condition, ready, what)
        )


def _wait(
    ctx: KernelContext, condition: threading.Condition, ready: Callable[[], bool], what: str
) -> None:
    if ctx.step is not None:
        ctx.step.wait(condition, ready, f"{ctx.op_name} at {what}")
        return
    while not ready():
        condition.wait()


class Line:
    """Those who wait for one thing, first come, first served. Its owner's lock guards it."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: deque[object] = deque()

    def wait(
        self,
        ctx: KernelContext,
        condition: threading.Condition,
        ready: Callable[[], bool],
        what: str,
    ) -> None:
        """Waits until it is this caller's turn and `ready()`."""
        if replaying():
            wait_until(ctx, condition, ready, what)  # the log says whose turn it is
            return
        me = object()
        self._waiting.append(me)
        try:
            wait_until(ctx, condition, lambda: self._waiting[0] is me and ready(), what)
        finally:
            self._waiting.remove(me)
            condition.notify_all()


def make_handle(
    ctx: KernelContext,
    container: str,
    shared_name: str,
    kind: type,
    create: Callable[[str], Any],
) -> ResourceHandle:
    """The handle of the resource with this container and name; made when there is none.

    Without a shared name it is the operation's own: in a session by its name, also where sessions
    share the resources of a task; an eager operation makes a new one each time; one in a function's
    body has one, as long as the body is there.
    """
    name = shared_name or ctx.op_name
    resources = ctx.resources
    if not shared_name and ctx.step is not None:
        resources = ctx.step.state.get(OWN, resources)
    if not shared_name and ctx.step is None:
        name = f"{name}_{next(_numbers)}"
    elif not shared_name and getattr(ctx.graph, "building_function", False):
        name = f"{name}_{_number_of(ctx.graph)}"
        if resources.lookup(container, name) is None:
            weakref.finalize(ctx.graph, resources.delete, container, name)
    found = resources.lookup_or_create(container, name, kind, lambda: create(name))
    return ResourceHandle(container, name, found)


def _number_of(graph: Any) -> int:
    """What tells the resources of a function's body from those of others of the same name."""
    return _graph_numbers.setdefault(graph, next(_numbers))
