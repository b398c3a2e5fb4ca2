"""`tf.function`: a Python function that is traced into a graph for each signature of its calls."""

import contextlib
import copy
import functools
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from penstock.config import env
from penstock.core.context import at_home, state
from penstock.core.effects import switch as effects
from penstock.core.tracebacks import filter_traceback
from penstock.core.trackable import Trackable
from penstock.tracing.arguments import bound_to_signature
from penstock.tracing.compiler_ir import feed_of, show
from penstock.tracing.concrete import ConcreteFunction, plan_of
from penstock.tracing.function_type import FunctionSpec, FunctionType, trace_type
from penstock.tracing.parameters import Parameters
from penstock.tracing.retraces import Retrace, RetraceLog, note_first_trace
from penstock.tracing.signature import specs_of, trace_key
from penstock.tracing.tracer import Method, Options, Tracer
from penstock.tracing.traces import Traces, is_observed, observed, of_graph
from penstock.tracing.variable_arguments import FlatArguments, pin, reached_by, watch
from penstock.types import callables
from penstock.util.frames import user_frame

ATTRIBUTES = frozenset(  # that experimental_attributes may name
    "_OutputsOnOpDevice _disable_acd _implements _noinline _tf_data_function api_implements"
    " api_preferred_device disable_summaries_at_runtime experimental_ints_on_device"
    " function_runs_at_most_once go_backwards runtime_constant_optimization time_major".split()
)
SIGNATURE = "signature"  # the key of all calls of a function with an input signature
DEFAULTS = Options()

_run_eagerly = {"on": False}


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
      jit_compile: True compiles the whole function or says which operation prevents it; what makes
        results whose sizes follow from values, `tf.where` say, runs between compiled parts. False
        runs operation by operation, None leaves the choice to the planner.
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
    attributes = dict(experimental_attributes or {})
    if experimental_implements is not None:
        attributes["_implements"] = experimental_implements
    options = Options(
        autograph, experimental_autograph_options, jit_compile, reduce_retracing, attributes
    )

    def decorate(inner: Callable[..., Any]) -> Function:
        if not callable(inner):
            raise TypeError(
                f"tf.function expected a callable, got {inner!r} of type {type(inner).__name__}."
                " Options such as input_signature are given by keyword."
            )
        return Function(inner, _name_of(inner), input_signature, options)

    return decorate if func is None else decorate(func)


def _check_signature(signature: Any, function: Any, parameters: Parameters) -> None:
    if signature is None:
        return
    if not isinstance(signature, (list, tuple)):
        raise TypeError(
            f"input_signature must be either a tuple or a list, got {type(signature)}. Put the"
            " specs into a list, one for each argument."
        )
    specs_of(signature)
    # the first parameter of what looks like the body of a method is described by no signature
    if not (isinstance(function, types.FunctionType) and parameters.names[:1] == ["self"]):
        parameters.check_signature(signature)


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
        options: Options = DEFAULTS,
        parameters: Parameters | None = None,
    ) -> None:
        if parameters is None:
            parameters = Parameters(python_function)
            _check_signature(input_signature, python_function, parameters)
        self._python_function = python_function
        self._name = name
        self._input_signature = None if input_signature is None else tuple(input_signature)
        self._options = options
        self._jit_compile = options.jit_compile
        self._parameters = parameters
        self._tracer = Tracer(python_function, name, parameters, self._input_signature, options)
        self._traces = Traces(env.get("PENSTOCK_PLAN_CACHE"), name)
        self._lock = self._traces.lock  # guards: all below but _created_variables
        self._known = self._traces.known  # the same object: calls look here first
        self._tracing: set[Any] = set()  # keys of the traces that are being made
        self._count = 0
        self._retraces = RetraceLog(name)
        self._created_variables: list[Any] = []
        self._initialized = False
        self._view: Callable[[], Any] = lambda: None  # the last access to a method, if it lives
        self._first_call: ConcreteFunction | None = None  # serves the call that traces
        self._reached: frozenset[int] | None = None  # ids of variables that the function names
        self._by_instance: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
        functools.update_wrapper(
            self,
            python_function,
            assigned=("__module__", "__name__", "__qualname__", "__doc__"),
            updated=(),
        )

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
        method = Method(inner, weakref.ref(instance))
        parameters = Parameters(types.MethodType(inner, instance))
        made = Function(method, self._name, self._input_signature, self._options, parameters)
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
        graph = state.graph
        try:
            if graph is not None and graph.home_of((*args, *kwargs.values())) is not graph:
                with at_home(*args, *kwargs.values()):  # arrays become its constants, too
                    return self(*args, **kwargs)
            args, kwargs = self._parameters.bind(args, kwargs)
            key, tensors = self._key_and_tensors(args, kwargs)
            if state.marks_traces:
                key = observed(key)
            if graph is not None:
                key = self._key_in_graph(key, graph)
            concrete = self._known.get(key)
            if concrete is None or effects.log is not None:
                concrete = self._find_or_trace(key, args, kwargs)
            return concrete.call_flat(tensors)
        except Exception as error:
            filter_traceback(error)
            raise

    def _key_and_tensors(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, list[Any]]:
        """The key of a call, and the tensors or specs among its arguments."""
        signature = self._input_signature
        if signature is not None:
            return SIGNATURE, bound_to_signature(
                self._name, self._parameters, signature, args, kwargs
            )
        tensors = FlatArguments()
        key = trace_key(args, tensors)
        if kwargs:
            key = (key, trace_key(kwargs, tensors))
        if tensors.variables is not None:
            self._note_variables(tensors)
        return key, tensors

    def _note_variables(self, tensors: Any) -> None:
        """Before a call with variables: which of them the function reaches by itself."""
        if self._reached is None:
            inner: Any = self._python_function
            instance = None
            if isinstance(inner, Method):
                inner, instance = inner.function, inner.instance()
            self._reached = reached_by(inner, instance)
        pin(tensors, self._reached)
        if state.recorders or state.graph is not None:
            watch([variable for variable, _ in tensors.variables])

    def _key_in_graph(self, key: Any, graph: Any) -> Any:
        """Functions share traces with eager calls, unless they capture what is not eager."""
        own = of_graph(key, graph)
        return own if not graph.building_function or own in self._known else key

    def _find_or_trace(
        self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ConcreteFunction:
        with self._turn_to_trace(key):
            traces, own = self._traces, of_graph(key, state.graph)
            concrete = traces.find(own)
            if concrete is not None:
                key = own
            else:
                concrete = traces.find(key)
            if concrete is None:
                reduce = self._options.reduce_retracing
                wanted = traces.relaxed(key, state.graph) if reduce else key
                concrete = self._trace(wanted, args, kwargs)
                if concrete.captures_symbolic:
                    key, wanted = own, of_graph(wanted, state.graph)
                traces.keep(wanted, concrete)
            traces.known[key] = concrete
            first, self._first_call = self._first_call, None
            return first or concrete

    def _turn_to_trace(self, key: Any) -> contextlib.AbstractContextManager[Any]:
        """The lock; while effects are recorded or replayed, in the turn of the one that traces."""
        log = effects.log  # another thread may close it
        if log is None:
            return self._lock
        return log.making(f"trace of {self._name}", self._traces, lambda: key in self._known)

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
        elif key != SIGNATURE and not is_observed(key):
            dropped = self._traces.was_dropped(key)
            others = [k for k in (*self._traces, *self._tracing - {key}) if not is_observed(k)]
            if dropped or others:
                known = [] if dropped else others
                self._retraces.add(self._count + 1, self._parameters.names, known, key)
        first = not self._initialized
        concrete = self._trace_once(key, args, kwargs, allow_variables=first)
        created = concrete.graph.new_variables
        if created:  # the body makes its variables at the first call: the graph kept does not
            self._created_variables.extend(created)
            if concrete.graph.sets_first_values:
                self._first_call = concrete  # the one that needs to
            concrete = self._trace_once(key, args, kwargs, allow_variables=False)
        self._initialized = True
        return concrete

    def _trace_once(
        self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any], allow_variables: bool
    ) -> ConcreteFunction:
        self._count += 1
        return self._tracer.trace(key, args, kwargs, allow_variables)

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
        if self._input_signature is not None and not args and not kwargs:
            args = self._input_signature
        return self._concrete_and_tensors(args, kwargs)[0]

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
            return show(plan_of(body), feeds, stage)

        return ir

    def _concrete_and_tensors(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[ConcreteFunction, list[Any]]:
        """The trace for these arguments, and the tensors or specs among them."""
        args, kwargs = self._parameters.bind(args, kwargs)
        key, tensors = self._key_and_tensors(args, kwargs)
        return self._find_or_trace(observed(key), args, kwargs), tensors

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
        return Function(python_function, self._name, self._input_signature, self._options)

    def __reduce__(self) -> Any:
        """What makes it again, not traced yet, where the Python function can be pickled."""
        if isinstance(self._python_function, Method):
            raise TypeError(
                f"tf.function {self._name} is a method of an instance, which cannot be pickled:"
                " pickle the instance."
            )
        made = (self._python_function, self._name, self._input_signature, self._options)
        return Function, made

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


__all__ = ["Function", "function", "functions_run_eagerly", "run_functions_eagerly"]
