"""Programs on GraphDef messages: the part that some operations need, and simpler forms of it.

These are `compat.v1.graph_util`'s functions. They take messages, ours or TensorFlow's, and return
new ones of ours; what is passed is not changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from penstock import proto
from penstock.graph.graph import Graph
from penstock.graph.import_nodes import CONTROL, as_message, parse_edge
from penstock.graph.operation import Operation
from penstock.graph.tensor_proto import make_tensor_proto
from penstock.types import dtypes
from penstock.types.tensor_shape import TensorShape

if TYPE_CHECKING:
    from penstock.proto.graph_pb2 import GraphDef
    from penstock.proto.node_def_pb2 import NodeDef

_VARIABLES = frozenset({"Variable", "VariableV2", "VarHandleOp"})
_HOST_TYPES = (dtypes.int32.as_datatype_enum, dtypes.string.as_datatype_enum)


def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Whether an operation must stay on the host.

    Args:
      node: an Operation or a NodeDef.
      pin_variables_on_cpu: whether variables count as such.
    """
    node_def: NodeDef = node.node_def if isinstance(node, Operation) else node
    if node_def.op == "Const":
        return node_def.attr["dtype"].type in _HOST_TYPES
    if node_def.op in ("DynamicStitch", "ParallelDynamicStitch"):
        return node_def.attr["T"].type == dtypes.int32.as_datatype_enum
    if node_def.op == "Cast":
        return node_def.attr["SrcT"].type in _HOST_TYPES
    return pin_variables_on_cpu and node_def.op in _VARIABLES


def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> GraphDef:
    """The part of a graph that some operations need.

    Args:
      graph_def: the GraphDef.
      dest_nodes: names of operations.

    Returns:
      A GraphDef with these and all that they need, in the order of `graph_def`.

    Raises:
      TypeError: an argument is of a wrong type.
      AssertionError: an operation is not in the graph.
    """
    if isinstance(dest_nodes, str):
        raise TypeError(
            f"dest_nodes must be an iterable of strings, but got type {type(dest_nodes)}."
        )
    message = as_message(graph_def, "GraphDef", "graph_def")
    nodes = {node.name: node for node in message.node}
    needed = _needed(nodes, dest_nodes)
    result = proto.graph_pb2.GraphDef(library=message.library, versions=message.versions)
    result.node.extend(node for node in message.node if node.name in needed)
    return result


def _needed(nodes: dict[str, NodeDef], wanted: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
        found.add(name)
        waiting.extend(parse_edge(text)[0] for text in nodes[name].input)
    return found


def tensor_shape_from_node_def_name(graph: Graph, input_name: str) -> TensorShape:
    """The shape of a tensor.

    Args:
      graph: the graph.
      input_name: its name; without an index the first output of that operation.

    Raises:
      KeyError: there is none.
    """
    name = input_name if ":" in input_name else f"{input_name}:0"
    return graph.get_tensor_by_name(name).shape


def remove_training_nodes(
    input_graph: Any, protected_nodes: Iterable[str] | None = None
) -> GraphDef:
    """A graph without what matters for training only: checks of numbers, and identities.

    Args:
      input_graph: the GraphDef.
      protected_nodes: names of identities to keep. Those that others wait for, that wait for
        others, or that end the graph are kept too.

    Returns:
      A new GraphDef.
    """
    message = as_message(input_graph, "GraphDef", "input_graph")
    kept = set(protected_nodes or ())
    sources = {}
    used: set[str] = set()
    for node in message.node:
        edges = [parse_edge(text) for text in node.input]
        used.update(name for name, _ in edges)
        kept.update(name for name, index in edges if index == CONTROL)
        if node.op in ("Identity", "CheckNumerics") and len(edges) == 1 and edges[0][1] != CONTROL:
            sources[node.name] = node.input[0]
    for name in list(sources):
        if name in kept or name not in used:
            del sources[name]
    result = proto.graph_pb2.GraphDef(library=message.library, versions=message.versions)
    for node in message.node:
        if node.name not in sources:
            copy = result.node.add()
            copy.CopyFrom(node)
            copy.input[:] = [_behind(text, sources) for text in node.input]
    return result


def _behind(text: str, sources: dict[str, str]) -> str:
    """The input that stands behind any number of removed nodes."""
    seen: set[str] = set()
    name, index = parse_edge(text)
    while index == 0 and name in sources and name not in seen:
        seen.add(name)
        text = sources[name]
        name, index = parse_edge(text)
    return text


def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Sequence[str],
    variable_names_whitelist: Iterable[str] | None = None,
    variable_names_blacklist: Iterable[str] | None = None,
) -> GraphDef:
    """The part of a graph that some operations need, with the values of variables as constants.

    Args:
      sess: the session that holds the variables' values.
      input_graph_def: the GraphDef; its operations have the same names in the session's graph.
      output_node_names: names of operations.
      variable_names_whitelist: names of the variables to replace; all when None.
      variable_names_blacklist: names of variables to leave.

    Returns:
      A new GraphDef.

    Raises:
      AssertionError: an operation is not in the graph.
      FailedPreconditionError: a variable has no value.
    """
    part = extract_sub_graph(input_graph_def, output_node_names)
    chosen = _chosen_variables(part, variable_names_whitelist, variable_names_blacklist)
    readable = _tensors_with_values(part, chosen)
    values = dict(zip(chosen, sess.run([readable[name] for name in chosen]), strict=True))
    result = proto.graph_pb2.GraphDef(library=part.library, versions=part.versions)
    handles = {name for name in chosen if chosen[name].op == "VarHandleOp"}
    for node in part.node:
        copy = result.node.add()
        if node.name in values:
            _write_constant(copy, chosen[node.name], values[node.name])
        elif node.op == "ReadVariableOp" and parse_edge(node.input[0])[0] in handles:
            _write_identity(copy, node)
        else:
            copy.CopyFrom(node)
    return result


def _chosen_variables(
    part: GraphDef, only: Iterable[str] | None, without: Iterable[str] | None
) -> dict[str, NodeDef]:
    wanted = None if only is None else set(only)
    left = set(without or ())
    return {
        node.name: node
        for node in part.node
        if node.op in _VARIABLES and node.name not in left and (not wanted or node.name in wanted)
    }


def _tensors_with_values(part: GraphDef, chosen: dict[str, NodeDef]) -> dict[str, str]:
    """For each variable the name of a tensor that has its value: a read of the handle."""
    found = {name: f"{name}:0" for name, node in chosen.items() if node.op != "VarHandleOp"}
    for node in part.node:
        if node.op == "ReadVariableOp":
            found.setdefault(parse_edge(node.input[0])[0], f"{node.name}:0")
    missing = [name for name in chosen if name not in found]
    if missing:
        raise ValueError(
            f"variables {missing[:8]}: expected an operation that reads each, got none in what the "
            "outputs need. Pass them in variable_names_blacklist."
        )
    return found


def _write_constant(copy: NodeDef, variable: NodeDef, value: Any) -> None:
    copy.name, copy.op = variable.name, "Const"
    dtype = dtypes.as_dtype(variable.attr["dtype"].type).base_dtype
    copy.attr["dtype"].type = dtype.as_datatype_enum  # type: ignore[assignment]
    copy.attr["value"].tensor.CopyFrom(make_tensor_proto(value, dtype, value.shape))


def _write_identity(copy: NodeDef, read: NodeDef) -> None:
    copy.name, copy.op, copy.device = read.name, "Identity", read.device
    copy.input.extend(read.input)
    copy.attr["T"].type = read.attr["dtype"].type
    if "_class" in read.attr:
        copy.attr["_class"].CopyFrom(read.attr["_class"])
