"""`CheckpointManager`: keeps the last checkpoints of a folder, and removes the others."""

import os
import time
from collections.abc import Callable
from typing import Any

from penstock.checkpoint import state_files
from penstock.checkpoint.objects import Checkpoint
from penstock.core.context import state
from penstock.runtime.client import get_default_session


class CheckpointManager:
    """Keeps the last checkpoints of a folder.

    Args:
      checkpoint: the Checkpoint that saves and restores.
      directory: the folder.
      max_to_keep: how many to keep; None keeps all.
      keep_checkpoint_every_n_hours: one of the others is kept for good after so many hours.
      checkpoint_name: what the names of the files begin with.
      step_counter: an integer variable with the present step.
      checkpoint_interval: `save` does nothing before so many steps since the last one.
      init_fn: called by `restore_or_initialize` when there is nothing to restore.
      last_checkpoint_step: the step of the last checkpoint, when a run goes on.

    Raises:
      ValueError: `max_to_keep` is not positive, or there is an interval without a counter.
    """

    def __init__(
        self,
        checkpoint: Any,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
        last_checkpoint_step: int | None = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}."
            )
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError(
                "`step_counter` should be passed if `checkpoint_interval` is not None."
            )
        self._checkpoint, self._directory = checkpoint, os.fsdecode(directory)
        self._max_to_keep = max_to_keep
        self._keep_hours = keep_checkpoint_every_n_hours
        self._name, self._step_counter = checkpoint_name, step_counter
        self._interval, self._init_fn = checkpoint_interval, init_fn
        self._last_step = last_checkpoint_step
        self._latest: str | None = None
        self._kept: dict[str, float] = {}  # path -> time, oldest first
        self._preserved = time.time()
        self._recover()

    def _recover(self) -> None:
        """Takes over what a manager before wrote in the folder."""
        found = state_files.get_checkpoint_state(self._directory)
        if found is None:
            return
        now = time.time()
        if found.last_preserved_timestamp:
            self._preserved = min(found.last_preserved_timestamp, now)
        self._latest = found.model_checkpoint_path
        everything = list(found.all_model_checkpoint_paths)
        times = list(found.all_model_checkpoint_timestamps)
        if len(times) != len(everything):
            times = [now] * len(everything)
        self._kept = dict(zip(everything, times, strict=True))

    @property
    def directory(self) -> str:
        """The folder."""
        return self._directory

    @property
    def checkpoint(self) -> Any:
        """The Checkpoint that saves and restores."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """The steps between checkpoints, or None."""
        return self._interval

    @property
    def latest_checkpoint(self) -> str | None:
        """The prefix of the last checkpoint, or None."""
        return self._latest

    @property
    def checkpoints(self) -> list[str]:
        """The prefixes of the checkpoints that are kept, oldest first."""
        return list(self._kept)

    @property
    def _prefix(self) -> str:
        return os.path.join(self._directory, self._name)

    def save(
        self, checkpoint_number: Any = None, check_interval: bool = True, options: Any = None
    ) -> str | None:
        """Saves a checkpoint, and removes those that are not kept.

        Args:
          checkpoint_number: its number; that of the checkpoint's counter, which counts every save,
            when None.
          check_interval: whether `checkpoint_interval` counts; where there is one, a step is not
            saved twice either way.
          options: a CheckpointOptions.

        Returns:
          The prefix; None when the interval is not over.

        Raises:
          FailedPreconditionError: a variable has no value.
          NotFoundError, PermissionDeniedError, ResourceExhaustedError: files cannot be written.
        """
        step = None if self._step_counter is None else _number(self._step_counter)
        if self._interval is not None and self._last_step is not None:
            assert step is not None
            since = step - self._last_step
            if since == 0 or (check_interval and since < self._interval):
                return None
        counted = self._checkpoint._count(None)
        number = counted if checkpoint_number is None else _number(checkpoint_number)
        path = f"{self._prefix}-{number}"
        self._checkpoint._write(path, options, then=self._record)
        self._latest, self._last_step = path, step
        return path

    def _record(self, path: str) -> None:
        """Called when a checkpoint is on disk: names it first, and only then removes others."""
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        kept_for_good, gone = self._choose()
        state_files.write_state(
            self._directory,
            path,
            list(self._kept),
            relative=True,
            times=list(self._kept.values()),
            preserved=kept_for_good,
        )
        for old in gone:
            state_files.remove_checkpoint(old)

    def _choose(self) -> tuple[float, list[str]]:
        """Takes the oldest ones out of the list; those that are to be removed are returned."""
        gone = []
        while self._max_to_keep is not None and len(self._kept) > self._max_to_keep:
            path, written = next(iter(self._kept.items()))
            del self._kept[path]
            hours = self._keep_hours
            if hours and written - hours * 3600.0 >= self._preserved:
                self._preserved = written
            else:
                gone.append(path)
        return self._preserved, gone

    def restore_or_initialize(self) -> str | None:
        """Restores the last checkpoint, or calls `init_fn` when there is none.

        Returns:
          The prefix of what was restored; None when nothing was.
        """
        if self._latest is not None:
            self._checkpoint.restore(self._latest)
            if self._step_counter is not None:
                self._last_step = _number(self._step_counter)
            return self._latest
        if self._init_fn is not None:
            self._init_fn()
        return None

    def sync(self) -> None:
        """Waits for a save in a thread.

        Raises:
          OpError: it failed.
        """
        self._checkpoint.sync()


def managed(objects: dict[str, Any], args: dict[str, Any]) -> CheckpointManager:
    """A manager of checkpoints of objects by name; see `penstock.core.trackable.managed`."""
    return CheckpointManager(Checkpoint(**objects), **args)


def _number(value: Any) -> int:
    """An integer, also of a tensor or a variable."""
    if state.graph is not None and not isinstance(value, int):
        session = get_default_session()
        if session is None:
            raise RuntimeError("a number from a graph: expected a default session, got none.")
        return int(session.run(value))
    return int(value)
