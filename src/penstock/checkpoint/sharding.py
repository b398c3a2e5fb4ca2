"""Checkpoints cut into several data files, as a callback decides.

A callback gets all tensors as `ShardableTensor`s and returns, for each data file, a dictionary:
{key of the checkpoint: {slice: tensor}}. A slice is empty text for the whole tensor, else its shape
and what part it is, as `4 10 0,2:-` for the first two rows of [4, 10].
"""

import abc
import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.bundle import slices
from penstock.core.bundle.merge import merge_bundles
from penstock.core.bundle.paths import data_paths, index_path, temporary
from penstock.core.bundle.writer import BundleWriter
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import host_array, wrap
from penstock.types.device_spec import DeviceSpec
from penstock.types.dtypes import DType
from penstock.types.tensor_shape import TensorShape

Shard = Mapping[str, Mapping[str, Any]]  # key -> slice -> tensor
_HOST = "/job:localhost/replica:0/task:0/device:CPU:0"


@dataclasses.dataclass(frozen=True, eq=False)
class ShardableTensor:
    """A tensor that a checkpoint saves.

    Args:
      tensor: its value.
      dtype: its dtype.
      device: where it is, a DeviceSpec.
      name: its name.
      shape: its shape, a TensorShape.
      slice_spec: which part of a tensor it is: empty text, the whole.
      checkpoint_key: its key in the checkpoint.
      trackable: the object that it belongs to; None for what describes the checkpoint.
    """

    tensor: Any
    dtype: DType
    device: Any
    name: str
    shape: TensorShape
    slice_spec: Any
    checkpoint_key: str
    trackable: Any = None


class ShardingCallback(abc.ABC):
    """Decides which tensors go to which data file of a checkpoint.

    Example:
      >>> class OneEach(tf.train.experimental.ShardingCallback):
      ...     @property
      ...     def description(self):
      ...         return "a data file for each tensor"
      ...     def __call__(self, shardable_tensors):
      ...         return [{t.checkpoint_key: {"": t.tensor}} for t in shardable_tensors]
      >>> OneEach().description
      'a data file for each tensor'
    """

    @property
    @abc.abstractmethod
    def description(self) -> str:
        """What it does, in a few words."""

    @abc.abstractmethod
    def __call__(self, shardable_tensors: Sequence[ShardableTensor]) -> Sequence[Shard]:
        """The data files, each a dictionary: key -> slice -> tensor."""


class ShardByTaskPolicy(ShardingCallback):
    """A data file for each task: one here, where a process saves what it holds."""

    @property
    def description(self) -> str:
        """What it does."""
        return "Split tensors into shards based on their device spec task."

    def __call__(self, shardable_tensors: Sequence[ShardableTensor]) -> Sequence[Shard]:
        """The data files."""
        tasks: dict[Any, dict[str, dict[str, Any]]] = {}
        for each in shardable_tensors:
            device = each.device
            shard = tasks.setdefault((device.job, device.replica, device.task), {})
            shard.setdefault(each.checkpoint_key, {})[""] = each.tensor
        return list(tasks.values())


class MaxShardSizePolicy(ShardingCallback):
    """Data files of at most some bytes; larger tensors are cut along their longest axes.

    A single element that is larger, and a tensor of strings, has a file of its own.

    Args:
      max_shard_size: bytes, from 1.

    Raises:
      ValueError: it is not positive.
    """

    def __init__(self, max_shard_size: int) -> None:
        if max_shard_size < 1:
            raise ValueError(
                "tf.train.experimental.MaxShardSizePolicy: expected max_shard_size from 1, got "
                f"{max_shard_size}. Give it in bytes."
            )
        self.max_shard_size = max_shard_size

    @property
    def description(self) -> str:
        """What it does."""
        return "Split tensors into shards with a max shard size."

    def __call__(self, shardable_tensors: Sequence[ShardableTensor]) -> Sequence[Shard]:
        """The data files."""
        shards: list[dict[str, dict[str, Any]]] = [{}]
        room = self.max_shard_size
        for each in shardable_tensors:
            array = host_array(each.tensor)
            parts = [tuple((0, slices.WHOLE) for _ in array.shape)]
            if _size(array) > self.max_shard_size and array.dtype != object:
                parts = _cut(array.shape, array.itemsize, self.max_shard_size)
            for part in parts:
                value, spec = each.tensor, ""
                if len(parts) > 1:
                    value = wrap(array[_index(part)].copy(), each.dtype)
                    spec = f"{' '.join(map(str, array.shape))} {slices.slice_text(part)}"
                size = _size(host_array(value))
                if size > room and shards[-1]:
                    shards.append({})
                    room = self.max_shard_size
                room -= size
                shards[-1].setdefault(each.checkpoint_key, {})[spec] = value
        return shards


def _size(array: Any) -> int:
    if array.dtype != object:
        return int(array.nbytes)
    return sum(len(text) for text in array.reshape(-1).tolist())


def _index(part: slices.Slice) -> tuple[slice, ...]:
    return tuple(
        slice(None) if length == slices.WHOLE else slice(start, start + length)
        for start, length in part
    )


def _cut(shape: tuple[int, ...], itemsize: int, most: int) -> list[slices.Slice]:
    """Parts of a shape of at most so many bytes, or of one element."""
    sizes = list(shape)
    while math.prod(sizes) * itemsize > most and max(sizes, default=1) > 1:
        axis = sizes.index(max(sizes))
        layer = math.prod(sizes) // sizes[axis] * itemsize
        sizes[axis] = max(most // layer, 1)
    found: list[slices.Slice] = [()]
    for whole, size in zip(shape, sizes, strict=True):
        starts = range(0, whole, size)
        pieces = [
            (0, slices.WHOLE) if size == whole else (at, min(size, whole - at)) for at in starts
        ]
        found = [(*part, piece) for part in found for piece in pieces]
    return found


def write_sharded(
    prefix: str, values: Sequence[tuple[str, Any, DType]], owners: Sequence[Any], callback: Any
) -> None:
    """Writes a bundle whose data files a callback chooses.

    Args:
      prefix: its prefix.
      values: key, array and dtype of each tensor.
      owners: the objects that these belong to, None for none.
      callback: a ShardingCallback.

    Raises:
      ValueError: the callback left out tensors or parts, or gave others.
      NotFoundError, PermissionDeniedError, ResourceExhaustedError: the files cannot be written.
    """
    tensors = []
    for (key, array, dtype), owner in zip(values, owners, strict=True):
        value = wrap(np.asarray(array), dtype)
        tensors.append(
            ShardableTensor(
                value, dtype, DeviceSpec.from_string(_HOST), key, value.shape, "", key, owner
            )
        )
    shards = [shard for shard in callback(tensors) if shard]
    _check(shards, tensors, callback)
    dtypes = {each.checkpoint_key: each.dtype for each in tensors}
    parts = [temporary(prefix) for _ in shards]
    try:
        for part, shard in zip(parts, shards, strict=True):
            _write(part, shard, dtypes)
        merge_bundles(parts, prefix, delete_folders=False)
    finally:
        for part in parts:
            for path in (index_path(part), *data_paths(part)):
                if os.path.exists(path):
                    os.remove(path)


def _write(prefix: str, shard: Shard, dtypes: Mapping[str, DType]) -> None:
    writer = BundleWriter(prefix)
    for key, pieces in shard.items():
        for spec, value in pieces.items():
            array = host_array(convert_to_tensor(value, dtypes[key]))
            if spec:
                shape, slice_ = slices.parse_spec(spec)
                writer.add_slice(key, shape, slice_, array, dtypes[key])
            else:
                writer.add(key, array, dtypes[key])
    writer.finish()


def _check(shards: Sequence[Shard], tensors: Sequence[ShardableTensor], callback: Any) -> None:
    """Refuses data files that do not hold each tensor once."""
    given: dict[str, int] = {}
    for shard in shards:
        for key, pieces in shard.items():
            for value in pieces.values():
                given[key] = given.get(key, 0) + math.prod(value.shape.as_list())
    wanted = {each.checkpoint_key: each.shape.num_elements() for each in tensors}
    if given == wanted:
        return
    wrong = sorted(k for k in given.keys() | wanted.keys() if given.get(k) != wanted.get(k))
    raise ValueError(
        errors.located(
            f"experimental_sharding_callback {type(callback).__name__}",
            "each of the tensors it was given, whole or in parts, once",
            f"{given.get(wrong[0], 0)} elements of '{wrong[0]}', which has "
            f"{wanted.get(wrong[0], 0)}",
            "Return {tensor.checkpoint_key: {'': tensor.tensor}} for each.",
        )
    )
