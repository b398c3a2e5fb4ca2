"""The sentences by which programs recognise errors of networks, images, texts and the like."""

import pytest
from tests.ops.phrases import check_phrases

import penstock as tf

two, square, wide = tf.zeros([2]), tf.zeros([2, 2]), tf.zeros([2, 3])
IMAGE = tf.zeros([1, 3, 3, 2])
APART = "Dimensions must be equal, but are 2 and 3"
SPARSE = tf.SparseTensor([[0, 0]], [1.0], [3, 4])

PHRASES = [
    (
        lambda: tf.nn.conv2d(tf.zeros([3, 3, 1]), tf.zeros([1, 1, 1, 1]), 1, "SAME"),
        "convolution input must be 4-dimensional: [3,3,1]",
        "Shape must be rank 4 but is rank 3",
    ),
    (
        lambda: tf.nn.conv2d(IMAGE, tf.zeros([1, 1, 3, 1]), 1, "SAME"),
        "input depth must be evenly divisible by filter depth: 2 vs 3",
        "Depth of input (2) is not a multiple of input depth of filter (3)",
    ),
    (
        lambda: tf.nn.depthwise_conv2d(IMAGE, tf.zeros([1, 1, 3, 1]), [1] * 4, "SAME"),
        "input and filter must have the same depth: 2 vs 3",
        APART,
    ),
    (
        lambda: tf.nn.conv2d_transpose(
            tf.zeros([1, 2, 2, 1]), tf.zeros([1, 1, 1, 2]), [1, 2, 2, 1], 1
        ),
        "filter and out_backprop must have the same out_depth",
        "Dimensions must be equal, but are 1 and 2",
    ),
    (
        lambda: tf.nn.conv2d_transpose(
            tf.zeros([1, 2, 2, 1]), tf.zeros([1, 1, 1, 1]), [1, 5, 5, 1], 1
        ),
        "Size of out_backprop doesn't match computed: actual = 2, computed = 5",
        None,
    ),
    (
        lambda: tf.nn.erosion2d(IMAGE, tf.zeros([1, 1, 3]), [1] * 4, "SAME", "NHWC", [1] * 4),
        "input and filter must have the same depth: 2 vs 3",
        APART,
    ),
    (
        lambda: tf.compat.v1.nn.fused_batch_norm(tf.zeros([1, 2, 2, 3]), two, two),
        "as many elements as the channels",
        "Dimensions must be equal, but are 3 and 2",
    ),
    (
        lambda: tf.nn.max_pool2d(tf.zeros([2, 2, 1]), 2, 1, "VALID"),
        "tensor_in_shape must have 2 spatial dimensions. 3 0",
        "Shape must be rank 4 but is rank 3",
    ),
    (
        lambda: tf.nn.softmax_cross_entropy_with_logits(wide, tf.zeros([2, 4])),
        "logits and labels must be broadcastable",
        "Dimensions must be equal, but are 4 and 3",
    ),
    (lambda: tf.nn.softmax(tf.zeros([])), "logits must have >= 1 dimension, got []", None),
    (
        lambda: tf.math.in_top_k([0], wide, 1),
        "First dimension of predictions 2 must match length of targets 1",
        "Dimensions must be equal, but are 2 and 1",
    ),
    (
        lambda: tf.nn.ctc_greedy_decoder(tf.zeros([3, 2, 4]), [1, 5]),
        "sequence_length(1) <= 3",
        None,
    ),
    (
        lambda: tf.linalg.cholesky(two),
        "Input tensor 0 must have rank >= 2, got 1",
        "Shape must be at least rank 2 but is rank 1",
    ),
    (
        lambda: tf.linalg.svd(two),
        "Input tensor 0 must have rank >= 2, got 1",
        "Shape must be at least rank 2 but is rank 1",
    ),
    (
        lambda: tf.linalg.set_diag(tf.zeros([3, 3]), two),
        "Either first dimensions of diagonal don't match input.shape[:-2]",
        None,
    ),
    (
        lambda: tf.linalg.band_part(tf.zeros([3, 3]), 5, 0),
        "num_lower must be negative or less or equal to number of rows (3) got: 5",
        None,
    ),
    (
        lambda: tf.image.rgb_to_hsv(tf.zeros([2, 2, 2])),
        "input must have 3 channels but input only has 2 channels",
        "Dimension must be 3 but is 2",
    ),
    (
        lambda: tf.image.adjust_contrast(two, 0.1),
        "input must be at least 3-D, got shape[2]",
        "Shape must be at least rank 3 but is rank 1",
    ),
    (
        lambda: tf.image.non_max_suppression(tf.zeros([2, 4]), tf.zeros([3]), 1),
        f"scores has incompatible shape ({APART})",
        APART,
    ),
    (
        lambda: tf.image.non_max_suppression(wide, two, 1),
        "boxes must have 4 columns",
        "Dimension must be 4 but is 3",
    ),
    (
        lambda: tf.strings.substr(["abc", "d"], [1, 2, 3], [1, 1, 1]),
        "Incompatible shapes: (2,) vs. (3,)",
        APART,
    ),
    (
        lambda: tf.strings.join([["a", "b"], ["c"] * 3]),
        "Input shapes do not match",
        "Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are [2] and [3]",
    ),
    (
        lambda: tf.strings.regex_replace("a", "(", "b"),
        "Invalid pattern: (, error: missing ): (",
        None,
    ),
    (
        lambda: tf.sparse.concat(0, [SPARSE, tf.SparseTensor([[0, 0]], [1.0], [2, 2])]),
        "Input shapes must match: expected 4 for dimension 1 but got 2 at position 1",
        None,
    ),
    (
        lambda: tf.sparse.bincount([1, 2], [1.0]),
        "Weights and data must have the same shape. Weight shape: [1]; data shape: [2]",
        "Dimension 0 in both shapes must be equal, but are 1 and 2. Shapes are [1] and [2]",
    ),
    (
        lambda: tf.sparse.segment_sum(square, [5], [0]),
        "Bad: indices[0] == 5 out of range [0, 2)",
        None,
    ),
    (
        lambda: tf.sparse.segment_sum(square, [0, 1], [0]),
        "segment_ids and indices should have same size",
        "Dimension 0 in both shapes must be equal, but are 2 and 1. Shapes are [2] and [1]",
    ),
    (
        lambda: tf.signal.fft2d(tf.zeros([2], tf.complex64)),
        "rank at least 2",
        "Shape must be at least rank 2 but is rank 1",
    ),
    (
        lambda: tf.signal.rfft(two, [-1]),
        "fft_length[0] must >= 0, but got: -1",
        "fft_length[0] must >= 0, but got: -1",
    ),
    (
        lambda: tf.signal.rfft(two, [1, 2]),
        "fft_length must have shape [1]",
        "Dimension must be 1 but is 2",
    ),
    (
        lambda: tf.random.stateless_normal([2], [1]),
        "seed must have shape [2], not [1]",
        "Dimension must be 2 but is 1",
    ),
    (
        lambda: tf.random.categorical(two, 1),
        "logits should be a matrix, got shape [2]",
        "Shape must be rank 2 but is rank 1",
    ),
    (
        lambda: tf.random.categorical(tf.zeros([2, 0]), 1),
        "num_classes should be positive, got 0",
        None,
    ),
    (
        lambda: tf.map_fn(lambda x: x, tf.constant(1)),
        "Elements in elems must be 1+ dimensional Tensors, not scalars",
        "Elements in elems must be 1+ dimensional Tensors, not scalars",
    ),
    (
        lambda: tf.map_fn(lambda x: x[0], (two, tf.zeros([3]))),
        "Dimensions 2 and 3 are not compatible",
        "Dimensions 2 and 3 are not compatible",
    ),
]


@pytest.mark.parametrize(("call", "eager", "graph"), PHRASES)
def test_phrases(call, eager, graph):
    check_phrases(call, eager, graph)
