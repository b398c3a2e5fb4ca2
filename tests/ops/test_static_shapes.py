"""Static shapes of operations whose inputs are known in part, as TensorFlow 2.21 gives them.

Each expression of the table is built in a graph; above it stand the shapes of its results, "?" for
an unknown rank, or the class of the error. An unknown size is None.
"""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1


def placeholder(*dims: Any, dtype: Any = tf.float32) -> Any:
    """A tensor of a shape that is known in part."""
    return v1.placeholder(dtype, dims)


def any_rank(dtype: Any = tf.float32) -> Any:
    """A tensor of which no rank is known."""
    return v1.placeholder(dtype)


def read_list(read: Any) -> Any:
    """What `read` takes out of a list of elements of shape [?, 2]."""
    return read(
        tf.raw_ops.TensorListReserve(
            element_shape=[-1, 2], num_elements=3, element_dtype=tf.float32
        )
    )


def gradient(function: Any, x: Any) -> Any:
    """The gradient of a function's result by its argument."""
    return v1.gradients(function(x), x)[0]


NAMES = {
    "tf": tf,
    "v1": v1,
    "N": None,
    "P": placeholder,
    "U": any_rank,
    "I": lambda: placeholder(dtype=tf.int32),
    "LIST": read_list,
    "GRADIENT": gradient,
}
TABLE = """
(3, 5)
    tf.reshape(P(3, N), tf.unstack(tf.shape(P(3, N, 5)))[::2])
(None, 12)
    tf.reshape(P(N, 4, 3), [tf.shape(P(N, 4, 3))[0], 12])
(None, 4, 3, 1)
    tf.reshape(P(N, 4, 3), tf.concat([tf.shape(P(N, 4, 3))[:-1], [3, 1]], 0))
(4, None)
    tf.pad(P(4, N), [[0, 0], [0, 10 - tf.shape(P(4, N))[1]]])
(None, 9)
    tf.pad(P(N, 7), [[0, 4 - tf.shape(P(N, 7))[0]], [1, 1]], constant_values=1.0)
(7, None)
    tf.pad(P(4, 3), tf.stack([[1, 2], tf.stack([0, I()])]), 'REFLECT')
(None, 2, 2)
    tf.zeros(tf.concat([tf.shape(P(N, 3))[:1], [2, 2]], 0))
(0, None)
    tf.tile(P(0, 3), P(N, dtype=tf.int32))
(0,)
    tf.tile(U(), [0])
?
    tf.image.grayscale_to_rgb(U())
(None, 14, 14, None)
    tf.nn.conv2d(P(N, 28, 28, 3), U(), 2, 'SAME')
(None, 14, 14, 8)
    tf.nn.conv2d(P(N, 28, 28, 3), P(N, N, 3, 8), 2, 'SAME')
(None, None, 13, 8)
    tf.nn.conv2d(P(N, 28, 28, 3), P(N, 3, 3, 8), 2, 'VALID')
(None, 4, 4, 4, 8)
    tf.nn.conv3d(P(N, 8, 8, 8, 3), P(N, N, N, 3, 8), [1, 2, 2, 2, 1], 'SAME')
(None, 28, 28, 6)
    tf.nn.depthwise_conv2d(P(N, 28, 28, 3), P(N, N, 3, 2), [1, 1, 1, 1], 'SAME')
(5, None, None, None)
    tf.raw_ops.Conv2DBackpropInput(input_sizes=P(4, dtype=tf.int32), filter=P(3, 3, 4, 8),
        out_backprop=P(5, 14, 14, 8), strides=[1, 2, 2, 1], padding='SAME')
(None, None, None, None)
    tf.nn.max_pool2d(U(), 2, 2, 'SAME')
(None, None, None, None)
    tf.raw_ops.MaxPoolGrad(orig_input=U(), orig_output=U(), grad=U(), ksize=[1, 2, 2, 1],
        strides=[1, 2, 2, 1], padding='SAME')
(None, None, None, 3) (3,) (3,) (0,) (0,)
    tf.raw_ops.FusedBatchNormGradV3(y_backprop=U(), x=U(), scale=P(3), reserve_space_1=P(3),
        reserve_space_2=P(3), reserve_space_3=P(0))
?
    tf.nn.softmax_cross_entropy_with_logits(P(3, 6), U())
(3,) (3, 6)
    tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=U(), labels=P(3, 6))
(None, None, None, 3)
    tf.space_to_batch(P(2, 28, 28, 3), P(2, dtype=tf.int32), P(2, 2, dtype=tf.int32))
(None, None, None, 5, 3)
    tf.batch_to_space(P(8, 14, 14, 5, 3), P(2, dtype=tf.int32), P(2, 2, dtype=tf.int32))
(None, None, None, None)
    tf.raw_ops.SpaceToBatch(input=U(), paddings=[[0, 0], [0, 0]], block_size=2)
(2, 3, 4)
    tf.linalg.set_diag(P(N, 3, 4), P(2, 3))
(2, None, None)
    tf.linalg.set_diag(U(), P(2, 3))
(2, 3, None)
    tf.raw_ops.MatrixSolve(matrix=P(2, 3, 3), rhs=U())
(2, 4, None)
    tf.raw_ops.MatrixSolveLs(matrix=P(2, 3, 4), rhs=U(), l2_regularizer=0.0)
(2, None, 1)
    tf.raw_ops.MatrixSolveLs(matrix=U(), rhs=P(2, 3, 1), l2_regularizer=0.0)
(2, 5, None)
    tf.raw_ops.BatchMatMul(x=P(2, 5, 3), y=U())
(2, None, 4)
    tf.raw_ops.BatchMatMul(x=U(), y=P(2, 4, 3), adj_y=True)
(None, None)
    tf.raw_ops.Reverse(tensor=U(), dims=[True, False])
(None, None, None, None)
    tf.raw_ops.CropAndResizeGradImage(grads=P(4, 1, 5, 3), boxes=P(4, 4), box_ind=P(4,
        dtype=tf.int32), image_size=P(N, dtype=tf.int32), T=tf.float32)
(2,)
    tf.raw_ops.RandomIndexShuffle(index=P(2, dtype=tf.int32), seed=P(3, dtype=tf.int32),
        max_index=U(tf.int32))
(4, 5) () ()
    tf.raw_ops.QuantizeAndDequantizeV4Grad(gradients=P(4, 5), input=P(4, 5), input_min=U(),
        input_max=U())
(None,) (None,) (None,) (3,)
    tf.raw_ops.RaggedFillEmptyRows(value_rowids=P(N, dtype=tf.int64), values=P(3),
        nrows=P(dtype=tf.int64), default_value=P())
TypeError
    tf.raw_ops.StridedSlice(input=P(4, N), begin=[], end=[], strides=[], ellipsis_mask=2)
(None, 2)
    LIST(lambda held: tf.raw_ops.TensorListGetItem(input_handle=held, index=I(),
        element_shape=-1, element_dtype=tf.float32))
(None, 2)
    LIST(lambda held: tf.raw_ops.TensorListPopBack(input_handle=held, element_shape=-1,
        element_dtype=tf.float32)[1])
(3, None, 2)
    LIST(lambda held: tf.raw_ops.TensorListStack(input_handle=held, element_shape=-1,
        element_dtype=tf.float32, num_elements=3))
(2, None, 2)
    LIST(lambda held: tf.raw_ops.TensorListGather(input_handle=held, indices=[2, 0],
        element_shape=-1, element_dtype=tf.float32))
(None, 2)
    LIST(lambda held: tf.raw_ops.TensorListConcatV2(input_handle=held, element_shape=-1,
        leading_dims=P(N, dtype=tf.int64), element_dtype=tf.float32)[0])
(2,)
    LIST(lambda held: tf.raw_ops.TensorListElementShape(input_handle=held,
        shape_type=tf.int32))
(4, 2)
    LIST(lambda held: tf.raw_ops.TensorListGetItem(
        input_handle=tf.raw_ops.TensorListSetItem(input_handle=held,
        index=0, item=P(4, 2)), index=1, element_shape=[4, -1], element_dtype=tf.float32))
(None, 2)
    tf.raw_ops.TensorListGetItem(input_handle=tf.raw_ops.TensorListFromTensor(tensor=P(5, 3,
        2), element_shape=[-1, 2]), index=1, element_shape=-1, element_dtype=tf.float32)
(None, 3, 2)

        tf.raw_ops.LookupTableFindV2(table_handle=tf.raw_ops.MutableHashTableOfTensorsV2(key_dtype=tf.string,
        value_dtype=tf.int64, value_shape=[2]), keys=P(N, 3, dtype=tf.string),
        default_value=tf.constant([0, 0], tf.int64))
(None, 3)

        tf.raw_ops.LookupTableFindV2(table_handle=tf.raw_ops.MutableHashTableV2(key_dtype=tf.string,
        value_dtype=tf.int64), keys=P(N, 3, dtype=tf.string), default_value=tf.constant(0,
        tf.int64))
(4, 5)
    GRADIENT(lambda x: tf.sparse.sparse_dense_matmul(v1.sparse_placeholder(tf.float32, [3, 4]),
        x), P(4, 5))
(4, None)
    GRADIENT(lambda x: tf.reshape(x, P(N, dtype=tf.int32)), P(4, N))
ValueError
    tf.reshape(P(N, 3), [5, 2])
ValueError
    tf.reshape(P(N, 0), [3])
ValueError
    tf.reshape(P(2, 3), [4, I()])
ValueError
    tf.broadcast_to(P(1), I())
ValueError
    tf.raw_ops.Conv2DBackpropInput(input_sizes=I(), filter=P(3, 3, 4, 8), out_backprop=P(5, 14,
        14, 8), strides=[1, 2, 2, 1], padding='SAME')
ValueError
    tf.raw_ops.TensorListReserve(element_shape=I(), num_elements=3, element_dtype=tf.float32)
ValueError
    tf.raw_ops.SpaceToBatch(input=P(1, 1, 3, 4, 2), paddings=P(2, 2, dtype=tf.int32),
        block_size=2)
ValueError
    tf.raw_ops.BatchToSpaceND(input=P(4, 2, 2, 1), block_shape=P(2, dtype=tf.int32), crops=P(1,
        2, dtype=tf.int32))
ValueError
    tf.linalg.set_diag(P(0, N, 2), P(2, 2))
ValueError
    LIST(lambda held: tf.raw_ops.TensorListStack(input_handle=held, element_shape=[3, 4],
        element_dtype=tf.float32))
ValueError
    LIST(lambda held: tf.raw_ops.TensorListStack(input_handle=held, element_shape=[-1, 2],
        element_dtype=tf.int32))
()
    tf.reduce_logsumexp(U())
(None, 2, 2, 3) (3,) (3,) (3,) (3,) ?
    tf.raw_ops.FusedBatchNormV3(x=P(N, 2, 2, 3), scale=P(3), offset=P(3), mean=P(0), variance=P(0))
"""


def cases() -> Iterator[tuple[str, str]]:
    """Each expression of the table, which is indented, with what stands above it."""
    for part in re.split(r"\n(?=\S)", TABLE.strip()):
        wanted, _, line = part.partition("\n")
        yield " ".join(line.split()), wanted


@pytest.mark.parametrize(("line", "wanted"), list(cases()))
def test_as_in_tensorflow(line: str, wanted: str) -> None:
    with tf.Graph().as_default():
        try:
            parts = tf.nest.flatten(eval(line, dict(NAMES)))
        except Exception as problem:
            found = type(problem).__name__
        else:
            found = " ".join(
                "?" if p.shape.rank is None else str(tuple(p.shape.as_list())) for p in parts
            )
    assert found == wanted


def test_an_element_may_take_the_place_of_another() -> None:
    """A list says of its elements what it was made with, not what was set first."""

    @tf.function
    def replaced() -> Any:
        held = tf.raw_ops.TensorListReserve(
            element_shape=[-1, 2], num_elements=3, element_dtype=tf.float32
        )
        held = tf.raw_ops.TensorListSetItem(input_handle=held, index=1, item=tf.ones([3, 2]))
        held = tf.raw_ops.TensorListSetItem(input_handle=held, index=1, item=tf.ones([7, 2]))
        return tf.raw_ops.TensorListGetItem(
            input_handle=held, index=1, element_shape=-1, element_dtype=tf.float32
        )

    assert replaced.get_concrete_function().structured_outputs.shape.as_list() == [None, 2]
    assert replaced().shape == (7, 2)


def test_keys_that_are_vectors() -> None:
    """The values of a table whose keys are vectors are fewer than the numbers of its keys."""

    @tf.function
    def found(keys: Any) -> Any:
        empty, deleted = tf.constant([0, 0], tf.int64), tf.constant([-1, -1], tf.int64)
        table = tf.raw_ops.MutableDenseHashTableV2(
            empty_key=empty, deleted_key=deleted, value_dtype=tf.float32
        )
        return tf.raw_ops.LookupTableFindV2(table_handle=table, keys=keys, default_value=7.0)

    assert np.array_equal(found(tf.constant([[1, 2], [3, 4]], tf.int64)), [7.0, 7.0])


def test_the_gradient_of_a_tape_has_the_shape_of_its_source() -> None:
    """Rules along the way may know less than the source."""

    @tf.function(input_signature=[tf.TensorSpec([4, 5]), tf.TensorSpec([None], tf.int32)])
    def slope(x: Any, shape: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.reshape(x, shape) ** 2)
        return tape.gradient(y, x)

    assert slope.get_concrete_function().structured_outputs.shape == (4, 5)
    assert np.array_equal(slope(tf.ones([4, 5]), [20]), np.full([4, 5], 2.0))


def test_an_ellipsis_alone_in_a_slice_takes_all() -> None:
    none = tf.constant([], tf.int32)
    kept = tf.raw_ops.StridedSlice(
        input=tf.ones([2, 3]), begin=none, end=none, strides=none, ellipsis_mask=2
    )
    assert kept.shape == (2, 3)


def test_grey_images_of_any_rank_get_colours() -> None:
    coloured = tf.function(
        tf.image.grayscale_to_rgb, input_signature=[tf.TensorSpec(None, tf.float32)]
    )
    assert coloured(tf.ones([2, 4, 5, 1])).shape == (2, 4, 5, 3)
    assert coloured(tf.ones([4, 5, 1])).shape == (4, 5, 3)
