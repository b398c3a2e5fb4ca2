"""Tables and numbers that small quantised calls keep, beside the functions that they come from."""

import numpy as np
import pytest
from tests.ops.harness import run_compiled_like

import penstock as tf
from penstock.core.op_def import lookup
from penstock.ops import math_int_matmul, quant_host, quant_levels, quant_products
from penstock.types import dtypes as dt

r = tf.raw_ops
ENDS = [(0.0, 1.0), (-0.0, 1.0), (-1.5, 2.0), (3.0, 4.0), (0.0, 0.0), (-1e30, 1e30)]
ODD = [(np.nan, 1.0), (-np.inf, np.inf), (0.0, np.inf), (1.0, -1.0)]


def scalars(*values):
    return [np.array(value, np.float32) for value in values]


@pytest.mark.parametrize("ends", ENDS + ODD)
@pytest.mark.parametrize("dtype", [dt.quint8, dt.qint8])
def test_tables_hold_what_the_functions_give(ends, dtype):
    low, high = scalars(*ends)
    x = np.random.default_rng(1).integers(0, 256, (3, 5)).astype(np.uint8).view(dtype.numpy_dtype)
    with np.errstate(all="ignore"):
        for each in (x, x[:0], x[0, 0].reshape(())):
            got = quant_host.floats_of_bytes(np, each, low, high, dtype)
            np.testing.assert_array_equal(got, quant_levels.to_floats(np, each, low, high, dtype))
        zero = quant_host.known_zero_point(quant_host.key(low, high), dtype)
        steps = quant_levels.to_steps(np, np.zeros(1, np.float32), low, high, dtype)
        assert zero == steps.astype(np.int32)[0]


def test_ranges_are_known_by_their_bits():
    first, second = quant_host.key(*scalars(0.0)), quant_host.key(*scalars(-0.0))
    assert first != second
    assert quant_host.key(*scalars(np.nan)) == quant_host.key(*scalars(np.nan))
    assert np.signbit(quant_host.ends_of(second)[0])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_halves_go_away_from_zero_and_their_neighbours_do_not(kind):
    half = kind(0.5)
    below, above = np.nextafter(half, kind(0)), np.nextafter(half, kind(1))
    large = kind(2) ** (np.finfo(kind).nmant - 1)
    whole = [0.0, -0.0, 1.5, 2.5, np.inf, large + half, large + 1, 2 * large + 1]
    x = np.array([half, below, above, *whole], kind)
    wanted = np.array([1, 0, 1, 0, 0, 2, 3, np.inf, large + 1, large + 1, 2 * large + 1], kind)
    for sign in (kind(1), kind(-1)):
        got = quant_levels.half_away(np, sign * x)
        np.testing.assert_array_equal(got, sign * wanted)
        assert not np.signbit(got[got == 0]).any()
    assert np.isnan(quant_levels.half_away(np, np.array([np.nan], kind))).all()


def test_pads_and_windows_are_those_of_numpy():
    x = np.arange(24.0).reshape(1, 4, 6)
    pads = ((0, 0), (1, 2), (0, 3))
    padded = quant_host.padded(x, pads, 9)
    np.testing.assert_array_equal(padded, np.pad(x, pads, constant_values=9))
    turned = quant_host.padded(x.swapaxes(1, 2), ((0, 0),) * 3, 0)
    assert turned.flags.c_contiguous
    view = quant_host.window_view(x, (1, 2, 2), (1, 2, 2), (1, 2, 3), (1, 1, 2))
    assert view.shape == (1, 2, 2, 1, 2, 2)
    np.testing.assert_array_equal(view[0, 1, 1, 0], x[0, 2:4, 3:6:2])


# ---- products


@pytest.mark.parametrize("shape", [(300, 144, 32), (1, 4000, 200), (3, 0, 2), (0, 5, 2), (4, 5, 0)])
def test_products_in_blocks_of_rows_are_the_product(shape):
    n, k, m = shape
    rng = np.random.default_rng(2)
    a, b = rng.integers(-255, 256, (n, k)), rng.integers(-255, 256, (k, m))
    got = math_int_matmul.product_of_whole(a.astype(np.float64), b.astype(np.float64))
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, a @ b)


@pytest.mark.parametrize("zeros", [(3, 128), (-(2**20), 2**20), (-(2**31), 2**31 - 1)])
def test_zero_points_of_any_size_wrap_around(zeros):
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 256, (3, 7)), rng.integers(0, 256, (7, 2))
    given = [np.int32(zero) for zero in zeros]
    with np.errstate(over="ignore"):
        got = quant_products.product_less_zeros(np, a.astype(np.uint8), b.astype(np.uint8), given)
    wanted = (a.astype(object) - zeros[0]) @ (b.astype(object) - zeros[1])
    wrapped = (wanted + 2**31) % 2**32 - 2**31
    np.testing.assert_array_equal(got, wrapped.astype(np.int32))


# ---- whole operations


@pytest.mark.parametrize("ends", ENDS[:4])
@pytest.mark.parametrize("other", ENDS[:4])
def test_host_and_compiled_kernels_give_the_same(ends, other):
    rng = np.random.default_rng(4)
    numbers = rng.integers(0, 256, (2, 40)).astype(np.uint8)
    x, y = [tf.bitcast(tf.constant(each), tf.quint8) for each in numbers]
    bounds = [tf.constant(each) for each in scalars(*ends, *other)]
    attrs = {"T1": tf.quint8, "T2": tf.quint8, "Toutput": tf.qint32}
    for name in ("QuantizedAdd", "QuantizedMul"):
        names = ("min_x", "max_x", "min_y", "max_y")
        host = getattr(r, name)(x=x, y=y, **dict(zip(names, bounds, strict=True)))
        compiled = run_compiled_like(lookup(name), [x, y, *bounds], attrs)
        np.testing.assert_array_equal(host[0].numpy(), np.asarray(compiled[0]))
        np.testing.assert_allclose(host[1:], compiled[1:], rtol=1e-6)  # XLA divides by constants


def test_the_third_version_rounds_in_the_precision_of_its_input():
    x = np.random.default_rng(5).normal(size=100).astype(np.float32)
    for bits in (4, 16, 24):
        given = {"input": x, "input_min": -1.3, "input_max": 1.7, "range_given": True}
        third = r.QuantizeAndDequantizeV3(num_bits=bits, **given)
        second = r.QuantizeAndDequantizeV2(num_bits=bits, **given)
        np.testing.assert_array_equal(third.numpy(), second.numpy())


def test_depthwise_convolutions_of_no_images():
    filters = tf.bitcast(tf.zeros([2, 2, 3, 2], tf.int8), tf.qint8)
    out, _, _ = r.QuantizedDepthwiseConv2D(
        input=tf.bitcast(tf.zeros([0, 4, 4, 3], tf.uint8), tf.quint8), filter=filters,
        min_input=0.0, max_input=1.0, min_filter=-1.0, max_filter=1.0,
        strides=[1, 1, 1, 1], padding="VALID",
    )  # fmt: skip
    assert out.shape == (0, 3, 3, 6)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("kind", ["quint8", "qint8"])
def test_pools_see_what_lies_within_the_image(padding, kind):
    whole = np.random.default_rng(6).integers(0, 256, (2, 5, 6, 3)).astype(np.uint8)
    whole = whole.view(np.int8) if kind == "qint8" else whole
    x = tf.bitcast(tf.constant(whole), getattr(tf, kind))
    given = {"ksize": [1, 3, 2, 1], "strides": [1, 2, 2, 1], "padding": padding}
    most, _, _ = r.QuantizedMaxPool(input=x, min_input=0.0, max_input=1.0, **given)
    wanted = tf.nn.max_pool2d(whole.astype(np.float32), [3, 2], [2, 2], padding)
    np.testing.assert_array_equal(most.numpy().astype(np.float32), wanted.numpy())
    mean, _, _ = r.QuantizedAvgPool(input=x, min_input=0.0, max_input=1.0, **given)
    wanted = tf.nn.avg_pool2d(whole.astype(np.float64), [3, 2], [2, 2], padding)
    np.testing.assert_array_equal(mean.numpy(), np.rint(wanted.numpy()).astype(whole.dtype))
