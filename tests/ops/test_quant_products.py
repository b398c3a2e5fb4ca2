"""Products and convolutions of quantised numbers against those of the numbers, in NumPy."""

import numpy as np
import pytest
from tests.ops.test_quant import IMAGE, IMAGE_INTS, quantised

import penstock as tf

r, v1 = tf.raw_ops, tf.compat.v1
RNG = np.random.default_rng(6)


# ---- products


@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 1, 1), (2, 300, 3), (0, 2, 3), (40, 64, 80)])
@pytest.mark.parametrize("kinds", [("i1", "i1"), ("u1", "i1"), ("i1", "u1"), ("u1", "u1")])
def test_products_of_bytes_are_exact(shape, kinds):
    n, k, m = shape
    a, b = (
        RNG.integers(np.iinfo(t).min, np.iinfo(t).max + 1, s).astype(t)
        for t, s in zip(kinds, ((n, k), (k, m)), strict=True)
    )
    wanted = a.astype(np.int64) @ b.astype(np.int64)
    a, b = tf.constant(a), tf.constant(b)
    got = tf.linalg.matmul(a, b, output_type=tf.int32)
    assert got.dtype is tf.int32
    np.testing.assert_array_equal(got, wanted)
    multiply = tf.function(
        lambda a, b: tf.linalg.matmul(a, b, output_type=tf.int32), jit_compile=True
    )
    np.testing.assert_array_equal(multiply(a, b), wanted)


def test_quantised_products_stand_for_products():
    (a, x), (b, y) = quantised("quint8", 3, 7), quantised("quint8", 7, 4, seed=2)
    got, low, high = r.QuantizedMatMul(a=a, b=b, min_a=-1.0, max_a=2.0, min_b=-3.0, max_b=3.0)
    numbers = (x * 3 / 255 - 1) @ (y * 6 / 255 - 3)
    step = (float(high) - float(low)) / 2**32
    np.testing.assert_allclose(got.numpy() * step, numbers, atol=0.5)  # zero points are rounded
    first = (x - 85) @ (y - 128)  # 1 / (3 / 255) = 85; 3 / (6 / 255) = 127.5
    np.testing.assert_array_equal(got, first)


def test_a_lower_end_below_zero_counts_in_fused_products():
    (a, x), (b, y) = quantised("quint8", 3, 7), quantised("qint8", 7, 4, seed=2)
    ranges = {"min_a": -1.0, "max_a": 2.0, "min_b": -1.0, "max_b": 1.0}
    bias = np.float32([0.5, -0.25, 0, 1])
    got = r.QuantizedMatMulWithBiasAndDequantize(
        a=a, b=b, bias=bias, **ranges, min_freezed_output=0.0, max_freezed_output=1.0,
        Toutput=tf.float32,
    )  # fmt: skip
    numbers = (x * 3 / 255 - 1) @ (y / 127) + bias
    np.testing.assert_allclose(got, numbers, rtol=1e-5, atol=1e-5)
    scaled = r.QuantizedMatMulWithBias(a=a, b=b, bias=bias, **ranges, input_quant_mode="SCALED")
    np.testing.assert_allclose(scaled.out, x @ y + bias * 255 * 127 / 3, atol=0.51)


def test_ranges_of_each_column_in_fused_products():
    (a, x), (b, y) = quantised("quint8", 2, 3), quantised("qint8", 3, 2, seed=2)
    got, low, high = r.QuantizedMatMulWithBias(
        a=a, b=b, bias=[0.0, 0.0], min_a=0.0, max_a=1.0, min_b=[-1.0, -2.0], max_b=[1.0, 2.0],
        input_quant_mode="SCALED",
    )  # fmt: skip
    np.testing.assert_array_equal(got, x @ y)
    np.testing.assert_allclose(high.numpy() / 2**31, np.array([1, 2]) / 255 / 127, rtol=1e-6)
    np.testing.assert_allclose(low, -high.numpy(), rtol=1e-6)


# ---- convolutions


def convolution(x, w, stride):
    """VALID, [B, H, W, C] and [h, w, in, out], by definition."""
    high, wide = w.shape[:2]
    rows = range(0, x.shape[1] - high + 1, stride)
    columns = range(0, x.shape[2] - wide + 1, stride)
    out = np.zeros((x.shape[0], len(rows), len(columns), w.shape[3]))
    for i, top in enumerate(rows):
        for j, left in enumerate(columns):
            seen = x[:, top : top + high, left : left + wide]
            out[:, i, j] = np.tensordot(seen, w, axes=([1, 2, 3], [0, 1, 2]))
    return out


FILTER, FILTER_INTS = quantised("qint8", 2, 3, 3, 4, seed=2)
PLACE = {"strides": [1, 2, 2, 1], "padding": "VALID"}
INPUT = {"input": IMAGE, "filter": FILTER, "min_input": 0.0, "max_input": 2.0}
FROZEN = {"min_freezed_output": 0.0, "max_freezed_output": 10.0}
BIAS = np.float32([0.5, -0.25, 0.1, 1.0])
NUMBERS = convolution(IMAGE_INTS * 2 / 255, FILTER_INTS * 1.5 / 127, 2)


def test_a_range_of_each_channel():
    low, high = np.float32([-1, -2, -0.5, -1]), np.float32([1, 1, 0.5, 3])
    got, least, most = r.QuantizedConv2DPerChannel(
        **INPUT, min_filter=low, max_filter=high, **PLACE
    )
    np.testing.assert_array_equal(got, convolution(IMAGE_INTS, FILTER_INTS, 2))
    levels = 2 / 255 * (high - low) / 254
    np.testing.assert_allclose(most.numpy() / 2**31, levels, rtol=1e-6)
    np.testing.assert_allclose(least.numpy(), -(2**31) * levels, rtol=1e-6)
    requantised = r.RequantizePerChannel(
        input=got, input_min=least, input_max=most, requested_output_min=0.0,
        requested_output_max=8.0, out_type=tf.quint8,
    )  # fmt: skip
    numbers = convolution(IMAGE_INTS, FILTER_INTS, 2) * levels
    np.testing.assert_allclose(
        requantised.output, np.clip(np.round(numbers * 255 / 8), 0, 255), atol=1
    )


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("wide_bias", [False, True])
def test_summands_of_8_bits(signed, wide_bias):
    name = "qint8" if signed else "quint8"
    summand, ints = quantised(name, *NUMBERS.shape, seed=3)
    ranges = {"min_filter": -1.5, "max_filter": 1.5, "min_summand": -3.0, "max_summand": 3.0}
    op = r.QuantizedConv2DWithBiasSumAndReluAndRequantize
    op = r.QuantizedConv2DWithBiasSignedSumAndReluAndRequantize if signed else op
    steps = 2 / 255 * 1.5 / 127
    bias = tf.constant(np.round(BIAS / steps).astype("i4"), tf.qint32) if wide_bias else BIAS
    got, low, high = op(**INPUT, **ranges, **PLACE, **FROZEN, bias=bias, summand=summand)
    total = NUMBERS + BIAS + ints * 3.0 / (127 if signed else 255)
    np.testing.assert_allclose(got, np.clip(np.round(total * 255 / 10), 0, 255), atol=1)
    assert (float(low), float(high)) == (0.0, 10.0)


def test_a_summand_of_floats():
    summand = RNG.normal(size=NUMBERS.shape).astype(np.float32)
    got, _, high = r.QuantizedConv2DWithBiasSumAndRelu(
        **INPUT, min_filter=-1.5, max_filter=1.5, **PLACE, bias=BIAS, summand=summand
    )
    wanted = np.maximum(NUMBERS + BIAS + summand, 0)
    np.testing.assert_allclose(got.numpy() * (float(high) / 2**31), wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_a_quantised_convolution_stands_for_one(padding):
    weights, ints = quantised("quint8", 3, 3, 3, 2, seed=4)
    got, low, high = v1.nn.quantized_conv2d(
        IMAGE, weights, -1.0, 2.0, -1.0, 1.5, [1, 1, 1, 1], padding, dilations=[1, 2, 1, 1]
    )
    floats = tf.nn.conv2d(
        (IMAGE_INTS * 3 / 255 - 1).astype("f4"), (ints * 2.5 / 255 - 1).astype("f4"), 1, padding,
        dilations=[2, 1],
    )  # fmt: skip
    step = (float(high) - float(low)) / 2**32
    np.testing.assert_allclose(got.numpy() * step, floats, atol=27 * 0.02)


def test_pads_for_each_side_are_eight_numbers():
    ends = {"min_filter": 0.0, "max_filter": 1.0}
    place = {"strides": [1, 1, 1, 1], "padding": "VALID", "padding_list": [1, 2]}
    with pytest.raises(tf.errors.InvalidArgumentError, match="8 entries"):
        r.QuantizedConv2DAndRelu(**INPUT, **ends, **place)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="8 entries"):
        r.QuantizedConv2DAndRelu(**INPUT, **ends, **place)
