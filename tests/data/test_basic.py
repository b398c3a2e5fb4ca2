"""Datasets in memory and what is done with them most: RangeDataset to PrefetchDataset.

TensorDataset TensorSliceDataset MapDataset ParallelMapDatasetV2 FilterDataset BatchDatasetV2
TakeDataset SkipDataset RepeatDataset PrefetchDataset FlatMapDataset InterleaveDataset
ConcatenateDataset ZipDataset DatasetCardinality
"""

import pytest

import penstock as tf

D = tf.data.Dataset


def numbers(dataset):
    return [x.tolist() for x in dataset.as_numpy_iterator()]


def test_range():
    assert numbers(D.range(3)) == [0, 1, 2]
    assert numbers(D.range(5, 0, -2)) == [5, 3, 1]
    assert D.range(3, output_type=tf.int32).element_spec == tf.TensorSpec([], tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="step"):
        D.range(0, 1, 0)


def test_map_batch_prefetch():
    dataset = D.range(10).map(lambda x: x * 2, num_parallel_calls=2).prefetch(2).batch(4)
    assert numbers(dataset) == [[0, 2, 4, 6], [8, 10, 12, 14], [16, 18]]
    assert len(dataset) == 3


def test_an_error_costs_its_element():
    dataset = D.range(4).map(
        lambda x: tf.debugging.check_numerics(1.0 / tf.cast(x - 1, tf.float32), "x")
    )
    iterator = iter(dataset)
    assert float(next(iterator)) == -1.0
    with pytest.raises(tf.errors.InvalidArgumentError):
        next(iterator)
    assert float(next(iterator)) == 1.0
