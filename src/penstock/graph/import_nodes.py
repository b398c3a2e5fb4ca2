"""The nodes of a GraphDef, taken apart and put in order; nothing here knows a graph.

`read_nodes` checks what can be checked of the message alone: names, inputs, duplicates, cycles. Its
result is in the order in which TensorFlow adds operations: each after those it needs, else as in
the message. What the definitions of operations say is checked by `penstock.graph.import_graph`.

A message may come from anywhere, so no step takes more time or memory than its size allows.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock import proto
from penstock.graph.standard_ops import as_ours
from penstock.graph.verify import BACK_EDGES
from penstock.util.names import OP_NAME, is_valid_op_name

if TYPE_CHECKING:
    from penstock.proto.graph_pb2 import GraphDef
    from penstock.proto.node_def_pb2 import NodeDef

Edge: TypeAlias = tuple[str, int]  # the name of a node, and the number of its output
CONTROL = -1  # the number of a control edge


@dataclass(frozen=True, slots=True)
class ReadNode:
    """A node whose name and inputs are well formed.

    Attributes:
      message: the node as read.
      inputs: its data inputs.
      controls: the nodes that it waits for.
    """

    message: NodeDef
    inputs: tuple[Edge, ...]
    controls: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name in the message."""
        return self.message.name


def as_message(value: Any, name: str, argument: str) -> Any:
    """`value` as a message of ours: the same kind of another library is read anew.

    Args:
      value: what the user gave.
      name: the kind of message: a name in `penstock.proto.graph_pb2` or `op_def_pb2`.
      argument: the argument's name, for the error.

    Raises:
      TypeError: it is no such message.
      InvalidArgumentError: it is too large to be read.
    """
    kind = getattr(proto.graph_pb2, name, None) or getattr(proto.op_def_pb2, name)
    if isinstance(value, kind):
        return value
    if getattr(getattr(value, "DESCRIPTOR", None), "name", None) != name:
        raise TypeError(
            f"Argument `{argument}` must be a {name} proto. Got {type(value).__name__}."
        )
    message = kind()
    message.ParseFromString(value.SerializeToString())
    return message


def parse_edge(text: str) -> Edge:
    """An input as its node and output: `name`, `name:index`, or `^name`."""
    if text.startswith("^"):
        return text[1:], CONTROL
    name, colon, index = text.rpartition(":")
    if colon and index.isascii() and index.isdigit() and len(index) < 10:
        return name, int(index)
    return text, 0


def edge_text(edge: Edge) -> str:
    """The opposite of `parse_edge`, always with an index."""
    name, index = edge
    return f"^{name}" if index == CONTROL else f"{name}:{index}"


def read_nodes(message: GraphDef, mapped: Iterable[Edge]) -> list[ReadNode]:
    """The nodes of a message, each after those it needs.

    Args:
      message: what was read.
      mapped: inputs that come from elsewhere.

    Raises:
      ValueError: a name, an input or the whole contradicts itself.
    """
    nodes: dict[str, ReadNode] = {}
    for node in message.node:
        if node.name in nodes:
            raise ValueError(f"Node '{node.name}' is not unique: two nodes have that name.")
        nodes[node.name] = _read_node(node)
    elsewhere = set(mapped)
    needed = [_needed(node, nodes, elsewhere) for node in nodes.values()]
    return _in_order(list(nodes.values()), needed)


def _read_node(node: NodeDef) -> ReadNode:
    if not is_valid_op_name(node.name):
        raise ValueError(
            f"Node '{node.name}': Node name contains invalid characters. Expected a name that "
            f"matches {OP_NAME.pattern}."
        )
    edges = [parse_edge(text) for text in node.input]
    count = sum(index != CONTROL for _, index in edges)
    if any(index == CONTROL for _, index in edges[:count]):
        raise ValueError(
            f"Node '{node.name}': Control dependencies must come after regular dependencies, got "
            f"inputs {list(node.input)[:20]}."
        )
    controls = tuple(dict.fromkeys(name for name, _ in edges[count:]))
    return ReadNode(as_ours(node), tuple(edges[:count]), controls)


def _needed(node: ReadNode, nodes: dict[str, ReadNode], elsewhere: set[Edge]) -> set[str]:
    """The nodes of the message that must come before `node`."""
    found: set[str] = set()
    for edge in (*node.inputs, *((name, CONTROL) for name in node.controls)):
        if edge in elsewhere:
            continue
        source = nodes.get(edge[0])
        if source is None:
            text = edge_text(edge).removesuffix(":0")
            raise ValueError(
                f"Node '{node.name}': Unknown input node '{text}'. Add the node to the GraphDef, "
                "or pass the tensor in input_map."
            )
        if BACK_EDGES.get(source.message.op) != node.message.op:
            found.add(edge[0])
    return found


def _in_order(nodes: Sequence[ReadNode], needed: Sequence[set[str]]) -> list[ReadNode]:
    positions = {node.name: i for i, node in enumerate(nodes)}
    users: list[list[int]] = [[] for _ in nodes]
    open_count = [len(names) for names in needed]
    for i, names in enumerate(needed):
        for name in names:
            users[positions[name]].append(i)
    ready = [i for i, count in enumerate(open_count) if not count]
    order: list[ReadNode] = []
    while ready:
        i = heapq.heappop(ready)
        order.append(nodes[i])
        for user in users[i]:
            open_count[user] -= 1
            if not open_count[user]:
                heapq.heappush(ready, user)
    if len(order) < len(nodes):
        left = [node.name for i, node in enumerate(nodes) if open_count[i]]
        raise ValueError(
            f"{len(left)} nodes in a cycle, or after one: {', '.join(left[:10])}. Only the way "
            "back of a loop, from NextIteration to Merge, may close a cycle."
        )
    return order


def check_versions(message: GraphDef, consumer: int, min_producer: int) -> None:
    """Refuses a message that says it cannot be read by this version, or is of one too old.

    Raises:
      ValueError: it must not be read.
    """
    versions = message.versions
    if versions.producer < min_producer:
        raise ValueError(
            f"GraphDef producer version {versions.producer} below min producer {min_producer} "
            "supported. Please regenerate your graph."
        )
    if versions.min_consumer > consumer:
        raise ValueError(
            f"GraphDef min consumer version {versions.min_consumer} above current version "
            f"{consumer}. Please upgrade."
        )
    if consumer in versions.bad_consumers:
        raise ValueError(
            f"GraphDef disallows consumer version {consumer}. Please upgrade: the program that "
            "wrote it says that this version is likely to read it wrongly."
        )
