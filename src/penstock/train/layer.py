"""`Layer`: a function of tensors with variables of its own, which it makes at its first call.

The variables live in the variable scope that the layer opens at that call, so that scopes around
it share, partition and initialise them as they do those of `get_variable`. In a graph, losses go to
REGULARIZATION_LOSSES and updates to UPDATE_OPS.
"""

import collections
import contextlib
import copy
import inspect
import re
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import Tensor
from penstock.core.trackable import AutoTrackable
from penstock.graph.behavior import name_scope
from penstock.graph.operation import Operation
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.math_cast import cast
from penstock.ops.math_division import divide
from penstock.ops.partitioned import PartitionedVariable
from penstock.ops.variable_scope import VariableScope, get_variable, variable_scope
from penstock.ops.variable_store import unshared
from penstock.ops.variable_types import VariableAggregation, VariableSynchronization
from penstock.ops.variables_v1 import GraphKeys
from penstock.train import layer_style
from penstock.train.layer_functions import constraint as constraint_of
from penstock.train.layer_functions import regularizer as regularizer_of
from penstock.train.layer_inputs import check_inputs
from penstock.types import dtypes as dt
from penstock.util import nest

_eager_names: collections.Counter[str] = collections.Counter()
_graph_names: weakref.WeakKeyDictionary[Any, collections.Counter[str]] = weakref.WeakKeyDictionary()


_BREAKS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])")


def _scope_name(class_name: str) -> str:
    """`Conv2DTranspose` as `conv2d_transpose`."""
    return _BREAKS.sub("_", class_name).lower()


def _unique_name(base: str) -> str:
    counts = _eager_names
    if state.graph is not None:
        counts = _graph_names.setdefault(state.graph, collections.Counter())
    counts[base] += 1
    return f"{base}_{counts[base]}"


class Layer(AutoTrackable):
    """The base class of layers: `build` makes the variables, `call` computes.

    Args:
      trainable: whether the variables go to TRAINABLE_VARIABLES.
      name: the name of the variable scope; the class name in snake_case, made unique, by default.
      dtype: the dtype of the variables; that of the first floating input by default.
      activity_regularizer: a function of the outputs whose value, divided by the batch size, is a
        regularization loss.

    Raises:
      TypeError: there are other arguments.

    Example:
      >>> class Scale(tf.compat.v1.layers.Layer):
      ...     def build(self, input_shape):
      ...         self.factor = self.add_weight("factor", [], initializer=tf.zeros_initializer())
      ...     def call(self, inputs):
      ...         return inputs * self.factor
      >>> Scale()(tf.constant([3.0])).numpy().tolist()
      [0.0]
    """

    _self_weights: list[tuple[Any, bool]]  # with whether they are trainable
    _self_losses: list[Any]
    _self_updates: list[Any]
    _self_inputs: list[Any]  # symbolic ones, of all calls

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        scope = kwargs.pop("_scope", None)
        self._reuse = kwargs.pop("_reuse", None)
        self._activity_regularizer = regularizer_of(kwargs.pop("activity_regularizer", None))
        if kwargs:
            raise TypeError(f"Keyword argument not understood: {sorted(kwargs)[0]!r}")
        self.trainable = trainable
        self.built = False
        self.input_spec: Any = None
        self._dtype = None if dtype is None else dt.as_dtype(dtype)
        self._base_name = name or _scope_name(type(self).__name__)
        self._name = name or _unique_name(self._base_name)
        self._keras_style = layer_style.is_keras()
        if self._keras_style:
            layer_style.refuse("scope", scope)
            layer_style.refuse("reuse", self._reuse)
        lists = ("weights", "losses", "updates", "inputs")
        vars(self).update({f"_self_{name}": [] for name in lists})  # not tracked
        self._scope: VariableScope | None = None
        self._graph: Any = None
        if scope:
            with variable_scope(scope) as captured:
                self._scope = captured

    # What it is.

    @property
    def name(self) -> str:
        """The name given, or a unique one."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The dtype of the variables; None before the first call when none was given."""
        return self._dtype

    @property
    def graph(self) -> Any:
        """The graph of the first call.

        Raises:
          RuntimeError: in eager mode.
        """
        if state.graph is None:
            raise RuntimeError("Layer.graph not supported when executing eagerly.")
        return self._graph

    @property
    def scope_name(self) -> str:
        """The name of the variable scope.

        Raises:
          ValueError: the layer was not called yet.
        """
        if self._scope is None:
            raise ValueError(
                f"No name available for layer scope because the layer {self._name!r} has not been "
                "used yet. The scope name is determined the first time the layer instance is "
                "called. You must therefore call the layer before querying `scope_name`."
            )
        return self._scope.name

    @property
    def activity_regularizer(self) -> Any:
        """The function of the outputs whose value is a loss."""
        return self._activity_regularizer

    def _layers(self) -> list["Layer"]:
        """The layers that its attributes hold."""
        attributes = [v for k, v in vars(self).items() if not k.startswith("_self_")]
        held = [nest.flatten(v) for v in attributes if isinstance(v, Layer | list | tuple | dict)]
        return [layer for values in held for layer in values if isinstance(layer, Layer)]

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that optimizers update."""
        if not self.trainable:
            return []
        own = [v for v, trainable in self._self_weights if trainable]
        return _distinct(own + [v for layer in self._layers() for v in layer.trainable_weights])

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The other variables."""
        own = [v for v, trainable in self._self_weights if not (trainable and self.trainable)]
        if not self.trainable:
            return _distinct(own + [v for layer in self._layers() for v in layer.weights])
        return _distinct(own + [v for layer in self._layers() for v in layer.non_trainable_weights])

    @property
    def weights(self) -> list[Any]:
        """All variables."""
        return self.trainable_weights + self.non_trainable_weights

    @property
    def variables(self) -> list[Any]:
        """All variables."""
        return self.weights

    @property
    def trainable_variables(self) -> list[Any]:
        """The variables that optimizers update."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The other variables."""
        return self.non_trainable_weights

    @property
    def losses(self) -> list[Any]:
        """The losses of the layer and those inside of it; in eager mode as they are now."""
        own = [loss() if callable(loss) else loss for loss in self._self_losses]
        return own + [loss for layer in self._layers() for loss in layer.losses]

    @property
    def updates(self) -> list[Any]:
        """The operations to run with each training step; none when the layer is frozen."""
        if not self.trainable:
            return []
        inner = [update for layer in self._layers() for update in layer.updates]
        return list(self._self_updates) + inner

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """The losses that hang on some inputs of the layer.

        Args:
          inputs: a tensor or a list of them; None for the losses that hang on no input.

        Raises:
          RuntimeError: an input or a loss is no tensor of a graph.
        """
        return self._hanging_on(inputs, self.losses)

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """The updates that hang on some inputs of the layer.

        Args:
          inputs: a tensor or a list of them; None for the updates that hang on no input.

        Raises:
          RuntimeError: an input or an update is no tensor of a graph.
        """
        return self._hanging_on(inputs, self.updates)

    def _hanging_on(self, inputs: Any, values: list[Any]) -> list[Any]:
        tensors = self._self_inputs if inputs is None else nest.flatten(inputs)
        for each in [*tensors, *values]:
            if not isinstance(each, SymbolicTensor | Operation):
                raise RuntimeError(
                    f"Layer {self._name!r}: what hangs on an input is known in graphs, got"
                    f" {each!r}. Use `losses` and `updates`, or build the layer in a graph."
                )
        sources = {tensor.op for tensor in tensors}
        return [v for v in values if _hangs_on(sources, v) is (inputs is not None)]

    def count_params(self) -> int:
        """The number of elements of all variables."""
        return sum(int(np.prod(v.shape.as_list())) for v in self.weights)

    def get_config(self) -> dict[str, Any]:
        """The arguments that `from_config` makes an equal layer of, functions as they are."""
        kind = None if self._dtype is None else self._dtype.name
        found: dict[str, Any] = {"name": self._name, "trainable": self.trainable, "dtype": kind}
        arguments = constructor_arguments(type(self))
        if "activity_regularizer" in arguments:
            found["activity_regularizer"] = self._activity_regularizer
        kept = vars(self)
        return {**found, **{name: kept[name] for name in arguments if name in kept}}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Layer":
        """A layer of these arguments."""
        return cls(**config)

    # What subclasses define.

    def build(self, input_shape: Any) -> None:
        """Makes the variables; called once.

        Args:
          input_shape: the TensorShape of the input, or a nest of them.
        """
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the outputs."""
        return inputs

    # What they use.

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        partitioner: Any = None,
        **kwargs: Any,
    ) -> Any:
        """A variable of the layer; arguments as for `get_variable`.

        Returns:
          A Variable, or a PartitionedVariable when there is a partitioner.

        Raises:
          TypeError: there are other arguments.
          ValueError: it shall be trainable and synchronized on read.
        """
        if kwargs:
            raise TypeError(f"Unknown keyword argument: {sorted(kwargs)[0]}")
        on_read = synchronization == VariableSynchronization.ON_READ
        if on_read and trainable:
            raise ValueError(
                "Synchronization value can be set to VariableSynchronization.ON_READ only for "
                "non-trainable variables. You have specified trainable=True and "
                "synchronization=VariableSynchronization.ON_READ."
            )
        trainable = not on_read if trainable is None else trainable
        regularizer, constraint = regularizer_of(regularizer), constraint_of(constraint)
        kind = dt.as_dtype(dtype or self._dtype or dt.float32)
        losses = [] if state.graph is None else _regularization_losses()
        known = len(losses)
        options = {
            "dtype": kind,
            "initializer": initializer,
            "regularizer": regularizer,
            "trainable": trainable and self.trainable,
            "constraint": constraint,
            "use_resource": use_resource,
            "synchronization": synchronization,
            "aggregation": aggregation,
        }
        if self._keras_style:
            variable = unshared(name, shape, **options)
        else:
            with self._entered(self.built or self._reuse):
                variable = get_variable(name, shape, partitioner=partitioner, **options)
        if state.graph is not None:
            self._self_losses.extend(losses[known:])
        elif regularizer is not None:
            self._self_losses.append(lambda: regularizer(variable))
        parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
        for part in parts:
            self._note_weight(part, trainable)
        return variable

    def _note_weight(self, variable: Any, trainable: bool) -> None:
        if not any(variable is known for known, _ in self._self_weights):
            self._self_weights.append((variable, trainable))

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """The older name of `add_weight`."""
        return self.add_weight(*args, **kwargs)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds losses to those of the layer, in a graph to REGULARIZATION_LOSSES too.

        Args:
          losses: a scalar, or a list of them; in eager mode they may be functions.
          inputs: accepted for compatibility: a loss belongs to the graph it was made in.
        """
        for loss in nest.flatten(losses):
            self._self_losses.append(loss)
            if state.graph is not None and not callable(loss):
                _regularization_losses().append(loss)

    def add_update(self, updates: Any) -> None:
        """Adds operations to run with each training step, in a graph to UPDATE_OPS.

        Those of a layer in Keras's style are in `updates` alone.

        Args:
          updates: an operation or tensor, or a list of them; in eager mode they have run.
        """
        graph = state.graph
        if graph is None or getattr(graph, "building_function", False) or not self.trainable:
            return
        for update in nest.flatten(updates):
            operation = getattr(update, "op", update)
            self._self_updates.append(operation)
            if not self._keras_style:
                graph.add_to_collection(GraphKeys.UPDATE_OPS, operation)

    # The call.

    def apply(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the layer."""
        return self(*args, **kwargs)

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls the layer: builds it first when it is new.

        Args:
          inputs: a tensor, or a nest of them.
          *args: passed to `call`.
          **kwargs: passed to `call`; `scope` is the variable scope of a first call.

        Returns:
          What `call` returns.

        Raises:
          ValueError: an input is not as the layer expects, or belongs to another graph; or there
            is a scope for a layer in Keras's style.
        """
        scope = kwargs.pop("scope", None)
        inputs = nest.map_structure(_as_tensor, inputs)
        self._check_graph()
        if self._keras_style:
            layer_style.refuse("scope", scope)
        elif self._scope is None:
            self._scope = self._capture(scope)
        with self._entered(self.built or self._reuse):
            if not self.built:
                self._build_for(inputs)
            self._check(inputs)
            self._note_inputs(inputs)
            outputs = self.call(inputs, *args, **kwargs)
            if self._activity_regularizer is not None:
                self._regularize_activity(self._activity_regularizer, outputs)
            return outputs

    def _note_inputs(self, inputs: Any) -> None:
        graph = state.graph
        if graph is not None and not graph.building_function:
            flat = nest.flatten(inputs, expand_composites=True)
            self._self_inputs.extend(v for v in flat if isinstance(v, SymbolicTensor))

    def _check_graph(self) -> None:
        graph = state.graph
        while getattr(graph, "outer_graph", None) is not None:
            graph = graph.outer_graph
        if graph is None or graph.building_function:
            return  # the variables are eager ones
        if self._graph is None:
            self._graph = graph
        if graph is not self._graph:
            raise ValueError(
                f"Layer {self._name!r}: expected inputs of the graph of its first call, which "
                "holds its variables, got inputs of another graph. Make a layer for each graph."
            )

    def _capture(self, scope: Any) -> VariableScope:
        """The scope of the variables, opened at the first call."""
        if self._reuse:
            with variable_scope(self._base_name if scope is None else scope) as captured:
                return captured
        with variable_scope(scope, default_name=self._base_name) as captured:
            return captured

    @contextlib.contextmanager
    def _entered(self, reuse: Any) -> Iterator[None]:
        """Enters the layer's scope, for variables and for names."""
        if self._keras_style:
            with name_scope(self._name):
                yield
            return
        if self._scope is None:
            self._scope = self._capture(None)
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as entered:
            with name_scope(self._names(entered)):
                yield

    def _names(self, scope: VariableScope) -> str:
        """The name scope of the operations."""
        return scope.original_name_scope

    def _build_for(self, inputs: Any) -> None:
        values = nest.flatten(inputs)
        if self._dtype is None and values and isinstance(values[0], Tensor):
            self._dtype = values[0].dtype.base_dtype
        self._check(inputs)
        shapes = nest.map_structure(lambda value: value.shape, inputs)
        self.build(shapes)
        self.built = True

    def _check(self, inputs: Any) -> None:
        """Refuses inputs that the layer's InputSpec does not allow."""
        check_inputs(self._name, self.input_spec, inputs)

    def _regularize_activity(self, regularizer: Callable[..., Any], outputs: Any) -> None:
        with name_scope("ActivityRegularizer"):
            for output in nest.flatten(outputs):
                loss = regularizer(output)
                self.add_loss(divide(loss, cast(shape_of(output)[0], loss.dtype)))

    def __deepcopy__(self, memo: dict[int, Any]) -> "Layer":
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        for key, value in vars(self).items():
            shared = key in ("_graph", "_scope") or callable(value)
            object.__setattr__(made, key, value if shared else copy.deepcopy(value, memo))
        return made


def constructor_arguments(layer: type) -> dict[str, inspect.Parameter]:
    """The arguments of a class by name, with those that it hands on as they come.

    Args:
      layer: a class of layers.
    """
    found: dict[str, inspect.Parameter] = {}
    for kind in layer.__mro__:
        if "__init__" in vars(kind):
            given = inspect.signature(vars(kind)["__init__"]).parameters
            for parameter in list(given.values())[1:]:
                if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
                    found.setdefault(parameter.name, parameter)
            if "args" not in given:
                break
    return found


def _hangs_on(sources: set[Any], value: Any) -> bool:
    """Whether a symbolic tensor or operation is computed from one of some operations."""
    waiting, seen = [getattr(value, "op", value)], set()
    while waiting:
        operation = waiting.pop()
        if operation in sources:
            return True
        if operation in seen or not isinstance(operation, Operation):
            continue
        seen.add(operation)
        waiting.extend(tensor.op for tensor in operation.inputs)
        waiting.extend(operation.control_inputs)
    return False


def _distinct(variables: list[Any]) -> list[Any]:
    return list({id(v): v for v in variables}.values())


def _as_tensor(value: Any) -> Any:
    array = isinstance(value, float | int | list | np.ndarray | np.generic)
    return convert_to_tensor(value) if array else value


def _regularization_losses() -> list[Any]:
    found: list[Any] = state.graph.get_collection_ref(GraphKeys.REGULARIZATION_LOSSES)
    return found
