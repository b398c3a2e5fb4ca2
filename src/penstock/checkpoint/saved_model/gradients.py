"""Gradients of `tf.custom_gradient` in SavedModels.

A function with such a gradient holds an IdentityN around results and arguments that names a rule;
the rule is a function of the library. It takes the gradients of what the IdentityN gives, and then
what the Python function closed over: variables, and values of the function that holds the IdentityN
(objects of the kind `captured_tensor`). `trace_rules` and `write_rules` save them, `install` gives
them to what was loaded. Models of sessions name rules without having them: `keep_rules`.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.autodiff.calls import ReverseGraph, call
from penstock.autodiff.custom import own_rule
from penstock.autodiff.walk import Record, RuleName, as_dense
from penstock.autodiff.widening import zeros_for
from penstock.config.logging import get_logger
from penstock.core import context
from penstock.core.tensor import EagerTensor
from penstock.data import structure_messages as structures
from penstock.graph.body import CallBody
from penstock.graph.func_graph import FuncGraph
from penstock.graph.graph import Graph
from penstock.graph.graph_def import functions_of
from penstock.graph.operation import Operation
from penstock.types import dtypes as dt
from penstock.types.tensor_spec import TensorSpec
from penstock.types.type_spec import TypeSpec
from penstock.util import nest

RULE = "_gradient_op_type"
LEVELS = 3  # rules, rules in rules, ...: a rule that calls its own function has no end of them
KEPT = 1024  # rules of graphs that models of sessions were made of
_kept: deque[RuleName] = deque(maxlen=KEPT)
Find = Callable[[FuncGraph, int], Any]  # what the object of a number is inside of a function


@dataclass(frozen=True, slots=True)
class CapturedTensor:
    """A value of a function that the rule of a gradient needs, by both names."""

    name: str
    function: str


def install(
    meta_graph: Any, bodies: Mapping[str, CallBody], outputs: Mapping[str, Any], find: Find
) -> None:
    """Gives operations of a model's functions the rules that the model has for them.

    Args:
      meta_graph: the MetaGraphDef.
      bodies: its functions by name.
      outputs: what rules return: nests of specs and None, by name of their functions.
      find: gives the tensor that a rule captures.
    """
    registered = meta_graph.graph_def.library.registered_gradients
    known = {r.registered_op_type: r.gradient_func for r in registered}
    saved = meta_graph.object_graph_def.concrete_functions
    for body in bodies.values() if known else ():
        for op in body.graph.get_operations():
            name = known.get(_text(op.attrs.get(RULE, "")), "")
            if name in bodies and name in outputs:
                bound = saved[name].bound_inputs
                rule = _rule(bodies[name], outputs[name], bound, body.graph, find)
                op.attrs = {**op.attrs, RULE: own_rule(rule)}


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name


def _rule(
    body: CallBody, outputs: Any, bound: Sequence[int], graph: FuncGraph, find: Find
) -> Callable[..., list[Any]]:
    places = [isinstance(o, TypeSpec) for o in nest.flatten(outputs)]

    def rule(record: Record, *grads: Any) -> list[Any]:
        full = [
            zeros_for(t) if g is None else as_dense(g)
            for g, t in zip(grads, record.inputs, strict=True)
        ]
        found = iter(call(body, [*full, *[find(graph, number) for number in bound]]))
        return [next(found) if there else None for there in places]

    return rule


# ---- saving --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TracedRule:
    """The rule of an operation as a function.

    Attributes:
      op_type: the name that the operation has for it.
      body: the function.
      outputs: what it returns: a spec or None for each input of the operation.
      captured: the tensors behind the gradients among its inputs.
      holder: the function that the operation is in.
    """

    op_type: str
    body: CallBody
    outputs: list[TensorSpec | None]
    captured: list[Any]
    holder: CallBody


def trace_rules(bodies: Sequence[CallBody]) -> list[TracedRule]:
    """The rules of all operations in functions, each once, and the rules in these rules.

    Raises:
      ValueError: a rule of the functions cannot be traced.
    """
    found: dict[str, TracedRule] = {}
    level = list(bodies)
    for depth in range(LEVELS):
        functions, _ = functions_of((), level)
        level = []
        for op, name, body in _with_rules(functions):
            if name in found:
                continue
            try:
                found[name] = _traced(op, name, body)
            except ValueError as problem:
                if depth == 0:
                    raise
                get_logger().warning("Derivatives of higher order are not saved: %s", problem)
            else:
                level.append(found[name].body)
    return list(found.values())


def keep_rules(graph: Graph) -> None:
    """Keeps the rules that a graph's operations have, for models of it that this process loads.

    A model of a session has no functions for them. The last `KEPT` stay when their graphs go.
    """
    ops = graph.get_operations()
    bodies, _ = functions_of(ops)
    for op in (*ops, *(op for body in bodies for op in body.graph.get_operations())):
        name = op.attrs.get(RULE)
        if isinstance(name, RuleName) and name not in _kept:
            _kept.append(name)


def _with_rules(bodies: Sequence[CallBody]) -> Iterator[tuple[Operation, RuleName, CallBody]]:
    for body in bodies:
        for op in body.graph.get_operations():
            name = op.attrs.get(RULE)
            if isinstance(name, RuleName):
                yield op, name, body


def _traced(op: Operation, name: RuleName, holder: CallBody) -> TracedRule:
    number = name.rpartition("-")[2]
    graph = ReverseGraph(f"__inference_internal_grad_fn_{number}", holder.graph)
    with context.graph_scope(graph), context.no_recording():
        grads = [
            graph.add_input(*_gradient_of(t), f"result_grads_{i}") for i, t in enumerate(op.inputs)
        ]
        record = Record(op.op_def, op.inputs, op.attrs, op._outputs, op.name, op)
        try:
            results = [
                None if r is None else graph.as_tensor(as_dense(r))
                for r in name.rule(record, *grads)
            ]
        except Exception as problem:
            raise ValueError(
                f"Error when tracing gradients for SavedModel: that of '{op.name}' (defined at "
                f"{op.location}) raised {type(problem).__name__}: {problem}. Save without: "
                "options=tf.saved_model.SaveOptions(experimental_custom_gradients=False)."
            ) from problem
    graph.outputs = [r for r in results if r is not None]
    graph.finish()
    graph.inputs = [*grads, *graph.internal_captures]
    outputs = [None if r is None else TensorSpec(r.shape, r.dtype, "unknown") for r in results]
    captured = list(graph.external_captures)
    return TracedRule(str(name), CallBody(graph.name, graph), outputs, captured, holder)


def _gradient_of(tensor: Any) -> tuple[Any, Any]:
    """The dtype and shape of the gradient of a tensor, or of a variable by its handle."""
    if tensor.dtype is dt.resource:
        return tuple(tensor._handle_data)
    return tensor.dtype, tensor.dims


def write_rules(
    rules: Sequence[TracedRule],
    meta_graph: Any,
    names: Mapping[int, str],
    number_of: Callable[[Any], int | None],
) -> None:
    """Adds rules to a MetaGraphDef whose library has their functions.

    Args:
      rules: from `trace_rules`.
      meta_graph: the message; its objects are written.
      names: the names of functions in the library, by the id of the function.
      number_of: the number of the object that a tensor stands for, None when it is no object's.
    """
    objects = meta_graph.object_graph_def
    for rule in rules:
        bound = [_bound(rule, tensor, objects, names, number_of) for tensor in rule.captured]
        if None in bound:
            get_logger().warning(
                "%s: expected a gradient that closes over values of its function and variables of "
                "the model, got others; it is not saved. Make them a part of the model.",
                rule.holder.name,
            )
            continue
        name = names[id(rule.body)]
        registered = meta_graph.graph_def.library.registered_gradients.add()
        registered.gradient_func, registered.registered_op_type = name, rule.op_type
        count = len(rule.body.inputs) - len(bound)
        specs = [TensorSpec(t.shape, t.dtype, t.op.name) for t in rule.body.inputs[:count]]
        saved = objects.concrete_functions[name]
        saved.bound_inputs.extend(bound)
        saved.canonicalized_input_signature.CopyFrom(structures.encode(((None, *specs), {})))
        saved.output_signature.CopyFrom(structures.encode(rule.outputs))


def _bound(
    rule: TracedRule,
    tensor: Any,
    objects: Any,
    names: Mapping[int, str],
    number_of: Callable[[Any], int | None],
) -> int | None:
    """The number of the object that a captured value is; one is made for a value of a function."""
    number = number_of(tensor)
    if number is not None or isinstance(tensor, EagerTensor):
        return number
    node = objects.nodes.add()
    node.captured_tensor.name = tensor.name
    node.captured_tensor.concrete_function = names[id(rule.holder)]
    return len(objects.nodes) - 1


__all__ = ["RULE", "CapturedTensor", "install", "keep_rules", "trace_rules", "write_rules"]
