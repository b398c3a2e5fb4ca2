"""`Run`: what the stages of one iterator share.

Where it runs (resources, device), the functions that it calls with their plans, the threads that
run ahead for it, and whether it was closed. What functions keep between calls, such as random
counters, belongs to the run: two iterators of one dataset draw the same numbers where seeds say
so, whoever comes first. Plans are made once for all eager runs: the next epoch compiles nothing.
"""

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from penstock import errors
from penstock.core.resources import ResourceManager, eager_resources
from penstock.data.options import NO_OPTIONS, RunOptions
from penstock.data.pool import Pool, shared_pool
from penstock.graph.body import CallBody
from penstock.runtime.plan import make_plan
from penstock.runtime.program import FEED, Node, build
from penstock.runtime.reference import ReferencePlan
from penstock.runtime.simplify import prepared_op, simplify
from penstock.runtime.step import Step

Array = Any  # numpy.ndarray, or a Python object


_OVER = "the step that waited for the element has ended"
_CLOSED = "The iterator was closed while an element was being made."


class UnwantedError(errors.CancelledError):
    """Nobody waits for an element any more: no element has failed, and none is passed over.

    Attributes:
      passed: how many elements a stage had passed over when its `skip` ended so.
    """

    passed = 0


class Run:
    """What the stages of one iterator share. Thread-safe.

    Args:
      resources: the manager of the state that operations name.
      device: the type of the device that functions run on.
      options: those of the dataset.

    Attributes:
      closed: set when nobody will take another element.
      pool: the threads that run ahead.
    """

    def __init__(
        self, resources: ResourceManager, device: str = "CPU", options: RunOptions = NO_OPTIONS
    ) -> None:
        self.resources = resources
        self.device = device or "CPU"
        self.options = options
        self.closed = threading.Event()
        self._closed = False  # the same, to be looked at for each element
        self.pool: Pool = shared_pool(options.threads)
        self.active: dict[
            int, Step
        ] = {}  # steps of functions that run now; no lock: one entry each
        self._scope_lock = threading.RLock()  # guards: _scope, _over
        self._scope: object = None  # the step that waits for an element now
        self._over = False  # whether it does not any more
        self._later: list[Callable[[], None]] | None = None  # of the restore under way
        self._lock = threading.Lock()  # guards: _plans, _states
        self._plans: dict[int, tuple[CallBody, Any]] = {}
        self._states: dict[int, tuple[CallBody, dict[Any, Any]]] = {}

    def close(self) -> None:
        """Says that nobody will take another element, and ends the functions that run now."""
        self._closed = True
        self.closed.set()
        self.interrupt(_CLOSED)

    def interrupt(self, why: str = _OVER) -> None:
        """Ends the functions that run now: whoever waits for their elements does not any more."""
        for step in list(self.active.values()):
            step.cancel(why)

    def after_fork(self) -> None:
        """Serves in a forked process, where the threads of the other one are not."""
        self.pool = shared_pool(self.options.threads)
        self._scope_lock, self._lock = threading.RLock(), threading.Lock()
        self._scope, self._over = None, False
        self.active.clear()

    def check_wanted(self) -> None:
        """Fails when whoever waits for an element does not any more.

        Whatever may go on without an element, for as long as it takes, calls it from time to time.

        Raises:
          UnwantedError: so it is.
        """
        if self._over:
            raise UnwantedError(None, None, f"The iterator: {_OVER}.")
        if self._closed:
            raise UnwantedError(None, None, _CLOSED)

    @contextlib.contextmanager
    def within(self, step: Any, where: str) -> Iterator[None]:
        """A scope in which functions end when a step does that waits for their elements.

        Args:
          step: the step.
          where: what waits in it.

        Raises:
          CancelledError, DeadlineExceededError: the step ended.
        """
        scope = self._scope = object()

        def end() -> None:
            with self._scope_lock:  # a timer may fire when the next step waits already
                if self._scope is scope:
                    self._over = True
                    self.interrupt()

        left = step.remaining()
        timer = None
        if left is not None and left < threading.TIMEOUT_MAX / 2:
            timer = threading.Timer(max(left, 0.0), end)
            timer.daemon = True
            timer.start()
        forget = step.on_cancel(end)
        try:
            yield
        except errors.OpError:
            step.check(where)
            raise
        finally:
            forget()
            if timer is not None:
                timer.cancel()
            with self._scope_lock:
                self._scope, self._over = None, False

    @contextlib.contextmanager
    def restoring(self) -> Iterator[None]:
        """A restore of all stages: what they hand to `when_restored` is done if it succeeds."""
        later: list[Callable[[], None]] = []
        self._later = later
        try:
            yield
        finally:
            self._later = None
        for each in later:
            each()

    def when_restored(self, change: Callable[[], None]) -> None:
        """Changes what is not a stage's own, when all stages are restored."""
        if self._later is None:
            change()
        else:
            self._later.append(change)

    def check_open(self) -> None:
        """Fails once the run was closed.

        Raises:
          UnwantedError: it was.
        """
        if self.closed.is_set():
            raise UnwantedError(None, None, _CLOSED)

    def plan_of(self, body: CallBody) -> Any:
        """The plan of a function, made once for all eager runs, or for this one."""
        if self.resources is eager_resources:
            with _shared_lock:
                plans = body.plans
                if self.device not in plans:
                    plans[self.device] = self._plan(body)
                return plans[self.device]
        with self._lock:
            found = self._plans.get(id(body))
            if found is None:
                found = self._plans[id(body)] = (body, self._plan(body))
        return found[1]

    def state_of(self, body: CallBody, plan: Any) -> dict[Any, Any]:
        """What a function keeps between its calls: its plan's, or this run's if it has effects."""
        if not body.stateful:
            return plan.state  # type: ignore[no-any-return]
        with self._lock:
            return self._states.setdefault(id(body), (body, {}))[1]

    def _plan(self, body: CallBody) -> Any:
        program = build(body.outputs, body.inputs, body.control_outputs)
        if body.graph in _one_by_one and all(map(_has_host_kernel, program.nodes)):
            return ReferencePlan(simplify(program))
        return make_plan(program, self.resources, self.device, threads=1)


def _has_host_kernel(node: Node) -> bool:
    return node.type == FEED or prepared_op(node).host is not None


# graphs of rows with floating-point numbers: their operations are not compiled together, which
# would round otherwise as soon as some number of rows has come twice
_one_by_one: "weakref.WeakSet[Any]" = weakref.WeakSet()


def run_one_by_one(body: CallBody) -> None:
    """Has the operations of a function run one by one, with the same results at any time."""
    _one_by_one.add(body.graph)


# Plans of eager runs are on their bodies: a plan has the bodies around it, so that a table of plans
# would keep all of them for ever.
_shared_lock = threading.RLock()  # guards: the plans of bodies


class Bound:
    """A function with its captured values, in a run. Thread-safe.

    Args:
      body: the function.
      captured: the arrays of its last inputs.
      run: the run that it belongs to.
    """

    __slots__ = ("_captured", "_plan", "_run", "_state", "body")

    def __init__(self, body: CallBody, captured: Sequence[Array], run: Run) -> None:
        self.body = body
        self._captured = list(captured)
        self._run = run
        self._plan = run.plan_of(body)
        self._state = run.state_of(body, self._plan)

    def check_wanted(self) -> None:
        """As `Run.check_wanted`."""
        self._run.check_wanted()

    def __call__(self, arguments: Sequence[Array]) -> Sequence[Array]:
        """Its flat outputs for the arrays of its first inputs."""
        step = Step(self._run.resources, self._state)
        active = self._run.active
        active[step.id] = step
        try:
            results: Sequence[Array] = self._plan.run([*arguments, *self._captured], step)
        except BaseException:
            step.end(failed=True)
            raise
        finally:
            active.pop(step.id, None)
        if step.who:
            step.end()
        return results
