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


Box = tuple[tuple[int, int], ...]  # start and length along each axis


class MaxShardSizePolicy(ShardingCallback):
    """Data files of at most some bytes, each filled as far as cuts along one axis allow.

    An element that is larger, and strings that are, have a file of their own after the others. What
    describes the checkpoint is not counted.

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
        filling = _Filling(self.max_shard_size)
        for each in shardable_tensors:
            filling.add(each, host_array(each.tensor))
        return filling.shards + filling.alone


class _Filling:
    """Data files while they are filled, one after the other."""

    def __init__(self, most: int) -> None:
        self.shards: list[dict[str, dict[str, Any]]] = [{}]
        self.alone: list[dict[str, dict[str, Any]]] = []
        self._most = self._room = most

    def add(self, each: ShardableTensor, array: Any) -> None:
        """Puts a tensor into the file under way, and as many more as it needs."""
        key, size = each.checkpoint_key, _size(array)
        if each.trackable is None or size == 0:
            self._put(key, "", each.tensor, 0)
        elif size > self._most and (array.dtype == object or array.size == 1):
            self.alone.append({key: {"": each.tensor}})
        elif size <= self._room or array.dtype == object or array.size == 1:
            if size > self._room:
                self._next()
            self._put(key, "", each.tensor, size)
        else:
            self._add_cut(each, array)

    def _add_cut(self, each: ShardableTensor, array: Any) -> None:
        boxes: list[Box] = [tuple((0, length) for length in array.shape)]
        while boxes:
            box = boxes.pop()
            lengths = [length for _, length in box]
            size = math.prod(lengths) * array.itemsize
            cut = None if size <= self._room else _cut(lengths, array.itemsize, self._room)
            if size <= self._room:
                self._put(each.checkpoint_key, *_part(each, array, box), size)
            elif cut is not None:
                boxes += reversed(_split(box, *cut))
            elif self._room < self._most:
                boxes.append(box)
                self._next()
            elif size == array.itemsize:
                spec, value = _part(each, array, box)
                self.alone.append({each.checkpoint_key: {spec: value}})
            else:  # no layer fits a file of its own: TensorFlow never ends here
                boxes += reversed(_split(box, lengths.index(max(lengths)), 1))

    def _put(self, key: str, spec: str, value: Any, size: int) -> None:
        self.shards[-1].setdefault(key, {})[spec] = value
        self._room -= size

    def _next(self) -> None:
        self.shards.append({})
        self._room = self._most


def _size(array: Any) -> int:
    if array.dtype != object:
        return int(array.nbytes)
    return sum(len(text) for text in array.reshape(-1).tolist())


def _part(each: ShardableTensor, array: Any, box: Box) -> tuple[str, Any]:
    """The slice of a box as text, empty for the whole, and what is in it."""
    if all(length == whole for (_, length), whole in zip(box, array.shape, strict=True)):
        return "", each.tensor
    spec = [
        (0, slices.WHOLE) if length == whole else (start, length)
        for (start, length), whole in zip(box, array.shape, strict=True)
    ]
    index = tuple(slice(start, start + length) for start, length in box)
    text = f"{' '.join(map(str, array.shape))} {slices.slice_text(tuple(spec))}"
    return text, wrap(array[index].copy(), each.dtype)


def _cut(lengths: Sequence[int], itemsize: int, room: int) -> tuple[int, int] | None:
    """The axis to cut, and after how many layers; None when no axis is long enough.

    TensorFlow's rule, found by asking it: the fewest equal parts of which one fits, along the first
    axis that has so many layers.
    """
    total = math.prod(lengths) * itemsize
    fewest = -(-total // room) if room else total + 1
    for parts in range(fewest, max(lengths) + 1):
        for axis, length in enumerate(lengths):
            count = -(-length // parts)
            if length >= parts and total // length * count <= room:
                return axis, count
    return None


def _split(box: Box, axis: int, count: int) -> list[Box]:
    """A box in two: so many layers along an axis, and the rest."""
    start, length = box[axis]
    pieces = ((start, count), (start + count, length - count))
    return [(*box[:axis], piece, *box[axis + 1 :]) for piece in pieces if piece[1]]


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
