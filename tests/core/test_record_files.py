"""TFRecord files."""

import gzip
import zlib

import pytest

import penstock as tf
from penstock import errors

RECORDS = [b"abc", b"", b"x" * 100_000]


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_what_is_written_is_read(tmp_path, kind):
    path = tmp_path / "r"
    with tf.io.TFRecordWriter(str(path), kind) as writer:
        for record in RECORDS:
            writer.write(record)
    options = tf.io.TFRecordOptions(kind)
    found = tf.compat.v1.python_io.tf_record_iterator(str(path), options)
    assert list(found) == RECORDS
    unpacked = {"": bytes, "GZIP": gzip.decompress, "ZLIB": zlib.decompress}[kind]
    assert len(unpacked(path.read_bytes())) == 3 * 16 + sum(map(len, RECORDS))


def test_options(tmp_path):
    kinds = tf.compat.v1.io.TFRecordCompressionType
    assert tf.io.TFRecordOptions.get_compression_type_string(kinds.GZIP) == "GZIP"
    assert tf.io.TFRecordOptions.get_compression_type_string(None) == ""
    assert tf.io.TFRecordOptions.get_compression_type_string(tf.io.TFRecordOptions("ZLIB")) == (
        "ZLIB"
    )
    with pytest.raises(ValueError, match='Not a valid compression_type: "LZ"'):
        tf.io.TFRecordOptions("LZ")
    sizes = []
    for level in (0, 9):
        path = str(tmp_path / str(level))
        with tf.io.TFRecordWriter(
            path, tf.io.TFRecordOptions("GZIP", compression_level=level)
        ) as w:
            w.write(RECORDS[2])
        sizes.append((tmp_path / str(level)).stat().st_size)
    assert sizes[1] < 2000 < sizes[0]


def test_flushing(tmp_path):
    path = tmp_path / "r"
    options = tf.io.TFRecordOptions("ZLIB", flush_mode=zlib.Z_SYNC_FLUSH)
    writer = tf.io.TFRecordWriter(str(path), options)
    writer.write(b"one")
    writer.flush()
    assert len(zlib.decompressobj().decompress(path.read_bytes())) == 19
    writer.close()
    writer.close()
    with pytest.raises(errors.FailedPreconditionError, match="was closed"):
        writer.write(b"two")


def test_bad_input(tmp_path):
    with pytest.raises(errors.NotFoundError, match="nowhere"):
        tf.io.TFRecordWriter(str(tmp_path / "nowhere" / "r"))
    with tf.io.TFRecordWriter(str(tmp_path / "r")) as writer:
        with pytest.raises(TypeError, match="expected bytes or text, got int"):
            writer.write(5)
        writer.write("one")
    iterate = tf.compat.v1.io.tf_record_iterator
    with pytest.raises(errors.NotFoundError):
        list(iterate(str(tmp_path / "none")))
    data = bytearray((tmp_path / "r").read_bytes())
    data[13] ^= 1
    (tmp_path / "r").write_bytes(data)
    with pytest.raises(errors.DataLossError, match="corrupted record at 0"):
        list(iterate(str(tmp_path / "r")))
    with pytest.raises(errors.DataLossError, match="compressed"):
        list(iterate(str(tmp_path / "r"), "GZIP"))


def test_compressed_files_that_are_joined_or_cut(tmp_path):
    path, iterate = tmp_path / "r", tf.compat.v1.io.tf_record_iterator
    with tf.io.TFRecordWriter(str(path), "GZIP") as writer:
        writer.write(b"one")
    packed = path.read_bytes()
    path.write_bytes(packed * 2)
    assert list(iterate(str(path), "GZIP")) == [b"one", b"one"]
    path.write_bytes(packed[:-6])  # the record is whole, its file is not
    with pytest.raises(errors.DataLossError, match="the end of the file inside"):
        list(iterate(str(path), "GZIP"))
