"""Checkpoints of objects, restored by the names that their variables had.

A checkpoint of `tf.train.Checkpoint` says for each variable its name too. A Saver whose names it
does not have as keys finds the keys by them. Its operations stay: what they would read is fed.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from penstock import errors
from penstock.checkpoint.restoring import read_object_graph
from penstock.config.logging import get_logger
from penstock.core.bundle import slices
from penstock.core.bundle.single_file import open_checkpoint
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation
from penstock.graph.static_values import constant_value

Array = Any  # numpy.ndarray


def keys_by_name(contents: Any) -> dict[str, str] | None:
    """The keys of a checkpoint's values by the names of their variables; None if it has no objects.

    Args:
      contents: an open checkpoint.
    """
    message = read_object_graph(contents)
    if message is None:
        return None
    attributes = [each for node in message.nodes for each in node.attributes]
    return {a.full_name: a.checkpoint_key for a in attributes if a.full_name}


def checked_keys(contents: Any, names: Iterable[str]) -> Mapping[str, str] | None:
    """As `keys_by_name`, for a Saver of these names.

    Raises:
      NotFoundError: names are missing; it says which, and which of the checkpoint are left.
    """
    known = keys_by_name(contents)
    if known is None:
        return None
    wanted = set(names)
    missing = sorted(n for n in wanted if n not in known)
    if missing:
        left = sorted(n for n in known if n not in wanted)
        raise errors.NotFoundError(
            None,
            None,
            f"Saver: {contents.path} holds objects, and was to be restored by the names of"
            f" variables: expected {missing[:9]}, got a checkpoint whose other variables are"
            f" {left[:9]} ({len(wanted) - len(missing)} names are in both). Restore it with"
            " tf.train.Checkpoint, or name the variables as they were named.",
        )
    get_logger().warning(
        "%s holds objects, and is restored by the names that their variables had. Use"
        " tf.train.Checkpoint to restore it by objects.",
        contents.path,
    )
    return known


def values_to_feed(graph: Graph, restore_op: str, path: str) -> dict[Any, Array] | None:
    """What a Saver's operations would read, by tensor; None if the checkpoint has no objects.

    Args:
      graph: that of the operations.
      restore_op: the name of the one that restores all.
      path: the checkpoint's prefix.

    Raises:
      NotFoundError: a name is missing.
    """
    reads = _reads_of(graph.get_operation_by_name(restore_op))
    plans = [_names_and_slices(op) for op in reads]
    with open_checkpoint(path) as contents:
        keys = checked_keys(contents, [name for names, _ in plans for name in names])
        if keys is None:
            return None
        found: dict[Any, Array] = {}
        for op, (names, parts) in zip(reads, plans, strict=True):
            for tensor, name, part in zip(op.outputs, names, parts, strict=True):
                found[tensor] = _read(contents, keys[name], part, tensor)
    return found


def _reads_of(op: Operation) -> list[Operation]:
    """The operations that read a checkpoint, of those that `op` needs."""
    found: dict[int, Operation] = {}
    seen: set[int] = set()
    left = [op]
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if each.type == "RestoreV2":
            found[id(each)] = each
        left += [t.op for t in each.inputs]
        left += each.control_inputs
    return list(found.values())


def _names_and_slices(op: Operation) -> tuple[list[str], list[str]]:
    names, parts = (constant_value(t) for t in op.inputs[1:3])
    if names is None or parts is None:
        raise errors.UnimplementedError(
            None,
            op,
            f"{op.name}: expected names that are constants of the graph, to restore a checkpoint"
            " of objects by them, got computed ones. Restore it with tf.train.Checkpoint.",
        )
    return _texts(names), _texts(parts)


def _texts(names: Any) -> list[str]:
    """As text; bytes that are none, of a damaged graph, are shown as they are."""
    return [name.decode(errors="backslashreplace") for name in names.reshape(-1).tolist()]


def _read(contents: Any, key: str, part: str, tensor: Any) -> Array:
    dtype = contents.info(key).dtype
    if dtype is not tensor.dtype:
        raise errors.InvalidArgumentError(
            None,
            tensor.op,
            f"{contents.path}, tensor '{key}': expected dtype {tensor.dtype.name}, got"
            f" {dtype.name}. Give the variable that dtype.",
        )
    if part:
        return contents.read_slice(key, *slices.parse_spec(part))
    return contents.read(key)


__all__ = ["checked_keys", "keys_by_name", "values_to_feed"]
