"""Work of the host's native libraries in compiled code: the same results as single calls."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import native, native_special
from penstock.core.op_def import lookup
from penstock.ops.kernels import cpu_host

RNG = np.random.default_rng(3)
ODD = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-20, 3e4]
N = cpu_host.LEAST_ELEMENTS
SPECIAL = sorted(set(native_special.FUNCTIONS) - cpu_host.SHORT_IN_XLA)


@pytest.fixture(autouse=True)
def needs_the_libraries():
    if not (native.available() and native_special.LIBRARY.is_in_use()):
        pytest.skip("no native kernels here")


def compiled(op_name, **given):
    """What a function compiled for these shapes gives."""
    tensors = {k: v for k, v in given.items() if isinstance(v, np.ndarray)}
    rest = {k: v for k, v in given.items() if k not in tensors}

    @tf.function(jit_compile=True)
    def run(*values):
        return getattr(tf.raw_ops, op_name)(**dict(zip(tensors, values, strict=True)), **rest)

    results = run(*map(tf.constant, tensors.values()))
    return [r.numpy() for r in (results if isinstance(results, tuple) else (results,))]


def single(op_name, **given):
    results = getattr(tf.raw_ops, op_name)(**given)
    return [r.numpy() for r in (results if isinstance(results, tuple) else (results,))]


def assert_same(op_name, **given):
    for found, wanted in zip(compiled(op_name, **given), single(op_name, **given), strict=True):
        assert found.dtype == wanted.dtype
        if found.dtype == tf.bfloat16.as_numpy_dtype:  # NumPy knows no NaN of it
            found, wanted = found.astype(np.float32), wanted.astype(np.float32)
        np.testing.assert_array_equal(found, wanted)


def numbers(dtype, *dims):
    made = RNG.standard_normal(dims) * 3
    made.reshape(-1)[: len(ODD)] = ODD
    return np.abs(made).astype(dtype)


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions_are_those_of_single_calls(name):
    names = [arg.name for arg in lookup(name).inputs]
    assert_same(name, **{each: numbers(np.float32, N // 64, 64) for each in names})


@pytest.mark.parametrize("dtype", [np.float64, np.float16, tf.bfloat16.as_numpy_dtype])
def test_special_functions_of_other_dtypes(dtype):
    assert_same("Spence", x=numbers(dtype, N))


def test_special_functions_of_scalars_beside_arrays():
    assert_same("Igamma", a=np.array(1.5, np.float32), x=numbers(np.float32, N))
    assert_same("Zeta", x=numbers(np.float64, 128, 1) + 1, q=numbers(np.float64, 128))


def ties(dtype, *dims):
    """Numbers of which many are equal; of floats some are none."""
    made = RNG.integers(-20, 20, dims).astype(dtype)
    if made.dtype.kind == "f":
        made[RNG.random(dims) < 0.1] = np.nan
        made[0], made[1] = np.nan, -np.inf
    return made


DTYPES = [np.float32, np.float64, np.int32, np.int64]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["ArgMax", "ArgMin"])
def test_positions(name, dtype):
    for width in (1, 7, 64, 129):
        assert_same(name, input=ties(dtype, N // width + 1, width), dimension=-1)
    assert_same(name, input=ties(dtype, 130, 130), dimension=0)
    assert_same(name, input=ties(dtype, 130, 130), dimension=1, output_type=tf.int32)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reverse", [False, True])
def test_elements_by_rank(dtype, reverse):
    for place in (0, 1, 77, 128):
        assert_same("NthElement", input=ties(dtype, 2, 65, 129), n=place, reverse=reverse)


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_the_largest_of_rows(dtype):
    for k in (0, 1, 5, 129):
        assert_same("TopKV2", input=ties(dtype, 130, 129), k=k)


def test_targets_among_the_largest():
    rows = ties(np.float32, 300, 64)
    targets = RNG.integers(-1, 66, 300).astype(np.int32)
    for k in (1, 10, 64):
        assert_same("InTopK", predictions=rows, targets=targets, k=k)
        assert_same("InTopKV2", predictions=rows, targets=targets, k=np.array(k, np.int32))


def test_an_axis_that_is_an_input():
    x = ties(np.float32, 130, 130)

    @tf.function
    def run(x, axis):
        return tf.argmax(x, axis)

    for axis in (0, 1, -1, 0, 1):
        np.testing.assert_array_equal(run(x, tf.constant(axis)), tf.argmax(x, axis))


def test_mapped_over_rows():
    x = ties(np.float32, 4, 130, 129)

    @tf.function
    def each(rows):
        return (
            tf.argmax(rows, -1),
            tf.math.top_k(rows, 3).values,
            tf.math.igammac(1.5, tf.abs(rows)),
        )

    found = tf.vectorized_map(each, tf.constant(x))
    for i, result in enumerate(found):
        wanted = np.stack([each(tf.constant(rows))[i] for rows in x])
        np.testing.assert_allclose(result, wanted, rtol=1e-5)
