"""Hooks of monitored sessions: what they are asked, and what they see of a run.

A hook's life: `begin` while the graph can still change, `after_create_session` for each session
(again after a recovery), `before_run` and `after_run` around each run, `end` when all went well.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from penstock import proto
from penstock.core.tensor import Tensor
from penstock.runtime.client import BaseSession
from penstock.train.coordinator import Coordinator


class SessionRunArgs(NamedTuple):
    """What a run fetches and is fed.

    Args:
      fetches: as for `Session.run`; None fetches nothing.
      feed_dict: values by tensor, or None.
      options: a RunOptions message, or None.
    """

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What a run gave.

    Args:
      results: the values of what the hook fetched; None when it fetched nothing.
      options: the RunOptions of the run.
      run_metadata: its RunMetadata; filled when options asked for it.
    """

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """The run that a hook is called for.

    Args:
      original_args: the SessionRunArgs that the caller gave.
      session: the session that runs.
    """

    def __init__(self, original_args: SessionRunArgs, session: BaseSession) -> None:
        self._original_args, self._session = original_args, session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the caller gave, as SessionRunArgs."""
        return self._original_args

    @property
    def session(self) -> BaseSession:
        """The session that runs; its `run` calls no hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook asked to stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Asks the session to stop: `should_stop` is true from the end of this run on."""
        self._stop_requested = True


class SessionRunHook:
    """Something that is called around the runs of a monitored session; override what you need."""

    def begin(self) -> None:
        """Called once before the session is made; operations may be added to the graph."""

    def after_create_session(self, session: BaseSession, coord: Coordinator) -> None:
        """Called when a session was made, its variables have values and the graph is final.

        Args:
          session: the new session.
          coord: the coordinator of its threads.
        """

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run.

        Args:
          run_context: the run.

        Returns:
          What this hook wants fetched, fed and set besides; None for nothing.
        """

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run that raised nothing.

        Args:
          run_context: the run; `request_stop` ends the loop.
          run_values: the values of what `before_run` asked for.
        """

    def end(self, session: BaseSession) -> None:
        """Called at the end, unless an error ended the program.

        Args:
          session: the session, still open.
        """


class _RunFunction(Protocol):
    def __call__(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any: ...


def run_with_hooks(
    session: BaseSession,
    hooks: Iterable[SessionRunHook],
    stop: Callable[[], None],
    original: SessionRunArgs,
    run_metadata: Any = None,
) -> Any:
    """One run of a session with hooks around it.

    Args:
      session: what runs.
      hooks: called in this order, before and after.
      stop: called when a hook asked to stop.
      original: what the caller wants.
      run_metadata: a RunMetadata message to fill, or None.

    Returns:
      The values of `original.fetches`.

    Raises:
      RuntimeError: two feed one tensor.
      TypeError: a hook returned something else than SessionRunArgs.
    """
    run: _RunFunction = session.run
    hooks = tuple(hooks)
    context = SessionRunContext(SessionRunArgs(original.fetches, original.feed_dict), session)
    requests = [_checked(h, h.before_run(context)) for h in hooks]
    own_fetches = [r.fetches for r in requests if r is not None and r.fetches is not None]
    wanted = [original.fetches, *own_fetches]
    feeds = _merged_feeds(original.feed_dict, requests)
    options = [r.options for r in requests if r is not None and r.options is not None]
    if original.options is not None or options or run_metadata is not None:
        chosen = _merged_options(original.options, options)
        run_metadata = proto.config_pb2.RunMetadata() if run_metadata is None else run_metadata
        values = iter(run(wanted, feeds, chosen, run_metadata))
    else:  # nobody traces: the quick way, with empty messages for whoever looks
        values = iter(run(wanted, feeds))
        chosen, run_metadata = proto.config_pb2.RunOptions(), proto.config_pb2.RunMetadata()
    result = next(values)
    for hook, request in zip(hooks, requests, strict=True):
        fetched = request is not None and request.fetches is not None
        own = next(values) if fetched else None
        hook.after_run(context, SessionRunValues(own, chosen, run_metadata))
    if context.stop_requested:
        stop()
    return result


def _checked(hook: SessionRunHook, request: Any) -> SessionRunArgs | None:
    if request is None or isinstance(request, SessionRunArgs):
        return request
    raise TypeError(
        f"{type(hook).__name__}.before_run: expected a SessionRunArgs or None, got {request!r}."
        " Return tf.compat.v1.train.SessionRunArgs(fetches)."
    )


def _merged_feeds(own: Any, requests: Iterable[SessionRunArgs | None]) -> dict[Any, Any] | None:
    merged = dict(own) if own else {}
    keys = {_key(k) for k in merged}
    by_hooks: set[Any] = set()
    for request in requests:
        if request is None or not request.feed_dict:
            continue
        for tensor, value in request.feed_dict.items():
            if _key(tensor) in by_hooks:
                raise RuntimeError(
                    f"Same tensor is fed by two hooks: expected one value for {tensor}. Feed it in"
                    " one of them."
                )
            if _key(tensor) in keys:
                raise RuntimeError(
                    f"Same tensor is fed by a SessionRunHook and user: expected one value for"
                    f" {tensor}. Leave it out of the feed_dict of run(), or remove the hook."
                )
            merged[tensor] = value
        by_hooks.update(map(_key, request.feed_dict))
    return merged or None


def _key(tensor: Any) -> Any:
    """What tells feeds apart: a tensor is its name's."""
    return tensor.ref() if isinstance(tensor, Tensor) else tensor


def _merged_options(own: Any, others: Iterable[Any]) -> Any:
    """The options that give everybody what they asked for."""
    merged = proto.config_pb2.RunOptions()
    for options in (own, *others):
        if options is None:
            continue
        trace, timeout = merged.trace_level, merged.timeout_in_ms
        partitions = merged.output_partition_graphs
        merged.MergeFrom(options)
        merged.trace_level = max(trace, options.trace_level)
        merged.timeout_in_ms = max(timeout, options.timeout_in_ms)
        merged.output_partition_graphs = partitions or options.output_partition_graphs
    return merged
