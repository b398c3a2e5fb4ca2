"""The operations of a graph that save and restore, as a SaverDef names them.

Names, devices and inputs are those of TensorFlow's savers: programs fetch and feed them by name.
"""

from collections.abc import Sequence
from typing import Any

from penstock import proto
from penstock.checkpoint.saveables import SaveableObject, shape_tensors
from penstock.checkpoint.state_files import V1, V2
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.graph.behavior import colocate_with, control_dependencies, device, name_scope_v1
from penstock.ops.grouping import group
from penstock.types import dtypes as dt
from penstock.types.device_spec import DeviceSpecV2

VERSIONS = (V1, V2)
_PARTS = "_temp/part"  # what the prefixes of shards end in while they are written
_REMOTE, _REMOTE_PARTS = "^s3://.*", ".part"  # where files cannot be renamed into another folder


def build(
    saveables: Sequence[SaveableObject],
    *,
    sharded: bool,
    reshape: bool,
    version: int,
    filename: str | None,
    name: str | None,
) -> Any:
    """Adds the operations to the default graph.

    Args:
      saveables: what is saved.
      sharded: whether every device writes files of its own.
      reshape: whether restored values take the variables' shapes.
      version: V1 or V2.
      filename: the path when none is fed; "model" by default.
      name: the name scope; "save" by default.

    Returns:
      A SaverDef with the names of the operations.
    """
    with name_scope_v1(name, "save"):
        default = convert_to_tensor(filename or "model", dt.string, name="filename/input")
        given = execute("PlaceholderWithDefault", (default,), {"shape": ()}, "filename")
        path = execute("PlaceholderWithDefault", (given,), {"shape": ()}, "Const")
        if sharded:
            groups = _by_device(saveables)
            saved = (_add_shards_v1 if version == V1 else _add_shards)(path, groups)
            restored = _restore_shards(path, groups, reshape)
        else:
            saved = _add_save(path, saveables, version)
            restored = group(*_add_restore(path, saveables, reshape), name="restore_all")
    return proto.saver_pb2.SaverDef(
        filename_tensor_name=path.name,
        save_tensor_name=saved.name,
        restore_op_name=restored.name,
        sharded=sharded,
        version=version,  # type: ignore[arg-type]  # enum fields take plain numbers
    )


def _by_device(saveables: Sequence[SaveableObject]) -> list[tuple[str, list[SaveableObject]]]:
    groups: dict[str, list[SaveableObject]] = {}
    for each in saveables:
        groups.setdefault(each.device, []).append(each)
    return sorted(groups.items())


def _host_of(where: str) -> str:
    """The first CPU of the task that a device belongs to; files are read and written there."""
    return DeviceSpecV2.from_string(where).replace(device_type="CPU", device_index=0).to_string()


# Saving.


def _add_writing(path: Any, saveables: Sequence[SaveableObject], version: int) -> Any:
    specs = [spec for each in saveables for spec in each.specs]
    names, parts = [s.name for s in specs], [s.slice_spec for s in specs]
    tensors = [spec.tensor for spec in specs]
    dtypes = [tensor.dtype for tensor in tensors]
    if version == V1:
        return execute("SaveSlices", (path, names, parts, tensors), {"T": dtypes}, "save")
    return execute("SaveV2", (path, names, parts, tensors), {"dtypes": dtypes})


def _add_save(path: Any, saveables: Sequence[SaveableObject], version: int) -> Any:
    written = _add_writing(path, saveables, version)
    with control_dependencies([written]), colocate_with(path):
        return execute("Identity", (path,), None, "control_dependency")


def _add_shards(path: Any, groups: list[tuple[str, list[SaveableObject]]]) -> Any:
    """Shards go to a folder beside the checkpoint first, and become one bundle when all are there.

    The choice of the folder stands in the graph because the path is known when it runs.
    """
    with device("CPU"):
        is_remote = execute("StaticRegexFullMatch", (path,), {"pattern": _REMOTE})
        ends = [convert_to_tensor(end, dt.string) for end in (_REMOTE_PARTS, _PARTS)]
        suffix = execute("Select", (is_remote, *ends))
        temporary = execute("StringJoin", ([path, suffix],))
    count = convert_to_tensor(len(groups), dt.int32, name="num_shards")
    names, done = [], []
    for number, (where, saved) in enumerate(groups):
        with device(_host_of(where)):
            names.append(execute("ShardedFilename", (temporary, number, count)))
            done.append(_add_save(names[-1], saved, V2))
    with control_dependencies(done), device(_host_of(groups[-1][0])):
        prefixes = execute("Pack", (names,), None, "MergeV2Checkpoints/checkpoint_prefixes")
        merged = execute("MergeV2Checkpoints", (prefixes, path), {"delete_old_dirs": True})
        with control_dependencies([merged]):
            return execute("Identity", (path,))


def _add_shards_v1(path: Any, groups: list[tuple[str, list[SaveableObject]]]) -> Any:
    count = convert_to_tensor(len(groups), dt.int32, name="num_shards")
    done = []
    for number, (where, saved) in enumerate(groups):
        with device(where):
            shard = execute("ShardedFilename", (path, number, count))
            done.append(_add_save(shard, saved, V1))
    with control_dependencies(done):
        return execute("ShardedFilespec", (path, count))


# Restoring.


def _add_restore(path: Any, saveables: Sequence[SaveableObject], reshape: bool) -> list[Any]:
    """The assignments of a device."""
    specs = [spec for each in saveables for spec in each.specs]
    with device("CPU:0"):
        inputs = (path, [s.name for s in specs], [s.slice_spec for s in specs])
        values = execute("RestoreV2", inputs, {"dtypes": [s.dtype for s in specs]})
    assigned: list[Any] = []
    at = 0
    for each in saveables:
        own = list(values[at : at + len(each.specs)])
        at += len(each.specs)
        assigned.append(each.restore(own, shape_tensors(each) if reshape else None))
    return assigned


def _restore_shards(
    path: Any, groups: list[tuple[str, list[SaveableObject]]], reshape: bool
) -> Any:
    shards = []
    for where, saved in groups:
        with device(where):
            shards.append(group(*_add_restore(path, saved, reshape), name="restore_shard"))
    return group(*shards, name="restore_all")
