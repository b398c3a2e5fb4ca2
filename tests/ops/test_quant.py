"""Quantised operations against what their documentation says, in NumPy; dtypes, modes, errors."""

import numpy as np
import pytest

import penstock as tf
from penstock import proto

r, q, v1 = tf.raw_ops, tf.quantization, tf.compat.v1
RNG = np.random.default_rng(5)
X = RNG.uniform(-2, 3, (4, 5)).astype(np.float32)
QUANTIZED = ["quint8", "qint8", "quint16", "qint16", "qint32"]


def limits(name):
    info = np.iinfo(getattr(tf, name).as_numpy_dtype.fields[name][0])
    return int(info.min), int(info.max)


def quantised(name, *shape, seed=1):
    low, high = limits(name)
    drawn = np.random.default_rng(seed).integers(low, high + 1, shape)
    numpy_dtype = {"quint8": np.uint8, "qint8": np.int8, "qint32": np.int32}[name]
    return tf.constant(drawn.astype(numpy_dtype), getattr(tf, name)), drawn.astype(np.int64)


# ---- the dtypes as tensors


@pytest.mark.parametrize("name", QUANTIZED)
def test_quantised_tensors_are_arrays_of_their_integers(name):
    dtype = getattr(tf, name)
    numbers = np.array([0, 1, 100], limits_dtype(name))
    tensor = tf.constant(numbers, dtype)
    assert tensor.dtype is dtype
    assert tensor.numpy().dtype == numbers.dtype
    np.testing.assert_array_equal(tensor.numpy(), numbers)
    assert str(tensor) == f"tf.Tensor([  0   1 100], shape=(3,), dtype={name})"
    plain = tf.bitcast(tensor, numbers.dtype.type)
    assert plain.dtype == tf.as_dtype(numbers.dtype)
    assert tf.bitcast(plain, dtype).dtype is dtype
    assert tf.cast(tensor, tf.float32).numpy().tolist() == [0, 1, 100]
    assert tf.concat([tensor, tensor], 0).dtype is dtype
    assert tensor[1].dtype is dtype
    assert tf.reshape(tensor, [3, 1]).shape == (3, 1)


def limits_dtype(name):
    return {"quint8": "u1", "qint8": "i1", "quint16": "u2", "qint16": "i2", "qint32": "i4"}[name]


@pytest.mark.parametrize("name", QUANTIZED)
def test_quantised_tensors_are_fed_and_fetched(name):
    numbers = np.array([[0, 1], [2, 100]], limits_dtype(name))
    with tf.Graph().as_default():
        given = v1.placeholder(getattr(tf, name), [None, 2])
        same, plain = tf.identity(given), tf.bitcast(given, numbers.dtype.type)
        with v1.Session() as session:
            fetched = session.run([same, plain], {given: numbers})
            from_lists = session.run(same, {given: numbers.tolist()})
    for array in (*fetched, from_lists):
        assert array.dtype == numbers.dtype
        np.testing.assert_array_equal(array, numbers)


# ---- to integers and back


@pytest.mark.parametrize("name", ["quint8", "qint8", "qint16", "quint16"])
def test_min_combined_is_a_line_from_end_to_end(name):
    low, high = limits(name)
    got, least, most = q.quantize(X, -2.5, 3.5, getattr(tf, name), ensure_minimum_range=0.0)
    share = (X.astype(float) + 2.5) / 6.0 * (high - low)
    np.testing.assert_allclose(got.numpy(), np.round(share) + low, atol=1)
    back = q.dequantize(got, least, most)
    np.testing.assert_allclose(back, X, atol=6.0 / (high - low))


@pytest.mark.parametrize("name", ["quint8", "qint8", "qint16"])
def test_min_first_keeps_zero(name):
    got, least, most = q.quantize([0.0], -1.234, 3.456, getattr(tf, name), mode="MIN_FIRST")
    back = q.dequantize(got, least, most, mode="MIN_FIRST")
    assert abs(float(back[0])) < 1e-6


def test_scaled_moves_the_shorter_side():
    got, least, most = q.quantize([-10.0, 9.0, 0.0], -10.0, 9.0, tf.qint8, mode="SCALED")
    assert got.numpy().tolist() == [-128, 115, 0]
    assert (float(least), float(most)) == (-10.0, 9.921875)
    back = q.dequantize(got, least, most, mode="SCALED")
    np.testing.assert_allclose(back, [-10.0, 8.984375, 0.0])


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_each_slice_has_a_range(axis):
    count = X.shape[axis]
    low, high = -np.arange(1, count + 1, dtype=np.float32), np.arange(2, count + 2, dtype="f4")
    got, least, most = q.quantize(X, low, high, tf.quint8, axis=axis)
    back = q.dequantize(got, least, most, axis=axis)
    for i in range(count):
        alone = q.quantize(X.take(i, axis), low[i], high[i], tf.quint8)
        np.testing.assert_array_equal(got.numpy().take(i, axis), alone.output)
        np.testing.assert_array_equal(
            back.numpy().take(i, axis), q.dequantize(alone.output, low[i], high[i])
        )


def rounded(x, low, high, signed, bits, narrow):
    least, most = (-(2 ** (bits - 1)) + narrow, 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    scales = [n / e for n, e in ((least, low), (most, high)) if n * e > 0]
    scale = min(scales)
    return np.round(np.clip(x.astype(float), least / scale, most / scale) * scale) / scale


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize(("signed", "narrow"), [(True, False), (True, True), (False, False)])
def test_rounding_to_a_few_bits(dtype, signed, narrow):
    x = tf.cast(X, dtype)
    got = q.quantize_and_dequantize_v2(
        x, -1.5, 2.0, signed_input=signed, num_bits=5, range_given=True, narrow_range=narrow
    )
    wanted = rounded(x.numpy(), -1.5, 2.0, signed, 5, narrow)
    assert got.dtype == x.dtype
    step = 2.0 / 15 if dtype in ("float16", "bfloat16") else 1e-6  # halves may go the other way
    np.testing.assert_allclose(got.numpy().astype(float), wanted, atol=step + 0.01)


def test_a_range_of_each_slice_for_rounding():
    low, high = -np.arange(1, 6, dtype=np.float32), np.arange(2, 7, dtype=np.float32)
    got = q.quantize_and_dequantize_v2(X, low, high, range_given=True, axis=1)
    for i in range(5):
        wanted = rounded(X[:, i], low[i], high[i], True, 8, False)
        np.testing.assert_allclose(got[:, i], wanted, atol=1e-6)
    found = q.quantize_and_dequantize_v2(X, low, high, axis=-1)
    for i in range(5):
        column = X[:, i]
        np.testing.assert_allclose(
            found[:, i], rounded(column, column.min(), column.max(), True, 8, False), atol=1e-6
        )


@pytest.mark.parametrize("in_function", [False, True])
def test_derivatives_of_rounding(in_function):
    weights = np.arange(20, dtype=np.float32).reshape(4, 5)

    def slopes(function):
        x, low, high = tf.constant(X), tf.constant(-1.0), tf.constant(1.5)
        with tf.GradientTape() as tape:
            tape.watch([x, low, high])
            total = tf.reduce_sum(function(x, low, high) * weights)
        return tape.gradient(total, [x, low, high])

    run = tf.function(slopes) if in_function else slopes
    straight = run(lambda x, a, b: q.quantize_and_dequantize(x, a, b, range_given=True))
    np.testing.assert_array_equal(straight[0], weights)
    assert straight[1:] == [None, None]
    inside = run(lambda x, a, b: q.quantize_and_dequantize_v2(x, a, b, range_given=True))
    np.testing.assert_array_equal(inside[0], np.where((X >= -1) & (X <= 1.5), weights, 0))
    assert float(inside[1]) == float(inside[2]) == 0
    bits = run(lambda x, a, b: r.QuantizeAndDequantizeV3(
        input=x, input_min=a, input_max=b, num_bits=8))  # fmt: skip
    np.testing.assert_array_equal(bits[0], weights)


def test_the_first_version_has_its_range_as_attributes():
    wanted = q.quantize_and_dequantize(X, -1.0, 2.0, range_given=True)
    got = r.QuantizeAndDequantize(input=X, range_given=True, input_min=-1.0, input_max=2.0)
    np.testing.assert_array_equal(got, wanted)
    with tf.GradientTape() as tape:
        x = tf.constant(X)
        tape.watch(x)
        y = r.QuantizeAndDequantize(input=x)
    np.testing.assert_array_equal(tape.gradient(y, x), np.ones_like(X))


IMAGE, IMAGE_INTS = quantised("quint8", 2, 5, 6, 3)


# ---- public functions and errors


def test_results_are_named_tuples():
    whole = q.quantize(X, -2.0, 3.0, tf.quint8)
    assert type(whole).__name__ == "QuantizeV2"
    assert whole._fields == ("output", "output_min", "output_max")
    other = v1.quantize_v2(X, -2.0, 3.0, tf.quint8, "MIN_COMBINED", None, "HALF_AWAY_FROM_ZERO")
    np.testing.assert_array_equal(other.output, whole.output)
    joined = q.quantized_concat(0, [whole.output, whole.output], [-2.0, 0.0], [3.0, 6.0])
    assert joined._fields == whole._fields
    assert (float(joined.output_min), float(joined.output_max)) == (-2.0, 6.0)
    assert joined.output.shape == (8, 5)
    pooled = v1.nn.quantized_max_pool(IMAGE, 0.0, 1.0, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    assert pooled.output.shape == (2, 2, 3, 3)
    mean = v1.nn.quantized_avg_pool(IMAGE, 0.0, 1.0, [1, 5, 6, 1], [1, 1, 1, 1], "VALID")
    np.testing.assert_array_equal(
        mean.output, np.round(IMAGE_INTS.mean(axis=(1, 2), keepdims=True))
    )


def test_an_operation_without_kernel():
    """QuantizedReluX is in no TensorFlow build either."""
    with pytest.raises(tf.errors.NotFoundError, match="QuantizedReluX"):
        v1.nn.quantized_relu_x(IMAGE, 6.0, 0.0, 1.0)
    with tf.Graph().as_default():
        built = v1.nn.quantized_relu_x(IMAGE, 6.0, 0.0, 1.0)
        assert built.activations.dtype is tf.quint8
        assert built.activations.shape == IMAGE.shape


@pytest.mark.parametrize(
    "call",
    [
        lambda: q.quantize(X, [0.0, 1.0], [1.0, 2.0], tf.quint8),
        lambda: q.quantize(X, 0.0, 1.0, tf.quint8, round_mode="HALF_TO_EVEN"),
        lambda: q.dequantize(IMAGE, 0.0, 1.0, mode="SCALED", dtype=tf.bfloat16),
        lambda: q.quantize_and_dequantize_v2(X, 0.0, 1.0, num_bits=0),
        lambda: q.quantized_concat(-1, [IMAGE, IMAGE], [0.0, 0.0], [1.0, 1.0]),
    ],
)  # fmt: skip
def test_refused_at_once_and_while_a_graph_is_built(call):
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected"):
        call()
    with tf.Graph().as_default(), pytest.raises(ValueError, match="expected"):
        call()


def test_ends_the_wrong_way_round_fail_when_they_are_known():
    with tf.Graph().as_default():
        low = v1.placeholder(tf.float32, [])
        whole = q.quantize(X, low, 1.0, tf.quint8)
        with v1.Session() as session:
            assert session.run(whole.output_max, {low: 1.0}) == np.float32(1.0)
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"1\.5 and 1\.0"):
                session.run(whole, {low: 1.5})


def test_an_axis_from_the_end_needs_a_rank():
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def run(x):
        return q.quantize(x, [0.0], [1.0], tf.quint8, axis=-1)

    with pytest.raises(ValueError, match="known rank"):
        run(X)


LAYOUT = {
    **{f"{side}_quantization_min_val": -128 for side in ("lhs", "rhs")},
    **{f"{side}_quantization_max_val": 127 for side in ("lhs", "rhs")},
    "output_quantization_min_val": -(2**31),
    "output_quantization_max_val": 2**31 - 1,
}


def test_dimension_numbers_say_where_axes_lie():
    images, _ = quantised("qint8", 2, 3, 5, 6)
    weights, _ = quantised("qint8", 4, 3, 2, 2, seed=2)
    scales = {"lhs_scales": 0.1, "rhs_scales": 0.2, "output_scales": 0.1}
    zeros = {"lhs_zero_points": 3, "rhs_zero_points": 1, "output_zero_points": 0}
    sides = {**scales, **zeros, "Tout": tf.qint32, "padding": "SAME"}
    wanted = r.UniformQuantizedConvolution(lhs=images, rhs=weights, **sides, **LAYOUT)
    numbers = proto.uniform_quant_ops_attr_pb2.UniformQuantizedConvolutionDimensionNumbersAttr(
        input_batch_dimension=0, input_spatial_dimensions=[1, 2], input_feature_dimension=3,
        kernel_spatial_dimensions=[0, 1], kernel_input_feature_dimension=2,
        kernel_output_feature_dimension=3, output_batch_dimension=3, output_feature_dimension=0,
        output_spatial_dimensions=[1, 2],
    )  # fmt: skip
    last = tf.constant(images.numpy().transpose(0, 2, 3, 1), tf.qint8)
    filters = tf.constant(weights.numpy().transpose(2, 3, 1, 0), tf.qint8)
    got = r.UniformQuantizedConvolution(
        lhs=last, rhs=filters, **sides, **LAYOUT, dimension_numbers=numbers.SerializeToString()
    )
    np.testing.assert_array_equal(got, wanted.numpy().transpose(1, 2, 3, 0))
    numbers.input_batch_dimension = 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="each axis of rank 4 once"):
        r.UniformQuantizedConvolution(
            lhs=last, rhs=filters, **sides, **LAYOUT, dimension_numbers=numbers.SerializeToString()
        )


def test_uniform_quantisation_goes_to_and_fro():
    bounds = {"quantization_min_val": -128, "quantization_max_val": 127}
    whole = r.UniformQuantize(input=X, scales=0.02, zero_points=-20, Tout=tf.qint8, **bounds)
    np.testing.assert_array_equal(
        whole, np.clip(np.floor(X / np.float32(0.02) + 0.5) - 20, -128, 127)
    )
    back = r.UniformDequantize(input=whole, scales=0.02, zero_points=-20, Tout=tf.float32, **bounds)
    np.testing.assert_allclose(back, np.clip(X, -2.16, 2.94), atol=0.0101)


@pytest.mark.parametrize("times", [1, 5000])
def test_uniform_quantisation_adds_a_half_in_float32(times):
    """What is next below a half rounds up, as the sum is 1."""
    x = np.tile(np.float32([0.49999997, 0.4999999, 0.5, -0.5, 1.4999999, -1.5, 2.5]), times)
    given = {"scales": 1.0, "zero_points": 3, "Tout": tf.qint8}
    given |= {"quantization_min_val": -128, "quantization_max_val": 127}
    for run in (lambda f: f, tf.function):
        found = run(lambda x: r.UniformQuantize(input=x, **given))(x).numpy()
        assert found.tolist() == [4, 3, 4, 3, 4, 2, 6] * times
