"""`tf.config`: physical devices, the logical devices made of them, and settings of execution.

CPUs can be divided into several logical devices, and devices made invisible, until the runtime
starts (JAX's backend is first used); from then on these settings are fixed. Listing physical
accelerators starts JAX's backend; listing CPUs does not.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from penstock import errors
from penstock.core import determinism
from penstock.core.context import Placing, set_placing
from penstock.core.lazy import jax
from penstock.runtime import placed as _plans  # noqa: F401  plans on several devices
from penstock.runtime.devices import (
    PLATFORM_TYPES,
    cpu_count,
    device_name,
    set_cpu_count,
    set_thread_count,
)
from penstock.runtime.pool import pools


class PhysicalDevice(NamedTuple):
    """A piece of hardware: `name` such as "/physical_device:GPU:0" and `device_type`."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """What programs place operations on: `name` such as "/device:CPU:1" and `device_type`."""

    name: str
    device_type: str


class LogicalDeviceConfiguration(NamedTuple):
    """How a logical device is cut out of a physical one.

    Args:
      memory_limit: megabytes of a GPU's memory; XLA manages CPU memory itself.
      experimental_priority: accepted for compatibility.
      experimental_device_ordinal: accepted for compatibility.
    """

    memory_limit: float | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


class _Settings:
    """What the program asked for before the runtime started, and switches that may change later."""

    def __init__(self) -> None:
        self.visible: dict[str, list[PhysicalDevice]] = {}
        self.logical: dict[PhysicalDevice, list[LogicalDeviceConfiguration]] = {}
        self.memory_growth: dict[PhysicalDevice, bool] = {}
        self.soft_placement = True
        self.inter_op_threads = 0
        self.intra_op_threads = 0
        self.tensor_float_32 = True
        self.started = False


_settings = _Settings()
_CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")


def start() -> None:
    """Fixes the devices: applies what was configured to JAX before its first use."""
    if _settings.started:
        return
    count = len(_settings.logical.get(_CPU, ()))
    if count > 1 and count != cpu_count():
        set_cpu_count(count)
    _settings.started = True


def _placing_on(name: str) -> Placing | None:
    """What eager operations in a scope of this device do with their outputs."""
    start()
    _, _, last = name.rpartition("device:")
    kind, _, number = last.partition(":")
    if kind.upper() == "CPU" and number not in ("", "*") and 0 < int(number) < cpu_count():
        return functools.partial(_note_device, device_name("CPU", int(number)))
    if _settings.soft_placement or any(_names(d, kind, number) for d in list_logical_devices()):
        return None
    return functools.partial(_refuse_device, name)


def _names(device: LogicalDevice, kind: str, number: str) -> bool:
    found, _, index = device.name.rpartition("device:")[2].partition(":")
    return found == kind.upper() and number in ("", "*", index)


def _note_device(name: str, tensors: Sequence[Any]) -> None:
    for tensor in tensors:
        tensor._device = name


def _refuse_device(name: str, tensors: Sequence[Any]) -> None:
    known = ", ".join(d.name for d in list_logical_devices())
    raise errors.InvalidArgumentError(
        None,
        None,
        f"Could not satisfy device specification '{name}': expected one of {known}, and soft"
        " placement is off. Name one of them, or call tf.config.set_soft_device_placement(True).",
    )


set_placing(_placing_on)


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The hardware of this machine that can run operations.

    Args:
      device_type: "CPU", "GPU", ...; all types when None.
    """
    found = [_CPU] if device_type in (None, "CPU") else []
    if device_type == "CPU":
        return found
    start()
    seen: dict[str, int] = {}
    for device in jax.local_devices():
        kind = PLATFORM_TYPES.get(device.platform, device.platform.upper())
        if kind == "CPU":
            continue
        index = seen[kind] = seen.get(kind, -1) + 1
        if device_type in (None, kind):
            found.append(PhysicalDevice(f"/physical_device:{kind}:{index}", kind))
    return found


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The physical devices that the program uses."""
    return [
        d
        for d in list_physical_devices(device_type)
        if d.device_type not in _settings.visible or d in _settings.visible[d.device_type]
    ]


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Restricts which physical devices are used.

    Args:
      devices: a PhysicalDevice or a list of them; an empty list hides all.
      device_type: the type that the choice is for, as "GPU"; all types when None.

    Raises:
      ValueError: a device is unknown or of another type.
      RuntimeError: the runtime has started and the choice differs.
    """
    if devices is None:
        devices = []
    several = isinstance(devices, Sequence) and not isinstance(devices, PhysicalDevice)
    chosen = list(devices) if several else [devices]
    known = list_physical_devices()
    for device in chosen:
        if device not in known:
            raise ValueError(f"Unrecognized device: {device!r}. Known devices: {known}.")
        if device_type is not None and device.device_type != device_type:
            raise ValueError(f"Unsupported device: {device!r}, expected device type {device_type}.")
    types = [device_type] if device_type is not None else sorted({d.device_type for d in known})
    for kind in types:
        _settings.visible[kind] = [d for d in chosen if d.device_type == kind]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices that operations can be placed on. Starts the runtime."""
    start()
    result: list[LogicalDevice] = []
    for physical in get_visible_devices(device_type):
        parts = max(len(_settings.logical.get(physical, ())), 1)
        base = sum(d.device_type == physical.device_type for d in result)
        result += [
            LogicalDevice(f"/device:{physical.device_type}:{base + i}", physical.device_type)
            for i in range(parts)
        ]
    return result


def get_logical_device_configuration(
    device: PhysicalDevice,
) -> list[LogicalDeviceConfiguration] | None:
    """How a physical device is divided, None when it is not."""
    _require_known(device)
    return _settings.logical.get(device)


def set_logical_device_configuration(
    device: PhysicalDevice, logical_devices: Sequence[LogicalDeviceConfiguration] | None
) -> None:
    """Divides a physical device into logical ones.

    Args:
      device: from `list_physical_devices`.
      logical_devices: one configuration for each logical device; None undoes the division.

    Raises:
      ValueError: the device is unknown, or a memory limit is given for a CPU.
      RuntimeError: the runtime has started.
    """
    _require_known(device)
    wanted = None if logical_devices is None else list(logical_devices)
    if (
        wanted is not None
        and device.device_type == "CPU"
        and any(c.memory_limit is not None for c in wanted)
    ):
        raise ValueError(
            "Setting memory limit on CPU virtual devices is currently not supported. Leave"
            " memory_limit out."
        )
    if wanted == _settings.logical.get(device):
        return
    if _settings.started:
        raise RuntimeError(
            "Virtual devices cannot be modified after being initialized. Call this before"
            " operations or devices are first used."
        )
    count = max(len(wanted or ()), 1)
    if device == _CPU and count != cpu_count():
        try:
            set_cpu_count(count)
        except RuntimeError as problem:  # arrays were made before
            raise RuntimeError(
                "Virtual devices cannot be modified after being initialized. Call this before"
                " operations or devices are first used."
            ) from problem
    if wanted is None:
        _settings.logical.pop(device, None)
    else:
        _settings.logical[device] = wanted


def _require_known(device: Any) -> None:
    if not isinstance(device, PhysicalDevice) or device not in list_physical_devices(
        device.device_type
    ):
        raise ValueError(
            f"Unrecognized device: {device!r}. Known devices: {list_physical_devices()}."
        )


def get_memory_growth(device: PhysicalDevice) -> bool:
    """Whether memory of a GPU is taken as needed.

    Raises:
      ValueError: the device is unknown.
      KeyError: it has no memory of its own.
    """
    _require_known(device)
    if device.device_type == "CPU":
        raise KeyError(
            f"get_memory_growth: expected a GPU, got {device!r}, whose memory is the process's. "
            "Ask for one of tf.config.list_physical_devices('GPU')."
        )
    return _settings.memory_growth.get(device, False)


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Says that memory of a GPU is taken as needed, kept for programs that read it back.

    JAX has started when a GPU is known, and has taken memory as the environment variable
    XLA_PYTHON_CLIENT_PREALLOCATE says: "false" takes it as needed, else three quarters at once.

    Args:
      device: one of `list_physical_devices`.
      enable: whether memory is taken as needed.

    Raises:
      ValueError: the device is unknown or has no memory of its own.
    """
    _require_known(device)
    if device.device_type == "CPU":
        raise ValueError("Cannot set memory growth on non-GPU and non-Pluggable devices")
    _settings.memory_growth[device] = bool(enable)


def get_device_details(device: PhysicalDevice) -> dict[str, Any]:
    """What is known about a physical device: `device_name`, `compute_capability` of a GPU."""
    _require_known(device)
    if device.device_type == "CPU":
        return {}
    index = int(device.name.rpartition(":")[2])
    found = [
        d for d in jax.local_devices() if PLATFORM_TYPES.get(d.platform) == device.device_type
    ][index]
    details: dict[str, Any] = {"device_name": found.device_kind}
    capability = getattr(found, "compute_capability", None)
    if capability is not None:
        major, _, minor = str(capability).partition(".")
        details["compute_capability"] = (int(major), int(minor or 0))
    return details


def set_soft_device_placement(enabled: bool) -> None:
    """Whether an operation runs elsewhere when the requested device is missing or has no kernel."""
    _settings.soft_placement = bool(enabled)


def get_soft_device_placement() -> bool:
    """Whether soft placement is on."""
    return _settings.soft_placement


def get_inter_op_parallelism_threads() -> int:
    """Threads for independent operations; 0 leaves the number to the system."""
    return _settings.inter_op_threads


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Bounds the threads for independent operations.

    Raises:
      ValueError: the number is negative.
      RuntimeError: threads run already, and the number differs.
    """
    if num_threads < 0:
        raise ValueError(
            f"set_inter_op_parallelism_threads: expected a number >= 0, got {num_threads}. Pass 0"
            " to leave it to the system."
        )
    if num_threads != _settings.inter_op_threads and pools.started:
        raise RuntimeError("Inter op parallelism cannot be modified after initialization.")
    pools.wanted = _settings.inter_op_threads = int(num_threads)


def get_intra_op_parallelism_threads() -> int:
    """Threads within an operation; 0 leaves the number to XLA."""
    return _settings.intra_op_threads


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Bounds the threads within a compiled operation on CPUs; XLA reads it when it starts.

    Raises:
      ValueError: the number is negative.
      RuntimeError: the runtime has started, and the number differs.
    """
    if num_threads < 0:
        raise ValueError(
            f"set_intra_op_parallelism_threads: expected a number >= 0, got {num_threads}. Pass 0"
            " to leave it to the system."
        )
    if num_threads == _settings.intra_op_threads:
        return
    try:
        set_thread_count(int(num_threads))
    except RuntimeError as problem:
        raise RuntimeError(
            "Intra op parallelism cannot be modified after initialization: expected"
            f" {_settings.intra_op_threads} threads, got {num_threads}. Call this before operations"
            " run or devices are listed."
        ) from problem
    _settings.intra_op_threads = int(num_threads)


def tensor_float_32_execution_enabled() -> bool:
    """Whether matrix products of float32 may use TensorFloat-32 on GPUs that have it."""
    return _settings.tensor_float_32


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Allows or forbids TensorFloat-32 in matrix products and convolutions of float32.

    It has 10 bits of mantissa instead of 23. What was compiled before is compiled again. CPUs
    always compute with all the bits.

    Args:
      enabled: a bool; at first it is True.

    Raises:
      TypeError: `enabled` is no bool.
    """
    if not isinstance(enabled, bool):
        raise TypeError(
            "enable_tensor_float_32_execution: expected a bool, got"
            f" {enabled!r} of type {type(enabled).__name__}. Pass True or False."
        )
    if enabled == _settings.tensor_float_32:
        return
    jax.config.update("jax_default_matmul_precision", None if enabled else "highest")
    _settings.tensor_float_32 = enabled


def enable_op_determinism() -> None:
    """Makes every operation give the same bits each time it runs on the same inputs, or raise.

    To be called first: before operations run and functions are traced. Random operations need a
    seed from then on, graphs whose operations race for a variable are refused, and GPUs use
    algorithms that repeat, which may be slower.

    Example:
      >>> import penstock as tf
      >>> tf.random.set_seed(1)
      >>> tf.config.experimental.enable_op_determinism()  # doctest: +SKIP
    """
    determinism.require()


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Whether a GPU can be used.

    Args:
      cuda_only: accepted for compatibility.
      min_cuda_compute_capability: (major, minor) that it must have at least.
    """
    found = list_physical_devices("GPU")
    if min_cuda_compute_capability is None:
        return bool(found)
    return any(
        get_device_details(d).get("compute_capability", (0, 0)) >= min_cuda_compute_capability
        for d in found
    )


def gpu_device_name() -> str:
    """The name of the first GPU, "" when there is none."""
    return "/device:GPU:0" if list_physical_devices("GPU") else ""


def is_built_with_cuda() -> bool:
    """Whether GPU kernels are there: XLA carries them with JAX's CUDA plugin."""
    return bool(list_physical_devices("GPU"))
