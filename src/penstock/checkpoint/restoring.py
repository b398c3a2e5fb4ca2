"""Restoring: a checkpoint's graph of objects is laid over the program's, as far as both go.

`Restoration.bind` joins a node of the checkpoint with an object, restores the object's tensors, and
goes on to the children of the same names. The object remembers the restoration as long as it has
parts that nothing was joined with, so that children and slots that come later are restored when
they come. Eagerly values are read on several threads and assigned when the walk is done; in a graph
the walk adds operations, which a session runs.
"""

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

from penstock import errors, proto
from penstock.checkpoint import object_graph
from penstock.checkpoint.options import OBJECT_GRAPH_KEY, CheckpointOptions
from penstock.core.bundle.coding import data_loss
from penstock.core.bundle.reader import BundleReader, Contents
from penstock.core.context import state
from penstock.core.execute import execute
from penstock.core.tensor import wrap
from penstock.core.trackable import Trackable

BATCH = 32  # tensors that are read before they are assigned


def read_object_graph(contents: Contents) -> Any | None:
    """The TrackableObjectGraph of a checkpoint; None when it was saved by names.

    Raises:
      DataLossError: it is damaged.
    """
    if not contents.has(OBJECT_GRAPH_KEY):
        return None
    where = f"{contents.path}, tensor '{OBJECT_GRAPH_KEY}'"
    value = contents.read(OBJECT_GRAPH_KEY)
    message = proto.trackable_object_graph_pb2.TrackableObjectGraph()
    try:
        message.ParseFromString(value.item())
    except (proto.message.DecodeError, TypeError, ValueError) as problem:
        raise data_loss(where, "a TrackableObjectGraph", f"other bytes ({problem})") from None
    count = len(message.nodes)
    numbers = [c.node_id for node in message.nodes for c in node.children]
    for node in message.nodes:
        for slot in node.slot_variables:
            numbers += [slot.original_variable_node_id, slot.slot_variable_node_id]
    if not count or any(not 0 <= number < count for number in numbers):
        raise data_loss(where, f"references to {count} nodes", f"{max(numbers, default=0)}")
    return message


class Restoration:
    """One checkpoint that is being restored.

    Args:
      contents: an open reader of it.
      message: its graph of objects.
      options: whether slots are left out.
      graph: the graph that operations go into; None eagerly.
      prefix: the checkpoint's path, as a tensor in a graph.
    """

    def __init__(
        self,
        contents: Contents,
        message: Any,
        options: CheckpointOptions,
        graph: Any = None,
        prefix: Any = None,
    ) -> None:
        self.contents, self.message, self.graph, self.prefix = contents, message, graph, prefix
        self.skip_slots = options.experimental_skip_slot_variables
        self.bound: dict[int, Any] = {}  # number of a node -> weak reference to its object
        self.operations: list[Any] = []  # in a graph: what restores
        self.unused: list[tuple[Any, str]] = []  # tensors that the object did not know
        self._queue: list[tuple[Any, int]] | None = None
        self._children = [{c.local_name: c.node_id for c in n.children} for n in message.nodes]

    def start(self, root: Any, extra: dict[str, Any]) -> None:
        """Joins the root, and everything below it that is there."""
        with self._collecting():
            self.bind(0, root)
            for name, child in extra.items():
                self.bind_child(0, name, child)

    def object(self, node: int) -> Any | None:
        """What a node is joined with, or None."""
        found = self.bound.get(node)
        return None if found is None else found()

    @contextlib.contextmanager
    def _collecting(self) -> Iterator[None]:
        """Restores at the end what is joined inside."""
        if self._queue is not None:
            yield
            return
        self._queue = []
        try:
            yield
            queue = self._queue
            if self.graph is not None:
                for trackable, node in queue:
                    self._add_operations(trackable, node)
            else:
                self._assign(queue)
        finally:
            self._queue = None

    def bind_child(self, node: int, name: str, child: Any) -> None:
        """Joins a child that came later, if the checkpoint has it."""
        number = self._children[node].get(name)
        if number is not None:
            self.bind(number, child)
            self._stop_waiting(node)

    def bind(self, node: int, trackable: Any) -> None:
        """Joins an object with a node, and its children with the node's.

        A node is joined once: what takes an object's place later keeps its own values.
        """
        with self._collecting():
            waiting, joined = [(node, trackable)], []
            while waiting:
                number, found = waiting.pop()
                if number in self.bound:
                    continue
                joined.append(number)
                self.bound[number] = weakref.ref(found)
                self._wait_in(found, number)
                if self.message.nodes[number].attributes:
                    assert self._queue is not None
                    self._queue.append((found, number))
                children = object_graph.children_of(found)
                for name, child_number in self._children[number].items():
                    if name in children:
                        waiting.append((child_number, children[name]))
                self._bind_slots(number, found)
            for number in joined:
                self._stop_waiting(number)

    def _stop_waiting(self, number: int) -> None:
        """Forgets about a node all of whose children and slots are joined."""
        node = self.message.nodes[number]
        missing = [c for c in self._children[number].values() if c not in self.bound]
        missing += [s for s in node.slot_variables if s.slot_variable_node_id not in self.bound]
        found = self.object(number)
        if found is not None and not missing:
            pending = found.__dict__["_self_pending"]
            pending[:] = [each for each in pending if each != (self, number)]

    def _wait_in(self, trackable: Any, number: int) -> None:
        """Lets the object hand over what comes later; older checkpoints of no more use go."""
        names = set(self._children[number])
        pending = trackable.__dict__.setdefault("_self_pending", [])
        pending[:] = [
            (other, n) for other, n in pending if other is not self and not other.within(n, names)
        ]
        if names or self.message.nodes[number].slot_variables:
            pending.append((self, number))

    def within(self, number: int, names: set[str]) -> bool:
        """Whether a node has no other children than those."""
        return set(self._children[number]) <= names

    def _bind_slots(self, number: int, trackable: Any) -> None:
        """Joins the slots of an optimizer, or of all optimizers for a variable."""
        if self.skip_slots:
            return
        optimizers = [number] if object_graph.is_optimizer(trackable) else list(self.bound)
        for each in optimizers:
            optimizer = self.object(each)
            if optimizer is None or not object_graph.is_optimizer(optimizer):
                continue
            for slot in self.message.nodes[each].slot_variables:
                variable = self.object(slot.original_variable_node_id)
                if variable is None or slot.slot_variable_node_id in self.bound:
                    continue
                found = optimizer.get_slot(variable, slot.slot_name)
                if found is None and self.graph is None:
                    self._make_slot(optimizer, variable, slot)
                elif found is not None:
                    self.bind(slot.slot_variable_node_id, found)

    def _make_slot(self, optimizer: Any, variable: Any, slot: Any) -> None:
        """Makes a slot that the optimizer has not made yet, so that nothing has to wait for it."""
        make = getattr(optimizer, "_make_restored_slot", None)
        attributes = self.message.nodes[slot.slot_variable_node_id].attributes
        if make is None or len(attributes) != 1 or not variable.is_initialized():
            return
        key, name = attributes[0].checkpoint_key, attributes[0].full_name.rpartition("/")[2]
        value = wrap(self.contents.read(key), self.contents.info(key).dtype)
        make(variable, value, slot.slot_name, name or slot.slot_name)

    def slot_added(self, node: int, variable: Any, name: str, slot: Any) -> None:
        """Joins a slot that came later, if the checkpoint has it."""
        if self.skip_slots:
            return
        for each in self.message.nodes[node].slot_variables:
            if each.slot_name == name and self.object(each.original_variable_node_id) is variable:
                self.bind(each.slot_variable_node_id, slot)
        self._stop_waiting(node)

    # Values.

    def _tensors_of(self, node: int) -> list[tuple[str, str]]:
        """The names and keys of an object's tensors.

        TensorFlow states one attribute for the several tensors of a table: a name and a key that
        those of the tensors begin with.
        """
        found = []
        for each in self.message.nodes[node].attributes:
            name, key = each.name, each.checkpoint_key
            if self.contents.has(key):
                found.append((name, key))
                continue
            ends = [n[len(key) :] for n in self.contents.names() if n.startswith(f"{key}-")]
            found += [(name + end, key + end) for end in ends] or [(name, key)]
        return found

    def _assign(self, queue: list[tuple[Any, int]]) -> None:
        for begin in range(0, len(queue), BATCH):
            part = [(o, self._tensors_of(n)) for o, n in queue[begin : begin + BATCH]]
            keys = [key for _, pairs in part for _, key in pairs]
            if isinstance(self.contents, BundleReader):
                values = dict(zip(keys, self.contents.read_all(keys), strict=True))
            else:
                values = {key: self.contents.read(key) for key in keys}
            for trackable, pairs in part:
                tensors = {
                    name: wrap(values[key], self.contents.info(key).dtype) for name, key in pairs
                }
                self._hand_over(trackable, tensors)

    def _add_operations(self, trackable: Any, number: int) -> None:
        before = state.graph
        if before is not self.graph:
            raise RuntimeError(
                "a checkpoint that was restored in a graph: expected new objects in the same graph."
            )
        pairs = self._tensors_of(number)
        keys = [key for _, key in pairs]
        dtypes = [self.contents.info(key).dtype for key in keys]
        values = execute("RestoreV2", (self.prefix, keys, [""] * len(keys)), {"dtypes": dtypes})
        for value, key in zip(values, keys, strict=True):
            value.set_shape(self.contents.info(key).shape)
        tensors = dict(zip([name for name, _ in pairs], values, strict=True))
        added = self._hand_over(trackable, tensors)
        for each in added if isinstance(added, list | tuple) else [added]:
            if each is not None:
                self.operations.append(getattr(each, "op", each))

    def _hand_over(self, trackable: Any, tensors: dict[str, Any]) -> Any:
        if type(trackable)._restore_from_tensors is _BASE_RESTORE:
            self.unused += [(trackable, name) for name in tensors]
            return None
        return trackable._restore_from_tensors(tensors)


_BASE_RESTORE = Trackable._restore_from_tensors


def error_with_path(problem: errors.OpError, path: str) -> errors.OpError:
    """The error for a checkpoint that `restore` does not find."""
    return errors.NotFoundError(
        None,
        None,
        f"Error when restoring from checkpoint or SavedModel at {path}: {problem.message}\n"
        "Please double-check that the path is correct. You may be missing the checkpoint suffix "
        "(e.g. the '-1' in 'path/to/ckpt-1').",
    )
