"""Rows of a variable are changed where the host has them, unless somebody else has the array."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import penstock as tf

SHAPE = (5000, 8)  # more than what the host copies for a change of some rows
IDS = np.array([3, 4999, 3, 0], np.int32)
KINDS = {
    "scatter_add": np.add.at,
    "scatter_sub": np.subtract.at,
    "scatter_mul": np.multiply.at,
    "scatter_min": np.minimum.at,
    "scatter_max": np.maximum.at,
    "scatter_update": lambda array, ids, rows: array.__setitem__(ids, rows),
}


def table(dtype=tf.float32, shape=SHAPE):
    return tf.Variable(tf.constant(2, dtype, shape))


def slices(ids=IDS, dtype=tf.float32, width=SHAPE[1]):
    rows = np.arange(len(ids) * width).reshape(len(ids), width)
    return tf.IndexedSlices(tf.cast(rows, dtype), tf.constant(ids))


def address(variable):
    array = variable._cell.value
    assert isinstance(array, np.ndarray)
    return array.ctypes.data


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.int32, tf.int64, tf.bfloat16])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_changed_where_they_are(kind, dtype):
    variable, update = table(dtype), slices(dtype=dtype)
    place, wanted = address(variable), variable.numpy()
    KINDS[kind](wanted, IDS, update.values.numpy())
    getattr(variable, kind)(update)
    assert address(variable) == place
    np.testing.assert_array_equal(variable.numpy(), wanted)


def test_the_same_without_the_library(monkeypatch):
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    variable = table()
    place = address(variable)
    variable.scatter_sub(slices())
    assert address(variable) == place
    np.testing.assert_array_equal(variable.numpy()[3], 2 - np.arange(8) - np.arange(16, 24))


@pytest.mark.parametrize("width", [0, 1])
def test_no_ids_and_rows_of_one_number_or_none(width):
    variable = table(shape=(40_000, width))
    variable.scatter_add(slices(np.zeros(0, np.int32), width=width))
    variable.scatter_add(slices(width=width))
    wanted = np.full((40_000, width), 2, np.float32)
    np.add.at(wanted, IDS, np.arange(len(IDS) * width).reshape(len(IDS), width))
    np.testing.assert_array_equal(variable.numpy(), wanted)


def test_a_vector_and_one_number_for_all_rows():
    variable = table(shape=(50_000,))
    place = address(variable)
    variable.scatter_add(tf.IndexedSlices(tf.constant(3.0), tf.constant([7, 7])))
    assert address(variable) == place
    assert variable.numpy()[6:9].tolist() == [2, 8, 2]


HOLDERS = {
    "a tensor": lambda v: v.read_value(),
    "the tensor that it began with": None,
    "a buffer of a tensor": lambda v: memoryview(v.read_value()),
    "a buffer": lambda v: memoryview(v._cell.value),
    "the array's owner": lambda v: v._cell.value.base,
    "rows of it": lambda v: v._cell.value[2:5],
    "a lease": lambda v: v._cell.lease(),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_somebody_else_has_stays_as_it_was(holder):
    first = tf.zeros(SHAPE)  # the elements of a larger array, from a place on
    variable = tf.Variable(first)
    if HOLDERS[holder] is None:
        held = first
    else:
        del first
        held = HOLDERS[holder](variable)
    assert not variable._cell.holds_alone()
    before = None if holder == "a lease" else np.array(held)
    variable.scatter_add(slices())
    if before is not None:
        np.testing.assert_array_equal(np.array(held), before)
    wanted = np.zeros(SHAPE, np.float32)
    np.add.at(wanted, IDS, np.arange(32).reshape(4, 8))
    np.testing.assert_array_equal(variable.numpy(), wanted)


def test_a_row_that_is_not_there_changes_nothing():
    variable = table()
    for wrong in (-1, 5000):
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"{wrong} is not in \[0, 5000\)"):
            variable.scatter_add(slices(np.array([3, wrong], np.int32)))
    np.testing.assert_array_equal(variable.numpy(), np.full(SHAPE, 2, np.float32))


def test_determinism_leaves_the_choice_to_the_sizes():
    program = (
        "import penstock as tf; tf.config.experimental.enable_op_determinism();"
        "v = tf.Variable(tf.ones((5000, 8)));"
        "v.scatter_add(tf.IndexedSlices(tf.ones((1, 8)), [3]));"
        "print(type(v._cell.value).__name__, v.numpy()[2:5, 0].tolist())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "ArrayImpl [1.0, 2.0, 1.0]", done.stderr


def test_a_table_of_the_host_needs_no_compiler():
    program = (
        "import sys; import penstock as tf; v = tf.Variable(tf.zeros((5000, 64)));"
        "v.scatter_add(tf.IndexedSlices(tf.ones((900, 64)), tf.range(900)));"
        "assert tf.gather(v, [899, 900]).numpy()[:, 0].tolist() == [1, 0];"
        "print('jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def test_readers_on_other_threads_see_whole_updates():
    variable, every = tf.Variable(tf.zeros(SHAPE)), tf.range(SHAPE[0])
    one, mixed, stop = tf.ones(SHAPE), [], threading.Event()

    def read():
        while not stop.is_set():
            held = variable.read_value()
            first = np.unique(held.numpy())
            mixed.extend(first[1:])
            mixed.extend(np.setdiff1d(held.numpy(), first))  # later it is what it was

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(200):
        variable.scatter_add(tf.IndexedSlices(one, every))
    stop.set()
    for reader in readers:
        reader.join()
    assert mixed == []
    assert np.unique(variable.numpy()).tolist() == [200]
