"""`penstock doctor`: the report as a whole, and the checks that look at this machine."""

import os
import sys

import pytest
from click.testing import CliRunner

from penstock.cli import devices, doctor
from penstock.cli.findings import Finding
from penstock.cli.main import main
from penstock.core import native


@pytest.fixture
def invoke(monkeypatch):
    for name in os.environ:
        if name.startswith(("PENSTOCK_", "TF_")):
            monkeypatch.delenv(name)
    return lambda: CliRunner().invoke(main, ["doctor"])


def test_the_report_has_all_parts(invoke, tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path))
    output = invoke().output
    for part in (
        "Versions",
        "Optional",
        "Bytecode",
        "Devices",
        "Native kernels",
        "Caches",
        "Environment",
    ):
        assert f"\n{part}\n" in f"\n{output}"
    for package in ("python", "penstock", "jax", "numpy", "ml-dtypes", "protobuf", "grpcio"):
        assert f"  {package} " in output.replace("!", " ")
    assert "/device:CPU:0" in output
    assert str(tmp_path) in output


def test_a_problem_gives_exit_code_1_and_a_way_out(invoke, monkeypatch):
    monkeypatch.setenv("PENSTOCK_THREADS", "many")
    result = invoke()
    assert result.exit_code == 1
    assert "!  PENSTOCK_THREADS" in result.output
    assert "what to do: unset PENSTOCK_THREADS" in result.output


def test_no_problem_gives_exit_code_0(monkeypatch):
    monkeypatch.setattr(doctor, "examine", lambda: [doctor.Section("A", [Finding("b", "c")])])
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 0
    assert result.output == "A\n  b  c\n\nNo problems found.\n"


def test_devices_that_do_not_start_are_a_problem(monkeypatch):
    def fail():
        raise RuntimeError("Unable to initialize backend 'cuda'\nmore")

    monkeypatch.setattr(doctor, "list_devices", fail)
    (finding,) = doctor.check_devices()
    assert finding.problem == "the devices do not start: Unable to initialize backend 'cuda'"
    assert "JAX_PLATFORMS" in finding.fix


def row(kind):
    return devices.DeviceRow(f"/device:{kind}:0", f"/physical_device:{kind}:0", kind, "m", None)


def test_a_gpu_that_xla_does_not_see_is_a_problem(monkeypatch, tmp_path):
    node = tmp_path / "nvidiactl"
    monkeypatch.setattr(doctor, "list_devices", lambda: [row("CPU")])
    assert [each.problem for each in doctor.check_devices(str(node))] == [None]
    node.touch()
    assert "XLA sees only CPUs" in doctor.check_devices(str(node))[-1].problem
    monkeypatch.setattr(doctor, "list_devices", lambda: [row("CPU"), row("GPU")])
    assert [each.problem for each in doctor.check_devices(str(node))] == [None, None]


def test_missing_bytecode_is_a_problem(tmp_path, monkeypatch):
    package = tmp_path / "bytecodeless"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    (finding,) = doctor.check_bytecode(["bytecodeless"])
    assert "no compiled bytecode" in finding.problem
    assert finding.fix == f"{sys.executable} -m compileall -q {package}"
    (package / "__pycache__").mkdir()
    tag = sys.implementation.cache_tag
    (package / "__pycache__" / f"__init__.{tag}.pyc").touch()
    assert doctor.check_bytecode(["bytecodeless"])[0].problem is None


def test_native_kernels_that_are_missing_are_a_problem(monkeypatch):
    finding = doctor.check_native(native.State(None, "", "no native kernels", "build them"))
    assert finding.problem == "no native kernels"
    assert finding.fix == "build them"
    there = native.State(object(), "avx2")
    assert "avx2" in doctor.check_native(there).value
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    assert "PENSTOCK_NATIVE_KERNELS" in doctor.check_native(there).value
