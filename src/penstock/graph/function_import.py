"""Functions of a GraphDef's library: FunctionDef to `CallBody`.

A FunctionDef is read as a GraphDef whose inputs are the arguments: its inputs, written
`node:output:index`, are put in the form of graphs first. Functions that name others come after
them; one that calls itself is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from penstock import proto
from penstock.core import context
from penstock.core.op_def import OpDef, find
from penstock.graph.attr_values import attr_from_proto
from penstock.graph.body import IMPLEMENTS, PREFERRED_DEVICE, CallBody
from penstock.graph.func_graph import FuncGraph
from penstock.graph.superseded import SUPERSEDED
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import as_dtype
from penstock.util.toposort import CycleError, topological_sort

if TYPE_CHECKING:
    from penstock.core.symbolic_tensor import SymbolicTensor
    from penstock.graph.import_graph import Importer
    from penstock.proto.function_pb2 import FunctionDef
    from penstock.proto.node_def_pb2 import NodeDef


HandleData = tuple[Any, Dims]  # dtype and shape of the variable that a handle refers to


LATEST = 2**31 - 1  # a version that is later than all others


def read_library(
    library: Iterable[FunctionDef],
    importer: type[Importer],
    handles: Mapping[str, Mapping[int, HandleData]] | None = None,
    producer: int = LATEST,
) -> dict[str, CallBody]:
    """The functions of a library by name.

    Args:
      library: what was read.
      importer: makes the operations of a body.
      handles: for functions by name, what is known of the variables that arguments refer to, by
        the argument's number; the functions that these call are told.
      producer: the version of what wrote the library: it says which operations bodies may hold.

    Raises:
      ValueError: a function contradicts itself, or calls itself.
    """
    messages: dict[str, FunctionDef] = {}
    for message in library:
        if messages.setdefault(message.signature.name, message) is not message:
            raise ValueError(f"function '{message.signature.name}' is not unique in the library.")
    try:
        order = topological_sort(
            messages, lambda name: _called(messages[name], messages), lambda name: str(name)
        )
    except CycleError as problem:
        raise ValueError(f"a function calls itself, which is not supported: {problem}") from None
    known = _spread_handles(messages, reversed(order), handles or {})
    bodies: dict[str, CallBody] = {}
    for name in order:
        handles_here = known.get(name, {})
        bodies[name] = _read_function(messages[name], bodies, importer, handles_here, producer)
    return bodies


def _spread_handles(
    messages: Mapping[str, FunctionDef],
    callers_first: Iterable[str],
    given: Mapping[str, Mapping[int, HandleData]],
) -> dict[str, dict[int, HandleData]]:
    """What is known of handles in functions, and so in those that they call.

    What two callers say differently is not known.
    """
    known = {name: dict(found) for name, found in given.items()}
    doubtful: set[tuple[str, int]] = set()
    for name in callers_first if known else ():
        if not known.get(name):
            continue
        arguments = messages[name].signature.input_arg
        here = {arguments[i].name: v for i, v in known[name].items() if i < len(arguments)}
        for node in messages[name].node_def:
            first = 1 if node.op in ("If", "StatelessIf", "Case", "StatelessCase") else 0
            for callee in called_by(node, messages):
                target = known.setdefault(callee, {})
                for index, text in enumerate(node.input[first:]):
                    if text not in here or (callee, index) in doubtful:
                        continue
                    if target.setdefault(index, here[text]) != here[text]:
                        doubtful.add((callee, index))
                        del target[index]
    return known


def _called(message: FunctionDef, known: Mapping[str, Any]) -> Iterator[str]:
    """The functions of the library that a function names."""
    for node in message.node_def:
        yield from called_by(node, known)


def called_by(node: NodeDef, known: Mapping[str, Any]) -> Iterator[str]:
    """The functions of the library that a node names."""
    if node.op in known:
        yield node.op
    for attr in node.attr.values():
        names = [attr.func.name, *(function.name for function in attr.list.func)]
        yield from (name for name in names if name in known)


def _read_function(
    message: FunctionDef,
    bodies: Mapping[str, CallBody],
    importer: type[Importer],
    handles: Mapping[int, HandleData],
    producer: int,
) -> CallBody:
    name = message.signature.name
    if message.signature.attr:
        names = [attr.name for attr in message.signature.attr]
        raise ValueError(
            f"function '{name}': expected one without attributes of its own, got {names}. Export "
            "it for particular types."
        )
    graph = FuncGraph(name)
    with context.graph_scope(graph), context.no_recording():
        arguments = _add_arguments(message, graph)
        for index, data in handles.items():
            if index < len(graph.inputs) and graph.inputs[index].dtype is dt.resource:
                graph.inputs[index]._handle_data = data
        message_of_body = _as_graph(message, bodies, producer)
        body = importer(graph, message_of_body, arguments, functions=bodies)
        try:
            body.build()
            outputs = [_result(body, message, arg.name) for arg in message.signature.output_arg]
            waits = [body.made[node] for node in message.control_ret.values()]
        except (ValueError, KeyError) as problem:
            raise ValueError(f"function '{name}': {problem}") from None
        body.commit()
        graph.outputs = outputs
        graph.finish()
    graph.control_outputs = list(dict.fromkeys((*graph.control_outputs, *waits)))
    made = CallBody(name, graph)
    for key in (IMPLEMENTS, PREFERRED_DEVICE):
        if key in message.attr:
            made.attributes[key] = attr_from_proto(
                "string", message.attr[key], f"function '{name}'"
            )
    return made


def _add_arguments(message: FunctionDef, graph: FuncGraph) -> dict[Any, SymbolicTensor]:
    found = {}
    for index, arg in enumerate(message.signature.input_arg):
        if arg.number_attr or arg.type_list_attr or arg.type_attr:
            raise ValueError(
                f"function '{message.signature.name}': expected arguments of one tensor of a fixed "
                f"dtype, got '{arg.name}'. Export it for particular types."
            )
        where = f"function '{message.signature.name}', argument '{arg.name}'"
        dims = _argument_dims(message, index, where)
        try:
            dtype = as_dtype(arg.type)
        except TypeError as problem:
            raise ValueError(f"{where}: {problem}") from None
        found[(arg.name, 0)] = graph.add_input(dtype, dims, arg.name)
    return found


def _argument_dims(message: FunctionDef, index: int, where: str) -> Dims:
    attrs = message.arg_attr[index].attr if index in message.arg_attr else {}
    if "_output_shapes" not in attrs:
        return None
    shapes = attr_from_proto("list(shape)", attrs["_output_shapes"], where)
    return shapes[0] if len(shapes) == 1 else None


def _result(body: Importer, message: FunctionDef, name: str) -> SymbolicTensor:
    if name not in message.ret:
        raise ValueError(f"expected a value for output '{name}', got none")
    text = _graph_input(message.ret[name], _layouts(message, body.functions))
    if not text or text.startswith("^"):
        raise ValueError(f"expected a tensor for output '{name}', got {message.ret[name]!r}")
    return body.element(text if ":" in text else f"{text}:0")  # type: ignore[no-any-return]


Layout = dict[str, int]  # where each named output of a node begins


def _as_graph(message: FunctionDef, bodies: Mapping[str, CallBody], producer: int) -> Any:
    """The nodes of a function as those of a graph."""
    layouts = _layouts(message, bodies)
    there = {f"^{arg.name}" for arg in message.signature.input_arg}  # nobody waits for arguments
    found = proto.graph_pb2.GraphDef()
    found.versions.producer = producer
    for node in message.node_def:
        copy = found.node.add()
        copy.CopyFrom(node)
        inputs = [text for text in node.input if text not in there]
        copy.input[:] = [_graph_input(text, layouts) for text in inputs]
    return found


def _layouts(message: FunctionDef, bodies: Mapping[str, CallBody]) -> dict[str, Layout]:
    return {node.name: _layout(node, bodies) for node in message.node_def}


def _layout(node: NodeDef, bodies: Mapping[str, CallBody]) -> Layout:
    known = SUPERSEDED.get(node.op)
    op = find(known.in_place if known else node.op)  # its outputs have the same names
    if op is None:
        body = bodies.get(node.op)
        names = [] if body is None else getattr(body, "output_names", [])
        return {name: i for i, name in enumerate(names)}
    found, start = {}, 0
    for arg in op.outputs:
        found[arg.name] = start
        start += _length(node, op, arg)
    return found


def _length(node: NodeDef, op: OpDef, arg: Any) -> int:
    """The number of tensors of an output."""
    if arg.number_attr is None and arg.type_list_attr is None:
        return 1
    name = arg.number_attr or arg.type_list_attr
    if name not in node.attr:  # a missing one is refused when the node is made
        default = op.attrs[name].default
        return (
            default
            if isinstance(default, int)
            else len(default)
            if default.__class__ is tuple
            else 0
        )
    value = node.attr[name]
    return max(0, value.i) if arg.number_attr is not None else len(value.list.type)


def _graph_input(text: str, layouts: Mapping[str, Layout]) -> str:
    """`node:output:index` as `node:number`; arguments and control inputs stay as they are."""
    parts = text.split(":")
    if len(parts) != 3 or parts[0] not in layouts or parts[1] not in layouts[parts[0]]:
        return text
    if not (parts[2].isascii() and parts[2].isdigit() and len(parts[2]) < 10):
        return text
    return f"{parts[0]}:{layouts[parts[0]][parts[1]] + int(parts[2])}"
