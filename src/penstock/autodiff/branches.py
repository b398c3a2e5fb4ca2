"""Gradients of `If` and `Case`: the reverse of the branch that ran.

Values inside a branch that its reverse needs become further outputs, where other branches give
zeros.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.autodiff.calls import Reverse, build_reverse, call, gather
from penstock.autodiff.walk import Record, as_dense, named_rules
from penstock.autodiff.widening import add_outputs, carries_gradient, zeros_for
from penstock.core import context
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.graph.body import CallBody
from penstock.graph.func_graph import bodies_of
from penstock.graph.operation import Operation
from penstock.ops.conditionals import cond, switch_case
from penstock.types import dtypes as dt
from penstock.types.dims import Dims, union


def _gradient_of_branches(record: Record, *grads: Any) -> list[Any]:
    """The gradient rule of If and Case."""
    op = operation_of(record)
    given = [*grads, *[None] * (len(op._outputs) - len(grads))]
    pattern = tuple(
        g is not None and carries_gradient(o) for g, o in zip(given, op._outputs, strict=True)
    )
    count = len(op.inputs) - 1
    sources = tuple(record.needed[1:]) if record.needed is not None else (True,) * count
    if not any(pattern):
        return [None] * len(record.inputs)
    reverses = [_reverse(body, pattern, sources) for body in bodies_of(op.attrs)]
    _keep_values(op, reverses)
    dense = [as_dense(g) for g, marked in zip(given, pattern, strict=True) if marked]
    places = [i for i in range(count) if any(r.layout[i] is not None for r in reverses)]
    found: dict[int, Any] = {}
    if places:
        runs = [_branch(op, b, reverses[b], dense, places) for b in range(len(reverses))]
        found = dict(zip(places, _choose(op, runs), strict=True))
    return [None, *[found.get(i) for i in range(len(record.inputs) - 1)]]


def operation_of(record: Record) -> Operation:
    """The operation that a record is of.

    Raises:
      UnimplementedError: it ran by itself, outside of a graph.
    """
    if record.source is None:
        raise errors.UnimplementedError(
            None,
            None,
            f"{record.type}: expected it in a graph or function to take its gradient, got an eager "
            "call. Call tf.cond, tf.switch_case or tf.while_loop instead.",
        )
    op: Operation = record.source
    return op


def _reverse(body: CallBody, pattern: tuple[bool, ...], sources: tuple[bool, ...]) -> Reverse:
    key = ("branch", pattern, sources)
    found = body.backward.get(key)
    if found is None:
        found = body.backward[key] = build_reverse(body, pattern, sources)
    return found


def _keep_values(op: Operation, reverses: Sequence[Reverse]) -> None:
    """Makes the values that the reverses need outputs of the operation."""
    bodies = bodies_of(op.attrs)
    extra: list[list[Any]] = [[] for _ in bodies]
    for b, (body, reverse) in enumerate(zip(bodies, reverses, strict=True)):
        have = {id(t) for t in (*body.inputs, *body.outputs)}
        for tensor in reverse.captured:
            if id(tensor) in have or not _is_inside(tensor, body):
                continue
            have.add(id(tensor))
            for other, values in enumerate(extra):
                values.append(tensor if other == b else _stand_in(bodies[other], tensor))
    if not extra[0]:
        return
    views = []
    for body, values in zip(bodies, extra, strict=True):
        view = CallBody(body.name, body.graph, [*body.outputs, *values])
        view.backward = body.backward
        views.append(view)
    start = len(bodies[0].outputs)
    shapes: list[Dims] = []
    for tensors in zip(*[v.outputs[start:] for v in views], strict=True):
        dims = tensors[0].dims
        for tensor in tensors[1:]:
            dims = union(dims, tensor.dims)
        shapes.append(dims)
    names = ("branches",) if "branches" in op.attrs else ("then_branch", "else_branch")
    attrs: dict[str, Any] = (
        {"branches": tuple(views)} if len(names) == 1 else dict(zip(names, views, strict=True))
    )
    attrs["Tout"] = views[0].output_dtypes
    add_outputs(op, attrs, views[0].output_dtypes[start:], shapes)


def _is_inside(tensor: Any, body: CallBody) -> bool:
    return isinstance(tensor, SymbolicTensor) and tensor.graph is body.graph


def _stand_in(body: CallBody, tensor: Any) -> Any:
    """What a branch gives in place of a value that another one computes."""
    with context.graph_scope(body.graph), context.no_recording():
        if tensor.dtype is dt.variant:
            return execute("TensorListReserve", (-1, 0), {"element_dtype": _elements_of(tensor)})
        dims = [1 if n is None else n for n in tensor.dims or ()]
        zero = execute("Cast", (np.zeros((), np.int32),), {"DstT": tensor.dtype})
        return execute("Fill", (np.array(dims, np.int32), zero))


def _elements_of(tensor: Any) -> Any:
    """The dtype of the elements of a list, as far as the operation that made it says."""
    return tensor.op.attrs.get("element_dtype", dt.float32)


def _branch(
    op: Operation, number: int, reverse: Reverse, grads: Sequence[Any], places: Sequence[int]
) -> Any:
    """A function that gives the gradients of the inputs at `places`."""
    body = bodies_of(op.attrs)[number]
    values = {id(t): v for t, v in zip(body.outputs, op._outputs, strict=True)}
    values.update({id(t): v for t, v in zip(body.inputs, op.inputs[1:], strict=True)})

    def run() -> list[Any]:
        arguments = [*grads, *[values.get(id(t), t) for t in reverse.captured]]
        results = call(reverse.body, arguments)
        found = [gather(results, reverse.layout[i]) for i in places]
        return [
            zeros_for(op.inputs[i + 1]) if g is None else as_dense(g)
            for i, g in zip(places, found, strict=True)
        ]

    return run


def _choose(op: Operation, runs: list[Any]) -> Any:
    chooser = op.inputs[0]
    if op.type in ("Case", "StatelessCase"):
        return switch_case(chooser, runs)
    if chooser.dtype is not dt.bool_:
        chooser = execute("Cast", (chooser,), {"DstT": dt.bool_})
    return cond(chooser, *runs)


for _name in ("If", "StatelessIf", "Case", "StatelessCase"):
    named_rules[_name] = _gradient_of_branches
