"""The operations of a graph that save and restore, as a SaverDef names them."""

from collections.abc import Sequence
from typing import Any

from penstock import proto
from penstock.checkpoint.saveables import SaveableObject, VariableSaveable, shape_tensor
from penstock.checkpoint.state_files import V1, V2
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.graph.behavior import control_dependencies, device, name_scope_v1
from penstock.types import dtypes as dt


def build(
    saveables: Sequence[SaveableObject],
    *,
    sharded: bool,
    reshape: bool,
    sequential: bool,
    version: int,
    filename: str | None,
    name: str | None,
) -> Any:
    """Adds the operations to the default graph.

    Args:
      saveables: what is saved.
      sharded: whether every device writes files of its own.
      reshape: whether restored values take the variables' shapes.
      sequential: whether one restored value is assigned after the other.
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
        groups = _by_device(saveables) if sharded else [("", list(saveables))]
        saved = (
            _add_sharded(path, groups, version) if sharded else _add_save(path, saveables, version)
        )
        restores = [
            _add_restore(path, where, group, reshape, sequential) for where, group in groups
        ]
        restored = _join(restores, sharded)
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


def _add_writing(path: Any, saveables: Sequence[SaveableObject], version: int) -> Any:
    specs = [spec for each in saveables for spec in each.specs]
    names, parts = [s.name for s in specs], [s.slice_spec for s in specs]
    tensors = []
    for spec in specs:
        with device(spec.device):
            made = spec.tensor
            tensors.append(made if spec.is_made else execute("Identity", (made,)))
    dtypes = [tensor.dtype for tensor in tensors]
    if version == V1:
        return execute("SaveSlices", (path, names, parts, tensors), {"T": dtypes}, "save")
    return execute("SaveV2", (path, names, parts, tensors), {"dtypes": dtypes})


def _add_save(path: Any, saveables: Sequence[SaveableObject], version: int) -> Any:
    with control_dependencies([_add_writing(path, saveables, version)]):
        return execute("Identity", (path,), None, "control_dependency")


def _add_sharded(path: Any, groups: list[tuple[str, list[SaveableObject]]], version: int) -> Any:
    count = convert_to_tensor(len(groups), dt.int32, name="num_shards")
    names, done = [], []
    for number, (where, group) in enumerate(groups):
        with device(where):
            names.append(execute("ShardedFilename", (path, number, count)))
            done.append(_add_save(names[-1], group, version))
    with control_dependencies(done):
        if version == V1:
            return execute("ShardedFilespec", (path, count))
        merged = execute(
            "MergeV2Checkpoints",
            (execute("Pack", (names,), None, "MergeV2Checkpoints/checkpoint_prefixes"), path),
            {"delete_old_dirs": True},
        )
    with control_dependencies([merged]):
        return execute("Identity", (path,))


def _add_restore(
    path: Any, where: str, saveables: Sequence[SaveableObject], reshape: bool, sequential: bool
) -> list[Any]:
    """The assignments of a device."""
    specs = [spec for each in saveables for spec in each.specs]
    if not specs:
        return []
    parts = [
        each.whole if not reshape and not s.slice_spec and isinstance(each, VariableSaveable)
        else s.slice_spec
        for each in saveables
        for s in each.specs
    ]  # fmt: skip
    with device(where or "cpu:0"):
        inputs = (path, [s.name for s in specs], parts)
        values = execute("RestoreV2", inputs, {"dtypes": [s.dtype for s in specs]})
    assigned: list[Any] = []
    at = 0
    for each in saveables:
        own = list(values[at : at + len(each.specs)])
        at += len(each.specs)
        with control_dependencies(assigned[-1:] if sequential else []):
            assigned.append(each.restore(own, shape_tensor(each) if reshape else None))
    return assigned


def _join(restores: list[list[Any]], sharded: bool) -> Any:
    if not sharded:
        with control_dependencies(restores[0]):
            return execute("NoOp", (), None, "restore_all")
    shards = []
    for group in restores:
        with control_dependencies(group):
            shards.append(execute("NoOp", (), None, "restore_shard"))
    with control_dependencies(shards):
        return execute("NoOp", (), None, "restore_all")


VERSIONS = (V1, V2)
