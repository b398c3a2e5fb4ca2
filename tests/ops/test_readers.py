"""Readers of graph mode."""

import gzip
import zlib

import pytest

import penstock as tf
from penstock import errors
from penstock.core.records import frame

v1 = tf.compat.v1
raw = tf.raw_ops


def queue_of(session, names):
    queue = v1.FIFOQueue(10, tf.string, shapes=[()])
    session.run(queue.enqueue_many([names]))
    session.run(queue.close())
    return queue


def records(make, names, count=None):
    """What a reader gives until its end, and its counts."""
    with tf.Graph().as_default(), v1.Session() as session:
        queue = queue_of(session, [str(name) for name in names])
        reader = make()
        taken = reader.read(queue) if count is None else reader.read_up_to(queue, count)
        counts = [reader.num_records_produced(), reader.num_work_units_completed()]
        found = []
        try:
            while True:
                key, value = session.run(taken)
                found.append((key, value) if count is None else (key.tolist(), value.tolist()))
        except errors.OutOfRangeError:
            return found, session.run(counts)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a").write_bytes(b"one\r\ntwo\n\nlast")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "b").write_bytes(b"head\nfive\n")
    return tmp_path


def test_work_units_themselves():
    found, counts = records(v1.IdentityReader, ["x", "y"])
    assert found == [(b"x", b"x"), (b"y", b"y")]
    assert counts == [2, 2]


def test_whole_files(folder):
    found, _ = records(v1.WholeFileReader, [folder / "b", folder / "empty"])
    assert [value for _, value in found] == [b"head\nfive\n", b""]
    assert found[0][0] == str(folder / "b").encode()
    with pytest.raises(errors.NotFoundError, match="nowhere"):
        records(v1.WholeFileReader, [folder / "nowhere"])


def test_lines(folder):
    names = [folder / "a", folder / "empty", folder / "b"]
    found, counts = records(v1.TextLineReader, names)
    assert [value for _, value in found] == [b"one", b"two", b"", b"last", b"head", b"five"]
    assert [key.rpartition(b":")[2] for key, _ in found] == [b"1", b"2", b"3", b"4", b"1", b"2"]
    assert counts == [6, 3]
    found, _ = records(lambda: v1.TextLineReader(skip_header_lines=1), names)
    assert [value for _, value in found] == [b"two", b"", b"last", b"five"]


def test_several_at_a_time(folder):
    found, counts = records(v1.TextLineReader, [folder / "a", folder / "b"], 3)
    assert [values for _, values in found] == [[b"one", b"two", b""], [b"last"], [b"head", b"five"]]
    assert counts == [6, 2]


@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [
        ((6,), [(0, 6), (6, 12), (12, 18)]),
        ((6, 2, 2), [(2, 8), (8, 14)]),
        ((6, 2, 2, 3), [(2, 8), (5, 11), (8, 14), (11, 17)]),
        ((6, 2, 2, 9), [(2, 8), (11, 17)]),
    ],
)
def test_pieces_of_one_size(tmp_path, sizes, wanted):
    data = bytes(range(20))
    (tmp_path / "plain").write_bytes(data)
    (tmp_path / "packed").write_bytes(zlib.compress(data))
    for name, encoding in (("plain", None), ("packed", "ZLIB")):
        found, _ = records(
            lambda e=encoding: v1.FixedLengthRecordReader(*sizes, encoding=e), [tmp_path / name]
        )
        assert [value for _, value in found] == [data[i:j] for i, j in wanted]


def test_wrong_sizes(tmp_path):
    with pytest.raises(errors.InvalidArgumentError, match="record_bytes > 0"):
        records(lambda: v1.FixedLengthRecordReader(0), [tmp_path / "a"])
    with pytest.raises(errors.InvalidArgumentError, match="encoding"):
        records(lambda: v1.FixedLengthRecordReader(3, encoding="LZ"), [tmp_path / "a"])


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_tf_records(tmp_path, kind):
    data = b"".join(frame(x) for x in (b"abc", b"", b"defgh"))
    pack = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}[kind]
    (tmp_path / "r").write_bytes(pack(data))
    found, _ = records(lambda: v1.TFRecordReader(options=kind), [tmp_path / "r"])
    assert [value for _, value in found] == [b"abc", b"", b"defgh"]
    assert [key.rpartition(b":")[2] for key, _ in found] == [b"0", b"19", b"35"]
    (tmp_path / "bad").write_bytes(b"no records at all")
    with pytest.raises(errors.DataLossError, match="bad"):
        records(lambda: v1.TFRecordReader(options=kind), [tmp_path / "bad"])


def test_state(folder):
    with tf.Graph().as_default(), v1.Session() as session:
        queue = queue_of(session, [str(folder / "a")])
        reader = v1.TextLineReader()
        taken = reader.read(queue)[1]
        assert session.run(taken) == b"one"
        state = session.run(reader.serialize_state())
        assert session.run(taken) == b"two"
        session.run(reader.restore_state(state))
        assert session.run(reader.num_records_produced()) == 1
        assert [session.run(taken) for _ in range(3)] == [b"two", b"", b"last"]
        session.run(reader.reset())
        assert session.run(reader.num_records_produced()) == 0
        with pytest.raises(errors.InvalidArgumentError, match="Could not parse state"):
            session.run(reader.restore_state(b"zzz"))
        with pytest.raises(errors.InvalidArgumentError, match="one string component"):
            session.run(reader.read(v1.FIFOQueue(1, tf.int32)))


REFERENCES = {
    "WholeFileReader": {},
    "TextLineReader": {"skip_header_lines": 0},
    "FixedLengthRecordReader": {"record_bytes": 2},
    "TFRecordReader": {},
    "IdentityReader": {},
}


@pytest.mark.parametrize("name", REFERENCES)
def test_readers_by_string_reference(name, tmp_path):
    (tmp_path / "f").write_bytes(frame(b"ab") if name == "TFRecordReader" else b"ab")
    with tf.Graph().as_default(), v1.Session() as session:
        queue = raw.FIFOQueue(component_types=[tf.string], shapes=[[]])
        session.run(raw.QueueEnqueueMany(handle=queue, components=[[str(tmp_path / "f")] * 2]))
        reader = getattr(raw, name)(**REFERENCES[name])
        both = {"reader_handle": reader, "queue_handle": queue}
        state = session.run(raw.ReaderSerializeState(reader_handle=reader))
        wanted = str(tmp_path / "f").encode() if name == "IdentityReader" else b"ab"
        assert session.run(raw.ReaderRead(**both))[1] == wanted
        many = raw.ReaderReadUpTo(num_records=tf.constant(5, tf.int64), **both)
        assert session.run(many)[1].tolist() == [wanted]
        assert session.run(raw.ReaderNumRecordsProduced(reader_handle=reader)) == 2
        assert session.run(raw.ReaderNumWorkUnitsCompleted(reader_handle=reader)) == 1
        session.run(raw.ReaderRestoreState(reader_handle=reader, state=state))
        session.run(raw.ReaderReset(reader_handle=reader))
        assert session.run(raw.ReaderNumRecordsProduced(reader_handle=reader)) == 0


def test_waiting_for_a_work_unit_ends_with_the_step():
    with tf.Graph().as_default(), v1.Session() as session:
        taken = v1.IdentityReader().read(v1.FIFOQueue(1, tf.string))
        with pytest.raises(errors.DeadlineExceededError):
            session.run(taken, options=v1.RunOptions(timeout_in_ms=20))


def test_graphs_only():
    with pytest.raises(RuntimeError, match=r"tf\.data"):
        v1.WholeFileReader()
