"""`Strategy`: how the steps of a program run on replicas. The classes that programs know."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from penstock.core import dispatch
from penstock.core.composite import IndexedSlices, SparseTensor
from penstock.core.context import state
from penstock.core.deprecation import deprecated
from penstock.core.tensor import Tensor
from penstock.distribute.values import (
    InputContext,
    InputOptions,
    InputReplicationMode,
    ReduceOp,
    RunOptions,
)
from penstock.ops import math_cast, math_reduce
from penstock.ops.array_basics import constant
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_gather import gather as gather_rows
from penstock.ops.conversion import convert_to_tensor
from penstock.ops.grouping import group as group_operations
from penstock.ops.math_division import truediv
from penstock.ops.ragged_class import RaggedTensor
from penstock.tracing.autograph.public import control_status_ctx, tf_convert
from penstock.types import dtypes as dt
from penstock.util import nest

# Any: functions of the program's, and values and datasets of any structure.

HERE = "/device:CPU:0"  # where results go if nothing is said
_reduce_sum = dispatch.dispatching(math_reduce.reduce_sum, "penstock", "reduce_sum")


class StrategyBase:
    """What both generations of `Strategy` have.

    Args:
      extended: the strategy's `StrategyExtended`.
    """

    _is_default = False

    def __init__(self, extended: Any) -> None:
        if not hasattr(extended, "_container_strategy"):
            raise AttributeError(
                f"{type(self).__name__}: expected a tf.distribute.StrategyExtended, got"
                f" {extended!r}. Use tf.distribute.get_strategy() for the default strategy."
            )
        self._extended = extended

    @property
    def extended(self) -> Any:
        """What it offers to libraries."""
        return self._extended

    def scope(self) -> Any:
        """The context in which variables belong to the strategy."""
        return self._extended._scope(self)

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas run in step."""
        return int(self._extended._num_replicas_in_sync)

    @property
    def cluster_resolver(self) -> Any:
        """What knows the cluster; None where there is none."""
        return getattr(self._extended, "_cluster_resolver", None)

    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: RunOptions | None = None,
    ) -> Any:
        """Runs a function in each replica.

        Args:
          fn: the function.
          args: its arguments: a list or a tuple.
          kwargs: the same, by name.
          options: how it is treated.

        Returns:
          What it returns in the only replica, or a value for each.

        Raises:
          ValueError: `args` is no list or tuple.
          RuntimeError: the program is in a replica.
        """
        if not isinstance(args, list | tuple):
            raise ValueError(
                f"Strategy.run: expected args that are a list or tuple, got {type(args)}. Pass"
                " args=(value,)."
            )
        with self.scope():
            fn = tf_convert(fn, control_status_ctx(), convert_by_default=False)
            return self._extended.call_for_each_replica(fn, args=args, kwargs=kwargs)

    def reduce(self, reduce_op: ReduceOp | str, value: Any, axis: Any) -> Any:
        """The sum or the mean of a value over replicas, and over a dimension of it.

        Args:
          reduce_op: which.
          value: what `run` returned.
          axis: the dimension, or None for replicas alone.

        Raises:
          TypeError: `reduce_op` is no operation.
          ValueError: there is no such operation, or no such dimension.
          RuntimeError: the program is in a replica.
        """
        operation = ReduceOp.of(reduce_op)
        self._extended._require_cross_replica()
        if axis is not None:
            value = _over_dimension(operation, value, axis)
        return self._extended._reduce_to(operation, value, HERE, None)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of this process's replicas."""
        return tuple(self._extended._local_results(value))

    def experimental_distribute_dataset(
        self, dataset: Any, options: InputOptions | None = None
    ) -> Any:
        """A dataset whose elements are spread over replicas.

        Args:
          dataset: its elements are for all replicas.
          options: how it is spread.
        """
        return self._extended._experimental_distribute_dataset(dataset, options)

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: InputOptions | None = None
    ) -> Any:
        """A dataset whose parts a function makes.

        Args:
          dataset_fn: called with an `InputContext`.
          options: how it is spread.
        """
        return self._extended._distribute_datasets_from_function(dataset_fn, options)

    @deprecated("Use `distribute_datasets_from_function`.")
    def experimental_distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: InputOptions | None = None
    ) -> Any:
        """`distribute_datasets_from_function`, under the name it had."""
        return self.distribute_datasets_from_function(dataset_fn, options)

    @deprecated("Use `iter(strategy.experimental_distribute_dataset(dataset))`.")
    def make_dataset_iterator(self, dataset: Any) -> Any:
        """An iterator of elements that are spread over replicas."""
        return self._extended._make_dataset_iterator(dataset)

    @deprecated("Use `iter(strategy.distribute_datasets_from_function(input_fn))`.")
    def make_input_fn_iterator(
        self,
        input_fn: Callable[[InputContext], Any],
        replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER,
    ) -> Any:
        """An iterator of what a function makes.

        Args:
          input_fn: called with an `InputContext`.
          replication_mode: how often.

        Raises:
          ValueError: another mode than that of one call for each worker.
        """
        if replication_mode is not InputReplicationMode.PER_WORKER:
            raise ValueError(
                "Strategy.make_input_fn_iterator: expected InputReplicationMode.PER_WORKER, got"
                f" {replication_mode!r}. Leave it out."
            )
        with self.scope():
            return self._extended._make_input_fn_iterator(
                input_fn, replication_mode=replication_mode
            )

    @deprecated("Use `run`.")
    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """Runs a function on the next element of an iterator, or on nothing.

        Args:
          fn: the function.
          input_iterator: what `make_dataset_iterator` returned.
        """
        with self.scope():
            return self.run(fn, () if input_iterator is None else (input_iterator.get_next(),))

    @deprecated("Use `experimental_local_results`.")
    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """`experimental_local_results`, under the name it had."""
        return self.experimental_local_results(value)

    def group(self, value: Any, name: str | None = None) -> Any:
        """One operation that runs those of all replicas.

        Args:
          value: what `run` returned.
          name: a name of the operation.
        """
        local = nest.flatten(self._extended._local_results(value))
        if len(local) != 1 or name is not None:
            return group_operations(*local, name=name or "group_deps")
        return local[0] if state.graph is None else getattr(local[0], "op", local[0])

    @deprecated("Use `tf.distribute.cluster_resolver`.")
    def configure(
        self,
        session_config: Any = None,
        cluster_spec: Any = None,
        task_type: str | None = None,
        task_id: int | None = None,
    ) -> Any:
        """Tells the strategy which task of a cluster this is."""
        return self._extended._configure(session_config, cluster_spec, task_type, task_id)

    @deprecated("Use `tf.distribute.cluster_resolver`.")
    def update_config_proto(self, config_proto: Any) -> Any:
        """The settings of sessions that the strategy wants, from those that it is given."""
        return self._extended._update_config_proto(config_proto)

    @deprecated("Use `strategy.extended.colocate_vars_with`.")
    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        """A scope whose variables are where another is."""
        return self._extended.colocate_vars_with(colocate_with_variable)

    def __copy__(self) -> "StrategyBase":
        raise RuntimeError(
            f"{type(self).__name__}: expected copy.deepcopy(), got copy.copy(), whose copy would"
            " share `extended`. Must only deepcopy a strategy, or use the strategy itself."
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> "StrategyBase":
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{type(self).__name__}: cannot pickle a strategy, which belongs to this process:"
            " expected values that it computed. Call tf.distribute.get_strategy() where they are"
            " loaded."
        )


class Strategy(StrategyBase):
    """How the steps of a program run on replicas: `tf.distribute.get_strategy()`.

    Args:
      extended: the strategy's `StrategyExtended`.

    Example:
      >>> strategy = tf.distribute.get_strategy()
      >>> doubled = strategy.run(lambda x: 2 * x, args=(tf.constant([1.0, 2.0]),))
      >>> float(strategy.reduce(tf.distribute.ReduceOp.SUM, doubled, axis=0))
      6.0
    """

    def gather(self, value: Any, axis: Any) -> Any:
        """The values of all replicas one behind the other.

        Args:
          value: one for each replica.
          axis: along which dimension they are joined.

        Raises:
          RuntimeError: the program is in a replica.
          NotImplementedError: `value` is `tf.IndexedSlices`.
        """
        self._extended._require_cross_replica()
        if isinstance(value, IndexedSlices):
            raise NotImplementedError(
                "Strategy.gather: expected dense tensors, got tf.IndexedSlices. Pass"
                " tf.convert_to_tensor(value)."
            )
        return self._extended._gather_to(value, HERE, axis)

    def experimental_distribute_values_from_function(self, value_fn: Callable[..., Any]) -> Any:
        """A value for each replica.

        Args:
          value_fn: called with a `ValueContext`.
        """
        return self._extended._experimental_distribute_values_from_function(value_fn)


class StrategyV1(StrategyBase):
    """`tf.compat.v1.distribute.Strategy`.

    Args:
      extended: the strategy's `StrategyExtended`.

    Example:
      >>> strategy = tf.distribute.get_strategy()
      >>> isinstance(strategy, tf.compat.v1.distribute.Strategy)
      False
    """

    def reduce(self, reduce_op: ReduceOp | str, value: Any, axis: Any = None) -> Any:
        """`Strategy.reduce`, over replicas alone if not said otherwise."""
        return super().reduce(reduce_op, value, axis)

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Any:
        """The dataset of the rows of arrays."""
        return self._extended.experimental_make_numpy_dataset(numpy_input, session)


def _over_dimension(operation: ReduceOp, value: Any, axis: Any) -> Any:
    """A value with a dimension of it made one."""
    if isinstance(axis, list):
        raise TypeError(
            f"Strategy.reduce: expected an axis that is a number or a tuple, got the list {axis}."
            " Pass tuple(axis)."
        )
    axes = list(axis) if isinstance(axis, tuple) else [axis]
    value = _summand(operation, value, axes)
    axes = _counted(axes, value.shape.rank)
    total = _reduce_sum(value, axes)
    if operation is ReduceOp.SUM:
        return total
    ragged = isinstance(value, RaggedTensor)
    if ragged:
        _require_uniform(value, axes)
    sizes = value.bounding_shape() if ragged else shape_of(value)
    numbers = constant(axes, dt.int32)
    if value.shape.rank is None:
        numbers = numbers % shape_of(sizes)[0]  # counted from the end, too
    count = math_reduce.reduce_prod(gather_rows(sizes, numbers))
    return truediv(total, math_cast.cast(count, total.dtype))


def _summand(operation: ReduceOp, value: Any, axes: list[int]) -> Any:
    """What is added: a tensor of numbers."""
    listed = isinstance(value, list | tuple)
    if isinstance(value, SparseTensor) or any(
        isinstance(part, dict) for part in _containers(value)
    ):
        raise TypeError(
            f"Strategy.reduce: expected one tensor for axis={axes}, got a {type(value).__name__}"
            f" {'with' if listed else 'of'} several. Reduce each of its"
            " parts."
        )
    if not isinstance(value, Tensor | RaggedTensor):
        value = convert_to_tensor(value)
    dtype = value.dtype
    if not (dtype.is_floating or dtype.is_integer or dtype.is_complex):
        raise TypeError(
            f"Strategy.reduce: expected a tensor of numbers for axis={axes}, got"
            f" {dtype.name}. Cast it first."
        )
    if listed and operation is ReduceOp.MEAN and axes:
        raise AttributeError(
            f"Strategy.reduce: expected one tensor for the mean over axis={axes}, got a list,"
            " which has no shape. Pass tf.convert_to_tensor(value)."
        )
    return value


def _containers(value: Any) -> Iterator[Any]:
    """The dictionaries, lists and tuples of a value, the outermost first."""
    if isinstance(value, dict | list | tuple):
        yield value
    for part in value if isinstance(value, list | tuple) else ():
        yield from _containers(part)


def _counted(axes: list[int], rank: int | None) -> list[int]:
    """The numbers of dimensions, from 0 where the rank is known."""
    for number in axes:
        if rank is not None and not -rank <= number < rank:
            raise ValueError(
                f"Strategy.reduce: expected an axis in [-{rank}, {rank}), got {number}. Pass a"
                " dimension of the value, or None to reduce over replicas alone."
            )
    return [number % rank if rank else number for number in axes]


def _require_uniform(value: RaggedTensor, axes: list[int]) -> None:
    """Refuses the mean over a ragged dimension, whose sizes differ."""
    rows, number = value, 1
    while isinstance(rows, RaggedTensor):
        if number in axes and rows.uniform_row_length is None:
            raise ValueError(
                f"Strategy.reduce: expected dimensions of one size for the mean, got axis {number}"
                f" of a ragged tensor of shape {value.shape}: it is not uniform. Use"
                " tf.reduce_mean(value, axis) on it."
            )
        rows, number = rows.values, number + 1
