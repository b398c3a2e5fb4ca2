"""The graph that operations go to outside of graph scopes, and the global graph of the process."""

import threading

from penstock.core import context
from penstock.graph.graph import Graph

_global_graph: Graph | None = None
_global_lock = threading.Lock()  # guards: _global_graph


def get_default_graph() -> Graph:
    """The graph that operations go to, the global one when no graph scope is entered."""
    current = context.state.graph
    if current is not None:
        return current  # type: ignore[no-any-return]
    return global_graph()


def global_graph() -> Graph:
    """The process's global graph."""
    global _global_graph
    with _global_lock:
        if _global_graph is None:
            _global_graph = Graph()
        return _global_graph


def reset_default_graph() -> None:
    """Replaces the global graph by an empty one.

    Raises:
      AssertionError: inside of a graph scope.
    """
    global _global_graph
    if context.state.stack:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared"
            " graph, exit the nesting and create a new graph."
        )
    with _global_lock:
        _global_graph = None
    if not context.eager_by_default():
        context.state.graph = global_graph()
        context.refresh()
