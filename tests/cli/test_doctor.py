"""`penstock doctor`: the report as a whole, and the checks that look at this machine."""

import os
import re
import sys

import pytest
from click.testing import CliRunner

from penstock.cli import devices, doctor
from penstock.cli.findings import Finding
from penstock.cli.main import main
from penstock.core import native, native_library, native_wire
from penstock.core.native_library import State


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
        "Native libraries",
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
    lost = State(None, "", "no native kernels", "build them")
    finding = doctor.check_native("kernels", lost, "all is slow")
    assert finding.problem == "no native kernels"
    assert finding.fix == "build them"
    there = State(object(), "avx2")
    assert "avx2" in doctor.check_native("kernels", there, "all is slow").value
    assert doctor.check_native("parser", State(object()), "all is slow").value == "used"
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    value = doctor.check_native("kernels", there, "all is slow").value
    assert value == "switched off by PENSTOCK_NATIVE_KERNELS, so all is slow"


def test_native_libraries_of_another_version_are_problems(invoke, monkeypatch):
    if native.state().library is None or native_wire.LIBRARY.state().library is None:
        pytest.skip("no native libraries here")
    monkeypatch.setattr(native, "REVISION", native.REVISION + 1)
    monkeypatch.setattr(native, "state", lambda: native.load(native.LIBRARY))
    wire = native_wire.LIBRARY
    monkeypatch.setattr(wire, "version", wire.version + 1)
    monkeypatch.setattr(wire, "state", lambda: wire.load(wire.path))
    result = invoke()
    assert result.exit_code == 1
    for name, slower, version in (
        ("kernels", "products, conv", native.REVISION),
        ("parsing of Examples", "to parse", wire.version),
    ):
        assert re.search(rf"!  {name} +not in use", result.output)
        told = f"! the library of native {name} .*{slower}.*expected version {version},"
        assert re.search(told, result.output)
    assert result.output.count(f"what to do: build it again: {native_library.rebuild()}") == 2
