"""`tf.config.experimental.get_memory_info` and its relatives: what devices hold.

XLA accounts for the memory of accelerators; of CPU memory it keeps no account, so a CPU's counts
are zeros, as in TensorFlow.
"""

from typing import Any

from penstock.core.lazy import jax
from penstock.runtime.device_config import list_logical_devices
from penstock.runtime.devices import PLATFORM_TYPES


class _Peaks:
    """Peaks of memory: what each device's count was when it was last reset, by device."""

    def __init__(self) -> None:
        self.forgotten: dict[Any, int] = {}


_peaks = _Peaks()


def get_memory_info(device: str) -> dict[str, int]:
    """Bytes in use on a device: `current` and `peak`; zeros for a CPU, which keeps no account.

    Args:
      device: its name, such as "GPU:0".

    Raises:
      ValueError: the name is malformed, or there is no such device.
    """
    found = _device_named(device)
    if found is None:
        return {"current": 0, "peak": 0}
    stats = found.memory_stats() or {}
    current, peak = int(stats.get("bytes_in_use", 0)), int(stats.get("peak_bytes_in_use", 0))
    return {
        "current": current,
        "peak": current if peak <= _peaks.forgotten.get(found, -1) else peak,
    }


def get_memory_usage(device: str) -> int:
    """Bytes in use on a device; `get_memory_info` says more.

    Raises:
      ValueError: the name is malformed, or there is no such device.
    """
    return get_memory_info(device)["current"]


def reset_memory_stats(device: str) -> None:
    """Forgets the peak of a device's memory so far.

    XLA keeps the highest count of the process alone, so after a reset `peak` is the current count
    until the old peak is passed.

    Raises:
      ValueError: the name is malformed, or there is no such device.
    """
    found = _device_named(device)
    if found is not None:
        stats = found.memory_stats() or {}
        _peaks.forgotten[found] = int(stats.get("peak_bytes_in_use", 0))


def _device_named(device: str) -> Any:
    """The device of XLA of a name; None for a CPU, of whose memory there is no account."""
    kind, found, index = device.upper().rpartition("/")[2].replace("DEVICE:", "").partition(":")
    if not found or not index.isdecimal():
        raise ValueError(
            f"Failed parsing device name: '{device}'. Note a valid device string should at least"
            ' contain a device type and a device index, like "GPU:0".'
        )
    names = [d.name.rpartition("device:")[2] for d in list_logical_devices(kind)]
    if f"{kind}:{index}" not in names:
        raise ValueError(
            f"No matching devices found for '{device}'. Devices:"
            f" {[d.name for d in list_logical_devices()]}."
        )
    if kind == "CPU":
        return None
    local = [d for d in jax.local_devices() if PLATFORM_TYPES.get(d.platform) == kind]
    return local[int(index)]
