"""Regions that read variables without writing them: leases, and where the arrays are."""

import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np
import pytest

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


def _snapshot(function: Any, x: Any) -> Any:
    """What the readers of a function's variables leave to each other."""
    (item,) = function.get_concrete_function(x).body.plan.items
    return item.region._bound.snapshot


def test_readers_look_at_unchanged_variables_once() -> None:
    predict, train, weights = _model()
    x = tf.constant(1.0)
    predict(x)
    held = _snapshot(predict, x).held
    assert held[0] == [weights.handle._array.resource.value]
    predict(x)
    assert _snapshot(predict, x).held is held
    del held
    old = weights.handle._array.resource.value
    train(x)
    assert old.is_deleted()  # what only waits for the next reader holds up no update
    assert _snapshot(predict, x).held is None
    assert float(predict(x)) == 4.0 * 6400


def test_a_reader_at_work_keeps_its_arrays() -> None:
    predict, train, weights = _model()
    x = tf.constant(1.0)
    predict(x)
    arrays, leases = _snapshot(predict, x).held  # as a run in another thread has them
    train(x)
    np.testing.assert_array_equal(arrays[0], np.full((80, 80), 2.0))
    del leases
    old = weights.handle._array.resource.value
    train(x)
    assert old.is_deleted()


def test_every_way_to_write_is_seen_by_the_next_reader() -> None:
    predict, _, weights = _model()
    x = tf.constant(1.0)
    rows = tf.IndexedSlices(tf.zeros([1, 80]), tf.constant([0]))
    for expected, write in (
        (3.0 * 6400, lambda: weights.assign(tf.fill([80, 80], 3.0))),
        (4.0 * 6400, lambda: weights.assign_add(tf.ones([80, 80]))),
        (4.0 * 6320, lambda: weights.scatter_update(rows)),
        (4.0 * 6240, lambda: weights[1].assign(tf.zeros([80]))),
    ):
        predict(x)
        write()
        assert float(predict(x)) == expected


def test_two_readers_of_one_variable_both_see_updates() -> None:
    predict, train, weights = _model()
    other = tf.function(lambda x: tf.reduce_max(weights * x), jit_compile=True)
    x = tf.constant(1.0)
    for value in (2.0, 4.0, 8.0):
        assert float(predict(x)) == value * 6400
        assert float(other(x)) == value
        old = weights.handle._array.resource.value
        train(x)
        assert old.is_deleted()


def test_a_value_read_holds_on_to_its_own_variable_alone() -> None:
    first, second = (tf.Variable(np.ones((80, 80), np.float32)) for _ in range(2))

    @tf.function(jit_compile=True)
    def total(x: Any) -> Any:
        return tf.reduce_sum((first + second) * x)

    @tf.function(jit_compile=True)
    def train(x: Any) -> None:
        first.assign_add(first * x)
        second.assign_add(second * x)

    x = tf.constant(1.0)
    total(x)
    value = first.read_value()
    old = second.handle._array.resource.value
    train(x)
    assert old.is_deleted()
    np.testing.assert_array_equal(value, np.ones((80, 80)))
    assert float(total(x)) == 4.0 * 6400


def test_a_value_that_is_held_on_to_counts_a_snapshot_once() -> None:
    first, second = (tf.Variable(np.ones((80, 80), np.float32)) for _ in range(2))

    @tf.function(jit_compile=True)
    def total(x: Any) -> Any:
        return tf.reduce_sum((first + second) * x)

    x = tf.constant(1.0)
    total(x)
    value = first.read_value()
    for _ in range(5):
        total(x)
        second.assign_add(second)
    total(x)
    assert len(value._lease.snapshots) == 1


def test_a_reader_that_found_no_value_sees_the_first_one() -> None:
    predict, _, weights = _model()
    fill = tf.function(lambda x: weights.assign(tf.fill([80, 80], x)), jit_compile=True)
    x = tf.constant(1.0)
    fill(x)
    weights.handle._array.resource.clear()
    with pytest.raises(tf.errors.FailedPreconditionError):
        predict(x)
    fill(x)
    assert float(predict(x)) == 6400


def test_a_snapshot_keeps_no_array_that_was_replaced() -> None:
    predict, _, weights = _model()
    x = tf.constant(1.0)
    predict(x)
    old = weakref.ref(weights.handle._array.resource.value)
    weights.assign(tf.zeros([80, 80]))
    assert old() is None


def test_readers_in_threads_beside_a_writer() -> None:
    predict, train, _ = _model()
    one, none = tf.constant(1.0), tf.constant(0.0)
    predict(one)
    done = threading.Event()

    def read() -> list[float]:
        found = []
        while not done.is_set():
            found.append(float(predict(one)))
        return found

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        for _ in range(200):
            train(none)
        done.set()
        for reader in readers:
            assert set(reader.result()) <= {2.0 * 6400}
