"""Hooks that write no files: stopping, logging, checking, waiting, feeding."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock import errors
from penstock.config.logging import get_logger
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.default_graph import get_default_graph
from penstock.runtime.client import BaseSession
from penstock.train.coordinator import Coordinator
from penstock.train.global_step import get_global_step, global_step_read
from penstock.train.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

_POLL_SECONDS = 0.5  # how often a waiting hook looks at the global step
_LOG_EVERY_SECONDS = 30.0


class NanLossDuringTrainingError(RuntimeError):
    """The loss became NaN."""

    def __str__(self) -> str:
        return super().__str__() or "NaN loss during training."


def required_step(user: str) -> Any:
    """The global step of the graph.

    Raises:
      RuntimeError: there is none.
    """
    step = get_global_step()
    if step is None:
        raise RuntimeError(
            f"Global step should be created to use {user}: expected one in the graph, got none."
            " Call tf.compat.v1.train.get_or_create_global_step() first."
        )
    return step


class SecondOrStepTimer:
    """Says when to do something that is done every so many seconds or steps.

    Args:
      every_secs: seconds from time to time.
      every_steps: steps from time to time; exactly one of the two is given.

    Raises:
      ValueError: both are given, or none.

    Example:
      >>> timer = SecondOrStepTimer(every_steps=3)
      >>> timer.update_last_triggered_step(0)
      (None, None)
      >>> [timer.should_trigger_for_step(s) for s in (0, 2, 3)]
      [False, False, True]
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        """Forgets when it was done last."""
        self._last_step: int | None = None
        self._last_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether it is to be done at this step: for the first time, or again."""
        if self._last_step is None or self._last_time is None:
            return True
        if step == self._last_step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._last_time + self._every_secs
        assert self._every_steps is not None
        return step >= self._last_step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Notes that it was done at a step.

        Returns:
          Seconds and steps since the time before; (None, None) the first time.
        """
        now = time.time()
        seconds = None if self._last_time is None else now - self._last_time
        steps = None if self._last_step is None else step - self._last_step
        self._last_time, self._last_step = now, step
        return seconds, steps

    def last_triggered_step(self) -> int | None:
        """The step at which it was done last, or None."""
        return self._last_step


class StopAtStepHook(SessionRunHook):
    """Asks to stop at a global step.

    Args:
      num_steps: how many steps to run from where the session begins.
      last_step: the step to stop at; exactly one of the two is given.

    Raises:
      ValueError: both are given, or none.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self) -> None:
        """See SessionRunHook."""
        self._step = required_step("StopAtStepHook")
        self._read = global_step_read()

    def after_create_session(self, session: BaseSession, coord: Coordinator) -> None:
        """See SessionRunHook; a session that recovers keeps the step of the first."""
        if self._last_step is None:
            assert self._num_steps is not None
            self._last_step = int(session.run(self._step)) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """See SessionRunHook."""
        return SessionRunArgs(self._read)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """See SessionRunHook."""
        assert self._last_step is not None
        # The run may have read the step before or after its update: look again near the end.
        if int(run_values.results) + 1 >= self._last_step and (
            int(run_context.session.run(self._step)) >= self._last_step
        ):
            run_context.request_stop()


class LoggingTensorHook(SessionRunHook):
    """Logs the values of tensors now and then.

    Args:
      tensors: a dict of tensors or names by tag, or a list of them.
      every_n_iter: every so many runs, from the first on.
      every_n_secs: every so many seconds.
      at_end: whether to log at the end too; alone, only then.
      formatter: a function from the dict of values by tag to the text.

    Raises:
      ValueError: it does not say when, says it twice, or `every_n_iter` is not positive.
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[Any, Any]], str] | None = None,
    ) -> None:
        given = (every_n_iter is not None) + (every_n_secs is not None)
        if given == 2 or (given == 0 and not at_end):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be"
                f" provided, got every_n_iter={every_n_iter}, every_n_secs={every_n_secs},"
                f" at_end={at_end}."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        named = isinstance(tensors, Mapping)
        self._tags = list(tensors)
        self._tensors = [tensors[tag] if named else tag for tag in self._tags]
        self._formatter, self._at_end = formatter, at_end
        self._timer = SecondOrStepTimer(every_n_secs, every_n_iter) if given else None

    def begin(self) -> None:
        """See SessionRunHook."""
        if self._timer is not None:
            self._timer.reset()
        self._iteration, self._due = 0, False
        self._found = [_as_fetch(t) for t in self._tensors]

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """See SessionRunHook."""
        self._due = self._timer is not None and self._timer.should_trigger_for_step(self._iteration)
        return SessionRunArgs(self._found) if self._due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """See SessionRunHook."""
        if self._due:
            self._log(run_values.results)
        self._iteration += 1

    def end(self, session: BaseSession) -> None:
        """See SessionRunHook."""
        if self._at_end:
            self._log(session.run(self._found))

    def _log(self, values: list[Any]) -> None:
        seconds = None
        if self._timer is not None:
            seconds, _ = self._timer.update_last_triggered_step(self._iteration)
        if self._formatter is not None:
            get_logger().info(self._formatter(dict(zip(self._tags, values, strict=True))))
            return
        with np.printoptions(suppress=True):
            pairs = zip(self._tags, values, strict=True)
            text = ", ".join(f"{tag} = {value}" for tag, value in pairs)
        get_logger().info(text if seconds is None else f"{text} ({seconds:.3f} sec)")


def _as_fetch(what: Any) -> Any:
    """What a name stands for in the current graph; an operation's is its only output.

    Raises:
      ValueError: the operation has several outputs.
    """
    if not isinstance(what, str):
        return what
    found = get_default_graph().as_graph_element(what)
    outputs = getattr(found, "outputs", ())  # a tensor has none
    if len(outputs) > 1:
        raise ValueError(
            f"Name {what} is ambiguous, as this Operation has multiple outputs (at least 2): "
            f"expected the name of a tensor. Write {found.name}:0."
        )
    return outputs[0] if outputs else found


class NanTensorHook(SessionRunHook):
    """Stops when a loss is NaN.

    Args:
      loss_tensor: the loss.
      fail_on_nan_loss: whether to raise; otherwise the loop is only asked to stop.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss, self._fail = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """See SessionRunHook."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """See SessionRunHook.

        Raises:
          NanLossDuringTrainingError: the loss is NaN, and that is to fail.
        """
        if not np.isnan(run_values.results).any():
            return
        name = self._loss.name if isinstance(self._loss, SymbolicTensor) else self._loss
        if self._fail:
            get_logger().error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError(
                f"NaN loss during training: expected a number in '{name}', got"
                f" {run_values.results}. Lower the learning rate, or find the first bad operation"
                " with tf.debugging.enable_check_numerics()."
            )
        get_logger().warning("Model diverged with loss = NaN.")
        run_context.request_stop()


class FinalOpsHook(SessionRunHook):
    """Evaluates tensors at the end.

    Args:
      final_ops: what to fetch; None for nothing.
      final_ops_feed_dict: what to feed.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._ops, self._feeds = final_ops, final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values; None before the end."""
        return self._values

    def end(self, session: BaseSession) -> None:
        """See SessionRunHook."""
        if self._ops is None:
            return
        try:
            self._values = session.run(self._ops, feed_dict=self._feeds)
        except (errors.OutOfRangeError, StopIteration) as problem:
            get_logger().warning(
                "FinalOpsHook: an input ended while final operations ran: %s. Expected them to"
                " depend on no input that may end.",
                problem,
            )
            raise


class FeedFnHook(SessionRunHook):
    """Feeds each run.

    Args:
      feed_fn: a function without arguments that returns a feed_dict.
    """

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """See SessionRunHook."""
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())


class GlobalStepWaiterHook(SessionRunHook):
    """Holds the first run back until the global step is large enough.

    Args:
      wait_until_step: that step.
    """

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        """See SessionRunHook."""
        self._done = False
        self._step = required_step("_GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> None:
        """See SessionRunHook."""
        if self._done:
            return
        logged: float | None = None
        while self._wait_until_step > 0:
            step = int(run_context.session.run(self._step))
            if step >= self._wait_until_step:
                break
            if logged is None or time.monotonic() - logged > _LOG_EVERY_SECONDS:
                logged = time.monotonic()
                get_logger().info(
                    "Waiting for global step %d. Current step is %d.", self._wait_until_step, step
                )
            time.sleep(_POLL_SECONDS)
        self._done = True
