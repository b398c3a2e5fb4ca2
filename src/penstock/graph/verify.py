"""Checks that a graph is what every part of the system takes for granted.

Names are unique and lead to their operation; edges come from outputs that exist and have the dtype
that the reader expects; consumers are known; control inputs belong to the graph; nothing waits for
itself (but for the way back of a loop); and the shape rules agree with the shapes that are noted.

Passes call `verify_graph` in debug mode. What it finds is a defect of ours, so it raises
InternalError, with the operation and its neighbours as text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from penstock import errors
from penstock.core import attributes
from penstock.graph.printer import operation_text
from penstock.types import dims as d
from penstock.util.names import OP_NAME, is_valid_op_name
from penstock.util.toposort import CycleError, topological_sort

if TYPE_CHECKING:
    from penstock.graph.graph import Graph
    from penstock.graph.operation import Operation

BACK_EDGES = {"NextIteration": "Merge", "RefNextIteration": "RefMerge"}
MAX_NEIGHBOURS = 8  # of each kind that an error shows


def verify_graph(graph: Graph) -> None:
    """Checks a graph.

    Raises:
      InternalError: it contradicts itself; names the operation and its neighbours.
    """
    ops = graph.get_operations()
    for op in ops:
        _check_name(graph, op)
        _check_inputs(graph, op)
        _check_outputs(op)
        _check_shapes(graph, op)
    try:
        topological_sort(ops, predecessors, lambda op: op.name)  # type: ignore[attr-defined]
    except CycleError as problem:
        _fail(problem.cycle[0], "no operation that waits for itself", str(problem))  # type: ignore[arg-type]


def predecessors(op: Operation) -> Iterator[Operation]:
    """The operations that must run before `op`, but for the way back of a loop."""
    for tensor in op.inputs:
        if BACK_EDGES.get(tensor.op.type) != op.type:
            yield tensor.op
    yield from op._control_inputs


def _check_name(graph: Graph, op: Operation) -> None:
    if graph._ops.get(op.name) is not op:
        _fail(op, "its name to lead to it", f"{graph._ops.get(op.name)!r}")
    if op.graph is not graph:
        _fail(op, f"an operation of {graph!r}", f"one of {op.graph!r}")
    if not is_valid_op_name(op.name):
        _fail(op, f"a name that matches {OP_NAME.pattern}", repr(op.name))


def _check_inputs(graph: Graph, op: Operation) -> None:
    for index, tensor in enumerate(op.inputs):
        source: Operation = tensor.op
        if id(graph._ops.get(source.name)) != id(source):
            _fail(op, f"input {index} to be of this graph", repr(tensor))
        position = tensor.value_index
        if position >= len(source._outputs) or source._outputs[position] is not tensor:
            _fail(op, f"input {index} to be an output of '{source.name}'", repr(tensor))
        if not any(user is op for user in graph._consumers.get((source.name, position), ())):
            _fail(op, f"'{source.name}' to know it as a consumer", "no such entry")
    for control in op._control_inputs:
        if graph._ops.get(control.name) is not control:
            _fail(op, "control inputs of this graph", repr(control))
    counts = op.input_counts or (1,) * len(op.op_def.inputs)
    if sum(counts) != len(op.inputs):
        _fail(op, f"{sum(counts)} inputs", str(len(op.inputs)))
    given = {name: op.attrs[name] for name in op.op_def.attrs if name in op.attrs}
    try:
        attributes.complete(op.op_def, [t.dtype for t in op.inputs], given, counts)
    except (TypeError, ValueError) as problem:
        _fail(op, "attributes that fit inputs and definition", str(problem))


def _check_outputs(op: Operation) -> None:
    expected = attributes.output_dtypes(op.op_def, op.attrs)
    found = [tensor.dtype for tensor in op._outputs]
    if len(found) != len(expected) or any(
        a.base_dtype is not b.base_dtype for a, b in zip(found, expected, strict=True)
    ):
        _fail(op, f"outputs {[t.name for t in expected]}", f"{[t.name for t in found]}")


def _check_shapes(graph: Graph, op: Operation) -> None:
    try:
        shapes = graph.infer_shapes(
            op.op_def, op.inputs, op.attrs, len(op._outputs), op.name, op.frames
        )
    except ValueError as problem:
        _fail(op, "inputs that fit the shape rule", str(problem))
    for tensor, dims in zip(op._outputs, shapes, strict=True):
        try:
            d.merge(tensor.dims, dims)
        except ValueError:
            _fail(
                op,
                f"output {tensor.value_index} of shape {d.text(dims)}, as the rule says",
                d.text(tensor.dims),
            )


def _fail(op: Operation, expected: str, got: str) -> NoReturn:
    text = errors.located(f"{op.type} '{op.name}'", expected, got, created_at=op.location)
    raise errors.InternalError(None, op, f"{text}\n{neighbourhood(op)}")


def neighbourhood(op: Operation) -> str:
    """The operation, marked, between those it reads from and those that read from it."""
    before = list(dict.fromkeys([*(t.op for t in op.inputs), *op._control_inputs]))
    after = [
        user
        for tensor in op._outputs
        for user in op.graph._consumers.get((op.name, tensor.value_index), ())
    ]
    lines = [f"    {operation_text(other)}" for other in before[:MAX_NEIGHBOURS]]
    lines.append(f"  > {operation_text(op)}")
    users = list(dict.fromkeys(after))[:MAX_NEIGHBOURS]
    lines += [f"    {operation_text(other)}" for other in users]
    return "\n".join(lines)
