"""LSTM cells over sequences in one native call agree with plain loops in double precision."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import native
from penstock.ops.kernels import cpu_recurrent
from penstock.ops.nn_recurrent_steps import LSTM, lstm_sequence

STEPS, INPUTS = 6, 5


@pytest.fixture
def calls(monkeypatch):
    """How many calls were written down."""
    if not native.state().library:
        pytest.skip("the native library is not built")
    found = []
    call = cpu_recurrent.Recurrence.call

    def noting(self, *arguments):
        found.append(self)
        return call(self, *arguments)

    monkeypatch.setattr(cpu_recurrent.Recurrence, "call", noting)
    monkeypatch.setattr(cpu_recurrent, "LEAST_WORK", 0)
    return found


def arguments(batch, units, seed=0):
    rng = np.random.default_rng(seed)
    shapes = [(STEPS, batch, INPUTS), (batch, units), (batch, units), (INPUTS + units, 4 * units)]
    shapes += [(units,)] * 3 + [(4 * units,)]
    return [rng.normal(size=s).astype(np.float32) * np.float32(0.4) for s in shapes]


def run(op, length, given, **attrs):
    names = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")

    @tf.function(jit_compile=True)
    def step(length, *given):
        return op(seq_len_max=length, **dict(zip(names, given, strict=True)), **attrs)

    return step(tf.constant(length, tf.int64), *map(tf.constant, given))


@pytest.mark.parametrize(("batch", "units"), [(1, 8), (3, 16), (17, 24)])
@pytest.mark.parametrize(
    ("name", "order", "length", "attrs"),
    [
        ("BlockLSTM", "icfo", STEPS, {"forget_bias": 0.5, "cell_clip": 0.3}),
        ("BlockLSTM", "icfo", STEPS - 2, {"use_peephole": True, "cell_clip": 0.0}),
        ("BlockLSTMV2", "ifco", STEPS, {"use_peephole": True, "cell_clip": 0.2}),
        ("BlockLSTMV2", "ifco", 0, {}),
    ],
)
def test_a_sequence_is_one_call(calls, name, order, length, attrs, batch, units):
    given = arguments(batch, units)
    found = run(getattr(tf.raw_ops, name), length, given, **attrs)
    bias = attrs.get("forget_bias", 1.0 if name == "BlockLSTM" else 0.0)
    form = LSTM(order, attrs.get("use_peephole", False), bias, attrs.get("cell_clip", 0.0))
    x, cs, h, w, *peepholes, b = (v.astype(np.float64) for v in given)
    wanted = lstm_sequence(np, form, length, x, (cs, h), w, peepholes, b)
    assert len(calls) == 1
    for got, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-6)


def test_nan_stays_in_its_row(calls):
    given = arguments(2, 8)
    given[0][1, 0, 0] = np.nan
    found = [v.numpy() for v in run(tf.raw_ops.BlockLSTM, STEPS, given)]
    assert np.isnan(found[-1][1:, 0]).all()
    assert np.isfinite(found[-1][:, 1]).all()
    assert np.isfinite(found[-1][0]).all()
    assert len(calls) == 1


@pytest.mark.parametrize(("batch", "units"), [(0, 8), (2, 0), (2, 6)])
def test_other_sizes_stay_with_xla(calls, batch, units):
    given = arguments(batch, units)
    assert run(tf.raw_ops.BlockLSTM, STEPS, given)[-1].shape == (STEPS, batch, units)
    assert not calls


def test_a_length_that_the_sequence_does_not_have_is_refused(calls):
    with pytest.raises(tf.errors.InvalidArgumentError, match="from 0 to 6"):
        run(tf.raw_ops.BlockLSTM, STEPS + 1, arguments(2, 8))


@pytest.mark.parametrize(("name", "order"), [("BlockLSTM", "icfo"), ("BlockLSTMV2", "ifco")])
@pytest.mark.parametrize(("batch", "compiled"), [(2, False), (200, False), (400, True)])
def test_single_calls_with_many_gates_are_compiled(name, order, batch, compiled):
    if not native.state().library:
        pytest.skip("the native library is not built")
    given = [tf.constant(v) for v in arguments(batch, 8)]
    names = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
    inputs = {"seq_len_max": tf.constant(STEPS, tf.int64), **dict(zip(names, given, strict=True))}
    for _ in range(2):
        found = getattr(tf.raw_ops, name)(**inputs)
    assert (found[6]._array.__class__ is not np.ndarray) is compiled
    bias, clip = (1.0, 3.0) if name == "BlockLSTM" else (0.0, 0.0)
    x, cs, h, w, *peepholes, b = (v.numpy().astype(np.float64) for v in given)
    form = LSTM(order, False, bias, clip)
    wanted = lstm_sequence(np, form, STEPS, x, (cs, h), w, peepholes, b)
    for got, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-6)


def test_wrong_lengths_of_many_gates_are_refused():
    names = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
    given = dict(zip(names, arguments(200, 8), strict=True))
    with pytest.raises(tf.errors.InvalidArgumentError, match="from 0 to 6"):
        tf.raw_ops.BlockLSTM(seq_len_max=STEPS + 1, **given)
