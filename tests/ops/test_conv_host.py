"""Small convolutions on the host beside the compiled kernels, and what is left to those."""

import math

import numpy as np
import pytest

import penstock as tf
from penstock.core import eager, native_convolutions
from penstock.core.convert import convert_to_tensor
from penstock.core.kernels import select
from penstock.core.native_images import LIBRARY
from penstock.core.op_def import lookup
from penstock.core.prepared import prepare
from penstock.ops import nn_conv_host

pytestmark = pytest.mark.skipif(not LIBRARY.is_in_use(), reason="no native library here")

CASES = [  # image, filter, strides, padding, dilations: channels last
    ((1, 7, 7, 16), (3, 3, 16, 16), (1, 1), "SAME", (1, 1)),
    ((2, 5, 9, 3), (3, 2, 3, 10), (2, 1), "VALID", (1, 1)),
    ((1, 8, 6, 4), (3, 3, 4, 5), (1, 1), "SAME", (2, 3)),
    ((3, 6, 5, 6), (2, 2, 3, 4), (2, 2), "SAME", (1, 1)),  # two groups
    ((1, 5, 5, 6), (3, 3, 1, 12), (1, 2), "VALID", (1, 1)),  # six groups
    ((2, 4, 4, 2), (2, 3, 2, 21), (3, 2), [1, 2, 0, 3], (1, 1)),
    ((1, 6, 6, 2), (3, 3, 2, 1), (2, 2), [2, 1, 3, 0], (2, 2)),
    ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1), "VALID", (1, 1)),
    ((1, 4, 4, 3), (1, 1, 3, 7), (3, 3), "SAME", (1, 1)),
    ((1, 2, 3, 2), (5, 7, 2, 4), (1, 1), "SAME", (1, 1)),
    ((2, 3, 4, 5, 2), (2, 3, 1, 2, 9), (1, 1, 2), "SAME", (1, 1, 1)),
    ((1, 4, 4, 4, 8), (3, 3, 3, 8, 8), (1, 2, 1), "VALID", (1, 1, 1)),
    ((1, 5, 5, 5, 4), (2, 2, 2, 2, 6), (1, 1, 1), "SAME", (2, 1, 2)),
]
TOLERANCE = {"float32": 1e-5, "float64": 1e-12, "float16": 4e-3, "bfloat16": 3e-2, "int32": 0}


def attrs_of(strides, padding, dilations, first):
    layout = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[len(strides)][first]

    def per_axis(entries, each=1):
        rest = (1,) * each if each == 1 else (0,) * each
        return (*rest, *rest, *entries) if first else (*rest, *entries, *rest)

    attrs = {
        "strides": per_axis(strides),
        "dilations": per_axis(dilations),
        "data_format": layout,
        "padding": padding if isinstance(padding, str) else "EXPLICIT",
    }
    if not isinstance(padding, str):
        attrs["explicit_paddings"] = per_axis(padding, 2)
    return attrs


def both(name, inputs, attrs, monkeypatch):
    """What the host and what compiled code give; the host must have done its part natively."""
    tensors = [convert_to_tensor(x) for x in inputs]
    prepared = prepare(lookup(name), tensors, None, attrs, "CPU")
    used = []
    real = native_convolutions.convolve
    monkeypatch.setattr(nn_conv_host, "convolve", lambda *a: used.append(1) or real(*a))
    arrays = [np.asarray(t._array) for t in tensors]
    found = eager.run_prepared(prepared, arrays)[0]
    assert used == [1]
    assert type(found) is np.ndarray
    return found, np.asarray(eager.run_compiled(prepared, arrays)[0])


def same(name, inputs, attrs, dtype, monkeypatch):
    found, wanted = both(name, inputs, attrs, monkeypatch)
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    wanted = wanted.astype(np.float64)
    tolerance = TOLERANCE[dtype]
    largest = max(1.0, np.abs(wanted).max())
    np.testing.assert_allclose(found.astype(np.float64), wanted, 0, tolerance * largest)


def drawn(dtype, *shapes):
    rng = np.random.default_rng(3)
    if dtype == "int32":
        return [rng.integers(-(1 << 31), 1 << 31, s).astype(np.int32) for s in shapes]
    kind = tf.as_dtype(dtype).as_numpy_dtype
    return [rng.standard_normal(s).astype(kind) for s in shapes]


@pytest.mark.parametrize(
    ("case", "first", "dtype"),
    [
        *((case, number % 2 == 1, "float32") for number, case in enumerate(CASES)),
        (CASES[1], False, "float32"), (CASES[3], True, "float64"), (CASES[5], False, "float64"),
        (CASES[1], True, "float16"), (CASES[2], False, "bfloat16"), (CASES[1], False, "int32"),
        (CASES[6], True, "int32"),
    ],
    ids=str,
)  # fmt: skip
def test_the_host_gives_what_compiled_code_gives(case, first, dtype, monkeypatch):
    image, filters, strides, padding, dilations = case
    count = len(strides)
    kind = f"Conv{count}D"
    suffix = "V2" if count == 3 else ""
    attrs = attrs_of(strides, padding, dilations, first)
    x, w = drawn(dtype, image, filters)
    x = np.moveaxis(x, -1, 1) if first else x
    same(kind, (x, w), attrs, dtype, monkeypatch)
    out = eager.run_prepared(
        prepare(lookup(kind), [convert_to_tensor(v) for v in (x, w)], None, attrs, "CPU"), [x, w]
    )[0].shape
    (grad,) = drawn(dtype, out)
    sizes = np.array(x.shape, np.int32)
    same(f"{kind}BackpropInput{suffix}", (sizes, w, grad), attrs, dtype, monkeypatch)
    if dtype != "int32":
        shape = np.array(w.shape, np.int32)
        same(f"{kind}BackpropFilter{suffix}", (x, shape, grad), attrs, dtype, monkeypatch)


@pytest.mark.parametrize(
    ("image", "filters", "strides", "padding", "dilations", "first", "dtype"),
    [
        ((1, 7, 7, 16), (3, 3, 16, 1), (1, 1), "SAME", (1, 1), False, "float32"),
        ((2, 6, 5, 3), (2, 3, 3, 2), (2, 2), "VALID", (1, 1), True, "float64"),
        ((1, 6, 6, 5), (3, 2, 5, 4), (1, 1), "SAME", (2, 2), False, "float16"),
        ((1, 4, 4, 1), (2, 2, 1, 9), (1, 1), [1, 0, 0, 1], (1, 1), True, "float32"),
    ],
)
def test_depthwise(image, filters, strides, padding, dilations, first, dtype, monkeypatch):
    attrs = attrs_of(strides, padding, dilations, first)
    x, w = drawn(dtype, image, filters)
    x = np.moveaxis(x, -1, 1) if first else x
    name = "DepthwiseConv2dNative"
    same(name, (x, w), attrs, dtype, monkeypatch)
    grad_shape = both(name, (x, w), attrs, monkeypatch)[0].shape
    (grad,) = drawn(dtype, grad_shape)
    sizes, shape = np.array(x.shape, np.int32), np.array(w.shape, np.int32)
    same(f"{name}BackpropInput", (sizes, w, grad), attrs, dtype, monkeypatch)
    same(f"{name}BackpropFilter", (x, shape, grad), attrs, dtype, monkeypatch)


def test_spatial_sizes_alone(monkeypatch):
    w, grad = drawn("float32", (3, 3, 2, 4), (2, 5, 5, 4))
    attrs = attrs_of((1, 1), "SAME", (1, 1), False)
    sizes = np.array([5, 5], np.int32)
    same("Conv2DBackpropInput", (sizes, w, grad), attrs, "float32", monkeypatch)


@pytest.mark.parametrize(
    ("layout", "batch"), [("CHANNELS_LAST", 0), ("CHANNELS_FIRST", 1), ("CHANNELS_LAST", 2)]
)
def test_any_number_of_batch_axes(layout, batch, monkeypatch):
    inner = (5, 4, 3) if layout == "CHANNELS_LAST" else (3, 5, 4)
    x, w = drawn("float32", (2, 3)[:batch] + inner, (2, 3, 3, 6))
    attrs = {
        "strides": (1, 1, 1, 1), "padding": "SAME", "data_format": layout, "batch_dims": batch,
    }  # fmt: skip
    same("Conv", (x, w), attrs, "float32", monkeypatch)


def test_zeros_around_an_image_meet_all_of_the_filter(monkeypatch):
    """A filter's infinity gives NaN at the edges too, as it does in TensorFlow."""
    x, w = np.ones((1, 3, 3, 1), np.float32), np.zeros((3, 3, 1, 1), np.float32)
    w[0, 0] = np.inf
    attrs = attrs_of((1, 1), "SAME", (1, 1), False)
    found, wanted = both("Conv2D", (x, w), attrs, monkeypatch)
    np.testing.assert_array_equal(found, wanted)
    assert np.isnan(found[0, 0, 0, 0])


def test_nothing_flows_where_no_window_was(monkeypatch):
    """Pixels that windows skip get 0, whatever the filter holds."""
    w, grad = np.full((2, 2, 3, 4), np.nan, np.float32), np.ones((1, 2, 2, 4), np.float32)
    attrs = attrs_of((3, 3), "VALID", (1, 1), False)
    sizes = np.array([1, 6, 7, 3], np.int32)
    found, wanted = both("Conv2DBackpropInput", (sizes, w, grad), attrs, monkeypatch)
    np.testing.assert_array_equal(found, wanted)
    assert not found[0, 2].any()


@pytest.mark.parametrize(
    ("image", "filters", "attrs"),
    [
        ((1, 64, 64, 8), (5, 5, 8, 8), {}),  # many multiplications
        ((0, 4, 4, 2), (3, 3, 2, 2), {}),
        ((1, 0, 4, 2), (3, 3, 2, 2), {}),
        ((1, 4, 4, 2), (3, 3, 2, 0), {}),
        ((1, 2, 2, 2), (3, 3, 2, 2), {"padding": "VALID"}),  # no window
        # an image that is much larger with its zeros
        (
            (1, 2, 2, 1), (1, 1, 1, 1),
            {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 5000, 0, 5000, 0, 0, 0],
             "strides": (1, 5000, 5000, 1)},
        ),
    ],
)  # fmt: skip
def test_what_is_compiled_all_the_same(image, filters, attrs, monkeypatch):
    monkeypatch.setattr(nn_conv_host, "convolve", None)
    x, w = np.ones(image, np.float32), np.ones(filters, np.float32)
    given = {"strides": (1, 1, 1, 1), "padding": "SAME", **attrs}
    found = tf.raw_ops.Conv2D(input=x, filter=w, **given)
    assert math.prod(found.shape) == found.numpy().size
    again = tf.raw_ops.Conv2D(input=x, filter=w, **given)  # the short way does not take it either
    np.testing.assert_array_equal(found, again)


def test_without_the_library_it_is_compiled(monkeypatch):
    x, w = drawn("float32", (1, 4, 4, 2), (3, 3, 2, 2))
    found = tf.nn.conv2d(x, w, 1, "SAME")
    monkeypatch.setattr(nn_conv_host, "convolve", lambda *a: None)
    np.testing.assert_allclose(tf.nn.conv2d(x, w, 1, "SAME"), found, rtol=1e-5, atol=1e-6)


def test_plans_do_not_see_it():
    attrs = {"T": tf.float32}
    assert select("Conv2D", "host", "CPU", attrs) is None
    assert select("Conv2D", "host", "CPU", attrs, singly=True) is not None
