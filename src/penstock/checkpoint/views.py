"""`TrackableView` and `CheckpointView`: the objects of a program, and those in a checkpoint."""

from typing import Any

from penstock.checkpoint import object_graph
from penstock.checkpoint.restoring import read_object_graph
from penstock.core.bundle.single_file import open_checkpoint


class TrackableView:
    """The objects below a root.

    Args:
      root: a Trackable.
    """

    def __init__(self, root: Any) -> None:
        self._root = root

    @property
    def root(self) -> Any:
        """The object that it begins with."""
        return self._root

    @classmethod
    def children(cls, obj: Any, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """The children of an object by name.

        Args:
          obj: a Trackable.
          save_type: "checkpoint".
          **kwargs: handed to the object.
        """
        return object_graph.children_of(obj, save_type=save_type, **kwargs)

    def descendants(self) -> list[Any]:
        """All objects, breadth first, the root first."""
        graph = object_graph.walk(self._root)
        return graph.nodes[: len(graph.nodes) - len({slot.node for slot in graph.slots})]


class CheckpointView:
    """The objects in a checkpoint, by number; 0 is the root.

    Args:
      save_path: the prefix of a checkpoint of objects.

    Raises:
      NotFoundError: there is none, or it was saved by names.
    """

    def __init__(self, save_path: Any) -> None:
        with open_checkpoint(save_path) as contents:
            message = read_object_graph(contents)
            if message is None:
                raise contents.missing("_CHECKPOINTABLE_OBJECT_GRAPH")
        self._children = [{c.local_name: c.node_id for c in n.children} for n in message.nodes]

    def children(self, node_id: int) -> dict[str, int]:
        """The children of a node: number by name.

        Args:
          node_id: the node's number.

        Raises:
          IndexError: there is no such node.
        """
        return dict(self._children[node_id])

    def descendants(self) -> list[int]:
        """The numbers of all nodes that children lead to, breadth first."""
        found = [0]
        for number in found:
            found += [n for n in dict.fromkeys(self._children[number].values()) if n not in found]
        return found

    def match(self, obj: Any) -> dict[int, Any]:
        """The objects below `obj` by the numbers of the nodes that have the same names.

        Args:
          obj: a Trackable.
        """
        found: dict[int, Any] = {0: obj}
        waiting = [0]
        for number in waiting:
            children = object_graph.children_of(found[number])
            for name, child in self._children[number].items():
                if name in children and child not in found:
                    found[child] = children[name]
                    waiting.append(child)
        return found

    def diff(self, obj: Any) -> tuple[dict[int, Any], list[int], list[Any]]:
        """What matches, which nodes do not, which objects do not.

        Args:
          obj: a Trackable.

        Returns:
          Objects by node number; node numbers; objects.
        """
        matched = self.match(obj)
        known = {id(each) for each in matched.values()}
        objects = [each for each in TrackableView(obj).descendants() if id(each) not in known]
        return matched, [n for n in self.descendants() if n not in matched], objects
