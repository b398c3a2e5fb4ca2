"""`import penstock` stays light: what it loads, seen from a fresh interpreter."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src"
HEAVY = ["jax", "jaxlib", "grpc", "google.protobuf", "malt"]
UNRELATED = ["PIL", "click", "matplotlib", "rich", "scipy", "sklearn", "tensorflow"]


def modules_after(statement):
    result = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport json, sys\nprint(json.dumps([*sys.modules]))"],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return set(json.loads(result.stdout.splitlines()[-1]))


def test_importing_penstock_loads_no_heavy_package():
    loaded = modules_after("import penstock")
    assert "penstock" in loaded
    assert not loaded & {*HEAVY, *UNRELATED}


def test_importing_the_command_loads_no_heavy_package():
    assert not modules_after("import penstock.cli") & set(HEAVY)


def test_kernels_for_variants_are_imported_when_one_is_selected():
    loaded = modules_after(
        "import penstock\n"
        "from penstock.core import kernels\n"
        "from penstock.ops import array_fill\n"
        "from penstock.types import dtypes\n"
        "kernel = kernels.select('ZerosLike', 'host', 'CPU', {'T': dtypes.variant})\n"
        "assert kernel.types, 'the kernel for arrays was chosen'"
    )
    assert "penstock.ops.variant_arithmetic" in loaded


@pytest.mark.parametrize("name", ["json", "email.message"])
def test_the_probe_sees_what_is_loaded(name):
    assert name in modules_after(f"import {name}")
