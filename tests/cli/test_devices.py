"""`penstock devices`."""

import types

import pytest
from click.testing import CliRunner

from penstock.cli import devices
from penstock.cli.main import main


def test_the_cpu_is_listed_with_its_memory():
    result = CliRunner().invoke(main, ["devices"])
    assert result.exit_code == 0
    head, *rows = result.output.splitlines()
    assert head.split() == ["NAME", "TYPE", "PHYSICAL", "MODEL", "MEMORY"]
    assert rows[0].split()[:3] == ["/device:CPU:0", "CPU", "/physical_device:CPU:0"]
    assert "iB" in rows[0]


class FakeJax:
    """A machine with one GPU, beside its CPU."""

    def __init__(self, memory):
        self.gpu = types.SimpleNamespace(
            platform="cuda", device_kind="NVIDIA X1", memory_stats=lambda: memory
        )

    def local_devices(self):
        return [self.gpu]


@pytest.mark.parametrize(
    ("stats", "memory"), [({"bytes_limit": 2**34}, 2**34), ({}, None), (None, None)]
)
def test_accelerators_come_after_the_cpu(monkeypatch, stats, memory):
    monkeypatch.setattr(devices, "jax", FakeJax(stats))
    monkeypatch.setattr(devices.device_config, "jax", FakeJax(stats))
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    cpu, gpu = devices.list_devices()
    assert cpu.logical == "/device:CPU:0"
    assert gpu == devices.DeviceRow(
        "/device:GPU:0", "/physical_device:GPU:0", "GPU", "NVIDIA X1", memory
    )
    last = devices.devices_text([cpu, gpu]).splitlines()[-1]
    assert last.endswith("unknown" if memory is None else "16 GiB")


def test_a_platform_that_does_not_start_is_one_message(monkeypatch):
    def fail():
        raise RuntimeError("Unable to initialize backend 'tpu'")

    monkeypatch.setattr(devices, "list_devices", fail)
    result = CliRunner().invoke(main, ["devices"])
    assert result.exit_code == 1
    assert "Unable to initialize backend 'tpu'" in result.output
    assert "JAX_PLATFORMS" in result.output
    assert "Traceback" not in result.output
