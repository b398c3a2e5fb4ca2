"""Native updates of variables: rates that come back, and what is left to the kernel."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import convert, native_arrays
from penstock.core.kernels import KernelContext
from penstock.core.resources import VariableCell
from penstock.ops.optimizer_native import NativeRule
from penstock.ops.optimizer_rules import RULES
from penstock.types import dtypes as dt

pytestmark = pytest.mark.skipif(
    not native_arrays.LIBRARY.is_in_use(), reason="the native library was not built"
)


def _cell(value: list[float]) -> VariableCell:
    cell = VariableCell("v", dt.float32, (len(value),))
    cell.write(np.array(value, np.float32))
    return cell


def _rule() -> NativeRule:
    names = ("var", "alpha", "delta")
    return NativeRule("ResourceApplyGradientDescent", names, ("var",), RULES["GradientDescent"])


def _context() -> KernelContext:
    return KernelContext("ResourceApplyGradientDescent", {}, None)


def test_calls_are_remembered_by_their_rates() -> None:
    rule, cell, grad = _rule(), _cell([1.0, 2.0]), np.array([1, 1], np.float32)
    for rate, known in ((0.5, 1), (0.25, 2), (0.5, 2), (0.0, 3), (-0.0, 4)):
        assert rule.run(_context(), (cell, np.array(rate, np.float32), grad))
        assert len(rule._ready) == known
    np.testing.assert_array_equal(cell.read(), [-0.25, 0.75])


def test_rates_that_are_no_scalars_are_left_though_their_numbers_are_known() -> None:
    rule, cell, grad = _rule(), _cell([1.0]), np.array([1], np.float32)
    assert rule.run(_context(), (cell, np.array(1, np.float32), grad))
    assert not rule.run(_context(), (cell, np.array([1], np.float32), grad))


def test_a_rate_that_changes_in_place_is_read_again() -> None:
    rule, cell, grad = _rule(), _cell([0.0]), np.array([1], np.float32)
    rate = np.array(1, np.float32)
    assert rule.run(_context(), (cell, rate, grad))
    rate[()] = 10
    assert rule.run(_context(), (cell, rate, grad))
    np.testing.assert_array_equal(cell.read(), [-11])


def test_a_rate_that_only_others_write_is_read_again() -> None:
    """An array of DLPack is read-only here, and its owner writes to it."""
    whole = np.zeros(32, np.float32)
    first = -whole.ctypes.data % 64 // 4
    buf = whole[first : first + 1].reshape(())  # where tensors need no copy
    buf[()] = 1
    rate, v = tf.experimental.dlpack.from_dlpack(buf.__dlpack__()), tf.Variable([0.0])
    for value in (1, 1, 10):
        buf[()] = value
        tf.raw_ops.ResourceApplyGradientDescent(var=v.handle, alpha=rate, delta=[1.0])
    np.testing.assert_array_equal(v.numpy(), [-12])


def test_a_conversion_of_numbers_is_used_once_there_is_one(monkeypatch) -> None:
    monkeypatch.setattr(convert, "_plain", dict(convert._plain))
    monkeypatch.setattr(convert, "_converters", list(convert._converters))
    v, m, grad = tf.Variable([0.0]), tf.Variable([0.0]), tf.constant([1.0])

    def step() -> None:
        tf.raw_ops.ResourceApplyMomentum(
            var=v.handle, accum=m.handle, lr=21.0, grad=grad, momentum=0.5
        )

    def doubled(value, dtype=None, name=None, as_ref=False):
        return tf.constant(np.float32(42)) if value == 21.0 else NotImplemented

    step()
    step()
    v.assign([0.0])
    m.assign([0.0])
    tf.register_tensor_conversion_function(float, doubled)
    step()
    np.testing.assert_array_equal(v.numpy(), [-42])


def test_what_does_not_fit_is_left() -> None:
    rule, rate = _rule(), np.array(1, np.float32)
    empty = VariableCell("v", dt.float32, (2,))
    for cell, grad in (
        (_cell([1.0]), np.zeros(2, np.float32)),
        (_cell([1.0]), np.zeros(1, np.float64)),
        (empty, np.zeros(2, np.float32)),
    ):
        before = None if cell.value is None else cell.value.copy()
        assert not rule.run(_context(), (cell, rate, grad))
        np.testing.assert_array_equal(cell.value, before)
    assert not rule.run(_context(), (_cell([1.0]), np.ones(1, np.float32), np.zeros(1, np.float32)))


def test_an_array_that_somebody_holds_keeps_its_numbers() -> None:
    rule, cell, rate = _rule(), _cell([1.0]), np.array(1, np.float32)
    held = cell.read()
    assert rule.run(_context(), (cell, rate, np.ones(1, np.float32)))
    np.testing.assert_array_equal(held, [1])
    np.testing.assert_array_equal(cell.read(), [0])


def test_zeros_of_both_signs_stay_apart() -> None:
    v = tf.Variable([0.0])
    for rate in (0.0, -0.0, 0.0):
        v.assign([-0.0])
        tf.raw_ops.ResourceApplyGradientDescent(var=v.handle, alpha=rate, delta=[1.0])
        assert np.signbit(v.numpy()[0]) == np.signbit(np.float32(-0.0) - np.float32(rate))


def test_several_numbers_come_back_as_they_were() -> None:
    v, m = tf.Variable([0.0]), tf.Variable([0.0])
    given = {"var": v.handle, "accum": m.handle, "grad": tf.constant([1.0])}
    found = []
    for lr, momentum in ((1.0, 0.5), (1.0, 0.5), (1, 0.5), (2.0, 0.5), (1.0, 0.0), (1.0, -0.0)):
        v.assign([0.0])
        m.assign([2.0])
        tf.raw_ops.ResourceApplyMomentum(**given, lr=lr, momentum=momentum)
        found.append(float(v.numpy()[0]))
    assert found == [-2, -2, -2, -4, -1, -1]
