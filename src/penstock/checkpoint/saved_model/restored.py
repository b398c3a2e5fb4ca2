"""Functions of a loaded model: dispatch to the traces that were saved."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from penstock.core.composite import CompositeTensor
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import Tensor
from penstock.core.tracebacks import filter_traceback
from penstock.graph.func_graph import FuncGraph
from penstock.tracing.concrete import ConcreteFunction
from penstock.tracing.function import Function
from penstock.tracing.parameters import Parameters
from penstock.tracing.signature import specs_of_values
from penstock.tracing.tracer import Options
from penstock.tracing.traces import Traces
from penstock.types.tensor_spec import TensorSpec
from penstock.types.type_spec import TypeSpec
from penstock.util import nest


class NoMatch(Exception):
    """Arguments that a trace does not take."""


class RestoredConcreteFunction(ConcreteFunction):
    """A trace that was saved."""

    def __init__(
        self, graph: FuncGraph, jit_compile: bool | None, signature: inspect.Signature | None,
        outputs: Any,
    ) -> None:  # fmt: skip
        super().__init__(graph, None, jit_compile, signature)
        self._output_specs = outputs

    @property
    def structured_outputs(self) -> Any:
        """The specs of the outputs, in the nest that the Python function returned."""
        return self._output_specs

    def flat_arguments(self, args: Any, kwargs: Any, convert: bool) -> list[Any]:
        """The tensors of a call.

        Args:
          args: the positional arguments, bound.
          kwargs: the others.
          convert: whether Python values and arrays are taken where a tensor is expected.

        Raises:
          NoMatch: the trace is not for these.
        """
        wanted_args, wanted_kwargs = self.structured_input_signature
        flat: list[Any] = []
        if len(args) != len(wanted_args) or set(kwargs) != set(wanted_kwargs):
            raise NoMatch
        for wanted, value in zip(wanted_args, args, strict=True):
            _take(wanted, value, convert, flat)
        for name in sorted(wanted_kwargs):
            _take(wanted_kwargs[name], kwargs[name], convert, flat)
        return flat


def _take(wanted: Any, value: Any, convert: bool, flat: list[Any]) -> None:
    """Appends the tensors of a value that must be as `wanted`."""
    if isinstance(wanted, TensorSpec):
        flat.append(_tensor(wanted, value, convert))
    elif isinstance(wanted, TypeSpec):
        composite = isinstance(value, CompositeTensor | TypeSpec)
        if not composite or not wanted.is_compatible_with(value):
            raise NoMatch
        is_spec = isinstance(value, TypeSpec)
        flat += value.flatten() if is_spec else nest.flatten(value, expand_composites=True)
    elif isinstance(wanted, Mapping):
        if not isinstance(value, Mapping) or set(value) != set(wanted):
            raise NoMatch
        for key in sorted(wanted):
            _take(wanted[key], value[key], convert, flat)
    elif isinstance(wanted, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(wanted):
            raise NoMatch
        for part, item in zip(wanted, value, strict=True):
            _take(part, item, convert, flat)
    elif (
        isinstance(value, Tensor | np.ndarray | TypeSpec)
        or type(wanted) is not type(value)
        or wanted != value
    ):
        raise NoMatch


def _tensor(spec: TensorSpec, value: Any, convert: bool) -> Any:
    if isinstance(value, TensorSpec):
        if not spec.is_compatible_with(value):
            raise NoMatch
        return value
    if not isinstance(value, Tensor):
        if not convert and not isinstance(value, np.ndarray | np.generic):
            raise NoMatch
        try:
            value = convert_to_tensor(value, spec.dtype if convert else None)
        except (TypeError, ValueError):
            raise NoMatch from None
    if value.dtype is not spec.dtype or not spec.shape.is_compatible_with(value.shape):
        raise NoMatch
    return value


class RestoredFunction(Function):
    """A `tf.function` of a loaded model: it has the traces that were saved, and makes no others.

    Args:
      name: the name of the child that it was.
      concretes: the traces.
      signature: that of the Python function.
      input_signature: the only signature allowed, or None.
      jit_compile: as given to `tf.function`.
    """

    def __init__(
        self, name: str, concretes: Sequence[RestoredConcreteFunction],
        signature: inspect.Signature, input_signature: Any, jit_compile: bool | None,
    ) -> None:  # fmt: skip
        def restored_function_body(*args: Any, **kwargs: Any) -> Any:
            return self(*args, **kwargs)

        restored_function_body.__signature__ = signature  # type: ignore[attr-defined]
        super().__init__(
            restored_function_body, name, input_signature,
            Options(autograph=False, jit_compile=jit_compile), Parameters(restored_function_body),
        )  # fmt: skip
        self.concrete_functions = list(concretes)
        self._traces = Traces(len(concretes), name)
        for number, concrete in enumerate(concretes):
            self._traces.keep(number, concrete)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the trace that these arguments fit.

        Raises:
          ValueError: there is none; the message lists those that there are.
          TypeError: the arguments do not fit the parameters.
        """
        try:
            found, tensors = self._match(args, kwargs)
            return found.call_flat(tensors)
        except Exception as error:
            filter_traceback(error)
            raise

    def _match(self, args: Any, kwargs: Any) -> tuple[RestoredConcreteFunction, list[Any]]:
        args, kwargs = self._parameters.bind(args, kwargs)
        for convert in (False, True):
            for concrete in self.concrete_functions:
                try:
                    return concrete, concrete.flat_arguments(args, kwargs, convert)
                except NoMatch:
                    continue
        if self._input_signature is not None:
            raise TypeError(
                f"Binding inputs to tf.function failed: {self._name} of a SavedModel expected "
                f"arguments as {self._input_signature}, got {_call_text(args, kwargs)}. Cast or "
                "reshape them."
            )
        raise self._no_match(args, kwargs)

    def _no_match(self, args: Any, kwargs: Any) -> ValueError:
        lines = [
            "Could not find matching concrete function to call loaded from the SavedModel. Got:",
            f"  {_call_text(args, kwargs)}",
            "",
            f" Expected these arguments to match one of the following "
            f"{len(self.concrete_functions)} option(s):",
        ]
        for number, concrete in enumerate(self.concrete_functions, 1):
            lines += ["", f"Option {number}:", f"  {_call_text(*_arguments_of(concrete))}"]
        lines += ["", "Call the function for such arguments before saving it, or pass these."]
        return ValueError("\n".join(lines))

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> RestoredConcreteFunction:
        """The trace for these arguments, which may be TensorSpecs.

        Raises:
          ValueError: there is none.
        """
        if self._input_signature is not None and not args and not kwargs:
            args = self._input_signature
        return self._match(args, kwargs)[0]


def _arguments_of(concrete: ConcreteFunction) -> tuple[Any, Any]:
    args, kwargs = concrete.structured_input_signature
    return args, kwargs


def _call_text(args: Any, kwargs: Any) -> str:
    shown = [*map(_text, args), *(f"{k}={_text(v)}" for k, v in kwargs.items())]
    return f"({', '.join(shown)})"


def _text(value: Any) -> str:
    return repr(specs_of_values(value))


def signature_of(spec: Mapping[str, Any], where: str) -> inspect.Signature:
    """The signature of Python that the fields of a FullArgSpec describe.

    Args:
      spec: the fields by name.
      where: the function, for errors.

    Raises:
      ValueError: they contradict each other.
    """
    kinds, empty = inspect.Parameter, inspect.Parameter.empty
    args = list(spec.get("args") or ())
    defaults = list(spec.get("defaults") or ())
    only = list(spec.get("kwonlyargs") or ())
    only_defaults = dict(spec.get("kwonlydefaults") or {})
    padded = [empty] * (len(args) - len(defaults)) + defaults
    try:
        made = [
            kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=default)
            for name, default in zip(args, padded, strict=True)
        ]
        if spec.get("varargs"):
            made.append(kinds(spec["varargs"], kinds.VAR_POSITIONAL))
        made += [kinds(n, kinds.KEYWORD_ONLY, default=only_defaults.get(n, empty)) for n in only]
        if spec.get("varkw"):
            made.append(kinds(spec["varkw"], kinds.VAR_KEYWORD))
        return inspect.Signature(made)
    except (TypeError, ValueError) as problem:
        raise ValueError(
            f"{where}: expected the parameters of a function, got {dict(spec)} ({problem}). The "
            "model is damaged."
        ) from None


def fill(structure: Any, tensor: Callable[[], Any]) -> Any:
    """A nest of specs with values in their places, made of `tensor()` in order."""
    if isinstance(structure, TensorSpec):
        return tensor()
    if isinstance(structure, TypeSpec):
        return structure.from_tensors(iter([tensor() for _ in structure.flatten()]))
    if isinstance(structure, Mapping):
        made = {key: fill(structure[key], tensor) for key in sorted(structure)}
        return {key: made[key] for key in structure}
    if isinstance(structure, list | tuple):
        parts = [fill(part, tensor) for part in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*parts)
        return parts if isinstance(structure, list) else tuple(parts)
    return structure
