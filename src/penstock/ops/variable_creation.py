"""How variables come into being: a cell and its first value, or operations in a graph.

`variable_creator_scope` puts functions in the way of every new variable; `create` runs them,
innermost first.
"""

import contextlib
import itertools
import threading
from collections.abc import Callable, Collection, Iterator
from typing import Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.resources import ResourceHandle, VariableCell
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import Tensor, wrap
from penstock.graph.behavior import current_name_scope, device_v1, init_scope, name_scope_v1
from penstock.ops.conditionals import cond
from penstock.ops.lifting import NeedsArgument, lift
from penstock.ops.state_variables import ASSIGN, READ, VAR_HANDLE, VAR_IS_INITIALIZED
from penstock.ops.variable_updates import store
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.tensor_shape import TensorShape

Creator = Callable[..., Any]
_numbers = itertools.count()
_HINTS = ("use_resource", "distribute_strategy", "colocate_with")  # that strategies may add


class _Creators(threading.local):
    stack: tuple[Creator, ...] = ()


_creators = _Creators()


class _Scope(contextlib.ContextDecorator):
    """A scope with one more creator; one that is dropped without being left changes nothing."""

    def __init__(self, creator: Creator) -> None:
        self._creator = creator
        self._before: list[tuple[Creator, ...]] = []

    def __enter__(self) -> None:
        self._before.append(_creators.stack)
        _creators.stack = (*_creators.stack, self._creator)

    def __exit__(self, *problem: object) -> None:
        _creators.stack = self._before.pop()


def variable_creator_scope(variable_creator: Creator) -> contextlib.AbstractContextManager[None]:
    """A scope in which new variables are made by `variable_creator(next_creator, **kwargs)`.

    Args:
      variable_creator: may change the arguments, call `next_creator(**kwargs)` and wrap what it
        returns.
    """
    return _Scope(variable_creator)


def create(default: Creator, kwargs: dict[str, Any]) -> Any:
    """The variable that the creators in force make; `default(**kwargs)` when there are none."""
    if not _creators.stack:
        return default(**kwargs)
    chain = _without_hints(default, kwargs.keys())
    for creator in _creators.stack:
        chain = _link(creator, chain)
    return chain(**kwargs)


def _without_hints(default: Creator, asked: Collection[str]) -> Creator:
    """What makes a variable at last, told by creators of strategies what it has no use for.

    Args:
      default: takes the arguments that were asked for.
      asked: their names.
    """
    asked = frozenset(asked)

    def make(**kwargs: Any) -> Any:
        hints = {name: kwargs.pop(name) for name in _HINTS if name in kwargs.keys() - asked}
        made = default(**kwargs)
        if hints.get("distribute_strategy") is not None:
            made._distribute_strategy = hints["distribute_strategy"]
        return made

    return make


def _link(creator: Creator, following: Creator) -> Creator:
    return lambda **kwargs: creator(following, **kwargs)


def initialize(
    variable: Any,
    initial_value: Any,
    dtype: Any,
    shape: Any,
    name: str | None,
    caching_device: Any,
    validate_shape: bool,
) -> None:
    """Makes the state of a new variable and fills in its fields."""
    if initial_value is None:
        raise ValueError(
            "The `initial_value` arg to `tf.Variable` must be specified except when you are not "
            "providing a `variable_def`. You provided neither."
        )
    building = state.graph
    inside = building is not None and building.building_function
    if inside:
        building.note_new_variable(variable)
    later: Any = None
    with init_scope():
        if inside and isinstance(initial_value, SymbolicTensor) and initial_value.graph is building:
            try:
                initial_value = lift(initial_value)
            except NeedsArgument:
                if state.graph is not None:
                    raise
                later, initial_value = initial_value, None
        variable._in_graph_mode = state.graph is not None
        values = () if callable(initial_value) else (initial_value,)
        with name_scope_v1(name, "Variable", values) as scope:
            handle_name = scope.removesuffix("/") if scope else ""
            if not variable._in_graph_mode and name is not None and not scope:
                handle_name = name or ""
            variable._handle_name = f"{handle_name}:0"
            variable._shared_name = handle_name
            if later is not None:
                _initialize_empty(variable, later, dtype, shape)
            elif variable._in_graph_mode:
                args = (initial_value, dtype, shape, scope, caching_device, validate_shape)
                _initialize_in_graph(variable, *args)
            else:
                if caching_device is not None:
                    with device_v1(caching_device):  # refuses what is no device
                        pass
                _initialize_eagerly(variable, initial_value, dtype, shape)
    if later is not None:
        _assign_in_first_call(variable, later)


def _first_value(
    initial_value: Any, dtype: Any, shape: Any, validate: bool = True
) -> tuple[Any, d.Dims]:
    """The initial value as a tensor, and the variable's static shape."""
    value = initial_value() if callable(initial_value) else initial_value
    if isinstance(value, Tensor) and dtype is not None and value.dtype.base_dtype is not dtype:
        raise ValueError(
            f"initial_value: Tensor conversion requested dtype {dtype.name} for Tensor with dtype "
            f"{value.dtype.name}: {value!r}"
        )
    tensor = convert_to_tensor(value, dtype, name="initial_value")
    if shape is None:
        return tensor, tensor.dims if validate else None
    wanted = TensorShape(shape)
    if not validate:  # what was said of a value that does not fit is not held against it
        return tensor, wanted.dims_tuple if tensor.shape.is_compatible_with(wanted) else None
    if not tensor.shape.is_compatible_with(wanted):
        raise ValueError(
            f"In this `tf.Variable` creation, the initial value's shape ({tensor.shape}) is not "
            f"compatible with the explicitly supplied `shape` argument ({shape})."
        )
    return tensor, wanted.dims_tuple


def _initialize_eagerly(variable: Any, initial_value: Any, dtype: Any, shape: Any) -> None:
    with name_scope_v1("Initializer"):
        tensor, dims = _first_value(initial_value, dtype, shape)
    store(_new_cell(variable, tensor.dtype, dims), tensor)


def _new_cell(variable: Any, dtype: Any, dims: d.Dims) -> VariableCell:
    """The state of a variable outside of graphs, without a value."""
    name = variable._shared_name
    unique = f"{name}_{next(_numbers)}"
    variable._unique_id = unique
    cell = VariableCell(f"{name}", dtype, dims)
    variable._cell = cell
    variable._handle = wrap(ResourceHandle("Anonymous", unique, cell), dt.resource)
    if state.place is not None:
        state.place((variable._handle,))
    variable._dtype, variable._dims = dtype, dims
    return cell


def _initialize_empty(variable: Any, value: Any, dtype: Any, shape: Any) -> None:
    """The state of a variable whose first value is a tensor of the function that makes it."""
    checked = dtype is None or dtype is value.dtype
    if not checked or (shape is not None and not value.shape.is_compatible_with(shape)):
        raise ValueError(
            f"tf.Variable: expected an initial value of dtype {dtype} and shape {shape}, got"
            f" {value!r}. Cast or reshape it, or leave out dtype and shape."
        )
    _new_cell(variable, value.dtype, value.dims if shape is None else TensorShape(shape).dims_tuple)


def _assign_in_first_call(variable: Any, value: SymbolicTensor) -> None:
    """Makes the function that is being traced give a variable its first value."""
    state.graph.sets_first_values = True
    handle = variable.handle
    ready = execute(VAR_IS_INITIALIZED, (handle,))
    cond(ready, list, lambda: [execute(ASSIGN, (handle, value)), []][1])


def _initialize_in_graph(
    variable: Any, initial_value: Any, dtype: Any, shape: Any, scope: str, caching_device: Any,
    validate_shape: bool,
) -> None:  # fmt: skip
    graph = state.graph
    name = variable._shared_name
    groups = {"_class": (f"loc:@{name}",)}
    with graph._attr_scope(groups):
        with graph.name_scope("Initializer"), graph.device(None):
            tensor, dims = _first_value(initial_value, dtype, shape, validate_shape)
            if variable._is_like_reference and validate_shape and not d.is_full(tensor.dims):
                raise ValueError(
                    f"Variable {name}: expected an initial value of known shape, got "
                    f"{d.text(tensor.dims)}. Set its shape, or pass validate_shape=False."
                )
        attrs = {
            "shared_name": name, "dtype": tensor.dtype, "shape": dims, "debug_name": scope,
            "container": graph._container,
        }  # fmt: skip
        variable._handle = execute(VAR_HANDLE, (), attrs, scope or None)
    variable._unique_id = f"{name}_{next(_numbers)}"
    variable._dtype, variable._dims = tensor.dtype, dims
    variable._initial_value = tensor
    handle = variable._handle
    with graph.name_scope("IsInitialized"):
        variable._is_initialized_op = execute(VAR_IS_INITIALIZED, (handle,))
    here = current_name_scope()
    with graph.colocate_with(None, ignore_existing=True), graph.device(handle.op.device):
        # In a scope of its own the name is free; a variable whose name is "" has none.
        assign = f"{here}Assign/" if here else "Assign"
        variable._initializer_op = execute(
            ASSIGN, (handle, tensor), {"validate_shape": False}, assign
        )
    with graph.name_scope("Read"):
        with graph.device(handle.op.device):
            value = execute(READ, (handle,), {"dtype": tensor.dtype})
        if caching_device is not None:
            with graph.device(caching_device):
                value = variable._cached_value = execute("Identity", (value,))
    variable._graph_element = value


@contextlib.contextmanager
def default_variable_creator_scope() -> Iterator[None]:
    """A scope without creators."""
    before = _creators.stack
    _creators.stack = ()
    try:
        yield
    finally:
        _creators.stack = before
