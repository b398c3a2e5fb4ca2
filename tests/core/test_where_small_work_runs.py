"""What is on a device with memory of its own stays there; other small work runs on the host."""

from typing import Any

import jax
import numpy as np
import pytest

import penstock as tf
from penstock.core import eager


def _device_tensor() -> Any:
    """The result of a compiled function: a device array, larger than what the host likes."""
    return tf.function(lambda x: tf.exp(x), jit_compile=True)(tf.zeros([64, 64]))


@pytest.fixture
def accelerator(monkeypatch) -> None:
    """Takes every device for one with memory of its own."""
    monkeypatch.setattr(
        eager, "on_accelerator", lambda arrays: any(isinstance(a, jax.Array) for a in arrays)
    )


def test_devices_of_the_host_are_no_accelerators() -> None:
    tensor = _device_tensor()
    assert isinstance(tensor._array, jax.Array)
    assert not eager.on_accelerator([tensor._array, np.zeros(3)])


def test_views_of_arrays_of_the_host_run_there() -> None:
    assert isinstance(tf.reshape(_device_tensor(), [-1])._array, np.ndarray)
    assert isinstance(tf.reshape(tf.zeros([4, 4]), [-1])._array, np.ndarray)


@pytest.mark.usefixtures("accelerator")
@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.reshape(x, [-1]),
        lambda x: tf.expand_dims(x, 0),
        lambda x: tf.squeeze(x[None]),
        lambda x: x[0, :2] + 1.0,
    ],
    ids=["reshape", "expand_dims", "squeeze", "slice"],
)
def test_arrays_of_an_accelerator_stay_there(function) -> None:
    result = function(_device_tensor())
    assert isinstance(result._array, jax.Array)
    np.testing.assert_array_equal(result.numpy(), function(tf.ones([64, 64])).numpy())


@pytest.mark.usefixtures("accelerator")
def test_a_variable_of_an_accelerator_is_read_and_assigned_without_leaving_it() -> None:
    variable = tf.Variable(tf.zeros([64, 64]))
    variable.assign(_device_tensor())
    cell = variable.handle._array.resource
    assert isinstance(cell.value, jax.Array)
    assert variable.read_value()._array is cell.value
    assert isinstance(tf.gather(variable, [1, 2])._array, jax.Array)
    np.testing.assert_array_equal(variable.numpy(), np.ones((64, 64)))


def test_a_few_rows_of_a_large_variable_are_read_on_the_host() -> None:
    variable = tf.Variable(tf.zeros([50_000, 64]))
    variable.assign_add(tf.zeros([50_000, 64]))  # the array is XLA's
    rows = tf.IndexedSlices(tf.ones([3, 64]), tf.constant([5, 7, 49_999]))
    variable.scatter_add(rows)
    cell = variable.handle._array.resource
    buffer = cell.value.unsafe_buffer_pointer()
    few = tf.gather(variable, [7, 8])
    assert isinstance(few._array, np.ndarray)
    variable.scatter_add(rows)
    assert cell.value.unsafe_buffer_pointer() == buffer
    np.testing.assert_array_equal(few.numpy()[:, 0], [1.0, 0.0])
    np.testing.assert_array_equal(tf.gather(variable, [49_999]).numpy(), np.full((1, 64), 2.0))
    many = tf.gather(variable, tf.range(20_000))
    assert isinstance(many._array, jax.Array)


def test_a_row_that_is_not_there_is_refused_on_the_host() -> None:
    variable = tf.Variable(tf.zeros([50_000, 64]))
    variable.assign_add(tf.ones([50_000, 64]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 50000 is not in"):
        tf.gather(variable, [0, 50_000])


def test_rows_of_a_small_variable_that_a_compiled_step_wrote_are_read() -> None:
    variable = tf.Variable(tf.zeros([100, 64]))
    tf.function(lambda: variable.assign_add(tf.ones([100, 64])), jit_compile=True)()
    np.testing.assert_array_equal(tf.gather(variable, [[1, 2]]).numpy(), np.ones((1, 2, 64)))
    np.testing.assert_array_equal(variable.gather_nd([[1, 2]]).numpy(), [1.0])
