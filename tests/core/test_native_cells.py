"""LSTM cells with the native library: as without it, to the last places."""

import itertools

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_cells
from penstock.core.native_special import LIBRARY

RNG = np.random.default_rng(11)
INPUTS = 3


@pytest.fixture(autouse=True)
def needs_the_library():
    if not LIBRARY.is_in_use():
        pytest.skip("no native special functions here")


def drawn(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def weights(units):
    names = ("wci", "wcf", "wco")
    return {
        "w": drawn(INPUTS + units, 4 * units),
        **{name: drawn(units) for name in names},
        "b": drawn(4 * units),
    }


def assert_same(name, **given):
    """The results, which are the same with and without the library."""
    found = getattr(tf.raw_ops, name)(**given)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
        wanted = getattr(tf.raw_ops, name)(**given)
    for one, other in zip(found, wanted, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=3e-5, atol=3e-6)
    return [each.numpy() for each in found]


@pytest.mark.parametrize("name", ["BlockLSTM", "BlockLSTMV2"])
@pytest.mark.parametrize("use_peephole", [False, True])
def test_sequences(name, use_peephole):
    for (steps, batch, units), length, clip in itertools.product(
        [(4, 1, 5), (3, 3, 8), (2, 0, 4), (1, 2, 1)], (0, 1, 9), (0.0, 0.3)
    ):
        given = {
            "seq_len_max": np.int64(min(length, steps)),
            "x": drawn(steps, batch, INPUTS),
            "cs_prev": drawn(batch, units),
            "h_prev": drawn(batch, units),
            "use_peephole": use_peephole,
            **weights(units),
        }
        i, cs, f, o, ci, co, h = assert_same(name, cell_clip=clip, **given)
        saved = {"i": i, "cs": cs, "f": f, "o": o, "ci": ci, "co": co, "h": h}
        grads = {"cs_grad": drawn(*cs.shape), "h_grad": drawn(*cs.shape)}
        assert_same(name.replace("LSTM", "LSTMGrad"), **given, **saved, **grads)


@pytest.mark.parametrize("use_peephole", [False, True])
def test_one_step(use_peephole):
    for batch, units in ((1, 5), (6, 8), (0, 4), (2, 1)):
        given = {
            "x": drawn(batch, INPUTS),
            "cs_prev": drawn(batch, units),
            "h_prev": drawn(batch, units),
            "use_peephole": use_peephole,
            **weights(units),
        }
        i, cs, f, o, ci, co, _ = assert_same("LSTMBlockCell", **given)
        saved = {"i": i, "cs": cs, "f": f, "o": o, "ci": ci, "co": co}
        grads = {"cs_grad": drawn(batch, units), "h_grad": drawn(batch, units)}
        assert_same("LSTMBlockCellGrad", **given, **saved, **grads)


def test_gates_far_from_zero_and_numbers_that_are_none():
    z = np.zeros((1, 12, 4), np.float32)
    special = [0, -0.0, 1e-30, 1e-3, 0.049, 0.051, 30, -30, 100, -100, np.inf, np.nan]
    z[0, :, 0] = z[0, :, 1] = special
    start = [np.zeros((12, 1), np.float32)] * 2
    found = native_cells.lstm("icfo", (0.0, 0.0, False), 1, z, None, start, [drawn(1)] * 3)
    wide = np.array(special, np.float64)
    np.testing.assert_allclose(found[4, 0, :, 0], np.tanh(wide), rtol=1e-6)
    with np.errstate(over="ignore"):
        gate = 1 / (1 + np.exp(-wide))
    np.testing.assert_allclose(found[0, 0, :, 0], gate, rtol=1e-6, atol=1e-38)


def test_rows_are_the_same_together_and_alone():
    units = 40
    given = {"w_ru": drawn(2 * units, 2 * units), "w_c": drawn(2 * units, units)}
    given |= {"b_ru": drawn(2 * units), "b_c": drawn(units)}
    x, h = drawn(4, units), drawn(4, units)
    together = tf.raw_ops.GRUBlockCell(x=x, h_prev=h, **given)
    alone = [tf.raw_ops.GRUBlockCell(x=x[k : k + 1], h_prev=h[k : k + 1], **given) for k in (0, 3)]
    for whole, first, last in zip(together, *alone, strict=True):
        rows = np.concatenate([first, last])
        np.testing.assert_allclose(whole.numpy()[[0, 3]], rows, rtol=1e-4, atol=1e-5)
