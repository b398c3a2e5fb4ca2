"""`ConcreteFunction`: one traced graph, ready to be called.

An eager call runs the body's plan on the arguments and the captured values. When a tape listens, it
runs the view of the body that also gives what the reverse needs, and the tape sees one call. In a
graph, or another trace, a call operation is added.
"""

import functools
import inspect
import threading
from collections.abc import Sequence
from typing import Any

from penstock import errors
from penstock.autodiff import calls
from penstock.autodiff.tape import GradientTape
from penstock.config.placement_log import get_log_device_placement, log_placement
from penstock.core.context import at_home, state
from penstock.core.convert import convert_to_tensor, symbolic_in_eager
from penstock.core.op_def import lookup
from penstock.core.resources import eager_resources
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import EagerTensor, Tensor, wrap
from penstock.core.tracebacks import filter_traceback
from penstock.core.trackable import Trackable
from penstock.graph.body import CallBody
from penstock.graph.func_graph import FuncGraph
from penstock.graph.graph_def import function_def_of
from penstock.runtime.plan import Plan, make_plan
from penstock.runtime.program import build
from penstock.runtime.step import Step
from penstock.runtime.watching import state as watching
from penstock.runtime.whole import make_compiled_plan
from penstock.tracing.binding import FlatSignature
from penstock.tracing.function_type import FunctionType, concrete_type, nameless
from penstock.tracing.signature import restore, specs_of_values
from penstock.tracing.variable_arguments import is_variable, variables_in, watch
from penstock.types import callables
from penstock.types import dtypes as dt
from penstock.types.dims import is_subtype
from penstock.types.tensor_shape import TensorShape
from penstock.types.tensor_spec import TensorSpec
from penstock.util import nest

_plan_lock = threading.Lock()  # guards: CallBody.plan while it is made


def plan_of(body: CallBody) -> Plan:
    """The plan that runs a body, made at the first call."""
    plan = body.plan
    if plan is None:
        with _plan_lock:
            plan = body.plan
            if plan is None:
                plan = body.plan = _make(body)
    return plan  # type: ignore[no-any-return]


def _make(body: CallBody) -> Plan:
    whole = body.must_compile
    program = build(body.outputs, body.inputs, body.control_outputs, inline_all=whole)
    if whole:
        return make_compiled_plan(program, eager_resources, body.name)
    plan = make_plan(program, eager_resources)
    if get_log_device_placement():
        log_placement(plan.program.nodes)
    return plan


def run_body(body: CallBody, tensors: Sequence[Any]) -> list[Any]:
    """Runs a body eagerly; recorders see it as one call."""
    if state.recorders:
        return _run_recorded(body, tuple(tensors))
    return _run(body, tensors)


def _run(body: CallBody, tensors: Sequence[Any], captured: Sequence[Any] = ()) -> list[Any]:
    """Runs a body on tensors, and on the arrays of captured ones after them."""
    plan = body.plan or plan_of(body)
    if watching.functions is not None:
        watching.functions.add(body)
    step = Step(eager_resources, plan.state)
    try:
        arrays = [*[t._array for t in tensors], *captured]
    except AttributeError:
        raise _no_value(body, tensors) from None
    try:
        results = plan.run(arrays, step)
    except BaseException:
        step.end(failed=True)
        raise
    if step.who:
        step.end()
    return [wrap(value, tensor._dtype) for value, tensor in zip(results, body.outputs, strict=True)]


def _no_value(body: CallBody, tensors: Sequence[Any]) -> Exception:
    """The error for an argument that has no value: of another graph, or a spec."""
    value = next(t for t in tensors if not isinstance(t, EagerTensor))
    if isinstance(value, SymbolicTensor):
        return symbolic_in_eager(value)
    return ValueError(
        f"{body.name}: expected tensors, got {value!r}, which has no value. Pass a tensor, or give"
        " the spec to get_concrete_function."
    )


def _run_recorded(body: CallBody, tensors: tuple[Any, ...]) -> list[Any]:
    recorders = state.recorders
    if not any(_interested(r, tensors) for r in recorders):
        return _run(body, tensors)
    closed = (
        len(recorders) > 1 or not isinstance(recorders[0], GradientTape) or recorders[0]._persistent
    )
    view = calls.forward_body(body, closed)
    results = _run(view, tensors)
    op = lookup("StatefulPartitionedCall")
    attrs = {"Tin": tuple(t.dtype for t in body.inputs), "Tout": view.output_dtypes, "f": view}
    for recorder in reversed(recorders):
        recorder.record(op, tensors, attrs, tuple(results))
    return results[: len(body.outputs)]


def _interested(recorder: Any, tensors: Sequence[Any]) -> bool:
    known = getattr(recorder, "_tracked", None)
    if known is None:
        known = getattr(recorder, "_tangents", None)
    return known is None or any(id(t) in known for t in tensors)


calls.set_body_runner(run_body)


class ConcreteFunction(callables.ConcreteFunction, Trackable):
    """A function traced for one signature. Thread-safe.

    Attributes:
      graph: the FuncGraph of the body.
      structured_outputs: the nest of symbolic outputs, as the Python function returned it.
      structured_input_signature: (args, kwargs) of TensorSpecs and other values.
    """

    def __init__(
        self,
        graph: FuncGraph,
        key: Any = None,
        jit_compile: bool | None = None,
        signature: inspect.Signature | None = None,
        name: str | None = None,
    ) -> None:
        self.graph = graph
        self._name = name or graph.name
        self._signature = signature
        self.key = key
        self.jit_compile = jit_compile
        self.body = CallBody(self._name, graph)
        self.body.must_compile = bool(jit_compile)
        self.body.shared = True
        self._argument_count = len(graph.inputs) - len(graph.captures)
        self._template = graph.structured_outputs
        self._flat_layout = _layout(graph.structured_outputs, graph.outputs)
        self._single = isinstance(self._template, Tensor)
        self._keep_captures(graph.external_captures)

    def _keep_captures(self, captures: Sequence[Any]) -> None:
        self._captured = tuple(captures)
        self.captures_symbolic = any(isinstance(t, SymbolicTensor) for t in captures)
        eager = all(isinstance(t, EagerTensor) for t in captures)
        self._captured_arrays = [t._array for t in captures] if eager else None

    @property
    def name(self) -> str:
        """The function's unique name."""
        return self._name

    @property
    def inputs(self) -> list[Any]:
        """The placeholders: arguments, then captured values."""
        return list(self.graph.inputs)

    @property
    def outputs(self) -> list[Any]:
        """The flat symbolic outputs."""
        return list(self.graph.outputs)

    @property
    def structured_outputs(self) -> Any:
        """The symbolic outputs as the Python function returned them."""
        return self.graph.structured_outputs

    @property
    def structured_input_signature(self) -> Any:
        """(args, kwargs) with a TensorSpec for each tensor."""
        return restore(self.graph.structured_input_signature)

    @property
    def output_dtypes(self) -> Any:
        """The nest of output dtypes."""
        return nest.map_structure(lambda t: t.dtype if isinstance(t, Tensor) else t, self._template)

    @property
    def output_shapes(self) -> Any:
        """The nest of output shapes."""
        return nest.map_structure(lambda t: t.shape if isinstance(t, Tensor) else t, self._template)

    @property
    def captured_inputs(self) -> list[Any]:
        """The captured outer tensors."""
        return list(self._captured)

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables the body uses."""
        return tuple(self.graph.variables)

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The trainable ones of them."""
        return tuple(self.graph.trainable_variables)

    def call_flat(self, tensors: Sequence[Any]) -> Any:
        """Calls with flat tensor arguments; returns the Python function's structure of values."""
        captured = self._captured_arrays
        if state.plain and captured is not None:
            return self._result(_run(self.body, tensors, captured))
        arguments = [*tensors, *self._captured]
        if state.graph is not None and state.graph.home_of(arguments) is not state.graph:
            with at_home(*arguments):
                return self.call_flat(tensors)
        if state.recorders:
            for variable in self.graph.variables:
                for recorder in state.recorders:
                    recorder.watch_variable(variable)
        if state.graph is None:
            results = run_body(self.body, arguments)
            if state.observer is not None:
                state.observer.look_at(self._name, arguments, results, self.graph)
        else:
            for variable in self.graph.variables:
                if isinstance(state.graph, FuncGraph):
                    state.graph.watch_variable(variable)
            results = calls.call(self.body, arguments)
        return self._result(results)

    def _result(self, results: list[Any]) -> Any:
        """The Python function's structure, of the values of the flat outputs."""
        if self._single:
            return results[self._flat_layout[0] or 0]
        return self._pack(results)

    def _pack(self, results: list[Any]) -> Any:
        if self._template is None:
            return None
        template = nest.flatten(self._template, expand_composites=True)
        flat = [
            results[where] if where is not None else kept
            for where, kept in zip(self._flat_layout, template, strict=True)
        ]
        return nest.pack_sequence_as(self._template, flat, expand_composites=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls with arguments as it was traced for, or with its flat tensors in order or by name.

        Raises:
          TypeError: a tensor is missing, superfluous, or of another dtype or shape.
        """
        try:
            graph = state.graph
            if graph is not None and graph.home_of((*args, *kwargs.values())) is not graph:
                with at_home(*args, *kwargs.values()):
                    return self(*args, **kwargs)
            if state.recorders or graph is not None:
                watch(variables_in((args, kwargs)))
            return self.call_flat(self._flat_signature.bind(args, kwargs, self.function_type))
        except Exception as error:
            filter_traceback(error)
            raise

    def _argument_name(self, placeholder: Any) -> str:
        return str(placeholder.op.attrs.get("_user_specified_name", placeholder.op.name))

    def _check(self, placeholder: Any, value: Any) -> Any:
        if placeholder.dtype is dt.resource and is_variable(value):
            return self._handle(placeholder, value)
        try:
            tensor = (
                value if isinstance(value, Tensor) else convert_to_tensor(value, placeholder.dtype)
            )
        except ValueError as problem:
            raise TypeError(
                f"{self.name}: argument '{self._argument_name(placeholder)}' must be"
                f" {placeholder.dtype.name}{placeholder.shape}, got {value!r}: {problem}"
            ) from None
        if tensor.dtype is not placeholder.dtype:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{self.name}: argument '{self._argument_name(placeholder)}' was expected to be a"
                f" {placeholder.dtype.name} tensor but is a {tensor.dtype.name} tensor. Cast it, or"
                " call the tf.function itself to trace it for this dtype.",
            )
        if not placeholder.shape.is_compatible_with(tensor.shape):
            raise TypeError(
                f"{self.name}: argument '{self._argument_name(placeholder)}' must be"
                f" {placeholder.dtype.name}{placeholder.shape}, got"
                f" {tensor.dtype.name}{tensor.shape}. Call the tf.function itself to trace it for"
                " this signature."
            )
        return tensor

    def _handle(self, placeholder: Any, variable: Any) -> Any:
        """The handle of a variable that an input stands for."""
        dtype, dims = placeholder._handle_data
        if variable.dtype.base_dtype is not dtype or not is_subtype(
            variable.shape.dims_tuple, dims
        ):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{self.name}: argument '{self._argument_name(placeholder)}' must be a variable of"
                f" {dtype.name}{TensorShape(dims)}, got one of"
                f" {variable.dtype.name}{variable.shape}. Call the tf.function itself to trace it"
                " for this variable.",
            )
        return variable.handle

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """The signature as text: on one line, or with kinds and captures when `verbose`."""
        return repr(self.function_type) if verbose else str(self.function_type)

    @functools.cached_property
    def function_type(self) -> FunctionType:
        """The parameters with their types, the type of the result, and those of the captures."""
        arguments = self.graph.named_arguments
        return concrete_type(
            self._signature,
            nameless(self.graph.structured_input_signature) if arguments is None else arguments,
            nameless(specs_of_values(self._template)),
            {id(t): TensorSpec(t.shape, t.dtype) for t in self._captured},
        )

    @functools.cached_property
    def _flat_signature(self) -> FlatSignature:
        placeholders = self.graph.inputs[: self._argument_count]
        return FlatSignature(
            self.graph.structured_input_signature,
            list(self.function_type.parameters.values()),
            [p.op.name for p in placeholders],
            lambda i, value: self._check(placeholders[i], value),
        )

    @property
    def inference_fn(self) -> "FlatFunction":
        """The function of flat tensors that a call runs."""
        return FlatFunction(self)

    @property
    def function_def(self) -> Any:
        """The body as a FunctionDef message."""
        return function_def_of(self.body)

    def set_external_captures(self, captures: Sequence[Any]) -> None:
        """Replaces the captured values, in the order of `captured_inputs`.

        Raises:
          ValueError: there are not as many.
        """
        if len(captures) != len(self._captured):
            raise ValueError(
                f"{self.name}: expected {len(self._captured)} captures, got {len(captures)}."
            )
        self._keep_captures(captures)

    def add_to_graph(self, g: Any = None, overwrite: bool = False) -> None:
        """Puts the function into a graph's library, so that a GraphDef can name it.

        Args:
          g: the graph; the current one by default. Without a graph there is nothing to do.
          overwrite: whether it takes the place of a function with its name.

        Raises:
          AttributeError: `g` is no graph.
        """
        graph = state.graph if g is None else g
        if graph is not None:
            graph.add_function(self.body, overwrite)

    def add_gradient_functions_to_graph(self, g: Any = None) -> None:
        """Puts the function, its forward pass that keeps values, and the reverse into a library.

        Args:
          g: the graph; the current one by default.

        Raises:
          AttributeError: `g` is no graph.
        """
        graph = state.graph if g is None else g
        if graph is None:
            return
        graph.add_function(self.body)
        for body in calls.both_passes(self.body):
            graph.add_function(body)

    @property
    def input_specs(self) -> list[TensorSpec]:
        """The specs of the flat tensor arguments."""
        return [
            TensorSpec(p.shape, p.dtype, self._argument_name(p))
            for p in self.graph.inputs[: self._argument_count]
        ]

    def __str__(self) -> str:
        return f"ConcreteFunction {self.function_type!r}"

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.function_type} at 0x{id(self):X}>"


class FlatFunction(callables.AtomicFunction):
    """The function of flat tensors behind a concrete function; gives a list of tensors."""

    def __init__(self, concrete: ConcreteFunction) -> None:
        self._concrete = concrete

    @property
    def name(self) -> str:
        """The function's unique name."""
        return self._concrete.name

    @property
    def function_type(self) -> FunctionType:
        """That of the concrete function."""
        return self._concrete.function_type

    def __call__(self, *args: Any) -> list[Any]:
        """Calls with flat tensors: arguments, then captured values."""
        return calls.call(self._concrete.body, args)

    def call_with_captures(self, args: Any, kwargs: Any, captures: Any) -> Any:
        """Calls with arguments as the concrete function takes them, and these captured values."""
        concrete = self._concrete
        tensors = concrete._flat_signature.bind(tuple(args), dict(kwargs), concrete.function_type)
        return concrete._pack(calls.call(concrete.body, [*tensors, *captures]))


def _layout(structure: Any, outputs: Sequence[Any]) -> list[int | None]:
    """For each leaf of the structure its index in the flat outputs; None for what is no tensor."""
    index = {id(t): i for i, t in reversed(list(enumerate(outputs)))}
    return (
        [index.get(id(leaf)) for leaf in nest.flatten(structure, expand_composites=True)]
        if structure is not None
        else []
    )
