"""The sentences by which programs recognise errors of arrays, eagerly and in graphs."""

import pytest
from tests.ops.phrases import check_phrases

import penstock as tf

two, three, square = tf.zeros([2]), tf.zeros([3]), tf.zeros([2, 2])
RANK_1 = "Shape must be at least rank 3 but is rank 1"
APART = "Dimensions must be equal, but are 2 and 1"
IMAGE = tf.zeros([1, 3, 3, 1])
PADS = [[0, 0], [0, 0]]

PHRASES = [
    (lambda: tf.matmul(two, two), "In[0] ndims must be >= 2", "Shape must be rank 2 but is rank 1"),
    (lambda: tf.concat([two, two], 2), "range [-1, 1), but got 2", RANK_1),
    (
        lambda: tf.split(tf.zeros([4]), 2, 2),
        "in the range [-1, 1), but got 2",
        "Dimension size, given by scalar input 2 must be in range [-1, 1)",
    ),
    (
        lambda: tf.transpose(square, [0, 0]),
        "1 is missing from {0,0}",
        None,
    ),
    (
        lambda: tf.transpose(square, [0, 2]),
        "2 is out of range [0 .. 2)",
        "perm dim 2 is out of range of input rank 2",
    ),
    (
        lambda: tf.pad(two, [1, 1]),
        "paddings must be a matrix with 2 columns: [2]",
        "Shape must be rank 2 but is rank 1",
    ),
    (lambda: tf.gather(three, [0], axis=2), RANK_1, RANK_1),
    (
        lambda: tf.gather(tf.zeros([3, 2]), tf.zeros([2, 2], tf.int32), batch_dims=1),
        "params.shape[0]: 3 should be equal to indices.shape[0]: 2",
        None,
    ),
    (
        lambda: tf.compat.v1.batch_gather(two, tf.zeros([3, 1], tf.int32)),
        "Argument `batch_dims` = 1 must be less than rank(`params`) = 1",
        "Argument `batch_dims` = 1 must be less than rank(`params`) = 1",
    ),
    (
        lambda: tf.where([True, False], three, three),
        "condition [2], then [3], and else [3] must be broadcastable",
        "Dimensions must be equal, but are 2 and 3",
    ),
    (lambda: tf.eye(-1), "Dimension -1 must be >= 0", "Fill dimensions must be >= 0"),
    (lambda: tf.reduce_sum(three, [0, 0]), "Axes contains duplicate dimension: 0", None),
    (
        lambda: tf.math.top_k(tf.zeros([]), 1),
        "input must be >= 1-D, got shape []",
        "Shape must be at least rank 1 but is rank 0",
    ),
    (
        lambda: tf.math.top_k(three, -1),
        "Need k >= 0, got -1",
        "Dimension size, given by scalar input 1, must be non-negative but is -1",
    ),
    (
        lambda: tf.unique(square),
        "unique expects a 1D vector",
        "Shape must be rank 1 but is rank 2",
    ),
    (
        lambda: tf.reverse(three, [2]),
        "'axis'[0] = 2 is out of valid range [0, 0",
        "'axis'[0] = 2 is out of valid range [0, 0",
    ),
    (
        lambda: tf.reverse(three, [0, 0]),
        "axis 0 specified more than once",
        "axis 0 specified more than once",
    ),
    (lambda: tf.roll(three, 1, 2), "axis 2 is out of range", None),
    (
        lambda: tf.roll(three, [1, 2], [0]),
        "shift and axis must have the same size",
        "Dimension 0 in both shapes must be equal, but are 2 and 1. Shapes are [2] and [1]",
    ),
    (
        lambda: tf.reverse_sequence(tf.zeros([2, 3]), [4, 1], 1, 0),
        "seq_lens(0) > input.dims(1)",
        None,
    ),
    (
        lambda: tf.reverse_sequence(tf.zeros([2, 3]), [1, -1], 1, 0),
        "seq_lens(1) < 0",
        None,
    ),
    (
        lambda: tf.reverse_sequence(tf.zeros([2, 3]), [1], 1, 0),
        "Length of seq_lengths != input.dims(0), (1 vs. 2)",
        "Dimension 0 in both shapes must be equal, but are 2 and 1",
    ),
    (
        lambda: tf.reverse_sequence(tf.zeros([2, 3]), [1, 1], 0, 0),
        "batch_dim == seq_dim == 0",
        "batch_dim == seq_dim == 0",
    ),
    (
        lambda: tf.math.unsorted_segment_sum(two, [0, 1], -1),
        "Input num_segments == -1 must not be negative",
        "Dimension size, given by scalar input 2, must be non-negative but is -1",
    ),
    (lambda: tf.math.unsorted_segment_sum(two, [0], 1), "does not start with", APART),
    (
        lambda: tf.dynamic_partition(square, [0, 5], 2),
        "partitions[1] = 5 is not in [0, 2)",
        None,
    ),
    (lambda: tf.dynamic_partition(two, [0], 2), "must start with partitions.shape", APART),
    (lambda: tf.dynamic_stitch([[0]], [two]), "does not start with indices[0]", APART),
    (
        lambda: tf.ensure_shape(three, [2]),
        "Shape of tensor input [3] is not compatible with expected shape [2]",
        "Dimension 0 in both shapes must be equal, but are 3 and 2",
    ),
    (
        lambda: tf.space_to_batch(IMAGE, [2, 2], PADS),
        "padded_shape[0]=3 is not divisible by block_shape[0]=2",
        "Dimension size must be evenly divisible by 2 but is 3",
    ),
    (
        lambda: tf.batch_to_space(tf.zeros([3, 1, 1, 1]), [2, 2], PADS),
        "Input batch dimension (3) is not divisible by product of block sizes (4)",
        "Dimension size must be evenly divisible by",
    ),
    (
        lambda: tf.einsum("ij->i", two),
        "rank 1 for subscripts 'ij'",
        "Shape must be rank 2 but is rank 1",
    ),
    (
        lambda: tf.einsum("i1->i", square),
        "Subscripts have incorrect format: i1->i",
        "Subscripts have incorrect format: i1->i",
    ),
    (
        lambda: tf.sets.difference(tf.zeros([2], tf.int32), tf.zeros([2], tf.int32)),
        "rank 1 < 2",
        "Shape must be at least rank 2 but is rank 1",
    ),
    (
        lambda: tf.repeat(three, [1, 2]),
        "Dimensions 3 and 2 are not compatible",
        "Dimensions 3 and 2 are not compatible",
    ),
    (
        lambda: tf.constant([1, 2, 3], shape=[2]),
        "has 3 elements, but got `shape` (2,) with 2 elements",
        "Expected Tensor's shape: (2,), but got (3,)",
    ),
    (
        lambda: tf.constant(None),
        "Attempt to convert a value (None) with an unsupported type",
        "None values not supported.",
    ),
]


@pytest.mark.parametrize(("call", "eager", "graph"), PHRASES)
def test_phrases(call, eager, graph):
    check_phrases(call, eager, graph)


GRAPH_TILE = "Shape must be rank 1 but is rank 0"
LOW = "Invalid value in tensor used for shape: -2"
MORE = [
    (lambda: tf.tile(square, 2), "Expected multiples to be 1-D, but got shape []", GRAPH_TILE),
    (
        lambda: tf.argmax(square, tf.constant([0, 1])),
        "dim must be a scalar, but received tensor of shape: [2]",
        "Shape must be rank 0 but is rank 1",
    ),
    (
        lambda: tf.pad(square, tf.zeros([2, 3], tf.int32)),
        "paddings must be a matrix with 2 columns: [2,3]",
        "Dimension must be 2 but is 3",
    ),
    (lambda: tf.reverse(square, 0), "'dims' must be 1-dimension, not 0", GRAPH_TILE),
    (
        lambda: tf.math.invert_permutation([[0]]),
        "invert_permutation expects a 1D vector",
        "Shape must be rank 1 but is rank 2",
    ),
    (
        lambda: tf.dynamic_stitch([[0], [1]], [tf.ones([1, 3]), tf.ones([1, 2])]),
        "Need data[0].shape[1:] = data[1].shape[1:], got data[0].shape = [1,3], data[1].shape ="
        " [1,2], indices[0].shape = [1], indices[1].shape = [1]",
        "Dimension 0 in both shapes must be equal, but are 3 and 2",
    ),
    (
        lambda: tf.range([0, 1]),
        "limit must be a scalar, not shape [2]",
        "Shape must be rank 0 but is rank 1",
    ),
    (lambda: tf.nn.bias_add(square, [[1.0], [2.0]]), "Biases must be 1D: [2,1]", None),
    (lambda: tf.nn.lrn(square), "in must be 4-dimensional", "Shape must be rank 4 but is rank 2"),
    (
        lambda: tf.nn.max_pool2d(tf.ones([4, 4, 3]), 2, 2, "SAME"),
        "tensor_in_shape must have 2 spatial dimensions. 3 0",
        "Shape must be rank 4 but is rank 3",
    ),
    (
        lambda: tf.nn.avg_pool3d(tf.ones([4, 4, 3]), 2, 2, "SAME"),
        "tensor_in must be 5-dimensional",
        "Shape must be rank 5 but is rank 3",
    ),
    (
        lambda: tf.linalg.diag(1.0),
        "diagonal must be at least 1-dim, received shape: []",
        "Shape must be at least rank 1 but is rank 0",
    ),
    (lambda: tf.linalg.trace(three), "input must be at least 2-dim, received shape: [3]", None),
    (
        lambda: tf.image.crop_and_resize(tf.ones([1, 2, 2, 3]), tf.ones([1, 3]), [0], [2, 2]),
        "boxes must have 4 columns",
        "Dimension must be 4 but is 3",
    ),
    (
        lambda: tf.image.extract_patches(
            tf.ones([2, 2, 3]), [1, 2, 2, 1], [1] * 4, [1] * 4, "VALID"
        ),
        "input must be 4-dimensional[2,2,3]",
        "Shape must be rank 4 but is rank 3",
    ),
    (lambda: tf.scatter_nd([[1]], [1.0], [-2]), "Dimension -2 must be >= 0", LOW),
    (lambda: tf.zeros([-2]), "Dimension -2 must be >= 0", LOW),
    (
        lambda: tf.strings.substr(["abc"], [0, 0], [1]),
        "pos and len should have the same shape, got",
        "pos and len shapes must match: [2] vs. [1]",
    ),
    (
        lambda: tf.sets.union(tf.ones([2, 3], tf.int32), tf.ones([3, 3], tf.int32)),
        "Mismatched shapes [2] vs [3]",
        "Dimension 0 in both shapes must be equal, but are 2 and 3",
    ),
]


@pytest.mark.parametrize(("call", "eager", "graph"), MORE)
def test_more_phrases(call, eager, graph):
    check_phrases(call, eager, graph)
