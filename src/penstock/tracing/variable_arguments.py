"""Variables as arguments: traces are shared by shape, dtype and whether they are trainable.

While a function is traced, the body gets the caller's variable, and an input of the function stands
for its handle; later calls give the handles of theirs. Which arguments are the same variable is
part of the key. A variable that the Python function can reach by itself, too, is keyed by identity:
what the body does to it must not be done to another one.
"""

import weakref
from collections.abc import Callable, Iterator
from typing import Any

from penstock.core.context import state
from penstock.graph.func_graph import FuncGraph
from penstock.ops.variables import Variable, from_handle
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.composite_specs import VariableSpec
from penstock.types.tensor_shape import TensorShape
from penstock.util import nest


class VariableKey:
    """Key of a variable argument.

    Attributes:
      dtype, dims, trainable: as of the variable.
      alias: variables of one call that are the same one share it.
      pin: a weak reference to the one variable that it stands for, else None.
    """

    __slots__ = ("alias", "dims", "dtype", "pin", "trainable")

    def __init__(
        self, dtype: Any, dims: d.Dims, trainable: bool, alias: int, pin: Any = None
    ) -> None:
        self.dtype = dtype
        self.dims = dims
        self.trainable = trainable
        self.alias = alias
        self.pin = pin

    def _fixed(self) -> tuple[Any, ...]:
        return self.dtype, self.trainable, self.alias, self.pin

    def __hash__(self) -> int:
        return hash((self.dtype, self.dims, self.trainable, self.alias))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, VariableKey)
            and self.dims == other.dims
            and self._fixed() == other._fixed()
        )

    def accepts(self, other: "VariableKey") -> bool:
        """Whether a graph traced for this key serves variables of the other."""
        return self._fixed() == other._fixed() and d.is_subtype(other.dims, self.dims)

    def relaxed(self, other: "VariableKey") -> "VariableKey | None":
        """A key that accepts both; None when more than sizes differs."""
        if self._fixed() != other._fixed():
            return None
        shape = TensorShape(self.dims).most_specific_common_supertype([TensorShape(other.dims)])
        assert shape is not None  # there is always one of shapes
        return VariableKey(self.dtype, shape.dims_tuple, self.trainable, self.alias, self.pin)

    @property
    def spec(self) -> VariableSpec:
        """The key as the spec of a variable."""
        return VariableSpec(TensorShape(self.dims), self.dtype, self.trainable, self.alias)

    def __repr__(self) -> str:
        kind = "" if self.trainable else ", trainable=False"
        return f"Variable(dtype={self.dtype.name}, shape={d.text(self.dims)}{kind})"


class FlatArguments(list[Any]):
    """The flat tensors of a call.

    Attributes:
      variables: the variables whose handles are among them, with their keys; None when there are
        none, which costs calls without variables nothing.
    """

    variables: list[tuple[Any, VariableKey]] | None = None

    def note(self, variable: Any, key: VariableKey) -> None:
        """Notes a variable."""
        if self.variables is None:
            self.variables = []
        self.variables.append((variable, key))


def is_variable(value: Any) -> bool:
    """Whether a value is a variable, of this package or like one."""
    return hasattr(value, "handle") and hasattr(value, "read_value")


def variable_key(variable: Any, tensors: list[Any]) -> VariableKey:
    """The key of a variable; its handle is appended to `tensors`."""
    handle = variable.handle
    alias = next((i for i, t in enumerate(tensors) if t is handle), len(tensors))
    tensors.append(handle)
    dims = variable.shape.dims_tuple
    key = VariableKey(variable.dtype.base_dtype, dims, bool(variable.trainable), alias)
    if isinstance(tensors, FlatArguments):
        tensors.note(variable, key)
    return key


def watch(values: Any) -> None:
    """Tells recorders and the function that is being traced that variables are used."""
    for variable in values:
        for recorder in state.recorders:
            recorder.watch_variable(variable)
        if isinstance(state.graph, FuncGraph):
            state.graph.watch_variable(variable)


def variables_in(structure: Any) -> Iterator[Any]:
    """The variables among the leaves of a nest."""
    return (leaf for leaf in nest.flatten(structure) if is_variable(leaf))


def reached_by(function: Callable[..., Any], instance: Any = None) -> frozenset[int]:
    """The ids of variables that a function names: in its closure, globals, and its instance."""
    code = getattr(function, "__code__", None)
    found: list[Any] = list(getattr(instance, "__dict__", {}).values())
    if code is not None:
        names = getattr(function, "__globals__", {})
        found += [names[n] for n in code.co_names if n in names]
        for cell in function.__closure__ or ():
            try:
                found.append(cell.cell_contents)
            except ValueError:  # the name has no value yet
                continue
    return frozenset(id(v) for value in found for v in _near(value))


def _near(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple, dict)):
        return list(variables_in(list(value.values()) if isinstance(value, dict) else value))
    return [value] if isinstance(value, Variable) else []


def pin(tensors: list[Any], reached: frozenset[int]) -> None:
    """Keys variables that the function reaches by itself by identity."""
    for variable, key in tensors.variables:  # type: ignore[attr-defined]
        if id(variable) in reached:
            key.pin = weakref.ref(variable)


class VariableInputs:
    """The inputs of a graph that stand for variable arguments, while it is being traced."""

    def __init__(self, graph: FuncGraph) -> None:
        self._graph = graph
        self._handles: list[Any] = []
        self._variables: list[Any] = []
        self.specs: dict[int, VariableSpec] = {}  # by the ids of what the body gets

    def add(self, variable: Any, key: VariableKey, name: str) -> Any:
        """Adds an input; what the body gets for the variable."""
        inner = self._graph.add_input(dt.resource, (), name)
        inner._handle_data = (key.dtype, key.dims)
        if variable.shape.dims_tuple != key.dims:
            made = from_handle(inner, key.spec)
            self._variables.append(made)
        else:
            made = variable
            if not any(h is variable.handle for h in self._handles):
                self._handles.append(variable.handle)
                self._variables.append(variable)
                self._graph.replace_capture(variable.handle, inner)
        self.specs[id(made)] = key.spec
        return made

    def finish(self) -> None:
        """Forgets the variables that the graph was traced with."""
        mine = {id(h) for h in self._handles}
        kept = [(o, i) for o, i in self._graph.captures if id(o) not in mine]
        self._graph.reset_captures(kept)
        self._graph.forget_variables(self._variables)


__all__ = ["FlatArguments", "VariableInputs", "VariableKey", "is_variable", "variable_key"]
