"""Event files read back, and what is no event file."""

import pytest
from tests.summary.events import files

import penstock as tf

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


def test_a_missing_file(tmp_path):
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        list(v1.train.summary_iterator(tmp_path / "none"))


def test_messages_have_their_public_names():
    assert v1.summary.Summary is v1.Summary
    assert v1.summary.SessionLog.START == v1.SessionLog.START == 1
    assert v1.summary.TaggedRunMetadata(tag="a").tag == "a"
