"""RaggedTensor: factories, parts, indexing, operators, graphs and functions."""

import numpy as np
import pytest

import penstock as tf
from penstock.compat import v1

RT = tf.RaggedTensor


def ragged():
    return tf.ragged.constant([[1, 2], [], [3]])


def deep():
    return tf.ragged.constant([[[1, 2], []], [], [[3]]])


@pytest.mark.parametrize(
    ("factory", "part"),
    [
        (RT.from_row_splits, [0, 2, 2, 3]),
        (RT.from_row_lengths, [2, 0, 1]),
        (RT.from_value_rowids, [0, 0, 2]),
        (RT.from_row_starts, [0, 2, 2]),
        (RT.from_row_limits, [2, 2, 3]),
    ],
)
def test_factories(factory, part):
    x = factory([1, 2, 3], part)
    assert x.to_list() == [[1, 2], [], [3]]
    assert x.row_splits.dtype == tf.int64
    assert factory([1, 2, 3], np.int32(part)).row_splits.dtype == tf.int32
    assert repr(x) == "<tf.RaggedTensor [[1, 2], [], [3]]>"


@pytest.mark.parametrize(
    ("factory", "part", "error"),
    [
        (RT.from_row_splits, [1, 3], tf.errors.InvalidArgumentError),
        (RT.from_row_splits, [0, 3, 2, 3], tf.errors.InvalidArgumentError),
        (RT.from_row_splits, [0, 2], tf.errors.InvalidArgumentError),
        (RT.from_row_splits, [], ValueError),
        (RT.from_row_splits, [[0, 3]], ValueError),
        (RT.from_row_splits, [0.0, 3.0], ValueError),
        (RT.from_row_lengths, [4, -1], tf.errors.InvalidArgumentError),
        (RT.from_value_rowids, [0, 2, 0], tf.errors.InvalidArgumentError),
        (RT.from_value_rowids, [0, 0], ValueError),
        (RT.from_row_starts, [0, 5], tf.errors.InvalidArgumentError),
        (RT.from_row_limits, [1, 2], tf.errors.InvalidArgumentError),
        (RT.from_uniform_row_length, 2, ValueError),
        (RT.from_uniform_row_length, -1, ValueError),
        (RT.from_nested_row_splits, tf.constant([0, 3]), TypeError),
    ],
)
def test_factories_refuse_what_is_no_partition(factory, part, error):
    with pytest.raises(error):
        factory([1, 2, 3], part)


def test_shapes_and_parts():
    x = deep()
    assert x.shape.as_list() == [3, None, None]
    assert x.ragged_rank == 2
    assert x.bounding_shape().numpy().tolist() == [3, 2, 2]
    assert [s.numpy().tolist() for s in x.nested_row_splits] == [[0, 2, 2, 3], [0, 2, 2, 3]]
    assert x.row_lengths(axis=2).to_list() == [[2, 0], [], [1]]
    assert x.value_rowids().numpy().tolist() == [0, 0, 2]
    uniform = RT.from_uniform_row_length(x.values, 1)
    assert uniform.shape.as_list() == [3, 1, None]
    assert RT.from_uniform_row_length(tf.zeros([0]), 0, nrows=3).to_list() == [[], [], []]


KEYS = [
    (np.s_[0], [[1, 2], []]),
    (np.s_[-1, 0], [3]),
    (np.s_[1:], [[], [[3]]]),
    (np.s_[::-1], [[[3]], [], [[1, 2], []]]),
    (np.s_[:, 1:], [[[]], [], []]),
    (np.s_[..., :1], [[[1], []], [], [[3]]]),
    (np.s_[:, :, ::-1], [[[2, 1], []], [], [[3]]]),
    (np.s_[:, :, -1:], [[[2], []], [], [[3]]]),
    (np.s_[:, None], [[[[1, 2], []]], [[]], [[[3]]]]),
    (np.s_[None], [[[[1, 2], []], [], [[3]]]]),
    (np.s_[0, 0, 1], 2),
]


@pytest.mark.parametrize(("key", "want"), KEYS)
def test_indexing(key, want):
    found = deep()[key]
    assert (found.to_list() if isinstance(found, RT) else found.numpy().tolist()) == want


@pytest.mark.parametrize(
    ("key", "error"),
    [(np.s_[:, 0], ValueError), ("a", TypeError), (1.5, TypeError), (3, IndexError)],
)
def test_indices_that_are_refused(key, error):
    with pytest.raises(error):
        ragged()[key]


def test_dense_and_sparse_forms():
    x = ragged()
    assert x.to_tensor(-1).numpy().tolist() == [[1, 2], [-1, -1], [3, -1]]
    assert x.to_tensor(shape=[2, 3]).numpy().tolist() == [[1, 2, 0], [0, 0, 0]]
    assert RT.from_sparse(x.to_sparse()).to_list() == x.to_list()
    assert RT.from_tensor([[1, 0], [3, 4]], padding=0).to_list() == [[1], [3, 4]]
    assert RT.from_tensor([[1, 0], [3, 4]], lengths=[2, 1]).to_list() == [[1, 0], [3]]
    gap = tf.SparseTensor([[0, 1]], [1], [1, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not right-ragged"):
        RT.from_sparse(gap)
    with pytest.raises(ValueError, match="but not both"):
        RT.from_tensor([[1]], lengths=[1], padding=0)


def test_merge_dims():
    x = deep()
    assert x.merge_dims(0, 1).to_list() == [[1, 2], [], [3]]
    assert x.merge_dims(-2, -1).to_list() == [[1, 2], [], [3]]
    assert x.merge_dims(0, 2).numpy().tolist() == [1, 2, 3]


def test_operators_broadcast():
    x = ragged()
    assert (x + 1).to_list() == [[2, 3], [], [4]]
    assert (10 - x).to_list() == [[9, 8], [], [7]]
    assert (x * tf.constant([[1], [2], [3]])).to_list() == [[1, 2], [], [9]]
    assert (deep() + tf.constant([[[10]], [[20]], [[30]]])).to_list() == [
        [[11, 12], []],
        [],
        [[33]],
    ]
    assert ((x > 1) & (x < 3)).to_list() == [[False, True], [], [False]]
    assert (x == x).to_list() == [[True, True], [], [True]]
    assert (x == None) is False  # noqa: E711
    with pytest.raises(tf.errors.InvalidArgumentError, match="row lengths differ"):
        x + tf.ragged.constant([[1], [2], [3]])
    with pytest.raises(ValueError, match=r"mismatched row_splits dtypes.*with_row_splits_dtype"):
        x + x.with_row_splits_dtype(tf.int32)


def test_what_a_ragged_tensor_is_not():
    x = ragged()
    for call in (bool, len, hash):
        with pytest.raises(TypeError):
            call(x)
    with pytest.raises(ValueError, match="to_tensor"):
        tf.convert_to_tensor(x)
    with pytest.raises(ValueError, match="private"):
        RT([1], [0, 1])


def test_constant_checks_its_nesting():
    assert tf.ragged.constant([[1.5], []]).dtype == tf.float32
    assert tf.ragged.constant([[[1, 2]], []], ragged_rank=1).shape.as_list() == [2, None, 2]
    assert tf.ragged.constant([[]]).to_list() == [[]]
    for bad, rank in (([[1, 2], 3], None), ([1], 1), ([[[1, 2], [3]]], 1), ([[1]], -1)):
        with pytest.raises(ValueError, match=r"depth|inconsistent|nonnegative"):
            tf.ragged.constant(bad, ragged_rank=rank)


def test_sessions_feed_and_fetch():
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.ragged.placeholder(tf.int32, 1)
        fed = v1.ragged.constant_value([[1, 2], [], [3]], dtype=np.int32)
        y, first = session.run([x + x, x[:, :1]], {x: fed})
        assert (y.to_list(), first.to_list()) == ([[2, 4], [], [6]], [[1], [], [3]])
        checked = RT.from_row_splits(x.values, x.row_splits + 1)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(checked, {x: fed})


def test_symbolic_gradients_of_ragged_tensors_are_ragged():
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.ragged.placeholder(tf.float32, 1)
        (found,) = tf.gradients(x * x, x)
        fed = v1.ragged.constant_value([[1, 2], [], [3]], dtype=np.float32)
        assert session.run(found, {x: fed}).to_list() == [[2, 4], [], [6]]


def test_functions_take_and_return_ragged_tensors():
    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)])
    def double(x):
        return x * 2, x.row_lengths()

    twice, lengths = double(ragged())
    assert twice.to_list() == [[2, 4], [], [6]]
    assert lengths.numpy().tolist() == [2, 0, 1]


def test_specs():
    spec = tf.RaggedTensorSpec([3, None], tf.int32)
    assert spec == ragged()._type_spec
    assert spec.is_compatible_with(ragged())
    assert not spec.is_compatible_with(deep())
    assert spec._batch(2) == tf.RaggedTensorSpec([2, 3, None], tf.int32)
    assert spec._from_tensor_list(spec._to_tensor_list(ragged())).to_list() == [[1, 2], [], [3]]
    with pytest.raises(ValueError, match="less than rank"):
        tf.RaggedTensorSpec([2], tf.int32, 1)


def test_row_partitions():
    part = tf.experimental.RowPartition.from_row_lengths([2, 0, 1])
    assert repr(part) == "tf.RowPartition(row_splits=[0 2 2 3])"
    assert part.offsets_in_rows().numpy().tolist() == [0, 1, 0]
    even = tf.experimental.RowPartition.from_uniform_row_length(2, nvals=6)
    assert (even.static_nrows, even.static_nvals, even.static_uniform_row_length) == (3, 6, 2)
    assert even.is_uniform()


@pytest.mark.parametrize("splits", [[1, 2, 3], [0, 2, 1], []])
@pytest.mark.parametrize("inner", [(), (2,)])
def test_dense_tensors_of_row_splits_that_are_none(splits, inner):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid row split size"):
        dense(-1, tf.zeros([3, *inner]), splits)


@pytest.mark.parametrize("shape", [[-2, 1], [-1, -2]])
def test_dense_tensors_of_sizes_that_are_none(shape):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Dimension -2 must be >= -1"):
        dense(shape, tf.zeros([3]), [0, 1, 3])


def dense(shape, values, splits):
    return tf.raw_ops.RaggedTensorToTensor(
        shape=shape,
        values=values,
        default_value=0.0,
        row_partition_tensors=[tf.constant(splits, tf.int64)],
        row_partition_types=["ROW_SPLITS"],
    )


def test_a_tensor_given_as_a_partition_keeps_its_shape():
    with tf.Graph().as_default():
        given = tf.compat.v1.placeholder(tf.int64)
        values = tf.compat.v1.placeholder(tf.float32)
        for make in (
            tf.RaggedTensor.from_row_lengths,
            tf.RaggedTensor.from_row_splits,
            tf.RaggedTensor.from_row_starts,
            tf.RaggedTensor.from_row_limits,
        ):
            make(values, given)
        assert given.shape.rank is None
