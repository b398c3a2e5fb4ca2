"""What programs hand to strategies and get from them: small immutable descriptions."""

import enum
from typing import Any, NamedTuple

# Any: options take what strategies of accelerators understand, sizes are numbers or tensors.


class ReduceOp(enum.Enum):
    """How the values of replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def of(value: "ReduceOp | str") -> "ReduceOp":
        """The operation that `value` names, in letters of either case.

        Raises:
          ValueError: no operation is called so.
          TypeError: `value` is no name.
        """
        if isinstance(value, ReduceOp):
            return value
        if not isinstance(value, str):
            raise TypeError(
                "tf.distribute.ReduceOp: expected an operation or its name, got"
                f" {value!r} of {type(value).__name__}. Pass tf.distribute.ReduceOp.SUM or MEAN."
            )
        if value.upper() not in ReduceOp.__members__:
            raise ValueError(
                f"tf.distribute.ReduceOp: expected one of {list(ReduceOp.__members__)}, got"
                f" {value!r}. Pass tf.distribute.ReduceOp.SUM or MEAN."
            )
        return ReduceOp[value.upper()]


class InputReplicationMode(enum.Enum):
    """How often an input function is called."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


class InputContext:
    """Which part of the input a function that makes datasets is asked for.

    Args:
      num_input_pipelines: how many pipelines there are.
      input_pipeline_id: which of them this is, from 0.
      num_replicas_in_sync: how many replicas a batch is for.

    Example:
      >>> tf.distribute.InputContext(num_replicas_in_sync=4).get_per_replica_batch_size(64)
      16
    """

    __slots__ = ("_input_pipeline_id", "_num_input_pipelines", "_num_replicas_in_sync")

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: Any = 1,
    ) -> None:
        self._num_input_pipelines = num_input_pipelines
        self._input_pipeline_id = input_pipeline_id
        self._num_replicas_in_sync = num_replicas_in_sync

    @property
    def num_replicas_in_sync(self) -> Any:
        """How many replicas a batch is for."""
        return self._num_replicas_in_sync

    @property
    def input_pipeline_id(self) -> int:
        """The number of this pipeline."""
        return self._input_pipeline_id

    @property
    def num_input_pipelines(self) -> int:
        """How many pipelines there are."""
        return self._num_input_pipelines

    def get_per_replica_batch_size(self, global_batch_size: Any) -> Any:
        """The share of a batch that one replica takes.

        Raises:
          ValueError: the batch has no whole share for each replica.
        """
        if global_batch_size % self._num_replicas_in_sync != 0:
            raise ValueError(
                "InputContext.get_per_replica_batch_size: expected a `global_batch_size` that is"
                f" divisible by `num_replicas_in_sync` {self._num_replicas_in_sync}, got"
                f" {global_batch_size}. Pass a multiple."
            )
        return global_batch_size // self._num_replicas_in_sync

    def __str__(self) -> str:
        return (
            f"tf.distribute.InputContext(input pipeline id {self._input_pipeline_id}, total:"
            f" {self._num_input_pipelines})"
        )


class ValueContext:
    """Which replica a function that makes values is asked for.

    Args:
      replica_id_in_sync_group: the replica, from 0.
      num_replicas_in_sync: how many there are.

    Example:
      >>> tf.distribute.experimental.ValueContext(1, 2).replica_id_in_sync_group
      1
    """

    __slots__ = ("_num_replicas_in_sync", "_replica_id_in_sync_group")

    def __init__(self, replica_id_in_sync_group: int = 0, num_replicas_in_sync: int = 1) -> None:
        self._replica_id_in_sync_group = replica_id_in_sync_group
        self._num_replicas_in_sync = num_replicas_in_sync

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return self._num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> int:
        """The number of this replica."""
        return self._replica_id_in_sync_group

    def __str__(self) -> str:
        return (
            f"tf.distribute.ValueContext(replica id {self._replica_id_in_sync_group},  total"
            f" replicas in sync: {self._num_replicas_in_sync})"
        )


class _InputOptions(NamedTuple):
    experimental_fetch_to_device: bool | None
    experimental_replication_mode: InputReplicationMode
    experimental_place_dataset_on_device: bool
    experimental_per_replica_buffer_size: int


class InputOptions(_InputOptions):
    """How a dataset is spread over replicas.

    Args:
      experimental_fetch_to_device: whether elements are brought to the replicas' devices ahead;
        None for yes.
      experimental_replication_mode: how often an input function is called.
      experimental_place_dataset_on_device: whether the dataset itself runs on those devices.
      experimental_per_replica_buffer_size: how many elements are kept ready for a replica.

    Example:
      >>> tf.distribute.InputOptions().experimental_fetch_to_device
      True
    """

    __slots__ = ()

    def __new__(
        cls,
        experimental_fetch_to_device: bool | None = None,
        experimental_replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER,
        experimental_place_dataset_on_device: bool = False,
        experimental_per_replica_buffer_size: int = 1,
    ) -> "InputOptions":
        """Fills in what was not said."""
        fetch = True if experimental_fetch_to_device is None else experimental_fetch_to_device
        return super().__new__(
            cls,
            fetch,
            experimental_replication_mode,
            experimental_place_dataset_on_device,
            experimental_per_replica_buffer_size,
        )


class _RunOptions(NamedTuple):
    experimental_enable_dynamic_batch_size: bool
    experimental_bucketizing_dynamic_shape: bool
    experimental_xla_options: Any


class RunOptions(_RunOptions):
    """How `Strategy.run` treats the function it runs.

    Args:
      experimental_enable_dynamic_batch_size: whether the last batch may be smaller.
      experimental_bucketizing_dynamic_shape: whether sizes are rounded up.
      experimental_xla_options: options of the compiler.

    Example:
      >>> tf.distribute.RunOptions().experimental_enable_dynamic_batch_size
      True
    """

    __slots__ = ()

    def __new__(
        cls,
        experimental_enable_dynamic_batch_size: bool = True,
        experimental_bucketizing_dynamic_shape: bool = False,
        experimental_xla_options: Any = None,
    ) -> "RunOptions":
        """Fills in what was not said."""
        return super().__new__(
            cls,
            experimental_enable_dynamic_batch_size,
            experimental_bucketizing_dynamic_shape,
            experimental_xla_options,
        )


class DistributedValues:
    """A value that differs from replica to replica.

    With one replica values are what they are, so there is none of this class:

      >>> isinstance(tf.constant(1), tf.distribute.DistributedValues)
      False
    """
