"""Functions of the user's that datasets call: traced once, for the structure of the elements."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from penstock.core import context
from penstock.core.context import state
from penstock.core.tensor import Tensor
from penstock.data.structure import Structure, normalized, spec_of
from penstock.graph.body import CallBody
from penstock.graph.func_graph import FuncGraph
from penstock.ops.py_functions import py_function
from penstock.tracing.autograph import calls as autograph
from penstock.types import dtypes as dt

_numbers = itertools.count()


class Debugging:
    """Whether functions of elements run as Python.

    Attributes:
      on: whether they do, in datasets that are made from now on.
    """

    on = False


debugging = Debugging()


class Traced:
    """A function as a graph.

    Attributes:
      body: the function of flat components, then of captured values.
      captured: the captured tensors, of the scope around.
      output: the structure of what it returns.
    """

    __slots__ = ("body", "captured", "output")

    def __init__(self, body: CallBody, captured: Sequence[Tensor], output: Structure) -> None:
        self.body = body
        self.captured = tuple(captured)
        self.output = output


def trace(
    function: Callable[..., Any],
    arguments: Sequence[Structure],
    name: str,
    convert: Callable[[Any], Any] | None = None,
    unpack: bool = True,
) -> Traced:
    """Traces a function of elements.

    Args:
      function: what the user gave.
      arguments: the structures of its arguments. Of a single one that is a tuple, the parts are
        given one by one.
      name: what the graph is called.
      convert: what is done to the value that it returns, before it is taken apart.
      unpack: whether a tuple is given as several arguments.

    Raises:
      ValueError: it cannot be called.
      TypeError: it returns what is no element.
    """
    if not callable(function):
        raise ValueError(
            f"Dataset.{name}: the function must be a callable: expected one of elements, got"
            f" {function!r} of type {type(function).__name__}."
        )
    traced = _traced(function, arguments, name, convert, unpack)
    hidden = any(t in (dt.variant, dt.resource) for t in traced.output.types)
    if not debugging.on or state.graph is not None or hidden:
        return traced
    python = _as_python(function, arguments, traced.output, convert, unpack)
    return _traced(python, arguments, name, None, unpack=False)


def _as_python(
    function: Callable[..., Any],
    arguments: Sequence[Structure],
    output: Structure,
    convert: Callable[[Any], Any] | None,
    unpack: bool,
) -> Callable[..., Any]:
    """The same function, which runs as Python for each element."""

    def run(*flat: Any) -> Any:
        parts, values = iter(flat), []
        for each in arguments:
            values.append(each.pack([next(parts) for _ in each.flat]))
        if unpack and len(values) == 1 and type(values[0]) is tuple:
            values = list(values[0])
        result = function(*values)
        result = tuple(result) if isinstance(result, list) else result
        return output.flatten(normalized(result if convert is None else convert(result)))

    def called(*values: Any) -> Any:
        pairs = zip(arguments, values, strict=True)
        flat = [t for structure, value in pairs for t in structure.flatten(value)]
        found = py_function(run, flat, list(output.types))
        for tensor, dims in zip(found, output.shapes, strict=True):
            tensor.set_shape(dims)
        return output.pack(found)

    return called


def _traced(
    function: Callable[..., Any],
    arguments: Sequence[Structure],
    name: str,
    convert: Callable[[Any], Any] | None,
    unpack: bool,
) -> Traced:
    graph = FuncGraph(_name_of(function, name))
    with context.graph_scope(graph), context.no_recording():
        values = [_placeholders(graph, each) for each in arguments]
        if unpack and len(values) == 1 and type(values[0]) is tuple:
            values = list(values[0])
        result = autograph.run(function, tuple(values), {}, None)
        if isinstance(result, list):
            result = tuple(result)
        if convert is not None:
            result = convert(result)
        result = _element(result, name)
        output = Structure(spec_of(result))
        flat = [graph.as_tensor(t) for t in output.flatten(result)]
    graph.outputs = flat
    graph.structured_outputs = result
    graph.finish()
    body = CallBody(f"__inference_{graph.name}_{next(_numbers)}", graph)
    if isinstance(state.graph, FuncGraph):
        for variable in graph.variables:
            state.graph.watch_variable(variable)
    return Traced(body, graph.external_captures, output)


def _name_of(function: Callable[..., Any], default: str) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return f"Dataset_{default}_{'lambda' if name == '<lambda>' else name}"


def _placeholders(graph: FuncGraph, structure: Structure) -> Any:
    found = [
        graph.add_input(s.dtype, s.shape.dims_tuple, f"args_{len(graph.inputs)}")
        for s in structure.flat
    ]
    return structure.pack(found)


def _element(result: Any, name: str) -> Any:
    try:
        return normalized(result)
    except (TypeError, ValueError) as problem:
        raise TypeError(
            f"{name}: Unsupported return value from function passed to Dataset.{name}():"
            f" {result!r}. Expected a tensor, or a structure of tensors ({problem})."
        ) from problem
