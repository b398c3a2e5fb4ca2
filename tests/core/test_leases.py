"""A value read eagerly keeps its numbers however soon another thread updates the variable."""

import numpy as np

import penstock as tf
from penstock.core.lazy import jax, jnp

SIZE = 5_000_000  # more than the host takes


class Lock:
    """Stands for a variable's lock; runs `after` once, as soon as the lock is free again."""

    def __init__(self, lock, after):
        self.lock, self.after, self.depth = lock, after, 0

    def acquire(self):
        self.lock.acquire()
        self.depth += 1
        return True

    def release(self):
        self.depth -= 1
        self.lock.release()
        if not self.depth and self.after is not None:
            after, self.after = self.after, None
            after()

    def __enter__(self):
        self.acquire()

    def __exit__(self, *problem):
        self.release()


def updated_variable():
    """A variable whose array an update gives away: it is compiled and nobody shares the array."""
    variable = tf.Variable(np.zeros(SIZE, np.float32))
    for _ in range(3):
        variable.assign_add(np.ones(SIZE, np.float32), read_value=False)
    cell = variable.handle._array.resource
    assert isinstance(cell.value, jax.Array)
    assert cell.donatable
    return variable, cell


def test_an_update_gives_the_array_away():
    variable, cell = updated_variable()
    before = cell.value
    variable.assign_add(np.ones(SIZE, np.float32), read_value=False)
    assert before.is_deleted()


def test_an_update_right_after_the_read_leaves_the_value_read_alone():
    variable, cell = updated_variable()
    ones = tf.constant(np.ones(SIZE, np.float32))
    updates = []

    def update():
        updates.append(tf.raw_ops.AssignAddVariableOp(resource=variable.handle, value=ones))

    cell.lock = Lock(cell.lock, update)
    value = tf.raw_ops.ReadVariableOp(resource=variable.handle, dtype=tf.float32)
    assert len(updates) == 1
    assert (value.numpy() == 3).all()
    assert (variable.numpy() == 4).all()


def test_the_lease_ends_with_the_value():
    variable, cell = updated_variable()
    value = tf.raw_ops.ReadVariableOp(resource=variable.handle, dtype=tf.float32)
    assert not cell.donatable
    del value
    assert cell.donatable


def test_a_value_of_the_host_is_copied_once(monkeypatch):
    """`jax.numpy.array` would copy it in NumPy first."""

    def twice(*args, **kwargs):
        raise AssertionError("two copies")

    monkeypatch.setattr(jnp, "array", twice)
    variable, ones = tf.Variable(np.full([1 << 16], 3.0)), tf.ones([1 << 16], tf.float64)
    before = variable.numpy()
    variable.assign_sub(ones)
    assert before.tolist() == [3.0] * (1 << 16)
    assert variable.numpy().tolist() == [2.0] * (1 << 16)
