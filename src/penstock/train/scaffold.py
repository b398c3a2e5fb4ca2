"""`Scaffold`, the operations that a training session stands on, and who makes sessions from it."""

import abc
from collections.abc import Callable
from typing import Any

from penstock.checkpoint.saver import Saver
from penstock.config.logging import get_logger
from penstock.graph.default_graph import get_default_graph
from penstock.graph.operation import Operation
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
from penstock.summary.merged import merge_all
from penstock.train.graph_resources import (
    local_resources,
    shared_resources,
    with_resources,
)
from penstock.train.session_manager import SessionManager

_LOADED_INITIALIZERS = "saved_model_initializers"  # of what a SavedModel brought
_FIELDS = (
    "init_op init_feed_dict local_init_feed_dict ready_op ready_for_local_init_op local_init_op"
    " summary_op saver"
).split()


class Scaffold:
    """The operations that a training session stands on; those not given are made by `finalize`.

    Args:
      init_op: gives the variables values; their initializers by default.
      init_feed_dict: what it is fed.
      init_fn: called with the scaffold and the session after `init_op`.
      ready_op: a string vector with the names of what has no value.
      ready_for_local_init_op: the same for what `local_init_op` needs.
      local_init_op: run in each session, also restored ones.
      summary_op: all summaries as one.
      saver: saves and restores.
      copy_from_scaffold: another Scaffold, for what is not given here.
      local_init_feed_dict: what `local_init_op` is fed.

    Raises:
      TypeError: `copy_from_scaffold` is no Scaffold.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[["Scaffold", BaseSession], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: "Scaffold | None" = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        given = copy_from_scaffold
        if given is not None and not isinstance(given, Scaffold):
            raise TypeError(
                "copy_from_scaffold is not a Scaffold instance: expected a"
                f" tf.compat.v1.train.Scaffold, got {given!r}."
            )
        self._values: dict[str, Any] = {
            "init_op": init_op,
            "init_feed_dict": init_feed_dict,
            "local_init_feed_dict": local_init_feed_dict,
            "ready_op": ready_op,
            "ready_for_local_init_op": ready_for_local_init_op,
            "local_init_op": local_init_op,
            "summary_op": summary_op,
            "saver": saver,
        }
        self._user_init_fn = init_fn
        if given is not None:
            for field in _FIELDS:
                if self._values[field] is None:
                    self._values[field] = given._values[field]
            self._user_init_fn = init_fn or given._user_init_fn

    def finalize(self) -> "Scaffold":
        """Makes the operations that were not given, and finalizes the graph."""
        defaults: tuple[tuple[str, str, Callable[[], Any]], ...] = (
            ("init_op", GraphKeys.INIT_OP, _init_op),
            ("ready_op", GraphKeys.READY_OP, _ready_op),
            (
                "ready_for_local_init_op",
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                _ready_for_local_init_op,
            ),
            ("local_init_op", GraphKeys.LOCAL_INIT_OP, self.default_local_init_op),
            ("summary_op", GraphKeys.SUMMARY_OP, merge_all),
        )
        for field, key, make in defaults:
            if self._values[field] is None:
                self._values[field] = self.get_or_default(field, key, make)
        if self._values["saver"] is None:
            self._values["saver"] = self.get_or_default(
                "saver", GraphKeys.SAVERS, lambda: Saver(sharded=True, allow_empty=True)
            )
        self._values["saver"].build()
        get_default_graph().finalize()
        get_logger().info("Graph was finalized.")
        return self

    @staticmethod
    def default_local_init_op() -> Operation:
        """An operation that initializes the local variables, the tables and local resources."""
        made = [resource.create for resource in local_resources()]
        return group(  # type: ignore[no-any-return]
            local_variables_initializer(), tables_initializer(), *made
        )

    @staticmethod
    def get_or_default(
        arg_name: str, collection_key: str, default_constructor: Callable[[], Any]
    ) -> Any:
        """The one element of a collection, made when there is none.

        Args:
          arg_name: the argument that it is for, in messages.
          collection_key: the collection.
          default_constructor: makes the element, or None.

        Raises:
          RuntimeError: there are several.
        """
        graph = get_default_graph()
        found = graph.get_collection(collection_key)
        if len(found) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}": expected at most one,'
                f" got {len(found)}. Please indicate which one to use by passing it to the"
                f" tf.Scaffold constructor as:  tf.Scaffold({arg_name}=item to use)"
            )
        if found:
            return found[0]
        made = default_constructor()
        if made is not None:
            graph.add_to_collection(collection_key, made)
        return made

    @property
    def init_fn(self) -> Callable[[BaseSession], Any] | None:
        """A function of the session that calls what was given with this scaffold."""
        if self._user_init_fn is None:
            return None
        call = self._user_init_fn
        return lambda session: call(self, session)

    @property
    def init_op(self) -> Any:
        """Gives the variables values."""
        return self._values["init_op"]

    @property
    def init_feed_dict(self) -> Any:
        """What `init_op` is fed."""
        return self._values["init_feed_dict"]

    @property
    def local_init_feed_dict(self) -> Any:
        """What `local_init_op` is fed."""
        return self._values["local_init_feed_dict"]

    @property
    def local_init_op(self) -> Any:
        """Run in each session, also restored ones."""
        return self._values["local_init_op"]

    @property
    def ready_for_local_init_op(self) -> Any:
        """The names of what has no value and `local_init_op` needs."""
        return self._values["ready_for_local_init_op"]

    @property
    def ready_op(self) -> Any:
        """The names of what has no value."""
        return self._values["ready_op"]

    @property
    def saver(self) -> Any:
        """Saves and restores."""
        return self._values["saver"]

    @property
    def summary_op(self) -> Any:
        """All summaries as one, or None when there are none."""
        return self._values["summary_op"]


class SessionCreator(abc.ABC):
    """Makes sessions; a monitored session asks it again after a failure."""

    @abc.abstractmethod
    def create_session(self) -> BaseSession:
        """A new session."""


class ChiefSessionCreator(SessionCreator):
    """Makes sessions of the chief: from the last checkpoint, or else by the initializers.

    Args:
      scaffold: the operations; the default ones when None.
      master: the sessions' target.
      config: their ConfigProto.
      checkpoint_dir: the folder of checkpoints; the last one there is restored.
      checkpoint_filename_with_path: the prefix of the checkpoint; not both.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master, self._config = master, config
        self._folder, self._prefix = checkpoint_dir, checkpoint_filename_with_path
        self._manager: SessionManager | None = None

    def create_session(self) -> BaseSession:
        """A new session; the first call finalizes the graph."""
        self._scaffold.finalize()
        if self._manager is None:
            self._manager = _manager_of(self._scaffold)
        return self._manager.prepare_session(
            self._master,
            saver=self._scaffold.saver,
            checkpoint_dir=self._folder,
            checkpoint_filename_with_path=self._prefix,
            config=self._config,
            init_op=self._scaffold.init_op,
            init_feed_dict=self._scaffold.init_feed_dict,
            init_fn=self._scaffold.init_fn,
        )


class WorkerSessionCreator(SessionCreator):
    """Makes sessions of a worker: waits until the chief has given the variables values.

    Args:
      scaffold: the operations; the default ones when None.
      master: the sessions' target.
      config: their ConfigProto.
      max_wait_secs: how long to wait.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master, self._config, self._max_wait_secs = master, config, max_wait_secs
        self._manager: SessionManager | None = None

    def create_session(self) -> BaseSession:
        """A new session; the first call finalizes the graph."""
        self._scaffold.finalize()
        if self._manager is None:
            self._manager = _manager_of(self._scaffold)
        return self._manager.wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )


def _init_op() -> Any:
    loaded = get_default_graph().get_collection(_LOADED_INITIALIZERS)
    made = [resource.create for resource in shared_resources()]
    return group(global_variables_initializer(), *made, *loaded)


def _ready_op() -> Any:
    every = [*shared_resources(), *local_resources()]
    return with_resources(report_uninitialized_variables(), every)


def _ready_for_local_init_op() -> Any:
    return with_resources(report_uninitialized_variables(global_variables()), shared_resources())


def _manager_of(scaffold: Scaffold) -> SessionManager:
    return SessionManager(
        local_init_op=scaffold.local_init_op,
        local_init_feed_dict=scaffold.local_init_feed_dict,
        ready_op=scaffold.ready_op,
        ready_for_local_init_op=scaffold.ready_for_local_init_op,
        graph=get_default_graph(),
    )
