"""Regions that read variables without writing them: leases, and where the arrays are."""

from typing import Any

import jax
import numpy as np

import penstock as tf
from penstock.core.resources import VariableCell, lease_all
from penstock.types import dtypes


def _cell(value: Any) -> VariableCell:
    cell = VariableCell("v", dtypes.float32, (3,))
    cell.write(value, fresh=True)
    return cell


def _model() -> tuple[Any, Any, Any]:
    """A compiled function that reads a variable, one that writes it, and the variable."""
    weights = tf.Variable(np.full((80, 80), 2.0, np.float32))

    @tf.function(jit_compile=True)
    def predict(x: Any) -> Any:
        return tf.reduce_sum(weights * x)

    @tf.function(jit_compile=True)
    def train(x: Any) -> None:
        weights.assign_add(weights * x)

    return predict, train, weights


def test_variables_that_nobody_leased_share_a_lease() -> None:
    cells = [_cell(jax.numpy.ones(3)) for _ in range(3)]
    own = cells[1].lease()
    leases = lease_all(cells)
    assert leases[1:] == [own]
    assert cells[0].lease() is cells[2].lease() is leases[0]
    assert not any(c.donatable for c in cells)
    del leases, own
    assert all(c.donatable for c in cells)


def test_a_cell_given_twice_is_leased_once() -> None:
    cell = _cell(jax.numpy.ones(3))
    leases = lease_all([cell, cell])
    assert len(leases) == 1
    assert not cell.donatable


def test_a_variable_is_brought_to_the_device_once() -> None:
    predict, _, weights = _model()
    cell = weights.handle._array.resource
    before = weights.numpy()
    assert isinstance(cell.value, np.ndarray)
    predict(tf.constant(1.0))
    array = cell.value
    assert isinstance(array, jax.Array)
    predict(tf.constant(2.0))
    assert cell.value is array
    np.testing.assert_array_equal(before, np.full((80, 80), 2.0))


def test_what_was_read_before_stays_and_updates_are_in_place() -> None:
    predict, train, weights = _model()
    x = tf.constant(1.0)
    first = weights.read_value()
    assert float(predict(x)) == 2.0 * 6400
    train(x)
    second = weights.read_value()
    assert float(predict(x)) == 4.0 * 6400
    train(x)
    np.testing.assert_array_equal(first.numpy(), np.full((80, 80), 2.0))
    np.testing.assert_array_equal(second.numpy(), np.full((80, 80), 4.0))
    del first, second
    predict(x)
    train(x)
    old = weights.handle._array.resource.value
    predict(x)
    train(x)
    assert old.is_deleted()
    assert float(predict(x)) == 32.0 * 6400
