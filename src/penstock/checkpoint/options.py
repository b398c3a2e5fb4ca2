"""`CheckpointOptions`."""

import abc
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from penstock.checkpoint.sharding import ShardingCallback
from penstock.core.context import state
from penstock.graph.behavior import device

OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"


class CheckpointOptions:
    """How a checkpoint is written and read.

    Args:
      experimental_io_device: a device of the task whose files these are: this process alone has
        any here.
      experimental_enable_async_checkpoint: the same as `enable_async`.
      experimental_write_callbacks: functions without arguments, or of the path, that are called
        after each write.
      enable_async: whether `save` and `write` return once the values are held, and a thread writes
        them; training goes on meanwhile. `Checkpoint.sync` waits for it.
      experimental_skip_slot_variables: whether slots of optimizers are left out when restoring.
      experimental_sharding_callback: a `tf.train.experimental.ShardingCallback`, which says which
        tensors go to which data file; one data file, of any size, when None. Eagerly only.

    Raises:
      ValueError: the sharding callback is none.
      TypeError: a write callback is no function.
      AssertionError: a write callback takes more than one argument.
    """

    __slots__ = (
        "enable_async",
        "experimental_enable_async_checkpoint",
        "experimental_io_device",
        "experimental_sharding_callback",
        "experimental_skip_slot_variables",
        "experimental_write_callbacks",
    )

    def __init__(
        self,
        experimental_io_device: str | None = None,
        experimental_enable_async_checkpoint: bool = False,
        experimental_write_callbacks: Sequence[Callable[..., Any]] | None = None,
        enable_async: bool = False,
        experimental_skip_slot_variables: bool = False,
        experimental_sharding_callback: Any = None,
    ) -> None:
        check_callback(experimental_sharding_callback)
        self.experimental_io_device = experimental_io_device
        self.enable_async = experimental_enable_async_checkpoint or enable_async
        self.experimental_enable_async_checkpoint = self.enable_async
        for callback in experimental_write_callbacks or ():
            _check_write_callback(callback)
        self.experimental_write_callbacks = experimental_write_callbacks
        self.experimental_skip_slot_variables = experimental_skip_slot_variables
        self.experimental_sharding_callback = experimental_sharding_callback


def _check_write_callback(callback: Any) -> None:
    if not callable(callback):
        raise TypeError(
            f"experimental_write_callbacks: expected functions, got {callback!r}. Pass functions "
            "without arguments, or of the path."
        )
    count = len(inspect.signature(callback).parameters)
    if count > 1:
        raise AssertionError(
            f"experimental_write_callbacks: expected functions of one argument or none, got "
            f"{callback!r} of {count}. Bind the others with functools.partial."
        )


def check_io_device(options: Any) -> None:
    """Refuses `experimental_io_device` of options where it is no device of this process.

    Raises:
      ValueError: it is no device's name.
      InvalidArgumentError: it is a device of another task (eagerly).
    """
    name = options.experimental_io_device
    if name is not None:
        with device(name):
            if state.place is not None:
                state.place(())


def check_callback(callback: Any) -> None:
    """Refuses what is no ShardingCallback, nor None.

    Raises:
      ValueError: it is something else.
    """
    if callback is not None and not isinstance(callback, ShardingCallback):
        raise ValueError(
            "The experimental_sharding_callback checkpoint option must be of type "
            f"ShardingCallback. The option provided was of type {type(callback)}. Derive a class "
            "from tf.train.experimental.ShardingCallback."
        )


def checked(options: Any) -> CheckpointOptions:
    """`options`, or the usual ones for None.

    Raises:
      TypeError: it is something else.
    """
    if options is None:
        return CheckpointOptions()
    if not isinstance(options, CheckpointOptions):
        raise TypeError(
            f"options: expected a tf.train.CheckpointOptions or None, got {options!r} of type "
            f"{type(options).__name__}. Pass tf.train.CheckpointOptions(...)."
        )
    return options


class PythonStateBase(abc.ABC):
    """What `PythonState` asks of its subclasses."""

    @abc.abstractmethod
    def serialize(self) -> Any:
        """The state as a string."""

    @abc.abstractmethod
    def deserialize(self, string_value: Any) -> None:
        """Takes the state from what `serialize` returned, as bytes."""
