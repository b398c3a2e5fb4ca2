"""`Saver`: saves and restores variables by their names, in a session or eagerly."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from penstock import errors, proto
from penstock.checkpoint import saver_ops, state_files
from penstock.checkpoint.meta_graph import export_meta_graph, register_collection
from penstock.checkpoint.saveables import SaveableObject, check_shapes, saveables_of
from penstock.checkpoint.saver_objects import checked_keys, values_to_feed
from penstock.core.bundle import slices
from penstock.core.bundle.single_file import open_checkpoint
from penstock.core.bundle.writer import BundleWriter
from penstock.core.context import state
from penstock.core.tensor import host_array, wrap
from penstock.graph.default_graph import get_default_graph
from penstock.ops.variables_v1 import GraphKeys
from penstock.runtime.client import BaseSession

EMPTY = "No variables to save"
ErrorClass = Callable[[Any, Any, str], errors.OpError]  # node, operation, message


class Saver:
    """Saves and restores variables by their names.

    Args:
      var_list: the variables, as a list, or by the names to save them under; those of the graph
        when None.
      reshape: whether restored values take the shapes of the variables.
      sharded: whether every device writes files of its own.
      max_to_keep: how many checkpoints to keep; 0 or None keeps all.
      keep_checkpoint_every_n_hours: one of the others is kept for good after so many hours.
      name: the name scope of the operations.
      restore_sequentially: accepted for compatibility: all variables are read at once.
      saver_def: a SaverDef whose operations are in the graph, in place of building them.
      builder: accepted for compatibility.
      defer_build: whether operations are made by a call of `build`, not here.
      allow_empty: whether there may be no variables.
      write_version: `SaverDef.V2`, or `SaverDef.V1` for the first format.
      pad_step_number: whether step numbers have eight digits.
      save_relative_paths: whether the file that names the last checkpoints has relative paths.
      filename: the path when none is fed to the operations.

    Raises:
      TypeError: `var_list` holds something else.
      ValueError: there are no variables, or arguments contradict each other.
      RuntimeError: eagerly, without `var_list`.

    Example:
      >>> import penstock as tf, tempfile
      >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
      ...     v = tf.compat.v1.get_variable("v", initializer=1.0)
      ...     saver = Saver()
      ...     session.run(v.initializer)
      ...     with tempfile.TemporaryDirectory() as folder:
      ...         path = saver.save(session, f"{folder}/model", global_step=7)
      ...         saver.restore(session, path)
      ...     path.endswith("model-7")
      True
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = state_files.V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set "
                "defer_build=False or var_list=None."
            )
        if state.graph is None and var_list is None:
            raise RuntimeError(
                "When eager execution is enabled, `var_list` must specify a list or dict of "
                "variables to save"
            )
        self._var_list, self._reshape, self._sharded = var_list, reshape, sharded
        self._max_to_keep = max_to_keep
        self._keep_hours = keep_checkpoint_every_n_hours
        self._name = name
        self._allow_empty, self._pad = allow_empty, pad_step_number
        self._version = _checked_version(write_version)
        self._relative, self._filename = save_relative_paths, filename
        self.saver_def = saver_def
        self._is_built = self._is_empty = False
        self._saveables: list[SaveableObject] = []
        self._last_checkpoints: list[tuple[str, float]] = []
        if state.graph is None:
            self._build_eagerly()
        elif saver_def is not None or not defer_build:
            self.build()
        self._next_kept = time.time() + self._keep_hours * 3600

    def _build_eagerly(self) -> None:
        self._saveables = saveables_of(self._var_list)
        if not self._saveables and not self._allow_empty:
            raise ValueError(EMPTY)
        self._is_empty, self._is_built = not self._saveables, True
        self._make_def("")

    def _make_def(self, path: str) -> None:
        self.saver_def = proto.saver_pb2.SaverDef(
            filename_tensor_name=path,
            max_to_keep=self._max_to_keep or 0,
            keep_checkpoint_every_n_hours=self._keep_hours,
            version=self._version,  # type: ignore[arg-type]  # enum fields take plain numbers
        )

    def build(self) -> None:
        """Adds the operations to the default graph, once.

        Raises:
          RuntimeError: in eager mode.
          ValueError: there are no variables.
        """
        if state.graph is None:
            raise RuntimeError("Use save/restore instead of build in eager mode.")
        if self._is_built:
            return
        if self.saver_def is None:
            self._build_operations()
        elif not hasattr(self.saver_def, "restore_op_name"):
            raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {self.saver_def}")
        elif self._name:
            for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
                text = getattr(self.saver_def, field)
                setattr(self.saver_def, field, f"{self._name}/{text}")
        self._check_def()
        self._is_built = True

    def _build_operations(self) -> None:
        var_list = self._var_list
        if var_list is None:
            graph = get_default_graph()
            var_list = [
                *dict.fromkeys(graph.get_collection(GraphKeys.GLOBAL_VARIABLES)),
                *graph.get_collection(GraphKeys.SAVEABLE_OBJECTS),
            ]
        self._saveables = saveables_of(var_list)
        if not self._saveables:
            if not self._allow_empty:
                raise ValueError(EMPTY)
            self._is_empty = True
            return
        self.saver_def = saver_ops.build(
            self._saveables,
            sharded=self._sharded,
            reshape=self._reshape,
            version=self._version,
            filename=self._filename,
            name=self._name,
        )
        self.saver_def.max_to_keep = self._max_to_keep or 0
        self.saver_def.keep_checkpoint_every_n_hours = self._keep_hours

    def _check_def(self) -> None:
        if self._is_empty:
            return
        message = self.saver_def
        for field in ("save_tensor_name", "restore_op_name"):
            if not getattr(message, field):
                raise ValueError(f"saver_def must specify the {field}: {message}")
        self._max_to_keep = message.max_to_keep
        self._keep_hours = message.keep_checkpoint_every_n_hours
        self._version, self._sharded = message.version or state_files.V1, message.sharded

    # Messages.

    def _check_built(self) -> None:
        if not self._is_built:
            raise RuntimeError(
                "`build()` should be called before save if defer_build==True: expected a Saver "
                "with operations, got one without. Call saver.build() when all variables exist."
            )

    def as_saver_def(self) -> Any:
        """The SaverDef message with the names of the operations."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The SaverDef message; None when the operations are outside of `export_scope`.

        Args:
          export_scope: a name scope that is taken off the names.
        """
        if export_scope is None:
            return self.saver_def
        prefix = f"{export_scope}/"
        fields = ("filename_tensor_name", "save_tensor_name", "restore_op_name")
        if not all(getattr(self.saver_def, field).startswith(prefix) for field in fields):
            return None
        message = proto.saver_pb2.SaverDef()
        message.CopyFrom(self.saver_def)
        for field in fields:
            setattr(message, field, getattr(message, field).removeprefix(prefix))
        return message

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> "Saver":
        """The Saver that a SaverDef describes; its operations are in the graph.

        Args:
          saver_def: the message.
          import_scope: a name scope that is put before the names.
        """
        return Saver(saver_def=saver_def, name=import_scope)

    # The last checkpoints.

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that were saved and not removed, oldest first."""
        return [path for path, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Replaces the list of checkpoints; none of them counts as old.

        Args:
          last_checkpoints: prefixes, oldest first.
        """
        if not isinstance(last_checkpoints, list):
            raise TypeError(
                f"last_checkpoints: expected a list of prefixes, got {last_checkpoints!r}."
            )
        self._last_checkpoints = [(path, np.inf) for path in last_checkpoints]

    def set_last_checkpoints_with_time(
        self, last_checkpoints_with_time: Sequence[tuple[str, float]]
    ) -> None:
        """Replaces the list of checkpoints.

        Args:
          last_checkpoints_with_time: pairs of prefix and time in seconds, oldest first.
        """
        if not isinstance(last_checkpoints_with_time, list):
            raise TypeError(
                "last_checkpoints_with_time: expected a list of pairs, got "
                f"{last_checkpoints_with_time!r}."
            )
        self._last_checkpoints = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Takes over checkpoints that were saved before; those that are gone are left out.

        Args:
          checkpoint_paths: prefixes, oldest first.
        """
        found = [path for path in checkpoint_paths if state_files.checkpoint_exists(path)]
        times = state_files.get_checkpoint_mtimes(found)
        self.set_last_checkpoints_with_time(list(zip(found, times, strict=True)))

    def _record(self, path: str) -> list[str]:
        """Puts a new checkpoint at the end of the list; returns those that are to be removed."""
        if not self._max_to_keep:
            return []
        kept = [pair for pair in self._last_checkpoints if pair[0] != path]
        self._last_checkpoints = [*kept, (path, time.time())]
        if len(self._last_checkpoints) <= self._max_to_keep:
            return []
        old, written = self._last_checkpoints.pop(0)
        if written > self._next_kept:
            self._next_kept += self._keep_hours * 3600
            return []
        return [old]

    # Saving.

    def save(
        self,
        sess: Any,
        save_path: Any,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Saves the variables.

        Args:
          sess: the session; not used eagerly.
          save_path: the prefix of the files; their folder is made where the one above exists.
          global_step: a number, tensor or variable that is put at the end of the prefix.
          latest_filename: the file that names the last checkpoints; "checkpoint" when None.
          meta_graph_suffix: the suffix of the file with the graph.
          write_meta_graph: whether that file is written.
          write_state: whether the file that names the last checkpoints is.
          strip_default_attrs: whether the graph is written without attributes that have their
            default values.
          save_debug_info: accepted for compatibility.

        Returns:
          The prefix, for `restore`; None when there are no variables.

        Raises:
          TypeError: `sess` is no session.
          ValueError: there is no folder, or the paths collide.
          RuntimeError: the operations were deferred, and `build` was not called.
          FailedPreconditionError: a variable has no value.
        """
        path, latest = _checked_path(save_path), latest_filename or state_files.STATE_FILE
        _check_names(path, latest)
        if state.graph is not None and not isinstance(sess, BaseSession):
            raise TypeError(f"'sess' must be a Session; {sess}")
        self._check_built()
        folder = os.path.dirname(path)
        if folder and not os.path.isdir(folder):
            _make_folder(folder, path)
        if global_step is not None:
            path = f"{path}-{_step(sess, global_step):0{8 if self._pad else 0}d}"
        saved = None if self._is_empty else self._write(sess, path)
        if saved is not None and write_state:
            self._update_state(saved, folder, latest, meta_graph_suffix)
        if write_meta_graph and state.graph is not None:
            meta = state_files.meta_graph_path(path, meta_graph_suffix)
            with sess.graph.as_default():
                self.export_meta_graph(meta, strip_default_attrs=strip_default_attrs)
        return saved

    def _write(self, sess: Any, path: str) -> str:
        if state.graph is None:
            self._make_def(path)
            self._write_eagerly(path)
            return path
        message = self.saver_def
        found = sess.run(message.save_tensor_name, {message.filename_tensor_name: path})
        return os.fsdecode(found)

    def _write_eagerly(self, path: str) -> None:
        writer, held = BundleWriter(path), []
        for each in self._saveables:
            for spec in each.specs:
                tensor = spec.tensor
                held.append(tensor)
                array = host_array(tensor)
                if spec.slice_spec:
                    shape, part = slices.parse_spec(spec.slice_spec)
                    writer.add_slice(spec.name, shape, part, array, tensor.dtype)
                else:
                    writer.add(spec.name, array, tensor.dtype)
        writer.finish()

    def _update_state(self, path: str, folder: str, latest: str, suffix: str) -> None:
        """Names the new checkpoint first, and only then removes old ones."""
        gone = self._record(path)
        state_files.write_state(folder, path, self.last_checkpoints, latest, self._relative)
        for old in gone:
            state_files.remove_checkpoint(old, self._version, suffix)

    # Restoring.

    def restore(self, sess: Any, save_path: Any) -> None:
        """Restores the variables; of a checkpoint of objects by the names they had there.

        Args:
          sess: the session; not used eagerly.
          save_path: the prefix that `save` or `latest_checkpoint` returned.

        Raises:
          ValueError: there is no checkpoint.
          RuntimeError: the operations were deferred, and `build` was not called.
          NotFoundError: a variable is not in it.
          InvalidArgumentError: it has another shape or dtype there.
          DataLossError: it is damaged.
        """
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        path = os.fsdecode(save_path)
        if not state_files.checkpoint_exists(path):
            raise ValueError(
                f"The passed save_path is not a valid checkpoint: {path}. Expected a prefix that "
                "save() returned; tf.train.latest_checkpoint(folder) finds the last one."
            )
        if state.graph is None:
            self._restore_eagerly(path)
            return
        self._check_built()
        message = self.saver_def
        try:
            if not self._reshape:
                check_shapes(self._saveables, path)
            sess.run(message.restore_op_name, {message.filename_tensor_name: path})
        except errors.NotFoundError as problem:
            if not self._restore_objects(sess, path):
                missing = "a Variable name or other graph key that is missing"
                raise _explained(problem, errors.NotFoundError, missing) from problem
        except errors.InvalidArgumentError as problem:
            mismatch = "a mismatch between the current graph and the graph"
            raise _explained(problem, errors.InvalidArgumentError, mismatch) from problem

    def _restore_objects(self, sess: Any, path: str) -> bool:
        """Restores a checkpoint of objects by names; False if it is none."""
        message = self.saver_def
        feeds = values_to_feed(sess.graph, message.restore_op_name, path)
        if feeds is not None:
            sess.run(message.restore_op_name, {message.filename_tensor_name: path, **feeds})
        return feeds is not None

    def _restore_eagerly(self, path: str) -> None:
        with open_checkpoint(path) as contents:
            names = [spec.name for each in self._saveables for spec in each.specs]
            keys: Mapping[str, str] | None = None
            if not all(map(contents.has, names)):
                keys = checked_keys(contents, names)
            for each in self._saveables:
                values = []
                for spec in each.specs:
                    key = spec.name if keys is None else keys[spec.name]
                    dtype = contents.info(key).dtype
                    if spec.slice_spec:
                        part = slices.parse_spec(spec.slice_spec)
                        values.append(wrap(contents.read_slice(key, *part), dtype))
                    else:
                        values.append(wrap(contents.read(key), dtype))
                shapes = [list(each.op.shape)] if self._reshape else None
                each.restore(values, shapes)

    def export_meta_graph(
        self,
        filename: Any = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """The graph with its collections and this saver; see `export_meta_graph`."""
        return export_meta_graph(
            filename=filename,
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
            save_debug_info=save_debug_info,
        )


register_collection(GraphKeys.SAVERS, lambda: proto.saver_pb2.SaverDef(), Saver.from_proto)


def _checked_version(version: Any) -> int:
    if version not in saver_ops.VERSIONS:
        raise ValueError(
            f"write_version: expected SaverDef.V2 (2) or SaverDef.V1 (1), got {version!r}. Use V2."
        )
    return int(version)


def _checked_path(save_path: Any) -> str:
    try:
        return os.fsdecode(save_path)
    except TypeError:
        raise TypeError(
            f"save_path: expected text or a path, got {save_path!r} of type "
            f"{type(save_path).__name__}."
        ) from None


def _check_names(path: str, latest: str) -> None:
    if os.path.split(latest)[0]:
        raise ValueError("'latest_filename' must not contain path components")
    if not os.path.basename(path):
        raise ValueError("no path specified: expected the prefix of a checkpoint, got a folder.")
    if os.path.basename(path) == latest:
        raise ValueError(f"'latest_filename' collides with 'save_path': '{latest}' and '{path}'")


def _make_folder(folder: str, path: str) -> None:
    """Makes the last folder of a path, and not those above, as TensorFlow does."""
    try:
        os.mkdir(folder)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise ValueError(f"Parent directory of {path} is a file, can't save.") from None
    except OSError:
        raise ValueError(
            f"Parent directory of {path} doesn't exist, can't save. Create {folder}."
        ) from None


def _step(sess: Any, global_step: Any) -> int:
    if isinstance(global_step, int | np.integer):
        return int(global_step)
    if state.graph is None:
        return int(global_step)
    return int(sess.run(global_step))


def _explained(problem: errors.OpError, kind: ErrorClass, what: str) -> errors.OpError:
    return kind(
        problem.node_def,
        problem.op,
        f"Restoring from checkpoint failed. This is most likely due to {what} from the checkpoint. "
        "Please ensure that you have not altered the graph expected based on the checkpoint. "
        f"Original error:\n\n{problem.message}",
    )
