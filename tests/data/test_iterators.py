"""Iterators: Iterator IteratorV2 AnonymousIteratorV3 MakeIterator IteratorGetNext
IteratorGetNextSync IteratorGetNextAsOptional SerializeIterator DeserializeIterator.
"""

import penstock as tf

D = tf.data.Dataset


def test_a_checkpoint_has_the_position(tmp_path):
    iterator = iter(D.range(10).map(lambda x: x + 1).prefetch(3))
    next(iterator)
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    path = checkpoint.write(tmp_path / "c")
    assert [int(next(iterator)) for _ in range(3)] == [2, 3, 4]
    checkpoint.read(path).assert_consumed()
    assert [int(x) for x in iterator] == [2, 3, 4, 5, 6, 7, 8, 9, 10]
