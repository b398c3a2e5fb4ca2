"""`penstock devices`: what this machine can compute on."""

import os
from dataclasses import dataclass
from typing import Any

import click

from penstock.cli.text import format_bytes, format_table
from penstock.core.lazy import jax


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
    found = list(jax.local_devices(backend="cpu"))
    if jax.default_backend() != "cpu":
        found += jax.local_devices()
    return [_row(device) for device in found]


def _row(device: Any) -> DeviceRow:  # a jax.Device
    kind = device.platform.upper()
    number = device.local_hardware_id if device.local_hardware_id is not None else device.id
    memory: int | None
    if kind == "CPU":
        model, memory, number = os.uname().machine, _host_memory(), device.id
    else:
        stats = device.memory_stats() or {}
        model, memory = device.device_kind, stats.get("bytes_limit")
    return DeviceRow(
        f"/device:{kind}:{number}", f"/physical_device:{kind}:{number}", kind, model, memory
    )


def _host_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _memory_text(memory: int | None) -> str:
    return "unknown" if memory is None else format_bytes(memory)
