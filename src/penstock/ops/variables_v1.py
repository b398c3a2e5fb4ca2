"""`compat.v1.Variable`, and the collections that variables go to.

Variables of both generations are resource variables; `use_resource=False` is accepted and makes
one too.
"""

from typing import Any

from penstock.core.arrays import to_array
from penstock.core.context import state
from penstock.core.execute import execute
from penstock.graph import behavior
from penstock.graph.behavior import control_dependencies, device_v1, name_scope_v1
from penstock.graph.default_graph import get_default_graph
from penstock.ops.array_join import stack
from penstock.ops.array_select import boolean_mask
from penstock.ops.conditionals import cond
from penstock.ops.grouping import group
from penstock.ops.variable_types import VariableAggregation, VariableSynchronization
from penstock.ops.variables import Variable
from penstock.types.dtypes import string
from penstock.util.frames import user_frame


class GraphKeys:
    """The names of the collections that a graph keeps by convention."""

    GLOBAL_VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
    VARIABLES = "variables"  # an older name of GLOBAL_VARIABLES
    _SUMMARY_COLLECTION = "_SUMMARY_V2"


class VariableV1(Variable):
    """The first generation's Variable.

    Args:
      initial_value: what converts to a tensor, or a function without arguments that returns it.
      trainable: whether optimizers update it; true unless it is synchronised on read.
      collections: the graph's collections it goes to; GLOBAL_VARIABLES by default.
      validate_shape: false leaves the shape open where a program asks for reference variables.
      caching_device: where reads are cached in a graph.
      name: the name; "Variable" by default.
      variable_def: a VariableDef message to make the variable from.
      dtype: what the initial value is converted to.
      expected_shape: accepted for compatibility.
      import_scope: a name scope put before the names in `variable_def`.
      constraint: a function that optimizers project the value with after an update.
      use_resource: accepted for compatibility: every variable is a resource variable.
      synchronization: a VariableSynchronization.
      aggregation: a VariableAggregation.
      shape: the static shape; the initial value's when None.

    Raises:
      ValueError: there is no initial value, it does not fit, or `collections` is no list.
    """

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        shape: Any = None,
        experimental_enable_variable_lifting: bool | None = None,
    ) -> None:
        if collections is not None and not isinstance(collections, (list, tuple, set)):
            raise ValueError(
                "collections argument to Variable constructor must be a list, tuple, or set. "
                f"Got {collections} of type {type(collections)}"
            )
        self._given_collections = collections
        wanted = resource_variables_enabled() if use_resource is None else use_resource
        self._is_like_reference = not wanted
        super().__init__(
            initial_value, trainable, validate_shape, caching_device, name, variable_def, dtype,
            import_scope, constraint, synchronization, aggregation, shape,
        )  # fmt: skip

    def _add_to_collections(self, collections: Any) -> None:
        super()._add_to_collections(self._given_collections)

    @staticmethod
    def _creation_arguments(  # type: ignore[override]  # each generation has arguments of its own
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        shape: Any = None,
        experimental_enable_variable_lifting: bool | None = None,
    ) -> dict[str, Any]:
        return dict(locals())

    def initialized_value(self) -> Any:
        """The value, or what the variable is initialized with as long as it has none; in a graph.

        Raises:
          NotImplementedError: in eager mode, where variables have a value from the first.
        """
        if not self._in_graph_mode:
            return super().initialized_value()
        has_value = execute("VarIsInitializedOp", (self._handle,))
        return cond(has_value, self.read_value, lambda: self._initial_value)

    def _description(self) -> tuple[Any, ...]:
        return (Variable, *super()._description()[1:])  # the copy of a variable is a plain one


def enable_resource_variables() -> None:
    """Notes that new variables are resource variables, which they always are."""
    behavior.note("resource_variables", True)


def disable_resource_variables() -> None:
    """Notes the wish for reference variables. New variables are resource variables all the same."""
    behavior.note("resource_variables", False)


def resource_variables_enabled() -> bool:
    """What `enable_resource_variables`, `disable_v2_behavior` or the like last asked for."""
    return behavior.noted("resource_variables")


# Collections.


def global_variables(scope: str | None = None) -> list[Variable]:
    """The variables that are shared by all tasks: the default for new ones.

    Args:
      scope: a regular expression that names must match from their beginning.
    """
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables() -> list[Variable]:
    """The former name of `global_variables`."""
    return global_variables()


def local_variables(scope: str | None = None) -> list[Variable]:
    """The variables of this process alone, which checkpoints leave out; `scope` filters names."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Variable]:
    """The variables that inference needs; `scope` filters names."""
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Variable]:
    """The variables that optimizers update; `scope` filters names."""
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """The variables that have a moving average; `scope` filters names."""
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


# Initialization.


def variables_initializer(var_list: Any, name: str = "init") -> Any:
    """An operation that initializes the variables of a list; None in eager mode.

    Args:
      var_list: variables of the current graph.
      name: the operation's name.

    Raises:
      TypeError: nothing gives a variable its first value.
    """
    if state.graph is None:
        return None
    without = [v.name for v in var_list or () if v.initializer is None]
    if without:
        where = user_frame()
        raise TypeError(
            f"variables_initializer '{name}'{f' at {where}' if where else ''}: expected variables"
            f" with initializers, got {', '.join(without[:10])} without. Of a model that was loaded"
            " with experimental_skip_checkpoint=True, load the values too, or leave its variables"
            " out and give them values with `load` or `assign`."
        )
    with control_dependencies([v.initializer for v in var_list or ()]):
        return execute("NoOp", (), None, name)


def global_variables_initializer() -> Any:
    """An operation that initializes all global variables; None in eager mode.

    Raises:
      TypeError: nothing gives one its first value.
    """
    return variables_initializer(global_variables())


def local_variables_initializer() -> Any:
    """An operation that initializes all local variables; None in eager mode.

    Raises:
      TypeError: nothing gives one its first value.
    """
    return variables_initializer(local_variables())


def tables_initializer(name: str = "init_all_tables") -> Any:
    """An operation that initializes all tables of the graph, the collection TABLE_INITIALIZERS.

    Without tables it does nothing. None in eager mode.
    """
    if state.graph is None:
        return None
    return group(*get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)


def initialize_all_tables(name: str = "init_all_tables") -> Any:
    """The former name of `tables_initializer`."""
    return tables_initializer(name)


def initialize_variables(var_list: Any, name: str = "init") -> Any:
    """The former name of `variables_initializer`."""
    return variables_initializer(var_list, name)


def initialize_all_variables() -> Any:
    """The former name of `global_variables_initializer`."""
    return global_variables_initializer()


def initialize_local_variables() -> Any:
    """The former name of `local_variables_initializer`."""
    return local_variables_initializer()


def is_variable_initialized(variable: Any) -> Any:
    """Whether a variable has a value, as a bool tensor."""
    return variable.is_initialized()


def assert_variables_initialized(var_list: Any = None) -> Any:
    """What fails when a variable has no value; None when there are no variables.

    Args:
      var_list: the variables; all global and local ones when None.

    Returns:
      The ranks of the values, as int32: a vector, or a scalar of a single variable.
    """
    variables = _listed(var_list)
    if not variables:
        return None
    ranks = [execute("Rank", (v.value(),)) for v in variables]
    return ranks[0] if len(ranks) == 1 else stack(ranks)


def report_uninitialized_variables(
    var_list: Any = None, name: str = "report_uninitialized_variables"
) -> Any:
    """The names of the variables without a value.

    Args:
      var_list: the variables; all global and local ones when None.
      name: the name scope in a graph.

    Returns:
      A string vector.
    """
    variables = _listed(var_list)
    with name_scope_v1(name), device_v1("/cpu:0"):
        if not variables:
            return execute("Const", (), {"value": _names([]), "dtype": "string"})
        known = stack([v.is_initialized() for v in variables])
        names = execute("Const", (), {"value": _names(variables), "dtype": "string"})
        return boolean_mask(names, execute("LogicalNot", (known,)))


def _listed(var_list: Any) -> list[Any]:
    return list(var_list) if var_list is not None else global_variables() + local_variables()


def _names(variables: list[Any]) -> Any:
    return to_array([v.name.partition(":")[0] for v in variables], string)[0]
