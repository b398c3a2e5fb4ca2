"""The variables that `get_variable` knows, and the current scope: one store for each graph.

A function's body shares the store of the graph around it. In eager mode variables are not kept:
`get_variable` makes a new one at every call, but inside of `keeping`, which a template uses.
"""

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.graph.behavior import name_scope_v1
from penstock.ops import initializers_v1 as initializers
from penstock.ops.partitioned import PartitionedVariable, slices_along
from penstock.ops.variable_types import SaveSliceInfo
from penstock.ops.variables_v1 import GraphKeys, VariableV1, resource_variables_enabled
from penstock.types.dtypes import as_dtype, string
from penstock.types.tensor_shape import TensorShape

AS_NEEDED = "as needed"  # a way of reuse: what is there is shared, the rest is made
BAD_INITIALIZER = (
    "The initializer passed is not valid. It should be a callable with no arguments and the shape "
    "should not be provided or an instance of `tf.keras.initializers.*' and `shape` should be "
    "fully defined."
)


class PartitionInfo:
    """Where a part lies in the whole; initializers are given it.

    Args:
      full_shape: the shape of the whole.
      var_offset: where the part begins, in each dimension.
    """

    def __init__(self, full_shape: Sequence[int], var_offset: Sequence[int]) -> None:
        self.full_shape = list(full_shape)
        self.var_offset = list(var_offset)

    def single_offset(self, shape: Sequence[int]) -> int:
        """The offset along the one axis that is cut."""
        return self.var_offset[self.single_slice_dim(shape) or 0]

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """The one axis along which a part of this shape was cut; None when it is the whole."""
        cut = [i for i, (n, m) in enumerate(zip(shape, self.full_shape, strict=True)) if n != m]
        if len(cut) > 1:
            raise ValueError(f"{list(shape)} is cut along several axes of {self.full_shape}")
        return cut[0] if cut else None


class VariableStore(threading.local):
    """The variables of one graph, which all threads share, and this thread's scopes over it."""

    def __init__(
        self, variables: dict[str, Any], parts: dict[str, Any], keeps: bool = False
    ) -> None:
        self.keeps = keeps  # variables made in eager mode too
        self.variables = variables
        self.partitioned = parts
        self.scope: Any = None
        self.scope_counts: dict[str, int] = {}

    def open_scope(self, name: str) -> None:
        """Counts one more scope of this name."""
        self.scope_counts[name] = self.scope_counts.get(name, 0) + 1

    def close_subscopes(self, name: str) -> None:
        """Forgets the scopes inside of this one: entered again, it gives the same names."""
        prefix = f"{name}/" if name else ""
        for known in self.scope_counts:
            if known.startswith(prefix) and known != name:
                self.scope_counts[known] = 0

    # Getting variables.

    def get(self, getter: Any, options: dict[str, Any]) -> Any:
        """The variable of these options, through the custom getter when there is one."""
        if getter is not None:
            if not callable(getter):
                raise ValueError(f"Passed a custom_getter which is not callable: {getter}")
            return getter(getter=self._getter, **options)
        return self._getter(**options)

    def _getter(self, name: str, shape: Any = None, partitioner: Any = None, **rest: Any) -> Any:
        options = {**_DEFAULTS, **rest}
        if self.keeps:
            options["reuse"] = AS_NEEDED
        scalar = shape is not None and isinstance(shape, (list, tuple)) and not shape
        reuse = options["reuse"]
        if partitioner is None and reuse is True and name in self.partitioned:
            return self.partitioned[name]
        if partitioner is not None and not scalar:
            if not callable(partitioner):
                raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
            return self._partitioned(name, shape, partitioner, options)
        if f"{name}/part_0" in self.variables:
            raise ValueError(
                f"No partitioner was provided, but a partitioned version of the variable was "
                f"found: {name}/part_0. Perhaps a variable of the same name was already created "
                "with partitioning?"
            )
        return self._single(name, shape, None, options)

    def _single(
        self, name: str, shape: Any, info: PartitionInfo | None, options: dict[str, Any]
    ) -> Any:
        initializer = options["initializer"]
        if shape is not None and initializer is not None and not callable(initializer):
            raise ValueError("If initializer is a constant, do not specify shape.")
        dtype, wanted = as_dtype(options["dtype"]), TensorShape(shape)
        found = self.variables.get(name)
        if found is not None:
            return _shared(name, found, wanted, dtype, options["reuse"])
        if options["reuse"] is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). Did "
                "you mean to set reuse=tf.AUTO_REUSE in VarScope?"
            )
        if initializer is None:
            if shape is None:
                raise ValueError(
                    f"Variable {name} did not get an initializer, so its `shape` argument must be "
                    "specified."
                )
            initializer = default_initializer(name, dtype)
        value, kind = _first_value(initializer, wanted, dtype, info)
        resource = options["use_resource"]
        made = VariableV1(
            initial_value=value,
            name=name,
            dtype=kind,
            shape=wanted if wanted.is_fully_defined() else None,
            use_resource=resource_variables_enabled() if resource is None else resource,
            **{n: options[n] for n in _PASSED_ON},
        )
        if state.graph is not None or made._in_graph_mode or self.keeps:
            self.variables[name] = made
        _regularize(made, name, options["regularizer"])
        return made

    def _partitioned(self, name: str, shape: Any, partitioner: Any, options: dict[str, Any]) -> Any:
        initializer, dtype = options["initializer"], as_dtype(options["dtype"])
        constant = initializer is not None and not callable(initializer)
        if constant:
            if shape is not None:
                raise ValueError("If initializer is a constant, do not specify shape.")
            initializer = convert_to_tensor(initializer)
            shape, dtype = initializer.shape, initializer.dtype.base_dtype
        whole = TensorShape(shape)
        if not whole.is_fully_defined():
            raise ValueError(
                f"Shape of a new partitioned variable ({name}) must be fully defined, but instead "
                f"was {whole}."
            )
        if not whole.rank:
            raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {whole}")
        if name in self.variables:
            raise ValueError(
                f"Variable {name}: expected one without parts, as it was made, got a partitioner. "
                "Leave the partitioner out, or choose another name."
            )
        partitions = _checked(partitioner(shape=whole, dtype=dtype), whole)
        found = self.partitioned.get(name)
        if found is not None:
            return _shared_parts(name, found, whole, dtype, partitions, options["reuse"])
        if options["reuse"] is True:
            raise ValueError(
                f"PartitionedVariable {name} does not exist, or was not created with "
                "tf.get_variable(). Did you mean to set reuse=False or reuse=tf.AUTO_REUSE in "
                "VarScope?"
            )
        sizes = [n for n in whole.as_list() if n is not None]
        parts = []
        for i, (offset, part_shape) in enumerate(slices_along(sizes, partitions)):
            mine = {**options, "dtype": dtype, "initializer": initializer}
            if constant:
                mine["initializer"] = execute("Slice", (initializer, offset, part_shape))
            part = self._single(
                f"{name}/part_{i}",
                None if constant else part_shape,
                PartitionInfo(sizes, offset),
                mine,
            )
            part._set_save_slice_info(SaveSliceInfo(name, sizes, offset, part_shape))
            parts.append(part)
        made = PartitionedVariable(name, whole, dtype, parts, partitions)
        if state.graph is not None or self.keeps:
            self.partitioned[name] = made
        return made


_PASSED_ON = (
    "trainable", "collections", "caching_device", "validate_shape", "constraint",
    "synchronization", "aggregation",
)  # fmt: skip
_DEFAULTS: dict[str, Any] = {
    "dtype": "float32", "initializer": None, "regularizer": None, "reuse": None, "trainable": None,
    "collections": None, "caching_device": None, "validate_shape": True, "use_resource": None,
    "constraint": None, "synchronization": None, "aggregation": None,
}  # fmt: skip


def unshared(name: str, shape: Any, **options: Any) -> Any:
    """A variable that no scope knows, in the name scope around.

    Args:
      name: its name in there.
      shape: the shape.
      **options: as for `get_variable`.
    """
    return VariableStore({}, {})._single(name, shape, None, {**_DEFAULTS, **options})


def default_initializer(name: str, dtype: Any) -> Any:
    """The initializer of variables that are given none: Glorot's for floats, zeros for the rest."""
    if dtype.is_floating:
        return initializers.GlorotUniform()
    if dtype.is_integer or dtype.is_bool or dtype is string or dtype.is_complex:
        return initializers.Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype.base_dtype} is required")


def _first_value(initializer: Any, shape: TensorShape, dtype: Any, info: Any) -> tuple[Any, Any]:
    """What a variable takes for its initial value and dtype."""
    if not callable(initializer):
        return initializer, None
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape.is_fully_defined():
        extra = {"partition_info": info} if _takes(initializer, "partition_info") else {}
        return functools.partial(initializer, shape.as_list(), dtype=dtype, **extra), dtype
    if not _required_arguments(initializer):
        return initializer, None
    raise ValueError(BAD_INITIALIZER)


def _takes(function: Callable[..., Any], name: str) -> bool:
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def _required_arguments(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in named and p.default is p.empty]


def _shared(name: str, found: Any, shape: TensorShape, dtype: Any, reuse: Any) -> Any:
    if reuse is False or reuse is None:
        where = getattr(found.op, "location", "") if found._in_graph_mode else ""
        raise ValueError(
            f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
            f"reuse=tf.AUTO_REUSE in VarScope? Originally defined at {where}."
        )
    if not shape.is_compatible_with(found.shape):
        raise ValueError(
            f"Trying to share variable {name}, but specified shape {shape} and found shape "
            f"{found.shape}."
        )
    if not dtype.is_compatible_with(found.dtype):
        raise ValueError(
            f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
            f"{found.dtype.name}."
        )
    return found


def _shared_parts(
    name: str, found: Any, shape: TensorShape, dtype: Any, partitions: list[int], reuse: Any
) -> Any:
    if not reuse:
        raise ValueError(
            f"Partitioned variable with name {name} already exists. Did you mean to set reuse=True "
            "or reuse=tf.AUTO_REUSE in VarScope?"
        )
    start = f"Trying to reuse partitioned variable {name}, but specified"
    if not shape.is_compatible_with(found.shape):
        raise ValueError(f"{start} shape {shape} and found shape {found.shape}.")
    if not dtype.is_compatible_with(found.dtype):
        raise ValueError(f"{start} dtype {dtype.name} and found dtype {found.dtype.name}.")
    if found._get_partitions() != partitions:
        raise ValueError(
            f"{start} partitions {partitions} and found partitions {found._get_partitions()}."
        )
    return found


def _checked(partitions: Any, shape: TensorShape) -> list[int]:
    if not isinstance(partitions, (list, tuple)):
        raise ValueError(f"Partitioner must return a sequence, but saw: {partitions}")
    if len(partitions) != shape.rank:
        raise ValueError(
            "Partitioner returned a partition list that does not match the Variable's rank: "
            f"{partitions} vs. {shape}"
        )
    if any(p < 1 for p in partitions):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {partitions}")
    return list(partitions)


def _regularize(variable: Any, name: str, regularizer: Any) -> None:
    if not regularizer:
        return
    if state.graph is None:
        regularizer(variable)
        return
    graph = state.graph
    with graph.colocate_with(variable.op), name_scope_v1(f"{name}/Regularizer/"):
        loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


_eager_store = VariableStore({}, {})
_KEY = ("__variable_store",)  # the graph owns its store: variables refer to their graph
_stores_lock = threading.Lock()  # guards: making the store of a graph


class _Kept(threading.local):
    """This thread's store of `keeping`."""

    store: VariableStore | None = None


_kept = _Kept()


def new_eager_store() -> VariableStore | None:
    """The store that `keeping` uses now, else a new one; None where the graph has its own."""
    store = current_store()
    if store is not _eager_store and not store.keeps:
        return None
    return store if store.keeps else VariableStore({}, {}, keeps=True)


@contextlib.contextmanager
def keeping(store: VariableStore | None) -> Iterator[None]:
    """Keeps variables made in eager mode in `store`, in the scope of now; nothing without one."""
    before, outer = _kept.store, current_store()
    if store is None or store is outer:
        yield
        return
    store.scope, store.scope_counts = outer.scope, outer.scope_counts
    _kept.store = store
    try:
        yield
    finally:
        _kept.store = before


def current_store() -> VariableStore:
    """The store of the current graph; that of the graph around a function; or eager mode's."""
    graph = state.graph
    while graph is not None and graph.building_function:
        graph = graph.outer_graph
    if graph is None:
        return _kept.store or _eager_store
    with _stores_lock:
        kept = graph.get_collection_ref(_KEY)
        if not kept:
            kept.append(VariableStore({}, {}))
        found: VariableStore = kept[0]
        return found
