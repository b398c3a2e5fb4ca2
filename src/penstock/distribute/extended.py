"""`StrategyExtended`: what a strategy offers to libraries beside what it offers to programs.

A strategy of its own kind derives from one of the classes here and answers what begins with an
underscore; the rest checks where the program is and asks those.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from penstock.core.deprecation import deprecated
from penstock.distribute import stack
from penstock.distribute.values import InputContext, InputReplicationMode, ReduceOp
from penstock.graph.behavior import colocate_with
from penstock.ops.conversion import convert_to_tensor
from penstock.ops.grouping import group as group_operations
from penstock.util import nest

# Any: values, variables and datasets of any structure, and strategies.


class StrategyExtendedV2:
    """What a strategy offers to libraries: `strategy.extended`.

    Args:
      container_strategy: the strategy.

    Example:
      >>> strategy = tf.distribute.get_strategy()
      >>> variable = tf.Variable(1.0)
      >>> done = strategy.extended.update(variable, lambda v, by: v.assign_add(by), args=(2.0,))
      >>> float(variable)
      3.0
    """

    def __init__(self, container_strategy: Any) -> None:
        self._strategy = container_strategy

    def _container_strategy(self) -> Any:
        """The strategy that this belongs to."""
        return self._strategy

    def _absent(self, what: str) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__}.{what}: expected a strategy that has one, got one that does"
            " not. Define it in the class, which must be implemented in descendants."
        )

    # ---- what a kind of strategy answers ---------------------------------------------------------

    @property
    def _num_replicas_in_sync(self) -> int:
        return int(self._absent("_num_replicas_in_sync"))

    def _call_for_each_replica(
        self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        return self._absent("_call_for_each_replica")

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any) -> Any:
        return self._absent("_reduce_to")

    def _gather(self, value: Any, axis: Any) -> Any:
        return self._absent("_gather")

    def _update(
        self, var: Any, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        return self._absent("_update")

    def _distribute_dataset(self, dataset: Any, options: Any) -> Any:
        return self._absent("_distribute_dataset")

    def _distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: Any
    ) -> Any:
        return self._absent("_distribute_datasets_from_function")

    def _distribute_values_from_function(self, value_fn: Callable[..., Any]) -> Any:
        return self._absent("_distribute_values_from_function")

    def _make_dataset_iterator(self, dataset: Any) -> Any:
        return self._absent("_make_dataset_iterator")

    def _make_input_fn_iterator(
        self, input_fn: Callable[[InputContext], Any], replication_mode: InputReplicationMode
    ) -> Any:
        return self._absent("_make_input_fn_iterator")

    def _scope(self, strategy: Any) -> Any:
        return Scope(strategy)

    def _local_results(self, value: Any) -> tuple[Any, ...]:
        return (value,)

    def _use_merge_call(self) -> bool:
        return True

    def _in_multi_worker_mode(self) -> bool:
        return False

    # ---- what libraries use ----------------------------------------------------------------------

    @property
    def experimental_require_static_shapes(self) -> bool:
        """Whether all shapes must be known when a program is traced."""
        return False

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices that replicas run on."""
        return tuple(self._absent("worker_devices"))

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices that hold variables."""
        return tuple(self._absent("parameter_devices"))

    def reduce_to(
        self, reduce_op: ReduceOp | str, value: Any, destinations: Any, options: Any = None
    ) -> Any:
        """The sum or the mean of the values of all replicas, where `destinations` is.

        Args:
          reduce_op: which.
          value: one for each replica.
          destinations: a variable, a tensor or devices.
          options: of the communication.

        Raises:
          RuntimeError: the program is in a replica.
          ValueError: there is no such operation.
        """
        self._require_cross_replica()
        return self._reduce_to(ReduceOp.of(reduce_op), value, destinations)

    def batch_reduce_to(
        self,
        reduce_op: ReduceOp | str,
        value_destination_pairs: Iterable[tuple[Any, Any]],
        options: Any = None,
    ) -> list[Any]:
        """`reduce_to` of several values at once.

        Args:
          reduce_op: sum or mean.
          value_destination_pairs: the values and where each goes.
          options: of the communication.
        """
        self._require_cross_replica()
        operation = ReduceOp.of(reduce_op)
        return [self._reduce_to(operation, value, to) for value, to in value_destination_pairs]

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        group: bool = True,
    ) -> Any:
        """Runs `fn(var, *args, **kwargs)` where the variable is.

        Args:
          var: the variable.
          fn: what updates it.
          args: further arguments.
          kwargs: the same, by name.
          group: whether to give one value or operation, not one for each place.
        """
        return self._results(self._update(var, fn, args, kwargs or {}), group)

    def _results(self, result: Any, group: bool) -> Any:
        if not group:
            return nest.map_structure(self._local_results, result)
        local = self._local_results(result)
        return local[0] if len(local) == 1 else group_operations(*local)

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        """A scope whose variables are where another is."""
        return colocate_with(colocate_with_variable)

    def variable_created_in_scope(self, v: Any) -> bool:
        """Whether a variable was made in this strategy's scope."""
        return bool(getattr(v, "_distribute_strategy", None) is self._strategy)

    def value_container(self, value: Any) -> Any:
        """The variable or value that `value` is a replica's part of."""
        return value

    def _require_cross_replica(self) -> None:
        """Refuses to go on in a replica.

        Raises:
          RuntimeError: the program is in one, or in no scope of this strategy.
        """
        here = stack.current()
        if here is None or here.strategy is not self._strategy:
            raise RuntimeError(
                f"{type(self._strategy).__name__}: expected to be inside `with"
                " strategy.scope()` of it, got code outside. Enter the scope."
            )
        self._require_no_replica(here)

    def _require_no_replica(self, here: "stack.Entry | None") -> None:
        if here is not None and here.replica is not None:
            raise RuntimeError(
                f"{type(self._strategy).__name__}: expected to be in cross-replica context, got a"
                " replica's. Use tf.distribute.get_replica_context().merge_call()."
            )


class StrategyExtendedV1(StrategyExtendedV2):
    """What a strategy offers to libraries: `tf.compat.v1.distribute.StrategyExtended`.

    Args:
      container_strategy: the strategy.

    Example:
      >>> extended = tf.distribute.get_strategy().extended
      >>> isinstance(extended, tf.compat.v1.distribute.StrategyExtended)
      True
    """

    def _update_non_slot(
        self, at: Any, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        return self._absent("_update_non_slot")

    def _broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        return self._absent("_broadcast_to")

    def _make_numpy_dataset(self, numpy_input: Any) -> Any:
        return self._absent("_make_numpy_dataset")

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Runs a function in each replica.

        Args:
          fn: the function.
          args: its arguments.
          kwargs: the same, by name.

        Raises:
          RuntimeError: the program is in a replica.
        """
        self._require_cross_replica()
        return self._call_for_each_replica(fn, args, {} if kwargs is None else kwargs)

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """A copy of a tensor on each of the devices of `destinations`."""
        self._require_cross_replica()
        return self._broadcast_to(tensor, destinations)

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Any:
        """The dataset of the rows of arrays, in any structure of tuples and dictionaries.

        Args:
          numpy_input: the arrays.
          session: not needed.
        """
        return self._make_numpy_dataset(numpy_input)

    @deprecated("Use `strategy.run` in a loop.")
    def experimental_run_steps_on_iterator(
        self,
        fn: Callable[..., Any],
        iterator: Any,
        iterations: int = 1,
        initial_loop_values: Any = None,
    ) -> Any:
        """Runs a function on several elements of an iterator."""
        return self._absent("experimental_run_steps_on_iterator")

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        """Where what belongs to no single variable is kept."""
        return self._absent("non_slot_devices")

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        group: bool = True,
    ) -> Any:
        """Runs `fn(*args, **kwargs)` where `non_slot_devices` said.

        Args:
          colocate_with: what that returned.
          fn: what to run.
          args: its arguments.
          kwargs: the same, by name.
          group: whether to give one value or operation, not one for each place.
        """
        done = self._update_non_slot(colocate_with, fn, args, kwargs or {})
        return self._results(done, group)

    def read_var(self, v: Any) -> Any:
        """The value of a variable, over all replicas."""
        return convert_to_tensor(v)

    @property
    def experimental_between_graph(self) -> bool:
        """Whether each worker builds its own graph."""
        return bool(self._absent("experimental_between_graph"))

    @property
    def experimental_should_init(self) -> bool:
        """Whether this worker initializes variables."""
        return bool(self._absent("experimental_should_init"))

    @property
    def should_checkpoint(self) -> bool:
        """Whether this worker writes checkpoints."""
        return bool(self._absent("should_checkpoint"))

    @property
    def should_save_summary(self) -> bool:
        """Whether this worker writes summaries."""
        return bool(self._absent("should_save_summary"))


class Scope:
    """`with strategy.scope():` of a strategy that has replicas: code inside is across them."""

    def __init__(self, strategy: Any) -> None:
        self._strategy = strategy
        self._entered: list[stack.Entry] = []

    def __enter__(self) -> Any:
        entry = stack.Entry(self._strategy, None)
        stack.push(entry)
        self._entered.append(entry)
        return self._strategy

    def __exit__(self, *problem: object) -> None:
        stack.pop(self._entered.pop())
