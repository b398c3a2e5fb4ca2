"""`Variable`: state that operations read and update.

A variable is a handle (a tensor of dtype resource), a dtype, a static shape and what it was told
when it was made. In eager mode the handle refers to a `VariableCell` of the variable's own, which
lives as long as the variable; in a graph it is the output of a VarHandleOp, and the value belongs
to the session that runs the graph.

Reads are in `variable_reads`, updates in `variable_updates`, making in `variable_creation`,
operators in `variable_operators`, messages in `variable_messages`.
"""

from typing import Any

from penstock import errors
from penstock.core.context import state
from penstock.core.convert import register_tensor_conversion_function
from penstock.core.tensor import Reference, Tensor, TensorBase, value_text, wrap
from penstock.core.trackable import Trackable
from penstock.graph.behavior import control_dependencies, executing_eagerly_outside_functions
from penstock.ops import variable_creation as creation
from penstock.ops import variable_messages, variable_operators, variable_types
from penstock.ops.variable_reads import Reads
from penstock.ops.variable_types import (
    VariableAggregationV2,
    VariableSynchronization,
    settle_modes,
)
from penstock.ops.variable_updates import Updates
from penstock.types import dims as d
from penstock.types.composite_specs import VariableSpec
from penstock.types.dtypes import DType, as_dtype
from penstock.types.tensor_shape import TensorShape
from penstock.types.type_spec import (
    ValueHooks,
    attach_values,
    register_type_spec_from_value_converter,
)

VARIABLE_VALUE = "VARIABLE_VALUE"  # what checkpoints call a variable's value


class VariableMeta(type):
    """Sends `Variable(...)` through the creators in force; subclasses are made as usual."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Makes a variable."""
        arguments = getattr(cls, "_creation_arguments", None)
        if arguments is None or "_creation_arguments" not in cls.__dict__:
            return super().__call__(*args, **kwargs)
        return creation.create(super().__call__, arguments(*args, **kwargs))


class Variable(Reads, Updates, Trackable, TensorBase, metaclass=VariableMeta):
    """State shared by the operations of a program.

    Args:
      initial_value: what converts to a tensor, or a function without arguments that returns it.
      trainable: whether tapes watch it and optimizers update it; true unless it is synchronised on
        read.
      validate_shape: accepted for compatibility: the shape is that of the initial value.
      caching_device: where reads are cached in a graph.
      name: the name; "Variable" by default.
      variable_def: a VariableDef message to make the variable from, in a graph.
      dtype: what the initial value is converted to.
      import_scope: a name scope put before the names in `variable_def`.
      constraint: a function that optimizers project the value with after an update.
      synchronization: a VariableSynchronization.
      aggregation: a VariableAggregation.
      shape: the static shape; the initial value's when None. Unknown dimensions may vary.
      experimental_enable_variable_lifting: accepted for compatibility.

    Raises:
      ValueError: there is no initial value, or it does not fit `shape` or `dtype`.

    Example:
      >>> v = Variable([1.0, 2.0])
      >>> v.assign_add([1.0, 1.0]).numpy().tolist()
      [2.0, 3.0]
    """

    SaveSliceInfo = variable_types.SaveSliceInfo
    __array_priority__ = 100
    __nest_leaf__ = True

    _in_graph_mode = False
    _initializer_op: Any = None
    _is_initialized_op: Any = None
    _initial_value: Any = None
    _graph_element: Any = None
    _save_slice_info: variable_types.SaveSliceInfo | None = None
    _distribute_strategy: Any = None
    _handle_name: str
    _shared_name: str
    _unique_id: str

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = None,
        shape: Any = None,
        experimental_enable_variable_lifting: bool = True,
    ) -> None:
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError(
                    "The variable_def and initial_value args to `tf.Variable` are mutually "
                    "exclusive, but got both."
                )
            variable_messages.fill_from_message(self, variable_def, import_scope)
            return
        if constraint is not None and not callable(constraint):
            raise ValueError(
                f"Argument `constraint` must be None or a callable. Got a {type(constraint)}: "
                f"{constraint}"
            )
        modes = settle_modes(synchronization, aggregation, trainable, name)
        self._synchronization, self._aggregation, self._trainable = modes
        self._constraint = constraint
        self._validate_shape = validate_shape or not self._is_like_reference
        self._caching_device = caching_device
        kind = None if dtype is None else as_dtype(dtype).base_dtype
        fixed = self._validate_shape
        creation.initialize(self, initial_value, kind, shape, name, caching_device, fixed)
        self._add_to_collections(None)

    @staticmethod
    def _creation_arguments(
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregationV2.NONE,
        shape: Any = None,
        experimental_enable_variable_lifting: bool | None = None,
    ) -> dict[str, Any]:
        return dict(locals())

    def _add_to_collections(self, collections: Any) -> None:
        """In a graph: to the collections given; global and trainable variables by default."""
        if not self._in_graph_mode:
            return
        names = ["variables"] if collections is None else list(collections)
        if self._trainable and "trainable_variables" not in names:
            names.append("trainable_variables")
        self._handle.graph.add_to_collections(names, self)

    # Description.

    @property
    def name(self) -> str:
        """The name with an output index, as "v:0"."""
        return self._handle_name

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype  # type: ignore[no-any-return]

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return TensorShape.from_dims(self._dims)

    @property
    def dims(self) -> d.Dims:
        """The static shape as a tuple."""
        return self._dims

    def get_shape(self) -> TensorShape:
        """The same as `shape`."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Adds what is known of the static shape.

        Raises:
          ValueError: it contradicts what is known.
        """
        self._dims = self.shape.merge_with(shape).dims_tuple
        if self._cell is not None:
            self._cell.dims = self._dims

    @property
    def device(self) -> str:
        """The device of the handle."""
        return str(self._handle.device)

    @property
    def handle(self) -> Any:
        """The resource tensor that names the variable."""
        return self._handle

    @property
    def op(self) -> Any:
        """The operation that makes the handle, in a graph."""
        return (self._handle if self._reference is None else self._reference).op

    @property
    def graph(self) -> Any:
        """The graph of the handle."""
        return self._handle.graph

    @property
    def trainable(self) -> bool:
        """Whether tapes watch the variable and optimizers update it."""
        return self._trainable

    @property
    def synchronization(self) -> VariableSynchronization:
        """How copies on several replicas are brought together."""
        return self._synchronization

    @property
    def aggregation(self) -> Any:
        """How updates of several replicas become one."""
        return self._aggregation

    @property
    def constraint(self) -> Any:
        """The function that optimizers project the value with, or None."""
        return self._constraint

    @property
    def initializer(self) -> Any:
        """The operation that gives the first value, in a graph; None in eager mode."""
        return self._initializer_op

    create = property(lambda self: self._graph_only("_initializer_op", "This operation"))

    @property
    def initial_value(self) -> Any:
        """The tensor the variable is initialized with, in a graph."""
        return self._graph_only("_initial_value", "This property")

    def _graph_only(self, field: str, what: str) -> Any:
        if not self._in_graph_mode:
            raise RuntimeError(f"{what} is not supported when eager execution is enabled.")
        return getattr(self, field)

    def initialized_value(self) -> Any:
        """Refused, as in TensorFlow: depend on `initial_value`, or run the initializer first."""
        raise NotImplementedError("initialized_value: use Variable.initial_value or read_value.")

    @property
    def _type_spec(self) -> VariableSpec:
        return VariableSpec.from_value(self)

    def _shape_invariant_to_type_spec(self, shape: Any) -> VariableSpec:
        return VariableSpec(shape, self._dtype, self._trainable)

    def _set_save_slice_info(self, info: variable_types.SaveSliceInfo) -> None:
        self._save_slice_info = info

    def _get_save_slice_info(self) -> variable_types.SaveSliceInfo | None:
        return self._save_slice_info

    def _as_graph_element(self) -> Any:
        return self._graph_element

    def eval(self, session: Any = None) -> Any:
        """The value in a session, the default one when None; only in a graph."""
        return self._graph_only("_graph_element", "This operation").eval(session=session)

    def load(self, value: Any, session: Any = None) -> None:
        """Gives the variable a value, in a graph without adding operations to it.

        Args:
          value: the new value.
          session: the session to do it in; the default one when None.
        """
        if not self._in_graph_mode:
            self.assign(value)
            return
        self._initializer_op.run({self._initializer_op.inputs[1]: value}, session)

    # Checkpoints.

    def _serialize_to_tensors(self) -> dict[str, Any]:
        return {VARIABLE_VALUE: self.read_value_no_copy()}

    def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> Any:
        value = restored_tensors[VARIABLE_VALUE]
        if not d.compatible(value.dims, self._dims):
            raise ValueError(
                f"Received incompatible tensor with shape {_shape_text(value.dims)} when "
                f"attempting to restore variable with shape {_shape_text(self._dims)} and name "
                f"{self.name}. Restore it into a variable of the shape that was saved."
            )
        if value.dtype is not self._dtype:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{self.name}; expected dtype {self._dtype.name} does not equal original dtype "
                f"{value.dtype.name}. Restore it into a variable of the dtype that was saved.",
            )
        return self.assign(value, read_value=False)

    # Identity, text, copies.

    def ref(self) -> Reference:
        """A hashable stand-in for this variable, to be used as a dictionary key."""
        return Reference(self)

    def experimental_ref(self) -> Reference:
        """The same as `ref`."""
        return self.ref()

    def __hash__(self) -> int:
        if Tensor.equality_by_value and executing_eagerly_outside_functions():
            raise TypeError(
                "Variable is unhashable. Instead, use variable.ref() as the key. (Variable: "
                f"{self})"
            )
        return id(self)

    def __repr__(self) -> str:
        text = (
            f"<tf.Variable '{self.name}' shape={_shape_text(self._dims)} dtype={self._dtype.name}"
        )
        if state.graph is None and self._cell is not None:
            return f"{text}, {self._value_text()}>"
        return f"{text}>"

    def _value_text(self) -> str:
        assert self._cell is not None
        try:
            return value_text(wrap(self._cell.read(), self._dtype), True)
        except errors.OpError:
            return "numpy=<unavailable>"

    def _repr_html_(self) -> str:
        text = repr(self).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return f"<pre>{text}</pre>"

    def __copy__(self) -> "Variable":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Variable":
        if state.graph is not None or self._cell is None:
            raise NotImplementedError(
                "__deepcopy__() is only available when eager execution is enabled."
            )
        copied = _rebuild(*self._description())
        copied._dims = self._dims
        copied._distribute_strategy = self._distribute_strategy
        if copied._cell is not None:
            copied._cell.dims = self._dims
        memo[id(self)] = copied
        return copied

    def __reduce__(self) -> Any:
        if self._cell is None:
            raise NotImplementedError(
                f"a variable of a graph ({self.name}) cannot be pickled; save a checkpoint instead"
            )
        return _rebuild, self._description()

    def _description(self) -> tuple[Any, ...]:
        modes = self._trainable, self._synchronization, self._aggregation, self._constraint
        return type(self), self.numpy(), self._dtype, self._shared_name, *modes

    # Messages.

    def to_proto(self, export_scope: str | None = None) -> Any:
        """A VariableDef message; None when the variable is outside of `export_scope`."""
        return variable_messages.to_message(self, export_scope)

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> "Variable":
        """The variable that a VariableDef message describes; its operations are in the graph."""
        return Variable(variable_def=variable_def, import_scope=import_scope)

    # After an update.

    def _after(self, op: Any) -> "UnreadVariable":
        return UnreadVariable(self, op)


class UnreadVariable(Variable):
    """A variable as it is after an update: in a graph, reading it runs the update first."""

    def __init__(self, variable: Variable, op: Any) -> None:
        self.__dict__.update(variable.__dict__)
        self.__dict__.pop("_self_tracked", None)
        self._update = op
        self._graph_element = self._cached_value = None
        named = op is not None and not state.graph.building_function
        self._handle_name = op.name if named else "UnreadVariable"
        self._source = getattr(variable, "_source", variable)
        if named:
            self._graph_element = self.read_value()

    @property
    def op(self) -> Any:
        """The update, in a graph."""
        return self._update if self._update is not None else self._handle.op

    def _watch(self) -> None:
        self._source._watch()

    def _read(self) -> Any:
        if self._update is None or self._update.graph is not state.graph:
            return super()._read()
        with control_dependencies([self._update]):
            return super()._read()

    def read_value(self) -> Any:
        """The value after the update."""
        return self._read()

    def _description(self) -> tuple[Any, ...]:
        return (Variable, *self._source._description()[1:])


def _shape_text(dims: d.Dims) -> str:
    return "<unknown>" if dims is None else str(TensorShape.from_dims(dims))


def _rebuild(
    cls: type, value: Any, dtype: DType, name: str, trainable: bool, *modes: Any
) -> Variable:
    synchronization, aggregation, constraint = modes
    made: Variable = Variable.__new__(cls)
    Variable.__init__(
        made, value, trainable, dtype=dtype, name=f"{name}/", constraint=constraint,
        synchronization=synchronization, aggregation=aggregation,
    )  # fmt: skip
    return made


def _to_tensor(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type {dtype.name} for `tf.Variable of type "
            f"{value.dtype.name}. (Variable: {value})"
        )
    return value.handle if as_ref else value.value()


def from_handle(handle: Any, spec: VariableSpec) -> Variable:
    """A variable around an existing handle: what a function's body sees of a variable argument."""
    made = Variable.__new__(Variable)
    modes = settle_modes(None, None, spec.trainable, None)
    made._synchronization, made._aggregation, made._trainable = modes
    made._handle = handle
    made._in_graph_mode = state.graph is not None
    made._cell = getattr(getattr(handle, "_array", None), "resource", None)
    made._dtype, made._dims = spec.dtype, spec.shape.dims_tuple
    made._constraint = made._caching_device = None
    made._validate_shape = True
    made._shared_name = made._unique_id = getattr(made._cell, "name", "Variable")
    made._handle_name = f"{made._shared_name}:0"
    return made


variable_operators.attach(Variable)
register_tensor_conversion_function(Variable, _to_tensor)
register_type_spec_from_value_converter(Variable, VariableSpec.from_value, allow_subclass=True)
attach_values(
    VariableSpec,
    ValueHooks(
        Variable,
        lambda spec, value: [value.handle],
        lambda spec, components: from_handle(components[0], spec),
    ),
)
