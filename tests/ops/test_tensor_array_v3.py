"""The TensorArray operations of TensorFlow 1's graphs."""

import numpy as np
import pytest

import penstock as tf

ops = tf.raw_ops


def array(size=3, **options):
    handle, flow = ops.TensorArrayV3(size=size, dtype=tf.float32, **options)
    return handle, flow


def write(made, index, value):
    handle, flow = made
    return handle, ops.TensorArrayWriteV3(handle=handle, index=index, value=value, flow_in=flow)


def read(made, index):
    handle, flow = made
    return ops.TensorArrayReadV3(handle=handle, index=index, flow_in=flow, dtype=tf.float32)


def gather(made, indices, **options):
    handle, flow = made
    return ops.TensorArrayGatherV3(
        handle=handle, indices=indices, flow_in=flow, dtype=tf.float32, **options
    )


def scatter(made, indices, value):
    handle, flow = made
    return handle, ops.TensorArrayScatterV3(
        handle=handle, indices=indices, value=value, flow_in=flow
    )


def concat(made):
    handle, flow = made
    return ops.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=tf.float32)


def split(made, value, lengths):
    handle, flow = made
    return handle, ops.TensorArraySplitV3(
        handle=handle, value=value, lengths=np.int64(lengths), flow_in=flow
    )


X = np.float32([[1.0, 2.0], [0.5, -1.0], [3.0, 0.25]])


def written_and_gathered(x):
    made = array()
    for i in range(3):
        made = write(made, i, x[i] * x[i])
    return gather(made, [2, 0, 1])


def scattered_and_read(x):
    made = scatter(array(clear_after_read=False), [1, 0, 2], x * x)
    return tf.stack([read(made, 0) * read(made, 1), read(made, 0) + read(made, 2)])


def split_and_joined(x):
    joined, lengths = concat(split(array(2), x * x, [1, 2]))
    return joined * tf.cast(lengths[1], tf.float32)


PROGRAMS = (
    (written_and_gathered, lambda x: (x * x)[[2, 0, 1]]),
    (scattered_and_read, lambda x: np.stack([(x[0] * x[1]) ** 2, x[1] ** 2 + x[2] ** 2])),
    (split_and_joined, lambda x: 2 * x * x),
)


@pytest.mark.parametrize(("program", "reference"), PROGRAMS)
def test_values_and_gradients_in_a_session(program, reference):
    direction = np.random.default_rng(0).normal(size=X.shape)
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [3, 2])
        y = program(x)
        (grad,) = tf.gradients(y * y, x)
        with tf.compat.v1.Session() as session:
            for _ in range(2):
                value, slope = session.run([y, grad], {x: X})
                np.testing.assert_allclose(value, reference(X), rtol=1e-6)

    def total(step):
        return (reference(X + step * direction) ** 2).sum()

    wanted = (total(1e-4) - total(-1e-4)) / 2e-4
    np.testing.assert_allclose((slope * direction).sum(), wanted, rtol=1e-4)


def test_sizes_and_growth():
    made = write(array(1, dynamic_size=True), 2, 5.0)
    assert int(ops.TensorArraySizeV3(handle=made[0], flow_in=made[1])) == 3
    ops.TensorArrayCloseV3(handle=made[0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="already been closed"):
        read(made, 2)


def test_gradient_arrays_add_and_may_have_more_dimensions():
    made = array(1, element_shape=[2])
    handle, flow = ops.TensorArrayGradV3(handle=made[0], flow_in=made[1], source="g")
    grad = write(write((handle, flow), 0, [1.0, 2.0]), 0, [3.0, 4.0])
    assert read(grad, 0).numpy().tolist() == [4.0, 6.0]
    again, _ = ops.TensorArrayGradV3(handle=made[0], flow_in=made[1], source="g")
    assert read((again, flow), 0).numpy().tolist() == [4.0, 6.0]
    wider, flow = ops.TensorArrayGradWithShape(
        handle=made[0], flow_in=made[1], shape_to_prepend=[3], source="w"
    )
    assert read((wider, flow), 0).shape == (3, 2)


REFUSED = (
    (lambda: write(array(1), 1, 1.0), "index 1 but array is not resizeable and size is: 1"),
    (lambda: write(array(1), -1, 1.0), "index -1"),
    (lambda: read(array(1), 1), "index 1 but array size is: 1"),
    (lambda: read(array(1), 0), "element shape is not fully defined"),
    (lambda: write(write(array(1), 0, 1.0), 0, 1.0), "already been written to"),
    (lambda: write(array(1), 0, 1), "float32 but Op requested dtype int32"),
    (lambda: write(array(1, element_shape=[2]), 0, 1.0), r"value shape is \(\)"),
    (lambda: gather(array(0), np.int32([])), "size zero"),
    (lambda: gather(write(write(array(2), 0, [1.0]), 1, [1.0, 2.0]), [0, 1]), "inconsistent"),
    (lambda: scatter(array(2), [0, 1], [1.0]), "2 vs. 1"),
    (lambda: split(array(2), [1.0, 2.0], [1, 2]), "sum of lengths is 3"),
    (lambda: concat(write(array(1), 0, 1.0)), "scalar shape at index 0"),
    (lambda: array(-1), "Size should be >= 0, got -1"),
)


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_refusals(call, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        call()


def test_reading_clears():
    made = write(array(1), 0, 1.0)
    read(made, 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="read index 0 twice"):
        read(made, 0)
