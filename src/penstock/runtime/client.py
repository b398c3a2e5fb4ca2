"""`Session` and `InteractiveSession`: running parts of a graph, with TensorFlow's surface.

`Session.run` turns fetches and feeds into a plan once and keeps what follows from them as a runner:
a function from fed values to the user's result. A later call with the same fetches and feed keys
finds the runner by their identity.
"""

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any

from penstock import errors
from penstock.core.symbolic_tensor import SymbolicTensor, set_evaluator
from penstock.graph.default_graph import get_default_graph
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation, set_runner
from penstock.runtime import trace
from penstock.runtime.cost_graph import CostModel
from penstock.runtime.devices import DeviceAttributes, bound_threads, session_devices
from penstock.runtime.feeds import Feeds, check_feed_dict
from penstock.runtime.fetches import IDENTITY_CLASSES, Fetches, fingerprint, finisher
from penstock.runtime.names import give_name_back, take_name
from penstock.runtime.options import (
    check_partition_graphs,
    check_pool,
    read_config,
    read_run_options,
)
from penstock.runtime.partial_run import PartialRuns
from penstock.runtime.plan import Plan
from penstock.runtime.session import DirectSession, reset_sessions
from penstock.runtime.step import Step
from penstock.runtime.tasks import task_at
from penstock.runtime.tensor_handles import FETCHED, TensorHandle

Runner = Callable[[Iterable[Any]], Any]  # any: fed values -> the result in the form of the fetches
RUNNERS = 256  # runners kept per session


class BaseSession:
    """What `Session` and `InteractiveSession` share.

    Thread-safe but for entering and leaving contexts.
    """

    def __init__(
        self, target: str | None = "", graph: Graph | None = None, config: Any = None
    ) -> None:
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(
                f'Argument `graph` must be a tf.Graph, but got "{type(graph).__name__}"'
            )
        self._graph = get_default_graph() if graph is None else graph
        task = task_at(target)
        self._target = "" if task is None else task.target
        self._config = config
        options = read_config(config)
        bound_threads(options.kernel_threads)
        self._direct = DirectSession(self._graph, options, task)
        take_name(self, options.metadata)  # last: nobody gives it back for a session that failed
        self._costs = CostModel(*options.cost_model) if options.cost_model[0] else None
        self._runners: dict[Any, tuple[int, Runner, Any]] = {}

    # ---- running --------------------------------------------------------------------------------

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Runs operations and evaluates tensors.

        Args:
          fetches: a tensor, an operation, a name, a variable, a composite tensor, or any structure
            of these.
          feed_dict: values by tensor (or name, composite tensor, tuple of tensors); any tensor may
            be fed.
          options: a RunOptions message.
          run_metadata: a RunMetadata message that is filled.

        Returns:
          The values in the structure of `fetches`: NumPy arrays, NumPy scalars, bytes; None for
            operations.

        Raises:
          RuntimeError: the session is closed or its graph is empty.
          TypeError: `fetches` or a key of `feed_dict` is no part of a graph, or a value does not
            convert.
          ValueError: it is part of another graph, or a fed shape does not fit.
          OpError: a subclass, when an operation fails.
        """
        if options is not None or run_metadata is not None:
            return self._run_with_options(fetches, feed_dict, options, run_metadata)
        key = id(fetches) if fetches.__class__ in IDENTITY_CLASSES else fingerprint(fetches)
        if feed_dict:
            key = (key, *map(id, feed_dict))
            found = self._runners.get(key)
            if found is not None and found[0] == self._graph.edits and feed_dict.__class__ is dict:
                return found[1](feed_dict.values())
        else:
            found = self._runners.get(key)
            if found is not None and found[0] == self._graph.edits:
                return found[1](())
        return self._first_run(key, fetches, feed_dict)

    def _first_run(self, key: Any, fetches: Any, feed_dict: Any) -> Any:
        wanted, feeds = self._compile(fetches, feed_dict)
        values = () if feed_dict is None else feed_dict.values()
        edits = self._graph.edits
        if not feeds.plain:
            arrays = feeds.arrays(values)
            return self._runner(wanted, feeds, list(arrays))(arrays.values())
        runner = self._runner(wanted, feeds)
        if len(self._runners) >= RUNNERS:
            self._runners.clear()
        self._runners[key] = (edits, runner, (wanted, list(feed_dict or ())))
        return runner(values)

    def _compile(self, fetches: Any, feed_dict: Any) -> tuple[Fetches, Feeds]:
        self._direct.check_open()
        if self._graph.version == 0:
            raise RuntimeError(
                "The Session graph is empty. Add operations to the graph before calling run()."
            )
        if feed_dict is not None:
            check_feed_dict(feed_dict)
        feeds = Feeds(self._graph, feed_dict or ())
        return Fetches(self._graph, fetches), feeds

    def _runner(self, wanted: Fetches, feeds: Feeds, fed: Sequence[int] | None = None) -> Runner:
        """A function from values of the feeds to the result.

        `fed`: ids of the tensors whose arrays are given as they are.
        """
        if fed is None:
            tensors, converters = feeds.tensors, feeds.converters
        else:
            by_id = {id(t): t for t in feeds.tensors}
            tensors, converters = [by_id[i] for i in fed], [_itself] * len(fed)
        plan = self._direct.plan(wanted.tensors, tensors, wanted.targets)
        if plan.keeps_feeds:
            converters = [_copying(c) for c in converters]
        finishers = [
            self._finisher(t, fresh)
            for t, fresh in zip(wanted.tensors, plan.fresh_fetches, strict=True)
        ]
        runner = _make_runner(self._direct, plan, converters, finishers, wanted)
        return runner if self._costs is None else self._costs.counted(runner, plan)

    def _run_with_options(
        self, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any
    ) -> Any:
        chosen = read_run_options(options)
        check_pool(chosen.pool, self._direct.options.pools)
        check_partition_graphs(chosen, self._direct.options)
        wanted, feeds = self._compile(fetches, feed_dict)
        arrays = feeds.arrays(() if feed_dict is None else feed_dict.values())
        by_id = {id(t): t for t in feeds.tensors}
        plan = self._direct.plan(wanted.tensors, [by_id[i] for i in arrays], wanted.targets)
        timeout_s = chosen.timeout_s or self._direct.options.timeout_s
        costs = self._costs is not None and self._costs.step(plan) and run_metadata is not None
        traced = chosen.trace or costs
        step = Step(self._direct.resources, self._direct.state, timeout_s, traced)
        given = [_copy(a) for a in arrays.values()] if plan.keeps_feeds else list(arrays.values())
        results = self._direct.run_step(plan, given, step)
        if run_metadata is not None:
            graph_def = self.graph_def if chosen.partition_graphs else None
            made = trace.run_metadata(step, graph_def, self._direct.options.metadata, costs)
            run_metadata.ParseFromString(made.SerializeToString())
        return wanted.build(
            [self._finisher(t, False)(r) for t, r in zip(wanted.tensors, results, strict=True)]
        )

    def _finisher(self, tensor: SymbolicTensor, fresh: bool) -> Callable[[Any], Any]:
        if tensor.op.type == FETCHED:
            return lambda array: TensorHandle(array.item(), self._direct)
        return finisher(tensor, fresh)

    # ---- callables and partial runs -------------------------------------------------------------

    def make_callable(
        self, fetches: Any, feed_list: Any = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function that runs `fetches`; its arguments are the values of `feed_list` in order.

        Args:
          fetches: as for `run`.
          feed_list: a list of feed keys.
          accept_options: whether the function takes `options` and `run_metadata` too.

        Raises:
          TypeError: `feed_list` is no list or tuple.
          CancelledError: the session is closed.
        """
        self._direct.check_not_cancelled()
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError(
                f"Argument `feed_list` must be a list or tuple. Received: feed_list={feed_list}"
            )
        keys = list(feed_list or ())
        feeds, wanted = Feeds(self._graph, keys), Fetches(self._graph, fetches)
        lookup: dict[str, tuple[int, Runner]] = {}  # the one runner, once it is made

        def call(*values: Any, options: Any = None, run_metadata: Any = None) -> Any:
            if len(values) < len(keys):
                missing = feeds.tensors[len(values)]
                raise errors.InvalidArgumentError(
                    None,
                    missing.op,
                    f"the callable expected {len(keys)} arguments "
                    f"({', '.join(t.name for t in feeds.tensors)}), got {len(values)}. Pass a value"
                    f" for '{missing.name}' too.",
                )
            if len(values) > len(keys):
                raise ValueError(
                    f"the callable expected {len(keys)} arguments "
                    f"({', '.join(t.name for t in feeds.tensors)}), got {len(values)}."
                )
            if options is not None or run_metadata is not None:
                return self._run_with_options(
                    fetches,
                    dict(zip(feeds.tensors, feeds.flat(values), strict=True)),
                    options,
                    run_metadata,
                )
            found = lookup.get("")
            if found is None or found[0] != self._graph.edits:
                found = lookup[""] = (self._graph.edits, self._runner(wanted, feeds))
            return found[1](values if feeds.plain else feeds.flat(values))

        return call if accept_options else lambda *values: call(*values)

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Prepares a step that is run bit by bit with `partial_run`.

        Args:
          fetches: all that will be fetched, as for `run`.
          feeds: all tensors that will be fed.

        Returns:
          The step's handle.

        Raises:
          InvalidArgumentError: nothing is to be fetched.
        """
        self._direct.check_open()
        wanted = Fetches(self._graph, fetches)
        return self._partial_runs.begin(wanted, Feeds(self._graph, feeds or ()))

    def partial_run(self, handle: str, fetches: Any, feed_dict: Any = None) -> Any:
        """Goes on with a step: computes `fetches` from what was fed before and now.

        Args:
          handle: what `partial_run_setup` gave.
          fetches: some of the fetches of the setup that were not fetched before.
          feed_dict: values of some of the feeds of the setup that were not fed before.

        Raises:
          InvalidArgumentError: the handle is unknown, or a fetch or feed was not named in the
            setup, or came before, or what a fetch needs has not been fed.
          RuntimeError: an operation is fetched.
        """
        wanted, feeds = self._compile(fetches, feed_dict)
        values = feeds.arrays(() if feed_dict is None else feed_dict.values())
        results = self._partial_runs.advance(handle, wanted, feeds, values)
        return wanted.build(
            [self._finisher(t, False)(r) for t, r in zip(wanted.tensors, results, strict=True)]
        )

    @property
    def _partial_runs(self) -> PartialRuns:
        found: PartialRuns | None = self.__dict__.get("_partial")
        if found is None:
            found = self.__dict__.setdefault("_partial", PartialRuns(self._direct))
        return found

    # ---- life -----------------------------------------------------------------------------------

    def list_devices(self) -> list[DeviceAttributes]:
        """The devices that the session can use.

        Raises:
          CancelledError: the session is closed.
        """
        self._direct.check_not_cancelled()
        return session_devices(self._direct.device_count, self._direct.resources.task)

    def close(self) -> None:
        """Cancels what runs and frees the session's plans. A second call does nothing."""
        self._direct.close()
        self._runners.clear()
        give_name_back(self)

    def as_default(self) -> contextlib.AbstractContextManager["BaseSession"]:
        """A context in which this session is the default; it is not closed at the end."""
        return _default_session(self)

    @property
    def graph(self) -> Graph:
        """The graph that the session runs."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The graph as a GraphDef message."""
        return self._graph.as_graph_def(add_shapes=False)

    @property
    def sess_str(self) -> bytes:
        """The target, as bytes."""
        return self._target.encode()


def _itself(value: Any) -> Any:
    return value


def _copying(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: _copy(convert(value))


def _copy(array: Any) -> Any:
    """A fed array that the step may keep.

    The caller may write to theirs when `run` has returned.
    """
    return array.copy() if hasattr(array, "flags") else array


def _make_runner(
    direct: DirectSession,
    plan: Plan,
    converters: Sequence[Any],
    finishers: Sequence[Any],
    wanted: Fetches,
) -> Runner:
    run, build = direct.run, wanted.build
    if wanted.single and len(converters) == 1:
        (convert,), (finish,) = converters, finishers

        def run_single(values: Iterable[Any]) -> Any:
            (value,) = values
            (result,), _step = run(plan, (convert(value),))
            return finish(result)

        return run_single

    def run_all(values: Iterable[Any]) -> Any:
        results, _step = run(plan, [c(v) for c, v in zip(converters, values, strict=True)])
        return build([f(r) for f, r in zip(finishers, results, strict=True)])

    return run_all


class Session(BaseSession):
    """Runs operations of a graph and evaluates its tensors.

    A session owns its variables and queues; those with the target of one server share them. As a
    context manager it is the default session, makes its graph the default graph, and is closed at
    the end.

    Args:
      target: "" for this process, or the target of a server in it.
      graph: the graph to run; the default graph when None.
      config: a ConfigProto message.

    Example:
      >>> import penstock.compat.v1 as tf
      >>> with tf.Graph().as_default(), tf.Session() as session:
      ...     session.run(tf.constant(2) + 3)
      np.int32(5)
    """

    def __init__(
        self, target: str | None = "", graph: Graph | None = None, config: Any = None
    ) -> None:
        super().__init__(target, graph, config)
        self._entered: list[contextlib.ExitStack] = []

    def __enter__(self) -> "Session":
        scopes = contextlib.ExitStack()
        scopes.enter_context(self._graph.as_default())
        scopes.enter_context(self.as_default())
        self._entered.append(scopes)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._entered.pop().__exit__(kind, problem, traceback)
        finally:
            self.close()

    @staticmethod
    def reset(target: str, containers: list[str] | None = None, config: Any = None) -> None:
        """Clears resources of all sessions of the target and closes the sessions.

        Args:
          target: "" for this process, or the target of a server in it.
          containers: names of containers; all when None or empty.
          config: a ConfigProto message.
        """
        task = task_at(target)
        read_config(config)
        reset_sessions(list(containers) if containers else None, task)


class InteractiveSession(BaseSession):
    """A session for a shell: it makes itself the default session when it is made, until `close`.

    Args:
      target: "" for this process, or the target of a server in it.
      graph: the graph to run; the default graph when None.
      config: a ConfigProto message.
    """

    _count_lock = threading.Lock()  # guards: _active
    _active = 0

    def __init__(
        self, target: str | None = "", graph: Graph | None = None, config: Any = None
    ) -> None:
        super().__init__(target, graph, config)
        with InteractiveSession._count_lock:
            if InteractiveSession._active > 0:
                warnings.warn(
                    "An interactive session is already active. This can cause out-of-memory errors "
                    "in some cases. You must "
                    "explicitly call `InteractiveSession.close()` to release resources held by the "
                    "other session(s).",
                    stacklevel=2,
                )
            InteractiveSession._active += 1
        self._open = True
        self._explicit = graph.as_default() if graph is not None else None
        if self._explicit is not None:
            self._explicit.__enter__()
        _stack.sessions.append(self)

    def close(self) -> None:
        """Closes the session and takes it off the default sessions."""
        super().close()
        if not self._open:
            return
        self._open = False
        with InteractiveSession._count_lock:
            InteractiveSession._active -= 1
        _stack.sessions[:] = [s for s in _stack.sessions if s is not self]
        if self._explicit is not None:
            self._explicit.__exit__(None, None, None)


# ---- the default session ------------------------------------------------------------------------


class _Stack(threading.local):
    def __init__(self) -> None:
        self.sessions: list[BaseSession] = []


_stack = _Stack()


@contextlib.contextmanager
def _default_session(session: BaseSession) -> Iterator[BaseSession]:
    _stack.sessions.append(session)
    try:
        yield session
    finally:
        if not _stack.sessions or _stack.sessions[-1] is not session:
            found = type(_stack.sessions[-1]) if _stack.sessions else None
            _stack.sessions[:] = [s for s in _stack.sessions if s is not session]
            raise AssertionError(
                f"Nesting violated for default stack of {found} objects: a session was left before "
                "one that was entered later. "
                "Leave them in the opposite order."
            )
        _stack.sessions.pop()


def get_default_session() -> BaseSession | None:
    """The innermost session of this thread that is the default, or None."""
    return _stack.sessions[-1] if _stack.sessions else None


def _evaluate(tensor: SymbolicTensor, feed_dict: Any, session: BaseSession | None) -> Any:
    chosen = _session_for(tensor.graph, session, "evaluate tensor", "tensor", "eval")
    return chosen.run(tensor, feed_dict)


def _run_operation(op: Operation, feed_dict: Any, session: BaseSession | None) -> None:
    _session_for(op.graph, session, "execute operation", "operation", "run").run(op, feed_dict)


def _session_for(
    graph: Graph, session: BaseSession | None, action: str, what: str, method: str
) -> BaseSession:
    if session is not None:
        if session.graph is not graph:
            raise ValueError(
                f"Cannot use the given session to {action}: the {what}'s graph is different from "
                "the session's graph."
            )
        return session
    found = get_default_session()
    if found is None:
        raise ValueError(
            f"Cannot {action} using `{method}()`: No default session is registered. Use `with "
            "sess.as_default()` or pass an "
            f"explicit session to `{method}(session=sess)`"
        )
    if found.graph is not graph:
        raise ValueError(
            f"Cannot use the default session to {action}: the {what}'s graph is different from the "
            "session's graph. Pass an "
            f"explicit session to `{method}(session=sess)`."
        )
    return found


set_evaluator(_evaluate)
set_runner(_run_operation)

__all__ = ["BaseSession", "InteractiveSession", "Session", "get_default_session"]
