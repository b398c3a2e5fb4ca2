"""`tf.compat.v1.wrap_function`: code written for graphs as a function of eager tensors.

Nothing is added to what the code says: variables of `get_variable` are kept by the function, and an
operation runs when what is fetched needs it, not for its effects alone. `prune` makes a function of
other inputs and outputs of the same graph.
"""

from collections.abc import Callable, Sequence
from typing import Any

from penstock.core import context
from penstock.core.composite import CompositeTensor
from penstock.core.convert import convert_to_tensor
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.func_graph import FuncGraph
from penstock.graph.import_graph import import_graph_def
from penstock.graph.operation import Operation
from penstock.ops.variable_store import VariableStore, keeping
from penstock.tracing.concrete import ConcreteFunction
from penstock.types.tensor_spec import TensorSpec
from penstock.util import nest


class _WrappedGraph(FuncGraph):
    """A function's graph in which operations have the order that the code gives them, no other."""

    orders_effects = False


class WrappedFunction(ConcreteFunction):
    """Code of graphs as a function.

    Attributes:
      graph: the FuncGraph that the code added its operations to.
    """

    def __init__(self, graph: FuncGraph, store: VariableStore | None = None) -> None:
        self._store = store  # keeps the variables alive
        super().__init__(graph)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls with one tensor for each in the signature.

        Raises:
          NotImplementedError: keywords are given.
          TypeError: a tensor is missing, superfluous, or of another shape.
        """
        if kwargs:
            raise NotImplementedError(
                "Keyword arguments are not supported when calling a wrap_function-decorated"
                f" function: expected positional ones, got {kwargs}. Pass them by position."
            )
        return super().__call__(*args)

    def prune(
        self, feeds: Any, fetches: Any, name: str | None = None, input_signature: Any = None
    ) -> "WrappedFunction":
        """A function of other inputs and outputs of the graph.

        Args:
          feeds: a nest of tensors of the graph, or their names: the inputs, in flat order.
          fetches: a nest of tensors and operations, or their names: the outputs. The function gives
            None for an operation, which it runs.
          name: of the new function.
          input_signature: the specs of the inputs as a pair of args and kwargs, for the text of the
            function; those of `feeds` if None.

        Returns:
          A WrappedFunction that shares the variables.

        Raises:
          KeyError: the graph has nothing of a name.
          ValueError: an output needs an input that is not among the feeds; a feed is no tensor.
        """
        inputs = [self.graph.as_graph_element(f) for f in nest.flatten(feeds)]
        for found in inputs:
            if not isinstance(found, SymbolicTensor):
                raise ValueError(
                    f"Feeds must be tensors: expected a name such as 'x:0', got {found!r}."
                )
        wanted = nest.map_structure(self.graph.as_graph_element, fetches)
        graph = _WrappedGraph(name or f"{self.graph.name}_pruned")
        copy = _Copy(self.graph, graph, inputs)
        graph.structured_outputs = nest.map_structure(
            lambda f: copy.tensor(f) if isinstance(f, SymbolicTensor) else None, wanted
        )
        operations = [f for f in nest.flatten(wanted) if isinstance(f, Operation)]
        graph.control_outputs = [copy.operation(op) for op in operations]
        specs = tuple(TensorSpec(t.shape, t.dtype, t.op.name) for t in inputs)
        graph.structured_input_signature = input_signature or (specs, {})
        _settle_outputs(graph)
        for variable in self.graph.variables:
            if any(variable.handle is outer for outer in graph.external_captures):
                graph.watch_variable(variable)
        return WrappedFunction(graph, self._store)


class _Copy:
    """What is needed of one function's graph, added to another."""

    def __init__(self, source: FuncGraph, target: FuncGraph, feeds: Sequence[Any]) -> None:
        self._source = source
        self._target = target
        self._outer = {id(inner): outer for outer, inner in source.captures}
        self._tensors: dict[int, SymbolicTensor] = {}
        self._operations: dict[int, Operation] = {}
        for feed in feeds:
            made = target.add_input(feed.dtype, feed.dims, feed.op.name)
            made._handle_data = getattr(feed, "_handle_data", None)
            self._tensors[id(feed)] = made

    def tensor(self, tensor: SymbolicTensor) -> SymbolicTensor:
        """The tensor that stands for one of the source."""
        if id(tensor) not in self._tensors:
            self._add(tensor.op)
        return self._tensors[id(tensor)]

    def operation(self, op: Operation) -> Operation:
        """The operation that stands for one of the source."""
        if op._id not in self._operations:
            self._add(op)
        return self._operations[op._id]

    def _add(self, last: Operation) -> None:
        for op in self._needed(last):
            outer = self._outer.get(id(op.outputs[0])) if op.outputs else None
            if outer is not None:
                self._tensors[id(op.outputs[0])] = self._target.capture(outer, op.name)
                continue
            if op.type == "Placeholder":
                raise ValueError(
                    f"prune: '{last.name}' needs '{op.name}': expected every input that it needs"
                    " among the feeds, got others. Add it to them."
                )
            waits = [self._operations[c._id] for c in op.control_inputs]
            with self._target.control_dependencies(waits), self._target.device(op.device or None):
                made = self._target.add_operation(
                    op.op_def,
                    tuple(self._tensors[id(t)] for t in op.inputs),
                    op.input_counts,
                    dict(op.attrs),
                    op.name,
                )
            self._operations[op._id] = made
            for old, new in zip(op.outputs, made.outputs, strict=True):
                self._tensors.setdefault(id(old), new)  # a feed stays the input that it is

    def _needed(self, last: Operation) -> list[Operation]:
        """What `last` needs and is not there yet, in the order of the source."""
        found: dict[int, Operation] = {}
        stack = [last]
        while stack:
            op = stack.pop()
            if op._id in found or op._id in self._operations:
                continue
            found[op._id] = op
            stack += [t.op for t in op.inputs if id(t) not in self._tensors]
            stack += op.control_inputs
        return [found[number] for number in sorted(found)]


def wrap_function(
    fn: Callable[..., Any], signature: Sequence[Any], name: str | None = None
) -> WrappedFunction:
    """Makes a function of code that builds a graph.

    Args:
      fn: takes a placeholder for each spec, returns a nest of tensors and operations. It is not
        converted, and may make variables by `tf.compat.v1.get_variable`.
      signature: a nest of TensorSpecs, one for each parameter.
      name: part of the name of the graph.

    Returns:
      A WrappedFunction.

    Example:
      >>> import penstock as tf
      >>> double = tf.compat.v1.wrap_function(lambda x: x * 2, [tf.TensorSpec([None], tf.int32)])
      >>> double(tf.constant([1, 2])).numpy().tolist()
      [2, 4]
    """
    store = VariableStore({}, {}, keeps=True)
    graph = _WrappedGraph("wrapped_function" + (f"_{name}" if name else ""), collections={})
    with context.graph_scope(graph), context.no_recording(), keeping(store):
        places = nest.map_structure(
            lambda s: graph.add_input(s.dtype, s.shape.dims_tuple, s.name or "Placeholder"),
            list(signature),
        )
        result = fn(*places)
        operations = [r for r in nest.flatten(result) if isinstance(r, Operation)]
        graph.structured_outputs = nest.map_structure(lambda r: _output(graph, r), result)
    graph.control_outputs = operations
    graph.structured_input_signature = (tuple(signature), {})
    _settle_outputs(graph)
    return WrappedFunction(graph, store)


def function_from_graph_def(
    graph_def: Any, inputs: Any, outputs: Any, captures: Any = None
) -> WrappedFunction:
    """A function of the operations of a GraphDef.

    Args:
      graph_def: the GraphDef.
      inputs: a nest of the names of the inputs, such as "x:0".
      outputs: a nest of the names of the outputs.
      captures: eager tensors by the names of the placeholders that they take the place of.

    Returns:
      A WrappedFunction.
    """

    def build() -> None:
        taken = {name: context.state.graph.capture(t) for name, t in (captures or {}).items()}
        import_graph_def(graph_def, input_map=taken or None, name="")

    return wrap_function(build, []).prune(inputs, outputs)


def _output(graph: FuncGraph, value: Any) -> Any:
    if value is None or isinstance(value, Operation):
        return None
    if isinstance(value, CompositeTensor):
        return nest.map_structure(graph.as_tensor, value, expand_composites=True)
    return graph.as_tensor(convert_to_tensor(value))


def _settle_outputs(graph: FuncGraph) -> None:
    flat = nest.flatten(graph.structured_outputs, expand_composites=True)
    graph.outputs = list({id(t): t for t in flat if isinstance(t, SymbolicTensor)}.values())


__all__ = ["WrappedFunction", "function_from_graph_def", "wrap_function"]
