"""The sentences by which programs recognise errors: TensorFlow's, eagerly and in graphs.

Each line: what is called, what the eager error says, what building a graph of it says (None: it can
be built, or says the same as Python does elsewhere).
"""

import re

import numpy as np
import pytest
from tests.ops.phrases import check_phrases

import penstock as tf

c = tf.constant
raw = tf.raw_ops
x = np.float32([[1, 2], [3, 4]])
SPARSE = tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [3, 4])
CUBE = tf.SparseTensor([[0, 0, 1]], [1.0], [2, 2, 3])
VECTOR = tf.SparseTensor([[0]], [1.0], [2])
IMAGE, FILTER = np.ones([1, 3, 3, 1], np.float32), np.ones([1, 1, 1, 1], np.float32)
LONG = c(1, tf.int64)  # one tensor for two inputs

PHRASES = [
    (
        lambda: tf.nn.conv2d(IMAGE, FILTER, 1, "FOO"),
        'Value for attr \'padding\' of "FOO" is not in the list of allowed values: "SAME"',
        "Attr 'padding' of 'Conv2D' Op passed string 'FOO' not in: \"SAME\", \"VALID\"",
    ),
    (
        lambda: raw.MatMul(a=[[True]], b=[[True]]),
        "Value for attr 'T' of bool is not in the list of allowed values: bfloat16",
        "Value passed to parameter 'a' has DataType bool not in list of allowed values: bfloat16",
    ),
    (
        lambda: tf.strings.to_number("1", tf.uint8),
        "Value for attr 'out_type' of uint8 is not in the list of allowed values",
        "Value passed to parameter 'out_type' has DataType uint8 not in list of allowed values",
    ),
    (
        lambda: tf.strings.to_hash_bucket_fast(["a"], 0),
        "Value for attr 'num_buckets' of 0 must be at least minimum 1",
        "Attr 'num_buckets' of 'StringToHashBucketFast' Op passed 0 less than minimum 1.",
    ),
    (
        lambda: raw.DecodeCSV(records=["1"], record_defaults=[]),
        "Length for attr 'OUT_TYPE' of 0 must be at least minimum 1",
        "Attr 'OUT_TYPE' of 'DecodeCSV' Op passed list of length 0 less than minimum 1.",
    ),
    (
        lambda: raw.Pack(values=[]),
        "attr 'N'",
        "List argument 'values' to 'Pack' Op with length 0 shorter than minimum length 1.",
    ),
    (
        lambda: raw.Pack(values=[c(1), c(1.0)]),
        "cannot compute Pack as input #1(zero-based) was expected to be a int32 tensor but is a",
        "Tensors in list passed to 'values' of 'Pack' Op have types [int32, float32]",
    ),
    (
        lambda: c(1) + c(2.0),
        "cannot compute AddV2 as input #1(zero-based) was expected to be a int32 tensor but is a",
        "Input 'y' of 'AddV2' Op has type float32 that does not match type int32 of argument 'x'.",
    ),
    (
        lambda: raw.Add(x=c("a"), y=1),
        "Cannot convert 1 to EagerTensor of dtype string",
        "Expected string passed to parameter 'y' of op 'Add', got 1 of type 'int' instead.",
    ),
    (
        lambda: raw.Conv2D(input=IMAGE, filter=FILTER, strides=1, padding="SAME"),
        "Expected list for 'strides' argument to",
        "Expected list for 'strides' argument to",
    ),
    (
        lambda: raw.Bucketize(input=[1.0], boundaries=["a"]),
        "Expected float for argument 'boundaries' not 'a'",
        "Expected float for argument 'boundaries' not 'a'",
    ),
    (
        lambda: tf.add(np.zeros([2, 3]), np.zeros([2, 4])),
        "Incompatible shapes: [2,3] vs. [2,4]",
        "Dimensions must be equal, but are 3 and 4",
    ),
    (
        lambda: tf.equal(np.zeros([5, 2]), np.zeros([4, 2])),
        "Incompatible shapes: [5,2] vs. [4,2]",
        "Dimensions must be equal, but are 5 and 4",
    ),
    (
        lambda: tf.matmul(x, x[:1]),
        "Matrix size-incompatible: In[0]: [2,2], In[1]: [1,2]",
        "Dimensions must be equal, but are 2 and 1",
    ),
    (lambda: raw.MatMul(a=x[0], b=x), "rank", "Shape must be rank 2 but is rank 1"),
    (
        lambda: tf.add_n([x, x[0]]),
        "must have the same size and shape. Input 0: [2,2] != input 1: [2]",
        "Shapes must be equal rank, but are 2 and 1",
    ),
    (
        lambda: raw.AddN(inputs=[x, x[:1]]),
        "must have the same size and shape. Input 0: [2,2] != input 1: [1,2]",
        "Dimension 0 in both shapes must be equal, but are 2 and 1. Shapes are [2,2] and [1,2]",
    ),
    (
        lambda: raw.Pack(values=[x, x[0]]),
        "Shapes of all inputs must match: values[0].shape = [2,2] != values[1].shape = [2]",
        "Shapes must be equal rank, but are 2 and 1",
    ),
    (
        lambda: tf.reduce_sum(x, 2),
        "Invalid reduction dimension (2 for input with 2 dimension(s)",
        "Invalid reduction dimension 2 for input with 2 dimensions",
    ),
    (
        lambda: tf.argmax(x, 5),
        "Expected dimension in the range [-2, 2), but got 5",
        "Dimension (5) must be in the range [-2, 2), where 2 is the number of dimensions",
    ),
    (lambda: tf.cumsum(x, 2), "Expected scan axis in the range [-2, 2), but got 2", None),
    (
        lambda: tf.math.top_k([1, 3, 2], 5),
        "input must have at least k columns. Had 3, needed 5",
        "input must have last dimension >= k = 5 but is 3",
    ),
    (lambda: tf.math.top_k([1, 3, 2], -1), "Need k >= 0, got -1", "Need k >= 0, got -1"),
    (lambda: tf.math.invert_permutation([2, 0, 5]), "5 is not between 0 and 3", None),
    (lambda: tf.math.invert_permutation([0, 0]), "0 is duplicated in the input", None),
    (
        lambda: tf.einsum("ij,jk->ik", x, np.zeros([3, 1], np.float32)),
        "Expected dimension 2",
        "Dimensions must be equal, but are 2 and 3",
    ),
    (
        lambda: tf.math.unsorted_segment_sum([1, 2], [0, 1], [3]),
        "num_segments should be a scalar, not shape [1]",
        None,
    ),
    (
        lambda: tf.math.bincount([1, 2], weights=[1.0]),
        "`weights` must be the same shape as `arr` or a length-0 `Tensor`",
        None,
    ),
    (
        lambda: tf.sparse.reshape(SPARSE, [-1, -1]),
        "only one output dimension may be -1, not both 0 and 1",
        None,
    ),
    (lambda: tf.sparse.reshape(SPARSE, [-1, 5]), "requested shape requires a multiple of 5", None),
    (
        lambda: tf.sparse.reshape(SPARSE, [5, 2]),
        "with 12 dense values, but the requested shape has 10",
        None,
    ),
    (
        lambda: tf.sparse.slice(SPARSE, [0], [2]),
        "Expected start to be a vector of length 2 but got length 1",
        None,
    ),
    (
        lambda: tf.sparse.split(SPARSE, 5, axis=1),
        "between 1 and the splitting dimension size (4), got 5",
        None,
    ),
    (
        lambda: tf.sparse.split(SPARSE, 2, axis=3),
        "Input axis should be in range [-2, 2), got 3",
        None,
    ),
    (
        lambda: tf.sparse.concat(0, [SPARSE, CUBE]),
        "Ranks of all input tensors must match: expected 2 but got 3 at",
        None,
    ),
    (
        lambda: tf.sparse.concat(2, [SPARSE, SPARSE]),
        "Concat dimension must be in range [-2, 2), got 2",
        None,
    ),
    (
        lambda: tf.sparse.add(SPARSE, tf.ones([4])),
        "Two operands have different ranks; received: 2 and 1",
        None,
    ),
    (
        lambda: tf.sparse.add(SPARSE, tf.ones([3, 5])),
        "Dimension 1 does not equal (no broadcasting is supported)",
        None,
    ),
    (lambda: tf.sparse.minimum(SPARSE, CUBE), "Operands do not have the same ranks", None),
    (
        lambda: tf.sparse.reduce_sum(SPARSE, 5),
        "Invalid reduction dimension 5, for input with 2 dimensions",
        None,
    ),
    (
        lambda: tf.sparse.sparse_dense_matmul(SPARSE, tf.ones([3, 2])),
        "Cannot multiply A and B because inner dimension does not match: 4 vs. 3. Did you forget",
        "Dimensions must be equal, but are 4 and 3",
    ),
    (
        lambda: tf.sparse.sparse_dense_matmul(SPARSE, tf.ones([4])),
        "Tensor 'b' is not a matrix",
        "Shape must be rank 2 but is rank 1",
    ),
    (lambda: tf.sparse.softmax(VECTOR), "Input should have rank >= 2, but received", None),
    (
        lambda: tf.sparse.reset_shape(SPARSE, [1, 1]),
        "new_shape should have dimension sizes >= sp_input.shape",
        None,
    ),
    (lambda: tf.sparse.reset_shape(SPARSE, [5]), "Dimensions 2 and 1 are not compatible", None),
    (
        lambda: tf.sparse.to_dense(tf.SparseTensor([[1], [0]], [1, 2], [2])),
        "indices[1] = [0] is out of order. Many sparse ops require sorted indices",
        None,
    ),
    (
        lambda: tf.linalg.inv(np.ones([2, 3])),
        "Input matrix must be square",
        "Dimensions must be equal, but are 2 and 3",
    ),
    (
        lambda: tf.linalg.solve(x, x[:1]),
        "Input matrix and rhs are incompatible",
        "Dimensions must be equal, but are 2 and 1",
    ),
    (
        lambda: tf.linalg.cross([1.0, 0.0], [0.0, 1.0]),
        "only defined for 3-element vectors",
        "Dimension must be 3 but is 2",
    ),
    (
        lambda: tf.linalg.diag([1, 2], k=(1, 0)),
        "lower_diag_index must not be larger than upper_diag_index: 1 > 0",
        None,
    ),
    (
        lambda: tf.linalg.diag_part(x, k=5),
        "lower_diag_index is out of bound: 5. It must be between -2 and 2",
        None,
    ),
    (
        lambda: tf.nn.conv2d(IMAGE, np.ones([5, 1, 1, 1], np.float32), 1, "VALID"),
        "",
        "Negative dimension size caused by subtracting 5 from 3",
    ),
    (
        lambda: tf.nn.max_pool(IMAGE, 5, 1, "VALID"),
        "",
        "Negative dimension size caused by subtracting 5 from 3",
    ),
    (lambda: tf.nn.conv2d(IMAGE, FILTER, 0, "SAME"), "Stride must be > 0, but got 0", None),
    (
        lambda: tf.nn.conv2d(IMAGE, FILTER, 1, "SAME", dilations=0),
        "Dilated rates should be larger than 0",
        None,
    ),
    (lambda: tf.nn.max_pool(IMAGE, 0, 1, "SAME"), "Sliding window ksize must be positive", None),
    (
        lambda: tf.nn.space_to_depth(IMAGE, 2),
        "Image width 3 and height 3 should be divisible by block_size: 2",
        "Dimension size must be evenly divisible by 2 but is 3",
    ),
    (
        lambda: tf.nn.depth_to_space(IMAGE, 2),
        "Input depth dimension",
        "Dimension size must be evenly divisible by 4 but is 1",
    ),
    (lambda: tf.nn.bias_add(x, [1.0, 2.0, 3.0]), "", "Dimensions must be equal, but are 2 and 3"),
    (
        lambda: raw.OneHot(indices=LONG, depth=LONG, on_value=1, off_value=0),
        "cannot compute OneHot as input #1(zero-based) was expected to be a int32 tensor but is a",
        "Input 'depth' of 'OneHot' Op has type int64 that does not match expected type of int32.",
    ),
    (
        lambda: tf.nn.pool(IMAGE, [2], "MAX"),
        "(1, 3, 3, 1) must have rank 3",
        "(1, 3, 3, 1) must have rank 3",
    ),
    (
        lambda: tf.nn.avg_pool(IMAGE, 2, 1, [[0, 0], [1, 1], [1, 1], [0, 0]]),
        "Expected string for argument 'padding' not [[0, 0], [1, 1], [1, 1], [0, 0]]",
        "Expected string for argument 'padding' not [[0, 0], [1, 1], [1, 1], [0, 0]]",
    ),
]


@pytest.mark.parametrize(("call", "eager", "graph"), PHRASES)
def test_phrases(call, eager, graph):
    check_phrases(call, eager, graph)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.constant([1.0]) + tf.constant([1]),
        lambda: tf.strings.length(tf.constant(1.0)),
        lambda: tf.nn.softmax(tf.constant([1])),
        lambda: tf.raw_ops.Conv2D(input=1.0, filter=1.0, strides=[1], padding="BAD"),
        lambda: tf.reshape(tf.constant([1.0]), [3]),
    ],
)
def test_eager_errors_end_with_the_operation_and_the_users_line(call):
    line = call.__code__.co_firstlineno
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        call()
    assert re.search(rf" \[Op:\w+\] \(at {re.escape(__file__)}:{line}\)$", caught.value.message)
