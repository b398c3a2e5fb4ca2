"""Bodies made of Python functions, for conditionals and loops.

`BodyGraph` is the graph of such a body. The variables that a loop only reads are read once, before
the loop: their values do not change in it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from penstock import errors
from penstock.core import context
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute, record
from penstock.core.op_def import OpDef
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import Tensor
from penstock.graph.body import CallBody
from penstock.graph.func_graph import FuncGraph
from penstock.graph.operation import Operation
from penstock.types import dtypes as dt
from penstock.util import nest
from penstock.util.frames import user_frame


class BodyGraph(FuncGraph):
    """The graph of a branch or of a round of a loop.

    Attributes:
      hoists: whether variables are read in the graph around it.
      reads: what was read there: (definition, handle, attributes, value).
      orders_effects: as the graph around it; a plain graph does not.
    """

    def __init__(self, name: str, hoists: bool = False) -> None:
        super().__init__(name)
        self.hoists = hoists
        self.reads: dict[int, tuple[OpDef, Tensor, dict[str, Any], Tensor]] = {}
        self.allow_variables = getattr(self.outer_graph, "allow_variables", True)
        outer = self.outer_graph
        self.orders_effects = outer is None or getattr(outer, "orders_effects", False)

    def add_operation(
        self,
        op: OpDef,
        inputs: Sequence[Tensor],
        counts: Sequence[int] | None,
        attrs: dict[str, Any],
        name: str | None = None,
    ) -> Operation:
        """Adds an operation; the read of a variable may happen outside."""
        if self.hoists and op.name == "ReadVariableOp":
            handle = self._outside(inputs[0])
            if handle is not None:
                return self._read_outside(op, handle, attrs)
        return super().add_operation(op, inputs, counts, attrs, name)

    def _outside(self, handle: Tensor) -> Tensor | None:
        """The tensor of the graph around that `handle` is, or None when it is of this graph."""
        if not isinstance(handle, SymbolicTensor) or handle.graph is not self:
            return handle
        return next((outer for outer, inner in self.captures if inner is handle), None)

    def _read_outside(self, op: OpDef, handle: Tensor, attrs: dict[str, Any]) -> Operation:
        found = self.reads.get(id(handle))
        if found is None:
            outer = self.outer_graph
            with context.graph_scope(outer), context.no_recording():
                value = outer.add_operation(op, (handle,), None, attrs).outputs[0]
            found = self.reads[id(handle)] = (op, handle, attrs, value)
        return self.capture(found[3]).op  # type: ignore[no-any-return]


def as_predicate(value: Any, what: str) -> Any:
    """What a conditional or a loop asks for, as bool[]; a tensor of one element is taken for it.

    Raises:
      InvalidArgumentError: it is no boolean, or has none or several elements, as far as known.
    """
    tensor = convert_to_tensor(value)
    if tensor.dtype is not dt.bool_ or tensor.shape.num_elements() not in (None, 1):
        where = user_frame()
        raise errors.InvalidArgumentError(
            None,
            None,
            f"{what}{f' at {where}' if where else ''}: expected one boolean, got"
            f" {tensor.dtype.name}{tensor.shape}. Compare it with something, or use tf.reduce_any"
            " or tf.reduce_all.",
        )
    return tensor if tensor.shape.rank == 0 else execute("Reshape", (tensor, []))


def as_switch_predicate(value: Any) -> Any:
    """What a conditional of control flow's first kind asks for: bool[], and no vector.

    Raises:
      TypeError: it is no boolean.
      ValueError: its rank is known and not 0.
    """
    tensor = convert_to_tensor(value)
    where = user_frame()
    what = f"tf.cond{f' at {where}' if where else ''}"
    if tensor.dtype is not dt.bool_:
        raise TypeError(
            f"{what}: Input 'pred' of 'Switch' Op has type {tensor.dtype.name} that does not match"
            " expected type of bool. Compare it with something."
        )
    if tensor.shape.rank not in (None, 0):
        raise ValueError(
            f"{what}: Shape must be rank 0 but is rank {tensor.shape.rank}: expected one boolean,"
            f" got {tensor.shape}. Use tf.reduce_any or tf.reduce_all."
        )
    return tensor if tensor.shape.rank == 0 else execute("EnsureShape", (tensor,), {"shape": ()})


def write_what_they_read(graphs: Sequence[BodyGraph]) -> bool:
    """Whether one of the bodies may write a variable that one of them read outside of it."""
    read = {handle for graph in graphs for handle in graph.reads}
    for graph in graphs:
        effects = CallBody(graph.name, graph).effects
        places = {id(t): i for i, t in enumerate(graph.inputs)}
        for outer, inner in graph.captures:
            if id(outer) in read and "w" in effects.get(places[id(inner)], ""):
                return True
    return False


def trace(graph: BodyGraph, function: Callable[[], Any], for_operation: Any = True) -> Any:
    """Runs a Python function in a body's graph; what it returned, as tensors of that graph.

    In the place of an operation that it returns comes `for_operation`, after the operation ran.
    """

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, Operation):
            with graph.control_dependencies([value]):
                return execute("Identity", (convert_to_tensor(for_operation),))
        return graph.as_tensor(convert_to_tensor(value))

    with context.graph_scope(graph), context.no_recording():
        result = function()
        result = (
            None if result is None else nest.map_structure(convert, result, expand_composites=True)
        )
    flat = nest.flatten(result, expand_composites=True)
    graph.structured_outputs = result
    graph.outputs = [t for t in flat if t is not None]
    return result


def share_captures(graphs: Sequence[BodyGraph], own: int = 0) -> list[Tensor]:
    """Gives all graphs the same captured inputs after their first `own`, and says which."""
    outer: dict[int, Tensor] = {}
    for graph in graphs:
        used = {id(t) for op in graph.get_operations() for t in op.inputs}
        used.update(map(id, graph.outputs))
        waited_for = {w for op in graph.get_operations() for w in op.control_inputs}
        used.update(id(t) for w in waited_for for t in w.outputs)
        graph.reset_captures([(t, inner) for t, inner in graph.captures if id(inner) in used])
        outer.update({id(t): t for t in graph.external_captures})
    for graph in graphs:
        inner = [graph.capture(t) for t in outer.values()]
        graph.inputs = [*graph.inputs[:own], *inner]
        graph.finish()
    return list(outer.values())


def note_uses(graphs: Sequence[BodyGraph]) -> None:
    """Tells the recorders and the function around which variables the bodies read and made."""
    for graph in graphs:
        for variable in graph.variables:
            for recorder in state.recorders:
                recorder.watch_variable(variable)
        for op, handle, attrs, value in graph.reads.values():
            if state.recorders:
                record(op, (state.graph.as_tensor(handle),), attrs, (value,))
        if isinstance(graph.outer_graph, FuncGraph):
            graph.outer_graph.new_variables.extend(graph.new_variables)


def emit(
    op: OpDef,
    inputs: Sequence[Tensor],
    counts: Sequence[int],
    attrs: dict[str, Any],
    name: str | None,
) -> Operation:
    """Adds the operation that runs the bodies, and shows it to the recorders."""
    graph = state.graph
    node = graph.add_operation(op, inputs, tuple(counts), attrs, name)
    if state.recorders and node.outputs:
        record(op, node.inputs, node.attrs, tuple(node._outputs))
    return node  # type: ignore[no-any-return]
