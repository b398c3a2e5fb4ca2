"""The words by which programs recognise what TensorFlow refuses: of arrays, eagerly and in graphs.

Each line was seen to be a part of TensorFlow 2.21's own message.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf

SIX = np.ones([2, 3], np.float32)


def strided() -> Any:
    return tf.strided_slice(SIX, [0], [1, 1])


Call = Callable[[], Any]
CASES: list[tuple[Call, str, str]] = [  # what is called, words when it runs, words in a graph
    (
        lambda: tf.reshape(SIX, [4]),
        "Input to reshape is a tensor with 6 values, but the requested shape has 4",
        "Cannot reshape a tensor with 6 elements to shape [4] (4 elements)",
    ),
    (
        lambda: tf.reshape(SIX, [-1, 4]),
        "but the requested shape requires a multiple of 4",
        "Dimension size must be evenly divisible by 4 but is 6",
    ),
    (
        lambda: tf.reshape(SIX, [-2, 3]),
        "Size 0 must be non-negative, not -2",
        "Invalid value in tensor used for shape: -2",
    ),
    (
        lambda: tf.reshape(SIX, [[6]]),
        "sizes input must be 1-D, not [1,1]",
        "Shape must be rank 1 but is rank 2",
    ),
    (
        lambda: tf.sort(SIX, -3),
        "expected an axis in [-2, 2) for values of shape (2, 3), got -3: slice index -1 of dim",
        "expected an axis in [-2, 2) for values of shape (2, 3), got -3: slice index -1 of dim",
    ),
    (lambda: tf.argsort([1], 1), "slice index 1 of dim", "slice index 1 of dim"),
    (lambda: tf.zeros([-1]), "Dimension -1 must be >= 0", "Fill dimensions must be >= 0"),
    (
        lambda: tf.one_hot([0], -1),
        "depth must be non-negative, got: -1",
        "Dimension size, given by scalar input 1, must be non-negative but is -1",
    ),
    (
        lambda: tf.gather_nd(SIX, [[0, 0, 0]]),
        "index innermost dimension length must be <= params rank; saw: 3 vs. 2",
        "indices.shape[-1] must be <= params.rank, but saw indices shape: [1,3]",
    ),
    (
        lambda: tf.concat([SIX, np.ones([2, 4], "f")], 0),
        "Dimension 1 in both shapes must be equal: shape[0] = [2,3] vs. shape[1] = [2,4]",
        "Dimension 0 in both shapes must be equal, but are 3 and 4. Shapes are [3] and [4]",
    ),
    (
        lambda: tf.concat([SIX, np.ones([2], "f")], 0),
        "Ranks of all input tensors should match: shape[0] = [2,3] vs. shape[1] = [2]",
        "Shape must be rank 2 but is rank 1",
    ),
    (
        lambda: tf.split(SIX, 2, axis=1),
        "Number of ways to split should evenly divide the split dimension, but got split_dim 1",
        "Dimension size must be evenly divisible by 2 but is 3",
    ),
    (
        lambda: tf.split(SIX, [1, 1], axis=1),
        "if not fully specified. Got: 2",
        "can't split axis of size 3 into pieces of size [1,1]",
    ),
    (
        lambda: tf.split(SIX, [2, -1, -1], axis=1),
        "There can only be one -1 in the input",
        "size_splits can only have one -1",
    ),
    (
        lambda: tf.unstack(SIX, num=3),
        "Input shape axis 0 must equal 3, got shape [2,3]",
        "Dimension must be 3 but is 2",
    ),
    (
        lambda: tf.tile(SIX, [1]),
        "Expected multiples argument to be a vector of length 2 but got length 1",
        "Shape must be rank 2 but is rank 1",
    ),
    (
        lambda: tf.transpose(SIX, [0]),
        "transpose expects a vector of size 2. But input(1) is a vector of size 1",
        "Dimension must be 2 but is 1",
    ),
    (
        lambda: tf.expand_dims(SIX, 3),
        "Tried to expand dim index 3 for tensor with 2 dimensions",
        "dim 3 not in the interval [-3, 2]",
    ),
    (
        lambda: tf.squeeze(SIX, 0),
        "Can not squeeze dim[0], expected a dimension of 1, got 2",
        "Can not squeeze dim[0], expected a dimension of 1, got 2",
    ),
    (
        lambda: tf.squeeze(SIX, [2]),
        "Tried to squeeze dim index 2 for tensor with 2 dimensions",
        "squeeze_dims[0] not in [-2,2)",
    ),
    (
        lambda: tf.broadcast_to(SIX, [2, 4]),
        "Incompatible shapes: [2,3] vs. [2,4]",
        "Dimensions must be equal, but are 3 and 4",
    ),
    (
        lambda: tf.broadcast_to(SIX, [3]),
        "Rank of input (2) must be no greater than rank of output shape (1)",
        "Shape must be at most rank 1 but is rank 2",
    ),
    (
        lambda: tf.pad(SIX, [[1, 1]]),
        "The first dimension of paddings must be the rank of inputs[1,2] [2,3]",
        "Shape must be rank 1 but is rank 2",
    ),
    (
        lambda: tf.pad(SIX, [[1, 1], [0, -1]]),
        "Paddings must be non-negative: 0 -1",
        "Paddings must be non-negative",
    ),
    (
        lambda: tf.slice(SIX, [0], [1]),
        "Expected begin and size arguments to be 1-D tensors of size 2, but got shapes [1] and [1]",
        "Shape must be rank 1 but is rank 2",
    ),
    (
        strided,
        "begin, end, and strides to be 1D equal size tensors, but got shapes [1], [2], and [1]",
        "Dimension 0 in both shapes must be equal, but are 1 and 2. Shapes are [1] and [2]",
    ),
    (
        lambda: tf.constant(SIX)[::0],
        "strides[0] must be non-zero",
        "strides[0] must be non-zero",
    ),
    (
        lambda: tf.constant(SIX)[0, 0, 0],
        "Index out of range using input dim 2; input has only 2 dims",
        "Index out of range using input dim 2; input has only 2 dims",
    ),
    (
        lambda: tf.scatter_nd([[0]], [1.0, 2.0], [3]),
        "Dimensions [0,1) of indices[shape=[1,1]] must match dimensions [0,1) of updates",
        "indices[shape=[1,1]] = [1] must match dimensions [0,1) of updates[shape=[2]] = [2]",
    ),
    (
        lambda: tf.tensor_scatter_nd_update(SIX[0], [[0]], [1.0, 2.0]),
        "Outer dimensions of indices and update must match. Indices shape: [1,1], updates shape",
        "Dimensions [0,1) of indices[shape=[1,1]] = [1] must match dimensions [0,1)",
    ),
    (
        lambda: tf.range(5, 0),
        "Requires start <= limit when delta > 0: 5/0",
        "Requires start <= limit when delta > 0: 5/0",
    ),
]
RUN_ONLY: list[tuple[Call, str]] = [  # TensorFlow's graphs take these, and fail when they run
    (lambda: tf.slice(SIX, [0, 0], [3, 1]), "Expected size[0] in [0, 2], but got 3"),
    (lambda: tf.slice(SIX, [0, 4], [1, 1]), "Expected begin[1] in [0, 3], but got 4"),
    (
        lambda: tf.pad(SIX, [[2, 1], [1, 1]], "REFLECT"),
        "paddings must be less than the dimension size: 2, 1 not less than 2",
    ),
    (
        lambda: tf.pad(SIX, [[3, 1], [1, 1]], "SYMMETRIC"),
        "paddings must be no greater than the dimension size: 3, 1 greater than 2",
    ),
    (lambda: tf.reshape(SIX, 4), "Input to reshape is a tensor with 6 values, but the requested"),
    (lambda: tf.reshape(SIX, [-1, -1]), "Only one input size may be -1, not both 0 and 1"),
    (lambda: tf.one_hot([0], 3, axis=5), "Expected axis to be -1 or between [0, 2)."),
    (lambda: tf.tile(SIX, [1, -1]), "Expected multiples[1] >= 0, but got -1"),
    (
        lambda: tf.dynamic_partition(SIX, [0], 2),
        "data.shape must start with partitions.shape, got data.shape = [2,3]",
    ),
]
WORDS = [(call, words) for call, words, _ in CASES] + RUN_ONLY


@pytest.mark.parametrize(("call", "words"), WORDS, ids=[words for _, words in WORDS])
def test_words_when_it_runs(call: Call, words: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(words)):
        call()


@pytest.mark.parametrize(
    ("call", "words"), [(call, words) for call, _, words in CASES], ids=[c[1] for c in CASES]
)
def test_words_in_a_graph(call: Call, words: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=re.escape(words)):
        call()


@pytest.mark.parametrize(
    ("shape", "error", "words"),
    [
        ([-1, 2], ValueError, "Error converting shape to a TensorShape: Dimension -1 must be >= 0"),
        (["a"], TypeError, "Error converting shape to a TensorShape: Dimension value must be int"),
        ("a", TypeError, "Error converting shape to a TensorShape: Failed to convert"),
    ],
)
def test_words_about_the_shape_of_a_placeholder(shape: Any, error: Any, words: str) -> None:
    with tf.Graph().as_default(), pytest.raises(error, match=words):
        tf.compat.v1.placeholder(tf.float32, shape)


def test_paddings_beyond_all_sizes():
    """They had wrapped around, with a warning."""
    paddings = tf.constant([[2**62, 2**62]], tf.int64)
    for op in (tf.raw_ops.Pad, lambda **given: tf.raw_ops.PadV2(**given, constant_values=1.0)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="sizes below 2"):
            op(input=np.zeros(2, np.float32), paddings=paddings)
        with pytest.raises(ValueError, match="sizes below 2"):
            tf.function(lambda x, op=op: op(input=x, paddings=paddings))(tf.zeros([2]))
