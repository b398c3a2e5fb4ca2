"""Reads the text of a graph, as `penstock.graph.printer` writes it; for tests and experiments.

Operations must come after those they name. Functions, and constants whose elements the text does
not hold, cannot be read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import attributes
from penstock.core.arrays import HashableArray
from penstock.core.attributes import input_counts
from penstock.core.op_def import OpDef, lookup, split_text
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation
from penstock.types.dims import Dims
from penstock.types.dtypes import as_dtype
from penstock.types.tensor_shape import TensorShape

_LINE = re.compile(
    r"(?P<name>\S+) = (?P<kind>\w+)(?:\[(?P<attrs>.*)\])?\((?P<inputs>[^()]*)\)"
    r"(?: @(?P<device>\S+))?(?: -> (?P<outputs>.+))?"
)
_OUTPUT = re.compile(r"(?P<dtype>\w+)\[(?P<sizes>[^\]]*)\]")
_CALL = re.compile(r"(?P<function>shape|tensor|function)\((?P<inside>.*)\)", re.DOTALL)


def parse_text(text: str) -> Graph:
    """The graph that a text describes.

    Args:
      text: lines as `Graph.text` writes them; empty lines count for nothing.

    Raises:
      NotFoundError: an operation is not registered.
      InvalidArgumentError: a line is not of that form; names the line.

    Example:
      >>> parse_text("a = NoOp()").get_operations()
      [<tf.Operation 'a' type=NoOp>]
    """
    graph = Graph()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            graph.insert(_read_line(graph, line.strip()))
        except (KeyError, SyntaxError, TypeError, ValueError) as problem:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"line {number} of the graph's text: expected an operation as Graph.text writes "
                f"it, got {line.strip()!r} ({problem}).",
            ) from None
    return graph


def _read_line(graph: Graph, line: str) -> Operation:
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError("not of the form NAME = TYPE[ATTRS](INPUTS) @DEVICE -> OUTPUTS")
    op = lookup(match["kind"])
    given = dict(_read_attr(op, item) for item in split_text(match["attrs"] or "", ","))
    words = [word.strip() for word in match["inputs"].split(",") if word.strip()]
    inputs = [_tensor(graph, word) for word in words if not word.startswith("^")]
    controls = [graph.get_operation_by_name(w[1:]) for w in words if w.startswith("^")]
    known = {name: value for name, value in given.items() if name in op.attrs}
    counts = input_counts(op, len(inputs), known)
    attrs = attributes.complete(op, [t.dtype for t in inputs], known, counts)
    attrs.update(given)
    outputs = [_read_output(m) for m in _OUTPUT.finditer(match["outputs"] or "")]
    dtypes = attributes.output_dtypes(op, attrs)
    if len(outputs) != len(dtypes):
        raise ValueError(f"{len(dtypes)} outputs expected")
    return Operation(
        graph,
        op,
        match["name"],
        tuple(inputs),
        counts if any(arg.is_list for arg in op.inputs) else None,
        attrs,
        [as_dtype(name) for name, _ in outputs],
        [dims for _, dims in outputs],
        tuple(controls),
        match["device"] or "",
        (),
    )


def _tensor(graph: Graph, word: str) -> SymbolicTensor:
    return graph.get_tensor_by_name(word if ":" in word else f"{word}:0")


def _read_output(match: re.Match[str]) -> tuple[str, Dims]:
    return match["dtype"], _dims(match["sizes"])


def _dims(text: str) -> Dims:
    if text == "...":
        return None
    return tuple(None if size == "?" else int(size) for size in text.split(",") if size)


def _read_attr(op: OpDef, item: str) -> tuple[str, Any]:
    name, _, text = item.partition("=")
    attr = op.attrs.get(name)
    kind = attr.element_kind if attr is not None else "any"
    if text.startswith("["):
        return name, tuple(_read_value(kind, part) for part in split_text(text[1:-1], ","))
    return name, _read_value(kind, text)


def _read_value(kind: str, text: str) -> Any:
    call = _CALL.fullmatch(text)
    if call is not None:
        value = _FUNCTIONS[call["function"]](call["inside"])
        return TensorShape(value) if call["function"] == "shape" and kind == "any" else value
    if kind == "float":
        return float(text)
    try:
        return ast.literal_eval(text)
    except ValueError:
        return as_dtype(text)


def _read_tensor(text: str) -> HashableArray:
    dtype_name, shape, data = split_text(text, ",")
    dtype = as_dtype(dtype_name)
    if not data.startswith("["):
        raise ValueError("the elements of the constant are not in the text")
    dims = _dims(shape.removeprefix("shape(").removesuffix(")")) or ()
    words = [_element(word) for word in split_text(data[1:-1], ",")]
    array = np.empty(len(words), dtype.numpy_dtype)
    array[:] = words
    sizes = tuple(size or 0 for size in dims)
    return HashableArray(array.reshape(sizes), dtype)


def _element(word: str) -> Any:
    return float(word) if word.lstrip("-") in ("inf", "nan") else ast.literal_eval(word)


def _no_function(text: str) -> Sequence[Any]:
    raise ValueError("functions cannot be read from text")


_FUNCTIONS: dict[str, Callable[[str], Any]] = {
    "shape": _dims,
    "tensor": _read_tensor,
    "function": _no_function,
}
