"""The same bits from native kernels for any number of XLA's threads, with determinism enabled."""

import os
import pathlib
import subprocess
import sys

import pytest

from penstock.core import native

pytestmark = pytest.mark.skipif(not native.available(), reason="no native kernels here")
ROOT = pathlib.Path(__file__).resolve().parents[2]
WANTED = {  # functions of the library that the program must have called
    "product", "finished_product", "conv", "conv_input_grad", "conv_filter_grad", "max_pool",
    "max_pool_grad", "avg_pool", "avg_pool_grad", "attention", "attention_grad", "recurrence",
    "layer_norm", "layer_norm_grad", "update", "special", "top", "extreme", "truncated",
}  # fmt: skip


def bits(threads):
    """The lines of `native_bits` with so many threads."""
    path = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    variables = {**os.environ, "NPROC": str(threads), "PYTHONPATH": path, "PENSTOCK_AUTOTUNE": "0"}
    command = [sys.executable, "-m", "tests.ops.native_bits"]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=variables, cwd=ROOT
    )
    return done.stdout.splitlines()


@pytest.mark.timeout(400)
def test_bits_do_not_depend_on_threads_nor_on_the_run():
    *lines, called = bits(1)
    assert set(called.split()) >= WANTED
    assert not [line for line in lines if "not the same twice" in line]
    for threads in (2, 5):
        assert bits(threads) == [*lines, called], threads
