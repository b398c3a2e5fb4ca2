"""The devices of this process and their names.

A device's full name is `/job:JOB/replica:0/task:N/device:TYPE:I`. The CPU is always there;
accelerators are those that JAX finds, and are looked for only where JAX is loaded already or the
question is asked outright.
"""

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.core.context import LOCAL_TASK
from penstock.core.lazy import jax

HOST_MEMORY = 256 << 20  # what TensorFlow reports for a CPU
PLATFORM_TYPES: Mapping[str, str] = {
    "cpu": "CPU",
    "gpu": "GPU",
    "cuda": "GPU",
    "rocm": "GPU",
    "tpu": "TPU",
}


@dataclass(frozen=True, slots=True, repr=False)
class DeviceAttributes:
    """What is known of a device.

    Full name, type, bytes of memory, and a number that changes when its process restarts.
    """

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int

    def __repr__(self) -> str:
        parts = (self.name, self.device_type, self.memory_limit_bytes, self.incarnation)
        return f"_DeviceAttributes({', '.join(map(str, parts))})"


def device_name(device_type: str, index: int = 0, task: str = LOCAL_TASK) -> str:
    """The full name of a device.

    Example:
      >>> device_name("GPU", 1)
      '/job:localhost/replica:0/task:0/device:GPU:1'
    """
    return f"{task}/device:{device_type}:{index}"


_cpus = {"count": 1}


def cpu_count() -> int:
    """How many logical CPUs this process has."""
    return _cpus["count"]


def set_cpu_count(count: int) -> None:
    """Divides the CPU into logical ones; before the first array is made.

    Raises:
      RuntimeError: JAX has its devices already.
    """
    jax.config.update("jax_num_cpu_devices", count)
    _cpus["count"] = count


XLA_THREADS = "NPROC"  # the environment variable that XLA's CPU client reads when it is made
_threads_at_first = os.environ.get(XLA_THREADS)


def set_thread_count(count: int) -> None:
    """Bounds XLA's threads within an operation on CPUs; before the first array is made.

    Args:
      count: 0 leaves the number to the system.

    Raises:
      RuntimeError: JAX has its devices already.
    """
    devices = jax.config.jax_num_cpu_devices
    jax.config.update("jax_num_cpu_devices", devices + 1)  # refused once JAX has its devices
    jax.config.update("jax_num_cpu_devices", devices)
    wanted = str(count) if count else _threads_at_first
    if wanted is None:
        os.environ.pop(XLA_THREADS, None)
    else:
        os.environ[XLA_THREADS] = wanted


def bound_threads(count: int) -> None:
    """`set_thread_count` for a session: the first one in a process counts, as in TensorFlow."""
    if count:
        with contextlib.suppress(RuntimeError):
            set_thread_count(count)


def local_device(name: str) -> Any:
    """The JAX device with a full name that the placer gave; a session's CPUs share JAX's."""
    _, _, last = name.rpartition("device:")
    kind, _, index = last.partition(":")
    found = jax.local_devices(backend=kind.lower())
    return found[int(index or 0) % len(found)]


def session_devices(
    device_count: Mapping[str, int], task: str = LOCAL_TASK
) -> list[DeviceAttributes]:
    """The devices a session may use, of its task.

    As many CPUs as asked for (one otherwise), and at most as many accelerators.
    """
    found = [
        DeviceAttributes(device_name("CPU", i, task), "CPU", HOST_MEMORY, _incarnation("CPU", i))
        for i in range(max(device_count.get("CPU", 1), 1))
    ]
    seen: dict[str, int] = {}
    for device in jax.devices():
        kind = PLATFORM_TYPES.get(device.platform, device.platform.upper())
        index = seen[kind] = seen.get(kind, -1) + 1
        if kind != "CPU" and index < device_count.get(kind, index + 1):
            name = device_name(kind, index, task)
            found.append(DeviceAttributes(name, kind, _memory(device), _incarnation(kind, index)))
    return found


def _memory(device: Any) -> int:
    stats = device.memory_stats() or {}
    return int(stats.get("bytes_limit", 0))


_PROCESS_NUMBER = int.from_bytes(os.urandom(6), "big")


def _incarnation(kind: str, index: int) -> int:
    return _PROCESS_NUMBER * 1000 + index + (500 if kind != "CPU" else 0)
