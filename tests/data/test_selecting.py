"""Some elements of a dataset: ShardDataset TakeWhileDataset ExperimentalTakeWhileDataset
UniqueDataset ExperimentalUniqueDataset IgnoreErrorsDataset ExperimentalIgnoreErrorsDataset.
"""

import logging

import pytest
from tests.data.checks import check_dataset, values
from tests.data.test_ordering import made

import penstock as tf

D = tf.data.Dataset
E = tf.data.experimental


def failing(bad=3, count=5):
    return D.range(count).map(
        lambda x: tf.debugging.check_numerics(1.0 / tf.cast(x - bad, tf.float32), "")
    )


def test_shard():
    check_dataset(lambda: D.range(10).shard(3, 0), [0, 3, 6, 9])
    check_dataset(
        lambda: D.range(10).map(lambda x: x).filter(lambda x: True).shard(3, 2), [2, 5, 8]
    )
    check_dataset(lambda: D.range(10).shard(20, 15), [])
    check_dataset(lambda: D.range(10).shard(3, 1).batch(2), [[1, 4], [7]])
    check_dataset(lambda: D.range(11).shard(2, 1).batch(2), [[1, 3], [5, 7], [9]])
    assert len(D.range(10).shard(3, 0)) == 4


def test_shard_errors():
    for count, index in ((3, 3), (3, -1), (0, 0)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            D.range(3).shard(count, index)
    with pytest.raises(tf.errors.FailedPreconditionError, match="SHARD_HINT"):
        iter(D.range(3).shard(-1, 0))
    variant = D.range(10)._variant_tensor
    twenty, three = tf.constant(20, tf.int64), tf.constant(3, tf.int64)
    short = made("ShardDataset", (variant, twenty, three), require_non_empty=True)
    assert values(short) == ["InvalidArgumentError"]
    enough = made("ShardDataset", (variant, three, three - 2), require_non_empty=True)
    assert values(enough) == [1, 4, 7]


def test_take_while():
    check_dataset(lambda: D.range(9).take_while(lambda x: x < 5), [0, 1, 2, 3, 4])
    check_dataset(
        lambda: D.range(9).map(lambda x: (x, -x)).take_while(lambda x, y: y > -2),
        [(0, 0), (1, -1)],
    )
    assert values(D.range(9).apply(E.take_while(lambda x: x < 2))) == [0, 1]
    with pytest.raises(ValueError, match="predicate"):
        D.range(9).take_while(lambda x: x)


def test_unique():
    check_dataset(lambda: D.from_tensor_slices([1, 37, 2, 37, 2, 1]).unique(), [1, 37, 2])
    check_dataset(lambda: D.from_tensor_slices(["a", "b", "a"]).unique(), [b"a", b"b"])
    check_dataset(lambda: D.from_tensor_slices([[1, 2], [1, 2]]).apply(E.unique()), [[1, 2]])
    for bad in ([1.0], [True], tf.constant([1], tf.int8)):
        with pytest.raises(TypeError, match="unique"):
            D.from_tensor_slices(bad).unique()
    with pytest.raises(tf.errors.InvalidArgumentError, match="single component"):
        D.from_tensor_slices(([1], [2])).unique()


def test_ignore_errors(caplog):
    check_dataset(
        lambda: D.range(5).map(lambda x: tf.gather([7, 8, 9], x - 1)).ignore_errors(), [7, 8, 9]
    )
    with caplog.at_level(logging.WARNING, "penstock"):
        found = values(failing().apply(E.ignore_errors(log_warning=True)))
    assert len(found) == 4
    old = made(
        "ExperimentalIgnoreErrorsDataset",
        (failing()._variant_tensor,),
        tf.TensorSpec([], tf.float32),
    )
    assert values(old) == found


def test_older_names():
    variant = D.range(5)._variant_tensor
    assert values(made("ExperimentalUniqueDataset", (variant,))) == [0, 1, 2, 3, 4]
    body = tf.function(lambda x: x < 2).get_concrete_function(tf.TensorSpec([], tf.int64))
    assert values(made("ExperimentalTakeWhileDataset", (variant, []), predicate=body)) == [0, 1]


def test_enumerate():
    check_dataset(lambda: D.range(5, 8).enumerate(), [(0, 5), (1, 6), (2, 7)])
    check_dataset(lambda: D.from_tensor_slices(["x"]).enumerate(-3), [(-3, b"x")])
    assert values(D.range(1).enumerate(2**40)) == [(2**40, 0)]
    assert values(D.range(1).apply(E.enumerate_dataset(2))) == [(2, 0)]
    assert D.range(1).map(lambda x: (x, x)).enumerate().element_spec[1][0].dtype == tf.int64
    with pytest.raises(TypeError):
        D.range(3).enumerate(1.5)
    with pytest.raises(ValueError):
        D.range(3).enumerate(tf.constant(2))


def test_apply():
    assert values(D.range(3).apply(lambda d: d.map(lambda x: x + 1))) == [1, 2, 3]
    with pytest.raises(TypeError, match="transformation_func"):
        D.range(3).apply(lambda d: 3)
