"""Resources that a graph lists beside its variables, for sessions to make ready.

Elements of the collections `RESOURCES` and `LOCAL_RESOURCES` have a `handle` (a tensor), an
operation `create` that makes the resource, and `is_initialized`, a boolean tensor.
"""

from typing import Any

from penstock.core.execute import execute
from penstock.graph.behavior import name_scope
from penstock.graph.default_graph import get_default_graph
from penstock.ops.array_basics import constant
from penstock.ops.array_join import concat, stack
from penstock.ops.array_select import boolean_mask
from penstock.ops.variables_v1 import GraphKeys
from penstock.types.dtypes import string


def shared_resources() -> list[Any]:
    """Those that sessions share."""
    return list(get_default_graph().get_collection(GraphKeys.RESOURCES))


def local_resources() -> list[Any]:
    """Those of a session alone."""
    return list(get_default_graph().get_collection(GraphKeys.LOCAL_RESOURCES))


def with_resources(names: Any, resources: list[Any]) -> Any:
    """The names of variables without a value, and of resources that were not made.

    Args:
      names: string[n].
      resources: elements of the collections.

    Returns:
      string[m].
    """
    with name_scope("report_uninitialized_resources"):
        missing = _not_made(resources) if resources else constant([], string)
    return concat([names, missing], 0)


def _not_made(resources: list[Any]) -> Any:
    known = stack([resource.is_initialized for resource in resources])
    not_made = execute("LogicalNot", (known,))
    return boolean_mask([resource.handle.name for resource in resources], not_made)
