"""Fake quantisation against its definition in NumPy."""

import numpy as np
import pytest

import penstock as tf

X = np.linspace(-7, 7, 24).astype(np.float32)
RANGES = [(-6.0, 6.0), (0.0, 6.0), (-1.0, 0.0), (1.0, 3.0), (-3.0, -1.0), (-0.1, 5.3)]
q = tf.quantization


def nudged(low, high, bits, narrow):
    first, last = float(narrow), float(2**bits - 1)
    scale = (high - low) / (last - first)
    zero = np.clip(np.floor(first - low / scale + 0.5), first, last)
    return (first - zero) * scale, (last - zero) * scale, scale


def rounded(x, low, high, bits, narrow):
    least, most, scale = nudged(low, high, bits, narrow)
    return np.floor((np.clip(x, least, most) - least) / scale + 0.5) * scale + least


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_steps_of_a_range(low, high, bits, narrow):
    wanted = rounded(X, low, high, bits, narrow)
    args = q.fake_quant_with_min_max_args(X, low, high, bits, narrow)
    np.testing.assert_allclose(args, wanted, atol=1e-5)
    by_vars = q.fake_quant_with_min_max_vars(X, low, high, bits, narrow)
    np.testing.assert_allclose(by_vars, wanted, atol=1e-5)
    traced = tf.function(q.fake_quant_with_min_max_vars)(X, low, high, bits, narrow)
    np.testing.assert_allclose(traced, by_vars, atol=1e-6)


def test_bits_are_tensorflows():
    """Steps come of a division by their size, or by their number in one, which decides halves."""
    x = np.float32([-0.31, -0.1, 0.0, 0.0023, 0.1, 0.2541, 0.55, 0.8, 2.0])
    wanted = np.uint32(
        [0xBE9A33CE, 0xBDCA63FE, 0, 0, 0x3DCA63FE, 0x3E821BB6, 0x3F0CF35A, 0x3F4CCCCE, 0x3F66194D]
    )
    for function in (q.fake_quant_with_min_max_args, q.fake_quant_with_min_max_vars):
        np.testing.assert_array_equal(function(x, -0.3, 0.9).numpy().view(np.uint32), wanted)
    size = np.float32(6 / 255)
    halves = (np.float32([56, 57, 86, 195]) + np.float32(0.5)) * size
    up = q.fake_quant_with_min_max_args(halves, 0.0, 6.0)
    channels = q.fake_quant_with_min_max_vars_per_channel(halves, [0.0] * 4, [6.0] * 4)
    down = q.fake_quant_with_min_max_vars(halves, 0.0, 6.0)
    assert np.rint(up / size).tolist() == np.rint(channels / size).tolist() == [57, 58, 87, 196]
    assert np.rint(down / size).tolist() == [56, 57, 86, 195]


def test_a_range_whose_ends_are_exchanged_gives_its_lower_end():
    assert q.fake_quant_with_min_max_vars([-3.0, 0.5, 3.0], 2.0, 1.0).numpy().tolist() == [1.0] * 3


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_derivatives_go_inside_or_to_the_ends(low, high, narrow):
    least, most, _ = nudged(low, high, 8, narrow)
    x, bounds = tf.constant(X), [tf.constant(low), tf.constant(high)]
    weights = np.arange(1, 25, dtype=np.float32)
    with tf.GradientTape() as tape:
        tape.watch([x, *bounds])
        found = q.fake_quant_with_min_max_vars(x, *bounds, narrow_range=narrow)
        total = tf.reduce_sum(found * weights)
    by_x, by_low, by_high = tape.gradient(total, [x, *bounds])
    inside = (least <= X) & (most >= X)
    np.testing.assert_array_equal(by_x, np.where(inside, weights, 0))
    assert float(by_low) == weights[least > X].sum()
    assert float(by_high) == weights[most < X].sum()
    direct = q.fake_quant_with_min_max_args_gradient(weights, X, low, high, 8, narrow)
    np.testing.assert_array_equal(direct, by_x)


def test_ranges_by_channel():
    rows = X.reshape(8, 3)
    low, high = np.float32([-1, 0, -6]), np.float32([2, 5, 6])
    got = q.fake_quant_with_min_max_vars_per_channel(rows, low, high)
    wanted = [rounded(rows[:, i], float(low[i]), float(high[i]), 8, False) for i in range(3)]
    np.testing.assert_allclose(got, np.stack(wanted, 1), atol=1e-5)
    back = q.fake_quant_with_min_max_vars_per_channel_gradient(rows, rows, low, high)
    each = [
        q.fake_quant_with_min_max_vars_gradient(rows[:, i], rows[:, i], low[i], high[i])
        for i in range(3)
    ]
    for j in range(3):
        np.testing.assert_allclose(back[j], np.stack([e[j] for e in each], -1), rtol=1e-6)


def test_a_range_of_zero_gives_zero():
    assert not np.any(q.fake_quant_with_min_max_vars(X, 0.0, 0.0))


@pytest.mark.parametrize("jit", [False, True])
def test_denormal_ends_count_as_zero(jit):
    x, low, high = np.float32([-1, 0, 1e-40, 2, np.inf, np.nan]), 0.0, np.float32(1e-40)
    by_vars = tf.function(q.fake_quant_with_min_max_vars, jit_compile=jit)(x, low, high)
    rows = q.fake_quant_with_min_max_vars_per_channel(x, [low] * 6, [high] * 6)
    assert by_vars.numpy().tolist() == rows.numpy().tolist() == [0] * 6
    backs, *ends = q.fake_quant_with_min_max_vars_gradient(x, x, low, high)
    np.testing.assert_array_equal(backs, x)
    assert [float(e) for e in ends] == [0, 0]


def test_infinite_derivatives_do_not_reach_the_ends_of_an_empty_range():
    grads, numbers = np.float32([np.inf, -np.inf, 1]), np.float32([-1, 0, 2])
    zero = np.float32(0)
    found = tf.raw_ops.FakeQuantWithMinMaxVarsGradient(
        gradients=grads, inputs=numbers, min=zero, max=zero
    )
    assert [f.numpy().tolist() for f in found] == [[np.inf, -np.inf, 1], 0, 0]
    run = tf.function(tf.raw_ops.FakeQuantWithMinMaxVarsPerChannelGradient, jit_compile=True)
    for call in (tf.raw_ops.FakeQuantWithMinMaxVarsPerChannelGradient, run):
        _, low, high = call(
            gradients=np.stack([grads, grads], 1), inputs=np.stack([numbers, numbers], 1),
            min=np.float32([0, -1]), max=np.float32([0, 1]),
        )  # fmt: skip
        assert low.numpy()[0] == high.numpy()[0] == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: q.fake_quant_with_min_max_args(X, 1.0, -1.0),
        lambda: q.fake_quant_with_min_max_args(X, num_bits=1),
        lambda: q.fake_quant_with_min_max_vars(X, 0.0, 1.0, num_bits=17),
        lambda: q.fake_quant_with_min_max_vars(X, [0.0], 1.0),
        lambda: q.fake_quant_with_min_max_vars_per_channel(X.reshape(8, 3), [0.0], [1.0]),
    ],
)
def test_wrong_arguments(call):
    with pytest.raises(tf.errors.InvalidArgumentError):
        call()
