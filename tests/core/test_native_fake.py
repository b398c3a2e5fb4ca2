"""Fake quantisation by native code and by NumPy: the same numbers, sums up to rounding."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_fake

raw = tf.raw_ops
pytestmark = pytest.mark.skipif(not native_fake.LIBRARY.is_in_use(), reason="no native library")


def drawn(*shape):
    rng = np.random.default_rng(5)
    x = (rng.standard_normal(shape) * 4).astype(np.float32)
    if x.size > 6:
        x.reshape(-1)[:6] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40]
    return x


def both(monkeypatch, run):
    found = run()
    monkeypatch.setattr(native_fake, "rounded", lambda *given: None)
    monkeypatch.setattr(native_fake, "back", lambda *given: None)
    wanted = run()
    monkeypatch.undo()
    return found, wanted


@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 5), (140_000,), (50_001, 3)], ids=str)
@pytest.mark.parametrize("bits", [2, 8, 16])
@pytest.mark.parametrize("narrow", [False, True])
def test_one_range(monkeypatch, shape, bits, narrow):
    x = drawn(*shape)
    gradients = np.nan_to_num(drawn(*shape), posinf=1, neginf=2)[...]
    attrs = {"num_bits": bits, "narrow_range": narrow}

    def run():
        low, high = np.float32(-1.3), np.float32(2.1)
        ends = {"min": low, "max": high}
        back = raw.FakeQuantWithMinMaxVarsGradient(gradients=gradients, inputs=x, **ends, **attrs)
        return [
            raw.FakeQuantWithMinMaxVars(inputs=x, **ends, **attrs),
            raw.FakeQuantWithMinMaxArgs(inputs=x, min=-1.3, max=2.1, **attrs),
            raw.FakeQuantWithMinMaxArgsGradient(
                gradients=gradients, inputs=x, min=-1.3, max=2.1, **attrs
            ),
            *back,
        ]

    found, wanted = both(monkeypatch, run)
    for a, b in zip(found[:4], wanted[:4], strict=True):
        assert a.shape == b.shape == x.shape
        np.testing.assert_array_equal(a, b)
    for a, b in zip(found[4:], wanted[4:], strict=True):
        assert a.shape == b.shape == ()
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("rows", [0, 1, 9, 60_000])
def test_a_range_for_each_channel(monkeypatch, rows):
    x = drawn(rows, 4)
    gradients = np.nan_to_num(drawn(rows, 4), posinf=1, neginf=2)
    low, high = np.float32([-1, -2, 0, 0.5]), np.float32([1, 0, 3, 4])

    def run():
        ends = {"min": low, "max": high}
        return [
            raw.FakeQuantWithMinMaxVarsPerChannel(inputs=x, **ends),
            *raw.FakeQuantWithMinMaxVarsPerChannelGradient(gradients=gradients, inputs=x, **ends),
        ]

    found, wanted = both(monkeypatch, run)
    for a, b in zip(found[:2], wanted[:2], strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(found[2:], wanted[2:], strict=True):
        assert a.shape == b.shape == (4,)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-4)


def test_ranges_that_are_left_to_numpy(monkeypatch):
    monkeypatch.setattr(native_fake.LIBRARY, "function", None)  # it would fail
    for ends in ((0.0, 0.0), (np.nan, 1.0), (-np.inf, np.inf)):
        raw.FakeQuantWithMinMaxVars(inputs=drawn(9), min=ends[0], max=ends[1])
