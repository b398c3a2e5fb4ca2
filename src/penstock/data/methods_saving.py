"""Methods of datasets that write elements to a folder, or read them from there."""

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock import errors, proto
from penstock.core import files
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.deprecation import deprecated
from penstock.core.execute import execute
from penstock.core.trackable import managed
from penstock.data import chunks, structure_messages
from penstock.data.base import DatasetBase, DatasetSpec
from penstock.data.functions import Traced, trace
from penstock.data.loading import LOAD
from penstock.data.methods_basic import trace_dataset
from penstock.data.methods_sources import made
from penstock.data.pool import processors
from penstock.data.saving import SAVE, SAVE_V2
from penstock.data.snapshots import SNAPSHOT
from penstock.data.structure import Structure
from penstock.data.turns import in_turns
from penstock.types import dtypes as dt
from penstock.types.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from penstock.data.dataset import Dataset

_POLL_SECONDS = 0.1


class SavingMethods(DatasetBase):
    """The methods of `Dataset` that write and read folders."""

    def save(
        self,
        path: Any,
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: Any = None,
    ) -> Any:
        """Writes all elements to a folder, from where `load` reads them.

        TensorFlow reads what is written here, and the other way round.

        Args:
          path: the folder; what was saved there is replaced.
          compression: "GZIP", "ZLIB", "SNAPPY" or None.
          shard_func: takes an element, returns int64[], the number of the shard it goes to.
          checkpoint_args: the arguments of a `tf.train.CheckpointManager`, without `checkpoint`:
            how far it has come is saved there as it goes, and a call with the same arguments goes
            on from the last checkpoint. A `step_counter` counts the elements.

        Returns:
          In a graph the operation that writes; else None.

        Raises:
          InvalidArgumentError: `shard_func` returns something else, or there is no such
            compression.
          UnimplementedError: elements hold what cannot be written.
          ValueError: `checkpoint_args` hold a `checkpoint`.
          RuntimeError: they are given in a graph.

        Example:
          >>> import os, tempfile
          >>> import penstock as tf
          >>> path = os.path.join(tempfile.mkdtemp(), "saved")
          >>> tf.data.Dataset.range(3).save(path)
          >>> [int(x) for x in tf.data.Dataset.load(path)]
          [0, 1, 2]
        """
        if checkpoint_args:
            _check_checkpoint_args(checkpoint_args)
        _write_spec(path, self.element_spec)
        traced = _sharding(self, shard_func)
        attrs = {
            "shard_func": traced.body,
            "use_shard_func": shard_func is not None,
            "compression": compression or "",
        }
        folder = convert_to_tensor(os.fspath(path) if hasattr(path, "__fspath__") else path)
        if checkpoint_args:
            inputs = (self._variant_tensor, folder, traced.captured)
            saved = self._derived(SAVE_V2, inputs, self._structure, attrs)
            _save_with_checkpoints(iter(saved), dict(checkpoint_args))
            return None
        return execute(SAVE, (self._variant_tensor, folder, traced.captured), attrs)

    @staticmethod
    def load(
        path: Any,
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Callable[..., Any] | None = None,
        wait: bool = False,
    ) -> "Dataset":
        """The elements that `save` wrote to a folder.

        Args:
          path: the folder.
          element_spec: the structure of TypeSpecs of the elements; the folder says it.
          compression: that with which they were written.
          reader_func: takes a dataset of datasets, one for each shard, and returns a dataset of
            elements; by default the shards' elements alternate.
          wait: whether to wait until all elements are written.

        Raises:
          NotFoundError: nothing was saved there.

        Example:
          >>> import os, tempfile
          >>> import penstock as tf
          >>> path = os.path.join(tempfile.mkdtemp(), "saved")
          >>> tf.data.Dataset.from_tensors({"a": "x"}).save(path, compression="GZIP")
          >>> tf.data.Dataset.load(path, compression="GZIP").element_spec
          {'a': TensorSpec(shape=(), dtype=tf.string, name=None)}
        """
        folder = os.fspath(path) if hasattr(path, "__fspath__") else path
        if wait:
            _wait(folder)
        spec = _read_spec(folder) if element_spec is None else element_spec
        traced = _reading(spec, reader_func, "load")
        attrs = {"reader_func": traced.body, "compression": compression or ""}
        structure = Structure(spec)
        inputs = (convert_to_tensor(folder, dt.string), traced.captured)
        return made(LOAD, inputs, structure, {**structure.attrs, **attrs})  # type: ignore[no-any-return]

    def snapshot(
        self,
        path: Any,
        compression: str | None = "AUTO",
        reader_func: Callable[..., Any] | None = None,
        shard_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> "Dataset":
        """The same elements, which are made once and read from a folder after that.

        They are written while they are first gone through to the end. A dataset that is made of
        other operations or arguments has another folder below `path`; what Python functions do, and
        files that are read, make no difference.

        Args:
          path: the folder.
          compression: "AUTO", "GZIP", "ZLIB", "SNAPPY" or None.
          reader_func: takes a dataset of datasets, one for each shard, and returns a dataset of
            elements; by default the shards' elements alternate.
          shard_func: takes an element, returns int64[], the number of the shard it goes to.
          name: the operation's name in a graph.

        Example:
          >>> import tempfile
          >>> import penstock as tf
          >>> dataset = tf.data.Dataset.range(3).snapshot(tempfile.mkdtemp())
          >>> [int(x) for x in dataset], [int(x) for x in dataset]
          ([0, 1, 2], [0, 1, 2])
        """
        sharding = _sharding(self, shard_func)
        reading = _reading(self.element_spec, reader_func, "snapshot")
        folder = convert_to_tensor(os.fspath(path) if hasattr(path, "__fspath__") else path)
        attrs = {
            "reader_func": reading.body,
            "shard_func": sharding.body,
            "compression": compression or "",
        }
        inputs = (self._variant_tensor, folder, reading.captured, sharding.captured)
        return self._derived(SNAPSHOT, inputs, self._structure, attrs, name)  # type: ignore[no-any-return]


def _sharding(dataset: Any, function: Callable[..., Any] | None) -> Traced:
    def first_shard(*_: Any) -> Any:
        return convert_to_tensor(0, dt.int64)

    traced = trace(first_shard if function is None else function, [dataset._structure], "save")
    spec = traced.output.spec
    if not (isinstance(spec, TensorSpec) and spec.is_compatible_with(TensorSpec([], dt.int64))):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"`shard_func` must return a scalar int64, got {spec}. Cast what it returns.",
        )
    return traced


def _reading(spec: Any, function: Callable[..., Any] | None, what: str) -> Traced:
    def alternating(datasets: Any) -> Any:
        return in_turns(datasets, lambda dataset: dataset, processors())

    shards = Structure(DatasetSpec(DatasetSpec(spec)))
    chosen = alternating if function is None else function
    traced, structure = trace_dataset(chosen, shards, what)
    if structure.types != Structure(spec).types:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{what}: expected `reader_func` to return a dataset of elements like {spec}, got one"
            f" of {structure.spec}. Use flat_map or interleave on the datasets it is given.",
        )
    return traced


def _write_spec(path: Any, spec: Any) -> None:
    folder = files.local_path(path)
    files.makedirs(folder)
    data = structure_messages.encode(spec).SerializeToString(deterministic=True)
    chunks.replace_file(os.path.join(folder, chunks.SPEC), data)


def _read_spec(path: Any) -> Any:
    where = os.path.join(files.local_path(path), chunks.SPEC)
    if not os.path.exists(where):
        raise errors.NotFoundError(
            None,
            None,
            f"tf.data snapshot element_spec file not found: {where}. Expected a folder that"
            " Dataset.save wrote; or give element_spec.",
        )
    with files.translating(where), open(where, "rb") as file:
        data = file.read()
    try:
        message = proto.struct_pb2.StructuredValue.FromString(data)
        found = structure_messages.decode(message, where)
        Structure(found)  # of what has components, each leaf of it
        return found
    except (AttributeError, ValueError, TypeError, proto.message.DecodeError) as problem:
        raise errors.DataLossError(
            None, None, f"{where}: expected the structure of elements, got {problem}."
        ) from None


def _wait(path: Any) -> None:
    folder = files.local_path(path)
    while True:
        found = chunks.read_metadata(folder)
        if found is not None and found.finalized:
            return
        time.sleep(_POLL_SECONDS)


def _check_checkpoint_args(found: Any) -> None:
    if "checkpoint" in found:
        raise ValueError(
            "Invalid `checkpoint_args`. `checkpoint_args` are not allowed to include 'checkpoint':"
            " expected the other arguments of a CheckpointManager, got"
            f" {sorted(map(str, found))}. Leave it out; it is made here."
        )
    if state.graph is not None:
        raise RuntimeError(
            "save: expected `checkpoint_args` outside of graphs and functions, got them while a"
            " graph is built. Save eagerly, or leave them out."
        )


def _save_with_checkpoints(iterator: Any, args: dict[str, Any]) -> None:
    """Goes through what is saved, from the last checkpoint on, and makes checkpoints."""
    manager = managed({"iterator": iterator}, args)
    manager.restore_or_initialize()
    counter = args.get("step_counter")
    for _ in iterator:
        if counter is not None:
            counter.assign_add(1)
        manager.save(check_interval=True)


@deprecated("Use `tf.data.Dataset.save`.")
def save(
    dataset: Any,
    path: Any,
    compression: str | None = None,
    shard_func: Callable[..., Any] | None = None,
    checkpoint_args: Any = None,
) -> Any:
    """Writes all elements of a dataset to a folder; see `tf.data.Dataset.save`.

    Args:
      dataset: the dataset.
      path: the folder.
      compression: "GZIP", "ZLIB", "SNAPPY" or None.
      shard_func: takes an element, returns int64[], the number of the shard it goes to.
      checkpoint_args: the arguments of a CheckpointManager.
    """
    return dataset.save(path, compression, shard_func, checkpoint_args)


@deprecated("Use `tf.data.Dataset.load`.")
def load(
    path: Any,
    element_spec: Any = None,
    compression: str | None = None,
    reader_func: Callable[..., Any] | None = None,
) -> "Dataset":
    """The elements that `save` wrote to a folder; see `tf.data.Dataset.load`.

    Args:
      path: the folder.
      element_spec: the structure of TypeSpecs of the elements; the folder says it.
      compression: that with which they were written.
      reader_func: takes a dataset of datasets, and returns a dataset of elements.
    """
    return SavingMethods.load(path, element_spec, compression, reader_func)


@deprecated("Use `tf.data.Dataset.snapshot`.")
def snapshot(
    path: Any,
    compression: str | None = "AUTO",
    reader_func: Callable[..., Any] | None = None,
    shard_func: Callable[..., Any] | None = None,
) -> Callable[[Any], Any]:
    """`tf.data.Dataset.snapshot` as a function for `tf.data.Dataset.apply`.

    Args:
      path: the folder.
      compression: "AUTO", "GZIP", "ZLIB", "SNAPPY" or None.
      reader_func: takes a dataset of datasets, and returns a dataset of elements.
      shard_func: takes an element, returns int64[], the number of the shard it goes to.
    """

    def apply(dataset: Any) -> Any:
        return dataset.snapshot(path, compression, reader_func, shard_func)

    return apply
