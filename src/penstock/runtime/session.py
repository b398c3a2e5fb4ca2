"""The core of a session: plans by what they compute, and the steps that are under way.

`DirectSession` runs parts of one graph in this process. It keeps plans by (fetches, feeds,
targets), the resources of its graph, unless they are a task's, and the steps that have not ended.
The public classes are in `penstock.runtime.client`.
"""

import secrets
import threading
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from penstock import errors
from penstock.config import env
from penstock.config.placement_log import log_placement
from penstock.core.execution_scopes import check_executor
from penstock.core.resources import OWN, ResourceManager
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation
from penstock.runtime import placed as _plans  # noqa: F401  plans on several devices
from penstock.runtime.options import SessionOptions
from penstock.runtime.plan import Plan, make_plan
from penstock.runtime.program import build
from penstock.runtime.step import Step
from penstock.runtime.tasks import Task

_sessions: "weakref.WeakSet[DirectSession]" = weakref.WeakSet()


class DirectSession:
    """Runs parts of one graph in this process. Thread-safe.

    Args:
      graph: the graph.
      options: its settings.
      task: the task whose resources it shares and whose devices it has; None for its own.
    """

    def __init__(
        self, graph: Graph, options: SessionOptions | None = None, task: Task | None = None
    ) -> None:
        self.graph = graph
        self.options = options if options is not None else SessionOptions()
        self.task = task
        self.state: dict[Any, Any] = {}  # what operations keep between steps
        self.resources = ResourceManager()
        if task is not None and self.options.isolated:
            self.resources = ResourceManager(task.resources.task)
        elif task is not None:
            self.resources = task.resources
            self.state[OWN] = ResourceManager(task.resources.task)
        self.device_count = self.options.device_count if task is None else task.device_count
        self._timeout_s = self.options.timeout_s
        self._capacity = env.get("PENSTOCK_PLAN_CACHE")
        self._lock = threading.Lock()  # guards: _plans, _closed
        self._plans: OrderedDict[Any, tuple[Plan, Any]] = OrderedDict()
        self._steps: set[Step] = set()
        self._closed = False
        self._was_reset = False  # closed by `reset_sessions`, not by its owner
        self._number = secrets.token_hex(8)
        _sessions.add(self)

    def plan(
        self,
        fetches: Sequence[SymbolicTensor],
        feeds: Sequence[SymbolicTensor],
        targets: Sequence[Operation],
    ) -> Plan:
        """The plan for these; made at the first call.

        Raises:
          RuntimeError: the session is closed.
          InvalidArgumentError: a placeholder is not fed, or the graph has a cycle.
        """
        key = (
            tuple(map(id, fetches)),
            tuple(map(id, feeds)),
            tuple(map(id, targets)),
            self.graph.edits,
        )
        with self._lock:
            self.check_open()
            found = self._plans.get(key)
            if found is not None:
                self._plans.move_to_end(key)
                return found[0]
        options = self.options
        check_executor(options.executor, "ConfigProto.experimental.executor_type")
        made = make_plan(
            build(fetches, feeds, targets),
            self.resources,
            optimize=options.optimize,
            threads=options.threads,
            soft_placement=options.soft_placement,
            half=options.half,
            cpus=self.device_count.get("CPU"),
        )
        made.state = self.state
        if options.log_placement:
            log_placement(made.program.nodes)
        with self._lock:
            self.check_open()  # a closed session would keep it for good
            found = self._plans.setdefault(key, (made, (fetches, feeds, targets)))
            if len(self._plans) > self._capacity:
                self._plans.popitem(last=False)
        return found[0]

    def run(self, plan: Plan, feeds: Sequence[Any]) -> tuple[Sequence[Any], Step]:
        """Runs a plan with fed arrays; returns the fetched arrays and the step.

        The step holds what the arrays may share with variables: keep it until they are copied.
        """
        step = Step(self.resources, self.state, self._timeout_s)
        return self.run_step(plan, feeds, step), step

    def run_step(self, plan: Plan, feeds: Sequence[Any], step: Step) -> Sequence[Any]:
        """Runs a plan as `step`; closing the session cancels it."""
        steps = self._steps
        steps.add(step)
        try:
            if self._closed:
                self.check_open()
            results = plan.run(feeds, step)
        except BaseException:
            step.end(failed=True)
            raise
        else:
            if step.who:
                step.end()
            return results
        finally:
            steps.discard(step)

    def check_open(self) -> None:
        """Raises when the session is closed.

        Raises:
          RuntimeError: it is.
          CancelledError: all sessions were reset.
          AbortedError: those of its task were.
        """
        if self._was_reset:
            self.check_not_cancelled()
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session. Make a new one.")

    def check_not_cancelled(self) -> None:
        """Like `check_open`, for calls that TensorFlow answers with CancelledError."""
        if self._was_reset and self.task is not None:
            raise errors.AbortedError(
                None,
                None,
                f"Session {self._number} is not found: expected an open one at {self.task.target},"
                " got one that Session.reset closed. Make a new one.",
            )
        if self._closed:
            raise errors.CancelledError(
                None, None, "Session has been closed. Make a new one after Session.reset or close."
            )

    def close(self) -> None:
        """Cancels the steps under way and refuses new ones. A second call does nothing.

        What only the session can use, and holds files or threads (`close_with_session`), ends.
        """
        with self._lock:
            self._closed = True
            self._plans.clear()
        for step in list(self._steps):
            step.cancel("the session was closed")
        for _, resource in self.state.get(OWN, self.resources).items():
            end = getattr(resource, "close_with_session", None)
            if end is not None:
                end()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed


def reset_sessions(containers: list[str] | None, task: Task | None = None) -> None:
    """Clears the resources of all sessions of a task, of these containers or of all.

    And closes the sessions. Without a task: of those that are of none.
    """
    for session in list(_sessions):
        if session.task is not task:
            continue
        if not session.closed:  # first: what waits for a resource ends with its session
            session._was_reset = True
            session.close()
        session.resources.clear(containers)
    if task is not None:
        task.resources.clear(containers)
