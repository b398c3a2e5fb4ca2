"""Native updates of variables: rates that come back, and what is left to the kernel."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_arrays
from penstock.core.convert import kept_number
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


def test_rates_of_numbers_are_remembered_and_others_are_not() -> None:
    rule, cell, grad = _rule(), _cell([1.0, 2.0]), np.array([1, 1], np.float32)
    kept = kept_number(0.5, dt.float32)
    assert kept is not None
    for rate, known in ((kept._array, 1), (np.array(0.25, np.float32), 1)):
        assert rule.run(_context(), (cell, rate, grad))
        assert rule.run(_context(), (cell, rate, grad))
        assert len(rule._ready) == known
    np.testing.assert_array_equal(cell.read(), [-0.5, 0.5])


def test_a_rate_that_changes_in_place_is_read_again() -> None:
    rule, cell, grad = _rule(), _cell([0.0]), np.array([1], np.float32)
    rate = np.array(1, np.float32)
    assert rule.run(_context(), (cell, rate, grad))
    rate[()] = 10
    assert rule.run(_context(), (cell, rate, grad))
    np.testing.assert_array_equal(cell.read(), [-11])


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
