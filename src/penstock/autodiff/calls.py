"""The reverse of calls of functions.

The reverse of a body is another body: its inputs are the gradients of some outputs and the values
of the forward pass that the gradient rules use; its outputs are the gradients of the inputs. Values
inside the forward pass that it needs become further outputs of the forward call.

`forward_body(body, closed)` is the view of a body that gives these values. For one derivative the
values for the outputs' gradients suffice; a `closed` view also gives what the derivatives of those
values need, to any order.
"""

from collections.abc import Callable, Sequence
from typing import Any

from penstock.autodiff.frames import FrameLoop, topological
from penstock.autodiff.walk import Record, Sums, as_dense, is_trainable, named_rules, walk
from penstock.autodiff.widening import add_outputs, zeros_for
from penstock.core import context
from penstock.core.attributes import output_dtypes
from penstock.core.composite import IndexedSlices
from penstock.core.context import state
from penstock.core.op_def import lookup
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import Tensor
from penstock.graph.body import CallBody
from penstock.graph.func_graph import FuncGraph
from penstock.graph.implementations import implementation
from penstock.graph.operation import Operation


class Reverse:
    """The reverse of a body for gradients of certain outputs.

    Attributes:
      body: the reverse as a body: inputs are the gradients, then the captured values.
      captured: tensors whose values it needs: of the forward graph, of those around it, or eager.
      layout: for each input of the forward body None, an output index, or three of them for
        IndexedSlices.
    """

    __slots__ = ("body", "captured", "layout")

    def __init__(self, body: CallBody, captured: list[Tensor], layout: list[Any]) -> None:
        self.body = body
        self.captured = captured
        self.layout = layout


def reverse_of(body: CallBody, pattern: tuple[bool, ...]) -> Reverse:
    """The reverse of `body` for gradients of outputs that `pattern` marks. Kept with the body."""
    found = body.backward.get(pattern)
    if found is None:
        found = body.backward[pattern] = build_reverse(body, pattern)
    return found


def build_reverse(
    body: CallBody, pattern: Sequence[bool], sources: Sequence[bool] | None = None
) -> Reverse:
    """The reverse of `body`, with gradients for the inputs that `sources` marks; all by default."""
    forward = body.graph
    graph = ReverseGraph(f"__backward_{body.name}", forward)
    with context.graph_scope(graph), context.no_recording():
        targets = [o for o, marked in zip(body.outputs, pattern, strict=True) if marked]
        grads = [graph.add_input(t.dtype, t.dims, f"grad_{i}") for i, t in enumerate(targets)]
        sums = Sums()
        for target, grad in zip(targets, grads, strict=True):
            sums.add(target, grad)
        marks = sources if sources is not None else [True] * len(body.inputs)
        inputs = [t for t, marked in zip(body.inputs, marks, strict=True) if marked]
        records, wanted = records_between(targets, inputs, forward, body.inputs)
        walk(records, sums, wanted)
        layout = []
        for tensor, marked in zip(body.inputs, marks, strict=True):
            layout.append(_emit(graph, sums.get(id(tensor)) if marked else None))
    graph.finish()
    graph.reset_captures(_used(graph))
    graph.inputs = [*grads, *graph.internal_captures]
    captured = list(graph.external_captures)
    reverse = CallBody(graph.name, graph)
    reverse.must_compile = body.must_compile
    return Reverse(reverse, captured, layout)


class ReverseGraph(FuncGraph):
    """A body enclosed by the forward graph; constants of that are made again, not captured."""

    def __init__(self, name: str, forward: FuncGraph) -> None:
        super().__init__(name)
        self.outer_graph = forward
        self._constants: dict[int, SymbolicTensor] = {}

    def add_operation(
        self,
        op: Any,
        inputs: Sequence[Tensor],
        counts: Sequence[int] | None,
        attrs: dict[str, Any],
        name: str | None = None,
    ) -> Operation:
        """Adds an operation; what is asked of a list of the forward graph is asked there.

        So that the reverse keeps a number instead of the list.
        """
        if op.name in ("TensorListLength", "TensorListElementShape"):
            inside = next((outer for outer, inner in self.captures if inner is inputs[0]), None)
            handle = inputs[0] if inside is None else inside
            if isinstance(handle, SymbolicTensor) and handle.graph is self.outer_graph:
                inputs = (handle,)
                with context.graph_scope(self.outer_graph), context.no_recording():
                    made = self.outer_graph.add_operation(op, inputs, counts, attrs, name)
                captured: Operation = self.capture(made.outputs[0]).op
                return captured
        return super().add_operation(op, inputs, counts, attrs, name)

    def capture(self, tensor: Tensor, name: str | None = None) -> SymbolicTensor:
        """The tensor inside that stands for `tensor`: for a constant the same one again."""
        if (
            isinstance(tensor, SymbolicTensor)
            and tensor.graph is self.outer_graph
            and tensor.op.type == "Const"
        ):
            made = self._constants.get(id(tensor))
            if made is None:
                with self.control_dependencies(None):
                    op = self.add_operation(
                        lookup("Const"), (), None, dict(tensor.op.attrs), "Const"
                    )
                made = self._constants[id(tensor)] = op.outputs[0]
            return made
        return super().capture(tensor, name)


def _used(graph: FuncGraph) -> list[tuple[Tensor, SymbolicTensor]]:
    """The captures that reach an output or an effect; those of rows added in place do not."""
    seen = {t.op for t in graph.outputs} | set(graph.control_outputs)
    waiting = list(seen)
    while waiting:
        op = waiting.pop()
        for source in [*(t.op for t in op.inputs), *op.control_inputs]:
            if source not in seen:
                seen.add(source)
                waiting.append(source)
    return [(outer, inner) for outer, inner in graph.captures if inner.op in seen]


def _emit(graph: FuncGraph, gradient: Any) -> Any:
    """Adds a gradient to the outputs and says where it is."""
    if gradient is None:
        return None
    if isinstance(gradient, IndexedSlices):
        parts = [gradient.values, gradient.indices, gradient.dense_shape]
        start = len(graph.outputs)
        graph.outputs.extend(graph.as_tensor(p) for p in parts if p is not None)
        return (start, start + 1, start + 2 if parts[2] is not None else None)
    graph.outputs.append(graph.as_tensor(gradient))
    return len(graph.outputs) - 1


def records_between(
    ys: Sequence[Any], xs: Sequence[Any], graph: Any, stops: Sequence[Any] = ()
) -> tuple[list[Record], set[int]]:
    """Records of the operations from `xs` to `ys`, last first; tensor ids that depend on an x.

    Nothing before `stops` is looked at. A loop of the first kind is one record, of its `Exit`s.
    """
    wanted = {id(x) for x in xs}
    records = []
    for op in topological([y for y in ys if isinstance(y, SymbolicTensor)], graph, stops):
        if not any(id(t) in wanted for t in op.inputs):
            continue
        if isinstance(op, FrameLoop):
            records.append(_record_of_loop(op))
            wanted.update(id(o) for o in records[-1].outputs if is_trainable(o))
            continue
        records.append(Record(op.op_def, op.inputs, op.attrs, op._outputs, op.name, op))
        if (
            op.op_def.gradient_reason is None
            or op.op_def.gradient_refused
            or "_gradient_op_type" in op.attrs
            or op.type in named_rules
        ):
            wanted.update(id(o) for o in op._outputs if is_trainable(o))
    return list(reversed(records)), wanted


def _record_of_loop(loop: FrameLoop) -> Record:
    exits = [op for leaving in loop.exits for op in leaving]
    outputs = [op._outputs[0] for op in exits]
    return Record(exits[0].op_def, loop.inputs, {}, outputs, exits[0].name, exits[0])


# ---- the forward view ----------------------------------------------------------------------------


def forward_body(body: CallBody, closed: bool) -> CallBody:
    """The view of `body` with the same outputs, then the values that its reverse needs."""
    key = ("forward", closed)
    found = body.backward.get(key)
    if found is None:
        found = body.backward[key] = _extend(body, closed)
    return found


def _extend(body: CallBody, closed: bool) -> CallBody:
    view = body
    while True:
        pattern = tuple(is_trainable(o) and o.dtype.name != "resource" for o in view.outputs)
        if not any(pattern):
            return view
        missing = _missing(view, reverse_of(view, pattern))
        if not missing:
            view.backward[_SERVED] = pattern
            return view
        count = len(view.outputs)
        view = CallBody(f"{body.name}_forward", body.graph, [*view.outputs, *missing])
        view.must_compile = body.must_compile
        if not closed:
            first = (*pattern, *([False] * (len(view.outputs) - count)))
            view.backward[first] = (
                reverse_of(body, pattern) if count == len(body.outputs) else reverse_of(view, first)
            )
            view.backward[_SERVED] = first
            return view


# Key in CallBody.backward of a view: the outputs whose gradients it keeps what is needed for.
_SERVED = "served"


def both_passes(body: CallBody) -> list[CallBody]:
    """The forward view of `body` and its reverse for all outputs; none without a gradient."""
    pattern = tuple(is_trainable(o) and o.dtype.name != "resource" for o in body.outputs)
    if not any(pattern):
        return []
    return [forward_body(body, False), reverse_of(body, pattern).body]


def _missing(view: CallBody, reverse: Reverse) -> list[SymbolicTensor]:
    have = {id(t) for t in (*view.inputs, *view.outputs)}
    return [
        t
        for t in reverse.captured
        if isinstance(t, SymbolicTensor) and t.graph is view.graph and id(t) not in have
    ]


# ---- the rule ------------------------------------------------------------------------------------


def _gradient_of_call(record: Record, *grads: Any) -> list[Any]:
    """The gradient rule of PartitionedCall and StatefulPartitionedCall."""
    body: CallBody = record.attrs["f"]
    outputs: Sequence[Any] = record.outputs
    pattern = tuple(g is not None for g in grads)
    if record.source is not None:
        body = _settle(record.source)
        pattern = (*pattern, *([False] * (len(body.outputs) - len(pattern))))
    reverse = reverse_of(body, pattern)
    missing = _missing(body, reverse)
    if missing and record.source is not None:
        body = _widen(record.source, body, missing)
    elif missing:
        # Where a loop gives several values, the reverse for some may need what that for all does
        # not: the values of the others, which zeros are made like.
        pattern = body.backward[_SERVED]
        grads = tuple(_filled(pattern, grads, outputs))
        reverse = reverse_of(body, pattern)
    if record.source is not None:
        outputs = record.source._outputs
    values = {id(t): v for t, v in zip(body.inputs, record.inputs, strict=True)}
    values.update(
        {id(t): v for t, v in zip(body.outputs, outputs, strict=True) if id(t) not in values}
    )
    arguments = [as_dense(g) for g in grads if g is not None] + [
        values.get(id(t), t) for t in reverse.captured
    ]
    results = call(reverse.body, arguments)
    return [gather(results, where) for where in reverse.layout]


def _filled(pattern: Sequence[bool], grads: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    """Gradients of the outputs that `pattern` marks: zeros for those that have none."""
    triples = zip(pattern, grads, outputs, strict=True)
    return [zeros_for(o) if wanted and g is None else g for wanted, g, o in triples]


def gather(results: Sequence[Any], where: Any) -> Any:
    """The gradient at a place of `Reverse.layout`."""
    if where is None:
        return None
    if isinstance(where, tuple):
        values, indices, shape = where
        return IndexedSlices(
            results[values], results[indices], None if shape is None else results[shape]
        )
    return results[where]


def _settle(op: Operation) -> CallBody:
    """Makes a call in a graph name the function that it runs now, whatever is added later."""
    body = implementation(op)
    if body.attributes:
        found = body.backward.get("settled")
        if found is None:
            found = body.backward["settled"] = CallBody(body.name, body.graph, body.outputs)
            found.must_compile = body.must_compile
        body = op.attrs["f"] = found
    return body


def _widen(op: Operation, body: CallBody, missing: list[SymbolicTensor]) -> CallBody:
    """Makes a call in a graph give further values of the body as outputs."""
    view = CallBody(body.name, body.graph, [*body.outputs, *missing])
    view.must_compile = body.must_compile
    attrs = {"f": view, "Tout": tuple(t.dtype for t in view.outputs)}
    add_outputs(op, attrs, [t.dtype for t in missing], [t.dims for t in missing])
    assert len(output_dtypes(op.op_def, op.attrs)) == len(op._outputs)
    return view


def call(body: CallBody, arguments: Sequence[Any]) -> list[Any]:
    """Calls a body: adds a call operation to the current graph, or runs it. Returns its outputs.

    Recorders see the call as one operation.
    """
    graph = state.graph
    if graph is None:
        return run_body(body, arguments)
    name = "StatefulPartitionedCall" if body.stateful else "PartitionedCall"
    attrs = {"Tin": tuple(t.dtype for t in body.inputs), "Tout": body.output_dtypes, "f": body}
    op = lookup(name)
    tensors = tuple(graph.as_tensor(a) for a in arguments)
    node = graph.add_operation(op, tensors, (len(tensors),), attrs, name)
    if state.recorders and node.outputs:
        for recorder in reversed(state.recorders):
            recorder.record(op, tensors, node.attrs, tuple(node.outputs))
    return list(node.outputs)


def own_body(body: CallBody) -> CallBody:
    """The body, or, of one that is shared, a body that calls it."""
    if not body.shared:
        return body
    graph = FuncGraph(f"{body.name}_own")
    with context.graph_scope(graph), context.no_recording():
        inputs = [graph.add_input(t.dtype, t.dims, t.op.name) for t in body.inputs]
        graph.outputs = call(body, inputs)
    graph.finish()
    return CallBody(graph.name, graph)


def _no_runner(body: CallBody, arguments: Sequence[Any]) -> list[Any]:
    raise RuntimeError("penstock.tracing is not loaded")


# Set by the package that runs functions eagerly.
run_body: Callable[[CallBody, Sequence[Any]], list[Any]] = _no_runner


def set_body_runner(function: Any) -> None:
    """Installs what runs a body eagerly: `function(body, tensors)` returns its outputs."""
    global run_body
    run_body = function


for _name in ("PartitionedCall", "StatefulPartitionedCall"):
    named_rules[_name] = _gradient_of_call
