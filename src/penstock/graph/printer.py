"""Graphs as text: one line for each operation, in the order they were added.

    y = AddV2[T=float32](x, Const, ^init) @/device:CPU:0 -> float32[?,2]

After the name and the kind come attributes, inputs, control inputs, the device, and the dtypes and
shapes of the outputs. The text is stable: it depends on the operations only. Values of attributes
are written so that they can be told apart; `penstock.graph.text_parser` reads them again, except
for constants of more than MAX_ELEMENTS elements, of which the text keeps a checksum.

Entry points: `graph_text` and `operation_text`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.core.arrays import HashableArray
from penstock.graph.attr_values import kind_of
from penstock.graph.graph_def import input_text, is_body
from penstock.types.dims import Dims
from penstock.types.tensor_shape import TensorShape

if TYPE_CHECKING:
    from penstock.graph.graph import Graph
    from penstock.graph.operation import Operation

MAX_ELEMENTS = 16  # of constants that are written in full


def graph_text(graph: Graph) -> str:
    """All operations of a graph, a line each; "" when there are none."""
    return "\n".join(map(operation_text, graph.get_operations()))


def operation_text(op: Operation) -> str:
    """One operation as a line."""
    attrs = ", ".join(f"{name}={_attr_text(op, name)}" for name in op.attrs)
    inputs = [*map(input_text, op.inputs), *(f"^{c.name}" for c in op._control_inputs)]
    line = f"{op.name} = {op.type}" + (f"[{attrs}]" if attrs else "") + f"({', '.join(inputs)})"
    if op.device:
        line += f" @{op.device}"
    outputs = ", ".join(f"{t.dtype.name}[{_sizes(t.dims)}]" for t in op._outputs)
    return f"{line} -> {outputs}" if outputs else line


def _attr_text(op: Operation, name: str) -> str:
    attr = op.op_def.attrs.get(name)
    kind = attr.element_kind if attr is not None else "any"
    value = op.attrs[name]
    if isinstance(value, tuple) and (attr.is_list if attr is not None else True):
        return f"[{', '.join(_value_text(kind, item) for item in value)}]"
    return _value_text(kind, value)


def _value_text(kind: str, value: Any) -> str:
    found = kind_of(value) if kind == "any" else kind
    return _WRITERS.get(found, repr)(value)


def _shape_text(value: Any) -> str:
    return f"shape({_sizes(value.dims_tuple if isinstance(value, TensorShape) else value)})"


def _sizes(dims: Dims) -> str:
    if dims is None:
        return "..."
    return ",".join("?" if size is None else str(size) for size in dims)


def _tensor_text(value: HashableArray) -> str:
    array = value.array
    head = f"tensor({value.dtype.name}, {_shape_text(array.shape)}, "
    if array.size > MAX_ELEMENTS:
        data = array.reshape(-1)[:1] if value.repeats else array
        content = repr(data.tolist()).encode() if array.dtype == object else data.tobytes()
        return f"{head}crc32={zlib.crc32(content):08x})"
    return f"{head}{[_number(item) for item in array.reshape(-1)]!r})"


def _number(item: Any) -> Any:
    """An element as a Python value whose text can be read again."""
    if isinstance(item, bytes):
        return item
    plain = item.item() if hasattr(item, "item") else item
    return plain if isinstance(plain, bool | int | float | complex) else float(plain)


def _function_text(value: Any) -> str:
    return f"function({(value.name if is_body(value) else value)!r})"


_WRITERS: dict[str, Callable[[Any], str]] = {
    "type": lambda value: str(value.name),
    "shape": _shape_text,
    "tensor": _tensor_text,
    "func": _function_text,
}
