"""Gradients that a user gives: `custom_gradient`, `RegisterGradient`, and their kin."""

import functools
import inspect
import itertools
import os
from collections.abc import Callable, Sequence
from typing import Any

from penstock import errors
from penstock.autodiff.composites import gradient_part, like_source, names_part
from penstock.autodiff.gradients import gradients
from penstock.autodiff.tape import GradientTape
from penstock.autodiff.walk import Record, Rule, RuleName, named_rules
from penstock.core import context
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.op_def import lookup
from penstock.core.tensor import Tensor
from penstock.core.user_code import converted
from penstock.util import nest

_PROCESS = os.urandom(4).hex()
_numbers = itertools.count()


class RegisterGradient:
    """Decorator: registers the gradient rule of an operation type.

    Args:
      op_type: the type, or a name that `Graph.gradient_override_map` or the attribute
        `_gradient_op_type` refers to.

    Raises:
      KeyError: on use, a rule is registered for the type already.
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """Registers the rule `f` and returns it."""
        _register(self._op_type, f)
        return f


def NoGradient(op_type: str) -> None:
    """States that operations of a type are not differentiable.

    Raises:
      TypeError: `op_type` is no string.
      KeyError: operations of that type have a rule.
    """
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _register(op_type, None)


def _register(name: str, rule: Callable[..., Any] | None) -> None:
    if name in named_rules:
        raise KeyError(
            f"Registering two gradient with name '{name}'! (Previous registration was"
            f" {named_rules[name]!r})"
        )
    if _has_rule(name):
        raise KeyError(
            f"Registering two gradient with name '{name}'! (Previous registration was the"
            " operation's own rule.) Use tf.custom_gradient, or Graph.gradient_override_map with"
            " another name."
        )
    named_rules[name] = rule


def _has_rule(name: str) -> bool:
    try:
        op = lookup(name)
    except errors.NotFoundError:
        return False
    return op.gradient_function is not None or op.gradient_reason is not None


def custom_gradient(f: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Decorator: `f(*args)` returns `(result, grad_fn)`, `grad_fn(*upstream)` the gradients.

    Args:
      f: takes tensors; when it uses variables, `grad_fn` takes a keyword `variables` and returns
        `(gradients of args, gradients of variables)`.

    Returns:
      A function with the arguments of `f` that returns its result.

    Raises:
      TypeError: `f` uses variables and `grad_fn` takes no `variables`.
    """
    if f is None:
        return lambda function: custom_gradient(function)

    @functools.wraps(f)
    @context.in_home
    def decorated(*args: Any, **kwargs: Any) -> Any:
        return (
            _graph_call(f, args, kwargs)
            if state.graph is not None
            else _eager_call(f, args, kwargs)
        )

    return decorated


def _run(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The result, its flat tensors, the flat argument tensors, the variables used and the rule.

    Tapes around it record what `f` does: the rule may use its intermediate values, and derivatives
    of the rule follow these. The result itself reaches them through the rule alone.
    """
    packed = (
        nest.map_structure(
            lambda v: v if _is_variable(v) or names_part(v) else convert_to_tensor(v), args
        )
        if args
        else args
    )
    flat_args = nest.flatten(packed, expand_composites=True)
    variable_args = {id(v) for v in flat_args if _is_variable(v)}
    with GradientTape() as tape:
        result, grad_fn = converted(f)(*packed, **kwargs)
    flat = nest.flatten(result, expand_composites=True)
    variables = [v for v in tape.watched_variables() if id(v) not in variable_args]
    if variables and not _takes_variables(grad_fn):
        raise TypeError(
            "If using @custom_gradient with a function that uses variables, then grad_fn must"
            " accept a 'variables' keyword argument."
        )
    inputs = [v.handle if _is_variable(v) else v for v in flat_args] + [v.handle for v in variables]
    grad_fn = converted(grad_fn)
    return result, [convert_to_tensor(r) for r in flat], flat_args, variables, inputs, grad_fn


def _is_variable(value: Any) -> bool:
    return hasattr(value, "handle") and not isinstance(value, Tensor)


def _takes_variables(function: Callable[..., Any]) -> bool:
    parameters = inspect.signature(function).parameters
    return "variables" in parameters or any(
        p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()
    )


def _call_rule(
    grad_fn: Callable[..., Any], grads: Sequence[Any], variables: list[Any], count: int
) -> list[Any]:
    if variables:
        input_grads, variable_grads = grad_fn(*grads, variables=variables)
        if len(variable_grads) != len(variables):
            raise ValueError(
                "Must return gradient for each variable from @custom_gradient grad_fn."
            )
    else:
        input_grads, variable_grads = grad_fn(*grads), []
    flat = nest.flatten(input_grads)
    if len(flat) != count:
        raise ValueError(
            f"custom_gradient function expected to return {count} gradients, but returned"
            f" {len(flat)} instead."
        )
    return [gradient_part(g) for g in (*flat, *variable_grads)]


def _eager_call(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    result, flat, flat_args, variables, inputs, grad_fn = _run(f, args, kwargs)
    outputs = [execute("Identity", (t,)) for t in _unrecorded(flat)]

    def rule(record: Record, *grads: Any) -> list[Any]:
        return _call_rule(grad_fn, grads, variables, len(flat_args))

    op = lookup("IdentityN")
    for recorder in reversed(state.recorders):
        for variable in variables:
            recorder.watch_variable(variable)
        record = getattr(recorder, "record_custom", None)
        if record is not None:
            record(op, inputs, outputs, rule)
    return nest.pack_sequence_as(result, outputs, expand_composites=True)


def _unrecorded(tensors: list[Any]) -> list[Any]:
    with context.no_recording():
        return [execute("Identity", (t,)) for t in tensors]


def _graph_call(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """In a graph an IdentityN around results and arguments carries the name of the rule.

    Variables are among the arguments by their values, so that it is an operation on arrays alone.
    """
    graph = state.graph
    result, flat, flat_args, variables, inputs, grad_fn = _run(f, args, kwargs)
    count = len(flat)

    def rule(record: Record, *grads: Any) -> list[Any]:
        return [*([None] * count), *_call_rule(grad_fn, grads[:count], variables, len(flat_args))]

    name = own_rule(rule)
    for recorder in state.recorders:
        for variable in variables:
            recorder.watch_variable(variable)
    everything = [*flat, *[_value(graph.as_tensor(t)) for t in inputs]]
    outputs = execute("IdentityN", (everything,), {"_gradient_op_type": name})
    return nest.pack_sequence_as(result, outputs[:count], expand_composites=True)


def _value(tensor: Any) -> Any:
    """The tensor, or the value of the variable that it is the handle of."""
    if tensor.dtype.name != "resource":
        return tensor
    return execute("ReadVariableOp", (tensor,), {"dtype": tensor._handle_data[0]})


def own_rule(rule: Rule) -> RuleName:
    """A name for a rule that some operations have: the value of their `_gradient_op_type`.

    No other process has it: what it wrote must not find a rule of ours by chance.
    """
    return RuleName(f"CustomGradient-{_PROCESS}-{next(_numbers)}", rule)


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Makes the gradient of `f` run `f` again instead of keeping its intermediate values.

    Args:
      f: a function of tensors.

    Returns:
      A function with the same result and gradients.
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        run = converted(f)

        @custom_gradient
        def inner(*tensors: Any) -> Any:
            with context.no_recording(), GradientTape() as watching:
                result = run(*tensors, **kwargs)
            for recorder in state.recorders:
                for variable in watching.watched_variables():
                    recorder.watch_variable(variable)

            def grad(*upstream: Any, variables: Any = None) -> Any:
                with GradientTape() as tape:
                    copies = [
                        like_source(t, execute("Identity", (gradient_part(t),))) for t in tensors
                    ]
                    tape.watch(copies)
                    again = run(*copies, **kwargs)
                sources = [*copies, *(variables or ())]
                flat = nest.flatten(again)
                found = tape.gradient(flat, sources, list(upstream))
                return (found[: len(copies)], found[len(copies) :]) if variables else found

            return result, grad

        return inner(*args)

    return decorated


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Makes the gradient of `f` the identity."""

    @custom_gradient
    def decorated(*args: Any, **kwargs: Any) -> Any:
        def grad(*upstream: Any, **options: Any) -> Any:
            variables = options.get("variables")
            found = upstream if len(upstream) > 1 else upstream[0]
            return (found, [None] * len(variables)) if variables is not None else found

        return converted(f)(*args, **kwargs), grad

    return functools.wraps(f)(decorated)


__all__ = [
    "NoGradient",
    "RegisterGradient",
    "custom_gradient",
    "grad_pass_through",
    "gradients",
    "own_rule",
    "recompute_grad",
]
