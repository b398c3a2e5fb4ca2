"""Datasets that are dealt out to workers: what a distribution puts behind a pipeline.

By data, every so-manieth element is a worker's. By file, every so-manieth file is: the datasets
that read files read others, and where a function makes them of names, the names are dealt out. That
is done where all sources are such, and nothing above them depends on all elements. A pipeline of
which a part changes is made again above it; descriptions stay as they are.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any

from penstock import errors
from penstock.core.kernels import host_kernel
from penstock.core.op_def import OpDef
from penstock.data.choosing import AssertCardinality
from penstock.data.file_stage import Files
from penstock.data.nesting import Interleave
from penstock.data.operations import HOST, TYPES, dataset_op, held, number
from penstock.data.options import AutoShardPolicy
from penstock.data.selecting import SHARD_HINT, Shard
from penstock.data.stages import Array, Description
from penstock.graph.body import CallBody

_READERS = frozenset(
    name + version
    for name in (
        "FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset",
    )
    for version in ("", "V2")
)  # fmt: skip
_OF_ALL = frozenset({  # of fewer files they would give what is no part of what they give
    "DirectedInterleaveDataset", "GroupByReducerDataset", "GroupByWindowDataset",
    "IgnoreErrorsDataset", "SaveDatasetV2", "ScanDataset", "SnapshotDatasetV2", "TakeWhileDataset",
    "UniqueDataset",
})  # fmt: skip
Change = Callable[[Description], Description | None]  # what stands for it; None to look below it


def changed(description: Description, change: Change) -> Description:
    """A dataset in which others stand for parts of it.

    Args:
      description: the dataset.
      change: what stands for a part, which is not looked into then.
    """
    found = change(description)
    if found is not None:
        return found
    inputs = [changed(each, change) for each in description.inputs]
    if all(a is b for a, b in zip(inputs, description.inputs, strict=True)):
        return description
    return _over(inputs, description)


def _over(inputs: Sequence[Description], description: Description) -> Description:
    """The same of other inputs."""
    made = copy.copy(description)
    made.inputs = tuple(inputs)
    made.origin = None  # it is not what that operation makes
    return made


def by_data(description: Description, count: int, index: int) -> Description:
    """Every so-manieth element."""
    return Shard(description, count, index, False, description.types, description.shapes)


def by_file(description: Description, count: int, index: int) -> Description | None:
    """The same of every so-manieth file; None where other sources than files are read, too."""
    if isinstance(description, Files):
        return _of_files(description, count, index)
    if isinstance(description, Interleave) and _reads_files(description.function.body):
        source = description.inputs[0]
        names = Shard(source, count, index, True, source.types, source.shapes)
        return _over([names], description)
    if description.kind in _OF_ALL:
        return None
    parts = [by_file(each, count, index) for each in description.inputs]
    found = [part for part in parts if part is not None]
    if not found or len(found) < len(parts):
        return None
    if isinstance(description, AssertCardinality):  # the number is that of all
        return found[0]
    return _over(found, description)


def _of_files(part: Files, count: int, index: int) -> Description:
    if len(part.paths) < count:
        raise errors.InvalidArgumentError(
            None,
            None,
            "Could not apply FILE based sharding: the dataset only has"
            f" {len(part.paths)} file(s), expected at least one for each of {count} workers. Use"
            " AutoShardPolicy.DATA, or more files.",
        )
    made = copy.copy(part)
    made.paths, made.origin = part.paths[index::count], None
    made.starts = part.starts[index::count]
    return made


def _reads_files(body: CallBody) -> bool:
    return any(op.type in _READERS for op in body.graph.get_operations())


def by_hint(description: Description, count: int, index: int) -> Description:
    """The same with every `shard(SHARD_HINT, ...)` that of a worker."""

    def change(part: Description) -> Description | None:
        if not isinstance(part, Shard) or part.count != SHARD_HINT:
            return None
        source = changed(part.inputs[0], change)
        return Shard(source, count, index, part.non_empty, part.types, part.shapes)

    return changed(description, change)


def auto_sharded(
    description: Description, count: int, index: int, policy: AutoShardPolicy
) -> Description:
    """What a worker is dealt.

    Args:
      description: the dataset of all.
      count: how many workers there are.
      index: which one it is.
      policy: how it is divided.

    Raises:
      NotFoundError: it is to be divided by file, and reads none.
      InvalidArgumentError: there are fewer files than workers.
    """
    if policy == AutoShardPolicy.OFF:
        return description
    if policy == AutoShardPolicy.HINT:
        return by_hint(description, count, index)
    if policy == AutoShardPolicy.DATA:
        return by_data(description, count, index)
    found = by_file(description, count, index)
    if found is not None:
        return found
    if policy == AutoShardPolicy.FILE:
        raise errors.NotFoundError(
            None,
            None,
            "Found an unshardable source dataset: AutoShardPolicy.FILE expects one that reads"
            f" files, got {description!r}. Use AutoShardPolicy.DATA.",
        )
    return by_data(description, count, index)


def _define(name: str, more: str = "") -> OpDef:
    return dataset_op(
        f"{name}(input_dataset: variant, num_workers: int64, index: int64; auto_shard_policy: int ="
        f" 0, {TYPES}{more}) -> handle: variant",
        "What one of several workers is dealt of a dataset.",
    )


AUTO_SHARD = _define("AutoShardDataset", ", num_replicas: int = 0")
OLD_AUTO_SHARD = _define("ExperimentalAutoShardDataset")


@host_kernel(AUTO_SHARD, limit=HOST)
@host_kernel(OLD_AUTO_SHARD, limit=HOST)
def _auto_shard(
    input_dataset: Array, num_workers: Array, index: Array, *, auto_shard_policy: int,
    output_types: Sequence[Any], output_shapes: Sequence[Any],
) -> Description:  # fmt: skip
    del output_types, output_shapes  # those of the input
    count, which = number(num_workers), number(index)
    if count <= 0:
        raise errors.InvalidArgumentError(
            None, None, f"num_workers must be greater than zero, got {count}."
        )
    if not 0 <= which < count:
        raise errors.InvalidArgumentError(
            None, None, f"index must be between 0 and {count - 1}, got {which}."
        )
    try:
        policy = AutoShardPolicy(auto_shard_policy)
    except ValueError:
        known = ", ".join(f"{p.name} = {p.value}" for p in AutoShardPolicy)
        raise errors.InvalidArgumentError(
            None,
            None,
            f"AutoShardDataset: expected an auto_shard_policy of {known}, got {auto_shard_policy}.",
        ) from None
    return auto_sharded(held(input_dataset), count, which, policy)
