"""Functions of one element as functions of many: by a rule for each operation.

`vectorized` makes a body whose first inputs have a row for each element. It gives None where an
operation has no rule, or one that does not hold for its inputs; then elements are taken one by one.
Operations with effects or random numbers have none, nor do functions that read resources: what they
hold may change between elements.

What is guaranteed: an operation gives for rows, bit for bit, what it gives for one element after
the other. Sums and products of floating-point numbers along an axis, and what is built on them,
depend on the order of additions, and have no rule. Bodies for rows with floating-point numbers run
operation by operation: compiled together they would be rounded otherwise, as soon as a number of
rows has come twice, and a restored iterator would not give the same. Functions of large elements,
for which a call is cheap, are left one by one and compiled as everywhere.

Rules are in the modules `row_elements`, `row_layout` and `row_examples`.
"""

import threading
import weakref
from collections.abc import Sequence

from penstock.core import context
from penstock.data import row_elements as _elements  # noqa: F401  registers rules
from penstock.data import row_examples as _examples  # noqa: F401  registers rules
from penstock.data import row_layout as _layout  # noqa: F401  registers rules
from penstock.data.row_graph import RULES, NoRule, RowGraph, Value
from penstock.graph.body import CallBody
from penstock.graph.func_graph import FuncGraph
from penstock.graph.operation import Operation
from penstock.types import dtypes as dt

_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_CHECKS = ("CheckNumerics", "CheckNumericsV2")  # their only effect is to fail
LARGEST = 1 << 12  # elements of a value: of larger ones a call each costs nothing to speak of


def vectorized(body: CallBody, mapped: int) -> CallBody | None:
    """The body for rows of its first `mapped` inputs, or None.

    Args:
      body: the function.
      mapped: how many inputs are components of an element; the others are the same for all.
    """
    if not mapped or any(t.dtype is dt.resource for t in body.inputs):
        return None
    if any(_is_large(t.dims) for t in (*body.inputs[:mapped], *body.outputs)):
        return None
    graph = FuncGraph(f"{body.graph.name}_rows")
    graph.outer_graph = None
    rows = RowGraph(graph)
    try:
        with context.graph_scope(graph), context.no_recording():
            values = []
            for i, t in enumerate(body.inputs):
                dims = t.dims if i >= mapped or t.dims is None else (None, *t.dims)
                values.append(Value(graph.add_input(t.dtype, dims, f"args_{i}"), i < mapped))
            made = _outputs(rows, body, values)
            graph.outputs = [rows.spread(v).tensor for v in made]
    except (NoRule, ValueError, TypeError):  # the latter say that a shape does not fit
        return None
    graph.finish()
    return CallBody(f"{body.name}_rows", graph)


_found: "weakref.WeakKeyDictionary[CallBody, CallBody | None]" = weakref.WeakKeyDictionary()
_lock = threading.Lock()  # guards: _found


def rows_of_body(body: CallBody, mapped: int) -> CallBody | None:
    """As `vectorized`, for all datasets of a function: it is looked for once. Thread-safe."""
    with _lock:
        if body in _found:
            return _found[body]
    made = vectorized(body, mapped)
    with _lock:
        return _found.setdefault(body, made)


def _is_large(dims: Sequence[int | None] | None) -> bool:
    size = 1
    for n in dims or ():
        if n is None:
            return False
        size *= n
    return size > LARGEST


def _outputs(rows: RowGraph, body: CallBody, given: Sequence[Value]) -> list[Value]:
    """The outputs of a body for values of its inputs."""
    found = {id(t): value for t, value in zip(body.inputs, given, strict=True)}
    for op in body.graph.get_operations():
        if any(id(t) in found for t in op.outputs):
            continue  # an input
        made = _made(rows, op, [found[id(t)] for t in op.inputs])
        if any(v.rows and _is_large(v.dims) for v in made):
            raise NoRule  # a block of them would take as much memory as its elements together
        found.update((id(t), value) for t, value in zip(op.outputs, made, strict=True))
    return [found[id(t)] for t in body.outputs]


def _made(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    if op.type in _CALLS:
        return _called(rows, op, values)
    if (op.op_def.stateful and op.type not in _CHECKS) or op.device:
        raise NoRule
    if not any(v.rows for v in values):
        return rows.again(op, values)
    known = RULES.get(op.type)
    if known is None:
        raise NoRule
    return known(rows, op, values)


def _called(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    """The outputs of a call: those of the operations of its function."""
    body = op.attrs["f"]
    if not isinstance(body, CallBody) or body.must_compile or body.control_outputs:
        raise NoRule
    return _outputs(rows, body, values)
