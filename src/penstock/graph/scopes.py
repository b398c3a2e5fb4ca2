"""The scopes that a graph keeps while it is built: names, devices, control inputs, colocation.

Each is a stack of one thread's frames over one graph; the graph asks them what a new operation gets.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.types.device_spec import DeviceSpecV2

if TYPE_CHECKING:
    from penstock.graph.operation import Operation

OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


class Names:
    """Unique names of one graph, and the current scope's prefix."""

    def __init__(self) -> None:
        self.prefix = ""
        self._used: dict[str, int] = {}  # lower-case name -> next number to try

    def unique(self, name: str, mark: bool = True) -> str:
        """`name` inside the current scope, with `_N` appended when it is taken."""
        full = f"{self.prefix}/{name}" if self.prefix else name
        key = full.lower()
        count = self._used.get(key, 0)
        if mark:
            self._used[key] = count + 1
        if count:
            base = key
            while key in self._used:
                key = f"{base}_{count}"
                count += 1
            if mark:
                self._used[key] = 1
            full = f"{full}_{count - 1}"
        return full

    def claim(self, name: str) -> None:
        """Marks a full name as used."""
        self._used.setdefault(name.lower(), 1)

    def is_used(self, name: str) -> bool:
        """Whether a full name is taken."""
        return name.lower() in self._used


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


def merge_device(device: Any, inner: Any, op: Any) -> str:
    """The device of an operation under one more device scope: `device` so far, overridden by what `inner` leaves open."""
    if callable(inner):
        chosen = inner(op)
        if chosen is None:
            return ""
        return device_text(chosen)
    if inner is None:
        return ""
    outer = DeviceSpecV2.from_string(device) if device else DeviceSpecV2()
    return (
        DeviceSpecV2.from_string(device_text(inner)).make_merged_spec(outer).to_string()
        if device
        else device_text(inner)
    )


def device_text(device: Any) -> str:
    """A device as canonical text."""
    if device is None or device == "":
        return ""
    if isinstance(device, str):
        return DeviceSpecV2.from_string(device).to_string()
    return str(device.to_string())
