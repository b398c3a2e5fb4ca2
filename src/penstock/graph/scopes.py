"""Scopes over a graph: blocks that say how operations made inside of them are named and placed.

Names and gradient overrides belong to the graph; devices, control inputs, colocation and attributes
to the thread that entered the block. `GraphScopes` has the blocks; its `place` and `_apply_scopes`
give a new operation what they ask for.
"""

import contextlib
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import EagerTensor, Tensor
from penstock.graph.graph_elements import GraphElements
from penstock.graph.operation import Operation
from penstock.types.device_spec import DeviceSpecV2
from penstock.util.names import OP_NAME, SCOPE_NAME, UniqueNames


def _matches(pattern: re.Pattern[str], name: str) -> bool:
    if not isinstance(name, str):
        raise TypeError(f"expected text as a name, got {name!r} of type {type(name).__name__}")
    return pattern.fullmatch(name) is not None


def as_name(name: Any) -> Any:  # any: users pass all sorts
    """A name that is given as bytes, as text."""
    return name.decode() if isinstance(name, bytes) else name


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


class ControlScope:
    """One `control_dependencies` block: what operations inside wait for, and which those are."""

    def __init__(self, ops: Sequence[Operation]) -> None:
        self.ops = tuple(ops)
        self.created: set[int] = set()


def control_inputs(
    stack: Sequence[ControlScope], input_ops: Sequence[Operation]
) -> tuple[Operation, ...]:
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


class _ThreadScopes(threading.local):
    """The scopes that a thread has entered over one graph."""

    def __init__(self) -> None:
        self.devices: tuple[Any, ...] = ()
        self.control: tuple[ControlScope, ...] = ()
        self.colocation: tuple[Operation, ...] = ()
        self.attributes: dict[str, Any] = {}


class GraphScopes(GraphElements):
    """The methods of `Graph` that are scopes."""

    def __init__(self) -> None:
        super().__init__()
        self._names = Names()
        self._scopes = _ThreadScopes()
        self._gradient_overrides: dict[str, str] = {}
        self._container = ""

    def as_tensor(self, value: Tensor, name: str | None = None) -> SymbolicTensor:
        """`value` as a tensor of this graph."""
        raise NotImplementedError

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """A name that no operation has, inside the current scope."""
        return self._names.unique(name, mark_as_used)

    @contextlib.contextmanager
    def name_scope(self, name: Any) -> Iterator[str]:  # any: users pass all sorts
        """Names inside begin with this scope's; "a/" re-enters scope a, "" or None the root."""
        before, name = self._names.prefix, as_name(name)
        if not name:
            new = ""
        elif isinstance(name, str) and name.endswith("/"):
            new = name[:-1]
        else:
            check_name(name, before)
            new = self._names.unique(name)
        self._names.prefix = new
        try:
            yield f"{new}/" if new else ""
        finally:
            self._names.prefix = before

    def get_name_scope(self) -> str:
        """The current scope without a trailing slash."""
        return self._names.prefix

    @contextlib.contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Operations inside request this device (name, spec, function); None lifts outer ones."""
        stack = self._scopes
        before = stack.devices
        if device_name_or_function is not None and not callable(device_name_or_function):
            device_name_or_function = device_text(device_name_or_function)
        stack.devices = (*before, device_name_or_function)
        try:
            yield
        finally:
            stack.devices = before

    def device_text(self, device: Any) -> str:
        """A device as canonical text."""
        return device_text(device)

    def control_dependencies(
        self, control_inputs: Iterable[Any] | None
    ) -> contextlib.AbstractContextManager[None]:
        """Operations inside run after `control_inputs`; None lifts outer blocks.

        Raises:
          TypeError, ValueError, KeyError: an input is no operation or tensor of this graph.
        """
        return self._control_scope(
            None if control_inputs is None else self._controllers(control_inputs)
        )

    @contextlib.contextmanager
    def _control_scope(self, controllers: list[Operation] | None) -> Iterator[None]:
        stack = self._scopes
        before, names = stack.control, self._names.prefix
        if controllers is None:
            stack.control = ()
        else:
            for op in controllers:
                op._set_attr("_has_manual_control_dependencies", True)
            outside = {op for scope in before for op in scope.ops}
            new = [op for op in controllers if op not in outside]
            stack.control = (*before, ControlScope(new))
        try:
            yield
        finally:
            stack.control = before
            self._names.prefix = names

    def _controllers(self, values: Iterable[Any]) -> list[Operation]:
        ops: dict[Operation, None] = {}
        for value in (part for each in values for part in self._to_wait_for(each)):
            if isinstance(value, EagerTensor):
                continue  # it has been computed already
            element: Any = value
            if not isinstance(value, (Tensor, Operation)):
                element = self.as_graph_element(value)
            if isinstance(element, SymbolicTensor):
                element = self.as_tensor(element).op
            elif element.graph is not self:
                element = self._controller_from_outside(element)
            ops[element] = None
        return list(ops)

    def _to_wait_for(self, value: Any) -> Iterable[Any]:
        """What of a control input can be waited for: the operation of an updated variable."""
        plain = isinstance(value, Tensor) or not hasattr(value, "_type_spec")
        return (value if plain or not hasattr(value, "op") else value.op,)

    def _controller_from_outside(self, op: Operation) -> Operation:
        """What stands in this graph for an operation of another one."""
        raise ValueError(f"Operation {op!r} is not an element of this graph.")

    @contextlib.contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Operations inside are placed with `op`."""
        stack = self._scopes
        before, devices = stack.colocation, stack.devices
        if op is None and not ignore_existing:
            raise ValueError(
                "Trying to reset colocation (op is None) but ignore_existing is not True"
            )
        if hasattr(op, "handle"):  # a variable stands where its handle does
            op = self.as_tensor(op.handle)
        target = None if op is None else self.as_graph_element(op)
        if isinstance(target, SymbolicTensor):
            target = target.op
        kept = () if ignore_existing else before
        stack.colocation = kept if target is None else (*kept, target)
        stack.devices = ()  # the place of `op` counts, not the scopes outside
        try:
            yield
        finally:
            stack.colocation, stack.devices = before, devices

    @contextlib.contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Stateful operations inside keep their state in this container."""
        before, self._container = self._container, container_name
        try:
            yield container_name
        finally:
            self._container = before

    @contextlib.contextmanager
    def gradient_override_map(self, op_type_map: dict[Any, Any]) -> Iterator[None]:
        """Operations inside of a key's type take the gradient registered under the value's name."""
        if not isinstance(op_type_map, dict):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        for name, other in op_type_map.items():
            if not isinstance(name, str) or not isinstance(other, str):
                raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        before, self._gradient_overrides = (
            self._gradient_overrides,
            {**self._gradient_overrides, **op_type_map},
        )
        try:
            yield
        finally:
            self._gradient_overrides = before

    @contextlib.contextmanager
    def _attr_scope(self, attr_map: dict[str, Any]) -> Iterator[None]:
        stack = self._scopes
        before, stack.attributes = stack.attributes, {**stack.attributes, **attr_map}
        try:
            yield
        finally:
            stack.attributes = before

    def switch_to_thread_local(self) -> None:
        """Accepted for compatibility: device, control and colocation scopes are per thread."""

    def _apply_scopes(self, op: Operation) -> None:
        stack = self._scopes
        self.place(op)
        for name, value in stack.attributes.items():
            op.attrs.setdefault(name, value(op) if callable(value) else value)
        if op.type in self._gradient_overrides:
            op.attrs.setdefault("_gradient_op_type", self._gradient_overrides[op.type])
        if "container" in op.op_def.attrs and not op.attrs["container"] and self._container:
            op.attrs["container"] = self._container
        for scope in stack.control:
            scope.created.add(id(op))

    def place(self, op: Operation) -> None:
        """Gives a new operation the device and colocation that the scopes ask for.

        Scopes apply from the innermost outwards: each fills what is still open, and the answer of
        a function replaces it all.
        """
        stack = self._scopes
        for scope in reversed(stack.devices):
            if scope is None:
                break
            op._device = merge_device(scope, op)
        if stack.colocation:
            groups = {g for target in stack.colocation for g in _groups(target)}
            op.attrs["_class"] = tuple(sorted(groups))
            devices = [target.device for target in stack.colocation if target.device]
            op._device = devices[0] if devices else op._device

    def scope_controls(self) -> tuple[Operation, ...]:
        """What operations without inputs wait for in the current `control_dependencies` blocks."""
        return control_inputs(self._scopes.control, ())


def _groups(op: Operation) -> list[str]:
    return [g.decode() for g in op.colocation_groups()]
