"""Iterators: Iterator IteratorV2 AnonymousIteratorV3 MakeIterator IteratorGetNext
IteratorGetNextSync IteratorGetNextAsOptional SerializeIterator DeserializeIterator
AnonymousIterator AnonymousIteratorV2 DeleteIterator.
"""

import pytest

import penstock as tf
from penstock.data import codec

D = tf.data.Dataset


def test_a_checkpoint_has_the_position(tmp_path):
    iterator = iter(D.range(10).map(lambda x: x + 1).prefetch(3))
    next(iterator)
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    path = checkpoint.write(tmp_path / "c")
    assert [int(next(iterator)) for _ in range(3)] == [2, 3, 4]
    checkpoint.read(path).assert_consumed()
    assert [int(x) for x in iterator] == [2, 3, 4, 5, 6, 7, 8, 9, 10]


def test_anonymous_iterators():
    attrs = {"output_types": [tf.int64], "output_shapes": [[]]}
    made = tf.raw_ops.AnonymousIteratorV2(**attrs)
    dataset = tf.data.Dataset.range(3)._variant_tensor
    for resource in (made[0], tf.raw_ops.AnonymousIterator(**attrs)):
        tf.raw_ops.MakeIterator(dataset=dataset, iterator=resource)
        assert int(tf.raw_ops.IteratorGetNext(iterator=resource, **attrs)[0]) == 0
    tf.raw_ops.DeleteIterator(handle=made[0], deleter=made[1])


def test_iterators_of_graphs_are_plain_ones_eagerly():
    iterator = tf.compat.v1.data.make_one_shot_iterator(D.range(2))
    assert isinstance(iterator, tf.data.Iterator)
    assert [int(x) for x in iterator] == [0, 1]
    with pytest.raises(RuntimeError, match="not supported in eager mode"):
        tf.compat.v1.data.make_initializable_iterator(D.range(2))


def test_states_of_deep_datasets_are_read_again(tmp_path):
    dataset = D.range(100)
    for _ in range(60):  # protobuf reads no message with so many levels
        dataset = dataset.skip(1)
    iterator = iter(dataset)
    assert int(next(iterator)) == 60
    path = tf.train.Checkpoint(iterator=iterator).write(tmp_path / "c")
    other = iter(dataset)
    tf.train.Checkpoint(iterator=other).read(path).assert_consumed()
    assert int(next(other)) == 61


def test_damaged_states():
    iterator = iter(D.range(9).take(5))
    next(iterator)
    state = codec.decode(iterator._state.save())
    for wrong in (float("inf"), "x", [1.5]):
        stage = {**state["stage"], "input": wrong}
        for damaged in (wrong, {**state, "stage": stage}):
            with pytest.raises(tf.errors.NotFoundError, match="iterator"):
                iterator._state.restore(codec.encode(damaged))


def test_a_damaged_state_of_a_shared_generator_is_not_taken():
    dataset = D.range(9).shuffle(3, seed=4)
    iterator = iter(dataset)
    state = codec.decode(iterator._state.save())
    state["stage"]["random"]["generator"][2] = -1
    with pytest.raises(tf.errors.DataLossError):
        iterator._state.restore(codec.encode(state))
    assert sorted(int(x) for x in dataset) == list(range(9))
