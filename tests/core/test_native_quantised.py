"""Floats as quantised integers by native code and by NumPy: the same bits."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_quantised
from penstock.ops import quant_conversion, quant_uniform

raw = tf.raw_ops
INF, NAN = np.inf, np.nan
LARGE = 200_000
pytestmark = pytest.mark.skipif(
    not native_quantised.LIBRARY.is_in_use(), reason="no native library"
)


def drawn(count):
    rng = np.random.default_rng(5)
    x = (rng.standard_normal(count) * 4).astype(np.float32)
    some = [NAN, INF, -INF, 0.0, -0.0, 1e-40, 0.5, -0.5, 1.5, 2.5, 1e30, 0.49999997]
    x[: len(some)] = some[: len(x)]
    return x


def both(monkeypatch, run):
    """What a call gives in one pass, and what in NumPy's passes."""
    found = run()
    for module in (quant_conversion, quant_uniform):
        monkeypatch.setattr(module, "_in_one_pass", lambda *given: None)
        monkeypatch.setattr(module, "floats_of", lambda *given: None)
    with np.errstate(invalid="ignore", over="ignore"):
        wanted = run()
    monkeypatch.undo()
    return found, wanted


def assert_same(found, wanted):
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("count", [0, 1, 9, 5000])
@pytest.mark.parametrize("kind", ["qint8", "quint8", "qint16", "quint16"])
@pytest.mark.parametrize("ends", [(-2.0, 2.0), (0.0, 6.0), (-0.3, 7.1), (-1e30, 3e30)])
def test_quantized_numbers(monkeypatch, count, kind, ends):
    x = drawn(count)
    for mode, rounding in (
        ("MIN_COMBINED", "HALF_AWAY_FROM_ZERO"),
        ("MIN_FIRST", "HALF_AWAY_FROM_ZERO"),
        ("SCALED", "HALF_AWAY_FROM_ZERO"),
        ("SCALED", "HALF_TO_EVEN"),
    ):
        for narrow in (False, True):
            given = {"mode": mode, "round_mode": rounding, "narrow_range": narrow, "T": kind}
            low, high = ends
            run = lambda: raw.QuantizeV2(input=x, min_range=low, max_range=high, **given)  # noqa: B023, E731
            assert_same(*both(monkeypatch, run))


@pytest.mark.parametrize("kind", ["qint8", "quint8"])
@pytest.mark.parametrize("zero", [0, 3, -100, 1 << 30])
@pytest.mark.parametrize("scale", [0.1, 1.0, 1e-30])
def test_uniformly_quantized_numbers(monkeypatch, kind, zero, scale):
    ends = (-100, 120) if kind == "qint8" else (3, 255)
    given = {"quantization_min_val": ends[0], "quantization_max_val": ends[1], "Tout": kind}
    x = drawn(3000)
    run = lambda: [raw.UniformQuantize(input=x, scales=scale, zero_points=zero, **given)]  # noqa: E731
    assert_same(*both(monkeypatch, run))


@pytest.mark.parametrize("kind", ["qint8", "quint8", "qint16", "quint16"])
@pytest.mark.parametrize("ends", [(-2.0, 2.0), (0.0, 6.0), (-0.0, 0.0), (3.0, -1e30)])
def test_floats_of_quantized_numbers(monkeypatch, kind, ends):
    dtype = tf.as_dtype(kind).as_numpy_dtype
    whole = np.random.default_rng(1).integers(0, 1 << 16, 5000).astype(np.uint16).astype(dtype)
    x = tf.constant(np.concatenate([whole, np.array([0], dtype)]), dtype=kind)
    for mode in ("MIN_COMBINED", "SCALED", "MIN_FIRST"):
        given = {"mode": mode, "narrow_range": mode == "SCALED"}
        run = lambda: [raw.Dequantize(input=x, min_range=ends[0], max_range=ends[1], **given)]  # noqa: B023, E731
        found, wanted = both(monkeypatch, run)
        assert_same(found, wanted)
        np.testing.assert_array_equal(np.signbit(found[0]), np.signbit(wanted[0]))


@pytest.mark.parametrize("kind", ["qint8", "quint8", "qint32"])
@pytest.mark.parametrize("zero", [0, 3, -100, 1 << 30])
def test_floats_of_uniformly_quantized_numbers(monkeypatch, kind, zero):
    dtype = tf.as_dtype(kind).as_numpy_dtype
    x = tf.constant(np.arange(-300, 300).astype(dtype), dtype=kind)
    given = {"quantization_min_val": 0, "quantization_max_val": 100, "Tout": "float32"}
    run = lambda: [raw.UniformDequantize(input=x, scales=0.1, zero_points=zero, **given)]  # noqa: E731
    found, wanted = both(monkeypatch, run)
    assert_same(found, wanted)
    np.testing.assert_array_equal(np.signbit(found[0]), np.signbit(wanted[0]))


def test_large_calls_are_made_on_the_host():
    x = drawn(LARGE)
    for _ in range(2):  # sizes that are new run there anyway
        found = raw.QuantizeV2(input=x, min_range=-2.0, max_range=2.0, T="quint8")[0]
    assert found._array.__class__ is np.ndarray
    with np.errstate(invalid="ignore"):
        wanted = [
            raw.QuantizeV2(input=part, min_range=-2.0, max_range=2.0, T="quint8")[0].numpy()
            for part in np.split(x, 100)
        ]
    np.testing.assert_array_equal(found, np.concatenate(wanted))


def test_many_floats_are_made_on_the_host():
    x = np.random.default_rng(1).integers(0, 256, LARGE).astype(np.uint8)
    for _ in range(2):
        whole = tf.constant(x, dtype="quint8")
        found = raw.Dequantize(input=whole, min_range=-1.0, max_range=2.0)
        others = raw.Dequantize(input=whole, min_range=-1.0, max_range=2.0, mode="MIN_FIRST")
    assert found._array.__class__ is np.ndarray
    assert others._array.__class__ is not np.ndarray
    wanted = np.float32(x) * (np.float32(3) / np.float32(255)) - np.float32(1)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    "attrs", [{"T": "qint32"}, {"T": "qint8", "axis": 0, "mode": "SCALED"}], ids=str
)
def test_large_calls_that_are_not_served_are_compiled(attrs):
    x = drawn(LARGE).reshape(2, -1)
    x[~np.isfinite(x)] = 0
    ends = (-2.0, 2.0) if "axis" not in attrs else ([-2.0, -1.0], [2.0, 3.0])
    for _ in range(3):
        found = raw.QuantizeV2(input=x, min_range=ends[0], max_range=ends[1], **attrs)[0]
    assert found._array.__class__ is not np.ndarray


@pytest.mark.parametrize("others", [(0.0, 1.0), (-1.0, 3.0)], ids=str)
def test_bytes_end_to_end(others):
    """On the host where all ranges are one, compiled else; the same numbers as of small calls."""
    x, y = np.random.default_rng(2).integers(0, 256, (2, 1000, 100)).astype(np.uint8)
    mins, maxes = [0.0, others[0]], [1.0, others[1]]

    def joined(a, b):
        values = [tf.bitcast(each, tf.quint8) for each in (a, b)]
        return raw.QuantizedConcat(concat_dim=1, values=values, input_mins=mins, input_maxes=maxes)

    for _ in range(3):
        found, low, high = joined(x, y)
    assert (found._array.__class__ is np.ndarray) is (others == (0.0, 1.0))
    parts = [joined(a, b) for a, b in zip(np.split(x, 100), np.split(y, 100), strict=True)]
    wanted = np.concatenate([tf.bitcast(part[0], tf.uint8).numpy() for part in parts])
    np.testing.assert_array_equal(tf.bitcast(found, tf.uint8).numpy(), wanted)
    assert (low.numpy(), high.numpy()) == (parts[0][1].numpy(), parts[0][2].numpy())


def test_a_rounding_that_is_none_is_not_served():
    numbers = np.arange(9, dtype=np.float32)
    levels, kind = (-INF, INF, 0, 1, 0, 0, 0, 0, 255, 0), np.dtype(np.uint8)
    found = native_quantised.quantised(numbers, levels, native_quantised.HALF_UP, kind)
    np.testing.assert_array_equal(found, numbers)
    for rounding in (-1, 3):
        assert native_quantised.quantised(numbers, levels, rounding, kind) is None


def test_ranges_that_are_no_numbers_leave_others_as_they_are():
    bytes_of = tf.bitcast(tf.constant([1, 2, 200], tf.uint8), tf.quint8)
    for lows, highs in (((NAN, 0), (1, 1)), ((0, 0), (NAN, 1)), ((NAN, -1), (NAN, 1))):
        for turn in (1, -1):
            ends = {"input_mins": lows[::turn], "input_maxes": highs[::turn]}
            call = lambda ends=ends: raw.QuantizedConcat(  # noqa: E731
                concat_dim=0, values=[bytes_of] * 2, **ends
            )
            for run in (call, tf.function(call)):
                found, low, high = run()
                parts = [[0, 0, 0], [1, 2, 200]][::turn]
                assert tf.bitcast(found, tf.uint8).numpy().tolist() == parts[0] + parts[1]
                assert (low.numpy(), high.numpy()) == (min(lows[1], 0), 1)
