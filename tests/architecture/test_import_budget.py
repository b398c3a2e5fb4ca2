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


@pytest.mark.parametrize(
    ("op", "defined_in", "kind", "attrs", "kernels_in"),
    [
        ("ZerosLike", "array_fill", "host", "T=dtypes.variant", "variant_arithmetic"),
        ("AddN", "math_arithmetic", "host", "T=dtypes.variant", "variant_arithmetic"),
        (
            *("DepthwiseConv2dNative", "nn_convolution", "compiled", "T=dtypes.float32"),
            "nn_depthwise",
        ),
    ],
)
def test_kernels_in_other_modules_are_imported_with_the_selection(
    op, defined_in, kind, attrs, kernels_in
):
    loaded = modules_after(
        "import sys\n"
        "import penstock\n"
        "from penstock.core import kernels\n"
        f"from penstock.ops import {defined_in}\n"
        "from penstock.types import dtypes\n"
        f"assert 'penstock.ops.{kernels_in}' not in sys.modules\n"
        f"chosen = kernels.select({op!r}, {kind!r}, 'CPU', dict({attrs}))\n"
        "while chosen.otherwise is not None:\n"
        "    chosen = chosen.otherwise\n"
        f"assert chosen.function.__module__ == 'penstock.ops.{kernels_in}', chosen"
    )
    assert f"penstock.ops.{kernels_in}" in loaded


@pytest.mark.parametrize("name", ["json", "email.message"])
def test_the_probe_sees_what_is_loaded(name):
    assert name in modules_after(f"import {name}")
