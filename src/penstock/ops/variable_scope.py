"""Variable scopes: names and defaults for `get_variable`, and sharing by name.

A scope has a name that is put before those of variables, and defaults for `get_variable`'s
arguments; scopes nest. With `reuse=True` only variables that exist are given, with AUTO_REUSE they
are made at their first use.
"""

import contextlib
import enum
import functools
from collections.abc import Iterator
from typing import Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.graph.behavior import current_name_scope, graph_of, name_scope_v1
from penstock.graph.default_graph import get_default_graph
from penstock.ops.variable_store import VariableStore, current_store
from penstock.ops.variable_types import (
    VariableAggregation,
    VariableSynchronization,
    settle_modes,
)
from penstock.ops.variables_v1 import GraphKeys
from penstock.types.dtypes import as_dtype, float32


class _ReuseMode(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = _ReuseMode.AUTO_REUSE
_FIELDS = (
    "initializer", "regularizer", "caching_device", "partitioner", "custom_getter", "dtype",
    "use_resource", "constraint",
)  # fmt: skip


class VariableScope:
    """A scope of `get_variable`: a name and defaults.

    Args:
      reuse: True, False, None or AUTO_REUSE.
      name: what is put before names.
      initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource,
        constraint: defaults of `get_variable`'s arguments.
      name_scope: the name scope that the scope was first entered with.
    """

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: Any = float32,
        use_resource: bool | None = None,
        constraint: Any = None,
    ) -> None:
        self._name = name
        self._initializer = initializer
        self._regularizer = regularizer
        self._reuse = reuse
        self._caching_device = caching_device
        self._partitioner = partitioner
        self._custom_getter = custom_getter
        self._name_scope = name_scope
        self._dtype = dtype
        self._use_resource = use_resource
        self._constraint = constraint
        if state.graph is None:
            self._reuse = AUTO_REUSE
            self._use_resource = True

    @property
    def name(self) -> str:
        """What is put before names."""
        return self._name

    @property
    def original_name_scope(self) -> str:
        """The name scope that the scope was first entered with."""
        return self._name_scope

    @property
    def reuse(self) -> Any:
        """Whether variables are shared: True, False, None or AUTO_REUSE."""
        return self._reuse

    @property
    def initializer(self) -> Any:
        """The default initializer."""
        return self._initializer

    @property
    def dtype(self) -> Any:
        """The default dtype."""
        return self._dtype

    @property
    def use_resource(self) -> bool | None:
        """Accepted for compatibility."""
        return self._use_resource

    @property
    def regularizer(self) -> Any:
        """The default regularizer."""
        return self._regularizer

    @property
    def caching_device(self) -> Any:
        """The default caching device."""
        return self._caching_device

    @property
    def partitioner(self) -> Any:
        """The default partitioner."""
        return self._partitioner

    @property
    def custom_getter(self) -> Any:
        """The default custom getter."""
        return self._custom_getter

    @property
    def constraint(self) -> Any:
        """The default constraint."""
        return self._constraint

    def reuse_variables(self) -> None:
        """Gives only variables that exist from now on."""
        self._reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Sets the default initializer."""
        self._initializer = initializer

    def set_dtype(self, dtype: Any) -> None:
        """Sets the default dtype."""
        self._dtype = dtype

    def set_use_resource(self, use_resource: bool) -> None:
        """Accepted for compatibility.

        Raises:
          ValueError: it is turned off in eager mode.
        """
        if state.graph is None and not use_resource:
            raise ValueError(
                "When eager execution is enabled, use_resource cannot be set to false."
            )
        self._use_resource = use_resource

    def set_regularizer(self, regularizer: Any) -> None:
        """Sets the default regularizer."""
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: Any) -> None:
        """Sets the default caching device.

        Raises:
          NotImplementedError: in eager mode.
        """
        if state.graph is None:
            raise NotImplementedError(
                "Caching devices are not yet supported when eager execution is enabled."
            )
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Any) -> None:
        """Sets the default partitioner."""
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Any) -> None:
        """Sets the default custom getter."""
        self._custom_getter = custom_getter

    def get_collection(self, name: Any) -> list[Any]:
        """What a collection holds that was made in this scope."""
        scope = f"{self._name}/" if self._name else ""
        return get_default_graph().get_collection(name, scope)

    def trainable_variables(self) -> list[Any]:
        """The trainable variables of this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        """The global variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """The local variables of this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(
        self,
        var_store: VariableStore,
        name: str | None,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        custom_getter: Any = None,
        constraint: Any = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
    ) -> Any:
        """The variable of this name in this scope; arguments as for `get_variable`."""
        full_name = f"{self._name}/{name or ''}" if self._name else name
        getter = custom_getter if custom_getter is not None else self._custom_getter
        if state.graph is None:
            reuse = False
        elif reuse is None:
            reuse = self._reuse
        with name_scope_v1(""):
            _check_constant(initializer, dtype)
            modes = settle_modes(synchronization, aggregation, trainable, full_name)
            options = {
                "name": full_name,
                "shape": shape,
                "dtype": self._dtype if dtype is None else dtype,
                "initializer": self._initializer if initializer is None else initializer,
                "regularizer": self._regularizer if regularizer is None else regularizer,
                "reuse": reuse,
                "trainable": modes[2],
                "collections": collections,
                "caching_device": self._caching_device
                if caching_device is None
                else caching_device,
                "partitioner": self._partitioner if partitioner is None else partitioner,
                "validate_shape": validate_shape,
                "use_resource": self._use_resource if use_resource is None else use_resource,
                "constraint": self._constraint if constraint is None else constraint,
                "synchronization": modes[0],
                "aggregation": modes[1],
            }
            return var_store.get(getter, options)


def _check_constant(initializer: Any, dtype: Any) -> None:
    if dtype is None or initializer is None or callable(initializer):
        return
    found = convert_to_tensor(initializer).dtype.base_dtype
    if found is not as_dtype(dtype):
        raise ValueError(
            f"Initializer type '{found}' and explicit dtype '{as_dtype(dtype)}' don't match."
        )


def get_variable_scope() -> VariableScope:
    """The current scope."""
    store = current_store()
    if store.scope is None:
        store.scope = VariableScope(False)
    return store.scope  # type: ignore[no-any-return]


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """The variable of this name in the current scope: made, or shared, as the scope's `reuse` says.

    Args:
      name: its name inside of the scope.
      shape: its shape; not with a constant initializer.
      dtype: its dtype; the scope's by default, float32.
      initializer: a function of shape and dtype, a function without arguments, or a value; the
        scope's by default, then Glorot's uniform one for floats and zeros for other dtypes.
      regularizer: a function of the variable whose result goes to REGULARIZATION_LOSSES.
      trainable: whether optimizers update it.
      collections: where it goes; GLOBAL_VARIABLES by default.
      caching_device: where reads are cached.
      partitioner: a function of shape and dtype that says how many parts there are on each axis.
      validate_shape: false leaves the shape open where a program asks for reference variables.
      use_resource: accepted for compatibility.
      custom_getter: `custom_getter(getter, name, **options)`, which may change the options.
      constraint: a function that optimizers project the value with.
      synchronization: a VariableSynchronization.
      aggregation: a VariableAggregation.

    Returns:
      A Variable, or a PartitionedVariable when there is a partitioner.

    Raises:
      ValueError: it exists and may not be shared, or the reverse; or shape or dtype differ.
    """
    return get_variable_scope().get_variable(
        current_store(), name, shape, dtype, initializer, regularizer, None, trainable, collections,
        caching_device, partitioner, validate_shape, use_resource, custom_getter, constraint,
        synchronization, aggregation,
    )  # fmt: skip


def get_local_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = False,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """`get_variable` for one of LOCAL_VARIABLES, which is not trainable."""
    names = [GraphKeys.LOCAL_VARIABLES, *(collections or ())]
    return get_variable(
        name, shape, dtype, initializer, regularizer, False, names, caching_device, partitioner,
        validate_shape, use_resource, custom_getter, constraint, synchronization, aggregation,
    )  # fmt: skip


class variable_scope:
    """Enters a scope of `get_variable`.

    Args:
      name_or_scope: a name inside of the current scope, or a VariableScope to enter again.
      default_name: the name when `name_or_scope` is None, made unique.
      values: tensors whose graph is entered.
      initializer: the default initializer inside.
      regularizer: the default regularizer inside.
      caching_device: the default caching device inside.
      partitioner: the default partitioner inside.
      custom_getter: the default custom getter inside, called before those of the scopes around it.
      reuse: True or AUTO_REUSE; None keeps what the scope around has.
      dtype: the default dtype inside.
      use_resource: accepted for compatibility.
      constraint: the default constraint inside.
      auxiliary_name_scope: whether a name scope is entered too.

    Raises:
      TypeError: there is no name, or it is neither text nor VariableScope.
      ValueError: `reuse` is none of the allowed.

    Example:
      >>> with get_default_graph().as_default(), variable_scope("layer"):
      ...     get_variable("w", [2]).name
      'layer/w:0'
    """

    def __init__(
        self,
        name_or_scope: Any,
        default_name: str | None = None,
        values: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        reuse: Any = None,
        dtype: Any = None,
        use_resource: bool | None = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        reuse = None if reuse is False else reuse
        if not (reuse is True or reuse is None or reuse is AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(
                "The auxiliary_name_scope must be `True` or `False`, while get "
                f"{auxiliary_name_scope}"
            )
        self._name_or_scope = name_or_scope
        self._default_name = default_name
        self._values = values
        self._reuse = reuse
        self._auxiliary_name_scope = auxiliary_name_scope
        given = locals()
        self._given = {n: given[n] for n in _FIELDS}
        self._stack: contextlib.ExitStack | None = None

    def __enter__(self) -> VariableScope:
        with contextlib.ExitStack() as stack:
            graph = None if state.graph is None else graph_of(self._values or ())
            if graph is not None and graph is not state.graph:
                stack.enter_context(graph.as_default())
            scope = self._enter(stack)
            self._stack = stack.pop_all()
        return scope

    def __exit__(self, *problem: Any) -> None:
        assert self._stack is not None
        self._stack.__exit__(*problem)

    def _enter(self, stack: contextlib.ExitStack) -> VariableScope:
        target = self._name_or_scope
        if target is None:
            if self._reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
            original = self._enter_names(stack, self._default_name)
            name = _unique_scope(str(self._default_name))
            return stack.enter_context(_scope(name, self._reuse, self._given, original))
        if not isinstance(target, (str, VariableScope)):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        last = target if isinstance(target, str) else target.name.split("/")[-1]
        original = self._enter_names(stack, last)
        if isinstance(target, VariableScope):
            original = target.original_name_scope
        return stack.enter_context(_scope(target, self._reuse, self._given, original))

    def _enter_names(self, stack: contextlib.ExitStack, name: str | None) -> str:
        if not self._auxiliary_name_scope or not name:
            return current_name_scope()
        return str(stack.enter_context(name_scope_v1(name)))


@contextlib.contextmanager
def _scope(
    target: str | VariableScope, reuse: Any, given: dict[str, Any], name_scope: str
) -> Iterator[VariableScope]:
    """Makes a scope the current one."""
    store, outer = current_store(), get_variable_scope()
    if isinstance(target, VariableScope):
        base, name = target, target.name
        inherited = target.reuse
    else:
        base, name = outer, f"{outer.name}/{target}" if outer.name else target
        inherited = outer.reuse
    fields = {n: getattr(base, f"_{n}") for n in _FIELDS}
    fields.update({n: v for n, v in given.items() if v is not None})
    if given["custom_getter"] is not None and base.custom_getter is not None:
        fields["custom_getter"] = _nested_getter(given["custom_getter"], base.custom_getter)
    scope = VariableScope(reuse or inherited, name, name_scope=name_scope, **fields)
    counts = dict(store.scope_counts)
    store.open_scope(name)
    store.scope = scope
    try:
        yield scope
    finally:
        store.close_subscopes(name)
        if isinstance(target, VariableScope):
            store.scope_counts = counts
        store.scope = outer


def _nested_getter(inner: Any, outer: Any) -> Any:
    def nested(getter: Any, *args: Any, **kwargs: Any) -> Any:
        return inner(functools.partial(outer, getter), *args, **kwargs)

    return nested


def _unique_scope(name: str) -> str:
    """`name`, with a number appended when the current scope has a scope of that name already."""
    store, outer = current_store(), get_variable_scope().name
    full = f"{outer}/{name}" if outer else name
    if not store.scope_counts.get(full):
        return name
    number = 1
    while store.scope_counts.get(f"{full}_{number}"):
        number += 1
    return f"{name}_{number}"


@contextlib.contextmanager
def variable_op_scope(
    values: Any,
    name_or_scope: Any,
    default_name: str | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Any = None,
) -> Iterator[VariableScope]:
    """Deprecated: `variable_scope` with the values first."""
    with variable_scope(
        name_or_scope, default_name, values, initializer, regularizer, caching_device, partitioner,
        custom_getter, reuse, dtype, use_resource, constraint,
    ) as scope:  # fmt: skip
        yield scope


def no_regularizer(_: Any) -> None:
    """A regularizer that adds nothing; keeps a scope's default from being used."""
    return
