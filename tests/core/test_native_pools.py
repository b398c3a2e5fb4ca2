"""Pooling by sliding windows with the native library: the same bit for bit as without it."""

import itertools

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_pools
from penstock.core.native_images import LIBRARY

RNG = np.random.default_rng(7)
TYPES = ("float32", "float64", "int32", "int64", "uint8", "int16", "int8", "uint16")
WINDOWS = [
    {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"},
    {"ksize": [1, 3, 2, 1], "strides": [1, 1, 2, 1], "padding": "SAME"},
    {"ksize": [1, 3, 3, 1], "strides": [1, 2, 1, 1], "padding": "VALID"},
    {"ksize": [1, 1, 1, 1], "strides": [1, 3, 4, 1], "padding": "VALID"},
]
SHAPES = [(2, 5, 7, 3), (1, 3, 3, 40), (0, 4, 4, 2), (3, 4, 4, 0), (1, 1, 2, 1)]
SIZES_3D = {"ksize": [1, 2, 3, 2, 1], "strides": [1, 2, 1, 2, 1], "padding": "SAME"}


@pytest.fixture(autouse=True)
def needs_the_library():
    if not LIBRARY.is_in_use():
        pytest.skip("no native work on images here")


def numbers(dtype, *shape):
    """Few different numbers, so that largest elements are met twice."""
    found = RNG.integers(0, 6, shape).astype(dtype)
    return found - np.array(3, dtype) if np.dtype(dtype).kind == "f" else found


def run(name, given):
    given = {n: tf.constant(v) if isinstance(v, np.ndarray) else v for n, v in given.items()}
    try:
        found = getattr(tf.raw_ops, name)(**given)
    except tf.errors.OpError as problem:
        return type(problem).__name__
    return [each.numpy() for each in (found if isinstance(found, (list, tuple)) else [found])]


def assert_same(name, **given):
    """The results, which are the same with and without the library."""
    found = run(name, given)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
        wanted = run(name, given)
    if isinstance(wanted, str):
        assert found == wanted
        return None
    for one, other in zip(found, wanted, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(one, other)
    return found


def windows_of(x, ksize, strides, padding):
    """For each window and channel: its place among windows, and the places of its elements."""
    shape, same = x.shape, padding == "SAME"
    counts, before = [], []
    for size, k, step in zip(shape, ksize, strides, strict=True):
        count = -(-size // step) if same else max((size - k) // step + 1, 0)
        counts.append(count)
        before.append(max((count - 1) * step + k - size, 0) // 2 if same else 0)
    found = []
    for at in np.ndindex(*counts):
        starts = [i * step - b for i, step, b in zip(at, strides, before, strict=True)]
        places = [
            tuple(a + b for a, b in zip(starts, each, strict=True)) for each in np.ndindex(*ksize)
        ]
        inside = [p for p in places if all(0 <= i < n for i, n in zip(p, shape, strict=True))]
        found.append((at, inside))
    return counts, found


@pytest.mark.parametrize("dtype", TYPES)
def test_largest_elements(dtype):
    for shape, window in itertools.product(SHAPES, WINDOWS):
        x = numbers(dtype, *shape)
        counts, windows = windows_of(x, **window)
        (y,) = run("MaxPool", {"input": x, **window})
        assert (y.dtype, list(y.shape)) == (x.dtype, counts)
        grads, seconds = numbers(dtype, *counts), numbers(dtype, *shape)
        given = {"orig_input": x, "orig_output": y, **window}
        (back,) = run("MaxPoolGrad", {**given, "grad": grads})
        (again,) = run("MaxPoolGradGrad", {**given, "grad": seconds})
        _, places = run("MaxPoolWithArgmax", {"input": x, **window})
        whole = {"input": x, "include_batch_in_index": True, **window}
        largest, through_all = run("MaxPoolWithArgmax", whole)
        np.testing.assert_array_equal(largest, y)
        wanted = np.zeros_like(x)
        for at, inside in windows:
            first = max(inside, key=lambda place: x[place])
            wanted[first] += grads[at]
            assert y[at] == x[first]
            assert again[at] == seconds[first]
            assert through_all[at] == np.ravel_multi_index(first, shape)
            assert places[at] == np.ravel_multi_index((0, *first[1:]), shape)
        np.testing.assert_array_equal(back, wanted)
        (scattered,) = run("MaxPoolGradWithArgmax", {**whole, "grad": grads, "argmax": through_all})
        np.testing.assert_array_equal(scattered, wanted)


def test_no_windows():
    x, window = np.zeros((1, 1, 2, 1), np.float32), WINDOWS[2]
    y, places = assert_same("MaxPoolWithArgmax", input=x, **window)
    assert y.shape == places.shape == (1, 0, 0, 1)
    assert_same("MaxPoolGrad", orig_input=x, orig_output=y, grad=y, **window)
    assert_same("AvgPool", value=x, **window)


def test_nan_and_infinite_elements():
    x = RNG.choice([np.nan, -np.inf, np.inf, 1.0, -2.0], (2, 6, 6, 3)).astype(np.float32)
    for window in WINDOWS[2:3]:  # where padding is lowest too, the compiled kernel may choose it
        (y,) = assert_same("MaxPool", input=x, **window)
        assert_same(
            "MaxPoolGrad", orig_input=x, orig_output=y, grad=numbers("f4", *y.shape), **window
        )
        assert_same("MaxPoolWithArgmax", input=x, **window)
        assert_same("AvgPool", value=x, **window)


def test_channels_first_windows_of_channels_and_explicit_padding():
    x = numbers("float32", 2, 4, 6, 5)
    deep = {"ksize": [1, 1, 1, 5], "strides": [1, 1, 1, 5], "padding": "VALID"}
    first = {"ksize": [1, 1, 2, 3], "strides": [1, 1, 2, 1], "padding": "SAME"}
    pads = {
        "ksize": [1, 2, 2, 1],
        "strides": [1, 2, 2, 1],
        "padding": "EXPLICIT",
        "explicit_paddings": [0, 0, 1, 0, 0, 1, 0, 0],
    }
    for given in (deep, {**first, "data_format": "NCHW"}, pads):
        (y,) = assert_same("MaxPool", input=x, **given)
        grads = numbers("float32", *y.shape)
        assert_same("MaxPoolGrad", orig_input=x, orig_output=y, grad=grads, **given)
    assert_same("MaxPoolV2", input=x, **first)
    assert_same("AvgPool", value=x, **first, data_format="NCHW")


def test_three_axes():
    x = numbers("float32", 2, 3, 4, 5, 3)
    for layout in ("NDHWC", "NCDHW"):
        given = {**SIZES_3D, "data_format": layout}
        if layout == "NCDHW":
            given = {**given, "ksize": [1, 1, 2, 3, 2], "strides": [1, 1, 2, 1, 2]}
        (y,) = assert_same("MaxPool3D", input=x, **given)
        grads = numbers("float32", *y.shape)
        assert_same("MaxPool3DGrad", orig_input=x, orig_output=y, grad=grads, **given)
        assert_same("MaxPool3DGradGrad", orig_input=x, orig_output=y, grad=x, **given)
        assert_same("AvgPool3D", input=x, **given)
        assert_same("AvgPool3DGrad", orig_input_shape=x.shape, grad=grads, **given)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_means(dtype):
    for shape, window in itertools.product(SHAPES, WINDOWS):
        x = RNG.normal(size=shape).astype(dtype)
        counts, windows = windows_of(x, **window)
        (y,) = run("AvgPool", {"value": x, **window})
        assert (y.dtype, list(y.shape)) == (x.dtype, counts)
        grads, wanted = RNG.normal(size=counts).astype(dtype), np.zeros_like(x)
        (back,) = run("AvgPoolGrad", {"orig_input_shape": shape, "grad": grads, **window})
        for at, inside in windows:
            np.testing.assert_allclose(y[at], np.mean([x[p] for p in inside]), rtol=1e-5, atol=1e-6)
            for place in inside:
                wanted[place] += grads[at] / len(inside)
        np.testing.assert_allclose(back, wanted, rtol=1e-5, atol=1e-6)


def test_indices_outside_are_left_out():
    x, window = np.zeros((2, 2, 2, 1), np.float32), WINDOWS[0]
    for argmax in ([7, -1], [4, 99], [-99, -9]):
        found = assert_same(
            "MaxPoolGradWithArgmax",
            input=x,
            grad=np.ones((2, 1, 1, 1), np.float32),
            argmax=np.reshape(np.array(argmax, np.int64), (2, 1, 1, 1)),
            **window,
        )
        assert found is not None


def test_what_functions_return_is_looked_at(monkeypatch):
    x = np.zeros((1, 2, 2, 1), np.float32)
    sizes = native_pools.sizes_of(x.shape, (1, 1, 1, 1), (1, 2, 2, 1), (1, 2, 2, 1), (0, 0, 0, 0))
    calls = (
        lambda: native_pools.slide(native_pools.LARGEST, x, None, None, sizes, x[:, :1, :1].copy()),
        lambda: native_pools.to_places(x, np.zeros(x.shape, np.int64), x.shape, True),
    )
    for call in calls:
        assert call() is not None
        monkeypatch.setattr(LIBRARY, "function", lambda _: lambda *given: -3)
        with pytest.raises(MemoryError, match="there is no memory left"):
            call()
        monkeypatch.setattr(LIBRARY, "function", lambda _: None)
        assert call() is None
        monkeypatch.undo()


def run_in_a_graph(op_name, *arrays, **attrs):
    """What an operation gives in a graph that knows no shapes."""
    names = ("orig_input", "orig_output", "grad")
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        inputs = [v1.placeholder_with_default(a, None) for a in arrays]
        given = dict(zip(names, inputs, strict=True))
        return session.run(getattr(tf.raw_ops, op_name)(**given, **attrs))


@pytest.mark.parametrize("native", ["1", "0"])
@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (1, 2, 3, 1), (2, 2)])
@pytest.mark.parametrize("op_name", ["MaxPoolGrad", "MaxPoolGradV2", "MaxPoolGradGrad"])
def test_gradients_in_graphs_refuse_other_shapes(op_name, shape, native, monkeypatch):
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", native)
    x, y, wrong = (np.ones(s, np.float32) for s in ((1, 4, 4, 1), (1, 2, 2, 1), shape))
    attrs = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
    grad = x if op_name == "MaxPoolGradGrad" else y
    assert run_in_a_graph(op_name, x, y, grad, **attrs).size in (4, 16)
    for given in ((x, wrong, grad), (x, y, wrong)):
        with pytest.raises(tf.errors.InvalidArgumentError, match=op_name):
            run_in_a_graph(op_name, *given, **attrs)


@pytest.mark.parametrize("native", ["1", "0"])
def test_gradients_of_means_in_graphs_refuse_other_shapes(native, monkeypatch):
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", native)
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        grad = v1.placeholder_with_default(np.ones((1, 1, 1, 1), np.float32), None)
        given = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
        op = tf.raw_ops.AvgPoolGrad(orig_input_shape=[1, 4, 4, 1], grad=grad, **given)
        with pytest.raises(tf.errors.InvalidArgumentError, match="AvgPoolGrad: expected"):
            session.run(op)
