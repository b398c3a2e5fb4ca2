"""Operations that wait for others: `group` for all of them, `tuple_` for all before each value."""

import contextlib
from collections.abc import Sequence
from typing import Any

from penstock.core.composite import IndexedSlices
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.graph.default_graph import get_default_graph
from penstock.ops.array_basics import identity
from penstock.ops.array_identity import no_op
from penstock.util import nest


def group(*inputs: Any, **kwargs: Any) -> Any:
    """An operation that is done when all inputs are.

    Inputs of several devices are waited for by one operation on each of these.

    Args:
      *inputs: tensors and operations, or structures of them.
      **kwargs: `name`: the name in a graph.

    Returns:
      An Operation, or None when operations run eagerly.

    Raises:
      TypeError, ValueError: an input is no tensor and no operation, or an unknown keyword is given.
    """
    if state.graph is None:
        return None
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"group: expected no keyword but 'name', got {sorted(kwargs)}.")
    name = "group_deps" if name is None else name
    graph = get_default_graph()
    by_device: dict[str, list[Any]] = {}
    for item in nest.flatten(inputs, expand_composites=True):
        by_device.setdefault(_device_of(item), []).append(item)
    if len(by_device) < 2:
        return _waiting(by_device, name)[0] if by_device else no_op(name)
    with graph.name_scope(name) as scope:
        each = _waiting(by_device, None)
    with graph.control_dependencies(each):
        return no_op(scope)


def _waiting(by_device: dict[str, list[Any]], name: str | None) -> list[Any]:
    """For each device an operation that waits for what is on it."""
    graph = get_default_graph()
    made = []
    for device in sorted(by_device):
        with graph.device(device), graph.control_dependencies(by_device[device]):
            made.append(no_op(name))
    return made


def _device_of(item: Any) -> str:
    if not hasattr(item, "device") or not hasattr(item, "name"):
        raise TypeError(
            f"group: expected tensors and operations, got {item!r} of type {type(item).__name__}."
            " Leave out what is None, and convert values to tensors."
        )
    return str(item.device)


def tuple_(
    tensors: Sequence[Any], control_inputs: Any = None, name: str | None = None
) -> list[Any]:
    """The tensors, each of which is available only when all are.

    Args:
      tensors: tensors, values that convert, composite tensors, operations or None. Only the values
        of IndexedSlices and sparse tensors are waited for.
      control_inputs: tensors and operations to wait for too.
      name: a scope for the operations made.

    Returns:
      A list like `tensors`; `tensors` itself when operations run eagerly.

    Raises:
      ValueError: there is no tensor among `tensors`.
      TypeError: one of them does not convert; a control input is no tensor and no operation.
    """
    if state.graph is None:
        return tensors  # type: ignore[return-value]  # a tuple stays one
    graph = get_default_graph()
    with graph.name_scope(name or "tuple"):
        values = [_as_value(t) for t in tensors]
        waited = [_end_of(v) for v in values if v is not None]
        if not waited:
            raise ValueError(f"tuple: expected at least one Tensor or Operation, got {tensors!r}.")
        gate = group(*waited, *map(_control_input, control_inputs or ()))
        return [None if value is None else _gated(value, gate) for value in values]


def tuple_v1(
    tensors: Sequence[Any], name: str | None = None, control_inputs: Any = None
) -> list[Any]:
    """The tensors, each of which is available only when all are; see `tf.tuple`."""
    return tuple_(tensors, control_inputs, name)


def _is_operation(item: Any) -> bool:
    return hasattr(item, "op_def")


def _as_value(item: Any) -> Any:
    known = item is None or _is_operation(item) or hasattr(item, "op") or _is_composite(item)
    return item if known else convert_to_tensor(item)


def _is_composite(item: Any) -> bool:
    return hasattr(item, "_type_spec") and not hasattr(item, "op")


def _end_of(value: Any) -> Any:
    """What to wait for: an operation, or all parts of a composite tensor that has none."""
    return getattr(value, "op", value)


def _control_input(item: Any) -> Any:
    if _is_operation(item):
        return item
    if not hasattr(item, "op") or hasattr(item, "handle"):
        raise TypeError(
            f"tuple: expected a Tensor or Operation as control input, got {item!r} of type "
            f"{type(item).__name__}. Pass an operation that writes or reads it."
        )
    return item.op


def _gated(value: Any, gate: Any) -> Any:
    """The value, or an operation that ends after it, once `gate` is done."""
    graph = get_default_graph()
    if _is_operation(value):
        with graph.control_dependencies([gate]):
            return group(value)
    place = getattr(value, "op", None)
    with graph.name_scope("control_dependency") as scope, _beside(graph, place):
        with graph.control_dependencies([gate]):
            if isinstance(value, IndexedSlices):
                values = identity(value.values, scope)
                return IndexedSlices(values, value.indices, value.dense_shape)
            return identity(value, scope)


def _beside(graph: Any, op: Any) -> contextlib.AbstractContextManager[None]:
    """Where `op` is; a composite tensor without one is where its parts go."""
    return contextlib.nullcontext() if op is None else graph.colocate_with(op)


__all__ = ["group", "tuple_", "tuple_v1"]
