"""Graphs as messages: operations to NodeDef, graphs to GraphDef.

What is written is what TensorFlow writes for the same program: operations in the order they were
added, every attribute (defaults too), inputs as `name` or `name:index`, control inputs last and
sorted, and the functions that calls name in the library.

Entry points: `node_def_of` and `as_graph_def`. Reading is `penstock.graph.import_graph`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock import proto
from penstock.graph.attr_values import FunctionName, attr_to_proto
from penstock.graph.full_types import full_type_of
from penstock.graph.shape_proto import dims_to_proto
from penstock.graph.standard_ops import (
    VECTORIZED,
    call_of_form,
    function_of_rows,
    take_private,
)

if TYPE_CHECKING:
    from penstock.core.symbolic_tensor import SymbolicTensor
    from penstock.graph.body import CallBody
    from penstock.graph.graph import Graph
    from penstock.graph.operation import Operation
    from penstock.proto.function_pb2 import FunctionDef
    from penstock.proto.graph_pb2 import GraphDef
    from penstock.proto.node_def_pb2 import NodeDef
    from penstock.proto.versions_pb2 import VersionDef

Names: TypeAlias = dict[int, str]  # of functions, by their id

PRODUCER = 2474  # of TensorFlow 2.21
MIN_CONSUMER = 0
MIN_PRODUCER = 0
FUNCTIONS_MIN_CONSUMER = 12  # the first that reads a library of functions


def node_def_of(op: Operation, add_shapes: bool = False, names: Names | None = None) -> NodeDef:
    """An operation as a NodeDef.

    Args:
      op: the operation.
      add_shapes: whether to add the shapes of the outputs as attribute `_output_shapes`.
      names: the names of functions, where those they have are not unique.
    """
    message = proto.node_def_pb2.NodeDef(name=op.name, op=op.type, device=op.device)
    message.input.extend(map(input_text, op.inputs))
    message.input.extend(sorted(f"^{control.name}" for control in op._control_inputs))
    for name, value in op.attrs.items():
        attr = op.op_def.attrs.get(name)
        kind = attr.kind if attr is not None else "any"
        if names is not None:
            value = _named(value, names)
        message.attr[name].CopyFrom(attr_to_proto(kind, value, f"Operation '{op.name}', {name}"))
    full_type = full_type_of(op.type, op.attrs)
    if full_type is not None:
        message.experimental_type.CopyFrom(full_type)
    if add_shapes and op._outputs:
        shapes = message.attr["_output_shapes"].list.shape
        shapes.extend(dims_to_proto(tensor.dims) for tensor in op._outputs)
    return message


def input_text(tensor: SymbolicTensor) -> str:
    """A tensor as an input of a NodeDef: the first output goes without a number."""
    return _text_in_graph(tensor.op.name, tensor)


def as_graph_def(
    graph: Graph,
    from_version: int | None = None,
    add_shapes: bool = False,
    more: Sequence[CallBody] = (),
) -> GraphDef:
    """A graph as a GraphDef.

    Args:
      graph: the graph.
      from_version: only the operations added since `graph.version` was this; all when None.
      add_shapes: whether to add the shapes of all outputs, those in functions too.
      more: functions that no operation names, for the library; their names are those that
        `functions_of(graph.get_operations(), more)` gives.

    Returns:
      The message, with the functions that its operations name.

    Raises:
      ValueError: an attribute does not fit a message.
    """
    message = proto.graph_pb2.GraphDef()
    ops = [op for op in graph.get_operations() if op._id > (from_version or 0)]
    bodies, names = functions_of(ops, more)
    taken = {op.name for op in graph.get_operations()}
    writer = _NodeWriter(_text_in_graph, taken, names, add_shapes)
    for op in ops:
        message.node.extend(writer.nodes(op, node_def_of(op, add_shapes, names)))
    message.versions.CopyFrom(versions_of(graph))
    if bodies:
        message.versions.min_consumer = max(message.versions.min_consumer, FUNCTIONS_MIN_CONSUMER)
    for body in bodies:
        write_function(body, names, message.library.function.add(), add_shapes)
    return message


def _text_in_graph(name: str, tensor: SymbolicTensor) -> str:
    """A tensor of the operation `name` as an input of a NodeDef: the first one has no number."""
    return name if tensor.value_index == 0 else f"{name}:{tensor.value_index}"


def versions_of(graph: Graph) -> VersionDef:
    """Which programs can read the graph."""
    return proto.versions_pb2.VersionDef(
        producer=graph.producer,
        min_consumer=graph.min_consumer,
        bad_consumers=sorted(graph.bad_consumers),
    )


# ---- functions ------------------------------------------------------------------------------


def functions_of(
    ops: Iterable[Operation], more: Iterable[CallBody] = ()
) -> tuple[list[CallBody], Names]:
    """The functions that operations name and `more`, and those that these name, each once.

    Returns:
      The functions and their names in the library, by the id of the function. A name that two have
      gets a number.
    """
    found: dict[tuple[int, ...], CallBody] = {}
    names: Names = {}
    taken: set[str] = set()
    waiting = deque((*more, *_bodies(ops)))
    while waiting:
        body = waiting.popleft()
        if id(body) in names:
            continue
        known = found.setdefault((id(body.graph), *map(id, body.outputs)), body)
        if known is body:
            names[id(body)] = _free(body.name, taken)
            waiting.extend(_bodies(body.graph.get_operations()))
        else:  # another view of the same operations and outputs
            names[id(body)] = names[id(known)]
    return list(found.values()), names


def _named(value: Any, names: Names) -> Any:
    """The value of an attribute with names for functions."""
    if isinstance(value, tuple):
        return tuple(_named(item, names) for item in value)
    return FunctionName(names[id(value)]) if is_body(value) else value


def _bodies(ops: Iterable[Operation]) -> Iterator[CallBody]:
    for op in ops:
        form = _form_of(op)
        if form is not None and op.op_def.standard_form.in_place:
            yield from _bodies(form.graph.get_operations())
        elif form is not None:
            yield form
        for value in op.attrs.values():
            for item in value if isinstance(value, tuple) else (value,):
                if is_body(item):
                    yield item


def is_body(value: Any) -> bool:
    """Whether an attribute's value is a function with a graph."""
    return hasattr(value, "graph") and hasattr(value, "control_outputs")


def function_def_of(body: CallBody) -> FunctionDef:
    """The FunctionDef of a body; functions that it calls are named in it."""
    callees, names = functions_of(body.graph.get_operations())
    del callees
    message = proto.function_pb2.FunctionDef()
    write_function(body, {**names, id(body): body.name}, message)
    return message


def write_function(body: CallBody, names: Names, message: Any, add_shapes: bool = False) -> None:
    """Writes a function into an empty FunctionDef."""
    arguments = _unique([_argument_name(tensor.op.name) for tensor in body.inputs])
    results = _unique([_argument_name(tensor.op.name) for tensor in body.outputs])
    writer = _BodyWriter(body, arguments)
    signature = message.signature
    signature.name = names[id(body)]
    signature.is_stateful = body.stateful
    for name, tensor in zip(arguments, body.inputs, strict=True):
        signature.input_arg.add(name=name, type=tensor.dtype.as_datatype_enum)
    for name, tensor in zip(results, body.outputs, strict=True):
        signature.output_arg.add(name=name, type=tensor.dtype.as_datatype_enum)
        message.ret[name] = writer.reference(tensor)
    for op in body.control_outputs:
        signature.control_output.append(writer.names[id(op)])
        message.control_ret[writer.names[id(op)]] = writer.names[id(op)]
    writer.write(message.node_def, names, add_shapes)
    _write_argument_attrs(body, message)
    if add_shapes and body.inputs:
        shapes = message.attr["_input_shapes"].list.shape
        shapes.extend(dims_to_proto(tensor.dims) for tensor in body.inputs)
    for key, value in body.attributes.items():
        message.attr[key].CopyFrom(attr_to_proto("any", value, f"function '{body.name}'"))


def _write_argument_attrs(body: CallBody, message: Any) -> None:
    for index, tensor in enumerate(body.inputs):
        attrs = message.arg_attr[index].attr
        attrs["_output_shapes"].list.shape.append(dims_to_proto(tensor.dims))
        given = tensor.op.attrs.get("_user_specified_name")
        if given is not None:
            attrs["_user_specified_name"].s = given.encode() if isinstance(given, str) else given


class _NodeWriter:
    """Writes operations as those that every reader has.

    Attributes:
      text: how inputs name a tensor of an operation of a name.
      taken: the names of operations.
      names: those of functions, by their id.
      add_shapes: whether to add the shapes of outputs.
    """

    def __init__(
        self,
        text: Callable[[str, SymbolicTensor], str],
        taken: set[str],
        names: Names,
        add_shapes: bool,
    ) -> None:
        self.text = text
        self.taken = taken
        self.names = names
        self.add_shapes = add_shapes

    def nodes(self, op: Operation, message: NodeDef) -> Iterator[NodeDef]:
        """The NodeDefs to write for an operation: its own, or others of which one has its name."""
        form = _form_of(op)
        if form is not None and op.op_def.standard_form.in_place:
            yield from self._in_place(form, message)
        elif form is not None:
            dtypes = [t.dtype for t in op.inputs], [t.dtype for t in op._outputs]
            yield call_of_form(message, self.names[id(form)], form.stateful, *dtypes)
        elif op.type == VECTORIZED:
            yield function_of_rows(message, [t.dims for t in op._outputs])
        else:
            yield message

    def _in_place(self, form: CallBody, message: NodeDef) -> Iterator[NodeDef]:
        """The operations of a form; the one that gives its result takes the place of `message`."""
        inputs = list(message.input)
        texts = {id(t): text for t, text in zip(form.inputs, inputs, strict=False)}
        last = form.outputs[0].op
        for op in _needed_by(last):
            if texts.keys() >= {id(t) for t in op._outputs}:
                continue  # an input of the form
            made = node_def_of(op, self.add_shapes, self.names)
            own = op is last
            made.name = message.name if own else _free(f"{message.name}/{op.name}", self.taken)
            made.device = message.device
            made.input[:] = [texts[id(t)] for t in op.inputs]
            texts.update((id(t), self.text(made.name, t)) for t in op._outputs)
            if own:
                made.input.extend(inputs[len(form.inputs) :])  # those it waits for
                take_private(made, message)
            yield from self.nodes(op, made)


def _form_of(op: Operation) -> CallBody | None:
    """What is written in the place of an operation, if not itself."""
    form = op.op_def.standard_form
    return None if form is None else form.of(op)


def _needed_by(last: Operation) -> list[Operation]:
    """The operations that one needs, and itself, in the order of their graph."""
    found, waiting = {last}, [last]
    while waiting:
        needed = {t.op for t in waiting.pop().inputs} - found
        found |= needed
        waiting.extend(needed)
    return [op for op in last.graph.get_operations() if op in found]


class _BodyWriter:
    """The operations of a body, with names that differ from the arguments'."""

    def __init__(self, body: CallBody, arguments: list[str]) -> None:
        self.arguments = {id(t): n for t, n in zip(body.inputs, arguments, strict=True)}
        placeholders = {id(t.op) for t in body.inputs}
        self.ops = [op for op in body.graph.get_operations() if id(op) not in placeholders]
        taken = set(arguments) | {op.name for op in self.ops}
        self.taken = taken
        self.names = {id(op): op.name for op in self.ops}
        for op in self.ops:
            if op.name in arguments:
                self.names[id(op)] = _free(op.name, taken)

    def reference(self, tensor: SymbolicTensor) -> str:
        """A tensor as functions write it: an argument, or `operation:output:index`."""
        argument = self.arguments.get(id(tensor))
        if argument is not None:
            return argument
        return _text_in_function(self.names[id(tensor.op)], tensor)

    def write(self, messages: Any, names: Names, add_shapes: bool) -> None:
        """Appends the operations."""
        writer = _NodeWriter(_text_in_function, self.taken, names, add_shapes)
        for op in self.ops:
            message = node_def_of(op, add_shapes, names)
            message.name = self.names[id(op)]
            del message.input[:]
            message.input.extend(self.reference(tensor) for tensor in op.inputs)
            waits = (c for c in op._control_inputs if id(c) in self.names)
            message.input.extend(sorted(f"^{self.names[id(c)]}" for c in waits))
            messages.extend(writer.nodes(op, message))


def _text_in_function(name: str, tensor: SymbolicTensor) -> str:
    """A tensor of the operation `name` as functions write it: `operation:output:index`."""
    form = _form_of(tensor.op)
    if form is None:
        output, index = _output_of(tensor)
        return f"{name}:{output}:{index}"
    if tensor.op.op_def.standard_form.in_place:
        return _text_in_function(name, form.outputs[tensor.value_index])
    return f"{name}:output:{tensor.value_index}"  # of a call


def _output_of(tensor: SymbolicTensor) -> tuple[str, int]:
    """The name of the output that a tensor belongs to, and its number there."""
    op, index = tensor.op, tensor.value_index
    for arg in op.op_def.outputs:
        if arg.number_attr is not None:
            length = op.attrs[arg.number_attr]
        elif arg.type_list_attr is not None:
            length = len(op.attrs[arg.type_list_attr])
        else:
            length = 1
        if index < length:
            return arg.name, index
        index -= length
    raise AssertionError(f"{tensor!r} has no output in {op.op_def!r}")


def _argument_name(name: str) -> str:
    """A name as arguments are written: lower-case letters, digits and underscores."""
    plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in name.lower())
    return plain if plain[:1].isalpha() else f"arg_{plain.lstrip('_')}"


def _unique(names: list[str]) -> list[str]:
    taken: set[str] = set()
    return [_free(name, taken) for name in names]


def _free(name: str, taken: set[str]) -> str:
    found, count = name, 0
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    taken.add(found)
    return found
