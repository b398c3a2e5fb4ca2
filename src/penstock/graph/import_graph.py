"""`import_graph_def`: the operations of a GraphDef, added to a graph.

Everything is checked and made before the graph is touched: `_Importer.build` makes operations that
belong to the graph but are not in it, `commit` puts them in, which cannot fail. So a refused
GraphDef leaves the graph as it was.

What a GraphDef may hold beyond what the definitions say: attributes that are not known are kept;
missing ones take their defaults; `_output_shapes` are compared with the shape rules and refine
them; functions of its library become the bodies of the calls that name them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.core import attributes, context
from penstock.core.convert import convert_to_tensor
from penstock.core.op_def import REQUIRED, OpDef, find, lookup
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import Tensor
from penstock.graph import scopes
from penstock.graph.attr_values import FunctionName, attr_from_proto
from penstock.graph.body import CallBody
from penstock.graph.default_graph import get_default_graph
from penstock.graph.function_import import read_library
from penstock.graph.graph import Graph
from penstock.graph.graph_def import MIN_PRODUCER, PRODUCER
from penstock.graph.handles import set_handle_data
from penstock.graph.import_nodes import (
    CONTROL,
    Edge,
    ReadNode,
    as_message,
    check_versions,
    edge_text,
    parse_edge,
    read_nodes,
)
from penstock.graph.operation import Operation, RefusedShapes
from penstock.graph.superseded import definition_in_place, moving_handles
from penstock.types import dims as d
from penstock.types.dtypes import DType
from penstock.util.frames import user_stack

if TYPE_CHECKING:
    from penstock.proto.graph_pb2 import GraphDef
    from penstock.proto.op_def_pb2 import OpList

MAX_OUTPUTS = 2**20  # of all operations together: a few bytes can claim any number
SCALAR_MEANS_UNKNOWN = 22  # producers before this wrote an unknown shape of a placeholder as []
_SHORT_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Iterable[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Adds the operations of a GraphDef to the default graph.

    Args:
      graph_def: the message, ours or TensorFlow's.
      input_map: what takes the place of tensors of the message: `name`, `name:index` or, for what
        others wait for, `^name`, with tensors (or what converts to them) as values.
      return_elements: names of operations and tensors (`name:index`) to return.
      name: what the names of all begin with, made unique; "import" by default, "" for nothing.
      op_dict: accepted for compatibility.
      producer_op_list: an OpList of the program that wrote the message: attributes that are not
        known here and have the default value there are left out.

    Returns:
      What `return_elements` names; None without it.

    Raises:
      TypeError: an argument is of a wrong type.
      NotFoundError: an operation is not registered.
      ValueError: the message contradicts itself, the definitions, or the arguments.

    Example:
      >>> with Graph().as_default() as source:
      ...     _ = source.create_op("NoOp", [], name="a")
      >>> with Graph().as_default():
      ...     import_graph_def(source.as_graph_def(), return_elements=["a"])
      [<tf.Operation 'import/a' type=NoOp>]
    """
    message = as_message(graph_def, "GraphDef", "graph_def")
    known = None
    if producer_op_list is not None:
        known = as_message(producer_op_list, "OpList", "producer_op_list")
    given = _check_input_map(input_map)
    wanted = _check_return_elements(return_elements)
    graph = get_default_graph()
    graph._check_not_finalized()
    check_versions(message, PRODUCER, MIN_PRODUCER)
    with graph._lock:
        version = graph.version
        try:
            prefix = _prefix(graph, name)
            mapped = _convert_inputs(graph, given, prefix)
            importer = Importer(graph, message, mapped, prefix, known)
            importer.build()
            found = None if wanted is None else [importer.element(text) for text in wanted]
        except BaseException:
            graph.remove_since(version)
            raise
        importer.commit()
        if prefix:
            graph._names.claim(prefix)
    return found


def _check_input_map(input_map: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if input_map is None:
        return {}
    if not isinstance(input_map, Mapping):
        raise TypeError(
            f"Argument `input_map` must be a dictionary. Obtained {type(input_map).__name__}"
        )
    if not all(isinstance(key, str) for key in input_map):
        raise TypeError(
            f"All keys for argument `input_map` must be strings. Obtained keys: {list(input_map)}"
        )
    return input_map


def _check_return_elements(return_elements: Iterable[str] | None) -> tuple[str, ...] | None:
    if return_elements is None:
        return None
    found = tuple(return_elements)
    if not all(isinstance(text, str) for text in found):
        raise TypeError(
            f"Argument `return_elements` must be a list of strings. Obtained {return_elements}."
        )
    return found


def _prefix(graph: Graph, name: str | None) -> str:
    """What all names begin with, not yet claimed."""
    if name is None:
        name = "import"
    if not name or name.endswith("/"):
        return name[:-1]
    scopes.check_name(name, graph.get_name_scope())
    return graph.unique_name(name, mark_as_used=False)


def _convert_inputs(graph: Graph, given: Mapping[str, Any], prefix: str) -> dict[Edge, Any]:
    """The values of `input_map` as tensors or, for what others wait for, operations."""
    found: dict[Edge, Any] = {}
    for key, value in given.items():
        edge = parse_edge(key)
        if isinstance(value, Operation):
            if edge[1] != CONTROL:
                raise TypeError(
                    f"can't convert Operation '{value.name}' to Tensor: input_map[{key!r}] must be "
                    "a tensor. Pass one of its outputs."
                )
            found[edge] = graph.as_graph_element(value)
            continue
        if not isinstance(value, Tensor) and not prefix:
            raise ValueError(
                "tf.import_graph_def() requires a non-empty `name` if `input_map` contains "
                "non-Tensor values. Try calling tf.convert_to_tensor() on `input_map` values "
                "before calling tf.import_graph_def()."
            )
        with context.graph_scope(graph), graph.name_scope(f"{prefix}/_inputs/" if prefix else ""):
            tensor = graph.as_tensor(convert_to_tensor(value))
        found[edge] = tensor.op if edge[1] == CONTROL else tensor
    return found


class Importer:
    """One import: makes the operations of a message for a graph, then adds them."""

    def __init__(
        self,
        graph: Graph,
        message: GraphDef,
        mapped: Mapping[Edge, Any],
        prefix: str = "",
        producer_ops: OpList | None = None,
        functions: Mapping[str, CallBody] | None = None,
    ) -> None:
        self.graph = graph
        self.message = message
        self.mapped = dict(mapped)
        self.prefix = prefix
        self.producer_ops = {op.name: op for op in producer_ops.op} if producer_ops else {}
        self.functions = dict(graph._functions)
        self._is_body = functions is not None  # whose arguments need not be used
        if functions is None:
            producer = message.versions.producer
            functions = read_library(message.library.function, Importer, producer=producer)
        self.functions.update(functions)
        self.made: dict[str, Operation] = {}  # by the name in the message
        self.frames = user_stack(limit=8)
        self._used: set[Edge] = set()
        self._names: dict[str, str] = {}
        self._outputs_left = MAX_OUTPUTS
        self._back_edges: list[tuple[ReadNode, int]] = []

    def build(self) -> None:
        """Makes all operations; the graph is not changed.

        Raises:
          NotFoundError: an operation is not registered.
          ValueError: the message cannot be right.
        """
        nodes = read_nodes(self.message, self.mapped)
        self._names = self._choose_names([node.name for node in nodes])
        definitions = [self._definition(node.message.op) for node in nodes]
        for node, (op, body) in zip(nodes, definitions, strict=True):
            self.made[node.name] = self._build_node(node, op, body)
        for node, index in self._back_edges:
            made = self.made[node.name]
            tensor = self._source(node, node.inputs[index])
            made._inputs = (*made._inputs[:index], tensor, *made._inputs[index + 1 :])
        for node in nodes:
            self._colocate(node)
        if not self._is_body:
            self._check_all_mapped_used()

    def commit(self) -> None:
        """Adds what was made to the graph."""
        graph = self.graph
        for op in self.made.values():
            graph.insert(op)
        versions = self.message.versions
        graph.producer = min(graph.producer, versions.producer)
        graph.min_consumer = max(graph.min_consumer, versions.min_consumer)
        graph.bad_consumers.update(versions.bad_consumers)
        graph._functions.update(self.functions)

    def element(self, text: str) -> Any:
        """The operation or tensor that a name of the message stands for.

        Raises:
          ValueError: there is none.
        """
        name, colon, index = text.partition(":")
        if not colon:
            if name not in self.made:
                raise ValueError(f"Requested return node '{name}' not found in graph def")
            return self.made[name]
        if not (index.isascii() and index.isdigit() and len(index) < 10):
            raise ValueError(
                f"Cannot convert {text!r} to a tensor name. Second component of the name following "
                f"the `:` should be an int. Got {index}."
            )
        edge = (name, int(index))
        if edge in self.mapped:
            self._used.add(edge)
            return self.mapped[edge]
        op = self.made.get(name)
        if op is None:
            raise ValueError(f"Requested return tensor '{text}' not found in graph def")
        if edge[1] >= len(op._outputs):
            raise ValueError(
                f"Invalid return output {index} of node '{name}', which has {len(op._outputs)} "
                "output(s)"
            )
        return op._outputs[edge[1]]

    # ---- names -----------------------------------------------------------------------------------

    def _choose_names(self, names: Sequence[str]) -> dict[str, str]:
        """The name in the graph of each node; names that are taken get a number."""
        start = f"{self.prefix}/" if self.prefix else ""
        taken = self.graph.names_and_prefixes()
        if not any(start + name in taken for name in names):
            return {name: start + name for name in names}
        reserved = {start + name for name in names}
        chosen: dict[str, str] = {}
        for name in names:
            full, count = start + name, 0
            while full in taken or (count and full in reserved):
                count += 1
                full = f"{start}{name}_{count}"
            chosen[name] = full
            taken.add(full)
        return chosen

    def _definition(self, kind: str) -> tuple[OpDef, CallBody | None]:
        op = definition_in_place(kind, self.message.versions.producer) or find(kind)
        if op is None and kind in self.functions:
            body = self.functions[kind]
            call = "StatefulPartitionedCall" if body.stateful else "PartitionedCall"
            return lookup(call), body
        return (op, None) if op is not None else (lookup(kind), None)

    # ---- one operation ---------------------------------------------------------------------------

    def _build_node(self, node: ReadNode, op: OpDef, body: CallBody | None) -> Operation:
        name = self._names[node.name]
        where = f"{op.name} '{name}'"
        tensors = self._inputs(node)
        given, extra = self._attributes(node, op, where)
        op, given = moving_handles(op, given, tensors)
        if body is not None:
            given = {"f": body, "Tin": [t.dtype for t in tensors], "Tout": body.output_dtypes}
        counts = _counts(op, given, tensors, where)
        _check_input_types(op, given, tensors, counts, where, name)
        try:
            dtypes = [t.dtype for t in tensors]
            attrs = attributes.complete(op, dtypes, given, counts, runtime=True)
        except (TypeError, ValueError) as problem:
            raise ValueError(f"{where}: {problem}") from None
        out_dtypes = self._output_dtypes(op, attrs, where)
        shapes = self._shapes(node, op, tensors, attrs, len(out_dtypes), name)
        attrs.update(extra)
        listed = any(arg.is_list for arg in op.inputs)
        made = Operation(
            self.graph, op, name, tensors, counts if listed else None, attrs, out_dtypes, shapes,
            self._controls(node), _device(node, where), self.frames,
        )  # fmt: skip
        self.graph.place(made)
        set_handle_data(made)
        return made

    def _inputs(self, node: ReadNode) -> tuple[SymbolicTensor, ...]:
        found: list[SymbolicTensor | None] = []
        for index, edge in enumerate(node.inputs):
            if edge in self.mapped or edge[0] in self.made:
                found.append(self._source(node, edge))
            else:  # the way back of a loop
                self._back_edges.append((node, index))
                found.append(None)
        stand_in = next((tensor for tensor in found if tensor is not None), None)
        if stand_in is None and found:
            raise ValueError(
                f"Node '{node.name}': expected an input from outside the loop, got only the way "
                "back. Add the value that the loop begins with."
            )
        return tuple(stand_in if tensor is None else tensor for tensor in found)  # type: ignore[misc]

    def _source(self, node: ReadNode, edge: Edge) -> SymbolicTensor:
        if edge in self.mapped:
            self._used.add(edge)
            return self.mapped[edge]  # type: ignore[no-any-return]
        outputs = self.made[edge[0]]._outputs
        if edge[1] >= len(outputs):
            raise ValueError(
                f"Node '{node.name}': Connecting to invalid output {edge[1]} of source node "
                f"{edge[0]} which has {len(outputs)} outputs."
            )
        return outputs[edge[1]]

    def _controls(self, node: ReadNode) -> tuple[Operation, ...]:
        found: dict[Operation, None] = {}
        for name in node.controls:
            edge = (name, CONTROL)
            if edge in self.mapped:
                self._used.add(edge)
                found[self.mapped[edge]] = None
            else:
                found[self.made[name]] = None
        found.update(dict.fromkeys(self.graph.scope_controls()))
        return tuple(found)

    def _attributes(
        self, node: ReadNode, op: OpDef, where: str
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The attributes that the definition knows, and the others."""
        given: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for name, message in node.message.attr.items():
            if name == "_output_shapes" or self._is_new_default(node, op, name, message):
                continue
            attr = op.attrs.get(name)
            kind = attr.kind if attr is not None else "any"
            value = attr_from_proto(kind, message, f"{where}, attr '{name}'")
            (extra if attr is None else given)[name] = self._with_bodies(value, where)
        if "_class" in extra:
            extra["_class"] = self._renamed_groups(node, extra["_class"])
        return given, extra

    def _is_new_default(self, node: ReadNode, op: OpDef, name: str, message: Any) -> bool:
        """Whether an attribute is of a newer program and says what leaving it out says."""
        if name in op.attrs or node.message.op not in self.producer_ops:
            return False
        attrs = self.producer_ops[node.message.op].attr
        return any(a.name == name and a.default_value == message for a in attrs)

    def _with_bodies(self, value: Any, where: str) -> Any:
        if isinstance(value, tuple):
            return tuple(self._with_bodies(item, where) for item in value)
        if not isinstance(value, FunctionName) or not value:
            return value
        body = self.functions.get(value)
        if body is None:
            raise ValueError(
                f"{where}: expected a function of the GraphDef's library, got {str(value)!r}, "
                "which it does not have. Export the graph with the functions that it calls."
            )
        body.shared, body.named = body.named, True
        return body

    def _renamed_groups(self, node: ReadNode, groups: Any) -> Any:
        if not isinstance(groups, tuple):
            return groups
        found = []
        for group in groups:
            target = group.removeprefix("loc:@") if isinstance(group, str) else group
            if target != group and target not in self._names:
                if self._is_body:  # it names an operation of the graph around the function
                    continue
                raise ValueError(
                    f"Node '{node.name}' expects to be colocated with unknown node '{target}'"
                )
            found.append(group if target == group else f"loc:@{self._names[target]}")
        return tuple(found)

    def _output_dtypes(self, op: OpDef, attrs: dict[str, Any], where: str) -> tuple[DType, ...]:
        count = sum(
            attrs[arg.number_attr] if arg.number_attr is not None else 1 for arg in op.outputs
        )
        self._outputs_left -= max(count, 0)
        if self._outputs_left < 0:
            raise ValueError(
                f"{where}: Number of outputs is too big: {count}. All operations of a GraphDef may "
                f"have {MAX_OUTPUTS} together."
            )
        return attributes.output_dtypes(op, attrs)

    def _shapes(
        self,
        node: ReadNode,
        op: OpDef,
        tensors: tuple[SymbolicTensor, ...],
        attrs: dict[str, Any],
        count: int,
        name: str,
    ) -> Sequence[d.Dims]:
        try:
            found = self.graph.infer_shapes(op, tensors, attrs, count, name, self.frames)
        except ValueError:
            raise
        except Exception as problem:  # a rule met values that only a damaged message holds
            raise ValueError(
                f"{op.name} '{name}': expected inputs and attributes that fit together, got some "
                f"that do not ({type(problem).__name__}: {problem}). The GraphDef is damaged."
            ) from problem
        shapes = list(found)
        old = self.message.versions.producer < SCALAR_MEANS_UNKNOWN
        if old and node.message.op == "Placeholder" and shapes == [()]:  # PlaceholderV2 knew it
            shapes = [None]
        shapes = _refined(node, shapes, name)
        return RefusedShapes(shapes, found.why) if isinstance(found, RefusedShapes) else shapes

    # ---- afterwards ------------------------------------------------------------------------------

    def _colocate(self, node: ReadNode) -> None:
        """The device of what an operation is colocated with counts, not its own."""
        groups = node.message.attr["_class"].list.s if "_class" in node.message.attr else ()
        for group in groups:
            target = self.made.get(group.decode(errors="replace").removeprefix("loc:@"))
            if target is not None and group.startswith(b"loc:@"):
                self.made[node.name]._device = target._device
                return

    def _check_all_mapped_used(self) -> None:
        missing = []
        for edge in self.mapped:
            op = self.made.get(edge[0])
            exists = op is not None and edge[1] < len(op._outputs)
            if edge not in self._used and not exists:
                missing.append(edge_text(edge))
        if missing:
            raise ValueError(
                "Attempted to map inputs that were not found in graph_def: "
                f"[{', '.join(sorted(missing))}]"
            )


def _counts(
    op: OpDef, given: dict[str, Any], tensors: Sequence[SymbolicTensor], where: str
) -> tuple[int, ...]:
    """Tensors per input argument, as the attributes say; they must be as many as there are."""
    for name, attr in op.attrs.items():
        if name not in given and attr.default is REQUIRED:
            raise ValueError(
                f"NodeDef missing attr '{name}' from Op<name={op.name}>; NodeDef: {where}. The "
                "GraphDef is damaged or of another version."
            )
    counts = []
    for arg in op.inputs:
        if arg.number_attr is not None:
            counts.append(_attr_or_default(op, given, arg.number_attr))
        elif arg.type_list_attr is not None:
            counts.append(len(_attr_or_default(op, given, arg.type_list_attr)))
        else:
            counts.append(1)
    if sum(counts) != len(tensors) or min(counts, default=0) < 0:
        names = ", ".join(f"{arg.name}: {n}" for arg, n in zip(op.inputs, counts, strict=True))
        raise ValueError(
            f"NodeDef expected inputs '{names}' do not match {len(tensors)} inputs specified; "
            f"NodeDef: {where}; definition: {op.text}"
        )
    return tuple(counts)


def _attr_or_default(op: OpDef, given: dict[str, Any], name: str) -> Any:
    return given[name] if name in given else op.attrs[name].default


def _check_input_types(
    op: OpDef,
    given: dict[str, Any],
    tensors: Sequence[SymbolicTensor],
    counts: Sequence[int],
    where: str,
    name: str,
) -> None:
    index = 0
    for arg, count in zip(op.inputs, counts, strict=True):
        for i in range(count):
            expected = arg.dtype
            if arg.type_attr is not None:
                expected = _attr_or_default(op, given, arg.type_attr)
            elif arg.type_list_attr is not None:
                expected = _attr_or_default(op, given, arg.type_list_attr)[i]
            tensor = tensors[index]
            if expected is not None and tensor.dtype.base_dtype is not expected:
                raise ValueError(
                    f"Input {index} of node {name} was passed {_short(tensor.dtype)} from "
                    f"{tensor.name} incompatible with expected {_short(expected)}."
                )
            index += 1


def _short(dtype: DType) -> str:
    return _SHORT_NAMES.get(dtype.name, dtype.name)


def _device(node: ReadNode, where: str) -> str:
    try:
        return scopes.device_text(node.message.device)
    except ValueError as problem:
        raise ValueError(f"{where}: {problem}") from None


def _refined(node: ReadNode, shapes: list[d.Dims], name: str) -> list[d.Dims]:
    """The shapes with what the node itself says of them."""
    if "_output_shapes" not in node.message.attr:
        return shapes
    noted = attr_from_proto(
        "list(shape)", node.message.attr["_output_shapes"], f"Node '{name}', _output_shapes"
    )
    found = list(shapes)
    for index, (dims, other) in enumerate(zip(shapes, noted, strict=False)):
        try:
            found[index] = d.merge(dims, other)
        except ValueError:
            raise ValueError(
                f"Node '{name}' has an _output_shapes attribute inconsistent with the GraphDef for "
                f"output #{index}: Shapes are {d.text(dims)} and {d.text(other)}."
            ) from None
    return found
