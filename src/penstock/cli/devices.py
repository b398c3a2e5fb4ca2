"""`penstock devices`: what this machine can compute on."""

import os
from dataclasses import dataclass
from typing import Any

import click

from penstock.cli.text import format_bytes, format_table
from penstock.core.lazy import jax
from penstock.runtime import device_config
from penstock.runtime.device_config import LogicalDevice, PhysicalDevice
from penstock.runtime.devices import PLATFORM_TYPES


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """One device of this process.

    Attributes:
      logical: the name that programs use: `/device:GPU:0`.
      physical: the name of the hardware: `/physical_device:GPU:0`.
      kind: CPU, GPU or TPU.
      model: what the hardware calls itself.
      memory: bytes that programs may use; None when unknown.
    """

    logical: str
    physical: str
    kind: str
    model: str
    memory: int | None


@click.command()
def devices() -> None:
    """List this machine's devices: name, type, model, memory."""
    try:
        rows = list_devices()
    except RuntimeError as error:
        raise click.ClickException(
            f"expected devices that start, got: {error}\n"
            "Check JAX_PLATFORMS; `penstock doctor` looks further."
        ) from None
    click.echo(devices_text(rows))


def devices_text(rows: list[DeviceRow]) -> str:
    """The rows as a table."""
    headers = ("NAME", "TYPE", "PHYSICAL", "MODEL", "MEMORY")
    cells = [
        (row.logical, row.kind, row.physical, row.model, _memory_text(row.memory)) for row in rows
    ]
    return format_table(headers, cells, right="MEMORY")


def list_devices() -> list[DeviceRow]:
    """The devices of this process, CPUs first. Starts the accelerators, without reserving memory.

    Raises:
      RuntimeError: when a platform that the environment asks for does not start.
    """
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    physical = device_config.list_physical_devices()
    logical = device_config.list_logical_devices()
    hardware = [each for each in jax.local_devices() if PLATFORM_TYPES.get(each.platform) != "CPU"]
    cpus = len(physical) - len(hardware)
    return list(map(_row, logical, physical, [None] * cpus + hardware))


def _row(logical: LogicalDevice, physical: PhysicalDevice, device: Any) -> DeviceRow:
    """A row; `device` is JAX's, or None for the processor."""
    model, memory = os.uname().machine, _host_memory()
    if device is not None:
        stats = device.memory_stats() or {}
        model, memory = device.device_kind, stats.get("bytes_limit")
    return DeviceRow(logical.name, physical.name, logical.device_type, model, memory)


def _host_memory() -> int | None:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _memory_text(memory: int | None) -> str:
    return "unknown" if memory is None else format_bytes(memory)
