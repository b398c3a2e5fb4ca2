"""The scopes that a graph keeps while it is built: names, devices, control inputs, colocation.

Each is a stack of one thread's frames over one graph; the graph asks them what a new operation
gets.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.types.device_spec import DeviceSpecV2
from penstock.util.names import OP_NAME, SCOPE_NAME, UniqueNames

if TYPE_CHECKING:
    from penstock.graph.operation import Operation


def _matches(pattern: re.Pattern[str], name: str) -> bool:
    if not isinstance(name, str):
        raise TypeError(f"expected text as a name, got {name!r} of type {type(name).__name__}")
    return pattern.fullmatch(name) is not None


def check_node_name(name: str, prefix: str) -> None:
    """Refuses what cannot be the name of an operation inside the scope `prefix`.

    Raises:
      TypeError: it is no text.
      ValueError: it has a character that names cannot have there.
    """
    if not _matches(SCOPE_NAME if prefix else OP_NAME, name):
        raise ValueError(
            f"`{name}` is not a valid node name. Accepted names conform to Regex"
            f" /{OP_NAME.pattern}/"
        )


def check_name(name: str, prefix: str) -> None:
    """Refuses what cannot be the name of a scope inside the scope `prefix`, as above."""
    pattern, kind = (SCOPE_NAME, "scope") if prefix else (OP_NAME, "root scope")
    if not _matches(pattern, name):
        raise ValueError(
            f"'{name}' is not a valid {kind} name. A {kind} name has to match the following "
            f"pattern: {pattern.pattern}"
        )


class Names:
    """Unique names of one graph, and the current scope's prefix."""

    def __init__(self) -> None:
        self.prefix = ""
        self._used = UniqueNames()

    def unique(self, name: str, mark: bool = True) -> str:
        """`name` inside the current scope, with `_N` appended when it is taken."""
        return self._used.unique(f"{self.prefix}/{name}" if self.prefix else name, mark)

    def claim(self, name: str) -> None:
        """Marks a full name as used."""
        self._used.mark(name)

    def release(self, name: str) -> None:
        """Makes a full name free again."""
        self._used.release(name)

    def is_used(self, name: str) -> bool:
        """Whether a full name is taken."""
        return self._used.is_taken(name)


class ControlScope:
    """One `control_dependencies` block: what operations inside wait for, and which those are."""

    def __init__(self, ops: "Sequence[Operation] | None") -> None:
        self.ops = tuple(ops or ())
        self.clears = ops is None
        self.created: set[int] = set()


def control_inputs(
    stack: Sequence[ControlScope], input_ops: "Sequence[Operation]"
) -> "tuple[Operation, ...]":
    """What a new operation with these data inputs must wait for."""
    result: dict[Operation, None] = {}
    for scope in stack:
        if any(id(op) in scope.created for op in input_ops):
            continue  # an input was made inside the block and waits already
        for op in scope.ops:
            if op not in input_ops:
                result[op] = None
    return tuple(result)


def merge_device(scope: Any, op: Any) -> str:
    """The device of an operation inside one more device scope.

    Args:
      scope: a function of the operation, whose answer is the device, or a device that fills what
        the operation's own leaves open.
      op: the operation; its device is what the scopes further in made of it.

    Raises:
      TypeError: the function gives no device.
    """
    if not callable(scope):
        return fill_device(op.device, scope)
    chosen = scope(op)
    if chosen is None:
        raise TypeError(
            f"device function {scope!r}: expected a device as text or DeviceSpec for operation "
            f"'{op.name}', got None. Return op.device to leave it as it is."
        )
    return device_text(chosen)


def fill_device(device: str, outer: Any) -> str:
    """`device` with what it leaves open taken from `outer`."""
    if not device:
        return device_text(outer)
    spec = DeviceSpecV2.from_string(device)
    return DeviceSpecV2.from_string(device_text(outer)).make_merged_spec(spec).to_string()


def device_text(device: Any) -> str:
    """A device as canonical text."""
    if device is None or device == "":
        return ""
    if isinstance(device, str):
        return DeviceSpecV2.from_string(device).to_string()
    return str(device.to_string())
