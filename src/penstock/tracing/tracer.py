"""Makes the graph of one trace: runs the Python function on placeholders in a new `FuncGraph`."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.core import context, dispatch
from penstock.core.composite import CompositeTensor
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.errors import InaccessibleTensorError
from penstock.graph.func_graph import FuncGraph
from penstock.tracing.argument_names import ArgumentNames
from penstock.tracing.arguments import copied, differ
from penstock.tracing.autograph import calls as autograph
from penstock.tracing.concrete import ConcreteFunction
from penstock.tracing.parameters import Parameters
from penstock.tracing.signature import (
    TensorKey,
    placeholder_for,
    shape_keys,
    specs_of_values,
    substitute,
    tensor_keys,
    type_keys,
    weaken,
)
from penstock.tracing.variable_arguments import VariableInputs, VariableKey
from penstock.types.tensor_spec import TensorSpec
from penstock.util import nest

_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Options:
    """How a function is traced.

    Args:
      autograph: converts Python control flow over tensors.
      autograph_options: features of AutoGraph.
      jit_compile: whether the whole is compiled; None leaves it to the planner.
      reduce_retracing: relaxes a dimension that varies instead of tracing again.
      attributes: kept with the function.
    """

    autograph: bool = True
    autograph_options: Any = None
    jit_compile: bool | None = None
    reduce_retracing: bool = False
    attributes: dict[str, Any] = field(default_factory=dict)


class Method:
    """A method of an instance that it does not keep alive."""

    def __init__(self, function: Callable[..., Any], instance: Callable[[], Any]) -> None:
        self.function = function
        self.instance = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it."""
        return self.function(self.instance(), *args, **kwargs)


class Tracer:
    """What is traced, and how.

    Args:
      function: the Python function.
      name: the name in its graphs.
      parameters: those of the function.
      signature: the input signature, or None.
      options: how.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        parameters: Parameters,
        signature: tuple[Any, ...] | None,
        options: Options,
    ) -> None:
        self._function = function
        self._name = name
        self._parameters = parameters
        self._signature = signature
        self._options = options

    def trace(
        self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any], allow_variables: bool
    ) -> ConcreteFunction:
        """A new trace.

        Args:
          key: the key that it serves, which has the dtypes and shapes of the placeholders.
          args: the arguments; only what is no tensor counts.
          kwargs: likewise.
          allow_variables: whether the function may make variables.

        Raises:
          ValueError: the function changed its arguments, or made variables.
          TypeError: it returned what is no tensor.
        """
        graph = FuncGraph(self._name)
        graph.keeps_calls = bool(self._options.jit_compile)
        graph.allow_variables = allow_variables
        variables = VariableInputs(graph)
        outer = state.graph
        with context.graph_scope(graph), context.no_recording():
            inner, named = self._placeholders(graph, variables, key, args, kwargs, outer)
            before = copied(inner[0]), copied(inner[1])
            result = self._run_body(*inner)
            self._check_unchanged(before, *inner)
            graph.structured_outputs = _outputs(result, graph, self._name)
        flat = nest.flatten(graph.structured_outputs, expand_composites=True)
        graph.outputs = list({id(t): t for t in flat if isinstance(t, SymbolicTensor)}.values())
        graph.structured_input_signature = weaken(specs_of_values(inner, variables.specs))
        if any(spec.name for spec in named.values()):
            graph.named_arguments = weaken(specs_of_values(inner, {**variables.specs, **named}))
        variables.finish()
        graph.finish()
        name = f"__inference_{self._name}_{next(_numbers)}"
        options = self._options
        made = ConcreteFunction(graph, key, options.jit_compile, self._parameters.signature, name)
        made.body.attributes = options.attributes
        return made

    def _placeholders(
        self,
        graph: FuncGraph,
        variables: VariableInputs,
        key: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        outer: Any,
    ) -> tuple[tuple[tuple[Any, ...], dict[str, Any]], dict[int, TensorSpec]]:
        """The arguments with placeholders of the graph for the tensors, and by id their specs."""
        signature = self._signature
        keys = iter(tensor_keys(key) if signature is None else _spec_keys(signature))
        kinds = iter(type_keys(key))
        described = (args, kwargs) if signature is None else (signature, {})
        names = ArgumentNames(self._parameters, *described)
        specs: dict[int, TensorSpec] = {}

        def placeholder(leaf: Any) -> Any:
            spec = next(keys)
            if isinstance(spec, VariableKey):
                return variables.add(leaf, spec, names.next()[0])
            name, place = names.next()
            made = graph.add_input(spec.dtype, spec.dims, spec.name or name)
            made.op.attrs["_user_specified_name"] = spec.name or place
            specs[id(made)] = TensorSpec(made.shape, made.dtype, spec.name)
            return made

        def custom(value: Any) -> Any:
            return placeholder_for(next(kinds), placeholder)

        if signature is None:
            shapes = iter(shape_keys(key))
            inside = substitute(args, placeholder, custom, outer, shapes)
            return (inside, substitute(kwargs, placeholder, custom, outer, shapes)), specs
        given = (*signature, *args[len(signature) :])
        return (substitute(given, placeholder, custom, outer), kwargs), specs

    def _run_body(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls the Python function, with its control flow converted unless that is off."""
        body: Any = self._function
        if isinstance(body, Method):
            body, args = body.function, (body.instance(), *args)
        if not self._options.autograph:
            return body(*args, **kwargs)
        return autograph.run(body, args, kwargs, self._options.autograph_options)

    def _check_unchanged(
        self, before: tuple[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Refuses a body that changed its arguments: later calls would not, so nobody may see it.

        Raises:
          ValueError: it put something into a list or dictionary that it was given, or took it out.
        """
        names = self._parameters.names or ["args"]
        changed = [
            names[min(i, len(names) - 1)] for i, v in enumerate(args) if differ(before[0][i], v)
        ]
        changed += [name for name, v in kwargs.items() if differ(before[1][name], v)]
        if changed:
            raise ValueError(
                f"{self._name}{self._parameters.text()} should not modify its Python input"
                " arguments: expected them as they were passed, got others in"
                f" {', '.join(changed)}. Modifying a copy is allowed."
            )


def _spec_keys(signature: Any) -> list[TensorKey]:
    return [
        TensorKey(s.dtype, s.shape.dims_tuple, s.name)
        for s in nest.flatten(signature, expand_composites=True)
    ]


def _outputs(result: Any, graph: FuncGraph, name: str) -> Any:
    """What the Python function returned: each value as an operation of the graph, an identity."""

    def identity(tensor: Any) -> Any:
        return execute("Identity", (graph.as_tensor(tensor),))

    def convert(value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, CompositeTensor):
            return nest.map_structure(identity, value, expand_composites=True)
        try:
            tensor = dispatch.promoted(convert_to_tensor, value)
        except InaccessibleTensorError:
            raise
        except (TypeError, ValueError) as problem:
            raise TypeError(
                "To be compatible with tf.function, Python functions must return zero or more"
                f" Tensors or ExtensionTypes or None values; in compilation of {name}, found return"
                f" value of type {type(value).__name__}, which is not a Tensor or ExtensionType."
                f" ({problem})"
            ) from None
        return nest.map_structure(identity, tensor, expand_composites=True)

    if result is None:
        return None
    return nest.map_structure(convert, result)
