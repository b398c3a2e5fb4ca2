"""The strategy that programs are in when they enter none: one replica, where operations run."""

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.core.context import state
from penstock.core.deprecation import deprecated
from penstock.data.dataset import Dataset
from penstock.data.iterator_v1 import make_one_shot_iterator
from penstock.distribute import stack
from penstock.distribute.extended import StrategyExtendedV1
from penstock.distribute.replica_context import ReplicaContext
from penstock.distribute.strategy import Strategy
from penstock.distribute.values import InputContext, InputReplicationMode, ReduceOp, ValueContext
from penstock.graph.behavior import colocate_with
from penstock.ops.conversion import convert_to_tensor
from penstock.tracing.autograph import status
from penstock.util import nest

# Any: functions of the program's, and values, variables and datasets of any structure.


class DefaultScope:
    """`with strategy.scope():` of the default strategy, which only sees that scopes nest."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._around: list[stack.Entry | None] = []  # where the program was at each `__enter__`

    def __enter__(self) -> Strategy:
        here = stack.current()
        if here is not None and here.strategy is not self._strategy:
            raise RuntimeError(
                "tf.distribute.get_strategy(): expected the default strategy to be used outside of"
                f" other scopes, got one of {type(here.strategy).__name__}: must not nest"
                " strategies. Leave that scope first."
            )
        self._around.append(here)
        scopes().append(self)
        return self._strategy

    def __exit__(self, *problem: object) -> None:
        if self not in scopes():
            return
        if scopes()[-1] is not self or self._around[-1] is not stack.current():
            raise RuntimeError(
                "Strategy.scope(): expected the scope that was entered last to be left first, got"
                " one with another inside. Use `with`, and call"
                " tf.distribute.experimental_set_strategy() outside of scopes."
            )
        self._around.pop()
        scopes().pop()


class _Thread(threading.local):
    def __init__(self) -> None:
        self.scopes: list[DefaultScope] = []


_thread = _Thread()


def scopes() -> list[DefaultScope]:
    """The scopes of the default strategy that this thread is in, the innermost last."""
    return _thread.scopes


class DefaultStrategy(Strategy):
    """The strategy of programs that enter none."""

    _is_default = True

    def __init__(self) -> None:
        super().__init__(DefaultExtended(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> "DefaultStrategy":
        return self  # of which there is one


class DefaultReplicaContext(ReplicaContext):
    """The replica that a program is in outside every scope."""

    @property
    def replica_id_in_sync_group(self) -> int:
        """The only one's number."""
        return 0

    def _require_current(self) -> None:
        here = stack.current()
        if here is not None and here.replica is not self:
            raise RuntimeError(
                "tf.distribute.get_replica_context(): expected the program to be in the default"
                f" replica, got {'one of `run`' if here.replica else 'cross-replica context'}. Call"
                " tf.distribute.get_replica_context() where it is used."
            )

    def __copy__(self) -> "DefaultReplicaContext":
        return self  # of which there is one

    def __deepcopy__(self, memo: dict[int, Any]) -> "DefaultReplicaContext":
        return self

    def _reduced(self, operation: ReduceOp, flat: list[Any]) -> list[Any]:
        return flat

    def _gathered(self, flat: list[Any], axis: Any) -> list[Any]:
        return flat


class DefaultExtended(StrategyExtendedV1):
    """What the default strategy offers to libraries."""

    @property
    def _num_replicas_in_sync(self) -> int:
        return 1

    def _scope(self, strategy: Any) -> DefaultScope:
        return DefaultScope(strategy)

    def _call_for_each_replica(
        self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        strategy = self._container_strategy()
        with (
            stack.inside(strategy, ReplicaContext(strategy, 0)),
            status.scope(status.Status.DISABLED),
        ):
            return fn(*args, **kwargs)

    def _reduce_to(self, reduce_op: ReduceOp, value: Any, destinations: Any, options: Any) -> Any:
        return value

    def _gather_to(self, value: Any, destinations: Any, axis: Any, options: Any = None) -> Any:
        return value

    def _broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        if destinations is None or isinstance(destinations, list | tuple):
            raise AssertionError(
                "broadcast_to: expected `destinations` to be a variable, a tensor or a device,"
                f" got {destinations!r}. Pass the variable that the value is for."
            )
        raise NotImplementedError(
            f"broadcast_to: expected a strategy of several devices, got {destinations!r} with the"
            " default one. Use the tensor itself."
        )

    def _across(self) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext() if stack.current() is None else super()._across()

    def _update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        group: bool,
    ) -> Any:
        return self._results(fn(var, *args, **kwargs), group)

    def _update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        group: bool,
    ) -> Any:
        return self._results(fn(*args, **kwargs), group)

    def _results(self, result: Any, group: bool) -> Any:
        return result if group else nest.map_structure(self._local_results, result)

    def _experimental_distribute_dataset(self, dataset: Any, options: Any) -> Any:
        return dataset

    def _distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: Any
    ) -> Any:
        return dataset_fn(InputContext())

    def _experimental_distribute_values_from_function(self, value_fn: Callable[..., Any]) -> Any:
        return value_fn(ValueContext())

    def _make_dataset_iterator(self, dataset: Any) -> "DefaultInputIterator":
        return DefaultInputIterator(dataset)

    def _make_input_fn_iterator(
        self, input_fn: Callable[[InputContext], Any], replication_mode: InputReplicationMode
    ) -> "DefaultInputIterator":
        return DefaultInputIterator(input_fn(InputContext()))

    def _experimental_make_numpy_dataset(self, numpy_input: Any, session: Any) -> Any:
        return Dataset.from_tensor_slices(numpy_input)

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        """A scope whose variables are where another is."""
        return colocate_with(colocate_with_variable)

    def variable_created_in_scope(self, v: Any) -> bool:
        """Whether a variable was made in no other strategy's scope."""
        return v._distribute_strategy is None

    def read_var(self, v: Any) -> Any:
        """The value of a variable."""
        return convert_to_tensor(v)

    def non_slot_devices(self, var_list: Sequence[Any]) -> Any:
        """Where what belongs to no single variable is kept: beside the first by name."""
        return min(var_list, key=lambda variable: variable.name)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """Refused: replicas run where operations are placed."""
        raise self._no_devices("worker_devices")

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """Refused: variables are where operations are placed."""
        raise self._no_devices("parameter_devices")

    def _no_devices(self, what: str) -> RuntimeError:
        return RuntimeError(
            f"StrategyExtended.{what}: expected a strategy that has devices of its own, got the"
            " default one, by which it is unsupported. Use tf.config.list_logical_devices()."
        )

    @property
    def should_checkpoint(self) -> bool:
        """Whether this worker writes checkpoints: it does, being the only one."""
        return True

    @property
    def should_save_summary(self) -> bool:
        """Whether this worker writes summaries: it does, being the only one."""
        return True


class DefaultInputIterator:
    """What `make_dataset_iterator` of the default strategy returns."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self._iterator = iter(dataset) if state.graph is None else make_one_shot_iterator(dataset)

    def get_next(self) -> Any:
        """The next element."""
        return self._iterator.get_next()

    def get_next_as_optional(self) -> Any:
        """The next element or none, as a `tf.experimental.Optional`."""
        return self._iterator.get_next_as_optional()

    @deprecated("Use the iterator's `initializer` property.")
    def initialize(self) -> Any:
        """Begins again."""
        return self.initializer

    @property
    def initializer(self) -> list[Any]:
        """The operations that begin again, of which there are none."""
        if state.graph is None:
            self._iterator = iter(self._dataset)
        else:
            self._iterator = make_one_shot_iterator(self._dataset)
        return []


STRATEGY = DefaultStrategy()
REPLICA = DefaultReplicaContext(STRATEGY, 0)
