"""Single calls of cheap arithmetic run on the host up to larger sizes than in plans."""

import subprocess
import sys

import numpy as np
import pytest

import penstock as tf
from penstock.core import determinism, host_runs
from penstock.core.host_sizes import single_limit
from penstock.types import dtypes as dt

LARGE = 100_000


def _twice(values):
    """The array behind the second result: sizes that are new run on the host anyway."""
    x = tf.constant(values)
    tf.raw_ops.Square(x=x)
    return tf.raw_ops.Square(x=x)._array


def test_large_arithmetic_runs_on_the_host():
    values = np.linspace(-3, 3, LARGE, dtype=np.float32)
    found = _twice(values)
    assert found.__class__ is np.ndarray
    np.testing.assert_array_equal(found, values * values)


def test_half_precision_is_compiled():
    assert not isinstance(_twice(np.ones(LARGE, np.float16)), np.ndarray)


def test_an_accelerator_computes(monkeypatch):
    monkeypatch.setattr(host_runs, "host_computes", lambda: False)
    assert not isinstance(_twice(np.ones(LARGE + 1, np.float32)), np.ndarray)


def test_compiled_inputs_are_taken_where_they_are():
    made = tf.function(lambda x: x + 1)(tf.ones(LARGE + 2))
    for _ in range(2):
        found = tf.raw_ops.Neg(x=made)
    assert found._array.__class__ is np.ndarray
    np.testing.assert_array_equal(found.numpy(), np.full(LARGE + 2, -2, np.float32))


@pytest.mark.parametrize(
    ("name", "types", "more"),
    [
        ("Neg", (dt.float32,), True),
        ("Cast", (dt.int8,), True),
        ("Mul", (dt.bfloat16, dt.bfloat16), False),
        ("Tanh", (dt.float64,), True),
        ("Tanh", (dt.complex64,), False),
        ("Sum", (dt.float32, dt.int32), True),
        ("AddN", (dt.float32, dt.float32, dt.float32), True),
        ("OneHot", (dt.int32, dt.int32, dt.float32, dt.float32), True),
        ("SparseSegmentSumGrad", (dt.bfloat16, dt.int32, dt.int32, dt.int32), False),
        ("MatMul", (dt.float32, dt.float32), False),
    ],
)
def test_limits(name, types, more):
    assert (single_limit(name, types, 10) > 10) is more
    assert single_limit(name, types, 1 << 40) == 1 << 40


def test_nothing_is_imported_for_it():
    code = """
import sys, numpy as np, penstock as tf
x = tf.constant(np.ones(300_000, np.float32))
for _ in range(2):
    y = tf.raw_ops.Square(x=x * 2.0)
assert y.numpy()[-1] == 4 and "jaxlib" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_determinism_does_without_sizes_of_the_machine(monkeypatch):
    monkeypatch.setattr(determinism.switch, "fixed", True)
    assert not isinstance(_twice(np.ones(LARGE + 3, np.float32)), np.ndarray)


def test_kernels_that_draw_run_once(monkeypatch):
    """A scalar of NumPy is a result as good as an array: nothing is drawn again."""
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    state = tf.Variable(np.array([1, 2, 3], np.int64))
    given = {"algorithm": np.int64(1), "shape": np.zeros(0, np.int64)}
    for turn in range(3):
        tf.raw_ops.StatefulUniformInt(
            resource=state.handle, **given, minval=np.int64(0), maxval=np.int64(1000)
        )
        assert state.numpy()[0] == 1 + 256 * (turn + 1)
