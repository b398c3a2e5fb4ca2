"""`OpDef.checked_on_host`: eager calls whose checks are made before the compiled kernel runs."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import eager
from penstock.core.op_def import registered

ROWS, WIDTH = 5000, 8  # more than the host takes


def table(dtype=np.float32):
    variable = tf.Variable(np.zeros((ROWS, WIDTH), dtype))
    add = tf.function(lambda: variable.assign_add(np.ones((ROWS, WIDTH), dtype)), jit_compile=True)
    add()  # now the array is XLA's
    return variable


def checks_of(op_name):
    """The number of checks in each executable of an operation."""
    found = eager._executables.values()
    return [len(made.checks) for prepared, made in found if prepared.op.name == op_name]


@pytest.fixture(autouse=True)
def no_executables(monkeypatch):
    monkeypatch.setattr(eager, "_executables", type(eager._executables)())


KINDS = ("add", "sub", "mul", "div", "min", "max", "update")


@pytest.mark.parametrize("kind", KINDS)
def test_bad_rows_are_refused_before_anything_is_written(kind):
    variable = table()
    rows = tf.fill([2, WIDTH], 2.0)
    scatter = getattr(variable, f"scatter_{kind}")
    for bad in (-1, ROWS, np.iinfo(np.int64).max, np.iinfo(np.int64).min):
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"indices\[1\] = {bad} is not"):
            scatter(tf.IndexedSlices(rows, tf.constant([3, bad], tf.int64)))
    np.testing.assert_array_equal(variable, np.ones((ROWS, WIDTH)))
    scatter(tf.IndexedSlices(rows, tf.constant([3, ROWS - 1])))
    wanted = {"add": 3, "sub": -1, "mul": 2, "div": 0.5, "min": 1, "max": 2, "update": 2}[kind]
    np.testing.assert_array_equal(variable.numpy()[[3, -1]], np.full((2, WIDTH), wanted))
    np.testing.assert_array_equal(variable.numpy()[4:-1], np.ones((ROWS - 5, WIDTH)))


def test_the_kernel_checks_what_the_host_cannot_see():
    variable = table()
    rows, ids = tf.ones([2, WIDTH]), tf.constant([3, 4])
    variable.scatter_add(tf.IndexedSlices(rows, ids))
    assert checks_of("ResourceScatterAdd") == [0]
    on_device = tf.function(lambda x: x * 1000, jit_compile=True)
    variable.scatter_add(tf.IndexedSlices(rows, on_device(tf.constant([1, 4]))))
    assert checks_of("ResourceScatterAdd") == [0, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 9000 is not"):
        variable.scatter_add(tf.IndexedSlices(rows, on_device(tf.constant([1, 9]))))
    np.testing.assert_array_equal(variable.numpy()[[3, 1000, 4000]], np.full((3, WIDTH), 2.0))


def test_integers_are_not_divided_by_zero():
    variable = table(np.int32)
    rows = tf.constant([[1] * WIDTH, [0] * WIDTH])
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        variable.scatter_div(tf.IndexedSlices(rows, tf.constant([3, 4])))
    np.testing.assert_array_equal(variable, np.ones((ROWS, WIDTH)))
    assert checks_of("ResourceScatterDiv") == []


def test_sparse_optimizers():
    variable, sums = table(), table()
    update = tf.raw_ops.ResourceSparseApplyAdagradV2
    given = {"var": variable.handle, "accum": sums.handle, "lr": 0.5, "epsilon": 0.0}
    grad, ids = tf.fill([2, WIDTH], np.float32(np.sqrt(3))), tf.constant([7, 9])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] = 7000 is not"):
        update(**given, grad=grad, indices=tf.constant([7000, 9]))
    update(**given, grad=grad, indices=ids)
    assert checks_of("ResourceSparseApplyAdagradV2") == [0]
    np.testing.assert_allclose(sums.numpy()[[7, 9]], np.full((2, WIDTH), 4.0), rtol=1e-6)
    wanted = np.full((2, WIDTH), 1 - 0.5 * np.sqrt(3) / 2)
    np.testing.assert_allclose(variable.numpy()[[7, 9]], wanted, rtol=1e-6)
    ftrl = {"var": variable.handle, "accum": sums.handle, "linear": table().handle}
    rest = {"grad": grad, "indices": ids, "l1": 0.0, "l2": 0.0, "lr_power": -0.5}
    with pytest.raises(tf.errors.InvalidArgumentError, match="lr"):
        tf.raw_ops.ResourceSparseApplyFtrl(**ftrl, **rest, lr=-1.0)


def test_only_operations_that_can_fail_have_host_checks():
    checked = [op for op in registered().values() if op.host_checks is not None]
    assert len(checked) > 10
    assert all(op.fallible for op in checked)
