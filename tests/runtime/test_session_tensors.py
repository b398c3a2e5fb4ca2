"""Tensors that stay in a session between steps, and what reads them by handle."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
INVALID = tf.errors.InvalidArgumentError


@pytest.fixture(name="session")
def _session():
    with tf.Graph().as_default(), v1.Session() as session:
        yield session


def test_a_handle_reads_feeds_and_drops_its_tensor(session):
    p = v1.placeholder(tf.float32, [2])
    y = p + 1.0
    handle = session.run(v1.get_session_handle(y), {p: [1.0, 2.0]})
    assert handle.handle.startswith("GetSessionHandle;")
    assert str(handle) == handle.handle
    np.testing.assert_array_equal(handle.eval(), [2.0, 3.0])
    np.testing.assert_array_equal(session.run(y, {p: handle}), [3.0, 4.0])
    holder, value = v1.get_session_tensor(handle.handle, tf.float32)
    assert (holder.dtype, value.dtype) == (tf.string, tf.float32)
    doubled = value * 2.0
    np.testing.assert_array_equal(session.run(doubled, {holder: handle.handle}), [4.0, 6.0])
    holder, gone = v1.delete_session_tensor(handle.handle)
    session.run(gone, {holder: handle.handle})
    for refused in (
        lambda: session.run(gone, {holder: handle.handle}),
        handle.eval,
        handle.delete,
    ):
        with pytest.raises(INVALID, match="is not in the session"):
            refused()


def test_what_is_kept_does_not_change_with_the_variable(session):
    w = v1.get_variable("w", initializer=tf.constant([1.0, 2.0]), use_resource=True)
    session.run(v1.global_variables_initializer())
    first, second = session.run([v1.get_session_handle(w.read_value())] * 2)
    session.run(w.assign_add([1.0, 1.0]))
    kept = first.to_numpy_array()
    kept[:] = 0.0
    np.testing.assert_array_equal(first.eval(), [1.0, 2.0])
    np.testing.assert_array_equal(second.eval(), [1.0, 2.0])


def test_a_handle_belongs_to_one_session(session):
    x = tf.constant(3)
    handle = session.run(v1.get_session_handle(x))
    holder, value = v1.get_session_tensor(handle.handle, tf.int32)
    assert session.run(value, {holder: handle.handle}) == 3
    with v1.Session() as other, pytest.raises(INVALID, match="is not in the session"):
        other.run(value, {holder: handle.handle})
    holder, value = v1.get_session_tensor(handle.handle, tf.float32)
    with pytest.raises(INVALID, match=r"expected dtype int32 .* got float32"):
        session.run(value, {holder: handle.handle})


def test_what_is_no_tensor_has_no_handle(session):
    with pytest.raises(TypeError, match="must be of type Tensor"):
        v1.get_session_handle(None)


def test_a_handle_may_be_a_resource(session):
    handle = session.run(tf.raw_ops.GetSessionHandleV2(value=tf.constant([1.0, 2.0])))
    holder, value = v1.get_session_tensor(handle.name, tf.float32)
    assert session.run(value, {holder: handle.name}).tolist() == [1.0, 2.0]


def test_arrays_of_a_handle_are_copies(session):
    handle = session.run(v1.get_session_handle(v1.placeholder_with_default([1.0, 2.0], [2])))
    for array in (np.array(handle), np.asarray(handle), handle.to_numpy_array(), handle.eval()):
        array[0] = 9.0
    np.testing.assert_array_equal(handle.eval(), [1.0, 2.0])
    with pytest.raises(ValueError, match="got copy=False"):
        handle.__array__(copy=False)
