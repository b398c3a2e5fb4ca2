"""The file `checkpoint` in a folder, which names the last checkpoints; and files by prefix."""

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from penstock import proto
from penstock.core import files
from penstock.core.bundle import paths
from penstock.core.bundle.paths import write_atomically

STATE_FILE = "checkpoint"
V1, V2 = 1, 2  # SaverDef.CheckpointFormatVersion


def _state_path(folder: Any, latest_filename: str | None) -> str:
    return os.path.join(files.local_path(folder), latest_filename or STATE_FILE)


def generate_checkpoint_state_proto(
    save_dir: Any,
    model_checkpoint_path: Any,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> Any:
    """A CheckpointState message, with paths relative to `save_dir` where that is relative.

    Args:
      save_dir: the folder that the message will lie in.
      model_checkpoint_path: the last checkpoint.
      all_model_checkpoint_paths: all checkpoints, oldest first; the last one is added if missing.
      all_model_checkpoint_timestamps: when they were written, in seconds since 1970.
      last_preserved_timestamp: when one was last kept for good.

    Raises:
      ValueError: there are not as many times as paths.
    """
    save_dir, latest = os.fsdecode(save_dir), os.fsdecode(model_checkpoint_path)
    everything = [os.fsdecode(path) for path in all_model_checkpoint_paths or ()]
    if not everything or everything[-1] != latest:
        everything.append(latest)
    times = all_model_checkpoint_timestamps
    if times and len(times) != len(everything):
        raise ValueError(
            "Checkpoint timestamps, if provided, must match checkpoint paths (got paths "
            f"{everything} and timestamps {list(times)})"
        )
    if not os.path.isabs(save_dir):
        everything = [_relative(path, save_dir) for path in everything]
        latest = _relative(latest, save_dir)
    message = proto.checkpoint_state_pb2.CheckpointState(
        model_checkpoint_path=latest,
        all_model_checkpoint_paths=everything,
        all_model_checkpoint_timestamps=times or (),
    )
    if last_preserved_timestamp is not None:
        message.last_preserved_timestamp = last_preserved_timestamp
    return message


def _relative(path: str, folder: str) -> str:
    return path if os.path.isabs(path) else os.path.relpath(path, folder)


def update_checkpoint_state(
    save_dir: Any,
    model_checkpoint_path: Any,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Writes the file that names the last checkpoints, atomically.

    Arguments as for `generate_checkpoint_state_proto`, and the file's name ("checkpoint" when
    None).

    Raises:
      RuntimeError: the file would lie where the checkpoint does.
    """
    write_state(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        latest_filename,
        False,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )


def write_state(
    save_dir: Any,
    latest: str,
    everything: Sequence[str] | None = None,
    latest_filename: str | None = None,
    relative: bool = False,
    times: Sequence[float] | None = None,
    preserved: float | None = None,
) -> None:
    """`update_checkpoint_state`, with paths relative to the folder if `relative`."""
    path, folder = _state_path(save_dir, latest_filename), os.fsdecode(save_dir)
    if relative:
        if everything is not None:
            everything = [os.path.relpath(each, folder or ".") for each in everything]
        shown = os.path.relpath(os.fsdecode(latest), folder or ".")
    else:
        shown = os.fsdecode(latest)
    message = generate_checkpoint_state_proto(folder, shown, everything, times, preserved)
    if relative:
        message.model_checkpoint_path = shown
        message.all_model_checkpoint_paths[:] = list(everything or [shown])
    if path == os.fsdecode(latest):
        raise RuntimeError(
            f"Save path '{latest}' conflicts with path used for checkpoint state. Please use a "
            "different save path."
        )
    try:
        write_atomically(path, proto.text_format.MessageToString(message).encode())
    except OSError as problem:
        raise files.translated(problem, path) from problem


def get_checkpoint_state(checkpoint_dir: Any, latest_filename: str | None = None) -> Any:
    """The CheckpointState message of a folder, with whole paths.

    Args:
      checkpoint_dir: the folder.
      latest_filename: the file's name; "checkpoint" when None.

    Returns:
      The message; None when there is no such file or it cannot be read.

    Raises:
      ValueError: the file names no checkpoint.
    """
    folder = os.fsdecode(checkpoint_dir)
    try:
        with open(_state_path(folder, latest_filename), encoding="utf-8") as file:
            text = file.read()
        message = proto.checkpoint_state_pb2.CheckpointState()
        proto.text_format.Merge(text, message)
    except (OSError, UnicodeDecodeError, proto.text_format.ParseError):
        return None
    if not message.model_checkpoint_path:
        raise ValueError(
            f"Invalid checkpoint state loaded from {folder}: expected model_checkpoint_path, got "
            "none. Remove the file, or restore a checkpoint by its prefix."
        )
    message.model_checkpoint_path = _under(folder, message.model_checkpoint_path)
    everything = [_under(folder, path) for path in message.all_model_checkpoint_paths]
    message.all_model_checkpoint_paths[:] = everything
    return message


def _under(folder: str, path: str) -> str:
    return path if os.path.isabs(path) else os.path.join(folder, path)


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """The prefix of the last checkpoint of a folder.

    Args:
      checkpoint_dir: the folder.
      latest_filename: the name of the file that names it; "checkpoint" when None.

    Returns:
      The prefix, for `restore`; None when there is none.
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not checkpoint_exists(state.model_checkpoint_path):
        return None
    return str(state.model_checkpoint_path)


def checkpoint_exists(checkpoint_prefix: Any) -> bool:
    """Whether there is a checkpoint of either format under a prefix.

    Args:
      checkpoint_prefix: what `save` returned.
    """
    prefix = files.local_path(checkpoint_prefix)
    return bool(files.glob(paths.index_path(prefix)) or files.glob(prefix))


def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """When checkpoints were written, in seconds since 1970.

    Args:
      checkpoint_prefixes: their prefixes; those that do not exist are left out.

    Returns:
      One number for each that exists.
    """
    found = []
    for prefix in map(files.local_path, checkpoint_prefixes):
        matching = files.glob(paths.index_path(prefix)) or files.glob(prefix)
        if matching:
            found.append(float(files.stat(matching[0]).mtime_nsec // 1_000_000_000))
    return found


def remove_checkpoint(
    checkpoint_prefix: Any, checkpoint_format_version: int = V2, meta_graph_suffix: str = "meta"
) -> None:
    """Removes a checkpoint, as far as it is there.

    Args:
      checkpoint_prefix: its prefix.
      checkpoint_format_version: 1 or 2.
      meta_graph_suffix: the suffix of the file with its graph.
    """
    prefix = files.local_path(checkpoint_prefix)
    remove_files(meta_graph_path(prefix, meta_graph_suffix))
    if checkpoint_format_version == V2:
        remove_files(paths.index_path(prefix))
        if os.path.isdir(os.path.dirname(prefix) or "."):
            for path in list(paths.data_paths(prefix)):
                remove_files(path)
    else:
        for path in files.glob(prefix):
            remove_files(path)


def remove_files(path: str) -> None:
    """Removes a file if it is there."""
    try:
        os.remove(path)
    except FileNotFoundError:
        return
    except OSError as problem:
        raise files.translated(problem, path) from problem


def meta_graph_path(prefix: str, suffix: str = "meta") -> str:
    """The file with the graph of a checkpoint; parts of a checkpoint have one in common.

    Example:
      >>> meta_graph_path("a/b-?????-of-00002")
      'a/b.meta'
    """
    return f"{re.sub(r'-[0-9?]+-of-[0-9?]+$', '', prefix)}.{suffix}"


def checkpoints_iterator(
    checkpoint_dir: Any,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Waits for the checkpoints of a folder, and gives each new last one.

    Args:
      checkpoint_dir: the folder.
      min_interval_secs: the least time from one to the next, in seconds.
      timeout: how long to wait for a new one, in seconds; for ever when None.
      timeout_fn: called after each timeout; true ends the iterator. None: the first timeout does.

    Yields:
      Prefixes.
    """
    last = None
    while True:
        found = _wait_for_new(checkpoint_dir, last, timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        began, last = time.monotonic(), found
        yield found
        rest = began + min_interval_secs - time.monotonic()
        if rest > 0:
            time.sleep(rest)


def _wait_for_new(folder: Any, last: str | None, timeout: float | None) -> str | None:
    """The last checkpoint when it is not `last`, None after the timeout."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        found = latest_checkpoint(folder)
        if found is not None and found != last:
            return found
        left = 1.0 if deadline is None else deadline - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(1.0, left))
