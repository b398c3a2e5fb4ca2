"""The buffer protocol of eager tensors."""

import contextlib
import gc
import hashlib
import io
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_buffers

pytestmark = pytest.mark.skipif(
    native_buffers.NEEDED and native_buffers.LIBRARY.state().library is None,
    reason="Python 3.11 without the library of buffers",
)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(), (1,), (0, 2), (2, 3)])
def test_a_view_has_the_values_and_no_copy_of_them(dtype, shape):
    values = np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)
    x = tf.constant(values)
    view = memoryview(x)
    assert (view.shape, view.format, view.readonly) == (shape, memoryview(values).format, True)
    assert view.tobytes() == bytes(x) == values.tobytes()
    places = [a.__array_interface__["data"][0] for a in (np.asarray(view), x._array)]
    assert places[0] == places[1]


def test_what_reads_bytes_reads_tensors():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    data = x.numpy().tobytes()
    assert np.frombuffer(x, np.float32).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert io.BytesIO(x).read() == b"".join([x]) == data
    assert hashlib.sha256(x).digest() == hashlib.sha256(data).digest()
    assert memoryview(tf.range(6)[::2]).tolist() == [0, 2, 4]


def test_a_view_is_only_read():
    x = tf.constant([1, 2])
    with pytest.raises(TypeError, match="read-only"):
        memoryview(x)[0] = 3
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(b"12345678").readinto(x)


def test_a_view_keeps_the_values_and_lets_go_of_them():
    x = tf.constant([1, 2])
    alive = weakref.ref(x)
    view = memoryview(x)
    del x
    gc.collect()
    assert view.tolist() == [1, 2]
    view.release()
    gc.collect()
    assert alive() is None


def test_what_has_no_buffer_says_so():
    with pytest.raises(ValueError, match="buffer"):
        memoryview(tf.constant(1, tf.bfloat16))
    with tf.Graph().as_default(), pytest.raises(TypeError, match="bytes-like"):
        memoryview(tf.constant(1))
    with pytest.raises(TypeError, match="bytes-like"):
        memoryview(tf.Variable(1))


def test_a_thousand_views_leave_nothing_behind():
    x = tf.constant(np.zeros(1000, np.float32))
    before = sys.getrefcount(x._array)
    for _ in range(1000):
        memoryview(x)
        with contextlib.suppress(TypeError):
            io.BytesIO(b"1").readinto(x)
    after = sys.getrefcount(x._array)
    assert after == before


def test_pickles_are_as_before():
    assert pickle.loads(pickle.dumps(tf.constant([1, 2]))).numpy().tolist() == [1, 2]


@pytest.mark.skipif(not native_buffers.NEEDED, reason="Python has the protocol itself")
def test_without_the_library_everything_else_works():
    code = "import penstock as tf; x = tf.constant([1]); print(x.numpy()); memoryview(x)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PENSTOCK_NATIVE_KERNELS": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "[1]\n"
    assert "TypeError" in done.stderr
