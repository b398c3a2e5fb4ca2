"""`tf.data.experimental.service`: the names alone. There is no data service.

Its configurations can be made, so that programs that only hold them go on; what would need the
service says so, and what to use in its place.
"""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from penstock import errors

# Any: what would be passed on to a service that is not there.

_WAY_OUT = (
    "expected a program without a data service, which Penstock does not have. Shard the dataset"
    " with Dataset.shard, or tf.data.Options.experimental_distribute, and read it in each worker."
)


def _refuse(name: str) -> NoReturn:
    raise errors.UnimplementedError(None, None, f"tf.data.experimental.service.{name}: {_WAY_OUT}")


class ShardingPolicy(enum.IntEnum):
    """How a data service would deal out elements to workers."""

    OFF = 0
    DYNAMIC = 1
    FILE = 2
    DATA = 3
    FILE_OR_DATA = 4
    HINT = 5


@dataclass(frozen=True)
class CrossTrainerCache:
    """A cache between trainers.

    Args:
      trainer_id: str, the trainer.
    """

    trainer_id: str


@dataclass(frozen=True)
class DispatcherConfig:
    """How a dispatcher would be configured: see TensorFlow's class of that name."""

    port: int = 0
    protocol: str | None = None
    work_dir: str | None = None
    fault_tolerant_mode: bool = False
    worker_addresses: list[str] | None = None
    job_gc_check_interval_ms: int | None = None
    job_gc_timeout_ms: int | None = None
    worker_timeout_ms: int | None = None
    worker_max_concurrent_snapshots: int = 0


@dataclass(frozen=True)
class WorkerConfig:
    """How a worker would be configured: see TensorFlow's class of that name."""

    dispatcher_address: str
    worker_address: str | None = None
    port: int = 0
    protocol: str | None = None
    heartbeat_interval_ms: int | None = None
    dispatcher_timeout_ms: int | None = None
    data_transfer_protocol: str | None = None
    data_transfer_address: str | None = None


class DispatchServer:
    """Not built: raises UnimplementedError.

    Args:
      config: a DispatcherConfig.
      start: whether it begins at once.
    """

    def __init__(self, config: DispatcherConfig | None = None, start: bool = True) -> None:
        _refuse("DispatchServer")


class WorkerServer:
    """Not built: raises UnimplementedError.

    Args:
      config: a WorkerConfig.
      start: whether it begins at once.
    """

    def __init__(self, config: WorkerConfig, start: bool = True) -> None:
        _refuse("WorkerServer")


def distribute(
    processing_mode: Any,
    service: Any,
    job_name: str | None = None,
    consumer_index: int | None = None,
    num_consumers: int | None = None,
    max_outstanding_requests: int | None = None,
    data_transfer_protocol: str | None = None,
    compression: str = "AUTO",
    cross_trainer_cache: Any = None,
    target_workers: str = "AUTO",
) -> Callable[[Any], Any]:
    """Not built: raises UnimplementedError. See TensorFlow's function of that name.

    Args:
      processing_mode: a ShardingPolicy.
      service: the address of a dispatcher.
      job_name: str.
      consumer_index: int.
      num_consumers: int.
      max_outstanding_requests: int.
      data_transfer_protocol: str.
      compression: str.
      cross_trainer_cache: a CrossTrainerCache.
      target_workers: str.

    Raises:
      UnimplementedError: always.
    """
    _refuse("distribute")


def from_dataset_id(
    processing_mode: Any,
    service: Any,
    dataset_id: Any,
    element_spec: Any = None,
    job_name: str | None = None,
    consumer_index: int | None = None,
    num_consumers: int | None = None,
    max_outstanding_requests: int | None = None,
    data_transfer_protocol: str | None = None,
    cross_trainer_cache: Any = None,
    target_workers: str = "AUTO",
) -> Any:
    """Not built: raises UnimplementedError. See TensorFlow's function of that name.

    Args:
      processing_mode: a ShardingPolicy.
      service: the address of a dispatcher.
      dataset_id: what `register_dataset` gave.
      element_spec: a structure of TypeSpecs.
      job_name: str.
      consumer_index: int.
      num_consumers: int.
      max_outstanding_requests: int.
      data_transfer_protocol: str.
      cross_trainer_cache: a CrossTrainerCache.
      target_workers: str.

    Raises:
      UnimplementedError: always.
    """
    _refuse("from_dataset_id")


def register_dataset(
    service: Any, dataset: Any, compression: str = "AUTO", dataset_id: str | None = None
) -> Any:
    """Not built: raises UnimplementedError. See TensorFlow's function of that name.

    Args:
      service: the address of a dispatcher.
      dataset: a dataset.
      compression: str.
      dataset_id: str.

    Raises:
      UnimplementedError: always.
    """
    _refuse("register_dataset")


def distributed_save(
    dataset: Any, path: Any, data_service_address: str, compression: str = "AUTO"
) -> Any:
    """Not built: raises UnimplementedError. `Dataset.save` saves from one process.

    Args:
      dataset: a dataset.
      path: a folder.
      data_service_address: the address of a dispatcher.
      compression: str.

    Raises:
      UnimplementedError: always.
    """
    _refuse("distributed_save")
