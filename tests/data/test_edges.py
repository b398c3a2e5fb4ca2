"""Where datasets are unusual: very deep ones, ones that give nothing, damaged states."""

import gc
import time

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.data import blocks, codec
from penstock.data.sources import _RangeStage
from penstock.data.vectorize import LARGEST
from penstock.graph.body import CallBody

v1 = tf.compat.v1


def test_pipelines_of_any_depth_are_saved():
    dataset = tf.data.Dataset.range(10)
    for _ in range(60):
        dataset = dataset.take(10)
    iterator = iter(dataset)
    next(iterator)
    state = iterator._state.save()
    again = iter(dataset)
    again._state.restore(state)
    assert [int(x) for x in again] == list(range(1, 10))


def test_a_state_of_something_else_is_refused():
    iterator = iter(tf.data.Dataset.range(3).prefetch(1))
    for ready in ([[1]], [{"columns": [1]}], 5):
        state = codec.encode({"input": 1, "ready": ready, "ended": False})
        with pytest.raises(errors.NotFoundError, match=r": expected .*, got "):
            iterator._state.restore(state)
    assert int(next(iterator)) == 0


def test_more_elements_than_a_number_counts():
    d = tf.data.Dataset
    most = 2**63 - 1
    many = d.range(2**62)
    for dataset in (
        many.repeat(3),
        many.concatenate(many),
        d.range(-(2**63), most),
        many.repeat(2**62),
    ):
        assert int(dataset.cardinality()) == len(dataset) == most
    assert int(many.repeat(4).batch(8).cardinality()) == 2**61
    assert int(many.repeat(4).take(5).cardinality()) == 5
    rows = d.from_tensor_slices(tf.zeros([4, 3])).repeat(2**62).unbatch()
    assert int(rows.cardinality()) == most
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        assert session.run(d.range(2**62).repeat(3).cardinality()) == most


def test_a_filter_that_lets_little_pass_takes_many_at_once(monkeypatch):
    taken = []
    columns = _RangeStage.columns
    monkeypatch.setattr(
        _RangeStage, "columns", lambda self, n: (taken.append(n), columns(self, n))[1]
    )
    dataset = tf.data.Dataset.range(6400).filter(lambda x: x < 0)
    assert list(dataset) == []
    assert max(taken) == blocks.BLOCK
    assert len(taken) < 120


def test_equality_with_a_number_has_rows():
    dataset = tf.data.Dataset.range(10).filter(lambda x: x % 4 == 0)
    assert dataset._variant_tensor._array.of_rows is not None
    assert list(dataset.as_numpy_iterator()) == [0, 4, 8]
    rows = tf.data.Dataset.from_tensor_slices([[1, 2], [2, 2]])
    assert [x.tolist() for x in rows.map(lambda x: x == 2).as_numpy_iterator()] == [
        [False, True],
        [True, True],
    ]


@pytest.mark.parametrize("passes", ["rows", "one by one", "reduce"])
def test_what_gives_nothing_ends_in_time(passes):
    with tf.Graph().as_default():
        endless = tf.data.Dataset.range(1 << 50)
        if passes == "reduce":
            wanted = endless.reduce(tf.constant(0, tf.int64), lambda a, b: a + b)
        else:
            source = endless if passes == "rows" else endless.shuffle(2)
            nothing = source.filter(lambda x: x < 0)
            wanted = v1.data.make_one_shot_iterator(nothing).get_next()
        with v1.Session() as session:
            start = time.monotonic()
            with pytest.raises(errors.DeadlineExceededError):
                session.run(wanted, options=v1.RunOptions(timeout_in_ms=300))
            assert time.monotonic() - start < 20


def test_functions_of_datasets_that_are_gone_are_forgotten():
    def run_once(k):
        dataset = tf.data.Dataset.range(3)
        list(dataset.flat_map(lambda x: tf.data.Dataset.range(x).map(lambda y: y * k)))

    def count():
        gc.collect()
        return sum(isinstance(each, CallBody) for each in gc.get_objects())

    run_once(1)
    before = count()
    for k in range(5):
        run_once(k)
    assert count() <= before


def test_numbers_of_a_range_that_do_not_fit_wrap():
    dataset = tf.data.Dataset.range(254, 258, output_type=tf.uint8)
    assert [int(x) for x in dataset] == [254, 255, 0, 1]
    assert [x.tolist() for x in dataset.batch(2).as_numpy_iterator()] == [[254, 255], [0, 1]]


def test_functions_with_large_values_inside_are_called_one_by_one():
    def largest(size):
        return tf.data.Dataset.range(4).map(lambda x: tf.reduce_max(x * tf.ones([size], tf.int64)))

    def of_rows(dataset):
        return dataset._variant_tensor._array.of_rows

    assert of_rows(largest(LARGEST)) is not None
    assert of_rows(largest(LARGEST + 1)) is None
    assert list(largest(LARGEST + 1).as_numpy_iterator()) == [0, 1, 2, 3]


@pytest.mark.parametrize("call", [tf.numpy_function, tf.py_function])
def test_a_function_may_return_the_same_array_each_time(call):
    kept = np.zeros(2)

    def filled(x):
        kept[:] = x
        return kept

    dataset = tf.data.Dataset.range(3).map(lambda x: call(filled, [x], tf.float64)).batch(3)
    assert next(dataset.as_numpy_iterator()).tolist() == [[0, 0], [1, 1], [2, 2]]


def test_checkpoints_hold_iterators_of_arrays(tmp_path):
    dataset = tf.data.Dataset.range(4)
    iterator = dataset.as_numpy_iterator()
    assert next(iterator) == 0
    path = tf.train.Checkpoint(it=iterator).save(str(tmp_path / "ck"))
    again = dataset.as_numpy_iterator()
    tf.train.Checkpoint(it=again).restore(path).assert_consumed()
    assert list(again) == [1, 2, 3]


@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        ([np.arange(3), np.arange(3)], np.int64),
        ([[np.arange(2)], [np.arange(2)]], np.int64),
        ([np.zeros(2, np.uint16)] * 2, np.uint16),
        ([np.array(1), np.array(2)], np.int64),
        ([np.arange(3), np.arange(3).astype(np.int8)], np.int32),
        ([np.arange(3), [1, 2, 3]], np.int32),
        ([np.int64(1), 2], np.int32),
    ],
)
def test_lists_of_arrays_keep_their_type(element, dtype):
    assert tf.data.Dataset.from_tensors(element).element_spec.dtype == dtype
    assert tf.data.Dataset.from_tensor_slices(element).element_spec.dtype == dtype
