"""`tf.function`: a Python function that is traced into a graph for each signature of its calls."""

import contextlib
import copy
import functools
import itertools
import threading
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, cast

from penstock.config import env
from penstock.core import context, dispatch
from penstock.core.composite import CompositeTensor
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import SymbolicTensor
from penstock.core.tracebacks import filter_traceback
from penstock.core.trackable import Trackable
from penstock.errors import InaccessibleTensorError
from penstock.graph.func_graph import FuncGraph
from penstock.runtime.whole import WholePlan
from penstock.tracing.argument_names import ArgumentNames
from penstock.tracing.arguments import copied, differ, tensors_for
from penstock.tracing.autograph import calls as autograph
from penstock.tracing.compiler_ir import feed_of, show
from penstock.tracing.concrete import ConcreteFunction, plan_of
from penstock.tracing.function_type import FunctionSpec, FunctionType, trace_type
from penstock.tracing.retraces import Retrace, RetraceLog, note_first_trace
from penstock.tracing.signature import (
    Parameters,
    TensorKey,
    accepts,
    call_graph,
    placeholder_for,
    relax,
    specs_of,
    specs_of_values,
    substitute,
    tensor_keys,
    trace_key,
    type_keys,
    weaken,
)
from penstock.tracing.variable_arguments import (
    FlatArguments,
    VariableInputs,
    VariableKey,
    pin,
    reached_by,
    watch,
)
from penstock.types import callables
from penstock.util import nest
from penstock.util.frames import user_frame

ATTRIBUTES = frozenset(  # that experimental_attributes may name
    "_OutputsOnOpDevice _disable_acd _implements _noinline _tf_data_function api_implements"
    " api_preferred_device disable_summaries_at_runtime experimental_ints_on_device"
    " function_runs_at_most_once go_backwards runtime_constant_optimization time_major".split()
)
ALIASES = 16  # keys of calls remembered for each trace that may be kept

_OBSERVED = "observed"  # first of a key of a trace that an observer took part in
_run_eagerly = {"on": False}
_numbers = itertools.count()


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Makes every `tf.function` call its Python function instead of its graph."""
    _run_eagerly["on"] = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Whether functions run their Python code instead of graphs."""
    return _run_eagerly["on"]


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: dict[str, Any] | None = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Any:
    """Compiles a Python function into graphs that are traced once for each signature.

    Args:
      func: the function; without it, a decorator is returned.
      input_signature: a sequence of TensorSpecs, one for each argument: the only signature allowed,
        traced once.
      autograph: converts Python control flow over tensors.
      jit_compile: True compiles the whole function or says which operation prevents it, False runs
        operation by operation, None leaves the choice to the planner.
      reduce_retracing: relaxes a dimension that varies instead of tracing again.
      experimental_implements: a name under which the function is known to graph rewriters; kept as
        an attribute.
      experimental_autograph_options: a `tf.autograph.experimental.Feature`, or a tuple of them.
      experimental_attributes: attributes kept with the function.
      experimental_relax_shapes: the old name of `reduce_retracing`.
      experimental_compile: the old name of `jit_compile`.
      experimental_follow_type_hints: accepted for compatibility.

    Returns:
      A `Function`, called like `func`.

    Raises:
      TypeError: `func` cannot be called, or `input_signature` is no list of specs that fits it.
      ValueError: there is no attribute of a name in `experimental_attributes`.

    Example:
      >>> import penstock as tf
      >>> @tf.function
      ... def add(a, b):
      ...     return a + b
      >>> float(add(tf.constant(1.0), tf.constant(2.0)))
      3.0
    """
    if experimental_relax_shapes is not None:
        reduce_retracing = experimental_relax_shapes
    if experimental_compile is not None:
        jit_compile = experimental_compile
    _check_attributes(experimental_attributes)

    def decorate(inner: Callable[..., Any]) -> Function:
        if not callable(inner):
            raise TypeError(
                f"tf.function expected a callable, got {inner!r} of type {type(inner).__name__}."
                " Options such as input_signature are given by keyword."
            )
        made = Function(
            inner,
            _name_of(inner),
            input_signature,
            autograph,
            jit_compile,
            reduce_retracing,
            experimental_attributes,
            experimental_autograph_options,
        )
        if experimental_implements is not None:
            made.attributes["_implements"] = experimental_implements
        return made

    return decorate if func is None else decorate(func)


def _is_method_body(function: Any, names: Sequence[str]) -> bool:
    """Whether it looks like the body of a method, whose first parameter no signature describes."""
    return isinstance(function, types.FunctionType) and names[:1] == ["self"]


def _check_attributes(attributes: dict[str, Any] | None) -> None:
    for name in attributes or ():
        if name not in ATTRIBUTES:
            raise ValueError(
                f"`{name} is not supported by tf.function as an attribute: expected one of"
                f" {', '.join(sorted(ATTRIBUTES))}. Leave it out of experimental_attributes."
            )


def _name_of(inner: Any) -> str:
    while isinstance(inner, functools.partial):
        inner = inner.func
    name = getattr(inner, "__name__", type(inner).__name__)
    return "lambda" if name == "<lambda>" else str(name)


class Function(callables.PolymorphicFunction, Trackable):
    """A Python function with its traces. Thread-safe."""

    def __init__(
        self,
        python_function: Callable[..., Any],
        name: str,
        input_signature: Sequence[Any] | None = None,
        autograph: bool = True,
        jit_compile: bool | None = None,
        reduce_retracing: bool = False,
        attributes: dict[str, Any] | None = None,
        autograph_options: Any = None,
    ) -> None:
        self._python_function = python_function
        self._autograph_options = autograph_options
        self._name = name
        self._autograph = autograph
        self._jit_compile = jit_compile
        self._reduce_retracing = reduce_retracing
        self.attributes = dict(attributes or {})
        self._parameters = Parameters(python_function)
        # guards: all below but _created_variables
        self._lock = threading.RLock()
        self._traces: OrderedDict[Any, ConcreteFunction] = OrderedDict()  # last used last
        self._known: dict[Any, ConcreteFunction] = {}  # keys of calls -> what serves them
        self._max_traces: int = env.get("PENSTOCK_PLAN_CACHE")
        self._tracing: set[Any] = set()  # keys of the traces that are being made
        self._dropped: set[int] = set()  # hashes of keys of traces that made room for others
        self._count = 0
        self._retraces = RetraceLog(name)
        self._created_variables: list[Any] = []
        self._initialized = False
        self._view: Callable[[], Any] = lambda: None  # the last access to a method, if it lives
        self._first_call: ConcreteFunction | None = None  # serves the call that traces
        self._reached: frozenset[int] | None = None  # ids of variables that the function names
        self._by_instance: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
        self._set_signature(input_signature)
        functools.update_wrapper(
            self,
            python_function,
            assigned=("__module__", "__name__", "__qualname__", "__doc__"),
            updated=(),
        )

    def _set_signature(self, signature: Sequence[Any] | None) -> None:
        if signature is not None and not isinstance(signature, (list, tuple)):
            raise TypeError(
                f"input_signature must be either a tuple or a list, got {type(signature)}. Put the"
                " specs into a list, one for each argument."
            )
        self._input_signature = None if signature is None else tuple(signature)
        if signature is not None:
            specs_of(self._input_signature or ())
            if not _is_method_body(self._python_function, self._parameters.names):
                self._parameters.check_signature(signature)

    # ---- properties ------------------------------------------------------------------------------

    @property
    def python_function(self) -> Callable[..., Any]:
        """The Python function."""
        return self._python_function

    @property
    def name(self) -> str:
        """The name of the Python function."""
        return self._name

    @property
    def input_signature(self) -> tuple[Any, ...] | None:
        """The only signature allowed, or None."""
        return self._input_signature

    @property
    def function_type(self) -> FunctionType:
        """The parameters of the Python function, with the types that `input_signature` gives."""
        signature = self._input_signature
        types = None if signature is None else [trace_type(spec) for spec in signature]
        return FunctionType.of_parameters(self._parameters.signature, types)

    @property
    def function_spec(self) -> FunctionSpec:
        """The Python function's arguments, their defaults and the input signature."""
        return FunctionSpec(
            self._parameters.signature,
            self._input_signature,
            self.function_type,
            self._name,
            self._jit_compile,
        )

    def experimental_get_tracing_count(self) -> int:
        """How often the Python function was traced."""
        return self._count

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return self
        try:
            bound = self._by_instance.get(instance)
        except TypeError:
            bound = None
        if bound is None:
            with self._lock:
                bound = self._bound_to(instance)
        view: Any = bound._view()
        if view is None:
            view = _BoundFunction(bound, instance)
            bound._view = weakref.ref(view)
        return view

    def _bound_to(self, instance: Any) -> "Function":
        """A function of its own for each instance, which does not keep the instance alive."""
        inner = self._python_function
        method = _Method(inner, weakref.ref(instance))
        unbound = types.MethodType(inner, instance)
        made = Function(
            method,
            self._name,
            None,
            self._autograph,
            self._jit_compile,
            self._reduce_retracing,
            self.attributes,
            self._autograph_options,
        )
        made._parameters = Parameters(unbound)
        made._input_signature = self._input_signature
        functools.update_wrapper(
            made, inner, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=()
        )
        made.__dict__.pop("__wrapped__", None)
        with contextlib.suppress(TypeError):  # no dictionary key: bound anew at each access
            self._by_instance[instance] = made
        return made

    # ---- calls -----------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the trace for these arguments, making it first when there is none."""
        if _run_eagerly["on"]:
            return self._python_function(*args, **kwargs)
        try:
            args, kwargs = self._parameters.bind(args, kwargs)
            tensors: list[Any] = FlatArguments()
            if self._input_signature is None:
                key = trace_key(args, tensors)
                if kwargs:
                    key = (key, trace_key(kwargs, tensors))
            else:
                key, tensors = self._signature_key(args, kwargs)
            if hasattr(tensors, "variables"):
                self._note_variables(tensors)
            if state.observer is not None:
                key = _observed(key)
            if state.graph is not None:
                key = self._key_in_graph(key, state.graph)
            concrete = self._known.get(key)
            if concrete is None:
                concrete = self._find_or_trace(key, args, kwargs)
            return concrete.call_flat(tensors)
        except Exception as error:
            filter_traceback(error)
            raise

    def _note_variables(self, tensors: Any) -> None:
        """Before a call with variables: which of them the function reaches by itself."""
        if self._reached is None:
            inner: Any = self._python_function
            instance = None
            if isinstance(inner, _Method):
                inner, instance = inner.function, inner.instance()
            self._reached = reached_by(inner, instance)
        pin(tensors, self._reached)
        if state.recorders or state.graph is not None:
            watch([variable for variable, _ in tensors.variables])

    def _key_in_graph(self, key: Any, graph: Any) -> Any:
        """Functions share traces with eager calls, unless they capture what is not eager."""
        own = _of_graph(key, graph)
        return own if not graph.building_function or own in self._known else key

    def _signature_key(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, list[Any]]:
        """With an input signature: the one key, and the arguments as tensors of it."""
        signature = self._input_signature or ()
        given = [*args, *kwargs.values()]
        if len(given) < len(signature):
            raise TypeError(
                f"Binding inputs to tf.function failed due to `missing arguments`. Received"
                f" {len(given)} arguments for {self._name} with input_signature {signature}: one"
                " is expected for each spec."
            )
        if len(args) > max(len(signature), self._parameters.positional):
            raise TypeError(
                "Binding inputs to tf.function failed due to `too many positional arguments`."
                f" Received {len(args)} arguments for {self._name} with input_signature"
                f" {signature}: one is expected for each spec. Leave out the last ones."
            )
        self._check_defaults(given[len(signature) :], len(signature))
        return "signature", tensors_for(self._name, signature, given)

    def _check_defaults(self, values: Sequence[Any], start: int) -> None:
        """With an input signature, what it does not describe keeps its default.

        Raises:
          TypeError: a value is another.
        """
        for name, value in zip(self._parameters.names[start:], values, strict=False):
            default = self._parameters.defaults.get(name)
            if value is not default and trace_key(value, []) != trace_key(default, []):
                raise TypeError(
                    f"Binding inputs to tf.function failed due to `Can not cast {value!r} to"
                    f" Literal[{default!r}]`: input_signature of {self._name} says nothing of"
                    f" {name!r}, so it keeps its default. Add a TensorSpec for it, or leave it out."
                )

    def _find_or_trace(
        self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ConcreteFunction:
        with self._lock:
            own = _of_graph(key, state.graph)
            served_by = self._serves(own)
            if served_by is not None:
                key = own
            else:
                served_by = self._serves(key)
            if served_by is not None:
                self._traces.move_to_end(served_by)
                concrete = self._traces[served_by]
            else:
                wanted = self._relaxed(key) if self._reduce_retracing else key
                concrete = self._trace(wanted, args, kwargs)
                if concrete.captures_symbolic:
                    key, wanted = own, _of_graph(wanted, state.graph)
                self._traces[wanted] = concrete
                self._make_room()
            self._known[key] = concrete
            first, self._first_call = self._first_call, None
            return first or concrete

    def _serves(self, key: Any) -> Any:
        """The key of the most specific trace that serves a call; None when there is none."""
        if key in self._traces:
            return key
        best = None
        for known in self._traces:
            if accepts(known, key) and (best is None or accepts(best, known)):
                best = known
        return best

    def _relaxed(self, key: Any) -> Any:
        """The key that serves this call and those of all traces that differ in sizes alone."""
        for known in self._traces:
            key = relax(known, key) or key
        own = _of_graph(key, state.graph)
        if own is key:
            return key
        for known in self._traces:  # those that capture from this graph have its id in their keys
            own = relax(known, own) or own
        return own[0]

    def _make_room(self) -> None:
        """Drops the traces that were not used for longest.

        Calls do not note which trace they use: now and then all keys are forgotten, and those still
        in use are found again, which makes their traces young.
        """
        while len(self._traces) > self._max_traces:
            dropped, _ = self._traces.popitem(last=False)
            if len(self._dropped) > ALIASES * self._max_traces:
                self._dropped.clear()
            self._dropped.add(hash(dropped))
            self._known.clear()
        if len(self._known) > ALIASES * self._max_traces:
            self._known.clear()

    def _trace(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ConcreteFunction:
        if key in self._tracing:
            raise self._calls_itself()
        self._tracing.add(key)
        try:
            return self._trace_and_note(key, args, kwargs)
        finally:
            self._tracing.discard(key)

    def _calls_itself(self) -> RecursionError:
        return RecursionError(
            f"tf.function {self._name}, called at {user_frame()}: expected calls that end while"
            " they are traced, got a call of itself with the same signature, for which a graph"
            " would never end. Count down a Python number that ends the recursion, or use"
            " tf.while_loop."
        )

    def _trace_and_note(
        self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ConcreteFunction:
        if self._count == 0:
            note_first_trace(self._name, self._python_function)
        elif key != "signature" and not _is_observed(key):
            dropped = hash(key) in self._dropped
            others = [k for k in (*self._traces, *self._tracing - {key}) if not _is_observed(k)]
            if dropped or others:
                known = [] if dropped else others
                self._retraces.add(self._count + 1, self._parameters.names, known, key)
        first = not self._initialized
        concrete, created = self._trace_once(key, args, kwargs, allow_variables=first)
        if created:  # the body makes its variables at the first call: the graph kept does not
            self._created_variables.extend(created)
            if concrete.graph.sets_first_values:
                self._first_call = concrete  # the one that needs to
            concrete, _ = self._trace_once(key, args, kwargs, allow_variables=False)
        self._initialized = True
        return concrete

    def _trace_once(
        self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any], allow_variables: bool
    ) -> tuple[ConcreteFunction, list[Any]]:
        self._count += 1
        graph = FuncGraph(self._name)
        graph.allow_variables = allow_variables
        keys = iter(
            tensor_keys(key) if self._input_signature is None else _spec_keys(self._input_signature)
        )
        kinds = iter(type_keys(key))
        if self._input_signature is None:
            names = ArgumentNames(self._parameters, args, kwargs)
        else:
            names = ArgumentNames(self._parameters, self._input_signature, {})
        variables = VariableInputs(graph)
        outer = state.graph
        with context.graph_scope(graph), context.no_recording():

            def placeholder(leaf: Any) -> Any:
                spec = next(keys)
                if isinstance(spec, VariableKey):
                    return variables.add(leaf, spec, names.next()[0])
                name, place = names.next()
                made = graph.add_input(spec.dtype, spec.dims, spec.name or name)
                made.op.attrs["_user_specified_name"] = spec.name or place
                return made

            def custom(value: Any) -> Any:
                return placeholder_for(next(kinds), placeholder)

            inner_args = _to_structure(self._input_signature, args)
            new_args = substitute(inner_args, placeholder, custom, outer)
            new_kwargs = kwargs
            if self._input_signature is None:
                new_kwargs = substitute(kwargs, placeholder, custom, outer)
            before = copied(new_args), copied(new_kwargs)
            result = self._run_body(new_args, new_kwargs)
            self._check_unchanged(before, new_args, new_kwargs)
            graph.structured_outputs = _outputs(result, graph, self._name)
        flat = nest.flatten(graph.structured_outputs, expand_composites=True)
        graph.outputs = list({id(t): t for t in flat if isinstance(t, SymbolicTensor)}.values())
        graph.structured_input_signature = weaken(
            specs_of_values((new_args, new_kwargs), variables.specs)
        )
        variables.finish()
        graph.finish()
        name = f"__inference_{self._name}_{next(_numbers)}"
        made = ConcreteFunction(graph, key, self._jit_compile, self._parameters.signature, name)
        made.body.attributes = self.attributes
        return made, graph.new_variables

    def _run_body(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls the Python function, with its control flow converted unless that is off."""
        body: Any = self._python_function
        if isinstance(body, _Method):
            body, args = body.function, (body.instance(), *args)
        if not self._autograph:
            return body(*args, **kwargs)
        return autograph.run(body, args, kwargs, self._autograph_options)

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

    def experimental_get_retrace_report(self) -> tuple[Retrace, ...]:
        """Why the function was traced again: its last retraces, oldest first.

        Returns:
          Each says at which line of yours, which arguments differ from the nearest signature, what
          they were and are, and what would avoid it; `str` of one is a sentence.

        Example:
          >>> import penstock as tf
          >>> f = tf.function(lambda x: x)
          >>> _ = f(tf.ones([2])), f(tf.ones([3]))
          >>> f.experimental_get_retrace_report()[0].changes[0].new
          'Tensor(shape=(3,), dtype=float32)'
        """
        with self._lock:
            return self._retraces.retraces

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for these arguments, which may be TensorSpecs.

        Returns:
          A ConcreteFunction, whose arguments are the tensors alone.
        """
        if self._input_signature is not None:
            if not args and not kwargs:
                args = self._input_signature
            args, kwargs = self._parameters.bind(args, kwargs)
            key, _ = self._signature_key(args, kwargs)
            return self._find_or_trace(_observed(key), args, kwargs)
        args, kwargs = self._parameters.bind(args, kwargs)
        tensors = FlatArguments()
        key = self._free_key(args, kwargs, tensors)
        return self._find_or_trace(key, args, kwargs)

    def get_initialization_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Makes the variables that the function makes at its first call, which does not run.

        Args:
          *args: as in a call; TensorSpecs may stand for tensors.
          **kwargs: likewise.

        Returns:
          A function without arguments. The variables have their first values already.

        Raises:
          RuntimeError: the function was traced before.
        """
        if self._initialized:
            raise RuntimeError(
                "get_initialization_function cannot be called after the function has been used:"
                f" expected tf.function {self._name} not to be traced yet, got {self._count}"
                " traces. Call it first."
            )
        self.get_concrete_function(*args, **kwargs)
        return Function(lambda: None, f"initialize_{self._name}").get_concrete_function()

    def experimental_get_compiler_ir(self, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """What the compiler makes of the function for these arguments.

        Args:
          *args: as in a call; a TensorSpec of known shape may stand for a tensor.
          **kwargs: likewise.

        Returns:
          `ir(stage="hlo", device_name=None, platform_name=None)` gives text for the stages hlo,
          hlo_no_metadata, stablehlo, optimized_hlo and optimized_hlo_dot, bytes for hlo_serialized,
          stablehlo_serialized, optimized_hlo_serialized and optimized_hlo_proto_serialized. The
          names of device and platform are accepted; the default device is lowered for.

        Raises:
          ValueError: the function was not made with jit_compile=True, a shape is unknown, or there
            is no such stage.
          InvalidArgumentError: an operation cannot be compiled.
        """
        if not self._jit_compile:
            raise ValueError(
                "Compiler IR can only be returned for functions marked with 'jit_compile=True',"
                f" got tf.function {self._name} with jit_compile={self._jit_compile}."
            )
        concrete, tensors = self._concrete_and_tensors(args, kwargs)
        body = concrete.body
        feeds = [feed_of(t, p) for t, p in zip(tensors, body.inputs, strict=False)]
        feeds += [t._array for t in concrete.captured_inputs]

        def ir(
            stage: str = "hlo", device_name: str | None = None, platform_name: str | None = None
        ) -> str | bytes:
            return show(cast(WholePlan, plan_of(body)), feeds, stage)

        return ir

    def _concrete_and_tensors(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[ConcreteFunction, list[Any]]:
        """The trace for these arguments, and the tensors or specs among them."""
        args, kwargs = self._parameters.bind(args, kwargs)
        if self._input_signature is not None:
            key, tensors = self._signature_key(args, kwargs)
            return self._find_or_trace(key, args, kwargs), tensors
        tensors = FlatArguments()
        key = self._free_key(args, kwargs, tensors)
        return self._find_or_trace(key, args, kwargs), tensors

    def _free_key(self, args: Any, kwargs: Any, tensors: FlatArguments) -> Any:
        """The key of a call without an input signature."""
        key = trace_key(args, tensors)
        if kwargs:
            key = (key, trace_key(kwargs, tensors))
        if hasattr(tensors, "variables"):
            self._note_variables(tensors)
        return key

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """The signatures traced so far, as text."""
        return "\n\n".join(c.pretty_printed_signature(verbose) for c in self._traces.values())

    def __copy__(self) -> "Function":
        """A function of the same Python function, not traced yet."""
        return self._with(self._python_function)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Function":
        """The same of a deep copy of the Python function: a method of the copied object, say."""
        return self._with(copy.deepcopy(self._python_function, memo))

    def _with(self, python_function: Callable[..., Any]) -> "Function":
        return Function(
            python_function,
            self._name,
            self._input_signature,
            self._autograph,
            self._jit_compile,
            self._reduce_retracing,
            self.attributes,
            self._autograph_options,
        )

    def __getstate__(self) -> Any:
        raise TypeError(
            f"tf.function {self._name} cannot be pickled; pickle the Python function instead"
        )

    def __repr__(self) -> str:
        return f"<penstock.tracing.function.Function {self._name}, {self._count} traces>"


class _BoundFunction(Function):
    """The function of an instance, which lives as long as this access to it.

    All accesses to the function of one instance are one function: they share their attributes.
    """

    __slots__ = ("_instance",)

    def __init__(self, function: Function, instance: Any) -> None:
        self.__dict__ = function.__dict__
        self._instance = instance


class _Method:
    """A method of an instance that it does not keep alive."""

    def __init__(self, function: Callable[..., Any], instance: Callable[[], Any]) -> None:
        self.function = function
        self.instance = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(self.instance(), *args, **kwargs)


def _of_graph(key: Any, graph: Any) -> Any:
    """The key of a trace that belongs to a graph: made once, whoever asks; none eagerly."""
    return key if graph is None or call_graph(key) is not None else (key, id(graph))


def _observed(key: Any) -> Any:
    """The key of a call: one of its own while an observer looks at operations."""
    return key if state.observer is None else (_OBSERVED, state.observer.key, key)


def _is_observed(key: Any) -> bool:
    if call_graph(key) is not None:
        key = key[0]
    return key.__class__ is tuple and len(key) == 3 and key[0] is _OBSERVED


def _spec_keys(signature: Any) -> list[TensorKey]:
    return [
        TensorKey(s.dtype, s.shape.dims_tuple, s.name)
        for s in nest.flatten(signature, expand_composites=True)
    ]


def _to_structure(signature: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """With an input signature, its specs stand where arguments will be."""
    if signature is None:
        return args
    return (*signature, *args[len(signature) :])


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


__all__ = ["Function", "function", "functions_run_eagerly", "run_functions_eagerly"]
