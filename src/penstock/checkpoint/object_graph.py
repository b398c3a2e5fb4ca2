"""The graph of objects below a root: who has which children, and the paths that lead to them.

Nodes are numbered breadth first, so a path is a shortest one; slots of optimizers come last. The
path of an object, with what is special in names escaped, begins the keys of its tensors.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock import proto
from penstock.core.trackable import Trackable

ATTRIBUTES, SLOTS = ".ATTRIBUTES", ".OPTIMIZER_SLOT"


def escaped(name: str) -> str:
    """A child's name as a part of a path.

    Example:
      >>> escaped("a/b.c")
      'a.Sb..c'
    """
    return name.replace(".", "..").replace("/", ".S")


@dataclasses.dataclass(slots=True)
class Slot:
    """A slot of the optimizer `optimizer` for the variable `original`, by node numbers."""

    optimizer: int
    original: int
    name: str
    node: int


@dataclasses.dataclass(slots=True)
class ObjectGraph:
    """Objects by number, with their children, paths and slots."""

    nodes: list[Any]
    children: list[list[tuple[str, int]]]
    paths: list[str]
    slots: list[Slot]
    numbers: dict[int, int]  # id of an object -> its number

    def number(self, trackable: Any) -> int | None:
        """An object's number, or None."""
        return self.numbers.get(id(trackable))

    def key(self, number: int, tensor: str) -> str:
        """The key of a tensor of an object."""
        path = self.paths[number]
        return f"{path}/{ATTRIBUTES}/{escaped(tensor)}"


def children_of(trackable: Any, **options: Any) -> dict[str, Any]:
    """An object's children by name."""
    return trackable._trackable_children(**options)  # type: ignore[no-any-return]


def walk(
    root: Any,
    extra: Mapping[str, Trackable] | None = None,
    children: Callable[[Any], dict[str, Any]] = children_of,
    unnamed: Callable[[], Iterable[Any]] = tuple,
) -> ObjectGraph:
    """The graph of everything below `root`.

    Args:
      root: a Trackable.
      extra: more children of the root.
      children: gives the children of an object.
      unnamed: gives, once the rest is numbered, objects that are no children.
    """
    graph = ObjectGraph([root], [], [""], [], {id(root): 0})
    _number(graph, children, extra)
    for each in unnamed():
        if graph.number(each) is None:
            _add(graph, each, f"_unnamed_{len(graph.nodes)}")
    _number(graph, children)
    _add_slots(graph)
    return graph


def _number(
    graph: ObjectGraph,
    children: Callable[[Any], dict[str, Any]],
    extra: Mapping[str, Trackable] | None = None,
) -> None:
    """Goes on breadth first from the first object whose children are not numbered yet."""
    at = len(graph.children)
    while at < len(graph.nodes):
        found = dict(children(graph.nodes[at]))
        if at == 0:
            found.update(extra or {})
        graph.children.append([])
        for name, child in found.items():
            number = graph.numbers.get(id(child))
            if number is None:
                prefix = f"{graph.paths[at]}/" if graph.paths[at] else ""
                number = _add(graph, child, prefix + escaped(name))
            graph.children[at].append((name, number))
        at += 1


def _add(graph: ObjectGraph, node: Any, path: str) -> int:
    number = graph.numbers[id(node)] = len(graph.nodes)
    graph.nodes.append(node)
    graph.paths.append(path)
    return number


def is_optimizer(trackable: Any) -> bool:
    """Whether an object has slots for variables."""
    return hasattr(trackable, "get_slot_names") and hasattr(trackable, "get_slot")


def is_variable(trackable: Any) -> bool:
    """Whether an object is a variable."""
    return hasattr(trackable, "_shared_name") and hasattr(trackable, "_handle")


def _add_slots(graph: ObjectGraph) -> None:
    originals = [(i, node) for i, node in enumerate(graph.nodes) if is_variable(node)]
    optimizers = [(i, node) for i, node in enumerate(graph.nodes) if is_optimizer(node)]
    for number, optimizer in optimizers:
        for name in optimizer.get_slot_names():
            for original, variable in originals:
                slot = optimizer.get_slot(variable, name)
                if slot is None:
                    continue
                node = graph.number(slot)
                if node is None:
                    path = f"{graph.paths[original]}/{SLOTS}/{graph.paths[number]}/{escaped(name)}"
                    node = _add(graph, slot, path)
                    graph.children.append([])
                graph.slots.append(Slot(number, original, name, node))


def full_name(trackable: Any) -> str:
    """The name that a variable has in checkpoints by name; empty for other objects."""
    return str(trackable._shared_name) if is_variable(trackable) else ""


def to_proto(graph: ObjectGraph, tensors: Mapping[int, list[str]]) -> Any:
    """The graph as a TrackableObjectGraph message.

    Args:
      graph: the objects.
      tensors: the names of the tensors that are saved, by the object's number.
    """
    message = proto.trackable_object_graph_pb2.TrackableObjectGraph()
    for number, node in enumerate(graph.nodes):
        each = message.nodes.add()
        for name, child in graph.children[number]:
            each.children.add(node_id=child, local_name=name)
        for name in _stated(node, tensors.get(number, [])):
            each.attributes.add(
                name=name, full_name=full_name(node), checkpoint_key=graph.key(number, name)
            )
    for slot in graph.slots:
        message.nodes[slot.optimizer].slot_variables.add(
            original_variable_node_id=slot.original,
            slot_name=slot.name,
            slot_variable_node_id=slot.node,
        )
    holds = _with_values(graph, tensors)
    for number, each in enumerate(message.nodes):
        each.has_checkpoint_values.value = number in holds
    return message


def _stated(node: Any, names: list[str]) -> list[str]:
    """What a checkpoint says of an object's tensors: their names, or what these begin with."""
    return [node._grouped_tensors] if names and node._grouped_tensors else names


def _with_values(graph: ObjectGraph, tensors: Mapping[int, list[str]]) -> set[int]:
    """The objects that have tensors, or lead to one that has."""
    parents: dict[int, list[int]] = {}
    for number, children in enumerate(graph.children):
        for _, child in children:
            parents.setdefault(child, []).append(number)
    for slot in graph.slots:
        parents.setdefault(slot.node, []).append(slot.optimizer)
    found: set[int] = set()
    waiting = [number for number, names in tensors.items() if names]
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting.extend(parents.get(number, ()))
    return found
