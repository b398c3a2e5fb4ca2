"""`ReplicaContext`: what the code of one replica knows of the others, and asks of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.core.composite import IndexedSlices
from penstock.core.deprecation import deprecated
from penstock.core.tensor import Tensor
from penstock.distribute import stack
from penstock.distribute.values import ReduceOp
from penstock.ops.array_basics import constant
from penstock.ops.ragged_class import RaggedTensor
from penstock.ops.variables import Variable
from penstock.tracing.autograph.public import control_status_ctx, tf_convert
from penstock.types import dtypes as dt
from penstock.util import nest

# Any: strategies, and values of any structure.


class ReplicaContextBase:
    """What both generations of `ReplicaContext` have.

    Args:
      strategy: the strategy whose replica this is.
      replica_id_in_sync_group: which of its replicas: int32[], a variable of it, a number, or None
        where each operation is for all of them.

    Raises:
      ValueError: the number is none of these.
    """

    def __init__(self, strategy: Any, replica_id_in_sync_group: Any) -> None:
        number = replica_id_in_sync_group
        if not (number is None or isinstance(number, int | Tensor | Variable)):
            raise ValueError(
                "ReplicaContext: expected a `replica_id_in_sync_group` that is a number, a tensor"
                f" or None, got {number!r} of {type(number).__name__}. Pass the replica's number."
            )
        self._strategy = strategy
        self._replica_id_in_sync_group = number
        self._entered: list[stack.Entry] = []

    def __enter__(self) -> None:
        entry = stack.Entry(self._strategy, self)
        stack.push(entry)
        self._entered.append(entry)

    def __exit__(self, *problem: object) -> None:
        stack.pop(self._entered.pop())

    def _require_current(self) -> None:
        here = stack.current()
        if here is None or here.replica is not self:
            raise RuntimeError(
                "ReplicaContext: expected to be in the replica of this context, got"
                f" {'one of another' if here is None or here.replica else 'cross-replica context'}."
                " Use tf.distribute.get_replica_context() inside `Strategy.run`."
            )

    def merge_call(
        self,
        merge_fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Runs a function once for all replicas, across them.

        Args:
          merge_fn: called with the strategy and the values of all replicas.
          args: this replica's values.
          kwargs: the same, by name.

        Returns:
          This replica's part of what it returns.

        Raises:
          RuntimeError: the program is not in this replica.
        """
        self._require_current()
        merge_fn = tf_convert(merge_fn, control_status_ctx(), convert_by_default=False)
        with stack.inside(self._strategy, None):
            return merge_fn(self._strategy, *args, **(kwargs or {}))

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas run in step."""
        return int(self._strategy.num_replicas_in_sync)

    @property
    def replica_id_in_sync_group(self) -> Any:
        """Which of them this is: int32[]."""
        number = self._replica_id_in_sync_group
        if isinstance(number, Tensor | Variable):
            return number
        return constant(number, dt.int32, name="replica_id_in_sync_group")

    @property
    def strategy(self) -> Any:
        """The strategy whose replica this is."""
        return self._strategy

    @property
    @deprecated("Please avoid relying on devices property.")
    def devices(self) -> tuple[str, ...]:
        """The devices that this replica runs on."""
        return ("",)

    def all_reduce(self, reduce_op: ReduceOp | str, value: Any, options: Any = None) -> Any:
        """The sum or the mean of the values of all replicas, for each of them.

        Args:
          reduce_op: which.
          value: the tensors of this replica, in any structure.
          options: of the communication.

        Returns:
          Tensors in the same structure.

        Raises:
          ValueError: there is no such operation.
          TypeError: `reduce_op` is no name of one.
          RuntimeError: the program is not in this replica.
        """
        operation = ReduceOp.of(reduce_op)
        self._require_current()
        flat = [_tensor(part) for part in nest.flatten(value)]
        return nest.pack_sequence_as(value, self._reduced(operation, flat))

    def _reduced(self, operation: ReduceOp, flat: list[Any]) -> list[Any]:
        """The parts of all replicas made one: those of the only one are that."""

        def merged(strategy: Any, *parts: Any) -> list[Any]:
            pairs = [(part, part) for part in parts]
            return list(strategy.extended.batch_reduce_to(operation, pairs))

        return self.merge_call(merged, flat) if flat else []


class ReplicaContext(ReplicaContextBase):
    """What the code of one replica knows of the others: `tf.distribute.get_replica_context()`.

    Args:
      strategy: the strategy whose replica this is.
      replica_id_in_sync_group: which of its replicas.

    Example:
      >>> def step():
      ...     return tf.distribute.get_replica_context().all_reduce("sum", tf.constant(2))
      >>> int(tf.distribute.get_strategy().run(step))
      2
    """

    def all_gather(self, value: Any, axis: Any, options: Any = None) -> Any:
        """The values of all replicas one behind the other, for each of them.

        Args:
          value: the tensors of this replica, in any structure.
          axis: along which dimension they are joined.
          options: of the communication.

        Returns:
          Tensors in the same structure.

        Raises:
          NotImplementedError: one is `tf.IndexedSlices`.
          RuntimeError: the program is not in this replica.
        """
        flat = nest.flatten(value)
        for part in flat:
            if isinstance(part, IndexedSlices):
                raise NotImplementedError(
                    "ReplicaContext.all_gather: expected dense tensors, got tf.IndexedSlices."
                    " Pass tf.convert_to_tensor(value)."
                )
        self._require_current()
        gathered = self._gathered([_tensor(part) for part in flat], axis)
        return nest.pack_sequence_as(value, gathered)

    def _gathered(self, flat: list[Any], axis: Any) -> list[Any]:
        def merged(strategy: Any, *parts: Any) -> list[Any]:
            return [strategy.gather(part, axis) for part in parts]

        return self.merge_call(merged, flat) if flat else []


class ReplicaContextV1(ReplicaContextBase):
    """`tf.compat.v1.distribute.ReplicaContext`, which cannot gather.

    Args:
      strategy: the strategy whose replica this is.
      replica_id_in_sync_group: which of its replicas.

    Example:
      >>> strategy = tf.distribute.get_strategy()
      >>> tf.compat.v1.distribute.ReplicaContext(strategy, 0).num_replicas_in_sync
      1
    """


def _tensor(value: Any) -> Any:
    """What is reduced or gathered: the parts of ragged tensors stay together."""
    return value if isinstance(value, Tensor | IndexedSlices | RaggedTensor) else constant(value)
