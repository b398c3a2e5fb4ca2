"""Functions for `apply`, and operations that imported graphs hold.

SetStatsAggregatorDataset ExperimentalSetStatsAggregatorDataset ThreadPoolDataset
ExperimentalThreadPoolDataset SleepDataset ExperimentalSleepDataset SamplingDataset
ChooseFastestDataset ExperimentalChooseFastestDataset MapAndBatchDataset
ExperimentalMapAndBatchDataset BatchDataset ParallelBatchDataset ParallelMapDataset
ExperimentalMapDataset ParallelFilterDataset FilterByLastComponentDataset GetElementAtIndex
ExperimentalDatasetCardinality ExperimentalGroupByWindowDataset
"""

import numpy as np
import pytest
from tests.data.checks import check_dataset, check_iterator_checkpointing, plain, values
from tests.data.test_ordering import made
from tests.data.test_selecting import failing

import penstock as tf
from penstock.core.execute import execute

D = tf.data.Dataset
E = tf.data.experimental
VECTOR = tf.TensorSpec([None], tf.int64)
SCALAR = tf.TensorSpec([], tf.int64)


def int64(value):
    return tf.constant(value, tf.int64)


def body_of(function, *specs):
    return tf.function(function).get_concrete_function(*(specs or (SCALAR,)))


def test_map_and_batch():
    check_dataset(
        lambda: D.range(10).apply(E.map_and_batch(lambda x: x * 2, 4)),
        [[0, 2, 4, 6], [8, 10, 12, 14], [16, 18]],
    )
    dropped = D.range(10).apply(E.map_and_batch(lambda x: (x, "a"), 4, drop_remainder=True))
    assert dropped.element_spec[1] == tf.TensorSpec([4], tf.string)
    assert len(dropped) == 2
    for kwargs in ({"num_parallel_calls": 3}, {"num_parallel_batches": 2}):
        assert values(D.range(3).apply(E.map_and_batch(lambda x: x, 2, **kwargs))) == [[0, 1], [2]]
    found = values(failing(3, 6).apply(E.map_and_batch(lambda x: x, 2)))
    assert [type(f) for f in found] == [list, str, list]
    with pytest.raises(ValueError, match="allows only one"):
        E.map_and_batch(lambda x: x, 2, num_parallel_batches=3, num_parallel_calls=2)
    for size, calls in ((0, 1), (2, 0)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="greater than zero"):
            D.range(3).apply(E.map_and_batch(lambda x: x, size, num_parallel_calls=calls))
    legacy = tf.compat.v1.data.experimental.map_and_batch_with_legacy_function
    assert values(D.range(3).apply(legacy(lambda x: x, 2))) == [[0, 1], [2]]
    inputs = (D.range(3)._variant_tensor, [], int64(2), int64(1), False)
    old = made("ExperimentalMapAndBatchDataset", inputs, VECTOR, f=body_of(lambda x: x + 1))
    assert values(old) == [[1, 2], [3]]


def test_group_by_reducer():
    def total(key):
        return np.int64(0)

    reducer = E.Reducer(total, lambda s, x: s + x, lambda s: s)
    assert (reducer.init_func, reducer.finalize_func(3)) == (total, 3)
    check_dataset(lambda: D.range(6).apply(E.group_by_reducer(lambda x: x % 2, reducer)), [6, 9])
    texts = E.Reducer(
        lambda k: (k, "a"), lambda s, x: (s[0] + x, s[1] + "b"), lambda a, b: {"x": a, "y": b}
    )
    assert values(D.range(6).apply(E.group_by_reducer(lambda x: x % 2, texts))) == [
        {"x": 6, "y": b"abbb"},
        {"x": 10, "y": b"abbb"},
    ]
    grown = E.Reducer(
        lambda k: tf.zeros([0], tf.int64), lambda s, x: tf.concat([s, [x]], 0), lambda s: s
    )
    dataset = D.range(6).apply(E.group_by_reducer(lambda x: x % 2, grown))
    assert values(dataset) == [[0, 2, 4], [1, 3, 5]]
    assert dataset.element_spec == VECTOR
    with pytest.raises(ValueError):
        D.range(6).apply(E.group_by_reducer(lambda x: tf.cast(x, tf.int32), reducer))
    floats = E.Reducer(total, lambda s, x: tf.cast(s, tf.float32), lambda s: s)
    with pytest.raises(TypeError, match="element types"):
        D.range(6).apply(E.group_by_reducer(lambda x: x, floats))


def test_older_names_of_methods():
    lengths = D.range(4).map(lambda x: tf.fill([x], x))
    length = lambda e: tf.shape(e)[0]  # noqa: E731
    for function, same in (
        (E.dense_to_ragged_batch(2), lengths.ragged_batch(2)),
        (E.dense_to_sparse_batch(2, [4]), lengths.sparse_batch(2, [4])),
        (
            E.bucket_by_sequence_length(length, [2], [2, 2]),
            lengths.bucket_by_sequence_length(length, [2], [2, 2]),
        ),
    ):
        assert values(lengths.apply(function)) == values(same)
    groups = E.group_by_window(lambda x: x % 2, lambda k, d: d.batch(9), window_size=2)
    assert values(D.range(4).apply(groups)) == [[0, 2], [1, 3]]
    two = [D.range(3), D.range(10, 13)]
    choice = D.from_tensor_slices(np.array([0, 0, 0, 0, 1], np.int64))
    assert values(E.choose_from_datasets(two, choice)) == [0, 1, 2, 10]
    sampled = E.sample_from_datasets(two, seed=1)
    assert values(sampled) == values(D.sample_from_datasets(two, seed=1))
    assert int(E.get_next_as_optional(iter(D.range(3))).get_value()) == 0
    classes = D.from_tensor_slices([0, 0, 1, 1]).apply(
        E.rejection_resample(lambda x: x, [0.5, 0.5], [0.5, 0.5], seed=1)
    )
    assert values(classes) == [(0, 0), (0, 0), (1, 1), (1, 1)]


def test_at():
    assert int(E.at(D.range(5), 3)) == 3
    assert plain(E.at(D.range(5).map(lambda x: (x, x * 2)), 3)) == (3, 6)
    assert plain(E.at(D.range(7).batch(3), 2)) == [6]
    for index in (5, -1):
        with pytest.raises(tf.errors.OutOfRangeError, match=str(index)):
            E.at(D.range(5), index)
    with pytest.raises(tf.errors.UnimplementedError):
        E.at(D.range(5).filter(lambda x: x > 2), 0)
    with pytest.raises(tf.errors.FailedPreconditionError, match="infinite"):
        E.at(D.range(5).repeat(), 0)


def test_pad_to_cardinality():
    def two():
        return D.from_tensor_slices({"a": [[1, 2], [3, 4]], "s": ["x", "y"]})

    check_dataset(
        lambda: two().apply(E.pad_to_cardinality(3, mask_key="m")),
        [
            {"a": [1, 2], "s": b"x", "m": True},
            {"a": [3, 4], "s": b"y", "m": True},
            {"a": [0, 0], "s": b"", "m": False},
        ],
    )
    assert len(two().apply(E.pad_to_cardinality(4))) == 4
    for dataset, count in (
        (two(), 1), (D.range(3), 4), (two().repeat(), 4), (two().filter(lambda x: True), 4),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            dataset.apply(E.pad_to_cardinality(count))


def test_structures_and_variants():
    dataset = D.range(3)
    assert E.get_structure(iter(dataset)) == E.get_structure(dataset) == SCALAR
    assert int(E.cardinality(dataset)) == 3
    assert values(E.from_variant(E.to_variant(dataset), SCALAR)) == [0, 1, 2]
    with pytest.raises(TypeError, match="dataset_or_iterator"):
        E.get_structure(3)


@pytest.mark.parametrize("first", ["", "Experimental"])
def test_elements_pass(first):
    variant, pool = D.range(3)._variant_tensor, execute("AnonymousMemoryCache", ())[0]
    for name, rest in (
        ("SetStatsAggregatorDataset", (pool, "tag", "prefix")),
        ("ThreadPoolDataset", (pool,)),
        ("SleepDataset", (int64(3),)),
    ):
        found = made(first + name, (variant, *rest))
        assert values(found) == [0, 1, 2], name
        assert len(found) == 3
    with pytest.raises(tf.errors.InvalidArgumentError, match=">= 0"):
        made(first + "SleepDataset", (variant, int64(-3)))
    chosen = made(first + "ChooseFastestDataset", ([variant, variant],), num_experiments=2)
    assert values(chosen) == [0, 1, 2]
    other = D.range(4)._variant_tensor
    with pytest.raises(tf.errors.InvalidArgumentError, match="cardinalities"):
        made(first + "ChooseFastestDataset", ([variant, other],), num_experiments=2)


def test_sampling():
    def make():
        inputs = (D.range(40)._variant_tensor, 0.5, int64(3), int64(4))
        return made("SamplingDataset", inputs)

    assert values(make()) == [
        1, 6, 8, 9, 10, 13, 15, 16, 17, 20, 25, 27, 28, 29, 30, 32, 34, 35,
    ]  # fmt: skip
    check_iterator_checkpointing(make)


def test_older_operations():
    variant = D.range(5)._variant_tensor
    assert values(made("BatchDataset", (variant, int64(2)), VECTOR)) == [[0, 1], [2, 3], [4]]
    inputs = (variant, int64(2), int64(2), True)
    assert values(made("ParallelBatchDataset", inputs, VECTOR)) == [[0, 1], [2, 3]]
    more = body_of(lambda x: x + 1)
    found = made("ParallelMapDataset", (variant, [], tf.constant(2)), f=more)
    assert values(found) == values(made("ExperimentalMapDataset", (variant, []), f=more))
    assert values(found) == [1, 2, 3, 4, 5]
    some = body_of(lambda x: x > 2)
    found = made("ParallelFilterDataset", (variant, [], int64(2)), predicate=some)
    assert values(found) == [3, 4]
    assert int(execute("ExperimentalDatasetCardinality", (variant,))) == 5
    windows = tf.TensorSpec([], tf.variant)
    functions = {
        "key_func": body_of(lambda x: x % 2),
        "reduce_func": body_of(lambda key, window: window, SCALAR, windows),
        "window_size_func": body_of(lambda key: key * 0 + 2),
    }
    found = made("ExperimentalGroupByWindowDataset", (variant, [], [], []), **functions)
    assert values(found) == [0, 2, 1, 3, 4]
    marked = D.range(5).map(lambda x: (x, x % 2 == 0))._variant_tensor
    assert values(made("FilterByLastComponentDataset", (marked,))) == [0, 2, 4]
