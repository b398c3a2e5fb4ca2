"""What `restore` returns: questions about what was matched, and the operations of a graph."""

from typing import Any

from penstock.checkpoint import object_graph
from penstock.checkpoint.restoring import Restoration
from penstock.core.context import state
from penstock.core.trackable import Container, Trackable, Wrapper
from penstock.ops.variables_v1 import variables_initializer
from penstock.runtime.client import get_default_session

SHOWN = 10


class CheckpointLoadStatus:
    """The outcome of a restoration that matches objects.

    Args:
      restoration: the restoration.
      root: the object that it began with.
      extra: more children of the root.
    """

    def __init__(self, restoration: Restoration, root: Any, extra: dict[str, Any]) -> None:
        self._restoration, self._root, self._extra = restoration, root, extra

    def _walk(self) -> object_graph.ObjectGraph:
        return object_graph.walk(self._root, self._extra)

    def assert_consumed(self) -> "CheckpointLoadStatus":
        """Refuses unless everything in the program and in the checkpoint was matched.

        Raises:
          AssertionError: an object or a value has no counterpart.
        """
        self.assert_existing_objects_matched()
        restoration = self._restoration
        for number, node in enumerate(restoration.message.nodes):
            empty = node.HasField("has_checkpoint_values") and not node.has_checkpoint_values.value
            if not empty and restoration.object(number) is None:
                raise AssertionError(
                    f"Unresolved object in checkpoint {_path_to(restoration.message, number)}: "
                    f"{node}Expected an object of the program for it. Create the object, or call "
                    "expect_partial()."
                )
        if restoration.unused:
            trackable, name = restoration.unused[0]
            raise AssertionError(
                f"Unused attributes in object {trackable!r}: expected it to restore {name!r}."
            )
        return self

    def assert_existing_objects_matched(self) -> "CheckpointLoadStatus":
        """Refuses unless every object of the program that has state was matched.

        Raises:
          AssertionError: an object was not.
        """
        matched = {id(self._restoration.object(n)) for n in self._restoration.bound}
        loose = [
            node
            for node in self._walk().nodes
            if id(node) not in matched and not isinstance(node, Container | Wrapper)
            if _has_state(node)
        ]
        if loose:
            raise AssertionError(
                f"Found {len(loose)} Python objects that were not bound to checkpointed values, "
                f"likely due to changes in the Python program. Showing {min(SHOWN, len(loose))} of "
                f"{len(loose)} unmatched objects: {loose[:SHOWN]}"
            )
        return self

    def assert_nontrivial_match(self) -> "CheckpointLoadStatus":
        """Refuses when nothing but the root was matched.

        Raises:
          AssertionError: that is so.
        """
        restoration = self._restoration
        if any(n and restoration.object(n) is not None for n in restoration.bound):
            return self
        if len(self._walk().nodes) < 2:
            raise AssertionError(
                f"Nothing to load. No dependencies have been added to {self._root!r} yet."
            )
        raise AssertionError(
            "Nothing except the root object matched a checkpointed value: expected at least one "
            f"object with a name of {sorted(restoration._children[0])}. Typically this means that "
            "the checkpoint does not match the Python program."
        )

    def expect_partial(self) -> "CheckpointLoadStatus":
        """Says that not everything needs to be matched. Nothing warns of it here in any case."""
        return self

    def run_restore_ops(self, session: Any = None) -> None:
        """In a graph: runs what restores. Eagerly everything is done.

        Args:
          session: the session; the default one when None.
        """
        if self._restoration.graph is not None and self._restoration.operations:
            _session(session).run(self._restoration.operations)

    def initialize_or_restore(self, session: Any = None) -> None:
        """In a graph: initializes what the checkpoint does not have, and restores the rest.

        Args:
          session: the session; the default one when None.
        """
        graph = self._restoration.graph
        if graph is None:
            return
        matched = {id(self._restoration.object(n)) for n in self._restoration.bound}
        _initialize([n for n in self._walk().nodes if id(n) not in matched], session)
        self.run_restore_ops(session)


def _has_state(node: Any) -> bool:
    if object_graph.is_variable(node):
        return True
    return type(node)._serialize_to_tensors is not Trackable._serialize_to_tensors


def _path_to(message: Any, number: int) -> str:
    paths, waiting = {0: "(root)"}, [0]
    for at in waiting:
        for child in message.nodes[at].children:
            if child.node_id not in paths:
                paths[child.node_id] = f"{paths[at]}.{child.local_name}"
                waiting.append(child.node_id)
    return paths.get(number, f"node {number}, a slot")


def _session(session: Any) -> Any:
    found = session if session is not None else get_default_session()
    if found is None:
        raise ValueError(
            "expected a session in a graph, got none. Pass session=, or enter one with "
            "`with session.as_default():`."
        )
    return found


def _initialize(nodes: list[Any], session: Any) -> None:
    variables = [n for n in nodes if object_graph.is_variable(n) and n._in_graph_mode]
    if variables:
        _session(session).run(variables_initializer(variables))


class InitializationOnlyStatus:
    """The outcome of restoring from None: nothing was restored.

    Args:
      root: the object that would have been restored.
      extra: more children of the root.
    """

    def __init__(self, root: Any, extra: dict[str, Any]) -> None:
        self._root, self._extra = root, extra

    def _refuse(self) -> Any:
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    def assert_consumed(self) -> "InitializationOnlyStatus":
        """Refuses: there is no checkpoint."""
        return self._refuse()  # type: ignore[no-any-return]

    assert_existing_objects_matched = assert_consumed
    assert_nontrivial_match = assert_consumed

    def expect_partial(self) -> "InitializationOnlyStatus":
        """Does nothing."""
        return self

    def run_restore_ops(self, session: Any = None) -> None:
        """Refuses: there is no checkpoint.

        Raises:
          AssertionError: always.
        """
        raise AssertionError(
            "No checkpoint specified, so no restore ops are available (save_path=None to "
            "Saver.restore)."
        )

    def initialize_or_restore(self, session: Any = None) -> None:
        """In a graph: initializes all variables below the root."""
        if state.graph is not None:
            _initialize(object_graph.walk(self._root, self._extra).nodes, session)


class NameBasedSaverStatus:
    """The outcome of restoring variables by their names, from a checkpoint of `Saver`.

    Args:
      missing: the variables that the checkpoint does not have.
      operations: what restores, in a graph.
    """

    def __init__(self, missing: list[Any], operations: list[Any]) -> None:
        self._missing, self._operations = missing, operations

    def assert_consumed(self) -> "NameBasedSaverStatus":
        """Refuses unless every variable of the program was in the checkpoint."""
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self) -> "NameBasedSaverStatus":
        """Refuses unless every variable of the program was in the checkpoint.

        Raises:
          AssertionError: one was not.
        """
        if self._missing:
            lines = "".join(f"\n    {v!r}: ['{v._shared_name}']" for v in self._missing)
            raise AssertionError(f"Some objects had attributes which were not restored: {lines}")
        return self

    def assert_nontrivial_match(self) -> "NameBasedSaverStatus":
        """The same as `assert_existing_objects_matched`."""
        return self.assert_existing_objects_matched()

    def expect_partial(self) -> "NameBasedSaverStatus":
        """Does nothing."""
        return self

    def run_restore_ops(self, session: Any = None) -> None:
        """In a graph: runs what restores."""
        if self._operations:
            _session(session).run(self._operations)

    def initialize_or_restore(self, session: Any = None) -> None:
        """In a graph: initializes what the checkpoint does not have, and restores the rest."""
        _initialize(self._missing, session)
        self.run_restore_ops(session)
