"""Which mode operations run in, and scopes for both: device, names, control inputs, init_scope."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from penstock.core import context
from penstock.core.context import state
from penstock.core.tensor import Tensor
from penstock.graph.default_graph import get_default_graph, global_graph
from penstock.graph.graph import Graph
from penstock.graph.scopes import as_name, device_text, fill_device
from penstock.types import tensor_shape

_v2 = {"enabled": True, "control_flow": True, "resource_variables": True}


def executing_eagerly() -> bool:
    """True when operations run at once, False while a graph or a function is built."""
    return state.graph is None


def executing_eagerly_outside_functions() -> bool:
    """Whether operations run at once outside of functions that are being traced."""
    if state.graph is None:
        return True
    with init_scope():
        return state.graph is None


def inside_function() -> bool:
    """Whether a function is being traced."""
    return bool(getattr(state.graph, "building_function", False))


def disable_eager_execution() -> None:
    """Adds operations to the default graph from now on instead of running them.

    Raises:
      ValueError: called inside of a graph scope.
    """
    _check_at_root("tf.disable_eager_execution")
    context.set_default_graph_factory(global_graph)


def enable_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None
) -> None:
    """Runs operations at once from now on.

    Args:
      config: a ConfigProto; device options are read when devices are first used.
      device_policy: accepted for compatibility; arrays move to the device that needs them.
      execution_mode: accepted for compatibility; results are awaited when they are read.

    Raises:
      ValueError: the default graph has operations already, or this is called inside of a graph
        scope.
    """
    if not context.eager_by_default() and global_graph().get_operations():
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    _check_at_root("tf.enable_eager_execution")
    context.set_default_graph_factory(None)


def _check_at_root(name: str) -> None:
    if state.stack:
        raise ValueError(
            f"{name} must be called at program startup, outside of `with graph.as_default():` and"
            " functions."
        )


def disable_v2_behavior() -> None:
    """Programs of the first generation: graphs, Dimension objects, tensors compared by identity."""
    _v2["enabled"] = _v2["resource_variables"] = False
    disable_eager_execution()
    tensor_shape.disable_v2_tensorshape()
    disable_tensor_equality()


def enable_v2_behavior() -> None:
    """Undoes `disable_v2_behavior`."""
    _v2["enabled"] = _v2["resource_variables"] = True
    enable_eager_execution()
    tensor_shape.enable_v2_tensorshape()
    enable_tensor_equality()


def note(what: str, wanted: bool) -> None:
    """Keeps a wish about the behaviour of the second generation, to be told when asked."""
    _v2[what] = wanted


def noted(what: str) -> bool:
    """The last wish."""
    return _v2[what]


def tf2_enabled() -> bool:
    """Whether the behaviour of the second generation is on."""
    return _v2["enabled"]


def control_flow_v2_enabled() -> bool:
    """Whether control flow is asked to be made of functions.

    Conditionals and loops that this library builds always are; those of the first kind come with a
    GraphDef, or from `tf.raw_ops.Switch` and the like.
    """
    return _v2["control_flow"]


def disable_control_flow_v2() -> None:
    """Accepted for compatibility, see `control_flow_v2_enabled`."""
    _v2["control_flow"] = False


def enable_control_flow_v2() -> None:
    """Undoes `disable_control_flow_v2`."""
    _v2["control_flow"] = True


def output_all_intermediates(state: bool | None) -> None:
    """Accepted for compatibility: whether conditionals and loops give out what gradients need.

    Here an operation is given further results when its gradient is built, so that in every mode
    those of any order can be taken.

    Args:
      state: True, False, or None for TensorFlow's default.
    """


def disable_tensor_equality() -> None:
    """Compares and hashes tensors by identity."""
    Tensor.equality_by_value = False


def enable_tensor_equality() -> None:
    """Compares tensors by value; they are no dictionary keys then."""
    Tensor.equality_by_value = True


enable_v2_tensorshape = tensor_shape.enable_v2_tensorshape
disable_v2_tensorshape = tensor_shape.disable_v2_tensorshape


@contextlib.contextmanager
def _eager_device(name: Any) -> Iterator[None]:
    if name is None:
        chosen = None
    elif isinstance(name, str) or hasattr(name, "to_string"):
        chosen = fill_device(device_text(name), state.device or "")
    else:
        raise ValueError(
            f"tf.device: expected a device's name, a DeviceSpec or None, got {name!r}. Write "
            "'/CPU:0', say."
        )
    with context.eager_device(chosen):
        yield


def device_v1(device_name_or_function: Any) -> contextlib.AbstractContextManager[None]:
    """A scope in which operations request a device.

    Args:
      device_name_or_function: a name, a spec, a function of the operation, or None, which lifts the
        scopes around.

    Raises:
      RuntimeError: a function was given in eager mode.
    """
    graph = state.graph
    if graph is not None:
        return graph.device(device_name_or_function)  # type: ignore[no-any-return]
    if callable(device_name_or_function) and not hasattr(device_name_or_function, "to_string"):
        raise RuntimeError("tf.device does not support functions when eager execution is enabled.")
    return _eager_device(device_name_or_function)


def device(device_name: Any) -> contextlib.AbstractContextManager[None]:
    """A scope in which operations request this device.

    Args:
      device_name: a name such as "/GPU:0", a DeviceSpec, or None to lift outer scopes.

    Raises:
      RuntimeError: a function is passed.
      ValueError: it is no device's name.
      InvalidArgumentError: it is of another task, where an operation runs eagerly inside.
    """
    if callable(device_name) and not hasattr(device_name, "to_string"):
        raise RuntimeError("tf.device does not support functions.")
    return device_v1(device_name)


class name_scope:
    """A scope in which operations' names begin with `name`.

    Args:
      name: the scope; one that ends in "/" is entered again as it is.

    Example:
      >>> with Graph().as_default(), name_scope("layer") as scope:
      ...     scope
      'layer/'
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ValueError("name for name_scope must be a string.")
        self._name = name
        self._exits: list[Any] = []

    @property
    def name(self) -> str:
        """The name given."""
        return self._name

    def __enter__(self) -> str:
        graph = state.graph
        scope = graph.name_scope(self._name) if graph is not None else _EagerScope(self._name)
        entered = scope.__enter__()
        self._exits.append(scope)
        return str(entered)

    def __exit__(self, *problem: Any) -> None:
        self._exits.pop().__exit__(*problem)


class _EagerScope:
    """The name scope of eager mode, which variables and summaries ask for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> str:
        self._before = eager_scope.name
        name = self._name
        if not name:
            eager_scope.name = ""
        elif name.endswith("/"):
            eager_scope.name = name
        else:
            eager_scope.name = f"{self._before}{name}/"
        return eager_scope.name

    def __exit__(self, *problem: Any) -> None:
        eager_scope.name = self._before


class _ScopeName(threading.local):
    name = ""


eager_scope = _ScopeName()


def current_name_scope() -> str:
    """The current scope with a trailing slash, "" at the root."""
    graph = state.graph
    if graph is None:
        return eager_scope.name
    scope = graph.get_name_scope()
    return f"{scope}/" if scope else ""


def get_current_name_scope() -> str:
    """The name scope that operations made now are in, without a trailing slash; "" at the root.

    Example:
      >>> with name_scope("layer"):
      ...     get_current_name_scope()
      'layer'
    """
    return current_name_scope().rstrip("/")


class name_scope_v1:
    """A name scope with a default: `name_scope(name, default_name, values)`.

    Without a name, and with an empty one, it is the outermost scope.
    """

    def __init__(
        self, name: str | None, default_name: str | None = None, values: Any = None
    ) -> None:
        if not (default_name is None or isinstance(default_name, str)):
            raise TypeError(
                f"`default_name` type ({type(default_name)}) is not a string type. You likely "
                "meant to pass this into the `values` kwarg."
            )
        if name is None and values is not None and default_name is None:
            raise ValueError(
                f"At least one of name ({name}) and default_name ({default_name}) must be provided."
            )
        self._name = default_name if name is None else name
        self._values = values
        self._exit: Any = None

    @property
    def name(self) -> str | None:
        """The name given, or the default."""
        return self._name

    def __enter__(self) -> str:
        self._exit = contextlib.ExitStack()
        eager = state.graph is None and context.eager_by_default()
        graph = None if eager else graph_of(self._values or ())
        if graph is not None and graph is not state.graph:
            self._exit.enter_context(graph.as_default())
        name: Any = self._name if eager else as_name(self._name)  # users pass all sorts
        if name and not isinstance(name, str):
            problem = ValueError if eager else TypeError
            raise problem(f"name for name_scope must be a string, got {name!r}.")
        return str(self._exit.enter_context(name_scope(name or "")))

    def __exit__(self, *problem: Any) -> None:
        self._exit.__exit__(*problem)


def graph_of(values: Any) -> Graph | None:
    """The graph of the symbolic tensors and operations in `values`, else the current one.

    Inside of a function it is always the function's.

    Raises:
      ValueError: two of them are of different graphs.
    """
    first: Any = None
    if state.graph is not None and state.graph.building_function:
        return state.graph  # type: ignore[no-any-return]
    for value in values:
        graph = getattr(value, "graph", None) if not _is_eager(value) else None
        if graph is None:
            continue
        if first is None:
            first = value
        elif graph is not first.graph:
            raise ValueError(
                f"{value!r} must be from the same graph as {first!r}, got another one. Build both "
                "inside one `with graph.as_default():`."
            )
    return state.graph if first is None else first.graph  # type: ignore[no-any-return]


def _is_eager(value: Any) -> bool:
    return isinstance(value, Tensor) and hasattr(value, "_array")


@contextlib.contextmanager
def op_scope(values: Any, name: str | None, default_name: str | None = None) -> Iterator[str]:
    """Deprecated form of the first generation's `name_scope`, with the values first."""
    with name_scope_v1(name, default_name, values) as scope:
        yield scope


def control_dependencies(control_inputs: Any) -> contextlib.AbstractContextManager[None]:
    """Operations inside run after `control_inputs`; in eager mode everything runs in order anyway.

    Args:
      control_inputs: tensors, operations or (in eager mode) callables; None lifts outer blocks.

    Raises:
      TypeError, ValueError, KeyError: in a graph, an input is none of its operations or tensors.
    """
    graph = state.graph
    if graph is not None:
        return graph.control_dependencies(control_inputs)  # type: ignore[no-any-return]
    if callable(control_inputs):
        control_inputs()
    else:
        for item in () if control_inputs is None else control_inputs:
            if callable(item):
                item()
    return contextlib.nullcontext()


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Lifts operations out of functions and control inputs: to the outermost graph or eager."""
    outer: Any = None
    for graph in (state.graph, *reversed(state.stack)):
        if graph is None or not getattr(graph, "building_function", False):
            outer = graph
            break
    scope = current_name_scope()
    recorders = state.recorders
    with contextlib.ExitStack() as stack:
        if outer is None and not context.eager_by_default():
            outer = global_graph()
        if outer is not state.graph:
            stack.enter_context(context.graph_scope(outer))
        if outer is not None:
            stack.enter_context(outer.control_dependencies(None))
            # The scope of the inner graph, whatever scope the outer one stands in.
            stack.enter_context(outer.name_scope(scope or None))
        else:
            stack.enter_context(name_scope(scope) if scope else contextlib.nullcontext())
        state.recorders = recorders
        stack.enter_context(context.no_recording())
        yield


@contextlib.contextmanager
def eager_mode() -> Iterator[None]:
    """Runs operations inside at once, whatever the mode outside."""
    with context.graph_scope(None):
        yield


def container(container_name: str) -> contextlib.AbstractContextManager[str]:
    """A scope of the default graph in which stateful operations use this container."""
    return get_default_graph().container(container_name)


def colocate_with(
    op: Any, ignore_existing: bool = False
) -> contextlib.AbstractContextManager[None]:
    """A scope of the default graph that places operations with `op`; nothing in eager mode."""
    if state.graph is None:
        return contextlib.nullcontext()
    return get_default_graph().colocate_with(op, ignore_existing)


def add_to_collection(name: Any, value: Any) -> None:
    """Adds to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Adds to several collections of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """A copy of a collection of the default graph."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """A collection of the default graph itself."""
    return get_default_graph().get_collection_ref(key)
