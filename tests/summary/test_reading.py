"""Event files read back, and what is no event file."""

import random

import pytest
from tests.summary.events import files

import penstock as tf
from penstock.core.records import masked_crc

v1 = tf.compat.v1


@pytest.fixture
def path(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))
    with writer.as_default():
        tf.summary.scalar("a", 1.0, step=3)
    writer.close()
    (path,) = files(tmp_path)
    return path


def test_events_come_in_order(path):
    first, second = v1.train.summary_iterator(path)
    assert isinstance(first, v1.Event)
    assert first.file_version == "brain.Event:2"
    assert (second.step, second.summary.value[0].tag) == (3, "a")


@pytest.mark.parametrize(("end", "message"), [(b"", "truncated"), (b"abc", "corrupted")])
def test_a_damaged_file(path, end, message):
    path.write_bytes(path.read_bytes()[:-3] + end)
    events = v1.train.summary_iterator(str(path))
    assert next(events).file_version
    with pytest.raises(tf.errors.DataLossError, match=f"{message} record at "):
        next(events)


def test_any_damage_is_named_or_seen_through(path):
    good = path.read_bytes()
    count = len(list(v1.train.summary_iterator(str(path))))
    chosen = random.Random(5)
    refused = 0
    for _ in range(300):
        data = bytearray(good)
        if chosen.random() < 0.3:
            del data[chosen.randrange(len(data)) :]
        for _ in range(chosen.choice([0, 1, 1, 5])):
            if data:
                data[chosen.randrange(len(data))] = chosen.randrange(256)
        path.write_bytes(data)
        try:
            assert len(list(v1.train.summary_iterator(str(path)))) <= count
        except tf.errors.DataLossError:
            refused += 1
    assert refused > 150


def test_a_record_that_claims_more_than_there_is(path):
    length = (2**62).to_bytes(8, "little")
    data = path.read_bytes()
    path.write_bytes(data + length + masked_crc(length).to_bytes(4, "little") + b"abc")
    events = v1.train.summary_iterator(str(path))
    assert len([next(events), next(events)]) == 2
    with pytest.raises(tf.errors.DataLossError, match="truncated record at "):
        next(events)


def test_a_missing_file(tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        list(v1.train.summary_iterator(tmp_path / "none"))


def test_messages_have_their_public_names():
    assert v1.summary.Summary is v1.Summary
    assert v1.summary.SessionLog.START == v1.SessionLog.START == 1
    assert v1.summary.TaggedRunMetadata(tag="a").tag == "a"
