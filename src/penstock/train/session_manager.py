"""`SessionManager`: makes sessions whose variables have values.

A chief restores the last checkpoint or runs the initializers; other tasks wait until the chief has
done so. Whether a model is ready is what its ready operation says: a string vector with the names
of what has no value yet, empty when all have.
"""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import errors
from penstock.checkpoint.state_files import get_checkpoint_state
from penstock.config.logging import get_logger
from penstock.graph.default_graph import get_default_graph
from penstock.graph.graph import Graph
from penstock.runtime.client import BaseSession, Session

InitFn = Callable[[BaseSession], Any]


class SessionManager:
    """Makes sessions and brings them to where training can go on.

    Args:
      local_init_op: run in each new session, after the variables have values.
      ready_op: a string vector, the names of what has no value; None when all is always ready.
      ready_for_local_init_op: the same for what `local_init_op` needs.
      graph: the graph of the sessions; the current one when None.
      recovery_wait_secs: seconds between two looks at whether the model is ready.
      local_init_run_options: a RunOptions message for `local_init_op`.
      local_init_feed_dict: what `local_init_op` is fed.

    Raises:
      ValueError: there is a `ready_for_local_init_op`, but no `local_init_op`.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , "
                f"ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._graph = graph or get_default_graph()
        self._local_init_op, self._local_feeds = local_init_op, local_init_feed_dict
        self._local_options = local_init_run_options
        self._ready_op, self._ready_for_local = ready_op, ready_for_local_init_op
        self._wait_secs = recovery_wait_secs

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Any = None,
        init_fn: InitFn | None = None,
    ) -> BaseSession:
        """Makes a session that is ready: from a checkpoint, or else by the initializers.

        Args:
          master: the session's target.
          init_op: run when there is no checkpoint.
          saver: restores the checkpoint.
          checkpoint_dir: its folder; the last one there is taken.
          checkpoint_filename_with_path: its prefix; not both.
          wait_for_checkpoint: whether to wait for a checkpoint to appear.
          max_wait_secs: how long.
          config: the session's ConfigProto.
          init_feed_dict: what `init_op` is fed.
          init_fn: called with the session after `init_op`.

        Raises:
          RuntimeError: there is no way to give the variables values, or some have none after all.
          ValueError: both a folder and a prefix are given.
        """
        session, loaded = self._restored(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        try:
            if not loaded:
                self._initialize(session, init_op, init_feed_dict, init_fn)
            self._check_ready(session, init_op, init_fn)
        except BaseException:
            session.close()
            raise
        return session

    def _initialize(
        self, session: BaseSession, init_op: Any, feeds: Any, init_fn: InitFn | None
    ) -> None:
        if init_op is None and init_fn is None and self._local_init_op is None:
            raise RuntimeError(
                "Model is not initialized and no init_op or init_fn or local_init_op was given:"
                " expected a checkpoint or a way to initialize, got none. Pass init_op ="
                " tf.compat.v1.global_variables_initializer()."
            )
        if init_op is not None:
            session.run(init_op, feed_dict=feeds)
        if init_fn is not None:
            init_fn(session)

    def _check_ready(self, session: BaseSession, init_op: Any, init_fn: InitFn | None) -> None:
        problem = self._run_local_init(session)
        if problem is not None:
            raise RuntimeError(
                "Init operations did not make model ready for local_init.  Init op:"
                f" {_named(init_op)}, init fn: {init_fn}, error: {problem}"
            )
        problem = missing_values(self._ready_op, session, "Model not ready")
        if problem is not None:
            raise RuntimeError(
                f"Init operations did not make model ready.  Init op: {_named(init_op)}, init fn:"
                f" {init_fn}, local_init_op: {_named(self._local_init_op)}, error: {problem}"
            )

    def recover_session(
        self,
        master: str,
        saver: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> tuple[BaseSession, bool]:
        """Makes a session from a checkpoint, if there is one; arguments as for `prepare_session`.

        Returns:
          The session, and whether it was restored and is ready.

        Raises:
          ValueError: both a folder and a prefix are given.
        """
        session, loaded = self._restored(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        if not loaded:
            return session, False
        problem = self._run_local_init(session)
        if problem is None:
            problem = missing_values(self._ready_op, session, "Model not ready")
        if problem is not None:
            get_logger().info("Restoring the model did not make it ready: %s", problem)
        return session, problem is None

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float | None = math.inf
    ) -> BaseSession:
        """Makes sessions until somebody else has made the model ready.

        Args:
          master: the session's target.
          config: the session's ConfigProto.
          max_wait_secs: how long to wait; None waits forever.

        Raises:
          DeadlineExceededError: the model was not ready in time.
        """
        end = time.monotonic() + (math.inf if max_wait_secs is None else max_wait_secs)
        while True:
            session = Session(master, graph=self._graph, config=config)
            problem = self._run_local_init(session)
            if problem is None:
                problem = missing_values(self._ready_op, session, "Model not ready")
            if problem is None:
                return session
            session.close()
            if time.monotonic() + self._wait_secs > end:
                raise errors.DeadlineExceededError(
                    None,
                    None,
                    f"Session was not ready after waiting {max_wait_secs} secs: {problem}. See"
                    " whether the chief runs, or wait longer with max_wait_secs.",
                )
            get_logger().info("Waiting for model to be ready. %s", problem)
            time.sleep(self._wait_secs)

    # How a session gets its values.

    def _restored(
        self,
        master: str,
        saver: Any,
        folder: Any,
        prefix: Any,
        wait: bool,
        max_wait_secs: float,
        config: Any,
    ) -> tuple[BaseSession, bool]:
        """A new session, and whether a checkpoint was restored in it."""
        if folder and prefix:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        session = Session(master, graph=self._graph, config=config)
        if saver is None or not (folder or prefix):
            return session, False
        try:
            if prefix:
                saver.restore(session, prefix)
                return session, True
            found = self._checkpoint_state(folder, max_wait_secs if wait else 0)
            if found is None:
                return session, False
            saver.restore(session, found.model_checkpoint_path)
            saver.recover_last_checkpoints(found.all_model_checkpoint_paths)
        except BaseException:
            session.close()
            raise
        return session, True

    def _checkpoint_state(self, folder: Any, max_wait_secs: float) -> Any:
        end = time.monotonic() + max_wait_secs
        while True:
            found = get_checkpoint_state(folder)
            if found is not None and found.model_checkpoint_path:
                return found
            if time.monotonic() >= end:
                return None
            get_logger().info("Waiting for checkpoint to be available.")
            time.sleep(min(self._wait_secs, max(0.0, end - time.monotonic())))

    def _run_local_init(self, session: BaseSession) -> str | None:
        """Runs `local_init_op` when the model is ready for it; else says what is missing."""
        if self._local_init_op is None:
            return None
        problem = missing_values(self._ready_for_local, session, "Model not ready for local init")
        if problem is None:
            get_logger().info("Running local_init_op.")
            session.run(
                self._local_init_op, feed_dict=self._local_feeds, options=self._local_options
            )
            get_logger().info("Done running local_init_op.")
        return problem


def missing_values(ready_op: Any, session: BaseSession, what: str) -> str | None:
    """What has no value yet, as text; None when all is ready."""
    if ready_op is None:
        return None
    try:
        names = session.run(ready_op)
    except errors.FailedPreconditionError as problem:
        if "uninitialized" not in str(problem):
            get_logger().warning("%s: error %s", what, problem)
            raise
        return str(problem)
    if names is None or np.size(names) == 0:  # an operation that ran is ready
        return None
    return "Variables not initialized: " + ", ".join(
        n.decode() if isinstance(n, bytes) else str(n) for n in np.ravel(names)
    )


def _named(op: Any) -> Any:
    return getattr(op, "name", op)
