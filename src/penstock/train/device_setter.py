"""`replica_device_setter`: variables on parameter servers, everything else on the worker.

It gives a device function for `tf.compat.v1.device`: of each operation that holds state it asks a
strategy for the server, one after the other by default. What an inner scope has asked for stays.
"""

from collections.abc import Callable, Sequence
from typing import Any

from penstock.distributed.cluster_spec import ClusterSpec
from penstock.types.device_spec import DeviceSpecV2

# The operations whose state parameter servers hold.
PS_OPS = (
    "Variable", "VariableV2", "AutoReloadVariable", "VarHandleOp",
    "MutableHashTable", "MutableHashTableV2", "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2", "MutableDenseHashTable", "MutableDenseHashTableV2",
    "BoostedTreesEnsembleResourceHandleOp", "BoostedTreesQuantileStreamResourceHandleOp",
    "DecisionTreeResource", "ResourceConditionalAccumulator",
)  # fmt: skip


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str | None = "/job:ps",
    worker_device: str | None = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Callable[[Any], int] | None = None,
) -> Callable[[Any], str] | None:
    """A device function that puts state on parameter servers and the rest on the worker.

    Args:
      ps_tasks: how many parameter servers there are; that of `cluster` where it is given.
      ps_device: their job, with or without a device; None or "" puts nothing on them.
      worker_device: the device of everything else; None or "" leaves that where it is.
      merge_devices: whether what inner scopes ask for is completed; else it is left as it is.
      cluster: a ClusterSpec, or what makes one.
      ps_ops: the types of operations that are put on servers; those that hold variables, tables and
        accumulators when None.
      ps_strategy: gives the task of an operation; one after the other when None.

    Returns:
      The function, for `tf.compat.v1.device`; None where there are no parameter servers.

    Raises:
      TypeError: the cluster is none, the strategy is no function, or the number no integer.

    Example:
      >>> with tf.Graph().as_default():
      ...     with tf.compat.v1.device(tf.compat.v1.train.replica_device_setter(ps_tasks=2)):
      ...         v = tf.compat.v1.get_variable("v", [2])
      ...         w = tf.compat.v1.get_variable("w", [2])
      ...     v.device, w.device
      ('/job:ps/task:0', '/job:ps/task:1')
    """
    if cluster is not None:
        jobs = ClusterSpec(cluster).as_dict()
        ps_tasks = len(jobs.get(DeviceSpecV2.from_string(ps_device).job or "", ()))
    if isinstance(ps_tasks, bool) or not isinstance(ps_tasks, int):
        raise TypeError(
            f"replica_device_setter: expected ps_tasks to be an integer, got {ps_tasks!r}. Give "
            "the number of parameter servers."
        )
    if ps_tasks == 0:
        return None
    if ps_strategy is not None and not callable(ps_strategy):
        raise TypeError(
            f"ps_strategy must be callable, got {ps_strategy!r}. Pass a function of an operation."
        )
    held = PS_OPS if ps_ops is None else tuple(ps_ops)
    strategy = _RoundRobin(ps_tasks) if ps_strategy is None else ps_strategy
    return _Setter(ps_device, worker_device, merge_devices, held, strategy).device_function


class _RoundRobin:
    """The tasks one after the other."""

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks
        self._next = 0

    def __call__(self, op: Any) -> int:
        task, self._next = self._next, (self._next + 1) % self._tasks
        return task


class _Setter:
    """Says of each operation where it goes."""

    def __init__(
        self,
        ps_device: str | None,
        worker_device: str | None,
        merge: bool,
        held: Sequence[str],
        strategy: Callable[[Any], int],
    ) -> None:
        self._ps_device = ps_device
        self._worker_device = worker_device
        self._merge = merge
        self._held = held
        self._strategy = strategy

    def device_function(self, op: Any) -> str:
        """The device of an operation: the text that it asks for, completed."""
        if not self._merge and op.device:
            return str(op.device)
        current = DeviceSpecV2.from_string(op.device or "")
        if self._ps_device and op.type in self._held:
            servers = DeviceSpecV2.from_string(self._ps_device)
            if not current.job or current.job == servers.job:
                servers = servers.replace(task=self._strategy(op))
            return servers.make_merged_spec(current).to_string()
        return (
            DeviceSpecV2.from_string(self._worker_device or "")
            .make_merged_spec(current)
            .to_string()
        )
