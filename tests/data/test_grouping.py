"""What groups elements, chooses among datasets and makes other stacks.

GroupByWindowDataset GroupByReducerDataset ExperimentalGroupByReducerDataset
DirectedInterleaveDataset ExperimentalDirectedInterleaveDataset AssertCardinalityDataset
DatasetFingerprint RebatchDatasetV2 DenseToSparseBatchDataset ExperimentalDenseToSparseBatchDataset
"""

import numpy as np
import pytest

import penstock as tf

D = tf.data.Dataset


def values(dataset):
    return [np.asarray(x).tolist() for x in dataset.as_numpy_iterator()]


def states(dataset):
    """The elements that are left after each position, by a saved and restored iterator."""
    iterator, found = iter(dataset), []
    while True:
        other = iter(dataset)
        other._restore_from_tensors(iterator._serialize_to_tensors())
        found.append([np.asarray(x).tolist() for x in other])
        try:
            next(iterator)
        except StopIteration:
            return found


def check_positions(dataset):
    whole = values(dataset)
    assert states(dataset) == [whole[i:] for i in range(len(whole) + 1)]


def windows(**size):
    return D.range(7).group_by_window(lambda x: x % 2, lambda key, window: window.batch(9), **size)


def test_windows():
    assert values(windows(window_size=2)) == [[0, 2], [1, 3], [4, 6], [5]]
    assert values(windows(window_size_func=lambda key: key + 1)) == [
        [0], [2], [1, 3], [4], [6], [5],
    ]  # fmt: skip
    assert windows(window_size=2).element_spec == tf.TensorSpec([None], tf.int64)
    assert int(windows(window_size=2).cardinality()) == tf.data.UNKNOWN_CARDINALITY


def test_what_is_infinite_stays_so():
    endless = D.range(3).repeat()
    grouped = endless.group_by_window(lambda x: x, lambda k, w: w, window_size=2)
    assert int(grouped.cardinality()) == tf.data.INFINITE_CARDINALITY
    chosen = D.choose_from_datasets([endless, D.range(2)], D.range(2).repeat())
    assert int(chosen.cardinality()) == tf.data.INFINITE_CARDINALITY


def test_ragged_rows_in_other_stacks():
    rows = D.from_tensor_slices(tf.ragged.constant([[1], [2, 3], [], [4]])).batch(3)
    assert [x.to_list() for x in rows.rebatch(2)] == [[[1], [2, 3]], [[], [4]]]


def test_positions_of_windows():
    check_positions(windows(window_size=2))
    unstacked = D.range(7).group_by_window(lambda x: x % 3, lambda k, w: w, window_size=2)
    check_positions(unstacked)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: windows(), ValueError, "window_size"),
        (lambda: windows(window_size=1, window_size_func=lambda k: k), ValueError, "window_size"),
        (lambda: values(windows(window_size=0)), tf.errors.InvalidArgumentError, "got 0"),
        (
            lambda: D.range(3).group_by_window(lambda x: "a", lambda k, w: w, 2),
            TypeError,
            "int64",
        ),
        (
            lambda: D.range(3).group_by_window(lambda x: tf.cast(x, tf.int32), lambda k, w: w, 2),
            ValueError,
            "int64",
        ),
        (lambda: D.range(3).group_by_window(lambda x: x, lambda k, w: k, 2), TypeError, "Dataset"),
        (
            lambda: D.range(3).group_by_window(lambda x: x, lambda k, w: w, [1, 2]),
            ValueError,
            "window_size_func",
        ),
        (lambda: D.sample_from_datasets([D.range(1)] * 2, [1, 2]), TypeError, "weights"),
    ],
)
def test_windows_that_are_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_choosing():
    pair = [D.range(3), D.range(10, 12)]
    choice = D.from_tensor_slices(tf.constant([0, 1, 1, 1, 0, 0, 0], tf.int64))
    assert values(D.choose_from_datasets(pair, choice)) == [0, 10, 11]
    passing = D.choose_from_datasets(pair, choice, stop_on_empty_dataset=False)
    assert values(passing) == [0, 10, 11, 1, 2]
    check_positions(passing)
    with pytest.raises(TypeError, match="scalar"):
        D.choose_from_datasets(pair, D.from_tensor_slices([0, 1]))
    with pytest.raises(ValueError, match="empty"):
        D.choose_from_datasets([], D.range(1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="2 >= 2"):
        values(D.choose_from_datasets(pair, D.range(5)))
    with pytest.raises(TypeError, match="Dataset 1"):
        D.choose_from_datasets([D.range(3), D.from_tensors("a")], choice)


def test_other_stacks():
    assert values(D.range(7).batch(3).rebatch(2)) == [[0, 1], [2, 3], [4, 5], [6]]
    cycle = D.range(10).batch(4).rebatch([2, 1])
    assert values(cycle) == [[0, 1], [2], [3, 4], [5], [6, 7], [8], [9]]
    check_positions(cycle)
    dropping = D.range(7).batch(3).rebatch(2, drop_remainder=True)
    assert values(dropping) == [[0, 1], [2, 3], [4, 5]]
    assert dropping.element_spec == tf.TensorSpec([2], tf.int64)
    with pytest.raises(ValueError, match="rank"):
        D.range(7).rebatch(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="got 0"):
        D.range(7).batch(3).rebatch(0)


def test_ragged_stacks():
    stacks = D.range(4).map(tf.range).ragged_batch(3)
    assert stacks.element_spec == tf.RaggedTensorSpec([None, None], tf.int64, 1)
    assert [x.to_list() for x in stacks] == [[[], [0], [0, 1]], [[0, 1, 2]]]
    inner = D.range(4).map(lambda n: tf.fill([n, 2], n)).ragged_batch(3, drop_remainder=True)
    assert inner.element_spec == tf.RaggedTensorSpec([3, None, 2], tf.int64, 1)
    assert D.range(4).ragged_batch(3).element_spec == tf.TensorSpec([None], tf.int64)


def test_sparse_stacks():
    stacks = D.range(4).map(tf.range).sparse_batch(3, [4])
    assert stacks.element_spec == tf.SparseTensorSpec([None, 4], tf.int64)
    first, second = stacks
    assert first.indices.numpy().tolist() == [[1, 0], [2, 0], [2, 1]]
    assert first.values.numpy().tolist() == [0, 0, 1]
    assert second.dense_shape.numpy().tolist() == [1, 4]
    with pytest.raises(tf.errors.DataLossError, match=r"\[5\].*larger"):
        list(D.range(6).map(tf.range).sparse_batch(3, [4]))
    with pytest.raises(TypeError, match="single"):
        D.from_tensors((1, 2)).sparse_batch(2, [1])


def test_fingerprints():
    def made(count, add, name="a"):
        rows = D.from_tensor_slices({name: np.arange(count)})
        return rows.map(
            lambda x: tf.cond(x[name] > 1, lambda: x[name] + add, lambda: x[name])
        ).batch(2)

    known = made(4, 1).fingerprint()
    assert known.dtype == tf.uint64
    assert known.shape == []
    assert int(made(4, 1).fingerprint()) == int(known)
    others = [made(5, 1), made(4, 2), made(4, 1).take(1), made(4, 1).batch(2)]
    found = {int(known), *(int(each.fingerprint()) for each in others)}
    assert len(found) == 5
