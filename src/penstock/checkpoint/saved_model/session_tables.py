"""The lookup tables of a session's graph, made anew with the content that they have there."""

from typing import Any

import numpy as np

from penstock import errors
from penstock.checkpoint.saved_model import in_graphs
from penstock.core import context
from penstock.core.execute import execute
from penstock.graph.graph import Graph
from penstock.ops.lookup_initializers import KeyValueTensorInitializer
from penstock.ops.lookup_ops import DENSE, EXPORT, MAKERS, STATIC
from penstock.ops.lookup_tables import (
    DenseHashTable,
    LookupInterface,
    MutableHashTable,
    StaticHashTable,
)
from penstock.runtime.client import Session


def session_tables(
    session: Session, graph: Graph, outer: Graph | None
) -> dict[str, LookupInterface]:
    """A table of ours for each of `graph` that has content, by the name of its operation.

    They are of the graph `outer`, if any: its `tables_initializer` fills them.
    """
    made = {}
    for op in [op for op in graph.get_operations() if op.type in MAKERS]:
        attrs = {"Tkeys": op.attrs["key_dtype"], "Tvalues": op.attrs["value_dtype"]}
        with graph.as_default():
            pair = execute(EXPORT, (op.outputs[0],), attrs)
        try:
            keys, values = session.run(list(pair))
        except errors.AbortedError:
            continue  # it was not filled; a signature that uses it is told so
        reserved = session.run(list(op.inputs))
        with context.graph_scope(outer):
            made[op.name] = _make(op, keys, values, reserved)
    return made


def _make(op: Any, keys: Any, values: Any, reserved: list[Any]) -> LookupInterface:
    key_dtype, value_dtype = op.attrs["key_dtype"], op.attrs["value_dtype"]
    shape = tuple(op.attrs.get("value_shape") or ())
    blank = b"" if value_dtype.name == "string" else 0
    default = np.full(shape, blank, value_dtype.numpy_dtype)
    if op.type == STATIC.name:
        initializer = KeyValueTensorInitializer(keys, values, key_dtype, value_dtype)
        return StaticHashTable(initializer, default)
    if op.type == DENSE.name:
        table: MutableHashTable = DenseHashTable(key_dtype, value_dtype, default, *reserved)
    else:
        table = MutableHashTable(key_dtype, value_dtype, default)
    filled = table._restore_from_tensors({"table-keys": keys, "table-values": values})
    if in_graphs.loads_into_graph():
        in_graphs.initializes_table(filled)
    return table
