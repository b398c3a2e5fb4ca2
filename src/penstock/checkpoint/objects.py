"""`Checkpoint`: saves and restores the state of a graph of objects."""

import os
from collections.abc import Callable
from typing import Any

from penstock import errors
from penstock.checkpoint import object_graph, options, saving, state_files
from penstock.checkpoint.options import CheckpointOptions
from penstock.checkpoint.restoring import Restoration, error_with_path, read_object_graph
from penstock.checkpoint.saving import prefix_text
from penstock.checkpoint.status import (
    CheckpointLoadStatus,
    InitializationOnlyStatus,
    NameBasedSaverStatus,
)
from penstock.core.bundle.reader import Contents
from penstock.core.bundle.single_file import open_checkpoint
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import wrap
from penstock.core.trackable import AutoTrackable, Trackable, as_child, wrapped
from penstock.graph.behavior import device, init_scope
from penstock.graph.default_graph import get_default_graph
from penstock.ops.variables import Variable
from penstock.runtime.client import get_default_session
from penstock.types import dtypes as dt

COUNTER = "save_counter"
Status = CheckpointLoadStatus | InitializationOnlyStatus | NameBasedSaverStatus


class Checkpoint(AutoTrackable):
    """Saves and restores objects: what is below the arguments, by the names that lead there.

    Args:
      root: an object whose children the checkpoint has; the keyword arguments are added to them.
      **kwargs: objects by name: variables, modules, optimizers, lists and dictionaries of them.

    Raises:
      ValueError: an argument is not trackable, or the root has another child of the name.

    Example:
      >>> import tempfile
      >>> v = Variable([1.0, 2.0])
      >>> checkpoint = Checkpoint(v=v)
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     path = checkpoint.save(f"{folder}/ckpt")
      ...     _ = v.assign([0.0, 0.0])
      ...     _ = checkpoint.restore(path).assert_consumed()
      >>> v.numpy().tolist()
      [1.0, 2.0]
    """

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        super().__init__()
        self._setattr_tracking = False
        self._background = saving.Background()
        self._graph_savers: dict[Any, tuple[Any, Any, list[Any]]] = {}
        self._graph_counters: dict[Any, tuple[Any, Any]] = {}
        self._save_counter: Any = None
        self._root = None if root is None else _trackable(self, "root", root)
        self._attached: dict[str, Trackable] = {}  # children of the root in this checkpoint alone
        self._setattr_tracking = True
        for name, value in sorted(kwargs.items()):
            value = wrapped(value)
            child = _trackable(self, name, value)
            if self._root is not None:
                self._attach(name, child)
            setattr(self, name, value)

    def _attach(self, name: str, child: Trackable) -> None:
        known = object_graph.children_of(self._root).get(name)
        if known is not None and known is not child:
            raise ValueError(
                f"Cannot create a Checkpoint with keyword argument {name} if root.{name} is "
                "another object: expected the same one. Choose another name."
            )
        if known is None:
            self._attached[name] = child

    def _check_attached(self) -> None:
        own = object_graph.children_of(self._root) if self._attached else {}
        for name, child in self._attached.items():
            if own.get(name, child) is not child:
                raise ValueError(
                    f"Checkpoint: expected that root.{name} is the object of the keyword argument "
                    f"{name}, got another one, which was set later: a checkpoint holds one of a "
                    "name. Choose another name."
                )

    # What belongs to it.

    @property
    def _start(self) -> Any:
        return self if self._root is None else self._root

    def _extra(self) -> dict[str, Trackable]:
        self._check_attached()
        counter = {} if self._save_counter is None else {COUNTER: self._save_counter}
        return {**self._attached, **counter}

    def _make_counter(self) -> Any:
        if self._save_counter is None:
            with init_scope(), device("cpu:0"):
                self._setattr_tracking = False
                self._save_counter = Variable(0, dtype=dt.int64, trainable=False, name=COUNTER)
                self._setattr_tracking = True
            self._start._child_added(COUNTER, self._save_counter)
        return self._save_counter

    def _maybe_create_save_counter(self) -> None:
        self._make_counter()

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        return {**super()._trackable_children(save_type, **kwargs), **self._extra()}

    @property
    def save_counter(self) -> Any:
        """An int64 variable that `save` counts in."""
        return self._make_counter()

    def _objects(self) -> object_graph.ObjectGraph:
        return object_graph.walk(self._start, self._extra())

    # Saving.

    def write(self, file_prefix: Any, options: CheckpointOptions | None = None) -> Any:
        """Writes a checkpoint, without a number and without naming it as the last one.

        Args:
          file_prefix: the prefix of its files, text or path; the folder is made when missing.
          options: a CheckpointOptions.

        Returns:
          The prefix, for `read`; inside a function a string tensor.

        Raises:
          FailedPreconditionError: a variable has no value.
          NotFoundError, PermissionDeniedError, ResourceExhaustedError: files cannot be written.
        """
        return self._write(file_prefix, options)

    def _write(
        self,
        file_prefix: Any,
        options_: Any = None,
        session: Any = None,
        then: Callable[[str], None] | None = None,
    ) -> Any:
        chosen = options.checked(options_)
        options.check_io_device(chosen)
        graph = state.graph
        if graph is not None and chosen.experimental_sharding_callback is not None:
            raise NotImplementedError(
                "tf.train.Checkpoint: expected experimental_sharding_callback eagerly, got it in a "
                "graph, where one data file is written. Save eagerly, or leave it out."
            )
        if graph is not None and graph.building_function:
            with device("cpu:0"):
                return saving.add_save(self._objects(), convert_to_tensor(file_prefix, dt.string))
        prefix = prefix_text(file_prefix)
        os.makedirs(os.path.dirname(prefix) or ".", exist_ok=True)
        done = _and_then(prefix, then, chosen)
        if graph is not None:
            self._run_save(prefix, session)
            done()
        else:
            self._save_now(prefix, chosen, done)
        return prefix

    def _save_now(self, prefix: str, chosen: CheckpointOptions, done: Callable[[], None]) -> None:
        self._background.wait()
        snapshot = saving.take_snapshot(self._objects())

        def work() -> None:
            snapshot.write(prefix, chosen.experimental_sharding_callback)
            done()

        if chosen.enable_async:
            self._background.start(work)
        else:
            work()

    def _run_save(self, prefix: str, session: Any) -> None:
        """Saves by operations of the default graph; those of last time when they still fit."""
        objects, graph = self._objects(), get_default_graph()
        known = self._graph_savers.get(graph)
        if known is None or [id(n) for n in known[2]] != [id(n) for n in objects.nodes]:
            with device("cpu:0"):
                place = execute("Placeholder", (), {"dtype": dt.string, "shape": ()})
                known = place, saving.add_save(objects, place), objects.nodes
            self._graph_savers[graph] = known
        _session_of(session).run(known[1], {known[0]: prefix})

    def save(self, file_prefix: Any, options: CheckpointOptions | None = None) -> str:
        """Writes a checkpoint with the next number, and names it as the last one of its folder.

        Args:
          file_prefix: what its prefix begins with, before "-" and the number; the folder is made
            when missing.
          options: a CheckpointOptions.

        Returns:
          The prefix, for `restore` or `read`.

        Raises:
          NotImplementedError: inside a function.
          FailedPreconditionError: a variable has no value.
          NotFoundError, PermissionDeniedError, ResourceExhaustedError: files cannot be written.
        """
        return self._save(file_prefix, options)

    def _save(self, file_prefix: Any, options_: Any = None, session: Any = None) -> str:
        if state.graph is not None and state.graph.building_function:
            raise NotImplementedError(
                "Calling tf.train.Checkpoint.save() from a function is not supported, as save() "
                "modifies saving metadata in ways not supported by operations. Use "
                "tf.train.Checkpoint.write() there."
            )
        number = self._count(session)
        prefix = f"{os.fsdecode(file_prefix)}-{number}"

        def name_it(path: str) -> None:
            state_files.write_state(os.path.dirname(path), path, [path], relative=True)

        return str(self._write(prefix, options_, session, name_it))

    def _count(self, session: Any) -> int:
        counter = self._make_counter()
        if state.graph is None:
            counter.assign_add(1, read_value=False)
            return int(counter.numpy())
        running, graph = _session_of(session), get_default_graph()
        if graph not in self._graph_counters:
            self._graph_counters[graph] = counter.is_initialized(), counter.assign_add(1)
        is_initialized, added = self._graph_counters[graph]
        if not running.run(is_initialized):
            running.run(counter.initializer)
        return int(running.run(added))

    def sync(self) -> None:
        """Waits for a save in a thread.

        Raises:
          OpError: it failed.
        """
        self._background.wait()

    # Restoring.

    def read(self, save_path: Any, options: CheckpointOptions | None = None) -> Status:
        """Restores what `write` wrote; objects that come later get their values when they come.

        Args:
          save_path: the prefix that `write` returned.
          options: a CheckpointOptions.

        Returns:
          A status: `assert_consumed()` and the like; in a graph `run_restore_ops()`.

        Raises:
          NotFoundError: there is no checkpoint.
          DataLossError: it is damaged; the message names the tensor and the file.
          ValueError: a variable has another shape.
        """
        self.sync()
        chosen = _checked_options(options)
        _check_io_device(chosen)
        path = prefix_text(save_path)
        contents = open_checkpoint(path)
        message = read_object_graph(contents)
        if message is None:
            return self._read_by_names(contents)
        graph = state.graph
        prefix = None if graph is None else convert_to_tensor(path, dt.string)
        restoration = Restoration(contents, message, chosen, graph, prefix)
        restoration.start(self._start, self._extra())
        return CheckpointLoadStatus(restoration, self._start, self._extra())

    def restore(self, save_path: Any, options: CheckpointOptions | None = None) -> Status:
        """Restores what `save` wrote, the counter too; otherwise as `read`.

        Args:
          save_path: the prefix that `save` or `tf.train.latest_checkpoint` returned; None restores
            nothing.
          options: a CheckpointOptions.

        Returns:
          A status, as for `read`.
        """
        self.sync()
        if save_path is None:
            self._make_counter()
            return InitializationOnlyStatus(self._start, self._extra())
        self._make_counter()
        try:
            return self.read(save_path, options)
        except errors.NotFoundError as problem:
            raise error_with_path(problem, prefix_text(save_path)) from None

    def _read_by_names(self, contents: Contents) -> NameBasedSaverStatus:
        missing, operations = [], []
        for node in self._objects().nodes:
            if not object_graph.is_variable(node) or node is self._save_counter:
                continue
            name = object_graph.full_name(node)
            if not contents.has(name):
                missing.append(node)
                continue
            dtype = contents.info(name).dtype
            if state.graph is None:
                value = wrap(contents.read(name), dtype)
            else:
                values = execute("RestoreV2", (contents.path, [name], [""]), {"dtypes": [dtype]})
                (value,) = values
                value.set_shape(contents.info(name).shape)
            operations.append(node._restore_from_tensors({"VARIABLE_VALUE": value}))
        return NameBasedSaverStatus(missing, [op for op in operations if op is not None])


class CheckpointV1(Checkpoint):
    """The first generation's `Checkpoint`: saves with a session of its own choice.

    Args:
      **kwargs: objects by name.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def write(  # type: ignore[override]  # the first generation has a session
        self, file_prefix: Any, session: Any = None, options: CheckpointOptions | None = None
    ) -> Any:
        """As `Checkpoint.write`, in `session` (the default one when None)."""
        return self._write(file_prefix, options, session)

    def save(  # type: ignore[override]
        self, file_prefix: Any, session: Any = None, options: CheckpointOptions | None = None
    ) -> str:
        """As `Checkpoint.save`, in `session` (the default one when None)."""
        return self._save(file_prefix, options, session)

    def restore(self, save_path: Any) -> Status:  # type: ignore[override]
        """As `Checkpoint.restore`."""
        return super().restore(save_path)


_checked_options = options.checked
_check_io_device = options.check_io_device


def _trackable(owner: Trackable, name: str, value: Any) -> Trackable:
    child = as_child(owner, name, wrapped(value))
    if child is None:
        raise ValueError(
            f"`Checkpoint` was expecting {name} to be a trackable object (an object derived from "
            f"`Trackable`), got {value}. Pass a variable, a tf.Module, an optimizer, or a list or "
            "dictionary of them."
        )
    return child


def _and_then(
    path: str, then: Callable[[str], None] | None, chosen: CheckpointOptions
) -> Callable[[], None]:
    """What happens once a checkpoint is written."""

    def done() -> None:
        if then is not None:
            then(path)
        for callback in chosen.experimental_write_callbacks or ():
            if _takes_path(callback):
                callback(path)
            else:
                callback()

    return done


def _takes_path(callback: Callable[..., Any]) -> bool:
    code = getattr(callback, "__code__", None)
    count: int = 0 if code is None else code.co_argcount
    return count - (1 if hasattr(callback, "__self__") else 0) > 0


def _session_of(session: Any) -> Any:
    found = session if session is not None else get_default_session()
    if found is None:
        raise RuntimeError(
            "saving in a graph: expected a session, got none. Enter one with "
            "`with session.as_default():`."
        )
    return found
