"""Windows of convolutions and pools that are larger than the image, without padding.

Where sizes are known while a graph is built they are refused. Where the operation sees them, a
window too large by less than two strides gives no elements, and a larger one is refused.
"""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
KINDS = {
    "conv1d": ([3], lambda x, k, s: tf.nn.conv1d(x, tf.ones([k, 2, 4]), s, "VALID")),
    "conv2d": ([3, 9], lambda x, k, s: tf.nn.conv2d(x, tf.ones([k, 1, 2, 4]), s, "VALID")),
    "conv3d": (
        [3, 9, 9],
        lambda x, k, s: tf.nn.conv3d(x, tf.ones([k, 1, 1, 2, 4]), [1, s, s, s, 1], "VALID"),
    ),
    "depthwise_conv2d": (
        [3, 9],
        lambda x, k, s: tf.nn.depthwise_conv2d(x, tf.ones([k, 1, 2, 2]), [1, s, s, 1], "VALID"),
    ),
    "max_pool2d": ([3, 9], lambda x, k, s: tf.nn.max_pool2d(x, [k, 1], s, "VALID")),
    "avg_pool2d": ([3, 9], lambda x, k, s: tf.nn.avg_pool2d(x, [k, 1], s, "VALID")),
    "max_pool3d": ([3, 9, 9], lambda x, k, s: tf.nn.max_pool3d(x, [k, 1, 1], s, "VALID")),
    "avg_pool3d": ([3, 9, 9], lambda x, k, s: tf.nn.avg_pool3d(x, [k, 1, 1], s, "VALID")),
}


def run_late(function, value):
    """In a graph that does not know the sizes."""
    with tf.Graph().as_default(), v1.Session() as session:
        given = v1.placeholder(tf.float32, [None] * value.ndim)
        return session.run(function(given), {given: value})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stride", [1, 2])
def test_a_window_a_little_too_large_gives_nothing(kind, stride):
    sizes, function = KINDS[kind]
    value = np.ones([5, *sizes, 2], np.float32)
    most = 3 + 2 * stride - 1  # by less than two strides
    tail = [-(-n // stride) for n in sizes[1:]]
    for window in (4, most):
        x = tf.constant(value)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x, window, stride)
        assert y.shape[:-1] == [5, 0, *tail]
        assert tape.gradient(y, x).numpy().tolist() == np.zeros_like(value).tolist()
        assert run_late(lambda x, n=window: function(x, n, stride), value).shape == y.shape
    with pytest.raises(tf.errors.InvalidArgumentError, match="a window that fits"):
        function(tf.constant(value), most + 1, stride)
    with pytest.raises(tf.errors.InvalidArgumentError, match="size would be negative"):
        run_late(lambda x: function(x, most + 1, stride), value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_that_knows_the_sizes_refuses_it(kind):
    sizes, function = KINDS[kind]
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="Negative dimension size caused by subtracting 4"):
            function(tf.ones([5, *sizes, 2]), 4, 1)
        assert function(tf.ones([5, *sizes, 2]), 3, 1).shape[1] == 1
