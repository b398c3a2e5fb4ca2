"""Hooks that write: checkpoints, steps a second, summaries, timelines."""

import os
from collections.abc import Sequence
from typing import Any

from penstock import proto
from penstock.config.logging import get_logger
from penstock.core import context
from penstock.graph.default_graph import get_default_graph
from penstock.graph.graph_files import write_graph
from penstock.ops.variables_v1 import GraphKeys
from penstock.runtime.client import BaseSession
from penstock.runtime.timeline import Timeline
from penstock.summary.file_writer import FileWriterCache
from penstock.train.basic_session_run_hooks import SecondOrStepTimer, required_step
from penstock.train.coordinator import Coordinator
from penstock.train.global_step import global_step_read
from penstock.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

WARNINGS = 5  # about a global step that does not grow, for each hook


class CheckpointSaverListener:
    """Something that is called around the saves of a CheckpointSaverHook; override what you need.

    Every call gets the session and the value of the global step.
    """

    def begin(self) -> None:
        """Called once before the session is made; operations may be added to the graph."""

    def before_save(self, session: BaseSession, global_step_value: int) -> None:
        """Called before a checkpoint is written."""

    def after_save(self, session: BaseSession, global_step_value: int) -> bool | None:
        """Called when a checkpoint was written; True asks the loop to stop."""

    def end(self, session: BaseSession, global_step_value: int) -> None:
        """Called at the end, after the last save."""


class CheckpointSaverHook(SessionRunHook):
    """Saves checkpoints: at the first step, then every so many steps or seconds, and at the end.

    Args:
      checkpoint_dir: the folder.
      save_secs: seconds from save to save.
      save_steps: steps from save to save; exactly one of the two is given.
      saver: a Saver.
      checkpoint_basename: the beginning of the files' names.
      scaffold: a Scaffold with the Saver; not both.
      listeners: CheckpointSaverListeners.
      save_graph_def: whether the graph is written too.

    Raises:
      ValueError: both `saver` and `scaffold`, or not one of `save_secs` and `save_steps`.
    """

    def __init__(
        self,
        checkpoint_dir: Any,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
        save_graph_def: bool = True,
    ) -> None:
        get_logger().info("Create CheckpointSaverHook.")
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver, self._scaffold = saver, scaffold
        self._folder = os.fspath(checkpoint_dir)
        self._save_path = os.path.join(self._folder, checkpoint_basename)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = list(listeners or ())
        self._save_graph_def = save_graph_def

    def begin(self) -> None:
        """See SessionRunHook."""
        self._writer = FileWriterCache.get(self._folder)
        self._step = required_step("CheckpointSaverHook")
        self._read = global_step_read()
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: BaseSession, coord: Coordinator) -> None:
        """See SessionRunHook; writes the graph and the first checkpoint."""
        step = int(session.run(self._step))
        graph = session.graph
        if self._save_graph_def:
            write_graph(graph.as_graph_def(add_shapes=True), self._folder, "graph.pbtxt")
        self._writer.add_graph(graph)
        if self._save_graph_def:
            self._writer.add_meta_graph(self._used_saver().export_meta_graph())
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """See SessionRunHook."""
        return SessionRunArgs(self._read)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """See SessionRunHook."""
        # The run may have read the step before its update: look again when it may be due.
        if not self._timer.should_trigger_for_step(int(run_values.results) + 1):
            return
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: BaseSession) -> None:
        """See SessionRunHook."""
        step = int(session.run(self._step))
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)
        self._writer.flush()

    def _save(self, session: BaseSession, step: int) -> bool:
        """Saves; whether a listener asks to stop."""
        get_logger().info("Calling checkpoint listeners before saving checkpoint %d...", step)
        for listener in self._listeners:
            listener.before_save(session, step)
        get_logger().info("Saving checkpoints for %d into %s.", step, self._save_path)
        self._used_saver().save(
            session, self._save_path, global_step=step, write_meta_graph=self._save_graph_def
        )
        log = proto.event_pb2.SessionLog(
            status=proto.event_pb2.SessionLog.CHECKPOINT, checkpoint_path=self._save_path
        )
        self._writer.add_session_log(log, step)
        get_logger().info("Calling checkpoint listeners after saving checkpoint %d...", step)
        stop = [bool(listener.after_save(session, step)) for listener in self._listeners]
        if any(stop):
            get_logger().info("A CheckpointSaverListener requested that training be stopped.")
        return any(stop)

    def _used_saver(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        found = get_default_graph().get_collection(GraphKeys.SAVERS)
        if len(found) != 1:
            raise RuntimeError(
                "CheckpointSaverHook: expected exactly one saver in the collection"
                f" '{GraphKeys.SAVERS}', got {len(found)}. Pass saver= or scaffold=."
            )
        return found[0]


class StepCounterHook(SessionRunHook):
    """Logs the global steps a second, and writes them as a summary.

    Args:
      every_n_steps: steps from time to time.
      every_n_secs: seconds from time to time; exactly one of the two is given.
      output_dir: the folder of the summary.
      summary_writer: the FileWriter, instead of a folder; neither writes no summary.

    Raises:
      ValueError: not one of `every_n_steps` and `every_n_secs`.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: Any = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._folder, self._writer = output_dir, summary_writer

    def begin(self) -> None:
        """See SessionRunHook."""
        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(os.fspath(self._folder))
        self._step = required_step("StepCounterHook")
        self._read = global_step_read()
        self._tag = f"{self._step.op.name}/sec"
        self._seen: int | None = None
        self._warnings = WARNINGS

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """See SessionRunHook."""
        return SessionRunArgs(self._read)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """See SessionRunHook."""
        self._look_at(int(run_values.results))
        if not self._timer.should_trigger_for_step(int(run_values.results) + 1):
            return
        step = int(run_context.session.run(self._step))
        if not self._timer.should_trigger_for_step(step):
            return
        seconds, steps = self._timer.update_last_triggered_step(step)
        if seconds and steps is not None:
            self._log_and_record(steps, seconds, step)

    def end(self, session: BaseSession) -> None:
        """See SessionRunHook."""
        if self._writer is not None:
            self._writer.flush()

    def _look_at(self, step: int) -> None:
        """Warns, a few times, when runs do not count."""
        if step == self._seen and self._warnings:
            self._warnings -= 1
            get_logger().warning(
                "It seems that global step (tf.train.get_global_step) has not been increased:"
                " expected it to grow from run to run, got %d twice. Pass it to the optimizer's"
                " minimize or apply_gradients as global_step.",
                step,
            )
        self._seen = step

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        """What happens every so often; programs override it, as with TensorFlow."""
        rate = elapsed_steps / elapsed_time
        get_logger().info("%s: %g", self._tag, rate)
        if self._writer is not None:
            summary = proto.summary_pb2.Summary()
            summary.value.add(tag=self._tag, simple_value=rate)
            self._writer.add_summary(summary, global_step)


class SummarySaverHook(SessionRunHook):
    """Writes summaries: of the first run, then every so many steps or seconds.

    Args:
      save_steps: steps from time to time.
      save_secs: seconds from time to time; exactly one of the two is given.
      output_dir: the folder.
      summary_writer: the FileWriter, instead of a folder.
      scaffold: a Scaffold with the summary operation.
      summary_op: a string tensor or list of them; exactly one of the two is given.

    Raises:
      ValueError: not one of two that exclude each other.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op, self._scaffold = summary_op, scaffold
        self._folder, self._writer = output_dir, summary_writer
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        """See SessionRunHook."""
        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(os.fspath(self._folder))
        self._next_step: int | None = None
        self._step = required_step("SummarySaverHook")
        self._read = global_step_read()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """See SessionRunHook."""
        self._due = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        summaries = self._summaries() if self._due else []
        return SessionRunArgs([self._read, summaries])

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """See SessionRunHook."""
        if self._writer is None:
            return
        stale, summaries = run_values.results
        step = int(stale) + 1
        if self._due:
            step = int(run_context.session.run(self._step))
        if self._next_step is None:
            log = proto.event_pb2.SessionLog(status=proto.event_pb2.SessionLog.START)
            self._writer.add_session_log(log, step)
        if self._due:
            self._timer.update_last_triggered_step(step)
        for summary in summaries:
            self._writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: BaseSession | None = None) -> None:
        """See SessionRunHook."""
        if self._writer is not None:
            self._writer.flush()

    def _summaries(self) -> list[Any]:
        found = self._scaffold.summary_op if self._summary_op is None else self._summary_op
        if found is None:
            return []
        return list(found) if isinstance(found, (list, tuple)) else [found]


class ProfilerHook(SessionRunHook):
    """Writes a timeline of a step now and then: `timeline-STEP.json` in Chrome's trace format.

    Args:
      save_steps: steps from time to time.
      save_secs: seconds from time to time; exactly one of the two is given.
      output_dir: the folder.
      show_dataflow: whether arrows show which operation uses which result.
      show_memory: whether memory in use is drawn.

    Raises:
      RuntimeError: operations run at once.
      ValueError: not one of `save_steps` and `save_secs`.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: Any = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        if context.executing_eagerly():
            raise RuntimeError(
                "ProfilerHook: expected a graph, got eager execution. Make the hook under"
                " `with tf.Graph().as_default():`."
            )
        self._folder = os.fspath(output_dir)
        self._show_dataflow, self._show_memory = show_dataflow, show_memory
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._writer = FileWriterCache.get(self._folder)

    def begin(self) -> None:
        """See SessionRunHook."""
        self._next_step: int | None = None
        self._step = required_step("ProfilerHook")
        self._read = global_step_read()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """See SessionRunHook; the first run, which also compiles, is never traced."""
        self._due = self._next_step is not None and self._timer.should_trigger_for_step(
            self._next_step
        )
        if not self._due:
            return SessionRunArgs(self._read)
        options = proto.config_pb2.RunOptions(trace_level=proto.config_pb2.RunOptions.FULL_TRACE)
        return SessionRunArgs(self._read, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """See SessionRunHook."""
        before = int(run_values.results)
        if self._next_step is None:
            self._timer.update_last_triggered_step(before)
        step = before + 1
        if self._due:
            step = int(run_context.session.run(self._step))
            self._timer.update_last_triggered_step(step)
            self._write(step, run_values.run_metadata)
        self._next_step = step + 1

    def _write(self, step: int, run_metadata: Any) -> None:
        path = os.path.join(self._folder, f"timeline-{step}.json")
        get_logger().info("Saving timeline for %d into '%s'.", step, path)
        timeline = Timeline(run_metadata.step_stats)
        text = timeline.generate_chrome_trace_format(self._show_dataflow, self._show_memory)
        with open(path, "w") as file:
            file.write(text)
        self._writer.add_run_metadata(run_metadata, f"step_{step}")
