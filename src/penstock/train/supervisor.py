"""`Supervisor`: the older way to keep a training program alive; new programs use MonitoredSession.

It makes the session through a SessionManager and, as the chief, runs threads that save checkpoints
and summaries while the program's own loop calls the session.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock import proto
from penstock.checkpoint.saver import Saver
from penstock.config.logging import get_logger
from penstock.core import context
from penstock.graph.default_graph import get_default_graph
from penstock.graph.graph import Graph
from penstock.graph.graph_files import write_graph
from penstock.ops.grouping import group
from penstock.ops.variables_v1 import (
    GraphKeys,
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
    tables_initializer,
)
from penstock.runtime.client import BaseSession
from penstock.summary.file_writer import FileWriter
from penstock.summary.merged import merge_all
from penstock.train.coordinator import Coordinator, LooperThread
from penstock.train.global_step import get_global_step
from penstock.train.queue_runners import start_queue_runners
from penstock.train.session_manager import SessionManager


class Supervisor:
    """Makes a session, and saves checkpoints and summaries beside the program's loop.

    Arguments that are left at their default are taken from the graph's collections, or made; None
    means that there is no such operation.

    Args:
      graph: the graph; the current one when None. It is finalized.
      ready_op: a string vector with the names of what has no value.
      ready_for_local_init_op: the same for what `local_init_op` needs.
      is_chief: whether this task initializes and saves; others wait for it.
      init_op: gives the variables values.
      init_feed_dict: what it is fed.
      local_init_op: run in each session.
      logdir: the folder of checkpoints and summaries; None writes none.
      summary_op: all summaries as one.
      saver: saves and restores.
      global_step: counts the steps.
      save_summaries_secs: seconds from summary to summary; 0 for none.
      save_model_secs: seconds from checkpoint to checkpoint; 0 for none.
      recovery_wait_secs: seconds between two looks at whether the model is ready.
      stop_grace_secs: seconds that threads have to end.
      checkpoint_basename: the beginning of the checkpoints' names.
      session_manager: makes the session.
      summary_writer: the FileWriter.
      init_fn: called with the session after `init_op`.
      local_init_run_options: a RunOptions message for `local_init_op`.

    Raises:
      RuntimeError: operations run at once.
    """

    USE_DEFAULT = 0

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Any = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: Any = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[[BaseSession], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        if context.executing_eagerly():
            raise RuntimeError(
                "Supervisors are incompatible with eager execution: expected a graph. Make it under"
                " `with tf.Graph().as_default():`."
            )
        self._graph = graph or get_default_graph()
        keys = GraphKeys
        with self._graph.as_default():
            self.ready_op = _found(ready_op, keys.READY_OP, report_uninitialized_variables)
            self.ready_for_local_init_op = _found(
                ready_for_local_init_op, keys.READY_FOR_LOCAL_INIT_OP, lambda: None
            )
            self.init_op = _found(init_op, keys.INIT_OP, global_variables_initializer)
            self.local_init_op = _found(local_init_op, keys.LOCAL_INIT_OP, _local_init_op)
            self.saver = _found(saver, keys.SAVERS, _saver)
            self.summary_op = _found(summary_op, keys.SUMMARY_OP, merge_all)
            self.global_step = get_global_step() if _default(global_step) else global_step
        self.coord = Coordinator()
        self.is_chief, self.init_feed_dict, self._init_fn = is_chief, init_feed_dict, init_fn
        self._logdir = os.fspath(logdir) if logdir and is_chief else None
        self._grace_secs = stop_grace_secs
        self.save_model_secs = save_model_secs if is_chief else None
        self.save_summaries_secs = save_summaries_secs if is_chief else None
        self.save_path = self._logdir and os.path.join(self._logdir, checkpoint_basename)
        self.summary_writer: FileWriter | None = None
        if is_chief:
            self.summary_writer = self._writer(summary_writer)
        self.session_manager = session_manager or SessionManager(
            local_init_op=self.local_init_op,
            ready_op=self.ready_op,
            ready_for_local_init_op=self.ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        self._graph.finalize()

    def _writer(self, given: Any) -> Any:
        if not _default(given):
            return given
        with self._graph.as_default():
            return FileWriter(self._logdir) if self._logdir else None

    # Sessions.

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> BaseSession:
        """A session that is ready; the chief starts the threads that save.

        Args:
          master: the session's target.
          config: its ConfigProto.
          wait_for_checkpoint: whether the chief waits for a checkpoint.
          max_wait_secs: how long to wait.
          start_standard_services: whether the threads and the queue runners are started.
        """
        self.coord.clear_stop()
        if self.summary_writer is not None:
            self.summary_writer.reopen()
        if not self.is_chief:
            session = self.session_manager.wait_for_session(master, config, max_wait_secs)
        else:
            session = self.session_manager.prepare_session(
                master,
                init_op=self.init_op,
                saver=self.saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self.init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                get_logger().info("Starting standard services.")
                self.start_standard_services(session)
        if start_standard_services:
            get_logger().info("Starting queue runners.")
            self.start_queue_runners(session)
        return session

    def _write_graph(self) -> None:
        if self._logdir:
            write_graph(self._graph.as_graph_def(add_shapes=True), self._logdir, "graph.pbtxt")
        if self.summary_writer is not None:
            self.summary_writer.add_graph(self._graph)

    @contextlib.contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[BaseSession]:
        """A scope with a session; its end stops the threads and closes the session.

        An exception of the block or of a thread is raised again, but the end of data.

        Args:
          master: the session's target.
          config: its ConfigProto.
          start_standard_services: whether the threads and the queue runners are started.
          close_summary_writer: whether the summary writer is closed at the end.
        """
        session: BaseSession | None = None
        try:
            session = self.prepare_or_wait_for_session(
                master, config, start_standard_services=start_standard_services
            )
            yield session
        except Exception as problem:
            self.request_stop(problem)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if session is not None:
                    session.close()

    # Threads.

    def start_standard_services(self, sess: BaseSession) -> list[LooperThread] | None:
        """Starts the threads that save summaries, speed and checkpoints.

        Args:
          sess: the session.

        Returns:
          The threads; None when there is no folder to write to.

        Raises:
          RuntimeError: this is not the chief.
        """
        if not self.is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors"
                " can write events: expected is_chief=True, got False."
            )
        if not self._logdir:
            get_logger().warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        writer, services = self.summary_writer, list[LooperThread]()
        if writer is not None and self.global_step is not None:
            log = proto.event_pb2.SessionLog(status=proto.event_pb2.SessionLog.START)
            writer.add_session_log(log, int(sess.run(self.global_step)))
        if writer is not None and self.save_summaries_secs:
            if self.summary_op is not None:
                services.append(self._service(self.save_summaries_secs, self._summarize, sess))
            if self.global_step is not None:
                report = _Speed(self, sess).report
                services.append(self._service(self.save_summaries_secs, report, sess))
        if self.saver is not None and self.save_model_secs:
            services.append(self._service(self.save_model_secs, self._save, sess))
        return services

    def _service(
        self, secs: float, act: Callable[[BaseSession], None], session: BaseSession
    ) -> LooperThread:
        def in_graph() -> None:  # a new thread has no graph of its own
            with self._graph.as_default():
                act(session)

        return self.loop(secs, in_graph)

    def _summarize(self, session: BaseSession) -> None:
        self.summary_computed(session, session.run(self.summary_op))

    def _save(self, session: BaseSession) -> None:
        self.saver.save(session, self.save_path, global_step=self.global_step)
        if self.summary_writer is not None and self.global_step is not None:
            log = proto.event_pb2.SessionLog(
                status=proto.event_pb2.SessionLog.CHECKPOINT, checkpoint_path=self.save_path or ""
            )
            self.summary_writer.add_session_log(log, int(session.run(self.global_step)))

    def start_queue_runners(self, sess: BaseSession, queue_runners: Any = None) -> list[Any]:
        """Starts queue runners, those of the graph when None are given; returns their threads."""
        if queue_runners is None:
            return start_queue_runners(sess=sess, coord=self.coord)
        return [
            thread
            for runner in queue_runners
            for thread in runner.create_threads(sess, coord=self.coord, daemon=True, start=True)
        ]

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Iterable[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> LooperThread:
        """Starts a thread that calls `target` every so many seconds until the stop."""
        return LooperThread.loop(self.coord, timer_interval_secs, target, args, kwargs)

    def summary_computed(self, sess: BaseSession, summary: Any, global_step: Any = None) -> None:
        """Writes a summary.

        Args:
          sess: the session.
          summary: a Summary message, or one serialised.
          global_step: its step; the value of the global step when None.

        Raises:
          RuntimeError: there is no summary writer.
        """
        if self.summary_writer is None:
            raise RuntimeError(
                "Writing a summary requires a summary writer: expected a logdir or"
                " summary_writer, got none."
            )
        if global_step is None and self.global_step is not None:
            global_step = int(sess.run(self.global_step))
        self.summary_writer.add_summary(summary, global_step)

    # Stopping.

    def stop(
        self,
        threads: Any = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stops the threads and waits for them.

        Args:
          threads: threads to wait for, with those that are registered.
          close_summary_writer: whether the summary writer is closed.
          ignore_live_threads: whether threads that still run then are left alone.

        Raises:
          BaseException: the first error that a thread reported.
        """
        self.coord.request_stop()
        try:
            self.coord.join(threads, self._grace_secs, ignore_live_threads)
        finally:
            if close_summary_writer and self.summary_writer is not None:
                log = proto.event_pb2.SessionLog(status=proto.event_pb2.SessionLog.STOP)
                self.summary_writer.add_session_log(log)
                self.summary_writer.close()

    def request_stop(self, ex: Any = None) -> None:
        """Asks the threads to stop; see `Coordinator.request_stop`."""
        self.coord.request_stop(ex=ex)

    def should_stop(self) -> bool:
        """Whether the threads were asked to stop."""
        return self.coord.should_stop()

    def stop_on_exception(self) -> contextlib.AbstractContextManager[None]:
        """A scope in which an exception asks the threads to stop."""
        return self.coord.stop_on_exception()

    def wait_for_stop(self) -> bool:
        """Waits until the threads are asked to stop."""
        return self.coord.wait_for_stop()

    PrepareSession = prepare_or_wait_for_session
    StartStandardServices = start_standard_services
    StartQueueRunners = start_queue_runners
    SummaryComputed = summary_computed
    Loop = loop
    Stop = stop
    RequestStop = request_stop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop


class _Speed:
    """Writes the global steps a second since the last call."""

    def __init__(self, supervisor: Supervisor, session: BaseSession) -> None:
        self._supervisor = supervisor
        self._time, self._step = time.monotonic(), int(session.run(supervisor.global_step))
        self._tag = f"{supervisor.global_step.op.name}/sec"

    def report(self, session: BaseSession) -> None:
        """Writes it."""
        now, step = time.monotonic(), int(session.run(self._supervisor.global_step))
        rate = (step - self._step) / (now - self._time) if now > self._time else 0.0
        self._time, self._step = now, step
        summary = proto.summary_pb2.Summary()
        summary.value.add(tag=self._tag, simple_value=rate)
        self._supervisor.summary_computed(session, summary, step)
        get_logger().info("%s: %g", self._tag, rate)


def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., Any],
    args: Iterable[Any] | None = None,
    kwargs: dict[str, Any] | None = None,
    master: str = "",
) -> None:
    """Calls a function with a session again and again until the supervisor is asked to stop.

    Args:
      supervisor: makes the session.
      train_step_fn: a function of the session, `args` and `kwargs`.
      args: its other positional arguments.
      kwargs: its keyword arguments.
      master: the session's target.
    """
    given, named = tuple(args or ()), dict(kwargs or {})
    while not supervisor.should_stop():
        with supervisor.managed_session(master) as session:
            while not supervisor.should_stop():
                train_step_fn(session, *given, **named)


def _default(given: Any) -> bool:
    return isinstance(given, int) and given == Supervisor.USE_DEFAULT


def _found(given: Any, key: str, make: Callable[[], Any]) -> Any:
    """What was given, or the first of a collection, or what is made and put there."""
    if not _default(given):
        return given
    graph = get_default_graph()
    found = graph.get_collection(key)
    if found:
        return found[0]
    made = make()
    if made is not None:
        graph.add_to_collection(key, made)
    return made


def _local_init_op() -> Any:
    return group(local_variables_initializer(), tables_initializer())


def _saver() -> Saver | None:
    return Saver() if global_variables() else None
