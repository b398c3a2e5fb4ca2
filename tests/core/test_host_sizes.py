"""Single calls of cheap arithmetic run on the host up to larger sizes than in plans."""

import subprocess
import sys

import numpy as np
import pytest

import penstock as tf
from penstock.core import determinism, host_runs, native_arrays, native_images
from penstock.core.host_sizes import single_limit
from penstock.ops import array_pad
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


@pytest.mark.skipif(not native_arrays.LIBRARY.is_in_use(), reason="no native library")
def test_native_passes_over_indices_have_no_limit():
    for name in ("SparseFillEmptyRowsGrad", "SparseTensorDenseMatMul"):
        assert single_limit(name, (dt.int64, dt.float64), 10) > 1 << 40


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
        ("LSTMBlockCellGrad", (dt.float32,) * 16, True),
        ("AvgPoolGrad", (dt.int32, dt.float32), native_images.LIBRARY.is_in_use()),
        ("MaxPool", (dt.int32,), False),
        ("LSTMBlockCellGrad", (dt.float16,) * 16, False),
        ("SparseFillEmptyRowsGrad", (dt.int64, dt.int32), False),
        ("SparseSegmentSumGrad", (dt.bfloat16, dt.int32, dt.int32, dt.int32), False),
        ("QuantizedRelu", (dt.quint8, dt.float32, dt.float32), True),
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


def test_no_size_is_too_large_for_one_native_pass(monkeypatch):
    served = [
        ("SparseSegmentSumWithNumSegments", (dt.float32, dt.int32)),
        ("OneHot", (dt.int32, dt.int32, dt.bfloat16, dt.bfloat16)),
        ("SparseToDense", (dt.int64, dt.int64, dt.int32, dt.int32)),
    ]
    if not native_arrays.LIBRARY.is_in_use():
        pytest.skip("there is no native library")
    for name, types in served:
        assert single_limit(name, types, 10) > 1 << 50
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    for name, types in served:
        assert single_limit(name, types, 10) == 10


def test_rules_without_a_native_pass_stay_where_numpy_is_ahead(monkeypatch):
    if not native_arrays.LIBRARY.is_in_use():
        pytest.skip("there is no native library")
    momentum, floats = "ResourceApplyMomentum", (dt.resource, dt.float32)
    limits = [single_limit(n, floats, 10) for n in (momentum, "ResourceApplyFtrl")]
    assert min(limits) > 10
    assert single_limit(momentum, (dt.resource, dt.int32), 10) == 10
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    assert single_limit(momentum, floats, 10) == 10


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
@pytest.mark.parametrize("dtype", ["float32", "int16", "complex64"])
@pytest.mark.parametrize("few", [0, 1 << 14])
def test_folded_paddings_on_the_host_and_compiled(few, dtype, mode, monkeypatch):
    monkeypatch.setattr(array_pad, "_FEW", few)
    rng = np.random.default_rng(2)
    for rank in range(1, 6):
        dims = rng.integers(2, 6, rank)
        paddings = rng.integers(0, dims, (2, rank)).T.astype(np.int32)
        paddings[rng.integers(rank)] = 0
        grad = rng.integers(-99, 99, dims + paddings.sum(1)).astype(dtype)
        given = {"paddings": paddings, "mode": mode}
        found = tf.raw_ops.MirrorPadGrad(input=grad, **given).numpy()
        compiled = tf.function(
            lambda x, given=given: tf.raw_ops.MirrorPadGrad(input=x, **given), jit_compile=True
        )
        assert found.shape == tuple(dims)
        np.testing.assert_array_equal(found, compiled(tf.constant(grad)).numpy())


def test_few_parts_of_paddings_are_folded_alone(monkeypatch):
    """Parts of parts double with each axis, so only those of two axes are taken apart."""
    calls = []
    folded = array_pad._folded
    monkeypatch.setattr(array_pad, "_FEW", 0)
    monkeypatch.setattr(array_pad, "_folded", lambda *a: (calls.append(0), folded(*a))[1])
    tf.raw_ops.MirrorPadGrad(input=np.ones([4] * 8), paddings=[[1, 1]] * 8, mode="SYMMETRIC")
    assert len(calls) <= 13


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.complex64])
@pytest.mark.parametrize(
    ("left", "right"), [((700, 2), ()), ((), (1400,)), ((40, 1), (1, 40)), ((0, 3), (3,))]
)
def test_quotients_of_operands_that_are_spread(left, right, dtype):
    rng = np.random.default_rng(0)
    x, y = (np.array(rng.integers(-2, 3, shape)).astype(dtype) for shape in (left, right))
    with np.errstate(all="ignore"):
        quotient = x / y
    spread = np.broadcast_to(y, quotient.shape)
    np.testing.assert_allclose(
        tf.math.divide_no_nan(x, y), np.where(spread == 0, 0, quotient), rtol=1e-3
    )
    zero = np.broadcast_to(x, quotient.shape) == 0
    np.testing.assert_allclose(tf.math.xdivy(x, y), np.where(zero, 0, quotient), rtol=1e-3)


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3), (300, 300)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.complex128])
def test_sums_of_many_leave_what_they_add_alone(dtype, shape):
    given = [np.random.default_rng(i).normal(size=shape).astype(dtype) for i in range(4)]
    before = [each.copy() for each in given]
    for count in (1, 2, 3, 4):
        found = tf.raw_ops.AddN(inputs=given[:count])
        wanted = given[0]
        for each in given[1:count]:
            wanted = (wanted + each).astype(dtype)
        assert found.shape == shape
        np.testing.assert_array_equal(found.numpy(), wanted)
    for each, kept in zip(given, before, strict=True):
        np.testing.assert_array_equal(each, kept)


@pytest.mark.parametrize("size", [100, 40_000])
@pytest.mark.parametrize("data", [np.float32, np.float64])
def test_segments_looked_up_have_the_bits_of_compiled_ones(data, size):
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(size, 3)).astype(data)
    indices, ids = rng.integers(0, size, size), np.sort(rng.integers(0, 50, size))
    for kind in ("Sum", "Mean"):
        given = {"indices": indices, "segment_ids": ids, "num_segments": 50}
        op = getattr(tf.raw_ops, f"SparseSegment{kind}WithNumSegments")
        for _ in range(2):
            found = op(data=rows, **given)
        compiled = tf.function(lambda x, op=op, given=given: op(data=x, **given), jit_compile=True)
        np.testing.assert_array_equal(found.numpy(), compiled(tf.constant(rows)).numpy())
