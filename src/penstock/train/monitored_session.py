"""Sessions that survive: hooks around each run, and a new session when a machine was lost.

`MonitoredSession` makes its session through a SessionCreator. When a run raises AbortedError or
UnavailableError it closes the session, asks the creator for another one, which restores the last
checkpoint, and runs again; the loop of the program notices nothing. `SingularMonitoredSession`
raises these errors as any other.
"""

import inspect
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NoReturn, Self

from penstock import errors
from penstock.config.logging import get_logger
from penstock.core.context import executing_eagerly
from penstock.graph.default_graph import get_default_graph
from penstock.graph.graph import Graph
from penstock.ops.queue_runner import QUEUE_RUNNERS
from penstock.runtime.client import BaseSession
from penstock.train.coordinator import Coordinator
from penstock.train.queue_runners import start_queue_runners
from penstock.train.saving_hooks import CheckpointSaverHook, StepCounterHook, SummarySaverHook
from penstock.train.scaffold import (
    ChiefSessionCreator,
    Scaffold,
    SessionCreator,
    WorkerSessionCreator,
)
from penstock.train.session_run_hook import SessionRunArgs, SessionRunHook, run_with_hooks

LOST = (errors.AbortedError, errors.UnavailableError)  # what a new session may cure
USE_DEFAULT: Any = object()
_RETRY_SECONDS = 0.1  # between two attempts to make a session


class _Live:
    """One session at work: its coordinator, its queue runners, its hooks."""

    def __init__(
        self, session: BaseSession, hooks: Sequence[SessionRunHook], grace_secs: float
    ) -> None:
        self.session, self.hooks = session, hooks
        self.coord = Coordinator(clean_stop_exception_types=())
        self.stopped = False  # by a hook
        self._grace_secs = grace_secs
        try:
            if session.graph.get_collection(QUEUE_RUNNERS):
                start_queue_runners(sess=session, coord=self.coord)
            for hook in hooks:
                hook.after_create_session(session, self.coord)
        except BaseException:
            self._abandon()
            raise

    def _abandon(self) -> None:
        self.coord.request_stop()
        self.session.close()

    def should_stop(self) -> bool:
        """Whether a hook or thread asked to stop; an error of a thread is raised."""
        self.coord.raise_requested_exception()
        return self.stopped or self.coord.should_stop()

    def stop(self) -> None:
        self.stopped = True

    def call(self, run: Callable[[], Any]) -> Any:
        """Runs; when a thread reported the loss of a machine, that is the cause of any error."""
        try:
            return run()
        except LOST:
            raise
        except Exception as problem:
            try:
                self.coord.raise_requested_exception()
            except LOST as cause:
                raise cause from problem
            except Exception:
                raise problem from None
            raise

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """One run with hooks."""
        if self.stopped:
            raise RuntimeError(
                "Run called even after should_stop requested. Expected the loop to end. Write"
                " `while not session.should_stop():`."
            )
        args = SessionRunArgs(fetches, feed_dict, options)
        return run_with_hooks(self.session, self.hooks, self.stop, args, run_metadata)

    def close(self) -> None:
        """Stops the threads and closes the session.

        Raises:
          BaseException: the first error that a thread reported.
        """
        self.coord.request_stop()
        try:
            self.coord.join(stop_grace_period_secs=self._grace_secs, ignore_live_threads=True)
        finally:
            self.session.close()


class StepContext:
    """What a function given to `run_step_fn` may use.

    Args:
      session: the session, without hooks.
      run_with_hooks_fn: runs with hooks.
    """

    def __init__(self, session: BaseSession, run_with_hooks_fn: Callable[..., Any]) -> None:
        self._session, self._run_with_hooks = session, run_with_hooks_fn

    @property
    def session(self) -> BaseSession:
        """The session; its `run` calls no hooks."""
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Like the `run` of the monitored session."""
        return self._run_with_hooks(*args, **kwargs)

    def request_stop(self) -> NoReturn:
        """Ends the loop.

        Raises:
          StopIteration: always; the `with` statement of the session swallows it.
        """
        raise StopIteration("step_fn has requested the iterations to stop.")


class _MonitoredSession:
    """What `MonitoredSession` and `SingularMonitoredSession` share."""

    StepContext = StepContext

    def __init__(
        self,
        session_creator: SessionCreator | None,
        hooks: Sequence[SessionRunHook] | None,
        recovers: bool,
        stop_grace_period_secs: float = 120,
    ) -> None:
        if executing_eagerly():
            raise RuntimeError(
                "Monitored sessions are not compatible with eager execution: expected a graph. "
                "Make them under `with tf.Graph().as_default():`."
            )
        self._graph = get_default_graph()
        self._was_finalized = self._graph.finalized
        self._hooks = list(hooks or ())
        self._creator = session_creator or ChiefSessionCreator()
        self._recovers, self._grace_secs = recovers, stop_grace_period_secs
        self._closed = False
        for hook in self._hooks:
            hook.begin()
        self._live: _Live | None = self._created()

    # The session behind, and its loss.

    def _created(self) -> _Live:
        while True:
            try:
                with self._graph.as_default():
                    return _Live(self._creator.create_session(), self._hooks, self._grace_secs)
            except LOST as problem:
                if not self._recovers:
                    raise
                get_logger().info(
                    "An error was raised while a session was being created; a new one will be"
                    " created. Error: %s",
                    problem,
                )
                time.sleep(_RETRY_SECONDS)

    def _surviving(self, action: Callable[[_Live], Any]) -> Any:
        """Does something with the session, again with a new one when the session was lost."""
        if self._closed:
            raise RuntimeError(
                "Session is already closed: expected an open monitored session. Make a new one."
            )
        while True:
            live = self._live
            if live is None:
                live = self._live = self._created()
            try:
                return action(live)
            except LOST as problem:
                if not self._recovers:
                    raise
                get_logger().info(
                    "An error was raised; the session will be closed and a new one created."
                    " Error: %s",
                    problem,
                )
                self._drop(live)

    def _drop(self, live: _Live) -> None:
        self._live = None
        try:
            live.close()
        except LOST as problem:
            get_logger().info("The lost session reported when it was closed: %s", problem)

    # What programs call.

    @property
    def graph(self) -> Graph | None:
        """The graph of the session; None when it is closed."""
        return None if self._closed else self._graph

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Like `Session.run`, with the hooks around it.

        Args:
          fetches: what to evaluate.
          feed_dict: values by tensor.
          options: a RunOptions message; what hooks ask for is added.
          run_metadata: a RunMetadata message that is filled.

        Returns:
          The values of `fetches`.

        Raises:
          RuntimeError: the session is closed or was asked to stop, or two feed one tensor.
          OpError: a subclass, when an operation fails.
        """
        return self._surviving(
            lambda live: live.call(lambda: live.run(fetches, feed_dict, options, run_metadata))
        )

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Calls a function that may run the session several times, with hooks and without.

        Args:
          step_fn: a function of one argument `step_context`, or a method of `self` and it; the
            context has `session`, `run_with_hooks` and `request_stop`.

        Returns:
          What it returns.

        Raises:
          StopIteration: it called `request_stop`.
          TypeError: it is not callable.
          ValueError: it has other arguments.
        """
        names = _argument_names(step_fn)
        if names != ("step_context",) and names != ("self", "step_context"):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and"
                " `step_context` arguments if it's an instance method. Got"
                f" {names} instead."
            )
        return self._surviving(
            lambda live: live.call(lambda: step_fn(StepContext(live.session, live.run)))
        )

    def should_stop(self) -> bool:
        """Whether the loop is to end; true when the session is closed.

        Raises:
          BaseException: the error that a thread reported.
        """
        if self._closed:
            return True
        return bool(self._surviving(_Live.should_stop))

    def close(self) -> None:
        """Calls the hooks' `end` and closes the session.

        Raises:
          RuntimeError: it is closed.
        """
        self._close(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        ended = exception_type is not None and issubclass(
            exception_type, (errors.OutOfRangeError, StopIteration)
        )
        self._close(None if ended else exception_type)
        return ended

    def _close(self, failure: type[BaseException] | None) -> None:
        if self._closed:
            raise RuntimeError("Session is already closed.")
        live = self._live
        try:
            if live is not None and failure is None:
                with self._graph.as_default():
                    for hook in self._hooks:
                        hook.end(live.session)
        finally:
            self._closed, self._live = True, None
            if not self._was_finalized:
                self._graph._unsafe_unfinalize()
            if live is not None:
                self._end(live)

    def _end(self, live: _Live) -> None:
        try:
            live.close()
        except LOST:  # it was to be closed anyway
            if not self._recovers:
                raise


def _argument_names(function: Any) -> tuple[str, ...]:
    if not callable(function):
        raise TypeError(
            f"run_step_fn: expected a function of `step_context`, got {function!r}. Write"
            " `def step_fn(step_context):`."
        )
    return tuple(inspect.signature(inspect.unwrap(function)).parameters)


class MonitoredSession(_MonitoredSession):
    """A session with hooks that makes itself anew when a machine was lost.

    Args:
      session_creator: makes sessions; a ChiefSessionCreator when None.
      hooks: SessionRunHooks, called in this order.
      stop_grace_period_secs: seconds that threads have to end.

    Raises:
      RuntimeError: the variables have no values and nothing gives them any.

    Example:
      >>> tf1 = tf.compat.v1
      >>> with tf.Graph().as_default():
      ...     step = tf1.train.create_global_step()
      ...     train = step.assign_add(1)
      ...     hooks = [tf1.train.StopAtStepHook(last_step=3)]
      ...     with tf1.train.MonitoredSession(hooks=hooks) as session:
      ...         while not session.should_stop():
      ...             last = session.run(train)
      >>> int(last)
      3
    """

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


class SingularMonitoredSession(_MonitoredSession):
    """A session with hooks that raises every error, also those that a new session may cure.

    Args:
      hooks: SessionRunHooks, called in this order.
      scaffold: the operations; the default ones when None.
      master: the session's target.
      config: its ConfigProto.
      checkpoint_dir: the folder of checkpoints; the last one there is restored.
      stop_grace_period_secs: seconds that threads have to end.
      checkpoint_filename_with_path: the prefix of the checkpoint; not both.
    """

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> BaseSession | None:
        """The session behind, without hooks; None when it is closed."""
        return None if self._live is None else self._live.session


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: Any = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = USE_DEFAULT,
    save_summaries_steps: Any = USE_DEFAULT,
    save_summaries_secs: Any = USE_DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = USE_DEFAULT,
    summary_dir: Any = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """A MonitoredSession with what training needs: checkpoints, summaries, the speed.

    Args:
      master: the session's target.
      is_chief: whether this task initializes and saves; others wait for it.
      checkpoint_dir: the folder of checkpoints; None saves none.
      scaffold: the operations; the default ones when None.
      hooks: SessionRunHooks.
      chief_only_hooks: SessionRunHooks that only the chief has.
      save_checkpoint_secs: seconds from save to save; 600 when neither this nor the steps are said.
      save_summaries_steps: steps from summary to summary; 100 when neither this nor the seconds are
        said.
      save_summaries_secs: seconds from summary to summary.
      config: the session's ConfigProto.
      stop_grace_period_secs: seconds that threads have to end.
      log_step_count_steps: steps from report to report of the speed; None or 0 for none.
      max_wait_secs: how long a worker waits for the chief.
      save_checkpoint_steps: steps from save to save.
      summary_dir: the folder of summaries; that of checkpoints when None.
      save_graph_def: whether the graph is written beside the checkpoints.

    Returns:
      A MonitoredSession.
    """
    scaffold = scaffold or Scaffold()
    checkpoints = _chosen(save_checkpoint_secs, save_checkpoint_steps, (600, None))
    summaries = _chosen(save_summaries_secs, save_summaries_steps, (None, 100))
    if not is_chief:
        worker = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(worker, hooks, stop_grace_period_secs)
    made: list[SessionRunHook] = list(chief_only_hooks or ())
    folder = summary_dir or checkpoint_dir
    if folder and log_step_count_steps and log_step_count_steps > 0:
        made.append(StepCounterHook(every_n_steps=log_step_count_steps, output_dir=folder))
    if folder and any(s and s > 0 for s in summaries):
        secs, steps = summaries
        made.append(SummarySaverHook(steps, secs, folder, scaffold=scaffold))
    if checkpoint_dir and any(s and s > 0 for s in checkpoints):
        secs, steps = checkpoints
        saver_hook = CheckpointSaverHook(
            checkpoint_dir, secs, steps, scaffold=scaffold, save_graph_def=save_graph_def
        )
        made.append(saver_hook)
    chief = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(chief, [*made, *(hooks or ())], stop_grace_period_secs)


def _chosen(secs: Any, steps: Any, default: tuple[Any, Any]) -> tuple[Any, Any]:
    """Seconds and steps, where one that is not said is None beside one that is."""
    if secs is USE_DEFAULT and steps is USE_DEFAULT:
        return default
    return None if secs is USE_DEFAULT else secs, None if steps is USE_DEFAULT else steps
