"""`StrategyExtended`: what a strategy offers to libraries beside what it offers to programs.

A strategy of its own kind derives from one of the classes here and answers what begins with an
underscore; the rest checks where the program is and asks those.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from penstock.core.deprecation import deprecated
from penstock.distribute import stack
from penstock.distribute.values import InputContext, InputReplicationMode, ReduceOp
from penstock.ops.variable_creation import variable_creator_scope

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

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any, options: Any) -> Any:
        return self._absent("_reduce_to")

    def _batch_reduce_to(
        self, reduce_op: ReduceOp, value_destination_pairs: Any, options: Any
    ) -> list[Any]:
        return [
            self._reduce_to(reduce_op, value, to, options) for value, to in value_destination_pairs
        ]

    def _gather_to(self, value: Any, destinations: Any, axis: Any, options: Any = None) -> Any:
        return self._absent("_gather_to")

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        return self._absent("_create_variable")

    def _update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        group: bool,
    ) -> Any:
        return self._absent("_update")

    def _experimental_distribute_dataset(self, dataset: Any, options: Any) -> Any:
        return self._absent("_experimental_distribute_dataset")

    def _distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: Any
    ) -> Any:
        return self._absent("_distribute_datasets_from_function")

    def _experimental_distribute_values_from_function(self, value_fn: Callable[..., Any]) -> Any:
        return self._absent("_experimental_distribute_values_from_function")

    def _make_dataset_iterator(self, dataset: Any) -> Any:
        return self._absent("_make_dataset_iterator")

    def _make_input_fn_iterator(
        self, input_fn: Callable[[InputContext], Any], replication_mode: InputReplicationMode
    ) -> Any:
        return self._absent("_make_input_fn_iterator")

    def _configure(
        self, session_config: Any, cluster_spec: Any, task_type: str | None, task_id: int | None
    ) -> Any:
        """There is no task to be told of."""

    def _update_config_proto(self, config_proto: Any) -> Any:
        return config_proto

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
        return self._reduce_to(ReduceOp.of(reduce_op), value, destinations, options)

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
        pairs = list(value_destination_pairs)
        return list(self._batch_reduce_to(ReduceOp.of(reduce_op), pairs, options))

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
        with self._across():
            return self._update(var, fn, args, kwargs or {}, group)

    def _across(self) -> AbstractContextManager[None]:
        """Across replicas of this strategy, wherever in it or in the default one the program is."""
        self._require_no_other(stack.current())
        return stack.inside(self._strategy, None)

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        """A scope whose variables are where another is: `_create_variable` is told which.

        Args:
          colocate_with_variable: the variable.

        Raises:
          RuntimeError: the program is in no scope of this strategy.
        """
        here = stack.current()
        if here is None or here.strategy is not self._strategy:
            raise self._outside()

        def beside(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
            kwargs.setdefault("colocate_with", colocate_with_variable)  # the innermost counts
            return next_creator(**kwargs)

        return variable_creator_scope(beside)

    def variable_created_in_scope(self, v: Any) -> bool:
        """Whether a variable was made in this strategy's scope."""
        return bool(v._distribute_strategy is self._strategy)

    def value_container(self, value: Any) -> Any:
        """The variable or value that `value` is a replica's part of."""
        return value

    def _require_cross_replica(self) -> None:
        """Refuses to go on in a replica, or in another strategy; outside all scopes is fine.

        Raises:
          RuntimeError: the program is in one.
        """
        here = stack.current()
        self._require_no_other(here)
        if here is None:
            return
        if here.strategy is not self._strategy:
            raise self._outside()
        if here.replica is not None:
            raise RuntimeError(
                f"{type(self._strategy).__name__}: expected to be in cross-replica context, got a"
                " replica's. Use tf.distribute.get_replica_context().merge_call()."
            )

    def _require_no_other(self, here: "stack.Entry | None") -> None:
        """Refuses to go on in a strategy that is neither this one nor the default one."""
        if here is None or here.strategy is self._strategy or here.strategy._is_default:
            return
        raise RuntimeError(
            f"{type(self._strategy).__name__}: expected the program to be in one strategy, got"
            f" code in the scope of {type(here.strategy).__name__}: mixing different strategies"
            " has no meaning. Leave that scope first."
        )

    def _outside(self) -> RuntimeError:
        return RuntimeError(
            f"{type(self._strategy).__name__}: expected to be inside `with strategy.scope()` of"
            " it, got code outside. Enter the scope."
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
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        group: bool,
    ) -> Any:
        return self._absent("_update_non_slot")

    def _broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        return self._absent("_broadcast_to")

    def _experimental_make_numpy_dataset(self, numpy_input: Any, session: Any) -> Any:
        return self._absent("_experimental_make_numpy_dataset")

    def _experimental_run_steps_on_iterator(
        self, fn: Callable[..., Any], iterator: Any, iterations: int, initial_loop_values: Any
    ) -> Any:
        return self._absent("_experimental_run_steps_on_iterator")

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
        self._require_cross_replica()
        return self._experimental_make_numpy_dataset(numpy_input, session=session)

    @deprecated("Use `strategy.run` in a loop.")
    def experimental_run_steps_on_iterator(
        self,
        fn: Callable[..., Any],
        iterator: Any,
        iterations: int = 1,
        initial_loop_values: Any = None,
    ) -> Any:
        """Runs a function on several elements of an iterator."""
        self._require_cross_replica()
        return self._experimental_run_steps_on_iterator(
            fn, iterator, iterations, initial_loop_values
        )

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
        self._require_cross_replica()
        with self._across():
            return self._update_non_slot(colocate_with, fn, args, kwargs or {}, group)

    def read_var(self, v: Any) -> Any:
        """The value of a variable, over all replicas."""
        return self._absent("read_var")

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
    """`with strategy.scope():` of a strategy that has replicas: code inside is across them.

    The strategy makes the variables. Entered once more across its own replicas, it does nothing.
    """

    def __init__(self, strategy: Any) -> None:
        self._strategy = strategy
        self._entered: list[tuple[stack.Entry, AbstractContextManager[None]] | None] = []

    @property
    def entry(self) -> stack.Entry | None:
        """The place that was entered last, until it is left."""
        entered = self._entered[-1] if self._entered else None
        return None if entered is None else entered[0]

    def __enter__(self) -> Any:
        strategy, here = self._strategy, stack.current()
        if here is not None and not here.strategy._is_default:
            strategy.extended._require_cross_replica()
            self._entered.append(None)
            return strategy
        entry = stack.Entry(strategy, None, self)
        stack.push(entry)
        creators = variable_creator_scope(self._create)
        creators.__enter__()
        self._entered.append((entry, creators))
        return strategy

    def __exit__(self, *problem: object) -> None:
        if not self._entered:
            raise RuntimeError(
                "Strategy.scope(): expected a scope that was entered, got one that was not, or was"
                " left already. Use `with`, and call tf.distribute.experimental_set_strategy()"
                " outside of scopes."
            )
        entered = self._entered.pop()
        if entered is not None:
            entry, creators = entered
            creators.__exit__(None, None, None)
            stack.pop(entry)

    def _create(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        """Lets the strategy make a variable, where the program is in it: not in other graphs."""
        here = stack.current()
        if here is None or here.strategy is not self._strategy:
            return next_creator(**kwargs)
        kwargs.update(use_resource=True, distribute_strategy=self._strategy)
        return self._strategy.extended._create_variable(next_creator, **kwargs)
