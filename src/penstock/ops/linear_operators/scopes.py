"""Name scopes of the methods of linear operators: operator's name, then method's."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from penstock.core.context import state

Method = TypeVar("Method", bound=Callable[..., Any])


def scoped(method: Method) -> Method:
    """Runs a method of an operator in the scope `<operator>/<name>` of the graph, if there is one.

    The method's parameter `name` says which; its default where the caller gives none.
    """
    parameters = list(inspect.signature(method).parameters.values())
    position = [p.name for p in parameters].index("name")
    default = parameters[position].default

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        graph = state.graph
        if graph is None:
            return method(self, *args, **kwargs)
        given = kwargs.get("name") or (args[position - 1] if len(args) >= position else default)
        with graph.name_scope(f"{self._name}/{given or default}"):
            return method(self, *args, **kwargs)

    return call  # type: ignore[return-value]
