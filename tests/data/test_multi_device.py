"""Iterators with shards: MultiDeviceIterator AnonymousMultiDeviceIterator
AnonymousMultiDeviceIteratorV3 MultiDeviceIteratorInit MultiDeviceIteratorGetNextFromShard
MultiDeviceIteratorToStringHandle MultiDeviceIteratorFromStringHandle DeleteMultiDeviceIterator.
"""

import pytest

import penstock as tf

ops = tf.raw_ops
ATTRS = {"output_types": [tf.int64], "output_shapes": [[]]}
DEVICES = ["/cpu:0", "/cpu:0"]


def begun(handle, count=5):
    dataset = tf.data.Dataset.range(count)._variant_tensor
    return ops.MultiDeviceIteratorInit(
        dataset=dataset, multi_device_iterator=handle, max_buffer_size=1
    )


def taken(handle, shard, incarnation):
    found = ops.MultiDeviceIteratorGetNextFromShard(
        multi_device_iterator=handle, shard_num=shard, incarnation_id=incarnation, **ATTRS
    )
    return found[0]


def test_elements_are_dealt_out():
    handle = ops.AnonymousMultiDeviceIteratorV3(devices=DEVICES, **ATTRS)
    first = begun(handle)
    assert [int(taken(handle, s, first)) for s in (1, 1, 0, 0, 0)] == [1, 3, 0, 2, 4]
    for shard in (0, 1):
        with pytest.raises(tf.errors.OutOfRangeError):
            taken(handle, shard, first)
    second = begun(handle)
    assert int(taken(handle, 0, second)) == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="incarnation"):
        taken(handle, 0, first)
    with pytest.raises(tf.errors.InvalidArgumentError, match="from 0 to 1"):
        taken(handle, 2, second)


def test_it_is_deleted():
    handle, deleter = ops.AnonymousMultiDeviceIterator(devices=DEVICES, **ATTRS)
    assert int(taken(handle, 1, begun(handle))) == 1
    ops.DeleteMultiDeviceIterator(multi_device_iterator=handle, iterators=[], deleter=deleter)


def test_a_session_names_it():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        handle = ops.MultiDeviceIterator(
            devices=DEVICES, shared_name="shared", container="", **ATTRS
        )
        begin = begun(handle)
        text = ops.MultiDeviceIteratorToStringHandle(multi_device_iterator=handle)
        again = ops.MultiDeviceIteratorFromStringHandle(string_handle=text)
        number = tf.compat.v1.placeholder(tf.int64, [])
        element = taken(again, 1, number)
        count = session.run(begin)
        assert [int(session.run(element, {number: count})) for _ in range(2)] == [1, 3]
