"""`Server`: a task that sessions reach by its target and whose variables and queues they share.

The cluster of a server is one task, that of this process: `tf.distribute.Server` refuses others
until tasks speak to each other. The server holds its port, so that no other server takes it, and
answers nobody there: its sessions are in the same process.
"""

import atexit
import contextlib
import socket
import threading
import weakref
from collections.abc import Mapping
from typing import Any

from penstock import errors
from penstock.core.resources import ResourceManager
from penstock.distributed.cluster_spec import ClusterSpec
from penstock.proto import cluster_pb2, config_pb2, tensorflow_server_pb2
from penstock.runtime.options import as_message, read_config
from penstock.runtime.tasks import GRPC, Task, add_task

PROTOCOL = "grpc"
LOCAL_JOB = "localhost"
LOOPBACK = "127.0.0.1"
LONGEST_PORT = 10  # digits


class Server:
    """A task of a cluster, in this process. Thread-safe.

    Sessions with its target share variables, queues and tables by their names, and keep them when
    they are closed; `tf.compat.v1.Session.reset` clears them.

    Args:
      server_or_cluster_def: a ServerDef or ClusterDef message, a ClusterSpec or what makes one.
      job_name: the task's job; may be left out where there is one.
      task_index: its number; may be left out where there is one.
      protocol: "grpc".
      config: a ConfigProto message; its `device_count` says which devices there are.
      start: whether to start at once.

    Raises:
      TypeError: a definition or settings of another kind.
      ValueError: the job or task is not named, or there is no such job.
      InternalError: there is no such task.
      InvalidArgumentError: its address has no port.
      NotFoundError: another protocol.
      UnimplementedError: a cluster of several tasks.
      UnknownError: the port is taken, or there is no such port.

    Example:
      >>> server = tf.distribute.Server.create_local_server()
      >>> with tf.Graph().as_default():
      ...     v = tf.compat.v1.get_variable("v", initializer=1.0)
      ...     with tf.compat.v1.Session(server.target) as first:
      ...         first.run(v.initializer)
      ...     with tf.compat.v1.Session(server.target) as second:
      ...         second.run(v)
      np.float32(1.0)
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
    ) -> None:
        described = _described(server_or_cluster_def, job_name, task_index, protocol, config)
        host, port = _checked_address(described)
        options = read_config(described.default_session_config)
        self._server_def = described
        held = _held_port(host, port)
        self._given_back = weakref.finalize(self, held.close)  # the port, if it never starts
        name = f"/job:{described.job_name}/replica:0/task:{described.task_index}"
        target = f"{GRPC}{host}:{held.getsockname()[1]}"
        self._task = Task(target, ResourceManager(name), options.device_count, held)
        self._lock = threading.Lock()  # guards: _started, _stopped
        self._started = False
        self._stopped = threading.Event()
        if start:
            self.start()

    def start(self) -> None:
        """Lets sessions reach the server. A second call does nothing.

        Raises:
          FailedPreconditionError: `join` was called before.
        """
        with self._lock:
            if self._stopped.is_set():
                raise errors.FailedPreconditionError(
                    None,
                    None,
                    f"Server {self.target}: Server has stopped: expected one that was never"
                    " joined before its start. Make a new one, and start it before join().",
                )
            if not self._started:
                self._started = True
                self._given_back.detach()
                atexit.register(self._task.holds.close)
                add_task(self._task)

    def join(self) -> None:
        """Waits for the end of the process; of a server that has not started, not at all."""
        with self._lock:
            if not self._started:
                self._stopped.set()
        self._stopped.wait()

    @property
    def server_def(self) -> Any:
        """What the server is, as a ServerDef message of the caller's own."""
        return tensorflow_server_pb2.ServerDef.FromString(self._server_def.SerializeToString())

    @property
    def target(self) -> str:
        """What sessions name the server by."""
        return self._task.target

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> "Server":
        """A server on a free port of this machine, the one task of job "localhost".

        Args:
          config: a ConfigProto message.
          start: whether to start at once.
        """
        cluster = ClusterSpec({LOCAL_JOB: ["localhost:0"]})
        return Server(cluster, protocol=PROTOCOL, config=config, start=start)


def _described(
    given: Any, job: str | None, index: int | None, protocol: str | None, config: Any
) -> Any:
    """The ServerDef message that the arguments describe, in which all is named."""
    described = tensorflow_server_pb2.ServerDef()
    if isinstance(given, tensorflow_server_pb2.ServerDef):
        described.CopyFrom(given)
        described.job_name = described.job_name if job is None else job
        described.task_index = described.task_index if index is None else index
    else:
        cluster = _cluster(given)
        job = _only("job_name", job, cluster.jobs)
        index = _only("task_index", index, cluster.task_indices(job))
        described.cluster.CopyFrom(cluster.as_cluster_def())
        described.job_name, described.task_index = job, index
        described.protocol = PROTOCOL
    if protocol is not None:
        described.protocol = protocol
    if config is not None:
        read_config(config)  # refuses what is none
        settings = as_message(config_pb2.ConfigProto, config)
        described.default_session_config.MergeFrom(settings)
    return described


def _cluster(given: Any) -> ClusterSpec:
    if isinstance(given, ClusterSpec | cluster_pb2.ClusterDef | Mapping):
        return ClusterSpec(given)
    raise TypeError(
        "Could not convert `server_or_cluster_def` to a `tf.train.ServerDef` or"
        f" `tf.train.ClusterSpec`: got a {type(given).__name__}, {given!r}. Pass a dictionary from"
        " job names to lists of addresses."
    )


def _only(what: str, chosen: Any, there_are: list[Any]) -> Any:
    """What was chosen, or the only one there is."""
    if chosen is not None:
        return chosen
    if len(there_are) != 1:
        raise ValueError(
            f"Must specify an explicit `{what}`: expected one of {there_are}, got none. Pass"
            f" {what}=."
        )
    return there_are[0]


def _checked_address(described: Any) -> tuple[str, int]:
    """Host and port of the task that a ServerDef describes.

    Raises:
      OpError: it describes none that can be in this process.
    """
    if described.protocol != PROTOCOL:
        raise errors.NotFoundError(
            None,
            None,
            "No server factory registered for the given ServerDef: expected protocol"
            f" {PROTOCOL!r}, got {described.protocol!r}. Pass protocol={PROTOCOL!r}.",
        )
    cluster = ClusterSpec(described.cluster)
    job, index = described.job_name, described.task_index
    if job not in cluster.jobs:
        raise errors.InternalError(
            None,
            None,
            f'Server: Job "{job}" was not defined in cluster: expected one of {cluster.jobs}. Name'
            " one of them as job_name.",
        )
    if index not in cluster.task_indices(job):
        raise errors.InternalError(
            None,
            None,
            f'Server: Task {index} was not defined in job "{job}": expected one of'
            f" {cluster.task_indices(job)}. Name one of them as task_index.",
        )
    others = sum(map(cluster.num_tasks, cluster.jobs)) - 1
    if others:
        raise errors.UnimplementedError(
            None,
            None,
            f"Server: expected a cluster of one task, got {cluster!r}, with {others} more than"
            f" task {index} of job '{job}'. Tasks cannot reach each other yet: leave the others"
            " out.",
        )
    return _host_and_port(cluster.task_address(job, index), described.port)


def _host_and_port(address: str, instead: int) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal() and len(port) <= LONGEST_PORT):
        raise errors.InvalidArgumentError(
            None,
            None,
            f'Could not parse port for local server from "{address[:100]}": expected host:port, as'
            " localhost:0 for any free port.",
        )
    return host, instead or int(port)


def _held_port(host: str, port: int) -> socket.socket:
    """A socket that keeps a port from other servers; nobody can connect to it."""
    held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        held.bind((LOOPBACK, port))
    except (OSError, OverflowError) as problem:  # the second: there is no such port
        with contextlib.suppress(OSError):
            held.close()
        raise errors.UnknownError(
            None,
            None,
            f"Could not start gRPC server: expected a free port, got {host}:{port}: {problem}."
            " Give another, or 0 for any free one.",
        ) from None
    return held


__all__ = ["Server"]
