"""The operations of a graph by name, and what names, tensors and variables stand for in it."""

import threading
from typing import Any

from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import Tensor
from penstock.graph.operation import Operation


class GraphElements:
    """The methods of `Graph` that look up."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()  # guards: _ops, and what Graph says
        self._ops: dict[str, Operation] = {}

    def get_operations(self) -> list[Operation]:
        """The operations in the order they were added."""
        with self._lock:
            return list(self._ops.values())

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of that name.

        Raises:
          TypeError: `name` is no string.
          KeyError: there is none.
        """
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        found = self.as_graph_element(name, allow_tensor=False, allow_operation=True)
        assert isinstance(found, Operation)
        return found

    def get_tensor_by_name(self, name: str) -> SymbolicTensor:
        """The tensor of that name, as `add:0`.

        Raises:
          TypeError: `name` is no string.
          ValueError: it is no tensor name.
          KeyError: there is none.
        """
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        found = self.as_graph_element(name, allow_tensor=True, allow_operation=False)
        assert isinstance(found, SymbolicTensor)
        return found

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """The tensor or operation that a name, tensor, operation or variable stands for."""
        if not allow_tensor and not allow_operation:
            raise ValueError("allow_tensor and allow_operation can't both be False.")
        kinds = " or ".join(
            k for k, ok in (("Tensor", allow_tensor), ("Operation", allow_operation)) if ok
        )
        convert_self = getattr(obj, "_as_graph_element", None)
        if convert_self is not None and not isinstance(obj, (Tensor, Operation)):
            obj = convert_self()
        if isinstance(obj, str):
            return self._element_by_name(obj, allow_tensor, allow_operation, kinds)
        if isinstance(obj, SymbolicTensor) and allow_tensor:
            if obj.graph is not self:
                raise ValueError(f"Tensor {obj} is not an element of this graph.")
            return obj
        if isinstance(obj, Operation) and allow_operation:
            if obj.graph is not self:
                raise ValueError(f"Operation {obj!r} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {kinds}.")

    def _element_by_name(
        self, name: str, allow_tensor: bool, allow_operation: bool, kinds: str
    ) -> Any:
        op_name, colon, index = name.partition(":")
        if not colon:
            if not allow_operation and name in self._ops:
                raise ValueError(
                    f"The name {name!r} refers to an Operation, not a {kinds}. Tensor names must "
                    'be of the form "<op_name>:<output_index>".'
                )
            if not allow_operation:
                raise ValueError(
                    f"The name {name!r} looks like an (invalid) Operation name, not a {kinds}."
                    ' Tensor names must be of the form "<op_name>:<output_index>".'
                )
            if name not in self._ops:
                raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
            return self._ops[name]
        if not allow_tensor:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a {kinds}.")
        if not index.isdigit():
            raise ValueError(
                f"The name {name!r} looks a like a Tensor name, but is not a valid one. Tensor "
                'names must be of the form "<op_name>:<output_index>".'
            )
        op = self._ops.get(op_name)
        if op is None:
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation,"
                f" {op_name!r}, does not exist in the graph."
            )
        if int(index) >= len(op._outputs):
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{op_name!r}, exists but only has {len(op._outputs)} outputs."
            )
        return op._outputs[int(index)]

    def names_and_prefixes(self) -> set[str]:
        """The names of all operations and of the scopes that they are in."""
        found: set[str] = set()
        for name in self._ops:
            while name and name not in found:
                found.add(name)
                name = name.rpartition("/")[0]
        return found
