"""Arguments of methods at their edges, what is known of results, and how datasets are shown."""

import numpy as np
import pytest

import penstock as tf

D = tf.data.Dataset


def test_range_takes_int64():
    with pytest.raises(ValueError, match="int64 for Tensor with dtype int32"):
        D.range(tf.constant(4))
    assert list(D.range(np.int32(3)).as_numpy_iterator()) == [0, 1, 2]


@pytest.mark.parametrize("dtype", [tf.string, tf.bool, tf.complex64])
def test_range_of_no_numbers(dtype):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"got {dtype.name}"):
        D.range(3, output_type=dtype)


def test_prefetch_of_none():
    assert list(D.range(3).prefetch(None).as_numpy_iterator()) == [0, 1, 2]


@pytest.mark.parametrize("calls", [0, -5])
def test_map_with_no_calls(calls):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"greater than zero, got {calls}"):
        D.range(3).map(lambda x: x, num_parallel_calls=calls)


@pytest.mark.parametrize("nothing", [(), {}])
def test_zip_of_nothing(nothing):
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least one dataset"):
        D.zip(nothing)


def test_samples_without_a_weight():
    mixed = D.sample_from_datasets([D.range(3), D.range(3)], weights=[0.0, 0.0])
    assert mixed.element_spec == tf.TensorSpec([], tf.int64)
    assert list(mixed) == []


def test_padded_shapes_in_a_list():
    pairs = D.zip((D.range(4).map(tf.range), D.range(4)))
    with pytest.raises(TypeError, match="type 'list'"):
        pairs.padded_batch(2, padded_shapes=[[5], []])


@pytest.mark.parametrize(
    ("sizes", "drops", "rows"),
    [(3, False, 3), (6, False, 6), (4, False, None), (4, True, 4), ([3, 3], False, 3),
     ([4, 2], False, None)],
)  # fmt: skip
def test_known_rows_of_rebatch(sizes, drops, rows):
    stacks = D.range(12).batch(6, drop_remainder=True).rebatch(sizes, drops)
    assert stacks.element_spec == tf.TensorSpec([rows], tf.int64)
    unknown = D.range(12).batch(6).rebatch(sizes)
    assert unknown.element_spec == tf.TensorSpec([None], tf.int64)


def test_dense_shape_of_sparse_elements():
    rows = tf.SparseTensor([[0, 0], [1, 2]], [1, 2], [3, 4])
    dense = D.from_tensor_slices(rows).map(tf.sparse.to_dense)
    assert dense.element_spec == tf.TensorSpec([4], tf.int32)
    stacks = D.from_tensor_slices(rows).batch(2).map(tf.sparse.to_dense)
    assert stacks.element_spec == tf.TensorSpec([None, 4], tf.int32)


class Mine(D):
    """A dataset of a program's own class."""

    def __init__(self):
        self._numbers = D.range(3)
        super().__init__(self._numbers._variant_tensor)

    def _inputs(self):
        return [self._numbers]

    @property
    def element_spec(self):
        return self._numbers.element_spec


@pytest.mark.parametrize(
    ("dataset", "name"),
    [
        (D.range(3), "_RangeDataset"),
        (D.range(3).cache(), "CacheDataset"),
        (D.range(3).batch(2), "_BatchDataset"),
        (D.from_generator(list, tf.int32), "_FlatMapDataset"),
        (tf.data.TFRecordDataset("a"), "TFRecordDatasetV2"),
        (tf.data.TextLineDataset("a"), "TextLineDatasetV2"),
        (Mine(), "Mine"),
        (tf.data.experimental.from_variant(D.range(3)._variant_tensor, tf.TensorSpec([], tf.int64)),
         "_VariantDataset"),
    ],
)  # fmt: skip
def test_datasets_are_shown(dataset, name):
    assert repr(dataset) == f"<{name} element_spec={dataset.element_spec}>"


def test_numpy_iterator_is_shown():
    assert repr(D.range(3).as_numpy_iterator()).startswith("NumpyIterator(iterator=")
